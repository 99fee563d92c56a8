"""How far one record moves the output of a strategy matrix, in ℓ2.

A record that takes part in the steps π, with vectors u_j of length at most 1, moves the output by
Σ_{i,j ∈ π} ⟨uᵢ, u_j⟩·Xᵢⱼ, squared, X = CᵀC. Where X ≥ 0 that is largest if all vectors are equal:
Σ Xᵢⱼ. Else Σ |Xᵢⱼ| bounds it from above, and equal vectors, or opposite ones, from below.
[Choquette-Choo et al., ICML 2023 (arXiv 2211.06530); Choquette-Choo et al., NeurIPS 2023 (arXiv
2306.08153)]
"""

from collections.abc import Iterable

import numpy as np

from dpverify.arrays import Floats
from dpverify.guarantees import Bracket

_UNIT = 2.0**-52


def squared(matrix: Floats, patterns: Iterable[list[int]]) -> Bracket:
    """Bounds on the largest squared distance over the listed participation patterns."""
    gram, sizes = matrix.T @ matrix, np.abs(matrix).T @ np.abs(matrix)
    lower = upper = error = 0.0
    for pattern in patterns:
        part = gram[np.ix_(pattern, pattern)]
        signs = np.sign(np.linalg.eigh(part)[1][:, -1]) if (part < 0).any() else np.ones(len(part))
        lower = max(lower, float(part.sum()), float(signs @ part @ signs))
        upper = max(upper, float(np.abs(part).sum()))
        error = max(error, float(sizes[np.ix_(pattern, pattern)].sum()))
    return _widened(lower, upper, error, matrix)


def _widened(lower: float, upper: float, size: float, matrix: Floats) -> Bracket:
    """The bounds, widened by a bound on rounding errors."""
    slack = 2.0 * (sum(matrix.shape) + 64) * _UNIT * size
    return Bracket(max(lower - slack, 0.0), upper + slack)


def once(steps: int) -> Iterable[list[int]]:
    return ([step] for step in range(steps))


def epochs(steps: int, period: int) -> Iterable[list[int]]:
    """The patterns with one step per epoch, always the same one."""
    return (list(range(start, steps, period)) for start in range(min(period, steps)))


def squared_separated(matrix: Floats, separation: int, most: int) -> Bracket:
    """Bounds on the largest squared distance over all patterns with this `separation`.

    Exact where columns that far apart do not overlap: then a pattern costs the sum of its Xᵢᵢ. In
    general Σ_{i ∈ π} max_{π′ ∋ i} Σ_{j ∈ π′} |Xᵢⱼ| is at least as much, and every pattern that is
    tried at most. [arXiv 2306.08153, Alg. 2 for the upper end]
    """
    steps = matrix.shape[1]
    gram = matrix.T @ matrix
    far = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps))) >= separation
    if not (gram * far).any():
        costs = gram.diagonal().copy()
    else:
        costs = np.array([_row_bound(np.abs(gram[i]), i, separation, most) for i in range(steps)])
    best = _best_pattern(costs, separation, most)
    sizes = np.abs(matrix).T @ np.abs(matrix)
    error = float(np.sort(sizes.sum(axis=1))[-min(most, steps) :].sum())
    upper = _widened(0.0, float(costs[best].sum()), error, matrix).upper
    tried = [list(range(start, steps, separation))[:most] for start in range(separation)]
    lower = squared(matrix, [pattern for pattern in (best, *tried) if pattern]).lower
    return Bracket(min(lower, upper), upper)


def _row_bound(row: Floats, own: int, separation: int, most: int) -> float:
    """The largest Σ_{j ∈ π} |X_ij| over patterns π that hold i."""
    before, after = row[: max(own - separation + 1, 0)], row[own + separation :]
    rest = [_best_value(part, separation, most - 1) for part in (before, after)]
    return float(row[own] + max((a + b for a, b in _splits(rest, most - 1)), default=0.0))


def _splits(tables: list[list[float]], most: int) -> Iterable[tuple[float, float]]:
    first, second = tables
    for count in range(most + 1):
        yield first[min(count, len(first) - 1)], second[min(most - count, len(second) - 1)]


def _best_value(costs: Floats, separation: int, most: int) -> list[float]:
    """The largest sums of 0, 1, … entries that are far enough apart."""
    table = _table(costs, separation, most)
    return [float(row[-1]) for row in table]


def _table(costs: Floats, separation: int, most: int) -> list[Floats]:
    """table[k][i]: the largest sum of at most k of the first i entries."""
    count = len(costs)
    rows = [np.zeros(count + 1)]
    for _ in range(min(most, -(-count // separation))):
        before = rows[-1]
        earlier = np.concatenate([np.zeros(min(separation - 1, count)), before])[:count]
        rows.append(np.concatenate([[0.0], np.maximum.accumulate(costs + earlier)]))
    return rows


def _best_pattern(costs: Floats, separation: int, most: int) -> list[int]:
    """The pattern with the largest sum."""
    table, pattern, end = _table(costs, separation, most), [], len(costs)
    for k in range(len(table) - 1, 0, -1):
        if end <= 0:
            break
        earlier = [table[k - 1][max(i - separation + 1, 0)] for i in range(end)]
        last = int(np.argmax(costs[:end] + np.array(earlier)))
        if costs[last] <= 0.0:
            break
        pattern.append(last)
        end = last - separation + 1
    return pattern[::-1] or [0]
