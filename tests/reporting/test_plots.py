"""Plots are drawn for every kind of composition, and say what they cannot do."""

from pathlib import Path

import pytest

import dpverify as dpv
from dpverify.reporting.plots import draw_composition


@pytest.mark.parametrize(
    ("part", "times"),
    [
        (dpv.PureDP(epsilon=0.1), 20),
        (dpv.ApproxDP(epsilon=0.1, delta=1e-9), 5),
        (dpv.GaussianDP(mu=0.5), 1),
        (dpv.ZeroConcentratedDP(rho=0.1), 2),
    ],
)
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_draws(part: dpv.Guarantee, times: int, ending: str, tmp_path: Path) -> None:
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(part, times=times)
    path = tmp_path / f"plot.{ending}"
    draw_composition(accountant, accountant.compare(delta=1e-6), path)
    assert path.stat().st_size > 10_000


def test_draws_for_an_epsilon(tmp_path: Path) -> None:
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.PureDP(epsilon=1.0))
    path = tmp_path / "plot.png"
    draw_composition(accountant, accountant.compare(epsilon=0.5), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_refuses_an_unknown_format(tmp_path: Path) -> None:
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.PureDP(epsilon=1.0))
    with pytest.raises(dpv.InvalidParameter, match="must end in one of"):
        draw_composition(accountant, accountant.compare(delta=0.1), tmp_path / "plot.bmp")
