"""The checker's numbers, sums of c·e^(r·u) over products of such sums, and their signs."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from dpverify.certifying.checking.forms import ONE, ZERO, Invalid, Json, count, need, rational

Poly: TypeAlias = dict[Fraction, Fraction]
"""From r to c: the sum of c·e^(r·u)."""

Factor: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
_MOST_TERMS, _MOST_POWER, _MOST_BITS = 1000, 1000, 100_000


def times(a: Poly, *others: Poly) -> Poly:
    for b in others:
        total: Poly = {}
        for r, c in a.items():
            for s, d in b.items():
                total[r + s] = total.get(r + s, ZERO) + c * d
        a = {r: c for r, c in total.items() if c}
        long = max((c.denominator.bit_length() for c in a.values()), default=0)
        need(len(a) <= _MOST_TERMS and long <= _MOST_BITS, "a number is too long")
    return a


class Quotient:
    """A sum over a product of sums: num / Π den."""

    def __init__(self, num: Poly, den: tuple[Factor, ...] = ()) -> None:
        self.num, self.den = num, den

    @staticmethod
    def of(c: Fraction | int, r: Fraction | int = 0) -> "Quotient":
        """c·e^(r·u)."""
        return Quotient({Fraction(r): Fraction(c)} if c else {})

    @staticmethod
    def read(plain: Json) -> "Quotient":
        """Read a quotient of polynomials in e^(−u/root)."""
        root = count(plain["root"], _MOST_POWER, "no root")
        need(root > 0 and plain["power"] == 0, "a number with a power of epsilon")
        need(max(len(plain["num"]), len(plain["den"])) <= _MOST_TERMS, "too many terms")
        top, bottom = (
            {Fraction(-i, root): rational(c) for i, c in enumerate(plain[key]) if rational(c)}
            for key in ("num", "den")
        )
        return Quotient(top) / Quotient(bottom)

    def __mul__(self, other: "Quotient") -> "Quotient":
        return Quotient(times(self.num, other.num), (*self.den, *other.den))

    def __truediv__(self, other: "Quotient") -> "Quotient":
        need(other.num, "a division by zero")
        top = times(self.num, *map(dict, other.den))
        if len(other.num) == 1:
            ((r, c),) = other.num.items()
            return Quotient(times(top, {-r: 1 / c}), self.den)
        return Quotient(top, (*self.den, tuple(sorted(other.num.items()))))

    def __add__(self, other: "Quotient") -> "Quotient":
        mine, others = Counter(self.den), Counter(other.den)
        a = times(self.num, *map(dict, (others - mine).elements()))
        b = times(other.num, *map(dict, (mine - others).elements()))
        total = {r: a.get(r, ZERO) + b.get(r, ZERO) for r in {*a, *b}}
        return Quotient({r: c for r, c in total.items() if c}, tuple((mine | others).elements()))

    def __sub__(self, other: "Quotient") -> "Quotient":
        return self + other * Quotient.of(-1)

    def power(self, n: Fraction) -> "Quotient":
        need(n.denominator == 1 and abs(n) <= _MOST_POWER, "such a power is not computed")
        made, base = Quotient.of(1), self if n >= 0 else Quotient.of(1) / self
        for _ in range(abs(int(n))):
            made = made * base
        return made


def exp_bounds(r: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rational bounds on e^r: a Taylor sum of e^(|r|/2^k), squared k times, rounded outwards."""
    k = math.ceil(abs(r)).bit_length()
    need(k <= 16, "an exponent is too large")  # 0 ≤ y ≤ 1, so that terms at least halve from 1/2 on
    y, term, total, i = abs(r) / 2**k, ONE, ZERO, 0
    fine = 2 ** (bits + 2 * k + 8)
    while term * fine > 1:
        total, i = total + term, i + 1
        term = Fraction(math.ceil(term * y / i * fine * 2**k), fine * 2**k)
    low, high = total - Fraction(i, fine), total + 2 * term
    for _ in range(k):
        low = Fraction(math.floor(low * low * fine), fine)
        high = Fraction(math.ceil(high * high * fine), fine)
    return (low, high) if r >= 0 else (1 / high, 1 / low)


def root_bounds(ratio: Fraction, m: int, bits: int) -> tuple[Fraction, Fraction]:
    """Rational bounds on the m-th root of a ratio below 1."""
    target = math.floor(ratio * 2 ** (bits * m))
    low, high = 0, 2**bits
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**m <= target else (low, middle - 1)
    return Fraction(low, 2**bits), Fraction(low + 1, 2**bits)


