"""Files made by hand to deceive the checker: each states something false, or is without end."""

import copy
import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying.certificate import check_certificate
from dpverify.certifying.checking import Invalid, parsed, verify
from dpverify.certifying.checking.alignments import Noises
from dpverify.certifying.checking.induction import PairedPlace, SideBySide, situations
from dpverify.certifying.checking.normal import normal
from dpverify.certifying.checking.numbers import exp_bounds
from dpverify.certifying.searching.recipes import probabilities
from dpverify.errors import InvalidParameter
from dpverify.schema import Answers
from tests.certifying.small import certificate

Json: TypeAlias = Any


def refused(read: Json, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        verify(json.loads(json.dumps(read)))


# What an earlier checker let pass.


def test_vectors_of_a_counterexample_lie_in_their_ball() -> None:
    """Sums of 4 and −4 would break ε = 8/5, but vectors of norm 2 have sums up to 2√2."""
    read = certificate("less in a ball")
    read["claim"]["epsilon"] = "8/5"
    read["event"] = [["atmost", "-4"]]
    for tree, rows, total in zip(read["trees"], (["-2", "-2"], ["2", "2"]), (-4, 4), strict=True):
        tree["output"][1][1][""] = str(total)
        read["datasets"][0 if total < 0 else 1] = [rows]
    refused(read, "no such data")
    read["schema"]["ball"] = None
    assert verify(read) == "refuted"  # for the square of side 4 it is true


@pytest.mark.parametrize(
    "twice",
    [
        ["number", "{}"],
        ["atleast", "{}"],
        ["atmost", "{}"],
        ["any"],
        ["number", "{}/1"],
        ["int", 0],
    ],
    ids=str,
)
def test_an_event_counts_no_output_twice(twice: Json) -> None:
    """One output has the excess 1/3; counted twice it would break δ = 2/5."""
    read = certificate("less die")
    read["claim"]["delta"] = "2/5"
    (kind, number), *_ = read["event"]
    read["event"] = [[kind, number], json.loads(json.dumps(twice).replace("{}", number))]
    read["masses"] = probabilities(read, read["trees"])
    refused(read, "overlap|twice")
    read["event"] = read["event"][:1]
    read["masses"] = probabilities(read, read["trees"])
    refused(read, "not too likely")
    read["claim"]["delta"] = "1/4"
    assert verify(read) == "refuted"


def _two_noises(bar: int) -> Json:
    """Y where 5 ≤ n0 ≤ 6 and n0 + n1 reaches a bar."""
    yes: Json = {"output": ["text", "Y"]}
    no: Json = {"output": ["text", "N"]}
    tests = [{"n0": "1", "n1": "1", "": str(-bar)}, {"n0": "-1", "": "6"}, {"n0": "1", "": "-5"}]
    for test in [*tests, {"n0": "1"}]:
        yes = {"test": test, "strict": False, "yes": yes, "no": no}
    return yes


def test_a_box_has_no_noise_twice() -> None:
    """Two bars, 9 and 14, would give the same probabilities: ε = 0."""
    law = {"kind": "laplace", "parameter": {"num": ["1"], "den": ["1"], "root": 1, "power": 0}}
    twice = [["n0", 1, 2], ["n1", 3, None], ["n0", 0, None]]
    once = [["n1", 3, None], ["n0", 1, 2]]

    def cut(box: Json) -> Json:
        but = {"drop": 3, "all": {"box": [["n0", 1, 2]]}, "but": {"box": box}}
        rest = ([["n0", 2, None]], [["n0", 0, 1]], [["n0", 0, None]])
        return [[{"numbers": [], **h}] for h in ({"box": box}, but, *({"box": b} for b in rest))]

    read = {
        "method": "exact",
        "schema": {"relation": "replace-one", "sizes": [1, 1], "slots": None,
                   "values": ["a", "b"], "ball": None, "ordered": True},
        "claim": {"unit": "one", "ratio": None, "epsilon": "0", "delta": "0"},
        "laws": {"n0": law, "n1": law},
        "datasets": [["a"], ["b"]],
        "trees": [_two_noises(9), _two_noises(14)],
        "masses": [cut(twice), cut(once)],
    }  # fmt: skip
    refused(read, "a noise is there twice")
    refused(read | {"masses": [cut(once), cut(once)]}, "the claim does not hold")


FORMS_ELSEWHERE: list[Json] = [
    ["value", {}],
    ["value", {}, "A"],
    ["text", ["value", {}]],
    ["list", ["value", {}]],
    ["float", ["value", {}], "A"],
    ["float", ["value", {}, "A"]],
    ["float", ["value"]],
]


@pytest.mark.parametrize(
    ("output", "why"),
    [({"k": ["value", {"x0": "1"}]}, "no such output")]
    + [(output, "in a number|no such output") for output in FORMS_ELSEWHERE],
)
def test_an_output_hides_nothing(output: Json, why: str) -> None:
    """The data as they are, where forms are not looked for."""
    read = certificate("threshold")
    read["trees"] = {"1": {"output": output}}
    read["proof"] = [
        {"groups": [{"shift": {}, "bounds": {}, "cost": {"2": "1"}, "walks": {"0": {}}}]}
    ]
    refused(read, why)


def test_noise_of_laplace_is_not_whole() -> None:
    """Between −1/2 and 0 it tells the data; no whole number is there."""
    read = certificate("threshold")
    inner = {"test": {"n0": "1", "": "1/2"}, "strict": False, "where": "", "no": says("a")}
    inner["yes"] = {"output": ["float", ["value", {"x0": "1"}]]}
    outer = {"test": {"n0": "1"}, "strict": False, "where": "", "yes": says("a"), "no": inner}
    never = [{"impossible": dict.fromkeys(two, "1")} for two in ("23", "24", "35")]
    walks = {
        "0": {"yes": {}, "no": never[0]},
        "1": never[0],
        "2": {"yes": never[1], "no": {"yes": never[2], "no": {}}},
    }
    group = {"shift": {}, "bounds": {}, "cost": {"2": "1"}, "walks": walks}
    refused(read | {"trees": {"1": outer}, "proof": [{"groups": [group]}]}, "no contradiction")


def _endless(*bodies: Json, **change: Json) -> Json:
    """A loop over numbers from 0 to 1, or over as many values as bodies; without noise.

    Of every step it is said that nothing has to be shown.
    """
    values = None if len(bodies) == 1 else list(range(len(bodies)))
    read = {
        "method": "induction",
        "schema": {"relation": "replace-one", "sizes": [1, None], "ball": None, "ordered": True,
                   "slots": None if values else [["0", "1", False]], "values": values},
        "claim": {"unit": "one", "ratio": None, "epsilon": "1", "delta": "0"},
        "laws": {}, "untyped": False,
        "nodes": [
            {"symbols": 0, "tree": _go(1)},
            {"symbols": 0, "loop": 0, "lists": ["o"], "bodies": list(bodies), "exit": _go(2)},
            {"symbols": 0, "tree": {"output": ["return", ["none"]]}},
            {"symbols": 0, "tree": {"output": ["return", ["text", "early"]]}},
        ],
    } | change  # fmt: skip
    found, noises = list(situations(read["schema"])), Noises(read)
    return read | {"proof": [_nothing_shown(SideBySide(read, noises, s)) for s in found]}


def _go(node: int) -> Json:
    return {"output": ["go", node, ["state"], ["told", ["grown", "o"]]]}


def _nothing_shown(runs: SideBySide) -> Json:
    places, told = [PairedPlace(0)], []
    for place in places:
        steps = []
        for step in runs.steps(place):
            if step.target is not None and step.target not in places:
                places.append(step.target)
            steps.append({"shift": {}, "bounds": {}, "tests": [{}] * len(step.pairs),
                          "cost": {str(len(step.facts)): "1"}})  # fmt: skip
        told.append({"gaps": [], "budget": {"": "1"}, "steps": steps})
    return told


def _compared(yes: Json, no: Json) -> Json:
    """Whether a record is at least a half."""
    test = {"test": {"x0": "1", "": "-1/2"}, "strict": False, "where": ""}
    return test | {"yes": yes, "no": no}


def any_loop() -> Json:
    """Right: it tells nothing."""
    return _endless(_compared(_go(1), _go(1)))


def any_coin() -> Json:
    """Right: a coin for each of three values, and none of the data."""
    early = {"draw": [HALF, HALF], "then": [_go(1), _go(3)]}
    return _endless(early, early, early)


def any_number() -> Json:
    """Right: for each of −1, 0 and 1 it tells nothing."""
    bodies = [_go(1)] * 3
    schema = any_coin()["schema"] | {"slots": [["-1", "1", True]], "values": None}
    return _endless(*bodies, schema=schema)


def loop_at_once() -> Json:
    """Right: the first node is the loop."""
    loop = {"symbols": 0, "loop": 0, "lists": ["o"], "bodies": [_go(0)], "exit": _go(1)}
    end = {"symbols": 0, "tree": {"output": ["return", ["none"]]}}
    return _endless(_go(0), nodes=[loop, end])


def untyped_answers() -> Json:
    """Right: the same way through the code, on answers that move."""
    return certificate("any sparse vector") | {"untyped": True}


def test_records_are_not_fewer_than_none() -> None:
    """1 per record is above 0; it is no contradiction that it is at most 1."""
    read = certificate("any mean")
    noises = Noises(read)
    for case, situation in zip(read["proof"], situations(read["schema"]), strict=True):
        (step,) = SideBySide(read, noises, situation).steps(PairedPlace(0))
        last = [str(len(step.facts) - k) for k in (2, 1)]
        case[:] = [case[0] | {"steps": [{"impossible": dict.fromkeys(last, "1")}]}]
    refused(read, "no contradiction")


def test_the_number_of_records_is_not_told_where_it_differs() -> None:
    schema = any_loop()["schema"] | {"relation": "add-remove"}
    read = _endless(_go(1), schema=schema)
    read["nodes"][2]["tree"]["output"] = ["return", ["float", ["value", {"w": "1"}]]]
    for case in read["proof"]:
        for step in (step for place in case for step in place["steps"]):
            ((key, one),) = step["cost"].items()  # facts are there per record, too
            step["cost"] = {str(2 * int(key) + 2): one}
    refused(read, "number of records")


def test_runs_throw_the_same_coin() -> None:
    coin: Json = {"draw": [HALF, HALF], "then": [_go(1), _go(3)]}
    read = _endless(_compared(coin, copy.deepcopy(coin)))
    assert verify(read) == "proved"
    read["nodes"][1]["bodies"][0]["no"]["draw"] = [QUARTER, REST]
    refused(read, "malformed|the runs part")


def test_answers_that_all_move_are_not_summed() -> None:
    read = certificate("any answers")
    assert read["schema"]["norm"] == "1"
    read["schema"]["norm"] = "inf"
    refused(read, ".")


def test_two_runs_stay_together() -> None:
    """One ends early and the other goes on; or one throws a coin and the other does not."""
    refused(_endless(_compared(_go(3), _go(1))), "the runs part")
    refused(_endless(_compared(_go(1), {"output": ["return", ["none"]]})), "the runs part")
    coin = {"draw": [HALF, HALF], "then": [_go(1), _go(1)]}
    refused(_endless(_compared(coin, _go(1))), "the runs part")
    other = {"draw": [QUARTER, REST], "then": [_go(1), _go(1)]}
    refused(_endless(_compared(coin, other)), "the runs part")
    refused(_endless(_go(1), _go(3)), "the runs part")


def test_two_runs_tell_the_same() -> None:
    grown = {"output": ["go", 1, ["state"], ["told", ["grown", "o", ["int", 1]]]]}
    refused(_endless(_compared(grown, _go(1))), "what is told may change")
    ends = [{"output": ["return", ["text", text]]} for text in "YN"]
    refused(_endless(_compared(*ends)), "the output may change")
    refused(_endless(*ends), "the output may change")


def test_a_relation_has_a_name() -> None:
    schema = any_loop()["schema"] | {"relation": "add-remove", "sizes": [0, None]}
    read = _endless(_compared(_go(1), _go(1)), schema=schema)
    assert verify(read) == "proved"
    read["schema"]["relation"] = "other"
    refused(read, "unknown relation")


def test_a_number_without_a_type_is_told_on_one_way_alone() -> None:
    for body in (_go(1), _compared(_go(1), _go(1))):
        refused(_endless(body, untyped=True), "by its type")


def test_no_step_is_impossible_by_itself() -> None:
    read = _endless(_compared(_go(3), _go(1)))
    for case in read["proof"]:
        case[:] = [case[0] | {"steps": [{"impossible": {}}]}]
    refused(read, "no contradiction")


@pytest.mark.parametrize("weights", ["the record", "nothing", "twice"])
def test_a_draw_in_a_loop_has_weights(weights: str) -> None:
    """Weights x and 1 − x tell the record."""
    read = _endless({"draw": [HALF, HALF], "then": [_go(1), _go(3)]})
    (body,) = read["nodes"][1]["bodies"]
    zero = {"num": ["0"], "den": ["1"], "root": 1, "power": 0}
    body["draw"] = {
        "the record": [["value", {"x0": "1"}], ["value", {"x0": "-1", "": "1"}]],
        "nothing": [zero, zero],
        "twice": [HALF, REST],
    }[weights]
    refused(read, "malformed|weight")


def test_the_scope_is_in_the_words_of_the_checker() -> None:
    found = check_certificate(
        certificate("threshold")
        | {"format": "dpverify certificate", "version": 4, "verdict": "proved"}
        | {"scope": "all data, epsilon = 0", "assumes": []}
    )
    assert found.valid
    assert found.scope == "all data that the schema allows, epsilon = 1"
    assert len(found.assumes) == 4


def test_functions_of_one_name_are_not_taken_for_each_other() -> None:
    def noisy(x: float, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return LARGEST(x, 0) + rng.laplace(scale=SCALE)

    found = dpv.certify(noisy, Answers(sensitivity=1.0), dpv.PureDP(epsilon=1.0))
    assert check_certificate(found, noisy).valid
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "LARGEST", np.max)  # along an axis
        assert not check_certificate(found, noisy).valid


def test_the_mechanism_is_named_and_can_be_compared() -> None:
    def noisy(x: float, rng: np.random.Generator) -> float:
        return x + rng.laplace(scale=SCALE)

    def other(x: float, rng: np.random.Generator) -> float:
        return x + rng.laplace(scale=SCALE) + 0.0

    found = dpv.certify(noisy, Answers(sensitivity=1.0), dpv.PureDP(epsilon=1.0))
    checked = check_certificate(found, noisy)
    assert (checked.valid, checked.mechanism) == (True, "noisy")
    assert checked.data.startswith("1 answer, each a number in [-inf, inf]; between neighbors")
    assert not check_certificate(found, other).valid
    assert "of another function, noisy" in check_certificate(found, other).reason
    assert not check_certificate(found, len).valid
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "SCALE", 2.0)
        assert not check_certificate(found, noisy).valid


