"""`dpverify prove`: run the theorems that every number rests on."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.cli.exits import INTERRUPTED
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_page,
    command_line,
    console,
    print_json,
    progress,
)
from dpverify.theorems import Theorem

if TYPE_CHECKING:
    from proofs.support.form import Run, Verdict

EXAMPLE = "Example: dpverify prove simulation-lemma"

_STYLES = {"proved": "green", "cited": "yellow", "refuted": "magenta", "failed": "bold red"}


def prove(
    name: Annotated[
        str | None, typer.Argument(help="A theorem, e.g. simulation-lemma; all of them if omitted.")
    ] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Also check that wrong constants are rejected.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with all steps to this .html file.")
    ] = None,
    json: Json = False,
) -> None:
    """Run the proofs, or one with its steps: proved, cited, refuted by counterexample, failed."""
    # The proofs import sympy, which is slow; no other verb needs them.
    from proofs.support.catalog import find, proofs  # noqa: PLC0415

    check_page(report)
    with progress("loading the proofs"):
        names = [find(name).theorem.name] if name is not None else list(proofs())
    results, interrupted = _proved(names, mutations=mutations)
    failed = any(verdict.value == "failed" or accepted for _, verdict, accepted in results)
    answers = [_answer(*result) for result in results]
    if json:
        print_json({"version": 1, "theorems": answers, "interrupted": interrupted})
    elif name is None:
        _show_all(results)
    else:
        _show_one(*results[0])
    if report is not None:
        _report(answers, report)
        if not json:
            console().print(f"report: {report}", markup=False, soft_wrap=True)
    if interrupted and not failed:
        raise typer.Exit(INTERRUPTED)
    if failed:
        raise typer.Exit(1)


def _proved(
    names: list[str], *, mutations: bool
) -> tuple[list[tuple["Run", "Verdict", tuple[str, ...]]], bool]:
    """What came of each proof, and whether the user stopped before the last."""
    from proofs.support.catalog import run_with_uses  # noqa: PLC0415  # sympy is slow

    done: dict[Any, Any] = {}
    results: list[tuple[Run, Verdict, tuple[str, ...]]] = []
    try:
        for index, each in enumerate(names):
            with _at_work(f"proving {each} ({index + 1} of {len(names)})"):
                run, verdict = next(run_with_uses([each], done))
                accepted = run.proof.accepted_mutations() if mutations else ()
            results.append((run, verdict, accepted))
    except KeyboardInterrupt:
        if not results:
            raise
        return results, True
    return results, False


def _report(answers: list[dict[str, Any]], path: Path) -> None:
    from dpverify.reporting.pages.proofs import proofs_page  # noqa: PLC0415

    write_report(proofs_page(answers, command=command_line()), path)


@contextmanager
def _at_work(what: str) -> Iterator[None]:
    """On a terminal say at once what is being proved; elsewhere only if it takes long."""
    live = sys.stderr.isatty()
    if live:
        sys.stderr.write(f"\r\x1b[2Kdpverify: {what}")
        sys.stderr.flush()
    try:
        with progress(what):
            yield
    finally:
        if live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def _answer(run: "Run", verdict: "Verdict", accepted: tuple[str, ...]) -> dict[str, Any]:
    proof, theorem = run.proof, run.proof.theorem
    counterexample = proof.counterexample
    return {
        "name": theorem.name,
        "verdict": verdict.value,
        "statement": theorem.statement,
        "source": theorem.source,
        "proof": theorem.proof,
        "evidence": [kind.value for kind in run.evidence],
        "seconds": round(run.seconds, 3),
        "uses": [used.name for used in proof.uses],
        "cites": _cited(run),
        "steps": [
            {
                "name": shown.step.name,
                "evidence": shown.step.evidence.value,
                "holds": shown.step.holds,
                "scope": shown.step.scope,
                "formula": shown.formula,
            }
            for shown in run.shown
        ],
        "counterexample": None
        if counterexample is None
        else {
            "claimed": counterexample.claimed,
            "instance": list(counterexample.instance),
            "truth": counterexample.truth,
            "correction": counterexample.correction,
        },
        "accepted_mutations": list(accepted),
    }


def _cited(run: "Run") -> list[str]:
    """What is taken from the literature, by the proof itself or by what it uses."""
    from proofs.support.catalog import citations  # noqa: PLC0415  # as above

    return citations(run.proof)


def _show_all(results: list[tuple["Run", "Verdict", tuple[str, ...]]]) -> None:
    screen = console()
    # One space between columns: the longest name and all kinds of evidence fit into 80 columns.
    grid = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    grid.add_column("theorem", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    grid.add_column("evidence")
    grid.add_column("s", justify="right", no_wrap=True)
    for run, verdict, accepted in results:
        evidence = ", ".join(kind.value for kind in run.evidence)
        if accepted:
            evidence += f"; lets pass: {', '.join(accepted)}"
        style = _STYLES["failed" if accepted else verdict.value]
        shown = f"[{style}]{verdict.value}[/{style}]"
        grid.add_row(run.proof.theorem.name, shown, evidence, f"{run.seconds:.1f}")
    screen.print(grid)
    counts = [verdict.value for _, verdict, _ in results]
    summary = ", ".join(f"{counts.count(kind)} {kind}" for kind in _STYLES if kind in counts)
    screen.print(f"\n{summary}; {sum(run.seconds for run, _, _ in results):.0f} s")


def _show_one(run: "Run", verdict: "Verdict", accepted: tuple[str, ...]) -> None:
    screen = console()
    proof, theorem = run.proof, run.proof.theorem
    style = _STYLES[verdict.value]
    screen.print(f"[bold]{theorem.name}[/bold]: [{style}]{verdict.value}[/{style}]")
    screen.print(theorem.statement, markup=False)
    screen.print(f"[{theorem.source}] {theorem.proof}", style="dim", markup=False)
    for shown in run.shown:
        step = shown.step
        mark = "holds" if step.holds else "FAILS"
        screen.print()
        style = "bold" if step.holds else "bold red"
        _print(screen, mark, f"{step.name}  ({step.evidence.value}; {step.scope})", style=style)
        _print(screen, "", shown.formula)
    if proof.counterexample is not None:
        found = proof.counterexample
        screen.print()
        for label, text in (
            ("claimed:", found.claimed),
            ("instance:", "\n".join(found.instance)),
            ("truth:", found.truth),
            ("instead:", found.correction),
        ):
            _print(screen, label, text, width=10)
    screen.print()
    for label, listed in (
        ("uses", [used.name for used in proof.uses]),
        ("cites", _cited(run)),
        ("lets pass", list(accepted)),
    ):
        if listed:
            _print(screen, f"{label}:", ", ".join(listed), width=len(label) + 2, style="dim")
    screen.print(f"{run.seconds:.1f} s", style="dim")


@lru_cache(maxsize=64)
def steps_of(theorem: Theorem) -> dict[str, Any] | None:
    """The run of a theorem's proof as `--json` prints it; None if it has no proof that runs."""
    from proofs.support.catalog import find, run_with_uses  # noqa: PLC0415  # sympy is slow

    if theorem.proof is None:
        return None
    run, verdict = next(run_with_uses([find(theorem.name).theorem.name], {}))
    return _answer(run, verdict, ())


def _print(screen: Console, label: str, text: str, *, width: int = 7, style: str = "") -> None:
    """A label and a text whose further lines are indented like its first."""
    grid = Table.grid()
    grid.add_column(width=width, no_wrap=True)
    grid.add_column()
    grid.add_row(Text(label), Text(text), style=style)
    screen.print(grid)
