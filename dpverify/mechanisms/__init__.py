"""Mechanisms with their claims, and exact samplers.

Each is a frozen value with

- `claim`: the guarantee, its theorem, and in words what it assumes beyond it;
- `pair(relation)`: a dominating pair, all that an accountant sees;
- `sample(data, size, *, rng)`: independent releases, vectorized;
- `log_density(outputs, data)`, where there is a formula.

`arithmetic="grid"`, the default, is float-safe: which outputs can occur does not depend on the
data, and each occurs with exactly the probability that the claim's proof is about. Additive noise
is moved to a grid (`grid`) and drawn there by inversion (`magnitudes`, `inversion`, `norm_noise`,
`euclidean_noise`);
finite choices are drawn in `choice`. How long a draw takes depends on its noise, so a release
should not be timed by an adversary. `arithmetic="real"` draws plain floats, for simulation, and
its claim says so.
"""

from typing import TYPE_CHECKING

from dpverify.on_demand import on_demand

if TYPE_CHECKING:
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
    from dpverify.mechanisms.selection import (
        BestOf,
        ExponentialMechanism,
        NoisyMax,
        PermuteAndFlip,
        SparseVector,
    )

__all__ = [
    "BestOf",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Gaussian",
    "GaussianMixture",
    "Laplace",
    "LastIterate",
    "LeakyRandomizedResponse",
    "MatrixMechanism",
    "NoisyMax",
    "NormMechanism",
    "PermuteAndFlip",
    "RandomAllocation",
    "RandomizedResponse",
    "Shuffled",
    "ShuffledReports",
    "SparseVector",
    "Subsampled",
    "SubsampledWithReplacement",
    "SubsampledWithoutReplacement",
]

_HOME = {
    "BestOf": "selection",
    "DiscreteGaussian": "discrete",
    "DiscreteLaplace": "discrete",
    "ExponentialMechanism": "selection",
    "Gaussian": "gaussian",
    "GaussianMixture": "mixture",
    "Laplace": "laplace",
    "LastIterate": "amplification",
    "LeakyRandomizedResponse": "randomized_response",
    "MatrixMechanism": "matrix",
    "NoisyMax": "selection",
    "NormMechanism": "norm",
    "PermuteAndFlip": "selection",
    "RandomAllocation": "amplification",
    "RandomizedResponse": "randomized_response",
    "Shuffled": "amplification",
    "ShuffledReports": "amplification",
    "SparseVector": "selection",
    "Subsampled": "amplification",
    "SubsampledWithReplacement": "amplification",
    "SubsampledWithoutReplacement": "amplification",
}

__getattr__, __dir__ = on_demand(__name__, _HOME)
