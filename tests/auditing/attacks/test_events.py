"""Events: what they say, what they hold for, and that JSON keeps them."""

import json
import math

import numpy as np
import pytest

from dpverify.auditing.attacks.classifiers import boosted, logistic
from dpverify.auditing.attacks.draws import Bound, Draws, Explore
from dpverify.auditing.attacks.events import Between, Event, Linear, OneOf, event_from_dict
from dpverify.auditing.attacks.proposals import Families, propose
from dpverify.auditing.procedure.choice import simplified
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.errors import InvalidParameter

GOAL = Bound(delta=0.0, z=1.6, planned=2_000)


def draws(size: int = 2_000) -> Explore:
    rng = np.random.default_rng(1)
    left, right = rng.laplace(0, 1, (2, size, 3))
    right[:, 0] += 1.0
    return Explore(Draws(from_array(left), from_array(right)))


@pytest.mark.parametrize(
    ("event", "words", "holds"),
    [
        (Between(feature="output", high=2.0), "output ≤ 2.0", [True, True, False, False]),
        (Between(feature="output", low=2.0), "output ≥ 2.0", [False, True, True, False]),
        (Between(feature="output", low=2.0, high=2.0), "output = 2.0", [False, True, False, False]),
        (
            Between(feature="output", low=1.5, high=9.0),
            "1.5 ≤ output ≤ 9.0",
            [False, True, True, False],
        ),
        (OneOf(feature="output", texts=("None",)), "output = None", [False, False, False, True]),
        (OneOf(feature="output", texts=("1", "3")), "output in {1, 3}", [True, False, True, False]),
        (OneOf(feature="output[0]", texts=("",)), "there is no output[0]", [True] * 4),
        (OneOf(feature="output", texts=("raises E",)), "output raises E", [False] * 4),
        (
            Linear(features=("output",), weights=(2.0,), bound=4.0),
            "+2·output ≥ 4",
            [False, True, True, False],
        ),
    ],
)
def test_words_and_meaning(event: Event, words: str, holds: list[bool]) -> None:
    block = from_objects([1.0, 2.0, 3.0, None])
    assert str(event) == words
    assert event.happens(block).tolist() == holds
    again = event_from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False)))
    assert again == event


def test_learned_scores_survive_json_and_tell_the_sides_apart() -> None:
    seen = draws()
    names = ["output[0]", "output[1]", "output[2]"]
    for learn in (logistic, boosted):
        event = learn(seen.left, seen.right, names)
        assert event is not None
        again = event_from_dict(json.loads(json.dumps(event.to_dict(), allow_nan=False)))
        assert again == event
        assert (again.happens(seen.left) == event.happens(seen.left)).all()
        assert event.happens(seen.left).mean() > event.happens(seen.right).mean() + 0.2
        negated = event.negated()
        assert negated.score(seen.left) == pytest.approx(-event.score(seen.left), abs=1e-9)


def test_trees_agree_with_scikit_learn() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    seen = draws(400)
    names = ["output[0]", "output[1]"]
    event = boosted(seen.left, seen.right, names)
    assert event is not None
    rows = np.concatenate(
        [np.column_stack([s.column(n) for n in names]) for s in (seen.left, seen.right)]
    )
    model = HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=12,
        min_samples_leaf=30,
        learning_rate=0.12,
        early_stopping=False,
        random_state=0,
    )
    with threadpool_limits(1):
        model.fit(rows, np.repeat([1, 0], 400))
    own = np.concatenate([event.score(seen.left), event.score(seen.right)])
    assert own == pytest.approx(model.decision_function(rows), abs=1e-9)  # balanced: no intercept


def test_too_few_draws_teach_nothing() -> None:
    block = from_array(np.zeros((50, 2)))
    assert boosted(block, block, ["output[0]", "output[1]"]) is None
    assert logistic(block, block, ["output[0]", "output[1]"]) is None


def test_trees_leave_out_what_is_never_a_number() -> None:
    seen = draws(400)
    event = boosted(seen.left, seen.right, ["output['none']", "output[0]"])
    assert event is not None
    assert event.features == ("output[0]",)
    assert event == boosted(seen.left, seen.right, ["output[0]"])
    assert boosted(seen.left, seen.right, ["output['none']"]) is None


def test_attacks_find_the_shifted_coordinate_for_each_side() -> None:
    found = propose(draws(), GOAL, Families(classifiers=False))
    for side, sign in ((Side.LEFT, 1), (Side.RIGHT, -1)):
        event = found[side].event
        assert isinstance(event, Between)
        assert event.feature in {"output[0]", "sum(output)", "min(output)", "max(output)"}
        assert (event.high < math.inf) == (sign > 0) or event.feature != "output[0]"


def test_attacks_find_an_atom_in_continuous_noise() -> None:
    rng = np.random.default_rng(2)
    sides = [
        from_array(np.where(rng.random(4_000) < 0.03, float(atom), rng.normal(size=4_000)))
        for atom in (0, 1)
    ]
    found = propose(Explore(Draws(*sides)), GOAL, Families())
    assert found[Side.LEFT].event == OneOf(feature="output", texts=("0",))
    assert found[Side.RIGHT].event == OneOf(feature="output", texts=("1",))


def test_simplified_events_have_few_digits() -> None:
    seen = draws()
    proposal = propose(seen, GOAL, Families(classifiers=False))[Side.LEFT]
    simple = simplified(proposal, seen, GOAL)
    assert isinstance(simple.event, Between)
    assert len(str(simple.event)) < len(str(proposal.event))


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"kind=.hunch. must be one of: between"):
        event_from_dict({"kind": "hunch"})
