"""The noise for a budget, and how much of anything else it allows: composition inverted."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dpverify.accounting import deadline
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.budgets import Budget, Budgeted, as_budget
from dpverify.accounting.parts import Composable
from dpverify.errors import InvalidParameter, as_count, as_positive, check_flag
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.neighbors import Relation
from dpverify.waiting import telling

Factory: TypeAlias = Callable[[Any], "Composable | Accountant"]
"""What a number makes: a mechanism, a guarantee, or a whole accountant."""

_FARTHEST = 2.0**200  # noise scales are searched between 2^-200 and 2^200
_COARSE = 0.1  # precision asked for while looking for the order of magnitude
_NEAR = 0.02  # how close the coarse search comes, in ln(spent/allowed)
_SHARP = 2.0**-46
_DIGITS = 1e-12
_ATTEMPTS = 8
_LARGE = 50.0
_LONGEST_STEP = 20.0  # of a secant, in ln(noise)
_FLATTEST = -0.05  # slope of ln(spent/allowed) in ln(noise) that a step is based on
_FINEST = 1e-9  # precision at which whole numbers that brackets cannot tell apart are given up


@dataclass(frozen=True, slots=True)
class Calibration:
    """The noise found, what it spends, and evidence that less would break the budget.

    `spent.upper` is within the budget. `insufficient` is a noise scale whose *lower* end breaks
    the budget, so the smallest possible noise lies in (insufficient, noise]; 0 where none is known.

    >>> import dpverify as dpv
    >>> found = dpv.calibration(
    ...     lambda s: dpv.Laplace(scale=s), budget=dpv.PureDP(1.0), relation=dpv.Relation.ADD_REMOVE
    ... )
    >>> found.noise, found.spent.upper <= 1.0
    (1.0, True)
    """

    noise: float
    spent: Bracket
    insufficient: float

    @property
    def relative_gap(self) -> float:
        """An upper bound on the share of the noise that could be saved."""
        return 1 - self.insufficient / self.noise


def calibrate(  # noqa: PLR0913  # keywords with defaults
    factory: Factory,
    *,
    budget: Budget,
    relation: Relation,
    times: int = 1,
    precision: float = 1e-4,
    seconds: float | None = None,
) -> float:
    """The smallest noise scale s such that `times` runs of `factory(s)` stay within the budget.

    The budget is a guarantee of any kind, an `AttackRisk`, or a list of these: all must hold.
    More noise must mean more privacy. The result meets the budget for certain, and less than
    (1 − precision) of it certainly does not; where closed forms apply it is exact to 12 digits.
    Where no single pair is known to be the worst (zCDP, selections), it is the smallest whose
    *upper* end meets the budget. For batches without replacement that is the end by the profile of
    single batches; `epsilon` has a sharper one, which takes too long to search with, so that a
    little less noise may do.

    >>> from dpverify.guarantees import ApproxDP, GaussianDP
    >>> budget = ApproxDP(epsilon=1.0, delta=1e-6)
    >>> s = calibrate(lambda s: GaussianDP(mu=1 / s), budget=budget, relation=Relation.ADD_REMOVE)
    >>> round(s, 6)
    4.224679
    """
    return calibration(
        factory,
        budget=budget,
        relation=relation,
        times=times,
        precision=precision,
        seconds=seconds,
    ).noise


@telling("calibrating")
def calibration(  # noqa: PLR0913  # likewise
    factory: Factory,
    *,
    budget: Budget,
    relation: Relation,
    times: int = 1,
    precision: float = 1e-4,
    seconds: float | None = None,
) -> Calibration:
    """`calibrate` with its evidence.

    After `seconds` costs are known by what adds up at once only: the noise still meets the budget,
    but may be far from the smallest, and `spent.assumes` says so.

    >>> import dpverify as dpv
    >>> found = dpv.calibration(
    ...     dpv.Gaussian, budget=dpv.ApproxDP(1, 1e-6), relation=dpv.Relation.ADD_REMOVE, times=10
    ... )
    >>> round(found.noise, 3)
    13.36
    """
    times = as_count("times", times)
    precision = as_positive("precision", precision)
    kept = as_budget(budget)
    _check_factory(factory, "noise", "lambda s: Gaussian(sigma=s)")
    search = _Search(factory, kept, Relation.parse(relation), times)
    with deadline.time_limit(seconds):
        low, high = search.narrowed(*search.start(), precision)
        high = search.rounded(low, high, precision)
        low = low if low.breaks else search.insufficient(high, precision)
    return Calibration(high.noise, high.spent, low.noise if low.breaks else 0.0)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest number found, its cost, and the smallest number known to break the budget.

    `spent.upper` is within the budget; `beyond` is ∞ where nothing more is allowed to be asked.

    >>> import dpverify as dpv
    >>> start = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    >>> found = dpv.largest(
    ...     lambda n: start.compose(dpv.Gaussian(20.0), times=n),
    ...     budget=dpv.ApproxDP(1, 1e-6),
    ...     relation=dpv.Relation.ADD_REMOVE,
    ...     most=10_000,
    ...     whole=True,
    ... )
    >>> int(found.value)
    22
    """

    value: float
    spent: Bracket
    beyond: float


