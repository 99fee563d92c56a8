"""Correlated noise on a stream: C·x + z is released, the rest is post-processing."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal, TypeAlias

from dpverify.accounting.accountant import Accountant
from dpverify.arrays import Floats
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    as_count,
    as_positive,
    check_member,
    settle,
    shown,
)
from dpverify.guarantees import Bracket
from dpverify.mechanisms.amplification.subsampled import Subsampled
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.gaussian import Gaussian
from dpverify.mechanisms.matrix import sensitivity
from dpverify.mechanisms.matrix.strategies import bandwidth, strategy_of
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.theorems import MATRIX_MECHANISM, Theorem

Participation: TypeAlias = Literal["once", "epochs", "separated"]
_SAME = 1e-9  # relative width below which the upper end is the answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatrixMechanism(Described):
    """Correlated noise on a stream x of sums: C·x + z, one row a step, z of independent N(0, σ²).

    `strategy` is C, or "prefix" (all prefix sums), "tree" (binary tree aggregation) or "square
    root" (of the prefix sums, cut to `bands` diagonals), for `steps` steps. One record moves one
    row of x by at most `l2_sensitivity`. It takes part in one step ("once"), in one step of every
    epoch of `period` steps, always the same ("epochs"), or in at most `most` steps at least
    `period` apart ("separated"). Later rows may depend on earlier outputs: C must then be lower
    triangular, as "prefix" and "square root" are, or at least never look ahead, as "tree".

    >>> noise = MatrixMechanism(strategy="tree", steps=8, sigma=4.0)
    >>> round(noise.squared_sensitivity.upper, 9)  # a leaf and its three ancestors
    4.0
    """

    theorem: ClassVar[Theorem] = MATRIX_MECHANISM

    strategy: object
    sigma: float
    l2_sensitivity: float = 1.0
    participation: Participation = "once"
    period: int | None = None
    most: int | None = None
    steps: int | None = None
    bands: int | None = None
    matrix: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, sigma=as_positive("sigma", self.sigma))
        settle(self, l2_sensitivity=as_positive("l2_sensitivity", self.l2_sensitivity))
        check_member("participation", self.participation, ("once", "epochs", "separated"))
        settle(self, matrix=strategy_of(self.strategy, self.steps, self.bands))
        if self.participation == "once" and self.period is not None:
            raise InvalidParameter(
                f"period={shown(self.period)} must be None: participation='once'"
            )
        if self.participation != "once":
            settle(self, period=as_count("period", self.period))
        if self.participation != "separated" and self.most is not None:
            raise InvalidParameter(
                f"most={shown(self.most)} must be None: participation={self.participation!r}"
            )
        if self.most is not None:
            settle(self, most=as_count("most", self.most))

    @property
    def squared_sensitivity(self) -> Bracket:
        """The largest squared ℓ2 distance that C·x moves if allowed rows of x move by 1."""
        count = self.matrix.shape[1]
        match self.participation:
            case "once":
                return sensitivity.squared(self.matrix, sensitivity.once(count))
            case "epochs":
                patterns = sensitivity.epochs(count, self.period or 1)
                return sensitivity.squared(self.matrix, patterns)
            case _:
                most = min(self.most or count, count)
                return sensitivity.squared_separated(self.matrix, self.period or 1, most)

    def pair(self, relation: Relation) -> Pair:
        """A Gaussian pair; between two such pairs if the sensitivity is not known exactly."""
        Relation.parse(relation)
        found = self.squared_sensitivity
        scale = (Fraction(self.l2_sensitivity) / Fraction(self.sigma)) ** 2
        upper, lower = (GaussianPair(Fraction(e) * scale) for e in (found.upper, found.lower))
        if found.width <= _SAME * found.upper:
            return upper
        return BetweenPair(upper, lower, theorem=MATRIX_MECHANISM)

    def amplified(self, *, rate: float, relation: Relation) -> Accountant:
        """All steps on Poisson samples, drawn in turn from as many parts of the data as bands of C.

        At step i every record of part i mod b is drawn with probability `rate`. The columns that
        one record can reach do not overlap, so the run is a composition of ⌈n/b⌉ subsampled
        Gaussians with the largest column norm as sensitivity. [arXiv 2306.08153, Thm 4]
        """
        if self.participation != "once":
            raise NotSupported(
                f"participation={self.participation!r} must be 'once': a Poisson sample draws the "
                "steps itself"
            )
        count, bands = self.matrix.shape[1], bandwidth(self.matrix)
        if bands >= count:
            raise NotSupported(f"strategy with {bands} bands must have fewer than steps={count}")
        # √ rounded up, so that the columns are no longer than what is accounted for.
        norm = math.nextafter(math.sqrt(self.squared_sensitivity.upper) * (1 + 1e-15), math.inf)
        step = Gaussian(sigma=self.sigma, l2_sensitivity=norm * float(self.l2_sensitivity))
        start = Accountant(relation=relation)
        return start.compose(Subsampled(step, rate=rate), times=-(-count // bands))
