"""Minima to any accuracy with corners: of losses, of an ℓ1 norm or of a domain.

Each corner is a loss of two straight lines on a row of its own. An ℓ1 norm has the rows eⱼ, slopes
±lasso and a corner at 0; the bound θⱼ ≤ u has the row eⱼ, slopes 0 and M and a corner at u: for M
above the bound's multiplier the minimum is that of the bounded problem. All are rounded off, and
minimized by `precise`. As the width falls to 0 the minimum tends to that of the corners, and so
does the duality gap of its slopes a to 0, which is computed as balls:

    Σ[f(s) + f*(a) − a·s] + [(λ/2)‖θ‖² + ⟨v, θ⟩ − min over the ball of the same],  v = Σ aᵢxᵢ + b,

at the point θ moved into the domain. On a ball ‖θ‖ ≤ r the minimum is the one with a ridge λ + μ,
and bisection finds the multiplier μ. So here too the search ends for every dataset, whatever the
distance that is asked for. [Theorem certified-minimum]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above
from solvers.domains import Ball, Box, Domain, Simplex
from solvers.losses.base import TwoLines
from solvers.minimize.corners import Rounded
from solvers.minimize.precise import LossTerm, PreciseSum, minimize_precisely, norm

if TYPE_CHECKING:
    from solvers.minimize.problem import Problem

_NARROWER = 2.0**-6
_FIRST_BITS = 256
_MORE_BITS = 64  # for each width
_BITS_A_BISECTION = 8


@dataclass(frozen=True, slots=True)
class _Lines(TwoLines):
    """max(low·(s − y), high·(s − y)): an ℓ1 norm or one side of a bound."""

    name = "lines"
    labels = "bounded"
    monotone = False

    low: float
    high: float

    @property
    def steepest(self) -> float:
        return max(-self.low, self.high)

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        at = np.asarray(labels, np.float64)
        return at, np.full_like(at, self.low), np.full_like(at, self.high)


def minimize_corners_precisely(
    problem: "Problem",
    data: tuple[Floats, Floats],
    linear: Floats,
    *,
    start: Floats,
    distance: float,
) -> tuple[list[arb], float]:
    """A point of the domain within `distance` of the minimum, and a bound on its distance."""
    search = _Search(problem, linear, start.tolist(), distance * min(distance, 1.0) * 2.0**-20)
    width, steep, bits = 1.0, _steepest(problem, data, linear), _FIRST_BITS
    while True:
        with ctx.workprec(bits):
            for inside, bound in search.tried(_terms(problem, data, steep, width)):
                if bound <= distance:
                    return inside, bound
            search.narrow()
        width, steep, bits = width * _NARROWER, 2.0 * steep, bits + _MORE_BITS


@dataclass(slots=True)
class _Search:
    """The current point of the search, and the width to which corners are smoothed."""

    problem: "Problem"
    linear: Floats
    point: Sequence[arb | float]
    aim: float
    wider: Sequence[arb] | None = None  # the minimum at the last width

    def tried(self, terms: list[LossTerm]) -> Iterator[tuple[list[arb], float]]:
        """Points of the domain with error bounds, for the ridge λ and (on a ball) for λ + μ.

        μ is bisected where the minimum leaves the ball: ‖θ‖ falls as μ grows, and is at most
        ‖∇J(0)‖/(λ + μ).
        """
        domain, ridge = self.problem.domain, arb(self.problem.ridge)
        sums = PreciseSum(terms, ridge, self.linear.tolist())
        yield self._one(sums)
        if not isinstance(domain, Ball) or not self._outside(domain):
            return
        steep = norm(sums.gradient([arb(0)] * len(self.linear))[0])
        low, high = arb(0), (steep / ball(domain.radius)).mid() + ridge
        for _ in range(int(ctx.prec) // _BITS_A_BISECTION):
            middle = ((low + high) / 2).mid()
            yield self._one(PreciseSum(terms, ridge + middle, self.linear.tolist()))
            low, high = (middle, high) if self._outside(domain) else (low, middle)

    def _outside(self, domain: Ball) -> bool:
        return bool(norm([arb(x) for x in self.point]) > domain.radius)

    def _one(self, sums: PreciseSum) -> tuple[list[arb], float]:
        """The better of the smoothed minimum and its extrapolation to width 0."""
        point, _ = minimize_precisely(sums, self.point, distance=self.aim)
        self.point, known = point, self.wider
        options = [point]
        if known is not None:
            share = arb(_NARROWER) / (1 - arb(_NARROWER))
            options.append([(x + share * (x - y)).mid() for x, y in zip(point, known, strict=True)])
        return min((self._bounded(sums, point, option) for option in options), key=lambda o: o[1])

    def _bounded(
        self, sums: PreciseSum, point: Sequence[arb], option: Sequence[arb]
    ) -> tuple[list[arb], float]:
        inside = _moved(self.problem.domain, option)
        gap = _gap(self.problem, sums, point, inside).upper().max(arb(0))
        return inside, float_above((2 * gap / ball(self.problem.ridge)).upper().sqrt())

    def narrow(self) -> None:
        """Begin the next width at the point extrapolated from the last two."""
        now = [arb(x) for x in self.point]
        if self.wider is not None:
            pairs = zip(now, self.wider, strict=True)
            self.point = [(x + _NARROWER * (x - y)).mid() for x, y in pairs]
        self.wider, self.aim = now, self.aim * _NARROWER


def _steepest(problem: "Problem", data: tuple[Floats, Floats], linear: Floats) -> float:
    """A first value for M, a bound on the gradient over the domain; doubled as needed."""
    features, labels = data
    middle = problem.domain.project(np.zeros(features.shape[1]))
    slopes = problem.loss.slopes(features @ middle, labels)
    total = np.abs(slopes).sum() + np.abs(linear).sum() + problem.ridge + problem.regularizer.lasso
    return float(4.0 * (1.0 + total))


def _terms(
    problem: "Problem", data: tuple[Floats, Floats], steep: float, width: float
) -> list[LossTerm]:
    d = data[0].shape[1]
    loss = problem.loss if problem.loss.smooth else Rounded(problem.loss, width)
    terms = [LossTerm(loss, *data)]

    def add(low: float, high: float, rows: Floats, at: Floats) -> None:
        terms.append(LossTerm(Rounded(_Lines(low, high), width), rows, at))

    lasso, domain = problem.regularizer.lasso, problem.domain
    if lasso and not isinstance(domain, Simplex):
        add(-lasso, lasso, np.eye(d), np.zeros(d))
    if isinstance(domain, Box):
        low, high = domain.project(np.full((2, d), [[-np.inf], [np.inf]]))
        add(-steep, 0.0, np.eye(d), low)
        add(0.0, steep, np.eye(d), high)
    if isinstance(domain, Simplex):
        add(-steep, 0.0, np.eye(d), np.zeros(d))
        add(-steep, steep, np.ones((1, d)), np.ones(1))
    return terms


def _moved(domain: Domain, point: Sequence[arb]) -> list[arb]:
    """The point projected to the domain: balls that contain one point of it."""
    if isinstance(domain, Ball):
        length = norm(point)
        if length <= domain.radius:
            return list(point)
        share = (ball(domain.radius) / length).min(arb(1))
        return [x * share for x in point]
    if isinstance(domain, Box):
        low, high = domain.project(np.full((2, len(point)), [[-np.inf], [np.inf]])).tolist()
        return [x.max(arb(a)).min(arb(b)) for x, a, b in zip(point, low, high, strict=True)]
    if isinstance(domain, Simplex):
        kept = [x.max(arb(0)) for x in point]
        total = sum(kept, arb(0))
        return [x / total for x in kept] if total > 0 else [arb(1) / len(kept) for _ in kept]
    return list(point)


def _gap(
    problem: "Problem",
    sums: PreciseSum,
    point: Sequence[arb],
    inside: Sequence[arb],
) -> arb:
    """The duality gap between the point in the domain and the slopes at the other point."""
    total, slopes = arb(0), []
    there = [s for _, s, _ in sums.scores(inside)]
    for (loss, scores, label), moved in zip(sums.scores(point), there, strict=True):
        value, slope, _ = loss.precise(scores, label)
        slopes.extend(slope)
        if isinstance(loss, Rounded):
            corner, low, high = (arb(float(x)) for x in loss.loss.corners(label))
            off = moved[0] - corner
            total += (high - slope[0]) * off.max(arb(0)) + (slope[0] - low) * (-off).max(arb(0))
        else:
            total += loss.precise(moved, label)[0] - value - slope[0] * (moved[0] - scores[0])
    pull, ridge = sums.pull(slopes), ball(problem.ridge)
    total += sum((p * x + ridge * x * x / 2 for p, x in zip(pull, inside, strict=True)), arb(0))
    length = norm(pull)
    if isinstance(problem.domain, Ball) and length / ridge > problem.domain.radius:
        r = ball(problem.domain.radius)
        return total + length * r - ridge * r * r / 2
    return total + length * length / (2 * ridge)
