"""Small random programs with whole noise, and their truth by enumeration in rationals.

A program is Python source and the function that it defines. Every place where it draws is an
`Atom`, of which both are known: the source, as a call of numpy's generator, and the exact law of
its value. Enumeration runs the same statements with each atom replaced by each of its values, so it
shares nothing with tools that look at the draws. e^ε is a rational, as all masses are.
"""

import linecache
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.neighbors import Relation
from tests.certifying.enumeration import (
    Data,
    Enumerator,
    Law,
    datasets,
    excess,
    largest_ratio,
    law,
    neighbors,
)
from tests.certifying.schemas import Answers, Number, Records, Schema

Box: TypeAlias = Schema

_FACTORS = tuple(Fraction(half, 2) for half in (2, 3, 4, 6, 8, 16, 32, 128))
_MOST_RUNS = 30_000  # of one program, on all datasets of its box


@dataclass(frozen=True, slots=True)
class Atom:
    """A draw: how it is written, and the law of its value."""

    source: str
    law: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True)
class RandomProgram:
    """Source text, the function `mechanism(data, rng)` that it defines, and its exact laws."""

    seed: int
    source: str
    mechanism: Callable[[Data, Any], Any]
    atoms: tuple[Atom, ...]
    run: Callable[[Data, Callable[[int], int]], Any]  # the same with the atoms' values given

    def law(self, data: Data) -> Law:
        """P(output), by enumeration."""

        def drawn(given: Data, rng: Enumerator) -> Any:  # noqa: ANN401
            return self.run(given, lambda k: int(rng.fork(self.atoms[k].law)))

        return law(drawn, data)


