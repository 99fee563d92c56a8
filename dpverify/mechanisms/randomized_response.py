"""Randomized response, plain and leaky."""

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import Formula, ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    as_between,
    as_count,
    check_arithmetic,
    check_draw,
    settle,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import category_array, grounds, outputs_of, per_draw
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.mechanisms.sampling.grid import exact
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, LeakyResponsePair, Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.rationals import endpoints
from dpverify.theorems import LEAKY_RESPONSE, RANDOMIZED_RESPONSE

_TABLE_BITS = 160
_LARGEST = 2000  # ε up to which the table of many categories is exact


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Described):
    """Report one of k categories, the true one with odds e^ε against each other one: ε-DP.

    `data` is a category, from 0 to k − 1, or an array of them, each answered independently:
    neighboring datasets then differ in one entry.

    With arithmetic "grid" probabilities are exact to the last digit, however small; with "real"
    they are those of a 53-bit uniform.

    >>> ask = RandomizedResponse(epsilon=math.log(3))
    >>> np.exp(ask.log_density([1, 0], 1))
    array([0.75, 0.25])
    >>> ask.sample(1, size=8, rng=np.random.default_rng(0))
    array([1, 1, 0, 0, 1, 1, 1, 1])
    """

    epsilon: float
    _: KW_ONLY
    categories: int = 2
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle(self, epsilon=as_between("epsilon", self.epsilon, 0.0, math.inf))
        settle(self, categories=as_count("categories", self.categories))
        if self.categories < 2:
            raise InvalidParameter(f"categories={self.categories!r} must be at least 2")
        check_arithmetic(self.arithmetic)

    @property
    def claim(self) -> Claim:
        guarantee = PureDP(epsilon=self.epsilon)
        return Claim(guarantee, None, RANDOMIZED_RESPONSE, grounds(self.arithmetic))

    def pair(self, relation: Relation) -> Pair:
        """The two distributions of one answer, with all other answers merged into one outcome.

        With more than two categories probabilities are rounded outwards and inwards, to rationals
        that agree in forty digits.
        """
        Relation.parse(relation)
        if self.categories == 2 or self.epsilon == math.inf:
            return LeakyResponsePair(ApproxDP(epsilon=self.epsilon), is_local=True)
        with ctx.workprec(_TABLE_BITS):
            # Beyond, the other categories are too rare to matter, and lies are no rationals.
            near = ball(min(exact(self.epsilon), Fraction(_LARGEST))).exp()
            low, high = endpoints(1 / (near + self.categories - 1))
        if self.epsilon > _LARGEST:
            upper: Pair = LeakyResponsePair(ApproxDP(epsilon=self.epsilon))
        else:
            upper = self._table(low)
        return BetweenPair(upper, self._table(high), samples=True)

    def _table(self, lie: Fraction) -> FinitePair:
        """The probabilities of the truth, of one lie, and of all other answers."""
        rest = (self.categories - 2) * lie
        truth = 1 - lie - rest
        return FinitePair(left=[truth, lie, rest], right=[lie, truth, rest])

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent responses to `data`: an array (size, *data shape)."""
        truth = category_array("data", data, self.categories)
        check_draw(size, rng)
        shape = (size, *truth.shape)
        if self.arithmetic == "real":
            lies = (rng.random(shape) < enclose(self._lie)[1]).astype(np.int64)
        else:
            lies = 1 - _cuts([self._lie]).draw(shape, rng)
        if self.categories > 2:
            lies *= rng.integers(1, self.categories, shape)
        return (truth + lies) % self.categories

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability on `data`; −∞ where that is 0."""
        truth = category_array("data", data, self.categories)
        draws = outputs_of(outputs, truth.shape)
        tail = (self.categories - 1) * math.exp(-float(self.epsilon))
        honest = -math.log1p(tail)
        logs = np.where(draws == truth, honest, honest - float(self.epsilon))
        possible = np.isin(draws, np.arange(self.categories))
        return per_draw(np.where(possible, logs, -np.inf))

    def _lie(self) -> arb:
        """The probability of a lie, (k − 1)/(e^ε + k − 1)."""
        if self.epsilon == math.inf:
            return arb(0)
        others = (int(self.categories) - 1) * (-ball(exact(self.epsilon))).exp()
        return others / (1 + others)


@dataclass(frozen=True, slots=True)
class LeakyRandomizedResponse(Described):
    """Reveal the bit with probability δ, and use randomized response otherwise: (ε, δ)-DP.

    `data` is 0 or 1, or an array of them, each answered independently: neighboring datasets then
    differ in one entry. Outputs 0 and 1 are responses; 2 and 3 give a 0 and a 1 away. No
    (ε, δ)-DP mechanism is less private. [KOV15 Thm 2.5]

    >>> ask = LeakyRandomizedResponse(epsilon=math.log(3), delta=0.5)
    >>> np.exp(ask.log_density([0, 1, 2, 3], 0))
    array([0.375, 0.125, 0.5  , 0.   ])
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle(self, epsilon=as_between("epsilon", self.epsilon, 0.0, math.inf))
        settle(self, delta=as_between("delta", self.delta, 0.0, 1.0))
        check_arithmetic(self.arithmetic)

    @property
    def claim(self) -> Claim:
        return Claim(self._guarantee, None, LEAKY_RESPONSE, grounds(self.arithmetic))

    def pair(self, relation: Relation) -> LeakyResponsePair:
        """The two distributions of the outputs themselves."""
        Relation.parse(relation)
        return LeakyResponsePair(self._guarantee, is_local=True)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent responses to `data`: an array (size, *data shape)."""
        truth = category_array("data", data, 2)
        check_draw(size, rng)
        shape = (size, *truth.shape)
        cuts = _cuts([self._leak, self._leak_or_lie])
        if self.arithmetic == "real":
            kinds = np.searchsorted(cuts.floats, rng.random(shape), side="right")
        else:
            kinds = cuts.draw(shape, rng)
        return np.choose(kinds, [truth + 2, 1 - truth, truth])

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability on `data`; −∞ where that is 0."""
        truth = category_array("data", data, 2)
        draws = outputs_of(outputs, truth.shape)
        with np.errstate(divide="ignore"):
            leak, rest = np.log(float(self.delta)), np.log1p(-float(self.delta))
        honest = rest - math.log1p(math.exp(-float(self.epsilon)))
        logs = np.select(
            [draws == truth, draws == 1 - truth, draws == truth + 2],
            [honest, honest - float(self.epsilon), leak],
            -np.inf,
        )
        return per_draw(logs)

    @property
    def _guarantee(self) -> ApproxDP:
        return ApproxDP(epsilon=self.epsilon, delta=self.delta)

    def _leak(self) -> arb:
        return ball(exact(self.delta))

    def _leak_or_lie(self) -> arb:
        """The probability δ + (1 − δ)·e^(−ε)/(1 + e^(−ε)) of a leak or a lie."""
        leak = self._leak()
        if self.epsilon == math.inf:
            return leak
        odds = (-ball(exact(self.epsilon))).exp()
        return leak + (1 - leak) * odds / (1 + odds)


def _cuts(formulas: list[Formula]) -> CutPoints:
    floats = np.array([enclose(formula)[1] for formula in formulas])
    balls = at_precision(lambda: [formula() for formula in formulas])
    return CutPoints(floats=floats, error=2.0**-52, balls=balls)
