"""The decorated test: what it finds, how it repeats, and what it refuses."""

import inspect
import math
import re
import secrets
from dataclasses import replace
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

import dpverify as dpv
from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.search import examples
from dpverify.auditing.search.quick import Look, glimpse
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.testing import (
    NeighboringPair,
    PrivacyViolation,
    context,
    neighbors,
    satisfies,
)
from dpverify.theorems import LAPLACE

Rng = np.random.Generator
ONE = dpv.PureDP(epsilon=1.0)
unit = neighbors(st.lists(st.floats(0, 1)), relation="replace-one")
bits = neighbors(st.lists(st.booleans()), relation="add-remove")
quiet = settings(database=None, derandomize=True)


def half_noise(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=0.5)


def fifth_noise(data: list[float], rng: Rng) -> float:
    """So little that few draws tell."""
    return sum(data) + rng.laplace(scale=0.2)


def full_noise(data: list[float], rng: Rng) -> float:
    return sum(data) + rng.laplace(scale=1.0)


def failure(test: Any) -> PrivacyViolation:  # noqa: ANN401
    with pytest.raises(PrivacyViolation) as caught:
        test()
    return caught.value


def test_a_failure_tells_all() -> None:
    found = failure(quiet(satisfies(ONE, on=unit)(half_noise)))
    lines = str(found).splitlines()
    assert lines[0].endswith(" does not keep PureDP(epsilon=1.0)")
    assert lines[1].split() == ["left:", "[0.0]"]
    assert lines[2].split() == ["right:", "[1.0]", "(replace-one)"]
    assert lines[3].startswith("  event:  output ")
    witness = found.witness
    assert witness is not None
    assert f"{witness.counts.hits:,} of {witness.counts.trials:,} draws" in lines[4]
    assert lines[5].startswith(f"  so:     ε ≥ {found.epsilon_lower:.3f} at δ = 0")
    assert "probability at most 1e-06" in lines[5]
    assert 1.0 < found.epsilon_lower < 2.0
    assert " draws a side" in lines[6]
    replay = lines[7].removeprefix("  replay: ")
    assert replay == "assert_private(half_noise.mechanism, dpv.PureDP(epsilon=1.0), [0.0], [1.0])"


def test_the_replay_line_replays() -> None:
    test = quiet(satisfies(ONE, on=unit)(half_noise))
    line = next(x for x in str(failure(test)).splitlines() if "replay:" in x)
    names = {"half_noise": test, "assert_private": dpv_assert(), "dpv": dpv}
    with pytest.raises(PrivacyViolation):
        eval(line.split("replay: ")[1], names)  # noqa: S307


def test_the_replay_line_of_a_parametrized_test_replays() -> None:
    def too_little(data: Any, rng: Any, scale: float) -> Any:  # noqa: ANN401
        return sum(data) + rng.laplace(scale=scale)

    test = quiet(satisfies(ONE, on=unit)(too_little))
    with pytest.raises(PrivacyViolation) as failed:
        test(scale=0.5)
    line = next(x for x in str(failed.value).splitlines() if "replay:" in x)
    assert "too_little.mechanism(data=data, rng=rng, scale=0.5), dpv.PureDP(epsilon=1.0)" in line
    names = {"too_little": test, "assert_private": dpv_assert(), "dpv": dpv}
    with pytest.raises(PrivacyViolation):
        eval(line.split("replay: ")[1], names)  # noqa: S307


def dpv_assert() -> Any:  # noqa: ANN401
    from dpverify.testing import assert_private  # noqa: PLC0415

    return assert_private


def test_a_subtle_failure_is_found_by_the_last_test() -> None:
    """ε = 1.25 where 1 is claimed: too little for any short look to see."""

    def subtle(data: list[bool], rng: Rng) -> float:
        return sum(data) + rng.laplace(scale=0.8)

    found = failure(quiet(satisfies(ONE, on=bits)(subtle)))
    assert found.witness is not None
    assert 1.0 < found.epsilon_lower <= 1.25
    assert max(len(found.witness.left), len(found.witness.right)) <= 3


def test_claims_with_many_points_are_refuted() -> None:
    def noisy(data: list[float], rng: Rng) -> float:
        return sum(data) + rng.normal(scale=0.5)

    found = failure(quiet(satisfies(dpv.GaussianDP(mu=1.0), on=unit)(noisy)))
    assert found.witness is not None
    assert found.witness.claim == dpv.GaussianDP(mu=1.0)
    assert (found.witness.left, found.witness.right) == ([0.0], [1.0])


