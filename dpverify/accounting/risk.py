"""The attacker's success: risks computed from a privacy profile, as certified brackets.

Someone tries to tell two neighboring datasets apart, with and without a record, knowing everything
but that. The best test that raises a false alarm with probability at most α detects the record with
probability T(α); the profile δ(ε) decides T by duality, and T decides the rest: the advantage of
membership inference, what a guess is worth for any prior, reconstruction, singling out.

T is that of the mechanism's tightest trade-off curve, the worse of both directions: where the two
directions differ, it is the concave hull of both. [DRS22 Prop. 6 and 2.12]
"""

import html
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Protocol, TypeAlias

from flint import arb, ctx

from dpverify.accounting.adaptive.batches import no_games
from dpverify.balls import ball, enclose, float_above, float_below
from dpverify.errors import as_between, as_count, as_positive
from dpverify.guarantees import Bracket
from dpverify.theorems import (
    ATTACK_RISK,
    RECONSTRUCTION,
    SINGLING_OUT,
    TRADE_OFF,
)

if TYPE_CHECKING:
    from dpverify.accounting.gaussian_summary import GaussianSummary

_BITS = 128
_MOST_POINTS = 80  # of a profile that one rate is read from
_COARSE, _FINER = 0.1, 10.0  # widths asked for on the way: a tenth, then a tenth of that, …
_SHARE = 8.0  # of the width asked for, what each point of the profile may be off by
_WIDE = 4.0  # a ratio of two neighbors beyond which their geometric mean comes next
_INSIDE = 1e-3  # how far a new point keeps from its neighbors, as a share of their distance
_SHOWN = (0.01, 0.05, 0.1)  # rates of false alarms in a notebook
_LEAST, _NEARLY_ONE = 1e-305, 1 - 1e-7  # rates between which 1/α is a float well above 1
_CLOSE = 1e-9  # relative, of points that are not told apart


Share: TypeAlias = float | Fraction
"""A probability, as a number of any kind."""


class Profiled(Protocol):
    """Anything that gives δ at ε and ε at δ, as accountants do."""

    def epsilon(self, delta: float, *, tolerance: float = ...) -> Bracket: ...

    def delta(self, epsilon: float, *, tolerance: float = ...) -> Bracket: ...

    def gaussian_summary(
        self, *, leak: Share = ..., tolerance: float = ...
    ) -> "GaussianSummary": ...


