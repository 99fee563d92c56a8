"""Sparse rows: the same fits as dense ones, or one sentence that depends on their type alone."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dpverify.errors import DPVerifyError
from dpverify.guarantees import ApproxDP, PureDP
from solvers import (
    Chunks,
    PrivateClassifier,
    PrivateForest,
    PrivateKMeans,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateNaiveBayes,
    PrivatePCA,
    PrivatePoissonRegression,
    PrivateStandardizer,
)
from solvers.estimators import blocks

COMMON: dict[str, Any] = {"relation": "add-remove", "random_state": 0}
LINEAR: dict[str, Any] = COMMON | {"norm_bound": 1.0, "clip": True, "records": 500}
APPROX = ApproxDP(epsilon=1.0, delta=1e-5)


def rows_and_labels(n: int = 500) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    rows = sparse.random(n, 7, density=0.3, random_state=1, format="csr")
    return rows, rng.integers(0, 2, n)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks a matrix."""
    monkeypatch.setattr(blocks, "DENSE", 1000)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "model",
    [
        PrivateLogisticRegression(budget=APPROX, method="gradient", classes=(0, 1), **LINEAR),
        PrivateLogisticRegression(budget=APPROX, method="sgd", **LINEAR),
        PrivateLinearRegression(budget=APPROX, label_bound=1.0, **LINEAR),
        PrivatePoissonRegression(budget=APPROX, label_bound=1.0, method="gradient", **LINEAR),
    ],
)
@pytest.mark.parametrize("container", ["csr_matrix", "csc_array", "coo_array"])
def test_sums_are_the_same_to_the_last_bit(model: Any, container: str) -> None:  # noqa: ANN401
    rows, y = rows_and_labels()
    dense = model.fit(rows.toarray(), y).coef_.copy()
    given = getattr(sparse, container)(rows)
    assert (model.fit(given, y).coef_ == dense).all()
    assert (model.predict(given) == model.predict(rows.toarray())).all()


@pytest.mark.parametrize("method", ["objective", "output"])
def test_minima_are_the_same_up_to_their_certificate(method: str) -> None:
    rows, y = rows_and_labels()
    model = PrivateLogisticRegression(budget=PureDP(epsilon=50.0), method=method, **LINEAR)
    dense = model.fit(rows.toarray(), y).coef_.copy()
    assert model.fit(rows, y).coef_ == pytest.approx(dense, abs=1e-3)


def test_components_are_the_same_to_the_last_bit() -> None:
    rows, _ = rows_and_labels()
    weights = np.random.default_rng(0).uniform(size=500)
    model = PrivatePCA(budget=APPROX, norm_bound=1.0, clip=True, weight_bound=1.0, **COMMON)
    dense = model.fit(rows.toarray(), sample_weight=weights).components_.copy()
    assert (model.fit(rows, sample_weight=weights).components_ == dense).all()
    assert (model.transform(rows) == model.transform(rows.toarray())).all()


@pytest.mark.parametrize("n", [0, 1])
def test_few_records_will_do(n: int) -> None:
    rows = sparse.csr_matrix((n, 3))
    model = PrivateLogisticRegression(budget=APPROX, classes=(0, 1), norm_bound=1.0, **COMMON)
    assert model.fit(rows, np.zeros(n, int)).coef_.shape == (1, 3)
    assert PrivatePCA(budget=APPROX, norm_bound=1.0, **COMMON).fit(rows).components_.shape == (3, 3)


def test_chunks_of_sparse_arrays() -> None:
    rows, y = rows_and_labels()
    chunks = Chunks.arrays(rows, y, rows=100).checked()
    assert chunks.sizes == (100,) * 5
    assert (chunks.gathered()[0] == rows.toarray()).all()


@pytest.mark.parametrize(
    "model",
    [
        PrivateNaiveBayes(budget=APPROX, low=-1.0, high=1.0, classes=(0, 1)),
        PrivateForest(budget=APPROX, low=-1.0, high=1.0, classes=(0, 1)),
        PrivateKMeans(budget=APPROX, low=-1.0, high=1.0),
        PrivateStandardizer(budget=APPROX, low=-1.0, high=1.0),
        PrivateMedian(budget=APPROX, low=-1.0, high=1.0),
        PrivateClassifier(loss="hinge", ridge=1.0, budget=APPROX, norm_bound=1.0, classes=(0, 1)),
    ],
)
def test_others_refuse_them_by_their_type(model: Any) -> None:  # noqa: ANN401
    """Whatever is in them: no rows at all are refused in the same words."""
    words = set()
    for n in (0, 1, 500):
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        model.set_params(relation="add-remove", random_state=rng)
        rows, y = rows_and_labels(500)
        with pytest.raises((TypeError, DPVerifyError)) as refusal:
            model.fit(rows[:n] * 0.1, y[:n])
        words.add(str(refusal.value))
        assert rng.bit_generator.state == before
    assert len(words) == 1


def test_what_is_not_solved_for_sparse_rows_is_said_of_them() -> None:
    rows, y = rows_and_labels()
    model = PrivateClassifier(
        loss="hinge", ridge=1.0, budget=APPROX, norm_bound=1.0, classes=(0, 1),
        relation="add-remove", clip=True,
    )  # fmt: skip
    with pytest.raises(DPVerifyError, match="for data in chunks and sparse rows; gradient methods"):
        model.fit(rows, y)


def test_a_value_beyond_a_bound_in_the_last_row_is_refused_before_any_noise() -> None:
    rows, y = rows_and_labels()
    rows = sparse.vstack([rows * 0.01, sparse.csr_matrix([[2.0] + [0.0] * 6])]).tocsr()
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = PrivateLogisticRegression(
        budget=APPROX, norm_bound=1.0, relation="add-remove", random_state=rng
    )
    with pytest.raises(DPVerifyError, match="norm of every row"):
        model.fit(rows, [*y, 1])
    assert rng.bit_generator.state == before
