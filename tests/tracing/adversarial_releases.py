"""Releases that use noise in odd ways, honest and flawed, each with what is true of it by hand.

`honest` mechanisms keep their claim on their pair, so they may not be refuted; with `quiet` no
alarm at all is right. `flawed` ones break it on their pair, so that nothing may be called shown.
`exact` is the least ε at `delta` of the pair, from a closed form, where the trace should bracket
it.
"""

# ruff: noqa: ANN401, NPY002, ARG001

import copy
import functools
import heapq
import json
import math
import pickle
import random
import secrets
import statistics
import threading
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP

Out = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    mechanism: Callable[[Any, Any], Any]
    left: Any
    right: Any
    claim: Guarantee
    honest: bool
    quiet: bool = False
    exact: float | None = None
    delta: float = 0.0
    fails: str = ""
    executions: int = 100


CASES: list[Case] = []


def _claim(eps: Any) -> Guarantee:
    return PureDP(epsilon=float(eps)) if isinstance(eps, (int, float)) else eps


def honest(left: Any, right: Any, eps: Any = 1.0, **more: Any) -> Callable[[Any], Any]:
    """The claim is true of this pair."""

    def put(mechanism: Any) -> Any:
        name = f"honest {mechanism.__name__.strip('_')}"
        CASES.append(
            Case(
                name=name, mechanism=mechanism, left=left, right=right, claim=_claim(eps),
                honest=True, **more,
            )
        )  # fmt: skip
        return mechanism

    return put


def flawed(left: Any, right: Any, eps: Any = 1.0, **more: Any) -> Callable[[Any], Any]:
    """The claim is false on this pair."""

    def put(mechanism: Any) -> Any:
        name = f"flawed {mechanism.__name__.strip('_')}"
        CASES.append(
            Case(
                name=name, mechanism=mechanism, left=left, right=right, claim=_claim(eps),
                honest=False, **more,
            )
        )  # fmt: skip
        return mechanism

    return put


# Functions of two arguments, one of them noise that nothing was added to yet.


@flawed(0.0, 1.0)
def maximum_of_noise_and_data(x: Any, rng: Any) -> Out:
    return np.maximum(rng.laplace(size=3), x)  # P(output = x) > 0


@flawed(0.0, 10.0)
def noise_clipped_to_data(x: Any, rng: Any) -> Out:
    return np.clip(rng.laplace(size=2), x - 1, x + 1)  # disjoint supports


@flawed(0.0, 1.0)
def data_over_noise(x: Any, rng: Any) -> Out:
    return x / rng.laplace()  # always 0 on the left


@flawed(0.0, 1.0)
def noise_to_the_power_of_data(x: Any, rng: Any) -> Out:
    return rng.laplace() ** (2 * x)  # 1 on the left


@flawed(1.0, 3.0)
def noise_modulo_data(x: Any, rng: Any) -> Out:
    return rng.laplace(scale=5.0) % x  # above 1 only on the right


@flawed(0.0, 1.0)
def hypotenuse_with_data(x: Any, rng: Any) -> Out:
    return np.hypot(rng.laplace(size=2), 5 * x)  # at least 5 on the right


@flawed(1.0, -1.0)
def sign_of_data_copied_to_noise(x: Any, rng: Any) -> Out:
    return np.copysign(rng.laplace(size=2), x)


@flawed([[1.0, 0.0], [0.0, 1.0]], [[100.0, 0.0], [0.0, 1.0]])
def noise_solved_by_data_matrix(a: Any, rng: Any) -> Out:
    return np.linalg.solve(np.asarray(a), rng.laplace(size=2))  # scale 1 against 1/100


@flawed([1.0, 1.0], [1.0, 0.0])
def outer_product_with_data(v: Any, rng: Any) -> Out:
    return np.outer(rng.laplace(size=2), np.asarray(v))  # a column of zeros


@flawed([1.0, 1.0], [1.0, 0.0])
def kronecker_product_with_data(v: Any, rng: Any) -> Out:
    return np.kron(np.asarray(v), rng.laplace(size=2))


@flawed([1.0, 1.0], [0.0, 0.0])
def convolution_with_data(v: Any, rng: Any) -> Out:
    return np.convolve(rng.laplace(size=3), np.asarray(v))


