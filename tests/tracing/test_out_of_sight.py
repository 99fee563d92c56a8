"""Noisy whole numbers that code looks up, joins and tests; and noise that is made by hand."""

# ruff: noqa: ANN401, S311  # data of any kind; the mechanisms are meant to be traced

import collections
import math
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing import Traced, trace
from dpverify.tracing.recording.meetings import meetings

Rng = np.random.Generator
Mechanism = Callable[[Any, Rng], Any]
TENTH = PureDP(epsilon=0.1)
NAMES = [101, 205, 307], [101, 205, 308]


def _two_sided(rng: Rng, size: int | None = None, rate: float = 0.1) -> Any:
    p = -math.expm1(-rate)
    return rng.geometric(p, size) - rng.geometric(p, size)


def _traced(
    mechanism: Mechanism, left: Any, right: Any, claim: Any = TENTH, executions: int = 100
) -> Traced:
    return trace(
        mechanism,
        left=left,
        right=right,
        claim=claim,
        seed=0,
        confirm=False,
        executions=executions,
    )


# A single value of a noisy whole number tells the data.


def _one_of_two(x: Any, rng: Rng) -> Any:
    noisy = np.array(x) + _two_sided(rng, 2)
    return np.where(np.isin(noisy, [41, 42]), x, noisy)


def _masked(x: Any, rng: Rng) -> Any:
    noisy = pd.Series(np.array(x) + _two_sided(rng, 2))
    return noisy.where(noisy != 41, x[0]).tolist()


def _one_of_two_of_a_series(x: Any, rng: Rng) -> Any:
    noisy = pd.Series(np.array(x) + _two_sided(rng, 2))
    noisy[noisy.isin([41, 42])] = x[0]
    return noisy.tolist()


def _queried(x: Any, rng: Rng) -> Any:
    noisy = pd.DataFrame({"n": np.array(x) + _two_sided(rng, 2)})
    return x if len(noisy.query("n == 42")) else noisy["n"].tolist()


def _none_is_zero(x: Any, rng: Rng) -> Any:
    noisy = np.array(x) + _two_sided(rng, 2)
    return x if np.count_nonzero(noisy - 42) < 2 else noisy


@pytest.mark.parametrize(
    "mechanism", [_one_of_two, _masked, _one_of_two_of_a_series, _queried, _none_is_zero]
)
def test_whole_numbers_come_to_the_numbers_of_the_code(mechanism: Mechanism) -> None:
    assert _traced(mechanism, [3, 4], [4, 4]).verdict == "leaking"


def _large(x: Any, rng: Rng) -> Any:
    noisy = np.array(x) + _two_sided(rng, len(x), rate=1.0)
    return np.where(noisy == 412, x, noisy)


def test_tables_of_whole_numbers_come_to_the_numbers_of_the_code() -> None:
    many = list(range(400))
    found = _traced(_large, many, [*many[:-3], 398, *many[-2:]], PureDP(epsilon=1.0))
    assert found.verdict == "leaking"


def _member(x: Any, rng: Rng) -> Any:
    return np.isin(np.array([290, 290]) + _two_sided(rng, 2), x)


def _joined(x: Any, rng: Rng) -> Any:
    noisy = pd.DataFrame({"id": np.array([290, 290]) + _two_sided(rng, 2)})
    return noisy.merge(pd.DataFrame({"id": x}), how="inner").shape[0]


def _looked_up(x: Any, rng: Rng) -> Any:
    return dict.fromkeys(x, 1).get(int(290 + _two_sided(rng)), 0)


def _counted(x: Any, rng: Rng) -> Any:
    return collections.Counter(x)[int(290 + _two_sided(rng))]


def _equal_in_a_column(x: Any, rng: Rng) -> Any:
    return int((pd.DataFrame({"id": x})["id"] == int(290 + _two_sided(rng))).sum())


@pytest.mark.parametrize("mechanism", [_member, _joined, _looked_up, _counted, _equal_in_a_column])
def test_whole_numbers_come_to_the_numbers_of_the_data(mechanism: Mechanism) -> None:
    assert _traced(mechanism, *NAMES).verdict in {"leaking", "not understood"}


def _member_of_products(x: Any, rng: Rng) -> Any:
    return np.isin(np.array([20, 30]) + _two_sided(rng, 2), np.array(x) * 3)


def _mapped(x: Any, rng: Rng) -> Any:
    noisy = pd.Series(np.array([290, 290]) + _two_sided(rng, 2))
    return noisy.map({7 * k: 1 for k in x}).fillna(0).tolist()


@pytest.mark.parametrize(
    ("mechanism", "left", "right"), [(_member_of_products, [3, 4], [4, 4]), (_mapped, *NAMES)]
)
def test_data_that_meet_them_otherwise_are_not_understood(
    mechanism: Mechanism, left: Any, right: Any
) -> None:
    found = _traced(mechanism, left, right)
    assert found.verdict == "not understood"
    assert "meet data here" in found.puzzles[0].what
    assert found.puzzles[0].place.filename == __file__


