"""What the differences of a replay cost together: releases by line, and a bracket around ε and δ.

By frozen replay every difference is a pair of conditional laws, given all that was released before,
so the composition of the pairs bounds the loss of the whole transcript (`adaptive-domination`), and
with it the loss of any output that is computed from it (`post-processing`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dpverify.accounting.accountant import Accountant
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.recording.events import Coin, Difference, Largest, Move, Odds, Paid
from dpverify.tracing.recording.laws import (
    NOTHING,
    Cost,
    as_fraction,
    coin,
    cut_cost,
    largest_loss,
    loss,
    shift_cost,
    softmax,
)
from dpverify.tracing.recording.places import Place

Floats = NDArray[np.float64]

ROUNDING = 2.0**-40
_MOST_PARTS = 12
_DIGITS = Fraction(1, 2**180)
_FEW_TERMS = 2.0**-6  # of what sums of very many floats may be off by: about 64 last places
_LITTLE = 2.0**-20  # of a shift: the most that is put down to rounding where a claim is kept
_HIDES_NOTHING = LeakyResponsePair(ApproxDP(epsilon=math.inf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One place of the code at which data passed through noise, and what that cost.

    `shift` is how far the value moves between the two datasets, in the norm that the noise goes by
    (ℓ1 for Laplace, ℓ2 for Gaussian); `loss` is shift/scale: the ε of Laplace noise, the μ of
    Gaussian noise; for choices among finitely many outcomes the largest log ratio. `realized` is
    the privacy loss ln p/p′ of what came out in this run.
    """

    place: Place
    distribution: str
    scale: float
    shift: float
    norm: str
    loss: float
    realized: float
    exact: bool

    @property
    def where(self) -> str:
        return self.place.where

    @property
    def source(self) -> str:
        return self.place.source

    def __str__(self) -> str:
        if math.isnan(self.shift):
            spent = f"{self.distribution}, loses {self.loss:.6g}"
        else:
            spent = (
                f"moved by {self.shift:.6g}, {self.distribution} noise of scale {self.scale:.6g}"
            )
        return f"{self.place}: {spent}"


@dataclass(frozen=True, slots=True)
class Item:
    """One difference with its release and its pairs: as seen, and less what rounding explains."""

    release: Release
    seen: tuple[Cost, ...]
    judged: tuple[Cost, ...]


@dataclass(frozen=True)
class Spending:
    """All that a transcript cost."""

    items: tuple[Item, ...] = field(default=())

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(item.release for item in self.items)

    @property
    def exact(self) -> bool:
        """Whether the pairs are the laws of what was released, not only bounds on them."""
        return all(cost.exact for item in self.items for cost in item.judged)

    @property
    def realized(self) -> float:
        """ln p/p′ of the whole transcript."""
        return math.fsum(item.release.realized for item in self.items)

    @cached_property
    def above(self) -> tuple[Pair, ...]:
        return _kept(cost.above for item in self.items for cost in item.seen)

    @cached_property
    def judged(self) -> tuple[Pair, ...]:
        return _kept(cost.above for item in self.items for cost in item.judged)

    @cached_property
    def below(self) -> tuple[Pair, ...]:
        return _kept(cost.below for item in self.items for cost in item.judged)

    def epsilon(self, delta: float) -> Bracket:
        """Bracket around the ε that the releases cost together at δ."""
        lower = composed_epsilon(self.below, delta).lower
        bracket = composed_epsilon(self.above, delta)
        return Bracket(min(lower, bracket.upper), bracket.upper, bracket.theorem)

    def delta(self, epsilon: float) -> Bracket:
        """Bracket around the δ that the releases cost together at ε."""
        lower = composed_delta(self.below, epsilon).lower
        bracket = composed_delta(self.above, epsilon)
        return Bracket(min(lower, bracket.upper), bracket.upper, bracket.theorem)


def _kept(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if pair is not NOTHING)


def _hides_nothing(pairs: tuple[Pair, ...]) -> bool:
    return any(isinstance(pair, LeakyResponsePair) and pair.reveals for pair in pairs)


