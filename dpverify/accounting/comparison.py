"""Rules compared: what each says of the same composition, and which is tightest."""

from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from dpverify.balls import rounded_up
from dpverify.errors import InvalidParameter
from dpverify.guarantees import Bracket
from dpverify.plain import plain
from dpverify.theorems import Theorem


@dataclass(frozen=True, slots=True)
class Row:
    """One rule's answer; `exact` means that its lower end is a real bound, not just 0."""

    rule: str
    theorem: Theorem
    bracket: Bracket
    exact: bool

    @property
    def upper(self) -> float:
        return self.bracket.upper


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of all rules that apply, for ε at a δ or for δ at an ε.

    `skipped` names the rules that a time limit left out.

    >>> import dpverify as dpv
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    >>> spent = spent.compose(dpv.PureDP(0.1), times=50)
    >>> table = spent.compare(delta=1e-6)
    >>> table.tightest.rule, table["basic"].upper >= table.tightest.upper
    ('optimal', True)
    """

    unknown: Literal["epsilon", "delta"]
    at: float
    rows: tuple[Row, ...]
    skipped: tuple[str, ...] = ()

    @property
    def tightest(self) -> Row | None:
        """The row with the smallest upper end; in a tie an exact one, then the first.

        None if a time limit left no row.
        """
        return min(self.rows, key=lambda row: (row.upper, not row.exact), default=None)

    def __getitem__(self, rule: str) -> Row:
        for row in self.rows:
            if row.rule == rule:
                return row
        names = ", ".join(row.rule for row in self.rows)
        raise InvalidParameter(f"rule={rule!r} must be one that applies here: {names}")

    def __str__(self) -> str:
        given = "delta" if self.unknown == "epsilon" else "epsilon"
        head = f"{'rule':<26}{self.unknown + f' at {given} = {self.at:g}':<27}theorem"
        marks = {id(self.tightest): " ← tightest"}
        lines = [
            f"{row.rule:<26}{_shown(row) + marks.get(id(row), ''):<27}{row.theorem.name}"
            for row in self.rows
        ]
        if self.skipped:
            lines.append(f"no time was left for: {', '.join(self.skipped)}")
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        """For notebooks: the table, with the tightest rule in bold."""
        given = "δ" if self.unknown == "epsilon" else "ε"
        symbol = "ε" if self.unknown == "epsilon" else "δ"
        best = self.tightest
        shown = {id(row): _shown(row) for row in self.rows}
        shown |= {} if best is None else {id(best): f"<b>{_shown(best)}</b>"}
        rows = "".join(
            f"<tr><td>{row.rule}</td><td>{shown[id(row)]}</td>"
            f"<td>{escape(str(row.theorem))}</td></tr>"
            for row in self.rows
        )
        head = f"<tr><th>rule</th><th>{symbol} at {given} = {self.at:g}</th><th>theorem</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values for JSON; infinities as texts, trivial lower ends as None."""
        return {
            "version": 1,
            "unknown": self.unknown,
            "at": self.at,
            "tightest": None if self.tightest is None else self.tightest.rule,
            "skipped": list(self.skipped),
            "rows": [
                {
                    "rule": row.rule,
                    "theorem": row.theorem.name,
                    "source": row.theorem.source,
                    "lower": plain(row.bracket.lower) if row.exact else None,
                    "upper": plain(row.bracket.upper),
                    "assumes": list(row.bracket.assumes),
                }
                for row in self.rows
            ],
        }


def _shown(row: Row) -> str:
    """The upper end, to seven digits and never below itself."""
    return rounded_up(row.upper, digits=7)
