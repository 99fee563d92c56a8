"""Released sums of several draws: find the shifts of the draws that cost least.

The released numbers are r = v + A·z on the left. On the right the same numbers need A·z′ = r − v′,
so z′ = z + d with A·d = v − v′. Any such d gives a bound: knowing all of z + d, not only A·(z + d),
an attacker loses Σ loss(d_i), and what he sees is post-processing of it. For Gaussian noise the
shortest d gives the exact divergence, dᵀd = (v − v′)ᵀ(A·Aᵀ)⁻¹(v − v′); for other noise the d of
least cost is found by a linear program.
"""

# ruff: noqa: ANN401  # operands are whatever the user has

import math
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.guarantees import ApproxDP
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.recording.events import (
    Move,
    Paid,
    Touch,
    Value,
)
from dpverify.tracing.recording.following import (
    LITTLE,
    ROUNDING,
    SWALLOWED,
    Following,
    line_of,
    one_to_one,
    spread,
)
from dpverify.tracing.recording.laws import LAPLACE, NOTHING, TracedLaw

_MOST_UNKNOWNS = 4000
_CLOSE = 2.0**-30
_ROUNDED = 2.0**-44  # of the largest step, in units of a number
_EXPONENTIAL_TAILS = ("laplace", "exponential", "geometric", "logistic")


class Alignment(NamedTuple):
    """The shifts of the draws, and whether they give the exact divergence.

    `cost` is the largest loss in either direction, for laws with exponential tails; ∞ where one of
    the directions has no alignment: a law with a least value cannot be shifted downwards.
    """

    step: Floats
    exact: bool
    cost: float