SCALE = 1.0
LARGEST: Any = max


def scaled(scale: float) -> Callable[..., float]:
    def noisy(x: float, rng: np.random.Generator, own: float = scale) -> float:
        return x + rng.laplace(scale=own)

    return noisy


def listed(cells: Any) -> Callable[..., float]:  # noqa: ANN401
    constants = (cells,)

    def noisy(x: float, rng: np.random.Generator) -> float:
        return float(x + rng.laplace(scale=constants[0][-2]))

    return noisy


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scaled(1.0), scaled(0.01)),
        (listed([1.0, 1.0]), listed([0.01, 1.0])),
        (listed(np.ones(1500)), listed(np.array([1.0] * 1498 + [0.01, 1.0]))),
    ],
)
def test_defaults_and_constants_tell_functions_apart(one: Any, other: Any) -> None:  # noqa: ANN401
    found = dpv.certify(one, Answers(sensitivity=1.0), dpv.PureDP(epsilon=1.0))
    assert check_certificate(found, one).valid
    assert not check_certificate(found, other).valid


@pytest.mark.parametrize(("relation", "sizes"), [("add-remove", [3, 3]), ("replace-one", [0, 0])])
def test_data_without_neighbors_show_nothing(relation: str, sizes: list[int]) -> None:
    read = certificate("threshold")
    bounded = {"slots": [["0", "1", False]], "values": None, "ball": None, "ordered": True}
    schema = {"relation": relation, "sizes": sizes} | bounded
    refused(read | {"schema": schema, "trees": {}, "proof": []}, "there are no neighbors")


