"""The right name at every number: a returned claim follows from the statement that it names.

All public mechanisms, conversions, rules, filters and odometers, solvers, audits of one run and
answers of an accountant are walked. A statement implies a guarantee of a kind only if it speaks of
that kind, in the words listed below.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
import solvers
from dpverify.accounting.rules import RULES
from dpverify.theorems import DEFINITIONS, SIMULATION_LEMMA, Theorem
from proofs.support.catalog import find
from proofs.support.form import Proof

RELATION = dpv.Relation.ADD_REMOVE
NOISE = dpv.Gaussian(sigma=2.0)

# What a statement must speak of, one of these, to imply a guarantee of the kind.
WORDS: dict[type, tuple[str, ...]] = {
    dpv.PureDP: ("-DP",),
    dpv.ApproxDP: ("(ε, δ)", "profile", "δ at ε", "(ε′, δ′)", "-DP", "(ε, δ) is", "δ ≤", "δ(ε) ≤"),
    dpv.ZeroConcentratedDP: ("zCDP",),
    dpv.GaussianDP: ("GDP", "N(μ, 1)", "Gaussian noise"),
    dpv.RenyiDP: ("Rényi", "divergence", "zCDP"),
}
MECHANISMS: dict[str, Any] = {
    "DiscreteGaussian": dpv.DiscreteGaussian(sigma=2.0),
    "DiscreteLaplace": dpv.DiscreteLaplace(scale=2.0),
    "ExponentialMechanism": dpv.ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0),
    "Gaussian": NOISE,
    "Laplace": dpv.Laplace(scale=2.0),
    "LeakyRandomizedResponse": dpv.LeakyRandomizedResponse(epsilon=1.0, delta=0.1),
    "NoisyMax": dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0),
    "NormMechanism": dpv.NormMechanism(scale=2.0),
    "PermuteAndFlip": dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0),
    "RandomizedResponse": dpv.RandomizedResponse(epsilon=1.0),
    "SparseVector": dpv.SparseVector(epsilon=1.0, threshold=0.0),
}
# What is composed by its pair names the theorem on that pair: it must speak of pairs or profiles.
DOMINATED: dict[str, Any] = {
    "BestOf": dpv.BestOf(NOISE, "geometric", mean=3.0),
    "GaussianMixture": dpv.GaussianMixture(
        sigma=1.0, l2_sensitivities=(0.0, 1.0), weights=(0.5, 0.5)
    ),
    "LastIterate": dpv.LastIterate(sigma=1.0, l2_sensitivity=1.0, steps=3, contraction=0.5),
    "MatrixMechanism": dpv.MatrixMechanism(strategy="prefix", steps=4, sigma=1.0),
    "RandomAllocation": dpv.RandomAllocation(NOISE, steps=4),
    "Shuffled": dpv.Shuffled(NOISE, batches=4),
    "ShuffledReports": dpv.ShuffledReports(local_epsilon=1.0, reports=100),
    "Subsampled": dpv.Subsampled(NOISE, rate=0.25),
    "SubsampledWithReplacement": dpv.SubsampledWithReplacement(NOISE, batch=2, population=8),
    "SubsampledWithoutReplacement": dpv.SubsampledWithoutReplacement(NOISE, batch=2, population=8),
}
PAIRS = ("dominate", "profile", "pair", "GDP", "δ(ε)", "Gaussian mechanism", "subsampled")
ELSEWHERE = {"Mechanism"}  # a protocol: what users write


def implies(theorem: Theorem, guarantee: object) -> bool:
    return any(word in theorem.statement for word in WORDS[type(guarantee)])


def test_every_public_mechanism_is_walked() -> None:
    public = {name: getattr(dpv, name) for name in dpv.__all__}
    kinds = {name: made for name, made in public.items() if inspect.isclass(made)}
    stated = {
        name
        for name, made in kinds.items()
        if callable(getattr(made, "sample", None)) and hasattr(made, "claim")
    }
    assert stated - ELSEWHERE <= set(MECHANISMS)
    paired = {
        name
        for name, made in kinds.items()
        if inspect.isfunction(getattr(made, "pair", None)) and hasattr(made, "theorem")
    }
    assert paired <= set(DOMINATED)


@pytest.mark.parametrize("name", MECHANISMS)
def test_claims_of_mechanisms(name: str) -> None:
    claim = MECHANISMS[name].claim
    assert implies(claim.theorem, claim.guarantee)


@pytest.mark.parametrize("name", DOMINATED)
def test_theorems_of_pairs(name: str) -> None:
    mechanism = DOMINATED[name]
    found = mechanism.theorem
    theorem = found(RELATION) if callable(found) else found
    assert any(word in theorem.statement for word in PAIRS)


GUARANTEES = (
    dpv.PureDP(0.5),
    dpv.ApproxDP(0.5, 1e-6),
    dpv.GaussianDP(0.5),
    dpv.ZeroConcentratedDP(0.1),
    dpv.RenyiDP(order=8.0, epsilon=0.1),
)


@pytest.mark.parametrize("given", GUARANTEES, ids=lambda each: type(each).__name__)
def test_conversions(given: dpv.Guarantee) -> None:
    """To every kind that follows; the statement speaks of what is given, too."""
    for convert, options in (
        (dpv.to_approx, {"delta": 1e-5}),
        (dpv.to_zcdp, {}),
        (dpv.to_gdp, {}),
        (dpv.to_renyi, {"order": 4.0}),
    ):
        try:
            found = convert(given, **options)
        except dpv.NotSupported:
            continue
        assert implies(found.theorem, found.guarantee)
        assert implies(found.theorem, given) or found.theorem.name == "renyi-to-approx"
        if type(found.guarantee) is type(given) and convert is not dpv.to_approx:
            assert found.theorem is DEFINITIONS or found.theorem.name == "renyi-monotone"


def test_a_guarantee_is_converted_by_the_lemma_that_says_so() -> None:
    assert dpv.to_approx(dpv.PureDP(1.0), delta=1e-5).theorem is SIMULATION_LEMMA
    assert dpv.to_renyi(dpv.PureDP(1.0), order=2.0).theorem is SIMULATION_LEMMA
    assert dpv.to_renyi(dpv.ZeroConcentratedDP(0.1), order=2.0).theorem is DEFINITIONS


@pytest.mark.parametrize("name", list(RULES.names))
def test_rules_answer_in_epsilon_and_delta(name: str) -> None:
    """Every rule answers (ε, δ), so its theorem reaches that far, by itself or by what it uses."""
    rule = RULES[name]
    assert implies(rule.theorem, dpv.ApproxDP(1.0, 1e-6))


def _rests_on(proof: Proof, name: str) -> bool:
    return any(used.name == name or _rests_on(find(used.name), name) for used in proof.uses)


@pytest.mark.parametrize("rule", ["zcdp", "rdp"])
def test_renyi_answers_rest_on_the_conversion(rule: str) -> None:
    assert _rests_on(find(RULES[rule].theorem.name), "renyi-to-approx")


ASKED: dict[str, tuple[Callable[[dpv.Accountant], Any], tuple[str, ...]]] = {
    "epsilon": (lambda a: a.epsilon(delta=1e-5), ("(ε, δ)", "profile", "-DP")),
    "delta": (lambda a: a.delta(epsilon=1.0), ("(ε, δ)", "profile", "-DP")),
    "advantage": (lambda a: a.advantage(), ("guess", "profile", "δ at ε")),
    "true positives": (
        lambda a: a.true_positive_rate(false_positive_rate=0.05),
        ("detects", "test"),
    ),
    "posterior": (lambda a: a.posterior(prior=0.5), ("surer",)),
    "mu": (lambda a: a.gaussian_summary().mu, ("GDP",)),
}
SPENT = {
    "gaussian": dpv.Accountant(relation=RELATION).compose(NOISE, times=3),
    "response": dpv.Accountant(relation=RELATION).compose(dpv.RandomizedResponse(0.5), times=3),
}


@pytest.mark.parametrize("spent", SPENT)
@pytest.mark.parametrize("what", ASKED)
def test_answers_of_an_accountant(spent: str, what: str) -> None:
    ask, words = ASKED[what]
    found = ask(SPENT[spent])
    if found.theorem is None:  # a trivial end, as that nothing is above 1
        assert what == "posterior"
        return
    assert any(word in found.theorem.statement for word in words), found.theorem.name


APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
FILTERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pure": (dpv.PureDP(5.0), {}),
    "basic": (APPROX, {"by": "basic"}),
    "gaussian": (APPROX, {"by": "gaussian"}),
    "gaussian, with leaks": (APPROX, {"by": "gaussian", "leak_share": 0.5}),
    "renyi": (APPROX, {"by": "renyi", "orders": [8.0, 16.0]}),
    "renyi, with leaks": (APPROX, {"by": "renyi", "orders": [8.0], "leak_share": 0.5}),
    "zcdp": (dpv.ZeroConcentratedDP(0.5), {}),
    "mu": (dpv.GaussianDP(1.0), {}),
    "one order": (dpv.RenyiDP(order=8.0, epsilon=2.0), {}),
    "a plan": (APPROX, {"plan": dpv.Accountant(relation=RELATION).compose(dpv.Laplace(50.0))}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters(name: str) -> None:
    budget, options = FILTERS[name]
    guard = dpv.Filter(budget, RELATION, **options)
    assert guard.theorem is not None
    assert implies(guard.theorem, budget)
    assert "all answers" in guard.theorem.statement or any(
        word in guard.theorem.statement for word in ("interactions", "depend on these")
    )


def test_a_filter_that_sets_delta_aside_names_the_theorem_on_leaks() -> None:
    plain = dpv.Filter(APPROX, RELATION, by="gaussian").theorem
    leaky = dpv.Filter(APPROX, RELATION, by="gaussian", leak_share=0.5).theorem
    assert plain is not None
    assert leaky is not None
    assert (plain.name, leaky.name) == ("gaussian-filter", "leaky-filter")
    assert _rests_on(find(leaky.name), plain.name)


def test_odometers() -> None:
    meter = dpv.Odometer(relation=RELATION)
    meter.spend(NOISE)
    found = meter.epsilon(delta=1e-6)
    assert found.theorem is not None
    assert "P(E) ≤ E_Q[e^ε; E] + δ" in found.theorem.statement
    assert "any stopping time" in found.theorem.statement


BOUNDS = solvers.Bounds(norm=1.0, labels=(-1, 1))
PROBLEM = solvers.Problem(loss=solvers.Logistic(), bounds=BOUNDS, regularizer=solvers.Ridge(1.0))
SETTING = solvers.DescentSetting(
    loss=solvers.Logistic(),
    bounds=BOUNDS,
    domain=solvers.Ball(1.0),
    relation=dpv.Relation.REPLACE_ONE,
    records=20,
)
PURE, ZCDP, MU = dpv.PureDP(1.0), dpv.ZeroConcentratedDP(0.5), dpv.GaussianDP(1.0)
ALL = (PURE, APPROX, ZCDP, MU)
SOLVERS: dict[str, tuple[tuple[Any, ...], Callable[[Any], Any]]] = {
    "ApproximateMinima": (
        (APPROX,),
        lambda budget: solvers.ApproximateMinima(
            problem=PROBLEM, budget=budget, relation=RELATION, gradient_tolerance=1e-3
        ),
    ),
    "ExponentialERM": (
        (PURE,),
        lambda budget: solvers.ExponentialERM(
            loss=solvers.Logistic(),
            bounds=BOUNDS,
            candidates=((0.0,), (1.0,)),
            epsilon=budget.epsilon,
            relation=RELATION,
        ),
    ),
    "ExponentialOnBall": (
        (PURE,),
        lambda budget: solvers.ExponentialOnBall(
            loss=solvers.Logistic(),
            bounds=BOUNDS,
            domain=solvers.Ball(1.0),
            epsilon=budget.epsilon,
            relation=RELATION,
        ),
    ),
    "ExponentialQuantile": (
        (PURE,),
        lambda budget: solvers.ExponentialQuantile(
            low=0.0, high=1.0, epsilon=budget.epsilon, relation=RELATION
        ),
    ),
    "GradientDescent": (
        ALL,
        lambda budget: solvers.GradientDescent(SETTING, budget=budget, steps=3),
    ),
    "LeafCounts": (
        ALL,
        lambda budget: solvers.LeafCounts(
            trees=solvers.RandomTrees.drawn(
                trees=2, depth=1, dimension=1, rng=np.random.default_rng(0)
            ),
            classes=2,
            budget=budget,
            relation=RELATION,
        ),
    ),
    "Lloyd": (
        ALL,
        lambda budget: solvers.Lloyd(start=[[0.0]], budget=budget, relation=RELATION, steps=2),
    ),
    "ObjectivePerturbation": (
        (PURE, APPROX),
        lambda budget: solvers.ObjectivePerturbation(
            problem=PROBLEM, budget=budget, relation=RELATION
        ),
    ),
    "OutputPerturbation": (
        ALL,
        lambda budget: solvers.OutputPerturbation(
            problem=PROBLEM, budget=budget, relation=RELATION
        ),
    ),
    "SecondMoments": (
        ALL,
        lambda budget: solvers.SecondMoments(
            bounds=solvers.Bounds(norm=1.0), budget=budget, relation=RELATION
        ),
    ),
    "StochasticGradientDescent": (
        (PURE, APPROX),
        lambda budget: solvers.StochasticGradientDescent(
            SETTING,
            budget=budget,
            batches=solvers.PoissonBatches(0.5),
            steps=3,
            learning_rate=1.0,
        ),
    ),
    "SufficientStatistics": (
        ALL,
        lambda budget: solvers.SufficientStatistics(
            bounds=solvers.Bounds(norm=1.0, label_bound=1.0), budget=budget, relation=RELATION
        ),
    ),
}


def test_every_solver_is_walked() -> None:
    kinds = {name: getattr(solvers, name) for name in solvers.__all__}
    stated = {
        name for name, made in kinds.items() if inspect.isclass(made) and hasattr(made, "claim")
    }
    assert stated == set(SOLVERS)


@pytest.mark.parametrize("name", SOLVERS)
def test_claims_of_solvers(name: str) -> None:
    budgets, made = SOLVERS[name]
    for budget in budgets:
        claim = made(budget).claim
        assert claim.guarantee == budget
        assert implies(claim.theorem, budget), (claim.theorem.name, budget)


def test_claims_of_models() -> None:
    """A fitted model's claim is that of its solver, or of all its parts."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (40, 2))  # noqa: N806
    y = np.where(X[:, 0] > 0, 1, 0)
    model = solvers.PrivateLogisticRegression(
        budget=APPROX, norm_bound=1.0, relation=RELATION, classes=(0, 1), random_state=0
    )
    claim = model.fit(X, y).claim_
    assert implies(claim.theorem, claim.guarantee)


