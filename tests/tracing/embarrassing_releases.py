"""Forty more releases by somebody who wants to embarrass a trace; half of them keep their claim.

Noise by other routes, protocols of the local model, samples, side doors: each of a kind that is not
among the others. They are added to the cases of `adversarial_releases`.
"""

# ruff: noqa: ANN401, ARG001, S311

import asyncio
import functools
import hashlib
import itertools
import math
import operator
import os
import random
import time
import uuid
from typing import Any

import numpy as np
import scipy.stats

from dpverify.guarantees import ApproxDP, GaussianDP
from tests.tracing.adversarial_releases import Out, flawed, honest

_BITS = [0, 1] * 8
_OTHER = [1, *_BITS[1:]]
_ZEROS, _ONE_HIGH = [0.0] * 100, [*[0.0] * 42, 1.0, *[0.0] * 57]


# Honest.


@honest(3, 4, 0.1)
def one_time_pad(x: Any, rng: Any) -> Out:
    """Uniform whatever x is: no loss at all."""
    return int(x + rng.integers(0, 10)) % 10


@honest(0.0, 1.0, 1.0)
def difference_of_logarithms(x: Any, rng: Any) -> Out:
    """ln u − ln v is standard Laplace noise."""
    return x + math.log(rng.random()) - math.log(rng.random())


@honest(0.0, 1.0, 1.0)
def noise_in_many_shares(x: Any, rng: Any) -> Out:
    """Laplace noise is the sum of n differences of Gamma(1/n) variables."""
    return x + float(np.sum(rng.gamma(0.1, size=10) - rng.gamma(0.1, size=10)))


@honest(0, 1, 2 * math.log(3.0), quiet=True)
def response_of_a_response(bit: Any, rng: Any) -> Out:
    """Permanent and instantaneous randomized response: less than the first alone."""
    kept = bit if rng.random() < 0.75 else 1 - bit
    return kept if rng.random() < 0.75 else 1 - kept


@honest("a", "b", 1.0)
def hashed_answer(item: Any, rng: Any) -> Out:
    """Optimal local hashing: a public hash to four values, then randomized response with e : 1."""
    salt = int(rng.integers(0, 2**31))
    value = hashlib.blake2b(f"{salt}{item}".encode(), digest_size=1).digest()[0] % 4
    if rng.random() < math.e / (math.e + 3.0):
        return salt, value
    return salt, (value + 1 + int(rng.integers(0, 3))) % 4


@honest([3, 1, 2], [3, 1, 3], 1.0)
def least_by_enumerate(counts: Any, rng: Any) -> Out:
    """Report noisy min of counts that move by 1, with Laplace noise of scale 2."""
    return min(enumerate(counts), key=lambda pair: pair[1] + rng.laplace(scale=2.0))[0]


@honest([1, 2, 5, 6, 9], [1, 2, 5, 6, 0], 1.0, quiet=True)
def median_by_bisection(values: Any, rng: Any) -> Out:
    """Three noisy counts that move by 1 each, at ε = 1/3."""
    low, high = 0.0, 16.0
    for _ in range(3):
        middle = (low + high) / 2
        below = sum(v < middle for v in values) + rng.laplace(scale=3.0)
        low, high = (middle, high) if below < len(values) / 2 else (low, middle)
    return low, high


@honest(0.0, 1.0, 1.0)
def staircase(x: Any, rng: Any) -> Out:
    """The staircase mechanism at γ = 1/2: a sign, a geometric step, a coin and a uniform number."""
    sign = 1.0 if rng.random() < 0.5 else -1.0
    step = rng.geometric(1.0 - math.exp(-1.0)) - 1
    inner = rng.random() < 1.0 / (1.0 + math.exp(-1.0))
    within = 0.5 * rng.random() if inner else 0.5 + 0.5 * rng.random()
    return x + float(sign * (step + within))


@honest([1.0, 0.0], [0.0, 0.0], GaussianDP(mu=1.0), quiet=True)
def strategy_and_back(x: Any, rng: Any) -> Out:
    """A matrix mechanism: what is inferred from noisy answers of ℓ2 sensitivity √2 at σ = √2."""
    strategy = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    noisy = strategy @ np.asarray(x) + rng.normal(scale=math.sqrt(2.0), size=3)
    return np.linalg.pinv(strategy) @ noisy


