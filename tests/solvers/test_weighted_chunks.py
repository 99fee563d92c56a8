"""Weights in chunks: the same numbers as in memory; what breaks a bound is refused beforehand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import (
    Bounds,
    Chunks,
    Logistic,
    ObjectivePerturbation,
    PrivateClassifier,
    PrivateForest,
    PrivateKMeans,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivatePCA,
    PrivatePoissonRegression,
    PrivateRegressor,
    PrivateStandardizer,
    PrivateSVM,
    Problem,
    Ridge,
)
from solvers.chunks import weighted_labels
from solvers.lloyd import Lloyd
from solvers.losses.weighted import weighted
from solvers.privacy.moments import BoundedMoments
from solvers.privacy.weights import WEIGHTS_BELONG

APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-5)
COMMON: dict[str, Any] = {
    "budget": APPROX, "relation": "add-remove", "weight_bound": 4.0, "random_state": 0,
}  # fmt: skip
LINEAR: dict[str, Any] = {**COMMON, "norm_bound": 1.0, "records": 40}
SIGNED: dict[str, Any] = {**LINEAR, "classes": (0, 1)}
THREE: dict[str, Any] = {**LINEAR, "classes": (0, 1, 2)}
AIMED: dict[str, Any] = {**LINEAR, "label_bound": 2.0}
BOX: dict[str, Any] = {**COMMON, "low": -1.0, "high": 1.0}
EXACT: dict[str, tuple[Callable[[], Any], str]] = {
    "logistic": (lambda: PrivateLogisticRegression(method="gradient", **SIGNED), "coef_"),
    "logistic, sgd": (lambda: PrivateLogisticRegression(method="sgd", **SIGNED), "coef_"),
    "softmax": (lambda: PrivateLogisticRegression(method="gradient", **THREE), "coef_"),
    "svm": (lambda: PrivateSVM(method="gradient", **THREE), "coef_"),
    "hinge": (lambda: PrivateClassifier(loss="hinge", method="gradient", **SIGNED), "coef_"),
    "statistics": (lambda: PrivateLinearRegression(**AIMED), "coef_"),
    "squares": (lambda: PrivateLinearRegression(method="gradient", **AIMED), "coef_"),
    "poisson": (lambda: PrivatePoissonRegression(method="gradient", **AIMED), "coef_"),
    "absolute": (
        lambda: PrivateRegressor(loss="absolute", method="gradient", **AIMED), "coef_"
    ),
    "bayes": (lambda: PrivateNaiveBayes(classes=(0, 1, 2), **BOX), "theta_"),
    "forest": (lambda: PrivateForest(classes=(0, 1, 2), **BOX), "counts_"),
    "k-means": (lambda: PrivateKMeans(n_clusters=3, **BOX), "cluster_centers_"),
    "pca": (lambda: PrivatePCA(norm_bound=1.0, **COMMON), "components_"),
}  # fmt: skip
SOLVED: dict[str, Callable[[], Any]] = {
    "logistic": lambda: PrivateLogisticRegression(method="objective", **SIGNED),
    "softmax": lambda: PrivateLogisticRegression(method="objective", **THREE),
    "svm": lambda: PrivateSVM(method="output", **SIGNED),
    "poisson": lambda: PrivatePoissonRegression(method="objective", **AIMED),
}
UNLABELED = ("k-means", "pca")


def drawn(n: int = 40, classes: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (n, 3))
    return rows, rng.integers(0, classes, n), rng.uniform(0.0, 4.0, n)


def data_for(name: str) -> tuple[Any, Any, Any]:
    signed = name in {"logistic", "logistic, sgd", "hinge"}
    return drawn(classes=2 if signed else 3)


def in_memory(model: Any, name: str, data: tuple[Any, Any, Any]) -> Any:  # noqa: ANN401
    rows, y, weights = data
    return model.fit(rows, None if name in UNLABELED else y, sample_weight=weights)


# the same numbers


@pytest.mark.parametrize("rows", [1, 33])
@pytest.mark.parametrize("name", EXACT)
def test_exact_sums_are_the_same_to_the_last_bit(name: str, rows: int) -> None:
    make, kept = EXACT[name]
    data = data_for(name)
    whole, parts = in_memory(make(), name, data), make().fit(Chunks.arrays(*data, rows=rows))
    assert (getattr(parts, kept) == getattr(whole, kept)).all()
    assert parts.claim_ == whole.claim_
    assert WEIGHTS_BELONG in parts.claim_.assumes
    unlike = make().fit(Chunks.arrays(data[0], data[1], 4.0 - data[2], rows=rows))
    assert (getattr(unlike, kept) != getattr(whole, kept)).any()


@pytest.mark.parametrize("name", SOLVED)
def test_minima_are_the_same_up_to_the_solver(name: str) -> None:
    data = drawn(classes=2 if name in {"logistic", "svm"} else 3)
    whole = SOLVED[name]().fit(*data)
    parts = SOLVED[name]().fit(Chunks.arrays(*data, rows=30))
    size = float(np.abs(whole.coef_).max())
    assert parts.coef_ == pytest.approx(whole.coef_, abs=1e-5 * size)
    assert (parts.claim_, parts.certificate_) == (whole.claim_, whole.certificate_)


@pytest.mark.parametrize("name", EXACT)
def test_chunks_without_weights_have_weights_of_one(name: str) -> None:
    make, kept = EXACT[name]
    rows, y, _ = data_for(name)
    plain = make().fit(Chunks.arrays(rows, y, rows=16))
    ones = make().fit(Chunks.arrays(rows, y, np.ones(40), rows=16))
    assert (getattr(plain, kept) == getattr(ones, kept)).all()
    with pytest.raises(InvalidParameter, match=r"weight_bound=0\.5 must be at least 1 without"):
        make().set_params(weight_bound=0.5).fit(Chunks.arrays(rows, y))


@pytest.mark.parametrize("name", EXACT)
def test_weights_come_from_files_sparse_rows_and_clusters(name: str, tmp_path: Path) -> None:
    make, kept = EXACT[name]
    data = data_for(name)
    whole = getattr(in_memory(make(), name, data), kept)
    np.save(tmp_path / "w.npy", data[2])
    mapped = np.load(tmp_path / "w.npy", mmap_mode="r")
    many = [
        Chunks.arrays(csr_matrix(data[0]), data[1], mapped, rows=16),
        Chunks.parquet(written(tmp_path, data), "y", weight="w", rows=16),
    ]
    arrays = pytest.importorskip("dask.array")
    many.append(Chunks.dask(*(arrays.from_array(part, chunks=25) for part in data)))
    frames = pytest.importorskip("dask.dataframe")
    frame = pytest.importorskip("pandas").read_parquet(tmp_path / "data.parquet")
    cut = frames.from_pandas(frame, npartitions=3)
    many.append(Chunks.dask(cut, target="y", weight="w"))
    for chunks in many:
        assert (getattr(make().fit(chunks), kept) == whole).all()


@pytest.mark.parametrize("n", [0, 1])
def test_no_records_have_no_weights(n: int, tmp_path: Path) -> None:
    data = drawn(n, 2)
    path = written(tmp_path, data)
    for method in ("objective", "gradient"):
        made = {**SIGNED, "method": method}
        whole = PrivateLogisticRegression(**made).fit(*data)
        for chunks in (Chunks.arrays(*data), Chunks.parquet(path, "y", weight="w")):
            parts = PrivateLogisticRegression(**made).fit(chunks)
            assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-6)


def test_weights_are_clipped_where_that_was_asked_for() -> None:
    rows, y, weights = drawn(classes=2)
    made = {**SIGNED, "method": "gradient", "weight_bound": 2.0, "clip": True}
    far = 3.0 * weights - 4.0
    whole = PrivateLogisticRegression(**made).fit(rows, y, far)
    parts = PrivateLogisticRegression(**made).fit(Chunks.arrays(rows, y, far, rows=7))
    assert (whole.coef_ == parts.coef_).all()


def test_mechanisms_take_chunks_with_weights() -> None:
    rows, y, weights = drawn(classes=2)
    labels, shares, signs = 2.0 * y - 1.0, weights / 4.0, Bounds(1.0, (-1, 1), weighted=True)
    problem = Problem(loss=weighted(Logistic()), bounds=signs, regularizer=Ridge(8.0))
    objective = ObjectivePerturbation(problem=problem, budget=APPROX, relation="add-remove")
    relation = dpv.Relation.ADD_REMOVE
    lloyd = Lloyd(start=[[0.0] * 3], budget=APPROX, relation=relation, steps=2)
    chunks = Chunks.arrays(rows, labels, shares, rows=9)
    for mechanism, data, tolerance in (
        (objective, (rows, weighted_labels(labels, shares)), 1e-5),
        (lloyd, (rows, shares), 0.0),
    ):
        made: Any = mechanism
        one, other = (made.sample(d, 1, rng=np.random.default_rng(0)) for d in (data, chunks))
        assert one == pytest.approx(other, abs=tolerance)
    rng = np.random.default_rng(0)
    moments = BoundedMoments(budget=APPROX, relation=relation)
    with pytest.raises(InvalidParameter, match="takes no weights"):
        moments.sample(chunks, 1, rng=rng)
    with pytest.raises(InvalidParameter, match="groups=1 must be at least 2 for weights"):
        moments.sample_groups(chunks, 1, rng=rng)
    with pytest.raises(InvalidParameter, match=r"must have weights in \[0, 1\]"):
        lloyd.sample(Chunks.arrays(rows, y, weights), 1, rng=rng)
    with pytest.raises(InvalidParameter, match="every weight of y must lie between 0 and 1"):
        objective.sample(Chunks.arrays(rows, labels, weights), 1, rng=rng)


@pytest.mark.parametrize("name", ["bayes", "forest"])
def test_batches_have_weights_of_one_bound(name: str) -> None:
    make, kept = EXACT[name]
    rows, y, weights = drawn()
    parts, whole = make(), make()
    for few in (slice(0, 25), slice(25, 40)):
        whole.partial_fit(rows[few], y[few], sample_weight=weights[few])
        parts.partial_fit(Chunks.arrays(rows[few], y[few], weights[few], rows=7))
    assert (getattr(parts, kept) == getattr(whole, kept)).all()
    before = dict(vars(whole))
    for bound in (8.0, None):
        whole.set_params(weight_bound=bound)
        with pytest.raises(
            InvalidParameter, match=f"weight_bound={bound} must be that of the batches before, 4.0"
        ):
            whole.partial_fit(rows, y)
    assert {**vars(whole), "weight_bound": 4.0} == before
    whole.fit(rows, y)  # which begins anew
    with pytest.raises(InvalidParameter, match=r"weight_bound=4\.0 must be that of the batches"):
        whole.set_params(weight_bound=4.0).partial_fit(rows, y)


# refusals


def written(folder: Path, data: tuple[Any, Any, Any], name: str = "data.parquet") -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, y, weights = data
    columns = {f"x{k}": rows[:, k] for k in range(rows.shape[1])}
    table = arrow.table({**columns, "y": y, "w": weights})
    parquet.write_table(table, folder / name, row_group_size=16)
    return folder / name


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: np.where(np.arange(40) == 39, np.nan, w), "sample_weight must be finite"),
        (lambda w: np.where(np.arange(40) == 39, np.inf, w), "sample_weight must be finite"),
        (lambda w: np.where(np.arange(40) == 39, -1.0, w), "must lie between 0 and weight_bound"),
        (lambda w: np.where(np.arange(40) == 39, 4.5, w), "must lie between 0 and weight_bound"),
        (lambda w: w.astype(str), "sample_weight of type <U"),
        (lambda w: w.astype(object), "sample_weight of type object must hold real numbers"),
        (lambda w: w + 0j, "sample_weight of type complex128 must hold real numbers"),
        (lambda w: weighted_labels(w, w), "must hold real numbers"),
        (lambda w: np.ma.masked_greater(w, 3.9), "sample_weight must be finite: it has masked"),
    ],
)
@pytest.mark.parametrize("name", ["logistic", "statistics", "poisson", "bayes", "k-means", "pca"])
def test_a_bad_weight_in_the_last_chunk_is_refused_before_any_noise(
    name: str, spoil: Callable[[Any], Any], message: str
) -> None:
    rows, y, weights = data_for(name)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = EXACT[name][0]().set_params(random_state=rng)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(Chunks.arrays(rows, y, spoil(weights), rows=16))
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert rng.bit_generator.state == before
    assert not hasattr(model, "claim_")


def test_what_are_no_weights_is_refused_at_once(tmp_path: Path) -> None:
    rows, y, weights = data = drawn(20, 2)
    path = written(tmp_path, data)
    odd: Any = None
    for bad in (weights[:-1], [], 1.0, "w", {}, {"w": 1}, rows, [[1.0]] * 20, [[1.0], [1.0, 2.0]]):
        odd = bad
        with pytest.raises(InvalidParameter, match="sample_weight"):
            Chunks.arrays(rows, y, odd)
    odd = 3
    for weight in ("z", "", "y", "x0x", odd):
        with pytest.raises(InvalidParameter, match=f"weight={weight!r} and columns="):
            Chunks.parquet(path, "y", weight=weight)
    with pytest.raises(InvalidParameter, match="weight='w' and columns="):
        Chunks.parquet(path, "y", weight="w", columns=["x0", "w"])
    arrays = pytest.importorskip("dask.array")
    many = [arrays.from_array(part, chunks=10) for part in data]
    for act, message in (
        (lambda: Chunks.dask(many[0], many[1], weights), "X, y and sample_weight must be Dask"),
        (lambda: Chunks.dask(many[0], many[1], many[2][:10]), "X, y and sample_weight must be"),
        (lambda: Chunks.dask(many[0], many[1], many[2].rechunk(5)), "rows are cut alike"),
        (lambda: Chunks.dask(many[0], many[1], weight="w"), "weight='w' must be None without"),
        (lambda: Chunks.dask(many[0], None, many[2]), "rows are cut alike, or target="),
    ):
        with pytest.raises(InvalidParameter, match=message):
            act()  # type: ignore[no-untyped-call]
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pytest.importorskip("pandas").read_parquet(path), npartitions=2)
    for more in ({"weight": "z"}, {"weight": "y"}, {"weight": "w", "sample_weight": many[2]}):
        with pytest.raises(InvalidParameter, match="target='y'"):
            Chunks.dask(frame, target="y", **more)


def test_columns_of_weights_may_not_change_from_file_to_file(tmp_path: Path) -> None:
    rows, y, weights = drawn(40, 2)
    first = written(tmp_path, (rows, y, weights), "a.parquet")
    model = PrivateLogisticRegression(**SIGNED)
    missing: Any = [None, *weights[1:].tolist()]
    for last, message in (
        (weights.astype(str), "sample_weight of type object must hold real numbers"),
        (missing, "sample_weight must be finite"),
        (weights + 9.0, "must lie between 0 and weight_bound"),
    ):
        second = written(tmp_path, (rows, y, last), "b.parquet")
        with pytest.raises(InvalidParameter, match=message):
            model.fit(Chunks.parquet([first, second], "y", weight="w"))
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(parquet.read_table(first).drop_columns(["w"]), second)
    with pytest.raises(InvalidParameter, match="must be those of"):
        model.fit(Chunks.parquet([first, second], "y", weight="w"))
    second.write_bytes(first.read_bytes()[:-40])
    with pytest.raises(InvalidParameter, match="must be a whole parquet file"):
        model.fit(Chunks.parquet([first, second], "y", weight="w"))


def test_who_takes_no_weights_says_so() -> None:
    rows, y, weights = drawn(20, 2)
    chunks = Chunks.arrays(rows, y, weights)
    scaler = PrivateStandardizer(budget=APPROX, low=-1.0, high=1.0, relation="add-remove")
    with pytest.raises(InvalidParameter, match="PrivateStandardizer takes no weights"):
        scaler.fit(chunks)
    model = PrivateLogisticRegression(**SIGNED)
    with pytest.raises(InvalidParameter, match="sample_weight=ndarray must not be given beside"):
        model.fit(chunks, None, weights)
    with pytest.raises(InvalidParameter, match="weight_bound=None must be declared beside chunks"):
        model.set_params(weight_bound=None).fit(chunks)
    for bound in (0.0, -1.0, np.nan, "4"):
        with pytest.raises(InvalidParameter, match="weight_bound="):
            model.set_params(weight_bound=bound).fit(chunks)


def test_masked_rows_and_labels_in_chunks_are_refused() -> None:
    rows, y, _ = drawn(20, 2)
    model = PrivateLogisticRegression(**SIGNED)
    some = np.arange(20) == 7
    masked = np.ma.masked_array(rows, mask=some[:, None] & np.ones(3, bool))
    for chunks in (Chunks.arrays(masked, y), Chunks.arrays(rows, np.ma.masked_array(y, mask=some))):
        with pytest.raises(InvalidParameter, match="must be finite: it has masked entries"):
            model.fit(chunks)
