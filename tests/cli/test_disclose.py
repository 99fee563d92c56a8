"""`dpverify disclose` and `dpverify check`: documents, exit codes, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

import dpverify as dpv
from dpverify.cli import run
from dpverify.disclosing import schema
from dpverify.disclosing.text import parsed

PARTS = ("gaussian(sigma=50)*1000", "--delta", "1e-6", "--relation", "add-remove")
FACTS = """
product: {name: Commute times, curators: [City], description: Means, intended_use: Planning,
  kind: summary statistics, region: Examples, published: 2026-03-01}
unit: {protected: person, record: person}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("facts.yaml").write_text(FACTS)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    return capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_document_is_written_and_stands_as_far_as_it_goes(capsys: Any) -> None:  # noqa: ANN401
    shown = told(capsys, "disclose", *PARTS, "--given", "facts.yaml", "--output", "d.yaml")
    assert shown == "ε ≤ 2.92161 at δ = 1e-06\ndisclosure: d.yaml\n"
    assert told(capsys, "check", "d.yaml").startswith("incomplete: nothing found wrong")
    told(capsys, "check", "d.yaml", "--require", "complete", code=2)
    review = json.loads(told(capsys, "check", "d.yaml", "--json"))
    assert review["verdict"] == "incomplete"
    assert review["numbers"] > 8
    text = Path("d.yaml").read_text()
    Path("d.yaml").write_text(text.replace("sigma: 50", "sigma: 51"))
    assert told(capsys, "check", "d.yaml", code=1).startswith("wrong: ")


@pytest.mark.usefixtures("folder")
def test_the_formats(capsys: Any) -> None:  # noqa: ANN401
    made = ("disclose", *PARTS, "--given", "facts.yaml")
    assert parsed(told(capsys, *made)) == json.loads(told(capsys, *made, "--json"))
    entry = parsed(told(capsys, *made, "--format", "registry"))
    assert entry["deployment"]["basic"]["data_product_type"] == "Summary statistics"
    assert json.loads(told(capsys, "disclose", "--schema")) == schema()
    told(capsys, *made, "--output", "d.json")
    assert json.loads(Path("d.json").read_text())["format"] == "dpverify disclosure"
    assert told(capsys, "check", "d.json").startswith("incomplete")


@pytest.mark.usefixtures("folder")
def test_labels_are_drawn_of_what_is_not_wrong(capsys: Any) -> None:  # noqa: ANN401
    made = ("disclose", *PARTS, "--output", "d.yaml")
    assert "label: a.html" in told(capsys, *made, "--label", "a.html")
    told(capsys, "check", "d.yaml", "--label", "b.svg")
    assert "PRIVACY LABEL" in Path("b.svg").read_text()
    Path("d.yaml").write_text(Path("d.yaml").read_text().replace("delta: 1.0e-06", "delta: 1e-5"))
    told(capsys, "check", "d.yaml", "--label", "c.svg", code=1)
    assert not Path("c.svg").exists()


@pytest.mark.usefixtures("folder")
def test_a_ledger_is_disclosed_and_its_file_verified(capsys: Any) -> None:  # noqa: ANN401
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    dpv.Ledger.open("b.ledger", budget=budget, relation=dpv.Relation.ADD_REMOVE)
    told(capsys, "disclose", "b.ledger", "--output", "d.yaml")
    assert "no theorem" not in told(capsys, "check", "d.yaml")
    budget = dpv.ApproxDP(epsilon=2.0, delta=1e-6)
    dpv.Ledger.open("b.ledger", budget=budget, relation=dpv.Relation.ADD_REMOVE, dataset="more")
    told(capsys, "disclose", "b.ledger", code=2)
    told(capsys, "disclose", "b.ledger", "--dataset", "more", "--output", "d.yaml")
    assert "wrong" not in told(capsys, "check", "d.yaml").replace("found wrong", "")


@pytest.mark.usefixtures("folder")
def test_a_witness_is_checked_by_its_numbers(capsys: Any) -> None:  # noqa: ANN401
    def bare(data: float, rng: Any) -> Any:  # noqa: ANN401
        return data + rng.laplace(scale=0.25)

    claim = dpv.PureDP(epsilon=1.0)
    found = dpv.audit(bare, left=0.0, right=1.0, claim=claim, seed=1, samples=2000)
    assert found.witness is not None
    found.witness.save("witness.json")
    assert told(capsys, "check", "witness.json", code=1).startswith("valid: refuted")
    held = json.loads(Path("witness.json").read_text())
    for counts, bound in ({"hits": 1}, 0.0), ({}, 99.0):
        damaged = held | {"counts": held["counts"] | counts, "epsilon_lower": bound}
        Path("damaged.json").write_text(json.dumps(damaged))
        assert told(capsys, "check", "damaged.json", code=2).startswith("not valid: ")
    assert json.loads(told(capsys, "check", "damaged.json", "--json", code=2))["valid"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("disclose",), "source=None must be given"),
        (("disclose", "poem(x=1)", "--relation", "add-remove"), "name='poem' must be one of"),
        (("disclose", *PARTS, "--format", "pdf"), "format='pdf' must be one of"),
        (("disclose", *PARTS, "--format", "registry"), "product.name must be given"),
        (("disclose", *PARTS, "--label", "a.pdf"), "label='a.pdf' must end in"),
        (("disclose", *PARTS, "--given", "no.yaml"), "file='no.yaml' must be readable"),
        (("disclose", *PARTS, "--output", "no/d.yaml"), "output="),
        (("check", "no.json"), "file='no.json' must be a file"),
        (("check", "no.yaml"), "file='no.yaml' must be readable"),
        (("check", "bomb.yaml"), "alias=*a at line 2 must be written out"),
        (("check", "tag.yaml"), "must be left out"),
        (("check", "large.json"), "must be a file of at most"),
        (("check", "bomb.yaml", "--require", "poem"), "require='poem' must be one of"),
        (("check", "bomb.yaml", "--seconds", "0"), "seconds=0.0 must be positive"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, tuple) else "",
)
@pytest.mark.usefixtures("folder")
def test_misuse_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bomb.yaml").write_text("a: &a [1]\nb: *a\n")
    Path("tag.yaml").write_text("a: !!python/object/apply:os.system ['touch hacked']\n")
    with Path("large.json").open("wb") as opened:
        opened.truncate(100_000_000)
    assert run(list(arguments)) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not Path("hacked").exists()


def test_what_is_no_document_is_misuse_and_not_wrong(tmp_path: Path, capsys: Any) -> None:  # noqa: ANN401
    """Exit code 1 says that a statement is false: a poem states nothing."""
    path = tmp_path / "x.yaml"
    path.write_text("poem: roses\n")
    assert run(["check", str(path)]) == 2
    assert "must be a certificate, a witness, a disclosure" in capsys.readouterr().err
    path.write_text("poem: roses\nguarantee: {}\n")
    shown = told(capsys, "check", str(path), code=1)
    assert "wrong: poem: unknown field" in shown
    assert "wrong: format: must be stated" in shown
