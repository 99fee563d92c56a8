"""Private learning beside its peers, on the same splits: who is first in each cell.

    python benchmarks/learning.py [--part breast,wine] [--epsilons 1] [--splits 5] [--seconds 600]

A cell is a data set, ε, and a pure budget or δ = 1e-5; its figure is the mean over seeded splits of
80 % to 20 %, with its standard error: accuracy in percent, or 100·R² for regressions.
Standardization is by public numbers and the same for all. dpverify has its defaults, with the
number of records declared, which Opacus is told, too. Every result is a line of JSON in FILE, and
what is there is not computed again: a run that `--seconds` ends goes on when it is started again.

Who is compared with whom: Opacus and AdaSSP count added and removed records, and diffprivlib
replaced ones, which takes twice the noise; so dpverify stands beside it with replaced records, too.
"best of five" are five step sizes of Opacus of which the best is chosen on the test records, for
each cell: OPTIMISTIC, since no honest user can do that, and no part of the verdict.
"""

import argparse
import json
import math
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import learning_data
import learning_peers
import numpy as np
from adult_data import ADULT
from environment import say
from learning_data import Data
from sklearn.linear_model import LinearRegression, LogisticRegression
from tables import aligned

import solvers
from dpverify import ApproxDP, PureDP, Relation

EPSILONS = (0.1, 0.5, 1.0, 4.0)
DELTA = 1e-5
RATES = (0.25, 1.0, 4.0, 16.0, 64.0)
SEEDS = {"adult": 5, "randhie": 10, "digits": 10}
MANY = 20  # seeds for the other data
FEWER = {("adult", "Opacus"): 3}  # seeds of what takes minutes each
RULE = {True: 4.0, False: 1.0}  # the step size for classes and for squares, fixed in advance
OURS, REPLACED = "dpverify", "dpverify, replace-one"
LIMIT = 3600.0
ROUNDS: tuple[Callable[[str], bool], ...] = (  # what decides nothing comes last
    lambda tool: tool.startswith(OURS),
    lambda tool: not tool.startswith(OURS) and "rate" not in tool,
    lambda tool: "rate" in tool,
)


@dataclass(frozen=True)
class Cell:
    """One question, to be answered by every tool that can."""

    data: str
    pure: bool
    epsilon: float

    @property
    def budget(self) -> PureDP | ApproxDP:
        return PureDP(epsilon=self.epsilon) if self.pure else ApproxDP(self.epsilon, DELTA)

    def tools(self, *, classes: int) -> tuple[str, ...]:
        if self.pure:
            return (OURS, REPLACED, "diffprivlib")
        return (OURS, *(() if classes else ("AdaSSP",)), *opacus(classes=classes))


def opacus(*, classes: int) -> tuple[str, ...]:
    """Opacus with the step size that the rule gives, and with the other four."""
    others = (rate for rate in RATES if rate != RULE[classes > 0])
    return ("Opacus", *(f"Opacus, rate {rate:g}" for rate in others))


