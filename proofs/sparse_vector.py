"""The sparse vector technique is (ε₁ + ε₂)-DP, on integers.

Given the threshold's noise ρ = z the answers are independent, so a row of answers has probability
Σ_z P(ρ=z)·Π P(ν < T+z−aᵢ)·Π P(ν ≥ T+z−aᵢ), over its zeros and its at most c ones. On a neighbor,
replace z by z + D: P(ρ=z) pays at most e^(D/scale₁) = e^(ε₁); zeros gain, as z rises by D and aᵢ by at
most D; each one pays at most e^(2D/scale₂) = e^(ε₂/c) by the tail inequality of noisy max. Monotone
answers pay half of that: if they fall, z stays and only the bounds of ones rise, by at most D. With Laplace noise on the
reals sums are integrals, P(ρ=z) is a density, |z + D| − |z| ≤ D, and the tails are those with w = e^(−|t|/scale).
"""

import math
from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.mechanisms import SparseVector
from dpverify.theorems import SPARSE_VECTOR, Step
from proofs.noisy_max import tails_of_laplace_noise
from proofs.support.checks import VACUOUS, at_most, below, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.geometric import Decay, Noise, inner_sum, outer_sum
from proofs.support.symbolic import nonnegative, same

_REACH = 6
_ROW_LENGTH = 3


def tails_of_the_noise(middle: int = 2) -> Step:
    """P(ν ≥ t+n) ≥ e^(−n/scale)·P(ν ≥ t) for Laplace noise on integers; the step of noisy max."""
    return tails_of_laplace_noise(middle)


def the_threshold_pays(squares: int = 2) -> Step:
    """P(ρ=z) ≤ e^(1/scale)·P(ρ=z+1), with w = e^(−1/(2·scale)): masses 1 − w at 0 and w^(2|z|−1)·(1 − w²)/2 elsewhere.

    Away from 0 the ratio is w² or 1/w². From 0 to 1 it is 2/(w(1+w)) ≤ 1/w², as 1/w² − 2/(w(1+w)) = (1−w)/(w²(1+w)).
    """
    gap, z = sp.symbols("gap z", positive=True)
    w = 1 / (1 + gap)  # every w in (0, 1)
    away = w ** (2 * z - 1) * (1 - w**2) / 2
    further = away.subs(z, z + 1)
    paid = w ** (-squares)
    holds = same(sp.powsimp(away / further), w**-2)
    first = (1 - w) / away.subs(z, 1)
    holds &= same(first, 2 / (w * (1 + w))) & nonnegative(paid - first, (gap,))
    # The mass is symmetric, so towards 0 the ratios are these inverted, all ≤ 1 ≤ 1/w².
    holds &= nonnegative(paid - w**-2, (gap,)) & nonnegative(paid - 1 / first, (gap,))
    return Step("threshold pays ε₁", holds, "all scales, all z")


def the_costs_add_up(reach: int = 2) -> Step:
    """D/scale₁ + c·2D/scale₂ = ε₁ + ε₂ at scale₁ = D/ε₁ and scale₂ = 2cD/ε₂."""
    e1, e2, c, d = sp.symbols("epsilon1 epsilon2 c D", positive=True)
    threshold, query = d / e1, 2 * c * d / e2
    holds = same(d / threshold + c * reach * d / query, e1 + e2)
    return Step("ε₁ + ε₂", holds, "all ε₁, ε₂, c, D")


def the_costs_add_up_if_monotone(reach: int = 1) -> Step:
    """D/scale₁ + c·D/scale₂ = ε₁ + ε₂ at scale₁ = D/ε₁ and scale₂ = cD/ε₂."""
    e1, e2, c, d = sp.symbols("epsilon1 epsilon2 c D", positive=True)
    threshold, query = d / e1, c * d / e2
    holds = same(d / threshold + c * reach * d / query, e1 + e2)
    return Step("ε₁ + ε₂, monotone", holds, "all ε₁, ε₂, c, D")


def probability(
    row: tuple[int, ...], answers: tuple[int, ...], bar: Noise, query: Noise
) -> Fraction:
    """Of a row of ones, zeros and −1 for "not answered", at threshold 0; exactly."""
    asked = [(bit, a) for bit, a in zip(row, answers, strict=True) if bit >= 0]
    low, high = min(answers) - _REACH, max(answers) + _REACH

    def term(z: int) -> Fraction:
        tails = ((bit, query.tail(z - a)) for bit, a in asked)
        return bar.mass(z) * math.prod(tail if bit else 1 - tail for bit, tail in tails)

    total = inner_sum(term, low, high)
    up = [(bit, query.above(high + 1 - a)) for bit, a in asked]
    total += outer_sum([bar.point(high + 1), *(_as(d, complement=not bit) for bit, d in up)])
    down = [(bit, query.below(low - 1 - a)) for bit, a in asked]
    total += outer_sum([bar.point(low - 1), *(_as(d, complement=bool(bit)) for bit, d in down)])
    return total


