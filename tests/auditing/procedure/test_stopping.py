"""Audits that end before their budget: what was found so far is returned, and says so."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import NotRefuted, Progress, Refuted, Witness, audit
from dpverify.auditing.sampling.drawing import Drawing, Drawn
from dpverify.claims import Claimable, ProfileClaim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.mechanisms import Laplace
from tests.auditing.workloads import dying, endless, noisy, unhurried

GIVEN: dict[str, Any] = {"left": 0.0, "right": 1.0, "seed": 3}
LOOSE, FALSE = PureDP(epsilon=1.5), PureDP(epsilon=0.3)


class Failing(Executor):
    """Runs tasks here, and fails after so many draws."""

    def __init__(self, after: int) -> None:
        self.left = after

    def map(  # type: ignore[override]  # as audits call it
        self, function: Callable[[Drawing], Drawn], tasks: Iterable[Drawing]
    ) -> Iterator[Drawn]:
        for task in tasks:
            if self.left <= 0:
                raise ConnectionError("the cluster is gone")
            self.left -= task.size
            yield function(task)


def interrupting(after: int) -> Callable[[float, np.random.Generator], float]:
    calls = iter(range(after))

    def mechanism(data: float, rng: np.random.Generator) -> float:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return noisy(data, rng)

    return mechanism


def test_ctrl_c_returns_what_was_found() -> None:
    verdict = audit(interrupting(5_000), **GIVEN, claim=LOOSE)
    assert isinstance(verdict, NotRefuted)
    assert verdict.stopped is not None
    assert verdict.stopped.why == "interrupt"
    assert 1_500 < verdict.samples <= 2_500
    assert 0.2 < verdict.epsilon_lower < 1.0
    assert "PARTIAL" in str(verdict)
    assert json.loads(json.dumps(verdict.to_dict()))["stopped"] == "interrupted"


def test_ctrl_c_before_any_draw_is_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        audit(interrupting(0), **GIVEN, claim=LOOSE)


def test_ctrl_c_while_the_witness_is_drawn_keeps_the_refutation(tmp_path: Path) -> None:
    whole = audit(noisy, **GIVEN, claim=FALSE)
    assert isinstance(whole, Refuted)
    drawn = 64
    while drawn < whole.samples:
        drawn = drawn * 3 // 2 if drawn & (drawn - 1) == 0 else drawn * 4 // 3
    verdict = audit(interrupting(2 * drawn + 10), **GIVEN, claim=FALSE)
    assert isinstance(verdict, Refuted)
    assert verdict.stopped is not None
    assert verdict.samples == whole.samples
    assert verdict.epsilon_lower >= 0.3
    # When these draws ended depended on what they were, so they show no ε of their own.
    assert not verdict.witness.fresh
    assert verdict.witness.epsilon_lower == 0.0
    assert "so ε ≥" not in str(verdict)
    again = verdict.witness.replay(noisy, samples=5_000, seed=9)
    assert isinstance(again, Refuted)
    assert again.witness.fresh
    verdict.witness.save(tmp_path / "w.json")
    assert Witness.load(tmp_path / "w.json") == verdict.witness


def test_the_bets_of_a_stopped_audit_refute() -> None:
    verdict = audit(interrupting(1_500), **GIVEN, claim=PureDP(epsilon=0.1))
    assert isinstance(verdict, Refuted)


def test_a_failing_executor_leaves_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "c"
    given = GIVEN | {"claim": LOOSE, "samples": 4_000, "checkpoint": path}
    verdict = audit(noisy, **given, executor=Failing(3_000))
    assert verdict.stopped is not None
    assert verdict.stopped.why == "failure"
    assert "ConnectionError: the cluster is gone" in str(verdict.stopped)
    assert verdict.samples > 500
    again = audit(noisy, **given)
    assert again.stopped is None
    whole = audit(noisy, **GIVEN, claim=LOOSE, samples=4_000)
    assert replace(again, seconds=0.0) == replace(whole, seconds=0.0)


def test_an_executor_that_fails_at_once_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="ConnectionError: the cluster is gone"):
        audit(noisy, **GIVEN, claim=LOOSE, executor=Failing(0))


def test_an_executor_that_breaks_leaves_what_was_found() -> None:
    with ProcessPoolExecutor(2) as broken:
        given = GIVEN | {"claim": PureDP(epsilon=1.2), "samples": 20_000}
        verdict = audit(dying, **given, executor=broken)
    assert verdict.stopped is not None
    assert "BrokenProcessPool" in str(verdict.stopped)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_limit_in_seconds_is_kept(workers: int) -> None:
    start = time.monotonic()
    verdict = audit(unhurried, **GIVEN, claim=LOOSE, samples=10**6, seconds=1.5, workers=workers)
    assert time.monotonic() - start < 60.0
    assert verdict.stopped is not None
    assert verdict.stopped.why == "time"
    assert 0 < verdict.samples < 10**6


def test_a_vectorized_mechanism_is_stopped_too() -> None:
    verdict = audit(Laplace(scale=1.0), **GIVEN, claim=LOOSE, samples=10**9, seconds=1.5)
    assert verdict.stopped is not None
    assert verdict.samples > 10_000
    assert 0.5 < verdict.epsilon_lower < 1.0


@pytest.mark.parametrize("workers", [1, 2])
def test_a_call_that_never_returns_ends_with_the_time(workers: int) -> None:
    with pytest.raises(InvalidParameter, match="seconds must be more"):
        audit(endless, **GIVEN, claim=LOOSE, seconds=0.3, workers=workers)


def test_calls_that_all_time_out_are_refused_soon() -> None:
    start = time.monotonic()
    with pytest.raises(InvalidParameter, match="on both sides every call times out"):
        audit(endless, **GIVEN, claim=LOOSE, timeout=0.01)
    assert time.monotonic() - start < 5.0


def test_a_fixed_test_that_was_not_reached_says_nothing() -> None:
    verdict = audit(interrupting(9_000), **GIVEN, claim=FALSE, method="fixed")
    assert not verdict.refuted
    assert verdict.stopped is not None
    assert verdict.epsilon_lower == 0.0
    assert "a stopped audit shows nothing" in str(verdict)


@pytest.mark.parametrize(
    "claim",
    [
        GaussianDP(mu=3.0),
        ZeroConcentratedDP(rho=2.0),
        RenyiDP(order=2.0, epsilon=3.0),
        ProfileClaim(points=((0.5, 0.3), (1.0, 0.1), (2.0, 0.01))),
    ],
)
def test_stopped_audits_of_claims_of_many_points_show_a_bound(claim: Claimable) -> None:
    """The truth of Laplace noise of scale 1 at δ is below 1."""
    verdict = audit(interrupting(3_000), **GIVEN, claim=claim)
    assert verdict.stopped is not None
    assert 0.3 < verdict.epsilon_lower < 1.0
    assert verdict.delta == pytest.approx(0.01)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_limits_are_checked(value: float) -> None:
    with pytest.raises(InvalidParameter, match="seconds="):
        audit(noisy, **GIVEN, claim=LOOSE, seconds=value)


def test_the_bound_shown_on_the_way_never_falls() -> None:
    told: list[Progress] = []
    audit(noisy, **GIVEN, claim=LOOSE, samples=5_000, progress=told.append)
    bounds = [now.epsilon_lower for now in told]
    assert bounds == sorted(bounds)
    assert 0.3 < bounds[-1] < 1.0
    assert "ε ≥" in str(told[-1])


def test_slow_calls_are_told_and_kept_one_by_one(tmp_path: Path) -> None:
    def slow(data: float, rng: np.random.Generator) -> float:
        time.sleep(0.13)  # a task takes a quarter of a second
        return noisy(data, rng)

    checkpoint, told = tmp_path / "draws", []
    audit(
        slow,
        **GIVEN,
        claim=LOOSE,
        samples=2,
        checkpoint=checkpoint,
        progress=lambda now: told.append((now.samples, checkpoint.stat().st_size)),
    )
    assert [samples for samples, _ in told] == [0, 1, 1, 2]
    sizes = [size for _, size in told]
    assert sizes == sorted(set(sizes))


def test_the_calls_of_a_witness_are_told() -> None:
    seen: list[int] = []

    def leak(data: float, rng: np.random.Generator) -> float:
        return 9.0 * data + noisy(data, rng)

    verdict = audit(
        leak, **GIVEN, claim=FALSE, samples=400, progress=lambda now: seen.append(now.samples)
    )
    assert verdict.refuted
    assert max(seen) > verdict.samples


def test_a_witness_takes_no_more_draws_than_were_allowed() -> None:
    verdict = audit(
        lambda data, rng: 9.0 * data + noisy(data, rng), **GIVEN, claim=FALSE, samples=200
    )
    assert isinstance(verdict, Refuted)
    assert verdict.witness.counts.trials <= 200


def tiring(after: int) -> Callable[[float, np.random.Generator], float]:
    """Leaks in its first calls alone, so calls are not independent."""
    calls = iter(range(after))

    def mechanism(data: float, rng: np.random.Generator) -> float:
        leak = 5.0 * data if next(calls, None) is not None else 0.0
        return leak + noisy(data, rng)

    return mechanism


def test_a_mechanism_that_tires_is_not_refuted_but_said_to_depend_on_its_calls() -> None:
    verdict = audit(tiring(600), **GIVEN, claim=PureDP(epsilon=1.0))
    assert not verdict.refuted
    assert "calls are not independent" in verdict.unusable[0]
    plain = audit(noisy, **GIVEN, claim=FALSE)
    assert isinstance(plain, Refuted)
    assert not any("fresh block" in note for note in plain.notes)


def test_a_refuted_claim_of_gdp_shows_more_than_its_mu() -> None:
    """A stopped audit bounds ε at one δ, which may say less than that the claim is false."""

    def leak(data: float, rng: np.random.Generator) -> float:
        return 9.0 * data + noisy(data, rng)

    verdict = audit(leak, **GIVEN, claim=GaussianDP(1.0), samples=400, executor=Failing(after=150))
    assert verdict.refuted
    assert verdict.stopped is not None
    assert verdict.mu_lower is not None
    assert verdict.mu_lower >= 1.0
