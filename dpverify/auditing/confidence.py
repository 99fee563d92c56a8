r"""What counts on two sides say of P(E) ≤ e^ε·Q(E) + δ, exactly, for fixed numbers of draws.

Two limits of Clopper and Pearson (1934), one for P(E) and one for Q(E), must share the level, and
the worse ends of both meet in one ratio. The joint test here spends the level once:

Let A ~ Bin(n, p) and B ~ Bin(m, q) be independent, u = P(Bin(n, p) ≥ A), v = P(Bin(m, q) ≤ B).
Both are p-values for the *point* (p, q): P(u ≤ t) ≤ t, and likewise v. So z₁ = Φ⁻¹(1 − u) and
z₂ = Φ⁻¹(1 − v) are independent and each stochastically at most N(0, 1), and so is
w₁z₁ + w₂z₂ for weights with w₁² + w₂² = 1 that depend on the point only. A point is rejected if
this exceeds Φ⁻¹(1 − level); the claim is, if every point (p, q) with p ≤ e^ε·q + δ is. As z₁ falls
in p, only points with p = min(1, e^ε·q + δ) matter. The probability of rejecting a true claim is
at most that of rejecting the true point. [Stouffer et al. 1949; Clopper, Pearson 1934]

Weights w₁ : w₂ = √(p(1−p)/n) : e^ε·√(q(1−q)/m) make the sum, to first order, the score statistic
of p̂ − e^ε·q̂ − δ: the same for all q, and as powerful as if q were known to the test.

The minimum over q is bounded below on a partition into cells [q₀, q₁], where w₁z₁ is at least its
value at q₁ and w₂z₂ at least its value at q₀; weights are constant on a cell.

**Floors.** z₁ and z₂ are cut off from below at −L: near q = 0 or p = 1 one of them tends to −∞ and
would outweigh any evidence of the other. This raises the sum only if z₁ < −L or z₂ < −L, which has
probability at most 2Φ(−L): `Chain` takes Φ(−L) = level/1000 and charges the level for it.

**Chains.** If counts come in blocks, each judged for an event that earlier blocks chose, then given
the past each z is stochastically at most N(0, 1), and for weights with Σw² = 1, w_k known before
block k, so is Σw_k·z_k: put w_K·z_K under E exp(it·) last block first, for normal variables that
bound the z_k from above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, ndtri, ndtri_exp, xlogy

from dpverify.errors import check_between, check_count

Floats: TypeAlias = NDArray[np.float64]

_FLOOR_SHARE = 1e-3  # of the level, for each of the two floors of a block
_ROUNDS = 6
_SPLIT = 6
_CELLS = 96
_LARGEST_Z = 1e6  # where an outcome is impossible
_SLACK = 0.004  # of z, below which cells are not divided further
LARGEST_EPSILON = 700.0  # e^ε is a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often an event happened: on the side that it favors, and on the other."""

    hits: int
    trials: int
    other_hits: int
    other_trials: int

    def __post_init__(self) -> None:
        check_count("trials", self.trials)
        check_count("other_trials", self.other_trials)
        check_between("hits", self.hits, 0, self.trials)
        check_between("other_hits", self.other_hits, 0, self.other_trials)

    def __add__(self, more: "Counts") -> "Counts":
        return Counts(
            hits=self.hits + more.hits,
            trials=self.trials + more.trials,
            other_hits=self.other_hits + more.other_hits,
            other_trials=self.other_trials + more.other_trials,
        )


def lower_limit(hits: int, trials: int, level: float) -> float:
    """L with P(L > p) ≤ level whatever the true p. [Clopper, Pearson 1934]

    >>> round(lower_limit(10, 10, 0.05), 6) == round(0.05 ** (1 / 10), 6)
    True
    """
    _check_binomial(hits, trials, level)
    return float(betaincinv(hits, trials - hits + 1, level)) if hits else 0.0


def upper_limit(hits: int, trials: int, level: float) -> float:
    """U with P(U < p) ≤ level whatever the true p. [Clopper, Pearson 1934]"""
    return 1.0 - lower_limit(trials - hits, trials, level)


