"""Batches of fixed size in shuffled order.

Upper. Given the order, exactly one batch holds the record, the same one on both sides, and its output is dominated by
(P, Q) given all that was seen before; the other batches do not differ. A mean over orders, which both sides share, has a
profile of at most the largest.

Lower. All other records contribute c, the old one v and the new one w, with |v − w|, |v − c|, |w − c| ≤ s: the batch of
the record, at a uniformly random place, is moved by v − c or by w − c. At w = c that is random allocation. At the corners of
an equilateral triangle, the midpoint of v and w is √3/2·s away from c: in that direction the batch is moved by h = √3/2·s
on either side, and across it by ±s/2, where noise is independent. The batch that is highest in the first direction is the
one of the record with probability p = E Φ(h + Z)^(t−1); what it shows across is then N(±s/2, 1), and N(0, 1) otherwise.
"""

from fractions import Fraction
from itertools import permutations, product

import sympy as sp
from flint import acb, arb, ctx

from dpverify.pairs import Dominates, FinitePair, GaussianPair, dominates
from dpverify.pairs.gaussian import upper_tail
from dpverify.pairs.subsampling.shuffled import ShuffledPair, standing_out
from dpverify.theorems import RANDOM_ALLOCATION, SHUFFLED_BATCHES, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, dominated, equal, every
from proofs.support.enclosures import integral
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import same


def small_epochs(ratio: int = 2) -> Step:
    """Four records in two batches of two, all orders, one replaced; both batches by a law that depends on the sum."""
    laws, holds, count = rational_laws(2, 6)[1:-1], VACUOUS, 0
    base = FinitePair.leaky_response(Fraction(2), 0)
    bound = FinitePair.leaky_response(Fraction(ratio), 0)
    for by_sum in product(laws, repeat=3):
        steps = [
            FinitePair(left=by_sum[i], right=by_sum[j]) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))
        ]
        if not all(isinstance(dominates(base, pair), Dominates) for pair in steps):
            continue
        for others in product((0, 1), repeat=3):
            made = FinitePair(left=_epoch(by_sum, (*others, 0)), right=_epoch(by_sum, (*others, 1)))
            holds &= dominated(bound, made)
            count += 1
    return Step("four records", holds & below(100, count), f"{count} epochs")


def _epoch(by_sum: tuple[tuple[Fraction, ...], ...], records: tuple[int, ...]) -> list[Fraction]:
    orders = list(permutations(records))
    return [
        sum((by_sum[a + b][i] * by_sum[c + d][j] for a, b, c, d in orders), Fraction(0))
        / len(orders)
        for i, j in product((0, 1), repeat=2)
    ]


def the_triangle(height: sp.Expr | None = None) -> Step:
    """c = (0, 0), v = (h, s/2), w = (h, −s/2) with h = √3/2·s: all three distances are s."""
    s = sp.Symbol("s", positive=True)
    h = (sp.sqrt(3) / 2 if height is None else height) * s
    corners = [sp.Matrix([0, 0]), sp.Matrix([h, s / 2]), sp.Matrix([h, -s / 2])]
    others = corners[1:] + corners[:1]
    holds = every(same((a - b).norm(), s) for a, b in zip(corners, others, strict=True))
    return Step("equilateral", holds, "all s > 0")


def the_library_has_this_probability(batches: int = 5) -> Step:
    """`standing_out` is at most E Φ(h + Z)^(t−1), by rigorous quadrature, and within a thousandth of it."""
    holds, count = VACUOUS, 0
    with ctx.workprec(96):
        for squared in (Fraction(1), Fraction(9)):
            h = (arb(squared.numerator) * 3 / 4).sqrt()

            def density(z: acb, h: arb = h) -> acb:
                below = (-(z + h) / arb(2).sqrt()).erfc() / 2
                return below ** (batches - 1) * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

            truth = integral(density, arb(-12), arb(12)) + arb(0, 1) * upper_tail(arb(12))
            found = standing_out(GaussianPair(squared), 5)
            holds &= at_most(found, truth) & at_most(truth * (1 - arb(1) / 1000), found)
            count += 1
    return Step("`standing_out`", holds, f"{count} sizes")


def the_library_lists_both_ends(factor: int = 1) -> Step:
    """`ShuffledPair` has the profile of its base, and each pair that is attained a smaller one, at δ(0)."""
    base = GaussianPair(Fraction(1))
    pair = ShuffledPair(base, 20)
    top = base.delta(0.0) / factor
    holds = equal(pair.delta(0.0), base.delta(0.0))
    holds &= every(at_most(one.delta_bracket(0.0).lower, top) for one in pair.attained)
    return Step("`ShuffledPair`", holds, f"{len(pair.attained)} instances")


PROOF = Proof(
    theorem=SHUFFLED_BATCHES,
    clauses=(
        Clause(
            (
                "If (P, Q) dominates a mechanism when one record of a batch is replaced, it dominates an "
                "epoch of batches of fixed size in random order."
            ),
            by=(small_epochs,),
            argued=(
                "that given the order one batch differs, and a mean over orders that both sides share is at "
                "most the largest"
            ),
        ),
        Clause(
            (
                "The mean over places of noise moved in one of them, against noise that is not moved, is an "
                "instance;"
            ),
            argued="that at w = c the batch of the record is moved by v − c: random-allocation",
        ),
        Clause(
            (
                "so is, for Gaussian noise moved by s, the mixture p·N(s/2) + (1−p)·N(0) against p·N(−s/2) + "
                "(1−p)·N(0), where p is the probability that a normal with mean √3/2·s exceeds t − 1 standard "
                "normals."
            ),
            by=(the_triangle,),
            argued=(
                "that the batch that is highest in one direction is the one of the record with probability p, "
                "and noise across is independent"
            ),
        ),
    ),
    library=(the_library_has_this_probability, the_library_lists_both_ends),
    uses=(RANDOM_ALLOCATION, POST_PROCESSING),
    mutations={
        "no loss at all": lambda: small_epochs(ratio=1),
        "height s": lambda: the_triangle(height=sp.Integer(1)),
        "one batch more": lambda: the_library_has_this_probability(batches=6),
        "a hundredth of the base": lambda: the_library_lists_both_ends(factor=100),
    },
)
