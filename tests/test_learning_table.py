"""The table of private learners: standardized by public numbers, resumed where it stopped."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "peers"))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("learning")


def filled(learning: ModuleType, path: Path, scores: dict[str, list[float]]) -> tuple[object, str]:
    """Results on one cell, and their verdict."""
    results, cell = learning.Results(path), learning.Cell("wine", pure=False, epsilon=1.0)
    for tool, values in scores.items():
        for seed, score in enumerate(values):
            results.add(cell, tool, seed, score)
    return results, learning.verdict(results, cell)


@pytest.mark.parametrize(
    ("ours", "opacus", "told"),
    [
        ([0.9, 0.9], [0.8, 0.8], "first"),
        # 88 ± 2 against 89, and against 91
        ([0.86, 0.9], [0.89, 0.89], "within a standard error of Opacus"),
        ([0.86, 0.9], [0.91, 0.91], "Opacus first by 3.0"),
    ],
)
def test_verdicts_by_hand(
    ours: list[float], opacus: list[float], told: str, learning: ModuleType, tmp_path: Path
) -> None:
    optimistic = {"Opacus, rate 16": [0.99, 0.99]}
    scores = {"dpverify": ours, "Opacus": opacus} | optimistic
    assert filled(learning, tmp_path / "found.jsonl", scores)[1] == told


def test_a_run_goes_on_where_it_stopped(learning: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    filled(learning, path, {"dpverify": [0.5]})
    cell, again = learning.Cell("wine", pure=False, epsilon=1.0), learning.Results(path)
    assert again.missing(cell, "dpverify", range(3)) == [1, 2]
    data = learning.learning_data.wine()
    assert not learning.fill(again, data, lambda tool: tool == "dpverify", learning.Plan(until=0.0))
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize("name", ["breast", "digits", "wine", "diabetes"])
def test_rows_are_within_the_bound_and_encoded_alone(name: str, learning: ModuleType) -> None:
    data = learning.learning_data.load(name, Path("none"))
    assert np.linalg.norm(data.rows, axis=1).max() <= 1.0 + 1e-12
    assert np.abs(data.targets).max() <= max(1, data.classes - 1)
    assert sorted(data.split(1)) == list(range(len(data.targets)))


def test_a_fit_is_scored_on_what_it_has_not_seen(learning: ModuleType) -> None:
    cell = learning.Cell("wine", pure=False, epsilon=4.0)
    data = learning.learning_data.wine()
    assert learning.ours(data, cell, learning.OURS, 0) > 0.8


@pytest.mark.false_alarm(1e-9)
def test_the_peer_of_least_squares_finds_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "peers"))
    peer = importlib.import_module("with_adassp")
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (100_000, 2))
    found = peer.fitted(peer.longer(rows), 0.5 * rows[:, 0] + 0.1, 10.0, 1e-5, rng)
    assert found == pytest.approx([0.5, 0.0, 0.4], abs=0.02)
