r"""Rigorous lower bounds on the statistic of the joint binomial test, over boxes of points.

A point is (p, q) with p = min(1, e^ε·q + δ): its coordinates here are (q, ε). Its statistic is
sin θ·z₁(p) + cos θ·z₂(q), with

.. math:: \tan^2 θ = \frac{p(1-p)/n}{e^{2ε} q(1-q)/m}
                   = \frac{m}{n}·\left(1 + \frac{δ}{e^ε q}\right)·\frac{1-p}{e^ε (1-q)}

On q₀ ≤ q ≤ q₁, ε₀ ≤ ε ≤ ε₁ the score z₁ is least at (q₁, ε₁), as it falls in p; z₂ is least at q₀;
and θ falls in q and in ε (both factors do, as e^ε ≥ 1 > 1 − δ), so it lies between its values at
(q₁, ε₁) and (q₀, ε₀). For fixed scores that are not both negative, the sum is least at an end of
a range of θ within [0, π/2]; if both are negative, so is the sum.

Points with p = 1 beyond the edge q = (1 − δ)·e^(−ε) have θ = 0, and z₂ is least at the edge.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.arrays import Floats

Boxes: TypeAlias = tuple[Floats, Floats, Floats, Floats, NDArray[np.int64]]
"""Ends of θ-like coordinates asin √q, ends of ε, and the slice that a box belongs to."""

_CELLS = 48
_ROUNDS = 8
_MOST_PIECES = 64
_MOST_BOXES = 1 << 20  # at a time: beyond, a slice is not decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """The statistic of given counts at δ, with both scores cut off from below at `floor`.

    `balance` is m/n in the weights: of all draws, though some may be in another event.
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int
    delta: float
    floor: float
    balance: float

    def edge(self, epsilon: Floats) -> Floats:
        """The smallest q at which p = 1."""
        result: Floats = np.minimum(1.0, (1.0 - self.delta) * np.exp(-epsilon))
        return result

    def beyond(self, epsilon: Floats) -> Floats:
        """The least statistic among points with p = 1, for q beyond the edge."""
        edge = self.edge(epsilon)
        scores = np.maximum(z_few(self.other_hits, self.other_trials, edge), self.floor)
        return np.where(edge < 1.0, scores, np.inf)

    def least(self, q: tuple[Floats, Floats], epsilon: tuple[Floats, Floats]) -> Floats:
        """A lower bound on the statistic over boxes q[0] ≤ q ≤ q[1], ε[0] ≤ ε ≤ ε[1]."""
        p = np.minimum(1.0, np.exp(epsilon[1]) * q[1] + self.delta)
        z1 = np.maximum(z_many(self.hits, self.trials, p), self.floor)
        z2 = np.maximum(z_few(self.other_hits, self.other_trials, q[0]), self.floor)
        steep, flat = self._angle(q[0], epsilon[0]), self._angle(q[1], epsilon[1])
        result: Floats = np.minimum(
            np.sin(steep) * z1 + np.cos(steep) * z2, np.sin(flat) * z1 + np.cos(flat) * z2
        )
        return result

    def at(self, q: Floats, epsilon: Floats) -> Floats:
        """The statistic of points: where all boxes are points, `least`."""
        p = np.minimum(1.0, np.exp(epsilon) * q + self.delta)
        z1 = np.maximum(z_many(self.hits, self.trials, p), self.floor)
        z2 = np.maximum(z_few(self.other_hits, self.other_trials, q), self.floor)
        angle = self._angle(q, epsilon)
        result: Floats = np.sin(angle) * z1 + np.cos(angle) * z2
        return result

    def _angle(self, q: Floats, epsilon: Floats) -> Floats:
        ratio = np.exp(epsilon)
        p = np.minimum(1.0, ratio * q + self.delta)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            more = 1.0 + (self.delta / (ratio * q) if self.delta > 0.0 else 0.0)
            square = self.balance * more * (1.0 - p) / (ratio * (1.0 - q))
        result: Floats = np.arctan(np.sqrt(np.where(p < 1.0, square, 0.0)))
        return result


def least_at(joint: Joint, epsilon: float) -> float:
    """Nearly the least statistic among the points at one ε, from ever finer grids."""
    top = math.asin(math.sqrt(float(joint.edge(np.array([epsilon]))[0])))
    low, high = 0.0, top
    best = float(joint.beyond(np.array([epsilon]))[0])
    for number in (_CELLS + 1, 17, 17):
        angles = np.linspace(low, high, number)
        values = joint.at(np.sin(angles) ** 2, np.full(number, epsilon))
        i = int(np.argmin(values))
        best = min(best, float(values[i]))
        low, high = angles[max(i - 1, 0)], angles[min(i + 1, number - 1)]
    return best


