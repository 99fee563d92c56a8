"""A light start: what a verb does not need it does not import, and may be missing or broken."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.cli import run
from dpverify.cli.app import VERBS

ROOT = Path(__file__).parents[2]
HEAVY = ("cvxpy", "sympy", "matplotlib")
MECHANISM = "def noisy(data, rng):\n    return sum(data) + rng.laplace()\n"
BROKEN = "raise ImportError('this package is broken')\n"
RELATION = ["--relation", "add-remove"]
PAIR = ["--left", "left.json", "--right", "right.json", "--epsilon", "2", "--samples", "300"]
PLAIN = {
    "compose": ["compose", "laplace(2)*3", "--delta", "1e-6", *RELATION],
    "noise": ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "1"],
    "audit": ["audit", "mine.py:noisy", *PAIR],
    "ledger": ["ledger", "open", "b.ledger", "--epsilon", "3", *RELATION],
    "disclose": ["disclose", "gaussian(50)", "--delta", "1e-6", *RELATION],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A mechanism, two datasets; and where nothing heavy can be imported."""
    (tmp_path / "mine.py").write_text(
        "def noisy(data, rng):\n    return sum(data) + rng.laplace()\n"
    )
    (tmp_path / "left.json").write_text("[1, 0]")
    (tmp_path / "right.json").write_text("[1, 1]")
    for name in HEAVY:
        (tmp_path / "broken" / name).mkdir(parents=True)
        (tmp_path / "broken" / name / "__init__.py").write_text(BROKEN)
    return tmp_path


def runs(folder: Path, *lines: list[str]) -> subprocess.CompletedProcess[str]:
    """Run these command lines in one process, which prints their exit codes last."""
    code = f"from dpverify.cli import run; print(*[run(line) for line in {lines!r}])"
    paths = os.pathsep.join([str(folder / "broken"), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
    )


def test_plain_verbs_work_where_heavy_packages_are_broken(folder: Path) -> None:
    done = runs(folder, *PLAIN.values())
    assert done.stdout.splitlines()[-1] == "0 0 0 0 0", done.stderr


def test_what_is_broken_is_said_by_name(folder: Path) -> None:
    done = runs(folder, ["prove", "laplace"], [*PLAIN["compose"], "--plot", "p.png"])
    assert done.stdout.splitlines()[-1] == "2 2"
    told = [line for line in done.stderr.splitlines() if "must be importable" in line]
    assert told == [
        f"dpverify: module={package!r} must be importable for this, and it is broken: "
        "ImportError: this package is broken"
        for package in ("sympy", "matplotlib")
    ]


def imported_by(folder: Path, *lines: list[str], among: str) -> list[str]:
    """Those of the modules, named in one text, that a process has after these command lines."""
    code = (
        f"import sys; from dpverify.cli import run; [run(line) for line in {list(lines)!r}]; "
        f"print(*[name for name in {among.split()!r} if name in sys.modules], file=sys.stderr)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    return done.stderr.split()


def test_the_list_of_verbs_imports_none_of_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes = " ".join(f"dpverify.cli.verbs.{verb}" for verb in VERBS)
    assert imported_by(folder, ["--help"], among=homes) == []
    run(["--help"])
    told = capsys.readouterr().out
    assert all(f"  {verb} " in told for verb in VERBS)


def test_a_verb_imports_what_its_arguments_name(folder: Path) -> None:
    disclosed = [*PLAIN["disclose"], "--output", "d.yaml"]
    assert run([*disclosed[:-1], str(folder / "d.yaml")]) == 0
    found = imported_by(
        folder,
        ["ledger", "--help"],
        PLAIN["compose"],
        ["check", "d.yaml"],
        among="scipy dpverify.auditing dpverify.certifying "
        "dpverify.tracing dpverify.ledger.ledger dpverify.mechanisms.laplace "
        "dpverify.mechanisms.gaussian dpverify.mechanisms.selection dpverify.mechanisms.matrix",
    )
    assert found == ["scipy", "dpverify.mechanisms.laplace", "dpverify.mechanisms.gaussian"]


def test_the_witness_of_a_trace_imports_no_statistics(folder: Path) -> None:
    wrong = [each.replace("2", "0.5") for each in PAIR[:-2]]
    saved = ["trace", "mine.py:noisy", *wrong, "--save-witness", "w.json"]
    assert imported_by(folder, saved, among="json") == ["json"]
    among = "scipy.special dpverify.auditing.auditor dpverify.certifying dpverify.disclosing"
    assert imported_by(folder, ["check", "w.json"], among=among) == ["dpverify.disclosing"]


def test_a_typing_error_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["nois"]) == 2
    assert "Did you mean 'noise'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "at", "offered"),
    [("dpverify no", "1", "noise"), ("dpverify noise --epo", "2", "--epochs")],
)
def test_a_shell_completes_verbs_and_options(
    words: str,
    at: str,
    offered: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_DPVERIFY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", at)
    assert run([]) == 0
    assert capsys.readouterr().out.split() == [offered]


def test_a_shell_that_is_not_known_is_no_refutation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DPVERIFY_COMPLETE", "complete_none")
    assert run([]) == 2
