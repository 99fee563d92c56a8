"""If the output determines the transcript, both have the same privacy loss.

Let y = g(t) be the output of transcript t, and h(g(t)) = t on both sides. Then y is post-processing of t
and t of y, so each profile lies nowhere above the other: they are equal. If the loss ln p/q of transcripts
exceeds ε on a set E of positive probability, then P(E) − e^ε·Q(E) is the sum, or integral, over E of
p − e^ε·q > 0, and the event "the output is one of E" breaks ε-DP. An affine rule y = a·r + b with the same
a ≠ 0 and b on both sides gives r back, and leaves the ratio of densities as it is.

For a pure claim it is enough that h gives back the transcripts of E. A claim with δ > 0, or in another
currency, is about the whole profile: a rare transcript may lose more. It needs h on all transcripts, as
where every release stands in the output untouched.
"""

from fractions import Fraction
from itertools import permutations, product

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import DETERMINED_OUTPUT, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, dominated
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import same


def injective_outputs_have_the_same_profile(*, injective: bool = True) -> Step:
    """`dominates` both ways, for every injection of 3 transcripts into 4 outputs."""
    maps = list(permutations(range(4), 3)) if injective else list(product(range(2), repeat=3))
    holds, count = VACUOUS, 0
    for pair in list(rational_pairs(3, 3))[::2]:
        for told in maps:
            image = FinitePair(left=_image(pair.left, told), right=_image(pair.right, told))
            holds &= dominated(pair, image)
            holds &= dominated(image, pair)
            count += 1
    name = "injective outputs"
    return Step(name, holds, f"{count} pairs and maps")


def _image(law: object, told: tuple[int, ...]) -> list[Fraction]:
    assert isinstance(law, tuple)  # noqa: S101  # rational pairs hold tuples
    return [
        sum((p for p, t in zip(law, told, strict=True) if t == k), Fraction(0)) for k in range(4)
    ]


def affine_outputs_keep_the_ratio(*, same_factor: bool = True) -> Step:
    """(f((y−b)/a)/a)/(g((y−b)/a)/a) = f(r)/g(r) at y = a·r + b, for all densities f and g."""
    a, c, r, b = sp.symbols("a c r b", positive=True)
    f, g = sp.Function("f"), sp.Function("g")
    y = a * r + b
    here = f(sp.simplify((y - b) / a)) / a
    there = g(sp.simplify((y - b) / a)) / (a if same_factor else c)
    return Step("affine outputs", same(here / there, f(r) / g(r)), "all a > 0, b, f, g")


def a_loss_above_epsilon_breaks_the_claim(sign: int = 1) -> Step:
    """p − x·q = q·(p/q − x) > 0 wherever p/q > x, so the sum over any such set is positive."""
    q, x, more = sp.symbols("q x m", positive=True)
    p = q * (x + sign * more)  # every p with p/q = x + m
    return Step("excess of an event", same(p - x * q, q * more), "all p/q > x")


PROOF = Proof(
    theorem=DETERMINED_OUTPUT,
    clauses=(
        Clause(
            (
                "If one function recovers the transcript from the output on both sides, then output and "
                "transcript have the same profile;"
            ),
            by=(injective_outputs_have_the_same_profile, affine_outputs_keep_the_ratio),
            argued="post-processing in both directions",
        ),
        Clause(
            (
                "so a set of transcripts of positive probability whose loss exceeds ε refutes ε-DP, as "
                "does one transcript if both densities are positive and continuous there."
            ),
            by=(a_loss_above_epsilon_breaks_the_claim,),
            argued=(
                "that a set of positive probability on which p > e^ε·q has a positive excess; that around "
                "a point where both densities are positive and continuous, and p > e^ε·q, this holds in "
                "a neighborhood, which has positive probability"
            ),
        ),
    ),
    mutations={
        "outputs that coincide": lambda: injective_outputs_have_the_same_profile(injective=False),
        "another factor a side": lambda: affine_outputs_keep_the_ratio(same_factor=False),
        "a loss below": lambda: a_loss_above_epsilon_breaks_the_claim(sign=-1),
    },
    uses=(POST_PROCESSING,),
)
