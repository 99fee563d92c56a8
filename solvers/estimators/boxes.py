"""Features with declared lower and upper bounds, each rescaled to [−1, 1]."""

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter


def feature_bounds(low: object, high: object, features: int | None) -> tuple[Floats, Floats]:
    """The declared bounds, one pair per feature; features=None only checks them."""
    if low is None or high is None:
        raise InvalidParameter(
            f"low={low!r} and high={high!r} must be declared: bounds on every feature"
        )
    try:
        least, most = (np.asarray(value, np.float64) for value in (low, high))
        if features is not None:
            least, most = (np.broadcast_to(value, (features,)) for value in (least, most))
        half = center_and_half(least, most)[1]  # 0 for bounds too close for floats
        ordered = bool((np.isfinite(most - least) & (half > 0.0)).all())
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise InvalidParameter(
            f"low={low!r} must be below high={high!r}: finite numbers, one for all features or one "
            "for each"
        )
    return least, most


def center_and_half(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The middle of the bounds, and half their width."""
    return 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low


def within_one(rows: Floats, low: Floats, high: Floats, *, clip: bool) -> Floats:
    """Features rescaled from [low, high] to [−1, 1]; raise for values beyond the bounds.

    Records are compared with the bounds themselves: what lies within them is never refused, however
    the middle is rounded.
    """
    middle, half = center_and_half(low, high)
    with np.errstate(over="ignore"):
        beyond = np.maximum(low - rows, rows - high)
    if not clip and (beyond > half * 2.0**-40).any():  # more than rounding
        raise InvalidParameter(
            "every value of X must lie between low and high, or be clipped (clip=True)"
        )
    return np.clip((np.clip(rows, low, high) - middle) / half, -1.0, 1.0)
