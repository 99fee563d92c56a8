"""Releases that select by noise, tell a seed, mind floating-point errors, or add noise up in loops.

Cases as in `adversarial_releases`.
"""

# ruff: noqa: ANN401, ARG001, FURB192, S311  # code as users write it

import hashlib
import itertools
import math
import random
import secrets
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.guarantees import GaussianDP
from tests.tracing.adversarial_releases import Out, flawed, honest

_U, _V = [9.0, 5.0, 1.0], [9.0, 5.0, 2.0]
_NAMED, _OTHER = {"a": 30, "b": 3, "c": 1}, {"a": 30, "b": 3, "c": 0}
_A, _B = [1.0, 0.0], [1.0, 1.0]


# Too much about the winner: it must be the one that differs.


@flawed(_U, _V)
def winner_exactly(u: Any, rng: Any) -> Out:
    i = int(np.argmax(np.array(u) + rng.laplace(scale=2.0, size=3)))
    return i, u[i]  # flaw


@flawed(_U, _V)
def winner_with_little_noise(u: Any, rng: Any) -> Out:
    i = int(np.argmax(np.array(u) / 4 + rng.gumbel(size=3)))
    return i, u[i] + rng.laplace(scale=0.1)  # flaw


@flawed(_NAMED, _OTHER)
def winner_by_chance(counts: Any, rng: Any) -> Out:
    weights = np.exp(np.array(list(counts.values())) / 4)
    key = list(counts)[rng.choice(3, p=weights / weights.sum())]
    return key, counts[key] + rng.laplace(scale=0.1)  # flaw


@flawed(_NAMED, _OTHER)
def winner_by_pythons_chance(counts: Any, rng: Any) -> Out:
    key = random.choices(list(counts), weights=[math.exp(n / 4) for n in counts.values()])[0]
    return key, counts[key] + rng.laplace(scale=0.1)  # flaw


@flawed(_NAMED, _OTHER)
def winner_by_hand(counts: Any, rng: Any) -> Out:
    noisy = {key: n + rng.laplace(scale=4.0) for key, n in counts.items()}
    key = sorted(noisy, key=lambda k: -noisy[k])[0]
    return key, counts[key]  # flaw


@flawed(dict.fromkeys("abcdefg", 5) | {"h": 1}, dict.fromkeys("abcdefg", 5) | {"h": 2})
def last_one_standing(counts: Any, rng: Any) -> Out:
    left = dict(counts)
    while len(left) > 1:
        noisy = {key: n + rng.laplace(scale=14.0) for key, n in left.items()}
        left.pop(min(noisy, key=lambda key: noisy[key]))
    (key,) = left
    return key, counts[key]  # flaw


@flawed(_U, _V)
def winner_of_two_matches(u: Any, rng: Any) -> Out:
    best = 0
    for i in (1, 2):
        if u[i] + rng.laplace(scale=4.0) > u[best] + rng.laplace(scale=4.0):
            best = i
    return best, u[best]  # flaw


@flawed([1, 1, 0, 1], [1, 1, 1, 1])
def first_above_and_exactly_so(d: Any, rng: Any) -> Out:
    threshold = 2 + rng.laplace(scale=2.0)
    for i in range(4):
        noisy = sum(d[: i + 1]) + rng.laplace(scale=4.0)
        if noisy >= threshold:
            return i, noisy - threshold, sum(d[: i + 1]) > 2  # flaw
    return -1


@flawed([7, 1, 1], [8, 1, 1])
def late_one_above(d: Any, rng: Any) -> Out:
    for k in range(12):
        if d.count(k) + rng.laplace(scale=2.0) > 6:
            return k, d.count(k) + rng.laplace(scale=0.1)  # flaw
    return None


@flawed(_U, _V)
def unlike_what_was_chosen(u: Any, rng: Any) -> Out:
    """The choice itself depends on no data."""
    i = int(rng.choice(3, p=[0.9, 0.05, 0.05]))
    return i, u[i] + rng.laplace(scale=0.2)  # flaw


@flawed([5.0] * 9 + [1.0], [5.0] * 9 + [0.0])
def one_of_ten(u: Any, rng: Any) -> Out:
    i = int(rng.choice(10))
    return i, u[i] + rng.laplace(scale=0.1)  # flaw


@flawed(np.array([9.0, 8.0, 1.0, 0.0]), np.array([9.0, 8.0, 1.0, 1.0]))
def sum_of_the_best_two(u: Any, rng: Any) -> Out:
    noisy = np.asarray(u + rng.laplace(scale=4.0, size=4))
    top = np.argpartition(-noisy, 2)[:2]
    return sorted(top.tolist()), float(u[top].sum())  # flaw


