"""The auditing battery: mechanisms with one pair each, the truth, and the events of the oracle.

For every case the likelihood ratio of the two laws is known, so the best events are known: those
that collect outputs in the order of their ratio. `masses` gives both laws on a partition that is
fine enough for that order (exact for finite outputs, a fine grid for continuous ones).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, laplace, norm

Floats = NDArray[np.float64]
Law = tuple[Floats, Floats]
_EVENTS = 4_000


@dataclass(frozen=True)
class Sampled:
    """A mechanism given by its vectorized sampler."""

    draw: Callable[[object, int, np.random.Generator], NDArray]

    def sample(self, data: object, size: int, *, rng: np.random.Generator) -> NDArray:
        return self.draw(data, size, rng)


@dataclass(frozen=True)
class Case:
    name: str
    mechanism: Sampled
    left: object
    right: object
    masses: Law
    delta: float = 0.0

    @property
    def truth(self) -> float:
        """ε of the pair at its δ: sup over events of ln((P − δ)/Q), in both directions."""
        p, q = self.masses
        return max(_truth(p, q, self.delta), _truth(q, p, self.delta))

    def nested(self) -> list[tuple[float, float]]:
        """Chances of the best events on the favored side and on the other."""
        p, q = self.masses
        return _nested(p, q) + _nested(q, p)


def _nested(p: Floats, q: Floats) -> list[tuple[float, float]]:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.inf), kind="stable")
    sums = np.cumsum(p[order]), np.cumsum(q[order])
    keep: object = slice(None)
    if len(p) > _EVENTS:  # few events near the best one would make a weak oracle
        ends = [np.geomspace(1, len(p), 400), np.linspace(1, len(p), _EVENTS)]
        keep = np.unique(np.concatenate(ends).astype(int)) - 1
    return list(zip(sums[0][keep].tolist(), sums[1][keep].tolist(), strict=True))


def _truth(p: Floats, q: Floats, delta: float) -> float:
    keep = (p > 1e-9) | (q > 1e-9)  # differences of a distribution function have few digits
    if delta == 0:
        with np.errstate(divide="ignore"):
            return float(np.log(p[keep] / q[keep]).max())
    best = [math.log((a - delta) / b) if b > 0 else math.inf for a, b in _all(p, q) if a > delta]
    return max(best, default=0.0)


def _all(p: Floats, q: Floats) -> list[tuple[float, float]]:
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.where(q > 0, p / q, np.inf), kind="stable")
    return list(zip(np.cumsum(p[order]).tolist(), np.cumsum(q[order]).tolist(), strict=True))


_GRID = np.linspace(-40, 41, 8101)


def _cells(cdf: Callable[[Floats], Floats]) -> Floats:
    values = np.concatenate([[0.0], cdf(_GRID), [1.0]])
    return np.maximum(np.diff(values), 0.0)


def additive(name: str, law: object, draw: Callable[..., NDArray], delta: float = 0.0) -> Case:
    masses = _cells(law.cdf), _cells(lambda x: law.cdf(x - 1))  # type: ignore[attr-defined]
    mechanism = Sampled(lambda d, n, rng: d + draw(rng, n))
    return Case(name, mechanism, 0.0, 1.0, masses, delta)


def noisy_max() -> Case:
    scale, left, right = 2.0, np.array([2.0, 1, 1, 1, 1]), np.array([1.0, 2, 2, 2, 2])
    x = np.linspace(-80, 80, 160_001)

    def chances(data: Floats) -> Floats:
        others = [
            np.prod([laplace.cdf(x, d, scale) for j, d in enumerate(data) if j != i], axis=0)
            for i in range(5)
        ]
        return np.array(
            [np.trapezoid(laplace.pdf(x, data[i], scale) * others[i], x) for i in range(5)]
        )

    def draw(data: Floats, n: int, rng: np.random.Generator) -> NDArray:
        return np.argmax(data + rng.laplace(0, scale, (n, 5)), axis=1)

    return Case("noisy max, correct", Sampled(draw), left, right, (chances(left), chances(right)))


def noisy_max_value() -> Case:
    scale, left, right = 2.0, np.ones(5), np.full(5, 2.0)

    def draw(data: Floats, n: int, rng: np.random.Generator) -> NDArray:
        return np.max(data + rng.laplace(0, scale, (n, 5)), axis=1)

    masses = (
        _cells(lambda x: laplace.cdf(x, 1, scale) ** 5),
        _cells(lambda x: laplace.cdf(x, 2, scale) ** 5),
    )
    return Case("noisy max, releases the value", Sampled(draw), left, right, masses)


def histogram(name: str, scale: float) -> Case:
    left, right = np.array([1.0, 3, 0, 2, 4]), np.array([2.0, 3, 0, 2, 4])
    masses = _cells(lambda x: laplace.cdf(x, 1, scale)), _cells(lambda x: laplace.cdf(x, 2, scale))
    mechanism = Sampled(lambda d, n, rng: d + rng.laplace(0, scale, (n, 5)))
    return Case(name, mechanism, left, right, masses)


def sparse_vector(
    name: str, bar_scale: float, scale: float, count: int | None, values: tuple[Floats, Floats]
) -> Case:
    """Answers against a noisy threshold 0.5; −1 after `count` answers above."""
    left, right = values

    def draw(data: Floats, n: int, rng: np.random.Generator) -> NDArray:
        noise = rng.laplace(0, scale, (n, len(data))) if scale else 0.0
        above = data + noise >= 0.5 + rng.laplace(0, bar_scale, (n, 1))
        if count is None:
            return above.astype(np.int8)
        before = above.cumsum(axis=1) - above
        return np.where(before < count, above, -1).astype(np.int8)

    z = np.linspace(-60, 60, 24_001)
    weight = laplace.pdf(z, 0, bar_scale) * (z[1] - z[0])

    def chances(data: Floats) -> dict[tuple[int, ...], float]:
        up = [
            laplace.sf(0.5 + z - d, 0, scale) if scale else (d >= 0.5 + z).astype(float)
            for d in data
        ]
        total: dict[tuple[int, ...], float] = {}
        for pattern in _patterns(len(data), count):
            chance = weight.copy()
            for u, answer in zip(up, pattern, strict=True):
                if answer >= 0:
                    chance = chance * (u if answer else 1 - u)
            total[pattern] = float(chance.sum())
        return total

    a, b = chances(left), chances(right)
    masses = np.array(list(a.values())), np.array(list(b.values()))
    return Case(name, Sampled(draw), left, right, masses)


def _patterns(length: int, count: int | None) -> list[tuple[int, ...]]:
    seen = {}
    for full in product((0, 1), repeat=length):
        row, hits = [], 0
        for answer in full:
            row.append(answer if count is None or hits < count else -1)
            hits += answer
        seen[tuple(row)] = None
    return list(seen)


def sparse_vector_value() -> Case:
    """Variant 3: releases the noisy answer that is above, and stops (c = 1)."""
    left, right = np.array([0.0, 0, 0, 0, 1.0]), np.array([1.0, 1, 1, 1, 0.0])

    def draw(data: Floats, n: int, rng: np.random.Generator) -> NDArray:
        noisy = data + rng.laplace(0, 2.0, (n, len(data)))
        above = noisy >= 0.5 + rng.laplace(0, 2.0, (n, 1))
        first = np.where(above.any(axis=1), above.argmax(axis=1), len(data))
        index = np.arange(len(data))
        return np.where(
            index < first[:, None], -1000.0, np.where(index == first[:, None], noisy, 1000.0)
        )

    z = np.linspace(-50, 50, 4001)
    v = np.linspace(-30, 30, 1201)
    fz = laplace.pdf(z, 0, 2.0) * (z[1] - z[0])
    reach = v[None, :] >= 0.5 + z[:, None]

    def law(data: Floats) -> Floats:
        below, cells = fz.copy(), []
        for d in data:
            cells.append((below @ reach) * laplace.pdf(v, d, 2.0) * (v[1] - v[0]))
            below = below * laplace.cdf(0.5 + z - d, 0, 2.0)
        return np.concatenate([*cells, [below.sum()]])

    return Case(
        "sparse vector 3 (releases the value)", Sampled(draw), left, right, (law(left), law(right))
    )


def rappor(name: str, one: float) -> Case:
    """20 bits, of which 5 are set on the left and none on the right."""
    left, right = np.repeat([1, 0], [5, 15]), np.zeros(20, int)
    mechanism = Sampled(
        lambda d, n, rng: (rng.random((n, 20)) < np.where(d == 1, one, 1 - one)).astype(np.int8)
    )
    hits = np.arange(6)
    return Case(
        name, mechanism, left, right, (binom.pmf(hits, 5, one), binom.pmf(hits, 5, 1 - one))
    )


def truncated_geometric() -> Case:
    decay = math.exp(-0.41)
    k = np.arange(-400, 401)
    pmf = (1 - decay) / (1 + decay) * decay ** np.abs(k)

    def law(center: int) -> Floats:
        return np.bincount(np.clip(center + k, 0, 5), weights=pmf, minlength=6)

    def draw(data: int, n: int, rng: np.random.Generator) -> NDArray:
        noise = rng.geometric(1 - decay, n) - rng.geometric(1 - decay, n)
        return np.clip(data + noise, 0, 5)

    return Case("truncated geometric", Sampled(draw), 2, 3, (law(2), law(3)))


def leak() -> Case:
    def draw(data: int, n: int, rng: np.random.Generator) -> NDArray:
        return np.where(rng.random(n) < 0.01, 10 + data, rng.integers(0, 2, n))

    masses = np.array([0.495, 0.495, 0.01, 0]), np.array([0.495, 0.495, 0, 0.01])
    return Case("leak of 1 %", Sampled(draw), 0, 1, masses, 1e-3)


def long_vector(length: int, *, everywhere: bool) -> Case:
    """Laplace noise on one coordinate that moves by 1; or Gaussian noise where all move a little.

    Of the other coordinates, the law is the same on both sides: they tell nothing.
    """
    if everywhere:
        right = np.full(length, 1.0 / math.sqrt(length))
        masses = _cells(norm.cdf), _cells(lambda x: norm.cdf(x - 1))
        draw = Sampled(lambda d, n, rng: d + rng.standard_normal((n, length)))
        return Case(f"{length:,} numbers, all move", draw, np.zeros(length), right, masses, 1e-3)
    right = np.zeros(length)
    right[length * 2 // 3] = 1.0
    masses = _cells(laplace.cdf), _cells(lambda x: laplace.cdf(x - 1))
    draw = Sampled(lambda d, n, rng: d + rng.laplace(0, 1, (n, length)))
    return Case(f"{length:,} numbers, one moves", draw, np.zeros(length), right, masses)


def coded(case: Case) -> Case:
    """The same with all answers as one integer."""

    def draw(data: object, n: int, rng: np.random.Generator) -> NDArray:
        answers = case.mechanism.draw(data, n, rng).astype(np.int64) + 1
        return answers @ 3 ** np.arange(answers.shape[1])

    return replace(case, name=f"{case.name}, coded", mechanism=Sampled(draw))


def vectors() -> list[Case]:
    """Outputs of many numbers."""
    return [long_vector(n, everywhere=all_) for n in (1_000, 10_000) for all_ in (False, True)]


def battery() -> list[Case]:
    five = np.array([0.0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), np.array([1.0, 1, 1, 1, 1, 0, 0, 0, 0, 0])
    return [
        additive("Laplace", laplace, lambda rng, n: rng.laplace(0, 1, n)),
        additive("Gaussian, δ = 1e-3", norm, lambda rng, n: rng.standard_normal(n), 1e-3),
        noisy_max(),
        noisy_max_value(),
        histogram("histogram, correct", 1.0),
        histogram("histogram, wrong scale", 0.25),
        sparse_vector("sparse vector 1 (correct)", 2.0, 4.0, 1, five),
        sparse_vector_value(),
        sparse_vector("sparse vector 4", 4.0, 4.0 / 3.0, 1, five),
        sparse_vector("sparse vector 5 (no noise on answers)", 2.0, 0.0, None, five),
        sparse_vector("sparse vector 6 (never stops)", 2.0, 2.0, None, five),
        coded(sparse_vector("sparse vector 6", 2.0, 2.0, None, five)),
        rappor("RAPPOR", 0.5125),
        rappor("one-time RAPPOR", 0.525),
        truncated_geometric(),
        leak(),
    ]
