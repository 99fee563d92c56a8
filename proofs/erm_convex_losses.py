"""For convex losses the exponential mechanism has no logarithm in its excess: E L − min L ≤ 2Δ·d/(εn), where C is convex.

Let k = εn/(2Δ), let L be convex with minimum 0 at 0 in C (both by a shift), and F(k) = ∫ over C of e^(−kL). For s in (0, 1] the set s·C lies in C, and
L(s·u) ≤ s·L(u), so

    F(k) ≥ ∫ over s·C of e^(−kL) = s^d·∫ over C of e^(−k·L(su)) du ≥ s^d·F(s·k):

k^d·F(k) does not fall in k. Its logarithm has the derivative d/k − E_k[L], where E_k is the mean over the mechanism's own output, as
F′ = −∫ L·e^(−kL). So E_k[L] ≤ d/k. The same inequality at 1 − x/k for s gives E e^(xL) = F(k − x)/F(k) ≤ (1 − x/k)^(−d), the moments of a
Gamma(d) variable over k, and Markov at x = k − d/t: P(L ≥ t) ≤ (kt/d)^d·e^(d − kt) for kt ≥ d.

A cone attains the mean: L(u) = the sum of d coordinates ≥ 0 is Gamma(d) over k, with mean d/k; on a bounded C it is the limit of large k.
"""

import itertools
from fractions import Fraction

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step, Theorem
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.enclosures import integral
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

ERM_CONVEX_LOSSES = Theorem(
    name="erm-convex-losses",
    statement=(
        "If C is a convex body in d dimensions, the risk L is convex on it and an output has density ∝ e^(−εn·L/(2Δ)) there, as that of ExpMech-ERM, then "
        "the expected excess risk is at most 2Δ·d/(εn); the excess is at least t, for t ≥ 2Δ·d/(εn), with probability at most (kt/d)^d·e^(d − kt), "
        "k = εn/(2Δ); and d/k is attained by linear risks on cones, so it is the best such bound."
    ),
    source="Smith, Ullman, notes on private ERM, Sec. 2.1; de Klerk, Laurent, Math. Oper. Res. 43, 2018, for the lemma; here by scaling",
    proof="proofs/erm_convex_losses.py",
)


def shrinking_toward_the_minimum(power: int = 1) -> Step:
    """L(s·u) ≤ (1 − s)·L(0) + s·L(u) = s·L(u): with the slack of convexity, s·L(u) − L(s·u) = slack ≥ 0."""
    part, rest, level, slack = sp.symbols("part rest level slack", nonnegative=True)
    s = part / (part + rest)
    at_su = (1 - s) * 0 + s * level - slack  # convexity between 0 and u, with its slack
    holds = nonnegative(s**power * level - at_su, (part, rest, level, slack))
    return Step("L(su) ≤ s·L(u)", holds, "all s in [0, 1], all convex L")


def the_derivative_is_a_mean(degree: int = 1) -> Step:
    """d/dk ln(k^d·F(k)) = d/k − Σ l·w·e^(−kl)/Σ w·e^(−kl), for F = Σ w·e^(−kl) with any weights and values."""
    k, d = sp.symbols("k d", positive=True)
    values, weights = sp.symbols("l1:4", nonnegative=True), sp.symbols("w1:4", positive=True)
    terms = [w * sp.exp(-k * value) for w, value in zip(weights, values, strict=True)]
    mean = sum(value * term for value, term in zip(values, terms, strict=True)) / sum(terms)
    slope = sp.diff(d * sp.log(k) + sp.log(sum(terms)), k)
    holds = same(slope, d / k**degree - mean)
    return Step("d/k − E L", holds, "all d, k, three values; sums and integrals alike")


def the_mass_grows_with_k(power: int = 1) -> Step:
    """k^d·F(k) at k = 1, 2, 4, … on balls: L = u₁ + u₂ on a triangle, u² on [−1, 2] and |u| on [−1, 3] do not fall."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        laws = (
            (2, lambda k: integral(lambda u: u * (-u * k).exp(), arb(0), arb(1))),
            (1, lambda k: integral(lambda u: (-u * u * k).exp(), arb(-1), arb(2))),
            (1, lambda k: (2 - (-k).exp() - (-3 * k).exp()) / k),
        )
        for d, mass in laws:
            found = [ball(2**j) ** (power * d) * mass(ball(2**j)) for j in range(6)]
            for one, other in itertools.pairwise(found):
                holds &= below(one, other)
                count += 1
    return Step("k^d·F(k) grows", holds, f"{count} pairs of k")


def the_mean_is_below(share: Fraction = Fraction(1)) -> Step:
    """E L < d/k on balls: u² on [−1, 2] (about 1/(2k)), and Σu on the triangle, where it comes within a thousandth."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for k in (1, 5, 25):

            def weight(u: acb, k: int = k) -> acb:
                return (-u * u * k).exp()

            top = integral(lambda u, weight=weight: u * u * weight(u), arb(-1), arb(2))  # type: ignore[misc]
            holds &= below(top / integral(weight, arb(-1), arb(2)), ball(share) / k)
            count += 1
        for k in (1, 5, 25):
            rate = ball(k)
            parts = [_gamma_part(order, rate) for order in (3, 2)]
            mean = parts[0] / parts[1] / rate
            holds &= below(mean, ball(share) * 2 / rate)
            if k == 25:
                holds &= below(2 / rate * ball(Fraction(999, 1000)), mean)
            count += 1
    return Step("E L < d/k", holds, f"{count} instances")


