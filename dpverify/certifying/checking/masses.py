"""Check probabilities of polyhedra of noise, which the certificate cuts into boxes.

A box is a list of noises, each of which begins at a bound in the noises after it and runs to
infinity or to a fixed end. Then all noises are affine in coordinates t ≥ 0 that are independent,
and the probability is a product of sums of z^t or of integrals of e^(−λt). [proofs/path_masses.py]
"""

from fractions import Fraction

from dpverify.certifying.checking.alignments import LOWEST, lowest
from dpverify.certifying.checking.forms import (
    ONE,
    ZERO,
    Fact,
    Form,
    Invalid,
    Json,
    form,
    impossible,
    need,
    negated,
    plus,
    put,
    tight,
)
from dpverify.certifying.checking.numbers import ClaimUnit, Quotient


class BoxMasses:
    """Computes probabilities under the laws of some noises."""

    def __init__(self, laws: Json, unit: ClaimUnit) -> None:
        self.unit, self.kinds = unit, {name: law["kind"] for name, law in laws.items()}
        self.whole = {name for name, kind in self.kinds.items() if kind == "geometric"}
        self.ratios = {name: Quotient.read(laws[name]["parameter"]) for name in self.whole}
        for q in self.ratios.values():
            need(unit.sign(q) > 0 and unit.sign(Quotient.of(1) - q) > 0, "no geometric noise")
        self.rates = {name: unit.rate(laws[name]) for name in {*laws} - self.whole}
        need({*self.kinds.values()} <= {"laplace", *LOWEST}, "such noise is not integrated")
        self.laws = laws

    def probability(self, facts: list[Fact], how: Json) -> Quotient:
        """The probability that the noises satisfy all facts and lie in their supports."""
        for a, b in how.get("differences", ()):
            facts = self.difference(facts, a, b)
        names = sorted({n for fact, _ in facts for n in fact if n and self.kinds[n] in LOWEST})
        facts = [tight(fact, self.whole) for fact in facts]
        return self.mass([*facts, *(lowest(n, self.kinds[n]) for n in names)], how)

    def difference(self, facts: list[Fact], a: str, b: str) -> list[Fact]:
        """Two geometric noises of one law that occur only as a difference become one noise."""
        need(self.laws[a] == self.laws[b] and a != b and {a, b} <= self.whole, "no difference")
        need(all(f.get(a, ZERO) == -f.get(b, ZERO) for f, _ in facts), "no difference")
        name = f"{a}-{b}"
        self.kinds[name], self.ratios[name] = "difference", self.ratios[a]
        self.whole.add(name)
        return [(put(f, {a: {name: ONE}, b: {}}), strict) for f, strict in facts]

    def mass(self, facts: list[Fact], how: Json) -> Quotient:
        """The probability of the facts, with the cuts that the certificate gives."""
        if "impossible" in how:
            impossible(facts, how["impossible"])
            return Quotient({})
        if "split" in how:
            test = form(how["split"])
            yes, no = tight((test, False), self.whole), negated(test, self.whole)
            return self.mass([*facts, yes], how["yes"]) + self.mass([*facts, no], how["no"])
        if "drop" in how:  # P(A and B) = P(A) − P(A and not B)
            rest = [fact for i, fact in enumerate(facts) if i != how["drop"]]
            test, strict = facts[how["drop"]]
            but = [*rest, negated(test, self.whole, strict=strict)]
            return self.mass(rest, how["all"]) - self.mass(but, how["but"])
        total = Quotient.of(1)
        for group in how.get("apart", ()):  # noises that no fact connects with others
            mine = [fact for fact in facts if set(fact[0]) & set(group["noises"])]
            need(all(set(f) <= {"", *group["noises"]} for f, _ in mine), "noises are connected")
            facts = [fact for fact in facts if fact not in mine]
            total = total * self.mass(mine, group)
        return total * NoiseBox(self, facts, how.get("box", ())).mass()


