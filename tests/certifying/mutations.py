"""The proved programs with small edits: a scale, a sensitivity, a forgotten noise, an off-by-one.

Some edits keep the claim true, and most do not. No tool may prove one whose verdict is "refuted".
Mutants of finite programs are decided by exact laws in the tests; all others come with neighbors
and an event, as the broken programs do.
"""

import inspect
import linecache
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.stats import norm

from tests.certifying import programs
from tests.certifying.exponentials import below, density, reaches
from tests.certifying.programs import (
    PROGRAMS,
    Counterexample,
    Out,
    Program,
    answers,
    array,
    first_hit,
    mass,
    pattern,
    shown,
    tail,
    wins,
)
from tests.certifying.schemas import Answers, Schema

_BY_NAME = {p.name: p for p in PROGRAMS}


def edited(mechanism: Callable[..., Out], old: str, new: str) -> Callable[..., Out]:
    """The function with the first `old` in its source replaced by `new`."""
    source = inspect.getsource(mechanism)
    if old not in source:
        raise ValueError(f"old={old!r} must occur in {mechanism.__name__}")
    text = source.replace(old, new, 1)
    filename = f"<{mechanism.__name__}: {old} -> {new}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, Any] = dict(vars(programs))
    exec(compile(text, filename, "exec"), names)  # noqa: S102  # our own source
    changed: Callable[..., Out] = names[mechanism.__name__]
    return changed


def _mutant(
    of: str,
    change: str,
    edit: tuple[str, str] | None,
    verdict: Literal["proved", "refuted"],
    *,
    by: Counterexample | None = None,
    schema: Schema | None = None,
    why: str | None = None,
) -> Program:
    original = _BY_NAME[of]
    return replace(
        original,
        name=f"{of}: {change}",
        mechanism=original.mechanism if edit is None else edited(original.mechanism, *edit),
        schema=original.schema if schema is None else schema,
        verdict=verdict,
        why=change if why is None else why,
        counterexample=by,
    )


def _false(
    of: str,
    change: str,
    edit: tuple[str, str] | None,
    by: Counterexample | None = None,
    *,
    schema: Schema | None = None,
) -> Program:
    return _mutant(of, change, edit, "refuted", by=by, schema=schema)


def _true(
    of: str, change: str, edit: tuple[str, str] | None, why: str, *, schema: Schema | None = None
) -> Program:
    return _mutant(of, change, edit, "proved", why=why, schema=schema)


_TWO = Answers(dimension=3, sensitivity=2.0)
_CROSS = (array(0, 0, 1), array(1, 1, 0))
_UP = (np.zeros(3), np.ones(3))
_FIRST = (np.zeros(4), array(1, 0, 0, 0))


def _last_hit(bar: int, noise: int) -> tuple[float, float]:
    return first_hit([0, 0], 1, bar, noise), first_hit([1, 1], 0, bar, noise)


def _hits(misses: int, hits: int, bar: int, noise: int) -> Counterexample:
    """First `misses` below the bar and then `hits` above it, where all answers change sides."""
    low, high = [-0.5] * misses + [0.5] * hits, [0.5] * misses + [-0.5] * hits
    told = [False] * misses + [True] * hits
    return shown(
        array(*low),
        array(*high),
        lambda out: list(out) == told,
        (pattern(low, told, bar, noise), pattern(high, told, bar, noise)),
    )


def _above(t: float, left: Any, right: Any, masses: tuple[float, float]) -> Counterexample:  # noqa: ANN401
    return shown(left, right, lambda out: out > t, masses)


_WINS = (wins([0, 1, 1], 1), wins([1, 0, 0], 1))
_FIRST_WINS = shown(array(0, 1, 1), array(1, 0, 0), lambda out: out == 0, _WINS)
_FIRST_LOSES = shown(array(1, 0, 0), array(0, 1, 1), lambda out: out == 0, _WINS)
_FIRST_WINS_TWO = shown(array(0, 2, 2), array(2, 0, 0), lambda out: out == 0, _WINS)
_FIRST_LOSES_TWO = shown(array(2, 0, 0), array(0, 2, 2), lambda out: out == 0, _WINS)
_NO_NOISE = shown(array(0, 1, 1), array(1, 0, 0), lambda out: out == 0, (0.0, 1.0))

