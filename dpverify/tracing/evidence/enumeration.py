"""Exact output distributions if all randomness is a few coins: each outcome is forced in turn."""

# ruff: noqa: ANN401  # data and outputs are whatever a mechanism takes and returns

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, islice, permutations, product
from typing import Any

import numpy as np
from flint import arb

from dpverify.auditing.sampling.spelling import canonical
from dpverify.pairs.finite import FinitePair
from dpverify.tracing.noise.generator import NotTraceable
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Bits, Event, Pick, Value
from dpverify.tracing.recording.journal import Recording
from dpverify.tracing.recording.laws import as_fraction, coin
from dpverify.tracing.recording.places import Place
from dpverify.tracing.recording.runs import TracedRun, record

_MOST_BITS = 5
_MOST_ORDER = 4
_REPEATS = 24  # runs that are made again at least, so that an unseen coin shows
_Listed = list[tuple[dict[int, Any], str]]


@dataclass(frozen=True, slots=True)
class Enumerated:
    """The exact distributions of the output on both sides, and the lines that drew."""

    pair: FinitePair
    outputs: tuple[str, ...]
    places: tuple[Place, ...]
    repeated: bool


class NotRepeated(Exception):
    """Raised if a run gave another output when repeated, so some randomness is not seen."""

    def __init__(self, runs: int) -> None:
        super().__init__(runs)
        self.runs = runs


class TooMany(Exception):
    """Raised if there are more outcomes than the budget allows, or randomness is not finite."""


def enumerable(run: TracedRun) -> bool:
    """Whether all randomness in the run has finitely many outcomes of known probability."""
    events = run.journal.events
    return bool(events) and all(_is_finite(run.journal, event) for event in events)


def _is_finite(journal: Recording, event: Event) -> bool:
    match event:
        case Bits():
            known = np.any(journal.draws.used[event.idx]) and not _is_whole(journal, event)
            return np.size(event.idx) <= _MOST_BITS and not known
        case Pick():
            if event.key[0] == "permutation":
                return bool(event.key[1] <= _MOST_ORDER)
            return event.weights is not None and np.ndim(event.outcome) == 0
        case Value():
            laws = journal.draws.names_of(np.atleast_1d(event.idx))
            return np.ndim(event.idx) == 0 and all(law.name == "integers" for law in laws)
        case _:
            return False


def _is_whole(journal: Recording, event: Bits) -> bool:
    """Whether whole numbers are compared; only these can be enumerated if released later."""
    laws = journal.draws.names_of(np.atleast_1d(event.idx))
    return all(law.name == "integers" for law in laws)


def paths(run: TracedRun) -> int:
    """How many runs enumerating all outcomes would take, estimated from one run."""
    total = 1
    for event in run.journal.events:
        match event:
            case Value() if event.fresh:
                total *= int(run.journal.draws.law_of(int(event.idx)).parameter)
            case Pick() if event.key[0] == "permutation":
                total *= math.factorial(event.key[1])
            case Pick(weights=weights) if weights is not None:
                total *= len(weights)
            case Bits():
                total *= 2 ** np.size(event.idx)
            case _:
                pass
    return total


