"""Two probability vectors over the same outcomes: either both exact, or both float64."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_between, shown

Probabilities: TypeAlias = Sequence[float | Fraction] | NDArray[np.generic]
Law: TypeAlias = tuple[Fraction, ...] | Floats

ROUNDING = 2.0**-52  # how far, per entry, the sum of a float law may be from 1


def parse_laws(left: Probabilities, right: Probabilities) -> tuple[Law, Law]:
    """Both vectors as tuples of Fractions, or both as read-only float arrays; else raise.

    A vector of ints and Fractions is exact and must sum to 1. A vector with a float in it must
    sum to 1 within n·2^-52, which rounding n entries cannot exceed. Ints go with either kind.
    """
    p, q = _parse("left", left), _parse("right", right)
    if len(p) != len(q):
        raise InvalidParameter(
            f"right has length {len(q)} and must have the length of left, {len(p)}"
        )
    if isinstance(p, tuple) != isinstance(q, tuple):
        p, q = _floats("left", p), _floats("right", q)
    _check_sum("left", p)
    _check_sum("right", q)
    return p, q


def parse_outcomes(outcomes: Sequence[object] | None, size: int) -> tuple[object, ...] | None:
    """The names of the outcomes as a tuple; raise unless they are as many as `size`."""
    if outcomes is None:
        return None
    if not isinstance(outcomes, Iterable):
        raise InvalidParameter(f"outcomes={shown(outcomes)} must be a list of names")
    names = tuple(outcomes)
    if len(names) != size:
        raise InvalidParameter(f"outcomes has length {len(names)} and must have length {size}")
    return names


def _parse(name: str, values: Probabilities) -> Law:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise InvalidParameter(f"{name}={shown(values)} must be a flat list of probabilities")
    if not array.size:
        raise InvalidParameter(f"{name}={shown(values)} must not be empty")
    if array.dtype.kind == "f":
        return _checked_floats(name, array.astype(np.float64))
    entries = array.tolist()
    for index, entry in enumerate(entries):
        check_between(f"{name}[{index}]", entry, 0.0, 1.0)
    if all(isinstance(entry, (Integral, Fraction)) for entry in entries):
        return tuple(Fraction(int(e)) if isinstance(e, Integral) else e for e in entries)
    if any(isinstance(entry, Fraction) for entry in entries):
        raise InvalidParameter(f"{name}={shown(values)} must not mix Fractions with floats")
    return _checked_floats(name, np.array(entries, dtype=np.float64))


def _checked_floats(name: str, values: Floats) -> Floats:
    bad = ~((values >= 0.0) & (values <= 1.0))  # catches NaN as well
    if bad.any():
        first = int(np.argmax(bad))
        check_between(f"{name}[{first}]", float(values[first]), 0.0, 1.0)
    values.setflags(write=False)
    return values


def _floats(name: str, law: Law) -> Floats:
    """A distribution of whole numbers as floats, to match a float distribution."""
    if not isinstance(law, tuple):
        return law
    if any(entry.denominator > 1 for entry in law):
        other = "right" if name == "left" else "left"
        raise InvalidParameter(
            f"{other} holds floats and {name} Fractions; they must be of the same type"
        )
    return _checked_floats(name, np.array(law, dtype=np.float64))


def _check_sum(name: str, law: Law) -> None:
    if isinstance(law, tuple):
        total = sum(law)
        if total != 1:
            raise InvalidParameter(f"sum({name})={total} must be exactly 1")
        return
    mass, allowed = math.fsum(law.tolist()), len(law) * ROUNDING
    if abs(mass - 1.0) > allowed:
        raise InvalidParameter(f"sum({name})={mass!r} must be 1 to within {allowed:.2g}")