# Names and programs.


@pytest.mark.parametrize("name", ["x0", "x1", ""])
def test_noise_has_names_of_its_own(name: str) -> None:
    """Data are returned as they are; but noise that is called x0 is the same on both sides."""
    read = certificate("threshold")
    read["trees"] = {"1": {"output": ["value", {"x0": "1"}]}}
    read["laws"] = {name: read["laws"]["n0"]}
    walked = {"shift": {}, "bounds": {}, "cost": {"2": "1"}, "walks": {"0": {}}}
    read["proof"] = [{"groups": [walked]}]
    refused(read, "another name")


@pytest.mark.parametrize("symbol", ["d0", "y0", "x7", "z", "n9"])
def test_a_tree_knows_its_own_data_alone(symbol: str) -> None:
    read = certificate("threshold")
    read["trees"]["1"]["test"][symbol] = "1"
    refused(read, "knows more")


@pytest.mark.parametrize("weights", [["3/4", "1/2"], ["5/4", "-1/4"], ["0", "0"], ["1/2", "1/4"]])
@pytest.mark.parametrize("name", ["response", "less response", "sometimes"])
def test_weights_are_probabilities(name: str, weights: list[str]) -> None:
    read = certificate(name)
    trees = read["trees"].values() if isinstance(read["trees"], dict) else read["trees"]
    for tree in trees:
        for place, weight in zip(tree["draw"], weights, strict=True):
            place["num"], place["den"] = [weight], ["1"]
    refused(read, "weight")


