"""Every verb with every argument and option wrong in every way: one sentence, exit code 2.

The cases are made from the parser itself, so that a new option is held to this by being there.
"""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import run
from dpverify.cli.app import VERBS, _loaded

ROOT = Path(__file__).parents[2]
MECHANISM = """\
def noisy(data, rng):
    return sum(data) + rng.laplace()


def half(data, rng):
    return sum(data) + rng.laplace(scale=0.5)
"""
NUMBERS = {
    "kind": "records",
    "length": [0, 2],
    "relation": "add-remove",
    "record": {"kind": "number", "low": 0, "high": 1},
}
RELATION = {"--relation": "add-remove"}
PAIR = {"--left": "left.json", "--right": "right.json", "--epsilon": "2"}

# A command line of each verb that works, as positional arguments and options.
LINES: dict[str, tuple[list[str], dict[str, str]]] = {
    "compose": (["laplace(2)"], {"--delta": "1e-6", **RELATION}),
    "noise": (["laplace"], {"--epsilon": "1", "--l1-sensitivity": "1"}),
    "audit": (["mine.py:noisy"], {**PAIR, "--samples": "300"}),
    "merge": (["draws-1"], {"--into": "draws"}),
    "trace": (["mine.py:noisy"], PAIR),
    "decide": (["mine.py:noisy"], {"--schema": "schema.json", "--epsilon": "2"}),
    "disclose": (["laplace(2)"], {"--delta": "1e-6", **RELATION}),
    "check": (["witness.json"], {}),
    "fit": (
        ["data.csv"],
        {
            "--target": "y",
            "--epsilon": "1",
            "--norm-bound": "1",
            "--classes": "-1,1",
        },
    ),
    "ledger open": (["new.ledger"], {"--epsilon": "3", **RELATION}),
    "ledger spend": (["b.ledger", "laplace(50)"], {}),
    "ledger status": (["b.ledger"], {}),
    "ledger history": (["b.ledger"], {}),
    "ledger export": (["b.ledger", "b.csv"], {}),
    "prove": (["laplace"], {}),
    "demo": ([], {"--report": "demo.html"}),
}
# What an option needs beside it to be looked at.
BESIDE: dict[tuple[str, str], dict[str, str]] = {
    ("compose", "--accuracy"): {"--report": "page.html", "--seconds": "0"},
    ("noise", "--accuracy"): {"--report": "page.html", "--seconds": "0"},
    ("audit", "--share"): {"--checkpoint": "draws-2"},
    ("ledger open", "--by"): {"--delta": "1e-6"},
}
# What is written, not read.
WRITTEN = {
    *("--report", "--plot", "--band", "--label", "--save-witness", "--certificate", "--output"),
    *("--into", "--export", "--checkpoint"),
    "output",
}
# Texts that people choose: any will do.
FREE = {
    *(("ledger open", name) for name in ("--dataset", "--user")),
    *(("ledger spend", name) for name in ("--label", "--user")),
    ("disclose", "--arithmetic"),
}
# Options that this verb does not need for the line above, and may ignore.
IDLE = {("audit", "--relation"), ("disclose", "--dataset")}

NOT_NUMBERS = ("", "x", "1/0", "1,5", "nan", "--json", "0x10", "١/٠")
NOT_COUNTS = ("", "x", "1.5", "nan", "inf", "-1", "1e400", "10**3")
NOT_READ = ("", "none", "folder", "binary", "empty", "secret", "link", "void.json", "deep.json")
NOT_WRITTEN = ("", "folder", "no/where.html", "closed/page.html", "binary/page.html")
NOT_CHOSEN = ("", "nonsense", "\udcff", "b" * 500)


@dataclass(frozen=True)
class Case:
    """A command line that is wrong, and the argument that its sentence must name."""

    line: tuple[str, ...]
    names: str

    def __str__(self) -> str:
        return " ".join(self.line)[:120]


def commands() -> Iterator[tuple[str, Any]]:
    """Every verb, and every verb of a verb, with what the parser knows of it."""
    for verb in VERBS:
        command = _loaded(verb)
        if hasattr(command, "commands"):
            yield from ((f"{verb} {name}", each) for name, each in command.commands.items())
        else:
            yield verb, command


def line(verb: str, arguments: list[str], options: dict[str, str]) -> tuple[str, ...]:
    given = [text for option, value in options.items() for text in (option, value)]
    return (*verb.split(), *arguments, *given)


