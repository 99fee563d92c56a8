"""The checker's numbers: sums of c·e^(r·u), their signs, and probabilities of polyhedra of noise.

Probabilities are summed or integrated one noise at a time, over every choice of which bound is the
tightest; it is slower than the search, written anew, and needs no assumption on the comparisons.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction as F
from functools import lru_cache
from itertools import combinations, product
from typing import Any, TypeAlias

Poly: TypeAlias = dict[F, F]  # from r to c: the sum of c·e^(r·u)
Form: TypeAlias = dict[str, F]
ONE = F(1)


class Invalid(Exception):  # noqa: N818  # it is no error of the program
    """The certificate does not show what it says."""


def need(condition: object, why: str) -> None:
    if not condition:
        raise Invalid(why)


def times(a: Poly, b: Poly) -> Poly:
    total: Poly = {}
    for r, c in a.items():
        for s, d in b.items():
            total[r + s] = total.get(r + s, F(0)) + c * d
    return {r: c for r, c in total.items() if c}


class Number:
    """A sum over a product of sums: num / Π den."""

    def __init__(self, num: Poly, den: tuple[Any, ...] = ()) -> None:
        self.num, self.den = num, den

    @staticmethod
    def read(plain: Any) -> "Number":
        need(plain["power"] == 0, "a number with a power of epsilon")
        top, bottom = (
            {F(-i, plain["root"]): F(c) for i, c in enumerate(plain[key]) if F(c)}
            for key in ("num", "den")
        )
        return Number(top) / Number(bottom)

    def __mul__(self, other: "Number") -> "Number":
        return Number(times(self.num, other.num), (*self.den, *other.den))

    def __truediv__(self, other: "Number") -> "Number":
        top = self.num
        for factor in other.den:
            top = times(top, dict(factor))
        need(other.num, "a division by zero")
        if len(other.num) == 1:
            ((r, c),) = other.num.items()
            return Number(times(top, {-r: 1 / c}), self.den)
        return Number(top, (*self.den, tuple(sorted(other.num.items()))))

    def __add__(self, other: "Number") -> "Number":
        mine, others = Counter(self.den), Counter(other.den)
        tops = []
        for number, missing in ((self, others - mine), (other, mine - others)):
            top = number.num
            for factor in missing.elements():
                top = times(top, dict(factor))
            tops.append(top)
        total = {r: tops[0].get(r, F(0)) + tops[1].get(r, F(0)) for r in {*tops[0], *tops[1]}}
        return Number({r: c for r, c in total.items() if c}, tuple((mine | others).elements()))

    def __sub__(self, other: "Number") -> "Number":
        return self + other * Number({F(0): -ONE})

    def power(self, n: int) -> "Number":
        base = self if n >= 0 else Number({F(0): ONE}) / self
        made = Number({F(0): ONE})
        for _ in range(abs(n)):
            made = made * base
        return made


def exp_bounds(r: F, bits: int) -> tuple[F, F]:
    """Rationals around e^r: a Taylor sum of e^(|r|/2^k), squared k times, rounded outwards."""
    k = max(0, math.ceil(abs(r)).bit_length())
    y, term, total, i, unit = abs(r) / 2**k, ONE, F(0), 0, F(1, 2 ** (bits + 2 * k + 8))
    while term > unit:
        total, i = total + term, i + 1
        term = term * y / i
    low, high = total, total + 2 * term
    for _ in range(k):
        low, high = (math.floor(low * low / unit) * unit, math.ceil(high * high / unit) * unit)
    return (low, high) if r >= 0 else (1 / high, 1 / low)


def root_bounds(ratio: F, exponent: F, bits: int) -> tuple[F, F]:
    """Rationals around ratio^exponent for 0 ≤ exponent < 1."""
    p, q = exponent.numerator, exponent.denominator
    target = math.floor(ratio**p * 2 ** (bits * q))
    low, high = 0, 1 << (target.bit_length() // q + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**q <= target else (low, middle - 1)
    return F(low, 2**bits), F(low + 1, 2**bits)


def polynomial_sign(coefficients: list[F]) -> int:
    """1 or −1 if a polynomial is ≥ 0 or ≤ 0 on (0, 1), by Bernstein coefficients of parts."""
    n, signs = len(coefficients) - 1, set[bool]()
    first = [
        sum((coefficients[i] * math.comb(k, i) / math.comb(n, i) for i in range(k + 1)), F(0))
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
            row = [(x + y) / 2 for x, y in zip(row, row[1:], strict=False)]
        parts += [(left, depth + 1), (right[::-1], depth + 1)]
    return 1 if signs == {True} else -1


class Unit:
    """The claim (ε, δ) and the unit u: 1, ln ρ, or ε itself where it holds for every ε > 0."""

    def __init__(self, claim: Any) -> None:
        self.kind, self.epsilon = claim["unit"], F(claim["epsilon"])
        self.ratio, self.delta = F(claim.get("ratio") or 1), F(claim["delta"])
        need(self.kind in {"one", "log", "every"}, "unknown unit")
        need(self.epsilon >= 0 and 0 <= self.delta <= 1, "no claim")
        if self.kind == "log":  # then different roots of it are independent over the rationals
            need(self.ratio > 1 and not perfect_power(self.ratio), "ratio is no simple one")
        self.signs: dict[Any, int] = {}
        self.masses: dict[Any, Number] = {}

    def rate(self, law: Any) -> F:
        """By which a shift of 1 changes the logarithm of the density at most, in units of u."""
        number = law["parameter"]
        num, den = [F(c) for c in number["num"]], [F(c) for c in number["den"]]
        if law["kind"] == "geometric":
            need(den == [1] and num[-1] == 1 and not any(num[:-1]), "a ratio is no exponential")
            return F(len(num) - 1, number["root"])
        need(number["power"] == (0 if self.kind == "one" else -1), "a scale is not in units")
        need(len(num) == len(den) == 1 and num[0] > 0 and den[0] > 0, "a scale is not rational")
        return den[0] / num[0]

    def sign(self, number: Number) -> int:
        return math.prod(map(self.one_sign, (tuple(sorted(number.num.items())), *number.den)))

    def one_sign(self, poly: Any) -> int:
        if poly not in self.signs:
            self.signs[poly] = self.new_sign(dict(poly))
        return self.signs[poly]

    def new_sign(self, poly: Poly) -> int:
        if self.kind == "log":
            reduced: Poly = {}
            for r, c in poly.items():
                part = r - math.floor(r)
                reduced[part] = reduced.get(part, F(0)) + c * self.ratio ** math.floor(r)
            poly = {r: c for r, c in reduced.items() if c}
        if not poly:
            return 0
        if self.kind == "every":
            m = math.lcm(*(r.denominator for r in poly))
            powers = {int(-r * m): c for r, c in poly.items()}
            least = min(powers)
            return polynomial_sign([powers.get(least + i, F(0)) for i in range(max(powers) - least + 1)])
        for bits in (64, 128, 256, 512, 1024, 2048, 4096):
            low = high = F(0)
            for r, c in poly.items():
                ends = exp_bounds(r, bits) if self.kind == "one" else root_bounds(self.ratio, r, bits)
                low, high = low + c * ends[c < 0], high + c * ends[c > 0]
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
        raise Invalid("two numbers are too close")

    def exceeds(self, p: dict[str, Number], q: dict[str, Number]) -> bool:
        """Whether Σ max(0, P − e^ε·Q) > δ; with δ = 0, whether any output has P > e^ε·Q."""
        factor, total = Number({self.epsilon: ONE}), Number({F(0): -self.delta} if self.delta else {})
        for output, mass_left in p.items():
            gap = mass_left - factor * q.get(output, Number({}))
            if self.sign(gap) > 0:
                total = total + gap
        return self.sign(total) > 0


def perfect_power(ratio: F) -> bool:
    parts = (ratio.numerator, ratio.denominator)
    return any(all(any(b**k == n for b in around(n, k)) for n in parts) for k in range(2, 64))


def around(n: int, k: int) -> range:
    near = round(n ** (1 / k))
    return range(max(0, near - 1), near + 2)


# Probabilities.

Term: TypeAlias = tuple[dict[Any, Number], dict[str, Any]]  # monomials, and bases of powers


def mass(rows: list[Form], laws: Any, unit: Unit) -> Number:
    """The probability that independent noises make all rows ≥ 0."""
    key = frozenset(tuple(sorted(row.items())) for row in rows)
    if key not in unit.masses:
        unit.masses[key] = new_mass(list(map(dict, key)), dict(laws), unit)
    return unit.masses[key]


def new_mass(rows: list[Form], laws: Any, unit: Unit) -> Number:
    rows, result = differences(rows, laws), Number({F(0): ONE})
    while rows:
        group = {n for n in rows[0] if n}
        while more := {n for row in rows if set(row) & group for n in row if n} - group:
            group |= more
        mine = [row for row in rows if row is rows[0] or set(row) & group]
        rows, total = [row for row in rows if row not in mine], Number({})
        for choice in product(*(density(name, laws[name], unit) for name in sorted(group))):
            factor = Number({F(0): ONE})
            for _, c, _ in choice:
                factor = factor * c
            bases = {name: base for name, (_, _, base) in zip(sorted(group), choice, strict=True)}
            kept = [*mine, *(row for row, _, _ in choice)]
            total = total + eliminated(kept, [({(): factor}, bases)], unit)
        result = result * total
    return result


def differences(rows: list[Form], laws: Any) -> list[Form]:
    """Two geometric noises of one law that occur as a difference alone become one noise."""
    for a, b in combinations(sorted({n for row in rows for n in row if n}), 2):
        alone = all(row.get(a, F(0)) == -row.get(b, F(0)) for row in rows)
        if alone and laws[a]["kind"] == "geometric" and laws[a] == laws[b]:
            laws[f"{a}-{b}"] = {"kind": "difference", "parameter": laws[a]["parameter"]}
            renamed = [{f"{a}-{b}" if n == a else n: c for n, c in row.items() if n != b} for row in rows]
            return differences(renamed, laws)
    return rows


def density(name: str, law: Any, unit: Unit) -> list[tuple[Form, Number, Any]]:
    """Pieces of a density: where, the factor, the base (a rate λ for e^(λ·u·n))."""
    one = Number({F(0): ONE})
    if law["kind"] == "geometric":  # P(k) = (1 − q)·q^(k−1) for k ≥ 1
        q = Number.read(law["parameter"])
        return [({name: ONE, "": -ONE}, (one - q) / q, q)]
    if law["kind"] == "difference":  # P(k) = (1 − q)/(1 + q)·q^|k|
        q = Number.read(law["parameter"])
        c = (one - q) / (one + q)
        return [({name: ONE}, c, q), ({name: -ONE, "": -ONE}, c, one / q)]
    rate = unit.rate(law)
    if law["kind"] == "exponential":
        return [({name: ONE}, Number({F(0): rate}), -rate)]
    need(law["kind"] == "laplace", "such noise is not integrated")
    return [({name: s}, Number({F(0): rate / 2}), -s * rate) for s in (ONE, -ONE)]


def eliminated(rows: list[Form], terms: list[Term], unit: Unit) -> Number:
    """The sum or integral of terms over all noises in them that make the rows ≥ 0."""
    tightest: dict[Any, F] = {}
    for row in rows:
        key = tuple(sorted((n, c) for n, c in row.items() if n))
        tightest[key] = min(row.get("", F(0)), tightest.get(key, row.get("", F(0))))
    for key, c in tightest.items():
        if c + tightest.get(tuple((n, -x) for n, x in key), -c if key else F(0)) < 0:
            return Number({})
    rows = [{**dict(key), "": c} for key, c in tightest.items() if key]
    terms = collected(terms)
    bases = terms[0][1] if terms else {}
    if not bases:
        return sum((poly.get((), Number({})) for poly, _ in terms), Number({}))
    name = min(bases, key=lambda n: (fan(rows, n), n))
    whole = isinstance(bases[name], Number)
    others = [row for row in rows if name not in row]
    low = [solved(row, name, whole) for row in rows if row.get(name, 0) > 0]
    high = [solved(row, name, whole) for row in rows if row.get(name, 0) < 0]
    total = Number({})
    for i, j in product(range(len(low)) if low else [None], range(len(high)) if high else [None]):
        kept = list(others)
        if i is not None:  # the largest lower bound, the first of these among equals
            kept += [gap(low[i], b, whole and k < i) for k, b in enumerate(low) if k != i]
        if j is not None:
            kept += [gap(b, high[j], whole and k < j) for k, b in enumerate(high) if k != j]
        if i is not None and j is not None:
            kept.append(gap(high[j], low[i], strictly=False))
        ends = (None if j is None else high[j], None if i is None else low[i])
        parts = [part for term in terms for part in integrated(term, name, ends, whole, unit)]
        total = total + eliminated(kept, parts, unit)
    return total


def fan(rows: list[Form], name: str) -> int:
    signs = [row[name] > 0 for row in rows if name in row]
    return max(1, sum(signs)) * max(1, len(signs) - sum(signs))


def collected(terms: list[Term]) -> list[Term]:
    """Terms with the same bases as one."""
    found: dict[Any, Term] = {}
    for poly, bases in terms:
        key = tuple(
            (n, b if isinstance(b, F) else (tuple(sorted(b.num.items())), tuple(sorted(b.den))))
            for n, b in sorted(bases.items())
        )
        merged = found.setdefault(key, ({}, bases))[0]
        for monomial, c in poly.items():
            merged[monomial] = merged.get(monomial, Number({})) + c
    return list(found.values())


def gap(a: Form, b: Form, strictly: bool) -> Form:  # noqa: FBT001
    """a ≥ b as a row; a ≥ b + 1 if strictly."""
    names = {*a, *b, ""}
    made = {n: a.get(n, F(0)) - b.get(n, F(0)) - (n == "" and strictly) for n in names}
    return {n: c for n, c in made.items() if c}


def solved(row: Form, name: str, whole: bool) -> Form:  # noqa: FBT001
    """The bound of a noise in a row: a form in the others."""
    bound = {n: -c / row[name] for n, c in row.items() if n != name}
    if whole:
        need(all(c.denominator == 1 for n, c in bound.items() if n), "multiples of whole noises")
        rounded = math.ceil if row[name] > 0 else math.floor
        bound[""] = F(rounded(bound.get("", F(0))))
    return bound


def integrated(
    term: Term, name: str, ends: tuple[Form | None, Form | None], whole: bool, unit: Unit  # noqa: FBT001
) -> Iterator[Term]:
    poly, bases = term
    base = bases[name]
    if whole:
        grows = unit.sign(base - Number({F(0): ONE}))
    else:
        grows = (base > 0) - (base < 0)
    for end, sign in zip(ends, (1, -1), strict=True):
        if end is None:
            need(grows == -sign, "a sum does not converge by itself")
            continue
        at = {**end, "": end.get("", F(0)) - (whole and sign < 0)}
        rest = {n: b for n, b in bases.items() if n != name}
        for n, c in at.items():
            if n:
                need(isinstance(rest[n], Number) == whole, "whole and real noise meet")
                rest[n] = rest[n] * base.power(int(c)) if whole else rest[n] + base * c
        scale = base.power(int(at[""])) if whole else Number({base * at[""]: ONE})
        made: dict[Any, Number] = {}
        for monomial, c in poly.items():
            powers = dict(monomial)
            j = powers.pop(name, 0)
            need(j == 0 or whole or unit.kind == "one", "a power of epsilon")
            for i, a in enumerate(primitive(j, base, whole and grows == 0)):
                for more, factor in raised(at, i).items():
                    key = tuple(sorted((Counter(powers) + Counter(dict(more))).items()))
                    part = c * a * scale * Number({F(0): factor * sign} if factor else {})
                    made[key] = made.get(key, Number({})) + part
        yield {k: v for k, v in made.items() if v.num}, rest


def raised(at: Form, power: int) -> dict[Any, F]:
    """The power of a form, as a polynomial."""
    total: dict[Any, F] = {(): ONE}
    for _ in range(power):
        new: dict[Any, F] = {}
        for mono, c in total.items():
            for n, d in at.items():
                key = tuple(sorted((Counter(dict(mono)) + Counter({n: 1} if n else {})).items()))
                new[key] = new.get(key, F(0)) + c * d
        total = new
    return total


def primitive(j: int, base: Any, flat: bool) -> list[Number]:  # noqa: FBT001
    """A with (A·base^t)' = t^j·base^t, or A(t)·base^t − A(t−1)·base^(t−1) on whole numbers."""
    zero, one = Number({}), Number({F(0): ONE})
    if isinstance(base, F):
        if not base:
            return [zero] * (j + 1) + [Number({F(0): F(1, j + 1)})]
        falling = [math.perm(j, j - i) * (-1) ** (j - i) / base ** (j - i + 1) for i in range(j + 1)]
        return [Number({F(0): c}) for c in falling]
    inverse = one if flat else one / base
    a, top = [zero] * (j + 2), j + 1 if flat else j
    for i in range(top, -1, -1):
        if flat and i == 0:
            break
        k = i - 1 if flat else i  # the coefficient of t^k decides a[i]
        rest = zero
        for m in range(i + 1, top + 1):
            rest = rest + a[m] * Number({F(0): F(math.comb(m, k) * (-1) ** (m - k))})
        right = (one if k == j else zero) + inverse * rest
        a[i] = right * Number({F(0): F(1, i)}) if flat else right / (one - inverse)
    return a


