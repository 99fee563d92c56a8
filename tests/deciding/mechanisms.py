"""Mechanisms for the ladder: an honest and a broken one for each rung, and such as fit no rung."""

# ruff: noqa: ANN401, ARG001  # data of any kind

import math
import os
import struct
import sys
import time
from contextlib import suppress
from typing import Any

import numpy as np

Rng = np.random.Generator


def enough(answer: Any, rng: Rng) -> Any:
    return answer + rng.laplace(scale=1.0)


def too_little(answer: Any, rng: Rng) -> Any:
    return answer + rng.laplace(scale=0.5)


def timed(answer: Any, rng: Rng) -> Any:
    """Takes its time, which is no part of the output; certificates refuse to look at a clock."""
    start = time.perf_counter()
    noisy = answer + rng.laplace(scale=1.0)
    assert time.perf_counter() >= start
    return noisy


def timed_little(answer: Any, rng: Rng) -> Any:
    start = time.perf_counter()
    noisy = answer + rng.laplace(scale=0.5)
    assert time.perf_counter() >= start
    return noisy


def by_hand(answer: Any, rng: Rng) -> Any:
    """Laplace noise by inversion, which neither certificates nor traces follow."""
    u = rng.random() - 0.5
    return answer - math.copysign(math.log(1.0 - 2.0 * abs(u)), u)


def by_hand_little(answer: Any, rng: Rng) -> Any:
    u = rng.random() - 0.5
    return answer - 0.5 * math.copysign(math.log(1.0 - 2.0 * abs(u)), u)


def by_hand_little_of_many(answers: Any, rng: Rng) -> Any:
    return by_hand_little(float(sum(answers)), rng)


def stopped_by_hand(answer: Any, rng: Rng) -> Any:
    """As if someone pressed Ctrl-C."""
    raise KeyboardInterrupt


def hidden(answer: Any, rng: Rng) -> Any:
    """Noise from the operating system, and rng only for show."""
    (whole,) = struct.unpack("<Q", os.urandom(8))
    u = (whole >> 11) / 2.0**53 - 0.5
    return answer - math.copysign(math.log1p(-2.0 * abs(u)), u)


def unusual_max(scores: Any, rng: Rng) -> Any:
    """Noisy max with Gumbel noise of scale 2: the exponential mechanism at ε = 1, exactly."""
    noisy = [score + rng.gumbel(scale=2.0) for score in scores]
    best = 0
    for i, value in enumerate(noisy):
        if value > noisy[best]:
            best = i
    return best


def rounded_little(answer: Any, rng: Rng) -> Any:
    """The trace refutes it on what it tried: a comparison saw the noisy number."""
    noisy = float(answer + rng.logistic(scale=0.5))
    return min(noisy, 1e6)


def rarely(answer: Any, rng: Rng) -> Any:
    """One run in ten tells the answer."""
    if rng.random() < 0.1:
        return answer
    return answer + rng.logistic(scale=1.0)


def endless(answer: Any, rng: Rng) -> Any:
    while True:
        pass


def swallowing(answer: Any, rng: Rng) -> Any:
    while True:
        with suppress(BaseException):  # the worst that a program can do
            rng.laplace()


def recursive(answer: Any, rng: Rng) -> Any:
    return recursive(answer, rng)


def leaving(answer: Any, rng: Rng) -> Any:
    sys.exit(4)


def while_below(answer: Any, rng: Rng) -> Any:
    """A loop over the data that no symbol can end."""
    steps = 0
    while steps < answer:
        steps += 1
    return steps + rng.laplace(scale=2.0)