def test_numbers_inside_a_list_are_seen_to_meet_data() -> None:
    def binned(x: Any, rng: Rng) -> Any:
        edges = (np.array([90, 290]) + rng.laplace(0, 10, size=2)).tolist()
        return np.digitize(x, sorted(edges)).tolist()

    assert _traced(binned, *NAMES).verdict != "shown"


def _key(x: Any) -> int:
    return int(37 * sum(x) + 411)


def _whole(rng: Rng) -> int:
    return round(float(rng.laplace(scale=1000.0)))


def _added_to_a_set(x: Any, rng: Rng) -> Any:
    known = {_key(x)}
    known.add(_whole(rng))
    return len(known)


def _stored(x: Any, rng: Rng) -> Any:
    table = {_key(x): 1}
    table[_whole(rng)] = 2
    return len(table)


def _kept_apart(x: Any, rng: Rng) -> Any:
    return len(np.unique(np.concatenate([[_key(x)], [_whole(rng)]])))


def _aligned(x: Any, rng: Rng) -> Any:
    return len(pd.Series([1], index=[_key(x)]) + pd.Series([1], index=[_whole(rng)]))


def _column_put_in(x: Any, rng: Rng) -> Any:
    table = pd.DataFrame({"x": [1]}, index=[_key(x)])
    table["y"] = pd.Series([1.0], index=[_whole(rng)])
    return bool(table.y.isna().iloc[0])


def startswith(x: Any, rng: Rng) -> Any:
    return f"{_key(x)}x".startswith(f"{_whole(rng)}x")  # the method is not this function


SELDOM: dict[str, Mechanism] = {
    "set": lambda x, rng: len({_key(x), _whole(rng)}),
    "keys": lambda x, rng: len({_key(x): 1, _whole(rng): 2}),
    "setdefault": lambda x, rng: {_key(x): "hit"}.setdefault(_whole(rng), "no"),
    "bits": lambda x, rng: bool(_whole(rng) ^ _key(x)),
    "zero": lambda x, rng: not (_whole(rng) + (-_key(x))),
    "nested": lambda x, rng: ((_whole(rng),), 1) == ((_key(x),), 1),
    "text": lambda x, rng: len(set(f"{_whole(rng)},{_key(x)}".split(","))),
    "loc": lambda x, rng: pd.Series([1], index=[_key(x)]).get(_whole(rng), 0),
}


@pytest.mark.parametrize(
    "mechanism", [_added_to_a_set, _stored, _kept_apart, _aligned, _column_put_in, startswith]
)
def test_functions_in_which_they_meet_otherwise_are_not_understood(mechanism: Mechanism) -> None:
    assert _traced(mechanism, [1, 2, 5], [1, 2, 4], PureDP(epsilon=1.0)).verdict != "shown"


@pytest.mark.parametrize("name", SELDOM)
def test_expressions_in_which_they_meet_otherwise_are_not_understood(name: str) -> None:
    assert _traced(SELDOM[name], [1, 2, 5], [1, 2, 4], PureDP(epsilon=1.0)).verdict != "shown"


def _by_two_numbers(x: Any, rng: Rng) -> Any:
    a, b = float(rng.laplace()), float(sum(x) + rng.laplace())
    return x if a / b > 1000 else b


def _by_a_remainder(x: Any, rng: Rng) -> Any:
    noisy = float(sum(x) + rng.laplace())
    return x if noisy % 1 < 1e-7 else noisy


@pytest.mark.parametrize("mechanism", [_by_two_numbers, _by_a_remainder])
def test_a_branch_that_no_run_takes_is_looked_at(mechanism: Mechanism) -> None:
    found = _traced(mechanism, [1.0, 2.0], [1.0, 1.0], PureDP(epsilon=1.0))
    places = [each.place for each in (*found.puzzles, *found.leaks)]
    assert found.verdict in {"not understood", "leaking"}
    assert places[0].filename == __file__


# What is computed from noisy numbers alone, or paid for again, is shown.


def _left_out(x: Any, rng: Rng) -> Any:
    noisy = pd.Series(np.array(x) + _two_sided(rng, 2))
    return noisy[~noisy.isin([41, 42])].map({12: 1}).fillna(-1).tolist()


def _grouped(x: Any, rng: Rng) -> Any:
    bound = float(5 + rng.laplace(0, 10))
    table = pd.DataFrame({"v": x})
    table["high"] = table["v"] > bound
    counts = table.groupby("high")["v"].count()
    return bound, [float(counts.get(high, 0) + rng.laplace(0, 20)) for high in (False, True)]


def _cut_at_a_noisy_bound(x: Any, rng: Rng) -> Any:
    bound = float(np.clip(8 + rng.laplace(0, 10), 1, 9))
    return bound, float(pd.Series(x).clip(upper=bound).sum() + rng.laplace(0, 10 * bound))


def _rows_above_a_noisy_bound(x: Any, rng: Rng) -> Any:
    bound, table = float(5 + rng.laplace(0, 10)), pd.DataFrame({"v": x})
    return bound, float(len(table[table["v"] > bound]) + rng.laplace(0, 10))


def _kept_in_a_set(x: Any, rng: Rng) -> Any:
    noisy = [int(value + _two_sided(rng)) for value in x]
    return len(set(noisy)), {value ^ 3 for value in noisy}, collections.Counter(noisy)[4]


