"""Users with several records, full samples, draws with replacement, shuffled epochs."""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, norm

import dpverify as dpv
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import End
from dpverify.pairs import GaussianPair, Mixed, SubsampledPair
from dpverify.pairs.subsampling.antitone import against_each_other
from dpverify.pairs.subsampling.copies import CopiesPair, likely_copies
from dpverify.pairs.subsampling.shuffled import ShuffledPair, standing_out
from dpverify.pairs.subsampling.truncated import TruncatedPair
from dpverify.pairs.subsampling.with_replacement import WithReplacementPair
from tests.conftest import examples

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
UNIT = GaussianPair.of(sigma=1.0, sensitivity=1.0)
NOISE = dpv.Gaussian(sigma=1.0)
FAINT = dpv.Gaussian(sigma=100.0)


def epsilon(
    subject: object, relation: dpv.Relation, times: int = 1, delta: float = 1e-6
) -> dpv.Bracket:
    return dpv.Accountant(relation=relation).compose(subject, times=times).epsilon(delta=delta)  # type: ignore[arg-type]


def copies_profile(mu: float, weights: np.ndarray, x: float, *, both: bool) -> float:
    """∫(p − x·q)₊ on a fine grid of outcomes."""
    z = np.arange(-40.0, 40.0, 1e-4)
    j = np.arange(len(weights))[:, None]
    chunks = []
    for part in np.array_split(z, 40):
        p = (weights[:, None] * norm.pdf(part - j * mu)).sum(axis=0)
        q = (weights[:, None] * norm.pdf(part + j * mu)).sum(axis=0) if both else norm.pdf(part)
        chunks.append(np.maximum(p - x * q, 0.0).sum())
    return float(sum(chunks)) * 1e-4


# Tables


def test_special_cases_are_what_they_are_called() -> None:
    assert dpv.Subsampled(NOISE, rate=0.1, records=1).pair(ADD) == SubsampledPair(UNIT, 0.1)
    assert dpv.Subsampled(NOISE, rate=1, records=3).pair(ADD) == GaussianPair(Fraction(9))
    assert dpv.Subsampled(NOISE, rate=1, records=3).pair(REPLACE) == GaussianPair(Fraction(36))
    whole = dpv.Subsampled(NOISE, rate=0.1, at_most=20, population=20)
    assert whole.pair(ADD) == SubsampledPair(UNIT, 0.1)
    assert dpv.Shuffled(NOISE, batches=1).pair(REPLACE) == UNIT
    assert dpv.SubsampledWithReplacement(NOISE, batch=3, population=1).pair(REPLACE) == (
        GaussianPair(Fraction(9))
    )
    one = WithReplacementPair(UNIT, 1, 10).delta_bracket(0.3)
    assert one.lower <= SubsampledPair(UNIT, 0.1).delta(0.3) <= one.upper
    assert one.width < 1e-5


def test_a_few_numbers() -> None:
    assert likely_copies(UNIT, 5, 0.5) == 5
    assert likely_copies(UNIT, 10**6, 1e-9) == 11  # C(1e6, 12)·1e-108 is about 2e-45
    assert likely_copies(GaussianPair(Fraction(100)), 50, 0.5) == 2  # twenty standard deviations
    assert standing_out(UNIT, 1) == pytest.approx(1.0, abs=1e-8)
    assert standing_out(UNIT, 2) == pytest.approx(norm.cdf(math.sqrt(0.375)), rel=1e-3)
    full = TruncatedPair(UNIT, 0.25, 3, 10)
    assert full.cut == pytest.approx(binom.sf(2, 9, 0.25), rel=1e-8)
    (kept,) = full.attained
    assert isinstance(kept, SubsampledPair)
    assert kept.rate == pytest.approx(0.25 * (1.0 - full.cut))


