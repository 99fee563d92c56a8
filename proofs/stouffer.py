"""The joint test of two counts: two p-values of one point, as normal scores, in one weighted sum.

Fix the true point (p, q) with p = P(E) ≤ e^ε·q + δ. The tail u falls as A rises, so {u ≤ t} is {A ≥ a} for some a
and has the probability of the tail at a, which is ≤ t: u is a p-value, and so is v. Hence Φ⁻¹(1−u) and Φ⁻¹(1−v) lie
below independent standard normal variables, and for weights w ≥ 0 with w₁² + w₂² = 1 their sum lies below one that
is standard normal again. A claim is rejected only if every point that it allows is, the true one among them. As u
rises with p (Clopper and Pearson), of all p ≤ e^ε·q + δ the largest is the hardest to reject.
"""

import math
from fractions import Fraction
from itertools import product
from math import comb

import sympy as sp

from dpverify.auditing.statistics.binomial import Chain, Counts
from dpverify.theorems import CLOPPER_PEARSON, STOUFFER, Step
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

_TRIALS = 16
_LEVEL = Fraction(1, 20)


def masses(trials: int, p: Fraction) -> list[Fraction]:
    """Bin(trials, p)."""
    return [comb(trials, a) * p**a * (1 - p) ** (trials - a) for a in range(trials + 1)]


def tails_are_p_values(share: Fraction = Fraction(1)) -> Step:
    """P(u ≤ t) ≤ t, with equality at every t that u takes; likewise for v."""
    holds, count = VACUOUS, 0
    for trials, step in product((1, 5, 12), range(1, 8)):
        law = masses(trials, Fraction(step, 8))
        upper = [sum(law[a:], Fraction(0)) for a in range(trials + 1)]
        lower = [sum(law[: a + 1], Fraction(0)) for a in range(trials + 1)]
        for tails in (upper, lower):
            for t in tails:
                chance = sum((m for m, u in zip(law, tails, strict=True) if u <= t), Fraction(0))
                holds &= equal(chance, share * t)
                count += 1
    return Step("tails are p-values", holds, f"{count} tails, n = 1, 5, 12")


def sums_of_normals_are_normal(total: int = 1) -> Step:
    """x² + y² = s² + t² for s = w₁x + w₂y and t = w₂x − w₁y, w₁ = cos a: s and t are N(0, 1), independent."""
    x, y, a = sp.symbols("x y a", real=True)
    first, second = sp.cos(a), total * sp.sin(a)
    s, t = first * x + second * y, second * x - first * y
    holds = same(sp.trigsimp(sp.expand(s**2 + t**2)), x**2 + y**2)
    holds &= same(sp.trigsimp(sp.Matrix([s, t]).jacobian([x, y]).det()), -1)
    return Step("sums of normals", holds, "all weights")


def the_library_keeps_its_level(asked: float = float(_LEVEL)) -> Step:
    """Σ P(A = a)·P(B = b) over the counts that `Chain.rejects`, at p = e^ε·q + δ, is ≤ level, in rationals."""
    holds, largest, count = VACUOUS, Fraction(0), 0
    for ratio, delta in ((1, Fraction(0)), (3, Fraction(0)), (2, Fraction(1, 8))):
        rejected = _rejected(ratio, delta, asked)
        for step in range(1, 32):
            q = Fraction(step, 32)
            p = ratio * q + delta
            if p > 1:
                continue
            left, right = masses(_TRIALS, p), masses(_TRIALS, q)
            chance = sum((left[a] * right[b] for a, b in rejected), Fraction(0))
            holds &= at_most(chance, _LEVEL)
            largest = max(largest, chance)
            count += 1
    holds &= below(_LEVEL / 4, largest)  # it is not merely cautious
    return Step("`Chain.rejects`", holds, f"{count} points, n = m = {_TRIALS}, level 1/20")


def _rejected(ratio: int, delta: Fraction, level: float) -> list[tuple[int, int]]:
    """The counts at which the library rejects (ln ratio, δ)."""
    claim = [(math.log(ratio), float(delta))]
    return [
        (a, b)
        for a, b in product(range(_TRIALS + 1), repeat=2)
        if Chain(
            (Counts(hits=a, trials=_TRIALS, other_hits=b, other_trials=_TRIALS),), (1.0,)
        ).rejects(claim, level=level)
    ]


PROOF = Proof(
    theorem=STOUFFER,
    clauses=(
        Clause(
            (
                "For independent A ~ Bin(n, p) and B ~ Bin(m, q) with tails u = P(Bin(n, p) ≥ A) and v = "
                "P(Bin(m, q) ≤ B), the sum w₁·Φ⁻¹(1−u) + w₂·Φ⁻¹(1−v), w₁, w₂ ≥ 0, w₁² + w₂² = 1, exceeds "
                "Φ⁻¹(1 − level) with probability at most level;"
            ),
            by=(tails_are_p_values, sums_of_normals_are_normal),
            argued=(
                "that a p-value’s normal score lies below a standard normal variable, and sums keep the order "
                "of independent variables"
            ),
        ),
        Clause(
            "so P(E) ≤ e^ε·Q(E) + δ, if true, is rejected at all its (p, q) with probability at most level.",
            by=(the_library_keeps_its_level,),
            argued="that a claim is rejected only if its true point is; that the tail rises with p (clopper-pearson)",
        ),
    ),
    uses=(CLOPPER_PEARSON,),
    mutations={
        "P(u ≤ t) = t/2": lambda: tails_are_p_values(Fraction(1, 2)),
        "w₁² + w₂² > 1": lambda: sums_of_normals_are_normal(total=2),
        "a test at level 1/5": lambda: the_library_keeps_its_level(asked=0.2),
    },
)
