"""The command line as a user meets it: answers, JSON, exit codes, one line for misuse."""

import json
import math
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import dpverify as dpv
from dpverify.cli import run
from dpverify.cli.expression import parse
from dpverify.cli.verbs import demo
from dpverify.disclosing import check_disclosure
from tests.cli.test_answers import validator

ROOT = Path(__file__).parents[2]
RELATION = ["--relation", "add-remove"]
L2 = ["--l2-sensitivity", "1"]
OWN = ["--sensitivity", "1"]


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run([*arguments, "--json"]) == 0
    shown = capsys.readouterr()
    result: dict[str, object] = json.loads(shown.out)
    return result


# compose


def test_compose_shows_every_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["compose", "pure(epsilon=0.1)*100", "--delta", "1e-6", *RELATION]) == 0
    shown = capsys.readouterr().out
    for rule in ("basic", "advanced", "optimal", "zcdp", "rdp", "gdp", "← tightest"):
        assert rule in shown
    assert "4.7745676" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown


def test_compose_json_agrees_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["compose", "gaussian(sigma=50)*1000", "--delta", "1e-6", *RELATION], capsys)
    exact = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(
        dpv.Gaussian(sigma=50), times=1000
    )
    epsilon = found["epsilon"]
    assert isinstance(epsilon, dict)
    assert epsilon["upper"] == exact.epsilon(1e-6).upper
    assert epsilon["lower"] == exact.epsilon(1e-6).lower
    assert found["relation"] == "add-remove"


def test_bounds_are_rounded_towards_safety_and_given_numbers_not_at_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["compose", "gaussian(sigma=20000)", "--delta", "1.0049e-6", *RELATION]) == 0
    shown = capsys.readouterr().out
    exact = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(dpv.Gaussian(sigma=20000))
    upper = float(shown.split("ε ≤ ")[1].split()[0])
    lower = float(shown.split("certainly not below ")[1].split()[0])
    assert lower <= exact.epsilon(1.0049e-6).lower <= exact.epsilon(1.0049e-6).upper <= upper
    assert "at δ = 1.0049e-06 (" in shown
    assert run(["noise", "gaussian", "--epsilon", "1", "--delta", "1.00000049e-6", *L2]) == 0
    assert "within ε = 1, δ = 1.00000049e-06: spends" in capsys.readouterr().out


def test_compose_says_which_sensitivities_it_took_for_granted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = "subsampled(gaussian(5), rate=0.1) + laplace(scale=9, l1_sensitivity=2)"
    assert run(["compose", parts, "--epsilon", "1", *RELATION, "--json"]) == 0
    assumes = json.loads(capsys.readouterr().out)["delta"]["assumes"]
    assert [each for each in assumes if "sensitivity" in each] == ["ℓ2 sensitivity 1"]


def test_compose_for_delta(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["compose", "pure(epsilon=1)", "--epsilon", "0", *RELATION], capsys)
    delta = found["delta"]
    assert isinstance(delta, dict)
    assert delta["upper"] == pytest.approx(math.tanh(0.5), rel=1e-14)


def test_infinite_answers_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["compose", "gaussian(sigma=1)", "--delta", "0", *RELATION], capsys)
    epsilon = found["epsilon"]
    assert isinstance(epsilon, dict)
    assert epsilon["upper"] == "inf"


def test_compose_draws(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    target = tmp_path / "out.png"
    arguments = ["compose", "pure(epsilon=0.1)*20", "--delta", "1e-6", *RELATION]
    assert run([*arguments, "--plot", str(target)]) == 0
    assert target.read_bytes().startswith(b"\x89PNG")
    assert str(target) in capsys.readouterr().out.replace("\n", "")
    assert run([*arguments, "--plot", str(tmp_path / "out.xyz")]) == 2
    assert run([*arguments, "--plot", str(tmp_path / "no" / "where.png")]) == 2
    assert "must be a file in a folder that exists" in capsys.readouterr().err


# the expression language


def test_expression_by_example() -> None:
    assert parse("gaussian(sigma=1/2)*1e4 + 2*(pure(epsilon=2**-1) + 3*zcdp(rho=0.1))") == [
        (dpv.Gaussian(sigma=0.5), 10_000),
        (dpv.PureDP(epsilon=0.5), 2),
        (dpv.ZeroConcentratedDP(rho=0.1), 6),
    ]
    assert parse("subsampled(gaussian(sigma=0.8), rate=0.004)*10") == [
        (dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.004), 10)
    ]


