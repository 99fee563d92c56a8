"""Mechanisms in notebooks: what they do and their parameters, whatever is in them."""

import pytest

import dpverify as dpv
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.registered import MECHANISMS


def test_a_table_of_parameters_and_of_what_is_inside() -> None:
    shown = dpv.Subsampled(dpv.Gaussian(0.8), rate=0.004)._repr_html_()
    assert shown.startswith("<b>Subsampled</b>: `mechanism` on a Poisson sample")
    assert "<th>rate</th><td>0.004</td>" in shown
    assert "<b>Gaussian</b>" in shown
    assert "<th>sigma</th><td>0.8</td>" in shown
    assert "None" not in shown


@pytest.mark.parametrize("name", MECHANISMS.names)
def test_every_mechanism_is_shown(name: str) -> None:
    assert issubclass(MECHANISMS[name], Described)  # type: ignore[arg-type]  # a class
