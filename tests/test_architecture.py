"""The direction of imports, as a test: a module imports only from layers below its own."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS: dict[str, tuple[str, ...]] = {  # of a package: its modules and folders, lowest first
    "dpverify": (
        *("errors", "arrays", "plain", "registry", "balls", "theorems", "guarantees", "neighbors"),
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
        *("search", "bands", "one_run"),
    ),
}
LATE = {("dpverify.auditing.auditor", "dpverify.auditing.search")}
"""Imports within a function that point up: `audit` without a pair hands over to the search."""
HEAVY = ("cvxpy", "sympy", "hypothesis", "sklearn", "matplotlib", "typer", "rich")


def name_of(path: Path) -> str:
    """The dotted name of a module; that of its package for an __init__."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(p): p for top in ("dpverify", "solvers") for p in ROOT.glob(f"{top}/**/*.py")}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> list[str]:
    nodes = list(ast.walk(tree(path)))
    plain = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    return plain + [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]


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


@pytest.mark.parametrize(("name", "path"), MODULES.items(), ids=MODULES)
def test_the_library_does_not_know_what_is_built_on_it(name: str, path: Path) -> None:
    above = {"proofs"} if name.startswith("solvers") else {"solvers", "proofs"}
    if not name.startswith(("dpverify.cli", "dpverify.__main__")):
        assert not [target for target in imported(path) if target.partition(".")[0] in above]


def test_no_module_hands_on_the_names_of_another() -> None:
    """Names are imported from where they are defined; packages, as doors, are excepted."""
    found = []
    for name, path in MODULES.items():
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.ImportFrom) or node.module not in MODULES:
                continue
            source = MODULES[node.module]
            if source.name == "__init__.py" or not node.module.startswith("dpverify.auditing"):
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
        f"import sys, dpverify; print([m for m in {HEAVY!r} if m in sys.modules]); "
        "from dpverify.cli.app import application; application(['noise']); "
        "print({'dpverify.auditing', 'dpverify.tracing'} & sys.modules.keys())"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stdout.split("\n") == ["[]", "set()", ""]