@telling("calibrating")
def largest(  # noqa: PLR0913  # likewise
    factory: Factory,
    *,
    budget: Budget,
    relation: Relation,
    most: float,
    whole: bool = False,
    precision: float = 1e-4,
    seconds: float | None = None,
) -> Largest:
    """The largest number up to `most` for which `factory(number)` stays within the budget.

    Steps, epochs, a batch or a rate: larger must mean less privacy. If a `whole` number is looked
    for, from 1 on, the next one breaks the budget for certain wherever brackets can tell; else the
    result is exact to `precision`.

    >>> from dpverify.guarantees import ApproxDP, GaussianDP
    >>> start = Accountant(relation=Relation.ADD_REMOVE)
    >>> found = largest(
    ...     lambda steps: start.compose(GaussianDP(0.1), times=steps),
    ...     budget=ApproxDP(epsilon=1.0, delta=1e-6),
    ...     relation=Relation.ADD_REMOVE,
    ...     most=10**6,
    ...     whole=True,
    ... )
    >>> found.value, found.beyond
    (5, 6)
    """
    check_flag("whole", whole)
    most = as_count("most", most) if whole else as_positive("most", most)
    precision = as_positive("precision", precision)
    kept = as_budget(budget)
    _check_factory(
        factory, "number to look for", "lambda steps: accountant.compose(…, times=steps)"
    )
    with deadline.time_limit(seconds):
        if whole:
            return _Counts(factory, kept, Relation.parse(relation)).found(int(most), precision)
        # More of it is less "noise": s ≥ 1 stands for most/s.
        never = "no number is small enough"
        search = _Search(lambda s: factory(most / s), kept, Relation.parse(relation), 1, never)
        first = search.trial(1.0, precision)
        if first.meets:
            return Largest(most, first.spent, math.inf)
        low, high = search.narrowed(*search.start(), precision)
    return Largest(most / high.noise, high.spent, most / low.noise if low.breaks else math.inf)


def _check_factory(factory: object, of: str, example: str) -> None:
    if not callable(factory):
        raise InvalidParameter(
            f"factory={factory!r} must be a function of the {of}, such as {example}"
        )


def _spent(
    factory: Factory, number: float, budget: Budgeted, run: "tuple[Relation, int, float]"
) -> "_Trial":
    """What `times` runs of the factory's mechanism spend of the budget."""
    relation, times, precision = run
    accountant = Accountant(relation=relation).compose(factory(number), times=times)
    with no_games():
        return _Trial(number, *budget.spent(accountant, precision))


@dataclass(frozen=True, slots=True)
class _Counts:
    """A search among whole numbers."""

    factory: Factory
    budget: Budgeted
    relation: Relation

    def trial(self, number: int, precision: float) -> "_Trial":
        """Known well enough to say whether the budget is met, if brackets can tell."""
        while True:
            found = _spent(self.factory, number, self.budget, (self.relation, 1, precision))
            decided = found.meets or found.breaks or found.is_open or deadline.is_over()
            if decided or precision < _FINEST:
                return found
            precision /= 8.0

    def found(self, most: int, precision: float) -> Largest:
        least = self.trial(1, _COARSE)
        if not least.meets:
            raise InvalidParameter(
                f"budget={_shown(self.budget)} must allow at least 1, and does not"
            )
        low, step = least, 1
        high: _Trial | None = None
        while high is None and low.noise < most:
            step = min(2 * step, most)
            there = self.trial(step, _COARSE)
            low, high = (there, None) if there.meets else (low, there)
        if high is None:
            return Largest(most, low.spent, math.inf)
        while high.noise - low.noise > 1:
            middle = int(low.noise + high.noise) // 2
            there = self.trial(middle, precision)
            low, high = (there, high) if there.meets else (low, there)
        return Largest(int(low.noise), low.spent, high.noise if high.breaks else math.inf)


def _shown(budget: Budgeted) -> object:
    """The budget in its own kind: with δ = 0 it is pure."""
    stated: object = getattr(budget, "guarantee", budget)
    if isinstance(stated, ApproxDP) and stated.delta == 0:
        return PureDP(epsilon=stated.epsilon)
    return stated


@dataclass(frozen=True, slots=True)
class _Trial:
    """A noise scale that was tried: its cost, the limit, and the tolerance."""

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
        """Whether the cost is known to float accuracy."""
        return self.spent.width <= 1e-12 * self.allowed

    @property
    def is_open(self) -> bool:
        """Whether no narrower bracket is possible: the worst pair is unknown, or memory ran out."""
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


