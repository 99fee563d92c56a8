"""Audit over a schema: search pairs on some draws, judge them on others, then simplify.

Levels: the pairs that are judged were chosen on draws of their own, so the first gets three
quarters of the level and the second the rest, whatever was tried before. A true claim is refuted
with probability at most `level` over the whole search, and `epsilon_lower` exceeds the truth with
no more.
"""

import time
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpverify.auditing.adapters import adapted, assumptions
from dpverify.auditing.auditor import journal_of
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.sampling.spelling import canonical
from dpverify.auditing.sampling.workers import pool
from dpverify.auditing.search.halving import Halving
from dpverify.auditing.search.judging import Finalist, Judging
from dpverify.auditing.search.shrinking import SchemaShrinking
from dpverify.auditing.search.trials import PairTrial, Search, derived
from dpverify.auditing.statistics.points import implied_points
from dpverify.auditing.verdict import Refuted, Verdict
from dpverify.claims import AuditClaim, Claimable, read_claim
from dpverify.errors import (
    InvalidParameter,
    check_count,
    check_level,
    check_member,
    check_positive,
    check_seed,
)
from dpverify.schema import Schema
from dpverify.waiting import telling

_SHARES = (0.75, 0.25)  # of the level, for the pair that looks worst and for the second
_SAMPLES = {True: 100_000, False: 10_000}
_MOST_EXPLORED = 100_000
_SHOWN = 100  # characters of a dataset in a note
_MOST_MINIMIZING = 20  # times as many draws as the refutation took, for simpler pairs


@telling("auditing")
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
    exceptions: str = "count",
    workers: int = 1,
    isolate: bool = False,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
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
        A third of them at most are for the exploration, and in it no pair on which the mechanism is
        slow takes the time of all others.
    checkpoint
        A file that keeps all draws but those that simplify the pair of a refutation: a search that
        was killed goes on from it. What was left undone for lack of `seconds` is done then.

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
    if seconds is not None:
        check_positive("seconds", seconds)
    until = None if seconds is None else begun + seconds
    check_level(level, least=1e-11)
    check_member("exceptions", exceptions, ("count", "ignore"))
    check_seed(seed)
    for name, number in (("samples", samples), ("explore", explore)):
        if number is not None:
            check_count(name, number)
    target = adapted(mechanism)
    promised = read_claim(
        getattr(target, "claim", None) if claim is None else claim, schema.relation
    )
    planned = samples or _SAMPLES[callable(getattr(target, "sample", None))]
    named: dict[str, Any] = {"mechanism": target, "schema": schema, "claim": promised}
    named |= {"level": level, "seed": seed, "samples": planned, "explore": explore, "pairs": pairs}
    named |= {"timeout": timeout, "exceptions": exceptions}
    named |= {name: options[name] for name in ("method", "arithmetic") if name in options}
    with (
        journal_of(checkpoint, named) as kept,
        pool(workers, executor, target, isolate=isolate) as runner,
    ):
        common: dict[str, Any] = {"timeout": timeout, "executor": runner}
        search = Search(
            target,
            implied_points(promised),
            level=level,
            samples=planned,
            seed=seed,
            until=None if seconds is None else begun + seconds / 3.0,
            counted=exceptions == "count",
            journal=None if kept is None else kept.journal,
            **common,
        )
        explored = Halving(
            search,
            schema,
            budget=explore or min(planned, _MOST_EXPLORED),
            pairs=pairs,
            bits=options.get("arithmetic") == "float",
        )
        explored.run()
        told, drawn = _told(explored), search.used
        fixed = options | common | {"claim": promised, "exceptions": exceptions}
        judging = Judging(search, _finalists(explored), until=until, **fixed)
        judging.run()
        shown, trial = judging.best
        verdict = replace(shown, level=level, samples=search.used - drawn)
        if isinstance(verdict, Refuted) and minimize and verdict.stopped is None and until is None:
            verdict = _simplified(verdict, trial, search, schema, fixed)
    pair = () if isinstance(verdict, Refuted) else (_pair_told(trial),)  # else the witness has it
    disk = () if kept is None else kept.journal.notes
    return replace(
        verdict,
        samples=verdict.samples + drawn,
        seconds=time.perf_counter() - start,
        tried=(*verdict.tried, told),
        notes=tuple(dict.fromkeys([*verdict.notes, *disk, *pair, *assumptions(target, claim)])),
    )


def minimized(  # noqa: PLR0913  # what was refuted of what, and how hard it is tried
    verdict: Refuted,
    mechanism: Target,
    schema: Schema,
    claim: AuditClaim,
    *,
    seed: int,
    seconds: float,
) -> Refuted:
    """The refutation on the simplest pair that is also refuted, found within so many seconds."""
    witness = verdict.witness
    candidate = schema.paired(witness.left, witness.right)
    most = _MOST_MINIMIZING * verdict.samples
    search = Search(mechanism, implied_points(claim), level=verdict.level, samples=most, seed=seed)
    trial = replace(search.trial(candidate, seed), found=verdict)
    shrinking = SchemaShrinking(search, trial, schema, claim=claim)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and shrinking.step():
            pass
    except KeyboardInterrupt:
        return verdict
    return shrinking.confirmed() if shrinking.now is not trial else verdict


def _finalists(explored: Halving) -> list[Finalist]:
    """The pairs that look worst, each with its part of the level."""
    taken = [trial for trial in explored.ranked if not trial.only_raises]
    if not taken:
        raise InvalidParameter(
            "schema must describe data that the mechanism takes; on all of it, the mechanism "
            f"raises {explored.ranked[0].broken}"
        )
    best = taken[: len(_SHARES)]
    shares = _SHARES if len(best) == len(_SHARES) else (1.0,)
    search = explored.search
    return [
        Finalist(trial, search.level * share, derived(search.seed, 1, i), search.samples)
        for i, (trial, share) in enumerate(zip(best, shares, strict=True))
    ]


def _simplified(
    verdict: Refuted, trial: PairTrial, search: Search, schema: Schema, options: dict[str, Any]
) -> Refuted:
    shrinking = SchemaShrinking(search, replace(trial, found=verdict), schema, **options)
    shrinking.run()
    notes = (*verdict.notes, f"the pair was found as: {trial.candidate.pattern}")
    return replace(shrinking.confirmed(), notes=notes)


def _pair_told(trial: PairTrial) -> str:
    """The pair that was judged, shortened to one line."""
    texts = [canonical(data) for data in (trial.candidate.left, trial.candidate.right)]
    left, right = (t if len(t) <= _SHOWN else f"{t[:_SHOWN]}…" for t in texts)
    return f"the pair that looked worst: left {left}, right {right}"


def _told(explored: Halving) -> str:
    """What was searched, in words, before anything is judged."""
    names, search = explored.patterns, explored.search
    shown = "; ".join(names[:6]) + ("; …" if len(names) > 6 else "")
    slow = f"; too slow for a look: {explored.unseen}" if explored.unseen else ""
    return (
        f"{len(search.tried)} neighboring pairs, on {search.used:,} draws a side that judged "
        f"nothing ({shown}{slow})"
    )
