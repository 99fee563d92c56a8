"""A mechanism on data of any length as a finite automaton that reads one record per step.

Its nodes are places in the code with a form of the variables there. The code between two loops, and
the body of a loop on one record, are run on symbols for the record and for the numbers that the
variables hold: so one run stands for the same step of every longer one.
"""

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dpverify.certifying.any_length.loops import LENGTH, Arrived, Pieces, cut
from dpverify.certifying.any_length.states import Form, Variables, output_of, restored
from dpverify.certifying.extraction import Extraction, parameters
from dpverify.certifying.symbolic.generator import SymbolicGenerator
from dpverify.certifying.symbolic.outputs import is_number
from dpverify.certifying.symbolic.outputs import values as values_in
from dpverify.certifying.symbolic.plain import plain_tree
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import current, explore
from dpverify.certifying.symbolic.schemas import item_values, record_slots, same_length
from dpverify.certifying.symbolic.symbols import PER_RECORD, Symbolic
from dpverify.schema import Answers, Number

_MOST_NODES = 60
_MOST_ROUNDS = 6

Place: TypeAlias = tuple[str, int, Form]  # "code" or "loop", its number, the form of the variables


class _TooMany(Exception):
    """Raised if the automaton keeps growing."""


@dataclass
class Automaton:
    """The automaton of one mechanism, explored until no new nodes appear."""

    extraction: Extraction
    pieces: Pieces
    widened: frozenset[str] = frozenset()
    places: list[Place] = field(default_factory=list)

    def nodes(self) -> list[Any]:
        """The nodes in plain form; the first is the start."""
        for _ in range(_MOST_ROUNDS):
            self._numbers: dict[str, set[Any]] = {}
            self._changing: dict[str, set[int]] = {}
            try:
                made = self._explored()
            except _TooMany:
                more = self._most_numbers()
            else:
                found = self._changing.items()
                more = frozenset(place for place, at in found if self._also_plain(place, at))
                if not more:
                    return made
            if not more - self.widened:
                break
            self.widened |= more
        raise NotUnderstood("what it keeps from one record to the next takes too many forms")

    def _also_plain(self, place: str, loops: set[int]) -> bool:
        return any((place, k) in self._plain for k in loops)

    def _most_numbers(self) -> frozenset[str]:
        counts = Counter({place: len(found) for place, found in self._numbers.items()})
        most = max(counts.values(), default=0)
        return frozenset(p for p, n in counts.items() if n == most and n > 2)

    def _explored(self) -> list[Any]:
        self.extraction.start_over()
        start = self._arguments()
        self._plain: set[tuple[str, int]] = set()
        self.untyped = False
        self.places = [
            ("code", 0, Variables(frozenset(), {}, frozenset(), {}, looping=False).read(start))
        ]
        made = []
        for place in self.places:  # grows
            made.append(self._node(place))
            if len(self.places) > _MOST_NODES:
                raise _TooMany
        return made

    def _arguments(self) -> dict[str, Any]:
        given = list(parameters(self.extraction.mechanism).values())[2:]
        names = {p.name: p.default for p in given}
        names |= dict(zip(names, self.extraction.more, strict=False))
        missing = [n for n, v in names.items() if v is inspect.Parameter.empty]
        if missing:
            raise NotUnderstood(f"it takes {missing[0]}, which is neither data nor rng")
        return names

    def _node(self, place: Place) -> dict[str, Any]:
        kind, index, form = place
        _, kinds = restored(form)
        if kind == "code":
            return {"symbols": len(kinds), "tree": self._tree(place, None)}
        bodies = [self._tree(place, item) for item in self.items()]
        _, after, (_, *kept), told = self.ended(place)
        state = ["state", *(["value", {name: "1"}] for name in kept)]
        ended = {"output": ["go", after, state, ["told", *map(list, told[1:])]]}
        made = {"symbols": len(kinds), "loop": index, "lists": _lists(form)}
        return made | {"bodies": bodies, "exit": ended}

    def ended(self, place: Place) -> tuple[Any, ...]:
        """Where the mechanism continues after the last record, and with which symbols."""
        _, index, form = place
        kept = self._kept(form, index)
        names = [f"s{i}" for i in self._kept_symbols(form, index)]
        told = ("told", *(("grown", p) for p in _lists(kept)))
        return "go", self._number(("code", index + 1, kept)), ("state", *names), told

    @property
    def values(self) -> list[Any] | None:
        """All values of a record, if there are few."""
        return item_values(self.extraction.schema)

    def _kept(self, form: Form, index: int) -> Form:
        needed = self.pieces.needed(index, looping=False)
        return tuple((name, part) for name, part in form if name in needed)

    def _kept_symbols(self, form: Form, index: int) -> list[int]:
        """The numbers of the symbols that are still used after a loop."""
        needed, at, found = self.pieces.needed(index, looping=False), 0, []
        for name, part in form:
            count = _count(part)
            found += list(range(at, at + count)) if name in needed else []
            at += count
        return found

    def items(self) -> list[Callable[[], Any]]:
        """The records that a step can read: symbols, or each of a few values."""
        schema = self.extraction.schema
        if self.values is not None:
            return [lambda v=value: v for value in self.values]  # type: ignore[misc]
        kinds = ["int" if slot.whole else "float" for slot in record_slots(schema)]
        width = len(kinds)
        single = isinstance(schema, Answers) or isinstance(getattr(schema, "record", None), Number)

        def item() -> Any:  # noqa: ANN401
            made = np.empty(width, object)
            made[:] = [Symbolic.symbol(f"x{i}", kinds[i]) for i in range(width)]
            return made[0] if single else made

        return [item]

    def _tree(self, place: Place, item: Callable[[], Any] | None) -> Any:  # noqa: ANN401
        shared = self.extraction.shared
        shared.bounds = {n: b for n, b in shared.bounds.items() if not n.startswith("x")}
        if item is not None and self.values is None:
            for i, slot in enumerate(record_slots(self.extraction.schema)):
                shared.bounds[f"x{i}"] = (slot.low, slot.high)
        return plain_tree(explore(lambda: self.run(place, item), shared))

    def run(self, place: Place, item: Callable[[], Any] | None) -> Any:  # noqa: ANN401
        """Run one piece of the mechanism: what it returns, or where it arrives."""
        _, index, form = place
        run = current.get()
        if run is None:  # pragma: no cover
            raise NotUnderstood("no run")
        given, kinds = restored(form)
        if index:  # all records are counted
            run.lengths = frozenset(name for name, known in kinds.items() if known == "length")
        run.noisy = frozenset(name for name, known in kinds.items() if known == "noisy")
        rng = SymbolicGenerator(run)
        if item is None:
            end = self.pieces.code(index, given, rng)
        else:
            end = self.pieces.step(index, given, rng, item())
        noisy = frozenset(
            {s for s, k in kinds.items() if k == "noisy"}
            | {n for n, law in run.shared.laws.items() if law.kind != "geometric"}
        )
        if isinstance(end, Arrived):
            try:
                return self._arrived(place, end, noisy, kinds)
            except NotUnderstood as reason:  # of what is kept, which no line says
                reason.where = self.pieces.line(index)
                raise
        output = output_of(end)
        self._note_types(output, noisy, kinds)
        return ("return", output)

    def _arrived(
        self,
        place: Place,
        end: Arrived,
        noisy: frozenset[str],
        kinds: dict[str, str],
    ) -> Any:  # noqa: ANN401
        """The node that a step reaches; symbols that the step introduced are dropped."""
        kind, index, before = place
        looping = end.end != "break"
        needed = self.pieces.needed(index, looping=looping) & self.pieces.names
        if kind == "loop" and looping:
            needed &= {name for name, _ in before}
        names = {n: v for n, v in end.names.items() if n in needed}
        counters = {loop.counter: "count" for loop in self.pieces.loops if loop.counter is not None}
        counters[LENGTH] = "length" if same_length(self.extraction.schema) else "count"
        state = Variables(self.widened, counters, noisy, kinds, looping)
        form = state.read(names)
        told = ("told", *state.told)
        self._note_types(told, noisy, kinds)
        if looping:
            for name, value in state.seen.items():
                self._numbers.setdefault(name, set()).add(value)
                if name not in state.symbols:
                    self._plain.add((name, index))
            for name in state.symbols:
                self._changing.setdefault(name, set()).add(index)
        target: Place = ("loop", index, form) if looping else ("code", index + 1, form)
        values = ("state", *(("value", v) for v in state.values))
        return ("go", self._number(target), values, told)

    def _number(self, place: Place) -> int:
        if place not in self.places:
            self.places.append(place)
        return self.places.index(place)

    def _note_types(self, output: Any, noisy: frozenset[str], kinds: dict[str, str]) -> None:  # noqa: ANN401
        """Note whether a number in the output may be an int on one path and a float on another."""
        for value in values_in(output):
            names = [n for n, _ in value.coefficients]
            counted = all(kinds.get(n) in {"count", "length"} for n in names)
            floats = any(n in noisy or n[0] == PER_RECORD for n in names)
            self.untyped |= not counted and not floats
        self.untyped |= _has_untyped_constant(output)


def _has_untyped_constant(output: Any) -> bool:  # noqa: ANN401
    """Whether an output holds a number without symbols that may have been a float, such as 0·n."""
    if not isinstance(output, tuple):
        return False
    if is_number(output) and output[0] == "numeric":
        return not isinstance(output[1], tuple)
    return any(map(_has_untyped_constant, output))


def automaton(extraction: Extraction) -> tuple[list[Any], Automaton]:
    """The nodes of the automaton of a mechanism on data of any length."""
    made = Automaton(extraction, cut(extraction.mechanism, extraction.program))
    if not made.pieces.loops:
        raise NotUnderstood("it has no loop over the data")
    return made.nodes(), made


def _count(form: Form) -> int:
    """How many symbols a value contains."""
    inner = form[1:] if form[0] in {"list", "tuple"} else ()
    return 1 if form[0] == "symbol" else sum(map(_count, inner))


def _lists(form: Form) -> list[str]:
    """The variables that are growing lists, in order."""
    return [place for _, part in form for place in _lists_in(part)]


def _lists_in(part: Form) -> list[str]:
    if part[0] == "grown":
        return [part[1]]
    inner = part[1:] if part[0] in {"list", "tuple"} else ()
    return [place for x in inner for place in _lists_in(x)]
