"""A pair of distributions on two neighboring datasets, and the privacy measures it gives.

This is the type to subclass for a mechanism that the library does not know. Two members are
needed, `profile_ball` and `reversed`; everything else follows from them, with certified bounds
where a profile alone does not determine a value. What a subclass knows better (`singular_mass`,
`max_loss`, a trade-off curve, Rényi divergences, `loss_law`) it may state.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from flint import arb, ctx

from dpverify.balls import (
    Formula,
    at_least,
    at_most,
    ball,
    enclose,
    first_float,
    float_above,
    float_below,
)
from dpverify.errors import InvalidParameter, as_between, as_real
from dpverify.guarantees import Bracket
from dpverify.pairs.loss_law import AnyLossLaw
from dpverify.pairs.profile_law import REACH, ProfileLaw, dominating_law
from dpverify.theorems import EXACT_PROFILE

_CHECKED = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0)
_BITS = 128


class Pair(ABC):
    """Two distributions, left (P) and right (Q): the outputs on two neighbors, in the worst case.

    A subclass writes its profile on balls, and says what the pair is with its sides exchanged.
    This class turns that into floats that are rounded towards safety: δ, ε and Rényi divergences
    up, the attacker's error down.

    >>> class Coin(Pair):  # P shows heads, Q tosses a fair coin
    ...     def profile_ball(self, epsilon):
    ...         return (1 - epsilon.exp() / 2).max(arb(0))
    ...     @property
    ...     def reversed(self):
    ...         return Toss()
    >>> class Toss(Pair):
    ...     def profile_ball(self, epsilon):
    ...         return arb(0.5)
    ...     @property
    ...     def reversed(self):
    ...         return Coin()
    >>> Coin().delta(0.0), round(Coin().max_loss, 12)
    (0.5, 0.69314718056)
    """

    def __new__(cls, *args: Any, **options: Any) -> Self:  # noqa: ANN401, ARG004  # for __init__
        """Raise if a subclass lacks a required method or property."""
        if missing := sorted(cls.__abstractmethods__):
            raise InvalidParameter(
                f"{cls.__name__} must define {' and '.join(missing)}: a pair is given by its "
                "profile and by the pair with the sides exchanged"
            )
        return super().__new__(cls)

    @property
    @abstractmethod
    def reversed(self) -> "Pair":
        """The same two distributions with their sides exchanged."""

    @abstractmethod
    def profile_ball(self, epsilon: arb) -> arb:
        """The largest P(E) − e^ε·Q(E) over events E, for finite ε ≥ 0."""

    @property
    def singular_mass(self) -> float:
        """P of the outcomes that are impossible under Q: the profile's limit at ε = ∞.

        Where a subclass does not state it, an upper bound: the profile at ε = 700. Compositions
        then have it at their upper ends alone: a lower end takes no loss for infinite, or larger
        than where the profile levels off, that is not stated to be.
        """
        return min(enclose(self.singular_mass_ball)[1], 1.0)

    @property
    def max_loss(self) -> float:
        """An ε from which on the profile is constant at `singular_mass`; ∞ if none is known."""
        return enclose(self.max_loss_ball)[1]

    def singular_mass_ball(self) -> arb:
        """`singular_mass` as a ball, before rounding; it contains 0 if only a bound is known."""
        if self._states("singular_mass"):
            return ball(self.singular_mass)
        return arb(0).union(arb(_far_delta(self)))

    def max_loss_ball(self) -> arb:
        """`max_loss` as a ball, before rounding."""
        if self._states("max_loss"):
            return ball(self.max_loss)
        found = _found_max_loss(self)
        return arb(math.inf) if found.upper == math.inf else ball(found.lower).union(found.upper)

    @property
    def is_limit_known(self) -> bool:
        """Whether `singular_mass` is the exact limit rather than an upper bound."""
        return self._states("singular_mass", "singular_mass_ball")

    def _states(self, *names: str) -> bool:
        """Whether the subclass defines one of these itself."""
        return any(getattr(type(self), name) is not getattr(Pair, name) for name in names)

    def delta_ball(self, epsilon: arb) -> arb:
        """The profile at any finite ε; below 0 it is 1 − e^ε + e^ε·δ′(−ε), δ′ of the reversed."""
        if epsilon >= 0:
            return self.profile_ball(epsilon)
        below = epsilon.min(arb(0))
        mirrored = -below.expm1() + below.exp() * self.reversed.profile_ball(-below)
        if epsilon <= 0:
            return mirrored
        return mirrored.union(self.profile_ball(epsilon.max(arb(0))))

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """The least miss rate of tests with this false-alarm rate.

        Derived from the profile: the largest 1 − δ(ε) − e^ε·α over real ε. [DRS22 Prop. 6]
        """
        if false_alarm >= 1:
            return arb(0)

        def bound(epsilon: float) -> arb:
            x = ball(epsilon).exp()
            if epsilon < 0:
                return x * (1 - self.reversed.profile_ball(ball(-epsilon)) - false_alarm)
            return 1 - self.profile_ball(ball(epsilon)) - x * false_alarm

        # Concave in e^ε, so with one maximum; the search ends where balls cannot tell two apart.
        low, high, best = -REACH, REACH, arb(0)
        while high - low > 1e-13 * (1.0 + abs(low)):
            first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
            left, right = bound(first), bound(second)
            best = best.max(left).max(right)
            if left < right:
                low = first
            elif left > right:
                high = second
            else:
                break
        least = arb(0) if high == REACH else self.delta_ball(ball(high))
        start = arb(0) if low == -REACH else ball(low).exp()
        return best.union((1 - least - start * false_alarm).max(best))

    def renyi_ball(self, order: arb) -> arb:
        """Rényi divergence of P from Q for a finite order above 1.

        Derived from the profile: that of a finite pair that dominates this one, and so an upper
        bound; ∞ if losses are not known to be bounded.
        """
        law = dominating_law(self)
        if law is None:
            return arb(math.inf)
        moment = sum((p * ((order - 1) * ball(loss)).exp() for loss, p in law), arb(0))
        return moment.log() / (order - 1)

    def kullback_leibler_ball(self) -> arb:
        """Rényi divergence at its limit of order 1: the mean of the privacy loss under P."""
        law = dominating_law(self)
        if law is None:
            return arb(math.inf)
        return sum((p * ball(loss) for loss, p in law), arb(0))

    def loss_law(self) -> AnyLossLaw:
        """The distribution of ln(dP/dQ) under P, for the numerical accountant."""
        return ProfileLaw(self)

    @property
    def either_way(self) -> "Pair":
        """The smallest pair that dominates both this one and its `reversed`.

        What a step costs when either of the two datasets may be the first.
        """
        return self if self.reversed == self else EitherWayPair(self)

    @property
    def attained(self) -> "tuple[Pair, ...] | None":
        """Pairs of actual runs, if this pair dominates a mechanism but is not attained."""
        return None

    @property
    def instances(self) -> "tuple[Pair, ...]":
        """Pairs of actual runs: this one, or those below each pair that it dominates."""
        if self.attained is None:
            return (self,)
        return tuple(pair.instances[0] for pair in self.attained)

    @property
    def is_bracketed(self) -> bool:
        """Whether the profile is only known to lie between those of two pairs."""
        return False

    @property
    def gap(self) -> str:
        """If no run attains this pair, a note on what lies between; else empty."""
        return ""

    @property
    def simplest(self) -> "Pair":
        """The same pair in the simplest form known."""
        return self

    def merged(self, times: int, other: "Pair | None", others: int) -> "Pair | None":  # noqa: ARG002
        """One pair for `times` runs of this one and `others` of another, if there is a formula."""
        return None

    def grouped(self, size: int) -> "Pair":
        """A bound for a group of `size` records that change together, from the profile alone."""
        from dpverify.pairs.bounds.group import group_bound  # noqa: PLC0415  # made of pairs

        return self if size == 1 else group_bound(self, size)

    def check(self) -> None:
        """Raise if the profile is not that of a pair; run at the first composition."""
        if type(self).__module__.partition(".")[0] == __name__.partition(".")[0]:
            return
        try:
            hash(self)
        except TypeError:
            name = type(self).__name__
            raise InvalidParameter(
                f"{name} must be hashable, as dataclass(frozen=True) makes it: equal parts are "
                "counted together"
            ) from None
        _check(self)

    def delta(self, epsilon: float) -> float:
        """The profile: the smallest δ at ε, rounded up."""
        return self.delta_bracket(epsilon).upper

    def delta_bracket(self, epsilon: float) -> Bracket:
        """The profile between two neighboring floats."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        if epsilon >= self.max_loss:
            lower, upper = enclose(self.singular_mass_ball)
        else:
            lower, upper = enclose(lambda: self.profile_ball(ball(epsilon)))
        return Bracket(max(lower, 0.0), min(upper, 1.0), EXACT_PROFILE)

    def epsilon(self, delta: float) -> float:
        """The profile's inverse: the smallest ε ≥ 0 that suffices at δ, rounded up."""
        return self.epsilon_bracket(delta).upper

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The profile's inverse between two neighboring floats; ∞ if no finite ε suffices."""
        delta = as_between("delta", delta, 0.0, 1.0)
        if self.is_limit_known and delta < self.singular_mass:
            return Bracket(math.inf, math.inf, EXACT_PROFILE)
        if (
            self.is_limit_known
            and delta == self.singular_mass
            and self._states("max_loss", "max_loss_ball")
        ):
            return Bracket(*enclose(self.max_loss_ball), EXACT_PROFILE)
        return self._inverse(delta)

    def _inverse(self, delta: float) -> Bracket:
        """The ε where the profile crosses δ; without a stated limit, searched up to ε = 700."""

        def excess(epsilon: float) -> Formula:
            return lambda: self.profile_ball(ball(epsilon)) - ball(delta)

        def suffices(epsilon: float) -> bool:
            return at_most(excess(epsilon), 0.0)

        highest = self.max_loss if self._states("max_loss", "max_loss_ball") else math.inf
        if highest > REACH and suffices(REACH):
            highest = REACH
        if highest == math.inf and not self._states("max_loss", "max_loss_ball"):
            upper, lower, width = math.inf, REACH, 1.0
        else:
            low, high = self._around(delta)
            low = low if low > 0.0 and not suffices(low) else 0.0
            high = high if high < highest and suffices(high) else highest
            upper = first_float(suffices, low, high)
            if upper == 0.0:
                return Bracket(0.0, 0.0, EXACT_PROFILE)
            lower = math.nextafter(upper, 0.0)
            width = upper - lower
        while lower > 0.0 and not at_least(excess(lower), 0.0):
            # Only where equality cannot be decided, so the step may grow quickly.
            lower, width = lower - 4.0 * width, 5.0 * width
        return Bracket(max(lower, 0.0), upper, EXACT_PROFILE)

    def _around(self, delta: float) -> tuple[float, float]:  # noqa: ARG002  # of a subclass
        """A guess of where the inverse lies; a bad one only costs time."""
        return 0.0, math.inf

    def trade_off(self, false_alarm: float) -> float:
        """The trade-off curve: the least miss rate at a false-alarm rate, rounded down."""
        false_alarm = as_between("false_alarm", false_alarm, 0.0, 1.0)
        if self._states("trade_off_ball"):
            lower, _ = enclose(lambda: self.trade_off_ball(ball(false_alarm)))
        else:
            with ctx.workprec(_BITS):
                lower = float_below(self.trade_off_ball(ball(false_alarm)))
        return min(max(lower, 0.0), 1.0)

    def renyi(self, order: float) -> float:
        """Rényi divergence of P from Q at an order in [1, ∞], rounded up."""
        order = as_real("order", order)
        if not order >= 1.0:
            raise InvalidParameter(f"order={order!r} must be at least 1")
        if self.singular_mass > 0.0:
            return math.inf
        if order == math.inf:
            return self.max_loss
        if order == 1.0:
            return max(self._rounded_up("kullback_leibler_ball", self.kullback_leibler_ball), 0.0)
        return max(self._rounded_up("renyi_ball", lambda: self.renyi_ball(ball(order))), 0.0)

    def _rounded_up(self, name: str, formula: Formula) -> float:
        """The formula's value rounded up; formulas from the profile are bounds at any precision."""
        if self._states(name):
            return enclose(formula)[1]
        with ctx.workprec(_BITS):
            return float_above(formula())