MISUSE = [
    ("gaussian(sigma=1, sigma=2)", "argument='sigma' of gaussian must be given once, not twice"),
    (
        "subsampled(gaussian(sigma=1), mechanism=laplace(scale=1), rate=0.1)",
        "argument='mechanism' of subsampled must be given once, not twice",
    ),
    ("gauss(sigma=1)", "name='gauss' must be one of"),
    ("gausian(sigma=1)", "Did you mean 'gaussian'?"),
    ("gaussian(sigma=0)", "sigma=0 must be positive"),
    ("gaussian(sigma=-1)", "sigma=-1 must be positive"),
    ("gaussian(sigma=nan)", "sigma=nan must be a real number"),
    ("gaussian(scale=1)", "argument='scale' of gaussian must be one of"),
    ("gaussian()", "must give gaussian its sigma"),
    ("gaussian(2, 1)", "argument='1' of gaussian must be named"),
    ("gaussian(sigma='a')", "sigma='a' must be a real number"),
    ("pure(epsilon=-1)", "epsilon=-1 must be at least 0"),
    ("approx(epsilon=1, delta=2)", "delta=2 must lie in [0, 1]"),
    ("pure(epsilon=1)*0", "times=0 must be a whole number"),
    ("pure(epsilon=1)*1.5", "times=1.5 must be a whole number"),
    ("pure(epsilon=1)*-2", "times=-2 must be a whole number"),
    ("", "must read like"),
    ("pure(epsilon=1", "must read like"),
    ("pure(epsilon=1) - pure(epsilon=1)", "must be made of parts"),
    ("__import__('os')", "name='__import__' must be one of"),
    ("pure(epsilon=10**10**10)", "number=nan must be a real number"),
    ("pure(epsilon=1/0)", "number=nan must be a real number"),
    ("pure(epsilon=x)", "epsilon='x' must be a real number"),
    ("pure(epsilon=1)*x", "number='x' must be a real number"),
    ("best_of(pure(epsilon=1), runs=twice, mean=2)", "runs='twice' must be one of: geometric"),
    ("subsampled(gaussian(sigma=1), rate=1.5)", "rate=1.5 must"),
]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "random_allocation(gaussian(sigma=2), steps=20, selected=2)",
            dpv.RandomAllocation(dpv.Gaussian(sigma=2), steps=20, selected=2),
        ),
        (
            "shuffled(laplace(scale=2), batches=9)",
            dpv.Shuffled(dpv.Laplace(scale=2), batches=9),
        ),
        (
            "subsampled(gaussian(sigma=2), rate=0.1, at_most=9, population=50)",
            dpv.Subsampled(dpv.Gaussian(sigma=2), rate=0.1, at_most=9, population=50),
        ),
        (
            "subsampled_with_replacement(gaussian(sigma=2), batch=3, population=50)",
            dpv.SubsampledWithReplacement(dpv.Gaussian(sigma=2), batch=3, population=50),
        ),
    ],
)
def test_every_kind_of_batch_has_an_expression(text: str, meant: object) -> None:
    assert parse(f"{text}*4") == [(meant, 4)]


