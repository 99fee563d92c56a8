"""The last iterate on a grid: how far rounding takes it from the ideal one, and the noise that hides that.

*Contraction.* Clipping the slope of a loss of one score to ±t leaves it rising in the score, and no faster than before. So for two θ each record's change
of slope is h times that of its score, 0 ≤ h ≤ f″, and the mean gradient changes by M·Δθ with M = (1/n)Σ h·xxᵀ, 0 ≤ M ≤ β. With a ridge r, the step I − η(M + r)
lies between 1 − η(β + r) and 1 − ηr, so it is Lipschitz with c = max(|1 − ηr|, |1 − η(β + r)|), and c ≤ 1 if η ≤ 2/(β + r): no strong convexity is needed. Projections
contract. Clipping vectors of slopes to a length is another matter: it need not contract at all.

*Distance.* Let one step on the grid end within ρ of the ideal one from the same θ with the same noise, as it was before rounding. Then the distance of the two
iterates is e ← c·e + ρ from 0, so ρ·Σ cʲ after k steps.

*Cost.* Given the ideal last iterate θ*, what is on the grid is within E = ρ·Σ cʲ of it, on both sides; with noise N(0, σ₂²I) on it the release is, given θ*, a mixture
of N(θ* + w, σ₂²I), ‖w‖ ≤ E, so (θ*, release) is an adaptive composition of the pair of last-iterate and of μ₂ = 2E/σ₂ (adaptive-domination, gaussian-mixture).
The release is part of that: μ² = μ₁² + μ₂². Rounding that always goes against the record attains it on a quadratic, if μ₂²/μ² is the share of 2ρ in s + 2ρ.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.neighbors import Relation
from dpverify.theorems import GAUSSIAN_COMPOSITION, GAUSSIAN_MIXTURE, LAST_ITERATE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same
from solvers.bounds import Bounds
from solvers.descent import DescentSetting
from solvers.domains import Ball
from solvers.gradient_descent import GradientDescent
from solvers.losses import HuberHinge
from solvers.privacy.clipped_sums import ClippedSums
from solvers.privacy.noise import noise_ratio
from solvers.privacy.theorems import LAST_ITERATE_ROUNDING


def clipped_slopes_rise_no_faster(times: int = 1) -> Step:
    """0 ≤ clip(b) − clip(a) ≤ b − a for a ≤ b, on a grid of slopes around every threshold."""
    holds, count = VACUOUS, 0
    grid = [Fraction(k, 4) for k in range(-8, 9)]
    for limit, a, b in product(grid[9:], grid, grid):
        if a <= b:
            clipped = [times * max(-limit, min(limit, x)) for x in (a, b)]
            change = clipped[1] - clipped[0]
            holds &= at_most(0, change) & at_most(change, b - a)
            holds &= at_most(max(map(abs, clipped)), limit)
            count += 1
    return Step("clipped slopes", holds, f"{count} pairs of slopes")


def steps_contract(rate: int = 1) -> Step:
    """1 − η(r + u·β) = (1 − u)(1 − ηr) + u(1 − η(r + β)): an eigenvalue between the two; at η = 2/(β + r) none is beyond ±1."""
    eta, ridge, beta, u = sp.symbols("eta r beta u", nonnegative=True)
    flat, steep = 1 - eta * ridge, 1 - eta * (ridge + beta)
    holds = same(1 - rate * eta * (ridge + u * beta), (1 - u) * flat + u * steep)
    longest = 2 / (beta + ridge)
    holds &= same(steep.subs(eta, longest), sp.Integer(-1))
    holds &= same(flat.subs(eta, longest), (beta - ridge) / (beta + ridge))
    return Step("contraction", holds, "all η, ridges and curvatures")


def clipped_vectors_may_expand(length: int = 1) -> Step:
    """The gradient (x, y/10), clipped to length 1, at (8, 60) and (3, 40): every step along it leads them apart."""
    ends = []
    for x, y in ((8, 60), (3, 40)):
        slopes = (Fraction(x), Fraction(y, 10))
        size = {(8, 6): 10, (3, 4): 5}[x, y // 10]
        holds = equal(size**2, slopes[0] ** 2 + slopes[1] ** 2)
        ends.append([s / size if length else s for s in slopes])
    change = [p - q for p, q in zip(*ends, strict=True)]
    holds &= below(change[0] * 5 + change[1] * 20, 0)
    return Step("clipped vectors", holds, "two points")


def distances_add_up(once: int = 1) -> Step:
    """c·ρ(1 − cᵗ)/(1 − c) + ρ = ρ(1 − cᵗ⁺¹)/(1 − c), and 0 for t = 0: e ← c·e + ρ ends at ρ·Σ cʲ."""
    c, rho, power = sp.symbols("c rho p", positive=True)  # p = cᵗ
    holds = same(
        sp.simplify(c * rho * (1 - power) / (1 - c) + once * rho), rho * (1 - c * power) / (1 - c)
    )
    holds &= same((rho * (1 - power) / (1 - c)).subs(power, 1), sp.Integer(0))
    return Step("ρ·Σ cʲ", holds, "all c < 1, ρ and t")


def rounding_is_hidden(sides: int = 2) -> Step:
    """(a + b)²/(p + q) ≤ a²/p + b²/q, with equality at a/p = b/q: what a quadratic with the worst rounding has, against μ₁² + μ₂²."""
    a, b, p, q = sp.symbols("a b p q", positive=True)
    rest = a**2 / p + b**2 / q - (a + b) ** 2 / (p + q)
    square = (a * q - b * p) ** sides / (p * q * (p + q))
    return Step("two noises", same(sp.simplify(rest - square), sp.Integer(0)), "all distances")


def _fit(steps: int, ridge: float = 0.25) -> GradientDescent:
    setting = DescentSetting(
        loss=HuberHinge(width=0.5),
        bounds=Bounds(norm=1.0, labels=(-1, 1)),
        domain=Ball(1024.0),
        relation=Relation.REPLACE_ONE,
        records=8,
        ridge=ridge,
    )
    budget = ApproxDP(epsilon=1.0, delta=1e-5)
    return GradientDescent(
        setting, budget=budget, steps=steps, learning_rate=0.5, output="last", accounting="last"
    )


def a_rounded_quadratic_attains_it(often: int = 1) -> Step:
    """`HiddenPath`: means and variances of a quadratic whose steps are all off by ρ, against the record, have the claimed μ up to a share of 10⁻⁵."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for steps in (1, 5, 40):
            path = _fit(steps).hidden(2)
            rate, n = Fraction(path.learning_rate), int(path.setting.records)
            move = rate * 2 * Fraction(path.setting.clipping_norm(2)) / n
            mean, variance = Fraction(0), Fraction(0)
            for _ in range(steps):
                off = 2 * often * Fraction(path.step_error)
                mean = Fraction(path.contraction) * mean + move + off
                variance = Fraction(path.contraction) ** 2 * variance
                variance += (rate * Fraction(path.scale) / n) ** 2
            last = 2 * ball(path.last_noise.error) * ball(path.last_noise.ratio)
            squared = ball(mean) ** 2 / (ball(variance) + last**2)
            claimed = 1 / ball(noise_ratio(path.budget, 1)) ** 2
            holds &= at_most(squared, claimed) & at_most(claimed * arb("0.99999"), squared)
            count += 1
    return Step("rounded quadratics", holds, f"{count} iterations")


