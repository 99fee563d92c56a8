"""A pair is (ε, δ)-DP exactly if its profile at ε is at most δ, and the best event is p > e^ε·q.

(ε, δ)-DP asks P(E) − e^ε·Q(E) ≤ δ of all events E. The sum over E of p − e^ε·q is largest for the E
that takes exactly the positive terms: any other leaves some out or takes negative ones in. So the
smallest δ is Σ(p − e^ε·q)₊; and a pair dominates if this is, for every ε, at least that of every
two neighboring laws, which is then the smallest δ that its profile can promise them.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.theorems import EXACT_PROFILE, Step
from proofs.support.checks import VACUOUS, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative

_RATIOS = (Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(2), Fraction(5))


def taking_or_leaving_an_outcome(sign: int = 1) -> Step:
    """(a)₊ − 1[x ∈ E]·a ≥ 0, whether x is in E or not, and whatever the sign of a."""
    size = sp.Symbol("a", nonnegative=True)
    gaps = [(size, inside * size) for inside in (0, 1)]  # a ≥ 0: (a)₊ = a
    gaps += [(sp.Integer(0), -inside * sign * size) for inside in (0, 1)]  # a ≤ 0: (a)₊ = 0
    holds = every(nonnegative(best - taken, (size,)) for best, taken in gaps)
    return Step("no event beats p > x·q", holds, "all real a")


def the_library_takes_the_best_event(scale: Fraction = Fraction(1)) -> Step:
    """`delta_at_ratio` = max over all 2ⁿ events of P(E) − x·Q(E)."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        masses = list(pair.masses())
        for ratio in _RATIOS:
            best = max(
                sum(
                    (p - ratio * q for (p, q), k in zip(masses, event, strict=True) if k),
                    Fraction(0),
                )
                for event in product((False, True), repeat=len(masses))
            )
            holds &= equal(scale * pair.delta_at_ratio(ratio), best)
            count += 1
    return Step("best of all events", holds, f"{count} pairs and ratios")


PROOF = Proof(
    theorem=EXACT_PROFILE,
    clauses=(
        Clause(
            (
                "The smallest δ at ε of a pair is sup over events E of P(E) − e^ε·Q(E); it is an upper "
                "bound on that of whatever the pair dominates."
            ),
            by=(taking_or_leaving_an_outcome, the_library_takes_the_best_event),
            argued=(
                "that the sum over an event is its sum of terms, or integral of densities; that a pair "
                "dominates what has a profile nowhere above its own, by definition"
            ),
        ),
    ),
    mutations={
        "negative terms count": lambda: taking_or_leaving_an_outcome(sign=-1),
        "total variation without its half": lambda: the_library_takes_the_best_event(Fraction(2)),
    },
)