@dataclass(frozen=True, slots=True)
class Risk:
    """The success of the best attacker against anything with a profile.

    >>> import dpverify as dpv
    >>> risk = dpv.risk(dpv.PureDP(1.0), relation=dpv.Relation.ADD_REMOVE)
    >>> round(risk.advantage().upper, 4)
    0.4621
    """

    spent: Profiled

    def advantage(self, *, tolerance: float = 1e-3) -> Bracket:
        """The largest excess of the true-positive over the false-positive rate: δ at ε = 0."""
        return self.spent.delta(0.0, tolerance=tolerance)

    def true_positive_rate(self, false_positive_rate: Share, *, tolerance: float = 1e-3) -> Bracket:
        """The largest probability of detecting a record at this rate of false alarms.

        The least x·α + δ(ln x) over x > 0, a convex function of x. `tolerance` is relative.
        """
        alarm = as_between("false_positive_rate", false_positive_rate, 0.0, 1.0)
        tolerance = as_positive("tolerance", tolerance)
        if alarm == 1:
            return Bracket(1.0, 1.0, TRADE_OFF)
        if alarm == 0:
            found = self.spent.delta(math.inf)
            return Bracket(found.lower, found.upper, TRADE_OFF, found.assumes)
        if alarm > _NEARLY_ONE:
            return Bracket(enclose(lambda: ball(alarm))[0], 1.0, TRADE_OFF)
        if alarm < _LEAST:  # rates never fall with α, and nothing is below what is certain at 0
            least, most = self.true_positive_rate(0.0), self.true_positive_rate(_LEAST)
            return Bracket(least.lower, most.upper, TRADE_OFF, most.assumes)
        # Lines are followed over the whole range of x, up to 1/α.
        with ctx.workprec(_BITS + 2 * math.ceil(-math.log2(alarm))):
            return _Dual(self.spent, alarm, tolerance).least()

    def gaussian_summary(self, *, leak: Share = 0.0, tolerance: float = 1e-3) -> "GaussianSummary":
        """All rates as one μ of Gaussian DP; see `Accountant.gaussian_summary`."""
        return self.spent.gaussian_summary(leak=leak, tolerance=tolerance)

    def success(self, prior: Share = 0.5, *, tolerance: float = 1e-3) -> Bracket:
        """The probability that the best guess is right, if the record is there with this `prior`.

        Without looking it is right with probability max(prior, 1 − prior).
        """
        prior = as_between("prior", prior, 0.0, 1.0)
        rarer = min(prior, 1 - prior)
        if rarer == 0:
            return Bracket(1.0, 1.0, ATTACK_RISK)
        odds = enclose(lambda: (1 - ball(rarer)).log() - ball(rarer).log())
        # δ falls in ε, and the odds lie between two floats.
        least, most = (
            self.spent.delta(max(each, 0.0), tolerance=tolerance) for each in reversed(odds)
        )
        lower, _ = enclose(lambda: 1 - ball(rarer) + ball(rarer) * ball(least.lower))
        _, upper = enclose(lambda: 1 - ball(rarer) + ball(rarer) * ball(most.upper))
        return Bracket(min(lower, 1.0), min(upper, 1.0), ATTACK_RISK, most.assumes)

    def posterior(self, prior: Share = 0.5) -> Bracket:
        """The highest posterior probability that an output can give to someone with this `prior`.

        The worst output counts, however rare it is: with Gaussian noise some outputs leave hardly a
        doubt, so this is 1, and `success` or `positive_predictive_value` say more.
        """
        prior = as_between("prior", prior, 0.0, 1.0)
        if prior in {0, 1}:
            return Bracket(float(prior), float(prior), ATTACK_RISK)
        found = self.spent.epsilon(0.0)

        def after(epsilon: float) -> arb:
            if epsilon == math.inf:
                return arb(1)
            if epsilon == 0:
                return ball(prior)
            doubt = (1 - ball(prior)) / ball(prior) * (-ball(epsilon)).exp()
            return 1 / (1 + doubt)

        lower, upper = (
            enclose(lambda: after(found.lower))[0],
            enclose(lambda: after(found.upper))[1],
        )
        return Bracket(lower, upper, ATTACK_RISK, found.assumes)

    def positive_predictive_value(
        self, false_positive_rate: Share, prior: Share = 0.5, *, tolerance: float = 1e-3
    ) -> Bracket:
        """The probability that an alarm is right, for the best test at this false-alarm rate."""
        alarm = as_between("false_positive_rate", false_positive_rate, 0.0, 1.0)
        prior = as_between("prior", prior, 0.0, 1.0)
        found = self.true_positive_rate(alarm, tolerance=tolerance)
        if prior in {0, 1}:
            return Bracket(float(prior), float(prior), ATTACK_RISK)

        def right(rate: float) -> arb:
            hits, alarms = ball(prior) * ball(rate), (1 - ball(prior)) * ball(alarm)
            # Without false alarms every alarm is right, and none is needed to be as sure as before.
            return hits / (hits + alarms) if alarm > 0 else (arb(1) if rate > 0 else ball(prior))

        lower, upper = (
            enclose(lambda: right(found.lower))[0],
            enclose(lambda: right(found.upper))[1],
        )
        return Bracket(lower, upper, ATTACK_RISK, found.assumes)

    def reconstruction(self, baseline: Share, *, tolerance: float = 1e-3) -> Bracket:
        """The largest probability of reconstructing a record that has a prior of `baseline`.

        The upper end holds for every distribution of the record and every rule for what counts as
        reconstructed; the lower one is what one achieves without any output.
        """
        baseline = as_between("baseline", baseline, 0.0, 1.0)
        found = self.true_positive_rate(baseline, tolerance=tolerance)
        lower, _ = enclose(lambda: ball(baseline))
        return Bracket(min(lower, found.upper), found.upper, RECONSTRUCTION, found.assumes)

    def singling_out(self, records: int, weight: Share, *, tolerance: float = 1e-3) -> Bracket:
        """The probability of describing exactly one of the `records` by a rule of small `weight`.

        The weight is the probability that a random person fits the description. Records are drawn
        independently. The lower end is what one achieves without any output: n·w·(1 − w)^(n−1).
        """
        records = as_count("records", records)
        weight = as_between("weight", weight, 0.0, 1.0)
        found = self.true_positive_rate(weight, tolerance=tolerance)
        lower, _ = enclose(lambda: records * ball(weight) * (1 - ball(weight)) ** (records - 1))
        _, upper = enclose(lambda: records * ball(found.upper))
        upper = min(upper, 1.0)
        return Bracket(min(max(lower, 0.0), upper), upper, SINGLING_OUT, found.assumes)

    def _repr_html_(self) -> str:
        """For notebooks: the risks that only need a rate, with their theorems on hovering.

        They are computed when they are shown.
        """
        told = {"advantage of the best test": self.advantage()}
        for alarm in _SHOWN:
            name = f"true-positive rate at {100 * alarm:g}% false positives"
            told[name] = self.true_positive_rate(alarm)
        told["right guesses, after a coin toss"] = self.success()
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{found._repr_html_()}</td></tr>"
            for name, found in told.items()
        )
        return f"<table><tr><th>risk</th><th>lies in</th></tr>{rows}</table>"


@dataclass(frozen=True, slots=True)
class _Point:
    """The dual function at x lies between `lower` and `upper`."""

    x: arb
    lower: arb
    upper: arb


