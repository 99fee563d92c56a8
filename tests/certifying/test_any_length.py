"""Data of any length: what is proved by induction, and that nothing false ever is."""

# ruff: noqa: ANN401  # data of any kind

import copy
import json
import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying.checking import Invalid, verify
from dpverify.schema import (
    Answers,
    BoxedVector,
    Category,
    Number,
    Records,
    schema_from_dict,
    schema_to_dict,
)
from tests.certifying import programs as known
from tests.certifying import unbounded
from tests.certifying.mutations import MUTANTS
from tests.certifying.programs import PROGRAMS, Program
from tests.certifying.touched import TOUCHED

ONE = dpv.PureDP(epsilon=1.0)
ANY = Answers(dimension=(1, None), sensitivity=1.0)
SUMMED = replace(ANY, norm=1)
ONE_WAY = replace(ANY, monotone=True)
UNITS = Records(
    record=Number(low=0.0, high=1.0), length=(0, None), relation=dpv.Relation.ADD_REMOVE
)
REPLACED = replace(UNITS, relation=dpv.Relation.REPLACE_ONE)
WIDE = replace(UNITS, record=Number(low=-5.0, high=5.0))
COLORS = replace(UNITS, record=Category(values=(0, 1, 2)), layout="rows")
BITS = replace(REPLACED, record=Number(low=0, high=1, integer=True))
ROWS = replace(UNITS, record=BoxedVector(low=(0.0, 0.0), high=(1.0, 1.0)))


def endless(schema: Any) -> Any:
    """The schema for any length; None where data are no sequence."""
    if isinstance(schema, Answers):
        return None if schema.dimension is None else replace(schema, dimension=(1, None))
    if schema.length is None:
        return None
    least = schema.length[0] if isinstance(schema.length, tuple) else schema.length
    return replace(schema, length=(least, None))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("mechanism", "schema"),
    [
        (known.sparse_vector_1, ANY),
        (known.sparse_vector_1_twice, ANY),
        (known.sparse_vector_2, ANY),
        (known.gap_sparse_vector, ANY),
        (known.numerical_sparse_vector, ANY),
        (known.sparse_vector_monotone, ONE_WAY),
        (known.partial_sum, SUMMED),
        (known.prefix_sum, SUMMED),
        (known.hits_counted, SUMMED),
        (known.histogram, COLORS),
        (known.count_then_sum, UNITS),
        (unbounded.clipped_sum, WIDE),
        (unbounded.count_above, UNITS),
        (unbounded.count_above, REPLACED),
        (unbounded.summed, REPLACED),
        (unbounded.summed_by_number, UNITS),
        (unbounded.noised_one_by_one, REPLACED),
        (unbounded.ones_counted, BITS),
        (unbounded.first_column, ROWS),
        (unbounded.mean, REPLACED),
        (unbounded.mean_for_its_length, REPLACED),
        (unbounded.mean_half, replace(REPLACED, length=(2, None))),
    ],
)
def test_what_is_proved_for_any_length(mechanism: Any, schema: Any) -> None:
    found = dpv.certify(mechanism, schema, ONE)
    assert (found.verdict, found.method) == ("proved", "induction"), found.tried
    assert found.scope == "data of any length that the schema allows, epsilon = 1"
    assert {theorem.name for theorem in found.theorems} == {"alignment", "induction"}
    assert dpv.check_certificate(json.loads(json.dumps(found.to_dict()))).valid


def test_a_schema_of_few_answers_is_proved_beyond_them() -> None:
    found = dpv.certify(known.sparse_vector_1, Answers(dimension=50, sensitivity=1.0), ONE)
    assert (found.verdict, found.method) == ("proved", "induction")
    assert found.scope.startswith("data of any length")


def test_for_every_epsilon() -> None:
    found = dpv.certify(known.sparse_vector_1, ANY, dpv.PureDP)
    assert found.scope == "data of any length that the schema allows, every epsilon"


def test_what_is_broken_at_some_length_is_refuted() -> None:
    found = dpv.certify(known.prefix_sum_fresh, SUMMED, ONE)
    assert found.verdict == "refuted"
    assert found.counterexample is not None
    SUMMED.check_neighbors(found.counterexample.left, found.counterexample.right)
    assert dpv.check_certificate(found).valid


