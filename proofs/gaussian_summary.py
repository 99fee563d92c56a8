"""One μ for a whole profile: which is enough, which is too small, and what it gives up.

As a function of x = e^ε the profile of μ-GDP is convex, with slope −α where α = Φ(−ε/μ − μ/2), and its tangent there meets
x = 0 at Φ(μ/2 − ε/μ) = Φ(Φ⁻¹(α) + μ). So it lies on or above the line c − α·x if c ≤ Φ(Φ⁻¹(α) + μ), which is to say
μ ≥ Φ⁻¹(c) − Φ⁻¹(α). Any profile is convex in x: between two points it lies below the line that joins them, and beyond them
above it. That of neighbors in both directions is its own mirror image, δ(1/x) = 1 − (1 − δ(x))/x, and stays so with a leak: a
bound at x is one at 1/x, too, and lines may join points on both sides of x = 1. At one ε the profile of μ-GDP rises in μ, at most by 1/√(2π) per unit, so a μ whose profile is too small there is too
small.

For the regret let g ≤ f be two trade-off curves that are their own mirror images. A point (α, β) of a curve is a test; with
prior π it is wrong with probability π·β + (1−π)·α, and the best one by e(π). Moving a curve by κ to the left and down
takes κ from every such number. Two convex curves, continued by their axes, lie one below the other if and only if their e do;
so the least κ is the largest e_f(π) − e_g(π). The best guess is right with probability 1 − π + π·δ(ln((1−π)/π)) for π ≤ 1/2
(attack-risk), and 1 − e(π) is that; with π = 1/(1+x) the difference is (δ_g − δ_f)/(1+x). For π > 1/2 the curves being
mirror images give the same.
"""

from fractions import Fraction
from itertools import combinations, product

import sympy as sp
from flint import ctx

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.gaussian_summary import GaussianSummary
from dpverify.accounting.rules.gdp import pure_mu
from dpverify.balls import ball
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair
from dpverify.theorems import (
    ANALYTIC_GAUSSIAN,
    ATTACK_RISK,
    GAUSSIAN_SUMMARY,
    TRADE_OFF,
    Check,
    Step,
)
from proofs.analytic_gaussian import normal_cdf
from proofs.support.checks import VACUOUS, at_most, equal, every, fails, some
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, positive, same

_EPSILONS = (0.1, 1.0, 4.0)


def _gaussian_profile(epsilon: sp.Expr, mu: sp.Expr) -> sp.Expr:
    return normal_cdf(mu / 2 - epsilon / mu) - sp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def tangents_of_the_gaussian(half: int = 2) -> Step:
    """dδ/dx = −Φ(−ε/μ − μ/2), d²δ/dx² > 0, and δ − x·dδ/dx = Φ((−ε/μ − μ/2) + μ)."""
    epsilon = sp.Symbol("epsilon", real=True)
    mu = sp.Symbol("mu", positive=True)
    delta, threshold = _gaussian_profile(epsilon, mu), -epsilon / mu - mu / half
    slope = sp.diff(delta, epsilon) / sp.exp(epsilon)  # dx = e^ε·dε
    bend = sp.simplify(sp.diff(slope, epsilon))
    holds = (
        same(slope, -normal_cdf(threshold))
        & positive(bend)
        & same(delta - sp.exp(epsilon) * slope, normal_cdf(threshold + mu))
    )
    return Step("tangents", holds, "all μ > 0, all ε")


def the_profile_rises_in_mu(scale: int = 1) -> Step:
    """dδ_μ(ε)/dμ = φ(ε/μ − μ/2), which is positive and at most 1/√(2π)."""
    epsilon = sp.Symbol("epsilon", real=True)
    mu = sp.Symbol("mu", positive=True)
    rate = sp.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / sp.sqrt(2 * sp.pi)
    found = sp.diff(_gaussian_profile(epsilon, mu), mu)
    holds = same(found, scale * rate) & positive(rate)
    holds &= same(rate.subs(epsilon, mu**2 / 2), 1 / sp.sqrt(2 * sp.pi))
    return Step("rises in μ", holds, "all μ > 0, all ε")


def profiles_keep_to_their_lines(sign: int = 1) -> Step:
    """δ(x) is below the line through two of its points between them, and above it beyond them."""
    holds, count = VACUOUS, 0
    ratios = [Fraction(n, 4) for n in (1, 3, 4, 5, 8, 12)]
    for pair in rational_pairs(3, 4):
        if not holds.holds:
            break
        for low, high in combinations(ratios, 2):
            near, far = pair.delta_at_ratio(low), pair.delta_at_ratio(high)
            for x in ratios:
                line = near + (far - near) * (x - low) / (high - low)
                gap = sign * (line - pair.delta_at_ratio(x))
                holds &= at_most(0, gap) if low <= x <= high else at_most(gap, 0)
                count += 1
    return Step("lines", holds, f"{count} points of profiles")


