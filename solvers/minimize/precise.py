"""Minima to any accuracy: damped Newton steps in ball arithmetic of doubling precision.

J(θ) = Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩ is computed as balls that hold the exact value, so what is said of a
point is true of it. A step is taken if J certainly falls by a share of what its slope promises. A
step of length (1 − α)·λ/Λ or more always does, Λ the largest curvature, once the precision is
high enough; it lowers J by α(1 − α)·(λ/Λ)·‖∇J‖²/Λ or more, and J is bounded below. So for every
dataset, every b and every η > 0 the search ends with ‖∇J‖ ≤ λη/2. [Theorem certified-minimum]

It is slow, and meant for what floats cannot settle: they are asked first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

import numpy as np
from flint import arb, arb_mat, ctx

from dpverify.arrays import Floats
from dpverify.balls import float_above
from solvers.losses.base import Loss
from solvers.losses.softmax import classes_of

Bends: TypeAlias = list[list[list[arb]]]  # a record's second derivatives, one row a class

_FIRST_BITS = 128
_FIRST_STEPS = 50  # a precision's share of steps doubles with it, so none is too few for ever
_ARMIJO = 2.0**-10
_ROWS = 4096  # records turned into balls at once
_FLAT = 2.0**-30  # of the largest curvature: ridges below are come to from above
_NARROWER = 4  # bits by which the ridge falls at least, from one minimum to the next
_BITS_A_BIT = 3  # of precision, for each bit that the ridge is below the curvature


def follow_precisely(
    sums: "PreciseSum", start: Sequence[arb | float], *, distance: float
) -> tuple[list[arb], float]:
    """As `minimize_precisely`, for ridges that are tiny beside the losses' curvature, too.

    Newton's method creeps there, past corners of width λ. So the ridge falls to λ by steps, and
    each minimum starts the next: the minimum θ(μ) for the ridge μ makes μ·θ(μ) nearly a straight
    line in μ, with an error of order μ², once the losses have sorted themselves out. So a minimum
    tells where that for its ridge to the power of 3/2 is, and a few steps lead there.
    Which way the point was found is no matter: its bound is computed for it.

    >>> from solvers.losses import Logistic
    >>> risk = LossTerm(Logistic(), np.ones((1, 1)), np.array([1.0]))
    >>> point, bound = follow_precisely(PreciseSum([risk], 1e-300, [4.0]), [0.0], distance=1e270)
    >>> abs(point[0] + arb("3e300")) < 1e285, bound <= 1e270  # −(b − 1)/λ
    (True, True)
    """
    steep = sums.curvature.mid()
    if not steep.is_finite() or not sums.ridge < _FLAT * steep:  # a loss may bound none
        return minimize_precisely(sums, start, distance=distance)
    known: list[tuple[arb, list[arb]]] = []  # the last two ridges, and minima times them
    fallen = 0  # bits
    while (ridge := steep * arb(2) ** -fallen) > sums.ridge:
        narrower = max(_NARROWER, fallen // 2)
        fallen += narrower
        bits = _FIRST_BITS + _BITS_A_BIT * fallen
        with ctx.workprec(bits):
            point, _ = minimize_precisely(
                sums.with_ridge(ridge),
                _foretold(known, ridge) if known else [arb(0)] * sums.size,
                distance=2.0 ** -(narrower + _NARROWER),  # within the width of the next corners
                bits=bits,
            )
            known = [*known[-1:], (ridge, [(ridge * x).mid() for x in point])]
    with ctx.workprec(_FIRST_BITS + _BITS_A_BIT * fallen):
        begin = _foretold(known, sums.ridge)
        return minimize_precisely(sums, begin, distance=distance, bits=int(ctx.prec))


def _foretold(known: list[tuple[arb, list[arb]]], ridge: arb) -> list[arb]:
    """On the line through the last two minima, each times its ridge."""
    if len(known) < 2:
        return [(x / ridge).mid() for x in known[0][1]]
    (wide, before), (narrow, last) = known
    share = (narrow - ridge) / (wide - narrow)
    return [((y + share * (y - x)) / ridge).mid() for x, y in zip(before, last, strict=True)]


def minimize_precisely(
    sums: "PreciseSum",
    start: Sequence[arb | float],
    *,
    distance: float,
    bits: int = _FIRST_BITS,
) -> tuple[list[arb], float]:
    """A point within `distance` of the minimum, as exact numbers, and a bound on its distance.

    >>> from solvers.losses import Squared
    >>> risk = LossTerm(Squared(), np.ones((3, 1)), np.array([0.0, 1.0, 5.0]))
    >>> J = PreciseSum([risk], 2.0, [8.0])
    >>> point, bound = minimize_precisely(J, [0.0], distance=1e-40)
    >>> point[0] - arb(0.5) < 1e-40, bound <= 1e-40
    (True, True)
    """
    point = [x if isinstance(x, arb) else arb(float(x) if isfinite(x) else 0.0) for x in start]
    steps = _FIRST_STEPS
    while True:
        with ctx.workprec(bits):
            for _ in range(steps):
                gradient, bends = sums.gradient(point)
                bound = float_above(norm(gradient) / sums.ridge)
                if bound <= 0.5 * distance:
                    return point, bound
                moved = _step(sums, point, gradient, bends)
                if moved is None:
                    break  # this precision cannot tell better from worse
                point = moved
        bits, steps = 2 * bits, 2 * steps


@dataclass(frozen=True, slots=True, eq=False)
class LossTerm:
    """Σ f(⟨θ, xᵢ⟩; yᵢ) over some rows; f smooth."""

    loss: Loss
    rows: Floats
    labels: Floats

    def blocks(self) -> Iterator[tuple[arb_mat, list[float]]]:
        """The rows as exact matrices, a block at a time, with their labels."""
        for first in range(0, len(self.rows), _ROWS):
            part = self.rows[first : first + _ROWS]
            yield _exact(part), self.labels[first : first + _ROWS].tolist()


class PreciseSum:
    """J for one b: its value, gradient and Newton step as balls at the working precision."""

    def __init__(
        self, terms: Sequence[LossTerm], ridge: arb | float, linear: Sequence[float]
    ) -> None:
        self.terms = terms
        self.ridge = arb(ridge)
        self._linear = [arb(float(b)) for b in linear]
        self._classes = max(classes_of(term.loss) for term in terms)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self._linear)

    @property
    def curvature(self) -> arb:
        """About the largest that the losses have."""
        squares = [term.loss.sharpness * float((term.rows**2).sum()) for term in self.terms]
        return arb(sum(squares))

    def with_ridge(self, ridge: arb) -> "PreciseSum":
        """The same with another ridge."""
        other = PreciseSum(self.terms, ridge, [])
        other._linear = self._linear
        return other

    def _matrix(self, point: Sequence[arb]) -> arb_mat:
        return arb_mat(len(point) // self._classes, self._classes, list(point))

    def scores(self, point: Sequence[arb]) -> Iterator[tuple[Loss, list[arb], float]]:
        """The loss, scores and label of each row of each term."""
        theta = self._matrix(point)
        for term in self.terms:
            for rows, labels in term.blocks():
                for scores, label in zip((rows * theta).tolist(), labels, strict=True):
                    yield term.loss, scores, label

    def value(self, point: Sequence[arb]) -> arb:
        """J(θ)."""
        total = sum((b * x + self.ridge * x * x / 2 for b, x in self._pairs(point)), arb(0))
        for loss, scores, label in self.scores(point):
            total += loss.precise(scores, label)[0]
        return total

    def gradient(self, point: Sequence[arb]) -> tuple[list[arb], Bends]:
        """∇J(θ), and each record's second derivatives in its scores."""
        slopes: list[arb] = []
        bends: Bends = []
        for loss, scores, label in self.scores(point):
            _, slope, bend = loss.precise(scores, label)
            slopes.extend(slope)
            bends.append(bend)
        pulled = self.pull(slopes)
        return [p + self.ridge * x for p, x in zip(pulled, point, strict=True)], bends

    def pull(self, slopes: list[arb]) -> list[arb]:
        """Σ aᵢ·xᵢ + b over the rows of all terms."""
        k, first = self._classes, 0
        total = self._matrix(self._linear)
        for term in self.terms:
            for rows, labels in term.blocks():
                part = slopes[first : first + k * len(labels)]
                first += len(part)
                total += rows.transpose() * arb_mat(len(labels), k, part)
        return list(total.entries())

    def direction(self, gradient: list[arb], bends: Bends) -> list[arb] | None:
        """−H⁻¹·∇J, or None if this precision cannot show that H is regular.

        With fewer scores than parameters, H⁻¹ = (I − Aᵀ(λI + WAAᵀ)⁻¹WA)/λ for H = λI + AᵀWA.
        """
        size, count = len(gradient), len(bends) * self._classes
        right = arb_mat(size, 1, [-g for g in gradient])
        if count == 0:
            return [r / self.ridge for r in right.entries()]
        try:
            if count >= size:
                return list(self._hessian(bends).solve(right).entries())
            tall = self._tall()
            bent = _bent(bends, tall, self._classes)
            small = bent * tall.transpose() + _diagonal(count, self.ridge)
            pulled = tall.transpose() * small.solve(bent * right)
        except ZeroDivisionError:
            return None
        both = zip(right.entries(), pulled.entries(), strict=True)
        return [(r - p) / self.ridge for r, p in both]

    def _tall(self) -> arb_mat:
        """The matrix A (n·K, d·K) with scores Aθ."""
        rows = np.concatenate([term.rows for term in self.terms])
        return _exact(np.kron(rows, np.eye(self._classes)))

    def _hessian(self, bends: Bends) -> arb_mat:
        k, d = self._classes, len(self._linear) // self._classes
        sums = {(i, j): arb_mat(d, d) for i in range(k) for j in range(i, k)}
        first = 0
        for term in self.terms:
            for rows, labels in term.blocks():
                part, table = bends[first : first + len(labels)], rows.tolist()
                first += len(labels)
                for (i, j), total in sums.items():
                    both = zip(part, table, strict=True)
                    scaled = [bend[i][j] * x for bend, row in both for x in row]
                    total += rows.transpose() * arb_mat(len(part), d, scaled)  # noqa: PLW2901
                    sums[i, j] = total
        tables = {pair: total.tolist() for pair, total in sums.items()}
        entries = [
            tables[min(i, j), max(i, j)][a][c]
            for a in range(d)
            for i in range(k)
            for c in range(d)
            for j in range(k)
        ]
        return arb_mat(d * k, d * k, entries) + _diagonal(d * k, self.ridge)

    def _pairs(self, point: Sequence[arb]) -> Iterator[tuple[arb, arb]]:
        return zip(self._linear, point, strict=True)


