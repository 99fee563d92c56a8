"""A rough picture of a composition: where to tilt, and how wide a window to take.

Nothing here is certified and nothing needs to be: any tilt and any window give valid bounds, and
the bounds are evaluated on the discretized laws themselves. The sketch makes them good ones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.accounting.one_variable import zero
from dpverify.arrays import Floats
from dpverify.pairs.loss_law import AnyCutLaw, CutLaw

_MOST_DOUBLINGS = 60
_NOTHING = -700.0  # logarithm of a mass that stands for none
_LEAST_TILT = 1e-4
_MOST_TILT = 1e3  # over the standard deviation of the whole
_MOST_TILT_PER_POINT = 100.0  # over the distance of two points of a sketch


@dataclass(frozen=True, slots=True, eq=False)
class Saddle:
    """A tilt, the loss at which it is best, and the profile's logarithm there."""

    tilt: float
    epsilon: float
    log_delta: float


class Sketch:
    """Each part's law as a few hundred atoms, and its moments."""

    def __init__(self, parts: Sequence[tuple[AnyCutLaw, int]]) -> None:
        losses, masses = zip(*(_points(law) for law, _ in parts), strict=True)
        self.spacing = max(
            (
                float(np.diff(ramp.points()[0]).max())
                for law, _ in parts
                if isinstance(law, CutLaw)
                for ramp in law.ramps
            ),
            default=0.0,
        )
        self.starts = np.cumsum([0, *(len(part) for part in losses[:-1])])
        self.sizes = np.array([len(part) for part in losses])
        self.losses: Floats = np.concatenate(losses)
        self.log_masses: Floats = np.concatenate(masses)
        self.times: Floats = np.array([float(times) for _, times in parts])

    def log_moments(self, tilt: float) -> Floats:
        """ln E[e^(tilt·loss)] of each part."""
        exponents = self.log_masses + tilt * self.losses
        tops = np.maximum.reduceat(exponents, self.starts)
        sums = np.add.reduceat(np.exp(exponents - np.repeat(tops, self.sizes)), self.starts)
        return tops + np.log(sums)

    def log_moment(self, tilt: float) -> float:
        """ln E[e^(tilt·loss)] of the whole."""
        return float(self.times @ self.log_moments(tilt))

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """The logarithm of the moment, and mean and variance of the tilted law."""
        moment, mean, variance = (float(self.times @ each) for each in self._tilted(tilt))
        return moment, mean, variance

    def _tilted(self, tilt: float) -> tuple[Floats, Floats, Floats]:
        """The same for each part."""
        exponents = self.log_masses + tilt * self.losses
        tops = np.maximum.reduceat(exponents, self.starts)
        weights = np.exp(exponents - np.repeat(tops, self.sizes))
        sums = np.add.reduceat(weights, self.starts)
        means = np.add.reduceat(weights * self.losses, self.starts) / sums
        centered = self.losses - np.repeat(means, self.sizes)
        variances = np.add.reduceat(weights * centered * centered, self.starts) / sums
        return tops + np.log(sums), means, variances

    def deviations(self) -> Floats:
        """Standard deviation of each part's loss."""
        return np.sqrt(self._tilted(0.0)[2])

    def most_tilt(self) -> float:
        """A tilt that would look a thousandth of the standard deviation away from the top.

        Only an ε next to the greatest loss asks for more, and only if losses are bounded.
        """
        deviation = math.sqrt(float(self.times @ self.deviations() ** 2))
        sharpest = _MOST_TILT / max(deviation, 1e-300)
        return max(min(sharpest, _MOST_TILT_PER_POINT / max(self.spacing, 1e-300)), 2.0)

    def saddle(self, tilt: float) -> Saddle:
        """The point that a tilt is best for: δ(ε) ≈ e^F/√(2π·F″), F = K(λ) − λε − ln λ(1+λ)."""
        moment, mean, variance = self.cumulants(tilt)
        epsilon = mean - 1.0 / tilt - 1.0 / (1.0 + tilt)
        curvature = max(variance + tilt**-2 + (1.0 + tilt) ** -2, 1e-300)
        height = moment - tilt * epsilon - math.log(tilt) - math.log1p(tilt)
        return Saddle(tilt, epsilon, height - 0.5 * math.log(2.0 * math.pi * curvature))

    def saddle_at_delta(self, log_delta: float) -> Saddle:
        """The saddle whose profile is δ; at ε = 0 if δ is larger than the profile there."""
        found = self._search(lambda saddle: saddle.log_delta - log_delta)
        return found if found.epsilon > 0.0 else self.saddle_at_epsilon(0.0)

    def saddle_at_epsilon(self, epsilon: float) -> Saddle:
        return self._search(lambda saddle: epsilon - saddle.epsilon)

    def _search(self, falling: Callable[[Saddle], float]) -> Saddle:
        """The tilt where `falling` crosses 0, or the end of the range nearest to that."""
        saddles: dict[float, Saddle] = {}

        def at(log_tilt: float) -> float:
            saddles[log_tilt] = self.saddle(math.exp(log_tilt))
            return falling(saddles[log_tilt])

        # From 1 outwards, so that extreme tilts are not tried without need.
        low, high = math.log(_LEAST_TILT), math.log(self.most_tilt())
        here, step = 0.0, 1.5 if at(0.0) > 0.0 else -1.5
        while True:
            there = min(max(here + step, low), high)
            if (at(there) > 0.0) != (step > 0.0):
                break
            if there in {low, high}:
                return saddles[there]
            here = there
        return self.saddle(math.exp(zero(at, here, there, 1e-3)))

    def upper_exponent(self, tilt: float, log_mass: float) -> tuple[float, float]:
        """The least loss beyond which the tilted law has mass e^log_mass by Chernoff's bound.

        Returned with the exponent t that shows it.
        """
        base = self.log_moment(tilt)
        return _best(lambda t: (self.log_moment(tilt + t) - base - log_mass) / t, self._scale(tilt))

    def lower_exponent(self, tilt: float, log_mass: float) -> tuple[float, float]:
        """The greatest loss below which the tilted law has mass e^log_mass, likewise."""
        base = self.log_moment(tilt)
        end, t = _best(
            lambda t: (self.log_moment(tilt - t) - base - log_mass) / t, self._scale(tilt)
        )
        return -end, t

    def _scale(self, tilt: float) -> float:
        """The exponent that a normal law of the same variance would ask for."""
        return 6.0 / math.sqrt(max(self.cumulants(tilt)[2], 1e-300))


def _points(law: AnyCutLaw) -> tuple[Floats, Floats]:
    """Atoms for a rough picture: a tiny one at loss 0 where everything is cut off."""
    losses, log_masses = law.points()
    return (losses, log_masses) if len(losses) else (np.zeros(1), np.full(1, _NOTHING))


def _best(objective: Callable[[float], float], scale: float) -> tuple[float, float]:
    """The least value over t > 0 of a function with one minimum, by a search in ln t.

    Every t bounds the mass, so that the search may end early: a law without losses on one side has
    its minimum at infinity.
    """
    ratio, t = 2.0, scale
    best = objective(t)
    for direction in (1.0 / ratio, ratio):
        for _ in range(_MOST_DOUBLINGS):
            if not (value := objective(t * direction)) < best:
                break
            best, t = value, t * direction
    for factor in (0.8, 1.25, 0.9, 1.1):
        if (value := objective(t * factor)) < best:
            best, t = value, t * factor
    return best, t
