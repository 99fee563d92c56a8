"""The state that a mechanism keeps between records: values of fixed form with changing numbers.

Numbers that change without end become symbols s0, s1, …; other values are part of the form, as are
the lengths of lists. A list that is empty when a loop begins may only grow: what is added to it is
told at once, and nothing of it can be read again.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dpverify.certifying.language.values import Array, Grown, as_python
from dpverify.certifying.symbolic.outputs import plain_output
from dpverify.certifying.symbolic.symbols import PER_RECORD, Symbolic, number, refuse

Form: TypeAlias = tuple[Any, ...]
"""A value with its symbols left blank; two values have one form if only their symbols differ."""


def _grown(value: Grown) -> Any:  # noqa: ANN401
    return ("grown", value.token, *map(_told, value.added))


def _told(value: Any) -> Any:  # noqa: ANN401
    """What was appended to a list, in plain form; raise if it can still change."""
    if isinstance(value, tuple):
        return ("tuple", *map(_told, value))
    if isinstance(value, (list, dict, Array, Grown)):
        raise refuse("it adds a list or an array, which may change, to a list that grows")
    return plain_output(as_python(value))


@dataclass
class Variables:
    """The variables at one place: their form, the values of its symbols, appended outputs."""

    widened: frozenset[str]
    counters: dict[str, str]  # what is known of a number by its name
    noisy: frozenset[str]  # symbols that surely are floats
    kinds: dict[str, str]  # of the symbols of the place before
    looping: bool
    values: list[Symbolic] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)  # plain numbers, by their place
    symbols: set[str] = field(default_factory=set)
    _held: set[int] = field(default_factory=set)

    def read(self, names: dict[str, Any]) -> Form:
        return tuple((name, self._form(names[name], name)) for name in sorted(names))

    def _form(self, value: Any, place: str) -> Form:  # noqa: ANN401
        if isinstance(value, Grown):
            self._hold(value)
            if value.token != place:
                raise refuse("it gives a list that grows with the data another name")
            self.told.append(_grown(value))
            return ("grown", place)
        if isinstance(value, Symbolic):
            return self._number(value, place)
        if isinstance(value, (bool, str, type(None))):
            return ("plain", type(value).__name__, value)
        if isinstance(value, (int, float)):
            return self._number(value, place)
        if isinstance(value, (list, tuple)) and type(value) in {list, tuple}:
            if isinstance(value, list):
                self._hold(value)
                if not value and self.looping:
                    self.told.append(("grown", place))
                    return ("grown", place)
            parts = (self._form(x, f"{place}[{i}]") for i, x in enumerate(value))
            return (type(value).__name__, *parts)
        raise refuse(f"it keeps a {type(value).__name__} from one record to the next")

    def _hold(self, value: Any) -> None:  # noqa: ANN401
        if id(value) in self._held:
            raise refuse("two names stand for one list")
        self._held.add(id(value))

    def _number(self, value: Any, place: str) -> Form:  # noqa: ANN401
        read = number(value)
        if read is None:  # pragma: no cover  # all numbers are read
            raise refuse("it keeps a number that is not understood")
        if place in self.counters:
            return self._symbol(read, place, self.counters[place])
        if not read.is_constant:
            if len(read.coefficients) == 1 and not read.constant:
                name, factor = read.coefficients[0]
                own = self.kinds.get(name, "any")  # n·1.0 is n, and a float where n is not
                if factor == 1 and own != "any" and read.kind == _KNOWN.get(own):
                    return self._symbol(read, place, own)
            sure = any(n in self.noisy or n[0] == PER_RECORD for n, _ in read.coefficients)
            return self._symbol(read, place, "noisy" if sure else "any")
        if read.constant.fraction() is not None:
            self.seen[place] = read.constant.fraction()
            if place in self.widened:
                return self._symbol(read, place, "any")
        if isinstance(value, Symbolic):
            return ("constant", read.key(), read.kind, read.signed)
        return ("plain", type(value).__name__, value, repr(value))

    def _symbol(self, value: Symbolic, place: str, kind: str) -> Form:
        self.values.append(value)
        self.symbols.add(place)
        return ("symbol", kind, kind == "any" and value.signed)


_KNOWN = {"count": "int", "length": "int", "noisy": "float"}


def restored(form: Form) -> tuple[dict[str, Any], dict[str, str]]:
    """Variables of a given form with symbols s0, s1, …, and the known facts about each symbol."""
    kinds: dict[str, str] = {}
    return {name: _restored(part, name, kinds) for name, part in form}, kinds


def _restored(form: Form, place: str, kinds: dict[str, str]) -> Any:  # noqa: ANN401
    kind, *parts = form
    if kind == "symbol":
        name = f"s{len(kinds)}"
        kinds[name] = parts[0]
        return Symbolic.symbol(name, _KNOWN.get(parts[0]), parts[1])
    if kind == "plain":
        return parts[1]
    if kind == "constant":
        return Symbolic(dict(parts[0][0]), *parts[0][1:], *parts[1:])
    if kind == "grown":
        return Grown(place)
    inner = [_restored(part, f"{place}[{i}]", kinds) for i, part in enumerate(parts)]
    return inner if kind == "list" else tuple(inner)


def output_of(value: Any) -> Any:  # noqa: ANN401
    """The plain form of a returned value, whose lists may have grown with the data."""
    if isinstance(value, Grown):
        return _grown(value)
    if type(value) in {list, tuple}:
        return (type(value).__name__, *map(output_of, value))
    return plain_output(as_python(value))
