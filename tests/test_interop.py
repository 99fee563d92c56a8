"""Events and histories of other accountants, and their own numbers for the same."""

import math
from types import SimpleNamespace

import pytest

import dpverify as dpv
from dpverify.interop import from_dp_event, from_opacus

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
    with pytest.raises(dpv.NotSupported, match="sensitivity=2 must be 1"):
        from_dp_event(dpa.dp_event.DiscreteLaplaceDpEvent(0.3, 2), relation=ADD)


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
    event = dpa.SingleEpochTreeAggregationDpEvent(1.0, 8)
    with pytest.raises(dpv.NotSupported, match="SingleEpochTreeAggregationDpEvent"):
        from_dp_event(event, relation=ADD)
    with pytest.raises(dpv.NotSupported, match="event=3 must be composed of"):
        from_dp_event(3, relation=ADD)


def test_an_opacus_history() -> None:
    history = [(1.0, 0.01, 100), (0.8, 0.02, 50)]
    expected = (
        dpv.Accountant(relation=ADD)
        .compose(dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01), times=100)
        .compose(dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.02), times=50)
    )
    assert from_opacus(history).epsilon(1e-5) == expected.epsilon(1e-5)
    assert from_opacus(SimpleNamespace(history=history)).parts == expected.parts


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (3, "history=3 must list"),
        ([(1.0, 0.1)], "must be \\(noise multiplier"),
        ([(1.0, 2.0, 3)], "sample rate=2.0 must"),
        ([(1.0, 0.1, 0)], "steps=0 must"),
        ([(-1.0, 0.1, 2)], "noise multiplier=-1.0 must"),
    ],
)
def test_refuses_what_is_no_history(history: object, message: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=message):
        from_opacus(history)
