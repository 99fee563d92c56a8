"""Dominating pairs: a guarantee or a mechanism as two distributions, left (P) and right (Q).

P and Q are the outputs on two neighboring datasets in the worst case. All that privacy has to say
is read off such a pair:

- its *profile*, ε ↦ δ(ε) = sup over events E of P(E) − e^ε·Q(E), and the inverse δ ↦ ε(δ);
- its *trade-off* curve, the least miss rate of a test between Q and P at each false-alarm rate;
- its *Rényi divergences*, and the *privacy loss* ln(P/Q) as a random variable.

The *simulation lemma* says which pair stands behind an (ε, δ) guarantee: leaky randomized
response. *Composition* is the product of pairs. An *audit* is a test between the two sides.
"""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
    from dpverify.pairs.base import Pair
    from dpverify.pairs.bounded_range import BoundedRangePair
    from dpverify.pairs.discrete.gaussian import DiscreteGaussianPair
    from dpverify.pairs.discrete.laplace import DiscreteLaplacePair
    from dpverify.pairs.domination import Dominates, NotDominates, dominates
    from dpverify.pairs.finite import FinitePair
    from dpverify.pairs.gaussian import GaussianPair
    from dpverify.pairs.laplace import LaplacePair
    from dpverify.pairs.leaky_response import LeakyResponsePair
    from dpverify.pairs.loss import LeakyLoss, PrivacyLoss, leaky_loss
    from dpverify.pairs.rationals import simplest_exponential, simplest_rational
    from dpverify.pairs.simulation import Kernel, LeakyKernel, NotIndistinguishable, simulate
    from dpverify.pairs.subsampling.poisson import Mixed, SampledPair, SubsampledPair
    from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair

__all__ = [
    "BoundedRangePair",
    "DiscreteGaussianPair",
    "DiscreteLaplacePair",
    "Dominates",
    "FinitePair",
    "GaussianPair",
    "Kernel",
    "LaplacePair",
    "LeakyKernel",
    "LeakyLoss",
    "LeakyResponsePair",
    "Mixed",
    "NotDominates",
    "NotIndistinguishable",
    "Pair",
    "PrivacyLoss",
    "SampledPair",
    "SubsampledPair",
    "WithoutReplacementPair",
    "dominates",
    "leaky_loss",
    "simplest_exponential",
    "simplest_rational",
    "simulate",
]

_HOME = {
    "BoundedRangePair": "bounded_range",
    "DiscreteGaussianPair": "discrete.gaussian",
    "DiscreteLaplacePair": "discrete.laplace",
    "Dominates": "domination",
    "FinitePair": "finite",
    "GaussianPair": "gaussian",
    "Kernel": "simulation",
    "LaplacePair": "laplace",
    "LeakyKernel": "simulation",
    "LeakyLoss": "loss",
    "LeakyResponsePair": "leaky_response",
    "Mixed": "subsampling.poisson",
    "NotDominates": "domination",
    "NotIndistinguishable": "simulation",
    "Pair": "base",
    "PrivacyLoss": "loss",
    "SampledPair": "subsampling.poisson",
    "SubsampledPair": "subsampling.poisson",
    "WithoutReplacementPair": "subsampling.without_replacement",
    "dominates": "domination",
    "leaky_loss": "loss",
    "simplest_exponential": "rationals",
    "simplest_rational": "rationals",
    "simulate": "simulation",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
