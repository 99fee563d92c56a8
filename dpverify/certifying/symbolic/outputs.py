"""The plain form of what a mechanism returns: nested tuples of texts and numbers.

A leaf is ("int", n), ("float", x), ("bool", b), ("text", s) or ("none",); anything else is
("list" | "tuple" | "array" | "dict", …). Where a number depends on noise or data, the leaf holds
("value", expression) in its place; it is "numeric" where a run does not tell whether the number is
an int or a float. So 0, 0.0, −0.0 and False are four outputs; Python's 0 and NumPy's are one.
"""

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.reading import simple_rational
from dpverify.certifying.symbolic.symbols import Symbolic, Uniform, refuse

_DEEPEST = 50
_NUMBER_TYPES = (int, float, np.integer, np.floating)
_USUAL_TYPES = {int, float, np.int64, np.float64}


def plain_output(value: Any, deep: int = 0) -> Any:  # noqa: C901, PLR0912, ANN401
    """The plain form of a returned value."""
    if deep > _DEEPEST:
        raise refuse(f"it returns lists within lists, more than {_DEEPEST} deep")
    if isinstance(value, Symbolic):
        return _symbolic(value, value.kind)
    if isinstance(value, (bool, np.bool_)):
        return ("bool", bool(value))
    if isinstance(value, _NUMBER_TYPES) and type(value) not in _USUAL_TYPES:
        raise refuse(f"it returns a {type(value).__name__}, which is not understood")
    if isinstance(value, (int, np.integer)):
        if abs(int(value)) > sys.float_info.max:
            raise refuse("it returns a whole number that is too large for a float")
        return ("int", int(value))
    if isinstance(value, (float, np.floating)):
        return ("float", _float(float(value)))
    if value is None:
        return ("none",)
    if type(value) in {str, np.str_}:
        return ("text", str(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain_output(value[()] if value.dtype != object else value.item(), deep + 1)
    if isinstance(value, np.ndarray):
        return _array(value, deep)
    if type(value) in {list, tuple}:
        return (type(value).__name__, *(plain_output(part, deep + 1) for part in value))
    if type(value) is dict:
        keys = [
            (plain_output(key, deep + 1), plain_output(part, deep + 1))
            for key, part in value.items()
        ]
        return ("dict", *keys)  # their order can be seen
    what = "a uniform draw" if isinstance(value, Uniform) else f"a {type(value).__name__}"
    raise refuse(f"it returns {what}, which is not understood")


def holds_objects(value: Any) -> bool:  # noqa: ANN401
    """Whether a plain output contains arrays of Python objects, in which 1 may be 1.0."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype == object)
    parts = value.values() if type(value) is dict else value
    return type(value) in {list, tuple, dict} and any(map(holds_objects, parts))


def _array(value: Any, deep: int) -> Any:  # noqa: ANN401
    """An array, whose numbers are all of one type as in NumPy."""
    if type(value) is not np.ndarray:
        raise refuse(f"it returns a {type(value).__name__}, which is not understood")
    if not value.size:
        usual = value.ndim == 1 and value.dtype in {np.dtype(float), np.dtype(object)}
        return ("array",) if usual else ("array", ("text", f"{value.dtype} {value.shape}"))
    leaves = [plain_output(x, deep + 1) for x in value.ravel()]
    kinds = {leaf[0] for leaf in leaves}
    if value.dtype == object and len(kinds) > 1:
        if not kinds <= _NUMBERS:
            raise refuse("it returns an array of numbers and other things")
        kind = "float" if "float" in kinds else "numeric" if "numeric" in kinds else "int"
        leaves = [(kind, Fraction(x) if isinstance(x, (bool, int)) else x) for _, x in leaves]
    return _nested(iter(leaves), value.shape)


def _nested(leaves: Iterator[Any], size: tuple[int, ...]) -> Any:  # noqa: ANN401
    if not size:
        return next(leaves)
    return ("array", *(_nested(leaves, size[1:]) for _ in range(size[0])))


_NUMBERS = {"int", "float", "bool", "numeric"}


def is_number(output: Any) -> bool:  # noqa: ANN401
    """Whether an output is a single number."""
    return isinstance(output, tuple) and len(output) == 2 and output[0] in _NUMBERS


def is_noisy_number(output: Any) -> bool:  # noqa: ANN401
    """Whether an output is a single number with noise."""
    return is_number(output) and isinstance(output[1], tuple)


def shape(output: Any) -> Any:  # noqa: ANN401
    """The output with blanks in place of expressions."""
    if isinstance(output, tuple) and output and output[0] == "value":
        return ("value",)
    return tuple(map(shape, output)) if isinstance(output, tuple) else output


def values(output: Any) -> Iterator[Symbolic]:  # noqa: ANN401
    """The expressions in an output, in order."""
    if isinstance(output, tuple) and output and output[0] == "value":
        yield output[1]
    elif isinstance(output, tuple):
        for part in output:
            yield from values(part)


def filled(output: Any, numbers: Iterator[Any]) -> Any:  # noqa: ANN401
    """The output with its expressions replaced by these, in order."""
    if isinstance(output, tuple) and output and output[0] == "value":
        return next(numbers)
    return tuple(filled(part, numbers) for part in output) if isinstance(output, tuple) else output


def merged(output: Any) -> Any:  # noqa: ANN401
    """The output if True, 1 and 1.0 count as equal, and so do lists, tuples and arrays.

    Floats that differ in their last digits, 0 and −0, dictionaries in another order: the same.
    """
    if not isinstance(output, tuple):
        return output
    if is_number(output):
        if isinstance(output[1], tuple):
            return output[1]
        number = Fraction(0) if output[1] == "-0.0" else output[1]
        return ("number", number if isinstance(number, str) else _simplest(Fraction(number)))
    if output and output[0] == "dict":
        return ("dict", *sorted(map(merged, output[1:]), key=repr))
    if output and output[0] in {"list", "tuple", "array"}:
        return ("list", *map(merged, output[1:]))
    return tuple(map(merged, output))


def shown(output: Any) -> Any:  # noqa: ANN401
    """The output in the form that a reader knows."""
    if not isinstance(output, tuple) or not output:
        return output
    kind, *parts = output
    if kind in {"int", "bool", "text"}:
        return parts[0]
    if kind in {"float", "numeric", "number"}:
        number = parts[0]
        if isinstance(number, Fraction):
            return int(number) if number.denominator == 1 and kind == "number" else float(number)
        return float(number)
    if kind == "none":
        return None
    if kind == "dict":
        return {shown(key): shown(part) for key, part in parts}
    if kind == "event":
        return parts[0]
    made = [shown(part) for part in parts]
    return tuple(made) if kind == "tuple" else made


def _symbolic(value: Symbolic, kind: str | None) -> Any:  # noqa: ANN401
    value.check_zero()
    plain = value.constant.fraction()
    if not value.is_constant:
        return (kind or "numeric", ("value", value))
    if plain is None:
        return ("float", f"exact {value.constant.key()}")
    if kind == "int" and plain.denominator == 1:
        return ("int", plain.numerator)
    return (kind or "numeric", Fraction(float(plain)))


def _float(value: float) -> Any:  # noqa: ANN401
    if not math.isfinite(value) or (value == 0 and math.copysign(1.0, value) < 0):
        return str(value)
    return Fraction(value)


def _simplest(value: Fraction) -> Fraction:
    simple = simple_rational(value)
    return value if simple is None else simple