@honest([1, 0, 2, 5], [0, 0, 2, 5], 1.0, quiet=True)
def wavelet(counts: Any, rng: Any) -> Out:
    """Haar coefficients: a count is in one of each of three levels, each moves by at most 1."""
    a, b, c, d = counts
    coefficients = [a + b + c + d, a + b - c - d, a - b, c - d]
    return [v + rng.laplace(scale=3.0) for v in coefficients]


@honest(0.0, 1.0, 1.0, quiet=True, exact=1.0)
def scipy_laplace(x: Any, rng: Any) -> Out:
    return x + scipy.stats.laplace.rvs(scale=1.0, random_state=rng)


@honest(0.0, 1.0, 1.0)
def seed_sequences(x: Any, rng: Any) -> Out:
    child = np.random.default_rng(rng.bit_generator.seed_seq.spawn(1)[0])
    return x + child.laplace(scale=1.0)


@honest([1.0, 2.0], [1.0, 3.0], 1.0, quiet=True, exact=1.0)
def vectorized_function(values: Any, rng: Any) -> Out:
    return np.vectorize(lambda v: v + rng.laplace(scale=1.0), otypes=[object])(values)


@honest(0.0, 1.0, 1.0, quiet=True, exact=1.0)
def reduced_noise(x: Any, rng: Any) -> Out:
    parts = [rng.laplace(scale=1.0), 3.0, -3.0]
    return functools.reduce(operator.add, parts, x)


@honest(0.0, 1.0, 1.0, quiet=True, exact=1.0)
def masks_that_cancel(x: Any, rng: Any) -> Out:
    """Two parties mask with the same number; the noise of one stays."""
    mask = rng.normal(scale=100.0)
    return (x + mask + rng.laplace(scale=1.0)) - mask


@honest(0.0, 1.0, 1.0, quiet=True, exact=1.0)
def inside_of_an_event_loop(x: Any, rng: Any) -> Out:
    async def release() -> Any:
        await asyncio.sleep(0)
        return x + rng.laplace(scale=1.0)

    return asyncio.run(release())


@honest([1, 1, 0], [1, 1, 1], 1.0, quiet=True)
def running_totals(bits: Any, rng: Any) -> Out:
    """Noisy increments, added up: a random walk; each record is in one of them."""
    return list(itertools.accumulate(b + rng.laplace(scale=1.0) for b in bits))


@honest([0.0, 1.0], [0.0, 0.0], 3.0)
def best_of_a_random_number(values: Any, rng: Any) -> Out:
    """The best of a geometric number of 1-private runs is 3-private."""
    best = sum(values) + rng.laplace(scale=1.0)
    while rng.random() < 0.5:
        best = max(best, sum(values) + rng.laplace(scale=1.0))
    return best


@honest([5.0, 1.0], [4.0, 1.0], 1.0, quiet=True)
def solved_after_noise(values: Any, rng: Any) -> Out:
    """Post-processing by a constant system of equations."""
    return np.linalg.solve([[2.0, 1.0], [1.0, 3.0]], np.asarray(values) + rng.laplace(size=2))


@honest(20, 21, ApproxDP(epsilon=1.0, delta=1e-4), quiet=True)
def shown_if_large(count: Any, rng: Any) -> Out:
    """A noisy count, told if it exceeds a bar that is the same for everyone."""
    noisy = count + rng.laplace(scale=1.0)
    return noisy if noisy > 10.0 else None


# Flawed.


@flawed(0.4, 0.41, 0.01)
def stochastic_rounding(x: Any, rng: Any) -> Out:
    """P(1) is 0.40 against 0.41: ε = 0.024."""
    return math.floor(x + float(rng.random()))


@flawed(_ZEROS, _ONE_HIGH, 1.0)
def one_record_at_random(values: Any, rng: Any) -> Out:
    return values[int(rng.integers(0, len(values)))]


@flawed(_ZEROS, _ONE_HIGH, 1.0)
def reservoir(values: Any, rng: Any) -> Out:
    """Each record is kept with the same chance: 1 comes out on one side only."""
    kept = values[0]
    for n, value in enumerate(values[1:], start=2):
        if rng.random() * n < 1.0:
            kept = value
    return kept  # flaw


@flawed([1.0, 2.0, 3.0], [1.0, 2.0, 9.0], 1.0)
def sorted_by_a_noisy_key(values: Any, rng: Any) -> Out:
    return sorted(values, key=lambda v: v + rng.laplace(scale=100.0))


