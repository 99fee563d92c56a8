"""Symbolic numbers for data and noise: linear expressions; comparisons ask the run."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.exact import ONE, ZERO, ExactNumber
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import SymbolicRun, current

Coefficients = tuple[tuple[str, Fraction], ...]
_CLOSE = Fraction(1, 10**9)
_FARTHEST_POWER = 700.0  # of e, that floats hold
_LARGE_EPSILON = 50  # up to which a proof for every ε is about numbers that floats hold
PER_RECORD = "w"  # before the name of a symbol that is divided by the number of records


class Symbolic:
    """Σ coefficient·symbol + constant. A comparison gives a bool, which the run chooses.

    `kind` is what the number is where the mechanism runs, "int" or "float"; None if unknown.
    `signed` says whether, where it is 0, it may be −0.0.
    """

    __slots__ = ("coefficients", "constant", "kind", "signed")

    def __init__(
        self,
        coefficients: Mapping[str, Fraction],
        constant: ExactNumber = ZERO,
        kind: str | None = "float",
        signed: bool | None = None,  # noqa: FBT001
    ) -> None:
        kept = sorted((name, c) for name, c in coefficients.items() if c)
        self.coefficients: Coefficients = tuple(kept)
        self.constant, self.kind = constant, kind
        self.signed = kind != "int" if signed is None else signed

    @staticmethod
    def symbol(name: str, kind: str | None = "float", signed: bool | None = None) -> "Symbolic":  # noqa: FBT001
        return Symbolic({name: Fraction(1)}, kind=kind, signed=signed)

    def typed(self, kind: str | None) -> "Symbolic":
        """The same number with the type int, float, or either."""
        if kind == self.kind:
            return self
        return Symbolic(dict(self.coefficients), self.constant, kind, self.signed)

    @property
    def is_constant(self) -> bool:
        return not self.coefficients

    def scaled(self, factor: ExactNumber) -> "Symbolic":
        plain = factor.fraction()
        signed = self.signed or plain is None or plain <= 0
        if self.is_constant:
            return Symbolic({}, self.constant * factor, self.kind, signed)
        if plain is None:
            raise refuse("it multiplies data or noise by a number that is not rational")
        made = {n: c * plain for n, c in self.coefficients}
        return Symbolic(made, self.constant * factor, self.kind, signed)

    def plus(self, other: "Symbolic") -> "Symbolic":
        total = dict(self.coefficients)
        for name, c in other.coefficients:
            total[name] = total.get(name, Fraction()) + c
        kind = common_kind(self.kind, other.kind)
        signed = self.signed and other.signed  # only −0.0 and −0.0 are −0.0 together
        return Symbolic(total, self.constant + other.constant, kind, signed)

    def per_record(self, factor: Fraction) -> "Symbolic":
        """The number divided by the number of records: y becomes y per record, and so does 1."""
        plain = self.constant.fraction()
        if plain is None or any(n[0] == PER_RECORD for n, _ in self.coefficients):
            raise refuse("it divides by the number of records twice, or what is not rational")
        parts = {PER_RECORD + n: c * factor for n, c in self.coefficients}
        return Symbolic(parts | {PER_RECORD: plain * factor}, signed=self.signed or factor < 0)

    def without(self, name: str) -> "Symbolic":
        rest = {n: c for n, c in self.coefficients if n != name}
        return Symbolic(rest, self.constant, self.kind)

    def check_zero(self) -> None:
        """Raise for a float that may be 0.0 or −0.0 with positive probability.

        Data that are told without noise are no secret that a sign could add to.
        """
        run, names = current.get(), [n.removeprefix(PER_RECORD) for n, _ in self.coefficients]
        surely = self.kind == "int" or not self.signed or (self.is_constant and self.constant)
        bare = names and all(n[:1] in {"x", "c"} for n in names)
        if run is not None and not surely and not bare and not run.has_density(self):
            raise refuse("it returns a number that may be 0.0 or −0.0")

    def key(self) -> tuple[Coefficients, ExactNumber]:
        return self.coefficients, self.constant

    def __add__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _released(a.plus(b)))

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _released(a.plus(-b)))

    def __rsub__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _released(b.plus(-a)))

    def __mul__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, _product)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, _quotient)

    def __rtruediv__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _quotient(b, a))

    def __neg__(self) -> "Symbolic":
        made = {n: -c for n, c in self.coefficients}
        return Symbolic(made, -self.constant, self.kind, signed=True)

    def __pos__(self) -> "Symbolic":
        return self

    def __abs__(self) -> "Symbolic":
        made = self if _decided(self, strict=False) else -self
        return Symbolic(dict(made.coefficients), made.constant, made.kind, signed=False)

    def __pow__(self, exponent: object) -> "Symbolic":
        if isinstance(exponent, (int, np.integer)) and self.is_constant:
            base = _inverse(self.constant) if exponent < 0 else self.constant
            _check_growth(base, abs(int(exponent)))
            return Symbolic({}, base ** abs(int(exponent)), "float" if exponent < 0 else self.kind)
        if isinstance(exponent, (int, np.integer)) and exponent == 1:
            return self
        raise refuse("a power of data or noise is not linear")

    def __lt__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _decided(b.plus(-a), strict=True))

    def __le__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _decided(b.plus(-a), strict=False))

    def __gt__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _decided(a.plus(-b), strict=True))

    def __ge__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, lambda a, b: _decided(a.plus(-b), strict=False))

    def __eq__(self, other: object) -> Any:  # noqa: ANN401
        return _lifted(self, other, _equal)

    def __ne__(self, other: object) -> Any:  # noqa: ANN401
        equal = _lifted(self, other, _equal)
        if equal is NotImplemented:
            return equal
        return not equal

    def __bool__(self) -> bool:
        return not _equal(self, _CONSTANT_ZERO)

    def __hash__(self) -> int:
        if current.get() is None:
            return hash((self.coefficients, self.constant))
        raise refuse("it uses data or noise as a key of a dictionary or set")

    def __float__(self) -> float:
        run = current.get()
        if not self.is_constant or run is None or run.unit.every:
            raise refuse("it turns data or noise into a plain float")
        self.check_zero()
        return float(run.unit.enclosure(self.constant).mid())

    def __index__(self) -> int:
        plain = self.constant.fraction()
        if not self.is_constant or plain is None or plain.denominator != 1:
            raise refuse("it uses data or noise as an index or a plain integer")
        return plain.numerator

    __int__ = __index__

    def whole(self) -> "Symbolic":
        """The number itself if it is an integer; rounding anything else is not linear."""
        run = current.get()
        if run is not None and run.is_whole(self):
            return self
        raise refuse("it rounds data or noise, which is not linear")

    def rint(self) -> "Symbolic":
        return self._rounded(round, Fraction(1, 2))

    def trunc(self) -> "Symbolic":
        return self._rounded(int, Fraction(0))

    def floor(self) -> "Symbolic":
        return self._rounded(math.floor, Fraction(0))

    def ceil(self) -> "Symbolic":
        return self._rounded(math.ceil, Fraction(0))

    def _rounded(self, rounding: Callable[[Any], int], jump: Fraction) -> "Symbolic":
        """A rounded constant; raise if floats may round it otherwise near a jump."""
        plain = self.constant.fraction()
        if not self.is_constant or plain is None or self.kind == "int":
            return self.whole()
        if abs(plain - jump - round(plain - jump)) < _CLOSE * max(Fraction(1), abs(plain)):
            raise refuse("it rounds a number that floats may round otherwise")
        return Symbolic({}, ExactNumber.of(rounding(plain)), self.kind)

    def is_close(self, other: "Symbolic") -> bool:
        """Whether two constants are so close that floats may compare them otherwise."""
        run, gap = current.get(), self.plus(-other)
        if run is None or not self.is_constant or not other.is_constant or gap.kind == "int":
            return False
        if run.unit.every:
            return not gap.constant
        size = abs(float(run.unit.enclosure(self.constant).mid()))
        return abs(float(run.unit.enclosure(gap.constant).mid())) <= float(_CLOSE) * size

    def __round__(self) -> "Symbolic":
        return self.rint().typed("int")

    def _not_linear(self, *_: object) -> Any:  # noqa: ANN401
        raise refuse("it divides with a remainder, rounds to digits or looks at bits")

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _not_linear
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __invert__ = __rpow__ = _not_linear
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __complex__ = _not_linear

    def exp(self) -> "Symbolic":
        """e to the power of a constant."""
        plain = self.constant.multiple()
        run = current.get()
        if self.is_constant and plain is not None and run is not None:
            if not plain:
                return Symbolic({}, ONE)
            if abs(float(plain)) * run.unit.value > _FARTHEST_POWER:
                raise refuse("it takes an exponential that is too large or too small for floats")
            simple_unit = run.unit.ratio is None and not run.unit.every
            if self.constant.power == (0 if simple_unit else 1):
                made = ExactNumber.exponential(plain)
                _check_growth(made)
                return Symbolic({}, made)
        raise refuse("it takes an exponential of data, noise or an unrelated constant")

    def log(self) -> "Symbolic":
        form = self.constant.monomial()
        run = current.get()
        if self.is_constant and form is not None and form[0] == 1 and run is not None:
            simple_unit = run.unit.ratio is None and not run.unit.every
            return Symbolic({}, (ONE if simple_unit else ExactNumber.unit()) * form[1])
        raise refuse("it takes a logarithm of data, noise or an unrelated constant")

    def sqrt(self) -> "Symbolic":
        raise refuse("it takes a square root")

    def __repr__(self) -> str:
        terms = [f"{c}·{n}" if c != 1 else n for n, c in self.coefficients]
        if self.constant or not terms:
            terms.append(repr(self.constant))
        return " + ".join(terms)


class Uniform:
    """A draw of `rng.random()`, which may only be compared with constants."""

    __slots__ = ("_index", "_run")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, run: SymbolicRun, index: int) -> None:
        self._run, self._index = run, index

    def __lt__(self, other: object) -> Any:  # noqa: ANN401
        bound = other if isinstance(other, Symbolic) else number(other)
        if bound is None or not bound.is_constant:
            raise refuse("it compares a uniform draw with data or noise")
        return self._run.coin(self._index, bound.constant)

    __le__ = __lt__

    def __gt__(self, other: object) -> Any:  # noqa: ANN401
        return not self < other

    __ge__ = __gt__

    def _refused(self, *_: object) -> Any:  # noqa: ANN401
        raise refuse("it computes with a uniform draw, which may only be compared with constants")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refused
    __rtruediv__ = __neg__ = __abs__ = __pow__ = __bool__ = __float__ = __int__ = _refused
    __eq__ = __ne__ = __index__ = __round__ = __floor__ = __ceil__ = __format__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = exp = log = floor = sqrt = _refused


def number(value: object) -> Symbolic | None:
    """A plain number as a constant; None if it is not a number."""
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, (bool, np.bool_)):
        return Symbolic({}, ExactNumber.of(int(value)), "int")
    if isinstance(value, np.number):
        check_wide(value.dtype)
    if isinstance(value, (int, np.integer)):
        return Symbolic({}, ExactNumber.of(int(value)), "int")
    if isinstance(value, Fraction):
        return Symbolic({}, ExactNumber.of(value), None)
    if isinstance(value, ExactNumber):
        return Symbolic({}, value)
    if isinstance(value, (float, np.floating)):
        run, signed = current.get(), math.copysign(1.0, value) < 0
        exact = ExactNumber.of(Fraction(float(value))) if run is None else run.read(float(value))
        return Symbolic({}, exact, signed=signed)
    return None


def refuse(reason: str) -> NotUnderstood:
    """The exception to raise; it also marks the run, in case the program catches it."""
    run = current.get()
    return NotUnderstood(reason) if run is None else run.refused(reason)


def _lifted(own: Symbolic, other: object, action: Callable[[Symbolic, Symbolic], Any]) -> Any:  # noqa: ANN401
    if isinstance(other, Uniform):
        return NotImplemented
    plain = _infinite(float(other)) if isinstance(other, (float, np.floating)) else None
    if plain is not None:
        raise refuse("it computes with an infinite or undefined number")
    read = number(other)
    if read is None:
        return NotImplemented
    try:
        made = action(own, read)
    except NotUnderstood as reason:  # it marks the run, should the program catch it
        raise refuse(reason.reason) from None
    if not isinstance(made, Symbolic):
        return made
    _check_growth(made.constant)
    found, run = made.typed(common_kind(own.kind, read.kind, made.kind)), current.get()
    if run is not None and found.kind != "float":
        run.check_size(found)
    return found


def _check_growth(value: ExactNumber, times: int = 1) -> None:
    """Raise for a power that floats cannot hold for large ε, in a claim for every ε."""
    run = current.get()
    if run is None or not run.unit.every:
        return
    power = value.growth() * times
    if power * _LARGE_EPSILON > _FARTHEST_POWER:
        raise refuse(
            "for every epsilon it takes an exponential that floats do not hold beyond epsilon = "
            f"{_FARTHEST_POWER / float(power):.3g}"
        )


def common_kind(*kinds: str | None) -> str | None:
    """The type of a sum or product of such numbers."""
    if "float" in kinds:
        return "float"
    return None if None in kinds else "int"


def _infinite(value: float) -> bool | None:
    return None if np.isfinite(value) else True


def _released(value: Symbolic) -> Symbolic:
    run = current.get()
    return value if run is None else run.released(value).typed(value.kind)


def _product(a: Symbolic, b: Symbolic) -> Symbolic:
    if b.is_constant:
        return a.scaled(b.constant)
    if a.is_constant:
        return b.scaled(a.constant)
    raise refuse("a product of data or noise is not linear")


def _quotient(a: Symbolic, b: Symbolic) -> Symbolic:
    if b.is_constant:
        return a.scaled(_inverse(b.constant)).typed("float")
    run = current.get()
    (name, factor), *more = b.coefficients
    if run is None or name not in run.lengths or more or b.constant:
        raise refuse("it divides by data or noise, which is not linear")
    return a.per_record(1 / factor)


def _inverse(value: ExactNumber) -> ExactNumber:
    """1/value; raise if it is 0 at some ε in question."""
    run = current.get()
    if run is not None and not run.unit.sign(value):
        raise refuse("it divides by zero")
    return value.inverse()


def _equal(a: Symbolic, b: Symbolic) -> bool:
    gap = a.plus(-b)
    run = current.get()
    noises = 0 if run is None else run.real_noises(gap)
    if noises == 1:
        raise refuse("it compares real noise for equality, which floats decide and reals do not")
    if noises:
        return False  # a tie of independent real noises has probability 0
    return _decided(gap, strict=False) and _decided(-gap, strict=False)


def _decided(gap: Symbolic, *, strict: bool) -> bool:
    run = current.get()
    if run is None:
        raise NotUnderstood("symbols may only be compared while a mechanism runs")
    return run.decide(gap, strict=strict)


def check_wide(kind: np.dtype[Any]) -> None:
    """Raise for NumPy types that round or overflow earlier than real numbers do."""
    if kind.kind in "iufc" and kind not in {np.dtype(np.int64), np.dtype(np.float64)}:
        raise refuse(f"it computes with {kind}, which rounds or overflows early")


_CONSTANT_ZERO = Symbolic({}, ZERO)
