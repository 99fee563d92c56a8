"""The slides write the KL divergence as an expectation over the other dataset's output, which makes it negative.

E over y ~ A(x′) of ln(P[A(x) = y]/P[A(x′) = y]) is minus the divergence of A(x′) from A(x): never positive, and 0 only for equal laws. The
divergence is the expectation over y ~ A(x).
"""

from fractions import Fraction

from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import at_most, below
from proofs.support.digits import agrees
from proofs.support.form import Claim, Counterexample, Proof

KL_FROM_THE_WRONG_SIDE = Theorem(
    name="notes-kl-divergence",
    statement="The KL divergence is E over y ~ A(x′) of ln(P[A(x) = y]/P[A(x′) = y]).",
    source="slides of lecture 12, privacy loss",
    proof="proofs/refuted/kl_from_the_wrong_side.py",
)


def mean_loss(odds: int, *, own: bool) -> arb:
    """The mean of ln(p/q) for randomized response, over its own output or the other one's."""
    truth, lie = ball(Fraction(odds, 1 + odds)), ball(Fraction(1, 1 + odds))
    weights = (truth, lie) if own else (lie, truth)
    return (weights[0] - weights[1]) * ball(odds).log()


def it_is_negative(*, own: bool = False) -> Step:
    """For odds 3 : 1 it is −ln(3)/2 = −0.54930…; a divergence is never negative."""
    with ctx.workprec(128):
        value = mean_loss(3, own=own)
        holds = below(value, 0) & agrees(value, "-0.54930")
    return Step("negative", holds, "odds 3 : 1")


def over_its_own_output(*, own: bool = True) -> Step:
    """Over y ~ A(x) it is ln(3)/2 = 0.54930…, the divergence."""
    with ctx.workprec(128):
        value = mean_loss(3, own=own)
        holds = below(0, value) & agrees(value, "0.54930")
    return Step("over A(x)", holds, "odds 3 : 1")


def _are_odds(odds: int) -> Check:
    """Odds of at least 1 : 1."""
    return at_most(1, odds)


def _is_a_divergence(odds: int) -> Check:
    """The mean over the other side’s output is not negative, as a divergence."""
    with ctx.workprec(128):
        return at_most(0, mean_loss(odds, own=False))


PROOF = Proof(
    theorem=KL_FROM_THE_WRONG_SIDE,
    mutations={
        "over A(x) it is no counterexample": lambda: it_is_negative(own=True),
        "over A(x′) it is repaired": lambda: over_its_own_output(own=False),
    },
    counterexample=Counterexample(
        claim=Claim(_are_odds, _is_a_divergence),
        at=3,
        control=1,
        argued=(
            "that a divergence is never negative (Gibbs), and that randomized response is a pair of laws; with odds 1 : 1 both are 0"
        ),
        claimed="a divergence, which is ≥ 0",
        instance=("randomized response with odds 3 : 1",),
        truth="−0.54930…",
        correction="the expectation over y ~ A(x)",
        by=(it_is_negative, over_its_own_output),
    ),
)
