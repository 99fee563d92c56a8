import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import seed, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.auditing import NotRefuted
from dpverify.errors import InvalidParameter
from dpverify.pairs import LaplacePair
from dpverify.testing import PrivacyViolation, assert_private, context, neighbors, satisfies

Rng = np.random.Generator
ONE = dpv.PureDP(epsilon=1.0)


def noisy(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=1.0)


@pytest.mark.false_alarm(1e-9)
def test_a_kept_claim_returns_what_was_shown() -> None:
    shown = assert_private(noisy, ONE, [0.0], [1.0], level=1e-9, samples=20_000)
    assert isinstance(shown, NotRefuted)
    assert 0.5 < shown.epsilon_lower <= 1.0


def test_a_broken_claim_raises_with_its_witness() -> None:
    with pytest.raises(PrivacyViolation, match=r"noisy does not keep PureDP\(epsilon=0.3\)") as e:
        assert_private(noisy, dpv.PureDP(epsilon=0.3), [0.0], [1.0])
    assert e.value.witness is not None
    assert e.value.epsilon_lower > 0.3
    assert e.value.witness.replay(noisy, seed=3).refuted
    # Another seed: with its own it would fail again by the same draws.
    replay = "replay: assert_private(noisy, dpv.PureDP(epsilon=0.3), [0.0], [1.0], seed=1)"
    assert replay in str(e.value)


def test_vectorized_mechanisms_and_claims_are_welcome() -> None:
    mechanism = dpv.Laplace(scale=0.5)
    with pytest.raises(PrivacyViolation, match="Laplace does not keep"):
        assert_private(mechanism, ONE, 0.0, 1.0)
    with context.running(context.PytestRun(samples=2_000, level=1e-4)) as around:
        assert_private(mechanism, mechanism.claim, 0.0, 1.0)
    (record,) = around.findings
    assert (record.level, record.pairs, record.refuted) == (1e-4, 1, False)
    assert record.samples <= 2_000


ADD_REMOVE = dpv.Relation.ADD_REMOVE
CLAIMS: dict[str, Any] = {  # each kind twice: kept by Laplace noise of scale 1, and broken
    "guarantee": (ONE, dpv.PureDP(epsilon=0.2)),
    "pair": (LaplacePair(scale=1.0, sensitivity=1.0), LaplacePair(scale=5.0, sensitivity=1.0)),
    "points": ([(1.0, 0.0), (0.0, 0.4)], [(0.2, 0.0), (0.0, 0.1)]),
    "function": (lambda _epsilon: 0.5, lambda _epsilon: 0.05),
    "mechanism": (dpv.Laplace(scale=1.0), dpv.Laplace(scale=5.0)),
    "accountant": tuple(
        dpv.Accountant(relation=ADD_REMOVE).compose(dpv.Laplace(scale=scale))
        for scale in (1.0, 5.0)
    ),
}


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("kind", CLAIMS)
def test_every_kind_of_claim_is_tested(kind: str) -> None:
    kept, broken = CLAIMS[kind]
    pairs = neighbors(st.lists(st.sampled_from([0.0, 1.0]), max_size=2), relation=ADD_REMOVE)
    plain = settings(max_examples=4, database=None, derandomize=True)
    assert not assert_private(noisy, kept, [0.0], [1.0], level=1e-9, samples=2_000).refuted
    plain(satisfies(kept, on=pairs, level=1e-9, samples=2_000)(noisy))()
    with pytest.raises(PrivacyViolation, match="noisy does not keep"):
        assert_private(noisy, broken, [0.0], [1.0], samples=4_000)
    with pytest.raises(PrivacyViolation, match="does not keep"):
        plain(satisfies(broken, on=pairs, samples=8_000)(noisy))()


@pytest.mark.parametrize(
    ("mechanism", "claim", "arguments", "message"),
    [
        (noisy, None, {}, "claim=None must be a guarantee"),
        (noisy, "1-DP", {}, "claim='1-DP' must be a guarantee"),
        (3, ONE, {}, "mechanism=3 must be a callable"),
        (noisy, ONE, {"level": 2.0}, "level=2.0 must"),
        (noisy, ONE, {"samples": 0.5}, "samples=0.5 must"),
        (noisy, ONE, {"samples": 10}, "samples=10 must be at least 500"),
        (lambda _data: 1, ONE, {}, "must return an output"),
    ],
)
def test_misuse_is_named(
    mechanism: object, claim: object, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        assert_private(mechanism, claim, [0.0], [1.0], **arguments)  # type: ignore[arg-type]


def test_data_is_printed_as_one_would_type_it() -> None:
    with pytest.raises(PrivacyViolation) as e:
        assert_private(
            lambda data, rng: data.sum() + rng.laplace(scale=0.1), ONE, np.zeros(2), np.ones(2)
        )
    assert "  left:   array([0.0, 0.0])\n  right:  array([1.0, 1.0])\n" in str(e.value)


def tiring(after: int) -> Callable[[list[float], Rng], float]:
    """Leaks in its first calls alone, so calls are not independent."""
    calls = iter(range(after))

    def mechanism(data: list[float], rng: Rng) -> float:
        leak = 5.0 * sum(data) if next(calls, None) is not None else 0.0
        return leak + noisy(data, rng)

    return mechanism


def test_calls_that_depend_on_each_other_are_a_warning() -> None:
    with pytest.warns(UserWarning, match="calls are not independent"):
        shown = assert_private(tiring(1_200), ONE, [0.0], [1.0], level=1e-9)
    assert isinstance(shown, NotRefuted)
    assert shown.epsilon_lower == 0.0


def test_nor_does_a_decorated_test_fail_by_it() -> None:
    leaks = tiring(1_200)

    def mechanism(data: list[float], rng: Rng) -> float:
        return leaks(data, rng)

    ends = neighbors(st.lists(st.sampled_from([0.0, 1.0]), max_size=2), relation="replace-one")
    test = satisfies(ONE, on=ends, level=1e-9, samples=4_000)(mechanism)
    plain = settings(max_examples=4, database=None)(test)
    with pytest.warns(UserWarning, match="bets refute the claim, but a fresh block"):
        seed(1)(plain)()


@pytest.mark.parametrize("level", [0.0, -1.0, 0.6, 1e-13, math.nan, "1e-6", True])
def test_bad_levels_are_named(level: object) -> None:
    with pytest.raises(InvalidParameter, match="level="):
        assert_private(noisy, ONE, [0.0], [1.0], level=level)  # type: ignore[arg-type]
