"""The least noise that meets a budget: searched in floats, then certified."""

from collections.abc import Callable

from scipy.optimize import brentq

from dpverify.errors import InvalidParameter

_WIDEST = 2.0**60  # noise is searched within this factor of the first guess
_STEPS = 60


def least_noise(
    *,
    estimate: Callable[[float], float],
    meets: Callable[[float], bool],
    first: float,
    what: str,
) -> float:
    """A noise scale with `meets(scale)`, as small as `estimate` can tell.

    `estimate` is positive below the scale that is wanted and at most 0 above; it may be off a
    little. `meets` decides: from the estimate's root the scale grows until it says so.

    >>> def excess(s):
    ...     return 1 / s - 3
    >>> s = least_noise(estimate=excess, meets=lambda s: excess(s) <= 0, first=1.0, what="")
    >>> round(s, 9)
    0.333333333
    """
    low = high = first
    while estimate(high) > 0.0:
        low, high = high, 2.0 * high
        if high > _WIDEST * first:
            raise InvalidParameter(f"{what} must allow more: no noise is enough")
    while estimate(low) <= 0.0:
        low, high = low / 2.0, low
        if low * _WIDEST < first:
            raise InvalidParameter(f"{what} must be smaller: even the least noise meets it")
    # Not in logarithms: the exponential of a logarithm may lie on the other side of the root.
    scale, step = float(brentq(estimate, low, high, xtol=1e-10 * low)), 1e-12
    for _ in range(_STEPS):
        if meets(scale):
            return scale
        scale, step = scale * (1.0 + step), 2.0 * step
    raise InvalidParameter(f"{what} must allow more: no noise near {scale:g} is certified")
