"""Run a mechanism on symbols, once for each path, and store its paths as a tree.

Every comparison of symbols asks the current run. The run follows the answers it was given, takes
the first that is possible from there on, and remembers what it was asked; `explore` starts the
mechanism again with other answers until no path is left.
"""

import math
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.certifying.symbolic.exact import ONE, ZERO, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.reading import read_float
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.watching import memory_limit, watched

if TYPE_CHECKING:
    from dpverify.certifying.symbolic.symbols import Symbolic

current: ContextVar["SymbolicRun | None"] = ContextVar("run", default=None)
_WHOLE = Fraction(2**31)
_FINE = 2.0**-30  # a float is read within 2^-50 of it: a millionth of such noise


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The law of a noise symbol: laplace, exponential or gaussian with a scale; or geometric on
    1, 2, … with masses that fall by the ratio `parameter`.
    """

    kind: str
    parameter: ExactNumber


@dataclass(frozen=True, slots=True)
class Inequality:
    """Σ coefficient·symbol + constant ≥ 0, or > 0 if strict."""

    coefficients: tuple[tuple[str, Fraction], ...]
    constant: ExactNumber
    strict: bool

    def negated(self, *, whole: bool) -> "Inequality":
        flipped = tuple((n, -c) for n, c in self.coefficients)
        if whole:  # not(e ≥ 0) is −e − 1 ≥ 0
            return Inequality(flipped, -self.constant - 1, strict=False)
        return Inequality(flipped, -self.constant, not self.strict)


@dataclass(slots=True)
class Test:
    """A comparison, and how the program continues if the inequality holds or not."""

    yes_if: Inequality
    no_if: Inequality
    where: str
    yes: "Tree"
    no: "Tree"


@dataclass(slots=True)
class Draw:
    """A draw from finitely many outcomes: their probabilities, and how the program continues."""

    weights: tuple[ExactNumber, ...]
    children: list["Tree"]


@dataclass(slots=True)
class ReleaseNode:
    """A release: a symbol for expression + coefficient·noise, which later code sees as a whole."""

    name: str
    expression: Any
    coefficient: Fraction
    law: NoiseLaw
    then: "Tree"


@dataclass(slots=True)
class Clamp:
    """A symbol for the minimum or maximum of an expression and a constant."""

    name: str
    operation: str
    expression: Any
    constant: Fraction
    then: "Tree"


@dataclass(slots=True)
class Leaf:
    """The end of a path, with what the program returns in plain form."""

    output: Any


Tree: TypeAlias = Test | Draw | ReleaseNode | Clamp | Leaf
Step: TypeAlias = tuple[Any, int, int]


@dataclass(slots=True)
class Limits:
    """Limits of an exploration: paths, comparisons and noises a path, seconds and bytes in all."""

    paths: int = 3000
    depth: int = 300
    draws: int = 2_000
    seconds: float = 20.0
    memory: int = 2 << 30


@dataclass(slots=True)
class Shared:
    """What all runs of one exploration share."""

    unit: EpsilonUnit
    limits: Limits
    whole: set[str] = field(default_factory=set)
    laws: dict[str, NoiseLaw] = field(default_factory=dict)
    bounds: dict[str, tuple[Fraction | None, Fraction | None]] = field(default_factory=dict)
    readings: dict[float, ExactNumber] = field(default_factory=dict)
    releasing: bool = False  # data plus noise become symbols of their own


class SymbolicRun:
    """One run: follows `prefix`, then takes the first possible answer; `trail` records both."""

    def __init__(self, shared: Shared, prefix: list[Step]) -> None:
        self.shared, self.prefix = shared, prefix
        self.unit = shared.unit
        self.trail: list[Step] = []
        self.line: tuple[str, int] | None = None  # where the mechanism is
        self.failure: NotUnderstood | None = None
        self._facts: dict[Any, _Range] = {}
        self.coins: list[tuple[ExactNumber, ExactNumber]] = []  # where each uniform draw lies
        self.outcomes: list[int] = []  # of draws from finitely many
        self.noises: list[str] = []
        self._spent: set[str] = set()  # noises that are part of a release
        self._told: set[str] = set()  # noises that something else depends on
        self.made: list[str] = []  # symbols for releases and for clamped numbers
        self.releases: dict[str, tuple[Symbolic, Fraction, str]] = {}
        self.clamps: dict[str, tuple[str, Symbolic, Fraction]] = {}
        self.lengths: frozenset[str] = frozenset()  # symbols for the number of records
        self.noisy: frozenset[str] = frozenset()  # symbols for numbers that have a density
        for name, (low, high) in shared.bounds.items():
            self._facts[((name, Fraction(1)),)] = _Range(
                None if low is None else ExactNumber.of(low),
                None if high is None else ExactNumber.of(high),
            )

    def read(self, value: float) -> ExactNumber:
        known = self.shared.readings
        if not math.isfinite(value):
            raise self.refused("it computes with an infinite or undefined number")
        if value not in known:
            known[value] = read_float(value, self.unit)
        return known[value]

    def refused(self, reason: str) -> NotUnderstood:
        self.failure = self.failure or NotUnderstood(reason, self.where())
        return self.failure

    def where(self) -> str | None:
        """The line of the mechanism that is running, as file:line."""
        return None if self.line is None else "{}:{}".format(*self.line)

    def is_whole(self, value: "Symbolic") -> bool:
        names = all(n in self.shared.whole and c.denominator == 1 for n, c in value.coefficients)
        plain = value.constant.fraction()
        return names and plain is not None and plain.denominator == 1

    def check_size(self, value: "Symbolic") -> None:
        """Raise for whole numbers that NumPy may not hold; unbounded ones may have 32 bits."""
        reach = abs(value.constant.fraction() or Fraction(0))
        for name, c in value.coefficients:
            ends = self.shared.bounds.get(name, (None, None))
            reach += abs(c) * max(_WHOLE if end is None else abs(end) for end in ends)
        if reach >= 2 * _WHOLE**2:
            raise self.refused("its whole numbers may be too large for 64 bits")

    def real_noises(self, value: "Symbolic") -> int:
        """How many continuous noises an expression contains."""
        laws = [self.shared.laws.get(n.removeprefix("w")) for n, _ in value.coefficients]
        return sum(law is not None and law.kind != "geometric" for law in laws)

    def has_density(self, value: "Symbolic") -> bool:
        """Whether a number has a density, so that it is 0 with probability 0."""
        names = [n.removeprefix("w") for n, _ in value.coefficients]
        released = self.shared.releasing and any(n[:1] == "r" for n in names)
        return released or bool(self.noisy & {*names}) or self.real_noises(value) > 0

    def noise(self, law: NoiseLaw) -> str:
        """A new noise symbol, with a fixed name for its position and law."""
        if self.unit.sign(law.parameter) <= 0:
            raise self.refused("the scale of a noise is not positive")
        if law.kind == "geometric" and self.unit.sign(ONE - law.parameter) <= 0:
            raise self.refused("the p of a geometric draw is not between 0 and 1")
        if len(self.noises) >= self.shared.limits.draws:
            raise self.refused(f"it draws more than {len(self.noises)} noises on one path")
        name = f"n{len(self.noises)}"
        while self.shared.laws.setdefault(name, law) != law:
            name += "'"
        self.noises.append(name)
        if law.kind == "geometric":
            self.shared.whole.add(name)
            self.shared.bounds[name] = (Fraction(1), None)
        if law.kind == "exponential":
            self.shared.bounds[name] = (Fraction(0), None)
        low = self.shared.bounds.get(name)
        if low is not None and low[0] is not None:
            self._facts.setdefault(((name, Fraction(1)),), _Range(ExactNumber.of(low[0]), None))
        return name

    def uniform(self) -> int:
        if len(self.coins) >= self.shared.limits.draws:
            raise self.refused(f"it draws more than {len(self.coins)} numbers on one path")
        self.coins.append((ZERO, ONE))
        return len(self.coins) - 1

    def coin(self, index: int, bound: ExactNumber) -> bool:
        """Whether the uniform draw with this index is below a constant."""
        low, high = self.coins[index]
        if self.unit.sign(bound - low) <= 0 or self.unit.sign(high - bound) <= 0:
            return self.unit.sign(bound - low) > 0
        share = (bound - low) / (high - low)
        below = self._drawn((share, 1 - share)) == 0
        self.coins[index] = (low, bound) if below else (bound, high)
        return below

    def draw(self, weights: tuple[ExactNumber, ...]) -> int:
        """Draw one of finitely many outcomes; those of probability 0 are left out."""
        self.outcomes.append(self._drawn(weights))
        return self.outcomes[-1]

    def _drawn(self, weights: tuple[ExactNumber, ...]) -> int:
        possible = [i for i, w in enumerate(weights) if self.unit.sign(w) != 0]
        if any(self.unit.sign(weights[i]) < 0 for i in possible) or not possible:
            raise self.refused("a probability is negative, or all are zero")
        total = sum((weights[i] for i in possible), ZERO)
        shares = tuple(weights[i] / total for i in possible)
        return (
            possible[self._step(("draw", shares), len(shares))] if len(shares) > 1 else possible[0]
        )

    def released(self, value: "Symbolic") -> "Symbolic":
        """Something plus fresh noise, as a symbol of its own; data or noise alone stay as they are.

        Constants count as something: on the neighbor without records they stand where data were.
        """
        names = [n for n, _ in value.coefficients]
        noises = [n for n in names if n in self.shared.laws]
        if not self.shared.releasing or not noises or 1 < len(noises) == len(names):
            return value
        self.check_spent(value)
        fresh = [n for n in noises if n not in self._told]
        if not fresh:
            return value
        noise = fresh[0]
        coefficient = dict(value.coefficients)[noise]
        rest = value.without(noise)
        self._spent.add(noise)
        self._told |= {n for n in names if n != noise}
        name = f"r{len(self.made)}"
        self.made.append(name)
        self.releases[name] = (rest, coefficient, noise)
        self._step(("release", name, rest.key(), coefficient, self.shared.laws[noise], rest), 1)
        return type(value).symbol(name)

    def clamped(self, operation: str, value: "Symbolic", constant: Fraction) -> "Symbolic":
        """The minimum or maximum of a data expression and a constant, as a symbol of its own."""
        self.check_spent(value)
        self._told |= {n for n, _ in value.coefficients}
        name = f"c{len(self.made)}"
        self.made.append(name)
        self.clamps[name] = (operation, value, constant)
        self._step(("clamp", name, operation, value.key(), constant, value), 1)
        return type(value).symbol(name)

    def check_spent(self, value: "Symbolic") -> None:
        if any(n in self._spent for n, _ in value.coefficients):
            raise self.refused("it uses one noise twice")

    def decide(self, gap: "Symbolic", *, strict: bool) -> bool:
        """Decide whether gap > 0 (strict) or gap ≥ 0 on this path."""
        if gap.is_constant:
            sign = self.unit.sign(gap.constant)
            return sign > 0 if strict else sign >= 0
        if any(n[0] in "xc" for n, _ in gap.coefficients):
            gap = self.released(gap)
        self.check_spent(gap)
        self._told |= {n for n, _ in gap.coefficients}
        yes, whole = self._normal(gap, strict)
        no = yes.negated(whole=whole)
        direction, known, sign = self._known(yes)
        if known.implies(yes, sign, self.unit):
            return True
        if known.implies(no, -sign, self.unit):
            return False
        answer = self._step(("test", yes, no), 2) == 0
        self._facts[direction] = known.with_(yes if answer else no, sign if answer else -sign, self)
        return answer

    def _normal(self, gap: "Symbolic", strict: bool) -> tuple[Inequality, bool]:  # noqa: FBT001
        whole = all(n in self.shared.whole for n, _ in gap.coefficients)
        plain = gap.constant.fraction()
        if not whole or plain is None:
            factor = 1 / abs(gap.coefficients[0][1])
            scaled = tuple((n, c * factor) for n, c in gap.coefficients)
            return Inequality(scaled, gap.constant * factor, strict), False
        factor = Fraction(math.lcm(*(c.denominator for _, c in gap.coefficients)))
        factor /= math.gcd(*(int(c * factor) for _, c in gap.coefficients))
        scaled = tuple((n, c * factor) for n, c in gap.coefficients)
        constant = plain * factor  # k + c > 0 is k + ⌈c⌉ − 1 ≥ 0; k + c ≥ 0 is k + ⌊c⌋ ≥ 0
        constant = Fraction(math.ceil(constant) - 1 if strict else math.floor(constant))
        return Inequality(scaled, ExactNumber.of(constant), strict=False), True

    def _known(self, test: Inequality) -> tuple[Any, "_Range", int]:
        sign = 1 if test.coefficients[0][1] > 0 else -1
        lead = abs(test.coefficients[0][1])
        direction = tuple((n, c * sign / lead) for n, c in test.coefficients)
        return direction, self._facts.get(direction, _Range(None, None)), sign

    def _step(self, asked: Any, options: int) -> int:  # noqa: ANN401
        at = len(self.trail)
        if at >= self.shared.limits.depth:
            raise self.refused(f"it makes more than {at} comparisons or draws on one path")
        if at < len(self.prefix):
            before, answer, _ = self.prefix[at]
            if before[: len(asked)] != asked and not _alike(before, asked):
                raise self.refused("it does not do the same again on the same data and draws")
            self.trail.append(self.prefix[at])
            return answer
        self.trail.append(((*asked, self.where() or "unknown line"), 0, options))
        return 0


def _alike(before: Any, asked: Any) -> bool:  # noqa: ANN401
    """Whether two steps introduce the same symbol."""
    made = before[0] == asked[0] and asked[0] in {"release", "clamp"}
    return bool(made and before[1:5] == asked[1:5])


@dataclass(slots=True)
class _Range:
    """What is known of one direction: low ≤ value ≤ high, strict or not."""

    low: ExactNumber | None
    high: ExactNumber | None
    low_strict: bool = False
    high_strict: bool = False

    def implies(self, test: Inequality, sign: int, unit: EpsilonUnit) -> bool:
        """Whether sign·lead·value + constant ≥ 0 follows."""
        end, open_end = (self.low, self.low_strict) if sign > 0 else (self.high, self.high_strict)
        if end is None:
            return False
        lead = abs(test.coefficients[0][1])
        try:
            margin = unit.sign(end * (sign * lead) + test.constant)
        except NotUnderstood:  # an unlike power of ε: nothing follows
            return False
        return margin > 0 or (margin == 0 and (open_end or not test.strict))

    def with_(self, test: Inequality, sign: int, run: SymbolicRun) -> "_Range":
        end = test.constant / (-sign * abs(test.coefficients[0][1]))
        del run
        if sign > 0:
            return _Range(end, self.high, test.strict, self.high_strict)
        return _Range(self.low, end, self.low_strict, test.strict)


@dataclass(slots=True)
class Course:
    """One path: the run that took it, and its result."""

    run: SymbolicRun
    output: Any


def explore(
    program: Callable[[], Any], shared: Shared, courses: list[Course] | None = None
) -> Tree:
    """All paths of `program`, which runs the mechanism once and returns its plain output.

    Each of them is added to `courses`.
    """
    finished: list[tuple[list[Step], Any]] = []
    prefix: list[Step] | None = []
    with watched(shared.limits.seconds, shared.limits.memory):
        while prefix is not None:
            if len(finished) >= shared.limits.paths:
                raise NotUnderstood(
                    f"there are more than {len(finished)} paths", last_where(prefix)
                )
            run = SymbolicRun(shared, prefix)
            finished.append((run.trail, once(program, run)))
            if courses is not None:
                courses.append(Course(run, finished[-1][1]))
            if len(run.trail) < len(prefix):
                raise NotUnderstood("it does not do the same again on the same data and draws")
            prefix = _next(run.trail)
    _check_fine(shared)
    return _tree(finished, 0)


def _check_fine(shared: Shared) -> None:
    """Raise if noise is so fine that it matters how a float was read."""
    unit = EpsilonUnit() if shared.unit.every else shared.unit
    laws = [law for law in shared.laws.values() if law.kind != "geometric"]
    finest = min((float(unit.enclosure(law.parameter).mid()) for law in laws), default=math.inf)
    read = shared.readings.items()
    rounded = (abs(x) for x, exact in read if exact != ExactNumber.of(Fraction(x)))
    if finest < _FINE * max(rounded, default=0.0):
        raise NotUnderstood("its noise is so small that the rounding of its constants may show")


def once(program: Callable[[], Any], run: SymbolicRun) -> Any:  # noqa: ANN401
    """One run; every failure becomes a reason."""
    token = current.set(run)
    try:
        with memory_limit(run.shared.limits.memory):
            output = program()
    except NotUnderstood as error:
        found = run.failure or error
        found.where = found.where or run.where()
        raise found from None
    except MemoryError:
        raise NotUnderstood("it needs more memory than is allowed", run.where()) from None
    except RecursionError:
        raise NotUnderstood("it calls itself without end", run.where()) from None
    except Exception as error:  # noqa: BLE001  # its own
        text = f"it raises {type(error).__name__}: {str(error)[:80]}"
        raise run.failure or NotUnderstood(text, run.where()) from None
    finally:
        current.reset(token)
    if run.failure is not None:
        raise run.failure
    return output


def last_where(trail: list[Step]) -> str | None:
    return trail[-1][0][-1] if trail else None


def _next(trail: list[Step]) -> list[Step] | None:
    for at in range(len(trail) - 1, -1, -1):
        asked, answer, options = trail[at]
        if answer + 1 < options:
            return [*trail[:at], (asked, answer + 1, options)]
    return None


def _tree(paths: list[tuple[list[Step], Any]], depth: int) -> Tree:
    """The paths, in the order in which they were found, as one tree."""
    trail, output = paths[0]
    if len(trail) == depth:
        return Leaf(output)
    asked, _, options = trail[depth]
    cuts = [0]
    for answer in range(options):
        end = cuts[-1]
        while end < len(paths) and paths[end][0][depth][1] == answer:
            end += 1
        cuts.append(end)
    parts = [_tree(paths[a:b], depth + 1) for a, b in pairwise(cuts)]
    if asked[0] == "draw":
        return Draw(asked[1], parts)
    if asked[0] == "release":
        return ReleaseNode(asked[1], asked[5], asked[3], asked[4], parts[0])
    if asked[0] == "clamp":
        return Clamp(asked[1], asked[2], asked[5], asked[4], parts[0])
    return Test(asked[1], asked[2], asked[3], *parts)
