"""The checker for sums of noised answers: both runs side by side, release by release.

Each release is data plus fresh noise. Both neighbors' runs are followed with the same earlier
releases; where data alone decide a branch, cases are split. Per release, multipliers bound how far
the noise-free parts are apart. Gaussian: releases that are μ_k-GDP given the ones before compose to
√Σμ_k²; Laplace: costs add up.
"""

import json
import math
from fractions import Fraction as F
from typing import Any, TypeAlias

from dpverify.certifying.checker import (
    Fact,
    Form,
    Goal,
    allowed,
    branches,
    form,
    goals,
    impossible,
    negated,
    neighbors,
    plus,
    put,
)
from dpverify.certifying.recount import Invalid, exp_bounds, need

Bounds: TypeAlias = dict[int, F]
Box: TypeAlias = dict[str, tuple[F | None, F | None]]


def check_sums(read: Any) -> str:
    """Raise unless all releases together keep the claim, for all neighbors."""
    try:
        found = list(goals(read))
        for case, (goal, facts) in zip(read["proof"], found, strict=True):
            runs = Runs(goal, read)
            for bounds in runs.follow(case, State(goal, facts)):
                keeps_budget(read, bounds)
        return "proved"
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise Invalid(f"malformed: {type(error).__name__} {error}") from None


class State:
    """Where both runs are: their subtrees, what their symbols stand for, what is known."""

    def __init__(self, goal: Goal, facts: list[Fact]) -> None:
        self.trees, self.facts, self.count = list(goal.trees), list(facts), 0
        self.maps = [dict(values) for values in goal.maps]
        self.box: Box = {}
        for fact, _ in facts:  # bounds of single symbols
            names = [n for n in fact if n]
            if len(names) == 1:
                end, low = -fact.get("", F(0)) / fact[names[0]], fact[names[0]] > 0
                old = self.box.get(names[0], (None, None))
                self.box[names[0]] = (tightest(old[0], end, max), old[1]) if low else (
                    old[0], tightest(old[1], end, min)
                )

    def moved(self, side: int, tree: Any, *facts: Fact) -> "State":
        new = object.__new__(State)
        new.trees = [tree if i == side else t for i, t in enumerate(self.trees)]
        new.facts, new.count = [*self.facts, *facts], self.count
        new.maps, new.box = [dict(m) for m in self.maps], dict(self.box)
        return new

    def span(self, a: Form) -> tuple[F | None, F | None]:
        """Bounds of a form from those of its symbols."""
        low: F | None = a.get("", F(0))
        high: F | None = a.get("", F(0))
        for n, c in a.items():
            if n:
                ends = self.box.get(n, (None, None))
                small, large = ends if c > 0 else ends[::-1]
                low = None if low is None or small is None else low + c * small
                high = None if high is None or large is None else high + c * large
        return low, high

    def settled(self) -> "State":
        """Past all clamps, which are symbols named after what they are."""
        for side, tree in enumerate(self.trees):
            if "clamp" in tree:
                inner, c = put(form(tree["form"]), self.maps[side]), F(tree["constant"])
                least = tree["operation"] == "min"
                need(least or tree["operation"] == "max", "unknown operation")
                text = json.dumps([tree["operation"], sorted((n, str(x)) for n, x in inner.items()), str(c)])
                name, (low, high) = f"[{text}]", self.span(inner)
                ends = (None if low is None else min(low, c), c) if least else (
                    c, None if high is None else max(high, c)
                )
                sign = F(-1) if least else F(1)  # a minimum is below both, a maximum above
                symbol = {name: sign}
                facts = [(plus(symbol, {"": -sign * c}), False), (plus(symbol, inner, -sign), False)]
                facts += [(plus({name: s}, {"": -s * e}), False) for s, e in ((F(1), ends[0]), (F(-1), ends[1])) if e is not None]
                new = self.moved(side, tree["then"], *facts)
                new.box[name] = ends
                new.maps[side][tree["clamp"]] = {name: F(1)}
                return new.settled()
        return self


def tightest(a: F | None, b: F, choose: Any) -> F:
    return b if a is None else choose(a, b)


