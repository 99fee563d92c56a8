"""The cost of objective perturbation: published and tight privacy rules, and their inverses.

J(θ) = Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩ for generalized linear losses, L and β their Lipschitz and smoothness
constants, λ the ridge. The tight rules are the default; each names the theorem that proves it. The
least noise that meets a budget is searched in floats, then certified.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from scipy.optimize import brentq

from dpverify.balls import ball, enclose
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_between,
    check_positive,
    plain_arguments,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import Theorem
from solvers.bounds import Bounds
from solvers.domains import Domain, WholeSpace
from solvers.losses.base import Loss
from solvers.losses.logistic import Logistic
from solvers.losses.softmax import classes_of
from solvers.privacy import theorems
from solvers.privacy.objective_deltas import (
    LOGARITHM_ACCURACY,
    Constants,
    LogisticProfile,
    kifer_delta,
    logistic_epsilon,
    one_sided_delta,
    rayleigh_delta,
    two_sided_delta,
    united_delta,
)


class ObjectiveRule(Enum):
    """Which theorem gives the cost of the noise."""

    TIGHT = "tight"
    PUBLISHED = "published"  # Chaudhuri et al. (pure), Redberg et al. (Gaussian)
    KIFER = "kifer-smith-thakurta"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The guarantee that a rule gives, its theorem, and its assumptions."""

    guarantee: PureDP | ApproxDP
    theorem: Theorem
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the privacy of objective perturbation depends on besides the noise.

    All that privacy depends on beside the noise.

    >>> bounds = Bounds(norm=1.0, labels=(-1, 1))
    >>> setting = Setting(
    ...     loss=Logistic(), bounds=bounds, ridge=0.5, relation=Relation.ADD_REMOVE
    ... )
    >>> setting.pure(scale=2.0).guarantee  # max of p/2 + ln(1 + 2p(1−p))
    PureDP(epsilon=0.7013046725685668)
    >>> round(setting.gaussian_noise(ApproxDP(epsilon=1.0, delta=1e-5)), 2)
    4.02
    """

    loss: Loss
    bounds: Bounds
    ridge: float
    relation: Relation
    rule: ObjectiveRule = ObjectiveRule.TIGHT
    domain: Domain = field(default_factory=WholeSpace)
    dimension: int | None = None  # boxes need it, to bound the slopes of the squared loss

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("ridge", self.ridge)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        self.loss.check_bounds(self.bounds)
        if not self.loss.smooth:
            raise NotSupported(
                f"loss={self.loss.name!r} has no theorem for objective perturbation, which needs a "
                "smooth loss; use output perturbation"
            )
        if not math.isfinite(self.lipschitz):
            raise InvalidParameter(
                f"loss={self.loss.name!r} must have bounded slopes for objective perturbation: "
                "declare a bounded domain"
            )

    @property
    def lipschitz(self) -> float:
        return self.loss.lipschitz(self.bounds, self.domain, self.dimension)

    @property
    def smoothness(self) -> float:
        return self.loss.smoothness(self.bounds)

    @property
    def constants(self) -> Constants:
        classes = classes_of(self.loss)
        return Constants(
            lipschitz=self.lipschitz,
            smoothness=self.smoothness,
            ridge=float(self.ridge),
            classes=max(classes, 2),
            softmax=classes > 1,
        )

    @property
    def _replaced(self) -> bool:
        return self.relation is Relation.REPLACE_ONE

    @property
    def _bend(self) -> float:
        """κ = R²/λ, rounded up."""
        return enclose(lambda: ball(self.bounds.norm) ** 2 / ball(self.ridge))[1]

    @property
    def unavoidable(self) -> float:
        """The log determinant ratio: the limit of ε for large noise, under the tight rules."""
        return enclose(self.constants.determinant)[1]

    def grounds(self, *, gaussian: bool) -> tuple[Theorem, tuple[str, ...]]:
        """The theorem behind the cost of the noise, and what evaluating it assumes."""
        logistic = isinstance(self.loss.core, Logistic)
        if classes_of(self.loss) > 1:
            if self.rule is not ObjectiveRule.TIGHT:
                raise NotSupported(f"rule={self.rule.value!r} is for losses of one score a record")
            return theorems.OBJECTIVE_PERTURBATION_SOFTMAX, ()
        if self.rule is not ObjectiveRule.TIGHT:
            self._only(Relation.ADD_REMOVE if gaussian else Relation.REPLACE_ONE)
            if not gaussian:
                return theorems.PUBLISHED_PURE, ()
            kifer = self.rule is ObjectiveRule.KIFER
            return (theorems.PUBLISHED_GAUSSIAN if kifer else theorems.REDBERG), ()
        if not gaussian:
            tight = theorems.OBJECTIVE_PERTURBATION_LOGISTIC
            return (tight if logistic else theorems.OBJECTIVE_PERTURBATION), ()
        if self._replaced:
            return theorems.OBJECTIVE_PERTURBATION_REPLACED, ()
        if logistic:
            return theorems.OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN, (LOGARITHM_ACCURACY,)
        return theorems.OBJECTIVE_PERTURBATION_GAUSSIAN, ()

    @plain_arguments
    def pure(self, scale: float) -> Charge:
        """The guarantee of noise with density ∝ e^(−‖b‖/scale)."""
        check_positive("scale", scale)
        theorem, assumes = self.grounds(gaussian=False)
        if theorem is theorems.OBJECTIVE_PERTURBATION_LOGISTIC:
            epsilon = logistic_epsilon(
                norm=self.bounds.norm, ridge=self.ridge, scale=scale, replaced=self._replaced
            )
        else:
            times = 2 if self._replaced else 1
            power = 2 if theorem is theorems.PUBLISHED_PURE else 1
            epsilon = enclose(
                lambda: (
                    times * ball(self.lipschitz) / ball(scale)
                    + power * self.constants.determinant()
                )
            )[1]
        return Charge(guarantee=PureDP(epsilon=epsilon), theorem=theorem, assumes=assumes)

    @plain_arguments
    def gaussian(self, sigma: float, epsilon: float, *, last: float = 0.0) -> Charge:
        """An upper bound on the δ of noise N(0, σ²I) at ε.

        `last` is the μ of a Gaussian noise on the minimum, which hides a solver's error; tight
        rules for losses of one side charge both at once. [Theorem approximate-minimum-gaussian]
        """
        check_positive("sigma", sigma)
        check_between("epsilon", epsilon, 0.0, math.inf)
        check_between("last", last, 0.0, math.inf)
        theorem, assumes = self.grounds(gaussian=True)
        delta = self._delta(theorem, sigma, epsilon, last)
        guarantee = ApproxDP(epsilon=epsilon, delta=delta)
        return Charge(guarantee=guarantee, theorem=theorem, assumes=assumes)

    def _delta(self, theorem: Theorem, sigma: float, epsilon: float, last: float = 0.0) -> float:
        if last > 0.0 and not (self._one_sided and self.rule is ObjectiveRule.TIGHT):
            raise NotSupported(f"last={last!r} must be 0: no rule charges both noises at once")
        if theorem is theorems.PUBLISHED_GAUSSIAN:
            return kifer_delta(self.constants, sigma, epsilon)
        if theorem is theorems.REDBERG:
            if not self.ridge > self.smoothness:
                raise InvalidParameter(
                    f"ridge={self.ridge!r} must be more than {self.smoothness!r} under the rule "
                    "of Redberg, Koskela and Wang"
                )
            return two_sided_delta(self.constants, sigma, epsilon, published=True)
        if self._replaced:
            return self._replaced_delta(sigma, epsilon, last)
        if theorem is theorems.OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN:
            return self._profile(sigma).delta(epsilon, last=last)
        if self._one_sided:
            return one_sided_delta(self.constants, sigma, epsilon, last=last)
        return two_sided_delta(self.constants, sigma, epsilon, published=False)

    @property
    def _one_sided(self) -> bool:
        """Whether a record's slope is a mixture of 0 and vectors independent of θ."""
        return self.loss.monotone or classes_of(self.loss) > 1

    def _replaced_delta(self, sigma: float, epsilon: float, last: float) -> float:
        if not self._one_sided:
            return rayleigh_delta(self.constants, sigma, epsilon)
        norm = self.bounds.norm if isinstance(self.loss.core, Logistic) else None
        return united_delta(self.constants, sigma, epsilon, norm=norm, last=last)

    def _profile(self, sigma: float) -> LogisticProfile:
        shift = enclose(lambda: ball(self.bounds.norm) / ball(sigma))[1]
        return LogisticProfile(shift=shift, bend=self._bend)

    def _only(self, relation: Relation) -> None:
        if self.relation is not relation:
            raise NotSupported(
                f"rule={self.rule.value!r} was published for {relation.value} only, "
                f"not for relation={self.relation.value!r}"
            )

    def pure_noise(self, budget: PureDP) -> float:
        """The smallest scale, to within 1e-9, for which `pure` stays within the budget."""
        self._feasible(budget.epsilon, 0.0)
        return least_noise(
            estimate=lambda scale: self.pure(scale).guarantee.epsilon - budget.epsilon,
            meets=lambda scale: self.pure(scale).guarantee.epsilon <= budget.epsilon,
            first=self.lipschitz / budget.epsilon,
            what=f"budget={budget!r}",
        )

    def gaussian_noise(self, budget: ApproxDP, *, tie: float = 0.0) -> float:
        """The smallest σ, as far as the rule can tell, with which `gaussian` keeps the budget.

        With `tie` there is a last noise of μ = tie·L/σ.
        """
        check_positive("delta", budget.delta)
        self._feasible(budget.epsilon, budget.delta)
        theorem, target = self.grounds(gaussian=True)[0], math.log(budget.delta)

        def estimate(sigma: float) -> float:
            last = tie * self.lipschitz / sigma
            if theorem is theorems.OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN:
                delta = self._profile(sigma).estimate(budget.epsilon, last=last)
            else:
                delta = self._delta(theorem, sigma, budget.epsilon, last)
            return math.log(max(delta, 1e-300)) - target

        def meets(sigma: float) -> bool:
            last = tie * self.lipschitz / sigma
            return self._delta(theorem, sigma, budget.epsilon, last) <= budget.delta

        return least_noise(
            estimate=estimate,
            meets=meets,
            first=self.lipschitz / budget.epsilon,
            what=f"budget={budget!r}",
        )

    def _feasible(self, epsilon: float, delta: float) -> None:
        """Raise for a budget that no noise meets with this ridge, and name one that would do."""
        if not 0.0 < epsilon < math.inf:
            raise InvalidParameter(
                f"epsilon={epsilon!r} must be positive and finite for objective perturbation"
            )
        paid = 2.0 if self.rule is ObjectiveRule.PUBLISHED and delta == 0.0 else 1.0
        if paid * self.unavoidable >= epsilon + math.log1p(delta):
            least = self.constants.least_ridge(epsilon / paid)
            raise InvalidParameter(
                f"ridge={self.ridge!r} must be more than {least:.6g} for epsilon={epsilon!r}: the "
                f"determinant alone costs {paid * self.unavoidable:.6g}"
            )


