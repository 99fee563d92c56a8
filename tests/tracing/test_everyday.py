"""Code as privacy engineers write it, right and wrong: the verdict, the line, the cost."""

# ruff: noqa: ANN401  # data of any kind

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from dpverify.guarantees import GaussianDP, Guarantee, PureDP
from dpverify.tracing import Traced, trace

ONE = PureDP(epsilon=1.0)


def traced(mechanism: Any, left: Any, right: Any, claim: Guarantee = ONE) -> Traced:
    return trace(mechanism, left=left, right=right, claim=claim, confirm=False)


# Two noisy answers beside each other: a function of both is post-processing of both.


def average_if_alike(data: Any, rng: Any) -> Any:
    one = sum(data) + rng.laplace(0, 2.0)
    two = sum(data) + rng.laplace(0, 2.0)
    return (one + two) / 2 if abs(one - two) < 1 else [one, two]


def until_it_settles(data: Any, rng: Any) -> Any:
    answers: list[Any] = []
    for epsilon in (0.2, 0.3, 0.5):
        answers.append(sum(data) + rng.laplace(0, 1 / epsilon))
        if len(answers) > 1 and abs(answers[-1] - answers[-2]) < 0.5:
            break
    return answers


def trend(data: Any, rng: Any) -> Any:
    before, now = (count + rng.laplace(0.0, 1.0) for count in data)
    change = now - before
    return f"{'up' if change > 0 else 'down'} by {abs(change):.1f} to {now:.1f}"


@pytest.mark.parametrize("mechanism", [average_if_alike, until_it_settles, trend])
def test_noisy_answers_may_be_held_against_each_other(mechanism: Any) -> None:
    found = traced(mechanism, [5, 3], [6, 3])
    assert found.verdict == "shown", str(found)
    assert found.epsilon(0.0).upper == pytest.approx(1.0, rel=1e-9)


def the_better_one(data: Any, rng: Any) -> Any:
    one, two = (sum(data) + rng.laplace(0, 2.0) for _ in range(2))
    return one if abs(one - sum(data)) < abs(two - sum(data)) else two


def test_but_not_against_the_data() -> None:
    assert traced(the_better_one, [5, 3], [6, 3]).verdict == "leaking"


# Rows picked by noisy bounds.


def window(frame: Any, rng: Any) -> Any:
    center = float(np.clip(50 + len(frame) + rng.laplace(0, 2.0), 0, 100))
    near = (frame.x > center - 20) & (frame.x < center + 20)
    return center, int(near.sum()) + rng.laplace(0, 2.0)


def equal_in_a_column(frame: Any, rng: Any) -> Any:
    noisy = round(len(frame) + rng.laplace(0, 1.0))
    return noisy, bool((frame.x == noisy * 10.0).any())


def equal_and_more(frame: Any, rng: Any) -> Any:
    noisy = round(len(frame) + rng.laplace(0, 1.0))
    return noisy, len(frame[(frame.x == noisy * 10.0) & (frame.x > 0)])


def equal_in_a_loop(frame: Any, rng: Any) -> Any:
    noisy = round(len(frame) + rng.laplace(0, 1.0))
    return noisy, any(x == noisy * 10 for x in frame.x)


LONG = pd.DataFrame({"x": [10.0, 20.0, 52.0, 70.0, 90.0]})
SHORT = LONG.iloc[:-1]


def test_rows_between_two_noisy_bounds_are_no_lookup() -> None:
    found = traced(window, LONG, SHORT)
    assert found.verdict == "shown", str(found)
    assert found.epsilon(0.0).upper <= 1.0 + 1e-9


@pytest.mark.parametrize("mechanism", [equal_in_a_column, equal_and_more, equal_in_a_loop])
@pytest.mark.parametrize(("left", "right"), [(LONG, SHORT), (SHORT, LONG)])
def test_numbers_of_a_record_that_one_side_lacks_are_met(
    mechanism: Any, left: Any, right: Any
) -> None:
    found = traced(mechanism, left, right)
    assert found.verdict == "leaking", str(found)
    assert found.leaks[0].source.startswith("return noisy")


# Contributions of a user, bounded by chance.


def two_each(frame: Any, rng: Any) -> Any:
    kept: list[float] = []
    for _, rows in frame.groupby("user"):
        kept.extend(rows.x.to_numpy()[rng.permutation(len(rows))[:2]])
    return float(np.clip(kept, 0, 5).sum()) + rng.laplace(0, 10.0)


def two_each_and_how_many(frame: Any, rng: Any) -> Any:
    kept: list[float] = []
    for _, rows in frame.groupby("user"):
        kept.extend(rows.x.to_numpy()[rng.permutation(len(rows))[:2]])
    return float(np.clip(kept, 0, 5).sum()) + rng.laplace(0, 10.0), len(kept)


def test_a_sample_of_each_user_is_no_leak_by_itself() -> None:
    users = pd.DataFrame({"user": [1, 1, 1, 2, 3], "x": [1.0, 2.0, 3.0, 4.0, 5.0]})
    found = traced(two_each, users, users.iloc[:-1])
    assert found.verdict == "not understood", str(found)
    assert "rng.permutation" in found.puzzles[0].source
    assert traced(two_each_and_how_many, users, users.iloc[:-1]).verdict == "leaking"


# Descents.


def noise_by_the_number_of_records(data: Any, rng: Any) -> Any:
    x, y = data
    weights = np.zeros(2)
    for _ in range(2):
        gradients = (x @ weights - y)[:, None] * x
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        gradients = gradients / np.maximum(1.0, norms)
        weights = weights - 0.5 * (gradients.mean(0) + rng.normal(0, 1.0, 2) / len(x))
    return weights


def test_a_descent_tells_that_its_noise_depends_on_the_data() -> None:
    x, y = np.array([[1.0, 0.3], [0.2, -1.0], [0.6, 0.6]]), np.array([1.0, 0.0, 1.0])
    claim = GaussianDP(mu=1.5)
    found = traced(noise_by_the_number_of_records, (x, y), (x[:2], y[:2]), claim)
    assert found.verdict == "leaking", str(found)
    assert "noise of scale 0.33" in str(found.leaks[0])


# Lines are the user's, whatever a library calls.


def truth_for_the_missing(frame: Any, rng: Any) -> Any:
    counts = frame.city.value_counts().reindex(["a", "b", "c"], fill_value=0)
    noisy = counts + rng.laplace(0, 1.0, 3)
    logs = np.log(noisy.where(noisy > 0))
    return logs.fillna(np.log1p(counts))


def test_the_line_is_not_one_of_a_library() -> None:
    frame = pd.DataFrame({"city": ["a", "b", "a", "c", "b", "a"]})
    found = traced(truth_for_the_missing, frame, frame.drop(index=3))
    assert found.verdict == "leaking"
    assert found.leaks[0].source == "return logs.fillna(np.log1p(counts))"
