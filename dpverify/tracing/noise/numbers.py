"""One number whose noise is not yet drawn: offset + Σ coef·z.

As long as code adds plain numbers or multiplies by them, the value stays a form. As soon as code
needs a number (a function that is not linear, a cast, a comparison with another noisy value, the
output), the form is *realized*: the recording computes it, and a replay answers with what was
recorded. A comparison with a plain number realizes nothing: its outcome is recorded alone, as
nobody may ever see more.
"""

# ruff: noqa: ANN401  # operands are whatever the user has

import math
import numbers
from collections.abc import Callable
from heapq import heappop, heappush
from math import isfinite  # Python's own, whatever stands in its place during a run
from sys import _getframe
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.recording.events import Factor, Touch
from dpverify.tracing.recording.journal import COMPARE, CURRENT
from dpverify.tracing.recording.places import CALLERS, Place, here

# Modules that import this one; the package puts them here when all are loaded.
algebra: Any = None
functions: Any = None
shapes: Any = None
arrays: Any = None

_MOST_FACTORS = 4096
_TOUCHES = 12  # lines that are remembered for one form
_CLOSE = 1e-9  # rounding that is nothing beside the noise
HUGE = 1e300  # no noise comes to be equal to such numbers


_PLAIN = (int, float, np.number, np.bool_)


_FACTORS: dict[tuple[int, int], tuple[Any, float, Touch]] = {}
"""The last factor of each instruction, with its code: most multiply by a constant."""


def _factor_at(key: tuple[int, int], by: float, place: Place) -> tuple[Any, float, Touch]:
    """The line of a multiplication, kept if it is one of the user's code."""
    caller = CALLERS.get(key)
    made = (caller and caller[0], by, (place, Factor(by)))
    if caller is not None:
        if len(_FACTORS) >= _MOST_FACTORS:
            _FACTORS.clear()
        _FACTORS[key] = made
    return made


def touched(touches: tuple[Touch, ...], place: Place, addend: Any) -> tuple[Touch, ...]:
    return (*touches[-_TOUCHES:], (place, addend))


def _is_number(value: Any) -> bool:
    """Whether this is a plain number; a noisy one also claims to be a float."""
    kind: Any = type(value)
    return kind not in {NoisyNumber, NoisyMagnitude} and isinstance(value, _PLAIN)


def _opened(value: Any) -> Any:
    """A magnitude as a noisy number; it claims to be a float but is not plain."""
    return value.value() if type(value) is NoisyMagnitude else value


def is_plain(value: Any) -> bool:
    """Whether this is a number or an array of numbers, of Python or numpy."""
    if type(value) in {int, float, bool} or isinstance(value, (np.number, np.bool_)):
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def between_whole(op: str, bound: Any) -> Any:
    """A bound between two whole numbers that has the same effect, so that ties are impossible."""
    if op in {"greater", "less_equal"}:
        return np.floor(bound) + 0.5
    return np.ceil(bound) - 0.5


