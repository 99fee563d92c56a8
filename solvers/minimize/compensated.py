"""Minima where a plain float gradient says too little: scores to twice the digits, in floats.

Of many records, or of weights that are large along a direction that the records hardly see, the
rounding of scores hides the gradient. Here weights are sums of two floats, and scores are summed
with what each step of the sum has lost. [Ogita, Rump, Oishi, SIAM J. Sci. Comput. 26, 2005,
Algorithm 5.3] For a record x, weights θ = h + l with |l| ≤ u|h| and R = Σ|xⱼhⱼ| ≤ ‖x‖·‖h‖:

- the rounding errors πⱼ of the products xⱼhⱼ and σⱼ of the steps of their sum p are floats, and
  ⟨x, h⟩ = p + Σ(πⱼ + σⱼ). |πⱼ| ≤ u|xⱼhⱼ|, and |σⱼ| ≤ u(1 + γ_d)R as every partial sum is
  at most (1 + γ_d)R;
- πⱼ, σⱼ and xⱼlⱼ, rounded once more, are added up in floats: 3d terms of total size at most
  uR + d·u(1 + γ_d)R + u(1 + u)R ≤ (d + 3)·u·R for d·u ≤ 2^-20, which lose γ_(3d + 1) of that;
- the score is p and that sum as one float, s, which is off by u|s| more. Of several classes only
  differences count, as softmax is the same for scores plus a constant: that of the first class is
  taken off before that. p − p₀ is a float and its rounding error, at most u(1 + γ_d)(R + R₀), which
  is one more term of the rest; to add it and the rest of p₀ are two more roundings.

So |s − ⟨x, θ − θ₀⟩| ≤ u|s| + γ_(3d + 4)·(d + 4)·u·(R + R₀) and what underflows: like u² in the
weights, where a plain sum is off by γ_d·R. The rest is as in `certificate`: the slope at s is off
by what its own computation loses, and by what the score's error makes of it: at most the loss's
sharpness times that, and next to nothing far from where the loss bends. Blocks of 32 slopes times
records are summed by the library, and all blocks exactly.
"""

import math
from dataclasses import replace

import numpy as np

from dpverify.arrays import Floats, lengths
from solvers.losses.base import UNIT
from solvers.minimize.certificate import ROOM, gamma, row_lengths, slope_sizes
from solvers.minimize.objective import Objective

_SPLIT = 2.0**27 + 1.0  # Veltkamp's
_BLOCK = 32  # records summed by the linear algebra library
_ROWS = 1 << 13  # records looked at at once
_MOST = 2000  # parameters of which a Hessian is formed
_UNDERFLOW = 2.0**-1000  # what may underflow in one product, many times over
_STEPS = 40
_HALF = 0.5
_TRIES = 3
_FLOORS = (0.0, 1.0, 2.0**20)  # of curvatures that rounding hides, in units of what it hides


def minimize_compensated(
    objective: Objective, linear: Floats, start: Floats, *, distance: float
) -> tuple[Floats, float]:
    """The best point that was found, and a bound on its distance from the minimum, or ∞.

    It stops where the bound is at most `distance`, or gets no better.

    >>> from solvers.losses import Logistic
    >>> X = np.repeat([[0.6, 0.8]], 1000, axis=0)
    >>> J = Objective(Logistic(), X, np.repeat([1.0, -1.0], 500), ridge=1e-14)
    >>> point, bound = minimize_compensated(J, np.array([4.0, -3.0]), np.zeros(2), distance=1e6)
    >>> (1e-14 * point).round(6).tolist(), bound <= 1e6
    ([-4.0, 3.0], True)
    """
    if objective.dimension > _MOST:
        return start, math.inf
    here = _Place.at(objective, linear, start, np.zeros_like(start))
    if not math.isfinite(here.length):
        return start, math.inf
    for _ in range(_STEPS):
        if here.bound(objective.ridge) <= distance or here.length <= here.error:
            break
        there = _stepped(objective, linear, here)
        if there is None:
            break
        here = there
    return here.high, here.bound(objective.ridge)


class _Place:
    """Weights as sums of two floats, scores there, the gradient and a bound on its error."""

    def __init__(
        self, high: Floats, low: Floats, scores: Floats, gradient: Floats, error: float
    ) -> None:
        self.high, self.low, self.scores = high, low, scores
        self.gradient, self.error = gradient, error
        self.length = float(lengths(gradient))

    @classmethod
    def at(cls, objective: Objective, linear: Floats, high: Floats, low: Floats) -> "_Place":
        """For weights `high` + `low`, of which the second is at most half a unit of the first."""
        n, d = objective.features.shape
        classes = len(high) // d
        size = float(lengths(high))
        several = objective.width > 1
        scores = np.empty((n, classes))
        # λ(h + l) + b, exactly but for the rounding of λl.
        product, lost = _product(np.asarray(objective.ridge), high)
        sums = [product[None], lost[None], (objective.ridge * low)[None], linear[None]]
        errors, sizes = [], []
        apart = gamma(3 * d + 4) * (d + 4) * UNIT * ROOM * size * (1.0 + math.sqrt(classes))
        for first in range(0, n, _ROWS):
            part = slice(first, first + _ROWS)
            rows, labels = objective.features[part], objective.labels[part]
            found = _scores(rows, high.reshape(d, classes), low.reshape(d, classes))
            scores[part] = found
            given = found[None] if several else found.T
            norms = row_lengths(rows)
            slopes = objective.loss.slopes(given, labels)
            # Of several classes the scores' errors are a vector, whose length counts.
            off = UNIT * lengths(found) + apart * norms + d * _UNDERFLOW
            lost_slopes = slope_sizes(objective.loss.slope_errors(given, labels))[0]
            moved = _moved_slopes(objective, given, labels, off)
            lost_slopes = lost_slopes + np.minimum(moved, objective.loss.sharpness * off)
            errors.append(float(lost_slopes @ norms))
            sizes.append(float(slope_sizes(slopes)[0] @ norms))
            sums.append(_block_sums(rows, slopes[0].reshape(len(rows), classes)))
        table = np.concatenate(sums)
        gradient = np.array([math.fsum(column.tolist()) for column in table.T])
        rounding = gamma(_BLOCK + 2) * math.fsum(sizes)
        rest = UNIT * float(lengths(gradient) + objective.ridge * lengths(low))
        error = (math.fsum(errors) + rounding + 4.0 * rest) * (ROOM + gamma(_ROWS + d))
        found_error = error + len(high) * _UNDERFLOW
        return cls(high, low, scores, gradient, found_error if found_error >= 0.0 else math.inf)

    def bound(self, ridge: float) -> float:
        """On the distance of `high` from the minimum."""
        away = (self.length + self.error) / ridge + float(lengths(self.low))
        return away * ROOM if away >= 0.0 else math.inf  # NaN is no bound