def split_epsilon_lower(counts: Counts, *, delta: float, level: float) -> float:
    """ln((p_lower − δ)/q_upper) with half the level for each limit; 0 if that is not positive."""
    low = lower_limit(counts.hits, counts.trials, level / 2)
    high = upper_limit(counts.other_hits, counts.other_trials, level / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def z_score(
    counts: Counts,
    *,
    epsilon: float,
    delta: float,
    floor: float,
    needed: float | None = None,
) -> float:
    """A number that, if P(E) ≤ e^ε·Q(E) + δ, is at most N(0, 1), but for probability 2Φ(floor).

    The larger, the stronger the evidence against the claim. Never above the exact minimum over q.
    If only the comparison with `needed` matters, it is decided sooner.
    """
    check_between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    check_between("delta", delta, 0.0, 1.0)
    if delta >= 1.0:
        return floor
    evaluate = partial(_evaluate, counts, epsilon=epsilon, delta=delta, floor=floor)
    edge = min(1.0, (1.0 - delta) * math.exp(-epsilon))  # beyond, p = 1
    top = math.asin(math.sqrt(edge))
    cuts = np.linspace(0.0, top, _CELLS + 1)
    lows, highs = cuts[:-1], cuts[1:]
    # For q beyond the edge p is 1 and known, so the whole weight is on z₂, least at the edge.
    settled = float(_z_few(counts.other_hits, counts.other_trials, np.array([edge]))[0])
    settled = max(settled, floor) if edge < 1.0 else math.inf
    for _ in range(_ROUNDS):
        q_low, q_high = np.sin(lows) ** 2, np.minimum(np.sin(highs) ** 2, edge)
        bounds = evaluate(q_low, q_high)
        ends = evaluate(q_high, q_high)
        best = min(float(ends.min()), settled)
        if needed is not None and best < needed:
            return best
        doubtful = bounds < (best - _SLACK if needed is None else needed)
        if not doubtful.all():
            settled = min(settled, float(bounds[~doubtful].min()))
        if not doubtful.any():
            return settled
        lows, highs = _divide(lows[doubtful], highs[doubtful])
    q_low, q_high = np.sin(lows) ** 2, np.minimum(np.sin(highs) ** 2, edge)
    last = float(evaluate(q_low, q_high).min())
    return min(settled, last)


@dataclass(frozen=True, slots=True)
class Chain:
    """Counts of blocks, each for an event chosen before it, and the squared weights of blocks.

    The weights are known before their blocks are drawn and add up to 1 at most.
    """

    blocks: tuple[Counts, ...] = ()
    weights: tuple[float, ...] = ()

    def rejects(self, points: Sequence[tuple[float, float]], *, level: float) -> bool:
        """Whether the claim is refuted that implies these points (ε, δ), one for each block.

        The probability of refuting a true one is at most `level`.
        """
        norm = math.fsum(self.weights)
        left_over = level * (1.0 - 2.0 * _FLOOR_SHARE * len(self.blocks))
        if not self.blocks or norm <= 0.0 or left_over <= 0.0:
            return False
        floor = float(ndtri(level * _FLOOR_SHARE))
        if len(self.blocks) == 1:
            ((epsilon, delta),) = points
            needed = critical(left_over)
            only = z_score(self.blocks[0], epsilon=epsilon, delta=delta, floor=floor, needed=needed)
            return only >= needed
        total = math.fsum(
            math.sqrt(weight / norm) * z_score(block, epsilon=epsilon, delta=delta, floor=floor)
            for block, weight, (epsilon, delta) in zip(
                self.blocks, self.weights, points, strict=True
            )
        )
        return total >= critical(left_over)

    def epsilon_lower(self, *, delta: float, level: float) -> float:
        """L ≥ 0 with P(L > ε) ≤ level, where (ε, δ) is the truth of the pair of laws."""

        def rejected(epsilon: float) -> bool:
            return self.rejects([(epsilon, delta)] * len(self.blocks), level=level)

        if not rejected(0.0):
            return 0.0
        # Every point of a fixed grid up to the answer is rejected, so the answer exceeds the truth
        # only if the first point at or above the truth is.
        low = 0.0
        while low < 40.0 and rejected(low + 1.0):
            low += 1.0
        step = 1.0
        for _ in range(11):
            step /= 2.0
            if rejected(low + step):
                low += step
        return low


def epsilon_lower(counts: Counts, *, delta: float = 0.0, level: float) -> float:
    """L ≥ 0 with P(L > ε) ≤ level for an event chosen before its counts were drawn.

    >>> epsilon_lower(Counts(hits=500, trials=1000, other_hits=100, other_trials=1000), level=0.05)
    1.44140625
    """
    return Chain((counts,), (1.0,)).epsilon_lower(delta=delta, level=level)


def critical(level: float) -> float:
    """Φ⁻¹(1 − level)."""
    return -float(ndtri(level))


def _evaluate(  # noqa: PLR0913  # the two ends of cells, and the point claimed
    counts: Counts, q_low: Floats, q_high: Floats, *, epsilon: float, delta: float, floor: float
) -> Floats:
    """A lower bound of w₁z₁ + w₂z₂ on each cell q_low ≤ q ≤ q_high."""
    ratio = math.exp(epsilon)
    p_high = np.minimum(1.0, ratio * q_high + delta)
    p_low = np.minimum(1.0, ratio * q_low + delta)
    p, q = (p_low + p_high) / 2.0, (q_low + q_high) / 2.0
    s1 = np.sqrt(p * (1.0 - p) / counts.trials)
    s2 = ratio * np.sqrt(q * (1.0 - q) / counts.other_trials)
    angle = np.arctan2(s1, s2)
    z1 = _z_many(counts.hits, counts.trials, p_high)
    z2 = _z_few(counts.other_hits, counts.other_trials, q_low)
    result: Floats = np.sin(angle) * np.maximum(z1, floor) + np.cos(angle) * np.maximum(z2, floor)
    return result


def _z_many(hits: int, trials: int, p: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, p) ≥ hits)), or a little less."""
    if hits == 0:
        return np.full_like(p, -np.inf)
    tail = np.asarray(betainc(hits, trials - hits + 1.0, p))
    rest = 1.0 - tail
    high = tail > 0.9  # where the difference has too few digits
    rest[high] = betainc(trials - hits + 1.0, hits, 1.0 - p[high])
    return _z(tail, rest, hits, trials, p)


def _z_few(hits: int, trials: int, q: Floats) -> Floats:
    """Φ⁻¹(1 − P(Bin(trials, q) ≤ hits)), or a little less."""
    return _z_many(trials - hits, trials, 1.0 - q)


def _z(tail: Floats, rest: Floats, hits: int, trials: int, p: Floats) -> Floats:
    """−Φ⁻¹(tail), from whichever of tail and rest = 1 − tail has more digits.

    Where the tail underflows, Chernoff's bound exp(−n·KL(hits/n, p)) on it stands in.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = hits / trials
        divergence = xlogy(rate, rate / p) + xlogy(1.0 - rate, (1.0 - rate) / (1.0 - p))
        far = -ndtri_exp(np.minimum(-trials * divergence, 0.0))
        near = np.where(tail < 0.5, -ndtri(tail), ndtri(rest))
    scores: Floats = np.where(tail < 1e-290, np.where(p > 0.0, far, _LARGEST_Z), near)
    return np.minimum(scores, _LARGEST_Z)


def _divide(lows: Floats, highs: Floats) -> tuple[Floats, Floats]:
    shares = np.arange(_SPLIT + 1) / _SPLIT
    cuts = lows[:, None] * (1.0 - shares) + highs[:, None] * shares
    return cuts[:, :-1].ravel(), cuts[:, 1:].ravel()


def _check_binomial(hits: int, trials: int, level: float) -> None:
    check_count("trials", trials)
    check_between("hits", hits, 0, trials)
    check_between("level", level, 0.0, 1.0)
