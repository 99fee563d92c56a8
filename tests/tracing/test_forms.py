"""What is seen of noise: every way of adding it, by hand-checked shifts and scales."""

# ruff: noqa: ANN401, RUF005, PLW0108  # data of any kind; code as users write it

import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.tracing import Traced, trace, trace_pair
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Move
from dpverify.tracing.recording.runs import record

Mechanism = Callable[[Any, Any], Any]


def traced(mechanism: Mechanism, left: object, right: object, epsilon: float = 1.0) -> Traced:
    return trace(
        mechanism, left=left, right=right, claim=PureDP(epsilon=epsilon), confirm=False, seed=1
    )


# Data is 0.0 on the left and 1.0 on the right unless said otherwise; the loss is 1/scale.
LINEAR: dict[str, tuple[Mechanism, float]] = {
    "value + noise": (lambda x, rng: x + rng.laplace(scale=2.0), 0.5),
    "noise + value": (lambda x, rng: rng.laplace(scale=2.0) + x, 0.5),
    "value - noise": (lambda x, rng: x - rng.laplace(scale=2.0), 0.5),
    "noise - value": (lambda x, rng: rng.laplace(scale=2.0) - x, 0.5),
    "loc": (lambda x, rng: rng.laplace(loc=x, scale=2.0), 0.5),
    "noise * c": (lambda x, rng: x + 4.0 * rng.laplace(scale=0.5), 0.5),
    "-noise": (lambda x, rng: x + -rng.laplace(scale=2.0), 0.5),
    "noise / c": (lambda x, rng: x + rng.laplace(scale=4.0) / 2, 0.5),
    "(value + noise) * c": (lambda x, rng: 3 * (x + rng.laplace(scale=2.0)), 0.5),
    "constant between": (lambda x, rng: rng.laplace(scale=2.0) + 5.0 + x, 0.5),
    "data in two steps": (lambda x, rng: x + rng.laplace(scale=2.0) + x, 1.0),
    "float()": (lambda x, rng: float(x + rng.laplace(scale=2.0)), 0.5),
    "np.float64 data": (lambda x, rng: np.float64(x) + rng.laplace(scale=2.0), 0.5),
    "list of noise": (lambda x, rng: np.array([rng.laplace(), rng.laplace()]) + [x / 2, 0], 0.5),
    "sum of an array": (lambda x, rng: (np.array([x, 0.0]) + rng.laplace(size=2)).sum(), 1.0),
    "element": (lambda x, rng: x + rng.laplace(scale=2.0, size=3)[1], 0.5),
    "python sum": (lambda x, rng: sum([x, rng.laplace(scale=2.0), 3.0]), 0.5),
    "in place": (lambda x, rng: np.add(np.array([x]), rng.laplace(scale=2.0, size=1)), 0.5),
    "reshape": (lambda x, rng: rng.laplace(scale=2.0, size=4).reshape(2, 2) + x / 4, 0.5),
    "where": (lambda x, rng: np.where([True, False], x + rng.laplace(scale=2.0, size=2), 0.0), 0.5),
    "concatenate": (
        lambda x, rng: np.concatenate([x + rng.laplace(scale=2.0, size=1), np.zeros(2)]),
        0.5,
    ),
    "setitem": (lambda x, rng: _set(x, rng), 0.5),
    "exponentials": (lambda x, rng: x + rng.exponential(2.0) - rng.exponential(2.0), 0.5),
    "logistic": (lambda x, rng: x + rng.logistic(scale=2.0), 0.5),
}


def _set(x: float, rng: np.random.Generator) -> object:
    noise = rng.laplace(scale=2.0, size=3)
    noise[1] = 0.0
    return noise + np.array([x, 0.0, 0.0])


@pytest.mark.parametrize("name", LINEAR)
def test_linear_uses_are_seen_through(name: str) -> None:
    mechanism, loss = LINEAR[name]
    found = traced(mechanism, 0.0, 1.0)
    assert found.verdict == "shown", str(found)
    assert found.epsilon(0.0).upper == pytest.approx(loss, rel=1e-12)
    assert found.epsilon(0.0).upper >= loss * (1 - 1e-15)


