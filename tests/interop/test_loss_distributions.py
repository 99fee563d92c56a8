"""Privacy-loss distributions out, in, and through dp_accounting."""

import math
from typing import Any

import pytest

import dpverify as dpv
from dpverify.guarantees import End
from dpverify.interop import from_loss_distribution, loss_distribution
from dpverify.interop.loss_distributions import LossDistribution
from dpverify.pairs.estimated import ONE_SIDED, EstimatedPair
from dpverify.pairs.grid import GridLosses, GridPair

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
SUBJECTS = [
    (dpv.Gaussian(sigma=1.0), ADD),
    (dpv.Laplace(scale=2.0), ADD),
    (dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.1), ADD),
    (dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0.1), REPLACE),
    (dpv.ApproxDP(0.5, 1e-3), ADD),
]


def spent(subject: Any, times: int, relation: dpv.Relation) -> dpv.Accountant:  # noqa: ANN401
    return dpv.Accountant(relation=relation).compose(subject, times=times)


def test_a_grid_by_hand() -> None:
    """Randomized response with e^ε = 3 on the grid of its own loss."""
    law = GridLosses(step=math.log(3), first=-1, masses=(0.25, 0.0, 0.75))
    pair = GridPair(law, law)
    assert pair.delta(0.0) == pytest.approx(0.5, rel=1e-15)
    assert pair.delta(math.log(2)) == pytest.approx(0.25, rel=1e-15)
    assert pair.epsilon(0.0) == pytest.approx(math.log(3), rel=1e-15)
    exact = spent(dpv.PureDP(math.log(3)), 5, ADD).epsilon(1e-2)
    assert spent(pair, 5, ADD).epsilon(1e-2).upper == pytest.approx(exact.upper, abs=1e-3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("subject", "relation"), SUBJECTS)
@pytest.mark.parametrize("times", [1, 7])
def test_both_ends_hold_what_they_bound(subject: Any, relation: dpv.Relation, times: int) -> None:  # noqa: ANN401
    ends = [loss_distribution(subject, relation=relation, step=0.01, end=end) for end in End]
    exact = spent(subject, times, relation).epsilon(2e-3 * times)
    both = spent(from_loss_distribution(*ends), times, relation).epsilon(2e-3 * times)
    assert both.lower <= exact.upper
    assert both.upper >= exact.lower
    assert both.width < 0.05 * times
    for distribution in ends:
        alone = spent(from_loss_distribution(distribution), times, relation).epsilon(2e-3 * times)
        if distribution.end is End.UPPER:
            assert alone.lower == 0.0  # nothing is known from below
            assert alone.upper == both.upper
        else:
            assert alone.upper == math.inf
            assert alone.lower == both.lower
        assert alone.assumes


def test_one_side_says_so() -> None:
    pair = loss_distribution(dpv.Gaussian(sigma=1.0), relation=ADD, step=0.01, end=End.UPPER).pair
    assert ONE_SIDED in spent(pair, 1, ADD).epsilon(1e-3).assumes
    assert isinstance(pair, EstimatedPair)
    assert dpv.Accountant.from_json(spent(pair, 3, ADD).to_json()) == spent(pair, 3, ADD)


