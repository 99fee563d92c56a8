"""A filter that adds up ρ keeps ρ-zCDP: at every order α it is the Rényi filter with limit α·ρ.

All orders have the same rule here, Σρᵢ ≤ ρ, so that nothing is shared among them, and any order may be
chosen in the end. At α = 1 + √(ln(1/δ)/ρ), with ρ = Σεᵢ²/2 for parts that are εᵢ-DP, the simplest
conversion, α·ρ + ln(1/δ)/(α−1), is √(2·ln(1/δ)·Σεᵢ²) + Σεᵢ²/2: the constants of advanced composition,
for parameters chosen from answers.
"""

from fractions import Fraction

import sympy as sp

from dpverify.guarantees import ZeroConcentratedDP
from dpverify.ledger import Filter
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.neighbors import Relation
from dpverify.theorems import PURE_TO_ZCDP, RENYI_FILTER, ZCDP_FILTER, Step
from proofs.support.checks import answered, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def one_rule_for_all_orders(power: int = 1) -> Step:
    """Σα·ρᵢ ≤ α·ρ if and only if Σρᵢ ≤ ρ: the quotient of both sides has no α."""
    order, one, two, limit = sp.symbols("alpha rho1 rho2 rho", positive=True)
    share = (order * one + order * two) / (order**power * limit)
    holds = same(share, (one + two) / limit)
    return Step("one rule", holds, "all orders, all ρ")


def constants_of_advanced_composition(halves: int = 1) -> Step:
    """α·ρ + l/(α−1) = √(2·l·s) + s/2 at ρ = s/2, α = 1 + √(l/ρ), with l = ln(1/δ), s = Σεᵢ²."""
    log, squares = sp.symbols("l s", positive=True)
    rho = halves * squares / 2
    order = 1 + sp.sqrt(log / rho)
    converted = order * rho + log / (order - 1)
    holds = same(converted, sp.sqrt(2 * log * squares) + squares / 2)
    return Step("constants", holds, "all δ, all εᵢ")


def the_library_adds(extra: int = 0) -> Step:
    """`Filter`: ρ = 1/2 grants 20 Gaussians of μ² = 1/25 and 80 Laplaces of ε = 1/20, and no more."""
    guard = Filter(ZeroConcentratedDP(rho=0.5), Relation.ADD_REMOVE)
    holds = answered(guard.request(Gaussian(sigma=5.0), times=20 + extra))
    holds &= answered(guard.request(Laplace(scale=20.0), times=80))
    holds &= answered(not guard.request(Gaussian(sigma=1e9))) & equal(
        guard.spent["rho"], Fraction(1, 2)
    )
    return Step("`Filter`", holds, "one sequence")


PROOF = Proof(
    theorem=ZCDP_FILTER,
    clauses=(
        Clause(
            (
                "If each next part, chosen from all answers so far with its parameters, is ρᵢ-zCDP, and "
                "nothing is run that would make Σρᵢ > ρ, then all answers together are ρ-zCDP."
            ),
            by=(one_rule_for_all_orders, constants_of_advanced_composition),
            argued="renyi-filter with one order, at every order",
        ),
    ),
    library=(the_library_adds,),
    uses=(RENYI_FILTER, PURE_TO_ZCDP),
    mutations={
        "α² on one side": lambda: one_rule_for_all_orders(power=2),
        "ρ = ε²": lambda: constants_of_advanced_composition(halves=2),
        "one more": lambda: the_library_adds(extra=1),
    },
)
