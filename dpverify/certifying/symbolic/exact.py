"""Exact numbers for probabilities of noise: rational functions of e^(−u/c) times a power of u.

The unit u is fixed for one proof: 1 where ε is a rational number, ln ρ where e^ε = ρ is one, and ε
itself where the claim is to hold for every ε. X = e^(−u/c) lies in (0, 1) in all three cases.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from flint import arb, ctx, fmpq, fmpq_poly, fmpz_poly

from dpverify.certifying.symbolic.reasons import NotUnderstood

Rational: TypeAlias = int | Fraction
_MOST_BITS = 1 << 14
_SMALL_EXPONENT = 2000
_LARGEST_DEGREE = 20_000
_ONE_POLY = fmpq_poly([1])


class ExactNumber:
    """A rational function of X = e^(−u/root), times u^power; immutable and in lowest terms.

    >>> half = ExactNumber.exponential(Fraction(-1, 2))
    >>> half * half == ExactNumber.exponential(-1), (half + 1) / (half + 1) == ExactNumber.of(1)
    (True, True)
    """

    __slots__ = ("den", "num", "power", "root")

    def __init__(self, num: fmpq_poly, den: fmpq_poly, root: int = 1, power: int = 0) -> None:
        if num.degree() < 0:
            num, den, root, power = fmpq_poly([0]), fmpq_poly([1]), 1, 0
        elif den.degree() > 0 or num.degree() > 0:
            common = num.gcd(den)
            if common.degree() > 0:
                num, den = num // common, den // common
        lead = den[den.degree()]
        if lead != 1:
            num, den = num / lead, den / lead
        num, den, root = _smallest_root(num, den, root)
        self.num, self.den, self.root, self.power = num, den, root, power

    @staticmethod
    def of(value: Rational) -> "ExactNumber":
        ratio = Fraction(value)
        return ExactNumber(fmpq_poly([fmpq(ratio.numerator, ratio.denominator)]), fmpq_poly([1]))

    @staticmethod
    def exponential(exponent: Rational) -> "ExactNumber":
        """e^(exponent·u)."""
        ratio = Fraction(exponent)
        if max(abs(ratio.numerator), ratio.denominator) > _LARGEST_DEGREE:
            raise NotUnderstood("an exponent is too large or too fine to compute with exactly")
        monomial = fmpq_poly([0] * abs(ratio.numerator) + [1])
        one = fmpq_poly([1])
        pair = (one, monomial) if ratio > 0 else (monomial, one)
        return ExactNumber(*pair, root=ratio.denominator)

    @staticmethod
    def unit() -> "ExactNumber":
        """The unit u itself."""
        return ExactNumber(fmpq_poly([1]), fmpq_poly([1]), 1, 1)

    def fraction(self) -> Fraction | None:
        """The number as a fraction; None if it is not rational."""
        return None if self.power else self.multiple()

    def multiple(self) -> Fraction | None:
        """The r if the number is r·u^power, else None."""
        if not self.is_multiple:
            return None
        value = self.num[0]
        return Fraction(int(value.p), int(value.q))

    @property
    def is_multiple(self) -> bool:
        return self.num.degree() <= 0 and self.den.degree() <= 0

    @staticmethod
    def _multiple(value: fmpq, power: int) -> "ExactNumber":
        """value·u^power, already in lowest terms."""
        made = object.__new__(ExactNumber)
        made.num, made.den, made.root = fmpq_poly([value]), _ONE_POLY, 1
        made.power = power if value != 0 else 0
        return made

    def monomial(self) -> tuple[Fraction, Fraction] | None:
        """(c, r) if the number is c·e^(r·u), else None."""
        terms = [[(i, c) for i, c in enumerate(p.coeffs()) if c != 0] for p in (self.num, self.den)]
        if self.power or any(len(t) != 1 for t in terms):
            return None
        (top, c), (bottom, d) = terms[0][0], terms[1][0]
        ratio = c / d
        return Fraction(int(ratio.p), int(ratio.q)), Fraction(bottom - top, self.root)

    def growth(self) -> Fraction:
        """The r for which the number grows like e^(r·u), up to powers of u."""
        top, bottom = (
            next((i for i, c in enumerate(p.coeffs()) if c != 0), 0) for p in (self.num, self.den)
        )
        return Fraction(bottom - top, self.root)

    def lifted(self, root: int) -> tuple[fmpq_poly, fmpq_poly]:
        return _spread(self.num, root // self.root), _spread(self.den, root // self.root)

    def __add__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        other = _exact(other)
        if not self:
            return other
        if not other:
            return self
        if self.power != other.power:
            raise NotUnderstood("it adds a number with epsilon to one without")
        if self.is_multiple and other.is_multiple:
            return ExactNumber._multiple(self.num[0] + other.num[0], self.power)
        root = math.lcm(self.root, other.root)
        (a, b), (c, d) = self.lifted(root), other.lifted(root)
        return (
            ExactNumber(a + c, b, root, self.power)
            if b == d
            else ExactNumber(a * d + c * b, b * d, root, self.power)
        )

    def __mul__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        other = _exact(other)
        if self.is_multiple and other.is_multiple:
            return ExactNumber._multiple(self.num[0] * other.num[0], self.power + other.power)
        root = math.lcm(self.root, other.root)
        (a, b), (c, d) = self.lifted(root), other.lifted(root)
        return ExactNumber(a * c, b * d, root, self.power + other.power)

    def inverse(self) -> "ExactNumber":
        if not self:
            raise NotUnderstood("it divides by zero")
        return ExactNumber(self.den, self.num, self.root, -self.power)

    def __neg__(self) -> "ExactNumber":
        if self.is_multiple:
            return ExactNumber._multiple(-self.num[0], self.power)
        return ExactNumber(-self.num, self.den, self.root, self.power)

    def __sub__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        return self + (-_exact(other))

    def __rsub__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        return _exact(other) - self

    def __truediv__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        return self * _exact(other).inverse()

    def __rtruediv__(self, other: "ExactNumber | Rational") -> "ExactNumber":
        return _exact(other) * self.inverse()

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, exponent: int) -> "ExactNumber":
        base = self if exponent >= 0 else self.inverse()
        n = abs(exponent)
        return ExactNumber(base.num**n, base.den**n, base.root, base.power * n)

    def __bool__(self) -> bool:
        return self.num.degree() >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactNumber) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[Any, ...]:
        return (
            tuple(map(str, self.num.coeffs())),
            tuple(map(str, self.den.coeffs())),
            self.root,
            (self.power),
        )

    def __repr__(self) -> str:
        if (plain := self.fraction()) is not None:
            return str(plain)
        scale = {0: "", 1: "·u"}.get(self.power, f"·u^{self.power}")
        return f"({self.num})/({self.den}) at x=e^(-u/{self.root}){scale}"

    def plain(self) -> dict[str, Any]:
        """The number as a certificate stores it: coefficients as texts, lowest exponent first."""
        num, den = ([str(c) for c in p.coeffs()] for p in (self.num, self.den))
        return {"num": num, "den": den, "root": self.root, "power": self.power}


class EpsilonUnit:
    """The unit u: 1, ln ρ for a rational ρ > 1 (`ratio`), or any positive number (`every`)."""

    def __init__(self, ratio: Fraction | None = None, *, every: bool = False) -> None:
        self.ratio, self.every = ratio, every
        self._signs: dict[tuple[ExactNumber, bool], int] = {}

    @property
    def value(self) -> float:
        """The unit as a float; 1 if it may be any number."""
        return 1.0 if self.ratio is None else math.log(self.ratio)

    def written(self, number: ExactNumber) -> str:
        """The number as a formula for readers.

        >>> EpsilonUnit().written(ExactNumber.exponential(-2) / 2)
        '1/2·e^(-2)'
        >>> EpsilonUnit(every=True).written(1 - ExactNumber.exponential(Fraction(-1, 2)))
        '1 - e^(-ε/2)'
        """
        top, bottom = (self._polynomial(p, number.root) for p in (number.num, number.den))
        u = "ε" if self.every else "1" if self.ratio is None else f"ln({self.ratio})"
        scale = "" if number.power == 0 or u == "1" else f"·{u}"
        scale += f"^({number.power})" if scale and number.power != 1 else ""
        if bottom != "1":
            return f"({top})/({bottom}){scale}"
        return f"({top}){scale}" if scale and " " in top else f"{top}{scale}"

    def _polynomial(self, poly: fmpq_poly, root: int) -> str:
        base, u = ("e", "ε") if self.ratio is None else (f"({self.ratio})", "")
        terms = []
        for k, coefficient in enumerate(poly.coeffs()):
            share = Fraction(k, root)
            exponent = str(share)
            if self.every:
                over = "" if share.denominator == 1 else f"/{share.denominator}"
                exponent = ("" if share.numerator == 1 else str(share.numerator)) + u + over
            power = f"{base}^(-{exponent})"
            size = str(abs(coefficient))
            term = size if k == 0 else power if size == "1" else f"{size}·{power}"
            if coefficient != 0:
                terms += [("-" if coefficient < 0 else "+"), term]
        if not terms:
            return "0"
        first = ("-" if terms[0] == "-" else "") + terms[1]
        return " ".join([first, *terms[2:]])

    def sign(self, number: ExactNumber, *, touching: bool = False) -> int:
        """The sign −1, 0 or 1; raise if it depends on ε.

        Where it is 0 at single ε alone, a program goes another way there. A bound that holds at all
        others holds there too: `touching` leaves such zeros out.
        """
        plain = number.multiple()
        if plain is not None:
            return (plain > 0) - (plain < 0)
        key = number, touching
        if key not in self._signs:
            below = self._sign(number.den, number.root, touching=False)
            self._signs[key] = self._sign(number.num, number.root, touching=touching) * below
        return self._signs[key]

    def gap_sign(
        self, p: ExactNumber, q: ExactNumber, epsilon: Fraction, delta: ExactNumber
    ) -> int:
        """The sign of p − e^(epsilon·u)·q − delta.

        A rational epsilon with large terms is no exponent for polynomials. It makes no zero either:
        e^(epsilon·u)·q has exponents that p and delta cannot have.
        """
        if not q:
            return self.sign(p - delta, touching=True)
        if max(epsilon.denominator, abs(epsilon.numerator)) <= _SMALL_EXPONENT:
            gap = p - ExactNumber.exponential(epsilon) * q - delta
            return self.sign(gap, touching=True)
        bits = 128
        while bits <= _MOST_BITS:
            with ctx.workprec(bits):
                u = arb(1) if self.ratio is None else _ball(self.ratio).log()
                factor = (_ball(epsilon) * u).exp()
                rest = self.enclosure(p - delta, bits) - factor * self.enclosure(q, bits)
            if rest > 0 or rest < 0:
                return 1 if rest > 0 else -1
            bits *= 2
        raise NotUnderstood("two numbers are too close to compare")  # pragma: no cover

    def enclosure(self, number: ExactNumber, bits: int = 128) -> arb:
        """A ball that contains the number; for one ε only."""
        with ctx.workprec(bits):
            x = self._x(number.root)
            u = arb(1) if self.ratio is None else _ball(self.ratio).log()
            return _value(number.num, x) / _value(number.den, x) * u**number.power

    def _x(self, root: int) -> arb:
        u = arb(1) if self.ratio is None else _ball(self.ratio).log()
        return (-u / root).exp()

    def _sign(self, poly: fmpq_poly, root: int, *, touching: bool) -> int:
        if self.every:
            found = sign_on_unit_interval(poly, touching=touching)
            if found is None:
                raise NotUnderstood("the answer to a comparison depends on epsilon")
            return found
        if self.ratio is not None:
            poly = _reduced(poly, self.ratio, root)
        if poly.degree() < 0:
            return 0
        bits = 128
        while bits <= _MOST_BITS:
            with ctx.workprec(bits):
                ball = _value(poly, self._x(root))
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
            bits *= 2
        raise NotUnderstood("two numbers are too close to compare")  # pragma: no cover


def sign_on_unit_interval(poly: fmpq_poly, *, touching: bool = True) -> int | None:
    """The sign of a polynomial on (0, 1); None if it changes.

    Single zeros in between are left out if `touching`; else they change it.
    """
    if poly.degree() < 0:
        return 0
    lead, factors = poly.numer().factor()
    sign = 1 if int(lead) > 0 else -1
    for factor, times in factors:
        one = _simple_sign(factor)
        if one is None:
            if times % 2 or not touching:
                return None
            continue
        sign *= one**times
    return sign


def _simple_sign(poly: fmpz_poly) -> int | None:
    """The sign of a polynomial without double zeros, by Bernstein coefficients on smaller parts.

    It ends: on short intervals around or away from a simple zero the coefficients change sign once
    or never.
    """
    if poly.degree() == 0:
        return 1 if int(poly[0]) > 0 else -1
    parts = [bernstein([Fraction(int(c)) for c in poly.coeffs()])]
    signs = set()
    while parts:
        b = parts.pop()
        inner = [c for c in b if c]
        changes = sum(1 for x, y in pairwise(inner) if (x > 0) != (y > 0))
        if changes == 0:
            signs.add(1 if inner[0] > 0 else -1)
        elif changes == 1:  # one zero inside, by the rule of signs
            return None
        else:
            parts.extend(halves(b))
        if len(signs) > 1:
            return None
    return signs.pop()


def bernstein(power: list[Fraction]) -> list[Fraction]:
    """Coefficients in the basis C(n, k)·x^k·(1−x)^(n−k), from those of powers of x.

    >>> bernstein([Fraction(0), Fraction(1), Fraction(-1)])
    [Fraction(0, 1), Fraction(1, 2), Fraction(0, 1)]
    """
    n = len(power) - 1
    return [
        sum((power[i] * math.comb(k, i) / math.comb(n, i) for i in range(k + 1)), Fraction())
        for k in range(n + 1)
    ]


def halves(coefficients: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The coefficients on the left and right half of the interval. [de Casteljau]"""
    left, right, row = [], [], list(coefficients)
    while row:
        left.append(row[0])
        right.append(row[-1])
        row = [(a + b) / 2 for a, b in pairwise(row)]
    return left, right[::-1]