@honest(_U, _V, quiet=True, exact=0.5)
def winner_alone(u: Any, rng: Any) -> Out:
    return int(np.argmax(np.array(u) + rng.exponential(2.0, size=3)))


@honest(_U, _V, quiet=True)
def winner_with_fresh_noise(u: Any, rng: Any) -> Out:
    i = int(np.argmax(np.array(u) / 4 + rng.gumbel(size=3)))
    return i, u[i] + rng.laplace(scale=2.0)


@honest(_U, _V, quiet=True)
def two_winners_in_turn(u: Any, rng: Any) -> Out:
    left, out = dict(enumerate(u)), []
    for _ in range(2):
        noisy = np.array(list(left.values())) + rng.exponential(4.0, size=len(left))
        out.append(list(left)[int(np.argmax(noisy))])
        left.pop(out[-1])
    return out


@honest(_U, _V, quiet=True)
def any_record_with_enough_noise(u: Any, rng: Any) -> Out:
    i = int(rng.choice(3, p=[0.9, 0.05, 0.05]))
    return i, u[i] + rng.laplace()


# What happens rarely, by laws of whole numbers.


@flawed(_A, _B)
def exactly_if_many_come(d: Any, rng: Any) -> Out:
    if rng.poisson(2) > 6:
        return sum(d)  # flaw
    return sum(d) + rng.laplace()


@flawed(_A, _B)
def less_noise_for_a_full_hand(d: Any, rng: Any) -> Out:
    drawn = rng.hypergeometric(5, 5, 3)
    return int(drawn), sum(d) + rng.laplace(scale=1.0 if drawn < 3 else 0.5)  # flaw


@flawed(_A, _B)
def less_noise_for_one_category(d: Any, rng: Any) -> Out:
    split = rng.multinomial(5, [0.9, 0.05, 0.05])
    return split, sum(d) + rng.laplace(scale=1.0 if split[2] < 4 else 0.1)  # flaw


@flawed(_A, _B)
def exactly_on_a_lucky_day(d: Any, rng: Any) -> Out:
    day = secrets.choice(range(10))
    return day, (sum(d) if day == 7 else sum(d) + rng.laplace())  # flaw


@flawed(_A, _B)
def exactly_by_a_word(d: Any, rng: Any) -> Out:
    if rng.choice(["usual", "debug"], p=[0.999, 0.001]) == "debug":
        return d  # flaw
    return sum(d) + rng.laplace()


# Seeds.


@flawed(_A, _B)
def seed_in_the_report(d: Any, rng: Any) -> Out:
    seed = int(rng.integers(2**31))
    inner = np.random.default_rng(seed)  # flaw
    return {"value": sum(d) + inner.laplace(), "run": {"seed": str(seed)}}


@flawed(_A, _B)
def next_seed_told(d: Any, rng: Any) -> Out:
    seed = int(rng.integers(2**63))
    inner = np.random.default_rng(seed)  # flaw
    return sum(d) + inner.laplace(), seed + 1


@flawed(_A, _B)
def entropy_told(d: Any, rng: Any) -> Out:
    entropy = int(rng.integers(2**62))
    inner = np.random.default_rng(np.random.SeedSequence(entropy))  # flaw
    return [entropy], sum(d) + inner.laplace()


@flawed(_A, _B)
def seed_of_four_numbers(d: Any, rng: Any) -> Out:
    seed = rng.integers(2**31, size=4)
    return seed, sum(d) + np.random.default_rng(seed).laplace()  # flaw


@flawed(_A, _B)
def seed_of_pythons_generator(d: Any, rng: Any) -> Out:
    seed = secrets.randbits(32)
    random.seed(seed)
    return seed, sum(d) + random.expovariate(1.0) - random.expovariate(1.0)


@flawed(_A, _B)
def noise_by_hash(d: Any, rng: Any) -> Out:
    nonce = int(rng.integers(2**32))
    u = int.from_bytes(hashlib.sha256(str(nonce).encode()).digest()[:6], "big") / 2**48 - 0.5
    return nonce, sum(d) - math.copysign(math.log(1 - 2 * abs(u)), u)


@honest(_A, _B, quiet=True, exact=1.0)
def seed_of_a_public_order(d: Any, rng: Any) -> Out:
    seed = int(rng.integers(2**48))
    order = np.random.default_rng(seed).permutation(4).tolist()
    return seed, order, sum(d) + rng.laplace()


@honest(_A, _B, quiet=True)
def seed_of_a_public_projection(d: Any, rng: Any) -> Out:
    seed = int(rng.integers(2**40))
    along = np.random.default_rng(seed).normal(size=2)
    return seed, float(np.clip(along @ np.array(d), -0.5, 0.5)) + rng.laplace()


