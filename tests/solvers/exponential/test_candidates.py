"""ExpMech-ERM over finite candidates: exact laws, exact sensitivity, draws, refusals."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dpverify as dpv
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers import Absolute, Ball, Bounds, Hinge, Logistic, Squared
from solvers.exponential.candidates import ExponentialERM, diameter, lattice
from solvers.losses import Loss
from tests.solvers.spoiled_iterates import BOTH_SIGNS, TWO_ENDS, exponential_pair

POINTS = [[-1.0], [-0.5], [0.0], [0.5], [1.0]]
UNIT = Bounds(norm=1.0, label_bound=1.0)


def absolute(relation: Relation = Relation.REPLACE_ONE, **options: Any) -> ExponentialERM:  # noqa: ANN401
    chosen: dict[str, Any] = {
        "loss": Absolute(),
        "bounds": UNIT,
        "candidates": POINTS,
        "epsilon": 8.0 * math.log(2.0),
        "relation": relation,
        "domain": Ball(1.0),
    }
    return ExponentialERM(**(chosen | options))


def law(labels: tuple[int, ...], base: Fraction) -> list[Fraction]:
    """∝ base^(−2·Σ|w − y|), from the definition, in rationals; labels in halves."""
    weights = [base ** -sum(abs(half - label) for label in labels) for half in (-2, -1, 0, 1, 2)]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("labels", list(product((-2, 0, 1, 2), repeat=3)))
@pytest.mark.parametrize("relation", Relation)
def test_the_law_is_the_definition(labels: tuple[int, ...], relation: Relation) -> None:
    """Δ = 2GR = 2: k = ε/4 = 2·ln 2 where one is replaced, ε/2 = 4·ln 2 where one is added."""
    data = np.ones((3, 1)), np.array(labels) / 2.0
    logs = absolute(relation).log_density(POINTS, data)
    base = Fraction(2) if relation is Relation.REPLACE_ONE else Fraction(4)
    assert np.exp(logs) == pytest.approx([float(p) for p in law(labels, base)], rel=1e-7)


@pytest.mark.parametrize("relation", Relation)
def test_no_neighbors_differ_by_more_than_epsilon(relation: Relation) -> None:
    """All small datasets, exactly as computed; and ε is nearly attained with many records."""
    erm, worst = absolute(relation, epsilon=1.0), 0.0
    for labels in product((-1.0, -0.5, 0.0, 1.0), repeat=3):
        logs = erm.log_density(POINTS, (np.ones((3, 1)), labels))
        for new in (-1.0, 0.0, 0.5, 1.0):
            changed = (new, *labels[1:]) if relation is Relation.REPLACE_ONE else (new, *labels)
            data = np.ones((len(changed), 1)), changed
            moved = np.abs(erm.log_density(POINTS, data) - logs).max()
            worst = max(worst, float(moved))
    assert 0.5 < worst <= 1.0 + 1e-12
    many = np.full(60, 1.0)
    other = np.append(many[1:], -1.0) if relation is Relation.REPLACE_ONE else np.append(many, -1.0)
    left = erm.log_density(POINTS, (np.ones((60, 1)), many))
    right = erm.log_density(POINTS, (np.ones((len(other), 1)), other))
    assert 0.99 < np.abs(left - right).max() <= 1.0 + 1e-12


@given(
    st.lists(
        st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.sampled_from([-1.0, 1.0])),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([Hinge(), Logistic()]),
)
def test_one_records_share_is_within_its_bound(
    records: list[tuple[float, float, float]], loss: Loss
) -> None:
    """In the units that are summed, one record's losses span at most 2^30, the declared Δ."""
    points = lattice(Ball(2.0), 2, 0.5)
    erm = ExponentialERM(
        loss=loss,
        bounds=BOTH_SIGNS,
        candidates=points,
        epsilon=1.0,
        relation=Relation.ADD_REMOVE,
        domain=Ball(2.0),
        clip_records=True,
    )
    rows = np.array([r[:2] for r in records]).reshape(-1, 2)
    labels = np.array([r[2] for r in records])
    shares = [erm.sums((rows[i : i + 1], labels[i : i + 1])) for i in range(len(rows))]
    assert all(share.min() >= 0 and share.max() <= 1 << 30 for share in shares)
    assert (erm.sums((rows, labels)) == sum(shares)).all()
    exact = loss.values(points @ rows.T, labels)[:, 0] if len(rows) == 1 else None
    if exact is not None and np.linalg.norm(rows[0]) <= 1.0:
        wanted = (exact - exact.min()) / erm.largest_loss * 2.0**30
        assert shares[0] == pytest.approx(wanted, abs=4.0)


