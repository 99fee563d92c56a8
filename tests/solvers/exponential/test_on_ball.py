"""Exact draws on a ball: the law on small lattices, the envelope's bounds, audits, refusals."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import PureDP
from dpverify.mechanisms.sampling.uniform import LazyUniform
from dpverify.neighbors import Relation
from solvers import Absolute, Ball, Bounds, Box, Hinge, Logistic, Softmax, Squared
from solvers.exponential.lattice import Envelope
from solvers.exponential.on_ball import ExponentialOnBall, _below, _cut_balls, _occurs, _Proposals
from solvers.losses import Loss
from tests.solvers.spoiled_iterates import BOTH_SIGNS, unit_records

UNIT = Bounds(norm=1.0, label_bound=1.0)
SQUARES_AND_ABSOLUTES: list[Loss] = [Squared(), Absolute()]


def on_ball(loss: Loss, **options: Any) -> ExponentialOnBall:  # noqa: ANN401
    bounds = UNIT if loss in SQUARES_AND_ABSOLUTES else BOTH_SIGNS
    chosen: dict[str, Any] = {
        "loss": loss,
        "bounds": bounds,
        "domain": Ball(1.0),
        "epsilon": 2.0,
        "relation": Relation.REPLACE_ONE,
        "lattice_bits": 3,
    }
    return ExponentialOnBall(**(chosen | options))


def some_data(records: int, dimension: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(records, dimension))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True)) * 1.001
    return rows, rng.choice([-1.0, 1.0], records)


def lattice_law(erm: ExponentialOnBall, data: Any) -> tuple[Floats, Floats]:  # noqa: ANN401
    """All points of the ball and their probabilities, by the textbook formula in floats."""
    rows, labels = data
    step = 2.0**erm.lattice_exponent
    reach = int(float(erm.domain.radius) / step)
    points = np.array(list(product(range(-reach, reach + 1), repeat=rows.shape[1]))) * step
    points = points[np.linalg.norm(points, axis=1) <= float(erm.domain.radius)]
    totals = erm.loss.values(points @ rows.T, labels).sum(axis=1)
    totals += 0.5 * float(erm.ridge) * (points**2).sum(axis=1)
    share = 2.0 if erm.relation is Relation.REPLACE_ONE else 1.0
    logs = -float(erm.epsilon) / (share * erm.largest_loss) * totals
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize(
    ("loss", "dimension"),
    [(Logistic(), 1), (Squared(), 2), (Hinge(), 2), (Absolute(), 3)],
    ids=lambda v: getattr(v, "name", str(v)),
)
def test_draws_have_the_law_of_the_formula(
    loss: Loss, dimension: int, ridge: float, relation: Relation
) -> None:
    erm = on_ball(loss, relation=relation, ridge=ridge, epsilon=20.0)
    data, total = some_data(12, dimension), 20_000
    points, expected = lattice_law(erm, data)
    draws = erm.sample(data, total, rng=np.random.default_rng(1))
    index = {tuple(point): i for i, point in enumerate(points.tolist())}
    counts = np.bincount([index[tuple(draw)] for draw in draws.tolist()], minlength=len(points))
    share = 1e-9 / (2 * len(points))
    low, high = (np.asarray(binom.ppf(p, total, expected)) for p in (share, 1 - share))
    assert (low <= counts).all()
    assert (counts <= high).all()


@settings(max_examples=40)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(0, 1000)),
    st.sampled_from([Logistic(), Hinge(), Squared(), Absolute()]),
    st.floats(0.1, 1e4),
    st.sampled_from([0.0, 1.0]),
)
def test_no_point_lies_below_its_box(
    shape: tuple[int, int, int], loss: Loss, rate: float, ridge: float
) -> None:
    """On a small lattice: boxes cover every point of the ball once, and bound every sum."""
    dimension, records, seed = shape
    erm = on_ball(loss, ridge=ridge)
    sums = erm._sums(some_data(records, dimension, seed))
    envelope = Envelope(
        tangents=sums.tangents, rate=rate * 2.0**-30, inside=erm.inside, slack=sums.slack
    )
    boxes = envelope.boxes(dimension)
    reach = math.isqrt(erm.inside)
    points = np.array(list(product(range(-reach, reach + 1), repeat=dimension)))
    points = points[(points**2).sum(axis=1) <= erm.inside]
    inside = (boxes.low[:, None] <= points).all(axis=2) & (points <= boxes.high[:, None]).all(
        axis=2
    )
    assert (inside.sum(axis=0) == 1).all()
    assert (sums.at(points) >= boxes.floor[inside.argmax(axis=0)]).all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("relation", Relation)
def test_one_records_share_is_within_its_bound(dimension: int, relation: Relation) -> None:
    """The units that are summed, exactly: a record moves any sum by at most 2^29 from 0."""
    rng = np.random.default_rng(dimension)
    for loss in (Logistic(), Hinge(), Squared(), Absolute()):
        erm = on_ball(loss, relation=relation, lattice_bits=24)
        directions = rng.normal(size=(300, dimension))
        points = np.rint(
            directions / np.linalg.norm(directions, axis=1, keepdims=True) * (2.0**23 - 2)
        ).astype(np.int64)
        assert ((points**2).sum(axis=1) <= erm.inside).all()
        whole = erm._sums(some_data(7, dimension))
        shares = [
            erm._sums((row[None], np.array([label]))).at(points)
            for row, label in zip(*some_data(7, dimension), strict=True)
        ]
        assert max(int(np.abs(share).max()) for share in shares) <= 1 << 29
        assert np.array_equal(sum(shares), whole.at(points))
    reach = 1 if relation is Relation.ADD_REMOVE else 2
    assert erm.rate * reach * 2**30 == Fraction(2)


@pytest.mark.parametrize("records", [30, 3_000])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_enough_proposals_are_kept(records: int, dimension: int) -> None:
    erm = on_ball(Logistic(), epsilon=1.0, lattice_bits=24, domain=Ball(3.0))
    sums = erm._sums(some_data(records, dimension))
    kept = _Proposals.of(erm, sums).draw(400, np.random.default_rng(0))
    assert len(kept) > 40


def test_much_data_finds_the_minimum() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4_000, 2))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    labels = rows @ np.array([0.4, -0.2])
    erm = on_ball(Squared(), epsilon=20.0, lattice_bits=24)
    draws = erm.sample((rows, labels), 200, rng=rng)
    assert np.abs(draws - [0.4, -0.2]).max() < 0.15
    steps = np.ldexp(draws, -erm.lattice_exponent)
    assert (steps == np.floor(steps)).all()
    assert (np.linalg.norm(draws, axis=1) <= 1.0).all()


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", Relation)
def test_honest_draws_are_not_refuted(relation: Relation) -> None:
    left = unit_records([1.0, -1.0])
    right = unit_records([1.0, 1.0] if relation is Relation.REPLACE_ONE else [1.0, -1.0, 1.0])
    erm = on_ball(Hinge(), relation=relation, domain=Ball(0.5), lattice_bits=20)
    verdict = dpv.audit(erm, left=left, right=right, level=1e-9, seed=5, samples=20_000)
    assert not verdict.refuted
    assert 0.5 < verdict.epsilon_lower <= 2.0


@pytest.mark.parametrize("relation", Relation)
def test_the_radius_for_the_diameter_is_refuted(relation: Relation) -> None:
    """Δ = GR is what claiming half of a right ε comes to."""
    left = unit_records([1.0, -1.0])
    right = unit_records([1.0, 1.0] if relation is Relation.REPLACE_ONE else [1.0, -1.0, 1.0])
    erm = on_ball(Hinge(), relation=relation, domain=Ball(0.5), epsilon=4.0, lattice_bits=20)
    claim = PureDP(epsilon=2.0)
    verdict = dpv.audit(erm, left=left, right=right, claim=claim, seed=5, samples=60_000)
    assert verdict.refuted


def test_exact_events() -> None:
    """Events of probability exp(−rate·above): floats and balls decide alike; 0 always occurs."""
    rng = np.random.default_rng(3)
    assert _occurs(np.zeros(1_000, np.int64), Fraction(1, 3), rng).all()
    for word, exponent in ((1 << 63, Fraction(1)), (1 << 61, Fraction(3)), (5, Fraction(40))):
        decided = _below(LazyUniform(word, 64), exponent, np.random.default_rng(0))
        assert decided == (word / 2.0**64 < math.exp(-float(exponent)))


def test_float_cuts_are_64_times_better_than_assumed() -> None:
    erm = on_ball(Logistic(), epsilon=50.0, lattice_bits=24)
    proposals = _Proposals.of(erm, erm._sums(some_data(2_000, 2)))
    boxes = proposals.boxes
    with ctx.workprec(160):
        exact = _cut_balls(boxes, int(boxes.floor.min()), erm.rate)
        errors = [abs(e - f) for e, f in zip(exact, proposals.cuts.floats.tolist(), strict=True)]
    assert len(errors) > 20
    assert all(error < 2.0**-50 * (len(errors) + 2) for error in errors)


def test_the_claim() -> None:
    claim = on_ball(Hinge()).claim
    assert claim.guarantee == PureDP(epsilon=2.0)
    assert claim.theorem.name == "exponential-mechanism"
    assert on_ball(Hinge(), domain=Ball(3.0)).largest_loss == pytest.approx(6.0)
    assert on_ball(Hinge()).pair(Relation.REPLACE_ONE).max_loss == 2.0


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": 0.0}, InvalidParameter, "epsilon=0"),
        ({"domain": Box(-1.0, 1.0)}, NotSupported, "Ball"),
        ({"ridge": -1.0}, InvalidParameter, "ridge=-1"),
        ({"ridge": 1e12}, InvalidParameter, "ridge="),
        ({"lattice_bits": 30}, InvalidParameter, "lattice_bits=30"),
        ({"bounds": UNIT}, InvalidParameter, "labels"),
    ],
)
def test_bad_parameters(change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        on_ball(Hinge(), **change)
    with pytest.raises(NotSupported, match="softmax"):
        on_ball(Softmax(3))


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ((np.zeros((1, 4)), [1.0]), NotSupported, "4 columns"),
        (([[2.0]], [1.0]), InvalidParameter, "norm"),
        (([[math.nan]], [1.0]), InvalidParameter, "finite"),
        (([[0.5]], [0.0]), InvalidParameter, "label"),
    ],
)
def test_bad_data_is_refused_before_any_noise(
    data: Any,  # noqa: ANN401
    error: type[Exception],
    words: str,
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(error, match=words):
        on_ball(Hinge()).sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before
