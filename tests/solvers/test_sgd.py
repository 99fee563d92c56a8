"""DP-SGD: batches as they are claimed, noise as the accountant allows, audits of both."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpverify as dpv
from dpverify.accounting.adaptive.batches import no_games
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.neighbors import Relation
from solvers import Chunks
from solvers.privacy.noise import noise_ratio
from solvers.sgd import (
    AllocatedBatches,
    Batches,
    FixedBatches,
    PoissonBatches,
    StochasticGradientDescent,
    batch_noise_ratio,
)
from tests.solvers.spoiled_iterates import hinge_pair, hinge_setting, unit_records

PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)


def descent(relation: Relation, batches: Batches, budget: Any, **options: Any) -> Any:  # noqa: ANN401
    chosen: dict[str, Any] = {"steps": 2, "learning_rate": 0.01} | options
    return StochasticGradientDescent(
        hinge_setting(relation, 3), budget=budget, batches=batches, **chosen
    )


@pytest.mark.parametrize(
    ("batches", "relation", "epsilon0"),
    [
        # per step ε/2 = 1/2: ln(1 + q(e^ε₀ − 1)) where one is added, or batches are fixed
        (PoissonBatches(0.5), Relation.ADD_REMOVE, math.log1p(math.expm1(0.5) / 0.5)),
        (FixedBatches(1), Relation.REPLACE_ONE, math.log1p(math.expm1(0.5) * 3.0)),
        # two steps are one epoch, whose largest loss is that of one step; of two, if replaced
        (AllocatedBatches(2), Relation.ADD_REMOVE, 1.0),
        (AllocatedBatches(2), Relation.REPLACE_ONE, 0.5),
    ],
)
def test_pure_noise_by_hand(batches: Batches, relation: Relation, epsilon0: float) -> None:
    noise = descent(relation, batches, PURE).noise(1)
    assert noise.kind == "norm"
    assert noise.sensitivity / noise.scale == pytest.approx(epsilon0, rel=1e-9)


def test_pure_noise_where_records_are_replaced() -> None:
    """(1 − q + q·e^a)/(1 − q + q·e^(−a)) = e^(1/2) for a = ε₀."""
    noise = descent(Relation.REPLACE_ONE, PoissonBatches(0.25), PURE).noise(1)
    a = noise.sensitivity / noise.scale
    ratio = (0.75 + 0.25 * math.exp(a)) / (0.75 + 0.25 * math.exp(-a))
    assert math.log(ratio) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("relation", Relation)
def test_gaussian_noise_for_poisson_batches(relation: Relation) -> None:
    ratio = batch_noise_ratio(PoissonBatches(0.1), APPROX, 20, relation, 100)
    part = dpv.Subsampled(dpv.Gaussian(sigma=ratio), rate=0.1)
    accountant = dpv.Accountant(relation=relation).compose(part, times=20)
    spent = accountant.epsilon(1e-3, tolerance=1e-5)
    assert 0.99 < spent.upper <= 1.0


@pytest.mark.parametrize(
    "relation",
    [pytest.param(Relation.ADD_REMOVE, marks=pytest.mark.slow), Relation.REPLACE_ONE],
)
def test_gaussian_noise_for_allocated_batches(relation: Relation) -> None:
    """The accountant's ε of two epochs is the budget's, and less than that of twice all records."""
    ratio = batch_noise_ratio(AllocatedBatches(4), APPROX, 8, relation, 3)
    epoch = dpv.RandomAllocation(dpv.Gaussian(sigma=ratio), steps=4)
    spent = dpv.Accountant(relation=relation).compose(epoch, times=2).epsilon(1e-3, tolerance=1e-4)
    assert 0.98 < spent.upper <= 1.0
    reach = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    assert 0.5 < ratio / (reach * noise_ratio(APPROX, 2)) < 0.8


@pytest.mark.false_alarm(1e-9)
def test_allocated_batches_take_each_record_once_an_epoch() -> None:
    """Three records with features e₁, e₂, e₃: all 4³ ways are equally likely, in every epoch."""
    fit = descent(Relation.ADD_REMOVE, AllocatedBatches(4), PURE, steps=8)
    sums = fit.setting.sums((np.eye(3), np.ones(3)))
    summed, rows = fit.gradient_sums(sums, np.random.default_rng(3)), np.zeros((20_000, 3))
    taken = np.stack([summed(rows) != 0 for _ in range(8)])
    for epoch in (taken[:4], taken[4:]):
        assert (epoch.sum(axis=0) == 1).all()
        ways = np.bincount(epoch.argmax(axis=0) @ np.array([16, 4, 1]), minlength=64)
        low, high = (binom.ppf(p, 20_000, 1 / 64) for p in (1e-9 / 256, 1 - 1e-9 / 256))
        assert low <= ways.min() <= ways.max() <= high
    assert (taken[:4] != taken[4:]).any()


def test_allocated_batches_in_chunks_are_the_same_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    data = rng.uniform(-0.5, 0.5, (3, 2)), np.array([1.0, -1.0, 1.0])
    fit = descent(Relation.ADD_REMOVE, AllocatedBatches(2), PURE, steps=4)
    whole, parts = (
        fit.sample(given, 2, rng=np.random.default_rng(1))
        for given in (data, Chunks.arrays(*data, rows=2))
    )
    assert (whole == parts).all()


def test_gaussian_noise_for_fixed_batches() -> None:
    """The certified upper end meets the budget, and a percent less noise does not."""
    ratio = batch_noise_ratio(FixedBatches(10), APPROX, 20, Relation.REPLACE_ONE, 100)
    spent = []
    for scale in (ratio, 0.99 * ratio):
        noise = dpv.Gaussian(sigma=scale)
        part = dpv.SubsampledWithoutReplacement(noise, batch=10, population=100)
        accountant = dpv.Accountant(relation=Relation.REPLACE_ONE).compose(part, times=20)
        with no_games():  # as searches do
            spent.append(accountant.epsilon(1e-3, tolerance=1e-4).upper)
    assert spent[0] <= 1.0 < spent[1]


def test_the_rate_of_float_uniforms_is_the_one_accounted_for() -> None:
    for rate in (0.1, 0.5, 1.0, 2.0**-60, 0.3):
        drawn = PoissonBatches(rate).drawn_rate
        assert rate <= drawn <= rate + 2.0**-53
        assert (drawn * 2.0**53).is_integer()


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(("records", "size"), [(7, 3), (2500, 40)])
def test_fixed_batches_are_equally_likely(records: int, size: int) -> None:
    batches = FixedBatches(size)._batches(4_000, records, np.random.default_rng(1))
    assert batches.shape == (4_000, size)
    assert all(len(set(row)) == size for row in batches[:200].tolist())
    counts = np.bincount(batches.ravel(), minlength=records)
    share = 1e-9 / (2 * records)
    low, high = (float(binom.ppf(p, 4_000, size / records)) for p in (share, 1 - share))
    assert low <= counts.min()
    assert counts.max() <= high


@pytest.mark.false_alarm(1e-9)
def test_poisson_batches_take_each_record_at_the_rate() -> None:
    """Three records with features e₁, e₂, e₃: a sum shows which were in the batch."""
    fit = descent(Relation.ADD_REMOVE, PoissonBatches(0.3), PURE)
    sums = fit.setting.sums((np.eye(3), np.ones(3)))
    totals = fit.gradient_sums(sums, np.random.default_rng(2))(np.zeros((20_000, 3)))
    taken = (totals != 0).astype(int)
    patterns = np.bincount(taken @ np.array([4, 2, 1]), minlength=8)
    expected = [0.7 ** (3 - k) * 0.3**k for k in (0, 1, 1, 2, 1, 2, 2, 3)]
    share = 1e-9 / 16
    low, high = binom.ppf(share, 20_000, expected), binom.ppf(1 - share, 20_000, expected)
    assert (low <= patterns).all()
    assert (patterns <= high).all()


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(
    ("batches", "relation", "budget", "steps"),
    [
        *(
            (*kind, budget, 1)
            for kind in (
                (PoissonBatches(0.5), Relation.ADD_REMOVE),
                (PoissonBatches(0.5), Relation.REPLACE_ONE),
                (FixedBatches(1), Relation.REPLACE_ONE),
            )
            for budget in (PURE, APPROX)
        ),
        (AllocatedBatches(2), Relation.ADD_REMOVE, PURE, 2),
        (AllocatedBatches(2), Relation.REPLACE_ONE, PURE, 2),
        # of which the noise is known from above
        (AllocatedBatches(4), Relation.REPLACE_ONE, APPROX, 8),
        pytest.param(AllocatedBatches(2), Relation.ADD_REMOVE, APPROX, 2, marks=pytest.mark.slow),
        pytest.param(AllocatedBatches(2), Relation.REPLACE_ONE, APPROX, 2, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_honest_batches_are_not_refuted(
    batches: Batches,
    relation: Relation,
    budget: Any,  # noqa: ANN401
    steps: int,
) -> None:
    left, right = hinge_pair(relation)
    fit = descent(relation, batches, budget, steps=steps)
    for mechanism in (fit, fit.transcript):
        verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, seed=5, samples=20_000)
        assert not verdict.refuted
        assert 0.1 < verdict.epsilon_lower <= 1.0


def test_a_step_by_hand() -> None:
    """All records in every batch, nearly no noise: plain gradient descent on −y·x."""
    fit = descent(
        Relation.ADD_REMOVE,
        PoissonBatches(1.0),
        PureDP(epsilon=1e7),
        steps=2,
        learning_rate=0.1,
    )
    data = unit_records([1.0, 1.0, -1.0])
    shown = fit.sample(data, 3, rng=np.random.default_rng(0))
    assert shown == pytest.approx(np.full((3, 1), 2 * 0.1 / 3), abs=1e-5)
    averaged = descent(
        Relation.ADD_REMOVE,
        PoissonBatches(1.0),
        PureDP(epsilon=1e7),
        steps=2,
        learning_rate=0.1,
        output="average",
    )
    assert averaged.sample(data, 1, rng=np.random.default_rng(0)) == pytest.approx(
        np.array([[0.1 / 3]]), abs=1e-5
    )


def test_claims_name_the_theorem_of_all_steps_and_of_one() -> None:
    poisson = descent(Relation.ADD_REMOVE, PoissonBatches(0.5), APPROX).claim
    fixed = descent(Relation.REPLACE_ONE, FixedBatches(2), APPROX).claim
    replaced = descent(Relation.REPLACE_ONE, PoissonBatches(0.5), APPROX).claim
    allocated = descent(Relation.REPLACE_ONE, AllocatedBatches(2), APPROX).claim
    for claim, step in (
        (poisson, "step rests on poisson-subsampling"),
        (fixed, "step rests on without-replacement"),
        (replaced, "step rests on poisson-subsampling-replaced"),
        (allocated, "epoch rests on random-allocation"),
    ):
        assert claim.theorem.name == "noisy-batches"
        assert claim.assumes[0].startswith(f"each {step} [")
    assert (poisson.guarantee, fixed.relation) == (APPROX, Relation.REPLACE_ONE)


def test_refusals() -> None:
    with pytest.raises(NotSupported, match="fixed size"):
        descent(Relation.ADD_REMOVE, FixedBatches(1), APPROX)
    with pytest.raises(InvalidParameter, match="size=4"):
        descent(Relation.REPLACE_ONE, FixedBatches(4), APPROX)
    for rate in (0.0, 1.5, math.nan):
        with pytest.raises(InvalidParameter, match="rate="):
            PoissonBatches(rate)
    with pytest.raises(InvalidParameter, match="steps=3 must be a multiple of the 2 batches"):
        descent(Relation.ADD_REMOVE, AllocatedBatches(2), APPROX, steps=3)
    for count in (0, 1.5, True):
        with pytest.raises(InvalidParameter, match="count="):
            AllocatedBatches(count)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="budget="):
        descent(Relation.ADD_REMOVE, PoissonBatches(0.5), GaussianDP(mu=1.0))
    with pytest.raises(InvalidParameter, match="epsilon=0"):
        descent(Relation.ADD_REMOVE, PoissonBatches(0.5), PureDP(epsilon=0.0))
    with pytest.raises(InvalidParameter, match="batches="):
        descent(Relation.ADD_REMOVE, 0.5, APPROX)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="learning_rate"):
        descent(Relation.ADD_REMOVE, PoissonBatches(0.5), APPROX, learning_rate=math.inf)
