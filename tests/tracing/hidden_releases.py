"""Releases that decide out of sight, inside of other decisions, or rarely; half keep their claim.

Each flaw stands in a line that most transcripts never come to, or where only few values of a noisy
number lead. They are added to the cases of `adversarial_releases`; `# flaw` marks the line, as
reading finds it; `# also` one that a trace may name instead, with the reason.
"""

# ruff: noqa: ANN401, SIM102  # data of any kind, and ifs inside of ifs

import decimal
import functools
import math
from collections import Counter
from typing import Any

import numpy as np

from dpverify.guarantees import ApproxDP, GaussianDP, ZeroConcentratedDP
from tests.tracing.adversarial_releases import Out, flawed, honest

_V, _W = [0.0, 3.0, 1.0], [1.0, 3.0, 1.0]
_RARELY = ApproxDP(epsilon=1.0, delta=1e-6)
_CUT = 6.25


# Decisions inside of decisions.


@flawed(_V, _W)
def four_levels(v: Any, rng: Any) -> Out:
    a, b, c, d = (sum(v) + rng.laplace(scale=4.0) for _ in range(4))
    if a > 10:
        if b < -3:
            if c > 10:
                if d < -3:
                    return v  # flaw
    return a, b


@honest(_V, _W)
def four_levels_for_all(v: Any, rng: Any) -> Out:
    a, b, c, d = (sum(v) + rng.laplace(scale=4.0) for _ in range(4))
    if a > 10:
        if b < -3:
            if c > 10:
                if d < -3:
                    return "deep"
    return a, b


@flawed(_V, _W)
def one_of_many_intervals(v: Any, rng: Any) -> Out:
    total = sum(v) + rng.laplace()
    if total < 0:  # also: all outcomes are listed by what is compared
        return "less"
    if total < 1.5:
        return "few"
    if total < 1.6:
        return v  # flaw
    return "many"


@flawed(_V, _W)
def interval_of_an_array(v: Any, rng: Any) -> Out:
    noisy = np.array(v) + rng.laplace(size=3)
    if ((noisy > 2.99) & (noisy < 3.0)).any():
        return v  # flaw
    return noisy


