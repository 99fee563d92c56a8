"""What may pass for no leak and is one; and what looks like a leak and is none."""

# ruff: noqa: ANN401  # data of any kind

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

from dpverify.claims import AuditClaim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing import Traced, trace

Rng = np.random.Generator
Mechanism = Callable[[Any, Rng], Any]
ONE = PureDP(epsilon=1.0)


def _traced(mechanism: Mechanism, left: Any, right: Any, claim: AuditClaim = ONE) -> Traced:
    return trace(mechanism, left=left, right=right, claim=claim, seed=0, confirm=False)


# Code that tells the numbers of a trace from plain ones.


def only_on_the_right(x: float, rng: Rng) -> float:
    noisy = x + rng.laplace()
    return x if x == 1.0 and type(noisy) is float else noisy


def only_in_a_branch(x: float, rng: Rng) -> Any:
    noisy, other = x + rng.laplace(), rng.laplace()
    if other > 2 and type(noisy) is float:
        return x, other
    return noisy, other


def only_after_a_plain_number(x: float, rng: Rng) -> Any:
    noisy, other = x + rng.laplace(), float(rng.laplace())
    return noisy, other, x if other > 2 and type(noisy) is float else 0.0


def only_rows(x: float, rng: Rng) -> Any:
    noisy, other = x + rng.laplace(size=3, scale=3.0), rng.laplace()
    return noisy.tolist(), other, x if other > 2 and type(noisy) is np.ndarray else 0.0


def only_a_coin(bit: int, rng: Rng) -> int:
    toss = rng.random()
    if bit and type(toss) is float:
        return bit
    return bit if toss < 0.75 else 1 - bit


@pytest.mark.parametrize(
    "mechanism",
    [only_on_the_right, only_in_a_branch, only_after_a_plain_number, only_rows, only_a_coin],
    ids=lambda m: m.__name__,
)
def test_every_way_of_a_run_is_held_against_plain_numbers(mechanism: Mechanism) -> None:
    kind = int if mechanism is only_a_coin else float
    found = _traced(mechanism, kind(0), kind(1), PureDP(epsilon=math.log(3.0)))
    assert found.verdict == "not understood"
    # A branch that plain numbers would take, and traced ones do not, is also seen to tell data.
    said: dict[Mechanism, str] = {
        only_after_a_plain_number: "no run came to where the other way tells data"
    }
    assert said.get(mechanism, "plain numbers") in found.puzzles[0].what


def test_two_executions_leave_no_room_for_plain_numbers_and_say_so() -> None:
    found = trace(only_on_the_right, left=0.0, right=1.0, claim=ONE, executions=2, confirm=False)
    assert any("plain numbers" in note for note in found.notes)


# Code that remembers.


def _every_seventh() -> Mechanism:
    calls = [0]

    def every_seventh(x: float, rng: Rng) -> float:
        calls[0] += 1
        return x + (rng.laplace() if calls[0] % 7 else 0.0)

    return every_seventh


def _after_thirty() -> Mechanism:
    calls = [0]

    def after_thirty(x: float, rng: Rng) -> float:
        calls[0] += 1
        return x + rng.laplace() if calls[0] < 30 else x

    return after_thirty


def _keeps_noise() -> Mechanism:
    kept: dict[float, Any] = {}

    def keeps_noise(x: float, rng: Rng) -> Any:
        noisy = x + rng.laplace()
        return noisy, kept.setdefault(x, noisy)

    return keeps_noise


@pytest.mark.parametrize("made", [_every_seventh, _after_thirty, _keeps_noise])
def test_a_run_that_is_not_repeated_shows_nothing(made: Callable[[], Mechanism]) -> None:
    assert _traced(made(), 0.0, 1.0).verdict == "not understood"


# Numbers that are told, and on which data decide.


def until_below(data: list[float], rng: Rng) -> Any:
    while True:
        noise = rng.laplace()
        if noise < sum(data):
            return noise


def told_with_its_side(data: list[float], rng: Rng) -> Any:
    noise = rng.laplace(size=3)
    return noise.tolist(), (noise < 5 * sum(data)).tolist()


def test_a_known_number_between_the_bounds_of_two_sides_tells_them_apart() -> None:
    for mechanism in (until_below, told_with_its_side):
        found = _traced(mechanism, [1.0], [2.0], PureDP(epsilon=0.1))
        assert found.verdict == "leaking"


def below_a_noisy_bound(data: Any, rng: Rng) -> Any:
    bound = 5.0 + rng.laplace()
    return bound, float((data * (data < bound)).sum() + rng.laplace())  # moves by 3 in between


def clipped_to_a_noisy_bound(data: Any, rng: Rng) -> Any:
    bound = 5.0 + rng.laplace()
    return bound, float(np.minimum(data, bound).sum() + rng.laplace())


