"""`dpverify merge`: one checkpoint of what several machines drew."""

from pathlib import Path
from typing import Annotated

import typer

import dpverify as dpv
from dpverify.cli.options import Report
from dpverify.cli.origin import write_report
from dpverify.cli.output import Json, check_page, command_line, console, print_json, progress

EXAMPLE = "Example: dpverify merge draws-1 draws-2 draws-3 --into draws"


def merge(
    checkpoints: Annotated[list[Path], typer.Argument(help="What `audit --share` drew.")],
    into: Annotated[Path, typer.Option(help="A new file, for `audit --checkpoint`.")],
    report: Report = None,
    json: Json = False,
) -> int:
    """Put the draws of several machines into one checkpoint of their audit."""
    check_page(report)
    with progress(f"merging {len(checkpoints)} files"):
        draws = dpv.merge_checkpoints(checkpoints, into)
    answer = {"files": len(checkpoints), "draws": draws, "into": str(into)}
    if report is not None:
        from dpverify.reporting.pages.checked import merged_page  # noqa: PLC0415  # slow to import

        write_report(merged_page(answer, command=command_line()), report)
    if json:
        print_json(answer)
        return 0
    console().print(f"{draws:,} draws of both sides in {into}", markup=False)
    if report is not None:
        console().print(f"report: {report}", markup=False)
    return 0
