"""Advanced composition: if no response leaks, the total loss stays near its mean.

By the simulation lemma and adaptive domination, parts (εᵢ, δᵢ) are at worst leaky responses. Given
that none leaks, the loss is Σ εᵢ·Xᵢ with independent Xᵢ = ±1 of mean tanh(εᵢ/2). Its moment
generating function is at most that of a normal variable of variance Σεᵢ²; so the loss exceeds its
mean by T with probability at most e^(−T²/(2·Σεᵢ²)), which is δ′ at T = √(2·ln(1/δ′)·Σεᵢ²). Outside
of both bad events P ≤ e^ε·Q pointwise, so δ is at most the probability of the bad events.
"""

import math
from fractions import Fraction
from functools import cache

import sympy as sp
from flint import arb, ctx

from dpverify.accounting.rules.advanced import AdvancedComposition
from dpverify.accounting.rules.optimal import OptimalComposition, binomial_tail
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import ADVANCED_COMPOSITION, SIMULATION_LEMMA, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.mean_loss import MEAN_LOSS
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def mean_of_one_round(half: int = 2) -> Step:
    """ε·e^ε/(1+e^ε) − ε/(1+e^ε) = ε·(e^ε−1)/(e^ε+1) = ε·tanh(ε/2)."""
    e = sp.Symbol("epsilon", positive=True)
    mean = e * sp.exp(e) / (1 + sp.exp(e)) - e / (1 + sp.exp(e))
    holds = same(mean, e * (sp.exp(e) - 1) / (sp.exp(e) + 1)) & same(mean, e * sp.tanh(e / half))
    return Step("mean of one round", holds, "all ε > 0")


@cache
def moments_of_one_round(variance: Fraction = Fraction(1)) -> Step:
    """ln E e^(s(X−m)) = g(s) = ln cosh(s+a) − ln cosh a − s·tanh a ≤ s²/2, with a = ε/2.

    g(0) = g′(0) = 0 and g″ = 1 − tanh²(s+a) ≤ 1, so Taylor's formula gives the bound.
    """
    a, s = sp.symbols("a s", real=True)
    truth = sp.exp(a) / (sp.exp(a) + sp.exp(-a))
    moment = truth * sp.exp(s) + (1 - truth) * sp.exp(-s)
    identity = same(moment, (sp.cosh(s + a) / sp.cosh(a)).rewrite(sp.exp))
    g = sp.log(sp.cosh(s + a)) - sp.log(sp.cosh(a)) - s * sp.tanh(a)
    starts = same(g.subs(s, 0), 0) & same(sp.diff(g, s).subs(s, 0), 0)
    spare = sp.Rational(variance) - 1
    curved = same(sp.Rational(variance) - sp.diff(g, s, 2), sp.tanh(s + a) ** 2 + spare)
    holds = identity & starts & curved & nonnegative(spare, ())
    return Step("Hoeffding's lemma", holds, "all real s, all ε")


def tail_of_the_sum(two: int = 2) -> Step:
    """min over s of −s·T + s²·V/2 is −T²/(2V), and e^(−T²/(2V)) = δ′ at T = √(2·ln(1/δ′)·V)."""
    s, deviation, variance, slack = sp.symbols("s T V slack", positive=True)
    exponent = -s * deviation + s**2 * variance / 2
    best = sp.solve(sp.diff(exponent, s), s)[0]
    least = exponent.subs(s, best)
    reached = least.subs(deviation, sp.sqrt(two * sp.log(1 / slack) * variance))
    holds = same(least, -(deviation**2) / (2 * variance)) & same(sp.exp(reached), slack)
    return Step("Chernoff", holds, "all variances, all δ′ in (0, 1]")


def the_two_bad_events(sign: int = 1) -> Step:
    """Leak, or no leak and large loss: L + (1−L)·δ′ = 1 − (1−δ′)·(1−L), at most kδ + δ′."""
    leak, slack = sp.symbols("L slack", nonnegative=True)
    holds = same(leak + (1 - leak) * slack, 1 - (1 - slack) * (1 - sign * leak))
    holds &= same(leak + slack - (leak + (1 - leak) * slack), leak * slack)
    return Step("two bad events", holds, "all L, δ′ in [0, 1]")


def exact_tails_obey_the_bound(rate: float = 0.5) -> Step:
    """P(X₁ + … + X_k ≥ k·tanh(ε/2) + t·√k) ≤ e^(−t²/2), the left by `binomial_tail`."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for k in (1, 2, 7, 50, 400):
            for epsilon in (0.01, 0.5, 2.0):
                truth = LeakyResponsePair(ApproxDP(epsilon=epsilon)).truthful
                for t in (0.5, 1.0, 2.0, 4.0):
                    reach = k * math.tanh(epsilon / 2) + t * math.sqrt(k)
                    # A count certainly not above the threshold's: its tail is not smaller.
                    count_needed = math.ceil((k + reach) / 2 - 1e-9)
                    tail = binomial_tail(count_needed, k, truth)
                    holds &= at_most(tail, (-arb(rate) * ball(t) ** 2).exp())
                    count += 1
    return Step("exact binomial tails", holds, f"{count} tails")


def the_library_is_above_the_optimum(shrink: float = 1.0) -> Step:
    """`AdvancedComposition.epsilon` ≥ `OptimalComposition.epsilon`, whose ends are certified."""
    holds, count = VACUOUS, 0
    for epsilon, delta, k, total in (
        (0.1, 0.0, 100, 1e-6),
        (0.01, 0.0, 10_000, 1e-9),
        (1.0, 1e-8, 20, 1e-5),
        (0.5, 1e-10, 1, 1e-2),
        (3.0, 0.0, 50, 0.1),
    ):
        part = ApproxDP(epsilon=epsilon, delta=delta)
        advanced = AdvancedComposition(((part, k),))
        optimal = OptimalComposition(part, k)
        holds &= at_most(optimal.epsilon(total).upper, shrink * advanced.epsilon(total))
        at = advanced.epsilon(total)
        holds &= at_most(optimal.delta(at).upper, advanced.delta(at))
        count += 1
    return Step("`AdvancedComposition`", holds, f"{count} compositions")


PROOF = Proof(
    theorem=ADVANCED_COMPOSITION,
    clauses=(
        Clause(
            (
                "Parts that are (εᵢ, δᵢ)-DP compose, adaptively, to (Σεᵢ·tanh(εᵢ/2) + √(2·ln(1/δ′)·Σεᵢ²), 1 − "
                "(1−δ′)·Π(1−δᵢ))-DP, for every δ′ in (0, 1]."
            ),
            by=(
                mean_of_one_round,
                moments_of_one_round,
                tail_of_the_sum,
                the_two_bad_events,
                exact_tails_obey_the_bound,
            ),
            argued=(
                "Taylor’s formula from g″ ≤ 1; Markov’s inequality; that outside of both bad events P ≤ e^ε·Q "
                "pointwise"
            ),
        ),
    ),
    library=(the_library_is_above_the_optimum,),
    uses=(MEAN_LOSS, SIMULATION_LEMMA, ADAPTIVE_DOMINATION),
    mutations={
        "1 + L": lambda: the_two_bad_events(sign=-1),
        "mean ε·tanh(ε/3)": lambda: mean_of_one_round(half=3),
        "variance 9/10": lambda: moments_of_one_round(Fraction(9, 10)),
        "√ln(1/δ′) without the 2": lambda: tail_of_the_sum(two=1),
        "tail e^(−t²)": lambda: exact_tails_obey_the_bound(rate=1.0),
        "the library a fifth smaller": lambda: the_library_is_above_the_optimum(shrink=0.8),
    },
)
