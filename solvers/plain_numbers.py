"""Numbers as Python has them: NumPy's are converted once, where they come in.

np.int8(100) doubled is −56, and np.float32(0.1) added to a float32 rounds to seven digits. So no
parameter stays a NumPy number beyond its constructor or function: the value is the same, exactly.
"""

import functools
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever a caller gives
    """A NumPy number as the Python number of the same value; anything else as it is.

    >>> plain(np.int8(100)) * 2, plain((np.float32(0.5), 1))
    (200, (0.5, 1))
    """
    if isinstance(value, np.longdouble):  # has no Python number of its own
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(plain(entry) for entry in value)
    return value


def settle(value: Any) -> None:  # noqa: ANN401  # any dataclass
    """Make the numbers among the fields of a dataclass plain, at its birth."""
    for each in fields(value):
        given = getattr(value, each.name)
        if isinstance(given, (np.generic, tuple)):
            object.__setattr__(value, each.name, plain(given))


def plain_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """The function with all its arguments plain."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(
            *(plain(value) for value in args),
            **{name: plain(value) for name, value in kwargs.items()},
        )

    return called
