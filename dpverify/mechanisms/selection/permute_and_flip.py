"""Permute-and-flip: go through candidates in random order and return the first heads."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.claims import Claim
from dpverify.errors import as_positive, check_draw, check_flag, settle
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import RANDOM_BITS, outputs_of, real_vector
from dpverify.mechanisms.sampling.grid import exact
from dpverify.mechanisms.sampling.integers import exponential_coins
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.mechanisms.selection.two_candidates import bounded, chosen
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.theorems import PERMUTE_AND_FLIP

_BLOCK = 1 << 20  # coins a pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip(Described):
    """Choose the first candidate, in random order, whose biased coin shows heads: ε-DP.

    The coin of a candidate has probability exp(ε·(score − best)/(2Δ)).

    `data` is the list of the candidates' scores, larger is better, each of sensitivity
    `score_sensitivity`, as the float that it is; the output is an index. Coins are tossed in random
    order, and the first heads wins: never less accurate than the exponential mechanism. Where the
    scores are `monotone`, so that between neighbors none rises while another falls, Δ may stand in
    place of 2Δ. Coins are exact. [McKenna, Sheldon, NeurIPS 2020 (arXiv 2010.12603)]

    >>> pick = PermuteAndFlip(epsilon=2.0, score_sensitivity=1.0)
    >>> np.exp(pick.log_density([0, 1], [0.0, np.log(3.0)])).round(12)  # half of 1/3, and the rest
    array([0.16666667, 0.83333333])
    """

    epsilon: float
    score_sensitivity: float
    monotone: bool = False

    def __post_init__(self) -> None:
        settle(self, epsilon=as_positive("epsilon", self.epsilon))
        settle(self, score_sensitivity=as_positive("score_sensitivity", self.score_sensitivity))
        check_flag("monotone", self.monotone)

    @property
    def claim(self) -> Claim:
        assumes = (RANDOM_BITS, EXPONENTIAL.assumption)
        return Claim(PureDP(epsilon=self.epsilon), None, PERMUTE_AND_FLIP, assumes)

    def pair(self, relation: Relation) -> Pair:
        """At most randomized response, at least two candidates, the worse e^(−ε/2)/2 likely."""
        Relation.parse(relation)

        def worse() -> arb:
            return (-ball(exact(self.epsilon)) / 2).exp() / 2

        return bounded(self.epsilon, chosen(lambda: 1 - worse(), worse), PERMUTE_AND_FLIP)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent choices, as indices into the scores `data`.

        The first heads in a random order is a uniform choice among all heads.
        """
        scores = real_vector("data", data)
        check_draw(size, rng)
        result = np.empty(size, np.int64)
        rows = max(_BLOCK // scores.size, 1)
        for start in range(0, size, rows):
            block = result[start : start + rows]
            heads = self._coins(scores, block.size, rng)
            chosen = rng.integers(0, heads.sum(axis=1))
            block[:] = np.argmax(np.cumsum(heads, axis=1) > chosen[:, None], axis=1)
        return result

    def _coins(self, scores: Floats, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        best, factor = exact(float(scores.max())), self._factor
        exponents = [factor * (best - exact(score)) for score in scores.tolist()]
        return exponential_coins(exponents, count, rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability given the scores `data`; −∞ for no index.

        p·∫ Π (1 − pⱼ·s) ds over the other candidates j, s from 0 to 1: a polynomial, which a Gauss
        rule of half as many nodes integrates exactly.
        """
        scores = real_vector("data", data)
        draws = outputs_of(outputs, ())
        with np.errstate(over="ignore"):
            heads = np.exp((scores - scores.max()) * float(self._factor))
        nodes, weights = np.polynomial.legendre.leggauss(scores.size // 2 + 1)
        misses = 1.0 - np.multiply.outer(0.5 * (1.0 + nodes), heads)
        chances = np.empty(scores.size)
        for index in range(scores.size):
            others = np.delete(misses, index, axis=1).prod(axis=1)
            chances[index] = heads[index] * (0.5 * weights @ others)
        possible = np.isin(draws, np.arange(scores.size))
        with np.errstate(divide="ignore"):
            logs = np.log(chances)[np.where(possible, draws, 0).astype(np.int64)]
        return np.where(possible, logs, -np.inf)

    @property
    def _factor(self) -> Fraction:
        """The factor from scores to exponents."""
        return exact(self.epsilon) / exact(self.score_sensitivity) / (1 if self.monotone else 2)
