"""Scores that tell the two sides apart, learned by scikit-learn and kept as plain numbers."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.attacks.events import Linear, Tree, Trees
from dpverify.auditing.sampling.outputs import Outputs

LEAST_TO_LEARN = 200  # draws a side below which nothing is learned
_MOST = 20_000
_TREES = 60
_AT_ONCE = 256  # numbers


def logistic(left: Outputs, right: Outputs, names: Sequence[str]) -> Linear | None:
    """A linear score that is larger where the left side is likelier; None with too few draws."""
    rows, labels = _examples(left, right, names)
    if rows is None:
        return None
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  # slow
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    filled = np.nan_to_num(rows, posinf=1e9, neginf=-1e9)
    scale = filled.std(axis=0)
    used = np.flatnonzero((scale > 0) & np.isfinite(scale))
    if not used.size:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an early stop of the solver is no error here
        with threadpool_limits(1):
            model = LogisticRegression(max_iter=50).fit(filled[:, used] / scale[used], labels)
    weights = model.coef_[0] / scale[used]
    return Linear(
        features=tuple(names[int(i)] for i in used), weights=tuple(map(float, weights)), bound=0.0
    )


def mean_difference(left: Outputs, right: Outputs, names: Sequence[str]) -> Linear | None:
    """A linear score from the difference of means, each divided by its variance, or None.

    It is the best there is for independent normal noise, and quick however many numbers there are.
    """
    size = min(left.size, right.size, _MOST)
    if size < LEAST_TO_LEARN:
        return None
    used: list[str] = []
    weights: list[float] = []
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        one, other = (
            np.nan_to_num(side.rows(some)[:, -size:], posinf=1e9, neginf=-1e9)
            for side in (left, right)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            spread = one.var(axis=1) + other.var(axis=1)
            fits = np.flatnonzero((spread > 0.0) & (spread < np.inf))
            found = (one.mean(axis=1) - other.mean(axis=1))[fits] / spread[fits]
        used += [some[i] for i in fits.tolist()]
        weights += found.tolist()
    return Linear(features=tuple(used), weights=tuple(weights), bound=0.0) if used else None


def boosted(left: Outputs, right: Outputs, names: Sequence[str]) -> Trees | None:
    """A score of boosted trees, larger where the left side is likelier; None as for `logistic`."""
    rows, labels = _examples(left, right, names)
    if rows is None:
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415  # slow
    from threadpoolctl import threadpool_limits  # noqa: PLC0415  # comes with scikit-learn

    known = np.flatnonzero(~np.isnan(rows).all(axis=0))
    if not known.size:
        return None
    rows = rows[:, known]  # scikit-learn cannot bin a column without any number
    finite = np.where(np.isinf(rows), np.sign(rows) * 1e300, rows)
    model = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_leaf_nodes=12,
        min_samples_leaf=30,
        learning_rate=0.12,
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(1):  # small fits: threads cost more than they save
        model.fit(finite, labels)
    trees = tuple(_tree(stage[0].nodes) for stage in model._predictors)  # noqa: SLF001  # no public way
    return Trees(features=tuple(names[int(i)] for i in known), trees=trees, bound=0.0)


def _tree(nodes: Any) -> Tree:  # noqa: ANN401  # a structured array of scikit-learn
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        tuple(int(i) for i in nodes["feature_idx"]),
        tuple(float(t) for t in nodes["num_threshold"]),
        tuple(bool(m) for m in nodes["missing_go_to_left"]),
        tuple(0 if is_leaf else int(i) for is_leaf, i in zip(leaf, nodes["left"], strict=True)),
        tuple(0 if is_leaf else int(i) for is_leaf, i in zip(leaf, nodes["right"], strict=True)),
        tuple(float(v) for v in nodes["value"]),
    )


def _examples(
    left: Outputs, right: Outputs, names: Sequence[str]
) -> tuple[Floats | None, NDArray[np.int64]]:
    size = min(left.size, right.size, _MOST)
    labels = np.repeat([1, 0], size)
    if size < LEAST_TO_LEARN:
        return None, labels
    sides = [side.rows(names)[:, -size:].T for side in (left, right)]
    return np.concatenate(sides), labels