class Runs:
    """Follows two runs through the cases of a proof."""

    def __init__(self, goal: Goal, read: Any) -> None:
        self.goal, self.public = goal, set(read["laws"])

    def follow(self, case: Any, state: State) -> list[Bounds]:
        """Bounds on the releases, one list for each case of data; the largest over public cases."""
        state = state.settled()
        if "impossible" in case:
            impossible(state.facts, case["impossible"])
            return []
        if "split" in case:
            test = form(case["split"])
            parts = [
                self.follow(case["yes"], state.moved(-1, None, (test, False))),
                self.follow(case["no"], state.moved(-1, None, negated(test, False, self.goal.whole))),
            ]
            private = not any(n[0] == "r" or n in self.public or n[0] == "[" for n in test if n)
            return parts[0] + parts[1] if private else largest(parts[0] + parts[1])
        if "go" in case:
            return self.go(case, state)
        left, right = state.trees
        if "draw" in left:
            need(left["draw"] == right.get("draw"), "the runs draw differently")
            both = zip(case["draw"], left["then"], right["then"], strict=True)
            return largest([b for c, a, d in both for b in self.follow(c, state.moved(0, a).moved(1, d))])
        if "release" in left:
            return self.release(case, state)
        a, b = (put_output(tree["output"], m) for tree, m in zip(state.trees, state.maps, strict=True))
        need(a == b, "the output may change")
        return [{}]

    def go(self, case: Any, state: State) -> list[Bounds]:
        side, branch = int(case["go"]), case["branch"]
        tree = state.trees[side]
        both = dict(branches(tree, self.goal.tree_whole, state.maps[side]))
        impossible([*state.facts, both["no" if branch == "yes" else "yes"]], case["not"])
        return self.follow(case["then"], state.moved(side, tree[branch], both[branch]))

    def release(self, case: Any, state: State) -> list[Bounds]:
        left, right = state.trees
        need("release" in right and left["law"] == right["law"], "the runs release differently")
        need(left["scale"] == right["scale"] and F(left["scale"]) > 0, "the noise differs")
        gap = plus(*(put(form(t["form"]), m) for t, m in zip(state.trees, state.maps, strict=True)), F(-1))
        bound = F(case["bound"])
        for sign, key in ((F(1), "above"), (F(-1), "below")):
            over = plus(plus({}, gap, sign), {"": -bound})
            impossible([*state.facts, (over, True)], case[key])
        name = f"r{state.count}"
        new = state.moved(0, left["then"]).moved(1, right["then"])
        new.count += 1
        for m, tree in zip(new.maps, (left, right), strict=True):
            m[tree["release"]] = {name: F(1)}
        cost = bound / (F(left["scale"]) * width(left["law"]))
        need(left["law"]["kind"] in {"gaussian", "laplace"}, "such noise is not added up")
        return [{**rest, state.count: cost} for rest in self.follow(case["then"], new)]


def width(law: Any) -> F:
    number = law["parameter"]
    need(number["power"] == 0 and len(number["num"]) == len(number["den"]) == 1, "no rational scale")
    return F(number["num"][0]) / F(number["den"][0])


def largest(parts: list[Bounds]) -> list[Bounds]:
    total: Bounds = {}
    for part in parts:
        total = {k: max(total.get(k, F(0)), part.get(k, F(0))) for k in {*total, *part}}
    return [total] if parts else []


def put_output(output: Any, values: dict[str, Form]) -> Any:
    if isinstance(output, list) and output[:1] == ["value"]:
        return ["value", put(form(output[1]), values)]
    return [put_output(part, values) for part in output] if isinstance(output, list) else output


def keeps_budget(read: Any, bounds: Bounds) -> None:
    """Σμ² ≤ the square that the claim allows; or Σ ≤ ε for Laplace noise."""
    claim, kind = read["claim"], read["noise"]
    need(all(law["kind"] == kind for law in laws_of(read["trees"])), "noises are mixed")
    if kind == "laplace":
        need(claim["kind"] in {"pure", "approx"}, "no claim for such noise")
        need(sum(bounds.values(), F(0)) <= F(claim["epsilon"]), "the releases cost too much")
        return
    square = sum((b * b for b in bounds.values()), F(0))
    if claim["kind"] == "approx":
        mu = F(claim["mu"])
        need(mu > 0 and square <= mu * mu, "the releases cost too much")
        need(gaussian_delta(mu, F(claim["epsilon"])) <= F(claim["delta"]), "δ is too small")
        return
    allowed = {
        "gaussian": lambda: F(claim["mu"]) ** 2,
        "zcdp": lambda: 2 * F(claim["rho"]),
        "renyi": lambda: 2 * F(claim["epsilon"]) / F(claim["order"]),
    }
    need(square <= allowed[claim["kind"]](), "the releases cost too much")


