"""Bounds on the excess risk of private fits, from public numbers alone.

Bounds on the excess risk, a mean over records: in expectation, or with probability at least
1 − `failure` where they take one. They are the lecture notes' utility theorems, corrected. A
`Utility` is such a bound in words, as models show it.
"""

import math
from dataclasses import dataclass

from scipy.special import gammainccinv

from dpverify.balls import as_given, rounded_up
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_between,
    check_count,
    check_positive,
    check_real,
    plain_arguments,
)
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation
from dpverify.theorems import EXPONENTIAL_MECHANISM, Theorem
from solvers.bounds import Bounds
from solvers.exponential.quantiles import ExponentialQuantile
from solvers.gradient_descent import GradientDescent
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.theorems import MINIMIZER_SENSITIVITY, PERTURBED_MINIMUM


@plain_arguments
def records_for_uniform_convergence(candidates: int, *, accuracy: float, failure: float) -> int:
    """How many records make all candidates' risks close to their expectations.

    n ≥ ln(|C|/β)/(2α²): so many records bring no candidate's risk, in [0, 1], above by α.

    [proofs/uniform_convergence.py]

    >>> records_for_uniform_convergence(100, accuracy=0.1, failure=0.05)
    381
    """
    check_count("candidates", candidates)
    check_positive("accuracy", accuracy)
    check_failure(failure)
    return max(1, math.ceil(math.log(candidates / failure) / (2.0 * accuracy**2)))


@plain_arguments
def descent_excess(*, radius: float, second_moment: float, iterates: int) -> float:
    """Expected excess risk of averaged noisy gradient descent.

    R·B/√T: expected excess risk of the average of T noisy projected gradient iterates.

    `second_moment` is B², a bound on E‖noisy gradient‖²; the learning rate is R/(B·√T).
    [proofs/gradient_descent.py]

    >>> descent_excess(radius=2.0, second_moment=4.0, iterates=16)
    1.0
    """
    check_positive("radius", radius)
    check_positive("second_moment", second_moment)
    check_count("iterates", iterates)
    return float(radius) * math.sqrt(second_moment / iterates)


@plain_arguments
def finite_excess(  # noqa: PLR0913  # what the theorem is about
    *,
    largest_loss: float,
    candidates: int,
    epsilon: float,
    records: int,
    failure: float,
    relation: Relation,
) -> float:
    """Excess risk of the exponential mechanism over |C| candidates.

    At most (2Δ/(εn))·(ln|C| + ln(1/β)); half of it where a record is added or removed, as the
    weights' exponent is then twice as large. The candidates worse than the best by t have
    together at most |C|·e^(−k·n·t) times its weight.

    >>> excess = finite_excess(largest_loss=1.0, candidates=100, epsilon=1.0, records=1000,
    ...                        failure=0.01, relation=Relation.REPLACE_ONE)
    >>> round(excess, 6)
    0.018421
    """
    check_positive("largest_loss", largest_loss)
    check_count("candidates", candidates)
    check_count("records", records)
    check_failure(failure)
    rate = _exponent(epsilon, relation) / float(largest_loss)
    return (math.log(candidates) - math.log(failure)) / (rate * records)


@plain_arguments
def ball_excess(  # noqa: PLR0913  # what the theorem is about
    *,
    radius: float,
    lipschitz: float,
    dimension: int,
    epsilon: float,
    records: int,
    failure: float,
    relation: Relation,
) -> float:
    """Excess risk of the exponential mechanism on the ball of radius R, with Δ = 2GR.

    At most 2RG·d/(εn) + (4RG/(εn))·(d·ln(εn/d) + ln(1/β)) for d ≤ εn; where a record is added or
    removed the weights are those of twice the ε, and so is the bound. [proofs/erm_utility.py]
    """
    check_positive("radius", radius)
    check_positive("lipschitz", lipschitz)
    check_count("dimension", dimension)
    check_count("records", records)
    check_failure(failure)
    total = 2.0 * _exponent(epsilon, relation) * records  # εn
    if dimension > total:
        raise NotSupported(
            f"dimension={dimension!r} must be at most epsilon·records={total:g} for this bound"
        )
    spread = dimension * math.log(total / dimension) - math.log(failure)
    return 2.0 * float(radius) * float(lipschitz) / total * (dimension + 2.0 * spread)


