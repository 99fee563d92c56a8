r"""Single events that sharpen a band: each is judged by one joint test of both sides.

A band for whole distribution functions pays twice: for all thresholds at once, and for both sides
at once, since the worse ends of two bands meet in P_low − e^ε·Q_high. For a few events, chosen with
a δ each from draws that do not judge them, the test of `binomial` pays for neither: with
probability 1 − level, P(E) ≥ e^L·Q(E) + δ for all of them at once, each with its own share of the
level. Such an event also tells about its neighborhood: as the difference P(E) − e^ε·Q(E) is linear
in e^ε, it is at least δ + (e^L − e^ε)·Q(E), where the band holds Q(E) between its limits.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.bands.cdf_bands import TailLimits
from dpverify.auditing.statistics.binomial import Counts, critical, epsilon_lower

_NUMBER = 12
_CHOOSING = 0.125  # of the draws choose the events
_DOUBT = 0.5  # standard errors of the choosing draws that a difference is discounted by
_MOST_CUTS = 512
_HIGHEST = 20.0  # ε beyond which no event is looked for
_HALVINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """P(E) ≥ e^ε·Q(E) + δ for one event, with limits for Q(E)."""

    epsilon: float
    delta: float
    other_low: float
    other_high: float

    def delta_low(self, epsilon: float) -> float:
        """A lower bound on P(E) − e^ε·Q(E)."""
        change = math.exp(self.epsilon) - math.exp(epsilon)
        return self.delta + change * (self.other_low if change > 0.0 else self.other_high)

    def epsilon_low(self, delta: float) -> float:
        """The largest ε with P(E) ≥ e^ε·Q(E) + δ by this bound; 0 if there is none."""
        change = self.delta - delta
        rate = self.other_high if change > 0.0 else self.other_low
        if rate <= 0.0:
            return self.epsilon if change >= 0.0 else 0.0
        ratio = math.exp(self.epsilon) + change / rate
        return math.log(ratio) if ratio > 1.0 else 0.0


@dataclass(frozen=True, slots=True)
class _Cut:
    """The event score ≥ at for the left side, if `above`; else score ≤ at for the right side."""

    at: float
    above: bool

    def counted(self, scores: tuple[Floats, Floats]) -> Counts:
        hits = [int(np.count_nonzero(s >= self.at if self.above else s <= self.at)) for s in scores]
        sizes = [len(s) for s in scores]
        favored, other = (0, 1) if self.above else (1, 0)
        return Counts(
            hits=hits[favored],
            trials=sizes[favored],
            other_hits=hits[other],
            other_trials=sizes[other],
        )

    def other(self, limits: tuple[TailLimits, TailLimits]) -> tuple[float, float]:
        """Limits for the probability on the other side."""
        point = np.array([self.at])
        low, high = limits[1].at_least(point) if self.above else limits[0].at_most(point)
        return float(low[0]), float(high[0])


def marked(
    scores: tuple[Floats, Floats], limits: tuple[TailLimits, TailLimits], *, level: float
) -> tuple[Mark, ...]:
    """Bounds at several δ that hold at once with probability 1 − `level`.

    `limits` hold the distribution functions of the scores, left and right.
    """
    share = level / _NUMBER
    first = int(_CHOOSING * len(scores[0])), int(_CHOOSING * len(scores[1]))
    choose = scores[0][: first[0]], scores[1][: first[1]]
    judge = scores[0][first[0] :], scores[1][first[1] :]
    found = []
    for cut, delta in _Choice(choose, len(judge[0]), critical(share)).cuts():
        shown = epsilon_lower(cut.counted(judge), delta=delta, level=share)
        if shown > 0.0:
            low, high = cut.other(limits)
            found.append(Mark(epsilon=shown, delta=delta, other_low=low, other_high=high))
    return tuple(found)


class _Choice:
    """The best cut at each of several ε, and the δ to test it against."""

    def __init__(self, scores: tuple[Floats, Floats], planned: int, z: float) -> None:
        left, right = (np.sort(side) for side in scores)
        pooled = np.sort(np.concatenate([left, right]))
        places = np.linspace(0, len(pooled) - 1, min(_MOST_CUTS, len(pooled))).astype(np.int64)
        at = np.unique(pooled[places])
        self.options = [_Cut(x, above) for above in (True, False) for x in at.tolist()]
        above = [len(s) - np.searchsorted(s, at, side="left") for s in (left, right)]
        below = [np.searchsorted(s, at, side="right") for s in (left, right)]
        sizes = len(left), len(right)
        self.p = np.concatenate([above[0] / sizes[0], below[1] / sizes[1]])
        # One imaginary hit on the other side: what was never seen there is not impossible.
        self.q = np.concatenate([(above[1] + 1) / (sizes[1] + 1), (below[0] + 1) / (sizes[0] + 1)])
        self.errors = z / math.sqrt(planned) + _DOUBT / math.sqrt(min(sizes))

    def best(self, epsilon: float) -> tuple[float, _Cut]:
        """The event that should show the largest δ at ε, after that δ."""
        ratio = math.exp(epsilon)
        spread = np.sqrt(self.p * (1.0 - self.p) + ratio**2 * self.q * (1.0 - self.q))
        hoped = self.p - ratio * self.q - self.errors * spread
        i = int(np.argmax(hoped))
        return float(hoped[i]), self.options[i]

    def cuts(self) -> list[tuple[_Cut, float]]:
        """The cuts to test, for several ε from 0 to the last at which anything can be shown."""
        low, high = 0.0, _HIGHEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.best(middle)[0] > 0.0 else (low, middle)
        found = (self.best(epsilon) for epsilon in np.linspace(0.0, low, _NUMBER).tolist())
        return [(cut, max(delta, 0.0)) for delta, cut in found]
