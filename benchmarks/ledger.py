"""Budgets over time: speed, what adaptivity costs, adversaries, processes on one file.

python benchmarks/ledger.py [speed] [ratios] [adversaries] [processes] [--interactions N]
    [--seconds S] [--json FILE]

speed        ε asked after each of 10,000 Gaussian requests, and of 1,000 different subsampled ones,
             by CPU time, with the growth from the first tenth to the last; by an odometer, a filter
             and an accountant (whose list is taken as fixed in advance).
ratios       the smallest budget with which a filter grants a sequence, over the cost of the same
             sequence fixed in advance.
adversaries  interactions on finite pairs whose joint law is exact, strategies that react to answers
             and the best of all included; then the wrong filter under the same harness.
processes    eight spenders on one ledger for a minute, killed at random a hundred times.
"""

# ruff: noqa: ANN401  # requests of any kind

import argparse
import collections
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ARENAS = 500  # menus and budgets that the interactions are spread over


def makers() -> dict[str, Callable[[], Any]]:
    """Requests that are never twice the same."""
    import dpverify as dpv

    draw = random.Random(1)  # noqa: S311  # reproducible

    def sampled() -> Any:
        noise = dpv.Gaussian(sigma=draw.uniform(0.8, 3.0))
        return dpv.Subsampled(noise, rate=draw.uniform(0.0005, 0.01))

    return {
        "Gaussian": lambda: dpv.Gaussian(sigma=draw.uniform(100.0, 1000.0)),
        "subsampled": sampled,
    }


class Metered:
    """An odometer's ε after each request."""

    def __init__(self) -> None:
        import dpverify as dpv

        self.meter = dpv.Odometer(dpv.Relation.ADD_REMOVE)

    def step(self, mechanism: Any) -> None:
        self.meter.spend(mechanism)
        self.meter.epsilon(1e-6)


class Filtered:
    """A filter's decision, and what is left."""

    def __init__(self) -> None:
        import dpverify as dpv

        budget = dpv.ApproxDP(epsilon=20.0, delta=1e-6)
        options: dict[str, Any] = {"by": "renyi", "orders": [2.0, 4.0, 8.0]}
        self.guard = dpv.Filter(budget, dpv.Relation.ADD_REMOVE, **options)

    def step(self, mechanism: Any) -> None:
        self.guard.request(mechanism)
        _ = self.guard.share


class Composed:
    """An accountant's ε after each request, as if fixed in advance."""

    def __init__(self) -> None:
        import dpverify as dpv

        self.spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)

    def step(self, mechanism: Any) -> None:
        self.spent = self.spent.compose(mechanism)
        self.spent.epsilon(1e-6)


SPEED = (
    *(("Gaussian", kind, 10_000) for kind in (Metered, Filtered, Composed)),
    *(("subsampled", kind, 1_000) for kind in (Metered, Filtered, Composed)),
)


def speed() -> dict[str, Any]:
    found = {}
    print(f"{'ε after each request':28}{'requests':>10}{'CPU s':>9}", end="")
    print(f"{'ms first':>10}{'ms last':>9}{'growth':>8}")
    for what, kind, count in SPEED:
        make, made = makers()[what], kind()
        times = [time.process_time()]
        for _ in range(count):
            made.step(make())
            times.append(time.process_time())
        tenth = count // 10
        total = times[-1] - times[0]
        first = 1e3 * (times[tenth] - times[0]) / tenth
        last = 1e3 * (times[-1] - times[-1 - tenth]) / tenth
        name = f"{what}, {kind.__name__.lower()}"
        found[name] = {"requests": count, "seconds": total, "first": first, "last": last}
        row = f"{name:28}{count:>10,}{total:>9.2f}{first:>10.3f}{last:>9.3f}"
        print(f"{row}{last / first:>8.2f}", flush=True)
    return found


def sequences() -> Iterator[tuple[str, Any, dict[str, Any], list[Any]]]:
    import dpverify as dpv

    draw = random.Random(2)  # noqa: S311  # reproducible
    gaussians = [dpv.Gaussian(sigma=draw.uniform(50.0, 200.0)) for _ in range(200)]
    laplaces = [dpv.Laplace(scale=draw.uniform(50.0, 200.0)) for _ in range(100)]
    steps = [dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01)] * 500
    wide = dpv.ApproxDP(epsilon=1e3, delta=1e-6)
    yield "200 Gaussians, μ²", wide, {"by": "gaussian"}, gaussians
    yield "200 Gaussians, ρ", dpv.ZeroConcentratedDP(rho=1e3), {}, gaussians
    yield "100 Laplace, ρ", dpv.ZeroConcentratedDP(rho=1e3), {}, laplaces
    yield "200 Gaussians, Rényi at 32", wide, {"by": "renyi", "orders": [32.0]}, gaussians
    yield "100 Laplace, Rényi at 48", wide, {"by": "renyi", "orders": [48.0]}, laplaces
    yield "100 Laplace, μ²", wide, {"by": "gaussian"}, laplaces
    yield "100 Laplace, sums of ε", dpv.PureDP(epsilon=1e3), {}, laplaces
    yield "500 subsampled, Rényi at 8", wide, {"by": "renyi", "orders": [8.0]}, steps
    yield "500 subsampled, 4, 8, 12", wide, {"by": "renyi", "orders": [4.0, 8.0, 12.0]}, steps
    plan = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(steps[0], times=500)
    within = dpv.ApproxDP(epsilon=plan.epsilon(1e-6).upper + 1e-3, delta=1e-6)
    yield "500 subsampled, planned", within, {"plan": plan}, steps


