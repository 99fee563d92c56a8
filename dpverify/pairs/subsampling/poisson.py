"""Poisson-subsampled noise: one side or both mix shifted and unshifted noise.

With B the noise of the inner mechanism, B(±s) the same moved by its sensitivity, and q the rate:

- *a record is removed*: (1−q)·B + q·B(s) against B, and exchanged when one is added. [ZDW22 Thm 11]
- *a record is replaced*: (1−q)·B + q·B(s) against (1−q)·B + q·B(−s).

The second needs a word. Given which other records are drawn, the two outputs are
(1−q)·A + q·A(v) and (1−q)·A + q·A(w), where v and w, the contributions of the old and of the new
record, are at most s. Let Y and Z be the likelihood ratios of A(v) and A(w) to A, and Y*, Z* those
of B(s) and B(−s) to B; A(v) against A is dominated by B(s) against B, so E h(Y) ≤ E h(Y*) for every
convex h, and likewise for Z. With c = (1−q)·(1−x), the profile at x is, for every number a,

    E(c + q·Y − x·q·Z)₊ ≤ E(q·Y − a)₊ + E(a + c − x·q·Z)₊ ≤ E(q·Y* − a)₊ + E(a + c − x·q·Z*)₊.

In one dimension Y* rises with z and Z* falls. At a = q·Y*(t), where c + q·Y* − x·q·Z* changes sign
at t, both terms on the right are positive exactly above t: their sum is E(c + q·Y* − x·q·Z*)₊. So
the pair dominates, whatever the dimension; and a sum to which the old and the new record contribute
with opposite signs attains it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from flint import acb, arb, ctx

from dpverify.balls import ball, wait
from dpverify.errors import InvalidParameter, NotSupported, as_between, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.subsampling.shifts import Shift, shift_of

_MOST_OUTCOMES = 10_000  # of a finite pair that is mixed exactly
_FAR = 2.0**30  # outcomes beyond are bounded, not computed: their probability is below e^(−2^58)


class Mixed(Enum):
    """Which side is a mixture: the left (record removed), the right (added), both (replaced)."""

    LEFT = "left"
    RIGHT = "right"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class SubsampledPair(Pair):
    """The dominating pair of Gaussian or Laplace noise on a Poisson sample of rate `rate`.

    `base` is the pair of the inner mechanism when one record is present or absent.

    >>> base = GaussianPair.of(sigma=1.0, sensitivity=1.0)
    >>> SubsampledPair(base, 0.5).delta(0.0) == 0.5 * base.delta(0.0)
    True
    """

    base: GaussianPair | LaplacePair
    rate: float
    mixed: Mixed = Mixed.LEFT
    singular_mass = 0.0

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))

    @property
    def reversed(self) -> "SubsampledPair":
        """The pair with its mixed sides exchanged; where both are mixed, by reflecting outcomes."""
        other = {Mixed.LEFT: Mixed.RIGHT, Mixed.RIGHT: Mixed.LEFT, Mixed.BOTH: Mixed.BOTH}
        return replace(self, mixed=other[self.mixed])

    @property
    def left_rate(self) -> float:
        """The share of B(s) in the left distribution."""
        return 0.0 if self.mixed is Mixed.RIGHT else self.rate

    @property
    def right_rate(self) -> float:
        """The share of B(−s) in Q, after reflection where only Q is mixed."""
        return 0.0 if self.mixed is Mixed.LEFT else self.rate

    @property
    def shift(self) -> Shift:
        return shift_of(self.base)

    @property
    def is_trivial(self) -> bool:
        """Whether the two distributions are the same."""
        return self.rate == 0 or self.base.max_loss == 0.0

    @property
    def unmixed(self) -> GaussianPair | LaplacePair | None:
        """The same pair without a mixture if every record is sampled, else None."""
        if self.rate != 1:
            return None
        if self.mixed is not Mixed.BOTH:
            return self.base
        if isinstance(self.base, GaussianPair):
            return GaussianPair(4 * self.base.squared_mu)
        return replace(self.base, sensitivity=2.0 * self.base.sensitivity)

    def loss_law(self) -> LossLaw:
        return self.shift.loss_law(left=self.left_rate, right=self.right_rate)

    @property
    def simplest(self) -> Pair:
        """The pair without sampling if everything is sampled."""
        return self.unmixed or self

    @property
    def either_way(self) -> Pair:
        """The greater of the two profiles, at every ε, is that of a batch without replacement."""
        from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair  # noqa: PLC0415  # made of these

        if self.mixed is Mixed.BOTH:
            return self
        return WithoutReplacementPair(self.base, self.rate)

    def max_loss_ball(self) -> arb:
        """The loss where the shifted noise is likeliest; its limit there for Gaussian noise."""
        if self.is_trivial:
            return arb(0)
        if self.unmixed:
            return self.unmixed.max_loss_ball()
        if isinstance(self.base, GaussianPair):
            return arb(math.inf) if self.left_rate else -(1 - ball(self.rate)).log()
        most = self.base.shift.exp()
        return (_mixture(self.left_rate, most) / _mixture(self.right_rate, 1 / most)).log()

    def profile_ball(self, epsilon: arb) -> arb:
        if self.is_trivial:
            return (-epsilon.expm1()).max(arb(0))
        if self.unmixed:
            return self.unmixed.profile_ball(epsilon)
        if self.mixed is Mixed.BOTH:
            return self._profile_of_both(epsilon)
        return mixture_profile(self.base, self.rate, self.mixed, epsilon)

    def _profile_of_both(self, epsilon: arb) -> arb:
        """P(z > t) − e^ε·Q(z > t) at the outcome t whose loss is ε."""
        x = epsilon.exp()
        if not epsilon >= 0:
            # The pair is its own mirror image: δ(ε) = 1 − e^ε + e^ε·δ(−ε).
            below = -epsilon.expm1() + x * self._profile_of_both((-epsilon).max(arb(0)))
            return below if epsilon < 0 else below.union(self._profile_of_both(epsilon.max(arb(0))))
        if epsilon > self.max_loss_ball():
            return arb(0)
        shift, q = self.shift, ball(self.rate)
        size, cut = shift.size, self._outcome_of_both(epsilon)
        if cut > _FAR:
            return arb(0).union(q * shift.tail(arb(_FAR) / 2))
        gain = q * shift.tail(cut - size) - x * q * shift.tail(cut + size)
        excess = gain - (1 - q) * epsilon.expm1() * shift.tail(cut)
        # A ball across the greatest loss: nothing is left there, and the formula gives below 0.
        return excess.max(arb(0))

    def _outcome_of_both(self, epsilon: arb) -> arb:
        """Where the loss is ε ≥ 0: quadratic in e^(s·t) for the normal, linear for the Laplace."""
        x, q, size = epsilon.exp(), ball(self.rate), self.shift.size
        if isinstance(self.base, LaplacePair):
            # x·(1 − q + q·e^(−s)) − 1 + q, without the difference of numbers that are nearly alike.
            return (((1 - q) * epsilon.expm1() / q + x * (-size).exp()).log() + size) / 2
        shrink = q * (-size * size / 2).exp()
        flat = (1 - q) * epsilon.expm1() / 2
        return ((flat + (flat * flat + x * shrink * shrink).sqrt()) / shrink).log() / size

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """P(z ≤ t) at the outcome t with Q(z > t) = α; q·f(α) + (1−q)·(1−α) if only P is mixed."""
        if self.is_trivial or false_alarm in (0, 1):  # balls do not hash
            return 1 - false_alarm
        if self.unmixed:
            return self.unmixed.trade_off_ball(false_alarm)
        if self.mixed is Mixed.LEFT:
            q = ball(self.rate)
            return q * self.base.trade_off_ball(false_alarm) + (1 - q) * (1 - false_alarm)
        shift = self.shift

        def alarm(outcome: arb) -> arb:
            return _mix(self.right_rate, shift.tail(outcome), shift.tail(outcome + shift.size))

        # The unmixed law alone would put the outcome at the right end, the shifted one at the left.
        high = shift.quantile(false_alarm)
        cut = falling_root(alarm, false_alarm, high - shift.size, high)
        return _mix(self.left_rate, shift.tail(-cut), shift.tail(shift.size - cut))

    def renyi_ball(self, order: arb) -> arb:
        """ln E[(dP/dB)^α·(dQ/dB)^(1−α)]/(α−1) under the unshifted noise B."""
        if self.is_trivial:
            return arb(0)
        if self.unmixed:
            return self.unmixed.renyi_ball(order)
        a, b = ball(self.left_rate), ball(self.right_rate)

        def moment(up: acb, down: acb, analytic: bool) -> acb:  # noqa: FBT001  # flint calls it
            left, right = (1 - a + a * up).log(analytic), (1 - b + b * down).log(analytic)
            return (order * left + (1 - order) * right).exp()

        size = self.shift.size
        growth = (2 * order - 1) * size + (order - 1) * size * size / 2
        return self.shift.expectation(moment, growth).log() / (order - 1)

    def kullback_leibler_ball(self) -> arb:
        """E[(dP/dB)·ln(dP/dQ)] under the unshifted noise B."""
        if self.is_trivial:
            return arb(0)
        if self.unmixed:
            return self.unmixed.kullback_leibler_ball()
        a, b = ball(self.left_rate), ball(self.right_rate)

        def mean(up: acb, down: acb, analytic: bool) -> acb:  # noqa: FBT001  # flint calls it
            left, right = 1 - a + a * up, 1 - b + b * down
            return left * (left.log(analytic) - right.log(analytic))

        size = self.shift.size
        return self.shift.expectation(mean, 3 * size + size * size)


@dataclass(frozen=True, slots=True)
class SampledPair(Pair):
    """Any pair on a Poisson sample, when a record is removed (LEFT) or added (RIGHT).

    `base` is the pair of the inner mechanism with the record on its left side. The profile follows
    from that of the base whatever it is; so does everything else. [ZDW22 Thm 11]
    """

    base: Pair
    rate: float
    mixed: Mixed = Mixed.LEFT

    def __post_init__(self) -> None:
        if not isinstance(self.base, Pair):
            raise InvalidParameter(f"base={self.base!r} must be a Pair")
        if self.base.gap or self.base.is_bracketed:
            raise NotSupported(
                f"base={self.base!r} must be known exactly: no bound is known here for samples of "
                "what is itself only bounded from above and below"
            )
        if self.mixed not in {Mixed.LEFT, Mixed.RIGHT}:
            raise NotSupported(
                f"mixed={self.mixed!r} must be {Mixed.LEFT} or {Mixed.RIGHT}: what a replaced "
                "record costs on a Poisson sample is known for Gaussian and Laplace noise only"
            )
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))

    @property
    def reversed(self) -> "SampledPair":
        other = Mixed.RIGHT if self.mixed is Mixed.LEFT else Mixed.LEFT
        return replace(self, mixed=other)

    @property
    def simplest(self) -> Pair:
        """The base itself if every record is sampled; a finite pair if the base is finite."""
        if self.rate == 1:
            return self.base if self.mixed is Mixed.LEFT else self.base.reversed
        if not isinstance(self.base, FinitePair) or len(self.base) > _MOST_OUTCOMES:
            return self
        q = Fraction(self.rate)
        mixed, plain = zip(*(((1 - q) * b + q * a, b) for a, b in self.base.masses()), strict=True)
        left, right = (mixed, plain) if self.mixed is Mixed.LEFT else (plain, mixed)
        return FinitePair(left=left, right=right, outcomes=self.base.outcomes)

    @property
    def attained(self) -> tuple[Pair, ...] | None:
        """Samples of the base's actual runs."""
        if self.base.attained is None:
            return None
        return tuple(replace(self, base=inner).simplest for inner in self.base.instances)

    @property
    def is_limit_known(self) -> bool:
        return self.mixed is Mixed.RIGHT or self.base.is_limit_known

    def singular_mass_ball(self) -> arb:
        """Outcomes that only the record makes possible; none if the right side is the mixture."""
        if self.rate == 1 and self.mixed is Mixed.RIGHT:
            return self.base.reversed.singular_mass_ball()
        if self.mixed is Mixed.RIGHT:
            return arb(0)
        return ball(self.rate) * self.base.singular_mass_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        return mixture_profile(self.base, self.rate, self.mixed, epsilon)


