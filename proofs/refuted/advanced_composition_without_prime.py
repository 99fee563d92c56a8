"""The lemma on the slides has ln(1/δ) where advanced composition has ln(1/δ′).

Then δ′ may be chosen as small as one likes at no cost in ε. At ε = 0.2, δ = 1e-8, k = 1000 the exact δ of the
composition at the stated ε̃ exceeds kδ by more than 1e-10; so any δ′ ≤ 1e-10 refutes it.
"""

import math

from flint import arb, ctx

from dpverify.accounting.rules.advanced import AdvancedComposition
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.balls import ball, enclose
from dpverify.guarantees import ApproxDP
from dpverify.theorems import ADVANCED_COMPOSITION, OPTIMAL_COMPOSITION, Check, Step, Theorem
from proofs.support.checks import at_most, below, provided
from proofs.support.form import Claim, Counterexample, Proof

ADVANCED_COMPOSITION_WITHOUT_PRIME = Theorem(
    name="notes-advanced-composition-lemma",
    statement=(
        "k parts that are (ε, δ)-DP compose to (ε·√(2k·ln(1/δ)) + k·ε·(e^ε−1)/(e^ε+1), kδ + δ′)-DP for "
        "every δ′ in (0, 1)."
    ),
    source="slides of lecture 12, lemma on (U₁, …, U_k)",
    proof="proofs/refuted/advanced_composition_without_prime.py",
)
_PART, _TIMES, _SLACK = ApproxDP(epsilon=0.2, delta=1e-8), 1000, 1e-10


def stated_epsilon(log_of: float) -> float:
    """The stated ε̃ with ln(1/log_of), rounded up."""

    def formula() -> object:
        e = ball(_PART.epsilon)
        root = (-2 * _TIMES * ball(log_of).log()).sqrt()
        return e * root + _TIMES * e * (e / 2).tanh()

    return enclose(formula)[1]  # type: ignore[arg-type]  # an arb


def delta_exceeds_the_claim(log_of: float = 1e-8) -> Step:
    """`OptimalComposition.delta(ε̃)` > kδ + 1e-10, certified, at ε̃ = 58.3218."""
    at = stated_epsilon(log_of)
    exact = OptimalComposition(_PART, _TIMES).delta(at)
    claimed = math.nextafter(_TIMES * _PART.delta + _SLACK, math.inf)
    holds = below(ball(claimed), ball(exact.lower))
    holds &= provided(log_of != 1e-8 or abs(at - 58.3218) < 1e-4)
    return Step("δ at the claimed ε", holds, "ε = 0.2, δ = 1e-8, k = 1000")


def the_event_itself(most: int = 645) -> Step:
    """E: some response leaks, or none does and more than 645 answers are 0. P(E) − e^ε̃·Q(E) > kδ + δ′, by binomial sums on balls."""
    with ctx.workprec(256):
        e, delta = ball(_PART.epsilon).exp(), ball(_PART.delta)
        silent = (1 - delta) ** _TIMES  # that nothing leaks; what Q leaks is not in E
        zeros, others = (_tail(odds / (1 + odds), most) for odds in (e, 1 / e))
        left, right = 1 - silent + silent * zeros, silent * others
        excess = left - ball(stated_epsilon(_PART.delta)).exp() * right
        holds = below(_TIMES * delta + ball(_SLACK), excess)
    return Step("the event itself", holds, "1000 responses, one event")


def _tail(p: arb, most: int) -> arb:
    """P(Bin(1000, p) > most)."""
    total, odds = arb(0), p / (1 - p)
    term = (1 - p) ** _TIMES
    for count in range(_TIMES + 1):
        if count > most:
            total += term
        term = term * odds * (_TIMES - count) / (count + 1)
    return total


def the_prime_repairs_it(log_of: float = 1e-10) -> Step:
    """With ln(1/δ′) the exact δ at ε̃ is below kδ + δ′, and `AdvancedComposition` agrees."""
    at = stated_epsilon(log_of)
    exact = OptimalComposition(_PART, _TIMES).delta(at)
    holds = at_most(ball(exact.upper), ball(_TIMES * _PART.delta + _SLACK))
    holds &= at_most(
        AdvancedComposition(((_PART, _TIMES),)).delta(at), _TIMES * _PART.delta + _SLACK
    )
    return Step("ln(1/δ′)", holds, "δ′ = 1e-10")


def _is_a_probability(slack: float) -> Check:
    """δ′ in (0, 1); the parts are (ε, δ)-DP by leaky-response, which optimal-composition uses."""
    return below(0, ball(slack)) & below(ball(slack), 1)


def _composes(slack: float) -> Check:
    """The exact δ at the stated ε̃, with ln(1/δ), is at most kδ + δ′."""
    exact = OptimalComposition(_PART, _TIMES).delta(stated_epsilon(_PART.delta))
    with ctx.workprec(128):
        return at_most(
            ball(exact.lower).union(ball(exact.upper)), _TIMES * ball(_PART.delta) + ball(slack)
        )


PROOF = Proof(
    theorem=ADVANCED_COMPOSITION_WITHOUT_PRIME,
    uses=(OPTIMAL_COMPOSITION, ADVANCED_COMPOSITION),
    mutations={
        "ln(1/δ′) is no counterexample": lambda: delta_exceeds_the_claim(1e-10),
        "more than 700 answers": lambda: the_event_itself(most=700),
        "ln(1/δ) is repaired": lambda: the_prime_repairs_it(1e-8),
    },
    counterexample=Counterexample(
        claim=Claim(_is_a_probability, _composes),
        at=_SLACK,
        control=_PART.delta,
        argued=(
            "that leaky randomized responses are such parts (optimal-composition), and (ε̃, kδ + δ′)-DP is a δ of at most kδ + δ′ at ε̃; the lemma is right at δ′ = δ"
        ),
        claimed="(58.3218, 1000·1e-8 + 1e-10)-DP",
        instance=(
            "k = 1000 leaky randomized responses at ε = 0.2, δ = 1e-8; δ′ = 1e-10",
            "event: some response leaks, or more than 645 of the 1000 answers are 0",
        ),
        truth="δ exceeds 1e-5 + 1e-10 at ε̃ = 58.3218",
        correction="√(2k·ln(1/δ′))",
        by=(delta_exceeds_the_claim, the_event_itself, the_prime_repairs_it),
    ),
)
