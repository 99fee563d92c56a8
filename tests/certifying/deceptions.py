"""Mechanisms that use what Python has in store to look other than they are; with the truth of each.

A false one must not be proved and a true one not be refuted; the reason stands beside each.
"""

import contextlib
import copy
import functools
import itertools
import math
import operator
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

import dpverify as dpv
from dpverify.schema import Schema
from tests.certifying import elsewhere
from tests.certifying.schemas import Answers, Category, Number, Records

# ruff: noqa: ARG002, ARG005, RET504, UP031
# ruff: noqa: ANN401, ARG001, B023
# ruff: noqa: B006, B012, PLW2901, RUF005
# ruff: noqa: BLE001, PLC3002, PERF401
# ruff: noqa: PLC0415, TRY301

Rng = np.random.Generator
Mechanism = TypeVar("Mechanism", bound=Callable[..., Any])
BIT = Records(record=Category(values=(0, 1)), length=None, relation=dpv.Relation.REPLACE_ONE)
BITS = Records(record=Category(values=(0, 1)), length=2, relation=dpv.Relation.REPLACE_ONE)
FEW = Records(record=Category(values=(0, 1)), length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
WORD = Records(record=Category(values=("a", "b")), length=None, relation=dpv.Relation.REPLACE_ONE)
COUNT = Answers(sensitivity=1, integer=True, low=0, high=3)
COUNTS = Answers(dimension=2, sensitivity=1, integer=True, low=0, high=1)
REAL = Answers(sensitivity=1.0)
PAIR = Answers(dimension=2, sensitivity=1.0)
UNITS = Records(record=Number(low=0.0, high=1.0), length=(0, 2), relation=dpv.Relation.ADD_REMOVE)
LONG = Records(record=Number(low=0.0, high=1.0), length=(0, None), relation=dpv.Relation.ADD_REMOVE)
LONG_BITS = Records(
    record=Category(values=(0, 1)), length=(0, None), relation=dpv.Relation.ADD_REMOVE
)
QUERIES = Answers(dimension=(1, None), sensitivity=1.0)
LN3 = math.log(3)


@dataclass(frozen=True)
class Deception:
    name: str
    mechanism: Any
    schema: Schema
    claim: Any
    true: bool


DECEPTIONS: list[Deception] = []


def enter(
    schema: Schema, epsilon: float, *, true: bool, delta: float = 0.0
) -> Callable[[Mechanism], Mechanism]:
    claim = dpv.ApproxDP(epsilon=epsilon, delta=delta) if delta else dpv.PureDP(epsilon=epsilon)

    def made(mechanism: Mechanism) -> Mechanism:
        name = getattr(mechanism, "__name__", type(mechanism).__name__)
        DECEPTIONS.append(Deception(f"{name}-{len(DECEPTIONS)}", mechanism, schema, claim, true))
        return mechanism

    return made


def outside(schema: Schema, epsilon: float = 1.0) -> Callable[[Mechanism], Mechanism]:
    """True, and open: it is not in the language."""
    return enter(schema, epsilon, true=False)


def false(schema: Schema, epsilon: float = 1.0, **more: Any) -> Callable[[Mechanism], Mechanism]:
    return enter(schema, epsilon, true=False, **more)


def true(schema: Schema, epsilon: float = 1.0, **more: Any) -> Callable[[Mechanism], Mechanism]:
    return enter(schema, epsilon, true=True, **more)


# Names that are bound anew, closures, defaults.


@false(REAL)
def noise_forgotten_by_rebinding(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    noisy, x = x, noisy
    return noisy


@true(REAL)
def names_swapped_twice(x: Any, rng: Rng) -> Any:
    noisy = x + rng.laplace(scale=1.0)
    noisy, x = x, noisy
    return x


@false(PAIR)
def late_binding(data: Any, rng: Rng) -> Any:
    """Both functions see the last i: data[1] is told twice with noise that cancels."""
    noise = rng.laplace(scale=1.0)
    told = [lambda s: s * data[i] + noise for i in range(2)]
    return [told[0](1), told[1](-1)]


@false(REAL)
def nonlocal_cancels(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    total = x + noise

    def settle() -> None:
        nonlocal total
        total -= noise

    settle()
    return total


@outside(REAL)
def nonlocal_adds(x: Any, rng: Rng) -> Any:
    total = x

    def settle() -> None:
        nonlocal total
        total += rng.laplace(scale=1.0)

    settle()
    return total


@false(REAL)
def default_evaluated_once(x: Any, rng: Rng) -> Any:
    def noisy(value: Any, noise: Any = rng.laplace(scale=1.0)) -> Any:  # noqa: B008
        return value + noise

    return noisy(x) - noisy(0.0) + noisy(0.0) * 0


@false(REAL)
def same_default_twice(x: Any, rng: Rng) -> Any:
    """One draw: the difference of both is x."""

    def noisy(value: Any, noise: Any = rng.laplace(scale=1.0)) -> Any:  # noqa: B008
        return value + noise

    return noisy(x), noisy(0.0)


@true(REAL, 2.0)
def two_calls_two_draws(x: Any, rng: Rng) -> Any:
    def noisy(value: Any) -> Any:
        return value + rng.laplace(scale=1.0)

    return noisy(x), noisy(x)


@false(REAL, 1.999)
def two_calls_two_draws_for_less(x: Any, rng: Rng) -> Any:
    def noisy(value: Any) -> Any:
        return value + rng.laplace(scale=1.0)

    return noisy(x), noisy(x)


@false(REAL)
def walrus_keeps_the_data(x: Any, rng: Rng) -> Any:
    if (y := x + rng.laplace(scale=1.0)) > 0:
        y = x
    return y


@outside(REAL)
def walrus(x: Any, rng: Rng) -> Any:
    return [y, y] if (y := x + rng.laplace(scale=1.0)) > 0 else [0.0, 0.0]


@false(PAIR)
def comprehension_leaks_by_walrus(data: Any, rng: Rng) -> Any:
    """The last value outlives the comprehension."""
    noisy = [(last := x) + rng.laplace(scale=2.0) for x in data]
    return noisy[0], last


@true(PAIR)
def comprehension_has_its_own_names(data: Any, rng: Rng) -> Any:
    x = 5.0
    noisy = [x + rng.laplace(scale=2.0) for x in data]
    return [*noisy, x]


@false(PAIR)
def generator_runs_late(data: Any, rng: Rng) -> Any:
    """The noise is drawn when it is too late: what is summed was changed before."""
    noise = [rng.laplace(scale=1.0)]
    told = (x + noise[0] for x in data)
    noise[0] = 0.0
    return sum(told)


@false(PAIR)
def generator_is_used_up(data: Any, rng: Rng) -> Any:
    draws = (rng.laplace(scale=2.0) for _ in range(2))
    list(draws)
    return sum(data) + sum(draws)


@true(PAIR)
def generator_in_time(data: Any, rng: Rng) -> Any:
    draws = (rng.laplace(scale=2.0) for _ in range(2))
    return [x + n for x, n in zip(data, draws, strict=True)]


@false(PAIR)
def zip_stops_early(data: Any, rng: Rng) -> Any:
    draws = [rng.laplace(scale=1.0)]
    noisy = [x + n for x, n in itertools.zip_longest(data, draws, fillvalue=0.0)]
    return noisy


# Lists, views, slices, changes in place.


@false(PAIR)
def view_of_the_data(data: Any, rng: Rng) -> Any:
    """The view is changed with the array: noise of the second is added twice to no avail."""
    kept = data[:]
    data += rng.laplace(scale=2.0)
    data -= data - kept
    return data[0] - data[1]


@false(PAIR)
def in_place_with_another_name(data: Any, rng: Rng) -> Any:
    noise = np.array([rng.laplace(scale=2.0), rng.laplace(scale=2.0)])
    noisy = data + noise
    noise *= -1
    noisy += noise
    return noisy


@false(PAIR)
def reshaped_is_a_view(data: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=2.0, size=2)
    flat = noise.reshape(2, 1)
    flat[:] = 0.0
    return data + noise


@false(PAIR)
def transposed_is_a_view(data: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=2.0, size=(1, 2))
    noise.T[0, 0] = 0.0
    return data + noise[0]


@true(PAIR)
def copied_is_none(data: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=2.0, size=2)
    other = noise.copy()
    other[:] = 0.0
    return data + noise


@false(PAIR)
def reversed_and_back(data: Any, rng: Rng) -> Any:
    """Noise on the wrong entries cancels."""
    noise = [rng.laplace(scale=2.0), rng.laplace(scale=2.0)]
    a = data[0] + noise[0]
    b = data[1] - noise[::-1][1]
    return a + b


@false(PAIR)
def negative_step(data: Any, rng: Rng) -> Any:
    noise = [rng.laplace(scale=2.0), 0.0]
    return [x + n for x, n in zip(data[::-1], noise[::-1], strict=True)]


@true(PAIR)
def negative_index(data: Any, rng: Rng) -> Any:
    return data[-1] + rng.laplace(scale=1.0)


@false(PAIR)
def slice_beyond(data: Any, rng: Rng) -> Any:
    """An empty slice sums to no noise."""
    noise = [rng.laplace(scale=1.0)]
    return data[0] + sum(noise[1:])


@false(BITS)
def multiplied_list_is_one_list(data: Any, rng: Rng) -> Any:
    rows = [[0]] * 2
    for row, bit in zip(rows, data, strict=True):
        row[0] = bit
    return [row[0] for row in rows] if rng.random() < 0.5 else 0


@false(BITS)
def removed_while_looped_over(data: Any, rng: Rng) -> Any:
    """Every other one is left, as it is."""
    left = list(data)
    for bit in left:
        left.remove(bit)
    return left


@false(BITS)
def shallow_copy(data: Any, rng: Rng) -> Any:
    box = [[rng.integers(2)]]
    other = copy.copy(box)
    other[0][0] = data[0]
    return int(box[0][0])


@outside(BITS, 0.0)
def deep_copy(data: Any, rng: Rng) -> Any:
    box = [[int(rng.integers(2))]]
    other = copy.deepcopy(box)
    other[0][0] = data[0]
    return box[0][0]


@false(BITS)
def data_changed_between_calls(data: Any, rng: Rng) -> Any:
    """It writes into its data: the second look sees what the first one left."""
    data[0] = 1 - data[0]
    return data[0] if rng.random() < 0.75 else 1 - data[0]


@false(BITS)
def popped(data: Any, rng: Rng) -> Any:
    last = data.pop()
    return last if data else int(rng.integers(2))


@false(PAIR)
def augmented_list(data: Any, rng: Rng) -> Any:
    out: list[Any] = []
    same = out
    out += [data[0]]
    out = out + [rng.laplace(scale=1.0)]
    return same


@false(PAIR)
def star_unpacking(data: Any, rng: Rng) -> Any:
    first, *rest = [data[0], data[0] + rng.laplace(scale=1.0)]
    return rest if rng.random() < 0.5 else first


@true(PAIR)
def star_in_the_middle(data: Any, rng: Rng) -> Any:
    _, *noisy, _ = [data[0], data[0] + rng.laplace(scale=1.0), data[1]]
    return noisy


@false(PAIR)
def np_where(data: Any, rng: Rng) -> Any:
    noisy = data + rng.laplace(scale=2.0, size=2)
    return np.where(noisy > 0, data, 0.0)


@false(PAIR)
def masked_assignment(data: Any, rng: Rng) -> Any:
    noisy = data + rng.laplace(scale=2.0, size=2)
    noisy[noisy < 0] = data[0]
    return noisy


@false(PAIR)
def fancy_index_is_a_copy(data: Any, rng: Rng) -> Any:
    """Noise is put into a copy."""
    out = np.array([data[0], data[1]])
    out[[0, 1]][:] = rng.laplace(scale=2.0, size=2)
    return out


@false(PAIR)
def cumulative(data: Any, rng: Rng) -> Any:
    """Both sums move by 1 and by 2: 3/2 of the budget."""
    return np.cumsum(data) + rng.laplace(scale=2.0, size=2)


@true(PAIR, 1.5)
def cumulative_paid(data: Any, rng: Rng) -> Any:
    return np.cumsum(data) + rng.laplace(scale=2.0, size=2)


# Truth values, comparisons, exceptions, early ends.


@false(REAL)
def chained_with_the_data(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return x < x + noise < noise


@false(COUNT)
def membership(count: Any, rng: Rng) -> Any:
    """`in` compares with ==."""
    return count in [0, 1] if rng.random() < 0.5 else count not in {2, 3}


@true(BIT, LN3)
def membership_of_a_coin(bit: Any, rng: Rng) -> Any:
    return bit in ([1] if rng.random() < 0.75 else [0])


@false(COUNT)
def or_returns_its_operand(count: Any, rng: Rng) -> Any:
    return count or int(rng.integers(2))


@false(COUNT)
def and_returns_its_operand(count: Any, rng: Rng) -> Any:
    return (rng.random() < 0.5) and count


@false(COUNT)
def any_stops_early(count: Any, rng: Rng) -> Any:
    """The number of draws tells: it is returned."""
    seen: list[int] = []
    any(not seen.insert(i, i) and i >= count for i in range(4))  # type: ignore[func-returns-value]
    return len(seen)


@false(BIT)
def finally_overrides(bit: Any, rng: Rng) -> Any:
    try:
        return int(rng.integers(2))
    finally:
        if bit:
            return 5


@false(BIT)
def suppressed(bit: Any, rng: Rng) -> Any:
    out = 0
    with contextlib.suppress(ZeroDivisionError):
        out = 1
        out = 2 // bit
    return out


@false(BIT)
def raised_and_caught(bit: Any, rng: Rng) -> Any:
    try:
        if bit:
            raise ValueError("a")
        raise KeyError("b")
    except Exception as error:
        return type(error).__name__


@false(BIT)
def assertion_tells(bit: Any, rng: Rng) -> Any:
    assert bit == 0 or rng.random() < 2
    assert bit == 0
    return 0


@false(BIT)
def loop_else(bit: Any, rng: Rng) -> Any:
    for _ in range(bit):
        break
    else:
        return "none"
    return "some"


@false(COUNT)
def while_counts(count: Any, rng: Rng) -> Any:
    steps = 0
    while steps < count:
        steps += 1
    return steps if rng.random() < 0.9 else 0


@false(BIT)
def match_on_data(bit: Any, rng: Rng) -> Any:
    match bit:
        case 0:
            return "zero"
        case _:
            return "one"


@false(BIT)
def recursion_on_data(bit: Any, rng: Rng) -> Any:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    return down(bit)


@false(REAL)
def sign_by_abs(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return abs(x + noise) - abs(noise)


@false(REAL, 0.999)
def folded(x: Any, rng: Rng) -> Any:
    """|x + noise| has the tail of the noise: exactly 1."""
    return abs(x + rng.laplace(scale=1.0))


@true(REAL)
def folded_paid(x: Any, rng: Rng) -> Any:
    return abs(x + rng.laplace(scale=1.0))


# Objects that answer as they like, containers with an order, keys, ties.


class Sly:
    """Equal to everything, and different from everything."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __call__(self, data: Any, rng: Rng) -> Any:
        return data


false(BIT)(Sly(1))


@false(BIT)
def sly_key(bit: Any, rng: Rng) -> Any:
    return len({Sly(0), Sly(bit)}) + bool(Sly(bit))


@false(BIT)
def sly_index(bit: Any, rng: Rng) -> Any:
    return [0, 1][Sly(bit)]


class Loud(int):
    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1


@false(BIT)
def subclass_of_int(bit: Any, rng: Rng) -> Any:
    return Loud(0) if bit else 0


Point = namedtuple("Point", "x")  # noqa: PYI024


@false(BIT)
def named_tuple(bit: Any, rng: Rng) -> Any:
    return Point(0) if bit else (0,)


@false(BIT)
def ordered_dictionary(bit: Any, rng: Rng) -> Any:
    return OrderedDict(a=0) if bit else {"a": 0}


@false(BIT)
def default_dictionary(bit: Any, rng: Rng) -> Any:
    made: defaultdict[int, int] = defaultdict(int)
    made[bit]
    return list(made)


@false(BITS)
def counted(data: Any, rng: Rng) -> Any:
    return Counter(data).most_common(1)[0][0]


@false(BITS)
def deque_rotates(data: Any, rng: Rng) -> Any:
    turned = deque(data)
    turned.rotate(int(rng.integers(2)))
    return list(turned)


@false(BITS)
def set_of_data(data: Any, rng: Rng) -> Any:
    return len(set(data))


@false(PAIR)
def sorted_with_ties(data: Any, rng: Rng) -> Any:
    """The order of equal keys is that of the data."""
    order = sorted(range(2), key=lambda i: data[i])
    return order if rng.random() < 0.99 else [0, 1]


@false(COUNTS, 1.0)
def stable_ties(data: Any, rng: Rng) -> Any:
    """Whole noise ties with probability; the first index wins, noise 1 for both."""
    p = 1 - math.exp(-0.25)
    noisy = [int(x) + rng.geometric(p) for x in data]
    best = max(range(2), key=noisy.__getitem__)
    return best, noisy[0] == noisy[1], int(data[0])


@false(BIT)
def dictionary_by_truth(bit: Any, rng: Rng) -> Any:
    """True and 1 are one key; the first key stays, the last value too."""
    made = {True: "t"}
    made[bit] = "b"
    return list(made.items())


@false(WORD)
def text_of_data(word: Any, rng: Rng) -> Any:
    return f"{word}{int(rng.integers(2))}"


@true(WORD, LN3)
def word_response(word: Any, rng: Rng) -> Any:
    other = {"a": "b", "b": "a"}[word]
    return word if rng.random() < 0.75 else other


@false(WORD)
def hash_of_data(word: Any, rng: Rng) -> Any:
    return hash(word) % 2


@false(BIT)
def identity_of_data(bit: Any, rng: Rng) -> Any:
    return id(bit) == id(0)


@false(BIT)
def formatted(bit: Any, rng: Rng) -> Any:
    return "%d" % (bit ^ (rng.random() < 0.01))


@false(BIT)
def evaluated(bit: Any, rng: Rng) -> Any:
    return eval("bit")  # noqa: S307


@false(BIT)
def locals_tell(bit: Any, rng: Rng) -> Any:
    if bit:
        extra = 1
        del extra
        again = 2
    return sorted(locals())


@false(BIT)
def attribute_of_function(bit: Any, rng: Rng) -> Any:
    attribute_of_function.__dict__["kept"] = bit
    return attribute_of_function.__dict__.pop("kept")


COUNTER = itertools.count()
STATE = {"calls": 0}
SEEN: list[Any] = []


@false(BIT, LN3)
def module_state(bit: Any, rng: Rng) -> Any:
    STATE["calls"] += 1
    return bit if STATE["calls"] % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def module_counter(bit: Any, rng: Rng) -> Any:
    return bit if next(COUNTER) % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def module_list(bit: Any, rng: Rng) -> Any:
    SEEN.append(bit)
    out = bit if rng.random() < 0.75 else 1 - bit
    return out if len(SEEN) < 1000 else SEEN[0]


class Same:
    """Equal to all others of its class: what is cached for one is cached for all."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@false(BIT, LN3)
def cached_draws(bit: Any, rng: Rng) -> Any:
    """The first draw is kept for ever: later answers are a function of the bit."""
    return _cached(bit, Same(rng))


@functools.cache
def _cached(bit: Any, same: Same) -> Any:
    return bit if same.rng.random() < 0.75 else 1 - bit


class Tally:
    """It counts calls: in its class, or in a slot."""

    __slots__ = ("calls",)
    total = 0

    def __init__(self) -> None:
        self.calls = 0


TALLY, QUEUE, STREAM = Tally(), deque([0]), (i % 50 == 49 for i in itertools.count())
POPPING = deque([1, 2, 3])
ADD: Any = SEEN.append


@false(BIT, LN3)
def state_of_a_class(bit: Any, rng: Rng) -> Any:
    Tally.total += 1
    return bit if Tally.total % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def state_in_a_slot(bit: Any, rng: Rng) -> Any:
    TALLY.calls += 1
    return bit if TALLY.calls % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def state_in_a_deque(bit: Any, rng: Rng) -> Any:
    QUEUE.append(QUEUE.pop() + 1)
    return bit if QUEUE[0] % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def state_in_a_generator(bit: Any, rng: Rng) -> Any:
    return bit if next(STREAM) or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def state_in_a_module(bit: Any, rng: Rng) -> Any:
    elsewhere.CALLS += 1
    return bit if elsewhere.CALLS % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def state_behind_a_method(bit: Any, rng: Rng) -> Any:
    ADD(0)
    return bit if len(ADD.__self__) % 50 == 49 or rng.random() < 0.75 else 1 - bit


@false(BIT, LN3)
def cached_in_a_mutable_default(bit: Any, rng: Rng, seen: list[Any] = []) -> Any:
    seen[:] = [*seen, bit][-3:]
    return sum(seen) if rng.random() < 0.75 else 0


# The generator.


@false(REAL)
def patched_generator(x: Any, rng: Rng) -> Any:
    class Quiet:
        def laplace(self, scale: float) -> float:
            return 0.0

    rng = Quiet()  # type: ignore[assignment]
    return x + rng.laplace(scale=1.0)


@false(REAL)
def patched_method(x: Any, rng: Rng) -> Any:
    try:
        rng.laplace = lambda scale: 0.0  # type: ignore[method-assign, assignment]
    except AttributeError:
        return x
    return x + rng.laplace(scale=1.0)


@false(REAL)
def spawned_generator(x: Any, rng: Rng) -> Any:
    return x + rng.spawn(1)[0].laplace(scale=1.0) * 0


@false(REAL)
def generator_of_a_seed(x: Any, rng: Rng) -> Any:
    return x + np.random.Generator(np.random.PCG64(7)).laplace(scale=1.0)


@false(REAL)
def generator_asked_for_its_type(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0) if type(rng) is not np.random.Generator else x


@false(REAL)
def generator_asked_for_its_bits(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=1.0) if hasattr(rng, "_run") else x


@false(REAL)
def generator_of_another_type(x: Any, rng: Rng) -> Any:
    return x if type(rng) == np.random.Generator else x + rng.laplace(scale=1.0)  # noqa: E721


@false(REAL)
def generator_asked_for_its_class(x: Any, rng: Rng) -> Any:
    return x if rng.__class__.__name__ == "Generator" else x + rng.laplace(scale=1.0)


@false(REAL)
def generator_asked_for_its_dictionary(x: Any, rng: Rng) -> Any:
    try:
        hidden = bool(vars(rng))
    except TypeError:
        hidden = False
    return x + rng.laplace(scale=1.0) if hidden else x


@false(REAL)
def generator_as_text(x: Any, rng: Rng) -> Any:
    return x if str(rng).startswith("Generator") else x + rng.laplace(scale=1.0)


@false(REAL)
def generator_by_its_class(x: Any, rng: Rng) -> Any:
    """The method of the class, past what stands for it."""
    return x + np.random.Generator.laplace(rng, 0.0, 1.0) * 0


@false(REAL)
def noise_asked_for_its_class(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return x if noise.__class__ is float or noise.__class__ == float else x + noise  # noqa: E721


@false(REAL)
def noise_asked_in_vain(x: Any, rng: Rng) -> Any:
    """Numbers have no coefficients."""
    noise = rng.laplace(scale=1.0)
    return x + noise if hasattr(noise, "coefficients") else x


@false(REAL)
def noise_asked_for_by_name(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return x if getattr(noise, "constant", None) is None else x + noise


@false(REAL)
def noise_asked_directly(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    try:
        noise.coefficients  # type: ignore[attr-defined]  # noqa: B018
    except AttributeError:
        return x
    return x + noise


@false(REAL)
def noise_in_place_of_scale(x: Any, rng: Rng) -> Any:
    """The scale is drawn too: tails are heavier, the middle is sharper."""
    return x + rng.laplace(scale=rng.exponential(1.0))


@false(REAL)
def location_is_data_scale_is_none(x: Any, rng: Rng) -> Any:
    return rng.laplace(x, 0.0)


@true(REAL)
def location_is_data(x: Any, rng: Rng) -> Any:
    return rng.laplace(x, 1.0)


@false(REAL)
def arguments_swapped(x: Any, rng: Rng) -> Any:
    """Scale 0 and location 1."""
    return x + rng.laplace(1.0, 0.0)


@false(COUNT)
def geometric_of_size(count: Any, rng: Rng) -> Any:
    """One draw, taken twice: it cancels."""
    g = rng.geometric(0.5, size=2)
    return int(count + g[0] - g[-2])


@false(BIT, math.log(2))
def choice_with_repeats(bit: Any, rng: Rng) -> Any:
    """Of [bit, bit, 1 − bit] two in three are true, for 3/4 of the draws; else the bit."""
    drawn = rng.choice([bit, bit, 1 - bit])
    return int(drawn) if rng.random() < 0.75 else bit


@true(BIT, math.log(2))
def choice_with_repeats_alone(bit: Any, rng: Rng) -> Any:
    return int(rng.choice([bit, bit, 1 - bit]))


@false(BIT)
def shuffled_cards(bit: Any, rng: Rng) -> Any:
    cards = [bit, bit]
    rng.shuffle(cards)
    return cards[0]


@false(BIT, LN3)
def one_uniform_for_two_coins(bit: Any, rng: Rng) -> Any:
    """Both answers come of one draw; both true: 3/4, the second true alone: 1/8."""
    u = rng.random()
    return (bit if u < 0.75 else 1 - bit, bit if u < 0.875 else 1 - bit)


# NumPy's types, rounding.


@false(COUNT)
def narrow_integers(count: Any, rng: Rng) -> Any:
    """200 + 100 is 44 in eight bits: a threshold at 100 tells 0 from 1."""
    big = np.uint8(255) + np.uint8(count)
    return int(big)


@false(COUNT)
def wrapped_by_cast(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return int(np.array([noisy]).astype(np.int8)[0] * 0) + int(count)


@false(REAL)
def absorbed(x: Any, rng: Rng) -> Any:
    """1e300 swallows the noise; in floats x is gone too, in reals it is told."""
    noise = rng.laplace(scale=1.0)
    return (x + noise + 1e300) - (noise + 1e300)


@false(REAL)
def scaled_up_and_down(x: Any, rng: Rng) -> Any:
    return (4 * x + rng.laplace(scale=1.0) * 2) / 2


@true(REAL, 2.0)
def scaled_up_and_down_paid(x: Any, rng: Rng) -> Any:
    return (4 * x + rng.laplace(scale=1.0) * 2) / 2


@false(REAL, 1.0 - 1e-7)
def scale_in_decimals(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=float(Decimal("1.0")))


@outside(REAL)
def scale_in_fractions(x: Any, rng: Rng) -> Any:
    return x + rng.laplace(scale=float(Fraction(3, 3)))


@false(COUNT)
def float_of_count_on_one_side(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return float(noisy) if count > 1 else noisy


@true(COUNT)
def float_of_count(count: Any, rng: Rng) -> Any:
    return float(count + two_sided(rng))


@false(COUNT)
def divided_on_one_side(count: Any, rng: Rng) -> Any:
    """n / 1 is a float."""
    noisy = count + two_sided(rng)
    return noisy / 1 if count == 0 else noisy


@false(COUNT)
def times_one_on_one_side(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return noisy * 1.0 if count == 0 else noisy * 1


@false(COUNT)
def rounded_on_one_side(count: Any, rng: Rng) -> Any:
    """round(n) is an int and round(n / 1) too; n / 1 is none."""
    noisy = count + two_sided(rng)
    return round(noisy / 1) if count == 0 else noisy / 1


@true(COUNT)
def rounded_on_both_sides(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return round(noisy / 1) if count == 0 else noisy


@false(COUNT)
def type_of_a_sum(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return sum([noisy], 0.0) if count == 0 else sum([noisy])


@false(COUNT)
def type_in_a_list(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return [noisy, 0] if count == 0 else [noisy, False]


@false(COUNT)
def type_of_an_array(count: Any, rng: Rng) -> Any:
    """An array of a count and 0.5 holds floats alone; of a count, ints."""
    noisy = count + two_sided(rng)
    return np.array([noisy, 0.5])[:1] if count == 0 else np.array([noisy])


@false(COUNT)
def list_or_array(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return [noisy] if count == 0 else np.array([noisy])


@false(COUNT)
def asked_whether_int(count: Any, rng: Rng) -> Any:
    noisy = count + two_sided(rng)
    return count if isinstance(noisy * 1.0, int) else isinstance(noisy, int) and count


def two_sided(rng: Rng) -> Any:
    p = 1.0 - math.exp(-1.0)
    return rng.geometric(p) - rng.geometric(p)


# Data of any length.


@false(LONG)
def last_one_stays(data: Any, rng: Rng) -> Any:
    total = rng.laplace(scale=1.0)
    x = 0.0
    for x in data:
        total += x
    return total, x


@false(LONG)
def counted_and_summed(data: Any, rng: Rng) -> Any:
    """One noise for both."""
    noise = rng.laplace(scale=1.0)
    total, count = 0.0, 0
    for x in data:
        total += x
        count += 1
    return total + noise, count + noise


@true(LONG, 2.0)
def counted_and_summed_paid(data: Any, rng: Rng) -> Any:
    total, count = 0.0, 0
    for x in data:
        total += x
        count += 1
    return total + rng.laplace(scale=1.0), count + rng.laplace(scale=1.0)


@false(LONG, 1.9)
def counted_and_summed_for_less(data: Any, rng: Rng) -> Any:
    total, count = 0.0, 0
    for x in data:
        total += x
        count += 1
    return total + rng.laplace(scale=1.0), count + rng.laplace(scale=1.0)


@false(LONG)
def noise_per_record(data: Any, rng: Rng) -> Any:
    """The length of the list tells."""
    out = []
    for x in data:
        out.append(x + rng.laplace(scale=1.0))
    return out


@false(LONG)
def squares(data: Any, rng: Rng) -> Any:
    total = 0.0
    for x in data:
        total += 3 * x
    return total + rng.laplace(scale=1.0)


@false(LONG)
def resets(data: Any, rng: Rng) -> Any:
    total = rng.laplace(scale=1.0)
    for x in data:
        if x > 0.5:
            total = x
    return total


@false(LONG)
def doubled_at_each_step(data: Any, rng: Rng) -> Any:
    total = 0.0
    for x in data:
        total = 2 * total + x
    return total + rng.laplace(scale=1.0)


@false(LONG)
def data_looped_over_twice(data: Any, rng: Rng) -> Any:
    total = 0.0
    for x in data:
        total += x
    for x in data:
        total += x
    return total + rng.laplace(scale=1.0)


@true(LONG, 2.0)
def data_looped_over_twice_paid(data: Any, rng: Rng) -> Any:
    total = 0.0
    for x in data:
        total += x
    for x in data:
        total += x
    return total + rng.laplace(scale=1.0)


@false(LONG_BITS)
def first_one(data: Any, rng: Rng) -> Any:
    for i, x in enumerate(data):
        if x == 1:
            return i
    return -1


@false(LONG_BITS)
def parity(data: Any, rng: Rng) -> Any:
    odd = False
    for x in data:
        if x == 1:
            odd = not odd
    return odd if rng.random() < 0.9 else not odd


@false(LONG_BITS)
def count_typed_by_data(data: Any, rng: Rng) -> Any:
    """The sum of nothing is an int, of bits plus 0.0 a float."""
    total = 0
    for x in data:
        total = total + x * 1.0
    return total + rng.geometric(1 - math.exp(-1.0)) - rng.geometric(1 - math.exp(-1.0))


@false(QUERIES)
def sparse_without_threshold_noise(data: Any, rng: Rng) -> Any:
    out = []
    for q in data:
        if q + rng.laplace(scale=4.0) >= 0:
            out.append(True)
            return out
        out.append(False)
    return out


@false(QUERIES)
def sparse_without_query_noise(data: Any, rng: Rng) -> Any:
    """All answers at once: the threshold's noise pays for one direction only."""
    bar = rng.laplace(scale=2.0)
    out = []
    for q in data:
        out.append(q >= bar)
    return out


@false(QUERIES)
def sparse_that_goes_on(data: Any, rng: Rng) -> Any:
    bar = rng.laplace(scale=2.0)
    out = []
    for q in data:
        out.append(q + rng.laplace(scale=4.0) >= bar)
    return out


@true(QUERIES)
def sparse_with_stars(data: Any, rng: Rng) -> Any:
    bar = rng.laplace(scale=2.0)
    out: list[bool] = []
    for q in data:
        if q + rng.laplace(scale=4.0) >= bar:
            return [*out, True]
        out = [*out, False]
    return out


@false(QUERIES)
def sparse_with_its_answer(data: Any, rng: Rng) -> Any:
    bar = rng.laplace(scale=2.0)
    for q in data:
        if q + rng.laplace(scale=4.0) >= bar:
            return q
    return None


@false(QUERIES)
def maximum_of_any_length(data: Any, rng: Rng) -> Any:
    """The largest of the data with noise once: moves by 1, noise for a half."""
    top = -1000.0
    for q in data:
        top = max(top, q)
    return top + rng.laplace(scale=0.5)


@false(QUERIES)
def redrawn_threshold(data: Any, rng: Rng) -> Any:
    for q in data:
        bar = rng.laplace(scale=2.0)
        if q + rng.laplace(scale=4.0) >= bar:
            return True
    return False


# Calls by way of others.


@false(REAL)
def through_partial(x: Any, rng: Rng) -> Any:
    add = functools.partial(operator.add, x)
    return add(0 * rng.laplace(scale=1.0))


@false(REAL)
def through_reduce(x: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return functools.reduce(operator.add, [x, noise, -noise])


@true(REAL)
def through_map(x: Any, rng: Rng) -> Any:
    return list(map(lambda n: x + n, [rng.laplace(scale=1.0)]))  # noqa: C417


@false(REAL)
def through_filter(x: Any, rng: Rng) -> Any:
    return list(filter(lambda v: v > x, [rng.laplace(scale=0.1)]))


@false(REAL)
def through_a_lambda(x: Any, rng: Rng) -> Any:
    return (lambda noise: (lambda y: y - noise)(x + noise))(rng.laplace(scale=1.0))


@false(REAL)
def through_a_class(x: Any, rng: Rng) -> Any:
    class Noisy:
        noise = rng.laplace(scale=1.0)

        @property
        def value(self) -> Any:
            return x + self.noise

        @classmethod
        def clear(cls) -> None:
            cls.noise = 0.0

    Noisy.clear()
    return Noisy().value


@false(REAL)
def through_a_generator(x: Any, rng: Rng) -> Any:
    def stream() -> Any:
        noise = yield x + rng.laplace(scale=1.0)
        yield x + noise

    told = stream()
    next(told)
    return told.send(0.0)


@false(REAL)
def through_kwargs(x: Any, rng: Rng) -> Any:
    def noisy(*values: Any, scale: float = 1.0, **_: Any) -> Any:
        return values[0] + rng.laplace(scale=scale)

    return noisy(x, scales=1.0, scale=0.5)


@false(REAL)
def through_a_context(x: Any, rng: Rng) -> Any:
    @contextlib.contextmanager
    def noisy() -> Any:
        yield x + rng.laplace(scale=1.0)

    with noisy() as y:
        y = x
    return y


@false(REAL)
def noise_as_text(x: Any, rng: Rng) -> Any:
    return x + float(str(rng.laplace(scale=1.0))[:1] + "0") * 0


@false(REAL)
def noise_pickled(x: Any, rng: Rng) -> Any:
    import json

    return x + 0 * len(json.dumps([float(rng.laplace(scale=1.0))]))


@false(REAL)
def minimum_of_many(x: Any, rng: Rng) -> Any:
    """Two looks at noise of scale 1."""
    return min(x + rng.laplace(scale=1.0), x + rng.laplace(scale=1.0)), x + rng.laplace(scale=1.0)


@true(REAL, 2.0)
def minimum_of_two(x: Any, rng: Rng) -> Any:
    return min(x + rng.laplace(scale=1.0), x + rng.laplace(scale=1.0))


@false(REAL, 1.9)
def minimum_of_two_for_less(x: Any, rng: Rng) -> Any:
    """Upwards both must be above: the tail falls with the rate 2."""
    return min(x + rng.laplace(scale=1.0), x + rng.laplace(scale=1.0))


@false(REAL)
def difference_of_two(x: Any, rng: Rng) -> Any:
    """x + a and x + b: both are told, as sum and difference."""
    a, b = x + rng.laplace(scale=1.0), x + rng.laplace(scale=1.0)
    return a + b, a - b


@false(REAL, delta=0.01)
def rarely_without_noise(x: Any, rng: Rng) -> Any:
    return x if rng.random() < 0.02 else x + rng.laplace(scale=1.0)


@true(COUNT, delta=0.01)
def seldom_without_noise(count: Any, rng: Rng) -> Any:
    clear = rng.random() < 0.01
    return count if clear else min(max(count + two_sided(rng), 0), 3)
