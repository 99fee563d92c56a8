r"""Gaussian noise on a batch that may hold one of two records: three means form a triangle.

Tell an attacker the rest of the batch, and the record that stands in where the odd one is not
drawn. What is left is, with N the noise and q the rate,

    (1−q)·N(u) + q·N(v)  against  (1−q)·N(u) + q·N(w),

where u, v and w differ by one replaced record each: the sides of the triangle are at most Δ. Only
A = |v−u|², B = |w−u|² and C = ⟨v−u, w−u⟩ matter. Under N(u) the densities are X = e^(a·z − A/2) and
Y = e^(b·z − B/2), and with R = 1−q+qX, S = 1−q+qY every f-divergence E[R·F(x·S/R)], F convex, has

    ∂/∂A = ½E[X²·g_XX] ≥ 0,   ∂/∂B = ½E[Y²·g_YY] ≥ 0,   ∂/∂C = E[XY·g_XY] ≤ 0,

g(X, Y) = R·F(x·S/R). So |v−w| = Δ in the worst case, C = (A + B − Δ²)/2, and along that surface

    ∂/∂A = ½(1−q)(qx)²·E[F″(x·S/R)·X·S·(X−Y)/R³],
    ∂/∂B = ½(1−q)(qx)²·E[F″(x·S/R)·Y·(Y−X)/R²]:

for the profile at x ≥ 1, whose F″ sits where R ≥ S, it rises in A and falls in B; at x ≤ 1 the
other way round. [proofs/adaptive_batches.py]

Put the first axis along v−w. Then X = G·e^(αz − α²/2), Y = G·e^(βz − β²/2) with α ≥ 0 ≥ β, α−β = Δ,
and G = e^(ηt − η²/2) of an independent t, α² + η² = A. Given G = g the profile is made of normal
tails at the one z where R = x·S, and it is convex in g: splitting the masses of G between nodes
around their mean bounds it from above, and any event bounds it from below.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.guarantees import End

ROUNDING = 1e-12
"""What sums of normal tails may be off, as a share of the sum of all terms' magnitudes."""

_SPACING = 0.05  # of ln G at most
_SHARE = 0.2  # of its standard deviation at most
_LEAST_SPACING = 1e-4  # whatever that is: masses are split between nodes by differences of these
_SPLITTING = 1e-11  # which leaves them off by no more than this
_SPREADS = 8.0  # standard deviations of ln G that the nodes cover
_MOST_STEPS = 60  # of Newton; five or six are usual
_FAR = 60.0  # standard deviations, beyond which there is nothing
_CLOSE = 1e-8  # a cut that is off by so much costs its square, relative


@dataclass(frozen=True, slots=True)
class Triangle:
    """Squares of |v−u| and |w−u|, in units of Δ²; |v−w| = Δ, in units of the noise `size`."""

    first: float
    second: float
    size: float

    @property
    def along(self) -> float:
        """α, the part of v−u along v−w."""
        return self.size * min(max((1.0 + self.first - self.second) / 2.0, 0.0), 1.0)

    @property
    def across(self) -> float:
        """η, the part of v−u across; what it is off counts as its square, where it enters."""
        share = (1.0 + self.first - self.second) / 2.0
        square = self.first - share * share
        return self.size * math.sqrt(square) if square > 0.0 else 0.0

    def calls(self, ratios: Floats, rate: float, end: End) -> Floats:
        """The profile at ratios x ≥ 1, bounded towards `end`; from below, as lines through events.

        From above: E(R − x·S)₊ at the ratios. From below: rows of P and Q of one event each, the
        one that is best at that ratio but for the rounding of G.
        """
        alpha = self.along
        beta = alpha - self.size
        if end is End.UPPER:
            nodes, weights, excess = split(self.across)
        else:
            nodes, weights, biased = merged(self.across)
        x = ratios[:, None]
        strike = (1.0 - rate) * (x - 1.0)
        cut = _crossing(alpha, beta, x, strike / (rate * nodes))
        flat, up, down = (
            scipy.special.ndtr(-cut),
            scipy.special.ndtr(alpha - cut),
            scipy.special.ndtr(beta - cut),
        )
        if end is End.LOWER:
            common = (1.0 - rate) * (flat @ weights)
            left, right = (common + rate * (tail @ biased) for tail in (up, down))
            return np.stack([left * (1.0 - ROUNDING), right * (1.0 + ROUNDING)])
        gain, loss = rate * (up @ (weights * nodes)), rate * ratios * (down @ (weights * nodes))
        paid = strike[:, 0] * (flat @ weights)
        terms = gain + loss + paid
        return np.maximum(gain - loss - paid, 0.0) + ROUNDING * terms + rate * excess


