"""`dpverify demo`: the main jobs, once, with nothing to configure."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.comparison import Comparison
from dpverify.auditing import Verdict
from dpverify.cli.headlines import LEVEL_RESTS_ON, Headline, headlines
from dpverify.cli.output import command_line, console, print_json, progress
from dpverify.cli.stories import (
    STEPS,
    TARGET,
    Budget,
    Model,
    TwoAudits,
    budget,
    private_model,
    training,
    two_audits,
)
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.mechanisms import RandomizedResponse
from dpverify.neighbors import Relation
from dpverify.pairs import Kernel, simulate
from dpverify.pairs.simulation import NotIndistinguishable

EXAMPLE = "Example: dpverify demo --report demo.html"

_LEFT = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
_RIGHT = _LEFT[::-1]
_REPORT = Path("dpverify-demo.html")

Answers: TypeAlias = dict[str, Any]


def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the page that the demonstration ends with.")
    ] = _REPORT,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Audit, compose, calibrate, fit; refute two theorems of lecture notes, and mend them."""
    from dpverify.reporting.page import check_report  # noqa: PLC0415  # slow to import

    check_report(report)
    screen = Console(quiet=True) if json else console()
    answers: Answers = {}
    for number, (name, title, work, show) in enumerate(_chapters(), start=1):
        screen.print()
        screen.print(f"{number}. {title}", style="bold cyan", markup=False)
        with progress(title.rstrip("?.").lower()):
            answers[name] = work()
        show(screen, answers[name])
    with progress(f"writing {report}"):
        _write(answers, report)
    screen.print()
    screen.print(f"A page with the pictures and the witnesses: {report}", markup=False)
    if json:
        print_json({"version": 1, **_plain(answers), "report": str(report)})
    if not all(story.holds for story in answers["headlines"]):
        raise typer.Exit(1)


def _chapters() -> Iterator[tuple[str, str, Callable[[], Any], Callable[[Console, Any], None]]]:
    """Name, title, work and how to show what it gave; each is shown as soon as it is done."""
    yield "audits", "Is this 1-DP? A correct mechanism, and a mean with a bug", two_audits, _audits
    yield (
        "composition",
        "What do 100 randomized responses of ε = 0.1 cost together?",
        lambda: _responses().compare(delta=1e-6),
        _composition,
    )
    yield "budget", "How much noise does private training need?", budget, _budget
    yield (
        "kernel",
        "The simulation lemma: is this pair of laws (ln 3, 1/10)-DP?",
        _kernel,
        _simulation,
    )
    yield (
        "headlines",
        "Two theorems of lecture notes: are they true?",
        lambda: tuple(headlines()),
        _headlines,
    )
    yield "model", "A private model, fitted and audited", private_model, _model


def _responses() -> Accountant:
    part = RandomizedResponse(epsilon=0.1)
    return Accountant(relation=Relation.REPLACE_ONE).compose(part, times=100)


def _kernel() -> tuple[Kernel, str]:
    guarantee = ApproxDP(epsilon=math.log(3.0), delta=0.1)
    kernel = simulate(left=_LEFT, right=_RIGHT, guarantee=guarantee)
    try:
        simulate(left=_LEFT, right=_RIGHT, guarantee=ApproxDP(epsilon=0.5))
    except NotIndistinguishable as refusal:
        return kernel, str(refusal)
    raise AssertionError("a pair whose largest ratio is 5/2 is not (1/2, 0)-indistinguishable")


# How each is shown.


def _audits(screen: Console, found: TwoAudits) -> None:
    screen.print("Laplace noise at its exact scale:", style="dim")
    _verdict(screen, found.correct)
    screen.print("A mean of numbers in [-1, 1], noise of scale 1/n:", style="dim")
    _verdict(screen, found.broken)
    screen.print("Replacing a record moves that mean by 2/n: the noise is half of what it needs.")


def _verdict(screen: Console, verdict: Verdict) -> None:
    style = "bold red" if verdict.refuted else "bold"
    first, *rest = str(verdict).split("\n")
    screen.print(first, style=style, markup=False)
    for line in rest:
        screen.print(f"  {line}", markup=False)


def _composition(screen: Console, found: Comparison) -> None:
    screen.print(str(found), markup=False)


def _budget(screen: Console, found: Budget) -> None:
    screen.print(
        f"{STEPS:,} steps, Poisson batches of rate 0.01, within ε = {TARGET.epsilon:g}, "
        f"δ = {TARGET.delta:g}:"
    )
    screen.print(f"sigma = {found.noise.noise:.6f}", style="bold")
    screen.print(
        f"checked: the run then costs ε between {found.spent.lower:.5f} and {found.spent.upper:.5f}"
    )


