"""Composing in a loop: the same answers as all at once, and accountants that branch stay apart."""

import copy
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.growth import Growth
from dpverify.accounting.parts import Composable, Part, Parts
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.mechanisms import Gaussian, Laplace, Subsampled
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, Pair
from dpverify.theorems import GAUSSIAN_COMPOSITION
from tests.conftest import examples

EMPTY = Accountant(relation=Relation.ADD_REMOVE)


def test_accountants_that_branch_count_for_themselves() -> None:
    trunk = EMPTY.compose(PureDP(epsilon=0.1))
    one = trunk.compose(PureDP(epsilon=0.2))
    two = trunk.compose(PureDP(epsilon=0.3)).compose(PureDP(epsilon=0.2))
    one = one.compose(PureDP(epsilon=0.2)).compose(PureDP(epsilon=0.3))
    assert [part.times for part in trunk.parts] == [1]
    assert [(part.label, part.times) for part in one.parts] == [
        ("PureDP(epsilon=0.1)", 1),
        ("PureDP(epsilon=0.2)", 2),
        ("PureDP(epsilon=0.3)", 1),
    ]
    assert [part.label[-4:] for part in two.parts] == ["0.1)", "0.3)", "0.2)"]
    assert two.compose(PureDP(epsilon=0.2)).parts[-1].times == 2


def test_many_gaussian_parts_are_summed_to_one() -> None:
    """σ = 10, 11, …, 39: exact rationals beside what the loop keeps."""
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    exact = GaussianPair(sum((Fraction(1, sigma**2) for sigma in range(10, 40)), Fraction()))
    found = spent.epsilon(1e-6)
    assert (found.lower, found.upper) == (exact.epsilon_bracket(1e-6).lower, exact.epsilon(1e-6))
    assert found.theorem is GAUSSIAN_COMPOSITION
    assert exact.delta(1.0) in spent.delta(1.0)


@given(st.lists(st.floats(0.1, 1e6), min_size=17, max_size=60))
def test_sums_that_grow_long_hold_the_exact_one(sigmas: list[float]) -> None:
    growth = Growth()
    parts: Parts = ()
    for sigma in sigmas:
        pair = GaussianPair.of(sigma=sigma, sensitivity=1.0)
        parts, growth = growth.after(parts, (Part(pair, 2, "noise"),))
    exact = sum((2 / Fraction(sigma) ** 2 for sigma in sigmas), Fraction())
    assert growth.squares is not None
    low, high = growth.squares
    assert low <= exact <= high <= low * (1 + Fraction(1, 2**240))
    assert max(low.denominator.bit_length(), high.denominator.bit_length()) <= 640


def test_one_part_of_another_kind_ends_the_sums() -> None:
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    mixed = spent.compose(PureDP(epsilon=1e-6))
    assert mixed.epsilon(1e-3, tolerance=0.1).upper >= spent.epsilon(1e-3).lower


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_ends_of_delta(delta: float) -> None:
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    assert spent.epsilon(delta).upper == (0.0 if delta else float("inf"))


def sampled(index: int) -> Subsampled:
    return Subsampled(Gaussian(sigma=0.8 + index / 10), rate=0.01 / (1 + index % 3))


def agree(one: Bracket, other: Bracket) -> bool:
    """Whether one number may lie in both."""
    return max(one.lower, other.lower) <= min(one.upper, other.upper)


@pytest.mark.parametrize("relation", list(Relation))
def test_asked_after_each_part_is_as_asked_once(relation: Relation) -> None:
    """Different samples, an equal one again, a large step, and noise that is not on a sample."""
    noise = Subsampled(Laplace(scale=2.0), rate=0.1)
    parts: list[Composable] = [*map(sampled, range(5)), sampled(3), noise]
    parts += [Gaussian(sigma=3.0), *map(sampled, range(9, 12))]
    spent = EMPTY if relation is Relation.ADD_REMOVE else Accountant(relation=relation)
    for index, part in enumerate(parts):
        spent = spent.compose(part)
        found = spent.epsilon(1e-6)
        assert found.width <= 1e-3
        assert spent.epsilon(1e-6) == found
        if index % 5 == 2:
            once = Accountant(relation=relation).extended(*spent.parts)
            assert agree(found, once.epsilon(1e-6, tolerance=5e-4))


@settings(max_examples=examples(quick=4, fresh=10))
@given(
    st.lists(
        st.tuples(st.floats(0.5, 5.0), st.floats(1e-4, 0.5), st.integers(1, 40)),
        min_size=2,
        max_size=4,
        unique=True,
    ),
    st.sampled_from([1e-3, 1e-6, 1e-12]),
)
def test_growing_brackets_hold_the_cost_fixed_in_advance(
    steps: list[tuple[float, float, int]], delta: float
) -> None:
    spent = EMPTY
    for sigma, rate, times in steps:
        spent = spent.compose(Subsampled(Gaussian(sigma=sigma), rate=rate), times=times)
        found = spent.epsilon(delta, tolerance=0.01)
    assert agree(found, EMPTY.extended(*spent.parts).epsilon(delta, tolerance=0.005))


