"""Randomized response over k categories is ε-DP: all ratios of its probabilities are 1, r or 1/r.

Answers of one person are independent of all others, so neighboring datasets differ in one factor
only. The binary pair dominates that of k categories by the simulation lemma.
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.mechanisms import RandomizedResponse
from dpverify.pairs import FinitePair
from dpverify.theorems import RANDOMIZED_RESPONSE, SIMULATION_LEMMA, Step
from proofs.support.checks import VACUOUS, dominated, equal
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def probabilities_and_ratios(power: int = 1) -> Step:
    """r/(r+k−1) + (k−1)/(r+k−1) = 1, and every ratio is at most r."""
    t, more = sp.symbols("t more", nonnegative=True)
    r, k = 1 + t, 2 + more
    truth, lie = r / (r + k - 1), 1 / (r + k - 1)
    holds = same(truth + (k - 1) * lie, 1)
    for one, other in ((truth, lie), (lie, truth), (lie, lie)):
        holds &= nonnegative(r**power * other - one, (t, more))
    return Step("ratios ≤ r", holds, "all ε ≥ 0, all k ≥ 2")


def the_library_lies_this_often(factor: int = 1) -> Step:
    """`RandomizedResponse._lie` holds (k−1)/(e^ε+k−1)."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for categories in (2, 3, 10):
            for epsilon in (0.0, 0.5, 1.0, 8.0):
                lie = RandomizedResponse(epsilon=epsilon, categories=categories)._lie()  # noqa: SLF001
                others = categories - 1
                expected = factor * others / (ball(epsilon).exp() + others)
                holds &= overlaps(lie, expected, digits=30)
                count += 1
    return Step("`RandomizedResponse`", holds, f"{count} values, 30 digits")


def the_binary_pair_dominates(ratio: Fraction = Fraction(3)) -> Step:
    """`dominates(binary, k-ary)` at e^ε = 3, for every k from 2 to 8."""
    binary, holds = FinitePair.leaky_response(ratio, 0), VACUOUS
    for k in range(2, 9):
        truth, lie = Fraction(3, k + 2), Fraction(1, k + 2)
        rest = [lie] * (k - 2)
        many = FinitePair(left=[truth, lie, *rest], right=[lie, truth, *rest])
        holds &= dominated(binary, many)
        holds &= equal(max(many.corners), 3)
    return Step("binary dominates", holds, "k from 2 to 8, e^ε = 3")


PROOF = Proof(
    theorem=RANDOMIZED_RESPONSE,
    clauses=(
        Clause(
            "Telling the truth with odds e^ε : 1 is ε-DP.",
            by=(probabilities_and_ratios, the_binary_pair_dominates),
            argued="that answers are independent, so that neighbors differ in one factor",
        ),
    ),
    library=(the_library_lies_this_often,),
    uses=(SIMULATION_LEMMA,),
    mutations={
        "ratios ≤ 1": lambda: probabilities_and_ratios(power=0),
        "twice as many lies": lambda: the_library_lies_this_often(factor=2),
        "a weaker binary pair": lambda: the_binary_pair_dominates(Fraction(2)),
    },
)
