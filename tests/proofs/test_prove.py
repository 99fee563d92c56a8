"""`dpverify prove` as a user meets it."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from dpverify.cli.verbs.prove import prove
from dpverify.errors import InvalidParameter
from dpverify.theorems import Evidence, Step
from proofs.support import catalog
from proofs.support.form import Proof

APP = typer.Typer()
APP.command()(prove)
RUNNER = CliRunner()


def test_one_theorem_shows_its_steps() -> None:
    shown = RUNNER.invoke(APP, ["exact-profile"])
    assert shown.exit_code == 0
    assert "exact-profile: proved" in shown.stdout
    assert "no event beats p > x·q" in shown.stdout
    assert shown.stdout.count("holds") == 2


def test_only_what_a_theorem_needs_is_imported() -> None:
    code = (
        "import sys; from dpverify.cli import run; run(['prove', 'post-processing']); "
        "tops = {'.'.join(name.split('.')[:2]) for name in sys.modules}; "
        "print(sorted(n for n in tops if n.startswith('proofs.')), "
        "tops & {'dpverify.accounting', 'dpverify.auditing', 'cvxpy', 'sklearn', 'scipy'})"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=catalog.ROOT
    )
    assert ran.stdout.splitlines()[-1] == "['proofs.post_processing', 'proofs.support'] set()"


def test_a_refutation_shows_its_counterexample() -> None:
    shown = RUNNER.invoke(APP, ["notes-erm-radius"])
    assert shown.exit_code == 0
    assert "notes-erm-radius: refuted" in shown.stdout
    for label in ("claimed:", "instance:", "truth:", "instead:"):
        assert label in shown.stdout


def test_json_is_one_object() -> None:
    shown = RUNNER.invoke(APP, ["notes-logarithm-convex", "--json", "--mutations"])
    assert shown.exit_code == 0
    [found] = json.loads(shown.stdout)["theorems"]
    assert found["verdict"] == "refuted"
    assert found["accepted_mutations"] == []
    assert found["counterexample"]["truth"] == "ln 2.5 > ln 2, as 6.25 > 4"
    assert found["steps"][0]["evidence"] == "exact"
    assert found["proof"] == "proofs/refuted/logarithm_is_convex.py"


def test_cited_theorems_say_what_they_take() -> None:
    shown = RUNNER.invoke(APP, ["objective-perturbation"])
    assert "objective-perturbation: cited" in shown.stdout
    assert "change of variables" in shown.stdout


def test_an_unknown_name_is_misuse() -> None:
    shown = RUNNER.invoke(APP, ["no-such-theorem"])
    assert isinstance(shown.exception, InvalidParameter)
    assert str(shown.exception).startswith("name='no-such-theorem' must be one of the ")


def false_step() -> Step:
    """1 = 2."""
    return Step("false", Evidence.EXACT, holds=False, scope="nothing")


@pytest.mark.parametrize("arguments", [[], ["exact-profile"], ["--json"]])
def test_a_step_that_fails_is_exit_code_one(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theorem = catalog.find("exact-profile").theorem
    broken = Proof(theorem=theorem, steps=(false_step,), mutations={"false": false_step})
    monkeypatch.setattr(catalog, "proofs", lambda: {theorem.name: broken})
    monkeypatch.setattr(catalog, "find", lambda _: broken)
    shown = RUNNER.invoke(APP, arguments)
    assert shown.exit_code == 1
    assert "failed" in shown.stdout


def test_a_mutation_that_passes_is_exit_code_one(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = catalog.find("exact-profile")
    blind = Proof(theorem=proof.theorem, steps=proof.steps, mutations={"blind": proof.steps[0]})
    monkeypatch.setattr(catalog, "proofs", lambda: {proof.theorem.name: blind})
    monkeypatch.setattr(catalog, "find", lambda _: blind)
    assert RUNNER.invoke(APP, ["exact-profile"]).exit_code == 0
    shown = RUNNER.invoke(APP, ["exact-profile", "--mutations"])
    assert shown.exit_code == 1
    assert "lets pass: blind" in shown.stdout
    table = RUNNER.invoke(APP, ["--mutations"])
    assert table.exit_code == 1
