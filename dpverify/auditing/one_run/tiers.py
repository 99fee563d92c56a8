r"""Guesses in tiers, surest first, judged by the weighted sum of wrong guesses.

A guess about the most extreme score says more than one about the hundredth, so it should weigh
more. Let r_t canaries be guessed in tier t, which weighs w_t, let d_t of these guesses be wrong,
and Z = Σ w_t·d_t, the penalty. A small penalty speaks against the claim.

**Theorem.** Let the training be (ε_j, δ_j)-DP for j = 1, …, J, and E_j = e^(ε_j). For any numbers
u_tj(z) in [0, λ_j], and 0 where z < 0, put U_t(z) = Σ_j u_tj(z) and V_t(z) = Σ_j E_j·u_tj(z). Then
P(Z ≤ c) ≤ θ + mΣ λ_j·δ_j, if θ ≥ 0 and for all z = 0, 1, … and all tiers t with w_t ≤ z

.. math:: 1[z ≤ c] ≤ θ + Σ_s r_s·U_s(z) - \frac{z}{w_t}·(U_t(z) + V_t(z - w_t)),

and at z = 0 the same without the last term. [proofs/one_run_tiers.py]

*Proof.* Let canary i be guessed in tier t, and Z_i be the penalty of all other guesses. As Z_i does
not depend on coin i, (ε_j, δ_j)-DP for the test "canary i is guessed rightly", taken with weight
u_tj(Z_i)/λ_j, gives E[u_tj(Z_i); i right] ≤ E_j·E[u_tj(Z_i); i wrong] + λ_j·δ_j. If i is right then
Z_i = Z, else Z_i = Z − w_t. Summed over canaries and j,

.. math:: E[Σ_t (r_t - d_t)·U_t(Z) - d_t·V_t(Z - w_t)] ≤ mΣ λ_j·δ_j.

For Z = z the sum in brackets is Σ r_t·U_t(z) − Σ (w_t·d_t)·a_t, where
a_t = (U_t(z) + V_t(z−w_t))/w_t. As w_t·d_t ≥ 0 add up to z, and d_t = 0 where w_t > z, it is at
least Σ r_t·U_t(z) − z·max a_t, the largest over w_t ≤ z. So it is at least 1[z ≤ c] − θ. ∎

Any u gives a bound, so it may be chosen by looking at Z: by a linear program, in floats. θ is then
computed from u, with a margin for round-off; it does not depend on the δ_j. With one tier the
program is that of the worst case.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpverify.arrays import Floats, Mask
from dpverify.errors import InvalidParameter, check_count

_MARGIN = 1e-10  # for round-off in θ, relative to the largest term
_UNIT = 1e-3  # of u in the program, so that its numbers are of one size


_LARGEST = {"sizes": 10**8, "weights": 10**4}


@dataclass(frozen=True, slots=True)
class Tiers:
    """Guess `sizes[0]` canaries of the most extreme scores, then `sizes[1]` of the next, and so on.

    Half of each tier are the highest scores, guessed to be in, half the lowest, guessed to be out.
    A wrong guess in a tier counts `weights` of it, a whole number.

    >>> Tiers(sizes=(20, 80), weights=(3, 1)).guesses
    100
    """

    sizes: tuple[int, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, values in (("sizes", self.sizes), ("weights", self.weights)):
            if not isinstance(values, Sequence) or not values or isinstance(values, str):
                raise InvalidParameter(f"{name}={values!r} must be whole numbers, one a tier")
            for value in values:
                check_count(name, value)
                if value > _LARGEST[name]:
                    raise InvalidParameter(
                        f"{name}={values!r} must be at most {_LARGEST[name]:,} each"
                    )
            object.__setattr__(self, name, tuple(int(value) for value in values))
        if len(self.sizes) != len(self.weights):
            raise InvalidParameter(
                f"weights={self.weights!r} must be as many as sizes={self.sizes!r}"
            )

    @property
    def guesses(self) -> int:
        return sum(self.sizes)

    def wrong(self, order: Any, included: Mask) -> tuple[int, ...]:  # noqa: ANN401
        """Wrong guesses in each tier; `order` lists the canaries from the lowest score up."""
        ends = np.stack([~included[order[::-1]], included[order]], axis=1).ravel()
        cuts = np.cumsum(self.sizes)
        return tuple(int(part.sum()) for part in np.split(ends[: cuts[-1]], cuts[:-1]))

    def penalty(self, wrong: Sequence[int]) -> int:
        return sum(w * d for w, d in zip(self.weights, wrong, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class TierBound:
    """Numbers u_tj(z) that prove a bound on P(Z ≤ `penalty`); z runs from 0 and ends with 0."""

    tiers: Tiers
    penalty: int
    epsilons: Floats
    tests: Floats  # tier, point, z; none negative

    def bound(self, canaries: int, deltas: Floats) -> float:
        """The upper bound θ + mΣ λ_j·δ_j on P(Z ≤ `penalty`), rounded up, at most 1."""
        return min(1.0, self.base() + self.price(canaries, deltas))

    def price(self, canaries: int, deltas: Floats) -> float:
        """mΣ λ_j·δ_j, rounded up."""
        return canaries * float(self.tests.max(axis=(0, 2)) @ deltas) * (1.0 + _MARGIN)

    def base(self) -> float:
        """The least θ that the theorem allows, rounded up."""
        height, widest = self.tests.shape[2], max(self.tiers.weights)
        room = np.zeros((*self.tests.shape[:2], height + widest))
        room[:, :, :height] = self.tests
        right = room.sum(axis=1)
        wrong = np.einsum("tjz,j->tz", room, np.exp(self.epsilons))
        z = np.arange(height + widest)
        lost = np.zeros(len(z))
        for t, weight in enumerate(self.tiers.weights):
            paid = right[t, weight:] + wrong[t, :-weight]
            lost[weight:] = np.maximum(lost[weight:], z[weight:] * paid / weight)
        gained = np.asarray(self.tiers.sizes, dtype=np.float64) @ right
        need = float((1.0 * (z <= self.penalty) - gained + lost).max())
        return max(need, 0.0) + _MARGIN * (1.0 + float(gained.max()) + float(lost.max()))


def best_tier_bound(
    tiers: Tiers, penalty: int, *, epsilons: Floats, deltas: Floats, canaries: int
) -> TierBound | None:
    """The u with the least bound on P(Z ≤ penalty), by a linear program; None if it finds none.

    Variables: θ; the prices m·λ_j·δ_j; u_tj(z) for z up to a penalty beyond which little is gained.
    """
    height = 2 * penalty + 4 * max(tiers.weights) + 12
    program = _Program(tiers, height, len(epsilons))
    prices = canaries * np.maximum(deltas, 1e-12)
    for t, weight in enumerate(tiers.weights):
        program.inequalities(t, weight, penalty, np.exp(epsilons))
        program.limits(t, prices)
    costs = np.zeros(program.variables)
    costs[: 1 + len(epsilons)] = 1.0
    solved = scipy.optimize.linprog(costs, **program.constraints(), method="highs-ipm")
    if solved.status != 0:
        return None
    found = np.maximum(np.asarray(solved.x)[1 + len(epsilons) :], 0.0) * _UNIT
    tests = found.reshape(len(tiers.sizes), len(epsilons), height + 1)
    return TierBound(tiers, penalty, np.asarray(epsilons, dtype=np.float64), tests)


class _Program:
    """Collects the rows of the linear program."""

    def __init__(self, tiers: Tiers, height: int, points: int) -> None:
        self.tiers, self.height, self.points = tiers, height, points
        self.variables = 1 + points + len(tiers.sizes) * points * (height + 1)
        self._rows: list[Any] = []
        self._columns: list[Any] = []
        self._values: list[Any] = []
        self._bounds: list[Any] = []
        self._count = 0

    def _at(self, t: int, j: int, z: Any) -> Any:  # noqa: ANN401
        return 1 + self.points + (t * self.points + j) * (self.height + 1) + z

    def _add(self, rows: Any, columns: Any, values: Any) -> None:  # noqa: ANN401
        self._rows.append(rows)
        self._columns.append(np.broadcast_to(columns, rows.shape))
        self._values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), rows.shape))

    def inequalities(self, t: int, weight: int, penalty: int, odds: Floats) -> None:
        """1[z ≤ c] ≤ θ + Σ r_s·U_s(z) − (z/w_t)·(U_t(z) + V_t(z−w_t)); no last term if z < w_t."""
        z = np.arange(self.height + weight + 1)
        rows = self._count + z
        share = np.where(z >= weight, z / weight, 0.0)
        self._add(rows, 0, -1.0)
        inside = z <= self.height
        for s, size in enumerate(self.tiers.sizes):
            gain = -size + (share if s == t else 0.0 * share)
            for j in range(self.points):
                self._add(rows[inside], self._at(s, j, z[inside]), _UNIT * gain[inside])
        later = z >= weight
        for j, ratio in enumerate(odds.tolist()):
            columns = self._at(t, j, z[later] - weight)
            self._add(rows[later], columns, _UNIT * ratio * share[later])
        self._bounds.append(-1.0 * (z <= penalty))
        self._count += len(z)

    def limits(self, t: int, prices: Floats) -> None:
        """u_tj(z) ≤ λ_j."""
        z = np.arange(self.height + 1)
        for j, price in enumerate(prices.tolist()):
            rows = self._count + z
            self._add(rows, self._at(t, j, z), _UNIT * min(price, 1.0))
            self._add(rows, 1 + j, -min(price, 1.0) / price)
            self._bounds.append(np.zeros(len(z)))
            self._count += len(z)

    def constraints(self) -> dict[str, Any]:
        entries = (
            np.concatenate(self._values),
            (np.concatenate(self._rows), np.concatenate(self._columns)),
        )
        shape = (self._count, self.variables)
        matrix: Any = scipy.sparse.coo_matrix(entries, shape=shape).tocsr()
        return {"A_ub": matrix, "b_ub": np.concatenate(self._bounds), "bounds": (0.0, None)}