def mixture_profile(base: Pair, rate: float, mixed: Mixed, epsilon: arb) -> arb:
    """q·δ(ln((e^ε − 1 + q)/q)) of the base if the left distribution is mixed. [ZDW22 Thm 11]

    (1 − (1−q)·e^ε)·δ(ln(q·e^ε/(1 − (1−q)·e^ε))) of the reversed base if the right one is.
    """
    if rate == 0:
        return (-epsilon.expm1()).max(arb(0))
    x, q = epsilon.exp(), ball(rate)
    if mixed is Mixed.LEFT:
        moved = epsilon.expm1() + q
        if moved > 0:
            return q * base.delta_ball((moved / q).log())
        return 1 - x if moved <= 0 else (1 - x).union(q)
    share = q * x - epsilon.expm1()
    if share > 0:
        return share * base.reversed.delta_ball((q * x / share).log())
    return arb(0) if share <= 0 else arb(0).union(share.max(arb(0)))


def check_base(base: object) -> None:
    """Raise unless `base` is a pair whose subsampled versions are known in closed form."""
    if not isinstance(base, (GaussianPair, LaplacePair)):
        raise NotSupported(f"base={base!r} must be a Gaussian or Laplace pair to be subsampled")


def falling_root(function: Callable[[arb], arb], target: arb, low: arb, high: arb) -> arb:
    """A ball around the root of function = target, for a falling function and low ≤ root ≤ high.

    Halves as long as the working precision tells the two sides of the root apart.
    """
    low, high = low.lower(), high.upper()
    for _ in range(2 * ctx.prec):
        wait()
        quarters = [((4 - k) * low + k * high) / 4 for k in (1, 2, 3)]
        above = [point.mid() for point in quarters if function(point.mid()) > target]
        below = [point.mid() for point in quarters if function(point.mid()) < target]
        if not above and not below:
            break
        low, high = (above or [low])[-1], (below or [high])[0]
    return low.union(high)


def _mixture(rate: float, ratio: arb) -> arb:
    """1 − q + q·r."""
    return 1 - ball(rate) + ball(rate) * ratio


def _mix(rate: float, plain: arb, shifted: arb) -> arb:
    """(1−q)·plain + q·shifted."""
    return (1 - ball(rate)) * plain + ball(rate) * shifted
