"""Famous broken mechanisms, each with the claim that its author made and a pair that shows it.

They live here so that nobody deploys one by accident. `samples` is the number of draws on each
side within which an audit at level 0.01 must refute the claim; `bits` marks those that are right
in real arithmetic and broken as floats. `line` is a piece of the source line that is wrong, as
reading finds it; `also` holds pieces of lines where it surfaces, which a tool may name as well.

`FROM_NOTES` holds what the lecture notes have wrong: for every refutation in proofs/refuted that is
about privacy, the mechanism that the notes print, with the claim that they make for it. `SILENT`
says of every other refutation why no draws could show it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from examples.lecture_notes import LinearExponentialERM, LinearObjectivePerturbation

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
    line: str
    also: tuple[str, ...] = ()
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
        line="np.where(index == first, noisy, 1000.0)",
        also=("noisy = data + rng.laplace(0.0, 2.0",),  # what is told so
    ),
    Flawed(
        name="sparse vector 4, too little noise on answers",
        draw=_sparse(4.0, 4.0 / 3.0, 1),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=20_000,
        line="noisy = data + (rng.laplace(0.0, noise",
    ),
    Flawed(
        name="sparse vector 5, no noise on answers",
        draw=_sparse(2.0, 0.0, None),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=500,
        line="noisy = data + (rng.laplace(0.0, noise",
        also=("threshold = 0.5 + rng.laplace",),  # the only noise
    ),
    Flawed(
        name="sparse vector 6, never stops",
        draw=_sparse(2.0, 2.0, None),
        claim=_ONE,
        left=_UP,
        right=_DOWN,
        samples=5_000,
        line="return above.astype(np.int8)",
        also=("noisy = data + (rng.laplace(0.0, noise",),  # paid for once
    ),
    Flawed(
        name="noisy max that releases the value",
        draw=_noisy_max_value,
        claim=_ONE,
        left=np.ones(5),
        right=np.full(5, 2.0),
        samples=5_000,
        line="noisy.max(axis=1)",
        also=("noisy = data + rng.laplace(0.0, 2.0",),  # what is told so
    ),
    Flawed(
        name="histogram with the scale of its inverse",
        draw=_laplace(0.25),
        claim=PureDP(epsilon=0.25),
        left=np.array([1.0, 3, 0, 2]),
        right=np.array([2.0, 3, 0, 2]),
        samples=500,
        line="rng.laplace(0.0, scale",
    ),
    Flawed(
        name="sensitivity off by two",
        draw=_laplace(1.0),
        claim=_ONE,
        left=0.0,
        right=2.0,
        samples=1_500,
        line="rng.laplace(0.0, scale",
    ),
    Flawed(
        name="noise of scale ε",
        draw=_laplace(0.5),
        claim=PureDP(epsilon=0.5),
        left=0.0,
        right=1.0,
        samples=500,
        line="rng.laplace(0.0, scale",
    ),
    Flawed(
        name="noise of scale 1/ε²",
        draw=_laplace(0.25),
        claim=PureDP(epsilon=2.0),
        left=0.0,
        right=1.0,
        samples=2_500,
        line="rng.laplace(0.0, scale",
    ),
    Flawed(
        name="seeded noise",
        draw=_seeded,
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=300,
        line="np.random.default_rng(0)",
    ),
    Flawed(
        name="clipping after the noise",
        draw=_clipped_after,
        claim=_ONE,
        left=np.array([1.0, 1.0]),
        right=np.array([1.0, 5.0]),
        samples=1_500,
        line="np.clip(np.sum(data) + rng.laplace",
    ),
    Flawed(
        name="Gaussian noise with δ ignored",
        draw=_gaussian,
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=100_000,
        line="rng.standard_normal(size) * 2.0",
    ),
    Flawed(
        name="a branch that leaks with small probability",
        draw=_rare_branch,
        claim=ApproxDP(epsilon=1.0, delta=1e-3),
        left=0.0,
        right=1.0,
        samples=5_000,
        line="np.where(rng.random(size) < 0.02, data, noisy)",
    ),
    Flawed(
        name="naive Laplace in floating point",
        draw=_laplace(1.0),
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=2_000,
        line="rng.laplace(0.0, scale",
        bits=True,
    ),
)


# What the lecture notes print.


def _gaussian_of(sigma: float) -> Callable[[Any, int, Rng], NDArray[Any]]:
    """Rounded to a grid of 2^-20, so that only real numbers are judged."""
    return lambda data, size, rng: (
        np.round((data + sigma * rng.standard_normal(size)) * _FINE) / _FINE
    )


def _approximate_minima(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """All losses are 0, n = Λ = γ = 1: the minimum is −b₁, and the solver stops γ beside it.

    Which side it stops on depends on the data. σ₂ is as printed.
    """
    exact = -1e-3 * rng.standard_normal(size)  # L is so small that σ₁ = 1e-3
    stopped: NDArray[Any] = exact + np.sign(np.sum(data))
    noise = (1.0 + math.sqrt(2.0 * math.log(1.0 / 0.1))) / 4.0  # δ₂ = 0.1, ε₂ = 4
    released: NDArray[Any] = stopped + noise * rng.standard_normal(size)
    return released


def _one_branch(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """y = x², x ≥ 0 with probability 1/2 and then uniform; the other branch has width 1 or 1/2.

    On the branch x = √y both datasets have the same density, and by the lemma so has y.
    """
    width = 1.0 if data else 0.5
    uniform = rng.random(size)
    x = np.where(rng.random(size) < 0.5, uniform, -width * uniform)
    return np.round(x * x * _FINE) / _FINE


def _printed_exponent(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """θ in {0, 1} with weights exp(−(εn/2)·Σ1[θ ≠ x]), where the mean belongs; e^ε = 4."""
    exponents = math.log(2.0) * len(data) * np.array([np.sum(data != 0), np.sum(data != 1)])
    odds = math.exp(exponents[0] - exponents[1])
    return (rng.random(size) < odds / (1.0 + odds)).astype(np.int8)


def _growing_noise(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """Density ∝ e^(+ε|z|/(2·GS)), which exists on a box alone: |z| ≤ 8, by inversion."""
    rate = 0.5
    length = np.log1p(rng.random(size) * math.expm1(8.0 * rate)) / rate
    noisy = data + np.where(rng.random(size) < 0.5, -length, length)
    return np.round(noisy * _FINE) / _FINE


def _logistic_step(outside: bool, variance: float) -> Callable[[Any, int, Rng], NDArray[Any]]:  # noqa: FBT001
    """One step of gradient descent with η = 2 from θ = (3980, −4000) on one labeled record, n = 1.

    The gradient is −v/(1 + e^⟨v, θ⟩); Z ~ N(0, variance·I) inside of the step, or outside. Only
    the sum of both weights is told: almost all of the shift lies along (1, 1).
    """
    start, eta = np.array([3980.0, -4000.0]), 2.0

    def draw(data: Data, size: int, rng: Rng) -> NDArray[Any]:
        gradient = -data / (1.0 + math.exp(float(data @ start)))
        noise = math.sqrt(variance) * rng.standard_normal((size, 2))
        moved = start - eta * gradient
        stepped = moved + noise if outside else moved - eta * noise
        told: NDArray[Any] = np.round(stepped.sum(axis=1) * _FINE) / _FINE
        return told

    return draw


def _regularizer_of_14_6(data: Data, size: int, rng: Rng) -> NDArray[Any]:
    """Losses √(1 + (⟨θ, x⟩ − y)²) with n = p = 2 and minimum at ‖θ*‖ = 100; λ = p·ln p/‖θ*‖.

    The first record pulls θ₁ to 100. The second is (0, 1) with label 0, or no record: it has no
    gradient at θ₂ = 0, only curvature. ‖b‖ ~ Gamma(2, 4L/ε′) for half of ε′ = 1; only θ₂ is told.
    """
    regularization = 2.0 * math.log(2.0) / 100.0
    length, angle = rng.gamma(2.0, 4.0, size), rng.random(size) * 2.0 * math.pi
    noise = length * np.sin(angle)
    low, high = np.full(size, -1e6), np.full(size, 1e6)
    for _ in range(80):  # θ₂ solves w·θ/√(1 + θ²) + λ·θ + b = 0, whose left side rises with θ
        middle = (low + high) / 2.0
        slope = data * middle / np.sqrt(1.0 + middle**2) + regularization * middle + noise
        low, high = np.where(slope < 0.0, middle, low), np.where(slope < 0.0, high, middle)
    return np.round(low * _FINE) / _FINE


_FINE = 2.0**20
_RECORD, _REPLACED = np.array([1.0, 1.0]), np.array([-1.0, -0.99])
_STEP_CLAIM = ApproxDP(epsilon=1.0 + math.sqrt(2.0 * math.log(100.0)), delta=0.01)  # ρ = 1
_WIDE = math.sqrt(2.0 * math.log(1.25 / 0.3)) / 7.0
_THEOREM_14_3 = LinearObjectivePerturbation(sigma=math.sqrt(10.0 * math.log(1000.0)) / 4.0)
_THEOREM_2_5 = LinearExponentialERM(epsilon=1.0, loss_bound=1.0)

FROM_NOTES = {
    "notes-objective-perturbation-gaussian": Flawed(
        name="Theorem 14.3, σ² = 10·L²·ln(1/δ)/ε²",
        draw=lambda data, size, rng: _THEOREM_14_3.sample(data, size, rng=rng),
        claim=ApproxDP(epsilon=2.0, delta=1e-3),
        left=np.array([0.5, 1.0]),
        right=np.array([0.5, -1.0]),
        samples=60_000,
        line="noise = self.sigma * rng.standard_normal",
        also=("_rounded(-(np.sum(data) + noise)",),  # the release
    ),
    "notes-erm-radius": Flawed(
        name="Theorem 2.5, Δ = G·R",
        draw=lambda data, size, rng: _THEOREM_2_5.sample(data, size, rng=rng),
        claim=_ONE,
        left=np.array([1.0] * 6),
        right=np.array([1.0] * 5 + [-1.0]),
        samples=100_000,
        line="2.0 * self.loss_bound",
        also=("np.log1p(uniform * math.expm1(",),  # noise made by inversion
    ),
    "notes-approximate-minima": Flawed(
        name="approximate minima, σ₂ for nγ/Λ",
        draw=_approximate_minima,
        claim=ApproxDP(epsilon=4.0 + 1e-3, delta=0.1 + 1e-3),
        left=np.array([1.0, 1.0, -1.0]),
        right=np.array([1.0, -1.0, -1.0]),
        samples=20_000,
        line="noise = (1.0 + math.sqrt(",
        also=("exact + np.sign(np.sum(data))",),  # where the data come in
    ),
    "notes-change-of-variables": Flawed(
        name="Lemma 14.4 with one of two branches",
        draw=_one_branch,
        claim=PureDP(epsilon=0.1),
        left=0,
        right=1,
        samples=1_000,
        line="-width * uniform",
    ),
    "notes-exponential-mechanism-exponent": Flawed(
        name="exponential mechanism with the sum for the mean",
        draw=_printed_exponent,
        claim=PureDP(epsilon=math.log(4.0)),
        left=np.array([0, 1, 1]),
        right=np.array([0, 0, 1]),
        samples=1_000,
        line="math.log(2.0) * len(data)",
        also=("rng.random(size) < odds",),  # the draw
    ),
    "notes-norm-mechanism-sign": Flawed(
        name="norm mechanism with the printed sign",
        draw=_growing_noise,
        claim=_ONE,
        left=0.0,
        right=1.0,
        samples=500,
        line="math.expm1(8.0 * rate)",
    ),
    # At (8, 0.01) the exact δ is 0.0178, by an event of probability 1e-6 on the other side, which
    # no audit of a few million draws can measure; at (7, 0.3) it is 0.556.
    "notes-gaussian-any-epsilon": Flawed(
        name="Gaussian noise by ln(1.25/δ) at ε = 7",
        draw=_gaussian_of(_WIDE),
        claim=ApproxDP(epsilon=7.0, delta=0.3),
        left=0.0,
        right=1.0,
        samples=1_000_000,
        line="sigma * rng.standard_normal(size)",
    ),
    "notes-gradient-noise": Flawed(
        name="noisy gradient with variance (4d+1)/(n²ρ)",
        draw=_logistic_step(outside=False, variance=5.0),
        claim=GaussianDP(mu=1.0),  # what the printed ρ = 1 stands for, by lecture-gaussian
        left=_RECORD,
        right=_REPLACED,
        samples=10_000,
        line="noise = math.sqrt(variance)",
        also=("else moved - eta * noise",),  # the release
    ),
    "notes-noise-outside-step": Flawed(
        name="gradient noise outside of the step",
        draw=_logistic_step(outside=True, variance=8.0),
        claim=_STEP_CLAIM,
        left=_RECORD,
        right=_REPLACED,
        samples=60_000,
        line="moved + noise if outside",
    ),
    "notes-objective-perturbation-lambda": Flawed(
        name="Theorem 14.6, λ = p·ln p/‖θ*‖",
        draw=_regularizer_of_14_6,
        claim=_ONE,
        left=1.0,
        right=0.0,
        samples=1_000,
        line="regularization = 2.0 * math.log(2.0)",
        also=("noise = length * np.sin(angle)",),  # a law by hand
    ),
}

SILENT = {
    "published-profile-filter": "a rule for budgets, no mechanism; its proof plays the adversary",
    "published-approximate-minima": "as notes-approximate-minima-any-epsilon",
    "published-default-grid": "an accountant's number, no mechanism",
    "published-logistic-constant": (
        "its event has a probability of about 1e-5, and 12,001 records are fitted for every draw"
    ),
    "published-one-run": "a bound on what can be guessed, not a mechanism; its proof builds one",
    "notes-gaussian-lambda": (
        "its proof has the minimum in closed form, and computes both probabilities without draws"
    ),
    "notes-midpoint-convexity": "a statement about functions, and none about privacy",
    "notes-advanced-composition-lemma": (
        "a violation needs k²δ of less than about 1/10 and k of more than 2·ln(1/δ), so it is of "
        "the order of 1e-8: no audit draws that often"
    ),
    "notes-approximate-minima-any-epsilon": (
        "it fails from ε₃ = 9 on, where an event of probability 1e-6 has to be found and measured"
    ),
    "notes-noise-independent-of-gradient": "a step of a proof; its claim is that of Theorem 14.3",
    "notes-kl-divergence": "a formula for a divergence, no mechanism",
    "notes-perturbed-gap": "about utility",
    "notes-bounded-from-zero": "not about privacy",
    "notes-gaussian-coordinates": "a step of a proof; the mechanism has a spherical Gaussian",
    "notes-convex-one-minimum": "not about privacy",
    "notes-erm-probability": "about utility",
    "notes-gradient-second-moment": "about utility",
    "notes-inner-ball": "about utility",
    "notes-logarithm-convex": "not about privacy",
    "notes-misclassification-loss": "not about privacy",
    "notes-ridge-is-lasso": "a name",
    "notes-squared-rho": "a misprint",
    "notes-supporting-lines": "not about privacy",
}
