"""One run of a decorated test: hypothesis proposes, the search judges, a failure is reported."""

import functools
import secrets
from typing import Any

import hypothesis
from hypothesis import Phase, given, settings, target

from dpverify.errors import DPVerifyError
from dpverify.fingerprint import fingerprint
from dpverify.neighbors import Relation
from dpverify.schema.rows import Neighboring
from dpverify.testing.calls import Calls
from dpverify.testing.context import LEVEL, SAMPLES, Record, current, first
from dpverify.testing.database import Snapshot
from dpverify.testing.failure import PrivacyViolation, described, raise_at, replay_line
from dpverify.testing.ledger import check_level, check_samples
from dpverify.testing.search import Search, Seen
from dpverify.testing.subject import Subject, Test
from dpverify.testing.witnessing import warn_unconfirmed


def execute(
    subject: Subject, test: Test, arguments: tuple[Any, ...], fixtures: dict[str, Any]
) -> None:
    """Run the test once."""
    __tracebackhide__ = True
    Execution(subject, test, arguments, fixtures).run()


class Execution:
    """One run of a test."""

    def __init__(
        self, subject: Subject, test: Test, arguments: tuple[Any, ...], fixtures: dict[str, Any]
    ) -> None:
        around = current()
        self.subject = subject
        self.test = test
        self.name = around.name or subject.function.__name__
        self.settings = _settings_of(test)
        self.seed, self.planted = _seed_of(test, self.settings, self.name)
        named = subject.signature().bind(*arguments, **fixtures).arguments
        bound = functools.partial(subject.function, **named)
        level = first(subject.level, around.level, LEVEL)
        samples = first(subject.samples, around.samples, SAMPLES)
        check_level(level)
        check_samples(samples)
        self.level = level
        self.search = Search(
            Calls(lambda data, rng: bound(data=data, rng=rng)),
            subject.claim,
            level=level,
            samples=int(samples),
            examples=self.settings.max_examples,
            seed=self.seed,
            name=self.name,
        )
        self.failed: Seen | None = None
        self.misuse: DPVerifyError | None = None

    def run(self) -> None:
        __tracebackhide__ = True
        notes = self._hypothesis()
        if self.failed is None and self.misuse is None:
            try:
                self.failed = self.search.last()
            except DPVerifyError as error:
                self.misuse = error
            if self.failed is not None:
                # The same examples again, with the verdicts that are known: now one of them fails,
                # and hypothesis shrinks it. If it is not met again it is reported as it is.
                notes = self._hypothesis()
        if self.misuse is not None:
            raise self.misuse
        if self.failed is not None:
            simpler = self.search.simpler(self.failed)
            notes = notes if simpler is self.failed else []
            self.failed = simpler
        violation = None if self.failed is None else self._violation(self.failed)
        current().records.append(self._record(violation))
        if violation is not None:
            for note in notes:
                violation.add_note(note)
            raise_at(self.subject.function, violation)

    def _hypothesis(self) -> list[str]:
        """Let hypothesis propose pairs and shrink; its notes, if one failed."""
        try:
            self._assembled()()
        except PrivacyViolation as found:
            return list(getattr(found, "__notes__", []))
        except DPVerifyError:
            if self.misuse is None:
                raise
        return []

    def _assembled(self) -> Test:
        body = self.subject.body(self._see)
        digest = getattr(self.test, "hypothesis").inner_test  # noqa: B009  # set in as_test
        added = getattr(digest, "_hypothesis_internal_add_digest", None)
        if added is not None:  # the name of a parametrized test
            body._hypothesis_internal_add_digest = added  # type: ignore[attr-defined]  # noqa: SLF001
        made: Test = given(pair=self.subject.pairs)(body)
        if self.planted:
            made = hypothesis.seed(self.seed)(made)
        for name in ("hypothesis_explicit_examples", "_hypothesis_internal_use_reproduce_failure"):
            if hasattr(self.test, name):
                setattr(made, name, getattr(self.test, name))
        return self.settings(made)

    def _see(self, pair: Any) -> None:  # noqa: ANN401
        """One example, as hypothesis runs it."""
        if self.misuse is not None:
            raise self.misuse
        try:
            left, right = self.subject.sides(pair)
            seen = self.search.see(left, right)
        except DPVerifyError as error:
            self.misuse = error
            raise
        if seen.found is not None:
            self.failed = seen  # the one that hypothesis runs last is the smallest
            raise PrivacyViolation(f"{self.name} does not keep {self.subject.claim}")
        if seen.score > -float("inf"):
            target(seen.score, label="privacy loss above the claim")

    def _violation(self, pair: Seen) -> PrivacyViolation | None:
        """What is raised; None, after a warning, if fresh draws do not confirm it."""
        found = self.search.witness(pair)
        if found is None:
            warn_unconfirmed(self.name)
            return None
        witness, lower = found
        pairs = len(self.search.seen)
        tried = f"{pairs:,} {'pair' if pairs == 1 else 'pairs'}, {self.search.used:,} draws a side"
        mechanism = f"{self.subject.function.__name__}.mechanism"
        hints = [replay_line(mechanism, self.subject.claim, witness)]
        if self.planted:
            hints.append(f"repeat: @hypothesis.seed({self.seed}) above the test")
        message = described(
            self.name,
            self.subject.claim,
            witness,
            epsilon_lower=lower,
            level=self.level,
            relation=_relation_name(self.subject.relation),
            effort=tried,
            hints=hints,
        )
        return PrivacyViolation(message, witness=witness, epsilon_lower=lower)

    def _record(self, violation: PrivacyViolation | None) -> Record:
        verdict = self.search.verdict
        lower, delta = (0.0, 0.0) if verdict is None else (verdict.epsilon_lower, verdict.delta)
        if violation is not None and violation.witness is not None:
            lower, delta = violation.epsilon_lower, violation.witness.delta
        return Record(
            name=self.name,
            claim=str(self.subject.claim),
            refuted=violation is not None,
            epsilon_lower=lower,
            delta=delta,
            level=self.level,
            samples=self.search.used,
            pairs=len(self.search.seen),
        )


def _settings_of(test: Test) -> settings:
    """Those of the test or the profile; without a deadline, which is about single examples."""
    own: settings | None = getattr(test, "_hypothesis_internal_use_settings", None)
    base = settings.default if own is None else own
    if base is None:
        raise AssertionError("hypothesis has default settings")
    return settings(
        base,
        deadline=None,
        report_multiple_bugs=False,
        phases=[phase for phase in base.phases if phase is not Phase.explain],
        database=None if base.database is None else Snapshot(base.database),
    )


def _seed_of(test: Test, chosen: settings, name: str) -> tuple[int, bool]:
    """The seed of all draws, and whether hypothesis must be given it too.

    It follows `@seed`, `derandomize` and `--hypothesis-seed`, in hypothesis' own order; else every
    run has another.
    """
    own = getattr(test, "_hypothesis_internal_use_seed", None)
    if own is not None:
        return (own if isinstance(own, int) and own >= 0 else fingerprint(own)), True
    if chosen.derandomize:
        return fingerprint(test.__module__, test.__qualname__, name), False
    forced = getattr(hypothesis.core, "global_force_seed", None)
    if forced is not None:
        return fingerprint(forced, test.__module__, test.__qualname__, name), False
    return secrets.randbits(64), True


def _relation_name(relation: Neighboring) -> str:
    if isinstance(relation, Relation):
        return relation.value
    return getattr(relation, "__name__", str(relation))
