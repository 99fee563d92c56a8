"""Output perturbation: its sensitivity by hand and by brute force, its noise, its refusals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.mechanisms import Gaussian, NormMechanism
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair
from solvers.bounds import Bounds
from solvers.domains import Ball, Box, Domain, WholeSpace
from solvers.losses import Absolute, Hinge, HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import ElasticNet, Lasso, NoRegularizer, Regularizer, Ridge
from solvers.output_perturbation import OutputPerturbation, noise_for
from solvers.privacy.noise import Budget

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
SIGNS, NUMBERS = Bounds(norm=1.0, labels=(-1, 1)), Bounds(norm=1.0, label_bound=1.0)
DATA = (np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -0.5]]), np.array([1.0, -1.0, 1.0]))


def private(  # noqa: PLR0917
    loss: Loss | None = None,
    budget: Budget | None = None,
    relation: Relation = ADD,
    penalty: Regularizer | None = None,
    domain: Domain | None = None,
    arithmetic: str = "grid",
) -> OutputPerturbation:
    chosen = loss or Logistic()
    bounds = NUMBERS if isinstance(chosen, (Squared, Absolute)) else SIGNS
    problem = Problem(
        loss=chosen,
        bounds=bounds,
        regularizer=penalty or Ridge(4.0),
        domain=domain or WholeSpace(),
    )
    return OutputPerturbation(
        problem=problem,
        budget=budget or PureDP(epsilon=1.0),
        relation=relation,
        arithmetic=arithmetic,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("loss", "domain", "relation", "expected"),
    [
        (Logistic(), None, ADD, 0.25),  # L/λ = 1/4
        (Logistic(), None, REPLACE, 0.5),
        (Squared(), Ball(3.0), ADD, 2.0),  # L = 2(3 + 1)
        (Absolute(), None, REPLACE, 0.5),
    ],
)
def test_sensitivities_by_hand(
    loss: Loss, domain: Domain | None, relation: Relation, expected: float
) -> None:
    asked = private(loss, relation=relation, domain=domain)
    assert asked.exact_sensitivity(2) == pytest.approx(expected, rel=1e-15)
    share = 2.0**-21 if loss.smooth else 2.0**-9
    assert asked.l2_sensitivity(2) == pytest.approx(expected * (1 + share), rel=1e-12)


@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from([Logistic(), HuberHinge(width=0.2), Squared()]),
    st.sampled_from([WholeSpace(), Ball(0.7), Box(-0.4, 0.6)]),
    st.sampled_from([Ridge(0.5), ElasticNet(0.5, 0.4)]),
)
def test_no_record_moves_the_minimum_further(
    seed: int, loss: Loss, domain: Domain, penalty: Regularizer
) -> None:
    if isinstance(loss, Squared) and not domain.bounded:
        return
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(6, 2))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    labels = rng.choice([-1.0, 1.0], 6)
    for relation in Relation:
        asked = private(loss, relation=relation, penalty=penalty, domain=domain)
        left = (features[:-1], labels[:-1])
        other = slice(0, -2) if relation is ADD else [0, 1, 2, 3, 5]
        right = (features[other], labels[other])
        points = [asked.problem.minimize(side).points[0] for side in (left, right)]
        assert np.linalg.norm(points[0] - points[1]) <= asked.exact_sensitivity(2) + 1e-9


@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (PureDP(epsilon=2.0), NormMechanism),
        (ApproxDP(epsilon=2.0), NormMechanism),
        (ApproxDP(epsilon=0.5, delta=1e-6), Gaussian),
        (ApproxDP(epsilon=0.0, delta=0.1), Gaussian),
        (GaussianDP(mu=0.5), Gaussian),
        (ZeroConcentratedDP(rho=0.1), Gaussian),
    ],
)
def test_noise_spends_exactly_the_budget(budget: Budget, kind: type) -> None:
    noise = noise_for(budget, 0.3, "grid")
    assert isinstance(noise, kind)
    spent = noise.claim.guarantee
    if isinstance(spent, PureDP):
        assert spent.epsilon == pytest.approx(2.0, rel=1e-12)
    else:
        assert isinstance(spent, GaussianDP)
        if isinstance(budget, ApproxDP):
            pair = GaussianPair.of(sigma=0.3 / spent.mu, sensitivity=0.3)
            assert pair.delta(budget.epsilon) == pytest.approx(budget.delta, rel=1e-9)
        else:
            wanted = 0.5 if isinstance(budget, GaussianDP) else math.sqrt(0.2)
            assert spent.mu == pytest.approx(wanted, rel=1e-12)
    assert private(budget=budget).claim.guarantee == budget


def test_the_claim_names_its_grounds() -> None:
    claim = private().claim
    assert isinstance(claim, Claim)
    assert claim.theorem.name == "output-perturbation"
    assert claim.relation is ADD
    assert any("uniform" in words for words in claim.assumes)
    assert not any("refuse" in words for words in claim.assumes)  # every dataset is answered
    assert private(domain=Ball(1.0)).claim.theorem is claim.theorem  # with a domain, too
    assert "real arithmetic" in private(arithmetic="real").claim.assumes


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_releases_scatter_around_the_minimum(arithmetic: str) -> None:
    """The mean of n draws is within 6.2 standard errors, each coordinate; σ = Δ/μ."""
    asked = private(budget=GaussianDP(mu=1.0), arithmetic=arithmetic)
    draws = asked.sample(DATA, 40_000, rng=np.random.default_rng(1))
    error = asked.l2_sensitivity() / math.sqrt(40_000)
    assert np.abs(draws.mean(axis=0) - asked.solve(DATA).points[0]).max() < 6.2 * error


def test_grid_releases_are_multiples_of_a_power_of_two() -> None:
    draws = private().sample(DATA, 100, rng=np.random.default_rng(0))
    scaled = np.ldexp(draws, 40)
    assert (scaled == np.floor(scaled)).all()


@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_densities_are_those_of_the_noise(arithmetic: str) -> None:
    for budget in (PureDP(epsilon=1.0), GaussianDP(mu=1.0)):
        asked = private(budget=budget, arithmetic=arithmetic)
        draws = asked.sample(DATA, 5, rng=np.random.default_rng(0))
        center = asked.solve(DATA).points[0]
        logs = asked.log_density(draws, DATA)
        length = np.linalg.norm(draws - center, axis=1)
        if isinstance(budget, PureDP):
            expected = -length / asked.l2_sensitivity()
        else:
            expected = -0.5 * (length / asked.l2_sensitivity()) ** 2
        assert np.diff(logs) == pytest.approx(np.diff(expected), rel=1e-3, abs=1e-3)


def test_pairs_and_projections() -> None:
    asked = private(budget=GaussianDP(mu=0.5))
    assert asked.pair(ADD).delta(0.5) == pytest.approx(
        GaussianPair.of(sigma=2.0, sensitivity=1.0).delta(0.5), rel=1e-9
    )
    with pytest.raises(InvalidParameter, match="relation='replace-one' must be 'add-remove'"):
        asked.pair(REPLACE)
    inside = OutputPerturbation(
        problem=Problem(loss=Logistic(), bounds=SIGNS, regularizer=Ridge(4.0), domain=Ball(0.1)),
        budget=PureDP(epsilon=0.1),
        relation=ADD,
        project=True,
    )
    draws = inside.sample(DATA, 50, rng=np.random.default_rng(0))
    assert np.linalg.norm(draws, axis=1).max() <= 0.1 + 1e-12
    with pytest.raises(NotSupported, match="project=False"):
        inside.log_density(draws, DATA)


def test_softmax_and_hinge_are_served() -> None:
    problem = Problem(
        loss=Softmax(3), bounds=Bounds(norm=1.0, labels=(0, 1, 2)), regularizer=Ridge(4.0)
    )
    three = OutputPerturbation(problem=problem, budget=PureDP(epsilon=1.0), relation=ADD)
    assert three.exact_sensitivity() == pytest.approx(math.sqrt(2.0) / 4.0)
    records = (DATA[0], [0, 1, 2])
    assert three.sample(records, 4, rng=np.random.default_rng(0)).shape == (4, 6)
    assert private(Hinge()).sample(DATA, 4, rng=np.random.default_rng(0)).shape == (4, 2)


def test_bad_input_is_refused_before_any_noise() -> None:
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=r"must be bounded.*unbounded"):
        private(Squared()).sample(DATA, 1, rng=rng)
    with pytest.raises(InvalidParameter, match="norm"):
        private().sample((2 * DATA[0], DATA[1]), 1, rng=rng)
    with pytest.raises(InvalidParameter, match="label"):
        private().sample((DATA[0], [0, 1, 2]), 1, rng=rng)
    with pytest.raises(InvalidParameter, match="size"):
        private().sample(DATA, 0, rng=rng)
    strict = OutputPerturbation(
        problem=private().problem, budget=PureDP(epsilon=1.0), relation=ADD, solver_error=1e-300
    )
    with pytest.raises(InvalidParameter, match="solver_error=1e-300 must be at least"):
        strict.sample(DATA, 1, rng=rng)
    assert rng.bit_generator.state == state


@pytest.mark.parametrize(
    "wrong",
    [
        PureDP(epsilon=0.0),
        PureDP(epsilon=math.inf),
        ApproxDP(epsilon=0.0),
        GaussianDP(mu=0.0),
        ZeroConcentratedDP(rho=math.inf),
        RenyiDP(order=2.0, epsilon=1.0),
        1.0,
    ],
)
def test_bad_budgets_are_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter, match="budget"):
        private(budget=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("penalty", [Lasso(1.0), NoRegularizer()])
def test_problems_without_a_ridge_are_refused(penalty: Regularizer) -> None:
    with pytest.raises(InvalidParameter, match="sensitivity is infinite"):
        private(penalty=penalty)
