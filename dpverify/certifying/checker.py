"""Check a certificate in exact rational arithmetic: no search, nothing from the rest of dpverify.

A certificate holds the trees of comparisons that a mechanism makes, and one of three arguments.
"alignment": translations of the noise, with Farkas multipliers which show that on every neighbor
the translated noise gives the same output, at a cost of at most ε. "exact": the trees of all
datasets; all probabilities are computed here. "counterexample": two neighbors and an event, whose
probabilities are computed here. Whatever is unusual is refused.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction as F
from itertools import combinations, product
from typing import Any, TypeAlias

from dpverify.certifying.recount import Invalid, Number, Unit, mass, need, outcomes

Form: TypeAlias = dict[str, F]  # from symbols to coefficients; "" for the constant
Fact: TypeAlias = tuple[Form, bool]  # the form is ≥ 0, or > 0 if True
ONE = F(1)


def check(read: Any) -> str:
    """Raise `Invalid` unless the certificate shows its verdict; "proved" or "refuted" if it does."""
    try:
        methods = {"alignment": alignment, "exact": exact, "counterexample": counterexample}
        return methods[read["method"]](read)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise Invalid(f"malformed: {type(error).__name__} {error}") from None


def form(read: dict[str, str]) -> Form:
    return {name: F(c) for name, c in read.items() if F(c)}


def plus(a: Form, b: Form, times: F = ONE) -> Form:
    total = {n: a.get(n, F(0)) + times * b.get(n, F(0)) for n in {*a, *b}}
    return {n: c for n, c in total.items() if c}


def put(a: Form, values: dict[str, Form]) -> Form:
    """The form with symbols replaced by forms."""
    total: Form = {}
    for name, c in a.items():
        total = plus(total, values.get(name, {name: ONE}), c)
    return total


def negated(a: Form, strict: bool, whole: set[str]) -> Fact:  # noqa: FBT001
    """When `a` is not ≥ 0 (> 0 if strict); of whole numbers, a ≤ −1 is as good as a < 0."""
    down = plus({}, a, -ONE)
    if not strict and set(a) <= whole | {""} and all(c.denominator == 1 for c in a.values()):
        return plus(down, {"": -ONE}), False
    return down, not strict


def impossible(facts: list[Fact], multipliers: dict[str, str]) -> None:
    """Check that the facts contradict each other: a combination says 0 < 0 or worse. [Farkas]"""
    total: Form = {}
    strictly = False
    for index, read in multipliers.items():
        fact, strict = facts[int(index)]
        need(F(read) >= 0 and int(index) >= 0, "a multiplier is negative")
        total = plus(total, fact, F(read))
        strictly |= strict and F(read) > 0
    need(not set(total) - {""}, "multipliers leave a symbol")
    left = total.get("", F(0))
    need(left < 0 or (strictly and left == 0), "no contradiction")


# What a schema allows.


def slots(schema: Any) -> list[tuple[F | None, F | None, bool]]:
    """(low, high, whole) of each number in a record, or in the answers."""
    if schema["kind"] == "answers":
        ends = [None if "inf" in e else F(e) for e in (schema["low"], schema["high"])]
        return [(*ends, schema["integer"])] * (schema["dimension"] or 1)  # type: ignore[list-item]
    domain = schema["record"]
    if domain["kind"] == "number":
        return [(F(domain["low"]), F(domain["high"]), domain["integer"])]
    if domain["kind"] == "box":
        return [(F(a), F(b), False) for a, b in zip(domain["low"], domain["high"], strict=True)]
    need(domain["kind"] == "vector", "such records are no symbols")
    return [(-F(domain["radius"]), F(domain["radius"]), False)] * domain["dimension"]


def within(a: Form, slot: tuple[F | None, F | None, bool]) -> list[Fact]:
    low, high, _ = slot
    facts = [] if low is None else [(plus(a, {"": -low}), False)]
    return facts if high is None else [*facts, (plus({"": high}, a, -ONE), False)]


def sizes(schema: Any) -> range:
    length = 1 if schema.get("length") is None else schema["length"]
    low, high = length if isinstance(length, list) else (length, length)
    return range(low, high + 1)


Situation: TypeAlias = tuple[list[Form], list[Form], list[Fact], set[str]]


def situations(schema: Any) -> Iterator[Situation]:
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


def between_answers(schema: Any, one: list[tuple[F | None, F | None, bool]]) -> Iterator[Situation]:
    n, reach = len(one), F(schema["sensitivity"])
    left: list[Form] = [{f"x{i}": ONE} for i in range(n)]
    moves: list[Form] = [{f"d{i}": ONE} for i in range(n)]
    right = [plus(x, d) for x, d in zip(left, moves, strict=True)]
    facts = [f for side in (left, right) for x, s in zip(side, one, strict=True) for f in within(x, s)]
    facts += [f for d in moves for f in within(d, (-reach, reach, False))]
    if schema["norm"] in (1, "1"):  # a ≥ |d| and Σa ≤ reach
        total = {"": reach} | {f"a{i}": -ONE for i in range(n)}
        facts.append((total, False))
        for i, d in enumerate(moves):
            facts += [(plus({f"a{i}": ONE}, d, s), False) for s in (ONE, -ONE)]
    whole = {f"{letter}{i}" for i in range(n) for letter in "xd" if schema["integer"]}
    for sign in (ONE, -ONE) if schema["monotone"] else (F(0),):
        yield left, right, facts + [(plus({}, d, sign), False) for d in moves if sign], whole


# Trees of comparisons.


def branches(tree: Any, whole: set[str], values: dict[str, Form]) -> list[tuple[str, Fact]]:
    test, strict = form(tree["test"]), tree["strict"]
    other, other_strict = negated(test, strict, whole)
    return [("yes", (put(test, values), strict)), ("no", (put(other, values), other_strict))]


def leaves(tree: Any, whole: set[str], values: dict[str, Form]) -> list[tuple[Any, ...]]:
    """All paths: the facts on the way, the choices at draws, the output."""
    if "output" in tree:
        return [((), (), tree["output"])]
    if "draw" in tree:
        key = json.dumps(tree["draw"])
        parts = [leaves(child, whole, values) for child in tree["then"]]
        need(len(parts) == len(tree["draw"]), "a draw without a branch")
        return [(t, ((key, i), *d), o) for i, part in enumerate(parts) for t, d, o in part]
    both = branches(tree, whole, values)
    return [((f, *t), d, o) for side, f in both for t, d, o in leaves(tree[side], whole, values)]


# Alignments.


class Goal:
    """What stays the same while one situation is checked."""

    def __init__(self, read: Any, trees: list[Any], left: Any, right: Any, whole: set[str]) -> None:
        self.laws, unit = read["laws"], Unit(read["claim"])
        noise = {name for name, law in self.laws.items() if law["kind"] == "geometric"}
        self.rates = {name: unit.rate(law) for name, law in self.laws.items()}
        self.epsilon, self.whole = unit.epsilon, whole | noise
        one = [s[2] for s in slots(read["schema"])] if left or right else []
        many = {f"x{i}" for i in range(max(len(left), len(right))) if one[i % len(one)]}
        self.tree_whole, self.trees = many | noise, trees
        self.maps = [{f"x{i}": f for i, f in enumerate(side)} for side in (left, right)]


def alignment(read: Any) -> str:
    lows = {"geometric": ONE, "exponential": F(0)}
    kinds = {name: law["kind"] for name, law in read["laws"].items()}
    need(set(kinds.values()) <= {"laplace", *lows}, "such noise has no translation of finite cost")
    support = [({n: ONE, "": -lows[k]}, False) for n, k in kinds.items() if k in lows]
    found = list(goals(read))
    for case, (goal, facts) in zip(read["proof"], found, strict=True):
        check_case(case, [*facts, *support], goal)
    return "proved"


def goals(read: Any) -> Iterator[tuple[Goal, list[Fact]]]:
    """All ways in which neighbors can lie; or all pairs of them where datasets are listed."""
    if "datasets" not in read:
        for left, right, facts, whole in situations(read["schema"]):
            trees = [read["trees"][str(len(side))] for side in (left, right)]
            yield Goal(read, trees, left, right, whole), facts
        return
    found = datasets(read["schema"])
    need(found == read["datasets"], "not all datasets")
    for (i, a), (j, b) in combinations(enumerate(found), 2):
        for one, other in ((i, j), (j, i)) if neighbors(read["schema"], a, b) else ():
            yield Goal(read, [read["trees"][str(one)], read["trees"][str(other)]], [], [], set()), []


def check_case(case: Any, facts: list[Fact], goal: Goal) -> None:
    if "impossible" in case:
        impossible(facts, case["impossible"])
    elif "split" in case:
        test = form(case["split"])
        need(not set(test) & set(goal.laws), "a case may not depend on noise")
        check_case(case["yes"], [*facts, (test, False)], goal)
        check_case(case["no"], [*facts, negated(test, False, goal.whole)], goal)
    else:
        check_groups(case["groups"], facts, goal)


def check_groups(groups: Any, facts: list[Fact], goal: Goal) -> None:
    """Every path is translated or impossible; different translations end in different leaves."""
    paths = list(leaves(goal.trees[0], goal.tree_whole, goal.maps[0]))
    left, landed = set(range(len(paths))), dict[Any, int]()
    for number, group in enumerate(groups):
        shift = {name: form(s) for name, s in group["shift"].items()}
        check_shift(shift, group, facts, goal)
        moved = {name: plus({name: ONE}, s) for name, s in shift.items()}
        for key, walk in group["walks"].items():
            tests, draws, output = paths[int(key)]
            left.remove(int(key))
            run = Follow(goal, draws, output, {**goal.maps[1], **moved})
            for leaf in run.walk(walk, goal.trees[1], [*facts, *tests], ()):
                need(landed.setdefault(leaf, number) == number, "two translations may meet")
    need(not left, "a path is missing")


def check_shift(shift: dict[str, Form], group: Any, facts: list[Fact], goal: Goal) -> None:
    """Free of noise, whole where noise is whole, Σ|shift|·rate ≤ ε, and within the support."""
    for name, s in shift.items():
        need(not set(s) & set(goal.laws), "a translation may not depend on noise")
        if goal.laws[name]["kind"] == "geometric":
            whole = set(s) <= goal.whole | {""} and all(c.denominator == 1 for c in s.values())
            need(whole, "whole noise is moved by a fraction")
        if goal.laws[name]["kind"] != "laplace":
            impossible([*facts, negated(s, False, set())], group["stay"][name])
    moving = [name for name, s in shift.items() if set(s) - {""}]
    fixed = sum((abs(s.get("", F(0))) * goal.rates[n] for n, s in shift.items() if n not in moving), F(0))
    for signs in product((ONE, -ONE), repeat=len(moving)):
        cost = plus({}, {"": fixed - goal.epsilon})
        for sign, name in zip(signs, moving, strict=True):
            cost = plus(cost, shift[name], sign * goal.rates[name])
        key = "".join("+" if sign > 0 else "-" for sign in signs)
        impossible([*facts, (cost, True)], group["costs"][key])


class Follow:
    """Follows all that the neighbor's run can do with translated noise."""

    def __init__(self, goal: Goal, draws: Any, output: Any, values: dict[str, Form]) -> None:
        self.goal, self.draws, self.output, self.values = goal, draws, output, values

    def walk(self, walk: Any, tree: Any, facts: list[Fact], way: tuple[Any, ...]) -> Iterator[Any]:
        """The leaves that can be reached; each must have the output of the path."""
        if "impossible" in walk:
            impossible(facts, walk["impossible"])
        elif "output" in tree:
            need(self.same(self.output, tree["output"]), "the output may change")
            yield way
        elif "draw" in tree:  # the same draw has the same outcome; another one may have any
            key, before = json.dumps(tree["draw"]), [step for step in way if isinstance(step, int)]
            mine = self.draws[len(before)] if len(before) < len(self.draws) else None
            same = mine is not None and mine[0] == key
            for i in [mine[1]] if same else range(len(tree["then"])):
                yield from self.walk(walk["draw"][str(i)], tree["then"][i], facts, (*way, i))
        else:
            for side, fact in branches(tree, self.goal.tree_whole, self.values):
                yield from self.walk(walk[side], tree[side], [*facts, fact], (*way, side))

    def same(self, a: Any, b: Any) -> bool:
        """Equal where plain, identical as forms where data or noise come in."""
        if not isinstance(a, list) or not isinstance(b, list):
            return type(a) is type(b) and bool(a == b)
        if a[:1] == ["value"] == b[:1]:
            return put(form(a[1]), self.goal.maps[0]) == put(form(b[1]), self.values)
        return len(a) == len(b) and all(map(self.same, a, b))


