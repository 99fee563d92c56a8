r"""A bound on right guesses from several (ε, δ) of a claim together, by a linear program.

Let the training be (ε_j, δ_j)-DP for j = 1, …, J, and E_j = e^(ε_j). For weights λ_j ≥ 0 and
numbers u_jk in [0, 1] put U_k = Σ λ_j·u_jk and V_k = Σ λ_j·E_j·u_jk. The argument of `guessing`,
made for each j with the test u_jC and added up, gives E[N·U₍N₋₁₎ − (r−N)·V_N] ≤ mΣ λ_j·δ_j. So

    P(N ≥ v) ≤ θ + mΣ λ_j·δ_j    wherever    1[k ≥ v] ≤ θ + k·U₍k₋₁₎ − (r−k)·V_k for k = 0, …, r.

For given weights the best u fills the smallest E_j first, and U_k is raised as far as θ allows,
from k = 0 upwards; the least θ is found by bisection. Any weights give a bound. Good ones are the
dual solution of the linear program over the laws of N that the claim allows, which by symmetry is
all of the worst case. The θ of given weights does not depend on the δ_j.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.one_run.guessing import Guessed

MOST_GUESSES = 1_500  # beyond, the program takes longer than it is worth
_MARGIN = 1e-10  # for round-off in θ, whose terms are of order 1
_BISECTIONS = 40


@dataclass(frozen=True, slots=True)
class Mixture:
    """Points of the profile in the order of ε, and their weights."""

    epsilons: Floats
    weights: Floats

    def bound(self, guessed: Guessed, deltas: Floats) -> float:
        """θ + mΣ λ_j·δ_j, rounded up, at most 1."""
        return min(1.0, self.base(guessed) + self.price(guessed, deltas))

    def price(self, guessed: Guessed, deltas: Floats) -> float:
        """mΣ λ_j·δ_j, a little more."""
        return guessed.canaries * float(self.weights @ deltas) * (1.0 + _MARGIN)

    def base(self, guessed: Guessed) -> float:
        """The least θ, found by bisection and then checked at every k."""
        low, high = 0.0, 1.0
        best = [0.0] * guessed.guesses
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2.0
            found = self._raised(guessed, middle)
            if found is None:
                low = middle
            else:
                high, best = middle, found
        return self._checked(guessed, np.array(best))

    def _raised(self, guessed: Guessed, theta: float) -> list[float] | None:
        """U as large as θ allows; None if some k asks for more."""
        r, v = guessed.guesses, guessed.correct
        filled, costs, slopes = self._segments()
        last, found = 0.0, []
        for k in range(r):
            room = theta - (k >= v) + k * last
            if room < 0.0:
                return None
            cost = room / (r - k)
            j = bisect_right(costs, cost) - 1
            last = filled[j] + (cost - costs[j]) / slopes[j] if j < len(slopes) else filled[-1]
            found.append(last)
        return found if theta - 1.0 + r * last >= 0.0 else None

    def _segments(self) -> tuple[list[float], list[float], list[float]]:
        """Where Σ λ_j and Σ λ_j·E_j stand after each point, and the slopes in between."""
        slopes = np.exp(self.epsilons)
        filled = [0.0, *accumulate(self.weights.tolist())]
        costs = [0.0, *accumulate((self.weights * slopes).tolist())]
        return filled, costs, slopes.tolist()

    def _checked(self, guessed: Guessed, raised: Floats) -> float:
        """The least θ for which these U satisfy every inequality, plus a margin for round-off."""
        r, v = guessed.guesses, guessed.correct
        filled, costs, _ = self._segments()
        spent = np.interp(raised, filled, costs)  # V_k, as U_k fills the smallest E_j first
        k = np.arange(r + 1)
        gained = k * np.concatenate([[0.0], raised])
        paid = (r - k) * np.concatenate([spent, [0.0]])
        need = (k >= v) - gained + paid
        return float(need.max()) + _MARGIN * (1.0 + float(gained.max()) + float(paid.max()))


def best_mixture(guessed: Guessed, epsilons: Floats, deltas: Floats) -> Mixture | None:
    """Weights from the linear program, in floats; None if the solver finds none.

    Over P(N = k): the largest P(N ≥ v) such that for each j the excess of (k+1)·P(N=k+1) over
    E_j·(r−k)·P(N=k), where it is positive, adds up to at most m·δ_j.
    """
    r, v = guessed.guesses, guessed.correct
    first = max(0, int(r / 2 - 3 * r**0.5))
    last = min(r, int(v + 4 * r**0.5) + 2)
    k = np.arange(first, last + 1, dtype=np.float64)
    steps, laws = len(k) - 1, len(k)
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int64]] = []
    values: list[Floats] = []
    limits = guessed.canaries * np.maximum(deltas, 1e-300)
    for j, (epsilon, limit) in enumerate(zip(epsilons.tolist(), limits.tolist(), strict=True)):
        at = j * steps + np.arange(steps)
        rows += [at, at, at, np.full(steps, len(epsilons) * steps + j)]
        columns += [np.arange(1, laws), np.arange(steps), laws + at, laws + at]
        scale = min(limit, 1.0)  # so that no variable is tiny
        values += [k[1:], -np.exp(epsilon) * (r - k[:-1]), np.full(steps, -scale)]
        values += [np.full(steps, scale / limit)]
    size = laws + len(epsilons) * steps
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    matrix: Any = scipy.sparse.coo_matrix(
        entries, shape=(len(epsilons) * (steps + 1), size)
    ).tocsr()
    solved = scipy.optimize.linprog(
        np.concatenate([-(k >= v).astype(np.float64), np.zeros(size - laws)]),
        A_ub=matrix,
        b_ub=np.concatenate([np.zeros(len(epsilons) * steps), np.ones(len(epsilons))]),
        A_eq=[[1.0] * laws + [0.0] * (size - laws)],
        b_eq=[1.0],
        method="highs",
    )
    if solved.status != 0:
        return None
    shares = np.maximum(-np.asarray(solved.ineqlin.marginals)[len(epsilons) * steps :], 0.0)
    return Mixture(epsilons, shares / limits)
