"""Copies that keep calls apart: of the data before a call, and of the output after it.

A mechanism may change its data in place, or write every output into the same buffer. Either is
harmless in one call, and neither may reach the draws of another.
"""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.auditing.sampling.parts import FAILURES, MOST_NUMBERS
from dpverify.auditing.sampling.reading import read
from dpverify.errors import InvalidParameter
from dpverify.fingerprint import ATOMS, is_atom

_FROZEN = (*ATOMS, *FAILURES)
_UNCHANGING = {bool, int, float, complex, str, bytes, type(None), np.float64, np.int64, np.bool_}
_UNCHANGING |= {np.str_, *FAILURES}
_SIZED = {str, bytes, list, tuple, np.str_}
_DEEPEST = 20  # containers within containers that are still called plain


def copier(data: Any) -> Callable[[], Any]:  # noqa: ANN401  # whatever the mechanism takes
    """The cheapest function that returns copies of `data` which share nothing mutable.

    The copies are those of `data` as it is now, whatever becomes of it.
    """
    if _is_frozen(data):
        return lambda: data
    if type(data) is list and _flat(data):
        return data.copy().copy
    if type(data) is np.ndarray and data.dtype != object:
        return data.copy().copy
    if _is_plain(data):  # several times as fast as deepcopy
        stored = pickle.dumps(data, protocol=5)
        return lambda: pickle.loads(stored)  # noqa: S301  # written in the line before
    try:
        first = copy.deepcopy(data)
    except Exception as error:
        raise InvalidParameter(
            f"data of type {type(data).__name__} must be such that copy.deepcopy copies them, as "
            f"every call gets a copy: {type(error).__name__}: {error}"
        ) from error
    return lambda: copy.deepcopy(first)


def detached(output: Any) -> Any:  # noqa: ANN401  # whatever the mechanism returns
    """The output in a form that later calls cannot alter; huge ones are read at once."""
    if type(output) in _SIZED and len(output) > MOST_NUMBERS:
        return read(output)
    if type(output) is np.ndarray and output.size > MOST_NUMBERS:
        return read(output)
    if type(output) is np.ndarray and output.dtype != object:
        return output.copy()
    if type(output) is list and (
        _UNCHANGING.issuperset(map(type, output)) or all(map(_is_unchanging, output))
    ):
        return output.copy()
    return output if _is_unchanging(output) else read(output)


def _is_unchanging(output: object) -> bool:
    """Whether its type is immutable; judged by type alone, so that no code of the output runs."""
    if type(output) is tuple:
        return all(map(_is_unchanging, output))
    return type(output) in _UNCHANGING


def _is_frozen(value: object) -> bool:
    return isinstance(value, _FROZEN) or (type(value) is tuple and _flat(value))


def _flat(parts: Any) -> bool:  # noqa: ANN401  # a list, a tuple or a dict
    """Whether all parts are immutable: atoms, or tuples of atoms."""
    values = parts.values() if isinstance(parts, dict) else parts
    return all(_is_frozen(part) for part in values)


def _is_plain(data: Any, depth: int = 0) -> bool:  # noqa: ANN401
    """Whether data consist of containers, atoms and arrays only, which pickle copies faithfully."""
    if is_atom(data):
        return True
    if depth > _DEEPEST:
        return False
    if type(data) is np.ndarray:
        return bool(data.dtype != object)
    if type(data) is dict:
        inner = depth + 1
        return all(_is_plain(k, inner) and _is_plain(v, inner) for k, v in data.items())
    if type(data) in {list, tuple, set, frozenset}:
        return all(_is_plain(part, depth + 1) for part in data)
    return False
