"""Discrete Gaussian noise, shifted against unshifted."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.balls import ball, enclose
from dpverify.errors import as_count, as_positive, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.discrete.thresholds import largest_excess, trade_off
from dpverify.pairs.loss_law import AnyLossLaw, LossLaw
from dpverify.pairs.profile_law import ProfileLaw
from dpverify.pairs.ramps import UNIT

_REACH = 40.0  # standard deviations with an atom each; e^(−_REACH²/2) is no positive float
_LOG_BEYOND = 1.0 - _REACH**2 / 2.0
_MOST_ATOMS = 1 << 20
_SMOOTH = 5.0  # σ from which on sums are integrals with a short correction
_FAR = 200.0  # standard deviations
_CRAMER = 1.0865  # |He_n(u)|·e^(−u²/4) ≤ 1.0865·√n!


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianPair(Pair):
    """Left s + Z, right Z, with P(Z = k) ∝ e^(−k²/(2σ²)).

    The loss at k is (2sk − s²)/(2σ²), of even spacing s/σ². It rises with s wherever it is
    positive, so a shift dominates all smaller ones. [CKS20, arXiv 2004.00010v6]

    >>> round(DiscreteGaussianPair(sigma=1.0, shift=1).delta(1.0), 6)
    0.141351
    """

    sigma: float
    shift: int
    singular_mass = 0.0
    max_loss = math.inf

    def __post_init__(self) -> None:
        settle(self, sigma=as_positive("sigma", self.sigma))
        settle(self, shift=as_count("shift", self.shift))

    @property
    def reversed(self) -> "DiscreteGaussianPair":
        """Reflecting about s/2 exchanges the two distributions."""
        return self

    def profile_ball(self, epsilon: arb) -> arb:
        """The largest P(k ≥ t) − e^ε·Q(k ≥ t) over whole t."""
        variance, shift = ball(self.sigma) ** 2, self.shift

        def excess(cut: int) -> arb:
            return upper_tail(self.sigma, cut - shift) - epsilon.exp() * upper_tail(self.sigma, cut)

        crossing = epsilon * variance / shift + ball(shift) / 2
        if crossing > _FAR * ball(self.sigma) + shift:
            return arb(0).union(arb((1, -28_000)))  # P(Z ≥ 200·σ) < e^(−20,000): no positive float
        return largest_excess(excess, crossing, None, None).max(arb(0))

    def trade_off_ball(self, false_alarm: arb) -> arb:
        return trade_off(lambda start: upper_tail(self.sigma, start), self.shift, false_alarm)

    def renyi_ball(self, order: arb) -> arb:
        """α·s²/(2σ²): attained where α·s is whole, and an upper bound elsewhere. [CKS20 Prop. 5]"""
        return order * (self.shift / ball(self.sigma)) ** 2 / 2

    def kullback_leibler_ball(self) -> arb:
        return self.renyi_ball(arb(1))

    def grouped(self, size: int) -> "DiscreteGaussianPair":
        """The shifts of all records may point the same way, and add up in one coordinate."""
        return replace(self, shift=self.shift * size)

    def loss_law(self) -> AnyLossLaw:
        """An atom for each k within 40 σ of the middle; wide noise is left to its profile."""
        sigma = float(self.sigma)
        reach = math.ceil(_REACH * sigma) + 1
        if 2 * reach >= _MOST_ATOMS:
            return ProfileLaw(self)
        noise = np.arange(-reach, reach + 1.0)
        log_total = enclose(lambda: total(self.sigma).log())[1]
        ratio = self.shift / sigma
        losses = ratio * (noise / sigma + 0.5 * ratio)
        size = _REACH**2 + abs(log_total) + float(np.abs(losses).max())
        return LossLaw(
            losses=losses,
            log_masses=-0.5 * (noise / sigma) ** 2 - log_total,
            loss_error=16.0 * UNIT * (1.0 + size),
            mass_error=16.0 * UNIT * (1.0 + size),
            log_omitted=_LOG_BEYOND,
        )


def upper_tail(sigma: float, start: int) -> arb:
    """P(Z ≥ start)."""
    if start > 0:
        return _sum_from(sigma, start) / total(sigma)
    return 1 - _sum_from(sigma, 1 - start) / total(sigma)


def total(sigma: float) -> arb:
    """Σ e^(−k²/(2σ²)) over all whole k."""
    return _total(sigma, ctx.prec)


@lru_cache(maxsize=256)
def _total(sigma: float, bits: int) -> arb:
    with ctx.workprec(bits):
        return 1 + 2 * _sum_from(sigma, 1)


def _sum_from(sigma: float, start: int) -> arb:
    """Σ e^(−k²/(2σ²)) over k ≥ start, for start ≥ 1."""
    if sigma >= _SMOOTH and _is_smooth(float(sigma), start):
        found = _euler_maclaurin(sigma, start)
        if found is not None:
            return found
    half = 1 / (2 * ball(sigma) ** 2)
    term, fall = (-half * start * start).exp(), (-half * (2 * start + 1)).exp()
    slower, added = (-2 * half).exp(), arb(0)
    while True:
        added += term
        term, fall = term * fall, fall * slower
        # Every later term is smaller than the one before it by more than the factor `fall`.
        rest = term / (1 - fall)
        if rest < added * arb((1, -ctx.prec - 8)):
            return added + arb(0).union(rest)


def _is_smooth(sigma: float, start: int) -> bool:
    """Whether corrections to an integral take less work than adding up terms; about."""
    u = start / sigma
    terms = sigma * min(ctx.prec / u, math.sqrt(2.0 * ctx.prec))
    corrections = (ctx.prec + 0.36 * u * u) / math.log2(sigma)
    return 8.0 * corrections < terms


def _euler_maclaurin(sigma: float, start: int) -> arb | None:
    """The same by Euler and Maclaurin: integral, half the first term, derivatives; None if too few.

    With u = start/σ, the n-th derivative is (−1/σ)ⁿ·Heₙ(u)·e^(−u²/2); after p corrections at most
    4·(2π)^(−2p)·∫|g^(2p)| is left, and |Heₙ(u)| ≤ 1.0865·√n!·e^(u²/4). [Cramér 1926]
    """
    scale = ball(sigma)
    u = start / scale
    first, root = (-u * u / 2).exp(), arb(2).sqrt()
    added = scale * (arb.pi() / 2).sqrt() * (u / root).erfc() + first / 2
    wanted = added * arb((1, -ctx.prec))
    rest = 4 * _CRAMER * scale * arb.pi().sqrt() * (u / 2).erfc()
    before, here, power = arb(1), u, 1 / scale  # He₀, He₁, 1/σ
    factorial = 1
    for i in range(1, int((math.tau * float(sigma)) ** 2 / 2.0)):
        factorial *= (2 * i - 1) * 2 * i
        added += arb.bernoulli(2 * i) / factorial * power * here * first
        left = rest * arb(factorial).sqrt() / (2 * arb.pi() * scale) ** (2 * i)
        if left < wanted:
            return added + arb(0, 1) * left
        for n in (2 * i - 1, 2 * i):
            before, here = here, u * here - n * before
        power /= scale * scale
    return None
