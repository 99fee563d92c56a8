"""Streams of random numbers: one a purpose, from the seed of a test and the content of a pair."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def own_streams(seed: int) -> Iterator[None]:
    """Global generators seeded for the body, for mechanisms that draw from them all the same."""
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  # to restore it
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002
