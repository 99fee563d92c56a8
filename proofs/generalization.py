"""What is learned privately generalizes: the risk on the population exceeds the empirical risk by at most e^ε − 1, in expectation.

Let records be drawn independently from one distribution, and let ℓ lie in [0, 1]. By symmetry the mean empirical risk is E ℓ(A(D); xᵢ) for any i. Replace xᵢ by a fresh x: the
dataset with x in place of xᵢ is a neighbor, and the pair (A(D′), xᵢ) has the law of (A(D), x). So E ℓ(A(D); x) = E ℓ(A(D′); xᵢ) ≤ e^ε·E ℓ(A(D); xᵢ) + δ,
as ℓ(·; xᵢ) is a function of the output with values in [0, 1]; and the excess is at most (e^ε − 1)·E ℓ + δ ≤ e^ε − 1 + δ.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative

GENERALIZATION = Theorem(
    name="generalization",
    statement=(
        "If records are independent and identically distributed and losses lie in [0, 1], the "
        "population risk of what an (ε, δ)-DP algorithm (one record replaced) learns exceeds its "
        "empirical risk by at most e^ε − 1 + δ in expectation."
    ),
    source="lecture on machine learning with DP, Sec. 2; Bassily et al., STOC 2016",
    proof="proofs/generalization.py",
)


def the_excess(share: int = 1) -> Step:
    """(e^ε − 1 + δ) − (e^ε·r + δ − r) = (e^ε − 1)·(1 − r) ≥ 0 for a risk r in [0, 1]."""
    t, delta, u, v = sp.symbols("t delta u v", nonnegative=True)
    risk = u / (u + v)  # every r in [0, 1]
    holds = nonnegative((share * t + delta) - ((1 + t) * risk + delta - risk), (t, delta, u, v))
    return Step("the excess", holds, "all ε ≥ 0, δ, r in [0, 1]")


def randomized_votes(odds: Fraction = Fraction(3)) -> Step:
    """Two bits, uniform; the algorithm tells the first one with odds 3 : 1, and the loss is 1[w ≠ x]: exactly, by enumeration."""
    holds, count = VACUOUS, 0
    for chance in (Fraction(1, 2), Fraction(1, 5)):
        empirical, population = Fraction(0), Fraction(0)
        for first, second, fresh in product((0, 1), repeat=3):
            weight = Fraction(1)
            for bit in (first, second, fresh):
                weight *= chance if bit else 1 - chance
            for told in (0, 1):
                mass = weight * (odds if told == first else 1) / (1 + odds)
                empirical += mass * Fraction((told != first) + (told != second), 2)
                population += mass * (told != fresh)
        holds &= at_most(population - empirical, Fraction(3) - 1)
        holds &= at_most(Fraction(1, 100), population - empirical)  # it is not nothing
        count += 1
    return Step("votes", holds, f"{count} distributions, e^ε = 3")


PROOF = Proof(
    theorem=GENERALIZATION,
    clauses=(
        Clause(
            GENERALIZATION.statement,
            by=(the_excess, randomized_votes),
            argued=(
                "that exchanging a record with a fresh one leaves the joint law as it is; that (ε, δ)-DP bounds means of functions "
                "with values in [0, 1] as it bounds events"
            ),
        ),
    ),
    mutations={
        "no excess": lambda: the_excess(share=0),
        "fair coins": lambda: randomized_votes(Fraction(1)),
    },
)