@pytest.mark.parametrize(
    "change",
    [{"num": ["2"]}, {"num": ["1"]}, {"num": ["-1/2"]}, {"num": ["0"]}, {"root": 0}, {"root": -1},
     {"power": -1}, {"den": ["0"]}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["clipped", "geometric max, aligned", "less geometric max"])
def test_a_ratio_lies_between_0_and_1(name: str, change: Json) -> None:
    read = certificate(name)
    for law in read["laws"].values():
        law["parameter"] |= change
    refused(read, ".")


def test_scales_are_positive() -> None:
    read = certificate("threshold")
    for wrong in ({"num": ["-1"]}, {"num": ["0"]}, {"den": ["-1"]}, {"power": -1}, {"power": 1}):
        made = copy.deepcopy(read)
        made["laws"]["n0"]["parameter"] |= wrong
        refused(made, "scale")


# Translations.


def pieces(*ends: tuple[str, str]) -> Json:
    """A tree that returns the name of the piece in which n0 lies: below an end, or else."""
    if len(ends) == 1:
        return {"output": ["text", ends[0][1]]}
    end, name = ends[0]
    below = {"output": ["text", name]}
    return {"test": {"n0": "-1", "": end}, "strict": True, "yes": below, "no": pieces(*ends[1:])}


def group(walks: Json, shift: str | None = None, facts: int = 0) -> Json:
    """Paths that are translated by a number; what it costs is seen from itself."""
    own = {str(facts): "1"}
    made = {"shift": {}, "bounds": {}, "cost": own, "walks": walks}
    if shift is None:
        return made
    bound = {"bound": {"": shift.removeprefix("-")}, "above": own, "below": own}
    return made | {"shift": {"n0": {"": shift}}, "bounds": {"n0": bound}}


def never(first: int, second: int, more: int = 0) -> Json:
    """Two facts that contradict each other, after some more."""
    return {"impossible": {str(first + more): "1", str(second + more): "1"}}


def meeting(more: int = 0) -> list[Json]:
    """Where each path on the left ends on the right; after some more facts."""
    return [
        {"yes": {}, "no": never(0, 1, more)},
        {"yes": never(0, 2, more), "no": {"yes": {}, "no": never(1, 3, more)}},
        {"yes": never(1, 3, more), "no": {"yes": {}, "no": never(2, 4, more)}},
        {"yes": never(1, 3, more), "no": {"yes": never(2, 4, more), "no": {}}},
    ]


BACK = [
    group({"0": {"yes": {}, "no": never(0, 1)}}, "-1"),
    group({
        "1": {"yes": never(0, 2), "no": {"yes": never(0, 3), "no": {"yes": {}, "no": never(1, 4)}}},
        "2": {"yes": never(0, 2), "no": {"yes": never(0, 3), "no": {"yes": never(1, 4), "no": {}}}},
    }),
]  # fmt: skip
"""Translations from the right to the left, which are as they should be."""


def onto_another(first: Json) -> Json:
    """[0, 1) is moved onto [1, 2), which stays: P[0, 2)/P[1, 2) is 3.7, and not e at most."""
    read = certificate("noisy bit")
    left = pieces(("0", "b"), ("1", "a"), ("2", "a"), ("", "b"))
    right = pieces(("1", "b"), ("2", "a"), ("", "b"))
    read["trees"] = {"0": left, "1": right}
    read["proof"] = [first, {"groups": BACK}]
    return read


def test_two_translations_do_not_meet() -> None:
    walks = dict(zip("0123", meeting(), strict=True))
    moved = group({"1": walks.pop("1")}, "1")
    refused(onto_another({"groups": [group(walks), moved]}), "may meet")


def test_a_case_does_not_look_at_noise() -> None:
    """Or else the two would meet in two cases, n0 ≥ 1 and n0 < 1."""
    walks = dict(zip("0123", meeting(1), strict=True))
    below = {"0": walks["0"], "2": never(0, 2), "3": never(0, 2)}
    above = {"2": walks["2"], "3": walks["3"], "0": never(0, 1), "1": never(0, 2)}
    moved = group({"1": walks["1"]}, "1", 1)
    no = {"groups": [group(below, None, 1), moved]}
    yes = {"groups": [group(above, None, 1)]}
    refused(onto_another({"split": {"n0": "1", "": "-1"}, "yes": yes, "no": no}), "on noise")


def test_translations_cost_what_they_cost() -> None:
    read = certificate("threshold")
    groups = read["proof"][0]
    text = json.dumps(groups)
    assert '"bound"' in text
    for bound in ('{"": "0"}', '{"": "1/2"}', '{"": "-1"}'):
        made = copy.deepcopy(read)
        made["proof"][0] = json.loads(text)
        for place in _bounds(made["proof"]):
            place["bound"] = json.loads(bound)
        refused(made, "contradiction|symbol")


def _bounds(value: Json) -> list[Json]:
    if isinstance(value, dict):
        own = [value] if "bound" in value and "above" in value else []
        return own + [b for part in value.values() for b in _bounds(part)]
    return [b for part in value for b in _bounds(part)] if isinstance(value, list) else []


@pytest.mark.parametrize("shift", [{"n0": {"": "1/2"}}, {"n0": {"d0": "1/2"}}, {"x0": {"": "1"}}])
def test_whole_noise_is_moved_by_whole_numbers(shift: Json) -> None:
    read = certificate("geometric max, aligned")
    for case in _cases(read["proof"]):
        for one in case["groups"]:
            one["shift"] = shift
            one["bounds"] = {
                name: {"bound": s, "above": {}, "below": {}} for name, s in shift.items()
            }
    refused(read, "whole|malformed|contradiction")


@pytest.mark.parametrize("name", ["threshold", "geometric max, aligned", "exponential max"])
def test_translations_and_cases_do_not_look_at_noise(name: str) -> None:
    read = certificate(name)
    for case in _cases(read["proof"]):
        for one in case["groups"]:
            one["shift"] = {"n0": {"n0": "1"}}
            one["bounds"] = {"n0": {"bound": {}, "above": {}, "below": {}}}
    refused(read, "depend on noise")
    read = certificate(name)
    read["proof"] = [{"split": {"n0": "1"}, "yes": case, "no": case} for case in read["proof"]]
    refused(read, "depend on noise")


def _cases(proof: Json) -> list[Json]:
    if isinstance(proof, list):
        return [c for part in proof for c in _cases(part)]
    return [proof] if "groups" in proof else _cases([proof[k] for k in ("yes", "no") if k in proof])


# Files without end.


def nested(depth: int) -> Json:
    tree: Json = {"output": ["int", 0]}
    for _ in range(depth):
        tree = {"test": {"n0": "1"}, "strict": False, "yes": tree, "no": {"output": ["int", 1]}}
    return tree


def _deep(read: Json) -> None:
    read["trees"] = {key: nested(5_000) for key in read["trees"]}


def _long(read: Json) -> None:
    read["claim"]["epsilon"] = "9" * 100_000


def _sizes(read: Json) -> None:
    read["schema"]["sizes"] = [0, 10**9]


def _many(read: Json) -> None:
    read["schema"] |= {"sizes": [150, 150], "slots": [["0", "9", True]]}


def _slots(read: Json) -> None:
    read["schema"]["slots"] = [["0", "1" + "0" * 900, True]]


ENDLESS: list[tuple[str, Callable[[Json], None]]] = [
    ("threshold", _deep),
    ("threshold", _long),
    ("threshold", _sizes),
    ("clipped", _many),
    ("clipped", _slots),
    ("clipped", _sizes),
]


@pytest.mark.parametrize(("name", "change"), ENDLESS)
def test_endless_files_are_refused(name: str, change: Callable[[Json], None]) -> None:
    read = certificate(name)
    change(read)
    with pytest.raises(Invalid):
        verify(read)


def at(value: Json, key: str, change: Callable[[Json], Json]) -> None:
    """Change all values of a key."""
    if isinstance(value, dict):
        for name, part in value.items():
            value[name] = change(part) if name == key else part
            at(part, key, change)
    elif isinstance(value, list):
        for part in value:
            at(part, key, change)


HUGE = "1" + "0" * 900
HUGE_IN = (
    "clipped for every epsilon",
    "total",
    "noisy sum, delta",
    "less larger",
    "less noisy sum",
)
TINY = {"num": [f"1/{HUGE}"], "den": ["1"], "root": 1, "power": 0}


@pytest.mark.parametrize("name", HUGE_IN)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("epsilon", HUGE), ("ratio", HUGE), ("delta", "1e9999999"), ("root", 10**18), ("mu", HUGE),
        ("", HUGE), ("num", ["0"] * 20_000 + ["1"]), ("parameter", TINY),
        ("numbers", [10**12]), ("reach", HUGE), ("unit", "every"),
        ("epsilon", f"1/{HUGE}"), ("radius", HUGE), ("", f"1/{HUGE}"),
    ],
    ids=lambda value: str(value)[:12],
)  # fmt: skip
def test_huge_numbers_are_refused_or_harmless(name: str, key: str, value: Json) -> None:
    """Whatever is said of them, it is said soon."""
    read = certificate(name)
    at(read, key, lambda _: value)
    try:
        verify(read)
    except Invalid:
        return


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": 0.5}',
        '{"a": 1e5}',
        "[" * 100_000,
        '{"a": ' + "9" * 10_000 + "}",
        "{",
    ],
    ids=lambda text: text[:20],
)
def test_a_file_is_read_as_it_is_written(text: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid):
        parsed(text)
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match="JSON"):
        check_certificate(path)


