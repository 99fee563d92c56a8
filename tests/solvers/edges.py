"""Datasets on the edge of their bounds, drawn at random, and what must hold of every fit on them.

A case is a problem with a mechanism, a dataset and a neighbor of it. Whatever was refused, was
refused when the mechanism was built, from public numbers: `check` raises if a fit does.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath
import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import Bounds, Problem
from solvers.domains import Ball, Box, Domain, WholeSpace
from solvers.losses import Absolute, Hinge, HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize.regularizers import ElasticNet, Regularizer, Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation

Data: TypeAlias = tuple[Floats, Floats]
Mechanism: TypeAlias = ObjectivePerturbation | OutputPerturbation

KINDS = ("sphere", "duplicated", "zero", "opposite", "axes", "tiny", "mixed")
LOSSES: tuple[Loss, ...] = (
    Logistic(),
    HuberHinge(0.5),
    HuberHinge(1e-3),
    Squared(),
    Hinge(),
    Absolute(),
    Softmax(3),
)
DIGITS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A mechanism, and two neighboring datasets within its bounds."""

    mechanism: Mechanism
    data: Data
    neighbor: Data
    seed: int

    @property
    def problem(self) -> Problem:
        return self.mechanism.problem

    def __str__(self) -> str:
        n, d = self.data[0].shape
        return f"case {self.seed}: {self.mechanism!r} on {n} records of {d} features"


def cases(seeds: range) -> Iterator[Case]:
    """One case for each seed."""
    for seed in seeds:
        yield case(seed)


def case(seed: int) -> Case:
    """The case of a seed; settings that no noise can meet are drawn again."""
    rng = np.random.default_rng([17, seed])
    while True:
        norm = 10.0 ** rng.uniform(-12.0, 12.0)
        loss = LOSSES[rng.integers(len(LOSSES))]
        d = int(rng.choice([1, 1, 2, 3, 5, 40]))
        try:
            mechanism = _mechanism(rng, loss, norm)
            mechanism.noise(d * loss.classes if isinstance(loss, Softmax) else d)
        except InvalidParameter:  # the ridge is too small for the budget, which is public
            continue
        n = _records(rng, plain=mechanism.problem.plain)
        data = _data(rng, loss, norm, (n, d))
        return Case(mechanism, data, _neighbor(rng, loss, norm, data), seed)


def _records(rng: np.random.Generator, *, plain: bool) -> int:
    most = 10_000 if plain and rng.random() < 0.03 else 40
    return int(rng.choice([0, 1, 2, 3, int(rng.integers(most + 1)), int(rng.integers(most + 1))]))


def _mechanism(rng: np.random.Generator, loss: Loss, norm: float) -> Mechanism:
    epsilon = 10.0 ** rng.uniform(-2.0, 2.0)
    delta = 10.0 ** rng.uniform(-12.0, -3.0)
    pure = rng.random() < 0.5
    budget = PureDP(epsilon=epsilon) if pure else ApproxDP(epsilon=epsilon, delta=delta)
    ridge = norm**2 * 10.0 ** rng.uniform(-6.0, 6.0)
    penalty: Regularizer = Ridge(ridge)
    domain: Domain = WholeSpace()
    if not isinstance(loss, Softmax) and (isinstance(loss, Squared) or rng.random() < 0.2):
        radius = 10.0 ** rng.uniform(-2.0, 2.0) / norm
        domain = Ball(radius) if rng.random() < 0.7 else Box(-radius, 2.0 * radius)
    if not isinstance(loss, Softmax) and rng.random() < 0.1:
        penalty = ElasticNet(ridge, norm * 10.0 ** rng.uniform(-3.0, 1.0))
    bounds = Bounds(norm=norm, label_bound=2.0)
    if isinstance(loss, Softmax):
        bounds = Bounds(norm=norm, labels=(0, 1, 2))
    elif not isinstance(loss, (Squared, Absolute)):
        bounds = Bounds(norm=norm, labels=(-1, 1))
    problem = Problem(loss=loss, bounds=bounds, regularizer=penalty, domain=domain)
    relation = Relation.ADD_REMOVE
    if loss.smooth and not isinstance(domain, Box) and rng.random() < 0.6:
        return ObjectivePerturbation(problem=problem, budget=budget, relation=relation)
    return OutputPerturbation(problem=problem, budget=budget, relation=relation)


