"""One transcript: recorded on the left, replayed on the right, and its differences judged."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import Spending, compared_again, spending, told_whole
from dpverify.tracing.evidence.understanding import OutOfRuns, Runner
from dpverify.tracing.noise.shapes import COMPARING, SETTLING
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import CAST, Bits, Leak, Move, Pick, Puzzle, Value
from dpverify.tracing.recording.lines import named
from dpverify.tracing.recording.places import Place, definition
from dpverify.tracing.recording.retelling import same_but_for_rounding
from dpverify.tracing.recording.runs import TracedRun, Twin, runs_plainly
from dpverify.tracing.traced import TraceVerdict

_MOST_APART = 8  # numbers that are put between the bounds of the two sides
_UNIFORM = "the ends of a uniform draw depend on the data, or what it is compared with"
_SIGN = "the sign of this noise is drawn as well: what the two hide together is not followed"
_DRAWN_SIGNS = 8  # runs that show whether a sign is drawn
_UNDERSTANDING = 9  # executions that it takes at least to tell a leak from something else


@dataclass(slots=True)
class Finding:
    """What one transcript showed."""

    verdict: TraceVerdict
    spent: Spending
    leaks: tuple[Leak, ...] = ()
    puzzles: tuple[Puzzle, ...] = ()
    twin: Twin | None = None
    script: NoiseScript | None = None
    certain: bool = False
    how: str = ""


@dataclass(slots=True, kw_only=True)
class Transcripts(Runner):
    """Judges single transcripts of one pair, within a budget of executions."""

    transcripts: int = 0
    may_settle: bool = True
    repeats: bool = False  # whether a difference was seen twice
    hardest: int = 0  # executions that it took at most to understand a difference
    kept: list[Twin] = field(default_factory=list)  # transcripts that kept the claim

    def finding(self, base: TracedRun, script: NoiseScript) -> Finding:
        self.transcripts += 1
        twin = self.replay(self.right, base)
        puzzles = [*base.journal.puzzles, *twin.right.journal.puzzles]
        puzzles += _shaped(twin)
        strange = self._caught(base, twin, script)
        puzzles += [] if strange is None else [strange]
        if puzzles:
            spent = spending(twin.differences)
            return Finding("not understood", spent, (), tuple(dict.fromkeys(puzzles)), twin)
        if not twin.leaks:
            return self._cost(twin, script)
        before = self.used
        try:
            return self._leak(base, twin, script)
        except OutOfRuns:
            leak = twin.leaks[0]
            what = f"{leak.what}; the budget ended before it was known what that is"
            puzzle = Puzzle(leak.place, what)
            return Finding("not understood", Spending(), puzzles=(puzzle,), twin=twin)
        finally:
            self.hardest = max(self.hardest, self.used - before)

    def _cost(self, twin: Twin, script: NoiseScript) -> Finding:
        spent = spending(twin.differences)
        fixed = self._fixed_seed(twin)
        if fixed is not None:
            return Finding("leaking", spent, (fixed,), twin=twin)
        judged = judge(self.claim, spent)
        if judged is Judged.WITHIN:
            return self._within(twin, script)
        again = self._settled(twin, script)
        if again is not None:
            return self._within(again, script)
        signed = self._drawn_sign(twin)
        if signed is not None:
            return Finding("not understood", spent, puzzles=(signed,), twin=twin)
        certain = judged is Judged.ABOVE
        return Finding("overspent", spent, twin=twin, script=script, certain=certain)

    def _drawn_sign(self, twin: Twin) -> Puzzle | None:
        """Handmade Laplace noise: one-sided noise with a sign that varies between runs."""
        moves = [d for d in twin.differences if isinstance(d, Move) and d.law.grows_only]
        events = twin.left.journal.events
        wanted = {events[m.event].place: np.sign(events[m.event].coef) for m in moves}
        for step in range(_DRAWN_SIGNS if wanted else 0):
            if self.used + 4 > self.budget:
                raise OutOfRuns
            run = self.record(self.left, NoiseScript(self.seed + 53 * (step + 1)))
            for event in run.journal.events:
                sign = wanted.get(event.place) if isinstance(event, Value) else None
                if sign is not None and not np.array_equal(np.sign(event.coef), sign):
                    return Puzzle(event.place, _SIGN)
        return None

    def _within(self, twin: Twin, script: NoiseScript) -> Finding:
        """A transcript that keeps the claim, unless other transcripts add losses."""
        spent, puzzles = spending(twin.differences), [*twin.right.journal.coins_alone]
        again = compared_again(twin.differences)
        if again and not self._adds_no_delta(twin, spent):
            what = "a noisy number is compared more than once: what all outcomes lose is not seen"
            puzzles += [Puzzle(group[0].place, what) for group in again.values()]
        if puzzles:
            return Finding("not understood", spent, puzzles=tuple(puzzles), twin=twin)
        self.kept.append(twin)
        return Finding("shown", spent, twin=twin, script=script)

    def _adds_no_delta(self, twin: Twin, spent: Spending) -> bool:
        """Whether the claim holds for all outcomes of one number's comparisons together."""
        if isinstance(self.claim, PureDP):
            return True
        pure = PureDP(epsilon=self.claim.epsilon) if isinstance(self.claim, ApproxDP) else None
        if pure is not None and judge(pure, spent) is Judged.WITHIN:
            return True
        whole = told_whole(twin.differences)
        return whole is not None and judge(self.claim, whole) is Judged.WITHIN

    def _settled(self, twin: Twin, script: NoiseScript) -> Twin | None:
        """The same transcript with numbers released one by one, if that keeps the claim."""
        values = [e for e in twin.left.journal.events if isinstance(e, Value)]
        if self.used + 2 > self.budget or all(e.final for e in values) or not self.may_settle:
            return None
        again = self._eagerly(twin.left, script, SETTLING)
        if again is None:
            return None
        odd = again.leaks or again.left.journal.puzzles or again.right.journal.puzzles
        if odd or judge(self.claim, spending(again.differences)) is not Judged.WITHIN:
            self.may_settle = False
            return None
        return again

    def _fixed_seed(self, twin: Twin) -> Leak | None:
        """A seed that does not depend on the generator, so that its noise is no secret."""
        mine = twin.left.journal.seeds
        if not mine:
            return None
        other = self.record(self.left, NoiseScript(self.seed + 7919))
        for (place, seed), (_, again) in zip(mine, other.journal.seeds, strict=False):
            if seed == again:
                what = f"the seed {seed} is the same in every call: its noise is known"
                return Leak("seed", place, what)
        return None

    def _leak(self, base: TracedRun, twin: Twin, script: NoiseScript) -> Finding:
        """Tell data leaks from noise that is not seen and from handmade noise."""
        if self.used + _UNDERSTANDING > self.budget:
            raise OutOfRuns
        unknown = self._raised_in_tracer(base, twin.right) or _unknown(base)
        if unknown is not None:
            return Finding("not understood", Spending(), puzzles=(unknown,), twin=twin)
        matched = self._matched_again(base)
        if matched is not None:
            return self._cost(matched, script)
        itself = self.replay(self.left, base)
        if itself.leaks or itself.differences:
            return self._not_repeated([*itself.leaks, *itself.differences][0].place)
        sooner = self._sooner(base, script)
        if isinstance(sooner, Finding):
            return sooner
        found = self._explained(base, twin, script)
        if sooner is not None and found is not None and found.verdict == "not understood":
            return self._named(sooner, script)
        return found or self._named(twin, script)

    def _explained(self, base: TracedRun, twin: Twin, script: NoiseScript) -> Finding | None:
        """Explanations of a difference other than a leak: coins, comparisons, handmade noise."""
        journal = twin.right.journal
        outputs = all(leak.kind == "output" for leak in twin.leaks) and not twin.right.diverged
        unknown = None
        if outputs and not journal.uneven:
            aligned = self._flipped(base, twin)
            if isinstance(aligned, Puzzle):
                return Finding("not understood", Spending(), puzzles=(aligned,), twin=twin)
            if aligned is not None:
                return self._cost(aligned, script)
            unknown = None if self.opened else self._by_hand(base, twin)
        if unknown is None:
            matched = self._matched(base, twin)
            if matched is not None:
                return self._cost(matched, script)
            unknown = self._may_turn(base, twin) or self._may_be_hidden(base, twin)
        if unknown is None:
            return None
        return Finding("not understood", Spending(), puzzles=(unknown,), twin=twin)

    def _sooner(self, base: TracedRun, script: NoiseScript) -> Finding | Twin | None:
        """The same transcript with noisy values made plain earlier, if nothing leaks then.

        Else the first such replay that came to the end and met noise of another scale: so a descent
        tells that its noise depends on the data, where its weights, as forms, only tell how many
        records there are.
        """
        scaled: Twin | None = None
        every = (1, 2, COMPARING, SETTLING) if _compares_what_it_tells(base) else (1, 2, SETTLING)
        for level in every if _adds_up(base) else every[:-1]:
            again = self._eagerly(base, script, level)
            if again is None or again.right.journal.puzzles:
                continue
            if {leak.kind for leak in again.leaks} == {"scale"} and not again.right.diverged:
                scaled = scaled or again
            if not again.leaks:
                wrong = self._decides_apart(again) if level == COMPARING else None
                if wrong is not None and wrong.verdict == "overspent":
                    return wrong
                if wrong is not None:
                    continue
                found = self._cost(again, script)
                if level in {1, 2} or found.verdict == "shown":
                    if not self.repeats and not self.replay(self.right, base).leaks:
                        return self._not_repeated(definition(self.mechanism))
                    self.repeats = True
                    return found
        return scaled

    def _decides_apart(self, twin: Twin) -> Finding | None:
        """What fails if a known number lies between the bounds of the two sides.

        There the sides decide differently on a number that both know. That may be no leak, as where
        data are clipped to a noisy bound.
        """
        journal = twin.left.journal
        bounds, others = journal.bounds, twin.right.journal.bounds
        alike = {bound.by for bound in bounds} == {bound.by for bound in others}
        if len(bounds) != len(others) and alike:
            return None
        pairs = zip(bounds, others, strict=False)
        apart = dict.fromkeys((one, two.by) for one, two in pairs if one.by != two.by)
        if len(bounds) != len(others) or len(apart) > _MOST_APART:
            raise OutOfRuns
        draws = journal.draws
        for bound, other in apart:
            moved = ((bound.by + other) / 2.0 - bound.offset) / bound.coef
            if draws.law_of(bound.draw).is_discrete or self.used + 2 > self.budget:
                raise OutOfRuns
            fixed = dict(enumerate(draws.z[: draws.top].tolist())) | {bound.draw: moved}
            script = NoiseScript(journal.script.seed, fixed=fixed)
            left = self.record(self.left, script, eager=journal.eager)
            between = self.replay(self.right, left)
            if between.leaks:
                return Finding("leaking", Spending(), tuple(between.leaks), twin=between)
            if judge(self.claim, spending(between.differences)) is not Judged.WITHIN:
                spent = spending(between.differences)
                return Finding("overspent", spent, twin=between, script=script)
        return None

    def _eagerly(self, base: TracedRun, script: NoiseScript, level: int) -> Twin | None:
        """The same noise with numbers known earlier; None if that gives another output.

        A script that sets outcomes does so by the number of an event, and events have other numbers
        here: the noise that comparisons came to is set instead, and choices by their order.
        """
        if script.outcomes:
            draws, chosen = base.journal.draws, script.outcomes
            fixed = dict(enumerate(draws.z[: draws.top].tolist()))
            script = NoiseScript(script.seed, fixed=fixed)
            places = [n for n, e in enumerate(base.journal.events) if isinstance(e, Pick)]
            if any(n in chosen for n in places):
                events = self.record(self.left, script, eager=level).journal.events
                numbers = [n for n, e in enumerate(events) if isinstance(e, Pick)]
                pairs = zip(places, numbers, strict=False)
                outcomes = {to: chosen[n] for n, to in pairs if n in chosen}
                script = NoiseScript(script.seed, fixed=fixed, outcomes=outcomes)
        left = self.record(self.left, script, eager=level)
        coarse = base.journal.coarse > 1.0
        same = left.raised.partition(":")[0] == base.raised.partition(":")[0]
        same = same and _picked(left) == _picked(base)
        if not same or not same_but_for_rounding(base.leaves, left.leaves, coarse=coarse):
            return None
        return self.replay(self.right, left)

    def _named(self, twin: Twin, script: NoiseScript) -> Finding:
        """A leak with the best line that two more runs can find."""
        leaks = twin.leaks
        if leaks and all(leak in twin.right.journal.loose for leak in leaks):
            puzzle = Puzzle(leaks[0].place, _UNIFORM)
            return Finding("not understood", Spending(), puzzles=(puzzle,), twin=twin)
        what = "the output tells this seed: noise that is made from it hides nothing"
        if self.opened:
            seeds = twin.left.journal.seeds
            told = [Leak("seed", seeds[n][0], what) for n in sorted(self.opened) if n < len(seeds)]
            return Finding("leaking", spending(twin.differences), (*told, *leaks), twin=twin)
        start = definition(self.mechanism)
        kinds = {"output", "control flow", "exception"}
        if any(leak.kind in kinds or leak.place == start for leak in leaks):
            self.used += 2
            self.outside.watch()
            leaks = named(self.mechanism, self.left, self.right, script, twin)
        return Finding("leaking", spending(twin.differences), tuple(leaks), twin=twin)

    def _unseen(self, data: Any, base: TracedRun) -> bool:
        """Whether the same noise gives another run, so that it has memory or hidden noise."""
        again = self.replay(data, base)
        return bool(again.leaks or again.differences or again.right.journal.puzzles)

    @staticmethod
    def _not_repeated(place: Place) -> Finding:
        what = (
            "the run is not repeated by the same noise: it remembers earlier calls, or draws noise "
            "that is not seen"
        )
        return Finding("not understood", Spending(), puzzles=(Puzzle(place, what),))

    def _not_plainly(self, run: TracedRun, data: Any) -> Puzzle | None:
        """An exception that a call without tracing does not raise."""
        self.used += 1
        with self.outside.passed_over():
            plainly = runs_plainly(self.mechanism, data, self.seed)
        if plainly.partition(":")[0] == run.raised.partition(":")[0]:
            return None
        return Puzzle(run.ended, f"noise must be a plain number here: {run.raised}")

    def _raised_in_tracer(self, left: TracedRun, right: TracedRun) -> Puzzle | None:
        for run, data in ((left, self.left), (right, self.right)):
            if run.raised and run.in_tracer:
                puzzle = self._not_plainly(run, data)
                if puzzle is not None:
                    return puzzle
        return None


