"""Probabilities of polyhedra of noise, summed or integrated one noise at a time.

Each noise runs between two of its bounds, over every choice of which two are the tightest. It is
slower than the search, written anew, and needs no assumption on the comparisons.
"""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any, TypeAlias

from dpverify.certifying.checking.forms import ONE, Form, Json, need
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient

Term: TypeAlias = tuple[dict[Any, Quotient], dict[str, Any]]  # monomials, and bases of powers


def mass(rows: list[Form], laws: Json, unit: ClaimUnit) -> Quotient:
    """The probability that independent noises make all rows ≥ 0."""
    key = frozenset(tuple(sorted(row.items())) for row in rows)
    if key not in unit.masses:
        unit.masses[key] = new_mass(list(map(dict, key)), dict(laws), unit)
    return unit.masses[key]


def new_mass(rows: list[Form], laws: Json, unit: ClaimUnit) -> Quotient:
    rows, result = differences(rows, laws), Quotient({Fraction(0): ONE})
    while rows:
        group = {n for n in rows[0] if n}
        while more := {n for row in rows if set(row) & group for n in row if n} - group:
            group |= more
        mine = [row for row in rows if row is rows[0] or set(row) & group]
        rows, total = [row for row in rows if row not in mine], Quotient({})
        for choice in product(*(density(name, laws[name], unit) for name in sorted(group))):
            factor = Quotient({Fraction(0): ONE})
            for _, c, _ in choice:
                factor = factor * c
            bases = {name: base for name, (_, _, base) in zip(sorted(group), choice, strict=True)}
            kept = [*mine, *(row for row, _, _ in choice)]
            total = total + eliminated(kept, [({(): factor}, bases)], unit)
        result = result * total
    return result


def differences(rows: list[Form], laws: Json) -> list[Form]:
    """Two geometric noises of one law that occur as a difference alone become one noise."""
    for a, b in combinations(sorted({n for row in rows for n in row if n}), 2):
        alone = all(row.get(a, Fraction(0)) == -row.get(b, Fraction(0)) for row in rows)
        if alone and laws[a]["kind"] == "geometric" and laws[a] == laws[b]:
            laws[f"{a}-{b}"] = {"kind": "difference", "parameter": laws[a]["parameter"]}
            renamed = [
                {f"{a}-{b}" if n == a else n: c for n, c in row.items() if n != b} for row in rows
            ]
            return differences(renamed, laws)
    return rows


def density(name: str, law: Json, unit: ClaimUnit) -> list[tuple[Form, Quotient, Any]]:
    """Pieces of a density: where, the factor, the base (a rate λ for e^(λ·u·n))."""
    one = Quotient({Fraction(0): ONE})
    if law["kind"] == "geometric":  # P(k) = (1 − q)·q^(k−1) for k ≥ 1
        q = Quotient.read(law["parameter"])
        return [({name: ONE, "": -ONE}, (one - q) / q, q)]
    if law["kind"] == "difference":  # P(k) = (1 − q)/(1 + q)·q^|k|
        q = Quotient.read(law["parameter"])
        c = (one - q) / (one + q)
        return [({name: ONE}, c, q), ({name: -ONE, "": -ONE}, c, one / q)]
    rate = unit.rate(law)
    if law["kind"] == "exponential":
        return [({name: ONE}, Quotient({Fraction(0): rate}), -rate)]
    need(law["kind"] == "laplace", "such noise is not integrated")
    return [({name: s}, Quotient({Fraction(0): rate / 2}), -s * rate) for s in (ONE, -ONE)]


def eliminated(rows: list[Form], terms: list[Term], unit: ClaimUnit) -> Quotient:
    """The sum or integral of terms over all noises in them that make the rows ≥ 0."""
    tightest: dict[Any, Fraction] = {}
    for row in rows:
        key = tuple(sorted((n, c) for n, c in row.items() if n))
        tightest[key] = min(row.get("", Fraction(0)), tightest.get(key, row.get("", Fraction(0))))
    for key, c in tightest.items():
        if c + tightest.get(tuple((n, -x) for n, x in key), -c if key else Fraction(0)) < 0:
            return Quotient({})
    rows = [{**dict(key), "": c} for key, c in tightest.items() if key]
    terms = collected(terms)
    bases = terms[0][1] if terms else {}
    if not bases:
        return sum((poly.get((), Quotient({})) for poly, _ in terms), Quotient({}))
    name = min(bases, key=lambda n: (fan(rows, n), n))
    whole = isinstance(bases[name], Quotient)
    others = [row for row in rows if name not in row]
    low = [solved(row, name, whole) for row in rows if row.get(name, 0) > 0]
    high = [solved(row, name, whole) for row in rows if row.get(name, 0) < 0]
    total = Quotient({})
    for i, j in product(range(len(low)) if low else [None], range(len(high)) if high else [None]):
        kept = list(others)
        if i is not None:  # the largest lower bound, the first of these among equals
            kept += [gap(low[i], b, whole and k < i) for k, b in enumerate(low) if k != i]
        if j is not None:
            kept += [gap(b, high[j], whole and k < j) for k, b in enumerate(high) if k != j]
        if i is not None and j is not None:
            kept.append(gap(high[j], low[i], strictly=False))
        ends = (None if j is None else high[j], None if i is None else low[i])
        parts = [part for term in terms for part in integrated(term, name, ends, unit)]
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
            (
                n,
                b
                if isinstance(b, Fraction)
                else (tuple(sorted(b.num.items())), tuple(sorted(b.den))),
            )
            for n, b in sorted(bases.items())
        )
        merged = found.setdefault(key, ({}, bases))[0]
        for monomial, c in poly.items():
            merged[monomial] = merged.get(monomial, Quotient({})) + c
    return list(found.values())


