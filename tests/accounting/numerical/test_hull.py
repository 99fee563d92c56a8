"""The convex minorant of a profile on a grid."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.numerical.hull import convex_minorant
from dpverify.arrays import Floats

signed = st.lists(st.floats(-0.3, 1.0), min_size=2, max_size=12).map(np.array)


def values(masses: Floats, ratios: Floats, at: Floats) -> Floats:
    """Σ q·(x_i − x)₊ with q = p/x_i."""
    result: Floats = ((masses / ratios) * np.maximum(ratios - at[:, None], 0.0)).sum(axis=1)
    return result


def by_brute_force(points: Floats, ratios: Floats) -> Floats:
    """The largest convex function below the points, at the points: the best of all chords."""
    best = points.copy()
    for i, x in enumerate(ratios):
        for low in range(i):
            for high in range(i + 1, len(ratios)):
                share = (ratios[high] - x) / (ratios[high] - ratios[low])
                best[i] = min(best[i], share * points[low] + (1 - share) * points[high])
    return best


@given(signed, st.floats(0.05, 1.0), st.floats(0.0, 4.0))
def test_it_is_positive_and_below(masses: Floats, step: float, rate: float) -> None:
    ratios = np.exp(step * np.arange(len(masses)))
    found = convex_minorant(masses * ratios**rate, step, rate) / ratios**rate
    assert (found >= 0.0).all()
    at = np.linspace(0.0, float(ratios[-1]), 200)
    given_profile = np.maximum(values(masses, ratios, at), 0.0)
    assert (values(found, ratios, at) <= given_profile + 1e-12 * ratios[-1]).all()


@given(signed, st.floats(0.05, 1.0))
def test_it_is_the_largest_where_the_profile_is_positive(masses: Floats, step: float) -> None:
    """With both end masses large no point at either end has to give way."""
    masses = np.concatenate([[40.0], masses, [40.0]])
    ratios = np.exp(step * np.arange(len(masses)))
    points = values(masses, ratios, ratios)
    if (points[:-1] <= 0.0).any():
        return
    found = values(convex_minorant(masses, step, 0.0), ratios, ratios)
    assert np.allclose(found, by_brute_force(points, ratios), rtol=1e-9, atol=1e-12)


def test_what_is_convex_already_is_returned_as_it_is() -> None:
    masses = np.array([0.25, 0.5, 0.25])
    assert convex_minorant(masses, 0.1, 1.0) is masses


def test_a_negative_top_takes_what_stands_below_with_it() -> None:
    """Dropping the top alone would raise the profile below it."""
    found = convex_minorant(np.array([1.0, 0.2, -0.5]), math.log(2.0), 0.0)
    assert (
        found.tolist() == [0.0, 0.0, 0.0]
        or values(found, np.array([1.0, 2.0, 4.0]), np.array([0.0])) <= 0.7
    )
