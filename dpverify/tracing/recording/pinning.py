"""Find the noise with which the neighbor releases the same numbers as the recording."""

# ruff: noqa: ANN401  # operands are whatever the user has

from math import isfinite  # Python's own, whatever stands in its place during a run
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.tracing.recording.draws import span
from dpverify.tracing.recording.events import (
    Bits,
    Move,
    Touch,
    Value,
)
from dpverify.tracing.recording.following import (
    HUGE,
    LITTLE,
    ROUNDING,
    SWALLOWED,
    factor_line,
    line_of,
    size_of,
    spread,
)
from dpverify.tracing.recording.places import Place
from dpverify.tracing.recording.sums import SumReplay


class Pinning(SumReplay):
    """A run whose released numbers are those of a recording; its noise is solved for."""

    def realize(  # noqa: PLR0913  # the parts of a form
        self,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        place: Place,
        *,
        final: bool = False,  # noqa: ARG002  # as recorded
    ) -> Any:
        event = self._take(Value, touches[-1][0] if touches else place)
        if self.made:
            self._check_made(event, idx, touches)
        if self.partner.size and np.shape(idx) == np.shape(event.idx):
            self._check_partners(event, idx, coef, touches, bind=False)
        if type(idx) is int and type(event.idx) is int:
            self._pin_one(event, offset, idx, coef, touches)
            return event.values
        shape = np.broadcast_shapes(np.shape(offset), np.shape(idx)[: np.ndim(offset) or None])
        if np.ndim(idx) > np.ndim(event.values) or np.ndim(event.idx) > np.ndim(event.values):
            shape = np.shape(offset)
        if shape != np.shape(event.values):
            self.diverge(
                "shape",
                line_of(event, touches),
                f"{size_of(np.shape(event.values))} are released on one side, "
                f"{size_of(shape)} on the other",
            )
        many = np.ndim(idx) > len(shape) or np.ndim(event.idx) > len(shape)
        if many or not (_distinct(idx) and _distinct(event.idx)):
            self._pin_many(event, offset, idx, coef, touches)
        elif not self._pin_block(event, offset, idx, coef, touches):
            self._pin(event, offset, idx, coef, touches)
        return event.values

    @np.errstate(all="ignore")
    def _pin_block(
        self,
        event: Value,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
    ) -> bool:
        """A fresh array of noise of one law and one factor, where only shifts need work."""
        draws, known = self.draws, self.recording.draws
        mine, old = span(idx), span(event.idx)
        if type(mine) is not slice or type(old) is not slice or not np.all(event.fresh):
            return False
        if np.any(draws.used[mine]) or not np.array_equal(draws.law[mine], known.law[old]):
            return False
        if not np.array_equal(event.coef, coef) or not np.all(np.isfinite(offset)):
            return False
        moved = np.flatnonzero(np.ravel(np.not_equal(event.offset, offset)))
        draws.z[mine] = known.z[old]
        huge = np.abs(offset) > HUGE * np.abs(coef)
        if np.any(huge):
            sizes = np.where(huge, 3.0 * np.abs(offset) / np.abs(coef), 0.0)
            self.sizes[mine] = np.broadcast_to(sizes, np.shape(idx)).reshape(-1)
        self._check_turned(event, touches, np.ravel(idx))
        if not moved.size:
            draws.used[mine] = True
            return True
        flat = [np.broadcast_to(x, np.shape(idx)).reshape(-1)[moved] for x in (offset, coef)]
        before = [
            np.broadcast_to(x, np.shape(idx)).reshape(-1)[moved] for x in (event.offset, event.coef)
        ]
        part = Value(
            event.place,
            event.touches,
            before[0],
            np.ravel(event.idx)[moved],
            before[1],
            np.ravel(event.values)[moved],
            True,  # noqa: FBT003
            event.raw,
            event.final,
        )
        self._pin(part, flat[0], np.ravel(idx)[moved], flat[1], touches, numbers=moved)
        draws.used[mine] = True
        return True

    def _pin_one(
        self,
        event: Value,
        offset: float,
        idx: int,
        coef: float,
        touches: tuple[Touch, ...],
    ) -> None:
        """One number with one draw: the common case, in plain Python."""
        draws, known = self.draws, self.recording.draws
        same = offset == event.offset and coef == event.coef
        alike = draws.law.item(idx) == known.law.item(event.idx)
        if alike and not draws.used.item(idx) and same and event.fresh and isfinite(offset):
            draws.used[idx] = True
            draws.z[idx] = known.z.item(event.idx)
            if abs(offset) > HUGE * abs(coef):
                self.sizes[idx] = 3.0 * abs(offset / coef) if coef else 0.0
            if draws.low is not None:
                self._check_turned(event, touches, np.array([idx]))
            return
        if draws.used[idx] and not event.fresh and idx not in self.one_way:
            now = offset + coef * float(draws.z[idx])
            size = abs(now) + abs(event.values) + abs(offset)
            if abs(now - event.values) <= ROUNDING * size:
                return
        self._pin(event, offset, np.array([idx]), coef, touches)

    @np.errstate(all="ignore")
    def _pin(  # noqa: PLR0913  # the parts of a form
        self,
        event: Any,  # Value, Bits or Select
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        *,
        only: NDArray[np.bool_] | None = None,
        numbers: NDArray[np.intp] | None = None,
    ) -> None:
        """Solve for the draws that make offset + coef·z equal to the recorded number.

        `only` says for which elements; `numbers` are their places in the whole event, where the
        parts that are given are not all of it.
        """
        draws, known = self.draws, self.recording.draws
        idx, old = np.atleast_1d(idx), np.atleast_1d(event.idx)
        shape = idx.shape
        wanted = np.ones(shape, dtype=np.bool_) if only is None else only
        if self.one_way:
            mine = np.unique(idx[wanted])
            self._no_second_use(event, touches, mine, np.eye(len(mine)))
        if not np.array_equal(draws.law[idx][wanted], known.law[old][wanted]):
            self.diverge("parameter", line_of(event, touches), "the noise has different laws")
        v, w = spread(event.offset, shape), spread(offset, shape)
        c, d = spread(event.coef, shape), spread(coef, shape)
        z = known.z[old]
        values = v + c * z
        same = ((v == w) | (np.isnan(v) & np.isnan(w))) & (c == d)
        noisy = (c != 0) & (d != 0) & wanted
        bare = ~same & ~noisy & wanted
        if np.any(bare):
            self.leak("output", line_of(event, touches), "a value is released without noise")
        odd = ~same & ~(np.isfinite(v) & np.isfinite(w)) & noisy
        if np.any(odd):
            what = "a value is not finite on one side, and noise does not hide that"
            self.leak("output", line_of(event, touches), what)
        free = ~draws.used[idx] & noisy & ~odd
        if isinstance(event, Value) and np.any(free & ~np.asarray(event.fresh)):
            what = "noise is fresh here, and known already on the other side: the data choose it"
            self.leak("reuse", line_of(event, touches), what)
        z_other = np.where(same, z, (values - w) / d)
        self._check_windows(event, touches, idx, z_other, free & ~same)
        draws.z[idx[free]] = z_other[free]
        self._check_turned(event, touches, idx[free & same])
        fresh = free & ~same
        sizes = np.abs(v) + np.abs(w) + np.abs(values)
        self.sizes[idx[fresh]] = sizes[fresh] / np.abs(d[fresh])
        draws.used[idx[noisy & np.isfinite(v) & np.isfinite(w)]] = True
        blur = np.abs(d) * self.sizes[idx]
        now = w + d * draws.z[idx]
        self._check_pinned(event, touches, noisy & ~odd & ~free, values, now, blur, d, idx)
        moved = np.flatnonzero(free & ~same)
        if moved.size:
            at = np.unravel_index(moved, shape)
            draws_moved = (old.reshape(-1)[moved], idx.reshape(-1)[moved])
            places = moved if numbers is None else numbers[moved]
            self._moves(
                event, touches, places, draws_moved, v[at], w[at], c[at], d[at], z[at], z_other[at]
            )

    def _check_windows(
        self,
        event: Any,
        touches: tuple[Touch, ...],
        idx: NDArray[np.intp],
        z_other: Floats,
        where: NDArray[np.bool_],
    ) -> None:
        """Check that noise compared before data was added stays on the same side of the cut."""
        draws = self.draws
        if draws.low is None or draws.high is None:
            return
        outside = where & ((z_other <= draws.low[idx]) | (z_other > draws.high[idx]))
        if np.any(outside):
            what = "noise is cut off: on the other side this value cannot come out"
            self.leak("output", line_of(event, touches), what)

    def _moves(  # noqa: PLR0913, PLR0917
        self,
        event: Any,
        touches: tuple[Touch, ...],
        flat: NDArray[np.intp],
        pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
        here_value: Floats,
        there_value: Floats,
        scale: Floats,
        other: Floats,
        z: Floats,
        z_other: Floats,
    ) -> None:
        known = self.recording.draws
        old, draws = pairs
        shift = here_value - there_value
        values = here_value + scale * z
        sizes = np.abs(here_value) + np.abs(there_value)
        place = line_of(event, touches)
        apart = np.where(np.abs(scale) == np.abs(other), 0.0, np.abs(np.abs(scale) - np.abs(other)))
        if not np.all(apart <= ROUNDING * np.minimum(np.abs(scale), np.abs(other))):
            worst = int(np.argmax(apart))
            self.leak(
                "scale",
                factor_line(event, touches) or known.place_of(int(old[worst])),
                f"noise of scale {abs(scale[worst]):g} on one side, {abs(other[worst]):g} on the "
                "other",
                known.names_of(old),
            )
        windows = None
        if self.draws.low is not None and self.draws.high is not None:
            low, high = self.draws.low[draws], self.draws.high[draws]
            windows = (low, high) if np.any(np.isfinite(low) | np.isfinite(high)) else None
        for law in known.names_of(old):
            mine = known.law[old] == known.laws.index(law)
            self.differences.append(
                Move(
                    event=self.at - 1,
                    place=place,
                    law=law,
                    shift=shift[mine],
                    scale=scale[mine],
                    scale_other=other[mine],
                    z=z[mine],
                    z_other=z_other[mine],
                    slack=self.summed * sizes[mine],
                    values=values[mine],
                    flat=flat[mine],
                    windows=None if windows is None else (windows[0][mine], windows[1][mine]),
                )
            )

    def _check_pinned(  # noqa: PLR0913, PLR0917  # the parts of a form
        self,
        event: Any,
        touches: tuple[Touch, ...],
        where: NDArray[np.bool_],
        values: Floats,
        now: Floats,
        blur: Floats,
        scales: Floats,
        idx: NDArray[np.intp],
    ) -> None:
        """Check that a known draw, which hides nothing, is added to equal numbers on both sides."""
        if not np.any(where):
            return
        size = np.abs(values) + np.abs(now) + np.abs(spread(event.offset, values.shape))
        off = np.abs(values - now) - ROUNDING * size
        place = event.place if isinstance(event, Bits) else line_of(event, touches)
        if np.any((off > ROUNDING * blur)[where]):
            what = "noise that is known already hides nothing more"
            self.leak("reuse", place, what, self.draws.names_of(idx[where]))
        elif np.any((off > LITTLE * np.abs(scales))[where]):
            self.puzzle(place, SWALLOWED)


def _distinct(idx: Any) -> bool:
    """Whether no draw occurs twice."""
    flat = np.ravel(idx)
    if flat.size < 2 or np.all(flat[1:] > flat[:-1]):
        return True
    return bool(np.unique(flat).size == flat.size)
