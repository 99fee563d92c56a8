"""The benchmarks stay runnable: scripts parse and explain themselves, and dpverify answers them."""

import ast
import gc
import importlib
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pytest

from dpverify.disclosing import check_disclosure
from dpverify.disclosing.text import parsed
from tests.disclosing.test_registry import ENTRY

Importer: TypeAlias = Callable[[str], ModuleType]

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))
TABLES = (
    *("accounting", "adult", "allocation", "composition", "erm", "registry", "run", "tracing"),
    *("learning", "truth"),
)


@pytest.fixture
def benchmark_module(monkeypatch: pytest.MonkeyPatch) -> Importer:
    """Import by bare name, as a script in that folder would."""
    monkeypatch.syspath_prepend(str(BENCHMARKS / "peers"))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def tiny(case: dict[str, Any]) -> dict[str, Any]:
    """The same question about two runs of one part of each kind."""
    kinds = {part["kind"]: part | {"times": min(part["times"], 2)} for part in case["parts"]}
    return case | {"parts": list(kinds.values()), "tolerance": max(case["tolerance"], 1e-2)}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_each_script_parses_and_says_what_it_is(script: Path) -> None:
    assert ast.get_docstring(ast.parse(script.read_text()))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.usefixtures("benchmark_module")
def test_each_table_explains_itself(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith(f"usage: {name}.py")


def test_unknown_case_is_refused() -> None:
    """In a process of its own, as every table is made."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "accounting.py"), "--case", "zebra"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "'zebra'" in done.stderr


@pytest.mark.parametrize("table", ["accounting", "composition"])
def test_dpverify_answers_every_case(table: str, benchmark_module: Importer) -> None:
    solve = benchmark_module("with_dpverify").solve
    for case in benchmark_module(table).CASES:
        found = solve(tiny(case.as_json()), {})
        assert 0 <= found["lower"] <= found["upper"] < 100, case.name


def test_measuring_forgets_what_dpverify_cached(benchmark_module: Importer) -> None:
    ours = benchmark_module("with_dpverify")
    answer = importlib.import_module("dpverify.accounting.accountant")._found
    ours.solve(tiny(benchmark_module("composition").CASES[0].as_json()), {})
    assert answer.cache_info().currsize
    gc.unfreeze()  # what is forgotten is found through the collector
    ours.forget()
    assert not answer.cache_info().currsize


def test_what_was_found_before_the_time_limit_is_kept(benchmark_module: Importer) -> None:
    tools = benchmark_module("tools")
    case = benchmark_module("composition").CASES[0]
    lines = [{"upper": 2.0, "seconds": 0.5}, {"error": "the extra failed"}]
    said = "\n".join(json.dumps(line) for line in lines)
    found = tools._parsed(tools.DPVERIFY, case, said, "")
    assert (found.status, found.upper, found.seconds) == ("done", 2.0, 0.5)


@pytest.mark.parametrize(
    ("lower", "upper", "place", "over"),
    [
        (1.0, 3.0, "inside", 1.0),
        (None, 3.0, "below", 1.0),
        (1.0, 1.5, "ABOVE", -0.5),  # an upper bound under the truth
        (2.5, 3.0, "BELOW", 1.0),
        (1.0, 2.0 - 1e-10, "inside", 0.0),  # closer than the truth is known
    ],
)
def test_where_the_truth_lies(
    lower: float | None, upper: float, place: str, over: float, benchmark_module: Importer
) -> None:
    tables, tools = benchmark_module("tables"), benchmark_module("tools")
    truth = benchmark_module("cases").Truth(value=2.0, error=1e-9)
    found = tools.Measurement(case="x", tool="y", status="done", lower=lower, upper=upper)
    assert (tables.place(found, truth), tables.over(found, truth)) == (place, over)


def test_demands_are_reported_honestly(benchmark_module: Importer) -> None:
    accounting, tools = benchmark_module("accounting"), benchmark_module("tools")
    case = next(case for case in accounting.CASES if case.name == "b1")
    value = case.truth.value

    def found(tool: str, seconds: float, status: str = "done") -> object:
        return tools.Measurement(
            case="b1", tool=tool, status=status, lower=value - 1e-3, upper=value + 1e-3,
            seconds=seconds,
        )  # fmt: skip

    ours, slow = found("dpverify", 1.0), found(accounting.PLD.label, 5.0)
    late, missing = (found(accounting.PRV.label, 10.0, status) for status in ("timeout", "missing"))
    assert [d.met for d in accounting.demands(case, [ours, slow, late])] == [
        False,  # twice as wide as asked
        True,
        True,
        True,
    ]
    assert accounting.demands(case, [ours, slow, missing])[-1].met is None
    failed = found("dpverify", 1.0, "error")
    assert [d.met for d in accounting.demands(case, [failed, slow])][-1] is False


def test_the_registry_is_read_from_a_folder_and_from_git(
    benchmark_module: Importer, tmp_path: Path
) -> None:
    table = benchmark_module("registry")
    folder = tmp_path / "deployments"
    folder.mkdir()
    (folder / "honest.yaml").write_text(ENTRY)
    (folder / "pure.yaml").write_text(ENTRY.replace("Approximate DP", "Pure DP"))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "entries"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    listed = list(table.entries(tmp_path))
    assert [name for name, _ in listed] == ["honest.yaml", "pure.yaml"]
    assert list(table.entries(tmp_path / ".git")) == listed
    told = table.report({name: check_disclosure(parsed(text)) for name, text in listed})
    assert told.startswith("2 entries\n    1  wrong\n    0  incomplete\n    1  stands")
    assert "must be 0 for pure DP" in told


def test_the_registry_schema_is_asked_about_entries(
    benchmark_module: Importer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jsonschema", reason="the validator is not installed")
    table = benchmark_module("registry")
    (tmp_path / "schemas").mkdir()
    (tmp_path / table.SCHEMA).write_text("type: object\nrequired: [url_slug, tier]\n")
    (tmp_path / "one.yaml").write_text(ENTRY)
    assert table.accepted(tmp_path, [tmp_path / "one.yaml"])
    (tmp_path / "two.yaml").write_text("url_slug: x\n")
    assert not table.accepted(tmp_path, [tmp_path / "two.yaml"])
    assert "'tier' is a required property" in capsys.readouterr().out
