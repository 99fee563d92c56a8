"""Programs to be proved or refuted, for all neighbors that their schema allows.

Ordinary functions `mechanism(data, rng)`. Probabilities are binary fractions and claims of them are
rounded up, so that every verdict holds for the floats as they stand: ln 4 is claimed as the float
above it. Laplace programs take ε as a keyword, for tools that prove all ε at once.

Broken programs come with neighbors and an event of the output, with its exact probabilities.
"""

# ruff: noqa: PERF401  # loops as many authors write them

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.stats import norm

from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from dpverify.neighbors import Relation
from tests.certifying.exponentials import below, density, integral, reaches, value
from tests.certifying.schemas import Answers, BoxedVector, Category, Number, Records, Schema

Rng: TypeAlias = np.random.Generator
Data: TypeAlias = Any
Out: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Neighbors, and an event that has `masses` on them, which break the claim."""

    left: Data
    right: Data
    event: Callable[[Out], bool]
    masses: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A mechanism, the data it takes, a claim, and what a proof or a refutation must say.

    `finite`: the noise is whole and there are finitely many outputs, so that exact distributions
    decide; for those the schema is a finite box.
    """

    name: str
    mechanism: Callable[..., Out]
    schema: Schema
    claim: Guarantee
    verdict: Literal["proved", "refuted"]
    why: str
    finite: bool = False
    counterexample: Counterexample | None = None


# Sparse vector: the six variants of Lyu, Su and Li, VLDB 2017, Figure 1, with sensitivity 1.


