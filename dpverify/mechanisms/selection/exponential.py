"""The exponential mechanism over finitely many candidates."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import scipy
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    as_positive,
    as_real,
    check_arithmetic,
    check_draw,
    check_flag,
    settle,
)
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, outputs_of, real_vector
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.mechanisms.sampling.grid import exact
from dpverify.neighbors import Relation
from dpverify.pairs import BoundedRangePair
from dpverify.theorems import EXPONENTIAL_MECHANISM

_FLOAT_ERROR = 2.0**-44  # assumed, per candidate; delivered: below 2^-51
_LEAST_FACTOR = Fraction(1, 10**280)  # products with it stay clear of subnormal floats
_FLOAT_WEIGHTS = "float exponentials and sums are within 2^-44 of the exact ones, per candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(Described):
    """Choose a candidate with probability ∝ exp(ε·score/(2Δ)): ε-DP.

    `data` is the list of the candidates' scores, larger is better, and the output is an index.
    Each score has sensitivity `score_sensitivity`, as the float that it is. Where the scores are
    `monotone`, so that between neighbors none rises while another falls, exp(ε·score/Δ) is ε-DP.

    With arithmetic "grid" probabilities are exact to the last digit, however small; with "real"
    they are those of floats.

    >>> pick = ExponentialMechanism(epsilon=2.0, score_sensitivity=1.0)
    >>> np.exp(pick.log_density([0, 1], [0.0, np.log(3.0)]))
    array([0.25, 0.75])
    """

    epsilon: float
    score_sensitivity: float
    monotone: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle(self, epsilon=as_real("epsilon", self.epsilon))
        if not 0 <= self.epsilon < np.inf:
            raise InvalidParameter(f"epsilon={self.epsilon!r} must be finite and at least 0")
        settle(self, score_sensitivity=as_positive("score_sensitivity", self.score_sensitivity))
        check_flag("monotone", self.monotone)
        check_arithmetic(self.arithmetic)
        if self.epsilon and not _LEAST_FACTOR < self._factor < 1 / _LEAST_FACTOR:
            raise InvalidParameter(
                f"score_sensitivity={self.score_sensitivity!r} must lie within a factor of 1e280 "
                f"of epsilon={self.epsilon!r}"
            )

    @property
    def claim(self) -> Claim:
        assumes = grounds(self.arithmetic, _FLOAT_WEIGHTS)
        return Claim(PureDP(epsilon=self.epsilon), None, EXPONENTIAL_MECHANISM, assumes)

    def pair(self, relation: Relation) -> BoundedRangePair:
        """The pair of bounded range: all losses lie in a range of length ε.

        The largest loss, ε, is approached by an unlikely candidate whose score falls while those
        of all others rise.
        """
        Relation.parse(relation)
        return BoundedRangePair(self.epsilon)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent choices, as indices into the scores `data`."""
        scores = real_vector("data", data)
        check_draw(size, rng)
        cumulated = np.cumsum(np.exp(self._exponents(scores)))
        floats = cumulated[:-1] / cumulated[-1]
        if self.arithmetic == "real":
            return np.searchsorted(floats, rng.random(size), side="right")
        error = _FLOAT_ERROR * (scores.size + 1)
        balls = at_precision(lambda: self._cut_balls(scores))
        return CutPoints(floats=floats, error=error, balls=balls).draw((size,), rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability given the scores `data`; −∞ for no index."""
        scores = real_vector("data", data)
        draws = outputs_of(outputs, ())
        possible = np.isin(draws, np.arange(scores.size))
        logs = scipy.special.log_softmax(self._exponents(scores))
        indices = np.where(possible, draws, 0).astype(np.int64)
        return np.where(possible, logs[indices], -np.inf)

    @property
    def _factor(self) -> Fraction:
        """The factor from scores to log weights."""
        return exact(self.epsilon) / exact(self.score_sensitivity) / (1 if self.monotone else 2)

    def _exponents(self, scores: Floats) -> Floats:
        """ε·(score − best)/(2Δ), none above 0."""
        if self.epsilon == 0:
            return np.zeros(scores.shape)
        with np.errstate(over="ignore"):  # so far below the best that the weight is 0
            below: Floats = (scores - scores.max()) * float(self._factor)
        return below

    def _cut_balls(self, scores: Floats) -> list[arb]:
        """The exact cumulative probabilities of the given scores."""
        factor, best = ball(self._factor), arb(float(scores.max()))
        weights = [(factor * (arb(score) - best)).exp() for score in scores.tolist()]
        cumulated = list(accumulate(weights))
        return [value / cumulated[-1] for value in cumulated[:-1]]
