"""ε-DP implies (ε²/2)-zCDP, by randomized response and Hoeffding's lemma.

By the simulation lemma the profile of ε-DP is nowhere above that of randomized response, so its
Rényi divergences are not larger either. With a = ε/2 and s = (α−1)·ε the moment of randomized
response is cosh(s+a)/cosh(a) ≤ e^(s·tanh a + s²/2) ≤ e^(s·a + s²/2) = e^((α−1)·α·ε²/2).
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.accounting.conversion import to_zcdp
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP, PureDP, ZeroConcentratedDP
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import PURE_TO_ZCDP, SIMULATION_LEMMA, Step
from proofs.advanced_composition import moments_of_one_round
from proofs.renyi_from_profile import RENYI_FROM_PROFILE
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def the_moment_of_randomized_response(shift: int = 1) -> Step:
    """p·e^((α−1)ε) + (1−p)·e^(−(α−1)ε) = cosh((α−1)ε + ε/2)/cosh(ε/2)."""
    epsilon, order = sp.symbols("epsilon alpha", positive=True)
    p, s = 1 / (1 + sp.exp(-epsilon)), (order - 1) * epsilon
    moment = p * sp.exp(s) + (1 - p) * sp.exp(-s)
    closed = sp.cosh(s + shift * epsilon / 2) / sp.cosh(epsilon / 2)
    return Step("moment", same(moment, closed.rewrite(sp.exp)), "all ε, α > 1")


def hoeffdings_lemma(variance: Fraction = Fraction(1)) -> Step:
    """ln cosh(s+a) − ln cosh a − s·tanh a ≤ s²/2; the step of advanced composition."""
    return moments_of_one_round(variance)


def tanh_is_below_its_argument(slope: Fraction = Fraction(1)) -> Step:
    """a − tanh a is 0 at 0 and has the derivative tanh² a ≥ 0, so tanh a ≤ a for a ≥ 0."""
    a = sp.Symbol("a", nonnegative=True)
    gap = sp.Rational(slope) * a - sp.tanh(a)
    holds = same(gap.subs(a, 0), 0)
    holds &= same(sp.diff(gap, a), sp.tanh(a) ** 2 + (sp.Rational(slope) - 1)) & nonnegative(
        sp.Rational(slope) - 1, ()
    )
    return Step("tanh a ≤ a", holds, "all a ≥ 0")


def the_exponents_add_up(factor: int = 2) -> Step:
    """s·ε/2 + s²/2 = (α−1)·α·ε²/2 at s = (α−1)·ε."""
    epsilon, order = sp.symbols("epsilon alpha", positive=True)
    s = (order - 1) * epsilon
    holds = same(s * epsilon / 2 + s**2 / 2, (order - 1) * order * epsilon**2 / factor)
    return Step("(α−1)·α·ε²/2", holds, "all ε, α > 1")


def the_library_agrees(factor: Fraction = Fraction(1)) -> Step:
    """`to_zcdp(PureDP)` is ε²/2, and `renyi_ball` of randomized response is below α·ρ."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for epsilon in (0.01, 0.5, 1.0, 4.0):
            guarantee = to_zcdp(PureDP(epsilon=epsilon)).guarantee
            if not isinstance(guarantee, ZeroConcentratedDP):
                return Step("`to_zcdp`", VACUOUS, "")
            rho = ball(factor * Fraction(guarantee.rho))
            pair = LeakyResponsePair(ApproxDP(epsilon=epsilon))
            for order in (1.01, 2.0, 7.5, 100.0):
                holds &= at_most(pair.renyi_ball(ball(order)), ball(order) * rho)
                count += 1
    return Step("`to_zcdp`", holds, f"{count} values of ε and α")


PROOF = Proof(
    theorem=PURE_TO_ZCDP,
    clauses=(
        Clause(
            "ε-DP implies (ε²/2)-zCDP.",
            by=(
                the_moment_of_randomized_response,
                hoeffdings_lemma,
                tanh_is_below_its_argument,
                the_exponents_add_up,
            ),
            argued=(
                "that divergences grow with profiles (renyi-from-profile) and ε-DP is at worst randomized "
                "response; Taylor’s formula"
            ),
        ),
    ),
    library=(the_library_agrees,),
    uses=(SIMULATION_LEMMA, RENYI_FROM_PROFILE),
    mutations={
        "variance 9/10": lambda: hoeffdings_lemma(Fraction(9, 10)),
        "cosh with ε": lambda: the_moment_of_randomized_response(shift=2),
        "tanh a ≤ 9a/10": lambda: tanh_is_below_its_argument(Fraction(9, 10)),
        "ρ = ε²/3": lambda: the_exponents_add_up(factor=3),
        "the library 2 % smaller": lambda: the_library_agrees(Fraction(98, 100)),
    },
)
