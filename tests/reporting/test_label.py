"""The label: what the disclosure says, rounded towards safety, and all of it escaped."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.balls import rounded_down, rounded_up
from dpverify.disclosing import Disclosure
from dpverify.reporting.label import (
    card,
    label_html,
    label_svg,
    wrapped,
    write_label,
)

EVIL = '</text><script>alert(1)</script>" onload="alert(2)\u202e&amp;\x00'
RENDERERS = (label_html, label_svg)


def example(name: str = "Commute times", relation: str = "add-remove") -> Disclosure:
    people = {"product": {"name": name, "curators": [name]}, "defenses": {"timing": name}}
    return dpv.disclose(dpv.PureDP(epsilon=1.0), relation=relation, given=people)


def test_the_card_says_what_is_promised_and_what_it_means() -> None:
    shown = card(example())
    assert shown.promise == "ε ≤ 1"
    # Randomized response with e^ε = e is right with probability e/(1+e) = 0.7311.
    assert shown.meaning == (
        "Whoever guesses whether one record is in the data, knowing everything else, is right at "
        "most 73.2% of the time; a coin toss is right 50%."
    )
    facts = {fact.heading: fact for fact in shown.facts}
    assert not facts["Floats"].stated
    assert facts["Floats"].text == "not stated"
    assert facts["Neighbors"].text == "differ by adding or removing one record"
    assert facts["Evidence"].text == "1 theorem"


@pytest.mark.parametrize("delta", [1.2345678e-6, 0.00012345678, 1e-6])
def test_delta_stands_on_the_card_as_it_was_stated(delta: float) -> None:
    shown = card(dpv.disclose(dpv.Gaussian(sigma=5.0), relation="add-remove", delta=delta))
    assert float(shown.promise.split("δ = ")[1]) == delta


def test_replacing_a_record_is_another_question() -> None:
    meaning = card(example(relation="replace-one")).meaning
    assert meaning.startswith("Whoever guesses which of two given values one record has")


@given(st.floats(0, 1e9), st.integers(2, 8))
def test_ends_are_rounded_towards_safety(value: float, digits: int) -> None:
    assert float(rounded_down(value, digits=digits)) <= value
    assert float(rounded_up(value, digits=digits)) >= value


@given(st.text(max_size=60), st.integers(2, 20))
def test_lines_keep_every_word_and_fit(text: str, columns: int) -> None:
    lines = wrapped(text, columns)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("render", RENDERERS)
def test_nothing_of_a_user_becomes_markup(render: object) -> None:
    shown = (label_html if render is label_html else label_svg)(example(EVIL))
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert 'onload="' not in shown
    assert "\x00" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("render", RENDERERS)
def test_nothing_is_fetched(render: object) -> None:
    shown = (label_html if render is label_html else label_svg)(example())
    shown = shown.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "http" not in shown
    assert "url(" not in shown
    assert "@import" not in shown


def test_the_picture_is_well_formed() -> None:
    root = ET.fromstring(label_svg(example(EVIL)))  # noqa: S314  # our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [each for each in root.iter() if "script" in each.tag]


def test_an_empty_disclosure_has_a_card_that_says_so() -> None:
    shown = card(Disclosure())
    assert shown.promise == "ε is not stated"
    assert shown.success is None
    assert {fact.text for fact in shown.facts} == {"not stated"}
    assert "Unnamed release" in label_html(Disclosure())
    assert "Unnamed release" in label_svg(Disclosure())


@pytest.mark.parametrize("name", ["card.pdf", "card", "missing/card.svg"])
def test_a_file_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(dpv.InvalidParameter, match="label="):
        write_label(Disclosure(), tmp_path / name)
