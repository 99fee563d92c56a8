"""Default hyper-parameters from declared numbers (dimension, bounds, budget), never the data.

A prior says what a good linear model looks like: coefficients of about 1/R each, so that a record
of norm R, spread over its features, can move a score by about one; ‖θ‖² = d/R². All else is what
minimizes a bound on the excess risk under it.

- Ridge. The sum of losses at the private minimum exceeds its least value by at most
  d·s²/(8λ) + (λ/2)·‖θ‖² to second order: noise of standard deviation s a coordinate moves a
  direction of curvature h by s/(h + λ), which costs h·s²/(2(h + λ)²) ≤ s²/(8λ). The minimum is at
  λ = R·s/2. It does not depend on how many records there are, which is private where records are
  added or removed.
- Ridge of a public number of records n, for logistic losses of two classes. √(8·d·s/n) times that,
  from ¼ to 4: with few records for the noise and the weights a larger ridge keeps noise out, with
  many a smaller one lets the data speak. Chosen on drawn problems alone. [benchmarks/ridges.py]
- Ridge of softmax losses. Twice that, λ = R·s, and at least what leaves three quarters of ε to the
  noise. On 179 drawn problems of three to ten classes (mixtures, positive features, uneven classes,
  linear models; 200 to 20,000 records, 4 to 64 features, ε from 0.25 to 4, both kinds of noise, two
  fits each) factors of 1/8 to 2 and shares of 1/8 to 3/4 were compared: the mean accuracy was 0.76
  for factors 1 and 2 whatever the share was, and 0.74 for 1/2. One class against the others on
  shares of the budget had 0.68, and was better by more than two percent on two problems.
- Intercept. A constant feature c·R lengthens every record to R·√(1 + c²), and c = 1/4 costs 3%.
- Least squares from statistics. Targets need not be centered, so the constant feature is longer,
  c = 3/4, and its weight has an eighth of the ridge, which is twice the noise's size. On 300 drawn
  regressions (Gaussian, heavy-tailed and categorical features, 3 to 20 of them; 300 to 16,000
  records; targets up to 0.7 off center; ε from 0.1 to 4, both kinds of noise), twice, constants of
  0.25 to 1.5, ridges of 0.25 to 4 and shares of 0.03 to 1 were compared; these were among the best,
  with a mean R² (cut at −3) of 0.12, while c = 1/4 with the noise's size for all weights had −0.28.
- Gradients of classifiers. Clipped to a quarter of the longest one, C, each step moves the score of
  a record by at most a pace p = η·C·R. Noise adds up to a standard deviation of p·k·s/n in a score
  after k steps (p·k^(3/2)·s/n for pure budgets, which are shared out evenly), and k makes that 3/2:
  fewer leave signal behind, more add noise only. Where that is less than eight steps of Gaussian
  noise, eight are taken at a smaller pace. The last iterate is kept, since such short paths end
  before they settle.

- Methods of classifiers. Where the number of records is public, gradients or noise in the objective
  (`follows_gradients`). On drawn problems of two classes output perturbation and the last iterate
  alone were never ahead for logistic losses, at any of several ridges and numbers of steps, and for
  the rounded hinge no setting of theirs was ahead on average by more than its error: so neither is
  chosen but for losses with corners, which have no other. [benchmarks/methods.py]

The factor 1/2 and c = 1/4 were compared with 1/4, 1 and with 1/2, 1 on drawn categorical and
Gaussian data and on the data sets of scikit-learn; the differences are below one percent. Paces 2
to 16, clips from a tenth to the whole, 1 to 12 steps at least and noise of 1 to 3 were compared on
84 drawn problems (mixtures, categories, positive features; 120 to 30,000 records, 4 to 100
features, 2 to 10 classes, ε from 0.1 to 4, Gaussian noise), not all at once; the last round,
of 74, chose noise and least steps, and nothing else in it was better on average. That pure budgets
take fewer than eight steps was seen on the wine and breast cancer data of scikit-learn.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.errors import InvalidParameter, check_count, check_positive, plain_arguments
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.privacy.noise import noise_ratio

INTERCEPT = 0.25  # the constant feature, in norm bounds
STATISTICS_INTERCEPT = 0.75  # the same for statistics of least squares

_MOST_STEPS = 200
_LEAST_STEPS = 8  # of Gaussian noise
_PACE = 8.0  # how far a step may move a score
_SCORE_NOISE = 1.5  # standard deviation of the noise that a path of gradients leaves in a score
_CLIP = 0.25  # of the longest gradient
_FEW = {  # records by noise a coordinate, up to which gradients do better: two classes, and more
    PureDP: (64.0, 32.0),
    ApproxDP: (1000.0, math.inf),
}
NOT_AHEAD = (
    "on drawn data of two classes neither output perturbation nor the last iterate alone did better"
)
_DETERMINANT = 0.25  # the share of ε that the determinant of a loss other than logistic may cost
_LEVEL = 8.0  # records by noise and weights at which their number leaves the ridge as it is
_LEAST_PULL, _MOST_PULL = 0.25, 4.0  # what a number of records may make of the ridge
_BEND = 0.5  # the share of ε that the logistic determinant may cost for it


@plain_arguments
def coordinate_noise(budget: PureDP | ApproxDP, relation: Relation, dimension: int) -> float:
    """The standard deviation per coordinate that the noise on a sum of unit vectors needs.

    Density ∝ exp(−‖z‖·ε) has √(d + 1)/ε; Gaussian noise has the analytic σ. Replacing a record
    moves the sum twice as far as adding one.

    >>> coordinate_noise(PureDP(epsilon=0.5), Relation.ADD_REMOVE, 8)
    6.0
    """
    check_count("dimension", dimension)
    reach = 2.0 if relation is Relation.REPLACE_ONE else 1.0
    spread = math.sqrt(dimension + 1.0) if isinstance(budget, PureDP) else 1.0
    return reach * spread * noise_ratio(budget, 1)


@plain_arguments
def ridge(  # noqa: PLR0913  # what the formula is about
    budget: PureDP | ApproxDP,
    relation: Relation,
    *,
    dimension: int,
    norm: float,
    smoothness: float = 0.0,
    steepness: float = 1.0,
    classes: int = 2,
    records: int | None = None,
) -> float:
    """The default ridge for objective perturbation.

    λ of the sum Σℓ + (λ/2)‖θ‖²: R·s/2, s the noise that gradients of length R·steepness need; R·s
    for softmax losses of more than two `classes`.

    Losses whose theorem charges ln(1 + β/λ) in full give their β as `smoothness`, and softmax
    losses, which cost (K−1)·ln(1 + 2β/(Kλ)), their K as well; λ is then large enough for that to
    be no more than a quarter of ε.

    Logistic losses of two classes give how many `records` there are, n, where that is public: λ is
    then √(8·d·s/n) times as large, but between ¼ and 4 times, and no less than what keeps the
    bound ln(1 + R²/(4λ)) on their determinant's cost to half of ε.

    >>> ridge(PureDP(epsilon=0.5), Relation.ADD_REMOVE, dimension=8, norm=1.0)
    3.0
    >>> ridge(PureDP(epsilon=0.5), Relation.ADD_REMOVE, dimension=8, norm=1.0, records=96)
    6.0
    >>> quarter = PureDP(epsilon=4 * math.log(2.0))
    >>> round(ridge(quarter, Relation.ADD_REMOVE, dimension=1, norm=1.0, smoothness=5.0), 9)
    5.0
    """
    check_positive("norm", norm)
    check_positive("steepness", steepness)
    check_count("classes", classes, least=2)
    pull = 0.5 if classes == 2 else 1.0
    noise = coordinate_noise(budget, relation, dimension)
    balanced = pull * norm * norm * steepness * noise
    if records is not None:
        check_count("records", records)
        factor = math.sqrt(_LEVEL * dimension * noise / records)
        factor = min(max(factor, _LEAST_PULL), _MOST_PULL)
        affordable = norm * norm / 4.0 * _least(_BEND * budget.epsilon)
        balanced = max(factor * balanced, min(balanced, affordable))
    part = _DETERMINANT * budget.epsilon / (classes - 1)
    return max(balanced, 2.0 * smoothness / classes * _least(part))


def _least(part: float) -> float:
    """1/(e^part − 1), the least λ/β for which ln(1 + β/λ) is no more than `part`."""
    return math.exp(-part) / -math.expm1(-part)


@plain_arguments
def output_ridge(  # noqa: PLR0913  # what the formula is about
    budget: PureDP | ApproxDP,
    relation: Relation,
    *,
    dimension: int,
    norm: float,
    lipschitz: float,
    sharpness: float,
    records: int,
) -> float:
    """The default ridge for output perturbation.

    λ of the sum where noise is added to the minimum itself: (f″·n·R⁴·L²·s²/d)^(1/3).

    Noise of standard deviation L·s/λ a coordinate costs (n·R²·f″/2)·(L·s/λ)²/2, taking curvatures
    to be half of their largest, f″; the prior costs (λ/2)·d/R². Their sum is least there. Unlike
    for noise in the objective, n plays a part, so it must be public.

    >>> output_ridge(PureDP(epsilon=1.0), Relation.ADD_REMOVE, dimension=1, norm=1.0,
    ...              lipschitz=1.0, sharpness=0.25, records=16)
    2.0
    """
    check_count("records", records)
    check_positive("norm", norm)
    check_positive("lipschitz", lipschitz)
    check_positive("sharpness", sharpness)
    noise = lipschitz * coordinate_noise(budget, relation, dimension)
    return float(np.cbrt(sharpness * records * norm**4 * noise**2 / dimension))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Clipping norm, learning rate and number of noisy gradients of a classifier."""

    steps: int
    clip: float
    learning_rate: float


