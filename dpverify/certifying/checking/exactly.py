"""Check exact distributions and counterexamples: all probabilities are recomputed here."""

import json
from collections.abc import Callable, Iterator

from dpverify.certifying.checking.forms import (
    ONE,
    RATIONAL,
    Fact,
    Form,
    Json,
    need,
    plus,
    rational,
)
from dpverify.certifying.checking.masses import BoxMasses
from dpverify.certifying.checking.neighbors import allowed, datasets, pairs
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient
from dpverify.certifying.checking.trees import NUMBERS, check_plain, drawn, leaves, noises, unknown


def exact(read: Json) -> str:
    """Check the claim from the distributions on all datasets, each of which must add up to 1."""
    unit = ClaimUnit(read["claim"])
    found = datasets(read["schema"])
    need(found == read["datasets"], "not all datasets")
    laws = [
        law(read, unit, tree, how, shown)
        for _, tree, how in zip(found, read["trees"], read["masses"], strict=True)
    ]
    for p in laws:
        need(unit.sign(sum(p.values(), Quotient.of(-1))) == 0, "probabilities do not add up")
    for i, j in pairs(read["schema"], found):
        need(not unit.exceeds(laws[i], laws[j]), "the claim does not hold")
    return "proved"


def counterexample(read: Json) -> str:
    """Check that an event is too likely on the left, against the claim."""
    unit, event = ClaimUnit(read["claim"]), read["event"]
    check_neighbors(read)
    many = len(event) > 1  # then different outputs, each in lowest terms
    need(not many or all(map(exactly, event)), "events may overlap")
    need(len(set(map(json.dumps, event))) == len(event), "an output is counted twice")
    p, q = (
        law(read, unit, tree, how, lambda output, cases: matches(output, event, cases))
        for tree, how in zip(read["trees"], read["masses"], strict=True)
    )
    need(unit.exceeds(p, q), "the event is not too likely")
    return "refuted"


def check_neighbors(read: Json) -> None:
    need(all(allowed(read["schema"], rows) for rows in read["datasets"]), "no such data")
    need([*pairs(read["schema"], read["datasets"])] == [(0, 1), (1, 0)], "these are no neighbors")


Outcomes = Callable[[Json, Json], Iterator[tuple[str, list[Fact], Json]]]


def law(
    read: Json, unit: ClaimUnit, tree: Json, how: Json, outcomes: Outcomes
) -> dict[str, Quotient]:
    """The probability of each outcome of a tree; `outcomes` reads them off a path's output."""
    values, masses = noises(read), BoxMasses(read["laws"], unit)
    total: dict[str, Quotient] = {}
    for (facts, way, output), cases in zip(leaves(tree, masses.whole, values), how, strict=True):
        weight = Quotient.of(1)
        for key, choice in drawn(way):
            weight = weight * unit.weights(key)[choice]
        for outcome, more, case in outcomes(output, cases):
            part = weight * masses.probability([*facts, *more], case)
            total[outcome] = total.get(outcome, Quotient({})) + part
    return total


def shown(output: Json, cases: Json) -> Iterator[tuple[str, list[Fact], Json]]:
    """The outputs of a path with numbers in place of forms, one for each case."""
    seen = set[str]()
    for case in cases:
        facts: list[Fact] = []
        outcome = json.dumps(filled(output, iter(case["numbers"]), facts))
        need(outcome not in seen, "an output is counted twice")
        seen.add(outcome)
        yield outcome, facts, case


def filled(output: Json, numbers: Iterator[Json], facts: list[Fact]) -> Json:
    value = unknown(output)
    if value is not None:
        number = next(numbers, None)
        need(type(number) is int, "no number")
        facts += between(value, ["number", str(number)])
        return [output[0], number if output[0] == "int" else str(number)]
    if isinstance(output, list):
        return [filled(part, numbers, facts) for part in output]
    check_plain(output)
    return output


def matches(output: Json, event: Json, cases: Json) -> Iterator[tuple[str, list[Fact], Json]]:
    """The ways in which a path's output can be in the event, one for each pattern."""
    found = [
        facts for facts in (matched(output, pattern) for pattern in event) if facts is not None
    ]
    for facts, case in zip(found, cases, strict=True):
        yield "event", facts, case


def matched(output: Json, pattern: Json) -> list[Fact] | None:
    """The facts under which an output is in a pattern; None if it never is."""
    if pattern[0] == "list":
        if output[0] not in {"list", "tuple", "array"} or len(output) != len(pattern):
            return None
        parts = [matched(a, b) for a, b in zip(output[1:], pattern[1:], strict=True)]
        return None if None in parts else [fact for part in parts for fact in part or []]
    value = number_of(output)
    if value is not None and pattern[0] in {"number", "atleast", "atmost", "any"}:
        return between(value, pattern)
    return [] if output[1:] == pattern[1:] and (output[0], pattern[0]) in SAME else None


SAME = {("text", "text"), ("none", "none"), ("float", "number")}  # the last one: infinities, nan


def number_of(output: Json) -> Form | None:
    """A returned number as a linear form; None for infinities and everything else."""
    if output[0] not in NUMBERS:
        return None
    if unknown(output) is not None:
        return unknown(output)
    text = {"True": "1", "False": "0", "-0.0": "0"}.get(str(output[1]), str(output[1]))
    return {"": rational(text)} if RATIONAL.fullmatch(text) else None


def between(value: Form, pattern: Json) -> list[Fact]:
    kind, *bound = pattern
    over = plus(value, {"": rational(bound[0])}, -ONE) if bound else {}
    above, below = (over, False), (plus({}, over, -ONE), False)
    return {"number": [above, below], "atleast": [above], "atmost": [below], "any": []}[kind]


def exactly(pattern: Json) -> bool:
    """Whether a pattern is a single output: no ranges, and fractions in lowest terms."""
    if pattern[0] == "list":
        return all(map(exactly, pattern[1:]))
    kind, *told = pattern
    if kind == "number":
        return told[0] in {"inf", "-inf", "nan"} or str(rational(told[0])) == told[0]
    return pattern == ["none"] or (kind == "text" and [*map(type, told)] == [str])
