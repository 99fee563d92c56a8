r"""Exact binomial test of P(E) ≤ e^ε·Q(E) + δ from counts on both sides, for fixed draws.

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

The minimum over the points of a claim is bounded below on boxes of points (`joint_score`).

**Every ε at once.** The weights are a function of the point: on the curve p = e^ε·q + δ the ratio
e^ε is (p − δ)/q. So one and the same set of points is rejected whatever ε is asked about, and the
points of a smaller ε are among those of a larger one. `rejects` and `epsilon_lower` look at all
points with ε' ≤ ε (those with p − δ < q are as hard to reject as those of ε' = 0 above them): every
ε below `epsilon_lower` is rejected with all its points, and it exceeds the truth only if the true
point is rejected. No grid, no order among tests has to be trusted.

**Floors.** z₁ and z₂ are cut off from below at −L: near q = 0 or p = 1 one of them tends to −∞ and
would outweigh any evidence of the other. Each z may be coupled with a normal N ≥ z, and then
max(z, −L) ≤ max(N, −L), which is N unless N < −L; so the sum with floors is at most the normal one
except with probability 2Φ(−L): `Chain` takes Φ(−L) = level/1000 and charges the level for it.
(How often z itself is below −L is not bounded: a z that is small is small more often than N.)

**Two events.** Where E is too likely on the left and F on the right, both tell, and a test of both
sees what neither shows alone. Let E and F be disjoint, with A and B' of the n draws on the left in
E and in F, A' and B of the m on the right in F and in E. Given A, B' has n − A trials, each a hit
with probability P(F)/(1 − P(E)) ≥ P(F); so P(Bin(n − A, P(F)) ≤ B') is at least the exact tail, and
a p-value given A. The same holds for B given A', of m − A' trials. So four scores, of A, A', B'
given A and B given A', are each at most N(0, 1) given those before. With weights that depend on the
points of E and F only (n and m stand in them, not the trials that are left), half of the squares
for either event, the sum is at most N(0, 1), and its minimum over the points of a claim is the sum
of two minima, one for each event. Floors are charged for all four.

**Chains.** If counts come in blocks, each judged for an event that earlier blocks chose, then given
the past each z is stochastically at most N(0, 1), and for weights with Σw² = 1, w_k known before
block k, so is Σw_k·z_k: put w_K·z_K under E exp(it·) last block first, for normal variables that
bound the z_k from above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from dpverify.arrays import Floats
from dpverify.auditing.statistics.joint_score import Joint, certified, least_at
from dpverify.errors import InvalidParameter, check_between, check_count

_FLOOR_SHARE = 1e-3  # of the level, for each of the two floors of a block
_CELLS, _ROUNDS, _SPLIT = 96, 6, 6
_SLACK = 0.004  # of z, below which cells are not divided further
_ROUND_OFF = 1e-7  # of z, beyond what special functions may err
_FINE = 0.03  # of the statistic's change: how close to its zero the bound is
_WIDER = 1.7  # a slice than the one above it
_NEGLIGIBLE = 1e-4  # of ε
_HIGHEST = 40.0  # beyond which no bound is looked for
LARGEST_EPSILON = 700.0  # e^ε is a float


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often an event happened on the side that it favors and on the other, of how many draws.

    `also` are counts, on the same draws, of a second event that favors the other side and has no
    output in common with the first: see "Two events".
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int
    also: "Counts | None" = None

    def __post_init__(self) -> None:
        check_count("trials", self.trials)
        check_count("other_trials", self.other_trials)
        check_between("hits", self.hits, 0, self.trials)
        check_between("other_hits", self.other_hits, 0, self.other_trials)
        if self.also is not None:
            self._check_beside(self.also)

    def _check_beside(self, also: "Counts") -> None:
        sizes = (also.trials, also.other_trials) == (self.other_trials, self.trials)
        apart = self.hits + also.other_hits <= self.trials
        apart = apart and also.hits + self.other_hits <= also.trials
        if also.also is not None or not sizes or not apart:
            raise InvalidParameter(
                f"also={also!r} must count a second event, apart from the first, on the same draws"
            )

    def __add__(self, more: "Counts") -> "Counts":
        return Counts(
            hits=self.hits + more.hits,
            trials=self.trials + more.trials,
            other_hits=self.other_hits + more.other_hits,
            other_trials=self.other_trials + more.other_trials,
            also=None if self.also is None or more.also is None else self.also + more.also,
        )


def lower_limit(hits: int, trials: int, level: float) -> float:
    """L with P(L > p) ≤ level whatever the true p. [Clopper, Pearson 1934]

    >>> round(lower_limit(10, 10, 0.05), 6) == round(0.05 ** (1 / 10), 6)
    True
    """
    _check_binomial(hits, trials, level)
    return float(scipy.special.betaincinv(hits, trials - hits + 1, level)) if hits else 0.0


def upper_limit(hits: int, trials: int, level: float) -> float:
    """U with P(U < p) ≤ level whatever the true p. [Clopper, Pearson 1934]"""
    return 1.0 - lower_limit(trials - hits, trials, level)


def split_epsilon_lower(counts: Counts, *, delta: float, level: float) -> float:
    """ln((p_lower − δ)/q_upper) with half the level for each limit; 0 if that is not positive."""
    low = lower_limit(counts.hits, counts.trials, level / 2)
    high = upper_limit(counts.other_hits, counts.other_trials, level / 2)
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def rejects(counts: Counts, *, epsilon: float, delta: float, level: float) -> bool:
    """Whether P(E) ≤ e^ε·Q(E) + δ is rejected; if it is true, with probability at most `level`."""
    check_between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    test = _Test.of(counts, delta, level)
    if delta >= 1.0 or test.surplus(epsilon) < 0.0:
        return False
    cuts = _slices(epsilon, _NEGLIGIBLE)
    return test.certified(cuts) == len(cuts) - 1


def epsilon_lower(counts: Counts, *, delta: float = 0.0, level: float) -> float:
    """L ≥ 0 with P(L > ε) ≤ level for events chosen before their counts were drawn.

    >>> seen = Counts(hits=500, trials=1000, other_hits=100, other_trials=1000)
    >>> round(epsilon_lower(seen, level=0.05), 2)
    1.44
    >>> rare = Counts(hits=60, trials=1000, other_hits=10, other_trials=1000)
    >>> both = Counts(hits=60, trials=1000, other_hits=10, other_trials=1000, also=rare)
    >>> round(epsilon_lower(rare, level=0.05), 2), round(epsilon_lower(both, level=0.05), 2)
    (1.16, 1.24)
    """
    test = _Test.of(counts, delta, level)
    if delta >= 1.0 or test.surplus(0.0) < 0.0:
        return 0.0
    near, slope = test.crossing()
    below = max(_FINE / slope, _NEGLIGIBLE)
    cuts = _slices(max(near - below, 0.0), below)
    return float(cuts[test.certified(cuts)])


@dataclass(frozen=True, slots=True)
class _Test:
    """The statistic of one event or two, and the value it needs in order to reject."""

    joints: tuple[Joint, ...]
    needed: float
    known: dict[float, float] = field(default_factory=dict)  # what `surplus` found

    @classmethod
    def of(cls, counts: Counts, delta: float, level: float) -> "_Test":
        check_between("delta", delta, 0.0, 1.0)
        also = counts.also
        pairs = [(counts, 0)] if also is None else [(counts, also.hits), (also, counts.hits)]
        floor = float(scipy.special.ndtri(level * _FLOOR_SHARE))
        joints = tuple(_joint(own, delta, floor, gone) for own, gone in pairs)
        left_over = level * (1.0 - 2.0 * _FLOOR_SHARE * len(joints))
        return cls(joints, critical(left_over) + _ROUND_OFF)

    @property
    def _weight(self) -> float:
        return 1.0 / math.sqrt(len(self.joints))

    def surplus(self, epsilon: float) -> float:
        """By how much the least sum at ε exceeds what is needed, nearly."""
        if epsilon not in self.known:
            total = math.fsum(least_at(joint, epsilon) for joint in self.joints)
            self.known[epsilon] = self._weight * total - self.needed
        return self.known[epsilon]

    def certified(self, cuts: Floats) -> int:
        """How many slices, from the first on, are rejected with all their points."""
        if len(self.joints) == 1:
            return certified(self.joints[0], cuts, self.needed)
        spare = self.surplus(float(cuts[-1])) / (self._weight * len(self.joints))
        return min(
            certified(joint, cuts, least_at(joint, float(cuts[-1])) - spare)
            for joint in self.joints
        )

    def crossing(self) -> tuple[float, float]:
        """Roughly the ε where the statistic falls below what is needed, and how fast it falls."""
        low, high = 0.0, 1.0
        while high < _HIGHEST and self.surplus(high) >= 0.0:
            low, high = high, 2.0 * high
        if high >= _HIGHEST:
            return low, 1.0
        near = float(scipy.optimize.brentq(self.surplus, low, high, xtol=_NEGLIGIBLE))
        low = max(near - 0.01, 0.0)
        return near, max(self.surplus(low) / max(near - low, _NEGLIGIBLE), 0.1)


def _joint(counts: Counts, delta: float, floor: float, gone: int = 0) -> Joint:
    """The statistic of one event; `gone` of the other side's draws are in another event."""
    return Joint(
        hits=counts.hits,
        trials=counts.trials,
        other_hits=counts.other_hits,
        other_trials=counts.other_trials - gone,
        delta=delta,
        floor=floor,
        balance=counts.other_trials / counts.trials,
    )


