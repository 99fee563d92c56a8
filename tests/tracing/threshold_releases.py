"""Releases that hide what only one dataset has behind a threshold; coins, infinities, comparisons.

They are added to the cases of `adversarial_releases`; none that is honest may be called leaking.
Noise has scale 1. A key with one record passes the threshold 1 + ln(1/(2δ)) with probability δ.
"""

# ruff: noqa: ANN401  # data of any kind

import contextlib
import itertools
import math
import random
import secrets
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from dpverify.guarantees import ApproxDP, GaussianDP
from tests.tracing.adversarial_releases import Out, flawed, honest

DELTA = 1e-6
ENOUGH, TOO_LOW = 1.0 + math.log(0.5 / DELTA), 3.0
CLAIM = ApproxDP(epsilon=1.0, delta=DELTA)

# Histograms of the keys that are there.


def _rows(threshold: float) -> Callable[[Any, Any], Out]:
    def rows(words: Any, rng: Any) -> Out:
        keys, counts = np.unique(words, return_counts=True)
        noisy = counts + rng.laplace(size=len(keys))
        kept = noisy > threshold
        return keys[kept].tolist(), noisy[kept].tolist()

    return rows


def _one_by_one(threshold: float) -> Callable[[Any, Any], Out]:
    def one_by_one(words: Any, rng: Any) -> Out:
        out = {}
        for word, count in sorted(Counter(words).items()):
            noisy = count + rng.laplace()
            if noisy > threshold:
                out[word] = noisy
        return out

    return one_by_one


def _keys_alone(threshold: float) -> Callable[[Any, Any], Out]:
    def keys_alone(words: Any, rng: Any) -> Out:
        return [w for w, n in sorted(Counter(words).items()) if n + rng.laplace() > threshold]

    return keys_alone


_MANY = {key: [key] * 30 for key in "abc"}
_PAIRS = {
    "last": (_MANY["a"] + _MANY["b"], ["z"]),
    "first": (_MANY["b"] + _MANY["c"], ["a"]),
    "between": (_MANY["a"] + _MANY["c"], ["b"]),
    "beside a rare one": (_MANY["a"] + ["c"] * 2, ["b"]),
    "beside an equal one": (_MANY["a"] + ["c"] + ["d"] * 3, ["b"]),
}


def _add_histograms() -> None:
    for name, (fewer, new) in _PAIRS.items():
        for side, pair in (
            ("on the right", (fewer, fewer + new)),
            ("on the left", (fewer + new, fewer)),
        ):
            for made in (_rows, _one_by_one, _keys_alone):
                for put, threshold in ((honest, ENOUGH), (flawed, TOO_LOW)):
                    mechanism = made(threshold)
                    mechanism.__name__ = f"{mechanism.__name__}, a new key {name}, {side}"
                    put(*pair, CLAIM, **({"quiet": True} if put is honest else {}))(mechanism)


_add_histograms()


@honest(_MANY["a"] + _MANY["c"], _MANY["a"] + ["b"] + _MANY["c"] + ["z"],
        ApproxDP(epsilon=2.0, delta=1e-4), quiet=True)  # fmt: skip
def two_new_keys(words: Any, rng: Any) -> Out:
    return _one_by_one(1.0 + math.log(1.0 / 1e-4))(words, rng)


@flawed(_MANY["a"], [*_MANY["a"], "b"], CLAIM)
def how_many_were_cut(words: Any, rng: Any) -> Out:
    kept = _one_by_one(ENOUGH)(words, rng)
    return kept, len(set(words)) - len(kept)


def _table(threshold: float) -> Callable[[Any, Any], Out]:
    def table(words: Any, rng: Any) -> Out:
        counts = pd.Series(words).value_counts().sort_index()
        noisy = counts + rng.laplace(size=len(counts))
        return noisy[noisy > threshold].to_dict()

    return table


honest(_MANY["a"], [*_MANY["a"], "b"], CLAIM)(_table(ENOUGH))
flawed(_MANY["a"], [*_MANY["a"], "b"], CLAIM)(_table(-100.0))

# Samples: a coin that no data were added to is one that the other side can toss as well.

_FIVE, _SIX = [1.0] * 5, [1.0] * 6


