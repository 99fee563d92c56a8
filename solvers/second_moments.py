"""The noisy matrix of second moments, XᵀX, from which principal components are computed."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    check_arithmetic,
    check_flag,
    check_member,
    settle_fields,
)
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Bounds, prepared_chunks
from solvers.chunks import Block, Chunks
from solvers.descent import above
from solvers.privacy.clipped_sums import Wholes
from solvers.privacy.noise import Budget, Kind, StepNoise, check_budget, noise_ratio, release_claim
from solvers.privacy.releases import (
    OneRelease,
    exact_products,
    in_units,
    packed,
    packing_room,
    row_exponent,
    unpacked,
)
from solvers.sufficient_statistics import PureNoise

Features: TypeAlias = ArrayLike | Chunks  # rows (n, d), or chunks whose labels play no part


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondMoments(OneRelease[Features]):
    """One noisy release of XᵀX, for rows with a bounded norm.

    A record's share is x·xᵀ, with ‖x‖ ≤ r. Counting both halves of the symmetric matrix, one
    record more moves it by at most r² in ℓ2, and one replaced by √2·r²; in ℓ1, with each entry
    once, by (d + 1)/2·r², and √(d(d + 3)/2)·r². For one feature, a replacement moves x² by no more
    than r². [proofs/second_moments.py]

    The noise is Gaussian [Dwork, Talwar, Thakurta, Zhang, STOC 2014, "Analyze Gauss"]; for PureDP
    budgets it has density ∝ exp(−‖z‖₂/b), or is Laplace noise with `pure_noise` "laplace", which is
    larger.

    >>> moments = SecondMoments(bounds=Bounds(norm=2.0), budget=PureDP(epsilon=1.0),
    ...                         relation=Relation.ADD_REMOVE)
    >>> moments.sensitivity(3)
    4.0
    >>> released = moments.sample(np.eye(3), 5, rng=np.random.default_rng(0))
    >>> moments.matrices(released).shape
    (5, 3, 3)
    """

    bounds: Bounds
    budget: Budget
    relation: Relation
    pure_noise: PureNoise = "norm"
    clip_records: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_budget(self.budget)
        check_member("pure_noise", self.pure_noise, ("laplace", "norm"))
        check_flag("clip_records", self.clip_records)
        check_arithmetic(self.arithmetic)

    @property
    def kind(self) -> Kind:
        return self.pure_noise if isinstance(self.budget, PureDP) else "gaussian"

    @property
    def claim(self) -> Claim:
        return release_claim(self.budget, self.relation, self.kind, arithmetic=self.arithmetic)

    def sensitivity(self, dimension: int) -> float:
        """The ℓ1 sensitivity for Laplace noise, else the ℓ2 sensitivity; not rounded down."""
        square, d = Fraction(float(self.bounds.norm)) ** 2, dimension
        replaced = self.relation is Relation.REPLACE_ONE and d > 1

        def bound() -> arb:
            if self.kind == "laplace":
                most = Fraction(d * (d + 3), 2) if replaced else Fraction(d + 1, 2) ** 2
                # One feature that is replaced moves as one that is added: (1 + 1)/2 = 1.
            else:
                most = Fraction(2 if replaced else 1)
            return ball(square) * ball(most).sqrt()

        return enclose(bound)[1]

    def noise(self, dimension: int) -> StepNoise:
        """The noise on the packed matrix."""
        reach = above(self.sensitivity(dimension) * packing_room(dimension, self.kind))
        return StepNoise(
            kind=self.kind,
            scale=above(noise_ratio(self.budget, 1) * reach),
            sensitivity=reach,
            dimension=dimension * (dimension + 1) // 2,
            arithmetic=self.arithmetic,
        )

    def noise_for(self, count: int) -> StepNoise:
        return self.noise(side_of(count))

    def sums(self, data: Features) -> tuple[Wholes, int]:
        """XᵀX in packed form, exactly."""
        if isinstance(data, Chunks):
            chunks = prepared_chunks(data, self.bounds, clip=self.clip_records)
            return packed(chunks.total(self._total), self.kind), 2 * self._exponent
        X, y = self.bounds.prepare(data, np.zeros(len(np.atleast_1d(data))), clip=self.clip_records)  # noqa: N806
        return packed(self._total((X, y)), self.kind), 2 * self._exponent

    @property
    def _exponent(self) -> int:
        return row_exponent(float(self.bounds.norm))

    def _total(self, block: Block) -> Wholes:
        rows = in_units(block[0], self._exponent)
        return exact_products(rows, rows)

    def matrices(self, released: Floats) -> Floats:
        """Symmetric matrices (size, d, d) from releases (size, d(d + 1)/2)."""
        return unpacked(released, side_of(released.shape[1]), self.kind)


def side_of(entries: int) -> int:
    """The d for which a symmetric matrix has d(d + 1)/2 entries on and above the diagonal.

    >>> [side_of(d * (d + 1) // 2) for d in range(1, 6)]
    [1, 2, 3, 4, 5]
    """
    return (math.isqrt(8 * entries + 1) - 1) // 2
