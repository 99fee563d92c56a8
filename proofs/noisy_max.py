"""Report noisy max is ε-DP, on integers and with ties.

Fix all noises but Kᵢ. Index i is reported if and only if Kᵢ ≥ t, where t is the largest of the other
noisy scores (plus 1 for those that win ties) minus aᵢ. On a neighbor t rises by at most 2D, by D if
scores are monotone. Both noises have P(K ≥ t + n) ≥ e^(−n/scale)·P(K ≥ t), so the probability falls at
most by e^(−2D/scale) = e^(−ε). The continuous mechanism is the limit of fine grids: the same tail
inequality holds for real t and n.
"""

import math
from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.mechanisms import NoisyMax
from dpverify.theorems import NOISY_MAX, Step
from proofs.support.checks import VACUOUS, at_most, equal, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.geometric import Noise, inner_sum, outer_sum
from proofs.support.symbolic import never_negative, nonnegative, same

_BASE = Fraction(1, 4)  # e^(−D/scale)
_REACH = 8  # beyond, all tails of these scores are purely geometric


def tails_of_exponential_noise(slower: int = 1) -> Step:
    """ln P(K ≥ t+n) − ln P(K ≥ t) + n/scale is 0 for t ≥ 0, m/scale for t = −m < 0 ≤ t+n, n/scale below."""
    t, n, m, rate = sp.symbols("t n m rate", nonnegative=True)  # rate = 1/scale
    paid = n * rate / slower
    gaps = (-(t + n) * rate + t * rate + paid, -(n - m) * rate + paid, paid)
    holds = every(never_negative(sp.expand(gap)) for gap in gaps)
    return Step("exponential tails", holds, "all scales, all t and n ≥ 0")


def tails_of_laplace_noise(middle: int = 2) -> Step:
    """With w = e^(−(1/2−t)/scale) ≤ 1 for t ≤ 0 and G = e^(−n/scale):

    across 0 the gap is G·(1/(2w) − 1 + w/2) = G·(1−w)²/(2w); below 0, with w = G·y and y ≤ 1, it is
    1 − y/2 − G·(1 − G·y/2) = (1−G)·(1 − y·(1+G)/2). Both are ≥ 0; above 0 there is equality.
    """
    a, b, c, d = sp.symbols("a b c d", nonnegative=True)
    w, g, y = 1 / (1 + a), 1 / (1 + b), c / (c + d)
    across = g / (middle * w) - g * (1 - w / 2)
    below = (1 - y / 2) - g * (1 - g * y / 2)
    holds = same(across, a**2 / (2 * (1 + a) * (1 + b)))  # (1−w)²/(2w)·G
    holds &= nonnegative(a**2 / (2 * (1 + a) * (1 + b)), (a, b))
    holds &= nonnegative(below, (b, c, d))
    return Step("Laplace tails", holds, "all scales, all t and n")


def law(scores: tuple[int, ...], noise: Noise) -> list[Fraction]:
    """P(index), exactly; the first of equals wins."""
    low, high = min(scores) - _REACH, max(scores) + _REACH
    result = []
    for i, own in enumerate(scores):
        # Rivals must stay below v (earlier ones) or at most at v (later ones).
        bars = [a + (j > i) * -1 for j, a in enumerate(scores) if j != i]

        def term(v: int, own: int = own, bars: list[int] = bars) -> Fraction:
            return noise.mass(v - own) * math.prod(1 - noise.tail(v - bar) for bar in bars)

        total = inner_sum(term, low, high)
        beyond = [noise.above(high + 1 - bar) for bar in bars]
        total += outer_sum(
            [noise.point(high + 1 - own)]
            + [type(d)(d.value, d.base, complement=True) for d in beyond]
        )
        if noise.two_sided:
            total += outer_sum(
                [noise.point(low - 1 - own), *(noise.below(low - 1 - bar) for bar in bars)]
            )
        result.append(total)
    return result


