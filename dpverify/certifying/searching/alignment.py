"""Find shifts of the noise that give a neighbor the same output at a cost of at most ε.

For each output, or each path, a translation is sought that is affine in how the neighbors differ.
Candidates come from linear constraints at sampled differences: no margin of a comparison that the
output rests on may shrink, and the cost is at most ε. Where a candidate fails, the point at which
it fails is added, or the comparison through which the neighbor's run escaped. All that is found
is told by Farkas multipliers, and the checker has the last word. [proofs/alignment.py]
"""

import functools
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.certifying.checking.alignments import LOWEST, lowest
from dpverify.certifying.checking.forms import Fact, Form, Invalid, form, negated, plus, put
from dpverify.certifying.checking.numbers import ClaimUnit
from dpverify.certifying.checking.trees import NeighborCase, branches, goals, leaves, told
from dpverify.certifying.searching.farkas import Contradictions, form_as_texts, number, values_in
from dpverify.certifying.symbolic.reasons import NotUnderstood, OverTime

Shift: TypeAlias = dict[str, Form]
_ONE = Fraction(1)
_ROUNDS = 60
_MOST_CASES = 600


@dataclass(frozen=True)
class PricedCase(NeighborCase):
    """Two neighbors, the laws of the noise, the cost of a shift by 1, and the most it may be."""

    laws: dict[str, Any]
    rates: dict[str, Fraction]
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class Way:
    """One path on the left: its facts, the same comparisons on the right, draws and output."""

    index: int
    tests: tuple[Fact, ...]
    decisions: tuple[tuple[Form, Form] | None, ...]
    address: tuple[Any, ...]
    draws: tuple[Any, ...]
    output: Any
    reached: Any  # what the same decisions return on the right

    @property
    def pairs(self) -> list[tuple[Form, Form]]:
        return [pair for pair in self.decisions if pair is not None]


class Settled:
    """Knows which comparisons of data are already decided by the facts of a case."""

    def __init__(self, facts: list[Fact], goal: PricedCase, contradictions: Contradictions) -> None:
        self._facts, self._goal, self._ask = facts, goal, contradictions

    def pruned(self, tree: Any, values: dict[str, Form]) -> Any:  # noqa: ANN401
        """The tree without comparisons that are already decided."""
        if "output" in tree:
            return tree
        if "draw" in tree:
            then = [self.pruned(child, values) for child in tree["then"]]
            return {"draw": tree["draw"], "then": then}
        for side, fact in branches(tree, self._goal.whole, values):
            if set(fact[0]) & set(self._goal.laws):
                break
            if self._ask.multipliers([*self._facts, fact]) is not None:
                return self.pruned(tree["yes" if side == "no" else "no"], values)
        parts = {side: self.pruned(tree[side], values) for side in ("yes", "no")}
        return {"test": tree["test"], "strict": tree["strict"], **parts}


class _Escaped(Exception):
    """Raised if the neighbor's run can reach another output, at this leaf."""

    def __init__(self, address: tuple[Any, ...]) -> None:
        super().__init__()
        self.address = address


def align(read: dict[str, Any]) -> list[Any]:
    """An alignment proof for a certificate; raise with what is missing."""
    search, laws = _Search(), read["laws"]
    if any(law["kind"] == "gaussian" for law in laws.values()):
        raise NotUnderstood("Gaussian noise has no translation of bounded cost")
    support = [lowest(name, law["kind"]) for name, law in laws.items() if law["kind"] in LOWEST]
    proof, known = [], dict[str, Any]()
    try:
        unit = ClaimUnit(read["claim"])
        rates = {name: unit.rate(law) for name, law in laws.items()}
        for found in goals(read):
            goal = PricedCase(**vars(found), laws=laws, rates=rates, epsilon=unit.epsilon)
            key = json.dumps([goal.trees, [sorted(map(str, f.items())) for f, _ in goal.facts]])
            if key not in known:
                search.cases = 0
                known[key] = search.case([*goal.facts, *support], goal, [])
            proof.append(known[key])
    except Invalid as error:
        raise NotUnderstood(str(error)) from None
    return proof


