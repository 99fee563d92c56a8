"""Ten mechanisms that keep their claims, and ten that do not, as a team would write them.

Each comes with the test that one would write for it. The broken ones have the bugs that ordinary
commits bring in; `smallest` says whether a pair is as small as any that shows the bug.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpverify.accounting.conversion import to_approx
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP
from dpverify.testing import neighbors
from dpverify.testing import strategies as dst

Rng = np.random.Generator
ONE = PureDP(epsilon=1.0)
CITIES = ("Oslo", "Rome", "Lima")


@dataclass(frozen=True, kw_only=True)
class Demo:
    """A mechanism, its claim, and the neighboring pairs to try."""

    mechanism: Callable[[Any, Rng], Any]
    claim: Guarantee
    on: SearchStrategy[Any]
    smallest: Callable[[Any, Any], bool] = field(default=lambda _left, _right: True)

    @property
    def name(self) -> str:
        return self.mechanism.__name__


unit = st.lists(st.floats(0.0, 1.0))
replaced = neighbors(unit, relation="replace-one")
added = neighbors(unit, relation="add-remove")
bits = neighbors(st.lists(st.booleans()), relation="add-remove")
towns = neighbors(st.lists(st.sampled_from(CITIES)), relation="add-remove")


# --- correct ---------------------------------------------------------------------------------


def laplace_sum(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=1.0)


def laplace_mean(data: list[float], rng: Rng) -> float:
    """The number of records is public, as one of them is replaced."""
    return sum(data) / len(data) + rng.laplace(scale=1.0 / len(data))


def geometric_count(data: list[bool], rng: Rng) -> int:
    stop = -math.expm1(-1.0)
    return sum(data) + int(rng.geometric(stop)) - int(rng.geometric(stop))


def histogram(data: list[str], rng: Rng) -> list[float]:
    counts = Counter(data)
    return [counts[city] + rng.laplace(scale=1.0) for city in CITIES]


def favorite(data: list[str], rng: Rng) -> str:
    """Report noisy max; every count moves by at most one, all in one direction."""
    counts = Counter(data)
    return max(CITIES, key=lambda city: counts[city] + rng.exponential(scale=1.0))


def survey(data: list[bool], rng: Rng) -> list[bool]:
    """Randomized response of every record."""
    truth = 1.0 / (1.0 + math.exp(-1.0))
    return [answer if rng.random() < truth else not answer for answer in data]


def gaussian_sum(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.normal(scale=1.0)


def clipped_sum(data: list[float], rng: Rng) -> float:
    return sum(min(max(x, 0.0), 1.0) for x in data) + rng.laplace(scale=1.0)


def released_if_large(data: list[bool], rng: Rng) -> float | None:
    """A noisy count, shown only when it is large: post-processing."""
    noisy = sum(data) + rng.laplace(scale=1.0)
    return noisy if noisy > 2.0 else None


def gradient(data: np.ndarray[Any, Any], rng: Rng) -> np.ndarray[Any, Any]:
    """A sum of rows of norm at most 1."""
    total: np.ndarray[Any, Any] = data.sum(axis=0) + rng.normal(scale=2.0, size=2)
    return total


CORRECT = (
    Demo(mechanism=laplace_sum, claim=ONE, on=replaced),
    Demo(mechanism=laplace_mean, claim=ONE, on=replaced),
    Demo(mechanism=geometric_count, claim=ONE, on=bits),
    Demo(mechanism=histogram, claim=ONE, on=towns),
    Demo(mechanism=favorite, claim=ONE, on=towns),
    Demo(
        mechanism=survey,
        claim=ONE,
        on=neighbors(st.lists(st.booleans(), max_size=4), relation="replace-one"),
    ),
    Demo(
        mechanism=gaussian_sum,
        claim=to_approx(GaussianDP(mu=1.0), delta=0.01).guarantee,
        on=added,
    ),
    Demo(
        mechanism=clipped_sum,
        claim=ONE,
        on=neighbors(st.lists(st.floats(-100.0, 100.0)), relation="add-remove"),
    ),
    Demo(mechanism=released_if_large, claim=ONE, on=bits),
    Demo(
        mechanism=gradient,
        claim=ZeroConcentratedDP(rho=0.125),
        on=neighbors(dst.vectors(2), relation="add-remove"),
    ),
)


# --- broken ----------------------------------------------------------------------------------


def sensitivity_forgotten(data: list[float], rng: Rng) -> float:
    """Salaries up to 10, noise as for up to 1."""
    return sum(data) + rng.laplace(scale=1.0)  # flaw


def scale_inverted(data: list[bool], rng: Rng) -> float:
    """Noise of scale ε instead of 1/ε."""
    return sum(data) + rng.laplace(scale=0.5)  # flaw


def mean_of_unknown_number(data: list[float], rng: Rng) -> float:
    """Records come and go, and the noise shrinks with their number, which is not public."""
    count = max(len(data), 1)
    return sum(data) / count + rng.laplace(scale=1.0 / count)  # flaw


def zero_counts_hidden(data: list[str], rng: Rng) -> dict[str, float]:
    """Only the cities that occur are released."""
    return {city: n + rng.laplace(scale=1.0) for city, n in Counter(data).items()}  # flaw


def fails_on_empty(data: list[float], rng: Rng) -> float:
    return max(data) * 0.0 + rng.laplace(scale=1.0)  # flaw


def noise_reused(data: list[bool], rng: Rng) -> tuple[float, float]:
    """One noise for two answers: their difference has none."""
    noise = rng.laplace(scale=2.0)
    return sum(data) + noise, len(data) + noise  # flaw


def clipped_too_late(data: list[float], rng: Rng) -> float:
    return min(max(sum(data) + rng.laplace(scale=1.0), 0.0), 1e6)  # flaw


def half_the_budget_twice(data: list[bool], rng: Rng) -> tuple[float, float]:
    """Two releases at ε = 1 each, claimed as ε = 1 in all."""
    return sum(data) + rng.laplace(scale=1.0), sum(data) + rng.laplace(scale=1.0)  # flaw


def largest_value_released(data: list[float], rng: Rng) -> float:
    """Noisy max that also gives the value: all counts rise together."""
    return max(sum(data) + rng.laplace(scale=1.0) for _ in range(8))  # flaw


def debug_branch(data: list[bool], rng: Rng) -> float:
    """One release in ten has no noise, left over from debugging."""
    return float(sum(data)) if rng.random() < 0.1 else sum(data) + rng.laplace(scale=1.0)  # flaw


def _one_record(left: Any, right: Any) -> bool:  # noqa: ANN401
    return {len(left), len(right)} <= {0, 1}


BROKEN = (
    Demo(
        mechanism=sensitivity_forgotten,
        claim=ONE,
        on=neighbors(st.lists(st.floats(0.0, 10.0)), relation="replace-one"),
        smallest=lambda left, right: len(left) == len(right) == 1 and 0.0 in {*left, *right},
    ),
    Demo(mechanism=scale_inverted, claim=PureDP(epsilon=0.5), on=bits, smallest=_one_record),
    Demo(
        mechanism=mean_of_unknown_number,
        claim=ONE,
        on=added,
        smallest=lambda left, right: max(len(left), len(right)) <= 3,
    ),
    Demo(mechanism=zero_counts_hidden, claim=ONE, on=towns, smallest=_one_record),
    Demo(mechanism=fails_on_empty, claim=ONE, on=added, smallest=_one_record),
    Demo(mechanism=noise_reused, claim=ONE, on=bits, smallest=_one_record),
    Demo(
        mechanism=clipped_too_late,
        claim=ONE,
        on=neighbors(st.lists(st.floats(0.0, 1000.0)), relation="add-remove"),
        smallest=_one_record,
    ),
    Demo(mechanism=half_the_budget_twice, claim=ONE, on=bits, smallest=_one_record),
    Demo(mechanism=largest_value_released, claim=ONE, on=added, smallest=_one_record),
    Demo(
        mechanism=debug_branch,
        claim=ApproxDP(epsilon=1.0, delta=1e-3),
        on=bits,
        smallest=_one_record,
    ),
)
