"""Noisy gradient descent: its noise, its law, its claim under audit, its utility."""

import math
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation
from solvers import Ball, Bounds, Box, Hinge, Logistic, Simplex, Softmax, Squared, WholeSpace
from solvers.descent import DescentSetting, Path
from solvers.gradient_descent import GradientDescent
from solvers.privacy.noise import noise_ratio
from tests.solvers.spoiled_iterates import BOTH_SIGNS, hinge_pair, hinge_setting

BUDGETS: list[Guarantee] = [
    PureDP(epsilon=1.0),
    ApproxDP(epsilon=1.0, delta=1e-3),
    GaussianDP(mu=0.7),
    ZeroConcentratedDP(rho=0.2),
]


@pytest.mark.parametrize(
    ("budget", "steps", "ratio"),
    [
        (PureDP(epsilon=0.5), 3, 6.0),
        (GaussianDP(mu=0.5), 4, 4.0),
        (ZeroConcentratedDP(rho=0.5), 9, 3.0),
        (ApproxDP(epsilon=1.0, delta=1e-6), 1, 4.224679),  # the analytic Gaussian mechanism
        (ApproxDP(epsilon=1.0, delta=1e-6), 100, 42.24679),
    ],
)
def test_noise_by_hand(budget: Any, steps: int, ratio: float) -> None:  # noqa: ANN401
    assert noise_ratio(budget, steps) == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize("steps", [1, 7, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_the_accountant_agrees(steps: int, epsilon: float) -> None:
    """So many steps with this noise stay within the budget, and spend nearly all of it."""
    budget = ApproxDP(epsilon=epsilon, delta=1e-5)
    noise = Gaussian(sigma=noise_ratio(budget, steps))
    spent = dpv.Accountant(relation=Relation.REPLACE_ONE).compose(noise, times=steps)
    shown = spent.epsilon(1e-5)
    assert shown.upper <= epsilon * (1 + 1e-12)
    assert shown.lower >= epsilon * (1 - 1e-9)


def quick(**options: Any) -> GradientDescent:  # noqa: ANN401
    given: dict[str, Any] = {"steps": 4, "learning_rate": 0.5, "output": "last"}
    chosen = hinge_setting(Relation.ADD_REMOVE, 3)
    return GradientDescent(chosen, budget=ApproxDP(epsilon=1.0, delta=1e-3), **given | options)


def test_momentum_by_hand() -> None:
    """Gradients of 2 and no noise to speak of: v = 1, 3/2, 7/4, and θ = −(v₁ + … + v_k)/16."""
    setting = hinge_setting(Relation.ADD_REMOVE, 3)
    path = Path(setting, learning_rate=0.0625, divisor=1.0, momentum=0.5)
    released = np.full((1, 3, 1), 2.0)
    assert path.result(released, "last").tolist() == [[-(1.0 + 1.5 + 1.75) / 16]]
    iterates = [0.0, -0.0625, -0.15625, -0.265625]
    assert path.result(released, "average").tolist() == [[sum(iterates) / 4]]
    assert path.result(released, "tail").tolist() == [[sum(iterates[2:]) / 2]]
    assert path.result(released[:, :1], "tail").tolist() == [[-0.0625]]


def test_without_momentum_paths_are_the_same_to_the_last_bit() -> None:
    """θ ← θ − η·(released/n + ridge·θ), as it was before there was momentum."""
    setting = DescentSetting(
        loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), domain=Ball(1.0),
        relation=Relation.ADD_REMOVE, records=7, ridge=0.3,
    )  # fmt: skip
    released = np.random.default_rng(0).normal(0.0, 9.0, (50, 6, 3))
    theta = np.zeros((50, 3))
    for step in range(6):
        gradient = released[:, step] / 7.0 + 0.3 * theta
        theta = Ball(1.0).project(theta - 0.9 * gradient)
    path = Path(setting, learning_rate=0.9, divisor=7.0)
    assert (path.result(released, "last") == theta).all()
    assert path.start(2, 3).velocity is None


@pytest.mark.parametrize("options", [{"momentum": 0.9}, {"output": "tail"}, {"output": "average"}])
def test_momentum_and_averages_change_no_claim(options: dict[str, Any]) -> None:
    """The claim and the noise are those of the gradients, and so is what a run's density is."""
    plain, other = quick(), quick(**options)
    assert (plain.claim, plain.noise(1)) == (other.claim, other.noise(1))
    left, right = hinge_pair(Relation.ADD_REMOVE)
    draws = other.transcript.sample(left, 20_000, rng=np.random.default_rng(4))
    for data in (left, right):  # slopes are constant here, so that the path plays no part
        densities = [fit.transcript.log_density(draws, data) for fit in (plain, other)]
        assert (densities[0] == densities[1]).all()
    shown = [fit.sample(left, 9, rng=np.random.default_rng(0)) for fit in (plain, other)]
    assert (shown[0] != shown[1]).any()


@pytest.mark.false_alarm(1e-9)
def test_momentum_is_not_refuted() -> None:
    left, right = hinge_pair(Relation.ADD_REMOVE)
    for mechanism in (quick(momentum=0.9), quick(momentum=0.9, output="tail")):
        verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, seed=5, samples=20_000)
        assert not verdict.refuted


