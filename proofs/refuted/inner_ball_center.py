"""The proof of Theorem 2.5 puts a ball of radius r/2 at ((R−r)/R)·w*. It reaches beyond distance r of w*.

For w* on the boundary the center is r away from it, so the ball has points at distance 3r/2. With the
center ((R − r/2)/R)·w* it lies inside C and within r of w*, as the proof needs.
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import at_most, below, equal
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import same

INNER_BALL_CENTER = Theorem(
    name="notes-inner-ball",
    statement=(
        "The ball of radius r/2 around ((R−r)/R)·w* lies within distance r of w*, for ‖w*‖ = R ≥ r."
    ),
    source="Smith, Ullman, notes on private ERM, proof of Thm 2.5",
    proof="proofs/refuted/inner_ball_center.py",
)


def farthest(share: Fraction) -> Fraction:
    """The largest distance to w* = R of the ball around (R − share·r)·w*/R, at R = 1, r = 1/2."""
    r = Fraction(1, 2)
    return share * r + r / 2


def a_point_is_too_far(share: Fraction = Fraction(1)) -> Step:
    """R = 1, r = 1/2, w* = 1: the ball is [1/4, 3/4], and 1 − 1/4 = 3/4 > r."""
    holds = equal(farthest(share), Fraction(3, 4)) & below(Fraction(1, 2), Fraction(3, 4))
    return Step("a point too far", holds, "R = 1, r = 1/2")


def the_right_center(half: int = 2) -> Step:
    """Center R − r/2: distances r/2 + r/2 = r to w*, and R − r/2 + r/2 = R to 0."""
    size, r = sp.symbols("R r", positive=True)
    center = size - r / half
    holds = same(size - (center - r / 2), r) & same(center + r / 2, size)
    return Step("the right center", holds, "all r ≤ R")


def _is_a_radius(share: Fraction) -> Check:
    """r = 1/2 ≤ R = 1, and the center is inside."""
    return at_most(Fraction(1, 2), 1) & at_most(share * Fraction(1, 2), 1)


def _is_near(share: Fraction) -> Check:
    """The farthest point of the ball around (R − share·r)·w*/R is within r of w*; the notes have share 1."""
    return at_most(farthest(share), Fraction(1, 2))


PROOF = Proof(
    theorem=INNER_BALL_CENTER,
    mutations={
        "R − r/2 is no counterexample": lambda: a_point_is_too_far(Fraction(1, 2)),
        "R − r": lambda: the_right_center(half=1),
    },
    counterexample=Counterexample(
        claim=Claim(_is_a_radius, _is_near),
        at=Fraction(1),
        control=Fraction(1, 2),
        argued=(
            "that in one dimension the farthest point is r/2 behind the center; the control is the center of the correction"
        ),
        claimed="within r = 1/2 of w*",
        instance=("d = 1, R = 1, r = 1/2, w* = 1: the ball is [1/4, 3/4]",),
        truth="the point 1/4 is 3/4 away",
        correction="((R − r/2)/R)·w*",
        by=(a_point_is_too_far, the_right_center),
    ),
)
