"""Samplers that are what they are said to be stand, and those that are not are refuted."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import dpverify as dpv
from dpverify.auditing.batches import (
    _SHARING,
    _Batches,
    _chernoff,
    _disjointness,
    _halves,
    _overlaps,
    _preference,
)

Rng = np.random.Generator
N, B, T = 300, 15, 20
NOISE = dpv.Gaussian(1.0)


def poisson(rng: Rng, rate: float = B / N) -> Any:  # noqa: ANN401
    return np.flatnonzero(rng.random(N) < rate)


def fixed(rng: Rng) -> Any:  # noqa: ANN401
    return rng.choice(N, B, replace=False)


def replaced(rng: Rng) -> Any:  # noqa: ANN401
    return rng.integers(0, N, B)


def epochs(rng: Rng, cut: Callable[[Rng], list[Any]]) -> Iterator[Any]:
    while True:
        yield from cut(rng)


def shuffled(rng: Rng) -> list[Any]:
    return np.split(rng.permutation(N), T)


def allocated(rng: Rng, selected: int = 1) -> list[Any]:
    where = np.argsort(rng.random((N, T)), axis=1)[:, :selected]
    return [np.flatnonzero((where == step).any(axis=1)) for step in range(T)]


def truncated(rng: Rng) -> Any:  # noqa: ANN401
    batch = poisson(rng)
    return batch if batch.size <= 18 else rng.choice(batch, 18, replace=False)


def single(draw: Callable[[Rng], Any]) -> Callable[[Rng], Iterator[Any]]:
    return lambda rng: (draw(rng) for _ in itertools.count())


WAYS: dict[str, tuple[Any, Callable[[Rng], Iterator[Any]]]] = {
    "Poisson": (dpv.Subsampled(NOISE, rate=B / N), single(poisson)),
    "truncated": (dpv.Subsampled(NOISE, rate=B / N, at_most=18, population=N), single(truncated)),
    "fixed": (dpv.SubsampledWithoutReplacement(NOISE, batch=B, population=N), single(fixed)),
    "replaced": (dpv.SubsampledWithReplacement(NOISE, batch=B, population=N), single(replaced)),
    "shuffled": (dpv.Shuffled(NOISE, batches=T), lambda rng: epochs(rng, shuffled)),
    "allocated": (dpv.RandomAllocation(NOISE, steps=T), lambda rng: epochs(rng, allocated)),
    "two of": (
        dpv.RandomAllocation(NOISE, steps=T, selected=2),
        lambda rng: epochs(rng, lambda r: allocated(r, 2)),
    ),
}


def judged(claimed: Any, drawn: Any, **options: Any) -> dpv.BatchVerdict:  # noqa: ANN401
    return dpv.audit_batches(drawn, claimed=claimed, records=N, **({"steps": 200} | options))


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("way", WAYS)
def test_what_is_drawn_as_claimed_is_refuted_no_more_than_the_level(way: str) -> None:
    claimed, draw = WAYS[way]
    refuted = sum(
        judged(claimed, draw(np.random.default_rng([i, 7])), steps=45, level=0.2).refuted
        for i in range(25)
    )
    assert refuted <= binom.isf(1e-9, 25, 0.2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("other", WAYS)
def test_what_is_drawn_otherwise_is_refuted(way: str, other: str) -> None:
    if way != other:
        claimed, draw = WAYS[way][0], WAYS[other][1]
        assert judged(claimed, draw(np.random.default_rng(3)), steps=400).refuted


def weighted(rng: Rng) -> Any:  # noqa: ANN401
    weights = np.where(np.arange(N) < N // 3, 2.0, 1.0)
    return np.flatnonzero(rng.random(N) < B / N * weights / weights.mean())


def in_order(_: Rng) -> list[Any]:
    return np.split(np.arange(N), T)


class Loader:
    """As PyTorch's: a dataset, and a sampler of batches that begins anew."""

    def __init__(self, draw: Callable[[Rng], list[Any]], rng: Rng) -> None:
        self.dataset = range(N)
        self.batch_sampler = self
        self._draw, self._rng = draw, rng

    def __iter__(self) -> Iterator[Any]:
        return iter(self._draw(self._rng))


def one_shuffle() -> Callable[[Rng], list[Any]]:
    kept = shuffled(np.random.default_rng(9))
    return lambda _: kept


