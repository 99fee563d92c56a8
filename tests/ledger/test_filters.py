"""Filters: hand-checked counts, laws of charging, adversaries with exact joint laws, refusals."""

# ruff: noqa: ANN401  # requests of any kind

import copy
import math
import pickle
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.rules.gdp import squared_mu_of
from dpverify.pairs import FinitePair, GaussianPair
from dpverify.pairs.base import Pair
from proofs.support.interactions import Game, by_filter, response
from tests.ledger.adversary import POOL, Arena, by_loss, leaves, overspent
from tests.ledger.children import in_a_child, sentence_of

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"by": "basic"},
    {"by": "gaussian", "leak_share": 0.25},
    {"by": "renyi", "orders": [16.0], "leak_share": 0.25},
)


def granted(budget: Any, mechanism: Any, *, most: int = 3000, **options: Any) -> int:
    guard = dpv.Filter(budget, ADD_REMOVE, **options)
    return next((n for n in range(most) if not guard.request(mechanism)), most)


@pytest.mark.parametrize(
    ("budget", "mechanism", "expected"),
    [
        (dpv.GaussianDP(mu=1.0), dpv.Gaussian(sigma=10.0), 100),  # Σμ² = 100/100
        (dpv.GaussianDP(mu=1.0), dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01), 1),
        (dpv.ZeroConcentratedDP(rho=0.5), dpv.Gaussian(sigma=10.0), 100),  # Σμ²/2
        (dpv.ZeroConcentratedDP(rho=0.5), dpv.Laplace(scale=10.0), 100),  # Σε²/2
        (dpv.ZeroConcentratedDP(rho=0.5), dpv.ZeroConcentratedDP(rho=0.125), 4),
        (dpv.PureDP(epsilon=1.0), dpv.Laplace(scale=20.0), 20),
        (dpv.PureDP(epsilon=1.0), dpv.PureDP(epsilon=0.25), 4),
        (dpv.ApproxDP(epsilon=1.0), dpv.Laplace(scale=4.0), 4),  # δ = 0 is pure
        (dpv.RenyiDP(order=8.0, epsilon=1.0), dpv.Gaussian(sigma=10.0), 25),  # 8/200 each
        (dpv.RenyiDP(order=8.0, epsilon=1.0), dpv.RenyiDP(order=16.0, epsilon=0.25), 4),
    ],
)
def test_how_many_fit(budget: Any, mechanism: Any, expected: int) -> None:
    assert granted(budget, mechanism) == expected


def test_gaussian_requests_go_as_far_as_an_accountant_says() -> None:
    n = granted(APPROX, dpv.Gaussian(sigma=50.0))
    cost = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Gaussian(sigma=50.0), times=n)
    more = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Gaussian(sigma=50.0), times=n + 1)
    assert cost.epsilon(1e-6).upper <= 1.0 < more.epsilon(1e-6).lower


def test_a_refusal_costs_nothing_and_smaller_requests_may_follow() -> None:
    guard = dpv.Filter(budget=dpv.PureDP(epsilon=1.0), relation=ADD_REMOVE)
    asked = [guard.request(dpv.PureDP(epsilon=e)) for e in (0.75, 0.5, 0.25, 0.125)]
    assert asked == [True, False, True, False]
    assert guard.share == 1.0


@pytest.mark.parametrize(
    ("mechanism", "by"),
    [
        (dpv.Gaussian(sigma=50.0), "gaussian"),
        (dpv.Laplace(scale=20.0), "renyi"),
        (dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.001), "renyi"),
        (dpv.PureDP(epsilon=0.5), "basic"),
    ],
)
def test_the_first_request_decides_how_an_approximate_budget_is_charged(
    mechanism: Any, by: str
) -> None:
    guard = dpv.Filter(APPROX, ADD_REMOVE)
    assert guard.scheme is None
    assert guard.theorem is None
    assert guard.request(mechanism)
    assert guard.scheme is not None
    assert guard.scheme.by == by
    guard.request(dpv.Gaussian(sigma=1000.0))
    assert guard.scheme.by == by


def test_requests_with_their_own_delta_take_the_share_set_aside() -> None:
    guard = dpv.Filter(APPROX, ADD_REMOVE, by="gaussian", leak_share=0.5)
    leaky = dpv.ApproxDP(epsilon=0.01, delta=2.0**-22)  # 2.4e-7, twice within 5e-7
    assert [guard.request(leaky) for _ in range(3)] == [True, True, False]
    assert guard.request(dpv.Gaussian(sigma=50.0))
    assert guard.spent["leak"] == Fraction(1, 2**21)


