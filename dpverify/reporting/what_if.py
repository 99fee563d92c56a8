"""What if there were more noise, fewer runs, smaller samples: a grid of answers for a page.

Every point of the grid is certified. More noise, fewer runs, a smaller sampling rate and a larger δ
never cost more (post-processing), so between grid points the worse neighbor's upper end holds, and
that is what the page shows. Beyond the grid it says nothing.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.deadline import time_limit
from dpverify.accounting.parts import Composable
from dpverify.balls import rounded_down, rounded_up
from dpverify.guarantees import Bracket
from dpverify.mechanisms import (
    Gaussian,
    Laplace,
    RandomAllocation,
    Shuffled,
    Subsampled,
    SubsampledWithoutReplacement,
    SubsampledWithReplacement,
)
from dpverify.mechanisms.amplification.subsampled import Samplable
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.reporting.words import ALARM

SECONDS = 15.0
"""How long a grid may take, unless more or less is asked for."""
_SHAPES = ((3, 3, 3), (5, 3, 3), (5, 5, 3), (5, 5, 5), (9, 5, 5), (9, 9, 5), (13, 9, 5))
_REACH = {"noise": 2.0, "runs": 4.0, "rate": 2.0}  # how far the grid goes, up and down
_PATIENCE = 5.0  # times what the first point took, which one point may take at most
_DECADES = range(-4, 2)  # of δ
_MOST_DELTA = 0.1
_COARSE = 0.02  # how wide brackets of ε may be, or a hundredth of it, and relative, of rates

_FINE = 1e-3  # the same of the real numbers, as everywhere else

Name: TypeAlias = Literal["noise", "runs", "rate", "delta"]
Wrapper: TypeAlias = (
    Subsampled
    | SubsampledWithoutReplacement
    | SubsampledWithReplacement
    | RandomAllocation
    | Shuffled
)
Parts: TypeAlias = Sequence[tuple[Composable, int]]
Values: TypeAlias = tuple[float, ...]
Change: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Knob:
    """One number that may be changed: its values, which is the real one, and the worse side.

    `worse` says which neighbor on the grid bounds a value between two.
    """

    name: Name
    label: str
    values: tuple[float, ...]
    now: int
    worse: Literal["below", "above"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": self.label,
            "values": list(self.values),
            "now": self.now,
            "worse": self.worse,
        }


@no_games()
def what_if(  # noqa: PLR0913  # what a page asks for
    parts: Parts,
    relation: Relation,
    delta: float,
    *,
    seconds: float = SECONDS,
    accuracy: Sequence[tuple[float, float]] = (),
    known: Bracket | None = None,
    told: Callable[[int, int], None] = lambda done, of: None,  # noqa: ARG005  # told nothing
) -> dict[str, Any]:
    """The grid around a composition, as plain values; `told` hears how many points are done.

    As fine as the time allows: it is refined while the mean cost of a point says that time is left.
    Where it ran out all the same, `at` names a point that costs no less. `accuracy` is what was
    measured, by noise; `known` is ε at `delta` of the composition itself, if it is known already:
    the page must not contradict its own headline.
    """
    start = time.monotonic()
    deltas = _deltas(delta)
    knobs = _knobs(parts, _SHAPES[0])
    found: dict[Values, dict[str, Any]] = {}
    with time_limit(seconds):
        for shape in _SHAPES:
            finer = _knobs(parts, shape)
            wanted = [each for each in _ordered(finer) if each not in found]
            passed = time.monotonic() - start
            if found and passed / len(found) * len(wanted) > seconds - passed:
                break
            knobs, before = finer, len(found)
            for values in wanted:
                if found and time.monotonic() - start > seconds:
                    break
                patience = _PATIENCE * (time.monotonic() - start) / len(found) if found else seconds
                changed = _changed(parts, relation, knobs, values)
                found[values] = _point(changed, deltas.values, patience, fine=not found)
                told(len(found) - before, len(wanted))
    if known is not None:
        here = found[tuple(knob.values[knob.now] for knob in knobs)]["epsilon"]
        here[deltas.now] = _both(here[deltas.now], known)
    places = list(product(*(knob.values for knob in knobs)))
    return {
        "version": 1,
        "knobs": [knob.to_dict() for knob in (*knobs, deltas)],
        "points": [_best(values, found, knobs, places) for values in places],
        "alarm": ALARM,
        "accuracy": [{"noise": noise, "accuracy": value} for noise, value in sorted(accuracy)],
    }


def _point(
    spent: Accountant, deltas: Sequence[float], seconds: float, *, fine: bool
) -> dict[str, Any]:
    """ε at every δ, both ends, and two risks; few digits, rounded towards safety."""
    with time_limit(seconds):
        gained = spent.advantage(tolerance=_COARSE).upper
        found = spent.true_positive_rate(ALARM, tolerance=_COARSE).upper
        rough = spent.epsilon(deltas[len(deltas) // 2], tolerance=0.1).upper
        width = max(_COARSE, rough / 100) if rough < math.inf and not fine else _FINE
        brackets = [spent.epsilon(delta, tolerance=width) for delta in deltas]
    return {
        "epsilon": [_ends(each) for each in brackets],
        "advantage": float(rounded_up(gained)),
        "found": float(rounded_up(found)),
    }


def _ends(bracket: Bracket) -> list[float | str]:
    return [
        _told(rounded_down(bracket.lower, digits=5)),
        _told(rounded_up(bracket.upper, digits=5)),
    ]


def _both(shown: list[float | str], known: Bracket) -> list[float | str]:
    """The ends of two brackets of one number: the larger lower and the smaller upper end."""
    low, high = _ends(known)
    return [
        max(shown[0], low, key=_as_float),
        min(shown[1], high, key=_as_float),
    ]


def _as_float(end: float | str) -> float:
    return math.inf if end == "∞" else float(end)


def _told(text: str) -> float | str:
    return text if text == "∞" else float(text)


def _ordered(knobs: Sequence[Knob]) -> list[Values]:
    """The values in the order in which they are computed: the real ones, then outwards."""

    def distance(place: tuple[int, ...]) -> int:
        return sum(abs(i - knob.now) for i, knob in zip(place, knobs, strict=True))

    places = product(*(range(len(knob.values)) for knob in knobs))
    return [
        tuple(knob.values[i] for i, knob in zip(place, knobs, strict=True))
        for place in sorted(places, key=distance)
    ]


def _best(
    values: Values, found: dict[Values, dict[str, Any]], knobs: Sequence[Knob], places: list[Values]
) -> dict[str, Any] | None:
    """The point; where time ran out, the nearest one that costs no less in anything, and which."""
    if values in found:
        return found[values]
    worse = [other for other in places if other in found and _is_worse(other, values, knobs)]
    if not worse:
        return None

    def distance(other: Values) -> float:
        return sum(abs(math.log(a / b)) for a, b in zip(other, values, strict=True))

    return {"at": places.index(min(worse, key=distance))}


def _is_worse(values: Values, than: Values, knobs: Sequence[Knob]) -> bool:
    return all(
        a <= b if knob.worse == "below" else a >= b
        for a, b, knob in zip(values, than, knobs, strict=True)
    )


def _deltas(delta: float) -> Knob:
    """Powers of ten around δ; δ = 0 stands alone."""
    values = [delta * 10.0**power for power in _DECADES] if delta > 0 else [delta]
    values = sorted({float(f"{v:.3g}") if v != delta else v for v in values if v <= _MOST_DELTA})
    values = values or [delta]
    return Knob(
        "delta",
        "δ",
        tuple(values),
        values.index(min(values, key=lambda v: abs(v - delta))),
        "below",
    )


def _knobs(parts: Parts, shape: tuple[int, ...]) -> tuple[Knob, ...]:
    """Noise, runs and sampling rate, where there are such; of several parts, as factors."""
    noises = [n for part, _ in parts for n in _numbers(part, "noise")]
    rates = [r for part, _ in parts for r in _numbers(part, "rate")]
    alone = len(parts) == 1
    knobs = []
    if noises:
        symbol = "σ" if any(isinstance(_inner(part), Gaussian) for part, _ in parts) else "scale"
        knobs.append(_knob("noise", symbol, noises[0] if alone else None, shape[0], "below"))
    knobs.append(_knob("runs", "runs", float(parts[0][1]) if alone else None, shape[1], "above"))
    if rates:
        knobs.append(_knob("rate", "sampling rate", rates[0] if alone else None, shape[2], "above"))
    return tuple(knobs)


def _knob(
    name: Literal["noise", "runs", "rate"],
    label: str,
    now: float | None,
    count: int,
    worse: Literal["below", "above"],
) -> Knob:
    """Values around `now`, of three digits, which is kept as it is; factors where it is None."""
    center = 1.0 if now is None else now
    half = count // 2
    factors = [_REACH[name] ** (k / max(half, 1)) for k in range(-half, half + 1)]
    values = {center}
    for factor in factors:
        value = float(f"{center * factor:.3g}")
        if name == "runs" and now is not None:
            value = float(max(1, round(value)))
        if factor != 1 and not (name == "rate" and now is not None and value > 1):
            values.add(value)
    ordered = sorted(values)
    told = label if now is not None else f"{label}, all times"
    return Knob(name, told, tuple(ordered), ordered.index(center), worse)


def _changed(
    parts: Parts, relation: Relation, knobs: tuple[Knob, ...], values: Values
) -> Accountant:
    """The composition with these values."""
    chosen = {knob.name: value for knob, value in zip(knobs, values, strict=True)}
    alone = len(parts) == 1

    def to(name: Name) -> Change:
        value = chosen.get(name)
        if value is None:
            return lambda old: old
        return (lambda _: value) if alone else (lambda old: old * value)

    spent = Accountant(relation=relation)
    for part, times in parts:
        runs = max(1, math.ceil(to("runs")(float(times)) * (1 - 1e-12)))
        spent = spent.compose(_with(part, to("noise"), to("rate")), times=runs)
    return spent


def _with(part: Composable, noise: Change, rate: Change) -> Composable:
    """The part with other noise and rate, where it has them."""
    match part:
        case Gaussian():
            return replace(part, sigma=noise(part.sigma))
        case Laplace():
            return replace(part, scale=noise(part.scale))
        case Subsampled() if _has_rate(part):
            return replace(part, mechanism=_within(part, noise), rate=min(rate(part.rate), 1.0))
        case _ if isinstance(part, Wrapper):
            return replace(part, mechanism=_within(part, noise))
        case _:
            return part


def _within(part: Wrapper, noise: Change) -> Samplable | Pair:
    """What is run on samples, with other noise; one that runs on samples itself is left alone."""
    match part.mechanism:
        case Gaussian() as inner:
            return replace(inner, sigma=noise(inner.sigma))
        case Laplace() as inner:
            return replace(inner, scale=noise(inner.scale))
        case inner:
            return inner


def _has_rate(part: Subsampled) -> bool:
    return part.records == 1 and part.at_most is None


def _inner(part: object) -> object:
    return part.mechanism if isinstance(part, Wrapper) else part


def _numbers(part: object, name: Literal["noise", "rate"]) -> Iterator[float]:
    """The noise or the rate of a part, if it has one that may be changed."""
    inner = _inner(part)
    if name == "noise" and isinstance(inner, Gaussian):
        yield inner.sigma
    if name == "noise" and isinstance(inner, Laplace):
        yield inner.scale
    if name == "rate" and isinstance(part, Subsampled) and _has_rate(part):
        yield part.rate
