"""A profile in one number: the least μ whose Gaussian curve bounds it, and the error made.

A profile δ(ε) is convex in x = e^ε. Between two of its points it lies under the line c − α·x that
joins them, and the Gaussian profile lies on or above that line once μ ≥ Φ⁻¹(c) − Φ⁻¹(α); at the
points themselves it must not be smaller. So finitely many points of a profile bound μ from both
sides. A profile of neighbors in both directions is its own mirror image, δ(1/x) = 1 − (1 − δ(x))/x:
a point at x is also one at 1/x, which keeps lines from being too steep near ε = 0. The regret is
read off the same points.
"""

import html
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import arb, ctx

from dpverify.accounting import deadline
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.risk import Profiled, Share
from dpverify.balls import as_given, ball, enclose, float_above, float_below, rounded_up
from dpverify.errors import as_between, as_positive
from dpverify.guarantees import Bracket, GaussianDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.plain import plain
from dpverify.theorems import GAUSSIAN_SUMMARY

_BITS = 128
_FIRST = 8  # points of a profile to begin with
_MOST_POINTS = 120  # for μ, and as many more for the regret
_SHARE = 4.0  # of the width asked for, what each point of the profile may be off by
_HALVINGS = 50  # of an interval for μ
_FAR = 1e-12  # δ at which the points end where the profile does not
_EXACT = 1e-12  # what rounding costs, as a share of μ and of the advantage
_LAST = 1e4  # and no further
_HUGE = 1e100  # of μ
_CLOSE = 1e-4  # points that are not told apart, as a share of the last one
_NEAR = 0.01  # how well that place is known


