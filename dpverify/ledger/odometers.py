"""Odometers: upper bounds on what was spent so far that hold at all times simultaneously.

An accountant's ε after k requests holds for a k fixed in advance. Who looks at the number after
each answer, and goes on or stops because of what was seen, needs one that holds at every stopping
time. Rényi divergences give it. With L the privacy loss so far and G the sum of the divergences at
order α, e^((α−1)·(L − G)) has an expectation of at most 1 under P at every stopping time, whatever
was chosen from earlier answers; and (1 − e^(−x))₊ ≤ c_α·e^((α−1)·x) turns that into

    P(E) ≤ E_Q[e^ε; E] + δ,   ε = G + ln(1 − 1/α) − ln(α·δ)/(α − 1),   for all events E.

The best order is not known in advance, so δ is shared among thirty of them: that is what
"simultaneously" costs, together with the conversion about a fifth of ε at δ = 10⁻⁶.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from dpverify.accounting.parts import Part
from dpverify.arrays import Floats
from dpverify.balls import ball, enclose, round_up
from dpverify.errors import InvalidParameter, NotSupported, as_between
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.ledger import prices
from dpverify.ledger.amounts import Amount, added
from dpverify.ledger.filters import Kind, least_noise
from dpverify.ledger.lower_ends import LowerEnd
from dpverify.ledger.owners import InMemory
from dpverify.ledger.schemes import below, checked_orders
from dpverify.ledger.subjects import Requested, parts_of
from dpverify.neighbors import Relation
from dpverify.theorems import RENYI_ODOMETER

_MIDDLE = tuple(
    map(float, (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256))
)  # seven eighths of δ
_FAR = (1.0625, 1.125, 1.25, 1.5, *(2.0**k for k in range(9, 20)))  # the rest of it
_MANY = Fraction(7, 8)


class Odometer(InMemory):
    """Adds up what is spent, without a budget, and bounds the total at any time.

    `orders` are the Rényi orders that share δ; fewer of them are tighter, if they are the right
    ones. `leak_share` is the share of δ for requests with a δ of their own.

    >>> from dpverify.mechanisms import Gaussian
    >>> meter = Odometer(relation=Relation.ADD_REMOVE)
    >>> for _ in range(100):
    ...     meter.spend(Gaussian(sigma=50.0))
    >>> round(meter.epsilon(delta=1e-6).upper, 3)
    1.023
    """

    def __init__(
        self,
        relation: Relation,
        *,
        orders: Iterable[float] | None = None,
        leak_share: float = 0.0,
    ) -> None:
        super().__init__()
        self.relation = Relation.parse(relation)
        self.orders, self.weights = _shares(orders)
        self._orders: Floats = np.array(self.orders)
        self.leak_share = Fraction(as_between("leak_share", leak_share, 0.0, 1.0))
        self._rho: Amount = Fraction()  # of all whose divergence is α·ρ, at once
        self._other: list[Amount] = [Fraction() for _ in self.orders]
        self._leak = Fraction()
        self._lower = LowerEnd()
        self._slack = lru_cache(maxsize=8)(self._slack_at)

    def spend(self, mechanism: Requested, *, times: int = 1) -> None:
        """Record that a mechanism runs `times` times."""
        parts = parts_of(mechanism, times=times, relation=self.relation)
        with self._owned():
            self._rho, self._other, self._leak = self._after(parts)
            for part in parts:
                self._lower.note(part)

    def _after(self, parts: Iterable[Part]) -> tuple[Amount, list[Amount], Fraction]:
        """The sums after these parts as well."""
        rho, other, leak = self._rho, self._other, self._leak
        for part in parts:
            chance, rest = prices.split(part)
            if chance and not self.leak_share:
                raise InvalidParameter(
                    f"mechanism={part.label} has a delta of its own: leak_share=0 must be a share "
                    "of delta for it"
                )
            leak += chance * part.times
            if rest is None:
                continue
            if prices.is_linear(rest):
                rho = added(rho, prices.rho(rest) * part.times)
                continue
            costs = [prices.divergence(rest, order) * part.times for order in self.orders]
            if all(cost == math.inf for cost in costs):
                raise NotSupported(
                    f"mechanism={part.label} must have a bounded Rényi divergence at one of the "
                    "odometer's orders"
                )
            other = [added(sum_, cost) for sum_, cost in zip(other, costs, strict=True)]
        return rho, other, leak

    def epsilon(self, delta: float) -> Bracket:
        """What was spent so far at δ; the upper end is valid at all times simultaneously.

        The lower end is what no odometer can be below: the exact cost of the same requests fixed
        in advance where all are Gaussian, else that of the costliest one, from below.
        """
        delta = below(as_between("delta", delta, 0.0, 1.0))
        with self._owned():
            upper = self._upper(delta, self._rho, self._other, self._leak)
            lower = min(self._lower.epsilon(delta), upper)
        return Bracket(lower, upper, RENYI_ODOMETER)

    def _upper(self, delta: float, rho: Amount, other: list[Amount], leak: Fraction) -> float:
        if delta == 1 or (rho == 0 and not any(other) and not leak):
            return 0.0
        if delta == 0 or leak > self.leak_share * Fraction(delta):
            return math.inf
        spare = delta
        if self.leak_share:
            spare = enclose(lambda: (1 - ball(self.leak_share)) * ball(delta))[0]
        if spare == 0:
            return math.inf
        rough = self._slack(spare) + _rounded(rho) * self._orders
        if any(other):
            rough = rough + np.array([_rounded(sum_) for sum_ in other])
        best = int(np.argmin(rough))
        total, order = other[best], self.orders[best]
        if isinstance(total, float) or isinstance(rho, float):
            return math.inf
        weight = self.weights[best]

        def formula() -> arb:
            a, shared = ball(order), ball(weight) * ball(spare)
            spent = ball(total) + a * ball(rho)
            return spent + (-1 / a).log1p() - (a * shared).log() / (a - 1)

        return max(enclose(formula)[1], 0.0)

    def _slack_at(self, delta: float) -> Floats:
        """The amount added to the divergence of each order."""
        shares = np.array([float(weight) for weight in self.weights])
        logs = np.log(self._orders * shares) + math.log(delta)
        slack: Floats = np.log1p(-1.0 / self._orders) - logs / (self._orders - 1.0)
        return slack

    def remaining(self, kind: Kind, *, budget: ApproxDP) -> float:
        """The least noise of a kind that keeps `epsilon(budget.delta)` within `budget`.

        `kind` is as in `Filter.remaining`.
        """
        if not isinstance(budget, ApproxDP):
            raise InvalidParameter(f"budget={budget!r} must be an ApproxDP")
        delta = below(budget.delta)

        def fits(mechanism: Requested) -> bool:
            parts = parts_of(mechanism, times=1, relation=self.relation)
            with self._owned():
                after = self._after(parts)
            return self._upper(delta, *after) <= budget.epsilon

        return least_noise(kind, fits)

    @property
    def rho(self) -> float | None:
        """The total ρ, rounded up; None if not everything was zCDP."""
        with self._owned():
            rho, other, leak = self._rho, self._other, self._leak
        return None if any(other) or leak or isinstance(rho, float) else round_up(rho)


def _rounded(amount: Amount) -> float:
    """The nearest float, or ∞ beyond the largest."""
    try:
        return float(amount)
    except OverflowError:
        return math.inf


def _shares(orders: Iterable[float] | None) -> tuple[tuple[float, ...], tuple[Fraction, ...]]:
    """The Rényi orders, and each one's share of δ."""
    if orders is not None:
        listed = checked_orders(orders)
        return listed, (Fraction(1, len(listed)),) * len(listed)
    middle = [(order, _MANY / len(_MIDDLE)) for order in _MIDDLE]
    far = [(order, (1 - _MANY) / len(_FAR)) for order in _FAR]
    both = sorted(middle + far)
    return tuple(order for order, _ in both), tuple(weight for _, weight in both)