@plain_arguments
def schedule(  # noqa: PLR0913  # what the rule is about
    budget: PureDP | ApproxDP,
    relation: Relation,
    *,
    dimension: int,
    records: int,
    norm: float,
    lipschitz: float,
) -> Schedule:
    """The default clipping norm, learning rate and number of noisy gradients of a classifier.

    >>> schedule(ApproxDP(epsilon=1.0, delta=1e-5), Relation.ADD_REMOVE, dimension=3, records=200,
    ...          norm=2.0, lipschitz=2.0)
    Schedule(steps=10, clip=0.5, learning_rate=8.0)
    """
    check_count("records", records)
    check_positive("norm", norm)
    check_positive("lipschitz", lipschitz)
    power, least = (1.5, 1) if isinstance(budget, PureDP) else (1.0, _LEAST_STEPS)
    reach = _SCORE_NOISE * records / coordinate_noise(budget, relation, dimension)
    fitting = math.floor(min((reach / _PACE) ** (1.0 / power), _MOST_STEPS))
    steps = max(least, fitting)
    clip = _CLIP * lipschitz
    return Schedule(steps, clip, min(_PACE, reach / steps**power) / (norm * clip))


@plain_arguments
def batch_rate(
    budget: PureDP | ApproxDP, relation: Relation, *, dimension: int, records: int
) -> float:
    """The default sampling rate of Poisson batches for a classifier's gradients.

    Noise for batches of a share q over k steps is that for all records, q·s·√k, until it falls
    below about one sensitivity, where ever less is saved. q is so small that it just does not,
    with k = n/(8·s): q = √(32/(n·s)), with room.

    >>> batch_rate(PureDP(epsilon=1.0), Relation.ADD_REMOVE, dimension=3, records=1600)
    0.1
    """
    check_count("records", records)
    noise = coordinate_noise(budget, relation, dimension)
    return min(1.0, math.sqrt(4.0 * _PACE / (records * noise)))