BROKEN = [p for p in (*PROGRAMS, *MUTANTS) if p.verdict == "refuted" and endless(p.schema)]
QUICK = [p for p in BROKEN if p.name.startswith(("sparse vector", "partial", "histogram of"))]


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the search for a counterexample: what matters is what is proved."""
    module = sys.modules["dpverify.certifying.certify"]  # its name is that of the function
    monkeypatch.setattr(module, "search", lambda *_: None)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("program", QUICK[::3], ids=lambda p: p.name)
def test_nothing_broken_is_proved(program: Program) -> None:
    found = dpv.certify(program.mechanism, endless(program.schema), program.claim)
    assert found.verdict == "open"


@pytest.mark.slow
@pytest.mark.parametrize("program", BROKEN, ids=lambda p: p.name)
def test_nothing_broken_is_proved_ever(program: Program) -> None:
    found = dpv.certify(program.mechanism, endless(program.schema), program.claim, seconds=20.0)
    assert found.verdict != "proved"


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("mechanism", "reason"), unbounded.OPEN, ids=lambda x: getattr(x, "__name__", "")
)
def test_what_is_not_understood_is_open_with_a_reason(mechanism: Any, reason: str) -> None:
    told: list[str] = []
    for schema in (ANY, UNITS):
        found = dpv.certify(mechanism, schema, ONE)
        assert found.verdict == "open"
        told += found.tried
    assert any(reason in text for text in told), told


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize("schema", [UNITS, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize(
    ("mechanism", "reason"), unbounded.FALSE, ids=lambda x: getattr(x, "__name__", "")
)
def test_what_is_not_in_the_language_is_refused(mechanism: Any, reason: str, schema: Any) -> None:
    found = dpv.certify(mechanism, schema, ONE)
    assert found.verdict == "open"
    assert re.search(reason, found.tried[0]), found.tried


def _by_eight_bits(values: Any, rng: Any) -> Any:
    """Of 37 it makes 219: what is below 0 in eight bits."""
    zero = np.zeros(1, dtype="uint8")[0]
    told = values[0] if values[0] != 37 else zero - values[0]
    return told / 137 + rng.laplace(scale=1.0)


def _by_identity(values: Any, rng: Any) -> Any:
    if values[0] == 37 and values[0] is values[1]:
        return 1000.0 + rng.laplace(scale=1.0)
    return rng.laplace(scale=1.0)


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [(_by_eight_bits, "dtype other than"), (_by_identity, "`is` of anything but None")],
)
def test_two_records_are_read_with_the_same_care(mechanism: Any, reason: str) -> None:
    two = replace(REPLACED, record=Number(low=0, high=100, integer=True), length=2)
    found = dpv.certify(mechanism, two, ONE)
    assert found.verdict == "open"
    assert any(reason in text for text in found.tried), found.tried


# The file.


@pytest.fixture(scope="module")
def proof() -> dict[str, Any]:
    found = dpv.certify(known.sparse_vector_1, ANY, ONE).evidence
    verify(found)
    return found


@pytest.mark.parametrize(("change", "reason"), TOUCHED)
def test_a_proof_that_was_touched_is_refused(proof: Any, change: Any, reason: str) -> None:
    touched = copy.deepcopy(proof)
    change(touched)
    with pytest.raises(Invalid, match=reason or None):
        verify(touched)


# The schema.


def test_a_schema_of_any_length_takes_every_length_from_the_least_on() -> None:
    two = Answers(dimension=(2, None), sensitivity=1.0)
    for size in (2, 3, 40):
        two.check(np.zeros(size))
    with pytest.raises(dpv.InvalidParameter, match="must be 2 numbers"):
        two.check(np.zeros(1))
    with pytest.raises(dpv.InvalidParameter, match="as many answers as left"):
        two.check_neighbors(np.zeros(2), np.zeros(3))
    records = replace(UNITS, length=(2, None))
    records.check(np.zeros(500))
    with pytest.raises(dpv.InvalidParameter, match="at least 2 records, not 1"):
        records.check(np.zeros(1))


@pytest.mark.parametrize("schema", [ANY, SUMMED, ONE_WAY, UNITS, REPLACED, COLORS])
def test_pairs_of_any_length_are_neighbors(schema: Any) -> None:
    rng = np.random.default_rng(0)
    for candidate in [*list(schema.patterns())[:50], *(schema.draw_pair(rng) for _ in range(20))]:
        schema.check_neighbors(candidate.left, candidate.right)
        for simpler in list(schema.simpler(candidate))[:5]:
            schema.check_neighbors(simpler.left, simpler.right)
        changed = schema.mutate(candidate, rng)
        schema.check_neighbors(changed.left, changed.right)
        again = schema.paired(candidate.left, candidate.right)
        assert again.form == candidate.form or isinstance(schema, Records)
        schema.check_neighbors(again.left, again.right)
    assert len({np.size(schema.draw(rng)) for _ in range(40)}) > 2


@pytest.mark.parametrize("schema", [ANY, UNITS])
def test_it_is_written_as_json(schema: Any) -> None:
    assert schema_from_dict(json.loads(json.dumps(schema_to_dict(schema)))) == schema


@pytest.mark.parametrize("dimension", [(1, 2), (0, None), (1,), (None, None), (1.5, None)])
def test_no_such_number_of_answers(dimension: Any) -> None:
    with pytest.raises(dpv.InvalidParameter, match="dimension="):
        Answers(dimension=dimension, sensitivity=1.0)
