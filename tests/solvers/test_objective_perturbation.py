"""Objective perturbation and approximate minima: densities, noise, claims, refusals."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import softmax
from scipy.stats import kstest

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.neighbors import Relation
from solvers.approximate_minima import ApproximateMinima
from solvers.bounds import Bounds
from solvers.domains import Ball, Box, Domain, Simplex, WholeSpace
from solvers.losses import Hinge, HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import ElasticNet, NoRegularizer, Regularizer, Ridge
from solvers.objective_perturbation import Budget, ObjectivePerturbation
from solvers.privacy.noise import LastNoise, LinearNoise
from solvers.privacy.objective_rules import ObjectiveRule

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SIGNS = Bounds(norm=1.0, labels=(-1, 1))
PURE, GAUSSIAN = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-5)
ONE_COLUMN = (np.array([[1.0], [0.5], [-0.25]]), np.array([1.0, -1.0, 1.0]))
TWO_COLUMNS = (np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5]]), np.array([1.0, -1.0, 1.0]))


def private(
    budget: Budget = PURE,
    *,
    loss: Loss | None = None,
    penalty: Regularizer | None = None,
    domain: Domain | None = None,
    arithmetic: str = "grid",
    relation: Relation = ADD,
) -> ObjectivePerturbation:
    problem = Problem(
        loss=loss or Logistic(),
        bounds=SIGNS,
        regularizer=penalty or Ridge(2.0),
        domain=domain or WholeSpace(),
    )
    return ObjectivePerturbation(
        problem=problem,
        budget=budget,
        relation=relation,
        arithmetic=arithmetic,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(width=0.5)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_densities_integrate_to_one(budget: Budget, loss: Loss) -> None:
    asked = private(budget, loss=loss, arithmetic="real")
    theta = np.linspace(-60.0, 60.0, 60_001)
    density = np.exp(asked.log_density(theta[:, None], ONE_COLUMN))
    assert trapezoid(density, theta) == pytest.approx(1.0, abs=1e-3)  # f″ may jump


def test_densities_integrate_to_one_in_the_plane() -> None:
    asked = private(GAUSSIAN, penalty=Ridge(8.0), arithmetic="real")
    axis = np.linspace(-8.0, 8.0, 201) * asked.noise(2).scale / 8.0
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(asked.log_density(points, TWO_COLUMNS)).reshape(201, 201)
    assert trapezoid(trapezoid(density, axis), axis) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_samples_have_their_density(budget: Budget, arithmetic: str) -> None:
    asked = private(budget, arithmetic=arithmetic)
    draws = asked.sample(ONE_COLUMN, 20_000, rng=np.random.default_rng(5)).ravel()
    grid = np.linspace(draws.min() - 3.0, draws.max() + 3.0, 20_001)
    logs = asked.log_density(grid[:, None], ONE_COLUMN)
    mass = np.cumsum(np.exp(logs)) * (grid[1] - grid[0])
    assert kstest(draws, lambda x: np.interp(x, grid, mass)).pvalue > 1e-9


@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_on_the_grid_is_near_an_ideal_draw(*, gaussian: bool) -> None:
    noise = LinearNoise(scale=3.0, gaussian=gaussian)
    for dimension in (1, 3):
        drawn = noise.draw(50, dimension, np.random.default_rng(0))
        assert drawn.shape == (50, dimension)
        step = 2.0 * noise.rounding(dimension) / math.sqrt(dimension)
        assert step < 3.0 * 2.0**-20
        whole = drawn / 2.0 ** math.floor(math.log2(step))
        assert (whole == np.floor(whole)).all()


@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_has_the_law_of_its_density(*, gaussian: bool) -> None:
    """‖b‖² is σ²·χ²(d), and ‖b‖ is Gamma(d, τ)."""
    noise = LinearNoise(scale=2.0, gaussian=gaussian)
    for draw in (noise.draw, noise.draw_real):
        lengths = np.linalg.norm(draw(20_000, 3, np.random.default_rng(2)), axis=1)
        law, values = ("chi2", (lengths / 2.0) ** 2) if gaussian else ("gamma", lengths / 2.0)
        assert kstest(values, law, args=(3,)).pvalue > 1e-9


def test_the_last_noise_keeps_its_ratio() -> None:
    """Rounded to a coarse grid, it is still at least `ratio` times what it hides."""
    for gaussian in (True, False):
        last = LastNoise(error=1e-7, ratio=100.0, gaussian=gaussian)
        moved = last.release(np.zeros((20_000, 2)), np.random.default_rng(0))
        size = float(np.sqrt((moved**2).mean()))
        expected = 2e-5 * (1.0 if gaussian else math.sqrt(3.0))  # E‖z‖² = d(d + 1)·scale²
        assert expected * 0.97 <= size <= expected * 1.1


@pytest.mark.false_alarm(2e-9)
def test_the_last_noise_of_long_vectors_is_no_longer() -> None:
    """‖z‖ is Gamma(d), whose deviation is a share of 1/√d: 20 draws are near d·scale."""
    last = LastNoise(error=1e-7, ratio=100.0, gaussian=False)
    moved = last.release(np.zeros((20, 2500)), np.random.default_rng(0))
    length = float(np.linalg.norm(moved, axis=1).mean()) / (2e-5 * 2500.0)
    assert 0.97 <= length <= 1.1  # the grid may lengthen it, as in two dimensions
    assert set(last.assumes) <= set(private(GAUSSIAN).claim.assumes)


def test_claims_name_their_rule() -> None:
    assert private().claim.guarantee == PURE
    assert private().claim.theorem.name == "objective-perturbation-logistic"
    assert private(GAUSSIAN).claim.theorem.name == "objective-perturbation-logistic-gaussian"
    smooth = private(GAUSSIAN, loss=HuberHinge(width=0.5), relation=REPLACE)
    assert smooth.claim.theorem.name == "objective-perturbation-replaced"
    real = private(arithmetic="real").claim.assumes
    assert "real arithmetic" in real
    assert any("exact" in words for words in real)
    limit = private(domain=Ball(1.0)).claim.assumes
    assert any("objective-perturbation-limit" in words for words in limit)


def test_shares_add_up() -> None:
    asked = private(GAUSSIAN)
    spent = asked.charge().guarantee.epsilon + asked.share * 1.0
    assert spent <= 1.0
    assert spent == pytest.approx(1.0, rel=1e-12)
    assert asked.last_noise(1).ratio >= 1024.0
    # What is not ideal moves the minimum by far less than the noise does.
    assert asked.tolerance(3) < 1e-6 * asked.noise().scale / 2.0


@pytest.mark.parametrize("domain", [Ball(0.5), Box(-0.2, 0.3), Simplex()], ids=repr)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_domains_and_corners_are_served(domain: Domain, budget: Budget) -> None:
    asked = private(budget, penalty=ElasticNet(2.0, 0.5), domain=domain, arithmetic="real")
    draws = asked.sample(TWO_COLUMNS, 20, rng=np.random.default_rng(0))
    assert domain.contains(draws).all()
    with pytest.raises(NotSupported, match="no density"):
        asked.log_density(draws, TWO_COLUMNS)


def test_squares_on_a_ball_are_served() -> None:
    bounds = Bounds(norm=1.0, label_bound=1.0)
    problem = Problem(loss=Squared(), bounds=bounds, regularizer=Ridge(20.0), domain=Ball(1.0))
    for relation in Relation:
        asked = ObjectivePerturbation(problem=problem, budget=GAUSSIAN, relation=relation)
        draws = asked.sample(TWO_COLUMNS, 3, rng=np.random.default_rng(0))
        assert draws.shape == (3, 2)
    boxed = Problem(
        loss=Squared(), bounds=bounds, regularizer=Ridge(20.0), domain=Box((-1.0, 0.0), 1.0)
    )
    asked = ObjectivePerturbation(problem=boxed, budget=GAUSSIAN, relation=ADD)
    assert asked.claim.theorem.name == "objective-perturbation-gaussian"
    assert asked.setting(2).lipschitz == pytest.approx(2 * (math.sqrt(2.0) + 1))
    free = Problem(loss=Squared(), bounds=bounds, regularizer=Ridge(20.0))
    with pytest.raises(InvalidParameter, match="bounded domain"):
        ObjectivePerturbation(problem=free, budget=GAUSSIAN, relation=ADD)


def test_softmax_is_served_and_its_density_integrates_to_one() -> None:
    """One feature and two classes: a plane of parameters."""
    problem = Problem(
        loss=Softmax(2), bounds=Bounds(norm=1.0, labels=(0, 1)), regularizer=Ridge(4.0)
    )
    records = (ONE_COLUMN[0], np.array([1.0, 0.0, 1.0]))
    for budget in (PURE, GAUSSIAN):
        asked = ObjectivePerturbation(
            problem=problem, budget=budget, relation=ADD, arithmetic="real"
        )
        assert asked.claim.theorem.name == "objective-perturbation-softmax"
        draws = asked.sample(records, 40, rng=np.random.default_rng(0))
        assert draws.shape == (40, 2)
    axis = np.linspace(-8.0, 8.0, 161) * asked.noise(2).scale / 4.0
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    density = np.exp(asked.log_density(points, records)).reshape(161, 161)
    assert trapezoid(trapezoid(density, axis), axis) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("budget", [GAUSSIAN, ApproxDP(epsilon=2.0, delta=1e-2)], ids=str)
@pytest.mark.parametrize(("copies", "share"), [(0, 0.0), (40, 0.0), (2000, 0.1)])
def test_three_classes_keep_their_budget_in_the_plane(
    copies: int, share: float, budget: ApproxDP
) -> None:
    """δ by quadrature, from b = −λθ − Σ x·(p − e_y) and det(λI + Σ x²·(diag(p) − ppᵀ)).

    The sum of the three weights of one feature is noise alone, and independent: a plane is left.
    Many others with another label make p − e_y of the added record nearly e₁ − e₀, a corner.
    """
    ridge = 8.0
    problem = Problem(
        loss=Softmax(3), bounds=Bounds(norm=1.0, labels=(0, 1, 2)), regularizer=Ridge(ridge)
    )
    asked = ObjectivePerturbation(problem=problem, budget=budget, relation=ADD, arithmetic="real")
    sigma, others = asked.noise(3).scale, (1.0, 1, copies)
    axes = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])
    middle = asked.solve((np.ones((copies, 1)), np.ones(copies)), np.zeros((1, 3))).points @ axes.T
    axis = np.linspace(-9.0, 9.0, 601) * sigma / ridge
    plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2) + middle
    points = plane @ axes

    def density(records: list[tuple[float, int, int]]) -> Floats:
        b, hessians = -ridge * points, np.tile(ridge * np.eye(3), (len(points), 1, 1))
        for x, label, times in records:
            p = softmax(x * points, axis=1)
            b = b - times * x * (p - np.eye(3)[label])
            hessians += times * x * x * p[:, :, None] * (np.eye(3) - p[:, None, :])
        normal = np.exp(-0.5 * (b**2).sum(axis=1) / sigma**2) / (2.0 * np.pi * sigma**2)
        found: Floats = normal * np.linalg.det(hessians) / ridge
        return found

    def integral(values: Floats) -> float:
        return float(trapezoid(trapezoid(values.reshape(len(axis), -1), axis), axis))

    sides = density([others, (1.0, 0, 1)]), density([others])
    assert [integral(side) for side in sides] == pytest.approx([1.0, 1.0], abs=1e-6)
    deltas = [
        integral(np.maximum(one - math.exp(budget.epsilon) * other, 0.0))
        for one, other in (sides, sides[::-1])
    ]
    assert share * budget.delta < max(deltas) <= budget.delta


def test_approximate_minima_split_their_budget() -> None:
    problem = private().problem
    asked = ApproximateMinima(
        problem=problem, budget=GAUSSIAN, relation=REPLACE, gradient_tolerance=1e-3, share=0.1
    )
    assert asked.claim.guarantee == GAUSSIAN
    assert asked.claim.theorem.name == "approximate-minimum-gaussian"
    last = asked.last_noise(2)
    assert last.error == pytest.approx(1e-3 / 2.0, rel=1e-3)
    assert asked.sample(TWO_COLUMNS, 5, rng=np.random.default_rng(0)).shape == (5, 2)
    published = ApproximateMinima(
        problem=problem,
        budget=GAUSSIAN,
        relation=REPLACE,
        gradient_tolerance=1e-3,
        share=0.1,
        rule=ObjectiveRule.PUBLISHED,
    )
    assert published.claim.theorem.name == "approximate-minimum"
    # 2L(1 + √(2·ln(1/δ₁)))/ε₃ with δ₁ = 0.9e-5, ε₃ = 0.9 − 2β/λ = 0.65, and likewise for σ₂.
    sigma = 2 * (1 + math.sqrt(2 * math.log(1 / 0.9e-5))) / 0.65
    assert published.noise.scale == pytest.approx(sigma, rel=1e-9)
    ratio = (1 + math.sqrt(2 * math.log(1 / 1e-6))) / 0.1
    assert published.last_noise(1).ratio == pytest.approx(ratio, rel=1e-9)
    assert asked.noise.scale < published.noise.scale
    assert last.ratio < ratio


def test_bad_input_is_refused() -> None:
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match="epsilon"):
        private(PureDP(epsilon=0.0))
    with pytest.raises(InvalidParameter, match=r"ridge=2\.0 must be more than"):
        private(PureDP(epsilon=0.01))
    with pytest.raises(InvalidParameter, match="budget"):
        private(GaussianDP(mu=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="ridge"):
        private(penalty=NoRegularizer())
    with pytest.raises(NotSupported, match="output perturbation"):
        private(loss=Hinge())
    with pytest.raises(InvalidParameter, match="share"):
        ObjectivePerturbation(problem=private().problem, budget=PURE, relation=ADD, share=0.9)
    with pytest.raises(InvalidParameter, match="norm"):
        private().sample((3 * TWO_COLUMNS[0], TWO_COLUMNS[1]), 1, rng=rng)
    with pytest.raises(InvalidParameter, match="outputs"):
        private().log_density(np.zeros((3, 5)), TWO_COLUMNS)
    with pytest.raises(InvalidParameter, match="rng"):
        private().sample(TWO_COLUMNS, 1, rng=None)  # type: ignore[arg-type]
    assert rng.bit_generator.state == state


def test_bad_approximate_minima_are_refused() -> None:
    problem = private().problem

    def build(**changes: object) -> ApproximateMinima:
        given: dict[str, object] = {
            "problem": problem,
            "budget": GAUSSIAN,
            "relation": REPLACE,
            "gradient_tolerance": 1e-3,
        }
        return ApproximateMinima(**(given | changes))  # type: ignore[arg-type]

    for wrong in (PURE, ApproxDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1.0)):
        with pytest.raises(InvalidParameter, match="budget"):
            build(budget=wrong)
    with pytest.raises(InvalidParameter, match="gradient_tolerance"):
        build(gradient_tolerance=0.0)
    with pytest.raises(NotSupported, match="replace-one"):
        build(relation=ADD, rule=ObjectiveRule.PUBLISHED)
    with pytest.raises(NotSupported, match="needs exact ones"):
        build(rule=ObjectiveRule.KIFER)
    with pytest.raises(NotSupported, match="unconstrained"):
        build(problem=private(domain=Ball(1.0)).problem)
    with pytest.raises(InvalidParameter, match="ridge"):
        build(rule=ObjectiveRule.PUBLISHED, budget=ApproxDP(epsilon=0.2, delta=1e-5))
    with pytest.raises(InvalidParameter, match="gradient_tolerance=1e-300 must be at least"):
        build(gradient_tolerance=1e-300)


def test_a_solver_that_stops_early_is_helped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Balls take over where floats stop: what is released differs by no more than is paid for."""
    usual = private().sample(TWO_COLUMNS, 5, rng=np.random.default_rng(0))
    monkeypatch.setattr("solvers.minimize.newton._ITERATIONS", 1)
    helped = private().sample(TWO_COLUMNS, 5, rng=np.random.default_rng(0))
    steps = private().last_noise(2).error * 2.0**0.5
    assert np.linalg.norm(usual - helped, axis=1).max() <= 2.0 * private().tolerance(2) + steps