def certified(joint: Joint, cuts: Floats, needed: float) -> int:
    """How many slices cuts[i] ≤ ε ≤ cuts[i + 1], from the first on, stay at or above `needed`.

    A slice that could not be decided does not count.
    """
    lows, highs = cuts[:-1], cuts[1:]
    failed = np.flatnonzero(joint.beyond(highs) < needed)
    good = int(failed[0]) if failed.size else len(lows)
    boxes = _first_boxes(joint, lows[:good], highs[:good])
    for number in range(_ROUNDS):
        a, b, low, high, owner = boxes
        q = np.sin(a) ** 2, np.minimum(np.sin(b) ** 2, joint.edge(low))
        bounds = joint.least(q, (low, high))
        keep = bounds < needed
        if not keep.any():
            return good
        values = joint.at(q[1][keep], np.minimum(high, _reach(joint, q[1]))[keep])
        refuted = owner[keep][values < needed]
        good = min(good, int(refuted.min())) if refuted.size else good
        # The bound is too low by about as much as the box is wide.
        excess = (values - bounds[keep]) / np.maximum(values - needed, 1e-9)
        inside = owner[keep] < good
        pieces = np.clip(np.ceil(1.2 * excess[inside]), 2, _MOST_PIECES).astype(np.int64)
        kept = tuple(part[keep][inside] for part in boxes)
        if pieces.sum() > _MOST_BOXES:
            return min(good, int(kept[4].min()))
        boxes = _divided(kept, pieces, both=number >= _ROUNDS // 2)  # type: ignore[arg-type]
    return min(good, int(boxes[4].min())) if boxes[4].size else good


def _reach(joint: Joint, q: Floats) -> Floats:
    """The largest ε at which p ≤ 1."""
    with np.errstate(divide="ignore"):
        return np.where(q > 0.0, np.maximum(np.log((1.0 - joint.delta) / q), 0.0), np.inf)


def _first_boxes(joint: Joint, lows: Floats, highs: Floats) -> Boxes:
    tops = np.arcsin(np.sqrt(joint.edge(lows)))[:, None]
    cuts = tops * np.linspace(0.0, 1.0, _CELLS + 1)
    repeat: Callable[[Floats], Floats] = lambda values: np.repeat(values, _CELLS)  # noqa: E731
    owner = np.repeat(np.arange(len(lows)), _CELLS)
    return cuts[:, :-1].ravel(), cuts[:, 1:].ravel(), repeat(lows), repeat(highs), owner


def _divided(boxes: Boxes, pieces: NDArray[np.int64], *, both: bool) -> Boxes:
    """Each box cut into the requested number of pieces in q, and if `both` into halves in ε."""
    first = np.repeat(np.cumsum(pieces) - pieces, pieces)
    number = np.repeat(pieces, pieces)
    share = (np.arange(len(first)) - first) / number
    a, b, low, high = (np.repeat(part, pieces) for part in boxes[:4])
    owner = np.repeat(boxes[4], pieces)
    start = a + share * (b - a)
    is_last = np.arange(len(first)) == first + number - 1
    stop = np.where(is_last, b, np.append(start[1:], 0.0))  # neighbors meet exactly
    if not both:
        return start, stop, low, high, owner
    middle = (low + high) / 2.0
    return (
        np.concatenate([start, start]),
        np.concatenate([stop, stop]),
        np.concatenate([low, middle]),
        np.concatenate([middle, high]),
        np.concatenate([owner, owner]),
    )


_LARGEST_Z = 1e6  # where an outcome is impossible


def z_many(hits: int, trials: int, p: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, p) ≥ hits)), rounded down; it falls in p."""
    if hits == 0:
        return np.full_like(p, -np.inf)
    tail = np.asarray(scipy.special.betainc(hits, trials - hits + 1.0, p))
    rest = 1.0 - tail
    high = tail > 0.9  # where the difference has too few digits
    if high.any():
        rest[high] = scipy.special.betainc(trials - hits + 1.0, hits, 1.0 - p[high])
    return _z(tail, rest, hits, trials, p)


def z_few(hits: int, trials: int, q: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, q) ≤ hits)), rounded down; it grows in q."""
    return z_many(trials - hits, trials, 1.0 - q)


def _z(tail: Floats, rest: Floats, hits: int, trials: int, p: Floats) -> Floats:
    """−Φ⁻¹(tail), from whichever of tail and rest = 1 − tail has more digits.

    Where the tail underflows, Chernoff's bound exp(−n·KL(hits/n, p)) on it stands in.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scores: Floats = scipy.special.ndtri(np.minimum(tail, rest))
        scores = np.where(tail < 0.5, -scores, scores)
        tiny = tail < 1e-290
        if tiny.any():
            rate, far = hits / trials, p[tiny]
            divergence = scipy.special.xlogy(rate, rate) - scipy.special.xlogy(
                rate, far
            )  # rate / far may overflow
            divergence += scipy.special.xlogy(1.0 - rate, (1.0 - rate) / (1.0 - far))
            bound = -scipy.special.ndtri_exp(np.minimum(-trials * divergence, 0.0))
            scores[tiny] = np.where(far > 0.0, bound, _LARGEST_Z)
    return np.minimum(scores, _LARGEST_Z)
