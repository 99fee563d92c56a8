"""The direction of imports, as a test: a module imports only from layers below its own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = (
    *("errors", "balls", "theorems", "guarantees", "neighbors", "claims", "pairs", "accounting"),
    *("mechanisms", "interop", "auditing", "certifying", "testing", "reporting", "cli"),
)
MODULES = sorted(ROOT.glob("dpverify/**/*.py"))
HEAVY = ("cvxpy", "sympy", "hypothesis", "sklearn", "matplotlib", "typer", "rich", "z3")


def imported(path: Path) -> list[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    return plain + [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]


def layer(path: Path) -> int:
    return LAYERS.index(path.relative_to(ROOT / "dpverify").parts[0].removesuffix(".py"))


def test_every_module_has_a_layer() -> None:
    assert len(MODULES) > 20
    for path in MODULES:
        if path != ROOT / "dpverify" / "__init__.py":
            layer(path)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    names = [name.split(".") for name in imported(path)]
    if path == ROOT / "dpverify" / "__init__.py":
        return
    upward = [
        n for n in names if n[0] == "dpverify" and len(n) > 1 and LAYERS.index(n[1]) > layer(path)
    ]
    assert not upward
    if "cli" not in path.parts:
        assert not [n for n in names if n[0] in {"solvers", "proofs"}]


def test_import_stays_light() -> None:
    code = f"import sys, dpverify; print([m for m in {HEAVY!r} if m in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "[]"
