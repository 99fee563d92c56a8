"""Programs on data of any length: such as an induction proves, and such as must stay open."""

# ruff: noqa: ANN401, ARG001, B006, PERF401, PERF402, RUF007, S108
# as many authors write them, and as no author should

from typing import Any

import numpy as np

Rng = np.random.Generator


def clipped_sum(values: Any, rng: Rng) -> Any:
    total = 0.0
    for v in values:
        total += min(max(v, 0.0), 1.0)
    return total + rng.laplace(scale=1.0)


def count_above(values: Any, rng: Rng) -> Any:
    return sum(1 for v in values if v > 0.5) + rng.laplace(scale=1.0)


def summed(values: Any, rng: Rng) -> Any:
    return np.sum(values) + rng.laplace(scale=1.0)


def summed_by_number(values: Any, rng: Rng) -> Any:
    total = 0.0
    for i in range(len(values)):
        total = total + values[i]
    return total + rng.laplace(scale=1.0)


def noised_one_by_one(values: Any, rng: Rng) -> Any:
    return [v + rng.laplace(scale=1.0) for v in values]


def ones_counted(bits: Any, rng: Rng) -> Any:
    ones = 0
    for bit in bits:
        if bit == 1:
            ones += 1
    return len(bits), ones + rng.laplace(scale=1.0)


def first_column(rows: Any, rng: Rng) -> Any:
    return sum(row[0] for row in rows) + rng.laplace(scale=1.0)


def mean(values: Any, rng: Rng) -> Any:
    """Moves by 1 over the number of records, and that is at least 1."""
    return sum(values) / len(values) + rng.laplace(scale=1.0)


def mean_for_its_length(values: Any, rng: Rng) -> Any:
    n = len(values)
    return np.mean(values) + rng.laplace(scale=1.0 / n)


def mean_half(values: Any, rng: Rng) -> Any:
    """Of one record: moves by 1, paid for 1/2."""
    return sum(values) / len(values) + rng.laplace(scale=0.5)


def mean_for_twice_its_length(values: Any, rng: Rng) -> Any:
    return sum(values) / len(values) + rng.laplace(scale=0.5 / len(values))


# Not private, or not to be understood: with what must be said of them.

LOG: list[float] = []


class Held:
    total: float = 0.0


def in_a_global_list(values: Any, rng: Rng) -> Any:
    LOG.clear()
    for v in values:
        LOG.append(v)
    return sum(LOG) + rng.laplace(scale=0.1)


def in_a_class(values: Any, rng: Rng) -> Any:
    Held.total = 0.0
    for v in values:
        Held.total += v
    return Held.total + rng.laplace(scale=0.1)


def in_a_default(values: Any, rng: Rng, kept: list[float] = [0.0]) -> Any:
    kept[0] = 0.0
    for v in values:
        kept[0] += v
    return kept[0] + rng.laplace(scale=0.1)


def _made() -> Any:
    box = [0.0]

    def add(x: Any) -> None:
        box[0] += x

    def in_a_closure(values: Any, rng: Rng) -> Any:
        box[0] = 0.0
        for v in values:
            add(v)
        return box[0] + rng.laplace(scale=0.1)

    return in_a_closure


in_a_closure = _made()


def in_a_dict(values: Any, rng: Rng) -> Any:
    kept = {"total": 0.0}
    for v in values:
        kept["total"] += v
    return kept["total"] + rng.laplace(scale=0.1)


def under_two_names(values: Any, rng: Rng) -> Any:
    one = other = [0.0]
    for v in values:
        one[0] += v
        other[0] += v
    return one[0] + rng.laplace(scale=1.0)


def in_a_list_that_was_told(values: Any, rng: Rng) -> Any:
    """The list in the output changes after it was put there."""
    out, cell, first = [], [0.0], True
    for v in values:
        cell[0] = cell[0] + v
        if first:
            out.append(cell)
            first = False
    return out


def in_the_rng(values: Any, rng: Any) -> Any:
    rng.total = 0.0
    for v in values:
        rng.total += v
    return rng.total + rng.laplace(scale=0.1)


def in_a_function(values: Any, rng: Rng) -> Any:
    add: Any = lambda t: t  # noqa: E731
    for v in values:
        add = lambda t, f=add, v=v: f(t) + v  # noqa: E731
    return add(0.0) + rng.laplace(scale=0.1)


def by_its_length(values: Any, rng: Rng) -> Any:
    """Honest up to a hundred records."""
    if len(values) > 100:
        return list(values)
    return sum(values) + rng.laplace(scale=1.0)