def test_branches_copies_and_threads_have_grids_of_their_own() -> None:
    def ask(spent: Accountant) -> Bracket:
        return spent.epsilon(1e-6, tolerance=0.01)

    trunk = EMPTY
    for index in range(4):
        trunk = trunk.compose(sampled(index))
        ask(trunk)
    one, two = trunk.compose(sampled(7)), trunk.compose(Gaussian(sigma=1.0))
    copied = ask(copy.deepcopy(trunk).compose(sampled(7)))
    found: list[Bracket] = []
    threads = [threading.Thread(target=lambda: found.append(ask(one))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(agree(each, copied) for each in [*found, ask(one)])
    assert ask(two).lower > ask(one).upper
    assert agree(ask(trunk), ask(EMPTY.extended(*trunk.parts)))


def test_what_no_grid_can_be_kept_for_is_answered_as_usual() -> None:
    spent = EMPTY
    for index in range(4):
        spent = spent.compose(sampled(index))
        spent.epsilon(1e-6)
    leaky = spent.compose(ApproxDP(epsilon=0.1, delta=1e-9))
    assert leaky.epsilon(1e-6).lower > spent.epsilon(1e-6).upper
    assert leaky.compose(sampled(5)).epsilon(1e-6).upper < 1
    huge = spent.compose(Subsampled(Gaussian(sigma=1e-3), rate=0.01))
    assert huge.epsilon(1e-6).upper > 1e5


def noisy(sigma: float, rate: float) -> Subsampled:
    return Subsampled(Gaussian(sigma=sigma), rate=rate)


def turned(sigma: float, rate: float) -> Pair:
    return noisy(sigma, rate).pair(Relation.ADD_REMOVE).reversed


def asked_on_the_way(parts: list[tuple[Composable, int]], delta: float) -> tuple[Bracket, Bracket]:
    """ε after each part in a loop, the last one; and that of all at once, in another order."""
    spent = EMPTY
    for part, times in parts:
        spent = spent.compose(part, times=times)
        last = spent.epsilon(delta)
    once = EMPTY
    for part, times in reversed(parts):
        once = once.compose(part, times=times)
    return last, once.epsilon(delta)


@pytest.mark.parametrize(
    ("parts", "delta"),
    [
        # Turned round, the last part costs much more than the ones before: both sides see it so.
        ([(noisy(2.0, 0.1), 1), (noisy(2.1, 0.1), 1), (turned(1.0, 0.1), 1)], 1e-6),
        ([(turned(2.0, 0.1), 1), (turned(2.1, 0.1), 1), (noisy(1.9, 0.1), 1)], 1e-6),
        # Many runs at once move the sum far: the window must not lose what lies between ε and it.
        ([(noisy(2.6, 0.01), 33), (noisy(3.0, 0.1), 5), (noisy(2.4, 0.1), 30)], 0.05),
        ([(noisy(3.0, 0.01), 30), (noisy(2.7, 0.01), 1), (noisy(2.0, 0.1), 30)], 0.05),
    ],
)
def test_a_loop_agrees_with_all_at_once(parts: list[tuple[Composable, int]], delta: float) -> None:
    last, once = asked_on_the_way(parts, delta)
    assert last.lower <= once.upper
    assert once.lower <= last.upper
    exactly = EMPTY
    for part, times in parts:
        exactly = exactly.compose(part, times=times)
    assert Accountant.from_json(exactly.to_json()).delta(last.upper).lower <= delta


mixed = st.tuples(
    st.one_of(
        st.builds(noisy, st.floats(0.8, 4.0), st.sampled_from([0.01, 0.1, 0.5])),
        st.builds(turned, st.floats(0.8, 4.0), st.sampled_from([0.01, 0.1])),
        st.builds(
            lambda b, q: Subsampled(Laplace(scale=b), rate=q),
            st.floats(0.5, 4.0),
            st.sampled_from([0.01, 0.2]),
        ),
        st.builds(PureDP, st.floats(0.05, 1.0)),
    ),
    st.sampled_from([1, 2, 30]),
)


@pytest.mark.slow
@given(st.lists(mixed, min_size=2, max_size=7), st.sampled_from([0.05, 1e-3, 1e-6]))
@settings(max_examples=60, deadline=None)
def test_loops_of_any_parts_agree(parts: list[tuple[Composable, int]], delta: float) -> None:
    last, once = asked_on_the_way(parts, delta)
    assert last.lower <= once.upper
    assert once.lower <= last.upper
