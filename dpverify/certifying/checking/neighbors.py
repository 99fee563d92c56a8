"""The neighbors that a schema allows: in symbols, and all pairs if they are finitely many.

A dataset has from `sizes[0]` to `sizes[1]` records. A record is one of `values`, or has a number in
each of `slots`, [low, high, whole]; with a `ball`, its norm is bounded too. Neighbors differ by one
record ("replace-one", "add-remove"), or all numbers "move", together by at most `reach` in a norm.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from operator import ne
from typing import Any, TypeAlias

from dpverify.certifying.checking.forms import ONE, Fact, Form, Json, count, need, plus, rational

Slot: TypeAlias = tuple[Fraction | None, Fraction | None, bool]
Situation: TypeAlias = tuple[list[Form], list[Form], list[Fact], set[str]]
MOST_RECORDS, _MOST_DATASETS = 200, 2000


def sizes(schema: Json) -> range:
    need(schema["relation"] in {"replace-one", "add-remove", "move"}, "unknown relation")
    low, high = (count(n, MOST_RECORDS, "too many records") for n in schema["sizes"])
    need(low <= high, "there are no such data")
    need(low < high or schema["relation"] != "add-remove", "there are no neighbors")
    need(high > 0, "there are no neighbors")
    return range(low, high + 1)


def slots(schema: Json) -> list[Slot]:
    """The range (low, high, whole) of each number in a record."""
    need(0 < len(schema["slots"]) <= MOST_RECORDS, "records are no symbols")
    found = [
        (None if a is None else rational(a), None if b is None else rational(b), flag(whole))
        for a, b, whole in schema["slots"]
    ]
    need(all(a is None or b is None or a <= b for a, b, _ in found), "there are no such data")
    return found


def flag(value: Json) -> bool:
    """A strict truth value: true or false and nothing else."""
    need(type(value) is bool, "a question without an answer")
    return value is True


def within(a: Form, slot: Slot) -> list[Fact]:
    low, high, _ = slot
    facts = [] if low is None else [(plus(a, {"": -low}), False)]
    return facts if high is None else [*facts, (plus({"": high}, a, -ONE), False)]


def situations(schema: Json) -> Iterator[Situation]:
    """Every way in which neighbors can differ, in both orders: left, right, facts, whole symbols.

    Left data are x0, x1, …; right ones have d added to what differs, or a new record y.
    """
    need(schema["ordered"] is True, "records without an order")
    one, relation = slots(schema), schema["relation"]
    w = len(one)
    for n in sizes(schema):
        own: list[Form] = [{f"x{i}": ONE} for i in range(n * w)]
        facts = [f for x, s in zip(own, one * n, strict=True) for f in within(x, s)]
        whole = {f"{a}{i}" for i, s in enumerate(one * (n + 1)) for a in "xdy" if s[2]}
        if relation == "add-remove":
            new: list[Form] = [{f"y{i}": ONE} for i in range(w)]
            more = facts + [f for y, s in zip(new, one, strict=True) for f in within(y, s)]
            for j in range(n + 1) if n + 1 in sizes(schema) else ():
                right = [*own[: j * w], *new, *own[j * w :]]
                yield own, right, more, whole
                yield right, own, more, whole
            continue
        for j in range(n) if relation == "replace-one" else [0]:
            moved = range(j * w, (j + 1) * w if relation == "replace-one" else n * w)
            right = [plus(x, {f"d{i}": ONE}) if i in moved else x for i, x in enumerate(own)]
            more = facts + [f for i in moved for f in within(right[i], one[i % w])]
            for bounds in reaches(schema, len(own)) if relation == "move" else [[]]:
                yield own, right, [*more, *bounds], whole


def reaches(schema: Json, n: int) -> list[list[Fact]]:
    """How far answers can move; if all move in one direction, once for up and once for down.

    In norm 2, that each of them moves by at most `reach`: more than is allowed, so a proof holds.
    """
    reach = rational(schema["reach"])
    need(reach > 0 and schema["norm"] in {"1", "2", "inf"}, "there are no neighbors")
    moves: list[Form] = [{f"d{i}": ONE} for i in range(n)]
    facts = [f for d in moves for f in within(d, (-reach, reach, False))]
    if schema["norm"] == "1":  # a ≥ |d| and Σa ≤ reach
        facts.append(({"": reach} | {f"a{i}": -ONE for i in range(n)}, False))
        signs = [(i, s) for i in range(n) for s in (ONE, -ONE)]
        facts += [(plus({f"a{i}": ONE}, moves[i], s), False) for i, s in signs]
    if not flag(schema["monotone"]):
        return [facts]
    return [[*facts, *((plus({}, d, s), False) for d in moves)] for s in (ONE, -ONE)]


def datasets(schema: Json) -> list[Any]:
    """All datasets, if there are finitely many."""
    if schema["slots"] is None:
        values = schema["values"]
        need(len({*map(json.dumps, values)}) == len(values), "two values are written alike")
    else:
        need(all(s[2] and None not in s for s in slots(schema)), "infinitely many records")
        ends = [(math.ceil(a or 0), math.floor(b or 0)) for a, b, _ in slots(schema)]
        need(math.prod(b - a + 1 for a, b in ends) <= _MOST_DATASETS, "too many datasets")
        rows = product(*(range(a, b + 1) for a, b in ends))
        values = [list(row) if len(row) > 1 else row[0] for row in rows]
    need(sum(len(values) ** n for n in sizes(schema)) <= _MOST_DATASETS, "too many datasets")
    return [list(rows) for n in sizes(schema) for rows in product(values, repeat=n)]


def allowed(schema: Json, rows: Json) -> bool:
    """Whether the schema allows a dataset."""
    if len(rows) not in sizes(schema):
        return False
    if schema["slots"] is None:
        return {*map(json.dumps, rows)} <= {*map(json.dumps, schema["values"])}
    one, ball = slots(schema), schema["ball"]
    need(ball is None or isinstance(ball, dict), "unknown bounds")
    for row in map(numbers, rows):
        fits = len(row) == len(one) and all(map(fit, row, one))
        if not fits or (ball and size(row, ball["norm"]) > reached(ball["radius"], ball["norm"])):
            return False
    return True


def fit(x: Fraction, slot: Slot) -> bool:
    low, high, whole = slot
    return (low is None or low <= x) and (high is None or x <= high) and (x == int(x) or not whole)


def numbers(row: Json) -> list[Fraction]:
    return [rational(x) for x in (row if isinstance(row, list) else [row])]


def size(moves: list[Fraction], norm: str) -> Fraction:
    """The norm; for norm 2, its square."""
    if norm == "inf":
        return max(map(abs, moves))
    need(norm in {"1", "2"}, "unknown norm")
    return Fraction(sum(abs(m) if norm == "1" else m * m for m in moves))


def reached(radius: Json, norm: str) -> Fraction:
    need(rational(radius) >= 0, "there are no such data")
    return rational(radius) ** (2 if norm == "2" else 1)


def pairs(schema: Json, found: list[Json]) -> Iterator[tuple[int, int]]:
    """The pairs of these datasets that are neighbors, in both orders."""
    move, ordered = schema["relation"] == "move", flag(schema["ordered"])
    plain = json.dumps if schema["slots"] is None else lambda row: str(numbers(row))
    told: list[Any] = [
        [x for row in rows for x in numbers(row)] if move else list(map(plain, rows))
        for rows in found
    ]
    near = moved if move else replaced if schema["relation"] == "replace-one" else added
    for (i, a), (j, b) in combinations(enumerate(told), 2):
        if near(a, b, schema if move else ordered):
            yield from ((i, j), (j, i))


def moved(a: list[Fraction], b: list[Fraction], schema: Json) -> bool:
    moves = [y - x for x, y in zip(a, b, strict=True)]
    mixed = flag(schema["monotone"]) and min(moves) < 0 < max(moves)
    return (
        any(moves)
        and not mixed
        and size(moves, schema["norm"]) <= reached(schema["reach"], schema["norm"])
    )


def replaced(a: list[str], b: list[str], ordered: bool) -> bool:  # noqa: FBT001
    changed = sum(map(ne, a, b)) if ordered else (Counter(a) - Counter(b)).total()
    return len(a) == len(b) and a != b and changed <= 1  # without an order, others of one content


def added(a: list[str], b: list[str], ordered: bool) -> bool:  # noqa: FBT001
    few, many = sorted((a, b), key=len)
    less = [[*many[:i], *many[i + 1 :]] for i in range(len(many))]
    return few in less if ordered else sorted(few) in map(sorted, less)
