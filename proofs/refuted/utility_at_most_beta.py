"""The notes' proof of Theorem 2.5 ends in "with probability at most β the excess risk is at most …". It is at least 1 − β.

What was shown is P(BAD) ≤ β, BAD being the outputs that are worse. With C = [−1, 1], ℓ(w; x) = w for all records, εn = 100
and Δ = G·R = 1 as in the notes, w + 1 is an exponential variable of rate 50, cut off at 2: its excess stays below the
printed bound with probability 0.9996, not 1/10.
"""

from flint import arb, ctx

from dpverify.theorems import Check, Step, Theorem
from proofs.erm_utility import ERM_UTILITY
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.digits import agrees
from proofs.support.form import Claim, Counterexample, Proof

UTILITY_AT_MOST_BETA = Theorem(
    name="notes-erm-probability",
    statement=(
        "With probability at most β the excess risk of ExpMech-ERM is at most "
        "2RG·(d/(εn) + (d·ln(εn/d) + ln(1/β))/(εn))."
    ),
    source="Smith, Ullman, notes on private ERM, proof of Thm 2.5",
    proof="proofs/refuted/utility_at_most_beta.py",
)


def below_the_bound(total: int, beta: arb) -> arb:
    """P(w + 1 ≤ bound) for w ∝ e^(−kw) on [−1, 1], k = εn/2, at R = G = d = 1."""
    rate = arb(total) / 2
    bound = 2 * (1 + arb(total).log() + (1 / beta).log()) / total
    return (1 - (-rate * bound).exp()) / (1 - (-2 * rate).exp())


def it_is_likely(beta: str = "0.1", printed: str = "0.999632") -> Step:
    """P(excess ≤ 0.158155…) = 0.999632 > β = 1/10, at εn = 100."""
    with ctx.workprec(128):
        chance = below_the_bound(100, arb(beta))
        holds = below(arb(beta), chance) & agrees(chance, printed)
    return Step("P(excess ≤ bound)", holds, "εn = 100, β = 1/10, d = 1")


def at_least_one_minus_beta(most: str = "1") -> Step:
    """P(excess ≤ bound) ≥ 1 − β for the same law, at several εn and β; `erm-utility` proves it for all."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for total in (10, 100, 1000):
            for beta in ("0.5", "0.1", "1e-3"):
                holds &= at_most(arb(most) - arb(beta), below_the_bound(total, arb(beta)))
                count += 1
    return Step("at least 1 − β", holds, f"{count} values of εn and β")


def _is_a_level(beta: str) -> Check:
    """β in (0, 1)."""
    return below(0, arb(beta)) & below(arb(beta), 1)


def _is_unlikely(beta: str) -> Check:
    """P(excess ≤ bound) ≤ β at εn = 100."""
    with ctx.workprec(128):
        return at_most(below_the_bound(100, arb(beta)), arb(beta))


PROOF = Proof(
    theorem=UTILITY_AT_MOST_BETA,
    uses=(ERM_UTILITY,),
    mutations={
        "β = 0.9999 is no counterexample": lambda: it_is_likely(beta="0.9999"),
        "digits 0.99": lambda: it_is_likely(printed="0.990000"),
        "certainly": lambda: at_least_one_minus_beta(most="1.1"),
    },
    counterexample=Counterexample(
        claim=Claim(_is_a_level, _is_unlikely),
        at="0.1",
        control="0.9999",
        argued=(
            "that “with probability at most β” is a bound on that probability, and the law of w on [−1, 1]"
        ),
        claimed="P(excess ≤ bound) ≤ β = 1/10",
        instance=("C = [−1, 1], ℓ(w; x) = w (G = R = d = 1), Δ = GR, εn = 100: w + 1 has rate 50",),
        truth="P(excess ≤ bound) = 0.999632",
        correction="with probability at least 1 − β; and with Δ = 2GR the second term doubles (erm-utility)",
        by=(it_is_likely, at_least_one_minus_beta),
    ),
)
