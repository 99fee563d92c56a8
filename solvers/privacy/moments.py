"""One noisy release of counts, sums and sums of squares of bounded features.

Features z in [−1, 1] are rounded towards zero to multiples of 2^-20, so that sums of z and of z²
are exact. A record that is added or removed moves (z, z²) of each feature by at most 2 in ℓ1 and
√2 in ℓ2, and the count by 1. One that is replaced moves (z, z²) by at most 9/4 in ℓ1 and 2 in ℓ2;
the count is then public. Of records in groups, such as classes, each
group has its moments, and a record that is replaced may leave one group and join another: that is
one record less and one more. Weights in [0, 1] move nothing further. [proofs/bounded_moments.py]
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_draw, settle_fields
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.chunks import Block, Chunks, split_labels
from solvers.privacy.clipped_sums import Wholes, exact_zeros
from solvers.privacy.noise import Budget, Kind, StepNoise, check_budget, noise_ratio, release_claim

_BITS = 20
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMoments:
    """One noisy release of Σz, Σz² and the number of records, for features z in [−1, 1].

    Laplace noise for PureDP budgets, Gaussian noise for others. Under REPLACE_ONE the number of
    records is public, and is returned as it is, unless there are several groups.

    >>> moments = BoundedMoments(budget=PureDP(epsilon=1.0), relation=Relation.ADD_REMOVE)
    >>> moments.sensitivity(3), moments.noise(3).dimension
    (7.0, 7)
    """

    budget: Budget
    relation: Relation
    groups: int = 1

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("groups", self.groups)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_budget(self.budget)

    @property
    def kind(self) -> Kind:
        return "laplace" if isinstance(self.budget, PureDP) else "gaussian"

    @property
    def claim(self) -> Claim:
        return release_claim(self.budget, self.relation, self.kind)

    @property
    def _counted(self) -> bool:
        return self.groups > 1 or self.relation is Relation.ADD_REMOVE

    def sensitivity(self, features: int) -> float:
        """The ℓ1 sensitivity for Laplace noise, else the ℓ2 sensitivity; not rounded down."""
        moved = 1 if self.relation is Relation.ADD_REMOVE else 2  # records that come or go
        if self.kind == "laplace":
            whole = Fraction(moved * (2 * features + 1))
            exact = whole if self._counted else Fraction(9 * features, 4)
            return enclose(lambda: ball(exact))[1]
        squares = moved * (2 * features + 1) if self._counted else 4 * features
        return enclose(lambda: ball(squares).sqrt())[1]

    def noise(self, features: int) -> StepNoise:
        """The noise on the sums."""
        reach = self.sensitivity(features)
        return StepNoise(
            kind=self.kind,
            scale=math.nextafter(noise_ratio(self.budget, 1) * reach, math.inf),
            sensitivity=reach,
            dimension=self.groups * (2 * features + self._counted),
        )

    def sums(self, features: Floats) -> Wholes:
        """Σz, Σz² and, under ADD_REMOVE, the number of records, in units of 2^-40."""
        n, d = features.shape
        if np.isnan(features).any():
            raise InvalidParameter("features must be numbers in [−1, 1]: there are NaN entries")
        total = exact_zeros(2 * d + self._counted, n)
        for start in range(0, n, _BLOCK):
            within = np.clip(features[start : start + _BLOCK], -1.0, 1.0)
            whole = np.trunc(np.ldexp(within, _BITS)).astype(np.int64)
            total[:d] += whole.sum(axis=0) << _BITS
            total[d : 2 * d] += (whole * whole).sum(axis=0)
        if self._counted:
            total[-1] += n << (2 * _BITS)
        return total

    def grouped_sums(self, features: Floats, groups: Ints, weights: Floats | None = None) -> Wholes:
        """The sums of each group in turn, in units of 2^-40, or of 2^-60 with weights.

        A weight u in [0, 1] is rounded down to a multiple of 2^-20, and u·(z, z², 1) counts.
        """
        members = [groups == group for group in range(self.groups)]
        if weights is None:
            return np.concatenate([self.sums(features[some]) for some in members])
        return np.concatenate([_weighted(features[some], weights[some]) for some in members])

    def sample_groups(
        self,
        data: tuple[Floats, Ints] | tuple[Floats, Ints, Floats] | Chunks,
        size: int,
        *,
        rng: np.random.Generator,
    ) -> Floats:
        """`size` releases (size, groups, 2d + 1), given the features and each record's group.

        Behind them there may be weights in [0, 1]: of two groups at least, which are all counted.
        Or chunks of these.
        """
        check_draw(size, rng)
        weighted = data.weighted if isinstance(data, Chunks) else len(data) > 2
        if weighted and self.groups < 2:
            raise InvalidParameter(f"groups={self.groups!r} must be at least 2 for weights")
        if isinstance(data, Chunks):
            dimension = data.shape[1]
            sums = data.total(self._weighed if weighted else self._block)
        else:
            dimension, sums = data[0].shape[1], self.grouped_sums(*data)
        exponent = -3 * _BITS if weighted else -2 * _BITS
        drawn = self.noise(dimension).release(np.tile(sums, (size, 1)), exponent, rng)
        return drawn.reshape(size, self.groups, -1)

    def _block(self, block: Block) -> Wholes:
        return self.grouped_sums(*block)

    def _weighed(self, block: Block) -> Wholes:
        return self.grouped_sums(block[0], *split_labels(block[1]))

    def _features(self, block: Block) -> Wholes:
        return self.sums(block[0])

    def sample(self, data: Floats | Chunks, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` releases (size, 2d + 1): sums, sums of squares, and the number of records."""
        check_draw(size, rng)
        if isinstance(data, Chunks):
            data.check_unweighted("a sum over one group")
        sums = data.total(self._features) if isinstance(data, Chunks) else self.sums(data)
        rows = np.tile(sums, (size, 1))
        drawn = self.noise(data.shape[1]).release(rows, -2 * _BITS, rng)
        if self._counted:
            return drawn
        return np.hstack([drawn, np.full((size, 1), float(len(data)))])


def _weighted(features: Floats, weights: Floats) -> Wholes:
    """Σu·z, Σu·z² and Σu, exact in units of 2^-60; squares are split into halves of 20 bits."""
    z = np.trunc(np.ldexp(np.clip(features, -1.0, 1.0), _BITS)).astype(np.int64)
    u = np.trunc(np.ldexp(np.clip(weights, 0.0, 1.0), _BITS)).astype(np.int64)
    upper, lower = (z * z) >> _BITS, (z * z) & ((1 << _BITS) - 1)
    first, high, low = (_exact_sum(part * u[:, None]) for part in (z, upper, lower))
    count = _exact_sum(u[:, None])
    return np.concatenate([first << _BITS, (high << _BITS) + low, count << (2 * _BITS)])


def _exact_sum(parts: Ints) -> Wholes:
    """Sums over the records of numbers up to 41 bits, as Python integers."""
    total = np.zeros(parts.shape[1], np.object_)
    for start in range(0, len(parts), _BLOCK):
        total += parts[start : start + _BLOCK].sum(axis=0).astype(np.object_)
    return total
