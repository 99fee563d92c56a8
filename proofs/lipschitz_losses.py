"""Lipschitz losses are bounded on bounded sets, and averages keep the constant; the constants of least squares.

A G-Lipschitz loss on a set of diameter D varies by at most G·D; subtracting its least value, on which no
release depends, puts it in [0, G·D]. For least squares with ‖w‖ ≤ R, ‖x‖ ≤ r, |y| ≤ s, the inner product lies
in [−rR, rR] (Cauchy and Schwarz, a statement about the plane of w and x), so the residual m = ⟨w, x⟩ − y has
|m| ≤ rR + s; the loss is m² and its gradient has the norm 2·|m|·‖x‖.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.lagrange_identity import LAGRANGE_IDENTITY
from proofs.support.checks import every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, positive, same

LIPSCHITZ_LOSSES = Theorem(
    name="lipschitz-losses",
    statement=(
        "A G-Lipschitz loss on a set of diameter D varies by at most G·D; averages of G-Lipschitz losses "
        "are G-Lipschitz; least squares with ‖w‖ ≤ R, ‖x‖ ≤ r, |y| ≤ s has G = 2r(rR + s) and lies in "
        "[0, (rR + s)²]; the absolute loss is 1-Lipschitz, the hinge loss ‖x‖-Lipschitz; the mean minimizes squares."
    ),
    source="Smith, Ullman, notes on private ERM, Exercises 2.1, 2.2 and 2.3",
    proof="proofs/lipschitz_losses.py",
)


def bounded_on_a_bounded_set(share: int = 1) -> Step:
    """|ℓ(v) − ℓ(w)| ≤ G·‖v − w‖ ≤ G·D."""
    g, distance, room = sp.symbols("G distance room", nonnegative=True)
    diameter = distance + room
    holds = nonnegative(share * g * diameter - g * distance, (g, distance, room))
    return Step("varies by at most G·D", holds, "all G, D")


def averages(count: int = 2) -> Step:
    """|mean of (ℓᵢ(v) − ℓᵢ(w))| ≤ mean of G·‖v−w‖: for two losses, and so for any number by induction."""
    g, d, a, b, m = sp.symbols("G d a b m", nonnegative=True)
    # ℓ₁ moves by at most G·d = a + first gap, the mean of m losses by at most G·d as well.
    first, rest = g * d - a, g * d - b
    mean = (first + m * rest) / (m + count - 1)
    holds = nonnegative(sp.expand((g * d - mean) * (m + 1)), (g, d, a, b, m))
    return Step("averages", holds, "any number of losses")


def cauchy_and_schwarz(power: int = 2) -> Step:
    """‖w‖²·‖x‖² − ⟨w, x⟩² = (w₁x₂ − w₂x₁)² in the plane of w and x."""
    w1, w2, x1, x2 = sp.symbols("w1 w2 x1 x2", real=True)
    gap = (w1**2 + w2**2) * (x1**2 + x2**2) - (w1 * x1 + w2 * x2) ** 2
    holds = same(gap, (w1 * x2 - w2 * x1) ** power)
    return Step("Cauchy and Schwarz", holds, "all w, x")


def least_squares(square: int = 2) -> Step:
    """(rR + s)² − m² ≥ 0 and 2r(rR + s) − 2|m|·‖x‖ ≥ 0, attained at ⟨w, x⟩ = rR, y = −s."""
    r, big, s, u, v = sp.symbols("r R s u v", nonnegative=True)
    bound = r * big + s
    size = bound * u / (u + v)  # every |m| in [0, rR + s]
    norm = r / (1 + v)  # every ‖x‖ in (0, r]
    variables = (r, big, s, u, v)
    holds = nonnegative(bound**square - size**2, variables)
    holds &= nonnegative(2 * r * bound - 2 * size * norm, variables)
    m = sp.Symbol("m", real=True)
    holds &= same(sp.diff(m**2, m), 2 * m)
    return Step("least squares", holds, "all R, r, s")


def absolute_and_hinge(steep: int = 1) -> Step:
    """|h(a) − h(b)| ≤ |a − b| for h = |·| and h = (1 − ·)₊, in all cases of signs; times ‖x‖ by Cauchy and Schwarz."""
    near, far, gap = sp.symbols("near far gap", nonnegative=True)
    # |·|: both on one side of 0, or 0 between −near and far.
    distances = [(near + gap, near, gap), (near, far, near + far)]
    holds = every(
        nonnegative(distance - sign * steep * (a - b), (near, far, gap))
        for a, b, distance in distances
        for sign in (1, -1)
    )
    # (1 − ·)₊: both below 1, 1 between 1 − near and 1 + far, both above.
    ramps = [(near + gap, near, gap), (near, 0, near + far), (0, 0, gap)]
    holds &= every(
        nonnegative(distance - sign * steep * (a - b), (near, far, gap))
        for a, b, distance in ramps
        for sign in (1, -1)
    )
    return Step("absolute and hinge loss", holds, "all arguments")


def the_mean_minimizes_squares(two: int = 2) -> Step:
    """(w − x)² + m·(w − y)² has the slope 2(w − x) + 2m(w − y), 0 at the mean (x + m·y)/(1 + m); and is convex."""
    w, x, y = sp.symbols("w x y", real=True)
    m = sp.Symbol("m", positive=True)  # m records of mean y, whose spread does not depend on w
    risk = (w - x) ** two + m * (w - y) ** 2
    mean = (x + m * y) / (1 + m)
    holds = same(sp.diff(risk, w).subs(w, mean), 0) & positive(sp.diff(risk, w, 2))
    return Step("the mean", holds, "any number of records, by induction")


PROOF = Proof(
    theorem=LIPSCHITZ_LOSSES,
    clauses=(
        Clause(
            "A G-Lipschitz loss on a set of diameter D varies by at most G·D;",
            by=(bounded_on_a_bounded_set,),
            argued="the definition of a Lipschitz constant",
        ),
        Clause(
            "averages of G-Lipschitz losses are G-Lipschitz;",
            by=(averages,),
            argued="induction over the losses",
        ),
        Clause(
            "least squares with ‖w‖ ≤ R, ‖x‖ ≤ r, |y| ≤ s has G = 2r(rR + s) and lies in [0, (rR + s)²];",
            by=(cauchy_and_schwarz, least_squares),
            argued="that two vectors lie in a plane (lagrange-identity)",
        ),
        Clause(
            "the absolute loss is 1-Lipschitz, the hinge loss ‖x‖-Lipschitz;",
            by=(absolute_and_hinge,),
            argued="the chain rule for y⟨w, x⟩",
        ),
        Clause(
            "the mean minimizes squares.",
            by=(the_mean_minimizes_squares,),
            argued="induction over the records",
        ),
    ),
    uses=(LAGRANGE_IDENTITY,),
    mutations={
        "twice as steep": lambda: absolute_and_hinge(steep=2),
        "fourth powers": lambda: the_mean_minimizes_squares(two=4),
        "varies by 0": lambda: bounded_on_a_bounded_set(share=0),
        "mean over m − 1": lambda: averages(count=0),
        "cubes": lambda: cauchy_and_schwarz(power=3),
        "bound rR + s": lambda: least_squares(square=1),
    },
)
