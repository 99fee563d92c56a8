"""Sums of noised answers: how far each release moves between neighbors, by both runs at once.

Where a mechanism adds fresh noise to data, what follows sees the sum alone; clamped data are
symbols with bounds. What is left is a tree of few branches, which both neighbors' runs walk
together. The evidence is for `sums_checker`, which this search follows step by step.
"""

from fractions import Fraction
from typing import Any

from dpverify.certifying.checking.alignments import NeighborCase, branches, goals
from dpverify.certifying.checking.forms import Fact, Form, Invalid, form, negated, plus, put
from dpverify.certifying.checking.sums import PairedRuns, put_output
from dpverify.certifying.searching.farkas import Contradictions, fraction, number
from dpverify.certifying.symbolic.reasons import NotUnderstood

_ONE = Fraction(1)
_MOST_CASES = 4000


def bound_releases(read: dict[str, Any]) -> list[Any]:
    """The proof for a certificate of sums; raises with what is missing."""
    search = _Search()
    try:
        return [search.follow(PairedRuns(goal, facts), goal) for goal, facts in goals(read)]
    except (Invalid, KeyError) as error:
        raise NotUnderstood(f"the runs on neighbors differ: {error}") from None


class _Search:
    def __init__(self) -> None:
        self.contradictions = Contradictions()
        self.cases = 0

    def follow(self, state: PairedRuns, goal: NeighborCase) -> Any:  # noqa: ANN401
        self.cases += 1
        if self.cases > _MOST_CASES:
            raise NotUnderstood("the proof needs too many cases")
        state = state.settled()
        multipliers = self.contradictions.multipliers(state.facts)
        if multipliers is not None:
            return {"impossible": multipliers}
        for side, tree in enumerate(state.trees):
            if "test" in tree:
                return self._branch(state, goal, side)
        left, right = state.trees
        if "draw" in left and left["draw"] == right.get("draw"):
            both = zip(left["then"], right["then"], strict=True)
            return {"draw": [self.follow(state.moved(0, a).moved(1, b), goal) for a, b in both]}
        if "release" in left and "release" in right:
            return self._release(state, goal)
        if "output" in left and "output" in right:
            outputs = [
                put_output(t["output"], m) for t, m in zip(state.trees, state.maps, strict=True)
            ]
            if outputs[0] == outputs[1]:
                return {"end": True}
            raise NotUnderstood("an output depends on data without noise")
        raise NotUnderstood("the runs on neighbors add noise at different places")

    def _branch(self, state: PairedRuns, goal: NeighborCase, side: int) -> Any:  # noqa: ANN401
        tree = state.trees[side]
        both = branches(tree, goal.tree_whole, state.maps[side])
        for (branch, fact), (_, other) in ((both[0], both[1]), (both[1], both[0])):
            multipliers = self.contradictions.multipliers([*state.facts, other])
            if multipliers is not None:
                then = self.follow(state.moved(side, tree[branch], fact), goal)
                return {"go": side, "branch": branch, "not": multipliers, "then": then}
        split = next(fact for _, (fact, strict) in both if not strict)
        yes = self.follow(state.moved(-1, None, (split, False)), goal)
        no = self.follow(state.moved(-1, None, negated(split, goal.whole)), goal)
        return {"split": {n: str(c) for n, c in split.items()}, "yes": yes, "no": no}

    def _release(self, state: PairedRuns, goal: NeighborCase) -> Any:  # noqa: ANN401
        left, right = state.trees
        sides = [put(form(t["form"]), m) for t, m in zip(state.trees, state.maps, strict=True)]
        gap = plus(sides[0], sides[1], -_ONE)
        bound = max(self._most(gap, state.facts), self._most(plus({}, gap, -_ONE), state.facts))
        bound = max(bound, Fraction(0))
        evidence = {}
        for sign, key in ((_ONE, "above"), (-_ONE, "below")):
            over = plus(plus({}, gap, sign), {"": -bound})
            evidence[key] = self.contradictions.multipliers([*state.facts, (over, True)])
        new = state.moved(0, left["then"]).moved(1, right["then"])
        new.count += 1
        for m, tree in zip(new.maps, (left, right), strict=True):
            m[tree["release"]] = {f"r{state.count}": _ONE}
        return {"bound": str(bound), **evidence, "then": self.follow(new, goal)}

    def _most(self, target: Form, facts: list[Fact]) -> Fraction:
        """The largest value of a form where the facts hold."""
        if not set(target) - {""}:
            return target.get("", Fraction(0))
        z3 = self.contradictions.z3
        ask = z3.Optimize()
        ask.set("timeout", 10_000)
        symbols: dict[str, Any] = {}

        def value(a: Form) -> Any:  # noqa: ANN401
            terms = [
                number(z3, c) * symbols.setdefault(n, z3.Real(n)) if n else number(z3, c)
                for n, c in a.items()
            ]
            return z3.Sum(terms) if terms else z3.RealVal(0)

        for fact, _ in facts:
            ask.add(value(fact) >= 0)
        handle = ask.maximize(value(target))
        if ask.check() != z3.sat or "oo" in str(ask.upper(handle)):
            raise NotUnderstood("the data that one release adds up are not bounded")
        return fraction(ask.upper(handle))