class _Search:
    def __init__(self) -> None:
        self.contradictions = Contradictions()
        self.cases = 0

    def case(self, facts: list[Fact], goal: PricedCase, done: list[Form]) -> Any:  # noqa: ANN401
        """Groups of shifted paths, or the same for both sides of a split."""
        self.cases += 1
        if self.cases > _MOST_CASES:
            raise NotUnderstood("the proof needs too many cases")
        multipliers = self.contradictions.multipliers(facts)
        if multipliers is not None:
            return {"impossible": multipliers}
        try:
            return {"groups": self._groups(facts, goal)}
        except OverTime:
            raise
        except NotUnderstood:
            split = self._split(facts, goal, done)
            if split is None:
                raise
        yes = self.case([*facts, (split, False)], goal, [*done, split])
        no = self.case([*facts, negated(split, goal.whole)], goal, [*done, split])
        return {"split": form_as_texts(split), "yes": yes, "no": no}

    def _split(self, facts: list[Fact], goal: PricedCase, done: list[Form]) -> Form | None:
        """The next split: an undecided comparison of data, or else the sign of a move."""
        noise = set(goal.laws)
        tests: list[Form] = []
        for tree, values in zip(goal.trees, goal.maps, strict=True):
            for facts_on_way, _, _ in leaves(tree, goal.whole, values):
                tests += [f for f, strict in facts_on_way if not strict and not set(f) & noise]
        moves = sorted({n for f, _ in facts for n in f if n.startswith("d")})
        tests += [{n: _ONE} for n in moves]
        for test in tests:
            if test in done or not set(test) - {""}:
                continue
            open_ways = [
                self.contradictions.multipliers([*facts, fact]) is None
                for fact in ((test, False), negated(test, goal.whole))
            ]
            if all(open_ways):
                return test
        return None

    def _groups(self, facts: list[Fact], goal: PricedCase) -> list[Any]:
        ways = _ways(goal, Settled(facts, goal, self.contradictions))
        by_shape: dict[str, list[Way]] = {}
        never: dict[str, Any] = {}
        for way in ways:
            multipliers = self.contradictions.multipliers([*facts, *way.tests])
            if multipliers is not None:
                never[str(way.index)] = {"impossible": multipliers}
            else:
                by_shape.setdefault(json.dumps(_blank(way.output)), []).append(way)
        groups = [{"walks": never} | self._priced({}, {}, facts, goal)]
        for together in by_shape.values():
            found = self._group(together, facts, goal, self._implied(together, facts))
            if found is not None:
                groups.append(found)
                continue
            for way in together:
                alone = self._group([way], facts, goal, list(way.pairs))
                if alone is None:
                    raise NotUnderstood(_missing(way, goal))
                groups.append(alone)
        return groups

    def _implied(self, ways: list[Way], facts: list[Fact]) -> list[tuple[Form, Form]]:
        """Comparisons that hold on all these paths, on the left and on the right."""
        candidates = {json.dumps(form_as_texts(p[0])): p for way in ways for p in way.pairs}
        kept = []
        for key, (mine, other) in candidates.items():
            down = (plus({}, mine, -_ONE), True)
            if all(
                any(json.dumps(form_as_texts(p[0])) == key for p in way.pairs)
                or self.contradictions.multipliers([*facts, *way.tests, down]) is not None
                for way in ways
            ):
                kept.append((mine, other))
        return kept

    def _group(
        self, ways: list[Way], facts: list[Fact], goal: PricedCase, pairs: list[tuple[Form, Form]]
    ) -> Any | None:  # noqa: ANN401
        """A shift for these paths, with its evidence; None if none is found."""
        wanted = list(pairs)
        for _ in range(_ROUNDS):
            try:
                shift, bounds = _Synthesis(
                    self.contradictions.z3, ways, facts, goal, wanted
                ).solved()
            except OverTime:
                raise
            except NotUnderstood:
                return None
            try:
                walks = {str(way.index): self._walk(way, shift, facts, goal) for way in ways}
            except _Escaped as escaped:
                more = _diverging(ways, escaped.address)
                if more is None or more in wanted:
                    return None
                wanted.append(more)
                continue
            return {"walks": walks} | self._priced(shift, bounds, facts, goal)
        return None

    def _priced(
        self, shift: Shift, bounds: Shift, facts: list[Fact], goal: PricedCase
    ) -> dict[str, Any]:
        """A shift, how far each noise moves at most, and why the cost is at most ε."""
        shown, left = {}, plus({}, {"": goal.epsilon})
        for name, s in shift.items():
            down = plus({}, s, -_ONE)
            one_sided = goal.laws[name]["kind"] in LOWEST
            shown[name] = {
                "bound": form_as_texts(bounds[name]),
                "above": self._never(facts, plus(s, bounds[name], -_ONE)),
                "below": self._never(facts, down if one_sided else plus(down, bounds[name], -_ONE)),
            }
            left = plus(left, bounds[name], -goal.rates[name])
        return {
            "shift": {name: form_as_texts(s) for name, s in shift.items()},
            "bounds": shown,
            "cost": self._never(facts, plus({}, left, -_ONE)),
        }

    def _never(self, facts: list[Fact], a: Form) -> dict[str, str] | None:
        """The evidence that a form is never > 0."""
        return self.contradictions.multipliers([*facts, (a, True)])

    def _walk(self, way: Way, shift: Shift, facts: list[Fact], goal: PricedCase) -> Any:  # noqa: ANN401
        moved = {name: plus({name: _ONE}, s) for name, s in shift.items()}
        values = {**goal.maps[1], **moved}
        return self._step(way, goal, values, goal.trees[1], [*facts, *way.tests], ())

    def _step(  # noqa: PLR0917, PLR0913
        self,
        way: Way,
        goal: PricedCase,
        values: dict[str, Form],
        tree: Any,  # noqa: ANN401
        facts: list[Fact],
        address: tuple[Any, ...],
    ) -> Any:  # noqa: ANN401
        if "output" in tree:
            if told(way.output, goal.maps[0]) == told(tree["output"], values):
                return {}
            raise _Escaped(address)
        if "draw" in tree:
            before = sum(isinstance(step, int) for step in address)
            mine = way.draws[before] if before < len(way.draws) else None
            same = mine is not None and mine[0] == json.dumps(tree["draw"])
            options = [mine[1]] if same and mine is not None else range(len(tree["then"]))
            return {
                "draw": {
                    str(i): self._step(way, goal, values, tree["then"][i], facts, (*address, i))
                    for i in options
                }
            }
        made = {}
        for side, fact in branches(tree, goal.whole, values):
            inner = [*facts, fact]
            multipliers = self.contradictions.multipliers(inner)
            if multipliers is not None:
                made[side] = {"impossible": multipliers}
            else:
                decides = set(fact[0]) & set(goal.laws)
                onward = (*address, side) if decides else address
                made[side] = self._step(way, goal, values, tree[side], inner, onward)
        return made


