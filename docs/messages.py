"""Print the table of all error messages: where, which error, and the sentence with its values.

python docs/messages.py > build/messages.md
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ERRORS = ("InvalidParameter", "NotSupported", "BudgetExceeded", "NotIndistinguishable")
PARSED = "BadParameter"  # what the parser of commands objects to
OBJECTIONS = "dpverify.cli.objections"


class Message(NamedTuple):
    """One `raise`; values stand in braces, as the code computes them."""

    module: str
    error: str
    sentence: str


def messages() -> Iterator[Message]:
    """Every sentence that dpverify and solvers raise, in the order of the files."""
    for package in ("dpverify", "solvers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[told, *_])):
                        if name in ERRORS:
                            yield Message(module, name, _sentence(told))
                    case ast.Raise(exc=ast.Call(func=ast.Attribute(attr=name), args=[told, *_])):
                        if name == PARSED:
                            yield Message(module, name, _sentence(told))
                    case ast.Return(value=ast.expr() as told) if module == OBJECTIONS:
                        for sentence in _choices(told):
                            yield Message(module, PARSED, sentence)


def _choices(node: ast.expr) -> Iterator[str]:
    """The sentences that one expression may be."""
    match node:
        case ast.Constant(value=None):
            return
        case ast.Call(func=ast.Name(id=name)) if name.startswith("_"):
            return  # that function's own sentences
        case ast.IfExp(body=body, orelse=other):
            yield from _choices(body)
            yield from _choices(other)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.IfExp(body=body, orelse=other)):
            for end in (body, other):
                yield _sentence(left) + _sentence(end)
        case _:
            yield _sentence(node)


def _sentence(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_sentence, values))
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sentence(left) + _sentence(right)
        case _:
            return f"{{{ast.unparse(node)}}}"


def table() -> str:
    """The table, in Markdown."""
    rows = [
        f"| {message.module} | {message.error} | {message.sentence.replace('|', '¦')} |"
        for message in messages()
    ]
    return "\n".join(["| module | error | sentence |", "| --- | --- | --- |", *rows])


if __name__ == "__main__":
    print(table())
