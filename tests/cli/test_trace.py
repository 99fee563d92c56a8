"""The verb `trace`: exit codes, JSON, the page, witnesses on disk, misuse in one sentence."""

# ruff: noqa: ANN401  # data of any kind

import json
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import run
from dpverify.tracing import TraceWitness

HERE = "tests.cli.test_trace"


def too_little(data: Any, rng: Any) -> Any:
    return sum(data) + rng.laplace(scale=0.5)


def enough(data: Any, rng: Any) -> Any:
    return sum(data) + rng.laplace(scale=1.0)


def squared(data: Any, rng: Any) -> Any:
    return sum(data) + rng.laplace(scale=1.0) ** 2


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    (tmp_path / "l.json").write_text("[0, 1]", encoding="utf-8")
    (tmp_path / "r.json").write_text("[0, 0]", encoding="utf-8")
    return ["--left", str(tmp_path / "l.json"), "--right", str(tmp_path / "r.json")]


@pytest.mark.parametrize(("name", "code"), [("too_little", 1), ("enough", 0), ("squared", 2)])
def test_exit_codes(name: str, code: int, pair: list[str], capsys: Any) -> None:
    found = run(["trace", f"{HERE}:{name}", *pair, "--epsilon", "1", "--no-confirm"])
    assert found == code
    told = capsys.readouterr()
    assert "test_trace.py:" in told.out
    assert ("not understood at" in told.err) == (code == 2)


def test_one_json_object(pair: list[str], capsys: Any) -> None:
    run(["trace", f"{HERE}:too_little", *pair, "--epsilon", "1", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "refuted"
    assert told["releases"][0]["where"].startswith("test_trace.py:")
    assert (told["releases"][0]["shift"], told["releases"][0]["scale"]) == (1.0, 0.5)
    assert told["witness"]["loss"][0] == pytest.approx(2.0)


def test_page_and_witness(pair: list[str], tmp_path: Path) -> None:
    page, witness = tmp_path / "t.html", tmp_path / "w.json"
    files = ["--report", str(page), "--save-witness", str(witness)]
    run(["trace", f"{HERE}:too_little", *pair, "--epsilon", "1", *files])
    text = page.read_text(encoding="utf-8")
    assert "Refuted" in text
    assert "rng.laplace(scale=0.5)" in text
    assert TraceWitness.load(witness).check(too_little)


def test_misuse_is_one_line(pair: list[str], capsys: Any) -> None:
    assert run(["trace", f"{HERE}:enough", "--epsilon", "1"]) == 2
    assert run(["trace", f"{HERE}:missing", *pair, "--epsilon", "1"]) == 2
    assert run(["trace", f"{HERE}:enough", *pair]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 3
    assert "Traceback" not in told


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("left.json").write_text("[1, 0]")
    Path("right.json").write_text("[1, 1]")
    Path("schema.json").write_text(
        '{"kind": "records", "length": [0, 2], "relation": "add-remove", '
        '"record": {"kind": "number", "low": 0, "high": 1}}'
    )
    return tmp_path


PAIR = ["--left", "left.json", "--right", "right.json"]
SCHEMA = ["--schema", "schema.json"]
INTERRUPTED = """\
calls = []


def noisy(data, rng):
    calls.append(data)
    if len(calls) == {calls}:
        raise KeyboardInterrupt
    x = sum(data) + rng.laplace(scale={scale})
    return x if x > 0.3 else 0 if x < -2 else x
"""


@pytest.mark.parametrize(
    ("how", "options", "said"),
    [
        ({"calls": 1, "scale": 1.0}, PAIR, ""),
        ({"calls": 9, "scale": 1.0}, PAIR, "so far is within the claim"),
        ({"calls": 9, "scale": 0.1}, PAIR, "overspent (interrupted)"),
        ({"calls": 9, "scale": 1.0}, SCHEMA, "interrupted before a pair was traced in full"),
    ],
)
def test_an_interrupt_prints_what_was_found(
    how: dict[str, float],
    options: list[str],
    said: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "mine.py").write_text(INTERRUPTED.format(**how))
    assert run(["trace", "mine.py:noisy", *options, "--epsilon", "2"]) == 130
    told = capsys.readouterr()
    assert told.err == "dpverify: interrupted\n"
    assert said in " ".join(told.out.split())
    assert "shown on these runs" not in told.out
