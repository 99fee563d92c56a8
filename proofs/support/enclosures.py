"""Integrals as balls, and when two balls show the same number."""

from collections.abc import Callable

from flint import acb, arb

from dpverify.theorems import Check, Evidence


def integral(function: Callable[[acb], acb], low: arb, high: arb) -> arb:
    """The integral over [low, high] of a function analytic around it, as a ball that holds it."""
    return acb.integral(lambda z, _: function(z), acb(low), acb(high)).real


def overlaps(first: arb, second: arb, *, digits: int = 20) -> Check:
    """Whether both balls are narrow, relatively to 10^−digits, and share a point.

    Two computations of one number by different routes must pass; two numbers that differ by more
    than 10^−digits of themselves cannot.
    """
    narrow = all(value.rad() <= abs(value.mid()) * arb(10) ** -digits for value in (first, second))
    meet = bool(first.overlaps(second))
    return Check(bool(narrow) and meet, Evidence.CERTIFIED, denied=not meet)
