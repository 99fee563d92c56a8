"""A law: a sentence, and the check that it holds for a subject."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class LawBroken(AssertionError):
    """A pair, accountant, rule or mechanism breaks a law that all of its kind must keep."""


@dataclass(frozen=True, slots=True)
class Law:
    """`check(subject)` raises LawBroken unless the sentence `name` is true of it."""

    name: str
    check: Callable[[Any], None]

    def __str__(self) -> str:
        return self.name


def require(holds: bool, law: str, subject: object, detail: str) -> None:  # noqa: FBT001
    """Raise unless the law holds, with what was seen."""
    if not holds:
        raise LawBroken(f"{law}: does not hold for {subject!r}: {detail}")
