"""Find a proof by induction over the records, with a linear program for shifts and costs.

At each place that two runs can reach, the gaps between their numbers and what is left of ε are
affine in how the neighbors differ, with unknown coefficients; so are the translations of the noise
at each step. That no margin shrinks and every step is paid for, wherever the facts hold, is a
linear program in these coefficients and in multipliers of the facts. [Farkas]
"""

import functools
from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.certifying.checking.alignments import Noises
from dpverify.certifying.checking.forms import Fact, Form, Invalid, form, negated, plus, put
from dpverify.certifying.checking.induction import (
    PairedPlace,
    PairedStep,
    SideBySide,
    doubled,
    situations,
)
from dpverify.certifying.searching.farkas import Contradictions, form_as_texts, number, values_in
from dpverify.certifying.symbolic.reasons import NotUnderstood

_ONE = Fraction(1)
_MOST_PLACES = 200
Unknown: TypeAlias = dict[str, Any]
"""A form whose coefficients are unknowns of the solver."""

_Shifts: TypeAlias = dict[tuple[int, int], dict[str, Form]]
"""Of each noise, at each step of each place."""


def induct(read: dict[str, Any]) -> list[Any]:
    """An induction proof for a certificate; raise with what is missing."""
    contradictions = Contradictions()
    if any(law["kind"] == "gaussian" for law in read["laws"].values()):
        raise NotUnderstood("Gaussian noise has no translation of bounded cost")
    try:
        found = list(situations(read["schema"]))
        noises = Noises(read)
        return [_Search(SideBySide(read, noises, s), contradictions).proof() for s in found]
    except Invalid as error:
        raise NotUnderstood(str(error)) from None


class _Search:
    """One way in which neighbors differ: its places and steps, the program, the multipliers."""

    def __init__(self, runs: SideBySide, contradictions: Contradictions) -> None:
        self.runs, self.ask = runs, contradictions
        self.places = [PairedPlace(0)]
        self.steps: list[list[tuple[PairedStep, Any]]] = []
        for place in self.places:  # grows
            self.steps.append([self._seen(step) for step in runs.steps(place)])
            if len(self.places) > _MOST_PLACES:
                raise NotUnderstood("two runs can be in too many pairs of states")

    def _seen(self, step: PairedStep) -> tuple[PairedStep, Any]:
        never = self.ask.multipliers(step.facts)
        if never is None:
            if not step.fits:
                raise NotUnderstood("neighbors may take different branches, whatever the noise")
            if step.parted and self.runs.untyped:
                raise NotUnderstood("it releases a number of the data without noise")
            if step.target is not None and step.target not in self.places:
                self.places.append(step.target)
        return step, never

    def proof(self) -> list[Any]:
        gaps, budgets, shifts, bounds = _Program(self).solved()
        told = []
        for i, steps in enumerate(self.steps):
            made = []
            for j, (step, never) in enumerate(steps):
                if never is not None:
                    made.append({"impossible": never})
                    continue
                after = {} if step.target is None else budgets[self.places.index(step.target)]
                left = plus(budgets[i], put(after, step.update), -_ONE)
                made.append(self._told(step, gaps[i], left, shifts[i, j], bounds[i, j]))
            told.append(
                {
                    "gaps": [form_as_texts(g) for g in gaps[i]],
                    "budget": form_as_texts(budgets[i]),
                    "steps": made,
                }
            )
        return told

    def _told(
        self,
        step: PairedStep,
        gaps: list[Form],
        left: Form,
        shift: dict[str, Form],
        bounds: dict[str, Form],
    ) -> Any:  # noqa: ANN401
        values = {n: plus({n: _ONE}, s) for n, s in shift.items()}
        values |= {f"s{i}": plus({f"s{i}": _ONE}, g) for i, g in enumerate(gaps)}
        values = doubled(values)
        tests = [
            self._shown([*step.facts, negated(put(f, values), set(), strict=strict)])
            for _, (f, strict) in step.pairs
        ]
        noises, within = self.runs.noises, {}
        for name, s in shift.items():
            bound = bounds[name]
            least: Form = {} if name in noises.support else bound
            within[name] = {
                "bound": form_as_texts(bound),
                "above": self._shown([*step.facts, (plus(s, bound, -_ONE), True)]),
                "below": self._shown([*step.facts, (plus(plus({}, s, -_ONE), least, -_ONE), True)]),
            }
            left = plus(left, bound, -noises.rates[name])
        return {
            "shift": {n: form_as_texts(s) for n, s in shift.items()},
            "bounds": within,
            "cost": self._shown([*step.facts, negated(left, set())]),
            "tests": tests,
        }

    def _shown(self, facts: list[Fact]) -> dict[str, str]:
        found = self.ask.multipliers(facts)
        if found is None:  # pragma: no cover  # the program has made sure of it
            raise NotUnderstood("a step of the induction is not shown")
        return found