class _Synthesis:
    """The linear program for a shift; facts that must hold for all data hold by multipliers.

    An affine form is ≥ 0 wherever the facts are if it is a sum of facts with multipliers λ ≥ 0 and
    of a constant ≥ 0. [Farkas] The coefficients of the translation and the λ are the unknowns.
    |s| is replaced by an affine bound u with u ≥ s and u ≥ −s.
    """

    def __init__(  # noqa: C901, PLR0912
        self,
        z3: Any,  # noqa: ANN401
        ways: list[Way],
        facts: list[Fact],
        goal: PricedCase,
        pairs: list[tuple[Form, Form]],
    ) -> None:
        self._z3, self._goal = z3, goal
        noise = set(goal.laws)
        margins, equal = [], []
        for mine, other in pairs:
            gap = plus(other, mine, -_ONE)
            if not set(gap) & noise:  # else another comparison altogether: the walk will tell
                margins.append(({n: c for n, c in other.items() if n in noise}, gap))
        for way in ways:
            own, twin = _values(way.output), _values(way.reached)
            for value, other in zip(own, twin if len(twin) == len(own) else own, strict=True):
                gap = plus(put(other, goal.maps[1]), put(value, goal.maps[0]), -_ONE)
                if set(gap) & noise:
                    raise NotUnderstood("an output has other noise on a neighbor")
                equal.append(({n: c for n, c in other.items() if n in noise}, gap))
        names = sorted({n for part, _ in [*margins, *equal] for n in part})
        self._moves = sorted({n for _, gap in [*margins, *equal] for n in gap if n})
        near, size = set(self._moves), -1
        while len(near) > size:  # all symbols that facts connect with the moves
            size = len(near)
            near |= {n for f, _ in facts if set(f) & near for n in f if n} - noise
        self._symbols = sorted(near | set(self._moves))
        self._facts = [f for f, _ in facts if set(f) & near and not set(f) & noise]
        self._facts = [f for f in self._facts if set(f) <= {*self._symbols, ""}]
        self._ask = z3.Solver()
        self._ask.set("timeout", 20_000)
        self._ask.set(ctrl_c=False)  # an interrupt is for Python
        self._count = 0
        self.shifts = {n: self._unknown(n) for n in names}
        self.bounds: dict[str, dict[str, Any]] = {}
        for part, gap in equal:
            for c in self._moved(part, gap).values():
                self._ask.add(c == 0)
        for part, gap in margins:
            self._nonnegative(self._moved(part, gap))
        total = {key: number(z3, Fraction(0)) for key in ("", *self._symbols)}
        total[""] = number(z3, goal.epsilon)
        for name, shift in self.shifts.items():
            bound = shift
            if goal.laws[name]["kind"] == "laplace":
                bound = {k: z3.Real(f"u {name} {k}") for k in ("", *self._symbols)}
                self._nonnegative({k: c + shift.get(k, 0) for k, c in bound.items()})
                self._nonnegative({k: c - shift.get(k, 0) for k, c in bound.items()})
            else:
                self._nonnegative(shift)
            self.bounds[name] = bound
            for key, c in bound.items():
                total[key] = total[key] - number(z3, goal.rates[name]) * c
        self._nonnegative(total)

    def _unknown(self, name: str) -> dict[str, Any]:
        z3 = self._z3
        if self._goal.laws[name]["kind"] != "geometric":
            return {key: z3.Real(f"s {name} {key}") for key in ("", *self._moves)}
        allowed = [key for key in self._moves if key in self._goal.whole]
        return {key: z3.ToReal(z3.Int(f"s {name} {key}")) for key in ("", *allowed)}

    def _moved(self, part: Form, gap: Form) -> dict[str, Any]:
        """gap + Σ coefficient·shift as a form with unknown coefficients."""
        z3 = self._z3
        made = {}
        for key in ("", *self._symbols):
            terms = [number(z3, c) * self.shifts[n].get(key, 0) for n, c in part.items()]
            made[key] = z3.Sum([*terms, number(z3, gap.get(key, Fraction(0)))])
        return made

    def _nonnegative(self, wanted: dict[str, Any]) -> None:
        """Require that a form is ≥ 0 wherever the facts hold."""
        z3 = self._z3
        self._count += 1
        factors = [z3.Real(f"m {self._count} {i}") for i in range(len(self._facts))]
        for factor in factors:
            self._ask.add(factor >= 0)
        for key in ("", *self._symbols):
            terms = [
                number(z3, f[key]) * m
                for f, m in zip(self._facts, factors, strict=True)
                if key in f
            ]
            total = z3.Sum(terms) if terms else number(z3, Fraction(0))
            have = wanted.get(key, number(z3, Fraction(0)))
            self._ask.add(have == total if key else have >= total)

    def solved(self) -> tuple[Shift, Shift]:
        """The shift of each noise that moves, and a bound on its size."""
        z3 = self._z3
        if self._ask.check() != z3.sat:
            raise NotUnderstood("no translation keeps the margins at this cost")
        read = functools.partial(values_in, self._ask.model())
        shift = {name: s for name, parts in self.shifts.items() if (s := read(parts))}
        return shift, {name: read(self.bounds[name]) for name in shift}


