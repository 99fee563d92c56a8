"""Basic, advanced, zCDP, Rényi and Gaussian composition: tables, laws and sandwiches."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.parts import Part, Parts, part_of
from dpverify.accounting.rules import rdp
from dpverify.accounting.rules.advanced import AdvancedComposition
from dpverify.accounting.rules.basic import basic
from dpverify.accounting.rules.gdp import gdp, pure_mu
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.accounting.rules.rdp import RenyiComposition
from dpverify.accounting.rules.unequal import UnequalComposition
from dpverify.accounting.rules.zcdp import zcdp, zcdp_delta, zcdp_epsilon
from dpverify.balls import round_up
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LeakyResponsePair
from tests.conftest import examples

LN3 = math.log(3)


def parts_of(*listed: tuple[Guarantee, int]) -> Parts:
    return tuple(part_of(g, times=k, relation=Relation.ADD_REMOVE) for g, k in listed)


# basic


@pytest.mark.parametrize(
    ("parts", "epsilon", "delta"),
    [
        ([(ApproxDP(epsilon=0.5, delta=0.25), 2)], 1.0, 0.5),
        ([(ApproxDP(epsilon=0.5, delta=0.75), 2)], 1.0, 1.0),
        ([(ApproxDP(epsilon=1.0), 3), (ApproxDP(epsilon=2.0, delta=0.125), 1)], 5.0, 0.125),
        ([(ApproxDP(epsilon=math.inf), 1), (ApproxDP(epsilon=0.0), 9)], math.inf, 0.0),
    ],
)
def test_basic_by_hand(parts: list[tuple[ApproxDP, int]], epsilon: float, delta: float) -> None:
    assert basic(parts) == ApproxDP(epsilon=epsilon, delta=delta)


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(1, 1000)), min_size=1, max_size=8))
def test_basic_rounds_up_by_less_than_two_ulps(parts: list[tuple[float, int]]) -> None:
    exact = sum(Fraction(e) * k for e, k in parts)
    found = basic([(ApproxDP(epsilon=e), k) for e, k in parts]).epsilon
    assert exact <= Fraction(found) <= exact + Fraction(math.ulp(found))


@given(st.fractions(min_value=0, max_value=10**6))
def test_round_up_is_tight(exact: Fraction) -> None:
    found = round_up(exact)
    assert Fraction(math.nextafter(found, -1.0)) < exact <= Fraction(found)


def test_round_up_of_what_no_float_holds() -> None:
    assert round_up(Fraction(10) ** 400) == math.inf


# advanced


def test_advanced_is_the_formula_of_the_notes() -> None:
    epsilon, k, slack = 0.1, 100, 1e-6
    by_hand = epsilon * math.sqrt(2 * k * math.log(1 / slack)) + k * epsilon * math.tanh(
        epsilon / 2
    )
    found = AdvancedComposition(((ApproxDP(epsilon=epsilon), k),)).epsilon(slack)
    assert found == pytest.approx(by_hand, rel=1e-14)
    assert found >= by_hand * (1 - 1e-15)


def test_advanced_uses_the_largest_slack() -> None:
    """With δᵢ > 0, δ′ solves 1 − (1−δ′)(1−δᵢ)^k = δ."""
    part, k, delta = ApproxDP(epsilon=0.1, delta=1e-8), 1000, 1e-4
    with mp.workdps(50):
        slack = 1 - (1 - mp.mpf(delta)) / (1 - mp.mpf(part.delta)) ** k
        mean = k * mp.mpf(part.epsilon) * mp.tanh(mp.mpf(part.epsilon) / 2)
        truth = mean + mp.mpf(part.epsilon) * mp.sqrt(-2 * k * mp.log(slack))
    found = AdvancedComposition(((part, k),)).epsilon(delta)
    assert truth <= found <= truth * (1 + mp.mpf(2) ** -51)


@given(
    st.lists(st.tuples(st.floats(1e-3, 2.0), st.integers(1, 50)), min_size=1, max_size=4),
    st.sampled_from([1e-9, 1e-3, 0.2]),
)
@settings(max_examples=40, deadline=None)
def test_advanced_dominates_the_optimum(listed: list[tuple[float, int]], delta: float) -> None:
    parts = tuple((ApproxDP(epsilon=e, delta=1e-12), k) for e, k in listed)
    best = UnequalComposition(parts).epsilon(delta, tolerance=0.01).lower
    composition = AdvancedComposition(parts)
    found = composition.epsilon(delta)
    assert best <= found
    assert composition.delta(found) == pytest.approx(delta, rel=1e-9)


def test_advanced_bounds_the_tail_of_the_loss() -> None:
    """The Chernoff step of the notes: exact binomial tail against e^(−t²/2)."""
    epsilon, k = 0.2, 60
    for t in (0.5, 1.0, 2.0, 4.0):
        level = k * epsilon * math.tanh(epsilon / 2) + t * epsilon * math.sqrt(k)
        tail = sum(
            mp.binomial(k, j) * mp.exp(epsilon) ** j / (1 + mp.exp(epsilon)) ** k
            for j in range(k + 1)
            if (2 * j - k) * epsilon >= level
        )
        assert tail <= math.exp(-t * t / 2)


@pytest.mark.parametrize(
    ("parts", "delta", "expected"),
    [
        (((ApproxDP(epsilon=1.0), 2),), 0.0, math.inf),
        (((ApproxDP(epsilon=0.0), 2),), 0.0, 0.0),
        (((ApproxDP(epsilon=1.0, delta=0.5), 2),), 0.5, math.inf),
        (((ApproxDP(epsilon=1.0), 2),), 1.0, 2 * math.tanh(0.5)),
        (((ApproxDP(epsilon=math.inf), 2),), 0.5, math.inf),
    ],
)
def test_advanced_limits(
    parts: tuple[tuple[ApproxDP, int], ...], delta: float, expected: float
) -> None:
    assert AdvancedComposition(parts).epsilon(delta) == pytest.approx(expected, rel=1e-14)


def test_advanced_delta_limits() -> None:
    leaky = AdvancedComposition(((ApproxDP(epsilon=1.0, delta=0.5), 2),))
    assert leaky.delta(math.inf) == pytest.approx(0.75, rel=1e-15)
    assert leaky.delta(0.0) == 1.0
    assert AdvancedComposition(((ApproxDP(epsilon=math.inf), 1),)).delta(3.0) == 1.0


# zCDP and Rényi


def test_zcdp_beats_the_shortcut_and_covers_the_gaussian() -> None:
    """At kρ = 1 of the notes (ρ = 1/2 in zCDP) and δ = 1e-5: 5.80, 5.30 by shortcut, 4.38 exact."""
    found = zcdp_epsilon(0.5, 1e-5)
    assert (
        GaussianPair(Fraction(1)).epsilon(1e-5) < found < 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))
    )
    assert found == pytest.approx(4.7284, abs=1e-4)


@given(st.floats(1e-5, 30.0), st.sampled_from([1e-2, 1e-6, 1e-15, 1e-100]))
@settings(max_examples=examples(quick=8, fresh=20), deadline=None)
def test_zcdp_covers_every_gaussian_and_every_pure_mechanism(rho: float, delta: float) -> None:
    found = zcdp_epsilon(rho, delta)
    assert GaussianPair(2 * Fraction(rho)).epsilon(delta) <= found
    pure = math.sqrt(2 * rho) * (1 - 1e-15)
    assert LeakyResponsePair(ApproxDP(epsilon=pure)).epsilon(delta) <= found
    assert zcdp_delta(rho, found) <= delta * (1 + 1e-6)


def test_zcdp_adds_up_and_refuses_what_has_no_rho() -> None:
    mixed = parts_of(
        (PureDP(epsilon=0.5), 4), (GaussianDP(mu=0.5), 2), (ZeroConcentratedDP(rho=1.0), 1)
    )
    assert zcdp(mixed) == ZeroConcentratedDP(rho=4 * 0.125 + 2 * 0.125 + 1.0)
    assert zcdp(parts_of((ApproxDP(epsilon=0.5, delta=1e-9), 1))) is None
    assert zcdp(parts_of((RenyiDP(order=2.0, epsilon=1.0), 1))) is None


@given(st.floats(0.01, 2.0), st.integers(1, 200), st.sampled_from([1e-4, 1e-9]))
@settings(max_examples=examples(quick=6, fresh=15), deadline=None)
def test_rdp_covers_the_optimal_composition(own: float, times: int, delta: float) -> None:
    found = RenyiComposition(parts_of((PureDP(epsilon=own), times))).epsilon(delta)
    assert OptimalComposition(ApproxDP(epsilon=own), times).epsilon(delta).lower <= found


@pytest.mark.parametrize(
    "part",
    [
        ZeroConcentratedDP(rho=1e-3),
        ZeroConcentratedDP(rho=2.0),
        PureDP(epsilon=0.3),
        RenyiDP(order=12.0, epsilon=0.2),
    ],
    ids=str,
)
def test_the_descent_finds_the_order_that_a_full_search_finds(part: Guarantee) -> None:
    whole = RenyiComposition(parts_of((part, 7)))
    questions = [(d, e) for d in (1e-12, 1e-3, 0.5) for e in (0.0, 0.1, 4.0)]
    found = [(whole.epsilon(d), whole.delta(e)) for d, e in questions]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdp, "_descent", lambda cost, _, count: min(range(count), key=cost))
        assert found == [(whole.epsilon(d), whole.delta(e)) for d, e in questions]


@given(st.floats(0.01, 2.0), st.integers(1, 10_000), st.floats(1.1, 500.0))
def test_repeating_equals_listing(own: float, times: int, order: float) -> None:
    """Multiplicity is applied in one place: n runs cost n times one run, at every order."""
    repeated = RenyiComposition(parts_of((PureDP(epsilon=own), times))).divergence(order)
    single = RenyiComposition(parts_of((PureDP(epsilon=own), 1))).divergence(order)
    assert repeated == pytest.approx(times * single, rel=1e-14)


def test_rdp_respects_the_order_of_a_renyi_guarantee() -> None:
    composition = RenyiComposition(
        parts_of((RenyiDP(order=8.0, epsilon=0.1), 10), (PureDP(epsilon=0.1), 1))
    )
    assert composition.largest_order == 8.0
    assert math.isinf(composition.divergence(8.5))
    assert math.isfinite(composition.epsilon(1e-6))
    assert not RenyiComposition(parts_of((ApproxDP(epsilon=1.0, delta=0.1), 1))).applies


def test_rdp_limits() -> None:
    pure = RenyiComposition(parts_of((PureDP(epsilon=0.5), 4)))
    assert pure.epsilon(0.0) == 2.0
    assert pure.epsilon(1.0) == 0.0
    assert pure.delta(2.0) == 0.0


# Gaussian


@given(st.lists(st.tuples(st.floats(0.01, 5.0), st.integers(1, 100)), min_size=1, max_size=5))
def test_gdp_adds_squares_exactly(listed: list[tuple[float, int]]) -> None:
    total = gdp(parts_of(*((GaussianDP(mu=m), k) for m, k in listed)))
    assert total == GaussianPair(sum((Fraction(m) ** 2 * k for m, k in listed), Fraction()))


@given(st.floats(1e-8, 600.0))
@settings(max_examples=examples(quick=10, fresh=40), deadline=None)
def test_pure_mu_against_mpmath_and_dominates(epsilon: float) -> None:
    mu = pure_mu(epsilon)
    with mp.workdps(700):
        tail = 1 / (1 + mp.exp(mp.mpf(epsilon)))
        # At μ rounded up the Gaussian's common error is just below randomized response's.
        assert mp.ncdf(-mp.mpf(mu) / 2) <= tail
        assert mp.ncdf(-mp.mpf(math.nextafter(math.nextafter(mu, 0), 0)) / 2) > tail


@given(st.floats(0.01, 20.0), st.floats(0.0, 1.0))
@settings(deadline=None)
def test_pure_dp_is_dominated_by_its_gaussian(epsilon: float, share: float) -> None:
    gaussian = GaussianPair(Fraction(pure_mu(epsilon)) ** 2)
    at = share * epsilon
    assert LeakyResponsePair(ApproxDP(epsilon=epsilon)).delta(at) <= gaussian.delta(at) * (
        1 + 1e-15
    )


def test_gdp_refuses_what_has_no_mu() -> None:
    assert gdp(parts_of((ApproxDP(epsilon=0.5, delta=1e-9), 1))) is None
    assert gdp(parts_of((ZeroConcentratedDP(rho=0.5), 1))) is None
    assert pure_mu(0.0) == 0.0


# refusals


@pytest.mark.parametrize("times", [0, -3, 2.5, "many", math.inf])
def test_parts_refuse_what_is_no_count(times: object) -> None:
    with pytest.raises(InvalidParameter, match="times="):
        Part(GaussianPair(Fraction(1)), times, "x")  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize("rule", [AdvancedComposition, UnequalComposition, RenyiComposition])
def test_empty_compositions_are_refused(rule: type) -> None:
    with pytest.raises(InvalidParameter, match="must not be empty"):
        rule(())
