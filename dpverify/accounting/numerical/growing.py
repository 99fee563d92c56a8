"""A growing composition: ε after each part, at the cost of adding that part.

Any tilt, window and grid give valid bounds. So those that are chosen once, for twice the runs that
there are, serve until there are twice as many: a new part is put on the same grid, its transform is
multiplied into that of the parts before it, and the window moves to where the sum is now. Then
everything is chosen anew. A thousand different parts are put on grids about two thousand times in
all, not half a million times.
"""

import copy
import math

from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.composition import ASSUMES
from dpverify.accounting.numerical.convolution import window_length
from dpverify.accounting.numerical.engine import (
    Frame,
    Window,
    Work,
    grid_for,
    window_for,
)
from dpverify.accounting.numerical.preparation import PairParts
from dpverify.accounting.numerical.refinement import cuts, suitable_step
from dpverify.accounting.numerical.sketch import Sketch
from dpverify.accounting.numerical.targets import EpsilonAt
from dpverify.guarantees import Bracket
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import CutLaw, LossLaw
from dpverify.pairs.ramps import UNIT
from dpverify.theorems import NUMERICAL_COMPOSITION

_AHEAD = 2  # times as many runs as there are, for which a grid is chosen
_MOST_NODES = 1 << 19  # of a grid that is kept
_FINER = (1.0, 0.6, 0.4, 0.25)  # shares of the step that should do, if it does not
_LAVISH = 0.15  # share of it from which on a coarser one is tried next
_LASTING = 0.4  # share of the tolerance within which new grids should be, to serve for long
_ROOM = 2.0  # times the window that parts like those so far would need
_ROOM_BESIDE = 16.0  # the same for the side of less loss, whose grids are short
_GENTLER = tuple(2.0**-k for k in range(6))  # shares of the exponent that suits those so far
_PRECISION = 1e-3  # share of the tolerance that may lie beyond the window


class GrowingComposition:
    """ε at one δ of parts to which others are added, in the worse of both directions.

    It says nothing (None) where a pair has infinite losses or only bounds what is run, and where
    grids would be too long. After that it must not be asked again.
    """

    def __init__(self, delta: float, tolerance: float) -> None:
        log_delta = math.log(delta)
        error = 2.0**-50 * abs(log_delta)
        self._target = EpsilonAt(log_delta - error, log_delta + error, math.inf, tolerance)
        self.parts: PairParts = ()
        self._sides: tuple[_Side, ...] = ()
        self._level = 0  # of `_FINER`, as was needed last

    def epsilon(self, parts: PairParts) -> Bracket | None:
        """The answer for parts; nearly free if they extend the last ones by a few."""
        more = continuation(self.parts, parts)
        if more is not None and self._sides and all(_supports(pair) for pair, _ in more):
            self.parts = parts
            ways = (more, _mirrored(more))
            found = self._narrow(
                [side.after(way, self._target) for side, way in zip(self._sides, ways, strict=True)]
            )
            if found is not None:
                return found
        elif not all(_supports(pair) for pair, _ in parts):
            return None
        found = None
        for level in range(self._level, len(_FINER)):
            self._level = level
            found = self._afresh(parts, _FINER[level])
            if found is not None and found.width <= _LASTING * self._target.tolerance:
                break
        if found is not None and found.width < _LAVISH * self._target.tolerance:
            self._level = max(self._level - 1, 0)
        return found

    def _afresh(self, parts: PairParts, finer: float) -> Bracket | None:
        """The answer, computed on new grids."""
        pictures = [_Picture(side, self._target) for side in (parts, _mirrored(parts))]
        # The side of less loss may be bounded from above, and ask for a tilt that suits nothing
        # that comes later; it need not be known that well.
        tilt = min(picture.saddle.tilt for picture in pictures)
        sides = [picture.side(tilt, finer) for picture in pictures]
        if None in sides:
            return None
        self.parts, self._sides = parts, tuple(side for side in sides if side is not None)
        return self._narrow([side.after((), self._target) for side in self._sides])

    def _narrow(self, ends: list[tuple[float, float] | None]) -> Bracket | None:
        """The larger of both directions, if it is known well enough."""
        if any(end is None for end in ends):
            return None
        lower, upper = (max(side) for side in zip(*(end for end in ends if end), strict=True))
        if not upper - lower <= self._target.tolerance:
            return None
        return Bracket(lower, upper, NUMERICAL_COMPOSITION, ASSUMES)


def continuation(before: PairParts, after: PairParts) -> PairParts | None:
    """What was added to the earlier parts, if the later ones begin with them."""
    if len(after) < len(before):
        return None
    more = []
    for (pair, times), (known, once) in zip(after, before, strict=False):
        if times < once or not (pair is known or pair == known):
            return None
        if times > once:
            more.append((pair, times - once))
    return (*more, *after[len(before) :])


