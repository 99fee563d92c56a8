"""Pictures and tables that the objects themselves hand out, for notebooks."""

from typing import Any

import matplotlib as mpl
import pytest

import dpverify as dpv

SPENT = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(2.0), times=3)


def half(data: Any, rng: Any) -> Any:  # noqa: ANN401
    return sum(data) + rng.laplace(scale=0.5)


@pytest.fixture
def axes() -> Any:  # noqa: ANN401
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure().subplots()


def test_an_accountant_draws_its_profile(axes: Any) -> None:  # noqa: ANN401
    drawn: Any = SPENT.plot(delta=1e-5, ax=axes)
    assert drawn is axes
    assert axes.get_yscale() == "log"
    assert "ε ≤ 3.709 at δ = 1e-05" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_new_figure_is_made_where_none_is_given() -> None:
    with mpl.rc_context({"backend": "Agg"}):
        from matplotlib import pyplot as plt  # noqa: PLC0415

        drawn: Any = SPENT.plot()
        plt.close(drawn.figure)
    assert drawn.get_title() == "Privacy profile"


@pytest.mark.false_alarm(0.0)  # nothing is judged: whatever the verdict is, it is drawn
def test_a_verdict_draws_what_is_claimed_and_what_was_shown(axes: Any) -> None:  # noqa: ANN401
    verdict = dpv.audit(half, left=[0], right=[1], claim=dpv.PureDP(1.0), level=0.01, seed=1)
    drawn: Any = verdict.plot(ax=axes)
    assert drawn is axes
    claimed = axes.patches[2].get_width()
    shown = axes.patches[1].get_width()
    assert (claimed, shown) == (1.0, verdict.epsilon_lower)


def test_tables_for_notebooks() -> None:
    table = SPENT._repr_html_()
    assert "add-remove neighbors" in table
    assert "<td>3 ×</td><td>Gaussian(sigma=2.0)</td>" in table
    assert "PureDP(epsilon=0.5)" in dpv.Laplace(scale=2.0).claim._repr_html_()
    empty = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    assert "nothing was composed" in empty._repr_html_()


def test_a_bracket_is_short() -> None:
    shown = repr(SPENT.epsilon(1e-5))
    assert shown.startswith("Bracket(3.708")
    assert shown.endswith(", by gaussian-composition)")
    assert repr(dpv.Bracket(1.0, 2.0)) == "Bracket(1.0, 2.0)"


def test_a_delta_that_is_none() -> None:
    with pytest.raises(dpv.InvalidParameter, match=r"delta=2 must lie in \[0, 1\]"):
        SPENT.plot(delta=2)
