"""Search among pairs that are proposed one by one, as hypothesis does.

0. *Hints.* Where somebody can see the noise, as traces do, a few calls tell what a pair loses. Then
   a pair that keeps the claim needs no draws, and one that breaks it exactly is found.
1. *Looking.* A new pair gets a few draws, and whoever proposes is told how promising it looks. A
   pair that seems to break the claim is judged at once, on fresh draws (`quick`).
2. *The last pair.* If none was refuted, the most promising pair gets all draws that are left.
3. *Shrinking.* After a refutation the search has succeeded. Smaller pairs are judged in the same
   way and at shares of the same level, so what is reported was refuted itself, on its own draws.

Verdicts are remembered, so a pair that is proposed again has the same one. Draws depend on the
search's seed and the content of the pair alone.
"""

import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.attacks.events import Linear, Trees
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.search.judging import Finalist, Judging, LevelShares, confirmed
from dpverify.auditing.search.quick import (
    Look,
    Outcome,
    counted,
    few,
    glimpse,
    judge,
    look,
    silence,
)
from dpverify.auditing.search.shrinking import Shrinking
from dpverify.auditing.search.trials import Hint, PairTrial, Search
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Refuted, Verdict, Witness
from dpverify.claims import AuditClaim
from dpverify.errors import InvalidParameter
from dpverify.fingerprint import fingerprint
from dpverify.guarantees import ApproxDP
from dpverify.schema import Candidate

_LOOKING = 0.6  # of the draws; the rest is for the last pair
_GLANCES = 0.4  # of the draws, that the first looks at all examples may take
_FEWEST, _MOST = 64, 256  # draws a side of a first look
_EARLY = 3  # pairs that get a longer look: failures of earlier runs, and the simplest, come first
_ONE_PAIR = 8  # a judged pair gets at most so small a part of the draws
_BEST, _SIMPLE = 2, 3  # pairs with the best score, and simplest among those near it
_NEAR = 0.5  # of the best score, where first looks are too short to tell
_AGAIN = 800  # draws a side of a second look
_TIE = 0.1  # scores this close are a tie, and the simpler pair wins
_HOPELESS = -0.5  # score below which not all draws are spent
_TRIES = 3  # of a block that confirms a witness
_CALLS, _MOST_CALLS = 12, 100  # that a hint may take at most; on the pair that seems worst

Hints: TypeAlias = Callable[[Any, Any, int], Hint]
"""What is known of left and right from so many calls."""


