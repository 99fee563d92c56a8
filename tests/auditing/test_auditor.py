"""The audit as a whole: what it takes, what it returns, what it refuses."""

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import NotRefuted, Refuted, Witness, audit
from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.attacks.events import Between
from dpverify.auditing.procedure.rounds import Progress
from dpverify.auditing.procedure.state import stages
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.auditing.statistics.binomial import Counts
from dpverify.auditing.statistics.points import implied_points
from dpverify.auditing.verdict import counts_of
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.mechanisms import Gaussian, Laplace, RandomizedResponse

HALF = PureDP(epsilon=0.5)


def noisy(data: float, rng: np.random.Generator) -> float:
    return data + float(rng.laplace())


def mixed(data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    if rng.random() < 0.5:
        return "a"
    return None if data == 0 else {"total": (1, 2.5, "x")}


def crashing(data: int, rng: np.random.Generator) -> float:
    if data and rng.random() < 0.5:
        raise KeyError(data)
    return float(rng.integers(3))


def slow(data: int, rng: np.random.Generator) -> int:
    if data and rng.random() < 0.8:
        time.sleep(0.5)
    return int(rng.integers(2))


def test_a_false_claim_is_refuted_with_a_witness_that_replays(tmp_path: Path) -> None:
    verdict = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=7)
    assert isinstance(verdict, Refuted)
    assert 0.5 < verdict.epsilon_lower < 1.0
    assert verdict.samples < 3_000
    again = verdict.witness.replay(noisy, samples=10_000, seed=8)
    assert isinstance(again, Refuted)
    assert 0.6 < again.epsilon_lower < 1.0
    verdict.witness.save(tmp_path / "witness.json")
    loaded = Witness.load(tmp_path / "witness.json")
    assert loaded == verdict.witness
    assert loaded.replay(noisy, samples=2_000, seed=9).refuted
    assert json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["refuted"] is True


def test_a_true_claim_is_not_called_private() -> None:
    verdict = audit(noisy, left=0.0, right=1.0, claim=PureDP(epsilon=3.0), seed=7, samples=2_000)
    assert isinstance(verdict, NotRefuted)
    assert verdict.witness is None
    assert "private" not in str(verdict).lower()
    assert "no proof" in str(verdict)
    assert 0.4 < verdict.epsilon_lower < 1.0


def test_replay_of_an_honest_mechanism_does_not_refute() -> None:
    verdict = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=7)
    assert isinstance(verdict, Refuted)
    honest = Laplace(scale=4.0)
    assert not verdict.witness.replay(honest, samples=5_000, seed=1).refuted


@pytest.mark.parametrize("workers", [1, 3])
def test_same_seed_same_verdict_whatever_the_workers(workers: int) -> None:
    alone = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=3)
    with ThreadPoolExecutor(workers) as pool:
        together = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=3, executor=pool)
    assert alone.samples == together.samples
    assert alone.epsilon_lower == together.epsilon_lower
    assert alone.witness == together.witness


def test_processes_give_the_same_verdict() -> None:
    alone = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=3)
    together = audit(noisy, left=0.0, right=1.0, claim=HALF, seed=3, workers=2)
    assert alone.witness == together.witness


@pytest.mark.parametrize("mechanism", [mixed, crashing])
def test_outputs_of_any_kind_and_exceptions_are_outputs(mechanism: Any) -> None:  # noqa: ANN401
    verdict = audit(mechanism, left=0, right=1, claim=PureDP(epsilon=1.0), seed=1)
    assert isinstance(verdict, Refuted)
    assert verdict.epsilon_lower > 2.0


def test_a_time_out_is_an_output() -> None:
    verdict = audit(
        slow, left=0, right=1, claim=PureDP(epsilon=1.0), seed=1, timeout=0.002, samples=200
    )
    assert isinstance(verdict, Refuted)


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (Gaussian(sigma=1.0), GaussianDP(mu=0.5)),
        (Gaussian(sigma=1.0), ZeroConcentratedDP(rho=0.1)),
        (Gaussian(sigma=1.0), RenyiDP(order=4.0, epsilon=0.3)),
        (Gaussian(sigma=1.0), ApproxDP(epsilon=1.0, delta=0.01)),
        (Laplace(scale=1.0), PureDP(epsilon=0.5)),
    ],
)
def test_every_kind_of_claim_can_be_refuted(mechanism: Any, claim: Guarantee) -> None:  # noqa: ANN401
    verdict = audit(mechanism, left=0.0, right=1.0, claim=claim, seed=5)
    assert isinstance(verdict, Refuted)
    assert "likelihood ratio" in verdict.tried
    assert verdict.float_leak is None


def test_implied_points_follow_the_claim() -> None:
    assert [p.delta for p in implied_points(PureDP(epsilon=1.0))] == [0.0]
    points = implied_points(GaussianDP(mu=1.0))
    assert points[0].epsilon == 0.0
    assert points[0].delta == pytest.approx(0.3829249, abs=1e-6)  # 2Φ(1/2) − 1
    assert all(a.epsilon < b.epsilon and a.delta > b.delta for a, b in pairwise(points))


def test_the_claim_may_come_from_the_mechanism() -> None:
    verdict = audit(RandomizedResponse(epsilon=1.0), left=0, right=1, seed=2, samples=3_000)
    assert verdict.claim == PureDP(epsilon=1.0)


