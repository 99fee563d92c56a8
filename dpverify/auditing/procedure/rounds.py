"""The rounds of an audit: draw, test events chosen from earlier draws, choose better ones.

Mechanisms that no audit can judge are refused here: those that only fail, or do not use `rng`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pickle import PicklingError

import numpy as np

from dpverify.auditing.attacks.draws import Confirm, Draws, Explore
from dpverify.auditing.procedure.state import FIRST, Plan, State, judged, learned, pieces
from dpverify.auditing.sampling.drawing import SampleRaised
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.auditing.sampling.processes import OutOfTime, Stopped, time_limit_if_possible
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.sampling.spelling import FAILED, SET_ASIDE
from dpverify.auditing.statistics.betting import Wealth
from dpverify.errors import DPVerifyError, InvalidParameter


@dataclass(frozen=True, slots=True)
class Progress:
    """Draws a side so far, log wealth of the bets against the claim, and the budget.

    `epsilon_lower` is what the bets have shown by the last draws that were judged, at the δ of the
    claim (of one that implies many, at a δ near 0.01); it may be read at any time.
    """

    samples: int
    log_wealth: float
    budget: int
    epsilon_lower: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.samples:,} of {self.budget:,} draws a side, "
            f"log wealth {self.log_wealth:.1f}, ε ≥ {self.epsilon_lower:.2f}"
        )


class Rounds:
    """An audit in progress: its state, and how to draw more."""

    def __init__(
        self, plan: Plan, sampler: Sampler, progress: Callable[[Progress], None] | None
    ) -> None:
        self.plan = plan
        self.sampler = sampler if progress is None else replace(sampler, heard=self._heard)
        self.progress = progress
        self.state = State(wealth=Wealth.start(plan.ladder))

    def go(self) -> Stopped | None:
        """Run stages until the bets refute or the budget ends; return why if it stopped early.

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
        for begin, end in self.plan.stages:
            for start, stop in pieces(begin, end, self.state.width):
                fresh = self._stage(start, stop)
                if start == FIRST:
                    refuse_repeated(self.state.latest[0], fresh)
                self.state = judged(self.plan, self.state, Confirm(fresh))
                self._tell(0, judged=False)
                if self.state.refuted:
                    return
            if end < self.plan.budget:
                self.state = learned(self.plan, self.state)

    def _tell(self, drawn: int, *, judged: bool) -> None:
        """Report progress after each part; after the last part of a stage, once it is judged."""
        if not judged:
            self._heard(self.state.used + drawn)

    def _heard(self, samples: int) -> None:
        """Report progress at so many draws a side; slow mechanisms report after every call."""
        if self.progress is None:
            return
        state, plan = self.state, self.plan
        shown, wealth = plan.shown_by_bets(state.wealth), float(state.wealth.logs[0])
        self.progress(Progress(samples, wealth, plan.budget, shown))

    def _stage(self, begin: int, end: int) -> Draws:
        """Run one stage; if drawing stops early, judge what was drawn."""
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
            if begin == 0 and parts:
                refuse_useless(_side_by_side(parts), fewest=1)
            self._judge(parts)
            raise
        return _side_by_side(parts)

    def _judge(self, parts: list[tuple[Outputs, ...]]) -> None:
        if parts:
            self.state = judged(self.plan, self.state, Confirm(_side_by_side(parts)))

    def _draw(self, parts: list[tuple[Outputs, ...]], begin: int, end: int) -> None:
        failing, drawn = begin == 0, 0
        try:
            for part in self.sampler.pairs(begin, end):
                parts.append(part)
                drawn += part[0].size
                self._tell(drawn, judged=drawn == end - begin)
                failing = failing and all(map(_fails, part))
                if failing:
                    refuse_useless(_side_by_side(parts))
        except SampleRaised:
            if begin > 0 or self.sampler.singly:
                raise
            # Which draw failed is not known, and a failure is an output: so draw one by one.
            self.sampler = replace(self.sampler, singly=True)
            parts.clear()
            self._draw(parts, begin, end)


class DrawingFailed(Exception):
    """Raised when drawing fails after some draws were made."""


def _side_by_side(parts: list[tuple[Outputs, ...]]) -> Draws:
    left, right = (joined(list(side)) for side in zip(*parts, strict=True))
    return Draws(left, right)


def _fails(draws: Outputs) -> bool:
    """Whether every call failed, in one way or another."""
    if WHOLE not in draws.texts:
        return False
    return all(text.startswith((*FAILED, SET_ASIDE)) for text in draws.text(WHOLE).tolist())


def _sentence(error: Exception) -> str:
    if isinstance(error, DPVerifyError):
        return str(error)
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, PicklingError) or "pickle" in str(error):
        return f"mechanism must be picklable for workers or an executor: {what}"
    return f"the workers or the executor that run the mechanism failed: {what}"


_DIFFERENT = 12  # values among 32 draws, beyond which their repetition is no accident


def refuse_useless(first: Draws, fewest: int = 2) -> None:
    """Raise if every call failed in the same way, as that says nothing about the claim."""
    if first.left.size < fewest or not (_fails(first.left) and _fails(first.right)):
        return
    kinds = np.unique(np.concatenate([first.left.text(WHOLE), first.right.text(WHOLE)]))
    if len(kinds) == 1:
        told = [side.text(f"message of {WHOLE}") for side in (first.left, first.right)]
        if len(np.unique(np.concatenate(told))) > 1:
            return  # what the messages say may depend on the data
        message = f": {told[0][0]}" if told[0][0] else ""
        what = "fails" if kinds[0] == SET_ASIDE else kinds[0]
        raise InvalidParameter(
            f"mechanism must return an output; on both sides every call {what}{message}"
        )


def refuse_repeated(first: Draws, second: Draws) -> None:
    """Raise if different seeds gave the same draws, as these are no new evidence."""
    for before, now in ((first.left, second.left), (first.right, second.right)):
        size = min(before.size, now.size)
        for block in (before, now):
            if block.shape:
                block.keys(WHOLE)  # which later looks at it share
        keys = joined([before.between(0, size), now.between(0, size)]).keys(WHOLE)
        if np.array_equal(keys[:size], keys[size:]) and len(np.unique(keys)) >= _DIFFERENT:
            raise InvalidParameter(
                "mechanism must draw from rng: it gave the same draws for two different generators"
            )


def unusable(past: Explore, *, bits: bool) -> tuple[str, ...]:
    """A note if all outputs on both sides are equal, so that the audit cannot show anything.

    With `bits`, how numbers are represented belongs to an output.
    """
    if not (_is_constant(past.left) and _is_constant(past.right)):
        return ()
    both = joined([past.left, past.right])
    if not _is_constant(both) or (bits and any(_differ(both, mark) for mark in both.marks)):
        return ()
    return ("every output is the same on left and right: does the mechanism use rng?",)


def _differ(side: Outputs, name: str) -> bool:
    texts = side.text(name)
    return bool((texts != texts[0]).any())


def _is_constant(side: Outputs) -> bool:
    keys = side.keys(WHOLE)
    if not (keys == keys[0]).all():
        return False
    return not any(_differ(side, name) for name in side.texts)  # messages are no part of the whole


def notes(past: Explore) -> tuple[str, ...]:
    """Other notes for the verdict."""
    sides = (("left", past.left), ("right", past.right))
    constant = [name for name, side in sides if side.size > 1 and _is_constant(side)]
    if not constant or unusable(past, bits=False):
        return ()
    first, *more = constant
    also = f", and so is every output on the {more[0]}" if more else ""
    return (f"every output on the {first} is the same{also}: does the mechanism use rng?",)