def _ways(goal: PricedCase, settled: Settled) -> list[Way]:
    """The paths on the left, in the checker's order, each with its counterpart on the right.

    The twin makes the same decisions wherever noise comes in; comparisons of data alone are no
    decisions: they are settled by the case.
    """
    found: list[Way] = []
    right = settled.pruned(goal.trees[1], goal.maps[1])

    def visit(tree: Any, tests: tuple[Fact, ...], core: tuple[Any, ...], draws: Any) -> None:  # noqa: ANN401
        if "output" in tree:
            found.append(_paired(len(found), tests, core, draws, tree["output"], right, goal))
        elif "draw" in tree:
            key = json.dumps(tree["draw"])
            for i, child in enumerate(tree["then"]):
                visit(child, tests, (*core, i), (*draws, (key, i)))
        else:
            for side, fact in branches(tree, goal.whole, goal.maps[0]):
                decides = set(fact[0]) & set(goal.laws)
                visit(
                    tree[side], (*tests, fact), (*core, (side, fact[0])) if decides else core, draws
                )

    visit(goal.trees[0], (), (), ())
    return found


def _paired(  # noqa: PLR0917, PLR0913
    index: int,
    tests: tuple[Fact, ...],
    core: tuple[Any, ...],
    draws: tuple[Any, ...],
    output: Any,  # noqa: ANN401
    twin: Any,  # noqa: ANN401
    goal: PricedCase,
) -> Way:
    pairs: list[tuple[Form, Form] | None] = []
    for step in core:
        if isinstance(step, int):
            twin = twin["then"][step] if twin and len(twin.get("then", ())) > step else None
            continue
        side, mine = step
        if not twin or "test" not in twin:
            twin = None
            pairs.append(None)
            continue
        other = dict(branches(twin, goal.whole, goal.maps[1]))[side]
        pairs.append((mine, other[0]))
        twin = twin[side]
    reached = twin["output"] if twin and "output" in twin else output
    address = tuple(step if isinstance(step, int) else step[0] for step in core)
    return Way(index, tests, tuple(pairs), address, draws, output, reached)


