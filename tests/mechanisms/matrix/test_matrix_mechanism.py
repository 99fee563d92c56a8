"""Matrix mechanisms: sensitivities against enumeration, and identities with known mechanisms."""

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.mechanisms.matrix.sensitivity import squared_separated
from dpverify.mechanisms.matrix.strategies import square_root
from dpverify.pairs import GaussianPair
from dpverify.pairs.bounds.between import BetweenPair

ADD = dpv.Relation.ADD_REMOVE


def noise(**changed: Any) -> dpv.MatrixMechanism:  # noqa: ANN401
    given: dict[str, Any] = {"strategy": "tree", "steps": 8, "sigma": 2.0}
    return dpv.MatrixMechanism(**given | changed)


@pytest.mark.parametrize(
    ("given", "squared"),
    [
        ({}, 4.0),  # a leaf and three ancestors
        ({"strategy": "prefix", "steps": 5}, 5.0),  # the first row is in all prefix sums
        ({"strategy": "square root", "steps": 4, "bands": 1}, 1.0),  # the identity
        ({"strategy": "square root", "steps": 4, "bands": 2}, 1.25),  # 1 and 1/2
        ({"strategy": np.eye(3), "steps": None}, 1.0),
        # Two epochs of the identity: two orthogonal columns.
        ({"strategy": np.eye(4), "steps": None, "participation": "epochs", "period": 2}, 2.0),
        # Prefix sums of 4 steps, steps 0 and 2: 4 + 2 + 2·2.
        ({"strategy": "prefix", "steps": 4, "participation": "epochs", "period": 2}, 10.0),
        (
            {
                "strategy": "prefix",
                "steps": 4,
                "participation": "separated",
                "period": 2,
                "most": 2,
            },
            10.0,
        ),
    ],
)
def test_a_table_by_hand(given: dict[str, Any], squared: float) -> None:
    found = noise(**given).squared_sensitivity
    assert found.lower <= squared <= found.upper
    assert found.width <= 1e-11


def enumerated(matrix: Floats, separation: int, most: int) -> float:
    """The largest squared move over all patterns and all signs of scalar records."""
    gram = matrix.T @ matrix
    largest = 0.0
    for size in range(1, most + 1):
        for pattern in combinations(range(matrix.shape[1]), size):
            if all(b - a >= separation for a, b in pairwise(pattern)):
                part = gram[np.ix_(pattern, pattern)]
                for bits in range(2**size):
                    signs = np.array([1.0 - 2.0 * (bits >> k & 1) for k in range(size)])
                    largest = max(largest, float(signs @ part @ signs))
    return largest


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 7), st.integers(1, 3), st.integers(1, 3))
def test_separated_patterns_against_enumeration(
    seed: int, steps: int, separation: int, most: int
) -> None:
    rng = np.random.default_rng(seed)
    full = np.tril(rng.normal(size=(steps, steps)))
    positive, banded = np.abs(full), np.triu(full, 1 - separation)
    for matrix in (full, positive, banded):
        truth, found = (
            enumerated(matrix, separation, most),
            squared_separated(matrix, separation, most),
        )
        assert truth <= found.upper + 1e-9
        assert found.lower <= truth + 1e-9
        if matrix is banded:
            assert found.width <= 1e-9


def test_the_identity_is_plain_noise() -> None:
    plain = noise(strategy=np.eye(5), steps=None, sigma=3.0)
    assert plain.pair(ADD).epsilon(1e-6) == pytest.approx(
        dpv.Gaussian(sigma=3.0).pair(ADD).epsilon(1e-6), rel=1e-9
    )
    epochs = noise(strategy=np.eye(6), steps=None, sigma=3.0, participation="epochs", period=2)
    runs = dpv.Accountant(relation=ADD).compose(dpv.Gaussian(sigma=3.0), times=3)
    assert epochs.pair(ADD).epsilon(1e-6) == pytest.approx(runs.epsilon(1e-6).upper, rel=1e-9)
    assert isinstance(epochs.pair(ADD), GaussianPair)


