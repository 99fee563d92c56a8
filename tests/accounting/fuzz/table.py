"""What is drawn: one line a mechanism, with the law that its definition gives it.

To add a mechanism, write a function that draws its parameters and returns the library's object and
the law of `laws.py`, and list it under the methods of `truths.py` that can follow it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np

import dpverify as dpv
from tests.accounting.fuzz.bounds import batched, concentrated, one_order
from tests.accounting.fuzz.laws import DIGITS, Atoms, Exponential, Law, Normal, Sampled, exactly
from tests.accounting.fuzz.truths import Profile, worse

Rng: TypeAlias = np.random.Generator
Made: TypeAlias = tuple[Any, Law]
Maker: TypeAlias = Callable[[Rng, dpv.Relation], Made]

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def uniform(rng: Rng, low: float, high: float) -> float:
    """Uniform on a logarithmic scale."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def gaussian(rng: Rng, _: dpv.Relation) -> Made:
    sigma, moved = uniform(rng, 0.3, 100.0), float(rng.choice([1.0, 2.0, 0.1]))
    square = (Fraction(moved) / Fraction(sigma)) ** 2
    return dpv.Gaussian(sigma=sigma, l2_sensitivity=moved), Normal(square)


def gaussian_dp(rng: Rng, _: dpv.Relation) -> Made:
    mu = uniform(rng, 0.01, 3.0)
    return dpv.GaussianDP(mu), Normal(Fraction(mu) ** 2)


def smoothing(rng: Rng, _: dpv.Relation) -> Made:
    """A Gaussian that no contour integral could overlook."""
    sigma = uniform(rng, 0.8, 5.0)
    return dpv.Gaussian(sigma=sigma), Normal(1 / Fraction(sigma) ** 2)


def laplace(rng: Rng, _: dpv.Relation) -> Made:
    scale, moved = uniform(rng, 0.5, 50.0), float(rng.choice([1.0, 2.0]))
    shift = Fraction(moved) / Fraction(scale)
    if rng.random() < 0.3:  # in every norm: one dimension is the worst
        norm = float(rng.choice([1.0, 2.0, math.inf]))
        return dpv.NormMechanism(scale=scale, sensitivity=moved, norm=norm), Exponential(shift)
    return dpv.Laplace(scale=scale, l1_sensitivity=moved), Exponential(shift)


def response(epsilon: Any, delta: Any = 0) -> Atoms:  # noqa: ANN401  # numbers
    """Leaky randomized response, the worst of all (ε, δ)."""
    with mp.workdps(DIGITS):
        leak, ratio = mp.mpf(delta), mp.exp(epsilon)
        true, lie = (1 - leak) * ratio / (1 + ratio), (1 - leak) / (1 + ratio)
        found = [(true, lie), (lie, true)]
        return Atoms(tuple(found + ([(leak, mp.mpf(0)), (mp.mpf(0), leak)] if delta else [])))


def stated(rng: Rng, _: dpv.Relation) -> Made:
    """Whatever is ε-DP or (ε, δ)-DP costs what leaky randomized response costs."""
    epsilon, delta = uniform(rng, 0.01, 3.0), uniform(rng, 1e-12, 1e-3)
    kinds: list[tuple[Callable[[], Any], float]] = [
        (lambda: dpv.PureDP(epsilon), 0.0),
        (lambda: dpv.ApproxDP(epsilon, delta), delta),
        (lambda: dpv.RandomizedResponse(epsilon=epsilon), 0.0),
        (lambda: dpv.LeakyRandomizedResponse(epsilon=epsilon, delta=delta), delta),
        (lambda: dpv.RenyiDP(order=math.inf, epsilon=epsilon), 0.0),
    ]
    make, leak = kinds[rng.integers(len(kinds))]
    return make(), response(exactly(epsilon), exactly(leak))


def categories(rng: Rng, _: dpv.Relation) -> Made:
    """Randomized response of k categories: the truth, one lie, and k − 2 others alike."""
    epsilon, count = uniform(rng, 0.01, 3.0), int(rng.integers(3, 50))
    with mp.workdps(DIGITS):
        lie = 1 / (mp.exp(exactly(epsilon)) + count - 1)
        truth, rest = 1 - (count - 1) * lie, (count - 2) * lie
    outcomes = ((truth, lie), (lie, truth), (rest, rest))
    return dpv.RandomizedResponse(epsilon=epsilon, categories=count), Atoms(outcomes)


