"""A guarantee implies itself, in whatever words it is written.

ε-DP and (ε, 0)-DP are one and the same, as are ρ-zCDP and a Rényi divergence of at most α·ρ at every order α > 1: these are their
definitions. So a conversion of a guarantee to its own kind, or of zCDP to one order, rests on no more than that.
"""

import sympy as sp

from dpverify.accounting.conversion import to_gdp, to_renyi, to_zcdp
from dpverify.guarantees import GaussianDP, RenyiDP, ZeroConcentratedDP
from dpverify.theorems import DEFINITIONS, Step
from proofs.support.checks import VACUOUS, answered
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative


def without_delta(more: int = 0) -> Step:
    """e^ε·Q(E) + δ − P(E) at δ = 0 is e^ε·Q(E) − P(E): ≥ 0 in the one exactly where it is in the other."""
    q, t, slack = sp.symbols("q t slack", nonnegative=True)
    p = (1 + t) * q - slack  # P(E) ≤ e^ε·Q(E), e^ε = 1 + t
    holds = nonnegative((1 + t) * q - more * t * q + 0 - p, (q, t, slack))
    return Step("δ = 0", holds, "all events, all ε ≥ 0")


def the_library_keeps_them(order: float = 4.0) -> Step:
    """`to_zcdp` and `to_gdp` of their own kind, and `to_renyi` of ρ-zCDP at order 4: α·ρ."""
    own = ZeroConcentratedDP(rho=0.125)
    holds = VACUOUS & answered(to_zcdp(own).guarantee == own)
    holds &= answered(to_gdp(GaussianDP(mu=1.5)).guarantee == GaussianDP(mu=1.5))
    found = to_renyi(own, order=order).guarantee
    holds &= answered(found == RenyiDP(order=order, epsilon=0.5))
    return Step("conversions", holds, "three guarantees")


PROOF = Proof(
    theorem=DEFINITIONS,
    clauses=(
        Clause(
            "A guarantee implies itself: ε-DP is (ε, 0)-DP, ρ-zCDP is a Rényi divergence of at most α·ρ at every order α > 1, and "
            "μ-GDP is μ-GDP.",
            by=(without_delta,),
            argued="these are the definitions",
        ),
    ),
    library=(the_library_keeps_them,),
    mutations={
        "without the factor e^ε": lambda: without_delta(more=1),
        "another order": lambda: the_library_keeps_them(order=8.0),
    },
)
