"""Gauss–Legendre rules on panels, against integrals of high precision."""

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.numerical.quadrature import TRUNCATION, WIDEST_PANEL, rule, truncation
from tests.conftest import examples


def panel_sum(left: mp.mpf, radius: mp.mpf, node: mp.mpf, slope: mp.mpf, shift: mp.mpf) -> mp.mpf:
    """The rule itself, in high precision, so that only its truncation shows."""
    theta = float(radius * (max(abs(left), abs(left + 2 * radius), 1) + slope))
    count = len(rule(theta)[0])
    roots = mp.polyroots(
        mp.taylor(lambda x: mp.legendre(count, x), 0, count)[::-1], 500, extraprec=400
    )
    total = mp.mpf(0)
    for root in (mp.re(r) for r in roots):
        weight = 2 / ((1 - root**2) * mp.diff(lambda x: mp.legendre(count, x), root) ** 2)
        z = left + radius * (1 + root)
        total += weight * mp.npdf(z - shift) * -mp.expm1(-slope * (z - node))
    return radius * total


@given(
    st.floats(-8.0, 8.0),
    st.floats(0.05, 1.0),
    st.floats(0.0, 2.0),
    st.floats(0.01, 5.0),
    st.sampled_from([-1.0, 0.0, 1.0]),
)
@settings(max_examples=examples(quick=6, fresh=25), deadline=None)
def test_truncation_is_below_its_bound(
    left: float, share: float, gap: float, slope: float, side: float
) -> None:
    """φ(z − shift)·(1 − e^(−slope·(z − node))) for a node at or left of the panel."""
    with mp.workdps(40):
        steep = max(abs(left), 1.0) + slope + 1.0
        radius = mp.mpf(share * WIDEST_PANEL / steep)
        start, node = mp.mpf(left), mp.mpf(left) - mp.mpf(gap)
        moved = mp.mpf(side * slope)
        exact = mp.quad(
            lambda z: mp.npdf(z - moved) * -mp.expm1(-mp.mpf(slope) * (z - node)),
            [start, start + radius, start + 2 * radius],
        )
        found = panel_sum(start, radius, node, mp.mpf(slope), moved)
        assert abs(found / exact - 1) <= TRUNCATION


def test_wider_panels_take_more_nodes() -> None:
    counts = [len(rule(theta)[0]) for theta in (1e-6, 1e-3, 1e-2, 0.1, WIDEST_PANEL)]
    assert counts == sorted(counts)
    assert truncation(WIDEST_PANEL, counts[-1]) <= TRUNCATION < truncation(WIDEST_PANEL, 8)


def test_weights_sum_to_the_length_of_the_interval() -> None:
    for theta in (1e-4, 0.03, 0.5):
        assert rule(theta)[1].sum() == pytest.approx(2.0, rel=1e-15)


def test_refuses_panels_that_are_too_wide() -> None:
    with pytest.raises(ArithmeticError, match="theta"):
        rule(40.0)