def test_a_plan_goes_as_far_as_its_composition() -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01)
    plan = dpv.Accountant(relation=ADD_REMOVE).compose(step, times=100)
    plan = plan.compose(dpv.Gaussian(sigma=10.0))
    budget = dpv.ApproxDP(epsilon=3.0, delta=1e-6)
    guard = dpv.Filter(budget, ADD_REMOVE, plan=plan)
    assert guard.request(step, times=60)
    assert guard.request(dpv.Gaussian(sigma=20.0), times=4)  # the reserve, in other pieces
    assert not guard.request(step, times=41)
    assert guard.request(step, times=40)
    assert guard.share == 1.0
    assert guard.least_budget() == budget
    renyi = dpv.Filter(budget, ADD_REMOVE, by="renyi", orders=[8.0])
    assert granted(budget, step, by="renyi", orders=[8.0]) < 5000
    assert renyi.request(step, times=100)


def test_least_noise_that_still_fits() -> None:
    guard = dpv.Filter(dpv.GaussianDP(mu=5.0), ADD_REMOVE)
    guard.request(dpv.Gaussian(sigma=0.25))  # 16 of 25
    assert guard.remaining(dpv.Gaussian) == pytest.approx(1 / 3, rel=1e-12)
    assert guard.request(dpv.Gaussian(sigma=guard.remaining(dpv.Gaussian)))
    assert guard.remaining(dpv.Gaussian) > 1e6
    pure = dpv.Filter(dpv.PureDP(epsilon=0.5), ADD_REMOVE)
    assert pure.remaining(dpv.Laplace) == 2.0
    assert pure.remaining(dpv.RandomizedResponse) == 2.0
    sampled = dpv.Filter(APPROX, ADD_REMOVE, by="renyi", orders=[16.0])
    least = sampled.remaining(lambda s: dpv.Subsampled(dpv.Gaussian(sigma=s), rate=0.01))
    assert least < sampled.remaining(dpv.Gaussian)


@given(sigmas=st.lists(st.floats(0.5, 1e4), min_size=1, max_size=30))
def test_gaussian_and_zcdp_filters_charge_what_a_fixed_sequence_costs(sigmas: list[float]) -> None:
    """Ratio 1: the smallest sufficient budget is the static cost, to the last digit."""
    gaussian = dpv.Filter(dpv.ApproxDP(epsilon=1e3, delta=1e-6), ADD_REMOVE, by="gaussian")
    concentrated = dpv.Filter(dpv.ZeroConcentratedDP(rho=1e3), ADD_REMOVE)
    spent = dpv.Accountant(relation=ADD_REMOVE)
    for sigma in sigmas:
        noise = dpv.Gaussian(sigma=sigma)
        assert gaussian.request(noise)
        assert concentrated.request(noise)
        spent = spent.compose(noise)
    found = gaussian.least_budget()
    assert isinstance(found, dpv.ApproxDP)
    static = spent.epsilon(1e-6)
    assert static.lower <= found.epsilon <= math.nextafter(static.upper, math.inf)
    exact = sum((1 / Fraction(sigma) ** 2 / 2 for sigma in sigmas), Fraction())
    assert exact <= concentrated.spent["rho"] <= exact * (1 + Fraction(1, 2**200))


@given(
    seed=st.integers(0, 10_000),
    epsilons=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=20),
)
def test_the_order_of_requests_does_not_matter(seed: int, epsilons: list[float]) -> None:
    shuffled = sorted(epsilons, key=lambda e: hash((seed, e)))
    one, two = (
        dpv.Filter(dpv.ApproxDP(epsilon=40.0, delta=1e-3), ADD_REMOVE, by="renyi", orders=[2, 8])
        for _ in range(2)
    )
    assert all(one.request(dpv.PureDP(epsilon=e)) for e in epsilons)
    assert all(two.request(dpv.PureDP(epsilon=e)) for e in shuffled)
    assert one.spent == two.spent


@pytest.mark.parametrize("seed", range(10))
def test_no_adversary_overspends(seed: int) -> None:
    arena = Arena.drawn(seed)
    played = [arena.play(100 * seed + k) for k in range(10)]
    best = arena.play_best()
    assert not [each for each in (*played, best) if each.overspent]


