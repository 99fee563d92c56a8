r"""Gauss–Legendre rules whose truncation error is bounded, relative to a positive integral.

On a panel with center c and half-width r lies an integrand w(z)·(1 − e^(−μ·(z−a))) with a at or
left of the panel (or its mirror image), where w is a normal or exponential density times e^(±μz).
Put θ = r·(steepness + μ), where steepness bounds |d ln w/dz| on the panel. On the Bernstein ellipse
with parameter ρ, half-axes A = (ρ+1/ρ)/2 and B = (ρ−1/ρ)/2, the integrand is at most
(1+A)·exp(2Aθ + θ²(B²+1)/2) times its mean over the panel, since 1 − e^(−x) is concave; so the
rule with n nodes is off by at most

.. math:: (64/15)·ρ^{-2n}/(1-ρ^{-2})·(1+A)·\exp(2Aθ + θ²(B²+1)/2)

of the integral, for every ρ > 5. [Trefethen, SIAM Rev. 50, 2008, Thm 4.5]
"""

import math
from functools import cache

import numpy as np

from dpverify.arrays import Floats

WIDEST_PANEL = 0.5  # the largest θ that callers may ask for
TRUNCATION = 2.0**-54  # relative error that every rule stays below

_MOST_NODES = 24
_SMALLEST = 2.0**-20


def rule(theta: float) -> tuple[Floats, Floats]:
    """Nodes in (−1, 1) and weights that integrate panels of this θ, or less, to `TRUNCATION`."""
    return _rule(math.ceil(math.log2(max(theta, _SMALLEST))))


@cache
def _rule(exponent: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(_nodes_needed(2.0**exponent))
    return nodes, weights


def truncation(theta: float, count: int) -> float:
    """The bound above for `count` nodes, at the best of a few ρ."""
    least = min(_log_truncation(theta, count, 1.25**power) for power in range(8, 40))
    return math.exp(least) if least < 0.0 else math.inf  # a bound of 1 or more bounds nothing


def _nodes_needed(theta: float) -> int:
    for count in range(2, _MOST_NODES):
        if truncation(theta, count) <= TRUNCATION:
            return count
    raise ArithmeticError(f"theta={theta!r} must not exceed {WIDEST_PANEL}")


def _log_truncation(theta: float, count: int, rho: float) -> float:
    wide, high = (rho + 1.0 / rho) / 2.0, (rho - 1.0 / rho) / 2.0
    growth = 2.0 * wide * theta + theta * theta * (high * high + 1.0) / 2.0
    tail = -2.0 * count * math.log(rho) - math.log1p(-(rho**-2))
    return math.log(64.0 / 15.0) + tail + math.log1p(wide) + growth