def split(spread: float) -> tuple[Floats, Floats, float]:
    """Nodes and masses of a law that is above G in the convex order, and its mean beyond them."""
    if spread == 0.0:
        return np.ones(1), np.ones(1), 0.0
    logs, masses, means = _cells(spread)
    nodes = np.exp(logs)
    below, above = nodes[:-1], nodes[1:]
    width = above - below
    up = np.maximum(means[1:-1] - below * masses[1:-1], 0.0) / width
    down = np.maximum(above * masses[1:-1] - means[1:-1], 0.0) / width
    weights = np.zeros(len(nodes))
    weights[:-1] += down
    weights[1:] += up
    weights[0] += means[0] / nodes[0]  # of what lies below, the rest is at 0, where nothing is told
    weights[-1] += masses[-1]
    excess = float(max(means[-1] - masses[-1] * nodes[-1], 0.0))
    return nodes, weights * (1.0 + _SPLITTING), excess


def merged(spread: float) -> tuple[Floats, Floats, Floats]:
    """Cells of G: about their mean, their mass, and their part of the mean."""
    if spread == 0.0:
        return np.ones(1), np.ones(1), np.ones(1)
    _, masses, means = _cells(spread)
    masses, means = masses[1:-1], means[1:-1]
    return means / masses, masses, means


def _cells(spread: float) -> tuple[Floats, Floats, Floats]:
    """Edges of ln G, and the mass and mean of the cells between and beyond them."""
    spacing = max(min(_SPACING, _SHARE * spread), _LEAST_SPACING)
    most = max(_SPREADS * spread + spread**2 / 2.0, spacing)
    count = math.ceil(2.0 * most / spacing)
    logs = np.linspace(-most, most, count)
    return logs, _normal((logs / spread) + spread / 2.0), _normal((logs / spread) - spread / 2.0)


def _normal(edges: Floats) -> Floats:
    """Normal masses of the cells between and beyond edges, each from its nearer tail."""
    lower = np.concatenate([[0.0], scipy.special.ndtr(edges), [1.0]])
    upper = np.concatenate([[1.0], scipy.special.ndtr(-edges), [0.0]])
    return np.where(lower[1:] < 0.5, np.diff(lower), -np.diff(upper))


def _crossing(alpha: float, beta: float, x: Floats, strike: Floats) -> Floats:
    """The z where e^(αz − α²/2) = strike + x·e^(βz − β²/2); ∞ if there is none.

    The difference of logarithms is concave and rises, so that Newton's steps climb to the root from
    the points, left of it, where either term alone would be all.
    """
    with np.errstate(divide="ignore", over="ignore"):
        if alpha == 0.0:
            rest = np.maximum(1.0 - strike, 0.0) / x
            return (np.log(rest) + beta * beta / 2.0) / beta
        start = (np.log(x) + (alpha * alpha - beta * beta) / 2.0) / (alpha - beta)
        z = np.maximum(start, (np.log(strike) + alpha * alpha / 2.0) / alpha)
        for _ in range(_MOST_STEPS):
            moving = x * np.exp(beta * z - beta * beta / 2.0)
            total = strike + moving
            gap = alpha * z - alpha * alpha / 2.0 - np.log(total)
            step = gap / (alpha - beta * moving / total)
            z = z - step
            if ((np.abs(step) <= _CLOSE) | (z > _FAR)).all():
                return z
    raise ArithmeticError(f"alpha={alpha!r}, beta={beta!r}: the cut was not found")