def all_neighbors_of_small_scores(root: Fraction = Fraction(1, 2)) -> Step:
    """No probability changes by more than e^(2D/scale), e^(D/scale) if monotone; exponential noise attains it."""
    holds, attained, count = VACUOUS, False, 0
    for two_sided in (False, True):
        if not holds.holds:
            break
        noise = Noise(root, two_sided)
        laws = {s: law(s, noise) for s in product(range(-1, 4), repeat=3)}
        holds &= every(equal(sum(masses), 1) for masses in laws.values())
        for scores in product(range(3), repeat=3):
            for move in product((-1, 0, 1), repeat=3):
                other = laws[tuple(s + m for s, m in zip(scores, move, strict=True))]
                top = max(a / b for a, b in zip(laws[scores], other, strict=True))
                monotone = min(move) >= 0 or max(move) <= 0
                holds &= at_most(top, _BASE ** (-1 if monotone else -2))
                attained |= not two_sided and top == _BASE**-2
                count += 1
    return Step("all small scores", holds & provided(attained), f"{count} neighbors")


def the_library_has_this_scale(shrink: Fraction = Fraction(1)) -> Step:
    """`NoisyMax.scale` = 2Δ/ε, and on the grid at least 2·⌈Δ/g⌉/ε steps; half of it if monotone."""
    holds, count = VACUOUS, 0
    for epsilon, sensitivity, exponent in ((1.0, 1.0, 0), (0.5, 3.0, 1), (2.0, 0.3, -4)):
        for monotone in (False, True):
            pick = NoisyMax(
                epsilon=epsilon,
                score_sensitivity=sensitivity,
                monotone=monotone,
                grid_exponent=exponent,
            )
            reach = 1 if monotone else 2
            holds &= equal(shrink * pick.scale, reach * Fraction(sensitivity) / Fraction(epsilon))
            steps = math.ceil(Fraction(sensitivity) / Fraction(2) ** exponent)
            scale = Fraction(pick._grid_noise().scale_in_steps)  # noqa: SLF001  # what draws use
            holds &= at_most(reach * steps / Fraction(epsilon), scale)
            count += 1
    return Step("`NoisyMax`", holds, f"{count} settings")


def the_one_behind_wins(half: Fraction = Fraction(1, 2)) -> Step:
    """P(X − Y > t) for two noises of scale 1: ∫ p(y)·P(X > y + t) dy, piece by piece."""
    y = sp.Symbol("y", real=True)
    t = sp.Symbol("t", positive=True)
    one_sided = sp.integrate(sp.exp(-y) * sp.exp(-y - t), (y, 0, sp.oo))
    share = sp.Rational(half)
    holds = same(one_sided, share * sp.exp(-t))
    beyond = sp.integrate(sp.exp(-y) / 2 * sp.exp(-y - t) / 2, (y, 0, sp.oo))
    between = sp.integrate(sp.exp(y) / 2 * sp.exp(-y - t) / 2, (y, -t, 0))
    before = sp.integrate(sp.exp(y) / 2 * (1 - sp.exp(y + t) / 2), (y, -sp.oo, -t))
    holds &= same(beyond + between + before, share * sp.exp(-t) * (2 + t) / 2)
    return Step("the one behind wins", holds, "all t > 0")


PROOF = Proof(
    theorem=NOISY_MAX,
    clauses=(
        Clause(
            (
                "Releasing the index alone of the largest score after adding exponential or Laplace noise of "
                "scale 2Δ/ε to each is ε-DP;"
            ),
            by=(tails_of_exponential_noise, tails_of_laplace_noise, all_neighbors_of_small_scores),
            argued=(
                "that with the other noises fixed an index wins if and only if its noise exceeds a threshold, "
                "which moves by at most 2Δ; grids of ever smaller steps for noise on the reals"
            ),
        ),
        Clause(
            "scale Δ/ε if between neighbors no score rises while another falls.",
            by=(tails_of_exponential_noise, tails_of_laplace_noise, all_neighbors_of_small_scores),
            argued="that the threshold moves by at most Δ then",
        ),
        Clause(
            (
                "Of two candidates, the one that is behind by t scales wins with probability e^(−t)/2 for "
                "exponential noise, and e^(−t)·(2 + t)/4 for Laplace noise."
            ),
            by=(the_one_behind_wins,),
            argued="that it wins if its noise exceeds the other one by t",
        ),
    ),
    library=(the_library_has_this_scale,),
    mutations={
        "tails at half the rate": lambda: tails_of_exponential_noise(slower=2),
        "across 0 with 1/(3w)": lambda: tails_of_laplace_noise(middle=3),
        "noise of a smaller scale": lambda: all_neighbors_of_small_scores(root=Fraction(2, 5)),
        "the one behind wins a third": lambda: the_one_behind_wins(Fraction(1, 3)),
        "the library at half the scale": lambda: the_library_has_this_scale(Fraction(1, 2)),
    },
)
