"""A run that follows a recording event by event, and notes where it differs."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections import Counter
from collections.abc import Iterable
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import (
    BESIDE_DATA,
    Bits,
    Difference,
    Event,
    Factor,
    Leak,
    Odds,
    Puzzle,
    Touch,
    Value,
    only_noise,
)
from dpverify.tracing.recording.journal import Recording, TraceJournal
from dpverify.tracing.recording.laws import TracedLaw, coin
from dpverify.tracing.recording.places import Place

ROUNDING = 2.0**-50  # of the numbers at hand: a few units in the last place
LITTLE = 2.0**-20  # of noise: the most that a number may be off by rounding
HUGE = 2.0**29  # scales of noise: rounding of numbers that are larger is no trifle beside it
SUMMED = 2.0**-40  # of the numbers at hand: what sums of very many floats may be off by


SWALLOWED = "noise is added to a number so large that rounding hides some of it"
LONELY = "comparison that one side makes"
NO_EVENT = -1  # the number of what the recording has no event for
_CERTAIN = np.array([1.0, 0.0])
_SELDOM = 1e-7  # a coin that falls so more rarely is not turned


class Diverged(BaseException):
    """Raised if the replay cannot continue: its next event has no counterpart."""


class Following(TraceJournal):
    """The state of a replay: the next event, the leaks, and where the runs parted."""

    def __init__(
        self,
        script: NoiseScript,
        recording: Recording,
        flips: dict[int, Any] | None = None,
        skips: frozenset[int] = frozenset(),
        extras: tuple[int, ...] = (),
    ) -> None:
        super().__init__(script, eager=recording.eager)
        self.recording = recording
        self.origin = recording.origin
        self.opened = recording.opened
        self.draws.laws = recording.draws.laws
        self.draws._ids = recording.draws._ids  # noqa: SLF001  # laws are numbered alike
        self.flips = flips or {}
        self.skips = skips  # comparisons of the recording that this side does not make
        self.extras = Counter(extras)  # how many this side makes besides, before each event
        self.coins_alone: list[Puzzle] = []  # coins without data that only one side tosses
        self.uneven = False  # whether rows of different length were compared
        self.at = 0
        self.differences: list[Difference] = []
        self.leaks: list[Leak] = []
        self.loose: list[Leak] = []  # of them, those of uniform noise
        self._sizes = np.zeros(0)
        self.one_way: set[int] = set()  # draws of one-sided laws that were added up
        self.sums: set[Any] = set()  # and the sums that they were in
        self.made = False
        self.partner = np.zeros(0, dtype=np.intp)
        self.owner = np.zeros(0, dtype=np.intp)

    @property
    def chosen(self) -> bool:
        return self.recording.chosen

    @property
    def summed(self) -> float:
        """Bounds on the rounding error of very long sums, relative to the numbers."""
        return SUMMED * max(self.coarse, self.recording.coarse)

    @property
    def sizes(self) -> Floats:
        """For every draw, the size of the numbers it was computed from, in its own unit."""
        missing = len(self.draws.z) - len(self._sizes)
        if missing:
            self._sizes = np.concatenate([self._sizes, np.zeros(missing)])
        return self._sizes

    def leak(self, kind: str, place: Place, what: str, laws: Iterable[TracedLaw] = ()) -> None:
        """Note a leak; for uniform noise a possible one, as its range may depend on the data."""
        found = Leak(kind, place, what)
        if found not in self.leaks:
            self.leaks.append(found)
            if {law.name for law in laws} == {"uniform"}:
                self.loose.append(found)

    def diverge(self, kind: str, place: Place, what: str) -> None:
        self.leak(kind, place, what)
        raise Diverged

    def _take(self, kind: type[Event], place: Place) -> Any:  # one of `kind`
        events = self.recording.events
        if get_ident() != self.thread:
            self.in_thread(place)
        if self.skips:
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
        """Skip comparisons that only the other side makes, if they are not random here."""
        while self.at in self.skips:
            event = self.recording.events[self.at]
            assert isinstance(event, Bits)  # noqa: S101  # nothing else is ever skipped
            self.at += 1
            self._not_made(event, 0)

    def _not_made(self, event: Bits, flat: int) -> None:
        """Handle a comparison that only the other side makes, random there but not here.

        A coin that no data were added to costs nothing if this side can toss it as well, and not
        look: whether it looks is not known.
        """
        if only_noise(event.touches):
            self._coin_alone(event.place)
            return
        parts = (event.idx, event.offset, event.coef, event.raised, *event.window)
        j, offset, coef, raised, low, high = (
            np.broadcast_to(part, np.shape(event.idx)).reshape(-1)[flat].item() for part in parts
        )
        law = self.recording.draws.law_of(j)
        chances = coin(law, (low, high), -offset / coef, up=bool(raised) == (coef > 0))
        left = np.array([float(chance) for chance in chances])
        self._lonely(self.at - 1, line_of(event, ()), left, _CERTAIN)

    def _coin_alone(self, place: Place) -> None:
        found = coin_alone(place)
        if found not in self.coins_alone:
            self.coins_alone.append(found)

    def _lonely(self, number: int, place: Place, left: Floats, right: Floats) -> None:
        self.differences.append(Odds(number, place, LONELY, left, right, 0))

    def _alone(
        self, offset: float, idx: int, coef: float, touches: tuple[Touch, ...], place: Place
    ) -> bool:
        """Whether offset + coef·z is above 0, in a comparison that only this side makes.

        It takes the likelier outcome, which the other side has for certain. A coin that no data
        were added to falls as the noise of the recording has it, now so and now so; it is noted,
        as one transcript does not tell whether the other side could toss it as well, and not look.
        """
        low, high = self.draws.windows()
        law, cut = self.draws.law_of(idx), -offset / coef
        window = (low.item(idx), high.item(idx))
        above, below = coin(law, window, cut, up=True)
        up = bool(above.mid() >= below.mid())
        if only_noise(touches):
            self._coin_alone(place)
            rarer = min(float(above), float(below))
            up = up == bool(rarer < _SELDOM or self._parity())
        else:
            right = np.array([float(p) for p in ((above, below) if up else (below, above))])
            self._lonely(NO_EVENT, place, _CERTAIN, right)
        if up:
            low[idx] = max(low.item(idx), cut)
        else:
            high[idx] = min(high.item(idx), cut)
        return up == (coef > 0)

    def _parity(self) -> int:
        """A bit of the recorded noise, which differs from transcript to transcript."""
        draws = self.recording.draws
        return int(np.bitwise_xor.reduce(draws.z[: draws.top].view(np.int64)) >> 20) & 1

    def draw(self, law: TracedLaw, size: int | None, place: Place) -> int:
        if get_ident() != self.thread:
            self.in_thread(place)
        draws = self.draws
        return draws.allot_one(law, place) if size is None else draws.allot(law, size, place)

    def shaped(self, law: TracedLaw, values: Any, place: Place) -> int:
        """Noise made from raw noise; its values here are compared when they are used."""
        start = self.draws.allot(law, np.size(values), place)
        self.draws.z[start : start + np.size(values)] = np.ravel(values)
        self.made = True
        return start

    def _check_made(self, event: Value, idx: Any, touches: tuple[Touch, ...]) -> None:
        """Check that noise made from raw noise was made from the same noise."""
        old, mine = np.ravel(event.idx), np.ravel(idx)
        if len(old) != len(mine):
            return
        draws, known = self.draws, self.recording.draws
        names = [i for i, law in enumerate(draws.laws) if law.name in {"shaped", "bounded"}]
        fresh = np.isin(draws.law[mine], names) & ~draws.used[mine]
        if not np.array_equal(draws.z[mine[fresh]], known.z[old[fresh]], equal_nan=True):
            what = "noise was made from other noise, or with other data, on the other side"
            self.leak("parameter", line_of(event, touches), what)

    def _check_partners(
        self, event: Any, idx: Any, coef: Any, touches: tuple[Touch, ...], *, bind: bool
    ) -> None:
        """Check that noise compared before is the noise that the other side compared.

        `bind` says that this is a comparison: from now on the draws of both sides are partners.
        """
        if type(idx) is int and type(event.idx) is int:
            self._check_partner(event, idx, coef, touches, bind=bind)
            return
        old, mine = np.ravel(event.idx), np.ravel(idx)
        if not (bind or self.partner.size) or len(old) != len(mine):
            return
        counts = np.ravel(np.broadcast_to(coef, np.shape(idx))) != 0
        old, mine = old[counts], mine[counts]
        self.partner = _longer(self.partner, self.draws.room)
        self.owner = _longer(self.owner, self.recording.draws.room)
        theirs, ours = self.partner[mine], self.owner[old]
        if np.any((theirs >= 0) & (theirs != old)) or np.any((ours >= 0) & (ours != mine)):
            self._chosen(event, touches)
        if bind:
            self.partner[mine], self.owner[old] = old, mine

    def _check_partner(
        self, event: Any, mine: int, coef: float, touches: tuple[Touch, ...], *, bind: bool
    ) -> None:
        """The same check for one draw: the common case, in plain Python."""
        if coef == 0 or not (bind or self.partner.size):
            return
        if len(self.partner) < self.draws.room or len(self.owner) < self.recording.draws.room:
            self.partner = _longer(self.partner, self.draws.room)
            self.owner = _longer(self.owner, self.recording.draws.room)
        old, theirs, ours = event.idx, self.partner.item(mine), self.owner.item(event.idx)
        if (theirs >= 0 and theirs != old) or (ours >= 0 and ours != mine):
            self._chosen(event, touches)
        if bind:
            self.partner[mine], self.owner[old] = old, mine

    def _chosen(self, event: Any, touches: tuple[Touch, ...]) -> None:
        what = "other noise was compared on the other side: the data choose the noise"
        self.leak("reuse", line_of(event, touches), what)

    def finish(self) -> None:
        """Note releases that the replay lacks, and where data met noisy numbers."""
        self._skip()
        for (place, mine), (_, theirs) in zip(self.beside, self.recording.beside, strict=False):
            if mine != theirs:
                self.puzzle(place, BESIDE_DATA)
        if self.at < len(self.recording.events):
            event = self.recording.events[self.at]
            place = line_of(event, ()) if isinstance(event, Value) else event.place
            self.leak("control flow", place, "one side releases more than the other")


def coin_alone(place: Place) -> Puzzle:
    return Puzzle(place, "only one side tosses this coin: what it decides is not seen")


def _longer(row: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    more = size - len(row)
    return row if more <= 0 else np.concatenate([row, np.full(more, -1, dtype=np.intp)])


def line_of(event: Any, touches: tuple[Touch, ...]) -> Place:
    """The line that added what differs; else the last one that used the form."""
    added: list[Touch] = [touch for touch in event.touches if not isinstance(touch[1], Factor)]
    others = [touch for touch in touches if not isinstance(touch[1], Factor)]
    for (place, mine), (_, theirs) in zip(added, others, strict=False):
        if not _same(mine, theirs):
            return place
    own: Place = event.place
    changed: list[Touch] = added or list(event.touches)
    return changed[-1][0] if changed else own


def factor_line(event: Any, touches: tuple[Touch, ...]) -> Place | None:
    """The line that multiplied noise by something that differs, if there is one."""
    mine: list[Touch] = [touch for touch in event.touches if isinstance(touch[1], Factor)]
    theirs = [touch for touch in touches if isinstance(touch[1], Factor)]
    for (place, one), (_, two) in zip(mine, theirs, strict=False):
        if not _same(one.by, two.by):
            return place
    return None


def _same(one: Any, two: Any) -> bool:
    try:
        return bool(np.all(np.asarray(one) == np.asarray(two)))
    except (TypeError, ValueError):
        return False


def one_to_one(old: NDArray[np.intp], mine: NDArray[np.intp]) -> bool:
    """Whether the draws of the two sides correspond one to one."""
    pairs = np.unique(np.stack([old, mine]), axis=1).shape[1]
    return bool(len(np.unique(old)) == pairs == len(np.unique(mine)))


def spread(value: Any, shape: tuple[int, ...]) -> Floats:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), shape)


def size_of(shape: tuple[int, ...]) -> str:
    if set(shape) <= {1}:
        return "an array of one number" if shape else "one number"
    return f"{'×'.join(map(str, shape))} numbers"
