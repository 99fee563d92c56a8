"""The random number K of runs in a selection, by its generating function f(x) = E x^K.

Everything here is in terms of u = 1 − x, the probability that one run beats a given output.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from dpverify.arrays import Floats


class NumberOfRuns(ABC):
    """The distribution of the number of runs."""

    @abstractmethod
    def between(self, low: Floats, width: Floats) -> Floats:
        """f(1 − u) − f(1 − u − w), without cancellation."""

    @abstractmethod
    def steepest(self, u: Floats, v: Floats) -> float:
        """The logarithm of the largest f′(1 − u)/f′(1 − v)."""


@dataclass(frozen=True, slots=True)
class NegativeBinomial(NumberOfRuns):
    """K ≥ 1 with P(K = k) ∝ (1−γ)^k·Γ(k+η)/k!: geometric at η = 1, logarithmic at η = 0.

    f′(1 − u) ∝ (γ + (1−γ)·u)^(−η−1). [Papernot, Steinke, ICLR 2022, Def. 1 (arXiv 2110.03620v2)]
    """

    shape: float
    stop: float

    @classmethod
    def of_mean(cls, shape: float, mean: float) -> "NegativeBinomial":
        """The distribution with roughly this mean; exact if geometric and 1/mean is."""
        if shape == 1.0:
            return cls(shape, 1.0 / mean)

        def excess(log_stop: float) -> float:
            return math.log(cls(shape, math.exp(log_stop)).mean / mean)

        return cls(shape, math.exp(scipy.optimize.brentq(excess, -600.0, -1e-9)))

    @property
    def mean(self) -> float:
        log_stop = math.log(self.stop)
        if self.shape == 0.0:
            return (1.0 - self.stop) / (self.stop * -log_stop)
        return self.shape * (1.0 - self.stop) / (self.stop * -math.expm1(self.shape * log_stop))

    def _odds(self, u: Floats) -> Floats:
        return self.stop + (1.0 - self.stop) * u

    def between(self, low: Floats, width: Floats) -> Floats:
        at = self._odds(low)
        growth = np.log1p((1.0 - self.stop) * width / at)
        if self.shape == 0.0:
            return growth / -math.log(self.stop)
        scale = math.expm1(-self.shape * math.log(self.stop))
        return at**-self.shape * -np.expm1(-self.shape * growth) / scale

    def steepest(self, u: Floats, v: Floats) -> float:
        return float(((1.0 + self.shape) * np.log(self._odds(v) / self._odds(u))).max())


@dataclass(frozen=True, slots=True)
class PoissonRuns(NumberOfRuns):
    """K ≥ 0 with mean m: f(1 − u) = e^(−m·u)."""

    mean: float

    def between(self, low: Floats, width: Floats) -> Floats:
        return np.exp(-self.mean * low) * -np.expm1(-self.mean * width)

    def steepest(self, u: Floats, v: Floats) -> float:
        return float((self.mean * (v - u)).max())
