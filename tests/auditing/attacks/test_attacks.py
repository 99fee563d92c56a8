"""Attacks: all have one interface, and one of a user's own joins them."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpverify as dpv
from dpverify.auditing import audit
from dpverify.auditing.attacks import proposals
from dpverify.auditing.attacks.cuts import intervals
from dpverify.auditing.attacks.draws import Bound, Draws, Explore, Goal, Proposal, merit_of
from dpverify.auditing.attacks.events import Between, Linear, OneOf
from dpverify.auditing.attacks.proposals import ATTACKS, Attack, Families, Family
from dpverify.auditing.attacks.sets import values
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.features import digits
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP


def hashed(data: list[float], rng: np.random.Generator) -> list[float]:
    """Leaks through 37·first − second modulo 100, which no built-in attack looks at."""
    noise = float(rng.uniform(0.0, 100.0))
    return [noise, (37.0 * noise - 20.0 * data[0] - 10.0 + float(rng.normal())) % 100.0]


class Hashed(Attack):
    name = "37 times the first number less the second, modulo 100"

    def families(self, seen: Draws) -> Iterable[Family]:
        return [self.cut] if "output[1]" in seen.left.columns else []

    def cut(self, seen: Draws, goal: Goal) -> Iterator[Proposal]:
        for side, low in ((Side.RIGHT, 20.0), (Side.LEFT, 0.0)):
            event = Linear(
                features=("output[0]", "output[1]"),
                weights=(37.0, -1.0),
                bound=low,
                high=low + 20.0,
                modulus=100.0,
            )
            merit = merit_of(event, side, seen, goal)
            yield Proposal(event=event, favors=side, merit=merit)


def test_an_attack_of_ones_own_finds_what_others_do_not() -> None:
    def found() -> tuple[bool, tuple[str, ...]]:
        verdict = audit(
            hashed, left=[0.0], right=[1.0], claim=PureDP(epsilon=0.5), samples=300, seed=1
        )
        return verdict.refuted, verdict.tried

    assert found()[0] is False
    own = Hashed()
    dpv.register(own)
    try:
        refuted, tried = found()
    finally:
        ATTACKS.remove(own.name)
    assert refuted
    assert own.name in tried


def test_every_attack_has_a_name_and_one_interface() -> None:
    assert len({type(attack) for attack in ATTACKS}) > 5
    for attack in ATTACKS:
        assert attack.name
        wanted = [Families(bits=True), Families(only_bits=True), Families(classifiers=False)]
        assert any(attack.is_tried(each) for each in wanted)


def test_many_values_are_pooled_by_their_ratio() -> None:
    """Of 400 values 40 have e² times the odds: a set of many of them, and of hardly any others."""
    rng = np.random.default_rng(3)
    special = rng.permutation(400)[:40]
    odds = np.ones(400)
    odds[special] = math.exp(2.0)
    drawn = [rng.choice(400, 4_000, p=p / p.sum()) for p in (odds, np.ones(400))]
    draws = Draws(*(from_array(side.astype(np.float64)) for side in drawn))
    goal = Bound(delta=0.0, z=1.6, planned=6_000)
    best = max(values("output", draws, goal), key=lambda proposal: proposal.merit)
    assert best.favors is Side.LEFT
    assert isinstance(best.event, OneOf)
    found = {int(text) for text in best.event.texts}
    assert len(found & set(special.tolist())) >= 10
    assert len(found - set(special.tolist())) <= 2
    assert best.merit < math.log(math.exp(2.0) * 400 / (360 + 40 * math.exp(2.0)))


def test_digits_of_a_code_by_hand() -> None:
    block = from_array(np.array([5.0, 0.0, 0.5, -1.0, 2.0**21]))
    assert block.column("binary0(output)")[:2].tolist() == [1.0, 0.0]
    assert block.column("binary2(output)")[:2].tolist() == [1.0, 0.0]
    assert block.column("ternary1(output)")[0] == 1.0
    assert block.column("binary0(output)")[3:].tolist() == [1.0, 0.0]
    assert np.isnan(block.column("ternary0(output)")[2])
    assert digits(8.0) == [f"binary{i}(output)" for i in range(4)] + [
        f"ternary{i}(output)" for i in range(2)
    ]


class Answers:
    """Eleven answers above a threshold that none stops at, as one number; ε of each is 0.5."""

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        above = rng.random((size, 11)) < 1.0 / (1.0 + math.exp(-0.5 if data else 0.0))
        return above @ (1 << np.arange(11))


def test_answers_that_are_coded_as_one_number_are_seen() -> None:
    """The number of answers above tells e^2.5 at 10 of 11; single codes come five times each."""
    verdict = audit(
        Answers(), left=0, right=1, claim=PureDP(epsilon=9.0), samples=10_000, method="fixed"
    )
    assert 1.2 < verdict.epsilon_lower < 5.5


def test_half_an_attack_is_refused() -> None:
    class Nameless(Attack):
        def families(self, seen: Draws) -> Iterable[Family]:
            del seen
            return []

    class Empty(Attack):
        name = "nothing"

    with pytest.raises(InvalidParameter, match="Nameless must define name"):
        Nameless()
    with pytest.raises(InvalidParameter, match="Empty must define families"):
        Empty()  # type: ignore[abstract]  # that is what is tested


def test_long_outputs_are_searched_on_fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only differences of means, which are cheap, see all draws that are held."""
    looked: dict[bool, int] = {}

    class Spy(Attack):
        name = "a spy"

        def __init__(self, *, everything: bool) -> None:
            self.looks_at_all = everything

        def families(self, seen: Draws) -> list[Any]:
            looked[self.looks_at_all] = seen.left.size
            return []

    spies = [Spy(everything=False), Spy(everything=True)]
    monkeypatch.setattr(proposals, "ATTACKS", spies)
    monkeypatch.setattr(proposals, "_derive", lambda seen: None)  # noqa: ARG005  # not needed here
    for width, expected in ((1_000, 4_194), (30, 4_500)):
        side = from_array(np.zeros((4_500, width), np.float32))
        goal = Bound(delta=0.0, z=1.0, planned=100)
        proposals.propose(Explore(Draws(side, side)), goal, Families())
        assert looked == {False: expected, True: 4_500}


