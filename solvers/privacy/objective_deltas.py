"""The privacy formulas of objective perturbation in ball arithmetic, rounded up.

L and β are the Lipschitz and smoothness constants of one record's loss, λ the ridge, σ or τ the
noise. For the logistic loss R is the bound on ‖x‖ and κ = R²/λ. `last` is the μ of a Gaussian noise
that is added to the minimum: its square joins those of the corners, and the corner 0 has it alone.
[proofs/approximate_minimum_gaussian.py]

`LogisticProfile` integrates the privacy loss of logistic regression where a record is added or
removed. PL(u) is the largest over p in [0, 1] of (pm)²/2 + pmu + ln(1 + κp(1−p)), m = R/σ, and u is
standard normal. PL is a maximum of increasing lines in u, so increasing and convex, and chords
between nodes lie above it. Along a chord E(1 − e^(ε − PL))₊ is in closed form, which balls
evaluate. [proofs/objective_perturbation_logistic_gaussian.py]
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb, ctx
from scipy.special import log_ndtr, ndtr

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above, probability_above
from dpverify.pairs.gaussian import GaussianPair, upper_tail

_BITS = 192
_CUTS = (
    (Fraction(0), Fraction(1)),
    tuple(Fraction(i, 8) for i in range(9)),
    (Fraction(0), Fraction(3, 5), Fraction(4, 5), Fraction(9, 10), Fraction(1)),
    (Fraction(0), *(1 - Fraction(7, 10) ** j for j in range(1, 10)), Fraction(1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The constants of a problem that the formulas use.

    `classes` is 2 for losses of one score, whose slope has two extremes, and K for softmax, whose
    slope is a mixture of K vectors.
    """

    lipschitz: float
    smoothness: float
    ridge: float
    classes: int = 2
    softmax: bool = False

    @property
    def corners(self) -> int:
        """How many of the slope's two extremes are not 0."""
        return self.classes - 1

    def determinant(self) -> arb:
        """ln(1 + β/λ), the cost of the determinant; for softmax (K − 1)·ln(1 + 2β/(Kλ)).

        [proofs/determinant_ratio.py, proofs/objective_perturbation_softmax.py]
        """
        ratio = ball(self.smoothness) / ball(self.ridge)
        if self.softmax:
            return self.corners * (1 + 2 * ratio / self.classes).log()
        return (1 + ratio).log()

    def least_ridge(self, epsilon: float) -> float:
        """Roughly the λ at which the determinant alone costs ε."""
        if self.softmax:
            share = 2.0 * self.smoothness / self.classes
            return share / math.expm1(epsilon / self.corners)
        return self.smoothness / math.expm1(epsilon)

    def pair(self, sigma: float) -> GaussianPair:
        return GaussianPair.of(sigma=sigma, sensitivity=self.lipschitz)


def logistic_epsilon(*, norm: float, ridge: float, scale: float, replaced: bool) -> float:
    """ε of logistic regression with noise of density ∝ e^(−‖b‖/τ).

    max over p of qR/τ + ln(1 + κp(1−p)), a concave function of p.

    At any p its tangent bounds it; at the float nearest the maximum the tangent is nearly level.
    """
    a, k = norm / scale, norm**2 / ridge
    # The root of a·(1 + κp(1−p)) + κ·(1 − 2p) in (0, 1], written so that nothing cancels.
    half = (a - 2.0) * k / 2.0
    root = math.sqrt(half * half + a * k * (a + k))
    best = (half + root) / (a * k) if half > 0.0 else (a + k) / (root - half)
    p = ball(min(1.0, best))

    def bound() -> arb:
        slope = ball(norm) / ball(scale)
        bend = ball(norm) ** 2 / ball(ridge)
        inside = 1 + bend * p * (1 - p)
        q = 1 + p if replaced else p
        tangent = slope + bend * (1 - 2 * p) / inside
        return slope * q + inside.log() + (tangent * (1 - p)).max(-tangent * p)

    with ctx.workprec(_BITS):
        return float_above(bound())


