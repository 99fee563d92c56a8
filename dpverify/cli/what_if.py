"""What `compose` and `noise` share: unstated sensitivities, and the grid of their pages."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dpverify.cli.csv_table import read
from dpverify.cli.output import progress, reading
from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation

if TYPE_CHECKING:
    from dpverify.accounting.parts import Composable
    from dpverify.guarantees import Bracket

Accuracy: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="For --report: CSV with columns noise and accuracy, as measured."),
]

_SENSITIVITIES = {
    "l1_sensitivity": "ℓ1 sensitivity",
    "l2_sensitivity": "ℓ2 sensitivity",
    "sensitivity": "sensitivity",
}


def measured(path: Path | None, report: Path | None) -> tuple[tuple[float, float], ...]:
    """The accuracy that was measured at some noise, from a CSV file."""
    if path is None:
        return ()
    if report is None:
        raise InvalidParameter(f"accuracy={str(path)!r} must come with report: it is shown there")
    with reading("accuracy", path):
        table = read(path, "accuracy")
    if table.names != ("noise",) or not len(table.labels):
        raise InvalidParameter(
            f"accuracy={str(path)!r} must have the columns noise and accuracy, and a row or more"
        )
    noises = [float(noise) for noise in table.features[:, 0]]
    if min(noises) <= 0 or len(set(noises)) < len(noises):
        raise InvalidParameter(f"noise in {str(path)!r} must be positive, each value once")
    return tuple(zip(noises, map(float, table.numeric_labels()), strict=True))


def grid(
    parts: list[tuple["Composable", int]],
    relation: Relation,
    delta: float,
    seconds: float | None,
    accuracy: tuple[tuple[float, float], ...],
    known: "Bracket | None" = None,
) -> dict[str, Any]:
    """The grid for a page, with progress on standard error; `known` is ε at `delta`."""
    from dpverify.reporting.what_if import SECONDS, what_if  # noqa: PLC0415  # for pages only

    state = [0, 0]

    def told(done: int, of: int) -> None:
        state[:] = done, of

    limit = SECONDS if seconds is None else seconds
    with progress(lambda: f"what if: {state[0]} of {state[1]} points, at most {limit:g} s"):
        return what_if(
            parts, relation, delta, seconds=limit, accuracy=accuracy, known=known, told=told
        )


def unstated(parts: Iterable[tuple[object, int]]) -> list[str]:
    """Sensitivities that the expression does not give, each with the default that stands for it."""
    found: dict[str, None] = {}
    for part, _ in parts:
        inner = part
        while is_dataclass(inner):
            for field in fields(inner):
                if field.name in _SENSITIVITIES and getattr(inner, field.name) == field.default:
                    found[f"{_SENSITIVITIES[field.name]} {field.default:g}"] = None
            inner = getattr(inner, "mechanism", None)
    return list(found)
