"""Privacy profiles and trade-off curves with confidence bands that hold everywhere at once.

A part of the draws chooses one score (`scores`); on the rest, the distribution functions of the
score on the two sides are held in exact simultaneous bands (`cdf_bands`), both at half the level.
All events "score ≥ x", for the left side, and "score ≤ x", for the right, are then bounded at once:

- no matter what the score is, the pair's δ(ε) is at least P_low(E) − e^ε·Q_high(E) for each of
  them: `lower` is certified for the mechanism, at every ε at once. A few events are judged more
  sharply, with the other half of the level (`marks`);
- the best threshold on this score reaches at most `upper`. Other events may reach more.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.auditing.bands.marks import Mark
from dpverify.auditing.statistics.binomial import LARGEST_EPSILON
from dpverify.auditing.statistics.points import claimed_delta, implied_points
from dpverify.claims import Claimable, read_claim
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import GaussianDP
from dpverify.plain import fields_of


@dataclass(frozen=True, slots=True, eq=False)
class EventLimits:
    """Limits for the probabilities of many events on the favored and the other side, at once."""

    favored_low: Floats
    favored_high: Floats
    other_low: Floats
    other_high: Floats

    def delta_low(self, epsilon: float) -> float:
        """max over the events of P_low − e^ε·Q_high, at least 0."""
        return max(0.0, float(np.max(self.favored_low - math.exp(epsilon) * self.other_high)))

    def delta_high(self, epsilon: float) -> float:
        """max over the events of P_high − e^ε·Q_low, within [0, 1]."""
        best = float(np.max(self.favored_high - math.exp(epsilon) * self.other_low))
        return min(max(best, 0.0), 1.0)

    def epsilon_low(self, delta: float) -> float:
        """The largest ε with P_low > e^ε·Q_high + δ for some event; 0 if there is none."""
        telling = self.favored_low > delta
        ratios = (self.favored_low[telling] - delta) / self.other_high[telling]
        return max(0.0, float(np.log(np.max(ratios)))) if telling.any() else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Where a band refutes a claim: an ε at which the pair needs more than the claimed δ."""

    epsilon: float
    claimed: float
    shown: float

    def __str__(self) -> str:
        return f"at ε = {self.epsilon:.4g}: δ ≥ {self.shown:.4g}, claimed {self.claimed:.4g}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TradeOffBand:
    """False-alarm and miss rates of the tests between left and right, with a confidence band.

    With probability 1 − `level`, for all false-alarm rates at once: some test misses no more than
    `upper`, whatever the score; and thresholds on this score miss at least `lower`.

    >>> import dpverify as dpv
    >>> def noisy(data, rng):
    ...     return sum(data) + rng.normal()
    >>> found = dpv.estimate_profile(noisy, left=[0], right=[1], draws=4000, level=0.05, seed=1)
    >>> curve = found.trade_off()
    >>> bool((curve.lower <= curve.upper).all())
    True
    """

    false_alarm: Floats
    lower: Floats
    upper: Floats
    level: float
    draws: int
    score: str

    def to_dict(self) -> dict[str, Any]:
        """The band as a dictionary for JSON."""
        return fields_of(self)

    def __repr__(self) -> str:
        return (
            f"TradeOffBand({len(self.false_alarm)} rates, level={self.level:g}, "
            f"draws={self.draws:,}, score={self.score!r})"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileBand:
    """δ(ε) of a mechanism on one pair of datasets, in the worse direction, with a confidence band.

    With probability 1 − `level`, for all ε at once: the pair's δ(ε) is at least `lower`; and
    thresholds on this score reach at most `upper`. `draws` counts the draws a side of the band.

    >>> import dpverify as dpv
    >>> def noisy(data, rng):
    ...     return sum(data) + rng.normal()
    >>> found = dpv.estimate_profile(noisy, left=[0], right=[1], draws=4000, level=0.05, seed=1)
    >>> round(found.lower_delta(0.0), 1), found.refutes(dpv.PureDP(0.1)) is not None
    (0.3, True)
    """

    epsilons: Floats
    lower: Floats
    upper: Floats
    level: float
    draws: int
    explored: int
    score: str
    seed: int
    seconds: float
    events: tuple[EventLimits, EventLimits]
    marks: tuple[Mark, ...]

    @property
    def _shown(self) -> tuple[EventLimits | Mark, ...]:
        return (*self.events, *self.marks)

    def lower_delta(self, epsilon: float) -> float:
        """A lower bound on δ at ε."""
        check_between("epsilon", epsilon, 0.0, math.inf)
        if epsilon > LARGEST_EPSILON:
            return 0.0
        return max(limits.delta_low(float(epsilon)) for limits in self._shown)

    def upper_delta(self, epsilon: float) -> float:
        """An upper bound on the δ at ε that score thresholds reach; other events may need more."""
        check_between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
        return max(limits.delta_high(float(epsilon)) for limits in self.events)

    def epsilon_lower(self, delta: float) -> float:
        """A lower bound on the ε needed at δ, valid for all δ at once."""
        check_between("delta", delta, 0.0, 1.0)
        return max(limits.epsilon_low(float(delta)) for limits in self._shown)

    def refutes(self, claim: Claimable) -> Excess | None:
        """The point where the band exceeds the claim by most; None if it exceeds it nowhere.

        A true claim is refuted with probability at most `level`, however many are tried.
        """
        promised = read_claim(claim)
        at = {p.epsilon: p.delta for p in implied_points(promised)}
        if isinstance(promised, GaussianDP):  # its profile is curved, and quick to ask
            at |= {e: claimed_delta(promised, e) for e in self.epsilons.tolist()}
        found = [
            Excess(epsilon=e, claimed=d, shown=self.lower_delta(e))
            for e, d in at.items()
            if self.lower_delta(e) > d
        ]
        return max(found, key=lambda excess: excess.shown - excess.claimed) if found else None

    def trade_off(self, false_alarms: ArrayLike | None = None) -> TradeOffBand:
        """The same band as a trade-off curve; both hold at once."""
        grid = np.linspace(0.0, 1.0, 201) if false_alarms is None else false_alarms
        rates = np.atleast_1d(np.asarray(grid, dtype=np.float64))
        if not rates.size or np.isnan(rates).any() or rates.min() < 0.0 or rates.max() > 1.0:
            raise InvalidParameter(f"false_alarms={grid!r} must lie in [0, 1]")
        left = self.events[0]
        return TradeOffBand(
            false_alarm=rates,
            lower=_hull(left.other_low, 1.0 - left.favored_high, rates),
            upper=_hull(left.other_high, 1.0 - left.favored_low, rates),
            level=self.level,
            draws=self.draws,
            score=self.score,
        )

    def to_dict(self) -> dict[str, Any]:
        """The band as a dictionary for JSON: the curves, and how they were computed."""
        told = fields_of(self)
        del told["events"], told["marks"]
        return {"version": 1} | told

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        shown = ", ".join(f"δ({e:g}) ≥ {self.lower_delta(e):.3g}" for e in (0.0, 1.0, 2.0))
        return (
            f"ProfileBand({shown}; level={self.level:g}, draws={self.draws:,}, "
            f"score={self.score!r})"
        )


def claimed_trade_off(claim: Claimable, false_alarms: Floats) -> Floats:
    """A lower bound on the miss rate that a claim allows at each false-alarm rate.

    The supremum over ε of 1 − δ(ε) − e^ε·α and e^(−ε)·(1 − δ(ε) − α). [DRS22 Prop. 6]
    """
    promised = read_claim(claim)
    own = [(p.epsilon, p.delta) for p in implied_points(promised)]
    highest = max(0.5, *(e for e, _ in own))
    grid = [(float(e), claimed_delta(promised, float(e))) for e in np.linspace(0, highest, 25)]
    best = np.zeros_like(false_alarms)
    for epsilon, delta in own + grid:
        steep = 1.0 - delta - math.exp(epsilon) * false_alarms
        flat = math.exp(-epsilon) * (1.0 - delta - false_alarms)
        best = np.maximum(best, np.maximum(steep, flat))
    return best


def _hull(false_alarm: Floats, miss: Floats, at: Floats) -> Floats:
    """The lower convex hull of (0, 1), (1, 0) and the points, as tests may be mixed at random."""
    order = np.lexsort((miss, false_alarm))
    corners: list[tuple[float, float]] = []
    points = zip(false_alarm[order].tolist(), miss[order].tolist(), strict=True)
    for x, y in [(0.0, 1.0), *points, (1.0, 0.0)]:
        while len(corners) > 1 and _turns_up(corners[-2], corners[-1], (x, y)):
            corners.pop()
        if not corners or x > corners[-1][0]:
            corners.append((x, y))
        elif y < corners[-1][1]:
            corners[-1] = (x, y)
    xs, ys = (np.array(column) for column in zip(*corners, strict=True))
    found: Floats = np.clip(np.interp(at, xs, ys), 0.0, 1.0)
    return found


def _turns_up(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """Whether b lies on or above the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
