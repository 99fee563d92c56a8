"""More mechanisms that are other than they look, of kinds that `deceptions` has not; they join it.

State that stays between calls, whole numbers and floats, overflow, what an output carries along,
the order of ties and keys, exceptions, lengths, bounds that are not alike, claims with a δ.
"""

import contextlib
import functools
import itertools
import math
import sys
from collections import Counter
from typing import Any

import numpy as np

import dpverify as dpv
from tests.certifying.deceptions import (
    BIT,
    BITS,
    COUNT,
    COUNTS,
    DECEPTIONS,
    FEW,
    LN3,
    LONG,
    LONG_BITS,
    PAIR,
    QUERIES,
    REAL,
    UNITS,
    Rng,
    false,
    outside,
    true,
    two_sided,
)
from tests.certifying.schemas import Answers, Number, Records

# ruff: noqa: ANN401, B006, PLW0603

LOPSIDED = Records(
    record=Number(low=-1.0, high=3.0), length=(0, 2), relation=dpv.Relation.ADD_REMOVE
)
LOPSIDED_PAIR = Records(
    record=Number(low=-1.0, high=3.0), length=2, relation=dpv.Relation.REPLACE_ONE
)
ONE_OR_TWO = Records(
    record=Number(low=0.0, high=1.0), length=(1, 2), relation=dpv.Relation.REPLACE_ONE
)
HALF = Answers(sensitivity=1.0, low=0.0, high=0.5)
WHOLE = Answers(sensitivity=1, integer=True, low=-3, high=3)
L1 = Answers(dimension=2, sensitivity=1.0, norm=1)
L2 = Answers(dimension=2, sensitivity=1.0, norm=2)
__all__ = ["DECEPTIONS"]

NAN, INF = math.nan, math.inf
SEVENTH = (1,)

# State that stays.


def _closing() -> Any:
    calls = 0

    def closure_counts(x: Any, rng: Rng) -> Any:
        nonlocal calls
        calls += 1
        return x + rng.laplace(scale=1.0) * (calls < 5)

    return closure_counts


false(REAL)(_closing())


def _sampled() -> Any:
    kept = np.zeros(1)

    def closure_array(x: Any, rng: Rng) -> Any:
        kept[0] += 1
        return x + rng.laplace(scale=1.0) if kept[0] < 5 else x

    return closure_array


false(REAL)(_sampled())


def _numbered() -> Any:
    numbers = itertools.count()

    def closure_iterator(x: Any, rng: Rng) -> Any:
        return x + rng.laplace(scale=1.0) if next(numbers) < 5 else x

    return closure_iterator


false(REAL)(_numbered())


@false(REAL)
def keyword_default_changes(x: Any, rng: Rng, *, left: int = 5) -> Any:
    keyword_default_changes.__kwdefaults__ = {"left": left - 1}
    return x + rng.laplace(scale=1.0) if left > 0 else x


@false(REAL)
def positional_default_changes(x: Any, rng: Rng, left: int = 5) -> Any:
    positional_default_changes.__defaults__ = (left - 1,)
    return x + rng.laplace(scale=1.0) if left > 0 else x


@false(REAL)
def through_globals(x: Any, rng: Rng) -> Any:
    globals()["_left"] = globals().get("_left", 5) - 1
    return x + rng.laplace(scale=1.0) if globals()["_left"] > 0 else x


_noise: Any = None


@false(REAL)
def noise_of_the_first_call(x: Any, rng: Rng) -> Any:
    """The same noise in every call: two calls tell the difference of their data."""
    global _noise
    if _noise is None:
        _noise = rng.laplace(scale=1.0)
    return x + _noise


@functools.lru_cache(maxsize=1)
def _once(_: int) -> list[Any]:
    return []


@false(REAL)
def state_in_a_cache(x: Any, rng: Rng) -> Any:
    _once(0).append(1)
    return x + rng.laplace(scale=1.0) if len(_once(0)) < 5 else x


@false(REAL)
def state_in_a_set(x: Any, rng: Rng, seen: set[int] = set()) -> Any:
    seen.add(len(seen))
    return x + rng.laplace(scale=1.0) if len(seen) < 5 else x


@false(REAL)
def memory_of_data(x: Any, rng: Rng, seen: list[Any] = []) -> Any:
    """The first data stay: all that follow tell them too."""
    seen.append(x)
    return seen[0] - x + x + 0 * rng.laplace(scale=1.0)