def test_a_release_names_its_line() -> None:
    found = traced(lambda x, rng: x + rng.laplace(scale=2.0), 0.0, 1.0)
    (release,) = found.releases
    assert release.where.startswith("test_forms.py:")
    assert "rng.laplace(scale=2.0)" in release.source
    assert (release.distribution, release.scale, release.shift) == ("laplace", 2.0, 1.0)
    assert (release.norm, release.loss) == ("l1", 0.5)
    assert abs(release.realized) <= 0.5 + 1e-12


@given(
    shifts=st.lists(st.floats(-3, 3), min_size=1, max_size=5),
    scale=st.floats(0.1, 10),
)
def test_laplace_vectors_add_up_in_l1(shifts: list[float], scale: float) -> None:
    left, right = np.zeros(len(shifts)), np.array(shifts)
    twin = trace_pair(lambda x, rng: x + rng.laplace(scale=scale, size=len(x)), left, right)
    exact = sum((abs(Fraction(s)) for s in shifts), Fraction(0)) / Fraction(scale)
    bracket = spending(twin.differences).epsilon(0.0)
    assert bracket.lower <= float(exact) * (1 + 1e-9)
    assert bracket.upper >= float(exact) * (1 - 1e-15)
    assert bracket.width <= 1e-6 * max(1.0, float(exact))


@given(shifts=st.lists(st.floats(-3, 3), min_size=1, max_size=5), scale=st.floats(0.1, 10))
def test_gaussian_vectors_add_up_in_l2(shifts: list[float], scale: float) -> None:
    left, right = np.zeros(len(shifts)), np.array(shifts)
    twin = trace_pair(lambda x, rng: x + scale * rng.standard_normal(len(x)), left, right)
    spent = spending(twin.differences)
    mu = math.sqrt(math.fsum((s / scale) ** 2 for s in shifts))
    if mu > 1e-6:
        assert spent.releases[0].loss == pytest.approx(mu, rel=1e-9)
        # Φ(μ/2) − Φ(−μ/2) = erf(μ/√8): the total variation, computed apart from the library
        assert spent.delta(0.0).upper == pytest.approx(math.erf(mu / math.sqrt(8)), rel=1e-6)


def test_correlated_gaussian_noise_is_exact() -> None:
    """Covariance [[2, 1], [1, 2]] and shift (1, −1): sᵀΣ⁻¹s = 2, by hand."""
    cov = [[2.0, 1.0], [1.0, 2.0]]
    found = trace(
        lambda x, rng: x + rng.multivariate_normal([0, 0], cov),
        left=np.array([0.0, 0.0]),
        right=np.array([1.0, -1.0]),
        claim=GaussianDP(mu=1.4142135623730951),
        confirm=False,
    )
    assert found.verdict == "shown"
    assert found.releases[0].loss == pytest.approx(math.sqrt(2.0), rel=1e-9)
    short = trace(
        lambda x, rng: x + rng.multivariate_normal([0, 0], cov),
        left=np.array([0.0, 0.0]),
        right=np.array([1.0, -1.0]),
        claim=GaussianDP(mu=1.41),
        confirm=False,
    )
    assert short.verdict == "refuted"


def test_discrete_laplace_has_its_own_profile() -> None:
    """q = e^−1, shift 2: losses 2, 0, −2 with masses 1/(1+q), (1−q)q/(1+q), q²/(1+q)."""
    p = -math.expm1(-1.0)
    found = traced(lambda n, rng: n + rng.geometric(p) - rng.geometric(p), 0, 2, epsilon=2.0)
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(2.0, rel=1e-12)
    q = math.exp(-1.0)
    total_variation = 1 / (1 + q) - q**2 / (1 + q)
    assert found.delta(0.0).upper == pytest.approx(total_variation, rel=1e-12)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (GaussianDP(mu=0.5), "shown"),
        (GaussianDP(mu=0.499), "refuted"),
        (ZeroConcentratedDP(rho=0.125), "shown"),
        (ZeroConcentratedDP(rho=0.124), "refuted"),
        (RenyiDP(order=4.0, epsilon=0.5), "shown"),
        (ApproxDP(epsilon=1.0, delta=0.02), "shown"),
        (ApproxDP(epsilon=1.0, delta=1e-3), "refuted"),
        (PureDP(epsilon=5.0), "refuted"),
    ],
)
def test_claims_of_every_kind(claim: Any, verdict: str) -> None:
    found = trace(
        lambda x, rng: x + rng.normal(scale=2.0), left=0.0, right=1.0, claim=claim, confirm=False
    )
    assert found.verdict == verdict


