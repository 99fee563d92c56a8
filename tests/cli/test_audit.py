"""The verb `audit`: exit codes, JSON, witnesses on disk, misuse in one sentence."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from dpverify.cli import run as run_all
from dpverify.cli.verbs.audit import audit
from dpverify.errors import InvalidParameter

HERE = "tests.cli.test_audit"


def noisy_sum(data: list[float], rng: np.random.Generator) -> float:
    return sum(data) + float(rng.laplace())


def unhurried_sum(data: list[float], rng: np.random.Generator) -> float:
    time.sleep(2e-4)
    return noisy_sum(data, rng)


def constant(_data: list[float], _rng: np.random.Generator) -> float:
    return 1.0


def failing(_data: list[float], _rng: np.random.Generator) -> float:
    raise RuntimeError("no disk")


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


def test_a_replay_has_draws_and_a_level_of_its_own(
    pair: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, target = tmp_path / "witness.json", f"{HERE}:noisy_sum"
    found = ["--epsilon", 0.4, "--level", 0.02, "--save-witness", saved, "--json"]
    assert run(target, *pair, *found) == 1
    counted = json.loads(capsys.readouterr().out)["witness"]["counts"]
    again = ["--replay", saved, "--samples", counted["trials"], "--json"]  # and the same seed, 0
    run(target, *again)
    shown = json.loads(capsys.readouterr().out)
    assert shown["level"] == 0.02
    assert shown["witness"] is None or shown["witness"]["counts"] != counted
    run(target, *again, "--level", 0.001)
    assert json.loads(capsys.readouterr().out)["level"] == 0.001
    with pytest.raises(InvalidParameter, match=r"level=0\.7 must lie in \[.*, 0\.5\]"):
        run(target, *again, "--level", 0.7)


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
        ([f"{HERE}:absent"], "must name a mechanism in the module: .*noisy_sum"),
        ([f"{HERE}:noisy_sum", "--epsilon", 1], "left=None and right=None must be JSON files"),
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


ROOT = Path(__file__).parents[2]


INTERRUPTIBLE = (  # in the background SIGINT is ignored, and children would ignore it too
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from dpverify.cli import main; sys.argv[0] = 'dpverify'; main()"
)


def begun(*arguments: object, **how: Any) -> subprocess.Popen[str]:  # noqa: ANN401
    words = [sys.executable, "-c", INTERRUPTIBLE, "audit", *(str(a) for a in arguments)]
    return subprocess.Popen(words, cwd=ROOT, text=True, stdout=subprocess.PIPE, **how)


def test_ctrl_c_prints_what_was_found(pair: list[object], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    arguments = [f"{HERE}:unhurried_sum", *pair, "--epsilon", 2, "--samples", 200_000]
    with begun(*arguments, "--checkpoint", kept, "--json", stderr=subprocess.PIPE) as audited:
        while not kept.exists() or kept.stat().st_size < 8_000:
            time.sleep(0.05)
        audited.send_signal(signal.SIGINT)
        out, err = audited.communicate(timeout=60)
    assert audited.returncode == 130
    shown = json.loads(out)
    assert shown["refuted"] is False
    assert shown["stopped"] == "interrupted"
    assert shown["samples"] > 0
    assert err == "dpverify: interrupted\n"


def test_a_terminal_gets_a_live_line(pair: list[object]) -> None:
    leader, follower = pty.openpty()
    arguments = [f"{HERE}:unhurried_sum", *pair, "--epsilon", 2, "--samples", 1_500]
    with begun(*arguments, stderr=follower) as audited:
        os.close(follower)
        seen = b""
        while True:
            try:
                more = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            seen += more
        out, _ = audited.communicate(timeout=60)
    os.close(leader)
    assert audited.returncode == 0
    assert "not refuted" in out
    assert "draws a side, log wealth" in seen.decode()


def test_elsewhere_nothing_but_the_answer_is_written(
    pair: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"{HERE}:noisy_sum", *pair, "--epsilon", 2, "--samples", 300) == 0
    assert capsys.readouterr().err == ""


def test_a_limit_in_seconds_is_no_misuse(
    pair: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"{HERE}:unhurried_sum", *pair, "--epsilon", 2, "--samples", 100_000]
    assert run(*arguments, "--seconds", 1) == 0
    shown = capsys.readouterr()
    assert "PARTIAL: the audit ended before its budget did: its time was over" in shown.out
    assert shown.err == ""


def test_workers_and_a_checkpoint_change_nothing(
    pair: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"{HERE}:noisy_sum", *pair, "--epsilon", 0.5, "--json"]
    found = []
    for more in ([], ["--workers", 2], ["--checkpoint", tmp_path / "c"]):
        assert run(*arguments, *more) == 1
        shown = json.loads(capsys.readouterr().out)
        del shown["seconds"]
        found.append(shown)
    assert found[0] == found[1] == found[2]


def test_a_report_is_one_page(pair: list[object], tmp_path: Path) -> None:
    path, saved = tmp_path / "audit.html", tmp_path / "witness.json"
    arguments = ["audit", f"{HERE}:noisy_sum", *pair, "--epsilon", 0.5, "--report", path]
    assert run_all([str(a) for a in (*arguments, "--save-witness", saved)]) == 1
    page = path.read_text(encoding="utf-8")
    assert "Refuted" in page
    assert "Betting against the claim" in page
    replayed = ["audit", f"{HERE}:noisy_sum", "--replay", saved, "--report", path]
    assert run_all([str(a) for a in replayed]) == 1
    assert "Refuted" in path.read_text(encoding="utf-8")
    arguments[-1] = tmp_path / "absent" / "audit.html"
    assert run_all([str(a) for a in arguments]) == 2


def test_constant_outputs_are_told(pair: list[object], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{HERE}:constant", *pair, "--epsilon", 1, "--samples", 300) == 2
    shown = capsys.readouterr()
    assert "not refuted" in shown.out
    assert shown.err == (
        "dpverify: every output is the same on left and right: does the mechanism use rng?\n"
    )


@pytest.mark.parametrize(
    ("target", "options", "message"),
    [
        ("failing", [], "mechanism must return an output; on both sides every call raises "),
        ("noisy_sum", [], "must be finite: no sample could refute it"),
        ("noisy_sum", ["--workers", 0], "workers=0 must be a whole number"),
        ("noisy_sum", ["--seconds", 0], "seconds=0.0 must be positive"),
        ("noisy_sum", ["--method", "magic"], "method='magic' must be one of"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    target: str,
    options: list[object],
    message: str,
    pair: list[object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    epsilon = "inf" if "finite" in message else "1"
    arguments = ["audit", f"{HERE}:{target}", *pair, "--epsilon", epsilon, *options]
    assert run_all([str(a) for a in arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dpverify: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1
