"""The lecture's rule for k Gaussian queries: true, and loose by kρ/2.

k queries of variance Δ²/ρ are √(kρ)-GDP, so their loss is at worst normal with mean m = kρ/2 and variance
2m, and E e^((α−1)·loss) = e^((α−1)·α·m). Markov's inequality at the best α gives P(loss > ε) ≤
e^(−(ε−m)²/(4m)), which bounds δ; that is δ at ε = m + 2√(m·ln(1/δ)) = kρ/2 + √(2kρ·ln(1/δ)).
"""

from fractions import Fraction

import sympy as sp
from flint import arb

from dpverify.balls import ball, enclose
from dpverify.pairs import GaussianPair
from dpverify.theorems import GAUSSIAN_COMPOSITION, GDP_TO_ZCDP, Step, Theorem
from proofs.support.checks import VACUOUS, at_most
from proofs.support.digits import agrees
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import positive, same

LECTURE_GAUSSIAN = Theorem(
    name="lecture-gaussian",
    statement=(
        "k queries with Gaussian noise of variance Δ²/ρ each are (kρ + √(2kρ·ln(1/δ)), δ)-DP; "
        "true and loose: they are (kρ/2)-zCDP and exactly √(kρ)-GDP."
    ),
    source="Nikolov, CSC2412, lecture on private gradient descent; Bun, Steinke, TCC 2016",
    proof="proofs/lecture_gaussian.py",
)

_CASES = ((1.0, 1e-5), (0.01, 1e-9), (25.0, 1e-3), (1e-4, 0.5), (4.0, 1e-30))


def _root() -> arb:
    return (-2 * ball(1e-5).log()).sqrt()


def best_order(four: int = 4) -> Step:
    """min over α of (α−1)·(α·m − ε) is −(ε−m)²/(4m), at α = (ε+m)/(2m)."""
    order, m, epsilon = sp.symbols("alpha m epsilon", positive=True)
    exponent = (order - 1) * (order * m - epsilon)
    at = sp.solve(sp.diff(exponent, order), order)[0]
    holds = same(at, (epsilon + m) / (2 * m)) & positive(sp.diff(exponent, order, 2))
    holds &= same(exponent.subs(order, at), -((epsilon - m) ** 2) / (four * m))
    return Step("best order", holds, "all m, ε > 0")


def solved_for_epsilon(two: int = 2) -> Step:
    """e^(−(ε−m)²/(4m)) = δ at ε = m + 2√(m·ln(1/δ)); with m = kρ/2 this is kρ/2 + √(2kρ·ln(1/δ))."""
    total, log_inverse = sp.symbols("k_rho log_inverse_delta", positive=True)
    m = total / 2
    epsilon = m + 2 * sp.sqrt(m * log_inverse)
    holds = same((epsilon - m) ** 2 / (4 * m), log_inverse)
    holds &= same(epsilon, total / 2 + sp.sqrt(two * total * log_inverse))
    # The lecture's kρ instead of kρ/2 only adds kρ/2 > 0.
    holds &= positive((total + sp.sqrt(2 * total * log_inverse) - epsilon).simplify())
    return Step("solved for ε", holds, "all kρ > 0, all δ in (0, 1)")


def tail_bounds_delta(times: int = 1) -> Step:
    """p·(1 − e^(ε−loss))₊ ≤ p·1[loss > ε]: δ(ε) is at most P(loss > ε)."""
    above = sp.Symbol("above", positive=True)  # loss − ε where it is positive
    holds = positive(1 - times * (1 - sp.exp(-above)))
    return Step("δ ≤ P(loss > ε)", holds, "all losses")


def three_certified_values(scale: Fraction = Fraction(1)) -> Step:
    """exact ≤ kρ/2 + √(2kρ·ln 1/δ) ≤ kρ + √(2kρ·ln 1/δ), the first from `GaussianPair.epsilon_bracket`.

    At kρ = 1, δ = 1e-5 they are 4.3772, 5.2985 and 5.7985.
    """
    holds = VACUOUS
    for total, delta in _CASES:
        exact = GaussianPair(Fraction(total)).epsilon_bracket(delta)
        root = enclose(lambda t=total, d=delta: (-2 * ball(t) * ball(d).log()).sqrt())  # type: ignore[misc]
        holds &= at_most(ball(exact.upper), ball(scale * (Fraction(total) / 2 + Fraction(root[0]))))
    first = ball(GaussianPair(Fraction(1)).epsilon_bracket(1e-5).lower)
    for value, printed in ((first, "4.3772"), (_root() + 0.5, "5.2985"), (_root() + 1, "5.7985")):
        holds &= agrees(value, printed)
    return Step("exact value", holds, f"{len(_CASES)} cases")


PROOF = Proof(
    theorem=LECTURE_GAUSSIAN,
    clauses=(
        Clause(
            "k queries with Gaussian noise of variance Δ²/ρ each are (kρ + √(2kρ·ln(1/δ)), δ)-DP;",
            by=(best_order, solved_for_epsilon, tail_bounds_delta, three_certified_values),
            argued="Markov’s inequality for e^((α−1)·loss)",
        ),
        Clause(
            "true and loose: they are (kρ/2)-zCDP and exactly √(kρ)-GDP.",
            argued="gaussian-composition and gdp-to-zcdp",
        ),
    ),
    uses=(GAUSSIAN_COMPOSITION, GDP_TO_ZCDP),
    mutations={
        "half of the tail": lambda: tail_bounds_delta(times=2),
        "exponent over 3m": lambda: best_order(four=3),
        "√(kρ·ln 1/δ)": lambda: solved_for_epsilon(two=1),
        "four fifths of it": lambda: three_certified_values(Fraction(4, 5)),
    },
)