def test_a_finite_pair_is_replaced_on_a_sample() -> None:
    """Ratios 3 and 1/3 to A in opposite order: (1−q+3q)/(1−q+q/3), as for Laplace noise."""
    many, few = Fraction(3, 4), Fraction(1, 4)
    response = dpv.FinitePair(left=[many, few], right=[few, many])
    found = dpv.Subsampled(response, rate=0.25).pair(REPLACE)
    assert isinstance(found, dpv.FinitePair)
    assert found.ratio_at_delta(Fraction(0)) == (many + 3 * few) / (many + few / 3)
    whole = dpv.Subsampled(response, rate=1).pair(REPLACE)
    assert isinstance(whole, dpv.FinitePair)
    assert whole.ratio_at_delta(Fraction(0)) == 9


# Laws


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=8))
def test_pieces_keep_both_laws(given_law: list[tuple[int, int]]) -> None:
    law = sorted((Fraction(value), mass) for value, mass in given_law)
    pieces = list(against_each_other(law))
    wanted: Counter[Fraction] = Counter()
    for value, mass in law:
        wanted[value] += mass
    for side in (0, 1):
        kept: Counter[Fraction] = Counter()
        for up, down, mass in pieces:
            kept[(up, down)[side]] += mass
        assert kept == wanted
    assert [p[0] for p in pieces] == sorted((p[0] for p in pieces), reverse=True)
    assert [p[1] for p in pieces] == sorted(p[1] for p in pieces)


@settings(max_examples=examples(quick=2, fresh=3))
@given(
    mu=st.floats(0.1, 3.0), rate=st.floats(1e-3, 0.9), records=st.integers(1, 2), at=st.floats(0, 2)
)
def test_more_records_cost_more(mu: float, rate: float, records: int, at: float) -> None:
    base = GaussianPair.of(sigma=1.0, sensitivity=mu)
    one, more = (CopiesPair(base, m, rate).delta_bracket(at) for m in (records, records + 1))
    assert one.lower <= more.upper
    assert one.width <= 1e-4


# Sandwiches


@pytest.mark.sampled(5)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(("mu", "records", "rate"), [(1.0, 3, 0.1), (0.3, 5, 0.5), (4.0, 2, 0.01)])
def test_users_against_quadrature(mu: float, records: int, rate: float, both: bool) -> None:  # noqa: FBT001
    pair = CopiesPair(GaussianPair.of(sigma=1.0, sensitivity=mu), records, rate, both)
    weights = binom.pmf(np.arange(records + 1), records, rate)
    for at in (0.0, 0.4):
        truth = copies_profile(mu, weights, math.exp(at), both=both)
        found = pair.delta_bracket(at)
        assert found.lower - 1e-7 <= truth <= found.upper + 1e-7
        assert found.width < 1e-4


def test_draws_with_replacement_hold_their_instance() -> None:
    """One step, all other records contributing nothing, by quadrature; and the published bound."""
    draws, population, mu = 4, 20, 1.5
    pair = WithReplacementPair(GaussianPair.of(sigma=1.0, sensitivity=mu), draws, population)
    weights = binom.pmf(np.arange(draws + 1), draws, 1.0 / population)
    chance = 1.0 - weights[0]
    for at in (0.1, 0.7, 1.5):
        x = math.exp(at)
        truth = copies_profile(mu, weights, x, both=False)
        found = pair.delta_bracket(at)
        assert found.lower - 1e-7 <= truth <= found.upper + 1e-9
        y = math.log1p((x - 1.0) / chance)
        shifts = (GaussianPair.of(sigma=1.0, sensitivity=mu * j) for j in range(1, draws + 1))
        published = sum(w * shift.delta(y) for w, shift in zip(weights[1:], shifts, strict=True))
        assert found.upper <= published * (1 + 1e-6)
        assert found.width < 0.02 * found.upper