def test_intervals_are_found_beside_a_frequent_value() -> None:
    """A value of nine draws in ten leaves few quantiles to what tells: x in [2, 3] on the left."""
    rng = np.random.default_rng(3)
    sides = [
        np.where(rng.random(4_000) < 0.9, 1000.0, rng.uniform(high, 9.0, 4_000))
        for high in (2.0, 3.0)
    ]
    draws = Draws(*map(from_array, sides))
    goal = Bound(delta=0.0, z=2.0, planned=4_000)
    best = max(intervals(WHOLE, draws, goal), key=lambda proposal: proposal.merit)
    assert best.favors is Side.LEFT
    assert isinstance(best.event, Between)
    assert best.event.low <= 2.1
    assert 2.7 <= best.event.high <= 3.1


def test_two_numbers_of_many_that_tell_only_together_are_found() -> None:
    def release(data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        bits = rng.integers(2, size=300)
        bits[280] = bits[3] ^ data
        return bits

    verdict = audit(release, left=0, right=1, claim=PureDP(epsilon=1.0), samples=1_000, seed=1)
    assert isinstance(verdict, dpv.Refuted)
    event = verdict.witness.event
    assert isinstance(event, Linear)
    assert set(event.features) == {"binary0(output[3])", "binary0(output[280])"}
    assert any("not examined: relations among" in note for note in verdict.notes)


def test_relations_that_were_not_looked_for_are_noted() -> None:
    def release(_data: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return rng.normal(size=300)

    verdict = audit(release, left=0, right=1, claim=PureDP(epsilon=1.0), samples=100, seed=1)
    assert (
        "not examined: relations among two or more of 300 numbers, but for sums and extremes"
        in (verdict.notes)
    )
