"""The grid of a what-if page: certified, bounded in time, worse neighbors only."""

import json
import time
from typing import Any

import dpverify as dpv
from dpverify.reporting.what_if import what_if

ADD = dpv.Relation.ADD_REMOVE


def at(grid: dict[str, Any], **chosen: float) -> dict[str, Any]:
    """The point that the page shows for these values."""
    index = 0
    for knob in grid["knobs"][:-1]:
        value = chosen.get(knob["name"], knob["values"][knob["now"]])
        index = index * len(knob["values"]) + knob["values"].index(value)
    point = grid["points"][index]
    shown: dict[str, Any] = grid["points"][point["at"]] if "at" in point else point
    return shown


def test_every_point_holds_the_exact_value() -> None:
    grid = what_if([(dpv.Gaussian(5.0), 10)], ADD, 1e-5)
    noise, runs, delta = grid["knobs"]
    assert (noise["values"][noise["now"]], runs["values"][runs["now"]]) == (5.0, 10.0)
    for sigma in noise["values"][::6]:
        for times in runs["values"][::3]:
            point = at(grid, noise=sigma, runs=times)
            spent = dpv.Accountant(relation=ADD).compose(dpv.Gaussian(sigma), times=int(times))
            for place, (lower, upper) in enumerate(point["epsilon"]):
                exact = spent.epsilon(delta["values"][place])
                assert lower <= exact.lower <= exact.upper <= upper <= lower + 0.05
            assert spent.advantage().upper <= point["advantage"] <= spent.advantage().upper + 1e-3
            assert spent.true_positive_rate(0.05).upper <= point["found"] * (1 + 1e-9)
    assert len(json.dumps(grid)) < 100_000


def test_samples_have_a_rate_and_time_is_bounded() -> None:
    step = dpv.Subsampled(dpv.Gaussian(0.8), rate=0.5)
    heard: list[tuple[int, int]] = []
    start = time.monotonic()
    grid = what_if(
        [(step, 10_000)], ADD, 1e-5, seconds=1.0, told=lambda done, of: heard.append((done, of))
    )
    assert time.monotonic() - start < 4.0  # of loaded machines
    names = [knob["name"] for knob in grid["knobs"]]
    assert names == ["noise", "runs", "rate", "delta"]
    assert max(grid["knobs"][2]["values"]) <= 1
    assert heard == sorted(heard)
    for place, point in enumerate(grid["points"]):
        if point is not None and "at" in point:
            assert "epsilon" in grid["points"][point["at"]]
            assert point["at"] != place


def test_what_time_ran_out_for_is_bounded_by_a_worse_point() -> None:
    """With no time at all only the real numbers are known; they bound what costs less."""
    grid = what_if([(dpv.Gaussian(5.0), 10)], ADD, 1e-5, seconds=0.0)
    assert sum("epsilon" in (point or {}) for point in grid["points"]) == 1
    noise, runs, _ = grid["knobs"]
    known = at(grid)
    assert at(grid, noise=noise["values"][-1], runs=runs["values"][0]) == known
    assert grid["points"][0 * len(runs["values"]) + len(runs["values"]) - 1] is None


def test_several_parts_change_together() -> None:
    grid = what_if([(dpv.Gaussian(5.0), 10), (dpv.Gaussian(8.0), 3)], ADD, 1e-5)
    labels = [knob["label"] for knob in grid["knobs"]]
    assert labels == ["σ, all times", "runs, all times", "δ"]
    doubled = at(grid, noise=2.0)["epsilon"][4]
    spent = dpv.Accountant(relation=ADD).compose(dpv.Gaussian(10.0), times=10)
    spent = spent.compose(dpv.Gaussian(16.0), times=3)
    exact = spent.epsilon(1e-5)
    assert doubled[0] <= exact.upper
    assert exact.lower <= doubled[1]


def test_guarantees_have_runs_only_and_no_delta_stays_none() -> None:
    grid = what_if([(dpv.PureDP(0.5), 4)], ADD, 0.0)
    assert [knob["name"] for knob in grid["knobs"]] == ["runs", "delta"]
    assert grid["knobs"][1]["values"] == [0.0]
    assert at(grid, runs=4.0)["epsilon"] == [[1.9999, 2.0]]
    unlimited = what_if([(dpv.Gaussian(5.0), 1)], ADD, 0.0)
    assert unlimited["points"][0]["epsilon"] == [["∞", "∞"]]


def test_the_point_that_was_asked_is_as_narrow_as_what_is_known() -> None:
    parts = [(dpv.Gaussian(5.0), 10)]
    plain = what_if(parts, ADD, 1e-5, seconds=0.0)
    told = what_if(parts, ADD, 1e-5, seconds=0.0, known=dpv.Bracket(2.59441, 2.59442))
    now = told["knobs"][-1]["now"]
    assert at(told)["epsilon"][now] == [2.5944, 2.5944] != at(plain)["epsilon"][now]
    others = [place for place in range(len(at(told)["epsilon"])) if place != now]
    assert all(at(told)["epsilon"][place] == at(plain)["epsilon"][place] for place in others)