def outcomes(output: Any, facts: list[Form], whole: set[str], event: Any) -> Iterator[tuple[str, list[Form]]]:
    """The outputs of a path and what the noise must satisfy for each; or the event, if it can be."""
    if event is not None:
        for pattern in event:
            rows = matched(output, pattern)
            if rows is not None:
                yield "event", rows
        return
    values = list(values_in(output))
    ranges = [span({n: F(c) for n, c in v.items()}, facts, whole) for v in values]
    for numbers in product(*ranges):
        rows = [
            row
            for v, n in zip(values, numbers, strict=True)
            for row in matched(["value", v], ["number", str(n)]) or []
        ]
        yield json.dumps(filled(output, iter(numbers))), rows


def matched(output: Any, pattern: Any) -> list[Form] | None:
    """Rows that make an output be in a pattern; None if nothing does."""
    if pattern[0] == "number" and pattern[1] in {"inf", "-inf", "nan"}:
        return [] if output[1:] == pattern[1:] and output[0] == "float" else None
    if pattern[0] in {"number", "atleast", "atmost", "any"}:
        bound = F(pattern[1] if len(pattern) > 1 else 0)
        if output[0] == "value":
            form = {n: F(c) for n, c in output[1].items()}
        elif output[0] in {"int", "float", "bool"} and not str(output[1]).startswith(("e", "n", "i", "-i")):
            form = {"": F(output[1])}
        else:
            return None
        over = {**form, "": form.get("", F(0)) - bound}
        under = {n: -c for n, c in over.items()}
        return {"number": [over, under], "atleast": [over], "atmost": [under], "any": []}[pattern[0]]
    if pattern[0] != "list":
        return [] if output == pattern else None
    if output[0] not in {"list", "tuple", "array"} or len(output) != len(pattern):
        return None
    parts = [matched(a, b) for a, b in zip(output[1:], pattern[1:], strict=True)]
    return None if None in parts else [row for part in parts for row in part or []]