def edge_rows(rng: np.random.Generator, kind: str, norm: float, shape: tuple[int, int]) -> Floats:
    n, d = shape
    rows = rng.standard_normal((n, d))
    rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
    shares: Floats = np.ones((n, 1))
    if kind == "duplicated":
        rows = np.repeat(rows[:1], n, axis=0)
    elif kind == "zero":
        shares = np.zeros((n, 1))
    elif kind == "opposite":
        rows = np.repeat(rows[:1], n, axis=0)
        shares = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    elif kind == "axes":
        rows = norm * np.eye(d)[rng.integers(d, size=n)]
        shares = rng.choice([-1.0, 1.0], (n, 1))
    elif kind == "tiny":
        shares = 10.0 ** rng.uniform(-300.0, 0.0, (n, 1))
    elif kind == "mixed":
        shares = rng.choice([0.0, 1e-9, 1.0], (n, 1))
    return rows * shares


def _labels(rng: np.random.Generator, loss: Loss, n: int) -> Floats:
    allowed = [0.0, 1.0, 2.0] if isinstance(loss, Softmax) else [-1.0, 1.0]
    if isinstance(loss, (Squared, Absolute)):
        allowed = [-2.0, 2.0, 0.0, float(rng.uniform(-2.0, 2.0))]
    if rng.random() < 0.4:  # one class
        return np.full(n, allowed[rng.integers(len(allowed))])
    return rng.choice(allowed, n)


def _data(rng: np.random.Generator, loss: Loss, norm: float, shape: tuple[int, int]) -> Data:
    kind = KINDS[rng.integers(len(KINDS))]
    return edge_rows(rng, kind, norm, shape), _labels(rng, loss, shape[0])


def _neighbor(rng: np.random.Generator, loss: Loss, norm: float, data: Data) -> Data:
    """One record less, or one more at the edge."""
    rows, labels = data
    if len(rows) and rng.random() < 0.5:
        gone = int(rng.integers(len(rows)))
        return np.delete(rows, gone, axis=0), np.delete(labels, gone)
    more, label = _data(rng, loss, norm, (1, rows.shape[1]))
    return np.concatenate([rows, more]), np.concatenate([labels, label])


# what must hold


def check(each: Case, *, exactly: bool) -> None:
    """Both fits end with finite numbers, and what the certificates say of the solves is true."""
    for data in (each.data, each.neighbor):
        rng = np.random.default_rng(each.seed)
        size = each.problem.size(data[0])
        released = each.mechanism.sample(data, 1, rng=rng)
        assert released.shape == (1, size)
        assert np.isfinite(released).all()
        check_certificate(each, data, exactly=exactly)


def check_certificate(each: Case, data: Data, *, exactly: bool) -> None:
    """Within what the claim allows; and the exact minimum is no further than was said."""
    mechanism, size = each.mechanism, each.problem.size(data[0])
    if isinstance(mechanism, ObjectivePerturbation):
        linear = mechanism.noise(size).draw_real(1, size, np.random.default_rng(each.seed))
        solution, allowed = mechanism.solve(data, linear), mechanism.tolerance(size)
    else:
        linear = np.zeros((1, size))
        solution, allowed = mechanism.solve(data), mechanism.tolerance(size)
    assert solution.certificate.distance <= allowed
    if exactly and each.problem.plain and size <= 15 and len(data[0]) <= 60:
        data = each.problem.prepare(data)
        with mpmath.workdps(DIGITS):
            exact = exact_minimum(each.problem, data, linear[0])
            if exact is None:
                return
            pairs = zip(solution.points[0].tolist(), exact, strict=True)
            off = mpmath.sqrt(mpmath.fsum((mpmath.mpf(x) - y) ** 2 for x, y in pairs))
            assert off <= solution.distances[0]


def exact_minimum(problem: Problem, data: Data, linear: Floats) -> list[mpmath.mpf] | None:
    """The minimum to 100 digits; None for corner losses of several features."""
    if problem.loss.smooth:
        return _newton(problem, data, linear)
    if data[0].shape[1] == 1:
        return [_corner_minimum(problem, data, float(linear[0]))]
    return None


