r"""A confidence band for a whole distribution function from n draws, exact in finite samples.

Let U₁, …, U_n be uniform, N(t) = #{U_j ≤ t}, and t₁ < … < t_K a grid. Given limits lo_i ≤ hi_i, the
chance that lo_i ≤ N(t_i) ≤ hi_i for all i is computed, not bounded: N is a Poisson process of rate
n given N(1) = n, so it is a chain of K convolutions. The limits are quantiles of Bin(n, t_i) at one
local level, the largest for which that chance is still 1 − level. So the band is narrow in the
tails as Clopper and Pearson's limits are, where that of Dvoretzky, Kiefer and Wolfowitz is as wide
as in the middle. [Berk, Jones 1979; Moscovich, Nadler 2017; proofs/cdf_band.py]

For draws S_j = F⁻¹(U_j) of any law, with atoms or without, and S_(k) the k-th smallest,

- U_(lo_i) ≤ t_i, hence P(S < x) ≤ t_i for every x ≤ S_(lo_i);
- U_(hi_i + 1) > t_i, hence P(S ≤ x) ≥ t_i for every x ≥ S_(hi_i + 1).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from dpverify.arrays import Floats, Ints
from dpverify.errors import check_count, check_level
from dpverify.theorems import CDF_BAND, Theorem

_TAIL = 64  # points of the grid towards each end of [0, 1]
_EVEN = 256  # and evenly in between
_ROUND_OFF = 1e-6  # of the level, for floats in the convolutions
_SEARCH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CountLimits:
    """Limits lo_i ≤ #{U_j ≤ t_i} ≤ hi_i that hold for all i at once, except with chance `level`."""

    at: Floats
    low: Ints
    high: Ints
    draws: int
    level: float
    theorem: Theorem = CDF_BAND


@lru_cache(maxsize=64)
def count_limits(draws: int, level: float) -> CountLimits:
    """The narrowest limits, all at one local level, whose simultaneous coverage is 1 − level."""
    check_count("draws", draws)
    check_level(level)
    at = _grid(draws)
    goal = level * (1.0 - _ROUND_OFF)
    good, bad = math.log(level / (4.0 * len(at))), math.log(level)  # Bonferroni holds
    for _ in range(_SEARCH):
        middle = (good + bad) / 2.0
        low, high = _quantiles(draws, at, math.exp(middle))
        good, bad = (middle, bad) if missed(draws, at, low, high) <= goal else (good, middle)
    low, high = _quantiles(draws, at, math.exp(good))
    return CountLimits(at=at, low=low, high=high, draws=draws, level=level)


def coverage(draws: int, at: Floats, low: Ints, high: Ints) -> float:
    """P(lo_i ≤ N(t_i) ≤ hi_i for all i).

    >>> round(coverage(2, np.array([0.5]), np.array([1]), np.array([2])), 12)
    0.75
    """
    return 1.0 - missed(draws, at, low, high)


def missed(draws: int, at: Floats, low: Ints, high: Ints) -> float:
    """P(N(t_i) < lo_i or N(t_i) > hi_i for some i), as a sum over the first such i.

    All terms are positive, so the sum has nearly all digits that its terms have, however small.
    """
    chances, first, before, total = np.ones(1), 0, 0.0, 0.0
    end = float(_log_poisson(draws, np.array([draws]))[0])
    for t, lowest, highest in zip(at.tolist(), low.tolist(), high.tolist(), strict=True):
        least, steps = _poisson(draws * (t - before))
        chances, first, before = np.convolve(chances, steps), first + least, t
        counts = first + np.arange(len(chances))
        possible = counts <= draws
        chances, counts = chances[possible], counts[possible]
        outside = (counts < lowest) | (counts > highest)
        # From here the process must still end at n.
        logs = _log_poisson(draws * (1.0 - t), draws - counts[outside]) - end
        total += float(chances[outside] @ np.exp(logs))
        chances = chances[~outside]
        first = max(lowest, first)
        if not chances.size:
            break
    return min(total, 1.0)


@dataclass(frozen=True, slots=True)
class TailLimits:
    """Limits for P(S ≥ x) and P(S ≤ x), for all x at once."""

    ordered: Floats
    limits: CountLimits

    @classmethod
    def of(cls, values: Floats, level: float) -> "TailLimits":
        """The limits from draws of S, none of which may be NaN."""
        return cls(np.sort(values), count_limits(len(values), level))

    def at_least(self, x: Floats) -> tuple[Floats, Floats]:
        """Lower and upper limits for P(S ≥ x)."""
        return 1.0 - self._below(x, strict=True), 1.0 - self._above(x, strict=True)

    def at_most(self, x: Floats) -> tuple[Floats, Floats]:
        """Lower and upper limits for P(S ≤ x)."""
        return self._above(x, strict=False), self._below(x, strict=False)

    def _below(self, x: Floats, *, strict: bool) -> Floats:
        """Upper limit for P(S < x), or for P(S ≤ x): the least t_i with S_(lo_i) ≥ x, or > x."""
        used = self.limits.low >= 1
        places = self.ordered[self.limits.low[used] - 1]
        ends = np.append(self.limits.at[used], 1.0)
        return ends[np.searchsorted(places, x, side="left" if strict else "right")]

    def _above(self, x: Floats, *, strict: bool) -> Floats:
        """Lower limit for P(S < x), or P(S ≤ x): the largest t_i with S_(hi_i + 1) < x, or ≤ x."""
        used = self.limits.high < self.limits.draws
        places = self.ordered[self.limits.high[used]]
        ends = np.append(0.0, self.limits.at[used])
        return ends[np.searchsorted(places, x, side="left" if strict else "right")]


def _grid(draws: int) -> Floats:
    """A grid that is dense towards both ends, where counts are small and ratios large."""
    tail = np.geomspace(min(0.5 / draws, 0.25), 0.5, _TAIL)
    even = np.arange(1, _EVEN) / _EVEN
    return np.unique(np.concatenate([tail, 1.0 - tail, even]))


def _quantiles(draws: int, at: Floats, local: float) -> tuple[Ints, Ints]:
    """Roughly the quantiles of Bin(n, t) at the local level; `coverage` says what they achieve."""
    with np.errstate(invalid="ignore"):
        low = np.nan_to_num(scipy.special.bdtrik(local, draws, at), nan=-1.0)
        high = np.nan_to_num(
            draws - 1 - scipy.special.bdtrik(local, draws, 1.0 - at), nan=float(draws)
        )
    low = np.clip(np.floor(low) + 1, 0, draws)
    high = np.clip(np.ceil(high), 0, draws)
    # Where P(Bin = 0) alone exceeds the level there is no lower limit; above likewise.
    low = np.where(draws * np.log1p(-at) > math.log(local), 0, low)
    high = np.where(draws * np.log(at) > math.log(local), draws, high)
    return np.maximum.accumulate(low).astype(np.int64), np.maximum.accumulate(high).astype(np.int64)


def _poisson(mean: float) -> tuple[int, Floats]:
    """P(Poisson(mean) = k) from the first k on, without those more than 12 deviations away."""
    reach = 12.0 * math.sqrt(mean) + 40.0
    least = max(0, math.floor(mean - reach))
    return least, np.exp(_log_poisson(mean, np.arange(least, math.ceil(mean + reach) + 1)))


def _log_poisson(mean: float, counts: Ints) -> Floats:
    k = counts.astype(np.float64)
    logs: Floats = scipy.special.xlogy(k, mean) - mean - scipy.special.gammaln(k + 1.0)
    return logs
