"""The standard laws of noise, and the privacy cost of a shift under each.

A draw is a number z with a standard law (location 0, scale 1); the scale is a factor that a form
multiplies it by. A release r = v + c·z on the left and r = v′ + c′·z′ on the right has the privacy
loss ln f(z) − ln f(z′) + ln|c′/c|. Everything here is computed on balls.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose, float_above
from dpverify.guarantees import ApproxDP
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair

_BITS = 256
_MOST_STEPS = 64
_DISCRETE = frozenset({"geometric", "integers", "discrete laplace", "shaped", "bounded"})
_UNBOUNDED = (
    *("normal", "uniform", "exponential", "geometric", "gumbel", "integers"),
    *("shaped", "bounded"),
)


@dataclass(frozen=True, slots=True)
class TracedLaw:
    """A standard law by name; `parameter` is its shape where it has one (geometric: p)."""

    name: str
    parameter: float = 0.0

    @property
    def is_discrete(self) -> bool:
        return self.name in _DISCRETE

    @property
    def grows_only(self) -> bool:
        """Whether only upward shifts are possible, as the law has a least value and no greatest."""
        return self.name in {"exponential", "geometric"}

    @property
    def rate(self) -> float:
        """The loss of a shift by 1 for laws with exponential tails; weights of an alignment."""
        return -math.log1p(-self.parameter) if "p" in self.shape else 1.0

    @property
    def shape(self) -> str:
        """The kind of parameter: a probability, a number of outcomes, or none."""
        return {"geometric": "p", "discrete laplace": "p", "integers": "n"}.get(self.name, "")

    def log_density(self, z: arb) -> arb:  # noqa: C901  # one case a law
        """ln f(z) up to a constant of the law; −∞ outside of its support."""
        match self.name:
            case "laplace":
                return -abs(z)
            case "normal":
                return -z * z / 2
            case "uniform":
                return arb(0) if z >= 0 and z <= 1 else arb("-inf")
            case "integers":
                return arb(0) if z >= 0 and z < ball(self.parameter) else arb("-inf")
            case "exponential":
                return -z if z >= 0 else arb("-inf")
            case "geometric":
                return z * (1 - ball(self.parameter)).log() if z >= 1 else arb("-inf")
            case "discrete laplace":
                return abs(z) * (1 - ball(self.parameter)).log()
            case "shaped" | "bounded":
                return arb("nan")
            case "gumbel":
                return -z - (-z).exp()
            case "logistic":
                return -z - 2 * (1 + (-z).exp()).log()
            case "cauchy":
                return -(1 + z * z).log()
            case _:
                raise KeyError(self.name)

    def below(self, t: float) -> arb:
        """P(z ≤ t), for continuous laws."""
        if math.isinf(t):
            return arb(1 if t > 0 else 0)
        x = ball(t)
        match self.name:
            case "laplace":
                return x.exp() / 2 if t < 0 else 1 - (-x).exp() / 2
            case "normal":
                return (-x / arb(2).sqrt()).erfc() / 2
            case "uniform":
                return ball(min(max(t, 0.0), 1.0))
            case "exponential":
                return -(-x).expm1() if t > 0 else arb(0)
            case "gumbel":
                return (-(-x).exp()).exp()
            case "logistic":
                return 1 / (1 + (-x).exp())
            case "cauchy":
                return (-1 / x).atan() / arb.pi() if t < -1 else arb(1) / 2 + x.atan() / arb.pi()
            case _:
                raise KeyError(self.name)

    def beyond(self, t: float) -> arb:
        """P(z > t) for continuous laws, accurate also where it is tiny."""
        if self.name in {"laplace", "normal", "logistic", "cauchy"}:
            return self.below(-t)
        if math.isinf(t):
            return arb(0 if t > 0 else 1)
        match self.name:
            case "uniform":
                return 1 - ball(min(max(t, 0.0), 1.0))
            case "exponential":
                return (-ball(t)).exp() if t > 0 else arb(1)
            case "gumbel":
                return -(-(-ball(t)).exp()).expm1()
            case _:
                raise KeyError(self.name)

    def between(self, low: float, high: float) -> arb:
        """P(low < z ≤ high), without cancellation in either tail; exactly 0 for an empty range.

        >>> print(TracedLaw("integers", 4.0).between(0.5, math.inf))
        0.750000000000000
        """
        if low >= high:
            return arb(0)
        if self.name == "integers":  # 0 … n − 1, each as likely as the others
            least, most = max(math.floor(max(low, -1.0)), -1), min(high, self.parameter - 1.0)
            return arb(max(math.floor(most) - least, 0)) / ball(self.parameter)
        if low > 0:
            return self.beyond(low) - self.beyond(high)
        return self.below(high) - self.below(low)


LAPLACE, NORMAL, UNIFORM = TracedLaw("laplace"), TracedLaw("normal"), TracedLaw("uniform")
EXPONENTIAL, GUMBEL = TracedLaw("exponential"), TracedLaw("gumbel")
LOGISTIC, CAUCHY = TracedLaw("logistic"), TracedLaw("cauchy")
LAWS = (
    *("laplace", "normal", "uniform", "exponential", "gumbel", "logistic", "cauchy"),
    *("geometric", "integers", "discrete laplace"),
)
"""The names of laws whose densities are known."""
NOTHING = FinitePair(left=[1], right=[1])


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one shift: a pair that bounds it; `exact` if the pair is the law itself.

    `below` is a pair whose profile is never above the truth. Where many coordinates are summed up
    in one pair, which is sharp at δ = 0, `apart` and `apart_below` hold bounds coordinate by
    coordinate, whose composition is sharp at δ > 0.
    """

    above: Pair
    below: Pair
    exact: bool
    apart: tuple[Pair, ...] = ()
    apart_below: tuple[Pair, ...] = ()