def test_recorded_outputs_are_those_of_a_plain_call() -> None:
    def mechanism(x: Any, rng: Any) -> Any:
        return x + rng.laplace(scale=2.0), x * 2 + rng.normal(size=3), rng.random() < 0.5

    plain = mechanism(1.0, np.random.default_rng(5))
    run = record(mechanism, 1.0, NoiseScript(5))
    assert run.leaves[0,] == plain[0]
    assert run.leaves[1,].tolist() == plain[1].tolist()
    assert run.leaves[2,] == plain[2]


NOT_LINEAR: dict[str, Mechanism] = {
    "squared": lambda x, rng: x + rng.laplace() ** 2,
    "exponential of noise": lambda x, rng: x + math.exp(rng.normal()),
    "inversion": lambda x, rng: x - np.sign(rng.random() - 0.5) * np.log(rng.random()),
    "product of noises": lambda x, rng: x + rng.laplace() * rng.laplace(),
    "gamma": lambda x, rng: x + rng.gamma(2.0),
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_other_uses_are_said_to_be_not_understood(name: str) -> None:
    found = traced(NOT_LINEAR[name], 0.0, 1.0)
    assert found.verdict == "not understood", str(found)
    assert found.puzzles[0].where.startswith("test_forms.py:")


def test_rounding_of_floats_is_no_violation() -> None:
    """0.1 + 0.2 + … differ in the last bits: the shift is 0.1 up to rounding."""
    left, right = [0.1] * 10, [0.1] * 9
    found = traced(lambda d, rng: sum(d) + rng.laplace(scale=0.1), left, right)
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(1.0, rel=1e-12)


def test_one_per_cent_is_found_in_one_pair() -> None:
    found = traced(lambda d, rng: sum(d) + rng.laplace(scale=0.99), [0.0, 1.0], [0.0, 0.0])
    assert found.verdict == "refuted"
    assert found.witness is not None
    assert found.witness.loss.lower == pytest.approx(1 / 0.99, rel=1e-9)


def test_a_noisy_maximum_is_charged_for_its_index_alone() -> None:
    scores, other = np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 2.0])
    found = traced(lambda s, rng: int(np.argmax(s + rng.laplace(scale=2.0, size=3))), scores, other)
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(1.0)  # spread 2 over scale 2
    gumbel = traced(lambda s, rng: int(np.argmax(s + rng.gumbel(scale=2.0, size=3))), scores, other)
    weights = [[math.exp(s / 2) for s in side] for side in (scores, other)]
    laws = [[w / sum(side) for w in side] for side in weights]
    exact = max(abs(math.log(p / q)) for p, q in zip(*laws, strict=True))
    assert gumbel.epsilon(0.0).upper == pytest.approx(exact, rel=1e-12)


def test_a_noisy_maximum_with_its_value_is_charged_in_full() -> None:
    def both(s: Any, rng: Any) -> Any:
        noisy = s + rng.laplace(scale=2.0, size=3)
        return int(np.argmax(noisy)), float(noisy.max())

    found = traced(both, np.array([1.0, 0.0, 2.0]), np.array([0.0, 1.0, 1.0]))
    assert found.epsilon(0.0).upper == pytest.approx(1.5)
    assert found.verdict == "overspent"


# Noise that adds up in Python.


Steps = list[tuple[str, int, int, float]]
PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from("+-*nx"),
        st.integers(0, 30),
        st.integers(0, 30),
        st.sampled_from([-2.0, 0.5, 3.0, 0.9]),
    ),
    min_size=1,
    max_size=12,
)


def _made(steps: Steps, noise: list[Any], x: Any) -> list[Any]:
    """All numbers that a program makes of some noises and of a record."""
    found = [noise[0] + x, *noise[1:]]
    for what, i, j, by in steps:
        one, two = found[i % len(found)], found[j % len(found)]
        match what:
            case "+":
                found.append(one + two)
            case "-":
                found.append(one - two)
            case "*":
                found.append(one * by)
            case "x":
                found.append(one + x * by)
            case _:
                found.append(-one)
    return found