def _stepped(objective: Objective, linear: Floats, here: _Place) -> _Place | None:
    """A place with at most half the gradient, by a few steps with one Hessian; or None.

    Curvatures that rounding hides are taken for the ridge alone at first, and for more if that
    leads too far. A long step along them is off by its rounding across them, and the next mends it.
    """
    hessian = _hessian(objective, here.scores)
    if not np.isfinite(hessian).all():
        return None
    values, vectors = np.linalg.eigh(hessian)
    hidden = 2.0**-44 * max(float(values[-1]), objective.ridge)
    for floor in _FLOORS:
        kept = np.where(values > hidden, values, floor * hidden) + objective.ridge
        there = here
        for _ in range(_TRIES):
            step = -(vectors @ ((vectors.T @ there.gradient) / kept))
            there = _Place.at(objective, linear, *_added(there.high, there.low, step))
            if there.length <= _HALF * here.length:
                return there
    return None


def _hessian(objective: Objective, scores: Floats) -> Floats:
    """Without the ridge."""
    total = np.zeros((objective.dimension, objective.dimension))
    for first in range(0, len(scores), _ROWS):
        part = slice(first, first + _ROWS)
        rows, labels = objective.features[part], objective.labels[part]
        given = scores[part][None] if objective.width > 1 else scores[part].T
        bends = objective.loss.curvatures(given, labels)
        total += replace(objective, features=rows, labels=labels).squares().hessians(bends, 0.0)[0]
    return total


def _added(high: Floats, low: Floats, step: Floats) -> tuple[Floats, Floats]:
    """(high + low) + step as two floats, of which the second is below half a unit of the first."""
    total, lost = _sum(high, step)
    return _sum(total, lost + low)


def _scores(rows: Floats, high: Floats, low: Floats) -> Floats:
    """⟨x, h + l⟩ for each row and class (n, K), less that of the first of several classes."""
    total = np.zeros((len(rows), high.shape[1]))
    rest = np.zeros_like(total)
    for x, h, l in zip(rows.T, high, low, strict=True):  # noqa: E741  # as above
        column = np.ascontiguousarray(x)[:, None]
        product, lost = _product(column, h)
        total, more = _sum(total, product)
        rest += lost
        rest += more
        rest += column * l
    if high.shape[1] > 1:
        total, more = _sum(total, -total[:, :1])
        rest = (rest - rest[:, :1]) + more
    found: Floats = total + rest
    return found


def _sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b rounded, and exactly what that lost. [Knuth]"""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a·b rounded, and exactly what that lost, unless something underflows. [Dekker, Veltkamp]"""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """Two floats of half the digits whose sum is a."""
    large = _SPLIT * a
    upper = large - (large - a)
    return upper, a - upper


def _moved_slopes(objective: Objective, scores: Floats, labels: Floats, off: Floats) -> Floats:
    """How far f′ is from that at a score within `off`, where few records are near a bend.

    f′ is monotone, so it stays between those on both sides. Of several classes, e^2δ bounds the
    ratio of probabilities at scores that are δ apart, of 1 − p as well; e^2δ − 1 ≤ 2.7δ up to 1/4.
    """
    loss = objective.loss
    if objective.width > 1:
        sizes = slope_sizes(loss.slopes(scores, labels)) + slope_sizes(
            loss.slope_errors(scores, labels)
        )
        return np.where(off <= 0.25, 2.7 * off * sizes[0] * ROOM, np.inf)
    room = off * ROOM + 2.0 * UNIT * np.abs(scores[0])
    ends = [scores + room, scores - room]
    between = loss.slopes(ends[0], labels) - loss.slopes(ends[1], labels)
    lost: Floats = between + loss.slope_errors(ends[0], labels) + loss.slope_errors(ends[1], labels)
    return np.asarray(lost[0] * ROOM)


def _block_sums(rows: Floats, slopes: Floats) -> Floats:
    """Σ xᵢ ⊗ slopesᵢ over blocks of records: (blocks, d·K)."""
    n, d = rows.shape
    whole = n // _BLOCK * _BLOCK
    classes = slopes.shape[1]
    left = rows[:whole].reshape(-1, _BLOCK, d).transpose(0, 2, 1)
    sums = np.matmul(left, slopes[:whole].reshape(-1, _BLOCK, classes)).reshape(-1, d * classes)
    last = (rows[whole:].T @ slopes[whole:]).reshape(1, -1)
    return np.concatenate([sums, last])
