"""Lower ends are of actual runs, whatever is wrapped around what is only bounded."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb

import dpverify as dpv

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
NOISE = dpv.Gaussian(sigma=1.0)
FULL = dpv.Subsampled(NOISE, rate=0.5, at_most=1, population=6)


def spent(part: object, relation: dpv.Relation, times: int = 1) -> dpv.Accountant:
    return dpv.Accountant(relation=relation).compose(part, times=times)  # type: ignore[arg-type]


def test_draws_with_replacement_are_bounded_by_their_instance() -> None:
    """2.662782e-5 by high-precision integration of the instance: one record that stands out."""
    part = dpv.SubsampledWithReplacement(dpv.Gaussian(sigma=0.5), batch=2, population=1000)
    found = spent(part, REPLACE).delta(0.5, tolerance=1e-6)
    assert found.lower <= 2.662783e-5 <= found.upper


@pytest.mark.parametrize(
    ("make", "relation"),
    [
        (lambda: dpv.Subsampled(FULL, rate=0.5), ADD),
        (lambda: dpv.Subsampled(dpv.RandomAllocation(NOISE, steps=4), rate=0.5), ADD),
        (lambda: dpv.SubsampledWithoutReplacement(dpv.Shuffled(NOISE, 50), 100, 200), REPLACE),
    ],
)
def test_samples_of_what_is_only_bounded_are_refused(
    make: Callable[[], object], relation: dpv.Relation
) -> None:
    with pytest.raises(dpv.NotSupported, match="must be known exactly"):
        spent(make(), relation)


@pytest.mark.parametrize(
    ("found", "truth_at_most"),
    [
        (lambda: spent(FULL, ADD).group(2).delta(0.5), 0.1801),  # two steps of δ(1/4)
        (lambda: spent(FULL.pair(ADD), REPLACE).delta(0.5), 0.1801),
        (lambda: spent(dpv.RandomAllocation(NOISE, 8, 4).pair(ADD), REPLACE, 3).delta(0.5), 0.77),
    ],
)
def test_lower_ends_are_below_the_truth(
    found: Callable[[], dpv.Bracket], truth_at_most: float
) -> None:
    assert found().lower <= truth_at_most


def test_an_odometer_knows_no_more_than_that() -> None:
    """No actual run loses more than 1: a lower end of 1.397 was false."""
    meter = dpv.Odometer(relation=ADD)
    meter.spend(dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0.5, at_most=1, population=6))
    assert meter.epsilon(1e-2).lower < 1.0


def test_samples_of_bounded_range_are_composed_between_both_ends() -> None:
    choice = dpv.ExponentialMechanism(epsilon=0.5, score_sensitivity=1.0)
    found = spent(dpv.Subsampled(choice, rate=0.5), ADD, 5).delta(0.1)
    above = spent(dpv.Subsampled(dpv.RandomizedResponse(epsilon=0.5), rate=0.5), ADD, 5).delta(0.1)
    below = spent(dpv.Subsampled(dpv.RandomizedResponse(epsilon=0.25), rate=0.5), ADD, 5).delta(0.1)
    assert below.lower <= found.upper <= above.upper
    assert found.lower < found.upper


@pytest.mark.parametrize(("shift", "records"), [(0.7, 3), (0.1, 5), (0.1, 10)])
def test_several_records_move_by_their_exact_sum(shift: float, records: int) -> None:
    part = dpv.Subsampled(dpv.Laplace(scale=1.0, l1_sensitivity=shift), rate=1, records=records)
    assert spent(part, ADD).epsilon(0.0).upper >= records * Fraction(shift)


def test_ends_of_rates() -> None:
    never = dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0, records=2)
    assert spent(never, ADD).delta(0.5).upper == 0.0
    always = dpv.Subsampled(dpv.Laplace(scale=1.0), rate=1, at_most=1, population=3)
    assert 0.0 < spent(always, ADD, 2).delta(0.5).upper < 1.0


@pytest.mark.parametrize("groups", [3, 6, 12])
@pytest.mark.parametrize("ratio", [Fraction(101, 100), Fraction(3, 2)])
def test_groups_of_finite_pairs_cost_no_less_than_a_chain(groups: int, ratio: Fraction) -> None:
    """Each step of a chain of discrete Laplace noise shows this pair: k steps lose k·ln r."""
    pair = dpv.FinitePair(
        left=[ratio / (1 + ratio), 1 / (1 + ratio)], right=[1 / (1 + ratio), ratio / (1 + ratio)]
    )
    found = spent(pair, REPLACE).group(groups).epsilon(0.0)
    exact = groups * (arb(ratio.numerator) / ratio.denominator).log()
    assert arb(found.upper) >= exact
    assert found.upper < float(exact.mid()) * (1 + 1e-9)


def test_the_best_of_bounded_range_is_below_the_best_adversary() -> None:
    """0.33783 by enumeration of adaptive choices for two runs, and at most 2e-4 for more runs."""
    best = dpv.BestOf(
        dpv.ExponentialMechanism(epsilon=2.0, score_sensitivity=1.0), runs="geometric", mean=1.0001
    )
    assert spent(best, REPLACE, 2).delta(1.0).lower <= 0.3381


def test_the_best_of_a_pair_with_a_constant_profile() -> None:
    leak = dpv.BestOf(dpv.LeakyRandomizedResponse(epsilon=0.0, delta=0.1), runs="geometric", mean=2)
    assert spent(leak, REPLACE).delta(0.5).upper >= 0.1


def test_bands_are_counted_from_the_diagonal() -> None:
    """Two rows a column, but not below the diagonal: columns 0 and 2 have both in common."""
    strategy = [[0.0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]]
    mechanism = dpv.MatrixMechanism(strategy=strategy, sigma=2.0)
    with pytest.raises(dpv.NotSupported, match="bands must have fewer"):
        mechanism.amplified(rate=0.5, relation=ADD)
    above = dpv.MatrixMechanism(strategy=[[1.0, 1.0, 1.0, 1.0]] * 4, sigma=4.0)
    with pytest.raises(dpv.NotSupported, match="lower triangular"):
        above.amplified(rate=0.5, relation=ADD)
