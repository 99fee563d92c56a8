"""Bands around profiles: true at every ε at once, close where many draws are, and in JSON."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.bands.curves import EventLimits, claimed_trade_off
from dpverify.auditing.bands.estimation import estimate_profile, limits_of
from dpverify.auditing.bands.marks import Mark
from dpverify.auditing.bands.scores import Score
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.mechanisms import Gaussian, Laplace, RandomizedResponse
from dpverify.pairs import GaussianPair, LaplacePair

Floats = NDArray[np.float64]

OUTPUT = Score("output", lambda outputs: outputs.column(WHOLE))


class Hidden:
    """A Gaussian mechanism that does not tell its density; folded, so that no threshold is best."""

    def __init__(self, *, folded: bool) -> None:
        self.folded = folded

    def sample(self, data: float, size: int, *, rng: np.random.Generator) -> Floats:
        if self.folded:
            return rng.normal(scale=1.0 + data, size=size)  # the same mean, more spread
        return data + rng.normal(size=size)


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("runs", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_lower_end_exceeds_the_truth_with_at_most_the_level(runs: int) -> None:
    rng, level, size = np.random.default_rng(5), 0.2, 300
    pair = GaussianPair(Fraction(1))
    epsilons = np.linspace(0.0, 4.0, 17).tolist()
    truth = [pair.delta(e) for e in epsilons]
    exceeded = missed = 0
    for _ in range(runs):
        draws = Draws(from_array(1.0 + rng.normal(size=size)), from_array(rng.normal(size=size)))
        events, marks = limits_of(OUTPUT, draws, level=level)
        parts: list[EventLimits | Mark] = [*events, *marks]
        low = [max(part.delta_low(e) for part in parts) for e in epsilons]
        high = [max(limits.delta_high(e) for limits in events) for e in epsilons]
        exceeded += any(a > t for a, t in zip(low, truth, strict=True))
        missed += any(b < t for b, t in zip(high, truth, strict=True))
    assert exceeded + missed <= binom.isf(1e-9, runs, level)


def test_marks_sharpen_the_band() -> None:
    """The chances of known events of N(1, 1) and N(0, 1), where the band alone shows less."""
    rng, pair, missing = np.random.default_rng(6), GaussianPair(Fraction(1)), np.zeros(2)
    for _ in range(3):
        sides = 1.0 + rng.normal(size=10_000), rng.normal(size=10_000)
        events, marks = limits_of(OUTPUT, Draws(*map(from_array, sides)), level=0.05)
        for epsilon in (0.25, 0.5, 1.0, 1.5):
            band = max(limits.delta_low(epsilon) for limits in events)
            sharper = max(mark.delta_low(epsilon) for mark in marks)
            missing += pair.delta(epsilon) - np.array([band, sharper])
    assert 0.0 < missing[1] < 0.85 * missing[0]


def test_a_mark_tells_of_its_neighborhood() -> None:
    """P = 1/2, Q = 1/8: P − e^ε·Q and ε at δ by hand, where Q is known, and where it is not."""
    exact = Mark(epsilon=math.log(2.0), delta=0.25, other_low=0.125, other_high=0.125)
    assert exact.delta_low(math.log(3.0)) == pytest.approx(0.125)
    assert exact.delta_low(0.0) == pytest.approx(0.375)
    assert exact.epsilon_low(0.125) == pytest.approx(math.log(3.0))
    assert exact.epsilon_low(0.375) == pytest.approx(0.0)
    wide = Mark(epsilon=math.log(2.0), delta=0.25, other_low=0.0, other_high=0.25)
    assert wide.delta_low(math.log(3.0)) == pytest.approx(0.0)
    assert wide.delta_low(0.0) == pytest.approx(0.25)
    assert wide.epsilon_low(0.125) == pytest.approx(math.log(2.5))
    assert wide.epsilon_low(0.3) == 0.0


@pytest.mark.false_alarm(1e-9)
def test_bands_hold_known_profiles() -> None:
    cases = [
        (Gaussian(sigma=1.0), GaussianPair(Fraction(1))),
        (Laplace(scale=1.0), LaplacePair(sensitivity=1.0, scale=1.0)),
    ]
    for mechanism, pair in cases:
        band = estimate_profile(mechanism, left=1.0, right=0.0, draws=20_000, level=4e-10, seed=3)
        for epsilon in (0.0, 0.5, 1.0, 2.0):
            assert band.lower_delta(epsilon) <= pair.delta(epsilon)
            assert band.upper_delta(epsilon) >= pair.delta(epsilon)
            assert band.upper_delta(epsilon) - band.lower_delta(epsilon) < 0.15
        assert band.epsilon_lower(0.01) <= pair.epsilon(0.01)
        trade_off = band.trade_off([0.0, 0.1, 0.5, 1.0])
        exact = np.array([pair.trade_off(a) for a in (0.0, 0.1, 0.5, 1.0)])
        assert (trade_off.lower <= exact + 1e-12).all()
        assert (exact <= trade_off.upper + 1e-12).all()


def test_close_where_there_are_many_draws() -> None:
    band = estimate_profile(Laplace(scale=1.0), left=1.0, right=0.0, draws=100_000, seed=1)
    assert 0.95 < band.epsilon_lower(0.0) <= 1.0
    assert band.score == "privacy loss"
    assert band.refutes(PureDP(epsilon=0.9)) is not None
    assert band.refutes(PureDP(epsilon=1.0)) is None
    assert band.refutes(GaussianDP(mu=0.8)) is not None


def test_scores_are_learned_where_no_density_is_known() -> None:
    plain = estimate_profile(Hidden(folded=False), left=1.0, right=0.0, draws=8_000, seed=2)
    assert plain.explored == 2_000
    assert plain.draws == 6_000
    assert plain.lower_delta(0.0) > 0.32  # of 0.383
    folded = estimate_profile(Hidden(folded=True), left=1.0, right=0.0, draws=8_000, seed=2)
    assert folded.score == "boosted"
    assert folded.lower_delta(0.0) > 0.2  # a threshold on the output alone reaches 0.16


def test_outputs_may_be_words() -> None:
    def mechanism(data: int, rng: np.random.Generator) -> str:
        return str(
            rng.choice(["yes", "no", "perhaps"], p=[0.2, 0.3, 0.5] if data else [0.5, 0.3, 0.2])
        )

    band = estimate_profile(mechanism, left=1, right=0, draws=4_000, seed=4, epsilons=[0.0, 0.5])
    assert 0.2 < band.lower_delta(0.0) <= 0.3  # P(perhaps) − Q(perhaps)
    assert band.epsilons.tolist() == [0.0, 0.5]


def test_every_output_alike_shows_nothing() -> None:
    band = estimate_profile(lambda _data, _rng: None, left=1, right=0, draws=400, seed=1)
    assert band.lower_delta(0.0) == 0.0
    assert band.epsilon_lower(0.0) == 0.0
    assert band.refutes(PureDP(epsilon=0.0)) is None


def test_finds_the_worse_direction() -> None:
    response = RandomizedResponse(epsilon=math.log(3))
    band = estimate_profile(response, left=1, right=0, draws=20_000, seed=1)
    assert 0.45 < band.lower_delta(0.0) <= 0.5
    assert 1.0 < band.epsilon_lower(0.0) <= math.log(3)


def test_json_and_words() -> None:
    band = estimate_profile(Gaussian(sigma=1.0), left=1.0, right=0.0, draws=2_000, seed=1)
    fields = json.loads(band.to_json())
    assert fields["epsilons"] == band.epsilons.tolist()
    assert fields["lower"] == band.lower.tolist()
    assert "level=0.05" in repr(band)
    assert "TradeOffBand(201 rates" in repr(band.trade_off())
    excess = band.refutes(ApproxDP(epsilon=0.0, delta=0.1))
    assert excess is not None
    assert "claimed 0.1" in str(excess)
    again = estimate_profile(Gaussian(sigma=1.0), left=1.0, right=0.0, draws=2_000, seed=1)
    assert np.array_equal(again.lower, band.lower)


def test_claimed_trade_off_is_that_of_the_pair() -> None:
    rates = np.linspace(0.0, 1.0, 21)
    exact = np.array([GaussianPair(Fraction(1)).trade_off(float(a)) for a in rates])
    found = claimed_trade_off(GaussianDP(mu=1.0), rates)
    assert (found <= exact + 1e-12).all()
    assert np.abs(found - exact).max() < 0.01


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"draws": 10}, "draws=10 must be at least 100"),
        ({"draws": 0}, "draws=0 must be a whole number"),
        ({"level": 0.0}, "level=0.0 must lie in"),
        ({"seed": -3}, "seed=-3 must be a whole number"),
        ({"epsilons": [-1.0]}, "epsilons=.* must be numbers in"),
        ({"epsilons": "many"}, "epsilons=.* must be numbers in"),
        ({"mechanism": 3}, "mechanism=3 must be a callable"),
    ],
)
def test_refuses_nonsense(fields: dict[str, object], match: str) -> None:
    arguments: dict[str, object] = {"mechanism": Gaussian(sigma=1.0), "draws": 200} | fields
    with pytest.raises(InvalidParameter, match=match):
        estimate_profile(left=1.0, right=0.0, **arguments)  # type: ignore[arg-type]  # on purpose


def test_queries_out_of_range_are_refused() -> None:
    band = estimate_profile(Gaussian(sigma=1.0), left=1.0, right=0.0, draws=200, seed=1)
    with pytest.raises(InvalidParameter, match="epsilon=-1"):
        band.lower_delta(-1.0)
    with pytest.raises(InvalidParameter, match="delta=2"):
        band.epsilon_lower(2.0)
    with pytest.raises(InvalidParameter, match="false_alarms="):
        band.trade_off([2.0])
    assert band.lower_delta(math.inf) == 0.0


def test_failures_are_outputs() -> None:
    class Failing:
        def sample(self, data: int, size: int, *, rng: np.random.Generator) -> Floats:
            if data and (rng.random(size) < 0.4).any():
                raise ValueError("too large")
            return rng.normal(size=size)

    band = estimate_profile(Failing(), left=1, right=0, draws=1_000, seed=1)
    assert 0.25 < band.lower_delta(2.0) <= 0.4  # an exception that only the left side raises


@pytest.mark.parametrize("seeded", [True, False])
def test_mechanisms_that_cannot_be_judged_are_refused(seeded: bool) -> None:  # noqa: FBT001
    class Useless:
        def sample(self, data: float, size: int, *, rng: np.random.Generator) -> Floats:
            if not seeded:
                raise ValueError("always")
            return data + np.random.default_rng(0).normal(size=size) + 0.0 * rng.random()

    with pytest.raises(InvalidParameter, match=r"must (draw from rng|return an output)"):
        estimate_profile(Useless(), left=1.0, right=0.0, draws=200, seed=1)
