"""The direction of imports, as a test: a module imports only from layers below its own."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS: dict[str, tuple[str, ...]] = {  # of a package: its modules and folders, lowest first
    "dpverify": (
        *("on_demand", "errors", "arrays", "plain", "files", "registry", "waiting", "balls"),
        *("theorems", "guarantees", "neighbors"),
        *("pairs", "claims", "fingerprint", "schema", "accounting", "mechanisms", "interop"),
        *(
            "auditing",
            "ledger",
            "tracing",
            "certifying",
            "deciding",
            "disclosing",
            "testing",
            "reporting",
            "cli",
            "__main__",
        ),
    ),
    "dpverify.auditing": (
        *("adapters", "sampling", "attacks", "statistics", "verdict", "procedure", "auditor"),
        *("sharing", "search", "bands", "one_run", "batches", "training"),
    ),
    "dpverify.certifying": (  # the checker knows nothing of what it checks
        *("checking", "symbolic", "language", "extraction", "any_length", "rehearsal"),
        *("searching", "certificate", "releases", "certify"),
    ),
}
LATE = {
    ("dpverify.auditing.auditor", "dpverify.auditing.search"),
    ("dpverify.accounting.accountant", "dpverify.reporting.plots"),
    ("dpverify.auditing.verdict", "dpverify.reporting.plots"),
}
"""Imports within a function that point up: `audit` without a pair hands over to the search, and
`plot` to those who draw."""
HEAVY = ("cvxpy", "sympy", "hypothesis", "sklearn", "matplotlib", "typer", "rich")


def name_of(path: Path) -> str:
    """The dotted name of a module; that of its package for an __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(p): p for top in ("dpverify", "solvers") for p in ROOT.glob(f"{top}/**/*.py")}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def statements(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those inside others too; expressions, which import nothing, are passed."""
    for statement in body:
        yield statement
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(statement, field, []))


@cache
def imported(path: Path) -> list[str]:
    nodes = list(statements(tree(path).body))
    plain = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    return plain + [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]


@cache
def imported_at_once(path: Path) -> list[str]:
    """What the module itself imports, not its functions; a module of a package by its own name."""
    nodes = [node for node in tree(path).body if isinstance(node, ast.ImportFrom) and node.module]
    names = [(node.module, f"{node.module}.{alias.name}") for node in nodes for alias in node.names]
    return [longer if longer in MODULES else str(module) for module, longer in names]


def within(package: str, module: str) -> str | None:
    """The layer of a package that a module lies in; None if it lies elsewhere."""
    if not module.startswith(f"{package}."):
        return None
    return module.removeprefix(f"{package}.").partition(".")[0]


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_a_layer(package: str) -> None:
    found = {within(package, name) for name in MODULES} - {None}
    assert found <= set(LAYERS[package])


@pytest.mark.parametrize("package", LAYERS)
def test_imports_point_down(package: str) -> None:
    heights = {layer: i for i, layer in enumerate(LAYERS[package])}
    upward = [
        (name, target)
        for name, path in MODULES.items()
        if (own := within(package, name)) is not None
        for target in imported(path)
        if (other := within(package, target)) is not None
        if heights[other] > heights[own] and (name, target) not in LATE
    ]
    assert not upward


def circle(needs: dict[str, set[str]]) -> list[str]:
    """Names that need each other in turn; empty if there are none."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


PACKAGES = [name for name, path in MODULES.items() if path.name == "__init__.py"]
TANGLED = {"dpverify.tracing"}
"""Packages whose folders import each other: `noise` draws what `recording` writes down."""


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_do_not_import_each_other(package: str) -> None:
    """Between the modules and folders of a package imports go one way, whatever their names."""
    needs: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        own = within(package, name)
        others = {within(package, target) for target in imported_at_once(path)} - {None, own}
        if own is not None:
            needs.setdefault(own, set()).update(map(str, others))
    assert (package in TANGLED) == bool(found := circle(needs)), found


def test_what_is_imported_exists() -> None:
    """In functions and for types alone, too, where an import is not run until it is needed."""
    tops = ("dpverify", "solvers", "benchmarks", "docs", "examples")
    paths = [path for top in tops for path in (ROOT / top).rglob("*.py")]
    known = set(map(name_of, paths)) | set(tops)
    stale = [
        (name_of(path), target)
        for path in paths
        for target in imported(path)
        if target.partition(".")[0] in {"dpverify", "solvers"} and target not in known
    ]
    assert not stale


@pytest.mark.parametrize(("name", "path"), MODULES.items(), ids=MODULES)
def test_the_library_does_not_know_what_is_built_on_it(name: str, path: Path) -> None:
    above = {"proofs"} if name.startswith("solvers") else {"solvers", "proofs"}
    if not name.startswith(("dpverify.cli", "dpverify.__main__")):
        assert not [target for target in imported(path) if target.partition(".")[0] in above]


def test_no_module_hands_on_the_names_of_another() -> None:
    """Names are imported from where they are defined; packages, as doors, are excepted."""
    found = []
    for name, path in MODULES.items():
        for node in statements(tree(path).body):
            if not isinstance(node, ast.ImportFrom) or node.module not in MODULES:
                continue
            source = MODULES[node.module]
            if source.name == "__init__.py":
                continue
            handed = {alias.name for alias in node.names} & _imported_names(source)
            found += [(name, node.module, each) for each in sorted(handed)]
    assert not found


def test_no_two_public_classes_share_a_name() -> None:
    """One name, one concept, over dpverify and solvers together."""
    homes: dict[str, list[str]] = {}
    for name, path in MODULES.items():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert not {name: found for name, found in homes.items() if len(found) > 1}


@cache
def _imported_names(path: Path) -> set[str]:
    body = tree(path).body
    return {a.asname or a.name for n in body if isinstance(n, ast.ImportFrom) for a in n.names}


def test_imports_stay_light() -> None:
    """Of the library; and a verb does not wait for the rooms of the others."""
    code = (
        f"import sys, dpverify; print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr);"
        "from dpverify.cli import run; run(['noise', '-h']); "
        "rooms = {'dpverify.auditing', 'dpverify.tracing', 'dpverify.mechanisms', 'scipy.special'};"
        "print(rooms & sys.modules.keys(), file=sys.stderr)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stderr.split("\n") == ["[]", "set()", ""]