def laws_of(trees: Any) -> list[Any]:
    found = [tree["law"] for tree in walk(trees) if "release" in tree]
    return found


def walk(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(x for part in value.values() for x in walk(part))]
    return [x for part in value for x in walk(part)] if isinstance(value, list) else []


def gaussian_delta(mu: F, epsilon: F) -> F:
    """A rational not below Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    return normal(mu / 2 - epsilon / mu)[1] - exp_bounds(epsilon, 200)[0] * normal(-mu / 2 - epsilon / mu)[0]


def normal(x: F) -> tuple[F, F]:
    """Rationals around Φ(x), by the alternating series of its integral; 0 and 1 far outside."""
    if abs(x) > 40:
        return (F(0), F(1, 10**300)) if x < 0 else (1 - F(1, 10**300), F(1))
    bits = 200 + 4 * int(x * x)
    y = F(math.floor(abs(x) * 2**bits), 2**bits)  # below |x| by less than 2^-bits
    total, term, k = F(0), y, 0
    while term > F(1, 2**bits) or k < y * y:
        total += (-1) ** k * term / (2 * k + 1)
        k += 1
        term = F(math.floor(term * y * y / (2 * k) * 2 ** (2 * bits)), 2 ** (2 * bits))
    error = (term + F(k, 2**bits)) + F(1, 2**bits)
    root = F(math.isqrt(2 * PI_LOW * 10**100), 10**100), F(math.isqrt(2 * PI_LOW * 10**100) + 3, 10**100)
    low, high = (total - error) / root[1], (total + error) / root[0]
    return (F(1, 2) + low, F(1, 2) + high) if x >= 0 else (F(1, 2) - high, F(1, 2) - low)


PI_LOW = 31415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679
"""π·10^100, rounded down."""


def check_gaussian_event(read: Any) -> str:
    """A number with Gaussian noise on both neighbors; that it is ≥ t (or ≤ t) breaks the claim."""
    try:
        sides = [ends_of(tree, F(read["at"]), F(read["sign"])) for tree in read["trees"]]
        need(F(read["sign"]) in (1, -1), "unknown sign")
        left, right = read["datasets"]
        need(allowed(read["schema"], left) and allowed(read["schema"], right), "no such data")
        need(neighbors(read["schema"], left, right), "these are no neighbors")
        (low, _), (_, high), claim = *sides, read["claim"]
        if claim["kind"] == "gaussian":
            need(low - high > F(claim["mu"]), "the event is not too likely")
        else:
            epsilon, delta = F(claim["epsilon"]), F(claim.get("delta", "0"))
            need(claim["kind"] in {"pure", "approx"}, "no event breaks such a claim")
            excess = normal(low)[0] - exp_bounds(epsilon, 200)[1] * normal(high)[1]
            need(excess > delta, "the event is not too likely")
        return "refuted"
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise Invalid(f"malformed: {type(error).__name__} {error}") from None


def ends_of(tree: Any, at: F, sign: F) -> tuple[F, F]:
    """Rationals around z, where the event has the probability Φ(z)."""
    output = tree["output"]
    need(output[0] == "value", "the output is no noisy number")
    value = form(output[1])
    variance = F(0)
    for name, c in value.items():
        if name:
            need(tree["laws"][name]["kind"] == "gaussian", "the noise is not Gaussian")
            variance += (c * width(tree["laws"][name])) ** 2
    need(variance > 0, "there is no noise")
    gap = sign * (value.get("", F(0)) - at)
    whole = 10**60
    root = math.isqrt(math.floor(variance * whole**2))
    ends = gap * whole / root, gap * whole / (root + 1)
    return min(ends), max(ends)