@plain_arguments
def quantile_miss(mechanism: ExponentialQuantile, *, failure: float) -> float:
    """A bound on the rank error of a private quantile: (2Δ/ε)·(ln m + ln(1/β)).

    m is the number of points that can be released; one of them misses by nothing, and those that
    miss by t have together at most m·e^(−εt/(2Δ)) times its weight.
    """
    check_failure(failure)
    if mechanism.arithmetic != "grid":
        raise NotSupported("arithmetic='real' must be 'grid': the bound counts points")
    first, last = mechanism._ends()  # noqa: SLF001  # the points that its law is over
    points = math.log(last - first + 1)
    scale = 2.0 * float(mechanism.score_sensitivity) / float(mechanism.epsilon)
    return scale * (points - math.log(failure))


@plain_arguments
def perturbed_distance(*, noise_norm: float, strength: float) -> float:
    """How far a random linear term moves a regularized minimum.

    ‖b‖/λ: how far the minimum of Σℓ + (λ/2)‖θ‖² moves if bᵀθ is added. (14.7 has 2‖b‖/λ.)

    [proofs/perturbed_minimum.py]
    """
    check_between("noise_norm", noise_norm, 0.0, math.inf)
    check_positive("strength", strength)
    return float(noise_norm) / float(strength)


@plain_arguments
def perturbed_excess(*, noise_norm: float, strength: float, records: int) -> float:
    """By how much a random linear term raises the mean objective at the minimum.

    ‖b‖²/(2nλ): how much the mean objective gains at that minimum. (14.7 has ‖b‖²/(nλ).)

    [proofs/perturbed_minimum.py]

    >>> perturbed_excess(noise_norm=2.0, strength=4.0, records=10)
    0.05
    """
    check_count("records", records)
    return perturbed_distance(noise_norm=noise_norm, strength=strength) * noise_norm / 2 / records


@plain_arguments
def output_excess(*, lipschitz: float, noise_norm: float, ridge: float, radius: float) -> float:
    """Excess risk of a regularized minimum with added noise.

    Excess risk of θ̂ + z over ‖θ‖ ≤ R, θ̂ the minimum with ridge λ: at most G·‖z‖ + λR²/2.

    The risk is G-Lipschitz, and θ̂ has risk at most that of any θ plus (λ/2)·‖θ‖². In expectation
    ‖z‖ is d·b for density ∝ exp(−‖z‖/b), and at most √d·σ for Gaussian noise.

    >>> output_excess(lipschitz=1.0, noise_norm=0.5, ridge=0.1, radius=2.0)
    0.7
    """
    check_positive("lipschitz", lipschitz)
    check_between("noise_norm", noise_norm, 0.0, math.inf)
    check_between("ridge", ridge, 0.0, math.inf)
    check_between("radius", radius, 0.0, math.inf)
    return float(lipschitz) * float(noise_norm) + 0.5 * float(ridge) * float(radius) ** 2


def _exponent(epsilon: float, relation: Relation) -> float:
    """The factor of Σℓ/Δ in the weights: ε, or ε/2 under REPLACE_ONE."""
    check_positive("epsilon", epsilon)
    return float(epsilon) * (0.5 if Relation.parse(relation) is Relation.REPLACE_ONE else 1.0)


@plain_arguments
def check_failure(failure: object) -> None:
    check_real("failure", failure)
    if not 0 < failure < 1:  # type: ignore[operator]  # check_real narrowed it to a Real
        raise InvalidParameter(f"failure={failure!r} must lie strictly between 0 and 1")


