"""The checker's numbers: sums of c·e^(r·u) over products of such sums, and their signs."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from dpverify.certifying.checking.forms import ONE, Invalid, Json, need

Poly: TypeAlias = dict[Fraction, Fraction]  # from r to c: the sum of c·e^(r·u)


def times(a: Poly, b: Poly) -> Poly:
    total: Poly = {}
    for r, c in a.items():
        for s, d in b.items():
            total[r + s] = total.get(r + s, Fraction(0)) + c * d
    return {r: c for r, c in total.items() if c}


class Quotient:
    """A sum over a product of sums: num / Π den."""

    def __init__(self, num: Poly, den: tuple[Any, ...] = ()) -> None:
        self.num, self.den = num, den

    @staticmethod
    def read(plain: Json) -> "Quotient":
        need(plain["power"] == 0, "a number with a power of epsilon")
        top, bottom = (
            {
                Fraction(-i, plain["root"]): Fraction(c)
                for i, c in enumerate(plain[key])
                if Fraction(c)
            }
            for key in ("num", "den")
        )
        return Quotient(top) / Quotient(bottom)

    def __mul__(self, other: "Quotient") -> "Quotient":
        return Quotient(times(self.num, other.num), (*self.den, *other.den))

    def __truediv__(self, other: "Quotient") -> "Quotient":
        top = self.num
        for factor in other.den:
            top = times(top, dict(factor))
        need(other.num, "a division by zero")
        if len(other.num) == 1:
            ((r, c),) = other.num.items()
            return Quotient(times(top, {-r: 1 / c}), self.den)
        return Quotient(top, (*self.den, tuple(sorted(other.num.items()))))

    def __add__(self, other: "Quotient") -> "Quotient":
        mine, others = Counter(self.den), Counter(other.den)
        tops = []
        for number, missing in ((self, others - mine), (other, mine - others)):
            top = number.num
            for factor in missing.elements():
                top = times(top, dict(factor))
            tops.append(top)
        total = {
            r: tops[0].get(r, Fraction(0)) + tops[1].get(r, Fraction(0))
            for r in {*tops[0], *tops[1]}
        }
        return Quotient({r: c for r, c in total.items() if c}, tuple((mine | others).elements()))

    def __sub__(self, other: "Quotient") -> "Quotient":
        return self + other * Quotient({Fraction(0): -ONE})

    def power(self, n: int) -> "Quotient":
        base = self if n >= 0 else Quotient({Fraction(0): ONE}) / self
        made = Quotient({Fraction(0): ONE})
        for _ in range(abs(n)):
            made = made * base
        return made


def exp_bounds(r: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around e^r: a Taylor sum of e^(|r|/2^k), squared k times, rounded outwards."""
    k = max(0, math.ceil(abs(r)).bit_length())
    y, term, total, i, unit = (
        abs(r) / 2**k,
        ONE,
        Fraction(0),
        0,
        Fraction(1, 2 ** (bits + 2 * k + 8)),
    )
    while term > unit:
        total, i = total + term, i + 1
        term = term * y / i
    low, high = total, total + 2 * term
    for _ in range(k):
        low, high = (math.floor(low * low / unit) * unit, math.ceil(high * high / unit) * unit)
    return (low, high) if r >= 0 else (1 / high, 1 / low)