def wrong_values(verb: str, name: str, parameter: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Values that are wrong for a parameter, by what the parser says of its type."""
    kind = parameter.type_descriptor.annotation
    if kind is float:
        return NOT_NUMBERS
    if kind is int:
        return NOT_COUNTS
    if kind in (Path, list[Path]):
        if name == "--checkpoint" or (verb, name) == ("ledger open", "file"):  # or is made
            return ("folder", "binary", "closed/page.html", "no/where.html", "secret", "deep.json")
        if name in {"--left", "--right"}:  # JSON's null is a dataset
            return tuple(value for value in NOT_READ if value != "void.json")
        return NOT_WRITTEN if name in WRITTEN else NOT_READ
    return () if (verb, name) in FREE else NOT_CHOSEN


def cases() -> Iterator[Case]:
    for verb, command in commands():
        arguments, options = LINES[verb]
        places = 0
        for parameter in command.params:
            name = parameter.opts[0]
            if name == "--help":
                continue
            if name.startswith("-"):
                yield from wrong_options(verb, parameter, arguments, options)
                continue
            if parameter.required:
                left = arguments[:places]
                yield Case(line(verb, left, options), name)
            for value in wrong_values(verb, name, parameter):
                given = [*arguments[:places], value, *arguments[places + 1 :]]
                yield Case(line(verb, given, options), name)
            places += parameter.nargs != -1
        if places or not arguments:
            yield Case(
                line(verb, [*arguments, "more"] if places == len(arguments) else ["more"], options),
                "",
            )
        yield Case((*line(verb, arguments, options), "--nonsense"), "--nonsense")


def wrong_options(
    verb: str,
    parameter: Any,  # noqa: ANN401  # of the parser
    arguments: list[str],
    options: dict[str, str],
) -> Iterator[Case]:
    name = parameter.opts[0]
    others = {option: value for option, value in options.items() if option != name}
    if parameter.is_flag:
        yield Case((*line(verb, arguments, options), f"{name}=yes"), name)
        yield Case((*line(verb, arguments, options), name, name), name)
        return
    beside = BESIDE.get((verb, name), {})
    if parameter.required:
        yield Case(line(verb, arguments, others), name)
    yield Case((*line(verb, arguments, others | beside), name), name)
    if not parameter.multiple:
        twice = (name, "1", f"{name}=1")
        yield Case((*line(verb, arguments, others | beside), *twice), name)
    for value in wrong_values(verb, name, parameter):
        yield Case((*line(verb, arguments, others | beside), f"{name}={value}"), name)


@contextmanager
def as_somebody() -> Iterator[None]:
    """Not as the superuser, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def furnish(place: Path) -> None:
    """All that the lines above read, and what none can."""
    (place / "mine.py").write_text(MECHANISM)
    (place / "left.json").write_text("[1, 0]")
    (place / "right.json").write_text("[1, 1]")
    (place / "schema.json").write_text(json.dumps(NUMBERS))
    facts = [(x / 40 - 0.5, 1 if x > 20 else -1) for x in range(40)]
    (place / "data.csv").write_text("\n".join(["x,y", *(f"{x},{y}" for x, y in facts)]))
    (place / "folder").mkdir()
    (place / "binary").write_bytes(bytes(range(256)))
    (place / "empty").touch()
    (place / "void.json").write_text("null")
    (place / "deep.json").write_text("[" * 100_000)
    (place / "secret").write_text("[1]")
    (place / "secret").chmod(0)
    (place / "closed").mkdir(mode=0o500)
    (place / "link").symlink_to("nothing")
    witness = ["--left", "left.json", "--right", "right.json", "--epsilon", "1"]
    for made in (
        ["audit", "mine.py:half", *witness, "--save-witness", "witness.json"],
        ["audit", "mine.py:noisy", *witness, "--share", "1/9", "--checkpoint", "draws-1"],
        ["ledger", "open", "b.ledger", "--epsilon", "3", "--relation", "add-remove"],
    ):
        assert run(made) in (0, 1)
    for each in place.iterdir():
        if not each.is_symlink():
            shutil.chown(each, 65534 if os.geteuid() == 0 else os.geteuid())


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder of somebody who is not the superuser."""
    before = Path.cwd()
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    os.chdir(folder)
    try:
        furnish(folder)
        yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


CASES = [
    *cases(),
    Case(("nonsense",), "nonsense"),
    Case(("ledger", "nonsense"), "nonsense"),
    Case(("--nonsense",), "--nonsense"),
    Case(("--plugin",), "--plugin"),
    Case(("--plugin", "", "demo"), "plugin"),
    Case(("--plugin", "no.such.module", "demo"), "plugin"),
    Case(("--version=3",), "--version"),
]
NEEDS_RIGHTS = ("secret", "closed/page.html")


def is_about_rights(case: Case) -> bool:
    return case.line[-1].rpartition("=")[2] in NEEDS_RIGHTS or bool({*NEEDS_RIGHTS} & {*case.line})


def problems(case: Case, place: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is wrong with how a wrong command line was answered."""
    before = set(place.iterdir())
    with as_somebody() if is_about_rights(case) else nullcontext():
        code = run(list(case.line))
    told = capsys.readouterr()
    name = case.names.strip("-")
    objections = {
        f"exit code {code}": code != 2,
        "not one line": told.err.count("\n") != 1 or not told.err.startswith("dpverify: "),
        "very long": len(told.err) > 400,
        "something on standard output": bool(told.out),
        f"does not name {name}": name not in told.err
        and name.replace("-", "_") not in told.err
        # The parser itself names arguments in capitals.
        and name.upper() not in told.err,
        f"leaves {set(place.iterdir()) - before}": set(place.iterdir()) != before,
    }
    return [f"{case}: {text}: {told.err}" for text, holds in objections.items() if holds]


@pytest.mark.parametrize(
    "share",
    [
        pytest.param(slice(3, None, 9), id="some"),
        pytest.param(slice(None), id="all", marks=pytest.mark.slow),
    ],
)
def test_whatever_is_wrong_is_said_in_one_sentence(
    share: slice, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {verb for verb, _ in commands()} == set(LINES)
    capsys.readouterr()
    # What needs rights comes last: all modules are loaded by then, and need not be readable.
    chosen = sorted(CASES[share], key=is_about_rights)
    assert not [problem for case in chosen for problem in problems(case, place, capsys)]


SLOW = pytest.mark.slow
COLOR = re.compile(r"(^|;)(3[0-9]|4[0-9]|9[0-7]|10[0-7])(;|$)")
EVERY = [
    pytest.param(verb, marks=[SLOW] if verb in {"demo", "prove", "fit", "decide"} else [])
    for verb in LINES
]


def fresh(place: Path, verb: str) -> list[str]:
    """The line of a verb, after what an earlier one wrote is taken away."""
    for name in ("draws", "new.ledger", "data.model.json", "b.csv"):
        (place / name).unlink(missing_ok=True)
    return list(line(verb, *LINES[verb]))


@pytest.mark.parametrize("verb", EVERY)
def test_a_pipe_that_is_closed(
    verb: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    capsys.readouterr()
    with open(writes, "w", encoding="utf-8") as closed:  # noqa: PTH123  # a descriptor
        monkeypatch.setattr(sys, "stdout", closed)
        assert run(fresh(place, verb)) == 2
    told = capsys.readouterr().err
    assert told == "dpverify: stdout must stay open: it was closed before all was written\n"


@pytest.mark.parametrize("verb", EVERY)
def test_without_a_terminal_there_is_no_color(
    verb: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run(fresh(place, verb)) in (0, 1)
    told = capsys.readouterr()
    assert told.out
    assert not told.err
    assert "\x1b" not in told.out


@pytest.mark.parametrize(
    ("verb", "environment"),
    [
        pytest.param(verb, environment, marks=[] if verb == "compose" else [SLOW])
        for verb in LINES
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"})
    ],
)
def test_a_terminal_that_wants_no_color(
    verb: str, environment: dict[str, str], place: Path
) -> None:
    """Bold and the progress line are no colors; a dumb terminal gets no escape at all."""
    own = {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"} | environment
    code, shown = in_terminal(fresh(place, verb), place, own)
    assert code in (0, 1)
    found = re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])", shown)
    if "NO_COLOR" in environment:
        assert not [codes for codes, kind in found if kind == "m" and COLOR.search(codes)]
    else:
        assert not found


def in_terminal(arguments: list[str], place: Path, own: dict[str, str]) -> tuple[int, str]:
    """Exit code and all that a terminal got to see."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dpverify", *arguments]
    with subprocess.Popen(
        command, cwd=place, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | own
    ) as started:
        os.close(theirs)
        shown = bytearray()
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # nobody writes any more
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return started.returncode, shown.decode("utf-8")
