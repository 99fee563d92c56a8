"""The simulation lemma, both ways."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpverify.errors import DPVerifyError, InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.pairs import (
    Dominates,
    FinitePair,
    LeakyKernel,
    NotIndistinguishable,
    dominates,
    simulate,
)
from dpverify.pairs.domination import linear_program_kernel
from tests.pairs.strategies import image, kernels, post_processed, rational_pairs

F = Fraction
ULP = 2.0**-52
leaks = st.one_of(st.just(F(0)), st.just(F(1)), st.fractions(0, 1, max_denominator=50))
growths = st.one_of(st.just(F(1)), st.integers(2, 20).map(F), st.just(F(3, 2)))


def approx(ratio: Fraction, delta: Fraction) -> ApproxDP:
    """The guarantee whose simplest rational e^ε is `ratio`; δ is passed on as it is."""
    return ApproxDP(epsilon=math.log(ratio), delta=delta)  # type: ignore[arg-type]  # a real number


def assert_simulates(
    kernel: LeakyKernel, pair: FinitePair, ratio: Fraction, delta: Fraction
) -> None:
    """Every row is a law, and the two laws of leaky response are mapped as they should be."""
    rows = [tuple(row) for row in kernel.matrix.tolist()]
    assert all(type(entry) is Fraction and entry >= 0 for row in rows for entry in row)
    assert all(sum(row) == 1 for row in rows)
    leaky = FinitePair.leaky_response(ratio, delta)
    assert isinstance(leaky.left, tuple)
    assert isinstance(leaky.right, tuple)
    assert tuple(image(leaky.left, rows)) == pair.left
    assert tuple(image(leaky.right, rows)) == pair.right
    assert tuple(kernel.apply(leaky.left)) == pair.left
    assert kernel.residual == 0
    assert type(kernel.residual) is Fraction


def test_a_kernel_by_hand() -> None:
    """P = (1/2, 1/2), Q = (1/4, 3/4), e^ε = 3: M = (1/4, 1/2), d = (1/8, 0), e = (0, 1/8)."""
    kernel = simulate([F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)], PureDP(epsilon=math.log(3)))
    assert kernel.matrix[0].tolist() == [F(5, 8), F(3, 8)]
    assert kernel.matrix[1].tolist() == [F(1, 8), F(7, 8)]
    assert kernel.ratio == 3
    assert kernel.rows == (0, 1, "U", "V")
    assert kernel.outcomes == (0, 1)
    assert not kernel.matrix.flags.writeable


def test_leaky_response_simulates_itself() -> None:
    leaky = FinitePair.leaky_response(F(3), F(1, 10))
    kernel = simulate(leaky.left, leaky.right, ApproxDP(epsilon=math.log(3), delta=0.1))
    assert kernel.matrix.tolist() == np.eye(4, dtype=int).tolist()
    assert kernel.delta == F(1, 10)


@given(kernels(rows=4), growths, leaks)
def test_whatever_leaky_response_yields_is_simulated(
    kernel: list[tuple[Fraction, ...]], ratio: Fraction, delta: Fraction
) -> None:
    pair = post_processed(FinitePair.leaky_response(ratio, delta), kernel)
    found = simulate(left=pair.left, right=pair.right, guarantee=approx(ratio, delta))
    assert found.ratio == ratio
    assert_simulates(found, pair, ratio, delta)


@given(rational_pairs(), growths)
def test_the_exact_delta_suffices_and_nothing_less(pair: FinitePair, ratio: Fraction) -> None:
    deltas = {
        "left": pair.delta_at_ratio(ratio),
        "right": pair.reversed.delta_at_ratio(ratio),
    }
    delta = max(deltas.values())
    assert_simulates(simulate(pair.left, pair.right, approx(ratio, delta)), pair, ratio, delta)
    assume(delta > 0)
    less = delta * F(999, 1000)
    with pytest.raises(NotIndistinguishable) as error:
        simulate(pair.left, pair.right, approx(ratio, less))
    witness = error.value
    assert witness.excess == delta - less
    assert deltas[witness.direction] == delta
    favored, other = (
        (pair.left, pair.right) if witness.direction == "left" else (pair.right, pair.left)
    )
    indices = [int(str(outcome)) for outcome in witness.event]
    assert sum(favored[i] - ratio * other[i] for i in indices) - less == witness.excess
    assert isinstance(witness, DPVerifyError)


@given(rational_pairs(), growths, leaks)
def test_simulation_and_domination_agree(
    pair: FinitePair, ratio: Fraction, delta: Fraction
) -> None:
    """A kernel exists if and only if leaky response dominates: two independent decisions."""
    decided = isinstance(dominates(FinitePair.leaky_response(ratio, delta), pair), Dominates)
    try:
        simulate(pair.left, pair.right, approx(ratio, delta))
    except NotIndistinguishable:
        assert not decided
    else:
        assert decided


@pytest.mark.parametrize("seed", range(8))
def test_the_linear_program_agrees(seed: int) -> None:
    """An independent construction: it reaches residual 0 exactly where simulate() does."""
    rng = np.random.default_rng(seed)
    left, right = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    pair = FinitePair(left=left / math.fsum(left), right=right / math.fsum(right))
    epsilon = 0.3 * seed / 4
    delta = max(pair.delta(epsilon), pair.reversed.delta(epsilon))
    assert (
        simulate(pair.left, pair.right, ApproxDP(epsilon=epsilon, delta=delta)).residual < 4 * ULP
    )

    def program_residual(leak: float) -> float:
        truth = (1.0 - leak) / (1.0 + math.exp(-epsilon))
        lie = 1.0 - leak - truth
        table = FinitePair(left=[truth, lie, leak, 0.0], right=[lie, truth, 0.0, leak])
        return float(linear_program_kernel(table, pair).residual)

    assert program_residual(delta) < 1e-7
    # A kernel that is off by ρ in each outcome explains excess n·(1 + e^ε)·ρ at most.
    missing = delta / 2
    assert program_residual(delta - missing) > missing / (6 * (1 + math.exp(epsilon))) * 0.99
    with pytest.raises(NotIndistinguishable):
        simulate(pair.left, pair.right, ApproxDP(epsilon=epsilon, delta=delta - missing))


@pytest.mark.parametrize(
    "epsilon", [0.0, 1e-300, 1e-17, 1e-9, 0.5, 1.0, 30.0, 700.0, 1e4, math.inf]
)
@pytest.mark.parametrize("delta", [0.0, 5e-324, 1e-20, 1e-5, 0.3, 1.0])
def test_floats_over_the_whole_range(epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(11)
    rows = rng.dirichlet(np.full(40, 0.2), size=4)
    truth = (1.0 - delta) / (1.0 + math.exp(-epsilon))
    lie = (1.0 - delta) * math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    left = truth * rows[0] + lie * rows[1] + delta * rows[2]
    right = lie * rows[0] + truth * rows[1] + delta * rows[3]
    kernel = simulate(left, right, ApproxDP(epsilon=epsilon, delta=delta))
    matrix = np.asarray(kernel.matrix)
    assert matrix.dtype == np.float64
    assert (matrix >= 0.0).all()
    assert max(abs(math.fsum(row) - 1.0) for row in matrix) <= 4 * ULP
    made = truth * matrix[0] + lie * matrix[1] + delta * matrix[2]
    assert np.abs(made - left).max() <= 4 * ULP
    assert kernel.residual <= 4 * ULP


@given(rational_pairs(), st.floats(0.0, 3.0))
def test_floats_follow_fractions(pair: FinitePair, epsilon: float) -> None:
    """The smallest float δ at ε, computed rigorously, is never refused; 1 % less always is."""
    left, right = (np.array(law, dtype=np.float64) for law in (pair.left, pair.right))
    floats = FinitePair(left=left, right=right)
    delta = max(floats.delta(epsilon), floats.reversed.delta(epsilon))
    assert simulate(left, right, ApproxDP(epsilon=epsilon, delta=delta)).residual <= 8 * ULP
    assume(delta > 1e-10)
    with pytest.raises(NotIndistinguishable) as error:
        simulate(left, right, ApproxDP(epsilon=epsilon, delta=0.99 * delta))
    assert error.value.excess == pytest.approx(0.01 * delta, rel=1e-3)


def test_rounding_of_the_entries_is_not_held_against_a_pair() -> None:
    """Randomized response on many outcomes, every entry rounded: ratios exceed e^ε by an ulp."""
    weights = np.random.default_rng(2).dirichlet(np.ones(1000))
    for epsilon in (1e-12, 0.1, 1.0, 20.0):
        keep = 1.0 / (1.0 + math.exp(-epsilon))
        left = np.concatenate([keep * weights, (1.0 - keep) * weights])
        right = np.concatenate([(1.0 - keep) * weights, keep * weights])
        kernel = simulate(left, right, PureDP(epsilon=epsilon))
        assert kernel.residual <= 4 * ULP


def test_a_million_outcomes() -> None:
    rng = np.random.default_rng(6)
    left = rng.exponential(size=10**6)
    right = left * np.exp(rng.uniform(-0.4, 0.4, size=10**6))
    left, right = left / left.sum(), right / right.sum()
    kernel = simulate(left, right, ApproxDP(epsilon=0.3, delta=0.05))
    assert kernel.residual < ULP
    assert (kernel.matrix >= 0.0).all()
    assert max(abs(math.fsum(row) - 1.0) for row in kernel.matrix) <= 4 * ULP


@pytest.mark.parametrize("left", [[F(1), F(0)], [1.0, 0.0]])
def test_limits(left: list[float]) -> None:
    right = left[::-1]
    assert simulate(left, right, ApproxDP(epsilon=math.inf, delta=0)).residual == 0
    assert simulate(left, right, ApproxDP(epsilon=0, delta=1)).residual == 0
    assert simulate(left, left, ApproxDP(epsilon=0, delta=0)).residual == 0
    assert simulate(left, left, ApproxDP(epsilon=2.0, delta=0.25)).residual <= ULP


def test_the_error_speaks_in_one_sentence() -> None:
    with pytest.raises(NotIndistinguishable) as error:
        simulate(
            [F(1, 8), F(7, 8)],
            [F(1, 2), F(1, 2)],
            ApproxDP(epsilon=math.log(2), delta=0.125),
            outcomes="ab",
        )
    assert error.value.event == ("a",)
    assert error.value.direction == "right"
    assert error.value.excess == F(1, 8)
    assert str(error.value) == (
        "left and right are not (epsilon, delta)-indistinguishable: on an event of 1 outcome, "
        "right exceeds e^epsilon·left + delta by 1/8"
    )


def test_a_long_fraction_is_not_spelled_out() -> None:
    with pytest.raises(NotIndistinguishable) as error:
        simulate([F(1, 2), F(1, 2)], [F(1, 5), F(4, 5)], PureDP(epsilon=0.5))
    assert str(error.value).endswith("left exceeds e^epsilon·right + delta by about 0.170256")
    assert float(error.value.excess) == pytest.approx(0.5 - math.exp(0.5) / 5, rel=1e-14)


def test_bad_input_is_named() -> None:
    halves = [0.5, 0.5]
    with pytest.raises(InvalidParameter, match=r"guarantee=GaussianDP\(mu=1.0\) must be a PureDP"):
        simulate(halves, halves, GaussianDP(mu=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match=r"sum\(left\)=0.5 must be 1"):
        simulate([0.5, 0.0], halves, PureDP(epsilon=1.0))
    with pytest.raises(InvalidParameter, match="outcomes has length 1 and must have length 2"):
        simulate(halves, halves, PureDP(epsilon=1.0), outcomes=["a"])
    with pytest.raises(InvalidParameter, match=r"epsilon=1000000.0 must lie in \[0, 100000\]"):
        simulate([1, 0], [1, 0], PureDP(epsilon=1e6))
    kernel = simulate(halves, halves, PureDP(epsilon=1.0))
    with pytest.raises(
        InvalidParameter, match=r"law=\[1.0\] must have one probability for each of"
    ):
        kernel.apply([1.0])
