"""The replay: the same run on the neighbor, with every released value kept as recorded."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.tracing.recording.events import (
    Bits,
    Call,
    Coin,
    LargestOf,
    Odds,
    Pick,
    Select,
    Touch,
)
from dpverify.tracing.recording.following import line_of, size_of, spread
from dpverify.tracing.recording.pinning import Pinning
from dpverify.tracing.recording.places import Place

SWAP = "swap"  # of two outcomes
_RAISED = frozenset({"greater", "greater_equal"})  # true where a number is above


def _outcome(op: str, *, raised: bool) -> bool:
    """The comparison with 0 of a number for which it is known whether it is above."""
    return raised == (op in _RAISED)


def _outcomes(op: str, raised: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same for a row; the other side may have compared the other way around."""
    return raised if op in _RAISED else ~raised


def _partners(v: Floats, w: Floats, sooner: int = 0) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which elements of two rows of different length correspond to each other.

    Equal ones from the start and from the end, and then as many in between as both have. Where
    equal elements follow each other, those from the end begin `sooner`.

    >>> _partners(np.array([30.0, 5.0]), np.array([30.0, 1.0, 5.0]))
    (array([0, 1]), array([0, 2]))
    """
    short = min(len(v), len(w))
    first = next((i for i in range(short) if v[i] != w[i]), short)
    first = max(first - sooner, 0)
    last = next((i for i in range(short - first) if v[-1 - i] != w[-1 - i]), short - first)
    head, tail = np.arange(short - last), np.arange(last)
    return tuple(np.concatenate([head, len(x) - last + tail]) for x in (v, w))  # type: ignore[return-value]


def _chosen(event: Bits, which: Any, shape: tuple[int, ...]) -> Bits:
    """Some elements of a comparison, in one row."""
    parts = (event.offset, event.idx, event.coef, event.outcome, event.raised)
    offset, idx, coef, outcome, raised = (
        np.broadcast_to(part, shape).reshape(-1)[which] for part in parts
    )
    low, high = (np.broadcast_to(end, shape).reshape(-1)[which] for end in event.window)
    floats = (np.asarray(x, dtype=np.float64) for x in (offset, coef))
    offset, coef = floats
    return Bits(event.place, event.touches, offset, idx, coef, outcome, raised, (low, high))


class Replaying(Pinning):
    """A run that releases the same as a recording, and notes what that takes.

    Draws are not matched one by one: how often a generator is called is not to be seen in any
    output. Releases are matched in order, and each must use noise of the same law.
    """

    def compare(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        place: Place,
    ) -> Any:
        if self.extras[self.at] and type(idx) is int:
            self.extras[self.at] -= 1
            return _outcome(op, raised=self._alone(offset, idx, coef, touches, place))
        event = self._take(Bits, place)
        if type(idx) is int and type(event.idx) is int:
            self._check_partners(event, idx, coef, touches, bind=True)
            if self._repeats(event, offset, idx, coef):
                return _outcome(op, raised=event.raised)
        shape, old_shape = np.shape(idx), np.shape(event.idx)
        if shape != old_shape and (len(shape) != 1 or len(old_shape) != 1):
            self.diverge(
                "shape",
                place,
                f"{size_of(old_shape)} are compared on one side, {size_of(shape)} on the other",
            )
        mine, old = np.atleast_1d(idx).reshape(-1), np.atleast_1d(event.idx).reshape(-1)
        w, d = (spread(x, shape).reshape(-1) for x in (offset, coef))
        v = spread(event.offset, old_shape).reshape(-1)
        outcome = np.empty(len(mine), dtype=np.bool_)
        if shape == old_shape:
            its: Any = slice(None)
            own: Any = slice(None)
        else:
            self.uneven = True
            its, own = _partners(v, w, self.extras[self.at - 1])
            for flat in np.setdiff1d(np.arange(len(old)), its).tolist():
                self._not_made(event, flat)
            for flat in np.setdiff1d(np.arange(len(mine)), own).tolist():
                one = (w.item(flat), mine.item(flat), d.item(flat))
                outcome[flat] = _outcome(op, raised=self._alone(*one, touches, place))
        part = _chosen(event, its, old_shape)
        if type(idx) is not int or type(event.idx) is not int:
            self._check_partners(part, mine[own], d[own], touches, bind=True)
        raised = part.raised.copy()
        for flat in self.flips.get(self.at - 1, frozenset()):
            raised[flat] = not raised[flat]
        outcome[own] = _outcomes(op, raised)
        self._compare_parts(part, (w[own], d[own]), mine[own], raised, touches, place)
        return bool(outcome[0]) if shape == () else outcome.reshape(shape)

    def _compare_parts(  # noqa: PLR0913, PLR0917
        self,
        part: Bits,
        other: tuple[Floats, Floats],
        mine: NDArray[np.intp],
        raised: NDArray[np.bool_],
        touches: tuple[Touch, ...],
        place: Place,
    ) -> None:
        """Comparisons made by both sides, in one row on either side."""
        draws, known = self.draws, self.recording.draws
        (w, d), (v, c), old = other, (part.offset, part.coef), part.idx
        if not np.array_equal(draws.law[mine], known.law[old]):
            self.diverge("parameter", place, "the noise has different laws")
        # Noise that is compared before data meets it is not known yet, only on which side it is.
        alike = (v == w) & (c == d) & ~draws.used[mine]
        exposed = (known.used[old] | draws.used[mine]) & ~alike
        if np.any(exposed):
            self._pin(part, w, mine, d, touches, only=exposed)
        if np.any(exposed & (raised != part.raised)):
            self.puzzle(place, "noise that is known already decides something")
        self._coins(part, other, mine, raised, ~exposed)

    def _repeats(self, event: Bits, offset: float, idx: int, coef: float) -> bool:
        """A single comparison that is equal on both sides: the common case, in plain Python."""
        draws = self.draws
        same = offset == event.offset and coef == event.coef and not draws.used.item(idx)
        if not same or (self.at - 1) in self.flips:
            return False
        if draws.law.item(idx) != self.recording.draws.law.item(event.idx):
            return False
        low, high = draws.windows()
        if (low.item(idx), high.item(idx)) != event.window:
            return False
        cut = -offset / coef
        if event.raised == (coef > 0):
            if cut > event.window[0]:
                low[idx] = cut
        elif cut < event.window[1]:
            high[idx] = cut
        return True

    @np.errstate(all="ignore")
    def _coins(
        self,
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
        before = part.raised
        cut, cut_other = -v / c, -w / d
        up, up_other = before == (c > 0), raised == (d > 0)
        lows, highs = part.window
        same = (cut == cut_other) & (up == up_other) & (lows == low[mine]) & (highs == high[mine])
        for i in np.flatnonzero(where & ~same):
            self.differences.append(
                Coin(
                    event=self.at - 1,
                    place=line_of(part, ()),
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

    @np.errstate(all="ignore")
    def select(
        self,
        offset: Any,
        idx: Any,
        coef: Any,
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
            self.leak(
                "scale", place, f"noise of scale {scale:g} on one side, {other:g} on the other"
            )
        left, right = spread(event.offset, shape) / scale, spread(offset, shape) / other
        if np.any(left != right):
            law = self.recording.draws.law_of(int(event.idx[0]))
            where = line_of(event, touches)
            self.differences.append(
                LargestOf(self.at - 1, where, law, left, right, abs(scale), event.outcome)
            )
        return int(event.outcome)

    def pick(
        self,
        key: tuple[Any, ...],
        weights: Floats | None,
        sample: Callable[[np.random.Generator], Any],
        place: Place,
    ) -> Any:
        event = self._take(Pick, place)
        if event.key != key:
            mine = ", ".join(str(part) for part in key)
            theirs = ", ".join(str(part) for part in event.key)
            self.leak(
                "parameter", place, f"drawn with ({theirs}) on one side, ({mine}) on the other"
            )
            return sample(self.script.rng)
        if weights is not None and event.weights is not None:
            length = max(len(weights), len(event.weights))
            left = np.pad(event.weights, (0, length - len(event.weights)))
            right = np.pad(weights, (0, length - len(weights)))
            step = self.flips.get(self.at - 1, 0)
            if step == SWAP:
                return self._swapped(event, key, left, right)
            if step:
                return self._stepped(event, key, left, right, step)
            if not np.array_equal(left, right):
                for outcome in np.atleast_1d(event.outcome).reshape(-1):
                    self.differences.append(
                        Odds(self.at - 1, event.place, str(key[0]), left, right, int(outcome))
                    )
        return event.outcome

    def _swapped(self, event: Pick, key: tuple[Any, ...], left: Floats, right: Floats) -> int:
        """The other of two outcomes on the right, whichever occurred on the left."""
        outcome = int(event.outcome)
        self.differences.append(
            Odds(self.at - 1, event.place, str(key[0]), left, right[::-1], outcome)
        )
        return 1 - outcome

    def _stepped(
        self,
        event: Pick,
        key: tuple[Any, ...],
        left: Floats,
        right: Floats,
        step: int,
    ) -> int:
        """Another outcome on the right, `step` further, if that keeps the output equal.

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
        given: Any,
        run: Callable[[], Any],  # noqa: ARG002  # the output is the recorded one
        cost: Callable[[Any, Any], Any],
        place: Place,
    ) -> Any:
        event = self._take(Call, place)
        if event.name != name:
            self.diverge("control flow", place, f"the other side calls {event.name} here")
        found = cost(event.given, given)
        if isinstance(found, str):
            self.puzzle(place, found)
        elif found is not None:
            found.event, found.place = self.at - 1, event.place
            self.differences.append(found)
        return deepcopy(event.output)
