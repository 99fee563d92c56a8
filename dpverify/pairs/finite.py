"""Two probability vectors over finitely many outcomes: exact on Fractions, rigorous on floats."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from flint import arb

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    as_between,
    as_count,
    check_between,
    is_rational,
)
from dpverify.guarantees import Bracket
from dpverify.pairs.base import Pair
from dpverify.pairs.likelihood import ExactLikelihood, FloatLikelihood, Likelihood, merge_by_ratio
from dpverify.pairs.loss import PrivacyLoss, float_loss
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.rationals import endpoints, simplest_rational
from dpverify.pairs.vectors import Law, Probabilities, parse_laws, parse_outcomes
from dpverify.theorems import EXACT_PROFILE

_MOST_PRODUCTS = 10**6  # exact multiplications in one product: a few seconds


@dataclass(frozen=True, init=False, eq=False)
class FinitePair(Pair):
    """Left and right probabilities of the same outcomes.

    Ints and Fractions are exact and must sum to 1. Floats must sum to 1 within n·2^-52; each law
    is then its vector divided by its exact sum, and every result is rigorous for these two laws.
    Ratios stand for e^ε, so that rational questions have rational answers.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> pair = FinitePair(left=[half, half], right=[third, 2 * third])
    >>> pair.delta_at_ratio(Fraction(1)), pair.ratio_at_delta(Fraction(0))
    (Fraction(1, 6), Fraction(3, 2))
    """

    left: Law
    right: Law
    outcomes: tuple[object, ...] | None

    def __init__(
        self,
        *,
        left: Probabilities,
        right: Probabilities,
        outcomes: Sequence[object] | None = None,
    ) -> None:
        p, q = parse_laws(left, right)
        object.__setattr__(self, "left", p)
        object.__setattr__(self, "right", q)
        object.__setattr__(self, "outcomes", parse_outcomes(outcomes, len(p)))

    @classmethod
    def leaky_response(cls, ratio: Fraction | float, delta: Fraction | float) -> "FinitePair":
        """The table of leaky randomized response with e^ε = `ratio`, outcomes 0, 1, "U", "V".

        A float stands for the simplest rational that rounds to it.

        >>> FinitePair.leaky_response(Fraction(3), Fraction(0)).left
        (Fraction(3, 4), Fraction(1, 4), Fraction(0, 1), Fraction(0, 1))
        """
        check_between("ratio", ratio, 1.0, math.inf)
        check_between("delta", delta, 0.0, 1.0)
        leak, never = simplest_rational(delta), Fraction(0)
        lie = never if ratio == math.inf else (1 - leak) / (1 + simplest_rational(ratio))
        truth = 1 - leak - lie
        left, right = (truth, lie, leak, never), (lie, truth, never, leak)
        return cls(left=left, right=right, outcomes=(0, 1, "U", "V"))

    def __len__(self) -> int:
        return len(self.left)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FinitePair) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        laws = (law if isinstance(law, tuple) else law.tobytes() for law in (self.left, self.right))
        return (*laws, self.outcomes)

    @property
    def exact(self) -> "FinitePair":
        """The same two distributions with Fractions as entries."""
        if isinstance(self.left, tuple):
            return self
        left, right = zip(*self.masses(), strict=True)
        return FinitePair(left=left, right=right, outcomes=self.outcomes)

    def masses(self) -> Iterator[tuple[Fraction, Fraction]]:
        """The probabilities of each outcome, as exact numbers."""
        if isinstance(self.left, tuple) and isinstance(self.right, tuple):
            yield from zip(self.left, self.right, strict=True)
            return
        up, down = self._totals
        for p, q in zip(self.left, self.right, strict=True):
            yield Fraction(float(p)) / up, Fraction(float(q)) / down

    @property
    def _totals(self) -> tuple[Fraction, Fraction]:
        """What the entries must be divided by."""
        table = self.likelihood
        if isinstance(table, FloatLikelihood):
            return table.left_total, table.right_total
        return Fraction(1), Fraction(1)

    @cached_property
    def likelihood(self) -> Likelihood:
        """The pair in terms of its likelihood ratio."""
        if isinstance(self.left, tuple):
            return ExactLikelihood.of(self.masses())
        return FloatLikelihood(self.left, np.asarray(self.right))

    @property
    def reversed(self) -> "FinitePair":
        return FinitePair(left=self.right, right=self.left, outcomes=self.outcomes)

    @property
    def either_way(self) -> "FinitePair":
        """The smallest pair that dominates both this one and its `reversed`.

        Its profile is the greater of the two profiles at every ratio. As a function of the ratio
        x = e^ε the maximum of two convex piecewise linear functions is one too, and the masses are
        read off it: at a corner r the slope rises by q, and p = r·q. [ZDW22 Prop. 8]
        """
        here, there = merge_by_ratio(self.masses()), merge_by_ratio(self.reversed.masses())
        if here == there:
            return self
        return EitherWay(self)

    @property
    def singular_mass(self) -> float:
        return enclose(self.singular_mass_ball)[1]

    def singular_mass_ball(self) -> arb:
        return ball(self.likelihood.singular)

    def max_loss_ball(self) -> arb:
        """The logarithm of the largest finite ratio, or 0 if that is negative."""
        top = self.likelihood.top
        return ball(top).log() if top > 1 else arb(0)

    @property
    def corners(self) -> tuple[Fraction, ...]:
        """The finite ratios p/q of all outcomes, where the profile bends, in rising order."""
        ratios = merge_by_ratio(self.masses())
        return tuple(sorted(Fraction(ratio) for ratio in ratios if ratio != math.inf))

    def delta_at_ratio(self, ratio: Fraction) -> Fraction:
        """The exact profile: Σ (p − ratio·q)₊, where `ratio` is e^ε and may be below 1.

        >>> FinitePair.leaky_response(Fraction(3), Fraction(1, 4)).delta_at_ratio(Fraction(2))
        Fraction(7, 16)
        """
        check_between("ratio", ratio, 0.0, math.inf)
        exact = _exact("ratio", ratio)
        return self.likelihood.cut(exact).excess(exact)

    def ratio_at_delta(self, delta: Fraction) -> Fraction | float:
        """The exact inverse: the smallest e^ε ≥ 1 that suffices at δ; ∞ if none does.

        It is the largest (P(E) − δ)/Q(E). Each step takes the event that is best at the current
        ratio and moves to the ratio at which that event has excess δ: it never passes the answer
        and stops there after finitely many steps. [Dinkelbach, Management Sci. 13, 1967]

        >>> FinitePair.leaky_response(Fraction(3), Fraction(1, 4)).ratio_at_delta(Fraction(7, 16))
        Fraction(2, 1)
        """
        check_between("delta", delta, 0.0, 1.0)
        exact = _exact("delta", delta)
        if exact < self.likelihood.singular:
            return math.inf
        if exact == self.likelihood.singular:
            return max(self.likelihood.top, Fraction(1))
        guess = max(self.likelihood.steepest(exact), Fraction(1))
        cut = self.likelihood.cut(guess)
        # A guess beyond the answer is led back below it by the event that is best there.
        back = (cut.left - exact) / cut.right if cut.right else Fraction(1)
        ratio = max(min(guess, back), Fraction(1))
        while (cut := self.likelihood.cut(ratio)).excess(ratio) > exact:
            ratio = (cut.left - exact) / cut.right
        return ratio

    def exact_trade_off(self, false_alarm: Fraction) -> Fraction:
        """The exact trade-off curve: least miss rate of a test with this false-alarm rate.

        The curve is the lower envelope's dual, max over ratios t of 1 − δ(t) − t·α. Two cuts on
        either side of α are brought together until no cut lies beyond the line through them.

        >>> FinitePair.leaky_response(Fraction(3), Fraction(0)).exact_trade_off(Fraction(1, 8))
        Fraction(5, 8)
        """
        check_between("false_alarm", false_alarm, 0.0, 1.0)
        exact = _exact("false_alarm", false_alarm)
        if exact >= self.likelihood.cut(Fraction(0)).right:
            return Fraction(0)
        low, high = self.likelihood.straddle(exact)
        while True:
            ratio = (low.left - high.left) / (low.right - high.right)
            best = self.likelihood.cut(ratio)
            if best.excess(ratio) <= low.excess(ratio):
                return 1 - low.left + ratio * (low.right - exact)
            low, high = (best, high) if best.right > exact else (low, best)

    def renyi_moment(self, order: int) -> Fraction | float:
        """Σ p^α·q^(1−α) for a whole order α, exactly; ∞ if some outcome has q = 0 < p.

        >>> FinitePair.leaky_response(Fraction(3), Fraction(0)).renyi_moment(2)  # 9/4 + 1/12
        Fraction(7, 3)
        """
        order = as_count("order", order)
        if not isinstance(self.left, tuple):
            raise NotSupported("renyi_moment is exact and needs Fractions; see FinitePair.exact")
        if order == 1:
            return Fraction(1)
        if self.likelihood.singular:
            return math.inf
        return sum((p * (p / q) ** (order - 1) for p, q in self.masses() if p), Fraction(0))

    def product(self, other: "FinitePair") -> "FinitePair":
        """Both pairs observed, independently: exact, outcomes of equal likelihood ratio merged.

        Merging loses nothing that privacy depends on, but the names of the outcomes are gone.

        >>> pair = FinitePair.leaky_response(Fraction(3), Fraction(0))
        >>> pair.product(pair).left
        (Fraction(9, 16), Fraction(3, 8), Fraction(1, 16))
        """
        first, second = merge_by_ratio(self.masses()), merge_by_ratio(other.masses())
        size = len(first) * len(second)
        if size > _MOST_PRODUCTS:
            raise NotSupported(
                f"a product of {len(first)} by {len(second)} classes of outcomes must have at most "
                f"{_MOST_PRODUCTS}; the accountant composes large pairs"
            )
        merged = merge_by_ratio(
            (a.left * b.left, a.right * b.right) for a in first.values() for b in second.values()
        )
        ratios = sorted(merged, reverse=True)
        left, right = zip(*(merged[ratio] for ratio in ratios), strict=True)
        return FinitePair(left=left, right=right)

    def power(self, times: int) -> "FinitePair":
        """`times` independent observations of this pair."""
        times = as_count("times", times)
        result: FinitePair | None = None
        square = self
        while True:
            if times & 1:
                result = square if result is None else result.product(square)
            times >>= 1
            if not times and result is not None:
                return result
            square = square.product(square)

    def loss(self) -> PrivacyLoss:
        """The privacy loss ln(P/Q) as a random variable under P, in floats."""
        if isinstance(self.left, tuple):
            merged = merge_by_ratio(self.masses())
            infinite = merged.pop(math.inf, None)
            ratios = sorted(ratio for ratio in merged if ratio)
            return PrivacyLoss(
                losses=np.array([float(ball(Fraction(ratio)).log()) for ratio in ratios]),
                masses=np.array([float(merged[ratio].left) for ratio in ratios]),
                infinite_mass=float(infinite.left) if infinite else 0.0,
            )
        return float_loss(self.left, np.asarray(self.right))

    def loss_law(self) -> LossLaw:
        """Every outcome that both distributions allow is an atom."""
        left, right = _log_entries(self.left), _log_entries(self.right)
        finite = (left > -math.inf) & (right > -math.inf)
        left, right = left[finite], right[finite]
        if not len(left):
            return LossLaw()
        size = float(np.abs(left).max() + np.abs(right).max())
        error = 16.0 * UNIT * (1.0 + size)
        return LossLaw(losses=left - right, log_masses=left, loss_error=error, mass_error=error)

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The logarithm of the exact ratio, between two neighboring floats."""
        delta = as_between("delta", delta, 0.0, 1.0)
        ratio = self.ratio_at_delta(Fraction(delta))
        if isinstance(ratio, float):
            return Bracket(math.inf, math.inf, EXACT_PROFILE)
        return Bracket(*enclose(lambda: ball(ratio).log()), EXACT_PROFILE)

    def profile_ball(self, epsilon: arb) -> arb:
        """The profile falls in ε, so its exact values at both ends of the ball enclose it."""
        table = self.likelihood
        if not table.top or epsilon > ball(table.top).log():
            return self.singular_mass_ball()
        if epsilon < ball(table.bottom).log():
            return 1 - epsilon.exp() * ball(table.cut(Fraction(0)).right)
        low, high = endpoints(epsilon.exp())
        return ball(self.delta_at_ratio(low)).union(ball(self.delta_at_ratio(high)))

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """The curve falls, so its exact values at both ends of the ball enclose it."""
        low, high = (min(max(end, Fraction(0)), Fraction(1)) for end in endpoints(false_alarm))
        return ball(self.exact_trade_off(low)).union(ball(self.exact_trade_off(high)))

    def renyi_ball(self, order: arb) -> arb:
        """ln(Σ p·(p/q)^(α−1))/(α−1); takes seconds for 10^6 outcomes."""
        if self._equal:
            return arb(0)
        moment = sum((p * (p / q) ** (order - 1) for p, q in self._positive_balls()), arb(0))
        up, down = (ball(total) for total in self._totals)
        return (moment / up).log() / (order - 1) + (down / up).log()

    def kullback_leibler_ball(self) -> arb:
        """Σ p·ln(p/q)."""
        if self._equal:
            return arb(0)
        mean = sum((p * (p / q).log() for p, q in self._positive_balls()), arb(0))
        up, down = (ball(total) for total in self._totals)
        return mean / up + (down / up).log()

    @property
    def _equal(self) -> bool:
        """Whether both distributions are the same: then no ratio exceeds 1."""
        return not self.likelihood.singular and self.likelihood.top == 1

    def _positive_balls(self) -> Iterator[tuple[arb, arb]]:
        """Entries as given, before division by their sums, where p > 0."""
        laws = (law if isinstance(law, tuple) else law.tolist() for law in (self.left, self.right))
        for p, q in zip(*laws, strict=True):
            if p:
                yield ball(p), ball(q)


