"""The best test at a false-alarm rate is read off the profile, by duality.

A test rejects outcome z with probability φ(z) in [0, 1]. For every x > 0, Σφ·p = x·Σφ·q + Σφ·(p − x·q), and each term of
the last sum is at most (p − x·q)₊: so T(α) ≤ x·α + δ(ln x), whatever the test. The test that rejects where p > x·q, and
with some probability where p = x·q, attains it at the x for which it has false-alarm rate α. For x < 1 the sum of
(p − x·q)₊ is 1 − x + x·Σ(q − p/x)₊, since (a)₊ − (−a)₊ = a and p − x·q adds up to 1 − x; the last sum is the profile with
the sides exchanged at ln(1/x).

With the larger of both profiles, D, on either side, the dual function is convex: each half is, and at x = 1 its slopes rise
because, of two disjoint events {p > q} and {q > p}, one has P + Q at most 1. So lines through two of its points bound it
from below outside of them.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.accounting.accountant import Accountant
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import TRADE_OFF, Step
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same

_ALARMS = (Fraction(1, 9), Fraction(1, 3), Fraction(1, 2), Fraction(7, 8))


def no_test_beats_the_line(most: int = 1) -> Step:
    """x·α + (p − x·q)₊ − φ·p, summed, is ≥ 0: with a = p − x·q, (a)₊ − φ·a ≥ 0 for 0 ≤ φ ≤ 1."""
    size, taken, left = sp.symbols("a u v", nonnegative=True)
    share = most * taken / (taken + left)
    gaps = ((1 - share) * size, share * size)  # a ≥ 0; a = −size ≤ 0
    holds = every(nonnegative(gap, (size, taken, left)) for gap in gaps)
    return Step("T(α) ≤ x·α + δ(ln x)", holds, "all tests, all x > 0")


def below_one_the_sides_change(sign: int = 1) -> Step:
    """(p − x·q)₊ = p − x·q + x·(q − p/x)₊, whichever of p and x·q is larger."""
    q, x, gap = sp.symbols("q x g", positive=True)
    above = x * q + gap  # p > x·q: the last term is 0
    below = (x * q - gap, x * sign * (q - (x * q - gap) / x))  # p < x·q
    holds = same(above - x * q, gap) & same(below[0] - x * q + below[1], 0)
    return Step("ratios below 1", holds, "all p, q ≥ 0, x > 0")


def slopes_rise_at_one(twice: int = 2) -> Step:
    """With P(E) = t + Q(E) and Q(F) = t + P(F), E and F disjoint: t + 2·min(Q(E), P(F)) ≤ 1.

    P(E) + P(F) ≤ 1 and Q(E) + Q(F) ≤ 1, so 2t + 2Q(E) + 2P(F) ≤ 2; the smaller one is at most half.
    """
    t, least, more, slack = sp.symbols("t m d s", nonnegative=True)
    other = least + more  # the larger of Q(E) and P(F)
    total = t + least + other + slack  # = 1
    holds = nonnegative(total - t - twice * least, (t, least, more, slack))
    return Step("convex at x = 1", holds, "all pairs")


def the_best_test_attains_it(scale: Fraction = Fraction(1)) -> Step:
    """max over tests that randomize on one outcome at most = min over ratios of x·α + δ(x)."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        for alarm in _ALARMS:
            ratios = [*pair.corners, Fraction(0)]
            dual = min(x * alarm + scale * pair.delta_at_ratio(x) for x in ratios)
            best = _best_test(pair, alarm)
            holds &= equal(dual, best) & equal(best, 1 - pair.exact_trade_off(alarm))
            count += 1
    return Step("the best test", holds, f"{count} pairs and rates")


def _best_test(pair: FinitePair, alarm: Fraction) -> Fraction:
    """The largest Σφ·p with Σφ·q ≤ α: a corner of that polytope has one fraction at most."""
    masses, best = list(pair.masses()), Fraction(0)
    for event in product((0, 1), repeat=len(masses)):
        spent = sum((q for (_, q), k in zip(masses, event, strict=True) if k), Fraction(0))
        found = sum((p for (p, _), k in zip(masses, event, strict=True) if k), Fraction(0))
        if spent > alarm:
            continue
        partly = [
            p if q == 0 else p * min(Fraction(1), (alarm - spent) / q)
            for (p, q), k in zip(masses, event, strict=True)
            if not k
        ]
        best = max(best, found + max(partly, default=Fraction(0)))
    return best


def the_library_holds_it(*, less: bool = False) -> Step:
    """`true_positive_rate` holds T(α) of pairs that are their own mirror images."""
    holds, count = VACUOUS, 0
    for ratio, leak in product((Fraction(3), Fraction(20)), (Fraction(0), Fraction(1, 4))):
        pair = FinitePair.leaky_response(ratio, leak)
        spent = Accountant(relation=Relation.ADD_REMOVE).compose(pair)
        for alarm in _ALARMS:
            found = spent.true_positive_rate(alarm)
            exact = 1 - pair.exact_trade_off(alarm) - (Fraction(1, 1000) if less else 0)
            holds &= at_most(found.lower, exact) & at_most(exact, found.upper)
            count += 1
    return Step("the library's bracket", holds, f"{count} pairs and rates")


PROOF = Proof(
    theorem=TRADE_OFF,
    clauses=(
        Clause(
            (
                "The best test between two distributions that errs under Q with probability α detects P "
                "with probability inf over x > 0 of x·α + sup over events E of P(E) − x·Q(E);"
            ),
            by=(no_test_beats_the_line, slopes_rise_at_one, the_best_test_attains_it),
            argued=(
                "that the test which rejects where p > x·q, with a coin where p = x·q, attains it; where "
                "no x does, α is 0 or at least Q(p > 0), and the limits at infinity and 0 do"
            ),
        ),
        Clause(
            "for x < 1 the supremum is 1 − x + x·δ′(ln(1/x)), δ′ the profile with the sides exchanged.",
            by=(below_one_the_sides_change,),
            argued="that p − x·q adds up to 1 − x",
        ),
    ),
    library=(the_library_holds_it,),
    mutations={
        "tests that reject twice": lambda: no_test_beats_the_line(most=2),
        "sides exchanged with the wrong sign": lambda: below_one_the_sides_change(sign=-1),
        "three times the smaller event": lambda: slopes_rise_at_one(twice=3),
        "half the profile": lambda: the_best_test_attains_it(Fraction(1, 2)),
        "a thousandth less": lambda: the_library_holds_it(less=True),
    },
)
