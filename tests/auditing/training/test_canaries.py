"""Canaries for PyTorch: what they are, how they are scored, and what is said where it is missing.

What needs PyTorch or Opacus runs where they are installed; a slow test makes an environment.
"""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing import training
from tests.test_readme import ROOT, blocks
from tests.test_site import interpreter_with


def test_a_missing_torch_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(dpv.NotSupported, match=r"pip install 'dpverify\[torch\]'"):
        training.input_canaries(np.zeros((1, 4)), number=3, classes=2)


def test_torch_is_imported_where_it_is_used_only() -> None:
    code = "import sys, dpverify.auditing.training; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def small_model(torch: Any) -> Any:  # noqa: ANN401
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


def test_record_canaries_are_added_and_scored() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.randn(50, 6), torch.randint(0, 3, (50,))
    noise = training.input_canaries(x, number=8, classes=3, seed=1)
    wrong = training.mislabeled_canaries(x, y, number=8, classes=3, seed=1)
    assert noise.inputs.shape == wrong.inputs.shape == (8, 6)
    for image, label in zip(wrong.inputs, wrong.labels, strict=True):
        where = int((x == image).all(dim=1).nonzero()[0, 0])
        assert int(label) != int(y[where])
    included = np.array([True, False] * 4)
    data = wrong.added_to(torch.utils.data.TensorDataset(x, y), included)
    assert len(data) == 54
    assert torch.equal(data[50][0], wrong.inputs[0])
    assert torch.equal(data[51][0], wrong.inputs[2])
    model = small_model(torch)
    scores = wrong.loss_scores(model)
    expected = [
        -torch.nn.functional.cross_entropy(model(a[None]), b[None]).item()
        for a, b in zip(wrong.inputs, wrong.labels, strict=True)
    ]
    assert scores == pytest.approx(expected, abs=1e-5)
    assert model.training
    rows = wrong.gradients(model)
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(wrong.inputs[:1]), wrong.labels[:1]).backward()
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()]).numpy()
    assert rows[0] == pytest.approx(flat, abs=1e-6)
    aligned = wrong.alignment_scores(model, flat)
    assert aligned[0] == pytest.approx(np.linalg.norm(flat), rel=1e-5)
    assert aligned[0] >= aligned[1:].max()


@pytest.mark.filterwarnings("ignore:Full backward hook:UserWarning")  # of Opacus
def test_gradient_canaries_are_samples_of_opacus() -> None:
    torch = pytest.importorskip("torch")
    opacus = pytest.importorskip("opacus")
    model = opacus.GradSampleModule(small_model(torch))
    canaries = training.GradientCanaries(model, number=40, norm=5.0, seed=2)
    with pytest.raises(dpv.InvalidParameter, match="must have gradients of samples"):
        canaries.insert(model, [0])
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    torch.nn.functional.cross_entropy(model(x), y).backward()
    canaries.insert(model, [3, 7])
    rows = torch.cat([p.grad_sample.reshape(12, -1) for p in model.parameters()], dim=1).numpy()
    assert rows[10] == pytest.approx(5.0 * canaries.directions[3], abs=1e-5)
    assert rows[11] == pytest.approx(5.0 * canaries.directions[7], abs=1e-5)
    moved = -0.1 * canaries.directions[7]
    assert int(canaries.direction_scores(np.zeros_like(moved), moved).argmax()) == 7
    # Looking at gradients of canaries leaves those of the batch alone.
    before = [p.grad_sample.clone() for p in model.parameters()]
    training.input_canaries(x, number=4, classes=3).gradients(model)
    assert all(
        torch.equal(a, p.grad_sample) for a, p in zip(before, model.parameters(), strict=True)
    )


def test_a_recorder_needs_an_optimizer_of_opacus() -> None:
    torch = pytest.importorskip("torch")
    model = small_model(torch)
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(dpv.InvalidParameter, match="must be one of Opacus"):
        training.StepRecorder(plain, model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": 0}, "number=0 must"),
        ({"classes": 1}, "classes=1 must be at least 2"),
        ({"seed": -1}, "seed=-1 must"),
        ({"scale": 0.0}, "scale=0.0 must"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    torch = pytest.importorskip("torch")
    given: dict[str, Any] = {"number": 3, "classes": 2} | changes
    with pytest.raises(dpv.InvalidParameter, match=message):
        training.input_canaries(torch.zeros(1, 4), **given)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has Opacus, PyTorch and pytest."""
    found = interpreter_with("opacus", tmp_path_factory.mktemp("opacus") / "env")
    if "DPVERIFY_PEERS" not in os.environ:
        more = ["pytest", "pytest-timeout", "hypothesis"]
        subprocess.run([found, "-m", "pip", "install", "--quiet", *more], check=True)
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)  # most of it installs packages
def test_these_tests_pass_with_torch_and_opacus(python: str) -> None:
    files = [Path(__file__), ROOT / "tests" / "auditing" / "test_batches.py"]
    command = [python, "-m", "pytest", "-q", "-m", "not slow", *map(str, files)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_the_guide_runs_as_printed(python: str) -> None:
    found = blocks(ROOT / "docs" / "training.md")
    theirs = [(a, b) for a, b in pairwise(found) if a.needs == "opacus"]
    assert len(theirs) == 2
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for block, printed in theirs:
        command = [python, "-W", "ignore", "-c", block.text]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        assert done.stdout == printed.text, done.stderr


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.false_alarm(2e-9)  # thirteen audits of what is as claimed
def test_a_model_on_digits_is_audited_end_to_end(python: str) -> None:
    script = [python, "-W", "ignore", str(ROOT / "benchmarks" / "training.py")]
    command = [*script, "--json", "--level", "1e-10"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found = {row.pop("bug"): row for row in map(json.loads, done.stdout.splitlines())}
    refuted = {bug: {kind for kind, yes in row.items() if yes} for bug, row in found.items()}
    assert refuted == {
        "none": set(),
        "noise once per epoch": {"steps"},
        "batch clipped": {"steps"},
        "shuffled": {"sampler"},
    }
