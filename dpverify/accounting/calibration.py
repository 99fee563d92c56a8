"""Noise for a budget: the inverse of composition."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Composable
from dpverify.errors import InvalidParameter, as_count, as_positive
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.neighbors import Relation

Budget: TypeAlias = PureDP | ApproxDP
Factory: TypeAlias = Callable[[float], Composable]

_FARTHEST = 2.0**200  # noise scales are searched between 2^-200 and 2^200
_COARSE = 0.1  # precision asked for while looking for the order of magnitude
_NEAR = 0.02  # how close the coarse search comes, in ln(spent/allowed)
_SHARP = 2.0**-46
_DIGITS = 1e-12
_ATTEMPTS = 8
_LARGE = 50.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The noise found, what it spends, and evidence that less would break the budget.

    `spent.upper` is within the budget. `insufficient` is a noise scale whose *lower* end breaks
    the budget, so the smallest possible noise lies in (insufficient, noise]; 0 where none is known.
    """

    noise: float
    spent: Bracket
    insufficient: float

    @property
    def relative_gap(self) -> float:
        """At most this share of the noise could be saved."""
        return 1 - self.insufficient / self.noise


def calibrate(
    factory: Factory,
    *,
    budget: Budget,
    relation: Relation,
    times: int = 1,
    precision: float = 1e-4,
) -> float:
    """The smallest noise scale s such that `times` runs of `factory(s)` stay within the budget.

    More noise must mean more privacy. The result meets the budget for certain, and less than
    (1 − precision) of it certainly does not; where closed forms apply it is exact to 12 digits.
    Where no single pair is known to be the worst (batches without replacement, zCDP), it is the
    smallest whose *upper* end meets the budget.

    >>> from dpverify.guarantees import GaussianDP
    >>> budget = ApproxDP(epsilon=1.0, delta=1e-6)
    >>> s = calibrate(lambda s: GaussianDP(mu=1 / s), budget=budget, relation=Relation.ADD_REMOVE)
    >>> round(s, 6)
    4.224679
    """
    return calibration(
        factory, budget=budget, relation=relation, times=times, precision=precision
    ).noise