# Exact probabilities.


def values_of(domain: Any) -> list[Any]:
    if domain["kind"] == "category":
        return list(domain["values"])
    if domain["kind"] in {"labeled", "table"}:
        cells = domain["cells"].values() if "cells" in domain else (domain["x"], domain["y"])
        return [list(row) for row in product(*map(values_of, cells))]
    need(domain["kind"] == "number" and domain["integer"], "infinitely many records")
    return list(range(math.ceil(F(domain["low"])), math.floor(F(domain["high"])) + 1))


def datasets(schema: Any) -> list[list[Any]]:
    if schema["kind"] == "answers":
        need(schema["integer"], "infinitely many answers")
        low, high = math.ceil(F(schema["low"])), math.floor(F(schema["high"]))
        return [list(a) for a in product(range(low, high + 1), repeat=schema["dimension"] or 1)]
    values = values_of(schema["record"])
    return [list(rows) for n in sizes(schema) for rows in product(values, repeat=n)]


def allowed(schema: Any, rows: list[Any]) -> bool:
    """Whether a dataset is one of the schema."""
    if schema["kind"] == "records" and len(rows) not in sizes(schema):
        return False
    if schema["kind"] == "records" and schema["record"]["kind"] in {"category", "labeled", "table"}:
        return all(row in values_of(schema["record"]) for row in rows)
    one = slots(schema)
    flat = [F(x) for row in rows for x in (row if isinstance(row, list) else [row])]
    parts = [fits(x, one[i % len(one)]) for i, x in enumerate(flat)]
    return len(flat) == (len(one) if schema["kind"] == "answers" else len(one) * len(rows)) and all(parts)