class NoiseBox:
    """A box of noise in coordinates t ≥ 0, each named after its noise; some have an upper end."""

    def __init__(self, masses: BoxMasses, facts: list[Fact], order: Json) -> None:
        self.of, self.values, self.ends = masses, dict[str, Form](), dict[str, Fraction]()
        need(len({name for name, _, _ in order}) == len(order), "a noise is there twice")
        for name, low, _ in reversed(order):  # c·name + rest ≥ 0
            rest = dict(facts[low][0])
            c = rest.pop(name)
            need({*rest} <= {*self.values, ""} - {name}, "a bound is not known")
            start = put(plus({}, rest, -1 / c), self.values)
            if name in masses.whole:
                fine = {*start} <= masses.whole | {""}
                need(fine and all(x.denominator == 1 for x in start.values()), "no whole bound")
            self.values[name] = plus(start, {name: ONE if c > 0 else -ONE})
        for name, _, high in order:
            if high is not None:
                end = put(facts[high][0], self.values)
                need({*end} <= {name, ""} and end[name] < 0, "an end is not fixed")
                self.ends[name] = -end.get("", ZERO) / end[name]
                need(self.ends[name] >= 0, "a box without an inside")
        for fact, strict in facts:
            need({*fact} <= {*self.values, ""}, "a noise is missing")
            inside = put(fact, self.values)
            least = self.least(inside)
            surely = not strict or {*inside} - masses.whole - {""}  # else 0 has the probability 0
            need(least is not None and (least > 0 or (least == 0 and surely)), "not in the facts")

    def least(self, a: Form) -> Fraction | None:
        """The least value of a form in the box; None if it has none."""
        if any(c < 0 and n and n not in self.ends for n, c in a.items()):
            return None
        falls = (c * self.ends[n] for n, c in a.items() if n and c < 0)
        return sum(falls, a.get("", ZERO))

    def mass(self) -> Quotient:
        """The product over noises of c·q^|n| or c·e^(−λ|n|), summed or integrated over each t."""
        one, unit = Quotient.of(1), self.of.unit
        total, exponent, ratios = one, Form(), dict.fromkeys(["", *self.values], one)
        for name, value in self.values.items():
            kind, sign = self.of.kinds[name], self.sign(name)
            if name in self.of.rates:
                rate = self.of.rates[name]
                total = total * Quotient.of(rate if kind == "exponential" else rate / 2)
                exponent = plus(exponent, value, -sign * rate)
                continue
            q = self.of.ratios[name]
            total = total * ((one - q) / (q if kind == "geometric" else one + q))
            for n, c in value.items():
                ratios[n] = ratios[n] * q.power(sign * c)
        for name, ratio in ratios.items():
            rate, end = exponent.get(name, ZERO), self.ends.get(name)
            if name and name not in self.of.whole:
                total = total * integrated(rate, end, unit)
            else:
                base = ratio * Quotient.of(1, rate)
                total = total * (summed(base, end, unit) if name else base)
        return total

    def sign(self, name: str) -> Fraction:
        """The sign of a noise, which must be the same in all of the box."""
        kind, value = self.of.kinds[name], self.values[name]
        for sign in (ONE, -ONE):
            least = self.least(plus({}, value, sign))
            if least is not None and least >= LOWEST.get(kind, ZERO):
                need(sign > 0 or kind not in LOWEST, "noise outside of its support")
                return sign
        raise Invalid("a noise changes its sign")


def summed(z: Quotient, end: Fraction | None, unit: ClaimUnit) -> Quotient:
    """Σ z^t for t = 0, 1, … up to an end."""
    one = Quotient.of(1)
    left = unit.sign(one - z)
    if end is None:
        need(left > 0, "a sum without an end")
        return one / (one - z)
    return (one - z.power(end + 1)) / (one - z) if left else Quotient.of(end + 1)


def integrated(rate: Fraction, end: Fraction | None, unit: ClaimUnit) -> Quotient:
    """The integral of e^(rate·u·t), times u, from 0 to an end."""
    if end is None:
        need(rate < 0, "an integral without an end")
        return Quotient.of(-1 / rate)
    if not rate:
        need(unit.kind == "one", "a power of epsilon")
        return Quotient.of(end)
    return (Quotient.of(1, rate * end) - Quotient.of(1)) * Quotient.of(1 / rate)