SELECTIONS = (
    _false(
        "sparse vector 1",
        "a quarter of the answers' noise",
        ("scale=4 /", "scale=1 /"),
        shown(*_CROSS, lambda out: out == [False, False, True], _last_hit(2, 1)),
    ),
    _false(
        "sparse vector 1",
        "no noise on answers",
        ("answer + rng.laplace(scale=4 / epsilon)", "answer"),
        shown(
            array(0, 1, 0),
            array(1, 0, 0),
            lambda out: out == [False, True],
            (0.5 * -math.expm1(-0.5), 0.0),
        ),
    ),
    _true(
        "sparse vector 1",
        "no noise on the bar",
        ("rng.laplace(scale=2 / epsilon)", "0.0"),
        "three noisy answers at 1/4 each, whatever is done with them",
    ),
    _false(
        "sparse vector 1",
        "no noise on the bar, eight answers",
        ("rng.laplace(scale=2 / epsilon)", "0.0"),
        shown(
            array(*[0] * 7, 1),
            array(*[1] * 7, 0),
            lambda out: out == [False] * 7 + [True],
            (0.5**7 * (1 - tail(0.25)), tail(0.25) ** 7 * 0.5),
        ),
        schema=answers(8),
    ),
    _false(
        "sparse vector 1",
        "sensitivity 2",
        None,
        shown(
            array(0, 0, 2),
            array(2, 2, 0),
            lambda out: out == [False, False, True],
            (first_hit([0, 0], 2, 2, 4), first_hit([2, 2], 0, 2, 4)),
        ),
        schema=_TWO,
    ),
    _false(
        "sparse vector 1, two hits",
        "noise for half a hit",
        ("scale=8 /", "scale=2 /"),
        _hits(1, 2, 2, 2),
    ),
    _false(
        "sparse vector 1, two hits",
        "the count starts at −8",
        ("hits = 0", "hits = -8"),
        _hits(6, 6, 2, 8),
        schema=answers(12),
    ),
    _true(
        "sparse vector 1, two hits",
        "stops after one",
        ("hits >= 2", "hits >= 1"),
        "one hit costs less than two",
    ),
    _false(
        "sparse vector 2",
        "noise for an eighth",
        ("scale=8 /", "scale=1 /"),
        shown(*_CROSS, lambda out: out == [False, False, True], _last_hit(4, 1)),
        schema=answers(3),
    ),
    _true(
        "sparse vector 2",
        "the bar keeps its noise",
        ("            bar = rng.laplace(scale=4 / epsilon)\n", ""),
        "bar +1 for 1/4 and two hits at 2/8",
    ),
    _false(
        "sparse vector, monotone answers",
        "half of the answers' noise",
        ("answer + rng.laplace(scale=2 /", "answer + rng.laplace(scale=1 /"),
        shown(
            array(0, 0, 0),
            array(1, 1, 0),
            lambda out: out == 2,
            (first_hit([0, 0], 0, 2, 1), first_hit([1, 1], 0, 2, 1)),
        ),
    ),
    _false(
        "sparse vector, monotone answers",
        "answers that move either way",
        None,
        shown(
            array(0, 0, 0, 1),
            array(1, 1, 1, 0),
            lambda out: out == 3,
            (first_hit([0] * 3, 1, 2, 2), first_hit([1] * 3, 0, 2, 2)),
        ),
        schema=answers(4),
    ),
    _false(
        "numerical sparse vector",
        "no fresh noise",
        ("answer + rng.laplace(scale=3 / epsilon)", "answer"),
        shown(*_UP, lambda out: out == [0.0], (0.5, 0.0)),
    ),
    _false(
        "numerical sparse vector",
        "a third of the fresh noise",
        ("out.append(answer + rng.laplace(scale=3", "out.append(answer + rng.laplace(scale=1"),
        shown(
            *_UP,
            lambda out: len(out) == 1 and out[0] > 1,
            (first_hit([], 0, 3, 6) * tail(1.0), first_hit([], 1, 3, 6) * 0.5),
        ),
    ),
    _false(
        "gap sparse vector",
        "a quarter of the answers' noise",
        ("scale=4 /", "scale=1 /"),
        shown(*_CROSS, lambda out: out[0] == 2, _last_hit(2, 1)),
    ),
    _true(
        "gap sparse vector",
        "no bar at all",
        (" - bar", ""),
        "three noisy answers at 1/4 each, whatever is done with them",
    ),
    _false("noisy max", "half of the noise", ("scale=2 /", "scale=1 /"), _FIRST_WINS),
    _false("noisy max", "no noise", ("s + rng.laplace(scale=2 / epsilon)", "s"), _NO_NOISE),
    _false("noisy max", "sensitivity 2", None, _FIRST_WINS_TWO, schema=_TWO),
    _false(
        "noisy max, loop",
        "the first has no noise",
        ("scores[0] + rng.laplace(scale=2 / epsilon)", "scores[0]"),
        shown(
            array(0, 1, 1),
            array(1, 0, 0),
            lambda out: out == 0,
            (tail(0.5) ** 2, (1 - tail(0.5)) ** 2),
        ),
    ),
    _true(
        "noisy max, loop",
        "the second is never looked at",
        ("range(1,", "range(2,"),
        "noisy max of the others",
    ),
    _false("noisy max, numpy", "one noise for all", ("size=len(scores)", "size=1"), _NO_NOISE),
    _false("noisy max, numpy", "half of the noise", ("scale=2 /", "scale=1 /"), _FIRST_WINS),
    _false(
        "noisy max, monotone with half of the noise",
        "a quarter",
        ("scale=1 /", "scale=0.5 /"),
        shown(
            array(0, 0, 0),
            array(0, 1, 1),
            lambda out: out == 0,
            (1 / 3, mass(density(0, 1), below(2, 1), below(2, 1))),
        ),
    ),
    _false(
        "noisy max with its gap",
        "half of the noise",
        ("scale=2 /", "scale=1 /"),
        shown(array(0, 1, 1), array(1, 0, 0), lambda out: out[0] == 0, _WINS),
    ),
    _false(
        "noisy max with its gap",
        "the value for the gap",
        ("noisy[best] - second", "noisy[best]"),
        shown(*_UP, lambda out: out[1] < 0, (1 / 8, math.exp(-1.5) / 8)),
    ),
    _false("noisy min", "half of the noise", ("scale=2 /", "scale=1 /"), _FIRST_LOSES),
    _false("noisy min", "sensitivity 2", None, _FIRST_LOSES_TWO, schema=_TWO),
    _false(
        "noisy max, exponential",
        "half of the noise",
        ("(2 / epsilon)", "(1 / epsilon)"),
        shown(array(0, 1), array(1, 0), lambda out: out == 0, (0.5 / math.e, 1 - 0.5 / math.e)),
        schema=answers(2),
    ),
    _false(
        "noisy max, exponential",
        "noise subtracted",
        ("s + rng.exponential", "s - rng.exponential"),
        shown(
            array(1, 0, 0),
            array(0, 1, 1),
            lambda out: out == 0,
            (1 - 2 / 3 * math.exp(-0.5), math.exp(-1) / 3),
        ),
    ),
    _false(
        "noisy min, exponential",
        "noise subtracted",
        ("rng.exponential(2 / epsilon) - c", "-rng.exponential(2 / epsilon) - c"),
        shown(
            array(0, 1, 1),
            array(1, 0, 0),
            lambda out: out == 0,
            (1 - 2 / 3 * math.exp(-0.5), math.exp(-1) / 3),
        ),
    ),
)

