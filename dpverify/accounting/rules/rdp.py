"""Rényi composition: add up divergences of one order, and choose the best order at the end.

Every order gives a valid bound, so the search for the best one may be sloppy; what is returned is
then certified at the order found.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from flint import arb

from dpverify.accounting import deadline
from dpverify.accounting.one_variable import least
from dpverify.accounting.parts import Part, Parts, leak, spare
from dpverify.accounting.renyi_conversion import (
    approximate_epsilon,
    approximate_log_delta,
    renyi_delta,
    renyi_epsilon,
)
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.balls import ball, enclose, round_up
from dpverify.errors import as_between, check_nonempty
from dpverify.guarantees import ApproxDP, RenyiDP, ZeroConcentratedDP
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import RENYI_COMPOSITION

Grid: TypeAlias = list[tuple[float, float]]
"""Orders, and the divergence at each."""

_ORDERS = tuple(float(order) for order in 1.0 + np.logspace(-6, 9, 46))
# Mixtures have a closed form at whole orders only, and cost an integral elsewhere.
_WHOLE_ORDERS = tuple(
    float(order) for order in (*range(2, 33), *range(36, 65, 4), 80, 96, 128, 192, 256, 384, 512)
)
_FEW_ORDERS = _WHOLE_ORDERS[:15]
# Batches without replacement cost an integral at low orders.
_BATCH_ORDERS = tuple(
    float(order)
    for order in (1.5, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 512)
)
_LONGEST_INTEGRAL = 64.0  # order times μ²: beyond, an integral takes long and its mass is far out
_HOPELESS = 10**4  # squares of shifts over noise from which on no integral is worth it


@dataclass(frozen=True)
class RenyiComposition:
    """Parts at every order where all divergences are finite. [Mironov17 Prop. 1]"""

    parts: Parts

    def __post_init__(self) -> None:
        check_nonempty("parts", self.parts)

    def divergence(self, order: float) -> float:
        """Σ kᵢ·γᵢ(α), rounded up; ∞ where a part has no bound at this order."""
        terms = [(part.times, renyi_divergence(part, order)) for part in self.parts]
        if not all(math.isfinite(value) for _, value in terms):
            return math.inf
        return enclose(lambda: sum((times * ball(value) for times, value in terms), ball(0)))[1]

    def epsilon(self, delta: float) -> float:
        """Smallest ε over all orders at δ, by the lossless conversion."""
        delta = as_between("delta", delta, 0.0, 1.0)
        if delta in {0, 1}:
            return 0.0 if delta else self.divergence(math.inf)
        grid = self._grid()
        rough = [_simple_epsilon(o, g, delta) for o, g in grid]
        order = self._best_order(grid, lambda o, g: approximate_epsilon(o, g, delta), rough)
        return min(renyi_epsilon(order, self.divergence(order), delta), self.divergence(math.inf))

    def delta(self, epsilon: float) -> float:
        """Smallest δ over all orders at ε, by the lossless conversion."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        if epsilon >= self.divergence(math.inf):
            return 0.0
        grid = self._grid()
        rough = [_simple_log_delta(o, g, epsilon) for o, g in grid]
        order = self._best_order(grid, lambda o, g: approximate_log_delta(o, g, epsilon), rough)
        return renyi_delta(order, self.divergence(order), epsilon)

    @property
    def applies(self) -> bool:
        """Whether any order has a finite divergence."""
        return bool(self._grid())

    @cached_property
    def largest_order(self) -> float:
        """The largest order that all parts bound; Rényi guarantees bound none above their own."""
        return min(
            (p.seen.order for p in self.parts if isinstance(p.seen, RenyiDP)), default=math.inf
        )

    @property
    def _candidates(self) -> tuple[float, ...]:
        if any(isinstance(part.seen, WithoutReplacementPair) for part in self.parts):
            return _BATCH_ORDERS
        mixed = [part.seen for part in self.parts if isinstance(part.seen, SubsampledPair)]
        if not mixed:
            return _ORDERS
        # Where a record is replaced there is no closed form even there, and integrals add up.
        return _FEW_ORDERS if any(pair.mixed is Mixed.BOTH for pair in mixed) else _WHOLE_ORDERS

    def _grid(self) -> Grid:
        """Orders with their divergences; kept if they are complete.

        Every order gives a valid bound, so when time is over the first ones must do, for now.
        """
        kept: Grid | None = vars(self).get("_kept")
        if kept is not None:
            return kept
        orders = [o for o in self._candidates if o < self.largest_order]
        if math.isfinite(self.largest_order):
            orders.append(self.largest_order)
        values: Grid = []
        for order in orders:
            if values and deadline.is_over():
                break
            values.append((order, self.divergence(order)))
        found = [(order, value) for order, value in values if math.isfinite(value)]
        if len(values) == len(orders):
            vars(self)["_kept"] = found
        return found

    def _best_order(
        self, grid: Grid, cost: Callable[[float, float], float], rough: list[float]
    ) -> float:
        """An order that (nearly) minimizes `cost(order, divergence)`.

        `rough`, the closed form at each order, lies close above the cost: its least value is where
        the descent over the orders starts.
        """
        if not grid:
            return 2.0
        orders = [order for order, _ in grid]
        costs = lru_cache(maxsize=None)(lambda place: cost(*grid[place]))
        best = _descent(costs, int(np.argmin(rough)), len(orders))
        below, above = orders[max(best - 1, 0)], orders[min(best + 1, len(orders) - 1)]
        if below == above or self._candidates is not _ORDERS:
            return orders[best]

        @cache
        def at(log_order: float) -> float:
            order = 1.0 + math.exp(log_order)
            return cost(order, self.divergence(order))

        ends = (math.log(below - 1.0), math.log(above - 1.0))
        refined = least(at, *ends, 1e-5)
        return 1.0 + math.exp(refined) if at(refined) < costs(best) else orders[best]


