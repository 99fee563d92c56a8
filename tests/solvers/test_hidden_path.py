"""The last iterate alone: the exact Gaussian where it is one, bounded noise, rounding hidden."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline
from scipy.stats import kstest, norm

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from solvers import Ball, Bounds, Box, Hinge, HuberHinge, Logistic, Simplex, Softmax, WholeSpace
from solvers.descent import DescentSetting, _gradients, path_of
from solvers.gradient_descent import GradientDescent
from solvers.losses.weighted import weighted
from solvers.privacy.clipped_sums import ClippedSums

APPROX = ApproxDP(epsilon=1.0, delta=1e-5)
SIGNS = Bounds(norm=1.0, labels=(-1, 1))


def setting(**changes: Any) -> DescentSetting:  # noqa: ANN401
    given: dict[str, Any] = {
        "loss": Logistic(), "bounds": SIGNS, "domain": Ball(4.0), "records": 20, "ridge": 0.05,
        "relation": Relation.REPLACE_ONE,
    }  # fmt: skip
    return DescentSetting(**given | changes)


def last(chosen: DescentSetting, budget: Any = APPROX, **options: Any) -> GradientDescent:  # noqa: ANN401
    given: dict[str, Any] = {"steps": 50, "output": "last", "accounting": "last"}
    return GradientDescent(chosen, budget=budget, **given | options)


# by hand


@pytest.mark.parametrize(
    ("ridge", "rate", "contraction"),
    [
        (0.5, 1.0, 0.5),  # curvatures from 1/2 to 3/4
        (0.5, 2.0, 0.5),  # 1 − 2·3/4 = −1/2, and 1 − 2·1/2 = 0
        (0.0, 8.0, 1.0),
        (0.25, None, 0.5),  # the default rate is 1/(1/4 + 1/4)
    ],
)
def test_contraction_by_hand(ridge: float, rate: float | None, contraction: float) -> None:
    fit = last(setting(ridge=ridge), learning_rate=rate)
    assert fit.hidden(3).contraction == pytest.approx(contraction, rel=1e-15)


def linear(steps: int, budget: Any, arithmetic: str = "real") -> GradientDescent:  # noqa: ANN401
    """Rows so short that every iterate is on the line of the loss: quadratics, by the ridge."""
    chosen = setting(
        loss=HuberHinge(width=0.5), bounds=Bounds(norm=2.0**-10, labels=(-1, 1)), records=4,
        domain=WholeSpace() if arithmetic == "real" else Box(-64.0, 64.0), ridge=2.0**-10,
        arithmetic=arithmetic,
    )  # fmt: skip
    return last(chosen, budget, steps=steps, learning_rate=64.0)


ONE_AWAY = [(np.full((4, 1), 2.0**-10), np.array([1.0, 1.0, 1.0, sign])) for sign in (1.0, -1.0)]


@pytest.mark.parametrize("steps", [1, 5, 300])
@pytest.mark.parametrize("budget", [GaussianDP(mu=0.5), ZeroConcentratedDP(rho=0.125)], ids=str)
def test_a_quadratic_is_the_exact_gaussian(steps: int, budget: Any) -> None:  # noqa: ANN401
    """θ ← c·θ + η·Σx·y/n + noise: the means are μ = 1/2 standard deviations apart."""
    fit = linear(steps, budget)
    c, move = 1 - Fraction(64, 1024), Fraction(64, 1024) * 2 / 4
    apart = sum(c**j * move for j in range(steps))
    spread = math.sqrt(sum(c ** (2 * j) for j in range(steps))) * fit.noise(1).scale * 64.0 / 4.0
    assert float(apart) / spread == pytest.approx(0.5, rel=1e-12)


@pytest.mark.false_alarm(2e-9)
def test_and_its_draws_are_that_gaussian() -> None:
    """Kolmogorov's bound; θ would have to be hundreds of its deviations to leave the line."""
    fit, c = linear(30, GaussianDP(mu=0.5)), 1 - 2.0**-4
    spread = math.sqrt(sum(c ** (2 * j) for j in range(30))) * fit.noise(1).scale * 64.0 / 4.0
    for data in ONE_AWAY:
        mean = sum(c**j for j in range(30)) * 2.0**-4 * data[1].sum() / 4.0
        draws = fit.sample(data, 20_000, rng=np.random.default_rng(1))[:, 0]
        far = kstest(draws, norm(loc=mean, scale=spread).cdf).statistic
        assert far < math.sqrt(math.log(2e9) / 2 / 20_000)


