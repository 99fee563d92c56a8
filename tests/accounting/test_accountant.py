"""The front door: every rule side by side, and the laws of composition."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from tests.accounting.truth import gaussian_delta
from tests.conftest import examples

ADD = dpv.Relation.ADD_REMOVE


def spent(*parts: tuple[object, int]) -> dpv.Accountant:
    accountant = dpv.Accountant(relation=ADD)
    for part, times in parts:
        accountant = accountant.compose(part, times=times)  # type: ignore[arg-type]  # any part
    return accountant


def test_the_contract_of_the_design() -> None:
    accountant = spent((dpv.Gaussian(sigma=50.0, l2_sensitivity=1.0), 1000))
    found = accountant.epsilon(delta=1e-6)
    assert found.lower <= 2.9216005904270457 <= found.upper
    assert found.width < 1e-14
    assert found.theorem is not None
    assert accountant.delta(epsilon=3.0).upper == pytest.approx(
        float(gaussian_delta(math.sqrt(1000) / 50, 3.0)), rel=1e-14
    )


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        (
            [(dpv.PureDP(epsilon=0.1), 100)],
            {"basic", "advanced", "optimal", "zcdp", "rdp", "gdp", "numerical"},
        ),
        (
            [(dpv.ApproxDP(epsilon=0.1, delta=1e-9), 100)],
            {"basic", "advanced", "optimal", "rdp", "numerical"},  # Rényi given that none leaks
        ),
        (
            [(dpv.Gaussian(sigma=20.0), 100)],
            {
                "basic",
                "advanced",
                "zcdp",
                "rdp",
                "gdp",
                "numerical",
            },
        ),
        ([(dpv.ZeroConcentratedDP(rho=0.01), 10)], {"basic", "advanced", "zcdp", "rdp"}),
        ([(dpv.RenyiDP(order=8.0, epsilon=0.01), 10)], {"basic", "advanced", "rdp"}),
    ],
)
def test_which_rules_apply(parts: list[tuple[object, int]], names: set[str]) -> None:
    table = spent(*parts).compare(delta=1e-6)
    assert {row.rule for row in table.rows} == names
    assert table.tightest is not None
    assert table.tightest.upper == min(row.upper for row in table.rows)
    assert "← tightest" in str(table)


@given(st.floats(0.01, 1.0), st.integers(1, 300), st.sampled_from([1e-3, 1e-7]))
@settings(max_examples=examples(quick=4, fresh=10), deadline=None)
def test_no_rule_is_below_the_exact_answer(own: float, times: int, delta: float) -> None:
    accountant = spent((dpv.PureDP(epsilon=own), times))
    exact = accountant.epsilon(delta)
    for row in accountant.compare(delta=delta).rows:
        assert row.upper >= exact.lower
        assert row.bracket.lower <= exact.upper


@given(st.floats(0.3, 30.0), st.integers(1, 200), st.floats(0.0, 6.0))
@settings(max_examples=examples(quick=6, fresh=15), deadline=None)
def test_no_rule_is_below_the_exact_delta(sigma: float, times: int, epsilon: float) -> None:
    accountant = spent((dpv.Gaussian(sigma=sigma), times))
    exact = accountant.delta(epsilon)
    for row in accountant.compare(epsilon=epsilon).rows:
        assert row.upper >= exact.lower
        assert row.bracket.lower <= exact.upper * (1 + 1e-12)


@given(st.integers(1, 200), st.integers(1, 200))
@settings(max_examples=25, deadline=None)
def test_composing_n_then_m_is_n_plus_m(n: int, m: int) -> None:
    part = dpv.ApproxDP(epsilon=0.2, delta=1e-9)
    assert spent((part, n), (part, m)) == spent((part, n + m))
    both = dpv.Accountant(relation=ADD).compose(spent((part, n)), times=m)
    assert both == spent((part, n * m))


def test_compose_returns_a_new_accountant() -> None:
    before = spent((dpv.PureDP(epsilon=1.0), 1))
    after = before.compose(dpv.PureDP(epsilon=1.0))
    assert before.epsilon(0.0).upper == 1.0
    assert after.epsilon(0.0).upper == 2.0


def test_guarantees_without_a_worst_pair_get_both_ends() -> None:
    accountant = spent((dpv.ZeroConcentratedDP(rho=0.01), 50), (dpv.PureDP(epsilon=0.1), 3))
    found = accountant.epsilon(1e-6)
    assert 0 < found.lower < found.upper < math.inf
    guarantee = dpv.RenyiDP(order=8.0, epsilon=0.1)
    alone = spent((guarantee, 1)).epsilon(1e-6)
    assert alone.lower == 0
    assert dpv.to_approx(guarantee, delta=1e-6).guarantee == dpv.ApproxDP(
        epsilon=alone.upper, delta=1e-6
    )


@pytest.mark.parametrize(
    ("part", "delta", "expected"),
    [
        (dpv.PureDP(epsilon=0.0), 0.0, 0.0),
        (dpv.PureDP(epsilon=math.inf), 0.5, math.inf),
        (dpv.PureDP(epsilon=1.0), 1.0, 0.0),
        (dpv.ApproxDP(epsilon=1.0, delta=1.0), 0.5, math.inf),
        (dpv.GaussianDP(mu=0.0), 0.0, 0.0),
        (dpv.GaussianDP(mu=math.inf), 0.5, math.inf),
        (dpv.GaussianDP(mu=1.0), 0.0, math.inf),
        (dpv.ZeroConcentratedDP(rho=0.0), 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("times", [1, 3])
def test_limits(part: dpv.Guarantee, delta: float, expected: float, times: int) -> None:
    found = spent((part, times)).epsilon(delta)
    assert (found.lower, found.upper) == (expected, expected)


def test_nothing_composed_costs_nothing() -> None:
    empty = dpv.Accountant(relation=ADD)
    assert empty.epsilon(0.0).upper == 0.0
    assert empty.delta(0.0).upper == 0.0
    with pytest.raises(dpv.InvalidParameter, match="must not be empty"):
        empty.compare(delta=1e-6)


def test_the_exact_rule_is_the_tightest() -> None:
    table = spent((dpv.GaussianDP(mu=0.1), 100)).compare(delta=1e-5)
    assert table["gdp"].upper == pytest.approx(4.3772, abs=1e-4)
    assert table.tightest is not None
    assert table.tightest.rule == "gdp"


def test_claims_carry_their_relation() -> None:
    claim = dpv.Claim(dpv.PureDP(epsilon=1.0), dpv.Relation.REPLACE_ONE, dpv.theorems.LAPLACE)
    assert (
        dpv.Accountant(relation=dpv.Relation.REPLACE_ONE).compose(claim).epsilon(0.0).upper == 1.0
    )
    with pytest.raises(dpv.InvalidParameter, match="relation='add-remove' must be"):
        dpv.Accountant(relation=ADD).compose(claim)
    with pytest.raises(dpv.InvalidParameter, match="relation='replace-one' must be 'add-remove'"):
        dpv.Accountant(relation=ADD).compose(dpv.Accountant(relation=dpv.Relation.REPLACE_ONE))


@pytest.mark.parametrize("bad", [math.nan, -0.1, "1", None, True, math.inf])
def test_refuses_bad_delta(bad: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match="delta="):
        spent((dpv.PureDP(epsilon=1.0), 2)).epsilon(bad)  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("times", [0, -1, 1.5, "2", True])
def test_refuses_bad_times(times: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match="times="):
        spent((dpv.PureDP(epsilon=1.0), times))  # type: ignore[arg-type]  # the point


def test_refuses_what_is_no_part() -> None:
    with pytest.raises(dpv.InvalidParameter, match="part='laplace' must be"):
        spent(("laplace", 1))
    with pytest.raises(dpv.InvalidParameter, match="relation='replace' must be one of"):
        dpv.Accountant(relation="replace")  # type: ignore[arg-type]  # the point
    with pytest.raises(
        dpv.InvalidParameter, match="exactly one of delta and epsilon must be given"
    ):
        spent((dpv.PureDP(epsilon=1.0), 1)).compare()
    with pytest.raises(dpv.InvalidParameter, match="rule='best' must be one that applies"):
        _ = spent((dpv.PureDP(epsilon=1.0), 2)).compare(delta=0.1)["best"]