def test_mixed_signs_have_two_ends() -> None:
    """Three columns at 120°: X has −1/2 off the diagonal, and no signs reach Σ |X|."""
    turns = [2.0 * math.pi * k / 3.0 for k in range(3)]
    matrix = np.array([[math.cos(t) for t in turns], [math.sin(t) for t in turns]])
    pair = noise(strategy=matrix, steps=None, participation="separated", period=1, most=3).pair(ADD)
    assert isinstance(pair, BetweenPair)
    found = dpv.Accountant(relation=ADD).compose(pair, times=2).epsilon(1e-5)
    assert 0.0 < found.lower < found.upper


def test_amplification_is_a_composition_of_samples() -> None:
    banded = noise(strategy="square root", steps=40, bands=4, sigma=2.0)
    found = banded.amplified(rate=0.1, relation=ADD).epsilon(1e-5)
    column = math.sqrt(float((square_root(40, 4)[:, 0] ** 2).sum()))
    step = dpv.Subsampled(dpv.Gaussian(sigma=2.0, l2_sensitivity=column), rate=0.1)
    known = dpv.Accountant(relation=ADD).compose(step, times=10).epsilon(1e-5)
    assert found.upper == pytest.approx(known.upper, abs=2e-3)
    identity = noise(strategy="square root", steps=40, bands=1, sigma=2.0)
    plain = dpv.Accountant(relation=ADD).compose(
        dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.1), times=40
    )
    assert identity.amplified(rate=0.1, relation=ADD).epsilon(1e-5).upper == pytest.approx(
        plain.epsilon(1e-5).upper, abs=2e-3
    )
    with pytest.raises(NotSupported, match="must be 'once'"):
        noise(participation="epochs", period=2).amplified(rate=0.1, relation=ADD)
    with pytest.raises(NotSupported, match="bands"):
        noise(strategy="prefix").amplified(rate=0.1, relation=ADD)


def test_expression_and_calibration() -> None:
    ((made, times),) = parse('matrix(strategy="tree", steps=1024, sigma=20)*2')
    assert made.squared_sensitivity.upper == pytest.approx(11.0)  # type: ignore[union-attr]
    assert times == 2
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    sigma = dpv.calibrate(lambda s: noise(sigma=s), budget=budget, relation=ADD)
    assert sigma == pytest.approx(2.0 * 4.224679, rel=1e-6)  # twice that of one coordinate


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategy": "wavelet"}, r"^strategy='wavelet' must be one of"),
        ({"strategy": [1.0, 2.0], "steps": None}, r"must be one of .* or a matrix"),
        ({"strategy": [[1.0], [2.0, 3.0]], "steps": None}, r"or a matrix of numbers"),
        ({"strategy": None, "steps": None}, r"or a matrix of numbers"),
        ({"strategy": [[math.nan]], "steps": None}, r"finite entries"),
        ({"strategy": [[0.0]], "steps": None}, r"not all 0"),
        ({"strategy": np.eye(2)}, r"^steps=8, bands=None must be None"),
        ({"steps": None}, r"^steps=None must be a whole number"),
        ({"steps": 5000}, r"^steps=5000 must be at most 4096"),
        ({"bands": 3}, r"^bands=3 must be None"),
        ({"strategy": "square root"}, r"^bands=None must be a whole number"),
        ({"strategy": "square root", "bands": 9}, r"^bands=9 must be at most 8"),
        ({"participation": "twice"}, r"^participation='twice' must be one of"),
        ({"period": 2}, r"^period=2 must be None"),
        ({"participation": "epochs"}, r"^period=None must be a whole number"),
        ({"participation": "epochs", "period": 2, "most": 2}, r"^most=2 must be None"),
        ({"participation": "separated", "period": 2, "most": 0}, r"^most=0 must be a whole"),
        ({"sigma": 0.0}, r"^sigma=0.0 must be positive"),
        ({"l2_sensitivity": "1"}, r"^l2_sensitivity='1' must be a real number"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        noise(**change)
