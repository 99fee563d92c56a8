"""The privacy loss of objective-perturbed logistic regression, integrated to a certified δ.

A record is added or removed. PL(u) is the largest over p in [0, 1] of
(pm)²/2 + pmu + ln(1 + κp(1−p)), m = R/σ, κ = R²/λ, and u is standard normal. PL is a maximum of
increasing lines in u, so increasing and convex, and chords between nodes lie above it. Along a
chord E(1 − e^(ε − PL))₊ is in closed form, which balls evaluate.
[proofs/objective_perturbation_logistic_gaussian.py]
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from scipy.special import log_ndtr, ndtr

from dpverify.arrays import Floats
from dpverify.balls import ball, probability_above
from dpverify.pairs.gaussian import GaussianPair, upper_tail

LOGARITHM_ACCURACY = "NumPy's log1p is within 4 units in the last place"

_LOWEST = -12.0  # nodes start no lower; what is below counts as if it were at the first node
_REACH = 80.0  # the last node has a tail of about e^(−_REACH/2) against that of the first
_FINE, _COARSE = (384, 1024), (128, 192)  # nodes, and cells of p, to certify and to search with
_STEPS = 1500  # nodes of upper sums, which need more than chords do
_BITS = 192


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticProfile:
    """m = R/σ and κ = R²/λ, both rounded up.

    >>> profile = LogisticProfile(shift=0.25, bend=2.0)
    >>> profile.delta(1.0) < 1.1e-5 < profile.delta(0.95)
    True
    """

    shift: float
    bend: float

    def losses(self, u: Floats, cells: int) -> Floats:
        """An upper bound on PL at each u, in floats, their rounding included.

        The quadratic part is convex in p, so over a cell it is at most its chord; the logarithm
        exceeds its chord by at most h²/8 times its largest −(ln g)″ there, which is
        (2κ + κ² − 2κ²t)/(1 + κt)² for t = p(1−p), falling in t.
        """
        p = np.sin(np.linspace(0.0, math.pi / 2, cells + 1)) ** 2
        t = p * (1.0 - p)
        scaled = self.shift * p
        logs = np.log1p(self.bend * t)
        value = 0.5 * scaled**2 + np.multiply.outer(u, scaled) + logs
        least = np.minimum(t[:-1], t[1:])
        bends = (2.0 + self.bend * (1.0 - 2.0 * least)) * self.bend / (1.0 + self.bend * least) ** 2
        over = np.diff(p) ** 2 / 8.0 * bends
        top = np.maximum(value[:, :-1], value[:, 1:]) + over
        size = 0.5 * scaled[-1] ** 2 + np.abs(u) * scaled[-1] + logs.max()
        bound: Floats = top.max(axis=1) + 2.0**-48 * (size + 1.0)
        return bound

    def estimate(self, epsilon: float, *, last: float = 0.0) -> float:
        """δ in plain floats, with few nodes: to search with."""
        if last > 0.0:
            return self._followed_estimate(epsilon, last)
        nodes, values = self._chords(epsilon, *_COARSE)
        slope = np.diff(values) / np.diff(nodes)
        start = epsilon - values[:-1] + slope * nodes[:-1] + slope**2 / 2.0
        masses = ndtr(-nodes[:-1]) - ndtr(-nodes[1:])
        tails = [np.exp(start + log_ndtr(-(end + slope))) for end in (nodes[:-1], nodes[1:])]
        below = ndtr(nodes[0]) * -math.expm1(epsilon - values[0])
        total = below + (masses - tails[0] + tails[1]).sum() + ndtr(-nodes[-1])
        return 1.0 if math.isnan(total) else float(min(1.0, max(0.0, total)))

    def delta(self, epsilon: float, *, last: float = 0.0) -> float:
        """A δ that is certainly large enough at ε, and nearly the integral.

        With a last Gaussian noise of μ = `last` it bounds E H(ε − PL(u), μ), by upper sums.
        """
        if last > 0.0:
            return self._followed_delta(epsilon, last)
        nodes, values = self._chords(epsilon, *_FINE)
        with ctx.workprec(_BITS):
            total = _integral(ball(epsilon), nodes, values)
            return probability_above(total)

    def _steps(self, epsilon: float, last: float, cells: int) -> tuple[Floats, Floats]:
        """Nodes around where PL reaches ε, a few μ before it on, and upper bounds on PL there."""
        start = self._start(epsilon - last * (10.0 + last), cells)
        reach = math.sqrt(start**2 + _REACH) - start
        nodes = start + reach * np.linspace(0.0, 1.0, _STEPS + 1)
        return nodes, self.losses(nodes, cells)

    def _followed_estimate(self, epsilon: float, last: float) -> float:
        nodes, values = self._steps(epsilon, last, _COARSE[1])
        left = epsilon - values
        heights = ndtr(last / 2 - left / last) - np.exp(left + log_ndtr(-last / 2 - left / last))
        masses = ndtr(-nodes[:-1]) - ndtr(-nodes[1:])
        total = ndtr(nodes[0]) * heights[0] + masses @ heights[1:] + ndtr(-nodes[-1])
        return 1.0 if math.isnan(total) else float(min(1.0, max(0.0, total)))

    def _followed_delta(self, epsilon: float, last: float) -> float:
        nodes, values = self._steps(epsilon, last, _FINE[1])
        with ctx.workprec(_BITS):
            pair = GaussianPair(Fraction(last) ** 2)
            heights = [pair.profile_ball(ball(epsilon) - ball(float(v))) for v in values]
            tails = [upper_tail(ball(float(u))) for u in nodes]
            total = (1 - tails[0]) * heights[0] + tails[-1]
            for i in range(len(nodes) - 1):
                total += (tails[i] - tails[i + 1]) * heights[i + 1]
            return probability_above(total)

    def _chords(self, epsilon: float, count: int, cells: int) -> tuple[Floats, Floats]:
        """Nodes from where PL reaches ε, and values there that are above PL and ε."""
        start = self._start(epsilon, cells)
        reach = math.sqrt(start**2 + _REACH) - start
        nodes = start + reach * np.linspace(0.0, 1.0, count + 1)
        return nodes, np.maximum(self.losses(nodes, cells), epsilon)

    def _start(self, epsilon: float, cells: int) -> float:
        """A u at which PL is about ε; any u is allowed, as the mass below it is counted."""
        low, high = _LOWEST, max(1.0, 2.0 * (abs(epsilon) + 1.0) / self.shift)
        for _ in range(6):
            grid = np.linspace(low, high, 33)
            below = int(np.count_nonzero(self.losses(grid, cells) <= epsilon))
            low, high = grid[max(below - 1, 0)], grid[min(below, 32)]
        return float(low)


def _integral(epsilon: arb, nodes: Floats, values: Floats) -> arb:
    """E(1 − e^(ε − chord(u))) over the nodes, the first value below them, and 1 above them.

    ∫ e^(−a − su)·φ(u) du = e^(s²/2 − a)·(Φ(u + s)) between the ends of a piece.
    """
    us, heights = [ball(float(u)) for u in nodes], [ball(float(v)) for v in values]
    tails = [upper_tail(u) for u in us]
    total = (1 - tails[0]) * (1 - (epsilon - heights[0]).exp()) + tails[-1]
    for i in range(len(us) - 1):
        slope = (heights[i + 1] - heights[i]) / (us[i + 1] - us[i])
        factor = (epsilon - heights[i] + slope * us[i] + slope * slope / 2).exp()
        moved = upper_tail(us[i] + slope) - upper_tail(us[i + 1] + slope)
        total += tails[i] - tails[i + 1] - factor * moved
    return total