@dataclass(frozen=True, slots=True)
class EitherWayPair(Pair):
    """The larger of the profiles of `pair` and its `reversed`, at every ε. [ZDW22 Prop. 8]

    The maximum of two convex functions is convex, so it is the profile of a pair; steps that each
    show `pair` or its reverse are bounded from above by it, even when each order is chosen after
    seeing earlier outputs, and from below by any choice made in advance.
    """

    pair: Pair

    @property
    def reversed(self) -> "EitherWayPair":
        """The pair itself, as it is symmetric."""
        return self

    @property
    def attained(self) -> tuple[Pair, Pair]:
        return self.pair, self.pair.reversed

    @property
    def gap(self) -> str:
        return self.pair.gap

    @property
    def is_bracketed(self) -> bool:
        return self.pair.is_bracketed

    def singular_mass_ball(self) -> arb:
        return self.pair.singular_mass_ball().max(self.pair.reversed.singular_mass_ball())

    @property
    def is_limit_known(self) -> bool:
        return self.pair.is_limit_known and self.pair.reversed.is_limit_known

    def profile_ball(self, epsilon: arb) -> arb:
        return self.pair.delta_ball(epsilon).max(self.pair.reversed.delta_ball(epsilon))


@lru_cache(maxsize=256)
def _far_delta(pair: Pair) -> float:
    """The profile at ε = 700, rounded up; 0 if it is certainly 0 there."""
    return min(max(enclose(lambda: pair.profile_ball(ball(REACH)))[1], 0.0), 1.0)


