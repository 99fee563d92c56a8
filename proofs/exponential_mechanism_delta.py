"""The slides say that the exponential mechanism satisfies "(ε, Δ)-DP", Δ being the bound on the loss.

It is ε-DP, so for Δ ≤ 1 what they say is true, and says less: δ = 0 will do. From Δ = 1 on it is empty, as every mechanism is
(ε, 1)-DP. And Δ is no δ: multiplying all losses by a constant changes Δ and leaves the mechanism as it is.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step, Theorem
from proofs.support.checks import VACUOUS, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

EXPONENTIAL_MECHANISM_DELTA = Theorem(
    name="exponential-mechanism-delta",
    statement=(
        "The exponential mechanism for losses in [0, Δ], Δ ≤ 1, is (ε, Δ)-DP; it is (ε, 0)-DP, and the same mechanism for "
        "the losses multiplied by any constant."
    ),
    source="slides of lecture 12, first algorithm for DP ERM",
    proof="proofs/exponential_mechanism_delta.py",
)


def law(records: tuple[int, ...], bound: Fraction) -> list[Fraction]:
    """Candidates 0 and 1, loss bound·1[w ≠ x], weights e^(−ε·Σloss/(2·bound)) with e^(ε/2) = 2."""
    losses = [bound * sum(w != x for x in records) for w in (0, 1)]
    weights = [Fraction(1, 2) ** int(loss / bound) for loss in losses]
    return [weight / sum(weights) for weight in weights]


def a_larger_delta_is_no_harm(sign: int = 1) -> Step:
    """P(E) ≤ e^ε·Q(E) implies P(E) ≤ e^ε·Q(E) + Δ: the gap grows by Δ ≥ 0."""
    q, t, slack, bound = sp.symbols("q t slack Delta", nonnegative=True)
    p = (1 + t) * q - slack  # P(E) ≤ e^ε·Q(E), e^ε = 1 + t
    holds = nonnegative((1 + t) * q + sign * bound - p, (q, t, slack, bound))
    return Step("δ = Δ is weaker", holds, "all events, all ε, Δ ≥ 0")


def rescaled_losses_are_the_same_mechanism(power: int = 1) -> Step:
    """e^(−ε·(c·ℓ)/(2·(c·Δ))) = e^(−ε·ℓ/(2Δ)) for every c > 0."""
    epsilon, loss, bound, c = sp.symbols("epsilon loss Delta c", positive=True)
    scaled = sp.exp(-epsilon * c * loss / (2 * c**power * bound))
    return Step(
        "rescaled losses", same(scaled, sp.exp(-epsilon * loss / (2 * bound))), "all ε, ℓ, Δ, c"
    )


def the_exact_delta(bound_delta: Fraction = Fraction(0)) -> Step:
    """δ at e^ε = 4 is 0 for all neighbors among 3 records, at Δ = 1/4 as at Δ = 1/2; not Δ."""
    holds, count = VACUOUS, 0
    for bound in (Fraction(1, 4), Fraction(1, 2)):
        for records in product((0, 1), repeat=3):
            for i in range(3):
                other = (*records[:i], 1 - records[i], *records[i + 1 :])
                pair = FinitePair(left=law(records, bound), right=law(other, bound))
                holds &= equal(pair.delta_at_ratio(Fraction(4)), bound_delta)
                holds &= equal(law(records, Fraction(1, 4)), law(records, Fraction(1, 2)))
                count += 1
    return Step("the exact δ is 0", holds, f"{count} neighbors")


PROOF = Proof(
    theorem=EXPONENTIAL_MECHANISM_DELTA,
    clauses=(
        Clause(
            "The exponential mechanism for losses in [0, Δ], Δ ≤ 1, is (ε, Δ)-DP;",
            by=(a_larger_delta_is_no_harm,),
            argued="that the score −Σℓ of losses in [0, Δ] has sensitivity Δ, so that exponential-mechanism applies",
        ),
        Clause(
            "it is (ε, 0)-DP, and the same mechanism for the losses multiplied by any constant.",
            by=(rescaled_losses_are_the_same_mechanism, the_exact_delta),
            argued="that (ε, 0)-DP is exponential-mechanism itself",
        ),
    ),
    uses=(EXPONENTIAL_MECHANISM,),
    mutations={
        "δ = −Δ": lambda: a_larger_delta_is_no_harm(sign=-1),
        "2c²Δ": lambda: rescaled_losses_are_the_same_mechanism(power=2),
        "δ = Δ = 1/4": lambda: the_exact_delta(Fraction(1, 4)),
    },
)