def polynomial_sign(coefficients: list[Fraction]) -> int:
    """1 or −1 if a polynomial is ≥ 0 or ≤ 0 on (0, 1), by the Bernstein coefficients of parts."""
    n, signs = len(coefficients) - 1, set[bool]()
    first = [
        sum((coefficients[i] * math.comb(k, i) / math.comb(n, i) for i in range(k + 1)), ZERO)
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
    """The claim (ε, δ) and the unit u: 1, ln ρ, or ε itself in a claim for every ε > 0."""

    def __init__(self, claim: Json) -> None:
        self.kind, self.epsilon = claim["unit"], rational(claim["epsilon"])
        self.ratio, self.delta = rational(claim["ratio"] or 1), rational(claim["delta"])
        need(self.kind in {"one", "log", "every"}, "unknown unit")
        need(self.kind != "log" or self.ratio > 1, "a ratio above 1 is needed")
        need(self.epsilon >= 0 and 0 <= self.delta <= 1, "no claim")
        self.signs, self.drawn = dict[Factor, int](), dict[str, list[Quotient]]()

    def rate(self, law: Json) -> Fraction:
        """The largest change of the log density under a shift by 1, in units of u."""
        number = law["parameter"]
        root = count(number["root"], _MOST_POWER, "no root")
        need(root > 0 and len([*number["num"], *number["den"]]) <= _MOST_TERMS, "too many terms")
        num, den = [rational(c) for c in number["num"]], [rational(c) for c in number["den"]]
        if law["kind"] == "geometric":
            power = number["power"] == 0 and den == [1] and num[-1] == 1 and not any(num[:-1])
            need(power and len(num) > 1, "a ratio is no exponential")
            return Fraction(len(num) - 1, root)
        need(number["power"] == (0 if self.kind == "one" else -1), "a scale is not in units")
        need(len(num) == len(den) == 1 and num[0] > 0 and den[0] > 0, "a scale is not rational")
        return den[0] / num[0]

    def weights(self, draw: str) -> list[Quotient]:
        """The probabilities of a draw, from a JSON text; they must be ≥ 0 and add up to 1."""
        if draw not in self.drawn:
            found = [Quotient.read(weight) for weight in json.loads(draw)]
            need(all(self.sign(weight) >= 0 for weight in found), "a weight is negative")
            need(self.sign(sum(found, Quotient.of(-1))) == 0, "weights do not add up")
            self.drawn[draw] = found
        return self.drawn[draw]

    def sign(self, number: Quotient) -> int:
        """1, −1 or 0; in a claim for every ε, whether ≥ 0 or ≤ 0 for all ε without being 0."""
        factors = [tuple(sorted(number.num.items())), *number.den]
        for factor in factors:
            if factor not in self.signs:
                self.signs[factor] = self.new_sign(dict(factor))
        need(all(self.signs[factor] for factor in factors[1:]), "a division by zero")
        return math.prod(self.signs[factor] for factor in factors)

    def new_sign(self, poly: Poly) -> int:
        """The sign of a polynomial in x = e^(−u/m), 0 < x < 1, after division by a power of x."""
        m = math.lcm(*(r.denominator for r in poly))
        powers = {int(max(poly) * m - r * m): c for r, c in poly.items()}
        if self.kind == "log":  # x^m is 1/ρ
            need(m <= 256, "a root is not computed")
            folded: dict[int, Fraction] = {}
            for i, c in powers.items():
                need(i // m <= _MOST_POWER, "such a power is not computed")
                folded[i % m] = folded.get(i % m, ZERO) + c / self.ratio ** (i // m)
            powers = {i: c for i, c in folded.items() if c}
        if len(powers) <= 1:
            return sum((c > 0) - (c < 0) for c in powers.values())
        if self.kind == "every":
            need(max(powers) <= 400, "a degree is too high")
            return polynomial_sign([powers.get(i, ZERO) for i in range(max(powers) + 1)])
        need(max(powers) <= _MOST_POWER * m, "such a power is not computed")
        for bits in (64, 128, 256, 512, 1024, 2048, 4096):
            low = high = ZERO
            for i, c in powers.items():
                ends = self.powered(i, m, bits)
                low, high = low + c * ends[c < 0], high + c * ends[c > 0]
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
        raise Invalid("two numbers are too close")

    def powered(self, i: int, m: int, bits: int) -> tuple[Fraction, Fraction]:
        """Rational bounds on x^i."""
        if self.kind == "one":
            return exp_bounds(Fraction(-i, m), bits)
        return root_bounds(1 / self.ratio**i, m, bits)

    def exceeds(self, p: dict[str, Quotient], q: dict[str, Quotient]) -> bool:
        """Whether Σ max(0, P − e^ε·Q) > δ."""
        factor, total = Quotient.of(1, self.epsilon), Quotient.of(-self.delta)
        for output, mass in p.items():
            gap = mass - factor * q.get(output, Quotient({}))
            if self.sign(gap) > 0:
                total = total + gap
        return self.sign(total) > 0
