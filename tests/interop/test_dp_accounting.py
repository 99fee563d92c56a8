"""Events and histories of other accountants, and their own numbers for the same."""

import inspect
import math
import re
from types import SimpleNamespace
from typing import Any

import pytest

import dpverify as dpv
from dpverify.interop import from_dp_event

dpa = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def poisson_training() -> object:
    step = dpa.PoissonSampledDpEvent(0.004, dpa.GaussianDpEvent(0.8))
    return dpa.SelfComposedDpEvent(step, 1000)


def test_a_training_run_costs_what_it_costs_here_and_there() -> None:
    ours = from_dp_event(poisson_training(), relation=ADD).epsilon(1e-5)
    same = dpv.Accountant(relation=ADD).compose(
        dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.004), times=1000
    )
    assert ours == same.epsilon(1e-5)
    theirs = dpa.pld.PLDAccountant()
    theirs.compose(poisson_training())
    assert ours.lower - 1e-6 <= theirs.get_epsilon(1e-5) <= ours.upper + 1e-3


def test_composed_events_add_up_and_counts_multiply() -> None:
    parts = [
        dpa.GaussianDpEvent(2.0),
        dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(10.0), 3),
        dpa.NoOpDpEvent(),
    ]
    event = dpa.SelfComposedDpEvent(dpa.ComposedDpEvent(parts), 2)
    found = from_dp_event(event, relation=ADD)
    assert [part.times for part in found.parts] == [2, 6]


def test_an_accountant_is_read_through_its_ledger() -> None:
    theirs = dpa.rdp.RdpAccountant()
    theirs.compose(dpa.GaussianDpEvent(1.0), 5)
    expected = dpv.Accountant(relation=ADD).compose(dpv.Gaussian(sigma=1.0), times=5)
    assert from_dp_event(theirs, relation=ADD).epsilon(1e-6) == expected.epsilon(1e-6)


def test_replacing_a_record_moves_a_sum_twice_as_far() -> None:
    found = from_dp_event(dpa.LaplaceDpEvent(4.0), relation=REPLACE)
    assert found.epsilon(0.0).upper == pytest.approx(0.5, rel=1e-15)


def test_randomized_response_is_exact() -> None:
    event = dpa.RandomizedResponseDpEvent(0.5, 4)
    found = from_dp_event(event, relation=REPLACE).epsilon(0.0)
    assert found.upper == pytest.approx(math.log(5.0), rel=1e-15)  # 5/8 against 1/8
    with pytest.raises(dpv.NotSupported, match="must be 'replace-one'"):
        from_dp_event(event, relation=ADD)


def test_discrete_laplace_with_sensitivity_one() -> None:
    found = from_dp_event(dpa.dp_event.DiscreteLaplaceDpEvent(0.3, 1), relation=ADD)
    theirs = dpa.pld.PLDAccountant()
    theirs.compose(dpa.dp_event.DiscreteLaplaceDpEvent(0.3, 1), 10)
    ours = dpv.Accountant(relation=ADD).compose(found, times=10).epsilon(1e-3)
    assert theirs.get_epsilon(1e-3) == pytest.approx(ours.upper, abs=1e-3)


def test_batches_of_fixed_size() -> None:
    event = dpa.SampledWithoutReplacementDpEvent(1000, 10, dpa.GaussianDpEvent(1.0))
    found = from_dp_event(event, relation=REPLACE)
    inner = dpv.Gaussian(sigma=1.0, l2_sensitivity=2.0)
    batches = dpv.SubsampledWithoutReplacement(inner, batch=10, population=1000)
    expected = dpv.Accountant(relation=REPLACE).compose(batches)
    assert found.delta(1.0) == expected.delta(1.0)


def test_what_hides_nothing_costs_everything() -> None:
    for event in (dpa.NonPrivateDpEvent(), dpa.GaussianDpEvent(0.0)):
        assert from_dp_event(event, relation=ADD).epsilon(1e-5).upper == math.inf


def test_an_event_it_does_not_know_is_named() -> None:
    with pytest.raises(dpv.NotSupported, match="event=3 must be composed of"):
        from_dp_event(3, relation=ADD)


