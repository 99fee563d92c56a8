"""Estimate a profile: choose a score on some draws, then bound all its thresholds on others."""

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.auditing.attacks.draws import Confirm, Draws, Explore
from dpverify.auditing.bands.cdf_bands import TailLimits
from dpverify.auditing.bands.curves import EventLimits, ProfileBand
from dpverify.auditing.bands.marks import Mark, marked
from dpverify.auditing.bands.scores import Score, learned_score
from dpverify.auditing.procedure.rounds import refuse_repeated, refuse_useless
from dpverify.auditing.sampling.drawing import LOSS, SampleRaised, Target
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.binomial import LARGEST_EPSILON
from dpverify.errors import InvalidParameter, check_between, check_count, check_level, check_seed
from dpverify.waiting import telling

_EXPLORE = 0.25  # of the draws choose the score
_FIRST = 16  # draws that show whether densities are known
_FEWEST = 100  # draws a side
_POINTS = 61


@telling("estimating")
def estimate_profile(  # noqa: PLR0913  # a front door
    mechanism: Target,
    *,
    left: Any,  # noqa: ANN401  # whatever the mechanism takes
    right: Any,  # noqa: ANN401
    draws: int = 20_000,
    level: float = 0.05,
    seed: int = 0,
    epsilons: ArrayLike | None = None,
    timeout: float | None = None,
) -> ProfileBand:
    """Estimate the profile of `mechanism` on two datasets, with a band, from `draws` on each side.

    A quarter of the draws chooses the score, unless the mechanism has `log_density`: then the
    privacy loss is the score, the best there is, and nearly all draws go into the band.

    >>> from dpverify.mechanisms import Laplace
    >>> band = estimate_profile(Laplace(scale=1.0), left=1.0, right=0.0, draws=4000, seed=1)
    >>> 0.3 < band.lower_delta(0.0) < 0.394 < band.upper_delta(0.0) < 0.5
    True
    """
    start = time.perf_counter()
    _check(draws, level, seed)
    sampler = Sampler(mechanism=mechanism, left=left, right=right, seed=int(seed), timeout=timeout)
    try:
        seen, fresh = _divided(sampler, draws)
    except SampleRaised:  # a failure is an output: draw one by one
        seen, fresh = _divided(replace(sampler, singly=True), draws)
    score = learned_score(seen)
    events, marks = limits_of(score, fresh, level=level)
    shown: list[EventLimits | Mark] = [*events, *marks]
    highest = 1.5 * max(0.5, *(part.epsilon_low(0.0) for part in shown))
    grid = _grid(epsilons, min(highest, LARGEST_EPSILON))
    return ProfileBand(
        epsilons=grid,
        lower=np.array([max(part.delta_low(x) for part in shown) for x in grid.tolist()]),
        upper=np.array([max(e.delta_high(x) for e in events) for x in grid.tolist()]),
        level=float(level),
        draws=fresh.left.size,
        explored=seen.left.size,
        score=score.name,
        seed=int(seed),
        seconds=time.perf_counter() - start,
        events=events,
        marks=marks,
    )


def limits_of(
    score: Score, fresh: Draws, *, level: float
) -> tuple[tuple[EventLimits, EventLimits], tuple[Mark, ...]]:
    """Bounds for all thresholds at once, and sharper ones for a few; each uses half the level."""
    scores = score.values(fresh.left), score.values(fresh.right)
    # The two sides are independent, so that both bands hold with the product of their chances.
    own = -math.expm1(math.log1p(-level / 2.0) / 2.0)
    limits = TailLimits.of(scores[0], own), TailLimits.of(scores[1], own)
    return threshold_limits(*limits), marked(scores, limits, level=level / 2.0)


def threshold_limits(left: TailLimits, right: TailLimits) -> tuple[EventLimits, EventLimits]:
    """Bounds for all events "score ≥ x" (left side) and "score ≤ x" (right side) at once."""
    cuts = _cuts(left, right)
    (p_low, p_high), (q_low, q_high) = left.at_least(cuts), right.at_least(cuts)
    above = EventLimits(p_low, p_high, q_low, q_high)
    (p_low, p_high), (q_low, q_high) = left.at_most(cuts), right.at_most(cuts)
    return above, EventLimits(q_low, q_high, p_low, p_high)


def _divided(sampler: Sampler, draws: int) -> tuple[Explore, Confirm]:
    """Draws to choose the score from, only a few where densities are known; and the others."""
    first = Draws.of(sampler, 0, _FIRST)
    refuse_useless(first)
    if LOSS in first.left.columns:
        explored = first
    else:
        explored = first.followed_by(Draws.of(sampler, _FIRST, int(draws * _EXPLORE)))
    fresh = Draws.of(sampler, explored.left.size, draws)
    refuse_repeated(first, fresh)
    return Explore(explored), Confirm(fresh)


def _cuts(left: TailLimits, right: TailLimits) -> Floats:
    """The thresholds at which a limit changes; no other threshold can do better."""
    places = []
    for side in (left, right):
        low, high = side.limits.low, side.limits.high
        places += [side.ordered[low[low >= 1] - 1], side.ordered[high[high < side.limits.draws]]]
    found = np.unique(np.concatenate(places))
    return np.unique(np.concatenate([found, np.nextafter(found, np.inf)]))


def _grid(epsilons: ArrayLike | None, highest: float) -> Floats:
    if epsilons is None:
        return np.linspace(0.0, highest, _POINTS)
    try:
        grid = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or not grid.size or not np.all((grid >= 0.0) & (grid <= LARGEST_EPSILON)):
        raise InvalidParameter(f"epsilons={epsilons!r} must be numbers in [0, {LARGEST_EPSILON:g}]")
    return np.sort(grid)


def _check(draws: object, level: object, seed: object) -> None:
    check_count("draws", draws)
    check_between("draws", draws, _FEWEST, math.inf)
    check_level(level, least=1e-10)
    check_seed(seed)
