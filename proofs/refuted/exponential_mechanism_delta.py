"""The slides say that the exponential mechanism satisfies "(ε, Δ)-DP", Δ being the bound on the loss.

Δ is not a δ. Multiplying all losses by a constant changes Δ and leaves the mechanism as it is, so a δ
that follows Δ cannot be right at both; the exact δ is 0. And from Δ = 1 on the statement is empty.
"""

from fractions import Fraction
from itertools import product

from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair
from dpverify.theorems import EXPONENTIAL_MECHANISM, Evidence, Step, Theorem
from proofs.support.form import Counterexample, Proof

EXPONENTIAL_MECHANISM_DELTA = Theorem(
    name="notes-exponential-mechanism-delta",
    statement="The exponential mechanism for losses in [0, Δ] has δ = Δ: it is (ε, Δ)-DP.",
    source="slides of lecture 12, first algorithm for DP ERM",
    proof="proofs/refuted/exponential_mechanism_delta.py",
)


def law(records: tuple[int, ...], bound: Fraction) -> list[Fraction]:
    """Candidates 0 and 1, loss bound·1[w ≠ x], weights e^(−ε·Σloss/(2·bound)) with e^(ε/2) = 2."""
    losses = [bound * sum(w != x for x in records) for w in (0, 1)]
    weights = [Fraction(1, 2) ** int(loss / bound) for loss in losses]
    return [weight / sum(weights) for weight in weights]


def the_exact_delta(bound_delta: Fraction = Fraction(0)) -> Step:
    """δ at e^ε = 4 is 0 for all neighbors among 3 records, at Δ = 1/4 as at Δ = 1/2; not Δ."""
    holds, count = True, 0
    for bound in (Fraction(1, 4), Fraction(1, 2)):
        for records in product((0, 1), repeat=3):
            for i in range(3):
                other = (*records[:i], 1 - records[i], *records[i + 1 :])
                pair = FinitePair(left=law(records, bound), right=law(other, bound))
                holds &= pair.delta_at_ratio(Fraction(4)) == bound_delta
                holds &= law(records, Fraction(1, 4)) == law(records, Fraction(1, 2))
                count += 1
    return Step("the exact δ is 0", Evidence.EXACT, holds, f"{count} neighbors")


def no_guarantee_above_one(delta: float = 2.0) -> Step:
    """`ApproxDP` refuses δ = 2, which losses in [0, 2] would ask for."""
    try:
        ApproxDP(epsilon=1.0, delta=delta)
    except InvalidParameter:
        return Step("δ = 2 is no guarantee", Evidence.EXACT, holds=True, scope="Δ = 2")
    return Step("δ = 2 is no guarantee", Evidence.EXACT, holds=False, scope="Δ = 2")


PROOF = Proof(
    theorem=EXPONENTIAL_MECHANISM_DELTA,
    steps=(the_exact_delta, no_guarantee_above_one),
    uses=(EXPONENTIAL_MECHANISM,),
    mutations={
        "δ = Δ = 1/4": lambda: the_exact_delta(Fraction(1, 4)),
        "δ = 1/2 is refused": lambda: no_guarantee_above_one(0.5),
    },
    counterexample=Counterexample(
        claimed="(ε, Δ)-DP",
        instance=(
            "candidates 0 and 1, loss Δ·1[w ≠ x], three bits, e^(ε/2) = 2",
            "one and the same distribution at Δ = 1/4 and at Δ = 1/2; Δ = 2 would ask for δ = 2",
        ),
        truth="δ = 0 exactly, for every Δ",
        correction="(ε, 0)-DP",
    ),
)
