"""Programs written to deceive: none that is false may be proved, none that is true be refuted.

What is true was derived by hand; the derivation stands beside each program. "open" is always
allowed: what is tested is that no verdict is wrong.
"""

import functools
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying import certify, check_certificate
from dpverify.schema import Schema
from tests.certifying import elsewhere
from tests.certifying.schemas import Answers, Category, Number, Records

# ruff: noqa: ANN401, S311, SIM105, FBT003, FURB163

Rng = np.random.Generator
Mechanism = TypeVar("Mechanism", bound=Callable[..., Any])
BIT = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)
BITS = Records(record=Category(values=(0, 1)), length=2, relation=dpv.Relation.REPLACE_ONE)
FEW = Records(record=Category(values=(0, 1)), length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
COUNT = Answers(sensitivity=1, integer=True, low=0, high=3)
ANY_COUNT = Answers(sensitivity=1, integer=True)
REAL = Answers(sensitivity=1.0)
PAIR = Answers(dimension=2, sensitivity=1.0)
UNITS = Records(record=Number(low=0.0, high=1.0), length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
SWAPS = Records(record=Number(low=-1.0, high=1.0), length=2, relation=dpv.Relation.REPLACE_ONE)
LN2, LN3 = math.log(2), math.log(3)


@dataclass(frozen=True)
class Case:
    name: str
    mechanism: Any
    schema: Schema
    claim: Any
    true: bool


CASES: list[Case] = []


def case(schema: Schema, claim: Any, *, true: bool) -> Callable[[Mechanism], Mechanism]:
    """Enter a mechanism under its own name; it may be entered several times."""

    def enter(mechanism: Mechanism) -> Mechanism:
        claimed = claim if not isinstance(claim, (int, float)) else dpv.PureDP(epsilon=claim)
        name = f"{mechanism.__name__}-{len(CASES)}"
        CASES.append(Case(name, mechanism, schema, claimed, true))
        return mechanism

    return enter


def two_sided(rng: Rng, epsilon: float) -> Any:
    p = 1.0 - math.exp(-epsilon)
    return rng.geometric(p) - rng.geometric(p)


# Rounding and division: symbols must not pass where numbers are cut.


@case(COUNT, 1.0, true=False)
def rounded_to_tens(count: Any, rng: Rng) -> Any:
    """The noise is mostly rounded to 0: the count is told."""
    return min(max(count + round(two_sided(rng, 1.0), -1), 0), 3)


@case(COUNT, 1.0, true=False)
def floor_divided_noise(count: Any, rng: Rng) -> Any:
    return min(max(count + two_sided(rng, 1.0) // 100, 0), 3)


@case(COUNT, 1.0, true=False)
def division_that_fails_is_hidden(count: Any, rng: Rng) -> Any:
    """Plain integers are divided; what raises on symbols must not be caught."""
    noise = two_sided(rng, 1.0)
    try:
        noise = noise // 100
    except TypeError:
        pass
    return min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def remainder_hidden(count: Any, rng: Rng) -> Any:
    noise = two_sided(rng, 1.0)
    try:
        noise = noise % 1
    except TypeError:
        pass
    return min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def shifted_bits_hidden(count: Any, rng: Rng) -> Any:
    noise = two_sided(rng, 1.0)
    try:
        noise = (noise >> 10) & 0
    except TypeError:
        pass
    return min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def attribute_hidden(count: Any, rng: Rng) -> Any:
    noise = two_sided(rng, 1.0)
    try:
        noise = noise * (noise.bit_length() < 0)
    except AttributeError:
        pass
    return min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def attribute_asked_for(count: Any, rng: Rng) -> Any:
    noise = two_sided(rng, 1.0)
    return count if hasattr(noise, "bit_length") else min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def type_asked_for(count: Any, rng: Rng) -> Any:
    noise = two_sided(rng, 1.0)
    return count if type(noise) in {int, np.int64} else min(max(count + noise, 0), 3)


@case(COUNT, 1.0, true=False)
def noise_in_whole_array(count: Any, rng: Rng) -> Any:
    """Real noise cut to whole numbers, then weighed with a half: 2·count's parity is told."""
    noise = np.array([rng.laplace(scale=0.5)], dtype=int)
    return count / 2 + noise[0]


@case(COUNT, 1.0, true=False)
def noise_put_in_whole_array(count: Any, rng: Rng) -> Any:
    noise = np.zeros(1, dtype=int)
    noise[0] = rng.laplace(scale=0.5)
    return count / 2 + noise[0]


@case(COUNT, 1.0, true=False)
def noise_put_in_array_like_whole(count: Any, rng: Rng) -> Any:
    noise = np.zeros_like(np.array([1, 2]))
    noise[0] = rng.laplace(scale=0.5)
    return count / 2 + noise[0]


@case(REAL, 1.0, true=False)
def truncated_noise(x: Any, rng: Rng) -> Any:
    return x + int(rng.laplace(scale=1.0))


@case(REAL, 1.0, true=False)
def truncated_elsewhere(x: Any, rng: Rng) -> Any:
    return x + elsewhere.truncated(rng.laplace(scale=1.0))


@case(REAL, 1.0, true=False)
def floored_elsewhere(x: Any, rng: Rng) -> Any:
    return x + elsewhere.rounded_down(rng.laplace(scale=1.0))


@case(REAL, 1.0, true=False)
def floored_data(x: Any, rng: Rng) -> Any:
    """⌊x⌋ moves by 1, twice it by 2."""
    return 2 * math.floor(x) + rng.laplace(scale=1.0)


@case(REAL, 2.0, true=True)
def floored_data_paid_for(x: Any, rng: Rng) -> Any:
    """⌊x⌋ moves by 1 at most where x moves by 1, twice it by 2."""
    return 2 * math.floor(x) + rng.laplace(scale=1.0)


@case(ANY_COUNT, 1.0, true=False)
def data_rounded_to_tens(count: Any, rng: Rng) -> Any:
    return round(count, -1) + rng.laplace(scale=1.0)


@case(ANY_COUNT, 1.0, true=False)
def data_modulo(count: Any, rng: Rng) -> Any:
    """The remainder jumps from 9 to 0."""
    return count % 10 + rng.laplace(scale=1.0)


@case(COUNT, 1.0, true=False)
def clipped_into_itself(count: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0, size=1)
    np.clip(noise, 0, 0, out=noise)
    return count + noise[0]


@case(COUNT, 1.0, true=False)
def logarithm_to_another_base(count: Any, rng: Rng) -> Any:
    """log₂(e) is 1.44, not 1: the noise has the scale 1/1.44."""
    return count + rng.laplace(scale=1.0) / math.log(math.exp(1.0), 2)


@case(COUNT, 0.5, true=False)
def truncated_constant(count: Any, rng: Rng) -> Any:
    """math.trunc(1.75) is 1 where rounding gives 2: the scale is 1, not 2."""
    return count + rng.laplace(scale=math.trunc(1.75 * math.exp(0.0)))


# Draws with parameters that NumPy refuses, and conventions.


@case(BIT, LN2, true=False)
def weights_that_do_not_sum_to_one(bit: Any, rng: Rng) -> Any:
    """It raises on 1 alone."""
    return int(rng.choice(2, p=[0.5 + bit, 0.5]))


@case(BIT, LN3, true=False)
def too_few_weights(bit: Any, rng: Rng) -> Any:
    """It raises on 1 alone: two weights for three."""
    return int(rng.choice(2 + bit, p=[0.5, 0.5]))


@case(COUNT, 1.0, true=False)
def geometric_on_one_side(count: Any, rng: Rng) -> Any:
    """Noise on 0, 1, … alone: no output lies below the larger count."""
    p = math.exp(-1.0)
    return min(max(count + rng.geometric(1 - p) - 1, 0), 3)


@case(COUNT, 0.4, true=False)
def geometric_with_p_for_one_minus_p(count: Any, rng: Rng) -> Any:
    """Masses fall by 1 − e^(−1): ε is −ln(1 − e^(−1)) = 0.459."""
    p = math.exp(-1.0)
    return min(max(count + rng.geometric(p) - rng.geometric(p), 0), 3)


@case(COUNT, 0.46, true=True)
def geometric_with_p_for_one_minus_p_paid(count: Any, rng: Rng) -> Any:
    p = math.exp(-1.0)
    return min(max(count + rng.geometric(p) - rng.geometric(p), 0), 3)


@case(COUNT, 1.0, true=False)
def geometric_of_negative_p(count: Any, rng: Rng) -> Any:
    """NumPy raises on p < 0; so on 0 alone."""
    return min(max(count + rng.geometric(0.5 if count else -0.5), 0), 3)


@case(BIT, 1.0, true=False)
def integers_with_endpoint(bit: Any, rng: Rng) -> Any:
    """0 or 1 against 0, 1 or 2: 2 is told on one side alone."""
    return int(rng.integers(0, 1 + bit, endpoint=True))


@case(BIT, LN2, true=False)
def integers_without_endpoint(bit: Any, rng: Rng) -> Any:
    """0 always, against 0 or 1."""
    return int(rng.integers(0, 1 + bit))


@case(BIT, LN3, true=True)
def integers_of_four(bit: Any, rng: Rng) -> Any:
    """1/4 against 3/4."""
    return bit if rng.integers(4) > 0 else 1 - bit


@case(BIT, math.log(2.999), true=False)
def integers_of_four_for_less(bit: Any, rng: Rng) -> Any:
    return bit if rng.integers(4) > 0 else 1 - bit


@case(BIT, LN2, true=False)
def binomial_tail(bit: Any, rng: Rng) -> Any:
    """Binomial(2, 1/4) against (2, 1/2): 1/16 against 1/4."""
    return int(rng.binomial(2, 0.25 + 0.25 * bit))


@case(BIT, math.log(4), true=True)
def binomial_tail_paid(bit: Any, rng: Rng) -> Any:
    return int(rng.binomial(2, 0.25 + 0.25 * bit))


@case(BIT, 1.0, true=False)
def scale_depends_on_data(bit: Any, rng: Rng) -> Any:
    """Scales 1 and 2: tails tell, at no finite ε."""
    return rng.laplace(scale=1.0 + bit)


@case(BIT, 5.0, true=False)
def scale_zero_on_one_side(bit: Any, rng: Rng) -> Any:
    return rng.laplace(scale=float(bit))


@case(COUNT, 1.0, true=False)
def variance_for_scale(count: Any, rng: Rng) -> Any:
    """The standard deviation of Laplace noise is √2 times its scale."""
    return count + rng.laplace(scale=1.0 / math.sqrt(2))


@case(COUNT, 1.0, true=False)
def rate_for_scale(count: Any, rng: Rng) -> Any:
    return count + rng.laplace(0.0, 0.5)


@case(COUNT, 1.0, true=False)
def one_sided_exponential(count: Any, rng: Rng) -> Any:
    """Below the larger count no output of it lies."""
    return count + rng.exponential(1.0)


@case(COUNT, 100.0, true=False)
def no_loss_is_finite_here(count: Any, rng: Rng) -> Any:
    return count + rng.exponential(1.0)


# Noise used twice, ties, equality.


@case(REAL, 1.0, true=False)
def noise_canceled(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return (x + noise, noise)


@case(REAL, 1.0, true=False)
def noise_twice(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return (x + noise, 2 * x + noise)


@case(PAIR, 1.0, true=False)
def noise_shared(data: Any, rng: Rng) -> Any:
    """The difference is told as it is."""
    noise = rng.laplace(scale=2.0)
    return [x + noise for x in data]


@case(PAIR, 1.0, true=False)
def noise_times_zero(data: Any, rng: Rng) -> Any:
    return data[0] + 0 * rng.laplace(scale=1.0)


@case(REAL, 1.0, true=False)
def equality_with_noise(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    noisy = x + noise
    return bool(noisy - noise == 0)


@case(REAL, 1.0, true=False)
def equality_of_sums(x: Any, rng: Rng) -> Any:
    a, b = rng.laplace(scale=1.0), rng.laplace(scale=1.0)
    return bool(a + b + x == a + b)


@case(PAIR, 1.0, true=True)
def chained(data: Any, rng: Rng) -> bool:
    """A window on a number with noise of scale 1."""
    return bool(0 < data[0] + rng.laplace(scale=1.0) <= 1)


@case(PAIR, 1.0, true=False)
def sorted_noisy(data: Any, rng: Rng) -> Any:
    """Both move by 1: costs 2."""
    return sorted(x + rng.laplace(scale=1.0) for x in data)


@case(PAIR, 2.0, true=True)
def sorted_noisy_paid(data: Any, rng: Rng) -> Any:
    return sorted(x + rng.laplace(scale=1.0) for x in data)


@case(PAIR, 1.0, true=False)
def ties_go_to_data(data: Any, rng: Rng) -> Any:
    """Without noise of their own, equal scores are told apart by data."""
    return int(np.argmax([data[0], data[1] + 0 * rng.laplace()]))


@case(PAIR, 1.0, true=False)
def max_then_value(data: Any, rng: Rng) -> Any:
    """Index at noise 2 costs 1, its noisy score another 1/2."""
    noisy = [x + rng.laplace(scale=2.0) for x in data]
    best = int(np.argmax(noisy))
    return best, data[best] + rng.laplace(scale=2.0)


# Outputs.


@case(BIT, 0.0, true=False)
def types_tell(bit: Any, _rng: Rng) -> Any:
    return True if bit else 1


@case(BIT, 0.0, true=False)
def floats_tell(bit: Any, _rng: Rng) -> Any:
    return 1.0 if bit else 1


@case(BIT, 0.0, true=False)
def containers_tell(bit: Any, _rng: Rng) -> Any:
    return [1] if bit else (1,)


@case(BIT, 0.0, true=False)
def none_tells(bit: Any, _rng: Rng) -> Any:
    return None if bit else 0


@case(BIT, 0.0, true=False)
def order_of_a_dictionary_tells(bit: Any, _rng: Rng) -> Any:
    return {"a": 0, "b": 0} if bit else {"b": 0, "a": 0}


@case(BIT, 0.0, true=False)
def sign_of_zero_tells(bit: Any, _rng: Rng) -> Any:
    return -0.0 if bit else 0.0


@case(BIT, 0.0, true=False)
def last_bit_tells(bit: Any, _rng: Rng) -> Any:
    return 0.1 + 0.2 if bit else 0.3


@case(BIT, 0.0, true=False)
def text_and_number_tell(bit: Any, _rng: Rng) -> Any:
    return "1" if bit else 1


@case(BIT, 0.0, true=False)
def nan_tells(bit: Any, _rng: Rng) -> Any:
    return math.nan if bit else math.inf


@case(BIT, 0.0, true=False)
def text_and_nan_tell(bit: Any, _rng: Rng) -> Any:
    return math.nan if bit else "nan"


@case(BIT, 1.0, true=False)
def raises_tell(bit: Any, _rng: Rng) -> Any:
    return 1 // (1 - bit)


@case(BIT, 1.0, true=False)
def exception_is_an_output(bit: Any, rng: Rng) -> Any:
    if rng.random() < 0.5:
        return 0
    try:
        return [5][bit]
    except IndexError as error:
        return str(error)


@case(BIT, 1.0, true=False)
def nested_length_tells(bit: Any, _rng: Rng) -> Any:
    return [[]] if bit else []


@case(BIT, 1.0, true=False)
def array_shape_tells(bit: Any, _rng: Rng) -> Any:
    return np.zeros((0, 2)) if bit else np.zeros((0, 3))


@case(COUNT, 1.0, true=False)
def early_return(count: Any, rng: Rng) -> Any:
    if count == 3:
        return 3.0
    return count + rng.laplace(scale=1.0)


# Data of other lengths, indexing, loops.


@case(FEW, 5.0, true=False)
def length_tells(data: Any, rng: Rng) -> Any:
    return [int(rng.integers(2)) for _ in data]


@case(FEW, 5.0, true=False)
def empty_tells(data: Any, rng: Rng) -> Any:
    return sum(data) / len(data) + rng.laplace() if len(data) else None


@case(UNITS, 1.0, true=False)
def mean_with_noise_for_many(data: Any, rng: Rng) -> Any:
    """From 0 records to 1 the mean moves by up to 1; noise is for n = 2."""
    return sum(data) / max(len(data), 1) + rng.laplace(scale=0.5)


@case(UNITS, 1.0, true=True)
def mean_paid_for(data: Any, rng: Rng) -> Any:
    """0 records stand for 0: the mean moves by 1 at most."""
    return sum(data) / max(len(data), 1) + rng.laplace(scale=1.0)


@case(SWAPS, 1.0, true=False)
def swap_moves_by_two(data: Any, rng: Rng) -> Any:
    return sum(data) + rng.laplace(scale=1.0)


@case(SWAPS, 2.0, true=True)
def swap_paid_for(data: Any, rng: Rng) -> Any:
    return sum(data) + rng.laplace(scale=1.0)


@case(SWAPS, 2 - 1e-6, true=False)
def swap_a_hair_below(data: Any, rng: Rng) -> Any:
    return sum(data) + rng.laplace(scale=1.0)


@case(SWAPS, 2 * (1 - 1e-9), true=False)
def swap_less_than_a_hair_below(data: Any, rng: Rng) -> Any:
    return sum(data) + rng.laplace(scale=1.0)


@case(SWAPS, 1.0, true=False)
def negative_weights(data: Any, rng: Rng) -> Any:
    return -data[0] - data[1] + rng.laplace(scale=1.0)


@case(SWAPS, 1.0, true=False)
def clipped_wider_than_noise(data: Any, rng: Rng) -> Any:
    return sum(elsewhere.clamp(x, -0.75, 0.75) for x in data) + rng.laplace(scale=1.0)


@case(SWAPS, 1.5, true=True)
def clipped_paid_for(data: Any, rng: Rng) -> Any:
    return sum(elsewhere.clamp(x, -0.75, 0.75) for x in data) + rng.laplace(scale=1.0)


@case(BITS, 1.0, true=False)
def loop_bound_of_data(data: Any, rng: Rng) -> Any:
    """The number of draws is told."""
    return [int(rng.integers(2)) for _ in range(int(data[0]))]


@case(BIT, 1.0, true=False)
def loop_bound_of_noise(bit: Any, rng: Rng) -> Any:
    total = bit
    for _ in range(rng.geometric(0.5)):
        total += 0
    return total


@case(BITS, 1.0, true=False)
def keyed_by_data(data: Any, rng: Rng) -> Any:
    told = {int(x): int(rng.integers(2)) for x in data}
    return sorted(told)


@case(BITS, 1.0, true=False)
def aliased(data: Any, rng: Rng) -> Any:
    """Noise is added to one list under two names; the copy tells."""
    kept = [int(x) for x in data]
    same, copy = kept, kept[:]
    same[0] = same[0] + int(rng.integers(2))
    return copy


@case(BITS, 5.0, true=False)
def changes_its_data(data: Any, _rng: Rng) -> Any:
    data[0] = 0
    return int(data[1])


# State, closures, defaults, other randomness.

SEEN: list[Any] = []
FIRST: dict[str, Any] = {}
CALLS = 0


@case(REAL, 0.1, true=False)
def remembers_first_data(x: Any, _rng: Rng) -> Any:
    """From the second call on it tells how far x is from the first."""
    return x - FIRST.setdefault("x", x)


@case(REAL, 0.1, true=False)
def remembers_in_default(x: Any, _rng: Rng, kept: list[Any] = []) -> Any:  # noqa: B006
    kept.append(x)
    return x - kept[0]


def _remembers() -> Any:
    kept: list[Any] = []

    @case(REAL, 0.1, true=False)
    def remembers_in_closure(x: Any, _rng: Rng) -> Any:
        kept.append(x)
        return x - kept[0]

    return remembers_in_closure


_remembers()


@case(REAL, 1.0, true=False)
def later_calls_tell(x: Any, rng: Rng) -> Any:
    """Private on the first hundred thousand calls."""
    global CALLS  # noqa: PLW0603
    CALLS += 1
    return x + (rng.laplace(scale=1.0) if CALLS < 100_000 else 0)


class Remembering:
    def __init__(self) -> None:
        self.first: Any = None

    def __call__(self, x: Any, _rng: Rng) -> Any:
        self.first = x if self.first is None else self.first
        return x - self.first


CASES.append(Case("remembers_in_itself", Remembering(), REAL, dpv.PureDP(epsilon=0.1), true=False))


@case(BIT, 1.0, true=False)
def hidden_coin_elsewhere(bit: Any, rng: Rng) -> Any:
    """Once in ten thousand the bit is told: P(5) is 0 or not."""
    if bit and elsewhere.own_coin():
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def hidden_coin_of_system(bit: Any, rng: Rng) -> Any:
    if bit and random.SystemRandom().random() < 1e-4:
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def hidden_coin_of_own(bit: Any, rng: Rng) -> Any:
    if bit and random.Random().random() < 1e-4:
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def hidden_coin_imported(bit: Any, rng: Rng) -> Any:
    import secrets  # noqa: PLC0415

    if bit and secrets.randbelow(10_000) == 0:
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def hidden_coin_of_numpy_imported(bit: Any, rng: Rng) -> Any:
    from numpy.random import default_rng  # noqa: PLC0415

    if bit and default_rng().random() < 1e-4:
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def clock_tells(bit: Any, rng: Rng) -> Any:
    import time  # noqa: PLC0415

    if bit and time.time_ns() % 1000 == 7:
        return 5
    return int(rng.integers(2))


@case(BIT, 1.0, true=False)
def drawn_past_the_symbols(bit: Any, rng: Rng) -> Any:
    """The base class draws plain numbers."""
    if np.random.Generator.random(rng) < 0.5:
        return bit
    return int(rng.integers(2))


@case(REAL, 1.0, true=False)
def scale_by_default(x: Any, rng: Rng, scale: float = 0.5) -> Any:
    return x + rng.laplace(scale=scale)


CASES.append(
    Case(
        "scale_bound_by_partial",
        functools.partial(scale_by_default, scale=0.9),
        REAL,
        dpv.PureDP(epsilon=1.0),
        true=False,
    )
)
CASES.append(
    Case(
        "scale_bound_enough",
        functools.partial(scale_by_default, scale=1.0),
        REAL,
        dpv.PureDP(epsilon=1.0),
        true=True,
    )
)


# Claims a hair off, at ε that are logarithms, and (ε, δ).


def response(bit: Any, rng: Rng) -> Any:
    """Exactly ln 3."""
    return bit if rng.random() < 0.75 else 1 - bit


for _epsilon, _true in (
    (LN3, True),
    (1.0986, False),
    (1.0987, True),
    (LN3 * (1 - 1e-6), False),
    (LN3 * (1 - 1e-9), False),
    (LN3 * (1 + 1e-9), True),
    (Fraction(10986122886, 10**10), False),
    (Fraction(10986122887, 10**10), True),
):
    CASES.append(
        Case(f"response-{_epsilon}", response, BIT, dpv.PureDP(epsilon=float(_epsilon)), _true)
    )


def scale_just_too_small(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=(1 / LN3) * (1 - 5e-12))


def scale_just_enough(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1 / LN3)


CASES.append(Case("scale 5e-12 short", scale_just_too_small, REAL, dpv.PureDP(epsilon=LN3), False))
CASES.append(Case("scale of ln 3", scale_just_enough, REAL, dpv.PureDP(epsilon=LN3), True))


def nearly_fair(bit: Any, rng: Rng) -> Any:
    """10000/19999 against 9999/19999: exactly ln(1 + 1/9999)."""
    return bit if rng.random() < 10000 / 19999 else 1 - bit


_SMALL = math.log1p(1 / 9999)
CASES.append(Case("fair for ln(1+1/9999)", nearly_fair, BIT, dpv.PureDP(epsilon=_SMALL), True))
CASES.append(
    Case("fair for 2e-12 less", nearly_fair, BIT, dpv.PureDP(epsilon=_SMALL * (1 - 2e-12)), False)
)


def tells_rarely(bit: Any, rng: Rng) -> Any:
    """(0, 0.01)-DP exactly."""
    return bit if rng.random() < 0.01 else 2


for _delta, _true in ((0.01, True), (0.0099999, False), (0.01 * (1 - 1e-9), False)):
    CASES.append(
        Case(f"rarely-{_delta}", tells_rarely, BIT, dpv.ApproxDP(epsilon=0.0, delta=_delta), _true)
    )


def tells_three(bit: Any, rng: Rng) -> Any:
    """1 of 4 tells outright, else ln 2: δ(ln 2) = 1/4 + 0, at ε = 0: 1/4 + 3/4·1/3 = 1/2."""
    if rng.random() < 0.25:
        return bit + 5
    return bit if rng.integers(3) > 0 else 1 - bit


for _epsilon, _delta, _true in (
    (LN2, 0.25, True),
    (LN2, 0.2499, False),
    (0.0, 0.5, True),
    (0.0, 0.4999, False),
):
    _claim = dpv.ApproxDP(epsilon=_epsilon, delta=_delta)
    CASES.append(Case(f"three-{_epsilon}-{_delta}", tells_three, BIT, _claim, _true))


# Gaussian sums.


def gaussian_sum(data: Any, rng: Rng) -> Any:
    """Sensitivity 2 under replace-one in [−1, 1]: μ = 2/5."""
    return sum(data) + rng.normal(scale=5.0)


def gaussian_of_variance(data: Any, rng: Rng) -> Any:
    """The second argument is a standard deviation: μ = 2/25."""
    return sum(data) + rng.normal(0.0, 25.0)


def gaussian_twice(data: Any, rng: Rng) -> Any:
    """The same noise for both: the difference tells."""
    noise = rng.normal(scale=5.0)
    return [data[0] + noise, data[1] + noise]


def gaussian_reused(data: Any, rng: Rng) -> Any:
    noise = rng.normal(scale=5.0)
    return [sum(data) + noise, noise * 2]


def gaussian_branch(data: Any, rng: Rng) -> Any:
    """Data alone decide how much noise there is."""
    return sum(data) + rng.normal(scale=5.0 if sum(data) > 0 else 50.0)


def gaussian_clipped_after(data: Any, rng: Rng) -> Any:
    return max(min(sum(data), 0.5), -0.5) + rng.normal(scale=5.0)


def gaussian_loop(data: Any, rng: Rng) -> Any:
    """Two releases of sensitivity 2, √2·2/5."""
    total = 0.0
    for _ in range(2):
        total = total + sum(data) + rng.normal(scale=5.0)
    return total


def gaussian_minus(data: Any, rng: Rng) -> Any:
    return rng.normal(scale=5.0) - 3 * data[0]


for _mechanism, _mu, _true in (
    (gaussian_sum, 0.4, True),
    (gaussian_sum, 0.399999, False),
    (gaussian_sum, 0.2, False),
    (gaussian_of_variance, 0.08, True),
    (gaussian_of_variance, 0.0799999, False),
    (gaussian_twice, 1.0, False),
    (gaussian_reused, 3.0, False),
    (gaussian_branch, 0.4, False),
    (gaussian_clipped_after, 0.2, True),
    (gaussian_clipped_after, 0.19999, False),
    (gaussian_loop, 0.5656, False),
    (gaussian_loop, 0.5657, True),
    (gaussian_minus, 1.2, True),
    (gaussian_minus, 1.1999, False),
):
    CASES.append(
        Case(f"{_mechanism.__name__}-{_mu}", _mechanism, SWAPS, dpv.GaussianDP(mu=_mu), _true)
    )


LONG = {"clipped_paid_for", "sorted_noisy_paid", "swap_less_than_a_hair_below"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "tried",
    [
        pytest.param(c, id=c.name, marks=[pytest.mark.slow] * (c.name.split("-")[0] in LONG))
        for c in CASES
    ],
)
def test_no_verdict_is_wrong(tried: Case) -> None:
    found = certify(tried.mechanism, tried.schema, tried.claim, seconds=4.0)
    wrong = "refuted" if tried.true else "proved"
    assert found.verdict != wrong, f"{found.method}: {found.reason}\n{found.tried}"
    assert check_certificate(found).valid == (found.verdict != "open")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema", "reach"), "0"),
        (("schema", "reach"), "-1"),
        (("schema", "norm"), "infx"),
        (("schema", "slots"), [["-infx", None, False]]),
        (("claim", "epsilon"), "999999/1000000"),
        (("claim", "epsilon"), "-1"),
        (("laws", "n0", "kind"), "gaussian"),
        (("laws", "n0", "parameter", "num"), ["999999/1000000"]),
        (("laws", "n0", "parameter", "num"), ["-1"]),
        (("method",), "exact"),
        (("verdict",), "refuted"),
    ],
)
def test_a_changed_certificate_is_refused(path: tuple[str, ...], value: Any) -> None:
    """Scale 1 for sensitivity 1 is tight at ε = 1; data without neighbors show nothing."""
    read = certify(functools.partial(scale_by_default, scale=1.0), REAL, dpv.PureDP(epsilon=1.0))
    changed = json.loads(json.dumps(read.to_dict()))
    assert check_certificate(changed).valid
    inner = functools.reduce(lambda part, key: part[key], path[:-1], changed)
    assert inner[path[-1]] != value
    inner[path[-1]] = value
    assert not check_certificate(changed).valid
