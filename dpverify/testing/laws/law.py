"""A law: one sentence, and the check that a subject satisfies it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class LawBroken(AssertionError):
    """Raised if a pair, accountant, rule or mechanism breaks a law."""


@dataclass(frozen=True, slots=True)
class Law:
    """`check(subject)` raises LawBroken unless the sentence `name` is true of it."""

    name: str
    check: Callable[[Any], None]

    def __str__(self) -> str:
        return self.name


def require(holds: bool, law: str, subject: object, detail: str) -> None:  # noqa: FBT001
    """Raise unless the law holds, with what was observed."""
    if not holds:
        raise LawBroken(f"{law}: does not hold for {subject!r}: {detail}")
