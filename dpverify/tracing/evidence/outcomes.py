"""The cost of outcomes with different probabilities: coins, choices, noisy maxima."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.guarantees import ApproxDP
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.evidence.releases import ROUNDING, Item, Release
from dpverify.tracing.recording.events import Coin, LargestOf, Odds, Paid
from dpverify.tracing.recording.laws import NOTHING, Cost, as_fraction, coin, softmax
from dpverify.tracing.recording.places import Place

_BITS = 256
_DIGITS = Fraction(1, 2**180)
_RARE = Fraction(1, 2**1000)  # outcomes that are rarer are made so frequent


def turned(toss: Coin) -> Item:
    """The cost of a coin that must fall the other way on the right for the same output."""
    left = coin(toss.law, toss.window, toss.cut, up=toss.up)
    right = coin(toss.law, toss.window_other, toss.cut_other, up=toss.up_other)
    return _compared(toss.place, list(left), list(right), 0)


def tossed(group: list[Coin]) -> Item:
    """The cost of all comparisons of one draw, each splitting what the one before left.

    The outcomes are where the path was left, at each step, and its end; so their masses are those
    of disjoint sets of one number, and not products that could all be extreme at once.
    """
    left, right = [], []
    rest, rest_other = arb(1), arb(1)
    with ctx.workprec(_BITS):
        for toss in group:
            yes, no = coin(toss.law, toss.window, toss.cut, up=toss.up)
            other = coin(toss.law, toss.window_other, toss.cut_other, up=toss.up_other)
            left.append(rest * no)
            right.append(rest_other * other[1])
            rest, rest_other = rest * yes, rest_other * other[0]
    return _compared(group[0].place, [*left, rest], [*right, rest_other], len(group))


def _compared(place: Place, left: list[arb], right: list[arb], seen: int) -> Item:
    return _finite("comparison with noise", place, left, right, seen)


def _finite(name: str, place: Place, left: list[arb], right: list[arb], seen: int) -> Item:
    """Probabilities to 60 digits, so that those closer than that may be equal."""
    pair, exact = representable(left, right)
    release = Release(
        place=place,
        distribution=name,
        scale=math.nan,
        shift=math.nan,
        norm="",
        loss=most_of(pair),
        realized=_log_ratio(left[seen], right[seen]),
        exact=exact,
    )
    below = pair if exact and not may_be_equal([*pair.left], [*pair.right]) else NOTHING
    cost = Cost(pair, below, exact=exact)
    return Item(release, (cost,), (cost,))


def representable(left: Sequence[arb], right: Sequence[arb]) -> tuple[FinitePair, bool]:
    """A rational pair that dominates the given pair, and whether it equals it.

    Probabilities like exp(−10⁶) are no rationals that one can compute with. An outcome that is
    rarer than 2⁻¹⁰⁰⁰ on both sides is made more frequent by one factor on both, at the expense of
    the most frequent outcome: the pair that was given is a post-processing of that one, which turns
    the outcome into the frequent one at random. A probability q that is less than 2⁻⁴⁰⁰⁰ of the
    other side's p becomes 0 and is added to that of the frequent outcome: in Σ(p − e^ε·q)⁺ the
    first term grows by e^ε·q and the second falls by no more, for all e^ε ≤ p/q, and so for all
    ε ≤ 2772; in the other direction nothing falls.
    """
    sizes = [float(p.mid()) + float(q.mid()) for p, q in zip(left, right, strict=True)]
    common = max(range(len(sizes)), key=sizes.__getitem__)
    exact = True
    sides: tuple[list[Fraction], list[Fraction]] = ([], [])
    for i, both in enumerate(zip(left, right, strict=True)):
        if i == common:
            kept = [Fraction(0), Fraction(0)]
        else:
            kept, same = _kept(*both)
            exact = exact and same
        for side, mass in zip(sides, kept, strict=True):
            side.append(mass)
    for side in sides:
        side[common] = 1 - sum(side, Fraction(0))
    return FinitePair(left=sides[0], right=sides[1]), exact


def _kept(p: arb, q: arb) -> tuple[list[Fraction], bool]:
    """Two probabilities of one outcome as rationals, and whether these are exact."""
    if _is_zero(p) and _is_zero(q):
        return [Fraction(0), Fraction(0)], True
    with ctx.workprec(_BITS):
        most = q if q.mid() > p.mid() else p
        rare = bool(most < arb(2) ** -1000)
        if not most > 0:  # not known at all: it may be possible on one side alone
            return [_RARE, Fraction(0)] if most is p else [Fraction(0), _RARE], False
        never = [not _is_zero(part) and not part > most * arb(2) ** -4000 for part in (p, q)]
        raised = [part / most for part in (p, q)] if rare else [p, q]
        masses = [
            Fraction(0) if gone or _is_zero(part) else as_fraction(part)
            for part, gone in zip(raised, never, strict=True)
        ]
    return [m * _RARE if rare else m for m in masses], not (rare or any(never))


def _is_zero(p: arb) -> bool:
    return bool(p == 0)


def may_be_equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two distributions agree up to the digits of their probabilities."""
    return all(abs(p - q) <= _DIGITS * max(p, q) for p, q in zip(left, right, strict=True))


def most_of(pair: Pair) -> float:
    """The largest loss in either direction; ∞ if an outcome is impossible on one side."""
    sides = (pair, pair.reversed)
    return math.inf if any(s.singular_mass > 0 for s in sides) else max(s.max_loss for s in sides)


def _log_ratio(up: arb, down: arb) -> float:
    if _is_zero(up) or _is_zero(down):
        return math.nan if up == down else math.inf if _is_zero(down) else -math.inf
    with ctx.workprec(128):
        return float((up / down).log().mid())


def drawn(odds: Odds) -> Item:
    """The cost of an outcome drawn with given probabilities, in floats as the code uses them."""
    left, right = (_normalized(weights) for weights in (odds.left, odds.right))
    return _finite(odds.name, odds.place, left, right, odds.outcome)


def _normalized(weights: Floats) -> list[arb]:
    """Floats that add up to 1 up to rounding, as balls that contain exact ones."""
    with ctx.workprec(_BITS):
        parts = [arb(float(w)) for w in weights]
        whole = sum(parts, arb(0))
        return [part / whole for part in parts]


def largest(chosen: LargestOf) -> Item:
    """The cost of a noisy maximum: softmax for Gumbel noise, else a bound from the shifts."""
    if chosen.law.name == "gumbel":
        left, right = softmax(chosen.left), softmax(chosen.right)
        return _finite("noisy maximum", chosen.place, left, right, chosen.outcome)
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


def paid(bill: Paid) -> Item:
    """The cost that a library's mechanism states itself."""
    release = Release(
        place=bill.place,
        distribution=bill.name,
        scale=bill.scale,
        shift=bill.shift,
        norm="",
        loss=most_of(bill.above),
        realized=math.nan,
        exact=bill.exact,
    )
    cost = Cost(bill.above, bill.below, exact=bill.exact)
    return Item(release, (cost,), (cost,))
