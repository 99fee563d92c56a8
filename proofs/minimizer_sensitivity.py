"""Output perturbation: how far one record moves the minimizer of (1/n)·Σℓ + (λ/2)·‖θ‖².

Let θ minimize J on the one dataset and θ′ minimize J′ on the other. Then ∇J(θ′) = ∇J(θ′) − ∇J′(θ′), the
difference of two gradients of length at most L, over n: at most 2L/n when a record is replaced, L/n when its
loss is added to or taken from a sum with fixed n. As J is λ-strongly convex, ‖θ − θ′‖ ≤ ‖∇J(θ′)‖/λ. Linear
losses attain it. Without strong convexity there is no bound: least squares with |x|, |y| ≤ 1 has its minimum at Σxy/Σx².
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Step
from proofs.perturbed_minimum import PERTURBED_MINIMUM
from proofs.support.checks import VACUOUS, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same, tends_to
from solvers.privacy.theorems import MINIMIZER_SENSITIVITY

__all__ = ["MINIMIZER_SENSITIVITY", "PROOF"]


def the_gradients_differ(two: int = 2) -> Step:
    """‖∇ℓ − ∇ℓ′‖/n ≤ 2L/n, for lengths L − a and L − b; one gradient alone is ≤ L/n."""
    length, a, b, n = sp.symbols("L a b n", nonnegative=True)
    holds = nonnegative((two * length - ((length - a) + (length - b))) / (n + 1), (length, a, b, n))
    holds &= nonnegative((length - (length - a)) / (n + 1), (length, a, n))
    return Step("gradients differ", holds, "all L, n")


def linear_losses_attain_it(bound: Fraction = Fraction(1)) -> Step:
    """θ = −mean(x)/λ for ℓ = θ·x, |x| ≤ L: one x from L to −L moves it by exactly 2L/(nλ), to 0 by half."""
    holds, count = VACUOUS, 0
    for n in (1, 2, 10):
        for length, lam in ((Fraction(1), Fraction(1)), (Fraction(3), Fraction(1, 7))):
            minimum = [
                -(length * (n - 1) + last) / n / lam for last in (length, -length, Fraction(0))
            ]
            holds &= equal(abs(minimum[0] - minimum[1]), bound * 2 * length / (n * lam))
            holds &= equal(abs(minimum[0] - minimum[2]), bound * length / (n * lam))
            count += 1
    return Step("attained", holds, f"{count} problems")


def no_bound_for_least_squares(power: int = 1) -> Step:
    """One record x = η: the minimum y/x is 1/η for y = 1 and 0 for y = 0, 1/η apart: ∞ as η → 0."""
    theta, label = sp.symbols("theta y", real=True)
    eta = sp.Symbol("eta", positive=True)
    [best] = sp.solve(sp.diff((eta * theta - label) ** 2, theta), theta)
    apart = best.subs(label, 1) - best.subs(label, 0)
    holds = same(apart, eta**-power) & tends_to(apart, eta, 0, sp.oo)
    return Step("no bound without λ", holds, "all η > 0")


PROOF = Proof(
    theorem=MINIMIZER_SENSITIVITY,
    clauses=(
        Clause(
            (
                "The minimizer of (1/n)·Σℓ + (λ/2)·‖θ‖² for L-Lipschitz convex ℓ moves by at most 2L/(nλ) "
                "when one record is replaced, and by L/(nλ) when one loss is added or removed at fixed n;"
            ),
            by=(the_gradients_differ, no_bound_for_least_squares),
            argued="∇J(θ′) = ∇J(θ′) − ∇J′(θ′), and perturbed-minimum",
        ),
        Clause(
            "both are attained.",
            by=(linear_losses_attain_it,),
            argued="that linear losses are allowed",
        ),
    ),
    uses=(PERTURBED_MINIMUM,),
    mutations={
        "1/η² apart": lambda: no_bound_for_least_squares(power=2),
        "L/n when replaced": lambda: the_gradients_differ(two=1),
        "half of it": lambda: linear_losses_attain_it(Fraction(1, 2)),
    },
)
