"""README and guides are true: blocks run and print what follows them, commands do what is shown.

A document runs from top to bottom in a folder of its own:

- a Python block is executed, and prints the text block right after it;
- a block titled `title="name"` is written to a file of that name;
- a Python block titled `title="needs package"` is executed where that package is installed;
- in a console block every `$ ` line is run, exits with the code in `# exit N`, 0 if there is none,
  and prints the lines below it, if there are any.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from dpverify.cli import run

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [ROOT / "README.md", *(page for page in PAGES if page.parent.name != "reference")]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str
    needs: str = ""

    @property
    def can_run(self) -> bool:
        return not self.needs or find_spec(self.needs) is not None


def blocks(path: Path) -> list[Block]:
    found = []
    for language, attributes, text in FENCE.findall(path.read_text(encoding="utf-8")):
        _, _, title = attributes.partition("title=")
        name, _, needs = title.strip().strip('"').partition("needs ")
        found.append(Block(language, name, text, needs))
    return found


def commands(block: Block) -> Iterator[tuple[str, int, str]]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        command, _, note = line.partition("  # ")
        code = re.search(r"exit (\d)", note)
        yield command.strip(), int(code[1]) if code else 0, shown.strip()


def printed(code: str, where: Path) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(compile(code, str(where), "exec"), {"__name__": "__main__"})  # noqa: S102  # our own
    return shown.getvalue()


def check_command(command: str, code: int, shown: str, capfd: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(command)
    if program == "dpverify":
        found = run(arguments)
        told = capfd.readouterr()
        assert found == code, told.err
        assert (told.err if code == 2 else told.out) or "--replay" in command
        if shown:
            assert told.out.strip() == shown
    elif program == "pytest":
        module = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        finished = subprocess.run(module, check=False, capture_output=True, text=True)
        assert finished.returncode == code, finished.stdout
    elif program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{arguments[0]}:", makefile, re.MULTILINE)
    else:
        assert program in {"pip", "python", "git"}, f"{command!r} is not checked by anything"


@pytest.fixture
def _unloaded(tmp_path: Path) -> Iterator[None]:
    """Forget a document's modules: one is called `sparse`, which other packages look for."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("_unloaded")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_document_is_true(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path)]))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--privacy-samples=8000")  # what holds needs no more
    found = blocks(path)
    ran = 0
    for block, following in pairwise([*found, Block("", "", "")]):
        if block.title:
            sys.modules.pop(Path(block.title).stem, None)  # written anew
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            assert following.language == "text", f"what does this print?\n{block.text}"
            assert not block.can_run or printed(block.text, path) == following.text
            ran += 1
        elif block.language == "console":
            capfd.readouterr()
            for command, code, shown in commands(block):
                check_command(command, code, shown, capfd)
                ran += 1
    assert ran or not found


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
