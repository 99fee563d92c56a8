"""Private least squares from noisy sufficient statistics, XᵀX and Xᵀy."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from flint import arb

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    check_arithmetic,
    check_between,
    check_flag,
    check_member,
    settle_fields,
)
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Bounds, Data, prepared_chunks
from solvers.chunks import Block, Chunks
from solvers.descent import above, features_and_labels
from solvers.domains import Domain, WholeSpace
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

PureNoise: TypeAlias = Literal["laplace", "norm"]

_LONGER = math.sqrt(8.0)  # the constant feature of an intercept, so that its ridge is an eighth


@dataclass(frozen=True, slots=True, kw_only=True)
class SufficientStatistics:
    """Private least squares from one noisy release of XᵀX and Xᵀy.

    θ = (A + ridge·I)⁻¹·b from one noisy release of A = XᵀX and b = Xᵀy.

    With ‖x‖ ≤ r and |y| ≤ s, a record's share is (x·xᵀ, y·x). Its ℓ2 norm is
    ‖x‖·√(‖x‖² + y²) ≤ r·√(r² + s²), counting both halves of the symmetric matrix; two records
    differ by at most √(2r⁴ + 2r²s² + s⁴/2), or 2rs where s² > 2r². The upper half of x·xᵀ and y·x
    have ℓ1 norm at most (d + 1)/2·r² + √d·r·s, and a length in ℓ1 is at most √(2d + d(d − 1)/4)
    times the one in ℓ2. [proofs/normed_statistics.py] Labels are scaled
    by a power of two to the size of the features first, and back at the end.

    The noise is Gaussian, or for PureDP budgets Laplace, or of density ∝ exp(−‖z‖₂/b) with
    `pure_noise` "norm", which is smaller by a tenth or so. What follows is post-processing:
    negative eigenvalues of the noisy A are set to 0, `ridge` is added, and θ is projected onto
    `domain`. The default ridge is twice the noise's own size in A, a public number. With
    `intercept` the last feature is the same for all records, and its weight has an eighth of that.

    >>> fit = SufficientStatistics(bounds=Bounds(norm=1.0, label_bound=1.0),
    ...                            budget=PureDP(epsilon=1.0), relation=Relation.ADD_REMOVE)
    >>> round(fit.sensitivity(2), 9)  # 3/2 + √2
    2.914213562
    """

    bounds: Bounds
    budget: Budget
    relation: Relation
    ridge: float | None = None
    domain: Domain = WholeSpace()  # noqa: RUF009  # frozen
    pure_noise: PureNoise = "laplace"
    clip_records: bool = False
    intercept: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_budget(self.budget)
        check_member("pure_noise", self.pure_noise, ("laplace", "norm"))
        check_flag("clip_records", self.clip_records)
        check_flag("intercept", self.intercept)
        check_arithmetic(self.arithmetic)
        if self.ridge is not None:
            check_between("ridge", self.ridge, 0.0, 1e300)
        if not math.isfinite(self.bounds.largest_label):
            raise InvalidParameter(
                f"label_bound={self.bounds.label_bound!r} must be declared: without it one record "
                "moves Xᵀy without limit"
            )

    @property
    def kind(self) -> Kind:
        return self.pure_noise if isinstance(self.budget, PureDP) else "gaussian"

    @property
    def claim(self) -> Claim:
        return release_claim(self.budget, self.relation, self.kind, arithmetic=self.arithmetic)

    @property
    def statistics(self) -> "NoisyStatistics":
        """The noisy release that θ is computed from, as a mechanism with a density."""
        return NoisyStatistics(self)

    @property
    def label_exponent(self) -> int:
        """The power of two by which labels are scaled to the size of the features."""
        return math.frexp(float(self.bounds.norm))[1] - math.frexp(self.bounds.largest_label)[1]

    def sensitivity(self, dimension: int) -> float:
        """The ℓ1 (Laplace noise) or ℓ2 sensitivity of the scaled statistics; not rounded down."""
        r = float(self.bounds.norm)
        s = math.ldexp(self.bounds.largest_label, self.label_exponent)
        norm: Kind = "laplace" if self.kind == "laplace" else "norm"
        return sensitivity(r, s, dimension, kind=norm, relation=self.relation)

    def noise(self, dimension: int) -> StepNoise:
        """The noise on the scaled statistics."""
        reach = above(self.sensitivity(dimension) * packing_room(dimension, self.kind))
        return StepNoise(
            kind=self.kind,
            scale=above(noise_ratio(self.budget, 1) * reach),
            sensitivity=reach,
            dimension=dimension * (dimension + 3) // 2,
            arithmetic=self.arithmetic,
        )

    def sums(self, data: Data) -> tuple[Wholes, int]:
        """The exact scaled statistics of the data, as multiples of 2^exponent."""
        if isinstance(data, Chunks):
            chunks = prepared_chunks(data, self.bounds, clip=self.clip_records)
            self.domain.check_dimension(chunks.shape[1])
            return self._vector(chunks.total(self._total)), 2 * self._exponent
        X, y = self.bounds.prepare(*features_and_labels(data), clip=self.clip_records)  # noqa: N806
        self.domain.check_dimension(X.shape[1])
        return self._vector(self._total((X, y))), 2 * self._exponent

    @property
    def _exponent(self) -> int:
        return row_exponent(float(self.bounds.norm))

    def _total(self, block: Block) -> Wholes:
        """Σ x·(x, y)ᵀ, exactly."""
        X, y = block  # noqa: N806
        scaled = np.column_stack([X, np.ldexp(y, self.label_exponent)])
        rows = in_units(scaled, self._exponent)
        return exact_products(rows[:, :-1], rows)

    def _vector(self, total: Wholes) -> Wholes:
        """Diagonal, entries above it, and Xᵀy."""
        d = len(total)
        return np.concatenate([packed(total[:, :d], self.kind), total[:, d]])

    def solution(self, released: Floats) -> Floats:
        """θ for each row of noisy statistics (post-processing)."""
        d = dimension_of(released.shape[1])
        # A feature s times as long, with a weight that is as much shorter, has 1/s² of the ridge.
        longer = np.ones(d)
        if self.intercept and self.ridge is None:
            longer[-1] = _LONGER
        gram = unpacked(released[:, :-d], d, self.kind) * np.outer(longer, longer)
        right = np.ldexp(released[:, -d:], -self.label_exponent) * longer
        values, vectors = np.linalg.eigh(gram)
        inverse = 1.0 / (np.maximum(values, 0.0) + self.ridge_for(d))
        along = np.einsum("mij,mi->mj", vectors, right) * inverse
        return self.domain.project(np.einsum("mij,mj->mi", vectors, along) * longer)

    def ridge_for(self, dimension: int) -> float:
        """The ridge; by default twice the spectral norm of the noise in A, about √(2d) entries."""
        if self.ridge is not None and self.ridge > 0:
            return float(self.ridge)
        entry = self.noise(dimension).deviation
        # Without any ridge a singular A would have no inverse.
        return 2.0 * entry * math.sqrt(2 * dimension) if self.ridge is None else 2.0**-40 * entry

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        return self.solution(self.statistics.sample(data, size, rng=rng))


@dataclass(frozen=True, slots=True)
class NoisyStatistics(OneRelease[Data]):
    """The scaled statistics with noise, an array (size, d(d + 3)/2)."""

    method: SufficientStatistics

    @property
    def claim(self) -> Claim:
        return self.method.claim

    def noise_for(self, count: int) -> StepNoise:
        return self.method.noise(dimension_of(count))

    def sums(self, data: Data) -> tuple[Wholes, int]:
        return self.method.sums(data)


def sensitivity(
    norm: float, label: float, dimension: int, *, kind: Kind, relation: Relation
) -> float:
    """How far one record moves (x·xᵀ, y·x): in ℓ1 for Laplace noise, else ℓ2; not rounded down.

    ℓ2 counts entries off the diagonal twice, ℓ1 once.

    >>> round(sensitivity(1.0, 1.0, 3, kind="norm", relation=Relation.REPLACE_ONE) ** 2, 9)
    4.5
    """
    replaced = relation is Relation.REPLACE_ONE
    r, s, d = Fraction(norm), Fraction(label), dimension

    def euclidean() -> arb:
        if not replaced:
            return ball(r * r * (r * r + s * s)).sqrt()
        if s * s > 2 * r * r:
            return ball(2 * r * s)
        return ball(2 * r**4 + 2 * r * r * s * s + s**4 / 2).sqrt()

    def absolute() -> arb:
        one = ball((d + 1) * r * r / 2) + ball(d).sqrt() * ball(r * s)
        return 2 * one if replaced else one

    def converted() -> arb:
        """The bound by Cauchy and Schwarz, in which entries off the diagonal have weight 1/2."""
        return ball(2 * d + Fraction(d * (d - 1), 4)).sqrt() * euclidean()

    if kind == "laplace":
        return min(enclose(absolute)[1], enclose(converted)[1])
    return enclose(euclidean)[1]


def dimension_of(statistics: int) -> int:
    """The d for which there are d(d + 3)/2 statistics."""
    return (math.isqrt(9 + 8 * statistics) - 3) // 2
