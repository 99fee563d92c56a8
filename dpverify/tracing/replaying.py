"""The replay: the same run on the neighbor, with every noisy value frozen to what was released."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.alignment import align
from dpverify.tracing.events import (
    Bits,
    Call,
    Coin,
    Difference,
    Event,
    Factor,
    Largest,
    Leak,
    Move,
    Odds,
    Pick,
    Select,
    Touch,
    Value,
)
from dpverify.tracing.journal import COMPARE, Journal, Recording, Script, span
from dpverify.tracing.laws import LAPLACE, Law, coin
from dpverify.tracing.places import Place

Floats = NDArray[np.float64]
ROUNDING = 2.0**-40  # of the numbers at hand: what sums of many floats may be off by


class Diverged(BaseException):
    """The replay cannot go on: what it does next has no counterpart in the recording."""


class Replaying(Journal):
    """A run whose releases are those of a recording; what that takes is noted.

    Draws are not matched one by one: how often a generator is called is not to be seen in any
    output. Releases are matched in order, and each must use noise of the same law.
    """

    def __init__(
        self,
        script: Script,
        recording: Recording,
        flips: dict[int, Any] | None = None,
        skips: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(script, eager=recording.eager)
        self.recording = recording
        self.draws.laws = recording.draws.laws
        self.draws._ids = recording.draws._ids  # noqa: SLF001  # laws are numbered alike
        self.flips = flips or {}
        self.skips = skips
        self.at = 0
        self.differences: list[Difference] = []
        self.leaks: list[Leak] = []

    def leak(self, kind: str, place: Place, what: str) -> None:
        found = Leak(kind, place, what)
        if found not in self.leaks:
            self.leaks.append(found)

    def diverge(self, kind: str, place: Place, what: str) -> None:
        self.leak(kind, place, what)
        raise Diverged

    def _take(self, kind: type[Event], place: Place) -> Any:  # noqa: ANN401  # one of `kind`
        events = self.recording.events
        self.in_thread(place)
        self._skip()
        if self.at >= len(events):
            self.diverge("control flow", place, "one side releases more than the other")
        event = events[self.at]
        if type(event) is not kind:
            self.diverge(
                "control flow",
                place,
                f"the sides do different things with noise: the other goes on at {event.place}",
            )
        self.at += 1
        return event

    def _skip(self) -> None:
        """Pass over comparisons that only one side makes: no matter of chance on the other."""
        while self.at in self.skips:
            event = self.recording.events[self.at]
            assert isinstance(event, Bits)  # noqa: S101  # nothing else is ever skipped
            law = self.recording.draws.law_of(int(event.idx))
            up = bool(event.raised) == (float(event.coef) > 0)
            window = (float(event.window[0]), float(event.window[1]))
            chances = coin(law, window, -float(event.offset) / float(event.coef), up=up)
            left = np.array([float(chance) for chance in chances])
            right = np.array([1.0, 0.0])
            self.at += 1
            self.differences.append(
                Odds(
                    self.at - 1,
                    line_of(event, ()),
                    "comparison that one side makes",
                    left,
                    right,
                    0,
                )
            )

    def draw(self, law: Law, size: int | None, place: Place) -> int:
        self.in_thread(place)
        return self.draws.allot(law, 1 if size is None else size, place)

    def shaped(self, law: Law, values: Any, place: Place) -> int:  # noqa: ANN401
        """Noise that was made from raw noise: known only once it is used."""
        return self.draws.allot(law, np.size(values), place)

    def finish(self) -> None:
        """What the recording released and the replay did not."""
        self._skip()
        if self.at < len(self.recording.events):
            event = self.recording.events[self.at]
            place = line_of(event, ()) if isinstance(event, Value) else event.place
            self.leak("control flow", place, "one side releases more than the other")

    # Numbers.

    def realize(  # noqa: PLR0913  # the parts of a form
        self,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
        *,
        final: bool = False,  # noqa: ARG002  # as recorded
    ) -> Any:  # noqa: ANN401
        event = self._take(Value, touches[-1][0] if touches else place)
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
                f"{_size(np.shape(event.values))} are released on one side, {_size(shape)} on the "
                "other",
            )
        many = np.ndim(idx) > len(shape) or np.ndim(event.idx) > len(shape)
        if many or not _rising(idx):
            self._pin_many(event, offset, idx, coef, touches)
        elif not self._pin_block(event, offset, idx, coef, touches):
            self._pin(event, offset, idx, coef, touches)
        return event.values

    def _pin_block(
        self,
        event: Value,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
    ) -> bool:
        """A fresh array of noise of one law on the same factors: only what moved needs work."""
        draws, known = self.draws, self.recording.draws
        mine, old = span(idx), span(event.idx)
        if type(mine) is not slice or type(old) is not slice or not np.all(event.fresh):
            return False
        if np.any(draws.used[mine]) or not np.array_equal(draws.law[mine], known.law[old]):
            return False
        if not np.array_equal(event.coef, coef):
            return False
        moved = np.flatnonzero(np.ravel(np.not_equal(event.offset, offset)))
        draws.z[mine] = known.z[old]
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
        if draws.law[idx] == known.law[event.idx] and not draws.used[idx] and same and event.fresh:
            draws.used[idx] = True
            draws.z[idx] = known.z[event.idx]
            return
        if draws.used[idx] and not event.fresh:
            now = offset + coef * float(draws.z[idx])
            size = abs(now) + abs(event.values) + abs(offset)
            if abs(now - event.values) <= ROUNDING * size:
                return
        self._pin(event, offset, np.array([idx]), coef, touches)

    def _pin(  # noqa: PLR0913  # the parts of a form
        self,
        event: Any,  # noqa: ANN401  # Value, Bits or Select
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        *,
        only: NDArray[np.bool_] | None = None,
        numbers: NDArray[np.intp] | None = None,
    ) -> None:
        """Give every draw the value that makes offset + coef·z the recorded number.

        `only` says for which elements; `numbers` are their places in the whole event, where the
        parts that are given are not all of it.
        """
        draws, known = self.draws, self.recording.draws
        idx, old = np.atleast_1d(idx), np.atleast_1d(event.idx)
        shape = idx.shape
        wanted = np.ones(shape, dtype=np.bool_) if only is None else only
        if not np.array_equal(draws.law[idx][wanted], known.law[old][wanted]):
            self.diverge("parameter", line_of(event, touches), "the noise has different laws")
        v, w = _as(event.offset, shape), _as(offset, shape)
        c, d = _as(event.coef, shape), _as(coef, shape)
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
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z_other = np.where(same, z, (values - w) / d)
        self._check_windows(event, touches, idx, z_other, free & ~same)
        draws.z[idx[free]] = z_other[free]
        draws.used[idx[noisy]] = True
        self._check_pinned(event, touches, noisy & ~odd & ~free, values, w + d * draws.z[idx])
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
        event: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        idx: NDArray[np.intp],
        z_other: Floats,
        where: NDArray[np.bool_],
    ) -> None:
        """Noise that was compared before data was added must stay on the same side of the cut."""
        draws = self.draws
        if draws.low is None or draws.high is None:
            return
        outside = where & ((z_other <= draws.low[idx]) | (z_other > draws.high[idx]))
        if np.any(outside):
            what = "noise is cut off: on the other side this value cannot come out"
            self.leak("output", line_of(event, touches), what)

    def _moves(  # noqa: PLR0913, PLR0917
        self,
        event: Any,  # noqa: ANN401
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
        if np.any(np.abs(np.abs(scale) - np.abs(other)) > ROUNDING * np.abs(scale)):
            worst = int(np.argmax(np.abs(np.abs(scale) - np.abs(other))))
            self.leak(
                "scale",
                factor_line(event, touches) or known.place_of(int(old[worst])),
                f"noise of scale {abs(scale[worst]):g} on one side, {abs(other[worst]):g} on the "
                "other",
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
                    slack=ROUNDING * sizes[mine],
                    values=values[mine],
                    flat=flat[mine],
                    windows=None if windows is None else (windows[0][mine], windows[1][mine]),
                )
            )

    def _check_pinned(
        self,
        event: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        where: NDArray[np.bool_],
        values: Floats,
        now: Floats,
    ) -> None:
        """A draw that is known already hides nothing: what it is added to must be the same."""
        if not np.any(where):
            return
        size = np.abs(values) + np.abs(now) + np.abs(_as(event.offset, values.shape))
        if np.any(np.abs(values - now)[where] > ROUNDING * size[where]):
            place = event.place if isinstance(event, Bits) else line_of(event, touches)
            self.leak("reuse", place, "noise that is known already hides nothing more")

    def _pin_many(
        self,
        event: Value,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
    ) -> None:
        """Numbers that add up several draws, or use one more than once."""
        draws, known = self.draws, self.recording.draws
        size = np.size(event.values)
        v, w = (_as(x, np.shape(event.values)).reshape(-1) for x in (event.offset, offset))
        a, b = (_table(i, c, size) for i, c in ((event.idx, event.coef), (idx, coef)))
        if a[0].shape != b[0].shape or not np.array_equal(known.law[a[0]], draws.law[b[0]]):
            self.diverge("parameter", line_of(event, touches), "the noise has different laws")
        if not np.allclose(a[1], b[1], rtol=ROUNDING, atol=0.0):
            self.leak("scale", line_of(event, touches), "noise has other factors on the other side")
        if np.any(v != w) and not (np.all(np.isfinite(v)) and np.all(np.isfinite(w))):
            self.leak("output", line_of(event, touches), "a value is not finite on one side")
            return
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

    # Outcomes.

    def compare(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
    ) -> Any:  # noqa: ANN401
        event = self._take(Bits, place)
        draws, known = self.draws, self.recording.draws
        if type(idx) is int and type(event.idx) is int and self._repeats(event, offset, idx, coef):
            return event.outcome
        shape, old_shape = np.shape(idx), np.shape(event.idx)
        if shape != old_shape and (len(shape) != 1 or len(old_shape) != 1):
            self.diverge(
                "shape", place, f"{_size(old_shape)} are compared on one side, {_size(shape)} here"
            )
        mine, old = np.atleast_1d(idx).reshape(-1), np.atleast_1d(event.idx).reshape(-1)
        n = min(len(mine), len(old))
        if not np.array_equal(draws.law[mine[:n]], known.law[old[:n]]):
            self.diverge("parameter", place, "the noise has different laws")
        self._sample_rest(mine[n:])
        v, c = (_as(x, old_shape).reshape(-1)[:n] for x in (event.offset, event.coef))
        w, d = (_as(x, shape).reshape(-1) for x in (offset, coef))
        part = Bits(event.place, event.touches, v, old[:n], c, event.outcome, event.raised, None)
        # Noise that is compared before data meets it is not known yet, only on which side it is.
        alike = (v == w[:n]) & (c == d[:n]) & ~draws.used[mine[:n]]
        exposed = (known.used[old[:n]] | draws.used[mine[:n]]) & ~alike
        if np.any(exposed):
            self._pin(part, w[:n], mine[:n], d[:n], touches, only=exposed)
        outcome = np.empty(len(mine), dtype=np.bool_)
        outcome[:n] = np.atleast_1d(event.outcome).reshape(-1)[:n]
        outcome[n:] = COMPARE[op](w[n:] + d[n:] * draws.z[mine[n:]], 0.0)
        raised = np.atleast_1d(event.raised).reshape(-1)[:n].copy()
        for flat in self.flips.get(self.at - 1, frozenset()):
            outcome[flat], raised[flat] = not outcome[flat], not raised[flat]
        self._coins(event, part, (w[:n], d[:n]), mine[:n], raised, ~exposed)
        return bool(outcome[0]) if shape == () else outcome.reshape(shape)

    def _repeats(self, event: Bits, offset: float, idx: int, coef: float) -> bool:
        """One comparison that is the same on both sides: the common case, in plain Python."""
        draws = self.draws
        same = offset == event.offset and coef == event.coef and not draws.used[idx]
        if not same or (self.at - 1) in self.flips:
            return False
        if draws.law[idx] != self.recording.draws.law[event.idx]:
            return False
        low, high = draws.windows()
        if (low[idx], high[idx]) != event.window:
            return False
        cut = -offset / coef
        if event.raised == (coef > 0):
            if cut > event.window[0]:
                low[idx] = cut
        elif cut < event.window[1]:
            high[idx] = cut
        return True

    def _sample_rest(self, idx: NDArray[np.intp]) -> None:
        """Draws without a counterpart are noise of their own, which nothing is known of."""
        for j in idx:
            if not self.draws.used[j]:
                self.draws.z[j] = self.script.draw(self.draws.law_of(int(j)), None, -1)

    def _coins(  # noqa: PLR0913, PLR0917
        self,
        event: Bits,
        part: Bits,
        other: tuple[Floats, Floats],
        mine: NDArray[np.intp],
        raised: NDArray[np.bool_],
        where: NDArray[np.bool_],
    ) -> None:
        (w, d), (v, c), old = other, (part.offset, part.coef), part.idx
        if not np.any(where):
            return
        low, high = self.draws.windows()
        before = np.atleast_1d(event.raised).reshape(-1)[: len(mine)]
        with np.errstate(divide="ignore", invalid="ignore"):
            cut, cut_other = -v / c, -w / d
        up, up_other = before == (c > 0), raised == (d > 0)
        lows, highs = (np.atleast_1d(x).reshape(-1)[: len(mine)] for x in event.window)
        same = (cut == cut_other) & (up == up_other) & (lows == low[mine]) & (highs == high[mine])
        for i in np.flatnonzero(where & ~same):
            self.differences.append(
                Coin(
                    event=self.at - 1,
                    place=line_of(event, ()),
                    law=self.recording.draws.law_of(int(old[i])),
                    window=(float(lows[i]), float(highs[i])),
                    cut=float(cut[i]),
                    up=bool(up[i]),
                    window_other=(float(low[mine[i]]), float(high[mine[i]])),
                    cut_other=float(cut_other[i]),
                    up_other=bool(up_other[i]),
                    flipped=bool(before[i] != raised[i]),
                    flat=int(i),
                    draw=int(old[i]),
                )
            )
        low[mine] = np.where(where & up_other, np.maximum(low[mine], cut_other), low[mine])
        high[mine] = np.where(where & ~up_other, np.minimum(high[mine], cut_other), high[mine])

    def select(
        self,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
    ) -> int:
        event = self._take(Select, place)
        if np.shape(idx) != np.shape(event.idx):
            self.diverge(
                "shape",
                place,
                f"the largest of {np.size(event.idx)} is chosen on one side, of {np.size(idx)} on "
                "the other",
            )
        if np.any(self.recording.draws.used[event.idx]):
            self._pin(event, offset, idx, coef, touches)
            return int(event.outcome)
        if self.draws.law[idx[0]] != self.recording.draws.law[event.idx[0]]:
            self.diverge("parameter", place, "the noise has different laws")
        shape = np.shape(idx)
        scale, other = float(np.ravel(event.coef)[0]), float(np.ravel(coef)[0])
        if scale != other:
            self.leak("scale", place, f"noise of scale {scale:g} on one side, {other:g} here")
        left, right = _as(event.offset, shape) / scale, _as(offset, shape) / other
        if np.any(left != right):
            law = self.recording.draws.law_of(int(event.idx[0]))
            where = line_of(event, touches)
            self.differences.append(
                Largest(self.at - 1, where, law, left, right, abs(scale), event.outcome)
            )
        return int(event.outcome)

    def pick(
        self,
        key: tuple[Any, ...],
        weights: Floats | None,
        sample: Callable[[np.random.Generator], Any],
        place: Place,
    ) -> Any:  # noqa: ANN401
        event = self._take(Pick, place)
        if event.key != key:
            mine = ", ".join(str(part) for part in key)
            theirs = ", ".join(str(part) for part in event.key)
            self.leak("parameter", place, f"drawn with ({theirs}) on one side, ({mine}) here")
            return sample(self.script.rng)
        if weights is not None and event.weights is not None:
            length = max(len(weights), len(event.weights))
            left = np.pad(event.weights, (0, length - len(event.weights)))
            right = np.pad(weights, (0, length - len(weights)))
            step = self.flips.get(self.at - 1, 0)
            if step:
                return self._stepped(event, key, left, right, step)
            if not np.array_equal(left, right):
                for outcome in np.atleast_1d(event.outcome).reshape(-1):
                    self.differences.append(
                        Odds(self.at - 1, event.place, str(key[0]), left, right, int(outcome))
                    )
        return event.outcome

    def _stepped(
        self,
        event: Pick,
        key: tuple[Any, ...],
        left: Floats,
        right: Floats,
        step: int,
    ) -> int:
        """Another outcome on the right, `step` further, where that keeps the output the same.

        Outcomes that have no partner on the other side are told by a place of their own.
        """
        size, gap = len(left), abs(step)
        one, two = np.zeros(size + gap), np.zeros(size + gap)
        start = gap if step > 0 else 0
        one[start : start + size] = left
        two[gap - start : gap - start + size] = right
        outcome = int(event.outcome)
        self.differences.append(
            Odds(self.at - 1, event.place, str(key[0]), one, two, outcome + start)
        )
        return outcome + step

    def call(
        self,
        name: str,
        given: Any,  # noqa: ANN401
        run: Callable[[], Any],  # noqa: ARG002  # the output is the recorded one
        cost: Callable[[Any, Any], Any],
        place: Place,
    ) -> Any:  # noqa: ANN401
        event = self._take(Call, place)
        if event.name != name:
            self.diverge("control flow", place, f"the other side calls {event.name} here")
        found = cost(event.given, given)
        if isinstance(found, str):
            self.leak("parameter", place, found)
        elif found is not None:
            found.event, found.place = self.at - 1, event.place
            self.differences.append(found)
        return event.output


def line_of(event: Any, touches: tuple[Touch, ...]) -> Place:  # noqa: ANN401
    """The line that added what differs; else the line where the form became a number."""
    added: list[Touch] = [touch for touch in event.touches if not isinstance(touch[1], Factor)]
    others = [touch for touch in touches if not isinstance(touch[1], Factor)]
    for (place, mine), (_, theirs) in zip(added, others, strict=False):
        if not _same(mine, theirs):
            return place
    own: Place = event.place
    return added[-1][0] if added else own


def factor_line(event: Any, touches: tuple[Touch, ...]) -> Place | None:  # noqa: ANN401
    """The line that multiplied noise by something that differs, if one did."""
    mine: list[Touch] = [touch for touch in event.touches if isinstance(touch[1], Factor)]
    theirs = [touch for touch in touches if isinstance(touch[1], Factor)]
    for (place, one), (_, two) in zip(mine, theirs, strict=False):
        if not _same(one.by, two.by):
            return place
    return None


def _same(one: Any, two: Any) -> bool:  # noqa: ANN401
    try:
        return bool(np.all(np.asarray(one) == np.asarray(two)))
    except (TypeError, ValueError):
        return False


def _aligned(law: Law) -> tuple[Law, float]:
    """A one-sided law that is only ever shifted upwards loses as Laplace noise does."""
    return (LAPLACE, 1.0 / law.rate) if law.grows_only else (law, 1.0)


def _as(value: Any, shape: tuple[int, ...]) -> Floats:  # noqa: ANN401
    return np.broadcast_to(np.asarray(value, dtype=np.float64), shape)


def _rising(idx: Any) -> bool:  # noqa: ANN401
    flat = np.ravel(idx)
    return bool(flat.size < 2 or np.all(flat[1:] > flat[:-1]))


def _table(idx: Any, coef: Any, size: int) -> tuple[NDArray[np.intp], Floats]:  # noqa: ANN401
    """Draws and factors with one row an element."""
    draws = np.asarray(idx)
    factors = np.broadcast_to(np.asarray(coef, dtype=np.float64), draws.shape)
    return draws.reshape(size, -1), factors.reshape(size, -1)


def _size(shape: tuple[int, ...]) -> str:
    return "one number" if shape == () else f"{'×'.join(map(str, shape))} numbers"
