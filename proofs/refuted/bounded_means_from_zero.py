"""Exercise 2.1 as written: a G-Lipschitz loss on a set of diameter R lies in [0, G·R]. It varies by G·R; it may lie anywhere.

Subtracting the least value, which no release depends on, makes it so (lipschitz-losses, erm-utility).
"""

from fractions import Fraction

from dpverify.theorems import Check, Step, Theorem
from proofs.lipschitz_losses import LIPSCHITZ_LOSSES
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.form import Claim, Counterexample, Proof

BOUNDED_MEANS_FROM_ZERO = Theorem(
    name="notes-bounded-from-zero",
    statement="A G-Lipschitz loss on a set of diameter R is G·R-bounded: its values lie in [0, G·R].",
    source="Smith, Ullman, notes on private ERM, Exercise 2.1 with the definition of a bounded loss",
    proof="proofs/refuted/bounded_means_from_zero.py",
)


def values_beyond(shift: int = 5) -> Step:
    """ℓ(w) = w + 5 on [0, 1] is 1-Lipschitz, and is 6 at w = 1."""
    at = [Fraction(k, 8) for k in range(9)]
    holds = VACUOUS
    for v in at:
        for w in at:
            holds &= at_most(abs((v + shift) - (w + shift)), abs(v - w))
    holds &= below(1, max(w + shift for w in at))
    return Step("w + 5", holds, "[0, 1], G = R = 1")


def after_a_shift(least: int = 5) -> Step:
    """w + 5 minus its least value is w, in [0, 1]."""
    at = [Fraction(k, 8) for k in range(9)]
    holds = equal(min(w + 5 - least for w in at), 0) & equal(max(w + 5 - least for w in at), 1)
    return Step("after a shift", holds, "[0, 1]")


def _is_lipschitz(shift: int) -> Check:
    """ℓ(w) = w + shift, which is affine: 1-Lipschitz as its ends are apart by their distance."""
    return at_most(abs((1 + shift) - (0 + shift)), 1)


def _is_bounded(shift: int) -> Check:
    """ℓ lies in [0, 1] at both ends of [0, 1]."""
    return at_most(0, 0 + shift) & at_most(1 + shift, 1)


PROOF = Proof(
    theorem=BOUNDED_MEANS_FROM_ZERO,
    uses=(LIPSCHITZ_LOSSES,),
    mutations={
        "w itself is no counterexample": lambda: values_beyond(shift=0),
        "another shift": lambda: after_a_shift(least=4),
    },
    counterexample=Counterexample(
        claim=Claim(_is_lipschitz, _is_bounded),
        at=5,
        control=0,
        argued=("that w + 5 is one of these losses, on a set of diameter 1"),
        claimed="values in [0, 1]",
        instance=("ℓ(w) = w + 5 on C = [0, 1], G = 1, R = 1",),
        truth="values in [5, 6]",
        correction="it varies by at most G·R; after a shift that no release depends on it lies in [0, G·R]",
        by=(values_beyond, after_a_shift),
    ),
)
