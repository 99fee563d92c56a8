"""What a check finds: one sentence for each problem, with its path in the document."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dpverify.errors import settle
from dpverify.plain import plain

_LONGEST = 600  # characters of one sentence
Weight: TypeAlias = Literal["wrong", "incomplete", "note"]


@dataclass(frozen=True, slots=True)
class Objection:
    """One problem.

    "wrong": what is said is false, or contradicts what is said elsewhere. "incomplete": something
    is not said, so that it cannot be judged. "note": what was not examined.
    """

    weight: Weight
    path: str
    text: str

    def __post_init__(self) -> None:
        """A document may hold anything: what would move a terminal's cursor is not repeated."""
        settle(self, path=_printable(self.path), text=_printable(self.text))

    def __str__(self) -> str:
        return f"{self.weight}: {self.path}: {self.text}"


def _printable(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What was found in a document. `numbers` counts those that were computed again."""

    kind: Literal["disclosure", "registry entry"]
    name: str
    objections: tuple[Objection, ...]
    numbers: int

    @property
    def wrong(self) -> tuple[Objection, ...]:
        return tuple(each for each in self.objections if each.weight == "wrong")

    @property
    def incomplete(self) -> tuple[Objection, ...]:
        return tuple(each for each in self.objections if each.weight == "incomplete")

    @property
    def verdict(self) -> Literal["wrong", "incomplete", "stands"]:
        if self.wrong:
            return "wrong"
        return "incomplete" if self.incomplete else "stands"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {
            "version": 1,
            "kind": self.kind,
            "name": self.name,
            "verdict": self.verdict,
            "numbers": self.numbers,
            "objections": plain(self.objections),
        }

    def __str__(self) -> str:
        """The verdict in a line, and a line for each problem."""
        counted = f"numbers computed again: {self.numbers}"
        wrong, missing = len(self.wrong), len(self.incomplete)
        head = {
            "wrong": f"wrong: {'one statement does' if wrong == 1 else f'{wrong} statements do'} "
            "not hold",
            "incomplete": f"incomplete: nothing found wrong, {missing} not stated or not verified",
            "stands": "stands: numbers and evidence verified, what people state taken as given"
            if self.kind == "disclosure"
            else "nothing found wrong, which is no proof of it",
        }[self.verdict]
        return "\n".join([f"{head}; {counted}", *map(str, self.objections)])
