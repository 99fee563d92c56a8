"""Which noise the neighbor needs, where released numbers add up several draws.

The released numbers are r = v + A·z on the left. On the right the same numbers need A·z′ = r − v′,
so z′ = z + d with A·d = v − v′. Any such d gives a bound: knowing all of z + d, not only A·(z + d),
an attacker loses Σ loss(d_i), and what he sees is post-processing of it. For Gaussian noise the
shortest d gives the exact divergence, dᵀd = (v − v′)ᵀ(A·Aᵀ)⁻¹(v − v′); for other noise the d of
least cost is found by a linear program.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpverify.tracing.recording.laws import Law

Floats = NDArray[np.float64]

_MOST_UNKNOWNS = 4000
_CLOSE = 2.0**-30
_EXPONENTIAL_TAILS = ("laplace", "exponential", "geometric", "logistic")


class Alignment(NamedTuple):
    """The steps of the draws, and whether they give the exact divergence.

    `cost` is the largest loss in either direction, for laws with exponential tails; ∞ where one of
    the directions has no alignment: a law with a least value cannot be shifted downwards.
    """

    step: Floats
    exact: bool
    cost: float


def align(matrix: Floats, gap: Floats, laws: list[Law]) -> Alignment | None:
    """The d of least cost with matrix·d = gap; None if there is none at all.

    `laws` are those of the columns; a law that grows only takes d ≥ 0, for the gap and for its
    reverse, each with an alignment of its own.

    >>> from dpverify.tracing.recording.laws import NORMAL
    >>> align(np.array([[1.0, 1.0]]), np.array([1.0]), [NORMAL, NORMAL]).step
    array([0.5, 0.5])
    """
    normal = all(law.name == "normal" for law in laws)
    shortest = _shortest(matrix, gap)
    if shortest is None:
        return None
    one_sided = any(law.grows_only for law in laws)
    if normal or (matrix.shape[1] > _MOST_UNKNOWNS and not one_sided):
        return Alignment(shortest, exact=normal, cost=_cost(shortest, laws))
    if matrix.shape[1] > _MOST_UNKNOWNS:
        return Alignment(shortest, exact=False, cost=math.inf)
    forth = _cheapest(matrix, gap, laws)
    if not one_sided:
        found = shortest if forth is None else forth
        return Alignment(found, exact=False, cost=_cost(found, laws))
    back = _cheapest(matrix, -gap, laws)
    if forth is None or back is None:
        return Alignment(shortest, exact=False, cost=math.inf)
    most = max(_cost(step, laws) for step in (forth, back))
    return Alignment(forth, exact=False, cost=most)


def _cost(step: Floats, laws: list[Law]) -> float:
    """Σ rate·|d| where every law that moves has exponential tails, rounded up; else ∞."""
    total = 0.0
    for d, law in zip(step.tolist(), laws, strict=True):
        if d and law.name not in _EXPONENTIAL_TAILS:
            return math.inf
        if law.name == "geometric" and abs(d - round(d)) > _CLOSE:
            return math.inf  # only whole steps keep the support
        total += law.rate * abs(d)
    return total * (1 + 2.0**-40)


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


def _cheapest(matrix: Floats, gap: Floats, laws: list[Law]) -> Floats | None:
    """Least Σ rate_i·|d_i|: d = p − q with p, q ≥ 0, and q = 0 where the law grows only."""
    rates = np.array([law.rate for law in laws])
    one_sided = np.array([law.grows_only for law in laws])
    columns = np.hstack([matrix, -matrix])
    ends = [(0.0, None)] * len(laws) + [(0.0, 0.0 if only else None) for only in one_sided]
    found = linprog(np.concatenate([rates, rates]), A_eq=columns, b_eq=gap, bounds=ends)
    if found.status != 0:
        return None
    p, q = np.split(np.asarray(found.x), 2)
    step = np.asarray(p - q)
    return step if _solves(matrix, step, gap) else None