@lru_cache(maxsize=64)
def renyi_composition(parts: Parts) -> RenyiComposition:
    """The composition of these parts, whose divergences serve every point of a profile."""
    return RenyiComposition(parts)


def _descent(cost: Callable[[int], float], start: int, count: int) -> int:
    """The place among `count` from which no neighbor is cheaper, beginning at `start`."""
    here = start
    while True:
        near = range(max(here - 1, 0), min(here + 2, count))
        best = min(near, key=cost)
        if cost(best) >= cost(here):
            return here
        here = best


def _simple_epsilon(order: float, divergence: float, delta: float) -> float:
    """`simple_epsilon` in plain floats. [CKS20 v4 Prop. 12]"""
    return divergence + math.log1p(-1 / order) - math.log(order * delta) / (order - 1)


def _simple_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """`_simple_epsilon` solved for ln δ."""
    return (order - 1) * (divergence + math.log1p(-1 / order) - epsilon) - math.log(order)


def renyi_divergence(part: Part, order: float) -> float:
    """The larger of a part's two divergences at an order in (1, ∞], rounded up."""
    match part.seen:
        case ZeroConcentratedDP(rho=rho):
            return math.inf if math.isinf(order) and rho > 0 else _times(rho, order)
        case RenyiDP(order=own, epsilon=epsilon):
            return epsilon if order <= own else math.inf
        case LeakyResponsePair(worst=worst) if worst.delta > 0:
            return math.inf
        case SubsampledPair(base=GaussianPair(squared_mu=square)) if square > _HOPELESS:
            # Mixing does not raise a divergence: at most that of two records, shifted apart.
            return math.inf if math.isinf(order) else _times(round_up(2 * square), order)
        case (
            SubsampledPair(base=GaussianPair() as base, mixed=Mixed.LEFT | Mixed.RIGHT) as pair
        ) if order <= _WHOLE_ORDERS[-1] and order == int(order):
            return _subsampled_gaussian(base, pair.rate, int(order))
        case WithoutReplacementPair() as pair:
            return _batch_divergence(pair, order)
        case Pair() as pair:
            same = pair.reversed == pair
            return pair.renyi(order) if same else max(pair.renyi(order), pair.reversed.renyi(order))


