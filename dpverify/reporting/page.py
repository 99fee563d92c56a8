"""The report: one HTML file that needs no network, verdict first."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpverify.files import write_whole
from dpverify.reporting.picture import Picture
from dpverify.theorems import Theorem

if TYPE_CHECKING:
    from jinja2 import Environment

Tone = Literal["good", "bad", "plain"]

_FEW_COLUMNS, _MOST_COLUMNS = 3, 5
_PHONE = 45  # characters of a row that fit 390 pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Rows of text under a caption; `marked` is the row that matters most."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None

    @property
    def stacks(self) -> bool:
        """Whether a phone has no room for its rows, and shows them as cards."""
        columns = len(self.header)
        longest = max((sum(map(len, row)) for row in self.rows), default=0)
        return columns > _MOST_COLUMNS or (columns >= _FEW_COLUMNS and longest > _PHONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and, in this order, what stands under it; all of it optional.

    `what_if` is a grid of answers, shown with sliders. `links` are labels with texts and where they
    lead; a section that others lead to has an `anchor`.
    """

    title: str
    anchor: str = ""
    links: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    text: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    items: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: str = ""
    what_if: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A verdict in one line, a sentence that says what it means, and the sections that show why.

    `data` is embedded as JSON, so that a program can read what a person sees.
    """

    title: str
    verdict: str
    tone: Tone
    lead: str
    sections: tuple[Section, ...]
    command: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def write_page(page: Page, path: Path, origin: tuple[tuple[str, str], ...] = ()) -> None:
    """Write the page; everything that comes from a user is escaped.

    `origin` is when, by what and from what it was made, as facts: a review is of those very files.
    """
    write_whole(path, render(page, origin))


def render(page: Page, origin: tuple[tuple[str, str], ...] = ()) -> str:
    """The page as one HTML document."""
    template = templates().get_template("page.html")
    return template.render(page=page, origin=origin, embedded=_embedded)


def templates() -> "Environment":
    """The templates of this folder; everything that is filled in is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  # slow to import

    return Environment(
        loader=PackageLoader("dpverify.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _embedded(value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    """JSON inside a script element: no `<` that could end it, no line separators."""
    from markupsafe import Markup  # noqa: PLC0415

    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704  # escaped here


def theorem_section(theorem: Theorem, proof: dict[str, Any] | None) -> Section:
    """Statement and source; and, where the proof was run, its steps and its verdict."""
    facts = [("theorem", theorem.name), ("source", theorem.source)]
    if theorem.proof:
        facts.append(("proof that runs", theorem.proof))
    if proof is not None:
        facts.append(("verdict of the proof", proof["verdict"]))
    return Section(
        title="The theorem behind it",
        text=(theorem.statement,),
        facts=tuple(facts),
        tables=() if proof is None else (steps_table(proof),),
        code=f"dpverify prove {theorem.name}",
    )


def steps_table(proof: dict[str, Any]) -> TextTable:
    """The steps of a proof that was run, as `dpverify prove --json` prints them."""
    return TextTable(
        caption="Steps of the proof, run when this page was written",
        header=("step", "holds", "evidence", "checked for", "formula"),
        rows=tuple(
            (
                step["name"],
                "yes" if step["holds"] else "NO",
                step["evidence"],
                step["scope"],
                step["formula"],
            )
            for step in proof["steps"]
        ),
    )
