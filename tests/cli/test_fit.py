"""`dpverify fit` as a user meets it: the model file, the claim, JSON, and one line for misuse."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.cli import run

BUDGET = ["--epsilon", "2", "--delta", "1e-6"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A square of points, the side that they are on, and their first coordinate."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.7, 0.7, (500, 2))
    lines = [f"{a:.4f},{b:.4f},{'right' if a > 0 else 'left'}" for a, b in points]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["a,b,side", *lines]) + "\n")
    return path


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    points = np.random.default_rng(0).uniform(-0.7, 0.7, (500, 2))
    lines = [f"{a:.4f},{b:.4f},{a:.4f}" for a, b in points]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def fitted(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What stands on stdout, and what is in the file."""
    assert run(["fit", *arguments, "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    kept = json.loads(Path(arguments[0]).with_suffix(".model.json").read_text())
    return shown, kept


def test_the_example_of_the_contract(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, kept = fitted(
        [
            *(str(table), "--target", "side", "--loss", "logistic", "--method", "objective"),
            *("--epsilon", "1", "--delta", "1e-6", "--norm-bound", "1", "--seed", "0"),
        ],
        capsys,
    )
    assert model == kept
    assert model["version"] == 2
    assert model["dpverify"] == dpv.__version__
    assert (model["features"], model["target"]) == (["a", "b"], "side")
    assert model["classes"] == ["left", "right"]
    assert model["claim"]["kind"] == "ApproxDP"
    assert (model["claim"]["epsilon"], model["claim"]["delta"]) == (1.0, 1e-6)
    assert model["claim"]["relation"] == "add-remove"
    assert model["claim"]["theorem"] == "objective-perturbation-logistic-gaussian"
    assert Path(model["theorems"][0]["proof"]).suffix == ".py"
    assert 0 < model["certificate"]["distance"] < 1e-3
    assert model["bounds"] == {"norm_bound": 1.0}
    assert model["weights"]["coefficients"][0][0] > 1  # the first coordinate decides
    assert any("read off y" in text for text in model["claim"]["assumes"])


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("loss", ["logistic", "svm"])
@pytest.mark.parametrize("method", ["objective", "output", "gradient", "sgd"])
def test_every_method_of_a_classifier(
    table: Path, loss: str, method: str, relation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(table), "--target", "side", "--loss", loss, "--method", method, *BUDGET]
    arguments += ["--norm-bound", "1", "--records", "500", "--relation", relation]
    model, _ = fitted([*arguments, "--classes", "left,right"], capsys)
    assert (model["method"], model["claim"]["relation"]) == (method, relation)
    assert not any("read off y" in text for text in model["claim"]["assumes"])


def test_least_squares_and_median(numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(numbers), "--target", "y", "--epsilon", "50", "--seed", "0"]
    bounds = ["--norm-bound", "1", "--label-bound", "1"]
    model, _ = fitted([*arguments, "--loss", "squared", *bounds], capsys)
    assert model["method"] == "statistics"
    assert model["weights"]["coefficients"] == pytest.approx([1.0, 0.0], abs=0.2)
    assert model["certificate"] is None
    model, _ = fitted([*arguments, "--loss", "absolute", "--low", "-1", "--high", "1"], capsys)
    assert model["weights"]["median"] == pytest.approx(0.0, abs=0.1)
    assert model["bounds"] == {"low": -1.0, "high": 1.0}


def test_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("a,y\n" + "0.5,3\n-0.5,0\n" * 300)
    common = [str(path), "--target", "y", "--loss", "poisson", "--epsilon", "20", "--seed", "0"]
    declared = ["--norm-bound", "1", "--label-bound", "5", "--largest-mean", "4"]
    model, _ = fitted([*common, *declared], capsys)
    assert model["bounds"] == {"norm_bound": 1.0, "label_bound": 5.0, "largest_mean": 4.0}
    assert model["weights"]["coefficients"][0] > 1.0
    assert model["claim"]["kind"] == "PureDP"
    path.write_text("a,y\n0.5,-1\n")
    assert run(["fit", *common, *declared]) == 2
    assert "every target in y must be 0 or more" in capsys.readouterr().err


def test_what_is_printed(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "kept.json"
    options = ["--target", "side", *BUDGET, "--norm-bound", "1", "--output", str(target)]
    assert run(["fit", str(table), *options]) == 0
    shown = capsys.readouterr().out
    assert "ε = 2, δ = 1e-06 (add-remove)" in shown
    assert "theorem: objective-perturbation-logistic-gaussian" in shown
    assert "solver: within" in shown
    assert "utility: " in shown
    assert json.loads(target.read_text())["loss"] == "logistic"
    assert not table.with_suffix(".model.json").exists()


def test_seeds_repeat(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [str(table), "--target", "side", *BUDGET, "--norm-bound", "1"]
    same = [fitted([*options, "--seed", "7"], capsys)[0]["weights"] for _ in range(2)]
    fresh = [fitted(options, capsys)[0]["weights"] for _ in range(2)]
    assert same[0] == same[1]
    assert fresh[0] != fresh[1]


# misuse: one line, exit code 2, and no model


NORM = ["--norm-bound", "1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "side", "--epsilon", "1"], "norm_bound=None must be declared"),
        (["--target", "side", "--epsilon", "0", *NORM], "epsilon=0.0 must be positive"),
        (["--target", "side", "--epsilon", "-1", *NORM], "epsilon=-1.0 must be at least 0"),
        (["--target", "side", "--epsilon", "nan", *NORM], "epsilon=nan must be a real number"),
        (["--target", "side", "--epsilon", "x", *NORM], "'x' must be a real number"),
        (["--target", "side", *NORM], "--epsilon"),
        (["--epsilon", "1", *NORM], "--target"),
        (["--target", "z", "--epsilon", "1", *NORM], "target='z' must be one of: a, b, side"),
        (["--target", "a", "--epsilon", "1", *NORM], "in record 0 must be a finite number"),
        (["--target", "side", "--epsilon", "1", "--norm-bound", "0.1"], "must be at most norm=0.1"),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--relation", "swap"],
            "relation='swap' must be one of",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--loss", "cubic"],
            "loss='cubic' must be one of",
        ),
        (["--target", "side", "--epsilon", "1", *NORM, "--method", "magic"], "method='magic' must"),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--label-bound", "1"],
            "label-bound=1.0 must not be given with --loss logistic",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--loss", "squared"],
            "side='right' in record 0 must be a finite number",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--classes", "left,up"],
            "must be one of: left, up",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--ridge", "0.01"],
            "ridge=0.01 must be more than",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--method", "gradient"],
            "records=None must be declared",
        ),
        (
            ["--target", "side", "--epsilon", "1", *NORM, "--no-intercept", "--loss", "absolute"],
            "must not be given with --loss absolute",
        ),
    ],
)
def test_misuse_is_one_line(
    table: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["fit", str(table), *options]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("dpverify: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err
    assert not table.with_suffix(".model.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a CSV file with a header line"),
        ("a,side\n", "classes=None must be declared"),
        ("a,side\n0.5,left\n", "one class only"),
        ("side\nleft\nright\n", "0 feature"),
        ("a,side\n0.5,left\n0.1,left\n", "one class only"),
        ("a,side\nnan,left\n0.1,right\n", "a='nan' in record 0 must be a finite number"),
        ("a,side\ninf,left\n0.1,right\n", "a='inf' in record 0 must be a finite number"),
        ("a,side\n0.1,left\n0.1,right,up\n", "record 1 has 3 cells and must have 2"),
        ("a,a,side\n0.1,0.1,left\n0.1,0.1,right\n", "without repeated names"),
    ],
)
def test_tables_that_are_none(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text)
    assert run(["fit", str(path), "--target", "side", *BUDGET, *NORM]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.csv"
    assert run(["fit", str(path), "--target", "y", *BUDGET, *NORM]) == 2
    assert "must be a file to read" in capsys.readouterr().err


def test_infinite_sensitivity_is_said(numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--target", "y", "--loss", "squared", "--method", "output", "--records", "500"]
    assert run(["fit", str(numbers), *options, *BUDGET, *NORM, "--label-bound", "1"]) == 2
    assert "sensitivity" in capsys.readouterr().err
    bounds = [*NORM, "--label-bound", "1", "--radius", "2"]
    model, _ = fitted([str(numbers), *options, *BUDGET, *bounds], capsys)
    assert model["bounds"] == {"norm_bound": 1.0, "label_bound": 1.0, "radius": 2.0}


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "--help"]) == 0
    assert "Example: dpverify fit" in capsys.readouterr().out.replace("\n", " ")


def test_a_model_that_cannot_be_written_costs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before the data are read, and so before any noise is drawn."""
    out = tmp_path / "missing" / "model.json"
    bad = [str(tmp_path / "no.csv"), "--target", "y", "--epsilon", "1", "--output", str(out)]
    assert run(["fit", *bad]) == 2
    assert "output=" in capsys.readouterr().err
