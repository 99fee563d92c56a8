"""Releases as people write them that keep their claims: no tool may raise an alarm on one.

Each docstring gives the argument in a line. Where neighbors are not said to be otherwise, one
record is added or removed; "answers" are results of queries, each of which moves by 1 at most.
"""

# ruff: noqa: NPY002, PLR0917  # habits of many authors; a row of the table has many cells

import math
import random
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

import dpverify as dpv
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, ZeroConcentratedDP

Rng: TypeAlias = np.random.Generator
Data: TypeAlias = Any
Out: TypeAlias = Any
Run: TypeAlias = Callable[[Data, Rng], Out]


@dataclass(frozen=True, slots=True)
class Part:
    """One noisy value: how far it moves between the two sides, or its finite laws on them.

    Loss of "laplace" and "discrete laplace": shift/scale. Of "normal": that of N(0, 1) against
    N(shift/scale, 1). "finite": the laws are `left` and `right`.
    """

    law: Literal["laplace", "discrete laplace", "normal", "finite"]
    shift: float = 0.0
    scale: float = 1.0
    left: tuple[float, ...] = ()
    right: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HonestRelease:
    """A mechanism, a true claim, and neighbors, at the edge of the claim where possible.

    `parts` are the noisy values of a run, in order; () where they depend on the run. `epsilon` is
    what all of them together cost at `delta` on this pair, exactly; None where there is no closed
    form. `released` says that the output determines them all: only then must `epsilon` be within
    the claim. `coupled` says that the output is them, flattened, so that with the same random
    numbers the two sides differ by `shift`, coordinate by coordinate.
    """

    name: str
    mechanism: Run
    left: Data
    right: Data
    claim: Guarantee
    parts: tuple[Part, ...] = ()
    epsilon: float | None = None
    delta: float = 0.0
    released: bool = True
    coupled: bool = False
    draws: int = 300  # for tests that draw


# One number.


def clipped_sum(values: Data, rng: Rng) -> Out:
    """Records in [0, 1]: moves by 1."""
    return np.clip(values, 0.0, 1.0).sum() + rng.laplace(scale=1.0)


def count_as_location(values: Data, rng: Rng) -> Out:
    """A count moves by 1; ε = 1/2."""
    return rng.laplace(loc=len([v for v in values if v > 10]), scale=2.0)


def mean_with_public_n(values: Data, rng: Rng) -> Out:
    """Four records in [0, 1], one replaced: the mean moves by 1/4."""
    mean = sum(min(max(v, 0.0), 1.0) for v in values) / 4
    return mean + rng.laplace(scale=0.25)


def nan_counts_as_zero(values: Data, rng: Rng) -> Out:
    """NaN is replaced by a constant before the clip, so that records lie in [0, 1]."""
    clean = np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    return clean.sum() + rng.laplace(scale=1.0)


def minus_twice_the_noise(values: Data, rng: Rng) -> Out:
    """−2·noise is Laplace noise of scale 2."""
    noise = rng.laplace()
    total = float(sum(values))
    return total - 2 * noise


def difference_of_exponentials(count: Data, rng: Rng) -> Out:
    """The difference of two exponentials is Laplace noise."""
    return count + rng.exponential(2.0) - rng.exponential(2.0)


def legacy_laplace(values: Data, _rng: Rng) -> Out:
    """Moves by 1, as in `clipped_sum`."""
    return np.clip(values, 0, 1).sum() + np.random.laplace(0.0, 1.0)


def legacy_state(values: Data, rng: Rng) -> Out:
    """A RandomState of its own, seeded by noise."""
    state = np.random.RandomState(int(rng.integers(2**31)))
    return np.clip(values, 0, 1).sum() + state.laplace(0.0, 1.0)


def standard_library_exponentials(values: Data, _rng: Rng) -> Out:
    """`expovariate` takes the rate 1/scale = ε."""
    epsilon = 0.5
    noise = random.expovariate(epsilon) - random.expovariate(epsilon)
    return len(values) + noise


def standard_library_gauss(values: Data, _rng: Rng) -> Out:
    """Moves by 1 with σ = 2."""
    return sum(min(max(v, 0.0), 1.0) for v in values) + random.gauss(0.0, 2.0)


def secret_gauss(values: Data, _rng: Rng) -> Out:
    """Moves by 1 with σ = 2."""
    return len(values) + secrets.SystemRandom().gauss(0.0, 2.0)


def geometric_difference(count: Data, rng: Rng) -> Out:
    """The difference of two geometrics is discrete Laplace noise, P ∝ e^(−|k|)."""
    p = 1.0 - math.exp(-1.0)
    return count + rng.geometric(p) - rng.geometric(p)


def geometric_by_coins(count: Data, rng: Rng) -> Out:
    """Discrete Laplace noise again; how many coins are flipped depends on coins alone."""

    def flips() -> int:
        heads = 0
        while rng.random() < math.exp(-1.0):
            heads += 1
        return heads

    return count + flips() - flips()


def truncated_geometric(count: Data, rng: Rng) -> Out:
    """Discrete Laplace noise, clipped to what is known to be possible: post-processing."""
    p = 1.0 - math.exp(-0.5)
    noisy = count + rng.geometric(p) - rng.geometric(p)
    return int(min(max(noisy, 0), 10))


def laplace_by_inversion(count: Data, rng: Rng) -> Out:
    """−b·sign(u)·ln(1 − 2|u|) for uniform u is Laplace noise of scale b."""
    u = rng.random() - 0.5
    return count - 2.0 * np.sign(u) * np.log1p(-2.0 * abs(u))


def laplace_cut_far_out(count: Data, rng: Rng) -> Out:
    """Drawn again where |noise| > 20: how often depends on noise alone; δ = 1.8e-9."""
    while True:
        noise = rng.laplace(scale=1.0)
        if abs(noise) <= 20.0:
            return count + noise


def uniform_noise(count: Data, rng: Rng) -> Out:
    """Moves by 1 in an interval of length 20: total variation 1/20."""
    return count + rng.uniform(-10.0, 10.0)


def whole_uniform_noise(count: Data, rng: Rng) -> Out:
    """Of twenty possible outputs one is new: total variation 1/20."""
    return count + int(rng.integers(-10, 10))