SUMS = (
    _false(
        "partial sum",
        "half of the noise",
        ("scale=1 /", "scale=0.5 /"),
        _above(1, *_FIRST, (tail(2.0), 0.5)),
    ),
    _false(
        "partial sum",
        "no noise",
        (" + rng.laplace(scale=1 / epsilon)", ""),
        _above(0.5, *_FIRST, (0.0, 1.0)),
    ),
    _false(
        "partial sum",
        "every value counts twice",
        ("total + v", "total + 2 * v"),
        _above(2, *_FIRST, (tail(2.0), 0.5)),
    ),
    _true(
        "partial sum",
        "the first value is left out",
        ("in values:", "in values[1:]:"),
        "a sum of fewer values moves by 1 at most",
    ),
    _false(
        "prefix sums",
        "half of the noise",
        ("scale=1 /", "scale=0.5 /"),
        shown(*_FIRST, lambda out: out[0] > 1, (tail(2.0), 0.5)),
    ),
    _false(
        "prefix sums",
        "no noise",
        (" + rng.laplace(scale=1 / epsilon)", ""),
        shown(*_FIRST, lambda out: out[0] > 0.5, (0.0, 1.0)),
    ),
    _false(
        "smart sum",
        "no noise on blocks",
        ("block + v + rng.laplace(scale=2 / epsilon)", "block + v"),
        shown(*_FIRST, lambda out: out[1] > 0.5, (0.0, 1.0)),
    ),
    _false(
        "smart sum",
        "blocks are not emptied",
        ("block, running = 0.0, done", "running = done"),
        shown(
            *_FIRST,
            lambda out: out[0] > 1 and out[1] > 1 and out[3] - out[1] > 1,
            (tail(0.5) ** 3, 1 / 8),
        ),
    ),
    _false(
        "smart sum",
        "half of the noise on blocks",
        ("scale=2 /", "scale=1 /"),
        shown(*_FIRST, lambda out: out[0] > 1 and out[1] > 1, (tail(0.5) * tail(1.0), 1 / 4)),
    ),
    _false(
        "histogram",
        "half of the noise",
        ("scale=1 /", "scale=0.5 /"),
        shown([], [0], lambda out: out[0] > 1, (tail(2.0), 0.5)),
    ),
    _false(
        "histogram",
        "every record counts twice",
        ("+= 1", "+= 2"),
        shown([], [0], lambda out: out[0] > 2, (tail(2.0), 0.5)),
    ),
    _false(
        "histogram",
        "no noise",
        ("n + rng.laplace(scale=1 / epsilon)", "n"),
        shown([], [0], lambda out: out[0] > 0.5, (0.0, 1.0)),
    ),
    _false(
        "above threshold on means",
        "sums for means",
        (" / 4", ""),
        shown(
            np.array([[0.0, 1.0]] + [[0.0, 0.0]] * 3),
            np.array([[1.0, 0.0]] + [[0, 0]] * 3),
            lambda out: out == 1,
            (
                mass(density(0.5, 0.5), below(0, 1), reaches(1, 1)),
                mass(density(0.5, 0.5), below(1, 1), reaches(0, 1)),
            ),
        ),
    ),
    _false(
        "above threshold on means",
        "no noise on means",
        ("mean + rng.laplace(scale=1 / epsilon)", "mean"),
        shown(
            np.array([[0.0, 1.0]] + [[0.0, 0.0]] * 3),
            np.array([[1.0, 0.0]] + [[0, 0]] * 3),
            lambda out: out == 1,
            (tail(0.5) - tail(1.0), 0.0),
        ),
    ),
    _false(
        "count, then sum",
        "the exact count decides",
        ("if count < 1", "if len(values) < 1"),
        shown(np.array([]), np.array([0.5]), lambda out: out[1] == 0.0, (1.0, 0.0)),
    ),
    _false(
        "count, then sum",
        "half of the noise on the sum",
        ("sum(values) + rng.laplace(scale=2", "sum(values) + rng.laplace(scale=1"),
        shown(
            np.array([0.0]),
            np.array([0.0, 1.0]),
            lambda out: out[0] > 2 and out[1] > 1,
            (tail(0.5) * tail(1.0), 1 / 4),
        ),
    ),
    _false(
        "largest answer",
        "the sum for the maximum",
        ("max(answers)", "sum(answers)"),
        _above(3, *_UP, (tail(3.0), 0.5)),
    ),
    _false(
        "largest answer",
        "half of the noise",
        ("scale=1 /", "scale=0.5 /"),
        _above(1, *_UP, (tail(2.0), 0.5)),
    ),
    _true("median of three", "the smallest for the median", ("[1]", "[0]"), "moves by 1"),
    _false(
        "median of three",
        "sensitivity 2",
        None,
        _above(2, np.zeros(3), np.full(3, 2.0), (tail(2.0), 0.5)),
        schema=_TWO,
    ),
    _true("spread", "sum of largest and smallest", ("- min", "+ min"), "moves by 2, paid for 2"),
    _false(
        "spread",
        "half of the noise",
        ("scale=2 /", "scale=1 /"),
        _above(2, np.zeros(3), array(1, -1, 0), (tail(2.0), 0.5)),
    ),
    _false(
        "clipped Gaussian sum",
        "half of the noise",
        ("scale=2.0", "scale=1.0"),
        _above(1, np.array([]), np.array([1.0]), (float(norm.sf(1.0)), 0.5)),
    ),
    _false(
        "clipped Gaussian sum",
        "no clip",
        ("min(max(v, 0.0), 1.0)", "v"),
        _above(5, np.array([]), np.array([5.0]), (float(norm.sf(2.5)), 0.5)),
    ),
    _true(
        "clipped Gaussian sum",
        "clipped to [−1, 1]",
        ("max(v, 0.0)", "max(v, -1.0)"),
        "an added record moves the sum by 1",
    ),
    # θ stays below 4, where the clip of 5 would end, with probability 1 − 1e-24.
    _false(
        "clipped gradient steps",
        "half of the noise",
        ("scale=2.0", "scale=1.0"),
        _above(0.5, np.array([]), np.array([5.0]), (float(norm.sf(math.sqrt(2.0))), 0.5)),
    ),
    _false(
        "clipped gradient steps",
        "no noise",
        (" + rng.normal(scale=2.0)", ""),
        _above(0.25, np.array([]), np.array([5.0]), (0.0, 1.0)),
    ),
    _false(
        "scaled difference",
        "three quarters of the noise",
        ("4 * rng", "3 * rng"),
        _above(4, np.zeros(2), array(1, -1), (tail(4 / 3), 0.5)),
    ),
    _true(
        "scaled difference",
        "sum for difference",
        ("answers[0] - answers[1]", "answers[0] + answers[1]"),
        "moves by 4, paid for 4",
    ),
    _false(
        "which is larger",
        "half of the noise",
        ("scale=2 /", "scale=1 /"),
        shown(array(0, 1), array(1, 0), bool, (tail(1.0), 1 - tail(1.0))),
    ),
    _true("which is larger", "by one at least", ("> 0", ">= 1"), "the same difference"),
    _false(
        "hits counted",
        "half of the noise",
        ("scale=1 /", "scale=0.5 /"),
        shown(np.zeros(2), array(-1, 0), lambda out: out == 2, (1 / 4, tail(2.0) / 2)),
    ),
    _true("hits counted", "another bar", (">= 0", ">= 1"), "the same noisy answers"),
)

