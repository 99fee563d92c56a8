r"""Cuts placed by a smooth estimate of the likelihood ratio, where few draws lie beyond them.

The best cut against a claim is often far out, where earlier draws hold some hundred outputs of one
side and a handful of the other: the best of the cuts that were seen is then an accident. A smooth
ratio has seen more. Logistic regression on the ranks of a number (as scores of a normal law, with
hinges at −1, 0 and 1) says how likely a draw at x came from either side, and what lies beyond a cut
is the sum of these chances over the draws of both sides.

This chooses events, which fresh draws judge; so that it may be wrong costs power, never soundness.
It is used only where the counts beyond its cut are what it expects.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.auditing.attacks.cuts import ranks_to_cut
from dpverify.auditing.attacks.draws import Bound, Draws, Proposal, merit_of
from dpverify.auditing.attacks.events import Between

_LEAST = 1_000  # draws a side
_LEAST_VALUES = 256  # that a number has among them
_HINGES = (-1.0, 0.0, 1.0)
_RIDGE = 1.0  # on the hinges
_STEPS = 12
_CONVERGED = 1e-8
_FEW = 30.0  # hits on the other side; of more, the counts themselves say enough
_SURPRISE = 2.0  # standard errors, of counts beyond the cut
_KEEP = 0.997  # share of the merit that a rounded cut must keep


def smoothed(proposal: Proposal, seen: Draws, goal: Bound) -> Proposal | None:
    """The cut moved to where a smooth likelihood ratio puts it; None unless that fits and gains.

    An interval may be opened to one side or the other. The merit is what the smooth ratio promises,
    doubted half as much as counts are.
    """
    event = proposal.event
    if not isinstance(event, Between) or event == Between(feature=event.feature):
        return None
    favored, other = seen.on(proposal.favors), seen.on(proposal.favors.other)
    sides = favored.ordered(event.feature), other.ordered(event.feature)
    if min(map(len, sides)) < _LEAST or not all(np.isfinite(side[[0, -1]]).all() for side in sides):
        return None
    ordered = np.sort(np.concatenate(sides), kind="stable")  # fast on two sorted runs
    if np.count_nonzero(ordered[1:] != ordered[:-1]) < _LEAST_VALUES:
        return None
    bins = _fitted(ordered, sides)
    if bins is None:
        return None
    sizes = favored.size, other.size
    found = []
    if event.high < np.inf:
        below = _Beyond(ordered, bins, sizes, goal)
        found.append((*below.best(sides), 1.0))
    if event.low > -np.inf:
        above = _Beyond(-ordered[::-1], [part[::-1] for part in bins], sizes, goal)
        found.append((*above.best((-sides[0][::-1], -sides[1][::-1])), -1.0))
    merit, cut, expected, sign = max(found)
    if merit < merit_of(event, proposal.favors, seen, goal):
        return None
    moved = Between(feature=event.feature, **({"high": cut} if sign > 0.0 else {"low": -cut}))
    doubted = replace(goal, doubt=goal.doubt / 2.0)
    merit = float(doubted.merit(*_counted(expected, sizes))[0])
    return replace(proposal, event=moved, merit=merit, expected=expected)


class _Beyond:
    """How many draws of either side a smooth ratio expects up to a cut, and what that is worth.

    `bins` are how many draws of each side it expects in one bin of draws after the other.
    """

    def __init__(
        self, ordered: Floats, bins: Sequence[Floats], sizes: tuple[int, int], goal: Bound
    ) -> None:
        self.ordered = ordered
        self.totals = [np.append(0.0, np.cumsum(part)) for part in bins]
        self.ends = self.totals[0] + self.totals[1]
        self.sizes = sizes
        self.goal = goal

    def best(self, sides: tuple[Floats, Floats]) -> tuple[float, float, tuple[float, float]]:
        """The best cut, after its merit; −∞ if counts up to it contradict the model, or are large.

        And the counts that are expected.
        """
        cuts = np.unique(self.ordered[ranks_to_cut(len(self.ordered))])
        merits = self.merits(cuts)
        i = int(np.argmax(merits))
        cut = _simpler(float(cuts[i]), float(merits[i]), self)
        counts = [int(np.searchsorted(side, cut, side="right")) for side in sides]
        hits, other = (float(part[0]) for part in self.expected(np.array([cut])))
        fits = other <= _FEW and all(
            abs(count - hope) <= _SURPRISE * math.sqrt(hope) + 1.0
            for count, hope in zip(counts, (hits, other), strict=True)
        )
        merit = float(self.merits(np.array([cut]))[0]) if fits else -math.inf
        return merit, cut, (hits, other)

    def expected(self, cuts: Floats) -> tuple[Floats, Floats]:
        at = np.searchsorted(self.ordered, cuts, side="right")
        return np.interp(at, self.ends, self.totals[0]), np.interp(at, self.ends, self.totals[1])

    def merits(self, cuts: Floats) -> Floats:
        return _merit(self.goal, *self.expected(cuts), self.sizes)


def _merit(goal: Bound, hits: Floats, others: Floats, sizes: tuple[int, int]) -> Floats:
    """The merit of expected counts, taken as if they had no error."""
    return replace(goal, doubt=0.0).merit(*_counted((hits, others), sizes))


def _counted(expected: tuple[Any, Any], sizes: tuple[int, int]) -> tuple[Floats, int, Floats, int]:
    """Expected counts in the form that `merit` takes, which adds one on the other side itself."""
    hits, others = np.atleast_1d(expected[0]), np.atleast_1d(expected[1])
    return hits, sizes[0], np.maximum(others - 1.0, 0.0), sizes[1]


def _fitted(ordered: Floats, sides: tuple[Floats, Floats]) -> list[Floats] | None:
    """How many draws of each side a smooth ratio expects in each bin; None if it has no fit.

    Bins are narrow towards both ends, and equal numbers share one; the ratio is the logistic
    regression on the rank in the middle of a bin.
    """
    cuts = np.unique(ordered[ranks_to_cut(len(ordered))])
    ends = [np.searchsorted(side, cuts, side="right") for side in sides]
    hits, others = (np.diff(part, prepend=0).astype(np.float64) for part in ends)
    number = hits + others
    scores = scipy.special.ndtri((np.cumsum(number) - number / 2.0) / len(ordered))
    hinges = [np.maximum(scores - hinge, 0.0) for hinge in _HINGES]
    rows = np.column_stack([np.ones_like(scores), scores, *hinges])
    ridge = np.array([1e-6, 1e-6, *(_RIDGE for _ in _HINGES)])
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        chances = scipy.special.expit(rows @ weights)
        slope = rows.T @ (hits - number * chances) - ridge * weights
        bend = (rows * (number * chances * (1.0 - chances))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if not np.isfinite(weights).all():
            return None
        if np.abs(step).max() < _CONVERGED:
            expected = number * scipy.special.expit(rows @ weights)
            return [expected, number - expected]
    return None


def _simpler(cut: float, merit: float, beyond: _Beyond) -> float:
    """The cut with fewer digits, if that keeps nearly all of the merit."""
    for digits in (2, 3, 4, 6):
        rounded = float(f"{cut:.{digits}g}")
        if beyond.merits(np.array([rounded]))[0] >= merit - (1.0 - _KEEP) * abs(merit):
            return rounded
    return cut
