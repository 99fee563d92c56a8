"""Mechanisms that other processes can import."""

import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator


def noisy(data: float, rng: Rng) -> float:
    return data + float(rng.laplace())


def texts(data: int, rng: Rng) -> Any:  # noqa: ANN401
    """Numbers, texts and None, whole and not, of varying length."""
    kind = int(rng.integers(6))
    return (1, 0.5 + data, None, "a" * (1 + kind % 2), [1, 2.5], {"k": data})[kind]


def unhurried(data: float, rng: Rng) -> float:
    time.sleep(2e-4)
    return data + float(rng.laplace())


def endless(_data: float, _rng: Rng) -> float:
    while True:
        time.sleep(0.01)


def hungry(_data: float, _rng: Rng) -> float:
    raise MemoryError


def dying(data: float, rng: Rng) -> float:
    """Kills the process that runs it, in about one of 3,000 calls."""
    if rng.random() < 3e-4:
        os._exit(1)
    return data + float(rng.laplace())


def counted(data: tuple[float, str], rng: Rng) -> float:
    """Leaves a mark for every call."""
    with Path(data[1]).open("ab") as file:
        file.write(b".")
    return data[0] + float(rng.laplace())


class Vectors:
    """A vectorized mechanism with five coordinates."""

    def sample(self, data: float, size: int, *, rng: Rng) -> Any:  # noqa: ANN401
        return data + rng.laplace(size=(size, 5))


def worldly(_data: float, _rng: Rng) -> tuple[float, float]:
    """Draws from the global generators, as it should not."""
    return random.random(), float(np.random.random())  # noqa: NPY002, S311
