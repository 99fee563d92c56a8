"""The page that `dpverify demo` ends with: what was refuted, what was not, and the pictures."""

from collections.abc import Mapping
from typing import Any

from dpverify.auditing.verdict import Verdict
from dpverify.reporting.page import Page, Section, TextTable
from dpverify.reporting.pages.audit import witness_section
from dpverify.reporting.picture import Picture


def demo_page(  # noqa: PLR0913  # all that the page shows
    *,
    broken: Verdict,
    correct: Verdict,
    stories: list[dict[str, Any]],
    model: dict[str, Any],
    pictures: Mapping[str, Picture],
    command: str,
    data: dict[str, Any],
) -> Page:
    """`stories` are the headline errors, `model` the private model, both as `--json` tells them."""
    sections = [
        Section(
            title="A mechanism with a bug, and one without",
            tables=(_verdicts([("a mean, noise halved", broken), ("Laplace noise", correct)]),),
            pictures=(pictures["wealth"],),
        ),
    ]
    if broken.witness is not None:
        sections.append(witness_section(broken.witness, "The witness of the bug"))
    sections += [_story(story) for story in stories]
    sections += [
        Section(title="The training run that the budget pays for", pictures=(pictures["budget"],)),
        _model(model),
    ]
    return Page(
        title="The demonstration",
        verdict="Three false claims refuted",
        tone="plain",
        lead=(
            "A bug in a mean, and two theorems of lecture notes: each is refuted from samples, "
            "with a witness that replays. The corrected theorems survive the same audits."
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


def _story(story: dict[str, Any]) -> Section:
    before, after = story["verdict"], story["repaired"]
    witness = before["witness"]
    return Section(
        title=story["title"],
        text=(story["printed"],),
        facts=(
            ("source", story["source"]),
            ("instance", story["pair"]),
            ("exact", f"{story['truth']}; ε is {story['true_epsilon']['upper']:.6f}"),
            ("verdict", f"refuted: ε ≥ {before['epsilon_lower']:.3f}"),
            ("witness", witness["event_in_words"]),
            ("instead", story["correction"]),
            (
                "the same audit of the correction",
                (
                    f"{'refuted' if after['refuted'] else 'not refuted'}, "
                    f"ε ≥ {after['epsilon_lower']:.3f}"
                ),
            ),
        ),
        code=f"dpverify prove {story['refutation']}",
    )


def _model(model: dict[str, Any]) -> Section:
    verdict = model["verdict"]
    return Section(
        title="A private model",
        facts=(
            ("records", f"{model['records']:,}, {model['features']} features"),
            ("accuracy", f"{model['accuracy']:.1%}"),
            ("without privacy", f"{model['without_privacy']:.1%}"),
            ("claim", f"ε = {model['claim']['epsilon']:g}, δ = {model['claim']['delta']:g}"),
            ("theorem", model["theorem"]),
            (
                "audit of the algorithm",
                (
                    f"{'refuted' if verdict['refuted'] else 'not refuted'}, "
                    f"ε ≥ {verdict['epsilon_lower']:.3f}"
                ),
            ),
        ),
    )
