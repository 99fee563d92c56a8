"""A search among pairs that are proposed one by one, as hypothesis does.

1. *Looking.* A new pair gets a few draws, and whoever proposes is told how promising it looks. A
   pair that seems to break the claim is judged at once, on fresh draws (`quick`).
2. *The last pair.* If none was refuted, the most promising pair gets all draws that are left.
3. *Shrinking.* After a refutation the search has succeeded. Smaller pairs are judged in the same
   way and at shares of the same level, so what is reported was refuted itself, on its own draws.

Verdicts are remembered, so a pair that is proposed again has the same one. Draws depend on the
search's seed and the content of the pair alone.
"""

import random
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from dpverify.auditing.attacks.events import Linear, Trees
from dpverify.auditing.profiles import AuditClaim
from dpverify.auditing.sampling.sampler import Target
from dpverify.auditing.search.judging import Finalist, Judging, Ledger, confirmed
from dpverify.auditing.search.quick import (
    Look,
    Outcome,
    counted,
    draws,
    few,
    glimpse,
    judge,
    look,
    silence,
)
from dpverify.auditing.search.shrinking import Shrinking
from dpverify.auditing.search.trials import PairTrial, Search
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Refuted, Verdict, Witness
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


class ExampleSearch(Search):
    """A search fed one pair at a time; `samples` bounds the draws a side before shrinking."""

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
    ) -> None:
        super().__init__(mechanism, points, level=level, samples=samples, seed=seed)
        self.claim = claim
        self.name = name
        self.ledger = Ledger(level)
        self.first = int(np.clip(_GLANCES * samples / examples, _FEWEST, _MOST))
        self.most = max(samples // _ONE_PAIR, 2 * self.first)
        self.left_over = int(_LOOKING * samples)
        self.shrinking = False
        self.learning = False
        self.silent: str | None = None
        self.verdict: Verdict | None = None

    def see(self, left: Any, right: Any) -> PairTrial:  # noqa: ANN401  # whatever the mechanism takes
        """What is known of the pair, after a look at it if it is new."""
        key = fingerprint(left, right)
        if key not in self.tried:
            candidate = Candidate(left=left, right=right, pattern="example", form=key)
            self.tried[key] = self.looked_at(candidate, "look")
            if self.tried[key].found is not None:
                self._shrink_from(self.tried[key])
        return self.tried[key]

    def last(self) -> PairTrial | None:
        """All draws that are left for the most promising pair; the pair, if it is refuted."""
        heard = [trial for trial in self.tried.values() if trial.score > -np.inf]
        if not heard:
            self._refuse_silence()
            return None
        with own_streams(self._stream(0, "last, global")):
            trial, seems = self._finalist(heard)
            left_over = self.samples - self.used
            finalist = Finalist(
                trial,
                self.ledger.last,
                self._stream(trial.candidate.form, "last"),
                left_over if seems.score > _HOPELESS else max(left_over // 4, _FEWEST),
            )
            # To refute one point of the claim refutes it, and is quicker than all at once.
            point = ApproxDP(epsilon=seems.point.epsilon, delta=seems.point.delta)
            judging = Judging(self, [finalist], claim=point)
            judging.run()
            self.verdict = confirmed(self.name, judging.best[0], self.mechanism)
        if not isinstance(self.verdict, Refuted):
            return None
        refuted = replace(trial, found=self.verdict)
        self.tried[trial.candidate.form] = refuted
        self._shrink_from(refuted)
        return refuted

    def witness(self, trial: PairTrial) -> tuple[Witness, float] | None:
        """An event that refutes the claim on this pair, counted on draws of its own; and ε.

        None if no block of draws confirms it, not even at a loose level.
        """
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

    def simplest(self, trial: PairTrial) -> PairTrial:
        """The pair itself, or a simpler one that a short look had passed over, if it is refuted."""
        # A short look missed these, so this one is longer, and has draws of its own.
        self.first, self.most = 2 * self.first, 2 * self.most
        self.left_over = max(self.left_over, self.samples // 4)
        shrinking = PassedOver(self, trial)
        shrinking.run()
        return shrinking.now

    def looked_at(self, candidate: Candidate, purpose: str) -> PairTrial:
        """The pair after a look at it, on draws that depend on the purpose."""
        with own_streams(self._stream(candidate.form, f"{purpose}, global")):
            return self._look(self.trial(candidate, self._stream(candidate.form, purpose)))

    def _look(self, trial: PairTrial) -> PairTrial:
        if self.left_over < 2 * self.first:
            return trial
        early = len(self.tried) < _EARLY and not self.shrinking
        size = max(self.first, min(self.samples // 16, 2 * _MOST) * early)
        first = draws(trial.sampler, 0, size)
        silent = silence(first)
        if silent is not None:
            self.silent = silent
            self._spend(size)
            return trial
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
        """The pair that looks best on more draws, the simplest of those that nearly tie.

        These draws choose, and the last test has others.
        """
        ranked = sorted(heard, key=lambda trial: -trial.score)
        near = [trial for trial in ranked if trial.score >= ranked[0].score - _NEAR]
        simple = sorted(near, key=lambda trial: trial.length)
        chosen = {t.candidate.form: t for t in [*ranked[:_BEST], *simple[:_SIMPLE]]}
        size = min(_AGAIN, max(_FEWEST, (self.samples - self.used) // (4 * len(chosen))))
        looks = {key: self._look_again(trial, size) for key, trial in chosen.items()}
        enough = max(seems.score for seems in looks.values()) - _TIE
        good = [trial for key, trial in chosen.items() if looks[key].score >= enough]
        best = min(good, key=lambda trial: trial.length)
        return best, looks[best.candidate.form]

    def _look_again(self, trial: PairTrial, size: int) -> Look:
        sampler = self.trial(trial.candidate, self._stream(trial.candidate.form, "again")).sampler
        self.used += size
        return look(draws(sampler, 0, size), few(self.points), classify=False)

    def _shrink_from(self, trial: PairTrial) -> None:
        """After the first refutation: a new budget, and an effort a pair by what it took."""
        if self.shrinking:
            return
        self.shrinking = True
        match trial.found:
            case Refuted(samples=took, witness=witness):
                # What it took a classifier to find will take one again.
                self.learning = isinstance(witness.event, (Linear, Trees))
            case Outcome(look=seems):
                took = seems.size
            case None:
                raise AssertionError("only a refuted pair is shrunk")
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
    """Looks again at simpler pairs of the search, which short looks had found nothing on."""

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
    """Seed the global generators for the body, for mechanisms that draw from them anyway."""
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to restore it
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