def _reveals(below: Pair = NOTHING) -> Cost:
    return Cost(LeakyResponsePair(ApproxDP(epsilon=math.inf)), below, exact=False)


def shift_cost(law: TracedLaw, shift: float, scale: float) -> Cost:
    """The pair of v + scale·z against v + shift + scale·z; `scale` may not be 0."""
    size, unit = abs(shift), abs(scale)
    if size == 0.0 or size / unit == 0.0:
        return Cost(NOTHING, NOTHING, exact=True)
    if not (math.isfinite(size) and math.isfinite(unit)):
        return _reveals()
    if law.shape and abs(size / unit - round(size / unit)) > 2.0**-30 * max(1.0, size / unit):
        return _reveals()  # whole numbers, moved by a part of a step: the supports are disjoint
    match law.name:
        case "laplace":
            pair: Pair = LaplacePair(scale=unit, sensitivity=size)
        case "normal":
            pair = GaussianPair((Fraction(size) / Fraction(unit)) ** 2)
        case "uniform":
            a = min(Fraction(size) / Fraction(unit), Fraction(1))
            pair = FinitePair(left=[a, 1 - a, Fraction(0)], right=[Fraction(0), 1 - a, a])
        case "exponential" | "geometric":
            pair = _one_sided(law, size / unit)
        case "discrete laplace":
            pair = _two_sided(law, size / unit)
        case "integers":
            a = min(Fraction(size / unit) / Fraction(law.parameter), Fraction(1))
            pair = FinitePair(left=[a, 1 - a, Fraction(0)], right=[Fraction(0), 1 - a, a])
        case _:
            return _bounded(law, size / unit)
    return Cost(pair, pair, exact=True)


def cut_cost(law: TracedLaw, shift: float, scale: float, window: tuple[float, float]) -> Cost:
    """The cost for Laplace noise known to lie in a window: values outside reveal the side.

    Inside, the loss is |shift|/scale at most, so the pair is (|shift|/scale, δ)-indistinguishable
    with δ the mass that a shift moves out of the window, on either side.
    """
    if law.name != "laplace":
        return _reveals()
    size = abs(shift / scale)
    low, high = window
    with ctx.workprec(_BITS):
        whole = law.between(low, high)
        lost = [arb(0)]
        if math.isfinite(high):
            lost.append(law.between(max(high - size, low), high))
        if math.isfinite(low):
            lost.append(law.between(low, min(low + size, high)))
        shares = [float_above(part / whole) for part in lost]
    above = ApproxDP(epsilon=math.nextafter(size, math.inf), delta=min(max(shares), 1.0))
    return Cost(LeakyResponsePair(above), NOTHING, exact=False)


