"""Truths between two numbers, where a guarantee leaves open which mechanism keeps it."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
from scipy.optimize import minimize_scalar

from tests.accounting.fuzz.laws import DIGITS, Normal, Sampled, exactly
from tests.accounting.fuzz.truths import Interval, Parts, Profile, sampled_once, worse


def batched(base: Normal, rate: Fraction, times: int) -> Profile:
    """A batch without replacement: one alone exactly; of several, all records removed at least."""
    removed = Sampled(base, rate, "removed")
    if times > 1:
        instance = worse([(removed, times)])
        return lambda epsilon: (instance(epsilon)[0], mp.mpf(1))

    def alone(epsilon: float) -> Interval:
        value = sampled_once(removed, epsilon)
        return value * (1 - mp.mpf(1e-30)), value * (1 + mp.mpf(1e-30))

    return alone


def concentrated(parts: Parts, rho: float, beside: tuple[float, float, int]) -> Profile:
    """ρ-zCDP and k (ε, δ) guarantees: Gaussian noise below; above, one Rényi order.

    With L the probability of a leak, L + (1−L)·e^{(α−1)(D−ε)}/(α−1)·(1−1/α)^α, where
    D = α·ρ + k·min(ε, α·ε²/2). [Canonne, Kamath, Steinke 2020, Prop. 12; Bun, Steinke 2016]
    """
    instance = worse(parts)
    own, leak, times = beside
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e5), 3000))
    spent = orders * rho + times * np.minimum(own, orders * own**2 / 2)

    def profile(epsilon: float) -> Interval:
        logs = (orders - 1) * (spent - epsilon) - np.log(orders - 1)
        logs += orders * np.log1p(-1 / orders)
        with mp.workdps(DIGITS):
            unleaked = (1 - exactly(leak)) ** times
            above = 1 - unleaked + unleaked * mp.exp(float(logs.min())) * (1 + mp.mpf(1e-9))
            return instance(epsilon)[0], above

    return profile


def one_order(order: float, divergence: float) -> Profile:
    """The largest p − e^ε·q with p^α·q^{1−α} + (1−p)^α·(1−q)^{1−α} ≤ e^{(α−1)γ}: a lower bound."""
    log_most = (order - 1) * divergence

    def log_moment(p: float, q: float) -> float:
        first = order * math.log(p) + (1 - order) * math.log(q)
        return float(np.logaddexp(first, order * math.log1p(-p) + (1 - order) * math.log1p(-q)))

    def largest_p(q: float) -> float:
        low, high = q, 1 - 1e-15
        if high <= low or log_moment(high, q) <= log_most:
            return min(high, 1.0)
        for _ in range(80):
            p = (low + high) / 2
            low, high = (p, high) if log_moment(p, q) <= log_most else (low, p)
        return low

    def profile(epsilon: float) -> Interval:
        def loss(log_q: float) -> float:
            q = math.exp(log_q)
            return math.exp(epsilon) * q - largest_p(q)

        grid = np.linspace(-60.0, -1e-6, 200)
        best = grid[int(np.argmin([loss(float(x)) for x in grid]))]
        ends = (float(best) - 0.4, min(float(best) + 0.4, -1e-9))
        found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-10})
        return mp.mpf(max(-float(found.fun) - 1e-12, 0.0)), mp.mpf(1)

    return profile
