"""Private k-means by Lloyd's algorithm: a few rounds of noisy sums and counts of the clusters."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_draw, settle_fields
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.bounds import numbers, real_matrix
from solvers.chunks import Block, Chunks, split_labels
from solvers.privacy.clipped_sums import Wholes, ceil_log2, exact_zeros
from solvers.privacy.noise import Budget, Kind, StepNoise, check_budget, composition_of, noise_ratio

Weighted: TypeAlias = tuple[ArrayLike, ArrayLike]  # records, and the weight of each in [0, 1]
Records: TypeAlias = ArrayLike | Weighted | Chunks  # chunks have labels, which play no part

_BITS = 20  # of records, and of weights
_BLOCK = 1 << 12  # records: block·2^(20 + 20) ≤ 2^53
_CELLS = 1 << 22  # of records by clusters by runs
_EMPTY = 3.0  # deviations of the noise, below which a count is taken for none
_ASIDE = 0.25  # how far from the largest cluster the center of an empty one starts again
_SPREAD = 0.1  # the variance that centers are expected to have, on the scale of [−1, 1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lloyd:
    """Lloyd's algorithm: `steps` rounds of noisy sums and counts for the records of each center.

    Records lie in [−1, 1]^d, and are rounded towards zero to multiples of 2^-20; `start` holds
    the first centers, public numbers. A record is in one cluster, whatever the centers are, and
    counts there with (z, 1). One more moves the sums and counts by at most d + 1 in ℓ1 and
    √(d + 1) in ℓ2. One replaced moves them by 2d + 2 in ℓ1, and by √(2d + 2) in ℓ2 if it leaves
    its cluster, 2√d if it stays. [proofs/clustered_sums.py] So every step costs the same, whatever
    came out before it, and the budget is shared out evenly among the steps.

    New centers are post-processing: the noisy mean of a cluster, nearer to the old center the less
    its noisy count stands out of the noise; one that does not starts again beside the largest.

    Data are records, or a pair of records and their weights in [0, 1]; or chunks of these.

    A sample is an array (size, steps, k·(d + 1)) of all that was released; `centers` follow.

    >>> start = [[-0.5], [0.5]]
    >>> lloyd = Lloyd(start=start, budget=PureDP(epsilon=4.0), relation="add-remove", steps=2)
    >>> rows = np.repeat([[-0.9], [0.7]], 2000, axis=0)
    >>> released = lloyd.sample(rows, 3, rng=np.random.default_rng(0))
    >>> released.shape, lloyd.centers(released).round(1)[0].tolist()
    ((3, 2, 4), [[-0.9], [0.7]])
    """

    start: ArrayLike
    budget: Budget
    relation: Relation
    steps: int

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        object.__setattr__(self, "start", real_matrix("start", self.start))
        if len(self._start) == 0 or not (np.abs(self._start) <= 1.0).all():
            raise InvalidParameter(
                f"start of shape {self._start.shape} must hold centers in [−1, 1], one at least"
            )
        check_count("steps", self.steps)
        check_budget(self.budget)

    @property
    def _start(self) -> Floats:
        return np.asarray(self.start, np.float64)

    @property
    def kind(self) -> Kind:
        return "laplace" if isinstance(self.budget, PureDP) else "gaussian"

    @property
    def claim(self) -> Claim:
        theorem = composition_of(self.budget)
        return Claim(self.budget, self.relation, theorem, self.noise.assumes)

    @property
    def sensitivity(self) -> float:
        """The sensitivity of the sums and counts of one step: ℓ1 for Laplace noise, else ℓ2."""
        d = self._start.shape[1]
        replaced = self.relation is Relation.REPLACE_ONE
        if self.kind == "laplace":
            return float(2 * (d + 1) if replaced else d + 1)
        squares = max(2 * (d + 1), 4 * d) if replaced else d + 1
        return enclose(lambda: ball(Fraction(squares)).sqrt())[1]

    @property
    def noise(self) -> StepNoise:
        """The noise that is added in each step."""
        k, d = self._start.shape
        reach = self.sensitivity
        return StepNoise(
            kind=self.kind,
            scale=math.nextafter(noise_ratio(self.budget, int(self.steps)) * reach, math.inf),
            sensitivity=reach,
            dimension=k * (d + 1),
        )

    def sums(self, data: Records, centers: Floats) -> Wholes:
        """Sums and counts (m, k·(d + 1)) by the centers (m, k, d), exactly, in units of 2^-40."""
        if isinstance(data, Chunks):
            found: Wholes = data.total(_OneStep(self, centers, weighted=data.weighted))
            return found
        rows, weights = self._records(data)
        m, k, d = centers.shape
        total = exact_zeros((m, k, d + 1), len(rows))
        block = min(_BLOCK, max(1, _CELLS // (m * k)))
        for first in range(0, len(rows), block):
            few = slice(first, first + block)
            members = nearest(rows[few], centers)[:, None, :] == np.arange(k)[:, None]
            longer = np.column_stack([rows[few], np.full(len(rows[few]), 2.0**_BITS)])
            total += np.matmul(members * weights[few], longer).astype(np.int64)  # exact
        return total.reshape(m, -1)

    def sample(self, data: Records, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent runs (size, steps, k·(d + 1)), each with all that it releases."""
        check_draw(size, rng)
        # Whatever is refused is refused before any noise is drawn.
        if not isinstance(data, Chunks):
            self._records(data)
        elif data.sizes is None:
            data = data.unlabeled().map(_Looked(self, weighted=data.weighted)).checked()
        noise = self.noise
        released = np.empty((size, int(self.steps), noise.dimension))
        centers = np.tile(self._start, (size, 1, 1))
        for step in range(int(self.steps)):
            released[:, step] = noise.release(self.sums(data, centers), -2 * _BITS, rng)
            centers = self._after(centers, released[:, step])
        return released

    def log_density(self, outputs: ArrayLike, data: Records) -> Floats:
        """For each run, the log of the product of the probabilities of its steps."""
        noise = self.noise
        runs = np.asarray(outputs, np.float64)
        wanted = (int(self.steps), noise.dimension)
        if runs.ndim != 3 or runs.shape[1:] != wanted:
            shape = f"(size, {wanted[0]}, {wanted[1]})"
            raise InvalidParameter(f"outputs of shape {runs.shape} must have the shape {shape}")
        logs = np.zeros(len(runs))
        centers = np.tile(self._start, (len(runs), 1, 1))
        for step in range(wanted[0]):
            logs += noise.log_density(runs[:, step], self.sums(data, centers), -2 * _BITS)
            centers = self._after(centers, runs[:, step])
        return logs

    def centers(self, released: Floats) -> Floats:
        """The last centers (size, k, d) of each run."""
        centers = np.tile(self._start, (len(released), 1, 1))
        for step in range(int(self.steps)):
            centers = self._after(centers, released[:, step])
        return centers

    def _after(self, centers: Floats, released: Floats) -> Floats:
        m, k, d = centers.shape
        shown = released.reshape(m, k, d + 1)
        counts = np.maximum(shown[:, :, -1:], 1.0)
        means = np.clip(shown[:, :, :-1] / counts, -1.0, 1.0)
        # Best for means with noise of that size, and centers that are spread out so much.
        noise = self.noise.deviation
        trust = 1.0 / (1.0 + (noise / counts) ** 2 / _SPREAD)
        found: Floats = centers + trust * (means - centers)
        runs = np.arange(m)
        largest = found[runs, shown[:, :, -1].argmax(axis=1)]
        for cluster in range(k):
            empty = shown[:, cluster, -1] < _EMPTY * noise
            aside, axis = largest[empty].copy(), cluster % d
            aside[:, axis] -= _ASIDE * np.where(aside[:, axis] > 0.0, 1.0, -1.0)
            found[empty, cluster] = aside
        return found

    def check(self, data: ArrayLike | Weighted) -> None:
        """Refuse what are no records."""
        self._records(data)

    def _records(self, data: ArrayLike | Weighted) -> tuple[Floats, Floats]:
        """Records and weights in whole multiples of 2^-20, rounded towards zero, within bounds."""
        pair = data if isinstance(data, tuple) else (data, None)
        rows = real_matrix("data", pair[0])
        weights = np.ones(len(rows)) if pair[1] is None else numbers("weights", pair[1])
        d = self._start.shape[1]
        if rows.shape[1] != d or not (np.abs(rows) <= 1.0).all():
            raise InvalidParameter(f"data must be rows of {d} numbers in [−1, 1]")
        if len(weights) != len(rows) or not ((weights >= 0.0) & (weights <= 1.0)).all():
            raise InvalidParameter("data must have weights in [0, 1], one a row")
        whole, shares = (np.trunc(np.ldexp(part, _BITS)) for part in (rows, weights))
        return whole, shares