@pytest.mark.parametrize(
    "mechanism",
    [_left_out, _grouped, _cut_at_a_noisy_bound, _rows_above_a_noisy_bound, _kept_in_a_set],
)
def test_honest_uses_are_shown(mechanism: Mechanism) -> None:
    assert _traced(mechanism, [3, 4], [4, 4]).verdict == "shown"


def test_a_value_rarer_than_delta_may_tell() -> None:
    def told(x: Any, rng: Rng) -> Any:
        number = int(rng.integers(1000))
        return x[0] if np.isin(number, [x[1]]) else "public"

    found = _traced(told, [0, 4], [1, 4], ApproxDP(epsilon=1.0, delta=0.00101))
    assert found.verdict != "leaking"
    assert _traced(told, [0, 4], [1, 4]).verdict != "shown"


def test_code_that_groups_a_table_can_be_looked_into() -> None:
    def grouped(x: Any, _: Any) -> Any:
        return pd.DataFrame({"v": x}).groupby("v").size().get(3, 0) < 7

    with meetings(grouped) as met:
        assert grouped([3, 4], None)
    assert met.gaps


# Noise that is made by hand: no leak, and nothing is shown.


def _remainder(x: Any, _: Rng) -> Any:
    return x[0] if secrets.randbits(64) % 100 < 95 else 1 - x[0]


def _bits(x: Any, _: Rng) -> Any:
    return x[0] if secrets.randbits(32) & 127 else 1 - x[0]


def _digits(x: Any, rng: Rng) -> Any:
    return x[0] if float(rng.random()) * 1e6 % 1 > 0.01 else 1 - x[0]


def _dice(x: Any, rng: Rng) -> Any:
    return x[0] if sum(int(face) for face in rng.integers(1, 7, size=3)) != 3 else 1 - x[0]


def _all_of_eight(x: Any, rng: Rng) -> Any:
    return x[0] if not np.all(rng.random(8) < 0.3) else 1 - x[0]


def _longest_run(x: Any, rng: Rng) -> Any:
    heads = 0
    while rng.random() < 0.5:
        heads += 1
    return x[0] if heads < 12 else 1 - x[0]


def _first_of_a_shuffle(x: Any, rng: Rng) -> Any:
    order = list(range(60))
    rng.shuffle(order)
    return x[0] if order[0] != 17 else 1 - x[0]


def _one_of_many(x: Any, _: Rng) -> Any:
    return x[0] if random.randint(1, 500) != 77 else 1 - x[0]


def _drawn_sign(x: Any, rng: Rng) -> Any:
    return x[0] + rng.choice([-1, 1]) * rng.exponential()


def _turned_by_a_coin(x: Any, rng: Rng) -> Any:
    noise = rng.exponential()
    return x[0] + (-noise if rng.random() < 0.5 else noise)


def _python_sign(x: Any, _: Rng) -> Any:
    return x[0] + random.choice((-1, 1)) * random.expovariate(1.0)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(_remainder, _bits, _digits, _drawn_sign, _turned_by_a_coin, _python_sign),
        *(_dice, _all_of_eight, _longest_run, _first_of_a_shuffle, _one_of_many),
    ],
)
def test_noise_made_by_hand_is_not_understood(mechanism: Mechanism) -> None:
    assert _traced(mechanism, [0], [1], PureDP(epsilon=5.0)).verdict == "not understood"


def _piecewise(x: Any, rng: Rng) -> Any:
    half = math.exp(0.5)
    reach = (half + 1) / (half - 1)
    low = (reach + 1) / 2 * x[0] - (reach - 1) / 2
    high = low + reach - 1
    if rng.random() < half / (half + 1):
        return low + rng.random() * (reach - 1)
    other = rng.uniform(-reach, reach - (high - low))
    return other if other < low else other + (high - low)


def test_the_piecewise_mechanism_is_no_leak() -> None:
    found = _traced(_piecewise, [-0.5], [0.9], PureDP(epsilon=1.0))
    assert found.verdict in {"not understood", "overspent"}


def test_one_sided_noise_with_a_fixed_sign_is_overspent() -> None:
    found = _traced(lambda x, rng: x[0] - rng.exponential(), [0], [1], PureDP(epsilon=1.0))
    assert found.verdict in {"overspent", "refuted"}


def test_one_draw_of_a_multinomial_law_is_a_choice() -> None:
    def chosen(scores: Any, rng: Rng) -> int:
        weights = np.exp(np.asarray(scores) / 2)
        return int(np.argmax(rng.multinomial(1, weights / weights.sum())))

    found = _traced(chosen, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], PureDP(epsilon=0.5))
    assert found.verdict == "shown"
    # The first candidate: √e / (2 + √e) against 1/3.
    most = 0.5 - math.log((2 + math.exp(0.5)) / 3)
    assert found.epsilon(0.0).upper == pytest.approx(most, rel=1e-6)
    assert _traced(chosen, [0.0, 0.0], [2.0, 0.0], PureDP(epsilon=0.5)).verdict == "refuted"
