"""Share one audit among several machines: each writes its part of the draws to its own file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpverify.auditing.adapters import adapted
from dpverify.auditing.auditor import Arithmetic, Exceptions, journal_of, planned
from dpverify.auditing.procedure.state import Method
from dpverify.auditing.sampling.drawing import Target, is_vectorized
from dpverify.auditing.sampling.journal import Chapter
from dpverify.auditing.sampling.processes import OutOfTime
from dpverify.auditing.sampling.workers import pool
from dpverify.claims import Claimable
from dpverify.errors import InvalidParameter, check_count
from dpverify.schema import Schema

_TURN = 32  # draws a side, before it is the next share's turn


@dataclass(frozen=True, slots=True)
class DrawnShare:
    """How many draws a side of a share are in its file, and how many the share has in all.

    >>> print(DrawnShare(share=3, of=10, drawn=100, size=1_000))
    share 3 of 10: 100 of 1,000 draws a side
    """

    share: int
    of: int
    drawn: int
    size: int

    @property
    def complete(self) -> bool:
        return self.drawn == self.size

    def __str__(self) -> str:
        return f"share {self.share} of {self.of}: {self.drawn:,} of {self.size:,} draws a side"


def draw_share(  # noqa: PLR0913  # those of `audit`, and which share it is
    mechanism: Target,
    *,
    share: int,
    of: int,
    checkpoint: str | Path,
    left: Any,  # noqa: ANN401  # whatever the mechanism takes
    right: Any,  # noqa: ANN401
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
    progress: Callable[[DrawnShare], None] | None = None,
    seconds: float | None = None,
) -> DrawnShare:
    """Draw one share of an audit's draws into a file, as one job of an array on a cluster.

    Shares are counted from 1. All jobs, and the audit at the end, must be asked the same: the
    parameters that have the names of those of `audit` are the same too. A job that was killed goes
    on where it was when it is started again. Shares take turns, so that what several jobs drew by
    now is the beginning of the audit.

    Then `merge_checkpoints` makes one file of all, and `audit` with that file as its `checkpoint`
    judges the draws. It comes to the verdict of an audit on one machine, and draws what is missing.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from dpverify.auditing import audit, merge_checkpoints
    >>> from dpverify.guarantees import PureDP
    >>> def flawed(data, rng): return sum(data) + rng.laplace(scale=0.5)
    >>> asked = {"left": [0], "right": [1], "claim": PureDP(epsilon=1.0), "samples": 2_000}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [Path(folder, f"draws-{i}") for i in (1, 2)]
    ...     for i, file in enumerate(files, start=1):
    ...         print(draw_share(flawed, share=i, of=2, checkpoint=file, **asked))
    ...     whole = Path(folder, "draws")
    ...     print(merge_checkpoints(files, whole))
    ...     verdict = audit(flawed, checkpoint=whole, **asked)
    share 1 of 2: 1,008 of 1,008 draws a side
    share 2 of 2: 992 of 992 draws a side
    4000
    >>> verdict.witness == audit(flawed, **asked).witness
    True
    """
    mechanism = adapted(mechanism)
    check_count("of", of)
    check_count("share", share)
    share, of = int(share), int(of)
    if share > of:
        raise InvalidParameter(f"share={share} must be at most of={of}")
    if is_vectorized(mechanism):
        raise InvalidParameter(
            f"mechanism={mechanism!r} must be a callable mechanism(data, rng): what has `sample` "
            "draws in blocks, which are not shared"
        )
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
    budget = asked.plan.budget
    turns = [
        (start, min(start + _TURN, budget))
        for start in range((share - 1) * _TURN, budget, of * _TURN)
    ]
    told = DrawnShare(share, of, 0, sum(stop - start for start, stop in turns))
    with (
        journal_of(checkpoint, asked.named) as journal,
        pool(workers, None, asked.inputs, isolate=isolate) as runner,
    ):
        sampler = replace(asked.sampler, executor=runner, journal=journal)
        sampler.check_stored()
        try:
            for start, stop in turns:
                for outputs, _ in sampler.pairs(start, stop):
                    _check_written(journal, checkpoint)
                    told = replace(told, drawn=told.drawn + outputs.size)
                    if progress is not None:
                        progress(told)
        except OutOfTime:  # the next run goes on from here
            pass
    _check_written(journal, checkpoint)  # closing it may fail too
    return told


def _check_written(journal: Chapter | None, checkpoint: str | Path) -> None:
    if journal is not None and journal.journal.failure is not None:
        raise InvalidParameter(
            f"checkpoint={str(checkpoint)!r} must be a file that can be written: "
            f"{journal.journal.failure}"
        )