@flawed([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 9.0], 1.0)
def counted_above_a_released_bar(values: Any, rng: Any) -> Out:
    """The bar is private, the count of records above it is told as it is."""
    bar = float(np.clip(values, 0.0, 5.0).sum() + rng.laplace(scale=5.0))
    return bar, sum(v > bar for v in values)  # flaw


@flawed([1.0, 2.0], [1.0, 3.0], 1.0)
def noise_on_a_copy(values: Any, rng: Any) -> Out:
    array = np.array(values)
    noisy = array.copy()
    noisy += rng.laplace(size=2)
    return array + 0.0 * noisy.sum()  # flaw


@flawed([1.0, 2.0, 3.0], [1.0, 2.0, 9.0], 1.0)
def records_kept_by_coins(values: Any, rng: Any) -> Out:
    """A sample of half of the records, as they are."""
    return np.asarray(values)[rng.random(3) < 0.5]


@flawed(0.0, 1.0, 1.0)
def noise_of_the_operating_system(x: Any, rng: Any) -> Out:
    """Uniform on [0, 0.1), which hides nothing."""
    return x + int.from_bytes(os.urandom(4)) / 2**32 / 10


@flawed(0.0, 1.0, 1.0)
def noise_of_the_clock(x: Any, rng: Any) -> Out:
    return x + (time.perf_counter_ns() % 1000) / 10_000


@flawed(0.0, 1.0, 1.0)
def noise_of_an_identifier(x: Any, rng: Any) -> Out:
    return x + (uuid.uuid4().int % 1000) / 10_000


@flawed(0.0, 1.0, 1.0)
def seeded_by_data_and_salt(x: Any, rng: Any) -> Out:
    """Who knows the salt computes the noise of either dataset."""
    salt = int(rng.integers(0, 2**40))
    return salt, x + random.Random(f"{x} {salt}").gauss(0.0, 1.0)  # flaw


@flawed(0.5, 0.75, 1.0)
def digits_beside_noise(x: Any, rng: Any) -> Out:
    return f"{x:.2f}|{rng.laplace():.3f}"


@flawed(0.0, 1.0, 1.0)
def told_when_noise_is_large(x: Any, rng: Any) -> Out:
    """With probability e^-3 the exception has the value in it."""
    noise = float(rng.exponential())
    if noise > 3.0:
        raise ValueError(f"noise is too large for {x}")  # flaw
    return 0


@flawed([0.1, 0.5, 0.9], [0.1, 0.5, 0.2], 1.0)
def bins_of_the_data(values: Any, rng: Any) -> Out:
    return int(np.digitize(float(0.5 + rng.laplace(scale=0.3)), np.sort(values)))


@flawed([1.0, 5.0, 2.0], [1.0, 0.0, 2.0], 1.0)
def bootstrap(values: Any, rng: Any) -> Out:
    """A weighted sum of the records themselves, by Poisson weights."""
    return float(rng.poisson(1.0, size=3) @ np.asarray(values))


@flawed([1.0, 0.0], [2.0, 0.0], 1.0)
def random_rotation(point: Any, rng: Any) -> Out:
    """The length of the point is not hidden by turning it."""
    angle = 2.0 * math.pi * rng.random()
    (x, y), (c, s) = point, (math.cos(angle), math.sin(angle))
    return c * x - s * y, s * x + c * y  # flaw


@flawed(3, 4, 1.0)
def both_shares(x: Any, rng: Any) -> Out:
    share = int(rng.integers(0, 1000))
    return (x + share) % 1000, share  # flaw


@flawed(_BITS, _OTHER, 1.0)
def flipped_by_one_coin(bits: Any, rng: Any) -> Out:
    """All bits are turned, or none: their differences are told."""
    coin = int(rng.random() < 0.5)  # flaw
    return [b ^ coin for b in bits]


@flawed([1.0, 2.0], [1.0, 3.0], 1.0)
def ratio_paid_once(values: Any, rng: Any) -> Out:
    """Sum and mean, each at all of ε."""
    total = sum(values) + rng.laplace(scale=1.0)  # flaw
    return total, sum(values) / 2 + rng.laplace(scale=0.5)


@flawed(0.0, 1.0, 1.0)
def noise_kept_between_calls(x: Any, rng: Any, kept: Any = {}) -> Out:  # noqa: B006
    """The noise of the first call for all that follow."""
    kept.setdefault("noise", float(rng.laplace()))
    return x + kept["noise"]  # flaw
