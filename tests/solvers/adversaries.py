"""Adversaries that look for the pair of datasets which one noisy release of sums hides worst.

The privacy loss of noise on sums is known exactly once it is known how far the sums are apart: ε is
the distance over the scale for pure noise, and δ at ε that of two normal distributions. So an
adversary climbs: it changes both datasets so that their sums, the mechanism's own whole numbers,
move apart.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from solvers.privacy.noise import StepNoise
from solvers.privacy.releases import OneRelease

Moved: TypeAlias = Callable[[Floats], tuple[Any, int]]  # of numbers that tell a pair: sums apart


def spent(noise: StepNoise, distance: float, budget: PureDP | ApproxDP | GaussianDP) -> float:
    """Which part of the budget a pair with sums that far apart uses up; 1 is all of it."""
    ratio = distance / float(noise.scale)
    match budget:
        case PureDP(epsilon=epsilon):
            return ratio / epsilon
        case GaussianDP(mu=mu):
            return ratio / mu
        case ApproxDP(epsilon=epsilon, delta=delta):
            # An exact formula that the library does not use: in terms of the normal distribution.
            left, right = (
                norm.cdf(0.5 * ratio - epsilon / ratio),
                norm.logcdf(-0.5 * ratio - epsilon / ratio),
            )
            return float(left - math.exp(epsilon + right)) / delta


def length(moved: tuple[Any, int], noise: StepNoise) -> float:
    """In the norm that the noise is about."""
    apart = np.ldexp(moved[0].astype(np.float64), moved[1])
    return float(np.linalg.norm(apart, 1 if noise.kind == "laplace" else 2))


def farthest(
    moved: Moved,
    noise: StepNoise,
    count: int,
    *,
    starts: int = 5,
    first: Any = (),  # noqa: ANN401
) -> float:
    """How far apart sums can be brought, by climbing from several starts in `count` numbers."""
    rng = np.random.default_rng(count)
    best = 0.0
    climb: Any = minimize  # whose overloads know no such options
    options = {"maxfev": 150 * count, "xatol": 1e-7, "fatol": 1e-9}
    for start in [*first, *rng.normal(size=(starts, count))]:
        found = climb(
            lambda x: -length(moved(x), noise),
            start,
            method="Nelder-Mead",
            options=options,
        )
        best = max(best, -float(found.fun))
    return best


@dataclass(frozen=True)
class HalfTheNoise:
    """A release with half the noise, and the claim of the whole."""

    honest: OneRelease[Any]

    @property
    def claim(self) -> Claim:
        return self.honest.claim

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Floats:  # noqa: ANN401
        sums, exponent = self.honest.sums(data)
        exact = np.ldexp(sums.astype(np.float64), exponent)
        half: Floats = 0.5 * exact + 0.5 * self.honest.sample(data, size, rng=rng)
        return half
