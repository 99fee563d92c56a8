"""Mechanisms and guarantees by the name under which the command line knows them."""

from collections.abc import Callable
from typing import Any

from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.mechanisms.amplification import (
    LastIterate,
    RandomAllocation,
    Shuffled,
    ShuffledReports,
    Subsampled,
    SubsampledWithoutReplacement,
    SubsampledWithReplacement,
)
from dpverify.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from dpverify.mechanisms.gaussian import Gaussian
from dpverify.mechanisms.laplace import Laplace
from dpverify.mechanisms.matrix import MatrixMechanism
from dpverify.mechanisms.mixture import GaussianMixture
from dpverify.mechanisms.norm import NormMechanism
from dpverify.mechanisms.randomized_response import LeakyRandomizedResponse, RandomizedResponse
from dpverify.mechanisms.selection import BestOf, ExponentialMechanism, PermuteAndFlip
from dpverify.registry import Registry

MECHANISMS: Registry[Callable[..., Any]] = Registry(
    "mechanism", needs=("pair|claim",), takes_instances=False
)
"""What `dpverify compose` composes: classes whose instances have a pair or a claim."""

for _name, _maker in {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "norm": NormMechanism,
    "randomized_response": RandomizedResponse,
    "leaky_response": LeakyRandomizedResponse,
    "exponential": ExponentialMechanism,
    "subsampled": Subsampled,
    "subsampled_without_replacement": SubsampledWithoutReplacement,
    "subsampled_with_replacement": SubsampledWithReplacement,
    "random_allocation": RandomAllocation,
    "shuffled": Shuffled,
    "discrete_gaussian": DiscreteGaussian,
    "discrete_laplace": DiscreteLaplace,
    "best_of": BestOf,
    "gaussian_mixture": GaussianMixture,
    "matrix": MatrixMechanism,
    "permute_and_flip": PermuteAndFlip,
    "shuffled_reports": ShuffledReports,
    "last_iterate": LastIterate,
}.items():
    MECHANISMS.add(_maker, name=_name)

GUARANTEES: dict[str, Callable[..., Any]] = {
    "pure": PureDP,
    "approx": ApproxDP,
    "zcdp": ZeroConcentratedDP,
    "gdp": GaussianDP,
    "rdp": RenyiDP,
}
"""Guarantees that stand for whatever keeps them."""
