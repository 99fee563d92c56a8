"""Closed-form composition: dpverify beside dp-accounting, autodp and opendp.

python benchmarks/composition.py [--case NAME] [--full] [--json FILE]
"""

from collections.abc import Sequence

import environment
import options
from cases import Case, Truth, gaussian, response, unequal_parts
from tables import block, heading
from tools import DPVERIFY, Tool, measure

CASES = (
    Case(
        name="equal-100",
        title="100 parts ε=0.1, δ=1e-6",
        parts=[response(0.1, times=100)],
        delta=1e-6,
        truth=Truth(value=4.7745675881079865, error=1e-14),
    ),
    Case(
        name="equal-1000",
        title="1000 parts (0.1, 1e-8), δ=1e-4",
        parts=[response(0.1, 1e-8, times=1000)],
        delta=1e-4,
        truth=Truth(value=16.140607878599926, error=1e-14),
    ),
    Case(
        name="equal-1e6",
        title="10⁶ parts ε=0.001, δ=1e-6",
        parts=[response(0.001, times=10**6)],
        delta=1e-6,
        truth=Truth(value=4.886543743757649, error=1e-14),
    ),
    Case(
        name="gaussian",
        title="1000 Gaussians σ=50, δ=1e-6",
        parts=[gaussian(50.0, times=1000)],
        delta=1e-6,
        truth=Truth(value=2.921600590427046, error=1e-14),
    ),
    Case(
        name="unequal-200",
        title="200 distinct (ε, δ), ε from 0.01 to 0.2, δ=1e-6",
        parts=unequal_parts(),
        delta=1e-6,
        tolerance=1e-4,
        truth=Truth(value=8.608635645908345, error=1e-12),
    ),
)


def peers(case: Case, *, full: bool) -> list[Tool]:
    """Every peer that supports the case, with its tightest methods."""
    pld = Tool("dp-accounting PLD 1e-4", "with_dp_accounting.py", _pld(1e-4))
    found = [pld]
    if full:
        found.append(Tool("dp-accounting PLD 1e-5", "with_dp_accounting.py", _pld(1e-5)))
    if case.parts[0]["kind"] == "gaussian":
        return [*found, _autodp("gaussian", "analytic"), _opendp("gaussian", "zCDP")]
    if len(case.parts) == 1:
        setting = {"method": "optimal"}
        found.append(Tool("dp-accounting optimal", "with_dp_accounting.py", setting))
    found.append(_autodp("advanced", "advanced"))
    if any(part["delta"] for part in case.parts):
        return [*found, _opendp("basic", "basic")]
    return [*found, _autodp("renyi", "Rényi"), _opendp("pure", "zCDP")]


def _pld(interval: float) -> dict[str, object]:
    return {"method": "pld", "interval": interval}


def _autodp(method: str, name: str) -> Tool:
    return Tool(f"autodp {name}", "with_autodp.py", {"method": method})


def _opendp(method: str, name: str) -> Tool:
    return Tool(f"opendp {name}", "with_opendp.py", {"method": method})


def main(arguments: Sequence[str] | None = None) -> None:
    asked = options.parse("Closed-form composition, side by side.", CASES, arguments)
    print(heading("Closed-form composition", environment.description()))
    results = []
    for case in asked.cases:
        tools = [DPVERIFY, *peers(case, full=asked.full)]
        found = [measure(tool, case, asked.limit) for tool in tools]
        print(block(case, found) + "\n", flush=True)
        results += [measurement.as_json() for measurement in found]
    asked.write({"measurements": results})


if __name__ == "__main__":
    main()