@pytest.mark.parametrize("momentum", [-0.1, 1.0, math.nan, True, "much"])
def test_momentum_is_below_one(momentum: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match="momentum="):
        quick(momentum=momentum)


def test_sensitivity_of_each_relation() -> None:
    for relation, reach in ((Relation.ADD_REMOVE, 1.0), (Relation.REPLACE_ONE, 2.0)):
        fit = GradientDescent(hinge_setting(relation, 3), budget=GaussianDP(mu=1.0), steps=4)
        assert fit.sensitivity(2) == reach
        assert fit.noise(2).scale == pytest.approx(2.0 * reach)
        left, right = hinge_pair(relation)
        sums = [fit.setting.sums(data) for data in (left, right)]
        theta = np.array([[0.1]])
        moved = np.ldexp(
            float((sums[0].total(theta) - sums[1].total(theta))[0, 0]), sums[0].exponent
        )
        assert abs(moved) == pytest.approx(reach, rel=1e-5)


@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_transcripts_density_is_that_of_its_draws(budget: Any, arithmetic: str) -> None:  # noqa: ANN401
    """E[exp(ln p(T | right) − ln p(T | left))] over draws T on left is 1; 6 standard errors."""
    setting = hinge_setting(Relation.ADD_REMOVE, 3, arithmetic=arithmetic)
    transcript = GradientDescent(setting, budget=budget, steps=3).transcript
    left, right = hinge_pair(Relation.ADD_REMOVE, dimension=2)
    draws = transcript.sample(left, 20_000, rng=np.random.default_rng(4))
    assert draws.shape == (20_000, 3, 2)
    losses = transcript.log_density(draws, left) - transcript.log_density(draws, right)
    ratios = np.exp(-losses)
    assert abs(ratios.mean() - 1.0) < 6.0 * ratios.std() / math.sqrt(len(ratios))
    if isinstance(budget, PureDP):
        assert np.abs(losses).max() <= 1.0 + 1e-4
    if isinstance(budget, GaussianDP):
        # The loss of the whole transcript is N(μ²/2, μ²): the claim is exact.
        assert losses.std() == pytest.approx(0.7, rel=0.05)
        assert losses.mean() == pytest.approx(0.245, abs=0.03)


def test_a_density_by_hand() -> None:
    """One step, one record, gradient −y·x = −1: N(−1, σ²)."""
    setting = hinge_setting(Relation.ADD_REMOVE, 1, arithmetic="real")
    transcript = GradientDescent(setting, budget=GaussianDP(mu=0.5), steps=1).transcript
    data = [[1.0]], [1.0]
    logs = transcript.log_density(np.array([[[-1.0]], [[1.0]]]), data)
    peak = -math.log(2.0 * math.sqrt(2.0 * math.pi))
    assert logs == pytest.approx([peak, peak - 0.5], abs=1e-5)


