"""Group privacy: bounds for several records that change together.

Datasets that differ in k records are k steps apart, each of which keeps to the profile δ. For every
event E and every split ε = ε₁ + … + ε_k into real numbers,

    P₀(E) ≤ δ(ε₁) + e^ε₁·P₁(E) ≤ … ≤ Σᵢ e^(ε₁ + … + εᵢ₋₁)·δ(εᵢ) + e^ε·P_k(E),

so the sum bounds the group's δ at ε. The best split is searched on a grid of ε: whichever is found
is a bound. The best over all splits is that of the trade-off curve, k times on itself, and no less
holds in general. [DRS22 Thm 2.14]
"""

from functools import lru_cache

import numpy as np
from flint import ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, probability_above
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.points import PointsPair
from dpverify.theorems import GROUP_PRIVACY

_CELLS = 1024  # of the range of ε, on either side of 0
_LEAST = 1e-18  # the profile is followed down to about here
_WIDEST = 600.0
_BITS = 256
_ROUNDING = 1e-12  # of one sum in floats, relative, with much room


def group_bound(pair: Pair, size: int, *, above: Pair | None = None) -> Pair:
    """A bound for a group of `size` records if `pair` bounds each record in both directions.

    `above` is a pair that dominates it, where that one's profile is known sooner.
    """
    (lower, *_) = pair.instances
    points = group_points((above or pair).either_way, size)
    return BetweenPair(points, lower, theorem=GROUP_PRIVACY)


@lru_cache(maxsize=64)
def group_points(pair: Pair, size: int) -> PointsPair:
    """The symmetric pair from the best splits of ε, at evenly spaced ε."""
    reach = max(pair.epsilon(min(_LEAST + 2.0 * pair.singular_mass, 1.0)), 1e-9)
    most = pair.max_loss if pair.max_loss <= 1.5 * reach else reach
    # A whole number of cells for each step, so that the greatest losses add up on a node.
    cells = size * max(round(_CELLS / size), 1) if size <= _CELLS else _CELLS
    # A little more than the sum, and looked up a little below: whatever the floats, the greatest
    # loss of one step is not above its node.
    nodes = np.linspace(0.0, min(size * max(most, 1e-9) * (1.0 + 1e-13), _WIDEST), cells + 1)
    deltas = np.array([_delta(pair, float(node) * (1.0 - 1e-14)) for node in nodes])
    found = _folded(_with_negative(nodes, deltas), nodes, size)
    kept = np.minimum(found[cells:], 1.0)
    return PointsPair(tuple(nodes.tolist()), tuple(kept.tolist()), tuple(kept.tolist()))


def _delta(pair: Pair, epsilon: float) -> float:
    """The profile, rounded up at one precision: neighboring floats are not needed here."""
    if epsilon >= pair.max_loss:
        return pair.delta(epsilon)
    with ctx.workprec(_BITS):
        return probability_above(pair.profile_ball(ball(epsilon)))


def _with_negative(nodes: Floats, deltas: Floats) -> Floats:
    """The profile of a symmetric pair on both sides of 0: 1 − e^(−ε) + e^(−ε)·δ(ε) at −ε."""
    below = -np.expm1(-nodes[:0:-1]) + np.exp(-nodes[:0:-1]) * deltas[:0:-1]
    return np.concatenate([np.minimum(below * (1.0 + _ROUNDING), 1.0), deltas])


def _folded(profile: Floats, nodes: Floats, size: int) -> Floats:
    """The bound for `size` steps, by doubling."""
    if size == 1:
        return profile
    half = _folded(profile, nodes, size // 2)
    double = _joined(half, half, nodes)
    return _joined(double, profile, nodes) if size % 2 else double


def _joined(first: Floats, second: Floats, nodes: Floats) -> Floats:
    """The least δ₁(ε₁) + e^ε₁·δ₂(ε − ε₁) over the nodes ε₁, at every node ε ≥ 0."""
    count = len(nodes) - 1
    places = np.arange(-count, count + 1)
    weights = np.exp(np.concatenate([-nodes[:0:-1], nodes]))
    best = np.empty(count + 1)
    for target in range(count + 1):
        # Beyond the last node the profile is at most its last value, before the first at most 1.
        rest = target - places
        tail = np.where(rest < -count, 1.0, second[np.clip(rest + count, 0, 2 * count)])
        best[target] = (first + weights * tail).min()
    return _with_negative(nodes, np.minimum(best * (1.0 + _ROUNDING), 1.0))