def gap(a: Form, b: Form, strictly: bool) -> Form:  # noqa: FBT001
    """a ≥ b as a row; a ≥ b + 1 if strictly."""
    names = {*a, *b, ""}
    made = {
        n: a.get(n, Fraction(0)) - b.get(n, Fraction(0)) - (n == "" and strictly) for n in names
    }
    return {n: c for n, c in made.items() if c}


def solved(row: Form, name: str, whole: bool) -> Form:  # noqa: FBT001
    """The bound of a noise in a row: a form in the others."""
    bound = {n: -c / row[name] for n, c in row.items() if n != name}
    if whole:
        need(all(c.denominator == 1 for n, c in bound.items() if n), "multiples of whole noises")
        rounded = math.ceil if row[name] > 0 else math.floor
        bound[""] = Fraction(rounded(bound.get("", Fraction(0))))
    return bound


def integrated(
    term: Term, name: str, ends: tuple[Form | None, Form | None], unit: ClaimUnit
) -> Iterator[Term]:
    """The term from the second to the first end, as terms in the other noises."""
    poly, bases = term
    base: Json = bases[name]
    whole = isinstance(base, Quotient)
    one = Quotient({Fraction(0): ONE})
    grows = unit.sign(base - one) if whole else (base > 0) - (base < 0)
    for end, sign in zip(ends, (1, -1), strict=True):
        if end is None:
            need(grows == -sign, "a sum does not converge by itself")
            continue
        at = {**end, "": end.get("", Fraction(0)) - (whole and sign < 0)}
        rest: dict[str, Json] = {n: b for n, b in bases.items() if n != name}
        for n, c in at.items():
            if n:
                need(isinstance(rest[n], Quotient) == whole, "whole and real noise meet")
                rest[n] = rest[n] * base.power(int(c)) if whole else rest[n] + base * c
        scale: Quotient = base.power(int(at[""])) if whole else Quotient({base * at[""]: ONE})
        made: dict[Any, Quotient] = {}
        for monomial, weight in poly.items():
            powers = dict(monomial)
            j = powers.pop(name, 0)
            need(j == 0 or whole or unit.kind == "one", "a power of epsilon")
            for i, a in enumerate(primitive(j, base, whole and grows == 0)):
                for more, factor in raised(at, i).items():
                    key = tuple(sorted((Counter(powers) + Counter(dict(more))).items()))
                    part = (
                        weight
                        * a
                        * scale
                        * Quotient({Fraction(0): factor * sign} if factor else {})
                    )
                    made[key] = made.get(key, Quotient({})) + part
        yield {k: v for k, v in made.items() if v.num}, rest


def raised(at: Form, power: int) -> dict[Any, Fraction]:
    """The power of a form, as a polynomial."""
    total: dict[Any, Fraction] = {(): ONE}
    for _ in range(power):
        new: dict[Any, Fraction] = {}
        for mono, c in total.items():
            for n, d in at.items():
                key = tuple(sorted((Counter(dict(mono)) + Counter({n: 1} if n else {})).items()))
                new[key] = new.get(key, Fraction(0)) + c * d
        total = new
    return total


def primitive(j: int, base: Json, flat: bool) -> list[Quotient]:  # noqa: FBT001
    """A with (A·base^t)' = t^j·base^t, or A(t)·base^t − A(t−1)·base^(t−1) on whole numbers."""
    zero, one = Quotient({}), Quotient({Fraction(0): ONE})
    if isinstance(base, Fraction):
        if not base:
            return [zero] * (j + 1) + [Quotient({Fraction(0): Fraction(1, j + 1)})]
        falling = [
            math.perm(j, j - i) * (-1) ** (j - i) / base ** (j - i + 1) for i in range(j + 1)
        ]
        return [Quotient({Fraction(0): c}) for c in falling]
    inverse = one if flat else one / base
    a, top = [zero] * (j + 2), j + 1 if flat else j
    for i in range(top, -1, -1):
        if flat and i == 0:
            break
        k = i - 1 if flat else i  # the coefficient of t^k decides a[i]
        rest = zero
        for m in range(i + 1, top + 1):
            rest = rest + a[m] * Quotient(
                {Fraction(0): Fraction(math.comb(m, k) * (-1) ** (m - k))}
            )
        right = (one if k == j else zero) + inverse * rest
        a[i] = right * Quotient({Fraction(0): Fraction(1, i)}) if flat else right / (one - inverse)
    return a
