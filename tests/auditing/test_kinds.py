"""No output is a blind spot: a leak of ε = 10 against a claim of 1 is found in every kind.

The same kinds with ε = 1 exactly, at level 0.1, are refuted no more often than that.
"""

import zlib
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.kinds import BITS, NUMBERS, ODD, Hidden

ONE = PureDP(epsilon=1.0)
GIVEN: dict[str, Any] = {"left": 0, "right": 1, "claim": ONE}
KINDS = [*NUMBERS, *BITS]
LEVEL, DRAWS = 0.1, 160


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_leak_is_found(kind: str) -> None:
    verdict = audit(Hidden(kind, 10.0), **GIVEN, samples=1_000, seed=1)
    assert verdict.refuted, verdict


@pytest.mark.parametrize("kind", ODD)
def test_a_leak_through_representation_is_found_in_floats_alone(kind: str) -> None:
    as_floats = audit(Hidden(kind, 10.0), **GIVEN, samples=1_000, seed=1, arithmetic="float")
    assert as_floats.refuted, as_floats
    as_reals = audit(Hidden(kind, 10.0), **GIVEN, samples=1_000, seed=1)
    assert not as_reals.refuted, as_reals


def refuted(kind: str, audits: int) -> int:
    arithmetic: Any = "float" if kind in ODD else "real"
    given: dict[str, Any] = GIVEN | {"level": LEVEL, "samples": DRAWS, "arithmetic": arithmetic}
    first = zlib.crc32(kind.encode())  # kinds that share a seed would share v, and err together
    verdicts = (audit(Hidden(kind, 1.0), **given, seed=first + i) for i in range(audits))
    return sum(verdict.refuted for verdict in verdicts)


@pytest.mark.false_alarm(1e-9)
def test_honest_outputs_of_every_third_kind_are_refuted_no_more_than_the_level() -> None:
    kinds = [kind for kind in (*KINDS, *ODD) if "1,000" not in kind][::3]
    total = sum(refuted(kind, 1) for kind in kinds)
    assert total <= binom.isf(1e-9, len(kinds), LEVEL)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-11)
@pytest.mark.parametrize("kind", [*KINDS, *ODD])
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
