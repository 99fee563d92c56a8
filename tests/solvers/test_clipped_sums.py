"""Sums of clipped gradients: exact, order-free, and of the sensitivity that is declared."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter, NotSupported
from solvers import Hinge, Logistic, Softmax, Squared
from solvers.bounds import Floats
from solvers.clipped_sums import MOST_RECORDS, ClippedSums
from solvers.losses import Loss

LOSSES = {"logistic": Logistic(), "hinge": Hinge(), "squared": Squared()}


def random_data(records: int, dimension: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(records, dimension))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True)) * 1.0000001
    return rows, rng.choice([-1.0, 1.0], records)


def plain(loss: Loss, data: tuple[Floats, Floats], parameters: Floats, clip: float) -> Floats:
    """The textbook formula, in floats."""
    rows, labels = data
    gradients = loss.slopes(parameters @ rows.T, labels)[:, :, None] * rows
    lengths = np.linalg.norm(gradients, axis=2, keepdims=True)
    shrunk: Floats = (gradients * np.minimum(1.0, clip / np.maximum(lengths, 1e-300))).sum(axis=1)
    return shrunk


def as_floats(sums: ClippedSums, totals: object) -> Floats:
    floats: Floats = np.ldexp(np.asarray(totals, np.float64), sums.exponent)
    return floats


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("clip", [0.1, 0.7, 3.0])
def test_agrees_with_the_formula(name: str, clip: float) -> None:
    data = random_data(200, 4)
    parameters = np.random.default_rng(1).normal(size=(7, 4))
    sums = ClippedSums.of(LOSSES[name], data, norm=1.0, clip=clip)
    got = as_floats(sums, sums.total(parameters))
    # 2^-20 of features and slopes is rounded off, in 200 records
    assert got == pytest.approx(plain(LOSSES[name], data, parameters, clip), abs=200 * 2.0**-17)


@pytest.mark.parametrize("clip", [0.3, 1.0, 7.0])
def test_each_share_is_shorter_than_the_clip_exactly(clip: float) -> None:
    """In rationals, with no rounding of the check itself."""
    data = random_data(300, 3, seed=5)
    sums = ClippedSums.of(Squared(), data, norm=1.0, clip=clip)
    parameters = np.random.default_rng(2).normal(size=(1, 3)) * 5.0
    limit, unit = Fraction(clip) ** 2, Fraction(2) ** sums.exponent
    longest = Fraction(0)
    for record in range(300):
        chosen = np.zeros((1, 300), bool)
        chosen[0, record] = True
        share = [int(v) * unit for v in sums.total(parameters, chosen)[0]]
        longest = max(longest, sum((v * v for v in share), Fraction(0)))
    assert limit * Fraction(999, 1000) < longest <= limit


@given(st.permutations(range(12)), st.integers(0, 2**20))
def test_order_and_company_do_not_matter(order: list[int], seed: int) -> None:
    """The total is the sum of the shares, bit by bit, however they are arranged and added."""
    rows, labels = random_data(12, 3, seed)
    parameters = np.random.default_rng(seed).normal(size=(2, 3)) * 10.0
    whole = ClippedSums.of(Hinge(), (rows, labels), norm=1.0, clip=0.9)
    total = whole.total(parameters)
    shuffled = ClippedSums.of(Hinge(), (rows[order], labels[order]), norm=1.0, clip=0.9)
    assert (shuffled.total(parameters) == total).all()
    alone = [
        ClippedSums.of(Hinge(), (rows[i : i + 1], labels[i : i + 1]), norm=1.0, clip=0.9)
        for i in range(12)
    ]
    assert np.array_equal(sum(one.total(parameters) for one in alone), total)


def test_batches_masks_and_blocks_agree() -> None:
    data = random_data(10_000, 2)
    sums = ClippedSums.of(Logistic(), data, norm=1.0, clip=1.0)
    rng = np.random.default_rng(3)
    parameters = rng.normal(size=(3, 2))
    batches = np.array([rng.permutation(10_000)[:6_000] for _ in range(3)])
    chosen = np.zeros((3, 10_000), bool)
    np.put_along_axis(chosen, batches, values=True, axis=1)
    assert (sums.total_of_batches(parameters, batches) == sums.total(parameters, chosen)).all()
    everything = np.ones((3, 10_000), bool)
    assert (sums.total(parameters) == sums.total(parameters, everything)).all()


def test_a_record_without_features_counts_for_nothing() -> None:
    data = np.zeros((2, 2)), np.array([1.0, -1.0])
    sums = ClippedSums.of(Logistic(), data, norm=1.0, clip=1.0)
    assert sums.total(np.ones((1, 2))).tolist() == [[0, 0]]


def test_refusals() -> None:
    data = random_data(3, 2)
    with pytest.raises(NotSupported, match="softmax"):
        ClippedSums.of(Softmax(3), data, norm=1.0, clip=1.0)
    with pytest.raises(InvalidParameter, match="clip=0"):
        ClippedSums.of(Hinge(), data, norm=1.0, clip=0.0)
    many = np.zeros((MOST_RECORDS + 1, 1)), np.ones(MOST_RECORDS + 1)
    with pytest.raises(InvalidParameter, match="rows"):
        ClippedSums.of(Hinge(), many, norm=1.0, clip=1.0)
