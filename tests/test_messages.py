"""Every sentence of the error messages: it names an argument, its value, and what is allowed."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

HANDED_ON = re.compile(
    r"^\{[^{}]*\}(:|$)|^\{name\}=\{message\}$|^given\.\{|^the audit could not|^there is no evidence"
)
"""Sentences that begin with another one, which names the argument; and what was cut short."""
UNSHOWN = (
    *("mechanism must", "data must", "candidates must", "checkpoint must", "strategy must"),
    *("linear must", "penalties must", "parameters and data must", "evidence must", "text must"),
    *("budget must", "request must", "seconds must be more", "given must"),
    *("features must be numbers", "insert() must come after"),
    "left and right must be given",
)
"""Arguments whose value says nothing to a reader: functions, arrays, whole files."""


@pytest.fixture(scope="module")
def messages() -> list[Any]:
    script = Path(__file__).parents[1] / "docs" / "messages.py"
    collected: dict[str, Any] = runpy.run_path(str(script), run_name="messages")
    return list(dict.fromkeys(collected["messages"]()))


def says_enough(sentence: str) -> bool:
    if HANDED_ON.search(sentence):
        return True
    has_value = re.search(r"[{=]|'", sentence) or sentence.startswith(UNSHOWN)
    return bool(has_value and re.search(r"\bmust\b", sentence))


def test_misuse_names_argument_value_and_what_is_allowed(messages: list[Any]) -> None:
    misuse = [each for each in messages if each.error == "InvalidParameter"]
    assert len(misuse) > 400
    assert not [each for each in misuse if not says_enough(each.sentence)]


def test_what_the_parser_objects_to_does_so_too(messages: list[Any]) -> None:
    parsed = {each.sentence for each in messages if each.error == "BadParameter"}
    assert "{text} must be a whole number" in parsed
    assert "{option} must be given {rest}" in parsed
    assert "{option} must be an option of `{verb}`; --help lists them" in parsed
    assert not [sentence for sentence in parsed if not says_enough(sentence)]


@pytest.mark.parametrize(
    "sentence", ["epsilon is wrong", "epsilon must be positive", "epsilon={epsilon!r} is negative"]
)
def test_sentences_that_say_too_little(sentence: str) -> None:
    assert not says_enough(sentence)


def test_a_message_is_one_sentence(messages: list[Any]) -> None:
    long = [
        each
        for each in messages
        if each.sentence.endswith((".", "!", " ")) or "\n" in each.sentence
    ]
    assert not long
