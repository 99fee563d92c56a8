"""The notes on ERM print the misclassification loss as 1 if y⟨w, x⟩ > 0. That is where the sign is right."""

from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import equal, every
from proofs.support.form import Claim, Counterexample, Proof

MISCLASSIFICATION_LOSS = Theorem(
    name="notes-misclassification-loss",
    statement="1 if y⟨w, x⟩ > 0 and 0 otherwise counts the wrong predictions sign⟨w, x⟩ ≠ y.",
    source="Smith, Ullman, notes on private ERM, further examples",
    proof="proofs/refuted/misclassification_loss.py",
)


def it_is_inverted(sign: int = 1) -> Step:
    """On all w, x, y = ±1 the printed loss is 1 exactly where the prediction is right."""
    cases = [(w, x, y) for w in (1, -1) for x in (1, -1) for y in (1, -1)]
    holds = every(equal(int(sign * y * w * x > 0), int(w * x == y)) for w, x, y in cases)
    return Step("inverted", holds, f"{len(cases)} cases")


def _is_a_case(case: tuple[int, int, int, int]) -> Check:
    """w, x and y are ±1."""
    return every(equal(abs(number), 1) for number in case)


def _counts_errors(case: tuple[int, int, int, int]) -> Check:
    """1 if sign·y⟨w, x⟩ > 0 is 1 where the prediction is wrong; the notes have the sign +1."""
    w, x, y, sign = case
    return equal(int(sign * y * w * x > 0), int(w * x != y))


PROOF = Proof(
    theorem=MISCLASSIFICATION_LOSS,
    mutations={"y⟨w, x⟩ < 0 is no counterexample": lambda: it_is_inverted(sign=-1)},
    counterexample=Counterexample(
        claim=Claim(_is_a_case, _counts_errors),
        at=(1, 1, 1, 1),
        control=(1, 1, 1, -1),
        argued=("that the sign of w·x is w·x for ±1; the control has the sign of the correction"),
        claimed="loss 1 for a wrong prediction",
        instance=("w = 1, x = 1, y = 1: the prediction is right",),
        truth="y⟨w, x⟩ = 1 > 0, so the printed loss is 1",
        correction="1 if y⟨w, x⟩ ≤ 0",
        by=(it_is_inverted,),
    ),
)