@pytest.mark.parametrize(("expression", "message"), MISUSE)
def test_misuse_of_an_expression(
    expression: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compose", expression, "--delta", "1e-6", *RELATION]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("dpverify: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["compose", "pure(epsilon=1)", *RELATION],
            "exactly one of delta and epsilon must be given",
        ),
        (["compose", "pure(epsilon=1)", "--delta", "2", *RELATION], "delta=2.0 must lie in [0, 1]"),
        (["compose", "pure(epsilon=1)", "--delta", "nan", *RELATION], "delta=nan must be"),
        (
            ["compose", "pure(epsilon=1)", "--delta", "x", *RELATION],
            "--delta='x' must be a real number",
        ),
        (["compose", "pure(epsilon=1)", "--delta", "0.1"], "--relation"),
        (
            ["compose", "pure(epsilon=1)", "--delta", "0.1", "--relation", "swap"],
            "relation='swap' must",
        ),
        (
            ["compose", "pure(epsilon=1)", "--epsilon", "-1", *RELATION],
            "epsilon=-1.0 must be at least 0",
        ),
        (["noise", "gaussian", "--epsilon", "-1", *L2], "epsilon=-1.0 must be at least 0"),
        (["noise", "gaussian", "--epsilon", "1", *L2], "budget=PureDP(epsilon=1.0) must fit"),
        (
            ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--times", "0", *L2],
            "times=0 must",
        ),
        (
            ["noise", "gaussian", "--epsilon", "1", "--l1-sensitivity", "2"],
            "gaussian takes --l2-sensitivity",
        ),
        (
            ["noise", "laplace", "--epsilon", "1", "--l1-sensitivity", "0"],
            "l1_sensitivity=0.0 must be positive",
        ),
        (["noise", "gaussian", "--epsilon", "1", "--times", "2.5"], "'2.5' must be a whole number"),
        (
            ["noise", "poisson", "--epsilon", "1"],
            "mechanism='poisson' must be one of: gaussian, laplace",
        ),
        (
            ["noise", "norm", "--epsilon", "1", "--norm", "0.5", "--sensitivity", "1"],
            "norm=0.5 must",
        ),
        (
            ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--rate", "2", *L2],
            "rate=2.0 must lie in [0, 1]",
        ),
        (
            ["noise", "norm", "--epsilon", "1", "--rate", "0.1", "--sensitivity", "1"],
            "rate=0.1 must not be given: norm takes",
        ),
        (["frobnicate"], "verb='frobnicate' must be one of: compose, noise"),
    ],
)
def test_misuse_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert shown.err.startswith("dpverify: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err


# noise


@pytest.mark.parametrize(
    ("kind", "options", "part"),
    [
        ("gaussian", ["--l2-sensitivity", "2"], "gaussian(sigma={}, l2_sensitivity=2)"),
        ("laplace", ["--l1-sensitivity", "3"], "laplace(scale={}, l1_sensitivity=3)"),
        (
            "norm",
            ["--sensitivity", "0.5", "--norm", "inf"],
            "norm(scale={}, sensitivity=0.5, norm=inf)",
        ),
        ("randomized-response", [], "randomized_response(epsilon={})"),
    ],
)
def test_noise_is_the_inverse_of_compose(
    kind: str, options: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is printed meets the budget; a thousandth less noise does not."""
    budget = ["--epsilon", "1", "--delta", "1e-6", "--times", "10"]
    found = answer(["noise", kind, *budget, *options], capsys)
    value = float(found.get("sigma") or found.get("scale") or found["epsilon_each"])  # type: ignore[arg-type]  # a number
    less = value * (1.001 if kind == "randomized-response" else 0.999)
    for number, meets in ((value, True), (less, False)):
        expression = part.format(repr(number)) + "*10"
        tight = ["--tolerance", "1e-5", "--delta", "1e-6", *RELATION]
        spent = answer(["compose", expression, *tight], capsys)["epsilon"]
        assert isinstance(spent, dict)
        assert (spent["upper"] <= 1) is meets
        assert (spent["lower"] <= 1) is meets


DP_SGD = ["noise", "dp-sgd", "--epsilon", "3", "--delta", "1e-5", "--records", "60000"]
SMALL = ["noise", "dp-sgd", "--epsilon", "3", "--delta", "1e-5", "--records", "2000"]


@pytest.mark.parametrize(
    ("given", "found", "more"),
    [
        (["--batch", "256", "--epochs", "1"], "noise_multiplier", 0.999),
        (["--batch", "256", "--noise-multiplier", "1.2"], "steps", 1),
    ],
)
def test_a_training_run_is_filled_in(
    given: list[str], found: str, more: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is printed meets the budget; a thousandth less noise, or one more step, does not."""
    told = answer([*SMALL, *given], capsys)
    assert told["relation"] == "add-remove"
    assert told["rate"] == 256 / 2000
    plan: dict[str, Any] = {name: told[name] for name in ("noise_multiplier", "steps")}
    other = plan | {found: plan[found] * more if more < 1 else plan[found] + 1}
    for each, meets in ((plan, True), (other, False)):
        step = f"subsampled(gaussian(sigma={each['noise_multiplier']!r}), rate={256 / 2000!r})"
        tight = ["--tolerance", "1e-5", "--delta", "1e-5", *RELATION]
        spent = answer(["compose", f"{step}*{each['steps']}", *tight], capsys)["epsilon"]
        assert isinstance(spent, dict)
        assert (spent["upper"] <= 3) is meets
        assert (spent["lower"] <= 3) is meets


def test_a_training_run_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*DP_SGD, "--batch", "256", "--epochs", "1", "--clip", "2", "--seconds", "0"]) == 0
    shown = capsys.readouterr().out
    assert "noise multiplier = " in shown
    assert "235 steps of Poisson batches, rate 0.0042666667" in shown
    assert "clipped to norm 2" in shown
    assert "time that was given ran out" in shown.replace("\n", " ")


def test_a_training_run_within_delta_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """At ε = 0 what is spent is a δ, and called one."""
    asked = ["noise", "dp-sgd", "--epsilon", "0", "--delta", "0.1", "--records", "100"]
    assert run([*asked, "--batch", "10", "--epochs", "1"]) == 0
    assert "spends δ ≤ 0.0999" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "noise_multiplier and batch and epochs left out: exactly one of"),
        (["--batch", "70000", "--epochs", "1"], "batch=70000 must not exceed records=60000"),
        (["--batch", "256", "--epochs", "-1"], "epochs=-1.0 must be positive"),
    ],
)
def test_a_training_run_that_is_none(
    given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*DP_SGD, *given]) == 2
    assert message in capsys.readouterr().err


def test_compose_takes_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    expression = "subsampled(gaussian(sigma=0.5), rate=1e-6)*1e7"
    given = ["compose", expression, "--delta", "1e-6", "--seconds", "0", *RELATION]
    assert run(given) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert "no time was left for: " in shown
    assert "time that was given ran out" in shown


