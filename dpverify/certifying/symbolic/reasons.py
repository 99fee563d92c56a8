"""Exceptions for why a certificate stays open, reported as one sentence with the line of code."""


class NotUnderstood(BaseException):
    """Raised for a step of the mechanism, or of its proof, that cannot be certified.

    Not an `Exception`, so that a mechanism's own `except Exception` does not hide it.
    """

    def __init__(self, reason: str, where: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.where = reason, where

    def __str__(self) -> str:
        return self.reason if self.where is None else f"{self.where}: {self.reason}"


class OverTime(NotUnderstood):
    """Raised when time or memory runs out, from outside into the thread that runs a mechanism."""

    def __init__(self) -> None:
        super().__init__("it does not end within the time or memory allowed")
