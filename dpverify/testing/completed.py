"""Audits answer when they are interrupted; a test must not pass because it was."""

from dpverify.auditing import Verdict
from dpverify.errors import InvalidParameter


def completed(verdict: Verdict) -> Verdict:
    """The verdict of an audit that came to its end; raise what stopped it if it did not."""
    if verdict.stopped is None:
        return verdict
    if verdict.stopped.why == "interrupt":
        raise KeyboardInterrupt
    if verdict.refuted:
        return verdict
    raise InvalidParameter(f"mechanism must give draws to the end: {verdict.stopped.reason}")
