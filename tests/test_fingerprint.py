import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.fingerprint import fingerprint

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values, values)
def test_equal_contents_and_only_those(one: object, other: object) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (
        repr(one) == repr(other) or _maps(one, other)
    )


def _maps(one: object, other: object) -> bool:
    """Dictionaries are equal in whatever order they were written."""
    return isinstance(one, dict) and one == other and fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0, 0.0),
        ([1], (1,)),
        ([[1], 2], [1, [2]]),
        (np.zeros(3), np.zeros((3, 1))),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        ("a", b"a"),
        ({1: 2}, {2: 1}),
        ([0.0], [-0.0]),
    ],
)
def test_different_contents_differ(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_order_of_keys_and_addresses_do_not_matter() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({3, 1, 2}) == fingerprint({2, 3, 1})

    class Plain:
        def __init__(self, x: int) -> None:
            self.x = x

    assert fingerprint(Plain(1)) == fingerprint(Plain(1))
    assert fingerprint(Plain(1)) != fingerprint(Plain(2))


def test_frames_are_their_cells() -> None:
    def frame(*rows: list[int]) -> SimpleNamespace:
        split = {"index": [0], "columns": ["x"], "data": list(rows)}
        return SimpleNamespace(columns=["x"], to_dict=lambda _kind: split)

    assert fingerprint(frame([1])) == fingerprint(frame([1]))
    assert fingerprint(frame([1])) != fingerprint(frame([2]))


def test_the_same_in_every_process() -> None:
    code = "from dpverify.fingerprint import fingerprint as f; print(f(['a', 1.5, {'b'}]))"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(shown.stdout) == fingerprint(["a", 1.5, {"b"}])
