"""Releases whose outputs hide more than their noise tells, and their flawed twins.

The noise of an honest one alone would break its claim; orders that are not told, symmetry or
remainders keep it, exactly. They may not be refuted. They are added to the cases of
`adversarial_releases`.
"""

# ruff: noqa: ANN401  # data of any kind

import itertools
import math
from typing import Any

import numpy as np

from dpverify.guarantees import ApproxDP, GaussianDP, RenyiDP, ZeroConcentratedDP
from tests.tracing.adversarial_releases import Out, flawed, honest

# Both sides have the same law: ε = 0.


@honest(0.0, 1.0, eps=0.1)
def remainder(x: Any, rng: Any) -> Out:
    return float(x + rng.laplace()) % 1.0


@honest(0.0, 1.0, eps=0.1)
def angle(x: Any, rng: Any) -> Out:
    return round(math.cos(2.0 * math.pi * float(x + rng.laplace())), 6)


@honest(0.0, 1.0, eps=0.1)
def sorted_pair(x: Any, rng: Any) -> Out:
    return sorted([float(x + rng.laplace()), float(1.0 - x + rng.laplace())])


@honest(0.0, 1.0, eps=0.1)
def unordered_pair(x: Any, rng: Any) -> Out:
    return {float(x + rng.laplace()), float(1.0 - x + rng.laplace())}


@honest(0.0, 1.0, eps=0.1)
def largest_of_a_pair(x: Any, rng: Any) -> Out:
    return max(float(x + rng.laplace()), float(1.0 - x + rng.laplace()))


@honest(0.0, 1.0, eps=0.1)
def product_of_a_pair(x: Any, rng: Any) -> Out:
    return float(x + rng.laplace()) * float(1.0 - x + rng.laplace())


@honest(0.0, 1.0, eps=0.1, quiet=True)
def sum_of_a_pair(x: Any, rng: Any) -> Out:
    return (x + rng.laplace()) + (1.0 - x + rng.laplace())


@honest(0.0, 1.0, eps=0.1)
def distance_of_a_pair(x: Any, rng: Any) -> Out:
    return abs(float(x + rng.laplace()) - float(1.0 - x + rng.laplace()))


@honest(0.0, 1.0, eps=0.1)
def counts_in_bins_of_a_pair(x: Any, rng: Any) -> Out:
    pair = [float(x + rng.laplace()), float(1.0 - x + rng.laplace())]
    return np.histogram(pair, bins=4, range=(-4.0, 4.0))[0].tolist()


@honest(0.0, 1.0, eps=0.1)
def pair_in_random_order(x: Any, rng: Any) -> Out:
    pair = [x + rng.laplace(), 1.0 - x + rng.laplace()]
    return pair if rng.random() < 0.5 else pair[::-1]


@honest(0.0, 1.0, eps=0.1)
def shuffled_pair(x: Any, rng: Any) -> Out:
    pair = [float(x + rng.laplace()), float(1.0 - x + rng.laplace())]
    rng.shuffle(pair)
    return pair


@honest(0.0, 1.0, eps=0.1)
def sign_by_a_coin(x: Any, rng: Any) -> Out:
    noisy = 2.0 * x - 1.0 + rng.laplace()
    return noisy if rng.random() < 0.5 else -noisy


@honest(0, 1, eps=0.1)
def masked_by_a_whole_number(x: Any, rng: Any) -> Out:
    return (x + int(rng.integers(10))) % 10


@honest(0.0, 0.5, eps=0.1)
def turned_on_a_circle(x: Any, rng: Any) -> Out:
    return (x + float(rng.random())) % 1.0


# Flawed twins: what hid them is told, or does not fit.


@flawed(0.0, 0.5, eps=0.1)
def remainder_that_does_not_fit(x: Any, rng: Any) -> Out:
    return float(x + rng.laplace(scale=0.1)) % 1.0


@flawed(0.0, 1.0, eps=0.1)
def pair_in_a_known_order(x: Any, rng: Any) -> Out:
    pair = [x + rng.laplace(), 1.0 - x + rng.laplace()]
    order = rng.random() < 0.5
    return (pair if order else pair[::-1]), order


@flawed(0, 1, eps=0.1)
def masked_by_too_few_numbers(x: Any, rng: Any) -> Out:
    return (x + int(rng.integers(9))) % 10


@flawed(0.0, 1.0, eps=0.1)
def sign_by_a_coin_that_is_told(x: Any, rng: Any) -> Out:
    coin = 1.0 if rng.random() < 0.5 else -1.0
    return coin * (2.0 * x - 1.0 + rng.laplace()), coin


# Adaptive releases and other claims.


@honest([1.0, 0.0], [0.0, 0.0])
def second_question_by_the_first_answer(v: Any, rng: Any) -> Out:
    first = float(v[0] + rng.laplace(scale=2.0))
    second = (v[0] if first > 0.5 else v[1]) + rng.laplace(scale=2.0)
    return first, second


