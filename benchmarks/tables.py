"""Plain aligned tables: one block a case, one line a tool."""

import math
from collections.abc import Iterable, Sequence

from cases import Case, Truth
from tools import Measurement

NONE = "–"
LEGEND = """\
over: upper end minus truth. seconds: of the computation alone, best of 3 where fast; a peer whose
two ends are separate computations is timed on the upper one. ratio: to dpverify's time for both.
truth: where it lies; ABOVE or BELOW, in capitals, is outside of what the tool claimed.
"""
HEADER = ("tool", "lower", "upper", "width", "over", "seconds", "ratio", "MB", "truth")


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Columns of words to the left (the first `words`), the others to the right."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i < words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([line(lines[0]), rule, *(line(cells) for cells in lines[1:])])


def block(case: Case, measurements: Sequence[Measurement]) -> str:
    """All tools on one case; the first is dpverify, and ratios are of its time."""
    known = f", truth {case.truth.value:.10g}" if case.truth else ""
    ours = measurements[0]
    rows = [row(found, ours, case.truth) for found in measurements]
    errors = [f"  {m.tool}: {m.error}"[:100] for m in measurements if m.error]
    return "\n".join([f"{case.name}: {case.title}{known}", aligned(HEADER, rows), *errors])


def row(found: Measurement, ours: Measurement, truth: Truth | None) -> tuple[str, ...]:
    return (
        found.tool,
        number(found.lower),
        number(found.upper),
        small(found.width),
        small(over(found, truth)),
        seconds(found),
        times(ratio(found, ours)) if found is not ours else "",
        NONE if found.peak_megabytes is None else f"{found.peak_megabytes:.0f}",
        place(found, truth),
    )


def over(found: Measurement, truth: Truth | None) -> float | None:
    """How far the upper end is above the truth; 0 if within the error of the truth itself."""
    if truth is None or found.upper is None:
        return None
    gap = found.upper - truth.value
    return 0.0 if abs(gap) <= truth.error else gap


def place(found: Measurement, truth: Truth | None) -> str:
    """Where the truth lies; an end that misses it is written in capitals."""
    if truth is None or found.upper is None:
        return NONE
    if not found.upper >= truth.value - truth.error:
        return "ABOVE"
    if found.lower is None:
        return "below"
    return "inside" if found.lower <= truth.value + truth.error else "BELOW"


def ratio(found: Measurement, ours: Measurement) -> float | None:
    """The tool's time over dpverify's; at a timeout, what it is at least."""
    if ours.status != "done" or found.status not in {"done", "timeout"}:
        return None
    return found.seconds / ours.seconds if found.seconds and ours.seconds else None


def number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.10g}" if math.isfinite(value) else str(value)


def small(value: float | None) -> str:
    return NONE if value is None else f"{value:.1e}" if value else "0"


def seconds(found: Measurement) -> str:
    match found.status:
        case "missing":
            return NONE
        case "error":
            return "error"
        case "timeout":
            return f"> {found.seconds:g}"
        case _:
            return NONE if found.seconds is None else f"{found.seconds:.2g}"


def heading(title: str, environment: str) -> str:
    return f"{title}\n{environment}\n\n{LEGEND}"


def times(value: float | None) -> str:
    if value is None:
        return NONE
    if value < 0.01:
        return "< 0.01×"
    return f"{value:.0f}×" if value >= 10 else f"{value:.2g}×"
