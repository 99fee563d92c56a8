"""The README is true: every Python block runs and prints what follows it; every command works."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from dpverify.cli import run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^\$ (dpverify .*)$", README, re.MULTILINE)
TARGETS = re.findall(r"^\$ make (\w+)", README, re.MULTILINE)


def test_no_block_is_left_out() -> None:
    assert README.count("```python") == len(BLOCKS) >= 3
    assert len(COMMANDS) >= 2


@pytest.mark.parametrize(("code", "printed"), BLOCKS, ids=range(len(BLOCKS)))
def test_python_blocks_print_what_they_say(code: str, printed: str) -> None:
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102  # our own README
    assert shown.getvalue() == printed


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(command)[1:]) == 0
    assert capsys.readouterr().out


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert TARGETS
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in TARGETS)
