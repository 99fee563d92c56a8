"""A record that takes part in one of several steps, drawn at random: random allocation."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above, float_below
from dpverify.errors import as_count, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.poisson import check_base
from dpverify.pairs.subsampling.ratios import Ratios, from_cells

_CELLS = 2048
_REACH = 14.0  # standard deviations of normal noise that are divided into cells
_BITS = 256


@dataclass(frozen=True, slots=True)
class RatioPair(Pair):
    """Finitely many values of dP/dQ with their masses, known up to small relative errors.

    `is_reversed` exchanges the sides.
    """

    ratios: Ratios
    is_reversed: bool = False

    @property
    def reversed(self) -> "RatioPair":
        return replace(self, is_reversed=not self.is_reversed)

    @property
    def singular_mass(self) -> float:
        """Rounded up: P at ratio ∞, or Q at ratio 0 if the sides are exchanged."""
        if not self.is_reversed:
            return self.ratios.infinite
        at_zero = self.ratios.masses[self.ratios.values == 0.0].sum()
        return float(at_zero) * (1.0 + 2.0 * self.ratios.mass_error)

    @property
    def max_loss(self) -> float:
        losses = self.loss_law().losses
        return float(losses.max()) + 2.0 * self.loss_law().loss_error

    def loss_law(self) -> LossLaw:
        """Atoms under P, that of loss ∞ left out."""
        ratios = self.ratios
        kept = (ratios.values > 0.0) & (ratios.masses > 0.0)
        logs, log_right = np.log(ratios.values[kept]), np.log(ratios.masses[kept])
        log_left = log_right + logs
        error = ratios.value_error + 8.0 * UNIT * (1.0 + float(np.abs(logs).max()))
        return LossLaw(
            losses=-logs if self.is_reversed else logs,
            log_masses=log_right if self.is_reversed else log_left,
            loss_error=error,
            mass_error=ratios.mass_error + 2.0 * error,
        )

    def profile_ball(self, epsilon: arb) -> arb:
        """Σ (r − x)₊ over the values r, or Σ (1 − x·r)₊ if the sides are exchanged."""
        x = epsilon.exp()
        least, most = (self._total(end, x) for end in (End.LOWER, End.UPPER))
        return ball(least).union(ball(most))

    def _total(self, end: End, x: arb) -> float:
        """One end of the sum, with every number moved to that side by what it may be off."""
        sign = 1.0 if end is End.UPPER else -1.0
        ratios = self.ratios
        error = sign * (ratios.value_error + 16.0 * UNIT)
        below = float_below if (end is End.UPPER) else float_above
        if self.is_reversed:
            with np.errstate(over="ignore"):  # then it is certainly negative
                over = 1.0 - below(x) * (ratios.values * (1.0 - error))
            over += sign * 4.0 * UNIT
            infinite = 0.0
        else:
            over = ratios.values * (1.0 + error) - below(x)
            infinite = ratios.infinite if end is End.UPPER else 0.0
        total = float((np.maximum(over, 0.0) * ratios.masses).sum())
        return total * (1.0 + sign * (ratios.mass_error + 2.0**-40)) + infinite


@dataclass(frozen=True, slots=True)
class AllocationPair(Pair):
    """The mean of t products with one shifted factor each, against the product without a shift.

    P = (1/t)·Σᵢ Q₀ ⊗ … ⊗ P₀ ⊗ … ⊗ Q₀ with P₀ in place i, and Q = Q₀ ⊗ … ⊗ Q₀, for the pair (P₀, Q₀)
    of one step that holds the record. Under Q the ratio dP/dQ is the mean of t independent ratios
    of one step. It has no closed form; `upper` dominates it, and it dominates `lower`.
    """

    base: GaussianPair | LaplacePair
    steps: int
    is_reversed: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, steps=as_count("steps", self.steps))

    @property
    def reversed(self) -> "AllocationPair":
        return replace(self, is_reversed=not self.is_reversed)

    @property
    def upper(self) -> RatioPair:
        return RatioPair(mean_ratio(self.base, self.steps, End.UPPER), self.is_reversed)

    @property
    def lower(self) -> RatioPair:
        return RatioPair(mean_ratio(self.base, self.steps, End.LOWER), self.is_reversed)

    @property
    def attained(self) -> tuple[Pair, Pair]:
        return self.lower, self.lower

    @property
    def is_limit_known(self) -> bool:
        return False

    @property
    def singular_mass(self) -> float:
        return self.upper.singular_mass

    def singular_mass_ball(self) -> arb:
        return arb(0).union(ball(self.singular_mass))

    @property
    def max_loss(self) -> float:
        """That of one step: a mean is no larger than its largest term."""
        return self.base.max_loss

    def max_loss_ball(self) -> arb:
        return self.base.max_loss_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        return self.lower.profile_ball(epsilon).union(self.upper.profile_ball(epsilon))

    def loss_law(self) -> LossLaw:
        return self.upper.loss_law()

    @property
    def simplest(self) -> Pair:
        """One step is the mechanism itself."""
        return self.base if self.steps == 1 else self


@lru_cache(maxsize=32)
def mean_ratio(base: GaussianPair | LaplacePair, steps: int, end: End) -> Ratios:
    """The mean of as many ratios of one step, bounded towards `end`."""
    with ctx.workprec(_BITS):
        if isinstance(base, GaussianPair):
            edges, left, right = _normal_cells(base)
        else:
            edges, left, right = _laplace_cells(base)
    return from_cells(edges, left, right, 4.0 * UNIT, end).times(steps, end).over(steps)


def _normal_cells(base: GaussianPair) -> tuple[Floats, Floats, Floats]:
    """Ratios e^(μz − μ²/2) at evenly spaced outcomes z, and P and Q of the cells between them."""
    mu = base.mu
    outcomes = [ball(z) for z in np.linspace(-_REACH, float(mu) + _REACH, _CELLS).tolist()]
    edges = [(mu * z - mu * mu / 2).exp() for z in outcomes]
    root = arb(2).sqrt()

    def masses(shift: arb) -> list[arb]:
        above = [arb(1), *(((z - shift) / root).erfc() / 2 for z in outcomes), arb(0)]
        return [high - low for high, low in pairwise(above)]

    return _floats([arb(0), *edges, arb(math.inf)]), _floats(masses(mu)), _floats(masses(arb(0)))


def _laplace_cells(base: LaplacePair) -> tuple[Floats, Floats, Floats]:
    """Ratios from e^(−s) to e^s, and P and Q of the cells between them and of the two ends."""
    shift = base.shift
    shares = [ball(k) / (_CELLS - 1) for k in range(_CELLS)]
    edges = [((2 * share - 1) * shift).exp() for share in shares]
    falling = [(-shift * share).exp() / 2 for share in shares]  # Q beyond each outcome
    right = [arb(1) / 2, *_differences(falling), falling[-1]]
    rising = [(-shift * (1 - share)).exp() / 2 for share in shares]  # P up to each outcome
    left = [rising[0], *(-d for d in _differences(rising)), arb(1) / 2]
    return _floats([arb(0), *edges, arb(math.inf)]), _floats(left), _floats(right)


def _differences(values: list[arb]) -> list[arb]:
    return [first - second for first, second in pairwise(values)]


def _floats(values: list[arb]) -> Floats:
    return np.array([float(value.mid()) for value in values])
