"""Recognition by the module of a type, without any of the libraries."""

import sys

import numpy as np
import pytest

from dpverify.auditing.adapters import adapted, assumptions
from dpverify.auditing.adapters.diffprivlib import OWN_RANDOMNESS, DiffprivlibMechanism
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace
from dpverify.schema import Answers


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


def test_what_is_assumed_is_told_of_the_claim_that_is_audited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Noise, "__module__", "diffprivlib.mechanisms.noise")
    found = adapted(Noise())
    assert assumptions(found, None) == (f"the claim assumes: {OWN_RANDOMNESS}",)
    assert assumptions(found, PureDP(epsilon=0.1)) == (OWN_RANDOMNESS,)
    assert assumptions(len, PureDP(epsilon=0.1)) == ()
    noise = Laplace(scale=1.0, arithmetic="real")
    assert assumptions(noise, None) == ("the claim assumes: real arithmetic",)
    assert assumptions(noise, PureDP(epsilon=0.1)) == ()
