"""Enumeration by hand-computed laws and by draws; and what the generator generates."""

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.neighbors import Relation
from tests.certifying import random_programs
from tests.certifying.enumeration import datasets, law, plain
from tests.certifying.random_programs import (
    Atom,
    RandomProgram,
    RationalClaim,
    cases,
    decide_by_enumeration,
    program_of,
)
from tests.certifying.schemas import Answers, Number, Records

BIT = Records(record=Number(low=0, high=1, integer=True), length=1, relation=Relation.REPLACE_ONE)
COUNT = Answers(dimension=1, sensitivity=1, integer=True, low=0, high=2)
COIN = Atom("int(rng.random() < 0.25)", ((0, Fraction(3, 4)), (1, Fraction(1, 4))))
DIE = Atom("rng.integers(-1, 2)", tuple((k, Fraction(1, 3)) for k in (-1, 0, 1)))


def response() -> RandomProgram:
    return program_of(["    return data[0] ^ {0}"], (COIN,), "response by hand")


def added() -> RandomProgram:
    return program_of(["    return data[0] + {0}"], (DIE,), "die by hand")


@pytest.mark.parametrize(
    ("program", "schema", "claim", "expected"),  # whether it is true, the excess, the largest ratio
    [
        (response(), BIT, RationalClaim(Fraction(3)), (True, 0, 3)),
        (response(), BIT, RationalClaim(Fraction(2)), (False, Fraction(1, 4), 3)),  # 3/4 − 2/4
        (response(), BIT, RationalClaim(Fraction(2), Fraction(1, 4)), (True, Fraction(1, 4), 3)),
        (added(), COUNT, RationalClaim(Fraction(64)), (False, Fraction(1, 3), math.inf)),
        (
            *(added(), COUNT, RationalClaim(Fraction(1), Fraction(1, 3))),
            (True, Fraction(1, 3), math.inf),
        ),
    ],
)
def test_decisions_by_hand(
    program: RandomProgram,
    schema: Records | Answers,
    claim: RationalClaim,
    expected: tuple[bool, Fraction, float],
) -> None:
    decision = decide_by_enumeration(program, schema, claim)
    assert (decision.true, decision.excess, decision.ratio) == expected


def test_early_stops_are_enumerated() -> None:
    # Two coins of 1/4: the first is heads, or the second, or none.
    lines = [
        "    for i in range(2):",
        "        if {0} == 1:",
        "            return i",
        "    return 2",
    ]
    program = program_of(lines, (COIN,), "stops by hand")
    assert program.law(np.array([0])) == {0: Fraction(1, 4), 1: Fraction(3, 16), 2: Fraction(9, 16)}


def test_enumerated_draws_by_hand() -> None:
    def drawn(_data: object, rng: np.random.Generator) -> object:
        u = rng.random()
        return (u < 0.5, u < 0.25, int(rng.binomial(2, 0.5)), tuple(rng.permutation(2)))

    found = law(drawn, None)
    assert sum(found.values()) == 1
    assert found[True, True, 1, (0, 1)] == Fraction(1, 4) * Fraction(1, 2) * Fraction(1, 2)
    assert (False, True, 1, (0, 1)) not in found  # u < 1/4 and not u < 1/2


@pytest.mark.false_alarm(1e-10)  # five kinds, forty draws of parameters, at most 15 values at 1e-13
@pytest.mark.parametrize(
    "kind", ["_two_sided", "_endless", "_one_sided", "_even", "_chosen", "_coin"]
)
def test_atoms_have_the_laws_they_are_said_to_have(kind: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(6):
        atom: Atom = getattr(random_programs, kind)(random.Random(seed))  # noqa: S311
        assert sum(mass for _, mass in atom.law) == 1
        least, most = atom.law[0][0], atom.law[-1][0]
        drawn = Counter(
            int(min(max(eval(atom.source, {"rng": rng}), least), most))  # noqa: S307
            for _ in range(1_000)
        )
        _compare(drawn, dict(atom.law), 1_000)


@pytest.mark.false_alarm(1e-10)  # twenty programs with at most thirty outputs each, at 1e-13
def test_laws_are_those_of_the_draws() -> None:
    rng = np.random.default_rng(6)
    for case in cases(20, seed=5_000):
        data = case.decision.left
        drawn = Counter(plain(case.program.mechanism(data, rng)) for _ in range(500))
        _compare(drawn, case.program.law(data), 500)


def _compare(drawn: Counter[Any], masses: dict[Any, Fraction], size: int) -> None:
    assert set(drawn) <= set(masses)
    for value, exact in masses.items():
        mass, seen = float(exact), drawn[value]
        assert min(binom.cdf(seen, size, mass), binom.sf(seen - 1, size, mass)) > 5e-14


def test_claims_of_both_kinds_and_reproducible() -> None:
    made = list(cases(16, seed=1))
    again = list(cases(16, seed=1))
    assert [c.program.source for c in made] == [c.program.source for c in again]
    assert [c.claim for c in made] == [c.claim for c in again]
    assert 4 <= sum(c.decision.true for c in made) <= 12
    assert len({c.program.source for c in made}) >= 14
    for case in made[:5]:
        found = decide_by_enumeration(case.program, case.schema, case.claim)
        assert found.true == case.decision.true
        case.schema.check_neighbors(found.left, found.right)
        assert all(sum(case.program.law(d).values()) == 1 for d in datasets(case.schema)[:2])


def test_claims_in_floats_are_not_below() -> None:
    claim = RationalClaim(Fraction(3), Fraction(1, 3)).guarantee
    assert Fraction(claim.delta) >= Fraction(1, 3)  # type: ignore[union-attr]
    assert claim.epsilon > math.log(3.0)  # type: ignore[union-attr]