def _one_sided(law: TracedLaw, size: float) -> Pair:
    """The cost under a law with a least value: one side has outcomes that the other lacks."""
    a = -(1 - ball(law.parameter)).log() if law.name == "geometric" else arb(1)
    with ctx.workprec(_BITS):
        seen = as_fraction((-(a * ball(size))).exp())
    return FinitePair(left=[1 - seen, seen], right=[Fraction(0), Fraction(1)])


def _two_sided(law: TracedLaw, size: float) -> Pair:
    """The cost of q^|k| against q^|k − s|, q = 1 − p: losses s, s − 2, …, −s times ln(1/q).

    P(k ≤ 0) = 1/(1 + q), and each further step in between has its own outcome.
    """
    steps = round(size)
    if steps > _MOST_STEPS:
        return LeakyResponsePair(ApproxDP(epsilon=math.nextafter(law.rate * size, math.inf)))
    q = Fraction(1) - Fraction(law.parameter)
    top = Fraction(1) / (1 + q)
    inner = [(1 - q) / (1 + q) * q**k for k in range(1, steps)]
    left = [top, *inner, top * q**steps]
    return FinitePair(left=left, right=left[::-1])


def _bounded(law: TracedLaw, size: float) -> Cost:
    """Largest losses: t for logistic noise, 2·asinh(t/2) for Cauchy noise, ∞ for Gumbel noise."""
    if law.name == "logistic":
        most = size
    elif law.name == "cauchy":
        most = enclose(lambda: 2 * (ball(size) / 2).asinh())[1]
    else:
        return _reveals()
    return Cost(LeakyResponsePair(ApproxDP(epsilon=most)), NOTHING, exact=False)


def largest_loss(law: TracedLaw, shift: float, scale: float) -> float:
    """The largest loss over all outcomes in both directions; ∞ if it is unbounded."""
    if shift == 0.0:
        return 0.0
    if law.name in _UNBOUNDED:
        return math.inf
    if law.name == "discrete laplace":
        return law.rate * abs(shift / scale)
    cost = shift_cost(law, shift, scale)
    return max(cost.above.max_loss, math.inf if cost.above.singular_mass else 0.0)


def loss(law: TracedLaw, z: float, z_other: float, scale: float, scale_other: float) -> arb:
    """ln of the ratio of densities, at one outcome."""
    ratio = (ball(abs(scale_other)) / ball(abs(scale))).log()
    return law.log_density(ball(z)) - law.log_density(ball(z_other)) + ratio


def coin(law: TracedLaw, window: tuple[float, float], cut: float, *, up: bool) -> tuple[arb, arb]:
    """P(z > cut) and P(z ≤ cut) given the window of z; the observed outcome comes first.

    Both are right to about 60 digits of their own, however small they are.
    """
    low, high = window
    cut = min(max(cut, low), high)
    with ctx.workprec(_BITS):
        upper, lower = law.between(cut, high), law.between(low, cut)
        whole = upper + lower
        if not whole > 0:
            return arb(1), arb(0)
        upper, lower = upper / whole, lower / whole
    return (upper, lower) if up else (lower, upper)


def as_fraction(value: arb) -> Fraction:
    """The midpoint of a ball as a rational."""
    man, exp = value.mid().man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def softmax(scores: Floats) -> list[arb]:
    """The probability that each score plus Gumbel noise is the largest."""
    with ctx.workprec(_BITS):
        raised = [(ball(float(score)) - ball(float(scores.max()))).exp() for score in scores]
        whole = sum(raised, arb(0))
        return [part / whole for part in raised]
