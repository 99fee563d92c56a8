"""Gradient descent with clipped gradients: the sensitivity of one step, and the cost of T noisy steps.

clip(g) = g·min(1, C/‖g‖) has length at most C, whatever the loss, so the sum over a batch moves by at most C when a record
is added or removed and by 2C when one is replaced; divided by a fixed n, by C/n and 2C/n. The regularizer's gradient
does not depend on the data. Noise N(0, σ²I) on the sum makes a step (C/σ)-GDP, given the steps before it, and T steps
√T·C/σ-GDP; everything computed from the noisy sums is post-processing. For batches see poisson-subsampling (each record
by itself, added or removed) and without-replacement (a fixed size, one replaced).
"""

from fractions import Fraction

import sympy as sp

from dpverify.accounting.parts import Part
from dpverify.accounting.rules.gdp import gdp
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION, Step, Theorem
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

CLIPPED_GRADIENTS = Theorem(
    name="clipped-gradients",
    statement=(
        "A sum of gradients clipped to length C has ℓ2 sensitivity C when a record is added or removed and 2C when one is "
        "replaced; T adaptive steps with noise N(0, σ²I) on it are √T·C/σ-GDP, and √T·2C/σ-GDP."
    ),
    source="lecture on machine learning with DP, Algorithm 2; Abadi et al., CCS 2016, Algorithm 1",
    proof="proofs/clipped_gradients.py",
)


def clipped_gradients_are_short(power: int = 1) -> Step:
    """‖g‖·min(1, C/‖g‖): ‖g‖ where ‖g‖ ≤ C, and ‖g‖·C/‖g‖ = C beyond."""
    length, more, size = sp.symbols("length more C", positive=True)
    inside = nonnegative((length + more) - length, (length, more))  # C = length + more
    beyond = size + more  # ‖g‖ > C
    holds = inside & same(beyond * (size / beyond) ** power, size)
    return Step("‖clip(g)‖ ≤ C", holds, "all gradients, all C > 0")


def the_sum_moves(two: int = 2) -> Step:
    """‖clip(g)‖ ≤ C added or removed; ‖clip(g) − clip(g′)‖ ≤ (C − a) + (C − b) ≤ 2C replaced."""
    size, a, b = sp.symbols("C a b", nonnegative=True)
    holds = nonnegative(size - (size - a), (size, a))
    holds &= nonnegative(two * size - ((size - a) + (size - b)), (size, a, b))
    return Step("the sum moves", holds, "all C")


def the_replacement_is_attained(factor: int = 2) -> Step:
    """clip(5) − clip(−7) = 2C at C = 3, and clip(5) − 0 = C, in one dimension."""
    size = Fraction(3)

    def clip(g: Fraction) -> Fraction:
        return g * min(Fraction(1), size / abs(g))

    holds = equal(clip(Fraction(5)) - clip(Fraction(-7)), factor * size) & equal(
        clip(Fraction(5)), size
    )
    holds &= equal(clip(Fraction(2)), 2)  # shorter gradients stay
    return Step("attained", holds, "C = 3")


def the_library_composes_steps(power: int = 2) -> Step:
    """`gdp` of T parts of `GaussianPair.of(σ, C)`: μ² = T·(C/σ)², in exact rationals."""
    holds, count = VACUOUS, 0
    for steps, sigma, size in ((1, 2, 1), (100, 5, 1), (10_000, 8, 2)):
        one = GaussianPair.of(sigma=float(sigma), sensitivity=float(size))
        found = gdp((Part(one, steps, "gaussian"),))
        holds &= equal(
            None if found is None else found.squared_mu, steps * Fraction(size, sigma) ** power
        )
        count += 1
    return Step("`gdp`", holds, f"{count} runs")


PROOF = Proof(
    theorem=CLIPPED_GRADIENTS,
    clauses=(
        Clause(
            (
                "A sum of gradients clipped to length C has ℓ2 sensitivity C when a record is added or "
                "removed and 2C when one is replaced;"
            ),
            by=(clipped_gradients_are_short, the_sum_moves, the_replacement_is_attained),
            argued="the triangle inequality",
        ),
        Clause(
            "T adaptive steps with noise N(0, σ²I) on it are √T·C/σ-GDP, and √T·2C/σ-GDP.",
            argued=(
                "that each step is (C/σ)-GDP given the steps before it (analytic-gaussian), and "
                "gaussian-composition"
            ),
        ),
    ),
    library=(the_library_composes_steps,),
    uses=(ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION, POST_PROCESSING),
    mutations={
        "clipped twice": lambda: clipped_gradients_are_short(power=2),
        "C when replaced": lambda: the_sum_moves(two=1),
        "3C is attained": lambda: the_replacement_is_attained(factor=3),
        "μ adds up": lambda: the_library_composes_steps(power=1),
    },
)
