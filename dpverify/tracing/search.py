"""Search for a schema's worst pair: increase the exact traced loss, then shrink."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from dpverify.claims import AuditClaim, Claimable, read_claim
from dpverify.errors import InvalidParameter, check_count, check_level, check_seed
from dpverify.schema import Candidate, Schema
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.noise.generator import NotTraceable
from dpverify.tracing.recording.events import is_settled
from dpverify.tracing.recording.runs import Twin
from dpverify.tracing.traced import Traced
from dpverify.tracing.tracer import Tracer, confirmed, trace_pair
from dpverify.waiting import telling

_SHARE = 0.5  # of the pairs are patterns and draws; the rest are variants of the worst so far
_SHRINKS = 40
_ONE = 60  # executions for one pair that is traced in full


@telling("tracing")
def trace_over(  # noqa: PLR0913  # as `trace`
    mechanism: Any,
    schema: Any,
    *,
    claim: Claimable | None = None,
    seed: int = 0,
    pairs: int = 60,
    executions: int = 100,
    confirm: bool = True,
    level: float = 0.01,
    samples: int | None = None,
) -> Traced:
    """Trace the pair with the largest loss found in a schema or a hypothesis strategy.

    The traced loss is exact and changes smoothly with the data, so it can be climbed: `pairs` pairs
    are traced with one transcript each, half of them known patterns and random pairs, half of them
    variants of the worst so far. The worst one is traced in full, within `executions`; if it breaks
    the claim, the pair is made as simple as it can be while it still does.

    >>> from dpverify.schema import Number, Records
    >>> from dpverify.guarantees import PureDP
    >>> from dpverify.neighbors import Relation
    >>> ages = Records(record=Number(low=0, high=9), length=3, relation=Relation.REPLACE_ONE)
    >>> def release(data, rng): return data.sum() + rng.laplace(scale=5.0)
    >>> found = trace_over(release, ages, claim=PureDP(epsilon=1.0))
    >>> found.verdict, found.left, found.right
    ('refuted', array([0., 0., 0.]), array([0., 0., 9.]))
    """
    check_seed(seed)
    check_count("pairs", pairs)
    check_count("executions", executions)
    guarantee = read_claim(getattr(mechanism, "claim", None) if claim is None else claim)
    check_level(level)
    if samples is not None:
        check_count("samples", samples)
    if _is_strategy(schema):
        found = _by_hypothesis(mechanism, schema, guarantee, int(seed), pairs, executions)
    else:
        found = _climb(mechanism, schema, guarantee, int(seed), pairs, executions)
    if confirm and not found.interrupted:
        found = confirmed(found, mechanism, level=level, samples=samples, seed=seed)
    return found


def _climb(  # noqa: PLR0913, PLR0917
    mechanism: Any, schema: Schema, claim: AuditClaim, seed: int, pairs: int, executions: int
) -> Traced:
    seen: dict[Candidate, float] = {}
    found: Traced | None = None
    tracer: Tracer | None = None
    more = 0
    try:
        _search(mechanism, schema, seed, pairs, seen)
        worst = _worst(seen)
        tracer = _tracer(mechanism, worst, claim, seed, executions)
        found = tracer.run()
        if found.verdict != "shown":
            found, more = _shrunk(mechanism, schema, worst, found, seed)
    except KeyboardInterrupt:
        if not seen:
            raise
        tracer = tracer or _tracer(mechanism, _worst(seen), claim, seed, executions)
        found = replace(found or tracer.so_far(), interrupted=True)
    used = 2 * len(seen) + found.executions + more
    note = f"the worst of {len(seen)} pairs, by traced loss"
    return replace(found, executions=used, notes=(*found.notes, note))


def _worst(seen: dict[Candidate, float]) -> Candidate:
    return max(seen, key=lambda candidate: seen[candidate])


def _search(
    mechanism: Any, schema: Schema, seed: int, pairs: int, seen: dict[Candidate, float]
) -> None:
    """Trace each pair once: patterns and random pairs, then variants of the worst so far."""
    rng = np.random.default_rng([seed, 13])
    for candidate in _first(schema, rng, max(1, round(pairs * _SHARE))):
        seen[candidate] = badness(mechanism, candidate, seed)
    while len(seen) < pairs:
        best = sorted(seen, key=lambda c: -seen[c])[:4]
        tried = len(seen)
        for parent in best:
            child = schema.mutate(parent, rng)
            if child not in seen:
                seen[child] = badness(mechanism, child, seed)
        if len(seen) == tried:
            break  # nothing new comes of it


def _first(schema: Schema, rng: np.random.Generator, number: int) -> Iterator[Candidate]:
    known = list(islice(schema.patterns(), number - number // 4))
    drawn = [schema.draw_pair(rng) for _ in range(number - len(known))]
    yield from dict.fromkeys([*known, *drawn])


def badness(mechanism: Any, candidate: Candidate, seed: int) -> float:
    """The traced loss of one transcript; ∞ if something leaks or is not understood."""
    try:
        return loss_of(trace_pair(mechanism, candidate.left, candidate.right, seed))
    except NotTraceable:
        return math.inf


def loss_of(twin: Twin) -> float:
    """The sum of the largest losses of a twin's releases; for Gaussian noise, its μ."""
    if twin.leaks or twin.right.journal.puzzles:
        return math.inf
    losses = [r.loss for r in spending(twin.differences).releases if not math.isnan(r.loss)]
    return math.inf if any(map(math.isinf, losses)) else math.fsum(losses)


