"""The accuracy benchmark: its encoding looks at one record at a time, and it runs without peers."""

import gzip
import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
HEADER = "age,workclass,fnlwgt,education-num,capital-gain,income,split"
RECORDS = [
    "17,Private,0,1,0,<=50K,train",
    "90,State-gov,1500000,16,100000,>50K,test",
    "53,Private,750000,1,0,>50K.,train",
    "17,State-gov,0,1,999999,<=50K.,test",  # beyond the declared range: clipped
]


@pytest.fixture
def encoding(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, by bare name, as the script has it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("adult_data")


def written(folder: Path, records: list[str]) -> Path:
    path = folder / "adult.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join([HEADER, *records]) + "\n")
    return path


def test_encoding_by_hand(encoding: ModuleType, tmp_path: Path) -> None:
    data = encoding.load(written(tmp_path, RECORDS))
    assert data.name == "Adult"
    assert data.labels.tolist() == [-1, 1, 1, -1]
    # age, two categories, weight, education, gain
    assert data.rows[0].tolist() == [0, 1, 0, 0, 0, 0]
    assert data.rows[1] == pytest.approx(np.array([1, 0, 1, 1, 1, 1]) / np.sqrt(5))
    assert data.rows[3] == pytest.approx(np.array([0, 0, 1, 0, 0, 1]) / np.sqrt(2))
    assert np.linalg.norm(data.rows, axis=1) == pytest.approx(np.ones(4))


def test_a_record_is_encoded_alone(encoding: ModuleType, tmp_path: Path) -> None:
    whole = encoding.load(written(tmp_path, RECORDS))
    fewer = encoding.load(written(tmp_path, RECORDS[:3]))
    assert (whole.rows[:3] == fewer.rows).all()


def test_bundled_data_stands_in(encoding: ModuleType, tmp_path: Path) -> None:
    data = encoding.load(tmp_path / "none.csv.gz")
    assert data.rows.shape == (1797, 64)
    assert set(data.labels) == {-1, 1}
    train, test = data.split(3)
    assert (len(train), len(test)) == (1437, 360)
    assert sorted([*train, *test]) == list(range(1797))
    assert (data.split(3)[0] == train).all()


def test_without_peers_there_are_no_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    peers = importlib.import_module("learning_peers")
    monkeypatch.setattr(peers, "READY", tmp_path / "none")
    assert peers.python() is None
    assert peers.accuracies("with_opacus.py", {}, {}, 1.0) == []
