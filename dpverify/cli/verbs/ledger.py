"""`dpverify ledger`: a budget in a file, spent from before each release.

Exit code of `spend`: 0 granted and charged, 1 the budget does not allow it and nothing was
charged, 2 misuse.
"""

import csv
import json as jsonlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from dpverify.cli.expression import parse
from dpverify.cli.options import Report, claim_of
from dpverify.cli.origin import write_report
from dpverify.cli.output import (
    Json,
    check_output,
    check_page,
    command_line,
    console,
    number,
    number_option,
    print_json,
    tell,
)
from dpverify.errors import BudgetExceeded, InvalidParameter
from dpverify.files import write_whole
from dpverify.neighbors import Relation
from dpverify.plain import fields_of

if TYPE_CHECKING:
    from dpverify.accounting.accountant import Accountant
    from dpverify.ledger.entries import Entry, Status
    from dpverify.ledger.ledger import Ledger
    from dpverify.ledger.subjects import Requested

group = typer.Typer(
    help="A budget in a file: open it once, spend from it before each release.",
    epilog="Example: dpverify ledger open budget.ledger --epsilon 3 --relation add-remove",
    rich_markup_mode=None,
    invoke_without_command=True,
    add_completion=False,
)
_REFUSED = 1
_WIDE = 72  # columns that the table of all entries takes

File: TypeAlias = Annotated[Path, typer.Argument(help="The ledger, such as budget.ledger.")]
Dataset: TypeAlias = Annotated[
    str | None, typer.Option(help="Whose budget; may be left out where the file has one.")
]
IgnoreClock: TypeAlias = Annotated[
    bool, typer.Option("--ignore-clock", help="Go on though the last entry is in the future.")
]
User: TypeAlias = Annotated[str | None, typer.Option(help="Who asks; the login name by default.")]


