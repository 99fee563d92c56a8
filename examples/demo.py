"""The main jobs of dpverify, once each: two audits, a composition, a budget, the simulation lemma.

python examples/demo.py

`dpverify demo` tells the same stories wherever the package is installed, and writes their page.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dpverify as dpv

LEVEL, SEED = 0.01, 7
CLAIM = dpv.PureDP(epsilon=1.0)
RATE, STEPS, BUDGET = 0.01, 10_000, dpv.ApproxDP(epsilon=1.0, delta=1e-6)


@dataclass(frozen=True)
class Told:
    """What a story found: lines to read, plain values for programs, objects for the page."""

    lines: tuple[Any, ...]
    data: Mapping[str, Any]
    kept: Mapping[str, Any] = field(default_factory=dict)


def off_by_two(data: list[float], rng: np.random.Generator) -> float:
    """A mean of numbers in [−1, 1] whose author took its sensitivity for 1/n; it is 2/n."""
    total = float(np.clip(data, -1.0, 1.0).mean())
    return float(dpv.Laplace(scale=1.0 / len(data)).sample(total, 1, rng=rng)[0])


def audits() -> Told:
    """Laplace noise at its exact scale; and a mean with half the noise that it needs."""
    exact = dpv.Laplace(scale=1.0, l1_sensitivity=1.0)
    asked: dict[str, Any] = {"claim": CLAIM, "level": LEVEL, "seed": SEED}
    correct = dpv.audit(exact, left=0.0, right=1.0, samples=100_000, **asked)
    left, right = [1.0, 0.5, 0.0, 0.5], [-1.0, 0.5, 0.0, 0.5]
    history: list[Any] = []
    broken = dpv.audit(off_by_two, left=left, right=right, progress=history.append, **asked)
    lines = (
        *("Laplace noise at its exact scale:", correct),
        *("A mean of numbers in [-1, 1], noise of scale 1/n:", broken),
        "Replacing a record moves that mean by 2/n: the noise is half of what it needs.",
    )
    data = {"audits": {"correct": correct.to_dict(), "broken": broken.to_dict()}}
    return Told(lines, data, {"correct": correct, "broken": broken, "history": history})


def composition() -> Told:
    """A hundred randomized responses, by every rule that applies."""
    response = dpv.RandomizedResponse(epsilon=0.1)
    spent = dpv.Accountant(relation=dpv.Relation.REPLACE_ONE).compose(response, times=100)
    table = spent.compare(delta=1e-6)
    return Told((table,), {"composition": table.to_dict()})


def training(sigma: float) -> dpv.Accountant:
    """The accountant of 10,000 steps on Poisson batches of rate 0.01."""
    step = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=RATE)
    return dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=STEPS)


def budget() -> Told:
    """The noise that a training run needs, and what the run then costs."""
    sigma = dpv.calibrate(
        lambda s: dpv.Subsampled(dpv.Gaussian(sigma=s), rate=RATE),
        times=STEPS,
        budget=BUDGET,
        relation=dpv.Relation.ADD_REMOVE,
    )
    run = training(sigma)
    spent = run.epsilon(BUDGET.delta, tolerance=1e-4)
    within = f"within ε = {BUDGET.epsilon:g}, δ = {BUDGET.delta:g}"
    lines = (
        f"{STEPS:,} steps, Poisson batches of rate {RATE:g}, {within}:",
        f"sigma = {sigma:.6f}",
        f"checked: the run then costs ε between {spent.lower:.5f} and {spent.upper:.5f}",
    )
    data = {"budget": {"sigma": sigma, "spent": dpv.to_dict(spent)}}
    return Told(lines, data, {"run": run})


def simulation() -> Told:
    """A pair of distributions that leaky randomized response simulates, and a claim it refuses."""
    left = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
    pair = {"left": left, "right": left[::-1]}
    kernel = dpv.simulate(**pair, guarantee=dpv.ApproxDP(epsilon=math.log(3.0), delta=0.1))
    try:
        dpv.simulate(**pair, guarantee=dpv.ApproxDP(epsilon=0.5))
    except dpv.NotIndistinguishable as error:
        refusal = str(error)
    else:
        raise AssertionError("a pair whose largest ratio is 5/2 is not (1/2, 0)-indistinguishable")
    rows = [[str(value) for value in row] for row in kernel.matrix]
    lines = (
        "Yes: leaky randomized response simulates it exactly, by this kernel:",
        *(
            f"  {name!s:>3} → " + "  ".join(f"{value:>8}" for value in row)
            for name, row in zip(kernel.rows, rows, strict=True)
        ),
        f"  residual {kernel.residual}",
        f"And not at (1/2, 0): {refusal}",
    )
    named = {"rows": [str(name) for name in kernel.rows], "matrix": rows}
    return Told(lines, {"kernel": named | {"residual": str(kernel.residual)}, "refusal": refusal})


FACTS: dict[str, Any] = {
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
    "code": {"version": dpv.__version__},
}
"""What only people know of a release, here of one that is made up."""


def documents(run: dpv.Accountant, beside: Path) -> tuple[Path, Path]:
    """Disclose the training run, in a file beside another; and again for the public registry."""
    from dpverify.disclosing import entry_of  # noqa: PLC0415  # slow to import
    from dpverify.disclosing.text import written  # noqa: PLC0415

    made = dpv.disclose(
        run, delta=BUDGET.delta, given=FACTS, arithmetic="integers on a grid", tolerance=1e-4
    )
    name = re.sub(r"[^a-z0-9]+", "_", beside.stem.lower()).strip("_") or "demo"
    document, entry = (
        beside.with_name(f"{name}_{kind}.yaml") for kind in ("disclosure", "registry")
    )
    made.save(document)
    entry.write_text(written(entry_of(made), "yaml"), encoding="utf-8")
    return document, entry


STORIES = {
    "Is this 1-DP? A correct mechanism, and a mean with a bug": audits,
    "What do 100 randomized responses of ε = 0.1 cost together?": composition,
    "How much noise does private training need?": budget,
    "The simulation lemma: is this pair of distributions (ln 3, 1/10)-DP?": simulation,
}


def page(told: list[Told], command: str) -> Any:  # noqa: ANN401  # a Page; its room is slow to import
    """The verdicts, the witness of the bug, and the training run that the budget pays for."""
    from dpverify.reporting.page import Page, Section  # noqa: PLC0415
    from dpverify.reporting.pages.audit import witness_section  # noqa: PLC0415
    from dpverify.reporting.picture import picture  # noqa: PLC0415
    from dpverify.reporting.plots import composition_figure, wealth_figure  # noqa: PLC0415

    kept = {name: value for each in told for name, value in each.kept.items()}
    broken, run = kept["broken"], kept["run"]
    table = _verdicts({"a mean, noise halved": broken, "Laplace noise": kept["correct"]})
    wealth = picture(
        wealth_figure(kept["history"], broken.level),
        "The wealth of the bets against the claim grows with the draws until it crosses the "
        "line at which the claim is refuted.",
    )
    spending = picture(
        composition_figure(run, run.compare(delta=BUDGET.delta)),
        "Profile, trade-off curve and growth of ε of the training run.",
    )
    return Page(
        title="The demonstration",
        verdict="A false claim refuted, a true one not",
        tone="plain",
        lead=(
            "A mean with half the noise that it needs is refuted from samples, with a witness that "
            "replays. Laplace noise at its exact scale survives the same audit."
        ),
        sections=(
            Section(
                title="A mechanism with a bug, and one without",
                tables=(table,),
                pictures=(wealth,),
            ),
            witness_section(broken.witness, "The witness of the bug"),
            Section(title="The training run that the budget pays for", pictures=(spending,)),
        ),
        command=command,
        data={name: value for each in told for name, value in each.data.items()},
    )


def _verdicts(verdicts: Mapping[str, dpv.Verdict]) -> Any:  # noqa: ANN401  # a table of a page
    from dpverify.reporting.page import TextTable  # noqa: PLC0415

    return TextTable(
        caption="Held against ε = 1",
        header=("mechanism", "verdict", "shown", "draws a side"),
        rows=tuple(
            (
                name,
                "refuted" if verdict.refuted else "not refuted",
                f"ε ≥ {verdict.epsilon_lower:.3f}",
                f"{verdict.samples:,}",
            )
            for name, verdict in verdicts.items()
        ),
    )


def told() -> Iterator[str]:
    """Everything, as text."""
    for number, (title, story) in enumerate(STORIES.items(), start=1):
        yield f"\n{number}. {title}"
        yield from map(str, story().lines)


if __name__ == "__main__":
    for line in told():
        print(line)
