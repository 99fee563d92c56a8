"""A CSV file with a header as features and a target: numbers are checked, text is kept."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpverify.errors import InvalidParameter, shown

_MOST = 20  # columns that a message lists


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The features as numbers, the target as text."""

    names: tuple[str, ...]
    target: str
    features: NDArray[np.float64]
    labels: NDArray[np.str_]

    def numeric_labels(self) -> NDArray[np.float64]:
        return np.array([_cell(value, self.target, i) for i, value in enumerate(self.labels)])


def read(path: Path, target: str) -> CsvTable:
    with path.open(newline="", encoding="utf-8") as file:
        try:
            header, *lines = list(csv.reader(file))
        except (ValueError, csv.Error, UnicodeDecodeError):
            raise InvalidParameter(
                f"data={str(path)!r} must be a CSV file with a header line"
            ) from None
    lines = [line for line in lines if line]
    if target not in header:
        raise InvalidParameter(f"target={target!r} must be one of: {_listed(header)}")
    if len(set(header)) != len(header):
        raise InvalidParameter(f"data={str(path)!r} must have a header without repeated names")
    for place, line in enumerate(lines):
        if len(line) != len(header):
            raise InvalidParameter(
                f"record {place} has {len(line)} cells and must have {len(header)}"
            )
    names = tuple(name for name in header if name != target)
    columns = dict(zip(header, zip(*lines, strict=True), strict=True)) if lines else {}
    features = np.array(
        [[_cell(value, name, i) for i, value in enumerate(columns.get(name, ()))] for name in names]
    ).T.reshape(len(lines), len(names))
    labels = np.array([value.strip() for value in columns.get(target, ())], dtype=np.str_)
    return CsvTable(names, target, features, labels)


def _listed(names: list[str]) -> str:
    """The columns of a table; of very many, the first."""
    told = [shown(name)[1:-1] for name in names[:_MOST]]
    return ", ".join([*told, "…"] if len(names) > _MOST else told)


def _cell(text: str, column: str, record: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidParameter(f"{column}={str(text)!r} in record {record} must be a finite number")
    return value