class EitherWay(FinitePair):
    """The pair that dominates another in both directions, which `attained` lists.

    Steps that each show `pair` or its reverse are bounded from above by this pair, even when each
    order is chosen after seeing earlier outputs, and from below by any choice made in advance.
    """

    pair: FinitePair

    def __init__(self, pair: FinitePair) -> None:
        left, right = zip(*_upper_envelope(pair.exact), strict=True)
        super().__init__(left=left, right=right)
        object.__setattr__(self, "pair", pair)

    @property
    def attained(self) -> tuple[FinitePair, FinitePair]:
        return self.pair, self.pair.reversed

    @property
    def reversed(self) -> "EitherWay":
        """The pair itself, as it is symmetric."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EitherWay) and self.pair == other.pair

    def __hash__(self) -> int:
        return hash((EitherWay, self.pair))


def _upper_envelope(pair: FinitePair) -> Iterator[tuple[Fraction, Fraction]]:
    """The masses of the pair whose profile is the greater of those of `pair` and its reverse."""
    sides = pair, pair.reversed
    ratios = sorted({Fraction(0), *(ratio for side in sides for ratio in side.corners)})
    gaps = [sides[0].delta_at_ratio(r) - sides[1].delta_at_ratio(r) for r in ratios]
    crossings = (
        low + (high - low) * first / (first - second)
        for low, high, first, second in zip(ratios, ratios[1:], gaps, gaps[1:], strict=False)
        if first * second < 0
    )
    # Beyond the last corner both profiles are constant.
    corners = sorted({*ratios, *crossings})
    heights = [max(side.delta_at_ratio(r) for side in sides) for r in corners]
    points = list(zip(corners, heights, strict=True))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(points)]
    before = Fraction(-1)
    for ratio, slope in zip(corners, [*slopes, Fraction(0)], strict=True):
        if slope > before:
            yield ratio * (slope - before), slope - before
        before = slope
    if heights[-1]:
        yield heights[-1], Fraction(0)


def _log_entries(law: Law) -> Floats:
    """Logarithms of the probabilities, each right to a few units in the last place."""
    if isinstance(law, tuple):
        return np.array([_log_fraction(entry) for entry in law])
    with np.errstate(divide="ignore"):
        return np.log(law) - math.log(math.fsum(law))


def _log_fraction(value: Fraction) -> float:
    if not value:
        return -math.inf
    nearest = float(value)
    return math.log(nearest) if nearest > 1e-300 else float(ball(value).log())


def _exact(name: str, value: Fraction) -> Fraction:
    """The number itself as a Fraction; floats are refused, for they are not exact."""
    if not is_rational(value):
        raise InvalidParameter(f"{name}={value!r} must be an int or a Fraction, to be exact")
    return Fraction(value)
