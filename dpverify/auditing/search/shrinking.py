"""Shrink the pair of a refutation: fewer records and simpler values that still refute."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dpverify.auditing.attacks.events import Between
from dpverify.auditing.auditor import audit
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.search.trials import PairTrial, Pass, Search, derived
from dpverify.auditing.verdict import Refuted, Verdict
from dpverify.schema import Schema

_MORE = 2  # times as many draws as the refutation took may each attempt have
_LEAST = 500
_MOST_ATTEMPTS = 60
_QUICK = 10_000


class Shrinking(Pass):
    """Tries simpler pairs as long as the claim is refuted on them; `now` is the simplest so far."""

    most_attempts = _MOST_ATTEMPTS

    def __init__(self, search: Search, start: PairTrial) -> None:
        super().__init__(search)
        self.now = start
        self.attempts = 0
        self._options = self.simpler(start)

    def step(self) -> bool:
        """Try one simpler pair; return whether there was one left to try."""
        option = None if self.attempts >= self.most_attempts else next(self._options, None)
        if option is None:
            return False
        self.attempts += 1
        tried = self.judged(option)
        if tried.found is not None:
            self.now, self._options = tried, self.simpler(tried)
        return True

    @abstractmethod
    def simpler(self, trial: PairTrial) -> Iterator[PairTrial]:
        """Simpler pairs than this one, largest simplifications first."""

    @abstractmethod
    def judged(self, option: PairTrial) -> PairTrial:
        """The pair after testing it, with the refutation if there is one."""


class SchemaShrinking(Shrinking):
    """Shrinks a pair as its schema says, with about as many draws as the search spent on a pair.

    `options` are those of `audit`.
    """

    def __init__(self, search: Search, start: PairTrial, schema: Schema, **options: Any) -> None:  # noqa: ANN401
        self.schema = schema
        super().__init__(search, start)
        self.first = self._refutation
        self.seed = derived(search.seed, 2)
        self._each = max(_LEAST, _MORE * self.first.samples)
        self._audit_options = options
        self._spent = 0

    def step(self) -> bool:
        return self._spent < self.search.samples and super().step()

    def simpler(self, trial: PairTrial) -> Iterator[PairTrial]:
        for option in self.schema.simpler(trial.candidate):
            sampler = replace(trial.sampler, left=option.left, right=option.right, journal=None)
            yield replace(trial, candidate=option, sampler=sampler, seen=None, found=None)

    def judged(self, option: PairTrial) -> PairTrial:
        verdict = self._verdict(option, derived(self.seed, self.attempts))
        self._spent += verdict.samples
        return replace(option, found=verdict) if isinstance(verdict, Refuted) else option

    def confirmed(self) -> Refuted:
        """The simplest pair's refutation if fresh draws confirm its witness, else the first one.

        Which pair comes out depends on the draws of the attempts, so its event is judged once more
        on draws that had no part in it.
        """
        witness = self._refutation.witness
        size = max(self._each, 2 * witness.counts.trials)
        mechanism = self.now.sampler.mechanism
        again = witness.replay(mechanism, samples=size, seed=derived(self.seed, 0))
        if not isinstance(again, Refuted):
            return self.first
        return replace(self.first, witness=again.witness)

    @property
    def _refutation(self) -> Refuted:
        found = self.now.found
        if isinstance(found, Refuted):
            return found
        raise AssertionError("only a pair that an audit refuted is shrunk")

    def _verdict(self, option: PairTrial, seed: int) -> Verdict:
        """Test the known event on the simpler pair; if that does not refute, run a new audit.

        An audit is worth it only where it is quick: for few draws, or for single numbers.
        """
        known, mechanism, size = self._refutation.witness, option.sampler.mechanism, self._each
        left, right = option.candidate.left, option.candidate.right
        same = replace(known, left=left, right=right).replay(mechanism, samples=size, seed=seed)
        scalar = isinstance(known.event, Between) and known.event.feature == WHOLE
        if isinstance(same, Refuted) or (size > _QUICK and not scalar):
            return same
        searched = audit(
            mechanism,
            left=left,
            right=right,
            level=self.first.witness.level,
            seed=derived(seed, 0),
            samples=size,
            **self._audit_options,
        )
        return replace(searched, samples=size + searched.samples)
