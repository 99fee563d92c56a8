"""Curves of a composition as arrays of lower and upper bounds: profile, trade-off, growth."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.parts import Part
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, as_count, check_between

_MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Curve:
    """At every x, the exact value is between `lower` and `upper`."""

    x: Floats
    lower: Floats
    upper: Floats


@no_games()
def profile(accountant: Accountant, epsilons: ArrayLike, *, tolerance: float = 1e-2) -> Curve:
    """δ at each ε; `tolerance` is relative.

    >>> from dpverify.guarantees import PureDP
    >>> from dpverify.neighbors import Relation
    >>> one = Accountant(relation=Relation.ADD_REMOVE).compose(PureDP(epsilon=math.log(3)))
    >>> profile(one, [0.0, math.log(2), 2.0]).upper.round(12).tolist()
    [0.5, 0.25, 0.0]
    """
    x = _sorted("epsilons", epsilons)
    found = [accountant.delta(float(epsilon), tolerance=tolerance) for epsilon in x]
    return Curve(x, np.array([b.lower for b in found]), np.array([b.upper for b in found]))


@no_games()
def trade_off(
    accountant: Accountant,
    false_alarms: ArrayLike,
    *,
    points: int = 200,
    tolerance: float = 1e-2,
) -> Curve:
    """The attacker's least miss rate at each false-alarm rate, in the worse direction.

    By duality it is the supremum over ε ≥ 0 of 1 − δ(ε) − e^ε·α and of e^(−ε)·(1 − δ(ε) − α).
    Every ε gives a lower bound; between two of a grid, δ is at least its value at the larger one,
    which gives the upper bound. [DRS22 Prop. 6]
    """
    alpha = _sorted("false_alarms", false_alarms)
    check_between("false_alarms", float(alpha[-1]), 0.0, 1.0)
    points = as_count("points", points, most=_MOST_POINTS)
    highest = min(accountant.epsilon(1e-9, tolerance=0.1).upper, 700.0)
    # Most of the curve is decided at small ε, where δ is large.
    middle = min(accountant.epsilon(0.02, tolerance=0.1).upper, highest)
    near, far = np.linspace(0.0, middle, points), np.linspace(middle, highest, points // 4 + 1)
    grid = np.unique(np.append(near, far))
    deltas = profile(accountant, grid, tolerance=tolerance)
    lower = _supremum(grid, deltas.upper, alpha)
    # The last cell reaches to infinity, where nothing is left but the singular mass.
    rest = accountant.delta(math.inf).lower
    upper = _supremum(grid, np.append(deltas.lower[1:], rest), alpha)
    return Curve(alpha, np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0 - alpha))


def _supremum(epsilon: Floats, delta: Floats, alpha: Floats) -> Floats:
    """Max over ε of both dual lines; both fall in ε and in δ."""
    steep = 1.0 - delta[:, None] - np.exp(epsilon)[:, None] * alpha
    flat = np.exp(-epsilon)[:, None] * np.maximum(1.0 - delta[:, None] - alpha, 0.0)
    best: Floats = np.maximum(steep, flat).max(axis=0)
    return best


@no_games()
def growth(
    accountant: Accountant, delta: float, *, points: int = 12, tolerance: float = 1e-2
) -> dict[str, Curve]:
    """ε at δ against the number of runs, for every rule that applies to all of them.

    Each part's count grows in proportion; x is the number of runs in all.
    """
    points = as_count("points", points, most=_MOST_POINTS)
    largest = max(part.times for part in accountant.parts)
    shares = np.unique(np.ceil(np.geomspace(1, largest, points))) / largest
    tables = [
        (_runs(grown), grown.compare(delta=delta, tolerance=tolerance))
        for grown in (_share(accountant, float(share)) for share in shares)
    ]
    names = [row.rule for row in tables[0][1].rows]
    x = np.array([runs for runs, _ in tables], dtype=float)
    curves = {}
    for name in names:
        rows = [row for _, table in tables for row in table.rows if row.rule == name]
        if len(rows) == len(tables):
            lower = np.array([row.bracket.lower if row.exact else 0.0 for row in rows])
            curves[name] = Curve(x, lower, np.array([row.upper for row in rows]))
    return curves


def _share(accountant: Accountant, share: float) -> Accountant:
    grown = Accountant(relation=accountant.relation)
    for part in accountant.parts:
        grown = grown.extended(Part(part.seen, max(1, math.ceil(part.times * share)), part.label))
    return grown


def _runs(accountant: Accountant) -> int:
    return sum(part.times for part in accountant.parts)


def _sorted(name: str, values: ArrayLike) -> Floats:
    """The values as a sorted array; raise for anything but non-negative numbers."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or np.isnan(array).any() or (array < 0).any():
        raise InvalidParameter(
            f"{name}={values!r} must be a list of non-negative numbers, not empty"
        )
    return np.sort(array)