def exact_delta(fit: GradientDescent, sides: list[tuple[Floats, Floats]], epsilon: float) -> float:
    """δ of the last iterate in one dimension: densities step by step on a grid, both directions."""
    setting, n = fit.setting, int(fit.setting.records)
    rate, spread = fit.rate(1), fit.noise(1).scale * fit.rate(1) / n
    c = fit.hidden(1).contraction
    reach = rate * setting.clipping_norm(1) / (1 - c) + 9.0 * spread / math.sqrt(1 - c * c)
    axis = np.linspace(-reach, reach, 801)
    found = []
    for rows, labels in sides:
        slopes = setting.loss.slopes(np.outer(axis, rows[:, 0]), labels)
        limits = setting.clipping_norm(1) / np.maximum(np.abs(rows[:, 0]), 1e-12)
        mean = (np.clip(slopes, -limits, limits) * rows[:, 0]).sum(axis=1) / n
        moved = axis - rate * (mean + float(setting.ridge) * axis)
        kernel = norm.pdf(axis[:, None], loc=moved, scale=spread) * (axis[1] - axis[0])
        start = 0.0 - rate * float(np.interp(0.0, axis, mean))
        density = norm.pdf(axis, loc=start, scale=spread)
        for _ in range(int(fit.steps) - 1):
            density = kernel @ density
        found.append(density)
    assert [trapezoid(side, axis) for side in found] == pytest.approx([1.0, 1.0], abs=1e-6)
    fine = np.linspace(-reach, reach, 80_001)  # for the corner where the two densities cross
    one, other = (np.exp(CubicSpline(axis, np.log(side))(fine)) for side in found)
    ratio = math.exp(epsilon)
    return max(
        float(trapezoid(np.maximum(p - ratio * q, 0.0), fine))
        for p, q in ((one, other), (other, one))
    )


@pytest.mark.parametrize(
    ("changes", "steps", "share"),
    [
        ({"ridge": 0.1, "clip": 0.2}, 1, 0.9),  # slopes of 1/2 at the start, cut to 1/5
        ({"ridge": 0.1, "clip": 0.2}, 4, 0.01),
        ({"ridge": 0.1, "clip": 0.2}, 40, 1e-4),
        ({"ridge": 0.1}, 10, 0.0),
        ({"ridge": 0.5, "loss": HuberHinge(width=1.0)}, 10, 0.0),
    ],
    ids=str,
)
def test_exact_deltas_in_one_dimension_are_within_the_budget(
    changes: Any,  # noqa: ANN401
    steps: int,
    share: float,
) -> None:
    """For bent and clipped losses, too, of which the last iterate is no Gaussian."""
    budget = ApproxDP(epsilon=1.0, delta=1e-3)
    chosen = setting(domain=WholeSpace(), arithmetic="real", records=3, **changes)
    fit, deltas = last(chosen, budget, steps=steps), []
    for others in ([[0.01], [0.01]], [[0.7], [-0.4]], [[-1.0], [-0.9]]):
        sides = [(np.array([*others, [sign]]), np.ones(3)) for sign in (1.0, -1.0)]
        deltas.append(exact_delta(fit, sides, budget.epsilon))
    assert share * budget.delta <= max(deltas) <= budget.delta * (1 + 1e-7)  # the quadrature's


# laws


def test_noise_stays_bounded_as_steps_grow() -> None:
    scales = [last(setting(), steps=k).noise(3).scale for k in (1, 10, 100, 10**4, 10**6)]
    assert scales == sorted(scales)
    assert scales[-1] == pytest.approx(scales[-2], rel=1e-9)
    c = last(setting()).hidden(3).contraction
    # (1 + c)/(1 − c) steps' worth, and what the rounding takes
    most = GradientDescent(setting(), budget=APPROX, steps=1).noise(3).scale
    assert 1.0 < scales[-1] / (most * math.sqrt((1 + c) / (1 - c))) < 1.001


