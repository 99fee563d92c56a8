"""Products of discrete laws, multiplied out exactly as long as they stay small.

Rounding an isolated atom to the grid costs the lower end a step per part. Multiplying parts out
first leaves few parts, whose atoms lie so densely that nothing is isolated.
"""

import math
from collections.abc import Sequence

import numpy as np

from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT

_MOST_PAIRS = 1 << 22  # atoms of a product before equal losses are merged
_MOST_ATOMS = 1 << 17  # and after
_SAME = 1e-11  # losses that are this close are merged


def multiply_out(parts: Sequence[tuple[LossLaw, int]]) -> list[tuple[LossLaw, int]]:
    """The same composition with as few discrete parts as their sizes allow."""
    result, whole = [], []
    for law, times in parts:
        power, count, rest = _power(law, times)
        if count > 1:
            result.append((power, count))
        else:
            whole.append(power)
        if rest is not None:
            whole.append(rest)
    whole.sort(key=lambda law: len(law.losses))
    while len(whole) > 1 and len(whole[0].losses) * len(whole[1].losses) <= _MOST_ATOMS:
        merged = _product(whole[0], whole[1])
        whole = sorted([merged, *whole[2:]], key=lambda law: len(law.losses))
    return result + [(law, 1) for law in whole]


def _power(law: LossLaw, times: int) -> tuple[LossLaw, int, LossLaw | None]:
    """law^times as power^count·rest, with power as large as it may get."""
    rest: LossLaw | None = None
    while times > 1 and len(law.losses) ** 2 <= _MOST_PAIRS:
        square = _product(law, law)
        if len(square.losses) > _MOST_ATOMS:
            break
        if times & 1:
            rest = law if rest is None else _product(rest, law)
        law, times = square, times >> 1
    return law, times, rest


def _product(first: LossLaw, second: LossLaw) -> LossLaw:
    losses = np.add.outer(first.losses, second.losses).ravel()
    masses = np.add.outer(first.log_masses, second.log_masses).ravel()
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(losses) > _SAME]))
    ends = np.append(starts[1:], len(losses)) - 1
    tops = np.maximum.reduceat(masses, starts)
    sizes = np.diff(np.append(starts, len(losses)))
    sums = np.add.reduceat(np.exp(masses - np.repeat(tops, sizes)), starts)
    low, high = losses[starts], losses[ends]
    largest = max(abs(float(losses[0])), abs(float(losses[-1])))
    heaviest = float(np.abs(masses[masses > -math.inf]).max())
    return LossLaw(
        losses=(low + high) / 2.0,
        log_masses=tops + np.log(sums),
        loss_error=first.loss_error
        + second.loss_error
        + float((high - low).max()) / 2.0
        + 4.0 * UNIT * largest,
        mass_error=first.mass_error
        + second.mass_error
        + 2.0 * first.mass_error * second.mass_error
        + UNIT * (8.0 + 4.0 * heaviest + 2.0 * int(sizes.max())),
    )