class _Program:
    """The linear program for all places at once, for one way in which neighbors differ."""

    def __init__(self, search: _Search) -> None:
        self.search, self.runs, self.z3 = search, search.runs, search.ask.z3
        self.solver, self.count = self.z3.Solver(), 0
        self.solver.set("timeout", 20_000)
        self.solver.set(ctrl_c=False)  # an interrupt is for Python
        self.ghosts = self._ghosts()
        nodes = self.runs.nodes
        self.gaps = [
            [self._form("g", self.ghosts) for _ in range(nodes[place.node]["symbols"])]
            for place in search.places
        ]
        self.budgets = [self._form("b", self.ghosts) for _ in search.places]
        self.shifts: dict[tuple[int, int], dict[str, Unknown]] = {}
        self.bounds: dict[tuple[int, int], dict[str, Unknown]] = {}
        for key in self.ghosts:
            self.solver.add(self.budgets[0][key] == 0)
        self.solver.add(self.budgets[0][""] == number(self.z3, self.runs.noises.unit.epsilon))
        for i, steps in enumerate(search.steps):
            for j, (step, never) in enumerate(steps):
                if never is None:
                    self._step(i, j, step)

    def _ghosts(self) -> list[str]:
        """The symbols that say how the neighbors differ."""
        steps = [step for steps in self.search.steps for step, _ in steps]
        found = {n for step in steps for f, _ in step.facts for n in f if n}
        answers = self.runs.situation.answers
        letters = "pqDu" if answers is not None and str(answers["norm"]) == "1" else "pq"
        return sorted(n for n in found if _bare(n)[:1] in letters)

    def _form(self, letter: str, symbols: list[str]) -> Unknown:
        self.count += 1
        return {key: self.z3.Real(f"{letter}{self.count} {key}") for key in ("", *symbols)}

    def _step(self, i: int, j: int, step: PairedStep) -> None:
        gaps = {f"s{k}": gap for k, gap in enumerate(self.gaps[i])}
        near = [n for f, _ in step.facts for n in f if n and _bare(n) in {"d", "a", ""}]
        symbols = list(dict.fromkeys([*self.ghosts, *near]))
        allowed = {"", *symbols}
        forms = [f for f, _ in step.facts if all(n in allowed or _bare(n)[:1] == "x" for n in f)]
        self.facts, self.symbols = forms, sorted({n for f in forms for n in f if n} | set(symbols))
        noises = sorted({_bare(n) for n in self._names(step)} & set(self.runs.noises.rates))
        shifts = {n: self._shift(n, symbols) for n in noises}
        self.shifts[i, j] = shifts
        values = gaps | shifts
        values |= {f"w{n}": {f"w{k}": c for k, c in of.items()} for n, of in values.items()}
        for (mine, _), (other, _) in step.pairs:
            self._nonnegative(self._difference(mine, other, values))
        if step.target is None:
            self._same(step.left, step.right, step, values)
            ahead: Unknown = {}
        else:
            k = self.search.places.index(step.target)
            states = zip(step.left[2][1:], step.right[2][1:], self.gaps[k], strict=True)
            for mine, other, gap in states:
                found = self._difference(*self._both(mine, other, step), values)
                wanted = self._put(gap, step.update)
                for key in {*found, *wanted}:
                    self.solver.add(found.get(key, 0) == wanted.get(key, 0))
            self._same(step.left[3], step.right[3], step, values)
            ahead = self._put(self.budgets[k], step.update)
        self.bounds[i, j] = self._paid(self.budgets[i], ahead, shifts)

    def _paid(
        self, budget: Unknown, ahead: Unknown, shifts: dict[str, Unknown]
    ) -> dict[str, Unknown]:
        """Require that the shifts are paid for, and bound their sizes."""
        bounds: dict[str, Unknown] = {}
        total = {key: budget.get(key, 0) - ahead.get(key, 0) for key in {*budget, *ahead}}
        for name, shift in shifts.items():
            bound = shift
            if name not in self.runs.noises.support:
                bound = self._form("c", self.symbols)
                for sign in (1, -1):
                    self._nonnegative({k: c + sign * shift.get(k, 0) for k, c in bound.items()})
            else:
                self._nonnegative(shift)
            bounds[name] = bound
            for key, c in bound.items():
                total[key] = total.get(key, 0) - number(self.z3, self.runs.noises.rates[name]) * c
        self._nonnegative(total)
        return bounds

    def _shift(self, name: str, symbols: list[str]) -> Unknown:
        if name not in self.runs.noises.whole:
            return self._form("n", symbols)
        self.count += 1
        return {"": self.z3.ToReal(self.z3.Int(f"n{self.count}"))}

    def _names(self, step: PairedStep) -> set[str]:
        def inside(value: Any) -> set[str]:  # noqa: ANN401
            if isinstance(value, list) and value[:1] == ["value"]:
                return set(value[1])
            return {n for part in value for n in inside(part)} if isinstance(value, list) else set()

        pairs = {n for pair in step.pairs for f, _ in pair for n in f}
        return pairs | inside(step.left) | inside(step.right)

    def _both(self, mine: Any, other: Any, step: PairedStep) -> tuple[Form, Form]:  # noqa: ANN401
        return put(form(mine[1]), step.maps[0]), put(form(other[1]), step.maps[1])

    def _difference(self, mine: Form, other: Form, values: dict[str, Unknown]) -> Unknown:
        """How much larger a form is on the right; state and noise themselves must cancel."""
        apart: Unknown = {n: number(self.z3, c) for n, c in plus(other, mine, -_ONE).items()}
        for name in apart:
            if _bare(name) in self.runs.noises.rates or _bare(name)[:1] == "s":
                raise NotUnderstood("neighbors compare or release different things on one path")
        for name, c in other.items():
            for key, unknown in values.get(name, {}).items():
                apart[key] = apart.get(key, 0) + number(self.z3, c) * unknown
        return apart

    def _same(self, mine: Any, other: Any, step: PairedStep, values: dict[str, Unknown]) -> None:  # noqa: ANN401
        if isinstance(mine, list) and isinstance(other, list) and len(mine) == len(other):
            if mine[:1] == ["value"] == other[:1]:
                for c in self._difference(*self._both(mine, other, step), values).values():
                    self.solver.add(c == 0)
                return
            for a, b in zip(mine, other, strict=True):
                self._same(a, b, step, values)
        elif type(mine) is not type(other) or mine != other:
            raise NotUnderstood("neighbors may release different things on one path")

    def _put(self, unknown: Unknown, update: dict[str, Form]) -> Unknown:
        total: Unknown = {}
        for name, c in unknown.items():
            for key, factor in update.get(name, {name: _ONE}).items():
                total[key] = total.get(key, 0) + number(self.z3, factor) * c
        return total

    def _nonnegative(self, wanted: Unknown) -> None:
        """Require that a form is ≥ 0 wherever the facts of the step hold."""
        self.count += 1
        factors = [self.z3.Real(f"m{self.count} {k}") for k in range(len(self.facts))]
        for factor in factors:
            self.solver.add(factor >= 0)
        for key in {"", *self.symbols, *wanted}:
            terms = [
                number(self.z3, f[key]) * m
                for f, m in zip(self.facts, factors, strict=True)
                if key in f
            ]
            total = self.z3.Sum(terms) if terms else number(self.z3, Fraction(0))
            have = wanted.get(key, number(self.z3, Fraction(0)))
            self.solver.add(have == total if key else have >= total)

    def solved(self) -> tuple[list[list[Form]], list[Form], _Shifts, _Shifts]:
        if self.solver.check() != self.z3.sat:
            raise NotUnderstood(
                "no gaps and translations were found that stay from record to record"
            )
        read = functools.partial(values_in, self.solver.model())
        shifts = {
            key: {n: s for n, unknown in of.items() if (s := read(unknown))}
            for key, of in self.shifts.items()
        }
        bounds = {key: {n: read(b) for n, b in of.items()} for key, of in self.bounds.items()}
        return (
            [[read(g) for g in gaps] for gaps in self.gaps],
            list(map(read, self.budgets)),
            shifts,
            bounds,
        )


def _bare(name: str) -> str:
    """The symbol without its "per record"."""
    return name.removeprefix("w")