def root_bounds(ratio: Fraction, exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around ratio^exponent for 0 ≤ exponent < 1."""
    p, q = exponent.numerator, exponent.denominator
    target = math.floor(ratio**p * 2 ** (bits * q))
    low, high = 0, 1 << (target.bit_length() // q + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**q <= target else (low, middle - 1)
    return Fraction(low, 2**bits), Fraction(low + 1, 2**bits)


def polynomial_sign(coefficients: list[Fraction]) -> int:
    """1 or −1 if a polynomial is ≥ 0 or ≤ 0 on (0, 1), by Bernstein coefficients of parts."""
    n, signs = len(coefficients) - 1, set[bool]()
    first = [
        sum(
            (coefficients[i] * math.comb(k, i) / math.comb(n, i) for i in range(k + 1)), Fraction(0)
        )
        for k in range(n + 1)
    ]
    parts = [(first, 0)]
    while parts:
        b, depth = parts.pop()
        found = {c > 0 for c in b if c}
        if len(found) == 1:
            signs |= found
            need(len(signs) == 1, "a sign depends on epsilon")
            continue
        need(depth < 40, "a sign depends on epsilon")
        left, right, row = [], [], b
        while row:
            left.append(row[0])
            right.append(row[-1])
            row = [(x + y) / 2 for x, y in pairwise(row)]
        parts += [(left, depth + 1), (right[::-1], depth + 1)]
    return 1 if signs == {True} else -1


class ClaimUnit:
    """The claim (ε, δ) and the unit u: 1, ln ρ, or ε itself where it holds for every ε > 0."""

    def __init__(self, claim: Json) -> None:
        self.kind, self.epsilon = claim["unit"], Fraction(claim["epsilon"])
        self.ratio, self.delta = Fraction(claim.get("ratio") or 1), Fraction(claim["delta"])
        need(self.kind in {"one", "log", "every"}, "unknown unit")
        need(self.epsilon >= 0 and 0 <= self.delta <= 1, "no claim")
        if self.kind == "log":  # then different roots of it are independent over the rationals
            need(self.ratio > 1 and not perfect_power(self.ratio), "ratio is no simple one")
        self.signs: dict[Any, int] = {}
        self.masses: dict[Any, Quotient] = {}

    def rate(self, law: Json) -> Fraction:
        """By which a shift of 1 changes the logarithm of the density at most, in units of u."""
        number = law["parameter"]
        num, den = [Fraction(c) for c in number["num"]], [Fraction(c) for c in number["den"]]
        if law["kind"] == "geometric":
            need(den == [1] and num[-1] == 1 and not any(num[:-1]), "a ratio is no exponential")
            return Fraction(len(num) - 1, number["root"])
        need(number["power"] == (0 if self.kind == "one" else -1), "a scale is not in units")
        need(len(num) == len(den) == 1 and num[0] > 0 and den[0] > 0, "a scale is not rational")
        return den[0] / num[0]

    def sign(self, number: Quotient) -> int:
        return math.prod(map(self.one_sign, (tuple(sorted(number.num.items())), *number.den)))

    def one_sign(self, poly: Json) -> int:
        if poly not in self.signs:
            self.signs[poly] = self.new_sign(dict(poly))
        return self.signs[poly]

    def new_sign(self, poly: Poly) -> int:
        if self.kind == "log":
            reduced: Poly = {}
            for r, c in poly.items():
                part = r - math.floor(r)
                reduced[part] = reduced.get(part, Fraction(0)) + c * self.ratio ** math.floor(r)
            poly = {r: c for r, c in reduced.items() if c}
        if not poly:
            return 0
        if self.kind == "every":
            m = math.lcm(*(r.denominator for r in poly))
            powers = {int(-r * m): c for r, c in poly.items()}
            least = min(powers)
            return polynomial_sign(
                [powers.get(least + i, Fraction(0)) for i in range(max(powers) - least + 1)]
            )
        for bits in (64, 128, 256, 512, 1024, 2048, 4096):
            low = high = Fraction(0)
            for r, c in poly.items():
                ends = (
                    exp_bounds(r, bits) if self.kind == "one" else root_bounds(self.ratio, r, bits)
                )
                low, high = low + c * ends[c < 0], high + c * ends[c > 0]
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
        raise Invalid("two numbers are too close")

    def exceeds(self, p: dict[str, Quotient], q: dict[str, Quotient]) -> bool:
        """Whether Σ max(0, P − e^ε·Q) > δ; with δ = 0, whether any output has P > e^ε·Q."""
        factor, total = (
            Quotient({self.epsilon: ONE}),
            Quotient({Fraction(0): -self.delta} if self.delta else {}),
        )
        for output, mass_left in p.items():
            gap = mass_left - factor * q.get(output, Quotient({}))
            if self.sign(gap) > 0:
                total = total + gap
        return self.sign(total) > 0


def perfect_power(ratio: Fraction) -> bool:
    parts = (ratio.numerator, ratio.denominator)
    return any(all(any(b**k == n for b in around(n, k)) for n in parts) for k in range(2, 64))


def around(n: int, k: int) -> range:
    near = round(n ** (1 / k))
    return range(max(0, near - 1), near + 2)
