"""Gradients: what a bound on them implies, those of two losses, and which functions of a list are convex.

On a convex set f(v) − f(w) is the integral of ⟨∇f, v − w⟩ along the segment, so at most G·‖v − w‖ if ‖∇f‖ ≤ G. A function of one variable that is twice
differentiable is convex if and only if its second derivative is ≥ 0: that of x² is 2, that of the logistic loss s(1−s); those of x³, (x−1)³, √x and
ln x are negative somewhere.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import Expression, nonnegative, positive, same

GRADIENTS = Theorem(
    name="gradients",
    statement=(
        "A function on a convex set whose gradients have length at most G is G-Lipschitz; ∇θ² = 2θ and ∇‖y − Xθ‖² = "
        "−2Xᵀ(y − Xθ); x² and the logistic loss are convex, x³, (x−1)³, √x and ln x are not."
    ),
    source="Smith, Ullman, notes on private ERM, Secs. 2 and 3; lecture on machine learning with DP, Exercises 3.2 and 5.2",
    proof="proofs/gradients.py",
)


def along_the_segment(power: int = 1) -> Step:
    """d/dt f(w + t(v−w)) = ⟨∇f, v−w⟩, for f = a quadratic form in the plane; and G·D − |⟨∇f, ·⟩| ≥ 0 for |∇f| ≤ G."""
    a, b, c, t = sp.symbols("a b c t", real=True)
    w1, w2, d1, d2 = sp.symbols("w1 w2 d1 d2", real=True)

    def form(x: Expression, y: Expression) -> Expression:
        return a * x**2 + b * x * y + c * y**2

    x, y = sp.symbols("x y", real=True)
    there = {x: w1 + t * d1, y: w2 + t * d2}
    slope = sp.diff(form(x, y), x).subs(there) * d1 + sp.diff(form(x, y), y).subs(there) * d2
    holds = same(sp.diff(form(w1 + t * d1, w2 + t * d2), t), slope)
    size, room, distance, u, v = sp.symbols("G room distance u v", nonnegative=True)
    cosine = u / (u + v)  # every |cos| in [0, 1]
    holds &= nonnegative(
        (size + room) ** power * distance - size * distance * cosine, (size, room, distance, u, v)
    )
    return Step("along the segment", holds, "all segments, all angles")


def two_gradients(factor: int = 2) -> Step:
    """∇θ² = 2θ; ∂/∂θⱼ of (y₁ − x₁₁θ₁ − x₁₂θ₂)² + (y₂ − …)² is −2·Σᵢ xᵢⱼ·(yᵢ − ⟨xᵢ, θ⟩)."""
    theta = sp.Matrix(sp.symbols("theta1:3", real=True))
    rows = sp.Matrix(2, 2, sp.symbols("x11 x12 x21 x22", real=True))
    labels = sp.Matrix(sp.symbols("y1:3", real=True))
    rest = labels - rows * theta
    loss = rest.dot(rest)
    claimed = -factor * rows.T * rest
    holds = same(sp.diff(theta[0] ** 2, theta[0]), factor * theta[0])
    holds &= same(sp.diff(loss, theta[0]), claimed[0]) & same(sp.diff(loss, theta[1]), claimed[1])
    return Step("two gradients", holds, "two records, two weights; linear in each")


def second_derivatives(sign: int = 1) -> Step:
    """x²: 2; ln(1 + e^(−s)): e^s/(1 + e^s)²; −x³ and −(x−1)³ bend down beyond 0 and 1; √x and ln x everywhere."""
    s = sp.Symbol("s", real=True)
    t = sp.Symbol("t", positive=True)
    holds = positive(sp.diff(s**2, s, 2))
    logistic = sp.diff(sp.log(1 + sp.exp(-s)), s, 2)
    holds &= same(logistic, sp.exp(s) / (1 + sp.exp(s)) ** 2)
    holds &= positive(sign * sp.exp(s) / (1 + sp.exp(s)) ** 2)
    cubic = sp.diff(s**3, s, 2).subs(s, -t)
    moved = sp.diff((s - 1) ** 3, s, 2).subs(s, 1 - t)
    holds &= positive(-cubic) & positive(sp.expand(-moved))
    holds &= positive(-sp.diff(sp.sqrt(t), t, 2)) & positive(-sp.diff(sp.log(t), t, 2))
    return Step("second derivatives", holds, "all s, all t > 0")


PROOF = Proof(
    theorem=GRADIENTS,
    clauses=(
        Clause(
            "A function on a convex set whose gradients have length at most G is G-Lipschitz;",
            by=(along_the_segment,),
            argued="the fundamental theorem of calculus along a segment, and Cauchy and Schwarz",
        ),
        Clause(
            "∇θ² = 2θ and ∇‖y − Xθ‖² = −2Xᵀ(y − Xθ);",
            by=(two_gradients,),
            argued="that sums over any number of records and weights have the same form",
        ),
        Clause(
            "x² and the logistic loss are convex, x³, (x−1)³, √x and ln x are not.",
            by=(second_derivatives,),
            argued="that a twice differentiable function is convex if and only if its second derivative is ≥ 0",
        ),
    ),
    mutations={
        "√G": lambda: along_the_segment(power=0),
        "without the 2": lambda: two_gradients(factor=1),
        "a concave logistic loss": lambda: second_derivatives(sign=-1),
    },
)
