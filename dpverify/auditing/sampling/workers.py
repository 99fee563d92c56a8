"""Worker processes: if a call ends its process, that is an output, and drawing continues.

A worker counts the calls that it begins in memory that it shares with us. If it dies (`os._exit`, a
signal, too little memory), the call that it had begun is the output "dies by …", and a new worker
draws the rest of the task: what was drawn before that call is lost with the worker and drawn again.
Which draws are lost does not depend on what they were, so those in their place are as good.
"""

import multiprocessing
import pickle
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from typing import Any, TypeAlias

from dpverify.auditing.sampling.drawing import Drawing, Drawn, SampleRaised, Side, perform
from dpverify.auditing.sampling.outputs import Outputs, joined
from dpverify.auditing.sampling.parts import Died
from dpverify.auditing.sampling.processes import seed_anew
from dpverify.auditing.sampling.tabulating import from_objects
from dpverify.errors import InvalidParameter, check_count

_LAST_WORDS = 5.0  # seconds that a worker has to end


@contextmanager
def pool(
    workers: int, executor: Executor | None, sent: object, *, isolate: bool = False
) -> Iterator["Runner | None"]:
    """The caller's executor, or processes of our own, or None."""
    check_count("workers", workers)
    if executor is not None or (workers == 1 and not isolate):
        yield executor
        return
    try:
        pickle.dumps(sent)
    except Exception as error:
        asked = "isolate=True" if workers == 1 else f"workers={workers}"
        raise InvalidParameter(
            f"mechanism must be picklable for {asked}: {type(error).__name__}: {error}"
        ) from error
    made = Workers(workers)
    try:
        yield made
    finally:
        made.close()


class Workers:
    """Processes that perform tasks; one that dies is replaced."""

    def __init__(self, number: int) -> None:
        ways = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("fork" if "fork" in ways else None)
        self._number = number
        self._idle: list[_Worker] = []
        self._busy: dict[Any, tuple[_Worker, _Job]] = {}  # by connection

    def map(self, work: Callable[[Drawing], Drawn], tasks: Iterable[Drawing]) -> Iterator[Drawn]:
        """The draws of all tasks in order, just as `map(perform, tasks)` would give them."""
        del work  # a worker performs its tasks, and nothing else
        results = [_Result(task) for task in tasks]
        waiting = deque(_Job(result, result.task) for result in results)
        try:
            for result in results:
                while result.open:
                    self._hand_out(waiting)
                    for connection in wait(list(self._busy)):
                        worker, job = self._busy.pop(connection)
                        waiting.extendleft(reversed(self._heard(worker, job)))
                yield result.drawn()
        finally:
            self._drop_busy()

    def close(self) -> None:
        """End all processes."""
        self._drop_busy()
        for worker in self._idle:
            worker.end()
        self._idle = []

    def _hand_out(self, waiting: "deque[_Job]") -> None:
        while waiting and len(self._busy) < self._number:
            worker = self._idle.pop() if self._idle else _Worker(self._context)
            self._busy[worker.connection] = worker, waiting[0]
            try:
                worker.connection.send(waiting[0].task)
            except OSError:  # it died while it had nothing to do
                self._busy.pop(worker.connection)
                worker.end()
            else:
                waiting.popleft()

    def _heard(self, worker: "_Worker", job: "_Job") -> list["_Job"]:
        """Handle what a worker sent, or its death; return what is still to be drawn."""
        try:
            answer = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            return job.after_death(worker.begun.value, worker.cause_of_death())
        self._idle.append(worker)
        if isinstance(answer, BaseException):
            raise answer
        job.result.take(job.task, answer)
        return []

    def _drop_busy(self) -> None:
        """End the workers whose results are no longer wanted."""
        for worker, _ in self._busy.values():
            worker.end()
        self._busy = {}


Runner: TypeAlias = Executor | Workers
"""What performs tasks of drawing, by its `map`."""


@dataclass(slots=True)
class _Result:
    """The draws of one task, collected part by part."""

    task: Drawing
    open: int = 1
    parts: dict[tuple[Side, int], Outputs] = field(default_factory=dict)
    seconds: float = 0.0

    def take(self, part: Drawing, drawn: Drawn) -> None:
        self.open -= 1
        self.seconds += drawn.seconds
        self.parts |= {(s, part.start): o for s, o in zip(part.sides, drawn.outputs, strict=True)}

    def drawn(self) -> Drawn:
        """The draws up to the first gap; fewer than asked for if time was over."""
        sides = [self._side(side) for side in self.task.sides]
        size = min(side.size for side in sides)
        return Drawn(tuple(side.between(0, size) for side in sides), self.seconds)

    def _side(self, side: Side) -> Outputs:
        found: list[Outputs] = []
        at = self.task.start
        for start, part in sorted((i, part) for (s, i), part in self.parts.items() if s is side):
            if start == at:
                found.append(part)
                at += part.size
        return joined(found)


@dataclass(frozen=True, slots=True)
class _Job:
    """A part of a task, given to one worker."""

    result: _Result
    task: Drawing

    def after_death(self, begun: int, how: str) -> list["_Job"]:
        """What is still to be drawn after the worker died in the call that it had begun."""
        task, message = self.task, f"mechanism must return outputs: its process dies by {how}"
        if task.in_blocks:
            raise SampleRaised(message)
        if begun < 0:
            raise InvalidParameter(message)
        turn, which = divmod(begun, len(task.sides))
        at, dead = task.start + turn, task.sides[which]
        self.result.parts[dead, at] = from_objects([task.failure(Died(how))])
        others = tuple(side for side in task.sides if side is not dead)
        rest = [
            replace(task, stop=at),
            replace(task, start=at, stop=at + 1, sides=others),
            replace(task, start=at + 1),
        ]
        jobs = [_Job(self.result, part) for part in rest if part.size and part.sides]
        self.result.open += len(jobs) - 1
        return jobs


class _Worker:
    """A process, the connection to it, and the number of the call it began last."""

    def __init__(self, context: BaseContext) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        self.begun: Any = context.Value("q", -1, lock=False)
        make: Any = context.Process  # type: ignore[attr-defined]
        own = (theirs, self.connection, self.begun)
        self.process = make(target=_serve, args=own, daemon=True)
        with warnings.catch_warnings():
            # Python 3.12 warns of threads in a process that is forked; a worker uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()

    def cause_of_death(self) -> str:
        """How a process that no longer answers ended."""
        self.process.join(_LAST_WORDS)
        self.end()
        code = self.process.exitcode
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def _serve(connection: Connection, other_end: Connection, begun: Any) -> None:  # noqa: ANN401
    """Perform tasks until there are none; `begun` is a call number in shared memory."""
    # Ctrl-C reaches the workers too: they end without a word, and the audit tells what it has.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    other_end.close()  # so that the death of the process that asks is noticed here
    seed_anew()

    def begin(number: int) -> None:
        begun.value = number

    with suppress(EOFError, OSError):  # whoever asked is gone
        while True:
            connection.send(_answer(connection.recv_bytes(), begin, begun))


def _answer(asked: bytes, begin: Callable[[int], None], begun: Any) -> Drawn | BaseException:  # noqa: ANN401
    """The draws, or the exception to raise when they are asked for."""
    begun.value = -1
    try:
        return perform(pickle.loads(asked), begin)  # noqa: S301  # our own task
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        return error
