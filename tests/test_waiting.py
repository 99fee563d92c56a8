"""Slow work tells that it goes on: on a terminal, or where it is asked for; once, and no more."""

import io
import time
from types import SimpleNamespace
from typing import Any

import pytest

import dpverify as dpv
from dpverify import waiting as module
from dpverify.waiting import telling, waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    monkeypatch.delenv("DPVERIFY_PROGRESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return shown


def until(shown: io.StringIO, text: str) -> str:
    """What is shown, once it has the text."""
    for _ in range(500):
        if text in shown.getvalue():
            break
        time.sleep(0.01)
    return shown.getvalue()


def test_a_terminal_gets_a_line_that_is_taken_away(terminal: Terminal) -> None:
    with waiting("at work"):
        assert "dpverify: at work, 0 s" in until(terminal, "at work")
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_what_is_called_says_nothing_of_its_own(terminal: Terminal) -> None:
    @telling("inside")
    def inner() -> int:
        return len(until(terminal, "outside"))

    with waiting("outside"):
        assert inner() > 0
    assert "inside" not in terminal.getvalue()
    with waiting("outside again"):
        until(terminal, "outside again")


@pytest.mark.parametrize(("name", "value"), [("DPVERIFY_PROGRESS", "0"), ("TERM", "dumb")])
def test_silence_where_it_is_not_wanted(
    name: str, value: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with waiting("at work"):
        time.sleep(0.02)
    assert not terminal.getvalue()


def test_what_is_no_terminal_gets_a_line_if_it_is_asked_for(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=plain))
    with waiting("at work"):
        time.sleep(0.02)
    assert not plain.getvalue()
    monkeypatch.setenv("DPVERIFY_PROGRESS", "1")
    with waiting("at work"):
        assert until(plain, "work") == "dpverify: at work, 0 s\n"
    assert not terminal.getvalue()


def test_public_functions_tell(terminal: Terminal) -> None:
    waits = [1]  # once: the line comes at once, or not at all

    def slow(data: list[int], rng: Any) -> Any:  # noqa: ANN401
        if waits:
            waits.pop()
            until(terminal, "ing")
        return sum(data) + rng.laplace()

    dpv.audit(slow, left=[0], right=[1], claim=dpv.PureDP(1.0), samples=50)
    assert "dpverify: auditing, " in terminal.getvalue()
