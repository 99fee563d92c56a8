"""The rounds of an audit: draw a stage, judge it with what the past chose, learn from it."""

import time
from collections.abc import Callable
from dataclasses import replace
from pickle import PicklingError

from dpverify.auditing.attacks.draws import Confirm, Draws
from dpverify.auditing.procedure.progress import Progress
from dpverify.auditing.procedure.refusals import refuse_repeated, refuse_useless
from dpverify.auditing.procedure.stages import FIRST, pieces, stages
from dpverify.auditing.procedure.state import Plan, State, judged, learned
from dpverify.auditing.sampling.limits import OutOfTime, Stopped, time_limit_if_possible
from dpverify.auditing.sampling.outputs import Outputs, joined
from dpverify.auditing.sampling.sampler import Sampler, SampleRaised
from dpverify.auditing.statistics.betting import Wealth
from dpverify.errors import DPVerifyError, InvalidParameter


class Run:
    """An audit under way: its state, and how to draw more."""

    def __init__(
        self, plan: Plan, sampler: Sampler, progress: Callable[[Progress], None] | None
    ) -> None:
        self.plan = plan
        self.sampler = sampler
        self.progress = progress
        self.state = State(wealth=Wealth.start(plan.ladder))

    def go(self) -> Stopped | None:
        """Draw all stages, or those until the bets refute; say why if it ended before.

        Where nothing at all was drawn there is no partial result, and what stopped it is raised.
        """
        until = self.sampler.until
        try:
            with time_limit_if_possible(None if until is None else max(until - time.time(), 0.0)):
                self._rounds()
        except KeyboardInterrupt:
            if not self.state.drawn:
                raise
            return Stopped(why="interrupt", reason="interrupted")
        except OutOfTime:
            if not self.state.drawn:
                raise InvalidParameter(
                    "seconds must be more: not one pair of draws was finished in time (with "
                    "timeout, a call that takes too long is an output)"
                ) from None
            return Stopped(why="time", reason="its time was over")
        except DrawingFailed as failure:
            if not self.state.drawn:
                raise
            return Stopped(why="failure", reason=str(failure))
        except MemoryError:
            if not self.state.drawn:
                raise InvalidParameter("mechanism must fit into memory: MemoryError") from None
            return Stopped(why="failure", reason="there was not enough memory")
        return None

    def _rounds(self) -> None:
        for begin, end in stages(self.plan.budget):
            for start, stop in pieces(begin, end, self.state.width):
                fresh = self._stage(start, stop)
                if start == FIRST:
                    refuse_repeated(self.state.latest[0], fresh)
                self.state = judged(self.plan, self.state, Confirm(fresh))
                if self.progress is not None:
                    self.progress(self._standing())
                if self.state.refuted:
                    return
            if end < self.plan.budget:
                self.state = learned(self.plan, self.state)

    def _standing(self) -> Progress:
        state, plan = self.state, self.plan
        shown = plan.shown_by_bets(state.wealth)
        return Progress(state.used, float(state.wealth.logs[0]), plan.budget, shown)

    def _stage(self, begin: int, end: int) -> Draws:
        """A stage; if drawing ends before it does, what there is of it is judged."""
        parts: list[tuple[Outputs, ...]] = []
        try:
            self._draw(parts, begin, end)
        except MemoryError:
            self._judge(parts)
            raise
        except Exception as error:
            if begin == 0:
                raise InvalidParameter(_sentence(error)) from error
            self._judge(parts)
            raise DrawingFailed(_sentence(error)) from error
        except BaseException:
            self._judge(parts)
            raise
        return _side_by_side(parts)

    def _judge(self, parts: list[tuple[Outputs, ...]]) -> None:
        if parts:
            self.state = judged(self.plan, self.state, Confirm(_side_by_side(parts)))

    def _draw(self, parts: list[tuple[Outputs, ...]], begin: int, end: int) -> None:
        try:
            for part in self.sampler.pairs(begin, end):
                parts.append(part)
                if begin == 0:
                    refuse_useless(_side_by_side(parts))
        except SampleRaised:
            if begin > 0 or self.sampler.singly:
                raise
            # Which draw failed is not known, and a failure is an output: so draw one by one.
            self.sampler = replace(self.sampler, singly=True)
            parts.clear()
            self._draw(parts, begin, end)


class DrawingFailed(Exception):
    """No more could be drawn, after some draws were."""


def _side_by_side(parts: list[tuple[Outputs, ...]]) -> Draws:
    left, right = (joined(list(side)) for side in zip(*parts, strict=True))
    return Draws(left, right)


def _sentence(error: Exception) -> str:
    if isinstance(error, DPVerifyError):
        return str(error)
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, PicklingError) or "pickle" in str(error):
        return f"mechanism must be picklable for workers or an executor: {what}"
    return f"mechanism must be drawn from without failures of what runs it: {what}"
