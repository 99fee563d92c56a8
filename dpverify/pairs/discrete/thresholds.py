"""Tests between shifted and unshifted integer noise: all outcomes from a threshold on.

They are the best where the loss rises, as for every log-concave noise.
"""

from collections.abc import Callable

from flint import arb

_MOST = 4  # thresholds that a ball may leave open


def largest_excess(
    excess: Callable[[int], arb], crossing: arb, first: int | None, last: int | None
) -> arb:
    """The largest `excess(t)` over whole t from `first` to `last`.

    It rises up to the first t > `crossing` and falls afterwards. Where the ball `crossing` leaves
    several open, the largest of them is meant.
    """
    if not crossing.rad() < _MOST / 2:
        return arb(0.5, 0.5)  # too few bits to tell
    low, high = (
        int(end.floor().unique_fmpz() or 0) for end in (crossing.lower(), crossing.upper())
    )
    chosen = {_clipped(below + 1, first, last) for below in range(low, high + 1)}
    values = [excess(cut) for cut in sorted(chosen)]
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return largest


def _clipped(cut: int, first: int | None, last: int | None) -> int:
    cut = cut if first is None else max(cut, first)
    return cut if last is None else min(cut, last)


def trade_off(tail: Callable[[int], arb], shift: int, false_alarm: arb) -> arb:
    """The least miss rate of a test that rejects Z with this probability, `tail(t)` = P(Z ≥ t).

    The curve is convex with corners at the thresholds t, where P(Z ≥ t) is rejected and
    P(Z < t − s) missed: the largest of the lines through two neighboring corners.
    """
    if false_alarm.is_integer():
        return 1 - false_alarm
    low, high = -1, 1
    while not tail(low) > false_alarm:
        low *= 2
    while not tail(high) < false_alarm:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > false_alarm else (low, middle)
    found = arb(0)
    for first in range(low - 1, high + 1):
        here, there = tail(first), tail(first + 1)
        miss, later = 1 - tail(first - shift), 1 - tail(first + 1 - shift)
        found = found.max(miss + (later - miss) / (here - there) * (here - false_alarm))
    return found
