"""One test: every pair that hypothesis proposes, the level that is left, and what was found.

1. *Looking.* A new pair gets a few draws, and hypothesis is told how promising it looks. A pair
   that seems to break the claim is judged at once, on fresh draws (`glance`).
2. *The last pair.* If none was refuted, the most promising pair gets all draws that are left.
3. *Shrinking.* After a refutation the test has failed. Smaller pairs are judged in the same way
   and at shares of the same level, so what is reported was refuted itself, on its own draws.

Verdicts are remembered, so a pair that is proposed again has the same one. Draws depend on the
test's seed and the content of the pair alone.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.auditing import Refuted, Verdict, Witness, audit
from dpverify.auditing.attacks.events import Linear, Trees
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.errors import InvalidParameter
from dpverify.fingerprint import fingerprint
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.testing.calls import Calls, silence
from dpverify.testing.completed import completed
from dpverify.testing.glance import Glance, Outcome, draws, few, glimpse, judge, look
from dpverify.testing.ledger import Ledger
from dpverify.testing.streams import own_streams
from dpverify.testing.usage import points_of
from dpverify.testing.witnessing import counted, is_confirmed, withdrawn

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


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of a pair: how promising it looked, and the refutation, if there is one."""

    left: Any
    right: Any
    score: float
    found: Outcome | Refuted | None = None

    @property
    def length(self) -> int:
        """Characters that it takes to write the pair down."""
        return len(repr((self.left, self.right)))


