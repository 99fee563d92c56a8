r"""Anytime-valid test: bets on events chosen from earlier draws.

**The bet.** Under a claim that implies (ε, δ), every event E has P(E) − e^ε·Q(E) − δ ≤ 0, where P
is the law on the side that E favors and Q that on the other. Draw a pair: x from P, y from Q. The
payoff 1_E(x) − e^ε·1_E(y) − δ then has mean at most 0, whatever E, provided that E was fixed
before the pair was drawn; and so has a sum of such payoffs, one for an event that favors the left
side and one for an event that favors the right. It is never below −Σ(e^ε + δ).

**The wealth.** W ← W·(1 + λ·payoff), from W = 1, with λ ≥ 0 fixed before the pair is drawn and
λ·Σ(e^ε + δ) < 1, stays positive and is a supermartingale. By Ville (1939) the probability that it
ever reaches 1/level is at most `level`: one may look after every pair, stop when one likes, and
choose events and λ anew from all that was seen.

**Why pairs.** The same can be done with one draw at a time, from a side chosen at random with odds
1 : e^ε, for then P(left, E) − P(right, E) ≤ δ/(1 + e^ε). Per draw the pairs' wealth grows faster
where ε is small (by 40 % for a claim of 1/2 and Laplace noise of ε = 1), and up to a quarter slower
where ε is 4 and more. Pairs also let a vectorized mechanism draw both sides in blocks.

**Every ε at once.** The tests of all ε on a fixed grid run side by side on the same events: the
claim's, larger ones above it and smaller ones below. If all of those above up to some ε have
rejected, the truth is larger than ε, unless the test of the first grid point not below the truth
rejected, which has probability at most its level; and likewise from 0 upwards for those below. The
bound that this gives may be watched like the wealth. It is one about a δ that was fixed before: the
claim's, where it is one point (ε, δ). Of a claim that implies many points one is watched, and its
δ has tests from 0 upwards only: that some point was refuted does not say which.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.attacks.draws import Confirm, Draws, Explore
from dpverify.auditing.attacks.events import Event
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.statistics.points import Point

Codes: TypeAlias = NDArray[np.uint8]

_LARGEST_STAKE = 0.98  # of what would risk everything
_FRACTIONS = np.concatenate([[0.0], np.geomspace(1e-4, _LARGEST_STAKE, 48)])
_SHRINK = 2.0  # nats of evidence that count for nothing
_CAUTION = 1.0  # imaginary pairs with the worst payoff
_STEPS = np.cumsum(np.geomspace(0.01, 1.0, 40))  # of ε above the claim's
_LOWER = np.concatenate([[0.0], np.cumsum(np.geomspace(0.02, 0.4, 40))])  # grid from 0 to about 6
_MIDDLING = 0.01  # δ


@dataclass(frozen=True, slots=True, kw_only=True)
class Stake:
    """An event, the side that it favors, and the point (ε, δ) that is bet against."""

    event: Event
    favors: Side
    point: Point


@dataclass(frozen=True, slots=True)
class Bet:
    """Bets on at most one event for each side; a pair of outcomes is coded as 0 to 15."""

    stakes: tuple[Stake, ...]

    def codes(self, draws: Draws, size: int) -> Codes:
        """For each pair, which events happened on the left (bits 0, 1) and the right (2, 3)."""
        codes = np.zeros(size, np.uint8)
        for i, stake in enumerate(self.stakes):
            for j, side in enumerate(Side):
                happened = stake.event.happens(draws.on(side))[:size]
                codes |= happened.view(np.uint8) << np.uint8(i + 2 * j)
        return codes

    def payoffs(self, more: Floats) -> Floats:
        """The payoff of each code (columns) at each ε (rows), divided by the risk.

        A share is at least −1: the risk, Σ(e^ε + δ) over the stakes, is the largest loss.
        """
        codes = np.arange(16)
        total = np.zeros((len(more), 16))
        risk = np.zeros((len(more), 1))
        for i, stake in enumerate(self.stakes):
            hit = [(codes >> (i + 2 * side.value)) & 1 for side in Side]
            ratio = np.exp(np.clip(stake.point.epsilon + more, 0.0, 700.0))[:, None]
            favored, other = hit[stake.favors.value], hit[stake.favors.other.value]
            total += favored - ratio * other - stake.point.delta
            risk += ratio + stake.point.delta
        return np.maximum(total / risk, -1.0)

    def payoffs_on(self, ladder: "Ladder") -> Floats:
        """The payoffs at every ε of a ladder."""
        watched = [
            replace(stake, point=Point(epsilon=0.0, delta=ladder.delta)) for stake in self.stakes
        ]
        above, below = self.payoffs(ladder.more), Bet(tuple(watched)).payoffs(ladder.grid)
        return np.concatenate([above, below])


@dataclass(frozen=True, slots=True)
class Ladder:
    """The values of ε that are tested: the claimed and larger ones, and a grid upwards from 0.

    `more` is by how much ε exceeds what is claimed: the claim's own first, then larger ones. `grid`
    holds ε upwards from 0, each with `delta`.
    """

    more: Floats
    grid: Floats
    delta: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> "Ladder":
        point = watched(points)
        grid = _LOWER if len(points) > 1 else _LOWER[: np.searchsorted(_LOWER, point.epsilon)]
        return cls(np.concatenate([[0.0], _STEPS]), grid, point.delta)

    def without_grid(self) -> "Ladder":
        return replace(self, grid=self.grid[:0])

    def __len__(self) -> int:
        return len(self.more) + len(self.grid)


def watched(points: Sequence[Point]) -> Point:
    """The point at whose δ the bets bound ε: if a claim has many, the one with δ nearest 0.01.

    >>> watched([Point(epsilon=0.0, delta=0.4), Point(epsilon=1.0, delta=0.02)])
    Point(epsilon=1.0, delta=0.02)
    """
    return min(points, key=lambda point: abs(math.log(max(point.delta, 1e-300) / _MIDDLING)))


@dataclass(frozen=True, slots=True)
class Wager:
    """A bet with its stake λ, for the claim and for every other ε of the ladder."""

    bet: Bet
    growth: float
    logs: Floats  # log of the factor, by ε (row) and code (column)


def wager(
    options: Sequence[Sequence[Stake]],
    seen: Explore,
    ladder: Ladder,
    *,
    idle: Sequence[Stake] = (),
) -> Wager | None:
    """The bet that would have grown fastest, on some or all stakes of one of the options.

    If none would against the claim: `idle` or the first stake, for the sake of the grid from 0
    upwards; None if there is none.
    """
    bets = [Bet((stake,)) for stakes in options for stake in stakes]
    bets += [Bet(tuple(stakes)) for stakes in options if len(stakes) == 2]
    best: tuple[float, Bet] | None = None
    for bet in dict.fromkeys(bets):
        growth = _stake_out(bet, seen, bet.payoffs(np.zeros(1)))[0]
        if growth > 0.0 and (best is None or growth > best[0]):
            best = (growth, bet)
    if best is None and (not bets or not ladder.grid.size):
        return None
    chosen = (Bet(tuple(idle)) if idle else bets[0]) if best is None else best[1]
    growth, logs = _stake_out(chosen, seen, chosen.payoffs_on(ladder))
    return Wager(chosen, growth, logs)


def _stake_out(bet: Bet, seen: Explore, payoffs: Floats) -> tuple[float, Floats]:
    """The growth of the claim's own test, and the log factors at the best λ for every ε."""
    chances, pairs = _chances(bet, seen)
    seen_codes = np.flatnonzero(chances)
    logs = np.log1p(_FRACTIONS[None, :, None] * payoffs[:, None, seen_codes])
    means = logs @ chances[seen_codes] + _CAUTION / pairs * np.log1p(-_FRACTIONS)
    best = np.argmax(means, axis=1)
    rows = np.arange(len(payoffs))
    # The best λ on the past is too bold for the future: shrink it where the evidence is thin.
    evidence = pairs * means[rows, best]
    trust = np.maximum(1.0 - _SHRINK / np.maximum(evidence, 1e-9), 0.25) * (evidence > 0.0)
    fractions = (trust * _FRACTIONS[best])[:, None]
    return float(means[0, best[0]]), np.log1p(fractions * payoffs)


