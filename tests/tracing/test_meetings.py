"""Where two plain numbers meet in a mechanism's code, and that telling so changes nothing."""

# ruff: noqa: ANN401  # data of any kind

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.guarantees import PureDP
from dpverify.tracing import trace
from dpverify.tracing.recording.meetings import meetings, written_functions


class _Base:
    def __init__(self, bound: float) -> None:
        self.__bound = bound  # a private name, which Python mangles

    def is_low(self, value: float) -> bool:
        return value < self.__bound


class _Derived(_Base):
    def is_low(self, value: float) -> bool:
        return super().is_low(value) or value == 3


def _judged(data: Any, rng: Any) -> Any:
    """All that is exchanged in one function: methods, closures, chains, generators, lookups."""
    seen: list[float] = []
    judge = _Derived(5.0)

    def halves(value: float) -> Any:
        nonlocal seen
        while 1.0 < value <= 100.0:
            seen = [*seen, value]
            yield (value := value / 2 - 0.25)

    total = [float(part) for part in halves(data[0]) if judge.is_low(part)]
    table = {1.0: "one", 2.0: "two"}
    most = max(*data, key=lambda part: part - data[1])
    return total, table[min(data[1], 2.0)], most, seen, np.clip(data, 0.0, 1.5).tolist(), rng


def test_the_code_does_the_same_while_it_tells() -> None:
    data = [9.0, 2.0, 1.0]
    plain = _judged(data, None)
    code = _judged.__code__
    with meetings(_judged) as met:
        assert _judged.__code__ is not code
        assert _judged(data, None) == plain
    assert _judged.__code__ is code
    assert {key[0] for key in met.gaps} == {"compared", "subtracted", "given"}
    assert -8.0 in met.gaps.values()  # 1 against 9, in the first turn of the loop


def test_functions_are_found_through_classes_closures_and_wrappers() -> None:
    names = {function.__qualname__ for function in written_functions(_judged)}
    assert {"_judged", "_Derived.is_low", "_Base.is_low"} <= names

    @functools.wraps(_judged)
    def wrapper(data: Any, rng: Any) -> Any:
        return _judged(data, rng)

    assert "_Base.is_low" in {f.__qualname__ for f in written_functions(wrapper)}


def test_the_code_is_put_back_if_two_look_at_once() -> None:
    code = _judged.__code__
    first, second = meetings(_judged), meetings(_judged)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert _judged.__code__ is code


def test_code_without_source_is_left_alone() -> None:
    names: dict[str, Any] = {}
    source = (
        "def release(x, rng):\n    y = float(x + rng.laplace())\n    return y if y < 3 else 3.0\n"
    )
    exec(source, names)  # noqa: S102
    release: Callable[[Any, Any], Any] = names["release"]
    found = trace(release, left=0.0, right=1.0, claim=PureDP(epsilon=1.0), confirm=False)
    assert found.verdict == "shown"


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_slits_of_any_width_are_found(width: float) -> None:
    def release(data: Any, rng: Any) -> Any:
        noisy = float(sum(data) + rng.laplace())
        start = 0.123456789 * len(data) + 1.0
        return data if start < noisy < start + width else noisy

    found = trace(
        release, left=[0.3, 1.0], right=[0.4, 1.0], claim=PureDP(epsilon=1.0), confirm=False
    )
    assert found.verdict == "leaking"
    assert found.leaks[0].source.startswith("return data if")


def test_words_of_shown_speak_of_runs() -> None:
    found = trace(
        lambda x, rng: float(x + rng.laplace()),
        left=0.0,
        right=1.0,
        claim=PureDP(epsilon=1.0),
        confirm=False,
    )
    assert str(found).startswith("shown on these runs: ")
    assert "other transcripts and pairs were not looked at" in found.meaning
    assert any("saw a noisy number" in note for note in found.to_dict()["notes"])