def align(matrix: Floats, gap: Floats, laws: list[TracedLaw]) -> Alignment | None:
    """The d of least cost with matrix·d = gap; None if there is none.

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


def _cost(step: Floats, laws: list[TracedLaw]) -> float:
    """Σ rate·|d| if all shifted laws have exponential tails, rounded up; else ∞."""
    total = 0.0
    for d, law in zip(step.tolist(), laws, strict=True):
        if d and law.name not in _EXPONENTIAL_TAILS:
            return math.inf
        if law.name == "geometric" and abs(d - round(d)) > _CLOSE:
            return math.inf  # only whole steps keep the support
        total += law.rate * abs(d)
    return total * (1 + 2.0**-40)


def _shortest(matrix: Floats, gap: Floats) -> Floats | None:
    """The solution of least length, by the small system A·Aᵀ if it is well conditioned."""
    matrix, gap = _balanced(matrix, gap)
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


def _swallows(matrix: Floats, gap: Floats, size: float) -> bool:
    """Whether rounding at this size hides some of the noise in every gap."""
    noise = np.abs(matrix).sum(axis=1)[gap != 0.0]
    return bool(np.all(noise > 0.0) and np.any(ROUNDING * size > LITTLE * noise))


def _solves(matrix: Floats, found: Floats, gap: Floats) -> bool:
    """Whether every equation holds, each up to rounding at its size."""
    rows, steps = np.abs(matrix), np.abs(found)
    error = np.abs(matrix @ found - gap)
    rounding = _ROUNDED * rows.max(axis=1, initial=0.0) * steps.max(initial=0.0)
    return bool(np.all(error <= _CLOSE * (rows @ steps + np.abs(gap)) + rounding))


def _balanced(matrix: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """The same equations with largest coefficient 1 each, so that small units count as much."""
    size = np.abs(matrix).max(axis=1, initial=0.0)
    size = np.where(size > 0.0, size, 1.0)
    return matrix / size[:, None], gap / size


def _cheapest(matrix: Floats, gap: Floats, laws: list[TracedLaw]) -> Floats | None:
    """The least Σ rate_i·|d_i|, with d = p − q, p, q ≥ 0, and q = 0 for one-sided laws."""
    matrix, gap = _balanced(matrix, gap)
    rates = np.array([law.rate for law in laws])
    one_sided = np.array([law.grows_only for law in laws])
    if len(matrix) == 1 and not np.any(one_sided) and np.all(rates > 0.0):
        alone = np.zeros(len(laws))  # one number: the draw that costs least takes it all
        best = int(np.argmax(np.abs(matrix[0]) / rates))
        if matrix[0, best]:
            alone[best] = gap[0] / matrix[0, best]
        return alone if _solves(matrix, alone, gap) else None
    columns = np.hstack([matrix, -matrix])
    ends = [(0.0, None)] * len(laws) + [(0.0, 0.0 if only else None) for only in one_sided]
    found = scipy.optimize.linprog(
        np.concatenate([rates, rates]), A_eq=columns, b_eq=gap, bounds=ends
    )
    if found.status != 0:
        return None
    p, q = np.split(np.asarray(found.x), 2)
    step = np.asarray(p - q)
    return step if _solves(matrix, step, gap) else None


# Replays.


class _Sum(NamedTuple):
    """Numbers matrix·z by draw, their gaps on the right, and which draws are known."""

    matrix: Floats
    gap: Floats
    names: NDArray[np.intp]
    twins: NDArray[np.intp]
    bound: NDArray[np.bool_]
    size: float


class SumReplay(Following):
    """A replay that can handle sums of draws."""

    @np.errstate(all="ignore")
    def _pin_many(
        self,
        event: Value,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
    ) -> None:
        """Handle numbers that add up several draws, or use one more than once."""
        draws, known = self.draws, self.recording.draws
        size = np.size(event.values)
        v, w = (spread(x, np.shape(event.values)).reshape(-1) for x in (event.offset, offset))
        a, b = (_table(i, c, size) for i, c in ((event.idx, event.coef), (idx, coef)))
        if a[0].shape != b[0].shape or not np.array_equal(known.law[a[0]], draws.law[b[0]]):
            self.diverge("parameter", line_of(event, touches), "the noise has different laws")
        if not np.allclose(a[1], b[1], rtol=ROUNDING, atol=0.0):
            self.leak("scale", line_of(event, touches), "noise has other factors on the other side")
        finite = np.isfinite(v) & np.isfinite(w)
        if not np.array_equal(v[~finite], w[~finite], equal_nan=True):
            self.leak("output", line_of(event, touches), "a value is not finite on one side")
            return
        v, w = np.where(finite, v, 0.0), np.where(finite, w, 0.0)
        counted = (a[1] != 0) & (b[1] != 0)
        if not one_to_one(a[0][counted], b[0][counted]):
            what = "one side uses one draw where the other uses two: the data choose the noise"
            self.leak("reuse", line_of(event, touches), what)
        names, columns = np.unique(b[0], return_inverse=True)
        twins = np.zeros(len(names), dtype=np.intp)
        twins[columns.reshape(-1)] = a[0].reshape(-1)
        matrix = np.zeros((size, len(names)))
        rows = np.repeat(np.arange(size), a[0].shape[1])
        np.add.at(matrix, (rows, columns.reshape(-1)), b[1].reshape(-1))
        matrix[~finite] = 0.0  # beside infinity nothing of the noise is told
        told = matrix.any(axis=0)  # of a draw with factor 0 nothing is
        matrix, names, twins = matrix[:, told], names[told], twins[told]
        bound = draws.used[names]
        gap = v - w
        gap = gap - matrix[:, bound] @ (draws.z[names] - known.z[twins])[bound]
        draws.used[names] = True
        draws.z[names[~bound]] = known.z[twins[~bound]]
        self._check_turned(event, touches, names[~bound])
        terms = a[0].shape[1]
        reach = np.abs(matrix) @ np.abs(known.z[twins])
        tiny = np.abs(v) + np.abs(w) + (terms * reach if np.any(bound) else 0.0)
        blur = np.abs(matrix) @ self.sizes[names]
        self._no_second_use(event, touches, names, matrix)
        off = np.abs(gap) - ROUNDING * tiny
        if np.any((off > 0.0) & (ROUNDING * blur > LITTLE * np.abs(matrix).sum(axis=1))):
            self.puzzle(line_of(event, touches), SWALLOWED)
        elif np.any(off > ROUNDING * blur):
            largest = float(np.max(np.abs(v) + np.abs(w)))
            self._aligned(event, touches, _Sum(matrix, gap, names, twins, bound, largest))

    def _aligned(self, event: Value, touches: tuple[Touch, ...], added: _Sum) -> None:
        """Shifts that make up for the gap, for draws of which nothing is known."""
        draws, known = self.draws, self.recording.draws
        matrix, gap, names, twins, bound, size = added
        free = np.flatnonzero(~bound & ~self._cut_off(names))
        laws = [draws.law_of(int(i)) for i in names[free]]
        two_sided = None if len(free) < len(names) else _differences(matrix, laws)
        if two_sided is not None:
            self._went_one_way(names, matrix)
            step = np.maximum((matrix / two_sided[:, None] ** 2).T @ gap, 0.0)
            draws.z[names] = known.z[twins] + step
            self._two_sided(event, touches, gap, two_sided, laws[0])
            return
        found = align(matrix[:, free], gap, laws) if len(free) else None
        one_sided = any(law.grows_only for law in laws)
        if one_sided and (found is None or math.isinf(found.cost)):
            others = free[[not law.grows_only for law in laws]]
            kept = [law for law in laws if not law.grows_only]
            without = align(matrix[:, others], gap, kept) if len(others) else None
            if without is not None:
                free, found, one_sided = others, without, False
        if found is None and _swallows(matrix, gap, size):
            self.puzzle(line_of(event, touches), SWALLOWED)
            return
        if found is None:
            cancels = not np.any(matrix[np.abs(gap) > 0.0])
            self._hides_nothing(event, touches, cut=len(free) < int(np.sum(~bound)), gone=cancels)
            return
        draws.z[names[free]] = known.z[twins[free]] + found.step
        factors = np.abs(matrix[:, free]).max(axis=0)
        self.sizes[names[free]] = size / np.maximum(factors, 1e-300)
        if one_sided:
            self._went_one_way(names, matrix)
            self._one_sided(event, touches, found.cost)
            return
        exact = found.exact and len(free) == len(names)
        self._spread(event, touches, free, found.step, names, twins, exact=exact)

    def _check_turned(self, event: Any, touches: tuple[Touch, ...], idx: NDArray[np.intp]) -> None:
        """Check that released noise lies where its earlier comparison fell on this side.

        It does wherever the coin fell alike on both sides. Where it was turned it does not: the
        number tells which way the coin fell.
        """
        draws = self.draws
        if draws.low is None or draws.high is None:
            return
        z = draws.z[idx]
        if np.any((z < draws.low[idx]) | (z > draws.high[idx])):
            self.puzzle(line_of(event, touches), "noise is released that was compared before")

    def _cut_off(self, names: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Draws restricted by comparisons to a window, which a shift may leave."""
        draws = self.draws
        if draws.low is None or draws.high is None:
            return np.zeros(len(names), dtype=np.bool_)
        return np.asarray(np.isfinite(draws.low[names]) | np.isfinite(draws.high[names]))

    def _hides_nothing(
        self, event: Value, touches: tuple[Touch, ...], *, cut: bool, gone: bool
    ) -> None:
        place = line_of(event, touches)
        if gone and event.touches:
            self.leak("output", event.touches[-1][0], "the noise cancels out: nothing is hidden")
        elif gone:
            self.leak("output", place, "a value is released without noise")
        elif cut:
            self.puzzle(place, "noise that was compared before is added up with what differs")
        else:
            self.leak("reuse", place, "noise that is known already hides nothing more")

    def _went_one_way(self, names: NDArray[np.intp], matrix: Floats) -> None:
        self.one_way.update(names.tolist())
        self.sums.update(_row(names, row) for row in matrix)

    def _no_second_use(
        self, event: Any, touches: tuple[Touch, ...], names: NDArray[np.intp], matrix: Floats
    ) -> None:
        """Refuse a second use of draws that were shifted differently for each direction."""
        if not self.one_way or self.one_way.isdisjoint(names.tolist()):
            return
        for row in matrix:
            mine = names[row != 0.0].tolist()
            if not self.one_way.isdisjoint(mine) and _row(names, row) not in self.sums:
                what = "one-sided noise that was added up before is used a second time"
                self.puzzle(line_of(event, touches), what)

    def _one_sided(self, event: Value, touches: tuple[Touch, ...], cost: float) -> None:
        """For one-sided noise each direction has its own shift; the costlier one is charged."""
        self.differences.append(
            Paid(
                self.at - 1,
                line_of(event, touches),
                "one-sided noise",
                LeakyResponsePair(ApproxDP(epsilon=cost)),
                NOTHING,
                exact=False,
                shift=math.nan,
                scale=math.nan,
            )
        )

    def _two_sided(
        self, event: Value, touches: tuple[Touch, ...], gap: Floats, factor: Floats, law: TracedLaw
    ) -> None:
        """x − y for two draws of a one-sided law is two-sided noise of one scale."""
        two = LAPLACE if law.name == "exponential" else TracedLaw("discrete laplace", law.parameter)
        moved = np.flatnonzero(gap)
        values = np.ravel(event.values)[moved]
        offset = spread(event.offset, np.shape(event.values)).reshape(-1)[moved]
        gap, factor = gap[moved], factor[moved]
        z = (values - offset) / factor
        self.differences.append(
            Move(
                event=self.at - 1,
                place=line_of(event, touches),
                law=two,
                shift=gap,
                scale=factor,
                scale_other=factor,
                z=z,
                z_other=z + gap / factor,
                slack=self.summed * (np.abs(offset) + np.abs(offset - gap)),
                values=values,
                flat=moved,
            )
        )

    def _spread(  # noqa: PLR0913, PLR0917
        self,
        event: Value,
        touches: tuple[Touch, ...],
        free: NDArray[np.intp],
        step: Floats,
        names: NDArray[np.intp],
        twins: NDArray[np.intp],
        *,
        exact: bool,
    ) -> None:
        moved = np.flatnonzero(np.abs(step) > 0)
        slack = self.summed * (np.abs(step) + self.sizes[names[free]])
        z = self.recording.draws.z[twins[free[moved]]]
        laws = [self.draws.law_of(int(names[free[i]])) for i in moved]
        for own in dict.fromkeys(laws):
            mine = np.array([i for i, each in enumerate(laws) if each == own])
            shift = step[moved[mine]]
            ones = np.ones(len(mine))
            self.differences.append(
                Move(
                    event=self.at - 1,
                    place=line_of(event, touches),
                    law=own,
                    shift=-shift,
                    scale=ones,
                    scale_other=ones,
                    z=z[mine],
                    z_other=z[mine] + shift,
                    slack=slack[moved[mine]],
                    values=np.full(len(mine), np.nan),
                    flat=mine,
                    exact=exact,
                )
            )