DIVERGENCE = math.log(2 / 3 * 4 + 1 / 3 / 4) / 2  # of order 3, of the response with odds 2 : 1


@pytest.mark.parametrize(
    ("budget", "least"),
    [
        (dpv.PureDP(epsilon=4 * math.log(2) + 1e-12), 0.99),
        (dpv.RenyiDP(order=3.0, epsilon=4 * DIVERGENCE * (1 + 1e-9)), 1 - 1e-8),
        (dpv.ApproxDP(epsilon=0.1, delta=0.25), 0.99),
    ],
)
def test_the_best_adversary_comes_close_where_a_filter_is_tight(budget: Any, least: float) -> None:
    """Four responses of odds 2 : 1 are the whole budget; or one leak of δ."""
    leak = FinitePair.leaky_response(Fraction(1), Fraction(1, 4))
    menu = (response(Fraction(2)), response(Fraction(3)), leak)
    by: Any = "basic" if isinstance(budget, dpv.ApproxDP) else None
    decide = by_filter(menu, lambda: dpv.Filter(budget, ADD_REMOVE, by=by))
    best = Arena(budget, menu, decide, 5).play_best()
    assert not best.overspent
    assert best.reached >= least


def test_the_same_harness_finds_the_wrong_filter() -> None:
    """Seeds whose budgets are (ε, δ); the filter composes privacy losses as they are asked for."""
    best = [Arena.drawn(seed, wrong=True).play_best() for seed in range(5, 10)]
    assert sum(each.overspent for each in best) >= 2
    assert max(each.reached for each in best) > 1.15


def test_the_harness_sees_an_interaction_that_breaks_its_budget() -> None:
    arena = Arena.drawn(0)
    order = list(range(len(arena.menu)))
    ends = leaves(Game(arena.menu, lambda _, __: True, 4), by_loss(order, ahead_first=True))
    assert overspent(dpv.PureDP(epsilon=0.01), ends)
    assert sum(p for p, _ in ends) == sum(q for _, q in ends) == 1


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize(
    "mechanism",
    [
        dpv.Gaussian(sigma=10.0),
        dpv.Laplace(scale=10.0),
        dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01),
        dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0.01),
        dpv.RandomizedResponse(epsilon=0.2),
        dpv.ApproxDP(epsilon=0.2, delta=1e-9),
        dpv.ZeroConcentratedDP(rho=0.001),
        POOL[10],
    ],
    ids=lambda m: type(m).__name__,
)
def test_nothing_is_charged_less_than_it_costs_fixed_in_advance(
    mechanism: Any, options: dict[str, Any]
) -> None:
    guard = dpv.Filter(dpv.ApproxDP(epsilon=50.0, delta=1e-6), ADD_REMOVE, **options)
    assert guard.request(mechanism)
    needed = guard.least_budget()
    assert isinstance(needed, dpv.ApproxDP)
    fixed = dpv.Accountant(relation=ADD_REMOVE).compose(mechanism).epsilon(1e-6)
    assert needed.epsilon >= fixed.lower
    assert guard.share > 0


def test_what_is_known_by_its_profile_is_stated_as_epsilon_and_delta() -> None:
    epoch = dpv.RandomAllocation(dpv.Gaussian(sigma=2.0), steps=3)
    test_nothing_is_charged_less_than_it_costs_fixed_in_advance(epoch, WAYS[-1])


