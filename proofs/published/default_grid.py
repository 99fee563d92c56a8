"""dp-accounting's default grid can give an ε below the exact one, where δ is small and steps are many.

`PLDAccountant` rounds losses to multiples of 10^-4 and convolves masses with Fourier transforms in floats; masses below about 10^-15 are
lost in their rounding, and tails are cut at 10^-15 in total. For δ = 10^-10 after 10⁶ steps that is not little. The exact ε is bounded
from below here by a distribution on a grid that the mechanism's dominates, convolved with its rounding charged (numerical-composition).
"""

from fractions import Fraction
from functools import cache

from flint import ctx

from dpverify.accounting.accountant import Accountant
from dpverify.balls import ball
from dpverify.guarantees import Bracket
from dpverify.mechanisms import Gaussian, Subsampled
from dpverify.neighbors import Relation
from dpverify.theorems import NUMERICAL_COMPOSITION, POISSON_SUBSAMPLING, Check, Step, Theorem
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.form import Claim, Counterexample, Proof

PUBLISHED_GRID = Theorem(
    name="published-default-grid",
    statement=(
        "The ε that PLDAccountant of dp-accounting 0.6.0 gives with its default grid, 3.32049 for 10⁶ Poisson-subsampled Gaussian "
        "steps with σ = 2, q = 10^-3 at δ = 10^-10, is not below the exact one."
    ),
    source="dp-accounting 0.6.0, pld/pld_privacy_accountant.py (value_discretization_interval=1e-4)",
    proof="proofs/published/default_grid.py",
)

TOLD = "3.3204864516567145"
PRINTED = ("3.3228", "3.3234")


@cache
def exact() -> Bracket:
    """What holds the exact ε of the instance."""
    step = Subsampled(Gaussian(sigma=2.0), rate=1e-3)
    spent = Accountant(relation=Relation.ADD_REMOVE).compose(step, times=10**6)
    return spent.epsilon(delta=1e-10)


def the_exact_value_is_larger(told: str = TOLD) -> Step:
    """3.3228 is below the lower end of `Accountant.epsilon`, 3.3234 above the upper one, and 3.32049 below both."""
    found, holds = exact(), VACUOUS
    with ctx.workprec(128):
        low, high = (ball(Fraction(digits)) for digits in PRINTED)
        holds &= below(ball(Fraction(told)), ball(found.lower))
        holds &= at_most(low, ball(found.lower)) & at_most(ball(found.upper), high)
    return Step("the exact ε", holds, "σ = 2, q = 10^-3, 10⁶ steps, δ = 10^-10")


def _is_told(told: str) -> Check:
    """A number; that dp-accounting 0.6.0 told it is in the benchmark that runs it."""
    return below(0, Fraction(told))


def _is_an_upper_bound(told: str) -> Check:
    """The exact ε is at most what is told."""
    found = exact()
    with ctx.workprec(128):
        return at_most(ball(found.lower).union(ball(found.upper)), ball(Fraction(told)))


PROOF = Proof(
    theorem=PUBLISHED_GRID,
    uses=(NUMERICAL_COMPOSITION, POISSON_SUBSAMPLING),
    mutations={"3.3230 is not below": lambda: the_exact_value_is_larger("3.3230")},
    counterexample=Counterexample(
        claim=Claim(_is_told, _is_an_upper_bound),
        at=TOLD,
        control="3.3235",
        argued=(
            "that the bracket holds the exact ε (numerical-composition), and that the library told this number"
        ),
        claimed="an upper bound on ε at the default grid",
        instance=(
            "Poisson-subsampled Gaussian noise, σ = 2, q = 10^-3, 10⁶ steps, one record added or removed, δ = 10^-10",
        ),
        truth=f"the exact ε lies in [{PRINTED[0]}, {PRINTED[1]}]; 3.32049 is told",
        correction="a finer grid, with what floats lose charged to δ",
        by=(the_exact_value_is_larger,),
    ),
)