def test_certificates_of_another_version_are_refused() -> None:
    read = certificate("response")
    for version in (1, 2, 3, None, "4", 5):
        with pytest.raises(InvalidParameter, match="version"):
            check_certificate(read | {"version": version})


# Programs of a few lines with proofs written by hand, each false in one place.


HALF, QUARTER, REST = (
    {"num": [p], "den": ["1"], "root": 1, "power": 0} for p in ("1/2", "1/4", "3/4")
)
EXPONENTIAL = {"num": ["0", "1"], "den": ["1"], "root": 1, "power": 0}  # e^(−1)


def says(text: str) -> Json:
    return {"output": ["text", text]}


def moved(tree: Json, proof: Json, **laws: Json) -> Json:
    """A program on one real number that moves by d0, |d0| ≤ 1, at ε = 1."""
    read = certificate("threshold")
    return read | {"trees": {"1": tree}, "proof": [proof], "laws": laws}


def unmoved(facts: int, *walks: Json) -> Json:
    """The same noise on both sides, after so many facts; the walks of all paths."""
    told = {str(i): walk for i, walk in enumerate(walks)}
    return {"groups": [{"shift": {}, "bounds": {}, "cost": {str(facts): "1"}, "walks": told}]}


def geometric() -> Json:
    return {"kind": "geometric", "parameter": EXPONENTIAL}


def test_a_case_must_be_shown_to_be_impossible() -> None:
    tree = {"output": ["float", ["value", {"x0": "1"}]]}
    refused(moved(tree, {"impossible": {}}), "no contradiction")


def test_noise_is_not_named_like_data() -> None:
    tree = {"output": ["float", ["value", {"x0": "1"}]]}
    law = certificate("threshold")["laws"]["n0"]
    refused(moved(tree, unmoved(2, {}), x0=law), "another name")


def test_cases_leave_no_gap() -> None:
    """Whether x is 0, which is neither above nor below."""
    above, below = {"x0": "1"}, {"x0": "-1"}
    tree = {"test": above, "strict": False, "where": "", "no": says("other")}
    tree["yes"] = {
        "test": below, "strict": False, "where": "", "yes": says("zero"), "no": says("other"),
    }  # fmt: skip
    right = {"x0": "1", "d0": "1"}

    def gone(*facts: str) -> Json:
        return {"impossible": dict.fromkeys(facts, "1")}

    def walk(at: int, *, positive: bool) -> Json:
        """The neighbor's way, from the fact of this number on: its sign is fact 3."""
        up = {"yes": gone("3", str(at + 1)), "no": {}} if positive else gone("3", str(at))
        return {"yes": up, "no": {}}

    proof: Json = {"split": above}
    for own in ("yes", "no"):
        proof[own] = {"split": right}
        for other in ("yes", "no"):
            positive = other == "yes"
            walks = [gone("2", "5"), walk(6, positive=positive), gone("2", "4")]
            if own == "no":
                walks = [gone("2", "4"), gone("2", "4"), walk(5, positive=positive)]
            proof[own][other] = unmoved(4, *walks)
    refused(moved(tree, proof), "no contradiction")


def test_whole_noise_is_not_moved_by_a_fraction() -> None:
    """x + n0 − n1 tells the fraction of x."""
    tree = {"output": ["float", ["value", {"x0": "1", "n0": "1", "n1": "-1"}]]}

    def group(name: str, shift: Json, fact: str) -> Json:
        bound = {"bound": shift, "above": {"5": "1"}, "below": {"4": "1", "5": "1"}}
        return {
            "groups": [
                {"shift": {name: shift}, "bounds": {name: bound}, "cost": {fact: "1", "5": "1"}}
                | {"walks": {"0": {}}}
            ]
        }

    for facts in (("0", "1"), ("1", "0")):
        proof = {
            "split": {"d0": "1"},
            "yes": group("n1", {"d0": "1"}, facts[0]),
            "no": group("n0", {"d0": "-1"}, facts[1]),
        }
        refused(moved(tree, proof, n0=geometric(), n1=geometric()), "no whole shift")


def test_a_noise_may_be_where_its_support_begins() -> None:
    """Geometric noise is 1 with probability 0.63, and then x is told."""
    tree = {
        "test": {"n0": "1", "": "-2"}, "strict": False, "where": "",
        "yes": says("nothing"), "no": {"output": ["float", ["value", {"x0": "1"}]]},
    }  # fmt: skip
    gone = {"impossible": {"2": "1", "3": "1"}}
    walk = {"yes": {}, "no": {"impossible": {"3": "1", "4": "1"}}}
    refused(moved(tree, unmoved(3, walk, gone), n0=geometric()), "no contradiction")