@flawed([1.0, 0.0], [0.0, 0.0])
def second_question_not_paid(v: Any, rng: Any) -> Out:
    first = float(v[0] + rng.laplace(scale=1.0))
    second = (v[0] if first > 0.5 else v[1]) + rng.laplace(scale=1.0)
    return first, second


@flawed([1.0, 0.0], [0.0, 0.0])
def scale_by_the_first_answer(v: Any, rng: Any) -> Out:
    first = float(v[0] + rng.laplace(scale=2.0))
    return first, v[0] + rng.laplace(scale=2.0 if first > -3.0 else 0.5)


@honest([1.0, 0.0], [0.0, 0.0])
def scale_by_the_first_answer_within_bounds(v: Any, rng: Any) -> Out:
    first = float(v[0] + rng.laplace(scale=2.0))
    return first, v[0] + rng.laplace(scale=2.0 if first > -3.0 else 2.5)


@honest([3.0, 0.0], [2.0, 0.0])
def chosen_and_then_measured(v: Any, rng: Any) -> Out:
    best = int(np.argmax(np.asarray(v) + rng.laplace(scale=2.0, size=2)))
    return best, v[best] + rng.laplace(scale=2.0)


@flawed([3.0, 0.0], [2.0, 0.0], eps=0.99)
def chosen_and_then_measured_claimed_less(v: Any, rng: Any) -> Out:
    best = int(np.argmax(np.asarray(v) + rng.laplace(scale=2.0, size=2)))
    return best, v[0] + rng.laplace(scale=1.0)


@honest([1.0, 1.0], [1.0, 0.0], eps=RenyiDP(order=4.0, epsilon=2.0))
def gaussian_by_renyi(v: Any, rng: Any) -> Out:
    return sum(v) + rng.normal()  # 4/2


@flawed([1.0, 1.0], [1.0, 0.0], eps=RenyiDP(order=4.0, epsilon=1.9))
def gaussian_by_renyi_claimed_less(v: Any, rng: Any) -> Out:
    return sum(v) + rng.normal()


@honest([1.0, 1.0], [0.0, 1.0], eps=ZeroConcentratedDP(rho=0.5))
def gaussian_and_postprocessing(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.normal(size=2)
    return np.round(np.maximum(np.asarray(noisy), 0.0), 2)


@flawed([1.0, 1.0], [0.0, 1.0], eps=GaussianDP(mu=1.0))
def gaussian_of_short_deviation(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.normal(size=2) * np.array([0.999, 1.0])


@honest(50, 51, eps=ApproxDP(epsilon=1.0, delta=1e-5))
def proposed_tested_released(n: Any, rng: Any) -> Out:
    """The distance to a change is told with noise before; δ pays for a wrong test."""
    if abs(n - 20) - 1 + rng.laplace(scale=2.0) < 2.0 * math.log(1e5):
        return None
    return n + rng.laplace(scale=2.0)


@flawed(1.0, 2.0)
def scale_by_smoothness(x: Any, rng: Any) -> Out:
    return x + rng.laplace(scale=x)  # scale 1 against 2: no bound on the ratio


@honest([0, 0, 1], [0, 0, 0], eps=math.log(3.0))
def ternary_response(v: Any, rng: Any) -> Out:
    return [b if rng.random() < 0.75 else 1 - b for b in v]


@flawed([0, 0, 1], [0, 0, 0], eps=math.log(3.0))
def response_asked_twice(v: Any, rng: Any) -> Out:
    return [[b if rng.random() < 0.75 else 1 - b for b in v] for _ in range(2)]


@honest([0, 0, 1], [0, 0, 0], eps=math.log(3.0))
def response_asked_twice_remembered(v: Any, rng: Any) -> Out:
    once = [b if rng.random() < 0.75 else 1 - b for b in v]
    return [once, list(once)]


@honest([1, 0, 1, 1], [1, 0, 1, 0], eps=2.0)
def prefix_counts(bits: Any, rng: Any) -> Out:
    """Each bit is in two nodes of the tree."""
    pairs = [sum(bits[i : i + 2]) + rng.laplace(scale=1.0) for i in (0, 2)]
    leaves = [b + rng.laplace(scale=1.0) for b in bits]
    return list(itertools.accumulate(pairs)), leaves


@flawed([1, 0, 1, 1], [1, 0, 1, 0], eps=1.5)
def prefix_counts_claimed_less(bits: Any, rng: Any) -> Out:
    pairs = [sum(bits[i : i + 2]) + rng.laplace(scale=1.0) for i in (0, 2)]
    leaves = [b + rng.laplace(scale=1.0) for b in bits]
    return list(itertools.accumulate(pairs)), leaves


class _Counting:
    """A mechanism that is an object, vectorized, with a scale of its own."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.__name__ = f"object_of_scale_{scale}"

    def sample(self, data: Any, size: int, *, rng: Any) -> Any:
        return np.sum(data) + rng.laplace(0.0, self.scale, size)


honest([1.0, 1.0], [1.0, 0.0], quiet=True)(_Counting(1.0))
flawed([1.0, 1.0], [1.0, 0.0])(_Counting(0.9))