def _accountant(pairs: tuple[Pair, ...]) -> Accountant:
    spent = Accountant(relation=Relation.ADD_REMOVE)
    for pair in pairs:
        spent = spent.compose(pair)
    return spent


def composed_epsilon(pairs: tuple[Pair, ...], delta: float) -> Bracket:
    """Both directions of the composition, the larger one."""
    if _hides_nothing(pairs):
        return Bracket(0.0, math.inf) if delta < 1 else Bracket(0.0, 0.0)
    forth = _accountant(pairs).epsilon(delta)
    back = _accountant(tuple(pair.reversed for pair in pairs)).epsilon(delta)
    return forth if forth.upper >= back.upper else back


def composed_delta(pairs: tuple[Pair, ...], epsilon: float) -> Bracket:
    """Both directions of the composition, the larger one."""
    if _hides_nothing(pairs):
        return Bracket(0.0, 1.0)
    forth = _accountant(pairs).delta(epsilon)
    back = _accountant(tuple(pair.reversed for pair in pairs)).delta(epsilon)
    return forth if forth.upper >= back.upper else back


def spending(differences: list[Difference]) -> Spending:
    """The releases behind the differences, each with its cost."""
    tosses: dict[int, list[Coin]] = {}
    for each in differences:
        if isinstance(each, Coin) and not each.flipped:
            tosses.setdefault(each.draw, []).append(each)
    items = []
    for each in differences:
        if isinstance(each, Coin) and not each.flipped:
            group = tosses.pop(each.draw, None)
            items += [] if group is None else [_tossed(group)]
        else:
            items.append(_item(each))
    return Spending(tuple(items))


def _item(difference: Difference) -> Item:
    match difference:
        case Move():
            return _moved(difference)
        case Coin():
            return _turned(difference)
        case Odds():
            return _drawn(difference)
        case Largest():
            return _largest(difference)
        case Paid():
            return _paid(difference)


def _moved(move: Move) -> Item:
    sizes, scales = np.abs(move.shift), np.abs(move.scale)
    uneven = np.abs(scales - np.abs(move.scale_other)) > ROUNDING * scales
    seen = _costs(move, sizes, uneven)
    judged = _judged(move, sizes, uneven)
    units = sizes / scales
    gaussian = move.law.name == "normal"
    # The norm in the unit of the value where all scales agree, else relative to them.
    unit = float(scales[0]) if np.all(scales == scales[0]) else 1.0
    spread = sizes if np.all(scales == scales[0]) else units
    size = math.sqrt(math.fsum(spread**2)) if gaussian else math.fsum(spread)
    most = (
        math.sqrt(math.fsum(units**2))
        if gaussian
        else math.fsum(
            largest_loss(move.law, float(s), float(b)) for s, b in zip(sizes, scales, strict=True)
        )
    )
    release = Release(
        place=move.place,
        distribution=move.law.name,
        scale=unit,
        shift=size,
        norm="l2" if gaussian else "l1",
        loss=math.inf if np.any(uneven) else most,
        realized=_realized(move),
        exact=move.exact and not np.any(uneven),
    )
    return Item(release, seen, judged)


def _judged(move: Move, sizes: Floats, uneven: NDArray[np.bool_]) -> tuple[Cost, ...]:
    """Less what rounding explains: little of it where a claim is kept, all where it is broken."""
    own = sizes * (1.0 - ROUNDING)
    little = np.minimum(move.slack * _FEW_TERMS, sizes * _LITTLE)
    kept = _costs(move, np.maximum(own - little, 0.0), uneven)
    broken = _costs(move, np.maximum(own - move.slack, 0.0), uneven)
    return (
        *(Cost(cost.above, NOTHING, exact=cost.exact) for cost in kept),
        *(Cost(NOTHING, cost.below, exact=cost.exact) for cost in broken),
    )


