"""Zeros and minima of functions of one number, in floats.

As scipy.optimize finds them, whose import takes longer than all else that a small composition does.
Nothing rests on how exact they are: what they find is a start, or one of many valid choices.
"""

import math
from collections.abc import Callable

_GOLDEN = (3.0 - math.sqrt(5.0)) / 2.0
_NOISE = 1.5e-8  # relative: a minimum in floats is known no better
_MOST_STEPS = 1000  # far more than either needs; a function that is no number somewhere ends, too


def zero(function: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """A zero between two ends of opposite sign, or an end that is one.

    Inverse quadratic interpolation where it is safe, else a halving [Chandrupatla, Advances in
    Engineering Software 28 (1997)].
    """
    kept, newest, dropped = low, high, high
    at_kept, at_newest = function(low), function(high)
    at_dropped, share = at_newest, 0.5
    if at_kept == 0.0 or at_newest == 0.0:
        return low if at_kept == 0.0 else high
    if (at_kept > 0) == (at_newest > 0):
        raise ValueError(f"function must change sign between {low!r} and {high!r}")
    best = newest
    for _ in range(_MOST_STEPS):
        x = newest + share * (kept - newest)
        at_x = function(x)
        if (at_x > 0) == (at_newest > 0):
            dropped, at_dropped = newest, at_newest
        else:
            dropped, at_dropped, kept, at_kept = kept, at_kept, newest, at_newest
        newest, at_newest = x, at_x
        best = newest if abs(at_newest) < abs(at_kept) else kept
        least = (accuracy + 1e-14 * abs(best)) / abs(kept - newest)
        if least > 0.5 or at_newest == 0.0:
            return best
        place = (newest - kept) / (dropped - kept)
        rise = (at_newest - at_kept) / (at_dropped - at_kept)
        share = 0.5
        if rise**2 < place and (1 - rise) ** 2 < 1 - place:
            share = at_newest / (at_kept - at_newest) * at_dropped / (at_kept - at_dropped)
            ahead = (dropped - newest) / (kept - newest) * at_newest / (at_dropped - at_newest)
            share += ahead * at_kept / (at_dropped - at_kept)
        share = min(max(share, least), 1 - least)
    return best


def least(function: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """Where a function with one valley between two ends is least, up to `accuracy`.

    A parabola through the three best points where it helps, else a golden section [Brent,
    Algorithms for Minimization without Derivatives (1973), chapter 5].
    """
    best = second = third = low + _GOLDEN * (high - low)
    at_best = at_second = at_third = function(best)
    step = before = 0.0
    for _ in range(_MOST_STEPS):
        middle, shortest = (low + high) / 2, accuracy / 3 + _NOISE * abs(best)
        if abs(best - middle) <= 2 * shortest - (high - low) / 2:
            return best
        last, before = before, step
        step = _to_vertex(best - second, best - third, at_best - at_second, at_best - at_third)
        helps = abs(last) > shortest and abs(step) < abs(last) / 2 and low < best + step < high
        if not helps:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        elif min(best + step - low, high - best - step) < 2 * shortest:
            step = math.copysign(shortest, middle - best)
        x = best + (step if abs(step) >= shortest else math.copysign(shortest, step))
        at_x = function(x)
        if at_x <= at_best:
            low, high = (best, high) if x >= best else (low, best)
            third, at_third, second, at_second = second, at_second, best, at_best
            best, at_best = x, at_x
        else:
            low, high = (x, high) if x < best else (low, x)
            if at_x <= at_second or second == best:
                third, at_third, second, at_second = second, at_second, x, at_x
            elif at_x <= at_third or third in (best, second):
                third, at_third = x, at_x
    return best


def _to_vertex(one: float, other: float, rise: float, other_rise: float) -> float:
    """How far it is to the vertex of a parabola through here and two points; ∞ if there is none."""
    first, second = one * other_rise, other * rise
    bend = 2.0 * (second - first)
    return math.inf if bend == 0.0 else -(other * second - one * first) / bend
