"""`dpverify compose`: what do these parts cost together?"""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import dpverify as dpv
from dpverify.accounting.deadline import ended_by_interrupt, time_limit
from dpverify.balls import as_given, rounded_down, rounded_up
from dpverify.cli.exits import INTERRUPTED
from dpverify.cli.expression import parse
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    console,
    number_option,
    print_json,
    progress,
)
from dpverify.cli.what_if import Accuracy, grid, measured, unstated
from dpverify.errors import InvalidParameter
from dpverify.plain import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXAMPLE = (
    'Example: dpverify compose "subsampled(gaussian(sigma=0.8), rate=0.004)*10000" '
    "--delta 1e-5 --relation add-remove"
)


_WIDE = 60  # columns that it takes to name theorems, too
_CENTER = 1e-6  # δ in the middle of a page's grid, where none is asked for
_LEAK = 1e-10  # of a summary, where none without is known
_COARSE = 1e-2  # how well μ is found


def compose(
    expression: Annotated[
        str,
        typer.Argument(help="Parts joined by + and repeated by *, e.g. gaussian(sigma=50)*1000."),
    ],
    relation: Annotated[str, typer.Option(help="Neighboring relation: add-remove or replace-one.")],
    delta: Annotated[float | None, number_option("Ask for ε at this δ.")] = None,
    epsilon: Annotated[float | None, number_option("Ask for δ at this ε.")] = None,
    tolerance: Annotated[float, number_option("How wide the bracket may be.")] = 1e-3,
    seconds: Annotated[float | None, number_option("How long each answer may take.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the profile and the growth of ε to this file.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page with pictures to this .html file.")
    ] = None,
    accuracy: Accuracy = None,
    json: Json = False,
) -> int:
    """Show what several releases cost together, by every rule that applies."""
    if (delta is None) == (epsilon is None):
        raise InvalidParameter(
            f"delta={delta}, epsilon={epsilon}: exactly one of delta and epsilon must be given"
        )
    _check_files(plot, report)
    curve = measured(accuracy, report)
    accountant = dpv.Accountant(relation=dpv.Relation.parse(relation))
    parts = parse(expression)
    for part, times in parts:
        accountant = accountant.compose(part, times=times)
    with ended_by_interrupt() as is_interrupted, progress("composing"):
        exact, table = _asked(accountant, delta, epsilon, tolerance, seconds)
        with time_limit(seconds):
            summary = _summary(accountant)
            exact = replace(exact, assumes=(*unstated(parts), *exact.assumes))
            answer = _answer(expression, accountant, exact, table, summary)
        answer["interrupted"] = is_interrupted()
        if answer["interrupted"]:  # what is known by now; no pictures
            _print(accountant, exact, table, summary, answer, json=json)
            return INTERRUPTED
    if plot is not None or report is not None:
        with progress(f"drawing {plot or report}"):
            figure = _figure(accountant, table)
            if plot is not None:
                figure.savefig(plot, dpi=150)
    if report is not None:
        at = _CENTER if delta is None else delta
        points = grid(parts, accountant.relation, at, seconds, curve)
        with progress(f"writing {report}"):
            _report(accountant, exact, table, figure, points, seconds, answer, report)
    with time_limit(seconds):
        _print(accountant, exact, table, summary, answer, json=json)
    if json:
        return 0
    for name, path in (("plot", plot), ("report", report)):
        if path is not None:
            console().print(f"\n{name}: {path}", markup=False)
    return 0


def _print(
    accountant: "dpv.Accountant",
    exact: "dpv.Bracket",
    table: "dpv.Comparison",
    summary: "dpv.GaussianSummary",
    answer: dict[str, Any],
    *,
    json: bool,
) -> None:
    print_json(answer) if json else _show(accountant, exact, table, summary)


def _asked(
    accountant: "dpv.Accountant",
    delta: float | None,
    epsilon: float | None,
    tolerance: float,
    seconds: float | None,
) -> tuple["dpv.Bracket", "dpv.Comparison"]:
    how: dict[str, Any] = {"tolerance": tolerance, "seconds": seconds}
    if delta is not None:
        return accountant.epsilon(delta, **how), accountant.compare(delta=delta, **how)
    asked = float(epsilon or 0.0)
    return accountant.delta(asked, **how), accountant.compare(epsilon=asked, **how)


def _figure(accountant: "dpv.Accountant", table: "dpv.Comparison") -> "Figure":
    from dpverify.reporting.plots import composition_figure  # noqa: PLC0415  # slow to import

    return composition_figure(accountant, table)


