"""Lower ends are of actual runs, whatever is wrapped around what is only bounded."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest
from flint import arb
from scipy.stats import norm

import dpverify as dpv
from dpverify.arrays import Floats

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
NOISE = dpv.Gaussian(sigma=1.0)
FULL = dpv.Subsampled(NOISE, rate=0.5, at_most=1, population=6)


def spent(part: object, relation: dpv.Relation, times: int = 1) -> dpv.Accountant:
    return dpv.Accountant(relation=relation).compose(part, times=times)  # type: ignore[arg-type]


def test_draws_with_replacement_are_bounded_by_their_instance() -> None:
    """2.662782e-5 by high-precision integration of the instance: one record that stands out."""
    part = dpv.SubsampledWithReplacement(dpv.Gaussian(sigma=0.5), batch=2, population=1000)
    for found in (spent(part, REPLACE).delta(0.5), part.pair(REPLACE).delta_bracket(0.5)):
        assert 2.65e-5 <= found.lower <= 2.662783e-5 <= found.upper


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


def cut_down(values: Sequence[float], x: float, added: int) -> float:
    """δ of `FULL` between data with these values and with `added` records of 1 more, either way.

    At most one record is kept: noise around its value, or around 0 if none was drawn.
    """
    z = np.arange(-9.0, 9.0, 0.01)

    def law(records: Sequence[float]) -> Floats:
        nobody = 0.5 ** len(records)
        each = (1.0 - nobody) / max(len(records), 1)  # all are alike
        found: Floats = nobody * norm.pdf(z)
        for record in records:
            found = found + each * norm.pdf(z - record)
        return found

    with_them, without = law([*values, *[1.0] * added]), law(values)
    over = (np.maximum(a - x * b, 0.0).sum() for a, b in permutations((with_them, without)))
    return float(max(over)) * 0.01


@pytest.mark.parametrize("added", [1, 2])
def test_truncated_samples_hold_their_worst_data(added: int) -> None:
    """The largest δ over data with values −1, −½, 0, ½ and 1: a lower end above it is false."""
    values = (-1.0, -0.5, 0.0, 0.5, 1.0)
    truth = max(
        cut_down(others, math.exp(0.5), added)
        for count in range(7 - added)
        for others in combinations_with_replacement(values, count)
    )
    if added == 1:
        answers = [
            spent(FULL, ADD).delta(0.5),
            spent(FULL.pair(ADD), REPLACE).delta(0.5, tolerance=0.1),
        ]
    else:
        answers = [spent(FULL, ADD).group(2).delta(0.5)]
    for found in answers:
        assert 0.0 < found.lower <= truth * 1.0001
        assert truth <= found.upper * 1.0001


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_allocation_either_way_holds_its_instances() -> None:
    """δ of three epochs by draws, each one way or the other: the most is no less than `lower`."""
    epoch = dpv.RandomAllocation(NOISE, 8, 4).pair(ADD)
    found = spent(epoch, REPLACE, 3).delta(0.5, tolerance=0.05)
    rng, draws = np.random.default_rng(5), 100_000
    chosen = np.array([[i in drawn for i in range(8)] for drawn in combinations(range(8), 4)])

    def losses(*, present: bool) -> Floats:
        """ln(P/Q) of draws from P, or ln(Q/P) of draws from Q."""
        where = chosen[rng.integers(len(chosen), size=draws)] if present else 0.0
        outcomes = rng.normal(size=(draws, 8)) + where
        loss: Floats = np.log(np.exp(outcomes @ chosen.T - 2.0).mean(axis=1))
        return loss if present else -loss

    most = 0.0
    for ways in range(4):
        total = sum((losses(present=way < ways) for way in range(3)), np.zeros(draws))
        most = max(most, float(np.maximum(-np.expm1(0.5 - total), 0.0).mean()))
    off = math.sqrt(math.log(4 / 1e-9) / (2 * draws))  # Hoeffding, four means in [0, 1]
    assert 0.0 < found.lower <= most + off
    assert most <= found.upper + off
    assert "random allocation" in " ".join(found.assumes)


def test_an_odometer_knows_no_more_than_that() -> None:
    """No actual run loses more than 1: a lower end of 1.397 was false."""
    meter = dpv.Odometer(relation=ADD)
    meter.spend(dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0.5, at_most=1, population=6))
    assert meter.epsilon(1e-2).lower < 1.0


@pytest.mark.slow
def test_samples_of_bounded_range_are_composed_between_both_ends() -> None:
    choice = dpv.ExponentialMechanism(epsilon=0.5, score_sensitivity=1.0)
    found = spent(dpv.Subsampled(choice, rate=0.5), ADD, 3).delta(0.1, tolerance=0.1)
    above = spent(dpv.Subsampled(dpv.RandomizedResponse(epsilon=0.5), rate=0.5), ADD, 3).delta(0.1)
    below = spent(dpv.Subsampled(dpv.RandomizedResponse(epsilon=0.25), rate=0.5), ADD, 3).delta(0.1)
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
