"""From a signed grid law to a positive one that it dominates: the convex minorant of its profile.

A grid law with masses qᵢ under Q at ratios xᵢ has the profile Σ qᵢ·(xᵢ − x)₊. Where some qᵢ is
negative the profile is not convex, and no pair has it. Cutting the corner at xᵢ, that is handing
qᵢ to the neighbors so that total and mean stay, lowers the profile; repeating this ends at its
largest convex minorant. Every step here errs towards a lower profile.
"""

import math

import numpy as np

from dpverify.accounting import deadline
from dpverify.arrays import Floats, Ints

_MARGIN = 2.0**-40  # what is taken away is taken away in full, however it was rounded
_LARGEST_EXPONENT = 700.0
_WIDEST_EXPONENT = 300.0
_CUTS_BETWEEN_CHECKS = 256


def convex_minorant(masses: Floats, step: float, rate: float, margin: float = 0.0) -> Floats:
    """Non-negative masses whose profile lies nowhere above that of `masses`.

    Masses are those under P at losses i·step, multiplied by e^(rate·i·step). `margin` covers what
    is uncertain in the distance of two nodes, relative to it.

    >>> convex_minorant(np.array([1.0, -0.5, 1.0]), math.log(2.0), 0.0).round(3).tolist()
    [0.833, 0.0, 0.667]
    """
    bad = np.flatnonzero(masses < 0.0)
    if not len(bad):
        return masses
    kinks = np.flatnonzero(masses)
    chain = _Chain(masses[kinks], kinks, step, rate, 1.0 + _MARGIN + margin)
    chain.straighten(np.searchsorted(kinks, bad).tolist())
    result = np.zeros_like(masses)
    result[kinks] = chain.masses
    return result


class _Chain:
    """The nodes with a kink, linked to their neighbors among these; −1 is no neighbor.

    Plain lists: one kink is read at a time.
    """

    def __init__(
        self, masses: Floats, places: Ints, step: float, rate: float, margin: float
    ) -> None:
        self.step, self.rate, self.margin = step, rate, margin
        self.masses: list[float] = masses.tolist()
        self.places: list[int] = places.tolist()
        count = len(self.masses)
        self.before = list(range(-1, count - 1))
        self.after = [*range(1, count), -1]

    def straighten(self, pending: list[int]) -> None:
        cuts = 0
        while pending:
            node = pending.pop()
            if self.masses[node] < 0.0:
                if cuts % _CUTS_BETWEEN_CHECKS == 0:
                    deadline.check()
                cuts += 1
                pending.extend(self._cut(node))

    def _cut(self, node: int) -> tuple[int, ...]:
        """Take the kink at `node` away; return the neighbors that may have become negative."""
        left, right = self.before[node], self.after[node]
        if right < 0:
            self._drop_top(node)
            return ()
        amount = self.margin * self.masses[node]
        up = self._gap(node, right)
        if left < 0:
            # Nothing stands below: all of it moves up, which lowers the profile further.
            self.masses[right] += amount * _exp((1.0 + self.rate) * up)
            self._remove(node)
            return (right,)
        down = self._gap(left, node)
        whole = math.expm1(-(up + down))
        to_right = math.expm1(-down) / whole * _exp(self.rate * up)
        to_left = math.expm1(-up) / whole * _exp(-(1.0 + self.rate) * down)
        self.masses[right] += amount * to_right
        self.masses[left] += amount * to_left
        self._remove(node)
        return (left, right)

    def _drop_top(self, node: int) -> None:
        """Drop nodes from the top until the profile of what is dropped is non-negative below.

        `left` and `right` are what is dropped under P and x·Q, in units of the current node.
        """
        left = right = 0.0
        while node >= 0:
            mass = self.masses[node]
            mass *= self.margin if mass < 0.0 else 1.0 / self.margin
            left, right = left + mass, right + mass
            below = self.before[node]
            self._remove(node)
            if below < 0:
                return
            gap = self._gap(below, node)
            shrunk = right * math.exp(-gap)
            if left >= shrunk >= 0.0:
                return
            weight = _exp(-self.rate * gap)
            left, right, node = left * weight, shrunk * weight, below

    def _gap(self, low: int, high: int) -> float:
        return (self.places[high] - self.places[low]) * self.step

    def _remove(self, node: int) -> None:
        self.masses[node] = 0.0
        left, right = self.before[node], self.after[node]
        if left >= 0:
            self.after[left] = right
        if right >= 0:
            self.before[right] = left


def _exp(exponent: float) -> float:
    """e^exponent, and something enormous where that would overflow."""
    return math.exp(min(exponent, _LARGEST_EXPONENT))


def tail_profile(masses: Floats, step: float, rate: float) -> Floats:
    """At each node i: Σ over j > i of mⱼ·e^(−rate·d)·(1 − e^(−d)) at distance d = (j − i)·step.

    With masses weighted by e^(rate·loss), this is the profile at the loss of node i, weighted
    likewise. Only positive numbers are added, so it is right to 2n roundings; ∞ on overflow.
    """
    shrunk = masses + _decayed_sums(masses, step, rate + 1.0)
    return _decayed_sums(-math.expm1(-step) * shrunk, step, rate)


def _decayed_sums(masses: Floats, step: float, rate: float) -> Floats:
    """At each node i: Σ over j > i of mⱼ·e^(−rate·(j−i)·step)."""
    count, scale = len(masses), abs(rate * step)
    block = count if scale * count <= _WIDEST_EXPONENT else max(1, int(_WIDEST_EXPONENT / scale))
    result = np.empty(count)
    beyond = 0.0  # the sum over all higher blocks, seen from the first node of the last one
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range((count - 1) // block * block, -1, -block):
            deadline.check()
            part = masses[start : start + block]
            decay = np.exp(-rate * step * np.arange(len(part) + 1))
            sums = np.empty(len(part) + 1)
            sums[-1] = beyond * decay[-1]
            np.cumsum((part * decay[:-1])[::-1], out=sums[-2::-1])
            sums[:-1] += sums[-1]
            result[start : start + block] = sums[1:] / decay[:-1]
            beyond = float(sums[0])
    return np.where(np.isnan(result), math.inf, result)
