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


def test_conditions_on_forms_are_examined() -> None:
    papers()
    assert len(dropped("forms")) >= 5
    assert not [str(m) for m in dropped("forms") if survives(m, seconds=1.5)]


PASSING = {
    "forms": 0, "trees": 1, "alignments": 5, "masses": 17, "exactly": 12, "neighbors": 17,
    "numbers": 61, "sums": 34, "normal": 26, "induction": 51,
}  # fmt: skip
"""Mutants that were looked at one by one, and pass since they check the same or more.

- Comparisons with 0 where no coefficient is 0, `strict=` where lengths were compared before, and
  limits of size that are one larger or smaller.
- A translation that depends on noise has no bound, so that what it costs refuses it as well; in a
  box every density falls, so that sums and integrals without an end are finite; a noise below its
  support breaks a fact; noises that are connected leave one without a place in its box.
- In `numbers`: 14 numbers of bits that are one more or less, and 22 limits of size, depth and
  fineness; 7 comparisons with 0 of what is not 0; 4 indices into a list of one; the largest of
  nothing (2); a sign that is found again and not remembered, or by bounds where one term would do
  (3); sums to which 0 is added (2); a bisection from −1, to 3^bits or with a middle rounded up (3);
  a polynomial with one more coefficient, which is 0, split at weights of 1/3 each, or with one half
  mirrored (3), whose signs are the same; a bound of e^r that counts the rest of its series once,
  beside terms that are all rounded up.
- Roundings in the last of sixty digits, beside others that are larger and in the right direction.
- Gaps and budgets in numbers of the program: the first place has none, so that no step fits them.
- Facts on where noise begins, and on what is whole, that say less; outputs that are told apart by
  more than they are. These refuse more.
"""


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_mutants_fail(file: str) -> None:
    """In the files that are not in the list, at least three in four."""
    papers()
    made = list(mutants(file))
    alive = [str(m) for m in made if survives(m)]
    assert len(alive) <= PASSING.get(file, len(made) / 4), alive
