"""Goals with exponentials, logarithms and powers, without sympy: both sides brought to one normal form.

A number is a fraction of sums; each term has a rational coefficient and rational powers of names. A name is a variable, or it stands
for a function at a normal form: e^(c·m) is the c-th power of the name of e^m, for every product m of names; logarithms of products are
sums, x^a is e^(a·ln x), a root of a sum is a name whose whole powers are that sum, erf is odd, Γ(x + 1) = x·Γ(x), cos² = 1 − sin².
Two sides that have one form are equal wherever both are defined; a sum of terms that are all positive is positive.

Like `recheck`, this file uses nothing but the standard library, and shares no code with what it checks.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from typing import Any

from proofs.support.recheck import Undecided

Monomial = tuple[tuple[str, Fraction], ...]
Sum = dict[Monomial, Fraction]
Number = tuple[Sum, Sum]  # a quotient

ONE: Sum = {(): Fraction(1)}
LIMIT = 5_000
POSITIVE = ("exp:", "root:")


class Forms:
    """Normal forms of one goal: which variables are positive, and which sums the roots are of."""

    def __init__(self, signs: dict[str, str]) -> None:
        self.signs = {**signs, "constant:pi": ">"}  # no variable, whatever that is called
        self.sums: dict[str, Sum] = {}
        self.exponents: dict[str, Monomial] = {}

    def of(self, tree: Any) -> Number:  # noqa: ANN401  # JSON
        if isinstance(tree, str):
            return {((tree, Fraction(1)),): Fraction(1)}, ONE
        kind, *parts = tree
        if kind == "number":
            return constant(Fraction(parts[0]))
        if tree == ["constant", "pi"]:
            return self.of("constant:pi")
        numbers = [self.of(part) for part in parts if not isinstance(part, int)]
        if kind == "+":
            return reduce(self.add, numbers)
        if kind == "*":
            return reduce(self.times, numbers)
        if kind == "^":
            return self.whole_power(numbers[0], int(parts[1]))
        if kind == "power":
            return self.power(*numbers)
        return self.function(kind, numbers[0])

    def function(self, kind: str, at: Number) -> Number:
        if kind == "exp":
            return self.exp(at)
        if kind == "log":
            return self.log(at)
        if kind in {"sinh", "cosh", "tanh"}:
            up, down = self.exp(at), self.exp(scaled(at, -1))
            sinh, cosh = self.add(up, scaled(down, -1)), self.add(up, down)
            return (
                self.times(sinh, inverse(cosh))
                if kind == "tanh"
                else scaled(sinh if kind == "sinh" else cosh, Fraction(1, 2))
            )
        top = self.flat(at)
        if kind == "gamma":
            return self.gamma(top)
        if kind not in {"erf", "sin", "cos"}:
            raise Undecided(f"the function {kind}")
        turned = bool(top) and top[min(top)] < 0
        found = named(kind, {m: -c if turned else c for m, c in top.items()})
        return scaled(found, -1) if turned and kind != "cos" else found

    def add(self, one: Number, other: Number) -> Number:
        if one[1] == other[1]:
            return plus(one[0], other[0]), one[1]
        crossed = plus(self.product(one[0], other[1]), self.product(other[0], one[1]))
        return crossed, self.product(one[1], other[1])

    def times(self, one: Number, other: Number) -> Number:
        return self.product(one[0], other[0]), self.product(one[1], other[1])

    def product(self, one: Sum, other: Sum) -> Sum:
        if len(one) * len(other) > LIMIT:
            raise Undecided("too many terms")
        total: Sum = {}
        for (first, a), (second, b) in ((x, y) for x in one.items() for y in other.items()):
            total = plus(total, self.term((*first, *second), a * b))
        return total

    def term(self, factors: Iterable[tuple[str, Fraction]], coefficient: Fraction) -> Sum:
        """A product of powers; whole powers of roots and squares of cosines are multiplied out."""
        powers: dict[str, Fraction] = {}
        for name, power in factors:
            powers[name] = powers.get(name, Fraction(0)) + power
        out: list[Sum] = []
        for name, power in list(powers.items()):
            if name in self.sums and power >= 1:
                out += [self.sums[name]] * floor(power)
                powers[name] = power - floor(power)
            elif name.startswith("cos:") and power >= 2:
                square = ((f"sin:{name.removeprefix('cos:')}", Fraction(2)),)
                out.append(plus(ONE, {square: Fraction(-1)}))
                powers[name] = power - 2
        kept = tuple(sorted((name, power) for name, power in powers.items() if power))
        return reduce(self.product, out, {kept: coefficient})

    def flat(self, number: Number) -> Sum:
        """A quotient whose denominator is one term, as a sum."""
        top, bottom = number
        if len(bottom) != 1:
            raise Undecided("a quotient inside of a function")
        [(monomial, c)] = bottom.items()
        return self.product(top, {tuple((n, -p) for n, p in monomial): 1 / c})

    def exp(self, at: Number) -> Number:
        """A product of e^(c·m) over the terms; e^(c·ln x) is x^c."""
        found: Number = (ONE, ONE)
        for monomial, c in self.flat(at).items():
            [name, power] = monomial[0] if len(monomial) == 1 else ("", Fraction(0))
            if name.startswith("log:") and power == 1:
                found = self.times(found, self.rational_power(self.inside(name), c))
            else:
                self.exponents[f"exp:{monomial}"] = monomial
                found = self.times(found, ({((f"exp:{monomial}", c),): Fraction(1)}, ONE))
        return found

    def inside(self, name: str) -> Sum:
        """What a logarithm is of."""
        plain = name.removeprefix("log:")
        return self.sums.get(f"root:{plain}", {((plain, Fraction(1)),): Fraction(1)})

    def log(self, at: Number) -> Number:
        top, bottom = (self.log_of(part) for part in at)
        return plus(top, {m: -c for m, c in bottom.items()}), ONE

    def log_of(self, part: Sum) -> Sum:
        refuse_zero(part)
        if len(part) > 1:
            common = self.common(part)
            if common:
                rest = self.product(part, {tuple((n, -p) for n, p in common): Fraction(1)})
                return plus(self.log_of({common: Fraction(1)}), self.log_of(rest))
            return {((f"log:{self.root(part)}", Fraction(1)),): Fraction(1)}
        [(monomial, c)] = part.items()
        total: Sum = {}
        for prime, times in factored(c):
            total = plus(
                total, {((f"log:{self.root({(): prime})}", Fraction(1)),): Fraction(times)}
            )
        for name, power in monomial:
            if name.startswith("exp:"):
                total = plus(total, {self.exponents[name]: power})
            elif self.signs.get(name) == ">":
                total = plus(total, {((f"log:{name}", Fraction(1)),): power})
            elif name.startswith("root:"):
                total = plus(total, {((f"log:{name[5:]}", Fraction(1)),): power})
            else:
                raise Undecided("the logarithm of what may be negative")
        return total

    def common(self, part: Sum) -> Monomial:
        """The positive variables that are factors of every term."""
        every = [dict(monomial) for monomial in part]
        names = set.intersection(*map(set, every))
        least = {name: min(powers[name] for powers in every) for name in names}
        return tuple(sorted((n, p) for n, p in least.items() if self.signs.get(n) == ">" and p > 0))

    def root(self, part: Sum) -> str:
        """The name of a sum whose roots are taken."""
        name = f"({sorted(part.items())})"
        self.sums[f"root:{name}"] = part
        return name

    def power(self, base: Number, exponent: Number) -> Number:
        top, bottom = exponent
        if top.keys() <= {()} and bottom.keys() == {()}:
            share = top.get((), Fraction(0)) / bottom[()]
            return self.times(
                self.rational_power(base[0], share), self.rational_power(base[1], -share)
            )
        return self.exp(self.times(exponent, self.log(base)))

    def rational_power(self, base: Sum, share: Fraction) -> Number:
        """base^share: of one term each factor's, of a sum a whole power and a root."""
        refuse_zero(base)
        whole = floor(share)
        if share == whole:
            return self.whole_power((base, ONE), whole)
        if len(base) > 1:
            root: Sum = {((f"root:{self.root(base)}", share - whole),): Fraction(1)}
            return self.times(self.whole_power((base, ONE), whole), (root, ONE))
        [(monomial, c)] = base.items()
        found: Number = (ONE, ONE)
        for prime, times in factored(c):
            each = share * times
            name = f"root:{self.root({(): prime})}"
            part: Sum = {((name, each - floor(each)),): prime ** floor(each)}
            found = self.times(found, (part, ONE))
        for name, power in monomial:
            if self.signs.get(name) != ">" and not name.startswith(POSITIVE):
                raise Undecided("a root of what may be negative")
            if name.startswith("root:"):
                raise Undecided("a root of a root")
            found = self.times(found, ({((name, power * share),): Fraction(1)}, ONE))
        return found

    def whole_power(self, base: Number, exponent: int) -> Number:
        given = base if exponent >= 0 else inverse(base)
        return reduce(self.times, [given] * abs(exponent), (ONE, ONE))

    def gamma(self, at: Sum) -> Number:
        """Γ(x + n) = (x + n − 1)·…·x·Γ(x)."""
        shift = ceil(at.get((), Fraction(0))) - 1  # x may be 1, and not 0
        least = plus(at, {(): Fraction(-shift)})
        found = named("gamma", least)
        for step in range(min(shift, 0), max(shift, 0)):
            factor: Number = (plus(least, {(): Fraction(step)}), ONE)
            found = self.times(found, factor if shift > 0 else inverse(factor))
        return found

    def is_plain(self, part: Sum, *, strict: bool) -> bool:
        """Whether every term is ≥ 0, and, if strict, one is > 0."""

        def known(name: str, power: Fraction) -> bool:
            sign = ">" if name.startswith(POSITIVE) else self.signs.get(name, "")
            return sign == ">" or (power > 0 and bool(sign)) or (power > 0 and power % 2 == 0)

        def positive(name: str) -> bool:
            nonzero = name in self.sums and self.is_plain(self.sums[name], strict=True)  # a root
            return nonzero or name.startswith("exp:") or self.signs.get(name) == ">"

        terms = all(c > 0 and all(known(n, p) for n, p in m) for m, c in part.items())
        return terms and (not strict or any(all(positive(n) for n, _ in m) for m in part))


