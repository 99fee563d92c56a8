"""Cut a polyhedron of noise into boxes, for the checker (see `checking.masses`).

Noises are put into coordinates one by one, those that few others bound first. Where it is open
which of two bounds is the tighter one, or which sign a noise has, a split decides. Of two ends one
is dropped, as P(A and B) = P(A) − P(A and not B), unless their distance is fixed.
"""

import json
import math
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from dpverify.certifying.checking.alignments import LOWEST, lowest
from dpverify.certifying.checking.forms import Fact, Form, negated, plus, tight
from dpverify.certifying.checking.masses import BoxMasses
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient
from dpverify.certifying.symbolic.reasons import NotUnderstood, OverTime

How: TypeAlias = dict[str, Any]
_ONE, _ZERO = Fraction(1), Fraction(0)
_MOST_ROWS, _MOST_STEPS, _MOST_DEPTH = 200, 3000, 60
_MOST_ROOTS, _FLAT = 4, 1e-12


class _Open(Exception):
    """Raised with a form whose sign must be decided by a split before going on."""

    def __init__(self, test: Form) -> None:
        super().__init__()
        self.test = test


class _Drop(Exception):
    """Raised with a fact that must be removed before going on."""

    def __init__(self, fact: Fact) -> None:
        super().__init__()
        self.fact = fact


