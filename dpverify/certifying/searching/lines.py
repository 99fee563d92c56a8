"""Piecewise functions, sums of coefficient·t^j·base^t, with their sums and integrals.

On whole numbers a base is an exact number and a piece [low, high] holds its ends. On the reals a
base is a rate λ, base^t stands for e^(λ·u·t) with the unit u, and integrals are over u·t, so that
t^j stands for (u·t)^j.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, factorial, floor
from typing import TypeAlias

from dpverify.certifying.symbolic.exact import ONE, ZERO, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.reasons import NotUnderstood

Base: TypeAlias = ExactNumber | Fraction
Terms: TypeAlias = dict[tuple[int, Base], ExactNumber]
End: TypeAlias = Fraction | None


@dataclass(slots=True)
class Piece:
    """Σ coefficient·t^j·base^t on low ≤ t ≤ high; an end of None is infinite."""

    low: End
    high: End
    terms: Terms


@dataclass(frozen=True, slots=True)
class AffineBound:
    """The affine function slope·v + offset, a bound on a variable."""

    slope: Fraction
    offset: Fraction

    def __call__(self, v: Fraction) -> Fraction:
        return self.slope * v + self.offset


@dataclass(slots=True)
class NumberLine:
    """Computes with piecewise functions on the whole numbers or on the reals."""

    unit: EpsilonUnit
    whole: bool

    def density(self, kind: str, parameter: ExactNumber) -> list[Piece]:
        """The density (or mass function) of a noise."""
        if kind == "geometric":
            return [Piece(Fraction(1), None, {(0, parameter): (1 - parameter) / parameter})]
        rate = self.rate(parameter)
        if kind == "exponential":
            return [Piece(Fraction(0), None, {(0, -rate): ExactNumber.of(rate)})]
        if kind == "laplace":
            half = ExactNumber.of(rate / 2)
            sides: list[Terms] = [{(0, rate): half}, {(0, -rate): half}]
            return [Piece(None, Fraction(0), sides[0]), Piece(Fraction(0), None, sides[1])]
        raise NotUnderstood(f"probabilities of {kind} noise are not computed exactly")

    def rate(self, scale: ExactNumber) -> Fraction:
        """λ with 1/scale = λ·u."""
        simple_unit = self.unit.ratio is None and not self.unit.every
        plain = scale.multiple()
        if plain is None or scale.power != (0 if simple_unit else -1):
            raise NotUnderstood("a scale is not a rational number, or a multiple of 1/epsilon")
        return 1 / plain

    def swept(
        self, piece: Piece, above: list[AffineBound], below: list[AffineBound]
    ) -> list[Piece]:
        """v ↦ the sum or integral of a piece from the largest lower to the least upper bound."""
        above = [*above, *_flat(piece.high)]
        below = [*below, *_flat(piece.low)]
        cuts = _crossings([*above, *below])
        found = []
        for low, high in self._stretches(cuts):
            inside = _middle(low, high)
            top = min(above, key=lambda b: b(inside), default=None)
            bottom = max(below, key=lambda b: b(inside), default=None)
            if top is not None and bottom is not None and top(inside) < bottom(inside):
                continue
            terms: Terms = {}
            for (j, base), c in piece.terms.items():
                self._add_integral(terms, c, j, base, top, bottom)
            found.append(Piece(low, high, terms))
        return self._separate(found)

    def _stretches(self, cuts: list[Fraction]) -> Iterable[tuple[End, End]]:
        """The intervals between cuts; for integers also the cuts themselves."""
        for low, high in pairwise([None, *cuts, None]):
            yield low, high
            if self.whole and high is not None:
                yield high, high

    def _add_integral(  # noqa: PLR0917, PLR0913
        self,
        total: Terms,
        c: ExactNumber,
        j: int,
        base: Base,
        top: AffineBound | None,
        bottom: AffineBound | None,
    ) -> None:
        inner = self._primitive(j, base)
        grows = self._grows(base)
        if (top is None and grows >= 0) or (bottom is None and grows <= 0):
            raise NotUnderstood("a sum or integral over one noise alone does not converge")
        back = Fraction(1 if self.whole else 0)  # from bottom to top, both included, on integers
        if top is not None:
            self._add_at(total, inner, c, base, top)
        if bottom is not None:
            self._add_at(total, inner, -c, base, AffineBound(bottom.slope, bottom.offset - back))

    def _add_at(
        self, total: Terms, inner: list[ExactNumber], c: ExactNumber, base: Base, at: AffineBound
    ) -> None:
        """Add c·A(t)·base^t at t = slope·v + offset, as a function of v."""
        new_base = self._power(base, at.slope)
        scale = c * self._value(base, at.offset)
        for i, a in enumerate(inner):
            if not a:
                continue
            for k in range(i + 1):
                if (k and not at.slope) or (i > k and not at.offset):
                    continue
                factor = comb(i, k) * at.slope**k * at.offset ** (i - k)
                lifted = a * scale * factor * self._unit_power(i - k)
                key = (k, new_base)
                total[key] = total.get(key, ZERO) + lifted

    def _unit_power(self, k: int) -> ExactNumber:
        """u^k, which an offset contributes on the reals."""
        plain = self.whole or (self.unit.ratio is None and not self.unit.every)
        return ONE if plain else ExactNumber.unit() ** k

    def _primitive(self, j: int, base: Base) -> list[ExactNumber]:
        """Coefficients of A for which A(t)·base^t has difference, or derivative, t^j·base^t."""
        if isinstance(base, Fraction):
            if not base:
                return [ZERO] * (j + 1) + [ExactNumber.of(Fraction(1, j + 1))]
            signs = [(-1) ** i * Fraction(factorial(j), factorial(j - i)) for i in range(j + 1)]
            return [ExactNumber.of(signs[j - i] / base ** (j - i + 1)) for i in range(j + 1)]
        if self.unit.sign(base - 1) == 0:
            return _power_sums(j)
        inverse = base.inverse()
        a = [ZERO] * (j + 1)
        for i in range(j, -1, -1):
            rest = sum((a[k] * (comb(k, i) * (-1) ** (k - i)) for k in range(i + 1, j + 1)), ZERO)
            a[i] = ((ONE if i == j else ZERO) + inverse * rest) / (1 - inverse)
        return a

    def _grows(self, base: Base) -> int:
        return (base > 0) - (base < 0) if isinstance(base, Fraction) else self.unit.sign(base - 1)

    def _power(self, base: Base, slope: Fraction) -> Base:
        return base * slope if isinstance(base, Fraction) else base ** int(slope)

    def _value(self, base: Base, t: Fraction) -> ExactNumber:
        return ExactNumber.exponential(base * t) if isinstance(base, Fraction) else base ** int(t)

    def product(self, f: list[Piece], g: list[Piece]) -> list[Piece]:
        return self._joined(f, g, lambda a, b: {} if a is None or b is None else _times(a, b))

    def total(self, f: list[Piece], g: list[Piece]) -> list[Piece]:
        return self._joined(f, g, _plus)

    def times_power(self, f: list[Piece], base: Base) -> list[Piece]:
        """v ↦ f(v)·base^v."""
        return [Piece(p.low, p.high, _times(p.terms, {(0, base): ONE})) for p in f]

    def flipped(self, f: list[Piece], factor: Fraction) -> list[Piece]:
        """The law of factor·t where f is the law of t."""
        made = []
        for p in f:
            ends = [None if e is None else e * factor for e in (p.low, p.high)]
            low, high = ends if factor > 0 else ends[::-1]
            size = ExactNumber.of(1 if self.whole else 1 / abs(factor))
            terms = {
                (j, self._power(b, 1 / factor)): c * size * (1 / factor) ** j
                for (j, b), c in p.terms.items()
            }
            made.append(Piece(low, high, terms))
        return sorted(made, key=lambda p: (p.low is not None, p.low or Fraction(0)))

    def mass(self, f: list[Piece], low: End, high: End) -> ExactNumber:
        """The sum or integral of f over [low, high]."""
        result = ZERO
        for p in f:
            for q in self.swept(p, _flat(high), _flat(low)):
                result += sum((c for (j, _), c in q.terms.items() if j == 0), ZERO)
                break
        return result

    def _joined(
        self,
        f: list[Piece],
        g: list[Piece],
        join: Callable[[Terms | None, Terms | None], Terms],
    ) -> list[Piece]:
        found = []
        cuts = sorted({e for p in [*f, *g] for e in _open_ends(p, whole=self.whole)})
        step = Fraction(1, 2) if self.whole else Fraction(0)
        for low, high in pairwise([None, *cuts, None]):
            inside = _middle(low, high)
            pieces = [next((p for p in h if _holds(p, inside, step)), None) for h in (f, g)]
            terms = join(*(None if p is None else p.terms for p in pieces))
            if terms:
                ends = (
                    None if low is None else low + step,
                    None if high is None else high - step,
                )
                found.append(Piece(*ends, terms))
        return found

    def _separate(self, pieces: list[Piece]) -> list[Piece]:
        """On integers: move ends to whole numbers, so that no integer lies in two pieces."""
        if not self.whole:
            return pieces
        found: list[Piece] = []
        last: int | None = None
        for p in pieces:
            low = None if p.low is None else ceil(p.low)
            if low is not None and last is not None:
                low = max(low, last + 1)
            high = None if p.high is None else floor(p.high)
            if low is not None and high is not None and low > high:
                continue
            last = high
            found.append(
                Piece(
                    None if low is None else Fraction(low),
                    None if high is None else Fraction(high),
                    p.terms,
                )
            )
        return found


def _power_sums(j: int) -> list[ExactNumber]:
    """The polynomial A with A(t) − A(t−1) = t^j."""
    a = [Fraction()] * (j + 2)
    for i in range(j, -1, -1):
        rest = sum(
            (a[k] * comb(k, i) * (-1) ** (k - i + 1) for k in range(i + 2, j + 2)), Fraction()
        )
        a[i + 1] = ((1 if i == j else 0) - rest) / (i + 1)
    return [ExactNumber.of(x) for x in a]


def _times(f: Terms, g: Terms) -> Terms:
    total: Terms = {}
    for (i, a), c in f.items():
        for (j, b), d in g.items():
            base = a + b if isinstance(a, Fraction) and isinstance(b, Fraction) else a * b
            key = (i + j, base)
            total[key] = total.get(key, ZERO) + c * d
    return {key: c for key, c in total.items() if c}


def _plus(f: Terms | None, g: Terms | None) -> Terms:
    total = dict(f or {})
    for key, c in (g or {}).items():
        total[key] = total.get(key, ZERO) + c
    return {key: c for key, c in total.items() if c}


def _flat(end: End) -> list[AffineBound]:
    return [] if end is None else [AffineBound(Fraction(0), end)]


def _crossings(bounds: list[AffineBound]) -> list[Fraction]:
    found = set()
    for i, a in enumerate(bounds):
        for b in bounds[:i]:
            if a.slope != b.slope:
                found.add((b.offset - a.offset) / (a.slope - b.slope))
    return sorted(found)


def _middle(low: End, high: End) -> Fraction:
    if low is None:
        return Fraction(0) if high is None else high - 1
    return low + 1 if high is None else (low + high) / 2


def _open_ends(p: Piece, *, whole: bool) -> Iterable[Fraction]:
    """The ends; for integers moved halfway to the next integer, so that none lies on an end."""
    step = Fraction(1, 2) if whole else Fraction(0)
    if p.low is not None:
        yield p.low - step
    if p.high is not None:
        yield p.high + step


def _holds(p: Piece, t: Fraction, step: Fraction) -> bool:
    return (p.low is None or t >= p.low - step) and (p.high is None or t <= p.high + step)