def test_an_audit_of_one_run() -> None:
    def train(included: Any, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return included + rng.laplace(0.0, 5.0, len(included))

    for claim in (dpv.PureDP(1.0), APPROX):
        verdict = dpv.audit_one_run(train, canaries=64, claim=claim, seed=1)
        assert implies(verdict.theorem, dpv.ApproxDP(1.0, 1e-6))
        assert "P(at least v guesses are right) ≤" in verdict.theorem.statement


def test_comparisons_and_calibrations() -> None:
    rows = SPENT["gaussian"].compare(delta=1e-5).rows
    assert len(rows) >= 5
    assert all(implies(row.theorem, APPROX) for row in rows)
    found = dpv.calibration(lambda s: dpv.Gaussian(sigma=s), budget=APPROX, relation=RELATION).spent
    assert found.theorem is not None
    assert implies(found.theorem, APPROX)
    kernel = dpv.simulate(left=[0.5, 0.5], right=[0.25, 0.75], guarantee=dpv.PureDP(1.0))
    assert "one kernel maps" in kernel.theorem.statement


def test_traces_and_certificates() -> None:
    """Each names a theorem that reaches from what was seen to P(E) ≤ e^ε·Q(E), or to a profile."""

    def noisy(data: float, rng: np.random.Generator) -> float:
        return float(data + rng.laplace(0.0, 2.0))

    shown = dpv.trace(noisy, left=0.0, right=1.0, claim=dpv.PureDP(1.0), seed=0)
    assert (shown.verdict, *_reach(shown.theorems)) == ("shown", "transcript-loss")
    refuted = dpv.trace(noisy, left=0.0, right=1.0, claim=dpv.PureDP(0.25), seed=0)
    assert (refuted.verdict, *_reach(refuted.theorems)) == ("refuted", "determined-output")
    answers = dpv.schema.Answers(dimension=1, sensitivity=1.0)
    proof = dpv.certify(lambda d, rng: d[0] + rng.laplace(0.0, 2.0), schema=answers, claim=PURE)
    assert proof.verdict == "proved"
    assert _reach(proof.theorems)


def _reach(theorems: tuple[Theorem, ...]) -> list[str]:
    words = ("profile", "refutes ε-DP", "P(E) ≤ e^c·Q(E)", "-DP")
    return [each.name for each in theorems if any(word in each.statement for word in words)]
