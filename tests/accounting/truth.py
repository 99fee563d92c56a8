"""Slow, naive twins in high precision: their only virtue is that they are easy to believe."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp
from flint import acb, arb, ctx
from scipy.optimize import brentq


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


def subsampled_delta(*, sigma: float, rate: float, times: int, epsilon: float) -> float:
    """δ(ε) of Poisson-subsampled Gaussian noise, a record removed, for very many steps.

    With M(z) = E r^(z+1) under N(0, σ²), r = 1 − q + q·e^((2x−1)/(2σ²)), it is 1/(2πi) times the
    integral of M(z)^k·e^(−zε)/(z(z+1)) over a vertical line, here through the saddle; both by the
    trapezoid rule, which is right to far more digits than are asked for, with 160 bits.
    """
    with ctx.workprec(160):
        scale, share = arb(sigma), arb(rate)
        points = [i * scale / 40 for i in range(-14 * 40, 16 * 40 + math.ceil(120 / sigma))]
        weights = [(-((x / scale) ** 2) / 2).exp() / (40 * (2 * arb.pi()).sqrt()) for x in points]
        ratios = [(1 - share + share * ((2 * x - 1) / (2 * scale**2)).exp()).log() for x in points]

        def log_moment(z: acb) -> acb:
            terms = (((z + 1) * r).exp() * w for r, w in zip(ratios, weights, strict=True))
            return times * sum(terms, acb(0)).log()

        def slope(z: float) -> float:
            ends = (float(log_moment(acb(z * share)).real) for share in (1.001, 0.999))
            return (next(ends) - next(ends)) / (0.002 * z)

        tilt = math.exp(
            brentq(lambda t: slope(math.exp(t)) - math.exp(-t) - epsilon, -12.0, 3.0, xtol=1e-4)
        )
        curvature = (slope(1.03 * tilt) - slope(0.97 * tilt)) / (0.06 * tilt)
        step, total = 0.15 / math.sqrt(curvature), arb(0)
        for j in range(94):
            z = acb(tilt, j * step)
            term = (log_moment(z) - z * arb(epsilon)).exp() / (z * (z + 1))
            total += term.real * (2 if j else 1)
        return float(total * step / (2 * arb.pi()))