def profiles_are_their_own_mirror_images(power: int = 1) -> Step:
    """The larger of δ(P, Q) and δ(Q, P) at 1/x is 1 − (1 − δ)/x; and so with a leak."""
    x, delta, leak = sp.symbols("x delta leak", positive=True)

    def leaky(inner: sp.Expr) -> sp.Expr:
        return leak + (1 - leak) * inner

    holds, count = same(1 - (1 - leaky(delta)) / x, leaky(1 - (1 - delta) / x)), 0
    for pair in rational_pairs(3, 4):
        for ratio in (Fraction(n, 4) for n in (4, 5, 8, 12)):
            here, there = (
                max(pair.delta_at_ratio(at), pair.reversed.delta_at_ratio(at))
                for at in (ratio, 1 / ratio)
            )
            holds &= equal(there, 1 - (1 - here) / ratio**power)
            count += 1
    return Step("mirror images", holds, f"{count} points of profiles")


def how_fast_it_falls_at_one(half: int = 2) -> Step:
    """With P(E) = t + Q(E) and Q(F) = t + P(F), E and F disjoint: min(Q(E), P(F)) ≤ (1 − t)/2.

    The profile falls at x = 1 at most by Q(E), and that of the exchanged sides by P(F).
    """
    t, least, more, slack = sp.symbols("t m d s", nonnegative=True)
    total = t + 2 * least + more + slack  # 2t + 2Q(E) + 2P(F) ≤ 2, halved; = 1
    holds = nonnegative((total - t) / half - least, (t, least, more, slack))
    return Step("slope at ε = 0", holds, "all pairs")


def a_guess_loses_the_difference(power: int = 1) -> Step:
    """(1 − π + π·δ_g) − (1 − π + π·δ_f) = (δ_g − δ_f)/(1 + x) with π = 1/(1 + x)."""
    x, more, less = sp.symbols("x g f", positive=True)
    prior = 1 / (1 + x)
    holds = same((1 - prior) / prior, x)
    gained = (1 - prior + prior * more) - (1 - prior + prior * less)
    holds &= same(gained, (more - less) * prior**power)
    return Step("guesses", holds, "all x > 0")


def moving_a_curve_helps_all_priors(by: int = 1) -> Step:
    """π·(β − κ) + (1 − π)·(α − κ) = π·β + (1 − π)·α − κ."""
    prior, alarm, miss, shift = sp.symbols("pi alpha beta kappa", positive=True)
    moved = prior * (miss - shift) + (1 - prior) * (alarm - shift)
    holds = same(moved, prior * miss + (1 - prior) * alarm - by * shift)
    return Step("shifts", holds, "all π, α, β, κ")


def the_least_shift(scale: Fraction = Fraction(1)) -> Step:
    """f(α + κ) − κ ≤ g(α) for all α holds with the largest (δ_g − δ_f)/(1 + x), with none less."""
    holds, count = VACUOUS, 0
    kinds = list(product((Fraction(2), Fraction(5), Fraction(12)), (Fraction(0), Fraction(1, 7))))
    for (r, leak), (s, more) in product(kinds, kinds):
        if s < r or more < leak or (r, leak) == (s, more):
            continue
        f, g = FinitePair.leaky_response(r, leak), FinitePair.leaky_response(s, more)
        ratios = [x for x in {*f.corners, *g.corners, Fraction(1)} if x >= 1]
        lost = max((g.delta_at_ratio(x) - f.delta_at_ratio(x)) / (1 + x) for x in ratios)
        kinks = [(r, leak), (s, more)]
        holds &= _is_below(f, g, scale * lost, kinks)
        holds &= fails(_is_below(f, g, lost * Fraction(99, 100), kinks))
        count += 1
    return Step("the least shift", holds, f"{count} pairs of curves")


def _is_below(
    f: FinitePair, g: FinitePair, shift: Fraction, kinds: list[tuple[Fraction, Fraction]]
) -> Check:
    """Whether f(α + κ) − κ ≤ g(α), at every α where one of the two bends."""
    bends = {Fraction(0), Fraction(1)}
    for ratio, leak in kinds:
        for bend in ((1 - leak) / (1 + ratio), 1 - leak):
            bends |= {bend, bend - shift}
    inside = [alarm for alarm in bends if 0 <= alarm <= 1]
    return every(
        at_most(
            f.exact_trade_off(min(alarm + shift, Fraction(1))) - shift, g.exact_trade_off(alarm)
        )
        for alarm in inside
    )


