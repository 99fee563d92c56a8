"""Private solvers with one constant spoiled: every one claims what it does not keep.

They live with the tests, so that nobody can deploy one by accident.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Arrays, Bounds
from solvers.losses import Logistic, Loss
from solvers.minimize.newton import minimize
from solvers.minimize.objective import Objective
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation, noise_for
from solvers.privacy.noise import LinearNoise
from solvers.privacy.theorems import (
    APPROXIMATE_MINIMUM,
    MINIMIZER_SENSITIVITY,
    OBJECTIVE_PERTURBATION,
    OBJECTIVE_PERTURBATION_GAUSSIAN,
)


@dataclass(frozen=True)
class HalfTheOutputNoise:
    """Output perturbation for half of the minimum's sensitivity."""

    honest: OutputPerturbation

    @property
    def claim(self) -> Claim:
        return self.honest.claim

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        point = self.honest.solve(data).points[0]
        sensitivity = self.honest.l2_sensitivity() / 2
        noise = noise_for(self.honest.budget, sensitivity, self.honest.arithmetic)
        return noise.sample(point, size, rng=rng)


@dataclass(frozen=True)
class HalfTheObjectiveNoise:
    """Objective perturbation with b half as long as it must be."""

    honest: ObjectivePerturbation

    @property
    def claim(self) -> Claim:
        return self.honest.claim

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        d = np.asarray(data[0]).shape[1]
        drawn = self.honest.noise(d).draw_real(size, d, rng)
        return self.honest.problem.minimize(data, drawn / 2).points


@dataclass(frozen=True)
class NoJacobian:
    """Pure objective perturbation that pays for the noise and forgets the determinant."""

    problem: Problem
    epsilon: float

    @property
    def noise(self) -> LinearNoise:
        return LinearNoise(scale=self.problem.lipschitz() / self.epsilon, gaussian=False)

    @property
    def claim(self) -> Claim:
        guarantee = PureDP(epsilon=self.epsilon)
        return Claim(guarantee, Relation.ADD_REMOVE, OBJECTIVE_PERTURBATION)

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        d = np.asarray(data[0]).shape[1]
        return self.problem.minimize(data, self.noise.draw_real(size, d, rng)).points


@dataclass(frozen=True)
class PrintedGaussian:
    """The notes' Theorem 14.3: σ² = 10·L²·ln(1/δ)/ε², claimed as (ε/2 + ln(1 + 2β/λ), δ)."""

    problem: Problem
    epsilon: float
    delta: float

    @property
    def noise(self) -> LinearNoise:
        length = self.problem.lipschitz()
        sigma = math.sqrt(10.0 * math.log(1.0 / self.delta)) * length / self.epsilon
        return LinearNoise(scale=sigma, gaussian=True)

    @property
    def claim(self) -> Claim:
        beta = self.problem.loss.smoothness(self.problem.bounds)
        epsilon = self.epsilon / 2 + math.log1p(2 * beta / self.problem.ridge)
        guarantee = ApproxDP(epsilon=epsilon, delta=self.delta)
        return Claim(guarantee, Relation.REPLACE_ONE, OBJECTIVE_PERTURBATION_GAUSSIAN)

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        d = np.asarray(data[0]).shape[1]
        return self.problem.minimize(data, self.noise.draw_real(size, d, rng)).points


@dataclass(frozen=True)
class FreeIntercept:
    """Output perturbation of a logistic regression whose intercept is not regularized.

    The noise is made for L/λ with L = √2, as if it were.
    """

    epsilon: float
    ridge: float

    @property
    def claim(self) -> Claim:
        return Claim(PureDP(epsilon=self.epsilon), Relation.ADD_REMOVE, MINIMIZER_SENSITIVITY)

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        features, labels = (np.asarray(part, float) for part in data)
        # A column as long as 1/share makes the ridge on its weight share² times as strong.
        share = 1e-4
        columns = np.hstack([features, np.full((len(features), 1), 1.0 / share)])
        objective = Objective(Logistic(), columns, labels, self.ridge)
        point = minimize(objective, np.zeros((1, columns.shape[1])))[0]
        point[-1] /= share
        noise = noise_for(PureDP(epsilon=self.epsilon), math.sqrt(2.0) / self.ridge, "real")
        return noise.sample(point, size, rng=rng)


@dataclass(frozen=True)
class SloppyMinima:
    """Approximate minima with ‖∇J‖ ≤ γ, released without the second noise.

    The solver stops on one side of the minimum or the other, as its data have it.
    """

    problem: Problem
    budget: ApproxDP
    gamma: float

    @property
    def claim(self) -> Claim:
        return Claim(self.budget, Relation.REPLACE_ONE, APPROXIMATE_MINIMUM)

    def sample(self, data: Arrays, size: int, *, rng: np.random.Generator) -> Floats:
        honest = ObjectivePerturbation(
            problem=self.problem,
            budget=self.budget,
            relation=Relation.REPLACE_ONE,
            arithmetic="real",
        )
        side = float(np.sign(np.asarray(data[1], float).sum() + 0.5))
        # ∇J moves by at most (λ + nβ) times a step: this one keeps it within γ.
        beta = self.problem.loss.smoothness(self.problem.bounds)
        steepest = self.problem.ridge + len(np.asarray(data[1])) * beta
        points: Floats = honest.sample(data, size, rng=rng)
        return points + side * self.gamma / steepest


def one_column(*records: tuple[float, float]) -> tuple[Floats, Floats]:
    """Records (x, y) with one feature."""
    return np.array([[x] for x, _ in records]), np.array([float(y) for _, y in records])


def problem(loss: Loss, ridge: float) -> Problem:
    """A problem with labels ±1 and |x| ≤ 1."""
    bounds = Bounds(norm=1.0, labels=(-1, 1))
    return Problem(loss=loss, bounds=bounds, regularizer=Ridge(ridge))