def pure(rng: Rng, _: dpv.Relation) -> Made:
    epsilon = uniform(rng, 0.01, 2.0)
    return dpv.PureDP(epsilon), response(exactly(epsilon))


def finite(rng: Rng, relation: dpv.Relation) -> Made:
    """Rationals at random; under replace-one a pair that is its own mirror image."""
    size = int(rng.integers(2, 4))
    left = rng.integers(1 if rng.random() < 0.8 else 0, 30, size=size)
    right = rng.integers(1 if rng.random() < 0.8 else 0, 30, size=size)
    left[0], right[-1] = left[0] + 1, right[-1] + 1
    p = [Fraction(int(v), int(left.sum())) for v in left]
    q = [Fraction(int(v), int(right.sum())) for v in right]
    if relation is REPLACE:
        q = p[::-1]
    with mp.workdps(DIGITS):
        outcomes = tuple((exactly(a), exactly(b)) for a, b in zip(p, q, strict=True))
    return dpv.FinitePair(left=p, right=q), Atoms(outcomes)


def _rate(rng: Rng) -> float:
    return uniform(rng, 1e-4, 0.7)


def _sampled(noise: Any, base: Normal | Exponential, rate: float, relation: dpv.Relation) -> Made:  # noqa: ANN401
    mode = "removed" if relation is ADD else "replaced"
    return dpv.Subsampled(noise, rate=rate), Sampled(base, Fraction(rate), mode)


def sampled_gaussian(rng: Rng, relation: dpv.Relation) -> Made:
    sigma = uniform(rng, 0.4, 10.0)
    base = Normal(1 / Fraction(sigma) ** 2)
    return _sampled(dpv.Gaussian(sigma=sigma), base, _rate(rng), relation)


def sampled_laplace(rng: Rng, relation: dpv.Relation) -> Made:
    scale = uniform(rng, 0.4, 10.0)
    return _sampled(
        dpv.Laplace(scale=scale), Exponential(1 / Fraction(scale)), _rate(rng), relation
    )


def training(rng: Rng, relation: dpv.Relation) -> Made:
    """Batches as in training, with steps that thousands of repetitions make smooth."""
    sigma, rate = uniform(rng, 0.6, 4.0), uniform(rng, 0.01, 0.3)
    base = Normal(1 / Fraction(sigma) ** 2)
    return _sampled(dpv.Gaussian(sigma=sigma), base, rate, relation)


def sampled_finite(rng: Rng, relation: dpv.Relation) -> Made:
    """(1−q)·Q + q·P against Q, for P and Q any finite distributions; a record added or removed."""
    inner, law = finite(rng, relation)
    rate = _rate(rng)
    with mp.workdps(DIGITS):
        q = exactly(rate)
        mixed = Atoms(tuple(((1 - q) * b + q * a, b) for a, b in law.outcomes))  # type: ignore[attr-defined]
    return dpv.Subsampled(inner, rate=rate), mixed


@dataclass(frozen=True)
class Composition:
    """An accountant and the truth about it."""

    accountant: dpv.Accountant
    truth: Profile
    words: str


def composed(makers: Sequence[tuple[Maker, int]], rng: Rng, relation: dpv.Relation) -> Composition:
    """One of each maker, up to so many times."""
    accountant, parts, words = dpv.Accountant(relation=relation), [], []
    for maker, most in makers:
        subject, law = maker(rng, relation)
        times = round(uniform(rng, 1.0, most))
        accountant = accountant.compose(subject, times=times)
        parts.append((law, times))
        words.append(f"{times} × {subject!r}")
    return Composition(accountant, worse(parts), " + ".join(words))


def some(*choices: tuple[Maker, int], most: int) -> Callable[[Rng, dpv.Relation], Composition]:
    """Between one and `most` parts, drawn from the choices."""

    def draw(rng: Rng, relation: dpv.Relation) -> Composition:
        count = int(rng.integers(1, most + 1))
        picked = [choices[rng.integers(len(choices))] for _ in range(count)]
        return composed(picked, rng, relation)

    return draw