def _realized(move: Move) -> float:
    with ctx.workprec(128):
        total = sum(
            (
                loss(move.law, *map(float, row))
                for row in zip(move.z, move.z_other, move.scale, move.scale_other, strict=True)
            ),
            arb(0),
        )
        return float(total.mid()) if total.is_finite() else float(total)


def _costs(move: Move, sizes: Floats, uneven: NDArray[np.bool_]) -> tuple[Cost, ...]:
    scales = np.abs(move.scale)
    if np.any(uneven):
        return (Cost(_HIDES_NOTHING, NOTHING, exact=False),)
    if move.windows is not None:
        ends = zip(*move.windows, strict=True)
        rows = zip(sizes, scales, ends, strict=True)
        return tuple(
            cut_cost(move.law, float(s), float(b), (float(w[0]), float(w[1]))) for s, b, w in rows
        )
    if move.law.name == "normal":
        squared = sum(
            (
                (Fraction(float(s)) / Fraction(float(b))) ** 2
                for s, b in zip(sizes, scales, strict=True)
            ),
            Fraction(0),
        )
        pair = GaussianPair(squared) if squared else NOTHING
        return (Cost(pair, pair if move.exact else NOTHING, exact=move.exact),)
    if move.law.name == "laplace" and len(sizes) > _MOST_PARTS:
        # One shift of the same ℓ1 size is worse than several. The largest of them together with
        # the event that all others lie beyond both values is better, and as bad at δ = 0.
        units = sizes / scales
        most = int(np.argmax(units))
        total = math.nextafter(math.fsum(units) * (1 + 2.0**-50), math.inf)
        if units[most] == 0.0:
            return ()
        above = LaplacePair(scale=1.0, sensitivity=total)
        if not move.exact:
            return (Cost(above, NOTHING, exact=False),)
        below = shift_cost(move.law, float(sizes[most]), float(scales[most])).below
        rest = np.delete(units, most)
        return (
            Cost(above, below, exact=True),
            Cost(NOTHING, _beyond_all(rest[rest > 0]), exact=True),
        )
    costs = [shift_cost(move.law, float(s), float(b)) for s, b in zip(sizes, scales, strict=True)]
    if move.exact:
        return tuple(costs)
    return tuple(Cost(cost.above, NOTHING, exact=False) for cost in costs)


def _beyond_all(units: Floats) -> Pair:
    """Whether all Laplace draws lie beyond both of their values: 2^−n against 2^−n·e^(−Σ units).

    What is computed from a pair loses no more than it, so this lies below. The loss of the event is
    rounded down.
    """
    if not units.size:
        return NOTHING
    least = math.fsum(units) * (1 - 2.0**-50)
    with ctx.workprec(256):
        ratio = as_fraction((-ball(least)).exp() * (1 + arb(2) ** -200))
    if ratio >= 1:
        return NOTHING
    p = Fraction(1, 2 ** len(units))
    return FinitePair(left=[p, 1 - p], right=[p * ratio, 1 - p * ratio])


def _turned(toss: Coin) -> Item:
    """A coin that must fall the other way on the right for the output to be the same."""
    yes, no = coin(toss.law, toss.window, toss.cut, up=toss.up)
    other_yes, other_no = coin(toss.law, toss.window_other, toss.cut_other, up=toss.up_other)
    return _coins(toss.place, [yes, no], [other_yes, other_no], (yes, other_yes))


def _tossed(group: list[Coin]) -> Item:
    """All comparisons of one draw: each splits what the one before it left.

    The outcomes are where the path was left, at each step, and its end; so their masses are those
    of disjoint sets of one number, and not products that could all be extreme at once.
    """
    left, right = [], []
    rest, rest_other = Fraction(1), Fraction(1)
    for toss in group:
        yes, no = coin(toss.law, toss.window, toss.cut, up=toss.up)
        other_yes, other_no = coin(toss.law, toss.window_other, toss.cut_other, up=toss.up_other)
        left.append(rest * no)
        right.append(rest_other * other_no)
        rest, rest_other = rest * yes, rest_other * other_yes
    return _coins(group[0].place, [*left, rest], [*right, rest_other], (rest, rest_other))