def _as(factor: Decay, *, complement: bool) -> Decay:
    return Decay(factor.value, factor.base, complement)


def rows(answers: int) -> list[tuple[int, ...]]:
    """All rows that stop after the given number of ones."""
    found = set()
    for bits in product((0, 1), repeat=_ROW_LENGTH):
        before = [sum(bits[:i]) for i in range(_ROW_LENGTH)]
        found.add(tuple(b if n < answers else -1 for b, n in zip(bits, before, strict=True)))
    return sorted(found)


def all_neighbors_of_small_answers(reach: int = 2) -> Step:
    """No row's probability changes by more than e^(D/scale₁ + 2cD/scale₂); c = 1 and 2, D = 1.

    Monotone moves stay within e^(D/scale₁ + cD/scale₂).
    """
    bar, query = Noise(Fraction(1, 2), two_sided=True), Noise(Fraction(2, 3), two_sided=True)
    holds, count, largest = VACUOUS, 0, Fraction(0)
    for allowed in (1, 2):
        outcomes = rows(allowed)
        grid = product(range(-1, 3), repeat=_ROW_LENGTH)
        laws = {a: [probability(row, a, bar, query) for row in outcomes] for a in grid}
        holds &= every(equal(sum(masses), 1) for masses in laws.values())
        for answers in product(range(2), repeat=_ROW_LENGTH):
            for move in product((-1, 0, 1), repeat=_ROW_LENGTH):
                other = laws[tuple(a + m for a, m in zip(answers, move, strict=True))]
                top = max(p / q for p, q in zip(laws[answers], other, strict=True))
                monotone = min(move) >= 0 or max(move) <= 0
                cost = allowed * (1 if monotone else reach)
                holds &= at_most(top, bar.base**-1 * query.base**-cost)
                largest = max(largest, top)
                count += 1
    return Step("all small answers", holds & below(1, largest), f"{count} neighbors")


def the_library_has_these_scales(factor: int = 2) -> Step:
    """`SparseVector`: D/scale₁ + c·2D/scale₂ = ε exactly, half of the second if monotone."""
    holds, count = VACUOUS, 0
    for epsilon, answers, split, monotone in (
        (1.0, 1, 0.5, False),
        (0.5, 7, 0.25, False),
        (2.0, 3, 0.125, True),
        (1.0, 4, None, False),
    ):
        above = SparseVector(
            epsilon=epsilon, threshold=0.0, answers=answers, split=split, monotone=monotone
        )
        reach = 1 if monotone else factor
        spent = 1 / above.threshold_scale + answers * reach / above.query_scale
        holds &= equal(spent, Fraction(epsilon))
        count += 1
    return Step("`SparseVector`", holds, f"{count} settings")


PROOF = Proof(
    theorem=SPARSE_VECTOR,
    clauses=(
        Clause(
            (
                "AboveThreshold on queries of sensitivity Δ, with Laplace noise of scale Δ/ε₁ on the "
                "threshold and 2cΔ/ε₂ on each query, on the reals, or rounded to whole numbers if all "
                "answers, the threshold and Δ are whole, stopping after c answers above, is (ε₁ + ε₂)-DP;"
            ),
            by=(
                tails_of_the_noise,
                the_threshold_pays,
                the_costs_add_up,
                all_neighbors_of_small_answers,
            ),
            argued=(
                "that given the threshold’s noise answers are independent, and replacing z by z + Δ makes "
                "zeros likelier and ones pay a tail each; on the reals, that integrals take the place of sums"
            ),
        ),
        Clause(
            "cΔ/ε₂ is enough if between neighbors no answer rises while another falls.",
            by=(tails_of_the_noise, the_costs_add_up_if_monotone, all_neighbors_of_small_answers),
            argued=(
                "that if answers fall z stays, and if they rise z moves by Δ with them, so that bounds of "
                "ones rise by at most Δ"
            ),
        ),
    ),
    library=(the_library_has_these_scales,),
    mutations={
        "tails with 1/(3w)": lambda: tails_of_the_noise(middle=3),
        "the threshold pays half": lambda: the_threshold_pays(squares=1),
        "c·D/scale₂ without the 2": lambda: the_costs_add_up(reach=1),
        "monotone answers pay twice": lambda: the_costs_add_up_if_monotone(reach=2),
        "ones are free": lambda: all_neighbors_of_small_answers(reach=0),
        "the library counts 3": lambda: the_library_has_these_scales(factor=3),
    },
)
