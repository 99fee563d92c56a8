"""Released numbers that add up several draws: the neighbor's noise is an alignment of theirs."""

# ruff: noqa: ANN401  # operands are whatever the user has

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.recording.alignment import align
from dpverify.tracing.recording.events import (
    Move,
    Touch,
    Value,
)
from dpverify.tracing.recording.following import (
    ROUNDING,
    Floats,
    Following,
    line_of,
    one_to_one,
    spread,
)
from dpverify.tracing.recording.laws import LAPLACE, Law


class Sums(Following):
    """A replay of sums of draws."""

    def _pin_many(
        self,
        event: Value,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
    ) -> None:
        """Numbers that add up several draws, or use one more than once."""
        draws, known = self.draws, self.recording.draws
        size = np.size(event.values)
        v, w = (spread(x, np.shape(event.values)).reshape(-1) for x in (event.offset, offset))
        a, b = (_table(i, c, size) for i, c in ((event.idx, event.coef), (idx, coef)))
        if a[0].shape != b[0].shape or not np.array_equal(known.law[a[0]], draws.law[b[0]]):
            self.diverge("parameter", line_of(event, touches), "the noise has different laws")
        if not np.allclose(a[1], b[1], rtol=ROUNDING, atol=0.0):
            self.leak("scale", line_of(event, touches), "noise has other factors on the other side")
        if np.any(v != w) and not (np.all(np.isfinite(v)) and np.all(np.isfinite(w))):
            self.leak("output", line_of(event, touches), "a value is not finite on one side")
            return
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
        bound = draws.used[names]
        gap = v - w
        gap = gap - matrix[:, bound] @ (draws.z[names] - known.z[twins])[bound]
        draws.used[names] = True
        draws.z[names[~bound]] = known.z[twins[~bound]]
        tiny = ROUNDING * (np.abs(v) + np.abs(w))
        if np.all(np.abs(gap) <= tiny):
            return
        free = np.flatnonzero(~bound)
        laws = [draws.law_of(int(i)) for i in names[free]]
        found = align(matrix[:, free], gap, laws)
        if found is None:
            self.leak(
                "reuse", line_of(event, touches), "noise that is known already hides nothing more"
            )
            return
        step, exact = found
        draws.z[names[free]] = known.z[twins[free]] + step
        exact = exact and not np.any(bound)
        pairwise = size == 1 and len(free) == 2 and laws[0].grows_only and exact
        if pairwise:
            self._two_sided(event, touches, float(gap[0]), float(matrix[0, free[0]]), laws[0])
            return
        self._spread(event, touches, free, step, names, twins, exact=exact)

    def _two_sided(
        self, event: Value, touches: tuple[Touch, ...], gap: float, factor: float, law: Law
    ) -> None:
        """x − y for two draws of a one-sided law is noise on both sides, of one scale."""
        two = LAPLACE if law.name == "exponential" else Law("discrete laplace", law.parameter)
        value = float(np.ravel(event.values)[0])
        z = (value - float(np.ravel(event.offset)[0])) / factor
        self.differences.append(
            Move(
                event=self.at - 1,
                place=line_of(event, touches),
                law=two,
                shift=np.array([gap]),
                scale=np.array([factor]),
                scale_other=np.array([factor]),
                z=np.array([z]),
                z_other=np.array([z + gap / factor]),
                slack=ROUNDING * np.array([abs(gap)]),
                values=np.array([value]),
                flat=np.array([0]),
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
        z = self.recording.draws.z[twins[free[moved]]]
        laws = [self.draws.law_of(int(names[free[i]])) for i in moved]
        for own in dict.fromkeys(laws):
            mine = np.array([i for i, each in enumerate(laws) if each == own])
            shift = step[moved[mine]]
            law, factor = _aligned(own)
            ones = np.ones(len(mine))
            self.differences.append(
                Move(
                    event=self.at - 1,
                    place=line_of(event, touches),
                    law=law,
                    shift=-shift,
                    scale=factor * ones,
                    scale_other=factor * ones,
                    z=z[mine] / factor,
                    z_other=(z[mine] + shift) / factor,
                    slack=ROUNDING * np.abs(shift),
                    values=np.full(len(mine), np.nan),
                    flat=mine,
                    exact=exact,
                )
            )


def _aligned(law: Law) -> tuple[Law, float]:
    """A one-sided law that is only ever shifted upwards loses as Laplace noise does."""
    return (LAPLACE, 1.0 / law.rate) if law.grows_only else (law, 1.0)


def _table(idx: Any, coef: Any, size: int) -> tuple[NDArray[np.intp], Floats]:
    """Draws and factors with one row an element."""
    draws = np.asarray(idx)
    factors = np.broadcast_to(np.asarray(coef, dtype=np.float64), draws.shape)
    return draws.reshape(size, -1), factors.reshape(size, -1)