def test_threads_never_overspend_together() -> None:
    guard = dpv.Filter(dpv.PureDP(epsilon=1.0), ADD_REMOVE)
    counts: list[int] = []

    def work() -> None:
        counts.append(sum(guard.request(dpv.PureDP(epsilon=1 / 64)) for _ in range(40)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 64
    assert guard.share == 1.0


@pytest.mark.parametrize("kind", ["filter", "odometer"])
def test_what_is_kept_in_memory_is_kept_once(kind: str) -> None:
    """A copy, or a child that was forked, would spend the same budget again."""
    held: Any = dpv.Odometer(ADD_REMOVE)
    if kind == "filter":
        held = dpv.Filter(dpv.PureDP(epsilon=1.0), ADD_REMOVE)
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(dpv.InvalidParameter, match="must not be copied"):
            double(held)
    spend = held.request if kind == "filter" else held.spend
    told = in_a_child(lambda: sentence_of(lambda: spend(dpv.PureDP(epsilon=1.0))))
    assert "which made this" in told


@pytest.mark.parametrize(
    ("budget", "mechanism", "told"),
    [
        (dpv.PureDP(epsilon=1.0), dpv.Gaussian(sigma=50.0), "largest privacy loss"),
        (dpv.GaussianDP(mu=1.0), dpv.ZeroConcentratedDP(rho=0.1), "Gaussian guarantee"),
        (dpv.ZeroConcentratedDP(rho=1.0), dpv.RenyiDP(order=4.0, epsilon=0.1), "zCDP guarantee"),
        (dpv.RenyiDP(order=8.0, epsilon=1.0), dpv.RenyiDP(order=4.0, epsilon=0.1), "Rényi"),
        (dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=0.1, delta=1e-9), "leak_share"),
    ],
)
def test_what_no_theorem_prices_is_refused_in_words(budget: Any, mechanism: Any, told: str) -> None:
    guard = dpv.Filter(budget, ADD_REMOVE)
    with pytest.raises(dpv.NotSupported, match=told):
        guard.request(mechanism)
    assert guard.share == 0.0


def test_pairs_that_look_alike_are_other_entries_of_a_plan() -> None:
    """Two tables of 1,024 outcomes print the same; one costs a hundred times the other."""

    def table(shift: float) -> FinitePair:
        tilt = np.where(np.arange(1024) % 2, 1 + shift, 1 - shift)
        tilt[:10] = tilt[-10:] = 1.0
        return FinitePair(left=tilt / 1024, right=tilt[::-1] / 1024)

    cheap, costly = table(2.0**-7), table(0.5)
    assert repr(cheap) == repr(costly)
    plan = dpv.Accountant(relation=ADD_REMOVE).compose(cheap, times=2)
    guard = dpv.Filter(APPROX, ADD_REMOVE, plan=plan)
    with pytest.raises(dpv.NotSupported, match="must be in the plan"):
        guard.request(costly)
    assert [guard.request(table(2.0**-7)) for _ in range(3)] == [True, True, False]


class Named(Pair):
    """Somebody's own pair, all of which have one name."""

    def __init__(self, squared: Fraction) -> None:
        self.inner = GaussianPair(squared)

    @property
    def reversed(self) -> Pair:
        return self

    def profile_ball(self, epsilon: arb) -> arb:
        return self.inner.profile_ball(epsilon)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash(self.inner)

    def __repr__(self) -> str:
        return "Named()"


def test_a_plan_of_pairs_without_a_record_is_refused() -> None:
    plan = dpv.Accountant(relation=ADD_REMOVE).compose(Named(Fraction(1, 100)))
    with pytest.raises(dpv.NotSupported, match="class of your own"):
        dpv.Filter(APPROX, ADD_REMOVE, plan=plan)
    gaussian = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Gaussian(sigma=10.0))
    guard = dpv.Filter(APPROX, ADD_REMOVE, plan=gaussian)
    with pytest.raises(dpv.NotSupported, match="must be in the plan"):
        guard.request(Named(Fraction(100)))


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_pair_that_leaks_on_either_side_takes_nothing_from_a_reserve(*, mirrored: bool) -> None:
    """One outcome that only one of the two laws has: nothing Gaussian bounds it."""
    pair = FinitePair(left=[1, 0], right=[Fraction(3, 4), Fraction(1, 4)])
    leaky = pair.reversed if mirrored else pair
    plan = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Gaussian(sigma=1.0))
    guard = dpv.Filter(dpv.ApproxDP(epsilon=6.0, delta=1e-3), ADD_REMOVE, plan=plan)
    with pytest.raises(dpv.NotSupported, match="a μ and no leaks"):
        guard.request(leaky)
    assert guard.share == 0.0
    (part,) = dpv.Accountant(relation=ADD_REMOVE).compose(leaky).parts
    assert squared_mu_of(part) is None


