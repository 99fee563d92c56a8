"""Honest mechanisms with tight claims are refuted no more often than the level allows.

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


def refuted(name: str, method: Literal["anytime", "both"]) -> int:
    mechanism, left, right, claim = HONEST[name]
    verdicts = (
        audit(
            mechanism,
            left=left,
            right=right,
            claim=claim,
            level=LEVEL,
            seed=seed,
            samples=DRAWS,
            method=method,
        )
        for seed in range(AUDITS)
    )
    return sum(verdict.refuted for verdict in verdicts)


@pytest.mark.slow
@pytest.mark.false_alarm(1.5e-8)
def test_honest_mechanisms_are_rarely_refuted() -> None:
    methods: tuple[Literal["anytime", "both"], ...] = ("anytime", "both")
    found = {(name, method): refuted(name, method) for name in HONEST for method in methods}
    print(found)  # noqa: T201  # shown with -s
    assert sum(found.values()) <= binom.isf(1e-9, AUDITS * len(found), LEVEL), found
    assert max(found.values()) <= binom.isf(1e-9, AUDITS, LEVEL), found
