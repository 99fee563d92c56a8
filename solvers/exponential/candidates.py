"""The exponential mechanism for empirical risk over finitely many candidates, drawn exactly."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    NotSupported,
    check_arithmetic,
    check_count,
    check_draw,
    check_flag,
    check_positive,
    plain_arguments,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import ExponentialMechanism
from dpverify.neighbors import Relation
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import EXPONENTIAL_MECHANISM
from solvers.bounds import Bounds, Data
from solvers.descent import features_and_labels
from solvers.domains import Ball, Domain
from solvers.losses import Loss, Softmax
from solvers.privacy.clipped_sums import ELEMENTWISE, Wholes, exact_zeros

_UNITS = 1 << 30  # the largest loss, in units
_DEEPEST = 1 << 53  # floats hold whole numbers up to this
_CELLS = 1 << 20
_MOST_CANDIDATES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExponentialERM:
    """The exponential mechanism that picks one of finitely many candidates by empirical risk.

    A candidate w with probability ∝ exp(−k·Σᵢ ℓ(w; xᵢ, yᵢ)): ε-DP.

    No record's loss varies by more than Δ = G·(diameter) over the candidates, G the Lipschitz
    constant: on the ball of radius R that is 2GR, not GR. [proofs/lipschitz_losses.py] Subtracting
    its least value, on which probabilities do not depend, puts it in [0, Δ]. So a record that is
    added raises no score, and k = ε/Δ; one that is replaced moves scores up and down, and
    k = ε/(2Δ). [proofs/exponential_mechanism.py]

    The diameter is that of `domain`, which must hold all candidates; without one, that of the
    candidates. `penalties` are public numbers added to each candidate's sum. Each record's losses
    are rounded to Δ·2^-30 and held in [0, Δ], so that sums are exact and the sensitivity is that
    of the numbers used.

    >>> from solvers import Absolute
    >>> erm = ExponentialERM(loss=Absolute(), bounds=Bounds(norm=1.0, label_bound=1.0),
    ...                      candidates=[[-1.0], [0.0], [1.0]], epsilon=2.0,
    ...                      relation=Relation.ADD_REMOVE)
    >>> round(erm.largest_loss, 12)
    2.0
    >>> erm.log_density([[1.0], [0.0], [7.0]], ([[1.0]], [1.0])).round(3)
    array([-0.408, -1.408,   -inf])
    """

    loss: Loss
    bounds: Bounds
    candidates: ArrayLike
    epsilon: float
    relation: Relation
    domain: Domain | None = None
    penalties: ArrayLike | None = None
    clip_records: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_positive("epsilon", self.epsilon)
        check_flag("clip_records", self.clip_records)
        check_arithmetic(self.arithmetic)
        if isinstance(self.loss, Softmax):
            raise NotSupported("loss='softmax' must be a loss of one score: candidates are vectors")
        self.loss.check_bounds(self.bounds)
        object.__setattr__(self, "candidates", _points(self.candidates))
        if self.domain is not None and not self.domain.contains(self.points).all():
            raise InvalidParameter(f"candidates must lie in domain={self.domain!r}")
        if self.penalties is not None:
            object.__setattr__(self, "penalties", _numbers(self.penalties, len(self.points)))
        if not 0 < self.largest_loss < math.inf:
            raise InvalidParameter(
                f"loss={self.loss.name!r} must vary by a finite amount over the candidates"
            )
        if self.penalties is not None and not (np.abs(self._penalty_units) < 1 << 51).all():
            raise InvalidParameter("penalties must be less than 2^21 times the largest loss")

    @property
    def points(self) -> Floats:
        """The candidates as a matrix, one a row."""
        return np.asarray(self.candidates, np.float64)

    @property
    def claim(self) -> Claim:
        inner = self.choice.claim
        assumes = inner.assumes if self.arithmetic == "real" else (*inner.assumes, ELEMENTWISE)
        return Claim(PureDP(epsilon=self.epsilon), self.relation, EXPONENTIAL_MECHANISM, assumes)

    def pair(self, relation: Relation) -> LeakyResponsePair:
        """The dominating pair: randomized response."""
        self.relation.check(relation)
        return LeakyResponsePair(ApproxDP(epsilon=self.epsilon))

    @property
    def diameter(self) -> float:
        """The diameter of the domain, or of the candidates; not rounded down."""
        if self.domain is not None:
            return self.domain.diameter(self.points.shape[1])
        return diameter(self.points)

    @property
    def largest_loss(self) -> float:
        """Δ = G·diameter: by how much one record's loss can vary; not rounded down."""
        domain = self.domain or Ball(above_norms(self.points))
        slope = self.loss.lipschitz(self.bounds, domain, self.points.shape[1])
        width = self.diameter
        return enclose(lambda: ball(slope) * ball(width))[1]

    @property
    def choice(self) -> ExponentialMechanism:
        """The exponential mechanism on scores in units of Δ·2^-30."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            score_sensitivity=float(_UNITS),
            monotone=self.relation is Relation.ADD_REMOVE,
            arithmetic=self.arithmetic,
        )

    def sums(self, data: Data) -> Wholes:
        """Each candidate's loss summed over the records, less the least, in units of Δ·2^-30."""
        X, y = self.bounds.prepare(*features_and_labels(data), clip=self.clip_records)  # noqa: N806
        if X.shape[1] != self.points.shape[1]:
            raise InvalidParameter(
                f"X of shape {X.shape} must have {self.points.shape[1]} columns, as candidates do"
            )
        unit = self.largest_loss / _UNITS
        total = exact_zeros(len(self.points), len(X))
        block = max(1, _CELLS // len(self.points))
        for start in range(0, len(X), block):
            few = slice(start, start + block)
            losses = self.loss.values(row_scores(X[few], self.points), y[few, None])
            shares = np.rint((losses - losses.min(axis=1, keepdims=True)) / unit)
            total += np.minimum(shares, _UNITS).astype(np.int64).sum(axis=0)
        return total if self.penalties is None else total + self._penalty_units

    def _scores(self, data: Data) -> Floats:
        """Minus the sums, up to a constant that all candidates share; at least −2^53.

        A sum that is cut off 2^53 above the least rises with the least one: so still never down
        where a record is added, and by at most Δ.
        """
        total = self.sums(data)
        scores: Floats = -np.minimum(total - total.min(), _DEEPEST).astype(np.float64)
        return scores

    @property
    def _penalty_units(self) -> Ints:
        shares = np.asarray(self.penalties) / (self.largest_loss / _UNITS)
        return np.rint(np.clip(shares, -(2.0**52), 2.0**52)).astype(np.int64)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent choices: an array (size, d) of candidates."""
        scores = self._scores(data)
        check_draw(size, rng)
        return self.points[self.choice.sample(scores, size, rng=rng)]

    def log_density(self, outputs: ArrayLike, data: Data) -> Floats:
        """The log probability of each output; −∞ if it is no candidate."""
        scores = self._scores(data)
        return self.choice.log_density(self._indices(outputs), scores)

    def _indices(self, outputs: ArrayLike) -> Ints:
        """The index of the candidate that each output equals; −1 if none."""
        draws = np.asarray(outputs, np.float64)
        if draws.ndim != 2 or draws.shape[1] != self.points.shape[1]:
            shape = f"(size, {self.points.shape[1]})"
            raise InvalidParameter(f"outputs of shape {draws.shape} must have the shape {shape}")
        # Adding 0.0 makes −0.0 and 0.0 the same bytes.
        numbers = {row.tobytes(): index for index, row in enumerate(self.points + 0.0)}
        return np.array([numbers.get(row.tobytes(), -1) for row in draws + 0.0], np.int64)


@plain_arguments
def row_scores(rows: Floats, points: Floats) -> Floats:
    """⟨row, point⟩ as (rows, points), summed in an order that does not depend on other rows."""
    scores = np.zeros((len(rows), len(points)))
    for column in range(rows.shape[1]):
        scores += rows[:, column, None] * points[None, :, column]
    return scores


@plain_arguments
def diameter(points: Floats) -> float:
    """The largest distance of two points, rounded up; for very many, twice the largest norm."""
    if len(points) > 2_000:
        return 2.0 * above_norms(points)
    widest = max(float(np.linalg.norm(points - point, axis=1).max()) for point in points)
    return widest * _rounding(points)


@plain_arguments
def above_norms(points: Floats) -> float:
    """A bound on the norms of the points."""
    longest = float(np.linalg.norm(points, axis=1).max())
    return max(longest * _rounding(points), 2.0**-1000)


def _rounding(points: Floats) -> float:
    """A factor above 1 that covers eight times the relative error of a norm in floats."""
    return 1.0 + (int(points.shape[1]) + 4) * 2.0**-50


@plain_arguments
def lattice(domain: Ball, dimension: int, spacing: float) -> Floats:
    """All points of the ball on a grid of this `spacing`: candidates for a few dimensions.

    No point of the ball is further than √d·spacing from one of them: the point shrunk by
    1 − √d·spacing/(2R), rounded to the nearest.

    >>> len(lattice(Ball(1.0), 2, 0.5))
    13
    """
    check_count("dimension", dimension)
    check_positive("spacing", spacing)
    reach = math.floor(float(domain.radius) / float(spacing))
    if (2 * reach + 1) ** dimension > 2 * _MOST_CANDIDATES:
        raise InvalidParameter(
            f"spacing={spacing!r} must be larger: {2 * reach + 1} points a side in "
            f"{dimension} dimensions are too many"
        )
    axis = np.arange(-reach, reach + 1)
    steps = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1)
    points = steps.reshape(-1, dimension) * float(spacing)
    kept: Floats = points[np.linalg.norm(points, axis=1) <= float(domain.radius)]
    return kept


def _points(candidates: ArrayLike) -> Floats:
    points = np.array(candidates)
    if points.dtype.kind not in "iuf" or points.ndim != 2 or 0 in points.shape:
        raise InvalidParameter("candidates must be a matrix of real numbers, one candidate a row")
    points = points.astype(np.float64)
    if not np.isfinite(points).all():
        raise InvalidParameter("candidates must be finite")
    if not 2 <= len(points) <= 2 * _MOST_CANDIDATES:
        raise InvalidParameter(
            f"candidates must be from 2 to {2 * _MOST_CANDIDATES}, got {len(points)}"
        )
    if len(np.unique(points, axis=0)) < len(points):
        raise InvalidParameter("candidates must all be different")
    points.setflags(write=False)
    return points


def _numbers(penalties: ArrayLike, count: int) -> Floats:
    numbers = np.array(penalties, np.float64)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise InvalidParameter(f"penalties must be {count} finite numbers, one a candidate")
    return numbers
