"""Releases that use noise through uncommon doors of Python and numpy, honest and flawed.

They were written to break the trace: buffers, masks, formats, descriptors, caches, signals of the
interpreter, thresholds that are computed. They are added to the cases of `adversarial_releases`;
`# flaw` marks the line at fault, as reading finds it; `# also` one that a trace may name instead.
"""

# ruff: noqa: ANN401, ARG001, S311  # data of any kind; odd code is the point

import asyncio
import bisect
import contextlib
import copy
import ctypes
import functools
import io
import itertools
import math
import operator
import pickle
import random
import struct
import time
from collections import ChainMap, UserList, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import scipy.stats

from dpverify.guarantees import ApproxDP, GaussianDP
from tests.tracing.adversarial_releases import Out, flawed, honest

_V, _W = [0.0, 3.0, 1.0], [1.0, 3.0, 1.0]


# In place, and through `out`.


@flawed([0.0, 1.0], [5.0, 1.0])
def out_overwrites_the_release(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.laplace(scale=5.0, size=2)
    np.multiply(v, 1.0, out=noisy)  # flaw
    return noisy


@honest([0.0, 1.0], [1.0, 1.0], quiet=True)
def out_of_a_sum_is_the_noise(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    np.add(noise, v, out=noise)
    return noise


@flawed([0.0, 1.0], [1.0, 1.0])
def in_place_then_taken_back(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    noisy = np.asarray(v) + noise
    noisy -= noise  # flaw
    return noisy


@honest([0.0, 1.0], [1.0, 1.0], quiet=True)
def in_place_operators(v: Any, rng: Any) -> Out:
    noisy = np.array(v) + rng.laplace(size=2)
    noisy *= 2.0
    noisy -= 1.0
    noisy /= 4.0
    return noisy


@flawed([0.0, 1.0], [1.0, 1.0])
def in_place_scaled_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    noise *= 1.0 + sum(v)  # flaw
    return noise


@flawed([0.0, 1.0], [1.0, 1.0])
def where_of_a_ufunc_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.add(v, noise, where=np.asarray(v) > 0.5, out=np.zeros(2))  # flaw


@honest(0.0, 1.0)
def floor_divided_noise(x: Any, rng: Any) -> Out:
    noise = rng.laplace()
    noise //= 1.0
    return noise + x


# Masks and choices.


@flawed(0.0, 1.0)
def where_takes_data(x: Any, rng: Any) -> Out:
    noise = rng.laplace(size=4)
    return np.where(noise > 0, noise, x)  # flaw


@honest(0.0, 1.0, quiet=True)
def where_between_two_releases(x: Any, rng: Any) -> Out:
    a, b = x + rng.laplace(scale=2.0), x + rng.laplace(scale=2.0)
    return np.where(np.array([True, False]), a, b)


@flawed([1.0, 0.0], [0.0, 0.0])
def where_chooses_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.where(np.asarray(v) > 0.5, noise, 0.0)  # flaw


@flawed(0.0, 1.0)
def select_by_data(x: Any, rng: Any) -> Out:
    noise = rng.laplace(size=3)
    return np.select([noise > 2.0, noise < -2.0], [noise, noise], default=x)  # flaw


@honest(0.0, 1.0)
def clipped_release(x: Any, rng: Any) -> Out:
    return np.clip(x + rng.laplace(size=1), -3.0, 3.0)


@flawed(0.0, 1.0)
def clipped_to_noise(x: Any, rng: Any) -> Out:
    low = rng.laplace(scale=0.01)
    return np.clip(x, low - 0.001, low + 0.001)  # x + noise of scale 0.01, nearly


@flawed([2.0, 0.0, 0.0], [0.0, 0.0, 0.0])
def masked_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(scale=9.0, size=3)
    return np.ma.masked_array(v + noise, mask=np.asarray(v) > 1.0)  # flaw


@honest([2.0, 0.0, 0.0], [1.0, 0.0, 0.0])
def masked_by_a_constant(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.laplace(size=3)
    return np.ma.masked_array(np.asarray(noisy), mask=[False, False, True]).sum()


@flawed([0.0, 1.0], [1.0, 1.0])
def masked_array_of_noise_told(v: Any, rng: Any) -> Out:
    noise = np.ma.masked_array(np.asarray(rng.laplace(size=2)))
    return noise + v, noise  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def compressed_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.compress(np.asarray(v) < 0.5, noise)  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def indexed_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return noise[[int(x) for x in v]]  # flaw


@flawed([0.0, 2.0], [1.0, 2.0], eps=0.5)
def taken_along_the_order_of_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    order = np.argsort(v)
    return np.take_along_axis(np.asarray(v) + noise, order, axis=0)  # ε = 1 of one half


# Orders of what is noisy.


@honest([3.0, 1.0, 2.0], [2.0, 1.0, 2.0])
def sorted_and_trimmed(v: Any, rng: Any) -> Out:
    noisy = np.sort(np.asarray(v) + rng.laplace(size=3))
    return noisy[1]


@flawed([3.0, 1.0], [2.0, 1.0])
def data_in_the_order_of_noise(v: Any, rng: Any) -> Out:
    order = np.argsort(np.asarray(v) + rng.laplace(scale=9.0, size=2))
    return np.asarray(v)[order]  # flaw


@flawed([3.0, 1.0], [2.0, 1.0])
def best_by_noise_with_its_true_value(v: Any, rng: Any) -> Out:
    best = int(np.argmax(np.asarray(v) + rng.laplace(scale=9.0, size=2)))
    return v[best]  # flaw


@honest([3.0, 1.0, 0.0], [2.0, 1.0, 0.0])
def least_by_argmin(v: Any, rng: Any) -> Out:
    return int(np.argmin(np.asarray(v) + rng.laplace(scale=2.0, size=3)))


@flawed([9.0, 1.0, 0.0], [0.0, 1.0, 0.0])
def largest_partition(v: Any, rng: Any) -> Out:
    return np.argpartition(np.asarray(v) + rng.laplace(size=3), 1)[:1]  # ε near 9


@honest([9.0, 0.0], [8.0, 0.0])
def unique_of_a_release(v: Any, rng: Any) -> Out:
    return np.unique(np.asarray(v) + rng.laplace(size=2))


@flawed([9.0, 0.0], [8.0, 0.0], eps=0.5)
def digitized_noise(v: Any, rng: Any) -> Out:
    return np.digitize(np.asarray(v) + rng.laplace(size=2), np.arange(-20, 20))  # ε = 1


@flawed([0.0, 0.5], [0.2, 0.5])
def searched_in_data(v: Any, rng: Any) -> Out:
    return int(np.searchsorted(v, rng.random()))  # P(0) = 0 on the left


# Text, bits and buffers.


@flawed(0.0, 1.0)
def parsed_back_and_subtracted(x: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return float(repr(x + noise)) - float(str(noise))  # flaw


@honest(0.0, 1.0)
def formatted_release(x: Any, rng: Any) -> Out:
    return f"{x + rng.laplace():+.3e}"


@flawed(0.0, 1.0)
def width_of_a_format_by_data(x: Any, rng: Any) -> Out:
    return f"{rng.laplace():{10 + int(x)}.2f}"  # flaw


@flawed(3, 4)
def digits_of_noise_by_data(n: Any, rng: Any) -> Out:
    return f"{rng.laplace():.{n}f}"  # flaw


@flawed(0.0, 1.0)
def packed_with_data(x: Any, rng: Any) -> Out:
    return struct.pack("dd", rng.laplace(), x)  # flaw


@honest(0.0, 1.0)
def packed_release(x: Any, rng: Any) -> Out:
    return struct.pack("d", x + rng.laplace())


@flawed(0.0, 1.0)
def from_a_buffer(x: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.frombuffer((noise + x).tobytes()) - np.frombuffer(noise.tobytes())  # flaw


@flawed(0.0, 1.0)
def through_a_memoryview(x: Any, rng: Any) -> Out:
    held = bytearray(struct.pack("d", x + rng.laplace()))
    memoryview(held).cast("d")[0] = x  # flaw
    return bytes(held)


@flawed(0.0, 1.0)
def through_the_address(x: Any, rng: Any) -> Out:
    noisy = np.asarray(x + rng.laplace(size=1))
    ctypes.cast(noisy.ctypes.data, ctypes.POINTER(ctypes.c_double))[0] = x  # flaw
    return noisy


@honest(0.0, 1.0)
def pickled_release(x: Any, rng: Any) -> Out:
    return pickle.loads(pickle.dumps([x + rng.laplace()]))  # noqa: S301


@flawed(0.0, 1.0)
def pickled_noise_and_release(x: Any, rng: Any) -> Out:
    noise = rng.laplace()
    kept = pickle.loads(pickle.dumps(noise))  # noqa: S301
    return x + noise - kept  # flaw


@flawed(0.0, 1.0)
def copied_noise_taken_back(x: Any, rng: Any) -> Out:
    noise = rng.laplace(size=1)
    return x + noise - copy.deepcopy(noise)  # flaw


@honest(0.0, 1.0, quiet=True)
def deep_copy_of_a_release(x: Any, rng: Any) -> Out:
    return copy.deepcopy({"a": [x + rng.laplace()]})


@flawed(0.0, 1.0)
def hash_of_noise_and_release(x: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return hash(noise), x + noise  # flaw


@flawed(0, 1)
def low_bit_of_data(n: Any, rng: Any) -> Out:
    noisy = int(1000 * rng.laplace())
    return (noisy << 1) | n  # flaw


@flawed(0, 1)
def exclusive_or_with_noise(n: Any, rng: Any) -> Out:
    return n ^ (2 * int(rng.integers(1 << 20)))  # flaw


@honest(0, 1)
def exclusive_or_with_a_fair_bit(n: Any, rng: Any) -> Out:
    return n ^ int(rng.integers(2))


@honest(0.0, 1.0)
def truncated_to_whole(x: Any, rng: Any) -> Out:
    return int(x + rng.laplace())


@flawed(0.0, 0.5)
def fraction_left_by_truncation(x: Any, rng: Any) -> Out:
    return x + int(9 * rng.laplace())  # flaw


@flawed(0.0, 0.5)
def fraction_left_by_rounding(x: Any, rng: Any) -> Out:
    return x + round(9 * rng.laplace())  # flaw


@flawed(0.25, 0.75)
def fraction_of_whole_noise(x: Any, rng: Any) -> Out:
    return x + rng.integers(-100, 100)  # flaw


# Complex numbers and products.


@honest(0.0, 1.0)
def complex_release(x: Any, rng: Any) -> Out:
    return complex(x + rng.laplace(), rng.laplace())


@flawed(0.0, 1.0)
def imaginary_data(x: Any, rng: Any) -> Out:
    return rng.laplace() + 1j * x  # flaw


@flawed([[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]])
def noise_between_two_products(m: Any, rng: Any) -> Out:
    return np.asarray(m) @ rng.laplace(size=(2, 2)) @ np.linalg.inv(m)  # data choose the law


@flawed([1.0, 0.0], [0.0, 1.0], eps=GaussianDP(mu=1.0))
def rank_one_noise(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.normal() * np.ones(2)  # differences are told  # flaw


@honest([1.0, 0.0], [0.0, 0.0], eps=GaussianDP(mu=1.0), quiet=True)
def rotated_release(v: Any, rng: Any) -> Out:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    return turn @ (np.asarray(v) + rng.normal(size=2))


@flawed([1.0, 0.0], [0.0, 0.0], eps=GaussianDP(mu=1.0))
def projected_away_noise(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.normal(size=2) @ np.array([[0.0, 0.0], [0.0, 1.0]])  # flaw


@flawed([1.0, 2.0], [2.0, 2.0])
def polynomial_of_noise(v: Any, rng: Any) -> Out:
    return np.polyval(v, rng.laplace())  # coefficients are told by the law


@flawed([1.0, 2.0], [2.0, 2.0])
def real_part_by_transform(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.fft.ifft(np.fft.fft(np.asarray(v) + noise) - np.fft.fft(noise)).real  # flaw


# Containers.


@flawed({"a": 1}, {"b": 1})
def default_dict_of_what_is_there(d: Any, rng: Any) -> Out:
    found: dict[str, Any] = defaultdict(float)
    for key in d:
        found[key] += rng.laplace()  # flaw
    return dict(found)


@flawed({"a": 1, "b": 2}, {"b": 2, "a": 1})
def keys_in_the_order_of_data(d: Any, rng: Any) -> Out:
    return {key: d[key] + rng.laplace(scale=100.0) for key in d}  # flaw


@flawed([1, 2], [1, 3])
def set_of_data_by_noise(v: Any, rng: Any) -> Out:
    return {x for x in v if rng.random() < 0.9}  # 3 never comes out on the left


@honest(0.0, 1.0)
def user_list(x: Any, rng: Any) -> Out:
    return UserList([x + rng.laplace()])


@flawed(0.0, 1.0)
def user_list_of_data(x: Any, rng: Any) -> Out:
    return UserList([rng.laplace(), x])  # flaw


@flawed(0.0, 1.0)
def hidden_in_a_chain_map(x: Any, rng: Any) -> Out:
    return ChainMap({"a": rng.laplace()}, {"a": x})  # flaw


@flawed(0, 1)
def most_of_a_deque(n: Any, rng: Any) -> Out:
    return deque([rng.laplace()], maxlen=n + 5)  # flaw


@dataclass
class _Held:
    value: Any
    hidden: Any = field(default=None, repr=False, compare=False)


@flawed(0.0, 1.0)
def field_that_is_not_compared(x: Any, rng: Any) -> Out:
    return _Held(x + rng.laplace(), x)  # flaw


@flawed(0.0, 1.0)
def exception_that_carries_data(x: Any, rng: Any) -> Out:
    error = ValueError(rng.laplace())
    error.add_note(str(x))  # flaw
    raise error  # also: what a call does to its owner is not watched


@flawed(0.0, 1.0)
def cause_of_an_exception(x: Any, rng: Any) -> Out:
    try:
        {}[x]
    except KeyError as cause:
        raise ValueError("refused") from cause  # flaw


@flawed(0.0, 1.0)
def finally_returns_data(x: Any, rng: Any) -> Out:
    try:
        noisy = x + rng.laplace()
        raise ValueError(str(noisy))
    finally:
        return x  # noqa: B012  # flaw


@honest(0.0, 1.0)
def raised_by_noise(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()
    if noisy > 2.0:
        raise ValueError("large")
    return "small"


@honest(0.0, 1.0)
def exit_by_noise(x: Any, rng: Any) -> Out:
    with contextlib.suppress(SystemExit):
        if x + rng.laplace() > 0.5:
            raise SystemExit(3)
        return "stayed"
    return "left"


@flawed([1.0, 2.0], [1.0])
def generator_that_is_used_up(v: Any, rng: Any) -> Out:
    def noisy() -> Any:
        for x in v:  # flaw
            yield x + rng.laplace(scale=9.0)  # also: here there are more of them

    return list(itertools.islice(noisy(), 5))


@flawed([1.0, 2.0], [1.0])
def early_stop_on_data(v: Any, rng: Any) -> Out:
    found = []
    for i in range(4):
        found.append(rng.laplace())
        if i >= len(v):  # flaw
            break
    return len(found)  # also: both sides take the same branches, one of them later


# State.

_CALLS: list[Any] = []
_BEFORE: dict[str, Any] = {}


@flawed(0.0, 1.0)
def noise_of_the_call_before(x: Any, rng: Any) -> Out:
    before = _BEFORE.get("noise", 0.0)
    _BEFORE["noise"] = float(rng.laplace())
    return x + before


@honest(0.0, 1.0)
def counts_its_calls_unseen(x: Any, rng: Any) -> Out:
    _CALLS.append(None)
    return x + rng.laplace()


@functools.cache
def _cached(x: float) -> float:
    return x * 2.0


@honest(0.0, 1.0, quiet=True)
def cached_query(x: Any, rng: Any) -> Out:
    return _cached(x) + rng.laplace(scale=2.0)


@functools.cache
def _noise_of(seed: int) -> float:
    return float(np.random.default_rng(seed).laplace())


@flawed(0.0, 1.0)
def cached_noise_of_a_known_seed(x: Any, rng: Any) -> Out:
    return x + _noise_of(7)


@flawed(0.0, 1.0)
def attribute_of_the_function(x: Any, rng: Any) -> Out:
    kept = attribute_of_the_function.__dict__
    kept.setdefault("noise", float(rng.laplace()))
    return x + kept["noise"]


@flawed(0.0, 1.0)
def closure_drawn_once(x: Any, rng: Any, kept: Any = []) -> Out:  # noqa: B006
    if not kept:
        kept.append(rng.laplace())
    return x + kept[0]


# Side channels that are no outputs.


@honest([0.0] * 3, [0.0] * 4, quiet=True)
def takes_longer(v: Any, rng: Any) -> Out:
    time.sleep(0.0001 * len(v))
    return len(v) + rng.laplace()


@honest([0.0] * 3, [0.0] * 4, quiet=True)
def needs_more_memory(v: Any, rng: Any) -> Out:
    room = np.zeros(100 * len(v))
    return len(v) + rng.laplace() + room.sum()


@honest([0.0] * 3, [0.0] * 4)
def writes_to_a_stream(v: Any, rng: Any) -> Out:
    print(v, file=io.StringIO())
    return len(v) + rng.laplace()


@honest([0.0] * 3, [0.0] * 4)
def draws_as_often_as_there_are_records(v: Any, rng: Any) -> Out:
    for _ in v:
        rng.laplace()
    return len(v) + rng.laplace()


# Generators.


@honest(0.0, 1.0)
def generator_made_inside(x: Any, rng: Any) -> Out:
    return x + np.random.default_rng().laplace()


@honest(0.0, 1.0)
def random_state_of_scipy(x: Any, rng: Any) -> Out:
    return scipy.stats.laplace.rvs(loc=x, random_state=rng)


@flawed(0.0, 1.0)
def random_state_of_scipy_halved(x: Any, rng: Any) -> Out:
    return x + 0.5 * scipy.stats.laplace.rvs(random_state=rng)  # ε = 2


@flawed(0.0, 1.0)
def seed_of_time_and_data(x: Any, rng: Any) -> Out:
    return random.Random(f"{x}").gauss(0.0, 1.0)  # flaw


@flawed([1.0, 2.0], [3.0, 2.0])
def permuted_records(v: Any, rng: Any) -> Out:
    return rng.permuted(np.asarray(v))  # flaw


@flawed([0.2, 0.8], [0.8, 0.2])
def multinomial_counts(p: Any, rng: Any) -> Out:
    return rng.multinomial(20, p)  # ε = 20 ln 4


@honest([0.0, 1.0], [1.0, 1.0], eps=1.0)
def cauchy_of_a_sum(v: Any, rng: Any) -> Out:
    return sum(v) + rng.standard_cauchy()  # ε = 2 asinh(1/2) = 0.9624


@flawed([0.0, 1.0], [1.0, 1.0], eps=0.9)
def cauchy_claimed_less(v: Any, rng: Any) -> Out:
    return sum(v) + rng.standard_cauchy()  # ε = 0.9624  # flaw


@honest(0.0, 1.0)
def rejected_until_positive(x: Any, rng: Any) -> Out:
    while True:
        noisy = x + rng.laplace()
        if noisy > 0:
            return "done"


@flawed(0.0, 3.0)
def number_of_tries(x: Any, rng: Any) -> Out:
    tries = 1
    while x + rng.laplace() < 2.0:  # flaw
        tries += 1
    return tries  # the ε of two geometric laws has no bound


@flawed(0.0, 1.0)
def state_of_the_bits_told(x: Any, rng: Any) -> Out:
    state = rng.bit_generator.state
    return x + rng.laplace(), str(state)  # flaw


@flawed(0.0, 1.0)
def noise_foretold(x: Any, rng: Any) -> Out:
    twin = copy.deepcopy(rng)
    return x + rng.laplace(), float(twin.laplace())  # flaw


@flawed(0.0, 1.0)
def shared_by_two_threads(x: Any, rng: Any) -> Out:
    with ThreadPoolExecutor(2) as pool:
        noise = pool.submit(rng.laplace).result()
    return x + noise - noise  # flaw


@honest(0.0, 1.0)
def gathered_by_asyncio(x: Any, rng: Any) -> Out:
    async def one() -> Any:
        await asyncio.sleep(0)
        return x + rng.laplace(scale=2.0)

    async def both() -> Any:
        return await asyncio.gather(one(), one())

    return asyncio.run(both())


# Thresholds that are computed, out of sight.


@flawed([0.3, 1.0], [0.4, 1.0])
def threshold_of_data(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    mark = 0.37 * v[0] + 2.0
    if mark < noisy < mark + 1e-4:  # flaw
        return "hit"
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def threshold_of_data_inline(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    if abs(noisy - math.sqrt(v[0])) < 1e-5:  # flaw
        return v
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_and_unrelated(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    start = math.pi / 1.7
    if start < noisy < start + 1e-6:
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_in_an_array(v: Any, rng: Any) -> Out:
    noisy = np.asarray(np.asarray(v) + rng.laplace(size=2))
    start = math.e / 1.3
    inside = (noisy.max() > start) & (noisy.max() < start + 1e-6)
    return np.where(inside, v, noisy)  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_by_bisection(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    marks = [math.sqrt(3.0), math.sqrt(3.0) + 1e-7]
    if bisect.bisect(marks, noisy) == 1:
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_by_a_function(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    if operator.lt(abs(noisy - math.log(7.3)), 1e-6):
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_after_a_curve(v: Any, rng: Any) -> Out:
    squashed = math.tanh(0.1 * (sum(v) + rng.laplace()))
    if math.sin(0.3) < squashed < math.sin(0.3) + 1e-7:
        return v  # flaw
    return squashed


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_by_max(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return max(noisy, v[0])  # P(output = 0.3) > 0 on one side only  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_by_close(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return v if math.isclose(noisy, math.sqrt(2.0), abs_tol=1e-7) else noisy  # flaw


@honest([0.3, 1.0], [0.4, 1.0])
def narrow_but_harmless(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    start = math.pi / 1.7
    if start < noisy < start + 1e-6:
        return "rare"
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def two_noises_alike(v: Any, rng: Any) -> Out:
    a, b = float(rng.laplace()), float(rng.laplace())
    if abs(a - b) < 1e-6:
        return v  # flaw
    return a, b


@flawed([0.3, 1.0], [0.4, 1.0])
def sum_of_two_noises(v: Any, rng: Any) -> Out:
    a, b = float(rng.laplace()), float(rng.laplace())
    total = a + 2 * b
    if math.pi < total < math.pi + 1e-6:
        return v  # flaw
    return a, b


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_in_a_helper(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return v if _is_marked(noisy) else noisy  # flaw


def _is_marked(value: float) -> bool:
    low = math.exp(0.77)
    return low <= value <= low + 1e-6


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_in_a_comprehension(v: Any, rng: Any) -> Out:
    noisy = [float(x + rng.laplace()) for x in v]
    low = math.exp(0.77)
    return [x if low < y < low + 1e-6 else y for x, y in zip(v, noisy, strict=True)]  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def narrow_in_pandas(v: Any, rng: Any) -> Out:
    table = pd.Series([float(x + rng.laplace()) for x in v])
    low = math.exp(0.77)
    return table.mask(table.between(low, low + 1e-6), pd.Series(v)).tolist()  # flaw


@flawed([0.3, 1.0], [0.4, 1.0], eps=ApproxDP(epsilon=1.0, delta=1e-9))
def narrow_beyond_delta(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    start = math.pi / 1.7
    if start < noisy < start + 1e-3:  # probability about 1e-4
        return v  # flaw
    return noisy


# Data of odd types.


@flawed([1, 2], [1.0, 2])
def type_of_a_record(v: Any, rng: Any) -> Out:
    return type(v[0]).__name__, rng.laplace()  # flaw


@flawed([1.0, 2.0], [1.0, 2.0, 3.0])
def shape_of_the_noise(v: Any, rng: Any) -> Out:
    return rng.laplace(size=len(v)).shape  # flaw


@flawed([1.0, 2.0], [1.0, 2.5])
def dtype_by_data(v: Any, rng: Any) -> Out:
    kind = np.float32 if float(v[1]).is_integer() else np.float64
    return rng.laplace(size=2).astype(kind)  # flaw


@flawed(np.nan, 1.0)
def not_a_number_compared(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()  # flaw
    return noisy == noisy  # noqa: PLR0124


@flawed(1.0, -0.0)
def division_by_zero_of_data(x: Any, rng: Any) -> Out:
    with np.errstate(all="ignore"):
        return np.float64(1.0) / np.float64(x) + rng.laplace()  # infinite on one side  # flaw


@flawed([1.0, 2.0], [1.0])
def series_aligned_by_index(v: Any, rng: Any) -> Out:
    noise = pd.Series(np.asarray(rng.laplace(scale=9.0, size=2)))
    return (pd.Series(v) + noise).tolist()  # missing on one side  # flaw


@flawed([1.0, 2.0], [2.0, 1.0])
def ranks_beside_noise(v: Any, rng: Any) -> Out:
    return pd.DataFrame({"r": pd.Series(v).rank(), "n": rng.laplace(size=2)}).r.tolist()  # flaw


@honest([1.0, 2.0], [1.0, 1.0])
def rolling_after_noise(v: Any, rng: Any) -> Out:
    return pd.Series(np.asarray(np.asarray(v) + rng.laplace(size=2))).rolling(2).mean().tolist()


@honest([1.0, 2.0], [1.0, 1.0], quiet=True)
def vector_by_fromiter(v: Any, rng: Any) -> Out:
    return np.array([x + rng.laplace() for x in v])


@flawed([1.0, 2.0], [1.0, 1.0])
def vector_by_fromiter_of_data(v: Any, rng: Any) -> Out:
    noise = [rng.laplace() for _ in v]
    return np.fromiter((x + n for x, n in zip(v, noise, strict=True)), float) - np.array(noise)


@honest(0.0, 1.0)
def monkeypatched_generator(x: Any, rng: Any) -> Out:
    drawn = rng.laplace
    return x + functools.partial(drawn, scale=1.0)()


@flawed(0.0, 1.0)
def noise_replaced(x: Any, rng: Any) -> Out:
    def draw(_: Any) -> float:
        return 0.0

    return x + draw(rng.laplace())  # flaw


@flawed(0.0, 1.0)
def noise_times_zero_array(x: Any, rng: Any) -> Out:
    return np.array([x]) + rng.laplace(size=1) * np.zeros(1)  # flaw


@flawed(0.0, 1.0)
def noise_swallowed_by_a_large_number(x: Any, rng: Any) -> Out:
    return (rng.laplace() + 1e300) * 0.0 + x  # flaw


@flawed(0.0, 1.0)
def noise_absorbed_by_rounding(x: Any, rng: Any) -> Out:
    return (rng.laplace() * 1e-20 + 1.0) - 1.0 + x  # right in real arithmetic: scale 1e-20


@flawed(0.0, 1.0)
def difference_of_squares(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    return (x + z) ** 2 - z**2 - 2 * x * z  # flaw


# Decisions on plain numbers, once more.


@flawed([0.3, 1.0], [0.4, 1.0])
def key_of_a_table(v: Any, rng: Any) -> Out:
    noisy = round(float(sum(v) + rng.laplace()), 3)
    return {2.718: v}.get(noisy, noisy)  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def key_of_a_table_or_an_exception(v: Any, rng: Any) -> Out:
    noisy = round(float(sum(v) + rng.laplace()), 3)
    table = {round(math.pi, 3): v}
    try:
        return table[noisy]  # flaw
    except KeyError:
        return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def member_of_a_set(v: Any, rng: Any) -> Out:
    noisy = round(float(sum(v) + rng.laplace()), 4)
    return v if noisy in {math.floor(1e4 * math.e) / 1e4, 99.0} else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def division_that_fails(v: Any, rng: Any) -> Out:
    noisy = round(1000 * float(sum(v) + rng.laplace()))
    try:
        return 1.0 / (noisy - 2303)
    except ZeroDivisionError:
        return v  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def matched_case(v: Any, rng: Any) -> Out:
    noisy = round(1000 * float(sum(v) + rng.laplace()))
    match noisy:
        case n if n == 17**3 // 2:
            return v  # flaw
        case _:
            return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def loop_until_close(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    low, high = -20.0, 20.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (middle, high) if noisy > middle else (low, middle)
    mark = math.sqrt(5.0)
    return v if low <= mark <= high else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def one_of_a_hundred_coordinates(v: Any, rng: Any) -> Out:
    noisy = [float(rng.laplace()) for _ in range(100)]
    mark = math.sqrt(2.0) / 3.0
    return [v[0] if mark < n < mark + 1e-7 else n for n in noisy]  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def product_of_two(v: Any, rng: Any) -> Out:
    a, b = float(rng.laplace()), float(rng.laplace())
    if math.e < a * b < math.e + 1e-7:
        return v  # flaw
    return a, b


@flawed([0.3, 1.0], [0.4, 1.0])
def exponent_of_noise(v: Any, rng: Any) -> Out:
    noisy = math.exp(-float(sum(v) + rng.laplace(scale=2.0)))
    if 0.777 <= noisy <= 0.777 + 1e-9:
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def uniform_in_a_slit(v: Any, rng: Any) -> Out:
    u = float(rng.random())
    slit = 1.0 / math.sqrt(3.0)
    return v if slit < u < slit + 1e-9 else u  # flaw


class _Judge:
    """Decides in a method, with a bound that it holds."""

    def __init__(self, mark: float) -> None:
        self.__mark = mark

    def is_near(self, value: float) -> bool:
        return self.__mark < value < self.__mark + 1e-7


class _Strict(_Judge):
    def is_near(self, value: float) -> bool:
        return super().is_near(value)


@flawed([0.3, 1.0], [0.4, 1.0])
def method_of_a_subclass(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return v if _Strict(math.sqrt(7.0)).is_near(noisy) else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def nested_function_decides(v: Any, rng: Any) -> Out:
    mark = math.sqrt(6.0)

    def near(value: float) -> bool:
        return mark < value < mark + 1e-8

    noisy = float(sum(v) + rng.laplace())
    return v if near(noisy) else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def helper_handed_over(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    found = list(filter(lambda n: abs(n - math.sqrt(6.5)) < 1e-8, [noisy]))
    return v if found else noisy  # flaw


def _checked(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(v: Any, rng: Any) -> Any:
        assert len(v) < 10**9
        return function(v, rng)

    return wrapper


@flawed([0.3, 1.0], [0.4, 1.0])
@_checked
def wrapped_decision(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    if (gap := noisy - math.sqrt(8.0)) >= 0.0 and gap < 1e-8:
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def decision_of_a_coroutine(v: Any, rng: Any) -> Out:
    async def told() -> Any:
        await asyncio.sleep(0)
        noisy = float(sum(v) + rng.laplace())
        return v if math.sqrt(9.5) < noisy < math.sqrt(9.5) + 1e-8 else noisy  # flaw

    return asyncio.run(told())  # also: what a coroutine gave back


@flawed([0.3, 1.0], [0.4, 1.0])
def sum_of_plain_numbers(v: Any, rng: Any) -> Out:
    noisy = np.asarray(np.asarray(v) + rng.laplace(size=2))
    total = float(noisy.sum())
    return v if math.pi < total < math.pi + 1e-8 else noisy.tolist()  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def threshold_moves_a_little(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace(scale=1000.0))
    return "high" if noisy > 2.0 + 1e-6 * v[0] else noisy  # flaw


@honest([0.3, 1.0], [0.4, 1.0])
def threshold_of_data_told_by_a_bit(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return ["low", "high"][noisy > 5.0 + 1e-5 * v[0]]  # the gap moves by a tenth: ε = 0.1


@honest([0.3, 1.0], [0.4, 1.0])
def sorted_beside_constants(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return sorted([noisy, 1.0, 2.0])


@honest([0.3, 1.0], [0.4, 1.0])
def buckets_of_a_release(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    return bisect.bisect([-1.0, 0.0, 1.0, math.e], noisy), int(noisy > math.pi)


@honest([0.3, 1.0], [0.4, 1.0])
def methods_and_properties(v: Any, rng: Any) -> Out:
    judge = _Strict(math.sqrt(7.0))
    noisy = float(sum(v) + rng.laplace())
    return "near" if judge.is_near(noisy) else noisy


@honest([0.3, 1.0], [0.4, 1.0])
def recursion_on_a_release(v: Any, rng: Any) -> Out:
    def halved(value: float, depth: int) -> float:
        return value if abs(value) < 1.0 or depth > 30 else halved(value / 2 - 0.1, depth + 1)

    return halved(float(sum(v) + rng.laplace()), 0)


@honest([0.3, 1.0], [0.4, 1.0])
def starred_arguments(v: Any, rng: Any) -> Out:
    both = (float(sum(v) + rng.laplace()), 2.5)
    return max(*both), sum([*both, -1.0])


@honest([0.3, 1.0], [0.4, 1.0])
def generator_of_a_release(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())

    def steps() -> Any:
        left = noisy
        while left > 0.0:
            left -= 1.0
            yield left

    return sum(1 for _ in itertools.islice(steps(), 100))


# Where noise comes from, once more.


@flawed(0.0, 1.0)
def seeded_by_a_number(x: Any, rng: Any) -> Out:
    kept = random.Random(12345)  # flaw
    return x + kept.gauss(0.0, 1.0)


@flawed(0.0, 1.0, eps=0.9)
def laplace_by_two_exponentials_of_random(x: Any, rng: Any) -> Out:
    return x + random.expovariate(1.0) - random.expovariate(1.0)  # flaw


@honest(0.0, 1.0, quiet=True)
def laplace_by_random(x: Any, rng: Any) -> Out:
    return x + random.expovariate(1.0) - random.expovariate(1.0)


@flawed([1.0, 0.0], [0.0, 0.0], eps=GaussianDP(mu=1.0))
def half_of_the_matrix(v: Any, rng: Any) -> Out:
    noise = np.triu(rng.normal(size=(2, 2)))
    return np.diag(v) + noise + noise.T - np.diag(np.diag(noise)) * 2.0  # flaw


@honest([1.0, 0.0], [0.0, 0.0], eps=GaussianDP(mu=1.0))
def symmetric_noise(v: Any, rng: Any) -> Out:
    noise = np.triu(rng.normal(size=(2, 2)))
    return np.diag(v) + noise + np.triu(noise, 1).T


@flawed([1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
def noise_repeated(v: Any, rng: Any) -> Out:
    return np.asarray(v) + np.repeat(rng.laplace(size=1), 3)  # flaw


@flawed([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0])
def noise_tiled(v: Any, rng: Any) -> Out:
    return np.asarray(v) + np.tile(rng.laplace(size=2), 2)  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def noise_broadcast(v: Any, rng: Any) -> Out:
    return np.asarray(v) + np.broadcast_to(rng.laplace(), (2,))  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def noise_rolled_back(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.asarray(v) + noise - np.roll(np.roll(noise, 1), -1)  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def noise_flipped_and_added(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.asarray(v) + noise, noise[::-1]  # flaw


@honest([1.0, 0.0], [0.0, 0.0], quiet=True)
def noise_flipped(v: Any, rng: Any) -> Out:
    return np.asarray(v) + np.flip(rng.laplace(size=2))


@flawed([1.0, 0.0], [0.0, 0.0])
def kept_in_a_closure_list(v: Any, rng: Any) -> Out:
    seen: list[Any] = []

    def noise() -> Any:
        seen.append(rng.laplace())
        return seen[-1]

    noisy = [x + noise() for x in v]  # also: what is told again
    return noisy, seen  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def stacked_and_reduced(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    both = np.stack([np.asarray(v) + noise, -noise])  # also: what is taken back
    return both.sum(axis=0)  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def reduced_by_functools(v: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return functools.reduce(operator.add, [v[0], noise, -1 * noise])  # flaw


@honest([1.0, 0.0], [0.0, 0.0], quiet=True)
def summed_by_fsum(v: Any, rng: Any) -> Out:
    return math.fsum(v) + rng.laplace()


@flawed([1.0, 0.0], [0.0, 0.0])
def summed_with_fsum(v: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return math.fsum([*v, noise, -noise])  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def iterated_by_accumulate(v: Any, rng: Any) -> Out:
    noise = rng.laplace(scale=2.0)
    return list(itertools.accumulate([noise, v[0], -noise]))  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def scale_from_an_environment(v: Any, rng: Any) -> Out:
    scale = {0.0: 1.0, 1.0: 2.0}[v[0]]
    return v[0] + rng.laplace(scale=scale)  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def generator_chosen_by_data(v: Any, rng: Any) -> Out:
    draw = rng.laplace if v[0] else rng.normal  # flaw
    return draw()  # also: where the laws differ


@flawed([1.0, 0.0], [0.0, 0.0])
def size_of_a_sum_of_noise(v: Any, rng: Any) -> Out:
    return rng.laplace(size=3 + int(v[0])).sum()  # another law  # flaw


@flawed([1.0, 0.0], [0.0, 0.0])
def order_of_draws_by_data(v: Any, rng: Any) -> Out:
    a, b = rng.laplace(), rng.laplace()
    first, _ = (a, b) if v[0] else (b, a)
    return first, a  # equal on one side  # flaw


@honest([1.0, 0.0], [0.0, 0.0])
def order_of_draws_that_is_not_told(v: Any, rng: Any) -> Out:
    a, b = rng.laplace(), rng.laplace()
    first, _ = (a, b) if v[0] else (b, a)
    return first


# Texts and fractions that are compared.


@flawed([0.3, 1.0], [0.4, 1.0])
def text_that_is_equal(v: Any, rng: Any) -> Out:
    text = f"{sum(v) + rng.laplace():.3f}"
    return v if text == f"{math.sqrt(11.0):.3f}" else text  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def decimal_in_a_slit(v: Any, rng: Any) -> Out:
    noisy = Decimal(float(sum(v) + rng.laplace()))
    mark = Decimal(11).sqrt()
    return v if mark < noisy < mark + Decimal("1e-7") else str(noisy)  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def fraction_in_a_slit(v: Any, rng: Any) -> Out:
    noisy = Fraction(float(sum(v) + rng.laplace()))
    return v if 0 < noisy - Fraction(22, 7) < Fraction(1, 10**7) else float(noisy)  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def slit_far_out(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    if 10.0 * math.e < noisy < 10.0 * math.e + 1e-7:  # once in e^26 runs: no δ is allowed
        return v  # flaw
    return noisy


@flawed([0.3, 1.0], [0.4, 1.0])
def time_in_a_slit(v: Any, rng: Any) -> Out:
    noisy = timedelta(seconds=float(sum(v) + rng.laplace()))
    mark = timedelta(seconds=math.sqrt(5.0))
    return v if mark < noisy < mark + timedelta(microseconds=5) else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def length_of_noise_in_a_slit(v: Any, rng: Any) -> Out:
    noise = np.asarray(rng.normal(size=50))
    length = float(np.linalg.norm(noise))
    return v if 6.7 < length < 6.7 + 1e-7 else noise  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def place_among_marks(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    marks = [0.0, math.sqrt(5.0), math.sqrt(5.0) + 1e-7, 9.0]
    return v if sum(mark < noisy for mark in marks) == 2 else noisy  # flaw


@flawed([0.3, 1.0], [0.4, 1.0])
def one_of_a_million(v: Any, rng: Any) -> Out:
    number = int(rng.integers(10**6))
    return v if number == 271_828 else number  # flaw


@flawed([0.3] * 40, [0.4] + [0.3] * 39)
def slit_for_any_of_forty(v: Any, rng: Any) -> Out:
    noisy = np.asarray(np.asarray(v) + rng.laplace(size=40))
    start = math.sqrt(5.0)
    return v if np.any((noisy > start) & (noisy < start + 1e-7)) else noisy  # flaw


@flawed([0.3] * 400, [0.4] + [0.3] * 399)
def slit_for_each_of_many(v: Any, rng: Any) -> Out:
    noisy = np.asarray(np.asarray(v) + rng.laplace(size=400))
    start = math.sqrt(5.0)
    inside = (noisy > start) & (noisy < start + 1e-7)
    return v[0] if inside.any() else noisy[:3].tolist()  # flaw
