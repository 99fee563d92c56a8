"""Sentences about privacy are true, and rounded towards safety."""

import copy
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest

import dpverify as dpv
from dpverify.reporting.words import icons

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def test_a_limit_on_belief_is_told() -> None:
    first, second, assumed = dpv.meaning(dpv.PureDP(1.0), relation=ADD).splitlines()
    assert first == (
        "Someone who is 50% sure that you are in the data can become at most 73.2% sure."
    )
    assert second == (
        "A test for being in the data that is wrong about 5% of those outside finds at most 13.6% "
        "of those inside."
    )
    assert "knows everything else" in assumed


def test_without_a_limit_a_guess_is_told() -> None:
    first = dpv.meaning(dpv.GaussianDP(1.0), relation=REPLACE, prior=0.1).splitlines()[0]
    assert first.startswith("Someone who is 10% sure which of two records is yours, and guesses")
    assert first.endswith("90% without the release.")


@pytest.mark.parametrize("mu", [0.01, 0.5, 2.0, 30.0])
def test_no_sentence_says_less_than_the_risk(mu: float) -> None:
    spent = dpv.Accountant(relation=ADD).compose(dpv.GaussianDP(mu))
    shares = [float(n) for n in re.findall(r"at most ([\d.]+)%", dpv.meaning(spent))]
    risks = [spent.risk.success(0.5).upper, spent.true_positive_rate(0.05).upper]
    for share, risk in zip(shares, risks, strict=True):
        assert 0.0 <= share - 100 * risk <= 0.1 + 1e-9


@pytest.mark.parametrize("prior", [0.001234, 1e-6, 0.0501, 0.29, 0.999, 0.9999, 1 - 1e-9])
def test_a_prior_is_told_as_given_and_nobody_becomes_certain(prior: float) -> None:
    first = dpv.meaning(dpv.PureDP(1.0), relation=ADD, prior=prior).splitlines()[0]
    given, sure = (Fraction(n) / 100 for n in re.findall(r"([\d.]+)%", first))
    assert float(given) == prior
    exact = prior * math.e / (1 - prior + prior * math.e)
    assert exact * (1 - 1e-12) <= sure < 1
    assert sure - exact <= max(0.001, 0.1 * exact)


def test_nothing_learned_is_told_as_nothing() -> None:
    first = dpv.meaning(dpv.PureDP(0.0), relation=ADD, prior=0.9).splitlines()[0]
    assert first.endswith("can become at most 90% sure.")


def test_what_a_number_rests_on_is_told() -> None:
    step = dpv.Subsampled(dpv.Gaussian(1.0), rate=0.1)
    spent = dpv.Accountant(relation=ADD).compose(step, times=50)
    told = dpv.meaning(spent)
    assert spent.true_positive_rate(0.05).assumes
    for each in spent.true_positive_rate(0.05).assumes:
        assert told.count(each) == 1


def test_refusals() -> None:
    with pytest.raises(dpv.InvalidParameter, match="relation=None"):
        dpv.meaning(dpv.PureDP(1.0))
    with pytest.raises(dpv.InvalidParameter, match="prior=2"):
        dpv.meaning(dpv.PureDP(1.0), relation=ADD, prior=2)


def test_a_hundred_people_are_counted_towards_safety() -> None:
    told = dpv.meaning(dpv.PureDP(1.0), relation=ADD)
    right = dpv.risk(dpv.PureDP(1.0)).success().upper  # 0.731…
    rows = told.icons.splitlines()[:2]
    assert [len(row) for row in rows] == [50, 50]
    counts = {icon: "".join(rows).count(icon) for icon in "●◉○"}
    assert counts == {"●": 50, "◉": 24, "○": 26}
    assert 0 <= counts["●"] + counts["◉"] - 100 * right < 1
    sure = dpv.meaning(dpv.PureDP(0.01), relation=ADD, prior=0.1)
    assert sure.icons.count("◉") == 1  # of the legend: nothing is gained over saying no


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_pictures_say_what_the_sentences_say(relation: dpv.Relation) -> None:
    told = dpv.meaning(dpv.PureDP(1.0), relation=relation)
    titles = [axes.get_title() for axes in told.plot().axes]
    assert titles[0].endswith("50 guesses of 100 are right")
    assert titles[1].endswith("at most 74 of 100 are right")
    (axes,) = told.plot_test().axes
    marked = {line.get_label(): np.asarray(line.get_xydata()) for line in axes.get_lines()[2:]}
    ((alarm, missed),) = marked["5 false alarms: finds at most 13.6"]
    assert alarm == 5
    assert missed == pytest.approx(100 - 5 * math.e)
    assert ("in the data" in axes.get_title()) == (relation is ADD)


def test_what_was_told_can_be_kept() -> None:
    told = dpv.meaning(dpv.PureDP(1.0), relation=ADD)
    for again in (copy.deepcopy(told), pickle.loads(pickle.dumps(told))):  # noqa: S301  # our own
        assert again == told
        assert again.icons == told.icons


def test_notebooks_show_words_and_pictures() -> None:
    told = dpv.meaning(dpv.PureDP(1.0), relation=ADD)
    shown = told._repr_html_()
    assert shown.startswith("<p>Someone who is 50% sure")
    assert shown.count("<svg") == 1
    assert len(shown) < 60_000
    table = dpv.risk(dpv.PureDP(1.0))._repr_html_()
    assert table.count("<tr>") == 6
    assert "0.4621" in table  # tanh(1/2), the advantage


def test_fewer_columns_make_shorter_lines_of_people() -> None:
    wide, narrow = icons(50, 65), icons(50, 65, 40)
    assert [len(line) for line in narrow.splitlines()[:4]] == [25] * 4
    assert "".join(narrow.splitlines()[:4]) == "".join(wide.splitlines()[:2])
