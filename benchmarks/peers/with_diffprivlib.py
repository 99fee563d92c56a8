"""Accuracy of diffprivlib's logistic regression: pure differential privacy, replace-one."""

import warnings
from typing import Any

import measuring
import numpy as np
from diffprivlib.models import LogisticRegression


def solve(case: dict[str, Any], setting: dict[str, Any]) -> measuring.Answer:
    """One accuracy a repeat, on the records that were not trained on."""
    data = np.load(case["file"])
    rows, labels, orders = data["rows"], data["labels"], data["orders"]
    cut = int(0.8 * len(labels))
    found = []
    for seed, order in enumerate(orders):
        model = LogisticRegression(
            epsilon=case["epsilon"], data_norm=1.0, random_state=seed, **setting
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows[order[:cut]], labels[order[:cut]])
        found.append(float(model.score(rows[order[cut:]], labels[order[cut:]])))
    return {"accuracies": found}


if __name__ == "__main__":
    measuring.REPEATS = 1  # what varies is inside
    measuring.serve(solve)
