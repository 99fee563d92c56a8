"""Every theorem that a claim, a bracket or a verdict can name is registered and has its proof."""

import ast
import re
from pathlib import Path

import pytest

import solvers.privacy.theorems
from dpverify import theorems
from dpverify.theorems import Theorem
from proofs.support.catalog import borrowed, citations, find, proofs, standing
from proofs.support.form import Verdict

ROOT = Path(__file__).parents[2]
HOMES = {"dpverify": theorems, "solvers": solvers.privacy.theorems}
NAMED = {
    f"{home}.{constant}": value
    for home, module in HOMES.items()
    for constant, value in vars(module).items()
    if isinstance(value, Theorem)
}
# What another library says of itself is a claim to be audited, and has no proof here.
FOREIGN = ROOT / "dpverify" / "auditing" / "adapters"
SOURCES = [
    path for home in HOMES for path in ROOT.glob(f"{home}/**/*.py") if FOREIGN not in path.parents
]


@pytest.mark.parametrize("constant", NAMED)
def test_a_theorem_that_code_names_has_a_proof(constant: str) -> None:
    theorem = NAMED[constant]
    proof = find(theorem.name)
    assert standing(proof) in {Verdict.PROVED, Verdict.ARGUED, Verdict.CITED, Verdict.CHECKED}
    assert proof.mutations
    assert theorem.proof is None or proof.theorem == theorem


def constructed(path: Path) -> list[int]:
    """Lines on which a module makes a Theorem; one that is read from a file has no name there."""
    source = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(source)) if "Theorem(" in source else ()
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Theorem"
        and "name" in {keyword.arg for keyword in node.keywords}
    ]


def test_theorems_are_made_in_one_place_only() -> None:
    """So that none can be named without the test above seeing it."""
    assert len(SOURCES) > 50
    elsewhere = {path: constructed(path) for path in SOURCES if path.name != "theorems.py"}
    assert not {path: lines for path, lines in elsewhere.items() if lines}
    assert all(constructed(Path(str(home.__file__))) for home in HOMES.values())


def test_two_homes_do_not_share_a_name() -> None:
    names = [theorem.name for theorem in NAMED.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", list(proofs()))
def test_what_is_cited_is_said(name: str) -> None:
    proof = find(name)
    if standing(proof) is Verdict.CITED:
        assert borrowed(proof)
    if standing(proof) in {Verdict.PROVED, Verdict.ARGUED}:
        assert citations(proof) == []


def test_citations_name_where_they_come_from() -> None:
    [cited] = citations(find("kifer-smith-thakurta"))
    assert cited.startswith("objective-perturbation: the change of variables")
    own, *_ = citations(find("objective-perturbation"))
    assert own.startswith("the change of variables")


def test_the_readme_lists_what_shipped_claims_rest_on_and_is_not_proved_here() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## How far the proofs go")[2].partition("\n## ")[0]
    told = {name for name in re.findall(r"`([a-z-]+)`", section) if name in proofs()}
    weak = {
        theorem.name
        for theorem in NAMED.values()
        if standing(find(theorem.name)) not in {Verdict.PROVED, Verdict.ARGUED}
    }
    assert told == weak


def test_the_table_of_verdicts_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "proofs.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \| (\d*) ?\| (\d+) \|$", text, re.MULTILINE)
    told = {name: int(now) for name, _, now in rows}
    found = [standing(find(name)) for name in proofs()]
    counted = {kind.value: found.count(kind) for kind in Verdict if kind is not Verdict.FAILED}
    assert told == {**counted, "all": len(found)}
    before = {name: int(then or 0) for name, then, _ in rows}
    assert before.pop("all") == sum(before.values())
