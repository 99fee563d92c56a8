"""A Rényi divergence rises with its order, so a bound at one order is a bound at every smaller one.

(α−1)·D_α = g(α−1) with g(s) = ln E_P e^(s·X), X the loss ln(p/q). g is convex, as g″ is a variance (of X under weights ∝ e^(sX)), and
g(0) = 0. So for 0 < s < t, s = share·t, convexity gives g(s) ≤ share·g(t), that is g(s)/s ≤ g(t)/t.
"""

from fractions import Fraction

import sympy as sp

from dpverify.accounting.conversion import to_renyi
from dpverify.guarantees import RenyiDP
from dpverify.theorems import RENYI_MONOTONE, Step
from proofs.support.checks import VACUOUS, answered, at_most, below, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same


def variances_are_nonnegative(half: int = 2) -> Step:
    """Σw·Σwx² − (Σwx)² = ½·ΣΣ wᵢwⱼ(xᵢ − xⱼ)², here for three outcomes; each pair of outcomes has its own term."""
    w = sp.symbols("w1:4", nonnegative=True)
    x = sp.symbols("x1:4", real=True)
    moments = [sum(a * b**k for a, b in zip(w, x, strict=True)) for k in range(3)]
    pairs = sum(w[i] * w[j] * (x[i] - x[j]) ** 2 for i in range(3) for j in range(3))
    holds = same(moments[0] * moments[2] - moments[1] ** 2, pairs / half)
    return Step("variance", holds, "all weights and losses of three outcomes")


def the_second_derivative_is_a_variance(power: int = 2) -> Step:
    """g″ = (F·F″ − F′²)/F² for g = ln F, and F = Σ p·e^(sx) has F^(k) = Σ p·e^(sx)·x^k."""
    s = sp.Symbol("s", real=True)
    total = sp.Function("F")(s)
    bend = sp.diff(sp.log(total), s, 2)
    first, second = sp.diff(total, s), sp.diff(total, s, 2)
    holds = same(bend, (total * second - first**2) / total**power)
    p, x = sp.Symbol("p", positive=True), sp.Symbol("x", real=True)
    holds &= every(same(sp.diff(p * sp.exp(s * x), s, k), p * sp.exp(s * x) * x**k) for k in (1, 2))
    return Step("g″ is a variance", holds, "all s")


def ratios_rise(level: int = 0) -> Step:
    """g(s) = share·g(t) + (1−share)·g(0) − slack with g(0) = ln 1 = 0: g(t)/t − g(s)/s = slack/s ≥ 0 at s = share·t."""
    top = sp.Symbol("g_t", real=True)
    t, u, v, slack = sp.symbols("t u v slack", positive=True)
    share = u / (u + v)
    s = share * t
    value = share * top + (1 - share) * level - slack
    holds = same(top / t - value / s, slack / s) & nonnegative(slack / s, (t, u, v, slack))
    return Step("g(s)/s rises", holds, "all 0 < s < t")


def rational_pairs_obey(power: int = 2) -> Step:
    """D₂ ≤ D₃, that is `renyi_moment(2)`² ≤ `renyi_moment(3)`, in rationals; and `to_renyi` keeps a bound downwards only."""
    holds, strict, count = VACUOUS, 0, 0
    for pair in rational_pairs(3, 5):
        if pair.likelihood.singular:
            continue
        second, third = Fraction(pair.renyi_moment(2)), Fraction(pair.renyi_moment(3))
        holds &= at_most(second**power, third)
        strict += second**power < third
        count += 1
    kept = to_renyi(RenyiDP(order=8.0, epsilon=0.5), order=3.0).guarantee
    holds &= answered(kept == RenyiDP(order=3.0, epsilon=0.5))
    return Step("rational pairs", holds & below(0, strict), f"{count} pairs")


PROOF = Proof(
    theorem=RENYI_MONOTONE,
    clauses=(
        Clause(
            "A Rényi divergence of order α is at most that of every larger order.",
            by=(
                variances_are_nonnegative,
                the_second_derivative_is_a_variance,
                ratios_rise,
                rational_pairs_obey,
            ),
            argued="the variance for any number of outcomes; that a function with g″ ≥ 0 is convex",
        ),
    ),
    mutations={
        "without the half": lambda: variances_are_nonnegative(half=1),
        "over F": lambda: the_second_derivative_is_a_variance(power=1),
        "g(0) = 1": lambda: ratios_rise(level=1),
        "D₂ of third powers": lambda: rational_pairs_obey(power=3),
    },
)
