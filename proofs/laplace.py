"""Laplace noise of scale b is (Δ/b)-DP, and one dimension is the worst case.

In units of b and with shift a = Δ/b, the loss at x is |x| − |x−a| ≤ a. Under P it is a − 2W with
W = min(T₊, a), where T₊ = 0 with probability 1/2 and is exponential otherwise; so the profile is
E(1 − e^(ε−a+2W))₊.

Several coordinates with shifts s and t, s + t = a, have the loss a − 2W with W = min(T₊, s) +
min(T′₊, t). The function of W in the expectation falls, and vanishes from (a−ε)/2 on; for ε ≥ 0 that
is at most a/2 ≤ max(s, t). So only P(W > w) for w < max(s, t) matters, and there it is at least
e^(−w)/2, its value in one dimension: the expectation is smaller. Reflection exchanges the two laws of
both pairs, which gives ε < 0 as well. Adaptive domination adds further coordinates one by one; and
since the profile rises with a, shifts of ℓ1 norm below Δ are covered.
"""

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.mechanisms import Laplace
from dpverify.neighbors import Relation
from dpverify.pairs import LaplacePair
from dpverify.theorems import EXACT_PROFILE, LAPLACE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, answered, every
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, positive, same


def the_loss_is_at_most_the_shift(slope: int = 1) -> Step:
    """|x| − |x−a| is −a, 2x − a, a on the three ranges of x: never above a."""
    a, y = sp.symbols("a y", nonnegative=True)
    below = -(y) * -1 - (a + y)  # x = −y ≤ 0
    inside_x = a / (1 + y)  # x from 0 to a
    inside = inside_x - (a - inside_x)
    above = (a + y) - y  # x = a + y
    bounds = (slope * a - below, slope * a - inside, slope * a - above)
    holds = every(nonnegative(bound, (a, y)) for bound in bounds)
    return Step("loss ≤ a", holds, "all x, all a ≥ 0")


def the_profile_in_one_dimension(half: int = 2) -> Step:
    """(1 − e^(ε−a))/2 + ∫₀^v e^(−w)/2·(1 − e^(ε−a+2w)) dw = 1 − e^((ε−a)/2), v = (a−ε)/2."""
    v, w = sp.symbols("v w", positive=True)
    atom = (1 - sp.exp(-2 * v)) / 2  # ε − a = −2v
    spread = sp.integrate(sp.expand(sp.exp(-w) / 2 * (1 - sp.exp(-2 * v + 2 * w))), (w, 0, v))
    holds = same(atom + spread, 1 - sp.exp(-2 * v / half))
    return Step("profile", holds, "all |ε| ≤ a")


def tail_before_the_smaller_shift(quarters: int = 3) -> Step:
    """P(W > w) = e^(−w)·(3/4 + w/4) for w < min(s, t): at least e^(−w)/2."""
    w, u = sp.symbols("w u", positive=True)
    one_only = 2 * sp.Rational(1, 4) * sp.exp(-w)
    both = sp.Rational(1, 4) * (sp.exp(-w) + sp.integrate(sp.exp(-u) * sp.exp(-(w - u)), (u, 0, w)))
    factor = sp.Rational(quarters, 4) + w / 4
    holds = same(one_only + both, sp.exp(-w) * factor)
    holds &= nonnegative(factor - sp.Rational(1, 2), (w,))
    return Step("w < min(s, t)", holds, "all s, t > 0")


def tail_before_the_larger_shift(share: int = 4) -> Step:
    """P(W > w) = e^(−w)/2·E e^U = e^(−w)·(1/2 + t/4) for t ≤ w < s, with U = min(T′₊, t)."""
    t, u, w = sp.symbols("t u w", positive=True)
    tail = sp.exp(-t) * sp.exp(t)
    growth = sp.Rational(1, 2) + (sp.integrate(sp.exp(u) * sp.exp(-u), (u, 0, t)) + tail) / 2
    factor = sp.Rational(1, 2) + t / share
    holds = same(sp.exp(-w) / 2 * growth, sp.exp(-w) * factor)
    holds &= nonnegative(factor - sp.Rational(1, 2), (t,))
    return Step("min(s, t) ≤ w < max(s, t)", holds, "all s, t > 0")