@lru_cache(maxsize=256)
def _found_max_loss(pair: Pair) -> Bracket:
    """An ε at which the profile reaches its limit, by search."""
    return pair._inverse(pair.singular_mass if pair.is_limit_known else 0.0)  # noqa: SLF001


@lru_cache(maxsize=256)
def _check(pair: Pair) -> None:
    name = type(pair).__name__
    other = pair.reversed
    if not isinstance(other, Pair):
        raise InvalidParameter(f"{name}.reversed={other!r} must be a Pair")
    for side, label in ((pair, name), (other, f"{name}.reversed")):
        if not callable(side.profile_ball):
            raise InvalidParameter(f"{label}.profile_ball={side.profile_ball!r} must be a method")
        _check_profile(side, label)
        for what in ("singular_mass", "max_loss"):
            most = 1.0 if what == "singular_mass" else math.inf
            as_between(f"{label}.{what}", getattr(side, what), 0.0, most)
        _check_limit(side, label)
    with ctx.workprec(_BITS):
        here, there = pair.profile_ball(arb(0)), other.profile_ball(arb(0))
    if not here.overlaps(there):
        raise InvalidParameter(
            f"{name}.reversed.profile_ball(0)={there} must equal profile_ball(0)={here}: both are "
            "the total variation distance"
        )


