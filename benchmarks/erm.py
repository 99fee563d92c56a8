"""Private logistic regression: solves per second beside cvxpy, fits beside scikit-learn.

python benchmarks/erm.py [--draws 10000] [--quick] [--json FILE]
"""

import argparse
import json
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp
import environment
import numpy as np
from sklearn.linear_model import LogisticRegression
from tables import aligned

from dpverify.arrays import Floats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dpverify import ApproxDP, PureDP, Relation
from solvers import PrivateLogisticRegression
from solvers.losses import Logistic
from solvers.minimize.certificate import gradient_bounds
from solvers.minimize.newton import minimize
from solvers.minimize.newton_large import minimize_large
from solvers.minimize.objective import Objective
from solvers.objective_perturbation import _noise  # calibrations are remembered

MANY = ((100, 2), (300, 5), (1000, 10))
LARGE = ((100_000, 100), (1_000_000, 10), (1000, 5000))
QUICK_LARGE = ((20_000, 20),)
RIDGE = 0.5
NOISE = 4.0  # σ of b: about what ε = 1, δ = 1e-5 asks for

LEGEND = """\
solves: minima of Σ ln(1 + e^(−y⟨x, θ⟩)) + (λ/2)‖θ‖² + ⟨b, θ⟩ for fresh normal b, a second of one
core. cvxpy re-solves one parametrized program (DPP) with Clarabel. largest ‖∇J‖: for dpverify a
certified bound over all draws, its rounding included; for cvxpy what floats say.
seconds: of the processor, best of 3, taken in turns. memory: peak while fitting, in multiples of
the data. whole fits: PrivateLogisticRegression with a fresh calibration of its noise, checks of all
records, draws and certificate, beside LogisticRegression; the median of 5, taken in turns.
"""


@dataclass(frozen=True)
class Rate:
    records: int
    features: int
    ours: float
    cvxpy: float
    our_gradient: float
    cvxpy_gradient: float

    @property
    def ratio(self) -> float:
        return self.ours / self.cvxpy


@dataclass(frozen=True)
class Fit:
    records: int
    features: int
    ours: float
    certifying: float
    sklearn: float
    our_gradient: float
    sklearn_gradient: float
    memory: float

    @property
    def ratio(self) -> float:
        return (self.ours + self.certifying) / self.sklearn


@dataclass(frozen=True)
class Whole:
    records: int
    features: int
    budget: str
    ours: float
    sklearn: float
    ratio: float


def data(n: int, d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, d))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    odds = np.exp(-3.0 * features @ rng.normal(size=d))
    return features, np.where(rng.random(n) * (1.0 + odds) < 1.0, 1.0, -1.0)


def rate(n: int, d: int, draws: int, solves: int) -> Rate:
    """Both solvers on one dataset, over fresh noise."""
    features, labels = data(n, d)
    objective = Objective(Logistic(), features, labels, RIDGE)
    rng = np.random.default_rng(1)
    noise = NOISE * rng.normal(size=(draws, d))
    minimize(objective, noise[:100])
    seconds, points = timed(lambda: minimize(objective, noise))
    gradient = float(gradient_bounds(objective, points, noise).max())
    slow, found = by_cvxpy(features, labels, noise[:solves])
    raw = objective.gradients(np.array(found), noise[:solves])
    return Rate(
        records=n,
        features=d,
        ours=draws / seconds,
        cvxpy=solves / slow,
        our_gradient=gradient,
        cvxpy_gradient=float(np.linalg.norm(raw, axis=1).max()),
    )


def by_cvxpy(features: Floats, labels: Floats, noise: Floats) -> tuple[float, list[Floats]]:
    theta, b = cp.Variable(features.shape[1]), cp.Parameter(features.shape[1])
    losses = cp.sum(cp.logistic(-cp.multiply(labels, features @ theta)))
    goal = losses + 0.5 * RIDGE * cp.sum_squares(theta) + b @ theta
    program = cp.Problem(cp.Minimize(goal))
    found: list[Floats] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b.value = noise[0]
        program.solve(solver=cp.CLARABEL)  # compiles
        start = time.process_time()
        for row in noise:
            b.value = row
            program.solve(solver=cp.CLARABEL)
            found.append(np.array(theta.value))
    return time.process_time() - start, found


