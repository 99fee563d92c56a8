"""Helpers in a module of their own, for mechanisms that call across modules."""

import math
from typing import Any

import numpy as np

CALLS = 0


def clamp(value: Any, low: float, high: float) -> Any:  # noqa: ANN401
    return min(max(value, low), high)


def truncated(value: Any) -> int:  # noqa: ANN401
    return int(value)


def rounded_down(value: Any) -> Any:  # noqa: ANN401
    return math.floor(value)


def own_coin() -> bool:
    """Randomness that the caller's generator does not know of."""
    return bool(np.random.default_rng().random() < 1e-4)
