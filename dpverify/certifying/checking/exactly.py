"""Check exact distributions and counterexamples: all probabilities are computed here again."""

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpverify.certifying.checking.alignments import leaves
from dpverify.certifying.checking.forms import ONE, Form, Json, need
from dpverify.certifying.checking.masses import mass
from dpverify.certifying.checking.neighbors import allowed, datasets, neighbors
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient


def law(tree: Json, read: Json, unit: ClaimUnit, event: Json = None) -> dict[str, Quotient]:
    """The probability of each output; or of the event, a list of [output, facts]."""
    laws = read["laws"]
    whole = {name for name, of in laws.items() if of["kind"] == "geometric"}
    total: dict[str, Quotient] = {}
    for facts, draws, output in leaves(tree, whole, {}):
        weight = Quotient({Fraction(0): ONE})
        for key, choice in draws:
            weight = weight * Quotient.read(json.loads(key)[choice])
        for shown, more in outcomes(output, [f for f, _ in facts], whole, event):
            part = weight * mass([*(f for f, _ in facts), *more], laws, unit)
            total[shown] = total.get(shown, Quotient({})) + part
    return total


def exact(read: Json) -> str:
    unit, schema = ClaimUnit(read["claim"]), read["schema"]
    found = datasets(schema)
    need(found == read["datasets"] and len(found) == len(read["trees"]), "not all datasets")
    laws = [law(tree, read, unit) for tree in read["trees"]]
    for p in laws:
        whole_mass = sum(p.values(), Quotient({}))
        need(
            unit.sign(whole_mass - Quotient({Fraction(0): ONE})) == 0, "probabilities do not add up"
        )
    for (a, p), (b, q) in combinations(zip(found, laws, strict=True), 2):
        if neighbors(schema, a, b):
            need(not unit.exceeds(p, q) and not unit.exceeds(q, p), "the claim does not hold")
    return "proved"


def counterexample(read: Json) -> str:
    unit, (left, right) = ClaimUnit(read["claim"]), read["datasets"]
    need(allowed(read["schema"], left) and allowed(read["schema"], right), "no such data")
    need(neighbors(read["schema"], left, right), "these are no neighbors")
    p, q = (law(tree, read, unit, read["event"]) for tree in read["trees"])
    need(unit.exceeds(p, q), "the event is not too likely")
    return "refuted"


def outcomes(
    output: Json, facts: list[Form], whole: set[str], event: Json
) -> Iterator[tuple[str, list[Form]]]:
    """The outputs of a path and what the noise must satisfy for each; or the event."""
    if event is not None:
        for pattern in event:
            rows = matched(output, pattern)
            if rows is not None:
                yield "event", rows
        return
    values = list(values_in(output))
    ranges = [span({n: Fraction(c) for n, c in v.items()}, facts, whole) for v in values]
    for numbers in product(*ranges):
        rows = [
            row
            for v, n in zip(values, numbers, strict=True)
            for row in matched(["value", v], ["number", str(n)]) or []
        ]
        yield json.dumps(filled(output, iter(numbers))), rows


def matched(output: Json, pattern: Json) -> list[Form] | None:
    """Rows that make an output be in a pattern; None if nothing does."""
    if pattern[0] == "number" and pattern[1] in {"inf", "-inf", "nan"}:
        return [] if output[1:] == pattern[1:] and output[0] == "float" else None
    if pattern[0] in {"number", "atleast", "atmost", "any"}:
        bound = Fraction(pattern[1] if len(pattern) > 1 else 0)
        if output[0] == "value":
            form = {n: Fraction(c) for n, c in output[1].items()}
        elif output[0] in {"int", "float", "bool"} and not str(output[1]).startswith(
            ("e", "n", "i", "-i")
        ):
            form = {"": Fraction(output[1])}
        else:
            return None
        over = {**form, "": form.get("", Fraction(0)) - bound}
        under = {n: -c for n, c in over.items()}
        return {"number": [over, under], "atleast": [over], "atmost": [under], "any": []}[
            pattern[0]
        ]
    if pattern[0] != "list":
        return [] if output == pattern else None
    if output[0] not in {"list", "tuple", "array"} or len(output) != len(pattern):
        return None
    parts = [matched(a, b) for a, b in zip(output[1:], pattern[1:], strict=True)]
    return None if None in parts else [row for part in parts for row in part or []]


def values_in(output: Json) -> Iterator[Any]:
    if isinstance(output, list) and output[:1] == ["value"]:
        yield output[1]
    elif isinstance(output, list):
        for part in output:
            yield from values_in(part)


def filled(output: Json, numbers: Iterator[int]) -> Json:
    if isinstance(output, list) and output[:1] == ["value"]:
        return ["int", next(numbers)]
    return [filled(part, numbers) for part in output] if isinstance(output, list) else output


def span(form: Form, facts: list[Form], whole: set[str]) -> range:
    """The whole values of a form between facts that bound it."""
    fine = set(form) <= whole | {""} and all(c.denominator == 1 for c in form.values())
    need(fine, "infinitely many outputs")
    lows: list[Fraction] = []
    highs: list[Fraction] = []
    for fact in [*facts, *({n: ONE, "": -ONE} for n in form if n)]:  # geometric noise is ≥ 1
        names = {n for n in fact if n}
        if names == {n for n in form if n}:
            ratios = {fact[n] / form[n] for n in names}
            if len(ratios) == 1:
                ratio = ratios.pop()
                end = form.get("", Fraction(0)) - fact.get("", Fraction(0)) / ratio
                (lows if ratio > 0 else highs).append(end)
    need(lows and highs, "infinitely many outputs")
    return range(math.ceil(max(lows)), math.floor(min(highs)) + 1)
