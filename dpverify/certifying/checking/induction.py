"""Check proofs for data of any length: both runs side by side, one record at a time.

A mechanism is an automaton: nodes with trees that end in another node or in an output. At each
place that both runs can reach, the proof says how far apart their numbers are (`gaps`) and how much
of ε is left (`budget`), both affine in how the neighbors differ. For each step multipliers show:
translated noise takes the neighbor's run the same way, numbers are then apart as the next place
says, what was told is the same, and the step is paid for. So runs of every length are aligned, by
induction on their steps. [proofs/induction.py]
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from dpverify.certifying.checking.alignments import Noises
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
from dpverify.certifying.checking.neighbors import MOST_RECORDS, Slot, flag, slots, within
from dpverify.certifying.checking.trees import drawn, leaves, placed, told

FEW = 8  # records of so few values are taken one by one
UNTYPED = re.compile('\\["numeric","')  # a constant that may be whole or a float
PER_RECORD = re.compile('"w([nsx][0-9]+\'*)?": ')  # a symbol such as ws0: s0 per record


def induction(read: Json) -> str:
    known, found = Noises(read), list(situations(read["schema"]))
    for case, situation in zip(read["proof"], found, strict=True):
        check_places(case, SideBySide(read, known, situation))
    return "proved"


def check_places(case: Json, runs: "SideBySide") -> None:
    """Check all reachable places, and all steps from each."""
    places = [PairedPlace(0)]
    first = form(case[0]["budget"])
    spent = first.get("", ZERO) <= runs.noises.unit.epsilon
    need(spent and not set(first) - {""}, "more than ε is spent")
    need(not case[0]["gaps"], "a run begins without numbers")
    for place, here in zip(places, case, strict=False):  # `places` grows
        gaps, budget = [form(g) for g in here["gaps"]], form(here["budget"])
        need(len(gaps) == runs.nodes[place.node]["symbols"], "a gap is missing")
        need(all(ghostly(f) for f in (*gaps, budget)), "a gap depends on more than the neighbors")
        for step, proof in zip(runs.steps(place), here["steps"], strict=True):
            if "impossible" in proof:
                impossible(step.facts, proof["impossible"])
                continue
            need(step.fits, "the runs part")
            need(not (step.parted and runs.untyped), "a number may tell them by its type")
            if step.target is not None and step.target not in places:
                places.append(step.target)
            after = None if step.target is None else case[places.index(step.target)]
            check_step(step, proof, runs.noises, (gaps, budget), after)
    need(len(places) == len(case), "a place is missing")


def ghostly(a: Form, more: str = "") -> bool:
    """Whether a form only has symbols that say how the neighbors differ (also per record)."""
    bare = [name.removeprefix("w") for name in a]
    return all(not name or name[0] in "pqDu" + more for name in bare)


def scaled(a: Form) -> Form:
    """The form divided by the number of records: y becomes wy, and 1 becomes w."""
    return {f"w{name}": c for name, c in a.items()}


def doubled(values: dict[str, Form]) -> dict[str, Form]:
    return {**values, **{f"w{name}": scaled(f) for name, f in values.items()}}


@dataclass(frozen=True)
class PairedPlace:
    """A node where both runs are, and whether the differing record was read in this loop."""

    node: int
    met: bool = False
    known: tuple[Any, ...] = ()  # what comparisons have said about that record


@dataclass
class Situation:
    """One way in which neighbors differ, with facts about p, q (the differing record), D and u."""

    facts: list[Fact]
    values: int  # how many values a record may have; 0: it is of symbols
    bounds: list[Slot]  # of each symbol in a record
    answers: Json = None
    sign: Fraction = ZERO
    least: int = 0  # records there are at least; 0: neighbors are not of the same length
    persons: tuple[int | None, int | None] | None = None  # the values on both sides; None: absent

    def record(self, letter: str) -> list[Form]:
        return [{f"{letter}{i}": ONE} for i in range(len(self.bounds))]

    def spans(self, record: list[Form]) -> list[Fact]:
        """The bounds low ≤ symbol ≤ high for the symbols of a record."""
        return [f for a, slot in zip(record, self.bounds, strict=True) for f in within(a, slot)]


def situations(schema: Json) -> Iterator[Situation]:
    """All ways in which neighbors of any length can differ."""
    least, most = schema["sizes"]
    need(most is None, "the data are not of any length")
    need(schema["ordered"] is True, "records without an order")
    bounds, values = domain(schema)
    # without a record there are no neighbors of the same length
    alike = max(count(least, MOST_RECORDS, "too many records"), 1)
    if schema["relation"] == "move":
        need(rational(schema["reach"]) > 0 and len(bounds) == 1, "there are no neighbors")
        need(schema["norm"] in {"1", "2", "inf"}, "unknown norm")
        for sign in (ONE, -ONE) if flag(schema["monotone"]) else (ZERO,):
            yield Situation([], 0, bounds, schema, sign, alike)
        return
    every = range(values or 1)
    need(schema["relation"] in {"replace-one", "add-remove"}, "unknown relation")
    replaced = schema["relation"] == "replace-one"
    absent = [(a, None) for a in every] + [(None, a) for a in every]
    for a, b in product(every, every) if replaced else absent:
        if a != b or not values:
            made = Situation([], values, bounds, least=alike * replaced, persons=(a, b))
            for person, letter in zip((a, b), "pq", strict=True):
                made.facts += [] if person is None else made.spans(made.record(letter))
            yield made


def domain(schema: Json) -> tuple[list[Slot], int]:
    """Bounds on the symbols of a record, or the number of its values if there are few."""
    if schema["slots"] is None:
        need(0 < len(schema["values"]) <= FEW, "too many categories")
        return [], len(schema["values"])
    found = slots(schema)
    low, high, whole = found[0]
    if schema["relation"] != "move" and len(found) == 1 and whole and low is not None:
        number = FEW if high is None else math.floor(high) - math.ceil(low)
        if number < FEW:
            return [], number + 1
    return found, 0


@dataclass
class PairedStep:
    """One step of both runs: a path on the left, and the matching path on the right."""

    facts: list[Fact]  # what holds on the left, and of the data on the right
    pairs: list[tuple[Fact, Fact]]  # comparisons that must come out the same: left, and right
    left: Json
    right: Json
    maps: tuple[dict[str, Form], dict[str, Form]]
    update: dict[str, Form]  # the next place's symbols in terms of this one's
    fits: bool
    parted: bool  # the runs take different ways through the code
    target: PairedPlace | None = None


class SideBySide:
    """Two runs of an automaton on neighbors."""

    def __init__(self, read: Json, known: Noises, situation: Situation) -> None:
        self.nodes, self.untyped = read["nodes"], read["untyped"]
        need(type(self.untyped) is bool, "types of numbers are not told")
        constants = UNTYPED.search(json.dumps(self.nodes, separators=(",", ":")))
        need(self.untyped or not constants, "a number has no type")
        self.noises, self.situation = known, situation
        self.shares = bool(PER_RECORD.search(json.dumps(self.nodes)))
        need(situation.least or not self.shares, "neighbors differ in their number of records")
        for node in self.nodes:
            count(node["symbols"], MOST_RECORDS, "too many numbers")
            if "loop" in node:
                count(node["loop"], MOST_RECORDS, "a loop without a number")
                need(len(node["bodies"]) == (situation.values or 1), "a record is missing")

    def steps(self, place: PairedPlace) -> Iterator[PairedStep]:
        """All steps that both runs can make from a place."""
        node, situation = self.nodes[place.node], self.situation
        known = [(dict(f), strict) for f, strict in place.known]
        base = [*situation.facts, *self.sums(), *known, *self.noises.support.values()]
        if "loop" not in node:
            yield from self.matched(place, (node["tree"], node["tree"]), base)
            return
        bodies, own = node["bodies"], situation.record("x")
        if situation.answers is not None:
            facts, update = self.moved(node["loop"], own[0])
            both = own, [plus(own[0], {"d": ONE})]
            yield from self.matched(place, (bodies[0], bodies[0]), [*base, *facts], both, update)
        else:
            for tree in bodies:
                facts = [*base, *situation.spans(own)]
                yield from self.matched(place, (tree, tree), facts, (own, own))
        if situation.persons is not None and not place.met:
            state = ["state", *(["value", {f"s{i}": "1"}] for i in range(node["symbols"]))]
            grown = ["told", *(["grown", place] for place in node["lists"])]
            stay = {"output": ["go", place.node, state, grown]}
            trees = tuple(stay if who is None else bodies[who] for who in situation.persons)
            both = situation.record("p"), situation.record("q")
            yield from self.matched(place, trees, base, both, meets=True)
        if situation.persons is None or place.met:
            yield from self.matched(place, (node["exit"], node["exit"]), base)

    def sums(self) -> list[Fact]:
        """Facts on answers: in each loop they moved by D so far, with |D| ≤ u ≤ the sensitivity."""
        schema, found = self.situation.answers, []
        for loop in sorted({n["loop"] for n in self.nodes if "loop" in n}) if schema else ():
            total, used = {f"D{loop}": ONE}, {f"u{loop}": ONE}
            found += [plus(used, total), plus(used, total, -ONE)]
            found += [plus({"": rational(schema["reach"])}, used, -ONE)]
        return [(f, False) for f in found]

    def moved(self, loop: int, own: Form) -> tuple[list[Fact], dict[str, Form]]:
        """Facts on the next answer: it moves by d, |d| ≤ a; under a sum norm, moves add up."""
        schema, d, a = self.situation.answers, {"d": ONE}, {"a": ONE}
        reach, total, used = {"": rational(schema["reach"])}, f"D{loop}", f"u{loop}"
        adds = schema["norm"] == "1"
        found = [plus(a, d), plus(a, d, -ONE), plus({}, d, self.situation.sign)]
        found.append(plus(plus(reach, a, -ONE), {used: ONE} if adds else {}, -ONE))
        spans = [f for x in (own, plus(own, d)) for f in self.situation.spans([x])]
        update = {total: {total: ONE, "d": ONE}, used: {used: ONE, "a": ONE}} if adds else {}
        return [*((f, False) for f in found), *spans], update

    def matched(  # noqa: PLR0913
        self,
        place: PairedPlace,
        trees: Json,
        facts: list[Fact],
        records: Json = ((), ()),
        update: dict[str, Form] | None = None,
        *,
        meets: bool = False,
    ) -> Iterator[PairedStep]:
        """Each path on the left, with all paths on the right that make the same comparisons."""
        maps = tuple(self.symbols(place.node, record) for record in records)
        paths = [
            [
                (f, address(f, way), output)
                for f, way, output in leaves(tree, self.noises.whole, own)
            ]
            for tree, own in zip(trees, maps, strict=True)
        ]
        for (i, mine), (j, other) in product(enumerate(paths[0]), enumerate(paths[1])):
            need(all(self.noises.unit.weights(key) for key, _ in drawn(mine[1])), "no draw")
            fits = alike(mine[1], other[1])
            if fits is None:
                continue
            data, its_data = ([f for f in path[0] if of_data(f)] for path in (mine, other))
            noisy = ([f for f in path[0] if not of_data(f)] for path in (mine, other))
            step = PairedStep(
                self.known([*facts, *mine[0], *its_data]),
                list(zip(*noisy, strict=True)) if fits else [],
                mine[2], other[2], (maps[0], maps[1]), doubled(update or {}), fits, meets or i != j,
            )  # fmt: skip
            leaves_loop = trees[0] is self.nodes[place.node].get("exit")
            self.aim(step, place, [*data, *its_data] if meets else [], meets=meets)
            if leaves_loop and step.target is not None:  # a loop begins anew from other code alone
                need("loop" not in self.nodes[step.target.node], "a loop follows upon a loop")
            yield step

    def symbols(self, node: int, record: list[Form]) -> dict[str, Form]:
        """The symbols of a tree: its record, numbers and noise, but not how neighbors differ."""
        names = ["", *self.noises.rates, *(f"s{i}" for i in range(self.nodes[node]["symbols"]))]
        known = {n: {n: ONE} for n in names} | {f"x{i}": x for i, x in enumerate(record)}
        return doubled(known) if self.shares else known

    def known(self, facts: list[Fact]) -> list[Fact]:
        """The facts, and the same facts per record if the automaton uses numbers per record."""
        if not self.shares:
            return facts
        whole = [(f, s) for f, s in facts if not any(n[:1] == "w" for n in f)]
        some = {"": Fraction(1, self.situation.least), "w": -ONE}
        return [*facts, *((scaled(f), s) for f, s in whole), ({"w": ONE}, True), (some, False)]

    def aim(self, step: PairedStep, place: PairedPlace, news: list[Fact], *, meets: bool) -> None:
        """The place that the step leads to."""
        if step.left[0] != step.right[0] or step.left[0] not in {"go", "return"}:
            step.fits = False
        elif step.left[0] == "go":
            need(len(step.left) == len(step.right) == 4, "no such step")
            for way in (step.left, step.right):
                count(way[1], len(self.nodes) - 1, "no such node")
            there, loop = self.nodes[step.left[1]].get("loop"), self.nodes[place.node].get("loop")
            step.fits &= step.left[1] == step.right[1]
            inside = there is not None and there == loop
            kept = [(tuple(sorted(f.items())), s) for f, s in news]
            known = tuple(dict.fromkeys([*place.known, *kept]))
            step.target = PairedPlace(step.left[1], inside and (place.met or meets), known)
            if there is not None and not inside:
                step.update |= doubled({f"D{there}": {}, f"u{there}": {}})


def of_data(fact: Fact) -> bool:
    """Whether a comparison is about the record alone."""
    return all(not name or name[0] in "xpqd" for name in fact[0])


def address(facts: Json, way: Json) -> list[Any]:
    """The steps of a path without comparisons of the record."""
    tests = iter(facts)
    return [step for step in way if step[0] != "test" or not of_data(next(tests))]


def alike(mine: list[Any], other: list[Any]) -> bool | None:
    """Whether two paths agree except in comparisons of the record; None if they never meet.

    The same comparison comes out the same, as the step shows, and the same draw has the same
    outcome; after that, one run may not decide or draw where the other does not.
    """
    for a, b in zip(mine, other, strict=False):
        if a[0] != b[0]:
            return False
        if a[1] != b[1]:
            return None
    return len(mine) == len(other)


def check_step(step: PairedStep, proof: Json, known: Noises, here: Json, after: Json) -> None:
    """Check that the neighbor takes the same path to the same outputs, at the stated cost."""
    gaps, budget = here
    need(
        all(ghostly(s, "da") for s in proof["shift"].values()),
        "a translation may not depend on noise",
    )
    paid = {} if after is None else put(form(after["budget"]), step.update)
    moved = known.translated(proof, step.facts, plus(budget, paid, -ONE), set())
    apart = {f"s{i}": plus({f"s{i}": ONE}, gap) for i, gap in enumerate(gaps)}
    values, own = doubled(moved | apart), step.maps[0]
    right = {name: put(f, values) for name, f in step.maps[1].items()}
    for (_, (test, strict)), multipliers in zip(step.pairs, proof["tests"], strict=True):
        impossible([*step.facts, negated(put(test, values), set(), strict=strict)], multipliers)
    if after is None:
        need(told(step.left, own) == told(step.right, right), "the output may change")
        return
    for mine, other, gap in zip(step.left[2][1:], step.right[2][1:], after["gaps"], strict=True):
        need(mine[0] == other[0] == "value", "no number")
        difference = plus(placed(other[1], right), placed(mine[1], own), -ONE)
        need(difference == put(form(gap), step.update), "the gap is another one")
    need(told(step.left[3], own) == told(step.right[3], right), "what is told may change")
