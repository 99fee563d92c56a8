"""R² of AdaSSP: least squares from noisy statistics, with a ridge by a noisy least eigenvalue.

[Wang, Revisiting differentially private linear regression, UAI 2018, Algorithm 2], add/remove;
β = 1/20 as there. A constant feature of a quarter stands for the intercept, as for dpverify.
"""

import math
from typing import Any

import measuring
import numpy as np
from splits import explained, splits

FAILURE, CONSTANT = 0.05, 0.25


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:  # noqa: ARG001
    found = []
    for seed, (rows, targets, test, truth) in splits(case):
        rng = np.random.default_rng(seed)
        weights = fitted(longer(rows), targets, case["epsilon"], case["delta"], rng)
        found.append(explained(truth, longer(test) @ weights))
    return {"accuracies": found}


def longer(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([rows, np.full(len(rows), CONSTANT)])


def fitted(
    rows: np.ndarray, targets: np.ndarray, epsilon: float, delta: float, rng: np.random.Generator
) -> np.ndarray:
    """A third of the budget each for the least eigenvalue, XᵀX and Xᵀy; |y| ≤ 1."""
    squared, d = 1.0 + CONSTANT**2, rows.shape[1]
    scale = math.sqrt(math.log(6.0 / delta)) / (epsilon / 3.0)
    gram = rows.T @ rows
    least = float(np.linalg.eigvalsh(gram)[0])
    least += scale * squared * rng.normal() - math.log(6.0 / delta) / (epsilon / 3.0) * squared
    least = max(least, 0.0)
    spread = math.log(2.0 * d * d / FAILURE)
    ridge = max(
        0.0, math.sqrt(d * math.log(6.0 / delta) * spread) * squared / (epsilon / 3) - least
    )
    noise = np.triu(rng.normal(size=(d, d)))
    noise = noise + np.triu(noise, 1).T
    noisy = gram + scale * squared * noise
    right = rows.T @ targets + scale * math.sqrt(squared) * rng.normal(size=d)
    solved: np.ndarray = np.linalg.solve(noisy + ridge * np.eye(d), right)
    return solved


if __name__ == "__main__":
    measuring.REPEATS = 1
    measuring.serve(solve)
