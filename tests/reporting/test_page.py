"""The report: self-contained, escaped, readable by people, programs and screen readers."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import dpverify as dpv
from dpverify.cli import run
from dpverify.cli.output import check_page
from dpverify.reporting.page import Page, Section, TextTable, render, write_page
from dpverify.reporting.pages.audit import audit_page
from dpverify.reporting.pages.checked import disclosure_page
from dpverify.reporting.pages.proofs import proofs_page
from dpverify.reporting.picture import picture
from dpverify.theorems import LAPLACE

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \" '"


class Checker(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "input", "br", "img", "link", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(document: str) -> list[str]:
    checker = Checker()
    checker.feed(document)
    assert checker.open == []
    return checker.tags


def embedded(document: str) -> object:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', document, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def page(**changes: object) -> Page:
    fields = {
        "title": "A title",
        "verdict": "Refuted",
        "tone": "bad",
        "lead": "A sentence.",
        "sections": (Section(title="First", text=("Words.",)),),
        "command": "dpverify demo",
        "data": {"version": 1},
    }
    return Page(**(fields | changes))  # type: ignore[arg-type]  # checked by the tests that use it


def test_verdict_comes_first_and_nothing_is_fetched() -> None:
    document = render(page())
    assert document.index("<h1>Refuted</h1>") < document.index("<h2")
    assert "default-src 'none'" in document
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", document)
    assert not re.search(r"@import|url\(", document)


def test_what_a_user_gives_is_escaped_everywhere() -> None:
    everything = page(
        title=HOSTILE,
        verdict=HOSTILE,
        lead=HOSTILE,
        command=HOSTILE,
        data={"text": HOSTILE},
        sections=(
            Section(
                title=HOSTILE,
                text=(HOSTILE,),
                facts=((HOSTILE, HOSTILE),),
                items=(HOSTILE,),
                tables=(
                    TextTable(caption=HOSTILE, header=(HOSTILE,), rows=((HOSTILE,),), marked=0),
                ),
                code=HOSTILE,
            ),
        ),
    )
    document = render(everything)
    plain = tags(render(page()))
    assert tags(document).count("script") == plain.count("script")
    assert "img" not in tags(document)
    assert embedded(document) == {"text": HOSTILE}


def test_pictures_carry_words_and_numbers() -> None:
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    axes.semilogy([0.0, 1.0, 2.0], [1.0, 0.1, 0.01], label="curve")
    axes.plot([1.0], [0.1], "o", label="a point is no curve")
    drawn = picture(figure, "A falling line.")
    (frame,) = drawn.frames
    assert [curve["label"] for curve in frame["curves"]] == ["curve"]
    assert frame["y"]["scale"] == "log"
    assert drawn.svg.startswith("<svg")
    assert 'style="max-width: 288pt"' in drawn.svg
    assert drawn == picture(figure, "A falling line.")
    document = render(page(sections=(Section(title="Pictures", pictures=(drawn,)),)))
    assert 'aria-label="A falling line."' in document
    assert "<?xml" not in document
    assert not drawn.wide
    assert 'class="wide"' not in document
    panels = picture(Figure(figsize=(12, 4)), "Panels.")
    document = render(page(sections=(Section(title="Pictures", pictures=(panels,)),)))
    assert '<div class="wide" tabindex="0"' in document


def refutation() -> dpv.Verdict:
    def half(data: list[float], rng: object) -> float:
        return float(sum(data)) + float(rng.laplace(scale=0.5))  # type: ignore[attr-defined]

    claim = dpv.PureDP(epsilon=1.0)
    return dpv.audit(half, left=[0.0], right=[1.0], claim=claim, level=0.01, seed=7)


@pytest.mark.parametrize(
    ("row", "stacks"),
    [
        (("right", "598", "1,000", "59.8%"), False),
        (("certify", "Is it proved for all neighbors?", "an answer of some length"), True),
        (("x", "a text that is long, but beside one other there is room for it on a phone"), False),
        (("1", "2", "3", "4", "5", "6"), True),
    ],
)
def test_a_table_that_a_phone_has_no_room_for_becomes_cards(
    row: tuple[str, ...],
    stacks: bool,  # noqa: FBT001
) -> None:
    table = TextTable(caption="rows", header=row, rows=(row,))
    assert table.stacks is stacks
    section = Section(title="one", tables=(table,))
    page = Page(title="t", verdict="v", tone="plain", lead="l", sections=(section,))
    assert ('<table class="cards">' in render(page)) is stacks


@pytest.mark.parametrize(("label", "whole"), [("runs", True), ("ε", False)])
def test_a_slider_over_counts_stops_at_whole_numbers(label: str, whole: bool) -> None:  # noqa: FBT001
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1.0, 10.0], [1.0, 2.0], label="curve")
    axes.set_xlabel(label)
    assert [frame["x"]["whole"] for frame in picture(figure, "words").frames] == [whole]


def test_an_audit_tells_witness_and_counts() -> None:
    verdict = refutation()
    document = render(audit_page(verdict, target="half", pictures=(), command="dpverify audit"))
    assert verdict.witness is not None
    assert f"{verdict.witness.counts.hits:,}" in document
    assert "<h1>Refuted</h1>" in document
    assert embedded(document) == json.loads(json.dumps(verdict.to_dict()))


def test_a_survivor_is_never_called_private() -> None:
    verdict = dpv.audit(
        dpv.Laplace(scale=1.0),
        left=[0.0],
        right=[1.0],
        claim=dpv.PureDP(epsilon=1.0),
        seed=1,
        samples=500,
    )
    document = render(audit_page(verdict, target="laplace", pictures=(), command=""))
    assert "<h1>Not refuted</h1>" in document
    assert "does not show that it is true" in document


def test_proofs_show_steps_and_counterexamples() -> None:
    step = {"name": "s", "holds": True, "evidence": "exact", "scope": "all", "formula": "1 < 2"}
    theorem = {
        "name": LAPLACE.name,
        "verdict": "refuted",
        "statement": LAPLACE.statement,
        "source": LAPLACE.source,
        "proof": LAPLACE.proof,
        "evidence": ["exact"],
        "seconds": 0.1,
        "uses": ["blackwell"],
        "used_by": [],
        "code": ["dpverify/pairs/laplace.py"],
        "cites": [],
        "problems": [],
        "argument": "Because.",
        "notation": ["b: a scale"],
        "clauses": [{"says": "It is", "steps": ["s"], "argued": "words", "checked": ""}],
        "steps": [step],
        "counterexample": {
            "claimed": "c",
            "instance": ["i", "j"],
            "truth": "t",
            "correction": "k",
            "argued": "",
        },
        "not_shown_again": [],
    }
    alone = render(proofs_page([theorem], command=""))
    assert "1 &lt; 2" in alone
    assert "<h1>Refuted</h1>" in alone
    assert 'href="dpverify/pairs/laplace.py"' in alone
    assert "argued, not executed" in alone
    both = render(proofs_page([theorem, theorem | {"verdict": "failed"}], command=""))
    assert '<header class="bad">' in both
    assert "1 refuted, 1 failed" in both


def test_compose_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.html"
    arguments = ["compose", "gaussian(sigma=5)*10", "--delta", "1e-6", "--relation", "add-remove"]
    assert run([*arguments, "--report", str(path)]) == 0
    assert "report:" in capsys.readouterr().out
    document = path.read_text(encoding="utf-8")
    tags(document)
    assert "dpverify compose 'gaussian(sigma=5)*10'" in document.replace("&#39;", "'")
    assert run([*arguments, "--json"]) == 0
    assert embedded(document) == json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["out.txt", "missing/out.html", "."])
def test_refuses_a_path_before_the_work(name: str, tmp_path: Path) -> None:
    with pytest.raises(dpv.InvalidParameter, match="report="):
        check_page(tmp_path / name)


def test_a_written_page_is_the_rendered_one(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    write_page(page(), path)
    assert path.read_text(encoding="utf-8") == render(page())


def test_noise_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise.html"
    arguments = ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--l2-sensitivity", "1"]
    assert run([*arguments, "--report", str(path)]) == 0
    assert "report:" in capsys.readouterr().out
    document = path.read_text(encoding="utf-8")
    tags(document)
    assert "<h1>sigma = 4.22467" in document
    assert 'class="grid"' in document
    assert len(document) < 1_000_000


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("noise,accuracy\n", "a row or more"),
        ("sigma,accuracy\n1,0.5\n", "columns noise and accuracy"),
        ("noise,accuracy\n1,high\n", "accuracy='high' in record 0 must be a finite number"),
        ("noise,accuracy\n-1,0.5\n", "must be positive"),
        ("noise,accuracy\n1,0.5\n1,0.6\n", "each value once"),
        ("", "must be a CSV file"),
    ],
)
def test_bad_measurements_are_refused(
    table: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "accuracy.csv"
    file.write_text(table)
    arguments = ["compose", "gaussian(sigma=5)", "--delta", "1e-6", "--relation", "add-remove"]
    report = ["--report", str(tmp_path / "out.html")]
    assert run([*arguments, *report, "--accuracy", str(file)]) == 2
    assert words in capsys.readouterr().err
    assert run([*arguments, "--accuracy", str(file)]) == 2
    assert "must come with report" in capsys.readouterr().err


def test_a_disclosure_reads_in_words() -> None:
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    spent = spent.compose(dpv.Gaussian(sigma=50.0), times=10).compose(dpv.Laplace(scale=20.0))
    document = dpv.disclose(spent, delta=1e-6).to_dict()
    page = disclosure_page(document, command="dpverify disclose")
    facts = {part.title: dict(part.facts) for part in page.sections}
    assert {"Mechanism 1 of 2", "Mechanism 2 of 2", "Guarantee"} <= facts.keys()
    assert facts["Mechanism 1 of 2"]["label"] == "Gaussian(sigma=50.0)"
    [(low, high)] = re.findall("between (.+) and (.+)", facts["Guarantee"]["epsilon"])
    exact = document["guarantee"]["epsilon"]
    assert float(low) <= exact["lower"] <= exact["upper"] <= float(high)
    point = document["guarantee"]["profile"][0]["epsilon"]
    assert f"δ at ε = {point}" in facts["Guarantee"]
    assert not [name for part in facts.values() for name in part if " parameters" in name]
