"""What a schema allows: situations of neighbors in symbols, and all pairs where they are finite."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from dpverify.certifying.checking.forms import ONE, Fact, Form, Json, need, plus


def slots(schema: Json) -> list[tuple[Fraction | None, Fraction | None, bool]]:
    """(low, high, whole) of each number in a record, or in the answers."""
    if schema["kind"] == "answers":
        need(Fraction(schema["sensitivity"]) > 0, "without a sensitivity there are no neighbors")
        need(str(schema["norm"]) in {"1", "2", "inf"}, "unknown norm")
        given = schema["low"], schema["high"]
        ends = [None if e in {"inf", "-inf"} else Fraction(e) for e in given]
        return [(*ends, schema["integer"])] * (schema["dimension"] or 1)
    domain = schema["record"]
    if domain["kind"] == "number":
        need(Fraction(domain["low"]) < Fraction(domain["high"]), "there are no such records")
        return [(Fraction(domain["low"]), Fraction(domain["high"]), domain["integer"])]
    if domain["kind"] == "box":
        return [
            (Fraction(a), Fraction(b), False)
            for a, b in zip(domain["low"], domain["high"], strict=True)
        ]
    need(domain["kind"] == "vector", "such records are no symbols")
    return [(-Fraction(domain["radius"]), Fraction(domain["radius"]), False)] * domain["dimension"]


def within(a: Form, slot: tuple[Fraction | None, Fraction | None, bool]) -> list[Fact]:
    low, high, _ = slot
    facts = [] if low is None else [(plus(a, {"": -low}), False)]
    return facts if high is None else [*facts, (plus({"": high}, a, -ONE), False)]


def sizes(schema: Json) -> range:
    length = 1 if schema.get("length") is None else schema["length"]
    low, high = length if isinstance(length, list) else (length, length)
    return range(low, high + 1)


Situation: TypeAlias = tuple[list[Form], list[Form], list[Fact], set[str]]


def situations(schema: Json) -> Iterator[Situation]:
    """Every way in which neighbors can lie, in both orders: left, right, facts, whole symbols.

    Left data are x0, x1, …; right ones have d added to what differs, or a new record y.
    """
    need(schema.get("ordered", True), "records without an order")
    one = slots(schema)
    if schema["kind"] == "answers":
        yield from between_answers(schema, one)
        return
    for n in sizes(schema):
        own = [{f"x{i}": ONE} for i in range(n * len(one))]
        facts = [f for x, s in zip(own, one * n, strict=True) for f in within(x, s)]
        whole = {f"x{i}" for i, s in enumerate(one * n) if s[2]}
        replace, w = schema["relation"] == "replace-one", len(one)
        need(replace or schema["relation"] == "add-remove", "unknown relation")
        for j in range(n if replace else n + 1 if n + 1 in sizes(schema) else 0):
            new: list[Form] = [{f"y{i}": ONE} for i in range(w)]
            if replace:
                new = [plus(own[j * w + i], {f"d{i}": ONE}) for i in range(w)]
            right = [*own[: j * w], *new, *own[(j + replace) * w :]]
            more = [f for y, s in zip(new, one, strict=True) for f in within(y, s)]
            wholes = whole | {f"{'d' if replace else 'y'}{i}" for i, s in enumerate(one) if s[2]}
            yield own, right, [*facts, *more], wholes
            if not replace:
                yield right, own, [*facts, *more], wholes


def between_answers(
    schema: Json, one: list[tuple[Fraction | None, Fraction | None, bool]]
) -> Iterator[Situation]:
    n, reach = len(one), Fraction(schema["sensitivity"])
    left: list[Form] = [{f"x{i}": ONE} for i in range(n)]
    moves: list[Form] = [{f"d{i}": ONE} for i in range(n)]
    right = [plus(x, d) for x, d in zip(left, moves, strict=True)]
    facts = [
        f for side in (left, right) for x, s in zip(side, one, strict=True) for f in within(x, s)
    ]
    facts += [f for d in moves for f in within(d, (-reach, reach, False))]
    if schema["norm"] in (1, "1"):  # a ≥ |d| and Σa ≤ reach
        total = {"": reach} | {f"a{i}": -ONE for i in range(n)}
        facts.append((total, False))
        for i, d in enumerate(moves):
            facts += [(plus({f"a{i}": ONE}, d, s), False) for s in (ONE, -ONE)]
    whole = {f"{letter}{i}" for i in range(n) for letter in "xd" if schema["integer"]}
    for sign in (ONE, -ONE) if schema["monotone"] else (Fraction(0),):
        yield left, right, facts + [(plus({}, d, sign), False) for d in moves if sign], whole


def values_of(domain: Json) -> list[Any]:
    if domain["kind"] == "category":
        return list(domain["values"])
    if domain["kind"] in {"labeled", "table"}:
        cells = domain["cells"].values() if "cells" in domain else (domain["x"], domain["y"])
        return [list(row) for row in product(*map(values_of, cells))]
    need(domain["kind"] == "number" and domain["integer"], "infinitely many records")
    return list(range(math.ceil(Fraction(domain["low"])), math.floor(Fraction(domain["high"])) + 1))


def datasets(schema: Json) -> list[list[Any]]:
    if schema["kind"] == "answers":
        need(schema["integer"], "infinitely many answers")
        low, high = math.ceil(Fraction(schema["low"])), math.floor(Fraction(schema["high"]))
        return [list(a) for a in product(range(low, high + 1), repeat=schema["dimension"] or 1)]
    values = values_of(schema["record"])
    return [list(rows) for n in sizes(schema) for rows in product(values, repeat=n)]


def allowed(schema: Json, rows: list[Any]) -> bool:
    """Whether a dataset is one of the schema."""
    if schema["kind"] == "records" and len(rows) not in sizes(schema):
        return False
    if schema["kind"] == "records" and schema["record"]["kind"] in {"category", "labeled", "table"}:
        return all(row in values_of(schema["record"]) for row in rows)
    one = slots(schema)
    flat = [Fraction(x) for row in rows for x in (row if isinstance(row, list) else [row])]
    parts = [fits(x, one[i % len(one)]) for i, x in enumerate(flat)]
    return len(flat) == (len(one) if schema["kind"] == "answers" else len(one) * len(rows)) and all(
        parts
    )


def fits(x: Fraction, slot: tuple[Fraction | None, Fraction | None, bool]) -> bool:
    low, high, whole = slot
    return (
        (low is None or x >= low)
        and (high is None or x <= high)
        and not (whole and x.denominator > 1)
    )


def neighbors(schema: Json, a: list[Any], b: list[Any]) -> bool:
    if schema["kind"] == "answers":
        moves = [Fraction(y) - Fraction(x) for x, y in zip(a, b, strict=True)]
        if schema["monotone"] and min(moves) < 0 < max(moves):
            return False
        size = [abs(m) for m in moves]
        norm = {"1": sum(size), "2": sum(m * m for m in moves), "inf": max(size)}
        return norm[str(schema["norm"])] <= Fraction(schema["sensitivity"]) ** (
            2 if schema["norm"] in (2, "2") else 1
        )
    if schema["relation"] == "replace-one":
        if not schema["ordered"]:
            mine, other = (Counter(map(json.dumps, rows)) for rows in (a, b))
            return len(a) == len(b) and (mine - other).total() <= 1
        return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) <= 1
    small, large = sorted((a, b), key=len)
    if not schema["ordered"]:
        few, many = (Counter(map(json.dumps, rows)) for rows in (small, large))
        return len(large) == len(small) + 1 and not few - many
    return len(large) == len(small) + 1 and any(
        small == [*large[:i], *large[i + 1 :]] for i in range(len(large))
    )
