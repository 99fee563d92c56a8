"""Find contradictions of linear inequalities with z3: multipliers that show them, or a point."""

from fractions import Fraction
from typing import Any, TypeAlias

from dpverify.errors import NotSupported

Form: TypeAlias = dict[str, Fraction]
Fact: TypeAlias = tuple[Form, bool]


class FreshSolver:
    """A z3 solver in a fresh context, so that answers do not depend on earlier questions."""

    def __init__(self) -> None:
        self._z3 = _imported()
        self._context = self._z3.Context()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = getattr(self._z3, name)
        if name in {"Real", "Int", "RealVal", "SolverFor"}:
            return lambda given: found(given, self._context)
        if name in {"Solver", "Optimize"}:
            return lambda: found(ctx=self._context)
        return found


def _imported() -> Any:  # noqa: ANN401
    """The z3 module; raise with how to install it."""
    try:
        import z3  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra
    except ImportError:
        raise NotSupported(
            "certifying by alignments needs z3: install dpverify with the extra certify"
        ) from None
    return z3


class Contradictions:
    """Finds multipliers, and caches them."""

    def __init__(self) -> None:
        self.z3 = FreshSolver()
        self._known: dict[Any, dict[str, str] | None] = {}
        self.asked = 0

    def multipliers(self, facts: list[Fact]) -> dict[str, str] | None:
        """λ ≥ 0 by index, with Σλ·fact negative (0 if a fact is strict); None if there are none."""
        key = tuple((tuple(sorted(form.items())), strict) for form, strict in facts)
        if key not in self._known:
            self._known[key] = _quick(facts) or self._solved(facts)
        return self._known[key]

    def _solved(self, facts: list[Fact]) -> dict[str, str] | None:
        z3 = self.z3
        self.asked += 1
        relevant = _relevant(facts)
        factors = {i: z3.Real(f"m{i}") for i in relevant}
        ask = z3.SolverFor("QF_LRA")
        ask.set("timeout", 10_000)
        ask.set(ctrl_c=False)  # an interrupt is for Python
        columns: dict[str, list[Any]] = {}
        for i in relevant:
            ask.add(factors[i] >= 0)
            for name, c in facts[i][0].items():
                columns.setdefault(name, []).append(factors[i] * number(z3, c))
        for name, terms in columns.items():
            if name:
                ask.add(z3.Sum(terms) == 0)
        constant = z3.Sum(columns.get("", [])) if "" in columns else z3.RealVal(0)
        strict = [factors[i] for i in relevant if facts[i][1]]
        options = [constant == -1]
        if strict:
            options.append(z3.And(constant <= 0, z3.Sum(strict) == 1))
        ask.add(z3.Or(options))
        if ask.check() != z3.sat:
            return None
        model = ask.model()
        found = {i: fraction(model.eval(m, model_completion=True)) for i, m in factors.items()}
        return {str(i): str(m) for i, m in found.items() if m}


def number(z3: Any, value: Fraction) -> Any:  # noqa: ANN401
    return z3.RealVal(str(value))


def fraction(value: Any) -> Fraction:  # noqa: ANN401
    if hasattr(value, "numerator_as_long"):
        return Fraction(value.numerator_as_long(), value.denominator_as_long())
    return Fraction(value.as_long())


def values_in(model: Any, unknown: dict[str, Any]) -> Form:  # noqa: ANN401  # a model of z3
    """The form with the solved values as coefficients; zeros are left out."""
    found = {k: fraction(model.eval(v, model_completion=True)) for k, v in unknown.items()}
    return {name: value for name, value in found.items() if value}


def form_as_texts(value: Form) -> dict[str, str]:
    """A form as a certificate stores it, names in order."""
    return {name: str(value[name]) for name in sorted(value)}


def _quick(facts: list[Fact]) -> dict[str, str] | None:
    """A single fact, or two opposite ones, that are contradictory by themselves."""
    seen: dict[Any, tuple[int, Fraction, bool]] = {}
    for i, (form, strict) in enumerate(facts):
        constant = form.get("", Fraction())
        rest = {n: c for n, c in form.items() if n}
        if not rest:
            if constant < 0 or (strict and constant == 0):
                return {str(i): "1"}
            continue
        opposite = frozenset((n, -c) for n, c in rest.items())
        for j, other, other_strict in [seen[opposite]] if opposite in seen else []:
            if constant + other < 0 or (constant + other == 0 and (strict or other_strict)):
                return {str(i): "1", str(j): "1"}
        key = frozenset(rest.items())
        if key not in seen or constant < seen[key][1] or (constant == seen[key][1] and strict):
            seen[key] = (i, constant, strict)
    return None


def _relevant(facts: list[Fact]) -> list[int]:
    """The facts whose symbols all occur with both signs; other facts have multiplier 0."""
    left = set(range(len(facts)))
    while True:
        signs: dict[str, set[bool]] = {}
        for i in left:
            for name, c in facts[i][0].items():
                signs.setdefault(name, set()).add(c > 0)
        alone = {n for n, both in signs.items() if n and len(both) == 1}
        gone = {i for i in left if alone & set(facts[i][0])}
        if not gone:
            return sorted(left)
        left -= gone