def enumerated(
    mechanism: Any, left: Any, right: Any, seed: int, budget: int
) -> tuple[Enumerated | None, int]:
    """The exact distributions of the output, and the number of runs; None beyond the budget."""
    count = [0]
    try:
        one = _law(mechanism, left, seed, budget // 2, count)
        two = _law(mechanism, right, seed, budget - count[0], count)
    except TooMany:
        return None, count[0]
    repeated = _repeated(mechanism, ((left, one[2]), (right, two[2])), seed, budget, count)
    names = tuple(dict.fromkeys([*one[0], *two[0]]))
    masses = [[law.get(name, Fraction(0)) for name in names] for law in (one[0], two[0])]
    scaled = [[mass / sum(side) for mass in side] for side in masses]
    pair = FinitePair(left=scaled[0], right=scaled[1])
    places = tuple(dict.fromkeys([*one[1], *two[1]]))
    return Enumerated(pair, names, places, repeated), count[0]


def _repeated(
    mechanism: Any,
    sides: tuple[tuple[Any, _Listed], ...],
    seed: int,
    budget: int,
    count: list[int],
) -> bool:
    """Repeat every enumerated run, some number of times in all; whether the budget was enough.

    A coin that is not seen makes some of them differ, and the laws that were listed no laws.
    """
    every = [(data, forced, name) for data, runs in sides for forced, name in runs]
    for data, forced, name in islice(cycle(every), max(len(every), _REPEATS)):
        if count[0] >= budget:
            return False
        count[0] += 1
        if _spelled(record(mechanism, data, NoiseScript(seed, outcomes=forced))) != name:
            raise NotRepeated(count[0])
    return True


def _spelled(run: TracedRun) -> str:
    return canonical(sorted((repr(p), canonical(v)) for p, v in run.leaves.items()))


def _law(
    mechanism: Any, data: Any, seed: int, budget: int, count: list[int]
) -> tuple[dict[str, Fraction], list[Place], _Listed]:
    listed: _Listed = []
    masses: dict[str, Fraction] = {}
    places: dict[Place, None] = {}
    waiting: list[dict[int, Any]] = [{}]
    runs = 0
    while waiting:
        forced = waiting.pop()
        runs += 1
        count[0] += 1
        if runs + len(waiting) > budget:
            raise TooMany
        run = record(mechanism, data, NoiseScript(seed, outcomes=forced))
        for puzzle in run.journal.puzzles:
            raise NotTraceable(puzzle.what, puzzle.place)
        if not run.journal.events or not enumerable(run):
            raise TooMany
        mass = Fraction(1)
        taken: dict[int, Any] = {}
        for number, event in enumerate(run.journal.events):
            places[event.place] = None
            options = dict(_options(run.journal, number, event))
            outcome = _key(event)
            if number not in forced:
                waiting += [
                    {**taken, number: _forced(event, key)}
                    for key, chance in options.items()
                    if key != outcome and chance > 0
                ]
            elif _key_of(forced[number]) != outcome:
                mass = Fraction(0)
            taken[number] = _forced(event, outcome)
            mass *= options[outcome]
        name = _spelled(run)
        listed.append((forced, name))
        masses[name] = masses.get(name, Fraction(0)) + mass
    total = sum(masses.values(), Fraction(0))
    if abs(float(total) - 1.0) > 1e-12:
        raise TooMany
    return masses, list(places), listed


def _key(event: Any) -> Any:
    return _key_of(event.values if isinstance(event, Value) else event.outcome)


def _key_of(outcome: Any) -> Any:
    plain = np.asarray(outcome).tolist()
    return tuple(plain) if isinstance(plain, list) else plain


def _forced(event: Any, key: Any) -> Any:
    """The outcome in the form that the journal takes."""
    del event
    return np.array(key) if isinstance(key, tuple) else key


def _options(journal: Recording, number: int, event: Any) -> Iterator[tuple[Any, Fraction]]:
    """Every outcome of an event with its probability, given earlier comparisons."""
    match event:
        case Value() if not event.fresh:
            yield float(event.values), Fraction(1)
        case Value():
            every = _left(journal, number, int(event.idx))
            for k in every:
                yield float(event.offset + event.coef * k), Fraction(1, len(every))
        case Pick() if event.key[0] == "permutation":
            orders = list(permutations(range(event.key[1])))
            yield from ((order, Fraction(1, len(orders))) for order in orders)
        case Pick(weights=weights) if weights is not None:
            exact = [Fraction(float(w)) for w in weights]
            total = sum(exact, Fraction(0))
            yield from ((k, w / total) for k, w in enumerate(exact))
        case Bits():
            yield from _bits(journal, event)
        case _:
            raise TooMany


def _left(journal: Recording, number: int, j: int) -> list[int]:
    """The whole numbers that a draw can still be after the comparisons so far."""
    every = list(range(int(journal.draws.law_of(j).parameter)))
    for event in journal.events[:number]:
        if isinstance(event, Bits):
            shape = np.shape(event.idx)
            parts = (event.offset, event.coef, event.raised)
            v, c, raised = (np.broadcast_to(x, shape).reshape(-1) for x in parts)
            for i in np.flatnonzero(np.ravel(event.idx) == j).tolist():
                every = [k for k in every if (v[i] + c[i] * k > 0) == raised[i]]
    return every


def _exact(chance: arb) -> Fraction:
    """A probability as an exact rational of moderate size."""
    if chance == 0:
        return Fraction(0)
    if not chance > arb(2) ** -1000:
        raise TooMany
    return as_fraction(chance)


def _bits(journal: Recording, event: Bits) -> Iterator[tuple[Any, Fraction]]:
    shape = np.shape(event.idx)
    flat = [np.broadcast_to(np.asarray(x), shape).reshape(-1) for x in (event.offset, event.coef)]
    draws = np.ravel(event.idx)
    seen, raised = np.ravel(event.outcome), np.ravel(event.raised)
    lows, highs = (np.ravel(x) for x in event.window)
    chances = []
    for i, j in enumerate(draws):
        up = bool(raised[i]) == bool(flat[1][i] > 0)
        window = (float(lows[i]), float(highs[i]))
        cut = float(-flat[0][i] / flat[1][i])
        chances.append([_exact(p) for p in coin(journal.draws.law_of(int(j)), window, cut, up=up)])
    for others in product((False, True), repeat=len(draws)):
        mass = Fraction(1)
        for flip, chance in zip(others, chances, strict=True):
            mass *= chance[int(flip)]
        key = tuple(bool(s) != flip for s, flip in zip(seen, others, strict=True))
        yield (key if shape else key[0]), mass
