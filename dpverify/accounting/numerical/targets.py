"""The two questions that a composed law answers: ε at a δ, and δ at an ε."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dpverify.accounting.numerical.evaluation import Composed, Summed
from dpverify.accounting.numerical.sketch import Saddle, Sketch

LEAST_LOG = -745.0  # of the smallest positive float
Profile: TypeAlias = Composed | Summed
LogProfile = Callable[[float], tuple[float, float]]
_MOST_STEPS = 80
_CLOSE = 1e-9  # far below any tolerance
_CLOSE_TO_LARGE = 1e-13  # the same, relative, where floats are not that dense


@dataclass(frozen=True, slots=True)
class Ends:
    """Both certified ends of one number, the ε near which it was read, and the part of rounding.

    `noise` is what rounding and the window may have added to the width, and `log_signal` the
    logarithm of the tilted mass that the profile was read from. `is_cut` says that too much was cut
    off at the top for a number this small.
    """

    lower: float
    upper: float
    epsilon: float
    noise: float
    log_signal: float
    is_cut: bool = False


class Target(ABC):
    """What is asked of a composition, without the mass at ∞."""

    @abstractmethod
    def log_delta(self, sketch: Callable[[], Sketch]) -> float:
        """About how large the profile is where it will be read."""

    @abstractmethod
    def saddle(self, sketch: Sketch) -> Saddle:
        """Where to tilt at first."""

    @abstractmethod
    def cost(self, tilt: float) -> float:
        """By how much the answer changes, on the scale of its width, per unit of added variance."""

    @abstractmethod
    def width(self, lower: float, upper: float) -> float:
        """How far apart two ends count."""

    @abstractmethod
    def level(self, ends: Ends) -> float:
        """The logarithm of the profile where it was read."""

    @abstractmethod
    def place(self, ends: Ends) -> float:
        """About the ε at which the profile is asked for."""

    @abstractmethod
    def read(self, upper: Profile, lower: Profile, guess: float) -> Ends:
        """Both ends of the answer."""


@dataclass(frozen=True, slots=True)
class EpsilonAt(Target):
    """The smallest ε ≥ 0 with profile at most δ; ln δ is known to lie between `low` and `high`.

    No loss exceeds `most`, so an ε that is closer to it than `tolerance` need not be found.
    """

    low: float
    high: float
    most: float
    tolerance: float

    def log_delta(self, sketch: Callable[[], Sketch]) -> float:  # noqa: ARG002  # it is given
        return self.low

    def saddle(self, sketch: Sketch) -> Saddle:
        found = sketch.saddle_at_delta(self.low)
        limit = self.most - self.tolerance / 4.0
        return found if found.epsilon <= limit else sketch.saddle_at_epsilon(max(limit, 0.0))

    def cost(self, tilt: float) -> float:
        return (1.0 + tilt) / 2.0

    def width(self, lower: float, upper: float) -> float:
        return 0.0 if lower == upper else upper - lower

    def level(self, ends: Ends) -> float:  # noqa: ARG002  # it is given
        return self.low

    def place(self, ends: Ends) -> float:
        """The upper end, as long as the lower one says little."""
        useless = ends.lower < ends.upper / 2.0 and ends.upper < math.inf
        return ends.upper if useless else ends.epsilon

    def read(self, upper: Profile, lower: Profile, guess: float) -> Ends:
        high = min(smallest_epsilon(upper, self.low, guess), self.most)
        low = min(largest_epsilon(lower, self.high, high if high < math.inf else guess), high)
        middle = (low + high) / 2.0 if high < math.inf else low
        noise = upper.epsilon_noise(high) + (lower.epsilon_noise(low) if low > 0.0 else 0.0)
        return Ends(low, high, middle, noise, upper.log_signal(high))


@dataclass(frozen=True, slots=True)
class DeltaAt(Target):
    """ln of the profile at ε; its width is relative to δ."""

    epsilon: float

    def log_delta(self, sketch: Callable[[], Sketch]) -> float:
        return max(sketch().saddle_at_epsilon(self.epsilon).log_delta, LEAST_LOG)

    def saddle(self, sketch: Sketch) -> Saddle:
        return sketch.saddle_at_epsilon(self.epsilon)

    def cost(self, tilt: float) -> float:
        return tilt * (1.0 + tilt) / 2.0

    def width(self, lower: float, upper: float) -> float:
        """Below the smallest float there is nothing to tell apart."""
        return 0.0 if upper <= LEAST_LOG else -math.expm1(lower - upper)

    def level(self, ends: Ends) -> float:
        return max(ends.lower, LEAST_LOG) if ends.lower > -math.inf else ends.upper

    def place(self, ends: Ends) -> float:  # noqa: ARG002  # it is given
        return self.epsilon

    def read(self, upper: Profile, lower: Profile, guess: float) -> Ends:  # noqa: ARG002
        high = min(upper.log_upper(self.epsilon), 0.0)
        low = min(lower.log_lower(self.epsilon), high)
        noise = upper.delta_noise(self.epsilon) + lower.delta_noise(self.epsilon)
        is_cut = upper.log_infinite > high - 4.0
        return Ends(low, high, self.epsilon, noise, upper.log_signal(self.epsilon), is_cut)


def smallest_epsilon(upper: Profile, log_delta: float, guess: float) -> float:
    """An ε ≥ 0 that certainly suffices at δ, close to the smallest; ∞ if none is found."""
    if upper.log_infinite >= log_delta:
        return math.inf
    return _straddle(upper.upper, log_delta, guess, upper.step)[1]


def largest_epsilon(lower: Profile, log_delta: float, guess: float) -> float:
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
        close = _CLOSE + _CLOSE_TO_LARGE * at
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