class NoisyNumber:
    """One number with noise; `idx` and `coef` are arrays if several draws are added.

    `idx` is an `Addition` where two forms were added; `worked_out` has the draws of both.
    """

    __slots__ = ("coef", "idx", "journal", "offset", "touches", "whole")
    __array_priority__ = 1000.0

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        journal: Any,
        offset: Any = None,
        idx: Any = None,
        coef: Any = 0.0,
        touches: tuple[Touch, ...] = (),
        whole: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        if idx is None:
            # Code that calls the type of a number, as statistics.mean does: no noise is in it.
            journal, offset, idx = CURRENT.get(), float(journal), 0
        self.journal = journal
        self.offset = offset
        self.idx = idx
        self.coef = coef
        self.touches = touches
        self.whole = whole

    @property  # type: ignore[misc]  # so that isinstance(x, float) says yes, as of what it stands for
    def __class__(self) -> type:
        return int if self.whole else float

    def worked_out(self) -> "NoisyNumber":
        """The same number with its draws and factors, if it is a sum of others."""
        if type(self.idx) is not Addition:
            return self
        offset, idx, coef = _worked_out(self)
        offset = int(offset) if self.whole else offset
        return NoisyNumber(self.journal, offset, idx, coef, self.touches, self.whole)

    # Linear.

    def _plus(self, other: Any, sign: int) -> Any:
        other = _opened(other)
        kind = type(other)
        if self.journal.eager and shapes.settled(self):
            return self.realize(here()) + (other if sign > 0 else -other)
        if kind is NoisyNumber:
            if self.journal.eager and shapes.settled(other):
                return self._plus(other.realize(here()), sign)
            return _joined(self, other, sign)
        if kind is float or kind is int or isinstance(other, _PLAIN):
            place = here()
            return NoisyNumber(
                self.journal,
                self.offset + other if sign > 0 else self.offset - other,
                self.idx,
                self.coef,
                touched(self.touches, place, other),
                self.whole and isinstance(other, (int, np.integer)),
            )
        return _other(self, other, np.add if sign > 0 else np.subtract)

    def __add__(self, other: Any) -> Any:
        if type(other) is float and not self.journal.eager:  # the common case, without a call
            touches = self.touches
            if len(touches) > _TOUCHES:
                touches = touches[-_TOUCHES:]
            caller = _getframe(1)
            known = CALLERS.get((id(caller.f_code), caller.f_lasti))
            touches += ((here(2) if known is None else known[1], other),)
            return NoisyNumber(self.journal, self.offset + other, self.idx, self.coef, touches)
        if type(other) is NoisyNumber and not self.journal.eager:
            return _joined(self, other, 1)
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        negative = -self
        return negative._plus(other, 1)

    def __neg__(self) -> "NoisyNumber":
        return self._times(-1)

    def __pos__(self) -> "NoisyNumber":
        return self

    def _times(self, factor: Any) -> "NoisyNumber":
        whole = self.whole and isinstance(factor, (int, np.integer))
        if type(factor) is bool or isinstance(factor, np.bool_):
            factor = int(factor)
        return NoisyNumber(
            self.journal,
            self.offset * factor,
            self.idx,
            self.coef * factor,
            self.touches,
            whole,
        )

    def __mul__(self, other: Any) -> Any:
        if type(other) is float and not self.journal.eager:  # the common case, without a call
            touches = self.touches
            if len(touches) > _TOUCHES:
                touches = touches[-_TOUCHES:]
            caller = _getframe(1)
            key = (id(caller.f_code), caller.f_lasti)
            known = _FACTORS.get(key)
            if known is None or known[1] != other:
                known = _factor_at(key, other, here(2))
            touches += (known[2],)
            return NoisyNumber(
                self.journal, self.offset * other, self.idx, self.coef * other, touches
            )
        other = _opened(other)
        if _is_number(other):
            if self.journal.eager and shapes.eager(self):
                return self.realize(here(2)) * other
            made = self._times(other)
            made.touches = (*made.touches, (here(2), Factor(other)))
            return made
        return _other(self, other, np.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        other = _opened(other)
        if _is_number(other):
            if other == 0 or shapes.eager(self):
                return self.realize(here(2)) / other
            divided = self._times(1.0)
            divided.offset = self.offset / other
            divided.coef = self.coef / other
            divided.touches = (*self.touches[-_TOUCHES:], (here(2), Factor(1 / other)))
            return divided
        return _other(self, other, np.true_divide)

    # Anything else needs the number.

    def realize(self, place: Place | None = None, *, final: bool = False) -> Any:
        if type(self.idx) is Addition:
            return self._realized_sum(place or here(), final=final)
        if type(self.idx) is int and self.coef == 0.0:
            return int(self.offset) if self.whole else float(self.offset)
        if self.journal.eager == shapes.COMPARING and shapes.is_known(self):
            value = self.offset + self.coef * self.journal.draws.z.item(self.idx)
            return round(value) if self.whole else float(value)
        value = self.journal.realize(
            self.offset, self.idx, self.coef, self.touches, place or here(), final=final
        )
        return int(value) if self.whole else float(value)

    def _realized_sum(self, place: Place, *, final: bool) -> Any:
        added = self.idx
        if added.known is None:
            offset, idx, coef = _worked_out(self)
            if type(idx) is int and coef == 0.0:  # nothing is left of its noise: no release
                value = offset
            else:
                value = self.journal.realize(offset, idx, coef, self.touches, place, final=final)
            value = int(value) if self.whole else float(value)
            if self.coef == 1.0 and self.offset == added.base:
                added.known = value
            elif self.coef:
                added.known = self._sum_within(value)
            return value
        if not isfinite(added.base):
            value = self.offset
        else:
            more = self.offset - self.coef * added.base  # what was added to the sum since
            value = added.known if self.coef == 1.0 else self.coef * added.known
            value = value + more if more else value
        return round(value) if self.whole and isfinite(value) else float(value)

    def _sum_within(self, value: Any) -> Any:
        """The sum that this number was made of, from its value or from the draws.

        The value tells it only up to rounding, which must be nothing beside the noise: something
        huge may have been added, as in x + 1e18 or x − ∞.
        """
        added = self.idx
        more = self.offset - self.coef * added.base
        offset, idx, coef = _worked_out(NoisyNumber(self.journal, added.base, added, 1.0))
        noise = coef * self.journal.draws.z[idx]
        drawn = float(offset + np.sum(noise))
        seen = (value - more) / self.coef
        return seen if abs(seen - drawn) <= _CLOSE * float(np.sum(np.abs(noise))) else drawn

    def _is_beside(self, other: Any) -> bool:
        """Whether noise, which is finite, plays no part in a comparison with this number."""
        return not (isfinite(self.offset) and isfinite(other)) and self._has_finite_noise()

    def _has_finite_noise(self) -> bool:
        return bool(np.all(np.isfinite(self.worked_out().coef)))

    def _compare(self, other: Any, op: str) -> Any:
        other = _opened(other)
        if type(other) is float or _is_number(other):
            place = here()
            gap = self.offset - other
            if not isfinite(gap) and self._is_beside(other):
                return COMPARE[op](self.offset, other)
            simple = type(self.idx) is int and self.coef != 0 and isfinite(gap)
            if simple and self.journal.eager == shapes.COMPARING:
                self.journal.bounded(self.offset, self.idx, self.coef, other)
            elif simple:
                law = self.journal.draws.law_of(self.idx)
                if not law.is_discrete:
                    return self.journal.compare(op, gap, self.idx, self.coef, self.touches, place)
                if law.name == "integers" and self._is_coin():
                    gap = self.offset - between_whole(op, other)
                    return self.journal.compare(op, gap, self.idx, self.coef, self.touches, place)
            return COMPARE[op](self.realize(place), other)
        if type(other) is NoisyNumber:
            place = here()
            return COMPARE[op](self.realize(place), other.realize(place))
        if isinstance(other, (np.ndarray, arrays.NoisyArray)):
            return getattr(np, op)(shapes.as_array(self), other)
        return NotImplemented

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "greater")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "greater_equal")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "less")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "less_equal")

    def _is_coin(self) -> bool:
        """Whether this is a whole number, with one draw, that was not released yet."""
        known = self.journal.draws.used.item(self.idx)
        return self.whole and abs(self.coef) == 1 and not known

    def _is_end(self, number: Any) -> str:
        """How to ask whether this is the least or greatest number that it can be.

        Whether a coin fell so is asked as a comparison, which tells no more than that.
        """
        if type(self.idx) is not int or not self._is_coin() or not _is_number(number):
            return ""
        law = self.journal.draws.law_of(self.idx)
        if law.name != "integers":
            return ""
        least, most = sorted((self.offset, self.offset + self.coef * (law.parameter - 1)))
        return "less_equal" if number == least else "greater_equal" if number == most else ""

    def __eq__(self, other: object) -> Any:
        op = self._is_end(other)
        if op:
            return self._compare(other, op)
        self._tied(other, here(2))
        mine = self.realize(here(2))
        return mine == (other.realize(here(2)) if type(other) is NoisyNumber else other)

    def __ne__(self, other: object) -> Any:
        op = self._is_end(other)
        if op:
            return not self._compare(other, op)
        self._tied(other, here(2))
        mine = self.realize(here(2))
        return mine != (other.realize(here(2)) if type(other) is NoisyNumber else other)

    def _tied(self, other: Any, place: Place) -> None:
        other = _opened(other)
        if type(other) is NoisyNumber:
            gap, other = _joined(self, other, -1), 0
        else:
            gap = self
        if type(gap) is NoisyNumber and _is_number(other) and abs(other) < HUGE:
            form = gap.worked_out()
            form.journal.tied(form.offset, form.idx, form.coef, other, place)

    def __hash__(self) -> int:
        return hash(self.realize(here(2)))

    def __float__(self) -> float:
        return float(self.realize(here(2)))

    def __int__(self) -> int:
        return int(self.realize(here(2)))

    def __index__(self) -> int:
        if not self.whole:
            raise TypeError("'float' object cannot be interpreted as an integer")
        return int(self.realize(here(2)))

    def __complex__(self) -> complex:
        return complex(self.realize(here(2)))

    def __bool__(self) -> bool:
        return bool(self != 0) if self._is_end(0) else bool(self.realize(here(2)))

    def __repr__(self) -> str:
        return repr(self.realize(here(2)))

    def __str__(self) -> str:
        return str(self.realize(here(2)))

    def __format__(self, spec: str) -> str:
        return format(self.realize(here(2)), spec)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.realize(here(2)), digits)

    def __abs__(self) -> Any:
        if type(self.idx) is int and not self.journal.draws.law_of(self.idx).is_discrete:
            return NoisyMagnitude(self)
        return abs(self.realize(here(2)))

    def __copy__(self) -> "NoisyNumber":
        return self

    def __deepcopy__(self, memo: Any) -> "NoisyNumber":
        return self

    def __reduce__(self) -> Any:
        return (int if self.whole else float, (self.realize(here(2)),))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(int if self.whole else float, name):
            raise AttributeError(f"'float' object has no attribute {name!r}")
        return getattr(self.realize(here(2)), name)

    # numpy.

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        return np.array(self.realize(here(2)), dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return algebra.apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return functions.apply_function(func, args, kwargs)


def _of_offset(original: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """math.isfinite and the like: noise is finite, so the answer is that of the offset."""

    def asked(x: Any, /) -> bool:
        if type(x) is not NoisyNumber:
            return original(x)
        return original(x.offset + 0.0 * float(np.sum(x.worked_out().coef)))

    return asked


MATH = tuple((math, f.__name__, _of_offset(f)) for f in (math.isfinite, math.isnan, math.isinf))
"""Stand-ins for functions of `math`, while a trace runs."""


_SHAPING = {"__pow__", "__rpow__", "__mod__", "__rtruediv__", "__floordiv__"}


def _operator(name: str) -> Callable[..., Any]:
    """An operator that needs plain numbers on both sides."""

    def method(self: NoisyNumber, *others: Any) -> Any:
        place = here()
        if name in _SHAPING and shapes.is_raw(self):
            plain_others = [o for o in others if type(o) is not NoisyNumber]
            if len(plain_others) == len(others):
                result = getattr(float(self.realize(place)), name)(*others)
                if type(result) is float:
                    return shapes.wrapped(
                        self.journal, shapes.SHAPED, result, place, (name, *others)
                    )
                return result
        mine = self.realize(place)
        plain = [other.realize(place) if type(other) is NoisyNumber else other for other in others]
        found = getattr(mine, name)(*plain)
        if found is NotImplemented and len(plain) == 1 and isinstance(mine, int):
            found = getattr(float(mine), name)(*plain)
        return found

    method.__name__ = name
    return method


for _name in (
    *("__pow__", "__rpow__", "__mod__", "__rmod__", "__floordiv__", "__rfloordiv__"),
    *("__divmod__", "__rdivmod__", "__rtruediv__", "__floor__", "__ceil__"),
    *("__trunc__", "__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__"),
    *("__lshift__", "__rshift__", "__invert__"),
):
    setattr(NoisyNumber, _name, _operator(_name))


class NoisyMagnitude:
    """|x| of a noisy number; a comparison with a bound is two comparisons of x."""

    __slots__ = ("form", "known")

    def __init__(self, form: NoisyNumber) -> None:
        self.form = form
        self.known: Any = None  # the number itself, once somebody needed it

    @property  # type: ignore[misc]  # as of what it stands for
    def __class__(self) -> type:
        return float

    def value(self) -> Any:
        """The magnitude as a number; still noisy if there was nothing but noise in it."""
        if self.known is None:
            place = here(3)
            value = abs(self.form.realize(place))
            is_raw = shapes.is_raw(self.form)
            journal = self.form.journal
            self.known = shapes.wrapped(journal, shapes.SHAPED, value, place) if is_raw else value
        return self.known

    def __le__(self, other: Any) -> Any:
        if _is_number(other):
            return bool(self.form <= other) and bool(self.form >= -other)
        return self.value() <= other

    def __lt__(self, other: Any) -> Any:
        if _is_number(other):
            return bool(self.form < other) and bool(self.form > -other)
        return self.value() < other

    def __gt__(self, other: Any) -> Any:
        return not self <= other

    def __ge__(self, other: Any) -> Any:
        return not self < other

    def __hash__(self) -> int:
        return hash(float(self))

    def __eq__(self, other: object) -> Any:
        return float(self) == other

    def __float__(self) -> float:
        return float(self.value())

    def __bool__(self) -> bool:
        return bool(self.value())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        return np.array(float(self), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value(), name)


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: NoisyMagnitude, *others: Any) -> Any:
        value = self.value()
        return getattr(value, name)(*others)

    return method


for _name in (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__"),
    *("__rtruediv__", "__pow__", "__rpow__", "__neg__", "__abs__", "__round__", "__int__"),
    *("__mod__", "__floordiv__", "__format__", "__repr__", "__str__"),
):
    setattr(NoisyMagnitude, _name, _forwarded(_name))


class Addition:
    """The sum or difference of two noisy numbers, computed only when it is needed.

    So a loop that adds up noise costs as much for its last number as for its first. `base` is the
    offset of the sum; `known` is its value once that has been told, and what was told is no longer
    noise: later sums start from it.
    """

    __slots__ = ("base", "depth", "known", "one", "sign", "two")

    def __init__(self, one: Any, two: Any, sign: int, base: float) -> None:
        self.one = one
        self.two = two
        self.sign = sign
        self.base = base
        mine, other = one.idx, two.idx
        depth = mine.depth if type(mine) is Addition else 0
        if type(other) is Addition and other.depth > depth:
            depth = other.depth
        self.depth: int = depth + 1
        self.known: float | None = None


def _joined(one: NoisyNumber, two: NoisyNumber, sign: int) -> Any:
    """The sum or difference of two forms; a plain number if their noise cancels."""
    offset = one.offset + two.offset if sign > 0 else one.offset - two.offset
    touches = one.touches + two.touches
    if len(touches) > _TOUCHES:
        touches = touches[-_TOUCHES:]
    whole = one.whole and two.whole
    mine, other = one.idx, two.idx
    if mine is other or (type(mine) is int is type(other) and mine == other):
        coef = one.coef + sign * two.coef
        if type(mine) is not np.ndarray:
            return NoisyNumber(one.journal, offset, mine, coef, touches, whole) if coef else offset
    return NoisyNumber(one.journal, offset, Addition(one, two, sign, offset), 1.0, touches, whole)


def _worked_out(form: NoisyNumber) -> tuple[Any, Any, Any]:  # noqa: C901  # one case a kind
    """Offset, draws and factors of a sum of forms; each inner sum is expanded once."""
    last, new = form.idx.one, form.idx.two
    if type(new.idx) is int and type(last.idx) is Addition and last.idx.known is not None:
        return _one_more(form, last, new)
    draws: dict[int, float] = {}
    tables: list[tuple[Any, Any]] = []
    offset, starts_from_known = 0.0, False
    waiting: list[tuple[int, int, Addition]] = []  # the deepest first, so that its share is full
    shares: dict[int, float] = {}
    parts: tuple[tuple[NoisyNumber, float], ...] = ((form, 1.0),)
    while True:
        for part, share in parts:
            idx = part.idx
            if type(idx) is int:
                offset += share * part.offset
                draws[idx] = draws.get(idx, 0.0) + share * part.coef
            elif type(idx) is not Addition:
                offset += share * part.offset
                tables.append((idx, share * part.coef))
            else:
                factor = share * part.coef
                offset += share * part.offset - factor * idx.base
                if idx.known is not None:
                    offset, starts_from_known = offset + factor * idx.known, True
                elif id(idx) in shares:
                    shares[id(idx)] += factor
                else:
                    shares[id(idx)] = factor
                    heappush(waiting, (-idx.depth, id(idx), idx))
        if not waiting:
            break
        node = heappop(waiting)[2]
        share = shares.pop(id(node))
        parts = ((node.one, share), (node.two, share * node.sign))
    if not starts_from_known:
        offset = form.offset
    if len(draws) == 1 and not tables:
        ((name, factor),) = draws.items()
        return (offset, name, factor) if factor else (offset, 0, 0.0)
    return offset, *_as_arrays(draws, tables)


def _one_more(form: NoisyNumber, last: NoisyNumber, new: NoisyNumber) -> tuple[Any, Any, Any]:
    """A released sum plus one more draw, as in a running total: the common case."""
    share = form.coef
    factor = share * last.coef
    offset = form.offset - share * form.idx.base
    offset += share * last.offset - factor * last.idx.base + factor * last.idx.known
    share *= form.idx.sign
    offset += share * new.offset
    coef = share * new.coef
    return (offset, new.idx, coef) if coef else (offset, 0, 0.0)


def _as_arrays(draws: dict[int, float], tables: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Draws with their factors, each once and in order; plain numbers if there is only one."""
    names = np.fromiter(draws, dtype=np.intp, count=len(draws))
    factors = np.fromiter(draws.values(), dtype=np.float64, count=len(draws))
    if tables:
        names = np.concatenate([names, *(np.ravel(idx) for idx, _ in tables)])
        factors = np.concatenate([factors, *(np.ravel(coef) for _, coef in tables)])
        names, where = np.unique(names, return_inverse=True)
        added = np.bincount(where.reshape(-1), weights=factors, minlength=len(names))
        factors = np.asarray(added, dtype=np.float64)
    else:
        order = np.argsort(names)
        names, factors = names[order], factors[order]
    kept = factors != 0.0
    if not kept.all():
        names, factors = names[kept], factors[kept]
    if len(names) > 1:
        return names, factors
    return (int(names[0]), float(factors[0])) if len(names) else (0, 0.0)


def _other(number: NoisyNumber, other: Any, ufunc: np.ufunc) -> Any:
    """Operands that are not plain numbers: arrays go to numpy, others are asked themselves."""
    if isinstance(other, (np.ndarray, arrays.NoisyArray)) or type(other) is NoisyNumber:
        return algebra.apply_ufunc(ufunc, "__call__", (number, other), {})
    if isinstance(other, numbers.Number):
        place = here(3)
        return getattr(number.realize(place), f"__{_DUNDER[ufunc]}__")(other)
    return NotImplemented


_DUNDER: dict[Any, str] = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
}
