"""The table of leaky randomized response, as arithmetic.

With the chance d of a leak and odds r, both laws have the masses d, r·(1 − d)/(r + 1) and (1 − d)/(r + 1), which add up to 1. The outcomes that favor the
left law, the leak and the truth, exceed s times those of the right one by d + (1 − d)·(r − s)/(r + 1), for every s; at s = r by d. What
this means for privacy is in leaky-response.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

LEAKY_TABLE = Theorem(
    name="leaky-table",
    statement=(
        "d + r*(1 - d)/(r + 1) + (1 - d)/(r + 1) = 1 for all d, r > 0; "
        "d + r*(1 - d)/(r + 1) - s*(1 - d)/(r + 1) = d + (1 - d)*(r - s)/(r + 1) for all d, r > 0, s"
    ),
    source="Kairouz, Oh, Viswanath, ICML 2015, supplement (12)-(13); slides of lecture 12",
    proof="proofs/leaky_table.py",
)


def _symbols() -> tuple[sp.Symbol, sp.Symbol, sp.Symbol]:
    return sp.Symbol("d", real=True), sp.Symbol("r", positive=True), sp.Symbol("s", real=True)


def it_adds_up(leaks: int = 1) -> Step:
    """d + r·(1 − d)/(r + 1) + (1 − d)/(r + 1) = 1."""
    d, r, _ = _symbols()
    total = leaks * d + r * (1 - d) / (r + 1) + (1 - d) / (r + 1)
    return Step("masses add up", same(total, sp.Integer(1)), "all d, all r > 0")


def the_excess(shift: int = 1) -> Step:
    """d + (r − s)·(1 − d)/(r + 1) is the excess of the leak and the truth over s times the other law."""
    d, r, s = _symbols()
    excess = d + r * (1 - d) / (r + 1) - s * (1 - d) / (r + 1)
    holds = same(excess, d + (1 - d) * (r - s) / (r + shift))
    return Step("the excess", holds, "all d, s, all r > 0")


PROOF = Proof(
    theorem=LEAKY_TABLE,
    clauses=tuple(
        Clause(formula, by=(step,))
        for formula, step in zip(
            LEAKY_TABLE.statement.split("; "), (it_adds_up, the_excess), strict=True
        )
    ),
    mutations={
        "two leaks": lambda: it_adds_up(leaks=2),
        "over r + 2": lambda: the_excess(shift=2),
    },
)