def _reduced(poly: fmpq_poly, ratio: Fraction, root: int) -> fmpq_poly:
    """The polynomial reduced modulo the minimal polynomial of X = ratio^(−1/root).

    X^m = a for a positive rational a is irreducible unless a is a p-th power, p | m.
    """
    base, degree = 1 / ratio, root
    for prime in range(2, root + 1):
        while degree % prime == 0 and (inner := _exact_root(base, prime)) is not None:
            base, degree = inner, degree // prime
    modulus = fmpq_poly([-fmpq(base.numerator, base.denominator)] + [0] * (degree - 1) + [1])
    return poly % modulus


def _exact_root(value: Fraction, n: int) -> Fraction | None:
    parts = [_whole_root(part, n) for part in (value.numerator, value.denominator)]
    return None if None in parts else Fraction(parts[0], parts[1])  # type: ignore[arg-type]


def _whole_root(value: int, n: int) -> int | None:
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**n < value else (low, middle)
    return low if low**n == value else None


def _value(poly: fmpq_poly, x: arb) -> arb:
    total = arb(0)
    for c in reversed(poly.coeffs()):
        total = total * x + arb(c)
    return total


def _ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def _exact(value: "ExactNumber | Rational") -> ExactNumber:
    return value if isinstance(value, ExactNumber) else _of(value)


@lru_cache(maxsize=4096)
def _of(value: Rational) -> ExactNumber:
    return ExactNumber.of(value)


def _spread(poly: fmpq_poly, k: int) -> fmpq_poly:
    """p(X^k)."""
    if k == 1 or poly.degree() < 1:
        return poly
    if poly.degree() * k > _LARGEST_DEGREE:
        raise NotUnderstood("exponents are too many to compute with exactly")
    spread = [fmpq(0)] * (poly.degree() * k + 1)
    spread[::k] = poly.coeffs()
    return fmpq_poly(spread)


def _smallest_root(num: fmpq_poly, den: fmpq_poly, root: int) -> tuple[fmpq_poly, fmpq_poly, int]:
    if root == 1:
        return num, den, 1
    shared = root
    for poly in (num, den):
        for i, c in enumerate(poly.coeffs()):
            if c != 0 and (shared := math.gcd(shared, i)) == 1:
                return num, den, root
    return fmpq_poly(num.coeffs()[::shared]), fmpq_poly(den.coeffs()[::shared]), root // shared


ZERO, ONE = ExactNumber.of(0), ExactNumber.of(1)