class ExampleSearch(Search):
    """A search that is given one pair at a time; `samples` limits draws a side before shrinking."""

    def __init__(  # noqa: PLR0913  # one call, in the decorator
        self,
        mechanism: Target,
        claim: AuditClaim,
        points: Sequence[Point],
        *,
        level: float,
        samples: int,
        examples: int,
        seed: int,
        name: str = "mechanism",
        hints: Hints | None = None,
    ) -> None:
        super().__init__(mechanism, points, level=level, samples=samples, seed=seed)
        self.claim = claim
        self.name = name
        self.hints = hints
        self.ledger = LevelShares(level)
        self.first = int(np.clip(_GLANCES * samples / examples, _FEWEST, _MOST))
        self.most = max(samples // _ONE_PAIR, 2 * self.first)
        self.left_over = int(_LOOKING * samples)
        self.shrinking = False
        self.learning = False
        self.silent: str | None = None
        self.spoken = False
        self.verdict: Verdict | None = None

    def see(self, left: Any, right: Any) -> PairTrial:  # noqa: ANN401  # whatever the mechanism takes
        """Test the pair briefly if it is new; return what is known of it."""
        key = fingerprint(left, right)
        if key not in self.tried:
            candidate = Candidate(left=left, right=right, pattern="example", form=key)
            self.tried[key] = self.looked_at(candidate, "look")
            if self.tried[key].found is not None:
                self._shrink_from(self.tried[key])
        return self.tried[key]

    def last(self) -> PairTrial | None:
        """Spend all draws that are left on the most promising pair; return it if it is refuted."""
        heard = [trial for trial in self.tried.values() if trial.score > -np.inf]
        if not heard or not self.spoken:
            self._refuse_silence()
            return None
        with own_streams(self._stream(0, "last, global")):
            trial, seems = self._finalist(heard)
            trial = self._hinted(trial, _MOST_CALLS, (self.samples - self.used) // 2)
            if trial.found is not None:
                return self._refuted(trial)
            left_over = self.samples - self.used
            finalist = Finalist(
                trial,
                self.ledger.last,
                self._stream(trial.candidate.form, "last"),
                max(left_over if seems.score > _HOPELESS else left_over // 4, _FEWEST),
            )
            # To refute one point of the claim refutes it, and is quicker than all at once.
            point = ApproxDP(epsilon=seems.point.epsilon, delta=seems.point.delta)
            judging = Judging(self, [finalist], claim=point)
            judging.run()
            self.verdict = confirmed(self.name, judging.best[0], self.mechanism)
        if not isinstance(self.verdict, Refuted):
            return None
        return self._refuted(replace(trial, found=self.verdict))

    def _refuted(self, trial: PairTrial) -> PairTrial:
        self.tried[trial.candidate.form] = trial
        self._shrink_from(trial)
        return trial

    def witness(self, trial: PairTrial) -> tuple[Witness | None, float] | None:
        """A witness for this pair, counted on its own draws, and the lower bound on ε.

        None if no block of draws confirms it, not even at a loose level. What is exactly false may
        be too little for draws to show; then there is no event, but it must be seen once more.
        """
        if isinstance(trial.found, Hint):
            return self._shown_by_draws(trial) or self._seen_again(trial)
        if isinstance(trial.found, Refuted):
            return replace(trial.found.witness, claim=self.claim), trial.found.epsilon_lower
        if trial.found is None:
            raise AssertionError("a pair that was not refuted has no witness")
        key = trial.candidate.form
        softly = False
        with own_streams(self._stream(key, "witness, global")):
            for i in range(_TRIES):
                sampler = self.trial(trial.candidate, self._stream(key, f"witness {i}")).sampler
                known, level = trial.found.look, self.ledger.next()
                block = counted(sampler, self.claim, self.points, known, level=level, attempt=i)
                softly = softly or block.softly
                if block.refutes:
                    break
        if not softly:
            return None
        return block.witness, max(block.witness.epsilon_lower, trial.found.epsilon_lower)

    def _shown_by_draws(self, trial: PairTrial) -> tuple[Witness | None, float] | None:
        key = trial.candidate.form
        finalist = Finalist(trial, self.ledger.last, self._stream(key, "last"), self.samples)
        with own_streams(self._stream(key, "last, global")):
            judging = Judging(self, [finalist], claim=self.claim)
            judging.run()
            self.verdict = confirmed(self.name, judging.best[0], self.mechanism)
        if not isinstance(self.verdict, Refuted):
            return None
        return self.verdict.witness, self.verdict.epsilon_lower

    def _seen_again(self, trial: PairTrial) -> tuple[None, float] | None:
        again = self._hinted(replace(trial, hint=None), _MOST_CALLS, _MOST_CALLS).hint
        return (None, again.epsilon_lower) if again is not None and again.refuted else None

    def simplest(self, trial: PairTrial) -> PairTrial:
        """The pair, or a simpler refuted one that the quick tests had missed."""
        # A short look missed these, so this one is longer, and has draws of its own.
        self.first, self.most = 2 * self.first, 2 * self.most
        self.left_over = max(self.left_over, self.samples // 4)
        shrinking = PassedOver(self, trial)
        shrinking.run()
        return shrinking.now

    def looked_at(self, candidate: Candidate, purpose: str) -> PairTrial:
        """Test the pair briefly, on draws that depend on the purpose."""
        with own_streams(self._stream(candidate.form, f"{purpose}, global")):
            new = self.trial(candidate, self._stream(candidate.form, purpose))
            trial = self._hinted(new, _CALLS, self.left_over)
            if trial.hint is None or not (trial.hint.kept or trial.hint.refuted):
                return self._look(trial)
            if trial.hint.kept and len(self.tried) < _EARLY:
                return self._look(trial)  # to see that there are outputs
            return replace(trial, score=trial.hint.loss - self.points[0].epsilon)

    def _hinted(self, trial: PairTrial, calls: int, left_over: int) -> PairTrial:
        """Learn what is possible about the pair without draws, if the budget for that allows."""
        if self.hints is None or left_over < calls:
            return trial
        hint = self.hints(trial.candidate.left, trial.candidate.right, calls)
        self._spend(-(-hint.calls // 2))
        return replace(trial, hint=hint, found=hint if hint.refuted else None)

    def _look(self, trial: PairTrial) -> PairTrial:
        if self.left_over < 2 * self.first:
            return trial
        early = len(self.tried) < _EARLY and not self.shrinking
        size = max(self.first, min(self.samples // 16, 2 * _MOST) * early)
        first = Draws.of(trial.sampler, 0, size)
        silent = silence(first)
        if silent is not None:
            self.silent = silent
            self._spend(size)
            return trial
        self.spoken = True
        points = few(self.points)
        seems = look(first, points, classify=True) if self.learning else glimpse(first, points)
        if seems.wager is None:
            self._spend(size)
            return replace(trial, score=seems.score)
        outcome = judge(
            trial.sampler,
            seems,
            points,
            level=self.ledger.next(),
            most=min(self.most, self.left_over),
            classify=self.learning,
        )
        self._spend(outcome.look.size)
        found = outcome if outcome.refuted else None
        return replace(trial, score=outcome.look.score, found=found)

    def _finalist(self, heard: list[PairTrial]) -> tuple[PairTrial, Look]:
        """The pair that looks best on more draws; of those nearly tied, the simplest.

        These draws choose, and the last test has others.
        """
        ranked = sorted(heard, key=lambda trial: -trial.score)
        near = [trial for trial in ranked if trial.score >= ranked[0].score - _NEAR]
        simple = sorted(near, key=lambda trial: trial.length)
        found = {t.candidate.form: t for t in [*ranked[:_BEST], *simple[:_SIMPLE]]}
        left = self.samples - self.used
        chosen = dict(islice(found.items(), max(1, left // (2 * _FEWEST))))
        size = min(_AGAIN, max(_FEWEST, left // (4 * len(chosen))))
        looks = {key: self._look_again(trial, size) for key, trial in chosen.items()}
        enough = max(seems.score for seems in looks.values()) - _TIE
        good = [trial for key, trial in chosen.items() if looks[key].score >= enough]
        best = min(good, key=lambda trial: trial.length)
        return best, looks[best.candidate.form]

    def _look_again(self, trial: PairTrial, size: int) -> Look:
        sampler = self.trial(trial.candidate, self._stream(trial.candidate.form, "again")).sampler
        self.used += size
        return look(Draws.of(sampler, 0, size), few(self.points), classify=False)

    def _shrink_from(self, trial: PairTrial) -> None:
        """After the first refutation, set the budget for shrinking and the draws for each pair."""
        if self.shrinking:
            return
        self.shrinking = True
        match trial.found:
            case Refuted(samples=took, witness=witness):
                # What it took a classifier to find will take one again.
                self.learning = isinstance(witness.event, (Linear, Trees))
            case Outcome(look=seems):
                took = seems.size
            case _:
                self.left_over = self.samples
                return
        self.first = int(np.clip(took // 4, _FEWEST, 4 * _MOST))
        self.most = max(4 * took, 2 * self.first)
        self.left_over = self.samples

    def _spend(self, size: int) -> None:
        self.used += size
        self.left_over -= size

    def _stream(self, key: Hashable, purpose: str) -> int:
        return fingerprint(self.seed, key, purpose)

    def _refuse_silence(self) -> None:
        if self.silent is not None:
            raise InvalidParameter(
                f"mechanism must return an output: on every pair every call {self.silent}"
            )


class PassedOver(Shrinking):
    """Tests simpler pairs again that the quick tests had passed over."""

    search: ExampleSearch
    most_attempts = _SIMPLE

    def simpler(self, trial: PairTrial) -> Iterator[PairTrial]:
        passed = [
            other
            for other in self.search.tried.values()
            if other.found is None and other.score > _HOPELESS and other.length < trial.length
        ]
        return iter(sorted(passed, key=lambda other: other.length) if not self.attempts else [])

    def judged(self, option: PairTrial) -> PairTrial:
        return self.search.looked_at(option.candidate, "once more")


@contextmanager
def own_streams(seed: int) -> Iterator[None]:
    """Seed the global generators in the body, for mechanisms that draw from them."""
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to restore it
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
