"""`decide`: certify, else trace, else audit, each within its share of the time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpverify.auditing.adapters import adapted
from dpverify.auditing.auditor import audit
from dpverify.auditing.sampling.drawing import is_vectorized
from dpverify.auditing.sampling.processes import OutOfTime, time_limit_if_possible
from dpverify.auditing.search.judging import doubted, is_confirmed
from dpverify.auditing.search.over_schema import audit_over, minimized
from dpverify.auditing.search.trials import derived
from dpverify.auditing.verdict import Refuted, Verdict
from dpverify.certifying.certificate import INTERRUPTED, Certificate, brief
from dpverify.certifying.certify import certify
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.watching import endless_at, memory_limit, watched
from dpverify.claims import AuditClaim, Claimable, ProfileClaim, read_claim
from dpverify.deciding.decision import (
    Decided,
    Decision,
    Proof,
    Rung,
    RungName,
    audit_sentence,
    broken_by,
    certificate_sentence,
    trace_sentence,
    worst_line,
)
from dpverify.errors import InvalidParameter, check_count, check_level, check_positive, check_seed
from dpverify.fingerprint import fingerprint
from dpverify.guarantees import Guarantee
from dpverify.schema import Schema
from dpverify.schema.candidates import check_schema
from dpverify.tracing.noise.generator import NotTraceable
from dpverify.tracing.recording.runs import callable_of
from dpverify.tracing.search import is_straight, trace_over
from dpverify.tracing.traced import Traced
from dpverify.waiting import telling

_CERTIFYING, _TRACING = 0.5, 0.25  # of the seconds; the rest is for the audit
_MOST_CERTIFYING = 60.0
_GRACE = 5.0  # seconds after which work that did not stop by itself is stopped
_MOST_MEMORY = 4 << 30
_MINIMIZING = 0.3  # of what is left of the time after a refutation
_SUSPECTED = 0.5  # of the level, for the neighbors that were suspected before the audit
_MOST_SUSPECTS = 4
_STUCK = "it calls into C, and does not come back"
_SLOW = "it did not end within its share of the time"


@telling("deciding")
def decide(  # noqa: PLR0913  # what is decided, and how hard it is tried
    mechanism: Any,  # noqa: ANN401  # as `audit` takes it
    schema: Schema | None = None,
    claim: Claimable | None = None,
    *,
    level: float = 0.01,
    seed: int = 0,
    samples: int | None = None,
    seconds: float = 120.0,
    progress: Callable[[RungName], None] | None = None,
) -> Decision:
    """Decide whether `mechanism` keeps `claim` on all neighbors of a schema, as far as one can.

    Parameters
    ----------
    mechanism
        A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`.
    schema
        What data the mechanism takes, and when two datasets are neighbors; its own if None.
    claim
        What `audit` takes; the mechanism's own claim if None.
    level, seed, samples
        Of the audit, if it comes to one: the level is that of the whole decision.
    seconds
        For all rungs together: half of them at most for the certificate, a quarter for the trace.
        Same inputs give the same decision, unless a rung ran out of time, which it says.
    progress
        Called with the name of each rung before it is climbed.

    >>> from dpverify.guarantees import PureDP
    >>> from dpverify.schema import Answers
    >>> def release(answer, rng): return answer + rng.laplace(scale=0.5)
    >>> found = decide(release, Answers(sensitivity=1.0), PureDP(epsilon=1.0))
    >>> found.verdict, found.rung
    ('refuted', 'certify')
    """
    target = adapted(mechanism)
    if not callable(target) and not is_vectorized(target):
        raise InvalidParameter(
            f"mechanism={mechanism!r} must be callable as mechanism(data, rng), or have sample"
        )
    known: Any = getattr(target, "schema", None) if schema is None else schema
    check_schema(known)
    check_level(level, least=1e-10)
    check_seed(seed)
    check_positive("seconds", seconds)
    if samples is not None:
        check_count("samples", samples)
    stated = getattr(target, "claim", None) if claim is None else claim
    return _Ladder(
        mechanism=target,
        schema=known,
        claim=read_claim(stated, known.relation),
        level=float(level),
        seed=int(seed),
        samples=samples,
        seconds=float(seconds),
        progress=progress,
    ).climbed()


@dataclass(kw_only=True)
class _Ladder:
    mechanism: Any
    schema: Schema
    claim: AuditClaim
    level: float
    seed: int
    samples: int | None
    seconds: float
    progress: Callable[[RungName], None] | None
    rungs: list[Rung] = field(default_factory=list)
    suspects: list[tuple[Any, Any]] = field(default_factory=list)

    def climbed(self) -> Decision:
        self.start = time.monotonic()
        self.name = name_of(self.mechanism)
        steps: dict[RungName, Callable[[], tuple[Decided, str] | None]] = {
            "certify": self._certify,
            "trace": self._trace,
            "audit": self._audit,
        }
        for name, step in steps.items():
            if self.progress is not None:
                self.progress(name)
            try:
                spoken = step()
            except KeyboardInterrupt:
                if name not in {rung.name for rung in self.rungs}:
                    self._say(name, INTERRUPTED)
                told = f"{INTERRUPTED} in the rung {name}, before anything was shown of {self.name}"
                return self._decision(("not refuted", told), name)
            if spoken is not None:
                return self._decision(spoken)
        raise AssertionError("an audit always speaks")

    def _decision(self, spoken: tuple[Decided, str], stopped: RungName | None = None) -> Decision:
        return Decision(
            verdict=spoken[0],
            claim=self.claim,
            mechanism=self.name,
            sentence=f"{spoken[0]}: {spoken[1]}",
            rungs=tuple(self.rungs),
            level=self.level,
            seed=self.seed,
            seconds=time.monotonic() - self.start,
            stopped=stopped,
        )

    def _say(self, name: RungName, said: str, evidence: Proof | None = None) -> None:
        self.rungs.append(Rung(name=name, said=said, evidence=evidence))

    @property
    def _left(self) -> float:
        return max(self.start + self.seconds - time.monotonic(), 0.01)

    # The rungs.

    def _certify(self) -> tuple[Decided, str] | None:
        if is_vectorized(self.mechanism):
            self._say("certify", "open: only functions mechanism(data, rng) are read")
            return None
        if isinstance(self.claim, ProfileClaim):
            self._say("certify", "open: only guarantees are proved, not whole profiles")
            return None
        found = certified(
            self.mechanism,
            self.schema,
            self.claim,
            min(_MOST_CERTIFYING, _CERTIFYING * self.seconds),
        )
        if isinstance(found, str):
            self._say("certify", f"open: {found}")
            return None
        self._say("certify", certificate_sentence(found), found)
        if found.interrupted:
            raise KeyboardInterrupt
        self.suspects += found.suspects
        match found.verdict:
            case "proved":
                return "proved", (
                    f"{self.name} keeps {self.claim} between all neighbors ({found.scope}), "
                    "computing with real numbers and drawing from rng alone"
                )
            case "refuted":
                return "refuted", f"{self.name} does not keep {self.claim}: {broken_by(found)}"
            case "open":
                self._check_ends()
                return None

    def _check_ends(self) -> None:
        """A call into C that does not come back could not be stopped later on."""
        limit = max(4.0, self.seconds / 8)
        where = endless_at(self._run_once, limit, _MOST_MEMORY)
        if where is not None:
            raise InvalidParameter(f"mechanism={self.name} must end: {where}: {_STUCK}")

    def _run_once(self) -> None:
        candidate, rng = next(self.schema.patterns()), np.random.default_rng(0)
        for data in (candidate.left, candidate.right):
            self.mechanism(data, rng)

    def _trace(self) -> tuple[Decided, str] | None:
        end = time.monotonic() + min(_TRACING * self.seconds, self._left)
        timed = _until(end, self.mechanism)
        found = trace_over(timed, self.schema, claim=self.claim, seed=self.seed, confirm=False)
        if time.monotonic() > end:
            self._say("trace", f"not understood: {_SLOW}")
            return None
        self._say("trace", trace_sentence(found), found)
        if found.interrupted:
            raise KeyboardInterrupt
        if found.exact:
            return "refuted", (
                f"{self.name} does not keep {self.claim}: the noise that was seen on the neighbors "
                f"{brief(found.left)} and {brief(found.right)} does not pay for how they differ, "
                f"and the output tells, exactly, in real arithmetic: {worst_line(found)}"
            )
        if found.verdict != "not understood":
            self.suspects.append((found.left, found.right))
        if found.verdict == "shown" and _is_whole(timed, found, self.seed):
            return "not refuted", (
                f"on all traced runs of the worst neighbors that were found, {brief(found.left)} "
                f"and {brief(found.right)}, data passed through noise that costs no more than "
                f"{self.claim}; for other runs and neighbors this is no proof"
            )
        return None

    def _audit(self) -> tuple[Decided, str]:
        found = self._audited()
        self._say("audit", audit_sentence(found), found)
        if isinstance(found, Refuted):
            witness = found.witness
            return "refuted", (
                f"{self.name} does not keep {self.claim}: on the neighbors {brief(witness.left)} "
                f"and {brief(witness.right)} the event {witness.event} is too likely on one side; "
                f"a true claim would be refuted with probability at most {self.level:g}"
            )
        partial = "" if found.stopped is None else f" (cut short: {found.stopped})"
        return "not refuted", (
            f"{found.samples:,} draws a side, on the neighbors that looked worst{partial}, do not "
            f"contradict {self.claim}; they show "
            f"ε ≥ {found.epsilon_lower:.3f} at δ = {found.delta:g}; this is no proof of it"
        )

    def _audited(self) -> Verdict:
        try:
            with watched(self._left + _GRACE, _MOST_MEMORY), memory_limit(_MOST_MEMORY):
                return self._judged()
        except NotUnderstood:
            raise InvalidParameter(
                f"mechanism={self.name} must end: no method finished in {self.seconds:g} s"
            ) from None

    def _judged(self) -> Verdict:
        """The audits, one after the other, each with its share of the level."""
        suspects = list({fingerprint(*pair): pair for pair in self.suspects}.values())
        suspects = suspects[-_MOST_SUSPECTS:]  # those of the trace come last
        found: list[Verdict] = []
        for i, (left, right) in enumerate(suspects):
            share = self.level * _SUSPECTED / len(suspects)
            where = {"left": left, "right": right, "level": share, "seed": derived(self.seed, 3, i)}
            limit = self._left / (len(suspects) - i + 2)
            found.append(audit(self.mechanism, **where, **self._options(limit)))
            if found[-1].refuted or _interrupted(found[-1]):
                return self._together(found, len(suspects))
        share = self.level * (1.0 - _SUSPECTED) if suspects else self.level
        seed, options = derived(self.seed, 4), self._options(self._left)
        found.append(audit_over(self.mechanism, self.schema, level=share, seed=seed, **options))
        return self._together(found, len(suspects))

    def _options(self, seconds: float) -> dict[str, Any]:
        return {"claim": self.claim, "samples": self.samples, "seconds": seconds}

    def _together(self, found: list[Verdict], suspects: int) -> Verdict:
        """The audit that refutes, or shows most; each of its words holds at the whole level."""
        last = found[-1]
        best = last if last.refuted else max(found, key=lambda verdict: verdict.epsilon_lower)
        if isinstance(best, Refuted):
            confirmed = is_confirmed(best, self.mechanism)
            best = self._minimized(best) if confirmed else doubted(best)
        tried = tuple(dict.fromkeys(text for verdict in found for text in verdict.tried))
        shares = (
            f"the level was shared: half for {_number(suspects, 'pair')} of neighbors that were "
            "suspected before, half for the search"
        )
        return replace(
            best,
            level=self.level,
            samples=sum(verdict.samples for verdict in found),
            seconds=math.fsum(verdict.seconds for verdict in found),
            tried=tried,
            stopped=last.stopped if best.stopped is None else best.stopped,
            notes=(*best.notes, *((shares,) if suspects else ())),
        )

    def _minimized(self, found: Refuted) -> Refuted:
        """The refutation on simpler neighbors, as far as there is time for it."""
        if found.stopped is not None:
            return found
        seed, limit = derived(self.seed, 5), _MINIMIZING * self._left
        try:
            return minimized(
                found, self.mechanism, self.schema, self.claim, seed=seed, seconds=limit
            )
        except InvalidParameter:  # neighbors that the schema cannot take apart
            return found


def certified(
    mechanism: Callable[..., Any], schema: Schema, claim: Guarantee, seconds: float
) -> Certificate | str:
    """The certificate; or why there is none, where a call could not be stopped from within."""
    try:
        with time_limit_if_possible(seconds + _GRACE):
            return certify(mechanism, schema, claim, seconds=seconds)
    except OutOfTime:
        return _SLOW
    except SystemExit as error:
        return f"it asks to exit with {error.code!r}"


def name_of(mechanism: object) -> str:
    """The mechanism's name, as its author knows it."""
    inner = getattr(mechanism, "func", mechanism)  # functools.partial
    return str(getattr(inner, "__name__", type(inner).__name__))


def _until(end: float, mechanism: Any) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    """The mechanism, whose calls cannot be traced any more after that time."""
    call = callable_of(mechanism)

    def timed(data: Any, rng: Any) -> Any:  # noqa: ANN401
        left = end - time.monotonic()
        if left > 0.0:
            try:
                with (
                    watched(left, _MOST_MEMORY),
                    memory_limit(_MOST_MEMORY),
                    time_limit_if_possible(left),
                ):
                    return call(data, rng)
            except (NotUnderstood, OutOfTime, MemoryError):
                pass
        raise NotTraceable(_SLOW)

    timed.__module__ = getattr(mechanism, "__module__", type(mechanism).__module__)
    timed.__wrapped__ = getattr(mechanism, "func", mechanism)  # type: ignore[attr-defined]
    return timed


def _is_whole(mechanism: Callable[[Any, Any], Any], found: Traced, seed: int) -> bool:
    """Whether what was seen on one pair is all that can happen on it."""
    listed = {release.distribution for release in found.releases} == {"all outcomes listed"}
    return listed or is_straight(mechanism, found.left, found.right, seed)


def _interrupted(verdict: Verdict) -> bool:
    return verdict.stopped is not None and verdict.stopped.why == "interrupt"


def _number(count: int, what: str) -> str:
    return f"one {what}" if count == 1 else f"{count} {what}s"