class Search:
    """The state of one test. `samples` bounds the draws on each side, shrinking apart."""

    def __init__(  # noqa: PLR0913  # one call, in the decorator
        self,
        mechanism: Calls,
        claim: Guarantee,
        *,
        level: float,
        samples: int,
        examples: int,
        seed: int,
        name: str = "mechanism",
    ) -> None:
        self.mechanism = mechanism
        self.claim = claim
        self.points = points_of(claim)
        self.ledger = Ledger(level)
        self.samples = samples
        self.seed = seed
        self.name = name
        self.first = int(np.clip(_GLANCES * samples / examples, _FEWEST, _MOST))
        self.most = max(samples // _ONE_PAIR, 2 * self.first)
        self.left_over = int(_LOOKING * samples)
        self.used = 0
        self.seen: dict[int, Seen] = {}
        self.shrinking = False
        self.learning = False
        self.silent: str | None = None
        self.verdict: Verdict | None = None

    def see(self, left: Any, right: Any) -> Seen:  # noqa: ANN401  # whatever the mechanism takes
        """What is known of the pair, after a look at it if it is new."""
        key = fingerprint(left, right)
        if key not in self.seen:
            with own_streams(self._stream(key, "global")):
                self.seen[key] = self._look(self._stream(key, "look"), left, right)
            if self.seen[key].found is not None:
                self._shrink_from(self.seen[key])
        return self.seen[key]

    def last(self) -> Seen | None:
        """All draws that are left for the most promising pair; the pair, if it is refuted."""
        heard = {key: pair for key, pair in self.seen.items() if pair.score > -np.inf}
        if not heard:
            self._refuse_silence()
            return None
        with own_streams(self._stream(0, "last, global")):
            key, glance = self._finalist(heard)
            pair, point = heard[key], glance.point
            left_over = self.samples - self.used
            verdict = audit(
                self.mechanism,
                left=pair.left,
                right=pair.right,
                # To refute one point of the claim refutes it, and is quicker than all at once.
                claim=ApproxDP(epsilon=point.epsilon, delta=point.delta),
                level=self.ledger.last,
                samples=left_over if glance.score > _HOPELESS else max(left_over // 4, _FEWEST),
                seed=self._stream(key, "last"),
            )
            self.verdict = completed(verdict)
            self.used += self.verdict.samples
            if isinstance(self.verdict, Refuted) and not is_confirmed(self.verdict, self.mechanism):
                self.verdict = withdrawn(self.name, self.verdict)
        if not isinstance(self.verdict, Refuted):
            return None
        self.seen[key] = replace(pair, found=self.verdict)
        self._shrink_from(self.seen[key])
        return self.seen[key]

    def witness(self, pair: Seen) -> tuple[Witness, float] | None:
        """An event that refutes the claim on this pair, counted on draws of its own; and ε.

        None if no block of draws confirms it, however softly.
        """
        if isinstance(pair.found, Refuted):
            return replace(pair.found.witness, claim=self.claim), pair.found.epsilon_lower
        if pair.found is None:
            raise AssertionError("a pair that was not refuted has no witness")
        key = fingerprint(pair.left, pair.right)
        softly = False
        with own_streams(self._stream(key, "witness, global")):
            for i in range(_TRIES):
                sampler = self._sampler(pair.left, pair.right, self._stream(key, f"witness {i}"))
                level = self.ledger.next()
                block = counted(
                    sampler, self.claim, self.points, pair.found.glance, level=level, attempt=i
                )
                softly = softly or block.softly
                if block.refutes:
                    break
        if not softly:
            return None
        return block.witness, max(block.witness.epsilon_lower, pair.found.epsilon_lower)

    def simpler(self, pair: Seen) -> Seen:
        """A simpler pair that a short look had passed over, if it is refuted now; or `pair`."""
        # A short look missed these, so this one is longer, and has draws of its own.
        self.first, self.most = 2 * self.first, 2 * self.most
        self.left_over = max(self.left_over, self.samples // 4)
        passed = [
            (key, other)
            for key, other in self.seen.items()
            if other.found is None and other.score > _HOPELESS and other.length < pair.length
        ]
        for key, other in sorted(passed, key=lambda item: item[1].length)[:_SIMPLE]:
            with own_streams(self._stream(key, "once more, global")):
                again = self._look(self._stream(key, "once more"), other.left, other.right)
            if again.found is not None:
                return again
        return pair

    def _look(self, stream: int, left: Any, right: Any) -> Seen:  # noqa: ANN401
        if self.left_over < 2 * self.first:
            return Seen(left, right, -np.inf)
        sampler = self._sampler(left, right, stream)
        early = len(self.seen) < _EARLY and not self.shrinking
        first = draws(sampler, 0, max(self.first, min(self.samples // 16, 2 * _MOST) * early))
        silent = silence(first)
        if silent is not None:
            self.silent = silent
            self._spend(first.left.size)
            return Seen(left, right, -np.inf)
        points = few(self.points)
        glance = look(first, points, classify=True) if self.learning else glimpse(first, points)
        if glance.wager is None:
            self._spend(glance.size)
            return Seen(left, right, glance.score)
        most = min(self.most, self.left_over)
        level = self.ledger.next()
        outcome = judge(sampler, glance, points, level=level, most=most, classify=self.learning)
        self._spend(outcome.glance.size)
        found = outcome if outcome.refuted else None
        return Seen(left, right, outcome.glance.score, found)

    def _finalist(self, heard: dict[int, Seen]) -> tuple[int, Glance]:
        """The pair that looks best on more draws, the simplest of those that nearly tie.

        These draws choose, and the last test has others.
        """
        ranked = sorted(heard, key=lambda key: -heard[key].score)
        near = [key for key in ranked if heard[key].score >= heard[ranked[0]].score - _NEAR]
        simple = sorted(near, key=lambda key: heard[key].length)
        finalists = list(dict.fromkeys([*ranked[:_BEST], *simple[:_SIMPLE]]))
        size = min(_AGAIN, max(_FEWEST, (self.samples - self.used) // (4 * len(finalists))))
        looks = {key: self._look_again(key, heard[key], size) for key in finalists}
        enough = max(glance.score for glance in looks.values()) - _TIE
        good = [key for key in finalists if looks[key].score >= enough]
        chosen = min(good, key=lambda key: heard[key].length)
        return chosen, looks[chosen]

    def _look_again(self, key: int, pair: Seen, size: int) -> Glance:
        sampler = self._sampler(pair.left, pair.right, self._stream(key, "again"))
        self.used += size
        return look(draws(sampler, 0, size), few(self.points), classify=False)

    def _shrink_from(self, pair: Seen) -> None:
        """From the first refutation on: effort by what it took, and a budget of its own."""
        if self.shrinking:
            return
        self.shrinking = True
        match pair.found:
            case Refuted(samples=took, witness=witness):
                # What it took a classifier to find will take one again.
                self.learning = isinstance(witness.event, (Linear, Trees))
            case Outcome(glance=glance):
                took = glance.size
            case None:
                raise AssertionError("only a refuted pair is shrunk")
        self.first = int(np.clip(took // 4, _FEWEST, 4 * _MOST))
        self.most = max(4 * took, 2 * self.first)
        self.left_over = self.samples

    def _spend(self, size: int) -> None:
        self.used += size
        self.left_over -= size

    def _stream(self, key: int, purpose: str) -> int:
        return fingerprint(self.seed, key, purpose)

    def _sampler(self, left: Any, right: Any, seed: int) -> Sampler:  # noqa: ANN401
        return Sampler(mechanism=self.mechanism, left=left, right=right, seed=seed)

    def _refuse_silence(self) -> None:
        if self.silent is not None:
            raise InvalidParameter(
                f"mechanism must return an output: on every pair every call {self.silent}"
            )
