"""`dpverify demo`: the main job, once, with nothing to configure."""

from fractions import Fraction

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import calibration
from dpverify.auditing import Verdict
from dpverify.cli.headlines import LEVEL_RESTS_ON, Headline, headlines
from dpverify.cli.output import console, progress
from dpverify.guarantees import ApproxDP, Guarantee
from dpverify.mechanisms import Gaussian, RandomizedResponse, Subsampled
from dpverify.neighbors import Relation
from dpverify.pairs import simulate
from dpverify.pairs.simulation import NotIndistinguishable


def demo() -> None:
    """Compose, calibrate, simulate; and refute two theorems of lecture notes, and mend them."""
    screen = console()
    _composition(screen)
    _training(screen)
    _calibration(screen)
    _simulation(screen)
    with progress("auditing"):
        stories = list(headlines())
    for number, story in enumerate(stories, start=5):
        _headline(screen, number, story)
    names = ", ".join(theorem.name for theorem in LEVEL_RESTS_ON)
    screen.print(f"\nThe level of a verdict is a theorem, too: {names}", markup=False)


def _title(screen: Console, text: str) -> None:
    screen.print()
    screen.print(text, style="bold cyan")


def _composition(screen: Console) -> None:
    _title(screen, "1. What do 100 randomized responses of ε = 0.1 cost together, at δ = 1e-6?")
    spent = Accountant(relation=Relation.REPLACE_ONE).compose(
        RandomizedResponse(epsilon=0.1), times=100
    )
    screen.print(str(spent.compare(delta=1e-6)), markup=False)


def _training(screen: Console) -> None:
    _title(screen, "2. A training run: 10,000 steps, noise 0.8, Poisson batches of rate 0.004")
    step = Subsampled(Gaussian(sigma=0.8), rate=0.004)
    with progress("composing"):
        found = Accountant(relation=Relation.ADD_REMOVE).compose(step, times=10_000).epsilon(1e-5)
    screen.print(
        f"at δ = 1e-5 the exact ε lies in [{found.lower:.6f}, {found.upper:.6f}]", markup=False
    )


def _calibration(screen: Console) -> None:
    _title(screen, "3. Which Gaussian noise lets 100 queries share (ε = 1, δ = 1e-6)?")
    found = calibration(
        lambda s: Gaussian(sigma=s),
        times=100,
        budget=ApproxDP(epsilon=1.0, delta=1e-6),
        relation=Relation.ADD_REMOVE,
    )
    screen.print(
        f"sigma = {found.noise:.10g}; it spends ε ≤ {found.spent.upper:.10g}", markup=False
    )


def _simulation(screen: Console) -> None:
    _title(screen, "4. The simulation lemma: is this pair of laws (ln 3, 1/10)-indistinguishable?")
    left = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    right = [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
    guarantee = ApproxDP(epsilon=1.0986122886681098, delta=0.1)
    kernel = simulate(left=left, right=right, guarantee=guarantee)
    screen.print("Yes: leaky randomized response simulates it exactly, by this kernel:")
    for row, law in zip(kernel.rows, kernel.matrix, strict=True):
        screen.print(f"  {row!s:>3} → " + "  ".join(f"{value!s:>8}" for value in law), markup=False)
    screen.print(f"  residual {kernel.residual}")
    try:
        simulate(left=left, right=right, guarantee=ApproxDP(epsilon=0.5))
    except NotIndistinguishable as refusal:
        screen.print(f"And not at (1/2, 0): {refusal}", markup=False)


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
        ("verdict", f"{_outcome(mended)} by the same audit: ε ≥ {mended.epsilon_lower:.3f}"),
    ):
        grid.add_row(label, Text(text))
    screen.print(grid)


def _outcome(verdict: Verdict) -> str:
    return "refuted" if verdict.refuted else "not refuted"


def _words(claim: Guarantee) -> str:
    return ", ".join(f"{name} = {getattr(claim, name):g}" for name in claim.__dataclass_fields__)
