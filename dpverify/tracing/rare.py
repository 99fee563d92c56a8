"""Comparisons whose other outcome is rarer than δ, so that the claim's δ must pay for it.

A claim with δ > 0 allows anything at all on transcripts of probability δ together. One comparison
may be rare enough, and ten of them not. So those of each line are turned, while the budget lasts;
what those that then leak weigh is taken off δ, and if the first of a line all did, so is the weight
of the others. What was not tried may leak as well: a claim is shown only if δ pays for that, too.

Of a row of comparisons that are each more frequent than δ, and are not so all at once, no
transcript may have turned some: they are turned together, and one by one if that loses too much.

Of many noisy numbers that the code saw as plain ones, one may be far out more often than δ, and
each of them more rarely. What is decided on such numbers is not seen; so they are moved out by δ
over their number, and what then loses more than is claimed is not understood.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from dpverify.tracing.evidence.releases import EDGE
from dpverify.tracing.evidence.steering import (
    chances_of,
    is_near,
    plain_draws,
    rarer,
    turned,
)
from dpverify.tracing.evidence.understanding import BOTH, OutOfRuns
from dpverify.tracing.recording.events import Bits, Puzzle, Value
from dpverify.tracing.recording.places import Place
from dpverify.tracing.recording.runs import TracedRun
from dpverify.tracing.transcripts import Finding, Transcripts

_TRIED = 4  # comparisons of a line
_FIRST = 12  # comparisons of a run whose leaks count
_MOST = 24  # comparisons of a run
_SPARE = 6
_BAD = ("not understood", "overspent", "leaking", "refuted")


@dataclass(frozen=True, slots=True)
class Toss:
    """One coin of a comparison that seldom falls the other way."""

    event: int
    element: int
    chance: float


@dataclass(frozen=True, slots=True)
class Rare:
    """The probability of rare transcripts that leak, by line, and of those not tried.

    `chances` are those of the comparisons behind the ones that leak, `worst` is one of these.
    """

    masses: dict[Place, float]
    untried: dict[Place, float]
    chances: tuple[float, ...]
    worst: Finding | None

    @property
    def mass(self) -> float:
        return min(1.0, sum(self.masses.values()))

    @property
    def unknown(self) -> float:
        return min(1.0, sum(self.untried.values()))


def rare(runner: Transcripts, base: TracedRun, delta: float, spot: int | None) -> Rare:
    """What leaks if comparisons take an outcome that is rarer than δ."""
    masses: dict[Place, float] = {}
    untried: dict[Place, float] = {}
    chances: list[float] = []
    found: dict[Toss, Finding] = {}
    lines = _tosses(runner, base, delta)
    first = [toss for tosses in lines.values() for toss in _some(tosses, spot)][:_FIRST]
    rest = [toss for tosses in lines.values() for toss in tosses if toss not in first]
    for toss in [*first, *sorted(rest, key=lambda toss: -toss.chance)][:_MOST]:
        if runner.used + 2 + _SPARE + runner.hardest > runner.budget:
            break
        try:
            found[toss] = _turned(runner, base, toss.event, [toss.element])
        except OutOfRuns:
            break
    told = {toss: finding.verdict != "shown" for toss, finding in found.items()}
    leaking = [finding for finding in found.values() if finding.verdict != "shown"]
    for place, tosses in lines.items():
        known = [told[toss] for toss in first if toss in told and toss in tosses]
        alike = len(known) > 1 and all(known)
        bad = [toss for toss in tosses if (told.get(toss, False) if toss in first else alike)]
        if bad:
            masses[place] = sum(toss.chance for toss in bad)
            chances += [toss.chance for toss in bad]
        left = [toss for toss in tosses if told.get(toss, True) and toss not in bad]
        if left:
            untried[place] = sum(toss.chance for toss in left)
    worst = max(leaking, key=lambda finding: _BAD.index(finding.verdict), default=None)
    return Rare(masses, untried, tuple(chances), worst)


def seen_rarely(runner: Transcripts, base: TracedRun, delta: float) -> Finding | None:
    """A loss if one of several plain numbers is further out than each is with probability δ."""
    for script in rarer(base, runner.seed, delta):
        if runner.used + 2 + _SPARE + runner.hardest > runner.budget:
            raise OutOfRuns
        found = runner.finding(runner.record(runner.left, script), script)
        if found.verdict != "shown":
            draws = plain_draws(base)
            what = (
                f"the code saw {len(draws)} noisy numbers as plain ones: each is seldom so far out "
                "that more is lost than claimed, but how often one of them is, is not known"
            )
            place = base.journal.draws.place_of(int(draws[0]))
            return Finding("not understood", found.spent, puzzles=(Puzzle(place, what),))
    return None


def _tosses(runner: Transcripts, base: TracedRun, delta: float) -> dict[Place, list[Toss]]:
    found: dict[Place, list[Toss]] = defaultdict(list)
    turns: Counter[Place] = Counter()
    seen: set[int] = set()  # draws behind numbers that the code saw as plain ones before
    for number, event in enumerate(base.journal.events):
        if isinstance(event, Value) and not event.final:
            seen.update(np.ravel(event.idx).tolist())
        elif isinstance(event, Bits):
            chances = chances_of(base, event)
            rarely = (chances > 0) & (chances <= delta * (1 + EDGE))
            ways = runner.fallen.ways.get(event.place, {})
            turn = turns[event.place]
            turns[event.place] += 1
            if np.ndim(event.idx):
                both = np.array([ways.get((turn, i), 0) == BOTH for i in range(len(chances))])
                left = np.flatnonzero((chances > 0) & ~rarely & ~both)
                rarely[left] = not _turn_at_once(runner, base, number, left.tolist())
            draws = np.ravel(event.idx)
            for i in np.flatnonzero(rarely).tolist():
                # Of numbers that were seen, any may be chosen for this line by what it is: the
                # sum of all bounds that (proofs/rare_transcripts.py).
                others = len(seen) if int(draws[i]) in seen else 1
                chance = min(1.0, others * float(chances[i]))
                found[event.place].append(Toss(number, i, chance))
    return found


def _turn_at_once(runner: Transcripts, base: TracedRun, number: int, left: list[int]) -> bool:
    """Whether comparisons of a row that always had one outcome may have the other."""
    if not left:
        return True
    if runner.used + 2 + _SPARE + runner.hardest > runner.budget:
        return False
    try:
        return _turned(runner, base, number, left).verdict == "shown"
    except OutOfRuns:
        return False


def _some(tosses: list[Toss], spot: int | None) -> list[Toss]:
    """Those near the differing record, the first two, and the last."""
    near = [toss for turn, toss in enumerate(tosses) if is_near(turn, spot)]
    return list(dict.fromkeys([*near, *tosses[:2], tosses[-1]]))[:_TRIED]


def _turned(runner: Transcripts, base: TracedRun, number: int, which: list[int]) -> Finding:
    """The result of a transcript in which some coins of a comparison fall the other way."""
    script = turned(base, number, np.array(which))
    return runner.finding(runner.record(runner.left, script), script)
