"""Where a page comes from: date, version, seed, and the digest of all that the command read."""

import hashlib
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import arguments

if TYPE_CHECKING:
    from dpverify.reporting.page import Page

_WRITTEN = (
    *("--report", "--plot", "--band", "--output", "--label"),
    *("--save-witness", "--certificate", "--checkpoint", "--into"),
)


def write_report(page: "Page", path: Path, *, seed: int | None = None) -> None:
    """Write a page that says when, by which version and from which files it was made."""
    from dpverify.reporting.page import write_page  # noqa: PLC0415  # slow to import

    write_page(page, path, origin(arguments.get(), seed))


def origin(given: Sequence[str], seed: int | None) -> tuple[tuple[str, str], ...]:
    """The facts of a command line; SOURCE_DATE_EPOCH sets the date, so that pages can be equal."""
    from dpverify import __version__  # noqa: PLC0415  # the package is whole by now

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = float(epoch) if epoch.isdecimal() else time.time()
    facts = [
        ("written", datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("by", f"dpverify {__version__}, Python {platform.python_version()}"),
    ]
    if seed is not None:
        facts.append(("seed", str(seed)))
    for name, path in _read_by(given):
        facts.append((name, f"sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"))
    return tuple(facts)


def _read_by(given: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The files that a command line names, but for those that it writes; and a target's code."""
    option = ""
    for text in given:
        if text.startswith("--"):
            option, _, value = text.partition("=")
        else:
            value = text
        if value and option not in _WRITTEN:
            if Path(value).is_file():
                yield Path(value).name, Path(value)
            elif (source := _source(value.rpartition(":")[0])).is_file():
                yield f"code, {source.name}", source
        if value:
            option = ""


def _source(place: str) -> Path:
    """The file of a target: `path/file.py`, or a module that is loaded."""
    if place.endswith(".py"):
        return Path(place)
    return Path(getattr(sys.modules.get(place), "__file__", None) or "")