def fits(x: F, slot: tuple[F | None, F | None, bool]) -> bool:
    low, high, whole = slot
    return (low is None or x >= low) and (high is None or x <= high) and not (whole and x.denominator > 1)


def neighbors(schema: Any, a: list[Any], b: list[Any]) -> bool:
    if schema["kind"] == "answers":
        moves = [F(y) - F(x) for x, y in zip(a, b, strict=True)]
        if schema["monotone"] and min(moves) < 0 < max(moves):
            return False
        size = [abs(m) for m in moves]
        norm = {"1": sum(size), "2": sum(m * m for m in moves), "inf": max(size)}
        return norm[str(schema["norm"])] <= F(schema["sensitivity"]) ** (2 if schema["norm"] in (2, "2") else 1)
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


def law(tree: Any, read: Any, unit: Unit, event: Any = None) -> dict[str, Number]:
    """The probability of each output; or of the event, a list of [output, facts]."""
    laws = read["laws"]
    whole = {name for name, of in laws.items() if of["kind"] == "geometric"}
    total: dict[str, Number] = {}
    for facts, draws, output in leaves(tree, whole, {}):
        weight = Number({F(0): ONE})
        for key, choice in draws:
            weight = weight * Number.read(json.loads(key)[choice])
        for shown, more in outcomes(output, [f for f, _ in facts], whole, event):
            part = weight * mass([*(f for f, _ in facts), *more], laws, unit)
            total[shown] = total.get(shown, Number({})) + part
    return total


def exact(read: Any) -> str:
    unit, schema = Unit(read["claim"]), read["schema"]
    found = datasets(schema)
    need(found == read["datasets"] and len(found) == len(read["trees"]), "not all datasets")
    laws = [law(tree, read, unit) for tree in read["trees"]]
    for p in laws:
        whole_mass = sum(p.values(), Number({}))
        need(unit.sign(whole_mass - Number({F(0): ONE})) == 0, "probabilities do not add up")
    for (a, p), (b, q) in combinations(zip(found, laws, strict=True), 2):
        if neighbors(schema, a, b):
            need(not unit.exceeds(p, q) and not unit.exceeds(q, p), "the claim does not hold")
    return "proved"


def counterexample(read: Any) -> str:
    unit, (left, right) = Unit(read["claim"]), read["datasets"]
    need(allowed(read["schema"], left) and allowed(read["schema"], right), "no such data")
    need(neighbors(read["schema"], left, right), "these are no neighbors")
    p, q = (law(tree, read, unit, read["event"]) for tree in read["trees"])
    need(unit.exceeds(p, q), "the event is not too likely")
    return "refuted"
