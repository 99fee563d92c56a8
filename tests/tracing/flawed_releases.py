"""Releases as people write them, each with one flaw: the line at fault and an event that shows it.

Every mechanism is ordinary code, `mechanism(data, rng)`, and every claim is one that its author
would make. `masses` are the exact probabilities of `event` on the two sides; they break the claim,
which a test checks by arithmetic, and the mechanism has them, which a test checks by draws.
"""

# ruff: noqa: NPY002  # habits of many authors, the bad ones among them

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from scipy.stats import norm

from dpverify.guarantees import GaussianDP, Guarantee, PureDP, ZeroConcentratedDP

Rng: TypeAlias = np.random.Generator
Data: TypeAlias = Any
Out: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FlawedRelease:
    """A mechanism, a false claim, and neighbors that refute it.

    `line` is a piece of the source line at fault that occurs in no other line of the mechanism;
    `also` holds pieces of the lines where the flaw surfaces in a run, which a tool may name just as
    well. `masses` are P(event) on `left` and on `right`. An exception is an output too: the event
    is given the exception.
    """

    name: str
    mechanism: Callable[[Data, Rng], Out]
    left: Data
    right: Data
    claim: Guarantee
    line: str
    also: tuple[str, ...] = ()
    kind: str
    why: str
    event: Callable[[Out], bool]
    masses: tuple[float, float]
    draws: int = 2_000  # for the test that draws; slower mechanisms get fewer


def above(t: float, center: float, scale: float) -> float:
    """P(center + Laplace noise > t)."""
    tail = 0.5 * math.exp(-abs(t - center) / scale)
    return tail if t >= center else 1.0 - tail


def below(t: float, center: float, scale: float) -> float:
    """P(center + Laplace noise < t)."""
    return above(-t, -center, scale)


# Domains and categories that are read off the data.


def values_seen(ages: Data, rng: Rng) -> Out:
    values, counts = np.unique(ages, return_counts=True)
    noisy = counts + rng.laplace(scale=1.0, size=len(counts))
    return dict(zip(values.tolist(), noisy.tolist(), strict=True))


def cities_present(frame: Data, rng: Rng) -> Out:
    sizes = frame.groupby("city").size()
    released = {}
    for city, count in sizes.items():
        released[city] = count + rng.laplace(0, 1.0)
    return released


def words_counted(words: Data, rng: Rng) -> Out:
    counts: Counter[str] = Counter(words)
    return [(w, c + rng.laplace(scale=1.0)) for w, c in sorted(counts.items())]


def typical_record(salaries: Data, rng: Rng) -> Out:
    """The exponential mechanism for the median; its candidates are the records themselves."""
    candidates = sorted(salaries)
    ranks = np.arange(len(candidates))
    utility = -np.abs(ranks - len(candidates) / 2)
    weights = np.exp(0.5 * utility)
    return rng.choice(candidates, p=weights / weights.sum())


def range_of_the_data(heights: Data, rng: Rng) -> Out:
    low, high = float(min(heights)), float(max(heights))
    total = sum(h - low for h in heights)
    return total + rng.laplace(scale=(high - low) / 1.0)


# Numbers that no clip stops.


def nan_in_a_sum(values: Data, rng: Rng) -> Out:
    total = np.clip(values, 0.0, 1.0).sum()
    return total + rng.laplace(scale=1.0)


