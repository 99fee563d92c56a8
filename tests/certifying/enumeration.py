"""The exact law of a mechanism with finite noise: every run, in rationals.

`Enumerator` stands in for numpy's generator. It takes each draw in turn to be each of its values,
and `law` adds up the masses of the runs by output. A float probability is the rational that it is.
Geometric noise has no end: it is cut at `cap`, where its last value takes the rest of the mass.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter
from tests.certifying.schemas import Answers, Category, Number, Records, Schema

Data: TypeAlias = Any
Law: TypeAlias = dict[Any, Fraction]


class Enumerator:
    """A generator whose draws follow a path of choices; `mass` is the probability of the path."""

    def __init__(self, path: list[int], cap: int) -> None:
        self.path, self.widths, self.mass, self.cap = path, [0] * 0, Fraction(1), cap

    def fork(self, law: Sequence[tuple[Any, Fraction]]) -> Any:  # noqa: ANN401
        """One of the values; those of mass 0 are left out."""
        possible = [one for one in law if one[1]]
        depth = len(self.widths)
        if depth == len(self.path):
            self.path.append(0)
        self.widths.append(len(possible))
        value, mass = possible[self.path[depth]]
        self.mass *= mass
        return value

    def integers(
        self, low: int, high: int | None = None, size: int | None = None, *, endpoint: bool = False
    ) -> Any:  # noqa: ANN401
        start, stop = (0, int(low)) if high is None else (int(low), int(high))
        stop += endpoint
        law = [(k, Fraction(1, stop - start)) for k in range(start, stop)]
        return _many(size, lambda: self.fork(law))

    def choice(self, a: Any, size: int | None = None, p: Any = None) -> Any:  # noqa: ANN401
        values = list(range(a)) if isinstance(a, (int, np.integer)) else list(a)
        masses = [Fraction(1)] * len(values) if p is None else [Fraction(float(x)) for x in p]
        law = [(v, m / sum(masses)) for v, m in zip(values, masses, strict=True)]
        return _many(size, lambda: self.fork(law))

    def binomial(self, n: int, p: float, size: int | None = None) -> Any:  # noqa: ANN401
        q = Fraction(float(p))
        law = [(k, math.comb(n, k) * q**k * (1 - q) ** (n - k)) for k in range(n + 1)]
        return _many(size, lambda: self.fork(law))

    def geometric(self, p: float, size: int | None = None) -> Any:  # noqa: ANN401
        law = _geometric(float(p), self.cap)
        return _many(size, lambda: self.fork(law))

    def permutation(self, x: Any) -> Any:  # noqa: ANN401
        left = list(range(x)) if isinstance(x, (int, np.integer)) else list(x)
        order = []
        while left:
            order.append(left.pop(self.integers(len(left))))
        return np.array(order)

    def random(self, size: int | None = None) -> Any:  # noqa: ANN401
        return _many(size, lambda: Uniform(self))


class Uniform:
    """A uniform number of which only comparisons are known: it lies between low and high."""

    def __init__(self, rng: Enumerator) -> None:
        self.rng, self.low, self.high = rng, Fraction(0), Fraction(1)

    def __lt__(self, bound: Any) -> bool:  # noqa: ANN401
        cut = min(max(Fraction(float(bound)), self.low), self.high)
        share = (cut - self.low) / (self.high - self.low)
        less = bool(self.rng.fork([(True, share), (False, 1 - share)]))
        self.low, self.high = (self.low, cut) if less else (cut, self.high)
        return less

    def __le__(self, bound: Any) -> bool:  # noqa: ANN401
        return bool(self < bound)

    def __gt__(self, bound: Any) -> bool:  # noqa: ANN401
        return not self < bound

    def __ge__(self, bound: Any) -> bool:  # noqa: ANN401
        return not self < bound


@cache
def _geometric(p: float, cap: int) -> list[tuple[int, Fraction]]:
    t = 1 - Fraction(p)
    law = [(k, t ** (k - 1) * (1 - t)) for k in range(1, cap)]
    return [*law, (cap, t ** (cap - 1))]


def law(mechanism: Callable[[Data, Any], Any], data: Data, cap: int = 24) -> Law:
    """P(output) for every output, by running every path of choices."""
    path: list[int] = []
    found: Law = {}
    while True:
        rng = Enumerator(path, cap)
        out = plain(mechanism(data, rng))
        found[out] = found.get(out, Fraction(0)) + rng.mass
        while path and path[-1] + 1 == rng.widths[len(path) - 1]:
            path.pop()
        if not path:
            return found
        path[-1] += 1


def plain(out: Any) -> Any:  # noqa: ANN401
    """An output as something that can be a key."""
    if isinstance(out, np.ndarray):
        out = out.tolist()
    if isinstance(out, (list, tuple)):
        return tuple(plain(x) for x in out)
    return out.item() if isinstance(out, np.generic) else out


def datasets(schema: Schema) -> list[Data]:
    """All datasets of a finite schema, as the schema itself would hand them over."""
    match schema:
        case Answers(integer=True, dimension=None):
            return list(range(int(schema.low), int(schema.high) + 1))
        case Answers(integer=True, dimension=int() as dimension):
            one = range(int(schema.low), int(schema.high) + 1)
            return [np.array(x) for x in product(one, repeat=dimension)]
        case Records(record=Number(integer=True) as number):
            values: Sequence[Any] = range(int(number.low), int(number.high) + 1)
        case Records(record=Category() as category):
            values = category.values
        case _:
            raise NotImplementedError(schema)
    if schema.length is None:
        return list(values)
    low, high = schema.length if isinstance(schema.length, tuple) else (schema.length,) * 2
    if high is None:
        raise NotImplementedError(schema)
    lists = [list(x) for n in range(low, high + 1) for x in product(values, repeat=n)]
    return lists if schema.layout == "rows" else [np.array(x, dtype=int) for x in lists]


def neighbors(schema: Schema) -> list[tuple[Data, Data]]:
    """All neighboring pairs of a finite schema, both ways round."""
    every = datasets(schema)
    return [(a, b) for a in every for b in every if _adjacent(schema, a, b)]


def _adjacent(schema: Schema, a: Data, b: Data) -> bool:
    try:
        schema.check_neighbors(a, b)
    except InvalidParameter:
        return False
    return True


def excess(left: Law, right: Law, factor: Fraction) -> Fraction:
    """δ(ε) = Σ (P − e^ε·Q)⁺ for e^ε = `factor`."""
    zero = Fraction(0)
    return sum((max(zero, p - factor * right.get(o, zero)) for o, p in left.items()), zero)


def largest_ratio(left: Law, right: Law) -> Fraction | float:
    """max P/Q over outputs; infinite where something is possible on the left alone."""
    if any(not right.get(out) for out, mass in left.items() if mass):
        return math.inf
    return max(mass / right[out] for out, mass in left.items())


def _many(size: int | None, draw: Callable[[], Any]) -> Any:  # noqa: ANN401
    return draw() if size is None else np.array([draw() for _ in range(size)])