def test_rare_and_silent_outputs() -> None:
    """None is an output; a mechanism that mostly says nothing is judged all the same."""

    def shy(data: list[bool], rng: Rng) -> int | None:
        return len(data) if rng.random() < 0.05 else None

    assert failure(quiet(satisfies(ONE, on=bits)(shy))).epsilon_lower > 1.0


# --- the same again ---------------------------------------------------------------------------


def test_derandomized_runs_agree() -> None:
    one, other = (str(failure(quiet(satisfies(ONE, on=unit)(fifth_noise)))) for _ in range(2))
    assert one == other


def test_seeded_runs_agree_and_seeds_matter() -> None:
    def run(seed: int) -> str:
        test = settings(database=None)(satisfies(ONE, on=unit)(fifth_noise))
        return str(failure(hypothesis.seed(seed)(test)))

    shown = run(1)
    assert run(1) == shown
    assert run(2) != shown
    assert "@hypothesis.seed(1)" in shown


def test_the_forced_seed_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypothesis.core, "global_force_seed", 7)
    test = settings(database=None)(satisfies(ONE, on=unit)(fifth_noise))
    assert str(failure(test)) == str(failure(test))


def test_the_database_keeps_a_failure_and_loses_a_fixed_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Hypothesis leaves the database alone if --hypothesis-seed is given.
    monkeypatch.setattr(hypothesis.core, "global_force_seed", None)
    monkeypatch.setattr(secrets, "randbits", lambda _: 1)
    database = InMemoryExampleDatabase()
    noise = [0.2]  # five times the claim, so that every run finds it at once
    came: list[list[float]] = []

    def changing(data: list[float], rng: Rng) -> float:
        came.append(data)
        return sum(data) + rng.laplace(scale=noise[0])

    def run(level: float = 1e-6) -> PrivacyViolation | None:
        came.clear()
        test = settings(database=database, derandomize=False)(
            satisfies(ONE, on=unit, level=level, samples=20_000)(changing)
        )
        try:
            test()
        except PrivacyViolation as found:
            return found
        return None

    first = run()
    assert first is not None
    assert first.witness is not None
    assert "Failing test case" in "".join(first.__notes__)
    saved = {len(values) for values in database.data.values()}
    assert saved
    again = run()
    assert again is not None
    assert len(came[0]) == 1  # the smallest pair of the run before comes first
    noise[0] = 2.0
    assert run(level=1e-9) is None


