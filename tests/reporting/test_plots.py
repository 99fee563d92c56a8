"""Plots are drawn for every kind of composition, and say what they cannot do."""

import io
from pathlib import Path

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing import Progress
from dpverify.reporting.plots import (
    check_plot,
    composition_figure,
    risk_figure,
    wealth_figure,
)


@pytest.mark.parametrize(
    ("part", "times", "at"),
    [
        (dpv.PureDP(epsilon=0.1), 20, {"delta": 1e-6}),
        (dpv.ApproxDP(epsilon=0.1, delta=1e-9), 5, {"delta": 1e-6}),
        (dpv.GaussianDP(mu=0.5), 1, {"delta": 1e-6}),
        (dpv.ZeroConcentratedDP(rho=0.1), 2, {"delta": 1e-6}),
        (dpv.PureDP(epsilon=1.0), 1, {"epsilon": 0.5}),
    ],
)
def test_draws(part: dpv.Guarantee, times: int, at: dict[str, float]) -> None:
    """`dpverify compose --plot` saves the same picture."""
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(part, times=times)
    shown = io.BytesIO()
    composition_figure(accountant, accountant.compare(**at)).savefig(shown, dpi=50)
    assert shown.getvalue().startswith(b"\x89PNG")
    assert len(shown.getvalue()) > 10_000


def test_refuses_an_unknown_format() -> None:
    with pytest.raises(dpv.InvalidParameter, match="must end in one of"):
        check_plot(Path("plot.bmp"))


# pictures of audits, of losses and of risk


def test_wealth_is_drawn_in_powers_of_ten() -> None:
    history = [Progress(10, 0.0, 100), Progress(20, np.log(1000.0), 100)]
    (axes,) = wealth_figure(history, 0.01).axes
    drawn, bar = axes.get_lines()
    assert np.allclose(np.asarray(drawn.get_ydata(), dtype=float), [0.0, 3.0])
    assert np.allclose(np.asarray(bar.get_ydata(), dtype=float), 2.0)
    with pytest.raises(dpv.InvalidParameter, match="history"):
        wealth_figure([], 0.01)


def test_loss_shows_both_bad_events() -> None:
    part = dpv.ApproxDP(epsilon=0.1, delta=1e-5)
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(part, times=100)
    axes = composition_figure(accountant, accountant.compare(delta=2e-3)).axes[3]
    _, labels = axes.get_legend_handles_labels()
    assert any("bad event 1" in label and "0.001" in label for label in labels)
    assert any("bad event 2" in label for label in labels)
    heights = [bar.get_bbox().height for bar in axes.patches]  # type: ignore[attr-defined]
    assert sum(heights) == pytest.approx(0.999, abs=1e-6)


def test_risk_is_drawn_with_its_bound() -> None:
    (axes,) = risk_figure({"n = 10": [(1.0, 0.1, 0.2), (0.1, 1.0, 2.0)]}).axes
    measured, bound = axes.get_lines()
    assert list(np.asarray(measured.get_xdata(), dtype=float)) == [0.1, 1.0]
    assert list(np.asarray(bound.get_ydata(), dtype=float)) == [2.0, 0.2]
    with pytest.raises(dpv.InvalidParameter, match="measured"):
        risk_figure({})
