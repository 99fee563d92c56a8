"""Check proofs for data of any length: steps of two runs side by side, one record at a time.

A mechanism is an automaton: nodes with trees that end in another node or in an output. At each
place that both runs can reach, the proof says how far apart their numbers are (`gaps`) and how much
of ε is left (`budget`), both affine in how the neighbors differ. For each step multipliers show:
translated noise takes the neighbor's run the same way, numbers are then apart as the next place
says, what was told is the same, and the step is paid for. So runs of every length are aligned, by
induction on their steps. [proofs/induction.py]
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.certifying.checking.forms import (
    ONE,
    ZERO,
    Fact,
    Form,
    Json,
    count,
    form,
    impossible,
    need,
    negated,
    plus,
    put,
    rational,
)
from dpverify.certifying.checking.neighbors import slots
from dpverify.certifying.checking.numbers import ClaimUnit
from dpverify.certifying.checking.trees import check_plain, noises

_MOST_RECORDS = 200
FEW = 8  # records of so few values are taken one by one


def induction(read: Json) -> str:
    found = list(situations(read["schema"]))
    for case, situation in zip(read["proof"], found, strict=True):
        check_places(case, SideBySide(read, situation))
    return "proved"


def check_places(case: Json, runs: "SideBySide") -> None:
    """All places that can be reached, each with all steps from it."""
    places = [PairedPlace(0)]
    first = form(case[0]["budget"])
    need(
        not set(first) - {""} and first.get("", Fraction(0)) <= runs.epsilon, "more than ε is spent"
    )
    for place, told in zip(places, case, strict=False):  # `places` grows
        gaps, budget = [form(g) for g in told["gaps"]], form(told["budget"])
        need(len(gaps) == runs.nodes[place.node]["symbols"], "a gap is missing")
        need(all(ghostly(f) for f in (*gaps, budget)), "a gap depends on more than the neighbors")
        for step, proof in zip(runs.steps(place), told["steps"], strict=True):
            if "impossible" in proof:
                impossible(step.facts, proof["impossible"])
                continue
            need(step.fits, "the runs part")
            need(not (step.parted and runs.untyped), "a number may tell them by its type")
            if step.target is not None and step.target not in places:
                places.append(step.target)
            after = None if step.target is None else case[places.index(step.target)]
            check_step(step, proof, runs, (gaps, budget), after)
    need(len(places) == len(case), "a place is missing")


def ghostly(a: Form, more: str = "") -> bool:
    """Whether a form is in symbols that only say how neighbors differ; per record, too."""
    bare = [name.removeprefix("w") for name in a]
    return all(not name or name[0] in "pqDu" + more for name in bare)


def symbols_in(read: Json) -> Iterator[str]:
    """The symbols of all forms in trees: those of comparisons, and of values."""
    if isinstance(read, dict):
        yield from read.get("test", ())
        yield from (n for part in read.values() for n in symbols_in(part))
    elif isinstance(read, list):
        need(read[:1] != ["value"] or len(read) == 2, "a value is one form")
        yield from read[1] if read[:1] == ["value"] else (n for x in read for n in symbols_in(x))


def scaled(a: Form) -> Form:
    """The form divided by the number of records: wy is y per record, and w is 1 per record."""
    return {f"w{name}": c for name, c in a.items()}


def doubled(values: dict[str, Form]) -> dict[str, Form]:
    return {**values, **{f"w{name}": scaled(f) for name, f in values.items()}}


@dataclass(frozen=True)
class PairedPlace:
    """A node that both runs are at; whether the record that differs was met in this loop."""

    node: int
    met: bool = False
    known: tuple[Any, ...] = ()  # what comparisons have said about that record


@dataclass
class Situation:
    """One way in which neighbors differ; facts about p, q (the record that differs), D, u."""

    facts: list[Fact]
    values: int  # how many values a record may have; 0: it is of symbols
    bounds: list[Any]  # (low, high) of each symbol in a record
    answers: Json = None
    sign: Fraction = Fraction(0)
    least: int = 0  # records there are at least; 0: neighbors are not of the same length
    persons: tuple[int | None, int | None] | None = None  # the values on both sides; None: absent


def span(name: str, bounds: list[Any]) -> list[Fact]:
    """low ≤ symbol ≤ high for the symbols of a record."""
    found = []
    for i, (low, high) in enumerate(bounds):
        found += [] if low is None else [({f"{name}{i}": ONE, "": -low}, False)]
        found += [] if high is None else [({f"{name}{i}": -ONE, "": high}, False)]
    return [({n: c for n, c in f.items() if c}, s) for f, s in found]


def situations(schema: Json) -> Iterator[Situation]:
    """All ways in which neighbors of any length can differ."""
    least, most = schema["sizes"]
    least = count(least, _MOST_RECORDS, "too many records")
    need(most is None, "the data are not of any length")
    need(schema["ordered"] is True, "records without an order")
    bounds, values = domain(schema)
    alike = max(least, 1)  # without a record there are no neighbors of the same length
    if schema["relation"] == "move":
        need(rational(schema["reach"]) > 0 and len(bounds) == 1, "there are no neighbors")
        need(schema["norm"] in {"1", "2", "inf"}, "unknown norm")
        for sign in (ZERO,) if schema["monotone"] is False else (ONE, -ONE):
            yield Situation([], 0, bounds, schema, sign, alike)
        return
    every = range(values or 1)
    need(schema["relation"] in {"replace-one", "add-remove"}, "unknown relation")
    if schema["relation"] == "replace-one":
        for a, b in product(every, every):
            if a != b or not values:
                facts = [*span("p", bounds), *span("q", bounds)]
                yield Situation(facts, values, bounds, least=alike, persons=(a, b))
        return
    for a in every:
        yield Situation(span("p", bounds), values, bounds, persons=(a, None))
        yield Situation(span("q", bounds), values, bounds, persons=(None, a))


def domain(schema: Json) -> tuple[list[Any], int]:
    """Bounds on the symbols of a record; or how many values it has, where these are few."""
    if schema["slots"] is None:
        need(0 < len(schema["values"]) <= FEW, "too many categories")
        return [], len(schema["values"])
    found = slots(schema)
    low, high, whole = found[0]
    if schema["relation"] != "move" and len(found) == 1 and whole and low is not None:
        number = FEW if high is None else math.floor(high) - math.ceil(low)
        if number < FEW:
            return [], number + 1
    return [(a, b) for a, b, _ in found], 0


@dataclass
class PairedStep:
    """One step of both runs: a path on the left, and the path on the right that matches it."""

    facts: list[Fact]  # what holds on the left, and of the data on the right
    pairs: list[tuple[Form, Fact]]  # comparisons that must come out the same: left, and right
    left: Json
    right: Json
    maps: tuple[dict[str, Form], dict[str, Form]]
    update: dict[str, Form]  # the next place's symbols in terms of this one's
    fits: bool
    parted: bool  # the runs take different ways through the code
    target: PairedPlace | None = None


@dataclass
class PathEnd:
    """The end of a path: what was compared on it; what else was decided, in order; its output."""

    tests: list[tuple[Form, bool]] = field(default_factory=list)
    address: tuple[Any, ...] = ()
    output: Json = None


class SideBySide:
    """Two runs of an automaton on neighbors."""

    def __init__(self, read: Json, situation: Situation) -> None:
        self.nodes, self.laws, self.situation = read["nodes"], read["laws"], situation
        self.untyped = read["untyped"]
        self.unit = unit = ClaimUnit(read["claim"])
        self.epsilon = unit.epsilon
        self.rates = {name: unit.rate(law) for name, law in self.laws.items()}
        kinds = {name: law["kind"] for name, law in self.laws.items()}
        lows = {"geometric": ONE, "exponential": Fraction(0)}
        need(
            set(kinds.values()) <= {"laplace", *lows},
            "such noise has no translation of finite cost",
        )
        self.whole = {n for n, k in kinds.items() if k == "geometric"}
        self.support = [({n: ONE, "": -lows[k]}, False) for n, k in kinds.items() if k in lows]
        self.shares = any(name[:1] == "w" for name in symbols_in(self.nodes))  # per record
        need(situation.least or not self.shares, "neighbors differ in their number of records")
        noises(read)
        for node in self.nodes:
            if "loop" not in node:
                self.check_symbols(node, node["tree"])
                continue
            count(node["loop"], _MOST_RECORDS, "a loop without a number")
            need(len(node["bodies"]) == (situation.values or 1), "a record is missing")
            self.check_symbols(node, node["bodies"], len(situation.bounds))
            self.check_symbols(node, node["exit"])

    def check_symbols(self, node: Json, part: Json, width: int = 0) -> None:
        """A tree knows its record, its numbers and its noise; not how the neighbors differ."""
        symbols = count(node["symbols"], _MOST_RECORDS, "too many numbers")
        own = {
            "",
            *self.laws,
            *(f"{a}{i}" for a, n in (("x", width), ("s", symbols)) for i in range(n)),
        }
        need({*symbols_in(part)} <= own | {f"w{n}" for n in own}, "a tree knows more than its data")

    def steps(self, place: PairedPlace) -> Iterator[PairedStep]:
        """All steps that both runs can take from a place."""
        node, situation = self.nodes[place.node], self.situation
        known = [(dict(f), strict) for f, strict in place.known]
        base = [*situation.facts, *self.sums(), *known, *self.support]
        if "loop" not in node:
            yield from self.matched(place, node["tree"], node["tree"], base, ({}, {}), {})
            return
        loop, bodies = node["loop"], node["bodies"]
        if situation.answers is not None:
            facts, update = self.moved(loop)
            maps: Any = ({}, {"x0": {"x0": ONE, "d": ONE}})
            yield from self.matched(place, bodies[0], bodies[0], [*base, *facts], maps, update)
        else:
            for tree in bodies:
                facts = [*base, *span("x", situation.bounds)]
                yield from self.matched(place, tree, tree, facts, ({}, {}), {})
        if situation.persons is not None and not place.met:
            state = ["state", *(["value", {f"s{i}": "1"}] for i in range(node["symbols"]))]
            told = ["told", *(["grown", place] for place in node["lists"])]
            stay = {"output": ["go", place.node, state, told]}
            trees = [stay if who is None else bodies[who] for who in situation.persons]
            width = range(len(situation.bounds))
            maps = tuple({f"x{i}": {f"{letter}{i}": ONE} for i in width} for letter in "pq")
            yield from self.matched(place, trees[0], trees[1], base, maps, {}, meets=True)
        if situation.persons is None or place.met:
            yield from self.matched(place, node["exit"], node["exit"], base, ({}, {}), {})

    def sums(self) -> list[Fact]:
        """In each loop answers have moved by D together so far, |D| ≤ u ≤ the sensitivity."""
        schema, found = self.situation.answers, []
        for loop in sorted({n["loop"] for n in self.nodes if "loop" in n}) if schema else ():
            total, used = {f"D{loop}": ONE}, {f"u{loop}": ONE}
            found += [plus(used, total), plus(used, total, -ONE)]
            found += [plus({"": rational(schema["reach"])}, used, -ONE)]
        return [(f, False) for f in found]

    def moved(self, loop: int) -> tuple[list[Fact], dict[str, Form]]:
        """The next answer moves by d, |d| ≤ a; where the norm adds up, with those before it."""
        schema, d, a = self.situation.answers, {"d": ONE}, {"a": ONE}
        reach, total, used = {"": rational(schema["reach"])}, f"D{loop}", f"u{loop}"
        adds = schema["norm"] == "1"
        found = [plus(a, d), plus(a, d, -ONE), plus({}, d, self.situation.sign)]
        found.append(plus(plus(reach, a, -ONE), {used: ONE} if adds else {}, -ONE))
        facts = [(f, False) for f in found] + span("x", self.situation.bounds)
        facts += [
            (put(f, {"x0": {"x0": ONE, "d": ONE}}), s) for f, s in span("x", self.situation.bounds)
        ]
        return facts, {total: {total: ONE, "d": ONE}, used: {used: ONE, "a": ONE}} if adds else {}

    def matched(  # noqa: PLR0917, PLR0913
        self,
        place: PairedPlace,
        left: Json,
        right: Json,
        facts: list[Fact],
        maps: Json,
        update: dict[str, Form],
        *,
        meets: bool = False,
    ) -> Iterator[PairedStep]:
        """Each path on the left with all paths on the right that go the same way."""
        maps, update = tuple(map(doubled, maps)), doubled(update)
        for i, mine in enumerate(self.leaves(left)):
            own = [(put(f, maps[0]), s) for f, s in mine.tests]
            for j, other in enumerate(self.leaves(right)):
                fits = alike(mine.address, other.address)
                if fits is None:
                    continue
                data = [(put(f, maps[1]), s) for f, s in other.tests if of_data(f)]
                pairs = []
                if fits:
                    noisy = [[t for t in leaf.tests if not of_data(t[0])] for leaf in (mine, other)]
                    both = zip(*noisy, strict=True)
                    pairs = [(put(f, maps[0]), (put(g, maps[1]), s)) for (f, _), (g, s) in both]
                step = PairedStep(
                    self.known([*facts, *own, *data]), pairs, mine.output, other.output,
                    maps, dict(update), fits, meets or i != j,
                )  # fmt: skip
                met = [(leaf, m) for leaf, m in zip((mine, other), maps, strict=True) if meets]
                news = [(put(f, m), s) for leaf, m in met for f, s in leaf.tests if of_data(f)]
                self.aim(step, place, news, meets=meets)
                yield step

    def known(self, facts: list[Fact]) -> list[Fact]:
        """The facts; and, where numbers per record are used, the same per record."""
        if not self.shares:
            return facts
        whole = [(f, s) for f, s in facts if not any(n[:1] == "w" for n in f)]
        some = {"": Fraction(1, self.situation.least), "w": -ONE}
        return [*facts, *((scaled(f), s) for f, s in whole), ({"w": ONE}, True), (some, False)]

    def aim(self, step: PairedStep, place: PairedPlace, news: list[Fact], *, meets: bool) -> None:
        """Where the step leads to."""
        if step.left[0] != step.right[0] or step.left[0] not in {"go", "return"}:
            step.fits = False
        elif step.left[0] == "go":
            need(len(step.left) == len(step.right) == 4, "no such step")
            for way in (step.left, step.right):
                count(way[1], len(self.nodes) - 1, "no such node")
            there, loop = self.nodes[step.left[1]].get("loop"), self.nodes[place.node].get("loop")
            step.fits &= step.left[1] == step.right[1]
            inside = there is not None and there == loop
            told = [(tuple(sorted(f.items())), s) for f, s in news]
            known = tuple(dict.fromkeys([*place.known, *told]))
            step.target = PairedPlace(step.left[1], inside and (place.met or meets), known)
            if there is not None and not inside:
                step.update |= doubled({f"D{there}": {}, f"u{there}": {}})

    def leaves(self, tree: Json) -> Iterator[PathEnd]:
        if "output" in tree:
            yield PathEnd(output=tree["output"])
        elif "draw" in tree:
            key = json.dumps(tree["draw"])
            need(len(tree["then"]) == len(self.unit.weights(key)), "a draw without a branch")
            for i, child in enumerate(tree["then"]):
                for leaf in self.leaves(child):
                    yield PathEnd(leaf.tests, ((key, i), *leaf.address), leaf.output)
        else:
            test, strict = form(tree["test"]), tree["strict"]
            both = (("yes", (test, strict)), ("no", negated(test, self.whole, strict=strict)))
            for side, fact in both:
                for leaf in self.leaves(tree[side]):
                    step = () if of_data(test) else (("test", side),)
                    yield PathEnd([fact, *leaf.tests], (*step, *leaf.address), leaf.output)


def of_data(test: Form) -> bool:
    """Whether a comparison is of the record alone."""
    return all(not name or name[0] == "x" for name in test)


def alike(mine: tuple[Any, ...], other: tuple[Any, ...]) -> bool | None:
    """Whether the paths agree in all but comparisons of the record; None: they never meet.

    The same comparison comes out the same, as the step shows, and the same draw has the same
    outcome; after that, one run may not decide or draw where the other does not.
    """
    for a, b in zip(mine, other, strict=False):
        if a[0] != b[0]:
            return False
        if a[1] != b[1]:
            return None
    return len(mine) == len(other)


def check_step(step: PairedStep, proof: Json, runs: SideBySide, here: Json, after: Json) -> None:
    """The neighbor's run goes the same way, tells the same, and the step is paid for."""
    gaps, budget = here
    shift = {name: form(s) for name, s in proof["shift"].items()}
    moved = {name: plus({name: ONE}, s) for name, s in shift.items()}
    apart = {f"s{i}": plus({f"s{i}": ONE}, gap) for i, gap in enumerate(gaps)}
    values = doubled({**moved, **apart})

    def right(f: Form) -> Form:
        return put(put(f, step.maps[1]), values)

    for (_, (test, strict)), multipliers in zip(step.pairs, proof["tests"], strict=True):
        impossible([*step.facts, negated(put(test, values), set(), strict=strict)], multipliers)
    check_shift(shift, proof, step.facts, runs)
    left_budget: Form = {}
    if after is None:
        need(same(step.left, step.right, step.maps[0], right), "the output may change")
    else:
        ahead = {**step.update}
        left_budget = put(form(after["budget"]), ahead)
        states = zip(step.left[2][1:], step.right[2][1:], after["gaps"], strict=True)
        for mine, other, gap in states:
            need(mine[0] == other[0] == "value", "no number")
            difference = plus(right(form(other[1])), put(form(mine[1]), step.maps[0]), -ONE)
            need(difference == put(form(gap), ahead), "the gap is another one")
        need(same(step.left[3], step.right[3], step.maps[0], right), "what is told may change")
    moving = [name for name, s in shift.items() if set(s) - {""}]
    fixed = sum(
        (abs(s.get("", Fraction(0))) * runs.rates[n] for n, s in shift.items() if n not in moving),
        Fraction(0),
    )
    for signs in product((ONE, -ONE), repeat=len(moving)):
        cost = plus(plus({"": fixed} if fixed else {}, left_budget), budget, -ONE)
        for sign, name in zip(signs, moving, strict=True):
            cost = plus(cost, shift[name], sign * runs.rates[name])
        key = "".join("+" if sign > 0 else "-" for sign in signs)
        impossible([*step.facts, (cost, True)], proof["costs"][key])


def check_shift(shift: dict[str, Form], proof: Json, facts: list[Fact], runs: SideBySide) -> None:
    """Free of noise and of what it may be part of; whole for whole noise; within the support."""
    for name, s in shift.items():
        need(name in runs.laws, "no such noise")
        need(ghostly(s, "da"), "a translation may not depend on noise")
        if runs.laws[name]["kind"] == "geometric":
            need(not set(s) - {""} and all(c.denominator == 1 for c in s.values()), "a fraction")
        if runs.laws[name]["kind"] != "laplace":
            impossible([*facts, negated(s, set())], proof["stay"][name])


def same(a: Json, b: Json, left: dict[str, Form], right: Json) -> bool:
    """Equal where plain, identical as forms where data or noise come in."""
    if not isinstance(a, list) or not isinstance(b, list):
        for part in (a, b):
            if not isinstance(part, list):
                check_plain(part)
        return type(a) is type(b) and bool(a == b)
    if a[:1] == ["value"] == b[:1]:
        return bool(put(form(a[1]), left) == right(form(b[1])))
    return len(a) == len(b) and all(same(x, y, left, right) for x, y in zip(a, b, strict=True))
