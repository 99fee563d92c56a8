"""Every pair, rule, accountant and mechanism of the library keeps the laws; fakes break them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings

import dpverify as dpv
from dpverify import mechanisms
from dpverify import pairs as pairs_package
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Parts
from dpverify.accounting.rules import RULES, Rule
from dpverify.accounting.rules.gdp import Gaussians
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, Bracket, PureDP
from dpverify.neighbors import Relation
from dpverify.pairs import (
    BoundedRangePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Mixed,
    Pair,
    SampledPair,
    SubsampledPair,
    WithoutReplacementPair,
)
from dpverify.testing import strategies as dst
from dpverify.testing.laws import LawBroken, RuleOn, Trial, check, laws_of

GAUSSIAN = GaussianPair(Fraction(1))
PAIRS: tuple[Pair, ...] = (
    GAUSSIAN,
    GaussianPair(Fraction(1, 100)),
    LaplacePair(scale=1.0, sensitivity=1.0),
    LeakyResponsePair(ApproxDP(epsilon=1.0, delta=0.1)),
    LeakyResponsePair(ApproxDP(epsilon=0.5)),
    FinitePair.leaky_response(Fraction(3), Fraction(1, 10)),
    FinitePair(left=[0.25, 0.75], right=[0.5, 0.5]),
    SubsampledPair(GAUSSIAN, 0.1, Mixed.LEFT),
    SubsampledPair(LaplacePair(scale=1.0, sensitivity=1.0), 0.3, Mixed.LEFT),
    WithoutReplacementPair(GAUSSIAN, 0.1),
    SampledPair(LeakyResponsePair(ApproxDP(epsilon=0.5)), 0.3),
    DiscreteGaussianPair(sigma=1.5, shift=2),
    BoundedRangePair(1.5),
    DiscreteLaplacePair(scale=1.5, shift=2),
)
FEW = Accountant(relation=Relation.ADD_REMOVE)
ACCOUNTANTS = {
    "nothing": FEW,
    "Gaussian": FEW.compose(dpv.Gaussian(sigma=5.0), times=10),
    "Laplace": FEW.compose(dpv.Laplace(scale=5.0), times=3),
    "randomized response": FEW.compose(dpv.RandomizedResponse(epsilon=0.2), times=7),
    "leaky response": FEW.compose(dpv.LeakyRandomizedResponse(epsilon=0.2, delta=1e-7), times=5),
    "two kinds": FEW.compose(dpv.Gaussian(sigma=4.0)).compose(dpv.Laplace(scale=4.0)),
}
GUARANTEES = FEW.compose(dpv.ZeroConcentratedDP(rho=0.05)).compose(dpv.PureDP(epsilon=0.2))
UP, DOWN = np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0])
BOTH = Relation.REPLACE_ONE
TRIALS: dict[str, Trial] = {
    "GaussianMixture": Trial(
        mechanism=dpv.GaussianMixture(sigma=2.0, l2_sensitivities=(0, 1), weights=(0.5, 0.5)),
        relation=dpv.Relation.ADD_REMOVE,
    ),
    "MatrixMechanism": Trial(
        mechanism=dpv.MatrixMechanism(strategy="tree", steps=8, sigma=4.0), relation=BOTH
    ),
    "PermuteAndFlip": Trial(
        mechanism=dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0),
        relation=BOTH,
        left=UP,
        right=DOWN,
    ),
    "ShuffledReports": Trial(
        mechanism=dpv.ShuffledReports(local_epsilon=1.0, reports=50), relation=BOTH
    ),
    "LastIterate": Trial(
        mechanism=dpv.LastIterate(sigma=1.0, l2_sensitivity=0.5, steps=9, contraction=0.5),
        relation=BOTH,
    ),
    "BestOf": Trial(
        mechanism=dpv.BestOf(dpv.Gaussian(sigma=2.0), runs="geometric", mean=4.0), relation=BOTH
    ),
    "DiscreteGaussian": Trial(
        mechanism=dpv.DiscreteGaussian(sigma=2.0), relation=BOTH, left=0, right=1
    ),
    "DiscreteLaplace": Trial(
        mechanism=dpv.DiscreteLaplace(scale=1.0), relation=BOTH, left=0, right=1
    ),
    "Laplace": Trial(mechanism=dpv.Laplace(scale=1.0), relation=BOTH, left=0.0, right=1.0),
    "Gaussian": Trial(mechanism=dpv.Gaussian(sigma=2.0), relation=BOTH, left=0.0, right=1.0),
    "NormMechanism": Trial(
        mechanism=dpv.NormMechanism(scale=1.0, arithmetic="real"),
        relation=BOTH,
        left=[0.0, 0.0],
        right=[0.6, 0.8],
        samples=1_000,
    ),
    "RandomizedResponse": Trial(
        mechanism=dpv.RandomizedResponse(epsilon=1.0), relation=BOTH, left=0, right=1
    ),
    "LeakyRandomizedResponse": Trial(
        mechanism=dpv.LeakyRandomizedResponse(epsilon=0.5, delta=0.1),
        relation=BOTH,
        left=0,
        right=1,
    ),
    "ExponentialMechanism": Trial(
        mechanism=dpv.ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0),
        relation=BOTH,
        left=UP,
        right=DOWN,
    ),
    "NoisyMax": Trial(
        mechanism=dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0),
        relation=BOTH,
        left=UP,
        right=DOWN,
    ),
    "SparseVector": Trial(
        mechanism=dpv.SparseVector(epsilon=1.0, threshold=0.5), relation=BOTH, left=UP, right=DOWN
    ),
    "RandomAllocation": Trial(
        mechanism=dpv.RandomAllocation(dpv.Gaussian(sigma=1.0), steps=2),
        relation=dpv.Relation.ADD_REMOVE,
    ),
    "Subsampled": Trial(mechanism=dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.2), relation=BOTH),
    "SubsampledWithoutReplacement": Trial(
        mechanism=dpv.SubsampledWithoutReplacement(
            dpv.Gaussian(sigma=1.0, l2_sensitivity=2.0), batch=1, population=10
        ),
        relation=BOTH,
    ),
    "SubsampledWithReplacement": Trial(
        mechanism=dpv.SubsampledWithReplacement(
            dpv.Gaussian(sigma=1.0, l2_sensitivity=2.0), batch=1, population=10
        ),
        relation=BOTH,
    ),
    "Shuffled": Trial(mechanism=dpv.Shuffled(dpv.Gaussian(sigma=1.0), batches=2), relation=BOTH),
}


def kinds(package: Any, base: type) -> set[str]:  # noqa: ANN401
    """The public classes of a package below `base`, but not `base` itself."""
    found = (getattr(package, name) for name in package.__all__)
    return {
        kind.__name__
        for kind in found
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }


def test_no_class_is_forgotten() -> None:
    assert kinds(pairs_package, Pair) == {type(pair).__name__ for pair in PAIRS}
    assert set(mechanisms.__all__) == set(TRIALS)
    used = {
        row.rule
        for spent in ACCOUNTANTS.values()
        if spent.parts
        for row in spent.compare(delta=1e-3).rows
    }
    assert used == {rule.name for rule in RULES}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
def test_pairs_keep_the_laws(pair: Pair) -> None:
    assert len(check(pair)) == len(laws_of(pair)) == 8


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(dst.indistinguishable_pairs())
def test_finite_pairs_keep_the_laws(found: dst.Indistinguishable) -> None:
    check(found.pair)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_accountants_keep_the_laws(name: str) -> None:
    assert len(check(ACCOUNTANTS[name])) == 6


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(dst.compositions(most=2))
def test_drawn_accountants_keep_the_laws(spent: Accountant) -> None:
    check(spent)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_keep_the_laws(rule: Rule) -> None:
    names = ("Gaussian", "leaky response", "two kinds")
    applied = [RuleOn(rule, ACCOUNTANTS[name]) for name in names]
    assert any(subject.epsilon(1e-3) is not None for subject in applied)
    for subject in applied:
        check(subject)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_keep_the_laws_for_guarantees(rule: Rule) -> None:
    check(RuleOn(rule, GUARANTEES))


@pytest.mark.slow
def test_an_accountant_of_guarantees_keeps_the_laws() -> None:
    check(GUARANTEES)


@pytest.mark.sampled(4)
@pytest.mark.false_alarm(1e-8)
@pytest.mark.parametrize("name", TRIALS)
def test_mechanisms_keep_the_laws(name: str) -> None:
    found = check(TRIALS[name])
    assert found
    if hasattr(TRIALS[name].mechanism, "sample"):
        assert "an audit does not refute the claim" in found


# --- laws that catch ------------------------------------------------------------------------------


class Wrong(GaussianPair):
    """A pair with one formula spoiled."""

    spoiled = ""

    def delta_bracket(self, epsilon: float) -> Bracket:
        found = super().delta_bracket(epsilon)
        match self.spoiled:
            case "rises":
                return Bracket(1.0 - found.upper, 1.0 - found.lower)
            case "concave":
                flat = 0.9 - 0.01 * epsilon**0.1 * min(epsilon, 1.0) * 5.0
                return Bracket(flat, flat) if epsilon < 2.0 else found
            case "low":
                return Bracket(found.lower * 0.9, found.upper * 0.9)
            case _:
                return found

    def trade_off(self, false_alarm: float) -> float:
        found = super().trade_off(false_alarm)
        match self.spoiled:
            case "curve rises":
                return 1.0 - found
            case "too hard to test":
                return min(1.0 - false_alarm, found * 1.2)
            case _:
                return found

    def renyi(self, order: float) -> float:
        return 1.0 / order if self.spoiled == "renyi" else super().renyi(order)

    def profile_ball(self, epsilon: arb) -> arb:
        found = super().profile_ball(epsilon)
        return found * arb(0.9) if self.spoiled == "mirror" else found


@pytest.mark.parametrize(
    ("spoiled", "law"),
    [
        ("rises", "falls in ε"),
        ("concave", "convex"),
        ("low", "dual"),
        ("curve rises", "coin"),
        ("too hard to test", "dual"),
        ("renyi", "order"),
        ("mirror", "reversed|dual|inverts|coin"),
    ],
)
def test_spoiled_pairs_are_caught(spoiled: str, law: str) -> None:
    pair = type("Spoiled", (Wrong,), {"spoiled": spoiled})(Fraction(1))
    with pytest.raises(LawBroken, match=law):
        check(pair)


@dataclass(frozen=True, kw_only=True)
class Forgetful(Accountant):
    """Counts everything once, however often it was run."""

    def epsilon(
        self, delta: float, *, tolerance: float = 1e-3, seconds: float | None = None
    ) -> Bracket:
        once = Accountant(relation=self.relation).extended(
            *(replace(part, times=1) for part in self.parts)
        )
        return once.epsilon(delta, tolerance=tolerance, seconds=seconds)


def test_a_forgetful_accountant_is_caught() -> None:
    spent = Forgetful(relation=Relation.ADD_REMOVE).extended(*ACCOUNTANTS["Gaussian"].parts)
    forgetful = Forgetful(relation=Relation.ADD_REMOVE)
    object.__setattr__(forgetful, "parts", spent.parts)
    with pytest.raises(LawBroken, match="the two questions agree"):
        check(forgetful)


def test_a_wrong_rule_is_caught() -> None:
    class Half(Gaussians):
        def epsilon(self, parts: Parts, delta: float, tolerance: float) -> float:
            found = super().epsilon(parts, delta, tolerance)
            assert isinstance(found, Bracket)
            return found.upper / 2.0

    with pytest.raises(LawBroken, match="never below the exact one"):
        check(RuleOn(Half(), ACCOUNTANTS["Gaussian"]))


@dataclass(frozen=True, kw_only=True)
class Boastful(dpv.Laplace):
    """Claims half the ε that its noise gives."""

    @property
    def claim(self) -> Any:  # noqa: ANN401
        true = dpv.Laplace(scale=self.scale).claim
        assert isinstance(true.guarantee, PureDP)
        return replace(true, guarantee=PureDP(epsilon=true.guarantee.epsilon / 2.0))


@dataclass(frozen=True, kw_only=True)
class Unseeded(dpv.Laplace):
    def sample(self, data: Any, size: int, *, rng: Any) -> Any:  # noqa: ANN401, ARG002
        return data + np.random.default_rng().laplace(size=size)


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (Boastful(scale=1.0), "the dominating pair keeps the claim"),
        (Unseeded(scale=1.0), "draws follow the seed"),
    ],
)
def test_wrong_mechanisms_are_caught(mechanism: Any, law: str) -> None:  # noqa: ANN401
    trial = Trial(mechanism=mechanism, relation=BOTH, left=0.0, right=1.0)
    with pytest.raises(LawBroken, match=law):
        check(trial)


@pytest.mark.parametrize(
    "law", [law for law in laws_of(TRIALS["Laplace"]) if "seed" not in law.name], ids=str
)
def test_a_boast_is_caught_by_every_law_about_claims(law: Any) -> None:  # noqa: ANN401
    trial = Trial(mechanism=Boastful(scale=1.0), relation=BOTH, left=0.0, right=1.0)
    if "total variation" in law.name:
        law.check(trial)
        return
    with pytest.raises(LawBroken):
        law.check(trial)


def test_other_subjects_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="subject=3 must be a Pair"):
        check(3)
    trial = replace(TRIALS["SubsampledWithoutReplacement"], relation=Relation.ADD_REMOVE)
    with pytest.raises(NotSupported):
        check(trial)