NOISE = dpa.GaussianDpEvent(1.0)
EVENTS = {  # one of each class: under some relation it is answered, or refused with a reason
    "DpEvent": (),
    "NoOpDpEvent": (),
    "NonPrivateDpEvent": (),
    "UnsupportedDpEvent": (),
    "RandomizedResponseDpEvent": (0.5, 4),
    "GaussianDpEvent": (1.0,),
    "LaplaceDpEvent": (1.0,),
    "DiscreteLaplaceDpEvent": (0.5, 1),
    "SelfComposedDpEvent": (NOISE, 3),
    "ComposedDpEvent": ([NOISE, NOISE],),
    "PoissonSampledDpEvent": (0.1, NOISE),
    "SampledWithReplacementDpEvent": (20, 3, NOISE),
    "SampledWithoutReplacementDpEvent": (100, 10, NOISE),
    "SingleEpochTreeAggregationDpEvent": (1.0, [8, 4]),
    "RepeatAndSelectDpEvent": (NOISE, 3.0, 1.0),
    "MixtureOfGaussiansDpEvent": (1.0, [1.0, 2.0], [0.5, 0.5]),
    "ZCDpEvent": (0.1,),
    "TruncatedSubsampledGaussianDpEvent": (1000, 0.1, 150, 1.0),
    "EpsilonDeltaDpEvent": (1.0, 1e-6),  # this and what follows is in later versions
    "DiscreteGaussianDpEvent": (2.0,),
    "ExponentialMechanismDpEvent": (1.0,),
    "PermuteAndFlipDpEvent": (1.0,),
}


def test_every_class_of_the_installed_package_is_answered_or_refused_with_a_reason() -> None:
    kinds = {
        name: kind
        for name, kind in inspect.getmembers(dpa.dp_event, inspect.isclass)
        if issubclass(kind, dpa.DpEvent)
    }
    assert set(kinds) <= set(EVENTS)  # a new class needs a line here, and an answer
    answered = set()
    for name, kind in kinds.items():
        for relation in (ADD, REPLACE):
            try:
                found = from_dp_event(kind(*EVENTS[name]), relation=relation)
            except dpv.NotSupported as refusal:
                assert re.search(r"must be .*: \w+", str(refusal))  # noqa: PT017  # and the reason
                continue
            assert found.epsilon(1e-3, tolerance=0.1).upper >= 0.0
            answered.add(name)
    assert set(kinds) - answered == {"DpEvent", "UnsupportedDpEvent"}


def later(name: str, **fields: object) -> object:
    """An event of a version that may not be installed: its name and fields are all that is read."""
    return type(name, (SimpleNamespace,), {})(**fields)


@pytest.mark.parametrize(
    ("event", "relation", "part"),
    [
        (
            later("EpsilonDeltaDpEvent", epsilon=1.0, delta=1e-6),
            REPLACE,
            dpv.ApproxDP(epsilon=1.0, delta=1e-6),
        ),
        (
            later("DiscreteGaussianDpEvent", sigma=2.0, sensitivity=1.5, dimension=1),
            REPLACE,
            dpv.DiscreteGaussian(sigma=2.0, sensitivity=3),
        ),
        (
            later("DiscreteGaussianDpEvent", sigma=2.0, sensitivity=1.0, dimension=None),
            ADD,
            dpv.ZeroConcentratedDP(rho=0.125),
        ),
        (
            later("DiscreteGaussianDpEvent", sigma=2.0, sensitivity=0.5, dimension=1),
            ADD,
            dpv.ZeroConcentratedDP(rho=1 / 32),
        ),
        (
            later("ExponentialMechanismDpEvent", epsilon=0.5),
            ADD,
            dpv.ExponentialMechanism(epsilon=0.5, score_sensitivity=1.0),
        ),
        (
            later("PermuteAndFlipDpEvent", epsilon=0.5),
            ADD,
            dpv.PermuteAndFlip(epsilon=0.5, score_sensitivity=1.0),
        ),
        (
            dpa.dp_event.SampledWithReplacementDpEvent(20, 3, dpa.GaussianDpEvent(4.0)),
            REPLACE,
            dpv.SubsampledWithReplacement(
                dpv.Gaussian(sigma=4.0, l2_sensitivity=2.0), batch=3, population=20
            ),
        ),
        (
            dpa.dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 2.0], [0.5, 0.5]),
            ADD,
            dpv.Subsampled(dpv.Gaussian(sigma=0.5), rate=0.5),
        ),
        (
            dpa.dp_event.RepeatAndSelectDpEvent(dpa.GaussianDpEvent(2.0), 5.0, 1.0),
            ADD,
            dpv.BestOf(dpv.Gaussian(sigma=2.0), runs="geometric", mean=5.0),
        ),
        (
            dpa.dp_event.DiscreteLaplaceDpEvent(0.5, 3),
            ADD,
            dpv.DiscreteLaplace(scale=2.0, sensitivity=3),
        ),
    ],
)
def test_events_that_are_mechanisms_of_ours(
    event: Any,  # noqa: ANN401
    relation: Any,  # noqa: ANN401
    part: Any,  # noqa: ANN401
) -> None:
    found = from_dp_event(event, relation=relation).epsilon(1e-3)
    expected = dpv.Accountant(relation=relation).compose(part).epsilon(1e-3)
    assert found.upper == pytest.approx(expected.upper, rel=1e-6)
    assert found.lower == pytest.approx(expected.lower, rel=1e-6)


