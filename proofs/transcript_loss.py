"""An output computed from a transcript has at most the transcript's privacy loss.

Between its releases a mechanism computes v_k from the data and the past; but with the past frozen, what
it outputs in the end must be the same on both sides, or the replay shows a difference. If it shows none,
the output is one function of the transcript for both datasets: a kernel, so post-processing applies. The
transcript is an adaptive composition, whose conditional pairs the replay computes (frozen-replay), so its
profile is at most that of the product of pairs that lie above all of them (adaptive-domination).

Where a release adds up several draws, r = v + Σ aᵢ·zᵢ, let d be any vector with Σ aᵢ·dᵢ = v − v′. The
map z ↦ z + d keeps volumes, and sends the draws that give r on the left to draws that give r on the right.
So r is a function of the draws, and the pair (law of z, law of z + d shifted back) lies above it: its parts
are shifts of the single draws by dᵢ. For Gaussian draws the shortest d gives the very pair of the sum.

A law with a least value, as that of exponential or geometric draws, can be shifted upwards only: d ≥ 0
gives p(r) ≤ e^(Σ rateᵢ·dᵢ)·p′(r) and says nothing of the other direction, in which the draws near the least
value have no partner. That one takes an alignment d′ ≥ 0 of v′ − v, of its own cost. The larger cost bounds
the loss both ways; where one of the directions has no alignment, nothing is bounded.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from dpverify.pairs import Dominates, FinitePair, dominates
from dpverify.theorems import FROZEN_REPLAY, TRANSCRIPT_LOSS, Step
from dpverify.tracing.recording.laws import NORMAL, TracedLaw
from dpverify.tracing.recording.sums import align
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, dominated, equal, provided
from proofs.support.form import Clause, Proof
from proofs.support.geometric import Decay, outer_sum
from proofs.support.laws import joint, rational_laws, rational_pairs
from proofs.support.symbolic import same


def outputs_of_transcripts_are_dominated(*, same_function: bool = True) -> Step:
    """Every map of the four transcripts of two rounds to two outputs, by `dominates`."""
    strong = FinitePair.leaky_response(Fraction(2), Fraction(0))
    bound = strong.product(strong)
    parts = [
        pair
        for pair in rational_pairs(2, 6)
        if len(set(pair.corners)) > 1 and isinstance(dominates(strong, pair), Dominates)
    ]
    parts = parts[::2]
    maps = list(product((0, 1), repeat=4))[1::2]
    holds, count = VACUOUS, 0
    for first, one, two in product(parts, repeat=3):
        seen = joint(first, [one, two])
        for index, told in enumerate(maps):
            other = told if same_function else maps[index - 1]
            image = FinitePair(left=_image(seen.left, told), right=_image(seen.right, other))
            holds &= dominated(bound, image)
            count += 1
    return Step("outputs of transcripts", holds, f"{count} trees and maps")


def _image(law: object, told: tuple[int, ...]) -> list[Fraction]:
    assert isinstance(law, tuple)  # noqa: S101  # rational pairs hold tuples
    return [sum((p for p, t in zip(law, told, strict=True) if t == k), Fraction(0)) for k in (0, 1)]


def shifts_make_up_for_the_gap(jacobian: int = 1) -> Step:
    """v′ + Σ aᵢ·(yᵢ + dᵢ) = v + Σ aᵢ·yᵢ where Σ aᵢ·dᵢ = v − v′, and y ↦ y + d has determinant 1: r is one function of y."""
    a, y, z, d, v, other = sp.symbols("a y z d v v_other", real=True)
    second = sp.Symbol("b", positive=True)
    e = (v - other - a * d) / second  # the shift of the second draw that makes up for the rest
    holds = same(other + a * (y + d) + second * (z + e), v + a * y + second * z)
    moved = sp.Matrix([y + jacobian * d, z + e])
    holds &= same(moved.jacobian([y, z]).det() + v, 1 + v)
    holds &= same(moved[0] - y, d)
    return Step(
        "shifts make up for the gap", holds, "all draws, coefficients and shifts of two draws"
    )


def releases_are_dominated_by_their_draws(missed: int = 0) -> Step:
    """a₁z₁ + a₂z₂ moved by the gap a₁d₁ + a₂d₂, against the product of the draws moved by d₁ and d₂: all small laws, in rationals."""
    holds, count = VACUOUS, 0
    laws = [law for law in rational_laws(3, 4) if law[0] and law[2]][:5]
    for one, two in product(laws, repeat=2):
        for (a1, a2), (d1, d2) in product(((1, 1), (1, 2)), ((0, 1), (1, -1), (1, 1))):
            draws = _moved(one, d1).product(_moved(two, d2))
            gap = a1 * d1 + a2 * d2 + missed
            sums = [Fraction(0)] * 12
            for (i, p), (j, q) in product(enumerate(one), enumerate(two)):
                sums[a1 * i + a2 * j] += p * q
            holds &= dominated(draws, _moved(tuple(sums), gap))
            count += 1
    return Step("sums of draws", holds, f"{count} laws, coefficients and shifts")


def _moved(law: tuple[Fraction, ...], by: int) -> FinitePair:
    """A law on whole numbers, against itself moved down by so much."""
    none, reach = Fraction(0), abs(by)
    left = (*((none,) * reach), *law, *((none,) * reach))
    return FinitePair(left=left, right=(*left[by:], *left[:by]))


def the_shortest_alignment(power: int = 2) -> Step:
    """d = s·a/‖a‖² solves ⟨a, d⟩ = s and has ‖d‖² = s²/‖a‖², the divergence of s + N(0, ‖a‖²)."""
    a, b, s = sp.symbols("a b s", positive=True)
    square = a**power + b**power
    d = (s * a / square, s * b / square)
    solves = same(a * d[0] + b * d[1], s)
    length = same(d[0] ** 2 + d[1] ** 2, s**2 / (a**2 + b**2))
    # Moving along the null space (b, −a) only adds to the length: the cross term vanishes.
    t = sp.Symbol("t", real=True)
    longer = sp.expand((d[0] + t * b) ** 2 + (d[1] - t * a) ** 2 - d[0] ** 2 - d[1] ** 2)
    least = same(longer, t**2 * (a**2 + b**2))
    holds = solves & length & least
    return Step("the shortest alignment", holds, "all a, b, s > 0")


def the_library_aligns(scale: float = 1.0) -> Step:
    """`align` on whole numbers whose answer is exact: 3·d₁ + 4·d₂ = 25 has d = (3, 4)."""
    found = align(np.array([[3.0, 4.0]]), np.array([25.0 * scale]), [NORMAL, NORMAL])
    holds = equal(None if found is None else found.step.tolist(), [3.0, 4.0])
    holds &= provided(found is not None and found.exact)
    return Step("the library aligns", holds, "one instance")


_CHANCES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(7, 8))


def _difference(q: Fraction, other: Fraction, k: int) -> Fraction:
    """P(X − Y = k) = Σ over j of P(X = j + k)·P(Y = j), for geometric X and Y with 1 − p = q and q′, by a geometric sum."""
    first = (1 - q) * q ** max(k, 0)
    second = (1 - other) * other ** max(-k, 0)
    return outer_sum([Decay(first, q), Decay(second, other)])


def _largest_ratios(q: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
    """The largest P(k)/P(k+1) and P(k+1)/P(k) of X − Y; beyond 6 they stay as they are there."""
    law = {k: _difference(q, other, k) for k in range(-6, 7)}
    up = max(law[k] / law[k + 1] for k in range(-6, 6))
    return up, max(law[k + 1] / law[k] for k in range(-6, 6))


def one_sided_noise_has_two_costs(*, both: bool = True) -> Step:
    """X − Y of geometric draws with 1−p = q and q′, its law by summation: P(k)/P(k+1) is at most 1/q, P(k+1)/P(k) at most 1/q′.

    Both are attained, so that neither direction's cost bounds the other's.
    """
    holds, count = VACUOUS, 0
    for q, other in product(_CHANCES, repeat=2):
        up, down = _largest_ratios(q, other)
        holds &= equal(up, 1 / q) & equal(down, 1 / (other if both else q))
        count += 1
    return Step("one-sided noise", holds, f"{count} pairs of laws")


def only_upward_shifts_have_partners(shift: int = 1) -> Step:
    """P(k) = q^(−1)·P(k + 1) for all k ≥ 0; moved down instead, the least value keeps its mass on one side alone, whatever ε is."""
    q = sp.Symbol("q", positive=True)
    k = sp.Symbol("k", integer=True, nonnegative=True)
    holds = same((1 - q) * q**k, (1 - q) * q ** (k + shift) / q)
    for chance, top in product(_CHANCES, (10, 10**6)):
        law = [(1 - chance) * chance**j for j in range(6)]
        law.append(1 - sum(law, Fraction(0)))
        moved = [Fraction(0), *law]  # of z + 1, against z: nothing at 0
        pair = FinitePair(left=[*law, Fraction(0)], right=moved)
        holds &= at_most(1 - chance, pair.delta_at_ratio(Fraction(top)))
    return Step(
        "upward only", holds, "all geometric laws; four of them moved down, at ratios 10 and 10⁶"
    )


def the_library_charges_the_larger(*, both: bool = True) -> Step:
    """`align` on 1·X − 1·Y charges the larger of both directions."""
    holds, count = VACUOUS, 0
    for q, other in product(_CHANCES, repeat=2):
        laws = [TracedLaw("geometric", float(1 - q)), TracedLaw("geometric", float(1 - other))]
        found = align(np.array([[1.0, -1.0]]), np.array([1.0]), laws)
        charged = 0.0 if found is None else math.exp(found.cost)
        if not both and found is not None:
            charged = math.exp(float(found.step @ [law.rate for law in laws]))
        holds &= at_most(max(_largest_ratios(q, other)), charged)
        count += 1
    return Step("`align`, one-sided noise", holds, f"{count} pairs of laws")


PROOF = Proof(
    theorem=TRANSCRIPT_LOSS,
    clauses=(
        Clause(
            (
                "An output that is computed from a transcript, by the same function on both sides, has a "
                "profile nowhere above that of the composition of the transcript's conditional pairs;"
            ),
            by=(outputs_of_transcripts_are_dominated,),
            argued=(
                "that a replay without a difference makes the output one function of the transcript on both "
                "sides (frozen-replay); adaptive-domination and post-processing"
            ),
        ),
        Clause(
            (
                "where a release adds up several draws, any shifts of the draws that make up for the gap give "
                "such pairs,"
            ),
            by=(
                shifts_make_up_for_the_gap,
                releases_are_dominated_by_their_draws,
                the_shortest_alignment,
            ),
            argued="that a map of determinant 1 keeps densities; post-processing; any number of draws as two",
        ),
        Clause(
            "and draws with a least value need such shifts, upwards, for either direction.",
            by=(one_sided_noise_has_two_costs, only_upward_shifts_have_partners),
            argued="exponential draws as geometric ones, and that a mass which one side lacks has an infinite loss",
        ),
    ),
    library=(the_library_aligns, the_library_charges_the_larger),
    mutations={
        "draws twice as far": lambda: shifts_make_up_for_the_gap(jacobian=2),
        "a gap that is missed by one": lambda: releases_are_dominated_by_their_draws(missed=1),
        "two steps for one": lambda: only_upward_shifts_have_partners(shift=2),
        "one direction": lambda: one_sided_noise_has_two_costs(both=False),
        "one direction charged": lambda: the_library_charges_the_larger(both=False),
        "one function a side": lambda: outputs_of_transcripts_are_dominated(same_function=False),
        "‖a‖³ for ‖a‖²": lambda: the_shortest_alignment(power=3),
        "twice the gap": lambda: the_library_aligns(scale=2.0),
    },
    uses=(FROZEN_REPLAY, ADAPTIVE_DOMINATION, POST_PROCESSING),
)
