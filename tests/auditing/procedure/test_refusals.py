"""Mechanisms that cannot be audited as they are: one sentence each, and what was found is kept."""

import math
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import NotRefuted, Refuted, audit
from dpverify.auditing.sampling.drawing import Drawing, Side, perform
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from tests.auditing.workloads import hungry

Rng = np.random.Generator
GIVEN: dict[str, Any] = {"left": 0.0, "right": 1.0, "claim": PureDP(epsilon=1.0), "seed": 1}


class Sampled:
    """A vectorized mechanism that goes wrong in one way or another."""

    def __init__(self, fault: str, after: int = 0) -> None:
        self.fault = fault
        self.after = after
        self.drawn = 0

    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        self.drawn += size
        if self.drawn > self.after:
            match self.fault:
                case "too few":
                    return np.zeros(size - 1)
                case "one number":
                    return 3.5
                case "no dimension":
                    return np.array(3.5)
                case "raises":
                    raise RuntimeError("no disk")
                case _:
                    raise MemoryError
        return data + rng.laplace(size=size)


def raises_sometimes(data: float, rng: Rng) -> float:
    if data and rng.random() < 0.3:
        raise KeyError("rare")
    return float(rng.laplace())


class RaisesSometimes:
    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        return np.array([raises_sometimes(data, rng) for _ in range(size)])


class Greedy:
    """Has memory for a hundred draws at a time."""

    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        if size > 100:
            raise MemoryError
        return data + rng.laplace(size=size)


class Restarting:
    """Gives the same draws to every generator."""

    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401, ARG002
        return data + np.random.default_rng(0).laplace(size=size)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (Sampled("too few"), "must return size=64 outputs from sample, got 63"),
        (Sampled("one number"), r"must return size=64 outputs from sample, got 3\.5"),
        (Sampled("no dimension"), r"must return size=64 outputs from sample, got array\(3\.5\)"),
        (Sampled("raises"), "on both sides every call raises RuntimeError: no disk"),
        (Sampled("memory"), r"must fit into memory: sample\(data, 64\) raises MemoryError"),
        (hungry, "on both sides every call raises MemoryError"),
        (Restarting(), "must draw from rng: it gave the same draws for two different generators"),
    ],
)
def test_refused_with_one_sentence(mechanism: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message) as caught:
        audit(mechanism, **GIVEN)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("too few", "must return size="),
        ("raises", "sample raises RuntimeError: no disk"),
        ("memory", "must fit into memory"),
    ],
)
def test_a_fault_later_on_leaves_what_was_found(fault: str, message: str) -> None:
    given = GIVEN | {"claim": PureDP(epsilon=1.5)}
    verdict = audit(Sampled(fault, after=8_000), **given, samples=50_000)
    assert isinstance(verdict, NotRefuted)
    assert verdict.stopped is not None
    assert verdict.stopped.why == "failure"
    assert message in str(verdict.stopped)
    assert verdict.samples >= 2_000
    assert verdict.epsilon_lower > 0.3


@pytest.mark.parametrize("mechanism", [raises_sometimes, RaisesSometimes()])
def test_an_exception_that_depends_on_the_data_is_a_leak(mechanism: Any) -> None:  # noqa: ANN401
    verdict = audit(mechanism, **GIVEN, samples=1_000)
    assert isinstance(verdict, Refuted)
    assert "raises KeyError" in str(verdict.witness.event)


def test_memory_for_few_draws_at_a_time_is_enough() -> None:
    verdict = audit(Greedy(), **GIVEN | {"claim": PureDP(epsilon=0.5)}, samples=5_000)
    assert verdict.refuted


def test_halves_are_whole() -> None:
    task = Drawing(
        mechanism=Greedy(), left=0.0, right=1.0, seed=1, sides=(Side.LEFT,), start=64, stop=1_089
    )
    column = perform(task).outputs[0].column("output")
    assert len(np.unique(column)) == 1_025


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(epsilon=math.inf),
        ApproxDP(epsilon=math.inf, delta=0.1),
        ZeroConcentratedDP(rho=math.inf),
        GaussianDP(mu=math.inf),
        ApproxDP(epsilon=1.0, delta=1.0),
    ],
)
def test_a_claim_that_says_nothing_is_refused(claim: Guarantee) -> None:
    with pytest.raises(InvalidParameter, match=r"claim=.* must be finite"):
        audit(raises_sometimes, **GIVEN | {"claim": claim})


def test_outputs_of_different_shapes_are_outputs() -> None:
    def growing(data: int, rng: Rng) -> list[float]:
        return [1.0] * (1 + data * int(rng.integers(3)))

    verdict = audit(growing, left=0, right=1, claim=PureDP(epsilon=1.0), seed=1)
    assert isinstance(verdict, Refuted)
    assert "output" in str(verdict.witness.event)