def by_sign(yes: Json, no: Json) -> Json:
    return {"test": {"x0": "1"}, "strict": False, "where": "", "yes": yes, "no": no}


def test_another_draw_may_have_any_outcome() -> None:
    """A coin of 1/2 on one side, of 1/4 on the other."""
    ends = [says("a"), says("b")]
    tree = by_sign({"draw": [HALF, HALF], "then": ends}, {"draw": [QUARTER, REST], "then": ends})
    walks: Json = [{side: {"draw": {str(i): {}}} for side in ("yes", "no")} for i in (0, 1, 0, 1)]
    refused(moved(tree, unmoved(2, *walks)), "malformed")


def test_a_draw_has_all_its_outcomes() -> None:
    tree = {"draw": [HALF, HALF], "then": [says("a")]}
    refused(moved(tree, unmoved(2, {"draw": {"0": {}}})), "malformed")


def both_ways() -> Json:
    """Right: the same text in the end, with a coin on one side that the other does not throw."""
    tree = by_sign(says("a"), {"draw": [HALF, HALF], "then": [says("a"), says("a")]})
    coin: Json = {"draw": {"0": {}, "1": {}}}
    walks = [{"yes": {}, "no": coin}, *({"yes": {}, "no": {"draw": {str(i): {}}}} for i in (0, 1))]
    return moved(tree, unmoved(2, *walks))


def all_kinds() -> Json:
    """Right: noise of all kinds, of which none is used."""
    law = certificate("threshold")["laws"]["n0"]
    laws = {"n0": law, "n1": law | {"kind": "exponential"}, "n2": geometric()}
    return moved(says("a"), unmoved(4, {}), **laws)


def split_twice() -> Json:
    """Right: a case within a case that cannot be."""
    twice = {
        "split": {"x0": "1"},
        "yes": unmoved(4, {}),
        "no": {"impossible": {"2": "1", "3": "1"}},
    }
    return moved(says("a"), {"split": {"x0": "1"}, "yes": twice, "no": unmoved(3, {})})


# Sums of noised answers.


def releases(read: Json) -> list[Json]:
    """All releases in the trees of a certificate."""
    found, waiting = [], list(read["trees"].values())
    while waiting:
        tree = waiting.pop()
        found += [tree] if "release" in tree else []
        waiting += [tree["then"]] if "then" in tree else []
    return found


def test_noise_of_two_scales_tells() -> None:
    """Five times the noise where there is no record."""
    read = certificate("noisy sum")
    read["trees"]["0"]["scale"] = "5"
    refused(read, "the noises differ")


@pytest.mark.parametrize("scale", ["-1", "0"])
def test_a_release_has_noise(scale: str) -> None:
    read = certificate("noisy sum")
    for release in releases(read):
        release["scale"] = scale
    refused(read, "no noise")


def test_a_deviation_is_a_rational() -> None:
    """2 − e^(−1) is less than 2."""
    read = certificate("noisy sum")
    for law in (*read["laws"].values(), *(release["law"] for release in releases(read))):
        law["parameter"]["num"] = ["2", "-1"]
    refused(read, "no rational scale")


@pytest.mark.parametrize(
    ("name", "claim", "why"),
    [
        ("noisy sum", {"kind": "pure"}, "no claim"),
        ("noisy sum", {"kind": "other"}, "no claim"),
        ("noisy sum", {"mu": "-1/2"}, "no claim"),
        ("noisy sum", {"unit": "every"}, "no claim"),
        ("less noisy sum", {"mu": "-3/5"}, "no claim"),
        ("less noisy sum, delta", {"unit": "log", "ratio": "2"}, "no claim"),
        ("noisy sum, delta", {"delta": "1/1000000"}, "too small"),
        ("noisy sum, renyi", {"order": "1"}, "no claim"),
        ("noisy sum, renyi", {"order": "-4", "epsilon": "-1/2"}, "no claim"),
    ],
)
def test_gaussian_noise_keeps_claims_of_some_kinds(name: str, claim: Json, why: str) -> None:
    read = certificate(name)
    read["claim"] |= claim
    refused(read, why)


def test_an_event_of_gaussian_noise_is_one_side_of_a_number() -> None:
    """0.5-GDP, so that no event breaks 3/4; with twice the distance one would."""
    read = certificate("less noisy sum")
    read["claim"]["mu"] = "3/4"
    refused(read, "not too likely")
    for sign in (2, -2, "3/2", "-3/2"):
        refused(read | {"sign": sign}, "unknown sign")


def test_an_event_is_of_gaussian_noise() -> None:
    read = certificate("less noisy sum")
    (name,) = read["laws"]
    read["laws"][name]["kind"] = "laplace"
    refused(read, "not Gaussian")
    read = json.loads(json.dumps(certificate("less noisy sum")).replace(f'"{name}"', '"x0"'))
    refused(read, "another name")


def sum_split_twice() -> Json:
    """Right: a number from 0 to 1 is not below 0."""
    read = certificate("noisy sum")
    first = read["proof"][0]
    for key in ("above", "below"):
        first[key] = {("3" if k == "2" else k): m for k, m in first[key].items()}
    gone = {"impossible": {"0": "1", "2": "1"}}
    read["proof"][0] = {"split": {"y0": "1"}, "yes": first, "no": gone}
    return read


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("noisy sum", {"mu": "1/5"}),
        ("noisy sum, zcdp", {"rho": "1/100"}),
        ("noisy sum, zcdp", {"rho": "1/10"}),
        ("noisy sum, renyi", {"epsilon": "1/10"}),
        ("noisy sum, renyi", {"epsilon": "9/20"}),
        ("noisy sum, renyi", {"order": "400"}),
        ("clipped sums", {"mu": "1/2"}),
    ],
)
def test_all_releases_are_paid_for(name: str, claim: Json) -> None:
    read = certificate(name)
    read["claim"] |= claim
    refused(read, "cost too much")


@pytest.mark.parametrize("claim", [{"kind": "zcdp"}, {"delta": "1/2"}])
def test_an_event_breaks_a_claim_of_its_kind(claim: Json) -> None:
    read = certificate("less noisy sum, delta")
    read["claim"] |= claim
    refused(read, "no event breaks|not too likely")


def summed(tree: Json, proof: Json) -> Json:
    """A program on one number from 0 to 1, x0 and x0 + d0: facts 0 to 3 are the bounds of both."""
    read = certificate("noisy sum")
    schema = read["schema"] | {"relation": "replace-one", "sizes": [1, 1]}
    return read | {"schema": schema, "trees": {"1": tree}, "proof": [proof]}