@dataclass(frozen=True, slots=True)
class GaussianSummary:
    """The least μ for which μ-GDP bounds the profile, and how much that overstates it.

    With a `leak` the profile may be above it by an event of that probability: it is nowhere above
    leak + (1 − leak)·δ_μ(ε), the profile of μ-GDP composed with (0, leak)-DP.

    `regret` is the least κ with f(α + κ) − κ ≤ g(α) for all rates α of false alarms, f the
    trade-off curve of the profile and g that of the summary, at the upper end of μ: how far f must
    be shifted to the left and down until it is nowhere above g. It is also the most by which the
    summary overstates how often a guess is right, over all priors: the largest
    (g's δ − f's δ)/(1 + e^ε). [Kaissis et al., ICML 2024, Def. 3; Gomez et al., SaTML 2026]

    >>> import dpverify as dpv
    >>> spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    >>> spent = spent.compose(dpv.Gaussian(2.0), times=4)
    >>> round(spent.gaussian_summary().mu.upper, 6)
    1.0
    """

    mu: Bracket
    regret: Bracket
    leak: float = 0.0

    @property
    def guarantee(self) -> GaussianDP:
        """The guarantee at the upper end of μ, except for an event of the leak's probability."""
        return GaussianDP(self.mu.upper)

    def __str__(self) -> str:
        but = "" if self.leak == 0 else f" except on an event of probability {as_given(self.leak)}"
        if math.isinf(self.mu.upper):
            known = "dominates" if math.isinf(self.mu.lower) else "is known to dominate"
            return f"no Gaussian curve {known}{but}"
        mu, regret = (rounded_up(each.upper) for each in (self.mu, self.regret))
        if self._is_exact:
            return f"μ ≤ {mu}{but}, with nothing lost"
        return f"μ ≤ {mu}{but}, which overstates how often a guess is right by at most {regret}"

    @property
    def _is_exact(self) -> bool:
        """Whether the summary loses nothing beyond rounding, relative to an attacker's gain."""
        gained = math.erf(self.mu.lower / math.sqrt(8))
        return self.mu.width <= _EXACT * self.mu.upper and self.regret.upper <= _EXACT * gained

    def to_dict(self) -> dict[str, Any]:
        """Both brackets and the leak as plain values; infinities as texts."""
        return {
            "mu": {"lower": plain(self.mu.lower), "upper": plain(self.mu.upper)},
            "leak": self.leak,
            "regret": {"lower": self.regret.lower, "upper": self.regret.upper},
        }

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, with both brackets on hovering."""
        ends = html.escape(f"μ in {self.mu}, regret in {self.regret}", quote=True)
        return f'<span title="{ends}">{html.escape(str(self))}</span>'


@no_games()
def gaussian_summary(
    spent: Profiled,
    *,
    leak: Share = 0.0,
    tolerance: float = 1e-3,
    known: GaussianPair | None = None,
    is_exact: bool = False,
) -> GaussianSummary:
    """The summary of whatever has a profile; see `Accountant.gaussian_summary`.

    `known` is a Gaussian pair that dominates it, and `is_exact` says that it is the profile itself.
    """
    leak = as_between("leak", leak, 0.0, 1.0)
    tolerance = as_positive("tolerance", tolerance)
    with ctx.workprec(_BITS):
        if known is not None and is_exact and leak == 0:
            return _of_gaussian(known)
        rest = spent.delta(math.inf).lower
        if Fraction(rest) > Fraction(leak):
            return _always_right(spent, leak, math.inf)
        end = spent.epsilon(leak, tolerance=_NEAR)
        limit = math.inf if known is None else enclose(lambda: known.mu)[1]
        points = _Points(spent, leak, rest, tolerance)
        if end.upper == 0:  # nothing is told beyond the leak
            points.spread(1.0)
            mu = Bracket(0.0, 0.0, GAUSSIAN_SUMMARY, points.assumes)
        elif end.upper < math.inf:
            points.spread(end.upper)
            points.end(end.upper)
            mu = points.mu(limit)
        else:  # points say what is too small, and only the parts what is enough
            points.spread(min(spent.epsilon(_FAR, tolerance=_NEAR).upper, _LAST))
            mu = Bracket(min(points.least, limit), limit, GAUSSIAN_SUMMARY, points.assumes)
        if mu.upper == math.inf:
            return _always_right(spent, leak, mu.lower)
        return GaussianSummary(mu, points.regret(mu.upper), leak)


def _of_gaussian(pair: GaussianPair) -> GaussianSummary:
    """δ_μ(ε) rises in μ by at most 1/√(2π), so rounding μ up costs half of that per unit.

    Nor can it cost more than the best guess errs.
    """
    mu = Bracket(*enclose(lambda: pair.mu), GAUSSIAN_SUMMARY)
    slope = (ball(mu.upper) - pair.mu).max(arb(0)) / (8 * arb.pi()).sqrt()
    lost = min(float_above(slope), float_above((1 - pair.profile_ball(arb(0))) / 2))
    return GaussianSummary(mu, Bracket(0.0, lost, GAUSSIAN_SUMMARY))


def _always_right(spent: Profiled, leak: float, least: float) -> GaussianSummary:
    """The summary if no μ exists or is known: an attacker who is always right.

    Then (1 − δ(ε))/(1 + e^ε) is largest at ε = 0: it is how often the best guess errs.
    """
    gained = spent.delta(0.0)
    lower, upper = ((1 - ball(end)) / 2 for end in (gained.upper, gained.lower))
    regret = Bracket(float_below(lower), float_above(upper), GAUSSIAN_SUMMARY, gained.assumes)
    return GaussianSummary(Bracket(least, math.inf, GAUSSIAN_SUMMARY), regret, leak)


@dataclass(frozen=True, slots=True)
class _Point:
    """A profile at x = e^ε: between `lower` and `upper`.

    `net` is the upper end less the leak, `least` a μ that is certainly not too large there, and
    `asked` one that is not if the upper end is the profile itself.
    """

    epsilon: float
    x: arb
    lower: arb
    upper: arb
    net: arb
    least: float
    asked: float

    @property
    def mirrored(self) -> "_Point":
        """The same at 1/x: 1 − (1 − δ)/x, less the leak or not; it asks for the same μ."""
        x = 1 / self.x
        lower, upper, net = (1 - (1 - each) * x for each in (self.lower, self.upper, self.net))
        return _Point(-self.epsilon, x, lower, upper, net, self.least, self.asked)


class _Points:
    """Points of a profile, more of them where they matter, and what follows from them."""

    def __init__(self, spent: Profiled, leak: float, rest: float, tolerance: float) -> None:
        self.spent, self.leak, self.tolerance = spent, ball(leak), tolerance
        self.rest = ball(rest)  # no δ is below
        self.assumes: tuple[str, ...] = ()
        self.points: list[_Point] = []
        self.most = _MOST_POINTS

    @property
    def least(self) -> float:
        """A lower bound on the least μ."""
        return max(point.least for point in self.points)

    def spread(self, last: float) -> None:
        """The first points, from ε = 0 to just before `last`."""
        for rank in range(_FIRST):
            self._ask(last * rank / _FIRST)

    def end(self, last: float) -> None:
        """From `last` on, the profile is at most the leak."""
        lower = ball(self.spent.delta(last, tolerance=self.tolerance / _SHARE).lower)
        self._add(_Point(last, ball(last).exp(), lower, self.leak, arb(0), 0.0, 0.0))

    def _add(self, point: _Point) -> None:
        self.points = sorted([*self.points, point], key=lambda each: each.epsilon)

    def _ask(self, epsilon: float) -> None:
        found = self.spent.delta(epsilon, tolerance=self.tolerance / _SHARE)
        self.assumes = self.assumes or found.assumes
        lower, upper = ball(found.lower), ball(found.upper)
        net = self._net(upper)
        needs = (_least_mu(epsilon, self._net(lower)), _least_mu(epsilon, net))
        self._add(_Point(epsilon, ball(epsilon).exp(), lower, upper, net, *needs))

    def _net(self, delta: arb) -> arb:
        return ((delta - self.leak) / (1 - self.leak)).max(arb(0))

    def _divide(self, near: _Point, far: _Point, better: float = math.nan) -> bool:
        """One more point, where it is `better` or between two; False if time is up, or none new.

        What is known between the ends of a line across ε = 0 lies above it: next to them, then.
        """
        last = self.points[-1].epsilon
        places = [abs(better), (max(near.epsilon, 0.0) + far.epsilon) / 2]
        if near.epsilon < 0:
            ends = {-near.epsilon, far.epsilon}
            known = pairwise(point.epsilon for point in self.points)
            places += [(first + second) / 2 for first, second in known if ends & {first, second}]
        for place in places:
            is_new = all(abs(place - each.epsilon) > _CLOSE * last for each in self.points)
            if is_new and 0 < place < last:
                break
        else:
            return False
        if len(self.points) >= self.most or deadline.is_over():
            return False
        self._ask(place)
        return True

    def _further(self) -> bool:
        """One more point beyond the last, at twice its x; False if time is up, or none is left."""
        if len(self.points) >= self.most or deadline.is_over():
            return False
        self._ask(self.points[-1].epsilon + math.log(2))
        return True

    def mu(self, limit: float) -> Bracket:
        """The least μ, of a profile that ends; it is at most `limit`."""
        upper = limit
        while True:
            hull = self._hull()
            lines = [(near, far) for near, far in pairwise(hull) if far.epsilon > 0]
            needed = [(_needed(near, far), near, far) for near, far in lines]
            enough, near, far = max(needed, key=lambda each: each[0])
            upper = min(upper, enough)
            lower = min(self.least, upper)
            better = _where_it_touches(near, far, enough)
            # What else the ends are apart is the width of the profile's own.
            asked = max(self.least, *(point.asked for point in hull))
            narrow = upper - asked <= self.tolerance * upper
            if narrow or not self._divide(near, far, better):
                return Bracket(lower, upper, GAUSSIAN_SUMMARY, self.assumes)

    def _hull(self) -> list[_Point]:
        """The points whose upper ends are convex in x; lines between them are above the profile."""
        hull: list[_Point] = []
        mirrored = [each.mirrored for each in reversed(self.points) if each.epsilon > 0]
        for point in (*mirrored, *self.points):
            while len(hull) > 1 and _is_above(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return hull

    def regret(self, mu: float) -> Bracket:
        """The largest (g's δ − f's δ)/(1 + x), the error of the summary.

        Beyond the last point g's δ is below what it is there, and f's is at least its rest.
        """
        self.most = len(self.points) + _MOST_POINTS
        while True:
            above = [self.leak + (1 - self.leak) * _profile(mu, p.epsilon) for p in self.points]
            cells = [(self._most_lost(cell, above), cell) for cell in range(len(above) - 1)]
            largest, cell = max(cells)
            beyond = float_above((above[-1] - self.rest) / (1 + self.points[-1].x))
            told = list(zip(above, self.points, strict=True))
            lower = max(float_below((g - p.upper) / (1 + p.x)) for g, p in told)
            asked = max(float_below((g - p.lower) / (1 + p.x)) for g, p in told)
            errs = float_above((1 - self.points[0].lower) / 2)  # the best guess: no more is lost
            lower, upper = max(lower, 0.0), min(max(largest, beyond, 0.0), errs)
            if upper - asked <= self.tolerance / _SHARE:
                more = False
            elif beyond > largest:
                more = self._further()
            else:
                more = self._divide(self.points[cell], self.points[cell + 1])
            if not more:
                return Bracket(lower, upper, GAUSSIAN_SUMMARY, self.assumes)

    def _most_lost(self, cell: int, above: list[arb]) -> float:
        """A bound on (g's δ − f's δ)/(1 + x) between two points.

        g's δ is convex, so below its chord. f's is above two lines: one falls from the near point
        as fast as before it, one ends at the far point as flat as after it. A quotient of linear
        functions is largest at an end, or where the lines cross.
        """
        near, far = self.points[cell : cell + 2]
        width = far.x - near.x
        if cell == 0:  # how fast the worse of two directions can fall at ε = 0
            falling = (near.lower - 1) / 2
        else:
            before = self.points[cell - 1]
            falling = (near.lower - before.upper) / (near.x - before.x)
        flat = arb(0)
        if cell + 2 < len(self.points):
            after = self.points[cell + 2]
            flat = ((after.upper - far.lower) / (after.x - far.x)).min(arb(0))
        start = far.lower - flat * width
        lost = [(above[cell + 1] - far.lower) / (1 + far.x)]
        if near.lower > start and flat > falling:
            step = (near.lower - start) / (flat - falling)
            chord = above[cell] + (above[cell + 1] - above[cell]) * step / width
            lost.append((chord - near.lower - falling * step) / (1 + near.x + step))
            lost.append((above[cell] - near.lower) / (1 + near.x))
        else:
            lost.append((above[cell] - near.lower.min(start)) / (1 + near.x))
        return max(map(float_above, lost))


def _profile(mu: float, epsilon: float) -> arb:
    if mu == 0:
        return arb(0)
    return GaussianPair(Fraction(mu) ** 2).profile_ball(ball(epsilon))


def _least_mu(epsilon: float, delta: arb) -> float:
    """A μ with δ_μ(ε) ≤ δ, next to the largest: the profile rises in μ."""
    if not delta > 0:
        return 0.0
    low, high = 0.0, 1.0
    while _profile(high, epsilon) <= delta and high < _HUGE:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _profile(middle, epsilon) <= delta else (low, middle)
    return low


def _needed(near: _Point, far: _Point) -> float:
    """The μ from which on the Gaussian profile is above the line through two upper ends."""
    if near.net <= 0:
        return 0.0
    alarm = (near.net - far.net) / (far.x - near.x)
    rate = near.net + alarm * near.x
    if not (alarm > 0 and rate < 1):
        return math.inf
    return max(float_above(_quantile(alarm) - _quantile(rate)), 0.0)


def _where_it_touches(near: _Point, far: _Point, mu: float) -> float:
    """About the ε at which the Gaussian profile has the slope of the line through two points."""
    alarm = (near.net - far.net) / (far.x - near.x)
    if mu == math.inf or not alarm > 0:
        return math.nan
    return mu * (float(_quantile(alarm)) - mu / 2)


def _quantile(tail: arb) -> arb:
    """z with 1 − Φ(z) = `tail`."""
    return arb(2).sqrt() * (2 * tail).erfcinv()


def _is_above(first: _Point, middle: _Point, last: _Point) -> bool:
    """Whether the upper end in the middle is not below the line through the others."""
    rise = (middle.net - first.net) * (last.x - first.x)
    return bool(rise >= (last.net - first.net) * (middle.x - first.x))
