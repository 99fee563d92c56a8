"""Outputs that are awkward to read: bounded time and memory, and a note for what was not read."""

import itertools
import time
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import audit
from dpverify.auditing.sampling.copies import detached
from dpverify.auditing.sampling.outputs import ODD, TYPE
from dpverify.auditing.sampling.parts import Read
from dpverify.auditing.sampling.reading import raised, read
from dpverify.auditing.sampling.relations import UNRELATED
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.guarantees import PureDP

ONE = PureDP(epsilon=1.0)


class Raises:
    """Every hook of it raises."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401
        raise OSError(f"no {name}")

    def __repr__(self) -> str:
        raise OSError("no text")

    def __iter__(self) -> Iterator[int]:
        raise OSError("no items")


class Endless:
    """An iterable that has no end, and no text."""

    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class BadArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:  # noqa: ANN401
        raise ValueError("not now")


class Deep:
    """An object whose parts have parts, without end."""

    @property
    def tolist(self) -> Any:  # noqa: ANN401
        return lambda: [Deep()]


class Growing:
    """An object that has another state whenever it is asked, larger than before."""

    def __getstate__(self) -> dict[str, Any]:
        return {f"part {i}": Growing() for i in range(100)}


def nested() -> Iterator[Any]:
    while True:
        yield nested()


def failing() -> Iterator[int]:
    yield 1
    raise KeyError("two")


def loop() -> Any:  # noqa: ANN401
    one: dict[str, Any] = {"x": 1.0}
    one["self"] = [one]
    return one


def deep(depth: int) -> Any:  # noqa: ANN401
    value: Any = 1.0
    for _ in range(depth):
        value = [value, None]
    return value


UNREAD: dict[str, tuple[Any, str]] = {
    "hooks that raise": (Raises, "a Raises: reading it raises OSError"),
    "endless generator": (lambda: (i for i in itertools.count()), "beyond the first 16,384"),
    "endless iterable": (Endless, "beyond the first 16,384"),
    "generators in each other": (nested, "parts of one output beyond the first 16,384"),
    "numbers after many parts": (
        lambda: [["a", "b"]] * 5_461 + [1.0] * 5,
        "parts of one output beyond the first 16,384",
    ),
    "array that raises": (BadArray, "a BadArray: reading it raises ValueError: not now"),
    "no value": (object, "a object: it has no value that can be read"),
    "class": (lambda: int, "a type: it has no value"),
    "cache": (lambda: lru_cache(len), "what a cache of functools holds"),
    "bits of an integer": (lambda: 1 << 20_000, "single bits of an integer beyond 13,000"),
    "very deep": (lambda: deep(40), "more than 24 levels deep"),
    "deep without end": (Deep, "more than 24 levels deep"),
    "many texts": (lambda: ["a"] * 20_000, "more than 1,024 texts"),
    "many lists": (lambda: [["a"]] * 20_000, "beyond the first 16,384"),
    "long text": (lambda: "x" * 10_000, "single characters of a text beyond the first 4,096"),
    "very long text": (lambda: "x" * 10**6, "characters of a text beyond the first 4,096"),
    "very long bytes": (lambda: bytes(10**6), "characters of a text beyond the first 4,096"),
    "long texts": (
        lambda: ["x" * 4_000] * 100,
        "single characters of texts beyond the first 32,768 of an output",
    ),
    "a range beyond all memory": (lambda: range(10**18), "beyond the first 16,384"),
    "state that grows when it is read": (Growing, "parts of one output beyond the first 16,384"),
    "long array": (lambda: np.ones(10**6), "single entries of arrays of more than 65,536 numbers"),
}


@pytest.mark.parametrize(("make", "note"), UNREAD.values(), ids=UNREAD)
def test_what_was_not_read_is_noted(make: Any, note: str) -> None:  # noqa: ANN401
    start = time.process_time()
    block = from_objects([make(), 1.0])
    assert any(note in told for told in block.unread), block.unread
    assert block.size == 2
    assert time.process_time() - start < 20.0


READ: dict[str, tuple[Any, str, float]] = {
    "loop": (loop, "output['x']", 1.0),
    "generator": (lambda: (i / 2 for i in range(3)), "output[2]", 1.0),
    "generator that fails": (failing, "output[0]", 1.0),
    "range": (lambda: range(5, 9), "output[3]", 8.0),
    "complex": (lambda: 1 - 2j, "output.imag", -2.0),
    "fraction": (lambda: Fraction(1, 3), "output", 1 / 3),
    "number in a text": (lambda: "x = -1.5e3!", "number 0 in output", -1500.0),
    "missing time": (lambda: np.datetime64("NaT"), "output.seconds[0]", np.nan),
    "date": (lambda: np.datetime64("1970-01-02"), "output.seconds[0]", 86_400.0),
    "integer beyond floats": (lambda: 2**80 + 5, "output mod 65536", 5.0),
    "integer of 10,000 bits": (lambda: (1 << 10**4) + 7, "output mod 65536", 7.0),
    "20 levels": (lambda: deep(20), "output" + "[0]" * 20, 1.0),
    "long list of numbers": (lambda: [0.5] * 60_000, "output[59999]", 0.5),
}


def test_an_error_is_told_with_what_it_came_from_once() -> None:
    error = ValueError("no answer")
    error.add_note("a note")
    error.__cause__ = ExceptionGroup("several", [KeyError(3), error])
    assert raised(error).message == (
        "no answer, __notes__=['a note'], "
        "from ExceptionGroup: several (2 sub-exceptions) [KeyError: 3; ValueError: no answer]"
    )


@pytest.mark.parametrize(("make", "name", "value"), READ.values(), ids=READ)
def test_what_is_read_has_a_name(make: Any, name: str, value: float) -> None:  # noqa: ANN401
    block = from_objects([make(), None])
    assert np.array_equal(block.column(name)[:1], [value], equal_nan=True), block.columns[:20]
    assert set(block.unread) <= {UNRELATED}  # of what is nested deeply


def test_every_entry_of_a_folded_array_counts() -> None:
    rows = np.zeros((3, 200_000))
    rows[1, 123_456] = 1.0
    rows[2, 199_999] = -1.0
    block = from_objects(list(rows))
    sums = np.array([block.column(f"output.sums[{i}]") for i in range(1_024)])
    assert not sums[:, 0].any()
    assert np.count_nonzero(sums[:, 1]) == np.count_nonzero(sums[:, 2]) == 1
    assert block.column("output.places[0]")[1] == 123_456.0
    assert block.column("output.extremes[1]").tolist() == [0.0, 0.0, -1.0]


def test_an_array_that_only_looks_large_is_not_copied() -> None:
    folded = read(np.broadcast_to(np.arange(300.0), (1_000, 300))).parts
    plain = read(np.tile(np.arange(300.0), (1_000, 1))).parts
    for (name, one), (_, other) in zip(folded.items, plain.items, strict=True):
        assert np.array_equal(one, other) if name != "note" else one == other
    places = dict(folded.items)["places"]
    assert places.tolist() == [299.0, 0.0]


def test_shapes_that_differ_take_no_more_columns_than_there_are_numbers() -> None:
    block = from_objects([np.ones((50_000, 1)), np.zeros((1, 50_000))])
    assert len([name for name in block.columns if name.startswith("output[")]) == 99_999
    assert block.column("output[49999][0]")[0] == 1.0
    assert np.isnan(block.column("output[49999][0]")[1])


def test_representation_is_told_apart_from_value() -> None:
    block = from_objects([0.0, -0.0, 0, np.float32(0.0)])
    assert block.text("output").tolist() == ["0"] * 4
    assert block.text(TYPE).tolist() == ["float", "float", "int", "float32"]
    assert block.text(ODD).tolist() == ["", "-0 at 0", "", ""]
    rows = from_array(np.array([[1.0, 2.0], [-0.0, 2.0]], np.float32))
    assert rows.text(TYPE).tolist() == ["ndarray of float32"] * 2
    assert rows.text(ODD).tolist() == ["", "-0 at 0"]


def test_types_are_told_as_they_stand_in_each_other() -> None:
    made = [[1, 2, 3.0], [[1], [2]], {"a": np.float32(1)}, Fraction(1, 3), np.ones(2, np.int8)]
    assert [read(value).kind for value in made] == [
        "list(int × 2, float)",
        "list(list(int), list(int))",
        "dict(key str, float32)",
        "Fraction",
        "ndarray of int8",
    ]


def test_what_is_huge_is_not_held_until_it_is_read() -> None:
    for huge in ("x" * 10**5, bytes(10**5), np.ones(10**5), [1.0] * 10**5):
        assert isinstance(detached(huge), Read)
    assert detached("short") == "short"


def functions(_data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    return [rng.normal(), int]


def hooked(_data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    return Raises() if rng.random() < 0.5 else 1.0


def test_an_output_whose_hooks_raise_is_an_output() -> None:
    verdict = audit(hooked, left=0, right=1, claim=ONE, samples=300)
    assert not verdict.refuted
    assert any("a Raises: reading it raises OSError" in note for note in verdict.notes)


def test_a_verdict_says_what_it_did_not_examine() -> None:
    verdict = audit(functions, left=0, right=1, claim=ONE, samples=300)
    assert not verdict.refuted
    assert "not examined: a type: it has no value" in verdict.notes
    assert "note: not examined" in str(verdict)


def test_only_what_was_run_is_said_to_have_been_tried() -> None:
    def normal(_data: int, rng: np.random.Generator) -> float:
        return float(rng.normal())

    given: dict[str, Any] = {"left": 0, "right": 1, "claim": ONE}
    few = audit(normal, **given, samples=40)
    assert few.tried == ()
    assert any("nothing was looked for" in note for note in few.notes)
    assert audit(normal, **given, samples=600).tried == (
        "thresholds and intervals",
        "single values and sets of values",
        "digits of fractions",
    )
    pair = audit(lambda data, rng: [normal(data, rng), normal(data, rng)], **given, samples=1_200)
    assert "boosted trees" in pair.tried
    short = audit(lambda data, rng: [normal(data, rng), normal(data, rng)], **given, samples=200)
    assert "boosted trees" not in short.tried


def test_an_address_in_memory_is_no_output_however_late_it_stands() -> None:
    class Wordy:
        __slots__ = ()

        def __repr__(self) -> str:
            return "x" * 20_000 + object.__repr__(self)

    kept = [Wordy(), Wordy()]
    assert read(kept[0]) == read(kept[1])


def test_every_one_of_very_many_texts_counts() -> None:
    def texts(bit: int, rng: np.random.Generator) -> list[str]:
        flipped = bit ^ (rng.random() < 1e-3)
        return ["a"] * 1_100 + ["b" if flipped else "c"]

    verdict = audit(texts, left=0, right=1, claim=ONE, samples=150, seed=1)
    assert verdict.refuted
    assert "not examined: single characters of more than 1,024 texts in a list" in verdict.notes
