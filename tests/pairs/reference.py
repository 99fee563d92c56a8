"""Naive mpmath twins: formulas as written in the textbook, at far more digits than they need.

Naive is the point: no care for cancellation or overflow, so that nothing but the formula can be
wrong. The digits make up for it.
"""

import math
from typing import Any, TypeAlias

import mpmath as mp

Real: TypeAlias = Any  # an mpf; mpmath has no types


def normal_cdf(x: Real) -> Real:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def gaussian_profile(mu: Real, epsilon: Real) -> Real:
    upper = normal_cdf(mu / 2 - epsilon / mu)
    return upper - mp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def laplace_profile(shift: Real, epsilon: Real) -> Real:
    """P(loss > ε) and Q(loss > ε), from the distribution of the loss: atoms at ±a, else uniform."""
    if epsilon >= shift:
        return mp.mpf(0)
    if epsilon < -shift:
        return 1 - mp.exp(epsilon)
    # loss = 2x − a for a draw x in [0, a]; it exceeds ε beyond x = (ε + a)/2.
    cut = (epsilon + shift) / 2
    under_left = 1 - mp.exp(cut - shift) / 2
    under_right = mp.exp(-cut) / 2
    return under_left - mp.exp(epsilon) * under_right


def laplace_density(x: Real, center: Real) -> Real:
    return mp.exp(-abs(x - center)) / 2


def leaky_table(epsilon: Real, delta: Real) -> list[tuple[Real, Real]]:
    truth = (1 - delta) * mp.exp(epsilon) / (1 + mp.exp(epsilon))
    lie = (1 - delta) / (1 + mp.exp(epsilon))
    return [(truth, lie), (lie, truth), (delta, mp.mpf(0)), (mp.mpf(0), delta)]


def table_profile(table: list[tuple[Real, Real]], epsilon: Real) -> Real:
    return mp.fsum(max(p - mp.exp(epsilon) * q, mp.mpf(0)) for p, q in table)


def encloses(lower: float, value: Real, upper: float) -> bool:
    """Whether two floats with no float strictly between them enclose the value.

    The twin rounds too: its fiftieth digit is not held against the floats.
    """
    tight = math.nextafter(lower, math.inf) >= upper
    slack = abs(value) * mp.mpf(10) ** -50
    return tight and lower <= value + slack and value - slack <= upper