def test_constants() -> None:
    erm = absolute()
    assert erm.largest_loss == pytest.approx(2.0)
    assert absolute(domain=None, candidates=[[0.0], [0.5]]).largest_loss == pytest.approx(0.5)
    squared = absolute(loss=Squared())  # G = 2r(rR + s) = 4 on the ball of radius 1
    assert squared.largest_loss == pytest.approx(8.0)
    assert diameter(np.array([[0.0, 3.0], [4.0, 0.0]])) == pytest.approx(5.0, rel=1e-12)
    assert erm.claim.guarantee == PureDP(epsilon=8.0 * math.log(2.0))
    assert erm.claim.theorem.name == "exponential-mechanism"
    assert absolute(arithmetic="real").claim.assumes == ("real arithmetic",)


def test_penalties_are_added() -> None:
    data = np.ones((1, 1)), [0.0]
    plain = absolute(epsilon=2.0).log_density(POINTS, data)
    ridge = 0.5 * np.array(POINTS)[:, 0] ** 2
    tilted = absolute(epsilon=2.0, penalties=ridge).log_density(POINTS, data)
    moved = tilted - plain + 0.5 * ridge  # k = ε/(2Δ) = 1/2
    assert moved == pytest.approx(np.full(5, moved[0]), abs=1e-7)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_draws_have_their_law(arithmetic: str) -> None:
    erm = absolute(epsilon=2.0, arithmetic=arithmetic)
    data, total = (np.ones((3, 1)), [0.5, 1.0, -1.0]), 100_000
    draws = erm.sample(data, total, rng=np.random.default_rng(3))
    counts = np.array([(draws[:, 0] == point[0]).sum() for point in POINTS])
    expected = np.exp(erm.log_density(POINTS, data))
    share = 1e-9 / 10
    low, high = (np.asarray(binom.ppf(p, total, expected)) for p in (share, 1 - share))
    assert (low <= counts).all()
    assert (counts <= high).all()


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", Relation)
def test_honest_choices_are_not_refuted(relation: Relation) -> None:
    left, right = exponential_pair(relation)
    erm = ExponentialERM(
        loss=Hinge(),
        bounds=BOTH_SIGNS,
        candidates=TWO_ENDS,
        epsilon=2.0,
        relation=relation,
        domain=Ball(0.5),
    )
    verdict = dpv.audit(erm, left=left, right=right, level=1e-9, seed=5, samples=30_000)
    assert not verdict.refuted
    assert 1.2 < verdict.epsilon_lower <= 2.0


def test_lattices() -> None:
    points = lattice(Ball(1.0), 3, 0.25)
    assert (np.linalg.norm(points, axis=1) <= 1.0).all()
    assert len(points) == sum(
        a * a + b * b + c * c <= 16 for a, b, c in product(range(-4, 5), repeat=3)
    )
    inside = np.random.default_rng(0).normal(size=(500, 3))
    inside /= np.maximum(1.0, np.linalg.norm(inside, axis=1, keepdims=True))
    away = np.linalg.norm(points[None] - inside[:, None], axis=2).min(axis=1)
    assert 0.1 < away.max() <= 0.25 * 3**0.5
    with pytest.raises(InvalidParameter, match="spacing="):
        lattice(Ball(1.0), 10, 0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon=0"),
        ({"candidates": [[2.0], [0.0]]}, "domain="),
        ({"candidates": [[0.0], [0.0]]}, "different"),
        ({"candidates": [[0.0]]}, "from 2"),
        ({"candidates": [[math.nan], [0.0]]}, "finite"),
        ({"candidates": [0.0, 1.0]}, "matrix"),
        ({"loss": Hinge()}, "labels"),
        ({"penalties": [1.0]}, "5 finite"),
        ({"penalties": [1e9] * 5}, "penalties must be less"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        absolute(**change)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([[2.0]], [1.0]), "norm"),
        (([[1.0, 0.0]], [1.0]), "columns"),
        (([[1.0]], [math.inf]), "finite"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        absolute().sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


def test_outputs_that_are_no_candidates() -> None:
    data = np.ones((1, 1)), [0.0]
    assert absolute().log_density([[0.3], [-0.0]], data)[0] == -math.inf
    assert absolute().log_density([[-0.0]], data)[0] > -math.inf
    with pytest.raises(InvalidParameter, match="shape"):
        absolute().log_density([0.0], data)


def test_sums_beyond_floats_still_decide_by_what_is_near_the_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2^80 units for all are nothing, and 2^90 more for one are the end of it."""
    far = np.array([1 << 80, (1 << 80) + (1 << 30), 1 << 90, 1 << 90, 1 << 90], object)
    monkeypatch.setattr(ExponentialERM, "sums", lambda *_: far)
    logs = absolute().log_density(POINTS, (np.ones((1, 1)), np.ones(1)))
    assert logs[0] - logs[1] == pytest.approx(4.0 * math.log(2.0), rel=1e-12)
    assert (logs[2:] < -1e6).all()
    assert absolute().sample((np.ones((1, 1)), np.ones(1)), 5, rng=np.random.default_rng(0)).size