@pytest.mark.false_alarm(4e-9)
def test_a_full_sample_against_draws() -> None:
    """Others contribute −1 and the record 1: the noisy sum of the sample above a threshold."""
    rng, draws = np.random.default_rng(8), 200_000
    rate, most, population, sigma = 0.4, 2, 6, 1.0
    pair = TruncatedPair(GaussianPair.of(sigma=sigma, sensitivity=1.0), rate, most, population)
    others = rng.binomial(population - 1, rate, draws)
    here = rng.random(draws) < rate
    stays = here & (rng.random(draws) < np.minimum(1.0, most / (others + 1.0)))
    without = -np.minimum(others, most)
    held = np.where(stays, 1.0 - np.minimum(others, most - 1), without)
    noise = rng.standard_normal((2, draws)) * sigma
    x = math.exp(0.2)
    yes, no = int((held + noise[0] > 0.5).sum()), int((without + noise[1] > 0.5).sum())
    low = beta.ppf(1e-9, yes, draws - yes + 1) - x * beta.ppf(1 - 1e-9, no + 1, draws - no)
    assert 0.01 < low <= pair.delta(0.2)
    assert low > pair.attained[0].delta(0.2)  # where the others contribute nothing


@pytest.mark.false_alarm(4e-9)
def test_a_triangle_of_records_against_draws() -> None:
    """Twenty batches, one moved in two directions: the highest one shows which record it is."""
    rng, draws, batches, size = np.random.default_rng(5), 100_000, 20, 3.0
    base = GaussianPair.of(sigma=1.0, sensitivity=size)
    noise = rng.standard_normal((draws, batches))
    noise[:, 0] += size * math.sqrt(0.75)
    wins = int((noise.argmax(axis=1) == 0).sum())
    assert beta.ppf(1.0 - 2e-9, wins + 1, draws - wins) >= standing_out(base, batches)
    across = rng.standard_normal((2, draws))
    right = noise.argmax(axis=1) == 0
    across[0] += np.where(right, size / 2.0, 0.0)
    across[1] -= np.where(right, size / 2.0, 0.0)
    yes, no = (int((side > 0.0).sum()) for side in across)
    high = beta.ppf(1 - 1e-9, yes + 1, draws - yes) - beta.ppf(1e-9, no, draws - no + 1)
    pair = ShuffledPair(base, batches)
    assert pair.attained[2] == SubsampledPair(
        GaussianPair(base.squared_mu / 4), standing_out(base, batches), Mixed.BOTH
    )
    assert 0.5 < pair.attained[2].delta_bracket(0.0).lower <= high <= base.delta(0.0)


def test_what_shuffling_is_worth_is_said_to_be_open() -> None:
    mechanism = dpv.Gaussian(sigma=0.25)
    one = epsilon(dpv.Shuffled(mechanism, batches=10), REPLACE)
    assert one.upper == pytest.approx(mechanism.pair(REPLACE).epsilon(1e-6), rel=1e-3)
    assert one.lower > 0.5 * one.upper  # little noise: the batch stands out by itself
    assert any("nobody knows" in said for said in one.assumes)
    response = epsilon(dpv.Shuffled(dpv.RandomizedResponse(epsilon=1.0), batches=10), REPLACE)
    assert response.lower == 0.0
    assert response.upper == pytest.approx(1.0, rel=1e-3)
    laplace = epsilon(dpv.Shuffled(dpv.Laplace(scale=1.0), batches=5), REPLACE, times=3)
    assert 0.2 < laplace.lower < laplace.upper <= 3.0


def test_a_sample_that_is_hardly_ever_full_costs_as_if_it_were_not() -> None:
    plain = epsilon(dpv.Subsampled(NOISE, rate=0.01), ADD, 1000)
    full = epsilon(dpv.Subsampled(NOISE, rate=0.01, at_most=180, population=10_000), ADD, 1000)
    assert full.width < 2e-3
    assert full.lower <= plain.upper
    assert plain.lower <= full.upper
    assert any("displace" in said for said in full.assumes)