def _gamma_part(order: int, k: arb) -> arb:
    """∫ from 0 to k of v^(order−1)·e^(−v) dv, by parts."""
    total, term = arb(0), arb(1)
    for j in range(order):
        total += term
        term = term * k / (j + 1)
    return arb(order).gamma() * (1 - (-k).exp() * total)


def cones_attain_it(shift: int = 0) -> Step:
    """∫ u·u^(d−1)·e^(−ku) du over ∫ u^(d−1)·e^(−ku) du = d/k: the sum of d coordinates ≥ 0 has shells ∝ u^(d−1)."""
    u, d, k = sp.symbols("u d k", positive=True)
    mass, first = (sp.integrate(u ** (d - 1 + j) * sp.exp(-k * u), (u, 0, sp.oo)) for j in (0, 1))
    holds = same(first / mass, (d + shift) / k, by=lambda e: sp.simplify(sp.gammasimp(e)))
    return Step("cones", holds, "all d, k")


def the_tail(sign: int = 1) -> Step:
    """(1 − x/k)^(−d)·e^(−xt) at x = k − d/t is (kt/d)^d·e^(d − kt); x ≥ 0 as kt ≥ d, and s = 1 − x/k = d/(kt) is in (0, 1]."""
    d, t, k = sp.symbols("d t k", positive=True)
    x = k - d / t
    log_of = -d * sp.log(1 - x / k) - x * t
    holds = same(
        sp.expand_log(sp.simplify(log_of)),
        sp.expand_log(d * sp.log(k * t / d) + sign * (d - k * t)),
    )
    room = sp.Symbol("room", nonnegative=True)  # kt = d + room
    holds &= nonnegative(x.subs(k, (d + room) / t), (d, room, t))
    return Step("the tail", holds, "all d, k, t with kt ≥ d")


def the_tail_of_a_cone(shrink: Fraction = Fraction(1)) -> Step:
    """P(Gamma(d) ≥ kt) ≤ (kt/d)^d·e^(d − kt), exactly the sum e^(−kt)·Σ (kt)^j/j!, for d = 1 … 6 and kt up to 10·d."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for d in range(1, 7):
            for times in (1, 2, 4, 10):
                at = ball(d * times)
                terms = [at**j / arb(j + 1).gamma() for j in range(d)]
                exact = (-at).exp() * sum(terms, arb(0))
                bound = ball(shrink) * ball(times) ** d * (d - at).exp()
                holds &= at_most(exact, bound)
                count += 1
    return Step("tails of cones", holds, f"{count} tails")


PROOF = Proof(
    theorem=ERM_CONVEX_LOSSES,
    clauses=(
        Clause(
            "If C is a convex body in d dimensions, the risk L is convex on it and an output has density ∝ e^(−εn·L/(2Δ)) there, as that of ExpMech-ERM, then the expected excess risk is at most 2Δ·d/(εn);",
            by=(
                shrinking_toward_the_minimum,
                the_derivative_is_a_mean,
                the_mass_grows_with_k,
                the_mean_is_below,
            ),
            argued=(
                "the substitution w = s·u, which multiplies volumes by s^d; that what does not fall has a derivative that is not negative; that integrals over C are "
                "differentiated inside; that a minimum exists, or is approached"
            ),
        ),
        Clause(
            "the excess is at least t, for t ≥ 2Δ·d/(εn), with probability at most (kt/d)^d·e^(d − kt), k = εn/(2Δ);",
            by=(shrinking_toward_the_minimum, the_tail, the_tail_of_a_cone),
            argued="F(k) ≥ s^d·F(s·k) at s = 1 − x/k, and Markov’s inequality",
        ),
        Clause(
            "and d/k is attained by linear risks on cones, so it is the best such bound.",
            by=(cones_attain_it,),
            argued="that a cone cut off far away is a convex body whose mean tends to that of the cone as k grows",
        ),
    ),
    uses=(EXPONENTIAL_MECHANISM,),
    mutations={
        "L(su) ≤ s²·L(u)": lambda: shrinking_toward_the_minimum(power=2),
        "d/k²": lambda: the_derivative_is_a_mean(degree=2),
        "F(k) grows": lambda: the_mass_grows_with_k(power=0),
        "half of d/k": lambda: the_mean_is_below(Fraction(1, 2)),
        "(d + 1)/k": lambda: cones_attain_it(shift=1),
        "e^(kt − d)": lambda: the_tail(sign=-1),
        "a tenth of the tail": lambda: the_tail_of_a_cone(Fraction(1, 10)),
    },
)
