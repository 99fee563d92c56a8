"""The pages of `dpverify check`, `disclose` and `merge`: files, and what was found in them."""

import shlex
from collections.abc import Iterator
from typing import Any

from dpverify.balls import rounded_down, rounded_up
from dpverify.reporting.page import Page, Section, TextTable, Tone

_DISCLOSURES: dict[str, tuple[str, Tone]] = {
    "wrong": ("Something in it is wrong", "bad"),
    "incomplete": ("Nothing wrong, not all verified", "plain"),
    "stands": ("It stands", "good"),
}


def checked_page(name: str, answer: dict[str, Any], *, command: str) -> Page:
    """The page of a check; `answer` is what `dpverify check --json` prints."""
    title = f"Check of {name}"
    if "objections" in answer:
        return _review(title, answer, command)
    valid = answer["valid"]
    tone: Tone = "bad" if not valid or answer["verdict"] == "refuted" else "good"
    notes = (*answer.get("assumes", ()), *answer.get("notes", ()))
    return Page(
        title=title,
        verdict=f"Valid: {answer['verdict']}" if valid else "Not valid",
        tone=tone,
        lead=_lead(answer) if valid else f"{answer['reason']}.",
        sections=(Section(title="What it rests on", items=notes),) if notes else (),
        command=command,
        data=answer,
    )


def _lead(answer: dict[str, Any]) -> str:
    """For what a certificate holds, or what a witness says."""
    scope = str(answer["scope"])
    return f"For {scope}." if "assumes" in answer else f"{scope[:1].upper()}{scope[1:]}."


def _review(title: str, answer: dict[str, Any], command: str) -> Page:
    verdict, tone = _DISCLOSURES[answer["verdict"]]
    rows = tuple(tuple(map(str, each.values())) for each in answer["objections"])
    listed = TextTable(
        caption="What is wrong, not stated or not verified",
        header=("weight", "where", "what"),
        rows=rows,
    )
    return Page(
        title=title,
        verdict=verdict,
        tone=tone,
        lead=f"Numbers computed again from what it states: {answer['numbers']}.",
        sections=(Section(title="Objections", tables=(listed,)),) if rows else (),
        command=command,
        data=answer,
    )


def disclosure_page(document: dict[str, Any], *, command: str) -> Page:
    """The document as a page, a section a part; `document` is what `disclose --json` prints."""
    head = {name: value for name, value in document.items() if not isinstance(value, dict | list)}
    parts = {name: value for name, value in document.items() if name not in head}
    return Page(
        title="Disclosure of a private release",
        verdict=_cost(document.get("guarantee")),
        tone="plain",
        lead="Everything that is known of the release; dpverify check computes it again.",
        sections=tuple(
            Section(title=title, facts=tuple(_facts("", value)))
            for name, value in (parts | {"document": head}).items()
            for title, value in _titled(name, value)
        ),
        command=command,
        data=document,
    )


def merged_page(answer: dict[str, Any], *, command: str) -> Page:
    """The page of a merge; `answer` is what `dpverify merge --json` prints."""
    into, files = answer["into"], answer["files"]
    return Page(
        title="Draws of one audit, put together",
        verdict=f"{answer['draws']:,} draws from {files:,} file{'' if files == 1 else 's'}",
        tone="plain",
        lead="These are draws, not yet a verdict: the audit that they belong to gives one.",
        sections=(
            Section(
                title="How to get the verdict",
                text=("Run the audit as each share was run, without --share, on the new file:",),
                code=f"dpverify audit … --checkpoint {shlex.quote(into)}",
            ),
        ),
        command=command,
        data=answer,
    )


def _cost(guarantee: Any) -> str:  # noqa: ANN401  # a part of the document, or "not stated"
    told = guarantee.get("epsilon") if isinstance(guarantee, dict) else None
    if not isinstance(told, dict):
        return "No ε is stated"
    return f"ε ≤ {rounded_up(float(told['upper']), digits=6)} at δ = {guarantee['delta']}"


def _titled(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # a tree
    """A part of the document under its title; the members of a list each under its own."""
    title = name.replace("_", " ").capitalize()
    if not isinstance(value, list) or not value:
        yield title, value
        return
    single = title.removesuffix("s")
    for place, each in enumerate(value, start=1):
        yield (title if len(value) == 1 else f"{single} {place} of {len(value)}"), each


def _facts(name: str, value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # a tree
    """The leaves of a tree of plain values, each under the names that lead to it."""
    if isinstance(value, dict) and value.keys() == {"lower", "upper"}:
        yield name, _between(value)
    elif isinstance(value, dict):
        for key, each in value.items():
            inner = name if key == "parameters" else f"{name} {key}"
            yield from _facts(inner.strip().replace("_", " "), each)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for place, each in enumerate(value, start=1):
            if isinstance(each, dict) and each.keys() == {"epsilon", "delta"}:
                yield from _facts(f"δ at ε = {each['epsilon']}", each["delta"])
            else:
                yield from _facts(f"{name} {place}:", each)
    elif isinstance(value, list):
        yield name, "; ".join(map(str, value)) or "none"
    else:
        yield name, str(value)


def _between(bracket: dict[str, Any]) -> str:
    """Both ends, rounded outwards."""
    low, high = (float(bracket[end]) for end in ("lower", "upper"))
    return f"between {rounded_down(low, digits=6)} and {rounded_up(high, digits=6)}"
