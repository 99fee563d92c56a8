"""A goal from its text alone, so that what a reader reads is what is shown.

sympy takes text for a program: it cancels x/x, and reads `x != 5 and x` as x. Here only sums, products, quotients and whole powers
of whole numbers and of the names behind "for all" are a formula, with Python's precedence; all else is none.

Like `recheck`, this file uses nothing but the standard library.
"""

import ast
import re
from collections.abc import Collection
from typing import Any
from unicodedata import is_normalized

HIGHEST = 100  # power that is read

_FORMULA = re.compile(r"([\w *+/()-]+) ([=≥>]) ([\w *+/()-]+) for all ([\w ,≥>]+)")
_RANGE = re.compile(r"(\w+)(?: ([≥>]) 0)?")
_NO_NUMBER = re.compile(r"(?<!\w)\d+[^\W\d]")  # 0x10 is no product, and 1_0 no ten, to a reader
_MINUS = ["number", "-1"]


def read(text: str, functions: Collection[str] = ()) -> dict[str, Any] | None:
    """The goal that a text spells, as `x + y > 0 for all x > 0, y ≥ 0`; None if it is no such formula.

    With `functions`, of one argument, powers may be any; such a goal is not for `holds`.
    """
    found = _FORMULA.fullmatch(text)
    if found is None or not is_normalized("NFKC", text) or _NO_NUMBER.search(text):
        return None  # Python reads names in this form
    left, relation, right, ranges = found.groups()
    variables = [_RANGE.fullmatch(part) for part in ranges.split(", ")]
    signs = {each[1]: each[2] or "" for each in variables if each is not None}
    if len(signs) < len(variables) or not all(map(str.isidentifier, signs)):
        return None
    try:
        sides = [
            _spelled(ast.parse(side, mode="eval").body, signs, functions) for side in (left, right)
        ]
    except (SyntaxError, ValueError, RecursionError):
        return None
    made = {"text": text, "left": sides[0], "relation": relation, "right": sides[1]}
    return {**made, "signs": signs, "atoms": []}


def _spelled(node: ast.AST, names: Collection[str], functions: Collection[str]) -> Any:  # noqa: ANN401  # JSON
    """What Python's grammar makes of sums, products, quotients and powers; raises ValueError for all else."""
    match node:
        case ast.Name(id=name) if name in names:
            return name
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return ["number", str(value)]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return ["*", _MINUS, _spelled(inner, names, functions)]
        case ast.BinOp(left=left, op=sign, right=right):
            one, other = (_spelled(side, names, functions) for side in (left, right))
            return _joined(one, type(sign), other, any_power=bool(functions))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in functions:
            return [name, _spelled(inner, names, functions)]
    raise ValueError(f"{ast.dump(node)} must be arithmetic of declared names")


def _joined(one: Any, sign: type[ast.operator], other: Any, *, any_power: bool) -> Any:  # noqa: ANN401  # JSON
    if sign is ast.Pow:
        match other:
            case ["number", whole] if int(whole) <= HIGHEST:
                return ["^", one, int(whole)]
            case ["*", ["number", "-1"], ["number", whole]] if int(whole) <= HIGHEST:
                return ["^", one, -int(whole)]
        if any_power:
            return ["power", one, other]
    trees = {
        ast.Add: ["+", one, other],
        ast.Sub: ["+", one, ["*", _MINUS, other]],
        ast.Mult: ["*", one, other],
        ast.Div: ["*", one, ["^", other, -1]],
    }
    if sign not in trees:
        raise ValueError(f"{sign.__name__} must be a sum, product, quotient or whole power")
    return trees[sign]
