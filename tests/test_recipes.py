"""The recipes of CONTRIBUTING.md: each block runs, and its toy goes through every front door.

The number of files that a recipe names is the number of files that a contributor touches.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
import solvers
from dpverify.accounting.rules import RULES
from dpverify.auditing.attacks.proposals import ATTACKS
from dpverify.cli import run
from dpverify.mechanisms.registered import MECHANISMS
from solvers.registry import LOSSES

GUIDE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
RELATION = dpv.Relation.ADD_REMOVE


def recipe(title: str, folder: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """The block of that title, imported as a user's own module would be."""
    found = re.search(rf"^```python title={title}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    (folder / f"recipe_{title}.py").write_text(found[1], encoding="utf-8")
    patch.syspath_prepend(str(folder))
    patch.delitem(import_module("sys").modules, f"recipe_{title}", raising=False)
    return import_module(f"recipe_{title}")


@pytest.mark.parametrize(
    ("title", "most"),
    [("mechanism", 4), ("composition rule", 3), ("attack", 2), ("loss", 2), ("theorem", 2)],
)
def test_a_recipe_touches_few_files(title: str, most: int) -> None:
    section = re.split(rf"^### An? {title}$", GUIDE, flags=re.MULTILINE)[1]
    numbers = {"Two": 2, "Three": 3, "Four": 4}
    assert numbers[section.split()[0]] <= most


@pytest.fixture(autouse=True)
def unproved_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages name their theorem without running its proof: that is no part of a recipe."""
    monkeypatch.setattr("dpverify.cli.verbs.prove.steps_of", lambda _: None)


@pytest.fixture
def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    yield recipe("mechanism", tmp_path, monkeypatch).ThreeDoors
    MECHANISMS.remove("three_doors")


@pytest.mark.false_alarm(1e-9)
def test_a_mechanism(
    doors: Callable[[float], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = dpv.Accountant(relation=RELATION).compose(doors(3.0), times=20)
    found = spent.epsilon(delta=1e-3)
    assert 0.0 < found.lower <= found.upper < 20 * np.log(3.0)
    assert {"basic", "optimal", "numerical"} <= {row.rule for row in spent.compare(delta=1e-3).rows}
    claim = dpv.PureDP(epsilon=float(np.log(2.0)))
    verdict = dpv.audit(doors(3.0), left=0, right=1, claim=claim, level=1e-9, samples=20_000)
    assert verdict.refuted
    honest = dpv.audit(doors(3.0), left=0, right=1, claim=dpv.PureDP(epsilon=1.1), level=1e-9)
    assert not honest.refuted
    page = tmp_path / "page.html"
    words = ["compose", "three_doors(ratio=3)*20", "--delta", "1e-3", "--relation", "add-remove"]
    assert run([*words, "--report", str(page)]) == 0
    assert "ThreeDoors(ratio=3" in capsys.readouterr().out
    assert "ThreeDoors" in page.read_text(encoding="utf-8")


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield recipe("rule", tmp_path, monkeypatch).LargestLoss.name
    RULES.remove("largest loss")


def test_a_rule(rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spent = dpv.Accountant(relation=RELATION).compose(dpv.PureDP(epsilon=0.5), times=4)
    rows = {row.rule: row.upper for row in spent.compare(delta=1e-6).rows}
    assert rows[rule] == pytest.approx(2.0)
    unbounded = dpv.Accountant(relation=RELATION).compose(dpv.Gaussian(sigma=1.0))
    assert rule not in {row.rule for row in unbounded.compare(delta=1e-6).rows}
    page, plot = tmp_path / "page.html", tmp_path / "plot.png"
    words = ["compose", "pure(epsilon=0.5)*4", "--delta", "1e-6", "--relation", "add-remove"]
    assert run([*words, "--report", str(page), "--plot", str(plot)]) == 0
    assert rule in capsys.readouterr().out
    assert rule in page.read_text(encoding="utf-8")
    assert plot.stat().st_size > 1_000


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield recipe("attack", tmp_path, monkeypatch).Twice.name
    ATTACKS.remove("twice the first number less the second")


def twice(data: list[float], rng: np.random.Generator) -> list[float]:
    """Leaks through 2·first − second alone."""
    noise = float(rng.normal(scale=1e3))
    return [noise, 2.0 * noise - data[0] + float(rng.normal(scale=0.1))]


@pytest.mark.false_alarm(1e-9)
def test_an_attack(attack: str) -> None:
    claim = dpv.PureDP(epsilon=0.5)
    verdict = dpv.audit(twice, left=[0.0], right=[1.0], claim=claim, level=1e-9, samples=1_000)
    assert verdict.refuted
    assert attack in verdict.tried


@pytest.fixture
def loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield recipe("loss", tmp_path, monkeypatch).LogCosh.name
    del LOSSES["log-cosh"]


def test_a_loss(loss: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (200, 2))
    targets = np.clip(rows @ np.array([1.0, -0.5]), -1.0, 1.0)
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-5)
    model = solvers.PrivateRegressor(
        loss=loss,
        budget=budget,
        norm_bound=1.0,
        label_bound=1.0,
        relation=RELATION,
        random_state=0,
    ).fit(rows, targets)
    assert model.claim_.guarantee == budget
    assert np.isfinite(model.predict(rows)).all()
    table = "a,b,y\n" + "\n".join(f"{a},{b},{y}" for (a, b), y in zip(rows, targets, strict=True))
    (tmp_path / "data.csv").write_text(table)
    words = [
        "fit",
        str(tmp_path / "data.csv"),
        "--target",
        "y",
        "--loss",
        loss,
        "--norm-bound",
        "1",
    ]
    words += ["--label-bound", "1", "--epsilon", "1", "--delta", "1e-5", "--seed", "0"]
    assert run(words) == 0
    assert "objective perturbation" in capsys.readouterr().out
    assert loss in (tmp_path / "data.model.json").read_text(encoding="utf-8")


def test_a_theorem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = recipe("theorem", tmp_path, monkeypatch).PROOF
    assert all(shown.step.holds for shown in proof.run().shown)
    assert proof.run().verdict({}).value == "proved"
    assert proof.accepted_mutations() == ()
