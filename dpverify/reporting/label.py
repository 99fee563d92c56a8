"""The privacy label: a disclosure on one card that can be printed, as HTML or SVG.

Numbers are rounded towards safety: an upper end up, a lower end down. What a disclosure does not
state, the card says is not stated. Everything is escaped, and nothing is fetched.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from dpverify.balls import rounded_down, rounded_up
from dpverify.disclosing.document import (
    CodeFacts,
    DataFacts,
    Defenses,
    Disclosure,
    Product,
    ProtectedUnit,
    StatedGuarantee,
    TrustModel,
)
from dpverify.disclosing.form import NOT_STATED
from dpverify.errors import InvalidParameter
from dpverify.files import write_whole
from dpverify.reporting.page import templates

_LONGEST = 240  # characters of one text on a card
_FEW = 3  # mechanisms that a card names
_COLUMNS = 64  # of the SVG's text
_LINE = 19  # pixels
_RELATIONS = {"add-remove": "adding or removing", "replace-one": "replacing"}


@dataclass(frozen=True, slots=True)
class Fact:
    """A heading and what stands under it; `stated` is False where nothing is known."""

    heading: str
    text: str
    stated: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a label shows; `success` is the percentage of right guesses of the best attack."""

    name: str
    by: str
    promise: str
    meaning: str
    success: float | None
    facts: tuple[Fact, ...]
    foot: str


def check_label(path: Path) -> None:
    """Refuse a path that no label can be written to before the work is done."""
    if path.suffix.lower() not in {".html", ".htm", ".svg"}:
        raise InvalidParameter(f"label={str(path)!r} must end in .html or .svg")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InvalidParameter(f"label={str(path)!r} must be a file in a folder that exists")


def write_label(disclosure: Disclosure, path: Path) -> None:
    """Write the label of a disclosure, as HTML or SVG by the name of the file."""
    check_label(path)
    render = label_svg if path.suffix.lower() == ".svg" else label_html
    write_whole(path, render(disclosure))


def label_html(disclosure: Disclosure) -> str:
    """The label as one HTML document."""
    return templates().get_template("label.html").render(card=card(disclosure))


def label_svg(disclosure: Disclosure) -> str:
    """The label as one SVG picture."""
    made = card(disclosure)
    rows = [(fact, wrapped(fact.text, _COLUMNS)) for fact in made.facts]
    tops, top = [], 264
    for _, lines in rows:
        tops.append(top)
        top += 12 + _LINE * len(lines)
    return (
        templates()
        .get_template("label.svg")
        .render(
            card=made,
            title=wrapped(made.name, 44)[:2],
            promise=made.promise,
            by=wrapped(made.by, 84)[0],
            meaning=wrapped(made.meaning, 88)[:3],
            rows=[(top, fact, lines) for top, (fact, lines) in zip(tops, rows, strict=True)],
            foot=wrapped(made.foot, 92),
            height=top + 44,
            line=_LINE,
        )
    )


def card(disclosure: Disclosure) -> Card:
    """What the label of a disclosure shows."""
    product = disclosure.product or Product()
    code = disclosure.code or CodeFacts()
    advantage = disclosure.risk.advantage if disclosure.risk else None
    risk = None if advantage is None else advantage.upper
    curators = None if product.curators is None else ", ".join(product.curators)
    return Card(
        name=_clean(product.name or "Unnamed release"),
        by=_clean(f"{curators or 'curator not stated'} · {product.published or 'date not stated'}"),
        promise=_promise(disclosure.guarantee or StatedGuarantee()),
        meaning=_meaning(risk, disclosure.unit or ProtectedUnit()),
        success=None if risk is None else min(100.0, 50.0 * (1 + risk)),
        facts=tuple(_facts(disclosure)),
        foot=_clean(
            f"dpverify {code.dpverify or NOT_STATED} · seal "
            f"{(disclosure.seal or NOT_STATED)[:16]} · verify with: dpverify check FILE"
        ),
    )


def _promise(guarantee: StatedGuarantee) -> str:
    upper = None if guarantee.epsilon is None else guarantee.epsilon.upper
    if upper is None or guarantee.delta is None:
        return "ε is not stated"
    at = "" if guarantee.delta == 0 else f" at δ = {guarantee.delta!r}"
    return "no bound on ε" if math.isinf(upper) else f"ε ≤ {rounded_up(upper)}{at}"


def _meaning(advantage: float | None, unit: ProtectedUnit) -> str:
    """One sentence; the prior is a coin toss, and the attacker knows everything else."""
    if advantage is None:
        return "What an attacker can do is not stated."
    success = rounded_up(min(100.0, 50.0 * (1 + advantage)), digits=3)
    count = unit.most_records or 1
    what = "one record" if count == 1 else f"{count} records of one {unit.protected or 'unit'}"
    does = "has" if count == 1 else "have"
    guess = {
        "add-remove": f"whether {what} {'is' if count == 1 else 'are'} in the data",
        "replace-one": f"which of two given values {what} {does}",
    }.get(unit.relation or "", "which of two neighboring datasets was used")
    return (
        f"Whoever guesses {guess}, knowing everything else, is right at most {success}% of the "
        "time; a coin toss is right 50%."
    )


