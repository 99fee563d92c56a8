"""Examples of docstrings as code, for the reference: Markdown takes `>>>` for quotes of quotes."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)  # to the next empty line


class Examples(griffe.Extension):
    """Fences every example, so that it is shown as it is typed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:  # of the tool
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its examples as blocks of code."""
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
