"""Why a certificate stays open: raised inside, told as one sentence with the line of code."""


class NotUnderstood(BaseException):
    """A step of the mechanism, or of its proof, that is beyond what can be certified.

    Not an `Exception`, so that a mechanism's own `except Exception` does not hide it.
    """

    def __init__(self, reason: str, where: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.where = reason, where

    def __str__(self) -> str:
        return self.reason if self.where is None else f"{self.where}: {self.reason}"


class OverTime(NotUnderstood):
    """The time or memory is used up: raised from outside into the thread that runs a mechanism."""

    def __init__(self) -> None:
        super().__init__("it does not end within the time or memory allowed")