def _chances(bet: Bet, seen: Explore) -> tuple[Floats, int]:
    """Estimated probability of each code, with the two sides independent."""
    size = min(seen.left.size, seen.right.size)
    codes = bet.codes(seen, size)
    left = np.bincount(codes & 3, minlength=4) / size
    right = np.bincount(codes >> 2, minlength=4) / size
    return np.outer(right, left).ravel(), size


@dataclass(frozen=True, slots=True)
class Wealth:
    """Log wealth of the test at every ε of a ladder, the claim's first, now and at its highest."""

    logs: Floats
    highest: Floats

    @classmethod
    def start(cls, ladder: Ladder) -> "Wealth":
        zero = np.zeros(len(ladder))
        return cls(zero, zero)

    def after(self, chosen: Wager | None, fresh: Confirm, target: float) -> tuple["Wealth", int]:
        """The wealth after fresh pairs, and how many pairs were used until it reached `target`.

        Every pair is looked at, for the claim's own test.
        """
        size = min(fresh.left.size, fresh.right.size)
        if chosen is None:
            return self, size
        codes = chosen.bet.codes(fresh, size)
        used, top = size, self.highest[0]
        if chosen.logs[0].any():
            path = self.logs[0] + np.cumsum(chosen.logs[0][codes])
            reached = int(np.argmax(path >= target))
            used = reached + 1 if path[reached] >= target else size
            top = max(top, float(path[:used].max()))
        counts = np.bincount(codes[:used], minlength=16)
        logs = self.logs + chosen.logs @ counts
        highest = np.maximum(self.highest, logs)
        highest[0] = max(highest[0], top)
        return Wealth(logs, highest), used

    def rejects(self, target: float) -> bool:
        """Whether the claim's own test has rejected."""
        return bool(self.highest[0] >= target)

    def epsilon_lower(self, ladder: Ladder, claimed: float, targets: tuple[float, float]) -> float:
        """The largest ε that the tests reject, given targets above and below the claimed ε.

        Tests count that have rejected without a gap, upwards from the claim's or from 0.
        """
        upper = _without_gap(self.highest[: len(ladder.more)] >= targets[0])
        if upper:
            return claimed + float(ladder.more[upper - 1])
        return self.watched_lower(ladder, targets[1])

    def watched_lower(self, ladder: Ladder, target: float) -> float:
        """The largest ε that the tests upwards from 0 reject, all smaller ones included."""
        lower = _without_gap(self.highest[len(ladder.more) :] >= target)
        return float(ladder.grid[lower - 1]) if lower else 0.0


def _without_gap(rejected: NDArray[np.bool_]) -> int:
    missing = np.flatnonzero(~rejected)
    return int(missing[0]) if missing.size else len(rejected)