def _written_out(
    loss: Loss, scores: list[mpmath.mpf], label: float
) -> tuple[Any, list[Any], list[list[Any]]]:
    """f, f′ and f″ of one record, written out once more."""
    s, y = scores[0], mpmath.mpf(label)
    if isinstance(loss, Logistic):
        p = 1 / (1 + mpmath.exp(y * s))
        return mpmath.log1p(mpmath.exp(-abs(s))) + max(-y * s, 0), [-y * p], [[p * (1 - p)]]
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.width)
        deep = max(1 + h - y * s, 0)
        value = deep - h if deep > 2 * h else deep**2 / (4 * h)
        bend = 1 / (2 * h) if 0 < deep < 2 * h else mpmath.mpf(0)
        return value, [-y * min(deep / (2 * h), 1)], [[bend]]
    if isinstance(loss, Squared):
        return (s - y) ** 2, [2 * (s - y)], [[mpmath.mpf(2)]]
    top = max(scores)
    weights = [mpmath.exp(x - top) for x in scores]
    total = mpmath.fsum(weights)
    p = [w / total for w in weights]
    bends = [[(q if j == k else 0) - q * r for k, r in enumerate(p)] for j, q in enumerate(p)]
    own = int(label)
    return mpmath.log(total) + top - scores[own], [q - (k == own) for k, q in enumerate(p)], bends


def _newton(problem: Problem, data: Data, linear: Floats) -> list[mpmath.mpf]:
    """Newton's method in 100 digits; steps are halved until J falls."""
    ridge, (rows, labels) = mpmath.mpf(problem.ridge), data
    k = problem.loss.classes if isinstance(problem.loss, Softmax) else 1
    size, exact = len(linear), [[mpmath.mpf(x) for x in row] for row in rows.tolist()]
    b = mpmath.matrix([mpmath.mpf(x) for x in linear.tolist()])

    def at(theta: mpmath.matrix) -> tuple[Any, mpmath.matrix, mpmath.matrix]:
        value = (theta.T * (ridge / 2 * theta + b))[0]
        gradient, hessian = ridge * theta + b, ridge * mpmath.eye(size)
        for row, label in zip(exact, labels.tolist(), strict=True):
            scores = [
                mpmath.fsum(x * theta[i * k + c] for i, x in enumerate(row)) for c in range(k)
            ]
            loss, slopes, bends = _written_out(problem.loss, scores, label)
            value += loss
            for i, c in itertools.product(range(len(row)), range(k)):
                if row[i] == 0:
                    continue
                gradient[i * k + c] += slopes[c] * row[i]
                for j, e in itertools.product(range(len(row)), range(k)):
                    hessian[i * k + c, j * k + e] += bends[c][e] * row[i] * row[j]
        return value, gradient, hessian

    theta = mpmath.matrix(size, 1)
    value, gradient, hessian = at(theta)
    # Values have 100 digits, so J shows a fall while the gradient is above some 10^-50 of them.
    enough = mpmath.norm(gradient) * mpmath.mpf(10) ** -40
    for _ in range(2_000):
        if mpmath.norm(gradient) <= enough:
            return list(theta)
        step, length = mpmath.lu_solve(hessian, -gradient), mpmath.mpf(1)
        fall = (gradient.T * step)[0]
        while True:
            found = at(theta + length * step)
            if found[0] <= value + length * fall / 1000:
                break
            length /= 2
            assert length > mpmath.mpf(2) ** -200
        theta, (value, gradient, hessian) = theta + length * step, found
    raise AssertionError("the check itself did not converge")


def _corner_minimum(problem: Problem, data: Data, b: float) -> mpmath.mpf:
    """Of one feature, in rationals: where the slope of J changes its sign."""
    ridge, (rows, labels) = Fraction(problem.ridge), data
    lines = []
    for x, y in zip(rows[:, 0].tolist(), labels.tolist(), strict=True):
        corner, low, high = (Fraction(float(v)) for v in problem.loss.corners(y))
        if x:
            ends = sorted((low * Fraction(x), high * Fraction(x)))
            lines.append((corner / Fraction(x), *ends))
    lines.sort()
    slope = Fraction(b) + sum(low for _, low, _ in lines)
    for corner, low, high in lines:
        if slope + ridge * corner >= 0:
            break  # the sign changes before this corner
        slope += high - low
        if slope + ridge * corner >= 0:
            return mpmath.mpf(corner.numerator) / corner.denominator  # or at it
    minimum = -slope / ridge
    return mpmath.mpf(minimum.numerator) / minimum.denominator
