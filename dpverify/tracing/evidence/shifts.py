"""The cost of numbers that moved between the datasets: the shift in units of the noise."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.evidence.releases import ROUNDING, Item, Release
from dpverify.tracing.recording.events import Move
from dpverify.tracing.recording.laws import (
    NOTHING,
    Cost,
    as_fraction,
    cut_cost,
    largest_loss,
    loss,
    shift_cost,
)

_MOST_PARTS = 12
_MOST_SIZES = 24
_FEW_TERMS = 2.0**-6  # of what sums of very many floats may be off by: about 64 last places
_LITTLE = 2.0**-20  # of a shift: the most that is put down to rounding where a claim is kept
_HIDES_NOTHING = LeakyResponsePair(ApproxDP(epsilon=math.inf))


def moved(move: Move) -> Item:
    sizes, scales = np.abs(move.shift), np.abs(move.scale)
    uneven = np.abs(scales - np.abs(move.scale_other)) > ROUNDING * scales
    seen = _costs(move, sizes, uneven)
    judged = _judged(move, sizes, uneven)
    units = sizes / scales
    gaussian = move.law.name == "normal"
    # The norm in the unit of the value where all scales agree, else relative to them.
    unit = float(scales[0]) if np.all(scales == scales[0]) else 1.0
    spread = sizes if np.all(scales == scales[0]) else units
    size = math.sqrt(math.fsum(spread**2)) if gaussian else math.fsum(spread)
    most = (
        math.sqrt(math.fsum(units**2))
        if gaussian
        else math.fsum(
            largest_loss(move.law, float(s), float(b)) for s, b in zip(sizes, scales, strict=True)
        )
    )
    release = Release(
        place=move.place,
        distribution=move.law.name,
        scale=unit,
        shift=size,
        norm="l2" if gaussian else "l1",
        loss=math.inf if np.any(uneven) else most,
        realized=_realized(move),
        exact=move.exact and not np.any(uneven),
    )
    return Item(release, seen, judged)


def _judged(move: Move, sizes: Floats, uneven: NDArray[np.bool_]) -> tuple[Cost, ...]:
    """The cost minus what rounding explains: a little if the claim is kept, all if broken."""
    own = sizes * (1.0 - ROUNDING)
    little = np.minimum(move.slack * _FEW_TERMS, sizes * _LITTLE)
    kept = _costs(move, np.maximum(own - little, 0.0), uneven)
    broken = _costs(move, np.maximum(own - move.slack, 0.0), uneven)
    return (
        *(replace(cost, below=NOTHING, apart_below=()) for cost in kept),
        *(replace(cost, above=NOTHING, apart=()) for cost in broken),
    )


def _realized(move: Move) -> float:
    with ctx.workprec(128):
        total = sum(
            (
                loss(move.law, *map(float, row))
                for row in zip(move.z, move.z_other, move.scale, move.scale_other, strict=True)
            ),
            arb(0),
        )
        return float(total.mid()) if total.is_finite() else float(total)


def _costs(move: Move, sizes: Floats, uneven: NDArray[np.bool_]) -> tuple[Cost, ...]:
    scales = np.abs(move.scale)
    if np.any(uneven):
        return (Cost(_HIDES_NOTHING, NOTHING, exact=False),)
    if move.windows is not None:
        ends = zip(*move.windows, strict=True)
        rows = zip(sizes, scales, ends, strict=True)
        return tuple(
            cut_cost(move.law, float(s), float(b), (float(w[0]), float(w[1]))) for s, b, w in rows
        )
    if move.law.name == "normal":
        squared = sum(
            (
                (Fraction(float(s)) / Fraction(float(b))) ** 2
                for s, b in zip(sizes, scales, strict=True)
            ),
            Fraction(0),
        )
        pair = GaussianPair(squared) if squared else NOTHING
        return (Cost(pair, pair if move.exact else NOTHING, exact=move.exact),)
    if move.law.name == "laplace" and len(sizes) > _MOST_PARTS:
        # One shift of the same ℓ1 size is worse than several. The largest of them together with
        # the event that all others lie beyond both values is better, and as bad at δ = 0.
        units = sizes / scales
        most = int(np.argmax(units))
        total = math.nextafter(math.fsum(units) * (1 + 2.0**-50), math.inf)
        if units[most] == 0.0:
            return ()
        above = LaplacePair(scale=1.0, sensitivity=total)
        if not move.exact:
            return (Cost(above, NOTHING, exact=False, apart=_apart(units)),)
        below = shift_cost(move.law, float(sizes[most]), float(scales[most])).below
        rest = np.delete(units, most)
        return (
            Cost(above, below, True, _apart(units), _apart(units, up=False)),  # noqa: FBT003
            Cost(NOTHING, _beyond_all(rest[rest > 0]), exact=True, apart_below=(NOTHING,)),
        )
    costs = [shift_cost(move.law, float(s), float(b)) for s, b in zip(sizes, scales, strict=True)]
    if move.exact:
        return tuple(costs)
    return tuple(Cost(cost.above, NOTHING, exact=False) for cost in costs)


def _apart(units: Floats, *, up: bool = True) -> tuple[Pair, ...]:
    """One Laplace pair per coordinate, of few different sizes, rounded up or down.

    A larger shift dominates a smaller one.
    """
    ranked = np.sort(units[units > 0.0])
    apart = np.flatnonzero(np.diff(ranked) > _LITTLE * ranked[:-1]) + 1
    few = len(apart) < _MOST_SIZES
    parts = np.split(ranked, apart) if few else np.array_split(ranked, _MOST_SIZES)
    found: list[Pair] = []
    for part in parts:
        end = float(part[-1]) * (1 + 2.0**-50) if up else float(part[0]) * (1 - 2.0**-50)
        found += [LaplacePair(scale=1.0, sensitivity=end)] * len(part)
    return tuple(found)


def _beyond_all(units: Floats) -> Pair:
    """A bound if all Laplace draws lie beyond both values: 2^−n against 2^−n·e^(−Σ units).

    What is computed from a pair loses no more than it, so this lies below. The loss of the event is
    rounded down.
    """
    if not units.size:
        return NOTHING
    least = math.fsum(units) * (1 - 2.0**-50)
    with ctx.workprec(256):
        ratio = as_fraction((-ball(least)).exp() * (1 + arb(2) ** -200))
    if ratio >= 1:
        return NOTHING
    p = Fraction(1, 2 ** len(units))
    return FinitePair(left=[p, 1 - p], right=[p * ratio, 1 - p * ratio])
