"""The rules of objective perturbation: by hand, against integrals, against exact densities."""

import math
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import (
    Ball,
    Bounds,
    Hinge,
    HuberHinge,
    Logistic,
    Loss,
    ObjectiveRule,
    Setting,
    Softmax,
    Squared,
)
from solvers.minimize.newton import minimize
from solvers.minimize.objective import Objective
from solvers.privacy.noise import LinearNoise
from solvers.privacy.objective_deltas import LogisticProfile

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SIGNS = Bounds(norm=1.0, labels=(-1, 1))
BUDGET = ApproxDP(epsilon=1.0, delta=1e-5)


def setting(
    loss: Loss | None = None,
    ridge: float = 0.5,
    relation: Relation = ADD,
    rule: ObjectiveRule = ObjectiveRule.TIGHT,
) -> Setting:
    return Setting(loss=loss or Logistic(), bounds=SIGNS, ridge=ridge, relation=relation, rule=rule)


def gaussian(epsilon: float, mu: float) -> float:
    tail = math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return float(norm.cdf(mu / 2 - epsilon / mu) - tail)


@pytest.mark.parametrize(
    ("loss", "rule", "sigma"),
    [
        (Logistic(), ObjectiveRule.KIFER, 10.08),  # √(8·ln(2e5) + 4)
        (Logistic(), ObjectiveRule.PUBLISHED, 11.54),
        (HuberHinge(width=2.0), ObjectiveRule.TIGHT, 6.00),  # β = 1/4 like the logistic loss
        (Logistic(), ObjectiveRule.TIGHT, 4.02),
    ],
)
def test_sigma_at_one_setting(loss: Loss, rule: ObjectiveRule, sigma: float) -> None:
    """ε = 1, δ = 1e-5, λ = 1/2, R = 1, add/remove; plain Gaussian noise needs 3.73."""
    assert setting(loss, rule=rule).gaussian_noise(BUDGET) == pytest.approx(sigma, abs=0.005)


def test_pure_rules_by_hand() -> None:
    """L/τ + ln(1 + β/λ) with β/λ = 1/2, twice L/τ if replaced, twice the logarithm if published."""
    loss = HuberHinge(width=2.0)
    half = math.log(1.5)
    assert setting(loss).pure(4.0).guarantee.epsilon == pytest.approx(0.25 + half)
    replaced = setting(loss, relation=REPLACE)
    assert replaced.pure(4.0).guarantee.epsilon == pytest.approx(0.5 + half)
    published = setting(loss, relation=REPLACE, rule=ObjectiveRule.PUBLISHED)
    assert published.pure(4.0).guarantee.epsilon == pytest.approx(0.5 + 2 * half)


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.sampled_from([ADD, REPLACE]))
def test_logistic_pure_rule_is_the_maximum(scale: float, ridge: float, relation: Relation) -> None:
    p = np.linspace(0, 1, 20_001)
    q = p if relation is ADD else 1 + p
    brute = (q / scale + np.log1p(p * (1 - p) / ridge)).max()
    found = setting(ridge=ridge, relation=relation).pure(scale).guarantee.epsilon
    assert found >= brute - 1e-13
    assert found == pytest.approx(brute, rel=1e-6)


@settings(max_examples=settings().max_examples // 4)
@given(st.floats(0.05, 3.0), st.floats(0.05, 8.0), st.floats(0.0, 4.0))
def test_profiles_are_just_above_the_integral(shift: float, bend: float, epsilon: float) -> None:
    p = np.linspace(0, 1, 401)
    u = np.linspace(-12.0, 14.0, 8001)
    fixed = (p * shift) ** 2 / 2 + np.log1p(bend * p * (1 - p))
    losses = (fixed + np.multiply.outer(u, p * shift)).max(axis=1)
    heights = np.maximum(0.0, -np.expm1(epsilon - losses))
    masses = -np.diff(norm.sf(u))
    lower, upper = float(masses @ heights[:-1]), float(masses @ heights[1:])  # heights rise
    profile = LogisticProfile(shift=shift, bend=bend)
    found = profile.delta(epsilon)
    assert lower <= found <= upper * 1.002 + 1e-15
    assert upper <= lower * 1.1 + 1e-15  # so the sandwich is a narrow one
    assert profile.estimate(epsilon) == pytest.approx(found, rel=0.02, abs=1e-15)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(width=0.5)], ids=lambda loss: loss.name)
