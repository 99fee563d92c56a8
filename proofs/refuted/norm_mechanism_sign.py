"""The notes print the norm mechanism's density as e^(+ε‖z‖/(2·GS)): no density at all.

The sign must be negative, for the integral to be finite. The factor 2 then only wastes budget: the
triangle inequality gives ε with e^(−ε‖z‖/GS).
"""

import sympy as sp

from dpverify.guarantees import PureDP
from dpverify.mechanisms import NormMechanism
from dpverify.theorems import NORM_MECHANISM, Step, Theorem
from proofs.support.checks import equal, every
from proofs.support.form import Counterexample, Proof
from proofs.support.symbolic import tends_to

NORM_MECHANISM_SIGN = Theorem(
    name="notes-norm-mechanism-sign",
    statement="There is noise on ℝ^d with density ∝ e^(ε‖z‖/(2·GS)), and it is ε-DP.",
    source="lecture on machine learning with DP, Sec. 5.2",
    proof="proofs/refuted/norm_mechanism_sign.py",
)


def the_integral(sign: int = 1) -> Step:
    """∫₀^∞ d·t^(d−1)·e^(ε·t/(2·GS)) dt = ∞ for every ε > 0, by shells of radius t; d = 1, 2, 3."""
    t, rate, end = sp.symbols("t rate end", positive=True)
    holds = every(
        tends_to(
            sp.integrate(d * t ** (d - 1) * sp.exp(sign * rate * t), (t, 0, end)), end, sp.oo, sp.oo
        )
        for d in (1, 2, 3)
    )
    return Step("the integral is infinite", holds, "all ε > 0, d = 1, 2, 3")


def the_two_wastes_budget(scale: float = 2.0) -> Step:
    """`NormMechanism` at scale 2·GS/ε, the notes' with the sign repaired, claims ε/2."""
    claim = NormMechanism(scale=scale, sensitivity=1.0).claim.guarantee
    return Step("the factor 2", equal(claim, PureDP(epsilon=0.5)), "ε = 1, GS = 1")


PROOF = Proof(
    theorem=NORM_MECHANISM_SIGN,
    uses=(NORM_MECHANISM,),
    mutations={
        "e^(−…) has no integral": lambda: the_integral(sign=-1),
        "no factor 2": lambda: the_two_wastes_budget(scale=1.0),
    },
    counterexample=Counterexample(
        argued=(
            "that a density has a finite integral, by shells; that it is infinite is a limit, which no instance decides"
        ),
        claimed="a density ∝ e^(ε‖z‖/(2·GS))",
        instance=("any norm, any ε > 0, d = 1, 2, 3",),
        truth="its integral is ∞",
        correction="e^(−ε‖z‖/GS), which is ε-DP (norm-mechanism)",
        by=(the_integral, the_two_wastes_budget),
    ),
)