# Whole numbers and floats.


@false(REAL)
def rounded_to_even(x: Any, rng: Rng) -> Any:
    """round(0.5) = 0 and round(1.5) = 2."""
    return round(x) + rng.laplace(scale=1.0)


@false(REAL)
def floor_by_halves(x: Any, rng: Rng) -> Any:
    return x // 0.5 + rng.laplace(scale=1.0)


@false(COUNT)
def remainder(count: Any, rng: Rng) -> Any:
    """2 and 3 are 2 apart after % 3."""
    return count % 3 + rng.laplace(scale=1.0)


@false(WHOLE, 0.5)
def truncated_or_floored(count: Any, rng: Rng) -> Any:
    """-1 // 2 is -1: halves, rounded down, still move by 1."""
    return count // 2 + rng.laplace(scale=1.0)


@false(COUNT)
def remainder_of_both(count: Any, rng: Rng) -> Any:
    whole, rest = divmod(count, 2)
    return 3 * whole - rest + rng.laplace(scale=1.0)


@false(COUNT)
def power_of_two(count: Any, rng: Rng) -> Any:
    return 2**count + rng.laplace(scale=1.0)


@false(COUNT)
def shifted_left(count: Any, rng: Rng) -> Any:
    return (1 << count) + rng.laplace(scale=1.0)


@false(COUNT)
def bits_of(count: Any, rng: Rng) -> Any:
    return (count ^ 1) + rng.laplace(scale=0.5)


@false(COUNT)
def inverted(count: Any, rng: Rng) -> Any:
    return ~count * 2 + rng.laplace(scale=1.0)


@false(COUNT)
def not_implemented(count: Any, rng: Rng) -> Any:
    """A whole number does not know how to add a float: the data are told as they are."""
    told = count.__add__(rng.laplace(scale=1.0))
    return count if told is NotImplemented else told


@false(COUNT)
def asked_for_its_bits(count: Any, rng: Rng) -> Any:
    try:
        return count.bit_length()
    except AttributeError:
        return count + two_sided(rng)


@false(REAL)
def asked_whether_whole(x: Any, rng: Rng) -> Any:
    try:
        return x.is_integer(), x + rng.laplace(scale=1.0)
    except AttributeError:
        return x + rng.laplace(scale=1.0)


@false(REAL)
def asked_for_its_hash(x: Any, rng: Rng) -> Any:
    try:
        {x: 1}[x]
    except TypeError:
        return x + rng.laplace(scale=1.0)
    return x


@false(REAL)
def asked_for_its_methods(x: Any, rng: Rng) -> Any:
    return x if "hex" in dir(x) else x + rng.laplace(scale=1.0)


@false(REAL)
def asked_for_a_method(x: Any, rng: Rng) -> Any:
    return x if hasattr(x, "as_integer_ratio") else x + rng.laplace(scale=1.0)


@false(REAL)
def asked_for_its_size(x: Any, rng: Rng) -> Any:
    return x if sys.getsizeof(x) < 40 else x + rng.laplace(scale=1.0)


@false(REAL)
def asked_by_numpy(x: Any, rng: Rng) -> Any:
    return x if np.isscalar(x) else x + rng.laplace(scale=1.0)


@false(PAIR)
def asked_for_its_dtype(data: Any, rng: Rng) -> Any:
    if np.asarray(data).dtype == np.dtype(float):
        return float(data[0])
    return float(data[0] + rng.laplace(scale=1.0))


@false(REAL)
def asked_by_match(x: Any, rng: Rng) -> Any:
    match x:
        case float() | int():
            return x
        case _:
            return x + rng.laplace(scale=1.0)


@false(REAL)
def asked_by_a_subclass(x: Any, rng: Rng) -> Any:
    return x if issubclass(type(x), (int, float)) else x + rng.laplace(scale=1.0)


@false(REAL)
def asked_for_its_module(x: Any, rng: Rng) -> Any:
    return x if type(x).__module__ in {"builtins", "numpy"} else x + rng.laplace(scale=1.0)


@false(REAL)
def sign_of_zero(x: Any, rng: Rng) -> Any:
    return math.copysign(1.0, x), rng.laplace(scale=1.0)


@false(REAL)
def maximum_with_nan(x: Any, rng: Rng) -> Any:
    """No number is above nan, so that the first one stays: x."""
    return max(x, NAN + rng.laplace(scale=1.0))


