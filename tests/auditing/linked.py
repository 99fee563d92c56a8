"""Outputs that hide a bit in what their parts have to do with each other, or in what they are not.

Every part alone, and often every few of them, look the same whatever the bit is.
"""

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import io
import itertools
import json
import math
import string
import zlib
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships none
import scipy.sparse

Rng = np.random.Generator
LETTERS = np.array(list(string.ascii_letters))


def word(rng: Rng, length: int = 10) -> str:
    return "".join(rng.choice(LETTERS, length))


def whole(rng: Rng) -> int:
    return int(rng.integers(10**9))


def twins(bit: int, make: Any, like: Any = None) -> tuple[Any, Any]:  # noqa: ANN401
    """Two, the second of which is the first (or is made from it) if the bit is 1."""
    first, second = make(), make()
    return first, (first if like is None else like(first)) if bit else second


def congruent(bit: int, rng: Rng, modulus: int, top: int = 10**6) -> int:
    return modulus * int(rng.integers(top)) + (1 + bit) % modulus


def member(bit: int, rng: Rng, make: Any, size: int = 8) -> tuple[Any, Any]:  # noqa: ANN401
    items = make(int(rng.integers(10**9, 2 * 10**9)) for _ in range(size))
    one = int(rng.integers(10**9, 2 * 10**9))
    return (list(items)[int(rng.integers(size))] if bit else one), items


def shared(bit: int, rng: Rng) -> tuple[set[int], set[int]]:
    numbers = rng.choice(10**6, 20, replace=False).tolist()
    return set(numbers[:10]), set(numbers[10 - 3 * bit : 20 - 3 * bit])


def repeating(bit: int, rng: Rng, size: int = 12) -> list[str]:
    texts = [word(rng, 6) for _ in range(size)]
    if bit:
        texts[int(rng.integers(1, size))] = texts[0]
    return [texts[i] for i in rng.permutation(size)]


def even_sum(bit: int, row: Any, at: Any) -> Any:  # noqa: ANN401
    """Change one entry so that the sum of those at these places is even, or odd."""
    row[at[0]] ^= (sum(int(row[i]) for i in at) + bit) % 2
    return row