def only_small_w_matters(sign: int = 1) -> Step:
    """(a−ε)/2 ≤ max(s, t) for ε ≥ 0; there d/dw (1 − e^(ε−a+2w)) < 0, so a larger tail lowers E."""
    s, more, epsilon, w, a = sp.symbols("s more epsilon w a", nonnegative=True)
    larger = s + more
    holds = nonnegative(larger - (s + larger - sign * epsilon) / 2, (s, more, epsilon))
    holds &= positive(sp.diff(sp.exp(epsilon - a + 2 * w) - 1, w))
    return Step("w < (a−ε)/2 suffices", holds, "all ε ≥ 0, all s, t")


def the_profile_rises_with_the_shift(sign: int = 1) -> Step:
    """∂/∂a (1 − e^((ε−a)/2)) = e^((ε−a)/2)/2 > 0."""
    epsilon, a = sp.symbols("epsilon a", real=True)
    slope = sp.diff(1 - sp.exp(sign * (epsilon - a) / 2), a)
    return Step("rises with a", positive(slope), "all ε, a")


def the_library_has_this_profile(scale: float = 1.0) -> Step:
    """`LaplacePair.profile_ball` against ∫(p − e^ε·q), and `Laplace.pair` with its claim Δ/b."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for shift in (0.25, 1.0, 3.0):
            mechanism = Laplace(scale=2.0, l1_sensitivity=2.0 * shift)
            holds &= answered(mechanism.claim.guarantee.epsilon == shift * scale)  # type: ignore[union-attr]  # it is pure
            pair = mechanism.pair(Relation.ADD_REMOVE)
            holds &= answered(pair == LaplacePair(scale=2.0, sensitivity=2.0 * shift))
            for share in (-0.5, 0.0, 0.75):
                a, e = ball(shift), ball(shift * share)
                start = (a + e) / 2

                def inside(x: acb, a: arb = a, e: arb = e) -> acb:
                    return ((x - a).exp() - (e - x).exp()) / 2

                beyond = (1 - (e - a).exp()) / 2  # x > a: both densities fall as e^(−x)
                holds &= overlaps(pair.profile_ball(e), integral(inside, start, a) + beyond)
                count += 1
    return Step("`LaplacePair`", holds, f"{count} points, 20 digits")


PROOF = Proof(
    theorem=LAPLACE,
    clauses=(
        Clause(
            "Laplace noise of scale b on a query of ℓ1 sensitivity Δ is (Δ/b)-DP,",
            by=(the_loss_is_at_most_the_shift,),
            argued="that a loss of at most ε at every outcome is ε-DP; the sum over coordinates",
        ),
        Clause(
            (
                "and is dominated by Laplace(Δ, b) against Laplace(0, b) in one dimension, whatever the "
                "query's dimension."
            ),
            by=(
                the_profile_in_one_dimension,
                tail_before_the_smaller_shift,
                tail_before_the_larger_shift,
                only_small_w_matters,
                the_profile_rises_with_the_shift,
            ),
            argued=(
                "that a stochastically larger W has a smaller expectation of a falling function; reflection "
                "for ε < 0; adaptive-domination for more than two coordinates"
            ),
        ),
    ),
    library=(the_library_has_this_profile,),
    uses=(EXACT_PROFILE, ADAPTIVE_DOMINATION),
    mutations={
        "falls with a": lambda: the_profile_rises_with_the_shift(sign=-1),
        "tail with 2/4": lambda: tail_before_the_smaller_shift(quarters=2),
        "loss ≤ 0": lambda: the_loss_is_at_most_the_shift(slope=0),
        "profile 1 − e^(ε−a)": lambda: the_profile_in_one_dimension(half=1),
        "tail with t/2": lambda: tail_before_the_larger_shift(share=2),
        "negative ε too": lambda: only_small_w_matters(sign=-1),
        "claim of half of Δ/b": lambda: the_library_has_this_profile(scale=0.5),
    },
)