_WIDEST = 2.0**60  # noise is searched within this factor of the first guess
_GROWTHS = 60


def least_noise(
    *,
    estimate: Callable[[float], float],
    meets: Callable[[float], bool],
    first: float,
    what: str,
) -> float:
    """A noise scale for which `meets(scale)` holds, nearly the smallest by `estimate`.

    `estimate` is positive below the scale that is wanted and at most 0 above; it may be off a
    little. `meets` decides: from the estimate's root the scale grows until it says so.

    >>> def excess(s):
    ...     return 1 / s - 3
    >>> s = least_noise(estimate=excess, meets=lambda s: excess(s) <= 0, first=1.0, what="")
    >>> round(s, 9)
    0.333333333
    """
    low = high = first
    while estimate(high) > 0.0:
        low, high = high, 2.0 * high
        if high > _WIDEST * first:
            raise InvalidParameter(f"{what} must be larger: no noise is enough")
    while estimate(low) <= 0.0:
        low, high = low / 2.0, low
        if low * _WIDEST < first:
            raise InvalidParameter(f"{what} must be smaller: even the least noise meets it")
    # Not in logarithms: the exponential of a logarithm may lie on the other side of the root.
    scale, step = float(brentq(estimate, low, high, xtol=1e-10 * low)), 1e-12
    for _ in range(_GROWTHS):
        if meets(scale):
            return scale
        scale, step = scale * (1.0 + step), 2.0 * step
    raise InvalidParameter(
        f"{what} must be larger: noise of about {scale:g} seems enough, but that is not certain"
    )
