"""The audit over a schema: explore on some draws, judge on others, then simplify.

Levels: the pairs that are judged were chosen on draws of their own, so the first gets three
quarters of the level and the second the rest, whatever was tried before. A true claim is refuted
with probability at most `level` over the whole search, and `epsilon_lower` exceeds the truth with
no more.
"""

import time
from concurrent.futures import Executor
from dataclasses import replace
from numbers import Integral
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.auditing.adapters import adapted, assumptions
from dpverify.auditing.auditor import audit
from dpverify.auditing.profiles import AuditClaim, Claimable, claim_of
from dpverify.auditing.sampling.sampler import Target
from dpverify.auditing.sampling.workers import pool
from dpverify.auditing.search.exploring import Arm, Explored, Explorer, derived
from dpverify.auditing.search.minimizing import minimized
from dpverify.auditing.statistics.points import implied_points
from dpverify.auditing.verdict import Refuted, Verdict
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_between, check_count, check_positive
from dpverify.schema import Candidate, Schema

_SHARES = (0.75, 0.25)  # of the level, for the pair that looks worst and for the second
_SAMPLES = {True: 100_000, False: 10_000}
_MOST_EXPLORED = 100_000


def audit_over(  # noqa: PLR0913  # as `audit` has, and what the search needs
    mechanism: Target,
    schema: Schema,
    *,
    claim: Claimable | None = None,
    level: float = 0.01,
    seed: int = 0,
    samples: int | None = None,
    explore: int | None = None,
    pairs: int = 64,
    minimize: bool = True,
    seconds: float | None = None,
    timeout: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    **options: Any,  # noqa: ANN401  # passed on to `audit`
) -> Verdict:
    """Try to refute that `mechanism` keeps `claim` on all neighboring datasets of a schema.

    Parameters
    ----------
    schema
        What data the mechanism takes, and when two datasets are neighbors.
    samples
        Most draws a side on each of the pairs that are judged; as in `audit`.
    explore
        About how many draws a side choose among pairs; if None, as many as `samples`, but 100,000
        at most. Below some 2,500 there is no exploration worth the name.
    pairs
        Pairs to begin with: known patterns and pairs at random; fewer if `explore` is below
        10,000. About a third as many variants of the best ones join them.
    minimize
        Whether the pair of a refutation is simplified, with further draws; not with `seconds`.
    seconds
        A third of them at most are for the exploration.

    The other parameters are those of `audit`. The verdict's `samples` are all draws a side until
    the decision, those of the exploration included; `tried` says what was explored. Same seed, same
    verdict.

    >>> import numpy as np
    >>> from dpverify.schema import Number, Records
    >>> from dpverify.guarantees import PureDP
    >>> def flawed(data, rng): return sum(data) + rng.laplace(scale=0.5)
    >>> ages = Records(record=Number(low=0, high=1), length=(0, 5), relation="add-remove")
    >>> verdict = audit_over(flawed, ages, claim=PureDP(epsilon=1.0), seed=7, samples=4_000)
    >>> verdict.witness.left, verdict.witness.right
    (array([], dtype=float64), array([1.]))
    """
    start, begun = time.perf_counter(), time.time()
    check_count("pairs", pairs)
    if options.get("checkpoint") is not None:
        raise InvalidParameter("checkpoint must be None for a search: it draws from many pairs")
    if seconds is not None:
        check_positive("seconds", seconds)
    until = None if seconds is None else begun + seconds
    check_between("level", level, 1e-11, 0.5)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InvalidParameter(f"seed={seed!r} must be a whole number, at least 0")
    for name, number in (("samples", samples), ("explore", explore)):
        if number is not None:
            check_count(name, number)
    target = adapted(mechanism)
    promised = _promise(target, claim, schema)
    planned = samples or _SAMPLES[callable(getattr(target, "sample", None))]
    with pool(workers, executor, target) as runner:
        common = {"timeout": timeout, "executor": runner}
        explored = Explorer(
            mechanism=target,
            schema=schema,
            points=implied_points(promised),
            level=level,
            planned=planned,
            budget=explore or min(planned, _MOST_EXPLORED),
            pairs=pairs,
            seed=derived(seed, 0),
            bits=options.get("arithmetic") == "float",
            until=None if seconds is None else begun + seconds / 3.0,
            **common,
        ).run()
        fixed = options | common | {"claim": promised}
        verdict, arm = _judged(explored, level, seed, planned, until, fixed)
        if isinstance(verdict, Refuted) and minimize and verdict.stopped is None and until is None:
            verdict = _simplified(verdict, arm, schema, seed, planned, fixed)
    return replace(
        verdict,
        samples=verdict.samples + explored.draws,
        seconds=time.perf_counter() - start,
        tried=(*verdict.tried, _told(explored)),
        notes=tuple(dict.fromkeys([*verdict.notes, *assumptions(target, claim)])),
    )