def one_sided_delta(
    constants: Constants, sigma: float, epsilon: float, *, last: float = 0.0
) -> float:
    """δ under ADD_REMOVE, for softmax and for losses whose slope has one sign.

    H(ε̃, L/σ) a corner, for ε̃ = ε − determinant ≥ 0; beyond, no more than 1 is claimed.
    """
    with ctx.workprec(_BITS):
        left = ball(epsilon) - constants.determinant()
        if not left >= 0:
            return 1.0
        squared, rest = _squares(constants, sigma, last)
        corners = constants.corners * GaussianPair(squared + rest).profile_ball(left)
        return probability_above(corners + GaussianPair(rest).profile_ball(left))


def two_sided_delta(
    constants: Constants, sigma: float, epsilon: float, *, published: bool
) -> float:
    """δ under ADD_REMOVE, for losses whose slope has both signs.

    2·H(ε̃, L/σ), or 1 − e^ε̂ + 2·e^ε̂·H(L²/(2σ²), L/σ) where ε̂ = ε̃ − L²/(2σ²) < 0.

    The published rule has ε̃ = ε − |ln(1 − β/λ)| and needs λ > β.
    """
    pair = constants.pair(sigma)
    with ctx.workprec(_BITS):
        ratio = ball(constants.smoothness) / ball(constants.ridge)
        paid = -(1 - ratio).log() if published else (1 + ratio).log()
        half = (ball(constants.lipschitz) / ball(sigma)) ** 2 / 2
        left = ball(epsilon) - paid
        rest = left - half
        near = 1 - rest.exp() + 2 * rest.exp() * pair.profile_ball(half)
        if rest < 0:
            return probability_above(near)
        far = 2 * pair.profile_ball(left)
        return probability_above(far if rest >= 0 else far.max(near))


def united_delta(
    constants: Constants,
    sigma: float,
    epsilon: float,
    *,
    norm: float | None = None,
    last: float = 0.0,
) -> float:
    """δ under REPLACE_ONE, for softmax and for losses whose slope has one sign.

    The sum over cuts 0 = p₀ < … < 1 and q = pⱼ, 1 + pⱼ of H(ε − lⱼ, qL/σ); the best of a few.

    lⱼ bounds the log determinant ratio over the cells that touch pⱼ: ln(1 + β/λ), and then one
    cell is best; for the logistic loss, whose `norm` R is given, the largest ln(1 + p(1−p)R²/λ).
    """
    several = _CUTS[:1] if norm is None else _CUTS
    with ctx.workprec(_BITS):
        bend = arb(0) if norm is None else ball(norm) ** 2 / ball(constants.ridge)
        squares = _squares(constants, sigma, last)
        return min(_united(constants, squares, ball(epsilon), bend, cuts) for cuts in several)


def _squares(constants: Constants, sigma: float, last: float) -> tuple[Fraction, Fraction]:
    """(L/σ)², and the squared μ of a last Gaussian noise."""
    return (Fraction(constants.lipschitz) / Fraction(sigma)) ** 2, Fraction(last) ** 2


def _united(
    constants: Constants,
    squares: tuple[Fraction, Fraction],
    epsilon: arb,
    bend: arb,
    cuts: tuple[Fraction, ...],
) -> float:
    whole = constants.determinant()
    half = Fraction(1, 2)
    logs = [(1 + bend * ball(p * (1 - p))).log() for p in cuts]
    cells = [
        whole if len(cuts) == 2 or low <= half <= high else logs[i].max(logs[i + 1])
        for i, (low, high) in enumerate(pairwise(cuts))
    ]
    squared, rest = squares
    total = arb(0)
    for j, p in enumerate(cuts):
        touching = cells[max(j - 1, 0) : j + 1]
        left = epsilon - touching[0].max(touching[-1])
        if not left >= 0:
            return 1.0
        for q in (p, 1 + p):
            # With both records at one of their extremes there are so many pairs of them.
            pairs = constants.corners ** ((p > 0) + (q > p))
            total += pairs * GaussianPair(squared * q * q + rest).profile_ball(left)
    return probability_above(total)