def test_the_release_follows_from_the_transcript() -> None:
    """θ ← project(θ − η·(released/n + ridge·θ)), averaged over k + 1 iterates; the last one."""
    setting = DescentSetting(
        loss=Logistic(),
        bounds=BOTH_SIGNS,
        domain=Ball(1.0),
        relation=Relation.REPLACE_ONE,
        records=3,
        ridge=0.5,
    )
    data = np.eye(3)[:, :2], np.array([1.0, -1.0, 1.0])
    for output in ("average", "last"):
        fit = GradientDescent(
            setting,
            budget=ApproxDP(epsilon=2.0, delta=1e-5),
            steps=5,
            learning_rate=0.3,
            output=output,
        )
        runs = fit.transcript.sample(data, 4, rng=np.random.default_rng(8))
        released = fit.sample(data, 4, rng=np.random.default_rng(8))
        for run, shown in zip(runs, released, strict=True):
            theta, path = np.zeros(2), [np.zeros(2)]
            for noisy in run:
                theta = theta - 0.3 * (noisy / 3 + 0.5 * theta)
                theta /= max(1.0, float(np.linalg.norm(theta)))
                path.append(theta)
            wanted = path[-1] if output == "last" else np.mean(path, axis=0)
            assert shown == pytest.approx(wanted, abs=1e-12)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("budget", BUDGETS[:3], ids=str)
@pytest.mark.parametrize("relation", Relation)
def test_honest_descent_is_not_refuted(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    left, right = hinge_pair(relation)
    fit = GradientDescent(hinge_setting(relation, 3), budget=budget, steps=1)
    for mechanism in (fit, fit.transcript):
        verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, seed=5, samples=15_000)
        assert not verdict.refuted
    if not isinstance(budget, GaussianDP):  # whose bound is at a δ where ε = 0 holds
        assert verdict.epsilon_lower > 0.3


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(
    ("budget", "share"), [(PureDP(epsilon=1.0), 0.8), (ApproxDP(epsilon=1.0, delta=1e-3), 0.2)]
)
def test_the_bound_shown_is_near_the_claim(budget: Any, share: float) -> None:  # noqa: ANN401
    """Lower bounds at level 1e-9 from 40,000 draws a side, for the last of one and four steps.

    Above the claim with probability at most the level. Over ten seeds they are 0.914 ± 0.013 and
    0.522 ± 0.045, so each share is seven standard deviations or more below the mean.
    """
    left, right = hinge_pair(Relation.REPLACE_ONE)
    steps = 1 if isinstance(budget, PureDP) else 4
    fit = GradientDescent(hinge_setting(Relation.REPLACE_ONE, 3), budget=budget, steps=steps)
    verdict = dpv.audit(fit.transcript, left=left, right=right, level=1e-9, seed=2, samples=40_000)
    assert share < verdict.epsilon_lower <= 1.0


