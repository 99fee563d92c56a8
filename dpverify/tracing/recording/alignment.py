"""Which noise the neighbor needs, where released numbers add up several draws.

The released numbers are r = v + A·z on the left. On the right the same numbers need A·z′ = r − v′,
so z′ = z + d with A·d = v − v′. Any such d gives a bound: knowing all of z + d, not only A·(z + d),
an attacker loses Σ loss(d_i), and what he sees is post-processing of it. For Gaussian noise the
shortest d gives the exact divergence, dᵀd = (v − v′)ᵀ(A·Aᵀ)⁻¹(v − v′); for other noise the d of
least cost is found by a linear program.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpverify.tracing.recording.laws import Law

Floats = NDArray[np.float64]

_MOST_UNKNOWNS = 4000
_CLOSE = 2.0**-30


def align(matrix: Floats, gap: Floats, laws: list[Law]) -> tuple[Floats, bool] | None:
    """The d of least cost with matrix·d = gap, and whether the cost is exact; else None.

    `laws` are those of the columns; a law that grows only takes d ≥ 0 where that is possible.

    >>> from dpverify.tracing.recording.laws import NORMAL
    >>> align(np.array([[1.0, 1.0]]), np.array([1.0]), [NORMAL, NORMAL])
    (array([0.5, 0.5]), True)
    """
    normal = all(law.name == "normal" for law in laws)
    shortest = _shortest(matrix, gap)
    if shortest is None:
        return None
    if normal or matrix.shape[1] > _MOST_UNKNOWNS:
        return shortest, normal
    return _cheapest(matrix, gap, laws, shortest), _is_difference(matrix, laws)


def _shortest(matrix: Floats, gap: Floats) -> Floats | None:
    """The solution of least length; by the small system A·Aᵀ where that is well behaved."""
    if matrix.shape[0] < matrix.shape[1]:
        try:
            found = matrix.T @ np.linalg.solve(matrix @ matrix.T, gap)
        except np.linalg.LinAlgError:
            pass
        else:
            if _solves(matrix, found, gap):
                return np.asarray(found)
    least: Floats = np.asarray(np.linalg.lstsq(matrix, gap, rcond=None)[0], dtype=np.float64)
    return least if _solves(matrix, least, gap) else None


def _solves(matrix: Floats, found: Floats, gap: Floats) -> bool:
    size = np.abs(matrix).max(initial=1.0) * np.abs(found).max(initial=0.0)
    error = np.abs(matrix @ found - gap)
    return bool(np.all(error <= _CLOSE * (size + np.abs(gap).max(initial=0.0))))


def _cheapest(matrix: Floats, gap: Floats, laws: list[Law], fallback: Floats) -> Floats:
    """Least Σ rate_i·|d_i|: d = p − q with p, q ≥ 0, and q = 0 where the law grows only."""
    rates = np.array([law.rate for law in laws])
    one_sided = np.array([law.grows_only for law in laws])
    columns = np.hstack([matrix, -matrix])
    ends = [(0.0, None)] * len(laws) + [(0.0, 0.0 if only else None) for only in one_sided]
    found = linprog(np.concatenate([rates, rates]), A_eq=columns, b_eq=gap, bounds=ends)
    if found.status != 0:
        return fallback
    p, q = np.split(np.asarray(found.x), 2)
    return np.asarray(p - q)


def _is_difference(matrix: Floats, laws: list[Law]) -> bool:
    """Whether it is x − y for x and y of one one-sided law: then the two-sided law is known.

    Exponential draws give Laplace noise; geometric ones give the law ∝ (1−p)^|k|, under which a
    shift by s loses up to |s|·ln(1/(1−p)).
    """
    if matrix.shape != (1, 2) or not laws[0].grows_only or laws[0] != laws[1]:
        return False
    return bool(matrix[0, 0] == -matrix[0, 1])