@dataclass(frozen=True, slots=True)
class RationalClaim:
    """(ε, δ)-DP with e^ε = `factor`."""

    factor: Fraction
    delta: Fraction = Fraction(0)

    @property
    def guarantee(self) -> Guarantee:
        """The claim in floats, rounded up."""
        epsilon = math.nextafter(math.log(self.factor), math.inf) if self.factor > 1 else 0.0
        if not self.delta:
            return PureDP(epsilon=epsilon)
        return ApproxDP(epsilon=epsilon, delta=math.nextafter(float(self.delta), 1.0))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the claim is true, and the neighbors with the largest P(E) − e^ε·Q(E)."""

    true: bool
    left: Data
    right: Data
    excess: Fraction
    ratio: Fraction | float


@dataclass(frozen=True, slots=True)
class Case:
    """A program, the box of its data, a claim, and the truth."""

    program: RandomProgram
    schema: Box
    claim: RationalClaim
    decision: Decision


def decide_by_enumeration(program: RandomProgram, schema: Box, claim: RationalClaim) -> Decision:
    """Compare the exact laws on all neighbors in the box."""
    laws = {repr(d): program.law(d) for d in datasets(schema)}
    return _decide(laws, neighbors(schema), claim)


def _decide(laws: dict[str, Law], pairs: list[tuple[Data, Data]], claim: RationalClaim) -> Decision:
    worst = max(
        pairs, key=lambda pair: excess(laws[repr(pair[0])], laws[repr(pair[1])], claim.factor)
    )
    left, right = (laws[repr(d)] for d in worst)
    over = excess(left, right, claim.factor)
    ratio = max(largest_ratio(laws[repr(a)], laws[repr(b)]) for a, b in pairs)
    return Decision(over <= claim.delta, *worst, over, ratio)


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """So many programs with claims, about half of them true, many of them just so."""
    made = 0
    while made < count:
        case = _case(seed)
        seed += 1
        if case is not None:
            made += 1
            yield case


def _case(seed: int) -> Case | None:
    rnd = random.Random(seed)  # noqa: S311  # programs, not secrets
    schema = _box(rnd)
    program = _program(rnd, seed, schema)
    every = datasets(schema)
    if _most_runs(program, len(every[0])) * len(every) > _MOST_RUNS:
        return None
    laws = {repr(d): program.law(d) for d in every}
    pairs = neighbors(schema)
    claim = _claim(rnd, laws, pairs)
    decision = _decide(laws, pairs, claim)
    # Floats are claimed, so that cases on a knife's edge that floats cannot tell are left out.
    near = RationalClaim(
        claim.factor * (1 + Fraction(1, 10**12)),
        claim.delta + Fraction(1, 10**14) * bool(claim.delta),
    )
    if _decide(laws, pairs, near).true != decision.true:
        return None
    return Case(program, schema, claim, decision)


def _most_runs(program: RandomProgram, size: int) -> int:
    """A bound on the paths of choices on one dataset: a loop draws once for each of its records."""
    times = size if "for " in program.source else 1
    return int(math.prod(len(atom.law) for atom in program.atoms) ** times)


def _claim(
    rnd: random.Random, laws: dict[str, Law], pairs: list[tuple[Data, Data]]
) -> RationalClaim:
    """A claim at the edge of the truth, just beyond it, or anywhere."""
    ratio = _decide(laws, pairs, RationalClaim(Fraction(1))).ratio
    kind = rnd.randrange(5)
    if kind < 2 and isinstance(ratio, Fraction) and ratio > 1:
        return RationalClaim(ratio if kind == 0 else 1 + (ratio - 1) * Fraction(7, 8))
    factor = rnd.choice(_FACTORS)
    if kind == 2:
        return RationalClaim(factor)
    over = _decide(laws, pairs, RationalClaim(factor)).excess
    return RationalClaim(factor, over if kind == 3 else over * Fraction(7, 8))


def _box(rnd: random.Random) -> Box:
    high = rnd.choice((1, 2))
    if rnd.random() < 0.3:
        return Records(
            record=Number(low=0, high=1, integer=True),
            length=rnd.choice((1, 2, 3)),
            relation=Relation.REPLACE_ONE,
        )
    return Answers(
        dimension=rnd.choice((1, 2, 2, 3)),
        sensitivity=1,
        norm=rnd.choice((1, math.inf)),
        integer=True,
        low=0,
        high=high,
    )


# Draws.


def _atom(rnd: random.Random) -> Atom:
    makers = (_two_sided, _two_sided, _one_sided, _even, _chosen, _coin)
    return rnd.choice(makers)(rnd)


def _two_sided(rnd: random.Random) -> Atom:
    """Discrete Laplace noise of ratio t, cut at ±m: P(k) = (1 − t)/(1 + t)·t^|k| inside."""
    p, m = rnd.choice((Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))), rnd.choice((1, 2, 3))
    t = 1 - p
    inner = [(k, (1 - t) / (1 + t) * t ** abs(k)) for k in range(-m + 1, m)]
    end = t**m / (1 + t)
    noise = f"rng.geometric({float(p)}) - rng.geometric({float(p)})"
    return Atom(f"min(max({noise}, {-m}), {m})", ((-m, end), *inner, (m, end)))


def _endless(rnd: random.Random) -> Atom:
    """Discrete Laplace noise that is not cut.

    Where it is added to a value from −2 to 6 and the sum is clipped to or compared with constants
    from −1 to 2, all noise from 7 on does the same, and all noise from −7 down: the law ends there.
    """
    p = rnd.choice((Fraction(1, 2), Fraction(3, 4), Fraction(1, 4)))
    t = 1 - p
    inner = [(k, (1 - t) / (1 + t) * t ** abs(k)) for k in range(-6, 7)]
    end = t**7 / (1 + t)
    source = f"rng.geometric({float(p)}) - rng.geometric({float(p)})"
    return Atom(source, ((-7, end), *inner, (7, end)))


def _one_sided(rnd: random.Random) -> Atom:
    """Geometric noise from 0 on, cut at m."""
    p, m = rnd.choice((Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))), rnd.choice((1, 2, 3))
    inner = [(k, (1 - p) ** k * p) for k in range(m)]
    return Atom(f"min(rng.geometric({float(p)}) - 1, {m})", (*inner, (m, (1 - p) ** m)))


def _even(rnd: random.Random) -> Atom:
    low, width = rnd.choice((-1, 0)), rnd.choice((2, 3, 4))
    values = range(low, low + width)
    return Atom(
        f"rng.integers({low}, {low + width})", tuple((k, Fraction(1, width)) for k in values)
    )


def _chosen(rnd: random.Random) -> Atom:
    values = [-1, 0, 2]
    eighths = rnd.choice(((1, 6, 1), (2, 4, 2), (1, 3, 4)))
    p = [e / 8 for e in eighths]
    return Atom(
        f"rng.choice({values}, p={p})",
        tuple((v, Fraction(e, 8)) for v, e in zip(values, eighths, strict=True)),
    )


def _coin(rnd: random.Random) -> Atom:
    p = rnd.choice((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1, 8)))
    return Atom(f"int(rng.random() < {float(p)})", ((0, 1 - p), (1, p)))


# Statements. {0}, {1}, … stand for atoms.


@dataclass(slots=True)
class _Writer:
    """Lines of source with places for draws."""

    rnd: random.Random
    size: int
    atoms: list[Atom]
    lines: list[str]

    def draw(self, atom: Atom | None = None) -> str:
        self.atoms.append(_atom(self.rnd) if atom is None else atom)
        return "{" + str(len(self.atoms) - 1) + "}"

    def draw_alone(self) -> str:
        """A draw that is added to one value and then only clipped or compared with constants."""
        return self.draw(_endless(self.rnd) if self.rnd.random() < 0.6 else None)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def value(self) -> str:
        """Something computed from the data."""
        i, j = self.rnd.randrange(self.size), self.rnd.randrange(self.size)
        options = [f"data[{i}]", "sum(data)", "max(data)", "min(data)", f"2 * data[{i}]"]
        options += [f"data[{i}] - data[{j}]", f"abs(data[{i}] - data[{j}])", f"data[{i}]"]
        return self.rnd.choice(options)

    def noisy(self) -> str:
        """A value with a draw; seldom without."""
        plain = self.rnd.random() < 0.1
        return self.value() if plain else f"{self.value()} + {self.draw_alone()}"

    def bound(self) -> int:
        return self.rnd.choice((0, 1, 1, 2))


def _threshold(w: _Writer) -> None:
    w.line(1, f"return {w.noisy()} >= {w.bound()}")


def _clipped(w: _Writer) -> None:
    w.line(1, f"total = {w.noisy()}")
    w.line(1, f"return min(max(total, {w.rnd.choice((-1, 0))}), {w.rnd.choice((1, 2))})")


def _two_releases(w: _Writer) -> None:
    w.line(1, f"first = {w.noisy()}")
    w.line(1, f"second = {w.noisy()}")
    w.line(1, f"return first > {w.bound()}, min(max(second, 0), 2)")


def _first_above(w: _Writer) -> None:
    bar = w.draw() if w.rnd.random() < 0.8 else str(w.bound())
    w.line(1, f"bar = {w.bound()} + {bar}")
    each = f"x + {w.draw()}" if w.rnd.random() < 0.85 else "x"
    w.line(1, "for i, x in enumerate(data):")
    w.line(2, f"if {each} >= bar:")
    w.line(3, "return i" if w.rnd.random() < 0.7 else f"return i, x + {w.draw()} > {w.bound()}")
    w.line(1, "return -1")


def _hits(w: _Writer) -> None:
    stop = w.rnd.choice((1, 2, 9))
    w.line(1, "hits, out = 0, []")
    w.line(1, "for x in data:")
    w.line(2, f"above = x + {w.draw_alone()} > {w.bound()}")
    w.line(2, "out.append(above)")
    w.line(2, "hits += above")
    w.line(2, f"if hits >= {stop}:")
    w.line(3, "break")
    w.line(1, w.rnd.choice(("return out", "return hits", "return len(out)")))


def _largest(w: _Writer) -> None:
    w.line(1, "best, top = -1, -100")
    w.line(1, "for i, x in enumerate(data):")
    w.line(2, f"noisy = x + {w.draw()}")
    w.line(2, f"if noisy {w.rnd.choice(('>', '>='))} top:")
    w.line(3, "best, top = i, noisy")
    w.line(1, "return best" if w.rnd.random() < 0.8 else "return best, min(top, 2)")


def _branching(w: _Writer) -> None:
    w.line(1, f"seen = {w.noisy()}")
    w.line(1, f"if seen > {w.bound()}:")
    w.line(2, f"return 1, {w.noisy()} >= {w.bound()}")
    w.line(1, f"if {w.noisy()} == {w.bound()}:")
    w.line(2, "return 2, False")
    w.line(1, w.rnd.choice(("return 0, False", "return 0, seen > 0")))


def _responses(w: _Writer) -> None:
    place = w.draw(_coin(w.rnd))
    w.line(1, "out = []")
    w.line(1, "for x in data:")
    w.line(2, f"said = (x > 0) ^ ({place} == 1)")
    w.line(2, "out.append(bool(said))")
    if w.rnd.random() < 0.5:
        w.line(2, "if said:")
        w.line(3, "break")
    w.line(1, w.rnd.choice(("return out", "return sum(out)", "return out[-1]")))


def _running(w: _Writer) -> None:
    w.line(1, f"total = {w.draw()}" if w.rnd.random() < 0.5 else "total = 0")
    w.line(1, "for x in data:")
    w.line(2, f"total = total + x + {w.draw()}" if w.rnd.random() < 0.7 else "total = total + x")
    w.line(2, f"if total > {w.rnd.choice((2, 3))}:")
    w.line(3, "return 'high'")
    w.line(1, f"return total + {w.draw()} >= {w.bound()}")


def _by_lot(w: _Writer) -> None:
    even = tuple((k, Fraction(1, w.size)) for k in range(w.size))
    w.line(1, f"x = data[{w.draw(Atom(f'rng.integers({w.size})', even))}]")
    w.line(1, f"return min(max(x + {w.draw_alone()}, 0), 2)")


_SHAPES = (
    *(_threshold, _clipped, _two_releases, _first_above, _hits, _largest),
    *(_branching, _responses, _running, _by_lot),
)


def _program(rnd: random.Random, seed: int, schema: Box) -> RandomProgram:
    writer = _Writer(rnd, len(datasets(schema)[0]), [], [])
    rnd.choice(_SHAPES)(writer)
    return program_of(writer.lines, tuple(writer.atoms), f"random program {seed}", seed)


def program_of(
    lines: list[str], atoms: tuple[Atom, ...], name: str, seed: int = -1
) -> RandomProgram:
    """The program with these lines, in which {k} stands for the k-th atom."""
    body = "\n".join(lines) + "\n"
    source = "def mechanism(data, rng):\n" + body.format(*(f"({a.source})" for a in atoms))
    given = "def run(data, draw):\n" + body.format(*(f"draw({k})" for k in range(len(atoms))))
    return RandomProgram(
        seed=seed,
        source=source,
        mechanism=_defined(source, f"<{name}>"),
        atoms=atoms,
        run=_defined(given, f"<{name}, draws given>"),
    )


def _defined(source: str, filename: str) -> Callable[..., Any]:
    """The function that the source defines, whose lines tracebacks and tools can read."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)  # noqa: S102  # written above
    (function,) = (v for k, v in names.items() if k != "__builtins__")
    defined: Callable[..., Any] = function
    return defined
