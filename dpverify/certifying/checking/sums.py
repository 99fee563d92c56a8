"""Check sums of noised answers: both runs side by side, release by release.

Each release is data plus fresh noise. Both neighbors' runs are followed with the same earlier
releases; where data alone decide a branch, cases are split. Per release, multipliers bound how far
the noise-free parts are apart. Gaussian: releases that are μ_k-GDP given the ones before compose to
√Σμ_k²; Laplace: costs add up.
"""

import json
import math
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.certifying.checking.alignments import NeighborCase, branches, goals
from dpverify.certifying.checking.forms import (
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
from dpverify.certifying.checking.neighbors import allowed, neighbors
from dpverify.certifying.checking.numbers import exp_bounds

Bounds: TypeAlias = dict[int, Fraction]
Box: TypeAlias = dict[str, tuple[Fraction | None, Fraction | None]]


def check_sums(read: Json) -> str:
    """Raise unless all releases together keep the claim, for all neighbors."""
    found = list(goals(read))
    for case, (goal, facts) in zip(read["proof"], found, strict=True):
        runs = Runs(goal, read)
        for bounds in runs.follow(case, PairedRuns(goal, facts)):
            keeps_budget(read, bounds)
    return "proved"


class PairedRuns:
    """Where both runs are: their subtrees, what their symbols stand for, what is known."""

    def __init__(self, goal: NeighborCase, facts: list[Fact]) -> None:
        self.trees, self.facts, self.count = list(goal.trees), list(facts), 0
        self.maps = [dict(values) for values in goal.maps]
        self.box: Box = {}
        for fact, _ in facts:  # bounds of single symbols
            names = [n for n in fact if n]
            if len(names) == 1:
                end, low = -fact.get("", Fraction(0)) / fact[names[0]], fact[names[0]] > 0
                old = self.box.get(names[0], (None, None))
                self.box[names[0]] = (
                    (tightest(old[0], end, max), old[1])
                    if low
                    else (old[0], tightest(old[1], end, min))
                )

    def moved(self, side: int, tree: Json, *facts: Fact) -> "PairedRuns":
        new = object.__new__(PairedRuns)
        new.trees = [tree if i == side else t for i, t in enumerate(self.trees)]
        new.facts, new.count = [*self.facts, *facts], self.count
        new.maps, new.box = [dict(m) for m in self.maps], dict(self.box)
        return new

    def span(self, a: Form) -> tuple[Fraction | None, Fraction | None]:
        """Bounds of a form from those of its symbols."""
        low: Fraction | None = a.get("", Fraction(0))
        high: Fraction | None = a.get("", Fraction(0))
        for n, c in a.items():
            if n:
                ends = self.box.get(n, (None, None))
                small, large = ends if c > 0 else ends[::-1]
                low = None if low is None or small is None else low + c * small
                high = None if high is None or large is None else high + c * large
        return low, high

    def settled(self) -> "PairedRuns":
        """Past all clamps, which are symbols named after what they are."""
        for side, tree in enumerate(self.trees):
            if "clamp" in tree:
                inner, c = put(form(tree["form"]), self.maps[side]), Fraction(tree["constant"])
                least = tree["operation"] == "min"
                need(least or tree["operation"] == "max", "unknown operation")
                text = json.dumps(
                    [tree["operation"], sorted((n, str(x)) for n, x in inner.items()), str(c)]
                )
                name, (low, high) = f"[{text}]", self.span(inner)
                ends = (
                    (None if low is None else min(low, c), c)
                    if least
                    else (c, None if high is None else max(high, c))
                )
                sign = (
                    Fraction(-1) if least else Fraction(1)
                )  # a minimum is below both, a maximum above
                symbol = {name: sign}
                facts = [
                    (plus(symbol, {"": -sign * c}), False),
                    (plus(symbol, inner, -sign), False),
                ]
                facts += [
                    (plus({name: s}, {"": -s * e}), False)
                    for s, e in ((Fraction(1), ends[0]), (Fraction(-1), ends[1]))
                    if e is not None
                ]
                new = self.moved(side, tree["then"], *facts)
                new.box[name] = ends
                new.maps[side][tree["clamp"]] = {name: Fraction(1)}
                return new.settled()
        return self


def tightest(a: Fraction | None, b: Fraction, choose: Json) -> Fraction:
    return b if a is None else choose(a, b)


class Runs:
    """Follows two runs through the cases of a proof."""

    def __init__(self, goal: NeighborCase, read: Json) -> None:
        self.goal, self.public = goal, set(read["laws"])

    def follow(self, case: Json, state: PairedRuns) -> list[Bounds]:
        """Bounds on the releases, one list for each case of data; the largest over public cases."""
        state = state.settled()
        if "impossible" in case:
            impossible(state.facts, case["impossible"])
            return []
        if "split" in case:
            test = form(case["split"])
            parts = [
                self.follow(case["yes"], state.moved(-1, None, (test, False))),
                self.follow(case["no"], state.moved(-1, None, negated(test, self.goal.whole))),
            ]
            private = not any(n[0] == "r" or n in self.public or n[0] == "[" for n in test if n)
            return parts[0] + parts[1] if private else largest(parts[0] + parts[1])
        if "go" in case:
            return self.go(case, state)
        left, right = state.trees
        if "draw" in left:
            need(left["draw"] == right.get("draw"), "the runs draw differently")
            both = zip(case["draw"], left["then"], right["then"], strict=True)
            return largest(
                [b for c, a, d in both for b in self.follow(c, state.moved(0, a).moved(1, d))]
            )
        if "release" in left:
            return self.release(case, state)
        a, b = (
            put_output(tree["output"], m) for tree, m in zip(state.trees, state.maps, strict=True)
        )
        need(a == b, "the output may change")
        return [{}]

    def go(self, case: Json, state: PairedRuns) -> list[Bounds]:
        side, branch = int(case["go"]), case["branch"]
        tree = state.trees[side]
        both = dict(branches(tree, self.goal.tree_whole, state.maps[side]))
        impossible([*state.facts, both["no" if branch == "yes" else "yes"]], case["not"])
        return self.follow(case["then"], state.moved(side, tree[branch], both[branch]))

    def release(self, case: Json, state: PairedRuns) -> list[Bounds]:
        left, right = state.trees
        need("release" in right and left["law"] == right["law"], "the runs release differently")
        need(left["scale"] == right["scale"] and Fraction(left["scale"]) > 0, "the noise differs")
        sides = [put(form(t["form"]), m) for t, m in zip(state.trees, state.maps, strict=True)]
        gap = plus(sides[0], sides[1], Fraction(-1))
        bound = Fraction(case["bound"])
        for sign, key in ((Fraction(1), "above"), (Fraction(-1), "below")):
            over = plus(plus({}, gap, sign), {"": -bound})
            impossible([*state.facts, (over, True)], case[key])
        name = f"r{state.count}"
        new = state.moved(0, left["then"]).moved(1, right["then"])
        new.count += 1
        for m, tree in zip(new.maps, (left, right), strict=True):
            m[tree["release"]] = {name: Fraction(1)}
        cost = bound / (Fraction(left["scale"]) * width(left["law"]))
        need(left["law"]["kind"] in {"gaussian", "laplace"}, "such noise is not added up")
        return [{**rest, state.count: cost} for rest in self.follow(case["then"], new)]


def width(law: Json) -> Fraction:
    number = law["parameter"]
    need(
        number["power"] == 0 and len(number["num"]) == len(number["den"]) == 1, "no rational scale"
    )
    return Fraction(number["num"][0]) / Fraction(number["den"][0])


def largest(parts: list[Bounds]) -> list[Bounds]:
    total: Bounds = {}
    for part in parts:
        total = {
            k: max(total.get(k, Fraction(0)), part.get(k, Fraction(0))) for k in {*total, *part}
        }
    return [total] if parts else []


def put_output(output: Json, values: dict[str, Form]) -> Json:
    if isinstance(output, list) and output[:1] == ["value"]:
        return ["value", put(form(output[1]), values)]
    return [put_output(part, values) for part in output] if isinstance(output, list) else output


def keeps_budget(read: Json, bounds: Bounds) -> None:
    """Σμ² ≤ the square that the claim allows; or Σ ≤ ε for Laplace noise."""
    claim, kind = read["claim"], read["noise"]
    need(all(law["kind"] == kind for law in laws_of(read["trees"])), "noises are mixed")
    if kind == "laplace":
        need(claim["kind"] in {"pure", "approx"}, "no claim for such noise")
        need(
            sum(bounds.values(), Fraction(0)) <= Fraction(claim["epsilon"]),
            "the releases cost too much",
        )
        return
    square = sum((b * b for b in bounds.values()), Fraction(0))
    if claim["kind"] == "approx":
        mu = Fraction(claim["mu"])
        need(mu > 0 and square <= mu * mu, "the releases cost too much")
        need(
            gaussian_delta(mu, Fraction(claim["epsilon"])) <= Fraction(claim["delta"]),
            "δ is too small",
        )
        return
    allowed = {
        "gaussian": lambda: Fraction(claim["mu"]) ** 2,
        "zcdp": lambda: 2 * Fraction(claim["rho"]),
        "renyi": lambda: 2 * Fraction(claim["epsilon"]) / Fraction(claim["order"]),
    }
    need(square <= allowed[claim["kind"]](), "the releases cost too much")


def laws_of(trees: Json) -> list[Any]:
    return [tree["law"] for tree in walk(trees) if "release" in tree]


def walk(value: Json) -> list[Any]:
    if isinstance(value, dict):
        return [value, *(x for part in value.values() for x in walk(part))]
    return [x for part in value for x in walk(part)] if isinstance(value, list) else []


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """A rational not below Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    return (
        normal(mu / 2 - epsilon / mu)[1]
        - exp_bounds(epsilon, 200)[0] * normal(-mu / 2 - epsilon / mu)[0]
    )


def normal(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around Φ(x), by the alternating series of its integral; 0 and 1 far outside."""
    if abs(x) > 40:
        return (
            (Fraction(0), Fraction(1, 10**300))
            if x < 0
            else (1 - Fraction(1, 10**300), Fraction(1))
        )
    bits = 200 + 4 * int(x * x)
    y = Fraction(math.floor(abs(x) * 2**bits), 2**bits)  # below |x| by less than 2^-bits
    total, term, k = Fraction(0), y, 0
    while term > Fraction(1, 2**bits) or k < y * y:
        total += (-1) ** k * term / (2 * k + 1)
        k += 1
        term = Fraction(math.floor(term * y * y / (2 * k) * 2 ** (2 * bits)), 2 ** (2 * bits))
    error = (term + Fraction(k, 2**bits)) + Fraction(1, 2**bits)
    root = (
        Fraction(math.isqrt(2 * PI_LOW * 10**100), 10**100),
        Fraction(math.isqrt(2 * PI_LOW * 10**100) + 3, 10**100),
    )
    low, high = (total - error) / root[1], (total + error) / root[0]
    return (
        (Fraction(1, 2) + low, Fraction(1, 2) + high)
        if x >= 0
        else (Fraction(1, 2) - high, Fraction(1, 2) - low)
    )


PI_LOW = int(
    "314159265358979323846264338327950288419716939937510"
    "58209749445923078164062862089986280348253421170679"
)
"""π·10^100, rounded down."""


def check_gaussian_event(read: Json) -> str:
    """A number with Gaussian noise on both neighbors; that it is ≥ t (or ≤ t) breaks the claim."""
    sides = [ends_of(tree, Fraction(read["at"]), Fraction(read["sign"])) for tree in read["trees"]]
    need(Fraction(read["sign"]) in (1, -1), "unknown sign")
    left, right = read["datasets"]
    need(allowed(read["schema"], left) and allowed(read["schema"], right), "no such data")
    need(neighbors(read["schema"], left, right), "these are no neighbors")
    (low, _), (_, high), claim = *sides, read["claim"]
    if claim["kind"] == "gaussian":
        need(low - high > Fraction(claim["mu"]), "the event is not too likely")
    else:
        epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim.get("delta", "0"))
        need(claim["kind"] in {"pure", "approx"}, "no event breaks such a claim")
        excess = normal(low)[0] - exp_bounds(epsilon, 200)[1] * normal(high)[1]
        need(excess > delta, "the event is not too likely")
    return "refuted"


def ends_of(tree: Json, at: Fraction, sign: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around z, where the event has the probability Φ(z)."""
    output = tree["output"]
    need(output[0] == "value", "the output is no noisy number")
    value = form(output[1])
    variance = Fraction(0)
    for name, c in value.items():
        if name:
            need(tree["laws"][name]["kind"] == "gaussian", "the noise is not Gaussian")
            variance += (c * width(tree["laws"][name])) ** 2
    need(variance > 0, "there is no noise")
    gap = sign * (value.get("", Fraction(0)) - at)
    whole = 10**60
    root = math.isqrt(math.floor(variance * whole**2))
    ends = gap * whole / root, gap * whole / (root + 1)
    return min(ends), max(ends)
