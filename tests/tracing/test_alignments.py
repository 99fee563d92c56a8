"""Mechanisms that leak where a replay could go wrong: none of them is called shown."""

# ruff: noqa: ANN401  # data of any kind

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.claims import AuditClaim
from dpverify.guarantees import ApproxDP, PureDP
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


# Coins that only one side tosses.


def any_of_them(data: list[int], rng: Rng) -> bool:
    return any([rng.random() < 0.5 for _ in data])  # noqa: C419  # every coin is tossed


def data_in_the_threshold(words: list[str], rng: Rng) -> Any:
    counts = sorted(Counter(words).items())
    return [w for w, n in counts if rng.laplace() > 9 - n], rng.laplace() + len(words)


def seldom(words: list[str], rng: Rng) -> Any:
    counts = sorted(Counter(words).items())
    return [w for w, n in counts if rng.random() < 1e-9 * n], rng.laplace() + len(words)


def test_a_coin_that_one_side_tosses_is_not_free() -> None:
    assert _traced(any_of_them, [1] * 8, [1] * 7, PureDP(epsilon=0.1)).verdict != "shown"


@pytest.mark.parametrize("mechanism", [data_in_the_threshold, seldom], ids=lambda m: m.__name__)
@pytest.mark.parametrize("more", [True, False])
def test_a_key_that_one_side_tells_by_chance_is_not_free(mechanism: Mechanism, more: bool) -> None:  # noqa: FBT001
    sides = (["a"] * 30, ["a"] * 30 + ["b"])
    found = _traced(mechanism, *(sides if more else sides[::-1]), PureDP(epsilon=1.0))
    assert found.verdict != "shown"


def sampled(data: list[float], rng: Rng) -> float:
    return sum(v for v in data if rng.random() < 0.5) + rng.laplace()


def test_a_sample_that_one_side_draws_longer_is_no_leak() -> None:
    five = [1.0] * 5
    assert _traced(sampled, five, [*five, 1.0], PureDP(epsilon=1.0)).verdict == "not understood"


# Transcripts that are recorded again.


def slit(x: float, rng: Rng) -> tuple[float, float]:
    v = 3.0 + rng.laplace()
    return (v, x) if v > 4 and v < 4.1 else (v, 0.0)


def told_above(words: list[str], rng: Rng) -> Any:
    keys, counts = np.unique(words, return_counts=True)
    noisy = counts + rng.laplace(size=len(keys))
    told = noisy > 1 - math.log(2e-5)
    return keys[told].tolist(), noisy[told].tolist()


def test_a_narrow_leak_is_not_passed_over() -> None:
    assert _traced(slit, 1.0, 2.0, PureDP(epsilon=1.0)).verdict != "shown"


def test_a_histogram_that_tells_ten_delta_is_not_shown() -> None:
    words, claim = ["a"] * 30, ApproxDP(epsilon=1.0, delta=1e-6)
    assert _traced(told_above, [*words, "b"], [*words, "z"], claim).verdict != "shown"


# What δ must pay for.


def keys_of_users(users: list[list[str]], rng: Rng) -> list[str]:
    counts = Counter(word for user in users for word in user)
    bound = 1 - math.log(2 * 0.9e-6)
    return [key for key in sorted(counts) if counts[key] + rng.laplace() > bound]


def both_tails(x: float, rng: Rng) -> list[Any]:
    v = rng.laplace()
    return [bool(v > x * 1e-6), bool(v > 3 - x), bool(v < -3 + x), rng.laplace()]


def bits_of_one_number(x: float, rng: Rng) -> Any:
    v = x + rng.laplace()
    return [bool(v > k) for k in (3, 1, 5, 2)], rng.laplace()


def test_rare_keys_that_were_not_tried_are_not_free() -> None:
    others = [[f"a{i}"] for i in range(8)] + [[f"z{i}"] for i in range(8)]
    left, right = [*others, ["m0", "m1"]], [*others, ["n0", "n1"]]
    assert _traced(keys_of_users, left, right, ApproxDP(epsilon=1.0, delta=1e-6)).verdict != "shown"


def test_delta_adds_up_over_all_ways_that_one_number_falls() -> None:
    # δ at ε = 0.1 is 2·(e⁻²/2 − e^0.1·e⁻³/2) = 0.0803
    claim = ApproxDP(epsilon=0.1, delta=0.06)
    for sides in ((0.0, 1.0), (1.0, 0.0)):
        assert _traced(both_tails, *sides, claim).verdict != "shown"


def test_comparisons_of_one_number_cost_no_more_than_the_number() -> None:
    claim = ApproxDP(epsilon=0.5, delta=1 - math.exp(-0.25))  # of Laplace noise, shifted by 1
    assert _traced(bits_of_one_number, 3.0, 4.0, claim).verdict == "shown"
