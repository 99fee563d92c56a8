"""What shifts of noise cost, against integrals and sums that know nothing of the library."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import Laplace
from dpverify.neighbors import Relation
from dpverify.tracing import trace
from dpverify.tracing.evidence.outcomes import most_of, representable
from dpverify.tracing.evidence.spending import composed_delta
from dpverify.tracing.recording.laws import (
    CAUCHY,
    EXPONENTIAL,
    GUMBEL,
    LAPLACE,
    LOGISTIC,
    NORMAL,
    UNIFORM,
    TracedLaw,
    coin,
    cut_cost,
    largest_loss,
    shift_cost,
)
from dpverify.tracing.recording.sums import align

DENSITIES = {
    LAPLACE: stats.laplace,
    NORMAL: stats.norm,
    UNIFORM: stats.uniform,
    EXPONENTIAL: stats.expon,
    LOGISTIC: stats.logistic,
    CAUCHY: stats.cauchy,
}


def hockey_stick(law: TracedLaw, shift: float, epsilon: float) -> float:
    """The larger of ∫ (f(x) − e^ε·f(x ± s))⁺ dx, by quadrature."""
    density = DENSITIES[law].pdf
    ends = sorted([-60.0, -shift, 0.0, shift, 1.0, 1.0 - shift, 1.0 + shift, 60.0])
    found = []
    for sign in (1.0, -1.0):

        def excess(x: float, s: float = sign * shift) -> float:
            return max(0.0, float(density(x)) - math.exp(epsilon) * float(density(x - s)))

        parts = [quad(excess, a, b, limit=200)[0] for a, b in itertools.pairwise(ends)]
        found.append(math.fsum(parts))
    return max(found)


@pytest.mark.parametrize("law", [LAPLACE, NORMAL, UNIFORM, EXPONENTIAL], ids=lambda law: law.name)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("shift", [0.25, 0.8])
def test_exact_pairs_have_the_profile_of_the_densities(
    law: TracedLaw, epsilon: float, shift: float
) -> None:
    cost = shift_cost(law, shift, 1.0)
    assert cost.exact
    assert composed_delta((cost.above,), epsilon).upper == pytest.approx(
        hockey_stick(law, shift, epsilon), abs=1e-7
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", [LOGISTIC, CAUCHY], ids=lambda law: law.name)
@pytest.mark.parametrize("shift", [0.25, 2.0])
def test_bounds_of_other_laws_lie_above(law: TracedLaw, shift: float) -> None:
    cost = shift_cost(law, shift, 1.0)
    assert not cost.exact
    for epsilon in (0.0, 0.2, 1.0):
        bound = composed_delta((cost.above,), epsilon).upper
        assert bound >= hockey_stick(law, shift, epsilon) - 1e-9
    x = np.linspace(-50, 50, 100_001)
    density = DENSITIES[law].logpdf
    assert np.abs(density(x) - density(x - shift)).max() <= largest_loss(law, shift, 1.0) + 1e-9
    assert np.abs(density(x) - density(x - shift)).max() >= largest_loss(law, shift, 1.0) - 1e-3


def test_noise_without_a_bound_reveals() -> None:
    assert largest_loss(GUMBEL, 1.0, 1.0) == math.inf
    assert largest_loss(NORMAL, 1.0, 1.0) == math.inf
    assert largest_loss(NORMAL, 0.0, 1.0) == 0.0


@given(p=st.floats(0.05, 0.9), steps=st.integers(1, 6), epsilon=st.floats(0.0, 3.0))
def test_discrete_laplace_by_summing(p: float, steps: int, epsilon: float) -> None:
    q = 1.0 - p
    k = np.arange(-400, 401)
    mass = p / (1 + q) * q ** np.abs(k)
    other = p / (1 + q) * q ** np.abs(k - steps)
    exact = float(np.maximum(mass - math.exp(epsilon) * other, 0.0).sum())
    pair = shift_cost(TracedLaw("discrete laplace", p), float(steps), 1.0).above
    assert composed_delta((pair,), epsilon).upper == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("high", [1.0, 3.0, math.inf])
@pytest.mark.parametrize("shift", [0.5, 1.5])
def test_cut_off_noise_is_bounded_from_above(high: float, shift: float) -> None:
    cost = cut_cost(LAPLACE, shift, 1.0, (-2.0, high))
    top = min(high, 40.0)
    whole = float(stats.laplace.cdf(top) - stats.laplace.cdf(-2.0))

    def inside(x: float) -> float:
        return float(stats.laplace.pdf(x)) / whole if -2.0 < x <= top else 0.0

    for epsilon in (0.0, 0.5, 2.0):
        for sign in (1.0, -1.0):
            cuts = sorted([-2.0, 0.0, top, -2.0 + sign * shift, sign * shift, top + sign * shift])

            def excess(x: float, s: float = sign * shift, e: float = epsilon) -> float:
                return max(0.0, inside(x) - math.exp(e) * inside(x - s))

            exact = sum(quad(excess, a, b)[0] for a, b in itertools.pairwise(cuts))
            assert composed_delta((cost.above,), epsilon).upper >= exact - 1e-7


@given(
    cut=st.floats(-5, 5),
    low=st.floats(-6, 0) | st.just(-math.inf),
    high=st.floats(0.1, 6) | st.just(math.inf),
    law=st.sampled_from([LAPLACE, NORMAL, LOGISTIC, CAUCHY]),
)
def test_coins_have_conditional_probabilities(
    cut: float, low: float, high: float, law: TracedLaw
) -> None:
    cut = min(max(cut, low), high)
    cdf = DENSITIES[law].cdf
    exact = (cdf(high) - cdf(cut)) / (cdf(high) - cdf(low))
    yes, no = coin(law, (low, high), cut, up=True)
    assert float(yes) == pytest.approx(float(exact), abs=1e-9)
    assert float(yes) + float(no) == pytest.approx(1.0, abs=1e-15)
    back = coin(law, (low, high), cut, up=False)
    assert (float(back[0]), float(back[1])) == (float(no), float(yes))


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize(
    ("law", "log_tail"),
    [
        (LAPLACE, -700.0 - math.log(2.0)),
        (LOGISTIC, -700.0),
        (CAUCHY, -math.log(700.0 * math.pi)),
        (NORMAL, -245_000.0 - math.log(700.0 * math.sqrt(2.0 * math.pi))),
    ],
)
def test_far_tails_of_coins_keep_their_digits(law: TracedLaw, log_tail: float, up: bool) -> None:  # noqa: FBT001
    """Both outcomes, on either side; to first order, which is right to 1/700² here."""
    rare = coin(law, (-math.inf, math.inf), 700.0 if up else -700.0, up=up)[0]
    assert float(rare.log()) == pytest.approx(log_tail, abs=3e-6)


@pytest.mark.parametrize("law", [EXPONENTIAL, GUMBEL])
def test_far_tails_of_laws_that_are_not_symmetric(law: TracedLaw) -> None:
    rare = coin(law, (-math.inf, math.inf), 700.0, up=True)[0]
    assert float(rare.log()) == pytest.approx(-700.0, abs=1e-9)


def test_rare_outcomes_are_raised_by_one_factor() -> None:
    """The pair of e^-3000 and e^-2999 is a post-processing of what stands for it."""
    p, q = ((arb(-x)).exp() for x in (3000, 2999))
    pair, exact = representable([p, 1 - p], [q, 1 - q])
    assert not exact
    assert most_of(pair) == pytest.approx(1.0, rel=1e-12)
    assert max(pair.left[0], pair.right[0]) == Fraction(1, 2**1000)
    singular, _ = representable([p, 1 - p], [arb(-9000).exp(), 1 - arb(-9000).exp()])
    assert most_of(singular) == math.inf
    plain, exact = representable([arb(1) / 4, arb(3) / 4], [arb(1) / 2, arb(1) / 2])
    assert exact
    assert plain.left == (Fraction(1, 4), Fraction(3, 4))


# A claim about all outcomes is about rare ones, too: e^-1000 against e^-2000 loses 1000.
RARE = {
    "comparison": lambda x, rng: x + rng.laplace(scale=1e-3) > 0.0,
    "among others": lambda x, rng: [x + rng.laplace(scale=1e-3) > 0.0, rng.laplace()],
    "Gaussian": lambda x, rng: bool(rng.normal(x, 0.01) > 0),
    "branch": lambda x, rng: "high" if x + rng.laplace(scale=1e-3) > 0 else "low",
    "vector": lambda x, rng: (x + rng.laplace(scale=1e-3, size=3) > 0).tolist(),
    "Gumbel": lambda x, rng: int(np.argmax(np.array([1e3 * x, 0.0]) + rng.gumbel(size=2))),
    "coins": lambda x, rng: int(rng.binomial(400, 1e-2 * x)),
}


@pytest.mark.parametrize("name", RARE)
def test_rare_outcomes_count(name: str) -> None:
    found = trace(RARE[name], left=1.0, right=2.0, claim=PureDP(epsilon=1.0), confirm=False)
    assert found.verdict in {"overspent", "leaking", "refuted"}


@pytest.mark.parametrize(
    "shifts",
    [[0.1] * 20, [0.25] * 14 + [0.01], [0.05, 0.2] * 8, list(np.linspace(0.02, 0.3, 25))],
    ids=["alike", "one smaller", "two sizes", "all different"],
)
def test_many_shifts_are_composed_one_by_one_where_delta_allows(shifts: list[float]) -> None:
    """Against an accountant that is given every shift by itself."""
    found = trace(
        lambda x, rng: np.array(x) + rng.laplace(size=len(x)),
        left=[0.0] * len(shifts),
        right=shifts,
        claim=PureDP(epsilon=9.0),
        executions=2,
        confirm=False,
    )
    exact = Accountant(relation=Relation.ADD_REMOVE)
    for shift in shifts:
        exact = exact.compose(Laplace(scale=1.0, l1_sensitivity=shift))
    bracket, wanted = found.epsilon(1e-6), exact.epsilon(1e-6)
    assert bracket.lower <= wanted.upper
    assert bracket.upper >= wanted.lower
    loose = 1e-5 if len(set(shifts)) <= 24 else 0.01
    assert bracket.upper - bracket.lower <= loose * bracket.upper
    assert bracket.upper <= 0.995 * found.epsilon(0.0).upper


@given(
    rows=st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=1, max_size=2),
    gap=st.floats(-3, 3),
)
def test_alignments_solve_and_are_cheapest(rows: list[list[float]], gap: float) -> None:
    matrix = np.round(np.array(rows), 2)
    wanted = np.full(len(rows), round(gap, 2))
    found = align(matrix, wanted, [LAPLACE] * 3)
    if found is None:
        assert (
            np.linalg.matrix_rank(matrix) < np.linalg.matrix_rank(np.column_stack([matrix, wanted]))
            or np.linalg.cond(matrix) > 1e6
        )
        return
    step = found.step
    assert not found.exact
    assert np.allclose(matrix @ step, wanted, atol=1e-6)
    shortest = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    assert np.abs(step).sum() <= np.abs(shortest).sum() + 1e-6


def test_exponential_differences_need_only_growth() -> None:
    for gap in (2.0, -2.0):
        found = align(np.array([[1.0, -1.0]]), np.array([gap]), [EXPONENTIAL] * 2)
        assert found is not None
        assert np.all(found.step >= 0)
        assert found.step.sum() == pytest.approx(2.0)
        assert found.cost == pytest.approx(2.0)


@pytest.mark.parametrize("gap", [1.0, -1.0])
@pytest.mark.parametrize(("row", "cost"), [([1.0, 1.0], math.inf), ([1.0, -0.1], 10.0)])
def test_one_sided_noise_is_charged_in_both_directions(
    gap: float, row: list[float], cost: float
) -> None:
    """x + y only grows; of x − y/10, one direction takes a step of 1, the other one of 10."""
    found = align(np.array([row]), np.array([gap]), [EXPONENTIAL] * 2)
    assert found is not None
    assert found.cost == pytest.approx(cost)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scale", [0.5, 2.0])
@pytest.mark.parametrize("law", ["laplace", "exponential"])
def test_noisy_maxima_lose_no_more_than_the_spread(scale: float, law: str) -> None:
    """P(index) for three scores by quadrature, against the bound that traces charge."""
    density = {"laplace": stats.laplace, "exponential": stats.expon}[law](scale=scale)

    def chances(scores: tuple[float, ...]) -> list[float]:
        found = []
        for i, own in enumerate(scores):

            def wins(z: float, i: int = i, own: float = own) -> float:
                others = [s for j, s in enumerate(scores) if j != i]
                return float(density.pdf(z)) * math.prod(
                    float(density.cdf(own + z - s)) for s in others
                )

            ends = sorted([-40.0, 0.0, *(s - own for s in scores), 40.0])
            found.append(math.fsum(quad(wins, a, b)[0] for a, b in itertools.pairwise(ends)))
        return found

    left, right = (0.0, 1.0, 0.5), (1.0, 0.0, 0.5)
    losses = [abs(math.log(p / q)) for p, q in zip(chances(left), chances(right), strict=True)]
    assert max(losses) <= 2.0 / scale + 1e-6  # the spread of (−1, 1, 0) is 2


def test_vacuous_claims_are_kept() -> None:
    cost = shift_cost(GUMBEL, 1.0, 1.0)
    assert composed_delta((cost.above,), 1.0).upper == 1.0
    assert ApproxDP(epsilon=1.0, delta=1.0).delta == 1.0