def told_either_way(data: list[float], rng: Rng) -> Any:
    noise = rng.laplace()
    return noise if noise < sum(data) else sum([noise, 0.0])


def test_a_noisy_bound_is_put_between_the_data_of_both_sides() -> None:
    left, right = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    assert _traced(below_a_noisy_bound, left, right).verdict == "overspent"
    assert _traced(clipped_to_a_noisy_bound, left, right).verdict == "shown"
    assert _traced(told_either_way, [1.0], [2.0]).verdict == "shown"


# Rounding.


def drowned(x: float, rng: Rng) -> tuple[float, float]:
    noise = rng.laplace()
    return float(x + noise + 1e15), float(3 * x + noise)  # together they tell x


def drowned_first(x: float, rng: Rng) -> Any:
    noisy = x + rng.laplace()
    return noisy + 1e300, noisy


def test_a_large_number_hides_no_second_use_of_its_noise() -> None:
    assert _traced(drowned, 1.0, 2.0).verdict == "not understood"


def test_a_large_number_that_swallows_noise_is_no_leak() -> None:
    assert _traced(drowned_first, 1.0, 2.0).verdict == "not understood"


# What seldom happens.


def one_in_a_row(data: list[int], rng: Rng) -> Any:
    return np.array(data)[rng.random(len(data)) < 1e-7].tolist()


def one_face(data: list[int], rng: Rng) -> int:
    return data[0] if rng.integers(1000) == 7 else 0


def far_from_the_threshold(data: Any, rng: Rng) -> Any:
    noisy = np.array(data) + rng.laplace(size=len(data))
    return np.where(noisy > 8, noisy, 0).tolist()


def test_every_record_of_a_row_is_told_by_its_own_coin() -> None:
    claim = ApproxDP(epsilon=0.0, delta=1e-8)
    assert _traced(one_in_a_row, [1] * 20, [1] * 19 + [2], claim).verdict != "shown"


def test_a_whole_number_is_put_to_the_numbers_of_the_code() -> None:
    assert _traced(one_face, [1], [2]).verdict != "shown"


def test_rows_that_seldom_fall_the_other_way_are_turned_at_once() -> None:
    claim = ApproxDP(epsilon=1.0, delta=1e-6)
    assert _traced(far_from_the_threshold, [20] * 40, [20] * 39 + [21], claim).verdict == "shown"


def whole_histogram(words: list[str], rng: Rng) -> dict[str, int]:
    noisy = {
        word: count + int(rng.geometric(0.632)) - int(rng.geometric(0.632))
        for word, count in sorted(Counter(words).items())
    }
    return {word: count for word, count in noisy.items() if count > 16}


def test_a_key_that_a_threshold_hides_is_no_leak() -> None:
    claim, words = ApproxDP(epsilon=1.0, delta=1e-6), ["a"] * 30
    for sides in ((words, [*words, "b"]), ([*words, "b"], words)):
        assert _traced(whole_histogram, *sides, claim).verdict == "not understood"


# What is spent depends on what was seen.


def one_or_the_other(x: float, rng: Rng) -> tuple[float, float]:
    first = x + rng.normal(scale=2.0)
    return first, x + (rng.laplace() if first < 0.0 else rng.normal())


def sooner_or_later(x: float, rng: Rng) -> Any:
    first = x + rng.normal(scale=2.0)
    scales = (1.0, 4.0) if first < 0.0 else (4.0, 1.0)
    return first, *(x + rng.normal(scale=scale) for scale in scales)


def seldom_dear(x: float, rng: Rng) -> tuple[float, float]:
    first = x + rng.normal(scale=2.0)
    return first, x + rng.normal(scale=1.0 if first > 3.0 else 4.0)


def _laplace_profile(epsilon: float) -> float:
    inside = max(-math.expm1((epsilon - 1.0) / 2.0), 0.0)
    return max(inside, -math.expm1(min(epsilon, 0.0)))


def _normal_profile(epsilon: float) -> float:
    below = scipy.stats.norm.cdf
    return float(below(0.5 - epsilon) - math.exp(epsilon) * below(-0.5 - epsilon))


def _adaptive_delta(epsilon: float) -> float:
    """∫ p(y)·δ_y(ε − ln p(y)/q(y)) dy of `one_or_the_other`, the larger of both directions."""

    def one_way(left: float, right: float) -> float:
        def part(y: float) -> float:
            loss = ((y - right) ** 2 - (y - left) ** 2) / 8.0
            profile = _laplace_profile if y < 0.0 else _normal_profile
            return float(scipy.stats.norm.pdf(y, left, 2.0) * profile(epsilon - loss))

        ends = ((-30.0, 0.0), (0.0, 30.0))
        return sum(scipy.integrate.quad(part, a, b, limit=200)[0] for a, b in ends)

    return max(one_way(0.0, 1.0), one_way(1.0, 0.0))