@given(PROGRAMS)
def test_sums_of_sums_are_what_arithmetic_says(steps: Steps) -> None:
    def release(x: Any, rng: Any) -> Any:
        return _made(steps, [rng.laplace() for _ in range(4)], x)

    run = record(release, 2.0, NoiseScript(5))
    expected = _made(steps, run.journal.draws.z[:4].tolist(), 2.0)
    told = [run.leaves[i,] for i in range(len(expected))]
    size = max(map(abs, expected))
    assert told == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)


@given(PROGRAMS, st.lists(st.integers(0, 30), min_size=1, max_size=4))
def test_sums_of_gaussian_noise_lose_the_exact_divergence(steps: Steps, told: list[int]) -> None:
    """r = A·z + x·v: μ is the least length of d with A·d = v, and infinite without such a d."""

    def release(x: Any, rng: Any) -> Any:
        found = _made(steps, [rng.normal() for _ in range(3)], x)
        return [found[i % len(found)] for i in told]

    columns = [*np.eye(4)[:3], np.eye(4)[3]]
    every = _made(steps, columns[:3], columns[3])  # the program is linear: rows are its forms
    rows = np.array([every[i % len(every)] for i in told])
    matrix, moves = rows[:, :3], rows[:, 3]
    exact = np.linalg.lstsq(matrix, moves, rcond=None)[0]
    twin = trace_pair(release, 0.0, 1.0)
    if not np.allclose(matrix @ exact, moves, atol=1e-9):
        assert twin.leaks
        return
    assert not twin.leaks
    steps_of = [move.z_other - move.z for move in twin.differences if isinstance(move, Move)]
    assert len(steps_of) == len(twin.differences)
    mu = math.sqrt(sum(float(np.sum(step**2)) for step in steps_of))
    assert mu == pytest.approx(float(np.linalg.norm(exact)), rel=1e-6, abs=1e-9)


def _twice_noisy(x: Any, rng: Any) -> Any:
    return (x + rng.laplace(scale=0.01)) + rng.laplace(scale=0.01)