def test_what_is_not_in_a_plan_is_refused_in_words() -> None:
    plan = dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Laplace(scale=20.0), times=10)
    guard = dpv.Filter(APPROX, ADD_REMOVE, plan=plan)
    with pytest.raises(dpv.NotSupported, match="does not cover other parts"):
        guard.request(dpv.Laplace(scale=40.0))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"budget": 1.0}, "must be a guarantee"),
        ({"relation": "neighbors"}, "relation"),
        ({"by": "moments"}, "by='moments'"),
        ({"by": "gaussian", "orders": [8]}, "orders"),
        ({"by": "renyi", "orders": [1.0]}, "above 1"),
        ({"leak_share": 2}, "leak_share"),
        ({"budget": dpv.PureDP(epsilon=1.0), "by": "renyi"}, "must not be given"),
        ({"budget": dpv.PureDP(epsilon=math.inf)}, "finite"),
        ({"budget": dpv.ApproxDP(epsilon=1.0, delta=1.0)}, "delta below 1"),
        ({"budget": dpv.RenyiDP(order=math.inf, epsilon=1.0)}, "finite order"),
        ({"plan": [1]}, "plan"),
        ({"plan": dpv.Accountant(relation=ADD_REMOVE)}, "plan"),
        ({"plan": dpv.Accountant(relation=REPLACE_ONE).compose(dpv.PureDP(0.1))}, "relation"),
        ({"plan": dpv.Accountant(relation=ADD_REMOVE).compose(dpv.PureDP(2.0))}, "epsilon=2"),
    ],
)
def test_bad_budgets_are_refused_in_a_sentence(options: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"budget": APPROX, "relation": ADD_REMOVE}
    with pytest.raises(dpv.InvalidParameter, match=told):
        dpv.Filter(**given | options)


@pytest.mark.parametrize("mechanism", [1.0, "gaussian", None, dpv.Gaussian])
def test_what_is_no_mechanism_is_refused(mechanism: Any) -> None:
    with pytest.raises(dpv.InvalidParameter, match="mechanism="):
        dpv.Filter(APPROX, ADD_REMOVE).request(mechanism)


def test_a_claim_for_other_neighbors_is_refused() -> None:
    step = dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=1.0), batch=1, population=9)
    with pytest.raises(dpv.NotSupported, match="replace-one"):
        dpv.Filter(APPROX, ADD_REMOVE).request(step)
    assert dpv.Filter(dpv.GaussianDP(mu=1.0), REPLACE_ONE).request(step)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.array, Fraction])
def test_any_type_of_number_gives_the_same_filter(kind: Any) -> None:
    budget = dpv.ApproxDP(epsilon=kind(2), delta=kind(1 / 1024))
    guard = dpv.Filter(budget, ADD_REMOVE, by="renyi", orders=[kind(8)], leak_share=kind(0.5))
    plain = dpv.Filter(
        dpv.ApproxDP(epsilon=2.0, delta=1 / 1024),
        ADD_REMOVE,
        by="renyi",
        orders=[8],
        leak_share=0.5,
    )
    for each in (guard, plain):
        assert each.request(dpv.Gaussian(sigma=kind(8)), times=np.int8(3))  # type: ignore[arg-type]
    assert guard.scheme == plain.scheme
    assert guard.spent == plain.spent
    meter = dpv.Odometer(ADD_REMOVE, orders=[kind(8)])
    meter.spend(dpv.Gaussian(sigma=kind(8)))
    assert meter.epsilon(kind(1 / 1024)) == meter.epsilon(1 / 1024)


@pytest.mark.parametrize("sigma", [1e-300, 1e-160, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("budget", [APPROX, dpv.GaussianDP(mu=1.0), dpv.ZeroConcentratedDP(1.0)])
def test_noise_of_any_size_is_answered(budget: Any, sigma: float) -> None:
    guard = dpv.Filter(budget, ADD_REMOVE)
    assert guard.request(dpv.Gaussian(sigma=sigma)) is (sigma > 1)
    assert 0.0 <= guard.share < 1e-300
    meter = dpv.Odometer(ADD_REMOVE)
    meter.spend(dpv.Gaussian(sigma=sigma))
    found = meter.epsilon(1e-6)
    assert (found.upper == math.inf) is (sigma < 1)
    assert (found.lower > 1e300) is (sigma < 1)


def test_what_hides_nothing_is_never_granted() -> None:
    reveals = FinitePair(left=[1, 0], right=[0, 1])
    assert not dpv.Filter(APPROX, ADD_REMOVE, by="basic").request(reveals)
    assert not dpv.Filter(dpv.GaussianDP(mu=9.0), ADD_REMOVE).request(reveals)