def _row(names: NDArray[np.intp], row: Floats) -> tuple[tuple[int, float], ...]:
    """A sum of draws up to a factor, as a key."""
    used = np.flatnonzero(row)
    if not used.size:
        return ()
    parts = row[used] / row[used[0]]
    return tuple(zip(names[used].tolist(), parts.round(9).tolist(), strict=True))


def _differences(matrix: Floats, laws: list[TracedLaw]) -> Floats | None:
    """The factors c if every element is c·(x − y), else None.

    Exponential draws give Laplace noise; geometric ones give the law ∝ (1−p)^|k|, under which a
    shift by s loses up to |s|·ln(1/(1−p)).
    """
    if not laws or not laws[0].grows_only or any(law != laws[0] for law in laws):
        return None
    used = matrix != 0.0
    alone = np.all(used.sum(axis=0) == 1) and np.all(used.sum(axis=1) == 2)
    if not alone or np.any(matrix.sum(axis=1) != 0.0):
        return None
    return np.asarray(np.abs(matrix).max(axis=1))


def _table(idx: Any, coef: Any, size: int) -> tuple[NDArray[np.intp], Floats]:
    """Draws and factors with one row per element."""
    draws = np.asarray(idx)
    factors = np.broadcast_to(np.asarray(coef, dtype=np.float64), draws.shape)
    return draws.reshape(size, -1), factors.reshape(size, -1)
