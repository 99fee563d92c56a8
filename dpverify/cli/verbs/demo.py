"""`dpverify demo`: the main jobs, once, with nothing to configure."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from rich.console import Console

from dpverify import __version__
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import Calibration, calibration
from dpverify.accounting.comparison import Comparison
from dpverify.auditing import Progress, Verdict, audit
from dpverify.cli.output import Json, command_line, console, print_json, progress
from dpverify.disclosing import check_disclosure, disclose, entry_of
from dpverify.disclosing.text import written
from dpverify.guarantees import ApproxDP, Bracket, PureDP, to_dict
from dpverify.mechanisms import Gaussian, Laplace, RandomizedResponse, Subsampled
from dpverify.neighbors import Relation
from dpverify.pairs import Kernel, simulate
from dpverify.pairs.simulation import NotIndistinguishable

EXAMPLE = "Example: dpverify demo --report demo.html"

LEVEL = 0.01
SEED = 7
RATE, STEPS, TARGET = 0.01, 10_000, ApproxDP(epsilon=1.0, delta=1e-6)
_LEFT = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
_RIGHT = _LEFT[::-1]
_REPORT = Path("dpverify-demo.html")

_FACTS: dict[str, Any] = {
    "product": {
        "name": "A model trained on example records",
        "curators": ["dpverify demo"],
        "description": "A model that does not exist: only its privacy is computed.",
        "intended_use": "To show what a disclosure holds.",
        "kind": "Machine learning model",
        "region": "Nowhere",
        "published": "2026-01-01",
    },
    "unit": {"protected": "person", "record": "person"},
    "data": {"domain": "Examples.", "records": 900_000, "unprotected": []},
    "trust": {
        "model": "central",
        "actors": "Whoever trains holds the records and is trusted.",
        "releases": "one",
        "data": "static",
        "access": "non-interactive",
    },
    "defenses": {
        "floating_point": "integer noise on a grid, by dpverify's own sampler",
        "timing": "none needed: nobody can ask queries",
        "preprocessing": "clipping, to a bound set in advance",
        "tuning": "none",
    },
}
"""What only people know of a release, here of one that is made up."""

Answers: TypeAlias = dict[str, Any]


def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the page that the demonstration ends with.")
    ] = _REPORT,
    json: Json = False,
) -> None:
    """Audit a correct and a broken mechanism, compose, find the noise for a budget, simulate."""
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
    screen.print()
    screen.print("5. What was promised, as a document that anybody can check", style="bold cyan")
    files = _disclosed(answers, report)
    answers["disclosure"] = [str(file) for file in files]
    review = check_disclosure(files[0])
    screen.print(str(review), markup=False)
    screen.print(f"The document: {files[0]}", markup=False)
    screen.print(f"The same for the public registry of deployments: {files[1]}", markup=False)
    with progress(f"writing {report}"):
        _write(answers, report)
    screen.print()
    screen.print(f"A page with the pictures and the witnesses: {report}", markup=False)
    if json:
        print_json({"version": 1, **_plain(answers), "report": str(report)})


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
        "The simulation lemma: is this pair of distributions (ln 3, 1/10)-DP?",
        _kernel,
        _simulation,
    )


def off_by_two(data: list[float], rng: np.random.Generator) -> float:
    """A mean of numbers in [−1, 1] whose author took its sensitivity for 1/n; it is 2/n."""
    total = float(np.clip(data, -1.0, 1.0).mean())
    return float(Laplace(scale=1.0 / len(data)).sample(total, 1, rng=rng)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoAudits:
    """A correct mechanism and a subtly broken one, held against the same claim."""

    claim: PureDP
    correct: Verdict
    broken: Verdict
    history: tuple[Progress, ...]


def two_audits() -> TwoAudits:
    """Laplace noise at its exact scale; and a mean with half the noise it needs."""
    claim = PureDP(epsilon=1.0)
    correct = audit(
        Laplace(scale=1.0, l1_sensitivity=1.0),
        left=0.0,
        right=1.0,
        claim=claim,
        level=LEVEL,
        seed=SEED,
        samples=100_000,
    )
    history: list[Progress] = []
    left, right = [1.0, 0.5, 0.0, 0.5], [-1.0, 0.5, 0.0, 0.5]
    broken = audit(
        off_by_two,
        left=left,
        right=right,
        claim=claim,
        level=LEVEL,
        seed=SEED,
        progress=history.append,
    )
    return TwoAudits(claim=claim, correct=correct, broken=broken, history=tuple(history))


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The noise that a training run needs, and what the run then costs."""

    noise: Calibration
    spent: Bracket


def budget() -> Budget:
    """Poisson batches of rate 0.01, 10,000 steps, for (1, 1e-6)."""
    found = calibration(
        lambda s: Subsampled(Gaussian(sigma=s), rate=RATE),
        times=STEPS,
        budget=TARGET,
        relation=Relation.ADD_REMOVE,
    )
    return Budget(noise=found, spent=training(found.noise).epsilon(TARGET.delta, tolerance=1e-4))


def training(sigma: float) -> Accountant:
    """The accountant of that run."""
    step = Subsampled(Gaussian(sigma=sigma), rate=RATE)
    return Accountant(relation=Relation.ADD_REMOVE).compose(step, times=STEPS)


def _responses() -> Accountant:
    part = RandomizedResponse(epsilon=0.1)
    return Accountant(relation=Relation.REPLACE_ONE).compose(part, times=100)


def _disclosed(answers: Answers, report: Path) -> tuple[Path, Path]:
    """Disclose the training run, beside the page; and again as an entry of the registry."""
    facts = _FACTS | {"code": {"version": __version__}}
    run = training(answers["budget"].noise.noise)
    made = disclose(
        run, delta=TARGET.delta, given=facts, arithmetic="integers on a grid", tolerance=1e-4
    )
    name = re.sub(r"[^a-z0-9]+", "_", report.stem.lower()).strip("_") or "demo"
    files = tuple(report.with_name(f"{name}_{kind}.yaml") for kind in ("disclosure", "registry"))
    made.save(files[0])
    files[1].write_text(written(entry_of(made), "yaml"), encoding="utf-8")
    return files[0], files[1]


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


# For programs, and the page.


def _plain(answers: Answers) -> Answers:
    audits, found = answers["audits"], answers["budget"]
    kernel, refusal = answers["kernel"]
    return {
        "audits": {"correct": audits.correct.to_dict(), "broken": audits.broken.to_dict()},
        "composition": answers["composition"].to_dict(),
        "budget": {"sigma": found.noise.noise, "spent": to_dict(found.spent)},
        "kernel": {
            "rows": [str(row) for row in kernel.rows],
            "matrix": [[str(value) for value in law] for law in kernel.matrix],
            "residual": str(kernel.residual),
        },
        "refusal": refusal,
        "disclosure": answers["disclosure"],
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
    write_page(
        demo_page(
            broken=audits.broken,
            correct=audits.correct,
            pictures=pictures,
            command=command_line(),
            data=_plain(answers),
        ),
        path,
    )
