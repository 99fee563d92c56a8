"""Tails of binomial laws as normal scores."""

import numpy as np
from scipy.special import betainc, ndtri, ndtri_exp, xlogy

from dpverify.arrays import Floats

_LARGEST_Z = 1e6  # where an outcome is impossible


def z_many(hits: int, trials: int, p: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, p) ≥ hits)), or a little less; it falls in p."""
    if hits == 0:
        return np.full_like(p, -np.inf)
    tail = np.asarray(betainc(hits, trials - hits + 1.0, p))
    rest = 1.0 - tail
    high = tail > 0.9  # where the difference has too few digits
    if high.any():
        rest[high] = betainc(trials - hits + 1.0, hits, 1.0 - p[high])
    return _z(tail, rest, hits, trials, p)


def z_few(hits: int, trials: int, q: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, q) ≤ hits)), or a little less; it grows in q."""
    return z_many(trials - hits, trials, 1.0 - q)


def _z(tail: Floats, rest: Floats, hits: int, trials: int, p: Floats) -> Floats:
    """−Φ⁻¹(tail), from whichever of tail and rest = 1 − tail has more digits.

    Where the tail underflows, Chernoff's bound exp(−n·KL(hits/n, p)) on it stands in.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores: Floats = np.where(tail < 0.5, -ndtri(tail), ndtri(rest))
        tiny = tail < 1e-290
        if tiny.any():
            rate, far = hits / trials, p[tiny]
            divergence = xlogy(rate, rate / far) + xlogy(1.0 - rate, (1.0 - rate) / (1.0 - far))
            bound = -ndtri_exp(np.minimum(-trials * divergence, 0.0))
            scores[tiny] = np.where(far > 0.0, bound, _LARGEST_Z)
    return np.minimum(scores, _LARGEST_Z)
