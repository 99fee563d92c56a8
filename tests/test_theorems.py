"""The theorem map: names are unique, sources are given, and every proof that is named exists."""

import ast
from pathlib import Path

import pytest

from dpverify import theorems
from dpverify.theorems import REGISTRY, Theorem

ROOT = Path(__file__).parents[1]


def test_names_are_unique() -> None:
    assert len({theorem.name for theorem in REGISTRY}) == len(REGISTRY) > 20


@pytest.mark.parametrize("theorem", REGISTRY, ids=lambda t: t.name)
def test_each_theorem_says_what_and_who(theorem: Theorem) -> None:
    assert theorem.statement.endswith(".")
    assert len(theorem.source) > 10
    assert theorem.proof is None or (ROOT / theorem.proof).is_file()
    assert theorem.name in str(theorem)


def test_each_theorem_is_used() -> None:
    """A citation that no code names would be decoration."""
    constants = {k for k, v in vars(theorems).items() if isinstance(v, Theorem)}
    used: set[str] = set()
    for path in ROOT.glob("dpverify/**/*.py"):
        if path.name != "theorems.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert not constants - used
