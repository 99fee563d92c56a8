"""Accountants as JSON: nothing is lost, and nothing damaged or foreign is read."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

import dpverify as dpv

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
THIRD: Any = Fraction(1, 3)
SUBJECTS: list[Any] = [
    dpv.Gaussian(sigma=THIRD),
    dpv.Gaussian(sigma=10**17 + 1),
    dpv.Laplace(scale=0.1),
    dpv.Subsampled(dpv.Laplace(scale=1.0), rate=3 * THIRD / 7),
    dpv.FinitePair(left=[THIRD, 2 * THIRD], right=[Fraction(1, 2)] * 2),
    dpv.FinitePair(left=[0.1, 0.9], right=[0.5, 0.5], outcomes=("a", (1, 2))),
    dpv.ZeroConcentratedDP(0.1),
    dpv.RenyiDP(2, 0.1),
    dpv.PureDP(math.inf),
    dpv.RandomizedResponse(1.0),
    dpv.RandomizedResponse(1.0, categories=5),
    dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0),
    dpv.ApproxDP(5e-324, 1e-300),
]


def whole() -> dpv.Accountant:
    accountant = dpv.Accountant(relation=ADD)
    for subject in SUBJECTS:
        accountant = accountant.compose(subject, times=10**12)
    return accountant


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: type(s).__name__)
def test_one_part_comes_back(subject: Any, relation: dpv.Relation) -> None:  # noqa: ANN401
    accountant = dpv.Accountant(relation=relation).compose(subject, times=3)
    again = dpv.Accountant.from_json(accountant.to_json())
    assert again == accountant
    assert [type(part.seen) for part in again.parts] == [type(p.seen) for p in accountant.parts]
    assert again.to_json() == accountant.to_json()


def test_all_of_them_come_back() -> None:
    assert dpv.Accountant.from_json(whole().to_json()) == whole()
    nothing = dpv.Accountant(relation=REPLACE)
    assert dpv.Accountant.from_json(nothing.to_json()) == nothing


def test_the_file_says_what_it_is() -> None:
    told = json.loads(whole().to_json())
    assert told["format"] == "dpverify accountant"
    assert told["version"] == 1
    assert told["relation"] == "add-remove"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (3, "must be the JSON of an accountant"),
        ("{", "must be the JSON of an accountant"),
        ("[]", "must be of format 'dpverify accountant'"),
        ('{"format": "opacus"}', "must be of format 'dpverify accountant'"),
        (whole().to_json().replace('"version": 1', '"version": 2'), "version=2 must be 1"),
        (whole().to_json().replace("1000000000000", "1"), "must be whole: its digest"),
        (whole().to_json().replace("ZeroConcentratedDP", "PureDP"), "must be whole: its digest"),
        (whole().to_json()[:-9], "must be the JSON of an accountant"),
    ],
)
def test_damaged_and_foreign_texts_are_refused(text: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(dpv.InvalidParameter, match=message):
        dpv.Accountant.from_json(text)


@dataclass(frozen=True)
class OwnPair(dpv.Pair):
    """A user's own."""

    @property
    def reversed(self) -> "OwnPair":
        return self

    def profile_ball(self, epsilon: arb) -> arb:
        return (arb(1) / 2 - epsilon / 2).max(arb(0)) * 0

    @property
    def singular_mass(self) -> float:
        return 0.0


def test_a_pair_of_ones_own_is_refused() -> None:
    accountant = dpv.Accountant(relation=ADD).compose(OwnPair())
    with pytest.raises(dpv.NotSupported, match="must be a pair or a guarantee of dpverify"):
        accountant.to_json()


def test_bounds_by_theorems_are_kept() -> None:
    """Groups, and the best of several runs: pairs that rest on a theorem answer as before."""
    start = dpv.Accountant(relation=ADD)
    for spent in (
        start.compose(dpv.Subsampled(dpv.Gaussian(1.0), rate=0.1)).group(2),
        start.compose(dpv.BestOf(dpv.Gaussian(2.0), runs="geometric", mean=4.0)),
    ):
        assert dpv.Accountant.from_json(spent.to_json()).delta(0.5) == spent.delta(0.5)
