"""The law of one part's privacy loss: continuous ramps and atoms, before any grid."""

import math
from dataclasses import dataclass, field

import numpy as np

from dpverify.accounting.numerical.ramps import Noise, Ramp
from dpverify.arrays import Floats

_EMPTY = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LossLaw:
    """Ramps, and atoms with their losses and logarithms of masses under P.

    `loss_error` and `mass_error` bound, absolutely and relatively, how far the atoms' losses and
    masses are from exact ones. Mass at loss ∞ is not part of it.
    """

    ramps: tuple[Ramp, ...] = ()
    losses: Floats = field(default_factory=lambda: _EMPTY)
    log_masses: Floats = field(default_factory=lambda: _EMPTY)
    loss_error: float = 0.0
    mass_error: float = 0.0

    @property
    def is_discrete(self) -> bool:
        return not self.ramps

    def cut(self, log_above: float, log_below: float) -> "CutLaw":
        """The law without the ends of its ramps, which hold at most e^log_above and e^log_below."""
        ramps, above, below = [], -math.inf, []
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
            losses=self.losses,
            log_masses=self.log_masses,
            loss_error=self.loss_error,
            mass_error=self.mass_error,
            log_above=above,
            log_below=log_below,
            below=tuple(below),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutLaw:
    """A law on a bounded range of losses, and what was cut off.

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
        return min(ends), max(ends)


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