def the_library_holds_mu(factor: float = 1.0) -> Step:
    """For randomized response the least μ is 2·Φ⁻¹(e^ε/(1 + e^ε)): pure-to-gdp, attained there."""
    holds, count = VACUOUS, 0
    for epsilon in _EPSILONS:
        found = _summary(epsilon).mu
        holds &= at_most(found.lower, factor * pure_mu(epsilon)) & at_most(
            factor * pure_mu(epsilon), found.upper * (1 + 1e-12)
        )
        count += 1
    return Step("the library's μ", holds, f"{count} values of ε")


def the_library_holds_the_regret(factor: float = 1.0) -> Step:
    """No (δ_μ(ε) − δ(ε))/(1 + e^ε) is above the upper end, and one is at the lower end or above."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for epsilon in _EPSILONS:
            found = _summary(epsilon)
            pair = GaussianPair(Fraction(found.mu.upper) ** 2)
            top = ball(epsilon).exp()
            values = []
            for place in range(101):
                at = ball(epsilon) * place / 50
                exact = ((top - at.exp()) / (1 + top)).max(ball(0.0))
                values.append((pair.profile_ball(at) - exact) / (1 + at.exp()))
            holds &= every(at_most(value, factor * found.regret.upper) for value in values)
            holds &= some(at_most(0.99 * found.regret.lower, value) for value in values)
            count += len(values)
    return Step("the library's regret", holds, f"{count} values of ε")


def _summary(epsilon: float) -> GaussianSummary:
    spent = Accountant(relation=Relation.ADD_REMOVE).compose(PureDP(epsilon))
    return spent.gaussian_summary()


PROOF = Proof(
    theorem=GAUSSIAN_SUMMARY,
    clauses=(
        Clause(
            (
                "A profile of neighbors in both directions that lies below lines cᵢ − αᵢ·e^ε, one on each "
                "of intervals that cover ε ≥ 0, is nowhere above that of μ-GDP if μ ≥ Φ⁻¹(cᵢ) − Φ⁻¹(αᵢ) "
                "for all i."
            ),
            by=(
                tangents_of_the_gaussian,
                the_profile_rises_in_mu,
                profiles_keep_to_their_lines,
                profiles_are_their_own_mirror_images,
                how_fast_it_falls_at_one,
            ),
            argued=(
                "that a convex function lies above its tangents, and Φ keeps the order; that a profile of "
                "neighbors in both directions is its own mirror image, as that of μ-GDP is, so that ε ≥ "
                "0 settles ε < 0"
            ),
        ),
        Clause(
            (
                "If it is nowhere above another profile of neighbors in both directions, the trade-off "
                "curves f and g, which are their own mirror images, have as least κ with f(α + κ) − κ ≤ "
                "g(α) for all α the largest (δ_g(ε) − δ_f(ε))/(1 + e^ε) over ε ≥ 0, which is also the "
                "most by which a guess is right more often under g, for any prior."
            ),
            by=(a_guess_loses_the_difference, moving_a_curve_helps_all_priors, the_least_shift),
            argued=(
                "that convex curves lie one below the other if and only if their support functions do, and "
                "that mirror images give priors above 1/2"
            ),
        ),
    ),
    library=(the_library_holds_mu, the_library_holds_the_regret),
    mutations={
        "a tangent elsewhere": lambda: tangents_of_the_gaussian(half=1),
        "twice the slope in μ": lambda: the_profile_rises_in_mu(scale=2),
        "concave profiles": lambda: profiles_keep_to_their_lines(sign=-1),
        "mirrored twice": lambda: profiles_are_their_own_mirror_images(power=2),
        "a third of the rest": lambda: how_fast_it_falls_at_one(half=3),
        "the prior twice": lambda: a_guess_loses_the_difference(power=2),
        "half the shift": lambda: moving_a_curve_helps_all_priors(by=2),
        "99 % of the shift": lambda: the_least_shift(Fraction(99, 100)),
        "the library 1 % smaller": lambda: the_library_holds_mu(factor=1.01),
        "1 % less regret": lambda: the_library_holds_the_regret(factor=0.99),
    },
    uses=(ANALYTIC_GAUSSIAN, ATTACK_RISK, TRADE_OFF),
)
