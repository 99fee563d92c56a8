"""Data in chunks: the same numbers as in memory, however they are cut; bad ones are refused."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import dpverify as dpv
from dpverify.errors import InvalidParameter, NotSupported
from solvers import (
    Bounds,
    Chunks,
    FixedBatches,
    GradientDescent,
    Hinge,
    Logistic,
    OutputPerturbation,
    PrivateClassifier,
    PrivateForest,
    PrivateKMeans,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateNaiveBayes,
    PrivatePCA,
    PrivatePipeline,
    PrivateSelection,
    PrivateStandardizer,
    PrivateSVM,
    Problem,
    Ridge,
    StochasticGradientDescent,
    SufficientStatistics,
    WholeSpace,
)
from solvers.descent import DescentSetting
from solvers.lloyd import Lloyd

APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-5)


def drawn(n: int = 1000, d: int = 3) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, d))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0) * 1.0000001
    return rows, np.where(rows[:, 0] + 0.3 * rng.standard_normal(n) > 0.0, 1, 0)


def logistic(**changes: object) -> PrivateLogisticRegression:
    given: dict[str, Any] = {
        "budget": APPROX, "norm_bound": 1.0, "relation": "add-remove", "classes": (0, 1),
        "records": 1000, "random_state": 0,
    }  # fmt: skip
    return PrivateLogisticRegression(**given | changes)


# the same numbers


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [1, 7, 333, 5000])
@pytest.mark.parametrize("method", ["gradient", "sgd"])
def test_sums_of_gradients_are_the_same_to_the_last_bit(method: str, rows: int) -> None:
    features, y = drawn(100)
    whole = logistic(method=method, records=100).fit(features, y)
    parts = logistic(method=method, records=100).fit(Chunks.arrays(features, y, rows=rows))
    assert (whole.coef_ == parts.coef_).all()
    assert (whole.intercept_, whole.claim_) == (parts.intercept_, parts.claim_)
    assert (parts.predict(features) == whole.predict(features)).all()


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateSVM])
@pytest.mark.parametrize("method", ["objective", "output"])
def test_minima_are_the_same_up_to_the_solver(
    kind: type[PrivateLogisticRegression], method: str, classes: tuple[int, ...]
) -> None:
    features, y = drawn()
    given = logistic(classes=classes, method=method).get_params()
    whole, parts = (
        kind(**given).fit(features, y),
        kind(**given).fit(Chunks.arrays(features, y, rows=300)),
    )
    size = float(np.abs(whole.coef_).max())
    assert parts.coef_ == pytest.approx(whole.coef_, abs=1e-5 * size)
    assert parts.certificate_ == whole.certificate_
    assert parts.claim_ == whole.claim_


def test_statistics_are_the_same_to_the_last_bit() -> None:
    features, y = drawn()
    given: dict[str, Any] = {
        "budget": APPROX, "norm_bound": 1.0, "label_bound": 2.0, "relation": "replace-one",
        "random_state": 0,
    }  # fmt: skip
    whole = PrivateLinearRegression(**given).fit(features, y)
    parts = PrivateLinearRegression(**given).fit(Chunks.arrays(features, y, rows=64))
    assert (whole.coef_ == parts.coef_).all()


def test_a_minimum_over_chunks_is_certified() -> None:
    features, y = drawn()
    labels = np.where(y > 0, 1.0, -1.0)
    problem = Problem(
        loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(0.1)
    )
    linear = np.random.default_rng(0).standard_normal((2, 3))
    whole = problem.minimize((features, labels), linear)
    parts = problem.minimize(Chunks.arrays(features, labels, rows=90), linear, within=1e-9)
    assert parts.certificate.distance <= 1e-9
    apart = np.linalg.norm(whole.points - parts.points, axis=1)
    assert (apart <= whole.distances + parts.distances).all()


def test_what_floats_cannot_settle_is_solved_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solvers.minimize.newton_chunked._PASSES", 0)
    features, y = drawn(20)
    labels = np.where(y > 0, 1.0, -1.0)
    problem = Problem(
        loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(0.1)
    )
    solution = problem.minimize(Chunks.arrays(features, labels, rows=7), within=1e-9)
    assert solution.certificate.distance <= 1e-9


@pytest.mark.parametrize("n", [0, 1])
def test_no_records_are_data_like_any_other(n: int, tmp_path: Path) -> None:
    features, y = drawn(n + 1)
    chunks = [
        Chunks.arrays(features[:n], y[:n]),
        Chunks.parquet(written(tmp_path, features[:n], y[:n]), "y"),
    ]
    for method in ("objective", "gradient", "sgd"):
        whole = logistic(method=method).fit(features[:n], y[:n])
        for each in chunks:
            parts = logistic(method=method).fit(each)
            assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-6)


def test_memory_mapped_arrays_are_read_slice_by_slice(tmp_path: Path) -> None:
    features, y = drawn()
    np.save(tmp_path / "X.npy", features)
    np.save(tmp_path / "y.npy", y)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy")]
    parts = logistic().fit(Chunks.arrays(*mapped, rows=100))
    assert (parts.coef_ == logistic().fit(features, y).coef_).all()


# models of bounded features, whose sums are whole numbers

BOX: dict[str, Any] = {"budget": APPROX, "relation": "add-remove", "random_state": 0}
BOXED: dict[str, tuple[Any, str]] = {
    "bayes": (PrivateNaiveBayes(low=-1.0, high=1.0, classes=(0, 1), **BOX), "theta_"),
    "forest": (PrivateForest(low=-1.0, high=1.0, classes=(0, 1), **BOX), "counts_"),
    "k-means": (PrivateKMeans(low=-1.0, high=1.0, n_clusters=3, **BOX), "cluster_centers_"),
    "pca": (PrivatePCA(norm_bound=1.0, **BOX), "components_"),
    "standardizer": (PrivateStandardizer(low=-1.0, high=1.0, **BOX), "scale_"),
}


def boxed(name: str, **changes: object) -> Any:  # noqa: ANN401
    return clone(BOXED[name][0]).set_params(**changes)


def fitted(name: str, *data: Any, **changes: object) -> Any:  # noqa: ANN401
    """What the model learned; models without labels get none."""
    given = data if len(data) == 1 or name in {"bayes", "forest"} else data[:1]
    return getattr(boxed(name, **changes).fit(*given), BOXED[name][1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [APPROX, dpv.PureDP(epsilon=1.0)])
@pytest.mark.parametrize("rows", [1, 7, 333, 5000])
@pytest.mark.parametrize("name", BOXED)
def test_sums_of_bounded_features_are_the_same_to_the_last_bit(
    name: str, rows: int, budget: Any, relation: dpv.Relation, # noqa: ANN401
) -> None:  # fmt: skip
    features, y = drawn(100)
    given = {"budget": budget, "relation": relation}
    whole = fitted(name, features, y, **given)
    assert (fitted(name, Chunks.arrays(features, y, rows=rows), **given) == whole).all()


@pytest.mark.parametrize("name", BOXED)
def test_bounded_features_come_from_files_and_clusters(name: str, tmp_path: Path) -> None:
    features, y = drawn()
    whole = fitted(name, features, y)
    path = written(tmp_path, features, y)
    assert (fitted(name, Chunks.parquet(path, "y", rows=64)) == whole).all()
    np.save(tmp_path / "X.npy", features)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert (fitted(name, Chunks.arrays(mapped, y, rows=64)) == whole).all()
    arrays = pytest.importorskip("dask.array")
    cut = Chunks.dask(
        arrays.from_array(features, chunks=(300, 2)), arrays.from_array(y, chunks=300)
    )
    assert (fitted(name, cut) == whole).all()


@pytest.mark.parametrize("name", BOXED)
@pytest.mark.parametrize("n", [0, 1])
def test_no_records_are_data_for_bounded_features_too(name: str, n: int) -> None:
    features, y = drawn(n + 1)
    assert (
        fitted(name, Chunks.arrays(features[:n], y[:n])) == fitted(name, features[:n], y[:n])
    ).all()
    with pytest.raises(InvalidParameter, match="X has 0 rows; there must be 1"):
        fitted(name, Chunks.arrays(features[:0], y[:0]), relation="replace-one")


@pytest.mark.parametrize("name", ["bayes", "forest"])
def test_batches_come_in_chunks_as_well(name: str) -> None:
    features, y = drawn()
    parts, whole = boxed(name), boxed(name)
    for few in (slice(0, 600), slice(600, 1000)):
        whole.partial_fit(features[few], y[few])
        parts.partial_fit(Chunks.arrays(features[few], y[few], rows=77))
    kept = BOXED[name][1]
    assert (getattr(parts, kept) == getattr(whole, kept)).all()
    assert parts.claim_ == whole.claim_
    with pytest.raises(InvalidParameter, match="X has 2 columns; there must be 3, as before"):
        parts.partial_fit(Chunks.arrays(features[:, :2], y))


@pytest.mark.parametrize("name", BOXED)
def test_chunks_have_labels_and_weights_in_them(name: str) -> None:
    features, y = drawn(20)
    chunks = Chunks.arrays(features, y)
    with pytest.raises(InvalidParameter, match="must not be given beside data in chunks"):
        boxed(name).fit(chunks, y)
    with pytest.raises(InvalidParameter, match="sample_weight=ndarray must not be given"):
        boxed(name).fit(chunks, sample_weight=np.ones(20))
    weighted = Chunks.arrays(features, y, np.ones(20))
    none = "takes no weights" if name == "standardizer" else "weight_bound=None must be declared"
    with pytest.raises(InvalidParameter, match=none):
        boxed(name).fit(weighted)


def test_missing_targets_play_no_part_where_labels_do_not(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    features, y = drawn(20)
    columns = {f"x{k}": features[:, k] for k in range(3)}
    target = [None, *y[1:].tolist()]
    parquet.write_table(arrow.table({**columns, "y": target}), tmp_path / "data.parquet")
    chunks = Chunks.parquet(tmp_path / "data.parquet", "y", rows=7)
    for name in ("k-means", "pca", "standardizer"):
        assert (fitted(name, chunks) == fitted(name, features)).all()
    lloyd = Lloyd(start=[[0.0] * 3], budget=APPROX, relation=dpv.Relation.ADD_REMOVE, steps=2)
    one, other = (lloyd.sample(d, 1, rng=np.random.default_rng(0)) for d in (chunks, features))
    assert (one == other).all()
    with pytest.raises(InvalidParameter, match="it has missing entries"):
        fitted("forest", chunks)
    by_label = chunks.map(lambda block: (block[0] * block[1][:, None], block[1]))
    with pytest.raises(InvalidParameter, match="it has missing entries"):
        fitted("k-means", by_label)


def test_names_of_columns_are_forgotten_with_chunks() -> None:
    pandas = pytest.importorskip("pandas")
    features, y = drawn(20)
    frame = pandas.DataFrame(features, columns=["a", "b", "c"])
    for model in (logistic(records=None), *(boxed(name) for name in BOXED)):
        model.fit(frame, y)
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        model.fit(Chunks.arrays(features, y))
        assert not hasattr(model, "feature_names_in_")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (model.predict if hasattr(model, "predict") else model.transform)(features)


def test_what_takes_no_chunks_says_so_before_any_noise() -> None:
    features, y = drawn(20)
    chunks = Chunks.arrays(features, y)
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    given = {**BOX, "random_state": rng, "low": -1.0, "high": 1.0}
    scaler, clusters = PrivateStandardizer(**given, clip=True), PrivateKMeans(**given)
    median = PrivateMedian(**given)
    search = PrivateSelection(median, candidates=[{"quantile": 0.5}, {"quantile": 0.9}])
    whole = PrivatePipeline([("scale", scaler), ("model", logistic(clip=True))])
    acts: list[Any] = [
        scaler.fit_transform, clusters.fit_predict, clusters.fit_transform, median.fit, search.fit,
        boxed("pca", random_state=rng).fit_transform, whole.fit,
    ]  # fmt: skip
    for act in acts:
        with pytest.raises(InvalidParameter, match="X=Chunks must be an array here: Private"):
            act(chunks)
    assert rng.bit_generator.state == state
    for model in (scaler, clusters, median, logistic(records=None)):
        model.fit(features, y)
        for name in {"predict", "transform", "decision_function"} & set(dir(model)):
            with pytest.raises(InvalidParameter, match="X=Chunks must be an array here: Private"):
                getattr(model, name)(chunks)
    alone = PrivatePipeline([("none", "passthrough"), ("model", logistic(records=None))]).fit(
        chunks
    )
    assert alone.predict(features).shape == (20,)
    with pytest.raises(InvalidParameter, match="y=None must be given"):
        search.fit(features)


# mechanisms


def test_mechanisms_take_chunks() -> None:
    features, y = drawn(50)
    labels = np.where(y > 0, 1.0, -1.0)
    chunks, bounds = Chunks.arrays(features, labels, rows=9), Bounds(norm=1.0, labels=(-1, 1))
    setting = DescentSetting(
        loss=Hinge(), bounds=bounds, domain=WholeSpace(), relation=dpv.Relation.ADD_REMOVE,
        records=50,
    )  # fmt: skip
    descent = GradientDescent(setting, budget=APPROX, steps=3, learning_rate=1.0)
    least = SufficientStatistics(
        bounds=Bounds(norm=1.0, label_bound=1.0), budget=APPROX, relation="add-remove"
    )
    for mechanism in (descent, least):
        one, other = (
            mechanism.sample(data, 2, rng=np.random.default_rng(0))
            for data in ((features, labels), chunks)
        )
        assert (one == other).all()
    assert (
        descent.transcript.log_density(np.zeros((1, 3, 3)), chunks)
        == descent.transcript.log_density(np.zeros((1, 3, 3)), (features, labels))
    ).all()


def test_what_chunks_cannot_do_is_said() -> None:
    features, y = drawn(50)
    labels = np.where(y > 0, 1.0, -1.0)
    chunks, bounds = Chunks.arrays(features, labels), Bounds(norm=1.0, labels=(-1, 1))
    problem = Problem(loss=Hinge(), bounds=bounds, regularizer=Ridge(1.0))
    output = OutputPerturbation(problem=problem, budget=APPROX, relation="add-remove")
    rng = np.random.default_rng(0)
    with pytest.raises(NotSupported, match="must be smooth and the whole space for data in chunks"):
        output.sample(chunks, 1, rng=rng)
    setting = DescentSetting(
        loss=Hinge(), bounds=bounds, domain=WholeSpace(), relation=dpv.Relation.REPLACE_ONE,
        records=50,
    )  # fmt: skip
    batches = StochasticGradientDescent(
        setting, budget=dpv.PureDP(epsilon=1.0), batches=FixedBatches(5), steps=2, learning_rate=1.0
    )
    with pytest.raises(
        NotSupported, match="must be PoissonBatches or AllocatedBatches for data in chunks"
    ):
        batches.sample(chunks, 1, rng=rng)
    with pytest.raises(InvalidParameter, match="call checked"):
        len(chunks)


# parquet


def written(
    folder: Path,
    features: NDArray[Any],
    y: NDArray[Any],
    name: str = "data.parquet",
    group: int = 100,
) -> Path:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"x{k}": features[:, k] for k in range(features.shape[1])}
    parquet.write_table(arrow.table({**columns, "y": y}), folder / name, row_group_size=group)
    return folder / name


@pytest.mark.parametrize("rows", [64, 1 << 16])
def test_parquet_is_read_by_row_groups(rows: int, tmp_path: Path) -> None:
    features, y = drawn()
    whole = logistic().fit(features, y)
    path = written(tmp_path, features, y)
    assert (logistic().fit(Chunks.parquet(path, "y", rows=rows)).coef_ == whole.coef_).all()
    some = Chunks.parquet(str(path), target="y", columns=["x2", "x0"])
    assert (logistic().fit(some).coef_ == logistic().fit(features[:, [2, 0]], y).coef_).all()


def test_a_folder_of_files_is_one_dataset_and_labels_may_be_words(tmp_path: Path) -> None:
    features, y = drawn()
    words = np.where(y > 0, "yes", "no")
    for k in range(4):
        written(
            tmp_path,
            features[k * 250 : k * 250 + 250],
            words[k * 250 : k * 250 + 250],
            f"{k}.parquet",
        )
    named = logistic(classes=("no", "yes"))
    parts = named.fit(Chunks.parquet(tmp_path, "y"))
    assert parts.classes_.tolist() == ["no", "yes"]
    assert (parts.coef_ == logistic().fit(features, y).coef_).all()
    assert (
        parts.predict(features)
        == np.where(logistic().fit(features, y).predict(features) > 0, "yes", "no")
    ).all()


def spoiled(kind: str, folder: Path) -> Chunks:
    """Data of which only the last chunk is bad."""
    features, y = drawn()
    if kind == "NaN":
        features[-1, 1] = np.nan
    elif kind == "label":
        y[-1] = 7
    elif kind == "long":
        features[-1] *= 3.0
    first = written(folder, features[:500], y[:500], "a.parquet")
    last = written(folder, features[500:], y[500:], "b.parquet")
    if kind == "columns":
        written(folder, features[500:, :2], y[500:], "b.parquet")
    elif kind == "types":
        written(folder, features[500:].astype(str), y[500:], "b.parquet")
    elif kind == "truncated":
        last.write_bytes(last.read_bytes()[:-40])
    elif kind == "damaged":
        content = bytearray(last.read_bytes())
        content[4 : len(content) // 2] = b"\x00" * (len(content) // 2 - 4)
        last.write_bytes(content)
    return Chunks.parquet([first, last], "y")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("NaN", "X must be finite"),
        ("label", "every label in y must be one of: 0, 1"),
        ("long", "the norm of every row of X must be at most"),
        ("columns", "must be those of"),
        ("types", "must be numbers"),
        ("truncated", "must be a whole parquet file"),
        ("damaged", "must be a whole parquet file"),
    ],
)
@pytest.mark.parametrize("method", ["gradient", "objective"])
def test_a_bad_last_chunk_is_refused_before_noise_is_drawn(
    kind: str, message: str, method: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = logistic(method=method, random_state=rng)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(spoiled(kind, tmp_path))
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert rng.bit_generator.state == before
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("NaN", "X must be finite"),
        ("label", "every label in y must be one of: 0, 1"),
        ("long", "must "),
        ("columns", "must be those of"),
        ("types", "must be numbers"),
        ("truncated", "must be a whole parquet file"),
        ("damaged", "must be a whole parquet file"),
    ],
)
@pytest.mark.parametrize("name", BOXED)
def test_a_bad_last_chunk_of_bounded_features_is_refused_before_noise_is_drawn(
    name: str, kind: str, message: str, tmp_path: Path
) -> None:
    if kind == "label" and name in {"k-means", "pca", "standardizer"}:
        pytest.skip("labels play no part")
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = boxed(name, random_state=rng)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(spoiled(kind, tmp_path))
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert rng.bit_generator.state == before
    assert not hasattr(model, "claim_")


def test_lloyd_looks_at_all_chunks_before_it_draws() -> None:
    rows = np.full((10, 1), 0.5)
    rows[-1] = 2.0
    lloyd = Lloyd(start=[[0.0]], budget=APPROX, relation=dpv.Relation.ADD_REMOVE, steps=2)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match="must be rows of 1 numbers"):
        lloyd.sample(Chunks.arrays(rows, np.zeros(10), rows=3), 1, rng=rng)
    assert rng.bit_generator.state == before


def test_misuse(tmp_path: Path) -> None:
    features, y = drawn(20)
    path = written(tmp_path, features, y)
    chunks = Chunks.arrays(features, y)
    for act, message in (
        (lambda: Chunks.arrays(features, y[:-1]), "one label a row"),
        (lambda: Chunks.arrays(features, y, rows=0), "rows=0"),
        (lambda: Chunks.parquet(tmp_path / "none.parquet", "y"), "must be a parquet file"),
        (lambda: Chunks.parquet(path, "z"), "target='z'"),
        (lambda: Chunks.parquet(path, "y", columns=["y"]), "must be different columns"),
        (lambda: logistic().fit(chunks, y), "must not be given beside data in chunks"),
        (lambda: logistic(classes=None).fit(chunks), "classes=None must be declared"),
        (lambda: logistic(classes=(1,)).fit(chunks), "must be at least two"),
        (
            lambda: logistic(relation="replace-one").fit(Chunks.arrays(features[:0], y[:0])),
            "X has 0 rows",
        ),
    ):
        with pytest.raises(InvalidParameter) as refusal:
            act()  # type: ignore[no-untyped-call]
        assert message in str(refusal.value)


def test_progress_tells_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def waiting(what: Any) -> Any:  # noqa: ANN401
        from contextlib import contextmanager  # noqa: PLC0415

        @contextmanager
        def told_at_the_end() -> Iterator[None]:
            yield
            told.append(what())

        return told_at_the_end()

    monkeypatch.setattr("solvers.chunks.waiting", waiting)
    chunks = Chunks.arrays(*drawn(1100), rows=100).checked()
    chunks.total(lambda block: block[0].sum(axis=0))
    assert told == ["checking, 1,100 records", "summing, 1,100 of 1,100 records"]


# Dask


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of dask and distributed
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("method", ["gradient", "objective"])
def test_dask_collections_are_summed_on_the_cluster(
    method: str,
    kind: str,
    client: Any,  # noqa: ANN401, ARG001  # it is there
) -> None:
    features, y = drawn(100)
    whole = logistic(method=method, records=100).fit(features, y)
    parts = logistic(method=method, records=100).fit(collected(kind, features, y))
    assert parts.coef_ == pytest.approx(whole.coef_, rel=1e-5 if method == "objective" else 0.0)
    with pytest.raises(InvalidParameter, match="every label in y must be one of: 0, 1"):
        logistic(method=method).fit(collected(kind, features, y + 5))


def collected(kind: str, features: NDArray[Any], y: NDArray[Any]) -> Chunks:
    if kind == "array":
        arrays = pytest.importorskip("dask.array")
        return Chunks.dask(
            arrays.from_array(features, chunks=(35, 2)), arrays.from_array(y, chunks=35)
        )
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pandas.DataFrame(features, columns=["a", "b", "c"]).assign(y=y)
    return Chunks.dask(frames.from_pandas(table, npartitions=3), target="y")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_is_made_up_for(client: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """A worker is killed while it sums; the others do its part, and the numbers are the same."""
    arrays = pytest.importorskip("dask.array")
    features, y = drawn(100)
    whole = logistic(records=100, method="gradient").fit(features, y)
    marked = arrays.from_array(features, chunks=(25, 3)).map_blocks(
        _dies_once, mark=str(tmp_path / "lost"), dtype=np.float64
    )
    chunks = Chunks.dask(marked, arrays.from_array(y, chunks=25))
    before = set(client.scheduler_info()["workers"])
    parts = logistic(records=100, method="gradient").fit(chunks)
    assert (parts.coef_ == whole.coef_).all()
    assert set(client.scheduler_info()["workers"]) != before


def _dies_once(block: NDArray[Any], mark: str) -> NDArray[Any]:
    """The first worker that comes here is gone, as if its machine were."""
    if len(block) > 1:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return block
        os._exit(1)
    return block


def test_without_a_cluster_dask_computes_here() -> None:
    arrays = pytest.importorskip("dask.array")
    features, y = drawn(60)
    chunks = Chunks.dask(
        arrays.from_array(features, chunks=(30, 3)), arrays.from_array(y, chunks=30)
    )
    parts = logistic(records=100).fit(chunks)
    assert (parts.coef_ == logistic(records=100).fit(features, y).coef_).all()
    with pytest.raises(InvalidParameter, match="cut alike"):
        Chunks.dask(arrays.from_array(features, chunks=(30, 3)), arrays.from_array(y, chunks=20))


def test_classifiers_of_other_losses_take_chunks() -> None:
    features, y = drawn(100)
    given: dict[str, Any] = {
        "loss": "hinge", "budget": APPROX, "norm_bound": 1.0, "relation": "add-remove",
        "classes": (0, 1), "records": 100, "method": "gradient", "random_state": 0,
    }  # fmt: skip
    whole = PrivateClassifier(**given).fit(features, y)
    assert (
        PrivateClassifier(**given).fit(Chunks.arrays(features, y, rows=9)).coef_ == whole.coef_
    ).all()
