"""The message of a failing privacy test: its replay line gives back the data that it names."""

from typing import Any

import numpy as np
import pytest

from dpverify.testing import PrivacyViolation
from dpverify.testing.failure import typed, with_parameters

DATA = [
    [1, 2.5, "nan", None],
    [float("inf"), (float("-inf"), 2)],
    {"inf": [1.0], "a": float("inf")},
    np.array([[1.0, np.inf], [0.0, -1.0]]),
    np.array([1, 2], dtype=np.int8),
    np.array([0.5], dtype=np.float32),
    np.zeros((0, 3)),
    np.array([True, False]),
    np.array(["inf", "b"]),
]


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_data_are_typed_so_that_they_come_back(data: Any) -> None:  # noqa: ANN401
    again = eval(typed(data), {"np": np})  # noqa: S307
    assert type(again) is type(data)
    if isinstance(data, np.ndarray):
        assert (again.dtype, again.shape) == (data.dtype, data.shape)
        assert np.array_equal(again, data)
    else:
        assert again == data


def test_frames_are_typed_so_that_they_come_back() -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    for columns in (
        {"age": [1, 2], "name": ["a", "inf"], "x": [0.5, float("inf")]},
        {
            "age": np.array([1, 2], dtype=np.int8),
            "day": pd.to_datetime(["2020-01-01", "2021-02-03"]),
        },
        {"age": np.zeros(0, dtype=np.int64)},
    ):
        frame = pd.DataFrame(columns)
        again = eval(typed(frame), {"np": np, "pd": pd})  # noqa: S307
        pd.testing.assert_frame_equal(again, frame, check_index_type=False)


def test_fixtures_are_typed_where_that_gives_them_back() -> None:
    class Model:
        pass

    given = {"scale": 0.5, "shift": np.array([1.0]), "names": ["a"], "model": Model()}
    assert with_parameters("test.mechanism", given) == (
        "lambda data, rng: test.mechanism(data=data, rng=rng, scale=0.5, shift=np.array([1.0]), "
        "names=['a'], model=model)"
    )


def test_no_score_among_the_notes() -> None:
    found = PrivacyViolation("broken")
    found.add_note("Failing test case: test()")
    found.add_note("Highest target score: -0.05  (label='privacy loss above the claim')")
    assert found.__notes__ == ["Failing test case: test()"]
