"""Famous broken mechanisms, each with the claim that its author made and a pair that shows it.

They live here so that nobody deploys one by accident. `samples` is the number of draws on each
side within which an audit at level 0.01 must refute the claim; `bits` marks those that are right
in real arithmetic and broken as floats.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantees import ApproxDP, Guarantee, PureDP

Rng = np.random.Generator
Data = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flawed:
    """A vectorized mechanism, a false claim, a pair of datasets that refutes it."""

    name: str
    draw: Callable[[Any, int, Rng], NDArray[Any]]
    claim: Guarantee
    left: Any
    right: Any
    samples: int
    bits: bool = False

    def sample(self, data: Any, size: int, *, rng: Rng) -> NDArray[Any]:  # noqa: ANN401
        return self.draw(data, size, rng)


def _sparse(bar: float, noise: float, stop: int | None) -> Callable[[Any, int, Rng], NDArray[Any]]:
    """Which answers reach a noisy threshold 0.5; −1 after `stop` of them did."""

    def draw(data: Data, size: int, rng: Rng) -> NDArray[Any]:
        threshold = 0.5 + rng.laplace(0.0, bar, (size, 1))
        noisy = data + (rng.laplace(0.0, noise, (size, len(data))) if noise else 0.0)
        above = noisy >= threshold
        if stop is None:
            return above.astype(np.int8)
        before = above.cumsum(axis=1) - above
        return np.where(before < stop, above, -1).astype(np.int8)

    return draw


def _sparse_with_value(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """Variant 3: the first noisy answer above the threshold, and the answers before it below."""
    noisy = data + rng.laplace(0.0, 2.0, (size, len(data)))
    above = noisy >= 0.5 + rng.laplace(0.0, 2.0, (size, 1))
    first = np.where(above.any(axis=1), above.argmax(axis=1), len(data))[:, None]
    index = np.arange(len(data))
    rows: NDArray[Any] = np.where(index < first, -1000.0, np.where(index == first, noisy, 1000.0))
    return rows


def _noisy_max_value(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    noisy = data + rng.laplace(0.0, 2.0, (size, len(data)))
    largest: NDArray[Any] = noisy.max(axis=1)
    return largest


def _laplace(scale: float) -> Callable[[Any, int, Rng], NDArray[Any]]:
    return lambda data, size, rng: data + rng.laplace(0.0, scale, (size, *np.shape(data)))


def _seeded(data: Data, size: int, _rng: Rng) -> NDArray[Any]:
    """Every release draws its noise from a generator that starts at the same seed."""
    return np.full(size, data + np.random.default_rng(0).laplace())


def _clipped_after(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """A sum of records that were to be clipped to [0, 1]; only the noisy sum is clipped."""
    return np.clip(np.sum(data) + rng.laplace(0.0, 1.0, size), 0.0, 10.0)


def _rare_branch(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """One release in fifty skips the noise."""
    noisy = data + rng.laplace(0.0, 1.0, size)
    return np.where(rng.random(size) < 0.02, data, noisy)


def _gaussian(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    return data + rng.standard_normal(size) * 2.0


_UP, _DOWN = np.repeat([0.0, 1.0], 5), np.repeat([1.0, 0.0], 5)
_ONE = PureDP(epsilon=1.0)

FLAWED = (
    Flawed(
        name="sparse vector 3, releases the answer",
        draw=_sparse_with_value,
        claim=_ONE,
        left=np.array([0.0, 0, 0, 0, 0, 0, 0, 1]),
        right=np.array([1.0, 1, 1, 1, 1, 1, 1, 0]),
        samples=60_000,
    ),
    Flawed(
        name="sparse vector 4, too little noise on answers",
        draw=_sparse(4.0, 4.0 / 3.0, 1),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=20_000,
    ),
    Flawed(
        name="sparse vector 5, no noise on answers",
        draw=_sparse(2.0, 0.0, None),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=500,
    ),
    Flawed(
        name="sparse vector 6, never stops",
        draw=_sparse(2.0, 2.0, None),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=5_000,
    ),
    Flawed(
        name="noisy max that releases the value",
        draw=_noisy_max_value,
        claim=_ONE,
        left=np.ones(5),
        right=np.full(5, 2.0),
        samples=5_000,
    ),
    Flawed(
        name="histogram with the scale of its inverse",
        draw=_laplace(0.25),
        claim=PureDP(epsilon=0.25),
        left=np.array([1.0, 3, 0, 2]),
        right=np.array([2.0, 3, 0, 2]),
        samples=500,
    ),
    Flawed(
        name="sensitivity off by two",
        draw=_laplace(1.0),
        claim=_ONE,
        left=0.0,
        right=2.0,
        samples=1_500,
    ),
    Flawed(
        name="noise of scale ε",
        draw=_laplace(0.5),
        claim=PureDP(epsilon=0.5),
        left=0.0,
        right=1.0,
        samples=500,
    ),
    Flawed(
        name="noise of scale 1/ε²",
        draw=_laplace(0.25),
        claim=PureDP(epsilon=2.0),
        left=0.0,
        right=1.0,
        samples=2_500,
    ),
    Flawed(name="seeded noise", draw=_seeded, claim=_ONE, left=0.0, right=1.0, samples=300),
    Flawed(
        name="clipping after the noise",
        draw=_clipped_after,
        claim=_ONE,
        left=np.array([1.0, 1.0]),
        right=np.array([1.0, 5.0]),
        samples=1_500,
    ),
    Flawed(
        name="Gaussian noise with δ ignored",
        draw=_gaussian,
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=100_000,
    ),
    Flawed(
        name="a branch that leaks with small probability",
        draw=_rare_branch,
        claim=ApproxDP(epsilon=1.0, delta=1e-3),
        left=0.0,
        right=1.0,
        samples=5_000,
    ),
    Flawed(
        name="naive Laplace in floating point",
        draw=_laplace(1.0),
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=2_000,
        bits=True,
    ),
)
