"""Every symbolic goal goes to other checkers as well: one of our own without sympy, and z3 where it is installed."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import sympy as sp

from dpverify.theorems import Step
from proofs.support import functions
from proofs.support.recheck import Undecided, has_no_poles, holds
from proofs.support.spelling import read
from proofs.support.symbolic import Expression, Goal

_PATIENCE = 2000  # milliseconds that z3 may take for one goal


def exported(goal: Goal) -> dict[str, Any] | None:
    """A goal as trees that JSON holds; None for limits, which are no formulas."""
    if goal.relation not in {"=", "≥", ">"}:
        return None
    atoms = _Atoms(set(map(str, goal.variables)))
    made = {
        "text": str(goal),
        "left": _tree(sp.sympify(goal.left), atoms),
        "relation": goal.relation,
        "right": _tree(sp.sympify(goal.right), atoms),
        "signs": {str(name): goal.sign(name) for name in goal.variables},
        "atoms": list(atoms.values()),
    }
    if atoms:
        sides = {"left": goal.left, "right": goal.right}
        made["functions"] = {side: _functions(sp.sympify(each)) for side, each in sides.items()}
    return made


def goals_of(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """All goals of some steps, each once."""
    found = (exported(goal) for goal in _goals(steps))
    return [goal for goal in found if goal is not None]


def _goals(steps: Iterable[Step]) -> list[Goal]:
    listed = (goal for step in steps for goal in step.check.goals if isinstance(goal, Goal))
    return list({str(goal): goal for goal in listed}.values())


class _Atoms(dict[Expression, str]):
    """Names for what is no arithmetic, none of which is a variable's."""

    def __init__(self, taken: set[str]) -> None:
        super().__init__()
        self.free = (name for name in map("atom{}".format, count()) if name not in taken)

    def __missing__(self, expression: Expression) -> str:
        self[expression] = next(self.free)
        return self[expression]


def _tree(expression: Expression, atoms: _Atoms) -> Any:  # noqa: ANN401  # JSON
    if expression.is_Symbol:
        return str(expression)
    if expression.is_Rational:
        return ["number", str(expression)]
    if expression.is_Add:
        return ["+", *(_tree(part, atoms) for part in expression.args)]
    if expression.is_Mul:
        return ["*", *(_tree(part, atoms) for part in expression.args)]
    if expression.is_Pow and expression.exp.is_Integer and abs(int(expression.exp)) <= 12:
        return ["^", _tree(expression.base, atoms), int(expression.exp)]
    return atoms[expression]


def _functions(expression: Expression) -> Any:  # noqa: ANN401  # JSON
    """The tree with its functions; a kind that nobody knows decides nothing."""
    if expression.is_Symbol or expression.is_Rational:
        return _tree(expression, _Atoms(set()))
    if expression is sp.E:
        return ["exp", ["number", "1"]]
    if not expression.args:
        return ["constant", str(expression)]
    parts = [_functions(part) for part in expression.args]
    if expression.is_Pow:
        whole = expression.exp.is_Integer and abs(int(expression.exp)) <= 12
        return ["^", parts[0], int(expression.exp)] if whole else ["power", *parts]
    kind = "+" if expression.is_Add else "*" if expression.is_Mul else type(expression).__name__
    return [kind, *parts]


def count_goals(steps: Iterable[Step]) -> int:
    """How many different goals some steps have, limits among them."""
    return len(_goals(steps))


def not_shown_again(steps: Iterable[Step]) -> dict[str, str]:
    """Goals that no checker but sympy shows, each with the reason."""
    found = {}
    for goal in _goals(steps):
        made = exported(goal)
        if made is None:
            found[str(goal)] = "a limit"
            continue
        try:
            _shows(made)
        except Undecided as reason:
            found[str(goal)] = str(reason)
    return found


def _shows(goal: dict[str, Any]) -> bool:
    """Whether a checker of our own shows the goal: by arithmetic, else by normal forms of functions."""
    try:
        return holds(goal)
    except Undecided:
        if not goal["atoms"]:
            raise
        return functions.holds(goal)


def shows_everywhere(goal: object, text: str) -> bool:
    """Whether the goal is this text, and recheck shows what the text says, read without sympy, without a pole.

    A pole is a denominator that may vanish for some values of the variables: sympy cancels it.
    """
    if type(goal) is not Goal or not goal.is_plain or str(goal) != text:
        return False
    made = read(text)
    try:
        return made is not None and holds(made) and has_no_poles(made)
    except Undecided:
        return False


def disagreements(steps: Iterable[Step]) -> list[str]:
    """Goals that sympy was said to show and that another checker finds false."""
    found = []
    for goal in goals_of(step for step in steps if step.holds):
        try:
            if not holds(goal):
                found.append(f"sympy shows, and recheck does not: {goal['text']}")
        except Undecided:
            pass
        if _z3_refutes(goal):
            found.append(f"sympy shows, and z3 refutes: {goal['text']}")
    return found


def _z3_refutes(goal: dict[str, Any]) -> bool:
    """Whether z3 finds values of the variables that break the goal; atoms may have any value, so not with those."""
    try:
        import z3  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra, without types
    except ImportError:
        return False
    if goal["atoms"]:
        return False
    solver = z3.SolverFor("QF_NRA", ctx=z3.Context())
    solver.set("timeout", _PATIENCE)
    numbers = {name: z3.Real(name, solver.ctx) for name in goal["signs"]}
    for name, sign in goal["signs"].items():
        if sign:
            solver.add(numbers[name] > 0 if sign == ">" else numbers[name] >= 0)
    left, right = (_term(goal[side], numbers, solver) for side in ("left", "right"))
    broken = {"=": left != right, "≥": left < right, ">": left <= right}[goal["relation"]]
    solver.add(broken)
    return bool(solver.check() == z3.sat)


def _term(tree: Any, numbers: dict[str, Any], solver: Any) -> Any:  # noqa: ANN401  # z3 has no types
    import z3  # noqa: PLC0415

    if isinstance(tree, str):
        return numbers[tree]
    kind, *parts = tree
    if kind == "number":
        return z3.RealVal(parts[0], solver.ctx)
    if kind == "^":
        base, exponent = _term(parts[0], numbers, solver), int(parts[1])
        result = z3.RealVal(1, solver.ctx)
        for _ in range(abs(exponent)):
            result = result * base
        if exponent >= 0:
            return result
        solver.add(base != 0)  # only where both sides are defined
        return z3.RealVal(1, solver.ctx) / result
    terms = [_term(part, numbers, solver) for part in parts]
    total = terms[0]
    for term in terms[1:]:
        total = total + term if kind == "+" else total * term
    return total