class BoxRecipes:
    """Recipes for probabilities under given laws, each computed once."""

    def __init__(self, laws: dict[str, Any], unit: ClaimUnit) -> None:
        self._masses, self._laws = BoxMasses(laws, unit), laws
        self._rates = {n: -float(r) for n, r in self._masses.rates.items()}
        self._rates |= {n: _log(q, unit) for n, q in self._masses.ratios.items()}
        self._known: dict[str, How] = {}
        self._steps, self._last = 0, ""

    def recipe(self, facts: list[Fact]) -> How:
        """A recipe by which the checker can compute the probability of the facts."""
        key = json.dumps([[sorted((n, str(c)) for n, c in f.items()), s] for f, s in facts])
        if key not in self._known:
            self._known[key] = self._new(facts)
        return self._known[key]

    def _new(self, facts: list[Fact]) -> How:
        names = sorted({n for f, _ in facts for n in f if n in self._masses.whole})
        merged: list[list[str]] = []
        for a, b in combinations(names, 2):
            used = {n for pair in merged for n in pair}
            apart = all(f.get(a, _ZERO) == -f.get(b, _ZERO) for f, _ in facts)
            if apart and self._laws[a] == self._laws[b] and not {a, b} & used:
                facts = self._masses.difference(facts, a, b)
                merged.append([a, b])
                self._rates[f"{a}-{b}"] = self._rates[a]
        kinds = self._masses.kinds
        names = sorted({n for f, _ in facts for n in f if n and kinds[n] in LOWEST})
        facts = [*facts, *(lowest(n, kinds[n]) for n in names)]
        how = self._needed([self._tight(fact) for fact in facts])
        return how | ({"differences": merged} if merged else {})

    def _needed(self, facts: list[Fact]) -> How:
        """Remove facts that follow from others, then cut, trying noises as the last coordinate."""
        never = contradiction(facts)
        if never is not None:
            return {"impossible": never}
        for i, (form, strict) in enumerate(facts):
            rest = facts[:i] + facts[i + 1 :]
            follows = contradiction([*rest, negated(form, self._masses.whole, strict=strict)])
            if follows is not None and set(form) - {""}:
                return {"drop": i, "all": self._needed(rest), "but": {"impossible": follows}}
        names = [n for f, _ in facts for n in f if n]
        lasts = sorted({*names}, key=lambda n: (-names.count(n), n))[:_MOST_ROOTS]
        for self._last in lasts[:-1]:
            self._steps = 0
            try:
                return self._cut(facts)
            except OverTime:
                raise
            except NotUnderstood:
                continue  # another order of the noises
        self._steps, self._last = 0, lasts[-1] if lasts else ""
        return self._cut(facts)

    def _cut(self, facts: list[Fact], depth: int = 0) -> How:
        self._steps += 1
        if self._steps > _MOST_STEPS or depth > _MOST_DEPTH:
            raise NotUnderstood("the probability of a path needs too many boxes")
        facts = [self._tight(fact) for fact in facts]
        never = contradiction(facts)
        if never is not None:
            return {"impossible": never}
        groups = _components(facts)
        if len(groups) > 1:
            inner = [(sorted(g), [f for f in facts if set(f[0]) & g]) for g in groups]
            return {
                "apart": [{"noises": names} | self._cut(mine, depth + 1) for names, mine in inner]
            }
        try:
            return {"box": self._box(facts)}
        except _Open as found:
            yes, no = (found.test, False), negated(found.test, self._masses.whole)
            plain = {n: str(c) for n, c in found.test.items()}
            sides = {k: self._cut([*facts, f], depth + 1) for k, f in (("yes", yes), ("no", no))}
            return {"split": plain, **sides}
        except _Drop as found:
            index = facts.index(found.fact)
            rest = facts[:index] + facts[index + 1 :]
            no = negated(found.fact[0], self._masses.whole, strict=found.fact[1])
            but = self._cut([*rest, no], depth + 1)
            return {"drop": index, "all": self._cut(rest, depth + 1), "but": but}

    def _tight(self, fact: Fact) -> Fact:
        return tight(fact, self._masses.whole)

    def _implied(self, facts: list[Fact], a: Form) -> bool:
        """Whether a form is ≥ 0 wherever the facts hold."""
        wanted, _ = self._tight((a, False))
        rest, low = _halves(wanted)
        if not rest:
            return low >= 0
        if any(found == rest and c <= low for found, c in (_halves(f) for f, _ in facts)):
            return True
        return contradiction([*facts, negated(wanted, self._masses.whole)]) is not None

    def _decided(self, facts: list[Fact], a: Form) -> bool:
        """Whether a form is ≥ 0 or ≤ 0 under the facts; raise `_Open` if neither is known."""
        if self._implied(facts, a):
            return True
        if self._implied(facts, plus({}, a, -_ONE)):
            return False
        raise _Open(a)

    def _box(self, facts: list[Fact]) -> list[Any]:
        """The noises in order, each with the indices of the facts that bound it."""
        live, todo = list(facts), {n for f, _ in facts for n in f if n}
        rates, order = dict.fromkeys(todo, 0.0), list[Any]()
        while todo:
            name = _leaf(live, todo - {self._last} or todo)
            known = [f for f in live if name not in f[0]]
            low, high = (self._tightest(known, live, name, side) for side in (1, -1))
            rate = rates[name] + self._rates[name] * self._sign(facts, live, name, low, high)
            begin, end = (low, high) if low is not None else (high, low)
            if begin is None:
                raise NotUnderstood("no comparison bounds a noise")
            if low is not None and high is not None:
                gap = plus(_end(high, name), _end(low, name), -_ONE)
                if set(gap) - {""}:
                    if not self._implied(known, gap):
                        raise _Open(gap)
                    _drop(live, name, rate, low, high)
            elif rate * (1 if low is not None else -1) > -_FLAT:
                raise NotUnderstood("a sum over one noise alone does not converge")
            order.append([name, facts.index(begin), None if end is None else facts.index(end)])
            for n, c in _end(begin, name).items():
                if n:
                    rates[n] += rate * float(c)
            todo -= {name}
            live = known
        return order

    def _tightest(self, known: list[Fact], live: list[Fact], name: str, side: int) -> Fact | None:
        """The tightest bound of a noise on one side."""
        best: Fact | None = None
        for fact in live:
            if fact[0].get(name, _ZERO) * side > 0:
                if best is not None:
                    gap = plus(_end(best, name), _end(fact, name), -_ONE)
                    if self._decided(known, plus({}, gap, Fraction(side))):
                        continue
                best = fact
        return best

    def _sign(
        self, facts: list[Fact], live: list[Fact], name: str, low: Fact | None, high: Fact | None
    ) -> int:
        """The sign of a noise under the facts; two-sided noise with one bound is cut at 0."""
        if self._masses.kinds[name] in LOWEST:
            return 1
        for sign in (1, -1):
            if self._implied(facts, {name: Fraction(sign)}):
                return sign
        bounded = any(name in f[0] and f not in live for f in facts)  # by it, others are
        if bounded or (low is not None and high is not None):
            raise _Open({name: _ONE})
        fact, sign = (low, 1) if low is not None else (high, -1)
        if fact is None:
            raise NotUnderstood("no comparison bounds a noise")
        known = [f for f in live if name not in f[0]]
        if not self._decided(known, plus({}, _end(fact, name), Fraction(sign))):
            raise _Drop(fact)  # beyond 0: take the probability of the rest
        return sign


