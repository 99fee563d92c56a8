"""Helpers in a module of their own, for mechanisms that call across modules."""

import math
from fractions import Fraction
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


def few_digits(x: Any) -> int:  # noqa: ANN401
    """Whether a float has few binary digits; 0 for all that is no float."""
    return int(type(x) == float and 8 < Fraction(x).denominator < 1000)  # noqa: E721
