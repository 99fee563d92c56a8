"""Files that a forger wrote, and programs that tell data by the type of a number."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.schema import Answers, Category, Number, Records

Rng = np.random.Generator
ONE = dpv.PureDP(epsilon=1.0)
REPLACED = dpv.Relation.REPLACE_ONE


def released(answers: Any, rng: Rng) -> list[Any]:  # noqa: ANN401
    return [x + rng.laplace(scale=1.0) for x in answers]


def above(answers: Any, rng: Rng) -> list[bool]:  # noqa: ANN401
    bar = rng.laplace(scale=2.0)
    out = []
    for answer in answers:
        if answer + rng.laplace(scale=2.0) >= bar:
            out.append(True)
            break
        out.append(False)
    return out


def written(mechanism: Any, schema: Any) -> dict[str, Any]:  # noqa: ANN401
    found = dpv.certify(mechanism, schema, ONE)
    assert found.proved
    told: dict[str, Any] = json.loads(json.dumps(found.to_dict()))
    assert dpv.check_certificate(told).valid
    return told


def test_a_second_pass_over_the_data_is_not_the_first() -> None:
    """Every answer twice costs 2: a file that numbers both loops alike is refused."""
    told = written(released, Answers(dimension=(1, None), sensitivity=1.0, norm=1))
    nodes, (first, loop, last) = told["nodes"], told["proof"][0]
    second = copy.deepcopy(nodes[1])
    second["bodies"][0]["output"][1] = 3
    nodes.append(second)
    nodes[1]["exit"]["output"][1] = 3
    left = copy.deepcopy(loop)
    left["steps"][1] = {"shift": {}, "bounds": {}, "cost": {"3": "1"}, "tests": []}
    told["proof"] = [[first, left, loop, last]]
    assert not dpv.check_certificate(told).valid


@pytest.mark.parametrize("told", [0, None, "false", "no", []])
def test_whether_answers_are_monotone_is_yes_or_no(told: Any) -> None:  # noqa: ANN401
    read = written(above, Answers(dimension=(1, None), sensitivity=1.0, monotone=True))
    read["schema"]["monotone"] = told
    assert not dpv.check_certificate(read).valid


SCHEMA = {
    "relation": "replace-one",
    "sizes": [1, 1],
    "slots": None,
    "values": ["a", "b"],
    "ordered": True,
    "ball": None,
}
REFUTED: dict[str, Any] = {
    "format": "dpverify certificate",
    "version": 4,
    "verdict": "refuted",
    "method": "counterexample",
    "claim": {"unit": "one", "epsilon": "1", "delta": "0", "ratio": None},
    "laws": {},
    "datasets": [["a"], ["b"]],
    "schema": SCHEMA,
    "trees": [{"output": ["text", "0"]}, {"output": ["text", "1"]}],
    "event": [["text", "0"]],
    "masses": [[[{}]], [[]]],
}
NUMBER = {"slots": [["0", "1", False]], "values": None}
MOVE = {"relation": "move", "norm": "1", "reach": "1", "monotone": False} | NUMBER


def test_the_refutation_that_is_forged_below_is_right() -> None:
    assert dpv.check_certificate(REFUTED).valid


@pytest.mark.parametrize(
    ("schema", "datasets"),
    [
        ({}, [["a"], ["a"]]),
        (NUMBER, [["1"], ["2/2"]]),
        ({"values": [1]}, [[1], [True]]),
        ({"slots": [["0", "1", 1]], "values": None}, [["1/2"], ["1/3"]]),
        (MOVE, [["1"], ["1"]]),
        ({"ordered": 1}, [["a"], ["b"]]),
        (NUMBER | {"ball": 0}, [["0"], ["1"]]),
    ],
)
def test_neighbors_differ(schema: dict[str, Any], datasets: list[Any]) -> None:
    forged = REFUTED | {"schema": SCHEMA | schema, "datasets": datasets}
    assert not dpv.check_certificate(forged).valid


def times_one(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    n: float = len(data)
    for x in data:
        if x > 0.5:
            n = n * 1.0
    return n


def plus_zero(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    n: float = len(data)
    for x in data:
        if x > 0.5:
            n = n + 0.0
    return n, rng.laplace(scale=1.0)


def three(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    n: float = 0
    for x in data:
        if x > 0.5:
            n = n + 1.0
    return n * 0 + 3


def nothing(data: Any, _rng: Rng) -> Any:  # noqa: ANN401
    n: float = 0
    for x in data:
        n = n + x
    return [n - n, max(n - n, 0)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("mechanism", "relation"),
    [
        (times_one, "replace-one"),
        (plus_zero, "replace-one"),
        (three, "replace-one"),
        (three, "add-remove"),
        (nothing, "add-remove"),
    ],
)
def test_a_type_that_tells_is_not_proved(mechanism: Callable[..., Any], relation: Any) -> None:  # noqa: ANN401
    record = Number(low=0.0, high=1.0)
    schema = Records(record=record, length=(0, None), relation=relation, layout="rows")
    assert not dpv.certify(mechanism, schema, ONE, seconds=3.0).proved


@pytest.mark.parametrize("told", [0, "1", {"norm": "2"}])
def test_what_a_proof_does_not_use_is_well_formed_too(told: Any) -> None:  # noqa: ANN401
    forged = written(released, Answers(dimension=1, sensitivity=1.0))
    forged["schema"]["ball"] = told
    found = dpv.check_certificate(forged)
    assert not found.valid
    assert found.reason.startswith("malformed: ")


def test_the_scope_is_said_in_lowest_terms() -> None:
    def scaled(data: Any, rng: Rng, epsilon: float) -> Any:  # noqa: ANN401
        return data[0] + rng.laplace(scale=1 / epsilon)

    found = dpv.certify(scaled, Answers(dimension=1, sensitivity=1.0), dpv.PureDP)
    told = json.loads(json.dumps(found.to_dict()))
    assert dpv.check_certificate(told).scope.endswith("every epsilon")
    for epsilon in ("2/2", "2"):
        told["claim"]["epsilon"] = epsilon
        checked = dpv.check_certificate(told)
        assert not checked.valid or "every epsilon" in checked.scope


@pytest.mark.parametrize("output", [{"numbers": []}, ["int", {"value": 1}], ["float", 0.5]])
def test_an_output_of_a_distribution_is_a_plain_one(output: Any) -> None:  # noqa: ANN401
    """Whatever is none could be told as two outputs, or as one."""
    bit = Records(record=Number(low=0, high=1, integer=True), length=1, relation=REPLACED)

    def response(data: Any, rng: Rng) -> int:  # noqa: ANN401
        return 1 if rng.random() < (1 + data[0]) / 3 else 0

    read = written(response, bit)
    assert read["method"] == "exact"
    for tree in read["trees"]:
        tree["then"][0]["output"] = output
    assert not dpv.check_certificate(read).valid


def told_by_its_truth(data: Any, rng: Rng) -> Any:  # noqa: ANN401
    """0.0 is false, and the text "0" is true."""
    return (5.0 if data[0] else 0.0) + rng.laplace(scale=1.0)


@pytest.mark.parametrize("values", [(0.0, "0"), (0.5, "1/2", 0.0)])
def test_values_that_a_file_writes_alike_are_neighbors_no_less(values: tuple[Any, ...]) -> None:
    """A number is written as a text: where that is a value too, no proof is about both."""
    record = Category(values=values)
    schema = Records(record=record, length=1, relation=REPLACED, layout="rows")
    assert not dpv.certify(told_by_its_truth, schema, ONE, seconds=3.0).proved
