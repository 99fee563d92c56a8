"""Group privacy: k records that change together.

Let P₀, P₁, …, P_k be the outputs along a chain of neighbors, and P(E) ≤ e^ε·Q(E) + δ(ε) for every step, either
way, and every real ε. Put the steps into each other: P₀(E) ≤ δ(ε₁) + e^ε₁·P₁(E) ≤ … . The last line bounds
P₀(E) − e^ε·P_k(E) by the sum over the split, whatever the split, and whatever the event.

Log-concave noise attains the best split if it is symmetric, so that both ways have one profile. Its likelihood
ratios f(x − s)/f(x) rise with x for every s ≥ 0, so the best tests of every shift are thresholds (with a coin
at one point, for whole numbers). At level a let G_s(a) be the power against the shift s. The threshold of level
a rejects with probability G_t(a) once noise is moved by t, and as a test of noise that is moved by t it is a
threshold again: moved by s more it rejects with probability G_s(G_t(a)), and this is G_(s+t)(a). The split's
lines lie above these concave curves; at the a where G_(s+t)(a) − x·a is largest, x is a slope of it, so a
product of slopes of both, by the chain rule, and the split into these attains it. Without log-concavity it is
false: noise that is 0 or 2 with probability 1/2 each shows a shift of 1 for sure, and a shift of 2 by half.
Laplace and Gaussian noise, and both on whole numbers, are symmetric and log-concave. Pure ε-DP has as its worst
pair discrete Laplace noise of scale 1/ε moved by one step; k records move the same noise by k.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.pairs import DiscreteLaplacePair, FinitePair, GaussianPair, LeakyResponsePair, Pair
from dpverify.pairs.bounds.group import group_points
from dpverify.theorems import EXACT_PROFILE, GROUP_PRIVACY, Step
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import same

# Laplace noise cut off at 4 steps, binomial, uniform, triangular and a steep law; the squares of
# weights are at least the products of their neighbors.
_LOG_CONCAVE = (
    (1, 2, 4, 8, 16, 8, 4, 2, 1),
    (1, 4, 6, 4, 1),
    (1, 1, 1, 1, 1),
    (1, 2, 3, 2, 1),
    (1, 9, 27, 9, 1),
)


def two_steps_are_put_into_each_other(factor: int = 1) -> Step:
    """p₀ = d₁ + x₁·p₁ and p₁ = d₂ + x₂·p₂ give p₀ − x₁x₂·p₂ = d₁ + x₁·d₂."""
    d1, d2, x1, x2, p2 = sp.symbols("d1 d2 x1 x2 p2", positive=True)
    first = d1 + x1 * (d2 + x2 * p2)
    holds = same(first - x1 * x2 * p2, d1 + factor * x1 * d2)
    return Step("a split", holds, "all δ's and ratios")


def chains_keep_to_every_split(share: Fraction = Fraction(1)) -> Step:
    """All chains of three laws on two outcomes with denominator 6, all splits of four ratios."""
    laws = rational_laws(2, 6)
    ratios = [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)]
    holds, count = VACUOUS, 0
    for a, b, c in product(laws, repeat=3):
        steps = [FinitePair(left=a, right=b), FinitePair(left=b, right=c)]
        whole = FinitePair(left=a, right=c)
        for x, y in product(ratios, repeat=2):
            # One profile for both steps, as for a mechanism: the greater at every ratio.
            at_x, at_y = (max(step.delta_at_ratio(r) for step in steps) for r in (x, y))
            holds &= at_most(whole.delta_at_ratio(x * y), share * (at_x + x * at_y))
            count += 1
    return Step("chains", holds, f"{count} chains and splits")


def one_step_of_discrete_laplace_is_randomized_response(steps: int = 1) -> Step:
    """Profiles of `DiscreteLaplacePair(scale=1/ε, shift=1)` and `LeakyResponsePair(ε)` agree."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for epsilon, at in product((0.25, 0.5, 2.0), (0.0, 0.125, 0.2)):
            scale = 1.0 / epsilon  # exact
            one = DiscreteLaplacePair(scale=scale, shift=steps).profile_ball(ball(at))
            response = LeakyResponsePair(ApproxDP(epsilon=epsilon)).profile_ball(ball(at))
            holds &= overlaps(one, response)
            count += 1
    return Step("randomized response", holds, f"{count} points")


