"""Blackwell's theorem for finite pairs, with the kernel built in rationals.

One direction is post-processing. For the other, write an outcome of masses p, q as weight p + q at
the share s = p/(p+q) in [0, 1]. The profile becomes g(c) = Σ weight·(s − c)₊ at c = x/(1+x): convex,
piecewise linear, with a kink of size `weight` at each s. Let g lie nowhere above the g′ of `strong`,
and let ℓ be one of the lines that g′ consists of. Raising g to max(g, ℓ) changes it on one interval
(a, b) only, and there by taking every kink inside and splitting it between a and b, so that weight
and mean stay: one outcome becomes two whose union it is. After all lines of g′ were used, g has
become max(g, g′) = g′. So `weak` is a union of parts of outcomes of `strong`: a post-processing.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product

import sympy as sp

from dpverify.pairs import Dominates, FinitePair, dominates
from dpverify.theorems import BLACKWELL, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, equal, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same


def splitting_keeps_weight_and_mean(swap: int = 0) -> Step:
    """w·(b−s)/(b−a) at a and w·(s−a)/(b−a) at b: both ≥ 0, sum w, mean s, hence P and Q kept."""
    a, low, high, weight = sp.symbols("a low high w", positive=True)
    s, b = a + low, a + low + high
    shares = (high / (low + high), low / (low + high))
    at_a, at_b = weight * shares[swap], weight * shares[1 - swap]
    kept = same(at_a + at_b, weight) & same(at_a * a + at_b * b, weight * s)
    holds = kept & nonnegative(at_a, (a, low, high, weight))
    return Step("a kink splits", holds, "all a < s < b, all weights")


def splitting_raises_to_the_line(swap: int = 0) -> Step:
    """On (a, b) the split kinks leave a line: Σ w·(s−c)₊ becomes the chord from a to b."""
    a, low, high, before, weight = sp.symbols("a low high before w", positive=True)
    s, b, c = a + low, a + low + high, a + before
    shares = (high / (low + high), low / (low + high))
    at_a, at_b = weight * shares[swap], weight * shares[1 - swap]
    # A kink at s contributes w·(s−a) at a and 0 at b; its chord at c between them:
    chord = weight * (s - a) * (b - c) / (b - a)
    holds = same(at_b * (b - c), chord) & same(at_a + at_b, weight)
    return Step("to the chord", holds, "all a < c < b")


def corners_decide(dropped: int = 0) -> Step:
    """A profile that is not above `strong` at the corners of `strong`, at 0 and at ∞ is nowhere above it.

    Between its corners `strong` is a line, and `weak` is convex; here at 24 ratios between and beyond.
    """
    ratios, holds, count = [Fraction(k, 4) for k in range(1, 25)], VACUOUS, 0
    for strong, weak in product(list(rational_pairs(3, 3))[::3], list(rational_pairs(3, 4))[::7]):
        corners = sorted(c for c in strong.corners if c)[dropped:]
        ends = sum(q for p, q in weak.masses() if not p) <= sum(
            q for p, q in strong.masses() if not p
        ) and sum(p for p, q in weak.masses() if not q) <= sum(
            p for p, q in strong.masses() if not q
        )
        if ends and all(weak.delta_at_ratio(c) <= strong.delta_at_ratio(c) for c in corners):
            holds &= every(
                at_most(weak.delta_at_ratio(x), strong.delta_at_ratio(x)) for x in ratios
            )
            count += 1
    return Step("corners decide", holds, f"{count} pairs that lie below at the corners")


@dataclass
class _Kinks:
    """Weights at shares, each remembering from which outcome of `weak` it comes."""

    at: dict[Fraction, dict[int, Fraction]] = field(default_factory=dict)

    def add(self, share: Fraction, origin: int, weight: Fraction) -> None:
        if weight:
            place = self.at.setdefault(share, {})
            place[origin] = place.get(origin, Fraction(0)) + weight

    def value(self, c: Fraction) -> Fraction:
        """g(c)."""
        return sum(
            (sum(w.values()) * max(s - c, Fraction(0)) for s, w in self.at.items()), Fraction(0)
        )

    def raise_to(self, start: Fraction, end: Fraction, goal: "_Kinks") -> None:
        """max(g, ℓ) for the line ℓ of `goal` between two of its kinks."""
        slope = (goal.value(end) - goal.value(start)) / (end - start)
        level = goal.value(start) - slope * start
        ends = self._crossings(slope, level)
        if ends is None:
            return
        a, b = ends
        for s in [s for s in self.at if a < s < b]:
            for origin, weight in self.at.pop(s).items():
                self.add(a, origin, weight * (b - s) / (b - a))
                self.add(b, origin, weight * (s - a) / (b - a))

    def _crossings(self, slope: Fraction, level: Fraction) -> tuple[Fraction, Fraction] | None:
        """The ends of the interval on which g lies below the line; None if it nowhere does."""
        nodes = sorted({Fraction(0), Fraction(1), *self.at})
        gaps = [self.value(c) - slope * c - level for c in nodes]
        if min(gaps) >= 0:
            return None
        first = next(i for i, gap in enumerate(gaps) if gap < 0)
        last = max(i for i, gap in enumerate(gaps) if gap < 0)
        return (_root(nodes, gaps, first - 1), _root(nodes, gaps, last))


def _root(nodes: list[Fraction], gaps: list[Fraction], i: int) -> Fraction:
    return nodes[i] + (nodes[i + 1] - nodes[i]) * gaps[i] / (gaps[i] - gaps[i + 1])


def _kinks(pair: FinitePair) -> _Kinks:
    kinks = _Kinks()
    for index, (p, q) in enumerate(pair.masses()):
        if p + q:
            kinks.add(p / (p + q), index, p + q)
    return kinks


def exact_kernel(strong: FinitePair, weak: FinitePair) -> bool:
    """Whether the construction ends in a kernel that maps strong to weak, exactly."""
    kinks, goal = _kinks(weak), _kinks(strong)
    nodes = sorted({Fraction(0), Fraction(1), *goal.at})
    for start, end in pairwise(nodes):
        kinks.raise_to(start, end, goal)
    totals = {s: sum(w.values(), Fraction(0)) for s, w in goal.at.items()}
    if {s: sum(w.values(), Fraction(0)) for s, w in kinks.at.items()} != totals:
        return False
    left, right = [Fraction(0)] * len(weak), [Fraction(0)] * len(weak)
    for share, parts in kinks.at.items():
        for origin, weight in parts.items():  # the kernel's entry is weight/totals[share]
            left[origin] += share * totals[share] * (weight / totals[share])
            right[origin] += (1 - share) * totals[share] * (weight / totals[share])
    return (tuple(left), tuple(right)) == (weak.left, weak.right)


def the_library_decides(*, strictly: bool = True) -> Step:
    """`dominates` says yes exactly where the construction ends in a kernel of residual 0."""
    strong_pairs = list(rational_pairs(3, 3))[::3]
    weak_pairs = [*rational_pairs(2, 4), *list(rational_pairs(3, 4))[::11]]
    holds, yes, count = VACUOUS, 0, 0
    for strong, weak in product(strong_pairs, weak_pairs):
        says = isinstance(dominates(strong, weak), Dominates)
        found = exact_kernel(strong, weak) if strictly else True
        holds &= equal(int(says), int(found))
        yes += says
        count += 1
    return Step("`dominates`", holds & below(0, yes) & below(yes, count), f"{yes} yes of {count}")


PROOF = Proof(
    theorem=BLACKWELL,
    clauses=(
        Clause(
            (
                "One finite pair is a post-processing of another if and only if its profile lies nowhere "
                "above the other's, for every ratio e^ε from 0 to ∞."
            ),
            by=(
                splitting_keeps_weight_and_mean,
                splitting_raises_to_the_line,
                corners_decide,
                the_library_decides,
            ),
            argued=(
                "that raising g to each line of g′ in turn ends at g′, every step being a split; that one "
                "direction is post-processing"
            ),
        ),
    ),
    uses=(POST_PROCESSING,),
    mutations={
        "the first corner forgotten": lambda: corners_decide(dropped=1),
        "chord to the wrong end": lambda: splitting_raises_to_the_line(swap=1),
        "weights exchanged": lambda: splitting_keeps_weight_and_mean(swap=1),
        "a kernel always exists": lambda: the_library_decides(strictly=False),
    },
)
