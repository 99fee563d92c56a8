"""Which ridge of private logistic regression does best on drawn data, by public numbers alone.

python benchmarks/ridges.py [--problems 40] [--seed 0]
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import expit
from tables import aligned

from dpverify import ApproxDP, PureDP, Relation
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from solvers import Bounds, Logistic, defaults
from solvers.privacy.noise import LinearNoise
from solvers.privacy.objective_rules import Setting

KINDS = ("census", "correlated", "mixture", "positive")
RECORDS = (200, 1000, 3000, 10_000, 30_000)
FEATURES = (2, 5, 10, 20, 50, 100, 200)
EPSILONS = (0.1, 0.5, 1.0, 4.0)
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
EDGES = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, math.inf)  # of n/(s·d)
NORM = math.hypot(1.0, defaults.INTERCEPT)
TESTED = 5000
FITS = 3

LEGEND = """\
accuracy of noise in the objective on fresh records, in percent, less that with the ridge which asks
for no number of records; three fits each, with the same directions of noise, and the standard error
over the problems. n/(s·d): records by the noise a coordinate and by the weights. Columns are
factors of that ridge; "default" is the ridge for a public number of records. (k): a budget can
afford so small a ridge in k of the cells only.
"""


@dataclass(frozen=True)
class Problem:
    """A two-class problem, and the budgets that it is fitted with."""

    kind: str
    records: int
    features: int
    relation: Relation
    budgets: tuple[PureDP | ApproxDP, ...]
    seed: int

    def draw(self) -> tuple[Floats, Floats]:
        """Rows of norm one and labels ±1: those to fit, and TESTED more."""
        rng = np.random.default_rng(self.seed)
        n, d = self.records + TESTED, self.features
        rows = _rows(self.kind, n, d, rng)
        if self.kind == "mixture":
            labels = np.where(rng.random(n) < rng.uniform(0.15, 0.85), 1.0, -1.0)
            rows += np.outer(labels, rng.normal(size=d) * rng.uniform(0.5, 3.0) / d**0.5)
            rows = _unit(rows)
        else:  # a linear model of all features, or of few
            rows = _unit(rows)
            share = rng.uniform(0.05, 0.2) if rng.random() < 0.5 else 1.0
            weights = np.zeros(d)
            informative = rng.choice(d, max(1, int(share * d)), replace=False)
            weights[informative] = rng.normal(size=len(informative))
            scores = rows @ weights
            scores *= rng.uniform(1.0, 5.0) / max(float(scores.std()), 1e-9)
            middle = np.quantile(scores, rng.uniform(0.15, 0.85))
            labels = np.where(rng.random(n) < expit(scores - middle), 1.0, -1.0)
        labels[rng.random(n) < rng.choice([0.0, 0.05, 0.1])] *= -1.0
        return rows, labels


def _rows(kind: str, n: int, d: int, rng: np.random.Generator) -> Floats:
    if kind == "census":
        return _census(n, d, rng)
    if kind == "correlated":
        turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
        found: Floats = rng.normal(size=(n, d)) * np.arange(1.0, d + 1) ** -rng.uniform() @ turned
        return found
    scales = rng.gamma(2.0, 0.5, d)
    drawn: Floats = rng.normal(size=(n, d)) if kind == "mixture" else rng.exponential(size=(n, d))
    return drawn * scales


def _census(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Numbers in [0, 1], and one column for each value of categories that a latent trait tilts."""
    rows, trait, first = np.zeros((n, d)), rng.normal(size=n), 0
    while first < d:
        width = min(d - first, int(rng.integers(2, 2 + min(40, max(2, d // 2)))))
        if width < 2 or rng.random() < 0.3:
            a, b = rng.uniform(0.5, 5.0, 2)
            rows[:, first] = rng.beta(a, b, size=n)
            first += 1
            continue
        odds = rng.permutation(np.arange(1.0, width + 1) ** -rng.uniform(0.5, 2.0))
        tilt = rng.normal(size=width) * rng.uniform()
        chances = np.log(odds) + np.outer(trait, tilt) + rng.gumbel(size=(n, width))
        rows[np.arange(n), first + chances.argmax(axis=1)] = 1.0
        first += width
    return rows


def _unit(rows: Floats) -> Floats:
    found: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found


def problems(count: int, seed: int) -> list[Problem]:
    rng = np.random.default_rng(seed)
    every = [kind for e in EPSILONS for kind in (PureDP(e), ApproxDP(e, 1e-5))]
    return [
        Problem(
            kind=KINDS[index % len(KINDS)],
            records=int(rng.choice(RECORDS)),
            features=int(rng.choice(FEATURES)),
            relation=Relation.REPLACE_ONE if rng.random() < 0.3 else Relation.ADD_REMOVE,
            budgets=tuple(every[i] for i in rng.choice(len(every), 4, replace=False)),
            seed=int(rng.integers(1 << 31)),
        )
        for index in range(count)
    ]


def minima(signed: Floats, ridges: Floats, linear: Floats) -> Floats:
    """argmin Σ ln(1 + e^(−⟨θ, yx⟩)) + λ‖θ‖²/2 + ⟨b, θ⟩ for each column, to a hundredth or so.

    All at once: accelerated steps under the largest Hessian that a logistic loss can have, ¼XᵀX.
    """
    rows = signed.astype(np.float32)
    values, basis = np.linalg.eigh((rows.T @ rows).astype(np.float64) / 4.0)
    scale = (1.0 / (np.maximum(values, 0.0)[:, None] + ridges)).astype(np.float32)
    basis, pull = basis.astype(np.float32), ridges.astype(np.float32)
    noise = linear.astype(np.float32)
    last = ahead = np.zeros(noise.shape, np.float32)
    pace = np.ones(len(ridges), np.float32)
    for _ in range(300):
        wrong = expit(-(rows @ ahead))
        move = basis @ (scale * (basis.T @ (pull * ahead + noise - rows.T @ wrong)))
        found = ahead - move
        longer = (1.0 + np.sqrt(1.0 + 4.0 * pace * pace)) / 2.0
        back = np.sum(move * (found - last), axis=0) > 0.0  # then the acceleration starts anew
        ahead = found + np.where(back, 0.0, (pace - 1.0) / longer) * (found - last)
        pace, last = np.where(back, 1.0, longer), found
        sizes = 0.01 + np.linalg.norm(found, axis=0)
        if np.all(np.linalg.norm(move, axis=0) < 2e-3 * sizes):
            break
    return last.astype(np.float64)


@lru_cache(maxsize=4096)
def noise_for(ridge: float, budget: PureDP | ApproxDP, relation: Relation) -> float | None:
    """The scale of the noise; None if the budget cannot afford so small a ridge."""
    bounds = Bounds(norm=NORM, labels=(-1.0, 1.0))
    setting = Setting(loss=Logistic(), bounds=bounds, ridge=ridge, relation=relation)
    try:
        if isinstance(budget, ApproxDP):
            return setting.gaussian_noise(budget)
        return setting.pure_noise(budget)
    except InvalidParameter:
        return None


@dataclass(frozen=True)
class Cell:
    """What was gained, for each factor and for the default; `ratio` is n/(s·d)."""

    problem: Problem
    ratio: float
    gains: Floats


def cells(problem: Problem) -> list[Cell]:
    rows, labels = problem.draw()
    longer = np.column_stack([rows, np.full(len(rows), defaults.INTERCEPT)]) * labels[:, None]
    fitted, fresh = longer[: problem.records], longer[problem.records :]
    d, rng = problem.features + 1, np.random.default_rng(problem.seed + 1)
    found = []
    for budget in problem.budgets:
        plain = defaults.ridge(budget, problem.relation, dimension=d, norm=NORM)
        informed = defaults.ridge(
            budget, problem.relation, dimension=d, norm=NORM, records=problem.records
        )
        ridges = [*(factor * plain for factor in FACTORS), informed]
        scales = [noise_for(ridge, budget, problem.relation) for ridge in ridges]
        drawn = LinearNoise(scale=1.0, gaussian=isinstance(budget, ApproxDP))
        shapes = drawn.draw_real(FITS, d, rng).T
        affordable = {i: scale for i, scale in enumerate(scales) if scale is not None}
        kept = list(affordable)
        linear = np.hstack([shapes * scale for scale in affordable.values()])
        points = minima(fitted, np.repeat([ridges[i] for i in kept], FITS), linear)
        shares = 100.0 * (fresh @ points > 0.0).mean(axis=0).reshape(-1, FITS).mean(axis=1)
        gains = np.full(len(ridges), np.nan)
        gains[kept] = shares - shares[kept.index(FACTORS.index(1.0))]
        noise = defaults.coordinate_noise(budget, problem.relation, d)
        found.append(Cell(problem, problem.records / (noise * d), gains))
    return found


def told(chosen: Sequence[Cell], column: int) -> str:
    """The mean gain, and its standard error over problems."""
    gains: dict[int, list[float]] = {}
    for cell in chosen:
        if not math.isnan(cell.gains[column]):
            gains.setdefault(cell.problem.seed, []).append(float(cell.gains[column]))
    count = sum(map(len, gains.values()))
    if len(gains) < 3:
        return "–"
    mean = sum(map(sum, gains.values())) / count
    error = math.sqrt(sum((sum(g) - mean * len(g)) ** 2 for g in gains.values())) / count
    return f"{mean:+.2f} ±{error:.2f}" + (f" ({count})" if count < len(chosen) else "")


def table(found: Sequence[Cell]) -> str:
    header = ("n/(s·d)", "cells", *(f"{factor:g}" for factor in FACTORS), "default")
    groups = {
        f"{low:g} to {high:g}": [cell for cell in found if low <= cell.ratio < high]
        for low, high in pairwise(EDGES)
    }
    groups |= {kind: [cell for cell in found if cell.problem.kind == kind] for kind in KINDS}
    groups["all"] = list(found)
    return aligned(
        header,
        [
            (name, str(len(group)), *(told(group, i) for i in range(len(FACTORS) + 1)))
            for name, group in groups.items()
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--problems", type=int, default=40, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the problems (%(default)s)")
    given = parser.parse_args(arguments)
    found = [cell for each in problems(given.problems, given.seed) for cell in cells(each)]
    print(LEGEND)
    print(table(found))


if __name__ == "__main__":
    main()