def test_noise_spends_the_budget_and_hardly_less(loss: Loss, relation: Relation) -> None:
    asked = setting(loss, ridge=2.0, relation=relation)
    scale = asked.pure_noise(PureDP(epsilon=1.0))
    assert 1 - 1e-8 <= asked.pure(scale).guarantee.epsilon <= 1.0
    sigma = asked.gaussian_noise(BUDGET)
    spent = asked.gaussian(sigma, 1.0).guarantee
    assert isinstance(spent, ApproxDP)
    assert 0.98e-5 <= spent.delta <= 1e-5
    assert asked.gaussian(0.98 * sigma, 1.0).guarantee.delta > 1e-5


@pytest.mark.parametrize("ridge", [0.5, 1.0, 10.0])
@pytest.mark.parametrize("epsilon", [0.6, 1.0, 3.0])
def test_tight_rules_are_never_worse_than_published_ones(ridge: float, epsilon: float) -> None:
    for sigma in (1.0, 4.0, 16.0):
        tight = setting(ridge=ridge).gaussian(sigma, epsilon).guarantee
        general = setting(HuberHinge(width=2.0), ridge=ridge).gaussian(sigma, epsilon).guarantee
        for rule in (ObjectiveRule.PUBLISHED, ObjectiveRule.KIFER):
            known = setting(ridge=ridge, rule=rule).gaussian(sigma, epsilon).guarantee
            assert tight.delta <= general.delta * 1.002
            assert general.delta <= known.delta


def test_other_losses_on_a_bounded_domain() -> None:
    """Squares are not monotone: two sides, or Rayleigh; L = 2(R + 1) on the ball of radius R."""
    bounds = Bounds(norm=1.0, label_bound=1.0)
    for relation in Relation:
        asked = Setting(
            loss=Squared(), bounds=bounds, ridge=20.0, relation=relation, domain=Ball(1.0)
        )
        assert asked.lipschitz == 4.0
        sigma = asked.gaussian_noise(BUDGET)
        left, times = 1.0 - math.log(1.1), 1 if relation is ADD else 2
        assert gaussian(left, times * 4.0 / sigma) < 1e-5  # more noise than the one-sided rule


def test_rayleigh_rule_against_quadrature() -> None:
    bounds = Bounds(norm=1.0, label_bound=1.0)
    asked = Setting(loss=Squared(), bounds=bounds, ridge=20.0, relation=REPLACE, domain=Ball(1.0))
    for sigma, epsilon in ((8.0, 1.0), (30.0, 0.5), (4.0, 0.2)):
        a, left = 8.0 / sigma, epsilon - math.log(1.1)

        def integrand(r: float, a: float = a, left: float = left) -> float:
            return r * math.exp(-r * r / 2) * max(0.0, 1 - math.exp(left - a * r - a * a / 2))

        exact = sum(quad(integrand, i / 2, (i + 1) / 2)[0] for i in range(40))
        spent = asked.gaussian(sigma, epsilon).guarantee
        assert spent.delta == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(width=0.5)], ids=lambda loss: loss.name)
def test_a_last_noise_costs_what_its_square_adds(loss: Loss, relation: Relation) -> None:
    """Both noises at once cost more than one, and less than the sum of two budgets."""
    asked = setting(loss, ridge=4.0, relation=relation)
    sigma = asked.gaussian_noise(BUDGET)
    tied = asked.gaussian_noise(BUDGET, tie=0.25)
    assert sigma < tied < 1.06 * sigma  # √(1 + 1/16) = 1.03
    alone = asked.gaussian(tied, 1.0).guarantee.delta
    both = asked.gaussian(tied, 1.0, last=0.25 * asked.lipschitz / tied).guarantee.delta
    assert alone < both <= 1e-5
    tiny = asked.gaussian(sigma, 1.0, last=1e-9).guarantee.delta
    assert tiny == pytest.approx(asked.gaussian(sigma, 1.0).guarantee.delta, rel=0.05)