class Results:
    """One line of JSON for each cell, tool and seed, in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[tuple[Cell, str], dict[int, float]] = defaultdict(dict)
        lines = path.read_text().splitlines() if path.exists() else []
        for line in map(json.loads, lines):
            cell = Cell(line["data"], line["pure"], line["epsilon"])
            self.found[cell, line["tool"]][line["seed"]] = line["score"]

    def add(self, cell: Cell, tool: str, seed: int, score: float) -> None:
        self.found[cell, tool][seed] = score
        line = {
            "data": cell.data,
            "pure": cell.pure,
            "epsilon": cell.epsilon,
            "tool": tool,
            "seed": seed,
            "score": score,
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def missing(self, cell: Cell, tool: str, seeds: range) -> list[int]:
        return [seed for seed in seeds if seed not in self.found[cell, tool]]


def ours(data: Data, cell: Cell, tool: str, seed: int) -> float:
    """One fit with defaults; what is declared are the bounds, the classes and the records."""
    order = data.split(seed)
    train, test = order[: data.cut], order[data.cut :]
    given = {
        "budget": cell.budget,
        "norm_bound": 1.0,
        "clip": True,  # rows of norm one are longer by a rounding error
        "relation": Relation.REPLACE_ONE if tool == REPLACED else Relation.ADD_REMOVE,
        "records": data.cut,
        "random_state": seed,
    }
    if data.classes:
        model = solvers.PrivateLogisticRegression(classes=range(data.classes), **given)
    else:
        model = solvers.PrivateLinearRegression(label_bound=1.0, **given)
    model.fit(data.rows[train], data.targets[train])
    return float(model.score(data.rows[test], data.targets[test]))


def peer(data: Data, cell: Cell, tool: str, seeds: Sequence[int]) -> list[float]:
    """All seeds in one process of the peer."""
    script = {"diffprivlib": "with_diffprivlib.py", "AdaSSP": "with_adassp.py"}
    setting = {"rate": float(tool.rsplit(maxsplit=1)[-1])} if "rate" in tool else {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.npz"
        orders = np.array([data.split(seed) for seed in seeds])
        np.savez(file, rows=data.rows, labels=data.targets, orders=orders)
        case = {
            "file": str(file),
            "seeds": list(seeds),
            "classes": data.classes,
            "epsilon": cell.epsilon,
            "delta": DELTA,
        }
        return learning_peers.accuracies(script.get(tool, "with_opacus.py"), case, setting, LIMIT)


@dataclass(frozen=True)
class Plan:
    """Which ε are asked for, on how many splits at most, and until when."""

    epsilons: Sequence[float] = EPSILONS
    splits: int = MANY
    until: float = math.inf

    def seeds(self, data: Data, tool: str) -> range:
        many = SEEDS.get(data.name, MANY)
        return range(min(self.splits, FEWER.get((data.name, tool.split(",", maxsplit=1)[0]), many)))


def cells(names: Sequence[str], epsilons: Sequence[float] = EPSILONS) -> list[Cell]:
    return [
        Cell(name, pure, epsilon)
        for name in names
        for pure in (True, False)
        for epsilon in epsilons
    ]


def fill(results: Results, data: Data, tools: Callable[[str], bool], plan: Plan) -> bool:
    """Compute what is missing of one data set; whether time was left for all of it."""
    for cell, tool in asked(data, tools, plan):
        seeds = plan.seeds(data, tool)
        left = results.missing(cell, tool, seeds)
        if not left:
            continue
        if time.monotonic() > plan.until:
            return False
        if tool.startswith(OURS):
            for seed in left:
                results.add(cell, tool, seed, ours(data, cell, tool, seed))
        else:
            for seed, score in zip(left, peer(data, cell, tool, left), strict=False):
                results.add(cell, tool, seed, score)
        say(f"{data.name}, {budget_words(cell)}, {tool}: {told(results, cell, tool)}")
    return True


def asked(data: Data, tools: Callable[[str], bool], plan: Plan) -> Iterator[tuple[Cell, str]]:
    """Every cell of a data set, with each of the tools that are wanted."""
    for cell in cells([data.name], plan.epsilons):
        for tool in filter(tools, cell.tools(classes=data.classes)):
            yield cell, tool


def summary(scores: dict[int, float]) -> tuple[float, float]:
    """Mean and standard error, in percent."""
    values = 100.0 * np.array(list(scores.values()))
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.nan
    return float(values.mean()), error


def told(results: Results, cell: Cell, tool: str) -> str:
    scores = results.found.get((cell, tool), {})
    if not scores:
        return "–"
    mean, error = summary(scores)
    return f"{mean:.1f} ±{error:.1f}" if mean > -1000.0 else f"{mean:.0e}"


def best_rate(results: Results, cell: Cell) -> str:
    """The best of five, if all of them were measured."""
    names = opacus(classes=cell.data not in learning_data.REGRESSIONS)
    if not all(results.found.get((cell, name)) for name in names):
        return "–"
    best = max(names, key=lambda name: summary(results.found[cell, name])[0])
    return f"{told(results, cell, best)} ({len(results.found[cell, best])} splits)"


def verdict(results: Results, cell: Cell) -> str:
    """Whether dpverify is first among those who count the same neighbors and choose nothing."""
    mine, rivals = (REPLACED, ("diffprivlib",)) if cell.pure else (OURS, ("AdaSSP", "Opacus"))
    scores = results.found.get((cell, mine), {})
    means = {
        name: summary(results.found[cell, name])[0]
        for name in rivals
        if results.found.get((cell, name))
    }
    if not scores or not means:
        return "–"
    mean, error = summary(scores)
    name = max(means, key=lambda each: means[each])
    gap = means[name] - mean
    if gap <= 0.0:
        return "first"
    return f"within a standard error of {name}" if gap <= error else f"{name} first by {gap:.1f}"


def budget_words(cell: Cell) -> str:
    return f"ε = {cell.epsilon:g}, " + ("pure" if cell.pure else f"δ = {DELTA:g}")


def table(results: Results, names: Sequence[str]) -> str:
    header = (
        *("data", "budget", OURS, "replace-one", "diffprivlib", "AdaSSP", "Opacus"),
        *("best of five (optimistic)", "dpverify is"),
    )
    rows = [
        (
            cell.data,
            budget_words(cell),
            *(told(results, cell, t) for t in (OURS, REPLACED, "diffprivlib", "AdaSSP", "Opacus")),
            best_rate(results, cell),
            verdict(results, cell),
        )
        for cell in cells(names)
        if results.found.get((cell, OURS))
    ]
    return aligned(header, rows, words=2)


def not_private(data: Data) -> float:
    """What scikit-learn reaches without privacy, on three splits."""
    found = []
    for seed in range(3):
        order = data.split(seed)
        train, test = order[: data.cut], order[data.cut :]
        model = LogisticRegression(C=10.0, max_iter=2000) if data.classes else LinearRegression()
        model.fit(data.rows[train], data.targets[train])
        found.append(100.0 * model.score(data.rows[test], data.targets[test]))
    return float(np.mean(found))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default=",".join(learning_data.NAMES), help="data, by commas")
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)), help="ε, by commas")
    parser.add_argument("--splits", type=int, default=MANY, help="at most so many of each")
    parser.add_argument("--seconds", type=float, default=math.inf, help="start nothing after that")
    parser.add_argument("--results", type=Path, default=Path("learning.jsonl"), metavar="FILE")
    parser.add_argument("--adult", type=Path, default=ADULT, help="adult.csv.gz")
    parser.add_argument("--without-peers", action="store_true", help="dpverify alone")
    parser.add_argument("--table", action="store_true", help="only print what is in FILE")
    given = parser.parse_args(arguments)
    names = [name for name in given.part.split(",") if name in learning_data.NAMES]
    plan = Plan(
        epsilons=[float(each) for each in given.epsilons.split(",")],
        splits=given.splits,
        until=time.monotonic() + given.seconds,
    )
    results = Results(given.results)
    if not given.table:
        warnings.simplefilter("ignore")
        if not given.without_peers:
            learning_peers.make()
        loaded = {name: learning_data.load(name, given.adult) for name in names}
        for name, data in loaded.items():
            size = f"{data.rows.shape}, not private {not_private(data):.1f}" if data else "missing"
            say(f"{name}: {size}")
        rounds = ROUNDS[:1] if given.without_peers else ROUNDS
        pairs = [(data, tools) for tools in rounds for data in loaded.values() if data]
        if not all(fill(results, data, tools, plan) for data, tools in pairs):
            say("the time is up; the same command goes on")
    print(table(results, names))


if __name__ == "__main__":
    main()