TOLD = {"output": ["float", ["value", {"x0": "1"}]]}


def test_a_case_of_sums_must_be_shown_to_be_impossible() -> None:
    refused(summed(TOLD, {"impossible": {}}), "no contradiction")


def test_a_branch_is_taken_because_the_other_one_cannot_be() -> None:
    test = {"test": {"x0": "1", "": "-1/2"}, "strict": False, "where": ""}
    go = {"branch": "yes", "not": {}}
    proof = {"go": 0, **go, "then": {"go": 1, **go, "then": {"end": True}}}
    refused(summed(test | {"yes": says("a"), "no": says("b")}, proof), "no contradiction")


@pytest.mark.parametrize(
    ("constant", "bound", "why"),
    [
        *(("5", "1", "no bound"), ("2", "1", "no bound")),
        *(("1", "1", "no contradiction"), ("-3", "1", "no contradiction")),
    ],
)
def test_a_maximum_is_not_below_its_bounds(constant: str, bound: str, why: str) -> None:
    """That it is at least the constant, and at most the bound, is no contradiction."""
    tree = {
        "clamp": "c0",
        "operation": "max",
        "form": {"x0": "1"},
        "constant": constant,
        "then": TOLD,
    }
    then = {"impossible": {"4": "1", "6": "1"}}
    proof = {"clamp": 0, "bound": bound, "within": {"1": "1", "4": "1"}, "then": then}
    refused(summed(tree, proof), why)


def test_a_maximum_is_not_below_its_number() -> None:
    tree = {"clamp": "c0", "operation": "max", "form": {"x0": "1"}, "constant": "-3", "then": TOLD}
    then = {"impossible": {"0": "1", "5": "1", "6": "1"}}
    proof = {"clamp": 0, "bound": "-2", "within": {"1": "1", "4": "1"}, "then": then}
    refused(summed(tree, proof), "no contradiction")


def test_a_minimum_is_not_above_its_constant() -> None:
    tree = {"clamp": "c0", "operation": "min", "form": {"x0": "1"}, "constant": "-1", "then": TOLD}
    then = {"impossible": {"4": "1", "6": "1"}}
    proof = {"clamp": 0, "bound": "0", "within": {"0": "1", "4": "1"}, "then": then}
    refused(summed(tree, proof), "no bound")


@pytest.mark.parametrize(
    ("weights", "ends", "cases", "why"),
    [
        ([[HALF, HALF], [QUARTER, REST]], ["ab", "ab"], 2, "draw differently"),
        ([[HALF, QUARTER], [HALF, QUARTER]], ["ab", "ab"], 2, "."),
        ([[HALF, HALF], [HALF, HALF]], ["ab", "ac"], 1, "malformed"),
    ],
)
def test_coins_of_sums_are_the_same_and_all_of_them(
    weights: Json, ends: Json, cases: int, why: str
) -> None:
    """A record is added or not; what is told depends on a coin."""
    read = certificate("noisy sum")
    read["schema"]["sizes"] = [0, 1]
    for size, (coin, told) in enumerate(zip(weights, ends, strict=True)):
        read["trees"][str(size)] = {"draw": coin, "then": [says(text) for text in told]}
    read["proof"] = [{"draw": [{"end": True}] * cases}] * 2
    refused(read, why)


def branch_and_draw() -> Json:
    """Right: x + 1 is not below 0, a coin is thrown, and x is told with noise."""
    law = certificate("noisy sum")["trees"]["0"]["law"]
    end = {"output": ["float", ["value", {"r0": "1"}]]}
    told = {"release": "r0", "form": {"x0": "1"}, "scale": "1", "law": law, "then": end}
    coin = {"draw": [HALF, HALF], "then": [told, says("a")]}
    tree = {"test": {"x0": "1", "": "1"}, "strict": False, "where": "", "yes": coin, "no": TOLD}
    paid = {"bound": "1", "above": dict.fromkeys("126", "1"), "below": dict.fromkeys("036", "1")}
    draw = {"draw": [paid | {"then": {"end": True}}, {"end": True}]}
    right = {"go": 1, "branch": "yes", "not": {"2": "1", "5": "1"}, "then": draw}
    return summed(tree, {"go": 0, "branch": "yes", "not": {"0": "1", "4": "1"}, "then": right})


def split_at_a_half(*, strict: bool = False) -> Json:
    """Right: at least a half or not, as the case is; whoever compares strictly misses the half."""
    read = certificate("noisy sum")
    read["schema"]["sizes"] = [0, 1]
    test = {"test": {"x0": "1", "": "-1/2"}, "strict": strict, "where": ""}
    read["trees"] = {"0": says("a"), "1": test | {"yes": says("a"), "no": says("a")}}
    shown = {"not": {"2": "1", "3": "1"}, "then": {"end": True}}
    read["proof"] = [
        {"split": {"y0": "1", "": "-1/2"}}
        | {side: {"go": run, "branch": side, **shown} for side in ("yes", "no")}
        for run in (1, 0)
    ]
    return read


def test_a_case_and_its_opposite_are_all_cases() -> None:
    refused(split_at_a_half(strict=True), "no contradiction")


def noisy_number(mu: str, deviation: str, **change: Json) -> Json:
    """Refutes: 5 and 4 with Gaussian noise, looked at from 3 upwards."""
    read = certificate("less noisy sum")
    read["claim"]["mu"] = mu
    read["laws"]["n0"]["parameter"]["num"] = [deviation]
    read["schema"]["slots"] = [["0", "5", False]]
    read["datasets"] = [["5"], ["5", "4"]]
    for tree, center in zip(read["trees"], "54", strict=True):
        tree["output"][1][1] = {"n0": "1", "": center}
    return read | {"at": "3", "sign": "1"} | change


def upwards() -> Json:
    return noisy_number("1/5", "4")


def upwards_delta() -> Json:
    """Φ(1/2) − e^(1/10)·Φ(1/4) is 0.03."""
    claim = {"kind": "approx", "epsilon": "1/10", "delta": "1/50"}
    read = noisy_number("1/5", "4")
    return read | {"claim": read["claim"] | claim}


