"""Reconstruction succeeds no more often than the best test with the baseline as its false-alarm rate.

Let the record Z be drawn from any distribution, and let E(z) be the outputs from which the attacker's guess counts as
success for z. Without the record the output has one law Q, whatever z is, and success has probability E Q(E(Z)) ≤ κ: it
is the success of a guess that saw nothing of Z. With it, success has probability E P_z(E(Z)), and P_z(E) ≤ T(Q(E)) for
every z and every event. T is a minimum of lines x·α + δ with x ≥ 0, so it is concave and never falls: by Jensen's
inequality E T(Q(E(Z))) ≤ T(E Q(E(Z))) ≤ T(κ).
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.accounting.accountant import Accountant
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import RECONSTRUCTION, TRADE_OFF, Step
from proofs.support.checks import VACUOUS, at_most, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative

_SIZES = (2, 3, 5)
_RATIOS = (Fraction(2), Fraction(7))


def a_minimum_of_lines_is_concave(weight: int = 1) -> Step:
    """t·min(a, b) + (1−t)·min(c, d) ≤ min(t·a + (1−t)·c, t·b + (1−t)·d): lines a, c and b, d at two points."""
    a, c, over, under, first, second = sp.symbols("a c p q u v", nonnegative=True)
    share = first / (first + second)
    # Where the first line is below at one point and above at the other, both minima are mixed.
    b, d = a + over, c + under
    gaps = [
        share * (b if mixed else a) + (1 - share) * d - weight * (share * a + (1 - share) * c)
        for mixed in (False, True)
    ]
    gaps += [share * b + (1 - share) * c - weight * (share * a + (1 - share) * c)]
    holds = every(nonnegative(gap, (a, c, over, under, first, second)) for gap in gaps)
    return Step("T is concave", holds, "any two lines, any two points")


def no_line_falls(sign: int = 1) -> Step:
    """x·(α + s) + δ − (x·α + δ) = x·s ≥ 0 for s ≥ 0."""
    x, alarm, more, delta = sp.symbols("x alpha s delta", nonnegative=True)
    gap = sign * (x * (alarm + more) + delta - x * alarm - delta)
    holds = nonnegative(gap, (x, alarm, more, delta))
    return Step("T never falls", holds, "all x, α, s ≥ 0")


def many_valued_answers_stay_below(scale: Fraction = Fraction(1)) -> Step:
    """Randomized response over m values, odds r : 1 : … : 1, the record uniform on them.

    Without the record the answer is uniform and a guess succeeds with probability 1/m; with it, with r/(r + m − 1). Each
    value's law against the uniform one is a pair whose T(1/m), both ways round, `reconstruction` bounds.
    """
    holds, count = VACUOUS, 0
    for m, ratio in product(_SIZES, _RATIOS):
        total = ratio + m - 1
        pair = FinitePair(left=[ratio / total] + [1 / total] * (m - 1), right=[Fraction(1, m)] * m)
        success = ratio / total
        bound = 1 - pair.exact_trade_off(Fraction(1, m))
        found = (
            Accountant(relation=Relation.ADD_REMOVE)
            .compose(pair)
            .risk.reconstruction(Fraction(1, m))
        )
        holds &= at_most(success, scale * bound) & at_most(success / scale, found.upper)
        holds &= at_most(found.lower, Fraction(1, m))
        count += 1
    return Step("answers of many values", holds, f"{count} sizes and odds")


PROOF = Proof(
    theorem=RECONSTRUCTION,
    clauses=(
        Clause(
            (
                "If without the record in the data no guess of it succeeds with probability above κ, whatever "
                "its distribution and whatever counts as success, then with it no guess succeeds with "
                "probability above T(κ), T the largest true-positive rate at a false-positive rate."
            ),
            by=(a_minimum_of_lines_is_concave, no_line_falls, many_valued_answers_stay_below),
            argued=(
                "that without the record success is a guess that saw nothing of it; Jensen’s inequality; that "
                "a minimum of any number of lines is concave"
            ),
        ),
    ),
    mutations={
        "twice the mean": lambda: a_minimum_of_lines_is_concave(weight=2),
        "lines that fall": lambda: no_line_falls(sign=-1),
        "a tenth less": lambda: many_valued_answers_stay_below(Fraction(9, 10)),
    },
    uses=(TRADE_OFF,),
)
