"""A second look at what sympy shows: without sympy, and by z3."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import sympy as sp
from typer.testing import CliRunner

from dpverify.theorems import Check, Evidence, Step
from proofs.support import functions, recheck, second
from proofs.support.catalog import ROOT
from proofs.support.recheck import Undecided, holds
from proofs.support.second import disagreements, exported, goals_of, not_shown_again
from proofs.support.symbolic import Goal, nonnegative, positive, same, tends_to
from tests.proofs.test_prove import APP

X, Y = sp.symbols("x y", nonnegative=True)
R = sp.Symbol("r", real=True)
P = sp.Symbol("p", positive=True)
MORE = ("collections.abc", "functools", "math", "proofs.support.recheck")


@pytest.mark.parametrize(
    "check",
    [
        same((X + Y) ** 2, X**2 + 2 * X * Y + Y**2),
        same(1 / (1 + X) + X / (1 + X), 1),
        nonnegative((X + Y) / (1 + X) - Y / (1 + X), (X, Y)),
        nonnegative(1 - X / (X + Y + 1), (X, Y)),
        positive(P + 1),
        same(sp.exp(R) * 2, sp.exp(R) + sp.exp(R)),
    ],
)
def test_what_is_shown_is_shown_again(check: Check) -> None:
    [goal] = goals_of([Step("made", check)])
    assert check.holds
    assert holds(goal)
    assert not_shown_again([Step("made", check)]) == {}
    assert disagreements([Step("made", check)]) == []


def false_goal(left: object, relation: str, right: object) -> Step:
    """A step that says that it shows what is false."""
    names = tuple(sorted(sp.sympify(left - right).free_symbols, key=str))  # type: ignore[operator]
    made = Goal(left, relation, right, names)
    return Step("lie", Check(holds=True, evidence=Evidence.SYMBOLIC, goals=(made,)))


@pytest.mark.parametrize(
    ("left", "relation", "right"),
    [
        ((X + Y) ** 2, "=", X**2 + Y**2),
        (X / (1 + Y), "=", X),
        (X - Y, "≥", sp.Integer(0)),
        (R, "≥", sp.Integer(0)),
        (X, ">", sp.Integer(0)),
        (X**2 - 2 * X + sp.Rational(99, 100), "≥", sp.Integer(0)),
    ],
)
def test_what_is_false_is_seen(left: object, relation: str, right: object) -> None:
    pytest.importorskip("z3")
    assert disagreements([false_goal(left, relation, right)])


def test_identities_are_seen_without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "_z3_refutes", lambda _: False)
    [told] = disagreements([false_goal((X + Y) ** 2, "=", X**2 + Y**2)])
    assert told.startswith("sympy shows, and recheck does not: ")


def test_a_variable_is_no_atom() -> None:
    name = sp.Symbol("atom0", positive=True)
    made = exported(Goal(name, "=", sp.pi, (name,)))
    assert made is not None
    assert made["atoms"] == ["atom1"]
    with pytest.raises(Undecided):
        holds(made)


@pytest.mark.parametrize(
    ("left", "right"),
    [(sp.exp(sp.Symbol("pi")), sp.exp(sp.pi)), (sp.exp(sp.I * X) ** 2, sp.exp(sp.I * X) ** 2)],
)
def test_only_pi_is_a_constant_and_no_variable_is(left: sp.Expr, right: sp.Expr) -> None:
    names = tuple(left.free_symbols | right.free_symbols)
    made = exported(Goal(left, "=", right, names))
    assert made is not None
    with pytest.raises(Undecided):
        functions.holds(made)


def test_what_needs_more_than_arithmetic_is_left_open() -> None:
    square = exported(Goal(X**2 - 2 * X * Y + Y**2, "≥", sp.Integer(0), (X, Y)))
    assert square is not None
    with pytest.raises(Undecided):
        holds(square)
    limit = [Step("made", tends_to(X / Y, Y, sp.oo, 0))]
    assert goals_of(limit) == []
    assert list(not_shown_again(limit).values()) == ["a limit"]


FORMS = [
    (sp.exp(R) * sp.exp(-R) + R, 1 + R),
    (sp.exp(R + P) / sp.exp(P), sp.exp(R)),
    (sp.tanh(R), (sp.exp(2 * R) - 1) / (sp.exp(2 * R) + 1)),
    (P**R * P ** (1 - R), P),
    (sp.sqrt(2) * sp.sqrt(P) * sp.sqrt(8 * P), 4 * P),
    ((R**2 + 1) ** sp.Rational(-3, 2), 1 / (sp.sqrt(R**2 + 1) * (R**2 + 1))),
    (sp.log(P**3 / 4), 3 * sp.log(P) - 2 * sp.log(2)),
    (sp.erf(-R) * sp.erf(R), -(sp.erf(R) ** 2)),
    (sp.gamma(P + 2) / sp.gamma(P), P * (P + 1)),
    (
        sp.gamma(P + 1) * sp.gamma(P + sp.Rational(1, 2)) / sp.gamma(P),
        P * sp.gamma(P + sp.Rational(1, 2)),
    ),
    (sp.sin(R) ** 2 + sp.cos(R) ** 2, sp.Integer(1)),
    (sp.exp(P * sp.log(P)), P**P),
]


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_functions_have_one_form(left: object, right: object) -> None:
    """And what differs from it by a little has another."""
    made = exported(Goal(left, "=", right, (P, R)))
    assert made is not None
    if not made["atoms"]:  # sympy saw it before
        return
    assert functions.holds(made)
    side = made["functions"]["right"]
    for wrong in (["+", side, ["number", "1/1000"]], ["*", side, ["number", "1001/1000"]]):
        made["functions"]["right"] = wrong
        with pytest.raises(Undecided):
            functions.holds(made)


@pytest.mark.parametrize(
    ("left", "relation"),
    [
        (sp.log(P), "≥"),
        (sp.exp(R) - 1, "≥"),
        (sp.erf(P), "≥"),  # true, and beyond single terms
        (R * sp.exp(R), "≥"),
        (X * sp.exp(R), ">"),
        (sp.sqrt(R), "≥"),
        (sp.sqrt(X + R**2), ">"),  # 0 where both are 0
    ],
)
def test_signs_that_terms_do_not_show_are_left_open(left: object, relation: str) -> None:
    made = exported(Goal(left, relation, sp.Integer(0), (P, R, X)))
    assert made is not None
    with pytest.raises(Undecided):
        functions.holds(made)


@pytest.mark.parametrize(
    "tree",
    [
        ["gamma", ["number", "0"]],
        ["log", ["number", "0"]],
        ["power", ["number", "0"], ["number", "1/2"]],
        ["log", "r"],
        ["power", "r", ["number", "1/2"]],
        ["^", ["+", "p", ["*", ["number", "-1"], "p"]], -1],
        ["zeta", "p"],
    ],
)
def test_what_may_not_be_defined_is_left_open(tree: list[object]) -> None:
    goal = {
        "signs": {"p": ">", "r": ""},
        "relation": "=",
        "functions": {"left": tree, "right": tree},
    }
    with pytest.raises(Undecided):
        functions.holds(goal)
    one = {"left": ["gamma", ["number", "1"]], "right": ["number", "0"]}
    with pytest.raises(Undecided):
        functions.holds({**goal, "functions": one})


def test_positive_terms_are_positive() -> None:
    made = exported(Goal(sp.exp(-R) * (R**2 + 1) ** sp.Rational(-3, 2), ">", sp.Integer(0), (R,)))
    assert made is not None
    assert functions.holds(made)


def test_an_exported_theorem_is_checked_by_python_alone(tmp_path: Path) -> None:
    path = tmp_path / "theorem.json"
    shown = CliRunner().invoke(APP, ["leaky-response", "--export", str(path)])
    assert shown.exit_code == 0
    script = ROOT / "proofs" / "support" / "recheck.py"
    told = subprocess.run(
        [sys.executable, "-I", str(script), str(path)], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("leaky-response: ")
    assert told.stdout.rstrip().endswith(", 0 false")
    theorem = json.loads(path.read_text(encoding="utf-8"))
    identity = next(goal for goal in theorem["goals"] if goal["relation"] == "=")
    identity["right"] = ["number", "2"]
    path.write_text(json.dumps(theorem), encoding="utf-8")
    assert recheck.main(str(path)) == 1


@pytest.mark.parametrize(("name", "most", "more"), [("recheck", 200, ()), ("functions", 300, MORE)])
def test_the_second_checkers_are_short_and_share_no_code(
    name: str, most: int, more: tuple[str, ...]
) -> None:
    source = (ROOT / "proofs" / "support" / f"{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= most
    tree = ast.parse(source)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    assert imported <= {"json", "sys", "fractions", "pathlib", "typing", *more}


def test_export_needs_a_name() -> None:
    shown = CliRunner().invoke(APP, ["--export", "theorem.json"])
    assert str(shown.exception) == "export='theorem.json' must come with the name of a theorem"


def test_a_disagreement_fails_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second, "disagreements", lambda _: ["sympy shows, and z3 refutes: 1 = 2"])
    shown = CliRunner().invoke(APP, ["zcdp-composition"])
    assert shown.exit_code == 1
    assert "z3 refutes" in shown.stdout
