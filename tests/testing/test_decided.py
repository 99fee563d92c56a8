"""Tests by "decide": certified first, then traced and drawn from; schemas from strategies."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.schema import Answers, Category, Number, Records
from dpverify.testing import PrivacyViolation, context, neighbors, satisfies
from dpverify.testing.schemas import schema_of

Rng = np.random.Generator
ONE = dpv.PureDP(epsilon=1.0)
NUMBER = Answers(sensitivity=1.0)
ages = neighbors(st.lists(st.floats(0, 1), min_size=1, max_size=3), relation="replace-one")
quiet = settings(database=None, derandomize=True, max_examples=20)


def found(test: Any) -> context.PrivacyFinding:  # noqa: ANN401
    """What the test found; it must pass."""
    with context.running(context.PytestRun()) as around:
        test()
    (finding,) = around.findings
    return finding


def failure(test: Any) -> tuple[PrivacyViolation, context.PrivacyFinding]:  # noqa: ANN401
    with (
        context.running(context.PytestRun()) as around,
        pytest.raises(PrivacyViolation) as caught,
    ):
        test()
    (finding,) = around.findings
    return caught.value, finding


def total(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=1.0)


def half(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=0.5)


def test_a_proved_test_draws_nothing_and_says_so() -> None:
    finding = found(quiet(satisfies(ONE, on=ages, by="decide")(total)))
    assert (finding.rung, finding.proved, finding.samples, finding.level) == ("certify", True, 0, 0)
    assert finding.said.startswith("all data that the schema allows, epsilon = 1; ")


def test_an_exact_refutation_fails_with_the_counterexample() -> None:
    violation, finding = failure(quiet(satisfies(ONE, on=ages, by="decide")(half)))
    assert str(violation) == (
        "half does not keep PureDP(epsilon=1.0)\n"
        "  left:   [0.0, 0.0, 0.0]\n"
        "  right:  [0.0, 0.0, 1.0]   (replace-one)\n"
        "  event:  output ≤ 0\n"
        "  has probability 0.5 on the left, 0.0676676 on the right, exactly\n"
        "  so:     ε ≥ 2 at δ = 0, in real arithmetic, at no level"
    )
    assert violation.epsilon_lower == pytest.approx(2.0)
    assert (finding.rung, finding.refuted, finding.level) == ("certify", True, 0.0)


def test_parameters_of_a_test_reach_the_certificate() -> None:
    @satisfies(ONE, on=ages, by="decide")
    def test(scale: float, data: list[float], rng: Rng) -> float:
        return sum(data) + rng.laplace(scale=scale)

    assert found(lambda: test(scale=1.0)).proved
    assert failure(lambda: test(scale=0.5))[1].rung == "certify"


def clocked(data: float, rng: Rng) -> float:
    """Certificates refuse to look at a clock; traces do not mind."""
    start = time.perf_counter()
    noisy = data + rng.laplace(scale=1.0)
    assert time.perf_counter() >= start
    return noisy


def clocked_half(data: float, rng: Rng) -> float:
    start = time.perf_counter()
    noisy = data + rng.laplace(scale=0.5)
    assert time.perf_counter() >= start
    return noisy


def test_what_is_open_is_traced_and_drawn_from() -> None:
    violation, finding = failure(quiet(satisfies(ONE, schema=NUMBER, by="decide")(clocked_half)))
    assert finding.rung == "audit"
    assert finding.said.startswith("open: test_decided.py:")
    assert "neighbors of the schema" in str(violation)
    assert "line:   test_decided.py:" in str(violation)
    assert "counts: " in str(violation)  # draws confirmed it


def test_what_draws_cannot_show_is_shown_by_the_trace() -> None:
    def release(data: float, rng: Rng) -> float:
        start = time.perf_counter()
        noisy = data + rng.laplace(scale=0.99)
        assert time.perf_counter() >= start
        return noisy

    test = quiet(satisfies(ONE, schema=NUMBER, by="decide", samples=2_000)(release))
    violation, finding = failure(test)
    assert finding.rung == "trace"
    assert violation.epsilon_lower == pytest.approx(1 / 0.99)


@pytest.mark.false_alarm(1e-9)
def test_an_honest_test_that_is_open_passes_and_says_which_rung_spoke() -> None:
    options: dict[str, Any] = {"by": "decide", "level": 1e-9, "samples": 2_000}
    finding = found(quiet(satisfies(ONE, schema=NUMBER, **options)(clocked)))
    assert (finding.rung, finding.proved, finding.refuted) == ("audit", False, False)
    assert finding.said.startswith("open: ")
    assert finding.samples > 0


def test_seeds_keep_their_meaning() -> None:
    def told() -> str:
        return str(failure(quiet(satisfies(ONE, schema=NUMBER, by="decide")(clocked_half)))[0])

    assert told() == told()


def test_neighbors_that_a_certificate_suspects_come_first() -> None:
    def release(data: int, rng: Rng) -> object:
        return bool(rng.integers(2)) if data else int(rng.integers(2))

    bit = Records(record=Category(values=(0, 1)), length=None, relation="replace-one")  # type: ignore[arg-type]
    _, finding = failure(quiet(satisfies(ONE, schema=bit, by="decide")(release)))
    assert finding.rung == "trace"  # types are part of what it compares
    assert finding.said.startswith("open: ")


@pytest.mark.parametrize(
    ("records", "domain"),
    [
        (st.floats(0, 2), Number(low=0.0, high=2.0)),
        (st.integers(-1, 4), Number(low=-1, high=4, integer=True)),
        (st.booleans(), Category(values=(False, True))),
        (st.sampled_from("abca"), Category(values=("a", "b", "c"))),
    ],
)
@pytest.mark.parametrize(("relation", "least"), [("add-remove", 0), ("replace-one", 1)])
def test_schemas_of_strategies(records: Any, domain: Any, relation: str, least: int) -> None:  # noqa: ANN401
    pairs = neighbors(st.lists(records, max_size=3), relation=relation)
    made = dpv.Relation.parse(relation)
    wanted = Records(record=domain, length=(least, 3), relation=made, layout="rows")
    assert schema_of(pairs, made) == wanted


@pytest.mark.parametrize(
    ("lists", "why"),
    [
        (st.lists(st.floats(0, 1)), "its lists have no max_size of 20 or less"),
        (st.lists(st.floats(), max_size=3), "its records are not numbers with two bounds"),
        (st.lists(st.floats(0, 1).map(abs), max_size=3), "its records are not numbers"),
        (st.lists(st.floats(0, 1).filter(bool), max_size=3), "its records are not numbers"),
        (st.lists(st.sampled_from([1, 2]).map(abs), max_size=3), "its records are not numbers"),
        (st.tuples(st.booleans()).map(list), "it was not made by neighbors"),
    ],
)
def test_what_has_no_schema_is_refused_when_the_test_is_defined(lists: Any, why: str) -> None:  # noqa: ANN401
    pairs = neighbors(lists, relation="replace-one")
    with pytest.raises(dpv.InvalidParameter, match=why) as caught:
        satisfies(ONE, on=pairs, by="decide")
    assert str(caught.value).startswith("by='decide' must go with schema=…")
    assert "\n" not in str(caught.value)


def test_misuse() -> None:
    with pytest.raises(dpv.InvalidParameter, match="by='prove' must be"):
        satisfies(ONE, on=ages, by="prove")  # type: ignore[arg-type]
    with pytest.raises(dpv.InvalidParameter, match="on=None must be a strategy"):
        satisfies(ONE, by="decide")
    other = Records(record=Number(low=0, high=1), length=(0, 3), relation=dpv.Relation.ADD_REMOVE)
    with pytest.raises(dpv.InvalidParameter, match="schema with relation"):
        satisfies(ONE, on=ages, schema=other, by="decide")
