"""`dpverify trace`: the exact loss of a pair, and the line of code that spends it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

import dpverify as dpv
from dpverify.cli.exits import INTERRUPTED
from dpverify.cli.options import (
    Delta,
    Epsilon,
    Left,
    Mu,
    Order,
    Report,
    Rho,
    Right,
    Samples,
    SaveWitness,
    SchemaFile,
    Seed,
    Target,
    claim_of,
    where_of,
)
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    count_option,
    number_option,
    print_json,
    progress,
    tell,
)
from dpverify.cli.targets import load_target

EXAMPLE = (
    "Example: dpverify trace package.module:callable --left D.json --right D2.json --epsilon 1"
)


def trace(
    target: Target,
    left: Left = None,
    right: Right = None,
    schema: SchemaFile = None,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    mu: Mu = None,
    order: Order = None,
    seed: Seed = 0,
    executions: Annotated[int, count_option("Most calls of the mechanism.")] = 100,
    confirm: Annotated[
        bool, typer.Option(help="Hand to an audit what the trace alone cannot decide.")
    ] = True,
    level: Annotated[
        float,
        number_option("Probability of refuting an honest mechanism, for that audit."),
    ] = 0.01,
    samples: Samples = None,
    save_witness: SaveWitness = None,
    report: Report = None,
    json: Json = False,
) -> int:
    """Trace the noise of a mechanism; exit code 1 if the claim is refuted."""
    check_output("save-witness", save_witness)
    check_page(report)
    claim = claim_of(epsilon, delta, rho, mu, order)
    mechanism = load_target(target)
    with progress(f"tracing {target}"):
        found = dpv.trace(
            mechanism,
            **where_of(left, right, schema),
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
        tell(str(found))
    if save_witness is not None and found.witness is not None:
        found.witness.save(save_witness)
    if report is not None:
        _report(found, target, seed, report)
    return _exit_code(found)


def _report(found: "dpv.Traced", target: str, seed: int, path: Path) -> None:
    from dpverify.reporting.pages.trace import trace_page  # noqa: PLC0415

    write_report(trace_page(found, target=target, command=command_line()), path, seed=seed)


def _exit_code(found: "dpv.Traced") -> int:
    """1 refuted; 130 interrupted; 2 if nothing could be said, which is told; else 0."""
    if found.refuted:
        return 1
    stopped = None if found.audit is None else found.audit.stopped
    if found.interrupted or (stopped is not None and stopped.why == "interrupt"):
        return INTERRUPTED
    if found.verdict == "not understood" and found.audit is None:
        for puzzle in found.puzzles:
            sys.stderr.write(f"dpverify: not understood at {puzzle}\n")
        return 2
    return 0
