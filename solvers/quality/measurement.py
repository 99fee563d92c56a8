"""Measured excess risk beside its bound, over ε and n."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dpverify.errors import check_count, check_nonempty
from dpverify.guarantees import ApproxDP
from solvers.bounds import Data
from solvers.descent import Setting
from solvers.gradient_descent import GradientDescent
from solvers.plain_numbers import plain_arguments
from solvers.quality.excess_bounds import descent_excess
from solvers.quality.utility import excess_risks

DrawData: TypeAlias = Callable[[int, np.random.Generator], Data]
"""Features and labels of so many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The mean excess empirical risk of private fits, its standard error, and its bound."""

    epsilon: float
    records: int
    excess: float
    error: float
    bound: float


@plain_arguments
def measure_descent(  # noqa: PLR0913  # each is a choice of the experiment
    setting: Setting,
    draw: DrawData,
    *,
    budgets: Sequence[ApproxDP],
    records: Sequence[int],
    steps: int = 50,
    repeats: int = 200,
    seed: int = 0,
) -> list[Measured]:
    """Averaged noisy gradient descent for each budget and number of records.

    The data of each n are drawn once, and fitted `repeats` times for each budget. `setting` gives
    the rest; its `records` are replaced by n.
    """
    check_nonempty("budgets", budgets)
    check_nonempty("records", records)
    check_count("repeats", repeats)
    rng = np.random.default_rng(seed)
    found = []
    for count in records:
        here = replace(setting, records=count)
        data = draw(count, rng)
        for budget in budgets:
            fit = GradientDescent(here, budget=budget, steps=steps)
            fits = fit.sample(data, repeats, rng=rng)
            excess = excess_risks(here.loss, fits, data, here.domain, ridge=here.ridge)
            dimension = fits.shape[1]
            found.append(
                Measured(
                    epsilon=float(budget.epsilon),
                    records=count,
                    excess=float(excess.mean()),
                    error=float(excess.std() / math.sqrt(repeats)),
                    bound=descent_excess(
                        radius=here.radius(dimension),
                        second_moment=fit.second_moment(dimension),
                        iterates=steps + 1,
                    ),
                )
            )
    return found


@plain_arguments
def series(measured: Sequence[Measured]) -> dict[str, list[tuple[float, float, float]]]:
    """For each n its triples (ε, measured, bound): what `dpverify.reporting` draws.

    >>> one = Measured(epsilon=1.0, records=100, excess=0.1, error=0.01, bound=0.5)
    >>> series([one])
    {'n = 100': [(1.0, 0.1, 0.5)]}
    """
    found: dict[str, list[tuple[float, float, float]]] = {}
    for each in measured:
        triple = (each.epsilon, each.excess, each.bound)
        found.setdefault(f"n = {each.records:,}", []).append(triple)
    return found