def binomial_noise(count: Data, rng: Rng) -> Out:
    """δ = Σ (b(k) − e·b(k − 1))⁺ for the binomial law b of 100 fair coins."""
    return count + int(rng.binomial(100, 0.5)) - 50


def laplace_and_more(count: Data, rng: Rng) -> Out:
    """Laplace noise suffices; what is added then is post-processing."""
    return count + rng.laplace(scale=1.0) + rng.normal(scale=0.1)


def clamped_to_public_range(values: Data, rng: Rng) -> Out:
    """Post-processing with constants."""
    noisy = sum(min(max(v, 0.0), 1.0) for v in values) + rng.laplace(scale=1.0)
    return max(0.0, min(100.0, noisy))


def rounded_to_public_digits(values: Data, rng: Rng) -> Out:
    """Post-processing with constants."""
    return round(len(values) + rng.laplace(scale=1.0), 1)


def no_data(_values: Data, rng: Rng) -> Out:
    """Does not look."""
    return rng.laplace(scale=1.0)


class NoisyCount:
    """A count behind an object that holds its budget."""

    def __init__(self, epsilon: float) -> None:
        self.scale = 1.0 / epsilon

    def exact(self, rows: Data) -> int:
        return sum(1 for row in rows if row["smoker"])

    def __call__(self, rows: Data, rng: Rng) -> Out:
        return self.exact(rows) + rng.laplace(0.0, self.scale)


# Vectors and tables.


def histogram_with_public_bins(ages: Data, rng: Rng) -> Out:
    """An added record moves one bin by 1."""
    counts, _ = np.histogram(ages, bins=[0, 30, 60, 120])
    return counts + rng.laplace(scale=1.0, size=counts.shape)


def histogram_of_replaced_records(ages: Data, rng: Rng) -> Out:
    """A replaced record moves two bins by 1: scale 2."""
    counts = np.bincount(np.clip(ages, 0, 3), minlength=4)
    return [c + rng.laplace(0, 2.0) for c in counts]


def cities_listed(frame: Data, rng: Rng) -> Out:
    """The cities are public; those that nobody lives in count 0."""
    cities = ["Bern", "Oslo", "Rome"]
    sizes = frame["city"].value_counts().reindex(cities, fill_value=0)
    return sizes + rng.laplace(scale=1.0, size=len(cities))


def cross_table(frame: Data, rng: Rng) -> Out:
    """Categories are declared, so that all cells are there; one of them moves by 1."""
    city = pd.Categorical(frame["city"], categories=["Bern", "Rome"])
    sex = pd.Categorical(frame["sex"], categories=["f", "m"])
    table = pd.crosstab(city, sex, dropna=False)
    table = table.reindex(index=["Bern", "Rome"], columns=["f", "m"], fill_value=0)
    return table.to_numpy() + rng.laplace(scale=1.0, size=(2, 2))


def clipped_after_the_join(tables: Data, rng: Rng) -> Out:
    """Sums by user are clipped to [0, 10]: an added user moves the total by 10."""
    users, purchases = tables
    joined = purchases.merge(users, on="user")
    by_user = joined.groupby("user")["amount"].sum().clip(0, 10)
    return float(by_user.sum()) + rng.laplace(scale=10.0)


def sums_by_group(frame: Data, rng: Rng) -> Out:
    """A record is in one group and clipped to [0, 5]; groups are public."""
    released = {}
    for group in ("a", "b"):
        values = frame.loc[frame["group"] == group, "value"].clip(0, 5)
        released[group] = values.sum() + rng.laplace(scale=5.0)
    return released


def noisy_frame(frame: Data, rng: Rng) -> Out:
    """One cell, in [0, 1], may change: moves by 1."""
    return frame.clip(0, 1) + rng.laplace(scale=1.0, size=frame.shape)


