r"""Judge pairs: split a search's level among them, and check refutations on fresh draws.

A test holds many pairs against its claim, and when it fails it goes on to smaller pairs. Let the
i-th pair that is judged at all be judged by a test of level

.. math:: α_i = \frac{α}{2}\,\frac{6}{π^2 i^2}, \qquad \sum_i α_i = \frac{α}{2},

on draws that had no part in choosing the pair, and let one last pair be judged at α/2. If the claim
holds for every pair, the probability that any of these tests refutes it is at most α, however many
pairs are tried and whatever decides which come next: the levels add up. [Boole; Ville 1939 for
each test, which may be stopped at any time]

Pairs that were merely looked at, and never judged, cost nothing.
"""

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dpverify.auditing.auditor import audit
from dpverify.auditing.procedure.conclusion import DEPENDENT, UNCONFIRMED
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.search.quick import BLOCK, SOFTLY
from dpverify.auditing.search.trials import PairTrial, Pass, Search
from dpverify.auditing.statistics.binomial import rejects
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, point_of
from dpverify.errors import InvalidParameter

_TRIES = 3  # blocks that may confirm a refutation, each twice as large


@dataclass(slots=True)
class LevelShares:
    """Hands out parts of a level whose sum, the last one included, stays below it.

    >>> ledger = LevelShares(0.01)
    >>> shares = [ledger.next() for _ in range(1000)]
    >>> sum(shares) + ledger.last < 0.01
    True
    """

    level: float
    spent: int = 0

    def next(self) -> float:
        """The level for the next pair that is judged."""
        self.spent += 1
        return self.level * 3.0 / (math.pi * self.spent) ** 2

    @property
    def last(self) -> float:
        """The level for the pair that gets all draws that are left."""
        return self.level / 2.0


class Finalist(NamedTuple):
    """A pair to be judged, its part of the level, and its draws a side."""

    trial: PairTrial
    level: float
    seed: int
    samples: int


class Judging(Pass):
    """Audit the pairs that look worst, each at its own level, until one is refuted.

    No audit but the first begins after `until`.
    """

    def __init__(
        self,
        search: Search,
        finalists: Iterable[Finalist],
        *,
        until: float | None = None,
        **options: Any,  # noqa: ANN401  # of `audit`
    ) -> None:
        super().__init__(search)
        self._best: tuple[Verdict, PairTrial] | None = None
        self._finalists = iter(finalists)
        self._until = until
        self._options = options

    @property
    def best(self) -> tuple[Verdict, PairTrial]:
        """The refuted pair, else the one with the largest lower bound, after its verdict."""
        if self._best is None:
            raise AssertionError("nothing was judged")
        return self._best

    def step(self) -> bool:
        """Audit the next pair."""
        finalist = next(self._finalists, None)
        late = self._until is not None and time.time() > self._until
        if finalist is None or (late and self._best is not None):
            return False
        verdict = self._audited(finalist)
        self.search.used += verdict.samples
        if self._best is None:
            self._best = verdict, finalist.trial
        else:
            before, trial = self._best
            leak = verdict.float_leak or before.float_leak
            if verdict.refuted or _shows_more(verdict, before):
                before, trial = verdict, finalist.trial
            self._best = replace(before, float_leak=leak), trial
        return not verdict.refuted and verdict.stopped is None

    def _audited(self, finalist: Finalist) -> Verdict:
        trial = finalist.trial
        limit: dict[str, Any] = (
            {} if self._until is None else {"seconds": max(self._until - time.time(), 1e-3)}
        )
        return audit(
            trial.sampler.mechanism,
            left=trial.candidate.left,
            right=trial.candidate.right,
            level=finalist.level,
            seed=finalist.seed,
            samples=finalist.samples,
            checkpoint=self.search.chapter(trial.candidate, finalist.seed),
            **self._options,
            **limit,
        )


def _shows_more(verdict: Verdict, other: Verdict) -> bool:
    return verdict.delta == other.delta and verdict.epsilon_lower > other.epsilon_lower


def completed(verdict: Verdict) -> Verdict:
    """The verdict of a complete audit; raise the reason if it was cut short.

    Audits answer when they are interrupted; a test must not pass because it was.
    """
    if verdict.stopped is None:
        return verdict
    if verdict.stopped.why == "interrupt":
        raise KeyboardInterrupt
    if verdict.refuted:
        return verdict
    raise InvalidParameter(f"the audit could not be finished: {verdict.stopped.reason}")


def confirmed(name: str, verdict: Verdict, mechanism: Target) -> Verdict:
    """The verdict, or "not refuted" with a warning if fresh draws do not confirm a refutation.

    Fresh draws need not confirm a refutation to make it valid; but where they do not even at a
    loose level, calls are hardly independent, which all that is said here rests on.
    """
    verdict = completed(verdict)
    for note in verdict.unusable:
        if note.startswith(DEPENDENT):
            warnings.warn(f"{name}: {note}", stacklevel=2)
    if not isinstance(verdict, Refuted) or is_confirmed(verdict, mechanism):
        return verdict
    warn_unconfirmed(name)
    return doubted(verdict)


def doubted(verdict: Refuted) -> NotRefuted:
    """Turn a refutation that fresh draws do not confirm into "not refuted", with a note."""
    kept = {field: getattr(verdict, field) for field in NotRefuted.__dataclass_fields__}
    notes = tuple(dict.fromkeys([*verdict.notes, UNCONFIRMED]))
    return NotRefuted(**kept | {"epsilon_lower": 0.0, "notes": notes})


def is_confirmed(verdict: Refuted, mechanism: Target) -> bool:
    """Whether the witness's own draws, or one of some fresh blocks, refute at a loose level."""
    witness, point = verdict.witness, point_of(verdict.witness)
    if verdict.stopped is not None:
        return True  # no more can be drawn
    if rejects(witness.counts, epsilon=point.epsilon, delta=point.delta, level=SOFTLY):
        return True
    size = max(BLOCK, witness.counts.trials)
    return any(
        witness.replay(mechanism, samples=size * 2**i, seed=i, level=SOFTLY).refuted
        for i in range(1, _TRIES)
    )


def warn_unconfirmed(name: str) -> None:
    """Warn that a refutation was dropped because fresh draws do not confirm it."""
    warnings.warn(f"{name}: bets refute the claim, but {UNCONFIRMED}", stacklevel=2)