def the_library_counts_each_rounding(share: Fraction = Fraction(1)) -> Step:
    """`step_error` against sums of `ClippedSums` and exact slopes, in rationals, and half a step of the grid for sums and noise each."""
    fit = _fit(5)
    path, noise = fit.hidden(2), fit.noise(2)
    rows = np.array([[0.6, 0.75], [-0.3, 0.1], [0.0, -0.9], [0.5, 0.5]] * 2)
    signs = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    sums = ClippedSums.of(
        fit.setting.loss, (rows, signs), norm=1.0, clip=path.setting.clipping_norm(2)
    )
    unit = Fraction(2) ** sums.feature_exponent
    holds, count = VACUOUS, 0
    for point in ((1 / 3, -1 / 7), (-2.3, 0.9), (1000.0 / 3, 100.0 / 7)):
        wanted = [Fraction(0), Fraction(0)]
        theta = [Fraction(x) for x in point]
        for row, sign, limit in zip(sums.rows, signs, sums.limits, strict=True):
            x = [Fraction(float(each)) * unit for each in row]
            margin = Fraction(sign) * sum(a * b for a, b in zip(theta, x, strict=True))
            width = Fraction(1, 2)
            slope = -max(Fraction(0), min(Fraction(1), (1 + width - margin) / (2 * width)))
            top = Fraction(float(limit)) * Fraction(2) ** (sums.exponent - sums.feature_exponent)
            slope = max(-top, min(top, slope * Fraction(sign)))
            wanted = [w + slope * each for w, each in zip(wanted, x, strict=True)]
        found = sums.total(np.array([point]))[0]
        off = [Fraction(int(f)) * Fraction(2) ** sums.exponent for f in found]
        grid = Fraction(2) ** noise._grid.grid.exponent  # noqa: SLF001  # what its draws are multiples of
        apart = [abs(f - w) + grid for f, w in zip(off, wanted, strict=True)]
        squared = sum(each**2 for each in apart) * (Fraction(path.learning_rate) / 8) ** 2
        holds &= below(0, squared) & at_most(squared, (share * Fraction(path.step_error)) ** 2)
        count += 1
    return Step("library", holds, f"{count} points")


