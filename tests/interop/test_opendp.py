"""Histories of OpenDP measurements: what their privacy maps say, composed."""

from types import SimpleNamespace

import pytest

import dpverify as dpv

ADD = dpv.Relation.ADD_REMOVE


def test_a_history_adds_up_by_its_maps() -> None:
    pure = SimpleNamespace(output_measure="MaxDivergence", map=lambda d: 0.1 * d)
    zcdp = SimpleNamespace(output_measure="ZeroConcentratedDivergence", map=lambda d: 0.01 * d * d)
    found = dpv.from_opendp_history([pure, pure, zcdp], d_in=2, relation=ADD)
    expected = (
        dpv.Accountant(relation=ADD)
        .compose(dpv.PureDP(0.2), times=2)
        .compose(dpv.ZeroConcentratedDP(0.04))
    )
    assert found.parts == expected.parts


def test_the_real_package() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=2.0)
    found = dpv.from_opendp_history([laplace] * 10, d_in=1.0, relation=ADD)
    assert found.epsilon(0.0).upper == pytest.approx(5.0, rel=1e-12)
    # Exact composition is better than the sum, which is all that maps of pure privacy give.
    assert found.epsilon(1e-3).upper < 4.9
    gaussian = dp.m.make_gaussian(*space, scale=2.0)
    one = dpv.from_opendp_history(gaussian, d_in=1.0, relation=ADD)
    assert [part.times for part in one.parts] == [1]


@pytest.mark.parametrize(
    ("history", "message"),
    [(3, "history=3 must be a measurement"), ([3], "history entry=3 must be an OpenDP")],
)
def test_refusals(history: object, message: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=message):
        dpv.from_opendp_history(history, d_in=1, relation=ADD)
    whole = SimpleNamespace(output_measure="SmoothedMaxDivergence", map=lambda _: None)
    with pytest.raises(dpv.InvalidParameter, match="delta=None must be given"):
        dpv.from_opendp_history(whole, d_in=1, relation=ADD)
