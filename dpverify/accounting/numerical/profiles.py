"""Profiles of tilted grid laws at all nodes at once."""

import math

import numpy as np

from dpverify.arrays import Floats

_WIDEST_EXPONENT = 300.0


def tail_profile(masses: Floats, step: float, rate: float) -> Floats:
    """At each node i: Σ over j > i of mⱼ·e^(−rate·d)·(1 − e^(−d)) at distance d = (j − i)·step.

    With masses weighted by e^(rate·loss), this is the profile at the loss of node i, weighted
    likewise. Only positive numbers are added, so it is right to 2n roundings; ∞ on overflow.
    """
    shrunk = masses + _decayed_sums(masses, step, rate + 1.0)
    return _decayed_sums(-math.expm1(-step) * shrunk, step, rate)


def _decayed_sums(masses: Floats, step: float, rate: float) -> Floats:
    """At each node i: Σ over j > i of mⱼ·e^(−rate·(j−i)·step)."""
    count, scale = len(masses), abs(rate * step)
    block = count if scale * count <= _WIDEST_EXPONENT else max(1, int(_WIDEST_EXPONENT / scale))
    result = np.empty(count)
    beyond = 0.0  # the sum over all higher blocks, seen from the first node of the last one
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range((count - 1) // block * block, -1, -block):
            part = masses[start : start + block]
            decay = np.exp(-rate * step * np.arange(len(part) + 1))
            sums = np.empty(len(part) + 1)
            sums[-1] = beyond * decay[-1]
            np.cumsum((part * decay[:-1])[::-1], out=sums[-2::-1])
            sums[:-1] += sums[-1]
            result[start : start + block] = sums[1:] / decay[:-1]
            beyond = float(sums[0])
    return np.where(np.isnan(result), math.inf, result)
