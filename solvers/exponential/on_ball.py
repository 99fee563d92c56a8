"""The exponential mechanism for convex losses on a ball of few dimensions, sampled exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    as_exponent,
    check_between,
    check_draw,
    check_flag,
    check_positive,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms.inputs import RANDOM_BITS
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.mechanisms.sampling.grid import exact
from dpverify.mechanisms.sampling.uniform import (
    WORD_BITS,
    LazyUniform,
    leading,
    random_words,
    refine,
)
from dpverify.neighbors import Relation
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import EXPONENTIAL_MECHANISM
from solvers.bounds import Bounds, Data
from solvers.descent import features_and_labels
from solvers.domains import Ball
from solvers.exponential.lattice import CELLS, HALF_SPAN, Boxes, Envelope, LatticeSums
from solvers.losses import Loss, Softmax
from solvers.privacy.clipped_sums import ELEMENTWISE

MOST_DIMENSIONS = 3

_FEATURE_BITS = 20
_MOST_BITS = 24
_FLOAT_ERROR = 2.0**-44  # of exponentials, assumed; delivered: below 2^-50
_FLOAT_WEIGHTS = "float exponentials and sums are within 2^-44 of the exact ones, per box"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialOnBall:
    """The exponential mechanism by empirical risk, on a ball in up to three dimensions.

    θ in the ball of radius R with probability ∝ exp(−k·Σᵢ ℓ(θ; xᵢ, yᵢ)), ℓ convex: ε-DP.

    No record's loss varies by more than Δ = 2GR over the ball: k = ε/Δ where a record is added or
    removed, ε/(2Δ) where one is replaced. [proofs/lipschitz_losses.py, exponential_mechanism.py]

    θ is a point of a lattice, R·2^-`lattice_bits` fine, that does not depend on the data; losses
    are rounded to GR·2^-29 and held within ±GR of their value at θ = 0. The distribution over these
    finitely many points is that of the exponential mechanism to the last digit: a box of points is
    drawn by an upper bound on its weight (`Envelope`), a point of it evenly, and kept with the
    probability that the bound gave too much. So there is no distance to the target to be charged
    for. Beyond three dimensions no sampler with a useful bound is known here, and it refuses. How
    long a draw takes depends on the data.

    >>> from solvers import Logistic
    >>> erm = ExponentialOnBall(loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)),
    ...                         domain=Ball(2.0), epsilon=1.0, relation=Relation.REPLACE_ONE)
    >>> data = [[1.0, 0.0], [0.0, 1.0]] * 50, [1, -1] * 50
    >>> erm.sample(data, size=4, rng=np.random.default_rng(0)).shape
    (4, 2)
    """

    loss: Loss
    bounds: Bounds
    domain: Ball
    epsilon: float
    relation: Relation
    ridge: float = 0.0
    clip_records: bool = False
    lattice_bits: int = _MOST_BITS

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_positive("epsilon", self.epsilon)
        check_between("ridge", self.ridge, 0.0, 1e300)
        check_flag("clip_records", self.clip_records)
        as_exponent("lattice_bits", self.lattice_bits, 1, _MOST_BITS)
        if not isinstance(self.domain, Ball):
            raise NotSupported(f"domain={self.domain!r} must be a Ball")
        if isinstance(self.loss, Softmax):
            raise NotSupported("loss=softmax must have one score a record")
        self.loss.check_bounds(self.bounds)
        if not self.largest_loss < math.inf:
            raise InvalidParameter(f"loss={self.loss.name!r} must be bounded on {self.domain!r}")
        if float(self.ridge) * float(self.domain.radius) ** 2 > 2.0**20 * self.largest_loss:
            raise InvalidParameter(
                f"ridge={self.ridge!r} must be less than the losses of 2^21 records at the edge"
            )

    @property
    def claim(self) -> Claim:
        assumes = (RANDOM_BITS, _FLOAT_WEIGHTS, ELEMENTWISE)
        return Claim(PureDP(epsilon=self.epsilon), self.relation, EXPONENTIAL_MECHANISM, assumes)

    def pair(self, relation: Relation) -> LeakyResponsePair:
        """The dominating pair: randomized response."""
        self.relation.check(relation)
        return LeakyResponsePair(ApproxDP(epsilon=self.epsilon))

    @property
    def largest_loss(self) -> float:
        """Δ = 2GR, not rounded down."""
        slope = self.loss.lipschitz(self.bounds, self.domain)
        if slope == math.inf:
            return math.inf
        return enclose(lambda: 2 * ball(slope) * ball(self.domain.radius))[1]

    @property
    def rate(self) -> Fraction:
        """The factor for sums in units: ε over 2^30 units, or over twice that."""
        span = 2 * HALF_SPAN
        reach = span if self.relation is Relation.ADD_REMOVE else 2 * span
        return exact(self.epsilon) / reach

    @property
    def lattice_exponent(self) -> int:
        """The exponent of two of the lattice spacing."""
        return math.frexp(float(self.domain.radius))[1] - int(self.lattice_bits)

    @property
    def inside(self) -> int:
        """The largest squared norm of a lattice point in the ball, in squared steps."""
        return math.floor((exact(self.domain.radius) / Fraction(2) ** self.lattice_exponent) ** 2)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        sums = self._sums(data)
        check_draw(size, rng)
        proposals = _Proposals.of(self, sums)
        found: list[Ints] = []
        missing, kept, tried = size, 1, 4
        while missing > 0:
            count = min(int(1.2 * missing * tried / kept) + 16, max(16, CELLS // sums.records))
            points = proposals.draw(count, rng)
            found.append(points[:missing])
            tried, kept = tried + count, kept + len(points)
            missing -= len(found[-1])
        steps = np.concatenate(found).astype(np.float64)
        released: Floats = np.ldexp(steps, self.lattice_exponent)
        return released

    def _sums(self, data: Data) -> LatticeSums:
        X, y = self.bounds.prepare(*features_and_labels(data), clip=self.clip_records)  # noqa: N806
        if X.shape[1] > MOST_DIMENSIONS:
            raise NotSupported(
                f"X has {X.shape[1]} columns; exact draws are made for at most {MOST_DIMENSIONS}. "
                "Gradient descent and objective perturbation have no such limit"
            )
        feature = math.frexp(float(self.bounds.norm))[1] - _FEATURE_BITS
        step = math.ldexp(1.0, self.lattice_exponent)
        unit = self.largest_loss / (2 * HALF_SPAN)
        return LatticeSums(
            loss=self.loss,
            rows=np.trunc(np.ldexp(X, -feature)),  # towards zero: no row becomes longer
            labels=y,
            score_step=math.ldexp(step, feature),
            unit=unit,
            curvature=float(self.ridge) * step**2 / unit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposals:
    """Rejection sampling: boxes, their exact cumulative weights, and which points are kept."""

    sums: LatticeSums
    boxes: Boxes
    rate: Fraction
    inside: int
    cuts: CutPoints

    @classmethod
    def of(cls, target: ExponentialOnBall, sums: LatticeSums) -> "_Proposals":
        envelope = Envelope(
            tangents=sums.tangents,
            rate=float(target.rate),
            inside=target.inside,
            slack=sums.slack,
        )
        boxes = envelope.boxes(sums.dimension)
        lowest = int(boxes.floor.min())
        depth = (boxes.floor - lowest).astype(np.float64)
        logs = boxes.log_counts() - float(target.rate) * depth
        cumulated = np.cumsum(np.exp(logs - logs.max()))
        cuts = CutPoints(
            floats=cumulated[:-1] / cumulated[-1],
            error=_FLOAT_ERROR * (len(logs) + 1),
            balls=at_precision(lambda: _cut_balls(boxes, lowest, target.rate)),
        )
        return cls(sums=sums, boxes=boxes, rate=target.rate, inside=target.inside, cuts=cuts)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """The accepted points among `count` proposals."""
        picked = self.cuts.draw((count,), rng)
        points = rng.integers(self.boxes.low[picked], self.boxes.high[picked], endpoint=True)
        within = (points * points).sum(axis=1) <= self.inside
        points, picked = points[within], picked[within]
        above = self.sums.at(points) - self.boxes.floor[picked]
        if (above < 0).any():
            raise AssertionError("a bound on a convex sum was above it")
        kept: Ints = points[_occurs(above, self.rate, rng)]
        return kept


def _occurs(above: Ints, rate: Fraction, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Independent events of probability exp(−rate·above), sampled exactly."""
    words = random_words(len(above), rng)
    uniforms = leading(words, WORD_BITS)
    chances = np.exp(-float(rate) * above)
    result: NDArray[np.bool_] = uniforms < chances
    for index in np.flatnonzero(np.abs(uniforms - chances) <= 2 * _FLOAT_ERROR):
        uniform = LazyUniform(int(words[index]), WORD_BITS)
        result[index] = _below(uniform, rate * int(above[index]), rng)
    return result


def _below(uniform: LazyUniform, exponent: Fraction, rng: np.random.Generator) -> bool:
    """Whether a uniform number is below exp(−exponent), using as many digits as that takes."""
    precision = 128
    while exponent > 0:
        refine([uniform], rng)
        with ctx.workprec(precision):
            chance, at = (-ball(exponent)).exp(), uniform.ball()
            if at < chance:
                return True
            if at > chance:
                return False
        precision += WORD_BITS
    return True


def _cut_balls(boxes: Boxes, lowest: int, rate: Fraction) -> list[arb]:
    """The exact cumulative weights, normalized."""
    factor, total, cumulated = ball(rate), arb(0), []
    for low, high, floor in zip(
        boxes.low.tolist(), boxes.high.tolist(), boxes.floor.tolist(), strict=True
    ):
        points = math.prod(b - a + 1 for a, b in zip(low, high, strict=True))
        total += arb(points) * (-factor * (floor - lowest)).exp()
        cumulated.append(total)
    return [value / total for value in cumulated[:-1]]
