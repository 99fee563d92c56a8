"""The replay: the same run on the neighbor, with every noisy value frozen to what was released."""

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
from dpverify.tracing.recording.journal import COMPARE
from dpverify.tracing.recording.pinning import Pinning
from dpverify.tracing.recording.places import Place

SWAP = "swap"  # of two outcomes


class Replaying(Pinning):
    """A run whose releases are those of a recording; what that takes is noted.

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
        event = self._take(Bits, place)
        self._check_partners(event, idx, coef, touches, bind=True)
        draws, known = self.draws, self.recording.draws
        if type(idx) is int and type(event.idx) is int and self._repeats(event, offset, idx, coef):
            return event.outcome
        shape, old_shape = np.shape(idx), np.shape(event.idx)
        if shape != old_shape and (len(shape) != 1 or len(old_shape) != 1):
            self.diverge(
                "shape",
                place,
                f"{size_of(old_shape)} are compared on one side, {size_of(shape)} on the other",
            )
        mine, old = np.atleast_1d(idx).reshape(-1), np.atleast_1d(event.idx).reshape(-1)
        n = min(len(mine), len(old))
        if not np.array_equal(draws.law[mine[:n]], known.law[old[:n]]):
            self.diverge("parameter", place, "the noise has different laws")
        self._sample_rest(mine[n:])
        v, c = (spread(x, old_shape).reshape(-1)[:n] for x in (event.offset, event.coef))
        w, d = (spread(x, shape).reshape(-1) for x in (offset, coef))
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

    def _sample_rest(self, idx: NDArray[np.intp]) -> None:
        """Draws without a counterpart are noise of their own, which nothing is known of."""
        for j in idx:
            if not self.draws.used[j]:
                self.draws.z[j] = self.script.draw(self.draws.law_of(int(j)), None, -1)

    @np.errstate(all="ignore")
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
        """The other one of two outcomes on the right, whichever it was on the left."""
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