def test_the_last_test_fails_and_its_pair_is_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short looks are blinded here, so only the test at the end can refute."""

    def blind(seen: Draws, points: Any) -> Look:  # noqa: ANN401
        return replace(glimpse(seen, points), wager=None)

    monkeypatch.setattr(examples, "glimpse", blind)
    with context.running(context.PytestRun()) as around:
        found = failure(quiet(satisfies(ONE, on=unit, samples=8_000)(half_noise)))
    assert found.witness is not None
    assert found.witness.claim == ONE
    # Hypothesis draws constants from modules that happen to be loaded: which pair it is depends.
    assert found.witness.left != found.witness.right
    assert around.findings[0].refuted
    assert "Failing test case" in "".join(found.__notes__)


def test_what_a_classifier_found_is_shrunk_with_one() -> None:
    """Three numbers, none of which tells anything, and whose weighted sum tells all."""

    def masked(data: list[bool], rng: Rng) -> list[float]:
        a, b = rng.normal(scale=4.0, size=2)
        return [a, b, 2.0 * a - b + sum(data) + rng.laplace(scale=0.2)]

    found = failure(quiet(satisfies(ONE, on=bits)(masked)))
    assert found.witness is not None
    assert found.epsilon_lower > 1.0


def test_examples_are_run_and_replayed() -> None:
    pair = NeighboringPair([0.0] * 4, [1.0, 0.0, 0.0, 0.0])
    test = satisfies(ONE, on=unit)(half_noise)
    only = settings(quiet, phases=[hypothesis.Phase.explicit])
    found = failure(only(hypothesis.example(pair=pair)(test)))
    assert found.witness is not None
    assert found.witness.left == pair.left


def test_a_failure_is_reproduced_from_its_blob() -> None:
    test = satisfies(ONE, on=unit)(half_noise)
    loud = settings(quiet, print_blob=True)
    notes = "\n".join(failure(loud(test)).__notes__)
    version, blob = re.findall(r"@reproduce_failure\('(.*?)', b'(.*?)'\)", notes)[0]
    again = satisfies(ONE, on=unit)(half_noise)
    found = failure(quiet(hypothesis.reproduce_failure(version, blob.encode())(again)))
    assert found.witness is not None
    assert (found.witness.left, found.witness.right) == ([0.0], [1.0])


def test_global_generators_are_left_alone_and_reproducible() -> None:
    def legacy(data: list[float], rng: Rng) -> float:  # noqa: ARG001
        return sum(data) + np.random.laplace(scale=0.5)  # noqa: NPY002

    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    one, other = (str(failure(quiet(satisfies(ONE, on=unit)(legacy)))) for _ in range(2))
    assert one == other
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002


# --- how it looks to pytest and hypothesis ------------------------------------------------------


def test_it_is_a_hypothesis_test_without_the_two_parameters() -> None:
    def test_mean(data: list[float], rng: Rng, tmp_path_factory: Any) -> float:  # noqa: ANN401, ARG001
        """Documented."""
        return full_noise(data, rng)

    made = satisfies(ONE, on=unit)(test_mean)
    assert hypothesis.is_hypothesis_test(made)
    assert list(inspect.signature(made).parameters) == ["tmp_path_factory"]
    assert made.__name__ == "test_mean"
    assert made.__doc__ == "Documented."
    assert made.mechanism is test_mean  # type: ignore[attr-defined]
    assert made.claim == ONE  # type: ignore[attr-defined]


def test_methods_and_fixtures_reach_the_mechanism() -> None:
    class TestMean:
        scale = 0.5

        @quiet
        @satisfies(ONE, on=unit)
        def test(self, data: list[float], rng: Rng, factor: float) -> float:
            return sum(data) + rng.laplace(scale=self.scale * factor)

    with pytest.raises(PrivacyViolation):
        TestMean().test(factor=1.0)
    with pytest.raises(PrivacyViolation):
        TestMean().test(1.0)


def test_settings_below_the_decorator_count_too() -> None:
    seen = []

    @satisfies(ONE, on=unit, samples=2_000)
    @settings(max_examples=3, database=None)
    def test(data: list[float], rng: Rng) -> float:
        seen.append(len(data))
        return full_noise(data, rng)

    with context.running(context.PytestRun()) as around:
        test()
    assert around.findings[0].pairs <= 3
    assert seen


def test_effort_stays_within_its_bounds() -> None:
    calls = [0]

    def counted(data: list[float], rng: Rng) -> float:
        calls[0] += 1
        return full_noise(data, rng)

    with context.running(context.PytestRun(samples=3_000, level=0.01)) as around:
        settings(database=None)(satisfies(ONE, on=unit)(counted))()
    record = around.findings[0]
    assert record.level == 0.01
    assert record.samples <= 3_000
    assert calls[0] <= 2 * 3_000


def test_records_tell_what_was_shown() -> None:
    with context.running(context.PytestRun(name="mine")) as around:
        quiet(satisfies(ONE, on=unit, level=1e-3)(full_noise))()
    (record,) = around.findings
    assert record.name == "mine"
    assert not record.refuted
    assert 0.5 < record.epsilon_lower <= 1.0
    assert record.claim == "PureDP(epsilon=1.0)"
    assert record.pairs > 15


# --- misuse -----------------------------------------------------------------------------------


def forgets_to_return(data: list[float], rng: Rng) -> None:
    half_noise(data, rng)


def forgets_rng(data: list[float]) -> float:
    return sum(data)


def forgets_data(rng: Rng) -> float:
    return rng.random()


async def waits(data: list[float], rng: Rng) -> float:
    return half_noise(data, rng)


def yields(data: list[float], rng: Rng) -> Any:  # noqa: ANN401
    yield half_noise(data, rng)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (forgets_to_return, "forgets_to_return must return what the mechanism releases"),
        (forgets_rng, "must take 'rng'"),
        (forgets_data, "must take 'data'"),
        (waits, "no async"),
        (yields, "no yield"),
        (3, "test=3 must be a function"),
        (TestClass := type("TestClass", (), {}), "must be a function"),
    ],
)
def test_bad_functions_are_refused_at_definition(test: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message):
        satisfies(ONE, on=unit)(test)


claimed = Claim(ONE, Relation.ADD_REMOVE, LAPLACE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": unit}, "claim=None must be a guarantee"),
        ({"claim": half_noise, "on": unit}, "must be a guarantee, for example"),
        ({"claim": 1.0, "on": unit}, "claim=1.0 must be a guarantee"),
        ({"claim": dpv.PureDP(epsilon=math.inf), "on": unit}, "must be finite"),
        ({"claim": dpv.GaussianDP(mu=math.inf), "on": unit}, "must be finite"),
        ({"claim": ONE}, "on=None must be a strategy of neighboring pairs"),
        ({"claim": ONE, "on": [[0.0], [1.0]]}, "must be a strategy of neighboring pairs"),
        (
            {"claim": ONE, "on": st.tuples(st.just([0]), st.just([1]))},
            "relation=None must be given",
        ),
        ({"claim": ONE, "on": st.just(1), "relation": 3}, "relation=3 must be one of"),
        ({"claim": claimed, "on": unit}, "that of claim"),
        ({"claim": [ONE, claimed], "on": unit}, "that of claim"),
        ({"claim": ONE, "on": unit, "relation": "add-remove"}, "that of on"),
        ({"claim": ONE, "on": unit, "level": 0.0}, "level=0.0 must"),
        ({"claim": ONE, "on": unit, "level": 1.0}, "level=1.0 must"),
        ({"claim": ONE, "on": unit, "samples": 0}, "samples=0 must"),
        ({"claim": ONE, "on": unit, "samples": 499}, "samples=499 must be at least 500"),
    ],
)
def test_bad_arguments_are_refused_at_definition(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        satisfies(**arguments)


@pytest.mark.parametrize(
    ("pairs", "relation", "message"),
    [
        (st.tuples(st.just([0, 0]), st.just([1, 1])), "replace-one", "no neighbors under"),
        (st.tuples(st.just(0.0), st.just(5.0)), lambda a, b: abs(a - b) <= 1, "no neighbors"),
        (st.just([0]), "replace-one", "must yield pairs"),
        (st.integers(), "add-remove", "must yield pairs"),
    ],
)
def test_pairs_that_are_none_are_refused_at_definition(
    pairs: Any,  # noqa: ANN401
    relation: Any,  # noqa: ANN401
    message: str,
) -> None:
    with pytest.raises(InvalidParameter, match=message):
        satisfies(ONE, on=pairs, relation=relation)(half_noise)


def test_a_rare_pair_that_is_none_is_refused_when_it_comes() -> None:
    drawn = [0]

    def late(value: int) -> tuple[list[float], list[float]]:
        drawn[0] += 1
        return ([0.0, 0.0], [1.0, 1.0]) if drawn[0] > 15 else ([0.0], [(1 + value) / 1001])

    pairs = st.integers(0, 1000).map(late)
    test = settings(database=None)(satisfies(ONE, on=pairs, relation="replace-one")(full_noise))
    with pytest.raises(InvalidParameter, match="no neighbors under"):
        test()


def test_pairs_of_ones_own_work() -> None:
    pairs = st.tuples(st.floats(0, 5), st.floats(-1, 1)).map(lambda p: (p[0], p[0] + p[1]))

    def close(left: float, right: float) -> bool:
        return abs(left - right) <= 1.0 + 1e-9

    def shifted(data: float, rng: Rng) -> float:
        return data + rng.laplace(scale=0.3)

    found = failure(quiet(satisfies(ONE, on=pairs, relation=close)(shifted)))
    assert found.witness is not None
    assert "(close)" in str(found)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda data, rng: data[99] + rng.random(),
            "raised IndexError: list index out of range",
        ),
        (lambda data, rng: data.append(rng.random()), "returned None"),
    ],
)
def test_a_mechanism_that_says_nothing_does_not_pass(broken: Any, message: str) -> None:  # noqa: ANN401
    def test(data: list[float], rng: Rng) -> Any:  # noqa: ANN401
        return broken(data, rng)

    with pytest.raises(InvalidParameter, match=f"must return an output.*{message}"):
        quiet(satisfies(ONE, on=unit)(test))()
