"""The worst pair of two distributions, given how each of them compares with a third.

If V and W are both dominated against A by one pair with the ratio R, then for every number a

    E(dV/dA − x·dW/dA)₊ ≤ E(dV/dA − a)₊ + E(a − x·dW/dA)₊ ≤ E(R − a)₊ + E(a − x·R)₊,

since domination is the convex order of ratios. Let R rise with a uniform outcome U, and R′, of the
same law, fall with it. Where R − x·R′ changes sign, at a = R(U), both terms on the right are
positive on the same outcomes, and add up to E(R − x·R′)₊. So the pair with the densities R and R′
dominates (V, W). This is how a record that is replaced follows from one that is removed.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dpverify.pairs.bounds.ratios import Ratios
from dpverify.pairs.ramps import UNIT

_GRAIN = 1074  # every float is a whole multiple of 2^-1074

Value = TypeVar("Value", float, Fraction)
Mass = TypeVar("Mass", int, Fraction)


def against_each_other(law: Sequence[tuple[Value, Mass]]) -> Iterator[tuple[Value, Value, Mass]]:
    """Pieces of the outcomes: one value of the law from above, one from below, and their mass.

    `law` lists values in rising order with their masses, which are exact numbers.
    """
    up, down = list(law[::-1]), list(law)
    i = j = 0
    rest_up, rest_down = up[0][1], down[0][1]
    while True:
        mass = min(rest_up, rest_down)
        if mass:
            yield up[i][0], down[j][0], mass
        rest_up, rest_down = rest_up - mass, rest_down - mass
        if not rest_up:
            i += 1
            if i == len(up):
                return
            rest_up = up[i][1]
        if not rest_down:
            j += 1
            rest_down = down[j][1] if j < len(down) else rest_up


def antitone(ratios: Ratios) -> Ratios:
    """The ratio R/R′ above, for a ratio that is an upper bound: exact masses, rounded once."""
    law = [
        (value, _grains(mass))
        for value, mass in zip(ratios.values.tolist(), ratios.masses.tolist(), strict=True)
    ]
    pieces = [(a, b, mass / (1 << _GRAIN)) for a, b, mass in against_each_other(law)]
    left, right, masses = (np.array(column) for column in zip(*pieces, strict=True))
    seen = right > 0.0
    infinite = ratios.infinite + float((left * masses)[~seen].sum()) * (1.0 + 1e-9)
    values, weights = left[seen] / right[seen], (right * masses)[seen]
    order = np.argsort(values, kind="stable")
    return Ratios(
        np.concatenate([[0.0], values[order]]),
        np.concatenate([[ratios.infinite], weights[order]]),
        infinite,
        2.0 * ratios.value_error + 4.0 * UNIT,
        ratios.mass_error + ratios.value_error + 4.0 * UNIT,
    )


def _grains(mass: float) -> int:
    numerator, denominator = mass.as_integer_ratio()
    return (numerator << _GRAIN) // denominator
