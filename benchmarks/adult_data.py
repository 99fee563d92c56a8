"""Adult, or a data set that comes with scikit-learn, encoded by declared ranges alone.

What the encoding needs is declared here, from the documentation of the data: the range of each
number and the list of each category. Nothing is estimated, so the encoding costs no privacy.
"""

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

ADULT = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "adult.csv.gz"
RANGES = {
    "age": (17, 90),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (1, 99),
}
TARGET, POSITIVE, IGNORED = "income", ">50K", "split"


@dataclass(frozen=True)
class Data:
    """Rows of norm at most one, labels −1 and +1."""

    name: str
    rows: np.ndarray
    labels: np.ndarray

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of 80 % of the records, and of the others."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        cut = int(0.8 * len(order))
        return order[:cut], order[cut:]


def load(path: Path) -> Data:
    """Adult from the file; scikit-learn's handwritten digits where there is none."""
    return adult(path) if path.exists() else digits()


def adult(path: Path) -> Data:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = list(csv.DictReader(file))
    names = [name for name in records[0] if name not in {TARGET, IGNORED}]
    rows = np.hstack([column(name, [record[name].strip() for record in records]) for name in names])
    positive = np.array([record[TARGET].strip().startswith(POSITIVE) for record in records])
    return Data("Adult", unit(rows), np.where(positive, 1, -1))


def column(name: str, values: list[str]) -> np.ndarray:
    """A number moved from its declared range to [0, 1]; or one column a category."""
    if name in RANGES:
        low, high = RANGES[name]
        return np.clip((np.array(values, float)[:, None] - low) / (high - low), 0.0, 1.0)
    categories = sorted(set(values))  # the documented list: every category occurs
    return (np.array(values)[:, None] == np.array(categories)).astype(float)


def digits() -> Data:
    """Odd against even digits; pixels run from 0 to 16."""
    bundled = load_digits()
    labels = np.where(bundled.target % 2 == 1, 1, -1)
    return Data("digits (odd or even)", unit(bundled.data / 16.0), labels)


def unit(rows: np.ndarray) -> np.ndarray:
    """Each row scaled to norm one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0.0, lengths, 1.0)
