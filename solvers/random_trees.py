"""Trees whose splits are random and independent of the data, with noisy counts in the leaves."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, settle_fields
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.bounds import real_matrix
from solvers.chunks import Block, Chunks, split_labels
from solvers.privacy.clipped_sums import Wholes, exact_zeros
from solvers.privacy.noise import Budget, Kind, StepNoise, check_budget, noise_ratio, release_claim
from solvers.privacy.releases import OneRelease

Labeled: TypeAlias = tuple[ArrayLike, Ints] | tuple[ArrayLike, Ints, Floats] | Chunks
"""Records, the number of each's class, and where records are weighted their weights in [0, 1]."""

_BITS = 20
_DEEPEST = 16


@dataclass(frozen=True, slots=True, eq=False)
class RandomTrees:
    """Complete binary trees on [−1, 1]^d: the feature and the threshold of each node.

    Arrays (trees, 2^depth − 1); the children of node i are 2i + 1, for values up to the threshold,
    and 2i + 2.

    >>> trees = RandomTrees.drawn(trees=2, depth=3, dimension=5, rng=np.random.default_rng(0))
    >>> trees.leaves(np.zeros((4, 5))).shape, trees.leaf_count
    ((2, 4), 8)
    """

    features: Ints
    thresholds: Floats

    @classmethod
    def drawn(
        cls, *, trees: int, depth: int, dimension: int, rng: np.random.Generator
    ) -> "RandomTrees":
        """Random trees: each node cuts a random feature within the middle half of its cell."""
        check_count("trees", trees)
        check_depth("depth", depth)
        nodes = (1 << depth) - 1
        features = rng.integers(dimension, size=(trees, nodes))
        where = rng.uniform(0.25, 0.75, (trees, nodes))
        thresholds = np.zeros((trees, nodes))
        low = np.full((trees, nodes, dimension), -1.0)
        high = np.full((trees, nodes, dimension), 1.0)
        every = np.arange(trees)
        for node in range(nodes):
            asked = features[:, node]
            least, most = low[every, node, asked], high[every, node, asked]
            cut = least + where[:, node] * (most - least)
            thresholds[:, node] = cut
            for child in (2 * node + 1, 2 * node + 2):
                if child < nodes:
                    low[:, child], high[:, child] = low[:, node], high[:, node]
                    (high if child % 2 else low)[every, child, asked] = cut
        return cls(features, thresholds)

    @property
    def leaf_count(self) -> int:
        """The number of leaves of a tree."""
        return int(self.features.shape[1]) + 1

    def leaves(self, rows: Floats) -> Ints:
        """The leaf of each record in each tree (trees, n); exact, as it only takes comparisons."""
        records = np.arange(len(rows))
        nodes = np.zeros((len(self.features), len(rows)), np.int64)
        trees = np.arange(len(nodes))[:, None]
        for _ in range(self.leaf_count.bit_length() - 1):
            above = rows[records, self.features[trees, nodes]] > self.thresholds[trees, nodes]
            nodes = 2 * nodes + np.where(above, 2, 1)
        return nodes - (self.leaf_count - 1)


def check_depth(name: str, depth: int) -> None:
    """Raise if trees are too deep for memory; `name` is the caller's parameter."""
    check_count(name, depth)
    if depth > _DEEPEST:
        raise InvalidParameter(f"{name}={depth!r} must be at most {_DEEPEST}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeafCounts(OneRelease[Labeled]):
    """One noisy release of the number of records of each class in each leaf of each tree.

    A record is in one leaf of each of t trees, and in one class. One more moves the counts by at
    most t in ℓ1 and √t in ℓ2, one replaced by 2t and √(2t); weights in [0, 1] change nothing
    about that. [proofs/tree_histograms.py] Trees are public: they are drawn before the data are
    seen. The noise is Laplace noise for PureDP budgets, and Gaussian noise for others.

    >>> trees = RandomTrees.drawn(trees=4, depth=2, dimension=1, rng=np.random.default_rng(0))
    >>> counts = LeafCounts(trees=trees, classes=2, budget=PureDP(epsilon=1.0),
    ...                     relation="add-remove")
    >>> counts.sensitivity
    4.0
    >>> counts.sample(([[0.5]], np.array([1])), 3, rng=np.random.default_rng(0)).shape
    (3, 32)
    """

    trees: RandomTrees
    classes: int
    budget: Budget
    relation: Relation

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_count("classes", self.classes)
        check_budget(self.budget)

    @property
    def kind(self) -> Kind:
        return "laplace" if isinstance(self.budget, PureDP) else "gaussian"

    @property
    def claim(self) -> Claim:
        return release_claim(self.budget, self.relation, self.kind)

    @property
    def sensitivity(self) -> float:
        """The ℓ1 sensitivity for Laplace noise, else the ℓ2 sensitivity; not rounded down."""
        changed = len(self.trees.features) * (2 if self.relation is Relation.REPLACE_ONE else 1)
        if self.kind == "laplace":
            return float(changed)
        return enclose(lambda: ball(Fraction(changed)).sqrt())[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a release: trees, leaves, classes."""
        return len(self.trees.features), self.trees.leaf_count, int(self.classes)

    def noise_for(self, count: int) -> StepNoise:
        reach = self.sensitivity
        return StepNoise(
            kind=self.kind,
            scale=math.nextafter(noise_ratio(self.budget, 1) * reach, math.inf),
            sensitivity=reach,
            dimension=count,
        )

    def sums(self, data: Labeled) -> tuple[Wholes, int]:
        """The exact counts; weights are rounded down to multiples of 2^-20."""
        if isinstance(data, Chunks):
            asked = self._weighed if data.weighted else self._counts
            return data.total(asked), -2 * _BITS
        rows, indices, *weights = data
        features = real_matrix("data", rows)
        shares = np.asarray(weights[0]) if weights else np.ones(len(features))
        if not len(features) == len(indices) == len(shares):
            raise InvalidParameter("data must have one class, and one weight, for each row")
        if not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise InvalidParameter("data must have weights in [0, 1]")
        if not np.isin(indices, np.arange(self.classes)).all():
            raise InvalidParameter(f"classes of records must be 0 to {self.classes - 1}")
        whole = np.trunc(np.ldexp(shares, _BITS))
        trees, leaves, classes = self.shape
        total = exact_zeros((trees, leaves * classes), len(features))
        for tree, places in enumerate(self.trees.leaves(features) * classes + indices):
            # Sums of whole numbers that floats hold: below 2^53 for up to 2^33 records.
            counts = np.bincount(places, whole, minlength=leaves * classes)
            total[tree] += counts.astype(np.int64).astype(total.dtype)
        return total.ravel() << _BITS, -2 * _BITS

    def _counts(self, block: Block) -> Wholes:
        return self.sums(block)[0]

    def _weighed(self, block: Block) -> Wholes:
        return self.sums((block[0], *split_labels(block[1])))[0]