# Floating-point errors.


@flawed(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
def warning_raised(d: Any, rng: Any) -> Out:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = np.log(d).mean()  # flaw
        except RuntimeWarning:
            return 0.0
    return np.clip(found, 0, 1) + rng.laplace()


@flawed(np.array([1.0, 0.0]), np.array([1.0, 2.0]))
def error_raised(d: Any, rng: Any) -> Out:
    np.seterr(divide="raise")
    try:
        np.float64(1) / d  # flaw
    except FloatingPointError:
        return None
    return d.clip(0, 1).sum() + rng.laplace()


@flawed(np.array([1.0, -1.0]), np.array([1.0, 1.0]))
def warnings_counted(d: Any, rng: Any) -> Out:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        found = np.nan_to_num(np.sqrt(d)).sum()
    return min(found, 1.0) + rng.laplace(scale=2.0), len(met)  # flaw


@honest(_A, _B, quiet=True)
def errors_raised_for_nothing(d: Any, rng: Any) -> Out:
    with np.errstate(all="raise"):
        return np.clip(np.asarray(d) + rng.laplace(size=2), -3, 3).tolist()


# Decisions out of sight.


@flawed([1.0, 2.0, 0.0], [1.0, 2.0, 90.0])
def matched(d: Any, rng: Any) -> Out:
    match round(float(len(d) + rng.laplace())):
        case 17:
            return sum(d)  # flaw
        case n:
            return n


@flawed([50], [60])
def place_in_a_running_count(d: Any, rng: Any) -> Out:
    k = min(199, max(0, int(5 + rng.laplace(scale=10.0))))
    return k, int(np.bincount(d, minlength=200).cumsum()[k])  # flaw


@flawed(_A, _B)
def attribute_of_a_class(d: Any, rng: Any) -> Out:
    class Result:
        total = sum(d)

    return Result()  # flaw


@flawed(_A, _B)
def method_of_a_class(d: Any, rng: Any) -> Out:
    class Result:
        @staticmethod
        def total() -> float:
            return float(sum(d))

    return Result()  # flaw


@flawed(_A, _B)
def default_of_a_field(d: Any, rng: Any) -> Out:
    @dataclass
    class Result:
        noisy: float
        size: str = "big" if sum(d) > 1 else "small"  # flaw

    return Result(sum(d) + rng.laplace())


@honest([7.0], [0.0], quiet=True)
def clipped_at_a_noisy_bound(d: Any, rng: Any) -> Out:
    bound = 5 + rng.laplace(scale=0.1)
    return bound, sum(min(v, bound) for v in d) + rng.laplace(scale=10.0)


@honest(_A, _B)
def many_coins_added_up(d: Any, rng: Any) -> Out:
    """ε = 1 at δ = 0.02, say; and no leak."""
    return int(sum(d)) + int(rng.binomial(1000, 0.5)) - 500


# Noise that adds up.


@honest(
    [0.0, 1.0, 1.0, 0.0] * 20,
    [0.0, 1.0, 1.0, 1.0, *[0.0, 1.0, 1.0, 0.0] * 19],
    exact=1.0,
    quiet=True,
)
def totals_one_after_the_other(d: Any, rng: Any) -> Out:
    total, out = 0.0, []
    for v in d:
        total += v + rng.laplace()
        out.append(total)
    return out


@honest([0.5, 1.0, -0.5], [0.5, 1.0, 0.5], GaussianDP(mu=1.0), quiet=True)
def momentum(d: Any, rng: Any) -> Out:
    x = pace = 0.0
    for _ in range(4):
        pace = 0.5 * pace + sum(d) + rng.normal(scale=2.0)
        x -= 0.1 * pace
    return x


@flawed([0.0, 1.0, 1.0], [0.0, 1.0, 0.0])
def noise_taken_off_again(d: Any, rng: Any) -> Out:
    noises = [rng.laplace(scale=5.0) for _ in d]
    total = 0.0
    for v, noise in zip(d, noises, strict=True):
        total += v + noise
    for noise in noises:
        total -= noise
    return total  # flaw


@flawed([0.0, 1.0, 1.0], [0.0, 1.0, 0.0])
def totals_with_one_noise(d: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return [total + noise for total in itertools.accumulate(d)]  # flaw


@honest([0.0, 1.0, 1.0], [0.0, 1.0, 0.0], quiet=True, exact=0.5)
def total_and_the_last_step(d: Any, rng: Any) -> Out:
    """Two noises behind two numbers, one of them in both."""
    steps = [v + rng.laplace(scale=2.0) for v in d]
    return sum(steps), steps[2]
