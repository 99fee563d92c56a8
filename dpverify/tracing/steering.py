"""Noise that is chosen: both sides of every comparison, far out, and at ties."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.tracing.events import Bits, Move, Value
from dpverify.tracing.journal import Script
from dpverify.tracing.laws import Law
from dpverify.tracing.runs import Run, Twin

_FAR = 12.0  # in scales: what happens once in 160,000 runs with Laplace noise


def _all(value: Any, to: float) -> Any:  # noqa: ANN401  # a float or an array
    return np.full_like(value, to) if isinstance(value, np.ndarray) else to


def _far(law: Law, value: Any, sign: float) -> Any:  # noqa: ANN401
    match law.name:
        case "uniform":
            return _all(value, 0.5 + 0.4999 * sign)
        case "exponential" | "geometric":
            return _all(value, _FAR if sign > 0 else (1.0 if law.name == "geometric" else 1e-3))
        case "integers":
            return _all(value, law.parameter - 1.0 if sign > 0 else 0.0)
        case _:
            return _all(value, sign * _FAR)


def _alternating(law: Law, value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, np.ndarray):
        return _far(law, value, 1.0 if value > 0.5 else -1.0)
    ups, downs = _far(law, value, 1.0), _far(law, value, -1.0)
    return np.where(np.arange(value.size).reshape(value.shape) % 2 == 0, ups, downs)


def _tie(law: Law, value: Any) -> Any:  # noqa: ANN401
    return value if law.name in {"uniform", "integers", "geometric"} else _all(value, 0.0)


def scripts(base: Run, seed: int) -> Iterator[Script]:
    """Transcripts worth tracing after a first one: flips of its comparisons come first."""
    seen: dict[Any, int] = {}
    most = base.journal.draws.top
    for number, event in enumerate(base.journal.events):
        if isinstance(event, Bits) and seen.setdefault(event.place, 0) < 2:
            seen[event.place] += 1
            yield Script(seed, outcomes={number: np.logical_not(event.outcome)[()]})
    yield Script(seed, shape=lambda law, z: _far(law, z, 1.0), until=most)
    yield Script(seed, shape=lambda law, z: _far(law, z, -1.0), until=most)
    yield Script(seed, shape=_alternating, until=most)
    yield Script(seed, shape=_tie, until=most)
    for more in range(1, 4):
        yield Script(seed + 1000 * more)


def worst_script(twin: Twin, seed: int, target: float, *, simple: bool) -> Script:
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
    return Script(seed, fixed=fixed, shape=_tie if simple else None, until=most)
