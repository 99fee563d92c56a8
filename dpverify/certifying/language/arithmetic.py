"""Operators of the language, with the result for each kind of value; all else is refused.

Truth values of NumPy's add up otherwise than Python's, lists and numbers meet otherwise in the two,
and so do whole numbers with negative powers: such steps are refused, whoever would be right.
"""

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.certifying.language.values import (
    MOST,
    Array,
    Grown,
    as_array,
    boxed,
    checked,
    gathered,
    is_number,
    kind_of,
    whole,
)
from dpverify.certifying.symbolic.symbols import Symbolic, Uniform, number, refuse

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_BITS = {operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift}
_SHIFTS = {operator.lshift, operator.rshift}
_EXACT = {operator.add, operator.sub, operator.mul, operator.truediv}
_LONGEST = 53  # bits
_HAIR = 1e-12  # of a number: NumPy may compute a constant otherwise than Python, by so much


def binary(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:  # noqa: ANN401
    """The value of a binary operation a ∘ b."""
    if isinstance(a, Array) or isinstance(b, Array):
        return elementwise(lambda x, y: _scalar(operation, x, y), a, b)
    if is_number(a) and is_number(b):
        return _scalar(operation, a, b)
    if isinstance(a, Uniform) or isinstance(b, Uniform):
        raise refuse("it computes with a uniform draw, which may only be compared with constants")
    if operation is operator.add and type(a) is type(b) and type(a) in {list, tuple}:
        return a + b
    if operation is operator.mul and type(b) in {list, tuple}:
        a, b = b, a
    if operation is operator.mul and type(a) in {list, tuple}:
        times = whole(b)
        if len(a) * times > MOST:
            raise refuse("it makes a list that is too long")
        return a * times
    raise refuse(f"it computes with {described(a)} and {described(b)}")


def described(value: Any) -> str:  # noqa: ANN401
    """The kind of a value, in words for a message."""
    if is_number(value):
        return "a number"
    names: dict[Any, str] = {
        Grown: "a list that grows with the data",
        Uniform: "a uniform draw",
        list: "a list",
        tuple: "a tuple",
        dict: "a dictionary",
        str: "a text",
    }
    if value is None:
        return "None"
    return names.get(type(value)) or f"a {type(value).__name__.lower()}"


def elementwise(action: Callable[..., Any], *given: Any) -> Any:  # noqa: ANN401
    """Apply an operation to numbers cell by cell; a plain number if there is no array."""
    sources = [
        x.cells
        if isinstance(x, Array)
        else as_array(x).cells
        if isinstance(x, (list, tuple))
        else boxed(x)
        for x in given
    ]
    for value in given:
        if not isinstance(value, (Array, list, tuple)):
            kind_of(value)
    try:
        together = np.broadcast_arrays(*sources)
    except ValueError:
        raise refuse("it computes with arrays whose shapes do not fit") from None
    if together[0].size > MOST:
        raise refuse("it makes an array that is too large")
    made = np.empty(together[0].shape, object)
    for at in np.ndindex(made.shape):
        made[at] = action(*(x[at] for x in together))
    if not made.ndim:
        return made.item()
    return gathered(made) if made.size else Array(made, kind_of(action(*map(_sample, given))))


def _sample(value: Any) -> Any:  # noqa: ANN401
    """The number 1 in the type of a number or array, so that empty arrays have a type too."""
    kind = value.kind if isinstance(value, Array) else kind_of(value)
    if kind not in _SAMPLES:
        raise refuse("it computes with an empty array of an unknown type")
    return _SAMPLES[kind]


_SAMPLES = {"float": 1.0, "int": 1, "bool": True}


def _scalar(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:  # noqa: ANN401
    if not is_number(a) or not is_number(b):
        raise refuse(f"it computes with {described(a)} and {described(b)}")
    truths = isinstance(a, bool) + isinstance(b, bool)
    if truths == 2 and operation in _BITS - _SHIFTS:  # as Python and NumPy do
        return operation(a, b)
    if truths == 2 or (truths and operation not in _EXACT):
        raise refuse("it computes with truth values as if they were numbers")
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        if operation in _BITS:
            raise refuse("it looks at the bits of data or noise")
        made = operation(a, b)
        if not isinstance(made, Symbolic):  # pragma: no cover  # symbols refuse or answer
            raise refuse("it computes something with data or noise that is not understood")
        return made
    _check_plain(operation, a, b)
    return checked(operation(a, b))


def _check_plain(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> None:  # noqa: ANN401
    both = type(a) is int and type(b) is int
    if operation in _BITS and not both:
        raise refuse("it looks at the bits of numbers that are not whole")
    if operation in _SHIFTS and not 0 <= b <= _LONGEST:
        raise refuse("it shifts bits too far")
    if operation in {operator.truediv, operator.floordiv, operator.mod} and b == 0:
        raise refuse("it divides by zero")
    if operation is operator.pow:
        if not math.isfinite(a) or not math.isfinite(b):
            raise refuse("it computes with an infinite or undefined number")
        if both and b < 0:
            raise refuse("a negative power of a whole number: write it as a float, 2.0 ** k")
        if (a == 0 and b < 0) or (a < 0 and b != int(b)):
            raise refuse("it takes a power that is no real number")
        if abs(a) > 1 and b * math.log2(abs(a)) > (_LONGEST if both else 1000):
            raise refuse("it takes a power that is too large")


def compare(
    operation: Callable[[Any, Any], Any],
    a: Any,  # noqa: ANN401
    b: Any,  # noqa: ANN401
    *,
    close: bool = False,
) -> Any:  # noqa: ANN401
    """a < b and the like; an array of truth values if one side is an array.

    With `close`, exact constants may be so near that floats compare them otherwise.
    """
    if isinstance(a, Array) or isinstance(b, Array):
        return elementwise(lambda x, y: compare(operation, x, y), a, b)
    if operation is operator.eq:
        return equal(a, b)
    if operation is operator.ne:
        return not equal(a, b)
    if type(a) is type(b) and type(a) in {list, tuple}:
        return _in_order(operation, a, b)
    if type(a) is str and type(b) is str:
        return operation(a, b)
    return _compared(operation, a, b, close=close)


def _compared(
    operation: Callable[[Any, Any], Any],
    a: Any,  # noqa: ANN401
    b: Any,  # noqa: ANN401
    *,
    close: bool = False,
) -> bool:
    for value in (a, b):
        if not is_number(value) and not isinstance(value, Uniform):
            raise refuse(f"it compares {described(a)} with {described(b)}")
    if any(type(x) is float and math.isinf(x) for x in (a, b)):
        return _beyond(operation, a, b)
    if isinstance(a, Uniform) and isinstance(b, Uniform):
        raise refuse("it compares two uniform draws")
    plain = type(a) is float and type(b) is float
    if (plain and a != b and math.isclose(a, b, rel_tol=_HAIR)) or not (close or _apart(a, b)):
        raise refuse("it compares constants that are too close for floats")
    return bool(operation(a, b))


def _apart(a: Any, b: Any) -> bool:  # noqa: ANN401
    """Whether two constants, one of them exact, are so far apart that floats compare them right."""
    exact = isinstance(a, Symbolic) or isinstance(b, Symbolic)
    one, other = (number(x) if exact else None for x in (a, b))
    return one is None or other is None or not one.is_close(other)


def _beyond(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> bool:  # noqa: ANN401
    """A comparison with infinity, which all data and noise are below."""
    left, right = (0.0 if isinstance(x, (Symbolic, Uniform)) else x for x in (a, b))
    return bool(operation(left, right))


def _in_order(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> bool:  # noqa: ANN401
    """Compare lists as Python does: at the first place where they differ."""
    for x, y in zip(a, b, strict=False):
        if not equal(x, y):
            return bool(compare(operation, x, y))
    return bool(operation(len(a), len(b)))


def equal(a: Any, b: Any) -> bool:  # noqa: ANN401
    """a == b, if the result is a truth value."""
    if a is None or b is None:
        return a is b
    if type(a) is str and type(b) is str:
        return bool(a == b)
    if type(a) is type(b) and type(a) in {list, tuple}:
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    return _compared(operator.eq, a, b)


def truth(value: Any) -> bool:  # noqa: ANN401
    """The truth value that `if` uses."""
    if value is None or isinstance(value, (bool, *_PLAIN, str, list, tuple, dict, range)):
        return bool(value)
    if isinstance(value, Symbolic):
        return not equal(value, 0)
    raise refuse(f"it takes {described(value)} for a truth value")


_PLAIN = (int, float, Fraction)


def unary(node: ast.unaryop, value: Any) -> Any:  # noqa: ANN401
    """−a, +a and not a; ~a for an array of truth values."""
    if isinstance(node, ast.Not):
        return not truth(value)
    if isinstance(node, ast.Invert):
        if not isinstance(value, Array) or value.kind != "bool":
            raise refuse("it inverts bits: `not` is understood, and ~ of an array of truth values")
        return elementwise(operator.not_, value)
    action = operator.neg if isinstance(node, ast.USub) else operator.pos
    return (
        elementwise(lambda x: _signed(action, x), value)
        if isinstance(value, Array)
        else _signed(action, value)
    )


def _signed(action: Callable[[Any], Any], value: Any) -> Any:  # noqa: ANN401
    if not is_number(value) or isinstance(value, bool):
        raise refuse(f"it takes the negative of {described(value)}, or of a truth value")
    return action(value)


def absolute(value: Any) -> Any:  # noqa: ANN401
    """|a|."""
    if isinstance(value, Array):
        return elementwise(absolute, value)
    if not is_number(value) or isinstance(value, bool):
        raise refuse(f"it takes the absolute value of {described(value)}, or of a truth value")
    return abs(value)
