"""One run of a decorated test: hypothesis proposes pairs, the search judges them."""

import functools
import inspect
import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis.database import ExampleDatabase
from hypothesis.strategies import SearchStrategy

from dpverify.auditing.search.examples import ExampleSearch
from dpverify.auditing.search.judging import warn_unconfirmed
from dpverify.auditing.search.trials import Calls, Hint, PairTrial
from dpverify.auditing.statistics.points import Point, implied_points
from dpverify.claims import AuditClaim
from dpverify.errors import DPVerifyError, InvalidParameter
from dpverify.fingerprint import fingerprint
from dpverify.neighbors import Relation
from dpverify.schema import Schema
from dpverify.schema.rows import Neighboring, check_neighboring
from dpverify.testing.certifying import Certifying
from dpverify.testing.context import PrivacyFinding, current
from dpverify.testing.failure import (
    PrivacyViolation,
    described,
    raise_at,
    replay_line,
    with_parameters,
)
from dpverify.testing.neighboring import NeighboringPair

Test: TypeAlias = Callable[..., Any]

_TRIED_BEFORE = 10  # pairs that are checked to be neighbors when the test is defined


@dataclass(frozen=True, slots=True)
class Subject:
    """The function, claim, pairs and options of a decorated test."""

    function: Test
    claim: AuditClaim
    pairs: SearchStrategy[Any]
    relation: Neighboring
    level: float | None
    samples: int | None
    schema: Schema | None = None  # where the claim is to be certified first

    def as_test(self, execute: Callable[..., None]) -> Test:
        """The test as hypothesis and pytest see it, with its decorators and settings."""
        subject = self

        @functools.wraps(self.function)
        def test(*arguments: Any, **fixtures: Any) -> None:  # noqa: ANN401
            __tracebackhide__ = True
            execute(subject, test, arguments, fixtures)

        outline = self.body(lambda _pair: None)
        model = given(pair=self.pairs)(outline)
        test.__signature__ = self.signature()  # type: ignore[attr-defined]
        test.is_hypothesis_test = True  # type: ignore[attr-defined]
        test.hypothesis = model.hypothesis  # type: ignore[attr-defined]
        test.mechanism = self.function  # type: ignore[attr-defined]
        test.claim = self.claim  # type: ignore[attr-defined]
        return test

    def signature(self) -> inspect.Signature:
        """The parameters of the test without data and rng."""
        own = inspect.signature(self.function)
        kept = [p for name, p in own.parameters.items() if name not in {"data", "rng"}]
        return own.replace(parameters=kept)

    def body(self, see: Callable[[Any], None]) -> Test:
        """A function of one pair, which hypothesis runs in place of the decorated one."""

        def body(pair: Any) -> None:  # noqa: ANN401
            see(pair)

        functools.update_wrapper(body, self.function)
        for name in [name for name in vars(body) if name.startswith("_hypothesis_internal")]:
            delattr(body, name)  # settings below this decorator are the test's, not the body's
        only = inspect.Parameter("pair", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        body.__signature__ = inspect.Signature([only])  # type: ignore[attr-defined]
        return body

    def sides(self, pair: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """The left and right dataset from the strategy; raise unless they are neighbors."""
        if isinstance(pair, NeighboringPair):
            left, right = pair.left, pair.right
        elif isinstance(pair, (tuple, list)) and len(pair) == 2:
            left, right = pair
        else:
            raise InvalidParameter(f"on=… must yield pairs (left, right), not {pair!r}")
        check_neighboring(left, right, self.relation)
        return left, right

    def try_pairs(self) -> None:
        """Raise if a user's strategy yields datasets that are not neighbors."""
        trial = self.body(lambda pair: (self.sides(pair), None)[1])
        plain = settings(
            max_examples=_TRIED_BEFORE,
            database=None,
            derandomize=True,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        plain(given(pair=self.pairs)(trial))()


@lru_cache(maxsize=64)
def points_of(claim: AuditClaim) -> tuple[Point, ...]:
    """The (ε, δ) statements that the claim implies, cached as some take seconds to compute."""
    return implied_points(claim)


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
        self.given = {name: value for name, value in named.items() if name != "self"}
        self.level, samples = around.limits(subject.level, subject.samples)

        def mechanism(data: Any, rng: Any) -> Any:  # noqa: ANN401
            return bound(data=data, rng=rng)

        from dpverify.testing.tracing import TracedPairs  # noqa: PLC0415  # not needed to decorate

        self.traced = TracedPairs(mechanism, subject.claim, self.seed)
        self.search = ExampleSearch(
            Calls(mechanism),
            subject.claim,
            points_of(subject.claim),
            level=self.level,
            samples=int(samples),
            examples=self.settings.max_examples,
            seed=self.seed,
            name=self.name,
            hints=self.traced,
        )
        self.certifying = Certifying.of(subject.schema, mechanism, subject.claim)
        self.failed: PairTrial | None = None
        self.misuse: DPVerifyError | None = None

    def run(self) -> None:
        __tracebackhide__ = True
        if self.certifying.decided:
            current().findings.append(self.certifying.finding(self.name))
            if self.certifying.counterexample is not None:
                relation = _relation_name(self.subject.relation)
                raise_at(self.subject.function, self.certifying.violation(self.name, relation))
            return
        self._look_at_suspects()
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
            simpler = self.search.simplest(self.failed)
            notes = notes if simpler is self.failed else []
            self.failed = simpler
        violation = None if self.failed is None else self._violation(self.failed)
        current().findings.append(self._record(violation))
        if violation is not None:
            for note in notes:
                violation.add_note(note)
            raise_at(self.subject.function, violation)

    def _look_at_suspects(self) -> None:
        """Try the pairs that an open certificate names first; hypothesis may find simpler ones."""
        for left, right in self.certifying.suspects:
            seen = self.search.see(left, right)
            self.failed = self.failed if seen.found is None else seen

    def _hypothesis(self) -> list[str]:
        """Let hypothesis propose and shrink pairs; return its notes if one failed."""
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
        """Test one example, as hypothesis runs it."""
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
        if math.isfinite(seen.score):
            target(seen.score, label="privacy loss above the claim")

    def _violation(self, trial: PairTrial) -> PrivacyViolation | None:
        """The exception to raise; None, with a warning, if fresh draws do not confirm it."""
        found = self.search.witness(trial)
        if found is None:
            warn_unconfirmed(self.name)
            return None
        witness, lower = found
        pairs = len(self.search.tried)
        tried = f"{pairs:,} {'pair' if pairs == 1 else 'pairs'}, {self.search.used:,} draws a side"
        hints = [] if trial.hint is None else [f"line:   {line}" for line in trial.hint.lines]
        if witness is not None and isinstance(trial.found, Hint):
            exact = trial.found.epsilon_lower
            hints.insert(0, f"seen:   ε ≥ {exact:.6g}, exactly, by the noise of one call a side")
        if witness is not None:
            mechanism = f"{self.subject.function.__name__}.mechanism"
            mechanism = with_parameters(mechanism, self.given)
            hints.insert(0, replay_line(mechanism, self.subject.claim, witness))
        if self._note:
            hints.append(f"note:   {self._note}")
        if self.planted:
            hints.append(f"repeat: @hypothesis.seed({self.seed}) above the test")
        message = described(
            self.name,
            self.subject.claim,
            (trial.candidate.left, trial.candidate.right),
            witness,
            epsilon_lower=lower,
            level=self.level,
            relation=_relation_name(self.subject.relation),
            effort=tried,
            hints=hints,
        )
        return PrivacyViolation(message, witness=witness, epsilon_lower=lower)

    @property
    def _note(self) -> str:
        """Problems of traces, which are not the mechanism's fault."""
        if not self.traced.defects:
            return ""
        return f"a trace failed and draws judged alone ({self.traced.defects[0]})"

    def _record(self, violation: PrivacyViolation | None) -> PrivacyFinding:
        verdict = self.search.verdict
        lower, delta = (0.0, 0.0) if verdict is None else (verdict.epsilon_lower, verdict.delta)
        if violation is not None:
            lower = violation.epsilon_lower
            delta = delta if violation.witness is None else violation.witness.delta
        return PrivacyFinding(
            name=self.name,
            claim=str(self.subject.claim),
            refuted=violation is not None,
            epsilon_lower=lower,
            delta=delta,
            level=self.level,
            samples=self.search.used,
            pairs=len(self.search.tried),
            rung=self._rung(violation),
            said=self.certifying.said,
            note=self._note,
        )

    def _rung(self, violation: PrivacyViolation | None) -> str:
        """For `by="decide"`: which stage gave the verdict after the certificate stayed open."""
        if self.subject.schema is None:
            return ""
        return "trace" if violation is not None and violation.witness is None else "audit"


def _settings_of(test: Test) -> settings:
    """Hypothesis settings of the test or profile, without a deadline per example."""
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


class Snapshot(ExampleDatabase):
    """An example database whose reads are frozen during a run, while writes go through."""

    def __init__(self, inner: ExampleDatabase) -> None:
        super().__init__()
        self._inner = inner
        self._held: dict[bytes, tuple[bytes, ...]] = {}

    def fetch(self, key: bytes) -> Iterable[bytes]:
        if key not in self._held:
            self._held[key] = tuple(self._inner.fetch(key))
        return self._held[key]

    def save(self, key: bytes, value: bytes) -> None:
        self._inner.save(key, value)

    def delete(self, key: bytes, value: bytes) -> None:
        self._inner.delete(key, value)

    def move(self, src: bytes, dest: bytes, value: bytes) -> None:
        self._inner.move(src, dest, value)
