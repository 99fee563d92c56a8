"""What a fit promises about its quality, from public numbers alone."""

from dataclasses import dataclass

from scipy.stats import chi, gamma

from dpverify.mechanisms import Gaussian
from dpverify.theorems import EXPONENTIAL_MECHANISM, Theorem
from solvers.gradient_descent import GradientDescent
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.theorems import MINIMIZER_SENSITIVITY, PERTURBED_MINIMUM
from solvers.quality.excess_bounds import (
    descent_excess,
    output_excess,
    perturbed_excess,
    quantile_miss,
)
from solvers.sampling.quantiles import ExponentialQuantile

FAILURE = 0.05  # the probability with which a promise about one draw may fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """`statement`, in words, about the number `bound`; `theorem` is the heart of why.

    `failure` is the probability that it does not hold; None for a bound on an expectation.
    """

    bound: float
    statement: str
    failure: float | None
    theorem: Theorem | None = None


def noise_length(scale: float, dimension: int, *, gaussian: bool) -> float:
    """A length that noise exceeds with probability `FAILURE`.

    >>> round(noise_length(2.0, 1, gaussian=True), 3)  # 1.96 standard deviations
    3.92
    >>> round(noise_length(2.0, 1, gaussian=False), 3)  # 2·ln 20
    5.991
    """
    law = chi(dimension) if gaussian else gamma(dimension)
    return float(scale * law.isf(FAILURE))


def of_objective(mechanism: ObjectivePerturbation, dimension: int) -> Utility:
    """‖b‖²/(2λ), on the sum."""
    noise = mechanism.noise(dimension)
    length = noise_length(noise.scale, dimension, gaussian=noise.gaussian)
    bound = perturbed_excess(noise_norm=length, strength=mechanism.problem.ridge, records=1)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%}, before the last small noise, the "
        f"regularized sum of losses is within {bound:.6g} of its least value",
        failure=FAILURE,
        theorem=PERTURBED_MINIMUM,
    )


def of_output(mechanism: OutputPerturbation, dimension: int) -> Utility:
    """L·‖z‖, on the mean."""
    noise = mechanism.noise(dimension)
    scale = noise.sigma if isinstance(noise, Gaussian) else noise.scale
    scale *= noise.noise_inflation(dimension)
    length = noise_length(scale, dimension, gaussian=isinstance(noise, Gaussian))
    length += mechanism.tolerance(dimension)
    lipschitz = mechanism.problem.lipschitz(dimension)
    bound = output_excess(lipschitz=lipschitz, noise_norm=length, ridge=0.0, radius=0.0)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%} the mean loss is within {bound:.6g} of that "
        "at the exact regularized minimum",
        failure=FAILURE,
        theorem=MINIMIZER_SENSITIVITY,
    )


def of_descent(descent: GradientDescent, dimension: int) -> Utility:
    """R·B/√T, on the mean, in expectation."""
    bound = descent_excess(
        radius=descent.setting.radius(dimension),
        second_moment=descent.second_moment(dimension),
        iterates=int(descent.steps) + 1,
    )
    return Utility(
        bound=bound,
        statement=f"the mean loss is expected to be within {bound:.6g} of the least one for "
        f"‖θ‖ ≤ {descent.setting.radius(dimension):.6g}, if there are {descent.setting.records} "
        "records",
        failure=None,
    )


def of_quantile(mechanism: ExponentialQuantile) -> Utility:
    """(2Δ/ε)·ln(m/β) records."""
    bound = quantile_miss(mechanism, failure=FAILURE)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%} the quantile is missed by at most "
        f"{bound:.6g} records",
        failure=FAILURE,
        theorem=EXPONENTIAL_MECHANISM,
    )
