"""The map is true: what ARCHITECTURE.md names exists, and its walks are those that run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / "ARCHITECTURE.md"


def walks() -> dict[str, list[str]]:
    text = MAP.read_text(encoding="utf-8")
    section = text.partition("<!-- walks -->")[2].partition("<!-- end of walks -->")[0]
    found = re.findall(r"^\*\*(\w+)\*\*.*? files\): (.*)$", section, re.MULTILINE)
    return {name: re.findall(r"`([^`]+)`", files) for name, files in found}


def home(name: str) -> Path:
    top = name.partition("/")[0]
    base = ROOT if top in {"solvers", "proofs"} else ROOT / "dpverify"
    return base / (name if Path(name).suffix else f"{name}.py")


def test_every_file_on_a_walk_exists() -> None:
    assert set(walks()) == {"compose", "audit", "fit", "test", "prove", "report"}
    missing = [name for files in walks().values() for name in files if not home(name).is_file()]
    assert not missing


def test_every_room_on_the_map_exists() -> None:
    section = MAP.read_text(encoding="utf-8").partition("## The layers")[2].partition("## Six")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    rooms = [room for row in rows for room in re.findall(r"`(\w+)/?`", row)]
    assert len(rooms) > 15
    base = ROOT / "dpverify"
    assert all((base / room).is_dir() or (base / f"{room}.py").is_file() for room in rooms)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compose", "audit", "fit", "test", "prove", "report"])
def test_a_walk_is_the_one_that_runs(name: str) -> None:
    """`python benchmarks/walks.py --write` writes them."""
    told = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "walks.py"), name],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    ran = [line.strip().removesuffix(".py") for line in told.stdout.splitlines()[1:]]
    assert walks()[name] == [file.removeprefix("dpverify/") for file in ran]
