"""Slow, naive twins in high precision: their only virtue is that they are easy to believe."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp


def leaky_delta(parts: Sequence[tuple[float, float]], epsilon: float, digits: int = 60) -> mp.mpf:
    """δ at ε of a product of leaky responses, summed over all answers: exponential."""
    with mp.workdps(digits):
        unleaked = mp.mpf(1)
        for _, delta in parts:
            unleaked *= 1 - mp.mpf(delta)
        total = mp.mpf(0)
        for answers in itertools.product((1, -1), repeat=len(parts)):
            left, right, loss = mp.mpf(1), mp.mpf(1), Fraction(0)
            for (own, _), answer in zip(parts, answers, strict=True):
                loss += Fraction(own) * answer
                weight = mp.exp(own) / (1 + mp.exp(own))
                left *= weight if answer == 1 else 1 - weight
                right *= 1 - weight if answer == 1 else weight
            if loss > epsilon:  # exactly: where they are equal, digits would leave a last one
                total += left - mp.exp(epsilon) * right
        return 1 - unleaked + unleaked * total


def equal_leaky_delta(own: float, leak: float, times: int, epsilon: float) -> mp.mpf:
    """δ at ε of `times` equal leaky responses, summed over the number of truthful answers."""
    with mp.workdps(80):
        weight = 1 / (1 + mp.exp(-mp.mpf(own)))
        unleaked = (1 - mp.mpf(leak)) ** times
        total = mp.mpf(0)
        for count in range(times + 1):
            left = mp.binomial(times, count) * weight**count * (1 - weight) ** (times - count)
            right = left * mp.exp(-(2 * count - times) * mp.mpf(own))
            if (2 * count - times) * Fraction(own) > epsilon:
                total += left - mp.exp(mp.mpf(epsilon)) * right
        return 1 - unleaked + unleaked * total


def gaussian_delta(mu: float, epsilon: float) -> mp.mpf:
    """δ at ε of N(μ, 1) against N(0, 1) at 400 digits, where cancellation cannot matter."""
    with mp.workdps(400):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