def test_a_naive_sampler_leaks_through_its_bits() -> None:
    naive = Laplace(scale=1.0, arithmetic="real")
    verdict = audit(naive, left=0.0, right=1.0, claim=PureDP(epsilon=1.5), seed=4, samples=4_000)
    assert not verdict.refuted
    assert verdict.float_leak is not None
    assert "lowest_bit" in str(verdict.float_leak.event)
    assert "FLOATING-POINT LEAK" in str(verdict)
    assert "its level is apart" in str(verdict)
    as_floats = audit(
        naive,
        left=0.0,
        right=1.0,
        claim=PureDP(epsilon=1.5),
        seed=4,
        samples=4_000,
        arithmetic="float",
    )
    assert as_floats.refuted
    safe = audit(
        Laplace(scale=1.0), left=0.0, right=1.0, claim=PureDP(epsilon=1.5), seed=4, samples=4_000
    )
    assert safe.float_leak is None


@pytest.mark.parametrize("method", ["anytime", "fixed"])
def test_methods(method: Any) -> None:  # noqa: ANN401
    verdict = audit(
        Laplace(scale=1.0), left=0.0, right=1.0, claim=HALF, seed=1, samples=4_000, method=method
    )
    assert verdict.refuted
    assert (verdict.samples == 4_000) == (method == "fixed")


def test_progress_is_told() -> None:
    told: list[Progress] = []
    audit(Laplace(scale=1.0), left=0.0, right=1.0, seed=1, samples=500, progress=told.append)
    assert [p.samples for p in told][-1] == 500
    assert [end for _, end in stages(500)] == [64, 96, 128, 192, 256, 384, 500]


def test_a_constant_output_is_noted() -> None:
    verdict = audit(lambda data, rng: 1, left=0, right=1, claim=HALF, seed=1, samples=300)  # noqa: ARG005
    assert not verdict.refuted
    assert "does the mechanism use rng" in verdict.unusable[0]
    assert "does the mechanism use rng" in str(verdict)
    apart = audit(lambda data, rng: data, left=0, right=1, claim=HALF, seed=1, samples=300)  # noqa: ARG005
    assert apart.refuted
    assert "on the left is the same, and so is every output on the right" in apart.notes[0]


class Forgetful:
    """Starts its own generator at every call."""

    def sample(self, data: float, size: int, *, rng: np.random.Generator) -> Any:  # noqa: ANN401, ARG002
        return data + np.random.default_rng(0).laplace(size=size)


def failing(_data: object, _rng: object) -> None:
    raise RuntimeError("broken pipe")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": 0.0}, "level=0.0 must"),
        ({"level": math.nan}, "level=nan must be a real number"),
        ({"level": 0.9}, "level=0.9 must lie in"),
        ({"seed": -1}, "seed=-1 must"),
        ({"samples": 0}, "samples=0 must"),
        ({"method": "magic"}, "method='magic' must be one of"),
        ({"arithmetic": "complex"}, "arithmetic='complex' must be one of"),
        ({"claim": PureDP(epsilon=math.inf)}, "must be finite"),
        ({"claim": None}, "claim=None must be given"),
        ({"mechanism": 3}, "mechanism=3 must be a callable"),
        ({"workers": 0}, "workers=0 must"),
        ({"mechanism": Forgetful()}, "must draw from rng"),
        ({"mechanism": failing}, "every call raises RuntimeError: broken pipe"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"mechanism": noisy, "left": 0.0, "right": 1.0, "claim": HALF} | changes
    with pytest.raises(InvalidParameter, match=message):
        audit(given.pop("mechanism"), **given)


def test_a_file_that_holds_no_witness_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="must hold a saved witness"):
        Witness.load(tmp_path / "w.json")


def refuting_pair() -> Refuted:
    """A claim of 0.8 ε of Gaussian noise at δ = 1e-3, which two events refute together."""

    class Normal:
        def sample(self, data: float, size: int, *, rng: np.random.Generator) -> np.ndarray:
            return data + rng.standard_normal(size)

    options: dict[str, Any] = {"left": 0.0, "right": 1.0, "level": 0.05, "seed": 3}
    claim = ApproxDP(epsilon=2.51, delta=1e-3)
    verdict = audit(Normal(), claim=claim, **options, samples=100_000, method="fixed")
    assert isinstance(verdict, Refuted)
    return verdict


@pytest.mark.false_alarm(1e-9)
def test_a_witness_of_two_events_is_told_kept_and_read_again(tmp_path: Path) -> None:
    verdict = refuting_pair()
    witness = verdict.witness
    assert witness.also is not None
    assert witness.counts.also is not None
    assert "and, besides it, event: " in str(verdict)
    witness.save(tmp_path / "witness.json")
    again = Witness.load(tmp_path / "witness.json")
    assert again.counts == witness.counts
    assert again.also == witness.also
    assert again.epsilon_lower == witness.epsilon_lower > 0.0
    alone = replace(witness, also=None, counts=replace(witness.counts, also=None))
    assert alone.epsilon_lower < witness.epsilon_lower


def test_a_second_event_counts_only_what_is_not_in_the_first() -> None:
    left, right = (from_array(np.array(rows)) for rows in ([0.0, 1.0, 2.0, 3.0], [2.0, 3.0, 3.0]))
    first, second = Between(feature="output", high=2.0), Between(feature="output", low=2.0)
    found = counts_of(first, Side.LEFT, Draws(left, right), also=second)
    assert (found.hits, found.other_hits) == (3, 1)
    assert found.also == Counts(hits=2, trials=3, other_hits=1, other_trials=4)