@group.callback()
def alone(context: typer.Context) -> None:
    """A budget in a file: open it once, spend from it before each release."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@group.command(
    "open",
    short_help="Set the budget of a dataset, in a new file or an old one.",
    epilog="Example: dpverify ledger open b.ledger --epsilon 3 --relation add-remove",
)
def open_ledger(
    file: File,
    relation: Annotated[str, typer.Option(help="Neighboring relation: add-remove or replace-one.")],
    epsilon: Annotated[float | None, number_option("The budget's ε.")] = None,
    delta: Annotated[float, number_option("The budget's δ.")] = 0.0,
    rho: Annotated[float | None, number_option("A budget of zCDP, instead.")] = None,
    mu: Annotated[float | None, number_option("A budget of Gaussian DP, instead.")] = None,
    order: Annotated[float | None, number_option("Rényi order at which ε is the budget.")] = None,
    dataset: Annotated[str, typer.Option(help="Whose budget.")] = "main",
    by: Annotated[
        str | None, typer.Option(help="How to charge: gaussian, renyi or basic, for ε and δ.")
    ] = None,
    orders: Annotated[str | None, typer.Option(help="Rényi orders, such as 8,16,32.")] = None,
    leak_share: Annotated[
        float | None, number_option("Share of δ for requests with a δ of their own.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option(help="All that may be requested, fixed now: parts joined by +.")
    ] = None,
    user: User = None,
    ignore_clock: IgnoreClock = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """Set the budget of a dataset, in a new file or an old one."""
    check_page(report)
    budget = claim_of(epsilon, delta, rho, mu, order)
    if budget is None:
        raise InvalidParameter("epsilon=None must be given, or rho or mu: a budget")
    neighbors = Relation.parse(relation)
    from dpverify.ledger.ledger import Ledger  # noqa: PLC0415  # slow to import

    ledger = Ledger.open(
        file,
        budget=budget,
        relation=neighbors,
        dataset=dataset,
        by=by,  # type: ignore[arg-type]  # checked there
        orders=None if orders is None else _orders(orders),
        leak_share=leak_share,
        plan=None if plan is None else _accountant(plan, neighbors, name="plan"),
        user=user,
        ignore_clock=ignore_clock,
    )
    statuses = ledger.statuses()
    _page(ledger, report)
    _tell(ledger, statuses, [s for s in statuses if s.dataset == dataset], as_json=json)


@group.command(
    short_help="Charge a request before it runs.",
    epilog='Example: dpverify ledger spend budget.ledger "laplace(scale=50)"',
)
def spend(
    file: File,
    expression: Annotated[
        str, typer.Argument(help="What is about to run, e.g. gaussian(sigma=50)*10.")
    ],
    dataset: Dataset = None,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    user: User = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say whether it fits.")] = False,
    ignore_clock: IgnoreClock = False,
    report: Report = None,
    json: Json = False,
) -> None:
    """Charge a request before it runs: exit 0 granted, 1 refused."""
    check_page(report)
    ledger = _ledger(file)
    mechanism, times = _requested(expression, ledger.filter(dataset).relation)
    if dry_run:
        granted, entry, why = ledger.fits(mechanism, times=times, dataset=dataset), None, ""
    else:
        told = {"times": times, "dataset": dataset, "label": label, "user": user}
        granted, entry, why = _spent(ledger, mechanism, **told, ignore_clock=ignore_clock)
    _page(ledger, report)
    if json:
        charged = None if entry is None else fields_of(entry)
        print_json({"version": 1, "granted": granted, "charged": charged, "reason": why})
    else:
        console().print(_sentence(expression, entry, granted, why), markup=False)
    if not granted:
        raise typer.Exit(_REFUSED)


def _ledger(file: Path) -> "Ledger":
    from dpverify.ledger.ledger import Ledger  # noqa: PLC0415  # slow to import

    return Ledger(file)


def _spent(
    ledger: "Ledger",
    mechanism: "Requested",
    **options: Any,  # noqa: ANN401  # of Ledger.spend
) -> "tuple[bool, Entry | None, str]":
    try:
        receipt = ledger.spend(mechanism, **options)
    except BudgetExceeded as error:
        return False, None, str(error)
    return True, receipt.entry, ""


def _sentence(expression: str, entry: "Entry | None", granted: bool, why: str) -> str:  # noqa: FBT001
    from dpverify.ledger.words import percent  # noqa: PLC0415  # slow to import

    if entry is not None:
        return (
            f"granted: entry {entry.seq}, {expression} for {entry.dataset}; "
            f"{percent(entry.share)} of the budget is spent"
        )
    if granted:
        return f"fits: {expression}; nothing was charged"
    return f"refused: {why}" if why else f"does not fit: {expression}"


@group.command(
    short_help="Check the whole file, and show how the budgets stand.",
    epilog="Example: dpverify ledger status budget.ledger",
)
def status(
    file: File,
    dataset: Dataset = None,
    since: Annotated[
        str | None, typer.Option(help="A hash that status once printed: it must still be there.")
    ] = None,
    report: Report = None,
    json: Json = False,
) -> None:
    """Check the whole file, and show how the budgets stand."""
    check_page(report)
    ledger = _ledger(file)
    if since is not None:
        ledger.verify(since=since)
    every = ledger.statuses()
    chosen = every if dataset is None else [ledger.status(dataset)]
    _page(ledger, report)
    _tell(ledger, every, chosen, as_json=json)


@group.command(
    short_help="Check the whole file, and show every entry.",
    epilog="Example: dpverify ledger history budget.ledger --dataset main",
)
def history(file: File, dataset: Dataset = None, report: Report = None, json: Json = False) -> None:
    """Check the whole file, and show every entry."""
    check_page(report)
    ledger = _ledger(file)
    entries = ledger.history(dataset)
    _page(ledger, report)
    if json:
        print_json({"version": 1, "entries": [fields_of(entry) for entry in entries]})
        return
    if console().width < _WIDE:
        _list(entries)
        return
    from dpverify.ledger.words import percent  # noqa: PLC0415  # slow to import

    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("entry", "time", "dataset", "user", "label", "request", "spent"):
        side: Any = "right" if name in {"entry", "spent"} else "left"
        grid.add_column(name, justify=side, overflow="fold", no_wrap=name == "time")
    for entry in entries:
        what = entry.mechanism if entry.times <= 1 else f"{entry.times:,} × {entry.mechanism}"
        when = entry.time[:16].replace("T", " ")
        cells = (when, entry.dataset, entry.user, entry.label, what or "budget opened")
        grid.add_row(str(entry.seq), *map(_plain, cells), percent(entry.share))
    console().print(grid)


def _list(entries: "Iterable[Entry]") -> None:
    """One entry below the other, where there is no room for a table."""
    from dpverify.ledger.words import percent  # noqa: PLC0415  # slow to import

    for entry in entries:
        what = entry.mechanism if entry.times <= 1 else f"{entry.times:,} × {entry.mechanism}"
        label = f"{entry.label}: " if entry.label else ""
        when = entry.time[:16].replace("T", " ")
        tell(_plain(f"{entry.seq}  {when}, {entry.dataset}, {entry.user}").plain)
        spent = f"{percent(entry.share)} spent"
        tell(_plain(f"   {label}{what or 'budget opened'}, {spent}").plain)


@group.command(
    short_help="Check the whole file, and write it as .html, .json or .csv.",
    epilog="Example: dpverify ledger export budget.ledger page.html",
)
def export(
    file: File,
    output: Annotated[Path, typer.Argument(help="Where to: .html, .json or .csv.")],
    json: Json = False,
) -> None:
    """Check the whole file, and write it as .html, .json or .csv."""
    kind = output.suffix.lower()
    if kind not in {".html", ".json", ".csv"}:
        raise InvalidParameter(f"output={str(output)!r} must end in .html, .json or .csv")
    if output.exists() and output.samefile(file):
        raise InvalidParameter(f"output={str(output)!r} must not be the ledger itself")
    check_output("output", output)
    ledger = _ledger(file)
    if kind == ".html":
        _page(ledger, output)
    elif kind == ".json":
        from dpverify.ledger.ledger import entries_of  # noqa: PLC0415  # slow to import

        told = _answer(ledger, ledger.statuses()) | {"entries": list(entries_of(ledger))}
        write_whole(output, jsonlib.dumps(told, indent=1, ensure_ascii=False))
    else:
        _table(ledger, output)
    if json:
        print_json({"version": 1, "output": str(output), "entries": len(ledger.history())})
    else:
        console().print(f"written: {output}", markup=False)


def _page(ledger: "Ledger", output: Path | None) -> None:
    """The page of a ledger, if one was asked for."""
    if output is None:
        return
    # Slow to import, and needed for pages only.
    from dpverify.reporting.pages.ledger import ledger_page  # noqa: PLC0415

    statuses = ledger.statuses()
    page = ledger_page(
        statuses, ledger.history(), command=command_line(), data=_answer(ledger, statuses)
    )
    write_report(page, output)


def _table(ledger: "Ledger", output: Path) -> None:
    from dpverify.ledger.entries import Entry  # noqa: PLC0415  # slow to import

    with output.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow([name for name in Entry.__slots__ if name != "charge"] + ["charge"])
        for entry in ledger.history():
            told = fields_of(entry)
            charge = "; ".join(f"{name}={amount}" for name, amount in told.pop("charge").items())
            writer.writerow([*map(_cell, told.values()), charge])


def _cell(value: object) -> object:
    """A text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@"} else value