@honest(_FIVE, _SIX)
def sampled_in_a_loop(data: Any, rng: Any) -> Out:
    return sum(v for v in data if rng.random() < 0.5) + rng.laplace()


@honest(_SIX, _FIVE, GaussianDP(mu=1.0))
def sampled_in_a_row(data: Any, rng: Any) -> Out:
    kept = np.array(data)[rng.random(len(data)) < 0.5]
    return kept.sum() + rng.normal()


@flawed(_FIVE, _SIX)
def how_many_were_sampled(data: Any, rng: Any) -> Out:
    return int((rng.random(len(data)) < 0.5).sum())


@flawed(_FIVE, _SIX)
def how_many_were_sampled_rarely(data: Any, rng: Any) -> Out:
    return int((rng.random(len(data)) < 0.0005).sum())


# Coins that are whole numbers.

_BITS = [1, 0, 1, 1, 0, 1, 0, 0, 1]
_OTHER = [1, 0, 1, 0, 0, 1, 0, 0, 1]
_THREE = math.log(3.0)


@honest(_BITS, _OTHER, _THREE, quiet=True)
def response_by_integers(bits: Any, rng: Any) -> Out:
    return [b if rng.integers(4) else 1 - b for b in bits]


@honest(_BITS, _OTHER, _THREE, quiet=True)
def response_by_bits(bits: Any, rng: Any) -> Out:  # noqa: ARG001
    return [b if random.getrandbits(2) else 1 - b for b in bits]


@honest(_BITS, _OTHER, _THREE, quiet=True)
def response_by_secrets(bits: Any, rng: Any) -> Out:  # noqa: ARG001
    return [1 - b if secrets.randbelow(4) == 3 else b for b in bits]


@honest(_BITS, _OTHER, _THREE, quiet=True)
def response_by_a_row(bits: Any, rng: Any) -> Out:
    return (np.array(bits) ^ (rng.integers(0, 4, size=len(bits)) == 0)).tolist()


@honest(_BITS, _OTHER, _THREE)
def response_by_two_coins(bits: Any, rng: Any) -> Out:
    return [b if rng.random() < 0.5 else int(rng.integers(2)) for b in bits]


@honest([0], [1], _THREE, quiet=True, exact=_THREE)
def die_with_cases(bits: Any, rng: Any) -> Out:
    die = rng.integers(1, 5)
    if die > 3:
        return 1 - bits[0]
    return bits[0] if die == 2 else bits[0] * 1


@flawed(_BITS, _OTHER, _THREE)
def response_by_a_fairer_die(bits: Any, rng: Any) -> Out:
    return [b if rng.integers(5) else 1 - b for b in bits]


@flawed([0], [1], _THREE)
def die_that_is_told(bits: Any, rng: Any) -> Out:
    die = rng.integers(4)
    return (bits[0] if die > 0 else 1 - bits[0]), bool(die > 0)


@honest([1, 0, 1], [1, 0, 0], 1.0)
def accepted_steps(bits: Any, rng: Any) -> Out:
    """Metropolis' walk towards a density that loses 1."""
    total, x = sum(bits), 0.0
    for _ in range(20):
        y = x + rng.normal(scale=0.5)
        if math.log(rng.random()) < 0.5 * (abs(x - total) - abs(y - total)):
            x = y
    return round(x)


# Infinity.


@honest([1.0, 2.0], [1.0, 3.0], quiet=True)
def until_it_gets_no_better(data: Any, rng: Any) -> Out:
    best = math.inf
    for _ in range(3):
        loss = sum(data) + rng.laplace(scale=3.0)
        if best - loss > 1e-3:
            best = loss
    return best


@honest([1.0, 2.0], [1.0, 3.0], quiet=True)
def told_beside_infinity(data: Any, rng: Any) -> Out:
    noisy = sum(data) + rng.laplace()
    return float(math.inf - noisy), noisy


@honest([1.0, 2.0], [1.0, 3.0], quiet=True)
def below_bounds(data: Any, rng: Any) -> Out:
    noisy = np.array(data) + rng.laplace(size=2)
    return noisy[noisy < np.array([np.inf, 9.0])].tolist()


