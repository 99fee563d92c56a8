"""`certify`: prove a claim for all neighbors that a schema allows, or find a counterexample."""

import functools
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from dpverify.certifying.any_length.automaton import automaton
from dpverify.certifying.certificate import (
    ASSUMES,
    INTERRUPTED,
    Certificate,
    Disproof,
)
from dpverify.certifying.checking import Invalid, verify
from dpverify.certifying.extraction import Extraction
from dpverify.certifying.language.checked import Program, check_callable
from dpverify.certifying.rehearsal import rehearse, rehearse_steps
from dpverify.certifying.releases import SumsAttempt
from dpverify.certifying.searching.alignment import align
from dpverify.certifying.searching.finite import as_one, distribution, excesses
from dpverify.certifying.searching.induction import induct
from dpverify.certifying.searching.masses import Masses
from dpverify.certifying.searching.recipes import probabilities
from dpverify.certifying.searching.refuting import SLACK, Found, readable, search
from dpverify.certifying.symbolic.exact import ZERO, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.plain import plain_claim, plain_laws, plain_schema, plain_tree
from dpverify.certifying.symbolic.reading import unit_of
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Limits
from dpverify.certifying.symbolic.schemas import (
    Rows,
    concrete,
    endless,
    finite_datasets,
    grid_rows,
    is_endless,
    lengths,
    narrowed,
    neighboring,
    pattern_rows,
    plain_rows,
    rational,
)
from dpverify.certifying.symbolic.watching import watched
from dpverify.claims import Claimable, ProfileClaim, read_claim
from dpverify.errors import InvalidParameter, NotSupported, check_positive, shown
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.schema import Schema
from dpverify.schema.candidates import check_schema
from dpverify.waiting import telling

_MOST_DATASETS = 1024
_MOST_PATTERNS = 60
_MOST_GRID = 2000
_MOST_MEMORY = 4 << 30
_BEYOND = 10.0  # seconds for a proof of more than was asked
_SHARE = 0.8  # of the time for proofs; the rest is for a counterexample
_FIRST_PATTERNS, _FIRST_SECONDS = 12, 4.0
_SAMPLE_EPSILONS = (1.0, 0.1, 3.0)


@telling("certifying")
def certify(
    mechanism: Callable[..., Any],
    schema: Schema,
    claim: Claimable | type[PureDP],
    *,
    seconds: float = 60.0,
) -> Certificate:
    """Prove that `mechanism(data, rng)` keeps its claim on all neighbors, or refute it.

    The function is not run: its source is read, in a closed part of Python, and computed on symbols
    for data and noise, so its arithmetic with these must be linear. What is not in the language, or
    not understood, makes the certificate "open", with the line. The claim is a guarantee, or a
    mechanism that states one; with the class `PureDP` itself, for every ε: the mechanism is then
    called as `mechanism(data, rng, epsilon)`.

    >>> import dpverify as dpv
    >>> from dpverify import schema
    >>> def noisy_max(scores, rng):
    ...     return max(range(3), key=[s + rng.laplace(scale=2.0) for s in scores].__getitem__)
    >>> answers = schema.Answers(dimension=3, sensitivity=1.0)
    >>> certify(noisy_max, answers, PureDP(epsilon=1.0)).verdict
    'proved'
    """
    check_callable(mechanism)
    check_schema(schema)
    check_positive("seconds", seconds)
    attempt = _attempt(mechanism, schema, claim, seconds)
    try:
        program = Program(mechanism)
    except NotUnderstood as reason:
        return _refused(reason, attempt.claim)
    except RecursionError:
        return _refused(NotUnderstood("it is nested too deeply to be read"), attempt.claim)
    return replace(attempt.certificate(), mechanism=program.main.name, source=program.digest)


def _refused(reason: NotUnderstood, claim: Guarantee | None) -> Certificate:
    """The certificate of a mechanism that is not in the language, so that nothing was computed."""
    return Certificate(
        verdict="open",
        scope="",
        reason=str(reason),
        claim=claim,
        method="none",
        where=reason.where,
        tried=(str(reason),),
        seconds=0.0,
        evidence={"method": "none"},
    )


