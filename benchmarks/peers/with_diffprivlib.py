"""Accuracy of diffprivlib's logistic regression, or R² of its linear one: pure, replace-one."""

import warnings
from typing import Any

import measuring
from diffprivlib.models import LinearRegression, LogisticRegression
from splits import explained, splits


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    """One accuracy a repeat, on the records that were not trained on."""
    found = []
    for seed, (rows, targets, test, truth) in splits(case):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case.get("classes") == 0:
                model = LinearRegression(
                    epsilon=case["epsilon"], bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed
                )
                found.append(explained(truth, model.fit(rows, targets).predict(test)))
            else:
                model = LogisticRegression(
                    epsilon=case["epsilon"], data_norm=1.0, random_state=seed, **setting
                )
                found.append(float(model.fit(rows, targets).score(test, truth)))
    return {"accuracies": found}


if __name__ == "__main__":
    measuring.REPEATS = 1  # what varies is inside
    measuring.serve(solve)
