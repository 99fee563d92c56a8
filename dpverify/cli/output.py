"""What every verb shares: where output goes, how progress and misuse are reported."""

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.text import Text

from dpverify.cli.exits import Interrupted, lacks, plain
from dpverify.errors import InvalidParameter
from dpverify.waiting import waiting

_REPEATED = ("--plugin", "--evidence")  # options that may be given as often as one likes

arguments: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def command_line() -> str:
    """The command that is running, as a shell takes it."""
    return shlex.join(["dpverify", *arguments.get()])


def check_given_once(given: Sequence[str]) -> None:
    """Refuse an option given twice, as it is unclear which value is meant."""
    options = [text.partition("=")[0] for text in given if text.startswith("--") and text != "--"]
    options = [option for option in options if option not in _REPEATED]
    for option in options:
        if options.count(option) > 1:
            raise InvalidParameter(
                f"{option} is given {options.count(option)} times and must be given once"
            )


def number(text: str | float) -> float:
    """A real number or a quotient from the command line, such as 1e-5 or 256/60000.

    NaN and infinity are left to the checks of what uses them.
    """
    top, slash, bottom = str(text).partition("/")
    try:
        return float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{text!r} must be a real number, such as 0.5, 1e-6 or 256/60000"
        ) from None


def whole_number(text: str | float) -> int:
    """An int from the command line; 1e4 is one."""
    value = number(text)
    if not value.is_integer():
        raise typer.BadParameter(f"{text!r} must be a whole number")
    return int(value)


def number_option(text: str) -> Any:  # noqa: ANN401  # what typer.Option returns
    """An option that takes a real number."""
    return typer.Option(parser=number, metavar="NUMBER", help=text)


def count_option(text: str) -> Any:  # noqa: ANN401  # what typer.Option returns
    """An option that takes a whole number."""
    return typer.Option(parser=whole_number, metavar="COUNT", help=text)


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def check_output(name: str, path: Path | None) -> None:
    """Refuse a file that cannot be written before the work is done and a budget spent."""
    if path is None:
        return
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InvalidParameter(f"{name}={str(path)!r} must be a file in a folder that exists")
    if not os.access(path if path.exists() else path.resolve().parent, os.W_OK):
        raise InvalidParameter(f"{name}={str(path)!r} must be writable")


@contextmanager
def reading(name: str, path: Path) -> Iterator[None]:
    """Report errors in a file under the name of the option that named it."""
    given = f"{name}={str(path)!r}"
    if path.is_dir():
        raise InvalidParameter(f"{given} must be a file, not a folder")
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise InvalidParameter(f"{given} must be a file to read: {error.strerror}") from None
    except InvalidParameter as error:
        if str(error).startswith(f"{name}="):
            raise
        raise InvalidParameter(f"{given}: {error}") from None


def check_page(report: Path | None) -> None:
    """Refuse a page that cannot be written before the work is done."""
    if report is not None and report.suffix.lower() not in {".html", ".htm"}:
        raise InvalidParameter(f"report={str(report)!r} must end in .html")
    check_output("report", report)


class _Output(Console):
    """Leaves sentences whole where no terminal is and COLUMNS is not set: they are searched in.

    Characters that the encoding lacks are spelled out before columns are laid out. What is not a
    terminal gets no blanks at the ends of lines.
    """

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401  # as they are
        is_free = not self.is_terminal and "COLUMNS" not in os.environ
        if is_free and all(isinstance(each, str | Text) for each in objects):
            options["soft_wrap"] = True
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as held:
            super().print(*objects, **options)
        self.file.write("\n".join(line.rstrip(" ") for line in held.get().split("\n")))

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401  # as they are
        return super().render_str(plain(text) if lacks(self.encoding, text) else text, **options)


def console() -> Console:
    """Standard output; color only on a terminal."""
    return _Output(highlight=False, soft_wrap=False)


def tell(text: str) -> None:
    """A text on standard output; on a terminal, lines that go on are indented a little more."""
    screen = console()
    if not screen.is_terminal:
        screen.print(text, markup=False)
        return
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        parts = textwrap.wrap(line, screen.width, subsequent_indent=indent, break_on_hyphens=False)
        for part in parts or [""]:
            screen.print(part, markup=False, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, and nothing else there.

    Characters that the encoding of standard output does not have are escaped as JSON does it.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    if lacks(sys.stdout.encoding, text):
        text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(text + "\n")


@contextmanager
def progress(what: str | Callable[[], str], *, without: str | None = None) -> Iterator[None]:
    """Tell on standard error that work goes on, whether or not that is a terminal.

    Who interrupts it is told during what, and `without` which result.
    """
    try:
        with waiting(what, always=True):
            yield
    except KeyboardInterrupt:
        if without is None:
            raise
        now = what if isinstance(what, str) else what()
        raise Interrupted(f"while {now}: {without}") from None
