"""Noise that is chosen: both sides of every comparison, far out, and at ties."""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Bits, Move, Pick, Value
from dpverify.tracing.recording.laws import TracedLaw, coin
from dpverify.tracing.recording.runs import TracedRun, Twin

_MOST_COINS = 16
FAR = 12.0  # in scales: what happens once in 160,000 runs with Laplace noise


def _all(value: Any, to: float) -> Any:  # noqa: ANN401  # a float or an array
    return np.full_like(value, to) if isinstance(value, np.ndarray) else to


def far_out(law: TracedLaw, value: Any, to: float) -> Any:  # noqa: ANN401
    """Noise `to` scales away from 0, or at the end of its support on that side."""
    match law.name:
        case "uniform":
            return _all(value, 0.5 + math.copysign(0.4999, to))
        case "exponential" | "geometric":
            least = 1.0 if law.name == "geometric" else 1e-3
            return _all(value, math.ceil(to) if to > 0 else least)
        case "integers":
            return _all(value, law.parameter - 1.0 if to > 0 else 0.0)
        case "normal" if abs(to) <= FAR:
            return _all(
                value, math.copysign(math.sqrt(2.0 * abs(to)), to)
            )  # as likely as Laplace's
        case _:
            return _all(value, to)


def alternating(law: TracedLaw, value: Any, to: float = FAR) -> Any:  # noqa: ANN401
    if not isinstance(value, np.ndarray):
        return far_out(law, value, to if value > 0.5 else -to)
    ups, downs = far_out(law, value, to), far_out(law, value, -to)
    return np.where(np.arange(value.size).reshape(value.shape) % 2 == 0, ups, downs)


def _tie(law: TracedLaw, value: Any) -> Any:  # noqa: ANN401
    return value if law.name in {"uniform", "integers", "geometric"} else _all(value, 0.0)


def reach_of(delta: float) -> float:
    """How far noise is moved, in scales: beyond, transcripts are rarer than δ."""
    return FAR if not delta else min(FAR, 0.8 * math.log(0.5 / min(delta, 0.4)))


def scripts(
    base: TracedRun, seed: int, delta: float = 0.0, spot: int | None = None
) -> Iterator[NoiseScript]:
    """Transcripts worth tracing after a first one: flips of its comparisons come first.

    `spot` is the first record that differs: samples that take it, orders that put it first or last.
    A claim with δ > 0 allows anything on transcripts of smaller probability: those are left out.
    """
    most = base.journal.draws.top
    reach = reach_of(delta)
    seen: dict[Any, int] = {}
    for number, event in enumerate(base.journal.events):
        turn = seen[event.place] = seen.get(event.place, -1) + 1
        if isinstance(event, Bits) and (turn < 2 or _is_near(turn, spot)):
            if not delta or _chance(base, event) > delta:
                yield from _flips(base, seed, number, () if turn < 2 else (reach, -reach))
        elif turn < 2 and spot is not None:
            yield from _towards(base, seed, number, spot)
    for far in (reach, -reach, *(() if delta else (100 * FAR, -100 * FAR))):
        yield NoiseScript(seed, shape=partial(far_out, to=far), until=most)
    yield NoiseScript(seed, shape=partial(alternating, to=reach), until=most)
    yield NoiseScript(seed, shape=_tie, until=most)
    for more in range(1, 4):
        yield NoiseScript(seed + 1000 * more)


def _flips(
    base: TracedRun, seed: int, number: int, reaches: tuple[float, ...]
) -> Iterator[NoiseScript]:
    """A comparison that falls the other way; also with all other noise far out."""
    outcomes = {number: np.logical_not(base.journal.events[number].outcome)[()]}
    yield NoiseScript(seed, outcomes=outcomes)
    for far in reaches:
        away = partial(far_out, to=far)
        yield NoiseScript(seed, outcomes=outcomes, shape=away, until=base.journal.draws.top)


