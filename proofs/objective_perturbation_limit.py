"""Objective perturbation on a domain, with corners in the regularizer, and with slopes that are only Lipschitz.

The theorems on objective perturbation are for twice differentiable losses and a smooth convex data-independent r, which
cancels in b − b′ and only adds to the Hessians, so that M ≥ λI still holds. Everything else is a limit of such problems:

- a closed convex C and a convex r are the limit of Moreau envelopes, which are differentiable and grow to r + C; smoothing
  them by convolution makes them twice differentiable;
- a slope that is Lipschitz but has corners (Huber-hinge) is averaged over a short interval: the average slope keeps its
  bound L, its sign and its Lipschitz constant β/‖x‖²;
- a loss whose slope is bounded only on C (squares) is continued linearly beyond the scores that C allows, which changes
  no minimum on C and keeps convexity, L and β.

Envelopes lie below what they approach, averages of losses above it by at most c_k → 0: J_k ≤ J + c_k. For every b the
minima of the approximations converge to the minimum of the limit, as all are λ-strongly convex and min J_k → min J. So the laws of the outputs converge weakly, and P(E) ≤ e^ε·Q(E) + δ passes to the limit: for open E by
the portmanteau theorem applied to closed sets inside and open sets around, then for all E by outer regularity.
"""

from fractions import Fraction
from itertools import pairwise

import sympy as sp

from dpverify.theorems import Step
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same, tends_to
from solvers.privacy.theorems import CONSTRAINED_MINIMUM, OBJECTIVE_PERTURBATION_LIMIT


def envelopes_reach_the_domain(power: int = 1) -> Step:
    """(λ/2)(θ − c)² + (k/2)·dist(θ, C)², C = θ ≤ 1, c > 1: the minimum (λc + k)/(λ + k) is λ(c − 1)/(λ + k) from 1."""
    lam, k, over = sp.symbols("lambda k over", positive=True)
    theta = sp.Symbol("theta", real=True)
    c = 1 + over
    found = sp.solve(lam * (theta - c) + k * (theta - 1), theta)[0]
    gap = lam * over / (lam + k) ** power
    holds = same(found - 1, gap) & tends_to(gap, k, sp.oo, 0)
    return Step("envelopes", holds, "one dimension, all λ, k, c")


def values_that_converge_bring_minima(two: int = 2) -> Step:
    """J_k ≤ J + c_k, J_k strongly convex: (λ/2)‖θ_k − θ*‖² ≤ J_k(θ*) − J_k(θ_k) ≤ J(θ*) + c_k − min J_k, which goes to 0."""
    lam, d, slack, below, over = sp.symbols("lambda D slack below over", nonnegative=True)
    least = sp.Symbol("least", real=True)
    approximate = least + lam / two * d**2 + slack  # J_k(θ*)
    exact = approximate + below - over  # J(θ*), as J_k ≤ J + over
    gap = exact + over - least - lam / 2 * d**2
    holds = nonnegative(sp.expand(gap), (lam, d, slack, below, over))
    return Step("minima converge", holds, "all strongly convex J_k ≤ J + c_k")


def averages_keep_the_constants(high: Fraction = Fraction(1)) -> Step:
    """Averages over [s − w, s + w] of the Huber-hinge slope stay in [−1, 0], rise, and by at most 1/(2h) a unit."""
    h, w = Fraction(1, 2), Fraction(1, 8)

    def antiderivative(s: Fraction) -> Fraction:  # of the slope −clip((1 + h − s)/(2h), 0, 1)
        depth = 1 + h - s
        if depth <= 0:
            return Fraction(0)
        if depth <= 2 * h:
            return depth**2 / (4 * h)
        return h + (depth - 2 * h)

    grid = [Fraction(i, 64) for i in range(-128, 257)]
    slopes = [(antiderivative(s + w) - antiderivative(s - w)) / (2 * w) for s in grid]
    holds = every(at_most(-1, slope) & at_most(slope, 0) for slope in slopes)
    steps = [(b - a) * 64 for a, b in pairwise(slopes)]
    holds &= every(at_most(0, step) & at_most(step, high / (2 * h)) for step in steps) & equal(
        max(steps), 1 / (2 * h)
    )
    return Step("averaged slopes", holds, f"h = 1/2, {len(grid)} scores")


def squares_continue_linearly(two: int = 2) -> Step:
    """(s − y)² beyond |s| = c as its tangent: slopes stay within 2(c + |y|), and the slope is continuous."""
    holds, count = VACUOUS, 0
    for c in (Fraction(1), Fraction(5, 2)):
        for y in (Fraction(-1), Fraction(0), Fraction(1, 3)):
            cut = [max(-c, min(c, Fraction(i, 4))) for i in range(-40, 41)]
            slopes = [2 * (s - y) for s in cut]
            holds &= equal(max(abs(slope) for slope in slopes), two * (c + abs(y)))
            holds &= every(
                at_most(0, b - a) & at_most(b - a, 2 * Fraction(1, 4)) for a, b in pairwise(slopes)
            )
            count += 1
    return Step("squares, continued", holds, f"{count} cases, 81 scores each")


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_LIMIT,
    clauses=(
        Clause(
            (
                "A guarantee of objective perturbation that holds for all twice differentiable convex losses "
                "with given L, β and monotonicity and for all smooth convex regularizers holds as well on a "
                "closed convex domain, with any convex regularizer, and for losses whose slope is only "
                "Lipschitz."
            ),
            by=(
                envelopes_reach_the_domain,
                values_that_converge_bring_minima,
                averages_keep_the_constants,
                squares_continue_linearly,
            ),
            argued=(
                "that Moreau envelopes and averages are smooth convex approximations with J_k ≤ J + c_k and "
                "min J_k → min J; weak convergence of the outputs"
            ),
        ),
    ),
    uses=(OBJECTIVE_PERTURBATION, CONSTRAINED_MINIMUM),
    cites=("the portmanteau theorem and the regularity of Borel measures",),
    mutations={
        "converges like 1/k²": lambda: envelopes_reach_the_domain(power=2),
        "strong convexity λ/4": lambda: values_that_converge_bring_minima(two=4),
        "half of the smoothness": lambda: averages_keep_the_constants(Fraction(1, 2)),
        "slopes within c + |y|": lambda: squares_continue_linearly(two=1),
    },
)
