"""What every learner is given: rows, targets, and the orders whose first 80 % are trained on."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def splits(case: dict[str, Any]) -> Iterator[tuple[int, tuple[np.ndarray, ...]]]:
    """Each seed with rows and targets to train on, and rows and targets to test on."""
    data = np.load(case["file"])
    rows, targets, orders = data["rows"], data["labels"], data["orders"]
    cut = int(0.8 * len(targets))
    for seed, order in zip(case.get("seeds", range(len(orders))), orders, strict=True):
        train, test = order[:cut], order[cut:]
        yield seed, (rows[train], targets[train], rows[test], targets[test])


def explained(targets: np.ndarray, predicted: np.ndarray) -> float:
    """R²: the share of the variance of the targets that predictions explain."""
    off = float(((targets - predicted) ** 2).sum())
    return 1.0 - off / float(((targets - targets.mean()) ** 2).sum())
