"""Options that several verbs take, each written once; and the claim that they state."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dpverify.cli.output import count_option, number_option, reading
from dpverify.cli.targets import load_data
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

if TYPE_CHECKING:
    from dpverify.schema import Schema

Target: TypeAlias = Annotated[
    str,
    typer.Argument(help="package.module:name or path/file.py:name of a mechanism(data, rng)."),
]
Left: TypeAlias = Annotated[Path | None, typer.Option(help="JSON file with one dataset.")]
Right: TypeAlias = Annotated[Path | None, typer.Option(help="JSON file with its neighbor.")]
SchemaFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="JSON file that says what data look like; finds the pair.")
]
Epsilon: TypeAlias = Annotated[float | None, number_option("Claimed ε.")]
Delta: TypeAlias = Annotated[float, number_option("Claimed δ.")]
Rho: TypeAlias = Annotated[float | None, number_option("Claimed ρ of zCDP.")]
Mu: TypeAlias = Annotated[float | None, number_option("Claimed μ of Gaussian DP.")]
Order: TypeAlias = Annotated[float | None, number_option("Rényi order at which ε is claimed.")]
Samples: TypeAlias = Annotated[int | None, count_option("Most draws on each side, of an audit.")]
Seed: TypeAlias = Annotated[int, count_option("Same seed, same verdict.")]
SaveWitness: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the witness of a refutation to this file.")
]
Report: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write a self-contained HTML page to this file.")
]


def claim_of(
    epsilon: float | None, delta: float, rho: float | None, mu: float | None, order: float | None
) -> Guarantee | None:
    """The guarantee that the options state; None if they state none."""
    given = [
        name
        for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu))
        if value is not None
    ]
    if len(given) > 1:
        raise InvalidParameter(
            f"{' and '.join(given)} must not be given together: one claim at a time"
        )
    if rho is not None:
        return ZeroConcentratedDP(rho=rho)
    if mu is not None:
        return GaussianDP(mu=mu)
    if epsilon is None:
        return None
    if order is not None:
        return RenyiDP(order=order, epsilon=epsilon)
    return PureDP(epsilon=epsilon) if delta == 0 else ApproxDP(epsilon=epsilon, delta=delta)


def schema_of(path: Path | None) -> "Schema | None":
    """What data look like, from a file; None if there is none."""
    from dpverify.schema import load_schema  # noqa: PLC0415  # slow to import

    if path is None:
        return None
    with reading("schema", path):
        return load_schema(path)


def where_of(
    left: Path | None, right: Path | None, schema: Path | None, own: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The pair that is given, or where to search one; a target may bring its `own`."""
    found: dict[str, Any] = {} if schema is None else {"schema": schema_of(schema)}
    if left is not None or right is not None:
        return found | {"left": load_data("left", left), "right": load_data("right", right)}
    if schema is None and not own:
        raise InvalidParameter(
            "left=None and right=None must be JSON files with datasets, or schema a JSON file that "
            "says what they look like"
        )
    return found | (own or {})