def _leaf(live: list[Fact], todo: set[str]) -> str:
    """The noise that the fewest others bound; among these, the one with the fewest bounds."""

    def bounds(name: str) -> tuple[int, int]:
        own = [set(f) - {""} for f, _ in live if name in f]
        return len(set().union(*own)), len(own)

    return min(sorted(todo), key=bounds)


def _drop(live: list[Fact], name: str, rate: float, low: Fact, high: Fact) -> None:
    """Ask to remove one bound, preferably a fact that follows from the others."""
    if abs(rate) < _FLAT:
        raise NotUnderstood("a noise has a constant density between two others")
    side, end = (-1, high) if rate < 0 else (1, low)
    others = [f for f in live if f[0].get(name, _ZERO) * side > 0 and f != end]
    raise _Drop(others[0] if others else end)


def _end(fact: Fact, name: str) -> Form:
    """The bound of a noise that a fact gives: a form in the other symbols."""
    rest = {n: c for n, c in fact[0].items() if n != name}
    return plus({}, rest, -1 / fact[0][name])


def _halves(a: Form) -> tuple[Form, Fraction]:
    """The symbolic part of a form, and its constant."""
    return {n: c for n, c in a.items() if n}, a.get("", _ZERO)


def _log(q: Quotient, unit: ClaimUnit) -> float:
    """ln q; at ε = 1 in a claim for every ε."""
    u = math.log(unit.ratio) if unit.kind == "log" else 1.0

    def value(poly: Any) -> float:  # noqa: ANN401
        return math.fsum(float(c) * math.exp(float(r) * u) for r, c in poly)

    return math.log(value(q.num.items()) / math.prod(map(value, q.den)))


def _components(facts: list[Fact]) -> list[set[str]]:
    """Groups of noises that facts connect."""
    groups: list[set[str]] = []
    for fact, _ in facts:
        names = {n for n in fact if n}
        if names:
            near = [g for g in groups if g & names]
            groups = [*(g for g in groups if g not in near), names.union(*near)]
    return groups


Row: TypeAlias = tuple[Form, bool, dict[int, Fraction]]


def contradiction(facts: list[Fact]) -> dict[str, str] | None:
    """Multipliers that show a contradiction of facts; None if none are found. [Motzkin]"""
    rows: list[Row] = [(f, strict, {i: _ONE}) for i, (f, strict) in enumerate(facts)]
    while True:
        for row, strict, factors in rows:
            left = row.get("", _ZERO)
            if not set(row) - {""} and (left < 0 or (strict and left == 0)):
                return {str(i): str(c) for i, c in factors.items()}
        rows = _sharpest(rows)
        names = {n for row, _, _ in rows for n in row if n}
        if not names or len(rows) > _MOST_ROWS:
            return None
        signs = {n: [row[n] > 0 for row, _, _ in rows if n in row] for n in names}
        name = min(sorted(names), key=lambda n: sum(signs[n]) * (len(signs[n]) - sum(signs[n])))
        lows = [r for r in rows if r[0].get(name, _ZERO) > 0]
        highs = [r for r in rows if r[0].get(name, _ZERO) < 0]
        rows = [r for r in rows if name not in r[0]]
        rows += [_without(name, low, high) for low in lows for high in highs]


def _without(name: str, low: Row, high: Row) -> Row:
    """The sum of two facts in which one symbol cancels."""
    a, b = 1 / low[0][name], -1 / high[0][name]
    indices = {*low[2], *high[2]}
    factors = {i: a * low[2].get(i, _ZERO) + b * high[2].get(i, _ZERO) for i in indices}
    return plus(plus({}, low[0], a), high[0], b), low[1] or high[1], factors


def _sharpest(rows: list[Row]) -> list[Row]:
    """The sharpest of all parallel facts."""
    best: dict[Any, tuple[tuple[Fraction, bool], Row]] = {}
    for row in rows:
        rest, constant = _halves(row[0])
        if rest:
            scale = 1 / abs(rest[min(rest)])
            key = tuple(sorted((n, c * scale) for n, c in rest.items()))
            value = constant * scale, not row[1]
            if key not in best or value < best[key][0]:
                best[key] = value, row
    return [row for _, row in best.values()]
