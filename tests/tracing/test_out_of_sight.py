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


@pytest.mark.parametrize("mechanism", [_left_out, _grouped, _cut_at_a_noisy_bound])
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


def _drawn_sign(x: Any, rng: Rng) -> Any:
    return x[0] + rng.choice([-1, 1]) * rng.exponential()


def _turned_by_a_coin(x: Any, rng: Rng) -> Any:
    noise = rng.exponential()
    return x[0] + (-noise if rng.random() < 0.5 else noise)


def _python_sign(x: Any, _: Rng) -> Any:
    return x[0] + random.choice((-1, 1)) * random.expovariate(1.0)


@pytest.mark.parametrize(
    "mechanism", [_remainder, _bits, _digits, _drawn_sign, _turned_by_a_coin, _python_sign]
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
