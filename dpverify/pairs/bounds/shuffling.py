"""Shuffled reports: how much the reports of n users with ε₀-DP randomizers show of one user.

*Upper.* The randomizer, one for all users, is at least ½·e^(−ε₀)·(R(x) + R(x′)), x and x′ the two
inputs of the user in question; so each of the others is a clone of x or of x′ with probability
e^(−ε₀), by a fair coin. Who sees which reports are clones sees no less, and R(x), R(x′) come from
randomized response. Among C clones A ~ Bin(C, ½) say "0", and the user adds a 0 with probability
e^ε₀/(1 + e^ε₀), else a 1; exchanged for x′. [Feldman, McMillan, Talwar, FOCS 2021 (arXiv
2012.12803v3), Thm 3.1]

*Lower.* Randomized response where all others hold the same bit.
"""

import math
from functools import lru_cache

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.bounded import RatioPair
from dpverify.pairs.bounds.points import PointsPair
from dpverify.pairs.bounds.ratios import Ratios
from dpverify.pairs.loss import log_binomial
from dpverify.theorems import SHUFFLED_REPORTS

_NODES = 256
_BLOCKS = 1500  # of numbers of clones
_REACH = 1e-30  # probability of numbers of clones beyond those looked at
_FLOATS = 1e-9  # of binomial probabilities, relative; delivered: below 1e-12
_LEAST = -700.0


@lru_cache(maxsize=32)
def shuffled(epsilon: float, reports: int) -> Pair:
    """Bounds for one of `reports` shuffled reports, each ε₀-DP with ε₀ = `epsilon`."""
    nodes = epsilon * np.linspace(0.0, 1.0, _NODES + 1) ** 2
    deltas = tuple(np.minimum(_clones(epsilon, reports, nodes), 1.0).tolist())
    deltas = (*deltas[:-1], 0.0)  # at ε₀ itself every report is private
    upper = PointsPair(tuple(nodes.tolist()), deltas, deltas)
    return BetweenPair(upper, _response(epsilon, reports), theorem=SHUFFLED_REPORTS)


def _clones(epsilon: float, reports: int, nodes: Floats) -> Floats:
    """The profile of counts with a binomial number of clones, at each node, rounded up.

    More clones hide more, so a block of numbers of clones counts as its least.
    """
    chance = math.exp(-epsilon)
    low, high = (int(scipy.stats.binom.ppf(q, reports - 1, chance)) for q in (_REACH, 1.0 - 1e-12))
    low = max(low - 2, 0)
    starts = np.unique(np.linspace(low, high + 1, _BLOCKS).astype(np.int64))
    below = scipy.stats.binom.cdf(np.append(starts[1:] - 1, reports - 1), reports - 1, chance)
    weights = np.diff(below, prepend=scipy.stats.binom.cdf(starts[0] - 1, reports - 1, chance))
    tail = scipy.stats.binom.sf(starts - 1, reports - 1, chance)
    weights = np.minimum(np.maximum(weights, 0.0) * (1.0 + _FLOATS) + 1e-16, tail * (1 + _FLOATS))
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    first = float(scipy.stats.binom.cdf(low - 1, reports - 1, chance)) * (1.0 + _FLOATS)
    return np.array(
        [first + weights @ _counts(starts.astype(np.float64), truth, float(node)) for node in nodes]
    )


def _counts(clones: Floats, truth: float, epsilon: float) -> Floats:
    """P(A + Δ ≥ a) − e^ε·Q(A + Δ ≥ a) at the least a with ratio above e^ε, for each C."""
    x, lie = math.exp(epsilon), 1.0 - truth
    # (truth·a + lie·b)/(lie·a + truth·b) > x with b = C + 1 − a.
    share = (x * truth - lie) / ((truth - lie) * (1.0 + x))
    cut = np.floor(share * (clones + 1.0)) + 1.0
    best = np.zeros(len(clones))
    for at in (cut - 1.0, cut, cut + 1.0):  # rounding of the cut does not matter
        with_it, without = (scipy.stats.binom.sf(at - k, clones, 0.5) for k in (2.0, 1.0))
        left, right = truth * with_it + lie * without, lie * with_it + truth * without
        best = np.maximum(best, left - x * right + _FLOATS * (left + x * right))
    return best


def _response(epsilon: float, reports: int) -> RatioPair:
    """The number of "0" reports if all other users hold a 1."""
    others = reports - 1
    counts = log_binomial(others, epsilon)[::-1]
    log_truth = -math.log1p(math.exp(-epsilon))
    log_lie = log_truth - epsilon
    shifted = np.concatenate([[-np.inf], counts])
    still = np.concatenate([counts, [-np.inf]])
    left = np.logaddexp(log_truth + shifted, log_lie + still)
    right = np.logaddexp(log_lie + shifted, log_truth + still)
    kept = (right > _LEAST) & (left > _LEAST)
    ratios, masses = np.exp((left - right)[kept]), np.exp(right[kept])
    order = np.argsort(ratios)
    return RatioPair(Ratios(ratios[order], masses[order], 0.0, _FLOATS, _FLOATS))
