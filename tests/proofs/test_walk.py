"""The right name at every number: a returned claim follows from the statement that it names.

All public mechanisms, conversions, rules and answers of an accountant are walked. A statement
implies a guarantee of a kind only if it speaks of that kind, in the words listed below.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import dpverify as dpv
from dpverify.accounting.rules import RULES
from dpverify.theorems import DEFINITIONS, SIMULATION_LEMMA, Theorem
from proofs.support.catalog import find
from proofs.support.form import Proof

RELATION = dpv.Relation.ADD_REMOVE
NOISE = dpv.Gaussian(sigma=2.0)

# What a statement must speak of, one of these, to imply a guarantee of the kind.
WORDS: dict[type, tuple[str, ...]] = {
    dpv.PureDP: ("-DP",),
    dpv.ApproxDP: ("(ε, δ)", "profile", "δ at ε", "(ε′, δ′)", "-DP", "(ε, δ) is"),
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
