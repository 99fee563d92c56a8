"""The distribution of a pair's privacy loss: continuous ramps and atoms, before any grid.

The noise that pairs are made of comes as such a law too, mixed or not (`normal_law`,
`laplace_law`); finitely many outcomes are atoms.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dpverify.arrays import Floats
from dpverify.pairs.profile_law import CutProfile, ProfileLaw
from dpverify.pairs.ramps import UNIT, Noise, Ramp

_EMPTY = np.empty(0)
_MANY_ATOMS = 1 << 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossLaw:
    """Ramps, and atoms with their losses and logarithms of masses under P.

    `loss_error` and `mass_error` bound, absolutely and relatively, how far the atoms' losses and
    masses are from exact ones. Mass at loss ∞ is not part of it. At most e^log_omitted of P has no
    atom, wherever its loss may be: it counts as ∞ from above, and as nothing from below.
    """

    ramps: tuple[Ramp, ...] = ()
    losses: Floats = field(default_factory=lambda: _EMPTY)
    log_masses: Floats = field(default_factory=lambda: _EMPTY)
    loss_error: float = 0.0
    mass_error: float = 0.0
    log_omitted: float = -math.inf

    @property
    def is_discrete(self) -> bool:
        return not self.ramps

    def cut(self, log_above: float, log_below: float) -> "CutLaw":
        """The law without the ends of its ramps, whose mass is at most e^log_above and e^log_below.

        Of many atoms those are left out that all together hold at most e^log_above.
        """
        ramps, above, below = [], self.log_omitted, []
        losses, log_masses = self.losses, self.log_masses
        if len(losses) > _MANY_ATOMS:
            kept_atoms = log_masses > log_above - math.log(len(losses)) - self.mass_error
            if not kept_atoms.all():
                losses, log_masses = losses[kept_atoms], log_masses[kept_atoms]
                above = float(np.logaddexp(above, log_above))
        for ramp in self.ramps:
            low, high = _cut_points(ramp, log_above, log_below)
            if ramp.high > high:
                above = float(np.logaddexp(above, log_above))
            if ramp.low < low:
                below.append(ramp.loss_at(min(low, ramp.high)))
            kept = ramp.cut(low, high)
            if kept.low < kept.high:  # else all of it was cut off
                ramps.append(kept)
        return CutLaw(
            ramps=tuple(ramps),
            losses=losses,
            log_masses=log_masses,
            loss_error=self.loss_error,
            mass_error=self.mass_error,
            log_above=above,
            log_below=log_below,
            below=tuple(below),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutLaw:
    """A distribution on a bounded range of losses, and bounds on what was cut off.

    At most e^log_above of P lies above; at most e^log_below lies under each loss in `below`.
    """

    ramps: tuple[Ramp, ...]
    losses: Floats
    log_masses: Floats
    loss_error: float
    mass_error: float
    log_above: float
    log_below: float
    below: tuple[float, ...]

    def loss_range(self) -> tuple[float, float]:
        """The least and the greatest loss."""
        ends = [ramp.loss_at(end) for ramp in self.ramps for end in (ramp.low, ramp.high)]
        if len(self.losses):
            ends += [float(self.losses.min()), float(self.losses.max())]
        return min(ends, default=0.0), max(ends, default=0.0)

    def points(self) -> tuple[Floats, Floats]:
        """Losses and logarithms of masses for a rough picture."""
        pieces = [ramp.points() for ramp in self.ramps]
        losses, masses = zip(*pieces, (self.losses, self.log_masses), strict=True)
        return np.concatenate(losses), np.concatenate(masses)


def _cut_points(ramp: Ramp, log_above: float, log_below: float) -> tuple[float, float]:
    """Outcomes beyond which P of a normal ramp is certainly at most e^log_above and e^log_below.

    P mixes N(0, 1) and N(slope, 1), and a standard normal exceeds t ≥ 0 with probability at most
    e^(−t²/2)/2.
    """
    if ramp.noise is not Noise.NORMAL:
        return ramp.low, ramp.high
    low, high = math.inf, -math.inf
    flat = math.log(ramp.left_flat) if ramp.left_flat else -math.inf
    rise = ramp.log_left_rise + ramp.slope**2 / 2.0
    for log_weight, center in ((flat, 0.0), (rise, ramp.slope)):
        if log_weight > -math.inf:
            low = min(low, center - math.sqrt(2.0 * max(log_weight - log_below, 0.0)))
            high = max(high, center + math.sqrt(2.0 * max(log_weight - log_above, 0.0)))
    # One part in 1e9 more covers the rounding of these few operations.
    reach = 1e-9 * (1.0 + max(abs(low), abs(high)))
    return low - reach, high + reach


_TRIVIAL = LossLaw(losses=np.zeros(1), log_masses=np.zeros(1))


def log_of(value: float) -> float:
    """ln, and −∞ at 0."""
    return math.log(value) if value > 0.0 else -math.inf


def rest_of(rate: float | Fraction) -> float:
    """1 − q, rounded once."""
    return float(1 - Fraction(rate))


def normal_law(slope: float, *, left: float, right: float) -> LossLaw:
    """(1−a)·N(0, 1) + a·N(μ, 1) against (1−b)·N(0, 1) + b·N(−μ, 1)."""
    if slope == 0.0 or left == right == 0:
        return _TRIVIAL
    ramp = Ramp(
        noise=Noise.NORMAL,
        slope=slope,
        left_flat=rest_of(left),
        log_left_rise=log_of(left) - slope * slope / 2.0,
        right_flat=rest_of(right),
        log_right_fall=log_of(right) - slope * slope / 2.0,
        low=-math.inf,
        high=math.inf,
    )
    return LossLaw(ramps=(ramp,))


def laplace_law(shift: float, *, left: float, right: float) -> LossLaw:
    """(1−a)·L(0) + a·L(s) against (1−b)·L(0) + b·L(−s) for the standard Laplace distribution L.

    On [0, s] only the left density changes, on [−s, 0] only the right one; beyond ±s neither does.
    """
    if left == right == 0:
        return _TRIVIAL
    least = math.exp(-shift)
    left_end, right_end = (rest_of(rate) + float(rate) * least for rate in (left, right))
    rise, fall = Fraction(left), Fraction(right)
    ramps = []
    if rise:
        ramps.append(
            Ramp(
                noise=Noise.FALLING,
                slope=2.0,
                left_flat=rest_of(left),
                log_left_rise=log_of(left) - shift,
                right_flat=right_end,
                log_right_fall=-math.inf,
                low=0.0,
                high=shift,
            )
        )
    if fall:
        ramps.append(
            Ramp(
                noise=Noise.RISING,
                slope=2.0,
                left_flat=left_end,
                log_left_rise=-math.inf,
                right_flat=rest_of(right),
                log_right_fall=log_of(right) - shift,
                low=-shift,
                high=0.0,
            )
        )
    # Where a side is not mixed its stretch is flat, and joins the atom at that end.
    log_half, log_edge = -math.log(2.0), -math.log(2.0) - shift
    top, bottom = ramps[0], ramps[-1]
    atoms = (
        (top.loss_at(top.high), log_edge if rise else log_half, top.log_left(np.array([top.high]))),
        (
            bottom.loss_at(bottom.low),
            log_edge if fall else log_half,
            bottom.log_left(np.array([bottom.low])),
        ),
    )
    return LossLaw(
        ramps=tuple(ramps),
        losses=np.array([atom[0] for atom in atoms]),
        log_masses=np.array([atom[1] + float(atom[2][0]) for atom in atoms]),
        loss_error=16.0 * UNIT * (1.0 + shift),
        mass_error=16.0 * UNIT * (1.0 + shift),
    )


AnyLossLaw: TypeAlias = LossLaw | ProfileLaw
AnyCutLaw: TypeAlias = CutLaw | CutProfile
