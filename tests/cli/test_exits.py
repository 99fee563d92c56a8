"""Exit codes that cannot lie: crashes, interrupts, strangers' files, any encoding, bad input."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dpverify as dpv
from dpverify.auditing.sampling.processes import Stopped
from dpverify.cli import exits, main, run
from dpverify.cli.verbs import compose, demo, fit
from proofs.support import catalog
from proofs.support.form import BrokenProof

ROOT = Path(__file__).parents[2]

COMMAND = [sys.executable, "-m", "dpverify"]
COMPOSE = ["compose", "pure(epsilon=0.1)*100", "--delta", "1e-6", "--relation", "add-remove"]
NOISE = ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "1"]
MECHANISM = """\
def noisy(data, rng):
    return sum(data) + rng.laplace()

number = 3
"""


def process(
    *arguments: str, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    own = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run(
        [*COMMAND, *arguments], check=False, capture_output=True, text=True, cwd=folder, env=own
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where somebody works: two datasets and a mechanism."""
    (tmp_path / "left.json").write_text("[1, 0]")
    (tmp_path / "right.json").write_text("[1, 1]")
    (tmp_path / "mine.py").write_text(MECHANISM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("mine", None)


def told(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    assert run(arguments) == code
    shown = capsys.readouterr().err
    assert shown.startswith("dpverify: ")
    assert shown.count("\n") == 1
    return shown


# a defect of ours


def test_a_crash_is_neither_a_refutation_nor_misuse(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(compose, "parse", broken)
    sentence = told(COMPOSE, 3, capsys)
    assert "says nothing about the claim (ZeroDivisionError: by" in sentence
    kept = Path(sentence.rsplit(" in ", 1)[1].strip())
    text = kept.read_text(encoding="utf-8")
    kept.unlink()
    assert "Traceback" in text
    assert "in broken" in text


def test_a_crash_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compose, "parse", lambda _: 1 // 0)
    monkeypatch.setenv("TMPDIR", "/none")
    monkeypatch.setattr(tempfile, "tempdir", "/none")
    assert run(COMPOSE) == 3
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.endswith("which is above\n")


def test_a_crash_while_the_verbs_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dpverify.cli.app", None)
    assert run(COMPOSE) == 3


@pytest.mark.parametrize(
    ("module", "package"), [("opendp", "'dpverify[opendp]'"), ("sklearn.svm", "scikit-learn")]
)
def test_what_is_missing_is_said(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without(_: str) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    monkeypatch.setattr(compose, "parse", without)
    assert f"pip install {package}" in told(COMPOSE, 2, capsys)


def test_what_is_missing_for_somebody_else_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> None:
        raise BrokenProof("a file raises") from ModuleNotFoundError(name="sympy")

    monkeypatch.setattr(compose, "parse", broken)
    assert "pip install sympy" in told(COMPOSE, 2, capsys)


def test_every_extra_exists() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(exits.EXTRAS.values()) <= set(listed["project"]["optional-dependencies"])


# interrupted


def test_an_interrupted_verb_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(compose, "parse", interrupted)
    assert told(COMPOSE, 130, capsys) == "dpverify: interrupted\n"


def test_a_composition_until_an_interrupt_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = compose._asked

    def interrupted(*arguments: Any) -> Any:  # noqa: ANN401  # as it is
        signal.raise_signal(signal.SIGINT)
        return asked(*arguments)

    monkeypatch.setattr(compose, "_asked", interrupted)
    line = ["compose", "subsampled(gaussian(1.5), rate=0.01)*1000", *COMPOSE[2:]]
    assert run([*line, "--json"]) == 130
    shown = capsys.readouterr()
    assert shown.err == "dpverify: interrupted\n"
    answer = json.loads(shown.out)
    assert answer["interrupted"] is True
    assert "numerical" in answer["comparison"]["skipped"]
    assert answer["epsilon"]["lower"] < 1.3 < answer["epsilon"]["upper"]


def test_an_interrupted_search_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:  # noqa: ANN401  # as it is
        raise KeyboardInterrupt

    monkeypatch.setattr(dpv, "calibration", interrupted)
    said = "dpverify: interrupted while calibrating: no noise was found yet\n"
    assert told(NOISE, 130, capsys) == said


def test_an_interrupted_fit_says_that_no_model_was_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: Any) -> None:  # noqa: ANN401  # as it is
        raise KeyboardInterrupt

    (folder / "data.csv").write_text("x,y\n0.5,1\n-0.5,-1\n")
    monkeypatch.setattr(fit, "_fit", interrupted)
    line = ["fit", "data.csv", "--target", "y", "--epsilon", "1", "--norm-bound", "1"]
    said = "dpverify: interrupted while reading and fitting: no model was written\n"
    assert told(line, 130, capsys) == said
    assert not (folder / "data.model.json").exists()


def test_an_interrupted_demonstration_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = SimpleNamespace(stopped=Stopped(why="interrupt", reason="interrupted"))
    stories = {"first": lambda: SimpleNamespace(lines=("read", partial)), "second": None}
    monkeypatch.setattr(demo, "_example", lambda: SimpleNamespace(STORIES=stories))
    assert run(["demo", "--report", "page.html"]) == 130
    shown = capsys.readouterr()
    assert "read" in shown.out
    assert "second" not in shown.out
    assert not (folder / "page.html").exists()


def test_proofs_until_an_interrupt_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name: catalog.find(name) for name in ("post-processing", "exact-profile")}
    runs = catalog.run_with_uses

    def interrupted(names: list[str], done: dict[Any, Any]) -> Iterator[Any]:
        if names == ["exact-profile"]:
            raise KeyboardInterrupt
        return runs(names, done)

    monkeypatch.setattr(catalog, "proofs", lambda: known)
    monkeypatch.setattr(catalog, "run_with_uses", interrupted)
    assert run(["prove", "--json"]) == 130
    told = json.loads(capsys.readouterr().out)
    assert told["interrupted"] is True
    assert [theorem["name"] for theorem in told["theorems"]] == ["post-processing"]


# strangers' files


def test_a_folder_that_has_our_names_is_not_ours(folder: Path) -> None:
    (folder / "solvers.py").write_text("raise SystemExit(1)")
    (folder / "proofs").mkdir()
    (folder / "proofs" / "__init__.py").write_text("raise SystemExit(1)")
    here = f"{folder}{os.pathsep}{ROOT}"
    proved = process("prove", "lagrange-identity", "--json", folder=folder, PYTHONPATH=here)
    assert proved.returncode == 0, proved.stderr
    audited = process(
        *("audit", "median", "--epsilon", "1", "--relation", "add-remove", "--samples", "600"),
        folder=folder,
        PYTHONPATH=here,
    )
    assert audited.returncode == 0, audited.stderr


AUDIT = ["--left", "left.json", "--right", "right.json", "--samples", "600", "--json"]


@pytest.mark.parametrize("target", ["mine:noisy", "mine.py:noisy", "./mine.py:noisy"])
def test_targets_by_module_and_by_file(
    target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    assert run(["audit", target, *AUDIT, "--epsilon", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["claim"] == {"kind": "PureDP", "epsilon": 2.0}


def test_a_file_may_import_its_neighbors_and_hide_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "neighbor.py").write_text(MECHANISM)
    (folder / "deep" / "solvers.py").write_text("from neighbor import noisy as found")
    assert run(["audit", "deep/solvers.py:found", *AUDIT, "--epsilon", "2"]) == 0
    assert "refuted" in capsys.readouterr().out
    sys.modules.pop("neighbor", None)


def test_a_module_that_exits_is_no_refutation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "script.py").write_text("import sys\nsys.exit(1)")
    shown = told(["audit", "script.py:main", *AUDIT, "--epsilon", "1"], 2, capsys)
    assert "must be importable: SystemExit: 1" in shown


# encodings and streams


@pytest.mark.parametrize(
    ("encoding", "options"), [("ascii", []), ("ascii", ["--json"]), ("cp1252", [])]
)
def test_output_in_any_encoding(
    encoding: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "argv", ["dpverify", "prove", "laplace", *options])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    shown.flush()
    text = shown.buffer.getvalue().decode(encoding)
    assert "?" not in text
    if options:
        assert "ℓ1 sensitivity Δ" in json.loads(text)["theorems"][0]["statement"]
    else:
        assert "query of l1 sensitivity Delta is" in " ".join(text.split())


def test_a_full_disk_is_no_defect() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *NOISE],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DPVERIFY_PROGRESS": "0"},
        )
    assert done.returncode == 2
    assert done.stderr == "dpverify: output must be writable: No space left on device\n"


def test_an_error_that_cannot_be_told_keeps_its_code() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "noise"], check=False, stderr=full)
    assert done.returncode == 2


