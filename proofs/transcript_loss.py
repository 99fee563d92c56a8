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
from proofs.support.laws import joint, rational_pairs
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


def _largest_ratios(q: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
    """The largest P(k)/P(k+1) and P(k+1)/P(k) of X − Y, for P(k) ∝ q^k, k ≥ 0, and q′^|k|, k < 0."""
    law = {k: (q**k if k >= 0 else other**-k) for k in range(-6, 7)}
    up = max(law[k] / law[k + 1] for k in range(-6, 6))
    return up, max(law[k + 1] / law[k] for k in range(-6, 6))


def one_sided_noise_has_two_costs(*, both: bool = True) -> Step:
    """X − Y of geometric draws with 1−p = q and q′ has P(k) ∝ q^k for k ≥ 0, q′^|k| for k < 0.

    So P(k)/P(k+1) is at most 1/q, and P(k+1)/P(k) at most 1/q′, and both are attained.
    """
    holds, count = VACUOUS, 0
    for q, other in product(_CHANCES, repeat=2):
        up, down = _largest_ratios(q, other)
        holds &= equal(up, 1 / q) & equal(down, 1 / (other if both else q))
        count += 1
    return Step("one-sided noise", holds, f"{count} pairs of laws")


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
            by=(the_shortest_alignment,),
            argued="that z ↦ z + d keeps volumes and sends draws that give r to draws that give r",
        ),
        Clause(
            "and draws with a least value need such shifts, upwards, for either direction.",
            by=(one_sided_noise_has_two_costs,),
            argued="that a law with a least value has no partner for draws near it when shifted down",
        ),
    ),
    library=(the_library_aligns, the_library_charges_the_larger),
    mutations={
        "one direction": lambda: one_sided_noise_has_two_costs(both=False),
        "one direction charged": lambda: the_library_charges_the_larger(both=False),
        "one function a side": lambda: outputs_of_transcripts_are_dominated(same_function=False),
        "‖a‖³ for ‖a‖²": lambda: the_shortest_alignment(power=3),
        "twice the gap": lambda: the_library_aligns(scale=2.0),
    },
    uses=(FROZEN_REPLAY, ADAPTIVE_DOMINATION, POST_PROCESSING),
)
