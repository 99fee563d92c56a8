"""Check alignments: translated noise gives every neighbor the same output, at a cost of at most ε.

Multipliers show that the translated run of a neighbor can reach no other output, and that the
translation costs at most ε; both for all data at once. Whatever is unusual is refused.
[proofs/alignment.py]
"""

import json
from collections.abc import Iterator
from fractions import Fraction
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
from dpverify.certifying.checking.trees import NeighborCase, branches, goals, leaves, told

LOWEST = {"geometric": ONE, "exponential": ZERO}
"""Where the support of a noise begins."""


def alignment(read: Json) -> str:
    unit, laws = ClaimUnit(read["claim"]), read["laws"]
    need({law["kind"] for law in laws.values()} <= {"laplace", *LOWEST}, "no finite cost")
    rates = {name: unit.rate(law) for name, law in laws.items()}
    lows = {name: LOWEST[law["kind"]] for name, law in laws.items() if law["kind"] in LOWEST}
    support = [({n: ONE} | ({"": -low} if low else {}), False) for n, low in lows.items()]
    for case, goal in zip(read["proof"], goals(read), strict=True):
        AlignedPaths(goal, lows, rates, unit).check(case, [*goal.facts, *support])
    return "proved"


class AlignedPaths:
    """The translations of one case of neighbors; `lows` are of noises that have a least value."""

    def __init__(
        self,
        goal: NeighborCase,
        lows: dict[str, Fraction],
        rates: dict[str, Fraction],
        unit: ClaimUnit,
    ) -> None:
        self.goal, self.lows, self.rates, self.unit = goal, lows, rates, unit

    def check(self, case: Json, facts: list[Fact]) -> None:
        """Follow the cases of data down to the translations."""
        if "impossible" in case:
            impossible(facts, case["impossible"])
        elif "split" in case:
            test = form(case["split"])
            need(not set(test) & set(self.rates), "a case may not depend on noise")
            self.check(case["yes"], [*facts, (test, False)])
            self.check(case["no"], [*facts, negated(test, self.goal.whole)])
        else:
            self.check_groups(case["groups"], facts)

    def check_groups(self, groups: Json, facts: list[Fact]) -> None:
        """Every path is translated or impossible; different translations end in other leaves."""
        paths = list(leaves(self.goal.trees[0], self.goal.whole, self.goal.maps[0]))
        left, landed = set(range(len(paths))), dict[Any, int]()
        for number, group in enumerate(groups):
            moved = self.moved(group, facts)
            for key, walk in group["walks"].items():
                tests, draws, output = paths[int(key)]
                left.remove(int(key))
                need(all(self.unit.weights(draw) for draw, _ in draws), "a draw of nothing")
                shown = told(output, self.goal.maps[0])
                run = self.goal.trees[1], [*facts, *tests], ()
                for leaf in self.walk(walk, *run, (moved, draws, shown)):
                    need(landed.setdefault(leaf, number) == number, "two translations may meet")
        need(not left, "a path is missing")

    def moved(self, group: Json, facts: list[Fact]) -> dict[str, Form]:
        """The neighbor's symbols, noise translated: whole if whole, in its support, for ε at most.

        A shift s is within a bound: −bound ≤ s ≤ bound, for noise with a least value 0 ≤ s ≤ bound.
        """
        moved, left = dict(self.goal.maps[1]), plus({}, {"": self.unit.epsilon})
        for name, read in group["shift"].items():
            shift, bound = form(read), form(group["bounds"][name]["bound"])
            need(not set(shift) & set(self.rates), "a translation may not depend on noise")
            if name in self.goal.whole:
                known = set(shift) <= self.goal.whole | {""}
                need(known and all(c.denominator == 1 for c in shift.values()), "no whole shift")
            over, under = plus(shift, bound, -ONE), plus(plus({}, shift, -ONE), bound, -ONE)
            under = negated(shift, set())[0] if name in self.lows else under
            impossible([*facts, (over, True)], group["bounds"][name]["above"])
            impossible([*facts, (under, True)], group["bounds"][name]["below"])
            moved[name] = plus({name: ONE}, shift)
            left = plus(left, bound, -self.rates[name])
        impossible([*facts, negated(left, set())], group["cost"])
        return moved

    def walk(
        self,
        walk: Json,
        tree: Json,
        facts: list[Fact],
        way: tuple[Any, ...],
        path: Any,  # noqa: ANN401
    ) -> Iterator[Any]:
        """The leaves that the neighbor can reach; each must have the output of the path."""
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
