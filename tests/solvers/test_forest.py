"""Private forests: how far a record moves counts, claims under audit, batches, and sense."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.arrays import Array, Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import (
    Chunks,
    LeafCounts,
    PrivateForest,
    PrivateGridSearch,
    PrivateNaiveBayes,
    RandomTrees,
)
from solvers.privacy.weights import WEIGHTS_BELONG
from tests.solvers.adversaries import HalfTheNoise, farthest, spent
from tests.solvers.scikit_learn import DECLARED_LABELS, NO_WEIGHT

PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)


def squares(n: int = 3000) -> tuple[Floats, Array]:
    """A checkerboard, which no linear model can learn."""
    rows = np.random.default_rng(0).uniform(0.0, 10.0, (n, 2))
    return rows, np.where((rows[:, 0] > 5.0) == (rows[:, 1] > 5.0), "a", "b")


def model(**changes: object) -> PrivateForest:
    given: dict[str, Any] = {
        "budget": PURE, "low": 0.0, "high": 10.0, "classes": ("a", "b"), "relation": "add-remove",
        "random_state": 0,
    }  # fmt: skip
    return PrivateForest(**given | changes)


def counts(budget: Any, relation: Relation, d: int = 1, trees: int = 3) -> LeafCounts:  # noqa: ANN401
    drawn = RandomTrees.drawn(trees=trees, depth=2, dimension=d, rng=np.random.default_rng(1))
    return LeafCounts(trees=drawn, classes=2, budget=budget, relation=relation)


# the trees


def test_leaves_by_hand() -> None:
    """A tree that asks for feature 0 at the root, then for 1 on the left and 0 on the right."""
    trees = RandomTrees(np.array([[0, 1, 0]]), np.array([[0.0, 0.5, 0.75]]))
    rows = np.array([[-1.0, 0.5], [0.0, 0.6], [0.1, 0.0], [0.75, 0.0], [0.8, 0.0]])
    assert trees.leaves(rows).tolist() == [[0, 1, 2, 2, 3]]


def test_no_leaf_of_drawn_trees_is_empty_of_space() -> None:
    trees = RandomTrees.drawn(trees=5, depth=4, dimension=2, rng=np.random.default_rng(0))
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (20_000, 2))
    for leaves in trees.leaves(rows):
        assert len(np.unique(leaves)) == 16


# the release


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_adversary_comes_close_to_the_budget_and_never_beyond(
    budget: Any,  # noqa: ANN401
    relation: Relation,
    d: int,
) -> None:
    mechanism = counts(budget, relation, d)
    replaced = relation is Relation.REPLACE_ONE
    noise = mechanism.noise_for(24)

    def part(numbers: Floats) -> tuple[Floats, Any, Floats]:
        rows = numbers.reshape(-1, d + 2)
        weights = np.clip(np.abs(3.0 * rows[:, 1]), 0.0, 1.0)
        return np.tanh(rows[:, 2:]), (rows[:, 0] > 0.0).astype(np.int64), weights

    def moved(numbers: Floats) -> tuple[Any, int]:
        left, exponent = mechanism.sums(part(numbers[: d + 2]))
        return left - mechanism.sums(part(numbers[d + 2 :]))[0], exponent

    reached = farthest(moved, noise, (d + 2) * (2 if replaced else 1), starts=8)
    assert 0.99 <= spent(noise, reached, budget) <= 1.0


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_an_honest_release_is_not_refuted(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    mechanism = counts(budget, relation, trees=2)
    left = np.array([[0.9], [-0.9]]), np.array([0, 1])
    right = np.array([[-0.9], [-0.9]]), np.array([1, 1])
    if relation is Relation.ADD_REMOVE:
        right = right[0][1:], right[1][1:]
    verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, samples=8_000, seed=0)
    assert not verdict.refuted
    assert 0.05 < verdict.epsilon_lower <= 1.0


def test_half_the_noise_is_refuted() -> None:
    left = np.array([[0.9], [-0.9]]), np.array([0, 1])
    right = np.array([[-0.9]]), np.array([1])
    half = HalfTheNoise(counts(PURE, Relation.ADD_REMOVE, trees=1))
    assert dpv.audit(half, left=left, right=right, level=1e-9, samples=30_000, seed=0).refuted


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([[0.5]], np.array([0, 1])), "one class, and one weight, for each row"),
        (([[0.5]], np.array([2])), "classes of records must be 0 to 1"),
        (([[0.5]], np.array([1]), np.array([1.5])), "data must have weights in"),
        (([[np.nan]], np.array([1])), "finite"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        counts(PURE, Relation.ADD_REMOVE).sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


# the estimator


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, ApproxDP(epsilon=1.0, delta=1e-6)])
def test_it_learns_what_no_line_separates(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    rows, y = squares()
    fitted = clone(model(budget=budget, relation=relation)).fit(rows, y)
    assert fitted.score(rows, y) > 0.8
    shares = fitted.predict_proba(rows)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (fitted.classes_[shares.argmax(axis=1)] == fitted.predict(rows)).all()
    assert np.log(shares) == pytest.approx(fitted.predict_log_proba(rows))
    assert (fitted.claim_.guarantee, fitted.claim_.relation) == (budget, relation)


def test_a_row_is_judged_by_itself_to_the_last_bit() -> None:
    rows = np.asfortranarray(np.random.default_rng(0).uniform(0.0, 10.0, (60, 37)))
    fitted = model().fit(rows, squares(60)[1])
    assert (fitted.predict_log_proba(rows[:7]) == fitted.predict_log_proba(rows)[:7]).all()


def test_weights_are_repetitions() -> None:
    rows, y = squares(300)
    weights = np.random.default_rng(0).integers(0, 5, 300)
    weighted = model(weight_bound=4.0).fit(rows, y, sample_weight=weights)
    repeated = model(weight_bound=4.0).fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    assert (weighted.counts_ == repeated.counts_).all()  # quarters are exact


def test_a_search_takes_it() -> None:
    rows, y = squares()
    search = PrivateGridSearch(
        model(budget=PureDP(epsilon=6.0), random_state=None), {"max_depth": [1, 4]}, random_state=0
    )
    assert search.fit(rows, y).score(rows, y) > 0.7
    assert search.claim_.guarantee == PureDP(epsilon=6.0)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e12, 1e150])
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_any_records_within_the_bounds_will_do(n: int, size: float, budget: Any) -> None:  # noqa: ANN401
    fitted = model(budget=budget, low=-size, high=size).fit(np.full((n, 2), size), ["a"] * n)
    assert np.isfinite(fitted.predict_log_proba(np.full((2, 2), -size))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": None}, "classes=None must be declared"),
        ({"classes": ("a", "c")}, "every label in y must be one of: a, c"),
        ({"low": None}, "low=None and high=10.0 must be declared"),
        ({"high": 5.0}, "every value of X must lie between low and high"),
        ({"n_estimators": 0}, "n_estimators=0 must be"),
        ({"max_depth": 0}, "max_depth=0 must be"),
        ({"max_depth": 40}, "max_depth=40 must be at most 16"),
        ({"budget": None}, "budget=None must be declared"),
        ({"weight_bound": 0.5}, "weight_bound=0.5 must be at least 1 without sample_weight"),
    ],
)
def test_misuse(change: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter) as refusal:
        model(**change).fit(*squares(100))
    assert message in str(refusal.value)


# batches: parallel composition


def batched(kind: type[Any], **changes: object) -> Any:  # noqa: ANN401
    given: dict[str, Any] = {
        "budget": PURE, "low": 0.0, "high": 10.0, "classes": ("a", "b"), "relation": "add-remove",
        "random_state": np.random.default_rng(0),
    }  # fmt: skip
    return kind(**given | changes)


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
def test_batches_cost_what_one_costs_and_their_claim_says_why(kind: type[Any]) -> None:
    rows, y = squares(4000)
    fitted = batched(kind)
    for part in np.split(np.arange(4000), 4):
        fitted.partial_fit(rows[part], y[part], classes=("a", "b"))
    assert fitted.claim_.theorem.name == "parallel-composition"
    assert fitted.claim_.guarantee == PURE
    assert fitted.claim_.assumes[0].startswith("each record is in one batch only")
    assert batched(kind).fit(rows, y).claim_.theorem.name == "laplace"
    if kind is PrivateForest:
        assert fitted.score(rows, y) > 0.8
    else:
        whole = batched(kind, budget=PureDP(epsilon=50.0)).fit(rows, y)
        assert fitted.theta_ == pytest.approx(whole.theta_, abs=0.3)


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
def test_a_batch_adds_its_own_exact_sums_and_noise(kind: type[Any]) -> None:
    """Hardly any noise: two batches have the sums of both together."""
    rows, y = squares(400)
    many = batched(kind, budget=PureDP(epsilon=1e6))
    many.partial_fit(rows[:100], y[:100]).partial_fit(rows[100:], y[100:])
    whole = batched(kind, budget=PureDP(epsilon=1e6)).fit(rows, y)
    name = "counts_" if kind is PrivateForest else "theta_"
    assert getattr(many, name) == pytest.approx(getattr(whole, name), abs=0.01)


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
@pytest.mark.parametrize("seed", [0, np.random.SeedSequence(3), np.random.RandomState(5)])
def test_a_seed_draws_other_noise_for_every_batch(kind: type[Any], seed: Any) -> None:  # noqa: ANN401
    """Equal batches with equal noise would add equal releases: their difference tells the data."""
    rows, y = squares(50)
    name = "counts_" if kind is PrivateForest else "_moments"
    fitted = batched(kind, random_state=seed).fit(rows, y)
    totals = [getattr(fitted, name)]
    totals += [getattr(fitted.partial_fit(rows, y), name) for _ in range(3)]
    released = [totals[0], *(after - before for before, after in pairwise(totals))]
    for one, other in combinations(released, 2):
        assert (np.abs(one - other) > 1e-3).mean() > 0.9


@pytest.mark.sampled(2)
@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("where", [0, 1])
def test_a_record_in_either_batch_costs_no_more_than_declared(where: int) -> None:
    """Both releases of two batches, for a record more in the first or in the second."""
    one = counts(PURE, Relation.ADD_REMOVE, trees=1)

    class Both:
        claim = one.claim

        def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Floats:  # noqa: ANN401
            return np.hstack([one.sample(batch, size, rng=rng) for batch in data])

    batch = np.array([[-0.9]]), np.array([1])
    more = np.array([[-0.9], [0.9]]), np.array([1, 0])
    left = [more, batch] if where == 0 else [batch, more]
    verdict = dpv.audit(Both(), left=left, right=[batch, batch], level=1e-9, samples=8_000, seed=0)
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.3


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
def test_batches_that_do_not_fit_are_refused(kind: type[Any]) -> None:
    rows, y = squares(50)
    fitted = batched(kind).partial_fit(rows, y)
    with pytest.raises(InvalidParameter, match="must be those of the model"):
        fitted.partial_fit(rows, y, classes=("a", "c"))
    with pytest.raises(ValueError, match="3 features"):
        fitted.partial_fit(np.zeros((5, 3)), y[:5])
    with pytest.raises(InvalidParameter, match=r"must be those of the batches before: PureDP"):
        fitted.set_params(budget=PureDP(epsilon=2.0)).partial_fit(rows, y)


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classes": ("a", "b", "c")}, r"classes=\('a', 'b', 'c'\) must be those of the batches"),
        ({"classes": ("b", "c")}, r"must be those of the batches before: \['a', 'b'\]"),
        ({"low": -1.0}, r"low=-1\.0 and high=10\.0 must be those of the batches before"),
    ],
)
def test_batches_of_another_frame_are_refused_before_noise_is_drawn(
    kind: type[Any], change: dict[str, Any], words: str
) -> None:
    rows, y = squares(50)
    rng = np.random.default_rng(0)
    fitted = batched(kind, random_state=rng).partial_fit(rows, y)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        fitted.set_params(**change).partial_fit(rows, y)
    assert rng.bit_generator.state == before
    fitted.fit(rows, np.where(y == "a", "b", y))  # from the beginning, whatever there was


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
def test_what_one_batch_assumes_all_assume(kind: type[Any]) -> None:
    rows, y = squares(50)
    fitted = batched(kind, weight_bound=2.0).partial_fit(rows, y, sample_weight=np.ones(50))
    fitted.partial_fit(rows, y)
    assert WEIGHTS_BELONG in fitted.claim_.assumes
    assert len(set(fitted.claim_.assumes)) == len(fitted.claim_.assumes)
    other = batched(kind).fit(rows, y).partial_fit(rows, y)
    assert WEIGHTS_BELONG not in other.claim_.assumes
    for model, bound in ((fitted, None), (other, 2.0)):
        with pytest.raises(InvalidParameter, match="must be that of the batches before"):
            model.set_params(weight_bound=bound).partial_fit(rows, y)


class Failing:
    """Data that can be read once, and not again."""

    def __init__(self, rows: Any) -> None:  # noqa: ANN401
        self.rows, self.passes = rows, 0
        self.shape, self.ndim = rows.shape, 2

    def __getitem__(self, part: slice) -> Any:  # noqa: ANN401
        if part.start == 0:
            self.passes += 1
        if self.passes > 1:
            raise OSError("gone")
        return self.rows[part]


@pytest.mark.parametrize("kind", [PrivateForest, PrivateNaiveBayes])
@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_a_fit_that_fails_leaves_the_model_as_it_was(kind: type[Any], way: str) -> None:
    rows, y = squares(50)
    fitted = batched(kind, random_state=3).fit(rows, y)
    before = dict(vars(fitted))
    wide = rows if way == "partial_fit" else np.hstack([rows, rows])
    with pytest.raises(OSError, match="gone"):
        getattr(fitted, way)(Chunks.arrays(Failing(wide), y))
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is before[name] for name in before)
    again = batched(kind, random_state=3).fit(rows, y)
    with pytest.raises(OSError, match="gone"):
        again.partial_fit(Chunks.arrays(Failing(rows), y))
    one, other = (each.partial_fit(rows, y).predict_proba(rows) for each in (fitted, again))
    assert (one == other).all()


@pytest.mark.sampled(2)
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        PrivateForest(
            budget=PureDP(epsilon=1e4), low=-4.0, high=4.0, clip=True, max_depth=8,
            classes=(0, 1, 2), relation="replace-one", weight_bound=8.0, random_state=0,
        )
    ],
    expected_failed_checks=lambda _: NO_WEIGHT | DECLARED_LABELS,
)  # fmt: skip
def test_laws_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
