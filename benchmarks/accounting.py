"""The numerical accountant: certified brackets beside dp-accounting and prv-accountant.

    python benchmarks/accounting.py [--case NAME] [--full] [--json FILE]

Each case says how narrow the bracket should be and whom it should outrun; the last table says
whether it did. Nothing is asserted.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import environment
import options
from cases import Case, Truth, gaussian, laplace, mixed_parts, response, subsampled
from tables import aligned, block, heading, place, ratio, small, times
from tools import DPVERIFY, Measurement, Tool, measure

PLD = Tool("dp-accounting PLD 1e-4", "with_dp_accounting.py", {"method": "pld", "interval": 1e-4})
PRV = Tool("prv-accountant 0.01", "with_prv_accountant.py", {"error": 0.01})
FINER = (
    Tool("dp-accounting PLD 1e-5", "with_dp_accounting.py", {"method": "pld", "interval": 1e-5}),
    Tool("prv-accountant 0.001", "with_prv_accountant.py", {"error": 0.001}),
    Tool("dp-accounting RDP", "with_dp_accounting.py", {"method": "rdp"}),
)

_A = Case(
    name="a",
    title="1000 Gaussians σ=50, δ=1e-6",
    parts=[gaussian(50.0, times=1000)],
    delta=1e-6,
    tolerance=1e-4,
    truth=Truth(value=2.921600590427046, error=1e-14),
    asked_width=1e-4,
    faster={PLD.label: 1},
)
_B1 = Case(
    name="b1",
    title="Poisson Gaussian σ=0.8, q=0.004, k=10⁴, δ=1e-5",
    parts=[subsampled(0.8, 0.004, times=10**4)],
    delta=1e-5,
    truth=Truth(value=3.5348212926766, error=1e-10),
    asked_width=1e-3,
    faster={PLD.label: 5, PRV.label: 10},
)
_B2 = Case(
    name="b2",
    title="Poisson Gaussian σ=1, q=0.001, k=10⁶, δ=1e-6",
    parts=[subsampled(1.0, 0.001, times=10**6)],
    delta=1e-6,
    tolerance=1e-2,
    truth=Truth(value=6.69427265582, error=1e-10),
    asked_width=1e-2,
    faster={PRV.label: 20},
)
_B3 = Case(
    name="b3",
    title="Poisson Gaussian σ=0.6, q=0.01, k=2500, δ=1e-8",
    parts=[subsampled(0.6, 0.01, times=2500)],
    delta=1e-8,
    truth=Truth(value=15.56617246227, error=1e-10),
    asked_width=1e-3,
)
_D1 = Case(
    name="d1",
    title="100 randomized responses ε=0.1, δ=1e-6",
    parts=[response(0.1, times=100)],
    delta=1e-6,
    truth=Truth(value=4.7745675881079865, error=1e-14),
)
_D2 = Case(
    name="d2",
    title="1000 leaky responses (0.1, 1e-8), δ=1e-4",
    parts=[response(0.1, 1e-8, times=1000)],
    delta=1e-4,
    truth=Truth(value=16.140607878599926, error=1e-14),
)


def _numerical(case: Case) -> Case:
    """The composition by the numerical engine alone, without closed forms."""
    name, title = f"{case.name}-numerical", f"{case.title}, without closed forms"
    return replace(case, name=name, title=title, engine="numerical")


CASES = (
    _A,
    _numerical(_A),
    _B1,
    replace(
        _B1,
        name="b1-1e-15",
        title=_B1.title.replace("1e-5", "1e-15"),
        delta=1e-15,
        truth=Truth(value=8.0995490157485, error=1e-10),
        asked_width=None,
        faster={},
    ),
    _B2,
    replace(
        _B2,
        name="b2-fine",
        title=f"{_B2.title}, tolerance 1e-3",
        tolerance=1e-3,
        asked_width=1e-3,
    ),
    _B3,
    replace(
        _B3,
        name="b3-1e-20",
        title=_B3.title.replace("1e-8", "1e-20"),
        delta=1e-20,
        truth=Truth(value=31.08069278341, error=1e-9),
    ),
    Case(
        name="c",
        title="500 Laplaces b=20, δ=1e-6",
        parts=[laplace(20.0, times=500)],
        delta=1e-6,
        truth=Truth(value=5.473901879665, error=1e-10),
        asked_width=1e-3,
        faster={PLD.label: 1},
    ),
    _D1,
    _numerical(_D1),
    _D2,
    _numerical(_D2),
    Case(
        name="e",
        title="50 Gaussians, 50 Laplaces, 100 Poisson Gaussians, all distinct, δ=1e-6",
        parts=mixed_parts(),
        delta=1e-6,
        tolerance=1e-2,
        truth=Truth(value=1.810259315839493, error=1e-10),
        asked_width=1e-2,
        faster={PLD.label: 1},
    ),
    Case(
        name="f",
        title="σ for ε=1, δ=1e-6, q=0.01, k=10⁴",
        parts=[subsampled(0.0, 0.01, times=10**4)],
        delta=1e-6,
        question="noise",
        epsilon=1.0,
        tolerance=1e-4,
        truth=Truth(value=4.3021064656, error=1e-9),
        faster={PLD.label: 1},
    ),
)


@dataclass(frozen=True)
class Demand:
    """One thing asked of dpverify on one case. `met` is None where it could not be measured."""

    case: str
    what: str
    asked: str
    measured: str
    met: bool | None


def demands(case: Case, found: Sequence[Measurement]) -> list[Demand]:
    ours = found[0]
    made = []
    if case.asked_width is not None:
        met = ours.width is not None and ours.width <= case.asked_width
        asked = f"≤ {case.asked_width:.0e}"
        made.append(Demand(case.name, "bracket width", asked, small(ours.width), met))
    if case.truth is not None:
        where = place(ours, case.truth)
        made.append(Demand(case.name, "truth", "inside", where, where == "inside"))
    made += [_speed(case, peer, ours) for peer in found[1:] if peer.tool in case.faster]
    return made


def _speed(case: Case, peer: Measurement, ours: Measurement) -> Demand:
    factor, measured = case.faster[peer.tool], ratio(peer, ours)
    at_least = "> " if peer.status == "timeout" else ""
    asked = f"≥ {factor:g}×" if factor > 1 else "> 1×"
    comparable = peer.status in {"done", "timeout"} or ours.status != "done"
    met = measured is not None and (measured >= factor if factor > 1 else measured > 1)
    return Demand(
        case.name,
        f"faster than {peer.tool}",
        asked,
        at_least + times(measured),
        met if comparable else None,
    )


def verdict(made: Sequence[Demand]) -> str:
    """The last table, and in one line which cases meet all that is asked of them."""
    words = {True: "yes", False: "NO", None: "not measured"}
    rows = [(d.case, d.what, d.asked, d.measured, words[d.met]) for d in made]
    table = aligned(("case", "what", "asked", "measured", "met"), rows, words=2)
    cases = dict.fromkeys(d.case for d in made)
    failing = {d.case for d in made if d.met is False}
    unknown = {d.case for d in made if d.met is None} - failing
    meeting = [name for name in cases if name not in failing | unknown]
    line = f"Met by {len(meeting)} of {len(cases)} cases: {', '.join(meeting) or 'none'}."
    if failing:
        line += f" Not met by: {', '.join(n for n in cases if n in failing)}."
    if unknown:
        line += f" Not measured in full: {', '.join(n for n in cases if n in unknown)}."
    return f"{table}\n\n{textwrap.fill(line, 100)}"


def measurements(
    case: Case, tools: Sequence[Tool], limit: float, known: dict[str, Measurement]
) -> list[Measurement]:
    """dpverify and the peers on the case; a peer is not asked the same question twice."""
    found = [measure(DPVERIFY, case, limit)]
    for tool in tools:
        key = repr((tool.label, case.parts, case.delta, case.question))
        if key not in known:
            known[key] = measure(tool, case, limit)
        found.append(replace(known[key], case=case.name))
    return found


def print_tables(
    title: str,
    asked: options.Options,
    measured: Callable[[Case], list[Measurement]],
    demanded: Callable[[Case, Sequence[Measurement]], list[Demand]] = demands,
) -> None:
    """One block a case, then what was asked and met; and all of it as JSON where wanted."""
    print(heading(title, environment.description()))
    results, made = [], []
    for case in asked.cases:
        found = measured(case)
        print(block(case, found) + "\n", flush=True)
        results += [measurement.as_json() for measurement in found]
        made += demanded(case, found)
    print(verdict(made))
    asked.write({"measurements": results, "demands": [asdict(d) for d in made]})


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options.parse("Certified brackets, beside the peers.", CASES, arguments)
    tools = (PLD, PRV, *(FINER if asked.full else ()))
    known: dict[str, Measurement] = {}
    print_tables(
        "Numerical accounting", asked, lambda case: measurements(case, tools, asked.limit, known)
    )


if __name__ == "__main__":
    main()
