"""The formulas of objective perturbation, on balls: what a rule charges, rounded up.

L and β are the Lipschitz and smoothness constants of one record's loss, λ the ridge, σ or τ the
noise. For the logistic loss R is the bound on ‖x‖ and κ = R²/λ. `last` is the μ of a Gaussian noise
that is added to the minimum: its square joins those of the corners, and the corner 0 has it alone.
[proofs/approximate_minimum_gaussian.py]
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb, ctx

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
    """What the formulas know of a problem.

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
        """How many extremes the slope has that are not 0."""
        return self.classes - 1

    def determinant(self) -> arb:
        """ln(1 + β/λ); for softmax (K − 1)·ln(1 + 2β/(Kλ)).

        [proofs/determinant_ratio.py, proofs/objective_perturbation_softmax.py]
        """
        ratio = ball(self.smoothness) / ball(self.ridge)
        if self.softmax:
            return self.corners * (1 + 2 * ratio / self.classes).log()
        return (1 + ratio).log()

    def least_ridge(self, epsilon: float) -> float:
        """The λ, about, whose determinant alone costs ε."""
        if self.softmax:
            share = 2.0 * self.smoothness / self.classes
            return share / math.expm1(epsilon / self.corners)
        return self.smoothness / math.expm1(epsilon)

    def pair(self, sigma: float) -> GaussianPair:
        return GaussianPair.of(sigma=sigma, sensitivity=self.lipschitz)


def logistic_epsilon(*, norm: float, ridge: float, scale: float, replaced: bool) -> float:
    """max over p of qR/τ + ln(1 + κp(1−p)), a concave function of p.

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
    """H(ε̃, L/σ) a corner, for ε̃ = ε − determinant ≥ 0; beyond, no more than 1 is claimed."""
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
    """2·H(ε̃, L/σ), or 1 − e^ε̂ + 2·e^ε̂·H(L²/(2σ²), L/σ) where ε̂ = ε̃ − L²/(2σ²) < 0.

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
    """The sum over cuts 0 = p₀ < … < 1 and q = pⱼ, 1 + pⱼ of H(ε − lⱼ, qL/σ); the best of a few.

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
    """(1 − e^c)₊ + a·e^ε̃·√(2π)·Φ(−a − max(c/a, 0)) for a = 2L/σ and c = ε̃ − a²/2."""
    with ctx.workprec(_BITS):
        a = 2 * ball(constants.lipschitz) / ball(sigma)
        left = ball(epsilon) - constants.determinant()
        c = left - a * a / 2
        start = (c / a).max(arb(0))
        tail = a * left.exp() * (2 * arb.pi()).sqrt() * upper_tail(a + start)
        return probability_above((1 - c.exp()).max(arb(0)) + tail)


def kifer_delta(constants: Constants, sigma: float, epsilon: float) -> float:
    """The δ for which σ = L·√(8·ln(2/δ) + 4ε)/ε; 1 if λ < 2β/ε."""
    if constants.ridge * epsilon < 2.0 * constants.smoothness or epsilon == 0.0:
        return 1.0
    with ctx.workprec(_BITS):
        ratio = ball(epsilon) * ball(sigma) / ball(constants.lipschitz)
        return probability_above(2 * (-(ratio**2 - 4 * ball(epsilon)) / 8).exp())