def _shaped(twin: Twin) -> list[Puzzle]:
    """Noise of an unknown law that met differing data."""
    journal = twin.left.journal
    return [
        Puzzle(journal.draws.place_of(_draw_of(journal, d)), "the law of this noise is not known")
        for d in twin.differences
        if isinstance(d, Move) and d.law.name == "shaped"
    ]


def _picked(run: TracedRun) -> str:
    """What was chosen in a run, in order."""
    picks = [e for e in run.journal.events if isinstance(e, Pick) and e.key[0] != CAST]
    return canonical([e.outcome for e in picks])


def _compares_what_it_tells(run: TracedRun) -> bool:
    """Whether noise was both compared and released."""
    compared = [e for e in run.journal.events if isinstance(e, Bits)]
    return any(np.any(run.journal.draws.used[event.idx]) for event in compared)


def _adds_up(run: TracedRun) -> bool:
    """Whether the code saw a sum of several draws as a number."""
    values = [e for e in run.journal.events if isinstance(e, Value) and not e.final]
    return any(np.ndim(event.idx) > np.ndim(event.values) for event in values)


def _unknown(run: TracedRun) -> Puzzle | None:
    """Noise of an unknown law that became a number together with something else."""
    draws = run.journal.draws
    for event in run.journal.events:
        if isinstance(event, Value) and not event.raw:
            for j in np.ravel(event.idx):
                if draws.law_of(int(j)).name == "shaped":
                    return Puzzle(draws.place_of(int(j)), "the law of this noise is not known")
    return None


def _draw_of(journal: Any, move: Move) -> int:
    idx = np.ravel(journal.events[move.event].idx)
    return int(idx[min(int(move.flat[0]), len(idx) - 1)])
