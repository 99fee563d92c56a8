"""Which method of a private classifier does best on drawn data: the table behind method="auto".

python benchmarks/methods.py [--problems 40] [--seed 0] [--json FILE]
"""

import argparse
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import environment
import numpy as np
from tables import aligned

from dpverify import ApproxDP, PureDP, Relation
from dpverify.arrays import Floats
from solvers import Descent, PrivateClassifier, defaults

RELATION = Relation.REPLACE_ONE  # the last iterate alone has no claim for any other
RECORDS = (300, 1000, 3000, 10_000)
FEATURES = (3, 8, 20, 50, 100)
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
LOSSES = ("logistic", "huber-hinge")
SHARES = (0.25, 1.0, 4.0)  # of a method's own ridge
STEPS = (50, 400, 1500)  # to the last iterate
OWN = ("auto", "objective", "gradient")  # with their own settings
TESTED = 4000
FITS = 2
NEAR = 0.5  # percent: less than that ahead is not counted

LEGEND = """\
accuracy on fresh records, mean over the problems, two fits each; records are replaced, as the last
iterate asks for, and how many there are is public. auto: objective or gradient, as method="auto"
chooses. output, last: the setting that is best on average over these very problems, so told too
well: ridges of 1/4, 1 and 4 times its own for output perturbation; for the last iterate 50, 400
and 1,500 steps of 1/(smoothness + ridge), at 1/4 of the objective's ridge and all of it.
less auto: the mean difference, with its standard error; ahead: on how many problems by half a
percent.
"""


@dataclass(frozen=True)
class Problem:
    """A two-class problem: how it is drawn, and what a fit may cost."""

    kind: str
    records: int
    features: int
    epsilon: float
    pure: bool
    loss: str
    seed: int

    @property
    def budget(self) -> PureDP | ApproxDP:
        return PureDP(self.epsilon) if self.pure else ApproxDP(self.epsilon, 1e-5)

    def draw(self) -> tuple[Floats, Floats]:
        """Rows of norm one and labels ±1: those to fit, and TESTED more."""
        rng = np.random.default_rng(self.seed)
        n, d = self.records + TESTED, self.features
        labels = np.where(rng.random(n) < rng.uniform(0.25, 0.75), 1.0, -1.0)
        if self.kind == "mixture":
            center = rng.normal(size=d) * rng.uniform(0.5, 2.0) / d**0.5
            rows = rng.normal(size=(n, d)) * rng.gamma(2.0, 0.5, d) + np.outer(labels, center)
        elif self.kind == "categories":  # one of several values in each of some columns
            width = min(d, 5)
            odds = rng.dirichlet(np.ones(width), size=(2, d // width))
            rows = np.zeros((n, d))
            for column in range(d // width):
                for side, sign in enumerate((-1.0, 1.0)):
                    where = np.flatnonzero(labels == sign)
                    values = rng.choice(width, size=len(where), p=odds[side, column])
                    rows[where, column * width + values] = 1.0
        else:  # positive, with a long tail
            scales = rng.gamma(2.0, 0.5, d) * np.exp(np.outer(labels, rng.normal(size=d)) * 0.3)
            rows = rng.exponential(size=(n, d)) * scales
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows, labels


def problems(count: int, seed: int) -> list[Problem]:
    rng = np.random.default_rng(seed)
    return [
        Problem(
            kind=("mixture", "categories", "positive")[index % 3],
            records=int(rng.choice(RECORDS)),
            features=int(rng.choice(FEATURES)),
            epsilon=float(rng.choice(EPSILONS)),
            pure=bool(rng.random() < 0.5),
            loss=LOSSES[rng.integers(2)],
            seed=int(rng.integers(1 << 31)),
        )
        for index in range(count)
    ]


def settings(problem: Problem) -> dict[str, list[tuple[str, dict[str, object]]]]:
    """The methods, and for each the settings that are tried, its own first."""
    d = problem.features + 1
    longest = 1.0 + defaults.INTERCEPT**2
    given = {"dimension": d, "norm": longest**0.5}
    joint = defaults.ridge(problem.budget, RELATION, **given)
    alone = defaults.output_ridge(
        problem.budget, RELATION, **given, lipschitz=longest**0.5,
        sharpness=0.25 if problem.loss == "logistic" else 1.0, records=problem.records,
    )  # fmt: skip
    found: dict[str, list[tuple[str, dict[str, object]]]] = {
        "auto": [("auto", {})],
        "objective": [("objective", {})],
        "gradient": [("gradient", {})],
        "output": [("output", {"ridge": share * alone}) for share in SHARES],
    }
    if not problem.pure:
        found["last"] = [
            ("gradient", {"ridge": share * joint,
                          "descent": Descent(accounting="last", steps=steps)})
            for steps in STEPS for share in SHARES[:2]
        ]  # fmt: skip
    return found


def accuracies(problem: Problem) -> dict[str, list[float]]:
    """The mean accuracy of each setting of each method."""
    rows, labels = problem.draw()
    cut = problem.records
    found = {}
    for name, tried in settings(problem).items():
        found[name] = [
            float(
                np.mean(
                    [
                        PrivateClassifier(
                            loss=problem.loss, budget=problem.budget, norm_bound=1.0, clip=True,
                            relation=RELATION, classes=(-1, 1), method=method,
                            records=problem.records, random_state=fit, **options,
                        ).fit(rows[:cut], labels[:cut]).score(rows[cut:], labels[cut:])
                        for fit in range(FITS)
                    ]
                )
            )
            for method, options in tried
        ]  # fmt: skip
    return found


def row_of(name: str, results: Sequence[tuple[Problem, dict[str, list[float]]]]) -> list[str]:
    """One line of the table."""
    told = [name, str(len(results))]
    auto = np.array([found["auto"][0] for _, found in results])
    told += [f"{100.0 * np.mean([found[m][0] for _, found in results]):.1f}" for m in OWN]
    for method in ("output", "last"):
        if not all(method in found for _, found in results):
            told += ["–", "–", "–"]
            continue
        scores = np.array([found[method] for _, found in results])
        best = scores[:, scores.mean(axis=0).argmax()]
        apart = 100.0 * (best - auto)
        error = apart.std(ddof=1) / len(apart) ** 0.5 if len(apart) > 1 else np.nan
        told += [f"{100.0 * best.mean():.1f}", f"{apart.mean():+.1f} ±{error:.1f}"]
        told.append(str(np.count_nonzero(apart > NEAR)))
    return told


def table(results: Sequence[tuple[Problem, dict[str, list[float]]]]) -> str:
    header = (
        *("problems", "count", *OWN, "output", "less auto", "ahead"),
        *("last", "less auto", "ahead"),
    )
    groups = {
        f"{'pure' if pure else 'δ = 1e-5'}, {loss}": [
            pair for pair in results if pair[0].pure is pure and pair[0].loss == loss
        ]
        for pure in (True, False)
        for loss in LOSSES
    }
    return aligned(header, [row_of(name, pairs) for name, pairs in groups.items() if pairs])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", type=int, default=40, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the problems (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results there")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    results = [(each, accuracies(each)) for each in problems(given.problems, given.seed)]
    print(LEGEND)
    print(table(results))
    if given.json:
        found = {
            "environment": environment.description(),
            "results": [asdict(each) | {"accuracies": scores} for each, scores in results],
        }
        given.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
