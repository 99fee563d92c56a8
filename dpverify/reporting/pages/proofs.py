"""The page of `dpverify prove`: every theorem with its verdict, clauses and steps."""

from collections import Counter
from typing import Any

from dpverify.reporting.page import Page, Section, TextTable, steps_table

_ORDER = (
    "proved",
    "proved with argument",
    "cited",
    "checked on instances",
    "refuted",
    "refuted with argument",
    "failed",
)


def proofs_page(theorems: list[dict[str, Any]], *, command: str) -> Page:
    """The page of the theorems that `dpverify prove --json` lists."""
    counts = Counter(each["verdict"] for each in theorems)
    failed = counts["failed"] > 0
    summary = ", ".join(f"{counts[kind]} {kind}" for kind in _ORDER if counts[kind])
    single = len(theorems) == 1
    listed = {each["name"] for each in theorems}
    return Page(
        title=f"Proof of {theorems[0]['name']}" if single else "Proofs that run",
        verdict=theorems[0]["verdict"].capitalize() if single else summary,
        tone="bad" if failed else "good",
        lead=theorems[0]["statement"] if single else _LEAD,
        sections=tuple([] if single else [_overview(theorems)])
        + tuple(_theorem(each, listed) for each in theorems),
        command=command,
        data={"version": 2, "theorems": theorems},
    )


_LEAD = (
    "“Proved” means that every clause is a formula shown for its whole range; “proved with "
    "argument” that the steps hold and words say how they amount to the statement; “cited” says "
    "what is taken from the literature; “refuted” shows a counterexample to a false formula, "
    "“refuted with argument” one to a false statement in words."
)


def _overview(theorems: list[dict[str, Any]]) -> Section:
    return Section(
        title="All of them",
        links=(("theorems", tuple((each["name"], f"#{each['name']}") for each in theorems)),),
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


def _theorem(each: dict[str, Any], listed: set[str]) -> Section:
    facts = [
        ("verdict", each["verdict"]),
        ("source", each["source"]),
        ("file", each["proof"] or ""),
    ]
    facts += [("fails", problem) for problem in each["problems"]]
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
        facts += [("argued, not executed", found["argued"])] if found["argued"] else []
    facts += [
        (f"by sympy alone, {goal['reason']}", goal["goal"]) for goal in each["not_shown_again"]
    ]
    links = [
        (label, tuple((name, f"#{name}" if name in listed else "#") for name in each[key]))
        for label, key in (("uses", "uses"), ("used by", "used_by"))
        if each[key]
    ]
    if each["code"]:
        links.append(("named in", tuple((path, path) for path in each["code"])))
    tables = [_clauses(each), steps_table(each)] if each["clauses"] else [steps_table(each)]
    return Section(
        title=each["name"],
        anchor=each["name"],
        text=(each["statement"], *each["argument"].split("\n\n")),
        facts=tuple(facts),
        items=tuple(each["notation"]),
        links=tuple(links),
        tables=tuple(tables),
    )


def _clauses(each: dict[str, Any]) -> TextTable:
    return TextTable(
        caption="The statement, clause by clause",
        header=("clause", "steps", "argued, not executed", "checked on instances only"),
        rows=tuple(
            (clause["says"], ", ".join(clause["steps"]), clause["argued"], clause["checked"])
            for clause in each["clauses"]
        ),
    )