def _check_limit(pair: Pair, label: str) -> None:
    """Raise if a stated `singular_mass` or `max_loss`, rounded up, contradicts the profile."""
    mass, loss = pair.singular_mass, pair.max_loss
    with ctx.workprec(_BITS):
        far = pair.profile_ball(ball(REACH))
        if pair.is_limit_known and far < math.nextafter(mass, 0.0):
            raise InvalidParameter(
                f"{label}.singular_mass={mass!r} must not exceed the profile: "
                f"profile_ball({REACH:g})={far}"
            )
        if pair._states("max_loss", "max_loss_ball") and loss < math.inf:  # noqa: SLF001
            last = pair.profile_ball(ball(loss))
            if last > mass:
                raise InvalidParameter(
                    f"{label}.max_loss={loss!r} must be an epsilon from which on the profile is "
                    f"singular_mass={mass!r}, rounded up: profile_ball({loss:g})={last}"
                )


def _check_profile(pair: Pair, label: str) -> None:
    """Check values in [0, 1] that fall, are convex in e^ε, and have slope at least −1 there."""
    with ctx.workprec(_BITS):
        values = [pair.profile_ball(ball(epsilon)) for epsilon in _CHECKED]
        for epsilon, value in zip(_CHECKED, values, strict=True):
            if not isinstance(value, arb) or not value.is_finite():
                raise InvalidParameter(
                    f"{label}.profile_ball({epsilon:g})={value!r} must be a finite flint.arb"
                )
            if value < 0 or value > 1:
                raise InvalidParameter(
                    f"{label}.profile_ball({epsilon:g})={value} must lie in [0, 1]"
                )
        slope = arb(-1)
        for first, second, low, high in zip(
            _CHECKED, _CHECKED[1:], values, values[1:], strict=False
        ):
            if high > low:
                raise InvalidParameter(
                    f"{label}.profile_ball({second:g})={high} must not exceed its value at "
                    f"{first:g}, {low}: a profile never rises"
                )
            steep = (high - low) / (ball(second).exp() - ball(first).exp())
            if steep < slope:
                raise InvalidParameter(
                    f"{label}.profile_ball must be convex in e^ε with slope at least −1: its slope "
                    f"between {first:g} and {second:g} is {steep}, below {slope}"
                )
            slope = steep
