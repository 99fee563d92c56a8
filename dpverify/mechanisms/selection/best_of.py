"""The best of a random number of runs of a mechanism, as an accountant sees it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from flint import arb, ctx

from dpverify.balls import ball, float_above
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    as_positive,
    as_real,
    check_member,
    settle,
    shown,
)
from dpverify.mechanisms.amplification.subsampled import Samplable, sampled_pair
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.pairs.bounds.runs import NegativeBinomial, PoissonRuns
from dpverify.pairs.bounds.selection import best_of
from dpverify.theorems import PRIVATE_SELECTION, Theorem

Number: TypeAlias = Literal["geometric", "negative binomial", "logarithmic", "poisson"]
_LARGEST_MEAN = 1e6
_LEAST_SHAPE = 1e-12
_ORDERS = (1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 1e5)


@dataclass(frozen=True, slots=True)
class BestOf(Described):
    """Run `mechanism` a random number of times and release only the best output.

    "Best" is by any score that the output itself shows, such as the accuracy of a model on public
    data, or on private data if the mechanism's output includes that score and pays for it. How
    often it is run is drawn first, with about `mean` runs: "geometric", "logarithmic", "negative
    binomial" with `shape` η > −1 (1 is geometric, 0 logarithmic), all at least once, or "poisson",
    which may be no run at all. A fixed number of runs would cost as much as releasing all of them.

    >>> from dpverify.mechanisms.randomized_response import RandomizedResponse
    >>> tuned = BestOf(RandomizedResponse(epsilon=0.5), runs="geometric", mean=10.0)
    >>> tuned.pair(Relation.REPLACE_ONE).max_loss < 3 * 0.5
    True
    """

    theorem: ClassVar[Theorem] = PRIVATE_SELECTION

    mechanism: Samplable | Pair
    runs: Number
    mean: float
    shape: float | None = None

    def __post_init__(self) -> None:
        check_member(
            "runs", self.runs, ("geometric", "negative binomial", "logarithmic", "poisson")
        )
        settle(self, mean=as_positive("mean", self.mean))
        least = 0.0 if self.runs == "poisson" else 1.0
        if not least < self.mean <= _LARGEST_MEAN:
            raise InvalidParameter(
                f"mean={self.mean!r} must be above {least:g} and at most {_LARGEST_MEAN:g}"
            )
        if self.runs != "negative binomial" and self.shape is not None:
            raise InvalidParameter(f"shape={shown(self.shape)} must be None: runs={self.runs!r}")
        if self.runs == "negative binomial":
            settle(self, shape=as_real("shape", self.shape))
            if not -0.99 <= float(self.shape or 0.0) <= 100.0:
                raise InvalidParameter(f"shape={shown(self.shape)} must lie in [-0.99, 100]")
            if 0.0 < abs(float(self.shape or 0.0)) < _LEAST_SHAPE:
                raise InvalidParameter(
                    f"shape={shown(self.shape)} must be 0, or at least {_LEAST_SHAPE:g} in size"
                )
        self._check_mechanism()

    def _check_mechanism(self) -> None:
        """Raise if the mechanism has no pair under either relation."""
        try:
            sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        except NotSupported:
            sampled_pair(self.mechanism, Relation.REPLACE_ONE)

    @property
    def number(self) -> NegativeBinomial | PoissonRuns:
        """The distribution of the number of runs."""
        match self.runs:
            case "poisson":
                return PoissonRuns(float(self.mean))
            case "geometric":
                return NegativeBinomial.of_mean(1.0, float(self.mean))
            case "logarithmic":
                return NegativeBinomial.of_mean(0.0, float(self.mean))
            case _:
                return NegativeBinomial.of_mean(float(self.shape or 0.0), float(self.mean))

    def pair(self, relation: Relation) -> Pair:
        """Upper and lower bounds, valid for every score."""
        relation = Relation.parse(relation)
        base = sampled_pair(self.mechanism, relation)
        if base.max_loss == 0.0 and base.singular_mass == 0.0:
            return base
        return best_of(base if relation is Relation.ADD_REMOVE else base.either_way, self.number)

    def renyi(self, order: float, relation: Relation) -> float:
        """Rényi divergence of an order above 1, rounded up, by the theorem for Rényi divergences.

        ε(λ) + (1+η)·(1 − 1/λ′)·ε(λ′) + (1+η)·ln(1/γ)/λ′ + ln E[K]/(λ−1), for the best λ′; and for a
        Poisson number ε(λ) + m·δ(ε′) + ln(m)/(λ−1) with e^ε′ = 1 + 1/(λ−1).
        [Papernot, Steinke, ICLR 2022, Thm 2 and 6 (arXiv 2110.03620v2)]
        """
        order = as_real("order", order)
        if not 1.0 < order < math.inf:
            raise InvalidParameter(f"order={order!r} must be above 1 and finite")
        base, runs = sampled_pair(self.mechanism, Relation.parse(relation)), self.number
        sides = (base, base.reversed)
        with ctx.workprec(128):
            own, few = _largest(sides, order), ball(order) - 1
            if isinstance(runs, PoissonRuns):
                least = math.log1p(1.0 / (float(order) - 1.0)) * (1.0 - 1e-12)
                leak, mean = ball(max(side.delta(least) for side in sides)), ball(runs.mean)
                return float_above(own + mean * leak + mean.log().max(ball(0)) / few)
            stop, shape = runs.stop, runs.shape
            more, cost = 1 + ball(shape), -ball(stop).log()
            others = (
                (1 - 1 / ball(other)) * _largest(sides, other) + cost / ball(other)
                for other in _ORDERS
            )
            # The mean is a float: a little more than it is safe.
            last = ball(runs.mean * (1.0 + 1e-12)).log() / few
            return min(float_above(own + more * other + last) for other in others)


def _largest(sides: tuple[Pair, Pair], order: float) -> arb:
    return ball(max(side.renyi(order) for side in sides))