def test_a_small_domain_needs_no_ridge() -> None:
    """Of flat losses c = 1: the diameter bounds what long paths cost, and nothing else does."""
    small, free = (
        [
            last(setting(ridge=0.0, domain=domain, arithmetic="real"), steps=k).noise(2).scale
            for k in (100, 10**4, 10**6)
        ]
        for domain in (Ball(0.125), WholeSpace())
    )
    assert small[2] == pytest.approx(small[1])
    assert free[2] == pytest.approx(10.0 * free[1])
    assert free[1] == pytest.approx(10.0 * free[0])


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_never_more_than_all_steps_cost_but_for_rounding(steps: int) -> None:
    all_of_them = GradientDescent(setting(), budget=APPROX, steps=steps)
    alone = last(setting(), steps=steps)
    assert alone.noise(3).scale <= all_of_them.noise(3).scale * 1.001
    assert alone.claim.theorem.name == "last-iterate"
    assert any("last-iterate-rounding" in text for text in alone.claim.assumes)
    real = last(setting(arithmetic="real"), steps=steps)
    assert not any("last-iterate-rounding" in text for text in real.claim.assumes)


# the rounding on the way


@pytest.mark.parametrize(
    ("chosen", "dimension"),
    [
        (setting(), 3),
        (setting(clip=0.3, domain=Box(-1.0, 2.0)), 3),
        (setting(loss=HuberHinge(width=0.2), ridge=0.3), 2),
        (setting(loss=Softmax(3), bounds=Bounds(norm=1.0, labels=(0, 1, 2))), 6),
    ],
    ids=["logistic", "clipped", "huber-hinge", "softmax"],
)
def test_a_step_is_as_near_to_the_ideal_one_as_is_said(
    chosen: DescentSetting, dimension: int
) -> None:
    """Sums on the grid against slopes in floats of exact records, at parameters of all sizes."""
    fit, rng = last(chosen), np.random.default_rng(0)
    features = dimension // (3 if isinstance(chosen.loss, Softmax) else 1)
    rows = rng.standard_normal((20, features))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1.0 + 2.0**-40)
    assert chosen.bounds.labels is not None
    labels = rng.choice(np.array(chosen.bounds.labels), 20)
    sums = chosen.sums((rows, labels))
    assert isinstance(sums, ClippedSums)
    exact = np.ldexp(sums.rows, sums.feature_exponent)
    points = chosen.domain.project(rng.standard_normal((200, dimension)) * 2.0)
    found = np.ldexp(sums.total(points).astype(float), sums.exponent)
    if isinstance(chosen.loss, Softmax):
        slopes = chosen.loss.slopes(exact @ points.reshape(200, features, 3), labels)
        wanted = np.matmul(exact.T, slopes).reshape(200, -1)
    else:
        limits = np.ldexp(sums.limits, sums.exponent - sums.feature_exponent)
        slopes = np.clip(chosen.loss.slopes(points @ exact.T, labels), -limits, limits)
        wanted = slopes @ exact
    path = fit.hidden(dimension)
    off = path.learning_rate * np.linalg.norm(found - wanted, axis=1) / 20
    assert 0.0 < off.max() <= path.step_error
    assert path.step_error < 1e-3 * path.learning_rate * chosen.clipping_norm(dimension)


def test_the_last_iterate_is_as_near_to_the_ideal_one_as_is_hidden() -> None:
    """The noise of a run is what is left of its sums; it leads the ideal steps, too."""
    chosen, rng = setting(), np.random.default_rng(1)
    fit = last(chosen, ApproxDP(epsilon=40.0, delta=1e-3), steps=30)
    rows = rng.uniform(-0.5, 0.5, (20, 3))
    sums = chosen.sums((rows, rng.choice([-1.0, 1.0], 20)))
    assert isinstance(sums, ClippedSums)
    exact = np.ldexp(sums.rows, sums.feature_exponent)
    released = _gradients(fit, sums, 50, rng)
    path = path_of(fit, 3)
    place, ideal = path.start(50, 3), np.zeros((50, 3))
    for step in range(30):
        total = np.ldexp(sums.total(place.parameters).astype(float), sums.exponent)
        noise = released[:, step] - total
        slopes = chosen.loss.slopes(ideal @ exact.T, sums.labels)
        mean = (slopes @ exact + noise) / 20 + float(chosen.ridge) * ideal
        ideal = chosen.domain.project(ideal - fit.rate(3) * mean)
        place = path.after(place, released[:, step])
    off = np.linalg.norm(place.parameters - ideal, axis=1)
    assert 0.0 < off.max() <= fit.hidden(3).last_noise.error