def by_its_number(values: Any, rng: Rng) -> Any:
    """Honest up to the fiftieth record."""
    bar = rng.laplace(scale=2.0)
    for i, v in enumerate(values):
        if i > 50:
            if v >= 0.5:
                return i
        elif v + rng.laplace(scale=4.0) >= bar:
            return i
    return -1


def by_exact_comparison(values: Any, rng: Rng) -> Any:
    total = 0.0
    for v in values:
        total += v
        if total > 10:
            break
    return total + rng.laplace(scale=1.0)


def by_type(values: Any, rng: Rng) -> Any:
    """Always the number of values; its type tells whether one was small."""
    count = 0
    for v in values:
        if v > 0.5:
            count += 1
        else:
            count += 1.0  # type: ignore[assignment]
    return count


def sliced(values: Any, rng: Rng) -> Any:
    return sum(values[1:]) + rng.laplace(scale=0.1)


def zipped(values: Any, rng: Rng) -> Any:
    return [a - b + rng.laplace(scale=1.0) for a, b in zip(values, values[1:], strict=False)]


def nested(values: Any, rng: Rng) -> Any:
    return [a + b + rng.laplace(scale=1.0) for a in values for b in values]


def through_a_generator(values: Any, rng: Rng) -> Any:
    all_of_them = (v for v in values)
    return sum(all_of_them) + rng.laplace(scale=0.1)


def through_an_iterator(values: Any, rng: Rng) -> Any:
    rest = iter(values)
    next(rest)
    return sum(rest) + rng.laplace(scale=0.1)


def while_there_are_more(values: Any, rng: Rng) -> Any:
    i, total = 0, 0.0
    while i < len(values):
        total += values[i]
        i += 1
    return total + rng.laplace(scale=0.1)


def named_in_an_expression(values: Any, rng: Rng) -> Any:
    total = 0.0
    return sum((total := total + v) for v in values) + rng.laplace(scale=1.0)


def weighted(values: Any, rng: Rng) -> Any:
    total = 0.0
    for i, v in enumerate(values):
        total += i * v
    return total + rng.laplace(scale=1.0)


def doubling(values: Any, rng: Rng) -> Any:
    total = 0.0
    for v in values:
        total = 2 * total + v
    return total + rng.laplace(scale=1.0)


def list_read_again(values: Any, rng: Rng) -> Any:
    out = []
    for v in values:
        out.append(v)
    return out[0] + rng.laplace(scale=0.1)


def length_told(values: Any, rng: Rng) -> Any:
    out = []
    for v in values:
        if v > 0.5:
            out.append(1)
    return out


def scale_by_data(values: Any, rng: Rng) -> Any:
    scale = 1.0
    for v in values:
        if v > 0.5:
            scale = 2.0
    return rng.laplace(scale=scale)


def shared_noise(values: Any, rng: Rng) -> Any:
    noise = rng.laplace(scale=1.0)
    return [v + noise for v in values]


def stored(values: Any, rng: Rng) -> Any:
    for v in values:
        np.save("/tmp/no", v)
    return 0


def summed_twice(values: Any, rng: Rng) -> Any:
    first = sum(values) + rng.laplace(scale=1.0)
    return first, sum(values) + rng.laplace(scale=1.0)


# Once proved, and false: each tells a record, or does so beyond some number of records.


def kept_in_a_name_without_a_value(values: Any, rng: Rng) -> Any:
    for v in values:
        if 0.3333 < v < 0.3334:
            last = 1000.0
    try:
        return last + rng.laplace(scale=1.0)
    except NameError:
        return rng.laplace(scale=1.0)


def name_without_a_value(values: Any, rng: Rng) -> Any:
    for v in values:
        if 0.3333 < v < 0.3334:
            last = 1000.0
    return last + rng.laplace(scale=1.0)


def by_a_lambda(values: Any, rng: Rng) -> Any:
    total = 0.0
    for i in range(len(values)):
        total = total + ((lambda i: values[i])(0) if i > 500 else values[i])  # noqa: PLC3002
    return total + rng.laplace(scale=1.0)


def in_eight_bits(values: Any, rng: Rng) -> Any:
    count = np.zeros(1, dtype="int8")[0]
    for _ in values:
        count = count + 1
    return count + rng.laplace(scale=1.0)


