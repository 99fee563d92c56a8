"""Check alignments: translated noise gives every neighbor the same output, at a cost of at most ε.

Multipliers show that the translated run of a neighbor can reach no other output, and that the
translation costs at most ε; both for all data at once. Whatever is unusual is refused.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from dpverify.certifying.checking.forms import (
    ONE,
    Fact,
    Form,
    Json,
    form,
    impossible,
    need,
    negated,
    plus,
    put,
)
from dpverify.certifying.checking.neighbors import datasets, neighbors, situations, slots
from dpverify.certifying.checking.numbers import ClaimUnit


def branches(tree: Json, whole: set[str], values: dict[str, Form]) -> list[tuple[str, Fact]]:
    test, strict = form(tree["test"]), tree["strict"]
    other, other_strict = negated(test, whole, strict=strict)
    return [("yes", (put(test, values), strict)), ("no", (put(other, values), other_strict))]


def leaves(tree: Json, whole: set[str], values: dict[str, Form]) -> list[tuple[Any, ...]]:
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


class NeighborCase:
    """What stays the same while one situation is checked."""

    def __init__(
        self, read: Json, trees: list[Any], left: Json, right: Json, whole: set[str]
    ) -> None:
        self.laws, unit = read["laws"], ClaimUnit(read["claim"])
        noise = {name for name, law in self.laws.items() if law["kind"] == "geometric"}
        self.rates = {name: unit.rate(law) for name, law in self.laws.items()}
        self.epsilon, self.whole = unit.epsilon, whole | noise
        one = [s[2] for s in slots(read["schema"])] if left or right else []
        many = {f"x{i}" for i in range(max(len(left), len(right))) if one[i % len(one)]}
        self.tree_whole, self.trees = many | noise, trees
        self.maps = [{f"x{i}": f for i, f in enumerate(side)} for side in (left, right)]


def alignment(read: Json) -> str:
    lows = {"geometric": ONE, "exponential": Fraction(0)}
    kinds = {name: law["kind"] for name, law in read["laws"].items()}
    need(set(kinds.values()) <= {"laplace", *lows}, "such noise has no translation of finite cost")
    support = [({n: ONE, "": -lows[k]}, False) for n, k in kinds.items() if k in lows]
    found = list(goals(read))
    for case, (goal, facts) in zip(read["proof"], found, strict=True):
        check_case(case, [*facts, *support], goal)
    return "proved"


def goals(read: Json) -> Iterator[tuple[NeighborCase, list[Fact]]]:
    """All ways in which neighbors can lie; or all pairs of them where datasets are listed."""
    if "datasets" not in read:
        for left, right, facts, whole in situations(read["schema"]):
            trees = [read["trees"][str(len(side))] for side in (left, right)]
            yield NeighborCase(read, trees, left, right, whole), facts
        return
    found = datasets(read["schema"])
    need(found == read["datasets"], "not all datasets")
    for (i, a), (j, b) in combinations(enumerate(found), 2):
        for one, other in ((i, j), (j, i)) if neighbors(read["schema"], a, b) else ():
            yield (
                NeighborCase(
                    read, [read["trees"][str(one)], read["trees"][str(other)]], [], [], set()
                ),
                [],
            )


def check_case(case: Json, facts: list[Fact], goal: NeighborCase) -> None:
    if "impossible" in case:
        impossible(facts, case["impossible"])
    elif "split" in case:
        test = form(case["split"])
        need(not set(test) & set(goal.laws), "a case may not depend on noise")
        check_case(case["yes"], [*facts, (test, False)], goal)
        check_case(case["no"], [*facts, negated(test, goal.whole)], goal)
    else:
        check_groups(case["groups"], facts, goal)


def check_groups(groups: Json, facts: list[Fact], goal: NeighborCase) -> None:
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


def check_shift(shift: dict[str, Form], group: Json, facts: list[Fact], goal: NeighborCase) -> None:
    """Free of noise, whole where noise is whole, Σ|shift|·rate ≤ ε, and within the support."""
    for name, s in shift.items():
        need(not set(s) & set(goal.laws), "a translation may not depend on noise")
        if goal.laws[name]["kind"] == "geometric":
            whole = set(s) <= goal.whole | {""} and all(c.denominator == 1 for c in s.values())
            need(whole, "whole noise is moved by a fraction")
        if goal.laws[name]["kind"] != "laplace":
            impossible([*facts, negated(s, set())], group["stay"][name])
    moving = [name for name, s in shift.items() if set(s) - {""}]
    fixed = sum(
        (abs(s.get("", Fraction(0))) * goal.rates[n] for n, s in shift.items() if n not in moving),
        Fraction(0),
    )
    for signs in product((ONE, -ONE), repeat=len(moving)):
        cost = plus({}, {"": fixed - goal.epsilon})
        for sign, name in zip(signs, moving, strict=True):
            cost = plus(cost, shift[name], sign * goal.rates[name])
        key = "".join("+" if sign > 0 else "-" for sign in signs)
        impossible([*facts, (cost, True)], group["costs"][key])


class Follow:
    """Follows all that the neighbor's run can do with translated noise."""

    def __init__(
        self, goal: NeighborCase, draws: Json, output: Json, values: dict[str, Form]
    ) -> None:
        self.goal, self.draws, self.output, self.values = goal, draws, output, values

    def walk(
        self, walk: Json, tree: Json, facts: list[Fact], way: tuple[Any, ...]
    ) -> Iterator[Any]:
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
            for i in [mine[1]] if same and mine is not None else range(len(tree["then"])):
                yield from self.walk(walk["draw"][str(i)], tree["then"][i], facts, (*way, i))
        else:
            for side, fact in branches(tree, self.goal.tree_whole, self.values):
                yield from self.walk(walk[side], tree[side], [*facts, fact], (*way, side))

    def same(self, a: Json, b: Json) -> bool:
        """Equal where plain, identical as forms where data or noise come in."""
        if not isinstance(a, list) or not isinstance(b, list):
            return type(a) is type(b) and bool(a == b)
        if a[:1] == ["value"] == b[:1]:
            return put(form(a[1]), self.goal.maps[0]) == put(form(b[1]), self.values)
        return len(a) == len(b) and all(map(self.same, a, b))
