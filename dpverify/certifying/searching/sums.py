"""Bound how far each release of a sum moves between neighbors, on both runs at once.

Where a mechanism adds fresh noise to data, what follows sees the sum alone; clamped data are
symbols with bounds. What is left is a tree of few branches, which both neighbors' runs walk
together. The evidence is for `checking.sums`, which this search follows step by step.
"""

from fractions import Fraction
from typing import Any

from dpverify.certifying.checking.forms import Fact, Form, Invalid, negated, plus
from dpverify.certifying.checking.sums import Runs, clamped, released
from dpverify.certifying.checking.trees import branches, goals, placed, told
from dpverify.certifying.searching.farkas import Contradictions, fraction, number
from dpverify.certifying.symbolic.reasons import NotUnderstood

_ONE = Fraction(1)
_MOST_CASES = 4000


def bound_releases(read: dict[str, Any]) -> tuple[list[Any], Fraction]:
    """A proof for sums and the largest Σ(b/σ)²; raise with what is missing."""
    search = _Search()
    try:
        proof = [search.follow(Runs(**vars(goal))) for goal in goals(read)]
    except (Invalid, KeyError) as error:
        raise NotUnderstood(f"the runs on neighbors differ: {error}") from None
    return proof, search.most


class _Search:
    def __init__(self) -> None:
        self.contradictions = Contradictions()
        self.cases = 0
        self.most = Fraction(0)

    def follow(self, runs: Runs) -> Any:  # noqa: ANN401
        self.cases += 1
        if self.cases > _MOST_CASES:
            raise NotUnderstood("the proof needs too many cases")
        multipliers = self.contradictions.multipliers(runs.facts)
        if multipliers is not None:
            return {"impossible": multipliers}
        for side, tree in enumerate(runs.trees):
            if "clamp" in tree:
                return self._clamp(runs, side)
            if "test" in tree:
                return self._branch(runs, side)
        left, right = runs.trees
        if "draw" in left and left["draw"] == right.get("draw"):
            both = zip(left["then"], right["then"], strict=True)
            return {"draw": [self.follow(runs.moved(0, a).moved(1, b)) for a, b in both]}
        if "release" in left and "release" in right:
            return self._release(runs)
        if "output" in left and "output" in right:
            a, b = (told(t["output"], m) for t, m in zip(runs.trees, runs.maps, strict=True))
            if a != b:
                raise NotUnderstood("an output depends on data without noise")
            self.most = max(self.most, runs.spent)
            return {"end": True}
        raise NotUnderstood("the runs on neighbors add noise at different places")

    def _branch(self, runs: Runs, side: int) -> Any:  # noqa: ANN401
        tree = runs.trees[side]
        both = branches(tree, runs.whole, runs.maps[side])
        for (branch, fact), (_, other) in ((both[0], both[1]), (both[1], both[0])):
            multipliers = self.contradictions.multipliers([*runs.facts, other])
            if multipliers is not None:
                then = self.follow(runs.known(fact).moved(side, tree[branch]))
                return {"go": side, "branch": branch, "not": multipliers, "then": then}
        split = next(fact for _, (fact, strict) in both if not strict)
        yes = self.follow(runs.known((split, False)))
        no = self.follow(runs.known(negated(split, runs.whole)))
        return {"split": {n: str(c) for n, c in split.items()}, "yes": yes, "no": no}

    def _clamp(self, runs: Runs, side: int) -> Any:  # noqa: ANN401
        """The proof step for a minimum or maximum with a constant."""
        tree = runs.trees[side]
        inner, constant = placed(tree["form"], runs.maps[side]), Fraction(tree["constant"])
        sign = _ONE if tree["operation"] == "max" else -_ONE
        case: dict[str, Any] = {"clamp": side, "bound": None, "within": None}
        try:
            most = sign * max(self._most(plus({}, inner, sign), runs.facts), sign * constant)
        except NotUnderstood:
            pass  # no bound but the constant
        else:
            beyond = plus({}, plus(inner, {"": most}, -_ONE), sign)
            case["bound"] = str(most)
            case["within"] = self.contradictions.multipliers([*runs.facts, (beyond, True)])
        return case | {"then": self.follow(clamped(case, runs))}

    def _release(self, runs: Runs) -> Any:  # noqa: ANN401
        a, b = runs.forms()
        gaps = plus(a, b, -_ONE), plus(b, a, -_ONE)
        bound = max(Fraction(0), *(self._most(gap, runs.facts) for gap in gaps))
        case: dict[str, Any] = {"bound": str(bound)}
        for key, gap in zip(("above", "below"), gaps, strict=True):
            over = plus(gap, {"": -bound})
            case[key] = self.contradictions.multipliers([*runs.facts, (over, True)])
        return case | {"then": self.follow(released(case, runs))}

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
