"""`dpverify prove` as a user meets it."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dpverify.cli.verbs.prove import prove, summary
from dpverify.errors import InvalidParameter
from dpverify.theorems import Step
from proofs.support import catalog
from proofs.support.checks import equal
from proofs.support.form import Clause, Proof

APP = typer.Typer()
APP.command()(prove)
RUNNER = CliRunner()


def test_one_theorem_shows_its_steps() -> None:
    shown = RUNNER.invoke(APP, ["exact-profile"])
    assert shown.exit_code == 0
    assert "exact-profile: proved with argument" in shown.stdout
    assert "argued, not executed:" in shown.stdout
    assert "clause “The smallest δ at ε" in shown.stdout
    assert "no event beats p > x·q" in shown.stdout
    assert shown.stdout.count("\nholds ") == 2


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
    assert "notes-erm-radius: refuted with argument" in shown.stdout
    for label in ("claimed:", "instance:", "truth:", "instead:", "asked:", "said:", "argued:"):
        assert label in shown.stdout


def test_json_is_one_object() -> None:
    shown = RUNNER.invoke(APP, ["notes-logarithm-convex", "--json", "--mutations"])
    assert shown.exit_code == 0
    [found] = json.loads(shown.stdout)["theorems"]
    assert found["verdict"] == "refuted"
    assert found["accepted_mutations"] == []
    assert found["counterexample"]["truth"] == "ln 2.5 > ln 2, as 6.25 > 4"
    assert found["counterexample"]["says"] == f"{found['statement']}."
    assert found["counterexample"]["argued"] == ""
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
    return Step("false", equal(1, 2), "nothing")


@pytest.mark.parametrize("arguments", [[], ["exact-profile"], ["--json"]])
def test_a_step_that_fails_is_exit_code_one(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theorem = catalog.find("exact-profile").theorem
    clause = Clause(theorem.statement, by=(false_step,), argued="words")
    broken = Proof(theorem=theorem, clauses=(clause,), mutations={"false": false_step})
    monkeypatch.setattr(catalog, "proofs", lambda: {theorem.name: broken})
    monkeypatch.setattr(catalog, "find", lambda _: broken)
    shown = RUNNER.invoke(APP, arguments)
    assert shown.exit_code == 1
    assert "failed" in shown.stdout


def test_a_mutation_that_passes_is_exit_code_one(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = catalog.find("exact-profile")
    blind = replace(proof, mutations={"blind": proof.steps[0]})
    monkeypatch.setattr(catalog, "proofs", lambda: {proof.theorem.name: blind})
    monkeypatch.setattr(catalog, "find", lambda _: blind)
    assert RUNNER.invoke(APP, ["exact-profile"]).exit_code == 0
    shown = RUNNER.invoke(APP, ["exact-profile", "--mutations"])
    assert shown.exit_code == 1
    assert "lets pass: blind" in shown.stdout
    table = RUNNER.invoke(APP, ["--mutations"])
    assert table.exit_code == 1


def test_a_mutation_is_rejected_by_a_step_and_its_clauses() -> None:
    shown = RUNNER.invoke(APP, ["leaky-response", "--mutations"])
    assert shown.exit_code == 0
    told = " ".join(shown.stdout.split())
    assert "no_event_exceeds_delta rejects “δ/2 suffices”: “Leaky randomized response" in told


def test_the_last_lines_are_for_newcomers() -> None:
    kinds = ["proved", "proved with argument", "cited", "checked on instances"]
    kinds += ["refuted", "refuted with argument", "failed"]
    more: dict[str, object] = {"seconds": 0.5, "shown_again": 1}
    more["not_shown_again"] = [{"goal": "x → 0", "reason": "a limit"}] * 2
    more["counterexample"] = {"says": "It is so."}
    answers = [{"name": f"notes-{k}", "verdict": k, **more} for k in kinds]
    *told, seconds = summary(answers, ["proofs/a.py raises ValueError: no"])
    assert told[4:7] == [
        "2 false statements of lecture notes, each refuted by a counterexample, as intended",
        "1 of these refuted: a formula that was computed to be false at the counterexample",
        "1 of these refuted with argument: 1 computed, by words that tie code to them",
    ]
    assert told[-2].startswith("2 FAILED")
    shown = "7 of 21 symbolic goals were shown again by a second checker; not: "
    assert told[-1].startswith(f"{shown}notes-proved (a limit) × 2, notes-proved with argument")
    assert seconds == "4 s"


BAD = {
    "raises.py": ("raise ValueError('no')", "proofs/raises.py raises ValueError: no"),
    "exits.py": ("raise SystemExit(0)", "proofs/exits.py raises SystemExit: 0"),
    "loops.py": (
        "while True:\n    pass",
        "proofs/loops.py does not end within 0.5 seconds",
    ),
    "empty.py": ("PROOF = 1", "proofs/empty.py must have a PROOF of a theorem that names"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_run_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, expected = BAD[name]
    home = catalog.ROOT / "proofs" / name
    known = catalog.find("notes-misclassification-loss")
    catalog.users(known.theorem)  # the sources are read while they are all there
    paths = [catalog.ROOT / str(known.theorem.proof), home]
    module = tmp_path / name
    module.write_text(source, encoding="utf-8")
    monkeypatch.setattr(catalog, "files", lambda: paths)
    monkeypatch.setattr(catalog, "PATIENCE", 0.5)
    given = import_module

    def imported(path: str) -> object:
        if path != f"proofs.{name.removesuffix('.py')}":
            return given(path)
        spec = spec_from_file_location(path, module)
        assert spec is not None
        made = module_from_spec(spec)
        assert spec.loader is not None
        spec.loader.exec_module(made)
        return made

    monkeypatch.setattr(catalog, "import_module", imported)
    catalog._loaded.cache_clear()
    try:
        shown = RUNNER.invoke(APP, [])
    finally:
        catalog._loaded.cache_clear()
    assert shown.exit_code == 1
    assert f"failed: {expected}" in shown.stdout
    assert "1 false statements of lecture notes" in shown.stdout


def test_two_files_that_name_one_theorem_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is run; the second is one line."""
    known = catalog.find("post-processing")
    first = str(known.theorem.proof)
    paths = [catalog.ROOT / first, catalog.ROOT / "proofs" / "twice.py"]
    monkeypatch.setattr(catalog, "files", lambda: paths)
    monkeypatch.setattr(catalog, "_proof", lambda _: known)
    catalog._loaded.cache_clear()
    try:
        shown = RUNNER.invoke(APP, [])
    finally:
        catalog._loaded.cache_clear()
    assert shown.exit_code == 1
    line = f"failed: proofs/twice.py names the theorem post-processing, as {first} does"
    assert line in shown.stdout
    assert "1 proved with argument" in shown.stdout


def test_a_step_that_loops_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = catalog.find("post-processing")

    def loops() -> Step:
        """It never ends."""
        while True:
            pass

    endless = replace(proof, library=(loops,))
    monkeypatch.setattr(catalog, "PATIENCE", 0.5)
    monkeypatch.setattr(catalog, "proofs", lambda: {proof.theorem.name: endless})
    monkeypatch.setattr(catalog, "broken", dict)
    monkeypatch.setattr(catalog, "find", lambda _: endless)
    shown = RUNNER.invoke(APP, [])
    assert shown.exit_code == 1
    assert "failed: post-processing does not end within 0.5 seconds" in shown.stdout