FAILURE = 0.05  # the probability with which a promise about one draw may fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """What a fit guarantees about its quality, in words and as a number.

    `statement`, in words, about the number `bound`; `theorem` is the heart of why.

    `failure` is the probability that it does not hold; None for a bound on an expectation.
    """

    bound: float
    statement: str
    failure: float | None
    theorem: Theorem | None = None


def noise_length(scale: float, dimension: int, *, gaussian: bool) -> float:
    """A length that the noise exceeds with probability `FAILURE`.

    >>> round(noise_length(2.0, 1, gaussian=True), 3)  # 1.96 standard deviations
    3.92
    >>> round(noise_length(2.0, 1, gaussian=False), 3)  # 2·ln 20
    5.991
    """
    if gaussian:  # half of the squared length of standard normal noise is Gamma(d/2)
        return float(scale * math.sqrt(2.0 * gammainccinv(dimension / 2, FAILURE)))
    return float(scale * gammainccinv(dimension, FAILURE))


def _losses(bounds: Bounds) -> str:
    """Which losses are summed or averaged, in words."""
    return "weighted losses" if bounds.weighted else "losses"


def of_objective(mechanism: ObjectivePerturbation, dimension: int) -> Utility:
    """The quality guarantee of objective perturbation.

    ‖b‖²/(2λ), on the sum.
    """
    noise = mechanism.noise(dimension)
    length = noise_length(noise.scale, dimension, gaussian=noise.gaussian)
    bound = perturbed_excess(noise_norm=length, strength=mechanism.problem.ridge, records=1)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%}, before the last small noise, the "
        f"regularized sum of {_losses(mechanism.problem.bounds)} is within "
        f"{rounded_up(bound, digits=6)} of its least value",
        failure=FAILURE,
        theorem=PERTURBED_MINIMUM,
    )


def of_output(mechanism: OutputPerturbation, dimension: int) -> Utility:
    """The quality guarantee of output perturbation.

    L·‖z‖, on the mean.
    """
    noise = mechanism.noise(dimension)
    scale = noise.sigma if isinstance(noise, Gaussian) else noise.scale
    scale *= noise.noise_inflation(dimension)
    length = noise_length(scale, dimension, gaussian=isinstance(noise, Gaussian))
    length += mechanism.tolerance(dimension)
    lipschitz = mechanism.problem.lipschitz(dimension)
    bound = output_excess(lipschitz=lipschitz, noise_norm=length, ridge=0.0, radius=0.0)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%} the mean of "
        f"{_losses(mechanism.problem.bounds)} is within "
        f"{rounded_up(bound, digits=6)} of that at the exact regularized minimum",
        failure=FAILURE,
        theorem=MINIMIZER_SENSITIVITY,
    )


def of_descent(descent: GradientDescent, dimension: int) -> Utility:
    """The quality guarantee of gradient descent.

    R·B/√T, on the mean, in expectation.
    """
    bound = descent_excess(
        radius=descent.setting.radius(dimension),
        second_moment=descent.second_moment(dimension),
        iterates=int(descent.steps) + 1,
    )
    return Utility(
        bound=bound,
        statement=f"the mean of {_losses(descent.setting.bounds)} is expected to be within "
        f"{rounded_up(bound, digits=6)} of the least one for ‖θ‖ ≤ "
        f"{as_given(descent.setting.radius(dimension))}, if there are {descent.setting.records} "
        "records",
        failure=None,
    )


def of_quantile(mechanism: ExponentialQuantile) -> Utility:
    """The quality guarantee of a private quantile.

    (2Δ/ε)·ln(m/β) records.
    """
    bound = quantile_miss(mechanism, failure=FAILURE)
    return Utility(
        bound=bound,
        statement=f"with probability {1 - FAILURE:.0%} the quantile is missed by at most "
        f"{rounded_up(bound, digits=6)} records",
        failure=FAILURE,
        theorem=EXPONENTIAL_MECHANISM,
    )
