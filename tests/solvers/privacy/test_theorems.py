"""The theorems that solvers name are the ones that the proof files prove."""

from importlib import import_module

import pytest

from dpverify.theorems import REGISTRY, Theorem
from solvers.privacy import theorems

ALL = [value for value in vars(theorems).values() if isinstance(value, Theorem)]


@pytest.mark.parametrize("theorem", [t for t in ALL if t.proof], ids=lambda t: t.name)
def test_each_theorem_is_the_one_that_its_file_proves(theorem: Theorem) -> None:
    assert theorem.proof is not None
    module = import_module(theorem.proof.removesuffix(".py").replace("/", "."))
    assert module.PROOF.theorem == theorem


def test_names_are_unique() -> None:
    names = [theorem.name for theorem in (*ALL, *REGISTRY)]
    assert len(set(names)) == len(names)
    assert len(ALL) > 8
