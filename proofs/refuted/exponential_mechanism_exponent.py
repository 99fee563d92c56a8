"""The notes on machine learning print exp(−(εn/2Δ)·(Σℓ − R)) for the exponential mechanism.

The sum must be the mean: with Σℓ and the factor n one record moves the exponent by n·ε/2, not ε/2. And
the regularizer enters with the wrong sign, which costs utility only. Two candidates, n = 3, e^(ε/2) = 2.
"""

from fractions import Fraction

from dpverify.pairs import FinitePair
from dpverify.theorems import EXPONENTIAL_MECHANISM, Check, Step, Theorem
from proofs.support.checks import at_most, below, equal
from proofs.support.form import Claim, Counterexample, Proof

EXPONENTIAL_MECHANISM_EXPONENT = Theorem(
    name="notes-exponential-mechanism-exponent",
    statement="Choosing θ with probability ∝ exp(−(εn/(2Δ))·(Σℓ(θ; xᵢ) − R(θ))) is ε-DP.",
    source="lecture on machine learning with DP, Sec. 4.3",
    proof="proofs/refuted/exponential_mechanism_exponent.py",
)
_RATIO = Fraction(4)  # e^ε


def law(records: tuple[int, ...], factor: int) -> list[Fraction]:
    """Weights 2^(−factor·Σ1[θ ≠ x]) for θ = 0, 1: ℓ = 1[θ ≠ x], Δ = 1, R = 0, e^(ε/2) = 2."""
    weights = [Fraction(1, 2) ** (factor * sum(w != x for x in records)) for w in (0, 1)]
    return [weight / sum(weights) for weight in weights]


def the_ratio_exceeds(factor: int = 3, expected: Fraction = Fraction(8)) -> Step:
    """P(θ = 1) is 8/9 on the left and 1/9 on the right: the ratio 8 is above e^ε = 4."""
    pair = FinitePair(left=law((0, 1, 1), factor), right=law((0, 0, 1), factor))
    top = max(pair.corners)
    holds = below(_RATIO, top) & equal(top, expected)
    return Step("the ratio", holds, "n = 3, e^ε = 4")


def the_mean_repairs_it(factor: int = 1) -> Step:
    """With the mean the factor n cancels, and no ratio exceeds e^ε = 4."""
    pair = FinitePair(left=law((0, 1, 1), factor), right=law((0, 0, 1), factor))
    return Step("the mean", at_most(max(pair.corners), _RATIO), "n = 3, e^ε = 4")


def _are_neighbors(sides: tuple[tuple[int, ...], tuple[int, ...]]) -> Check:
    """Two datasets of one size that differ in one record."""
    left, right = sides
    return equal(len(left), len(right)) & equal(
        sum(a != b for a, b in zip(left, right, strict=True)), 1
    )


def _is_private(sides: tuple[tuple[int, ...], tuple[int, ...]]) -> Check:
    """No ratio exceeds e^ε = 4 with the exponent as printed: the factor n and the sum."""
    left, right = (law(side, factor=len(side)) for side in sides)
    return at_most(max(FinitePair(left=left, right=right).corners), _RATIO)


PROOF = Proof(
    theorem=EXPONENTIAL_MECHANISM_EXPONENT,
    uses=(EXPONENTIAL_MECHANISM,),
    mutations={
        "the mean is no counterexample": lambda: the_ratio_exceeds(factor=1),
        "the sum is repaired": lambda: the_mean_repairs_it(factor=3),
    },
    counterexample=Counterexample(
        claim=Claim(_are_neighbors, _is_private),
        at=((0, 1, 1), (0, 0, 1)),
        control=((0,), (1,)),
        argued=("that the losses 1[θ ≠ x] with R = 0 are allowed; for n = 1 sum and mean are one"),
        claimed="ε-DP with e^ε = 4",
        instance=(
            "θ and x in {0, 1}, ℓ = 1[θ ≠ x], Δ = 1, R = 0, n = 3",
            "left: x = (0, 1, 1), right: x = (0, 0, 1); event: θ = 1",
        ),
        truth="P(θ = 1) is 8/9 on the left and 1/9 on the right: the ratio is 8",
        correction="exp(−(εn/(2Δ))·[(1/n)·Σℓ + R])",
        by=(the_ratio_exceeds, the_mean_repairs_it),
    ),
)
