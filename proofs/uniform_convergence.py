"""n ≥ ln(|C|/β)/(2α²) records suffice for |C| losses in [0, 1], one-sided.

With X = 1 − loss the statement is about empirical means that exceed their expectations. For X in [0, 1] with mean p, e^(sX) ≤ 1 − X + X·e^s, so E e^(s(X−p)) ≤ e^(g(s)) with g(s) = ln(1−p+p·e^s) − p·s.
g(0) = g′(0) = 0 and g″ = u(1−u) ≤ 1/4, so g ≤ s²/8. Markov at s = 4α gives P(mean − p ≥ α) ≤ e^(−2nα²) for one
loss; |C| of them have at most |C|·e^(−2nα²) ≤ β together.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

UNIFORM_CONVERGENCE = Theorem(
    name="uniform-convergence",
    statement=(
        "With n ≥ ln(|C|/β)/(2α²) independent records, with probability at least 1 − β no one of |C| losses "
        "in [0, 1] has an expectation that exceeds its empirical mean by α."
    ),
    source="Hoeffding, JASA 58, 1963, Thm 1; Nikolov, CSC2412, private gradient descent",
    proof="proofs/uniform_convergence.py",
)


def the_chord_of_the_exponential(power: int = 2) -> Step:
    """h(x) = 1 − x + x·e^s − e^(sx) is 0 at 0 and 1 and concave, so ≥ 0 between."""
    x, s = sp.symbols("x s", real=True)
    h = 1 - x + x * sp.exp(s) - sp.exp(s * x)
    holds = same(h.subs(x, 0), 0) & same(h.subs(x, 1), 0)
    holds &= same(sp.diff(h, x, 2), -(s**power) * sp.exp(s * x))
    return Step("chord of e^(sx)", holds, "all s, x in [0, 1]")


def moments_of_one_loss(quarter: int = 4) -> Step:
    """g″ = u(1−u) with u = p·e^s/(1−p+p·e^s), and 1/4 − u(1−u) = (u − 1/2)²."""
    s, p, w = sp.symbols("s p w", real=True)
    g = sp.log(1 - p + p * sp.exp(s)) - p * s
    u = p * sp.exp(s) / (1 - p + p * sp.exp(s))
    holds = same(g.subs(s, 0), 0) & same(sp.diff(g, s).subs(s, 0), 0)
    holds &= same(sp.diff(g, s, 2), u * (1 - u))
    holds &= same(sp.Rational(1, quarter) - w * (1 - w), (w - sp.Rational(1, 2)) ** 2)
    return Step("Hoeffding's lemma", holds, "all s, p in [0, 1]")


def the_number_of_records(two: int = 2) -> Step:
    """min over s of n·(s²/8 − s·α) is −2nα², and |C|·e^(−2nα²) = β at n = ln(|C|/β)/(2α²)."""
    s, n, alpha, size, beta = sp.symbols("s n alpha C beta", positive=True)
    exponent = n * (s**2 / 8 - s * alpha)
    best = sp.solve(sp.diff(exponent, s), s)[0]
    least = exponent.subs(s, best)
    enough = sp.log(size / beta) / (two * alpha**2)
    holds = same(least, -2 * n * alpha**2) & same(size * sp.exp(least.subs(n, enough)), beta)
    return Step("number of records", holds, "all α, β, |C|")


PROOF = Proof(
    theorem=UNIFORM_CONVERGENCE,
    clauses=(
        Clause(
            (
                "With n ≥ ln(|C|/β)/(2α²) independent records, with probability at least 1 − β no one of |C| "
                "losses in [0, 1] has an expectation that exceeds its empirical mean by α."
            ),
            by=(the_chord_of_the_exponential, moments_of_one_loss, the_number_of_records),
            argued="Taylor’s formula from g″ ≤ 1/4; Markov’s inequality; independence; the union bound",
        ),
    ),
    mutations={
        "curvature s³": lambda: the_chord_of_the_exponential(power=3),
        "variance 1/5": lambda: moments_of_one_loss(quarter=5),
        "n = ln(|C|/β)/(3α²)": lambda: the_number_of_records(two=3),
    },
)