def smoothed(*choices: tuple[Maker, int], most: int) -> Callable[[Rng, dpv.Relation], Composition]:
    """The same beside Gaussian noise."""

    def draw(rng: Rng, relation: dpv.Relation) -> Composition:
        count = int(rng.integers(1, most + 1))
        picked = [choices[rng.integers(len(choices))] for _ in range(count)]
        return composed([(smoothing, 4), *picked], rng, relation)

    return draw


def fixed_batches(rng: Rng, _: dpv.Relation) -> Composition:
    """Batches of fixed size: exact for one, from below for more."""
    sigma, population = uniform(rng, 0.5, 5.0), int(rng.integers(2, 1000))
    batch = int(rng.integers(1, population))
    times = 1 if rng.random() < 0.5 else int(rng.integers(2, 60))
    subject = dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=sigma), batch, population)
    base, rate = Normal(1 / Fraction(sigma) ** 2), Fraction(batch, population)
    accountant = dpv.Accountant(relation=REPLACE).compose(subject, times=times)
    return Composition(accountant, batched(base, rate, times), f"{times} × {subject!r}")


def zcdp(rng: Rng, relation: dpv.Relation) -> Composition:
    """A zCDP guarantee beside an (ε, δ) one: between an instance and a textbook bound."""
    rho, times = uniform(rng, 1e-4, 0.5), int(rng.integers(1, 50))
    epsilon, delta = uniform(rng, 0.01, 0.5), float(rng.choice([0.0, uniform(rng, 1e-12, 1e-6)]))
    beside = int(rng.integers(0, 3))
    accountant = dpv.Accountant(relation=relation).compose(dpv.ZeroConcentratedDP(rho), times=times)
    parts: list[tuple[Law, int]] = [(Normal(2 * Fraction(rho) * times), 1)]
    if beside:
        accountant = accountant.compose(dpv.ApproxDP(epsilon, delta), times=beside)
        parts.append((response(exactly(epsilon), exactly(delta)), beside))
    truth = concentrated(parts, rho * times, (epsilon, delta, beside))
    return Composition(
        accountant, truth, f"{times} × zCDP({rho}) + {beside} × ({epsilon}, {delta})"
    )


def renyi(rng: Rng, relation: dpv.Relation) -> Composition:
    """One Rényi guarantee: some pair of two outcomes attains its conversion."""
    order, epsilon = 1 + uniform(rng, 0.05, 50.0), uniform(rng, 0.01, 3.0)
    accountant = dpv.Accountant(relation=relation).compose(dpv.RenyiDP(order, epsilon))
    return Composition(accountant, one_order(order, epsilon), f"RDP({order}, {epsilon})")


FAMILIES: dict[
    str, tuple[int, tuple[dpv.Relation, ...], Callable[[Rng, dpv.Relation], Composition]]
] = {
    "gaussians": (500, (ADD, REPLACE), some((gaussian, 1000), (gaussian_dp, 50), most=4)),
    "finite": (900, (ADD, REPLACE), some((stated, 12), (categories, 7), (finite, 7), most=2)),
    "sampled finite": (300, (ADD,), some((sampled_finite, 8), (pure, 8), most=2)),
    "laplace": (600, (ADD, REPLACE), some((laplace, 20), most=1)),
    "laplace and finite": (
        400,
        (ADD, REPLACE),
        some((laplace, 5), (stated, 3), (categories, 2), (finite, 2), most=2),
    ),
    "one sample": (500, (ADD, REPLACE), some((sampled_gaussian, 1), (sampled_laplace, 1), most=1)),
    "training": (600, (ADD, REPLACE), some((training, 3000), most=1)),
    "everything": (
        800,
        (ADD, REPLACE),
        smoothed(
            (laplace, 20),
            (stated, 20),
            (categories, 10),
            (finite, 20),
            (sampled_gaussian, 300),
            (sampled_laplace, 50),
            (training, 300),
            (gaussian, 20),
            most=3,
        ),
    ),
    "fixed batches": (200, (REPLACE,), fixed_batches),
    "zcdp": (150, (ADD, REPLACE), zcdp),
    "renyi": (50, (ADD, REPLACE), renyi),
}
"""How many of 5,000, under which relations, and who draws them."""
