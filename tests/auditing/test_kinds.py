"""No output is a blind spot: a leak of ε = 10 against a claim of 1 is found in every kind.

The same kinds with ε = 1 exactly, at level 0.1, are refuted no more often than that.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.kinds import BITS, LEVEL, LONG, NUMBERS, ODD, Hidden, is_refuted

ONE = PureDP(epsilon=1.0)
GIVEN: dict[str, Any] = {"left": 0, "right": 1, "claim": ONE}
KINDS = [
    pytest.param(kind, marks=pytest.mark.slow) if kind in LONG else kind
    for kind in (*NUMBERS, *BITS)
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_leak_is_found(kind: str) -> None:
    """One draw of e^10 tells the other side, so 64 draws to choose an event and some to bet on."""
    verdict = audit(Hidden(kind, 10.0), **GIVEN, samples=200, seed=1)
    assert verdict.refuted, verdict


def test_there_are_at_least_forty_kinds() -> None:
    assert len({*NUMBERS, *BITS, *ODD}) >= 40


@pytest.mark.parametrize("kind", ODD)
def test_a_leak_through_representation_is_found_in_floats_alone(kind: str) -> None:
    as_floats = audit(Hidden(kind, 10.0), **GIVEN, samples=200, seed=1, arithmetic="float")
    assert as_floats.refuted, as_floats
    as_reals = audit(Hidden(kind, 10.0), **GIVEN, samples=200, seed=1)
    assert not as_reals.refuted, as_reals


def refuted(kind: str, audits: int) -> int:
    return sum(is_refuted(kind, i) for i in range(audits))


@pytest.mark.false_alarm(1e-9)
def test_honest_outputs_of_every_fifth_kind_are_refuted_no_more_than_the_level() -> None:
    kinds = [kind for kind in (*NUMBERS, *BITS, *ODD) if kind not in LONG][::5]
    total = sum(refuted(kind, 1) for kind in kinds)
    assert total <= binom.isf(1e-9, len(kinds), LEVEL)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-11)
@pytest.mark.parametrize("kind", [*NUMBERS, *BITS, *ODD])
def test_honest_outputs_of_one_kind_are_refuted_no_more_than_the_level(kind: str) -> None:
    """80 audits: at most the upper quantile of Bin(80, 0.1) at 1e-11, which is 30."""
    assert refuted(kind, 80) <= binom.isf(1e-11, 80, LEVEL)


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(65, marks=pytest.mark.slow),
        pytest.param(5_000, marks=pytest.mark.slow),
        pytest.param(9_999, marks=pytest.mark.slow),
    ],
)
def test_every_coordinate_of_a_long_vector_is_seen(at: int) -> None:
    def release(data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        row = rng.laplace(size=10_000)
        row[at] = data + 0.1 * row[at]
        return row

    verdict = audit(release, **GIVEN, samples=1_000, seed=1)
    assert verdict.refuted, verdict