def fit(n: int, d: int) -> Fit:
    """One fit without noise, beside scikit-learn's with the same penalty."""
    features, labels = data(n, d)
    objective, none = Objective(Logistic(), features, labels, 1.0), np.zeros(d)
    peer = LogisticRegression(C=1.0, fit_intercept=False)
    ours, theirs = [], []
    for _ in range(3):
        ours.append(timed(lambda: minimize_large(objective, none)))
        theirs.append(timed(lambda: peer.fit(features, labels)))
    point = ours[0][1]
    certifying, bound = timed(lambda: gradient_bounds(objective, point[None], none[None])[0])
    return Fit(
        records=n,
        features=d,
        ours=min(seconds for seconds, _ in ours),
        certifying=certifying,
        sklearn=min(seconds for seconds, _ in theirs),
        our_gradient=float(bound),
        sklearn_gradient=float(np.linalg.norm(objective.gradients(peer.coef_, none[None]))),
        memory=1.0 + peak(lambda: minimize_large(objective, none)) / features.nbytes,
    )


def whole(n: int, d: int, budget: PureDP | ApproxDP) -> Whole:
    """All that a private fit does, beside scikit-learn's, in one process."""
    features, labels = data(n, d)
    model = PrivateLogisticRegression(
        budget=budget,
        norm_bound=1.0,
        clip=True,  # rows of norm one are longer by a rounding error
        relation=Relation.ADD_REMOVE,
        classes=(-1, 1),
        method="objective",
    )
    peer = LogisticRegression()
    pairs = []
    for _ in range(6):
        _noise.cache_clear()
        mine, _ = timed(lambda: model.fit(features, labels))
        pairs.append((mine, timed(lambda: peer.fit(features, labels))[0]))
    ours, theirs = np.array(pairs[1:]).T  # the first one imports and compiles
    return Whole(
        records=n,
        features=d,
        budget="pure" if isinstance(budget, PureDP) else f"δ = {budget.delta:g}",
        ours=float(np.median(ours)),
        sklearn=float(np.median(theirs)),
        ratio=float(np.median(ours / theirs)),
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def peak(work: Callable[[], Any]) -> int:
    """The most bytes that `work` had allocated at once."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def rates_table(rates: Sequence[Rate]) -> str:
    header = ("n, d", "dpverify/s", "cvxpy/s", "ratio", "‖∇J‖ dpverify", "‖∇J‖ cvxpy")
    rows = [
        (
            f"{r.records}, {r.features}",
            f"{r.ours:,.0f}",
            f"{r.cvxpy:.1f}",
            f"{r.ratio:.0f}×",
            f"≤ {r.our_gradient:.1e}",
            f"{r.cvxpy_gradient:.1e}",
        )
        for r in rates
    ]
    return aligned(header, rows)


def fits_table(fits: Sequence[Fit]) -> str:
    header = (
        *("n, d", "dpverify s", "certificate s", "sklearn s", "ratio"),
        *("‖∇J‖ dpverify", "‖∇J‖ sklearn", "memory"),
    )
    rows = [
        (
            f"{f.records}, {f.features}",
            f"{f.ours:.3f}",
            f"{f.certifying:.3f}",
            f"{f.sklearn:.3f}",
            f"{f.ratio:.2f}×",
            f"≤ {f.our_gradient:.1e}",
            f"{f.sklearn_gradient:.1e}",
            f"{f.memory:.2f}×",
        )
        for f in fits
    ]
    return aligned(header, rows)


def wholes_table(wholes: Sequence[Whole]) -> str:
    header = ("n, d", "budget", "whole fit s", "sklearn s", "ratio")
    rows = [
        (
            f"{w.records}, {w.features}",
            w.budget,
            f"{w.ours:.3f}",
            f"{w.sklearn:.3f}",
            f"{w.ratio:.2f}×",
        )
        for w in wholes
    ]
    return aligned(header, rows, words=2)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="noise vectors (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run?")
    parser.add_argument("--full", action="store_true", help="as the other tables; changes nothing")
    parser.add_argument("--time-limit", type=float, help="as the other tables; changes nothing")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results there")
    given = parser.parse_args(arguments)
    solves = 3 if given.quick else 30
    draws = min(given.draws, 200) if given.quick else given.draws
    rates = [rate(n, d, draws, solves) for n, d in MANY]
    print(LEGEND)
    print(rates_table(rates))
    fits = [fit(n, d) for n, d in (QUICK_LARGE if given.quick else LARGE)]
    print()
    print(fits_table(fits))
    size = QUICK_LARGE[0] if given.quick else LARGE[-1]
    wholes = [whole(*size, budget) for budget in (ApproxDP(1.0, 1e-5), PureDP(1.0))]
    print()
    print(wholes_table(wholes))
    if given.json:
        found = {
            "environment": environment.description(),
            "rates": [asdict(r) | {"ratio": r.ratio} for r in rates],
            "fits": [asdict(f) | {"ratio": f.ratio} for f in fits],
            "whole fits": [asdict(w) for w in wholes],
        }
        given.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
