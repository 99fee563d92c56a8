"""What a hostile reader found: large whole numbers, tables of objects, rings, ties, the largest."""

# ruff: noqa: ANN401, S311  # data of any kind; the mechanisms are meant to be traced

import enum
import math
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from dpverify.claims import AuditClaim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing import Traced, trace

Rng = np.random.Generator
Mechanism = Callable[[Any, Rng], Any]
ONE = PureDP(epsilon=1.0)
PRIME = 2**127 - 1


def _traced(mechanism: Mechanism, claim: AuditClaim = ONE, **given: Any) -> Traced:
    data = {"left": [0.0, 4.0], "right": [1.0, 4.0], **given}
    return trace(mechanism, claim=claim, seed=0, confirm=False, **data)


# Whole numbers of many values: no coins, and Python has larger ones than numpy.


@pytest.mark.parametrize(
    "mechanism",
    [
        lambda x, rng: int(x[0]) ^ int(rng.integers(256)),
        lambda x, rng: (int(x[0]) + int(rng.integers(251))) % 251,
        lambda x, _: int(x[0]) ^ random.getrandbits(64),
        lambda x, _: (int(x[0]) + secrets.randbelow(PRIME)) % PRIME,
        lambda x, _: (int(x[0]) + random.randrange(0, 2**80, 1)) % 2**80,
        lambda x, _: (int(x[0]) + random.randint(0, 2**2000 - 1)) % 2**2000,
    ],
)
def test_a_mask_of_many_values_is_no_leak(mechanism: Mechanism) -> None:
    assert _traced(mechanism).verdict == "not understood"


@pytest.mark.parametrize(
    "fell",
    [
        lambda _: secrets.randbelow(10**30) / 10**30 < 0.99,
        lambda rng: int(rng.integers(2**60)) >= 0.01 * 2**60,
        lambda rng: np.all(rng.integers([0, 0], [2**60, 2**60]) >= 0) and rng.bytes(4) > b"\1",
        lambda rng: float(rng.random()) < 0.999,
        lambda rng: round(rng.random(), 9) > 0.001,
    ],
)
def test_a_coin_made_by_hand_is_no_leak(fell: Callable[[Rng], bool]) -> None:
    """It falls one way in nearly all runs."""

    def answered(x: Any, rng: Rng) -> Any:
        return x[0] if fell(rng) else 1.0 - x[0]

    assert _traced(answered, PureDP(epsilon=7.0)).verdict == "not understood"


def test_data_beside_a_number_made_by_hand_leak() -> None:
    traced = _traced(lambda x, _: (x[0], secrets.randbelow(10**30)))
    assert traced.verdict == "leaking"


def _from_a_secret(x: Any, _rng: Rng) -> Any:
    return x[0] + np.random.default_rng(secrets.randbits(128)).laplace()


def _from_a_secret_that_is_told(x: Any, _rng: Rng) -> Any:
    seed = secrets.randbits(128)
    return x[0] + np.random.default_rng(seed).laplace(), seed


def test_a_generator_from_a_large_secret() -> None:
    traced = _traced(_from_a_secret)
    assert traced.verdict == "shown"
    assert traced.epsilon(delta=0.0).upper == 1.0
    assert _traced(_from_a_secret_that_is_told).verdict in {"leaking", "refuted"}


def test_shares_that_are_both_told_hide_nothing() -> None:
    def shares(x: Any, _rng: Rng) -> Any:
        one = secrets.randbelow(PRIME)
        return one, (int(x[0]) - one) % PRIME

    assert _traced(shares).verdict != "shown"


# Outputs.


def _means(x: Any, rng: Rng) -> Any:
    return np.array([part + rng.laplace() for part in x]).mean()


def _series(x: Any, rng: Rng) -> Any:
    return pd.Series({"first": x[0] + rng.laplace(), "second": x[1] + rng.laplace()})


def _rows(x: Any, rng: Rng) -> Any:
    return pd.DataFrame([{"key": k, "value": part + rng.laplace()} for k, part in enumerate(x)])


def _applied(x: Any, rng: Rng) -> Any:
    frame = pd.DataFrame({"value": x})
    frame["value"] = frame["value"].apply(lambda part: part + rng.laplace())
    return frame


@pytest.mark.parametrize("mechanism", [_means, _series, _rows, _applied])
def test_noisy_numbers_in_tables_are_numbers(mechanism: Mechanism) -> None:
    traced = _traced(mechanism)
    assert traced.verdict == "shown"
    assert traced.epsilon(delta=0.0).upper == 1.0
    assert _traced(mechanism, PureDP(epsilon=0.9)).verdict in {"refuted", "overspent"}


def test_levels_that_no_row_has_are_told() -> None:
    def table(x: Any, rng: Rng) -> Any:
        index = pd.MultiIndex.from_product([["all", str(x[0])], [0]])[:1]
        return pd.Series([float(x[1] + rng.laplace())], index=index)

    assert _traced(table).verdict == "leaking"


