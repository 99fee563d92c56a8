"""The recipes of CONTRIBUTING.md: each block runs, and its toy goes through every front door.

Once as a user's own module, and once as files in a copy of the tree, where those that differ are
counted.
"""

import os
import re
import shutil
import subprocess
import sys
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

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RELATION = dpv.Relation.ADD_REMOVE
HOMES = {
    "mechanism": "dpverify/mechanisms/three_doors.py",
    "rule": "dpverify/accounting/rules/largest_loss.py",
    "attack": "dpverify/auditing/attacks/twice.py",
    "loss": "solvers/losses/log_cosh.py",
    "theorem": "proofs/falling_profile.py",
}
"""Where the toy of each recipe stands once it is part of the tree."""


def block(title: str) -> str:
    found = re.search(rf"^```python title={title}\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def recipe(title: str, folder: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """The toy as a part of the tree, in a copy that has it; else as a user's own module."""
    if (ROOT / HOMES[title]).exists():
        return import_module(HOMES[title].removesuffix(".py").replace("/", "."))
    (folder / f"recipe_{title}.py").write_text(block(title), encoding="utf-8")
    patch.syspath_prepend(str(folder))
    patch.delitem(sys.modules, f"recipe_{title}", raising=False)
    return import_module(f"recipe_{title}")


class Copy:
    """A copy of the tree that is changed as the recipes say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("dpverify", "solvers", "proofs", "tests"):
            shutil.copytree(ROOT / name, folder / name)  # compiled files too: times are kept
        for name in ("CONTRIBUTING.md", "pyproject.toml"):
            shutil.copy2(ROOT / name, folder / name)

    def run(self, *words: str) -> None:
        given = os.environ | {"PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def write(self, path: str, text: str) -> None:
        (self.folder / path).write_text(text, encoding="utf-8")

    def change(self, path: str, *edits: tuple[str, str]) -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        for old, new in edits:
            assert text.count(old) == 1, (path, old)
            text = text.replace(old, new)
        self.write(path, text)

    def own(self, title: str) -> None:
        """The file of the toy; a table makes it known, so that it does not register itself."""
        lines = block(title).splitlines(keepends=True)
        here = (line for line in lines if "register" not in line and line != "import solvers\n")
        self.write(HOMES[title], "".join(here))

    def contents(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.suffix in {".py", ".md", ".toml"})
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in files}


def add_mechanism(tree: Copy) -> None:
    tree.own("mechanism")
    tree.change(
        "dpverify/mechanisms/registered.py",
        (
            '    "laplace": "laplace.Laplace",\n',
            '    "laplace": "laplace.Laplace",\n    "three_doors": "three_doors.ThreeDoors",\n',
        ),
    )
    tree.change(
        "dpverify/__init__.py",
        (
            '    "trace": "tracing",\n',
            '    "trace": "tracing",\n    "ThreeDoors": "mechanisms.three_doors",\n',
        ),
    )
    tree.write(
        "tests/mechanisms/test_three_doors.py",
        "from tests.test_recipes import doors, test_a_mechanism, unproved_pages\n",
    )


def add_rule(tree: Copy) -> None:
    tree.own("rule")
    tree.change(
        "dpverify/accounting/rules/__init__.py",
        (
            "from dpverify.registry",
            "from .largest_loss import LargestLoss\nfrom dpverify.registry",
        ),
        ("NUMERICAL):", "NUMERICAL, LargestLoss()):"),
    )
    tree.write(
        "tests/accounting/test_largest_loss.py",
        "from tests.test_recipes import rule, test_a_rule, unproved_pages\n",
    )


def add_attack(tree: Copy) -> None:
    tree.write(HOMES["attack"], block("attack"))
    tree.write(
        "tests/auditing/attacks/test_twice.py",
        "from tests.test_recipes import attack, test_an_attack\n",
    )


def add_loss(tree: Copy) -> None:
    tree.own("loss")
    tree.change(
        "solvers/registry.py",
        (
            "from solvers.losses import",
            "from solvers.losses.log_cosh import LogCosh\nfrom solvers.losses import",
        ),
        ("Absolute())", "Absolute(), LogCosh())"),
    )


def add_theorem(tree: Copy) -> None:
    tree.write(HOMES["theorem"], block("theorem"))
    tree.run("proofs.support.readme")


def grown(folder: Path) -> Copy:
    """A copy of the tree with all five toys; what each changes is counted."""
    tree = Copy(folder)
    for add, title, most in (
        (add_mechanism, "mechanism", 4),
        (add_rule, "composition rule", 3),
        (add_attack, "attack", 2),
        (add_loss, "loss", 2),
        (add_theorem, "theorem", 2),
    ):
        before = tree.contents()
        add(tree)
        touched = {name for name, text in tree.contents().items() if before.get(name) != text}
        assert 2 <= len(touched) <= most, touched
        section = re.split(rf"^### An? {title}$", GUIDE, flags=re.MULTILINE)[1]
        assert section.split()[0] == {2: "Two", 3: "Three", 4: "Four"}[len(touched)]
    return tree


def test_a_recipe_touches_few_files(tmp_path: Path) -> None:
    grown(tmp_path / "tree")


@pytest.mark.slow
def test_a_recipe_opens_every_door_of_the_tree(tmp_path: Path) -> None:
    """The toys' tests, below and elsewhere, once more where the toys are part of the tree."""
    own = (
        "mechanisms/test_three_doors",
        "accounting/test_largest_loss",
        "auditing/attacks/test_twice",
    )
    grown(tmp_path / "tree").run(
        "pytest",
        "-q",
        *(f"tests/{name}.py" for name in own),
        "tests/test_recipes.py::test_a_loss",
        "tests/test_recipes.py::test_a_theorem",
        "tests/solvers/test_losses.py",
        "-k",
        "recipes or doors or largest or twice or log-cosh",
    )


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


def test_a_theorem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = recipe("theorem", tmp_path, monkeypatch).PROOF
    if (ROOT / HOMES["theorem"]).exists():  # users' proofs are run by Python alone
        assert run(["prove", "falling-profile"]) == 0
        assert "every event falls" in capsys.readouterr().out
    assert all(shown.step.holds for shown in proof.run().shown)
    assert proof.run().verdict({}).value == "proved with argument"
    assert proof.accepted_mutations() == ()