@pytest.mark.slow
def test_they_compose_with_others_and_calibrate() -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.02, records=2)
    spent = dpv.Accountant(relation=ADD).compose(step, times=50)
    spent = spent.compose(dpv.Laplace(scale=10.0)).compose(
        dpv.RandomAllocation(dpv.Gaussian(sigma=3.0), steps=4)
    )
    found = spent.epsilon(delta=1e-5, tolerance=1e-2)
    assert found.width <= 1e-2
    sigma = dpv.calibrate(
        lambda s: dpv.Subsampled(dpv.Gaussian(sigma=s), rate=0.02, records=2),
        times=50,
        budget=dpv.ApproxDP(1.0, 1e-5),
        relation=ADD,
        precision=0.05,
    )
    noisy = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=0.02, records=2)
    assert 0.85 < epsilon(noisy, ADD, 50, 1e-5).upper <= 1.0


@pytest.mark.parametrize("end", End)
def test_ends_keep_their_masses(end: End) -> None:
    for pair in (CopiesPair(UNIT, 3, 0.2), WithReplacementPair(UNIT, 3, 9)):
        ratios = pair.ratios(end)
        assert ratios.masses.min() >= 0.0
        assert float(ratios.masses.sum()) == pytest.approx(1.0, abs=1e-7)
        mean = float((ratios.values * ratios.masses).sum()) + ratios.infinite
        assert mean == pytest.approx(1.0, abs=1e-7)


# Refusals


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: dpv.Subsampled(NOISE, rate=0.1, at_most=5), "at_most=5 and population=None must"),
        (lambda: dpv.Subsampled(NOISE, rate=0.1, population=5), "at_most=None and population=5"),
        (lambda: dpv.Subsampled(NOISE, rate=256, records=2), "rate=256 must lie in"),
        (lambda: dpv.Subsampled(NOISE, rate=0.1, records=0), "records=0 must be a whole number"),
        (lambda: dpv.Subsampled(NOISE, rate=0.1, records=True), "records=True must be"),
        (lambda: dpv.Subsampled(NOISE, rate=0.1, at_most=math.nan, population=9), "at_most=nan"),  # type: ignore[arg-type]
        (lambda: dpv.SubsampledWithReplacement(NOISE, batch=0, population=9), "batch=0 must"),
        (lambda: dpv.SubsampledWithReplacement(NOISE, batch=2, population=1.5), "population=1.5"),  # type: ignore[arg-type]
        (lambda: dpv.Shuffled(NOISE, batches=math.inf), "batches=inf must be"),  # type: ignore[arg-type]
        (lambda: dpv.Shuffled(dpv.Gaussian, batches=3), "mechanism=Gaussian must be an instance"),  # type: ignore[arg-type]
    ],
)
def test_one_sentence(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: dpv.Subsampled(NOISE, rate=0.1, records=2, at_most=5, population=9), "records=2"),
        (lambda: dpv.Subsampled(FAINT, rate=0.5, records=10**6), "records=1000000 and rate=0.5"),
        (lambda: dpv.Subsampled(NOISE, rate=1e-12, records=2), "rate=1e-12 must be 0 or at least"),
        (lambda: dpv.Subsampled(dpv.RandomizedResponse(epsilon=1.0), rate=0.1, records=2), "noise"),
        (lambda: dpv.Subsampled(dpv.Gaussian(sigma=0.01), rate=0.1, records=2), "sensitivity"),
        (lambda: dpv.Subsampled(dpv.ApproxDP(1.0), rate=0.1).pair(REPLACE), "must"),  # type: ignore[arg-type]
        (lambda: dpv.Shuffled(NOISE, batches=3).pair(ADD), "relation='add-remove' must be"),
        (lambda: dpv.SubsampledWithReplacement(NOISE, 3, 9).pair(ADD), "relation='add-remove'"),
        (lambda: dpv.SubsampledWithReplacement(FAINT, 10**6, 10), "copies"),
    ],
)
def test_what_nobody_has_shown(ask: Callable[[], object], message: str) -> None:
    with pytest.raises((NotSupported, InvalidParameter), match=message):
        ask()
