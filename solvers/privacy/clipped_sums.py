"""Sums of clipped gradients, with a sensitivity that holds for the computed floats.

In floats a sum depends on its order, and an inner product on how a library splits it, so one
record more could move the others' share by rounding errors that no theorem charges for. Here
features, parameters and slopes are rounded to multiples of powers of two that are coarse enough
for every sum of products to be exact. A record's share is then a function of that record and the
parameters alone, as long as elementwise functions are (`ELEMENTWISE`), and its length is at most
the clipping norm.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter, check_positive
from solvers.chunks import Block, Chunks
from solvers.losses import Loss
from solvers.losses.softmax import classes_of

ELEMENTWISE = "elementwise float functions depend on their arguments alone"

Wholes: TypeAlias = NDArray[Any]  # of 64 bits, or Python's integers where those are too few

_WORDS = 1 << 21  # records up to which sums of 41 bits a record stay within 2^62
_FEATURE_BITS = 20
_SLOPE_BITS = 20
_PARAMETER_BITS = 31
_BLOCK = 1 << 12  # records: block·2^(20 + 20) ≤ 2^53
_INSIDE = 1.0 - 2.0**-30  # covers the rounding of a computed norm in up to 2^20 dimensions
FARTHEST = 2.0**100  # of a parameter times the rows' norm; scores stay finite
_CELLS = 1 << 16  # scores per pass, so that they stay in cache


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSums:
    """Sums of clipped gradients, computed exactly, so that their sensitivity has no rounding error.

    Σᵢ gᵢ(θ) over records, gᵢ = f′(⟨θ, xᵢ⟩; yᵢ)·xᵢ scaled down to length at most `clip`.

    For the softmax loss with K classes, θ is a matrix (d, K), row by row in a vector, and f′ a
    vector; gᵢ is their outer product, and its length the product of theirs.

    Results are whole multiples of 2^`exponent`, which depends on `clip` alone. Adding or removing
    a record changes a sum by at most `clip` in ℓ2, replacing one by at most twice that: exactly.
    """

    loss: Loss
    rows: Floats  # whole numbers, features in units of 2^feature_exponent
    labels: Floats
    limits: Floats  # whole numbers, what slopes may be in units of 2^(exponent − feature_exponent)
    exponent: int
    feature_exponent: int

    @classmethod
    def of(
        cls,
        loss: Loss,
        data: tuple[Floats, Floats],
        *,
        norm: float,
        clip: float,
    ) -> "ClippedSums":
        """Sums for rows of norm at most `norm`."""
        check_positive("clip", clip)
        rows, labels = data
        feature = ceil_log2(norm) - _FEATURE_BITS
        exponent = _exponent(clip)
        # Towards zero, so that no row becomes longer.
        whole = np.trunc(np.ldexp(rows, -feature))
        lengths = np.linalg.norm(whole, axis=1)
        longest = math.ldexp(clip * _INSIDE, -exponent)
        return cls(
            loss=loss,
            rows=whole,
            labels=labels,
            limits=np.floor(longest / np.where(lengths > 0.0, lengths, np.inf)),
            exponent=exponent,
            feature_exponent=feature,
        )

    @property
    def records(self) -> int:
        return len(self.rows)

    @property
    def classes(self) -> int:
        """The number of scores per record."""
        return classes_of(self.loss)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1]) * self.classes

    def total(self, parameters: Floats, chosen: NDArray[np.bool_] | None = None) -> Wholes:
        """The sum for each row of `parameters` (m, d), in units; only over the `chosen` (m, n)."""
        rounded = self._rounded(parameters)
        result = exact_zeros((len(rounded), self.dimension), self.records)
        for start in range(0, self.records, _BLOCK):
            block = slice(start, min(start + _BLOCK, self.records))
            rows = self.rows[block]
            bounds = self.labels[block], self.limits[block]
            for few in _slices(len(rounded), _CELLS // (len(rows) * self.classes)):
                some = None if chosen is None else chosen[few, block]
                result[few] += self._sums(rounded[few], rows, bounds, some)
        return result

    def total_of_batches(self, parameters: Floats, batches: Ints) -> Wholes:
        """The sum for each row of `parameters`, over the record numbers in its row of `batches`."""
        rounded = self._rounded(parameters)
        result = exact_zeros((len(rounded), self.dimension), batches.shape[1])
        for part in _slices(batches.shape[1], _BLOCK):
            block = batches[:, part]
            for few in _slices(len(rounded), _CELLS // (block.shape[1] * self.dimension)):
                picked = block[few]
                bounds = self.labels[picked], self.limits[picked]
                result[few] += self._sums(rounded[few], self.rows[picked], bounds)
        return result

    def _sums(
        self,
        parameters: Floats,
        rows: Floats,
        bounds: tuple[Floats, Floats],
        chosen: NDArray[np.bool_] | None = None,
    ) -> Ints:
        """Exact sums over rows (n, d) that all parameters share, or (m, n, d) of their own."""
        across = np.swapaxes(rows, -1, -2)
        if self.classes > 1:
            matrices = parameters.reshape(len(parameters), -1, self.classes)
            vectors = self._clipped_vectors(np.matmul(rows, matrices), *bounds)
            if chosen is not None:
                vectors *= chosen[:, :, None]
            totals = np.matmul(across, vectors).reshape(len(parameters), -1)
        else:
            shared = rows.ndim == 2
            scores = parameters @ across if shared else np.matmul(parameters[:, None], across)[:, 0]
            slopes = self._clipped(scores, *bounds)
            if chosen is not None:
                slopes *= chosen
            totals = slopes @ rows if shared else np.matmul(slopes[:, None], rows)[:, 0]
        whole: Ints = totals.astype(np.int64)  # at most 2^53
        return whole

    def _clipped(self, scores: Floats, labels: Floats, limits: Floats) -> Floats:
        """The slopes in whole units, clipped; rounded to nearest, so without bias."""
        slopes = self.loss.slopes(scores, labels)
        slopes *= math.ldexp(1.0, self.feature_exponent - self.exponent)
        np.clip(slopes, -limits, limits, out=slopes)
        np.rint(slopes, out=slopes)
        return slopes

    def _clipped_vectors(self, scores: Floats, labels: Floats, limits: Floats) -> Floats:
        """Vectors of slopes in whole units, rounded towards zero, so that none becomes longer."""
        slopes = self.loss.slopes(scores, labels)
        slopes *= math.ldexp(1.0, self.feature_exponent - self.exponent)
        lengths = np.sqrt((slopes * slopes).sum(axis=-1))
        slopes *= (np.minimum(lengths, limits) / np.where(lengths > 0.0, lengths, 1.0))[..., None]
        np.trunc(slopes, out=slopes)
        return slopes

    def _rounded(self, parameters: Floats) -> Floats:
        """Parameters rounded to a grid on which inner products with rows are exact.

        Each row becomes multiples of about 2^-31 of its length. It is public, and so is that.
        """
        farthest = math.ldexp(FARTHEST, -self.feature_exponent - _FEATURE_BITS)
        if not float(np.abs(parameters).max(initial=0.0)) <= farthest:
            raise InvalidParameter(f"parameters must be at most {farthest:g} in size")
        lengths = np.linalg.norm(parameters, axis=1)
        exponents = (np.frexp(lengths)[1] + 1 - _PARAMETER_BITS)[:, None]
        whole = np.trunc(np.ldexp(parameters, -exponents))
        rounded: Floats = np.ldexp(whole, exponents + self.feature_exponent)
        return rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockSum:
    """The sum over one block of chunked data: of all records, or of the chosen ones."""

    loss: Loss
    norm: float
    clip: float
    parameters: Floats

    def __call__(self, block: Block, chosen: NDArray[np.bool_] | None = None) -> Wholes:
        sums = ClippedSums.of(self.loss, block, norm=self.norm, clip=self.clip)
        return sums.total(self.parameters, chosen)


@dataclass(frozen=True, slots=True)
class ChunkedSums:
    """`ClippedSums` over chunked data: exactly the same sums, wherever the chunks end."""

    loss: Loss
    chunks: Chunks
    _: KW_ONLY
    norm: float
    clip: float

    @property
    def records(self) -> int:
        return len(self.chunks)

    @property
    def dimension(self) -> int:
        return self.chunks.shape[1] * classes_of(self.loss)

    @property
    def exponent(self) -> int:
        """The exponent of the unit of sums, as in `ClippedSums`."""
        return _exponent(self.clip)

    def total(self, parameters: Floats, chosen: NDArray[np.bool_] | None = None) -> Wholes:
        """As `ClippedSums.total`: one pass over the data."""
        one = _BlockSum(loss=self.loss, norm=self.norm, clip=self.clip, parameters=parameters)
        extras = None if chosen is None else self.chunks.split(chosen)
        return np.asarray(self.chunks.total(one, extras))


def _exponent(clip: float) -> int:
    return ceil_log2(clip) - _FEATURE_BITS - _SLOPE_BITS


def exact_zeros(shape: int | tuple[int, ...], records: int) -> Wholes:
    """An array of zeros that can hold sums of 41 bits per record without overflow.

    How many there are may be private, so no number of them may be a reason to refuse.
    """
    return np.zeros(shape, np.int64 if records <= _WORDS else np.object_)


def _slices(count: int, most: int) -> list[slice]:
    step = max(1, most)
    return [slice(start, start + step) for start in range(0, count, step)]


def ceil_log2(value: float) -> int:
    """The least n with value ≤ 2^n."""
    mantissa, exponent = math.frexp(value)
    return exponent - 1 if mantissa == 0.5 else exponent
