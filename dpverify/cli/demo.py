"""`dpverify demo`: the main job, once, with nothing to configure."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import Calibration, calibration
from dpverify.accounting.comparison import Comparison
from dpverify.auditing import Verdict
from dpverify.cli.headlines import LEVEL_RESTS_ON, Headline, headlines
from dpverify.cli.output import console, print_json, progress
from dpverify.guarantees import ApproxDP, Bracket, Guarantee, to_dict
from dpverify.mechanisms import Gaussian, RandomizedResponse, Subsampled
from dpverify.neighbors import Relation
from dpverify.pairs import Kernel, simulate
from dpverify.pairs.simulation import NotIndistinguishable

_LEFT = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
_RIGHT = _LEFT[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    """Everything that the demonstration shows, computed once."""

    composition: Comparison
    training: Bracket
    noise: Calibration
    kernel: Kernel
    refusal: str
    stories: tuple[Headline, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": 1,
            "composition": self.composition.to_dict(),
            "training": to_dict(self.training),
            "noise": {"sigma": self.noise.noise, "spent": to_dict(self.noise.spent)},
            "kernel": {
                "rows": [str(row) for row in self.kernel.rows],
                "matrix": [[str(value) for value in law] for law in self.kernel.matrix],
                "residual": str(self.kernel.residual),
            },
            "refusal": self.refusal,
            "headlines": [story.to_dict() for story in self.stories],
        }


def demo(
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Compose, calibrate, simulate; and refute two theorems of lecture notes, and mend them."""
    with progress("composing and auditing"):
        answers = _answers()
    if json:
        print_json(answers.to_dict())
    else:
        _show(console(), answers)
    if not all(story.holds for story in answers.stories):
        raise typer.Exit(1)


def _answers() -> _Answers:
    responses = Accountant(relation=Relation.REPLACE_ONE).compose(
        RandomizedResponse(epsilon=0.1), times=100
    )
    step = Subsampled(Gaussian(sigma=0.8), rate=0.004)
    return _Answers(
        composition=responses.compare(delta=1e-6),
        training=Accountant(relation=Relation.ADD_REMOVE).compose(step, times=10_000).epsilon(1e-5),
        noise=calibration(
            lambda s: Gaussian(sigma=s),
            times=100,
            budget=ApproxDP(epsilon=1.0, delta=1e-6),
            relation=Relation.ADD_REMOVE,
        ),
        kernel=simulate(
            left=_LEFT, right=_RIGHT, guarantee=ApproxDP(epsilon=math.log(3.0), delta=0.1)
        ),
        refusal=_refusal(ApproxDP(epsilon=0.5)),
        stories=tuple(headlines()),
    )


def _refusal(guarantee: ApproxDP) -> str:
    try:
        simulate(left=_LEFT, right=_RIGHT, guarantee=guarantee)
    except NotIndistinguishable as refusal:
        return str(refusal)
    return ""


def _show(screen: Console, answers: _Answers) -> None:
    _title(screen, "1. What do 100 randomized responses of ε = 0.1 cost together, at δ = 1e-6?")
    screen.print(str(answers.composition), markup=False)
    _title(screen, "2. A training run: 10,000 steps, noise 0.8, Poisson batches of rate 0.004")
    found = answers.training
    screen.print(f"at δ = 1e-5 the exact ε lies in [{found.lower:.6f}, {found.upper:.6f}]")
    _title(screen, "3. Which Gaussian noise lets 100 queries share (ε = 1, δ = 1e-6)?")
    noise = answers.noise
    screen.print(f"sigma = {noise.noise:.10g}; it spends ε ≤ {noise.spent.upper:.10g}")
    _title(screen, "4. The simulation lemma: is this pair of laws (ln 3, 1/10)-indistinguishable?")
    screen.print("Yes: leaky randomized response simulates it exactly, by this kernel:")
    for row, law in zip(answers.kernel.rows, answers.kernel.matrix, strict=True):
        screen.print(f"  {row!s:>3} → " + "  ".join(f"{value!s:>8}" for value in law), markup=False)
    screen.print(f"  residual {answers.kernel.residual}")
    screen.print(f"And not at (1/2, 0): {answers.refusal}", markup=False)
    for number, story in enumerate(answers.stories, start=5):
        _headline(screen, number, story)
    names = ", ".join(theorem.name for theorem in LEVEL_RESTS_ON)
    screen.print(f"\nThe level of a verdict is a theorem, too: {names}", markup=False)


def _title(screen: Console, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")


def _headline(screen: Console, number: int, story: Headline) -> None:
    _title(screen, f"{number}. {story.title}: is it true?")
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