def plus(one: Sum, other: Sum) -> Sum:
    total = dict(one)
    for monomial, c in other.items():
        total[monomial] = total.get(monomial, Fraction(0)) + c
    return {monomial: c for monomial, c in total.items() if c}


def scaled(number: Number, factor: int | Fraction) -> Number:
    return {monomial: factor * c for monomial, c in number[0].items()}, number[1]


def inverse(number: Number) -> Number:
    if not number[0]:
        raise Undecided("a quotient by 0")
    return number[1], number[0]


def refuse_zero(part: Sum) -> None:
    if not part:
        raise Undecided("a power or logarithm of 0")


def constant(value: Fraction) -> Number:
    return ({(): value} if value else {}), ONE


def named(kind: str, at: Sum) -> Number:
    return {((f"{kind}:{sorted(at.items())}", Fraction(1)),): Fraction(1)}, ONE


def factored(value: Fraction) -> list[tuple[Fraction, int]]:
    """Primes and their powers; of positive numbers that are small."""
    if value <= 0 or max(value.numerator, value.denominator) > 10**6:
        raise Undecided("a root or logarithm of a number that is negative or large")
    found = []
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        rest, prime = part, 2
        while rest > 1:
            count = 0
            while rest % prime == 0:
                rest, count = rest // prime, count + 1
            if count:
                found.append((Fraction(prime), sign * count))
            prime += 1
    return found


def holds(goal: dict[str, Any]) -> bool:
    """Whether the goal is shown; raises Undecided where normal forms do not tell: they never deny one."""
    forms = Forms(goal["signs"])
    right = scaled(forms.of(goal["functions"]["right"]), -1)
    top, bottom = forms.add(forms.of(goal["functions"]["left"]), right)
    if goal["relation"] == "=":
        if top:
            raise Undecided("functions that have two forms")
        return True
    strict = goal["relation"] == ">"
    if forms.is_plain(top, strict=strict) and forms.is_plain(bottom, strict=True):
        return True
    raise Undecided("a sign that single terms do not show")
