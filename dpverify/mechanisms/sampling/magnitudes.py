"""Distributions of a magnitude x ≥ 0, with quantiles in floats and as rigorous balls.

`quantile(u)` is the x that is exceeded with probability u. The float version is trusted only for
u above 2^-15, and there only to `accuracy`, hundreds of times less than it delivers; everything
that such a float cannot decide is decided by `quantile_ball`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from flint import arb, ctx

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.errors import as_positive, settle

_NEWTON_RADIUS = 2.0**-36
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class Magnitude(ABC):
    """The distribution of a number x ≥ 0 with a density that never increases.

    Every subclass has |dx / d ln u| ≤ √(π/2) along its quantile function: a relative error of u
    costs at most 1.26 times itself in x.
    """

    @property
    @abstractmethod
    def accuracy(self) -> int:
        """The assumed error of the float quantile: at most 2^accuracy·(1 + x)."""

    @property
    def margin(self) -> float:
        """Twice the assumed error, which leaves room for the rounding of u and later steps."""
        return 2.0 ** (self.accuracy + 1)

    @property
    def assumption(self) -> str:
        return (
            f"float quantiles of the {self} distribution are within 2^{self.accuracy}·(1 + x) of "
            "the exact ones for tail probabilities above 2^-15"
        )

    @abstractmethod
    def quantile(self, tail: Floats) -> Floats:
        """The x that is exceeded with probability `tail`, in floats."""

    @abstractmethod
    def quantile_ball(self, tail: arb) -> arb:
        """A ball with the quantiles of all probabilities in `tail`, which must exclude 0."""

    def quantile_balls(self, tails: Sequence[arb]) -> list[arb]:
        """`quantile_ball` of each."""
        return [self.quantile_ball(tail) for tail in tails]


@dataclass(frozen=True, slots=True)
class Exponential(Magnitude):
    """P(X > x) = e^(−x)."""

    def __str__(self) -> str:
        return "exponential"

    @property
    def accuracy(self) -> int:
        return -43

    def quantile(self, tail: Floats) -> Floats:
        return -np.log(tail)

    def quantile_ball(self, tail: arb) -> arb:
        return -tail.log()

    def sum_ball(self, tails: Sequence[arb]) -> arb:
        """A ball with the sum of the quantiles: one logarithm, of the product of all tails."""
        product = arb(1)
        for tail in tails:
            product *= tail
        return self.quantile_ball(product)

    def log_rounded_mass(self, steps: Ints, scale: float) -> Floats:
        """Log probabilities of `steps` as the rounding of ±scale·X to the nearest integer.

        P(0) = 1 − e^(−1/2s) and P(k) = e^(−(|k| − 1/2)/s)·(1 − e^(−1/s))/2.
        """
        center = np.log(-np.expm1(-0.5 / scale))
        side = np.log(-np.expm1(-1.0 / scale)) - np.log(2.0)
        logs: Floats = np.where(steps == 0, center, side - (np.abs(steps) - 0.5) / scale)
        return logs


class _Smooth(Magnitude):
    """A distribution given by tail and density on balls, inverted by interval Newton steps."""

    @abstractmethod
    def tail(self, x: arb) -> arb:
        """P(X > x)."""

    @abstractmethod
    def density(self, x: arb) -> arb: ...

    def quantile_ball(self, tail: arb) -> arb:
        """Start from the float quantile, whose error does not matter, and bisect if that fails."""
        return self.quantile_balls([tail])[0]

    def quantile_balls(self, tails: Sequence[arb]) -> list[arb]:
        guesses = self.quantile(np.array([float(tail.mid()) for tail in tails])).tolist()
        return [self._near(*pair) for pair in zip(guesses, tails, strict=True)]

    def _near(self, guess: float, tail: arb) -> arb:
        root = self._newton(arb(guess), arb(guess, _NEWTON_RADIUS * (1.0 + guess)), tail)
        if root is None:
            return self._bisected(tail)
        # Half of the working precision settles nearly all draws, and costs a third of all of it.
        enough = arb((1, -ctx.prec // 2))
        while root.rad() > enough:
            better = self._newton(root.mid(), root, tail)
            if better is None or better.rad() * 2 >= root.rad():
                break
            root = better
        return root

    def _newton(self, center: arb, around: arb, tail: arb) -> arb | None:
        """A ball with the root, if Newton shows that `around` contains it; else None. [Moore 1966]

        Let c + (P(X > c) − u)/density(ξ) lie in `around` for all ξ in it and all u in `tail`.
        Then going from c to the end of `around` on the root's side changes P(X > ·) by at least
        P(X > c) − u, so the root x of P(X > x) = u lies in `around`; and by the mean value theorem
        it is c + (P(X > c) − u)/density(ξ) for some ξ between c and x.
        """
        if not around > 0:
            return None
        density = self.density(around)
        if not density > 0:
            return None
        root = center + (self.tail(center) - tail) / density
        return root if around.contains(root) else None

    def _bisected(self, tail: arb) -> arb:
        low, high = arb(0), arb(1)
        while not self.tail(high) < tail:
            low, high = (high, 2 * high) if self.tail(high) > tail else (low, 2 * high)
        for _ in range(ctx.prec):
            middle = ((low + high) / 2).mid()
            if self.tail(middle) < tail:
                high = middle
            elif self.tail(middle) > tail:
                low = middle
            else:
                break
        return low.union(high)


@lru_cache(maxsize=64)
def _normal_constants(precision: int) -> tuple[arb, arb]:
    """√2 and √(2/π), which many balls of one precision need."""
    with ctx.workprec(precision):
        return arb(2).sqrt(), (2 / arb.pi()).sqrt()


@dataclass(frozen=True, slots=True)
class HalfNormal(_Smooth):
    """|N(0, 1)|: P(X > x) = erfc(x/√2)."""

    def __str__(self) -> str:
        return "half-normal"

    @property
    def accuracy(self) -> int:
        return -43

    def quantile(self, tail: Floats) -> Floats:
        return -scipy.special.ndtri(0.5 * tail)

    def tail(self, x: arb) -> arb:
        return (x / _normal_constants(ctx.prec)[0]).erfc()

    def density(self, x: arb) -> arb:
        return _normal_constants(ctx.prec)[1] * (-x * x / 2).exp()

    def log_rounded_mass(self, steps: Ints, scale: float) -> Floats:
        """Log probabilities of `steps` as the rounding of ±scale·X to the nearest integer.

        The difference Φ((k + 1/2)/s) − Φ((k − 1/2)/s) cancels where the step is short against the
        curvature of ln φ; there the density is integrated instead, by a Gauss rule whose error is
        far below rounding.
        """
        width = 1.0 / scale
        middle = np.abs(steps) * width
        center = np.log(scipy.special.erf(0.5 * width / np.sqrt(2.0)))
        short = np.maximum(middle, 1.0) * width <= 1.0
        inside, outside = middle[short], middle[~short]
        sides = np.empty(middle.shape)
        sides[short] = _log_integral(inside, width)
        near = scipy.special.log_ndtr(0.5 * width - outside)
        # steps == 0 is overwritten below: near = far there would be ln 0.
        drop = np.minimum(
            scipy.special.log_ndtr(-0.5 * width - outside) - near, -np.finfo(float).tiny
        )
        sides[~short] = near + np.log(-np.expm1(drop))
        return np.where(steps == 0, center, sides)


def _log_integral(middle: Floats, width: float) -> Floats:
    """The log of ∫ φ over [middle − width/2, middle + width/2]."""
    offsets = 0.5 * width * _NODES
    ratios = np.exp(-np.multiply.outer(middle, offsets) - 0.5 * offsets**2)
    mean = ratios @ (0.5 * _WEIGHTS)
    logs: Floats = -0.5 * middle**2 - 0.5 * np.log(2.0 * np.pi) + np.log(width * mean)
    return logs


@dataclass(frozen=True, slots=True)
class HalfGeneralizedNormal(_Smooth):
    """Density p/Γ(1/p)·exp(−x^p), p ≥ 1: P(X > x) is the regularized gamma tail Q(1/p, x^p)."""

    power: float

    def __post_init__(self) -> None:
        settle(self, power=as_positive("power", self.power))

    def __str__(self) -> str:
        return f"exp(−x^{self.power:g})"

    @property
    def accuracy(self) -> int:
        return -39

    def quantile(self, tail: Floats) -> Floats:
        """Where x^p would be below 2^-60, P(X ≤ x) is x/Γ(1 + 1/p) to more than float precision."""
        shape = 1.0 / self.power
        lower = 1.0 - tail
        linear = lower * scipy.special.gamma(1.0 + shape)
        powers = np.where(
            tail < 0.5,
            scipy.special.gammainccinv(shape, tail),
            scipy.special.gammaincinv(shape, lower),
        )
        x: Floats = np.where(linear**self.power < 2.0**-60, linear, powers**shape)
        return x

    def tail(self, x: arb) -> arb:
        return (x ** ball(self.power)).gamma_upper(1 / ball(self.power), regularized=True)

    def density(self, x: arb) -> arb:
        power = ball(self.power)
        return power / (1 / power).gamma() * (-(x**power)).exp()


@dataclass(frozen=True, slots=True)
class Unit(Magnitude):
    """Uniform on [0, 1], read from above: P(X > x) = 1 − x."""

    def __str__(self) -> str:
        return "uniform"

    @property
    def accuracy(self) -> int:
        return -43

    def quantile(self, tail: Floats) -> Floats:
        return 1.0 - tail

    def quantile_ball(self, tail: arb) -> arb:
        return 1 - tail


EXPONENTIAL = Exponential()
HALF_NORMAL = HalfNormal()
UNIT = Unit()