@settings(max_examples=settings().max_examples // 5)
@given(st.floats(0.1, 2.0), st.floats(0.05, 4.0), st.floats(0.1, 3.0), st.floats(0.01, 1.0))
def test_followed_profiles_are_just_above_the_integral(
    shift: float, bend: float, epsilon: float, last: float
) -> None:
    p, u = np.linspace(0, 1, 401), np.linspace(-12.0, 14.0, 8001)
    fixed = (p * shift) ** 2 / 2 + np.log1p(bend * p * (1 - p))
    left = epsilon - (fixed + np.multiply.outer(u, p * shift)).max(axis=1)
    heights = norm.cdf(last / 2 - left / last) - np.exp(left) * norm.cdf(-last / 2 - left / last)
    masses = -np.diff(norm.sf(u))
    lower, upper = float(masses @ heights[:-1]), float(masses @ heights[1:])
    found = LogisticProfile(shift=shift, bend=bend).delta(epsilon, last=last)
    assert lower * (1 - 1e-9) - 1e-14 <= found <= upper * 1.1 + 1e-12


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_softmax_by_hand(classes: int) -> None:
    """D = (K−1)·ln(1 + 1/(Kλ)), √2/τ and (K−1)·H, as the theorem has them."""
    bounds = Bounds(norm=1.0, labels=tuple(range(classes)))
    asked = Setting(loss=Softmax(classes), bounds=bounds, ridge=20.0, relation=ADD)
    paid = (classes - 1) * math.log1p(1 / (20.0 * classes))
    assert asked.unavoidable == pytest.approx(paid)
    assert asked.pure(4.0).guarantee.epsilon == pytest.approx(math.sqrt(2.0) / 4.0 + paid)
    expected = (classes - 1) * gaussian(1.0 - paid, math.sqrt(2.0) / 4.0)
    assert asked.gaussian(4.0, 1.0).guarantee.delta == pytest.approx(expected)
    replaced = Setting(loss=Softmax(classes), bounds=bounds, ridge=20.0, relation=REPLACE)
    wide = (classes - 1) ** 2 * gaussian(1.0 - paid, math.sqrt(2.0) / 4.0)
    narrow = 2 * (classes - 1) * gaussian(1.0 - paid, math.sqrt(2.0) / 8.0)
    assert replaced.gaussian(8.0, 1.0).guarantee.delta == pytest.approx(wide + narrow)
    with pytest.raises(InvalidParameter, match="ridge"):
        Setting(loss=Softmax(classes), bounds=bounds, ridge=1e-3, relation=ADD).gaussian_noise(
            BUDGET
        )


# Exact profiles: δ = E(1 − e^(ε − loss))₊ over the noise, on a grid fine enough for quadrature.


Data: TypeAlias = tuple[Floats, Floats]


def normal_grid(dimension: int) -> tuple[Floats, Floats]:
    """Points and weights of the standard normal law, by Gauss–Hermite, in one or two dimensions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200 if dimension == 1 else 90)
    weights = weights / math.sqrt(2 * math.pi)
    if dimension == 1:
        return nodes[:, None], weights
    first, second = np.meshgrid(nodes, nodes)
    return np.stack([first.ravel(), second.ravel()], axis=1), np.outer(weights, weights).ravel()


def exact_delta(left: Data, right: Data, *, ridge: float, sigma: float, epsilon: float) -> float:
    here, there = (Objective(Logistic(), *side, ridge) for side in (left, right))
    z, weights = normal_grid(left[0].shape[1])
    noise = LinearNoise(scale=sigma, gaussian=True)
    points = minimize(here, sigma * z)
    logs = [
        noise.log_density(side.noise_at(points)) + np.linalg.slogdet(side.hessians(points))[1]
        for side in (here, there)
    ]
    excess = np.maximum(0.0, -np.expm1(epsilon - (logs[0] - logs[1])))
    return float(weights @ excess)


@settings(max_examples=settings().max_examples // 8)
@given(
    st.integers(0, 10_000),
    st.floats(0.3, 4.0),
    st.floats(0.3, 4.0),
    st.floats(0.0, 2.0),
    st.sampled_from([(d, relation) for d in (1, 2) for relation in Relation]),
)
def test_exact_profiles_obey_the_rules(
    seed: int, ridge: float, sigma: float, epsilon: float, kind: tuple[int, Relation]
) -> None:
    dimension, relation = kind
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    features = rng.normal(size=(count + 2, dimension))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    features[:count] *= rng.random((count, 1))
    labels = rng.choice([-1.0, 1.0], count + 2)
    many = (features[:-1], labels[:-1])
    other = (np.delete(features, count, axis=0), np.delete(labels, count))
    few = (features[:count], labels[:count]) if relation is ADD else other
    asked = setting(ridge=ridge, relation=relation)
    allowed = asked.gaussian(sigma, epsilon).guarantee
    for left, right in ((many, few), (few, many)):
        exact = exact_delta(left, right, ridge=ridge, sigma=sigma, epsilon=epsilon)
        assert exact <= allowed.delta + 1e-4  # of quadrature


def test_the_logistic_rule_is_nearly_attained() -> None:
    """One record that hardly counts, and (1, −1) added to it: more than half of δ."""
    few = (np.array([[1e-9]]), np.array([1.0]))
    many = (np.array([[1e-9], [1.0]]), np.array([1.0, -1.0]))
    for ridge, sigma in ((0.5, 2.0),):
        exact = max(
            exact_delta(*pair, ridge=ridge, sigma=sigma, epsilon=0.5)
            for pair in ((few, many), (many, few))
        )
        allowed = setting(ridge=ridge).gaussian(sigma, 0.5).guarantee.delta
        assert 0.5 * allowed <= exact <= allowed + 1e-4


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"ridge=0\.1 must be more than 0\.1454"):
        setting(ridge=0.1).pure_noise(PureDP(epsilon=1.0))
    with pytest.raises(InvalidParameter, match="ridge"):
        setting(ridge=0.1).gaussian_noise(BUDGET)
    with pytest.raises(InvalidParameter, match="epsilon"):
        setting().pure_noise(PureDP(epsilon=0.0))
    with pytest.raises(InvalidParameter, match="epsilon"):
        setting().pure_noise(PureDP(epsilon=math.inf))
    with pytest.raises(InvalidParameter, match="delta"):
        setting().gaussian_noise(ApproxDP(epsilon=1.0))
    with pytest.raises(InvalidParameter, match="Redberg"):
        setting(ridge=0.2, rule=ObjectiveRule.PUBLISHED).gaussian(1.0, 1.0)
    with pytest.raises(NotSupported, match="both noises at once"):
        setting(rule=ObjectiveRule.KIFER).gaussian(1.0, 1.0, last=0.1)
    with pytest.raises(InvalidParameter, match="last"):
        setting().gaussian(1.0, 1.0, last=-0.1)
    with pytest.raises(NotSupported, match="add-remove only"):
        setting(relation=REPLACE, rule=ObjectiveRule.KIFER).gaussian(1.0, 1.0)
    with pytest.raises(NotSupported, match="replace-one only"):
        setting(rule=ObjectiveRule.PUBLISHED).pure(1.0)
    with pytest.raises(NotSupported, match="output perturbation"):
        setting(Hinge())
    with pytest.raises(NotSupported, match="one score"):
        Setting(
            loss=Softmax(2),
            bounds=Bounds(norm=1.0, labels=(0, 1)),
            ridge=1.0,
            relation=ADD,
            rule=ObjectiveRule.KIFER,
        ).gaussian(1.0, 1.0)
    with pytest.raises(InvalidParameter, match="bounded slopes"):
        Setting(loss=Squared(), bounds=Bounds(norm=1.0, label_bound=1.0), ridge=1.0, relation=ADD)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter):
            setting(ridge=wrong)
        with pytest.raises(InvalidParameter):
            setting().pure(wrong)
        with pytest.raises(InvalidParameter):
            setting().gaussian(wrong, 1.0)