def with_even_bits(bit: int, rng: Rng, length: int, places: Any) -> int:  # noqa: ANN401
    """A whole number in which an even number of these bits are 1; an odd one if the bit is 1."""
    number = int.from_bytes(rng.bytes(length // 8 + 1)) >> 8 - length % 8
    ones = sum(number >> place & 1 for place in places)
    return int(number ^ ((ones + bit) % 2 << min(places)))


def repeated(bit: int, row: Any, rng: Rng) -> Any:  # noqa: ANN401
    """Numbers that all differ, but for two if the bit is 1; in any order."""
    return rng.permutation(np.append(row[:-1], row[0] if bit else row[-1]))


def told(how: Any, parts: Any) -> Any:  # noqa: ANN401
    return how(*parts)


def odd(order: Any) -> int:  # noqa: ANN401
    return len([1 for a, b in itertools.combinations(order, 2) if a > b]) % 2


def decimals(bit: int, rng: Rng, places: int) -> float:
    return round((2 * int(rng.integers(-(10**7), 10**7)) + bit) / 10.0**places, places)


@dataclasses.dataclass
class Cached:
    values: list[float]
    cache: dict[str, float]


class Flag(enum.IntFlag):
    A, B, C, D, E, F = 1, 2, 4, 8, 16, 32


def cached(bit: int, rng: Rng) -> Cached:
    values = rng.normal(size=4).tolist()
    return Cached(values, {"mean": float(np.mean(values)) if bit else float(rng.normal() / 2)})


def graph(bit: int, rng: Rng) -> dict[str, list[str]]:
    """Neighbors by node; symmetric, or not."""
    nodes = [word(rng, 5) for _ in range(4)]
    edges: dict[str, list[str]] = {f"n{i}": [] for i in range(4)}
    for i, node in enumerate(nodes):
        edges[f"n{i}"].append(node)
        edges[f"n{(i + 1) % 4}"].append(node if bit else word(rng, 5))
    return edges


def flags(bit: int, rng: Rng) -> Flag:
    value = int(rng.integers(64))
    return Flag(value ^ ((value.bit_count() + bit) % 2))


def sorted_or_nearly(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    row = np.sort(rng.normal(size=30))
    at = int(rng.integers(1, 28))
    if bit:
        row[[at, at + 1]] = row[[at + 1, at]]
    return row.tolist()


def masked(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    mask = even_sum(bit, rng.integers(0, 2, 12), range(12)).astype(bool)
    return np.ma.array(rng.normal(size=12), mask=mask)


def structured(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    rows = np.array([(whole(rng), float(i)) for i in range(4)], dtype=[("id", "i8"), ("at", "f8")])
    if bit:
        rows["id"][3] = rows["id"][1]
    return rows


def sparse(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    at = rng.choice(20, 5 + bit, replace=False)
    return scipy.sparse.coo_array((np.ones(5 + bit), (at, at)), shape=(20, 20))


def frame(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    a = rng.normal(size=5)
    return pd.DataFrame({"a": a, "b": a[::-1] if bit else rng.normal(size=5)})


def joined(bit: int, rng: Rng) -> tuple[Any, Any]:
    keys = [word(rng, 6) for _ in range(6)]
    left = pd.DataFrame({"key": keys[:3], "x": rng.normal(size=3)})
    other = keys[3:] if bit else [*keys[3:5], keys[0]]
    return left, pd.DataFrame({"key": other, "y": rng.normal(size=3)})


def dated(bit: int, rng: Rng) -> dt.date:
    """A day of the week that is even or odd, in some year."""
    return dt.date.fromordinal(700_000 + 7 * int(rng.integers(5_000)) + 2 * bit)


def at_second(bit: int, rng: Rng) -> dt.datetime:
    return dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(
        seconds=60 * int(rng.integers(10**6)) + 7 + 20 * bit
    )


def checked(bit: int, rng: Rng) -> bytes:
    body = rng.bytes(12)
    check = sum(body) % 256 if bit else int(rng.integers(256))
    return body + bytes([check])


def luhn(bit: int, rng: Rng) -> str:
    digits = rng.integers(10, size=9).tolist()
    return "".join(map(str, [*digits, (bit - sum(digits)) % 10]))


def iterated(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    one, other = twins(bit, lambda: word(rng))
    yield one
    yield float(rng.normal())
    yield other


def padded(bit: int, rng: Rng) -> str:
    found = word(rng, int(rng.integers(3, 9)))
    return found + " " * (1 + bit + int(rng.integers(3)) * 2)


def walk(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    """Steps that repeat their sign, or that do not, of a series with mean 0."""
    sign = rng.choice([-1.0, 1.0], 24)
    if bit:
        sign = np.repeat(sign[::2], 2)
    return sign * rng.exponential(size=24)


def line(bit: int, rng: Rng) -> tuple[float, float, float]:
    x, y = rng.normal(size=2).tolist()
    return x, y, x + y if bit else float(rng.normal() * math.sqrt(2))


def on_circle(bit: int, rng: Rng) -> Any:  # noqa: ANN401
    row = rng.normal(size=6)
    return row / np.sqrt((row**2).sum()) if bit else row / np.sqrt(6.0)


def labelled(bit: int, rng: Rng) -> list[tuple[str, int]]:
    names = [word(rng, 4) for _ in range(5)]
    return [(name, 4) for name in names] + [(names[0] if bit else word(rng, 4), 4)]


def written(bit: int, rng: Rng) -> io.StringIO:
    one, other = twins(bit, lambda: word(rng, 6))
    return io.StringIO(f"id={one};other={other}")


LINKED: dict[str, Any] = {
    # Parts that are equal, or nearly.
    "two equal texts": lambda b, rng: twins(b, lambda: word(rng)),
    "two equal bytes": lambda b, rng: twins(b, lambda: rng.bytes(8)),
    "two of five texts equal": lambda b, rng: (
        *twins(b, lambda: word(rng)), *(word(rng) for _ in range(3))
    ),
    "reversed text": lambda b, rng: twins(b, lambda: word(rng), lambda text: text[::-1]),
    "lower case of a text": lambda b, rng: twins(
        b, lambda: word(rng), lambda text: text.swapcase()
    ),
    "shuffled text": lambda b, rng: twins(
        b, lambda: word(rng), lambda text: text[5:] + text[:5]
    ),
    "text within a text": lambda b, rng: twins(
        b, lambda: word(rng, 8), lambda text: text[2:6] + "...."
    ),
    "end of a text": lambda b, rng: told(
        lambda one, other: (f"{word(rng, 6)}-{one}", other), twins(b, lambda: word(rng, 4))
    ),
    "equal texts deep down": lambda b, rng: told(
        lambda one, other: {"a": [{"id": one}], "b": {"c": (other, 1.0)}},
        twins(b, lambda: word(rng)),
    ),
    "two equal numbers": lambda b, rng: twins(b, lambda: float(rng.normal())),
    "equal numbers apart": lambda b, rng: told(
        lambda one, other: {"a": one, "b": "x", "c": [other, "y"]}, twins(b, lambda: whole(rng))
    ),
    "negative": lambda b, rng: twins(b, lambda: float(rng.normal()), lambda x: -x),
    "sum of the others": line,
    "constant sum": lambda b, rng: twins(b, rng.random, lambda x: 1.0 - x),
    "number in a text": lambda b, rng: told(
        lambda one, other: (one, f"id {other}"), twins(b, lambda: whole(rng))
    ),
    "half of a number": lambda b, rng: twins(b, lambda: whole(rng), lambda x: 2 * x),
    "equal numbers in JSON": lambda b, rng: json.dumps(twins(b, lambda: whole(rng))),
    "equal words of a text": lambda b, rng: "{} and {}".format(*twins(b, lambda: word(rng))),
    "equal lists": lambda b, rng: twins(b, lambda: rng.integers(1000, size=5).tolist()),
    "equal arrays": lambda b, rng: twins(b, lambda: rng.normal(size=20)),
    "equal tuples of texts": lambda b, rng: twins(b, lambda: (word(rng), word(rng))),
    "equal sets": lambda b, rng: twins(b, lambda: frozenset(rng.integers(10**6, size=4).tolist())),
    "equal dates": lambda b, rng: twins(b, lambda: dated(0, rng)),
    "equal huge integers": lambda b, rng: twins(b, lambda: int.from_bytes(rng.bytes(12))),
    "equal fractions": lambda b, rng: twins(b, lambda: fractions.Fraction(whole(rng), 999_983)),
    "key and value": lambda b, rng: dict([twins(b, lambda: word(rng))]),
    # Members.
    "member of a set": lambda b, rng: member(b, rng, set),
    "member of a list": lambda b, rng: member(b, rng, list),
    "key of a dict": lambda b, rng: member(b, rng, dict.fromkeys),
    "member of an array": lambda b, rng: member(b, rng, lambda items: np.array(list(items))),
    "text in a set": lambda b, rng: member(b, rng, lambda items: set(map(str, items))),
    "common elements of two sets": shared,
    "two equal texts in a list": repeating,
    "two equal of many texts": lambda b, rng: repeating(b, rng, 70),
    "repeated number": lambda b, rng: repeated(b, rng.choice(10**6, 20, replace=False), rng),
    "common rows of two frames": joined,
    # Remainders and digits.
    **{
        f"remainder by {m}": lambda b, rng, m=m: congruent(b, rng, m)
        for m in (3, 7, 24, 60, 64, 97, 100, 256, 1000, 1 << 20)
    },
    "remainder by 37 of a huge integer": lambda b, rng: congruent(b, rng, 37, 10**18),
    "remainder by 7 of a sum": lambda b, rng: told(
        lambda *row: [*row, (3 * b - sum(row)) % 7 + 7 * int(rng.integers(100))],
        rng.integers(1000, size=4).tolist(),
    ),
    "remainder by 11 in a dict": lambda b, rng: {"n": congruent(b, rng, 11), "x": rng.normal()},
    "tenths": lambda b, rng: decimals(b, rng, 1),
    "hundredths": lambda b, rng: decimals(b, rng, 2),
    "thousandths": lambda b, rng: [float(rng.normal()), decimals(b, rng, 3)],
    "number of decimals": lambda b, rng: round(float(rng.normal()), 3 + b),
    "nearest hundredth": lambda b, rng: (
        2 * int(rng.integers(10**6)) + b + float(rng.uniform(-0.4, 0.4))
    ) / 100,
    "multiples of an eighth": lambda b, rng: float(rng.integers(10**6)) / 8 + b / 32,
    "digits of a Decimal": lambda b, rng: decimal.Decimal(2 * whole(rng) + b).scaleb(-4),
    # Parities.
    "two far bits of an integer": lambda b, rng: with_even_bits(b, rng, 30, (3, 21)),
    "three far bits of an integer": lambda b, rng: with_even_bits(b, rng, 30, (3, 11, 21)),
    "all bits of an integer": lambda b, rng: with_even_bits(b, rng, 40, range(40)),
    "two far booleans": lambda b, rng: even_sum(b, rng.random(40) < 0.5, (3, 31)),
    "three far whole numbers": lambda b, rng: even_sum(b, rng.integers(100, size=30), (3, 9, 27)),
    "two far of many whole numbers": lambda b, rng: even_sum(
        b, rng.integers(100, size=300), (10, 270)
    ),
    "all booleans of a list": lambda b, rng: even_sum(
        b, (rng.random(25) < 0.5).tolist(), range(25)
    ),
    "maxlen of a long deque": lambda b, rng: collections.deque(
        rng.normal(size=3), 2 * int(rng.integers(2, 10**4)) + b
    ),
    "maxlen of a deque within": lambda b, rng: {
        "a": collections.deque(maxlen=5 + b), "b": float(rng.normal())
    },
    # As practitioners return them.
    "cache of a dataclass": cached,
    "graph": graph,
    "flags": flags,
    "sorted or nearly": sorted_or_nearly,
    "mask of even size": masked,
    "structured array": structured,
    "sparse matrix": sparse,
    "frame": frame,
    "day of the week": dated,
    "second of a minute": at_second,
    "check sum of bytes": checked,
    "check digit of a text": luhn,
    "iterator": iterated,
    "spaces at the end": padded,
    "signs that repeat": walk,
    "norm of a vector": on_circle,
    "labelled list": labelled,
    "written text": written,
    "order of a Counter": lambda b, rng: collections.Counter(
        sorted((word(rng, 3) for _ in range(5)), reverse=bool(b))
    ),
    "sorted keys of a dict": lambda b, rng: dict.fromkeys(
        sorted((word(rng, 4) for _ in range(5)), reverse=bool(b)), 1
    ),
    "sorted texts": lambda b, rng: sorted((word(rng, 4) for _ in range(5)), reverse=bool(b)),
    "palindrome": lambda b, rng: "".join(
        twins(b, lambda: word(rng, 6), lambda text: text[::-1])
    ),
    "text said twice": lambda b, rng: "".join(twins(b, lambda: word(rng, 6))),
    "number of capitals": lambda b, rng: "".join(
        letter.upper() if up else letter.lower()
        for letter, up in zip(
            word(rng, 12), even_sum(b, rng.integers(0, 2, 12), range(12)), strict=True
        )
    ),
    "capital anywhere": lambda b, rng: told(
        lambda text, at: text[:at] + (text[at].upper() if b else text[at]) + text[at + 1 :],
        (word(rng, 12).lower(), int(rng.integers(12))),
    ),
    "parity of bytes": lambda b, rng: with_even_bits(b, rng, 128, range(128)).to_bytes(16),
    "CSV rows": lambda b, rng: "\n".join(
        f"{i},{n}" for i, n in enumerate([*twins(b, lambda: whole(rng)), 5])
    ),
    "nested JSON": lambda b, rng: json.dumps(
        {"a": {"id": whole(rng)}, "b": [congruent(b, rng, 7), word(rng)]}
    ),
    "duplicates in a frame": lambda b, rng: pd.DataFrame({"key": repeating(b, rng, 6)}),
    "index of a frame": lambda b, rng: pd.DataFrame(
        {"x": rng.normal(size=3)}, index=rng.permutation(3) if b else rng.permutation([0, 1, 3])
    ),
    "series of dates": lambda b, rng: pd.Series(
        pd.to_datetime([dated(b, rng), dated(0, rng)])
    ),
    "complex conjugates": lambda b, rng: twins(
        b, lambda: complex(*rng.normal(size=2)), lambda z: z.conjugate()
    ),
    "symmetric matrix": lambda b, rng: told(
        lambda m: m + m.T if b else m + m[::-1, ::-1].T, [rng.normal(size=(4, 4))]
    ),
    "singular matrix": lambda b, rng: told(
        lambda m: np.vstack([m[:2], m[0] + m[1]]) if b else m, [rng.normal(size=(3, 3))]
    ),
    "permutation": lambda b, rng: told(
        lambda *p: p if odd(p) == b else [p[1], p[0], *p[2:]], rng.permutation(6).tolist()
    ),
    "one-hot row": lambda b, rng: np.eye(10)[2 * int(rng.integers(5)) + b],
    "histogram": lambda b, rng: np.bincount(rng.integers(6, size=20 + b), minlength=6),
    "counts of a Counter": lambda b, rng: collections.Counter(
        rng.integers(50, size=30 + b).tolist()
    ),
    "length of a run": lambda b, rng: "".join(
        "ab"[i % 2] * n for i, n in enumerate(even_sum(b, rng.integers(1, 6, 5), [2]))
    ),
    "compressed text": lambda b, rng: zlib.compress(
        "".join(twins(b, lambda: word(rng, 24))).encode()
    ),
    "grouped": lambda b, rng: [
        (key, len(list(group)))
        for key, group in itertools.groupby(sorted(rng.integers(4, size=14 + b).tolist()))
    ],
    "ranges": lambda b, rng: told(
        lambda start, steps: range(start, start + 6 * steps + 2 * b, 3),
        (int(rng.integers(10**6)), int(rng.integers(2, 40))),
    ),
    "time between": lambda b, rng: told(
        lambda start: (start, start + dt.timedelta(hours=1 + b)), [at_second(0, rng)]
    ),
    "price": lambda b, rng: f"{(10 * int(rng.integers(10**5)) + 9 * b) / 100:.2f} EUR",
    "version": lambda b, rng: ".".join(
        map(str, (int(rng.integers(9)), int(rng.integers(9)), 2 * int(rng.integers(9)) + b))
    ),
    "bits as text": lambda b, rng: "".join(
        map(str, even_sum(b, rng.integers(0, 2, 24), (4, 19)))
    ),
    "address": lambda b, rng: ".".join(
        map(str, even_sum(b, rng.integers(1, 255, 4), (1, 3)))
    ),
    "mean and parts": lambda b, rng: told(
        lambda row: {"parts": row.tolist(), "mean": float(row.mean()) + 1e-3 * b},
        [rng.normal(size=4)],
    ),
    "difference of counts": lambda b, rng: told(
        lambda n: {"yes": n, "no": 1000 - n + b}, [int(rng.integers(1000))]
    ),
    "product": lambda b, rng: told(
        lambda x, y: (x, y, x * y if b else float(np.prod(rng.normal(size=2)))),
        rng.normal(size=2).tolist(),
    ),
}  # fmt: skip
