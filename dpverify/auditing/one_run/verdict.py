"""The verdict after one run of a training procedure, and the guesses that were planned."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Mask
from dpverify.auditing.one_run.as_it_goes import AsItGoes
from dpverify.auditing.one_run.tiers import Tiers
from dpverify.claims import AuditClaim
from dpverify.errors import InvalidParameter, check_count
from dpverify.pairs import GaussianPair
from dpverify.plain import fields_of, tagged
from dpverify.theorems import ONE_RUN, ONE_RUN_TIERS, Theorem


@dataclass(frozen=True, slots=True)
class GuessPlan:
    """Guess that the `inside` highest scores were in, and the `outside` lowest ones out."""

    inside: int
    outside: int

    def __post_init__(self) -> None:
        for name, value in (("inside", self.inside), ("outside", self.outside)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
                raise InvalidParameter(f"{name}={value!r} must be a whole number, at least 0")
        check_count("inside + outside", self.inside + self.outside)

    @property
    def guesses(self) -> int:
        return self.inside + self.outside

    def right(self, order: NDArray[np.int64], included: Mask) -> int:
        """How many guesses are right; `order` lists the canaries from the lowest score up."""
        low, high = order[: self.outside], order[len(order) - self.inside :]
        return int(np.count_nonzero(~included[low]) + np.count_nonzero(included[high]))


Plan: TypeAlias = GuessPlan | Tiers | AsItGoes


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRunVerdict:
    """What one run showed. Not refuted does not mean private.

    An honest claim is refuted with probability at most `level`. `epsilon_lower` exceeds the truth
    at `delta` with probability at most `level`; `mu_lower`, for a claim of Gaussian DP, likewise
    the true μ. `best` is the plan with the smallest p-value, `p_value` that p-value times the
    number of plans.

    >>> import dpverify as dpv
    >>> def leaky(included, rng):
    ...     return included + rng.normal(size=len(included))
    >>> found = dpv.audit_one_run(leaky, canaries=2000, claim=dpv.PureDP(0.5), seed=1)
    >>> found.refuted, found.epsilon_lower > 0.5
    (True, True)
    """

    claim: AuditClaim
    level: float
    p_value: float
    epsilon_lower: float
    delta: float
    mu_lower: float | None
    best: Plan
    correct: int
    guesses: int
    canaries: int
    included: int
    plans: tuple[Plan, ...]
    seed: int
    seconds: float

    @property
    def refuted(self) -> bool:
        return self.p_value <= self.level

    @property
    def theorem(self) -> Theorem:
        return ONE_RUN if isinstance(self.best, GuessPlan) else ONE_RUN_TIERS

    @property
    def epsilon_if_gaussian(self) -> float | None:
        """For Gaussian noise, the ε at `delta` that `mu_lower` implies; None for other claims.

        A bound on the true ε if the training leaks as Gaussian noise does, at its own μ.
        """
        if self.mu_lower is None or self.delta == 0.0:
            return None
        if self.mu_lower == 0.0:
            return 0.0
        return GaussianPair(Fraction(self.mu_lower) ** 2).epsilon(self.delta)

    def __str__(self) -> str:
        verdict = "refuted" if self.refuted else "not refuted"
        mu = ""
        if self.mu_lower is not None:
            mu = f"; μ ≥ {self.mu_lower:.3f}"
        if self.epsilon_if_gaussian is not None:
            mu += f", which for Gaussian noise is ε ≥ {self.epsilon_if_gaussian:.3f}"
        return (
            f"{verdict}: {self.claim} (one run, level {self.level:g}, p = {self.p_value:.3g})\n"
            f"{self.correct:,} of {self.guesses:,} guesses right ({_how(self.best)}) "
            f"about {self.canaries:,} canaries\n"
            f"so ε ≥ {self.epsilon_lower:.3f} at δ = {self.delta:g}{mu}"
            + ("" if self.refuted else "; this is no proof of privacy")
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a dictionary for JSON."""
        told = {"version": 1, "refuted": self.refuted} | fields_of(self)
        return told | {
            "claim": tagged(self.claim),
            "best": _plain(self.best),
            "plans": [_plain(plan) for plan in self.plans],
            "epsilon_if_gaussian": self.epsilon_if_gaussian,
            "theorem": str(self.theorem),
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)


def _how(plan: Plan) -> str:
    match plan:
        case GuessPlan(inside, outside):
            return f"{inside:,} in, {outside:,} out"
        case Tiers(sizes=sizes):
            return f"in {len(sizes)} tiers"
        case AsItGoes():
            return "chosen as it went"


def _plain(plan: Plan) -> dict[str, Any]:
    match plan:
        case GuessPlan(inside, outside):
            return {"inside": inside, "outside": outside}
        case Tiers(sizes=sizes, weights=weights):
            return {"sizes": list(sizes), "weights": list(weights)}
        case AsItGoes(most=most):
            return {"most": most}