def values_in(output: Any) -> Iterator[Any]:
    if isinstance(output, list) and output[:1] == ["value"]:
        yield output[1]
    elif isinstance(output, list):
        for part in output:
            yield from values_in(part)


def filled(output: Any, numbers: Iterator[int]) -> Any:
    if isinstance(output, list) and output[:1] == ["value"]:
        return ["int", next(numbers)]
    return [filled(part, numbers) for part in output] if isinstance(output, list) else output


def span(form: Form, facts: list[Form], whole: set[str]) -> range:
    """The whole values of a form between facts that bound it."""
    fine = set(form) <= whole | {""} and all(c.denominator == 1 for c in form.values())
    need(fine, "infinitely many outputs")
    lows, highs = [], []
    for fact in [*facts, *({n: ONE, "": -ONE} for n in form if n)]:  # geometric noise is ≥ 1
        names = {n for n in fact if n}
        if names == {n for n in form if n}:
            ratios = {fact[n] / form[n] for n in names}
            if len(ratios) == 1:
                ratio = ratios.pop()
                end = form.get("", F(0)) - fact.get("", F(0)) / ratio
                (lows if ratio > 0 else highs).append(end)
    need(lows and highs, "infinitely many outputs")
    return range(math.ceil(max(lows)), math.floor(min(highs)) + 1)


lru_cache(maxsize=1 << 14)(exp_bounds)
