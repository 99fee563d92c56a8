"""Guarantees are valid from birth, and brackets are ordered."""

import dataclasses
import json
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    Bracket,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    from_dict,
    to_dict,
)
from dpverify.theorems import LAPLACE


@pytest.mark.parametrize(
    "guarantee",
    [
        PureDP(epsilon=0.0),
        PureDP(epsilon=math.inf),
        ApproxDP(epsilon=0.0, delta=1.0),
        ApproxDP(epsilon=math.inf),
        ZeroConcentratedDP(rho=0.0),
        RenyiDP(order=math.inf, epsilon=0.0),
        GaussianDP(mu=math.inf),
    ],
)
def test_limits_are_legal_and_values_are_frozen(guarantee: Guarantee) -> None:
    field = dataclasses.fields(guarantee)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(guarantee, field, 1.0)
    assert guarantee == dataclasses.replace(guarantee)
    assert hash(guarantee) == hash(dataclasses.replace(guarantee))


def test_delta_defaults_to_zero() -> None:
    assert ApproxDP(epsilon=1.0) == ApproxDP(epsilon=1.0, delta=0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PureDP(epsilon=-1.0), "epsilon=-1.0 must be at least 0"),
        (lambda: PureDP(epsilon=math.nan), "epsilon=nan must be a real number"),
        (lambda: ApproxDP(epsilon="1"), "epsilon='1' must be a real number"),  # type: ignore[arg-type]
        (lambda: ApproxDP(epsilon=1.0, delta=1.5), "delta=1.5 must lie in [0, 1]"),
        (lambda: ApproxDP(epsilon=1.0, delta=-0.1), "delta=-0.1 must lie in [0, 1]"),
        (lambda: ZeroConcentratedDP(rho=-0.1), "rho=-0.1 must be at least 0"),
        (lambda: GaussianDP(mu=-2), "mu=-2 must be at least 0"),
        (lambda: RenyiDP(order=1.0, epsilon=1.0), "order=1.0 must be greater than 1"),
        (lambda: RenyiDP(order=math.nan, epsilon=1.0), "order=nan must be a real number"),
        (lambda: RenyiDP(order=2.0, epsilon=-1.0), "epsilon=-1.0 must be at least 0"),
        (lambda: Bracket(2.0, 1.0), "lower=2.0 must not exceed upper=1.0"),
        (lambda: Bracket(math.nan, 1.0), "lower=nan must be a real number"),
    ],
)
def test_bad_parameters_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        make()
    assert str(error.value) == message


@given(st.floats(-1e9, 1e9), st.floats(0.0, 1e9), st.floats(-2e9, 2e9))
def test_brackets_contain_what_lies_between(lower: float, width: float, value: float) -> None:
    bracket = Bracket(lower, lower + width)
    assert (value in bracket) == (lower <= value <= lower + width)
    assert bracket.lower in bracket
    assert bracket.upper in bracket
    assert bracket.width == bracket.upper - bracket.lower


def test_brackets_print_and_serialize() -> None:
    assert str(Bracket(1.0, 1.0)) == "1.0"
    assert str(Bracket(1.0, 1.5)) == "[1.0, 1.5]"
    assert Bracket(math.inf, math.inf).width == 0.0
    fields = json.loads(Bracket(1.0, math.inf, LAPLACE, ("real arithmetic",)).to_json())
    assert (fields["lower"], fields["upper"]) == (1.0, "inf")
    assert fields["theorem"]["name"] == "laplace"
    assert fields["assumes"] == ["real arithmetic"]
    assert json.loads(Bracket(0.0, 1.0).to_json())["theorem"] is None


# plain values


@pytest.mark.parametrize(
    "value",
    [
        PureDP(epsilon=math.inf),
        ApproxDP(epsilon=1.0, delta=1e-300),
        ZeroConcentratedDP(rho=0.1),
        RenyiDP(order=8.0, epsilon=0.1),
        GaussianDP(mu=0.0),
        Bracket(0.1, math.inf, LAPLACE, ("an assumption",)),
        Bracket(0.0, 0.0),
    ],
)
def test_plain_values_survive_json(value: Guarantee | Bracket) -> None:
    text = json.dumps(to_dict(value), allow_nan=False)
    assert from_dict(json.loads(text)) == value


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"version": 1, "kind": "Gauss", "mu": 1.0},
        {"version": 1, "kind": "PureDP", "rho": 1.0},
        {"version": 1, "kind": "Bracket", "lower": 0.0},
        {"version": 1, "kind": "PureDP", "epsilon": "many"},
        {"version": 2, "kind": "PureDP", "epsilon": 1.0},
    ],
)
def test_refuses_other_plain_values(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        from_dict(fields)


def test_notebooks_show_a_bracket_with_its_theorem() -> None:
    shown = Bracket(1.0, 2.0, LAPLACE)._repr_html_()
    assert "[1.0, 2.0]" in shown
    assert 'title="laplace' in shown
