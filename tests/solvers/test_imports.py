"""Solvers import downward only, and nothing heavy until it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import solvers

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("solvers/**/*.py"))
ABOVE = ("auditing", "testing", "reporting", "cli")
LAYERS = (
    ("chunks", "domains"),
    ("bounds",),
    ("losses",),
    ("registry", "privacy"),
    ("defaults", "descent", "minimize"),
    ("hidden_path",),
    (
        *("approximate_minima", "exponential", "gradient_descent", "objective_perturbation"),
        *("lloyd", "output_perturbation", "random_trees", "sgd", "sufficient_statistics"),
    ),
    ("second_moments",),
    ("quality",),
    ("estimators",),
    ("selection",),
)
HEIGHTS = {name: height for height, layer in enumerate(LAYERS) for name in layer}


def imported(path: Path) -> list[str]:
    """The modules that are imported, `from solvers import defaults` as solvers.defaults."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    for n in nodes:
        if isinstance(n, ast.ImportFrom) and n.module:
            whole = n.module == "solvers"
            names += [f"solvers.{each.name}" for each in n.names] if whole else [n.module]
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    """Out of solvers, and inside: a room imports from its own and from lower layers only."""
    room = path.relative_to(ROOT / "solvers").parts[0].removesuffix(".py")
    for name in imported(path):
        parts = name.split(".")
        assert parts[0] not in {"proofs", "tests", "benchmarks"}
        assert parts[0] != "dpverify" or len(parts) < 2 or parts[1] not in ABOVE
        if parts[0] == "solvers" and room != "__init__" and parts[1] != room:
            assert HEIGHTS[parts[1]] < HEIGHTS[room]


def test_every_exported_name_is_there() -> None:
    old = {"Rule": "ObjectiveRule", "Certificate": "MinimumCertificate"}
    for name in solvers.__all__:
        assert getattr(solvers, name).__name__ == old.get(name, name)
    assert set(dir(solvers)) == set(solvers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = solvers.Nonsense


def test_private_fits_need_neither_cvxpy_nor_sklearn() -> None:
    code = (
        "import sys, solvers; solvers.ObjectivePerturbation; solvers.OutputPerturbation;"
        "print([m for m in ('cvxpy', 'sklearn', 'sympy') if m in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "[]"
