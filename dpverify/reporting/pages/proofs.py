"""The page of `dpverify prove`: every theorem with its verdict, or one with its steps."""

from collections import Counter
from typing import Any

from dpverify.reporting.page import Page, Section, TextTable, steps_table

_ORDER = ("proved", "cited", "refuted", "failed")


def proofs_page(theorems: list[dict[str, Any]], *, command: str) -> Page:
    """The page of the theorems that `dpverify prove --json` lists."""
    counts = Counter(each["verdict"] for each in theorems)
    failed = counts["failed"] > 0
    summary = ", ".join(f"{counts[kind]} {kind}" for kind in _ORDER if counts[kind])
    single = len(theorems) == 1
    return Page(
        title=f"Proof of {theorems[0]['name']}" if single else "Proofs that run",
        verdict=theorems[0]["verdict"].capitalize() if single else summary,
        tone="bad" if failed else "good",
        lead=theorems[0]["statement"] if single else _LEAD,
        sections=tuple([] if single else [_overview(theorems)])
        + tuple(section for each in theorems for section in _theorem(each)),
        command=command,
        data={"version": 1, "theorems": theorems},
    )


_LEAD = (
    "“Proved” means that the steps cover the statement and none is merely numeric; “cited” says "
    "what is still taken from the literature; “refuted” shows a counterexample to a false claim."
)


def _overview(theorems: list[dict[str, Any]]) -> Section:
    return Section(
        title="All of them",
        tables=(
            TextTable(
                caption="Theorems, verdicts and the kinds of evidence",
                header=("theorem", "verdict", "evidence", "seconds"),
                rows=tuple(
                    (
                        each["name"],
                        each["verdict"],
                        ", ".join(each["evidence"]),
                        f"{each['seconds']:.1f}",
                    )
                    for each in theorems
                ),
            ),
        ),
    )


def _theorem(each: dict[str, Any]) -> list[Section]:
    facts = [
        ("verdict", each["verdict"]),
        ("source", each["source"]),
        ("file", each["proof"] or ""),
    ]
    if each["uses"]:
        facts.append(("uses", ", ".join(each["uses"])))
    if each["cites"]:
        facts.append(("cites", "; ".join(each["cites"])))
    found = each["counterexample"]
    if found is not None:
        facts += [
            ("claimed", found["claimed"]),
            ("instance", "\n".join(found["instance"])),
            ("truth", found["truth"]),
            ("instead", found["correction"]),
        ]
    return [
        Section(
            title=each["name"],
            text=(each["statement"],),
            facts=tuple(facts),
            tables=(steps_table(each),),
        )
    ]
