"""Coordinates of a Gaussian vector are independent in an orthonormal basis if it is spherical, not for any Gaussian and any basis.

Z = W₁q₁ + … + W_kq_k. For Z ~ N(0, Σ) and an orthonormal basis, W_i = ⟨q_i, Z⟩ has the covariances q_iᵀΣq_j: 0 for Σ = σ²I only, whatever the
basis. Where the q_i are orthogonal and not of length 1, W_i has the variance σ²/‖q_i‖², so q_i = f(x) − f(x′) itself does not do.
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import ANALYTIC_GAUSSIAN, Check, Step, Theorem
from proofs.support.checks import below, equal, fails
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import same

GAUSSIAN_COORDINATES = Theorem(
    name="notes-gaussian-coordinates",
    statement="If Z is a multivariate Gaussian, then its coordinates in an orthogonal basis are independent.",
    source="lecture on machine learning with DP, Theorem 5.6",
    proof="proofs/refuted/gaussian_coordinates.py",
)


def covariance(first: int, second: int) -> Fraction:
    """Of (x + y)/√2 and (x − y)/√2, for independent x and y with these variances."""
    return Fraction(first - second, 2)


def coordinates_are_correlated(second: int = 4) -> Step:
    """Z ~ N(0, diag(1, 4)) in the basis (1, 1)/√2, (1, −1)/√2: the covariance is (1 − 4)/2 = −3/2."""
    holds = equal(covariance(1, second), Fraction(-3, 2)) & fails(equal(covariance(1, second), 0))
    return Step("correlated", holds, "two dimensions")


def spherical_ones_are_not(stretch: int = 1) -> Step:
    """Σ = σ²I: the coordinates along (cos a, sin a) and (−sin a, cos a) have the covariance 0, and variance σ² each."""
    a = sp.Symbol("a", real=True)
    variance = sp.Symbol("v", positive=True)
    one, two = sp.Matrix([sp.cos(a), sp.sin(a)]), sp.Matrix([-sp.sin(a), sp.cos(a)])
    spread = sp.diag(variance, stretch * variance)
    holds = same((one.T * spread * one)[0], variance)
    holds &= same((one.T * spread * two)[0] + variance, variance)
    return Step("spherical", holds, "all σ, all angles")


def _are_variances(pair: tuple[int, int]) -> Check:
    """Both are positive: diag(…) is a covariance."""
    return below(0, min(pair))


def _are_uncorrelated(pair: tuple[int, int]) -> Check:
    """The covariance of the coordinates along (1, 1)/√2 and (1, −1)/√2 is 0."""
    return equal(covariance(*pair), 0)


PROOF = Proof(
    theorem=GAUSSIAN_COORDINATES,
    uses=(ANALYTIC_GAUSSIAN,),
    mutations={
        "a spherical one is no counterexample": lambda: coordinates_are_correlated(second=1),
        "stretched": lambda: spherical_ones_are_not(stretch=2),
    },
    counterexample=Counterexample(
        claim=Claim(_are_variances, _are_uncorrelated),
        at=(1, 4),
        control=(1, 1),
        argued=(
            "that independent variables have covariance 0, and these two vectors are an orthogonal basis"
        ),
        claimed="independent coordinates",
        instance=("Z ~ N(0, diag(1, 4)), basis (1, 1)/√2 and (1, −1)/√2",),
        truth="their covariance is −3/2",
        correction="a spherical Gaussian and an orthonormal basis, as the mechanism has: analytic-gaussian",
        by=(coordinates_are_correlated, spherical_ones_are_not),
    ),
)
