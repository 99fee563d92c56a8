"""The law of a sum of independent losses by adding and multiplying positive numbers only.

Slow but for short laws; in return every mass, however small, is right to a few roundings of
itself. No tilt can do that where the logarithm of the profile is convex, as it is for a rare large
loss.
"""

from collections.abc import Sequence

import numpy as np

from dpverify.accounting.numerical.fourier import Convolution
from dpverify.arrays import Floats
from dpverify.pairs.ramps import UNIT


class DirectConvolver:
    """Multiplies laws up as they come; keeps the whole sum."""

    def __init__(self) -> None:
        self._masses: Floats = np.ones(1)
        self._error = 0.0

    def add(self, masses: Floats, first: int, times: int) -> None:  # noqa: ARG002  # nothing is folded
        """Take the law with these masses another `times` times."""
        power, error = np.asarray(masses), 0.0
        while True:
            if times & 1:
                self._error += error + _roundings(self._masses, power)
                self._masses = np.convolve(self._masses, power)
            times >>= 1
            if not times:
                return
            error = 2.0 * error + _roundings(power, power)
            power = np.convolve(power, power)

    def result(self) -> Convolution:
        return Convolution(self._masses, 0.0, self._error)


def _roundings(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """Relative error of a sum of as many products as fit."""
    return 1.01 * UNIT * (min(len(first), len(second)) + 1)
