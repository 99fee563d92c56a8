"""Check alignments: shifted noise gives the neighbor the same output, at a cost of at most ε.

Multipliers show that the translated run of a neighbor can reach no other output, and that the
translation costs at most ε; both for all data at once. Whatever is unusual is refused.
[proofs/alignment.py]
"""

import json
from collections.abc import Iterator
from typing import Any

from dpverify.certifying.checking.forms import (
    ONE,
    ZERO,
    Fact,
    Form,
    Json,
    form,
    impossible,
    need,
    negated,
    plus,
)
from dpverify.certifying.checking.numbers import ClaimUnit
from dpverify.certifying.checking.trees import (
    NeighborCase,
    branches,
    drawn,
    goals,
    leaves,
    noises,
    told,
)

LOWEST = {"geometric": ONE, "exponential": ZERO}
"""Where the support of a noise begins."""


class Noises:
    """The noises that can be shifted at finite cost: rates, lower ends, and which are whole."""

    def __init__(self, read: Json) -> None:
        self.unit, laws = ClaimUnit(read["claim"]), read["laws"]
        kinds = {name: laws[name]["kind"] for name in noises(read)}
        need({*kinds.values()} <= {"laplace", *LOWEST}, "no translation of finite cost")
        self.rates = {name: self.unit.rate(law) for name, law in laws.items()}
        self.whole = {name for name, kind in kinds.items() if kind == "geometric"}
        self.support = {n: lowest(n, kind) for n, kind in kinds.items() if kind in LOWEST}

    def translated(
        self, group: Json, facts: list[Fact], left: Form, whole: set[str]
    ) -> dict[str, Form]:
        """The shifted noises; raise unless whole stays whole, in its support, within the cost.

        A shift s is within a bound: −bound ≤ s ≤ bound, for noise with a least value 0 ≤ s ≤ bound.
        """
        moved = {}
        for name, read in group["shift"].items():
            shift, bound = form(read), form(group["bounds"][name]["bound"])
            need(not set(shift) & set(self.rates), "a translation may not depend on noise")
            if name in self.whole:
                known = set(shift) <= whole | {""}
                need(known and all(c.denominator == 1 for c in shift.values()), "no whole shift")
            over, under = plus(shift, bound, -ONE), plus(plus({}, shift, -ONE), bound, -ONE)
            under = negated(shift, set())[0] if name in self.support else under
            impossible([*facts, (over, True)], group["bounds"][name]["above"])
            impossible([*facts, (under, True)], group["bounds"][name]["below"])
            moved[name] = plus({name: ONE}, shift)
            left = plus(left, bound, -self.rates[name])
        impossible([*facts, negated(left, set())], group["cost"])
        return moved


def lowest(name: str, kind: str) -> Fact:
    """The fact that a noise is not below the lower end of its support."""
    return plus({name: ONE}, {"": -LOWEST[kind]}), False


def alignment(read: Json) -> str:
    known = Noises(read)
    for case, goal in zip(read["proof"], goals(read), strict=True):
        AlignedPaths(goal, known).check(case, [*goal.facts, *known.support.values()])
    return "proved"


class AlignedPaths:
    """The shifts of the noise in one case of neighbors."""

    def __init__(self, goal: NeighborCase, known: Noises) -> None:
        self.goal, self.noises = goal, known

    def check(self, case: Json, facts: list[Fact]) -> None:
        """Check the case: follow its splits of the data down to the shifts."""
        if "impossible" in case:
            impossible(facts, case["impossible"])
        elif "split" in case:
            test = form(case["split"])
            need(not set(test) & set(self.noises.rates), "a case may not depend on noise")
            self.check(case["yes"], [*facts, (test, False)])
            self.check(case["no"], [*facts, negated(test, self.goal.whole)])
        else:
            self.check_groups(case["groups"], facts)

    def check_groups(self, groups: Json, facts: list[Fact]) -> None:
        """Check that each path is shifted or impossible, and that different shifts never meet."""
        paths = list(leaves(self.goal.trees[0], self.goal.whole, self.goal.maps[0]))
        missing, landed = set(range(len(paths))), dict[Any, int]()
        for number, group in enumerate(groups):
            left = {"": self.noises.unit.epsilon}
            moved = self.noises.translated(group, facts, plus({}, left), self.goal.whole)
            for key, walk in group["walks"].items():
                tests, way, output = paths[int(key)]
                missing.remove(int(key))
                draws = drawn(way)
                need(all(self.noises.unit.weights(d) for d, _ in draws), "a draw of nothing")
                path = self.goal.maps[1] | moved, draws, told(output, self.goal.maps[0])
                for leaf in self.walk(walk, self.goal.trees[1], [*facts, *tests], (), path):
                    need(landed.setdefault(leaf, number) == number, "two translations may meet")
        need(not missing, "a path is missing")

    def walk(
        self,
        walk: Json,
        tree: Json,
        facts: list[Fact],
        way: tuple[Any, ...],
        path: Any,  # noqa: ANN401
    ) -> Iterator[Any]:
        """The leaves that the neighbor can reach; each must have the same output as the path."""
        moved, draws, shown = path
        if "impossible" in walk:
            impossible(facts, walk["impossible"])
        elif "output" in tree:
            need(told(tree["output"], moved) == shown, "the output may change")
            yield way
        elif "draw" in tree:  # the same draw has the same outcome; another one may have any
            before = sum(isinstance(step, int) for step in way)
            key, choice = draws[before] if before < len(draws) else (None, None)
            options = [choice] if key == json.dumps(tree["draw"]) else range(len(tree["then"]))
            for i in options:
                yield from self.walk(walk["draw"][str(i)], tree["then"][i], facts, (*way, i), path)
        else:
            for side, fact in branches(tree, self.goal.whole, moved):
                yield from self.walk(walk[side], tree[side], [*facts, fact], (*way, side), path)
