"""The verb `audit`: exit codes, JSON, witnesses on disk, misuse in one sentence."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer

from dpverify.cli.audit import audit
from dpverify.errors import InvalidParameter

HERE = "tests.auditing.test_audit_verb"


def noisy_sum(data: list[float], rng: np.random.Generator) -> float:
    return sum(data) + float(rng.laplace())


app = typer.Typer()
app.command()(audit)


def run(*arguments: object) -> int:
    code = app([str(a) for a in arguments], standalone_mode=False)
    return code if isinstance(code, int) else 0


@pytest.fixture
def pair(tmp_path: Path) -> list[object]:
    for name, data in (("left", [1, 0]), ("right", [1, 1])):
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    return ["--left", tmp_path / "left.json", "--right", tmp_path / "right.json"]


def test_a_refuted_claim_exits_with_1_and_leaves_a_witness(
    pair: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "witness.json"
    target = f"{HERE}:noisy_sum"
    assert run(target, *pair, "--epsilon", 0.4, "--save-witness", saved, "--json") == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["refuted"] is True
    assert shown["witness"]["event_in_words"].startswith("output")
    assert run(target, "--replay", saved, "--seed", 5) == 1
    assert "refuted" in capsys.readouterr().out


def test_a_claim_that_stands_exits_with_0(
    pair: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{HERE}:noisy_sum", *pair, "--epsilon", 2, "--samples", 800) == 0
    assert "not refuted" in capsys.readouterr().out
    assert run(f"{HERE}:noisy_sum", *pair, "--mu", 3, "--samples", 300) == 0
    assert run(f"{HERE}:noisy_sum", *pair, "--rho", 3, "--samples", 300) == 0
    assert run(f"{HERE}:noisy_sum", *pair, "--order", 2, "--epsilon", 3, "--samples", 300) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "must look like"),
        (["no.such.module:f"], "must be importable: ModuleNotFoundError"),
        ([f"{HERE}:absent"], "must be importable: AttributeError"),
        ([f"{HERE}:noisy_sum", "--epsilon", 1], "left=None must be a JSON file"),
    ],
)
def test_misuse(arguments: list[object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        run(*arguments)


def test_two_claims_at_once_are_refused(pair: list[object]) -> None:
    with pytest.raises(InvalidParameter, match="epsilon and mu must not be given together"):
        run(f"{HERE}:noisy_sum", *pair, "--epsilon", 1, "--mu", 1)


def test_data_that_is_no_json_is_refused(pair: list[object]) -> None:
    Path(str(pair[1])).write_text("[1,", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="must hold JSON"):
        run(f"{HERE}:noisy_sum", *pair, "--epsilon", 1)
