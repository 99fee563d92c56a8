"""The command line that the table scripts share."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environment
from cases import Case

TIME_LIMIT = 150.0


@dataclass(frozen=True)
class Options:
    """Which cases, how long, how fine, and where to write."""

    cases: Sequence[Case]
    full: bool
    limit: float
    json: Path | None

    def write(self, results: dict[str, Any]) -> None:
        if self.json:
            found = {"environment": environment.description()} | results
            self.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def parse(description: str, cases: Sequence[Case], arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(description=description)
    names = [case.name for case in cases]
    parser.add_argument(
        "--case", action="append", choices=names, metavar="NAME",
        help=f"run only this one; may be repeated: {', '.join(names)}",
    )  # fmt: skip
    add_common(parser)
    given = parser.parse_args(arguments)
    if environment.python() is None:
        environment.say("no peers to compare with: python benchmarks/run.py installs them")
    kept = [case for case in cases if not given.case or case.name in given.case]
    return Options(kept, given.full, given.time_limit, given.json)


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--full", action="store_true", help="add the peers' finer settings")
    parser.add_argument(
        "--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS",
        help="for one tool on one case (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="also write the results there, for machines"
    )