def calibration(
    factory: Factory,
    *,
    budget: Budget,
    relation: Relation,
    times: int = 1,
    precision: float = 1e-4,
) -> Calibration:
    """`calibrate` with its evidence."""
    times = as_count("times", times)
    precision = as_positive("precision", precision)
    if not isinstance(budget, PureDP | ApproxDP):
        raise InvalidParameter(
            f"budget={budget!r} must be a PureDP or an ApproxDP, such as "
            "ApproxDP(epsilon=1, delta=1e-6)"
        )
    if not callable(factory):
        raise InvalidParameter(
            f"factory={factory!r} must be a function of the noise, such as "
            "lambda s: Gaussian(sigma=s)"
        )
    if budget.epsilon == math.inf or (isinstance(budget, ApproxDP) and budget.delta == 1):
        raise InvalidParameter(
            f"budget={budget!r} must have a finite epsilon and a delta below 1: no noise is needed "
            "otherwise"
        )
    search = _Search(factory, budget, Relation.parse(relation), times)
    low, high = search.narrowed(*search.start(), precision)
    high = search.rounded(low, high, precision)
    return Calibration(high.noise, high.spent, low.noise if low.breaks else 0.0)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A noise scale that was tried: what it spends, what is allowed, and the tolerance."""

    noise: float
    spent: Bracket
    allowed: float
    tolerance: float

    @property
    def meets(self) -> bool:
        return self.spent.upper <= self.allowed

    @property
    def breaks(self) -> bool:
        return self.spent.lower > self.allowed

    @property
    def falls_short(self) -> bool:
        """Whether the certified cost exceeds the budget, so that more noise is needed."""
        return self.breaks or (self.is_open and not self.meets)

    @property
    def is_sharp(self) -> bool:
        """Whether the cost is known to float precision."""
        return self.spent.width <= 1e-12 * self.allowed

    @property
    def is_open(self) -> bool:
        """Whether no narrower bracket can be had: the worst pair is unknown, or memory ran out."""
        return self.spent.width > 2.0 * self.tolerance

    @property
    def excess(self) -> float:
        """ln(spent/allowed), kept finite: how far off, for the secant step.

        Ends that meet are known by their middle. Where they stay apart it is the upper one that
        has to meet the budget.
        """
        low = self.spent.upper if self.is_open else self.spent.lower
        middle = (low + self.spent.upper) / 2
        if middle <= 0 or math.isinf(middle):
            return -_LARGE if middle <= 0 else _LARGE
        return (
            min(max(math.log(middle / self.allowed), -_LARGE), _LARGE) if self.allowed else _LARGE
        )


@dataclass(frozen=True, slots=True)
class _Search:
    """Root search in ln(noise), keeping a trial that breaks the budget and one that meets it."""

    factory: Factory
    budget: Budget
    relation: Relation
    times: int

    def trial(self, noise: float, precision: float) -> _Trial:
        """What `times` runs cost in ε; or in δ where the budget has ε = 0."""
        accountant = Accountant(relation=self.relation)
        accountant = accountant.compose(self.factory(noise), times=self.times)
        delta = self.budget.delta if isinstance(self.budget, ApproxDP) else 0.0
        epsilon = self.budget.epsilon
        if epsilon == 0:
            spent = accountant.delta(epsilon, tolerance=precision / 4)
            return _Trial(noise, spent, delta, spent.upper * precision / 4)
        # ε falls at least like 1/noise near the root, so this much of ε is worth less noise.
        tolerance = precision * epsilon / 4
        return _Trial(noise, accountant.epsilon(delta, tolerance=tolerance), epsilon, tolerance)

    def start(self) -> tuple[_Trial, _Trial]:
        """A trial that breaks the budget, or does not provably meet it, and one that meets it."""
        found = self.trial(1.0, _COARSE)
        low = high = found
        factor = 2.0
        while not high.meets:
            low = high if high.falls_short else low
            high, factor = self._moved(high, factor), factor**2
        factor = 0.5
        while not low.falls_short:
            high = low if low.meets else high
            low, factor = self._moved(low, factor), factor**2
        return low, high

    def _moved(self, trial: _Trial, factor: float) -> _Trial:
        noise = trial.noise * factor
        if not 1 / _FARTHEST <= noise <= _FARTHEST:
            why = "no noise is enough" if factor > 1 else "even the least noise is more than enough"
            raise InvalidParameter(f"budget={self.budget!r} must fit the mechanism: {why}")
        return self.trial(noise, _COARSE)

    def narrowed(self, low: _Trial, high: _Trial, precision: float) -> tuple[_Trial, _Trial]:
        """A trial that breaks and one that meets, closer than `precision` wherever costs allow it.

        First the root is estimated; then one trial on either side of it must prove it. Costs that
        are known exactly are followed to 12 digits. Where the ends stay apart, the upper one meets
        the budget on one side of the root and not on the other.
        """
        root, slope = self._root(low, high, _NEAR)
        last = self.trial(root, 2 * precision)
        sharp = last.is_sharp
        if sharp:
            root, slope = self._root(low, high, _SHARP)
        else:
            root *= math.exp(-last.excess / slope)
        goal, asked = (_DIGITS if sharp else precision), 2 * precision
        for _ in range(_ATTEMPTS):
            more = self.trial(root * (1 + 0.45 * goal), asked)
            less = self.trial(root * (1 - 0.45 * goal), asked)
            high = more if more.meets and more.noise < high.noise else high
            low = less if less.falls_short and less.noise > low.noise else low
            if more.meets and less.falls_short:
                break
            nearer = min(more, less, key=lambda trial: abs(trial.excess))
            root, asked = nearer.noise * math.exp(-nearer.excess / slope), asked / 4
        return low, high

    def _root(self, low: _Trial, high: _Trial, accuracy: float) -> tuple[float, float]:
        """Where ln(spent/allowed) vanishes, by the Illinois rule in ln(noise); and its slope."""
        x, y = [math.log(low.noise), math.log(high.noise)], [low.excess, high.excess]
        kept, slope, at = -1, -1.0, x[1]
        while x[1] - x[0] > accuracy / 4:
            steep = (y[1] - y[0]) / (x[1] - x[0])
            at = x[0] - y[0] / steep if steep < 0 else (x[0] + x[1]) / 2
            at = at if x[0] < at < x[1] else (x[0] + x[1]) / 2
            excess = self.trial(math.exp(at), _COARSE).excess
            side = 0 if excess > 0 else 1
            slope = (excess - y[side]) / (at - x[side]) if at != x[side] else slope
            if abs(excess) <= accuracy or at in x:
                break
            y[1 - side] /= 2.0 if kept == side else 1.0
            x[side], y[side], kept = at, excess, side
        return math.exp(at), min(slope, -0.1)

    def rounded(self, low: _Trial, high: _Trial, precision: float) -> _Trial:
        """A number with fewer digits between the two, if one meets the budget as well."""
        for digits in range(1, 13):
            noise = float(f"{high.noise:.{digits}g}")
            if low.noise < noise < high.noise:
                shorter = self.trial(noise, precision)
                return shorter if shorter.meets else high
        return high
