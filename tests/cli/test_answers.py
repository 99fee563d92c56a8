"""What every verb prints with --json, against the schema that is published with the package."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import run
from dpverify.cli.app import VERBS

SCHEMA = json.loads((resources.files("dpverify.cli") / "answers-1.schema.json").read_text("utf-8"))
RELATION = ["--relation", "add-remove"]
PAIR = ["--left", "left.json", "--right", "right.json", "--epsilon", "1"]
MECHANISMS = """\
def noisy(data, rng):
    return sum(data) + rng.laplace()


def half(data, rng):
    return sum(data) + rng.laplace(scale=0.5)
"""
NUMBERS = {
    "kind": "records",
    "length": [0, 3],
    "relation": "add-remove",
    "record": {"kind": "number", "low": 0, "high": 1},
}
FACTS = [(x / 40 - 0.5, 1 if x > 20 else -1) for x in range(40)]
SHARE = ["audit", "mine.py:noisy", *PAIR, "--share", "1/9", "--checkpoint", "draws-1"]
# A verb, and one of its command lines; later ones use what earlier ones wrote.
LINES: list[tuple[int, list[str]]] = [
    (0, ["compose", "laplace(20)*3", "--delta", "1e-6", *RELATION]),
    (0, ["compose", "gaussian(5)", "--epsilon", "1", *RELATION]),
    (0, ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--l2-sensitivity", "1"]),
    (0, ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "1"]),
    (0, ["noise", "randomized-response", "--epsilon", "1"]),
    (
        0,
        [
            *("noise", "dp-sgd", "--epsilon", "3", "--delta", "1e-5", "--records", "600"),
            *("--batch", "60", "--epochs", "1"),
        ],
    ),
    (1, ["audit", "mine.py:half", *PAIR, "--save-witness", "witness.json"]),
    (0, ["audit", "mine.py:noisy", *PAIR, "--samples", "300"]),
    (0, SHARE),
    (0, ["merge", "draws-1", "--into", "draws"]),
    (1, ["trace", "mine.py:half", *PAIR, "--save-witness", "transcript.json"]),
    (0, ["trace", "mine.py:noisy", *PAIR]),
    (
        0,
        [
            *("decide", "mine.py:noisy", "--schema", "schema.json", "--epsilon", "1"),
            *("--certificate", "certificate.json"),
        ],
    ),
    (1, ["check", "witness.json"]),
    (1, ["check", "transcript.json"]),
    (0, ["check", "certificate.json"]),
    (0, ["disclose", "gaussian(50)", "--delta", "1e-6", *RELATION]),
    (0, ["check", "disclosure.json"]),
    (
        0,
        [
            *("fit", "data.csv", "--target", "y", "--epsilon", "1", "--norm-bound", "1"),
            *("--classes=-1,1", "--seed", "0"),
        ],
    ),
    (0, ["ledger", "open", "b.ledger", "--epsilon", "3", *RELATION]),
    (0, ["ledger", "spend", "b.ledger", "laplace(50)"]),
    (1, ["ledger", "spend", "b.ledger", "laplace(0.1)"]),
    (0, ["ledger", "status", "b.ledger"]),
    (0, ["ledger", "history", "b.ledger"]),
    (0, ["ledger", "export", "b.ledger", "b.csv"]),
    (0, ["prove", "lagrange-identity"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MECHANISMS)
    Path("left.json").write_text("[1, 0]")
    Path("right.json").write_text("[1, 1]")
    Path("schema.json").write_text(json.dumps(NUMBERS))
    Path("data.csv").write_text("\n".join(["x,y", *(f"{x},{y}" for x, y in FACTS)]))
    return tmp_path


def validator(verb: str) -> Any:  # noqa: ANN401  # of an optional package
    jsonschema = pytest.importorskip("jsonschema", reason="the validator is not installed")
    chosen = {name: value for name, value in SCHEMA.items() if name != "anyOf"}
    return jsonschema.Draft202012Validator(chosen | {"$ref": f"#/$defs/{verb}"})


def test_the_schema_is_one_and_knows_every_verb() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="the validator is not installed")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [each["$ref"].rpartition("/")[2] for each in SCHEMA["anyOf"]] == list(VERBS)
    assert {line[0] for _, line in LINES} == set(VERBS) - {"demo"}  # see test_cli.py


@pytest.mark.false_alarm(1e-9)  # refuted from a fixed seed
def test_answers_are_as_published(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    for code, line in LINES:
        assert run([*line, "--json"]) == code, capsys.readouterr().err
        answer = json.loads(capsys.readouterr().out)
        problems = [each.message for each in validator(line[0]).iter_errors(answer)]
        assert not problems, (line, problems)
        if line[0] == "disclose":
            Path("disclosure.json").write_text(json.dumps(answer))


def test_the_schema_refuses_other_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    run([*LINES[3][1], "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert validator("noise").is_valid(answer)
    assert not validator("noise").is_valid(answer | {"sigmas": 1.0})
    assert not validator("noise").is_valid(answer | {"relation": "swap"})
    assert not validator("noise").is_valid({k: v for k, v in answer.items() if k != "relation"})
    assert not validator("audit").is_valid(answer)


PAGES = [
    ["compose", "gaussian(5)", "--epsilon", "1", *RELATION, "--seconds", "0"],
    ["audit", "mine.py:noisy", *PAIR, "--samples", "300"],
    ["check", "disclosure.json"],
    ["disclose", "gaussian(50)", "--delta", "1e-6", *RELATION],
    ["ledger", "spend", "b.ledger", "laplace(50)"],
    ["ledger", "history", "b.ledger"],
    ["ledger", "status", "b.ledger"],
    ["merge", "draws-1", "--into", "draws"],
]


def test_every_page_says_where_it_comes_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert run(["ledger", "open", "b.ledger", "--epsilon", "3", *RELATION]) == 0
    assert run([*PAGES[3], "--output", "disclosure.json"]) == 0
    assert run(SHARE) == 0
    for line in PAGES:
        read = [part.split(":")[0] for part in line if Path(part.split(":")[0]).is_file()]
        assert run([*line, "--report", "page.html"]) == 0, capsys.readouterr().err
        page = (folder / "page.html").read_text("utf-8")
        assert "2023-11-14 22:13 UTC" in page
        assert f"dpverify {line[0]}" in page
        assert page.count("sha256 ") == len(read), line
