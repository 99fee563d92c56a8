"""Mechanisms that leak where a replay could go wrong: none of them is called shown."""

# ruff: noqa: ANN401  # data of any kind

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.claims import AuditClaim
from dpverify.guarantees import PureDP
from dpverify.tracing import Traced, trace

Rng = np.random.Generator
Mechanism = Callable[[Any, Rng], Any]


def _traced(mechanism: Mechanism, left: Any, right: Any, claim: AuditClaim) -> Traced:
    return trace(mechanism, left=left, right=right, claim=claim, seed=0, confirm=False)


# Numbers that are not finite.


def infinite_beside_noise(x: float, rng: Rng) -> list[float]:
    return [float(x + rng.laplace()), math.inf if x > 5 else 0.0]


def infinite_in_a_row(x: float, rng: Rng) -> Any:
    return np.array([float(x + rng.laplace()), math.inf if x > 5 else 0.0])


def infinite_scale(x: float, rng: Rng) -> float:
    return x + rng.laplace(scale=math.inf if x > 5 else 1.0)


def infinite_on_both_sides(x: float, rng: Rng) -> list[float]:
    return [math.inf, x + rng.laplace()]


@pytest.mark.parametrize(
    "mechanism",
    [infinite_beside_noise, infinite_in_a_row, infinite_scale],
    ids=lambda m: m.__name__,
)
@pytest.mark.parametrize("sides", [(5.0, 6.0), (6.0, 5.0)])
def test_infinity_is_no_other_number(mechanism: Mechanism, sides: tuple[float, float]) -> None:
    assert _traced(mechanism, *sides, PureDP(epsilon=1.0)).verdict in {"leaking", "refuted"}


def test_infinity_is_infinity() -> None:
    assert _traced(infinite_on_both_sides, 5.0, 6.0, PureDP(epsilon=1.0)).verdict == "shown"


# The way in which noise is compared.


def other_way_around(bit: int, rng: Rng) -> tuple[bool, float]:
    if bit:
        return bool(rng.random() < 0.9), rng.laplace()
    return bool(rng.random() > 0.9), rng.laplace()


def row_other_way_around(bit: int, rng: Rng) -> tuple[list[bool], float]:
    z = rng.laplace(size=3)
    return ((z > 2) if bit else (z < 2)).tolist(), rng.laplace()


def whole_other_way_around(bit: int, rng: Rng) -> tuple[bool, float]:
    k = rng.integers(4)
    return bool(k > 0) if bit else bool(k < 1), rng.laplace()


@pytest.mark.parametrize(
    "mechanism",
    [other_way_around, row_other_way_around, whole_other_way_around],
    ids=lambda m: m.__name__,
)
def test_sides_that_compare_the_other_way_around_differ(mechanism: Mechanism) -> None:
    assert _traced(mechanism, 0, 1, PureDP(epsilon=0.1)).verdict != "shown"


def same_question(x: float, rng: Rng) -> tuple[str, float]:
    v = x + rng.laplace()
    if x > 1.5:
        return "low" if v <= 3 else "high", rng.laplace()
    return "high" if v > 3 else "low", rng.laplace()


def test_one_question_asked_in_two_ways_is_one() -> None:
    assert _traced(same_question, 1.0, 2.0, PureDP(epsilon=1.0)).verdict == "shown"


# Coins whose noise is seen.


def told_afterwards(bit: int, rng: Rng) -> Any:
    u = rng.random()
    return (bit if u > 0.25 else 1 - bit), u


def told_before(bit: int, rng: Rng) -> Any:
    u = rng.random()
    number = float(u)
    return (bit if u > 0.25 else 1 - bit), number, rng.laplace()


def told_in_a_row(bit: int, rng: Rng) -> Any:
    k = rng.integers(4, size=3)
    return np.where(k > 0, np.array([1, bit, 1]), 0).tolist(), k.tolist()


def told_in_a_sum(bit: int, rng: Rng) -> Any:
    u, bits = rng.random(size=3), np.array([1, bit, 1])
    return np.where(u > 0.25, bits, 1 - bits).tolist(), rng.laplace(), float(u.sum())


def seen_but_not_told(bit: int, rng: Rng) -> Any:
    u = rng.random()
    answer = bit if u > 0.25 else 1 - bit
    float(u)
    return answer, rng.laplace()


@pytest.mark.parametrize(
    "mechanism",
    [told_afterwards, told_before, told_in_a_row, told_in_a_sum],
    ids=lambda m: m.__name__,
)
def test_a_coin_whose_noise_is_released_hides_nothing(mechanism: Mechanism) -> None:
    assert _traced(mechanism, 1, 0, PureDP(epsilon=1.1)).verdict != "shown"


def test_a_coin_whose_noise_only_the_code_saw_is_no_leak() -> None:
    found = _traced(seen_but_not_told, 1, 0, PureDP(epsilon=1.1))
    assert found.verdict == "not understood"
    assert found.puzzles[0].place.filename.endswith("test_alignments.py")
