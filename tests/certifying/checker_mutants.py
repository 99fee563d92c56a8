"""Checkers with one thing wrong: each must fail the examination that the true one passes.

`python -m tests.certifying.checker_mutants [FILE]` tells which ones pass it.
"""

import ast
import copy
import importlib.abc
import importlib.util
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dpverify.certifying import checking
from tests.certifying.examination import examine, papers

FOLDER = Path(checking.__file__).parent
NAME = checking.__name__
FILES = sorted(path.stem for path in FOLDER.glob("*.py"))
_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Add, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


_CHANGED = (
    *(ast.Compare, ast.BoolOp, ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.Constant, ast.If),
    *(ast.IfExp, ast.While, ast.comprehension, ast.Expr),
)


@dataclass(frozen=True)
class Mutant:
    """A file of the checker with one change in a line: the change of this number at this node."""

    file: str
    line: int
    change: str
    node: int
    number: int

    def tree(self) -> ast.Module:
        made = ast.parse(_source(self.file))
        _changed(next(islice(ast.walk(made), self.node, None)), self.number)
        return ast.fix_missing_locations(made)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.change}"


def mutants(file: str) -> Iterator[Mutant]:
    """All changes of one file, each alone."""
    first = ast.parse(_source(file))
    skipped = {id(inner) for place in _annotations(first) for inner in ast.walk(place)}
    for index, node in enumerate(list(ast.walk(first))):
        if id(node) in skipped or isinstance(node, (ast.ImportFrom, ast.Import)):
            continue
        for number in range(9) if isinstance(node, _CHANGED) else ():
            change = _changed(copy.deepcopy(node), number)
            if change is None:
                break
            yield Mutant(file, getattr(node, "lineno", 0), change, index, number)


def _annotations(tree: ast.Module) -> Iterator[ast.AST]:
    """Annotations, names of types, and docstrings."""
    for holder in ast.walk(tree):
        places: list[Any] = []
        if isinstance(holder, ast.FunctionDef):
            places = [holder.returns, *(a.annotation for a in holder.args.args)]
            places += [a.annotation for a in holder.args.kwonlyargs]
        elif isinstance(holder, ast.AnnAssign):
            alias = isinstance(holder.annotation, ast.Name) and holder.annotation.id == "TypeAlias"
            places = [holder.annotation, holder.value if alias else None]
        elif isinstance(holder, ast.Call) and isinstance(holder.func, ast.Subscript):
            places = [holder.func]
        yield from (place for place in places if place is not None)


def _changed(node: ast.AST, number: int) -> str | None:  # noqa: C901
    """Make the change of this number; None if there is none."""
    if isinstance(node, ast.Compare) and number < len(node.ops):
        old = node.ops[number]
        node.ops[number] = _SWAPS[type(old)]()
        return f"{type(old).__name__} swapped in {ast.unparse(node)}"
    if isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and number == 0:
        swapped = _SWAPS.get(type(node.op))
        if swapped is None:
            return None
        node.op = swapped()
        return f"operator swapped: {ast.unparse(node)}"
    if isinstance(node, ast.UnaryOp) and number == 0 and isinstance(node.op, (ast.USub, ast.Not)):
        was = ast.unparse(node)
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        return f"sign dropped: {was}"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool) and number == 0:
        node.value = not node.value
        return f"now {node.value}"
    if isinstance(node, ast.Constant) and type(node.value) is int and number < 2:
        node.value += (1, -1)[number]
        return f"now {node.value}"
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and number < 2:
        was = ast.unparse(node.test)
        if number == 1 and isinstance(node, ast.While):
            return None
        node.test = (
            ast.Constant(bool(number))
            if not isinstance(node, ast.While)
            else ast.Constant(value=False)
        )
        return f"condition {bool(number)}: {was}"
    if isinstance(node, ast.comprehension) and node.ifs and number == 0:
        was = ast.unparse(node.ifs[0])
        node.ifs = []
        return f"filter dropped: {was}"
    called = node.value if isinstance(node, ast.Expr) else None
    if isinstance(called, ast.Call) and isinstance(node, ast.Expr) and number == 0:
        was = ast.unparse(node)
        node.value = ast.Constant(value=None)
        return f"dropped: {was}"
    return None


@cache
def _source(file: str) -> str:
    return (FOLDER / f"{file}.py").read_text(encoding="utf-8")


class _Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the files of one mutant under a name of its own."""

    def __init__(self, mutant: Mutant | None, name: str) -> None:
        self.mutant, self.name = mutant, name

    def find_spec(self, fullname: str, _path: Any = None, _target: Any = None) -> Any:  # noqa: ANN401
        if fullname != self.name and not fullname.startswith(f"{self.name}."):
            return None
        package = fullname == self.name
        return importlib.util.spec_from_loader(fullname, self, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        file = module.__name__.removeprefix(self.name).lstrip(".") or "__init__"
        if self.mutant is not None and file == self.mutant.file:
            code = _compiled(self.mutant.tree(), file, self.name)
        else:
            code = _unchanged(file, self.name)
        exec(code, module.__dict__)  # noqa: S102


def _compiled(tree: ast.Module, file: str, name: str) -> CodeType:
    """The code of a file whose imports are from a package of another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(NAME):
            node.module = (node.module or "").replace(NAME, name)
    return compile(tree, file, "exec")


@cache
def _unchanged(file: str, name: str) -> CodeType:
    return _compiled(ast.parse(_source(file)), file, name)


class Checker:
    """The checker, or a mutant of it, under another name; for as long as it is open."""

    def __init__(self, mutant: Mutant | None = None) -> None:
        self._loader = _Loader(mutant, "checker_under_examination")

    def __enter__(self) -> ModuleType:
        sys.meta_path.insert(0, self._loader)
        try:
            return importlib.import_module(self._loader.name)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self._loader)
        for name in [n for n in sys.modules if n.split(".")[0] == self._loader.name]:
            del sys.modules[name]


def survives(mutant: Mutant, seconds: float = 4.0) -> bool:
    """Whether a mutant passes the examination; one that hangs does not."""

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with Checker(mutant) as checker:
            examine(checker)
    except Exception:  # noqa: BLE001  # whatever goes wrong, it is seen
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return True


def main() -> None:
    papers()  # not in the time of the first mutant
    for file in sys.argv[1:] or FILES:
        made = list(mutants(file))
        alive = 0
        for mutant in made:
            if survives(mutant):
                alive += 1
                sys.stdout.write(f"{mutant}\n")
                sys.stdout.flush()
        sys.stdout.write(f"{file}: {len(made)} mutants, {alive} pass\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
