"""Approximate minima perturbation: objective perturbation with a solver that may stop early."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_between,
    check_draw,
    check_positive,
    settle_fields,
)
from dpverify.guarantees import ApproxDP
from dpverify.neighbors import Relation
from solvers.bounds import Data
from solvers.minimize.certificate import EXPONENTIAL_ACCURACY
from solvers.minimize.problem import Problem, Solution
from solvers.privacy.noise import LastNoise, LinearNoise
from solvers.privacy.objective_rules import ObjectiveRule, Setting
from solvers.privacy.theorems import APPROXIMATE_MINIMUM, APPROXIMATE_MINIMUM_GAUSSIAN

_LEAST_GRADIENT = 2.0**-30


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateMinima:
    """Objective perturbation with a solver that may stop early, and noise that hides its error.

    θ with ‖∇J(θ)‖ ≤ `gradient_tolerance` for J = Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩, plus normal noise.

    b is normal, and so is the last noise, of sensitivity 2·gradient_tolerance/λ: each of two
    approximate minima may be off by half of that. The rule decides what they cost. The tight one
    charges both at once, μ² against μ²: `share` is the last noise's share of it. The published one,
    σ = 2L(1 + √(2·ln(1/δ₁)))/ε₃ with λ ≥ 2β/(ε₁ − ε₃), and (1 + √(2·ln(1/δ₂)))/ε₂ for the last,
    adds them, with that share of ε and δ for the last.

    >>> from solvers import Bounds, Logistic, Ridge
    >>> problem = Problem(
    ...     loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(2.0)
    ... )
    >>> private = ApproximateMinima(
    ...     problem=problem,
    ...     budget=ApproxDP(epsilon=1.0, delta=1e-5),
    ...     relation=Relation.REPLACE_ONE,
    ...     gradient_tolerance=1e-3,
    ... )
    >>> round(private.noise.scale, 2), round(private.last_noise(1).ratio, 1)
    (8.16, 81.2)
    """

    problem: Problem
    budget: ApproxDP
    relation: Relation
    gradient_tolerance: float
    share: float = 0.01
    rule: ObjectiveRule = ObjectiveRule.TIGHT

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_positive("gradient_tolerance", self.gradient_tolerance)
        least = _LEAST_GRADIENT * self.problem.lipschitz()
        if not self.gradient_tolerance >= least:
            raise InvalidParameter(
                f"gradient_tolerance={self.gradient_tolerance!r} must be at least {least:.3g}, "
                "2^-30 of what one record's gradient can be: floats do not resolve less"
            )
        check_between("share", self.share, 2.0**-30, 1.0 - 2.0**-30)
        if not isinstance(self.budget, ApproxDP) or not 0.0 < self.budget.delta < 1.0:
            raise InvalidParameter(f"budget={self.budget!r} must be ApproxDP with 0 < delta < 1")
        check_positive("epsilon", self.budget.epsilon)
        if not self.problem.plain:
            raise NotSupported(
                "the problem must be smooth and unconstrained: approximate minima are certified by "
                "their gradients"
            )
        if self.rule is ObjectiveRule.KIFER:
            raise NotSupported(
                f"rule={self.rule.value!r} must allow approximate minima: this one needs exact ones"
            )
        if self.rule is ObjectiveRule.PUBLISHED and self.relation is not Relation.REPLACE_ONE:
            raise NotSupported("relation='add-remove' must be 'replace-one' for the published rule")
        _ = self.noise, self.last_noise(1)  # refuse a hopeless budget at birth

    def _part(self, share: float) -> ApproxDP:
        """A share of the budget, rounded down."""
        epsilon, delta = share * self.budget.epsilon, share * self.budget.delta
        return ApproxDP(epsilon=math.nextafter(epsilon, 0.0), delta=math.nextafter(delta, 0.0))

    @property
    def setting(self) -> Setting:
        """All that the privacy of b depends on."""
        return Setting(
            loss=self.problem.loss,
            bounds=self.problem.bounds,
            ridge=self.problem.ridge,
            relation=self.relation,
        )

    @property
    def _tie(self) -> float:
        """The ratio of the last noise's μ to that of b, in units of L/σ."""
        return math.sqrt(self.share / (1.0 - self.share))

    @property
    def noise(self) -> LinearNoise:
        """The distribution of b."""
        part = self._part(1.0 - self.share)
        if self.rule is ObjectiveRule.PUBLISHED:
            return LinearNoise(scale=self._published_sigma(part), gaussian=True)
        return LinearNoise(scale=_tight_sigma(self.setting, self.budget, self._tie), gaussian=True)

    def _published_sigma(self, part: ApproxDP) -> float:
        beta = self.problem.loss.smoothness(self.problem.bounds)
        left = part.epsilon - 2.0 * beta / self.problem.ridge * (1.0 + 2.0**-50)
        if not left > 0.0:
            raise InvalidParameter(
                f"ridge={self.problem.ridge!r} must be more than {2.0 * beta / part.epsilon:.6g} "
                f"for the {part.epsilon:.6g} of epsilon that is left for b"
            )
        _check_classical(part.delta, left)
        length = self.problem.lipschitz()
        return enclose(lambda: 2 * ball(length) * _classical(part.delta, left))[1]

    def last_noise(self, dimension: int) -> LastNoise:
        """The normal noise on the approximate minimum; it also covers rounding b to its grid."""
        noise, part = self.noise, self._part(self.share)
        off = self.gradient_tolerance + noise.rounding(dimension)
        if self.rule is ObjectiveRule.PUBLISHED:
            _check_classical(part.delta, part.epsilon)
            ratio = enclose(lambda: _classical(part.delta, part.epsilon))[1]
        else:
            last = self._tie * self.setting.lipschitz / noise.scale
            ratio = enclose(lambda: 1 / ball(last))[1]
        return LastNoise(
            error=off / self.problem.ridge * (1.0 + 2.0**-40), ratio=ratio, gaussian=True
        )

    @property
    def claim(self) -> Claim:
        accurate = self.setting.grounds(gaussian=True)[1]
        assumes = (*self.noise.assumes, *accurate, EXPONENTIAL_ACCURACY)
        published = self.rule is ObjectiveRule.PUBLISHED
        theorem = APPROXIMATE_MINIMUM if published else APPROXIMATE_MINIMUM_GAUSSIAN
        return Claim(self.budget, self.relation, theorem, assumes)

    def solve(self, data: Data, linear: Floats) -> Solution:
        """The minima for given b, with gradients certified to be short enough."""
        allowed = self.gradient_tolerance / self.problem.ridge
        return self.problem.minimize(data, linear, within=allowed)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        check_draw(size, rng)
        prepared = self.problem.prepare(data)
        d = self.problem.size(prepared[0])
        points = self.solve(prepared, self.noise.draw(size, d, rng)).points
        return self.last_noise(d).release(points, rng)


def _check_classical(delta: float, epsilon: float) -> None:
    """Raise for an ε too large for the published ratio to give (ε, δ)-DP."""
    most = enclose(lambda: 2 * (1 + (-2 * ball(delta).log()).sqrt()))[0]
    if epsilon > most:
        raise InvalidParameter(
            f"epsilon={epsilon!r} must be at most {most:.6g} at delta={delta!r}: beyond it the "
            "published rule is false"
        )


def _classical(delta: float, epsilon: float) -> arb:
    """(1 + √(2·ln(1/δ)))/ε, the published ratio of σ to sensitivity; for ε up to 2(1 + √…)."""
    return (1 + (-2 * ball(delta).log()).sqrt()) / ball(epsilon)


@lru_cache(maxsize=256)
def _tight_sigma(setting: Setting, budget: ApproxDP, tie: float) -> float:
    """The least σ of b, with a last noise tied to it; found by search and cached."""
    return setting.gaussian_noise(budget, tie=tie)