def _facts(disclosure: Disclosure) -> Iterator[Fact]:
    unit = disclosure.unit or ProtectedUnit()
    guarantee = disclosure.guarantee or StatedGuarantee()
    trust, defenses = disclosure.trust or TrustModel(), disclosure.defenses or Defenses()
    yield _fact("Protected", unit.protected and f"each {unit.protected}")
    yield _fact("Neighbors", _neighbors(unit))
    yield _fact("Guarantee", _guarantee(guarantee))
    yield _fact("Best test", _detection(disclosure))
    yield _fact(
        "Trust", trust.model and f"{trust.model} model; {trust.actors or 'actors not stated'}"
    )
    yield _fact("Published", {"one": "once", "many": "again over time"}.get(trust.releases or ""))
    rule = disclosure.composition.rule if disclosure.composition else None
    yield _fact("Adds up by", rule)
    yield _fact("Mechanisms", _mechanisms(disclosure))
    unprotected = (disclosure.data or DataFacts()).unprotected
    listed = None if unprotected is None else "; ".join(unprotected) or "nothing is published bare"
    yield _fact("Not protected", listed)
    yield _fact("Floats", defenses.floating_point)
    yield _fact("Timing", defenses.timing)
    yield _fact("Tuning", defenses.tuning)
    yield _fact("Evidence", _evidence(disclosure))


def _fact(heading: str, text: str | None) -> Fact:
    return Fact(heading, _clean(text)) if text else Fact(heading, NOT_STATED, stated=False)


def _neighbors(unit: ProtectedUnit) -> str | None:
    if unit.relation is None:
        return None
    count = unit.most_records or 1
    what = unit.record or "record"
    many = f"one {what}" if count == 1 else f"up to {count} records, each a {what}"
    return f"differ by {_RELATIONS[unit.relation]} {many}"


def _guarantee(guarantee: StatedGuarantee) -> str | None:
    ends = guarantee.epsilon
    if ends is None or ends.lower is None or ends.upper is None:
        return None
    told = f"{guarantee.variant or 'variant not stated'}"
    told += "" if guarantee.variant == "gaussian" else " DP"
    inside = f"[{rounded_down(ends.lower, digits=6)}, {rounded_up(ends.upper, digits=6)}]"
    return f"{told}; the exact ε of what is stated lies in {inside}"


def _detection(disclosure: Disclosure) -> str | None:
    found = disclosure.risk.detection if disclosure.risk else None
    rate = None if found is None or found.true_positive_rate is None else found.true_positive_rate
    if found is None or rate is None or rate.upper is None or found.false_positive_rate is None:
        return None
    # As it is written: a rate rounded down would be stated of a test with fewer false alarms.
    alarm = f"{Decimal(repr(found.false_positive_rate)) * 100:f}"
    alarm = alarm.rstrip("0").rstrip(".") if "." in alarm else alarm
    right = rounded_up(100 * rate.upper, digits=3)
    return f"with {alarm}% false alarms, it finds at most {right}% of what it looks for"


def _mechanisms(disclosure: Disclosure) -> str | None:
    parts = disclosure.mechanisms or ()
    shown = "; ".join(f"{part.times or 0:,} × {part.label or part.name}" for part in parts[:_FEW])
    return f"{shown}; and {len(parts) - _FEW} more" if len(parts) > _FEW else shown or None


def _evidence(disclosure: Disclosure) -> str | None:
    exhibits = disclosure.evidence or ()
    counted = Counter(each.kind for each in exhibits if each.kind != "audit")
    told = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in counted.items()]
    for each in exhibits:
        if each.kind == "audit":
            most = "?" if each.most_shown is None else rounded_down(each.most_shown, digits=3)
            told.append(f"an audit, {each.verdict}; it could have shown up to ε ≥ {most}")
    return "; ".join(told) or None


def _clean(text: str) -> str:
    """Printable characters on one line, not too many of them."""
    shown = "".join(each if each.isprintable() else " " for each in text)
    shown = " ".join(shown.split())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def wrapped(text: str, columns: int) -> list[str]:
    """The text in lines; characters that are drawn wide count twice.

    >>> wrapped("one two three", 7)
    ['one two', 'three']
    """
    lines, line, width = [], "", 0
    for word in _pieces(text, columns):
        wide = _width(word)
        if line and width + 1 + wide > columns:
            lines.append(line)
            line, width = "", 0
        line, width = (f"{line} {word}", width + 1 + wide) if line else (word, wide)
    return [*lines, line]


def _pieces(text: str, columns: int) -> Iterator[str]:
    """Words; those longer than a line in pieces."""
    for word in text.split():
        piece = ""
        for each in word:
            if _width(piece + each) > columns:
                yield piece
                piece = ""
            piece += each
        yield piece


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)
