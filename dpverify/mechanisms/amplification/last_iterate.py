"""The last iterate of noisy gradient descent, where no earlier one is released."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, as_between, as_count, as_positive, settle
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.theorems import LAST_ITERATE, Theorem

_MOST_STEPS = 10**6
HIDDEN = "last-iterate bounds it: how much of earlier steps projections hide is not known"
_TRIED = 400  # numbers of last steps that are tried, in geometric progression


@dataclass(frozen=True, slots=True, kw_only=True)
class LastIterate(Described):
    """Noisy gradient descent, x ← φ(x) + N(0, σ²I), of which only the last x is released.

    φ brings any two points closer by the factor `contraction` c ≤ 1 at least, on every dataset, and
    one record moves φ(x) by at most `l2_sensitivity`, at every x; φ may differ from step to step.
    With a `diameter`, x is also projected to a convex set of that diameter after every step.

    Gradient descent x − η·(∇F(x) + noise) on an m-strongly convex and M-smooth F has c = 1 − η·m if
    η ≤ 2/(m + M). Where a record's gradients have norm at most C, in a mean over n they move φ by
    η·C/n, and σ is η times the standard deviation of the noise. Clipped gradients are no gradients
    of a convex function in general, and then need not contract.

    >>> run = LastIterate(sigma=1.0, l2_sensitivity=0.1, steps=1000, contraction=0.9)
    >>> round(float(run.squared_mu.upper()), 6)  # (1 + c)/(1 − c) steps' worth
    0.19
    """

    theorem: ClassVar[Theorem] = LAST_ITERATE

    sigma: float
    l2_sensitivity: float
    steps: int
    contraction: float
    diameter: float | None = None

    def __post_init__(self) -> None:
        settle(self, sigma=as_positive("sigma", self.sigma))
        settle(self, l2_sensitivity=as_positive("l2_sensitivity", self.l2_sensitivity))
        settle(self, steps=as_count("steps", self.steps, most=_MOST_STEPS))
        settle(self, contraction=as_between("contraction", self.contraction, 0.0, 1.0))
        if self.diameter is not None:
            settle(self, diameter=as_positive("diameter", self.diameter))
        if enclose(lambda: self._cost(self.steps, 0.0))[1] == math.inf:
            raise InvalidParameter(
                f"l2_sensitivity={self.l2_sensitivity!r} must be smaller, or "
                f"sigma={self.sigma!r} larger: the square of their ratio is no float"
            )

    @property
    def squared_mu(self) -> arb:
        """μ² of the bound: from all steps, or from the last k and the diameter of the domain."""
        whole = self._cost(self.steps, 0.0)
        for last in self._tried():
            whole = whole.min(self._cost(last, self.diameter or 0.0))
        return whole

    def _tried(self) -> list[int]:
        if self.diameter is None:
            return []
        ratio = self.steps ** (1.0 / _TRIED)
        return sorted({min(round(ratio**k), self.steps) for k in range(_TRIED + 1)})

    def _cost(self, steps: int, apart: float) -> arb:
        """(cᵏ·D + s·Σ cʲ)²/(σ²·Σ c²ʲ), j below k: the least Σ aⱼ² of shifts that make up for it."""
        c, move = ball(self.contraction), ball(self.l2_sensitivity)
        power = c**steps
        if self.contraction == 1:
            sums = squares = arb(steps)
        else:
            sums, squares = (1 - power) / (1 - c), (1 - power * power) / (1 - c * c)
        return (power * ball(apart) + move * sums) ** 2 / squares / ball(self.sigma) ** 2

    def pair(self, relation: Relation) -> Pair:
        """A Gaussian pair, attained by a quadratic; between two pairs if the domain is bounded.

        There the last step alone is attained, by a map whose steps are far from the boundary.
        """
        Relation.parse(relation)
        bound = GaussianPair(Fraction(enclose(lambda: self.squared_mu)[1]))
        if self.diameter is None:
            return bound
        step = (Fraction(self.l2_sensitivity) / Fraction(self.sigma)) ** 2
        lower = GaussianPair(min(step, bound.squared_mu))
        return BetweenPair(bound, lower, theorem=LAST_ITERATE, words=HIDDEN)