def _check_files(plot: Path | None, report: Path | None) -> None:
    check_output("plot", plot)
    if plot is not None:
        from dpverify.reporting.plots import check_plot  # noqa: PLC0415  # slow to import

        check_plot(plot)
    check_page(report)


def _report(  # what a page shows
    accountant: "dpv.Accountant",
    exact: "dpv.Bracket",
    table: "dpv.Comparison",
    figure: "Figure",
    points: dict[str, Any],
    seconds: float | None,
    answer: dict[str, Any],
    path: Path,
) -> None:
    # Slow to import, and needed for pages only.
    from dpverify.cli.verbs.prove import steps_of  # noqa: PLC0415
    from dpverify.reporting.pages.composition import composition_page  # noqa: PLC0415
    from dpverify.reporting.picture import picture  # noqa: PLC0415

    drawing = picture(
        figure,
        "The privacy profile, the smallest δ at each ε, with its certified band; the trade-off "
        "between false alarms and misses of the best attack; ε against the number of runs under "
        "every rule that applies; and, where the parts are equal guarantees, their privacy loss.",
    )
    page = composition_page(
        accountant,
        exact,
        table,
        pictures=(drawing,),
        grid=points,
        seconds=seconds,
        proof=None if exact.theorem is None else steps_of(exact.theorem),
        command=command_line(),
        data=answer,
    )
    write_report(page, path)


def _summary(accountant: "dpv.Accountant") -> "dpv.GaussianSummary":
    """As one μ; up to a leak that is small, where far tails have no μ."""
    strict = accountant.gaussian_summary(tolerance=_COARSE)
    if strict.mu.upper < math.inf:
        return strict
    leak = max(_LEAK, accountant.delta(math.inf).upper)
    return accountant.gaussian_summary(leak=leak, tolerance=_COARSE)


def _answer(
    expression: str,
    accountant: "dpv.Accountant",
    exact: "dpv.Bracket",
    table: "dpv.Comparison",
    summary: "dpv.GaussianSummary",
) -> dict[str, Any]:
    gained = accountant.advantage()
    return {
        "version": 1,
        "expression": expression,
        "relation": accountant.relation.value,
        table.unknown: {
            "lower": plain(exact.lower),
            "upper": plain(exact.upper),
            "theorem": exact.theorem.name if exact.theorem else None,
            "assumes": list(exact.assumes),
        },
        "delta" if table.unknown == "epsilon" else "epsilon": plain(table.at),
        "comparison": table.to_dict(),
        "advantage": {"lower": plain(gained.lower), "upper": plain(gained.upper)},
        "gaussian_summary": summary.to_dict(),
    }


def rules(table: "dpv.Comparison", width: int) -> Table:
    """What every rule gives, in so many columns of a terminal."""
    wide = width >= _WIDE
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("rule")
    symbol = "ε" if table.unknown == "epsilon" else "δ"
    grid.add_column(f"{symbol} at most", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    if wide:
        grid.add_column("theorem")
    for row in table.rows:
        best = row is table.tightest
        cells = [row.rule, rounded_up(row.upper, digits=8), "← tightest" if best else ""]
        if wide:
            cells.append(row.theorem.name)
        grid.add_row(*cells, style="bold green" if best else "")
    return grid


def _show(
    accountant: "dpv.Accountant",
    exact: "dpv.Bracket",
    table: "dpv.Comparison",
    summary: "dpv.GaussianSummary",
) -> None:
    # Slow to import, and needed for words only.
    from dpverify.reporting.words import guess, icons, right_guesses  # noqa: PLC0415

    screen = console()
    symbol, given = ("ε", "δ") if table.unknown == "epsilon" else ("δ", "ε")
    for part in accountant.parts:
        screen.print(f"{part.times:>10,} × {part.label}", style="dim", markup=False)
    screen.print(
        f"[bold]{symbol} ≤ {rounded_up(exact.upper, digits=8)}[/bold] at {given} = "
        f"{as_given(table.at)} ({accountant.relation.value}); certainly not below "
        f"{rounded_down(exact.lower, digits=8)}"
    )
    if table.rows:
        screen.print()
        screen.print(rules(table, screen.width))
    if table.skipped:
        names = ", ".join(table.skipped)
        screen.print(f"no time was left for: {names}", style="dim", markup=False)
    if table.rows or exact.lower > 0:  # else there is nothing to put in other words
        screen.print(f"\n{guess(accountant)}", markup=False)
        screen.print(icons(*right_guesses(accountant), screen.width), style="dim", markup=False)
        screen.print(f"As Gaussian DP: {summary}.", markup=False)
    for assumption in exact.assumes:
        screen.print(f"assumes: {assumption}", style="dim", markup=False)
