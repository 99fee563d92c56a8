"""The last iterate of a contractive noisy iteration.

Let X and X′ be the iterates with and without the record, φ and φ′ their maps, c-Lipschitz and at most s apart. Follow
a process between the two that starts as X, moves a part aₜ of the way towards X′ at step t, and ends as X′: its distance
zₜ from X′ obeys z ← c·z + s − aₜ, and moving noise by aₜ costs a Gaussian pair of shift aₜ/σ, all of which compose to one with
μ² = Σ aₜ²/σ² (shifted interpolation). Starting at z = 0, or at most a diameter D before the last k steps, z must
end at 0: Σ c^(k−1−t)·aₜ = cᵏ·D + s·Σ cʲ. By Cauchy and Schwarz the least Σ aₜ² is the square of the right side over Σ c²ʲ.

A quadratic attains it without a diameter: φ(x) = c·x and φ′(x) = c·x + s give N(0, σ²·Σ c²ʲ) and the same moved by s·Σ cʲ.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.mechanisms import LastIterate
from dpverify.theorems import ANALYTIC_GAUSSIAN, LAST_ITERATE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def the_sums_have_this_form(sign: int = 1) -> Step:
    """(Σ cʲ)²/Σ c²ʲ = (1 − cᵏ)(1 + c)/((1 + cᵏ)(1 − c)), the form in the paper."""
    c, power = sp.symbols("c p", positive=True)  # p = cᵏ
    sums, squares = (1 - power) / (1 - c), (1 - power**2) / (1 - c**2)
    paper = (1 - power) * (1 + c) / ((1 + sign * power) * (1 - c))
    holds = same(sp.simplify(sums**2 / squares), paper)
    return Step("sums", holds, "all c < 1 and k")


def no_shifts_cost_less(share: Fraction = Fraction(1)) -> Step:
    """Shifts aₜ ∝ c^(k−1−t) end at 0 and cost the bound; a grid of others that end at 0 costs more."""
    holds, count = VACUOUS, 0
    s, grid = Fraction(1), [Fraction(k, 4) for k in range(9)]
    for c, apart in product((Fraction(1, 2), Fraction(3, 4), Fraction(1)), (0, 1)):
        weights = [c**2, c, Fraction(1)]
        need = c**3 * apart + s * sum(weights)
        least = share * need**2 / sum(w * w for w in weights)
        best = [w * need / sum(w * w for w in weights) for w in weights]
        holds &= equal(_end(best, c, s, Fraction(apart)), 0) & equal(
            sum(a * a for a in best), least
        )
        for first, second in product(grid, repeat=2):
            third = need - weights[0] * first - weights[1] * second
            shifts = [first, second, third]
            holds &= equal(_end(shifts, c, s, Fraction(apart)), 0)
            holds &= at_most(least, sum(a * a for a in shifts))
            count += 1
    return Step("shifts", holds, f"{count} shifts of three steps")


def _end(shifts: list[Fraction], c: Fraction, s: Fraction, apart: Fraction) -> Fraction:
    for shift in shifts:
        apart = c * apart + s - shift
    return apart


def a_quadratic_attains_it(steps: int = 5) -> Step:
    """Mean and variance of five steps of c·x + s + noise, by recursion, against `LastIterate`."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for contraction, sigma in product((0.25, 0.5, 0.875, 1.0), (0.5, 2.0)):
            mean, variance = Fraction(0), Fraction(0)
            for _ in range(5):
                mean = Fraction(contraction) * mean + Fraction(1, 4)
                variance = Fraction(contraction) ** 2 * variance + Fraction(sigma) ** 2
            run = LastIterate(
                sigma=sigma, l2_sensitivity=0.25, steps=steps, contraction=contraction
            )
            holds &= overlaps(run.squared_mu, ball(mean**2 / variance))
            count += 1
    return Step("quadratics", holds, f"{count} iterations")


PROOF = Proof(
    theorem=LAST_ITERATE,
    clauses=(
        Clause(
            (
                "The last of k noisy steps that contract by c, and that a record moves by s, is μ-GDP with μ² "
                "= (s·Σ cʲ)²/(σ²·Σ c²ʲ);"
            ),
            by=(the_sums_have_this_form, no_shifts_cost_less, a_quadratic_attains_it),
            argued="Cauchy and Schwarz for any number of steps",
        ),
        Clause(
            "in a set of diameter D, with (cᵏD + s·Σ cʲ)²/(σ²·Σ c²ʲ) for any number k of last steps.",
            by=(no_shifts_cost_less,),
            argued="the same recursion started at D",
        ),
    ),
    uses=(ANALYTIC_GAUSSIAN, ADAPTIVE_DOMINATION),
    cites=("shifted interpolation: Bok, Su, Altschuler, ICML 2024, Lemma 3.2 (arXiv 2403.00278)",),
    mutations={
        "the other sign": lambda: the_sums_have_this_form(sign=-1),
        "twice the cost": lambda: no_shifts_cost_less(share=Fraction(2)),
        "one step less": lambda: a_quadratic_attains_it(steps=4),
    },
)