@pytest.mark.parametrize(
    ("claimed", "draw", "told", "looks"),
    [
        ("Poisson", shuffled, "share no record", "shuffled epochs of 20 batches"),
        ("Poisson", lambda r: [weighted(r) for _ in range(T)], "first half drew often", "often"),
        ("shuffled", in_order, "low indices", "without a shuffle"),
        ("shuffled", one_shuffle(), "with that of the next", "shuffled epochs"),
        ("fixed", lambda r: [replaced(r) for _ in range(T)], "a record twice", "with replacement"),
        ("Poisson", lambda r: [poisson(r, 0.1) for _ in range(T)], "expected", "about 0.09"),
    ],
)
def test_mismatches_of_real_training_code_are_named(
    claimed: str, draw: Callable[[Rng], list[Any]], told: str, looks: str
) -> None:
    loader = Loader(draw, np.random.default_rng(1))
    found = dpv.audit_batches(loader, claimed=WAYS[claimed][0], epochs=20)
    assert found.refuted
    assert told in "\n".join(str(found).splitlines()[1:-1])
    assert looks in found.looks_like
    assert found.batches == 400
    assert found.records == N


@pytest.mark.parametrize("way", ["Poisson", "fixed", "replaced", "shuffled", "allocated"])
def test_the_likeness_names_what_accounts_for_it(way: str) -> None:
    claimed, draw = WAYS[way]
    found = judged(claimed, draw(np.random.default_rng(2)))
    assert not found.refuted
    assert found.account_with.startswith(type(claimed).__name__)


def test_a_shuffle_may_leave_out_the_rest_of_an_epoch() -> None:
    def dropping(rng: Rng) -> list[Any]:
        return np.split(rng.permutation(N)[: 18 * 16], 18)

    found = judged(dpv.Shuffled(NOISE, batches=18), epochs(np.random.default_rng(0), dropping))
    assert not found.refuted
    assert found.looks_like == "shuffled epochs of 18 batches, with 12 records left out"


@pytest.mark.parametrize("records", [303, 299, 11])
def test_a_shuffle_may_be_split_evenly(records: int) -> None:
    """Seven batches of 44, 44, 43, … records are a shuffle, too."""
    rng = np.random.default_rng(0)
    drawn = [batch for _ in range(9) for batch in np.array_split(rng.permutation(records), 7)]
    claimed = dpv.Shuffled(NOISE, batches=7)
    assert not dpv.audit_batches(drawn, claimed=claimed, records=records).refuted


def test_a_loader_without_batches_of_indices_is_refused() -> None:
    loader = Loader(shuffled, np.random.default_rng(1))
    loader.batch_sampler = None  # type: ignore[assignment]  # as PyTorch has it
    with pytest.raises(dpv.InvalidParameter, match="gives records, not their indices"):
        dpv.audit_batches(loader, claimed=WAYS["Poisson"][0])


def test_opacus_loaders_are_poisson_at_the_rate_that_opacus_accounts_for() -> None:
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    data = torch.utils.data.TensorDataset(torch.zeros(N))
    plain = torch.utils.data.DataLoader(data, batch_size=B)
    generator = torch.Generator().manual_seed(5)
    loader = opacus.data_loader.DPDataLoader.from_data_loader(plain, generator=generator)
    claimed = dpv.Subsampled(NOISE, rate=1 / len(plain))
    found = dpv.audit_batches(loader, claimed=claimed, epochs=10)
    assert not found.refuted
    assert "Poisson" in found.looks_like


# Each law that a test rests on, by enumeration.


def subsets(n: int, size: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(n), size))


def test_disjoint_beginnings_by_enumeration() -> None:
    sizes = (2, 1, 2)
    every = list(itertools.product(*(subsets(5, size) for size in sizes)))
    runs = [_Batches([np.array(row) for row in rows], 5) for rows in every]
    counts = np.array([seen.disjoint for seen in runs])
    for seen in runs[::7]:
        as_long = float(np.mean(counts >= seen.disjoint))
        assert _disjointness(seen).p_value == pytest.approx(as_long, rel=1e-9)


def test_overlaps_are_independent_of_each_other() -> None:
    """Exactly: the law of two successive overlaps is the product of their laws."""
    every = list(itertools.product(subsets(5, 2), subsets(5, 3), subsets(5, 2)))
    seen = [(len({*a} & {*b}), len({*b} & {*c})) for a, b, c in every]
    for one, other in itertools.product(range(3), range(3)):
        both = Fraction(seen.count((one, other)), len(seen))
        alone = Fraction(sum(s[0] == one for s in seen), len(seen))
        assert both == alone * Fraction(sum(s[1] == other for s in seen), len(seen))
        assert float(alone) == pytest.approx(hypergeom.pmf(one, 5, 2, 3))


