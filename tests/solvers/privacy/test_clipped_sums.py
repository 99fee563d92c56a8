"""Sums of clipped gradients: exact, order-free, and of the sensitivity that is declared."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from solvers import Absolute, Hinge, HuberHinge, Logistic, Quantile, Softmax, Squared
from solvers.losses import Loss
from solvers.privacy import clipped_sums
from solvers.privacy.clipped_sums import ClippedSums
from solvers.privacy.noise import Kind, StepNoise

LOSSES = {"logistic": Logistic(), "hinge": Hinge(), "squared": Squared()}
ALL_LOSSES = [Logistic(), Hinge(), HuberHinge(), Squared(), Absolute(), Quantile(0.3)]


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


@pytest.mark.parametrize("clip", [0.2, 2.0])
def test_several_classes(clip: float) -> None:
    """(p − e_y)·xᵀ by the formula; each share's exact length; batches, masks and orders agree."""
    rng = np.random.default_rng(6)
    rows = random_data(40, 2)[0]
    labels = rng.integers(0, 3, 40).astype(np.float64)
    parameters = rng.normal(size=(4, 6)) * 3.0  # (d, classes), row by row
    sums = ClippedSums.of(Softmax(3), (rows, labels), norm=1.0, clip=clip)
    slopes = Softmax(3).slopes(rows @ parameters.reshape(4, 2, 3), labels)
    outer = rows[None, :, :, None] * slopes[:, :, None, :]
    lengths = np.sqrt((outer**2).sum(axis=(2, 3), keepdims=True))
    wanted = (outer * np.minimum(1.0, clip / lengths)).sum(axis=1).reshape(4, 6)
    assert sums.dimension == 6
    total = sums.total(parameters)
    assert as_floats(sums, total) == pytest.approx(wanted, abs=40 * 2.0**-17)
    order = rng.permutation(40)
    batches = np.tile(order, (4, 1))
    assert (sums.total_of_batches(parameters, batches) == total).all()
    shuffled = ClippedSums.of(Softmax(3), (rows[order], labels[order]), norm=1.0, clip=clip)
    assert (shuffled.total(parameters) == total).all()
    unit, limit, longest = Fraction(2) ** sums.exponent, Fraction(clip) ** 2, Fraction(0)
    added = np.zeros_like(total)
    for record in range(40):
        chosen = np.zeros((4, 40), bool)
        chosen[:, record] = True
        share = sums.total(parameters, chosen)
        added += share
        for row in share.tolist():
            longest = max(longest, sum(((v * unit) ** 2 for v in row), Fraction(0)))
    assert (added == total).all()
    assert longest <= limit
    assert clip > 1.5 or longest > limit * Fraction(999, 1000)


def test_softmax_slopes_depend_on_their_record_alone() -> None:
    """The assumption `ELEMENTWISE` for rows of scores."""
    rng = np.random.default_rng(0)
    for classes in (2, 3, 9, 20):
        scores = rng.normal(size=(500, classes)) * 5.0
        labels = rng.integers(0, classes, 500)
        together = Softmax(classes).slopes(scores, labels)
        alone = [
            Softmax(classes).slopes(scores[i : i + 1], labels[i : i + 1])[0] for i in range(500)
        ]
        assert (together == np.array(alone)).all()
        many = Softmax(classes).slopes(np.tile(scores, (3, 1, 1)), labels)
        assert (many == together).all()
        lengths = np.sqrt((together**2).sum(axis=-1))
        assert (lengths[7:9] == np.sqrt((together[7:9] ** 2).sum(axis=-1))).all()
        assert (np.sqrt((many**2).sum(axis=-1)) == lengths).all()


def test_a_record_without_features_counts_for_nothing() -> None:
    data = np.zeros((2, 2)), np.array([1.0, -1.0])
    sums = ClippedSums.of(Logistic(), data, norm=1.0, clip=1.0)
    assert sums.total(np.ones((1, 2))).tolist() == [[0, 0]]


def test_refusals() -> None:
    data = random_data(3, 2)
    with pytest.raises(InvalidParameter, match="clip=0"):
        ClippedSums.of(Hinge(), data, norm=1.0, clip=0.0)


def test_more_records_than_words_hold_are_added_up_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How many records there are may be private: no number of them is a reason to refuse."""
    data = random_data(5000, 2)
    parameters = np.array([[0.3, -0.2], [1.0, 2.0]])
    batches = np.arange(4999).reshape(1, -1).repeat(2, axis=0)
    sums = ClippedSums.of(Logistic(), data, norm=1.0, clip=1.0)
    words = [sums.total(parameters), sums.total_of_batches(parameters, batches)]
    monkeypatch.setattr(clipped_sums, "_WORDS", 100)
    numbers = [sums.total(parameters), sums.total_of_batches(parameters, batches)]
    for less, more in zip(words, numbers, strict=True):
        assert more.dtype == object
        assert (less == more).all()


@pytest.mark.parametrize("kind", ["gaussian", "norm"])
def test_sums_beyond_64_bits_are_released_to_the_last_unit(kind: Kind) -> None:
    noise = StepNoise(kind=kind, scale=1.0, sensitivity=1.0, dimension=2)
    few = np.array([[3 << 40, -(5 << 40)]])
    many = few.astype(object) + (1 << 70)
    close, far = (noise.release(sums, -40, np.random.default_rng(0)) for sums in (few, many))
    assert (far - close == 2.0**30).all()
    highest = noise.release(few.astype(object) + (1 << 120), -40, np.random.default_rng(0))
    assert np.isfinite(highest).all()


def test_millions_of_rows_are_no_reason_to_refuse() -> None:
    n = (1 << 21) + 1
    rows, labels = np.broadcast_to(np.array([[1.0]]), (n, 1)), np.ones(n)
    sums = ClippedSums.of(Hinge(), (rows, labels), norm=1.0, clip=1.0)
    share = sums.limits[0] * sums.rows[0, 0]
    assert sums.total(np.zeros((1, 1))).tolist() == [[-n * int(share)]]


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=lambda loss: loss.name)
def test_elementwise_functions_depend_on_their_arguments_alone(loss: Loss) -> None:
    """The assumption `ELEMENTWISE`: neither the place in an array nor its length changes a bit."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(size=900) * 3.0, rng.normal(size=99) * 300.0, [0.0]])
    labels = rng.choice([-1.0, 1.0], 1000)
    for function in (loss.slopes, loss.values):
        together = function(scores, labels)
        alone = [function(scores[i : i + 1], labels[i : i + 1])[0] for i in range(1000)]
        assert (together == alone).all()
        for start in range(1, 9):
            assert (function(scores[start:], labels[start:]) == together[start:]).all()
        matrix = function(np.tile(scores, (3, 1)), labels)
        assert (matrix == together).all()
        assert (function(scores[::7], labels[::7]) == together[::7]).all()
