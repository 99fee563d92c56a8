"""`dpverify trace`: the exact loss of a pair, and the line of code that spends it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dpverify.cli.audit import _claim
from dpverify.cli.output import check_output, command_line, console, print_json, progress
from dpverify.cli.targets import load_data, load_target
from dpverify.errors import InvalidParameter
from dpverify.schema import load_schema
from dpverify.tracing import Traced
from dpverify.tracing import trace as run_trace

EXAMPLE = (
    "Example: dpverify trace package.module:callable --left D.json --right D2.json --epsilon 1"
)


def trace(
    target: Annotated[str, typer.Argument(help="package.module:name of a mechanism(data, rng).")],
    left: Annotated[Path | None, typer.Option(help="JSON file with one dataset.")] = None,
    right: Annotated[Path | None, typer.Option(help="JSON file with its neighbor.")] = None,
    schema: Annotated[
        Path | None, typer.Option(help="JSON file that says what data look like; finds the pair.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Claimed ε.")] = None,
    delta: Annotated[float, typer.Option(help="Claimed δ.")] = 0.0,
    rho: Annotated[float | None, typer.Option(help="Claimed ρ of zCDP.")] = None,
    mu: Annotated[float | None, typer.Option(help="Claimed μ of Gaussian DP.")] = None,
    order: Annotated[float | None, typer.Option(help="Rényi order at which ε is claimed.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same verdict.")] = 0,
    executions: Annotated[int, typer.Option(help="Most calls of the mechanism.")] = 100,
    confirm: Annotated[
        bool, typer.Option(help="Hand to an audit what the trace alone cannot decide.")
    ] = True,
    level: Annotated[
        float, typer.Option(help="Probability of refuting an honest mechanism, for that audit.")
    ] = 0.01,
    samples: Annotated[
        int | None, typer.Option(help="Most draws on each side, for that audit.")
    ] = None,
    save_witness: Annotated[
        Path | None, typer.Option(help="Write the witness of a refutation to this file.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a self-contained HTML page to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> int:
    """Trace the noise of a mechanism; exit code 1 if the claim is refuted."""
    check_output("save-witness", save_witness)
    if report is not None:
        from dpverify.reporting.page import check_report  # noqa: PLC0415  # slow to import

        check_report(report)
    claim = _claim(epsilon, delta, rho, mu, order)
    mechanism = load_target(target)
    with progress(f"tracing {target}"):
        found = run_trace(
            mechanism,
            **_where(left, right, schema),
            claim=claim,
            seed=seed,
            executions=executions,
            confirm=confirm,
            level=level,
            samples=samples,
        )
    if json:
        print_json(found.to_dict())
    else:
        console().print(str(found), markup=False)
    if save_witness is not None and found.witness is not None:
        found.witness.save(save_witness)
    if report is not None:
        _report(found, target, report)
    return _exit_code(found)


def _where(left: Path | None, right: Path | None, schema: Path | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if schema is None else {"schema": load_schema(schema)}
    if left is not None or right is not None:
        return found | {"left": load_data("left", left), "right": load_data("right", right)}
    if schema is None:
        raise InvalidParameter(
            "left=None and right=None must be JSON files with datasets, or schema a JSON file that "
            "says what they look like"
        )
    return found


def _report(found: Traced, target: str, path: Path) -> None:
    from dpverify.reporting.page import write_page  # noqa: PLC0415  # slow to import
    from dpverify.reporting.pages.trace import trace_page  # noqa: PLC0415

    write_page(trace_page(found, target=target, command=command_line()), path)


def _exit_code(found: Traced) -> int:
    """1 refuted; 2 if nothing could be said; else 0. What is open is told on standard error."""
    if found.refuted:
        return 1
    if found.verdict == "not understood" and found.audit is None:
        for puzzle in found.puzzles:
            sys.stderr.write(f"dpverify: not understood at {puzzle}\n")
        return 2
    return 0