BESIDE: dict[str, Callable[[Any], Any]] = {
    "a huge number": lambda x: x + 1e18 < 0.0,
    "infinity": lambda x: x - math.inf > 0.0,
    "infinity, compared": lambda x: math.inf - x < 0.0,
    "a tiny share": lambda x: x * 1e-12 + 1e6 > 2e6,
    "a text": lambda x: len(f"{x + 1e17:.3f}") > 99,
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_sum_that_was_lost_beside_something_huge_is_not_free_later(name: str) -> None:
    def release(x: Any, rng: Any) -> Any:
        noisy = _twice_noisy(x, rng)
        return None if BESIDE[name](noisy) else noisy

    assert traced(release, 0.0, 1.0).verdict != "shown"


@pytest.mark.parametrize(
    ("scale", "left", "right", "added"),
    [(1e-14, 0.0, 1e-12, 1e6), (1e-6, 1e6, 1e6 + 1e-4, 1e12)],
)
def test_what_is_huge_is_so_beside_the_noise(
    scale: float, left: float, right: float, added: float
) -> None:
    def release(x: Any, rng: Any) -> Any:
        noisy = (x + rng.laplace(scale=scale)) + rng.laplace(scale=scale)
        return None if noisy + added < 0.0 else noisy

    assert traced(release, left, right).verdict != "shown"


def test_noise_is_added_to_sums_of_arrays_in_any_order() -> None:
    def behind(x: Any, rng: Any) -> Any:
        return rng.laplace(scale=2.0) + (x + rng.laplace(scale=2.0, size=4)).sum()

    def caught(x: Any, rng: Any) -> Any:
        total = rng.laplace(scale=0.001)
        try:
            total = total + rng.laplace(scale=0.001, size=4).sum()
        except ValueError:
            return None
        return x.sum() + total

    left, right = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert traced(behind, 0.0, 0.25).verdict == "shown"
    assert traced(caught, left, right).verdict in {"refuted", "overspent", "leaking"}


def test_elements_that_add_up_several_draws_are_priced() -> None:
    def padded(data: Any, rng: Any) -> Any:
        totals = np.cumsum(data + rng.normal(size=4, scale=0.5))
        return np.pad(totals[1:3], 1, mode="edge")

    found = traced(padded, np.zeros(4), np.array([0.0, 0.0, 1.0, 0.0]))
    assert found.verdict == "overspent"


@pytest.mark.parametrize(("right", "loss"), [([2.0, 1.0, 3.0], 2.0), ([1.0, 2.0, 3.5], 0.5)])
def test_totals_of_an_array_are_told_one_by_one(right: list[float], loss: float) -> None:
    def totals(data: Any, rng: Any) -> Any:
        return [float(total) for total in np.cumsum(data + rng.laplace(size=3))]

    left = np.array([1.0, 2.0, 3.0])
    assert traced(totals, left, np.array(right), epsilon=1.01 * loss).verdict == "shown"
    assert traced(totals, left, np.array(right), epsilon=0.99 * loss).verdict == "overspent"


def test_running_totals_are_told_one_after_the_other() -> None:
    """Each record is in one step: ε = 1/2, whatever the number of totals."""

    def totals(data: Any, rng: Any) -> Any:
        total, out = 0.0, []
        for v in data:
            total = 0.9 * total + v + rng.laplace(scale=2.0)
            out.append(total)
        return out

    left, right = [0.0] * 15, [0.0] * 10 + [1.0] + [0.0] * 4
    found = traced(totals, left, right)
    assert found.verdict == "shown"
    assert found.epsilon().upper == pytest.approx(0.5, rel=1e-9)
    assert traced(totals, left, right, epsilon=0.49).verdict == "refuted"


@pytest.mark.parametrize("kept", [False, True])
def test_totals_cost_in_proportion_to_their_number(kept: bool) -> None:  # noqa: FBT001
    def totals(data: Any, rng: Any) -> Any:
        total, out = 0.0, []
        for v in data:
            total += v + rng.laplace()
            out.append(total)
        return out if kept else total

    def seconds(size: int) -> float:
        took = []
        for _ in range(2):
            start = time.process_time()
            trace_pair(totals, [0.0] * size, [*[0.0] * (size - 1), 1.0])
            took.append(time.process_time() - start)
        return min(took)

    assert seconds(2_000) < 25 * seconds(200)  # 10 if it is linear, 100 if it is not


# Magnitudes of noise.


def test_magnitudes_add_up_in_proportion_to_their_number() -> None:
    def mechanism(x: float, rng: Any) -> Any:
        return x + sum(abs(rng.normal()) for _ in range(60))

    found = traced(mechanism, 0.0, 1.0)
    assert found.verdict == "not understood"
    assert "law" in found.puzzles[0].what


def test_a_walk_by_magnitudes_comes_to_its_end() -> None:
    def mechanism(x: float, rng: Any) -> Any:
        far, steps = 0.0, 0
        while far < 8.0:
            far += abs(rng.normal())
            steps += 1
        return x + rng.laplace(), steps

    assert traced(mechanism, 0.0, 1.0).verdict == "shown"


@pytest.mark.parametrize("kind", [abs, lambda z: float(abs(z))], ids=["noisy", "plain"])
def test_a_magnitude_that_is_told_hides_nothing(kind: Any) -> None:
    def mechanism(x: float, rng: Any) -> Any:
        size = kind(rng.laplace())
        return x + size, size

    assert traced(mechanism, 0.0, 1.0).verdict != "shown"


@pytest.mark.parametrize("other", [lambda z: z, abs], ids=["signed", "magnitude"])
def test_a_magnitude_is_compared_with_noise_on_either_side(other: Any) -> None:
    def mechanism(x: float, rng: Any) -> Any:
        return x if other(rng.normal()) < abs(rng.normal()) else 0.0

    # On the left the output never varies, so it may as well be a coin that is made by hand.
    assert traced(mechanism, 0.0, 1.0).verdict == "not understood"
    assert traced(mechanism, 2.0, 1.0).verdict in {"leaking", "not understood"}