@plain_arguments
def follows_gradients(
    budget: PureDP | ApproxDP,
    relation: Relation,
    *,
    dimension: int,
    records: int,
    classes: int = 2,
) -> tuple[bool, str]:
    """Whether noisy gradients should beat objective perturbation, and why, in words.

    They do where records are few for the noise. Noise in the objective is paid for once, and the
    minimum is then exact; but noise that outweighs the data moves it anywhere, while a short path
    of clipped gradients stays near its start. The limits are those of 66 drawn problems, and for
    pure budgets and more than two classes of 59 of those that chose the ridge of softmax losses.

    >>> follows_gradients(PureDP(epsilon=1.0), Relation.ADD_REMOVE, dimension=8, records=150)
    (True, '150 records to noise of 3 a coordinate are 50 to one, at most 64')
    """
    check_count("records", records)
    check_count("classes", classes)
    noise = coordinate_noise(budget, relation, dimension)
    most = _FEW[type(budget)][classes > 2]
    ratio = records / noise
    told = f"{records} records to noise of {noise:.3g} a coordinate are {ratio:.3g} to one"
    if most == math.inf:
        return True, f"{told}, and there are {classes} classes"
    few = ratio <= most
    return few, f"{told}, {'at most' if few else 'more than'} {most:g}"


@plain_arguments
def radius(*, dimension: int, norm: float) -> float:
    """The default radius of the ball that holds a regression's weights under gradient methods.

    √d/R, the prior's ‖θ‖.

    >>> radius(dimension=9, norm=1.0)
    3.0
    """
    check_count("dimension", dimension)
    check_positive("norm", norm)
    return math.sqrt(dimension) / norm


@plain_arguments
def steps(budget: PureDP | ApproxDP, relation: Relation, *, dimension: int, records: int) -> int:
    """The default number of noisy gradients of a regression.

    As many as leave their noise no longer than the gradients.

    With k steps the noise of a mean gradient has length √(d·k)·s/n (k·√d·s/n for pure budgets,
    where ε is shared out evenly); more steps than make that one do not lower R·B/√k.

    >>> steps(PureDP(epsilon=1.0), Relation.ADD_REMOVE, dimension=3, records=100)
    28
    """
    check_count("records", records)
    noise = coordinate_noise(budget, relation, dimension) * math.sqrt(dimension) / records
    most = 1.0 / noise if isinstance(budget, PureDP) else 1.0 / noise**2
    return max(1, min(_MOST_STEPS, math.floor(most)))


@plain_arguments
def public_records(records: int | None, relation: Relation, present: int) -> int:
    """The number of records that gradients are averaged over, as far as it is public.

    Where records are replaced, those present; where they are added or removed, a declared number.
    """
    if records is not None:
        check_count("records", records)
    if relation is Relation.REPLACE_ONE:
        if records not in {None, present}:
            raise InvalidParameter(
                f"records={records!r} must be None or the {present} rows of X: where records are "
                "replaced, how many there are is public"
            )
        return present
    if records is None:
        raise InvalidParameter(
            "records=None must be declared for output perturbation and gradient methods: where "
            "records are added or removed, how many there are is private"
        )
    return int(records)