def sparse_vector_1(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    bar = rng.laplace(scale=2 / epsilon)
    out = []
    for answer in answers:
        if answer + rng.laplace(scale=4 / epsilon) >= bar:
            out.append(True)
            break
        out.append(False)
    return out


def sparse_vector_1_twice(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Two hits, c = 2."""
    bar = rng.laplace(scale=2 / epsilon)
    hits = 0
    out = []
    for answer in answers:
        noisy = answer + rng.laplace(scale=8 / epsilon)
        if noisy >= bar:
            out.append(True)
            hits += 1
            if hits >= 2:
                break
        else:
            out.append(False)
    return out


def sparse_vector_2(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Two hits; after each the bar gets fresh noise."""
    bar = rng.laplace(scale=4 / epsilon)
    hits = 0
    out = []
    for answer in answers:
        if answer + rng.laplace(scale=8 / epsilon) >= bar:
            out.append(True)
            bar = rng.laplace(scale=4 / epsilon)
            hits += 1
            if hits >= 2:
                return out
        else:
            out.append(False)
    return out


def sparse_vector_3(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Tells the noisy answer that reached the bar."""
    bar = rng.laplace(scale=2 / epsilon)
    out: list[float | None] = []
    for answer in answers:
        noisy = answer + rng.laplace(scale=2 / epsilon)
        if noisy >= bar:
            out.append(noisy)
            break
        out.append(None)
    return out


def sparse_vector_4(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """A quarter of ε for the bar; the noise on answers lacks the factor 2c."""
    bar = rng.laplace(scale=4 / epsilon)
    out = []
    for answer in answers:
        if answer + rng.laplace(scale=4 / (3 * epsilon)) >= bar:
            out.append(True)
            break
        out.append(False)
    return out


def sparse_vector_5(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """No noise on answers."""
    bar = rng.laplace(scale=2 / epsilon)
    return [answer >= bar for answer in answers]


def sparse_vector_6(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Never stops."""
    bar = rng.laplace(scale=2 / epsilon)
    out = []
    for answer in answers:
        out.append(bool(answer + rng.laplace(scale=2 / epsilon) >= bar))
    return out


def sparse_vector_half_noise(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    bar = rng.laplace(scale=2 / epsilon)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=2 / epsilon) >= bar:
            return i
    return -1


def sparse_vector_monotone(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Half of the noise again, for answers that all move the same way."""
    bar = rng.laplace(scale=2 / epsilon)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=2 / epsilon) >= bar:
            return i
    return -1


def numerical_sparse_vector(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """A third of ε for the bar, for the comparison, and for a fresh noisy answer."""
    bar = rng.laplace(scale=3 / epsilon)
    out: list[float] = []
    for answer in answers:
        if answer + rng.laplace(scale=6 / epsilon) >= bar:
            out.append(answer + rng.laplace(scale=3 / epsilon))
            break
        out.append(-math.inf)
    return out


def numerical_sparse_vector_unpaid(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """All of ε for sparse vector, and then a fresh noisy answer for the whole of it again."""
    bar = rng.laplace(scale=2 / epsilon)
    for i, answer in enumerate(answers):
        if answer + rng.laplace(scale=4 / epsilon) >= bar:
            return i, answer + rng.laplace(scale=0.5 / epsilon)
    return -1, 0.0


def gap_sparse_vector(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Tells by how much the bar was passed."""
    bar = rng.laplace(scale=2 / epsilon)
    for i, answer in enumerate(answers):
        gap = answer + rng.laplace(scale=4 / epsilon) - bar
        if gap >= 0:
            return i, gap
    return -1, 0.0


# Noisy max and min.


def noisy_max(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [s + rng.laplace(scale=2 / epsilon) for s in scores]
    return noisy.index(max(noisy))


def noisy_max_loop(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    best, top = 0, scores[0] + rng.laplace(scale=2 / epsilon)
    for i in range(1, len(scores)):
        noisy = scores[i] + rng.laplace(scale=2 / epsilon)
        if noisy > top:
            best, top = i, noisy
    return best


def noisy_max_numpy(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return np.argmax(scores + rng.laplace(scale=2 / epsilon, size=len(scores)))


def noisy_max_value(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return max(s + rng.laplace(scale=2 / epsilon) for s in scores)


def noisy_max_half(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [s + rng.laplace(scale=1 / epsilon) for s in scores]
    return noisy.index(max(noisy))


def noisy_max_gap(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The index, and how far ahead it is: free. [Ding et al., arXiv 1904.12773]"""
    noisy = [s + rng.laplace(scale=2 / epsilon) for s in scores]
    best = noisy.index(max(noisy))
    second = max(noisy[:best] + noisy[best + 1 :])
    return best, noisy[best] - second


def noisy_min(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [c + rng.laplace(scale=2 / epsilon) for c in costs]
    return noisy.index(min(noisy))


def noisy_min_half(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [c + rng.laplace(scale=1 / epsilon) for c in costs]
    return noisy.index(min(noisy))


def exponential_max(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [s + rng.exponential(2 / epsilon) for s in scores]
    return noisy.index(max(noisy))


def exponential_max_half(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [s + rng.exponential(1 / epsilon) for s in scores]
    return noisy.index(max(noisy))


def exponential_max_value(scores: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return max(s + rng.exponential(2 / epsilon) for s in scores)


def exponential_min(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The largest of −cost + noise."""
    noisy = [rng.exponential(2 / epsilon) - c for c in costs]
    return noisy.index(max(noisy))


def exponential_min_half(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    noisy = [rng.exponential(1 / epsilon) - c for c in costs]
    return noisy.index(max(noisy))


def exponential_min_value(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return max(rng.exponential(2 / epsilon) - c for c in costs)


def exponential_min_added(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The smallest of cost + noise: exponential noise has one good side only."""
    noisy = [c + rng.exponential(2 / epsilon) for c in costs]
    return noisy.index(min(noisy))


def noisy_min_value(costs: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return min(c + rng.laplace(scale=2 / epsilon) for c in costs)


def geometric_min(costs: Data, rng: Rng) -> Out:
    """The largest of noise − cost."""
    noisy = [rng.geometric(0.5) - c for c in costs]
    return noisy.index(max(noisy))


def geometric_min_value(costs: Data, rng: Rng) -> Out:
    return min(max(rng.geometric(0.5) - c for c in costs), 9)


def geometric_min_added(costs: Data, rng: Rng) -> Out:
    """The smallest of cost + noise."""
    noisy = [c + rng.geometric(0.5) for c in costs]
    return noisy.index(min(noisy))


def geometric_max(scores: Data, rng: Rng) -> Out:
    """Geometric noise, P(k) = 2^(−k); the first of equals wins."""
    noisy = [s + rng.geometric(0.5) for s in scores]
    return noisy.index(max(noisy))


def geometric_max_value(scores: Data, rng: Rng) -> Out:
    return min(max(s + rng.geometric(0.5) for s in scores), 9)


def geometric_max_last(scores: Data, rng: Rng) -> Out:
    """Of equals the last wins."""
    best, top = 0, -1
    for i, s in enumerate(scores):
        noisy = s + rng.geometric(0.5)
        if noisy >= top:
            best, top = i, noisy
    return best


def geometric_max_tie(scores: Data, rng: Rng) -> Out:
    """Says −1 where two are equal."""
    first = scores[0] + rng.geometric(0.5)
    second = scores[1] + rng.geometric(0.5)
    if first == second:
        return -1
    return 0 if first > second else 1


def geometric_max_tie_by_data(scores: Data, rng: Rng) -> Out:
    """Of equals the one with the larger true score wins."""
    first = scores[0] + rng.geometric(0.5)
    second = scores[1] + rng.geometric(0.5)
    if first == second:
        return 0 if scores[0] > scores[1] else 1
    return 0 if first > second else 1


def permute_and_flip(scores: Data, rng: Rng) -> Out:
    """In random order, take i with probability 2^(score − max). [arXiv 2010.12603]"""
    top = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < 2.0 ** (scores[i] - top):
            return i
    return -1


def permute_and_flip_steep(scores: Data, rng: Rng) -> Out:
    top = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < 4.0 ** (scores[i] - top):
            return i
    return -1


def flip_in_order(scores: Data, rng: Rng) -> Out:
    """No permutation: the first is asked first."""
    top = max(scores)
    for i in range(len(scores)):
        if rng.random() < 2.0 ** (scores[i] - top):
            return i
    return -1


def exponential_mechanism(scores: Data, rng: Rng) -> Out:
    """P ∝ 2^score."""
    weights = [2.0**s for s in scores]
    total = sum(weights)
    return rng.choice(len(scores), p=[w / total for w in weights])


def exponential_mechanism_steep(scores: Data, rng: Rng) -> Out:
    weights = [4.0**s for s in scores]
    total = sum(weights)
    return rng.choice(len(scores), p=[w / total for w in weights])


# Sums.


def partial_sum(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    total = 0.0
    for v in values:
        total = total + v
    return total + rng.laplace(scale=1 / epsilon)


def partial_sum_twice(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Released before the last value, and after it."""
    total = sum(values[:-1])
    early = total + rng.laplace(scale=1 / epsilon)
    return early, total + values[-1] + rng.laplace(scale=1 / epsilon)


def prefix_sum(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Every value gets its noise; sums of them are post-processing."""
    out, total = [], 0.0
    for v in values:
        total = total + v + rng.laplace(scale=1 / epsilon)
        out.append(total)
    return out


def prefix_sum_fresh(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Every prefix gets its noise: the first value is in all of them."""
    out, total = [], 0.0
    for v in values:
        total = total + v
        out.append(total + rng.laplace(scale=1 / epsilon))
    return out


def smart_sum(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Blocks of two: a value is in one noise of its own and in one of its block."""
    out: list[float] = []
    done, block, running = 0.0, 0.0, 0.0
    for i, v in enumerate(values):
        if i % 2 == 1:
            done = done + block + v + rng.laplace(scale=2 / epsilon)
            block, running = 0.0, done
        else:
            block = block + v
            running = running + v + rng.laplace(scale=2 / epsilon)
        out.append(running)
    return out


def smart_sum_half(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    out: list[float] = []
    done, block, running = 0.0, 0.0, 0.0
    for i, v in enumerate(values):
        if i % 2 == 1:
            done = done + block + v + rng.laplace(scale=1 / epsilon)
            block, running = 0.0, done
        else:
            block = block + v
            running = running + v + rng.laplace(scale=1 / epsilon)
        out.append(running)
    return out


def histogram(colors: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    counts = [0, 0, 0]
    for c in colors:
        counts[c] += 1
    return [n + rng.laplace(scale=1 / epsilon) for n in counts]


def whole_histogram(bits: Data, rng: Rng) -> Out:
    """Discrete Laplace noise, P ∝ 2^(−|k|), on two counts, cut to what is possible."""
    ones = sum(bits)
    out = []
    for count in (ones, len(bits) - ones):
        noisy = count + rng.geometric(0.5) - rng.geometric(0.5)
        out.append(min(max(noisy, 0), len(bits)))
    return out


def truncated_geometric(count: Data, rng: Rng) -> Out:
    noisy = count + rng.geometric(0.5) - rng.geometric(0.5)
    return min(max(noisy, 0), 4)


def one_sided_geometric(count: Data, rng: Rng) -> Out:
    return min(count + rng.geometric(0.5) - 1, 4)


def natural_geometric(count: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The same with ratio e^(−ε), as people write it."""
    p = 1.0 - math.exp(-epsilon)
    noisy = count + rng.geometric(p) - rng.geometric(p)
    return min(max(noisy, 0), 4)


# Answers of one person.


def response(bit: Data, rng: Rng) -> Out:
    """The truth with probability 3/4."""
    return bit if rng.random() < 0.75 else 1 - bit


def response_of_many(answer: Data, rng: Rng) -> Out:
    """One of four; a lie with probability 1/2, evenly: odds of 3 against each other one."""
    if rng.random() < 0.5:
        return answer
    return (answer + rng.integers(1, 4)) % 4


def response_of_many_truthful(answer: Data, rng: Rng) -> Out:
    """Truth with probability 3/4, as if there were two answers: odds of 9."""
    if rng.random() < 0.75:
        return answer
    return (answer + rng.integers(1, 4)) % 4


def unary_response(answer: Data, rng: Rng) -> Out:
    """A bit for each of three answers, each flipped with probability 1/4."""
    return [int(answer == a) ^ int(rng.random() < 0.25) for a in range(3)]


def rappor_once(answer: Data, rng: Rng) -> Out:
    """f = 1/2: a bit is random with probability 1/2."""
    out = []
    for a in range(3):
        bit = int(answer == a)
        if rng.random() < 0.5:
            bit = int(rng.integers(2))
        out.append(bit)
    return out


def rappor(answer: Data, rng: Rng) -> Out:
    """Permanent bits as in `rappor_once`, and two reports, whose bits follow them with 3/4."""
    permanent = []
    for a in range(2):
        bit = int(answer == a)
        if rng.random() < 0.5:
            bit = int(rng.integers(2))
        permanent.append(bit)
    reports = []
    for _ in range(2):
        reports.append([int(rng.random() < (0.75 if bit else 0.25)) for bit in permanent])
    return reports


def rappor_forgetful(answer: Data, rng: Rng) -> Out:
    """The permanent bits are drawn anew for every report, and told as they are."""
    reports = []
    for _ in range(2):
        report = []
        for a in range(2):
            bit = int(answer == a)
            if rng.random() < 0.5:
                bit = int(rng.integers(2))
            report.append(bit)
        reports.append(report)
    return reports


# Above a threshold on means.


def mean_above(rows: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Four rows in [0, 1]²: a column's mean moves by 1/4 when a row is replaced."""
    bar = 0.5 + rng.laplace(scale=0.5 / epsilon)
    for j in range(2):
        mean = sum(row[j] for row in rows) / 4
        if mean + rng.laplace(scale=1 / epsilon) >= bar:
            return j
    return -1


def mean_above_small(rows: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Noise as if there were forty rows."""
    bar = 0.5 + rng.laplace(scale=0.05 / epsilon)
    for j in range(2):
        mean = sum(row[j] for row in rows) / 4
        if mean + rng.laplace(scale=0.1 / epsilon) >= bar:
            return j
    return -1


# Invented here.


def majority(bits: Data, rng: Rng) -> Out:
    """Whether most of three say yes, by a count with discrete Laplace noise."""
    count = sum(bits) + rng.geometric(0.5) - rng.geometric(0.5)
    return count >= 2


def count_then_sum(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Half of ε for a count, and the rest for a sum if the noisy count is large enough."""
    count = len(values) + rng.laplace(scale=2 / epsilon)
    if count < 1:
        return count, 0.0
    return count, sum(values) + rng.laplace(scale=2 / epsilon)


def count_then_exact(values: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The noisy count decides, and then the sum is told as it is."""
    count = len(values) + rng.laplace(scale=1 / epsilon)
    return sum(values) if count > 1 else 0.0


def largest(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The maximum moves by 1 if all answers do."""
    return max(answers) + rng.laplace(scale=1 / epsilon)


def median_of_three(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return sorted(answers)[1] + rng.laplace(scale=1 / epsilon)


def spread(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Largest minus smallest moves by 2."""
    return max(answers) - min(answers) + rng.laplace(scale=2 / epsilon)


def spread_half(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    return max(answers) - min(answers) + rng.laplace(scale=1 / epsilon)


def shared_noise(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """The same noise on both answers."""
    noise = rng.laplace(scale=2 / epsilon)
    return [a + noise for a in answers]


def stops_at_zero(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Looks at the exact answer to see whether to go on."""
    out = []
    for a in answers:
        if a <= 0:
            break
        out.append(a + rng.laplace(scale=2 / epsilon))
    return out


def one_record(bits: Data, rng: Rng) -> Out:
    """One of three records, by lot, and its response: sampling helps."""
    bit = bits[rng.integers(3)]
    return bit if rng.random() < 0.75 else 1 - bit


def die_added(count: Data, rng: Rng) -> Out:
    """Five values, evenly: total variation 1/5 when the count moves by 1."""
    return count + rng.integers(-2, 3)


def clipped_gaussian_sum(values: Data, rng: Rng) -> Out:
    """Moves by 1 with σ = 2."""
    total = 0.0
    for v in values:
        total += min(max(v, 0.0), 1.0)
    return total + rng.normal(scale=2.0)


def gradient_steps(values: Data, rng: Rng) -> Out:
    """Two clipped gradient steps towards the mean, σ = 2: μ = √2/2."""
    theta = 0.0
    for _ in range(2):
        gradient = sum(min(max(theta - v, -1.0), 1.0) for v in values)
        theta = theta - 0.25 * (gradient + rng.normal(scale=2.0))
    return theta


def gradient_steps_unclipped(values: Data, rng: Rng) -> Out:
    theta = 0.0
    for _ in range(2):
        gradient = sum(theta - v for v in values)
        theta = theta - 0.25 * (gradient + rng.normal(scale=2.0))
    return theta


def scaled_difference(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """2·(a − b) moves by 4."""
    return 2 * (answers[0] - answers[1]) + 4 * rng.laplace() / epsilon


def wrong_weight(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """2·(a − b) moves by 4, paid for 2."""
    return 2 * (answers[0] - answers[1]) + 2 * rng.laplace() / epsilon


def yes_or_no(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """Which of two is larger, by one noise on the difference, which moves by 2."""
    return bool(answers[0] - answers[1] + rng.laplace(scale=2 / epsilon) > 0)


def hits_counted(answers: Data, rng: Rng, epsilon: float = 1.0) -> Out:
    """How many of two noisy answers reach 0: answers with ℓ1 sensitivity 1."""
    return sum(1 for a in answers if a + rng.laplace(scale=1 / epsilon) >= 0)


# The table.


def rounded_up(x: float) -> float:
    """A float above ln x."""
    return math.nextafter(math.log(x), math.inf)


def answers(k: int, **more: Any) -> Answers:  # noqa: ANN401
    return Answers(dimension=k, sensitivity=1.0, **more)


def _whole(k: int | None, high: int, **more: Any) -> Answers:  # noqa: ANN401
    return Answers(dimension=k, sensitivity=1, integer=True, low=0, high=high, **more)


def _person(high: int) -> Records:
    """One whole number from 0 to `high`, which may be any other one."""
    return Records(
        record=Number(low=0, high=high, integer=True), length=None, relation=Relation.REPLACE_ONE
    )


_BITS = Records(record=Number(low=0, high=1, integer=True), length=3, relation=Relation.REPLACE_ONE)
_COLORS = Records(
    record=Category(values=(0, 1, 2)), length=(0, 4), relation=Relation.ADD_REMOVE, layout="rows"
)
_COLORS_REPLACED = Records(
    record=Category(values=(0, 1, 2)), length=3, relation=Relation.REPLACE_ONE, layout="rows"
)
_UNITS = Records(record=Number(low=0.0, high=1.0), length=(0, 4), relation=Relation.ADD_REMOVE)
_WIDE = Records(record=Number(low=-5.0, high=5.0), length=(0, 3), relation=Relation.ADD_REMOVE)
_ROWS = Records(
    record=BoxedVector(low=(0.0, 0.0), high=(1.0, 1.0)), length=4, relation=Relation.REPLACE_ONE
)
_SUM = answers(4, norm=1)
_ONE = PureDP(epsilon=1.0)
_LN2, _LN3, _LN4 = (PureDP(epsilon=rounded_up(x)) for x in (2.0, 3.0, 4.0))
_LN9 = PureDP(epsilon=rounded_up(9.0))
_E = math.e


def mass(*factors: Any, upto: int | None = None) -> float:  # noqa: ANN401
    return float(value(integral(factors, upto)))


def first_hit(
    misses: Sequence[float], hit: float, bar: Fraction | int, noise: Fraction | int
) -> float:
    """P(all `misses` stay below a bar around 0, and `hit` reaches it)."""
    low = [below(Fraction(m), noise) for m in misses]
    return mass(density(0, bar), *low, reaches(Fraction(hit), noise))


def pattern(
    answers: Sequence[float], hits: list[bool], bar: Fraction | int, noise: Fraction | int
) -> float:
    """P(exactly these answers reach a bar around 0)."""
    parts = [
        (reaches if hit else below)(Fraction(a), noise)
        for a, hit in zip(answers, hits, strict=True)
    ]
    return mass(density(0, bar), *parts)


def wins(scores: Sequence[int], scale: int) -> float:
    """P(the first of them is the noisy maximum)."""
    others = [below(s, scale) for s in scores[1:]]
    return mass(density(scores[0], scale), *others)


def array(*values: float) -> Data:
    return np.array(values)


def _proved(
    name: str, mechanism: Callable[..., Out], schema: Schema, claim: Guarantee, why: str,
    *, finite: bool = False,
) -> Program:  # fmt: skip
    return Program(
        name=name, mechanism=mechanism, schema=schema, claim=claim, verdict="proved", why=why,
        finite=finite,
    )  # fmt: skip


def _refuted(
    name: str, mechanism: Callable[..., Out], schema: Schema, claim: Guarantee, why: str,
    *, shown: Counterexample, finite: bool = False,
) -> Program:  # fmt: skip
    return Program(
        name=name, mechanism=mechanism, schema=schema, claim=claim, verdict="refuted", why=why,
        finite=finite, counterexample=shown,
    )  # fmt: skip


def shown(
    left: Data, right: Data, event: Callable[[Out], bool], masses: tuple[float, float]
) -> Counterexample:
    return Counterexample(left=left, right=right, event=event, masses=masses)


def tail(distance: float) -> float:
    """P(Laplace noise of scale 1 > distance), distance ≥ 0."""
    return 0.5 * math.exp(-distance)


PROGRAMS = (
    _proved(
        "sparse vector 1",
        sparse_vector_1,
        answers(3),
        _ONE,
        "bar +1 for 1/2; the hit's noise +(1 − dᵢ), 2 at most, for 2/4",
    ),
    _proved(
        "sparse vector 1, two hits",
        sparse_vector_1_twice,
        answers(3),
        _ONE,
        "bar +1 for 1/2; two hits at 2/8 each",
    ),
    _proved(
        "sparse vector 2",
        sparse_vector_2,
        answers(3),
        _ONE,
        "each of two runs: bar +1 for 1/4, its hit +2 for 2/8",
    ),
    _refuted(
        "sparse vector 3",
        sparse_vector_3,
        answers(3),
        _ONE,
        "the value bounds the bar from above: two misses and the value cost 1/2 each",
        shown=shown(
            np.zeros(3),
            np.ones(3),
            lambda out: len(out) == 3 and out[2] is not None and out[2] < 0,
            (1 / 192, math.exp(-1.5) / 192),
        ),
    ),
    _refuted(
        "sparse vector 4",
        sparse_vector_4,
        answers(3),
        _ONE,
        "bar +1 for 1/4 and the hit +2 for 3/2 are needed",
        shown=shown(
            array(0, 0, 1),
            array(1, 1, 0),
            lambda out: list(out) == [False, False, True],
            (
                first_hit([0, 0], 1, 4, Fraction(4, 3)),
                first_hit([1, 1], 0, 4, Fraction(4, 3)),
            ),
        ),
    ),
    _refuted(
        "sparse vector 5",
        sparse_vector_5,
        answers(2),
        _ONE,
        "(no, yes) needs a bar between the two answers",
        shown=shown(
            array(0, 1),
            array(1, 0),
            lambda out: [bool(x) for x in out] == [False, True],
            (0.5 * -math.expm1(-0.5), 0.0),
        ),
    ),
    _refuted(
        "sparse vector 6",
        sparse_vector_6,
        answers(4),
        _ONE,
        "every hit and every miss costs, without end",
        shown=shown(
            array(-0.5, -0.5, 0.5, 0.5),
            array(0.5, 0.5, -0.5, -0.5),
            lambda out: out == [False, False, True, True],
            (
                pattern([-0.5, -0.5, 0.5, 0.5], [False, False, True, True], 2, 2),
                pattern([0.5, 0.5, -0.5, -0.5], [False, False, True, True], 2, 2),
            ),
        ),
    ),
    _refuted(
        "sparse vector, half of the noise",
        sparse_vector_half_noise,
        answers(4),
        _ONE,
        "the hit +2 costs 1, and the bar 1/2",
        shown=shown(
            array(0, 0, 0, 1),
            array(1, 1, 1, 0),
            lambda out: out == 3,
            (
                first_hit([0, 0, 0], 1, 2, 2),
                first_hit([1, 1, 1], 0, 2, 2),
            ),
        ),
    ),
    _proved(
        "sparse vector, monotone answers",
        sparse_vector_monotone,
        answers(3, monotone=True),
        _ONE,
        "up: bar +1 and the hit +(1 − dᵢ) for 1/2 each; down: the hit alone, for 1/2",
    ),
    _proved(
        "numerical sparse vector",
        numerical_sparse_vector,
        answers(3),
        _ONE,
        "1/3 for the bar, 2/6 for the hit, 1/3 for the fresh answer",
    ),
    _refuted(
        "numerical sparse vector, answer not paid for",
        numerical_sparse_vector_unpaid,
        answers(2),
        _ONE,
        "the fresh answer alone costs 2",
        shown=shown(
            np.zeros(2),
            np.ones(2),
            lambda out: out[0] == 0 and out[1] > 1,
            (
                first_hit([], 0, 2, 4) * tail(2.0),
                first_hit([], 1, 2, 4) * 0.5,
            ),
        ),
    ),
    _proved(
        "gap sparse vector",
        gap_sparse_vector,
        answers(3),
        _ONE,
        "bar and the hit's noise move so that the gap stays: 1/2 and 2/4",
    ),
    _proved("noisy max", noisy_max, answers(3), _ONE, "the winner's noise +2 for 2/2"),
    _proved("noisy max, loop", noisy_max_loop, answers(3), _ONE, "the winner's noise +2 for 2/2"),
    _proved("noisy max, numpy", noisy_max_numpy, answers(3), _ONE, "the winner's noise +2 for 2/2"),
    _proved(
        "noisy max, monotone with half of the noise",
        noisy_max_half,
        answers(3, monotone=True),
        _ONE,
        "up: the winner's noise +(1 − dᵢ); down: +|dᵢ|; either way 1 at most",
    ),
    _refuted(
        "noisy max with its value",
        noisy_max_value,
        answers(3),
        _ONE,
        "that the largest is below 0 concerns all three, at 1/2 each",
        shown=shown(np.zeros(3), np.ones(3), lambda out: out < 0, (1 / 8, math.exp(-1.5) / 8)),
    ),
    _refuted(
        "noisy max, half of the noise",
        noisy_max_half,
        answers(3),
        _ONE,
        "the winner's noise +2 costs 2",
        shown=shown(
            array(0, 1, 1),
            array(1, 0, 0),
            lambda out: out == 0,
            (wins([0, 1, 1], 1), wins([1, 0, 0], 1)),
        ),
    ),
    _proved(
        "noisy max with its gap",
        noisy_max_gap,
        answers(3),
        _ONE,
        "the winner's noise moves with the second place: 2/2",
    ),
    _proved("noisy min", noisy_min, answers(3), _ONE, "noisy max of the negatives"),
    _refuted(
        "noisy min, half of the noise",
        noisy_min_half,
        answers(3),
        _ONE,
        "noisy max of the negatives",
        shown=shown(
            array(1, 0, 0),
            array(0, 1, 1),
            lambda out: out == 0,
            (wins([0, 1, 1], 1), wins([1, 0, 0], 1)),
        ),
    ),
    _proved(
        "noisy max, exponential",
        exponential_max,
        answers(3),
        _ONE,
        "the winner's noise +2 for 2/2, never below 0",
    ),
    _refuted(
        "noisy max, exponential, half of the noise",
        exponential_max_half,
        answers(2),
        _ONE,
        "P(X₀ ≥ X₁ + 1) = 1/(2e) against P(X₀ + 1 ≥ X₁) = 1 − 1/(2e)",
        shown=shown(array(0, 1), array(1, 0), lambda out: out == 0, (0.5 / _E, 1 - 0.5 / _E)),
    ),
    _refuted(
        "noisy max, exponential, with its value",
        exponential_max_value,
        answers(2),
        _ONE,
        "less than 1 cannot come out of scores of 1",
        shown=shown(np.zeros(2), np.ones(2), lambda out: out < 1, (math.expm1(-0.5) ** 2, 0.0)),
    ),
    _proved(
        "noisy min, exponential", exponential_min, answers(3), _ONE, "noisy max of the negatives"
    ),
    _refuted(
        "noisy min, exponential, half of the noise",
        exponential_min_half,
        answers(2),
        _ONE,
        "P(X₀ ≥ X₁ + 1) = 1/(2e) against P(X₀ + 1 ≥ X₁) = 1 − 1/(2e)",
        shown=shown(array(1, 0), array(0, 1), lambda out: out == 0, (0.5 / _E, 1 - 0.5 / _E)),
    ),
    _refuted(
        "noisy min, exponential, with its value",
        exponential_min_value,
        answers(2),
        _ONE,
        "less than 0 cannot come out of costs of 0",
        shown=shown(np.ones(2), np.zeros(2), lambda out: out < 0, (math.expm1(-0.5) ** 2, 0.0)),
    ),
    _refuted(
        "noisy min, exponential noise added",
        exponential_min_added,
        answers(3),
        _ONE,
        "from (1, 0, 0) the first wins if both others have at least 1 more noise than it",
        shown=shown(
            array(0, 1, 1),
            array(1, 0, 0),
            lambda out: out == 0,
            (1 - 2 / 3 * math.exp(-0.5), math.exp(-1) / 3),
        ),
    ),
    _refuted(
        "noisy min with its value",
        noisy_min_value,
        answers(3),
        _ONE,
        "that the smallest is above 1 concerns all three, at 1/2 each",
        shown=shown(np.zeros(3), np.ones(3), lambda out: out > 1, (tail(0.5) ** 3, 1 / 8)),
    ),
    _proved(
        "noisy min, geometric",
        geometric_min,
        _whole(3, 2),
        _LN4,
        "noisy max of the negatives",
        finite=True,
    ),
    _refuted(
        "noisy min, geometric, for half of its ε",
        geometric_min,
        _whole(2, 2),
        _LN2,
        "P(K₀ > K₁) = 1/3 against P(K₀ + 1 ≥ K₁) = 5/6",
        finite=True,
        shown=shown(array(1, 0), array(0, 1), lambda out: out == 0, (1 / 3, 5 / 6)),
    ),
    _refuted(
        "noisy min, geometric, with its value",
        geometric_min_value,
        _whole(2, 2),
        _LN4,
        "0 cannot come out of costs of 0",
        finite=True,
        shown=shown(array(1, 1), array(0, 0), lambda out: out == 0, (1 / 4, 0.0)),
    ),
    _refuted(
        "noisy min, geometric noise added",
        geometric_min_added,
        _whole(3, 2),
        _LN4,
        "Σ 2^(−k)·4^(−k) = 1/7 against 1/2 + Σ 2^(−k)·4^(2 − k) = 11/14",
        finite=True,
        shown=shown(array(0, 1, 1), array(1, 0, 0), lambda out: out == 0, (11 / 14, 1 / 7)),
    ),
    _proved(
        "noisy max, geometric",
        geometric_max,
        _whole(3, 2),
        _LN4,
        "P(K ≥ t + 2) ≥ P(K ≥ t)/4",
        finite=True,
    ),
    _refuted(
        "noisy max, geometric, for half of its ε",
        geometric_max,
        _whole(2, 2),
        _LN2,
        "P(K₀ > K₁) = 1/3 against P(K₀ + 1 ≥ K₁) = 5/6",
        finite=True,
        shown=shown(array(0, 1), array(1, 0), lambda out: out == 0, (1 / 3, 5 / 6)),
    ),
    _refuted(
        "noisy max, geometric, with its value",
        geometric_max_value,
        _whole(2, 2),
        _LN4,
        "1 cannot come out of scores of 1",
        finite=True,
        shown=shown(array(0, 0), array(1, 1), lambda out: out == 1, (1 / 4, 0.0)),
    ),
    _proved(
        "noisy max with ties, the last wins",
        geometric_max_last,
        _whole(3, 2),
        _LN4,
        "as for the first, with the order turned around",
        finite=True,
    ),
    _proved(
        "noisy max that tells ties",
        geometric_max_tie,
        _whole(2, 3),
        _LN4,
        "K₀ − K₁ is discrete Laplace noise, and the difference moves by 2",
        finite=True,
    ),
    _refuted(
        "noisy max with ties broken by the data",
        geometric_max_tie_by_data,
        _whole(2, 2),
        _LN4,
        "P(K₀ − K₁ ≥ 2) = 1/6 against P(K₀ − K₁ ≥ −1) = 5/6",
        finite=True,
        shown=shown(array(0, 1), array(1, 0), lambda out: out == 0, (1 / 6, 5 / 6)),
    ),
    _proved(
        "permute and flip",
        permute_and_flip,
        _whole(3, 2),
        _LN4,
        "McKenna and Sheldon, with e^(ε/2) = 2",
        finite=True,
    ),
    _refuted(
        "permute and flip, twice as steep",
        permute_and_flip_steep,
        _whole(2, 2),
        _LN4,
        "1/2 · 1/4 against 7/8",
        finite=True,
        shown=shown(array(0, 1), array(1, 0), lambda out: out == 0, (1 / 8, 7 / 8)),
    ),
    _refuted(
        "flip without permuting",
        flip_in_order,
        _whole(2, 2),
        _LN4,
        "where the first is the best, it is always taken",
        finite=True,
        shown=shown(array(0, 1), array(1, 0), lambda out: out == 1, (1 / 2, 0.0)),
    ),
    _proved(
        "exponential mechanism",
        exponential_mechanism,
        _whole(3, 2),
        _LN4,
        "e^(ε/2) = 2; on this box 3 is the largest ratio",
        finite=True,
    ),
    _refuted(
        "exponential mechanism, twice as steep",
        exponential_mechanism_steep,
        _whole(3, 2),
        _LN4,
        "1/9 against 4/6",
        finite=True,
        shown=shown(array(0, 1, 1), array(1, 0, 0), lambda out: out == 0, (1 / 9, 2 / 3)),
    ),
    _proved("partial sum", partial_sum, _SUM, _ONE, "the sum moves by 1"),
    _refuted(
        "partial sum, told twice",
        partial_sum_twice,
        _SUM,
        _ONE,
        "both sums move by 1 with the first value",
        shown=shown(
            np.zeros(4),
            array(1, 0, 0, 0),
            lambda out: out[0] > 1 and out[1] > 1,
            (tail(1.0) ** 2, 1 / 4),
        ),
    ),
    _proved("prefix sums", prefix_sum, _SUM, _ONE, "values with noise move by 1 in ℓ1"),
    _refuted(
        "prefix sums with fresh noise",
        prefix_sum_fresh,
        _SUM,
        _ONE,
        "the first value moves all four sums",
        shown=shown(
            np.zeros(4), array(1, 0, 0, 0), lambda out: min(out) > 1, (tail(1.0) ** 4, 1 / 16)
        ),
    ),
    _proved("smart sum", smart_sum, _SUM, _ONE, "a value is in two noises at 1/2 each"),
    _refuted(
        "smart sum, half of the noise",
        smart_sum_half,
        _SUM,
        _ONE,
        "a value is in two noises at 1 each",
        shown=shown(
            np.zeros(4),
            array(1, 0, 0, 0),
            lambda out: out[0] > 1 and out[1] > 1,
            (tail(1.0) ** 2, 1 / 4),
        ),
    ),
    _proved("histogram", histogram, _COLORS, _ONE, "one count moves by 1"),
    _refuted(
        "histogram of replaced records",
        histogram,
        _COLORS_REPLACED,
        _ONE,
        "two counts move by 1",
        shown=shown(
            [0, 0, 0], [0, 0, 1], lambda out: out[0] > 3 and out[1] < 0, (1 / 4, tail(1.0) ** 2)
        ),
    ),
    _proved(
        "histogram with whole noise",
        whole_histogram,
        _BITS,
        _LN4,
        "two counts move by 1, at ln 2 each",
        finite=True,
    ),
    _refuted(
        "histogram with whole noise, for half of its ε",
        whole_histogram,
        _BITS,
        _LN2,
        "two counts move by 1, at ln 2 each",
        finite=True,
        shown=shown(
            np.array([0, 0, 0]),
            np.array([0, 0, 1]),
            lambda out: list(out) == [0, 3],
            (4 / 9, 1 / 9),
        ),
    ),
    _proved(
        "truncated geometric",
        truncated_geometric,
        _whole(None, 4),
        _LN2,
        "discrete Laplace noise of ratio 1/2, post-processed",
        finite=True,
    ),
    _refuted(
        "truncated geometric, sensitivity 2",
        truncated_geometric,
        Answers(sensitivity=2, integer=True, low=0, high=4),
        _LN2,
        "P(noise ≤ 0) = 2/3 against P(noise ≤ −2) = 1/6",
        finite=True,
        shown=shown(0, 2, lambda out: out == 0, (2 / 3, 1 / 6)),
    ),
    _refuted(
        "one-sided geometric",
        one_sided_geometric,
        _whole(None, 4),
        _LN2,
        "0 cannot come out of 1",
        finite=True,
        shown=shown(0, 1, lambda out: out == 0, (1 / 2, 0.0)),
    ),
    _proved(
        "truncated geometric of ratio e^(−ε)",
        natural_geometric,
        _whole(None, 4),
        PureDP(epsilon=1.0 + 1e-9),
        "discrete Laplace noise, post-processed",
        finite=True,
    ),
    _proved("randomized response", response, _person(1), _LN3, "3/4 against 1/4", finite=True),
    _refuted(
        "randomized response for less",
        response,
        _person(1),
        _LN2,
        "3/4 against 1/4",
        finite=True,
        shown=shown(0, 1, lambda out: out == 0, (3 / 4, 1 / 4)),
    ),
    _proved(
        "response, one of four", response_of_many, _person(3), _LN3, "1/2 against 1/6", finite=True
    ),
    _refuted(
        "response, one of four, odds of two",
        response_of_many_truthful,
        _person(3),
        _LN3,
        "3/4 against 1/12",
        finite=True,
        shown=shown(0, 1, lambda out: out == 0, (3 / 4, 1 / 12)),
    ),
    _proved(
        "unary response", unary_response, _person(2), _LN9, "two bits differ, 3 each", finite=True
    ),
    _refuted(
        "unary response for half of its ε",
        unary_response,
        _person(2),
        _LN3,
        "two bits differ, 3 each",
        finite=True,
        shown=shown(0, 2, lambda out: list(out) == [1, 0, 0], (27 / 64, 3 / 64)),
    ),
    _proved(
        "one-time RAPPOR", rappor_once, _person(2), _LN9, "two bits differ, 3 each", finite=True
    ),
    _refuted(
        "one-time RAPPOR for half of its ε",
        rappor_once,
        _person(2),
        _LN3,
        "two bits differ, 3 each",
        finite=True,
        shown=shown(0, 2, lambda out: list(out) == [1, 0, 0], (27 / 64, 3 / 64)),
    ),
    _proved(
        "longitudinal RAPPOR",
        rappor,
        _person(1),
        _LN9,
        "reports are post-processing of the permanent bits",
        finite=True,
    ),
    _refuted(
        "longitudinal RAPPOR without memory",
        rappor_forgetful,
        _person(1),
        _LN9,
        "each of two reports costs ln 9",
        finite=True,
        shown=shown(
            0,
            1,
            lambda out: [list(r) for r in out] == [[1, 0], [1, 0]],
            ((9 / 16) ** 2, (1 / 16) ** 2),
        ),
    ),
    _proved(
        "above threshold on means",
        mean_above,
        _ROWS,
        _ONE,
        "means move by 1/4: bar +1/4 for 1/2, hit +1/2 for 1/2",
    ),
    _refuted(
        "above threshold on means, noise for more rows",
        mean_above_small,
        _ROWS,
        _ONE,
        "moved by 1/4 with scales of 1/20 and 1/10",
        shown=shown(
            np.array([[1.0, 0.0]] + [[0.0, 0.0]] * 3),
            np.zeros((4, 2)),
            lambda out: out == 0,
            (
                mass(
                    density(Fraction(1, 2), Fraction(1, 20)),
                    reaches(Fraction(1, 4), Fraction(1, 10)),
                ),
                mass(density(Fraction(1, 2), Fraction(1, 20)), reaches(0, Fraction(1, 10))),
            ),
        ),
    ),
    _proved("majority of three", majority, _BITS, _LN2, "a count that moves by 1", finite=True),
    _proved("count, then sum", count_then_sum, _UNITS, _ONE, "1/2 each; the noisy count decides"),
    _refuted(
        "count, then the exact sum",
        count_then_exact,
        _UNITS,
        _ONE,
        "the sum has no noise",
        shown=shown(
            np.array([0.5]), np.array([0.5, 0.25]), lambda out: out == 0.75, (0.0, 1 - tail(1.0))
        ),
    ),
    _proved("largest answer", largest, answers(3), _ONE, "a maximum moves by 1"),
    _proved("median of three", median_of_three, answers(3), _ONE, "a median moves by 1"),
    _proved("spread", spread, answers(3), _ONE, "moves by 2, paid for 2"),
    _refuted(
        "spread, half of the noise",
        spread_half,
        answers(3),
        _ONE,
        "moves by 2, paid for 1",
        shown=shown(np.zeros(3), array(1, -1, 0), lambda out: out > 2, (tail(2.0), 1 / 2)),
    ),
    _refuted(
        "shared noise",
        shared_noise,
        answers(2),
        _ONE,
        "the difference has no noise",
        shown=shown(np.zeros(2), array(0, 1), lambda out: bool(out[1] - out[0] > 0.5), (0.0, 1.0)),
    ),
    _refuted(
        "stops at zero",
        stops_at_zero,
        answers(2),
        _ONE,
        "the first comparison is exact",
        shown=shown(np.zeros(2), np.ones(2), lambda out: len(out) == 0, (1.0, 0.0)),
    ),
    _proved(
        "one record by lot",
        one_record,
        _BITS,
        PureDP(epsilon=rounded_up(5 / 3)),
        "(1 + 2·mean)/4: 5/12 against 1/4",
        finite=True,
    ),
    _refuted(
        "one record by lot, for less",
        one_record,
        _BITS,
        PureDP(epsilon=math.log(1.5)),
        "5/12 against 1/4",
        finite=True,
        shown=shown(
            np.array([0, 0, 0]), np.array([0, 0, 1]), lambda out: out == 1, (1 / 4, 5 / 12)
        ),
    ),
    _proved(
        "die added",
        die_added,
        _whole(None, 3),
        ApproxDP(epsilon=0.0, delta=0.2),
        "one of five outputs is new",
        finite=True,
    ),
    _refuted(
        "die added, smaller δ",
        die_added,
        _whole(None, 3),
        ApproxDP(epsilon=1.0, delta=0.1),
        "one of five outputs is new",
        finite=True,
        shown=shown(0, 1, lambda out: out == -2, (0.2, 0.0)),
    ),
    _proved(
        "clipped Gaussian sum",
        clipped_gaussian_sum,
        _WIDE,
        GaussianDP(mu=0.5),
        "moves by 1 with σ = 2",
    ),
    _refuted(
        "clipped Gaussian sum for less",
        clipped_gaussian_sum,
        _WIDE,
        GaussianDP(mu=0.4),
        "moves by 1 with σ = 2",
        shown=shown(np.array([]), np.array([1.0]), lambda out: out > 1, (float(norm.sf(0.5)), 0.5)),
    ),
    _proved(
        "clipped gradient steps",
        gradient_steps,
        _WIDE,
        GaussianDP(mu=0.7072),
        "two steps of μ = 1/2 each: √2/2 = 0.70711",
    ),
    _refuted(
        "gradient steps without a clip",
        gradient_steps_unclipped,
        _WIDE,
        GaussianDP(mu=0.7072),
        "θ is N(0, 1/2) without and N(2.1875, 0.625²) with the record 5",
        shown=shown(
            np.array([]),
            np.array([5.0]),
            lambda out: out > 1,
            (float(norm.sf(math.sqrt(2.0))), float(norm.sf(-1.9))),
        ),
    ),
    _proved("scaled difference", scaled_difference, answers(2), _ONE, "moves by 4, paid for 4"),
    _refuted(
        "scaled difference, half of the noise",
        wrong_weight,
        answers(2),
        _ONE,
        "moves by 4, paid for 2",
        shown=shown(np.zeros(2), array(1, -1), lambda out: out > 4, (tail(2.0), 1 / 2)),
    ),
    _proved("which is larger", yes_or_no, answers(2), _ONE, "the difference moves by 2"),
    _proved(
        "hits counted",
        hits_counted,
        answers(2, norm=1),
        _ONE,
        "noisy answers move by 1 in ℓ1; the rest is post-processing",
    ),
    _refuted(
        "hits counted, both answers move",
        hits_counted,
        answers(2),
        _ONE,
        "both reach 0: 1/4 against e^(−2)/4",
        shown=shown(np.zeros(2), array(-1, -1), lambda out: out == 2, (1 / 4, tail(1.0) ** 2)),
    ),
)