def test_transcripts_that_each_keep_a_claim_need_not_keep_it_together() -> None:
    # Each of the two ways alone costs 0.2855 at most, both together 0.2870.
    truth = _adaptive_delta(0.5)
    assert truth == pytest.approx(0.28700772, abs=1e-7)
    found = _traced(one_or_the_other, 0.0, 1.0, ApproxDP(epsilon=0.5, delta=0.2862))
    assert found.verdict == "not understood"
    assert "together" in found.puzzles[0].what
    found = _traced(one_or_the_other, 0.0, 1.0, ApproxDP(epsilon=0.5, delta=0.2885))
    assert found.verdict == "shown"
    assert found.delta(0.5).upper >= truth
    assert any("noisy values before it" in note for note in found.notes)


def test_gaussian_noise_may_be_spent_in_any_order() -> None:
    # μ² = 1/4 + 1 + 1/16 on both ways
    mu = math.sqrt(21.0) / 4.0
    below = scipy.stats.norm.cdf
    exact = float(below(mu / 2 - 1 / mu) - math.e * below(-mu / 2 - 1 / mu))
    claim = ApproxDP(epsilon=1.0, delta=exact * (1 + 1e-9))
    assert _traced(sooner_or_later, 0.0, 1.0, claim).verdict == "shown"
    claim = ApproxDP(epsilon=1.0, delta=exact * 0.999)
    assert _traced(sooner_or_later, 0.0, 1.0, claim).verdict != "shown"


def test_a_dear_release_that_seldom_happens_is_overspent_and_no_leak() -> None:
    found = _traced(seldom_dear, 0.0, 1.0, ApproxDP(epsilon=1.0, delta=0.07))
    assert found.verdict == "overspent"


# Comparisons that matter together and none alone.


def one_way_of_two_coins(x: float, rng: Rng) -> Any:
    a = rng.random() < 0.5
    b = rng.random() < 0.5
    return x + rng.laplace(scale=0.1 if a and not b else 1.0)


def one_pair_of_coins(x: float, rng: Rng) -> Any:
    a, b = bool(rng.random() < 0.5), bool(rng.random() < 0.5)
    return x if (a, b) == (True, False) else x + rng.laplace()


def both_far_out(x: float, rng: Rng) -> Any:
    a, b = rng.laplace(), rng.laplace()
    return x if (a > 3.0) & (b < -3.0) else x + rng.laplace()


def one_row_of_coins(x: float, rng: Rng) -> Any:
    for want in (False, True, False):
        if (rng.random() < 0.5) != want:
            return x + rng.laplace(scale=2.0)
    return x


def three_of_a_row(x: float, rng: Rng) -> Any:
    return x if (rng.laplace(size=4) > 1.0).sum() == 3 else x + rng.laplace()


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (three_of_a_row, ApproxDP(epsilon=1.0, delta=1e-4)),
        (one_way_of_two_coins, ONE),
        (one_pair_of_coins, ApproxDP(epsilon=1.0, delta=0.1)),
        (both_far_out, ApproxDP(epsilon=1.0, delta=1e-4)),
        (one_row_of_coins, PureDP(epsilon=0.5)),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_every_way_through_a_few_comparisons_is_taken(
    mechanism: Mechanism, claim: AuditClaim
) -> None:
    assert _traced(mechanism, 0.0, 1.0, claim).verdict in {"leaking", "overspent"}


def more_noise_on_one_way(x: float, rng: Rng) -> Any:
    a = rng.random() < 0.5
    b = rng.random() < 0.5
    return x + rng.laplace(scale=2.0 if a and not b else 1.0)


def test_two_coins_that_choose_between_enough_noise_and_more_are_no_leak() -> None:
    assert _traced(more_noise_on_one_way, 0.0, 1.0).verdict == "shown"


# The same noise in units that are far apart.


def noise_in_nano(x: float, rng: Rng) -> Any:
    z = rng.laplace()
    return x + z, 1e-9 * z


def bytes_and_gigabytes(x: float, rng: Rng) -> Any:
    z = rng.laplace()
    return {"bytes": 1e9 * (x + z), "gb": 2 * x + z}


def noise_shifted_down(x: float, rng: Rng) -> Any:
    z = rng.laplace()
    return x + z, z / 2**40


def under_large_noise(x: float, rng: Rng) -> Any:
    w, z = rng.laplace(scale=1e10), rng.laplace()
    return w + z, w, x + z


def beside_other_noise(x: float, rng: Rng) -> Any:
    w, z = rng.laplace(), rng.laplace()
    return x + z, w, w + 1e-9 * z