@dataclass(frozen=True, slots=True, eq=False)
class _OneStep:
    """The sums of one step over a block of records."""

    lloyd: Lloyd
    centers: Floats
    weighted: bool

    def __call__(self, block: Block) -> Wholes:
        return self.lloyd.sums(_records_of(block, weighted=self.weighted), self.centers)


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """A block as it is, once its records were found to be some."""

    lloyd: Lloyd
    weighted: bool

    def __call__(self, block: Block) -> Block:
        self.lloyd.check(_records_of(block, weighted=self.weighted))
        return block


def _records_of(block: Block, *, weighted: bool) -> ArrayLike | Weighted:
    return (block[0], split_labels(block[1])[1]) if weighted else block[0]


def nearest(whole: Floats, centers: Floats) -> Ints:
    """For each row of centers (m, k, d), the index of the center nearest to each record (m, n).

    Whole numbers, few enough bits for every sum to be exact: so the answer for a record has nothing
    to do with the others. Of equally near ones it is the first.
    """
    d = whole.shape[1]
    bits = min(_BITS, 50 - _BITS - ceil_log2(float(d)))
    rounded = np.rint(np.ldexp(centers, bits))
    # ‖c‖² and 2⟨z, c⟩ in the same unit, 2^-(20 + bits): ‖z − c‖² = ‖z‖² + ‖c‖² − 2⟨z, c⟩.
    squares = np.ldexp((rounded * rounded).sum(axis=2), _BITS - bits)
    inner = np.matmul(rounded, whole.T)
    found: Ints = (squares[:, :, None] - 2.0 * inner).argmin(axis=1)
    return found