@pytest.mark.parametrize("total", [0, 1, 2, 5, 6])
def test_evenness_by_enumeration(total: int) -> None:
    laws = [(hypergeom, (12, 6, total)), (binom, (total, 0.5))]
    for law, parameters in laws:
        chances = {k: law.pmf(k, *parameters) for k in range(total + 1)}
        for least in range(total // 2 + 1):
            if chances[least] == 0.0:
                continue
            even, uneven = _halves(least, law, *parameters)
            smaller = {k: min(k, total - k) for k in chances}
            assert even == pytest.approx(sum(p for k, p in chances.items() if smaller[k] >= least))
            assert uneven == pytest.approx(
                sum(p for k, p in chances.items() if smaller[k] <= least)
            )


@pytest.mark.parametrize(("number", "mean"), [(1, 0.5), (4, 0.25), (9, 0.9)])
def test_chernoff_is_above_both_tails(number: int, mean: float) -> None:
    for hits in range(number + 1):
        found = hits / number
        low, high = binom.cdf(hits, number, mean), binom.sf(hits - 1, number, mean)
        assert _chernoff(found, mean, number) >= min(1.0, low, high)


def test_p_values_of_overlaps_and_preferences_are_p_values() -> None:
    """P(p ≤ u) ≤ u, exactly, over all batches of small sizes."""
    every = list(itertools.product(*(subsets(4, size) for size in (2, 1, 2))))
    runs = [_Batches([np.array(row) for row in rows], 4) for rows in every]
    for which in (0, 1):
        found = [list(_overlaps(seen, [0, 1, 2], _SHARING))[which].p_value for seen in runs]
        for u in found:
            assert np.mean(np.array(found) <= u * (1 + 1e-9)) <= u * (1 + 1e-9)
    found = [_preference(seen).p_value for seen in runs]
    for u in found:
        assert np.mean(np.array(found) <= u) <= u * (1 + 1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"claimed": dpv.Gaussian(1.0)}, "must be what the accounting composes"),
        ({"claimed": 0.01}, "claimed=0.01 must"),
        ({"records": 0}, "records=0 must"),
        ({"records": None}, "records=None must be a number"),
        ({"epochs": 0}, "epochs=0 must"),
        ({"steps": 0}, "steps=0 must"),
        ({"steps": 1}, "must be 2 at least"),
        ({"level": 0.0}, "level=0.0 must"),
        ({"batches": [[0.5, 1.0], [1.0]]}, "must hold whole numbers from 0 to 299"),
        ({"batches": [[0, 300], [1]]}, "must hold whole numbers"),
        ({"batches": [[-1], [1]]}, "must hold whole numbers"),
        ({"batches": [["a"], ["b"]]}, "must hold whole numbers"),
        ({"batches": [3, 4]}, "must hold whole numbers"),
        ({"batches": [[[1, 2]], [[3, 4]]]}, "must hold whole numbers"),
        ({"batches": []}, "got 0"),
        ({"batches": 5}, "batches=5 must be batches"),
        ({"batches": None}, "batches=None must be batches"),
        ({"records": 299, "batches": [[0], [1]]}, "must be the number of records"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    claimed = dpv.SubsampledWithoutReplacement(NOISE, batch=B, population=N)
    given: dict[str, Any] = {"batches": [[0], [1], [2]], "claimed": claimed, "records": N}
    given |= changes
    with pytest.raises(dpv.InvalidParameter, match=message) as caught:
        dpv.audit_batches(given.pop("batches"), **given)
    assert "\n" not in str(caught.value)


def test_empty_batches_and_endless_samplers_are_fine() -> None:
    seldom = dpv.Subsampled(NOISE, rate=0.001)
    endless = single(lambda rng: poisson(rng, 0.001))(np.random.default_rng(0))
    assert not judged(seldom, endless, steps=500).refuted


def test_torch_loaders_are_read_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.zeros(N))
    loader = torch.utils.data.DataLoader(data, batch_size=B, shuffle=True)
    found = dpv.audit_batches(loader, claimed=WAYS["Poisson"][0], epochs=3)
    assert found.refuted
    assert found.looks_like == "shuffled epochs of 20 batches"
    weights = torch.where(torch.arange(N) < N // 3, 3.0, 1.0)
    drawn = torch.utils.data.WeightedRandomSampler(weights, N)
    found = dpv.audit_batches(
        torch.utils.data.DataLoader(data, batch_size=B, sampler=drawn),
        claimed=WAYS["shuffled"][0],
        epochs=10,
    )
    assert found.refuted
    assert "more often than others" in found.looks_like


def test_math_is_not_nan() -> None:
    found = judged(WAYS["replaced"][0], single(replaced)(np.random.default_rng(5)))
    assert all(math.isfinite(test.p_value) for test in found.tests)