def is_straight(mechanism: Any, left: Any, right: Any, seed: int = 0) -> bool:
    """Whether no code sees a noisy number, so that one run says much about the others."""
    twin = trace_pair(mechanism, left, right, seed)
    events = (*twin.left.journal.events, *twin.right.journal.events)
    return all(is_settled(event) for event in events)


def _tracer(
    mechanism: Any, candidate: Candidate, claim: AuditClaim, seed: int, executions: int
) -> Tracer:
    return Tracer(
        mechanism=mechanism,
        left=candidate.left,
        right=candidate.right,
        claim=claim,
        seed=seed,
        budget=executions,
    )


def _shrunk(
    mechanism: Any, schema: Schema, worst: Candidate, found: Traced, seed: int
) -> tuple[Traced, int]:
    """The simplest pair with the same verdict."""
    used, tries, better = 0, 0, True
    while better and tries < _SHRINKS:
        better = False
        for simpler in schema.simpler(worst):
            tries += 1
            if tries > _SHRINKS:
                break
            told = _tracer(mechanism, simpler, found.claim, seed, _ONE).run()
            used += told.executions
            if told.verdict == found.verdict:
                worst, found, better = simpler, told, True
                break
    return found, used


def _is_strategy(schema: Any) -> bool:
    return any(kind.__name__ == "SearchStrategy" for kind in type(schema).__mro__)


def _sides(pair: Any) -> tuple[Any, Any]:
    """Both datasets of a strategy's example: a tuple, or a pair from `testing.neighbors`."""
    if hasattr(pair, "left") and hasattr(pair, "right"):
        return pair.left, pair.right
    try:
        left, right = pair
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"schema={pair!r} must be a strategy of pairs (left, right)"
        ) from None
    return left, right


def _by_hypothesis(  # noqa: PLR0913, PLR0917
    mechanism: Any, strategy: Any, claim: AuditClaim, seed: int, pairs: int, executions: int
) -> Traced:
    """Let hypothesis draw pairs, maximize the traced loss, and shrink what breaks the claim."""
    import hypothesis  # noqa: PLC0415  # slow to import, and only for strategies

    last: list[Traced] = []
    worst: list[Traced] = []
    runs = [0]

    class Broken(Exception):
        pass

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=pairs,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink),
    )
    @hypothesis.given(strategy)
    def judged(pair: Any) -> None:
        left, right = _sides(pair)
        told = Tracer(
            mechanism=mechanism,
            left=left,
            right=right,
            claim=claim,
            seed=seed,
            budget=min(executions, _ONE),
        ).run()
        runs[0] += told.executions
        total = told.epsilon(0.0).upper if told.verdict == "shown" else math.inf
        if math.isfinite(total):
            hypothesis.target(total)
        if not worst or total > worst[0].epsilon(0.0).upper:
            worst[:] = [told]
        if told.verdict != "shown":
            last[:] = [told]
            raise Broken

    try:
        judged()
    except Broken:
        pass
    except BaseExceptionGroup as group:  # several ways to break it
        if not group.subgroup(Broken):
            raise
    found = last[0] if last else worst[0]
    note = "the worst pair that hypothesis found, by traced loss"
    return replace(found, executions=runs[0], notes=(*found.notes, note))
