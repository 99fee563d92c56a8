"""Random allocation: certified brackets beside PLD_accounting, at equal time.

    python benchmarks/allocation.py [--case NAME] [--json FILE]

The peer is asked at finer and finer accuracies, each time for as long as dpverify took. A case is
won if no answer that it gave by then is narrower. Time is the processor's, so that a busy machine
says the same. Nothing is asserted.
"""

import math
from collections.abc import Sequence

import options
from accounting import Demand, print_tables
from cases import Case, allocation
from tables import small
from tools import DPVERIFY, Measurement, Tool, measure

OURS = Tool(DPVERIFY.label, DPVERIFY.script, {"cpu_seconds": math.inf})

ACCURACIES = (0.1, 0.03, 0.01, 0.003)
SETTINGS = (  # σ, steps, selected, epochs, δ
    (1.0, 1000, 1, 10, 1e-6),
    (1.0, 100, 1, 1, 1e-6),
    (1.0, 100, 1, 10, 1e-6),
    (0.6, 100, 1, 1, 1e-6),
    (0.6, 1000, 1, 5, 1e-8),
    (2.0, 100, 1, 10, 1e-6),
    (2.0, 10, 1, 20, 1e-5),
    (3.0, 1000, 1, 100, 1e-6),
    (0.8, 500, 1, 3, 1e-10),
    (1.5, 50, 1, 50, 1e-5),
    (1.0, 10000, 1, 10, 1e-6),
    (5.0, 20, 1, 100, 1e-6),
    (0.7, 20, 1, 1, 1e-4),
    (1.2, 300, 1, 30, 1e-9),
    (4.0, 2000, 1, 500, 1e-6),
    (0.9, 64, 1, 8, 1e-7),
    (2.5, 256, 1, 16, 1e-12),
    (1.0, 7, 1, 2, 1e-3),
    (1.7, 4096, 1, 64, 1e-6),
    (0.5, 10, 1, 1, 1e-6),
)
CASES = tuple(
    Case(
        name=f"r{index}",
        title=f"allocation σ={sigma:g}, {selected} of {steps} steps, {epochs} epochs, δ={delta:g}",
        parts=[allocation(sigma, steps, selected, epochs)],
        delta=delta,
        asked_width=1e-3 if index == 1 else None,
    )
    for index, (sigma, steps, selected, epochs, delta) in enumerate(SETTINGS, start=1)
)


def measurements(case: Case, limit: float) -> list[Measurement]:
    """dpverify once, and the peer until it takes longer."""
    ours = measure(OURS, case, limit)
    found, most = [ours], ours.seconds or limit
    for accuracy in ACCURACIES:
        label = f"PLD_accounting {accuracy:g}"
        setting = {"accuracy": accuracy, "cpu_seconds": most}
        found.append(measure(Tool(label, "with_pld_accounting.py", setting), case, limit))
        if found[-1].status != "done":
            break
    return found


def demands(case: Case, found: Sequence[Measurement]) -> list[Demand]:
    ours, *peers = found
    made = []
    if case.asked_width is not None:
        met = ours.width is not None and ours.width <= case.asked_width
        asked = f"≤ {case.asked_width:.0e}"
        made.append(Demand(case.name, "bracket width", asked, small(ours.width), met))
    in_time = [p for p in peers if p.status == "done" and (p.seconds or 0) <= (ours.seconds or 0)]
    widths = [p.width for p in in_time if p.width is not None]
    least = f"< {min(widths):.1e}" if widths else "any: it takes longer"
    met = ours.width is not None and all(ours.width < width for width in widths)
    known = any(p.status in {"done", "timeout"} for p in peers)
    made.append(
        Demand(case.name, "narrower in that time", least, small(ours.width), met if known else None)
    )
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options.parse("Random allocation, beside PLD_accounting.", CASES, arguments)
    print_tables("Random allocation", asked, lambda case: measurements(case, asked.limit), demands)


if __name__ == "__main__":
    main()
