"""Honest mechanisms with tight claims are refuted no more often than the level allows.

And the lower bound on ε, the one shown on the way included, exceeds the truth no more often.

14 × 150 = 2,100 short audits, watched after every pair. If each refuted with probability `LEVEL`,
the most that is allowed, the total would exceed the tolerance, the upper 1e-9 quantile of
Bin(2100, LEVEL), with probability 1e-9; that is 8.1 % of the audits for a level of 5 %.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.accounting.conversion import to_approx
from dpverify.auditing import audit
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from dpverify.mechanisms import (
    Gaussian,
    Laplace,
    LeakyRandomizedResponse,
    NoisyMax,
    RandomizedResponse,
    SparseVector,
)

LEVEL = 0.05
AUDITS = 150
DRAWS = 400


@dataclass(frozen=True)
class Sampled:
    """The sampler alone: without its density the audit has to learn."""

    mechanism: Any

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return self.mechanism.sample(data, size, rng=rng)


ONE = PureDP(epsilon=1.0)
ANSWERS = np.array([0.0, 1.0, 0.0])
HONEST: dict[str, tuple[Any, Any, Any, Guarantee]] = {
    "Laplace": (Sampled(Laplace(scale=1.0, arithmetic="real")), 0.0, 1.0, ONE),
    "Gaussian": (
        Sampled(Gaussian(sigma=1.0, arithmetic="real")),
        0.0,
        1.0,
        to_approx(GaussianDP(mu=1.0), delta=0.1).guarantee,
    ),
    "randomized response": (Sampled(RandomizedResponse(epsilon=1.0)), 0, 1, ONE),
    "leaky response": (
        LeakyRandomizedResponse(epsilon=0.5, delta=0.1),
        0,
        1,
        ApproxDP(epsilon=0.5, delta=0.1),
    ),
    "noisy max": (
        NoisyMax(epsilon=1.0, score_sensitivity=1.0),
        np.array([1.0, 0.0]),
        np.array([0.0, 1.0]),
        ONE,
    ),
    "sparse vector": (SparseVector(epsilon=1.0, threshold=0.5), ANSWERS, 1.0 - ANSWERS, ONE),
    "histogram": (Laplace(scale=1.0), np.array([1.0, 2.0]), np.array([2.0, 2.0]), ONE),
}


def audited(
    name: str, method: Literal["anytime", "both"], *, claimed: float | None = None
) -> tuple[int, int]:
    """How many audits refuted, and in how many some lower bound shown exceeded the truth."""
    mechanism, left, right, claim = HONEST[name]
    truth = as_pair(claim)
    tested = claim if claimed is None else ApproxDP(epsilon=claimed, delta=truth.delta)
    refuted = exceeded = 0
    for seed in range(AUDITS):
        shown: list[float] = []
        verdict = audit(
            mechanism,
            left=left,
            right=right,
            claim=tested,
            level=LEVEL,
            seed=seed,
            samples=DRAWS,
            method=method,
            progress=lambda now, shown=shown: shown.append(now.epsilon_lower),  # type: ignore[misc]
        )
        refuted += verdict.refuted
        exceeded += max(*shown, verdict.epsilon_lower) > truth.epsilon
    return refuted, exceeded


def as_pair(claim: Guarantee) -> ApproxDP:
    if isinstance(claim, PureDP):
        return ApproxDP(epsilon=claim.epsilon, delta=0.0)
    assert isinstance(claim, ApproxDP)
    return claim


@pytest.mark.slow
@pytest.mark.false_alarm(3e-8)
def test_honest_mechanisms_are_rarely_refuted() -> None:
    methods: tuple[Literal["anytime", "both"], ...] = ("anytime", "both")
    found = {(name, method): audited(name, method) for name in HONEST for method in methods}
    print(found)  # noqa: T201  # shown with -s
    for column in (0, 1):
        errors = [counts[column] for counts in found.values()]
        assert sum(errors) <= binom.isf(1e-9, AUDITS * len(found), LEVEL), found
        assert max(errors) <= binom.isf(1e-9, AUDITS, LEVEL), found


@pytest.mark.slow
@pytest.mark.false_alarm(3e-9)
@pytest.mark.parametrize("name", ["Laplace", "randomized response", "leaky response"])
def test_bounds_below_a_loose_claim_are_valid(name: str) -> None:
    _, exceeded = audited(name, "both", claimed=1.6)
    assert exceeded <= binom.isf(1e-9, AUDITS, LEVEL)
