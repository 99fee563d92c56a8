"""Sparse vector: output probabilities by enumeration on coarse grids, and its draws."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import laplace

from dpverify.guarantees import PureDP
from dpverify.mechanisms import SparseVector
from dpverify.neighbors import Relation

Agree = Callable[[ArrayLike, ArrayLike, int], None]
Row = tuple[int, ...]
_REACH = 1500  # steps; beyond, the threshold's noise in these tests has probability below 1e-40


def rows(length: int, answers: int) -> list[Row]:
    """All outputs: zeros and ones up to the last one allowed, then −1."""
    result = []
    for row in product((0, 1, -1), repeat=length):
        ones = np.cumsum(np.equal(row, 1))
        before = np.concatenate([[0], ones[:-1]])
        if np.array_equal(np.equal(row, -1), before >= answers):
            result.append(row)
    return result


def steps_law(scale: float, steps: np.ndarray) -> np.ndarray:
    """P(K ≥ steps), K Laplace noise rounded to the nearest integer."""
    edge = (steps - 0.5) / scale
    return np.where(edge > 0, 0.5 * np.exp(-np.abs(edge)), 1.0 - 0.5 * np.exp(-np.abs(edge)))


def row_mass(mechanism: SparseVector, groups: list[tuple[float, int, int]]) -> float:
    """Σ_z P(ρ = z)·Π P(ν < T + z − a) or P(ν ≥ T + z − a), over groups of (a, output, how many)."""
    query = mechanism._noise(mechanism.query_scale, mechanism.grid_exponent)
    bar = mechanism._noise(mechanism.threshold_scale, mechanism.grid_exponent)
    threshold = int(query.grid.steps(np.array(mechanism.threshold)))
    z = np.arange(-_REACH, _REACH + 1)
    mass = steps_law(bar.scale_in_steps, z) - steps_law(bar.scale_in_steps, z + 1)
    for answer, value, count in groups:
        edge = threshold + z - int(query.grid.steps(np.array(answer)))
        above = steps_law(query.scale_in_steps, edge)
        if value >= 0:
            mass = mass * (above if value == 1 else 1.0 - above) ** count
    return float(mass.sum())


def law(mechanism: SparseVector, data: ArrayLike) -> dict[Row, float]:
    """The probabilities of all rows."""
    answers = np.asarray(data, dtype=float).tolist()
    return {
        row: row_mass(mechanism, [(a, v, 1) for a, v in zip(answers, row, strict=True)])
        for row in rows(len(answers), mechanism.answers)
    }


def pinned_loss(mechanism: SparseVector) -> float:
    """A million zeros pin the threshold high, then low answers reach it: the worst there is.

    On the neighbor the zeros' answers are higher by Δ, and the ones' lower by Δ, or unmoved if
    answers are monotone.
    """
    zeros, ones, fall = 10**6, mechanism.answers, 0.0 if mechanism.monotone else 1.0
    left = row_mass(mechanism, [(0.0, 0, zeros), (-41.0, 1, ones)])
    right = row_mass(mechanism, [(1.0, 0, zeros), (-41.0 - fall, 1, ones)])
    return math.log(left / right)


def largest_loss(mechanism: SparseVector, starts: list[tuple[float, ...]]) -> float:
    step = mechanism.sensitivity
    worst = 0.0
    for data in starts:
        left = law(mechanism, data)
        for move in product((-step, 0.0, step), repeat=len(data)):
            if mechanism.monotone and min(move) < 0 < max(move):
                continue
            right = law(mechanism, np.add(data, move))
            worst = max(worst, *(abs(math.log(left[row] / right[row])) for row in left))
    return worst


STARTS: list[tuple[float, ...]] = [
    (0.0, 0.0, 0.0),
    (-9.0, -9.0, 9.0),
    (30.0, -30.0, 30.0),
    (0.4, -0.3, 2.0),
]


def test_rows_by_hand() -> None:
    assert set(rows(2, 1)) == {(0, 0), (0, 1), (1, -1)}
    assert len(rows(3, 2)) == 7  # 8 rows, of which 110 and 111 become 11−


@pytest.mark.parametrize("moves", ["freely", "together"])
@pytest.mark.parametrize(
    ("answers", "split", "exponent"), [(1, None, 0), (2, None, 0), (2, 0.5, 1), (3, 0.1, -1)]
)
def test_epsilon_holds_for_the_exact_law(
    moves: str, answers: int, split: float | None, exponent: int
) -> None:
    """No row of any neighbor is off by more than ε = 1, and the worst by nearly that."""
    mechanism = SparseVector(
        epsilon=1.0,
        threshold=1.3,
        answers=answers,
        split=split,
        monotone=moves == "together",
        grid_exponent=exponent,
    )
    assert sum(law(mechanism, STARTS[3]).values()) == pytest.approx(1.0, rel=1e-12)
    assert largest_loss(mechanism, STARTS) <= 1.0 + 1e-10
    assert 0.99 < pinned_loss(mechanism) <= 1.0 + 1e-10


def test_noise_for_one_answer_does_not_pay_for_three() -> None:
    """The enumeration sees the classical mistake: query noise that forgets c."""
    wrong = SparseVector(epsilon=1.0, threshold=0.0, answers=3, split=0.2, grid_exponent=0)
    too_little = SparseVector(epsilon=1.0, threshold=0.0, answers=1, split=0.2, grid_exponent=0)

    class Forgetful:
        """All of `wrong`, with the query noise of `too_little`."""

        query_scale = too_little.query_scale

        def __getattr__(self, name: str) -> object:
            return getattr(wrong, name)

    assert pinned_loss(wrong) <= 1.0 + 1e-10
    assert pinned_loss(Forgetful()) > 2.5  # type: ignore[arg-type]  # stands in for one


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("answers", [1, 2])
def test_draws_have_the_exact_law(answers: int, rng: np.random.Generator, agree: Agree) -> None:
    total = 200_000
    mechanism = SparseVector(epsilon=2.0, threshold=1.0, answers=answers, grid_exponent=0)
    data = [0.0, 2.0, 1.0]
    draws = mechanism.sample(data, total, rng=rng)
    assert draws.dtype == np.int8
    exact = law(mechanism, data)
    counts = [np.count_nonzero((draws == row).all(axis=1)) for row in exact]
    assert sum(counts) == total
    agree(counts, list(exact.values()), total)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_one_query_against_the_continuous_law(
    arithmetic: str, rng: np.random.Generator, agree: Agree
) -> None:
    """P(noise of scale a < noise of scale b + gap), by integration; the grid moves it by 1e-6."""
    total, gap = 300_000, 1.5
    mechanism = SparseVector(epsilon=2.0, threshold=4.0, split=0.5, arithmetic=arithmetic)  # type: ignore[arg-type]
    assert (float(mechanism.threshold_scale), float(mechanism.query_scale)) == (1.0, 2.0)
    nodes = np.linspace(-60.0, 60.0, 400_001)
    masses = np.diff(laplace.cdf(nodes, scale=1.0))
    reached = float(masses @ laplace.sf((nodes[1:] + nodes[:-1]) / 2 + gap, scale=2.0))
    draws = mechanism.sample([4.0 - gap], total, rng=rng)
    agree(np.bincount(draws[:, 0], minlength=2), [1.0 - reached, reached], total)


def test_the_default_split_makes_the_comparison_sharpest() -> None:
    def variance(split: float | None, *, monotone: bool) -> float:
        mechanism = SparseVector(
            epsilon=1.0, threshold=0.0, answers=4, split=split, monotone=monotone
        )
        return float(mechanism.threshold_scale**2 + mechanism.query_scale**2)

    for monotone in (False, True):
        best = variance(None, monotone=monotone)
        assert all(best <= variance(s, monotone=monotone) for s in np.linspace(0.01, 0.99, 99))


def test_claim_and_scales() -> None:
    mechanism = SparseVector(epsilon=1.0, threshold=0.0, sensitivity=2.0, answers=3, split=0.25)
    assert (float(mechanism.threshold_scale), float(mechanism.query_scale)) == (8.0, 16.0)
    monotone = SparseVector(
        epsilon=1.0, threshold=0.0, sensitivity=2.0, answers=3, split=0.25, monotone=True
    )
    assert monotone.query_scale == 8
    assert mechanism.claim.guarantee == PureDP(epsilon=1.0)
    assert mechanism.claim.theorem.name == "sparse-vector"
    assert mechanism.pair(Relation.ADD_REMOVE).max_loss == 1.0
    real = SparseVector(epsilon=1.0, threshold=0.0, arithmetic="real")
    assert real.claim.assumes == ("real arithmetic",)


def test_rows_stop_after_the_last_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SparseVector(epsilon=1.0, threshold=0.0, answers=2)
    data = np.linspace(-5.0, 5.0, 20)
    draws = mechanism.sample(data, 300, rng=np.random.default_rng(6))
    assert draws.shape == (300, 20)
    assert (np.count_nonzero(draws == 1, axis=1) <= 2).all()
    allowed = set(rows(6, 2))
    assert {
        tuple(row) for row in mechanism.sample(data[:6], 300, rng=np.random.default_rng(6))
    } <= (allowed)
    assert (draws == mechanism.sample(data, 300, rng=np.random.default_rng(6))).all()
    monkeypatch.setattr(
        "dpverify.mechanisms.selection.sparse_vector._BLOCK", 50
    )  # two rows at a time
    assert mechanism.sample(data, 7, rng=np.random.default_rng(6)).shape == (7, 20)
