"""Decorated tests see the noise before they draw: exact losses, and the line that spends them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.testing import PrivacyViolation, context, neighbors, satisfies
from dpverify.tracing.tracer import Tracer

Rng = np.random.Generator
ONE = dpv.PureDP(epsilon=1.0)
unit = neighbors(st.lists(st.floats(0, 1)), relation="replace-one")
bits = neighbors(st.lists(st.booleans()), relation="add-remove")
quiet = settings(database=None, derandomize=True, max_examples=40)


def failure(test: Any) -> PrivacyViolation:  # noqa: ANN401
    with pytest.raises(PrivacyViolation) as caught:
        test()
    return caught.value


def test_a_failure_names_the_line() -> None:
    def release(data: list[float], rng: Rng) -> float:
        total = sum(data)
        return total + rng.laplace(scale=0.5)

    message = str(failure(quiet(satisfies(ONE, on=unit)(release))))
    line = release.__code__.co_firstlineno + 2
    source = "return total + rng.laplace(scale=0.5)"
    assert f"line:   test_traced.py:{line}: {source}: moved by 1, paid for 0.5" in message


def test_noise_one_per_cent_too_small_is_found_exactly() -> None:
    """Draws would need some millions to see ε = 1/0.99; two calls show it."""
    drawn = [0]

    def release(data: list[bool], rng: Rng) -> float:
        drawn[0] += 1
        return sum(data) + rng.laplace(scale=0.99)

    found = failure(quiet(satisfies(ONE, on=bits, samples=2_000)(release)))
    assert found.witness is None
    assert found.epsilon_lower == pytest.approx(1.0 / 0.99, rel=1e-9)
    assert "exactly" in str(found)
    assert "  left:   []\n  right:  [False]   (add-remove)" not in str(found)  # False adds nothing
    assert "paid for 0.99" in str(found)
    assert drawn[0] < 10_000


def test_what_does_not_pass_through_noise_is_named() -> None:
    def release(data: list[bool], rng: Rng) -> tuple[float, int]:
        return sum(data) + rng.laplace(scale=1.0), len(data)

    message = str(failure(quiet(satisfies(ONE, on=bits)(release))))
    assert "line:   test_traced.py:" in message
    assert "counts: " in message  # draws confirmed it


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(3))
def test_rounding_is_no_loss(number: int) -> None:
    """Sums of floats move by 1 ± a few roundings; an exact refutation would be a false alarm."""

    def release(data: list[float], rng: Rng) -> float:
        return sum(data) + rng.laplace(scale=1.0)

    few = settings(max_examples=60, database=None)
    with context.running(context.PytestRun()) as around:
        seed(number)(few(satisfies(ONE, on=unit, level=1e-9, samples=500)(release)))()
    assert around.findings[0].samples <= 500


def test_a_pair_that_keeps_the_claim_needs_no_draws() -> None:
    def release(data: list[float], rng: Rng) -> float:
        return sum(data) + rng.laplace(scale=1.0)

    with context.running(context.PytestRun()) as around:
        quiet(satisfies(ONE, on=unit, level=1e-9, samples=4_000)(release))()
    (finding,) = around.findings
    assert finding.pairs > 20  # the pair that seems worst gets nearly all draws
    assert finding.epsilon_lower > 0.5


def test_a_branch_that_noise_decides_is_still_drawn_from() -> None:
    """The first run of a pair seldom takes the branch that leaks, on data that few pairs have."""

    def release(data: list[bool], rng: Rng) -> float:
        if rng.random() < 0.1:
            return float(len(data) >= 3)
        return rng.laplace(scale=1.0)

    found = failure(quiet(satisfies(ONE, on=bits)(release)))
    assert found.witness is not None
    assert {len(found.witness.left), len(found.witness.right)} == {2, 3}


def test_noise_that_decides_out_of_sight_is_still_drawn_from() -> None:
    """A float has no memory: every traced run may agree, and only draws tell ε ≥ ln 3."""

    def release(data: list[bool], rng: Rng) -> bool:
        return float(rng.random()) < (0.9 if len(data) >= 3 else 0.1)

    found = failure(quiet(satisfies(ONE, on=bits)(release)))
    assert found.witness is not None


def test_a_defect_of_a_trace_is_noted_and_draws_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(_self: object) -> None:
        raise ZeroDivisionError("of the tracer's own")

    monkeypatch.setattr(Tracer, "run", breaks)
    with context.running(context.PytestRun()) as around:
        quiet(satisfies(ONE, on=unit, level=1e-9, samples=2_000)(laplace_sum))()
    (finding,) = around.findings
    assert not finding.refuted
    assert finding.note == (
        "a trace failed and draws judged alone (ZeroDivisionError: of the tracer's own)"
    )
    message = str(failure(quiet(satisfies(ONE, on=unit)(laplace_sum_too_small))))
    assert f"note:   {finding.note}" in message
    assert "counts: " in message


def laplace_sum(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=1.0)


def laplace_sum_too_small(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=0.3)


def test_an_exception_of_the_mechanism_stays_its_own() -> None:
    """It is an output, which tells that the data are empty."""

    def release(data: list[bool], rng: Rng) -> float:
        if not data:
            raise ZeroDivisionError("no data")
        return sum(data) + rng.laplace(scale=1.0)

    message = str(failure(quiet(satisfies(ONE, on=bits)(release))))
    assert "ZeroDivisionError" in message
    assert "a trace failed" not in message
