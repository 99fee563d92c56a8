"""Plots of bands: drawn for every kind of claim, with what they show in their legends."""

from pathlib import Path

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing.bands.curves import ProfileBand
from dpverify.auditing.bands.estimation import estimate_profile
from dpverify.reporting.band_plots import band_figure, draw_band


@pytest.fixture(scope="module")
def band() -> ProfileBand:
    return estimate_profile(dpv.Gaussian(sigma=1.0), left=1.0, right=0.0, draws=5_000, seed=1)


@pytest.mark.parametrize(
    ("claim", "ending"),
    [
        (dpv.PureDP(epsilon=1.0), "png"),
        (dpv.ApproxDP(epsilon=1.0, delta=1e-3), "svg"),
        (dpv.GaussianDP(mu=1.0), "pdf"),
        (dpv.RenyiDP(order=4.0, epsilon=2.0), "png"),
    ],
)
def test_draws(band: ProfileBand, claim: dpv.Guarantee, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"band.{ending}"
    draw_band(band, claim, path)
    assert path.stat().st_size > 10_000


def test_a_refutation_is_marked_and_a_claim_that_stands_is_not(band: ProfileBand) -> None:
    def labels(claim: dpv.Guarantee) -> str:
        axes = band_figure(band, claim).axes[0]
        return " ".join(axes.get_legend_handles_labels()[1])

    assert "refuted at ε = " in labels(dpv.GaussianDP(mu=0.3))
    assert "refuted" not in labels(dpv.GaussianDP(mu=1.2))


def test_the_curves_are_those_of_the_band(band: ProfileBand) -> None:
    profile, trade_off = band_figure(band, dpv.GaussianDP(mu=1.0)).axes
    shown = np.asarray(profile.get_lines()[0].get_ydata(), dtype=np.float64)
    assert shown.max() == pytest.approx(band.lower_delta(0.0))
    assert trade_off.get_xlim() == (0.0, 1.0)


def test_refuses_an_unknown_format(band: ProfileBand, tmp_path: Path) -> None:
    with pytest.raises(dpv.InvalidParameter, match="must end in one of"):
        draw_band(band, dpv.PureDP(epsilon=1.0), tmp_path / "band.bmp")
