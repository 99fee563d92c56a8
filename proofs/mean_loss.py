"""The mean privacy loss of one randomized response, as arithmetic.

The loss is l = ε with probability r/(1 + r) and −l otherwise, r = e^ε; its mean is l·(r − 1)/(r + 1), and the second moment about it is
l² less the mean's square. Nothing here knows that r = e^l, so both hold for any l and any odds r > 0; that they are about privacy is said where they
are used (advanced-composition).
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

MEAN_LOSS = Theorem(
    name="mean-loss",
    statement=(
        "l*r/(r + 1) - l/(r + 1) = l*(r - 1)/(r + 1) for all l, r > 0; "
        "r*(-l*(r - 1)/(r + 1) + l)**2/(r + 1) + (-l*(r - 1)/(r + 1) - l)**2/(r + 1) = 4*l**2*r/(r + 1)**2 for all l, r > 0"
    ),
    source="lecture 12, the mean of the privacy loss; here for any odds",
    proof="proofs/mean_loss.py",
)


def the_mean(sign: int = 1) -> Step:
    """l·r/(r+1) − l/(r+1) = l·(r − 1)/(r + 1)."""
    size, odds = sp.Symbol("l", real=True), sp.Symbol("r", positive=True)
    mean = size * odds / (odds + 1) - size / (odds + 1)
    return Step("the mean", same(mean, size * (odds - sign) / (odds + 1)), "all l, all r > 0")


def the_variance(four: int = 4) -> Step:
    """(r·(l − m)² + (−l − m)²)/(r + 1) = 4·l²·r/(r + 1)², m the mean."""
    size, odds = sp.Symbol("l", real=True), sp.Symbol("r", positive=True)
    mean = size * (odds - 1) / (odds + 1)
    spread = odds * (size - mean) ** 2 / (odds + 1) + (-size - mean) ** 2 / (odds + 1)
    holds = same(spread, four * size**2 * odds / (odds + 1) ** 2)
    return Step("the variance", holds, "all l, all r > 0")


PROOF = Proof(
    theorem=MEAN_LOSS,
    clauses=tuple(
        Clause(formula, by=(step,))
        for formula, step in zip(
            MEAN_LOSS.statement.split("; "), (the_mean, the_variance), strict=True
        )
    ),
    mutations={
        "l·(r + 1)/(r + 1)": lambda: the_mean(sign=-1),
        "twice the variance": lambda: the_variance(four=8),
    },
)