@pytest.mark.parametrize(
    "mechanism",
    [noise_in_nano, bytes_and_gigabytes, noise_shifted_down, under_large_noise, beside_other_noise],
    ids=lambda m: m.__name__,
)
def test_noise_that_is_told_in_a_small_unit_is_told(mechanism: Mechanism) -> None:
    assert _traced(mechanism, 0.0, 1.0).verdict == "leaking"


def again_in_nano(x: float, rng: Rng) -> Any:
    z, w = rng.laplace(scale=2.0), rng.laplace(scale=2.0)
    return x + z, x + w, 1e-9 * (x + z)


def test_a_release_that_is_told_again_in_a_small_unit_costs_nothing_more() -> None:
    assert _traced(again_in_nano, 0.0, 1.0).verdict == "shown"


# Data that stand among noisy numbers.


def answers_or_coins(bits: Any, rng: Rng) -> Any:
    return np.where(rng.random(bits.size) < 0.5, bits, rng.integers(0, 2, size=bits.size))


def answers_or_laplace(bits: Any, rng: Rng) -> Any:
    return np.where(rng.random(bits.size) < 0.5, bits, rng.laplace(size=bits.size))


def first_answer_and_coins(bits: Any, rng: Rng) -> Any:
    return np.where(np.arange(bits.size) == 0, bits, rng.integers(0, 2, size=bits.size))


@pytest.mark.parametrize("size", [1, 3, 20])
def test_answers_that_coins_replace_are_no_leak(size: int) -> None:
    # An answer comes out with probability 3/4 and its contrary with 1/4.
    left, right = np.eye(1, size, dtype=int)[0], np.zeros(size, dtype=int)
    claim = PureDP(epsilon=math.log(3.0) * (1 + 1e-9))
    assert _traced(answers_or_coins, left, right, claim).verdict in {"not understood", "shown"}
    for mechanism in (answers_or_laplace, first_answer_and_coins):
        assert _traced(mechanism, left, right, claim).verdict == "leaking"


# Plain numbers of which each is seldom far out, and one of them is more often.


def largest_of(many: int, threshold: float) -> Mechanism:
    def mechanism(x: float, rng: Rng) -> float:
        return x if max(float(z) for z in rng.laplace(size=many)) > threshold else 0.0

    return mechanism


def just_one_of_thirty(x: float, rng: Rng) -> float:
    return x if sum(float(z) > 9.6 for z in rng.laplace(size=30)) == 1 else 0.0


def _exceeded(many: int, threshold: float) -> float:
    return -math.expm1(many * math.log1p(-0.5 * math.exp(-threshold)))


@pytest.mark.parametrize(("many", "threshold"), [(3, 8.6), (30, 9.6), (100, 11.5)])
def test_many_plain_numbers_share_delta(many: int, threshold: float) -> None:
    claim = ApproxDP(epsilon=1.0, delta=1e-4)
    assert 0.5 * math.exp(-threshold) < claim.delta < _exceeded(many, threshold)
    found = _traced(largest_of(many, threshold), 0.0, 1.0, claim)
    assert found.verdict == "not understood"
    assert f"saw {many} noisy numbers" in found.puzzles[0].what


def test_one_of_many_plain_numbers_is_moved_alone() -> None:
    claim = ApproxDP(epsilon=1.0, delta=1e-4)
    assert _traced(just_one_of_thirty, 0.0, 1.0, claim).verdict != "shown"


def test_many_plain_numbers_that_delta_pays_for_are_shown() -> None:
    claim = ApproxDP(epsilon=1.0, delta=1e-4)
    assert _exceeded(30, 14.0) < claim.delta
    assert _traced(largest_of(30, 14.0), 0.0, 1.0, claim).verdict == "shown"


# Code that asks what the generator is.


@pytest.mark.parametrize(
    "is_real",
    [
        lambda rng: type(rng) is np.random.Generator,
        lambda rng: type(rng) is Rng,
        lambda rng: type(rng.spawn(1)[0]) is type(np.random.default_rng()),
        lambda rng: type(rng).__name__ == "Generator",
        lambda rng: str(rng) == "Generator(PCG64)",
    ],
    ids=["its type", "its type by name", "of a child", "the name", "the text"],
)
def test_a_traced_generator_is_one_to_code_that_asks(is_real: Callable[[Rng], bool]) -> None:
    def mechanism(x: float, rng: Rng) -> float:
        return x + rng.laplace(scale=0.1 if is_real(rng) else 1.0)

    assert is_real(np.random.default_rng())
    assert _traced(mechanism, 0.0, 1.0).verdict == "refuted"
    assert type(np.random.default_rng()) is np.random.Generator


def test_a_generator_that_is_asked_for_its_type_and_used_is_followed() -> None:
    def mechanism(x: float, rng: Rng) -> float:
        own = rng if type(rng) is np.random.Generator else np.random.default_rng(0)
        return x + own.laplace()

    assert _traced(mechanism, 0.0, 1.0).verdict == "shown"
