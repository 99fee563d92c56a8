"""Numerical composition: distributions on a grid above and below the exact one stay so under products.

Above: the mass of a cell is split between its nodes so that P and Q keep theirs (a step of unequal
composition). The original is a post-processing of the split law, so the split law dominates: its
profile is the chord. Below: tangents of a convex profile lie below it; if both values at the ends of a
cell are at most those of a tangent, so is the chord between them, and a convex chain of such chords is
the profile of a grid law. Products keep both orders by adaptive domination, and nothing there needs
total mass 1: the profile of a product is Σ p·f(x·q/p), which grows with f for any masses. The statement is
about exact products; what floats and Fourier transforms add to the library's is the subject of
numerical-rounding, fourier-rounding and low-frequencies.

A very long product is read from the low frequencies of its loss: low-frequencies, for what is left out and for rounding.
"""

import math
from fractions import Fraction

import numpy as np
import sympy as sp
from flint import arb, ctx

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.discretize import GridLaw, LossGrid, discretize
from dpverify.balls import ball
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.theorems import EXACT_PROFILE, NUMERICAL_COMPOSITION, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.low_frequencies import LOW_FREQUENCIES
from proofs.numerical_rounding import NUMERICAL_ROUNDING
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative
from proofs.unequal_composition import spreading_keeps_both_masses

_LOG_CUT = -80.0
_RATE = 2.0  # masses at loss l carry the weight e^(2l), as in a composition


def splitting_a_cell(sign: int = 1) -> Step:
    """The split keeps P and Q of every outcome; the step of unequal composition."""
    return spreading_keeps_both_masses(sign)


def chords_below_a_tangent(sign: int = 1) -> Step:
    """Values v₀ ≤ τ(x₀) and v₁ ≤ τ(x₁) give a chord below τ, which lies below the convex profile."""
    left, right, gap0, gap1 = sp.symbols("left right gap0 gap1", nonnegative=True)
    t0, slope = sp.symbols("t0 slope", real=True)
    share = left / (left + right)
    tangent = t0 + slope * left  # τ at x₀ + left, with x₁ = x₀ + left + right
    v0, v1 = t0 - sign * gap0, t0 + slope * (left + right) - sign * gap1
    chord = (1 - share) * v0 + share * v1
    holds = nonnegative(sp.simplify(tangent - chord), (left, right, gap0, gap1))
    return Step("chords below a tangent", holds, "all tangents, all cells")


def grid_laws_enclose_the_profile(*, swapped: bool = False) -> Step:
    """`discretize`: upper ≥ `profile_ball` ≥ lower at the nodes and between them, and both are close."""
    pairs: tuple[Pair, ...] = (
        GaussianPair(Fraction(1, 4)),
        LaplacePair(scale=2.0, sensitivity=1.0),
        SubsampledPair(GaussianPair(Fraction(1)), 0.25, Mixed.LEFT),
        SubsampledPair(GaussianPair(Fraction(1)), 0.25, Mixed.RIGHT),
        SubsampledPair(LaplacePair(scale=1.0, sensitivity=1.0), 0.5, Mixed.BOTH),
    )
    grid = LossGrid(step=0.0625, offset=0.0)
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for pair in pairs:
            law = pair.loss_law().cut(_LOG_CUT, _LOG_CUT)
            found = discretize(law, grid, Tilt(rate=_RATE, log_scale=0.0))
            for at in np.arange(-0.4, 1.2, 0.155).tolist():
                upper = _profile(found.upper, found, grid, at - found.loss_error)
                upper += arb(law.log_above).exp() if math.isfinite(law.log_above) else 0
                lower = _profile(found.lower, found, grid, at + found.loss_error)
                if swapped:
                    upper, lower = lower, upper
                exact = pair.profile_ball(ball(at))
                holds &= at_most(lower, exact) & at_most(exact, upper)
                holds &= provided(swapped or upper - lower < 0.01)
                count += 1
    return Step("`discretize`", holds, f"{count} points of {len(pairs)} pairs")


def _profile(masses: np.ndarray, law: GridLaw, grid: LossGrid, at: float) -> arb:
    """Σ mass·(1 − e^(ε−loss))₊ of a grid law, on balls."""
    total = arb(0)
    for index, mass in enumerate(masses.tolist()):
        loss = ball(grid.offset) + (law.first + index) * ball(grid.step)
        weight = (-ball(_RATE) * loss).exp()
        total += ball(mass) * weight * (1 - (ball(at) - loss).exp()).max(arb(0))
    return total


def brackets_hold_the_truth(factor: int = 1) -> Step:
    """`Accountant.epsilon` of 100 Gaussians and one Laplace part of ε = 1e-4 against the closed form.

    The exact value lies between that of the Gaussians alone and 1e-4 more (basic composition).
    """
    spent = Accountant(relation=Relation.ADD_REMOVE)
    many = spent.compose(Gaussian(sigma=10.0), times=100 * factor)
    mixed = many.compose(Laplace(scale=1e4))  # so that no closed form applies
    exact = GaussianPair(Fraction(1)).epsilon_bracket(1e-5)
    bracket = mixed.epsilon(1e-5)
    holds = at_most(bracket.lower, exact.upper + 1e-4) & at_most(exact.lower, bracket.upper)
    holds &= below(bracket.width, 1e-3)
    return Step(
        "`Accountant.epsilon`",
        holds,
        "101 parts; assumes what the bracket does of its Fourier transforms",
    )


PROOF = Proof(
    theorem=NUMERICAL_COMPOSITION,
    clauses=(
        Clause(
            (
                "A product of distributions on a grid that dominate the parts has a profile above the "
                "composition's;"
            ),
            by=(splitting_a_cell,),
            argued=(
                "that the original is a post-processing of the split distribution; adaptive-domination, which "
                "needs no total mass of 1"
            ),
        ),
        Clause(
            "of ones that the parts dominate, a profile below it.",
            by=(chords_below_a_tangent,),
            argued="that a convex chain of chords is the profile of a distribution on the grid; adaptive-domination",
        ),
    ),
    library=(
        grid_laws_enclose_the_profile,
        brackets_hold_the_truth,
    ),
    uses=(
        EXACT_PROFILE,
        POST_PROCESSING,
        ADAPTIVE_DOMINATION,
        NUMERICAL_ROUNDING,
        LOW_FREQUENCIES,
    ),
    mutations={
        "losses the wrong way": lambda: splitting_a_cell(sign=-1),
        "values above the tangent": lambda: chords_below_a_tangent(sign=-1),
        "upper and lower exchanged": lambda: grid_laws_enclose_the_profile(swapped=True),
        "200 parts": lambda: brackets_hold_the_truth(factor=2),
    },
)
