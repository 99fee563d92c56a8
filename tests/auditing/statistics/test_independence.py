"""Tests of the order of draws: exact laws, honest mechanisms, and ones that remember."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import audit
from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.auditing.statistics import independence
from dpverify.auditing.statistics.independence import dependence
from dpverify.guarantees import PureDP

GIVEN: dict[str, Any] = {"left": 0.0, "right": 1.0, "claim": PureDP(epsilon=1.0)}


@pytest.mark.parametrize(("size", "ones"), [(6, 1), (8, 3), (8, 4), (10, 5), (12, 4)])
def test_random_pairings_are_enumerated(
    size: int, ones: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(independence, "_PROMISING", -1.0)  # all of them, not only the tails
    found: Counter[int] = Counter()
    for places in combinations(range(size), ones):
        bits = [i in places for i in range(size)]
        found[sum(a != b for a, b in zip(bits[::2], bits[1::2], strict=True))] += 1
    for mixed in found:
        tails = [
            Fraction(sum(n for k, n in found.items() if sign * (k - mixed) >= 0), found.total())
            for sign in (1, -1)
        ]
        expected = min(2 * min(tails), Fraction(1))
        got = independence._random_pairing(mixed, ones, size)
        assert math.isclose(got, expected, rel_tol=1e-12)


@pytest.mark.parametrize(("size", "ones", "taken"), [(6, 2, 3), (9, 4, 4), (7, 7, 3), (8, 1, 7)])
def test_draws_from_an_urn_are_enumerated(size: int, ones: int, taken: int) -> None:
    whole = np.arange(size) < ones
    found = Counter(int(whole[list(part)].sum()) for part in combinations(range(size), taken))
    for hits in found:
        tails = [
            Fraction(sum(n for k, n in found.items() if sign * (k - hits) >= 0), found.total())
            for sign in (1, -1)
        ]
        part = np.arange(taken) < hits
        got = independence._hypergeometric(part, whole)
        assert math.isclose(got, min(2 * min(tails), Fraction(1)), rel_tol=1e-12)


@pytest.mark.false_alarm(0.0)  # the draws are fixed
@pytest.mark.parametrize("size", [32, 100, 1_000])
def test_independent_draws_pass(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        left, right = rng.normal(size=size), np.sign(rng.normal(size=size))
        assert dependence(Draws(from_array(left), from_array(right))) is None
        words = from_objects([["yes", "no"][int(i)] for i in rng.integers(0, 2, size)])
        assert dependence(Draws(words, words.pick(rng.permutation(size)))) is None


def _reused(times: int) -> Callable[[float, np.random.Generator], float]:
    """Takes fresh noise only every so many calls."""
    state = {"calls": 0, "noise": 0.0}

    def mechanism(data: float, rng: np.random.Generator) -> float:
        if state["calls"] % times == 0:
            state["noise"] = rng.laplace()
        state["calls"] += 1
        return data + state["noise"]

    return mechanism


def _autoregressive(share: float) -> Callable[[float, np.random.Generator], float]:
    """Ignores its data; remembers a share of its last output."""
    state = {"last": 0.0}

    def mechanism(data: float, rng: np.random.Generator) -> float:
        del data
        state["last"] = share * state["last"] + rng.normal()
        return state["last"]

    return mechanism


def _drifting(data: float, rng: np.random.Generator, clock: list[int] = [0]) -> float:  # noqa: B006
    clock[0] += 1
    return data + rng.laplace() + clock[0] / 400


def _cycled(data: float, rng: np.random.Generator, at: list[int] = [0]) -> float:  # noqa: B006
    """Goes through the same twenty draws of noise again and again."""
    del rng
    at[0] += 1
    return data + np.random.default_rng(at[0] % 20).laplace()


def _alternating(data: float, rng: np.random.Generator, at: list[int] = [0]) -> float:  # noqa: B006
    """Ignores its data; every other call is the same."""
    del data, rng
    at[0] += 1
    return float(at[0] % 2)


REMEMBERING = {
    "every other call": _alternating,
    "noise used for 3 calls": _reused(3),
    "noise used for 20 calls": _reused(20),
    "noise used for 200 calls": _reused(200),
    "half of the last output": _autoregressive(0.5),
    "most of the last output": _autoregressive(0.9),
    "drift": _drifting,
    "a cycle of noise": _cycled,
}


@pytest.mark.parametrize("name", REMEMBERING)
def test_what_remembers_is_not_refuted_but_said(name: str) -> None:
    verdict = audit(REMEMBERING[name], **GIVEN, samples=2_000, level=0.05, seed=3)
    assert not verdict.refuted
    assert verdict.epsilon_lower == 0.0
    (note,) = verdict.unusable
    assert note.startswith("calls are not independent: ")


def test_a_broken_mechanism_without_memory_is_refuted_as_before() -> None:
    verdict = audit(lambda data, rng: data + rng.laplace(scale=0.3), **GIVEN, seed=3)
    assert verdict.refuted
    assert not verdict.unusable
