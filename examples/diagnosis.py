"""A hospital publishes a model that tells benign from malignant tumors.

569 patients, 30 measurements each. How good is a model at a privacy budget, what does it cost to
try several, and does the algorithm keep its promise?

python examples/diagnosis.py [plot.png]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import dpverify as dpv
import solvers
from dpverify.reporting.plots import risk_figure
from solvers.descent import DescentSetting
from solvers.quality.risks import measure_descent, series

RELATION = dpv.Relation.ADD_REMOVE
EPSILONS = (0.5, 1.0, 2.0, 4.0)


def declared_rows(features: np.ndarray) -> np.ndarray:
    """Rows of norm at most 1, by what such measurements usually are, not by these patients."""
    usual = np.tile([14.0, 19.0, 92.0, 650.0, 0.1, 0.1, 0.09, 0.05, 0.18, 0.06], 3)
    usual[10:20] /= 20.0
    centered = np.clip(features / usual - 1.0, -1.0, 1.0)
    return centered / np.sqrt(centered.shape[1])


def main() -> None:
    features, labels = load_breast_cancer(return_X_y=True)
    rows = declared_rows(features)
    train, test, train_labels, test_labels = train_test_split(
        rows, labels, test_size=0.25, random_state=0
    )
    plain = LogisticRegression(C=100.0, max_iter=5000).fit(train, train_labels)
    print(f"without privacy: {plain.score(test, test_labels):.1%} right")
    spent = dpv.Accountant(relation=RELATION)
    for epsilon in EPSILONS:
        model = solvers.PrivateLogisticRegression(
            budget=dpv.ApproxDP(epsilon=epsilon, delta=1e-5),
            norm_bound=1.0,
            relation=RELATION,
            classes=(0, 1),
            random_state=1,
        ).fit(train, train_labels)
        spent = spent.compose(model.claim_)
        print(f"ε = {epsilon:g}: {model.score(test, test_labels):.1%} right")
    together = spent.epsilon(delta=1e-4).upper
    print(f"publishing all four costs ε = {together:.2f} at δ = 1e-4, by {len(spent.parts)} claims")
    audit_the_algorithm()
    if len(sys.argv) > 1:
        draw(train, train_labels, Path(sys.argv[1]))


def audit_the_algorithm() -> None:
    """One patient at the bound, there or not, among few: the hardest case for the algorithm."""
    mechanism = solvers.ObjectivePerturbation(
        problem=solvers.Problem(
            loss=solvers.Logistic(),
            bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
            regularizer=solvers.Ridge(0.5),
        ),
        budget=dpv.ApproxDP(epsilon=1.0, delta=1e-5),
        relation=RELATION,
    )
    there = np.array([[1.0], [0.5]]), np.array([1.0, 1.0])
    gone = np.array([[0.5]]), np.array([1.0])
    verdict = dpv.audit(mechanism, left=there, right=gone, seed=1, samples=100_000)
    found = "refuted" if verdict.refuted else "not refuted"
    print(f"audit at ε = 1: {found}; shown: ε ≥ {verdict.epsilon_lower:.2f}")


def draw(rows: np.ndarray, labels: np.ndarray, path: Path) -> None:
    """Measured excess risk of noisy gradient descent against its bound, over budgets."""
    signs = np.where(labels == 1, 1.0, -1.0)
    setting = DescentSetting(
        loss=solvers.Logistic(),
        bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
        domain=solvers.Ball(5.0),
        relation=RELATION,
        records=len(rows),
    )
    found = measure_descent(
        setting,
        lambda count, _: (rows[:count], signs[:count]),
        budgets=[dpv.ApproxDP(epsilon=epsilon, delta=1e-5) for epsilon in EPSILONS],
        records=[100, len(rows)],
        repeats=50,
    )
    risk_figure(series(found)).savefig(path, dpi=150)
    print(f"plot: {path}")


if __name__ == "__main__":
    main()