def _coins(
    place: Place, left: list[Fraction], right: list[Fraction], seen: tuple[Fraction, Fraction]
) -> Item:
    """Probabilities that are right to 60 digits: those that differ by less may be equal."""
    item = _finite("comparison with noise", place, FinitePair(left=left, right=right), seen)
    if not may_be_equal(left, right):
        return item
    costs = tuple(Cost(cost.above, NOTHING, exact=True) for cost in item.seen)
    return Item(item.release, costs, costs)


def may_be_equal(left: Sequence[Fraction], right: Sequence[Fraction]) -> bool:
    """Whether two laws differ by no more than the digits that probabilities are computed to."""
    return all(abs(p - q) <= _DIGITS * max(p, q) for p, q in zip(left, right, strict=True))


def _finite(name: str, place: Place, pair: FinitePair, seen: tuple[Fraction, Fraction]) -> Item:
    most = max(_most(pair), _most(pair.reversed))
    release = Release(
        place=place,
        distribution=name,
        scale=math.nan,
        shift=math.nan,
        norm="",
        loss=most,
        realized=_log_ratio(*seen),
        exact=True,
    )
    cost = Cost(pair, pair, exact=True)
    return Item(release, (cost,), (cost,))


def _most(pair: Pair) -> float:
    return math.inf if pair.singular_mass > 0 else pair.max_loss


def _log_ratio(up: Fraction, down: Fraction) -> float:
    if not up or not down:
        return math.nan if up == down else math.inf if up else -math.inf
    with ctx.workprec(128):
        return float(
            (arb(fmpq(up.numerator, up.denominator)) / arb(fmpq(down.numerator, down.denominator)))
            .log()
            .mid()
        )


def _drawn(odds: Odds) -> Item:
    left, right = (_rational(weights) for weights in (odds.left, odds.right))
    pair = FinitePair(left=left, right=right)
    return _finite(odds.name, odds.place, pair, (left[odds.outcome], right[odds.outcome]))


def _rational(weights: Floats) -> list[Fraction]:
    """Floats that add up to 1 up to rounding, as rationals that do so exactly."""
    exact = [Fraction(float(w)) for w in weights]
    total = sum(exact, Fraction(0))
    return [w / total for w in exact]


def _largest(chosen: Largest) -> Item:
    """Gumbel noise: exactly the softmax. Else the spread of the shifts bounds the loss."""
    if chosen.law.name == "gumbel":
        left, right = (_rational(softmax(s)) for s in (chosen.left, chosen.right))
        pair = FinitePair(left=left, right=right)
        seen = (left[chosen.outcome], right[chosen.outcome])
        return _finite("noisy maximum", chosen.place, pair, seen)
    moved = chosen.left - chosen.right
    spread = float(moved.max() - moved.min())
    slack = ROUNDING * float(np.abs(chosen.left).max() + np.abs(chosen.right).max() + spread)
    release = Release(
        place=chosen.place,
        distribution=f"noisy maximum, {chosen.law.name}",
        scale=chosen.scale,
        shift=spread * chosen.scale,
        norm="spread",
        loss=spread,
        realized=math.nan,
        exact=False,
    )
    seen_cost = Cost(_pure(spread), NOTHING, exact=False)
    return Item(
        release, (seen_cost,), (Cost(_pure(max(spread - slack, 0.0)), NOTHING, exact=False),)
    )


def _pure(epsilon: float) -> Pair:
    return LeakyResponsePair(ApproxDP(epsilon=epsilon)) if epsilon else NOTHING


def _paid(bill: Paid) -> Item:
    release = Release(
        place=bill.place,
        distribution=bill.name,
        scale=bill.scale,
        shift=bill.shift,
        norm="",
        loss=_most(bill.above),
        realized=math.nan,
        exact=bill.exact,
    )
    cost = Cost(bill.above, bill.below, exact=bill.exact)
    return Item(release, (cost,), (cost,))