@honest([1.0, 2.0], [1.0, 3.0], quiet=True)
def running_sums_beside_infinity(data: Any, rng: Any) -> Out:
    noisy = np.array(data) + rng.laplace(size=2)
    seen = [float(v) for v in np.cumsum(np.array([np.inf, 0.0]) - noisy)]
    return noisy if len(seen) == 2 else None


@flawed([1.0, 2.0], [1.0, 3.0])
def infinite_on_one_side(data: Any, rng: Any) -> Out:
    return [(v if v < 2.5 else math.inf) + rng.laplace() for v in data]  # flaw


@flawed([1.0, 2.0], [1.0, 3.0])
def bounds_are_data(data: Any, rng: Any) -> Out:
    numbers = np.array(data)
    noisy = numbers + rng.laplace(size=2)
    return (noisy < np.where(numbers > 2.5, np.inf, 2.0)).tolist()


# Several comparisons of one number are one release.


@honest(3.0, 4.0, quiet=True, exact=1.0)
def two_bits(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()
    return [noisy > 2.5, noisy > 3.5]


@honest(3.0, 4.0, quiet=True)
def level(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()
    return sum(1 << k for k in range(6) if noisy > k)


@flawed(3.0, 4.0)
def two_bits_of_two(x: Any, rng: Any) -> Out:
    return [x + rng.laplace() > 3.0, x + rng.laplace() > 4.0]


@flawed(3.0, 4.0)
def bits_and_a_second_release(x: Any, rng: Any) -> Out:
    noisy = x + rng.laplace()
    return noisy > 2.0, noisy > 1.0, x + rng.laplace()


# Tables, buffers, windows, exceptions that have nothing to do with noise.

_FRAME = pd.DataFrame({"g": list("xxyyz"), "v": [0.5, 0.2, 0.9, 0.1, 0.3]})
_FRAMES = (_FRAME, _FRAME.assign(v=[0.5, 0.2, 0.1, 0.1, 0.3]))


@honest(*_FRAMES, 0.8, quiet=True)
def table_written_in_place(frame: Any, rng: Any) -> Out:
    totals = frame.groupby("g").v.sum().reindex(list("xyzw"), fill_value=0.0)
    totals = totals + rng.laplace(size=4)
    totals[totals < 0.0] = 0.0
    totals.loc["w"] = 0.0
    totals /= 2.0
    return totals


@honest(*_FRAMES, 0.8, quiet=True)
def table_filled_row_by_row(frame: Any, rng: Any) -> Out:
    out = pd.DataFrame({"g": ["x", "y"], "n": 0.0})
    for i, group in enumerate(out.g):
        out.loc[i, "n"] = frame.v[frame.g == group].sum() + rng.laplace()
    return out


@flawed(*_FRAMES, 0.8)
def table_with_its_totals(frame: Any, rng: Any) -> Out:
    table = pd.DataFrame({"s": frame.groupby("g").v.sum()})
    table["n"] = table["s"] + rng.laplace(size=len(table))
    return table


@honest([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], quiet=True)
def window(data: Any, rng: Any) -> Out:
    last: deque[Any] = deque(maxlen=2)
    out = []
    for v in data:
        last.append(v + rng.laplace())
        out.append(sum(last) / len(last))
    return out


@flawed([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
def noise_in_turn(data: Any, rng: Any) -> Out:
    noise = itertools.cycle(rng.laplace(size=2))
    return [v + z for v, z in zip(data, noise, strict=False)]


@honest([3.0, 1.0], [3.0, 2.0], quiet=True)
def suppressing(data: Any, rng: Any) -> Out:
    out = []
    for v in data:
        with contextlib.suppress(ZeroDivisionError):
            out.append(v + rng.laplace())
    return out


@flawed([3.0, 1.0], [3.0, 0.0])
def suppressing_a_record(data: Any, rng: Any) -> Out:
    out = []
    for v in data:
        with contextlib.suppress(ZeroDivisionError):
            out.append(0.0 / v + rng.laplace())
    return out


@honest([1.0, 2.0], [1.0, 3.0], ApproxDP(epsilon=1.0, delta=1e-5), quiet=True)
def shorter_floats_around_zero(data: Any, rng: Any) -> Out:
    return np.asarray(data, dtype=np.float32) + rng.normal(0, 5.0, size=2).astype(np.float32)