def ratios() -> dict[str, Any]:
    import dpverify as dpv
    from dpverify.accounting.rules.zcdp import zcdp

    found = {}
    print(f"{'sequence':30}{'filter':>14}{'fixed':>14}{'ratio':>22}")
    for name, budget, options, mechanisms in sequences():
        guard = dpv.Filter(budget, dpv.Relation.ADD_REMOVE, **options)
        fixed = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
        for mechanism in mechanisms:
            guard.request(mechanism)
            fixed = fixed.compose(mechanism)
        needed: Any = guard.least_budget()
        if isinstance(needed, dpv.ZeroConcentratedDP):
            static: Any = zcdp(fixed.parts)
            ours, theirs = float(needed.rho), float(static.rho)
        else:
            ours = float(needed.epsilon)
            theirs = fixed.epsilon(getattr(needed, "delta", 0.0)).upper
        found[name] = {"filter": ours, "fixed": theirs, "ratio": ours / theirs}
        print(f"{name:30}{ours:>14.8g}{theirs:>14.8g}{ours / theirs:>22.16f}", flush=True)
    return found


def adversaries(interactions: int) -> dict[str, Any]:
    from tests.ledger.adversary import BUDGETS, Arena

    found: dict[str, Any] = {}
    for title, wrong in (("filters of the library", False), ("the wrong filter", True)):
        counts: collections.Counter[tuple[str, bool]] = collections.Counter()
        arenas = [
            seed
            for seed in range(ARENAS)
            if not wrong or "delta" in dir(BUDGETS[seed % len(BUDGETS)][0])
        ]
        each = max(1, -(-(interactions if not wrong else interactions // 10) // len(arenas)))
        start = time.process_time()
        reached: dict[str, float] = {}
        for seed in arenas:
            arena = Arena.drawn(seed, wrong=wrong)
            best = arena.play_best()
            name = f"{seed % len(BUDGETS)}: {best.budget} {BUDGETS[seed % len(BUDGETS)][1] or ''}"
            reached[name] = max(reached.get(name, 0.0), best.reached)
            for one in (best, *(arena.play(1_000_000 * seed + k) for k in range(each))):
                counts[one.strategy, one.overspent] += 1
        total, broken = counts.total(), sum(n for (_, bad), n in counts.items() if bad)
        print(
            f"{title}: {total:,} interactions, {broken:,} overspent, "
            f"{time.process_time() - start:.0f} s"
        )
        for strategy in sorted({name for name, _ in counts}):
            fine, bad = counts[strategy, False], counts[strategy, True]
            print(f"  {strategy:18}{fine + bad:>9,}{bad:>9,}", flush=True)
        for name, most in sorted(reached.items()):
            print(f"  the best reaches {most:.4f} of {name}")
        found[title] = {"interactions": total, "overspent": broken, "reached": reached}
    return found


def processes(seconds: float) -> dict[str, Any]:
    from tests.ledger.spenders import fight

    with tempfile.TemporaryDirectory() as folder:
        told = fight(Path(folder), spenders=8, seconds=seconds, kills=100, requests=2000)
    unknown = len(set(told.entries) - told.granted)
    print(
        f"8 spenders, {seconds:g} s, kills: {told.kills}; asked {len(told.asked):,}, granted "
        f"{len(told.granted):,} (+ {unknown} whose spender was killed before it was told), refused "
        f"{len(told.refused):,}; charged {len(told.entries):,}, share {told.share:.6g}; nothing "
        f"lost, nothing twice: {told.nothing_is_lost}"
    )
    return {"charged": len(told.entries), "share": told.share, "whole": told.nothing_is_lost}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure filters, odometers and the ledger.")
    parser.add_argument("parts", nargs="*", help="speed, ratios, adversaries, processes")
    parser.add_argument("--interactions", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    work: dict[str, Callable[[], dict[str, Any]]] = {
        "speed": speed,
        "ratios": ratios,
        "adversaries": lambda: adversaries(given.interactions),
        "processes": lambda: processes(given.seconds),
    }
    if unknown := set(given.parts) - set(work):
        parser.error(f"parts={sorted(unknown)} must be among: {', '.join(work)}")
    found = {}
    for name in given.parts or work:
        found[name] = work[name]()
        print()
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
