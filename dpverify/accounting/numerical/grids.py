"""Where to put the nodes: one step for all parts, and an offset for each.

An atom on a node costs nothing, so the step divides the gaps between atoms where these have a
common divisor. The offset is free: a part that is narrower than a step would lose most of what it
has to say if its bulk fell beside a node, and loses next to nothing if the node sits at its
barycenter. None of this affects validity.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from dpverify.accounting.numerical.discretize import Grid
from dpverify.pairs.loss_law import AnyCutLaw, AnyLossLaw, CutLaw
from dpverify.pairs.ramps import Ramp

_MOST_ANCHORS = 64  # atoms of a part beyond which no alignment is tried
_FINEST = 1e-5  # a common divisor below this share of the largest gap is none
_CLOSE = 1e-11  # relative distance from a multiple that counts as none


def common_gap(laws: Sequence[AnyLossLaw]) -> float | None:
    """The greatest common divisor of the gaps between atoms within each law, if there is one.

    0 if no law has two atoms.
    """
    gaps: list[float] = []
    for law in laws:
        if len(law.losses) > _MOST_ANCHORS:
            return None
        distances = np.abs(law.losses - law.losses[0]) if len(law.losses) else np.empty(0)
        gaps += [float(gap) for gap in distances if gap > 0.0]
    if not gaps:
        return 0.0
    largest = max(gaps)
    divisor = largest
    for gap in gaps:
        divisor = _divisor(divisor, gap, _FINEST * largest)
        if divisor == 0.0:
            return None
    divisor = largest / round(largest / divisor)
    off = max(abs(gap / divisor - round(gap / divisor)) * divisor for gap in gaps)
    return divisor if off <= _CLOSE * largest else None


def _divisor(a: float, b: float, least: float) -> float:
    """Euclid's algorithm, with remainders that are mere rounding taken for 0."""
    noise = _CLOSE * max(a, b)
    while b > noise:
        a, b = b, abs(a - round(a / b) * b)
        if noise < b < least:
            return 0.0
    return a


def grid_for(law: AnyCutLaw, step: float, rate: float) -> Grid:
    """The grid of this step with the offset that suits the law when tilted at this rate."""
    if not isinstance(law, CutLaw):
        return Grid(step, law.anchor)
    low, high = law.loss_range()
    if len(law.losses) and high - low > step / 2.0:
        heaviest = int(np.argmax(law.log_masses + rate * law.losses))
        return Grid(step, float(law.losses[heaviest]))
    if len(law.ramps) == 1 and not len(law.losses):
        return Grid(step, _barycenter(law.ramps[0], step))
    return Grid(step, 0.0)


def _barycenter(ramp: Ramp, step: float) -> float:
    """The loss of the bulk of a ramp, if one end of it lies within half a step; else 0.

    A hair is added so that the comparisons in the discretization fall on the side that keeps the
    tangent at that end.
    """
    offset = 0.0
    for _ in range(30):
        near, far = ramp.outcome(np.array([offset - step / 2.0, offset + step / 2.0]))
        at_low, at_high = near <= ramp.low, far >= ramp.high
        if at_low == at_high:
            return 0.0
        left, right = _mass(ramp, near, far)
        moved = math.log1p((left - right) / right) if right > 0.0 else 0.0
        if abs(moved - offset) <= 1e-15:
            break
        offset = moved
    reach = abs(offset - ramp.loss_at(ramp.low if at_low else ramp.high))
    left, right = _mass(ramp, far, ramp.high) if at_low else _mass(ramp, ramp.low, near)
    if abs(left - math.exp(offset) * right) < 1e-3 * reach:
        return 0.0
    return offset + (1e-5 if at_low else -1e-5) * reach


def _mass(ramp: Ramp, low: float, high: float) -> tuple[float, float]:
    """P and Q of a stretch of a normal ramp, roughly."""
    shift = ramp.slope
    plain, left, right = (
        float(ndtr(high - center) - ndtr(low - center)) for center in (0.0, shift, -shift)
    )
    half = shift * shift / 2.0
    rise, fall = math.exp(ramp.log_left_rise + half), math.exp(ramp.log_right_fall + half)
    return ramp.left_flat * plain + rise * left, ramp.right_flat * plain + fall * right