@dataclass(frozen=True, slots=True)
class _Line:
    """A line through (x, value) that is nowhere above the dual function on some cell."""

    x: arb
    value: arb
    slope: arb

    def at(self, x: arb) -> arb:
        return self.value + self.slope * (x - self.x)


def _near(x: float, other: float) -> bool:
    return abs(x - other) <= _CLOSE * min(x, other)


class _Dual:
    """The least value of g(x) = x·α + δ(ln x) over x > 0, where δ(−s) = 1 − e^(−s)·(1 − δ(s)).

    g is convex, 1 at 0, and at least x·α. Any point of it bounds the least value from above. From
    below do lines: the one through two points lies below g outside of them, and where two lines
    cross is the least value of the larger. The next point is taken where this bound is lowest.
    """

    def __init__(self, spent: Profiled, alarm: float, tolerance: float) -> None:
        self.spent, self.alarm, self.tolerance = spent, ball(alarm), tolerance
        self.assumes: tuple[str, ...] = ()
        start = _Point(arb(0), arb(1), arb(1))
        self.points = [start, _Point(1 / self.alarm, arb(1), arb(2))]  # δ is at most 1

    @no_games()
    def least(self) -> Bracket:
        """Both ends; no wider than asked unless the profile is not known well enough for it."""
        self._ask(0.0, _COARSE)
        width = max(_COARSE, self.tolerance)
        lower = self._narrowed(width)
        while width > self.tolerance:
            # What is known roughly says where to look more closely.
            width = max(width / _FINER, self.tolerance)
            best = min(self.points[1:-1], key=lambda point: float(point.upper))
            self._ask(math.log(float(best.x)), width)
            lower = self._narrowed(width)
        upper = min(self._upper(), 1.0)
        return Bracket(
            min(max(lower, float_below(self.alarm)), upper), upper, TRADE_OFF, self.assumes
        )

    def _upper(self) -> float:
        return min(float_above(point.upper) for point in self.points)

    def _narrowed(self, width: float) -> float:
        """Ask for points until the ends are within `width`, relative; the lower end."""
        while True:
            lower, where = min(map(self._bound, range(len(self.points) - 1)))
            known = self._upper() - lower <= width * lower or len(self.points) > _MOST_POINTS
            if known or not self._is_new(where):
                return lower
            self._ask(math.log(where), width)

    def _ask(self, log_x: float, width: float) -> None:
        """One more point, known to a share of `width`; instead of one that is as good as there."""
        found = self.spent.delta(abs(log_x), tolerance=width / _SHARE)
        self.assumes = self.assumes or found.assumes
        x = ball(log_x).exp()
        lower, upper = (
            x * self.alarm + ball(end) if log_x >= 0 else 1 - x * (1 - self.alarm - ball(end))
            for end in (found.lower, found.upper)
        )
        self.points = [p for p in self.points if not _near(float(p.x), float(x))]
        self.points.append(_Point(x, lower, upper))
        self.points.sort(key=lambda point: float(point.x))

    def _is_new(self, x: float) -> bool:
        return not any(_near(x, float(point.x)) for point in self.points)

    def _bound(self, cell: int) -> tuple[float, float]:
        """A lower bound on g between two neighboring points, and where it would be attained."""
        near, far = self.points[cell], self.points[cell + 1]
        low, high = float(near.x), float(far.x)
        lines = self._lines(cell)
        falling, rising = [e for e in lines if e.slope < 0], [e for e in lines if e.slope > 0]
        # On a cell no line is below its lower end.
        bounds = [
            (line.at(near.x).min(line.at(far.x)), low if line.slope > 0 else high) for line in lines
        ]
        for down, up in product(falling, rising):
            share = up.slope / (up.slope - down.slope)
            value = share * down.at(near.x) + (1 - share) * up.at(near.x)
            distance = (up.at(near.x) - down.at(near.x)) / (down.slope - up.slope)
            bounds.append((value, low + float(distance)))
        best, inside = max((float_below(bound), x) for bound, x in bounds)
        inside = min(max(inside, low), high)
        if low > 0 and high > _WIDE * low:
            inside = math.sqrt(low) * math.sqrt(high)  # their product may overflow
        elif not low + _INSIDE * (high - low) < inside < high - _INSIDE * (high - low):
            inside = (low + high) / 2
        return best, inside

    def _lines(self, cell: int) -> list[_Line]:
        """Lines that lie below g on a cell."""
        points = self.points
        lines = [_Line(arb(0), arb(1), self.alarm - 1), _Line(arb(0), arb(0), self.alarm)]
        if cell > 0:
            before, near = points[cell - 1], points[cell]
            slope = (near.lower - before.upper) / (near.x - before.x)
            lines.append(_Line(near.x, near.lower, slope))
        if cell + 2 < len(points):
            far, after = points[cell + 1], points[cell + 2]
            slope = (after.upper - far.lower) / (after.x - far.x)
            lines.append(_Line(far.x, far.lower, slope))
        return lines