def _attempt(
    mechanism: Callable[..., Any],
    schema: Schema,
    claim: Claimable | type[PureDP],
    seconds: float,
) -> "_Attempt | SumsAttempt":
    if claim is PureDP:
        return _Attempt(
            mechanism,
            schema,
            None,
            EpsilonUnit(every=True),
            ExactNumber.unit(),
            Fraction(0),
            seconds,
        )
    stated: Any = getattr(claim, "claim", claim)
    guarantee = read_claim(stated, schema.relation)
    if isinstance(guarantee, ProfileClaim):
        raise InvalidParameter(
            f"claim={shown(claim)} must be a guarantee, or the class PureDP for every epsilon: "
            "a profile is proved at no more than one point"
        )
    if not isinstance(guarantee, (PureDP, ApproxDP)):
        return SumsAttempt(mechanism, schema, guarantee, seconds)
    if math.isinf(guarantee.epsilon):
        raise InvalidParameter("epsilon=inf must be finite: there is nothing to prove")
    unit, epsilon = unit_of(guarantee.epsilon)
    delta = rational(getattr(guarantee, "delta", 0.0))
    return _Attempt(mechanism, schema, guarantee, unit, epsilon, delta, seconds)


@dataclass
class _Attempt:
    """One attempt to certify a claim, by one method after the other."""

    mechanism: Callable[..., Any]
    schema: Schema
    claim: PureDP | ApproxDP | None
    unit: EpsilonUnit
    epsilon: ExactNumber
    delta: Fraction
    seconds: float
    tried: list[str] = field(default_factory=list)
    suspects: list[tuple[Any, Any]] = field(default_factory=list)
    where: str | None = None

    def certificate(self) -> Certificate:
        self.start = time.monotonic()
        try:
            return self._tried()
        except KeyboardInterrupt:  # what was found so far is the answer
            self.tried.append(INTERRUPTED)
            return self._open()

    def _tried(self) -> Certificate:
        self.limits = Limits(seconds=min(20.0, self.seconds / 2))
        datasets = finite_datasets(self.schema, _MOST_DATASETS)
        for method in self._methods(datasets):
            left = _SHARE * self.seconds - (time.monotonic() - self.start)
            try:
                with watched(max(left, 1.0), _MOST_MEMORY):
                    found = method()
            except NotUnderstood as reason:
                self._note(reason)
                continue
            except (NotSupported, Invalid) as reason:
                self.tried.append(str(reason))
                continue
            if found is not None:
                return found
        try:
            with watched(max(self.seconds - (time.monotonic() - self.start), 2.0), _MOST_MEMORY):
                return self._refuted(datasets) or self._open()
        except NotUnderstood as reason:
            self._note(reason)
            return self._open()
        except Invalid as reason:
            self.tried.append(str(reason))
            return self._open()

    def _note(self, reason: NotUnderstood) -> None:
        """Keep the latest reason (with its line), which an open certificate reports."""
        self.where = reason.where or self.where
        self.tried.append(str(reason))

    def _methods(self, datasets: list[Rows] | None) -> list[Callable[[], Certificate | None]]:
        """The methods to try, in order."""
        methods: list[Callable[[], Certificate | None]] = [self._soon_refuted, self._aligned]
        if is_endless(self.schema):
            methods = [self._inducted, self._soon_refuted]
        elif endless(self.schema) is not None:
            methods.insert(0, self._inducted_beyond)
        if datasets is not None:
            methods.insert(len(methods) - 2, lambda: self._exact(datasets))
            methods.append(lambda: self._aligned_pairs(datasets))
        return [*methods, self._sums]

    def _extraction(self) -> Extraction:
        return Extraction(self.mechanism, self.schema, self.unit, self.epsilon, self.limits)

    def _frame(
        self, method: str, extraction: Extraction, schema: Schema | None = None
    ) -> dict[str, Any]:
        return {
            "method": method,
            "schema": plain_schema(schema or self.schema),
            "claim": plain_claim(self.unit, self.epsilon, self.delta),
            "laws": plain_laws(extraction.shared.laws),
            "readings": {repr(k): repr(v) for k, v in extraction.shared.readings.items()},
        }

    def _aligned(self) -> Certificate | None:
        extraction = self._extraction()
        trees = dict(extraction.on_symbols(n) for n in lengths(self.schema))
        plain = {str(n): plain_tree(tree) for n, tree in trees.items()}
        rehearse(extraction)
        evidence = self._frame("alignment", extraction) | {"trees": plain}
        evidence["proof"] = align(evidence)
        paths = sum(json.dumps(tree).count('"output"') for tree in plain.values())
        return self._proved(
            evidence,
            "all data that the schema allows",
            f"translations of the noise on {paths} paths give each neighbor the same output",
        )

    def _inducted_beyond(self) -> Certificate | None:
        """Try to prove the claim for any length, more than was asked; None if that fails."""
        wider = endless(self.schema)
        try:
            with watched(min(_BEYOND, self.seconds / 6), _MOST_MEMORY):
                return self._inducted(wider)
        except (NotUnderstood, NotSupported):
            return None

    def _inducted(self, schema: Schema | None = None) -> Certificate | None:
        """Prove the claim for data of any length, by induction over the records."""
        schema = schema or self.schema
        extraction = Extraction(self.mechanism, schema, self.unit, self.epsilon, self.limits)
        nodes, steps = automaton(extraction)
        rehearse_steps(steps)
        evidence = self._frame("induction", extraction, schema) | {"nodes": nodes}
        evidence["untyped"] = steps.untyped
        evidence["proof"] = induct(evidence)
        return self._proved(
            evidence,
            "data of any length that the schema allows",
            f"translations of the noise, by induction over the records, in {len(nodes)} states",
        )

    def _exact(self, datasets: list[Rows]) -> Certificate | None:
        extraction = self._extraction()
        trees = [extraction.on(rows) for rows in datasets]
        masses = Masses(extraction.shared.laws, self.unit)
        laws = [distribution(tree, masses, extraction.shared.whole) for tree in trees]
        by_rows = dict(zip(datasets, laws, strict=True))
        epsilon, delta = self._multiple, ExactNumber.of(self.delta)
        count = 0
        for left, right in neighboring(self.schema, datasets):
            count += 1
            for one, other in ((left, right), (right, left)):
                if any(excesses(by_rows[one], by_rows[other], epsilon, delta, self.unit)):
                    self._suspect(one, other)
                    p, q = as_one(by_rows[one]), as_one(by_rows[other])
                    if not any(excesses(p, q, epsilon, delta, self.unit)):
                        raise NotUnderstood(
                            "outputs that differ in type or form alone tell neighbors apart"
                        )
                    first = next(excesses(p, q, epsilon, delta, self.unit, SLACK), None)
                    if first is None:
                        raise NotUnderstood("the claim is exceeded by less than floats can tell")
                    pairs = neighboring(self.schema, datasets)
                    found = search(extraction, pairs, epsilon, delta, _FIRST_SECONDS)
                    found = found or Found(one, other, first.outputs, first.left, first.right)
                    return self._disproved(extraction, found)
        rehearse(extraction, datasets)
        evidence = self._frame("exact", extraction) | {
            "datasets": [plain_rows(rows) for rows in datasets],
            "trees": [plain_tree(tree) for tree in trees],
        }
        evidence["masses"] = probabilities(evidence, evidence["trees"])
        return self._proved(
            evidence,
            f"all {len(datasets)} datasets of the schema",
            f"exact probabilities of all outputs on {count} pairs of neighbors",
        )

    def _aligned_pairs(self, datasets: list[Rows]) -> Certificate | None:
        extraction = self._extraction()
        trees = {str(i): plain_tree(extraction.on(rows)) for i, rows in enumerate(datasets)}
        rehearse(extraction, datasets)
        evidence = self._frame("alignment", extraction) | {
            "trees": trees,
            "datasets": [plain_rows(rows) for rows in datasets],
        }
        evidence["proof"] = align(evidence)
        return self._proved(
            evidence,
            f"all {len(datasets)} datasets of the schema",
            "translations of the noise give each neighbor the same output",
        )

    def _sums(self) -> Certificate | None:
        """Bound sums of noisy answers; for Gaussian noise only, as alignments cover the rest."""
        if not any("Gaussian" in text for text in self.tried):
            return None
        if self.claim is None:
            return None
        found = SumsAttempt(self.mechanism, self.schema, self.claim, self.seconds).certificate()
        if found.verdict == "open":
            raise NotUnderstood(found.reason, found.where)
        return found

    @property
    def _multiple(self) -> Fraction:
        """ε as a multiple of the unit u."""
        return self.epsilon.multiple() or Fraction(0)

    def _proved(self, evidence: dict[str, Any], data: str, reason: str) -> Certificate:
        """The certificate, if the checker accepts it."""
        evidence = json.loads(json.dumps(evidence))
        try:
            agreed = verify(evidence) == "proved"
        except Invalid as error:
            raise NotUnderstood(f"the checker does not accept the proof: {error}") from None
        if not agreed:  # pragma: no cover
            raise NotUnderstood("the checker does not accept the proof")
        epsilon = "every epsilon" if self.claim is None else f"epsilon = {self.claim.epsilon:g}"
        return Certificate(
            verdict="proved",
            scope=f"{data}, {epsilon}",
            reason=reason,
            claim=self.claim,
            method=evidence["method"],
            assumes=ASSUMES,
            tried=tuple(self.tried),
            seconds=time.monotonic() - self.start,
            evidence=evidence,
        )

    def _soon_refuted(self) -> Certificate | None:
        """Look for a quick counterexample, as most broken mechanisms fail on the first pairs."""
        return None if self.unit.every else self._refuted(None, _FIRST_PATTERNS, _FIRST_SECONDS)

    def _refuted(
        self,
        datasets: list[Rows] | None,
        most: int = _MOST_PATTERNS,
        seconds: float = math.inf,
    ) -> Certificate | None:
        """Search for counterexamples among neighbors on which mechanisms often fail."""
        if self.unit.every:
            for value in _SAMPLE_EPSILONS:
                unit, epsilon = unit_of(value)
                fixed = functools.partial(self.mechanism, epsilon=value)
                inner = _Attempt(
                    fixed, self.schema, PureDP(epsilon=value), unit,
                    epsilon, Fraction(0), self.seconds / 3,
                )  # fmt: skip
                inner.start, inner.limits = self.start, self.limits
                disproof = inner._refuted(datasets)  # another attempt
                if disproof is not None:
                    return disproof
            return None
        try:
            extraction = self._extraction()
        except NotUnderstood as reason:
            self.tried.append(str(reason))
            return None
        left = min(seconds, self.seconds - (time.monotonic() - self.start))
        found = search(
            extraction,
            self._pairs(datasets, most),
            self._multiple,
            ExactNumber.of(self.delta),
            max(left, 1.0),
            grid_rows(self.schema, _MOST_GRID) if most == _FIRST_PATTERNS else (),
        )
        return None if found is None else self._disproved(extraction, found)

    def _pairs(self, datasets: list[Rows] | None, most: int) -> Iterator[tuple[Rows, Rows]]:
        if datasets is not None:
            yield from neighboring(self.schema, datasets)
        else:
            yield from islice(pattern_rows(self.schema), most)
            if most == _MOST_PATTERNS:
                yield from grid_rows(self.schema, _MOST_GRID)

    def _suspect(self, left: Rows, right: Rows) -> None:
        """Record neighbors to look at again if no counterexample is found."""
        self.suspects.append((concrete(self.schema, left), concrete(self.schema, right)))

    def _disproved(self, extraction: Extraction, found: Found) -> Certificate:
        self._suspect(found.left, found.right)
        sides = [extraction.on(found.left), extraction.on(found.right)]
        rehearse(extraction, [found.left, found.right])
        schema = narrowed(self.schema, found.left, found.right)
        evidence = self._frame("counterexample", extraction, schema) | {
            "datasets": [plain_rows(rows) for rows in (found.left, found.right)],
            "trees": [plain_tree(tree) for tree in sides],
            "event": [_plain_event(pattern) for pattern in found.event],
        }
        evidence["masses"] = probabilities(evidence, evidence["trees"])
        evidence = json.loads(json.dumps(evidence))
        try:
            agreed = verify(evidence) == "refuted"
        except Invalid as error:
            raise NotUnderstood(
                f"the checker does not accept the counterexample: {error}"
            ) from None
        if not agreed:  # pragma: no cover
            raise NotUnderstood("the checker does not accept the counterexample")
        event = [readable(pattern) for pattern in found.event]
        masses = found.mass_left, found.mass_right
        at = _SAMPLE_EPSILONS[0] if self.claim is None else self.claim.epsilon
        disproof = Disproof(
            left=concrete(self.schema, found.left),
            right=concrete(self.schema, found.right),
            event=event[0] if len(event) == 1 else event,
            probability_left=self._float(masses[0]),
            probability_right=self._float(masses[1]),
            exactly=(self.unit.written(masses[0]), self.unit.written(masses[1])),
            epsilon=at,
        )
        return Certificate(
            verdict="refuted",
            scope=f"epsilon = {at:g}",
            reason="an event is more likely than the claim allows",
            claim=self.claim,
            method="counterexample",
            counterexample=disproof,
            assumes=ASSUMES,
            tried=tuple(self.tried),
            seconds=time.monotonic() - self.start,
            evidence=evidence,
        )

    def _float(self, mass: ExactNumber) -> float:
        if mass == ZERO:
            return 0.0
        unit = self.unit if not self.unit.every else EpsilonUnit()
        return float(unit.enclosure(mass).mid())

    def _open(self) -> Certificate:
        reason = self.tried[-1] if self.tried else "nothing was decided in the time allowed"
        return Certificate(
            verdict="open",
            scope="",
            reason=reason,
            claim=self.claim,
            method="none",
            where=self.where,
            tried=tuple(self.tried),
            suspects=tuple(self.suspects),
            seconds=time.monotonic() - self.start,
            evidence={"method": "none"},
        )


def _plain_event(pattern: Any) -> Any:  # noqa: ANN401
    if isinstance(pattern, tuple):
        return [_plain_event(part) for part in pattern]
    return str(pattern) if isinstance(pattern, Fraction) else pattern
