"""The audit: draw from a mechanism, bet on events, learn from the draws, and give a verdict.

Draws come in stages that grow by about 4/3 each. Every stage is judged with what the stages before
it chose, and then added to the past:

1. *Bets* (`statistics.betting`) on the events that look most damning for the claim: as soon as the
   wealth reaches its target the claim is refuted, at whatever pair that was.
2. One block (`statistics.binomial`) for the event that promises the largest lower bound on ε. It
   begins at a tenth of the budget, or later if the past does not yet say enough of the best event;
   its joint test speaks once, at the end of the budget. If the bets refuted early it is left aside,
   since when it ended depended on its draws, and a fresh block gives the witness its counts.

`Levels` says how the two share the level, so that a true claim is refuted with probability at most
`level`, and `epsilon_lower` exceeds the truth with no more than that, whichever of them speaks.

An audit is a function of its inputs, its seed and its draws: `rounds` turns draws into a state,
`conclusion` a state into a verdict, and a journal keeps the draws.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dpverify.auditing.adapters import adapted, assumptions
from dpverify.auditing.procedure.conclusion import conclude
from dpverify.auditing.procedure.rounds import Progress, Rounds
from dpverify.auditing.procedure.state import Levels, Method, Plan
from dpverify.auditing.sampling.copies import copier
from dpverify.auditing.sampling.drawing import Target, is_vectorized
from dpverify.auditing.sampling.journal import Chapter, Journal, subject
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.sampling.workers import pool
from dpverify.auditing.statistics.points import implied_points
from dpverify.auditing.verdict import Verdict
from dpverify.claims import Claimable, read_claim
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

Arithmetic: TypeAlias = Literal["real", "float"]
Exceptions: TypeAlias = Literal["count", "ignore"]

NOT_GIVEN = object()
_SAMPLES = {True: 100_000, False: 10_000}


@telling("auditing")
def audit(  # noqa: PLR0913  # the contract of the library
    mechanism: Target,
    *,
    left: Any = NOT_GIVEN,  # noqa: ANN401  # whatever the mechanism takes
    right: Any = NOT_GIVEN,  # noqa: ANN401
    schema: Schema | None = None,
    claim: Claimable | None = None,
    level: float = 0.01,
    seed: int = 0,
    samples: int | None = None,
    method: Method = "both",
    arithmetic: Arithmetic = "real",
    timeout: float | None = None,
    exceptions: Exceptions = "count",
    workers: int = 1,
    isolate: bool = False,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
    seconds: float | None = None,
    checkpoint: str | Path | Chapter | None = None,
) -> Verdict:
    """Try to refute that `mechanism` keeps `claim` on the neighboring datasets `left`, `right`.

    Parameters
    ----------
    mechanism
        A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`; with
        `log_density(outputs, data)` the best events are known and the audit is optimal.
    schema
        What data the mechanism takes, and when two datasets are neighbors: `left` and `right` are
        checked against it, and searched in it where they are not given (see `audit_over`).
    claim
        What is to be refuted; the mechanism's own claim if None. A guarantee, or a whole profile:
        a dominating pair, an accountant, a function ε ↦ δ, or points (ε, δ) that hold at once.
    level
        Bound on the probability that an honest mechanism is refuted, over all that is tried and
        at any stopping time; and that `epsilon_lower` exceeds the truth.
    samples
        Most draws on each side; 100,000 for a vectorized mechanism and 10,000 for a callable if
        None. Bets stop earlier if they refute.
    method
        "anytime" for bets alone, "fixed" for one test at the end of the budget, "both" (default).
    arithmetic
        "real" judges outputs as real numbers, and a leak through their bits apart from it, as
        `float_leak`; "float" makes it part of the verdict.
    timeout
        Seconds after which one call counts as the output "times out". How long a call takes depends
        on what else the machine does, so time-outs are neither independent nor alike from call to
        call: a refutation by them shows no more than that the time told the sides apart then.
    exceptions
        "count" makes what a call raises an output like any other. "ignore" sets such calls aside:
        they are in no event, so that "raises ValueError" does not hide a second leak.
    isolate
        Whether calls run in processes of their own, as they do with several workers: one that ends
        its process (`os._exit`, a signal, too little memory) is then an output, and the audit goes
        on.
    workers, executor
        Processes, or any `concurrent.futures.Executor` (such as `client.get_executor()` of a Dask
        client), among which the draws are divided. They do not change the verdict. The mechanism
        must be picklable then.
    progress
        Called after every part of the draws, each of which takes a quarter of a second or one
        call, and after every stage that was judged.
    seconds
        When these are over the audit ends with what it has found.
    checkpoint
        A file that keeps the draws. If it is there already the audit goes on from it, to the
        verdict that it would have reached without the break. A file of another audit is refused:
        of another mechanism, its code and all values that it uses included, or of other data. What
        is damaged in it is drawn again; where it cannot be written any more, as on a full disk, the
        audit goes on without it and says so in its notes. Several machines can draw it together:
        see `draw_share`.

    When the time is over, on Ctrl-C, or when drawing fails, the verdict so far is returned, and
    its `stopped` says why. It comes from the bets, which are valid whenever they are stopped, so
    with method "fixed" such a verdict says nothing of ε. For a claim that implies many (ε, δ) its
    bound on ε is one for a δ near 0.01. Only if nothing was drawn yet is there no
    verdict: what stopped the audit is raised.

    The draws must be independent given the data: a mechanism that remembers earlier calls is
    outside the theory. One that gives the same draws to different generators is refused. Every call
    (of `sample`: every block) gets a copy of the data and a generator of its own, and may change
    both; global generators are seeded anew in every process that draws.

    >>> from dpverify.guarantees import PureDP
    >>> def flawed(data, rng): return sum(data) + rng.laplace(scale=0.5)
    >>> verdict = audit(flawed, left=[0, 0], right=[0, 1], claim=PureDP(epsilon=1.0), seed=7)
    >>> verdict.refuted
    True
    """
    mechanism = adapted(mechanism)
    if left is NOT_GIVEN and right is NOT_GIVEN:
        return _search(
            mechanism,
            schema,
            claim=claim,
            level=level,
            seed=seed,
            samples=samples,
            method=method,
            arithmetic=arithmetic,
            timeout=timeout,
            exceptions=exceptions,
            workers=workers,
            isolate=isolate,
            executor=executor,
            progress=progress,
            seconds=seconds,
            checkpoint=checkpoint,
        )
    if left is NOT_GIVEN or right is NOT_GIVEN:
        raise InvalidParameter("left and right must be given together, or neither with a schema")
    start = time.perf_counter()
    asked = planned(
        mechanism,
        left,
        right,
        schema=schema,
        claim=claim,
        level=level,
        seed=seed,
        samples=samples,
        method=method,
        arithmetic=arithmetic,
        timeout=timeout,
        exceptions=exceptions,
        seconds=seconds,
    )
    with (
        journal_of(checkpoint, asked.named) as journal,
        pool(workers, executor, asked.inputs, isolate=isolate) as runner,
    ):
        sampler = replace(asked.sampler, executor=runner, journal=journal)
        sampler.check_stored()
        run = Rounds(asked.plan, sampler, progress)
        stopped = run.go()
        verdict = conclude(asked.plan, run.state, run.sampler, stopped)
    kept = () if journal is None else journal.journal.notes
    notes = (*verdict.notes, *kept, *assumptions(mechanism, claim))
    return replace(verdict, seconds=time.perf_counter() - start, notes=notes)


@dataclass(frozen=True, slots=True)
class Planned:
    """An audit whose arguments are checked but that has not begun: its plan and its draws."""

    plan: Plan
    sampler: Sampler
    inputs: dict[str, Any]
    named: dict[str, Any]


def planned(  # noqa: PLR0913
    mechanism: Target,
    left: Any,  # noqa: ANN401
    right: Any,  # noqa: ANN401
    *,
    schema: Schema | None,
    claim: Claimable | None,
    level: float,
    seed: int,
    samples: int | None,
    method: Method,
    arithmetic: Arithmetic,
    timeout: float | None,
    exceptions: Exceptions,
    seconds: float | None,
) -> Planned:
    """Check the arguments of `audit` and plan it."""
    begun = time.time()
    if schema is not None:
        schema.check_neighbors(left, right)
    left, right = copier(left)(), copier(right)()  # the caller's may change before this ends
    _check(level, seed, samples, method, arithmetic)
    check_member("exceptions", exceptions, ("count", "ignore"))
    for name, value in (("seconds", seconds), ("timeout", timeout)):
        if value is not None:
            check_positive(name, value)
    stated = getattr(mechanism, "claim", None) if claim is None else claim
    guarantee = read_claim(stated, None if schema is None else schema.relation)
    plan = Plan(
        claim=guarantee,
        points=implied_points(guarantee),
        levels=Levels.of(float(level), method),
        budget=int(samples or _SAMPLES[is_vectorized(mechanism)]),
        bits=arithmetic == "float",
    )
    inputs = {"mechanism": mechanism, "left": left, "right": right, "seed": int(seed)}
    sampler = Sampler(
        **inputs,
        timeout=timeout,
        until=None if seconds is None else begun + float(seconds),
        counted=exceptions == "count",
    )
    named: dict[str, Any] = {"claim": guarantee, "level": level, "samples": plan.budget}
    named |= {"method": method, "timeout": timeout, "arithmetic": arithmetic}
    named |= {"exceptions": exceptions}
    return Planned(plan, sampler, inputs, inputs | named)


def _search(mechanism: Target, schema: Schema | None, **options: Any) -> Verdict:  # noqa: ANN401
    from dpverify.auditing.search import audit_over  # noqa: PLC0415  # it imports this module

    known = getattr(mechanism, "schema", None) if schema is None else schema
    if known is None:
        raise InvalidParameter("left and right must be given, or a schema to search them in")
    return audit_over(mechanism, known, **options)


@contextmanager
def journal_of(
    checkpoint: str | Path | Chapter | None, named: dict[str, Any]
) -> Iterator[Chapter | None]:
    """Where draws are kept on disk; pairs of one search share the file that is already open."""
    if checkpoint is None or isinstance(checkpoint, Chapter):
        yield checkpoint
        return
    rest = {name: value for name, value in named.items() if name not in {"left", "right"}}
    datasets: dict[str, Any] = {name: named[name] for name in ("left", "right") if name in named}
    with Journal(checkpoint, subject(datasets=datasets, **rest)) as journal:
        yield journal.chapter()


def _check(
    level: object, seed: object, samples: object, method: object, arithmetic: object
) -> None:
    check_level(level)
    check_seed(seed)
    if samples is not None:
        check_count("samples", samples)
    check_member("method", method, ("both", "anytime", "fixed"))
    check_member("arithmetic", arithmetic, ("real", "float"))
