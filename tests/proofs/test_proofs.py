"""Every theorem that code names has a file that runs."""

import ast
import subprocess
import sys

import pytest

from dpverify.theorems import REGISTRY, Evidence, Theorem
from proofs.support.catalog import ROOT, broken, files, find, homes, proofs, standing
from proofs.support.form import Verdict
from proofs.support.notes import NOTES, PUBLISHED, Statement, Status
from proofs.support.readme import README, render

NAMES = list(proofs())
STATEMENTS = [each for listed in (NOTES | PUBLISHED).values() for each in listed]
FALSE = {Verdict.REFUTED, Verdict.REFUTED_ARGUED}


@pytest.mark.parametrize("theorem", REGISTRY, ids=lambda t: t.name)
def test_each_registered_theorem_has_its_proof(theorem: Theorem) -> None:
    assert find(theorem.name).theorem is theorem
    assert standing(find(theorem.name)) not in FALSE


@pytest.mark.parametrize("name", NAMES)
def test_each_proof_comes_to_its_verdict(name: str) -> None:
    """Each proof is run once; those that it uses have a test of their own.

    No clause rests on floats alone: one that has steps has a step that is more.
    """
    proof = find(name)
    run = proof.run()
    assert run.problems == ()
    used = {theorem: standing(find(theorem.name)) for theorem in proof.uses}
    assert run.verdict(used) is standing(proof)
    assert all(shown.formula and shown.step.scope for shown in run.shown)
    for clause in proof.clauses:
        kinds = {run.steps[function].step.evidence for function in clause.by}
        assert kinds != {Evidence.NUMERIC}, clause.says


def test_no_proof_labels_its_own_evidence() -> None:
    """Evidence comes from the comparison that was made: proof files make and change no `Check`."""
    for path in files():
        source = path.read_text(encoding="utf-8")
        if not any(word in source for word in _FORGING):
            continue
        tree = ast.parse(source)
        called = {node.func.id for node in ast.walk(tree) if _named(node)}  # type: ignore[attr-defined]
        assert not called & {"Check", "Goal", "replace", "setattr"}, path
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not names & {"Evidence", "__setattr__", "_shown", "_compared"}, path


_FORGING = ("Check", "Goal", "Evidence", "replace", "setattr", "_shown", "_compared")


def _named(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_one_file_a_theorem() -> None:
    assert broken() == {}
    assert len(files()) == len(NAMES) >= 50
    paths = {path.relative_to(ROOT).as_posix() for path in files()}
    assert {find(name).theorem.proof for name in NAMES} == paths


def test_names_are_read_off_the_sources_without_running_them() -> None:
    assert homes() == {name: find(name).theorem.proof for name in NAMES}


def test_one_proof_imports_what_it_needs_and_no_other() -> None:
    code = (
        "import sys; from proofs.support.catalog import find; find('post-processing'); "
        "print(sum(name.startswith('proofs.') for name in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert 3 <= int(told.stdout) <= 10


def test_the_headline_errors_are_refuted() -> None:
    refuted = [name for name in NAMES if standing(find(name)) in FALSE]
    assert {"notes-erm-radius", "notes-objective-perturbation-gaussian"} <= set(refuted)
    assert all(name.startswith(("notes-", "published-")) for name in refuted)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.text)
def test_each_statement_of_others_is_settled_or_says_why_not(statement: Statement) -> None:
    verdicts = [standing(find(name)) for name in statement.theorems]
    assert verdicts or statement.remark
    if statement.status in {Status.RIGHT, Status.LOOSE}:
        assert not FALSE & set(verdicts)
    if statement.status is Status.WRONG and verdicts:
        assert len(verdicts) == 1
        assert set(verdicts) <= FALSE


def test_only_a_notation_is_left_to_a_remark() -> None:
    unsettled = [statement.text for statement in STATEMENTS if not statement.theorems]
    assert unsettled == ["population loss E[L(w; x)]"]


def test_every_refutation_is_on_the_map() -> None:
    mapped = {name for statement in STATEMENTS for name in statement.theorems}
    assert {name for name in NAMES if standing(find(name)) in FALSE} <= mapped


def test_the_map_is_up_to_date() -> None:
    """`python -m proofs.support.readme` writes it."""
    assert README.read_text(encoding="utf-8") == render()
