"""Definition 3.2 asks for f((x+y)/2) ≤ (f(x)+f(y))/2 alone. Lemma 3.3 calls that equivalent to an affine lower bound; it is not.

Let f be additive, f(x + y) = f(x) + f(y), with f(1) = 0 and f(√2) = 1. Such an f on the reals exists by the axiom of choice (a basis over the rationals that
holds 1 and √2); on the numbers a + b·√2 it is f = b, whatever it is elsewhere. It has equality at every midpoint. An affine g ≤ f with g(0) = f(0) = 0 is
g(y) = c·y, and f(−y) = −f(y) turns c·y ≤ f(y) into equality for all y: then c = f(1) = 0 and c·√2 = f(√2) = 1. Nor is f below its
chords: √2 is at the share √2/2 of the way from 0 to 2, and f(√2) = 1 exceeds the chord's 0. With continuity the definition is right: see convexity.
It is consistent without the axiom of choice that every such function is continuous, so nobody will meet one in a program.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.convexity import CONVEXITY
from proofs.support.checks import VACUOUS, below, equal
from proofs.support.form import Counterexample, Proof
from proofs.support.symbolic import same

MIDPOINT_CONVEXITY = Theorem(
    name="notes-midpoint-convexity",
    statement=(
        "A function on the reals with f((x+y)/2) ≤ (f(x)+f(y))/2 for all x, y has, for every x, an affine g with g(x) = f(x) and g ≤ f."
    ),
    source="Smith, Ullman, notes on private ERM, Definition 3.2 with Lemma 3.3",
    proof="proofs/refuted/midpoint_convexity.py",
)
_SMALL = [Fraction(k, 2) for k in range(-3, 4)]
Number = tuple[Fraction, Fraction]  # a + b·√2


def value(x: Number) -> Fraction:
    """f(a + b·√2) = b."""
    return x[1]


def middle(x: Number, y: Number) -> Number:
    return (x[0] + y[0]) / 2, (x[1] + y[1]) / 2


def midpoints_are_equalities(power: int = 1) -> Step:
    """f((x+y)/2) = (f(x)+f(y))/2, for all a + b·√2: the second coordinate is additive."""
    holds, count = VACUOUS, 0
    numbers = [(a, b) for a in _SMALL for b in _SMALL]
    for x, y in product(numbers, repeat=2):
        holds &= equal(value(middle(x, y)), (value(x) ** power + value(y) ** power) / 2)
        count += 1
    b, d = sp.symbols("b d", real=True)
    holds &= same((b + d) / 2, (b**power + d**power) / 2)
    return Step("midpoints", holds, f"all numbers a + b·√2, and {count} of them one by one")


def no_line_lies_below(at_root: int = 1) -> Step:
    """c·y ≤ f(y) and c·(−y) ≤ −f(y): c = f(1)/1 = 0 and c = f(√2)/√2 = 1/√2, of which the squares are 0 < 1/2."""
    one, root = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(at_root))
    holds = VACUOUS
    for x in (one, root):
        mirrored = (-x[0], -x[1])
        holds &= equal(value(mirrored), -value(x))  # so that c·x = f(x)
    slope_at_one, square_at_root = value(one), value(root) ** 2 / 2  # c, and c² = f(√2)²/2
    holds &= below(slope_at_one**2, square_at_root)
    return Step("no slope", holds, "all affine g with g(0) = 0")


def it_exceeds_a_chord(ends: Fraction = Fraction(0)) -> Step:
    """√2 = (1 − t)·0 + t·2 with t = √2/2 in (0, 1), and f(√2) = 1 > (1 − t)·f(0) + t·f(2) = 0."""
    t = sp.sqrt(2) / 2
    holds = same(t * 2, sp.sqrt(2)) & same(t**2, sp.Rational(1, 2))  # so that 0 < t < 1
    two: Number = (Fraction(2), ends)
    holds &= equal(value(two), 0) & below(0, value((Fraction(0), Fraction(1))))
    return Step("a chord", holds, "from 0 to 2, at √2")


PROOF = Proof(
    theorem=MIDPOINT_CONVEXITY,
    uses=(CONVEXITY,),
    cites=(
        "an additive function on the reals with f(1) = 0 and f(√2) = 1: Hamel, Math. Ann. 60, 1905, by the axiom of choice",
    ),
    mutations={
        "f = b²": lambda: midpoints_are_equalities(power=2),
        "f(√2) = 0": lambda: no_line_lies_below(at_root=0),
        "f(2) = 1": lambda: it_exceeds_a_chord(Fraction(1)),
    },
    counterexample=Counterexample(
        argued=(
            "that a slope would have to be two numbers at once, for every affine g: no instance decides that there is none; and that f exists, which is cited"
        ),
        claimed="an affine g ≤ f with g(0) = f(0)",
        instance=("f additive with f(1) = 0, f(√2) = 1: f(a + b·√2) = b for rational a, b",),
        truth="a slope c would be f(1) = 0 and f(√2)/√2 = 1/√2 at once",
        correction="for continuous f; or ask for f(t·x + (1−t)·y) ≤ t·f(x) + (1−t)·f(y) for all t in [0, 1]",
        by=(midpoints_are_equalities, no_line_lies_below, it_exceeds_a_chord),
    ),
)
