"""Recognition by the module of a type, without any of the libraries."""

import sys

import numpy as np
import pytest

from dpverify.auditing.adapters import adapted
from dpverify.auditing.adapters.diffprivlib import DiffprivlibMechanism
from dpverify.auditing.schema import Answers
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace


class Noise:
    """What a mechanism of diffprivlib looks like."""

    epsilon = 0.5
    delta = 0.0
    sensitivity = 1.0
    random_state = None

    def randomise(self, value: float) -> float:
        return value + 1.0


def test_other_mechanisms_are_left_alone() -> None:
    for mechanism in (Laplace(scale=1.0), Noise(), len):
        assert adapted(mechanism) is mechanism


def test_a_type_is_known_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = {"opendp", "diffprivlib"} & set(sys.modules)
    monkeypatch.setattr(Noise, "__module__", "diffprivlib.mechanisms.noise")
    derived = type("Derived", (Noise,), {})
    for kind in (Noise, derived):
        found = adapted(kind())
        assert isinstance(found, DiffprivlibMechanism)
        assert found.claim.guarantee == PureDP(epsilon=0.5)
        assert found.schema == Answers(sensitivity=1.0)
        assert found.sample(np.float64(1.0), 2, rng=np.random.default_rng(0)) == [2.0, 2.0]
    assert {"opendp", "diffprivlib"} & set(sys.modules) == loaded
