"""The examination of the checker is a good one: checkers with one thing wrong fail it."""

import pytest

from dpverify.certifying import checking
from tests.certifying.checker_mutants import FILES, Checker, Mutant, mutants, survives
from tests.certifying.examination import examine, papers


def test_the_checker_passes_its_examination() -> None:
    examine(checking)


def test_it_passes_under_another_name() -> None:
    with Checker() as checker:
        assert checker.__name__ != checking.__name__
        examine(checker)


def dropped(file: str) -> list[Mutant]:
    """Checkers without one of their conditions, or without one of their contradictions."""
    return [
        m for m in mutants(file) if m.change.startswith(("dropped: need", "dropped: impossible"))
    ]


@pytest.mark.slow
def test_conditions_on_forms_are_examined() -> None:
    papers()
    assert len(dropped("forms")) >= 5
    assert not [str(m) for m in dropped("forms") if survives(m)]


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_most_mutants_fail(file: str) -> None:
    """Changes of limits and of what is told to the reader pass; at least three in four fail."""
    papers()
    made = list(mutants(file))
    alive = [str(m) for m in made if survives(m)]
    assert len(alive) <= len(made) / 4, alive