def test_a_tree_is_a_gaussian_of_its_height() -> None:
    """Eight steps: a record is in a leaf, and in the nodes of two, four and eight steps."""
    event = dpa.SingleEpochTreeAggregationDpEvent(4.0, 8)
    found = from_dp_event(event, relation=REPLACE)
    expected = dpv.Accountant(relation=REPLACE).compose(dpv.GaussianDP(mu=1.0))  # √4·2/4
    assert found.epsilon(1e-6) == expected.epsilon(1e-6)


def test_gaussians_on_one_sample_are_one() -> None:
    both = dpa.ComposedDpEvent([dpa.GaussianDpEvent(3.0), dpa.GaussianDpEvent(4.0)])
    found = from_dp_event(dpa.PoissonSampledDpEvent(0.1, both), relation=ADD)
    sigma = 1 / math.hypot(1 / 3, 1 / 4)
    one = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=0.1)
    expected = dpv.Accountant(relation=ADD).compose(one)
    assert found.epsilon(1e-4).upper == pytest.approx(expected.epsilon(1e-4).upper, rel=1e-12)
    mixed = dpa.ComposedDpEvent([NOISE, dpa.LaplaceDpEvent(1.0)])
    with pytest.raises(dpv.NotSupported, match="must be of Gaussians"):
        from_dp_event(dpa.PoissonSampledDpEvent(0.1, mixed), relation=ADD)


def test_a_plan_is_read_through_its_event() -> None:
    """As jax-privacy's execution plans hold one."""
    plan = SimpleNamespace(dp_event=poisson_training())
    assert from_dp_event(plan, relation=ADD) == from_dp_event(poisson_training(), relation=ADD)


@pytest.mark.slow
def test_a_plan_of_the_real_package() -> None:
    accounting = pytest.importorskip("jax_privacy.experimental.accounting")
    event = accounting.dpsgd_event(0.8, 1000, sampling_prob=0.004)
    assert from_dp_event(event, relation=ADD) == from_dp_event(poisson_training(), relation=ADD)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the package's own imports
def test_a_real_execution_plan() -> None:
    """A banded matrix of four bands, Poisson samples: a fourth of the iterations, amplified."""
    plans = pytest.importorskip("jax_privacy.experimental.execution_plan")
    config = plans.BandMFExecutionPlanConfig(
        iterations=40,
        strategy=[1.0, 0.5, 0.3, 0.2],
        epsilon=None,
        delta=None,
        noise_multiplier=2.0,
        sampling_prob=0.05,
    )
    plan = config.plan
    step = dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.05)
    expected = dpv.Accountant(relation=ADD).compose(step, times=10)
    assert from_dp_event(plan, relation=ADD).parts == expected.parts
    assert from_dp_event(plan.dp_event, relation=ADD).parts == expected.parts
