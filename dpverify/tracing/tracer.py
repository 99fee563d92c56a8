"""The entry point of traces: record one side, replay the other, and say what was shown."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

import math
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any

from dpverify.auditing.adapters import adapted
from dpverify.auditing.auditor import NOT_GIVEN, audit
from dpverify.auditing.sampling.copies import copier
from dpverify.auditing.sampling.spelling import canonical
from dpverify.claims import Claimable, read_claim
from dpverify.errors import InvalidParameter, check_count, check_level, check_seed
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing.evidence.constants import spots_of
from dpverify.tracing.evidence.crossing import crossed
from dpverify.tracing.evidence.determination import (
    RUNS,
    Determination,
    determination,
    is_pure,
    releases_of,
)
from dpverify.tracing.evidence.enumeration import NotRepeated, enumerable, enumerated, paths
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.outcomes import may_be_equal, most_of
from dpverify.tracing.evidence.releases import EDGE, Item, Release
from dpverify.tracing.evidence.seeds import told_seeds
from dpverify.tracing.evidence.spending import Spending, spending
from dpverify.tracing.evidence.steering import (
    FAR,
    Branches,
    far_out,
    is_whole,
    reach_of,
    scripts,
    worst_script,
)
from dpverify.tracing.evidence.together import differs_at, worst_together
from dpverify.tracing.evidence.understanding import (
    Fallen,
    OutOfRuns,
    out_of_sight,
    unmoved_events,
    way_of,
)
from dpverify.tracing.evidence.winners import Winners
from dpverify.tracing.noise.generator import NotTraceable
from dpverify.tracing.rare import Rare, rare, seen_rarely
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import BY_CLAIM, Leak, Odds, Puzzle
from dpverify.tracing.recording.following import LONELY
from dpverify.tracing.recording.laws import NOTHING, Cost
from dpverify.tracing.recording.places import NOWHERE, definition, is_inside
from dpverify.tracing.recording.quiet import quiet
from dpverify.tracing.recording.records import first_difference, numbers_apart
from dpverify.tracing.recording.runs import TracedRun, Twin, record, replay
from dpverify.tracing.traced import Traced, TraceVerdict
from dpverify.tracing.transcripts import Finding, Transcripts
from dpverify.tracing.witness import TraceWitness, lines_of
from dpverify.waiting import telling

_AGAIN = 4  # further transcripts that must repeat themselves before a claim is refuted
_DECIDING = 2 * RUNS + 2 * _AGAIN + 10  # executions that a refutation takes
_NUMBERS = 4  # of the data, to which noisy numbers are put
_NOTED = 3  # places of one kind
_PLAIN = 8  # executions that it takes at most to hold a run against one with plain numbers
_CROSSING = 30  # executions that it takes at least to look at numbers that the code saw
_MOST_WAYS = 8  # runs that are held against plain numbers
_NUDGE = 1.0 + 1e-7  # by which noise is larger that is not to be at a tie
Held = list[tuple[Any, TracedRun | NoiseScript]]
"""Data, and a run on them or the noise for one."""

_RANK = {"refuted": 4, "leaking": 3, "overspent": 2, "not understood": 1, "shown": 0}


@telling("tracing")
def trace(  # noqa: PLR0913  # the contract of the library
    mechanism: Any,
    *,
    left: Any = NOT_GIVEN,
    right: Any = NOT_GIVEN,
    schema: Any = None,
    claim: Claimable | None = None,
    seed: int = 0,
    executions: int = 100,
    confirm: bool = True,
    level: float = 0.01,
    samples: int | None = None,
) -> Traced:
    """Record a run of `mechanism` on `left`, replay it on `right`, and compute its privacy loss.

    Parameters
    ----------
    mechanism
        A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`, as
        `audit` takes it. It is not changed: its generator, and other sources of randomness while it
        runs, are replaced by ones that see what noise is added to.
    left, right
        Neighboring datasets; or neither with a `schema`, or a hypothesis strategy of pairs, in
        which the worst pair is searched (see `trace_over`).
    claim
        What is to be judged; the mechanism's own claim if None.
    executions
        Most calls of the mechanism. Two give the first transcript; the rest is spent on others:
        both sides of every comparison, noise far out and at ties.
    confirm, level, samples
        Whether to hand the pair to `audit`, at this level and with so many draws, where the trace
        alone cannot decide.

    "shown" speaks of the traced transcripts of this pair. "refuted" needs no level, in real
    arithmetic, where all releases are in the output untouched or all outcomes were listed; else it
    rests on the output giving the releases back on all transcripts that were tried, and says so.
    Shifts are compared up to the rounding of floats.

    >>> from dpverify.guarantees import PureDP
    >>> def release(data, rng): return sum(data) + rng.laplace(scale=0.5)
    >>> traced = trace(release, left=[0, 0], right=[0, 1], claim=PureDP(epsilon=1.0))
    >>> traced.verdict, traced.releases[0].loss
    ('refuted', 2.0)
    """
    check_level(level)
    if samples is not None:
        check_count("samples", samples)
    mechanism = adapted(mechanism)
    if left is NOT_GIVEN and right is NOT_GIVEN and schema is not None:
        from dpverify.tracing.search import trace_over  # noqa: PLC0415  # it imports this module

        return trace_over(
            mechanism,
            schema,
            claim=claim,
            seed=seed,
            executions=executions,
            confirm=confirm,
            level=level,
            samples=samples,
        )
    if left is NOT_GIVEN or right is NOT_GIVEN:
        raise InvalidParameter("left and right must be given together, or a schema to search in")
    if schema is not None:
        schema.check_neighbors(left, right)
    check_seed(seed)
    check_count("executions", executions)
    if executions < 2:
        raise InvalidParameter(f"executions={executions!r} must be at least 2")
    guarantee = read_claim(getattr(mechanism, "claim", None) if claim is None else claim)
    left, right = copier(left)(), copier(right)()
    tracer = Tracer(
        mechanism=mechanism,
        left=left,
        right=right,
        claim=guarantee,
        seed=int(seed),
        budget=int(executions),
    )
    try:
        found = tracer.run()
    except KeyboardInterrupt:
        if tracer.worst is None:
            raise
        return tracer.so_far()
    if confirm:
        found = confirmed(found, mechanism, level=level, samples=samples, seed=seed)
    return found


def confirmed(
    found: Traced, mechanism: Any, *, level: float, samples: int | None, seed: int
) -> Traced:
    """The trace, with an audit of the same pair if the trace alone cannot decide."""
    if found.verdict in {"shown", "refuted"}:
        return found
    try:
        told = audit(
            mechanism,
            left=found.left,
            right=found.right,
            claim=found.claim,
            level=level,
            samples=samples,
            seed=seed,
        )
    except SystemExit as error:
        note = f"the mechanism ended the audit by exit({error.code!r})"
        return replace(found, notes=(*found.notes, note))
    except InvalidParameter as error:
        if NotTraceable.__name__ not in str(error):
            raise
        note = "no audit: the code keeps the generator of a call for later ones"
        return replace(found, notes=(*found.notes, note))
    return replace(found, audit=told)


def trace_pair(mechanism: Any, left: Any, right: Any, seed: int = 0) -> Twin:
    """One transcript of one pair, in two calls of the mechanism."""
    with quiet():
        return replay(mechanism, right, record(mechanism, left, NoiseScript(seed)))


@dataclass(slots=True, kw_only=True)
class Tracer(Transcripts):
    """Traces one pair within a budget of executions."""

    notes: list[str] = field(default_factory=list)
    worst: Finding | None = None  # of what was traced so far

    def so_far(self) -> Traced:
        """The result of an interrupted trace, which shows nothing as parts are missing."""
        worst = self.worst
        if worst is None or worst.verdict == "shown":
            what = "interrupted: what was traced so far is within the claim"
            what = "interrupted before a pair was traced in full" if worst is None else what
            puzzle = Puzzle(definition(self.mechanism), what)
            spent = Spending() if worst is None else worst.spent
            worst = Finding("not understood", spent, puzzles=(puzzle,))
        return replace(self._traced(worst), interrupted=True)

    def run(self) -> Traced:
        try:
            with quiet():
                return self._run()
        except NotTraceable as error:
            place = error.place
            if place is None or is_inside(place.filename):  # in a thread that a library made
                place = definition(self.mechanism)
            puzzle = Puzzle(place, str(error))
            return self._traced(Finding("not understood", Spending(), puzzles=(puzzle,)))

    def _run(self) -> Traced:
        try:
            base, first = self._first()
        except OutOfRuns:
            puzzle = Puzzle(definition(self.mechanism), "the budget of executions is too small")
            return self._traced(Finding("not understood", Spending(), puzzles=(puzzle,)))
        if base is None and first.verdict == "shown":
            first = self._told_apart(self._far()) or first
        self.worst = first
        if base is None or first.verdict in {"refuted", "leaking"}:
            return self._traced(first)
        worst = self._steered(base, first)
        if worst.certain and worst.verdict == "overspent":
            if self.used + _DECIDING <= self.budget:
                worst = self._decide(worst)
            else:
                self.notes.append("the budget ended before it was known whether the output tells")
        new, more = self._ways(base)
        if worst.verdict == "shown":
            worst = self._told_apart(new, spare=_CROSSING if self.seen else 0) or worst
        if worst.verdict == "shown" and first.twin is not None:
            worst = self._out_of_sight(first.twin) or worst
        if worst.verdict == "shown":
            worst = self._told_apart(more) or worst
        if worst.verdict == "shown" and self.used < self.budget and self._unseen(self.left, base):
            worst = self._not_repeated(definition(self.mechanism))
        return self._traced(worst)

    def _ways(self, base: TracedRun) -> tuple[Held, Held]:
        """Runs on both sides to compare with plain numbers: those with a new path, and others."""
        new: Held = []
        more: Held = [(self.right, base.journal.as_drawn())]
        known = {way_of(base)}
        for run in (twin.left for twin in self.kept if twin.left is not base):
            way = way_of(run)
            found = more if way in known else new
            found += [(self.left, run), (self.right, run.journal.as_drawn())]
            known.add(way)
        return new, more

    def _far(self) -> Held:
        """Runs with noise at either extreme, on both sides."""
        shapes = [None, *(partial(far_out, to=to) for to in (FAR, -FAR))]
        scripts = [NoiseScript(self.seed, shape=shape) for shape in shapes]
        return [(data, script) for data in (self.right, self.left) for script in scripts]

    def _told_apart(self, runs: Held, spare: int = 0) -> Finding | None:
        """Code that behaves differently on plain numbers, in some of these runs.

        Rounding may decide on one of them, but not on noise that is a little larger as well. As
        many executions as are to `spare` are left for what follows.
        """
        for done, (data, made) in enumerate(runs[:_MOST_WAYS]):
            if self.used + _PLAIN + spare > self.budget:
                left = len(runs) - done
                self.notes.append(f"{left} more runs were not repeated with plain numbers")
                return None
            run = self.record(data, made) if isinstance(made, NoiseScript) else made
            if run.journal.puzzles or self._strays(run, data) is None:
                continue
            again = self.record(data, run.journal.as_drawn(_NUDGE))
            puzzle = self._strays(again, data)
            if puzzle is not None and not again.journal.puzzles:
                return Finding("not understood", Spending(), puzzles=(puzzle,))
        return None

    def _out_of_sight(self, twin: Twin) -> Finding | None:
        """Noise that became a plain number and later decides together with data, unseen."""
        reach = reach_of(self._delta, twin.left)
        found = crossed(self, twin, reach)
        if found is None:
            return None
        if isinstance(found, Puzzle):
            return Finding("not understood", Spending(), puzzles=(found,))
        if not found.leaks and not found.right.journal.puzzles:
            return self._cost(found, found.left.journal.script)
        if not found.leaks:
            puzzles = tuple(found.right.journal.puzzles)
            return Finding("not understood", Spending(), puzzles=puzzles, twin=found)
        unmoved = unmoved_events(found)
        if not unmoved:
            return self._named(found, found.left.journal.script)
        puzzle = out_of_sight(unmoved[0])
        return Finding("not understood", Spending(), puzzles=(puzzle,), twin=found)

    @property
    def _delta(self) -> float:
        return float(self.claim.delta) if isinstance(self.claim, ApproxDP) else 0.0

    def _steered(self, base: TracedRun, worst: Finding) -> Finding:
        """The worst of the transcripts chosen after the first one."""
        spot = first_difference(self.left, self.right)
        branches = Branches(base, self._delta)
        waiting = deque(scripts(base, self.seed, self._delta, spot, self._known(base)))
        waiting.extend(branches.crossed(base))
        waiting.extendleft(branches.tied(base))
        twins = [worst.twin]
        while waiting:
            spare = _DECIDING if worst.certain else 6 + self.hardest
            if self.used + spare > self.budget:
                if self.budget > 2:
                    self.notes.append("the budget ended before all transcripts were tried")
                break
            try:
                script = waiting.popleft()
                run = self.record(self.left, script)
                finding = self.finding(run, script)
            except OutOfRuns:
                self.notes.append("the budget ended before all transcripts were understood")
                break
            waiting.extendleft(branches.new(run))
            waiting.extend(branches.crossed(run))
            waiting.extendleft(branches.tied(run))
            twins.append(finding.twin)
            if _worse(finding, worst):
                worst = self.worst = finding
            if worst.verdict == "leaking":
                break
        if worst.verdict == "shown":
            told = [twin for twin in twins if twin is not None]
            worst = self._seen_rarely(base) or self._others_won(worst, told, spot)
        rarely = None
        if worst.verdict == "shown" and self._delta:
            rarely = rare(self, base, self._delta, spot)
            worst = self._rarely(base, worst, rarely) or worst
        if worst.verdict == "shown":
            worst = self._together(worst, rarely)
        return worst

    def _known(self, base: TracedRun) -> list[float]:
        """Numbers to compare noisy ones with; whole numbers also with those of the data."""
        known = spots_of(self.mechanism)
        if not is_whole(base):
            return known
        return [0.0, *numbers_apart(self.left, self.right)[:_NUMBERS], *known]

    def _seen_rarely(self, base: TracedRun) -> Finding | None:
        """What fails if one of many plain numbers is further out than each is alone."""
        try:
            return seen_rarely(self, base, self._delta) if self._delta else None
        except OutOfRuns:
            self.notes.append("the budget ended before noisy numbers were moved further out than δ")
            return None

    def _together(self, worst: Finding, rarely: Rare | None) -> Finding:
        """The worst transcript, if all of them together keep the claim as well."""
        claim, chances = self.claim, rarely.chances if rarely is not None else ()
        found = [_but_for(twin, chances) for twin in self.kept]
        if rarely is not None and rarely.mass and isinstance(claim, ApproxDP):
            once = max((loss for _, loss in found), default=0.0)
            claim = self._rest(claim, rarely.mass, once) or claim
        every = [spent for spent, _ in found]
        pairs = worst_together(claim, every)
        if pairs == ():
            return worst
        place = differs_at(every) or definition(self.mechanism)
        if pairs is not None:
            self.notes.append(
                f"{place.where}: what is spent depends on noisy values before it; the worst of "
                "each release, all together, keeps the claim"
            )
            return replace(worst, spent=replace(worst.spent, together=pairs))
        what = (
            "what is spent depends on noisy values before it: every transcript keeps the claim, "
            "but all of them together may not"
        )
        return Finding("not understood", worst.spent, puzzles=(Puzzle(place, what),))

    def _others_won(self, worst: Finding, twins: list[Twin], spot: int | None) -> Finding:
        """The worst transcript with other winning candidates, within half the budget."""
        winners = Winners(reach_of(self._delta, twins[0].left), self._delta, spot)
        waiting: list[tuple[int, int, NoiseScript]] = []
        limit, ticket = self.used + self.budget // 2, count()
        twins.reverse()
        winners.untried = self.untried
        while True:
            while twins:
                for rank, script in winners.new(twins.pop()):
                    heappush(waiting, (rank, next(ticket), script))
            if not waiting:
                return worst
            if self.used + 2 > limit or self.used + max(_DECIDING, 4 + self.hardest) > self.budget:
                self.notes.append("the budget ended before every outcome of a choice was tried")
                return worst
            *_, script = heappop(waiting)
            try:
                found = self.finding(self.record(self.left, script), script)
            except OutOfRuns:
                self.notes.append("the budget ended before all transcripts were understood")
                return worst
            if found.verdict != "shown" or found.twin is None:
                return found
            twins.append(found.twin)
            worst = max(worst, found, key=lambda each: _total(each.spent))

    def _rarely(self, base: TracedRun, worst: Finding, found: Rare) -> Finding | None:
        """What leaks with comparisons rarer than δ, if that exceeds the δ left."""
        if found.masses:
            place = max(found.masses, key=found.masses.__getitem__)
            what = f"comparisons that leak fall so with probability {found.mass:.3g}"
            if not self._allows(base, worst, found, found.mass):
                if found.worst is not None and found.worst.verdict != "leaking":
                    return replace(found.worst, certain=False)
                leak = Leak("control flow", place, what)
                return Finding("leaking", worst.spent, (leak,), twin=worst.twin)
            self.notes.append(f"{place.where}: {what}, which δ allows")
        if found.untried and not self._allows(base, worst, found, found.mass + found.unknown):
            place = max(found.untried, key=found.untried.__getitem__)
            what = f"comparisons that were not turned fall so with probability {found.unknown:.3g}"
            return Finding("not understood", worst.spent, puzzles=(Puzzle(place, what),))
        return None

    def _allows(self, base: TracedRun, worst: Finding, found: Rare, mass: float) -> bool:
        """Whether the claim allows leaks on transcripts of this probability."""
        assert isinstance(self.claim, ApproxDP)  # noqa: S101  # there is a δ
        spent, once = worst.spent, 0.0
        if worst.twin is not None and worst.twin.left is base:
            spent, once = _but_for(worst.twin, found.chances)
        rest = self._rest(self.claim, mass, once)
        return rest is not None and judge(rest, spent) is Judged.WITHIN

    @staticmethod
    def _rest(claim: ApproxDP, mass: float, once: float) -> ApproxDP | None:
        """What is left of a claim after leaks of this probability and loss; None if nothing is."""
        left = float(claim.delta) - mass
        left = 0.0 if abs(left) <= EDGE * claim.delta else left
        if left < 0 or once > claim.epsilon:
            return None
        return ApproxDP(epsilon=claim.epsilon - once, delta=left)

    def _first(self) -> tuple[TracedRun | None, Finding]:  # one case after the other
        """The first transcript, or the output's exact distributions if they can be enumerated."""
        base = self.record(self.left, NoiseScript(self.seed))
        if base.journal.imported:
            base = self.record(self.left, NoiseScript(self.seed))
        odd = self._not_as_called(base)
        if odd is not None:
            return None, odd
        told = told_seeds(self, base)
        if isinstance(told, Puzzle):
            return None, Finding("not understood", Spending(), puzzles=(told,))
        if told:
            self.opened = told
            base = self.record(self.left, NoiseScript(self.seed))
        room = self.budget - self.used - 1
        if enumerable(base) and not base.journal.puzzles and 2 * paths(base) <= room:
            if self._unseen(self.left, base):
                return None, self._not_repeated(definition(self.mechanism))
            self.outside.watch()
            try:
                with self.lines:
                    args = (self.mechanism, self.left, self.right, self.seed, room)
                    listed, runs = enumerated(*args)
            except NotRepeated as error:
                self.used += error.runs
                return None, self._not_repeated(definition(self.mechanism))
            self.used += runs
            if listed is not None:
                self.transcripts += runs
                return None, self._listed(listed)
        return base, self.finding(base, NoiseScript(self.seed))

    def _not_as_called(self, base: TracedRun) -> Finding | None:
        """A finding if the first run differs from a call without tracing; else None."""
        puzzle = None
        if self.budget <= 2:
            self.notes.append("no run was repeated with plain numbers: there are two executions")
        if base.raised:
            puzzle = self._not_plainly(base, self.left)
        elif not base.journal.puzzles and self.budget > 2:
            puzzle = self._strays(base, self.left)
            if puzzle is not None and self._unseen(self.left, base):
                return self._not_repeated(definition(self.mechanism))
        if puzzle is None:
            return None
        return Finding("not understood", Spending(), puzzles=(puzzle,))

    def _listed(self, listed: Any) -> Finding:
        pair = listed.pair
        place = listed.places[0] if listed.places else NOWHERE
        most = most_of(pair)
        release = Release(
            place=place,
            distribution="all outcomes listed",
            scale=math.nan,
            shift=math.nan,
            norm="",
            loss=most,
            realized=math.nan,
            exact=True,
        )
        more = tuple(replace(release, place=other, loss=math.nan) for other in listed.places[1:])
        cost = Cost(pair, NOTHING if may_be_equal(pair.left, pair.right) else pair, exact=True)
        items = (Item(release, (cost,), (cost,)), *(Item(r, (), ()) for r in more))
        spent = Spending(items if most > 0 else ())
        judged = judge(self.claim, spent)
        verdicts: dict[Judged, TraceVerdict] = {
            Judged.WITHIN: "shown",
            Judged.ABOVE: "refuted" if listed.repeated else "overspent",
            Judged.OPEN: "overspent",
        }
        size = len(listed.outputs)
        outputs = "one output" if size == 1 else f"{size} outputs"
        self.notes.append(f"the law of the output was computed exactly, from {outputs}")
        self.fallen = Fallen()  # every comparison fell either way
        if not listed.repeated:
            self.notes.append("the budget ended before every listed run was repeated")
        return Finding(
            verdicts[judged], spent, how="all outcomes were listed with their probabilities"
        )

    def _varies(self, twin: Twin) -> bool:
        """Whether repeated runs with the same data and noise differ, on several transcripts."""
        if self._unseen(self.left, twin.left):
            return True
        for step in range(_AGAIN):
            data = self.right if step % 2 == 0 else self.left
            if self._unseen(data, self.record(data, NoiseScript(self.seed + 211 * (step + 1)))):
                return True
        return False

    # Refutation.

    def _decide(self, worst: Finding) -> Finding:
        """Refuted if the output determines the releases; with a transcript that shows it."""
        assert worst.twin is not None  # noqa: S101  # an overspent transcript has its twin
        self.outside.watch()
        size = self.claim.epsilon if isinstance(self.claim, (PureDP, ApproxDP)) else 1.0
        twin, spent = worst.twin, worst.spent
        for simple in (True, False):
            script = worst_script(worst.twin, self.seed, float(size), simple=simple)
            tried = self.replay(self.right, self.record(self.left, script))
            cost = spending(tried.differences)
            if not tried.leaks and judge(self.claim, cost) is Judged.ABOVE:
                twin, spent = tried, cost
                break
        if self._varies(twin):
            return self._not_repeated(definition(self.mechanism))
        found = determination(self.mechanism, self.left, self.right, twin, self.seed)
        if found is None:
            return worst
        self.used += found.executions
        if not found.applies(self.claim) or (found.always and not self._steady(twin)):
            return worst
        witness = self._witness(twin, found)
        if is_pure(self.claim) and not witness.arithmetic():
            return worst
        return Finding("refuted", spent, twin=twin, how=found.how)

    def _steady(self, twin: Twin) -> bool:
        """Whether more runs on both sides release the same number and shape of values."""
        wanted = releases_of(twin.left)
        for step, data in enumerate((self.left, self.right, self.left, self.right)):
            run = self.record(data, NoiseScript(self.seed + 101 * (step + 1)))
            if (
                run.journal.puzzles
                or releases_of(run) != wanted
                or set(run.leaves) != set(twin.left.leaves)
            ):
                return False
        return True

    def _witness(self, twin: Twin, found: Determination) -> TraceWitness:
        journal = twin.left.journal
        return TraceWitness(
            claim=self.claim,
            left=self.left,
            right=self.right,
            seed=self.seed,
            noise=tuple(journal.draws.z[: journal.draws.top].tolist()),
            lines=lines_of(twin),
            determined=found.how,
            output=canonical(list(twin.left.leaves.values()))[:1000],
        )

    def _traced(self, found: Finding) -> Traced:
        if found.verdict != "not understood" and self.outside.have_drawn():
            what = "a generator that was made before the run draws: its noise is not seen"
            unseen = Puzzle(definition(self.mechanism), what)
            found = Finding("not understood", Spending(), puzzles=(unseen,), twin=found.twin)
        if found.verdict == "refuted" and self.memory.has_changed():
            what = "something is kept from call to call, which may be noise that is not seen"
            kept = Puzzle(definition(self.mechanism), what)
            found = Finding("not understood", Spending(), puzzles=(kept,), twin=found.twin)
        if found.verdict == "shown" and not self.returned:
            what = "the mechanism raised in every run, so that nothing was shown of its outputs"
            raised = Puzzle(definition(self.mechanism), f"{what}: {self.raised}")
            found = replace(found, verdict="not understood", puzzles=(raised,))
        for release in found.spent.releases:
            name, said, _ = release.distribution.partition(f", {BY_CLAIM}")
            note = f"what {name} costs is its own claim, which is not checked here"
            if said and note not in self.notes:
                self.notes.append(note)
        if found.verdict == "shown":
            self.notes += self._untried()
        witness = None
        if found.verdict == "refuted" and found.twin is not None:
            witness = self._witness(
                found.twin, Determination(found.how, always=False, executions=0)
            )
        return Traced(
            verdict=found.verdict,
            claim=self.claim,
            left=self.left,
            right=self.right,
            spent=found.spent,
            leaks=found.leaks,
            puzzles=found.puzzles,
            witness=witness,
            determined=found.how,
            executions=self.used,
            transcripts=self.transcripts,
            notes=tuple(self.notes),
        )

    def _untried(self) -> list[str]:
        """What transcripts left untried: decisions on plain numbers, lines never reached."""
        notes = [
            f"{place.where}: the code saw a noisy number here, in "
            f"{'one run' if runs == 1 else f'{runs} runs'}; what it decides on other values is not "
            "seen"
            for place, runs in self.seen.most_common(_NOTED)
        ]
        notes += [
            f"{place.where}: outcomes of {name} were seen as they came; what the code decides on "
            "others is not seen"
            for place, name in islice(self.chance.items(), _NOTED)
        ]
        notes += list(self.untried)[:_NOTED]
        notes += [
            f"{place.where}: {one_way} of {size} comparisons fell one way in all runs"
            for place, (one_way, size) in islice(self.fallen.one_way(), _NOTED)
        ]
        never = self.lines.never
        notes += [f"no run came to {place}" for place in never[:_NOTED]]
        if len(never) > _NOTED:
            notes.append(f"nor to {len(never) - _NOTED} more lines")
        if self.lines.busy:
            notes.append(
                "lines and exceptions that the code catches were not looked at: a debugger, or "
                "coverage, watches them"
            )
        return notes


def _but_for(twin: Twin, rarely: tuple[float, ...]) -> tuple[Spending, float]:
    """The cost of a transcript without comparisons that only one side makes, and rarely.

    Such a comparison goes the other way with probability p on one side and never on the other. That
    p is taken off δ already; what it costs besides is 1 on one side against 1 − p on the other. Of
    two comparisons with one probability, either may be the one without a counterpart.
    """
    kept, loss, left = [], 0.0, list(rarely)
    for each in twin.differences:
        chance = float(each.left[1]) if isinstance(each, Odds) and each.name == LONELY else 0.0
        if chance and chance in left:
            left.remove(chance)
            loss -= math.log1p(-chance)
        else:
            kept.append(each)
    return spending(kept), loss


def _worse(one: Finding, two: Finding) -> bool:
    if _RANK[one.verdict] != _RANK[two.verdict]:
        return _RANK[one.verdict] > _RANK[two.verdict]
    return _total(one.spent) > _total(two.spent)


def _total(spent: Spending) -> float:
    losses = [r.loss for r in spent.releases if not math.isnan(r.loss)]
    return math.fsum(losses) if all(map(math.isfinite, losses)) else math.inf
