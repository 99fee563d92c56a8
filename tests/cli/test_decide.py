"""The verb `decide`: exit codes, JSON, the page, files, misuse in one sentence."""

import json
from pathlib import Path

import pytest

import dpverify as dpv
from dpverify.cli import run

HERE = "tests.deciding.mechanisms"


@pytest.fixture
def schema(tmp_path: Path) -> list[str]:
    (tmp_path / "s.json").write_text('{"kind": "answers", "sensitivity": 1}', encoding="utf-8")
    return ["--schema", str(tmp_path / "s.json"), "--epsilon", "1", "--samples", "1e3"]


def test_an_interrupt_prints_what_was_found(
    schema: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["decide", f"{HERE}:stopped_by_hand", *schema]) == 130
    told = capsys.readouterr()
    assert "not refuted: interrupted in the rung trace" in told.out
    assert "certify: open: mechanisms.py:58: it raises an exception" in told.out
    assert told.err.endswith("dpverify: interrupted\n")


@pytest.mark.parametrize(
    ("name", "more", "code", "first"),
    [
        ("enough", [], 0, "proved: enough keeps PureDP(epsilon=1.0) between all neighbors"),
        ("enough", ["--require", "proved"], 0, "proved: "),
        ("too_little", [], 1, "refuted: too_little does not keep PureDP(epsilon=1.0)"),
        ("too_little", ["--require", "proved"], 1, "refuted: "),
        ("timed", [], 0, "not refuted: on all traced runs of the worst neighbors"),
        ("timed", ["--require", "proved"], 2, "not refuted: "),
        ("timed_little", [], 1, "refuted: timed_little does not keep"),
        ("by_hand_little", ["--level", "1/1000"], 1, "refuted: by_hand_little does not keep"),
    ],
)
def test_exit_codes(  # noqa: PLR0917
    name: str,
    more: list[str],
    code: int,
    first: str,
    schema: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["decide", f"{HERE}:{name}", *schema, *more]) == code
    told = capsys.readouterr()
    assert told.out.startswith(first)
    unmet = "dpverify: require='proved' is not met: not refuted\n"
    assert told.err == (unmet if code == 2 else "")


def test_one_json_object(schema: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", f"{HERE}:timed_little", *schema, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["rung"]) == ("refuted", "trace")
    assert [each["rung"] for each in told["rungs"]] == ["certify", "trace"]
    assert told["rungs"][1]["evidence"]["witness"]["loss"][0] == pytest.approx(2.0)


def test_the_certificate_is_a_file_that_checks(
    schema: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "c.json"
    assert run(["decide", f"{HERE}:enough", *schema, "--certificate", str(kept)]) == 0
    assert run(["check", str(kept)]) == 0
    assert run(["decide", f"{HERE}:too_little", *schema, "--certificate", str(kept)]) == 1
    assert run(["check", str(kept)]) == 1
    assert "valid: refuted" in capsys.readouterr().out


def test_witnesses_are_files(schema: list[str], tmp_path: Path) -> None:
    kept = tmp_path / "w.json"
    for name, kind in (("timed_little", dpv.TraceWitness), ("by_hand_little", dpv.Witness)):
        assert run(["decide", f"{HERE}:{name}", *schema, "--save-witness", str(kept)]) == 1
        assert isinstance(kind.load(kept), kind)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("enough", ("Proved, by certify", "not needed", "dpverify check certificate.json")),
        ("too_little", ("Refuted, by certify", "0.0676676416", "1/2·e^(-2)")),
        ("timed_little", ("Refuted, by trace", "rng.laplace(scale=0.5)", "Trace: the witness")),
        (
            "by_hand_little",
            ("Refuted, by audit", "Audit: the witness", "math.copysign is a function"),
        ),
    ],
)
def test_the_page_shows_the_ladder(
    name: str, words: tuple[str, ...], schema: list[str], tmp_path: Path
) -> None:
    page = tmp_path / "d.html"
    run(["decide", f"{HERE}:{name}", *schema, "--report", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "The ladder" in text
    assert all(word in text for word in words)


@pytest.mark.parametrize(
    "words",
    [
        [f"{HERE}:missing", "--epsilon", "1"],
        [f"{HERE}:enough", "--epsilon", "1"],  # no schema
        [f"{HERE}:enough", "--schema", "nowhere.json", "--epsilon", "1"],
        [f"{HERE}:enough", "--rho", "1", "--mu", "1"],
        [f"{HERE}:enough", "--require", "shown", "--epsilon", "1"],
        [f"{HERE}:enough", "--report", "page.pdf", "--epsilon", "1"],
        [f"{HERE}:enough", "--certificate", "nowhere/c.json", "--epsilon", "1"],
    ],
)
def test_misuse_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", *words]) == 2
    told = capsys.readouterr()
    assert told.err.count("\n") == 1
    assert told.err.startswith("dpverify: ")
    assert not told.out


def test_a_claim_is_needed(schema: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decide", f"{HERE}:enough", *schema[:2]]) == 2
    assert "claim=None must be given, by the command line as --epsilon" in capsys.readouterr().err
