"""Explanations of a replay's differences other than leaks: coins, handmade noise, comparisons."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.claims import AuditClaim
from dpverify.guarantees import PureDP
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.evidence.steering import FAR, far_of
from dpverify.tracing.noise.generator import OTHER
from dpverify.tracing.noise.outside import OutsideGenerators
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import (
    CAST,
    Bits,
    Odds,
    Pick,
    Puzzle,
    Value,
    is_settled,
    only_noise,
)
from dpverify.tracing.recording.following import LONELY, coin_alone
from dpverify.tracing.recording.lines import ReachedLines, parted
from dpverify.tracing.recording.meetings import decisions, held_by, meeting_place, meetings
from dpverify.tracing.recording.memory import Memory
from dpverify.tracing.recording.outputs import Part, differing_parts, part_of
from dpverify.tracing.recording.places import Place, definition
from dpverify.tracing.recording.replaying import SWAP
from dpverify.tracing.recording.retelling import same_but_for_rounding
from dpverify.tracing.recording.runs import SeenError, TracedRun, Twin, record, replay, retell

_MOST_TRIALS = 12  # comparisons that may have no counterpart, in one round
_ROUNDS = 3
_FACES = 16  # whole numbers of more do not soon come again: they are no coins
_MOST_TURNED = 4  # decisions that are inverted
_FEW = 4  # runs on either side, to see whether outputs can look alike
_MOST_NOTED = 10_000  # comparisons of one row


class Alone(NamedTuple):
    """Comparisons made by the recording only, and events before which the replay makes one."""

    skips: frozenset[int] = frozenset()
    extras: tuple[int, ...] = ()


_NOBODY = Alone()


def _progress(twin: Twin) -> tuple[int, int]:
    """How far a replay came, and how little it differs until there."""
    lonely = [d for d in twin.differences if isinstance(d, Odds) and d.name == LONELY]
    return twin.right.journal.at, len(lonely) - len(twin.differences)


def _trials(base: TracedRun, twin: Twin, alone: Alone) -> list[Alone]:
    """What else may lack a counterpart: where the sides began to differ, and where they parted."""
    events, draws, at = base.journal.events, base.journal.draws, twin.right.journal.at
    coins = [n for n, e in enumerate(events) if isinstance(e, Bits)]
    if not coins:
        return []
    differing = [d.event for d in twin.differences if d.event in coins]
    rows = [n for n in coins if np.ndim(events[n].idx) == 1]
    lonely = {n for n in coins if np.ndim(events[n].idx) == 0 and not draws.used[events[n].idx]}
    order = [*differing[:1], at, at - 1, *differing[1:2], *sorted(coins, key=lambda n: abs(at - n))]
    found = []
    for number in dict.fromkeys(n for n in order if 0 <= n <= len(events)):
        if number in lonely - alone.skips:
            found.append(alone._replace(skips=alone.skips | {number}))
        if number in rows:  # further towards the start of equal elements
            found += [alone._replace(extras=(*alone.extras, *[number] * k)) for k in (1, 2, 3)]
        else:
            found.append(alone._replace(extras=(*alone.extras, number)))
    return found[:_MOST_TRIALS]


BOTH = 3  # of the ways that a comparison fell
_TRIES = 24  # other coins on the right, in search of the output of the left


class Fallen:
    """Which outcomes the comparisons of all runs had, by line and turn."""

    def __init__(self) -> None:
        self.ways: dict[Place, dict[tuple[int, int], int]] = {}

    def note(self, events: list[Any]) -> None:
        turns: Counter[Place] = Counter()
        for event in events:
            if isinstance(event, Bits):
                known = self.ways.setdefault(event.place, {})
                turn = turns[event.place]
                turns[event.place] += 1
                for flat, way in enumerate(np.ravel(event.outcome).tolist()[:_MOST_NOTED]):
                    known[turn, flat] = known.get((turn, flat), 0) | (2 if way else 1)

    def one_way(self) -> Iterator[tuple[Place, tuple[int, int]]]:
        """Lines whose comparisons did not have both outcomes: how many of how many."""
        for place, known in self.ways.items():
            only = sum(way != BOTH for way in known.values())
            if only:
                yield place, (only, len(known))


class OutOfRuns(Exception):
    """Raised if the budget of executions ended before a transcript was understood."""


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs one mechanism on one pair within a budget, and tries to explain differences."""

    mechanism: Any
    left: Any
    right: Any
    claim: AuditClaim
    seed: int
    budget: int
    used: int = 0
    returned: bool = False
    raised: str = ""
    opened: frozenset[int] = frozenset()  # which seeds the output tells
    alone: Alone = _NOBODY  # comparisons that had no counterpart in an earlier transcript
    usual: set[tuple[Place, str]] = field(default_factory=set)  # exceptions of plain numbers
    seen: Counter[Place] = field(default_factory=Counter)
    chance: dict[Place, str] = field(default_factory=dict)  # picks that are not chosen by steering
    fallen: Fallen = field(default_factory=Fallen)
    untried: dict[str, None] = field(default_factory=dict)  # what transcripts did not come to
    lines: ReachedLines = field(init=False)
    outside: OutsideGenerators = field(init=False)
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.lines = ReachedLines(definition(self.mechanism).filename)
        self.outside = OutsideGenerators(held_by(self.mechanism))
        self.memory = Memory(self.mechanism)

    def record(self, data: Any, script: NoiseScript, *, eager: int = 0) -> TracedRun:
        self.used += 1
        with self.lines:
            found = record(self.mechanism, data, script, eager=eager, opened=self.opened)
        found.caught = tuple(self.lines.raised)
        events = found.journal.events
        self.fallen.note(events)
        self.seen.update({e.place for e in events if isinstance(e, Value) and not e.final})
        self.chance.update({e.place: e.key[0] for e in events if _is_by_chance(e)})
        self.returned = self.returned or not found.raised
        self.raised = found.raised or self.raised
        return found

    def replay(self, data: Any, base: TracedRun, **how: Any) -> Twin:
        self.used += 1
        with self.lines:
            found = replay(self.mechanism, data, base, **how)
        found.right.caught = tuple(self.lines.raised)
        return found

    def _retold(self, run: TracedRun, data: Any) -> TracedRun:
        """Repeat the run with its noise as plain numbers."""
        self.used += 1
        with self.lines:
            found = retell(self.mechanism, data, run)
        found.caught = tuple(self.lines.raised)
        return found

    def _strays(self, run: TracedRun, data: Any) -> Puzzle | None:
        """Where a recorded run differs from a user's run, with plain numbers; None if nowhere."""
        told = self._retold(run, data)
        if run.raised or told.raised:
            same = run.raised.partition(":")[0] == told.raised.partition(":")[0]
        else:
            same = not told.diverged and same_but_for_rounding(
                run.leaves, told.leaves, coarse=run.journal.coarse > 1.0
            )
        if same:
            return None
        self._note_usual(told)
        found = _met_only(run.caught, self.usual)
        if found is None:
            self.used += 2
            place = parted(self.mechanism, data, run.journal) or definition(self.mechanism)
            what = (
                "the same noise as plain numbers gives another output: the code tells them apart, "
                "or rounding decides"
            )
            found = Puzzle(place, what)
        return found

    def _caught(self, base: TracedRun, twin: Twin, script: NoiseScript) -> Puzzle | None:
        """An exception that only traced noise raises, and that the code caught."""
        both = (*base.caught, *twin.right.caught)
        if all((error.place, error.kind) in self.usual for error in both):
            return None
        self._note_usual(self._retold(base, self.left))
        if _met_only(twin.right.caught, self.usual) is not None:
            other = self.record(self.right, script)
            self._note_usual(self._retold(other, self.right))
        return _met_only(both, self.usual)

    def _note_usual(self, plain: TracedRun) -> None:
        self.usual |= {(error.place, error.kind) for error in plain.caught}

    def _matched(self, base: TracedRun, twin: Twin) -> Twin | None:
        """A replay in which some comparisons have no counterpart on the other side.

        So a histogram tells which categories are common: a rare one is compared and left out.
        Comparisons are left alone one after the other, as long as the replay comes further.
        """
        best: Twin | None = None
        alone = Alone()
        for _ in range(_ROUNDS):
            furthest: tuple[Alone, Twin] | None = None
            for trial in _trials(base, twin, alone):
                if self.used + 4 > self.budget:
                    raise OutOfRuns
                found = self.replay(self.right, base, skips=trial.skips, extras=trial.extras)
                if not found.leaks and not found.right.journal.puzzles:
                    if judge(self.claim, spending(found.differences)) is Judged.WITHIN:
                        self.alone = trial
                        return found
                    best = best or found
                elif furthest is None or _progress(found) > _progress(furthest[1]):
                    furthest = (trial, found)
            if best is not None or furthest is None or _progress(furthest[1]) <= _progress(twin):
                return best
            alone, twin = furthest
        return None

    def _matched_again(self, base: TracedRun) -> Twin | None:
        """A replay with the same unmatched comparisons as an earlier one."""
        if not self.alone.skips and not self.alone.extras:
            return None
        events = base.journal.events
        kept = {n for n in self.alone.skips if n < len(events) and isinstance(events[n], Bits)}
        found = self.replay(self.right, base, skips=frozenset(kept), extras=self.alone.extras)
        if found.leaks or found.right.journal.puzzles:
            return None
        within = judge(self.claim, spending(found.differences)) is Judged.WITHIN
        return found if within else None

    def _may_be_hidden(self, base: TracedRun, twin: Twin) -> Puzzle | None:
        """What one side does more often than the other on a line, or in another order.

        A sample tosses a coin for every record, or draws an order for every user: a side with fewer
        may do so, and not look. A threshold may leave out a key that one side has more, and with δ
        that is allowed; how often it fails is not seen. Outputs must be able to look alike, then.
        """
        kinds = {"shape", "control flow", "output"}
        leaks = [leak for leak in twin.leaks if leak.kind in kinds]
        if not leaks:
            return None
        if self.used + 4 > self.budget:
            raise OutOfRuns
        other = self.record(self.right, base.journal.as_drawn())
        sizes = {len(x) if hasattr(x, "__len__") else 0 for x in (self.left, self.right)}
        for place, (mine, theirs) in _done_by_both(base, other, coins=True).items():
            if len(mine) != len(theirs) and len(sizes) > 1:
                return coin_alone(place)
        found: Puzzle | None = None
        more = _drawn_by_one(base, other)
        if more is not None and len(sizes) > 1:
            what = "one side draws more here, before data come in: what that decides is not seen"
            found = Puzzle(more, what)
        allowed = not isinstance(self.claim, PureDP) and getattr(self.claim, "delta", 1.0) > 0
        both = _done_by_both(base, other, coins=False).values()
        if allowed and any(_is_shuffled(mine, theirs) for mine, theirs in both):
            what = "one side has more noisy numbers; what a threshold may hide is not seen"
            found = Puzzle(leaks[0].place, what)
        return found if found is not None and self._can_look_alike() else None

    def _can_look_alike(self) -> bool:
        """Whether outputs of both sides agree except for their floats, on some runs."""
        sides: list[set[str]] = [set(), set()]
        for step in range(1, _FEW + 1):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            for data, told in zip((self.left, self.right), sides, strict=True):
                run = self.record(data, NoiseScript(self.seed + 41 * step))
                told.add(_frame(run))
            if sides[0] & sides[1]:
                return True
        return False

    def _may_turn(self, base: TracedRun, twin: Twin) -> Puzzle | None:
        """Noise that became a plain number and decides the path of a run.

        So does a walk that accepts its steps by chance: that it went another way on the other side
        may be that chance.
        """
        raw = [e for e in unmoved_events(twin) if isinstance(e, Value) and e.raw]
        loose = [event for event in raw if not _is_coin(event, base)]
        kinds = {"control flow", "reuse"}
        if not loose or not any(leak.kind in kinds for leak in twin.leaks):
            return None
        ways = {_way(base)}
        for step in range(1, _FEW + 1):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            ways.add(_way(self.record(self.left, NoiseScript(self.seed + 43 * step))))
        return out_of_sight(loose[0]) if len(ways) > 1 else None

    def _by_hand(self, base: TracedRun, twin: Twin) -> Puzzle | None:
        """The line of noise that data may have met unseen: what leaks must vary with it.

        All noise whose part is understood is held fixed, and the rest drawn anew. If what differs
        in the output does not move, it is data. If it moves, and came from coins, then the two
        sides must be able to say the same.
        """
        unmoved = unmoved_events(twin)
        if not unmoved:
            return None
        moved = {d.event for d in twin.differences}
        fixed = {
            int(j): float(base.journal.draws.z[j])
            for number, event in enumerate(base.journal.events)
            if isinstance(event, Value) and number in moved
            for j in np.ravel(event.idx)
        }
        coins = isinstance(unmoved[0], Bits) or _is_coin(unmoved[0], base)
        told = differing_parts(base.leaves, twin.right.leaves)
        if not told and coins:
            # Data stand among noisy numbers, where a replay has the recorded ones.
            other = self.record(self.right, base.journal.as_drawn())
            told = differing_parts(base.leaves, other.leaves)
        if not told:
            return None
        if not coins:
            varies = self._varies_by(base, unmoved, fixed, told) or self._turns_on(
                base, twin, fixed, told
            )
            return out_of_sight(unmoved[0]) if varies else None
        by_coins = Puzzle(unmoved[0].place, "noise is made from coins here")
        sides: tuple[list[TracedRun], list[TracedRun]] = ([base], [])
        for k in range(_TRIES // 2):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            for data, runs, step in ((self.left, sides[0], 31), (self.right, sides[1], 37)):
                script = NoiseScript(self.seed + step * (k + 1), fixed=fixed)
                runs.append(self.record(data, script))
            if _meet(sides, told):
                return by_coins
        return by_coins if self._turns_on(base, twin, fixed, told) else None

    def _turns_on(
        self, base: TracedRun, twin: Twin, fixed: dict[int, float], told: list[Part]
    ) -> bool:
        """Whether one side would show the other's output if noise had decided otherwise.

        Coins that are put together may fall one way in thousands of runs, as three dice do that all
        have to show a one. So each decision on noise that is the same on both sides is inverted.
        What comes of other noise that meets data, as in a lookup, is not known either.
        """
        if self.used + 8 > self.budget:
            raise OutOfRuns
        with meetings(self.mechanism) as mine:
            self.replay(self.left, base)
        with meetings(self.mechanism) as theirs:
            self.replay(self.right, base)
        with meetings(self.mechanism) as other:
            self.record(self.left, NoiseScript(self.seed + 61, fixed=fixed))
        if meeting_place(mine, theirs, other) is not None:
            return True
        sides = [(self.left, _shown(twin.right, told)), (self.right, _shown(base, told))]
        turned = islice(decisions(theirs, mine, other), _MOST_TURNED)
        scripts = [None, *(NoiseScript(self.seed + 71 * k, fixed=fixed) for k in (1, 2))]
        for number, script, (data, shown) in product(turned, scripts, sides):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            with meetings(self.mechanism, inverted=number):
                again = script is None
                run = self.replay(data, base).right if again else self.record(data, script)
            if not run.raised and _shown(run, told) == shown:
                return True
        return False

    def _varies_by(
        self, base: TracedRun, noise: list[Any], fixed: dict[int, float], told: list[Part]
    ) -> bool:
        """Whether what differs between the sides also changes with this noise on one side.

        A coin that is made by hand, as `float(rng.random()) < 0.99`, may fall one way in many runs:
        so the noise goes to either end of its range first.
        """
        seen = {_shown(base, told)}
        ends = [_at_end(base, noise, fixed, self.seed, far) for far in (FAR, -FAR)]
        drawn = [NoiseScript(self.seed + 31 * (k + 1), fixed=fixed) for k in range(_FEW)]
        for script in (*ends, *drawn):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            run = self.record(self.left, script)
            if script in drawn or run.raised == base.raised:
                seen.add(_shown(run, told))
            if len(seen) > 1:
                return True
        return False

    def _flipped(self, base: TracedRun, twin: Twin) -> Twin | Puzzle | None:
        """A replay with one coin flipped that gives the same output: randomized response.

        The coin must be turned back by the same rule when it fell the other way. Where the number
        behind a coin was seen as well, what that tells is not known: a puzzle.
        """
        puzzles: list[Puzzle] = []
        for number, turn in _positions(base, twin)[:_TRIES]:
            if self.used + 4 > self.budget:
                raise OutOfRuns
            flips = {number: turn}
            found = self.replay(self.right, base, flips=flips)
            if found.leaks or found.right.journal.puzzles:
                puzzles += [] if found.leaks else found.right.journal.puzzles
                continue
            event = base.journal.events[number]
            script = NoiseScript(base.journal.script.seed, outcomes={number: _other(event, turn)})
            other = self.record(self.left, script)
            back = self.replay(self.right, other, flips=flips)
            if not back.leaks and not back.right.journal.puzzles:
                return found
            puzzles += [] if back.leaks else back.right.journal.puzzles
        return puzzles[0] if puzzles else None


Done = tuple[list[float], list[float]]
"""What was added to noise on a line, turn by turn, on either side."""


def _done_by_both(left: TracedRun, right: TracedRun, *, coins: bool) -> dict[Place, Done]:
    """Comparisons and plain numbers on lines that both runs reached, of noise alone or of data."""
    sides: list[dict[Place, list[float]]] = [{}, {}]
    for run, found in zip((left, right), sides, strict=True):
        for event in run.journal.events:
            is_open = isinstance(event, Bits) or (isinstance(event, Value) and not event.final)
            if is_open and (isinstance(event, Bits) and only_noise(event.touches)) == coins:
                offsets = np.broadcast_to(
                    event.offset, np.shape(event.idx)[: np.ndim(event.offset)]
                )
                found.setdefault(event.place, []).extend(np.ravel(offsets).tolist())
    return {place: (row, sides[1][place]) for place, row in sides[0].items() if place in sides[1]}


def _drawn_by_one(left: TracedRun, right: TracedRun) -> Place | None:
    """A line that both runs reached where one saw more noise, samples or shuffles."""
    mine, theirs = map(_drawn_by_chance, (left, right))
    return next((place for place in mine if 0 < theirs[place] != mine[place]), None)


def _drawn_by_chance(run: TracedRun) -> Counter[Place]:
    found: Counter[Place] = Counter()
    for event in run.journal.events:
        if isinstance(event, Value) and event.raw:
            found[event.place] += np.size(event.values)
        elif _is_by_chance(event):
            found[event.place] += 1
    return found


def _is_shuffled(one: list[float], two: list[float]) -> bool:
    """Whether one row is longer, or has the same numbers in another order."""
    return len(one) != len(two) or (one != two and sorted(one) == sorted(two))


def _met_only(followed: tuple[SeenError, ...], usual: set[tuple[Place, str]]) -> Puzzle | None:
    """The first exception at that line that plain numbers do not raise."""
    for error in followed:
        if (error.place, error.kind) not in usual:
            return Puzzle(error.place, f"noise must be a plain number here: {error.what}")
    return None


def _way(run: TracedRun) -> str:
    """What a run did with noise, line by line."""
    return canonical([(type(e).__name__, str(e.place)) for e in run.journal.events])


def way_of(run: TracedRun) -> str:
    """What a run did with noise, with the outcomes of comparisons and choices."""
    events = run.journal.events
    fell = [e.outcome if isinstance(e, (Bits, Pick)) else None for e in events]
    return canonical([_way(run), fell, run.raised])


def _frame(run: TracedRun) -> str:
    """An output without its floats."""
    kept = {p: x for p, x in run.leaves.items() if not isinstance(x, float)}
    shown = {p: x.shape if isinstance(x, np.ndarray) else x for p, x in kept.items()}
    return canonical([run.raised, sorted((repr(p), canonical(x)) for p, x in shown.items())])


def out_of_sight(event: Any) -> Puzzle:
    """Noise that became a plain number and met data where a trace cannot see it."""
    if isinstance(event, Value) and event.raw:
        what = "noise becomes a plain number here, before data are added: what it hides is not seen"
        return Puzzle(event.place, what)
    return Puzzle(event.place, "data meet noise out of sight, from here on")


def unmoved_events(twin: Twin) -> list[Any]:
    """Events of noise that met no data in sight; numbers first, then coins."""
    moved = {d.event for d in twin.differences}
    found = [
        event
        for number, event in enumerate(twin.left.journal.events)
        if number not in moved and not is_settled(event)
    ]
    return sorted(found, key=lambda e: isinstance(e, Bits) or _is_coin(e, twin.left))


def _is_coin(event: Any, run: TracedRun) -> bool:
    """Whether a pick has few outcomes or selects records, so that it is no additive noise."""
    if isinstance(event, Value):
        laws = run.journal.draws.names_of(np.atleast_1d(event.idx)) if np.size(event.idx) else []
        return all(law.name == "integers" and law.parameter <= _FACES for law in laws)
    if not isinstance(event, Pick) or event.key[0] in {*OTHER, "integers"}:
        return False  # whole numbers that are picks are too many to come again
    return event.weights is not None or event.key[0] != "binomial"


def _is_by_chance(event: Any) -> bool:
    """Whether an outcome is one of so many that a trace only sees a few of them."""
    return isinstance(event, Pick) and event.weights is None and event.key[0] != CAST


def _at_end(
    base: TracedRun, noise: list[Any], fixed: dict[int, float], seed: int, far: float
) -> NoiseScript:
    """A script with this noise at one end of its range, and everything fixed as it was."""
    journal = base.journal
    ends: dict[int, float] = {}
    for event in noise:
        if isinstance(event, Value):
            draws = np.ravel(event.idx).tolist()
            ends |= {j: far_of(journal.draws.law_of(j), far) for j in draws}
    outcomes = {
        number: _end_of(event, far)
        for number, event in enumerate(journal.events)
        if isinstance(event, Pick) and event.weights is None
    }
    return NoiseScript(seed, fixed={**ends, **fixed}, outcomes=outcomes)


def _end_of(pick: Pick, far: float) -> Any:
    """The least or greatest value of whole numbers and bytes; None for other outcomes."""
    drawn = pick.outcome
    if type(drawn) is bytes:
        return bytes([255 if far > 0 else 0]) * len(drawn)
    if pick.key[0] != "integers" or not all(end.lstrip("-").isdigit() for end in pick.key[1:3]):
        return None
    low, high, _, endpoint, *_ = pick.key[1:]
    end = int(high) - (not endpoint) if far > 0 else int(low)
    return np.full_like(drawn, end) if isinstance(drawn, np.ndarray) else type(drawn)(end)


def _shown(run: TracedRun, told: list[Part]) -> str:
    return canonical([part_of(run.leaves, part) for part in told])


def _meet(sides: tuple[list[TracedRun], list[TracedRun]], told: list[Part]) -> bool:
    """Whether some runs of the two sides agree at the places that differ."""
    seen = [{_shown(run, told) for run in runs} for runs in sides]
    return bool(seen[0] & seen[1])


def _positions(base: TracedRun, twin: Twin) -> list[tuple[int, Any]]:
    """Coins that may have to be flipped, most promising first."""
    changed: set[int] = set()
    for path, flat in differing_parts(base.leaves, twin.right.leaves):
        changed |= {part for part in (*path, flat) if isinstance(part, int)}
    found: list[tuple[int, int, int, Any]] = []
    events = base.journal.events
    coins = [n for n, e in enumerate(events) if isinstance(e, Bits)]
    for order, number in enumerate(coins):
        size = np.size(events[number].idx)
        for flat in range(size):
            likely = flat in changed or (size == 1 and order in changed)
            found.append((0 if likely else 1, number, flat, frozenset({flat})))
    picks = [n for n, e in enumerate(events) if isinstance(e, Pick) and e.weights is not None]
    for order, number in enumerate(picks):
        event = events[number]
        if np.ndim(event.outcome) == 0:
            likely = order in changed or not changed
            allowed = range(len(event.weights))
            turns: list[tuple[int, Any]] = [(0, SWAP)] if len(allowed) == 2 else []
            turns += [(abs(s), s) for s in (1, -1, 2, -2) if int(event.outcome) + s in allowed]
            found += [(0 if likely else 1, number, far, turn) for far, turn in turns]
    return [(number, turn) for _, number, _, turn in sorted(found, key=lambda f: f[:3])]


def _other(event: Any, turn: Any) -> Any:
    """Another outcome of the same coin, for which the flip must work as well."""
    if turn == SWAP:
        return 1 - int(event.outcome)
    if isinstance(event, Pick):
        weights, step = np.asarray(event.weights), int(turn)
        size = len(weights)
        options = [k for k in np.argsort(-weights) if 0 <= k + step < size and k != event.outcome]
        return int(options[0]) if options else int(event.outcome)
    outcome = np.array(event.outcome)
    (flat,) = turn
    outcome.reshape(-1)[flat] = not outcome.reshape(-1)[flat]
    return outcome[()]