def test_outputs_with_rings_are_walked_once() -> None:
    def ring(x: Any, rng: Rng) -> Any:
        made: list[Any] = [x[0] + rng.laplace()]
        made += [made, made, {"again": made}]
        return made

    assert _traced(ring).verdict == "shown"
    assert _traced(ring, PureDP(epsilon=0.5)).verdict == "refuted"


def test_a_ring_to_another_place_is_another_output() -> None:
    def ring(x: Any, rng: Rng) -> Any:
        inner: list[Any] = []
        outer: list[Any] = [x[1] + rng.laplace(), inner]
        inner.append(outer if x[0] else inner)
        return outer

    assert _traced(ring).verdict == "leaking"


def test_an_enumeration_made_in_the_run_ends() -> None:
    def made(x: Any, rng: Rng) -> Any:
        kind = enum.Enum("kind", {"one": int(x[0]), "two": 7})
        return x[1] + rng.laplace(), kind(7)

    assert _traced(made).verdict == "not understood"


# Transcripts.


def _equal_to_data(x: Any, rng: Rng) -> Any:
    return x[0] if rng.integers(1000) == 3 + x[1] else "public"


def _all_equal_to_data(x: Any, rng: Rng) -> Any:
    return x[0] if (rng.integers(10, size=3) == 1 + x[1]).all() else "public"


def _difference(x: Any, rng: Rng) -> Any:
    noise = rng.geometric(0.5) - rng.geometric(0.5)
    return x[0] if x[1] + noise == 16 else "public"


def _not_the_other(x: Any, rng: Rng) -> Any:
    return "public" if rng.integers(1000) != 3 + x[1] else x[0]


def _two_sided(rng: Rng, size: int | None = None) -> Any:
    return rng.geometric(0.6, size) - rng.geometric(0.6, size)


def _row_of_differences(x: Any, rng: Rng) -> Any:
    noisy = np.array(x, dtype=int) + _two_sided(rng, 2)
    return np.where(noisy == 14, x[0], noisy)


def _row_at_a_row(x: Any, rng: Rng) -> Any:
    noisy = np.array(x, dtype=int) + _two_sided(rng, 2)
    return x if np.all(noisy == np.array([9, 14], dtype=np.uint8)) else noisy


def _equal_to_each_other(x: Any, rng: Rng) -> Any:
    one, two = int(x[0]) + _two_sided(rng), 9 + _two_sided(rng)
    return x[0] if one == two else "public"


def _rows_equal_to_each_other(x: Any, rng: Rng) -> Any:
    one, two = np.array(x, dtype=int) + _two_sided(rng, 2), np.array([9, 14]) + _two_sided(rng, 2)
    return x if np.all(one == two) else "public"


@pytest.mark.parametrize(
    "mechanism",
    [
        *(_equal_to_data, _all_equal_to_data, _difference, _not_the_other),
        *(_row_of_differences, _row_at_a_row, _equal_to_each_other, _rows_equal_to_each_other),
    ],
)
def test_whole_numbers_come_to_be_equal(mechanism: Mechanism) -> None:
    """Once in a thousand runs the data are told."""
    assert _traced(mechanism).verdict in {"not understood", "leaking", "refuted"}


def test_equality_of_noisy_numbers_may_be_told() -> None:
    """Which of them are equal is computed from them alone."""
    epsilon = -np.log(0.4)

    def told(x: Any, rng: Rng) -> Any:
        noisy = np.array(x, dtype=int) + _two_sided(rng, 2)
        return noisy == 5, noisy == True, noisy[0] == noisy[1], noisy[0] == 10**400  # noqa: E712

    assert _traced(told, PureDP(epsilon=float(epsilon) + 1e-12)).verdict == "shown"


def test_equality_rarer_than_delta_is_allowed() -> None:
    assert _traced(_equal_to_data, ApproxDP(epsilon=1.0, delta=0.00101)).verdict == "shown"
    assert _traced(_equal_to_data, ApproxDP(epsilon=1.0, delta=0.0005)).verdict != "shown"


def _largest(x: Any, rng: Rng) -> Any:
    return x[0] if max(rng.laplace() for _ in range(20)) > 9 else "public"


def test_the_largest_of_many_is_far_out_more_often_than_each() -> None:
    mass = -math.expm1(20 * math.log1p(-math.exp(-9) / 2))  # that some is beyond 9
    assert _traced(_largest, ApproxDP(epsilon=1.0, delta=0.5 * mass)).verdict != "shown"
    assert _traced(_largest, ApproxDP(epsilon=1.0, delta=1.01 * mass)).verdict == "shown"


def test_outcomes_that_are_not_chosen_are_noted() -> None:
    def decided(x: Any, rng: Rng) -> Any:
        return x[0] if rng.beta(1, 10) > 0.9 else "public"

    assert any("outcomes of beta were seen as they came" in note for note in _traced(decided).notes)
