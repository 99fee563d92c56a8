"""Rational bounds on the normal distribution function."""

import math
from fractions import Fraction

from dpverify.certifying.checking.forms import ZERO
from dpverify.certifying.checking.numbers import exp_bounds

HALF, TINY = Fraction(1, 2), Fraction(1, 10**300)
_PI = int(
    "314159265358979323846264338327950288419716939937510"
    "58209749445923078164062862089986280348253421170679"
)  # ·10^−100, rounded down
_ROOT = math.isqrt(2 * _PI * 10**100)  # of 2π, ·10^−100; the true one is less than 3 above it


def normal(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rational bounds on Φ(x), from the alternating series of its integral; 0 and 1 far outside."""
    if x < 0:
        low, high = normal(-x)
        return 1 - high, 1 - low
    if x > 40:
        return 1 - TINY, Fraction(1)
    fine = 2 ** (200 + 4 * int(x * x))
    y = Fraction(math.floor(x * fine), fine)  # below x by less than 1/fine, as is the integral
    total, term, k = ZERO, y, 0
    while term * fine > 1 or k < y * y:
        total += (-1) ** k * term / (2 * k + 1)
        k += 1
        term = Fraction(math.floor(term * y * y / (2 * k) * fine * fine), fine * fine)
    error = term + Fraction(k + 1, fine)  # the rest of the series, roundings, and that of x
    low, high = (total - error) / (_ROOT + 3), (total + error) / _ROOT
    return HALF + low * 10**100, HALF + high * 10**100


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """A rational upper bound on Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    low = exp_bounds(epsilon, 200)[0] * normal(-mu / 2 - epsilon / mu)[0]
    return normal(mu / 2 - epsilon / mu)[1] - low