def _batch_divergence(pair: WithoutReplacementPair, order: float) -> float:
    """The divergence of a batch without replacement, or a bound that is faster to compute.

    The moment is E[ρ^α + ρ^(1−α); ρ > 1] plus the atom at ρ = 1, so at most E[ρ^α] + 1, and the
    former is that of a record removed from a Poisson sample. At high orders it dwarfs the 1. A
    divergence rises with its order, so the next whole one bounds what lies between, and the
    largest loss bounds all.
    """
    if order > _WHOLE_ORDERS[-1]:
        return pair.max_loss
    if isinstance(pair.base, LaplacePair) or order * pair.base.squared_mu <= _LONGEST_INTEGRAL:
        return pair.renyi(order)
    whole, base = math.ceil(order), pair.base
    return enclose(lambda: (_removal_moment(base, pair.rate, whole) + 1).log() / (whole - 1))[1]


def _subsampled_gaussian(base: GaussianPair, rate: float, order: int) -> float:
    """The divergence for a record removed or added, at a whole order.

    ln Σⱼ C(α, j)·(1−q)^(α−j)·q^j·e^(j(j−1)μ²/2) / (α−1) is that when one is removed, and it is
    the larger of the two. [MTZ19 v1 Thm 5]
    """
    return enclose(lambda: _removal_moment(base, rate, order).log() / (order - 1))[1]


def _removal_moment(base: GaussianPair, rate: float, order: int) -> arb:
    """E[(1 − q + q·r)^α] for the likelihood ratio r of the base, by the binomial theorem."""
    q, square = ball(rate), ball(base.squared_mu)
    terms = (
        math.comb(order, j) * (1 - q) ** (order - j) * q**j * (j * (j - 1) * square / 2).exp()
        for j in range(order + 1)
    )
    return sum(terms, arb(0))


def _times(rho: float, order: float) -> float:
    if rho == 0 or math.isinf(rho):
        return rho
    return enclose(lambda: ball(rho) * ball(order))[1]


class Renyi(Rule):
    """Rényi divergences added at the best order; a part with δ > 0 adds its leak probability."""

    name = "rdp"
    theorem = RENYI_COMPOSITION

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002  # trying is how to find out
        return True

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:  # noqa: ARG002
        kept, leaks = unleaked(parts)
        left = spare(delta, leaks) if leaks else delta
        if left < 0 or (leaks and left == 0):
            return None
        if not kept:
            return 0.0
        found = _composition_of(kept)
        return found.epsilon(left) if found.applies else None

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:  # noqa: ARG002
        kept, leaks = unleaked(parts)
        found = _composition_of(kept) if kept else None
        if found is not None and not found.applies:
            return None
        rest = 0.0 if found is None else found.delta(epsilon)
        return min(enclose(lambda: leak(leaks) + (1 - leak(leaks)) * ball(rest))[1], 1.0)


def _composition_of(parts: Parts) -> RenyiComposition:
    """The shared one, unless a time limit may leave it without some orders."""
    return RenyiComposition(parts) if deadline.is_limited() else renyi_composition(parts)


def unleaked(parts: Parts) -> tuple[Parts, tuple[tuple[ApproxDP, int], ...]]:
    """The parts given that none leaks, and the (ε, δ) guarantees of parts that may leak.

    Whatever is (ε, δ)-DP is a post-processing of leaky randomized response, whose coin that decides
    on leaking does not look at the data. So with L the probability of any leak, the composition has
    the profile L + (1 − L)·δ₀(ε), where δ₀ is that of the parts that did not leak, chosen
    adaptively or not. [KOV15 Thm 2.5]
    """
    kept, leaks = [], []
    for part in parts:
        pair = part.pair
        mass = 0.0 if pair is None else max(s.singular_mass for s in (pair, pair.reversed))
        if pair is None or not 0 < mass < 1:
            kept.append(part)
            continue
        largest = max(side.max_loss for side in (pair, pair.reversed))
        leaks.append((ApproxDP(epsilon=largest, delta=mass), part.times))
        if largest > 0:
            bounded = LeakyResponsePair(ApproxDP(epsilon=largest))
            kept.append(Part(bounded, part.times, part.label))
    return tuple(kept), tuple(leaks)