def test_noise_prints_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["noise", "randomized-response", "--epsilon", "1", "--times", "4"]) == 0
    shown = capsys.readouterr().out
    assert "epsilon = 0.25 each" in shown
    assert "4 runs within ε = 1 (pure DP)" in shown


# the whole


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("compose", "noise", "audit", "prove", "demo", "ledger"):
        assert run([verb, "--help"]) == 0
        assert "Example: dpverify" in capsys.readouterr().out.replace("\n", " ")


@pytest.fixture(scope="module")
def example() -> Any:  # noqa: ANN401  # the module
    """The stories of the demonstration, each worked out once for the tests below."""
    found: Any = demo._example()
    found.STORIES = {title: cache(story) for title, story in found.STORIES.items()}
    page, pages = found.page, dict[str, Any]()
    found.page = lambda told, command: pages.setdefault("", pages.get("") or page(told, command))
    return found


def test_demo_as_a_script(example: Any) -> None:  # noqa: ANN401  # a module
    shown = "\n".join(example.told())
    for words in ("refuted: PureDP(epsilon=1.0) does not hold", "sigma = 4.302", "residual 0"):
        assert words in shown


def test_demo_lays_out_its_table_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    spent = dpv.Accountant(relation=dpv.Relation.REPLACE_ONE).compose(dpv.PureDP(0.1), times=100)
    demo._show(Console(width=40), spent.compare(delta=1e-6))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert max(map(len, lines)) <= 40
    assert lines[0].split() == ["rule", "ε", "at", "most"]


def test_demo_runs(
    example: Any,  # noqa: ANN401  # a module
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "_example", lambda: example)
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "demo.html"
    assert run(["demo", "--report", str(path)]) == 0
    shown = capsys.readouterr().out.replace(str(path), "demo.html").replace("\ndemo", "demo")
    assert "residual 0" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "A false claim refuted, a true one not" in path.read_text(encoding="utf-8")
    for name in ("demo_disclosure.yaml", "demo_registry.yaml"):
        review = check_disclosure(tmp_path / name)
        assert not review.wrong
        assert {each.path for each in review.incomplete} <= {"code.sha256"}


def test_demo_as_json(
    example: Any,  # noqa: ANN401  # a module
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "_example", lambda: example)
    assert run(["demo", "--json", "--report", str(tmp_path / "demo.html")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not list(validator("demo").iter_errors(found))
    assert found["kernel"]["residual"] == "0"
    assert found["budget"]["spent"]["upper"] <= 1.0
    assert found["audits"]["broken"]["refuted"]
    assert not found["audits"]["correct"]["refuted"]


def test_demo_finds_its_stories_in_a_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where pyproject.toml has them packed; without them one line says so."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, place in packed.items():
        (tmp_path / place).parent.mkdir(parents=True)
        shutil.copy(ROOT / source, tmp_path / place)
    monkeypatch.setattr(demo, "_PACKAGE", tmp_path / "dpverify")
    assert Path(str(demo._example().__file__)).is_relative_to(tmp_path)
    monkeypatch.setattr(demo, "_PACKAGE", tmp_path / "proofs")
    assert run(["demo", "--report", str(tmp_path / "demo.html")]) == 2
    assert "demo.py must be there" in capsys.readouterr().err.replace("\n", " ")


def test_as_a_process() -> None:
    """Exit code and streams of the real command; nothing but JSON on stdout."""
    command = [sys.executable, "-c", "from dpverify.cli import main; main()"]
    good = subprocess.run(
        [*command, "compose", "pure(epsilon=1)*2", "--delta", "0", *RELATION, "--json"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert good.returncode == 0
    assert json.loads(good.stdout)["epsilon"]["upper"] == 2.0
    assert "Traceback" not in good.stderr


@pytest.mark.parametrize("how", [["--json"], []], ids=["JSON", "words"])
def test_a_broken_pipe_is_one_line(how: list[str]) -> None:
    program = "from dpverify.cli import main; main()"
    command = [sys.executable, "-c", program, "noise", "laplace", "--epsilon", "1", *how]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        finished = subprocess.run(
            [*command, "--l1-sensitivity", "1"],
            check=False,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"DPVERIFY_PROGRESS": "0"},
        )
    assert finished.returncode == 2
    assert finished.stderr == (
        "dpverify: stdout must stay open: it was closed before all was written\n"
    )


def test_forty_columns_are_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for verb in (
        ["compose", "pure(epsilon=0.1)*100", "--delta", "1e-6", *RELATION],
        ["noise", "gaussian", "--epsilon", "1", "--delta", "1e-6", "--l2-sensitivity", "1"],
        ["prove", "laplace"],
    ):
        assert run(verb) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 40
        assert "…" not in shown
