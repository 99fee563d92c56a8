"""One test: every pair that hypothesis proposes, the level that is left, and what was found.

1. *Looking.* A new pair gets a few draws, and hypothesis is told how promising it looks. A pair
   that seems to break the claim is judged at once, on fresh draws (`glance`).
2. *The last pair.* If none was refuted, the most promising pair gets all draws that are left.
3. *Shrinking.* After a refutation the test has failed. Smaller pairs are judged in the same way
   and at shares of the same level, so what is reported was refuted itself, on its own draws.

Verdicts are remembered, so a pair that is proposed again has the same one. Draws depend on the
test's seed and the content of the pair alone.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.auditing import Refuted, Verdict, Witness, audit
from dpverify.auditing.attacks import Confirm, Draws, Families, Proposal
from dpverify.auditing.choice import Chosen, best_bound
from dpverify.auditing.confidence import Chain
from dpverify.auditing.sampling import Sampler
from dpverify.auditing.verdict import counts_of
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.testing.calls import Calls
from dpverify.testing.completed import completed
from dpverify.testing.fingerprint import fingerprint
from dpverify.testing.glance import Glance, Outcome, draws, few, glimpse, judge, look
from dpverify.testing.ledger import Ledger
from dpverify.testing.usage import points_of

_LOOKING = 0.6  # of the draws; the rest is for the last pair
_GLANCES = 0.4  # of the draws, that the first looks at all examples may take
_FEWEST, _MOST = 64, 256  # draws a side of a first look
_ONE_PAIR = 8  # a judged pair gets at most so small a part of the draws
_BEST, _SIMPLE = 2, 3  # pairs with the best score, and simplest among those near it
_NEAR = 0.5  # of the best score, where first looks are too short to tell
_AGAIN = 800  # draws a side of a second look
_TIE = 0.1  # scores this close are a tie, and the simpler pair wins
_HOPELESS = -0.5  # score below which not all draws are spent
_BLOCK = 1_000  # draws a side, at least, that a witness is counted on
_TRIES = 3


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
    ) -> None:
        self.mechanism = mechanism
        self.claim = claim
        self.points = points_of(claim)
        self.ledger = Ledger(level)
        self.samples = samples
        self.seed = seed
        self.first = int(np.clip(_GLANCES * samples / examples, _FEWEST, _MOST))
        self.most = max(samples // _ONE_PAIR, 2 * self.first)
        self.left_over = int(_LOOKING * samples)
        self.used = 0
        self.seen: dict[int, Seen] = {}
        self.shrinking = False
        self.learning = False
        self.silence: str | None = None
        self.verdict: Verdict | None = None

    def see(self, left: Any, right: Any) -> Seen:  # noqa: ANN401  # whatever the mechanism takes
        """What is known of the pair, after a look at it if it is new."""
        key = fingerprint(left, right)
        if key not in self.seen:
            with own_streams(self._stream(key, "global")):
                self.seen[key] = self._look(key, left, right)
            if self.seen[key].found is not None:
                self._shrink_from(self.seen[key])
        return self.seen[key]

    def last(self) -> Seen | None:
        """All draws that are left for the most promising pair; the pair, if it is refuted."""
        heard = {key: pair for key, pair in self.seen.items() if pair.score > -np.inf}
        if not heard:
            self._refuse_silence()
            return None
        key, glance = self._finalist(heard)
        pair, point = heard[key], glance.point
        left_over = self.samples - self.used
        with own_streams(self._stream(key, "last, global")):
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
        if not isinstance(self.verdict, Refuted):
            return None
        self.seen[key] = replace(pair, found=self.verdict)
        self._shrink_from(self.seen[key])
        return self.seen[key]

    def witness(self, pair: Seen) -> tuple[Witness, float]:
        """An event that refutes the claim on this pair, counted on draws of its own; and ε."""
        if isinstance(pair.found, Refuted):
            return replace(pair.found.witness, claim=self.claim), pair.found.epsilon_lower
        if pair.found is None:
            raise AssertionError("a pair that was not refuted has no witness")
        key = fingerprint(pair.left, pair.right)
        with own_streams(self._stream(key, "witness, global")):
            tries = (self._counted(pair, pair.found, i) for i in range(_TRIES))
            witness, lower, confirmed = next(tries)
            while not confirmed:
                following = next(tries, None)
                if following is None:
                    break
                witness, lower, confirmed = following
        return witness, lower

    def _counted(self, pair: Seen, found: Outcome, i: int) -> tuple[Witness, float, bool]:
        """A witness from a fresh block, larger at every try; whether the block alone refutes."""
        level = self.ledger.next()
        size = max(_BLOCK, 2 * found.glance.size) * 2**i
        chosen = self._best_event(found.glance, level, size)
        point, proposal = chosen.point, chosen.proposal
        stream = self._stream(fingerprint(pair.left, pair.right), f"witness {i}")
        sampler = self._sampler(pair.left, pair.right, stream)
        fresh = Confirm(draws(sampler, 0, size))
        counts = counts_of(proposal.event, proposal.favors, fresh)
        witness = Witness(
            claim=self.claim,
            left=pair.left,
            right=pair.right,
            event=proposal.event,
            favors=proposal.favors,
            counts=counts,
            delta=point.delta,
            level=level,
            seed=stream,
        )
        block = Chain((counts,), (1.0,))
        confirmed = block.rejects([(point.epsilon, point.delta)], level=level)
        return witness, max(witness.epsilon_lower, found.epsilon_lower), confirmed

    def _best_event(self, glance: Glance, level: float, planned: int) -> Chosen:
        """The event in fewest words that a block can be expected to confirm; or the bets' own."""
        simple = Families(classifiers=False)
        best = best_bound(self.points, glance.seen, simple, level=level, planned=planned)
        if glance.wager is not None and (best is None or best.proposal.merit <= best.point.epsilon):
            stake = glance.wager.bet.stakes[0]
            kept = Proposal(event=stake.event, favors=stake.favors, merit=glance.wager.growth)
            return Chosen(proposal=kept, point=stake.point)
        if best is None:
            raise AssertionError("a claim was refuted without an event")
        return best

    def _look(self, key: int, left: Any, right: Any) -> Seen:  # noqa: ANN401
        if self.left_over < 2 * self.first:
            return Seen(left, right, -np.inf)
        sampler = self._sampler(left, right, self._stream(key, "look"))
        first = draws(sampler, 0, self.first)
        silence = _silent(first)
        if silence is not None:
            self.silence = silence
            self._spend(self.first)
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
        # What only the last test found, it may have found with a classifier.
        self.learning = isinstance(pair.found, Refuted)
        took = pair.found.samples if isinstance(pair.found, Refuted) else self._size_of(pair.found)
        self.first = int(np.clip(took // 4, _FEWEST, 4 * _MOST))
        self.most = max(4 * took, 2 * self.first)
        self.left_over = self.samples

    @staticmethod
    def _size_of(found: Outcome | None) -> int:
        return 0 if found is None else found.glance.size

    def _spend(self, size: int) -> None:
        self.used += size
        self.left_over -= size

    def _stream(self, key: int, purpose: str) -> int:
        return fingerprint(self.seed, key, purpose)

    def _sampler(self, left: Any, right: Any, seed: int) -> Sampler:  # noqa: ANN401
        return Sampler(mechanism=self.mechanism, left=left, right=right, seed=seed)

    def _refuse_silence(self) -> None:
        if self.silence is not None:
            raise InvalidParameter(
                f"mechanism must return an output: on every pair every call {self.silence}"
            )


def _silent(first: Draws) -> str | None:
    """In words, that no call on either side returned anything; None if one did."""
    sides = (first.left, first.right)
    if not all("output" in side.texts for side in sides):
        return None
    kinds = np.unique(np.concatenate([side.text("output") for side in sides]))
    if len(kinds) > 1:
        return None
    if kinds[0] == "None":
        return "returned None"
    if not str(kinds[0]).startswith("raises "):
        return None
    message = first.left.text("message of output")[0]
    return f"raised {str(kinds[0]).removeprefix('raises ')}: {message}"


@contextmanager
def own_streams(seed: int) -> Iterator[None]:
    """Global generators seeded for the body, for mechanisms that draw from them all the same."""
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to restore it
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