def _step(exponent: float) -> float:
    """The factor of a secant step, kept within reason: nothing is known that far away."""
    return math.exp(min(max(exponent, -_LONGEST_STEP), _LONGEST_STEP))


def _secant(first: _Trial, second: _Trial, known: float) -> float:
    """The slope of ln(spent/allowed) in ln(noise) between two trials; `known` if they are one."""
    distance = math.log(second.noise / first.noise)
    if abs(distance) < _DIGITS:
        return known
    return min((second.excess - first.excess) / distance, _FLATTEST)


@dataclass(frozen=True, slots=True)
class _Search:
    """Root search in ln(noise), keeping a trial that breaks the budget and one that meets it."""

    factory: Factory
    budget: Budgeted
    relation: Relation
    times: int
    never: str = "no noise is enough"

    def trial(self, noise: float, precision: float) -> _Trial:
        run = self.relation, self.times, precision
        return _spent(self.factory, noise, self.budget, run)

    def start(self) -> tuple[_Trial, _Trial]:
        """A trial that breaks the budget, or does not provably meet it, and one that meets it."""
        found = self.trial(1.0, _COARSE)
        low = high = found
        factor = 2.0
        while not high.meets:
            if deadline.is_over() and high.spent.upper == math.inf:
                raise InvalidParameter(
                    "seconds must be more: in that time no noise was found to meet the budget"
                )
            low = high if high.falls_short else low
            high, factor = self._moved(high, factor), factor**2
        factor = 0.5
        while not low.falls_short and not deadline.is_over():
            high = low if low.meets else high
            low, factor = self._moved(low, factor), factor**2
        return low, high

    def _moved(self, trial: _Trial, factor: float) -> _Trial:
        noise = trial.noise * factor
        if not 1 / _FARTHEST <= noise <= _FARTHEST:
            why = self.never if factor > 1 else "even the least noise is more than enough"
            stated = _shown(self.budget)
            if factor > 1 and isinstance(stated, PureDP):
                why += "; noise such as Gaussian noise needs a δ above 0"
            raise InvalidParameter(f"budget={stated!r} must fit the mechanism: {why}")
        return self.trial(noise, _COARSE)

    def narrowed(self, low: _Trial, high: _Trial, precision: float) -> tuple[_Trial, _Trial]:
        """A trial that breaks and one that meets, closer than `precision` wherever costs allow it.

        First the root is estimated; then one trial on either side of it must prove it. Costs that
        are known exactly are followed to 12 digits. Where the ends stay apart, the upper one meets
        the budget on one side of the root and not on the other.
        """
        if deadline.is_over():
            return low, high
        root, slope = self._root(low, high, _NEAR)
        last = self.trial(root, 2 * precision)
        sharp = last.is_sharp
        if sharp:
            root, slope = self._root(low, high, _SHARP)
        else:
            root *= _step(-last.excess / slope)
        goal, asked = (_DIGITS if sharp else precision), 2 * precision
        for _ in range(_ATTEMPTS):
            if deadline.is_over():
                break
            more = self.trial(root * (1 + 0.45 * goal), asked)
            less = self.trial(root * (1 - 0.45 * goal), asked)
            high = more if more.meets and more.noise < high.noise else high
            low = less if less.falls_short and less.noise > low.noise else low
            if more.meets and less.falls_short:
                break
            nearer = min(more, less, key=lambda trial: abs(trial.excess))
            slope, last = _secant(last, nearer, slope), nearer
            root = nearer.noise * _step(-nearer.excess / slope)
            if not all(trial.meets or trial.falls_short for trial in (more, less)):
                asked /= 4
        return low, high

    def _root(self, low: _Trial, high: _Trial, accuracy: float) -> tuple[float, float]:
        """Where ln(spent/allowed) vanishes, by the Illinois rule in ln(noise); and its slope."""
        x, y = [math.log(low.noise), math.log(high.noise)], [low.excess, high.excess]
        kept, slope, at = -1, -1.0, x[1]
        while x[1] - x[0] > accuracy / 4 and not deadline.is_over():
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

    def insufficient(self, high: _Trial, precision: float) -> _Trial:
        """A trial that is likely to break the budget: as much less noise as the bracket is wide."""
        if deadline.is_over() or not 0.0 < high.spent.width < high.allowed < math.inf:
            return high
        less = 2.0 * high.spent.width / high.allowed + precision
        return self.trial(high.noise * (1.0 - min(less, 0.5)), precision)

    def rounded(self, low: _Trial, high: _Trial, precision: float) -> _Trial:
        """A number with fewer digits between the two, if one also meets the budget."""
        for digits in range(1, 13):
            noise = float(f"{high.noise:.{digits}g}")
            if low.noise < noise < high.noise:
                shorter = self.trial(noise, precision)
                return shorter if shorter.meets else high
        return high
