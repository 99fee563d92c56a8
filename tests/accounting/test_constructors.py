"""Every public constructor refuses what it cannot take in one sentence; new ones join unasked.

Arguments are found by introspection, and examples of them by their names: a mechanism that is added
to `dpv.__all__` is tested without a line here, or fails because its example is missing.
"""

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.errors import DPVerifyError

HOMES = ("dpverify.guarantees", "dpverify.mechanisms", "dpverify.pairs", "dpverify.accounting")
ELSEWHERE = {"Bracket", "Accountant", "Kernel", "PrivacyLoss", "Comparison", "Conversion"}
ELSEWHERE |= {"Calibration", "Largest"}  # results, which the library makes
EXAMPLES: dict[str, Any] = {
    "mechanism": dpv.Gaussian(sigma=1.0),
    "left": [Fraction(1, 3), Fraction(2, 3)],
    "right": [Fraction(1, 2), Fraction(1, 2)],
    "rate": 0.5,
    "delta": 0.01,
    "advantage": 0.1,
    "order": 2.0,
    "population": 10,
    "runs": "geometric",
    "mean": 3.0,
    "l2_sensitivities": (0.0, 1.0),
    "weights": (0.5, 0.5),
    "strategy": np.eye(3),
}
BY_KIND: dict[object, Any] = {float: 1.0, int: 2, bool: False}
WRONG: dict[str, Any] = {
    "text": "1",
    "none": None,
    "bool": True,
    "complex": 1j,
    "object": object(),
    "class": float,
    "list": [1.0, 2.0, 3.0],
    "array": np.ones(3),
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "zero": 0,
    "negative": -1.0,
    "huge": 10**400,
    "large": 1e308,
    "subnormal": 5e-324,
    "wrong unit": 256,
}


def constructors() -> Iterator[type]:
    for name in dpv.__all__:
        kind = getattr(dpv, name)
        if (
            isinstance(kind, type)
            and is_dataclass(kind)
            and kind.__module__.startswith(HOMES)
            and name not in ELSEWHERE
            and not issubclass(kind, Exception)
        ):
            yield kind


def example(kind: type) -> dict[str, Any]:
    """Arguments that are fine: those without a default, or one of those that exclude others."""
    found = {"advantage": 0.1} if kind is dpv.AttackRisk else {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is parameter.empty:
            found[name] = EXAMPLES.get(name, BY_KIND.get(parameter.annotation, 1.0))
    return found


KINDS = list(constructors())
CASES = [(kind, name) for kind in KINDS for name in inspect.signature(kind).parameters]


def test_the_mechanisms_are_there() -> None:
    assert {dpv.Gaussian, dpv.Subsampled, dpv.FinitePair, dpv.PureDP} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_fine(kind: type) -> None:
    kind(**example(kind))


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda v: getattr(v, "__name__", v))
def test_what_is_wrong_is_refused_in_one_sentence(kind: type, name: str) -> None:
    for label, wrong in WRONG.items():
        try:
            kind(**example(kind) | {name: wrong})
        except DPVerifyError as refusal:
            text = str(refusal)
            assert "must" in text, (label, text)
            assert "\n" not in text, (label, text)
            assert len(text) < 400, (label, text)
            assert re.search(rf"\b{name}\b", text), (label, text)


@pytest.mark.parametrize(
    ("kind", "name", "wrong"),
    [
        (dpv.Subsampled, "rate", 256),
        (dpv.Subsampled, "rate", -0.1),
        (dpv.Subsampled, "rate", math.nan),
        (dpv.Gaussian, "sigma", 0),
        (dpv.Gaussian, "sigma", math.inf),
        (dpv.Laplace, "scale", -1.0),
        (dpv.SubsampledWithoutReplacement, "batch", 11),
        (dpv.SubsampledWithoutReplacement, "batch", 2.5),
        (dpv.RandomAllocation, "steps", 0),
        (dpv.PureDP, "epsilon", "1"),
        (dpv.ApproxDP, "delta", 2),
        (dpv.RenyiDP, "order", 1),
        (dpv.AttackRisk, "advantage", 1.0),
        (dpv.FinitePair, "left", [0.2, 0.2]),
    ],
)
def test_these_are_never_taken(kind: type, name: str, wrong: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match=name):
        kind(**example(kind) | {name: wrong})