# audits


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-3), ApproxDP(0.5, 1e-2)], ids=str)
def test_honest_last_iterates_are_not_refuted(budget: ApproxDP, arithmetic: str) -> None:
    """On the worst pair there is; with the noise of one step they are."""
    fit = linear(60, budget, arithmetic)
    left, right = ONE_AWAY
    verdict = dpv.audit(fit, left=left, right=right, level=1e-9, seed=3, samples=20_000)
    assert not verdict.refuted
    assert 0.3 * budget.epsilon < verdict.epsilon_lower <= budget.epsilon
    one = replace(fit, steps=1)

    class OneStepsNoise(GradientDescent):
        __slots__ = ()

        def noise(self, dimension: int) -> Any:  # noqa: ANN401
            return one.noise(dimension)

    spoiled = OneStepsNoise(
        fit.setting, budget=budget, steps=60, learning_rate=64.0, output="last", accounting="last"
    )
    verdict = dpv.audit(spoiled, left=left, right=right, level=1e-9, seed=3, samples=20_000)
    assert verdict.refuted


# refusals


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"relation": Relation.ADD_REMOVE}, {}, "must be 'replace-one' for accounting='last'"),
        ({"loss": Hinge()}, {"learning_rate": 1.0}, "loss='hinge' must be smooth"),
        ({"domain": Simplex()}, {}, "must be a ball or a box"),
        ({"domain": WholeSpace()}, {}, "must be a ball or a box"),
        ({}, {"budget": PureDP(1.0)}, "must be ApproxDP for accounting='last'"),
        ({}, {"budget": GaussianDP(1.0)}, "must be ApproxDP for accounting='last'"),
        ({"arithmetic": "real"}, {"budget": PureDP(1.0)}, "must be ApproxDP, GaussianDP or"),
        ({}, {"learning_rate": 7.0}, "learning_rate=7.0 must be at most 6.66667"),
        ({}, {"output": "average"}, "output='average' and momentum=0.0 must be"),
        ({}, {"momentum": 0.5}, "output='last' and momentum=0.5 must be"),
        ({}, {"accounting": "none"}, "accounting='none' must be"),
        ({}, {"budget": ApproxDP(1.0, 1e-300)}, "delta=1e-300 must"),
        ({}, {"budget": ApproxDP(1e26, 1e-5)}, r"epsilon=1e\+26 must"),
        ({"ridge": 1e297}, {"learning_rate": 1e-297}, "must be of a size for accounting='last'"),
        (
            {
                "loss": weighted(Softmax(3)),
                "bounds": Bounds(norm=1.0, labels=(0, 1, 2), weighted=True),
                "clip": 0.3,
            },
            {},
            "clip=0.3 must be None or at least 1.41421",
        ),
        ({"records": 1 << 21}, {}, "records=2097152 must be fewer"),
        ({"records": (1 << 20) + 1}, {"budget": ApproxDP(2.0**17, 0.999)}, "must be fewer"),
        (
            {"loss": Softmax(2), "bounds": Bounds(norm=1.0, labels=(0, 1)), "clip": 1.0},
            {},
            "clip=1.0 must be None or at least 1.41421",
        ),
    ],
)
def test_refusals(changes: Any, options: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises((InvalidParameter, NotSupported), match=message):
        last(setting(**changes), **options)


def test_no_transcript_of_a_hidden_path() -> None:
    with pytest.raises(NotSupported, match="accounting='last' must be 'steps' for a transcript"):
        last(setting()).transcript  # noqa: B018
