"""Sentences about privacy are true, and rounded towards safety."""

import re

import pytest

import dpverify as dpv

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def test_a_limit_on_belief_is_told() -> None:
    first, second, assumed = dpv.meaning(dpv.PureDP(1.0), relation=ADD).splitlines()
    assert first == (
        "Someone who is 50 % sure that you are in the data can become at most 73.2 % sure."
    )
    assert second == (
        "A test for being in the data that is wrong about 5 % of those outside finds at most 13.6 "
        "% of those inside."
    )
    assert "knows everything else" in assumed


def test_without_a_limit_a_guess_is_told() -> None:
    first = dpv.meaning(dpv.GaussianDP(1.0), relation=REPLACE, prior=0.1).splitlines()[0]
    assert first.startswith("Someone who is 10 % sure which of two records is yours, and guesses")
    assert first.endswith("90 % without the release.")


@pytest.mark.parametrize("mu", [0.01, 0.5, 2.0, 30.0])
def test_no_sentence_says_less_than_the_risk(mu: float) -> None:
    spent = dpv.Accountant(relation=ADD).compose(dpv.GaussianDP(mu))
    shares = [float(n) for n in re.findall(r"at most ([\d.]+) %", dpv.meaning(spent))]
    risks = [spent.risk.success(0.5).upper, spent.true_positive_rate(0.05).upper]
    for share, risk in zip(shares, risks, strict=True):
        assert 0.0 <= share - 100 * risk <= 0.1 + 1e-9


def test_refusals() -> None:
    with pytest.raises(dpv.InvalidParameter, match="relation=None"):
        dpv.meaning(dpv.PureDP(1.0))
    with pytest.raises(dpv.InvalidParameter, match="prior=2"):
        dpv.meaning(dpv.PureDP(1.0), relation=ADD, prior=2)
