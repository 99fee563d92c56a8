"""The slides bound E‖∇L + Z‖² by (d+1)/ε² + σ²(d+1). There is no ε in ‖∇L‖² ≤ d + 1.

At ε = 2 the record (1, 1) at θ = (3980, −4000) has ‖∇L‖² = 2·(1 − 4e-9), four times (d+1)/ε² = 1/2.
"""

from flint import arb, ctx

from dpverify.theorems import Check, Step, Theorem
from proofs.refuted.gradient_noise_variance import gradients
from proofs.support.checks import at_most, below
from proofs.support.digits import agrees
from proofs.support.form import Claim, Counterexample, Proof

GRADIENT_SECOND_MOMENT = Theorem(
    name="notes-gradient-second-moment",
    statement="E‖∇L(θ) + Z‖² ≤ (d+1)/ε² + σ²·(d+1) for the logistic loss on [−1, 1]^(d+1).",
    source="Nikolov, CSC2412, private gradient descent, plugging in",
    proof="proofs/refuted/gradient_second_moment.py",
)


def the_first_term_is_exceeded(epsilon: int = 2) -> Step:
    """‖∇L‖² = 1.99999999… > 2/ε² at ε = 2; E‖Z‖² = σ²(d+1) is the same on both sides."""
    with ctx.workprec(128):
        first = sum((g**2 for g in gradients()[0]), arb(0))
        holds = below(arb(2) / epsilon**2, first) & agrees(first, "1.9999999")
    return Step("‖∇L‖²", holds, "d = 1, n = 1, ε = 2")


def _is_positive(epsilon: int) -> Check:
    """ε > 0; the record (1, 1) lies in [−1, 1]²."""
    return below(0, epsilon)


def _is_bounded(epsilon: int) -> Check:
    """‖∇L‖² ≤ (d+1)/ε² with d = 1."""
    with ctx.workprec(128):
        return at_most(sum((g**2 for g in gradients()[0]), arb(0)), arb(2) / epsilon**2)


PROOF = Proof(
    theorem=GRADIENT_SECOND_MOMENT,
    mutations={"d + 1 is no counterexample": lambda: the_first_term_is_exceeded(epsilon=1)},
    counterexample=Counterexample(
        claim=Claim(_is_positive, _is_bounded),
        at=2,
        control=1,
        argued=(
            "that E‖∇L + Z‖² is ‖∇L‖² + σ²(d+1), as Z has mean 0 and variance σ² in each coordinate"
        ),
        claimed="E‖∇L + Z‖² ≤ 1/2 + 2σ² at ε = 2",
        instance=("d = 1, n = 1, the record (1, 1) labeled +1, θ = (3980, −4000)",),
        truth="E‖∇L + Z‖² = 1.9999999… + 2σ²",
        correction="(d+1) + σ²(d+1)",
        by=(the_first_term_is_exceeded,),
    ),
)