@flawed([1.0, 1.0], [100.0, 0.0])
def average_weighted_by_data(v: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    first = np.average(noise, weights=np.asarray(v))  # flaw
    return first, noise


@flawed([0.0, 0.0], [50.0, 50.0])
def interpolated_in_data(v: Any, rng: Any) -> Out:
    return np.interp(rng.laplace(size=2), [-1.0, 1.0], v)


@flawed(0.1, 0.9)
def quantile_of_noise_at_data(q: Any, rng: Any) -> Out:
    noise = rng.laplace(size=50)
    return np.quantile(noise, q), noise.tolist()  # flaw


@flawed([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
def cross_product_with_data(v: Any, rng: Any) -> Out:
    return np.cross(np.asarray(v), rng.laplace(size=3))  # where the zero stands


@flawed(0.0, 1.0)
def log_add_exp(x: Any, rng: Any) -> Out:
    return np.logaddexp(rng.laplace(size=1), 10 * x)  # above 10 on the right


@flawed(0.0, 5.0)
def nan_to_num_with_data(x: Any, rng: Any) -> Out:
    return np.nan_to_num(rng.laplace(size=2) * np.nan, nan=x)


@flawed(0.0, 1.0)
def data_appended_to_noise(x: Any, rng: Any) -> Out:
    return np.append(rng.laplace(size=2), x)


@flawed(0.0, 1.0)
def data_inserted_into_noise(x: Any, rng: Any) -> Out:
    return np.insert(rng.laplace(size=2), 0, x)


@flawed(0.0, 1.0)
def noise_padded_with_data(x: Any, rng: Any) -> Out:
    return np.pad(rng.laplace(size=2), 1, constant_values=x)


@flawed(0.0, 1.0)
def data_in_the_shape_of_noise(x: Any, rng: Any) -> Out:
    return np.full_like(rng.laplace(size=2), x)


@flawed(0.0, 1.0)
def differences_from_data(x: Any, rng: Any) -> Out:
    noise = rng.laplace(size=2)
    return np.diff(noise, prepend=x), noise  # flaw


@flawed(0.0, 1.0)
def inner_product_of_data_and_noise(x: Any, rng: Any) -> Out:
    return np.inner(np.array([x]), rng.laplace(size=1))  # 0 on the left


@flawed(0.0, 1.0)
def tensor_product_of_data_and_noise(x: Any, rng: Any) -> Out:
    return np.tensordot(np.array([x]), rng.laplace(size=2), 0)


@flawed(0.0, 1.0)
def trapezoid_of_data_width(x: Any, rng: Any) -> Out:
    return np.trapezoid(rng.laplace(size=2), dx=x)


@flawed(0, 2)
def noise_rounded_to_data_digits(n: Any, rng: Any) -> Out:
    return np.round(1000 * rng.laplace(size=2), n)


@flawed(0, 9)
def noise_shifted_by_data_bits(n: Any, rng: Any) -> Out:
    return np.ldexp(rng.random(size=2), n)


@flawed([1.0, 1.0], [0.0, 0.0])
def random_projection(v: Any, rng: Any) -> Out:
    return rng.normal(size=(1, 2)) @ np.asarray(v)  # 0 on the right


@flawed([1.0, 1.0], [0.0, 0.0])
def dot_of_data_and_noise(v: Any, rng: Any) -> Out:
    return np.dot(np.asarray(v), rng.laplace(size=2))


@honest(0.0, 1.0, quiet=True, exact=1.0)
def maximum_of_release_and_constant(x: Any, rng: Any) -> Out:
    return np.maximum(x + rng.laplace(size=1), 0.0)


@honest(3.0, 4.0)
def release_modulo_constant(x: Any, rng: Any) -> Out:
    return (x + rng.laplace()) % 7


# Arrays that are changed in place.


@flawed([0.0, 0.0], [1.0, 0.0])
def added_in_place_by_a_function(v: Any, rng: Any) -> Out:
    def add(buffer: Any, values: Any) -> None:
        buffer += values  # flaw

    out = rng.laplace(scale=0.1, size=2)
    add(out, np.asarray(v))
    return out


@flawed(0.0, 1.0)
def added_in_place_through_a_view(x: Any, rng: Any) -> Out:
    out = rng.laplace(scale=0.1, size=4)
    head = out[:1]
    head += x  # flaw
    return out


@flawed(0.0, 1.0)
def view_assigned(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=(2, 2))
    out.reshape(-1)[0] = x  # flaw
    return out


@flawed([[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]])
def rows_changed_in_a_loop(m: Any, rng: Any) -> Out:
    out = rng.laplace(scale=0.1, size=(2, 2))
    for row, more in zip(out, np.asarray(m), strict=True):
        row += more  # flaw  # noqa: PLW2901
    return out


@flawed(0.0, 1.0)
def other_name_added_in_place(x: Any, rng: Any) -> Out:
    out = rng.laplace(scale=0.1, size=2)
    same = out
    same += x  # flaw
    return out


@flawed(0.0, 1.0)
def flat_assigned(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=2)
    out.flat[0] = x  # flaw
    return out


@flawed(0.0, 1.0)
def add_at(x: Any, rng: Any) -> Out:
    out = rng.laplace(scale=0.1, size=2)
    np.add.at(out, [0], x)  # flaw
    return out


@flawed(0.0, 1.0)
def put(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=3)
    np.put(out, [1], x)  # flaw
    return out


@flawed(0.0, 1.0)
def put_mask(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=3)
    np.putmask(out, [True, False, False], x)  # flaw
    return out


@flawed(0.0, 1.0)
def fill_diagonal(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=(2, 2))
    np.fill_diagonal(out, x)  # flaw
    return out


@flawed(0.0, 1.0)
def filled(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=2)
    out.fill(x)  # flaw
    return out


@flawed([0.0, 0.0], [1.0, 0.0])
def cumsum_into(v: Any, rng: Any) -> Out:
    buffer = np.zeros(2)
    (np.asarray(v) + rng.laplace(scale=0.1, size=2)).cumsum(out=buffer)  # flaw
    return buffer


@flawed([0.0, 0.0], [1.0, 0.0])
def sum_into(v: Any, rng: Any) -> Out:
    buffer = np.zeros(())
    np.sum(np.asarray(v) + rng.laplace(scale=0.1, size=2), out=buffer)  # flaw
    return float(buffer)


@flawed([0.0, 0.0], [1.0, 0.0])
def add_into(v: Any, rng: Any) -> Out:
    buffer = np.zeros(2)
    np.add(np.asarray(v), rng.laplace(scale=0.1, size=2), out=buffer)  # flaw
    return buffer


@flawed([0.0, 0.0], [1.0, 0.0])
def add_into_the_noise(v: Any, rng: Any) -> Out:
    noise = rng.laplace(scale=0.1, size=2)
    np.add(np.asarray(v), noise, out=noise)  # flaw
    return noise


@flawed(0.0, 1.0)
def copy_changed_not_the_release(x: Any, rng: Any) -> Out:
    out = x + rng.laplace(scale=0.1, size=2)  # flaw
    other = np.array(out)
    other[:] = 0.0
    return out


@honest([0.0, 1.0], [1.0, 0.0])
def sorted_in_place(v: Any, rng: Any) -> Out:
    out = np.asarray(v) + rng.laplace(size=2)
    out.sort()  # the same law on both sides
    return out


@honest([0.0, 5.0], [1.0, 5.0], 0.01)
def overwritten_through_a_view(v: Any, rng: Any) -> Out:
    out = np.asarray(v) + rng.laplace(size=2)
    head = out[:1]
    head[0] = 0.0
    return out


@honest([0.0, 5.0], [1.0, 5.0], GaussianDP(mu=0.01))
def sum_of_a_part_by_where(v: Any, rng: Any) -> Out:
    return (np.asarray(v) + rng.normal(size=2)).sum(where=np.array([False, True]))


@honest([0.0, 5.0], [1.0, 5.0], GaussianDP(mu=0.01))
def reduced_by_where(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.normal(size=2)
    return np.add.reduce(noisy, where=np.array([False, True]))


@flawed([0.0, 0.0], [1.0, 0.0])
def sum_with_data_as_initial(v: Any, rng: Any) -> Out:
    return rng.laplace(scale=0.1, size=2).sum(initial=v[0])


@honest([[0.0, 5.0], [2.0, 2.0]], [[1.0, 6.0], [2.0, 2.0]], GaussianDP(mu=0.01))
def centered_rows(m: Any, rng: Any) -> Out:
    noisy = np.asarray(m) + rng.normal(size=(2, 2))
    return noisy - noisy.mean(axis=1, keepdims=True)  # a shift of the row cancels


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def out_plus_equals_noise(v: Any, rng: Any) -> Out:
    out = np.array(v)
    out += rng.laplace(size=2)
    return out


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def assigned_into_an_array(v: Any, rng: Any) -> Out:
    out = np.empty(2)
    for i, value in enumerate(v):
        out[i] = value + rng.laplace()
    return out


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def structured_array(v: Any, rng: Any) -> Out:
    out = np.zeros(2, dtype=[("n", "i4"), ("value", "f8")])
    out["value"] = np.asarray(v) + rng.laplace(size=2)
    return out


@flawed([0.0, 0.0], [1.0, 0.0])
def structured_array_with_data(v: Any, rng: Any) -> Out:
    out = np.zeros(2, dtype=[("n", "i4"), ("value", "f8")])
    out["value"] = np.asarray(v) + rng.laplace(size=2)
    out["n"] = v  # flaw
    return out  # also: a record stands in the output as it is


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def part_added_in_place(v: Any, rng: Any) -> Out:
    out = rng.laplace(size=4)
    out[1:3] += np.asarray(v)
    return out


@honest(0.0, 1.0, quiet=True, exact=1.0)
def view_sees_what_is_written(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=4)
    middle = out[1:3]
    out[1] += x
    return middle


@honest(0.0, 1.0, quiet=True, exact=1.0)
def array_without_axes(x: Any, rng: Any) -> Out:
    out = np.asarray(rng.laplace())
    same = out
    same += x
    return out


@honest(0.0, 1.0, quiet=True)
def copy_of_a_transposed_array(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=(2, 3))
    out.T.reshape(-1)[0] = x  # reshape has to copy: nothing is written to the release
    return out


@flawed(0.0, 1.0)
def transposed_view_added_to(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=(2, 2))
    columns = out.T
    columns[0] += x  # flaw: two numbers: ε = 2
    return out


@flawed(0.0, 1.0)
def written_by_an_iterator(x: Any, rng: Any) -> Out:
    out = rng.laplace(size=3)
    cells: Any = np.nditer(out, op_flags=["readwrite"])
    for cell in cells:
        cell[...] = x  # flaw
    return out


@flawed(0.0, 1.0)
def view_by_its_method(x: Any, rng: Any) -> Out:
    out = rng.laplace(scale=0.1, size=3)
    other = out.view()
    other += x  # flaw
    return out


# Noise that is chosen by data.


@flawed(0, 1)
def noise_chosen_by_data(n: Any, rng: Any) -> Out:
    z = rng.laplace(size=2)
    return float(z[n]), float(z[0])  # flaw: equal on the left


@flawed(0, 1)
def noise_chosen_by_data_at_once(n: Any, rng: Any) -> Out:
    return rng.laplace(size=2)[[n, 0]]


@flawed(0, 1)
def compared_noise_chosen_by_data(n: Any, rng: Any) -> Out:
    z = rng.laplace(size=2)
    return bool(z[n] > 0), float(z[0])  # flaw: the sign of the other on the left


@flawed(0, 1)
def function_of_noise_chosen_by_data(n: Any, rng: Any) -> Out:
    z = rng.laplace(size=2)
    return float(np.exp(z)[n]), float(z[0])  # flaw


@honest(0, 1, quiet=True)
def noise_reordered_by_data(n: Any, rng: Any) -> Out:
    return rng.laplace(size=2)[[n, 1 - n]]  # independent, and of one law


# Noise that is shared between choices and comparisons.


@flawed([0.0] * 10, [1.0] * 10)
def best_and_whether_it_is_high(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.laplace(size=10)  # also: told by more than its place
    best = int(np.argmax(noisy))
    return best, bool(noisy[best] > -3.0)  # P(not) is smaller by e^-10 on the right  # flaw


@flawed([0.0] * 10, [1.0] * 10)
def high_and_then_best(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.laplace(size=10)
    return (
        bool(noisy[0] > -3.0),  # flaw
        int(np.argmax(noisy)),  # also: of numbers that were compared
        bool(noisy[5] > -3.0),  # flaw
    )  # e^2 for (no, ., no)


@honest([3.0, 1.0, 0.0], [4.0, 1.0, 0.0], quiet=True)
def best_by_argmax(v: Any, rng: Any) -> Out:
    return int(np.argmax(np.asarray(v) + rng.laplace(scale=2.0, size=3)))


@honest([3.0, 1.0, 0.0], [4.0, 1.0, 0.0], quiet=True)
def best_by_gumbel(v: Any, rng: Any) -> Out:
    return int(np.argmax(np.asarray(v) + rng.gumbel(scale=2.0, size=3)))


@flawed([0.0, 0.0], [0.0, 9.0])
def best_by_gumbel_too_small(v: Any, rng: Any) -> Out:
    return int(np.argmax(np.asarray(v) + rng.gumbel(scale=0.5, size=2)))


@flawed([3.0, 1.0], [4.0, 1.0], 0.9)
def best_with_its_value(v: Any, rng: Any) -> Out:
    noisy = np.asarray(v) + rng.laplace(size=2)  # flaw
    best = int(np.argmax(noisy))
    return best, float(noisy[best])


@honest([3.0, 1.0], [4.0, 1.0])
def best_by_max_builtin(v: Any, rng: Any) -> Out:
    noisy = [value + rng.laplace() for value in v]
    return noisy.index(max(noisy))


@honest([3.0, 1.0, 2.0], [4.0, 1.0, 2.0])
def two_best_by_heap(v: Any, rng: Any) -> Out:
    noisy = [(value + rng.laplace(), i) for i, value in enumerate(v)]
    return [i for _, i in heapq.nlargest(2, noisy)]


@honest([3.0, 1.0, 2.0], [4.0, 1.0, 2.0])
def order_by_argsort(v: Any, rng: Any) -> Out:
    return np.argsort(np.asarray(v) + rng.laplace(size=3)).tolist()


@honest([3.0, 1.0], [4.0, 1.0])
def ties_go_left(v: Any, rng: Any) -> Out:
    a, b = v[0] + rng.laplace(), v[1] + rng.laplace()
    return "a" if a >= b else "b"


@flawed([3.0, 1.0], [4.0, 1.0])
def ties_are_told_by_data(v: Any, rng: Any) -> Out:
    a, b = v[0] + rng.laplace(), v[1] + rng.laplace()
    return ("a" if a >= b else "b", v[0] > 3.5)  # flaw


@honest(0.0, 1.0)
def between_two_bounds(x: Any, rng: Any) -> Out:
    y = x + rng.laplace()
    return -1.0 < y < 2.0


@flawed(0.0, 1.0)
def compared_with_ten_cuts(x: Any, rng: Any) -> Out:
    y = x + rng.laplace(scale=0.2)  # flaw
    return [y > t for t in np.linspace(-1, 1, 11)]


@flawed(0.0, 1.0)
def one_comparison_each_with_fresh_noise(x: Any, rng: Any) -> Out:
    return [bool(x + rng.laplace() > 3.0) for _ in range(20)]


@flawed([0.0] * 8, [1.0] * 8)
def sparse_vector_without_noise_on_the_answers(v: Any, rng: Any) -> Out:
    cut = 0.5 + rng.laplace(scale=1.0)  # also: the only noise there is
    return [bool(value >= cut) for value in v] + [bool(-value >= cut) for value in v[:1]]  # flaw


@flawed([0.0] * 30, [1.0] * 30)
def sparse_vector_noise_on_answers_only(v: Any, rng: Any) -> Out:
    return [bool(value + rng.laplace(scale=4.0) > 0.5) for value in v]  # 30 coins of about 1/4 each


@honest([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
def sparse_vector(v: Any, rng: Any) -> Out:
    cut = 0.5 + rng.laplace(scale=2.0)
    for i, value in enumerate(v):
        if value + rng.laplace(scale=4.0) >= cut:
            return i
    return None


@honest([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
def sparse_vector_float_cut(v: Any, rng: Any) -> Out:
    cut = float(0.5 + rng.laplace(scale=2.0))
    for i, value in enumerate(v):
        if value + rng.laplace(scale=4.0) >= cut:
            return i
    return None


# Noise that is cut, and added to other noise.


@flawed(0.0, 1.0)
def truncated_noise_plus_a_little(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    while z > 0.25 or z < -0.25:  # flaw
        z = rng.laplace()
    return x + z + rng.laplace(scale=1e-3)  # also: the release that it spoils


@flawed(0.0, 1.0)
def truncated_by_rejection(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    while abs(z) > 0.25:  # flaw
        z = rng.laplace()
    return x + z  # also: the release that it spoils


@flawed(0.0, 1.0)
def positive_noise_only(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    while z < 0:  # flaw
        z = rng.laplace()
    return x + z  # also: the release that it spoils


@honest(0.0, 1.0, ApproxDP(epsilon=1.0, delta=0.01))
def truncated_far_out(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    while not -8 < z < 8:
        z = rng.laplace()
    return x + z


@flawed(0.0, 1.0)
def accepted_by_data(x: Any, rng: Any) -> Out:
    while True:
        y = x + rng.laplace()  # also: the release that it spoils
        if x <= y:  # flaw
            return y


@honest(0.0, 1.0)
def accepted_by_value(x: Any, rng: Any) -> Out:
    while True:
        y = x + rng.laplace(scale=2.0)  # conditioned on |y| < 5 costs at most twice
        if -5 < y < 5:
            return y


# Noise made by hand.


@honest(0.0, 1.0, exact=1.0, quiet=True)
def difference_of_exponentials(x: Any, rng: Any) -> Out:
    return x + rng.exponential() - rng.exponential()


@flawed(0.0, 1.0)
def sum_of_exponentials(x: Any, rng: Any) -> Out:
    return x + rng.exponential() + rng.exponential()


@flawed(1.0, 0.0)
def difference_of_unequal_exponentials_downwards(x: Any, rng: Any) -> Out:
    # To be 1 higher costs 1, to be 1 lower costs 10: P(out < 0) differs by more than e.
    return x + rng.exponential(1.0) - rng.exponential(0.1)  # flaw


@flawed(0.0, 1.0)
def difference_of_unequal_exponentials(x: Any, rng: Any) -> Out:
    return x + rng.exponential(1.0) - rng.exponential(0.1)


@honest(0.0, 1.0)
def inverse_cdf(x: Any, rng: Any) -> Out:
    u = rng.random() - 0.5
    return x - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


@flawed(0.0, 1.0)
def inverse_cdf_half_scale(x: Any, rng: Any) -> Out:
    u = rng.random() - 0.5
    return x - 0.3 * math.copysign(1.0, u) * math.log(1 - 2 * abs(u))  # flaw


@honest(0.0, 1.0)
def inverse_cdf_numpy(x: Any, rng: Any) -> Out:
    u = rng.uniform(-0.5, 0.5, size=1)
    return x - np.sign(u) * np.log(1 - 2 * np.abs(u))


@honest(0.0, 1.0, GaussianDP(mu=1.0))
def box_muller(x: Any, rng: Any) -> Out:
    u, v = rng.random(), rng.random()
    return x + math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)


@honest(0.0, 1.0)
def sign_times_exponential(x: Any, rng: Any) -> Out:
    return x + (1 if rng.random() < 0.5 else -1) * rng.exponential()


@flawed(0.0, 1.0)
def choice_of_sign_times_small_exponential(x: Any, rng: Any) -> Out:
    return x + rng.choice([-1, 1]) * rng.exponential(0.2)


@honest(0, 1, 1.1)
def geometric_by_inverse_cdf(n: Any, rng: Any) -> Out:
    a, b = rng.random(2)
    k, m = (math.floor(math.log(1 - u) / math.log(1 / 3)) for u in (a, b))
    return n + k - m


@honest(0, 1, 1.0986122886681098, exact=1.0986122886681098, quiet=True)
def geometric_difference(n: Any, rng: Any) -> Out:
    return n + rng.geometric(2 / 3) - rng.geometric(2 / 3)


@flawed(0, 1, 1.0)
def geometric_difference_claimed_less(n: Any, rng: Any) -> Out:
    return n + rng.geometric(2 / 3) - rng.geometric(2 / 3)


@flawed(0, 1)
def one_sided_geometric(n: Any, rng: Any) -> Out:
    return n + rng.geometric(0.5)


@honest(0.0, 1.0, 0.5)
def student_noise(x: Any, rng: Any) -> Out:
    return x + 40.0 * rng.standard_t(3)


@flawed(0.0, 1.0)
def rounded_noise(x: Any, rng: Any) -> Out:
    return x / 2 + round(rng.laplace(scale=10.0))  # the fraction tells


@honest(0, 1, quiet=True)
def release_rounded(n: Any, rng: Any) -> Out:
    return round(n + rng.laplace())


@honest(0.0, 1.0)
def ratio_of_releases(x: Any, rng: Any) -> Out:
    return (x + rng.laplace()) / (10.0 + rng.laplace())


@flawed(1.0, 5.0)
def ratio_to_a_private_normalizer(x: Any, rng: Any) -> Out:
    return (1.0 + rng.laplace()) / x


@flawed(1.0, 5.0)
def noise_times_data(x: Any, rng: Any) -> Out:
    return x * rng.laplace()


@flawed([1.0, 0.0], [1.0, 1.0])
def noise_through_a_data_matrix(v: Any, rng: Any) -> Out:
    return np.array([v, [0.0, 1.0]]) @ rng.laplace(size=2)


@flawed([1.0, 0.0], [0.0, 1.0])
def einsum_of_data_and_noise(v: Any, rng: Any) -> Out:
    return np.einsum("i,i->i", np.asarray(v), rng.laplace(size=2))


@honest([0.0, 0.0], [1.0, 0.0], quiet=True)
def einsum_after_noise(v: Any, rng: Any) -> Out:
    return np.einsum("i->", np.asarray(v) + rng.laplace(size=2))


@honest([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], exact=1.0, quiet=True)
def reversed_release(v: Any, rng: Any) -> Out:
    return (np.asarray(v) + rng.laplace(size=3))[::-1]


@honest(np.zeros((3, 2)), np.eye(3, 2)[:, ::-1] * [[0, 1], [0, 0], [0, 0]], quiet=True, exact=1.0)
def transposed_release(m: Any, rng: Any) -> Out:
    return (m + rng.laplace(size=(3, 2))).T


@honest([0.0] * 4, [1.0, 0.0, 0.0, 0.0], 2.0)
def prefix_sums(v: Any, rng: Any) -> Out:
    return np.cumsum(np.asarray(v) + rng.laplace(size=4))  # one-to-one: ε = 1


@honest([0.0] * 4, [1.0, 0.0, 0.0, 0.0], quiet=True, exact=1.0)
def prefix_sums_exact(v: Any, rng: Any) -> Out:
    return np.cumsum(np.asarray(v) + rng.laplace(size=4))


@flawed([0.0] * 4, [1.0, 0.0, 0.0, 0.0])
def noise_on_prefix_sums(v: Any, rng: Any) -> Out:
    return np.cumsum(np.asarray(v)) + rng.laplace(size=4)  # ε = 4


@flawed([0.0] * 4, [1.0, 0.0, 0.0, 0.0])
def one_noise_for_all(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.laplace()


@honest([0.0] * 3, [1.0] * 3, quiet=True, exact=1.0)
def one_noise_for_all_that_move_together(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.laplace()  # one number, three times


@flawed(0.0, 1.0)
def noise_and_release(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    return x + z, z  # flaw


@flawed(0.0, 1.0)
def opposite_noise(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    return x + z, x - z  # flaw: the mean is x


@honest(0.0, 1.0, quiet=True, exact=1.0)
def release_twice_the_same(x: Any, rng: Any) -> Out:
    y = x + rng.laplace()
    return y, y, 2 * y


@flawed(0.0, 1.0)
def released_twice_afresh(x: Any, rng: Any) -> Out:
    return [x + rng.laplace() for _ in range(2)]


@honest(0.0, 1.0, GaussianDP(mu=1.0), exact=None, quiet=True)
def sum_of_two_normals(x: Any, rng: Any) -> Out:
    return x + rng.normal(scale=0.6) + rng.normal(scale=0.8)


@flawed(0.0, 1.0, GaussianDP(mu=0.99))
def sum_of_two_normals_claimed_less(x: Any, rng: Any) -> Out:
    return x + rng.normal(scale=0.6) + rng.normal(scale=0.8)


@flawed([0.0, 0.0], [1.0, 1.0], GaussianDP(mu=1.0))
def correlated_normals(v: Any, rng: Any) -> Out:
    # (1, 1) against covariance [[1, -.9], [-.9, 1]]: μ² = 2/0.1
    return rng.multivariate_normal(v, [[1.0, -0.9], [-0.9, 1.0]])  # flaw


@honest([0.0, 0.0], [1.0, 1.0], GaussianDP(mu=1.03), quiet=True)
def correlated_normals_that_help(v: Any, rng: Any) -> Out:
    return rng.multivariate_normal(v, [[1.0, 0.9], [0.9, 1.0]])  # μ² = 2/1.9 = 1.0526


@flawed(0.0, 1.0, GaussianDP(mu=0.5))
def projected_normals(x: Any, rng: Any) -> Out:
    noisy = np.array([x, 0.0]) + rng.normal(size=2)  # flaw
    return noisy @ np.array([[1.0, 0.0], [1.0, 1.0]])


@flawed(0, 1)
def sum_of_geometrics(n: Any, rng: Any) -> Out:
    return n + rng.geometric(0.5) + rng.geometric(0.5)  # never 2 on the right


@flawed(1.0, 0.0)
def mean_of_exponentials(x: Any, rng: Any) -> Out:
    return x + rng.exponential(size=5).mean()  # never below 1 on the left


@honest(0.0, 1.0, ApproxDP(epsilon=1.0, delta=0.2), exact=1.0, delta=0.12693673750664397)
def normal_noise(x: Any, rng: Any) -> Out:
    return x + rng.normal()  # δ(1) = Φ(−1/2) − e·Φ(−3/2)


@honest(0.0, 1.0, ApproxDP(epsilon=1.0, delta=0.4), exact=1.0, delta=1 - math.exp(-0.5))
def laplace_of_half_the_scale(x: Any, rng: Any) -> Out:
    return x + rng.laplace(scale=0.5)  # δ(1) = 1 − e^((1 − 2)/2)


@honest(0.0, 1.0, quiet=True, exact=1.0)
def logistic_noise(x: Any, rng: Any) -> Out:
    return x + rng.logistic()


@honest(0.0, 1.0, quiet=True, exact=2 * math.asinh(0.5))
def cauchy_noise(x: Any, rng: Any) -> Out:
    return x + rng.standard_cauchy()


@honest(0.0, 0.25, ApproxDP(epsilon=0.0, delta=0.25), quiet=True)
def uniform_noise(x: Any, rng: Any) -> Out:
    return x + rng.random()  # δ is the part that does not overlap


@flawed(0.0, 0.25, ApproxDP(epsilon=3.0, delta=0.24))
def uniform_noise_claimed_less(x: Any, rng: Any) -> Out:
    return x + rng.random()


@flawed(0, 1, ApproxDP(epsilon=3.0, delta=0.09))
def whole_noise(n: Any, rng: Any) -> Out:
    return n + int(rng.integers(10))  # δ = 1/10


@honest([0.0] * 20, [0.1] * 20, 2.0, quiet=True, exact=2.0)
def long_vector(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.laplace(size=20)


@flawed([0.0] * 20, [0.1] * 20, 1.99)
def long_vector_claimed_less(v: Any, rng: Any) -> Out:
    return np.asarray(v) + rng.laplace(size=20)


@honest(0.0, 1.0, GaussianDP(mu=1.0), quiet=True)
def averaged_normals(x: Any, rng: Any) -> Out:
    return x + rng.normal(scale=2.0, size=4).mean()  # σ = 1


@flawed(0.0, 1.0, GaussianDP(mu=1.0))
def averaged_more_normals(x: Any, rng: Any) -> Out:
    return x + rng.normal(scale=2.0, size=16).mean()  # σ = 1/2


@flawed(0.0, 1.0, GaussianDP(mu=1.0))
def averaged_releases(x: Any, rng: Any) -> Out:
    return np.mean([x + rng.normal(scale=2.0) for _ in range(16)])


@honest(0.0, 1.0, quiet=True)
def weighted_sum_with_zero(x: Any, rng: Any) -> Out:
    return 0 * (x + rng.laplace(scale=1e-6))


@flawed(0.0, 1.0)
def noise_that_cancels(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    return (x + z) - z  # flaw


@flawed(0.0, 1.0)
def array_noise_that_cancels(x: Any, rng: Any) -> Out:
    z = rng.laplace(size=2)
    return ((x + z) - z)[0]  # flaw


@flawed(0.0, 1.0)
def noise_of_scale_zero(x: Any, rng: Any) -> Out:
    return x + rng.laplace(scale=0.0)


@flawed(0.0, 1.0)
def noise_masked_out(x: Any, rng: Any) -> Out:
    return np.where([True, False], x, x + rng.laplace(size=2))


@flawed(0.0, 1.0)
def noise_lost_in_a_cast(x: Any, rng: Any) -> Out:
    out = np.zeros(1, dtype=np.int64)
    out[0] = rng.laplace(scale=0.001)  # flaw
    return out + int(x)  # also: added to what is left of it


@flawed([1, 0], [1, 1])
def dot_with_data_after_noise(v: Any, rng: Any) -> Out:
    return np.dot(np.asarray(v), np.array([1.0, 5.0]) + rng.laplace(scale=0.01, size=2))


# Parameters of other laws.


@flawed(0, 100)
def integers_from_arrays(n: Any, rng: Any) -> Out:
    return rng.integers([n, n], [n + 2, n + 2])


@flawed(0, 5)
def integers_of_a_wide_range(n: Any, rng: Any) -> Out:
    return rng.integers(n * 2**60, n * 2**60 + 2**53)


@flawed([1.0] * 2000, [1.0] * 1000 + [50.0] + [1.0] * 999)
def poisson_of_many(v: Any, rng: Any) -> Out:
    return rng.poisson(np.asarray(v))


@flawed([5] * 2000, [5] * 1000 + [500] + [5] * 999)
def binomial_of_many(v: Any, rng: Any) -> Out:
    return rng.binomial(np.asarray(v), 0.5)


@flawed([1e10, 1.0], [1e10 + 1, 1.0])
def poisson_of_a_large_rate(v: Any, rng: Any) -> Out:
    return rng.poisson(np.asarray(v))  # no pure claim holds


@flawed([1, 1], [1, 1, 1])
def chosen_as_often_as_there_are_records(v: Any, rng: Any) -> Out:
    return rng.choice(3, size=len(v), p=[0.2, 0.3, 0.5])


@flawed([0.5, 0.5], [0.01, 0.99])
def choice_by_data(p: Any, rng: Any) -> Out:
    return int(rng.choice(2, p=p))


@honest([0.5, 0.5], [0.4, 0.6], quiet=True, exact=math.log(1.25))
def choice_by_mild_data(p: Any, rng: Any) -> Out:
    return int(rng.choice(2, p=p))


@flawed([0.5, 0.5], [0.4, 0.6])
def choices_many_times(p: Any, rng: Any) -> Out:
    return rng.choice(2, p=p, size=10).tolist()


@flawed(["a", "b"], ["a", "c"])
def choice_among_data(v: Any, rng: Any) -> Out:
    return rng.choice(v)


@flawed([1, 2, 3], [1, 2, 4])
def permuted_data(v: Any, rng: Any) -> Out:
    return rng.permutation(v).tolist()


@honest([1, 2, 3], [3, 2, 1])
def permuted_data_that_is_the_same(v: Any, rng: Any) -> Out:
    return rng.permutation(v).tolist()


@flawed([1, 2, 3], [1, 2, 4])
def shuffled_data(v: Any, rng: Any) -> Out:
    v = list(v)
    rng.shuffle(v)  # flaw
    return v


@flawed(0.5, 0.01)
def binomial_with_private_probability(p: Any, rng: Any) -> Out:
    return int(rng.binomial(1, p))


@flawed([0.2, 0.8], [0.8, 0.2])
def multinomial_of_data(p: Any, rng: Any) -> Out:
    return rng.multinomial(50, p).tolist()


@flawed([1.0, 1.0], [9.0, 1.0])
def dirichlet_of_data(p: Any, rng: Any) -> Out:
    return rng.dirichlet(p).tolist()


@flawed(1.0, 3.0)
def exponential_of_data(x: Any, rng: Any) -> Out:
    return rng.exponential(x)


@flawed(1.0, 5.0)
def laplace_of_data_scale(x: Any, rng: Any) -> Out:
    return rng.laplace(0.0, x)


@flawed(2, 5)
def sum_of_as_many_draws_as_records(n: Any, rng: Any) -> Out:
    return float(sum(rng.laplace(scale=0.01) for _ in range(n))) + n


@flawed(0, 2000)
def as_many_draws_as_records(n: Any, rng: Any) -> Out:
    return rng.laplace(size=n).sum()


# Where the generator comes from.

GLOBAL = np.random.default_rng(11)
_COUNT = [0]


@honest(0.0, 1.0)
def noise_of_a_global_generator_alone(x: Any, rng: Any) -> Out:
    return x + GLOBAL.laplace(scale=2.0)


@honest(0.0, 0.0, 0.01)
def number_of_the_call(x: Any, rng: Any) -> Out:
    _COUNT[0] += 1
    return 5 * _COUNT[0] + x + rng.laplace()


@honest(0, 0, 0.01)
def coin_and_number_of_the_call(bit: Any, rng: Any) -> Out:
    _COUNT[0] += 1
    return _COUNT[0], rng.random() < 0.5


@honest(0.0, 1.0, quiet=True, exact=1.0)
def legacy_functions(x: Any, rng: Any) -> Out:
    return x + np.random.laplace()


@honest(0.0, 1.0, quiet=True, exact=1.0)
def children(x: Any, rng: Any) -> Out:
    (child,) = rng.spawn(1)
    return x + child.laplace()


@honest(0.0, 1.0)
def generator_from_bits(x: Any, rng: Any) -> Out:
    return x + np.random.Generator(rng.bit_generator).laplace()


@honest(0.0, 1.0)
def generator_copied(x: Any, rng: Any) -> Out:
    return x + copy.deepcopy(rng).laplace()


@flawed(0.0, 1.0)
def generator_copied_and_noise_told(x: Any, rng: Any) -> Out:
    other = copy.deepcopy(rng)  # flaw
    return x + rng.laplace(), other.laplace()


@honest(0.0, 1.0)
def generator_pickled(x: Any, rng: Any) -> Out:
    return x + pickle.loads(pickle.dumps(rng)).laplace()  # noqa: S301


@flawed(0.0, 1.0)
def state_set_back(x: Any, rng: Any) -> Out:
    state = rng.bit_generator.state
    noisy = x + rng.laplace(scale=2.0)
    rng.bit_generator.state = state  # flaw
    return noisy, 7.0 + rng.laplace(scale=2.0)  # the same noise: the difference is x − 7


@flawed(0.0, 1.0)
def seeded_by_few_seeds(x: Any, rng: Any) -> Out:
    other = np.random.default_rng(int(rng.integers(1000)))  # flaw
    return x + other.laplace()  # a thousand outputs a side, all known beforehand


@flawed(0.0, 1.0)
def seeded_twice_alike(x: Any, rng: Any) -> Out:
    seed = int(rng.integers(2**32))
    np.random.seed(seed)
    one = x + np.random.laplace(scale=2.0)
    np.random.seed(seed)  # flaw
    return one, 7.0 + np.random.laplace(scale=2.0)


@flawed(0.0, 1.0)
def seeded_by_a_constant(x: Any, rng: Any) -> Out:
    return x + np.random.default_rng(7).laplace()


@flawed(0, 1)
def seeded_by_data(n: Any, rng: Any) -> Out:
    return np.random.RandomState(n).laplace()


@honest(0.0, 1.0)
def seeded_by_noise(x: Any, rng: Any) -> Out:
    return x + np.random.default_rng(int(rng.integers(2**62))).laplace()


@honest(0.0, 1.0)
def python_random(x: Any, rng: Any) -> Out:
    return x + random.expovariate(1.0) - random.expovariate(1.0)


@honest(0, 1, 1.0987)
def secret_coin(bit: Any, rng: Any) -> Out:
    return bit if secrets.randbelow(4) else 1 - bit


@flawed(0, 1, 1.0)
def secret_coin_claimed_less(bit: Any, rng: Any) -> Out:
    return bit if secrets.randbelow(4) else 1 - bit


@flawed(0, 1)
def secret_token(bit: Any, rng: Any) -> Out:
    return bit, secrets.token_hex(4)


@honest(0.0, 1.0)
def drawn_in_a_thread(x: Any, rng: Any) -> Out:
    out: list[Any] = []
    worker = threading.Thread(target=lambda: out.append(x + rng.laplace()))
    worker.start()
    worker.join()
    return float(out[0])


@honest(0.0, 1.0, quiet=True, exact=1.0)
def cached_noise(x: Any, rng: Any) -> Out:
    @functools.cache
    def noise(_: int) -> Any:
        return rng.laplace()

    return x + noise(1)


@flawed(0.0, 1.0)
def cached_noise_told(x: Any, rng: Any) -> Out:
    @functools.cache
    def noise(_: int) -> Any:
        return rng.laplace()

    return x + noise(1), 2.0 * noise(1)  # flaw


# What an output consists of.

Point = namedtuple("Point", "x y")  # noqa: PYI024


class Tagged(dict):  # type: ignore[type-arg]
    """A dict with something besides."""


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Half(Slotted):
    """Slots and a dict."""


class Number(float):
    """A float with something besides."""


@flawed(0.0, 1.0)
def attribute_of_a_dict(x: Any, rng: Any) -> Out:
    out = Tagged(value=x + rng.laplace())
    out.exact = x  # type: ignore[attr-defined]  # flaw
    return out  # also: the value of the data itself


@flawed(0.0, 1.0)
def attribute_of_a_float(x: Any, rng: Any) -> Out:
    out = Number(x + rng.laplace())
    out.exact = x  # type: ignore[attr-defined]  # flaw
    return out  # also: the value of the data itself


@flawed(0.0, 1.0)
def slot_of_an_object(x: Any, rng: Any) -> Out:
    return Slotted(x)


@flawed(0.0, 1.0)
def slot_of_an_object_with_a_dict(x: Any, rng: Any) -> Out:
    out = Half(x)  # flaw
    out.noisy = x + rng.laplace()  # type: ignore[attr-defined]
    return out  # also: the value of the data itself


@flawed([0.0, 1.0], [1.0, 0.0])
def mask_of_an_array(v: Any, rng: Any) -> Out:
    return np.ma.array(np.zeros(2), mask=np.asarray(v) > 0.5)


@flawed([3, 1], [1, 3])
def order_of_columns(v: Any, rng: Any) -> Out:
    names = [name for _, name in sorted(zip(v, "ab", strict=True))]  # flaw
    return pd.DataFrame({name: [0.0] for name in names})


@flawed([0.0, 1.0], [1.0, 0.0])
def categories_of_a_series(v: Any, rng: Any) -> Out:
    names = [str(value) for value in v]  # flaw
    return pd.Categorical(["0.0"], categories=names)


@flawed(1, 300)
def type_of_an_array(n: Any, rng: Any) -> Out:
    return np.zeros(2, dtype=np.min_scalar_type(n))


@flawed(0.0, 1.0)
def generator_of_data(x: Any, rng: Any) -> Out:
    return (value for value in [x])


@flawed(0.0, 1.0)
def closure_over_data(x: Any, rng: Any) -> Out:
    return lambda: x


@flawed(0.0, 1.0)
def lazy_releases(x: Any, rng: Any) -> Out:
    return (x + rng.laplace(scale=0.1) for _ in range(3))


@flawed(0.0, 1.0)
def lazy_map(x: Any, rng: Any) -> Out:
    return map(lambda z: x + z, [0.0])  # noqa: C417


@flawed(0.0, 1.0)
def attributes_of_a_frame(x: Any, rng: Any) -> Out:
    out = pd.DataFrame({"a": [1]})
    out.attrs["exact"] = x  # flaw
    return out  # also: the value of the data itself


@flawed(0.0, 1.0)
def name_of_an_index(x: Any, rng: Any) -> Out:
    return pd.DataFrame({"a": [1]}, index=pd.Index([0], name=f"n = {x}"))


@flawed(0.0, 1.0)
def list_or_tuple(x: Any, rng: Any) -> Out:
    return (1,) if x else [1]


@flawed(0, 3)
def range_of_data(n: Any, rng: Any) -> Out:
    return range(n)


@flawed(b"a", b"b")
def bytes_of_data(n: Any, rng: Any) -> Out:
    return bytearray(n)


@flawed(0.0, 1.0)
def partial_of_data(x: Any, rng: Any) -> Out:
    return functools.partial(round, x)


@flawed(0.0, 1.0)
def complex_number(x: Any, rng: Any) -> Out:
    return complex(0.0, x)


@flawed(0.0, 1.0)
def fraction_of_data(x: Any, rng: Any) -> Out:
    return Fraction(x)


@flawed({"a": 1, "b": 2}, {"b": 2, "a": 1})
def order_of_keys(d: Any, rng: Any) -> Out:
    return {key: value + rng.laplace() for key, value in d.items()}


@flawed({"a": 1}, {"a": 1, "b": 1})
def counter_of_what_is_there(d: Any, rng: Any) -> Out:
    return Counter({key: value + float(rng.laplace()) for key, value in d.items()})


@honest([0.0, 1.0], [1.0, 0.0])
def set_of_releases(v: Any, rng: Any) -> Out:
    return {v[0] + rng.laplace(), v[1] + rng.laplace()}  # the same law on both sides


@honest([0.0, 1.0], [1.0, 0.0])
def sorted_releases(v: Any, rng: Any) -> Out:
    return sorted([v[0] + rng.laplace(), v[1] + rng.laplace()])


@honest([0.0, 1.0], [1.0, 0.0])
def numpy_sorted_releases(v: Any, rng: Any) -> Out:
    return np.sort(np.asarray(v) + rng.laplace(size=2))


@honest(0.0, 1.0, quiet=True, exact=1.0)
def named_tuple(x: Any, rng: Any) -> Out:
    return Point(x + rng.laplace(), 3)


@honest(0.0, 1.0, quiet=True, exact=1.0)
def ordered_dict(x: Any, rng: Any) -> Out:
    return OrderedDict(a=x + rng.laplace(), b=None)


@honest(0.0, 1.0, quiet=True, exact=1.0)
def text(x: Any, rng: Any) -> Out:
    return f"{x + rng.laplace():.3f}"


@honest(0.0, 1.0, quiet=True, exact=1.0)
def json_text(x: Any, rng: Any) -> Out:
    return json.dumps({"value": x + rng.laplace()})


@flawed(0.0, 1.0)
def json_text_with_data(x: Any, rng: Any) -> Out:
    return json.dumps({"value": x + rng.laplace(), "n": x})


@honest(0.0, 1.0, quiet=True, exact=1.0)
def decimal(x: Any, rng: Any) -> Out:
    return Decimal(float(x + rng.laplace())).quantize(Decimal("0.01"))


@honest(0.0, 1.0, quiet=True, exact=1.0)
def fraction(x: Any, rng: Any) -> Out:
    return Fraction(float(x + rng.laplace()))


@honest([0.0, 0.0], [1.0, 0.0], quiet=True)
def mean_of_releases(v: Any, rng: Any) -> Out:
    return statistics.mean([value + rng.laplace() for value in v])


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def series_of_releases(v: Any, rng: Any) -> Out:
    return pd.Series(np.asarray(v) + rng.laplace(size=2), name="noisy")


@honest([0.0, 0.0], [1.0, 0.0], quiet=True, exact=1.0)
def frame_with_a_noisy_column(v: Any, rng: Any) -> Out:
    frame = pd.DataFrame({"v": v})
    frame["noisy"] = frame["v"] + rng.laplace(size=2)
    return frame[["noisy"]]


@honest(["a", "b", "b"], ["a", "b"], quiet=True, exact=1.0)
def grouped_counts(v: Any, rng: Any) -> Out:
    sizes = pd.Series(v).groupby(pd.Series(v)).size().reindex(["a", "b"], fill_value=0)
    return (sizes + rng.laplace(size=2)).to_dict()


@flawed(["a", "b"], ["a", "c"])
def grouped_counts_of_what_is_there(v: Any, rng: Any) -> Out:
    sizes = pd.Series(v).value_counts()  # flaw
    return (sizes + rng.laplace(size=len(sizes))).to_dict()


@honest([0.1, 0.9], [0.1, 0.2], 2.0, quiet=True, exact=2.0)
def histogram(v: Any, rng: Any) -> Out:
    counts, _ = np.histogram(v, bins=[0.0, 0.5, 1.0])
    return counts + rng.laplace(size=2)


@flawed([0.1, 0.9], [0.1, 0.2], 2.0)
def histogram_with_edges_of_data(v: Any, rng: Any) -> Out:
    counts, edges = np.histogram(v, bins=2)  # flaw
    return counts + rng.laplace(size=2), edges.tolist()


@flawed(0.0, 1.0)
def noisy_key_exact_value(x: Any, rng: Any) -> Out:
    return {x + rng.laplace(): x}


@honest(0.0, 1.0, quiet=True)
def noise_looked_at_before(x: Any, rng: Any) -> Out:
    z = rng.laplace()
    if not math.isfinite(z):
        raise ValueError
    return x + z


# Large numbers: an exact difference may be small beside them.


@flawed(0, 1)
def large_count_small_noise(n: Any, rng: Any) -> Out:
    return 10.0**13 + n + rng.laplace(scale=0.1)


@flawed(0, 1)
def large_count_without_noise(n: Any, rng: Any) -> Out:
    return 10.0**13 + n


@flawed(1_700_000_000_000.0, 1_700_000_000_001.0)
def milliseconds(t: Any, rng: Any) -> Out:
    return t + rng.laplace(scale=0.2)


@flawed(10**13, 10**13 + 1)
def large_integer(n: Any, rng: Any) -> Out:
    return n


@flawed(float("nan"), 1.0)
def not_a_number(x: Any, rng: Any) -> Out:
    return x + rng.laplace()


@flawed(float("inf"), 1.0)
def infinite(x: Any, rng: Any) -> Out:
    return np.asarray([x]) + rng.laplace(size=1)


# Adaptive releases: δ pays for what rarely happens.


@honest(0.0, 1.0, ApproxDP(epsilon=1.0, delta=1e-3))
def rarely_much_more(x: Any, rng: Any) -> Out:
    first = float(x + rng.normal(scale=5.0))
    times = 50.0 if first > 55.0 else 1.0  # P < 1e-26; else μ = √2/5, δ(1) < 3e-4
    return first, float(times * x + rng.normal(scale=5.0))


@honest(0.0, 1.0, ApproxDP(epsilon=1.0, delta=1e-3))
def much_more_if_five_are_high(x: Any, rng: Any) -> Out:
    first = [float(0.1 * x + rng.normal(scale=5.0)) for _ in range(5)]
    times = 50.0 if min(first) > 7.5 else 1.0  # P < 0.07^5 = 2e-6; else μ = 0.205, δ(1) < 1e-6
    return first, float(times * x + rng.normal(scale=5.0))


@honest(0.0, 1.0, ZeroConcentratedDP(rho=0.5), quiet=True)
def chain(x: Any, rng: Any) -> Out:
    first = float(x + rng.normal(scale=math.sqrt(2.0)))
    return first, x - first + rng.normal(scale=math.sqrt(2.0))


@flawed(0.0, 1.0, ZeroConcentratedDP(rho=0.49))
def chain_claimed_less(x: Any, rng: Any) -> Out:
    first = float(x + rng.normal(scale=math.sqrt(2.0)))  # flaw
    return first, x - first + rng.normal(scale=math.sqrt(2.0))  # flaw


@flawed(0.0, 1.0)
def early_return(x: Any, rng: Any) -> Out:
    if x == 0.0:  # flaw
        return 0.0
    return x + rng.laplace()


@flawed(0.0, 1.0)
def raises_on_data(x: Any, rng: Any) -> Out:
    y = float(x + rng.laplace())
    if x > 0.5 and y > 0.0:  # flaw
        raise ValueError("odd")
    return y


@honest(0.0, 1.0)
def exception_caught(x: Any, rng: Any) -> Out:
    try:
        return math.log(float(x + rng.laplace()))
    except ValueError:
        return None


@flawed(0.0, 1.0)
def everything_caught(x: Any, rng: Any) -> Out:
    try:
        if x:
            rng.laplace() > 0  # noqa: B015
        return float(x + rng.laplace(scale=0.1))
    except BaseException:  # noqa: BLE001
        return 0.0


@honest(0.0, 1.0, quiet=True, exact=1.0)
def recursion(x: Any, rng: Any) -> Out:
    def down(n: int) -> Any:
        return x + rng.laplace() if n == 0 else 2 * down(n - 1)

    return down(4)


@flawed([1, 1, 1], [1, 1, 0])
def tree_with_one_level_paid(v: Any, rng: Any) -> Out:
    def node(part: Any) -> Any:
        here = sum(part) + rng.laplace(scale=1.0)  # flaw
        half = len(part) // 2
        return [here] if len(part) < 2 else [here, *node(part[:half]), *node(part[half:])]

    return node(list(v))


# Subsampling before noise.


@honest([0.0] * 4, [0.0, 0.0, 0.0, 1.0], 1.0)
def poisson_subsample(v: Any, rng: Any) -> Out:
    kept = [value for value in v if rng.random() < 0.5]
    return sum(kept) + rng.laplace(scale=1.0)  # amplified: ln(1 + (e − 1)/2) = 0.62


@flawed([0.0] * 4, [0.0, 0.0, 0.0, 1.0], 0.5)
def poisson_subsample_claimed_less(v: Any, rng: Any) -> Out:
    kept = [value for value in v if rng.random() < 0.5]
    return sum(kept) + rng.laplace(scale=1.0)  # flaw


@honest([0.0] * 4, [0.0, 0.0, 0.0, 1.0], 0.63)
def poisson_subsample_amplified(v: Any, rng: Any) -> Out:
    kept = np.asarray(v)[rng.random(4) < 0.5]
    return kept.sum() + rng.laplace(scale=1.0)


@honest([0.0] * 4, [0.0, 0.0, 0.0, 1.0], 0.63)
def subsample_without_replacement(v: Any, rng: Any) -> Out:
    kept = rng.choice(np.asarray(v), size=2, replace=False)
    return kept.sum() + rng.laplace(scale=1.0)


# Mechanisms of this library: what they promise holds for their sensitivity only.


@flawed([0.0, 0.0], [100.0, 0.0])
def norm_mechanism_beyond_its_sensitivity(v: Any, rng: Any) -> Out:
    from dpverify.mechanisms import NormMechanism  # noqa: PLC0415

    made = NormMechanism(scale=1.0, sensitivity=1.0)
    return made.sample(np.asarray(v), 1, rng=rng)[0]  # flaw


@flawed([0.0, 0.0], [0.0, 100.0])
def noisy_max_beyond_its_sensitivity(v: Any, rng: Any) -> Out:
    from dpverify.mechanisms import NoisyMax  # noqa: PLC0415

    made = NoisyMax(epsilon=1.0, score_sensitivity=1.0)
    return int(made.sample(np.asarray(v), 1, rng=rng)[0])  # flaw


# Coins, and categories that only one side has.


@honest(0, 1, 2.4, quiet=True, exact=math.log(11.0))
def response_with_ten_answers(x: Any, rng: Any) -> Out:
    return x if rng.random() < 0.5 else int(rng.integers(10))  # 0.55 against 0.05


@flawed(0, 1, 2.39)
def response_with_ten_answers_claimed_less(x: Any, rng: Any) -> Out:
    return x if rng.random() < 0.5 else int(rng.integers(10))


@honest([0] * 12, [1] + [0] * 11, 0.41, quiet=True)
def count_of_responses(v: Any, rng: Any) -> Out:
    return sum(b if rng.random() < 0.6 else 1 - b for b in v)  # ln 1.5 = 0.405 each


@flawed([0] * 20, [1] + [0] * 19, 1.2)
def responses_of_private_chance(v: Any, rng: Any) -> Out:
    chance = 0.75 - 0.2 * sum(v) / 20  # flaw
    return [b if rng.random() < chance else 1 - b for b in v]  # also: where coins have this chance


@honest(["a"] * 50 + ["b"], ["a"] * 50, ApproxDP(epsilon=1.0, delta=1e-6), quiet=True)
def common_categories(v: Any, rng: Any) -> Out:
    noisy = {name: count + rng.laplace() for name, count in sorted(Counter(v).items())}
    return [name for name, count in noisy.items() if count > 20.0]  # δ = e^-19/2


@flawed(["a"] * 50 + ["b"], ["a"] * 50, ApproxDP(epsilon=1.0, delta=1e-6))
def categories_above_a_low_bar(v: Any, rng: Any) -> Out:
    noisy = {name: count + rng.laplace() for name, count in sorted(Counter(v).items())}
    return [name for name, count in noisy.items() if count > 3.0]  # flaw: δ = e^-2/2


@flawed(["a"] * 50 + list("bcdef"), ["a"] * 50, ApproxDP(epsilon=1.0, delta=1e-3))
def five_categories_above_a_bar(v: Any, rng: Any) -> Out:
    noisy = {name: count + rng.laplace() for name, count in sorted(Counter(v).items())}
    return [name for name, count in noisy.items() if count > 8.0]  # flaw: δ is about 5·e^-7/2
