"""Audits that are given a schema and no pair: what they find, and how seldom they are wrong."""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

import solvers
from dpverify.auditing import NotRefuted, Refuted
from dpverify.auditing.search import audit_over
from dpverify.auditing.search.halving import Halving
from dpverify.auditing.search.trials import Search, derived
from dpverify.auditing.statistics.points import implied_points
from dpverify.claims import AuditClaim, Claim, ProfileClaim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.mechanisms import Gaussian, Laplace, NoisyMax, RandomizedResponse, SparseVector
from dpverify.neighbors import Relation
from dpverify.schema import (
    Answers,
    Category,
    Labeled,
    Number,
    Records,
    Schema,
    Vector,
)
from dpverify.theorems import LAPLACE
from tests.auditing.search.interrupted import KEPT, UNITS, counted
from tests.flawed import FLAWED

Rng = np.random.Generator
ONE = PureDP(epsilon=1.0)
BITS = Records(record=Category(values=(0, 1)), length=None, relation=Relation.REPLACE_ONE)


def answers(dimension: int | None, sensitivity: float = 1.0, norm: float = math.inf) -> Answers:
    return Answers(dimension=dimension, sensitivity=sensitivity, norm=norm)


# For each broken mechanism its schema, and the draws a side that explore and that judge a pair.
SCHEMAS: dict[str, tuple[Schema, int, int]] = {
    "sparse vector 3, releases the answer": (answers(8), 60_000, 60_000),
    "sparse vector 4, too little noise on answers": (answers(10), 20_000, 20_000),
    "sparse vector 5, no noise on answers": (answers(10), 2_000, 2_000),
    "sparse vector 6, never stops": (answers(10), 10_000, 5_000),
    "noisy max that releases the value": (answers(5), 10_000, 5_000),
    "histogram with the scale of its inverse": (answers(4, norm=1), 2_000, 1_000),
    "sensitivity off by two": (answers(None, 2.0), 2_000, 2_000),
    "noise of scale ε": (answers(None), 2_000, 1_000),
    "noise of scale 1/ε²": (answers(None), 2_000, 2_500),
    "seeded noise": (answers(None), 2_000, 1_000),
    "clipping after the noise": (
        Records(record=Number(low=0, high=5), length=(1, 4), relation=Relation.REPLACE_ONE),
        2_000,
        2_000,
    ),
    "Gaussian noise with δ ignored": (answers(None), 10_000, 200_000),
    "a branch that leaks with small probability": (answers(None), 10_000, 5_000),
    "naive Laplace in floating point": (answers(None), 2_000, 2_000),
}
LONG = {
    "sparse vector 3, releases the answer",
    "sparse vector 4, too little noise on answers",
    "sparse vector 6, never stops",
}
CASES = [
    pytest.param(flawed, marks=[pytest.mark.slow] if flawed.name in LONG else [], id=flawed.name)
    for flawed in FLAWED
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("flawed", CASES)
def test_every_broken_mechanism_is_refuted_without_a_pair(flawed: Any) -> None:  # noqa: ANN401
    schema, explore, samples = SCHEMAS[flawed.name]
    verdict = audit_over(
        flawed,
        schema,
        claim=flawed.claim,
        seed=11,
        samples=samples,
        explore=explore,
        arithmetic="float" if flawed.bits else "real",
    )
    assert isinstance(verdict, Refuted)
    assert verdict.samples <= 1.5 * explore + 2 * samples
    witness = verdict.witness
    schema.check_neighbors(witness.left, witness.right)
    assert witness.replay(flawed, samples=max(5_000, 2 * samples), seed=12).refuted


@dataclass(frozen=True)
class Sampled:
    """The sampler alone: without its density the audit has to learn."""

    mechanism: Any

    def sample(self, data: Any, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        return self.mechanism.sample(data, size, rng=rng)


HONEST: dict[str, tuple[Any, Schema, AuditClaim]] = {
    "Laplace": (Sampled(Laplace(scale=1.0)), answers(None), ONE),
    "Laplace, vectors": (Sampled(Laplace(scale=1.0)), answers(2, norm=1), ONE),
    "Gaussian": (  # the exact δ of σ = 1 at ε = 1, rounded up
        Sampled(Gaussian(sigma=1.0)),
        answers(None),
        ApproxDP(epsilon=1.0, delta=0.12694),
    ),
    "Gaussian, many points": (Sampled(Gaussian(sigma=1.0)), answers(None), GaussianDP(mu=1.0)),
    "Laplace, points that are tight and loose": (  # 1 − exp((ε − 1)/2), rounded up
        Sampled(Laplace(scale=1.0)),
        answers(None),
        ProfileClaim(points=((0.0, 0.9), (0.5, 0.2213), (1.0, 0.0), (3.0, 0.0))),
    ),
    "randomized response": (RandomizedResponse(epsilon=1.0), BITS, ONE),
    "noisy max": (NoisyMax(epsilon=1.0, score_sensitivity=1.0), answers(3), ONE),
    "sparse vector": (SparseVector(epsilon=1.0, threshold=0.5), answers(4), ONE),
}
LEVEL = 0.05


def refuted(name: str, searches: int) -> int:
    mechanism, schema, claim = HONEST[name]
    return sum(
        audit_over(
            mechanism,
            schema,
            claim=claim,
            level=LEVEL,
            seed=seed,
            samples=300,
            explore=600,
            pairs=64,
            minimize=False,
        ).refuted
        for seed in range(searches)
    )


@pytest.mark.slow
@pytest.mark.false_alarm(9e-9)
def test_honest_mechanisms_are_rarely_refuted_whatever_is_explored() -> None:
    """8 × 25 searches, each over the pairs that looked worst in its exploration.

    If each refuted with probability LEVEL, the most that is allowed, a count would exceed its
    tolerance, the upper 1e-9 quantile of the binomial law, with probability 1e-9.
    """
    found = {name: refuted(name, 25) for name in HONEST}
    print(found)  # noqa: T201  # shown with -s
    assert sum(found.values()) <= binom.isf(1e-9, 25 * len(found), LEVEL), found
    assert max(found.values()) <= binom.isf(1e-9, 25, LEVEL), found


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_mechanism_stands(name: str) -> None:
    mechanism, schema, claim = HONEST[name]
    verdict = audit_over(mechanism, schema, claim=claim, level=1.25e-10, samples=700, explore=1_000)
    assert isinstance(verdict, NotRefuted)
    assert verdict.level == 1.25e-10
    assert verdict.samples > 1_400  # both pairs that are judged, and what was explored
    assert "neighboring pairs" in verdict.tried[-1]
    assert "judged nothing" in str(verdict)


def no_noise_when_empty(data: Any, rng: Rng) -> float:  # noqa: ANN401
    return float(rng.laplace()) + float(np.sum(data)) if len(data) else 0.0


def forgets_duplicates(data: Any, rng: Rng) -> float:  # noqa: ANN401
    """Claimed for the number of records, without the noise for one that comes twice."""
    twice = len(set(np.asarray(data).tolist())) < len(data)
    return len(data) + float(rng.laplace()) * (0.1 if twice else 1.0)


def crashes(data: Any, rng: Rng) -> float:  # noqa: ANN401
    if np.any(np.asarray(data) > 0.99) and rng.random() < 0.3:
        raise OverflowError("too large")
    return float(rng.integers(3))


def depends_on_the_first(data: Any, rng: Rng) -> float:  # noqa: ANN401
    """The first record is released with too little noise where the others are all equal."""
    rest = np.asarray(data[1:])
    scale = 0.1 if len(rest) and (rest == rest[0]).all() else 5.0
    return float(data[0]) + float(rng.laplace(scale=scale)) if len(data) else 0.0


@pytest.mark.parametrize(
    "mechanism", [no_noise_when_empty, forgets_duplicates, crashes, depends_on_the_first]
)
def test_flaws_of_certain_data_are_found(mechanism: Callable[..., object]) -> None:
    verdict = audit_over(mechanism, UNITS, claim=ONE, seed=3, samples=1_000, explore=2_500)
    assert isinstance(verdict, Refuted)
    UNITS.check_neighbors(verdict.witness.left, verdict.witness.right)


def test_a_witness_is_made_simple() -> None:
    schema = Records(record=Number(low=0, high=1), length=(1, 40), relation=Relation.REPLACE_ONE)

    def flawed(data: Any, rng: Rng) -> float:  # noqa: ANN401
        return float(np.sum(data)) + float(rng.laplace(scale=0.5))

    verdict = audit_over(flawed, schema, claim=ONE, seed=5, samples=2_000, explore=2_000)
    assert isinstance(verdict, Refuted)
    assert sorted([verdict.witness.left.tolist(), verdict.witness.right.tolist()]) == [[0.0], [1.0]]
    kept = audit_over(
        flawed, schema, claim=ONE, seed=5, samples=2_000, explore=2_000, minimize=False
    )
    assert isinstance(kept, Refuted)
    assert kept.epsilon_lower == verdict.epsilon_lower
    assert len(kept.witness.left) >= 1


class Refuses:
    """Takes numbers below 1 only, as a vectorized mechanism does."""

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def sample(self, data: Any, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        if np.any(np.asarray(data) >= self.limit):
            raise ValueError("numbers must be smaller")
        return rng.laplace(size=size)


def test_what_a_vectorized_mechanism_raises_is_an_output() -> None:
    verdict = audit_over(
        Refuses(1.0), UNITS, claim=ONE, seed=3, samples=1_000, explore=2_000, pairs=16
    )
    assert isinstance(verdict, Refuted)
    assert verdict.witness.counts.other_hits == 0
    sides = [np.any(side >= 1.0) for side in (verdict.witness.left, verdict.witness.right)]
    assert sorted(sides) == [False, True]


def test_a_schema_that_does_not_fit_is_refused_in_one_sentence() -> None:
    with pytest.raises(InvalidParameter, match="raises ValueError: numbers must be smaller"):
        audit_over(Refuses(-math.inf), answers(2), claim=ONE, samples=500, pairs=8)


def noisy(data: Any, rng: Rng) -> float:  # noqa: ANN401
    return float(np.sum(data)) + float(rng.laplace())


def test_same_seed_same_verdict_whatever_the_workers() -> None:
    options: dict[str, Any] = {"claim": PureDP(epsilon=0.5), "samples": 800, "explore": 600}
    alone = audit_over(noisy, UNITS, seed=3, **options)
    with ThreadPoolExecutor(2) as pool:
        together = audit_over(noisy, UNITS, seed=3, executor=pool, **options)
    processes = audit_over(noisy, UNITS, seed=3, workers=2, **options)
    for verdict in (together, processes):
        assert isinstance(verdict, Refuted)
        assert isinstance(alone, Refuted)
        assert verdict.samples == alone.samples
        assert verdict.epsilon_lower == alone.epsilon_lower
        assert verdict.witness.event == alone.witness.event
        assert verdict.witness.counts == alone.witness.counts
        assert verdict.witness.left.tolist() == alone.witness.left.tolist()


@pytest.mark.parametrize("budget", [2_500, 10_000, pytest.param(40_000, marks=pytest.mark.slow)])
def test_the_exploration_keeps_to_its_budget_and_ranks_by_promise(budget: int) -> None:
    search = Search(Laplace(scale=1.0), implied_points(ONE), level=0.01, samples=10_000, seed=1)
    explored = Halving(search, answers(3), budget=budget, pairs=64)
    explored.run()
    assert search.used <= 1.4 * budget
    scores = [trial.score for trial in explored.ranked]
    assert scores == sorted(scores, reverse=True)
    assert len(search.tried) >= 4
    assert len({trial.candidate for trial in explored.ranked}) == len(scores)


def test_points_that_are_claimed_at_once_are_judged_in_any_order(tmp_path: Path) -> None:
    """Of a false point beside true ones the search says that all together do not hold."""
    true: Any = PureDP(epsilon=1.0)
    false = (0.2, 0.3)  # the δ at 0.2 is 1 − exp(−0.4), 0.33
    given: dict[str, Any] = {"samples": 20_000, "explore": 1_000, "pairs": 4, "seed": 1}
    found = [
        audit_over(Sampled(Laplace(scale=1.0)), UNITS, claim=claim, checkpoint=file, **given)
        for claim in ([true, false], [false, true, true], [true, false, false])
        for file in (tmp_path / "draws",)
    ]
    first, *others = [verdict.to_dict() | {"seconds": 0} for verdict in found]
    assert first["refuted"]
    assert first["delta"] == 0.3
    assert all(other == first for other in others)
    with pytest.raises(InvalidParameter, match="made with another claim"):
        audit_over(
            Sampled(Laplace(scale=1.0)), UNITS, claim=[true], checkpoint=tmp_path / "draws", **given
        )


def test_a_leak_through_bits_is_told() -> None:
    naive = Laplace(scale=1.0, arithmetic="real")
    verdict = audit_over(naive, answers(None), claim=PureDP(epsilon=1.5), samples=4_000)
    assert not verdict.refuted
    assert verdict.float_leak is not None


def test_solvers_are_audited_by_their_own_claim() -> None:
    problem = solvers.Problem(
        loss=solvers.Logistic(),
        bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
        regularizer=solvers.Ridge(1.0),
    )
    method = solvers.OutputPerturbation(problem=problem, budget=ONE, relation=Relation.REPLACE_ONE)
    example = Labeled(x=Vector(dimension=1, radius=1.0, norm=2), y=Category(values=(-1, 1)))
    schema = Records(record=example, length=4, relation=Relation.REPLACE_ONE)
    verdict = audit_over(method, schema, samples=1_000, level=1e-9, pairs=16)
    assert not verdict.refuted
    assert verdict.claim == ONE
    assert "likelihood ratio" in verdict.tried
    assert "the claim assumes" in verdict.notes[-1]
    # What these four records can show of the method is some 0.4 of its claim of 1.
    tenth = audit_over(
        method, schema, samples=10_000, explore=2_500, claim=PureDP(epsilon=0.1), seed=1
    )
    assert tenth.refuted
    added = Records(record=example, length=(0, 4), relation=Relation.ADD_REMOVE)
    with pytest.raises(InvalidParameter, match="must hold for relation"):
        audit_over(method, added)


def test_seeds_of_parts_differ() -> None:
    seeds = {derived(seed, *key) for seed in (0, 1) for key in [(0,), (1,), (1, 0), (0, 1)]}
    assert len(seeds) == 8


def test_an_end_of_time_is_kept() -> None:
    verdict = audit_over(noisy, UNITS, claim=PureDP(epsilon=3.0), samples=10_000_000, seconds=4)
    assert not verdict.refuted
    assert verdict.stopped is not None
    assert verdict.samples < 10_000_000


def test_a_search_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same verdict, and nothing is drawn twice."""
    code = (
        "import sys; from dpverify import audit_over; from tests.auditing.search import "
        "interrupted as t; audit_over(t.counted, t.UNITS, checkpoint=sys.argv[1], **t.KEPT)"
    )
    monkeypatch.setenv("CALLS", "0")
    alone = audit_over(counted, UNITS, **KEPT)
    calls = int(os.environ["CALLS"])
    file, root = tmp_path / "draws", Path(__file__).parents[3]
    command = [sys.executable, "-c", code, str(file)]
    for last in (calls // 4, calls // 2):
        given = os.environ | {"CALLS": "0", "LAST_CALL": str(last)}
        assert subprocess.run(command, cwd=root, check=False, env=given).returncode == 9
    os.environ["CALLS"] = "0"
    again = audit_over(counted, UNITS, checkpoint=file, **KEPT)
    assert again.to_dict() | {"seconds": 0} == alone.to_dict() | {"seconds": 0}
    assert int(os.environ["CALLS"]) < 0.6 * calls
    os.environ["CALLS"] = "0"
    audit_over(counted, UNITS, checkpoint=file, **KEPT)
    assert int(os.environ["CALLS"]) <= 4  # one a side and judged pair, to see that it is the same
    with pytest.raises(InvalidParameter, match="made with another seed"):
        audit_over(counted, UNITS, checkpoint=file, **(KEPT | {"seed": 6}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pairs": 0}, "pairs=0 must"),
        ({"explore": 0}, "explore=0 must"),
        ({"samples": 0}, "samples=0 must"),
        ({"seed": -1}, "seed=-1 must"),
        ({"level": 0.0}, "level=0.0 must"),
        ({"claim": None}, "claim=None must be given"),
        ({"claim": PureDP(epsilon=math.inf)}, "must be finite"),
        ({"claim": []}, "must not be empty"),
        ({"claim": [(1.0, 0.0), (math.nan, 0.1)]}, "epsilon=nan must"),
        ({"claim": [(1.0, 0.0), GaussianDP(1.0)]}, "must stand alone"),
        ({"checkpoint": "/"}, "must be a file that can be written"),
        ({"seconds": 0}, "seconds=0 must"),
        ({"workers": 2, "mechanism": lambda data, rng: 0}, "must be picklable for workers=2"),  # noqa: ARG005
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"mechanism": noisy, "schema": UNITS, "claim": ONE} | changes
    with pytest.raises(InvalidParameter, match=message):
        audit_over(given.pop("mechanism"), given.pop("schema"), **given)


def test_a_claim_under_another_relation_is_refused() -> None:
    claim = Claim(ONE, Relation.REPLACE_ONE, LAPLACE)
    with pytest.raises(InvalidParameter, match="must hold for relation"):
        audit_over(noisy, UNITS, claim=claim)


class Logistic:
    """Objective perturbation for records of norm 1, many fits at once; the labels are public.

    "norm" takes records as they are; "intercept" has one that is neither perturbed nor held back.
    """

    labels = np.array([-1.0, 1.0, -1.0, 1.0])
    ridge = 1.8  # 2·(1/4)/(e^(1/4) − 1) is less: half of ε = 1 pays for the curvature

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    def sample(self, data: Any, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        rows = np.asarray(data, np.float64).reshape(4, -1)
        if self.flaw != "norm":
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        noise = rng.normal(size=(size, 2))
        noise *= rng.gamma(2, 4.0, size=(size, 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
        held = np.full(2, self.ridge)
        if self.flaw == "intercept":
            rows = np.column_stack([rows, np.ones(4)])
            noise, held = np.column_stack([noise, np.zeros(size)]), np.append(held, 1e-3)
        weights = np.zeros((size, len(held)))
        for _ in range(25):  # Newton's method
            wrong = scipy.special.expit(-self.labels * (weights @ rows.T))
            slope = noise + held * weights - (wrong * self.labels) @ rows
            bend = np.einsum("ni,ij,ik->njk", wrong * (1.0 - wrong), rows, rows) + np.diag(held)
            weights -= np.linalg.solve(bend, slope[..., None])[..., 0]
        return weights


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(
    ("flaw", "radius"),
    [
        pytest.param("none", 1.0, marks=pytest.mark.slow),
        ("intercept", 1.0),
        ("norm", 10.0),
    ],
)
def test_a_logistic_regression_without_bounds_is_refuted_by_the_search_alone(
    flaw: str, radius: float
) -> None:
    schema = Records(
        record=Vector(dimension=2, radius=radius, norm=2), length=4, relation=Relation.REPLACE_ONE
    )
    given: dict[str, Any] = {"samples": 2_000, "explore": 2_500, "minimize": False, "level": 1e-9}
    verdict = audit_over(Logistic(flaw), schema, claim=ONE, seed=1, **given)
    assert verdict.refuted is (flaw != "none")


class FittedElsewhere:
    """scikit-learn's logistic regression with noise on its weights; the labels are public.

    It minimizes ½‖w‖² + C·Σ loss, so for records of norm 1 the weights move by 2·C at most. "norm"
    takes records as they are; "intercept" releases the intercept, which is not regularized, too.
    """

    labels = np.array([0, 1, 0, 1])
    weight = 0.01  # C: records of norm 10 then break ε = 1 by far

    def __init__(self, flaw: str) -> None:
        self.flaw = flaw

    def __call__(self, data: Any, rng: Rng) -> Any:  # noqa: ANN401
        rows = np.asarray(data, np.float64).reshape(4, -1)
        if self.flaw != "norm":
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
        model = LogisticRegression(C=self.weight, fit_intercept=self.flaw == "intercept")
        weights = model.fit(rows, self.labels).coef_[0]
        noise = rng.normal(size=2)
        noise *= rng.gamma(2, 2.0 * self.weight) / np.linalg.norm(noise)
        shown = weights + noise
        return np.append(shown, model.intercept_) if self.flaw == "intercept" else shown


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("flaw", ["none", "intercept", "norm"])
def test_a_logistic_regression_of_another_library_is_refuted_by_the_search_alone(flaw: str) -> None:
    vector = Vector(dimension=2, radius=10.0, norm=2)
    schema = Records(record=vector, length=4, relation=Relation.REPLACE_ONE)
    given: dict[str, Any] = {"samples": 500, "explore": 1_000, "minimize": False, "level": 1e-9}
    verdict = audit_over(FittedElsewhere(flaw), schema, claim=ONE, seed=1, **given)
    assert verdict.refuted is (flaw != "none")


def test_a_pair_on_which_the_mechanism_is_slow_has_a_limit_of_its_own() -> None:
    def slow(data: Any, rng: Rng) -> float:  # noqa: ANN401
        time.sleep(0.05)
        return float(rng.normal() + len(data))

    search = Search(slow, implied_points(ONE), level=0.1, samples=100, seed=1)
    trial = search.trial(next(UNITS.patterns()), 1).within(1.0).drawn(5_000)
    assert 1 <= trial.size < 100
    assert trial.seen is not None
    assert search.trial(next(UNITS.patterns()), 1).within(1e-3).drawn(100).seen is None
