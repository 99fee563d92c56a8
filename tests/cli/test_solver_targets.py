"""Solvers by name: each is audited at its own claim on a pair that is hard to hide."""

import json

import pytest

from dpverify.cli import run
from dpverify.cli.solver_targets import names

SOLVERS = names().split(", ")


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_is_not_refuted(
    name: str, relation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    delta = [] if name == "median" else ["--delta", "1e-3"]
    budget = ["--epsilon", "1", *delta, "--relation", relation]
    options = ["--level", "1e-10", "--samples", "20000", "--json"]
    assert run(["audit", name, *budget, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["refuted"]
    assert found["epsilon_lower"] <= 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "median", "--relation", "add-remove"], "epsilon=None must be the budget"),
        (["audit", "median", "--epsilon", "1"], "relation=None must be given"),
        (["audit", "sgd", "--epsilon", "1", "--relation", "both"], "relation='both' must"),
        (
            ["audit", "median", "--epsilon", "1", "--delta", "0.1", "--relation", "add-remove"],
            "delta=0.1 must be 0 for median",
        ),
        (["audit", "steepest", "--epsilon", "1"], "must look like package.module:name"),
    ],
)
def test_misuse_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert told.err.count("\n") == 1