def list_begun_anew(values: Any, rng: Rng) -> Any:
    out = []
    for v in values:
        if rng.random() < 0.5:
            out.append(rng.laplace(scale=1.0))
        elif 0.3333 < v < 0.3334:
            out = []
    return out


def through_a_view(values: Any, rng: Rng) -> Any:
    whole = np.zeros(2)
    part = whole[:1]
    for v in values:
        if 0.3333 < v < 0.3334:
            part[0] = part[0] + 1000.0 * v
    return whole[0] + rng.laplace(scale=1.0)


def number_matched(values: Any, rng: Rng) -> Any:
    total = 0.0
    for i in range(len(values)):
        if i > 500:
            match 0:
                case i:
                    pass
        total = total + values[i]
    return total + rng.laplace(scale=1.0)


def number_defined(values: Any, rng: Rng) -> Any:
    total = 0.0
    for i in range(len(values)):
        if i > 500:

            def i() -> int:  # type: ignore[misc]
                return 0

        total = total + values[i]
    return total + rng.laplace(scale=1.0)


def added_in_place(values: Any, rng: Rng) -> Any:
    a = np.zeros(1)
    n = len(values)
    extra = np.add(a, 1000.0, out=a)[0] if n > 500 else 0.0
    return extra + sum(a[0] * v for v in values) + rng.laplace(scale=1.0)


def shuffled(values: Any, rng: Rng) -> Any:
    a = [0.0, 1000.0]
    n = len(values)
    both = (rng.shuffle(a) if n > 500 else None, sum(a[0] * v for v in values))
    return both[1] + rng.laplace(scale=1.0)


def same_object(values: Any, rng: Rng) -> Any:
    before: Any = 0
    out = []
    for v in values:
        if v is before:
            out.append(1000.0 + rng.laplace(scale=1.0))
        else:
            out.append(rng.laplace(scale=1.0))
        before = v
    return out


CELL = [0.0]


def through_a_global_list(values: Any, rng: Rng) -> Any:
    a = CELL
    for v in values:
        if 0.3333 < v < 0.3334:
            a[0] = a[0] + 1000.0 * v
    return CELL[0] + rng.laplace(scale=1.0)


def _held(kept: list[float] = [0.0]) -> list[float]:
    return kept


def through_a_helper(values: Any, rng: Rng) -> Any:
    a = _held()
    for v in values:
        if 0.3333 < v < 0.3334:
            a[0] = a[0] + 1000.0 * v
    return _held()[0] + rng.laplace(scale=1.0)


FALSE = [
    (kept_in_a_name_without_a_value, "try is not in the language"),
    (name_without_a_value, "last, which may be without a value"),
    (by_a_lambda, "a call of lambda"),
    (in_eight_bits, "may not have"),
    (list_begun_anew, "a list that begins within a loop"),
    (through_a_view, "a call of np.zeros"),
    (number_matched, "match is not in the language"),
    (number_defined, "such a statement: FunctionDef"),
    (added_in_place, "a call of np.zeros"),
    (shuffled, "a call of rng.shuffle"),
    (same_object, "`is` of anything but None"),
    (through_a_global_list, "CELL, which is no constant"),
    (through_a_helper, "a call of _held"),
]

_NONE = "no gaps and translations were found"
_WAYS = "neighbors may take different branches"
_LOOP = "the data are used other than by a loop"
_SET = "an attribute that is set"
OPEN = [
    (in_a_global_list, ".clear is not in the language"),
    (in_a_class, _SET),
    (in_a_default, "a default that is a list"),
    (in_a_closure, "may not have"),
    (in_a_dict, "such an expression: Dict"),
    (under_two_names, "such a statement: Assign"),
    (in_a_list_that_was_told, "cell used as a whole"),
    (in_the_rng, _SET),
    (in_a_function, "such an expression: Lambda"),
    (by_its_length, "a call of list"),
    (by_its_number, _WAYS),
    (by_exact_comparison, _NONE),
    (by_type, "without noise"),
    (sliced, "may not have"),
    (zipped, "may not have"),
    (nested, "has another one in it"),
    (through_a_generator, "such an expression: GeneratorExp"),
    (through_an_iterator, "iter is a function"),
    (while_there_are_more, "such a statement: While"),
    (named_in_an_expression, ":= is not in the language"),
    (weighted, "is not linear"),
    (doubling, ""),
    (list_read_again, "a part of a list that grows with the data"),
    (length_told, "neighbors may release different things"),
    (scale_by_data, _WAYS),
    (shared_noise, ""),
    (stored, "np.save is a"),
    (summed_twice, _NONE),
]