def shifts_attain_the_best_split(laws: tuple[tuple[int, ...], ...] = _LOG_CONCAVE) -> Step:
    """δ_(s+t)(x) = min over y of δ_s(y) + y·δ_t(x/y), for five laws on whole numbers, s and t of 1 and 2.

    As a function of y that is convex and made of straight pieces, which meet where y is a corner of δ_s or x/y
    one of δ_t: the least of these is the least of all.
    """
    holds, count = VACUOUS, 0
    for weights in laws:
        for s, t in product((1, 2), repeat=2):
            first, then, whole = (_moved(weights, by) for by in (s, t, s + t))
            for x in (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(4), Fraction(9)):
                tried = (
                    {x}
                    | {y for y in first.corners if y > 0}
                    | {x / y for y in then.corners if y > 0}
                )
                best = min(first.delta_at_ratio(y) + y * then.delta_at_ratio(x / y) for y in tried)
                holds &= equal(min(best, Fraction(1)), whole.delta_at_ratio(x))
                count += 1
    return Step("shifts", holds, f"{count} shifts and ratios")


def _moved(weights: tuple[int, ...], by: int) -> FinitePair:
    """Noise with these weights, moved, against the same noise."""
    total, rest = sum(weights), (0,) * by
    left, right = (*rest, *weights), (*weights, *rest)
    return FinitePair(
        left=tuple(Fraction(w, total) for w in left), right=tuple(Fraction(w, total) for w in right)
    )


def the_library_meets_the_shifted_noise(size: int = 3) -> Step:
    """`group_points` at k = 3 against three times the shift: never below, and within 0.1%."""
    holds, count = VACUOUS, 0
    pairs: tuple[Pair, ...] = (
        GaussianPair(Fraction(1, 4)),
        DiscreteLaplacePair(scale=2.0, shift=1),
        LeakyResponsePair(ApproxDP(epsilon=0.5)),
    )
    with ctx.workprec(128):
        for pair, epsilon in product(pairs, (0.0, 0.5, 1.0)):
            bound = group_points(pair, 3).profile_ball(ball(epsilon))
            exact = pair.grouped(size).profile_ball(ball(epsilon))
            holds &= at_most(exact.lower(), bound.upper()) & below(bound, exact * 1.001)
            count += 1
    return Step("`Pair.grouped`", holds, f"{count} points")


PROOF = Proof(
    theorem=GROUP_PRIVACY,
    clauses=(
        Clause(
            (
                "Datasets k steps apart, each step of which keeps to the profile δ either way, keep to Σ "
                "e^(ε₁+…+εᵢ₋₁)·δ(εᵢ) at ε = ε₁ + … + ε_k, for every split;"
            ),
            by=(two_steps_are_put_into_each_other, chains_keep_to_every_split),
            argued="induction along the chain",
        ),
        Clause(
            (
                "symmetric log-concave noise, on the reals or on whole numbers, whose shift is k times as "
                "large, attains the best split."
            ),
            by=(shifts_attain_the_best_split,),
            argued=(
                "that likelihood ratios of log-concave noise rise, so that thresholds are best tests, and "
                "the power of s put into that of t is the power of s + t; that concave curves have lines "
                "through their points, whose slopes multiply; on the reals as on whole numbers, and for "
                "k by induction"
            ),
        ),
    ),
    library=(
        one_step_of_discrete_laplace_is_randomized_response,
        the_library_meets_the_shifted_noise,
    ),
    uses=(EXACT_PROFILE,),
    mutations={
        "twice the second": lambda: two_steps_are_put_into_each_other(factor=2),
        "half the sum": lambda: chains_keep_to_every_split(share=Fraction(1, 2)),
        "noise of 0 or 2": lambda: shifts_attain_the_best_split(laws=((1, 0, 1),)),
        "two steps": lambda: one_step_of_discrete_laplace_is_randomized_response(steps=2),
        "a smaller group": lambda: the_library_meets_the_shifted_noise(size=2),
    },
)