def test_an_event_is_as_likely_as_its_distance_in_deviations_says() -> None:
    """1/4-GDP: whatever breaks 1/3 or 6/25 has another deviation, distance or sign."""
    refused(noisy_number("1/3", "4"), "not too likely")
    refused(noisy_number("6/25", "5"), "not too likely")
    refused(noisy_number("1/5", "4", sign="-1"), "not too likely")
    refused(noisy_number("1/5", "4", sign="2"), "unknown sign")
    refused(noisy_number("1/5", "4", sign="0"), "unknown sign")


def test_probabilities_are_rounded_against_the_claim() -> None:
    """A δ just above what is certain, by less than the width of any of the three numbers."""
    read = certificate("less noisy sum, delta")
    factor, above = exp_bounds(Fraction(1, 10), 200), normal(Fraction(0))
    below = normal(Fraction(-(10**60), 2 * 10**60 + 1))  # −1/2, not below it
    width = min(high - low for low, high in (factor, above, below))
    certain = above[0] - factor[1] * below[1]
    read["claim"]["delta"] = plain(certain + width / 10)
    refused(read, "not too likely")
    read["claim"]["delta"] = plain(certain - width / 10)
    assert verify(read) == "refuted"


def plain(number: Fraction) -> str:
    """A rational just below, that is short enough for a file."""
    return str(Fraction(math.floor(number * 10**200), 10**200))


def test_every_case_of_neighbors_is_in_a_sum() -> None:
    for name in ("noisy sum", "clipped sums"):
        read = certificate(name)
        refused(read | {"proof": read["proof"][:-1]}, "malformed")
        refused(read | {"proof": [*read["proof"], read["proof"][0]]}, "malformed")


def test_two_releases_are_two_numbers() -> None:
    """The first is not negative, the second one may be: then x is told as it is."""
    law = certificate("noisy sum")["trees"]["0"]["law"]
    plain = {"scale": "100", "law": law, "form": {"x0": "1"}}
    second = {"test": {"r1": "-1"}, "strict": True, "where": "", "yes": TOLD, "no": says("a")}
    first = {"test": {"r0": "1"}, "strict": False, "where": "", "no": says("a")}
    first["yes"] = {"release": "r1", **plain, "then": second}
    tree = {"release": "r0", **plain, "then": first}
    paid = {"bound": "1", "above": dict.fromkeys("124", "1"), "below": dict.fromkeys("034", "1")}

    def go(branch: str, then: Json, **multipliers: str) -> Json:
        shown = {key[1:]: m for key, m in multipliers.items()}
        for run in (1, 0):
            then = {"go": run, "branch": branch, "not": shown, "then": then}
        return then

    end: Json = {"end": True}
    later = go("no", end, _4="1", _7="1")
    later["then"]["not"] = {"4": "1", "8": "1"}
    told = {
        **paid,
        "above": {"1": "1", "2": "1", "7": "1"},
        "below": {"0": "1", "3": "1", "7": "1"},
    }
    yes = go("yes", told | {"then": later}, _4="1", _5="1")
    yes["then"]["not"] = {"4": "1", "6": "1"}
    no = go("no", end, _4="1", _5="1")
    no["then"]["not"] = {"4": "1", "6": "1"}
    proof = paid | {"then": {"split": {"r0": "1"}, "yes": yes, "no": no}}
    refused(summed(tree, proof), "leave a symbol")


TRUE = (
    *(both_ways, all_kinds, split_twice, sum_split_twice, branch_and_draw, split_at_a_half),
    *(upwards, upwards_delta, any_loop, any_coin, any_number, loop_at_once),
    untyped_answers,
)


@pytest.mark.parametrize("made", TRUE)
def test_what_is_right_is_accepted(made: Callable[[], Json]) -> None:
    read = made()
    assert verify(read) == ("refuted" if read["method"] == "gaussian event" else "proved")


def true_files() -> list[Json]:
    """What is right, and rarely found by a search."""
    return [make() for make in TRUE]


def exactly(*trees: Json, masses: Json) -> Json:
    """A program on one of as many categories, without noise, at ε = 0."""
    values = [chr(ord("a") + i) for i in range(len(trees))]
    return {
        "method": "exact",
        "schema": {"relation": "replace-one", "sizes": [1, 1], "slots": None,
                   "values": values, "ball": None, "ordered": True},
        "claim": {"unit": "one", "ratio": None, "epsilon": "0", "delta": "0"},
        "laws": {}, "datasets": [[v] for v in values], "trees": list(trees), "masses": masses,
    }  # fmt: skip


def test_no_output_is_left_out() -> None:
    refused(exactly(says("a"), says("b"), masses=[[[]], [[]]]), "do not add up")


def test_no_output_makes_up_for_another() -> None:
    """One that is counted twice stands for one that is left out."""
    coin: Json = {"draw": [HALF, HALF], "then": [says("a"), says("b")]}
    whole: Json = [{"numbers": []}]
    read = exactly(coin, says("a"), masses=[[[*whole, *whole], []], [whole]])
    refused(read, "counted twice")


def test_numbers_are_whole_numbers() -> None:
    read = certificate("clipped")

    def spelled(part: Json) -> None:
        for inner in part if isinstance(part, list) else part.values():
            if isinstance(inner, dict) and "numbers" in inner:
                inner["numbers"] = [str(n) for n in inner["numbers"]]
            elif isinstance(inner, (list, dict)):
                spelled(inner)

    spelled(read["masses"])
    refused(read, "no number")


def test_ranges_in_lists_may_overlap() -> None:
    read = certificate("less flagged")
    (event,) = read["event"]
    read["event"] = [event, ["list", ["atleast", "0"], ["any"]]]
    read["masses"] = [[[case, case] for (case,) in leaf] for leaf in read["masses"]]
    refused(read, "overlap")


def false_files() -> list[Json]:
    """All that is refused above by `refused`, for other checkers to be tried on."""
    module, found = sys.modules[__name__], list[Json]()
    keep = module.refused
    module.refused = lambda read, _: found.append(copy.deepcopy(read))  # type: ignore[attr-defined]
    try:
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and not name.startswith(("test_huge", "test_a_file")):
                _all_cases(test)
    finally:
        module.refused = keep  # type: ignore[attr-defined]
    return found


def _all_cases(test: Any) -> None:  # noqa: ANN401
    """Call a test with all its parameters."""
    options = []
    for mark in getattr(test, "pytestmark", ()):
        names, values = mark.args
        names = names.split(",") if isinstance(names, str) else names
        options.append(
            [dict(zip(names, v if len(names) > 1 else [v], strict=True)) for v in values]
        )
    for chosen in product(*options):
        test(**{key: value for part in chosen for key, value in part.items()})
