"""Random pairs of every kind that the numerical accountant composes."""

import math

import numpy as np
from hypothesis import strategies as st

from dpverify.guarantees import ApproxDP
from dpverify.pairs import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Mixed,
    Pair,
    SubsampledPair,
    WithoutReplacementPair,
)


def gaussian(sigma: float) -> GaussianPair:
    return GaussianPair.of(sigma=sigma, sensitivity=1.0)


def laplace(scale: float) -> LaplacePair:
    return LaplacePair(scale=scale, sensitivity=1.0)


def response(epsilon: float, delta: float = 0.0) -> LeakyResponsePair:
    return LeakyResponsePair(ApproxDP(epsilon=epsilon, delta=delta))


def finite(left: list[int], right: list[int]) -> FinitePair:
    """Laws given by whole weights."""
    return FinitePair(left=np.array(left) / sum(left), right=np.array(right) / sum(right))


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers whose logarithm is uniform."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


rates = st.one_of(powers(1e-5, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 1 - 1e-6]))
gaussians = powers(0.25, 20.0).map(gaussian)
laplaces = powers(0.2, 20.0).map(laplace)
noises: st.SearchStrategy[GaussianPair | LaplacePair] = st.one_of(gaussians, laplaces)
subsampled = st.builds(SubsampledPair, noises, rates, st.sampled_from(Mixed))
batches = st.builds(WithoutReplacementPair, noises, rates)
responses = st.builds(response, powers(0.02, 5.0), st.sampled_from([0.0, 1e-3]))
weights = st.lists(st.integers(1, 40), min_size=3, max_size=3)
finites = st.builds(finite, weights, weights)
any_pairs: st.SearchStrategy[Pair] = st.one_of(
    gaussians, laplaces, subsampled, batches, responses, finites
)