def _simulation(screen: Console, found: tuple[Kernel, str]) -> None:
    kernel, refusal = found
    screen.print("Yes: leaky randomized response simulates it exactly, by this kernel:")
    for row, law in zip(kernel.rows, kernel.matrix, strict=True):
        screen.print(f"  {row!s:>3} → " + "  ".join(f"{value!s:>8}" for value in law), markup=False)
    screen.print(f"  residual {kernel.residual}")
    screen.print(f"And not at (1/2, 0): {refusal}", markup=False)


def _model(screen: Console, found: Model) -> None:
    screen.print(
        f"{found.records} records of breast cancer, {found.features} features, declared bounds: "
        f"{found.accuracy:.1%} right on held-out records, {found.without_privacy:.1%} without "
        "privacy"
    )
    screen.print(f"claim: {_words(found.claim)} [{found.theorem}]", markup=False)
    screen.print(f"solver: within {found.distance:.1g} of the exact minimum, which is charged for")
    _verdict(screen, found.verdict)


def _headlines(screen: Console, stories: tuple[Headline, ...]) -> None:
    for story in stories:
        screen.print()
        _headline(screen, story)
    names = ", ".join(theorem.name for theorem in LEVEL_RESTS_ON)
    screen.print(f"\nThe level of a verdict is a theorem, too: {names}", markup=False)


def _headline(screen: Console, story: Headline) -> None:
    screen.print(story.title, style="bold", markup=False)
    shown, again, mended = story.verdict, story.replayed, story.repaired
    refuted = f"REFUTED at level {shown.level:g}: ε ≥ {shown.epsilon_lower:.3f}"
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column()
    for label, text in (
        ("printed", f"{story.printed} [{story.source}]"),
        ("proof", f"{story.counterexample} (dpverify prove {story.refutation})"),
        ("audited", story.pair),
        ("claimed", _words(story.claim)),
        ("exact", f"{story.truth}; the exact ε is {story.true_epsilon.upper:.6f}"),
        ("verdict", f"{refuted}, {shown.samples:,} draws a side"),
        ("witness", str(shown.witness)),
        ("replay", f"{_outcome(again)} on fresh draws: ε ≥ {again.epsilon_lower:.3f}"),
        ("instead", f"{story.correction} [{story.theorem.name}]"),
        (
            "verdict",
            f"{_outcome(mended)} by the same audit, which shows ε ≥ {mended.epsilon_lower:.3f}",
        ),
    ):
        grid.add_row(label, Text(text))
    screen.print(grid)


def _outcome(verdict: Verdict) -> str:
    return "refuted" if verdict.refuted else "not refuted"


def _words(claim: Guarantee) -> str:
    return ", ".join(f"{name} = {getattr(claim, name):g}" for name in claim.__dataclass_fields__)


# For programs, and the page.


def _plain(answers: Answers) -> Answers:
    kernel, refusal = answers["kernel"]
    return {
        "audits": answers["audits"].to_dict(),
        "composition": answers["composition"].to_dict(),
        "budget": answers["budget"].to_dict(),
        "kernel": {
            "rows": [str(row) for row in kernel.rows],
            "matrix": [[str(value) for value in law] for law in kernel.matrix],
            "residual": str(kernel.residual),
        },
        "refusal": refusal,
        "headlines": [story.to_dict() for story in answers["headlines"]],
        "model": answers["model"].to_dict(),
    }


def _write(answers: Answers, path: Path) -> None:
    # Slow to import.
    from dpverify.reporting.page import write_page  # noqa: PLC0415
    from dpverify.reporting.pages.demo import demo_page  # noqa: PLC0415
    from dpverify.reporting.picture import picture  # noqa: PLC0415
    from dpverify.reporting.plots import composition_figure, wealth_figure  # noqa: PLC0415

    audits: TwoAudits = answers["audits"]
    run = training(answers["budget"].noise.noise)
    pictures = {
        "wealth": picture(
            wealth_figure(audits.history, audits.broken.level),
            "The wealth of the bets against the claim grows with the draws until it crosses the "
            "line at which the claim is refuted.",
        ),
        "budget": picture(
            composition_figure(run, run.compare(delta=TARGET.delta)),
            "Profile, trade-off curve and growth of ε of the training run.",
        ),
    }
    stories = [story.to_dict() for story in answers["headlines"]]
    write_page(
        demo_page(
            broken=audits.broken,
            correct=audits.correct,
            stories=stories,
            model=answers["model"].to_dict(),
            pictures=pictures,
            command=command_line(),
            data=_plain(answers),
        ),
        path,
    )
