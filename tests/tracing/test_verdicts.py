"""What is caught, what is not called a violation, and witnesses that are checked again."""

# ruff: noqa: ANN401  # data of any kind

import functools
import json
import math
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from dpverify.schema import Answers, Number, Records
from dpverify.tracing import Traced, TraceWitness, trace, trace_over
from dpverify.tracing.tracer import confirmed
from tests.flawed import FLAWED, FROM_NOTES, Flawed
from tests.testing.demo_mechanisms import BROKEN as DEMOS
from tests.testing.demo_mechanisms import Demo
from tests.tracing.flawed_releases import FLAWED_RELEASES, FlawedRelease
from tests.tracing.honest_releases import HONEST_RELEASES, HonestRelease

ONE = PureDP(epsilon=1.0)
_MOST = 100  # executions
FAMOUS = {flawed.name: flawed for flawed in (*FLAWED, *FROM_NOTES.values())}

# Noise that is made by inversion, or whose length is a gamma variable: the law of what is added to
# the data is not known to a trace. It says so, with the line, and an audit of that pair refutes.
NOT_FOLLOWED = {
    "Theorem 2.5, Δ = G·R",
    "norm mechanism with the printed sign",
    "Theorem 14.6, λ = p·ln p/‖θ*‖",
    "Lemma 14.4 with one of two branches",  # a uniform draw whose ends depend on the data
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("release", FLAWED_RELEASES, ids=lambda r: r.name)
def test_flawed_releases_are_caught_at_their_line(release: FlawedRelease) -> None:
    found = trace(
        release.mechanism,
        left=release.left,
        right=release.right,
        claim=release.claim,
        executions=_MOST,
        confirm=False,
    )
    assert found.verdict in {"refuted", "leaking", "overspent"}
    assert found.executions <= _MOST
    assert _is_at_fault(release, _first(found)), str(found)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("release", HONEST_RELEASES, ids=lambda r: r.name)
def test_honest_releases_raise_no_alarm(release: HonestRelease) -> None:
    found = trace(
        release.mechanism,
        left=release.left,
        right=release.right,
        claim=release.claim,
        confirm=False,
    )
    allowed = {"shown", "not understood"} if release.released else {
        "shown", "not understood", "overspent"
    }  # fmt: skip
    assert found.verdict in allowed, str(found)
    if found.verdict == "shown" and release.released and release.epsilon is not None:
        bracket = found.epsilon(release.delta)
        assert bracket.lower <= release.epsilon * (1 + 1e-9) + 1e-9
        assert bracket.upper >= release.epsilon * (1 - 1e-9) - 1e-9
        assert bracket.upper <= release.epsilon * (1 + 1e-9) + 2e-3 * (release.delta > 0) + 1e-9


@functools.cache
def _famous(name: str) -> Traced:
    """The trace of a famous flaw, which two tests look at."""
    flawed = FAMOUS[name]
    return trace(flawed, left=flawed.left, right=flawed.right, claim=flawed.claim, confirm=False)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flawed", FAMOUS.values(), ids=lambda f: f.name)
def test_famous_flaws(flawed: Flawed) -> None:
    found = _famous(flawed.name)
    assert found.executions <= _MOST
    if flawed.bits:
        assert found.verdict == "shown"  # right in real arithmetic, which is what a trace judges
    elif flawed.name in NOT_FOLLOWED:
        assert found.verdict == "not understood"
        assert _is_at_fault(flawed, found.puzzles[0]), str(found)
    else:
        assert found.verdict in {"refuted", "leaking", "overspent"}
        assert _is_at_fault(flawed, _first(found)), str(found)


def _first(found: Traced) -> Any:
    """What the verdict names first: a leak, or the release that loses most."""
    ranked = sorted(found.releases, key=lambda r: -r.loss if r.loss >= 0 else 1.0)
    return [*found.leaks, *ranked][0]


def _is_at_fault(flawed: Flawed | FlawedRelease, named: Any) -> bool:
    """Whether a line is the one that is wrong, or one where that surfaces."""
    return any(piece in named.source for piece in (flawed.line, *flawed.also))


@pytest.mark.parametrize("name", sorted(NOT_FOLLOWED))
def test_what_is_not_followed_is_refuted_by_the_audit(name: str) -> None:
    flawed = FAMOUS[name]
    assert _famous(name).verdict == "not understood"
    found = confirmed(_famous(name), flawed, level=0.01, samples=flawed.samples, seed=0)
    assert found.refuted


@pytest.mark.sampled(4)
@pytest.mark.parametrize("demo", DEMOS, ids=lambda d: d.name)
def test_broken_mechanisms_of_teams(demo: Demo) -> None:
    """The pair is searched by traced loss; on that pair few executions tell."""
    found = trace(demo.mechanism, schema=demo.on, claim=demo.claim, confirm=False)
    again = trace(
        demo.mechanism, left=found.left, right=found.right, claim=demo.claim, confirm=False
    )
    assert again.verdict in {"refuted", "leaking", "overspent"}
    assert again.executions <= _MOST
    assert "# flaw" in _first(again).source, str(again)
    assert _first(again).where.startswith("demo_mechanisms.py:")


def test_what_is_open_is_handed_to_an_audit() -> None:
    def values(x: Any, rng: Any) -> Any:
        return x if rng.random() < 0.9 else rng.laplace(scale=1.0)

    found = trace(values, left=0.0, right=1.0, claim=ONE, samples=2000)
    assert found.verdict == "leaking"
    assert found.audit is not None
    assert found.refuted


# Witnesses.


def _half(data: Any, rng: Any) -> Any:
    return sum(data) + rng.laplace(scale=0.5)


def test_a_witness_survives_its_file(tmp_path: Path) -> None:
    found = trace(_half, left=[0, 0], right=[0, 1], claim=ONE, confirm=False)
    assert found.witness is not None
    found.witness.save(tmp_path / "w.json")
    again = TraceWitness.load(tmp_path / "w.json")
    assert again == found.witness
    assert again.arithmetic()
    assert again.check(_half)
    assert not again.check(lambda data, rng: sum(data) + rng.laplace(scale=2.0))


def test_a_witness_that_was_changed_does_not_pass(tmp_path: Path) -> None:
    found = trace(_half, left=[0, 0], right=[0, 1], claim=ONE, confirm=False)
    assert found.witness is not None
    held = found.witness.to_dict()
    held["lines"][0]["scale"] = held["lines"][0]["scale_other"] = 2.0
    (tmp_path / "w.json").write_text(json.dumps(held), encoding="utf-8")
    assert not TraceWitness.load(tmp_path / "w.json").arithmetic()
    held["version"] = 99
    (tmp_path / "w.json").write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(InvalidParameter, match="must be a trace witness"):
        TraceWitness.load(tmp_path / "w.json")


# No refutation where the output hides what was spent.

HIDDEN = {
    "absolute value": lambda x, rng: abs(float(x + rng.laplace(scale=0.5))),
    "sign": lambda x, rng: float(x + rng.laplace(scale=0.5)) > 0,
    "modulo": lambda x, rng: float(x + rng.laplace(scale=0.5)) % 2,
    "one in two": lambda x, rng: float(x + rng.laplace(scale=0.5)) if rng.random() < 0.5 else 0.0,
    "plus more noise": lambda x, rng: float(x + rng.laplace(scale=0.5)) + float(rng.laplace()),
    "folded": lambda x, rng: _folded(float(x + rng.laplace(scale=0.5))),
    "sorted": lambda x, rng: sorted([x + rng.laplace(scale=0.5), rng.laplace(scale=0.5)]),
    "larger of two": lambda x, rng: max(x + rng.laplace(scale=0.5), x + rng.laplace(scale=0.5)),
    "mean of two": lambda x, rng: (2 * x + rng.laplace() + rng.laplace()) / 2,
    "swapped by a coin": lambda x, rng: _swapped(x + rng.laplace(scale=0.5), rng),
    "rounded": lambda x, rng: round(x + rng.laplace(scale=0.5)),
    "rounded to tens": lambda x, rng: float(np.round(x + rng.laplace(scale=0.5), -1)),
    "not told": lambda x, rng: [x + rng.laplace(scale=0.5), 1.0][1],
}


def _swapped(r: float, rng: Any) -> list[float]:
    pair = [float(r), float(rng.laplace(scale=0.5))]
    return pair if rng.random() < 0.5 else pair[::-1]


def _folded(r: float) -> float:
    return r if r < 1.0 else 2.0 - r


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", HIDDEN)
def test_what_the_output_hides_is_not_refuted(name: str) -> None:
    for seed in range(4):
        found = trace(HIDDEN[name], left=0.0, right=1.0, claim=ONE, confirm=False, seed=seed)
        assert found.verdict != "refuted", str(found)


TOLD = {
    "as it is": lambda x, rng: x + rng.laplace(scale=0.5),
    "as a float": lambda x, rng: float(x + rng.laplace(scale=0.5)),
    "in another unit": lambda x, rng: {"percent": 100 * float(x + rng.laplace(scale=0.5)) + 3},
    "clamped": lambda x, rng: max(-2.0, min(3.0, float(x + rng.laplace(scale=0.5)))),
    "next to others": lambda x, rng: [1, "a", float(x + rng.laplace(scale=0.5)), rng.laplace()],
    "in an array": lambda x, rng: np.round(np.zeros(3), 1) + (x + rng.laplace(scale=0.5, size=3)),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_the_output_tells_is_refuted(name: str) -> None:
    found = trace(TOLD[name], left=0.0, right=1.0, claim=ONE, confirm=False)
    assert found.verdict == "refuted", str(found)
    assert found.witness is not None
    assert found.witness.check(TOLD[name])


# Coins.


def test_randomized_response_is_listed_exactly() -> None:
    def response(bit: int, rng: Any) -> int:
        return bit if rng.random() < 0.75 else 1 - bit

    shown = trace(
        response, left=0, right=1, claim=PureDP(epsilon=1.0986122886681100), confirm=False
    )
    assert shown.verdict == "shown"
    assert shown.epsilon(0.0).upper == pytest.approx(1.09861228866811, rel=1e-15)
    assert shown.delta(0.0).upper == pytest.approx(0.5, rel=1e-15)
    assert trace(response, left=0, right=1, claim=PureDP(epsilon=1.098), confirm=False).refuted


def test_many_responses_turn_one_coin() -> None:
    bits = [0, 1] * 20
    other = [1, *bits[1:]]

    def responses(data: Any, rng: Any) -> Any:
        return [b if rng.random() < 0.75 else 1 - b for b in data]

    found = trace(responses, left=bits, right=other, claim=PureDP(epsilon=1.1), confirm=False)
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(1.09861228866811, rel=1e-9)


def test_shifted_outcomes_of_binomial_noise() -> None:
    """δ at ε = 1 is Σ (b(k) − e·b(k−1))⁺ over 0 … 11 for ten fair coins, by hand."""
    from math import comb, e  # noqa: PLC0415

    def noisy(n: int, rng: Any) -> int:
        return n + int(rng.binomial(10, 0.5))

    b = [comb(10, k) / 1024 for k in range(11)]
    exact = sum(max(0.0, (b[k] if k < 11 else 0) - e * (b[k - 1] if k else 0)) for k in range(12))
    claim = ApproxDP(epsilon=1.0, delta=0.2)
    found = trace(noisy, left=0, right=1, claim=claim, confirm=False, executions=300)
    assert found.verdict == "shown"
    assert found.delta(1.0).upper == pytest.approx(exact, rel=1e-9)


# Search.


def test_the_worst_pair_of_a_schema() -> None:
    ages = Records(record=Number(low=0, high=9), length=(1, 4), relation=Relation.ADD_REMOVE)
    found = trace_over(
        lambda d, rng: np.clip(d, 0, 9).sum() + rng.laplace(scale=8.0),
        ages,
        claim=ONE,
        confirm=False,
    )
    assert found.verdict == "refuted"
    assert found.epsilon(0.0).upper == pytest.approx(9 / 8)
    assert sorted(map(len, (found.left, found.right))) == [1, 2]


def test_a_schema_that_keeps_its_claim() -> None:
    answers = Answers(dimension=3, sensitivity=1.0)
    found = trace(
        lambda a, rng: a + rng.laplace(scale=3.0, size=3), schema=answers, claim=ONE, confirm=False
    )
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(1.0)


def test_a_strategy_of_pairs() -> None:
    numbers = st.integers(0, 9)
    pairs = st.tuples(st.lists(numbers, min_size=2, max_size=2), numbers).map(
        lambda p: (p[0], [*p[0][:-1], p[1]])
    )
    found = trace(
        lambda d, rng: sum(d) + rng.laplace(scale=5.0), schema=pairs, claim=ONE, confirm=False
    )
    assert found.verdict == "refuted"
    assert abs(sum(found.left) - sum(found.right)) == 6  # the least that breaks it


def test_two_calls_a_pair() -> None:
    calls = []

    def counted(scale: float) -> Any:
        def release(x: Any, rng: Any) -> Any:
            calls.append(x)
            return x + rng.laplace(scale=scale)

        return release

    shown = trace(counted(1.0), left=0.0, right=1.0, claim=ONE, executions=2, confirm=False)
    assert (shown.verdict, shown.executions, len(calls)) == ("shown", 2, 2)
    over = trace(counted(0.5), left=0.0, right=1.0, claim=ONE, executions=2, confirm=False)
    assert (over.verdict, over.executions, len(calls)) == ("overspent", 2, 4)
    full = trace(counted(0.5), left=0.0, right=1.0, claim=ONE, confirm=False)
    assert full.verdict == "refuted"
    assert full.executions <= 100


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="left and right must be given together"):
        trace(_half, left=[0], claim=ONE)
    with pytest.raises(InvalidParameter, match="executions=1 must be at least 2"):
        trace(_half, left=[0], right=[1], claim=ONE, executions=1)
    with pytest.raises(InvalidParameter, match="must be callable"):
        trace(3, left=[0], right=[1], claim=ONE)
    with pytest.raises(InvalidParameter, match="claim=None"):
        trace(_half, left=[0], right=[1])


# What outputs tell besides their numbers.


def _named(keys: Any, rng: Any) -> Any:
    kind = namedtuple("kind", keys)  # type: ignore[misc]  # noqa: PYI024  # names from data
    return kind(*[1.0 + rng.laplace() for _ in keys])


def _fielded(keys: Any, _: Any) -> Any:
    return np.zeros(1, dtype=[(key, float) for key in keys])


def _typed(keys: Any, rng: Any) -> Any:
    return type("Made", (), {"keys": keys}), bool(rng.random() < 0.5)


@pytest.mark.parametrize(
    ("mechanism", "verdict"),
    [(_named, "leaking"), (_fielded, "leaking"), (_typed, "not understood")],
)
def test_names_in_outputs_are_looked_at(mechanism: Any, verdict: str) -> None:
    found = trace(mechanism, left=["a", "b"], right=["a", "c"], claim=ONE, confirm=False)
    assert found.verdict == verdict, str(found)


def test_numbers_that_differ_in_type_are_told_by_type() -> None:
    found = trace(lambda x, _: x, left=1, right=1.0, claim=ONE, confirm=False)
    assert found.leaks[0].what == "the output is 1 (int) on one side, 1.0 (float) on the other"


@pytest.mark.parametrize("at", [0, 7, 19])
def test_randomized_response_of_many_by_choice(at: int) -> None:
    def answers(bits: Any, rng: Any) -> Any:
        return [b if rng.choice([True, False], p=[0.7, 0.3]) else 1 - b for b in bits]

    left = [0] * 20
    right = [int(k == at) for k in range(20)]
    found = trace(answers, left=left, right=right, claim=ONE, confirm=False)
    assert found.verdict == "shown", str(found)
    assert found.epsilon(0.0).upper == pytest.approx(math.log(7 / 3), rel=1e-12)


def test_two_outcomes_that_are_only_shifted_are_no_randomized_response() -> None:
    def shifted(bits: Any, rng: Any) -> Any:
        return [b + int(rng.choice(2, p=[0.7, 0.3])) for b in bits]

    found = trace(shifted, left=[0] * 20, right=[1] + [0] * 19, claim=ONE, confirm=False)
    assert found.verdict != "shown", str(found)
