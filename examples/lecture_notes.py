"""Two theorems of lecture notes that are false: printed claim, truth, refutation, repair.

python examples/lecture_notes.py

Each is small enough to be sampled exactly: objective perturbation of a linear loss has a closed
form, and the exponential mechanism on [−1, 1] with a linear loss is a truncated exponential
distribution. The same audit runs twice, on the constant that the notes print and on the right one.
"""

import math
import sys
from dataclasses import dataclass

import numpy as np
from flint import arb

from dpverify.accounting.calibration import calibrate
from dpverify.arrays import Floats
from dpverify.auditing import Refuted, Verdict, audit
from dpverify.auditing.sampling.drawing import Target
from dpverify.balls import ball, enclose
from dpverify.errors import NotSupported, check_positive
from dpverify.guarantees import ApproxDP, Bracket, Guarantee, PureDP
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair
from dpverify.theorems import (
    ANALYTIC_GAUSSIAN,
    BETTING,
    CLOPPER_PEARSON,
    EXPONENTIAL_MECHANISM,
    STOUFFER,
    Theorem,
)
from proofs.support.catalog import find

LEVEL = 0.01
SEED = 7
SAMPLES = 200_000
LEVEL_RESTS_ON = (STOUFFER, BETTING, CLOPPER_PEARSON)  # why a verdict's level is true
_GRID = 2.0**-20  # what is released is rounded to it, so that the bits of floats tell nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One error of the notes, and all that shows it.

    `refutation` is the theorem's name in `dpverify prove`, whose counterexample has certified
    digits; `truth` and `true_epsilon` are certified for the very pair that is audited. `replayed`
    judges the witness of `verdict` again, on fresh draws.
    """

    title: str
    source: str
    printed: str
    claim: Guarantee
    pair: str
    truth: str
    true_epsilon: Bracket
    verdict: Refuted
    replayed: Verdict
    correction: str
    repaired: Verdict
    refutation: str
    counterexample: str
    theorem: Theorem

    @property
    def holds(self) -> bool:
        """Whether the story is as told: the printed constant refuted, the right one not."""
        return self.replayed.refuted and not self.repaired.refuted


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearObjectivePerturbation:
    """The minimizer of Σ⟨θ, x⟩ + (λ/2)·θ² + b·θ for records |x| ≤ 1, b ~ N(0, σ²): −(Σx + b)/λ."""

    sigma: float
    regularization: float = 1.0

    def __post_init__(self) -> None:
        check_positive("sigma", self.sigma)
        check_positive("regularization", self.regularization)

    def sample(self, data: Floats, size: int, *, rng: np.random.Generator) -> Floats:
        noise = self.sigma * rng.standard_normal(size)
        return _rounded(-(np.sum(data) + noise) / self.regularization)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearExponentialERM:
    """The exponential mechanism for ℓ(w; x) = w·x on C = [−1, 1]: density ∝ e^(−ε·Σx·w/(2Δ))."""

    epsilon: float
    loss_bound: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("loss_bound", self.loss_bound)

    def rate(self, data: Floats) -> float:
        """k in e^(−k·w)."""
        return self.epsilon * float(np.sum(data)) / (2.0 * self.loss_bound)

    def sample(self, data: Floats, size: int, *, rng: np.random.Generator) -> Floats:
        """By inversion: P(W ≤ w) = (1 − e^(−k(w+1)))/(1 − e^(−2k))."""
        k, uniform = self.rate(data), rng.random(size)
        if k == 0.0:
            return _rounded(2.0 * uniform - 1.0)
        return _rounded(-1.0 - np.log1p(uniform * math.expm1(-2.0 * k)) / k)


def _rounded(outputs: Floats) -> Floats:
    rounded: Floats = np.round(outputs / _GRID) * _GRID
    return rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """What is audited twice: a claim, a pair of datasets, and where to start drawing."""

    claim: Guarantee
    left: Floats
    right: Floats
    seed: int
    samples: int

    def judge(self, mechanism: Target) -> Verdict:
        return audit(
            mechanism,
            left=self.left,
            right=self.right,
            claim=self.claim,
            level=LEVEL,
            seed=self.seed,
            samples=self.samples,
            method="fixed",
        )

    def refute(self, mechanism: Target) -> tuple[Refuted, Verdict]:
        """The refutation, and its witness on as many fresh draws."""
        verdict = self.judge(mechanism)
        if not isinstance(verdict, Refuted):
            raise NotSupported(f"samples={self.samples} must be more to refute {self.claim}")
        return verdict, verdict.witness.replay(
            mechanism, samples=self.samples, seed=self.seed + 1, level=LEVEL
        )


def objective_perturbation(*, seed: int = SEED, samples: int = SAMPLES) -> Headline:
    """Theorem 14.3: σ² = 10·L²·ln(1/δ)/ε² does not give (ε/2 + ln(1 + 2β/λ), δ)."""
    epsilon, delta = 4.0, 1e-3
    claim = ApproxDP(epsilon=epsilon / 2, delta=delta)  # β = 0: ln(1 + 2β/λ) = 0
    printed = math.sqrt(10.0 * math.log(1.0 / delta)) / epsilon
    right = calibrate(
        lambda s: Gaussian(sigma=s, l2_sensitivity=2.0),
        budget=claim,
        relation=Relation.REPLACE_ONE,
    )
    common = [0.25, -0.5, 0.75]
    case = _Case(
        claim=claim,
        left=np.array([*common, 1.0]),
        right=np.array([*common, -1.0]),
        seed=seed,
        samples=samples,
    )
    verdict, replayed = case.refute(LinearObjectivePerturbation(sigma=printed))
    pair = GaussianPair.of(sigma=printed, sensitivity=2.0)
    exact = pair.delta_bracket(claim.epsilon)
    return Headline(
        title="Objective perturbation with Gaussian noise, Theorem 14.3",
        source="Wang, CS 325, lecture 14",
        printed="b ~ N(0, 10·L²·ln(1/δ)/ε²) gives (ε/2 + ln(1 + 2β/λ), δ)-DP",
        claim=claim,
        pair="ℓ(θ; x) = θ·x, |x| ≤ 1 (L = 1, β = 0), ε = 4, δ = 0.001; one record from 1 to −1",
        truth=f"δ = {exact.upper:.5f} at ε = 2, {exact.upper / delta:.0f} times the claim",
        true_epsilon=pair.epsilon_bracket(delta),
        verdict=verdict,
        replayed=replayed,
        correction=f"σ from the exact profile, H(ε/2, 2L/σ) ≤ δ: {right:.4f}, not {printed:.4f}",
        repaired=case.judge(LinearObjectivePerturbation(sigma=right)),
        refutation="notes-objective-perturbation-gaussian",
        counterexample=_counterexample("notes-objective-perturbation-gaussian"),
        theorem=ANALYTIC_GAUSSIAN,
    )


def erm_radius(*, seed: int = SEED, samples: int = SAMPLES) -> Headline:
    """Theorem 2.5: on the ball of radius R the exponential mechanism needs Δ = 2GR, not GR."""
    epsilon = 1.0
    case = _Case(
        claim=PureDP(epsilon=epsilon),
        left=np.repeat([1.0, -1.0], [53, 47]),
        right=np.repeat([1.0, -1.0], [52, 48]),
        seed=seed,
        samples=samples,
    )
    wrong, right = (LinearExponentialERM(epsilon=epsilon, loss_bound=bound) for bound in (1.0, 2.0))
    verdict, replayed = case.refute(wrong)
    truth, mended = (_largest_loss(each, case.left, case.right) for each in (wrong, right))
    return Headline(
        title="The exponential mechanism for ERM, Theorem 2.5",
        source="Smith, Ullman, notes on private ERM",
        printed="on the ball of radius R, Δ = G·R makes ExpMech-ERM ε-DP",
        claim=case.claim,
        pair="C = [−1, 1], ℓ(w; x) = w·x, x = ±1 (G = R = 1), ε = 1; 53 of 100 are 1, then 52",
        truth=f"the loss ln p′(w)/p(w) reaches {truth.upper:.5f} at w = 1",
        true_epsilon=truth,
        verdict=verdict,
        replayed=replayed,
        correction=f"Δ = 2·G·R, the diameter times G: the loss is then at most {mended.upper:.5f}",
        repaired=case.judge(right),
        refutation="notes-erm-radius",
        counterexample=_counterexample("notes-erm-radius"),
        theorem=EXPONENTIAL_MECHANISM,
    )


def _largest_loss(mechanism: LinearExponentialERM, left: Floats, right: Floats) -> Bracket:
    """(k − k′) + ln(Z/Z′) at w = 1, where the loss against the flatter law is largest.

    Z = 2·sinh(k)/k. The loss is affine in w, so an end of [−1, 1] has the largest.
    """
    steep, flat = mechanism.rate(left), mechanism.rate(right)

    def formula() -> arb:
        k, other = ball(steep), ball(flat)
        return (k - other) + ((k.sinh() / k) / (other.sinh() / other)).log()

    return Bracket(*enclose(formula), theorem=EXPONENTIAL_MECHANISM)


def _counterexample(name: str) -> str:
    """The instance with certified digits that `dpverify prove` runs."""
    found = find(name).counterexample
    return "" if found is None else f"claimed: {found.claimed}; truth: {found.truth}"


def told(story: Headline) -> str:
    """The story in lines, as it is printed."""
    shown, again, mended = story.verdict, story.replayed, story.repaired
    lines = {
        "printed": f"{story.printed} [{story.source}]",
        "proof": f"{story.counterexample} (dpverify prove {story.refutation})",
        "audited": story.pair,
        "claimed": str(story.claim),
        "exact": f"{story.truth}; the exact ε is {story.true_epsilon.upper:.6f}",
        "verdict": f"REFUTED at level {shown.level:g}: ε ≥ {shown.epsilon_lower:.3f}, "
        f"{shown.samples:,} draws a side",
        "witness": str(shown.witness).replace("\n", "\n           "),
        "replay": f"{_outcome(again)} on fresh draws: ε ≥ {again.epsilon_lower:.3f}",
        "instead": f"{story.correction} [{story.theorem.name}]",
        "again": f"{_outcome(mended)} by the same audit, ε ≥ {mended.epsilon_lower:.3f}",
    }
    return "\n".join([story.title, *(f"  {label:<8} {text}" for label, text in lines.items())])


def _outcome(verdict: Verdict) -> str:
    return "refuted" if verdict.refuted else "not refuted"


def main() -> int:
    stories = [objective_perturbation(), erm_radius()]
    print("\n\n".join(map(told, stories)))
    names = ", ".join(theorem.name for theorem in LEVEL_RESTS_ON)
    print(f"\nThe level of a verdict is a theorem, too: {names}")
    return 0 if all(story.holds for story in stories) else 1


if __name__ == "__main__":
    sys.exit(main())