def _orders(texts: str) -> list[float]:
    try:
        return [number(text) for text in texts.split(",")]
    except typer.BadParameter as error:
        raise InvalidParameter(
            f"orders={texts!r} must be numbers, separated by commas: {error.message}"
        ) from None


def _accountant(expression: str, relation: Relation, *, name: str = "expression") -> "Accountant":
    from dpverify.accounting.accountant import Accountant  # noqa: PLC0415  # slow to import

    made = Accountant(relation=relation)
    for part, times in parse(expression, name=name):
        made = made.compose(part, times=times)
    return made


def _requested(expression: str, relation: Relation) -> "tuple[Requested, int]":
    """What the expression lists: one part and how often, or several as one accountant."""
    parts = parse(expression)
    return parts[0] if len(parts) == 1 else (_accountant(expression, relation), 1)


def _answer(ledger: "Ledger", statuses: "Iterable[Status]") -> dict[str, Any]:
    return {
        "version": 1,
        "file": str(ledger.path),
        "datasets": [status.to_dict() for status in statuses],
        "head": ledger.head,
    }


def _tell(
    ledger: "Ledger",
    every: "tuple[Status, ...]",
    chosen: "Iterable[Status]",
    *,
    as_json: bool,
) -> None:
    if as_json:
        print_json(_answer(ledger, chosen))
        return
    from dpverify.ledger.words import budget_in_words, percent  # noqa: PLC0415  # slow to import

    screen = console()
    for status in chosen:
        screen.print(
            Text.assemble(
                (_plain(status.dataset).plain, "bold"),
                f": {percent(status.share)} of {budget_in_words(status.budget)} "
                f"({status.relation.value}) spent, requests: {status.requests:,}",
            )
        )
        for line in _details(status):
            screen.print(f"  {line}", markup=False, style="dim")
    total = sum(status.requests + 1 for status in every)
    screen.print(f"whole file checked, entries: {total:,}; the last hash is")
    screen.print(f"  {ledger.head}")


def _details(status: "Status") -> list[str]:
    # Slow to import, and needed for words only.
    from dpverify.balls import rounded_up  # noqa: PLC0415
    from dpverify.ledger.words import amounts_in_words, at_most, budget_in_words  # noqa: PLC0415

    lines = []
    if status.theorem is not None:
        lines.append(f"charged: {amounts_in_words(status.spent)} [{status.theorem.name}]")
    if status.needed is not None:
        needed = budget_in_words(status.needed, at_most)
        lines.append(f"a budget that would have sufficed: {needed}")
    if status.least_sigma is not None:
        least = rounded_up(status.least_sigma, digits=6)
        lines.append(f"least noise that still fits: gaussian(sigma={least})")
    return lines


def _plain(text: str) -> Text:
    """A text as it is: nothing in it is markup, and what no terminal should be sent is escaped."""
    return Text("".join(c if c.isprintable() else ascii(c)[1:-1] for c in text))
