"""The best of several runs: only the output with the largest score is released.

With f the generating function of the number of runs and u, v the probabilities that a run beats an
output y under P and Q, the best is y with densities f′(1−u)·du and f′(1−v)·dv.

*Upper.* A set of outputs that wins with probability u under P wins with at most v ≤ h(u) under Q,
where h is the trade-off curve. So f′(1−v) ≥ r·f′(1−u) with r the least such ratio along h, and for
every event S

    A(S) − x·A′(S) ≤ ∫_S f′(1−u)·(du − x·r·dv).

The weight f′(1−u) falls in u, and over events of P-mass s no ∫(du − x·r·dv) exceeds that of the s
outcomes of largest likelihood ratio; so the integral is largest if these come first. Sharper than
E[K]·δ(ε + ln r), which gives every outcome the weight of the first. [cf. Koskela, Redberg, Wang,
ICML 2024, Thm 4 (arXiv 2402.13087v2)] The bound grows with the pair, so a finite pair that
dominates the mechanism may stand in for it.

*Lower.* An order in which outcomes that speak for Q win over all others, and then those that speak
for P, as an instance.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import ctx

from dpverify.arrays import Floats
from dpverify.balls import ball
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.bounded import RatioPair
from dpverify.pairs.bounds.points import PointsPair
from dpverify.pairs.bounds.ratios import Ratios
from dpverify.pairs.bounds.runs import NumberOfRuns
from dpverify.theorems import PRIVATE_SELECTION

_CELLS = 512
_LEAST = 1e-25  # the profile is followed down to about here
_WIDEST = 300.0
_ROUNDING = 1e-9  # of sums of as many floats, relative, with much room
_INSTANCE_CELLS = 128
_PIECES = 64  # that an outcome of probability 1 is divided into
_BITS = 400
_NEAR = 2.0**-60
_INSTANCE_ERROR = 1e-8
_NOTHING = PointsPair((0.0,), (0.0,), (0.0,))


@lru_cache(maxsize=64)
def best_of(pair: Pair, runs: NumberOfRuns) -> Pair:
    """A bound on the best of `runs` runs of a mechanism with this pair, for any score."""
    nodes = _nodes(pair)
    base = PointsPair(
        tuple(nodes.tolist()),
        tuple(pair.delta(float(node)) for node in nodes),
        tuple(pair.reversed.delta(float(node)) for node in nodes),
    )
    sides = [_Finite.of(side) for side in (base, base.reversed)]
    steep = max(side.steepest(runs) for side in sides)
    outer = (nodes[-1] + steep) * np.arange(_CELLS + 1) / _CELLS
    forward, backward = (tuple(np.minimum(side.bound(runs, outer), 1.0).tolist()) for side in sides)
    upper = PointsPair(tuple(outer.tolist()), forward, backward)
    actual = pair.instances[0], pair.reversed.instances[0]
    lower, other = (_instance(side, runs, nodes[-1]) for side in actual)
    return BetweenPair(upper, lower, other, PRIVATE_SELECTION)


def _nodes(pair: Pair) -> Floats:
    sides = (pair, pair.reversed)
    least = min(_LEAST + 2.0 * max(side.singular_mass for side in sides), 1.0)
    reach = max(*(side.epsilon(least) for side in sides), 1e-9)
    most = max(side.max_loss for side in sides)
    furthest = max(most if most <= 1.5 * reach else reach, 1e-9)
    return np.linspace(0.0, min(furthest, _WIDEST), _CELLS + 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Finite:
    """A finite pair, outcomes in falling order of P/Q: log ratios and masses."""

    log_ratios: Floats
    left: Floats
    right: Floats
    only_left: float
    only_right: float

    @classmethod
    def of(cls, pair: PointsPair) -> "_Finite":
        law = pair.loss_law()
        order = np.argsort(-law.losses)
        ratios, left = law.losses[order], np.exp(law.log_masses[order])
        right = np.exp(law.log_masses[order] - ratios)
        return cls(ratios, left, right, pair.singular_mass, pair.reversed.singular_mass)

    def steepest(self, runs: NumberOfRuns) -> float:
        """ln 1/r: along the trade-off curve of sets that Q prefers; largest at its corners."""
        u = np.concatenate([[0.0], np.cumsum(self.left[::-1])])
        v = np.concatenate([[0.0], np.cumsum(self.right[::-1])]) + self.only_right + _ROUNDING**1.5
        return max(runs.steepest(u, np.minimum(v, 1.0)), 0.0) * (1.0 + _ROUNDING)

    def bound(self, runs: NumberOfRuns, epsilons: Floats) -> Floats:
        """Σ (1 − x·r·Q/P)₊ times the share of the best that each outcome has, best ratios first."""
        starts = self.only_left + np.concatenate([[0.0], np.cumsum(self.left)[:-1]])
        shares = runs.between(starts, self.left)
        first = float(runs.between(np.zeros(1), np.full(1, self.only_left))[0])
        moved = epsilons - self.steepest(runs)
        falls = np.minimum(moved[:, None] - self.log_ratios[None, :], 0.0)
        bounds: Floats = (first + (-np.expm1(falls) * shares[None, :]).sum(axis=1)) * (
            1.0 + _ROUNDING
        )
        return bounds


def _instance(pair: Pair, runs: NumberOfRuns, reach: float) -> Pair:
    """The pair of an order in which what speaks most for Q wins, then what speaks for P."""
    with ctx.workprec(_BITS):
        losses = np.linspace(reach, -reach, _INSTANCE_CELLS + 1)[1:-1]
        tests = [_test(pair, float(loss)) for loss in losses]
    u = np.array([0.0, *(test[0] for test in tests), 1.0])
    v = np.array([0.0, *(test[1] for test in tests), 1.0])
    if np.isnan(u).any() or np.isnan(v).any():  # losses whose exponentials no ball holds
        return _NOTHING
    beyond = np.maximum(1.0 - u, 0.0), np.maximum(1.0 - v, 0.0)
    steep = [runs.steepest(a, b) for a, b in zip(*(side[:, None] for side in beyond), strict=True)]
    split = int(np.argmax(steep))
    # What lies below the split comes first; then everything else, from the top down.
    places = [(float(beyond[0][split]), float(beyond[1][split]))]
    places += [(float(u[i] - u[i - 1]), float(v[i] - v[i - 1])) for i in range(1, split + 1)]
    widths = np.maximum(np.array(places), 0.0)
    # Of outcomes that are alike a coin of the mechanism's own decides which come first.
    pieces = 1 + (_PIECES * widths.max(axis=1)).astype(np.int64)
    widths = np.repeat(widths / pieces[:, None], pieces, axis=0)
    starts = np.concatenate([np.zeros((1, 2)), np.cumsum(widths, axis=0)[:-1]])
    left, right = (runs.between(starts[:, side], widths[:, side]) for side in (0, 1))
    kept = (left > 1e-15) & (right > 1e-15)
    if not kept.any():
        return _NOTHING
    ratios = left[kept] / right[kept]
    order = np.argsort(ratios)
    error = _INSTANCE_ERROR
    return RatioPair(Ratios(ratios[order], right[kept][order], 0.0, error, error))


def _test(pair: Pair, loss: float) -> tuple[float, float]:
    """P and Q of a loss above `loss`, or above a coin's choice of two that are 2^-60 apart."""
    x = ball(loss).exp()
    here, there = pair.delta_ball(ball(loss)), pair.delta_ball(ball(loss) + ball(_NEAR))
    right = (here - there) / (x * ball(_NEAR).expm1())
    left = here + x * right
    return float(left.mid()), float(right.mid())