@flawed(0, 1)
def told_before_it_is_compared(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()
    text = f"{noisy}"
    if noisy > 50:
        return x  # flaw
    return text


@honest(_V, _W)
def levels_of_each(v: Any, rng: Any) -> Out:
    levels = []
    for x in v:
        noisy = x + rng.laplace()
        levels.append(sum(noisy > cut for cut in (0.5, 1.0, 2.0)))
    return levels


# Decisions on plain numbers.


@flawed(0, 1)
def narrow_interval(x: Any, rng: Any) -> Out:
    noisy = float(x + rng.laplace())
    if 2.99 < noisy < 3.0 and x:  # flaw
        return "x"
    return noisy


@flawed(0, 1)
def one_whole_number(x: Any, rng: Any) -> Out:
    noisy = round(x + rng.laplace())
    return "seven" if noisy == 7 and x else noisy  # flaw


@flawed(0, 1)
def interval_of_a_product(x: Any, rng: Any) -> Out:
    noisy = 2 * float(x + rng.laplace()) + 1
    if 14.9 < noisy < 15:
        return noisy + x * 100  # flaw
    return noisy


@flawed(0, 1)
def near_a_constant(x: Any, rng: Any) -> Out:
    noisy = float(x + rng.laplace())
    return x if abs(noisy - _CUT) < 0.01 else noisy  # flaw


@flawed(0, 1)
def near_a_default(x: Any, rng: Any, cut: float = 5.5) -> Out:
    noisy = float(x + rng.laplace())
    return x if abs(noisy - cut) < 0.01 else noisy  # flaw


def _near(x: Any, rng: Any, cut: float) -> Out:
    noisy = float(x + rng.laplace())
    return x if abs(noisy - cut) < 0.01 else noisy  # flaw


near_an_argument: Any = functools.partial(_near, cut=-3.3)
near_an_argument.__name__ = "near_an_argument"
flawed(0, 1)(near_an_argument)


@flawed(_V, _W)
def place_in_a_table(v: Any, rng: Any) -> Out:
    table = np.linspace(-20, 20, 41)
    i = int(np.argmin(np.abs(table - float(sum(v) + rng.laplace()))))
    return v if i == 27 else table[i]  # flaw


@flawed(_V, _W)
def decimals_compared(v: Any, rng: Any) -> Out:
    noisy = decimal.Decimal(str(float(sum(v) + rng.laplace())))
    return v if decimal.Decimal(8) < noisy < decimal.Decimal("8.5") else str(noisy)  # flaw


@flawed(_V, _W)
def end_of_a_text(v: Any, rng: Any) -> Out:
    text = f"{sum(v) + rng.laplace():.1f}"
    return v if text.endswith("7.3") else text  # flaw


@flawed(0, 1)
def three_signs(x: Any, rng: Any) -> Out:
    a, b, c = (float(rng.laplace()) for _ in range(3))
    return x if a > 1 and b > 1 and c < -1 else 7  # flaw


@flawed(0, 1)
def two_alike(x: Any, rng: Any) -> Out:
    a, b = round(float(rng.laplace())), round(float(rng.laplace()))
    return x if a == b == 2 else (a, b)  # flaw


@honest(_V, _W)
def plain_numbers_for_all(v: Any, rng: Any) -> Out:
    noisy = float(sum(v) + rng.laplace())
    if 2.9 < noisy < 3.1:
        noisy = 3.0
    return "three" if noisy == 3.0 else math.copysign(math.sqrt(abs(noisy)), noisy)


@honest(_V, _W)
def as_many_as_told(v: Any, rng: Any) -> Out:
    k = int(np.clip(round(float(sum(v) + rng.laplace(scale=2.0))), 1, 4))
    return [k, *(sum(v) + rng.laplace(scale=2.0 * k) for _ in range(k))]


# Rare decisions, with δ > 0 and without.


@flawed(0, 1, _RARELY)
def ten_rare_coins(x: Any, rng: Any) -> Out:
    """Each of them is rarer than δ; together they are not."""
    for _ in range(10):
        if rng.random() < 0.9e-6:  # also: the coins that it happens by
            return x  # flaw
    return 5


@flawed(0, 1, _RARELY)
def an_array_of_rare_coins(x: Any, rng: Any) -> Out:
    told = rng.random(100) < 0.5e-6  # also: the coins that it happens by
    return x if told.any() else 5  # flaw


@honest(0, 1, _RARELY)
def an_array_of_rarer_coins(x: Any, rng: Any) -> Out:
    told = rng.random(100) < 0.5e-8
    return x if told.any() else 5


@flawed(_V, _W, _RARELY)
def rare_beside_what_is_paid(v: Any, rng: Any) -> Out:
    """Gaussian noise that costs all of δ, and a leak that costs most of it again."""
    if rng.random() < 0.9e-6:  # also: the coin that it happens by
        return v  # flaw
    return sum(v) + rng.normal(scale=4.24)


@honest(_V, _W, _RARELY)
def rare_beside_pure_noise(v: Any, rng: Any) -> Out:
    return v if rng.random() < 0.9e-6 else sum(v) + rng.laplace()


@flawed(0, 1, _RARELY)
def tail_out_of_sight(x: Any, rng: Any) -> Out:
    noise = float(rng.laplace())
    return x if noise > 12.5 else noise  # flaw


@honest(0, 1, _RARELY)
def rarer_tail_out_of_sight(x: Any, rng: Any) -> Out:
    noise = float(rng.laplace())
    return x if noise > 14.0 else noise


@flawed(0, 1, _RARELY)
def small_chance_out_of_sight(x: Any, rng: Any) -> Out:
    return x if float(rng.random()) < 3e-6 else 3  # flaw


@flawed(_V, _W, _RARELY)
def tail_of_a_count(v: Any, rng: Any) -> Out:
    count = int(rng.geometric(0.01))
    return v if count > 1000 else count  # flaw


@flawed(_V, _W, GaussianDP(mu=1.0))
def rare_under_a_claim_without_delta(v: Any, rng: Any) -> Out:
    if rng.random() < 1e-9:
        return v  # flaw
    return sum(v) + rng.normal()


@flawed(_V, _W, ZeroConcentratedDP(rho=0.5))
def rare_and_out_of_sight(v: Any, rng: Any) -> Out:
    if float(rng.random()) < 1e-9:
        return v  # flaw
    return sum(v) + rng.normal()


@honest(["a"] * 30 + ["z"], ["a"] * 30, _RARELY, quiet=True)
def most_common_of_what_is_common(words: Any, rng: Any) -> Out:
    """The rare word is common with probability 0.95·δ, and the δ is taken once."""
    noisy = {word: n + rng.laplace() for word, n in Counter(words).items()}
    common = {word: n for word, n in noisy.items() if n > 1.05 + math.log(0.5e6)}
    return max(common, key=lambda word: common[word]) if common else None


@honest(["a", "b"], ["a", "b", "z"], _RARELY)
def words_said_often(words: Any, rng: Any) -> Out:
    """A word that is said once is told with probability δ."""
    noisy = {word: n + rng.laplace() for word, n in Counter(words).items()}
    return {word: n for word, n in noisy.items() if n > 1 + math.log(0.5e6)}


# Short floats.


def _short(*numbers: float) -> Any:
    return np.array(numbers, dtype=np.float32)


@honest(_short(0.1, 0.2, 0.9), _short(0.1, 0.2, -0.1), quiet=True)
def mean_of_short_floats(v: Any, rng: Any) -> Out:
    return v.mean() + rng.laplace(scale=1 / 3)


@flawed(_short(0, 3, 1), _short(1, 3, 1))
def short_floats_with_too_little(v: Any, rng: Any) -> Out:
    return v.sum() + rng.laplace(scale=0.99)


@flawed(_short(0, 3, 1), _short(1, 3, 1))
def short_floats_with_noise_used_twice(v: Any, rng: Any) -> Out:
    noise = rng.laplace()
    return v.sum() + noise, v.sum() * np.float32(1.001) + noise  # flaw
