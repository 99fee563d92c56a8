"""The page that `dpverify demo` ends with: what was refuted, what was not, and the pictures."""

from collections.abc import Mapping
from typing import Any

from dpverify.auditing.verdict import Verdict
from dpverify.reporting.page import Page, Section, TextTable
from dpverify.reporting.pages.audit import witness_section
from dpverify.reporting.picture import Picture


def demo_page(
    *,
    broken: Verdict,
    correct: Verdict,
    pictures: Mapping[str, Picture],
    command: str,
    data: dict[str, Any],
) -> Page:
    """The verdicts, the witness of the bug, and the training run that the budget pays for."""
    sections = [
        Section(
            title="A mechanism with a bug, and one without",
            tables=(_verdicts([("a mean, noise halved", broken), ("Laplace noise", correct)]),),
            pictures=(pictures["wealth"],),
        ),
    ]
    if broken.witness is not None:
        sections.append(witness_section(broken.witness, "The witness of the bug"))
    sections.append(
        Section(title="The training run that the budget pays for", pictures=(pictures["budget"],))
    )
    return Page(
        title="The demonstration",
        verdict="A false claim refuted, a true one not",
        tone="plain",
        lead=(
            "A mean with half the noise that it needs is refuted from samples, with a witness that "
            "replays. Laplace noise at its exact scale survives the same audit."
        ),
        sections=tuple(sections),
        command=command,
        data=data,
    )


def _verdicts(rows: list[tuple[str, Verdict]]) -> TextTable:
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
            for name, verdict in rows
        ),
    )
