"""From one Rényi divergence to (ε, δ), without loss.

Merging all outcomes to "E or not" is a post-processing, so the two-outcome pair (p, q) has a
divergence at most the given one; and p − e^ε·q is the excess of E. So the largest excess is attained
by a pair on two outcomes, and (ε, δ) holds unless some (p, q) with p − e^ε·q = δ has a moment
m = p^α·q^(1−α) + (1−p)^α·(1−q)^(1−α) of at most e^((α−1)γ). Along that line m is convex, so its
minimum is found from its slope, and a tangent bounds it from below.
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.accounting.renyi_conversion import _Line, renyi_delta, renyi_epsilon
from dpverify.accounting.rules.zcdp import zcdp_delta
from dpverify.balls import ball, enclose
from dpverify.pairs import GaussianPair
from dpverify.theorems import RENYI_TO_APPROX, Step
from proofs.post_processing import POST_PROCESSING
from proofs.renyi_from_profile import RENYI_FROM_PROFILE
from proofs.support.checks import VACUOUS, answered, at_most, below
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import same

_CASES = ((2.0, 0.3, 1e-3), (8.0, 0.1, 1e-5), (1.5, 2.0, 0.1), (40.0, 0.5, 1e-9), (3.0, 0.5, 0.2))


def moments_are_convex_along_lines(power: int = 2) -> Step:
    """The second derivative of p^α·q^(1−α) along (u, v) is α(α−1)·p^(α−2)·q^(−1−α)·(q·u − p·v)² ≥ 0."""
    p, q, above = sp.symbols("p q above", positive=True)
    u, v = sp.symbols("u v", real=True)
    order, t = 1 + above, sp.Symbol("t", real=True)
    moved = (p + t * u) ** order * (q + t * v) ** (1 - order)
    bend = sp.diff(moved, t, 2).subs(t, 0)
    square = order * above * p ** (order - 2) * q ** (-1 - order) * (q * u - p * v) ** power
    holds = same(bend / square, 1, by=lambda e: sp.powsimp(sp.expand(e)))
    return Step("m is convex", holds, "all α > 1, all directions")


def the_slope_of_the_moment(extra: int = 0) -> Step:
    """α·q − (α−1)·e^(−ε)·p = e^(−ε)·(s − (α−1)δ), and the same for 1−p, 1−q, on p = s+δ, q = s·e^(−ε)."""
    s, delta, order, shrink = sp.symbols("s delta alpha shrink", positive=True)
    p, q = s + delta, s * shrink
    first = order * q - (order - 1) * shrink * p
    second = order * (1 - q) - (order - 1) * shrink * (1 - p)
    holds = same(first, shrink * (s - (order - 1) * delta))
    holds &= same(second, order - shrink * (s + (order - 1 + extra) * (1 - delta)))
    # d/dt (a + t·u)^α·(b + t·v)^(1−α) = a^(α−1)·b^(−α)·(α·u·b − (α−1)·v·a) at t = 0. So, with u = 1 and v = e^(−ε) for
    # (p, q) and the opposite for (1−p, 1−q), dm/ds = p^(α−1)·q^(−α)·first − (1−p)^(α−1)·(1−q)^(−α)·second.
    a, b, u, v, t = sp.symbols("a b u v t", positive=True)
    moved = sp.diff((a + t * u) ** order * (b + t * v) ** (1 - order), t).subs(t, 0)
    inner = order * u * b - (order - 1) * v * a
    holds &= same(moved / (a ** (order - 1) * b ** (-order)), inner)
    holds &= same(inner.subs({a: p, b: q, u: 1, v: shrink}), first)
    holds &= same(inner.subs({a: 1 - p, b: 1 - q, u: -1, v: -shrink}), -second)
    return Step("slope of m", holds, "all α, δ, ε, s")


def the_library_is_tight(scale: float = 1.0) -> Step:
    """At `renyi_epsilon` no pair is left; a little below it one is: its moment is below e^((α−1)γ)."""
    holds, count = VACUOUS, 0
    with ctx.workprec(256):
        for order, divergence, delta in _CASES:
            epsilon = scale * renyi_epsilon(order, divergence, delta)
            short = _Line(order, epsilon * (1 - 1e-9), delta)
            allowed = ((ball(order) - 1) * ball(divergence)).exp()
            holds &= below(short._moment(short.minimizer()), allowed)  # noqa: SLF001  # the formula under test
            holds &= answered(_Line(order, epsilon, delta).excludes(divergence))
            count += 1
    return Step("`renyi_epsilon` is tight", holds, f"{count} cases, 9 digits")


def no_rational_pair_exceeds_it(shrink: float = 1.0) -> Step:
    """Σ(p − e^ε·q)₊ ≤ `renyi_delta` at the pair's own divergence, at order 3."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 5):
        moment = pair.renyi_moment(3)
        if isinstance(moment, float) or moment == 1:
            continue
        divergence = enclose(lambda m=moment: ball(m).log() / 2)[1]  # type: ignore[misc]  # bound now
        for ratio in (Fraction(1), Fraction(3, 2)):
            epsilon = enclose(lambda r=ratio: ball(r).log())[0]  # type: ignore[misc]  # bound now
            bound = shrink * renyi_delta(3.0, divergence, epsilon)
            holds &= at_most(pair.delta_at_ratio(ratio), bound)
            count += 1
        if count > 120:
            break
    return Step("no pair exceeds it", holds, f"{count} pairs and ratios")


