"""Attacks: all have one interface, and one of a user's own joins them."""

from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from dpverify.auditing import audit
from dpverify.auditing.attacks.draws import Draws, Goal, Proposal, merit_of
from dpverify.auditing.attacks.events import Linear
from dpverify.auditing.attacks.proposals import ATTACKS, Attack, Families, Family
from dpverify.auditing.sampling.drawing import Side
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP


def twice(data: list[float], rng: np.random.Generator) -> list[float]:
    """Leaks through 2·first − second alone, which no built-in attack looks at on few draws."""
    noise = float(rng.normal(scale=1e3))
    return [noise, 2.0 * noise - data[0] + float(rng.normal(scale=0.1))]


class Twice(Attack):
    name = "twice the first number less the second"

    def families(self, seen: Draws) -> Iterable[Family]:
        return [self.cut] if "output[1]" in seen.left.columns else []

    def cut(self, seen: Draws, goal: Goal) -> Iterator[Proposal]:
        for side, sign in ((Side.RIGHT, 1.0), (Side.LEFT, -1.0)):
            event = Linear(
                features=("output[0]", "output[1]"),
                weights=(2.0 * sign, -sign),
                bound=0.5 * sign,
            )
            merit = merit_of(event, side, seen, goal)
            yield Proposal(event=event, favors=side, merit=merit)


def test_an_attack_of_ones_own_finds_what_others_do_not() -> None:
    def found() -> tuple[bool, tuple[str, ...]]:
        verdict = audit(
            twice, left=[0.0], right=[1.0], claim=PureDP(epsilon=0.5), samples=300, seed=1
        )
        return verdict.refuted, verdict.tried

    assert found()[0] is False
    own = Twice()
    ATTACKS.append(own)
    try:
        refuted, tried = found()
    finally:
        ATTACKS.remove(own)
    assert refuted
    assert own.name in tried


def test_every_attack_has_a_name_and_one_interface() -> None:
    assert len({type(attack) for attack in ATTACKS}) > 5
    for attack in ATTACKS:
        assert attack.name
        wanted = [Families(bits=True), Families(only_bits=True), Families(classifiers=False)]
        assert any(attack.is_tried(each) for each in wanted)


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