def _towards(base: TracedRun, seed: int, number: int, spot: int) -> Iterator[NoiseScript]:
    """Samples, orders and whole numbers that take the record that differs."""
    event = base.journal.events[number]
    if isinstance(event, Pick):
        for outcome in _with_record(event, spot):
            yield NoiseScript(seed, outcomes={number: outcome})
    elif isinstance(event, Value):
        fixed = _at_record(base, event, spot)
        if fixed:
            yield NoiseScript(seed, fixed=fixed)


def _is_near(turn: int, spot: int | None) -> bool:
    """Whether the coin of this turn may be that of the record that differs, in a loop over all."""
    return spot is not None and turn in {spot - 1, spot}


def _at_record(base: TracedRun, event: Value, spot: int) -> dict[int, float]:
    """Whole numbers that may be the place of a record, set to that of the one that differs."""
    draws = base.journal.draws
    first = np.ravel(event.idx)[:1].tolist()
    whole = [j for j in first if draws.law_of(j).name == "integers"]
    return {j: float(spot) for j in whole if spot < draws.law_of(j).parameter}


def _with_record(event: Pick, spot: int) -> Iterator[Any]:
    """Outcomes of an order or of a sample in which one record stands first, or last."""
    outcome = np.array(event.outcome)
    if outcome.ndim != 1 or not outcome.size or outcome.dtype.kind not in "iu":
        return
    if event.key[0] == "permutation" and spot < len(outcome):
        others = outcome[outcome != spot]
        yield np.r_[spot, others]
        yield np.r_[others, spot]
    elif event.key[0] == "choice" and event.weights is None and spot < event.key[2]:
        outcome[0] = spot if spot not in outcome else outcome[0]
        yield outcome


def _chance(base: TracedRun, event: Bits) -> float:
    """The probability that a comparison falls the other way; of several, the least likely one."""
    shape = np.shape(event.idx)
    parts = [np.broadcast_to(np.asarray(x), shape).reshape(-1) for x in (event.offset, event.coef)]
    lows, highs = (np.ravel(x) for x in event.window)
    raised = np.ravel(event.raised)
    chances = []
    for i, j in enumerate(np.ravel(event.idx)[:_MOST_COINS]):
        up = bool(raised[i]) == bool(parts[1][i] > 0)
        window = (float(lows[i]), float(highs[i]))
        law = base.journal.draws.law_of(int(j))
        chances.append(float(coin(law, window, float(-parts[0][i] / parts[1][i]), up=up)[1]))
    return min(chances, default=0.0)


def worst_script(twin: Twin, seed: int, target: float, *, simple: bool) -> NoiseScript:
    """The transcript on which the releases of a twin lose the most, or more than `target`.

    Laplace noise loses |d| wherever z has the sign of its shift d; Gaussian noise loses z·d + d²/2,
    so z is put far enough out. If `simple`, all other noise is 0.
    """
    fixed: dict[int, float] = {}
    moves = [m for m in twin.differences if isinstance(m, Move)]
    for move in moves:
        event = twin.left.journal.events[move.event]
        draws = np.atleast_1d(event.idx)
        many = isinstance(event, Value) and draws.size != np.size(event.values)
        if many or np.isnan(move.values).any() or draws.size <= int(move.flat.max()):
            continue
        step = move.z_other - move.z
        far = np.ones(len(step))
        if move.law.name == "normal":
            far = (target + 1.0) / np.maximum(np.abs(step), 1e-300) / max(len(step), 1)
        names = draws.reshape(-1)[move.flat]
        for j, d, t in zip(names, step, far, strict=True):
            if move.law.name in {"laplace", "normal", "logistic"} and abs(t) < 1e6:
                fixed[int(j)] = float(np.sign(d) * t)
    most = twin.left.journal.draws.top
    return NoiseScript(seed, fixed=fixed, shape=_tie if simple else None, until=most)