def zcdp_uses_the_best_order(shrink: float = 1.0) -> Step:
    """`zcdp_delta(ρ, ε)` is at least H(ε, √(2ρ)), as N(√(2ρ), 1) is ρ-zCDP, and at most e^(−(ε−ρ)²/(4ρ)), Markov's bound.

    ρ-zCDP is a bound α·ρ at every order α, so every order's (ε, δ) holds, and so does the least.
    """
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for rho, epsilon in ((0.1, 1.0), (0.5, 3.0), (0.01, 0.5), (2.0, 8.0)):
            delta = ball(shrink * zcdp_delta(rho, epsilon))
            exact = GaussianPair(2 * Fraction(rho)).profile_ball(ball(epsilon))
            textbook = (-((ball(epsilon) - ball(rho)) ** 2) / (4 * ball(rho))).exp()
            holds &= at_most(exact, delta) & at_most(delta, textbook)
            count += 1
    return Step("`zcdp_delta`", holds, f"{count} values of ρ and ε")


PROOF = Proof(
    theorem=RENYI_TO_APPROX,
    clauses=(
        Clause(
            (
                "Of all distributions P, Q with Rényi divergence at most ε′ at one order, a pair on two "
                "outcomes has the largest P(E) − e^ε·Q(E);"
            ),
            by=(
                moments_are_convex_along_lines,
                the_slope_of_the_moment,
                no_rational_pair_exceeds_it,
            ),
            argued="that merging outcomes to “E or not” is a post-processing, under which divergences fall",
        ),
        Clause(
            "so the best (ε, δ) is a convex program in one variable.",
            by=(moments_are_convex_along_lines,),
            argued="that along p − e^ε·q = δ the moment is convex in one variable",
        ),
    ),
    library=(the_library_is_tight, zcdp_uses_the_best_order),
    uses=(POST_PROCESSING, RENYI_FROM_PROFILE),
    mutations={
        "a tenth of it for zCDP": lambda: zcdp_uses_the_best_order(shrink=0.1),
        "odd power": lambda: moments_are_convex_along_lines(power=3),
        "slope with α": lambda: the_slope_of_the_moment(extra=1),
        "ε larger by a millionth": lambda: the_library_is_tight(scale=1 + 1e-6),
        "the library a third smaller": lambda: no_rational_pair_exceeds_it(shrink=2 / 3),
    },
)