def _step(
    sums: PreciseSum, point: list[arb], gradient: list[arb], bends: Bends
) -> list[arb] | None:
    """The next point, where J is certainly lower; None if this precision finds none."""
    direction = sums.direction(gradient, bends)
    if direction is None:
        return None
    direction = [x.mid() for x in direction]
    fall = sum((g * x for g, x in zip(gradient, direction, strict=True)), arb(0))
    if not fall < 0:
        return None
    before, length = sums.value(point), arb(1)
    for _ in range(int(ctx.prec)):
        trial = [(x + length * s).mid() for x, s in zip(point, direction, strict=True)]
        if sums.value(trial) - before < _ARMIJO * length * fall:
            return trial
        length /= 2
    return None


def _bent(bends: Bends, tall: arb_mat, classes: int) -> arb_mat:
    """W·A, W block diagonal with one block a record."""
    rows, entries = tall.tolist(), []
    for first, bend in enumerate(bends):
        part = rows[first * classes : (first + 1) * classes]
        for weights in bend:
            for column in zip(*part, strict=True):
                both = zip(weights, column, strict=True)
                entries.append(sum((w * x for w, x in both), arb(0)))
    return arb_mat(len(rows), tall.ncols(), entries)


def _exact(rows: Floats) -> arb_mat:
    return arb_mat(len(rows), int(rows.shape[1]), rows.ravel().tolist())


def _diagonal(size: int, value: arb) -> arb_mat:
    matrix = arb_mat(size, size)
    for i in range(size):
        matrix[i, i] = value
    return matrix


def norm(vector: Sequence[arb]) -> arb:
    """‖vector‖₂; also where the ball around the sum of squares contains 0."""
    total = sum((x * x for x in vector), arb(0))
    return total.sqrt() if total > 0 else arb(0).union(total.abs_upper().sqrt())