def _diverging(ways: list[Way], address: tuple[Any, ...]) -> tuple[Form, Form] | None:
    """The comparison at which the neighbor's run left the path."""
    best: tuple[int, tuple[Form, Form]] | None = None
    for way in ways:
        tests = 0
        for mine, other in zip(way.address, address, strict=False):
            if mine != other:
                pair = way.decisions[tests] if isinstance(mine, str) else None
                if pair is not None and (best is None or tests > best[0]):
                    best = (tests, pair)
                break
            tests += isinstance(mine, str)
    return None if best is None else best[1]


def _values(output: Any) -> list[Form]:  # noqa: ANN401
    if isinstance(output, list) and output[:1] == ["value"]:
        return [form(output[1])]
    return [v for part in output for v in _values(part)] if isinstance(output, list) else []


def _blank(output: Any) -> Any:  # noqa: ANN401
    if isinstance(output, list) and output[:1] == ["value"]:
        return ["value"]
    return [_blank(part) for part in output] if isinstance(output, list) else output


def _missing(way: Way, goal: PricedCase) -> str:
    decisions = "".join(
        "yn"[step == "no"] if isinstance(step, str) else str(step) for step in way.address
    )
    del goal
    return (
        f"no translation of the noise was found for the path {decisions or 'without comparisons'}"
        f" that returns {_readable(way.output)}"
    )


def _readable(output: Any) -> str:  # noqa: ANN401
    if not isinstance(output, list):
        return str(output)
    if output[0] == "value":
        terms = [f"{c}·{n}" if c != "1" else n for n, c in output[1].items() if n]
        return " + ".join([*terms, *([output[1][""]] if "" in output[1] else [])])
    if output[0] == "dict":
        return "{" + ", ".join(f"{_readable(k)}: {_readable(x)}" for k, x in output[1:]) + "}"
    if output[0] in {"list", "tuple", "array"}:
        return "[" + ", ".join(map(_readable, output[1:])) + "]"
    return _readable(output[1]) if len(output) > 1 else str(output[0])
