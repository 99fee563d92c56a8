"""`dpverify merge`: one checkpoint of what several machines drew."""

from pathlib import Path
from typing import Annotated

import typer

import dpverify as dpv
from dpverify.cli.output import Json, console, print_json, progress

EXAMPLE = "Example: dpverify merge draws-1 draws-2 draws-3 --into draws"


def merge(
    checkpoints: Annotated[list[Path], typer.Argument(help="What `audit --share` drew.")],
    into: Annotated[Path, typer.Option(help="A new file, for `audit --checkpoint`.")],
    json: Json = False,
) -> int:
    """Put the draws of several machines into one checkpoint of their audit."""
    with progress(f"merging {len(checkpoints)} files"):
        draws = dpv.merge_checkpoints(checkpoints, into)
    if json:
        print_json({"files": len(checkpoints), "draws": draws, "into": str(into)})
    else:
        console().print(f"{draws:,} draws of both sides in {into}", markup=False)
    return 0