def rayleigh_delta(constants: Constants, sigma: float, epsilon: float) -> float:
    """δ under REPLACE_ONE, for losses whose slope has both signs.

    (1 − e^c)₊ + a·e^ε̃·√(2π)·Φ(−a − max(c/a, 0)) for a = 2L/σ and c = ε̃ − a²/2.
    """
    with ctx.workprec(_BITS):
        a = 2 * ball(constants.lipschitz) / ball(sigma)
        left = ball(epsilon) - constants.determinant()
        c = left - a * a / 2
        start = (c / a).max(arb(0))
        tail = a * left.exp() * (2 * arb.pi()).sqrt() * upper_tail(a + start)
        return probability_above((1 - c.exp()).max(arb(0)) + tail)


def kifer_delta(constants: Constants, sigma: float, epsilon: float) -> float:
    """δ by the theorem of Kifer, Smith and Thakurta.

    The δ for which σ = L·√(8·ln(2/δ) + 4ε)/ε; 1 if λ < 2β/ε.
    """
    if constants.ridge * epsilon < 2.0 * constants.smoothness or epsilon == 0.0:
        return 1.0
    with ctx.workprec(_BITS):
        ratio = ball(epsilon) * ball(sigma) / ball(constants.lipschitz)
        return probability_above(2 * (-(ratio**2 - 4 * ball(epsilon)) / 8).exp())


LOGARITHM_ACCURACY = "NumPy's log1p is within 4 units in the last place"

_LOWEST = -12.0  # nodes start no lower; what is below counts as if it were at the first node
_REACH = 80.0  # the last node has a tail of about e^(−_REACH/2) against that of the first
_FINE, _COARSE = (128, 1024), (64, 192)  # nodes, and cells of p, to certify and to search with
_STEPS = 1500  # nodes of upper sums, which need more than chords do


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticProfile:
    """The δ of logistic regression at any ε, from m = R/σ and κ = R²/λ, both rounded up.

    >>> profile = LogisticProfile(shift=0.25, bend=2.0)
    >>> profile.delta(1.0) < 1.1e-5 < profile.delta(0.95)
    True
    """

    shift: float
    bend: float

    def losses(self, u: Floats, cells: int) -> Floats:
        """An upper bound on the privacy loss PL at each u, in floats, rounding included.

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
        """δ in plain floats with few nodes, used for searching."""
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
        """A rigorous upper bound on δ at ε, close to the integral.

        With a last Gaussian noise of μ = `last` it bounds E H(ε − PL(u), μ), by upper sums.
        """
        if last > 0.0:
            return self._followed_delta(epsilon, last)
        nodes, values = self._chords(epsilon, *_FINE)
        # Digits for δ itself, about as large as the first tail, and 80 more: fewer are faster.
        digits = -log_ndtr(-nodes[0]) / math.log(2.0)
        with ctx.workprec(min(_BITS, 80 + math.ceil(digits))):
            total = _integral(ball(epsilon), nodes, values)
            return probability_above(total)

    def _steps(self, epsilon: float, last: float, cells: int) -> tuple[Floats, Floats]:
        """Nodes around the u where PL reaches ε, and upper bounds on PL there."""
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
        """Nodes from the u where PL reaches ε, with values above both PL and ε.

        Where ε is beyond the middle of u they are denser at the start, where there is most mass: δ
        is then nearer to the integral than with three times as many equally far apart.
        """
        start = self._start(epsilon, cells)
        reach = math.sqrt(start**2 + _REACH) - start
        shares = np.linspace(0.0, 1.0, count + 1) ** 2
        if start <= 0.0:
            shares = np.linspace(0.0, 1.0, 3 * count + 1)
        nodes = start + reach * shares
        return nodes, np.maximum(self.losses(nodes, cells), epsilon)

    def _start(self, epsilon: float, cells: int) -> float:
        """A u where PL is about ε; any u is valid, as the mass below it is counted."""
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
