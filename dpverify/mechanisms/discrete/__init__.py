"""Integer noise on integer answers, by exact samplers."""

from dpverify.mechanisms.discrete.gaussian import DiscreteGaussian
from dpverify.mechanisms.discrete.laplace import DiscreteLaplace

__all__ = ["DiscreteGaussian", "DiscreteLaplace"]