@pytest.mark.false_alarm(1e-9)
def test_excess_risk_is_below_its_bound() -> None:
    """The mean excess over 500 fits against R·B/√(k + 1), and the bound is not idle."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    labels = np.sign(rows @ np.array([1.0, -1.0, 0.5]) + 0.1 * rng.normal(size=400))
    setting = DescentSetting(
        loss=Logistic(),
        bounds=BOTH_SIGNS,
        domain=Ball(2.0),
        relation=Relation.REPLACE_ONE,
        records=400,
    )
    fit = GradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-5), steps=60)
    fits = fit.sample((rows, labels), 500, rng=rng)
    risks = Logistic().values(fits @ rows.T, labels).mean(axis=1)
    best = _least_risk(rows, labels, 2.0)
    bound = 2.0 * math.sqrt(fit.second_moment(3) / 61)
    excess = risks.mean() - best
    error = 7.0 * risks.std() / math.sqrt(len(risks))
    assert error < bound / 50
    assert bound / 30 < excess < bound - error


def _least_risk(rows: Any, labels: Any, radius: float) -> float:  # noqa: ANN401
    theta = np.zeros(rows.shape[1])
    for _ in range(4000):
        slope = Logistic().slopes(rows @ theta, labels)
        theta = theta - 2.0 * (slope @ rows) / len(rows)
        theta *= min(1.0, radius / float(np.linalg.norm(theta)))
    return float(Logistic().values(rows @ theta, labels).mean())


def test_domains_and_default_rates() -> None:
    data = np.eye(2), np.array([1.0, -1.0])
    for domain in (Ball(1.0), Box(-1.0, 1.0), Simplex(), Box(1.0, 2.0)):
        setting = DescentSetting(
            loss=Hinge(), bounds=BOTH_SIGNS, domain=domain, relation=Relation.REPLACE_ONE, records=2
        )
        fit = GradientDescent(setting, budget=PureDP(epsilon=1.0), steps=3)
        assert fit.rate(2) > 0.0
        assert domain.contains(fit.sample(data, 50, rng=np.random.default_rng(1))).all()


def test_claims_say_what_they_rest_on() -> None:
    setting = hinge_setting(Relation.ADD_REMOVE, 3)
    fit = GradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-5), steps=3)
    assert fit.claim.guarantee == ApproxDP(epsilon=1.0, delta=1e-5)
    assert fit.claim.relation is Relation.ADD_REMOVE
    assert fit.claim.theorem.name == "gaussian-composition"
    assert any("elementwise" in words for words in fit.claim.assumes)
    pure = GradientDescent(setting, budget=PureDP(epsilon=1.0), steps=3)
    assert pure.claim.theorem.name == "basic-composition"
    real = hinge_setting(Relation.ADD_REMOVE, 3, arithmetic="real")
    assert GradientDescent(real, budget=PureDP(epsilon=1.0), steps=3).claim.assumes == (
        "real arithmetic",
    )


def test_releases_are_on_a_grid_that_ignores_the_data() -> None:
    fit = GradientDescent(hinge_setting(Relation.ADD_REMOVE, 3), budget=GaussianDP(mu=1.0), steps=2)
    step = fit.noise(1)._grid.grid.exponent
    for data in hinge_pair(Relation.ADD_REMOVE):
        draws = np.ldexp(fit.transcript.sample(data, 100, rng=np.random.default_rng(6)), -step)
        assert (draws == np.floor(draws)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget": PureDP(epsilon=0.0)}, "epsilon=0"),
        ({"budget": ApproxDP(epsilon=1.0)}, "delta > 0"),
        ({"budget": ApproxDP(epsilon=1.0, delta=1.0)}, "delta < 1"),
        ({"budget": GaussianDP(mu=math.inf)}, "mu=inf"),
        ({"budget": 1.0}, "budget=1"),
        ({"steps": 0}, "steps=0"),
        ({"output": "all"}, "output"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"budget": PureDP(epsilon=1.0), "steps": 2} | change
    with pytest.raises(InvalidParameter, match=words):
        GradientDescent(hinge_setting(Relation.ADD_REMOVE, 3), **options)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([[2.0]], [1.0]), "norm"),
        (([[math.nan]], [1.0]), "finite"),
        (([[0.5]], [0.0]), "label"),
        ((np.zeros((1, 0)), [1.0]), "column"),
        (([[0.5], [0.5]], [1.0, 1.0]), "records=1"),
        (([[0.5]], [1.0, 1.0]), "labels"),
        ("text", "pair"),
        (3.0, "pair"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    fit = GradientDescent(
        hinge_setting(Relation.REPLACE_ONE, 1), budget=PureDP(epsilon=1.0), steps=1
    )
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        fit.sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


def test_infinite_sensitivity_and_missing_rates_are_named() -> None:
    bounds = Bounds(norm=1.0, label_bound=1.0)
    setting = DescentSetting(
        loss=Squared(),
        bounds=bounds,
        domain=WholeSpace(),
        relation=Relation.REPLACE_ONE,
        records=1,
    )
    with pytest.raises(InvalidParameter, match="learning_rate=None"):
        GradientDescent(setting, budget=PureDP(epsilon=1.0), steps=1)
    fit = GradientDescent(setting, budget=PureDP(epsilon=1.0), steps=1, learning_rate=0.1)
    with pytest.raises(InvalidParameter, match="infinite sensitivity"):
        fit.sample(([[1.0]], [0.5]), 1, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="labels"):
        DescentSetting(
            loss=Hinge(),
            bounds=bounds,
            domain=Ball(1.0),
            relation=Relation.REPLACE_ONE,
            records=1,
        )


def test_several_classes_are_fitted_together() -> None:
    """With hardly any noise: every record is put into its class."""
    rows = np.repeat(np.eye(3), 20, axis=0)
    labels = np.repeat([0.0, 1.0, 2.0], 20)
    setting = DescentSetting(
        loss=Softmax(3),
        bounds=Bounds(norm=1.0, labels=(0, 1, 2)),
        domain=Ball(10.0),
        relation=Relation.REPLACE_ONE,
        records=60,
    )
    fit = GradientDescent(setting, budget=GaussianDP(mu=1e4), steps=30)
    shown = fit.sample((rows, labels), 4, rng=np.random.default_rng(0))
    assert shown.shape == (4, 9)
    assert (np.argmax(rows @ shown.reshape(4, 3, 3), axis=2) == labels).all()
    assert fit.sensitivity(9) == pytest.approx(2.0 * math.sqrt(2.0))


def test_clipping_long_rows_is_opt_in() -> None:
    setting = hinge_setting(Relation.REPLACE_ONE, 1, clip_records=True)
    fit = GradientDescent(setting, budget=PureDP(epsilon=1.0), steps=1)
    assert fit.sample(([[20.0]], [1.0]), 2, rng=np.random.default_rng(0)).shape == (2, 1)


@pytest.mark.false_alarm(1e-9)
def test_only_plain_floats_leak_through_their_bits() -> None:
    """A claim about reals says so: judged as floats it is refuted, and the grid's is not."""
    left, right = hinge_pair(Relation.REPLACE_ONE)
    budget = ApproxDP(epsilon=1.0, delta=1e-3)
    for arithmetic, leaks in (("real", True), ("grid", False)):
        setting = hinge_setting(Relation.REPLACE_ONE, 3, arithmetic=arithmetic)
        mechanism = GradientDescent(setting, budget=budget, steps=1).transcript
        verdict = dpv.audit(
            mechanism,
            left=left,
            right=right,
            level=1e-9,
            seed=1,
            samples=8_000,
            arithmetic="float",
        )
        assert verdict.refuted == leaks


@pytest.mark.parametrize("norm", [1e-12, 1.0, 1e12])
def test_paths_that_lead_away_end(norm: float) -> None:
    """Too large a step is no reason to refuse: iterates are cut off where floats hold them."""
    setting = DescentSetting(
        loss=Logistic(),
        bounds=Bounds(norm=norm, labels=(-1, 1)),
        domain=WholeSpace(),
        relation=Relation.ADD_REMOVE,
        records=2,
        ridge=1e9 * norm**2,
    )
    fit = GradientDescent(
        setting, budget=PureDP(epsilon=1.0), steps=30, learning_rate=1.0 / norm**2, output="last"
    )
    data = np.array([[norm], [-norm]]), np.array([1.0, 1.0])
    assert np.isfinite(fit.sample(data, 2, rng=np.random.default_rng(0))).all()
