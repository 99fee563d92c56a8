"""One-run audits: honest trainings survive, leaky ones do not, nonsense is refused."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from dpverify.auditing.one_run.audit import audit_one_run
from dpverify.auditing.one_run.verdict import GuessPlan
from dpverify.claims import claim_from_dict
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from dpverify.mechanisms import Gaussian

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


def gaussian_scores(mu: float) -> Callable[[Mask, np.random.Generator], Floats]:
    def train(included: Mask, rng: np.random.Generator) -> Floats:
        return mu * included + rng.normal(size=len(included))

    return train


def randomized_response(epsilon: float) -> Callable[[Mask, np.random.Generator], Floats]:
    """Each coin, turned with odds 1 : e^ε: exactly ε-DP, and the worst case without a leak."""

    def train(included: Mask, rng: np.random.Generator) -> Floats:
        turned = rng.random(len(included)) < 1 / (1 + math.exp(epsilon))
        return (included ^ turned).astype(np.float64)

    return train


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("runs", [25, pytest.param(80, marks=pytest.mark.slow)])
def test_honest_trainings_are_refuted_at_most_at_the_level(runs: int) -> None:
    level = 0.1
    cases: list[tuple[Callable[[Mask, np.random.Generator], Floats], Guarantee]] = [
        (gaussian_scores(1.0), GaussianDP(mu=1.0)),
        (randomized_response(1.0), PureDP(epsilon=1.0)),
    ]
    for train, claim in cases:
        refuted = sum(
            audit_one_run(
                train, canaries=200, claim=claim, plans=[(20, 20)], level=level, seed=seed
            ).refuted
            for seed in range(runs)
        )
        assert refuted <= binom.isf(5e-10, runs, level)


@pytest.mark.false_alarm(1e-9)
def test_randomized_response_is_bounded_closely() -> None:
    # Above the truth with at most the level; below 1.5 only 6 deviations beyond the limit.
    found = audit_one_run(
        randomized_response(2.0),
        canaries=4000,
        claim=PureDP(epsilon=1.5),
        plans=[(2000, 2000)],
        level=1e-10,
        seed=3,
    )
    assert found.refuted
    assert 1.5 < found.epsilon_lower <= 2.0


def test_power_at_ten_thousand_canaries() -> None:
    found = audit_one_run(
        gaussian_scores(1.0), canaries=10_000, claim=GaussianDP(mu=0.5), level=0.05, seed=0
    )
    assert found.refuted
    assert found.mu_lower is not None
    assert 0.55 < found.mu_lower < 1.0
    assert found.delta == 1e-5
    assert 1.8 < found.epsilon_lower < 4.38
    assert "refuted" in str(found)


def test_same_seed_same_verdict_and_json() -> None:
    first, again = (
        audit_one_run(gaussian_scores(1.0), canaries=500, claim=PureDP(epsilon=1.0), seed=5)
        for _ in range(2)
    )
    fields, others = json.loads(first.to_json()), json.loads(again.to_json())
    assert fields.pop("seconds") >= 0.0
    assert others.pop("seconds") >= 0.0
    assert fields == others
    assert claim_from_dict(fields["claim"]) == PureDP(epsilon=1.0)
    assert fields["refuted"] is first.refuted


def test_canaries_may_be_records_and_models_be_scored() -> None:
    records = [f"record {i}" for i in range(300)]

    def train(data: list[str], rng: np.random.Generator) -> set[str]:
        return {record for record in data if rng.random() < 0.95}  # remembers what it has seen

    def score(model: set[str], record: str) -> float:
        return float(record in model)

    found = audit_one_run(train, canaries=records, score=score, claim=PureDP(epsilon=1.0), seed=2)
    assert found.refuted
    assert found.best.guesses >= found.correct > 0
    assert 100 < found.included < 200


def test_several_runs_are_judged_together() -> None:
    coins: list[tuple[bool, ...]] = []

    def train(included: Mask, rng: np.random.Generator) -> Floats:
        coins.append(tuple(included.tolist()))
        return gaussian_scores(3.0)(included, rng)

    found = audit_one_run(train, canaries=40, claim=PureDP(epsilon=0.5), runs=5, seed=1)
    assert found.refuted
    assert found.canaries == 200
    assert len(set(coins)) == 5  # each run has coins of its own
    assert found.included == sum(map(sum, coins))
    with pytest.raises(InvalidParameter, match="runs=0 must"):
        audit_one_run(train, canaries=40, claim=PureDP(epsilon=0.5), runs=0)


def test_a_mechanism_stands_for_its_pair() -> None:
    found = audit_one_run(
        gaussian_scores(4.0), canaries=400, claim=Gaussian(sigma=10.0), seed=2, level=0.05
    )
    assert found.refuted


def test_nothing_learned_is_not_refuted() -> None:
    def train(included: Mask, rng: np.random.Generator) -> Floats:
        return rng.normal(size=len(included))

    found = audit_one_run(
        train, canaries=1000, claim=ApproxDP(epsilon=0.1, delta=1e-6), seed=1, level=1e-9
    )
    assert not found.refuted
    assert found.epsilon_lower == 0.0
    assert "no proof of privacy" in str(found)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"canaries": 0}, "canaries=0 must be a whole number"),
        ({"canaries": 2.5}, "canaries=2.5 must be a number or a list"),
        ({"canaries": 10, "plans": []}, "plans=.* must not be empty"),
        ({"canaries": 10, "plans": [(8, 8)]}, "must guess at most canaries=10"),
        ({"canaries": 10, "plans": [(-1, 8)]}, "inside=-1 must be a whole number"),
        ({"canaries": 10, "level": 0.0}, "level=0.0 must lie in"),
        ({"canaries": 10, "seed": -1}, "seed=-1 must be a whole number"),
        ({"canaries": 10, "claim": PureDP(epsilon=math.inf)}, "no guesses could refute it"),
        ({"canaries": 10, "claim": "private"}, "claim='private' must be a guarantee"),
        ({"canaries": 10, "delta": 2.0}, "delta=2.0 must lie in"),
    ],
)
def test_refuses_nonsense(fields: dict[str, object], match: str) -> None:
    arguments: dict[str, object] = {"claim": PureDP(epsilon=1.0)} | fields
    with pytest.raises(InvalidParameter, match=match):
        audit_one_run(gaussian_scores(1.0), **arguments)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("scores", [[1.0, 2.0], ["a"] * 10, [math.nan] * 10, None])
def test_refuses_scores_that_are_none(scores: object) -> None:
    with pytest.raises(InvalidParameter, match="scores of shape"):
        audit_one_run(lambda _included, _rng: scores, canaries=10, claim=PureDP(epsilon=1.0))


def test_plans_are_settled_before_looking() -> None:
    found = audit_one_run(gaussian_scores(1.0), canaries=6, claim=PureDP(epsilon=1.0))
    assert found.plans == (GuessPlan(3, 3),)
    many = audit_one_run(gaussian_scores(1.0), canaries=6400, claim=PureDP(epsilon=1.0))
    assert many.plans == (GuessPlan(100, 100), GuessPlan(800, 800), GuessPlan(400, 0))
