"""A traced run must be the run that a user has: else nothing is learned from it."""

# ruff: noqa: ANN401  # data of any kind, and mechanisms that ignore them

import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing import Traced, trace

ONE = PureDP(epsilon=1.0)


def traced(mechanism: Any, left: Any = 1.0, right: Any = 2.0, **more: Any) -> Traced:
    return trace(mechanism, left=left, right=right, claim=more.pop("claim", ONE), confirm=False)


def _caught_at_once(x: Any, rng: Any) -> Any:
    noise = rng.laplace()
    try:
        told = Decimal(noise)
    except TypeError:
        return rng.laplace()
    return x + 0.1 * float(told)


def _caught_on_some_transcripts(x: Any, rng: Any) -> Any:
    noisy = x + rng.laplace()
    if noisy > 50.0:
        try:
            return x + float(0 * Decimal(noisy))
        except TypeError:
            return 0.0
    return noisy


def _caught_in_silence(x: Any, rng: Any) -> Any:
    noisy = x + rng.laplace()
    try:
        Decimal(noisy)
    except Exception:  # noqa: BLE001
        return noisy
    return x


@pytest.mark.parametrize(
    "mechanism", [_caught_at_once, _caught_on_some_transcripts, _caught_in_silence]
)
def test_an_exception_of_noise_that_code_catches_is_said_with_its_line(mechanism: Any) -> None:
    found = traced(mechanism)
    if sys.gettrace() is not None:  # coverage watches lines, which is then said
        noted = any("a debugger, or coverage" in note for note in found.notes)
        assert noted or found.verdict == "not understood"
        return
    assert found.verdict == "not understood", str(found)
    assert "noise must be a plain number here: TypeError" in found.puzzles[0].what
    assert "Decimal(" in found.puzzles[0].source


def test_code_that_tells_noise_from_numbers_is_not_understood() -> None:
    def by_kind(x: Any, rng: Any) -> Any:
        noise = rng.laplace(size=1)
        if isinstance(noise, np.ndarray):
            return x
        return x + noise[0]

    found = traced(by_kind)
    assert found.verdict == "not understood"
    assert "isinstance" in found.puzzles[0].source
    assert "the same noise as plain numbers gives another output" in found.puzzles[0].what


def test_exceptions_of_plain_numbers_may_be_caught() -> None:
    def root(x: Any, rng: Any) -> Any:
        try:
            return math.sqrt(x + rng.laplace())
        except ValueError:
            return 0.0

    def attribute(x: Any, rng: Any) -> Any:
        noisy = x + rng.laplace()
        try:
            return noisy.nothing
        except AttributeError:
            return noisy

    assert traced(root).verdict == "shown"
    assert traced(attribute).verdict == "shown"


def test_all_sources_are_told_again() -> None:
    def release(x: Any, rng: Any) -> Any:
        own = np.random.default_rng(int(rng.integers(2**62)))
        legacy = np.random.RandomState(int(rng.integers(2**31, 2**32)))
        order = rng.permutation(3).tolist()
        coin = int(rng.integers(2))
        kept = rng.choice(3, p=[0.2, 0.3, 0.5])
        noise = own.laplace(scale=2.0) + legacy.laplace(scale=2.0) + np.random.laplace()  # noqa: NPY002
        return x + noise + rng.multivariate_normal([0.0, 0.0], np.eye(2))[0], order, coin, kept

    found = traced(release)
    assert "plain numbers" not in str(found.puzzles), str(found)


def test_text_of_an_array_is_that_of_numpy() -> None:
    found = traced(lambda x, rng: str(np.array([x, x]) + rng.laplace(scale=2.0, size=2)))
    assert found.verdict == "shown", str(found)


def test_the_number_of_executions_counts_all_of_them() -> None:
    calls = []

    def release(x: Any, rng: Any) -> Any:
        calls.append(x)
        return x + rng.laplace()

    assert traced(release).executions == len(calls)


def test_a_difference_that_the_budget_does_not_explain_is_not_called_shown() -> None:
    def response(bits: Any, rng: Any) -> Any:
        return [b if rng.random() < 0.5 else int(rng.random() < 0.5) for b in bits]

    found = trace(
        response, left=[0] * 40, right=[0] * 39 + [1], claim=PureDP(epsilon=1.2), executions=12,
        confirm=False,
    )  # fmt: skip
    assert found.verdict == "not understood"


def test_noise_in_a_buffer_is_said_with_its_line() -> None:
    def release(x: Any, rng: Any) -> Any:
        buffer = np.zeros(2)
        for i in range(2):
            buffer[i] = rng.laplace()
        return [x + buffer[0], buffer[1]]

    found = traced(release)
    assert found.verdict == "not understood"
    assert "before data are added" in found.puzzles[0].what
    assert "buffer[i] = rng.laplace()" in found.puzzles[0].source


def test_rows_that_a_table_may_hide_are_not_understood() -> None:
    def histogram(words: Any, rng: Any) -> Any:
        counts = pd.Series(words).value_counts()
        noisy = counts + rng.laplace(size=len(counts))
        return noisy[noisy > 15.0].to_dict()

    claim = ApproxDP(epsilon=1.0, delta=1e-6)
    found = traced(histogram, ["a"] * 30, ["a"] * 30 + ["b"], claim=claim)
    assert found.verdict == "not understood"
    assert "rng.laplace" in found.puzzles[0].source


def test_what_was_not_tried_is_noted() -> None:
    def largest(scores: Any, rng: Any) -> Any:
        return int(np.argmax(np.array(scores) + rng.gumbel(scale=2.0, size=len(scores))))

    found = traced(largest, [0.0] * 40, [0.0] * 39 + [1.0])
    assert found.verdict == "shown"
    assert any("13 of 40 candidates won" in note for note in found.notes)


def test_the_size_of_a_noisy_number_meets_an_array() -> None:
    def release(x: Any, rng: Any) -> Any:
        return abs(x + rng.laplace(scale=2.0)) - (np.zeros(2) + rng.laplace(size=2))

    assert traced(release).verdict == "shown"