def infinite_gradient(rows: Data, rng: Rng) -> Out:
    """Rows scaled to norm 1 at most: an infinite one is multiplied by 0."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        clipped = rows * np.minimum(1.0, 1.0 / np.maximum(norms, 1e-12))
    return clipped.sum(axis=0) + rng.normal(scale=1.0, size=2)


def mean_for_missing(values: Data, rng: Rng) -> Out:
    filled = np.where(np.isnan(values), np.nanmean(values), values)
    total = np.clip(filled, 0.0, 1.0).sum()
    return total + rng.laplace(scale=1.0)


def counted_in_a_byte(flags: Data, rng: Rng) -> Out:
    count = np.sum(flags, dtype=np.int8)
    return float(count) + rng.laplace(scale=1.0)


# Sensitivity.


def clipped_before_the_join(tables: Data, rng: Rng) -> Out:
    """Neighbors differ in one user; a row is clipped to [0, 10], a user has many rows."""
    users, purchases = tables
    purchases = purchases.assign(amount=purchases["amount"].clip(0, 10))
    joined = purchases.merge(users, on="user")
    total = joined.loc[joined["adult"], "amount"].sum()
    return float(total) + rng.laplace(scale=10.0)


def mean_of_unknown_size(values: Data, rng: Rng) -> Out:
    values = np.clip(values, 0.0, 1.0)
    return values.mean() + rng.laplace(scale=1.0 / len(values))


def replaced_not_added(values: Data, rng: Rng) -> Out:
    """Claimed for replaced records, each in [−1, 1]."""
    bounded = [max(-1.0, min(1.0, v)) for v in values]
    return sum(bounded) + rng.laplace(scale=1.0)


def bins_of_a_replaced_record(ages: Data, rng: Rng) -> Out:
    """Claimed for replaced records: one bin loses, another one wins."""
    counts, _ = np.histogram(ages, bins=[0, 30, 60, 120])
    return counts + rng.laplace(scale=1.0, size=3)


def clipped_after_the_sum(values: Data, rng: Rng) -> Out:
    total = values.sum()
    values = np.clip(values, 0.0, 1.0)
    return total + rng.laplace(scale=1.0)


def clipped_by_columns(rows: Data, rng: Rng) -> Out:
    """Records are rows, but it is columns that are scaled to norm 1."""
    norms = np.linalg.norm(rows, axis=0)
    bounded = rows / np.maximum(1.0, norms)
    return bounded.sum(axis=0) + rng.normal(0.0, 1.0, 2)


def clipped_average_gradient(gradients: Data, rng: Rng) -> Out:
    """n = 10 is public; the average is clipped, where each record was to be."""
    average = float(np.mean(gradients))
    average = average / max(1.0, abs(average))
    return average + rng.laplace(scale=2.0 / 10)


def tree_without_depth(counts: Data, rng: Rng) -> Out:
    """All sums of a binary tree over four leaves; a record is in three of them."""
    tree: list[float] = []
    level = list(counts)
    while level:
        tree += [node + rng.laplace(scale=1.0) for node in level]
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)]
    return tree


def half_of_the_exponent(scores: Data, rng: Rng) -> Out:
    """Scores of sensitivity 1 that move either way: the exponent needs a 2."""
    weights = np.exp(1.0 * np.asarray(scores, dtype=float))
    return int(rng.choice(len(scores), p=weights / weights.sum()))


# Scales.


def one_per_cent(values: Data, rng: Rng) -> Out:
    total = float(np.sum(np.clip(values, 0, 1)))
    return total + rng.laplace(0.0, 0.99)


def dollars_for_thousands(incomes: Data, rng: Rng) -> Out:
    clipped = np.clip(incomes, 0, 100_000)
    bound_in_thousands = 100
    return clipped.sum() + rng.laplace(scale=bound_in_thousands / 1.0)


def variance_for_deviation(values: Data, rng: Rng) -> Out:
    sigma = 0.8
    total = np.clip(values, 0.0, 1.0).sum()
    return total + rng.normal(0.0, sigma**2)


def rate_for_scale(values: Data, _rng: Rng) -> Out:
    """Laplace noise as the difference of exponentials; `expovariate` takes a rate."""
    scale = 2.0
    total = sum(min(max(v, 0.0), 1.0) for v in values)
    return total + random.expovariate(scale) - random.expovariate(scale)


def legacy_scale(values: Data, _rng: Rng) -> Out:
    """Values in [0, 3]; ε = 1."""
    return np.random.laplace(loc=np.clip(values, 0, 3).sum(), scale=1.0)


def noise_for_pure(count: Data, rng: Rng) -> Out:
    return count + rng.normal(scale=2.0)


def relative_noise(count: Data, rng: Rng) -> Out:
    return count + rng.laplace(scale=0.1 * count)


def one_sided(count: Data, rng: Rng) -> Out:
    return count + rng.geometric(1.0 - math.exp(-1.0)) - 1


def bounded_noise(count: Data, rng: Rng) -> Out:
    noise = np.clip(rng.laplace(scale=1.0), -2.0, 2.0)
    return count + noise


def many_answers_two_probabilities(answer: Data, rng: Rng) -> Out:
    """One of four answers; the probability of the truth is that for two."""
    truth = math.exp(1.0) / (1.0 + math.exp(1.0))
    if rng.random() < truth:
        return answer
    others = [a for a in range(4) if a != answer]
    return others[rng.integers(3)]


# Budgets.


def spent_twice(values: Data, rng: Rng) -> Out:
    """ε = 1 in all."""
    epsilon = 1.0
    clipped = np.clip(values, 0.0, 1.0)
    count = len(clipped) + rng.laplace(scale=1.0 / epsilon)
    total = clipped.sum() + rng.laplace(scale=1.0 / epsilon)
    return count, total


class Survey:
    """Rows of yes and no; every question gets the whole budget."""

    def __init__(self, rho: float) -> None:
        self.sigma = math.sqrt(1.0 / (2.0 * rho))

    def __call__(self, rows: Data, rng: Rng) -> Out:
        answers = []
        for question in range(len(rows[0])):
            yes = sum(row[question] for row in rows)
            answers.append(yes + rng.normal(0.0, self.sigma))
        return answers


def first_half_as_sample(values: Data, rng: Rng) -> Out:
    """Claims what a random half of the records would give."""
    batch = values[: len(values) // 2]
    return np.clip(batch, 0.0, 1.0).sum() + rng.laplace(scale=1.0)


# Noise that is shared, repeated, or missing.


def one_noise_two_answers(answers: Data, rng: Rng) -> Out:
    noise = rng.laplace(scale=2.0)
    first = answers[0] + noise
    second = answers[1] + noise
    return first, second


def one_noise_for_all_columns(table: Data, rng: Rng) -> Out:
    return table.sum(axis=0) + rng.laplace(scale=3.0, size=1)


def first_coordinate_only(gradient: Data, rng: Rng) -> Out:
    noisy = np.array(gradient, dtype=float)
    noisy[0] += rng.laplace(scale=2.0)
    return noisy


def seeded_again(answers: Data, rng: Rng) -> Out:
    seed = int(rng.integers(2**32))
    released = []
    for answer in answers:
        fresh = np.random.default_rng(seed)
        released.append(answer + fresh.laplace(scale=2.0))
    return released


def seed_of_the_data(values: Data, _rng: Rng) -> Out:
    generator = np.random.default_rng(int(sum(values)))
    return sum(values) + generator.laplace(scale=1.0)


def shuffled_records(values: Data, rng: Rng) -> Out:
    """Nobody knows which record is whose."""
    return rng.permutation(values)


# Data that is looked at again.


def clamped_to_the_truth(values: Data, rng: Rng) -> Out:
    noisy = sum(min(max(v, 0), 10) for v in values) + rng.laplace(scale=10.0)
    return min(max(noisy, min(values)), max(values))


def cap_from_quantile(incomes: Data, rng: Rng) -> Out:
    cap = np.quantile(incomes, 0.95)
    return np.minimum(incomes, cap).sum() + rng.laplace(scale=cap)


def above_average(values: Data, rng: Rng) -> Out:
    bar = sum(values) / len(values)
    count = sum(v > bar for v in values)
    return count + rng.laplace(scale=1.0)


def proportions(counts: Data, rng: Rng) -> Out:
    noisy = counts + rng.laplace(scale=1.0, size=len(counts))
    return noisy / counts.sum()


def digits_of_the_data(values: Data, rng: Rng) -> Out:
    """Sum of values in [0, 10], noise for ε = 1, with as many digits as it deserves."""
    noisy = sum(values) + rng.laplace(scale=10.0)
    digits = len(str(int(sum(values))))
    return round(noisy, 1 - digits)


def with_the_count(values: Data, rng: Rng) -> Out:
    mean = (np.clip(values, 0, 1).sum() + rng.laplace(scale=1.0)) / 10
    return {"mean": float(mean), "records": len(values)}


def tested_without_noise(counts: Data, rng: Rng) -> Out:
    """Propose, test, release: the test itself is exact."""
    gap = max(counts) - sorted(counts)[-2]
    if gap < 5:
        return None
    return max(counts) + rng.laplace(scale=1.0)


# Control flow.


def empty_group(group: Data, rng: Rng) -> Out:
    if not group:
        return 0.0
    return sum(min(max(g, 0.0), 1.0) for g in group) + rng.laplace(scale=1.0)


def refuses_negatives(values: Data, rng: Rng) -> Out:
    if (values < 0).any():
        raise ValueError("values must not be negative")
    return np.minimum(values, 1.0).sum() + rng.laplace(scale=1.0)


def noise_for_some(values: Data, rng: Rng) -> Out:
    """Every person adds noise at home; zeros stay at home."""
    return [v + rng.laplace(scale=1.0) for v in values if v > 0]


def again_until_inside(count: Data, rng: Rng) -> Out:
    """Counts in [0, 10] of sensitivity 1, ε = 1."""
    while True:
        noisy = count + rng.laplace(scale=1.0)
        if 0.0 <= noisy <= 10.0:
            return noisy


# Selection.


def threshold_noise_alone(answers: Data, rng: Rng) -> Out:
    bar = rng.laplace(scale=2.0)
    return [answer >= bar for answer in answers]


def above_without_end(answers: Data, rng: Rng) -> Out:
    """Sparse vector that goes on after a hit."""
    bar = 1.0 + rng.laplace(scale=2.0)
    hits = []
    for answer in answers:
        noisy = answer + rng.laplace(scale=4.0)
        hits.append(bool(noisy >= bar))
    return hits


def first_above_with_value(answers: Data, rng: Rng) -> Out:
    """Sparse vector that tells the noisy answer, too."""
    bar = rng.laplace(scale=2.0)
    for i, answer in enumerate(answers):
        noisy = answer + rng.laplace(scale=4.0)
        if noisy >= bar:
            return i, noisy
    return None


def best_with_value(scores: Data, rng: Rng) -> Out:
    """Noisy max that tells the largest noisy score, too."""
    noisy = np.asarray(scores) + rng.laplace(scale=2.0, size=len(scores))
    best = int(np.argmax(noisy))
    return best, float(noisy[best])


# The table.

_ONE = PureDP(epsilon=1.0)
_E = math.e


def _city(*names: str) -> Data:
    return pd.DataFrame({"city": list(names)})


_USERS = pd.DataFrame({"user": [1, 2], "adult": [True, True]})
_MORE_USERS = pd.DataFrame({"user": [1, 2, 3], "adult": [True, True, True]})
_PURCHASES = pd.DataFrame({"user": [1, 2], "amount": [10.0, 5.0]})
_MORE_PURCHASES = pd.DataFrame(
    {"user": [1, 2, 3, 3, 3, 3, 3], "amount": [10.0, 5.0, 90.0, 10.0, 10.0, 10.0, 10.0]}
)


def _rounded_to_ten(center: float, scale: float) -> float:
    """P(center + Laplace noise lies within 1/2 of a multiple of 10)."""
    return sum(
        above(10 * k - 0.5, center, scale) - above(10 * k + 0.5, center, scale)
        for k in range(-100, 101)
    )


def _hits_and_misses(answers: Data) -> float:
    """P(the first half of the answers reach the bar of `above_without_end`, no others do)."""
    z = np.linspace(-80.0, 80.0, 400_001)
    density = np.exp(-np.abs(z) / 2.0) / 4.0
    for i, answer in enumerate(answers):
        t = 1.0 + z - answer
        miss = np.where(t < 0, 0.5 * np.exp(-np.abs(t) / 4.0), 1 - 0.5 * np.exp(-np.abs(t) / 4.0))
        density *= 1.0 - miss if i < len(answers) // 2 else miss
    return float(np.trapezoid(density, z))


def _reached_last(answers: Data) -> float:
    """P(only the last noisy answer reaches the bar of `first_above_with_value`, and is below 0)."""
    y = np.linspace(-80.0, 0.0, 400_001)
    bar = np.exp(y / 2.0) / 4.0
    for answer in answers[:-1]:
        bar *= np.where(
            y < answer,
            0.5 * np.exp(-np.abs(y - answer) / 4.0),
            1.0 - 0.5 * np.exp(-np.abs(y - answer) / 4.0),
        )
    bar_below = np.concatenate([[0.0], np.cumsum((bar[1:] + bar[:-1]) / 2.0) * (y[1] - y[0])])
    return float(np.trapezoid(np.exp(-np.abs(y - answers[-1]) / 4.0) / 8.0 * bar_below, y))


def _seeded_output(total: int) -> float:
    return float(total + np.random.default_rng(total).laplace(scale=1.0))


def _gap(out: Out) -> bool:
    return bool(abs(out[1] - out[0]) < 0.5)


FLAWED_RELEASES = (
    FlawedRelease(
        name="histogram over the values seen",
        mechanism=values_seen,
        left=np.array([23, 23, 41]),
        right=np.array([23, 23, 41, 97]),
        claim=_ONE,
        line="np.unique(ages",
        also=("size=len(counts)", "return dict(zip(values"),
        kind="domain inferred from the data",
        why="whether 97 is a key tells whether there is such a record",
        event=lambda out: 97 in out,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="cities by groupby",
        mechanism=cities_present,
        left=_city("Bern", "Bern", "Rome"),
        right=_city("Bern", "Bern", "Rome", "Oslo"),
        claim=_ONE,
        line='groupby("city")',
        also=("for city, count in", "count + rng.laplace(0, 1.0)", "return released"),
        kind="categories that appear only if present",
        why="Oslo is a key only if somebody lives there",
        event=lambda out: "Oslo" in out,
        masses=(0.0, 1.0),
        draws=200,
    ),
    FlawedRelease(
        name="words by Counter",
        mechanism=words_counted,
        left=["a", "b", "a"],
        right=["a", "b", "a", "zebra"],
        claim=_ONE,
        line="= Counter(words)",
        also=("return [(w, c + rng.laplace",),
        kind="categories that appear only if present",
        why="the list has one entry more, and it is called zebra",
        event=lambda out: len(out) == 3,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="a record for the median",
        mechanism=typical_record,
        left=[30, 40, 50],
        right=[30, 40, 51],
        claim=_ONE,
        line="candidates = sorted(salaries)",
        also=("rng.choice(candidates",),
        kind="domain inferred from the data",
        why="51 can come out only if it is a record; P ∝ e^(−|rank − 3/2|/2)",
        event=lambda out: out == 51,
        # weights e^(-3/4), e^(-1/4), e^(-1/4)
        masses=(0.0, math.exp(-0.25) / (math.exp(-0.75) + 2 * math.exp(-0.25))),
    ),
    FlawedRelease(
        name="range of the data as bound",
        mechanism=range_of_the_data,
        left=[150.0, 160.0, 170.0],
        right=[150.0, 160.0, 170.0, 210.0],
        claim=_ONE,
        line="low, high = float(min(heights)), float(max(heights))",
        also=("scale=(high - low)",),
        kind="domain inferred from the data",
        why="both the sum (30 or 90) and the scale (20 or 60) follow the largest record",
        event=lambda out: out > 90.0,
        masses=(above(90.0, 30.0, 20.0), above(90.0, 90.0, 60.0)),
    ),
    FlawedRelease(
        name="NaN that passes a clip",
        mechanism=nan_in_a_sum,
        left=np.array([0.5, 0.2]),
        right=np.array([0.5, math.nan]),
        claim=_ONE,
        line="np.clip(values, 0.0, 1.0).sum()",
        also=("return total + rng.laplace",),
        kind="NaN or infinity that passes a clip",
        why="the sum is NaN, and stays NaN with noise",
        event=math.isnan,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="infinite row scaled by zero",
        mechanism=infinite_gradient,
        left=np.array([[0.6, 0.8], [1.0, 0.0]]),
        right=np.array([[0.6, 0.8], [math.inf, 0.0]]),
        claim=GaussianDP(mu=2.0),
        line="np.minimum(1.0, 1.0 / np.maximum(norms",
        also=("clipped.sum(axis=0) + rng.normal",),
        kind="NaN or infinity that passes a clip",
        why="∞ · 0 is NaN",
        event=lambda out: bool(np.isnan(out).any()),
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="missing values filled with the mean",
        mechanism=mean_for_missing,
        left=np.array([0.0, math.nan, math.nan, math.nan]),
        right=np.array([1.0, math.nan, math.nan, math.nan]),
        claim=_ONE,
        line="np.nanmean(values)",
        also=("return total + rng.laplace",),
        kind="clipping at the wrong place",
        why="one record is copied into three others: the sum moves by 4, paid for 1",
        event=lambda out: out > 4.0,
        masses=(above(4.0, 0.0, 1.0), above(4.0, 4.0, 1.0)),
    ),
    FlawedRelease(
        name="count in eight bits",
        mechanism=counted_in_a_byte,
        left=np.ones(127, dtype=np.int8),
        right=np.ones(128, dtype=np.int8),
        claim=_ONE,
        line="np.sum(flags, dtype=np.int8)",
        also=("float(count) + rng.laplace",),
        kind="integer overflow",
        why="127 + 1 is −128: the count moves by 255, paid for 1",
        event=lambda out: out > 0.0,
        masses=(above(0.0, 127.0, 1.0), above(0.0, -128.0, 1.0)),
    ),
    FlawedRelease(
        name="clip before a join",
        mechanism=clipped_before_the_join,
        left=(_USERS, _PURCHASES),
        right=(_MORE_USERS, _MORE_PURCHASES),
        claim=_ONE,
        line='["amount"].clip(0, 10)',
        also=("float(total) + rng.laplace(scale=10.0)", "purchases.merge(users"),
        kind="clipping before a join",
        why="a user with five purchases moves the sum by 50, paid for 10",
        event=lambda out: out > 65.0,
        masses=(above(65.0, 15.0, 10.0), above(65.0, 65.0, 10.0)),
        draws=200,
    ),
    FlawedRelease(
        name="mean over a private number of records",
        mechanism=mean_of_unknown_size,
        left=np.array([0.0, 0.0, 1.0]),
        right=np.array([0.0, 0.0]),
        claim=_ONE,
        line="rng.laplace(scale=1.0 / len(values))",
        kind="sensitivity of a mean with private n",
        why="the scale is 1/3 or 1/2: the tails differ without bound",
        event=lambda out: out < -1.5,
        masses=(below(-1.5, 1 / 3, 1 / 3), below(-1.5, 0.0, 0.5)),
    ),
    FlawedRelease(
        name="replaced record paid as an added one",
        mechanism=replaced_not_added,
        left=[-1.0, 0.5, 0.25],
        right=[1.0, 0.5, 0.25],
        claim=_ONE,
        line="sum(bounded) + rng.laplace",
        kind="sensitivity of the other relation",
        why="from −1 to 1 the sum moves by 2, paid for 1",
        event=lambda out: out > 1.75,
        masses=(above(1.75, -0.25, 1.0), above(1.75, 1.75, 1.0)),
    ),
    FlawedRelease(
        name="histogram of replaced records",
        mechanism=bins_of_a_replaced_record,
        left=np.array([20, 25, 70]),
        right=np.array([20, 45, 70]),
        claim=_ONE,
        line="counts + rng.laplace(scale=1.0, size=3)",
        kind="sensitivity of the other relation",
        why="two bins move by 1 each: loss 2, paid for 1",
        event=lambda out: out[0] > 2.0 and out[1] < 0.0,
        masses=(0.25, 0.25 * math.exp(-2.0)),
    ),
    FlawedRelease(
        name="clip after the sum",
        mechanism=clipped_after_the_sum,
        left=np.array([0.5, 1.0]),
        right=np.array([0.5, 9.0]),
        claim=_ONE,
        line="total = values.sum()",
        also=("return total + rng.laplace",),
        kind="clipping at the wrong place",
        why="the sum was taken before the clip: it moves by 8",
        event=lambda out: out > 9.5,
        masses=(above(9.5, 1.5, 1.0), above(9.5, 9.5, 1.0)),
    ),
    FlawedRelease(
        name="clip along the wrong axis",
        mechanism=clipped_by_columns,
        left=np.array([[1.0, 0.0]] * 16),
        right=np.array([[1.0, 0.0]] * 16 + [[100.0, 0.0]]),
        claim=GaussianDP(mu=1.0),
        line="np.linalg.norm(rows, axis=0)",
        also=("bounded.sum(axis=0) + rng.normal",),
        kind="noise or clip at the wrong axis",
        why="one long record shrinks all others: from 4 to 116/√10016 = 1.159, paid for 1",
        event=lambda out: out[0] > 4.0,
        masses=(0.5, float(norm.sf(4.0 - 116.0 / math.sqrt(10016.0)))),
    ),
    FlawedRelease(
        name="clip of the average gradient",
        mechanism=clipped_average_gradient,
        left=np.array([0.1] * 9 + [40.0]),
        right=np.array([0.1] * 9 + [-40.0]),
        claim=_ONE,
        line="average = average / max(1.0, abs(average))",
        also=("return average + rng.laplace",),
        kind="clipping at the wrong place",
        why="one record takes the clipped average from 1 to −1: 2, paid for 0.2",
        event=lambda out: out > 0.0,
        masses=(above(0.0, 1.0, 0.2), above(0.0, -1.0, 0.2)),
    ),
    FlawedRelease(
        name="tree with the noise of one level",
        mechanism=tree_without_depth,
        left=[1, 0, 2, 0],
        right=[2, 0, 2, 0],
        claim=_ONE,
        line="tree += [node + rng.laplace(scale=1.0)",
        kind="budget spent twice",
        why="leaf, pair and root move by 1: loss 3, paid for 1",
        event=lambda out: out[0] > 2 and out[4] > 2 and out[6] > 4,
        masses=(math.exp(-3.0) / 8.0, 1.0 / 8.0),
    ),
    FlawedRelease(
        name="exponential mechanism without the 2",
        mechanism=half_of_the_exponent,
        left=[0.0] + [1.0] * 49,
        right=[1.0] + [0.0] * 49,
        claim=_ONE,
        line="np.exp(1.0 * np.asarray(scores",
        also=("rng.choice(len(scores)",),
        kind="scale in the wrong unit",
        why="the score and the sum of the others move against each other: nearly twice ε",
        event=lambda out: out == 0,
        masses=(1.0 / (1.0 + 49.0 * _E), _E / (_E + 49.0)),
    ),
    FlawedRelease(
        name="noise one per cent too small",
        mechanism=one_per_cent,
        left=np.array([1.0, 0.0, 1.0]),
        right=np.array([1.0, 0.0, 0.0]),
        claim=_ONE,
        line="rng.laplace(0.0, 0.99)",
        kind="noise too small",
        why="loss 1/0.99 = 1.0101",
        event=lambda out: out > 2.0,
        masses=(0.5, 0.5 * math.exp(-1.0 / 0.99)),
    ),
    FlawedRelease(
        name="noise in thousands for a sum in dollars",
        mechanism=dollars_for_thousands,
        left=np.array([30_000.0, 80_000.0]),
        right=np.array([30_000.0, 80_000.0, 1_000.0]),
        claim=_ONE,
        line="scale=bound_in_thousands / 1.0",
        kind="scale in the wrong unit",
        why="even an income of 1000 costs 10, paid for 1",
        event=lambda out: out > 111_000.0,
        masses=(above(111e3, 110e3, 100.0), 0.5),
    ),
    FlawedRelease(
        name="variance given as deviation",
        mechanism=variance_for_deviation,
        left=np.array([0.3, 1.0]),
        right=np.array([0.3, 0.0]),
        claim=GaussianDP(mu=1.25),
        line="rng.normal(0.0, sigma**2)",
        kind="scale in the wrong unit",
        why="σ is 0.64 where 0.8 was meant: μ = 1.5625",
        event=lambda out: out > 1.3,
        masses=(0.5, float(norm.sf(1.0 / 0.64))),
    ),
    FlawedRelease(
        name="rate given as scale",
        mechanism=rate_for_scale,
        left=[0.0, 0.5],
        right=[1.0, 0.5],
        claim=PureDP(epsilon=0.5),
        line="random.expovariate(scale)",
        kind="scale in the wrong unit",
        why="the scale is 1/2 where 2 was meant: loss 2",
        event=lambda out: out > 1.5,
        masses=(0.5 * math.exp(-2.0), 0.5),
    ),
    FlawedRelease(
        name="legacy noise of scale 1/ε for values up to 3",
        mechanism=legacy_scale,
        left=np.array([0.0, 2.0]),
        right=np.array([3.0, 2.0]),
        claim=_ONE,
        line="np.random.laplace(loc=",
        kind="noise too small",
        why="moved by 3, paid for 1",
        event=lambda out: out > 5.0,
        masses=(0.5 * math.exp(-3.0), 0.5),
    ),
    FlawedRelease(
        name="Gaussian noise for a pure claim",
        mechanism=noise_for_pure,
        left=0,
        right=1,
        claim=_ONE,
        line="rng.normal(scale=2.0)",
        kind="noise too small",
        why="far out, normal densities differ without bound",
        event=lambda out: out > 4.5,
        masses=(float(norm.sf(2.25)), float(norm.sf(1.75))),
    ),
    FlawedRelease(
        name="noise relative to the count",
        mechanism=relative_noise,
        left=20,
        right=21,
        claim=PureDP(epsilon=0.5),
        line="rng.laplace(scale=0.1 * count)",
        kind="normalization by a private norm",
        why="the scale is 2 or 2.1: the tails differ without bound",
        event=lambda out: out > 40.0,
        masses=(above(40.0, 20.0, 2.0), above(40.0, 21.0, 2.1)),
    ),
    FlawedRelease(
        name="one-sided geometric noise",
        mechanism=one_sided,
        left=0,
        right=1,
        claim=_ONE,
        line="rng.geometric(",
        kind="noise with a bounded support",
        why="0 can come out only of a count of 0",
        event=lambda out: out == 0,
        masses=(1.0 - math.exp(-1.0), 0.0),
    ),
    FlawedRelease(
        name="noise cut off at 2",
        mechanism=bounded_noise,
        left=0,
        right=1,
        claim=_ONE,
        line="np.clip(rng.laplace(scale=1.0), -2.0, 2.0)",
        also=("return count + noise",),
        kind="noise with a bounded support",
        why="more than 2 can come out only of a count of 1",
        event=lambda out: out > 2.0,
        masses=(0.0, 0.5 * math.exp(-1.0)),
    ),
    FlawedRelease(
        name="four answers with the odds of two",
        mechanism=many_answers_two_probabilities,
        left=0,
        right=2,
        claim=_ONE,
        line="truth = math.exp(1.0) / (1.0 + math.exp(1.0))",
        also=("if rng.random() < truth", "others[rng.integers(3)]", "others = [a for a"),
        kind="scale in the wrong unit",
        why="the truth has odds of 3e against each other answer, where e was meant",
        event=lambda out: out == 0,
        masses=(_E / (1 + _E), 1.0 / (1 + _E) / 3.0),
    ),
    FlawedRelease(
        name="budget spent twice",
        mechanism=spent_twice,
        left=np.array([0.0, 0.5]),
        right=np.array([0.0, 0.5, 1.0]),
        claim=_ONE,
        line="total = clipped.sum() + rng.laplace",
        also=("count = len(clipped) + rng.laplace",),
        kind="budget spent twice",
        why="count and sum move by 1 each: loss 2, paid for 1",
        event=lambda out: out[0] > 3.0 and out[1] > 1.5,
        masses=(math.exp(-2.0) / 4.0, 0.25),
    ),
    FlawedRelease(
        name="the whole budget for every question",
        mechanism=Survey(rho=0.125),
        left=[[0, 0, 0, 0], [1, 0, 1, 0]],
        right=[[1, 1, 1, 1], [1, 0, 1, 0]],
        claim=ZeroConcentratedDP(rho=0.125),
        line="answers.append(yes + rng.normal(0.0, self.sigma))",
        kind="budget spent twice",
        why="four answers move by 1 each with σ = 2: ρ = 1/2, paid for 1/8",
        event=lambda out: sum(out) > 6.0,
        # The sum of four is normal with deviation 4 around 2 or 6.
        masses=(float(norm.sf(1.0)), 0.5),
    ),
    FlawedRelease(
        name="the first half as a sample",
        mechanism=first_half_as_sample,
        left=np.array([0.0, 0.0, 1.0, 0.0]),
        right=np.array([1.0, 0.0, 1.0, 0.0]),
        claim=PureDP(epsilon=math.log1p(0.5 * math.expm1(1.0))),
        line="values[: len(values) // 2]",
        also=("sum() + rng.laplace(scale=1.0)",),
        kind="budget spent twice",
        why="the first record is always in: loss 1, where ln(1 + (e − 1)/2) = 0.62 is claimed",
        event=lambda out: out > 1.0,
        masses=(0.5 * math.exp(-1.0), 0.5),
    ),
    FlawedRelease(
        name="one noise for two answers",
        mechanism=one_noise_two_answers,
        left=(1.0, 1.0),
        right=(1.0, 2.0),
        claim=_ONE,
        line="second = answers[1] + noise",
        also=("first = answers[0] + noise", "noise = rng.laplace", "return first, second"),
        kind="noise reused for two answers",
        why="the difference of the outputs has no noise",
        event=_gap,
        masses=(1.0, 0.0),
    ),
    FlawedRelease(
        name="one noise for all columns",
        mechanism=one_noise_for_all_columns,
        left=np.array([[1, 0, 0], [0, 1, 0]]),
        right=np.array([[1, 0, 0], [0, 0, 1]]),
        claim=_ONE,
        line="rng.laplace(scale=3.0, size=1)",
        kind="noise or clip at the wrong axis",
        why="differences of columns have no noise",
        event=_gap,
        masses=(1.0, 0.0),
    ),
    FlawedRelease(
        name="noise on the first coordinate only",
        mechanism=first_coordinate_only,
        left=[0.5, 0.0],
        right=[0.5, 1.0],
        claim=_ONE,
        line="noisy[0] += rng.laplace",
        also=("return noisy", "noisy = np.array(gradient"),
        kind="noise or clip at the wrong axis",
        why="the second coordinate has no noise",
        event=lambda out: bool(out[1] > 0.5),
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="generator seeded again for every answer",
        mechanism=seeded_again,
        left=[1.0, 1.0],
        right=[1.0, 2.0],
        claim=_ONE,
        line="np.random.default_rng(seed)",
        also=("answer + fresh.laplace", "return released"),
        kind="same generator seeded again",
        why="both noises are the same number",
        event=_gap,
        masses=(1.0, 0.0),
        draws=500,
    ),
    FlawedRelease(
        name="seed that depends on the data",
        mechanism=seed_of_the_data,
        left=[3, 4],
        right=[3, 5],
        claim=_ONE,
        line="np.random.default_rng(int(sum(values)))",
        also=("return sum(values) + generator.laplace",),
        kind="a seed that depends on data",
        why="the output is a function of the data",
        event=lambda out: out == _seeded_output(7),
        masses=(1.0, 0.0),
        draws=300,
    ),
    FlawedRelease(
        name="records in random order",
        mechanism=shuffled_records,
        left=np.array([1, 2, 3]),
        right=np.array([1, 2, 9]),
        claim=_ONE,
        line="return rng.permutation(values)",
        kind="data released without noise",
        why="the record 9 is there or not",
        event=lambda out: 9 in out,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="clamped to the true range",
        mechanism=clamped_to_the_truth,
        left=[1, 2, 3],
        right=[1, 2, 3, 9],
        claim=_ONE,
        line="min(max(noisy, min(values)), max(values))",
        kind="post-processing that looks at the data again",
        why="more than 3 can come out only if there is such a record",
        event=lambda out: out > 5.0,
        masses=(0.0, above(5.0, 15.0, 10.0)),
    ),
    FlawedRelease(
        name="cap at a quantile of the data",
        mechanism=cap_from_quantile,
        left=np.array([10.0, 20.0, 30.0, 40.0]),
        right=np.array([10.0, 20.0, 30.0, 40.0, 1000.0]),
        claim=_ONE,
        line="np.quantile(incomes, 0.95)",
        also=("rng.laplace(scale=cap)",),
        kind="thresholds read off the data",
        why="the cap is 38.5 or 808, and so is the scale",
        event=lambda out: out > 200.0,
        masses=(above(200.0, 98.5, 38.5), above(200.0, 908.0, 808.0)),
    ),
    FlawedRelease(
        name="how many are above average",
        mechanism=above_average,
        left=[1, 1, 1, 1],
        right=[1, 1, 1, 1, 0],
        claim=_ONE,
        line="bar = sum(values) / len(values)",
        also=("sum(v > bar for v in values)", "return count + rng.laplace"),
        kind="thresholds read off the data",
        why="one record lowers the bar under four others: moved by 4, paid for 1",
        event=lambda out: out > 4.0,
        masses=(0.5 * math.exp(-4.0), 0.5),
    ),
    FlawedRelease(
        name="proportions of the true total",
        mechanism=proportions,
        left=np.array([1.0, 0.0]),
        right=np.array([1.0, 1.0]),
        claim=_ONE,
        line="return noisy / counts.sum()",
        kind="normalization by a private norm",
        why="after the noise everything is divided by 1 or by 2",
        event=lambda out: bool(out[0] > 3.0),
        masses=(above(3.0, 1.0, 1.0), above(6.0, 1.0, 1.0)),
    ),
    FlawedRelease(
        name="rounded to the digits of the data",
        mechanism=digits_of_the_data,
        left=[4, 5],
        right=[4, 6],
        claim=_ONE,
        line="digits = len(str(int(sum(values))))",
        also=("return round(noisy, 1 - digits)",),
        kind="rounding after noise that depends on data",
        why="a sum of 10 is rounded to tens, one of 9 to whole numbers",
        event=lambda out: out % 10 == 0,
        masses=(_rounded_to_ten(9.0, 10.0), 1.0),
    ),
    FlawedRelease(
        name="the number of records for free",
        mechanism=with_the_count,
        left=np.array([0.5] * 10),
        right=np.array([0.5] * 9),
        claim=_ONE,
        line='"records": len(values)',
        kind="data released without noise",
        why="the count has no noise",
        event=lambda out: out["records"] == 10,
        masses=(1.0, 0.0),
    ),
    FlawedRelease(
        name="test without noise before a release",
        mechanism=tested_without_noise,
        left=[10, 5, 1],
        right=[9, 5, 1],
        claim=_ONE,
        line="if gap < 5",
        also=("return None", "return max(counts) + rng.laplace"),
        kind="thresholds read off the data",
        why="whether something comes out tells the gap exactly",
        event=lambda out: out is None,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="zero for an empty group",
        mechanism=empty_group,
        left=[],
        right=[0.3],
        claim=_ONE,
        line="if not group",
        also=("return 0.0",),
        kind="early return on empty groups",
        why="exactly 0 comes out only of an empty group",
        event=lambda out: out == 0.0,
        masses=(1.0, 0.0),
    ),
    FlawedRelease(
        name="refusal that depends on a record",
        mechanism=refuses_negatives,
        left=np.array([0.5, 0.5]),
        right=np.array([0.5, -0.5]),
        claim=_ONE,
        line='raise ValueError("values must not be negative")',
        also=("if (values < 0).any()",),
        kind="exceptions that depend on data",
        why="the exception is an output",
        event=lambda out: isinstance(out, ValueError),
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="noise for those who are not zero",
        mechanism=noise_for_some,
        left=[1.0, 0.0, 1.0],
        right=[1.0, 1.0, 1.0],
        claim=_ONE,
        line="for v in values if v > 0",
        kind="number of draws dependent on data",
        why="the length of the list counts the ones",
        event=lambda out: len(out) == 3,
        masses=(0.0, 1.0),
    ),
    FlawedRelease(
        name="drawn again until it is inside",
        mechanism=again_until_inside,
        left=0,
        right=1,
        claim=_ONE,
        line="if 0.0 <= noisy <= 10.0",
        also=("noisy = count + rng.laplace", "return noisy"),
        kind="number of draws dependent on data",
        why="the density on [0, 10] is divided by the mass there, which is 0.50 for 0, 0.82 for 1",
        event=lambda out: out < 0.3,
        masses=(
            0.5 * -math.expm1(-0.3) / (0.5 * -math.expm1(-10.0)),
            0.5 * math.exp(-1.0) * math.expm1(0.3) / (1 - 0.5 * math.exp(-1) - 0.5 * math.exp(-9)),
        ),
    ),
    FlawedRelease(
        name="sparse vector without noise on answers",
        mechanism=threshold_noise_alone,
        left=[0.0, 1.0],
        right=[1.0, 0.0],
        claim=_ONE,
        line="answer >= bar for answer in answers",
        also=("bar = rng.laplace",),
        kind="sparse vector",
        why="(no, yes) needs a bar between the first and the second answer",
        event=lambda out: [bool(x) for x in out] == [False, True],
        masses=(0.5 * -math.expm1(-0.5), 0.0),
    ),
    FlawedRelease(
        name="sparse vector that never stops",
        mechanism=above_without_end,
        left=[2.0] * 6 + [0.0] * 6,
        right=[1.0] * 6 + [1.0] * 6,
        claim=_ONE,
        line="noisy = answer + rng.laplace(scale=4.0)",
        also=("hits.append(bool(noisy >= bar))",),
        kind="sparse vector",
        why="every hit costs 1/2, and only one of them was paid for",
        event=lambda out: out == [True] * 6 + [False] * 6,
        masses=(
            _hits_and_misses([2.0] * 6 + [0.0] * 6),
            _hits_and_misses([1.0] * 12),
        ),
    ),
    FlawedRelease(
        name="sparse vector that tells the answer",
        mechanism=first_above_with_value,
        left=[0.0] * 8,
        right=[1.0] * 8,
        claim=_ONE,
        line="return i, noisy",
        also=("noisy = answer + rng.laplace", "if noisy >= bar"),
        kind="sparse vector",
        why="the value bounds the bar from above, so seven misses cost up to 1/4 each again",
        event=lambda out: out is not None and out[0] == 7 and out[1] < 0.0,
        masses=(_reached_last([0.0] * 8), _reached_last([1.0] * 8)),
    ),
    FlawedRelease(
        name="noisy max that tells the value",
        mechanism=best_with_value,
        left=[0.0, 0.0, 0.0],
        right=[1.0, 1.0, 1.0],
        claim=_ONE,
        line="return best, float(noisy[best])",
        also=("rng.laplace(scale=2.0, size=len(scores))",),
        kind="noisy max with its value",
        why="that the largest is below 0 concerns all three: loss 3/2",
        event=lambda out: out[1] < 0.0,
        masses=(0.125, 0.125 * math.exp(-1.5)),
    ),
)