def _slices(top: float, finest: float) -> Floats:
    """Cut points from 0 to `top`, ever closer towards `top`."""
    steps = math.ceil(math.log(max(top / finest, 1.0)) / math.log(_WIDER))
    widths = finest * _WIDER ** np.arange(steps)
    return np.concatenate([[0.0], (top - widths[widths < top])[::-1], [top]])


def z_score(counts: Counts, *, epsilon: float, delta: float, floor: float) -> float:
    """A test statistic: if P(E) ≤ e^ε·Q(E) + δ, at most N(0, 1), except with chance 2Φ(floor).

    The larger, the stronger the evidence against the claim. Never above the exact minimum over q.
    """
    check_between("epsilon", epsilon, 0.0, LARGEST_EPSILON)
    check_between("delta", delta, 0.0, 1.0)
    if delta >= 1.0:
        return floor
    joint = _joint(counts, delta, floor)
    edge = float(joint.edge(np.array([epsilon]))[0])
    settled = float(joint.beyond(np.array([epsilon]))[0])
    cuts = np.linspace(0.0, math.asin(math.sqrt(edge)), _CELLS + 1)
    lows, highs = cuts[:-1], cuts[1:]
    for _ in range(_ROUNDS):
        q = np.sin(lows) ** 2, np.minimum(np.sin(highs) ** 2, edge)
        at = np.full_like(lows, epsilon)
        bounds = joint.least(q, (at, at))
        doubtful = bounds < min(float(joint.at(q[1], at).min()), settled) - _SLACK
        if not doubtful.all():
            settled = min(settled, float(bounds[~doubtful].min()))
        if not doubtful.any():
            return settled
        shares = np.arange(_SPLIT + 1) / _SPLIT
        finer = lows[doubtful, None] * (1.0 - shares) + highs[doubtful, None] * shares
        lows, highs = finer[:, :-1].ravel(), finer[:, 1:].ravel()
    q = np.sin(lows) ** 2, np.minimum(np.sin(highs) ** 2, edge)
    at = np.full_like(lows, epsilon)
    return min(settled, float(joint.least(q, (at, at)).min()))


