"""Audits: honest solvers are not refuted and come close to their claims; spoiled ones are refuted.

Pairs are chosen so that a claim is nearly attained: a steep smoothed hinge is linear near 0, so one
record moves the minimum by all of L/λ; a logistic record beside one that hardly counts has both its
slope and its curvature.
"""

from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.claims import Mechanism
from dpverify.neighbors import Relation
from solvers import (
    ApproximateMinima,
    HuberHinge,
    Logistic,
    ObjectivePerturbation,
    ObjectiveRule,
    OutputPerturbation,
)
from tests.solvers.spoiled import (
    FreeIntercept,
    HalfTheObjectiveNoise,
    HalfTheOutputNoise,
    NoJacobian,
    PrintedGaussian,
    SloppyMinima,
    one_column,
    problem,
)

RELATIONS = [Relation.ADD_REMOVE, pytest.param(Relation.REPLACE_ONE, marks=pytest.mark.slow)]
ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
PURE, GAUSSIAN = dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=1.0, delta=0.02)
LEVEL = 1e-9
ONE, TWO = one_column((1, 1)), one_column((1, 1), (1, 1))
FLIPPED = one_column((1, -1))
FAINT, FAINT_AND_ONE = one_column((1e-9, 1)), one_column((1e-9, 1), (1, -1))


def audited(mechanism: Any, left: Any, right: Any, samples: int) -> dpv.Verdict:  # noqa: ANN401
    return dpv.audit(mechanism, left=left, right=right, level=LEVEL, seed=7, samples=samples)


@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_output_perturbation_nearly_spends_its_budget(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    private = OutputPerturbation(
        problem=problem(HuberHinge(width=0.1), 10.0), budget=budget, relation=relation
    )
    verdict = audited(private, ONE, TWO if relation is ADD else FLIPPED, 150_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower >= 0.8


@pytest.mark.false_alarm(4e-9)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_objective_perturbation_comes_close(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    private = ObjectivePerturbation(
        problem=problem(HuberHinge(width=0.5), 40.0), budget=budget, relation=relation
    )
    verdict = audited(private, ONE, TWO if relation is ADD else FLIPPED, 100_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower >= 0.6


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_the_tight_logistic_rule_comes_close(budget: Any) -> None:  # noqa: ANN401
    private = ObjectivePerturbation(
        problem=problem(Logistic(), 0.5), budget=budget, relation=ADD, arithmetic="real"
    )
    verdict = audited(private, FAINT, FAINT_AND_ONE, 150_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower >= 0.6


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("rule", [ObjectiveRule.TIGHT, ObjectiveRule.PUBLISHED])
def test_approximate_minima_are_not_refuted(rule: ObjectiveRule) -> None:
    private = ApproximateMinima(
        problem=problem(HuberHinge(width=0.5), 40.0),
        budget=GAUSSIAN,
        relation=REPLACE,
        gradient_tolerance=1e-4,
        rule=rule,
    )
    verdict = audited(private, ONE, FLIPPED, 100_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower >= (0.6 if rule is ObjectiveRule.TIGHT else 0.05)


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["pure", "gaussian"])
def test_half_the_noise_is_refuted(budget: Any) -> None:  # noqa: ANN401
    steep = problem(HuberHinge(width=0.1), 10.0)
    output = OutputPerturbation(problem=steep, budget=budget, relation=ADD)
    assert audited(HalfTheOutputNoise(output), ONE, TWO, 50_000).refuted
    flat = problem(HuberHinge(width=0.5), 40.0)
    objective = ObjectivePerturbation(problem=flat, budget=budget, relation=REPLACE)
    assert audited(HalfTheObjectiveNoise(objective), ONE, FLIPPED, 50_000).refuted


def test_the_printed_gaussian_constant_is_refuted() -> None:
    printed = PrintedGaussian(problem(HuberHinge(width=0.5), 400.0), epsilon=4.0, delta=0.01)
    assert audited(printed, ONE, FLIPPED, 200_000).refuted


def test_a_forgotten_determinant_is_refuted() -> None:
    forgetful = NoJacobian(problem(Logistic(), 0.05), epsilon=0.25)
    assert audited(forgetful, FAINT, FAINT_AND_ONE, 50_000).refuted


def test_a_free_intercept_is_refuted() -> None:
    left = (np.zeros((2, 1)), np.array([1.0, -1.0]))
    right = (np.zeros((3, 1)), np.array([1.0, -1.0, 1.0]))
    assert audited(FreeIntercept(epsilon=1.0, ridge=10.0), left, right, 20_000).refuted


def test_sloppy_minima_without_their_noise_are_refuted() -> None:
    flat = problem(HuberHinge(width=0.5), 40.0)
    honest = ObjectivePerturbation(problem=flat, budget=GAUSSIAN, relation=REPLACE)
    sloppy = SloppyMinima(flat, GAUSSIAN, gamma=2.0 * honest.noise(1).scale)
    assert audited(sloppy, FLIPPED, ONE, 50_000).refuted


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("kind", [OutputPerturbation, ObjectivePerturbation])
def test_no_leak_through_the_bits(kind: Any) -> None:  # noqa: ANN401
    private = kind(problem=problem(Logistic(), 2.0), budget=PURE, relation=ADD)
    left = (np.array([[1.0, 0.0], [0.3, 0.4]]), np.array([1.0, -1.0]))
    right = (left[0][:1], left[1][:1])
    verdict = dpv.audit(
        private, left=left, right=right, level=LEVEL, samples=20_000, arithmetic="float"
    )
    assert not verdict.refuted


def test_solvers_are_mechanisms() -> None:
    flat = problem(Logistic(), 4.0)
    for private in (
        OutputPerturbation(problem=flat, budget=PURE, relation=ADD),
        ObjectivePerturbation(problem=flat, budget=PURE, relation=ADD),
        ApproximateMinima(problem=flat, budget=GAUSSIAN, relation=ADD, gradient_tolerance=1e-3),
    ):
        assert isinstance(private, Mechanism)
