"""Post-processing never raises a profile, nor anything that is monotone in profiles.

Let a kernel send outcome x into the event E with probability k(x) in [0, 1]. Then the image has
P′(E) − x·Q′(E) = Σ k·(p − x·q), and each term is at most (p − x·q)₊; the sum over E is at most the
profile. Sums are integrals for densities, and both laws always have densities against P + Q.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, dominated, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws, rational_pairs
from proofs.support.symbolic import nonnegative

POST_PROCESSING = Theorem(
    name="post-processing",
    statement="A kernel applied to both sides of a pair lowers its profile or leaves it.",
    source="Dwork, Roth, 2014, Prop. 2.1; Kairouz, Oh, Viswanath, ICML 2015, Thm 2.5",
    proof="proofs/post_processing.py",
)


def each_term_is_at_most_its_positive_part(most: int = 1) -> Step:
    """k·a ≤ (a)₊ for 0 ≤ k ≤ 1: the gap is (1−k)·a where a ≥ 0, and k·b where a = −b ≤ 0."""
    size, sent, kept = sp.symbols("a u v", nonnegative=True)
    share = most * sent / (sent + kept)  # every k in [0, 1]
    gaps = ((1 - share) * size, share * size)
    holds = every(nonnegative(gap, (size, sent, kept)) for gap in gaps)
    return Step("k·a ≤ (a)₊", holds, "all k in [0, 1], all real a")


def images_are_dominated(*, one_kernel: bool = True) -> Step:
    """`dominates(pair, image)`, for kernels with entries in {0, 1/2, 1} from 3 outcomes to 2."""
    rows = rational_laws(2, 2)
    kernels = list(product(rows, repeat=3))
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 2):
        for index, kernel in enumerate(kernels):
            other = kernel if one_kernel else kernels[index - 1]
            image = FinitePair(left=_image(pair.left, kernel), right=_image(pair.right, other))
            holds &= dominated(pair, image)
            count += 1
    return Step("images are dominated", holds, f"{count} pairs and kernels")


def _image(law: object, kernel: tuple[tuple[Fraction, ...], ...]) -> list[Fraction]:
    assert isinstance(law, tuple)  # noqa: S101  # rational pairs hold tuples
    return [
        sum((p * row[j] for p, row in zip(law, kernel, strict=True)), Fraction(0)) for j in (0, 1)
    ]


PROOF = Proof(
    theorem=POST_PROCESSING,
    clauses=(
        Clause(
            "A kernel applied to both sides of a pair lowers its profile or leaves it.",
            by=(each_term_is_at_most_its_positive_part, images_are_dominated),
            argued=(
                "that an event of the image is a sum of k·(p − x·q), or an integral, as both laws have "
                "densities against P + Q"
            ),
        ),
    ),
    mutations={
        "k may be 2": lambda: each_term_is_at_most_its_positive_part(most=2),
        "one kernel a side": lambda: images_are_dominated(one_kernel=False),
    },
)
