"""Docstrings as the reference shows them: examples are code, and lists of arguments come last.

Markdown takes `>>>` for quotes of quotes, and what follows a list of arguments for more of them.
"""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # to the next empty line
_SECTION = re.compile(r"^\w+\n-{3,}\n", re.MULTILINE)  # "Parameters", and what is below it


class Examples(griffe.Extension):
    """Fences every example, so that it is shown as it is typed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # of the tool
        if obj.docstring is not None:
            obj.docstring.value = fenced(sections_last(obj.docstring.value))


def fenced(text: str) -> str:
    """The text with its examples as blocks of code."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def sections_last(text: str) -> str:
    """The text with the paragraphs and examples below its lists of arguments above them."""
    prose: list[str] = []
    lists: list[str] = []
    for paragraph in text.split("\n\n"):
        is_list = _SECTION.match(paragraph + "\n") or (lists and _is_item(paragraph))
        (lists if is_list else prose).append(paragraph)
    return "\n\n".join(prose + lists)


def _is_item(paragraph: str) -> bool:
    """Whether it goes on with a list: indented, or a name with an indented text below it."""
    first, *rest = paragraph.split("\n")
    return first.startswith(" ") or (bool(rest) and rest[0].startswith(" "))