FINITE = (
    _false("noisy min, geometric", "less noise", ("geometric(0.5)", "geometric(0.75)")),
    _false(
        "noisy min, geometric",
        "noise subtracted",
        ("rng.geometric(0.5) - c", "-rng.geometric(0.5) - c"),
    ),
    _false("noisy max, geometric", "less noise", ("geometric(0.5)", "geometric(0.75)")),
    _false("noisy max, geometric", "no noise", ("s + rng.geometric(0.5)", "s")),
    _true(
        "noisy max, geometric",
        "more noise",
        ("geometric(0.5)", "geometric(0.25)"),
        "ratio 16/9 for 2",
    ),
    _false(
        "noisy max with ties, the last wins", "less noise", ("geometric(0.5)", "geometric(0.75)")
    ),
    _false(
        "noisy max that tells ties",
        "no noise on the second",
        ("scores[1] + rng.geometric(0.5)", "scores[1]"),
    ),
    _false(
        "noisy max that tells ties",
        "less noise",
        ("scores[1] + rng.geometric(0.5)", "scores[1] + rng.geometric(0.875)"),
    ),
    _false("permute and flip", "steeper", ("2.0 **", "4.0 **")),
    _true(
        "permute and flip",
        "the worst is the limit",
        ("max(scores)", "min(scores)"),
        "whoever is asked first is taken: even odds, whatever the scores",
    ),
    _true("permute and flip", "flatter", ("2.0 **", "1.5 **"), "a smaller ε"),
    _false("exponential mechanism", "steeper", ("2.0**s", "4.0**s")),
    _true("exponential mechanism", "flatter", ("2.0**s", "1.5**s"), "a smaller ε"),
    _false(
        "exponential mechanism",
        "without weights",
        (
            "w / total for w in weights",
            "float(w == max(weights)) / weights.count(max(weights)) for w in weights",
        ),
    ),
    _false(
        "histogram with whole noise",
        "less noise",
        ("rng.geometric(0.5) -", "rng.geometric(0.75) -"),
    ),
    _false("histogram with whole noise", "one-sided", (" - rng.geometric(0.5)", " - 1")),
    _false("truncated geometric", "less noise", ("rng.geometric(0.5) -", "rng.geometric(0.75) -")),
    _true("truncated geometric", "cut at 1", ("max(noisy, 0)", "max(noisy, 1)"), "post-processing"),
    _false("truncated geometric", "no noise", ("rng.geometric(0.5) - rng.geometric(0.5)", "0")),
    _false(
        "truncated geometric of ratio e^(−ε)", "twice the rate", ("(-epsilon)", "(-2 * epsilon)")
    ),
    _false("randomized response", "less often a lie", ("0.75", "0.875")),
    _true("randomized response", "more often a lie", ("0.75", "0.625"), "5/8 against 3/8"),
    _false("randomized response", "always the truth", ("0.75", "1.0")),
    _false("response, one of four", "less often a lie", ("0.5", "0.625")),
    _false("response, one of four", "off by one", ("integers(1, 4)", "integers(1, 3)")),
    _false("response, one of four", "lies may be true", ("integers(1, 4)", "integers(0, 4)")),
    _false("unary response", "less often a lie", ("0.25", "0.125")),
    _false(
        "unary response",
        "a bit without noise",
        ("int(rng.random() < 0.25)", "int(a > 0 and rng.random() < 0.25)"),
    ),
    _false("one-time RAPPOR", "less often at random", ("0.5", "0.25")),
    _true(
        "one-time RAPPOR", "two bits for three", ("range(3)", "range(2)"), "two bits differ at most"
    ),
    _false(
        "longitudinal RAPPOR",
        "permanent bits without noise",
        ("rng.random() < 0.5", "rng.random() < 0.0"),
    ),
    _true(
        "longitudinal RAPPOR",
        "three reports",
        ("for _ in range(2)", "for _ in range(3)"),
        "reports are post-processing of the permanent bits",
    ),
    _false("majority of three", "no noise", (" + rng.geometric(0.5) - rng.geometric(0.5)", "")),
    _true("majority of three", "another bar", (">= 2", ">= 1"), "the same noisy count"),
    _false("majority of three", "less noise", (" + rng.geometric(0.5)", " + rng.geometric(0.875)")),
    _false("one record by lot", "of two records", ("integers(3)", "integers(2)")),
    _false("one record by lot", "less often a lie", ("0.75", "0.875")),
    _false("die added", "a smaller die", ("integers(-2, 3)", "integers(-1, 2)")),
    _true("die added", "a larger die", ("integers(-2, 3)", "integers(-3, 4)"), "1/7"),
)

MUTANTS = (*SELECTIONS, *SUMS, *FINITE)
