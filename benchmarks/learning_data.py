"""The data sets that private learners are compared on, standardized by public numbers alone.

The center and the spread of each column are constants of this file, to two digits: what the
documentation publishes for wine and diabetes, and mean and deviation of the public files for the
others. So the comparison is fair, since every learner gets the same rows; but where constants were
taken from the files, whoever has private data of this kind would have to know them from elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import adult_data
import learning_peers
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

BREAST = (
    *((14, 3.5), (19, 4.3), (92, 24), (650, 350), (0.096, 0.014), (0.1, 0.053), (0.089, 0.08)),
    *((0.049, 0.039), (0.18, 0.027), (0.063, 0.0071), (0.41, 0.28), (1.2, 0.55), (2.9, 2)),
    *((40, 45), (0.007, 0.003), (0.025, 0.018), (0.032, 0.03), (0.012, 0.0062), (0.021, 0.0083)),
    *((0.0038, 0.0026), (16, 4.8), (26, 6.1), (110, 34), (880, 570), (0.13, 0.023), (0.25, 0.16)),
    *((0.27, 0.21), (0.11, 0.066), (0.29, 0.062), (0.084, 0.018)),
)
WINE = (
    *((13, 0.8), (2.3, 1.1), (2.4, 0.27), (20, 3.3), (100, 14), (2.3, 0.63), (2, 1), (0.36, 0.12)),
    *((1.6, 0.57), (5.1, 2.3), (0.96, 0.23), (2.6, 0.71), (750, 320)),
)
FAIR = (
    (4.1, 0.96),
    (29, 6.8),
    (9, 7.3),
    (1.4, 1.4),
    (2.4, 0.88),
    (14, 2.2),
    (3.4, 0.94),
    (3.9, 1.3),
)
RANDHIE = (
    *((1.8, 2), (0.26, 0.44), (4.7, 2.7), (4, 3.5), (0.12, 0.32), (11, 6.7), (0.36, 0.48)),
    *((0.077, 0.27), (0.015, 0.12)),
)
DIABETES = ((0.0, 442**-0.5),) * 10  # centered, with squares that sum to one: so it says
PROGRESSION = (25.0, 346.0)  # the documented range of the target
MOST_VISITS = 77.0


@dataclass(frozen=True)
class Data:
    """Rows of norm at most one; class numbers, or targets within ±1 if `classes` is 0."""

    name: str
    rows: np.ndarray
    targets: np.ndarray
    classes: int

    def split(self, seed: int) -> np.ndarray:
        """The records in random order: the first 80 % are trained on."""
        return np.random.default_rng(seed).permutation(len(self.targets))

    @property
    def cut(self) -> int:
        return int(0.8 * len(self.targets))


def adult(path: Path = adult_data.ADULT) -> Data:
    found = adult_data.adult(path)
    return Data("adult", found.rows, (found.labels > 0).astype(np.int64), 2)


def breast() -> Data:
    rows, labels = load_breast_cancer(return_X_y=True)
    return Data("breast", adult_data.unit(standardized(rows, BREAST)), labels, 2)


def digits() -> Data:
    rows, labels = load_digits(return_X_y=True)
    return Data("digits", adult_data.unit(rows), labels, 10)


def wine() -> Data:
    rows, labels = load_wine(return_X_y=True)
    return Data("wine", adult_data.unit(standardized(rows, WINE)), labels, 3)


def fair() -> Data:
    """Whether there was an affair, from the other answers."""
    columns = learning_peers.table("fair")
    rows = adult_data.unit(standardized(columns[:, :-1], FAIR))
    return Data("fair", rows, (columns[:, -1] > 0).astype(np.int64), 2)


def randhie() -> Data:
    """The logarithm of one more than the visits to a doctor; none to 77, as documented."""
    columns = learning_peers.table("randhie")
    targets = np.log1p(np.clip(columns[:, 0], 0.0, MOST_VISITS)) / np.log1p(MOST_VISITS)
    rows = bounded(standardized(columns[:, 1:], RANDHIE))
    return Data("randhie", rows, 2.0 * targets - 1.0, 0)


def diabetes() -> Data:
    rows, progression = load_diabetes(return_X_y=True)
    low, high = PROGRESSION
    targets = np.clip((2.0 * progression - low - high) / (high - low), -1.0, 1.0)
    return Data("diabetes", bounded(standardized(rows, DIABETES)), targets, 0)


def standardized(rows: np.ndarray, numbers: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Each column less its center, over its spread."""
    centers, spreads = np.array(numbers, float).T
    scaled: np.ndarray = (rows - centers) / spreads
    return scaled


def bounded(rows: np.ndarray) -> np.ndarray:
    """Rows over √d; those that are still longer than one are shortened to it."""
    scaled = rows / rows.shape[1] ** 0.5
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    short: np.ndarray = scaled / np.maximum(lengths, 1.0)
    return short


BUNDLED: dict[str, Callable[[], Data]] = {
    "breast": breast,
    "digits": digits,
    "wine": wine,
    "diabetes": diabetes,
}
EXPORTED: dict[str, Callable[[], Data]] = {"fair": fair, "randhie": randhie}
NAMES = (*BUNDLED, *EXPORTED, "adult")
REGRESSIONS = ("diabetes", "randhie")


def load(name: str, path: Path) -> Data | None:
    """The data of that name; None where the file or the peer that holds it is missing."""
    if name == "adult":
        return adult(path) if path.exists() else None
    if name in BUNDLED:
        return BUNDLED[name]()
    return EXPORTED[name]() if learning_peers.python() else None