def _mirrored(parts: PairParts) -> PairParts:
    return tuple((pair.reversed, times) for pair, times in parts)


def _supports(pair: Pair) -> bool:
    leaks = pair.singular_mass > 0 or pair.reversed.singular_mass > 0
    is_exact = not pair.gap and pair.attained is None
    return is_exact and not leaks and isinstance(pair.loss_law(), LossLaw)


class _Picture:
    """What is seen of one direction before a grid is chosen for it and as many runs again."""

    def __init__(self, parts: PairParts, target: EpsilonAt) -> None:
        self.target = target
        self.most = _AHEAD * sum(times for _, times in parts)
        self.cut_at = cuts(self.most, target.low)
        self.laws = [(_cut(pair, self.cut_at), times) for pair, times in parts]
        self.sketch = Sketch(self.laws)
        self.saddle = target.saddle(self.sketch)

    def side(self, tilt: float, finer: float) -> "_Side | None":
        """The parts on a grid; None if it would be too long."""
        ahead = copy.copy(self.sketch)
        ahead.times = _AHEAD * self.sketch.times
        tolerance = self.target.tolerance
        step = finer * suitable_step(ahead, self.target, tolerance, tilt)
        precision = _PRECISION * min(1.0, tolerance * self.target.cost(tilt))
        signal = self.target.low - self.sketch.log_moment(tilt) + tilt * self.saddle.epsilon
        log_mass = min(signal, 0.0) + math.log(precision)
        window = window_for(ahead, ahead.saddle(tilt), log_mass)
        room = _ROOM if tilt == self.saddle.tilt else _ROOM_BESIDE
        length = math.ceil(room * window.width / step) + 2
        if length > _MOST_NODES:
            return None
        side = _Side(tilt, window, step, window_length(length))
        side.most, side.cut_at, side.log_mass = self.most, self.cut_at, log_mass
        side.guess = self.saddle.epsilon
        for (law, times), log_scale in zip(self.laws, self.sketch.log_moments(tilt), strict=True):
            side.add(law, times, float(log_scale))
        return side


class _Side:
    """One direction on one grid."""

    def __init__(self, tilt: float, window: Window, step: float, length: int) -> None:
        self.tilt, self.step, self.length = tilt, step, length
        self.most, self.runs, self.cut_at = 0, 0, (-math.inf, -math.inf)
        self.first = self.last = 0
        self.offsets: list[float] = []
        self.log_mass = 0.0
        self.guess = 0.0
        self.work = Work(window, self._frame(0.0), tilt)
        for end in self.work.ends:
            end.above = dict.fromkeys((share * window.above for share in _GENTLER), 0.0)
            end.below = dict.fromkeys((share * window.below for share in _GENTLER), 0.0)

    def after(self, more: PairParts, target: EpsilonAt) -> tuple[float, float] | None:
        """Both ends once more parts have run; None if the grid was not meant for that many."""
        if self.runs + sum(times for _, times in more) > self.most:
            return None
        for pair, times in more:
            law = _cut(pair, self.cut_at)
            self.add(law, times, float(Sketch([(law, 1)]).log_moments(self.tilt)[0]))
        self.work.frame = self._frame(self._low())
        ends = target.read(self.work.upper(), self.work.lower(), self.guess)
        if not math.isfinite(ends.upper):
            return None
        self.guess = ends.upper
        return max(ends.lower, 0.0), ends.upper

    def add(self, law: CutLaw, times: int, log_scale: float) -> None:
        grid = grid_for(law, self.step, self.tilt)
        low, high = grid.span(*law.loss_range())
        self.first, self.last = self.first + times * low, self.last + times * high
        self.offsets.append(times * grid.offset)
        self.runs += times
        self.work.add(law, times, grid, Tilt(rate=self.tilt, log_scale=log_scale))

    def _low(self) -> float:
        """Where the window should begin for as little as possible to lie beyond its two ends.

        Not above ε as it was last: what lies between ε and the window would all have to be charged.
        """
        upper, lower = self.work.ends  # tiny masses that are added for safety hide the lower tail
        high = min((moment - self.log_mass) / t for t, moment in upper.above.items())
        low = -min((moment - self.log_mass) / t for t, moment in lower.below.items())
        return min((low + high - self.length * self.step) / 2.0, self.guess)

    def _frame(self, low: float) -> Frame:
        offset = math.fsum(self.offsets)
        return Frame(
            step=self.step,
            offset=offset,
            offset_error=4.0 * UNIT * math.fsum(map(abs, self.offsets)),
            first=self.first,
            last=self.last,
            start=max(math.floor((low - offset) / self.step), self.first),
            length=self.length,
            is_direct=False,
        )


def _cut(pair: Pair, cut_at: tuple[float, float]) -> CutLaw:
    found = pair.loss_law().cut(*cut_at)
    assert isinstance(found, CutLaw)  # noqa: S101  # as `_supports` says
    return found
