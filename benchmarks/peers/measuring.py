"""The measuring frame that every tool runs in: one case in on stdin, JSON out on stdout.

A request is `{"case": …, "setting": …}`. An answer is one JSON object a line; later lines add
fields, so that what was found before a time limit is not lost. Only the computation is timed, not
the imports; fast ones are repeated and the best time counts.

With the setting `cpu_seconds` the processor's time counts, which other work on the machine does not
change, and a process that takes more of it is ended (∞: only timed so).
"""

import contextlib
import json
import math
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeAlias

Answer: TypeAlias = dict[str, Any]
Solver: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Answer]

REPEATS = 3
FAST = 2.0  # seconds: what takes longer is measured once
MEMORY = 12 << 30  # bytes: no tool may bring the machine down


def nothing() -> None:
    """For tools that cache nothing between two runs."""


def serve(
    solve: Solver, *, then: Solver | None = None, forget: Callable[[], None] = nothing
) -> None:
    """Answer the request on stdin; `then` adds what is not timed, `forget` clears caches."""
    request = json.load(sys.stdin)
    with contextlib.suppress(ValueError, OSError):  # some systems do not know this limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    limit_cpu(request["setting"].get("cpu_seconds", math.inf))
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # some libraries print while they compute
        _emit(measured(solve, request["case"], request["setting"], forget=forget), answers)
        if then is not None:
            _emit(guarded(then, request["case"], request["setting"]), answers)


def limit_cpu(seconds: float) -> None:
    """End this process when it has taken so many more seconds of the processor, rounded up."""
    if seconds < math.inf:
        end = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (end, end + 1))


def measured(
    solve: Solver, case: dict[str, Any], setting: dict[str, Any], *, forget: Callable[[], None]
) -> Answer:
    """The answer with its best time and the peak memory of the process."""
    clock = time.process_time if "cpu_seconds" in setting else time.perf_counter
    repeats = 1 if setting.get("cpu_seconds", math.inf) < math.inf else REPEATS
    taken: list[float] = []
    answer: Answer = {}
    while len(taken) < repeats and sum(taken) < FAST:
        forget()
        start = clock()
        answer = guarded(solve, case, setting)
        taken.append(clock() - start)
        if "error" in answer:
            break
    return answer | {"seconds": min(taken), "runs": taken, "peak_megabytes": peak_megabytes()}


def guarded(solve: Solver, case: dict[str, Any], setting: dict[str, Any]) -> Answer:
    """The answer, or the error as text: a tool that fails is a result too."""
    try:
        return solve(case, setting)
    except Exception as error:  # noqa: BLE001 - whatever a library raises is reported
        return {"error": f"{type(error).__name__}: {error}"}


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _emit(answer: Answer, stream: TextIO) -> None:
    print(json.dumps(answer), file=stream, flush=True)