def test_columns_are_aligned_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert run(COMPOSE) == 0
    shown.flush()
    lines = shown.buffer.getvalue().decode("ascii").splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("rule "))
    column = lines[head].index("theorem")
    for line in lines[head + 1 : head + 8]:
        assert line[column - 1] == " " != line[column], line


def test_a_pipe_gets_no_blanks_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMPOSE) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("rule ") for line in lines)
    assert not [line for line in lines if line.endswith(" ")]


def test_sentences_are_left_whole_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*NOISE, "--rate", "256/60000", "--times", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("Poisson batches of rate 0.004266666666666667" in line for line in lines) == 1


def test_an_interrupt_before_anything_is_loaded_is_told() -> None:
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it\n"
        "class Early:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name in ('numpy', 'typer'):\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Early())\n"
        "from dpverify.cli import main\n"
        "sys.argv = ['dpverify', '--version']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (130, "dpverify: interrupted\n")


def test_a_closed_output_is_one_line() -> None:
    words = " ".join([*COMMAND, *NOISE])
    done = subprocess.run(
        ["/bin/sh", "-c", f"{words} >&-"], check=False, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


# first contact


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ([], "Usage: dpverify "),
        (["-h"], "Usage: dpverify "),
        (["--help"], "Usage: dpverify "),
        (["--version"], f"dpverify {dpv.__version__}\n"),
        (["noise", "-h"], "Usage: dpverify noise "),
        (["ledger"], "Usage: dpverify ledger "),
    ],
)
def test_first_contact(
    arguments: list[str], first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    assert capsys.readouterr().out.startswith(first)


# nothing implicit


def test_noise_says_what_it_is_made_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*NOISE, "--rate", "256/60000", "--times", "10"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "assumes: add-remove neighbors, ℓ1 sensitivity 1" in shown
    assert "Poisson batches of rate 0.004266666666666667 " in shown
    assert run([*NOISE, "--rate", "256/60000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["relation"], found["sensitivity"]) == ("add-remove", 1.0)
    assert found["rate"] == 256 / 60000
    assert found["budget"] == {"kind": "PureDP", "epsilon": 1.0}


# bad input, and what is said of it; test_arguments.py has every verb with every argument wrong

BAD = [
    (["compose"], "expression must be given: Parts joined by + and repeated by *"),
    (COMPOSE[:4], "--relation must be given: Neighboring relation: add-remove or replace-one"),
    (["compose", "", *COMPOSE[2:]], "must read like"),
    ([*COMPOSE, "--delta", "1e-5"], "--delta is given 2 times"),
    ([*COMPOSE, "--delta=1e-5"], "--delta is given 2 times"),
    ([*COMPOSE, "more"], "arguments must end before 'more': `dpverify compose --help` lists"),
    ([*COMPOSE, "--tolerance", ""], "--tolerance='' must be a real number"),
    ([*COMPOSE, "--tolerance"], "--tolerance must be given a value"),
    ([*COMPOSE, "--json=1"], "--json must be given without a value"),
    ([*COMPOSE, "--tolerance", "-1"], "tolerance=-1.0 must"),
    ([*COMPOSE, "--report", "."], "must"),
    ([*COMPOSE, "--plot", "no/where.png"], "plot='no/where.png' must be a file in"),
    ([*COMPOSE, "--xyz"], "--xyz must be an option of `dpverify compose`; --help lists them"),
    ([*COMPOSE, "--tolerence", "1"], "did you mean --tolerance?"),
    (["noise"], "mechanism must be given: Which noise; dp-sgd plans a training run"),
    (["noise", "poisson", "--epsilon", "1"], "mechanism='poisson' must be one of: gaussian, "),
    (["noise", "gaussian", "--epsilon", "1"], "l2-sensitivity=None must be declared"),
    (["noise", "laplace", "--epsilon", "1"], "l1-sensitivity=None must be declared"),
    (["noise", "norm", "--epsilon", "1"], "sensitivity=None must be declared"),
    ([*NOISE, "--rate", "1/0"], "'1/0' must be a real number"),
    ([*NOISE, "--rate", "2/1"], "rate=2.0 must lie in [0, 1]"),
    ([*NOISE, "--relation", ""], "relation='' must"),
    ([*NOISE, "--times", "many"], "'many' must be"),
    (["audit"], "target"),
    (["audit", "", *AUDIT, "--epsilon", "1"], "target='' must look like"),
    (["audit", "mine:", *AUDIT, "--epsilon", "1"], "must look like"),
    (["audit", "mine:number", *AUDIT, "--epsilon", "1"], "must be a mechanism(data, rng), not of"),
    (
        ["audit", "mine:absent", *AUDIT, "--epsilon", "1"],
        "must name a mechanism in the module: noi",
    ),
    (["audit", "mine.py:absent", *AUDIT, "--epsilon", "1"], "in the module: noisy"),
    (["audit", "none.py:noisy", *AUDIT, "--epsilon", "1"], "must be a file that exists"),
    (["audit", "mine:noisy", "--left", ".", "--right", "right.json"], "not a folder"),
    (["audit", "mine:noisy", "--left", "", "--right", "right.json"], "not a folder"),
    (
        ["audit", "mine:noisy", "--left", "none.json", "--right", "right.json"],
        "left='none.json' must be a file",
    ),
    (["audit", "mine:noisy", "--left", "binary", "--right", "right.json"], "must hold JSON"),
    (["audit", "mine:noisy", "--left", "left.json"], "right=None must be a JSON file"),
    (["audit", "mine:noisy", "--schema", "binary", "--epsilon", "1"], "must"),
    (["audit", "mine:noisy", "--schema", ".", "--epsilon", "1"], "must"),
    (["audit", "mine:noisy", *AUDIT], "claim"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "x"], "'x' must be a real number"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "nan"], "epsilon=nan must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--delta", "-1"], "delta=-1.0 must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--level", "7"], "level=7.0 must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--method", "luck"], "method='luck' must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--workers", "0"], "workers=0 must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--seed", "-1"], "seed=-1 must"),
    (["audit", "mine:noisy", "--replay", "binary"], "must"),
    (["audit", "mine:noisy", "--replay", "left.json"], "must"),
    (["audit", "mine:noisy", "--replay", "."], "must"),
    (["audit", "mine:noisy", *AUDIT, "--epsilon", "1", "--checkpoint", "."], "must"),
    (["fit"], "data"),
    (["fit", ".", "--target", "y", "--epsilon", "1", "--norm-bound", "1"], "must"),
    (["fit", "binary", "--target", "y", "--epsilon", "1", "--norm-bound", "1"], "must be a CSV"),
    (["fit", "none.csv", "--target", "y", "--epsilon", "1", "--norm-bound", "1"], "must be a file"),
    (["trace"], "target"),
    (["trace", "mine:noisy"], "left=None and right=None must be"),
    (["trace", "mine:noisy", *AUDIT[:4]], "claim=None must be"),
    (["trace", "mine:noisy", "--left", "binary", "--right", "right.json"], "must hold JSON"),
    (["trace", "mine:noisy", *AUDIT[:4], "--epsilon", "1", "--executions", "0"], "executions=0"),
    (["decide"], "target"),
    (["decide", "mine:noisy", "--epsilon", "1"], "schema=None must"),
    (["decide", "mine:noisy", "--schema", "binary", "--epsilon", "1"], "must be a JSON file"),
    (["decide", "mine:noisy", "--schema", ".", "--epsilon", "1"], "must be a file"),
    (["decide", "mine:noisy", "--epsilon", "1", "--require", "luck"], "require='luck' must"),
    (["check"], "file"),
    (["check", ""], "must be a file"),
    (["check", "."], "must be a file"),
    (["check", "none.json"], "must be a file"),
    (["check", "binary"], "must be text in UTF-8"),
    (["check", "left.json"], "must be a certificate, a witness, a disclosure"),
    (["check", "mine.py", "--report", "page.txt"], "report='page.txt' must end in .html"),
    (["disclose"], "source=None must be given"),
    (["disclose", "", *COMPOSE[2:]], "must read like"),
    (["disclose", "gaussian(50)"], "relation=None must be"),
    (["disclose", "gaussian(50)", *COMPOSE[2:], "--given", "binary"], "must be text in UTF-8"),
    (["disclose", "gaussian(50)", *COMPOSE[2:], "--format", "xml"], "format='xml' must be one of"),
    (["disclose", "binary", *COMPOSE[2:]], "must be a JSON file with an object, or a ledger"),
    (["ledger", "nothing"], "verb='nothing' must be one of: open, spend, status"),
    (["ledger", "open"], "file"),
    (["ledger", "open", "b.ledger", "--relation", "add-remove"], "epsilon=None must be given"),
    (["ledger", "open", ".", "--relation", "add-remove", "--epsilon", "1"], "is a folder"),
    (["ledger", "spend", "none.ledger", "laplace(1)"], "must be a ledger: there is none"),
    (["ledger", "status", "binary"], "must be a ledger as it was written"),
    (["ledger", "export", "binary", "x.txt"], "output='x.txt' must end in"),
    (["prove", "nothing-at-all"], "name='nothing-at-all' must be one of"),
    (["prove", ""], "name='' must be one of"),
    (["prove", "laplace", "laplace"], "laplace"),
    (["prove", "laplace", "--report", "no/where.html"], "must"),
    (["demo", "--report", "no/where.html"], "must"),
    (["demo", "more"], "more"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: " ".join(value)[:60])
def test_bad_input_is_one_sentence(
    arguments: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "binary").write_bytes(bytes(range(256)))
    assert message in told(arguments, 2, capsys)
    assert not capsys.readouterr().out


def test_a_folder_that_hides_a_library_is_named(folder: Path) -> None:
    (folder / "scipy").mkdir()
    (folder / "scipy" / "__init__.py").write_text("raise SystemExit(1)")
    done = process("audit", "mine.py:noisy", *AUDIT, "--epsilon", "2", folder=folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(Path("scipy", "__init__.py")) in done.stderr
