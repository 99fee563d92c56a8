"""Parts stated as (ε, δ) guarantees, for rules that compose only those."""

import math
from collections.abc import Iterator
from typing import TypeAlias

from dpverify.accounting.parts import Part, Parts
from dpverify.accounting.renyi_conversion import renyi_epsilon
from dpverify.accounting.rules.zcdp import zcdp_epsilon
from dpverify.guarantees import ApproxDP, RenyiDP, ZeroConcentratedDP
from dpverify.pairs.base import Pair

Stated: TypeAlias = tuple[tuple[ApproxDP, int], ...]
"""Parts as (ε, δ) guarantees, and how often each is run."""

_SHARES = (0.5, 0.1, 0.9, 0.01, 0.99)  # of the spare δ, tried for the parts; any is valid


def splits(parts: Parts, delta: float) -> Iterator[Stated]:
    """Ways of stating each part as (εᵢ, δᵢ) such that Σkᵢδᵢ is at most `delta`.

    Parts whose loss is bounded have one natural statement; the others share what is left of δ.
    """
    fixed = {part: _bounded(part) for part in parts}
    runs = sum(part.times for part in parts if fixed[part] is None)
    spare = delta - sum(part.times * known.delta for part, known in fixed.items() if known)
    if not runs:
        yield tuple((known, part.times) for part, known in fixed.items() if known)
        return
    if spare <= 0:
        return
    for share in (1.0, *_SHARES):
        each = math.nextafter(spare * share / runs, 0.0)
        yield tuple((known or approx_of(part, each), part.times) for part, known in fixed.items())


def bounded(parts: Parts) -> Stated | None:
    """Each part as (largest loss, leak probability), if all largest losses are finite."""
    return next(iter(splits(parts, 0.0)), None)


def approx_of(part: Part, delta: float) -> ApproxDP:
    """The smallest ε that one run of a part has at δ, rounded up."""
    match part.seen:
        case ZeroConcentratedDP(rho=rho):
            epsilon = zcdp_epsilon(rho, delta)
        case RenyiDP(order=order, epsilon=divergence):
            epsilon = renyi_epsilon(order, divergence, delta)
        case Pair() as pair:
            epsilon = max(pair.epsilon(delta), pair.reversed.epsilon(delta))
    return ApproxDP(epsilon=epsilon, delta=delta)


def _bounded(part: Part) -> ApproxDP | None:
    if not isinstance(part.seen, Pair):
        return None
    sides = (part.seen, part.seen.reversed)
    epsilon = max(side.max_loss for side in sides)
    delta = max(side.singular_mass for side in sides)
    return None if math.isinf(epsilon) else ApproxDP(epsilon=epsilon, delta=delta)