def _judged(  # noqa: PLR0913, PLR0917  # private, called once
    explored: Explored,
    level: float,
    seed: int,
    planned: int,
    until: float | None,
    fixed: dict[str, Any],
) -> tuple[Verdict, Arm]:
    """The verdict on the pairs that look worst, each with its share of the level."""
    best: tuple[Verdict, Arm] | None = None
    used = 0
    taken = [arm for arm in explored.best if not arm.only_raises]
    if not taken:
        raise InvalidParameter(
            "schema must describe data that the mechanism takes; on all of it, the mechanism "
            f"raises {explored.best[0].broken}"
        )
    finalists = taken[: len(_SHARES)]
    shares = _SHARES if len(finalists) == len(_SHARES) else (1.0,)
    for i, (arm, share) in enumerate(zip(finalists, shares, strict=True)):
        if best is not None and until is not None and time.time() > until:
            break
        verdict = audit(
            arm.mechanism,
            left=arm.candidate.left,
            right=arm.candidate.right,
            level=level * share,
            seed=derived(seed, 1, i),
            samples=planned,
            **fixed,
            **_time_left(until),
        )
        used += verdict.samples
        leak = verdict.float_leak if best is None else verdict.float_leak or best[0].float_leak
        if best is None or verdict.refuted or _shows_more(verdict, best[0]):
            best = verdict, arm
        best = replace(best[0], float_leak=leak), best[1]
        if verdict.refuted or verdict.stopped is not None:
            break
    if best is None:
        raise AssertionError("a schema has at least one pair")
    return replace(best[0], level=level, samples=used), best[1]


def _time_left(until: float | None) -> dict[str, Any]:
    return {} if until is None else {"seconds": max(until - time.time(), 1e-3)}


def _shows_more(verdict: Verdict, other: Verdict) -> bool:
    return verdict.delta == other.delta and verdict.epsilon_lower > other.epsilon_lower


def _simplified(  # noqa: PLR0913, PLR0917  # private, called once
    verdict: Refuted, arm: Arm, schema: Schema, seed: int, planned: int, fixed: dict[str, Any]
) -> Refuted:
    def judge(candidate: Candidate, seed: int, size: int) -> Verdict:
        left, right = candidate.left, candidate.right
        level = verdict.witness.level
        return audit(
            arm.mechanism, left=left, right=right, level=level, seed=seed, samples=size, **fixed
        )

    found = minimized(
        verdict,
        arm.candidate,
        schema=schema,
        mechanism=arm.mechanism,
        judge=judge,
        budget=planned,
        seed=derived(seed, 2),
    )
    notes = (*verdict.notes, f"the pair was found as: {arm.candidate.pattern}")
    return replace(verdict, witness=found.witness, notes=notes)


def _promise(mechanism: Target, claim: Claimable | None, schema: Schema) -> AuditClaim:
    stated = getattr(mechanism, "claim", None) if claim is None else claim
    if stated is None:
        raise InvalidParameter("claim=None must be a guarantee, as the mechanism states no claim")
    theirs = getattr(stated, "relation", None) if isinstance(stated, (Claim, Accountant)) else None
    if None not in {theirs, schema.relation} and theirs is not schema.relation:
        raise InvalidParameter(
            f"schema.relation={schema.relation} must be that of the claim, {theirs}"
        )
    return claim_of(stated, relation=schema.relation)


def _told(explored: Explored) -> str:
    shown = "; ".join(explored.patterns[:6])
    return (
        f"{explored.pairs} neighboring pairs, on {explored.draws:,} draws a side that judged "
        f"nothing ({shown}{'; …' if len(explored.patterns) > 6 else ''})"
    )
