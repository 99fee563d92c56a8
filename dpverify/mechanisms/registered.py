"""Mechanisms and guarantees by the name under which the command line knows them."""

from collections.abc import Callable
from typing import Any

from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.registry import Registry

MECHANISMS: Registry[Callable[..., Any]] = Registry(
    "mechanism", needs=("pair|claim",), takes_instances=False
)
"""What `dpverify compose` composes: classes whose instances have a pair or a claim."""

for _name, _place in {
    "gaussian": "gaussian.Gaussian",
    "laplace": "laplace.Laplace",
    "norm": "norm.NormMechanism",
    "randomized_response": "randomized_response.RandomizedResponse",
    "leaky_response": "randomized_response.LeakyRandomizedResponse",
    "exponential": "selection.exponential.ExponentialMechanism",
    "subsampled": "amplification.subsampled.Subsampled",
    "subsampled_without_replacement": "amplification.subsampled.SubsampledWithoutReplacement",
    "subsampled_with_replacement": "amplification.subsampled.SubsampledWithReplacement",
    "random_allocation": "amplification.allocation.RandomAllocation",
    "shuffled": "amplification.allocation.Shuffled",
    "discrete_gaussian": "discrete.gaussian.DiscreteGaussian",
    "discrete_laplace": "discrete.laplace.DiscreteLaplace",
    "best_of": "selection.best_of.BestOf",
    "gaussian_mixture": "mixture.GaussianMixture",
    "matrix": "matrix.mechanism.MatrixMechanism",
    "permute_and_flip": "selection.permute_and_flip.PermuteAndFlip",
    "shuffled_reports": "amplification.shuffled_reports.ShuffledReports",
    "last_iterate": "amplification.last_iterate.LastIterate",
}.items():
    MECHANISMS.add_later(_name, f"dpverify.mechanisms.{_place}")

GUARANTEES: dict[str, Callable[..., Any]] = {
    "pure": PureDP,
    "approx": ApproxDP,
    "zcdp": ZeroConcentratedDP,
    "gdp": GaussianDP,
    "rdp": RenyiDP,
}
"""Guarantees that stand for whatever keeps them."""
