"""The stories that the demonstration tells: two mechanisms audited, a budget, a private model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import Calibration, calibration
from dpverify.auditing import Progress, Verdict, audit
from dpverify.guarantees import ApproxDP, Bracket, PureDP, to_dict
from dpverify.mechanisms import Gaussian, Laplace, Subsampled
from dpverify.neighbors import Relation

LEVEL = 0.01
SEED = 7


def off_by_two(data: list[float], rng: np.random.Generator) -> float:
    """A mean of numbers in [−1, 1] whose author took its sensitivity for 1/n; it is 2/n."""
    total = float(np.clip(data, -1.0, 1.0).mean())
    return float(Laplace(scale=1.0 / len(data)).sample(total, 1, rng=rng)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoAudits:
    """A correct mechanism and a subtly broken one, held against the same claim."""

    claim: PureDP
    correct: Verdict
    broken: Verdict
    history: tuple[Progress, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"correct": self.correct.to_dict(), "broken": self.broken.to_dict()}


def two_audits() -> TwoAudits:
    """Laplace noise at its exact scale; and a mean with half the noise it needs."""
    claim = PureDP(epsilon=1.0)
    correct = audit(
        Laplace(scale=1.0, l1_sensitivity=1.0),
        left=0.0,
        right=1.0,
        claim=claim,
        level=LEVEL,
        seed=SEED,
        samples=100_000,
    )
    history: list[Progress] = []
    left, right = [1.0, 0.5, 0.0, 0.5], [-1.0, 0.5, 0.0, 0.5]
    broken = audit(
        off_by_two,
        left=left,
        right=right,
        claim=claim,
        level=LEVEL,
        seed=SEED,
        progress=history.append,
    )
    return TwoAudits(claim=claim, correct=correct, broken=broken, history=tuple(history))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The noise that a training run needs, and what the run then costs."""

    noise: Calibration
    spent: Bracket

    def to_dict(self) -> dict[str, Any]:
        return {"sigma": self.noise.noise, "spent": to_dict(self.spent)}


RATE, STEPS, TARGET = 0.01, 10_000, ApproxDP(epsilon=1.0, delta=1e-6)


def budget() -> Budget:
    """Poisson batches of rate 0.01, 10,000 steps, for (1, 1e-6)."""
    found = calibration(
        lambda s: Subsampled(Gaussian(sigma=s), rate=RATE),
        times=STEPS,
        budget=TARGET,
        relation=Relation.ADD_REMOVE,
    )
    return Budget(noise=found, spent=training(found.noise).epsilon(TARGET.delta, tolerance=1e-4))


def training(sigma: float) -> Accountant:
    """The accountant of that run."""
    step = Subsampled(Gaussian(sigma=sigma), rate=RATE)
    return Accountant(relation=Relation.ADD_REMOVE).compose(step, times=STEPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A private model on real data, and an audit of the algorithm that fitted it."""

    records: int
    features: int
    accuracy: float
    without_privacy: float
    claim: ApproxDP
    theorem: str
    distance: float
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "features": self.features,
            "accuracy": self.accuracy,
            "without_privacy": self.without_privacy,
            "claim": to_dict(self.claim),
            "theorem": self.theorem,
            "verdict": self.verdict.to_dict(),
        }


def private_model() -> Model:
    """Logistic regression on scikit-learn's breast cancer data, and its algorithm audited.

    The audit is of objective perturbation itself, at the same budget, on the pair of datasets that
    is hardest to hide: a record at the bound, there or not.
    """
    # Slow to import; no other verb than this and `fit` needs them.
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    import solvers  # noqa: PLC0415

    features, labels = load_breast_cancer(return_X_y=True)
    # Declared once, from what such measurements can be, not from these records.
    scale = np.array(_RANGES)
    rows = features / scale
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    known, held_out, known_labels, held_out_labels = train_test_split(
        rows, labels, test_size=0.25, random_state=SEED
    )
    claim = ApproxDP(epsilon=2.0, delta=1e-5)
    model = solvers.PrivateLogisticRegression(
        budget=claim,
        norm_bound=1.0,
        relation=Relation.ADD_REMOVE,
        classes=(0, 1),
        clip=True,  # a rounded norm may be above 1 by an ulp
        random_state=SEED,
    ).fit(known, known_labels)
    plain = LogisticRegression(C=100.0, max_iter=1000).fit(known, known_labels)
    return Model(
        records=len(known),
        features=known.shape[1],
        accuracy=float(model.score(held_out, held_out_labels)),
        without_privacy=float(plain.score(held_out, held_out_labels)),
        claim=claim,
        theorem=model.claim_.theorem.name,
        distance=float(model.certificate_.distance),
        verdict=_audited(claim),
    )


def _audited(claim: ApproxDP) -> Verdict:
    import solvers  # noqa: PLC0415  # as above

    mechanism = solvers.ObjectivePerturbation(
        problem=solvers.Problem(
            loss=solvers.Logistic(),
            bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
            regularizer=solvers.Ridge(0.5),
        ),
        budget=claim,
        relation=Relation.ADD_REMOVE,
    )
    with_record = (np.array([[1.0], [0.5]]), np.array([1.0, 1.0]))
    without = (np.array([[0.5]]), np.array([1.0]))
    return audit(
        mechanism, left=with_record, right=without, level=LEVEL, seed=SEED, samples=100_000
    )


# Largest values of the thirty measurements, each about as large as it can reasonably be.
_RANGES = (
    *(30.0, 40.0, 200.0, 2500.0, 0.2, 0.4, 0.5, 0.25, 0.4, 0.1),
    *(3.0, 5.0, 25.0, 550.0, 0.05, 0.15, 0.4, 0.06, 0.08, 0.03),
    *(40.0, 50.0, 250.0, 4500.0, 0.25, 1.0, 1.3, 0.3, 0.7, 0.2),
)
