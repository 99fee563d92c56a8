"""Where a composed profile crosses δ, from the safe side.

Every ε that is returned was checked: how it was found does not matter.
"""

import math
from collections.abc import Callable

from dpverify.accounting.numerical.evaluation import Composed

_MOST_STEPS = 80
_CLOSE = 1e-9  # far below any tolerance

LogProfile = Callable[[float], tuple[float, float]]


def smallest_epsilon(upper: Composed, log_delta: float, guess: float) -> float:
    """An ε ≥ 0 that certainly suffices at δ, close to the smallest; ∞ if none is found."""
    if upper.log_infinite >= log_delta:
        return math.inf
    return _straddle(upper.upper, log_delta, guess, upper.step)[1]


def largest_epsilon(lower: Composed, log_delta: float, guess: float) -> float:
    """An ε ≥ 0 that certainly is not more than needed at δ, close to the largest; 0 if none is."""
    return max(_straddle(lower.lower, log_delta, guess, lower.step)[0], 0.0)


def _straddle(
    log_profile: LogProfile, log_delta: float, guess: float, step: float
) -> tuple[float, float]:
    """Points just left and right of where a falling function crosses ln δ; (−∞, 0) if before 0.

    The function gives its value and its slope. Newton's method where that stays between the
    points known so far; a search outwards from `guess` while one of them is missing.
    """
    low, high = -math.inf, math.inf
    at, reach = max(guess, 0.0), step
    for _ in range(_MOST_STEPS):
        value, slope = log_profile(at)
        if value > log_delta:
            low = at
        else:
            high = at
        close = _CLOSE * (1.0 + at)
        if high == 0.0 or high - low <= 4.0 * close:
            break
        following = at + (log_delta - value) / slope if -math.inf < slope < 0.0 else math.nan
        if abs(following - at) <= close:
            following = at + (2.0 * close if value > log_delta else -2.0 * close)
        if not low < following < high or abs(following - guess) > 4.0 * reach:
            if low == -math.inf:
                following, reach = high - reach, 2.0 * reach
            elif high == math.inf:
                following, reach = low + reach, 2.0 * reach
            else:
                following = (low + high) / 2.0
        at = max(following, 0.0)
    return low, high
