"""Goals as Coq checks them, where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest
import sympy as sp
from typer.testing import CliRunner

from dpverify.theorems import Step
from proofs.support.catalog import proofs, run_with_uses
from proofs.support.coq import coq_file
from proofs.support.recheck import tally
from proofs.support.second import goals_of
from proofs.support.symbolic import nonnegative, positive, same
from tests.proofs.test_prove import APP

X, Y = sp.symbols("x y", nonnegative=True)
R, S = sp.symbols("r s", real=True)
P = sp.Symbol("p", positive=True)
GOALS = goals_of(
    [
        Step("identity", same((X + Y) ** 2, X**2 + 2 * X * Y + Y**2)),
        Step("fractions", same(1 / (1 + X) + X / (1 + X), 1)),
        Step("nested", same(1 / (1 + 1 / (1 + X)), (1 + X) / (2 + X))),
        Step("an atom", same(sp.exp(R) * 2, sp.exp(R) + sp.exp(R))),
        Step("sign", nonnegative(1 - X / (X + Y + 1), (X, Y))),
        Step("squares", nonnegative(R**2 * X + S**4, (X, Y))),
        Step("an unknown sign below", nonnegative(R / (R * X + R), (X,))),
        Step("strict", positive((P + 1) / (P + 2))),
        Step("more", same(sp.log(P * P), 2 * sp.log(P))),
    ]
)

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="coqc is not there: the system's package is called coq"
)


def accepted(text: str, folder: Path) -> bool:
    path = folder / "goals.v"
    path.write_text(text, encoding="utf-8")
    ran = subprocess.run(["coqc", "-q", str(path)], capture_output=True, text=True, check=False)
    return ran.returncode == 0


def test_what_is_arithmetic_is_stated() -> None:
    text = coq_file("made", 'a "statement" with (* marks *)', GOALS)
    assert text.count("\nTheorem ") == tally(GOALS)[0] == len(GOALS) - 1
    assert text.count("needs more than arithmetic") == 1
    assert "Admitted" not in text
    assert "Axiom" not in text


@needs_coq
def test_coq_shows_each_kind_of_goal(tmp_path: Path) -> None:
    assert accepted(coq_file("made", "goals of every kind", GOALS), tmp_path)


@needs_coq
@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("= ((v0_x ^ 2)", "= ((v0_x ^ 3)"),  # an identity
        ("with ((1) + (1) * (v1_y ^ 1))", "with ((2) + (1) * (v1_y ^ 1))"),  # a certificate
        (">= (0).", "> (1)."),  # a statement
    ],
)
def test_coq_rejects_what_is_false(given: str, wrong: str, tmp_path: Path) -> None:
    text = coq_file("made", "goals of every kind", GOALS)
    assert given in text
    assert not accepted(text.replace(given, wrong, 1), tmp_path)


def test_a_theorem_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "leaky.v"
    assert CliRunner().invoke(APP, ["leaky-response", "--export", str(path)]).exit_code == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("(* leaky-response: Leaky randomized response")
    assert text.count("\nTheorem ") >= 5


def test_other_files_are_refused() -> None:
    shown = CliRunner().invoke(APP, ["leaky-response", "--export", "leaky.tex"])
    assert str(shown.exception) == "export='leaky.tex' must end with .json or .v"


@needs_coq
@pytest.mark.slow
def test_coq_shows_every_goal_that_is_arithmetic(tmp_path: Path) -> None:
    found = {}
    for run, _ in run_with_uses(proofs(), {}):
        for goal in goals_of(shown.step for shown in run.shown):
            found[goal["text"]] = goal
    text = coq_file("all", "every goal of every proof", list(found.values()))
    assert text.count("\nTheorem ") >= 500
    assert accepted(text, tmp_path)