@false(REAL)
def minimum_with_infinity(x: Any, rng: Rng) -> Any:
    return min(x, INF), rng.laplace(scale=1.0)


@false(REAL)
def compared_with_nan(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    return noisy if noisy > NAN else x


@false(REAL)
def not_compared_with_nan(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    return x if not (noisy < NAN) else noisy


@false(REAL)
def equal_floats(x: Any, rng: Rng) -> Any:
    return 0.0 if x == 0.5 else x + rng.laplace(scale=1.0)


@false(REAL)
def different_floats(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0) if x != 0.5 else 0.0


# Numbers that overflow.


@false(COUNT)
def eight_bits(count: Any, rng: Rng) -> Any:
    """100·2 is −56 in eight bits: 156 away from 100."""
    return float(np.array([count], dtype=np.int8)[0] * np.int8(100)) + rng.laplace(scale=100.0)


@false(COUNT)
def below_zero(count: Any, rng: Rng) -> Any:
    """0 − 1 is 255."""
    return float((np.array([count], dtype=np.uint8) - np.uint8(1))[0]) + rng.laplace(scale=1.0)


@false(COUNT)
def cast_to_truth(count: Any, rng: Rng) -> Any:
    return float(np.array([count]).astype(bool)[0]) + rng.laplace(scale=0.5)


@false(REAL)
def cast_to_whole(x: Any, rng: Rng) -> Any:
    return float(np.array([2 * x]).astype(int)[0]) + rng.laplace(scale=1.0)


@false(REAL)
def put_into_whole_numbers(x: Any, rng: Rng) -> Any:
    """What is written into an array of whole numbers loses its noise."""
    told = np.zeros(1, dtype=int)
    told[0] = 0 * rng.laplace(scale=1.0)
    return float(told[0] + x)


@false(COUNTS)
def sum_in_eight_bits(counts: Any, rng: Rng) -> Any:
    total = np.sum(np.array(counts) * 100, dtype=np.int8)
    return float(total) + rng.laplace(scale=100.0)


@false(COUNTS)
def mean_in_whole_numbers(counts: Any, rng: Rng) -> Any:
    return float(np.array(counts).sum() // 2 * 3) + rng.laplace(scale=2.0)


# Identity, chains, ties, keys.


@false(COUNT)
def is_a_number(count: Any, rng: Rng) -> Any:
    return 7 if count is SEVENTH[0] else two_sided(rng)


@false(REAL)
def is_the_same(x: Any, rng: Rng) -> Any:
    noisy = x + 0 * rng.laplace(scale=1.0)
    return noisy if noisy is not x else x


@false(REAL)
def chained(x: Any, rng: Rng) -> Any:
    return -0.5 < x < 0.5 or rng.laplace(scale=1.0) > 0


@false(REAL)
def chained_three_times(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return x - 1 < noise < x + 1, x < 0 < x + 9


@false(REAL)
def chained_equal(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return x == x + noise - noise == 0.25


@false(PAIR)
def ties_keep_their_order(data: Any, rng: Rng) -> Any:
    rng.laplace(scale=1.0)
    return sorted(data, key=lambda _: 0)


@false(PAIR)
def largest_of_ties(data: Any, rng: Rng) -> Any:
    return max(range(2), key=lambda i: data[i] + 0 * rng.laplace(scale=1.0))


@false(PAIR)
def argsort_of_noise(data: Any, rng: Rng) -> Any:
    noisy = [v + rng.laplace(scale=1.0) for v in data]
    return [int(i) for i in np.argsort(noisy)], int(np.argmax(data))


@false(PAIR)
def sorted_in_place(data: Any, rng: Rng) -> Any:
    values = list(data)
    values.sort()
    return values[0] == data[0], values[0] + rng.laplace(scale=1.0)


@false(BITS)
def order_of_keys(bits: Any, rng: Rng) -> Any:
    rng.random()
    return list(dict.fromkeys(bits))


@false(BITS)
def most_common(bits: Any, rng: Rng) -> Any:
    rng.random()
    return Counter(bits).most_common(1)[0][0]


@false(BITS)
def number_of_keys(bits: Any, rng: Rng) -> Any:
    return len(set(bits)) + (rng.random() < 0.5)


@false(PAIR)
def number_of_values(data: Any, rng: Rng) -> Any:
    return len({*data}), data[0] + rng.laplace(scale=1.0)


@false(COUNT)
def looked_up(count: Any, rng: Rng) -> Any:
    return [0, 1, 5, 6][count] + rng.laplace(scale=1.0)


@false(COUNT)
def looked_up_by_key(count: Any, rng: Rng) -> Any:
    return {0: 0, 1: 1, 2: 5, 3: 6}[count] + rng.laplace(scale=1.0)


@false(COUNT)
def looked_up_or_else(count: Any, rng: Rng) -> Any:
    return {1: 2}.get(count, 0) + rng.laplace(scale=1.0)


@false(COUNT)
def as_often(count: Any, rng: Rng) -> Any:
    total = 0.0
    for _ in range(count):
        total += rng.laplace(scale=1.0)
    return total


@false(COUNT)
def as_long(count: Any, rng: Rng) -> Any:
    return [rng.laplace(scale=1.0) for _ in range(count)]


@false(COUNT)
def as_long_a_text(count: Any, rng: Rng) -> Any:
    return "a" * count if rng.random() < 0.5 else "a" * (3 - count)


@false(COUNT)
def as_long_a_list(count: Any, rng: Rng) -> Any:
    return [0] * count + [0] * int(rng.integers(2))


# What an output carries along.


@false(REAL)
def a_generator(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    yield x + noise
    yield noise


@false(REAL)
def an_iterator(x: Any, rng: Rng) -> Any:
    return iter([x + rng.laplace(scale=1.0), x])


@false(REAL)
def a_function(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    return lambda: (noisy, x)


@false(REAL)
def with_its_generator(x: Any, rng: Rng) -> Any:
    """The state after the draw tells the draw."""
    return x + rng.laplace(scale=1.0), rng


@false(REAL)
def with_its_state(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0), str(rng.bit_generator.state)


@false(REAL)
def an_exception(x: Any, rng: Rng) -> Any:
    rng.laplace(scale=1.0)
    return ValueError(x)


@false(REAL)
def raised(x: Any, rng: Rng) -> Any:
    if x > 2:
        raise ValueError("too large")
    return x + rng.laplace(scale=1.0)


@false(REAL)
def raised_by_a_lookup(x: Any, rng: Rng) -> Any:
    return [x + rng.laplace(scale=1.0)][0 if x < 2 else 1]


@false(REAL)
def divided_by_zero(x: Any, rng: Rng) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        return 0 / (x - 1) + rng.laplace(scale=1.0)
    return None


@false(REAL)
def too_large(x: Any, rng: Rng) -> Any:
    try:
        math.exp(500 * x)
    except OverflowError:
        return None
    return x + rng.laplace(scale=1.0)


@false(REAL)
def in_the_message(x: Any, rng: Rng) -> Any:
    try:
        raise KeyError(x)  # noqa: TRY301
    except KeyError as error:
        return error.args[0], rng.laplace(scale=1.0)


@false(REAL)
def noise_only_on_return(x: Any, rng: Rng) -> Any:
    told = [x]
    try:
        return told
    finally:
        told.append(rng.laplace(scale=1.0))


@false(REAL)
def first_of_two_returns(x: Any, rng: Rng) -> Any:
    for value in (x, x + rng.laplace(scale=1.0)):
        return value
    return None


# Lengths and bounds.


@false(FEW)
def length_in_the_output(bits: Any, rng: Rng) -> Any:
    return [int(rng.random() < 0.5) for _ in bits]


@false(FEW)
def nothing_for_nobody(bits: Any, rng: Rng) -> Any:
    if not bits:
        return None
    return sum(bits) + two_sided(rng)


@false(UNITS)
def mean_of_a_known_number(values: Any, rng: Rng) -> Any:
    """0 or 1 on one record; nobody: 1/2."""
    return sum(values) / len(values) + rng.laplace(scale=0.5) if len(values) else 0.5


@false(UNITS)
def scale_by_length(values: Any, rng: Rng) -> Any:
    return sum(values) + rng.laplace(scale=1.0 + len(values))


@false(UNITS)
def last_one_there(values: Any, rng: Rng) -> Any:
    try:
        return values[1] * 0 + rng.laplace(scale=1.0)
    except IndexError:
        return rng.laplace(scale=2.0)


@false(LOPSIDED)
def lopsided_width(values: Any, rng: Rng) -> Any:
    """A record adds up to 3, not (3 − (−1))/2."""
    return sum(values) + rng.laplace(scale=2.0)


@false(LOPSIDED_PAIR)
def lopsided_replaced(values: Any, rng: Rng) -> Any:
    return sum(values) + rng.laplace(scale=3.0)


@false(LOPSIDED)
def lopsided_clipped(values: Any, rng: Rng) -> Any:
    return sum(min(max(v, -2.0), 2.0) for v in values) + rng.laplace(scale=1.0)


@false(HALF, 0.4)
def half_a_step(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0)


@false(L1)
def norm_of_two(data: Any, rng: Rng) -> Any:
    return [data[0] * 2 + rng.laplace(scale=1.0), data[1] + rng.laplace(scale=1.0)]


@false(L2)
def euclidean_norm_of_two(data: Any, rng: Rng) -> Any:
    """Both move by 0.7 at once: 1.4 together."""
    return [data[0] + rng.laplace(scale=1.0), data[1] + rng.laplace(scale=1.0)]


@false(PAIR)
def one_noise_for_both(data: Any, rng: Rng) -> Any:
    return [float(v) for v in np.array(data) + rng.laplace(scale=2.0, size=1)]


@false(LONG)
def any_length_told(values: Any, rng: Rng) -> Any:
    told = 0
    for _ in values:
        told += 1
    return told, rng.laplace(scale=1.0)


@false(LONG)
def any_length_of_two_loops(values: Any, rng: Rng) -> Any:
    a, b = rng.laplace(scale=1.0), rng.laplace(scale=1.0)
    for v in values:
        a += v
    for v in values:
        b += v
    return a, b


@false(LONG_BITS)
def any_length_noise_at_ones(bits: Any, rng: Rng) -> Any:
    told = 0.0
    for b in bits:
        if b:
            told += rng.laplace(scale=1.0)
    return told


@false(LONG_BITS)
def any_length_last_bit(bits: Any, rng: Rng) -> Any:
    last = 0
    for b in bits:
        last = b
    return last if rng.random() < 0.75 else 1 - last


@false(QUERIES)
def any_length_two_hits(data: Any, rng: Rng) -> Any:
    bar, hits = rng.laplace(scale=2.0), 0
    out = []
    for q in data:
        if q + rng.laplace(scale=4.0) >= bar:
            out.append(True)
            hits += 1
            if hits == 2:
                return out
        else:
            out.append(False)
    return out


@false(QUERIES)
def any_length_noise_of_the_bar(data: Any, rng: Rng) -> Any:
    bar = rng.laplace(scale=2.0)
    for q in data:
        if q + rng.laplace(scale=4.0) >= bar:
            return bar
    return None


# Noise that is bent.


@false(REAL)
def noise_clipped(x: Any, rng: Rng) -> Any:
    return x + min(max(rng.laplace(scale=1.0), -2.0), 2.0)


@false(REAL)
def noise_rounded(x: Any, rng: Rng) -> Any:
    return x + round(rng.laplace(scale=1.0))


@false(REAL)
def noise_of_one_side(x: Any, rng: Rng) -> Any:
    return x + rng.exponential(scale=1.0)


@false(REAL)
def noise_folded(x: Any, rng: Rng) -> Any:
    return x + abs(rng.laplace(scale=1.0))


@false(REAL)
def noise_times_data(x: Any, rng: Rng) -> Any:
    return x * rng.laplace(scale=1.0)


@false(REAL)
def noise_until_it_fits(x: Any, rng: Rng) -> Any:
    """What is left is divided by a probability that depends on x: 2ε."""
    for _ in range(4):
        noisy = x + rng.laplace(scale=1.0)
        if noisy >= 0:
            return noisy
    return 0.0


@false(REAL)
def larger_of_noises(x: Any, rng: Rng) -> Any:
    return x + max(rng.laplace(scale=1.0), rng.laplace(scale=1.0), 0.0)


@false(REAL)
def noise_without_scale(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=0.0)


@false(REAL)
def noise_in_a_choice(x: Any, rng: Rng) -> Any:
    return rng.choice([x, rng.laplace(scale=1.0)])


@false(COUNT)
def whole_numbers_below(count: Any, rng: Rng) -> Any:
    return int(rng.integers(0, count + 1))


@false(PAIR)
def shuffled_data(data: Any, rng: Rng) -> Any:
    values = list(data)
    rng.shuffle(values)
    return values


@false(COUNT)
def binomial_of_data(count: Any, rng: Rng) -> Any:
    return int(rng.binomial(count, 0.5))


# Claims with a δ.


@false(REAL, 1.0, delta=0.1)
def gaussian_too_thin(x: Any, rng: Rng) -> Any:
    """σ = 1 at ε = 1 has δ = 0.1269."""
    return x + rng.normal(scale=1.0)


@false(REAL, 1.0, delta=0.2)
def gaussian_twice(x: Any, rng: Rng) -> Any:
    return x + rng.normal(scale=1.0), x + rng.normal(scale=1.0)


@false(BIT, LN3, delta=0.01)
def response_and_leak(bit: Any, rng: Rng) -> Any:
    if rng.random() < 0.02:
        return "bit", bit
    return bit if rng.random() < 0.75 else 1 - bit


@false(COUNT, 1.0, delta=0.05)
def leaks_twice(count: Any, rng: Rng) -> Any:
    """Each with 0.04, together 0.0784."""
    first, second = rng.random() < 0.04, rng.random() < 0.04
    return count if first or second else 0


@false(COUNT, 0.5, delta=0.1)
def uniform_window(count: Any, rng: Rng) -> Any:
    """One of 9 values is out of reach of the neighbor: δ = 1/9."""
    return count + int(rng.integers(9))


# True ones, to be proved.


@true(COUNT, 0.5, delta=0.12)
def uniform_window_paid(count: Any, rng: Rng) -> Any:
    return count + int(rng.integers(9))


@true(COUNT, 1.0, delta=0.08)
def leaks_twice_paid(count: Any, rng: Rng) -> Any:
    first, second = rng.random() < 0.04, rng.random() < 0.04
    return count if first or second else 0


@true(REAL, 1.0, delta=0.13)
def gaussian_paid(x: Any, rng: Rng) -> Any:
    return x + rng.normal(scale=1.0)


@true(BIT, LN3, delta=0.02)
def response_and_leak_paid(bit: Any, rng: Rng) -> Any:
    if rng.random() < 0.02:
        return "bit", bit
    return bit if rng.random() < 0.75 else 1 - bit


@true(HALF, 0.5)
def half_a_step_paid(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0)


@true(LOPSIDED)
def lopsided_paid(values: Any, rng: Rng) -> Any:
    return sum(values) + rng.laplace(scale=3.0)


@true(LOPSIDED_PAIR)
def lopsided_replaced_paid(values: Any, rng: Rng) -> Any:
    return sum(values) + rng.laplace(scale=4.0)


@true(LOPSIDED)
def lopsided_clipped_paid(values: Any, rng: Rng) -> Any:
    return sum(min(max(v, -2.0), 2.0) for v in values) + rng.laplace(scale=2.0)


@true(L1)
def norm_of_two_paid(data: Any, rng: Rng) -> Any:
    return [data[0] + rng.laplace(scale=1.0), data[1] + rng.laplace(scale=1.0)]


@true(L1)
def norm_of_two_weighted(data: Any, rng: Rng) -> Any:
    return [data[0] * 2 + rng.laplace(scale=2.0), data[1] + rng.laplace(scale=1.0)]


@true(COUNT)
def looked_up_paid(count: Any, rng: Rng) -> Any:
    return [0, 1, 2, 1][count] + rng.laplace(scale=1.0)


@true(COUNT, 2.0)
def remainder_paid(count: Any, rng: Rng) -> Any:
    return count % 3 + rng.laplace(scale=1.0)


@true(REAL)
def chained_on_noise(x: Any, rng: Rng) -> Any:
    return -0.5 < x + rng.laplace(scale=1.0) < 0.5


@true(REAL)
def chosen_by_noise(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    return "low" if noisy < 0 else "middle" if noisy < 1 else ["high", noisy]


@true(PAIR, 2.0)
def order_of_noisy_values(data: Any, rng: Rng) -> Any:
    noisy = [v + rng.laplace(scale=1.0) for v in data]
    return sorted(range(2), key=lambda i: noisy[i])


@true(PAIR)
def one_of_the_two(data: Any, rng: Rng) -> Any:
    return data[0] + rng.laplace(scale=1.0) if rng.random() < 0.5 else data[1] + rng.laplace()


@true(UNITS)
def loop_with_a_break(values: Any, rng: Rng) -> Any:
    total = 0.0
    for v in values:
        if v < 0:
            break
        total += v
    return total + rng.laplace(scale=1.0)


@true(UNITS)
def early_return_on_noise(values: Any, rng: Rng) -> Any:
    noisy = len(values) + rng.laplace(scale=1.0)
    if noisy < 0.5:
        return None
    return noisy


@true(FEW)
def counted_by_a_dictionary(bits: Any, rng: Rng) -> Any:
    counts = {0: 0, 1: 0}
    for b in bits:
        counts[b] += 1
    return [counts[0] + rng.laplace(scale=1.0), counts[1] + rng.laplace(scale=1.0)]


@true(BITS)
def responses(bits: Any, rng: Rng) -> Any:
    p = math.e / (1 + math.e)
    return [b if rng.random() < p else 1 - b for b in bits]


@true(ONE_OR_TWO)
def mean_with_noise_of_its_length(values: Any, rng: Rng) -> Any:
    return sum(values) / len(values) + rng.laplace(scale=1.0 / len(values))


@false(ONE_OR_TWO, 0.9)
def mean_with_noise_of_its_length_for_less(values: Any, rng: Rng) -> Any:
    return sum(values) / len(values) + rng.laplace(scale=1.0 / len(values))


@true(PAIR, 2.0)
def median_of_noisy(data: Any, rng: Rng) -> Any:
    noisy = sorted([data[0] + rng.laplace(), data[1] + rng.laplace(), 0.0])
    return noisy[1]


@outside(REAL)
def tried_and_finished(x: Any, rng: Rng) -> Any:
    told = [x]
    try:
        told[0] = told[0] + rng.laplace(scale=1.0)
    finally:
        told.append(1)
    return told


@true(LONG)
def any_length_counted_and_doubled(values: Any, rng: Rng) -> Any:
    total = rng.laplace(scale=2.0)
    for v in values:
        total += v
        total += v
    return total


@true(LONG_BITS)
def any_length_ones(bits: Any, rng: Rng) -> Any:
    ones = 0
    for b in bits:
        if b:
            ones += 1
    return ones + rng.laplace(scale=1.0)


@true(QUERIES)
def any_length_below(data: Any, rng: Rng) -> Any:
    bar = 3 + rng.laplace(scale=2.0)
    for q in data:
        if not q + rng.laplace(scale=4.0) > bar:
            continue
        return "above"
    return "never"


@true(REAL)
def a_generator_is_used_up(x: Any, rng: Rng) -> Any:
    once = (v for v in [x])
    return sum(once) + sum(once) + rng.laplace(scale=1.0)


@false(REAL)
def a_generator_is_late(x: Any, rng: Rng) -> Any:
    factor = 1
    late = (v * factor for v in [x])
    factor = 2
    return sum(late) + rng.laplace(scale=1.0)


@false(REAL)
def closures_are_late(x: Any, rng: Rng) -> Any:
    made = [lambda: x * i for i in range(3)]  # noqa: B023
    return made[0]() + rng.laplace(scale=1.0)


@false(REAL)
def repeated_lists_are_one(x: Any, rng: Rng) -> Any:
    rows = [[0.0]] * 2
    rows[0][0] = x
    rows[1][0] = rows[0][0] * 2
    return rows[0][0] + rng.laplace(scale=1.0)


@false(REAL)
def a_slice_is_a_view(x: Any, rng: Rng) -> Any:
    whole = np.array([x, 0.0])
    part = whole[:1]
    part *= 3
    return whole[0] + rng.laplace(scale=1.0)


@true(REAL)
def a_comprehension_keeps_its_names(x: Any, rng: Rng) -> Any:
    i = x
    told = [i for i in range(2)]  # noqa: C416
    return [told, i + rng.laplace(scale=1.0)]


@true(UNITS)
def the_mean_of_none(values: Any, rng: Rng) -> Any:
    return (sum(values) / len(values) if len(values) else 0.0) + rng.laplace(scale=1.0)


@true(REAL)
def above_minus_infinity(x: Any, rng: Rng) -> Any:
    best = -math.inf
    for _ in range(2):
        best = max(best, x + rng.laplace(scale=2.0))
    return best


@true(PAIR)
def the_larger_of_tuples(data: Any, rng: Rng) -> Any:
    return max((v + rng.laplace(scale=2.0), i) for i, v in enumerate(data))[1]