@dataclass(frozen=True, slots=True)
class Chain:
    """Counts of blocks, each for an event chosen before it, and the squared weights of blocks.

    The weights are known before their blocks are drawn and add up to 1 at most.
    """

    blocks: tuple[Counts, ...] = ()
    weights: tuple[float, ...] = ()

    def rejects(self, points: Sequence[tuple[float, float]], *, level: float) -> bool:
        """Whether a claim that implies these points (ε, δ), one for each block, is refuted.

        The probability of refuting a true one is at most `level`.
        """
        norm = math.fsum(self.weights)
        left_over = level * (1.0 - 2.0 * _FLOOR_SHARE * len(self.blocks))
        if not self.blocks or norm <= 0.0 or left_over <= 0.0:
            return False
        if len(self.blocks) == 1:
            ((epsilon, delta),) = points
            return rejects(self.blocks[0], epsilon=epsilon, delta=delta, level=level)
        floor = float(scipy.special.ndtri(level * _FLOOR_SHARE))
        total = math.fsum(
            math.sqrt(weight / norm) * z_score(block, epsilon=epsilon, delta=delta, floor=floor)
            for block, weight, (epsilon, delta) in zip(
                self.blocks, self.weights, points, strict=True
            )
        )
        return total >= critical(left_over) + _ROUND_OFF


def critical(level: float) -> float:
    """Φ⁻¹(1 − level)."""
    return -float(scipy.special.ndtri(level))


def _check_binomial(hits: int, trials: int, level: float) -> None:
    check_count("trials", trials)
    check_between("hits", hits, 0, trials)
    check_between("level", level, 0.0, 1.0)
