"""Auditing in one run: v of r guesses about m canaries are right with probability at most β + mδ·β(1−β)/(v·P(W = v)).

Coins S uniform on {in, out}^m; the release is (ε, δ)-DP in each coin; r canaries are guessed from it; N are guessed
rightly. E = e^ε, W ~ Bin(r, E/(1+E)), w_k = P(W = k), β = P(W ≥ v).

*Upper bound.* Let U₀, …, U₍r₋₁₎ lie in [0, λ], and let C_i be the number of right guesses about canaries other than i.
For fixed coins s, h(t) = (U_{C_i}/λ)·1[i is guessed, rightly] is a function of the release t with values in [0, 1], so
its mean under s is at most E times its mean under s with coin i turned, plus δ. Turning the coin leaves C_i alone and
makes "rightly" into "wrongly". Averaged over s: E[U_{C_i}; i right] ≤ E·E[U_{C_i}; i wrong] + λδ. If i is right then
C_i = N − 1, else C_i = N; summed over the canaries, E[N·U₍N₋₁₎ − E·(r−N)·U_N] ≤ λmδ. With the solution of
k·U₍k₋₁₎ − E·(r−k)·U_k = 1[k ≥ v] − β (steps 1 and 2) the left side is P(N ≥ v) − β. The solution is non-negative and
largest at k = v − 1 (step 3), where it is β(1−β)/(v·w_v).

*Attained.* Give every pattern of k right guesses the chance it has under randomized response, times A if k < v and times
B if k ≥ v (step 4). Turning a coin moves k by one, so only between v − 1 and v is the ratio above E, and what is beyond
adds up to δ. Step 5 builds that mechanism, and step 6 tries others.

*Several points.* If (ε_j, δ_j)-DP holds for several j, the inequality of each, with weights λ_j and numbers u_jk in
place of U_k/λ, may be added up before the pointwise comparison; step 7 tries the library's `best_tier_bound` on the same laws.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import sympy as sp

from dpverify.auditing.one_run.guessing import Guessed, guess_tail
from dpverify.auditing.one_run.tiers import Tiers, best_tier_bound
from dpverify.theorems import ONE_RUN, Step
from proofs.support.checks import VACUOUS, at_most, equal, every, near
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

Law = dict[tuple[int, ...], Fraction]


@cache
def binomial(r: int, ratio: Fraction) -> tuple[Fraction, ...]:
    return tuple(comb(r, k) * ratio**k / (1 + ratio) ** r for k in range(r + 1))


def stein_solution(r: int, v: int, ratio: Fraction) -> list[Fraction]:
    """U_k, from (k+1)·w₍k₊₁₎·U_k = β·P(W ≤ k) for k < v and (1−β)·P(W > k) beyond."""
    w = binomial(r, ratio)
    beta = sum(w[v:], Fraction(0))
    sums = [
        beta * sum(w[: k + 1], Fraction(0)) if k < v else (1 - beta) * sum(w[k + 1 :], Fraction(0))
        for k in range(r)
    ]
    return [total / ((k + 1) * w[k + 1]) for k, total in enumerate(sums)]


def neighboring_masses(shift: int = 1) -> Step:
    """(k+1)·w₍k₊₁₎ = E·(r−k)·w_k, so that w_k·(k·U₍k₋₁₎ − E·(r−k)·U_k) telescopes."""
    r, k, e = sp.symbols("r k E", positive=True)

    def mass(count: object) -> object:
        choose = sp.gamma(r + 1) / (sp.gamma(count + 1) * sp.gamma(r - count + 1))  # type: ignore[operator]
        return choose * e**count / (1 + e) ** r

    ratio = sp.gammasimp(sp.powsimp((k + shift) * mass(k + 1) / mass(k)))
    return Step("neighboring masses", same(ratio, e * (r - k)), "all r, k, E")


def stein_equation(weight: Fraction = Fraction(1)) -> Step:
    """k·U₍k₋₁₎ − E·(r−k)·U_k = 1[k ≥ v] − β for k = 0, …, r."""
    holds, count = VACUOUS, 0
    for r, ratio in product((1, 2, 5, 12), (Fraction(1), Fraction(3, 2), Fraction(9))):
        for v in range(1, r + 1):
            u = [*stein_solution(r, v, ratio), Fraction(0)]
            beta = sum(binomial(r, ratio)[v:], Fraction(0))
            for k in range(r + 1):
                left = (k * u[k - 1] if k else Fraction(0)) - weight * ratio * (r - k) * u[k]
                holds &= equal(left, (k >= v) - beta)
                count += 1
    return Step("Stein's equation", holds, f"{count} values of r, v, k, E")


def largest_at_the_threshold(slack: int = 0) -> Step:
    """P(W ≤ k)/((k+1)w₍k₊₁₎) rises in k: compare w₍j₊₁₎·k·w_k with w_j·(k+1)·w₍k₊₁₎ for j < k; P(W > k) likewise falls."""
    i, s, k = sp.symbols("i s k", nonnegative=True)
    j, r = k - 1 - i, k + s  # 0 ≤ j < k ≤ r
    below = k * (r - j) - (j + 1 + slack) * (r - k)
    j, r = k + 1 + i, k + 1 + i + s  # k < j ≤ r
    above = (r - k - 1) * (j + 1) - (k + 1 + slack) * (r - j)
    holds = nonnegative(below, [i, s, k]) & nonnegative(above, [i, s, k])
    return Step("largest at k = v − 1", holds, "all r, k, E")


def tilt(leak: int = 1) -> Step:
    """x = mδ/(v·w), A = 1 − βx, B = 1 + (1−β)x: mass A(1−β) + Bβ = 1, leak v·w·(B − A) = mδ, tail Bβ = β + xβ(1−β)."""
    beta, m, d, v, w = sp.symbols("beta m delta v w", positive=True)
    x = m * d / (v * w)
    low, high = 1 - beta * x, 1 + (1 - beta) * x
    holds = (
        same(low * (1 - beta) + high * beta, 1)
        & same(v * w * (high - low), leak * m * d)
        & same(high * beta, beta + m * d * beta * (1 - beta) / (v * w))
    )
    return Step("the tilted response", holds, "all β, m, δ, v, w")


def worst_mechanism(m: int, r: int, v: int, ratio: Fraction, delta: Fraction) -> list[Fraction]:
    """Chance of one pattern by its number of right guesses; uniform over who is guessed."""
    w = binomial(r, ratio)
    x = m * delta / (v * w[v])
    beta = sum(w[v:], Fraction(0))
    return [
        w[k] / (comb(r, k) * comb(m, r)) * (1 + (1 - beta) * x if k >= v else 1 - beta * x)
        for k in range(r + 1)
    ]


def law(coins: tuple[int, ...], chances: list[Fraction], r: int) -> Law:
    """Guess vectors t in {−1, 0, 1}^m with r guesses, by their number of right ones."""
    found: Law = {}
    for chosen in combinations(range(len(coins)), r):
        for signs in product((-1, 1), repeat=r):
            guess = [0] * len(coins)
            for i, sign in zip(chosen, signs, strict=True):
                guess[i] = sign
            right = sum(guess[i] == coins[i] for i in chosen)
            found[tuple(guess)] = chances[right]
    return found


def hockey_stick(left: Law, right: Law, ratio: Fraction) -> Fraction:
    return sum((max(p - ratio * right[t], Fraction(0)) for t, p in left.items()), Fraction(0))


def attained(weight: Fraction = Fraction(1)) -> Step:
    """That mechanism, written out: its δ over all coins and turns is δ exactly, its tail is the bound."""
    holds, count = VACUOUS, 0
    cases = [(1, 1, 1), (3, 3, 2), (3, 2, 2), (4, 4, 3), (4, 2, 1), (5, 3, 3)]
    for m, r, v in cases:
        ratio, delta = Fraction(3), Fraction(1, 200)
        chances = worst_mechanism(m, r, v, ratio, delta)
        first = (1,) * m
        base = law(first, chances, r)
        turned = [law((*first[:i], -1, *first[i + 1 :]), chances, r) for i in range(m)]
        holds &= equal(sum(base.values(), Fraction(0)), 1)
        holds &= every(equal(hockey_stick(base, other, ratio), delta) for other in turned)
        holds &= every(equal(hockey_stick(other, base, ratio), delta) for other in turned)
        tail = sum((p for t, p in base.items() if sum(g == 1 for g in t) >= v), Fraction(0))
        w = binomial(r, ratio)
        beta = sum(w[v:], Fraction(0))
        holds &= equal(tail, beta + weight * m * delta * beta * (1 - beta) / (v * w[v]))
        count += 1
    return Step("attained", holds, f"{count} mechanisms, E = 3, δ = 1/200")


def library_tail(more: float = 0.0) -> Step:
    """`guess_tail` is that bound, to 1e-14."""
    holds, cases = VACUOUS, [(1, 1, 1), (3, 3, 2), (3, 2, 2), (4, 4, 3), (4, 2, 1), (5, 3, 3)]
    for m, r, v in cases:
        ratio, delta = Fraction(3), Fraction(1, 200)
        w = binomial(r, ratio)
        beta = sum(w[v:], Fraction(0))
        exact = beta + m * delta * beta * (1 - beta) / (v * w[v])
        guessed = Guessed(guesses=r, correct=v, canaries=m)
        said = guess_tail(guessed, epsilon=_log_three() + more, delta=float(delta))
        holds &= near(said, exact, Fraction(1, 10**14))
    return Step("`guess_tail`", holds, f"{len(cases)} tails, E = 3, δ = 1/200")


def other_mechanisms(weight: Fraction = Fraction(1)) -> Step:
    """Mechanisms that are symmetric in the canaries, other than the worst: tail ≤ bound at their own δ, for E = 1, 2, 5."""
    holds, count = VACUOUS, 0
    for m, r in ((3, 3), (4, 2), (4, 4)):
        if not holds.holds:
            break
        for weights in product((1, 2, 7), repeat=r + 1):
            total = sum(comb(r, k) * weights[k] for k in range(r + 1)) * comb(m, r)
            chances = [Fraction(x, total) for x in weights]
            first = (1,) * m
            base, turned = law(first, chances, r), law((-1, *first[1:]), chances, r)
            for ratio in (Fraction(1), Fraction(2), Fraction(5)):
                delta = hockey_stick(base, turned, ratio)
                w = binomial(r, ratio)
                for v in range(1, r + 1):
                    beta = sum(w[v:], Fraction(0))
                    tail = sum(comb(m, r) * comb(r, k) * chances[k] for k in range(v, r + 1))
                    bound = beta + weight * m * delta * beta * (1 - beta) / (v * w[v])
                    holds &= at_most(tail, bound)
                    count += 1
    return Step("other mechanisms", holds, f"{count} tails")


def several_points(price: float = 1.0) -> Step:
    """The same mechanisms against θ + mΣλ_j·δ_j for E_j = 1, 2, 5 at their own δ_j, with the weights of the program."""
    holds, count = VACUOUS, 0
    m, r = 4, 3
    epsilons = np.log([1.0, 2.0, 5.0])
    for weights in product((1, 3, 9), repeat=r + 1):
        total = sum(comb(r, k) * weights[k] for k in range(r + 1)) * comb(m, r)
        chances = [Fraction(x, total) for x in weights]
        first = (1,) * m
        base, turned = law(first, chances, r), law((-1, *first[1:]), chances, r)
        deltas = np.array([float(hockey_stick(base, turned, Fraction(e))) for e in (1, 2, 5)])
        for v in range(1, r + 1):
            tail = sum(comb(m, r) * comb(r, k) * chances[k] for k in range(v, r + 1))
            proof = best_tier_bound(
                Tiers((r,), (1,)), r - v, epsilons=epsilons, deltas=deltas, canaries=m
            )
            if proof is not None:
                holds &= at_most(tail, float(proof.bound(m, price * deltas)))
                count += 1
    return Step("several points", holds, f"{count} tails")


def _log_three() -> float:
    return 1.0986122886681098


PROOF = Proof(
    theorem=ONE_RUN,
    clauses=(
        Clause(
            (
                "If each of m canaries is included by its own fair coin and r of them, a number fixed in "
                "advance, are guessed after one (ε, δ)-DP run, then for 1 ≤ v ≤ r ≤ m P(at least v "
                "guesses are right) ≤ β + mδ·β(1−β)/(v·P(W = v)), with W ~ Bin(r, e^ε/(1+e^ε)) and β = "
                "P(W ≥ v);"
            ),
            by=(neighboring_masses, stein_equation, largest_at_the_threshold, other_mechanisms),
            argued=(
                "averaging over the coins: turning coin i leaves C_i alone and exchanges right and wrong; "
                "that Stein’s equation, seen for r ≤ 12, telescopes for every r by the identity of "
                "neighboring masses"
            ),
        ),
        Clause(
            "where this is at most 1, it is attained.",
            by=(tilt, attained),
            argued="that turning a coin moves the count by one, so that the excess adds up to δ",
        ),
    ),
    library=(several_points, library_tail),
    mutations={
        "k + 2": lambda: neighboring_masses(shift=2),
        "E/2": lambda: stein_equation(weight=Fraction(1, 2)),
        "j + 3": lambda: largest_at_the_threshold(slack=2),
        "2mδ": lambda: tilt(leak=2),
        "attained at 2mδ": lambda: attained(weight=Fraction(2)),
        "bound at mδ/2": lambda: other_mechanisms(weight=Fraction(1, 2)),
        "a larger ε": lambda: library_tail(more=1e-6),
        "several points without a price": lambda: several_points(price=0.0),
    },
)
