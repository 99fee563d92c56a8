"""The little language of `dpverify compose`: parts joined by +, repeated by *.

    gaussian(sigma=50)*1000 + subsampled(laplace(scale=20), rate=0.01)*500 + pure(epsilon=0.1)

It is read as Python's own grammar and walked by hand: nothing is ever evaluated.
"""

import ast
import operator
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.errors import InvalidParameter, check_count, check_real, shown

if TYPE_CHECKING:
    from dpverify.accounting.parts import Composable

Parsed: TypeAlias = list[tuple["Composable", int]]

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def parse(text: str, *, name: str = "expression") -> Parsed:
    """The parts that an expression lists, each with how often it runs; `name` is for messages.

    >>> parse("2 * (pure(epsilon=0.5)*3 + gdp(mu=1))")
    [(PureDP(epsilon=0.5), 6), (GaussianDP(mu=1), 2)]
    """
    stated = f"{name}={shown(text, most=200)}"
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidParameter(
            f"{stated} must read like gaussian(sigma=50)*1000 + pure(epsilon=0.1)"
        ) from None
    return _parts(tree.body, stated)


def _parts(node: ast.expr, stated: str) -> Parsed:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return [*_parts(left, stated), *_parts(right, stated)]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            body, count = (right, left) if _is_number(left) else (left, right)
            times = _whole(_number(count, stated))
            check_count("times", times)
            return [(part, own * int(times)) for part, own in _parts(body, stated)]
        case ast.Call():
            return [(_call(node, stated), 1)]
        case _:
            raise InvalidParameter(
                f"{stated} must be made of parts joined by + and repeated by *, "
                f"not {ast.unparse(node)!r}"
            )


def _call(node: ast.Call, stated: str) -> "Composable":
    # Slow to import, and needed for what is run only, not for its help.
    from dpverify.mechanisms.registered import GUARANTEES, MECHANISMS  # noqa: PLC0415

    name = ast.unparse(node.func)
    if name not in MECHANISMS and name not in GUARANTEES:
        from difflib import get_close_matches  # noqa: PLC0415  # for this sentence only

        known = (*MECHANISMS.names, *GUARANTEES)
        near = get_close_matches(name, known, n=1)
        hint = f". Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameter(f"name={name!r} must be one of: {', '.join(known)}{hint}")
    maker: Callable[..., Composable] = GUARANTEES.get(name) or MECHANISMS[name]
    accepted = list(signature(maker).parameters)
    given: dict[str, Any] = {}
    unnamed = [
        parameter.name
        for parameter in signature(maker).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    for position, argument in enumerate(node.args):
        if position >= len(unnamed):
            likely = accepted[min(position, len(accepted) - 1)]
            raise InvalidParameter(
                f"argument={ast.unparse(argument)!r} of {name} must be named, as in {likely}=…"
            )
        given[unnamed[position]] = _value(argument, stated)
    for keyword in node.keywords:
        if keyword.arg in given:
            raise InvalidParameter(
                f"argument={keyword.arg!r} of {name} must be given once, not twice"
            )
        if keyword.arg not in accepted:
            raise InvalidParameter(
                f"argument={keyword.arg!r} of {name} must be one of: {', '.join(accepted)}"
            )
        given[keyword.arg] = _value(keyword.value, stated)
    missing = [
        parameter.name
        for parameter in signature(maker).parameters.values()
        if parameter.default is parameter.empty and parameter.name not in given
    ]
    if missing:
        raise InvalidParameter(f"{stated} must give {name} its {' and '.join(missing)}")
    return maker(**given)


def _value(node: ast.expr, stated: str) -> object:
    match node:
        case ast.Call():
            return _call(node, stated)
        case ast.Constant(value=bool() | str() as value):
            return value
        case ast.Name(id=word) if word not in {"inf", "nan"}:
            # Shells take quotes away: runs=geometric, runs=negative_binomial.
            return word.replace("_", " ")
        case ast.List(elts=entries) | ast.Tuple(elts=entries):
            return tuple(_number(entry, stated) for entry in entries)
        case _:
            return _number(node, stated)


def _is_number(node: ast.expr) -> bool:
    return not any(isinstance(part, ast.Call) for part in ast.walk(node))


def _whole(number: float) -> float:
    """1e4 is written as a float and means a count."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _number(node: ast.expr, stated: str) -> float | int:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id="inf"):
            return float("inf")
        case ast.Name(id="nan"):
            return float("nan")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, stated)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _ARITHMETIC:
            return _arithmetic(kind, _number(left, stated), _number(right, stated), stated)
        case _:
            raise InvalidParameter(f"number={ast.unparse(node)!r} must be a real number")


def _arithmetic(kind: ast.operator, left: float, right: float, stated: str) -> float:
    try:
        # Powers in floats, so that no one can ask for an integer of a billion digits.
        exact = (float(left), float(right)) if isinstance(kind, ast.Pow) else (left, right)
        value: float = _ARITHMETIC[type(kind)](*exact)
    except (ArithmeticError, ValueError):
        value = float("nan")
    if not isinstance(value, int | float):  # a root of a negative number
        raise InvalidParameter(f"{stated} must be made of real numbers")
    check_real("number", value)
    return value