def test_through_dp_accounting_and_back() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    subject = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.1)
    exact = spent(subject, 10, ADD).epsilon(1e-5)
    theirs = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=1e-2)
    read = spent(from_loss_distribution(theirs), 10, ADD).epsilon(1e-5)
    assert read.lower == 0.0
    assert exact.lower <= read.upper < exact.upper + 0.05
    ours = {
        end: loss_distribution(subject, relation=ADD, step=1e-2, end=end).to_dp_accounting()
        for end in End
    }
    composed = {end: d.self_compose(10).get_epsilon_for_delta(1e-5) for end, d in ours.items()}
    # Their own arithmetic is not certified: it is given the last digits.
    assert composed[End.LOWER] <= exact.upper + 1e-9
    assert composed[End.UPPER] >= exact.lower - 1e-9
    again = from_loss_distribution(*ours.values())
    assert exact.lower - 0.05 <= spent(again, 10, ADD).epsilon(1e-5).lower <= exact.upper


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (from_loss_distribution, "must be one or two"),
        (lambda: from_loss_distribution(3), "given=3 must be a LossDistribution"),
        (lambda: EstimatedPair(above=3), "above=3 must be a Pair"),  # type: ignore[arg-type]
        (lambda: GridLosses(step=0, first=0, masses=(1.0,)), "step=0 must be positive"),
        (lambda: GridLosses(step=1, first=0, masses=(0.7, 0.7)), "masses must add up to at most 1"),
        (lambda: GridLosses(step=1, first=0, masses=()), "must be a list of 1 to"),
        (lambda: GridLosses(step=1, first=0.5, masses=(1.0,)), "first=0.5 must be"),  # type: ignore[arg-type]
        (
            lambda: loss_distribution(dpv.PureDP(1.0), relation=ADD, step=0.1, end="up"),  # type: ignore[arg-type]
            "end='up' must be 'upper' or 'lower'",
        ),
    ],
)
def test_refusals(ask: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(dpv.InvalidParameter, match=message):
        ask()


def test_a_guarantee_without_a_pair_has_no_distribution() -> None:
    with pytest.raises(dpv.NotSupported, match="must have a pair"):
        loss_distribution(dpv.ZeroConcentratedDP(1.0), relation=ADD, step=0.1, end=End.UPPER)


@pytest.mark.parametrize(
    ("sigma", "step", "message"),
    [
        (0.03, 0.01, "losses from -682.7 to 1794 must lie within ±700"),
        (1.0, 1e308, "step=1e\\+308 must be at most 700"),
        (1.0, 1e-320, "step=1e-320 must be at most 700, and give at most"),
    ],
)
@pytest.mark.parametrize("end", ["upper", "lower"])
def test_grids_that_floats_do_not_hold(sigma: float, step: float, message: str, end: Any) -> None:  # noqa: ANN401
    with pytest.raises(dpv.DPVerifyError, match=message):
        loss_distribution(dpv.Gaussian(sigma), relation=ADD, step=step, end=end)


def test_a_lower_law_has_nothing_above_the_largest_loss() -> None:
    """A hundred times the float 0.01 is 1 in floats; three times 0.1 is more than 0.3."""
    lower = loss_distribution(dpv.PureDP(0.3), relation=ADD, step=0.1, end="lower").pair
    assert spent(lower, 1, ADD).delta(0.3).lower == 0.0
    lower = loss_distribution(dpv.PureDP(1.0), relation=ADD, step=0.01, end="lower").pair
    assert spent(lower, 1, ADD).delta(1.0).lower == 0.0
    assert (
        0.28
        < spent(lower, 1, ADD).delta(0.5).lower
        <= spent(dpv.PureDP(1.0), 1, ADD).delta(0.5).lower
    )


@pytest.mark.parametrize(
    ("first", "masses", "message"),
    [(-1, (1.0,), "the other one has mass 2.71828"), (1, (0.5,), "must add up to 1, not to 0.5")],
)
def test_losses_that_no_laws_have(first: int, masses: Any, message: str) -> None:  # noqa: ANN401
    law = GridLosses(step=1.0, first=first, masses=masses)
    with pytest.raises(dpv.DPVerifyError, match=message):
        LossDistribution(removed=law, added=law, end=End.UPPER)


@pytest.mark.parametrize("first", [math.nan, math.inf, None, "x", 0.5])
def test_a_first_node_is_a_whole_number(first: Any) -> None:  # noqa: ANN401
    with pytest.raises(dpv.DPVerifyError, match=r"first=.* must be a whole number"):
        GridLosses(step=1.0, first=first, masses=(1.0,))


@pytest.mark.parametrize("masses", ["x", {}, 10**400, [[1.0]], [-1.0], []])
def test_masses_are_a_list_of_numbers(masses: Any) -> None:  # noqa: ANN401
    with pytest.raises(dpv.DPVerifyError, match=r"masses=.* must be a list of 1 to"):
        GridLosses(step=1.0, first=0, masses=masses)
