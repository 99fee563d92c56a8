"""The cost of one request in each unit: ε, ρ, μ², Rényi divergences, and leak probability.

A part whose loss is unbounded with a small probability (anything that is (ε, δ)-DP with δ > 0) is
seen as a coin that leaks all, or else a part without leaks: `unleaked` in the rule of Rényi
composition says why. The coin is charged as `leak`.
"""

import math
from fractions import Fraction

from dpverify.accounting.parts import Part
from dpverify.accounting.rules.gdp import squared_mu_of
from dpverify.accounting.rules.rdp import renyi_divergence, unleaked
from dpverify.guarantees import RenyiDP, ZeroConcentratedDP
from dpverify.ledger.amounts import Amount, amount_of
from dpverify.pairs.discrete.gaussian import DiscreteGaussianPair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair

_CLOSED = 256  # largest order at which divergences of samples are computed; beyond, of the base


def split(part: Part) -> tuple[Fraction, Part | None]:
    """The probability that one run leaks everything, and the part given that it does not.

    1 for what hides nothing, and then no part is left; no part where nothing but leaks is told.
    Where losses are unbounded besides, the part as it is: a bound on leaks alone says nothing.
    """
    sides = () if part.pair is None else (part.pair, part.pair.reversed)
    if any(side.singular_mass == 1 for side in sides):
        return Fraction(1), None
    if any(side.max_loss == math.inf for side in sides):
        return Fraction(), part
    kept, leaks = unleaked((part,))
    chance = Fraction(leaks[0][0].delta) if leaks else Fraction()
    return chance, (kept[0] if kept else None)


def largest_loss(part: Part) -> Amount:
    """ε of one run of a part that does not leak; ∞ if its loss is unbounded."""
    match part.seen:
        case ZeroConcentratedDP() | RenyiDP():
            return math.inf
        case LaplacePair(scale=scale, sensitivity=sensitivity):
            return Fraction(sensitivity) / Fraction(scale)  # exact, where a float is rounded up
        case pair:
            sides = (pair, pair.reversed)
            if any(side.singular_mass > 0 for side in sides):
                return math.inf  # a part that leaks is split first
            return amount_of(max(side.max_loss for side in sides))


def squared_mu(part: Part) -> Amount:
    """μ² of one run; ∞ if no theorem gives one.

    A sample of records shows no more than all of them do, so noise on a sample has the μ of the
    noise; where a record is replaced by another one, both may be drawn: twice that.
    """
    match part.seen:
        case SubsampledPair(base=GaussianPair(squared_mu=base), mixed=mixed):
            return base * (4 if mixed is Mixed.BOTH else 1)
        case WithoutReplacementPair(base=GaussianPair(squared_mu=base)):
            return base
        case _:
            known = squared_mu_of(part)
            return math.inf if known is None else known


def rho(part: Part) -> Amount:
    """ρ of one run: as given, μ²/2, or ε²/2 under ε-DP; ∞ if no theorem gives one.

    Discrete Gaussian noise has the ρ of the continuous one, of a shift by a whole number in one
    coordinate: the worst for its ℓ1 sensitivity, as ‖x‖₂ ≤ ‖x‖₁. [CKS20 v6 Prop. 5]
    """
    match part.seen:
        case ZeroConcentratedDP(rho=given):
            return amount_of(given)
        case DiscreteGaussianPair(sigma=sigma, shift=shift):
            return (shift / Fraction(sigma)) ** 2 / 2
        case _:
            largest = largest_loss(part)
            if isinstance(largest, Fraction):
                return largest**2 / 2
            spread = squared_mu(part)
            return spread / 2 if isinstance(spread, Fraction) else math.inf


def is_linear(part: Part) -> bool:
    """Whether the divergence of every order α is at most α·ρ, so one number gives them all."""
    return isinstance(part.seen, GaussianPair | DiscreteGaussianPair | ZeroConcentratedDP)


def divergence(part: Part, order: float) -> Amount:
    """The Rényi divergence of one run at an order, rounded up; ∞ if nothing bounds it.

    Noise on a sample has a closed form at whole orders alone. Between them (α−1)·D_α is convex in
    α and 0 at α = 1, so that a chord bounds it; beyond 256, the noise without sampling does.
    """
    if is_linear(part):
        return Fraction(order) * rho(part)
    match part.seen:
        case SubsampledPair(base=GaussianPair(), mixed=Mixed.LEFT | Mixed.RIGHT):
            return _sampled(part, order)
        case SubsampledPair(base=GaussianPair()) if order > _CLOSED:
            return Fraction(order) * rho(part)
    return amount_of(renyi_divergence(part, float(order)))


def _sampled(part: Part, order: float) -> Amount:
    if order > _CLOSED:
        return Fraction(order) * rho(part)
    low = math.floor(order)
    if low == order:
        return Fraction(renyi_divergence(part, float(order)))
    above = Fraction(renyi_divergence(part, float(low + 1)))
    below = Fraction(renyi_divergence(part, float(low))) if low > 1 else Fraction()
    share = Fraction(order) - low
    chord = (1 - share) * (low - 1) * below + share * low * above
    return chord / (Fraction(order) - 1)