def the_library_has_this_distance(more: int = 0) -> Step:
    """`last_noise.error` encloses ρ·Σ cʲ from above, by less than 10⁻⁵ of it."""
    holds = VACUOUS
    with ctx.workprec(128):
        for steps in (1, 7, 50):
            path = _fit(steps).hidden(2)
            total = sum(Fraction(path.contraction) ** j for j in range(steps + more))
            least = ball(total * Fraction(path.step_error))
            found = ball(path.last_noise.error)
            holds &= at_most(least, found) & at_most(found, least * arb("1.00001"))
            holds &= overlaps(ball(path.contraction), ball(Fraction(7, 8)))  # 1 − η·r
    return Step("library, E", holds, "three numbers of steps")


PROOF = Proof(
    theorem=LAST_ITERATE_ROUNDING,
    clauses=(
        Clause(
            (
                "Steps along mean gradients of convex losses of one score, of smoothness β, whose slopes may be clipped, and a ridge r are Lipschitz with c = "
                "max(|1 − ηr|, |1 − η(β + r)|), at most 1 for η ≤ 2/(β + r)."
            ),
            by=(clipped_slopes_rise_no_faster, steps_contract, clipped_vectors_may_expand),
            argued="that a mean of h·xxᵀ with 0 ≤ h ≤ f″ and ‖x‖ ≤ R has eigenvalues in [0, f″R²]; projections to convex sets contract",
        ),
        Clause(
            (
                "If each of k steps of Lipschitz constant c ≤ 1 is off by at most ρ, and N(0, σ₂²I) is added to the last iterate, then its release is μ-GDP with "
                "μ² = μ₁² + (2ρ·Σ cʲ/σ₂)², j from 0 to k − 1, where the exact last iterate is μ₁-GDP."
            ),
            by=(distances_add_up, rounding_is_hidden, a_rounded_quadratic_attains_it),
            argued=(
                "the triangle inequality; that given the exact iterate both sides are mixtures of noise moved by points within ρ·Σ cʲ of it, so that the release is "
                "part of an adaptive composition (adaptive-domination, gaussian-mixture, post-processing)"
            ),
        ),
    ),
    library=(the_library_counts_each_rounding, the_library_has_this_distance),
    uses=(
        LAST_ITERATE,
        GAUSSIAN_COMPOSITION,
        ADAPTIVE_DOMINATION,
        GAUSSIAN_MIXTURE,
        POST_PROCESSING,
    ),
    mutations={
        "slopes that are doubled": lambda: clipped_slopes_rise_no_faster(times=2),
        "twice the rate": lambda: steps_contract(rate=2),
        "vectors that are not clipped": lambda: clipped_vectors_may_expand(length=0),
        "ρ counted twice a step": lambda: distances_add_up(once=2),
        "not a square": lambda: rounding_is_hidden(sides=1),
        "steps off by 2ρ": lambda: a_rounded_quadratic_attains_it(often=2),
        "a hundredth of ρ": lambda: the_library_counts_each_rounding(Fraction(1, 100)),
        "one step more": lambda: the_library_has_this_distance(more=1),
    },
)
