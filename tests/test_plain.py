"""Values as JSON and back: every kind, files that were written before, and what is refused."""

import json
import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.auditing import Witness
from dpverify.errors import InvalidParameter
from dpverify.plain import decoded, encoded, plain, restored, tagged, untagged

SAVED = json.loads(
    (Path(__file__).parent / "auditing" / "saved_witnesses.json").read_text(encoding="utf-8")
)


class Color(Enum):
    RED = 0
    DARK_BLUE = "dark-blue"


@dataclass(frozen=True)
class Inner:
    pairs: tuple[tuple[float, int], ...]
    name: str | None = None


@dataclass(frozen=True)
class Outer:
    inner: Inner
    color: Color
    share: Fraction
    size: float
    flags: tuple[bool, ...] = ()


VALUE = Outer(
    Inner(((math.inf, 1), (0.5, 2)), None), Color.DARK_BLUE, Fraction(1, 3), -math.inf, (True,)
)


def test_plain_by_hand() -> None:
    told = {
        "inner": {"pairs": [["inf", 1], [0.5, 2]], "name": None},
        "color": "dark-blue",
        "share": "1/3",
        "size": "-inf",
        "flags": [True],
    }
    assert plain(VALUE) == told
    assert restored(Outer, json.loads(json.dumps(told, allow_nan=False))) == VALUE
    assert plain([Color.RED, np.float32(0.5), np.array([[1, 2]]), {"a": (1,)}]) == [
        *("red", 0.5, [[1, 2]], {"a": [1]})
    ]
    assert restored(Color, "red") is Color.RED
    assert restored(float, "1/3") == Fraction(1, 3)
    assert math.isnan(restored(float, plain(math.nan)))
    assert restored(Inner, [[["inf", 1.0]], "by order"]) == Inner(((math.inf, 1),), "by order")
    np.testing.assert_array_equal(restored(Floats, ["inf", 2]), [math.inf, 2.0])


@given(
    st.one_of(
        st.builds(dpv.PureDP, epsilon=st.floats(0, allow_nan=False)),
        st.builds(dpv.ApproxDP, epsilon=st.fractions(0, 9), delta=st.floats(0, 1)),
        st.builds(dpv.RenyiDP, order=st.floats(1.5), epsilon=st.floats(0, allow_nan=False)),
        st.builds(dpv.Bracket, st.floats(-9, 0), st.floats(0), assumes=st.just(("words",))),
    )
)
def test_there_and_back(value: Any) -> None:  # noqa: ANN401
    told = json.loads(json.dumps(dpv.to_dict(value), allow_nan=False))
    assert dpv.from_dict(told) == value
    kinds = {type(value).__name__: type(value)}
    assert untagged(json.loads(json.dumps(tagged(value), allow_nan=False)), kinds) == value


@pytest.mark.parametrize("fields", SAVED, ids=lambda fields: str(fields["event"]["kind"]))
def test_witnesses_of_earlier_versions_load(fields: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "witness.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    witness = Witness.load(path)
    again = witness.to_dict()
    if "text" in fields["left"]:  # data that JSON cannot hold is kept as text
        again |= {"left": fields["left"], "right": fields["right"]}
    told = again["event"]  # fields that came since have values that change nothing
    again["event"] = {name: told[name] for name in fields["event"]}
    assert again == fields
    assert str(witness.event) == fields["event_in_words"]


@pytest.mark.parametrize(
    "data", [[1, (2, 3)], {"x": (np.arange(3),)}, {2: {"a": (1,)}}, (1.5, None, "text")]
)
def test_datasets_there_and_back(data: Any) -> None:  # noqa: ANN401
    again = decoded(json.loads(json.dumps(encoded(data))))
    assert repr(again) == repr(data)


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"kind": "Inner"}, "kind='Inner' must be one of: Outer"),
        ({}, "kind=None must be one of: Outer"),
        ([], "must be an object with a kind"),
        ({"kind": "Outer", "weight": 1}, "must be among those of Outer: inner, color"),
        ({"kind": "Outer", "color": "green"}, "Color='green' must be one of: red, dark-blue"),
    ],
)
def test_what_was_not_told_is_refused(told: Any, match: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=match):
        untagged(told, {"Outer": Outer})


@pytest.mark.parametrize("data", [object(), {1: object()}, [math.nan, object()]])
def test_datasets_without_a_word_in_json(data: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encoded(data)