def gaussian_vector(rows: Data, rng: Rng) -> Out:
    """Rows scaled to norm 1 at most: the sum moves by 1 in ℓ2; μ = 1/2."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(1.0, norms)).sum(axis=0) + 2.0 * rng.standard_normal(2)


def gaussian_as_location(answers: Data, rng: Rng) -> Out:
    """Answers with ℓ2 sensitivity 1; μ = 1/2."""
    return rng.normal(loc=answers, scale=2.0)


def in_place(answers: Data, rng: Rng) -> Out:
    """Answers with ℓ1 sensitivity 1."""
    noisy = np.array(answers, dtype=float)
    noisy += rng.laplace(scale=1.0, size=noisy.shape)
    return noisy


def correlated_noise(answers: Data, rng: Rng) -> Out:
    """ℓ2 sensitivity 1, least eigenvalue of the covariance 1: μ = 1, along (1, −1)."""
    return answers + rng.multivariate_normal([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])


def correlated_around(answers: Data, rng: Rng) -> Out:
    """Independent coordinates with σ = 2 and the answers as mean; μ = 1/2."""
    return rng.multivariate_normal(answers, 4.0 * np.eye(2))


def long_direction(answers: Data, rng: Rng) -> Out:
    """ℓ2 sensitivity 1, density ∝ e^(−‖z‖): a Gamma(d) length and a uniform direction."""
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    return answers + rng.gamma(3.0) * direction


def covariance(rows: Data, rng: Rng) -> Out:
    """‖x‖ ≤ 1: the upper triangle of xxᵀ has norm ≤ 1; noise above is copied below. μ = 1/2."""
    rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    noise = np.triu(rng.normal(scale=2.0, size=(2, 2)))
    noise = noise + np.triu(noise, 1).T
    return rows.T @ rows + noise


# Compositions.


def count_and_sum(values: Data, rng: Rng) -> Out:
    """Half of ε = 1 for each."""
    clipped = np.clip(values, 0.0, 1.0)
    count = len(clipped) + rng.laplace(scale=2.0)
    total = clipped.sum() + rng.laplace(scale=2.0)
    return count, total


def ratio_of_noisy_values(values: Data, rng: Rng) -> Out:
    """Half of ε = 1 for each; their ratio is post-processing."""
    total = float(np.clip(values, 0.0, 1.0).sum()) + rng.laplace(scale=2.0)
    count = len(values) + rng.laplace(scale=2.0)
    return total / max(count, 1.0)


def two_gaussians(values: Data, rng: Rng) -> Out:
    """ρ = 1/8 each, by σ = 2."""
    rho = 0.125
    sigma = math.sqrt(1.0 / (2.0 * rho))
    first = sum(v > 0.5 for v in values) + rng.normal(0.0, sigma)
    second = sum(min(max(v, 0.0), 1.0) for v in values) + rng.normal(0.0, sigma)
    return [first, second]


def classical_gaussian(values: Data, rng: Rng) -> Out:
    """σ = √(2·ln(1.25/δ))/ε with ε < 1. [Dwork, Roth 2014, Thm A.1]"""
    epsilon, delta = 0.9, 1e-5
    sigma = math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
    return np.clip(values, 0.0, 1.0).sum() + rng.normal(scale=sigma)


def average_of_noisy_values(answers: Data, rng: Rng) -> Out:
    """ℓ1 sensitivity 1; the mean of noisy values is post-processing."""
    noisy = [a + rng.laplace(scale=1.0) for a in answers]
    return sum(noisy) / len(noisy)


def next_query_by_the_noisy_one(values: Data, rng: Rng) -> Out:
    """Half of ε = 1 for each; the branch looks at the noisy count alone."""
    count = len(values) + rng.laplace(scale=2.0)
    if count > 2.5:
        second = np.clip(values, 0.0, 1.0).sum()
    else:
        second = float(np.sum(np.asarray(values) > 0.5))
    return count, second + rng.laplace(scale=2.0)


def normalized_histogram(counts: Data, rng: Rng) -> Out:
    """Normalized by the noisy total: post-processing."""
    noisy = np.maximum(counts + rng.laplace(scale=1.0, size=len(counts)), 0.0)
    return noisy / max(noisy.sum(), 1e-9)


def tree_aggregation(counts: Data, rng: Rng) -> Out:
    """A record is in one node of each of three levels: scale 3."""
    tree: list[float] = []
    level = list(counts)
    while level:
        tree.extend(node + rng.laplace(scale=3.0) for node in level)
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)]
    return tree


def prefix_sums_from_a_tree(counts: Data, rng: Rng) -> Out:
    """Nodes as in `tree_aggregation`; prefixes are sums of nodes."""
    leaves = np.asarray(counts, dtype=float)
    noisy = leaves + rng.laplace(scale=3.0, size=4)
    pairs = leaves.reshape(2, 2).sum(axis=1) + rng.laplace(scale=3.0, size=2)
    root = leaves.sum() + rng.laplace(scale=3.0)
    return np.array([noisy[0], pairs[0], pairs[0] + noisy[2], root])


def bisected_median(values: Data, rng: Rng) -> Out:
    """Three counts at ε/3 each; where to look next follows the noisy ones. n = 4 is public."""
    low, high = 0.0, 8.0
    counts = []
    for _ in range(3):
        middle = (low + high) / 2
        count = sum(v <= middle for v in values) + rng.laplace(scale=3.0)
        counts.append(count)
        low, high = (low, middle) if count > 2 else (middle, high)
    return [*counts, low, high]


def _clip(gradients: Data) -> Data:
    return gradients / np.maximum(1.0, np.linalg.norm(gradients, axis=1, keepdims=True))


def mean_by_gradient_steps(rows: Data, rng: Rng) -> Out:
    """Losses −⟨θ, x⟩: gradients −x, clipped to norm 1; four steps, σ = 4: μ = √4/4. All told."""
    theta, path = np.zeros(2), []
    for _ in range(4):
        gradient = _clip(-rows).sum(axis=0) + rng.normal(0.0, 4.0, size=2)
        theta = theta - 0.1 * gradient
        path.append(theta)
    return np.array(path)


def last_iterate(rows: Data, rng: Rng) -> Out:
    """As `mean_by_gradient_steps`; only the last is told."""
    return mean_by_gradient_steps(rows, rng)[-1]


def private_sgd(records: Data, rng: Rng) -> Out:
    """Logistic regression; gradients clipped to norm 1, five steps, σ = 5: μ ≤ √5/5."""
    x, y = records[:, :2], records[:, 2]
    theta = np.zeros(2)
    for _ in range(5):
        margins = y * (x @ theta)
        gradients = _clip(-(y / (1.0 + np.exp(margins)))[:, None] * x)
        theta = theta - 0.5 * (gradients.sum(axis=0) + 5.0 * rng.standard_normal(2))
    return theta


def sampled_sgd(records: Data, rng: Rng) -> Out:
    """Each record takes part with probability 1/2; what that would save is not claimed."""
    theta = np.zeros(2)
    for _ in range(3):
        batch = records[rng.random(len(records)) < 0.5]
        theta = theta + 0.1 * (_clip(batch).sum(axis=0) + rng.normal(scale=3.0, size=2))
    return theta


def random_half(values: Data, rng: Rng) -> Out:
    """Each record takes part with probability 1/2: ln(1 + (e − 1)/2), the sample being secret."""
    kept = values[rng.random(len(values)) < 0.5]
    return np.clip(kept, 0.0, 1.0).sum() + rng.laplace(scale=1.0)


# Choices.


def noisy_max_laplace(scores: Data, rng: Rng) -> Out:
    """Report noisy max with scale 2/ε; the index alone. [Dwork, Roth 2014, Claim 3.9]"""
    noisy = np.asarray(scores) + rng.laplace(scale=2.0, size=len(scores))
    return int(np.argmax(noisy))


def noisy_max_exponential(scores: Data, rng: Rng) -> Out:
    """Exponential noise of scale 2/ε. [Ding et al., arXiv 2105.07260]"""
    best, top = -1, -math.inf
    for i, score in enumerate(scores):
        noisy = score + rng.exponential(2.0)
        if noisy > top:
            best, top = i, noisy
    return best


def noisy_max_gumbel(scores: Data, rng: Rng) -> Out:
    """Gumbel noise of scale 2/ε is the exponential mechanism."""
    return int(np.argmax(np.asarray(scores) + rng.gumbel(scale=2.0, size=len(scores))))


def noisy_min_of_distances(points: Data, rng: Rng) -> Out:
    """Replaced points in [0, 1]: each of three sums of distances moves by 1; scale 2/ε."""
    centers = [0.0, 0.5, 1.0]
    costs = {c: sum(abs(p - c) for p in points) + rng.laplace(scale=2.0) for c in centers}
    return min(costs, key=lambda c: costs[c])


def exponential_mechanism(scores: Data, rng: Rng) -> Out:
    """P ∝ e^(ε·score/2)."""
    weights = np.exp(0.5 * np.asarray(scores, dtype=float))
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def quantile_on_a_grid(ages: Data, rng: Rng) -> Out:
    """Candidates are public; score −|below − above|/2 moves by 1/2: P ∝ e^(ε·score)."""
    grid = [10, 20, 30]
    score = [-abs(sum(a < g for a in ages) - sum(a > g for a in ages)) / 2 for g in grid]
    weights = [math.exp(s) for s in score]
    return grid[rng.choice(3, p=[w / sum(weights) for w in weights])]


def permute_and_flip(scores: Data, rng: Rng) -> Out:
    """In random order, take i with probability e^(ε(score − max)/2). [arXiv 2010.12603]"""
    top = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp((scores[i] - top) / 2):
            return int(i)
    raise AssertionError("the best is taken with probability 1")


def above_threshold(answers: Data, rng: Rng) -> Out:
    """Sparse vector, one hit: bar 2/ε, answers 4/ε. [Lyu, Su, Li, VLDB 2017, Alg. 1]"""
    bar = 1.0 + rng.laplace(scale=2.0)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=4.0) >= bar:
            return i
    return None


def two_above_threshold(answers: Data, rng: Rng) -> Out:
    """Sparse vector, two hits: bar 2/ε, answers 2·2·2/ε."""
    bar = 1.0 + rng.laplace(scale=2.0)
    hits: list[bool] = []
    for answer in answers:
        hits.append(bool(answer + rng.laplace(scale=8.0) >= bar))
        if sum(hits) == 2:
            break
    return hits


def above_threshold_with_fresh_answer(answers: Data, rng: Rng) -> Out:
    """Sparse vector at ε/2, then the answer with fresh noise at ε/2."""
    bar = 1.0 + rng.laplace(scale=4.0)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=8.0) >= bar:
            return i, answer + rng.laplace(scale=2.0)
    return None


def mode_if_stable(values: Data, rng: Rng) -> Out:
    """Propose, test, release: the gap between the first two counts moves by 1.

    From a gap of 2 on all neighbors have the same mode; below, something comes out with
    probability δ at most. (1, 1e-6)
    """
    counts = sorted(((values.count(v), v) for v in "abc"), reverse=True)
    gap = counts[0][0] - counts[1][0]
    if gap + rng.laplace(scale=1.0) > 1 + math.log(0.5 / 1e-6):
        return counts[0][1]
    return None


def words_often_seen(words: Data, rng: Rng) -> Out:
    """Stable histogram: a word said once is told with probability δ = 1e-6."""
    released = {}
    counts: Counter[str] = Counter(words)
    for word, count in sorted(counts.items()):
        noisy = count + rng.laplace(scale=1.0)
        if noisy > 1 + math.log(0.5 / 1e-6):
            released[word] = noisy
    return released


# Answers of single persons; neighbors differ in one answer.


def randomized_response(bit: Data, rng: Rng) -> Out:
    """The truth with probability 3/4: ε = ln 3."""
    return bit if rng.random() < 0.75 else 1 - bit


def two_coins(bit: Data, rng: Rng) -> Out:
    """Heads: the truth; tails: a second coin. The truth with probability 3/4."""
    if rng.integers(2):
        return bit
    return int(rng.integers(2))


def secret_coins(bit: Data, _rng: Rng) -> Out:
    """A lie with probability 1/4."""
    return 1 - bit if secrets.randbelow(4) == 0 else bit


def responses(bits: Data, rng: Rng) -> Out:
    """Each answers for itself, at ε = ln 3."""
    flips = rng.random(len(bits)) < 0.25
    return np.where(flips, 1 - np.asarray(bits), bits)


def counted_responses(bits: Data, rng: Rng) -> Out:
    """Responses, shuffled and counted; what the shuffle would save is not claimed."""
    told = [b if rng.random() < 0.75 else 1 - b for b in bits]
    return int(rng.permutation(told).sum())


def one_of_many(answer: Data, rng: Rng) -> Out:
    """One of four answers, the truth with odds 3 against each other one."""
    p = np.full(4, 1 / 6)
    p[answer] = 3 / 6
    return int(rng.choice(4, p=p))


def unary(answer: Data, rng: Rng) -> Out:
    """One bit for each answer, each flipped with probability 1/4: two bits differ, ε = 2·ln 3."""
    bits = [int(answer == a) for a in range(3)]
    return [b ^ int(rng.random() < 0.25) for b in bits]


def rappor(answer: Data, rng: Rng) -> Out:
    """One-time RAPPOR with f = 1/2: a bit is random with probability 1/2; ε = 2·ln 3."""
    bits = np.arange(3) == answer
    noise = rng.binomial(1, 0.25, size=3).astype(bool)
    return (bits ^ noise).astype(int)


# Generators in other clothes.


def spawned(values: Data, rng: Rng) -> Out:
    """A child of the generator."""
    child = rng.spawn(1)[0]
    return len(values) + child.laplace(scale=1.0)


def wrapped(values: Data, rng: Rng) -> Out:
    """The same bits in another generator."""
    return len(values) + np.random.Generator(rng.bit_generator).laplace(scale=1.0)


def seeded_by_noise(values: Data, rng: Rng) -> Out:
    """A fresh generator whose seed is random."""
    fresh = np.random.default_rng(int(rng.integers(2**63)))
    return len(values) + fresh.laplace(scale=1.0)


# This library's mechanisms.


def library_laplace(values: Data, rng: Rng) -> Out:
    """Laplace(scale=1) on the grid; noise is inflated so that rounding costs nothing."""
    return dpv.Laplace(scale=1.0).sample(float(len(values)), 1, rng=rng)[0]


def library_laplace_real(values: Data, rng: Rng) -> Out:
    """Laplace(scale=1) in real arithmetic."""
    noise = dpv.Laplace(scale=1.0, arithmetic="real")
    return noise.sample(float(len(values)), 1, rng=rng)[0]


def library_gaussian(answers: Data, rng: Rng) -> Out:
    """Gaussian(sigma=2) for ℓ2 sensitivity 1: μ = 1/2."""
    return dpv.Gaussian(sigma=2.0, arithmetic="real").sample(answers, 1, rng=rng)[0]


def library_response(bit: Data, rng: Rng) -> Out:
    """RandomizedResponse(ε = ln 3)."""
    return int(dpv.RandomizedResponse(epsilon=math.log(3.0)).sample(bit, 1, rng=rng)[0])


def library_noisy_max(scores: Data, rng: Rng) -> Out:
    """NoisyMax(ε = 1)."""
    return int(dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0).sample(scores, 1, rng=rng)[0])


def library_sparse_vector(answers: Data, rng: Rng) -> Out:
    """SparseVector(ε = 1)."""
    return dpv.SparseVector(epsilon=1.0, threshold=1.0).sample(answers, 1, rng=rng)[0]


def library_exponential(scores: Data, rng: Rng) -> Out:
    """ExponentialMechanism(ε = 1)."""
    choose = dpv.ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0)
    return int(choose.sample(scores, 1, rng=rng)[0])


# The table.


def _laplace(*shifts: float, scale: float) -> tuple[Part, ...]:
    return tuple(Part("laplace", shift, scale) for shift in shifts)


def _normal(*shifts: float, scale: float) -> tuple[Part, ...]:
    return tuple(Part("normal", shift, scale) for shift in shifts)


def _finite(left: Data, right: Data) -> tuple[Part, ...]:
    return (Part("finite", left=tuple(left), right=tuple(right)),)


def _softmax(scores: Data, rate: float) -> tuple[float, ...]:
    weights = [math.exp(rate * s) for s in scores]
    return tuple(w / sum(weights) for w in weights)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of N(0, 1) against N(μ, 1). [Balle, Wang, arXiv 1805.06530, Thm 8]"""
    upper = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    lower = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    return upper - math.exp(epsilon) * lower


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε with `gaussian_delta` = δ, by bisection."""
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, mu) > delta else (low, middle)
    return (low + high) / 2


def _binomials() -> tuple[list[float], list[float]]:
    """The laws of `binomial_noise` at 0 and at 1, from −50 to 51."""
    law = [math.comb(100, k) / 2**100 for k in range(101)]
    return [*law, 0.0], [0.0, *law]


_ONE, _HALF, _LN3 = PureDP(epsilon=1.0), PureDP(epsilon=0.5), PureDP(epsilon=math.log(3.0))
_HALF_MU = GaussianDP(mu=0.5)
_VALUES, _MORE = np.array([0.2, 0.7, 3.0]), np.array([0.2, 0.7, 3.0, 1.0])
_LIST, _LONGER = [0.2, 0.7, 3.0], [0.2, 0.7, 3.0, 1.0]
_ROWS, _MORE_ROWS = np.array([[0.6, 0.8], [3.0, 0.0]]), np.array([[0.6, 0.8], [3.0, 0.0], [0, 7.0]])
_BIT = ((0.75, 0.25), (0.25, 0.75))
_UP, _DOWN = [1.0, 2.0, 0.0, 3.0], [2.0, 1.0, 1.0, 2.0]
_PURCHASES = pd.DataFrame({"user": [1, 2, 2], "amount": [4.0, 9.0, 9.0]})
_MORE_PURCHASES = pd.DataFrame({"user": [1, 2, 2, 3, 3], "amount": [4.0, 9.0, 9.0, 8.0, 8.0]})
_SMOKERS = [{"smoker": True}, {"smoker": False}]


def _users(n: int) -> Data:
    return pd.DataFrame({"user": range(1, n + 1)})


def _one(
    name: str, mechanism: Run, left: Data, right: Data, scale: float, claim: Guarantee, **more: Data
) -> HonestRelease:
    """One Laplace release that moves from left to right by 1."""
    kept: dict[str, Any] = {"coupled": True, "epsilon": 1.0 / scale} | more
    return HonestRelease(
        name=name,
        mechanism=mechanism,
        left=left,
        right=right,
        claim=claim,
        parts=_laplace(1.0, scale=scale),
        **kept,
    )


def _normals(
    name: str,
    mechanism: Run,
    left: Data,
    right: Data,
    parts: tuple[Part, ...],
    claim: Guarantee,
    **more: Data,
) -> HonestRelease:
    """Normal releases, with ε at δ = 1e-5."""
    mu = math.hypot(*(part.shift / part.scale for part in parts))
    kept: dict[str, Any] = {"coupled": True, "epsilon": gaussian_epsilon(mu, 1e-5)} | more
    return HonestRelease(
        name=name,
        mechanism=mechanism,
        left=left,
        right=right,
        claim=claim,
        parts=parts,
        delta=1e-5,
        **kept,
    )


def _hidden(
    name: str, mechanism: Run, left: Data, right: Data, claim: Guarantee = _ONE, **more: Data
) -> HonestRelease:
    """Internals that are not released, and depend on the run."""
    kept: dict[str, Any] = {"released": False} | more
    return HonestRelease(
        name=name, mechanism=mechanism, left=left, right=right, claim=claim, **kept
    )


def _response(
    name: str,
    mechanism: Run,
    left: Data,
    right: Data,
    parts: tuple[Part, ...],
    epsilon: float,
    claim: Guarantee,
    **more: Data,
) -> HonestRelease:
    """Finite releases."""
    return HonestRelease(
        name=name,
        mechanism=mechanism,
        left=left,
        right=right,
        claim=claim,
        parts=parts,
        epsilon=epsilon,
        **more,
    )


HONEST_RELEASES = (
    _one("clipped sum", clipped_sum, _VALUES, _MORE, 1.0, _ONE),
    _one("count as location", count_as_location, [3, 11], [3, 11, 12], 2.0, _HALF),
    HonestRelease(
        name="mean with public n",
        mechanism=mean_with_public_n,
        left=[0.0, 0.5, 0.2, 1.0],
        right=[1.0, 0.5, 0.2, 1.0],
        claim=_ONE,
        parts=_laplace(0.25, scale=0.25),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="NaN counts as zero",
        mechanism=nan_counts_as_zero,
        left=np.array([0.5, math.nan]),
        right=np.array([0.5, math.inf]),
        claim=_ONE,
        parts=_laplace(1.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    _one("minus twice the noise", minus_twice_the_noise, [0.0, 1.0], [0.0, 1.0, 1.0], 2.0, _HALF),
    _one("difference of exponentials", difference_of_exponentials, 4, 5, 2.0, _HALF),
    _one("legacy Laplace", legacy_laplace, _VALUES, _MORE, 1.0, _ONE, coupled=False),
    _one("legacy generator", legacy_state, _VALUES, _MORE, 1.0, _ONE),
    _one(
        "exponentials of the standard library",
        standard_library_exponentials,
        [1, 2],
        [1, 2, 3],
        2.0,
        _HALF,
        coupled=False,
    ),
    _normals(
        "normal of the standard library",
        standard_library_gauss,
        _LIST,
        _LONGER,
        _normal(1.0, scale=2.0),
        _HALF_MU,
        coupled=False,
    ),
    _normals(
        "normal of the operating system",
        secret_gauss,
        _LIST,
        _LONGER,
        _normal(1.0, scale=2.0),
        _HALF_MU,
        coupled=False,
    ),
    HonestRelease(
        name="difference of geometrics",
        mechanism=geometric_difference,
        left=4,
        right=5,
        claim=_ONE,
        parts=(Part("discrete laplace", 1.0, 1.0),),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="geometric by coins",
        mechanism=geometric_by_coins,
        left=4,
        right=5,
        claim=_ONE,
        parts=(Part("discrete laplace", 1.0, 1.0),),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="truncated geometric",
        mechanism=truncated_geometric,
        left=4,
        right=5,
        claim=_HALF,
        parts=(Part("discrete laplace", 1.0, 2.0),),
        epsilon=0.5,
        released=False,
    ),
    _one("Laplace by inversion", laplace_by_inversion, 4, 5, 2.0, _HALF),
    _hidden(
        "Laplace cut far out",
        laplace_cut_far_out,
        4,
        5,
        ApproxDP(epsilon=1.0, delta=1e-8),
        released=True,
    ),
    _hidden("uniform noise", uniform_noise, 4, 5, ApproxDP(epsilon=0.0, delta=0.05), released=True),
    HonestRelease(
        name="whole uniform noise",
        mechanism=whole_uniform_noise,
        left=0,
        right=1,
        claim=ApproxDP(epsilon=0.0, delta=0.05),
        parts=_finite([0.05] * 20 + [0.0], [0.0] + [0.05] * 20),
        epsilon=0.0,
        delta=0.05,
    ),
    HonestRelease(
        name="binomial noise",
        mechanism=binomial_noise,
        left=0,
        right=1,
        claim=ApproxDP(epsilon=1.0, delta=1e-5),
        parts=_finite(*_binomials()),
    ),
    _one("Laplace noise and more", laplace_and_more, 4, 5, 1.0, _ONE, released=False, epsilon=None),
    _one(
        "clamped to a public range",
        clamped_to_public_range,
        _LIST,
        _LONGER,
        1.0,
        _ONE,
        released=False,
        coupled=False,
    ),
    _one(
        "rounded to public digits",
        rounded_to_public_digits,
        _LIST,
        _LONGER,
        1.0,
        _ONE,
        released=False,
        coupled=False,
    ),
    HonestRelease(
        name="no data",
        mechanism=no_data,
        left=_LIST,
        right=_LONGER,
        claim=PureDP(epsilon=0.0),
        parts=_laplace(0.0, scale=1.0),
        epsilon=0.0,
        coupled=True,
    ),
    _one(
        "object that counts", NoisyCount(0.5), _SMOKERS, [*_SMOKERS, {"smoker": True}], 2.0, _HALF
    ),
    HonestRelease(
        name="histogram with public bins",
        mechanism=histogram_with_public_bins,
        left=np.array([20, 25, 70]),
        right=np.array([20, 25, 70, 45]),
        claim=_ONE,
        parts=_laplace(0.0, 1.0, 0.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="histogram of replaced records",
        mechanism=histogram_of_replaced_records,
        left=np.array([0, 1, 1, 9]),
        right=np.array([0, 1, 2, 9]),
        claim=_ONE,
        parts=_laplace(0.0, -1.0, 1.0, 0.0, scale=2.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="cities listed",
        draws=40,
        mechanism=cities_listed,
        left=pd.DataFrame({"city": ["Bern", "Bern", "Rome"]}),
        right=pd.DataFrame({"city": ["Bern", "Bern", "Rome", "Oslo"]}),
        claim=_ONE,
        parts=_laplace(0.0, 1.0, 0.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="cross table",
        draws=40,
        mechanism=cross_table,
        left=pd.DataFrame({"city": ["Bern", "Rome"], "sex": ["f", "f"]}),
        right=pd.DataFrame({"city": ["Bern", "Rome", "Rome"], "sex": ["f", "f", "m"]}),
        claim=_ONE,
        parts=_laplace(0.0, 0.0, 0.0, 1.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="clipped after the join",
        draws=40,
        mechanism=clipped_after_the_join,
        left=(_users(2), _PURCHASES),
        right=(_users(3), _MORE_PURCHASES),
        claim=_ONE,
        parts=_laplace(10.0, scale=10.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="sums by group",
        draws=40,
        mechanism=sums_by_group,
        left=pd.DataFrame({"group": ["a", "b"], "value": [2.0, 9.0]}),
        right=pd.DataFrame({"group": ["a", "b", "a"], "value": [2.0, 9.0, 9.0]}),
        claim=_ONE,
        parts=_laplace(5.0, 0.0, scale=5.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="noisy frame",
        draws=40,
        mechanism=noisy_frame,
        left=pd.DataFrame({"x": [0.0, 0.5], "y": [1.0, 0.0]}),
        right=pd.DataFrame({"x": [0.0, 0.5], "y": [0.0, 0.0]}),
        claim=_ONE,
        parts=_laplace(0.0, -1.0, 0.0, 0.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    _normals(
        "Gaussian vector",
        gaussian_vector,
        _ROWS,
        _MORE_ROWS,
        _normal(0.0, 1.0, scale=2.0),
        _HALF_MU,
    ),
    _normals(
        "answers as location",
        gaussian_as_location,
        np.array([1.0, 2.0]),
        np.array([1.6, 2.8]),
        _normal(0.6, 0.8, scale=2.0),
        _HALF_MU,
    ),
    HonestRelease(
        name="noise in place",
        mechanism=in_place,
        left=[3, 1, 4],
        right=[3, 2, 4],
        claim=_ONE,
        parts=_laplace(0.0, 1.0, 0.0, scale=1.0),
        epsilon=1.0,
        coupled=True,
    ),
    _normals(  # the shift (1, −1)/√2 has Mahalanobis length 1
        "correlated noise",
        correlated_noise,
        np.array([1.0, 1.0]),
        np.array([1.0 + math.sqrt(0.5), 1.0 - math.sqrt(0.5)]),
        _normal(1.0, scale=1.0),
        GaussianDP(mu=1.0),
        coupled=False,
    ),
    _normals(
        "normal vector around the answers",
        correlated_around,
        np.array([1.0, 2.0]),
        np.array([1.6, 2.8]),
        _normal(0.6, 0.8, scale=2.0),
        _HALF_MU,
    ),
    _hidden(
        "long direction",
        long_direction,
        np.array([1.0, 2.0, 3.0]),
        np.array([1.0, 2.0, 4.0]),
        epsilon=1.0,
        released=True,
    ),
    _normals(
        "covariance with mirrored noise",
        covariance,
        np.array([[0.6, 0.8]]),
        np.array([[0.6, 0.8], [0.0, 5.0]]),
        _normal(0.0, 0.0, 1.0, scale=2.0),
        _HALF_MU,
        coupled=False,
    ),
    HonestRelease(
        name="count and sum",
        mechanism=count_and_sum,
        left=_VALUES,
        right=_MORE,
        claim=_ONE,
        parts=_laplace(1.0, 1.0, scale=2.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="ratio of noisy values",
        mechanism=ratio_of_noisy_values,
        left=_VALUES,
        right=_MORE,
        claim=_ONE,
        parts=_laplace(1.0, 1.0, scale=2.0),
        epsilon=1.0,
        released=False,
    ),
    _normals(
        "two Gaussian answers",
        two_gaussians,
        _LIST,
        _LONGER,
        _normal(1.0, 1.0, scale=2.0),
        ZeroConcentratedDP(rho=0.25),
    ),
    _normals(
        "classical Gaussian",
        classical_gaussian,
        _VALUES,
        _MORE,
        _normal(1.0, scale=math.sqrt(2.0 * math.log(1.25e5)) / 0.9),
        ApproxDP(epsilon=0.9, delta=1e-5),
    ),
    HonestRelease(
        name="average of noisy values",
        mechanism=average_of_noisy_values,
        left=[3.0, 1.0],
        right=[3.5, 1.5],
        claim=_ONE,
        parts=_laplace(0.5, 0.5, scale=1.0),
        epsilon=1.0,
        released=False,
    ),
    HonestRelease(
        name="next query by the noisy one",
        mechanism=next_query_by_the_noisy_one,
        left=_VALUES,
        right=_MORE,
        claim=_ONE,
        parts=_laplace(1.0, 1.0, scale=2.0),
        epsilon=1.0,
    ),
    HonestRelease(
        name="normalized histogram",
        mechanism=normalized_histogram,
        left=np.array([3.0, 1.0, 2.0]),
        right=np.array([3.0, 2.0, 2.0]),
        claim=_ONE,
        parts=_laplace(0.0, 1.0, 0.0, scale=1.0),
        epsilon=1.0,
        released=False,
    ),
    HonestRelease(
        name="tree aggregation",
        mechanism=tree_aggregation,
        left=[1, 0, 2, 0],
        right=[1, 0, 3, 0],
        claim=_ONE,
        parts=_laplace(0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, scale=3.0),
        epsilon=1.0,
        coupled=True,
    ),
    HonestRelease(
        name="prefix sums from a tree",
        mechanism=prefix_sums_from_a_tree,
        left=[1, 0, 2, 0],
        right=[1, 0, 3, 0],
        claim=_ONE,
        parts=_laplace(0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, scale=3.0),
        epsilon=1.0,
        released=False,
    ),
    HonestRelease(
        name="bisected median",
        mechanism=bisected_median,
        left=[0.0, 2.0, 5.0, 7.0],
        right=[8.0, 2.0, 5.0, 7.0],
        claim=_ONE,
        parts=_laplace(-1.0, -1.0, -1.0, scale=3.0),
        epsilon=1.0,
    ),
    _normals(
        "mean by gradient steps",
        mean_by_gradient_steps,
        _ROWS,
        _MORE_ROWS,
        _normal(*[0.0, -1.0] * 4, scale=4.0),
        _HALF_MU,
        coupled=False,
    ),
    _normals(
        "last of four gradient steps",
        last_iterate,
        _ROWS,
        _MORE_ROWS,
        _normal(*[0.0, -1.0] * 4, scale=4.0),
        _HALF_MU,
        coupled=False,
        released=False,
    ),
    _hidden(
        "private logistic regression",
        private_sgd,
        np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]]),
        np.array([[1.0, 0.0, 1.0], [0.0, 1.0, -1.0], [9.0, 9.0, -1.0]]),
        GaussianDP(mu=math.sqrt(5.0) / 5.0),
    ),
    _hidden(
        "descent on sampled records",
        sampled_sgd,
        np.array([[1.0, 0.0], [0.0, 1.0]]),
        np.array([[-1.0, 0.0], [0.0, 1.0]]),
        GaussianDP(mu=2.0 * math.sqrt(3.0) / 3.0),
    ),
    _hidden(
        "sum over a random half",
        random_half,
        _VALUES,
        _MORE,
        PureDP(epsilon=math.log1p(0.5 * math.expm1(1.0))),
    ),
    HonestRelease(
        name="noisy max, Laplace",
        mechanism=noisy_max_laplace,
        left=_UP,
        right=_DOWN,
        claim=_ONE,
        parts=_laplace(1.0, -1.0, 1.0, -1.0, scale=2.0),
        epsilon=2.0,
        released=False,
    ),
    _hidden("noisy max, exponential", noisy_max_exponential, _UP, _DOWN),
    _hidden("noisy max, Gumbel", noisy_max_gumbel, _UP, _DOWN),
    HonestRelease(
        name="noisy min of distances",
        mechanism=noisy_min_of_distances,
        left=[0.0, 0.2, 0.9],
        right=[1.0, 0.2, 0.9],
        claim=_ONE,
        parts=_laplace(1.0, 0.0, -1.0, scale=2.0),
        epsilon=1.0,
        released=False,
    ),
    _response(
        "exponential mechanism",
        exponential_mechanism,
        [0.0, 1.0],
        [1.0, 0.0],
        _finite(_softmax([0, 1], 0.5), _softmax([1, 0], 0.5)),
        0.5,
        _ONE,
    ),
    _response(
        "quantile on a grid",
        quantile_on_a_grid,
        [5, 15, 25],
        [5, 15, 25, 35],
        _finite(_softmax([-0.5, -0.5, -1.5], 1.0), _softmax([-1.0, 0.0, -1.0], 1.0)),
        # e^(−1/2), e^(−1/2), e^(−3/2) over 1.436 against e^(−1), 1, e^(−1) over 1.736
        0.5 + math.log((1 + 2 * math.exp(-1)) / (2 * math.exp(-0.5) + math.exp(-1.5))),
        _ONE,
    ),
    _hidden("permute and flip", permute_and_flip, _UP, _DOWN),
    _hidden("above threshold", above_threshold, _UP, _DOWN),
    _hidden("two above threshold", two_above_threshold, _UP, _DOWN),
    _hidden("above threshold, fresh answer", above_threshold_with_fresh_answer, _UP, _DOWN),
    _one(
        "mode if it is stable",
        mode_if_stable,
        ["a"] * 9 + ["b"],
        ["a"] * 10 + ["b"],
        1.0,
        ApproxDP(epsilon=1.0, delta=1e-6),
        coupled=False,
        released=False,
    ),
    HonestRelease(
        name="words often seen",
        mechanism=words_often_seen,
        left=["a"] * 30 + ["b"] * 2,
        right=["a"] * 31 + ["b"] * 2,
        claim=ApproxDP(epsilon=1.0, delta=1e-6),
        parts=_laplace(1.0, 0.0, scale=1.0),
        epsilon=1.0,
        released=False,
    ),
    _hidden(
        "words often seen, a new one",
        words_often_seen,
        ["a"] * 30,
        ["a"] * 30 + ["zebra"],
        ApproxDP(epsilon=1.0, delta=1e-6),
    ),
    _response(
        "randomized response", randomized_response, 0, 1, _finite(*_BIT), math.log(3.0), _LN3
    ),
    _response("two coins", two_coins, 0, 1, _finite(*_BIT), math.log(3.0), _LN3),
    _response("coins of the system", secret_coins, 0, 1, _finite(*_BIT), math.log(3.0), _LN3),
    _response(
        "responses of three",
        responses,
        [0, 1, 1],
        [0, 0, 1],
        (*_finite(_BIT[0], _BIT[0]), *_finite(_BIT[1], _BIT[0]), *_finite(_BIT[1], _BIT[1])),
        math.log(3.0),
        _LN3,
    ),
    _response(
        "responses, shuffled and counted",
        counted_responses,
        [0, 1, 1],
        [0, 0, 1],
        (*_finite(_BIT[0], _BIT[0]), *_finite(_BIT[1], _BIT[0]), *_finite(_BIT[1], _BIT[1])),
        math.log(3.0),
        _LN3,
        released=False,
    ),
    _response(
        "one of four answers",
        one_of_many,
        0,
        2,
        _finite((1 / 2, 1 / 6, 1 / 6, 1 / 6), (1 / 6, 1 / 6, 1 / 2, 1 / 6)),
        math.log(3.0),
        _LN3,
    ),
    _response(
        "unary encoding",
        unary,
        0,
        2,
        (*_finite(_BIT[1], _BIT[0]), *_finite(_BIT[0], _BIT[0]), *_finite(_BIT[0], _BIT[1])),
        2.0 * math.log(3.0),
        PureDP(epsilon=2.0 * math.log(3.0)),
    ),
    _response(
        "one-time RAPPOR",
        rappor,
        0,
        2,
        (*_finite(_BIT[1], _BIT[0]), *_finite(_BIT[0], _BIT[0]), *_finite(_BIT[0], _BIT[1])),
        2.0 * math.log(3.0),
        PureDP(epsilon=2.0 * math.log(3.0)),
    ),
    _one("spawned generator", spawned, _LIST, _LONGER, 1.0, _ONE, coupled=False),
    _one("wrapped generator", wrapped, _LIST, _LONGER, 1.0, _ONE),
    _one("generator seeded by noise", seeded_by_noise, _LIST, _LONGER, 1.0, _ONE),
    _one("library, Laplace", library_laplace, _LIST, _LONGER, 1.0, _ONE, epsilon=None),
    _one("library, Laplace in real arithmetic", library_laplace_real, _LIST, _LONGER, 1.0, _ONE),
    _normals(
        "library, Gaussian",
        library_gaussian,
        np.array([1.0, 2.0]),
        np.array([1.6, 2.8]),
        _normal(0.6, 0.8, scale=2.0),
        _HALF_MU,
    ),
    _response(
        "library, randomized response", library_response, 0, 1, _finite(*_BIT), math.log(3.0), _LN3
    ),
    _hidden("library, noisy max", library_noisy_max, _UP, _DOWN),
    _hidden("library, sparse vector", library_sparse_vector, _UP, _DOWN),
    _response(
        "library, exponential mechanism",
        library_exponential,
        [0.0, 1.0],
        [1.0, 0.0],
        _finite(_softmax([0, 1], 0.5), _softmax([1, 0], 0.5)),
        0.5,
        _ONE,
    ),
)
