"""Parts of the data, each for one mechanism: what one record costs is what its part costs.

Neighbors differ in part j. Outputs x for the parts before j have the same law π on both sides. Given x, part j shows
y from Aₓ or Bₓ, two laws that are (ε, δ)-close whatever x is, and all that follows is drawn from x, y and the same other
parts, by one kernel k: it is post-processing of (x, y). So for every event E of (x, y, z)

    P(E) − e^ε·Q(E) = Σₓ π(x)·[Aₓ(f) − e^ε·Bₓ(f)],   f(y) = k(E | x, y) in [0, 1],

and each bracket is at most δ. At every single output π(x)·Aₓ(y)·k(z)/(π(x)·Bₓ(y)·k(z)) = Aₓ(y)/Bₓ(y): the loss is that of part
j, given x, so that largest losses stay, and a mean of e^((α−1)·loss) over x is at most the largest of them.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import PARALLEL_COMPOSITION


def losses_stay(power: int = 1) -> Step:
    """π·A·k/(π·B·k) = A/B."""
    p, a, b, k = sp.symbols("p a b k", positive=True)
    return Step("losses stay", same(p**power * a * k / (p * b * k), a / b), "all outputs")


def means_stay(total: int = 1) -> Step:
    """δ − Σ π(x)·d(x) ≥ 0 for Σ π = 1 and d(x) = δ − r(x) ≤ δ: here two values of x, and so for any number."""
    first, second, r, s, d = sp.symbols("first second r s d", nonnegative=True)
    # π = first, second over their sum.
    gap = total * d * (first + second) - (first * (d - r) + second * (d - s))
    holds = nonnegative(sp.expand(gap), (first, second, r, s, d))
    return Step("means stay", holds, "two values, and any number by induction")


def _joint(pairs: list[FinitePair], prefix: list[Fraction], kernel: list[Fraction]) -> FinitePair:
    """The law of (x, y, z): x before, y from pair x, z a bit that depends on both by the kernel."""
    left, right = [], []
    for x, pair in enumerate(pairs):
        for y, (a, b) in enumerate(zip(pair.left, pair.right, strict=True)):
            chance = kernel[(x + y) % len(kernel)]
            for part in (chance, 1 - chance):
                left.append(prefix[x] * a * part)
                right.append(prefix[x] * b * part)
    return FinitePair(left=left, right=right)


def all_small_laws(shrink: Fraction = Fraction(1)) -> Step:
    """δ at ratios 1, 3/2 and 2 of all joint laws of two pairs on two outcomes, with thirds, is at most the larger of theirs."""
    holds, count, attained = VACUOUS, 0, False
    small = list(rational_pairs(2, 3))
    kernel = [Fraction(1, 3), Fraction(1), Fraction(1, 2)]
    for pairs in product(small, repeat=2):
        for prefix in ([Fraction(1), Fraction(0)], [Fraction(1, 4), Fraction(3, 4)]):
            joint = _joint(list(pairs), prefix, kernel)
            for ratio in (Fraction(1), Fraction(3, 2), Fraction(2)):
                most = max(pair.delta_at_ratio(ratio) for pair in pairs)
                found = joint.delta_at_ratio(ratio)
                holds &= at_most(found, most * shrink)
                attained |= found == most > 0
                count += 1
    return Step("small laws", holds & equal(attained, other=True), f"{count} joint laws")


PROOF = Proof(
    theorem=PARALLEL_COMPOSITION,
    clauses=(
        Clause(
            (
                "If a dataset is cut into parts such that neighbors differ in one part only, and each part is given to a "
                "mechanism that is (ε, δ)-DP whatever came out for the parts before it, then all outputs together are "
                "(ε, δ)-DP;"
            ),
            by=(means_stay, all_small_laws),
            argued=(
                "that outputs before the part have the same law on both sides, and outputs after it are post-processing"
            ),
        ),
        Clause(
            (
                "largest losses, Rényi divergences and trade-offs that hold for every part hold for all together as "
                "well."
            ),
            by=(losses_stay, means_stay),
            argued=(
                "that the mean over x of e^((α−1)·loss) is at most the largest; and that an error of a test is the mean of "
                "those given x, of which each pair lies above one convex trade-off"
            ),
        ),
    ),
    uses=(POST_PROCESSING,),
    mutations={
        "π squared": lambda: losses_stay(power=2),
        "no mass": lambda: means_stay(total=0),
        "nine tenths of it": lambda: all_small_laws(Fraction(9, 10)),
    },
)
