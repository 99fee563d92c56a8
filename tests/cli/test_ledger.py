"""The verb `ledger`: exit codes, JSON, exports, and misuse in one sentence that changes nothing."""

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import run
from dpverify.errors import LedgerDamaged
from dpverify.ledger import Ledger
from dpverify.ledger import ledger as ledger_module
from tests.ledger.conftest import tmp_path

__all__ = ["tmp_path"]  # in memory

BUDGET = ["--epsilon", "3", "--delta", "1e-6", "--relation", "add-remove"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opened") / "budget.ledger"
    assert run(["ledger", "open", str(path), *BUDGET]) == 0
    return path


@pytest.fixture
def file(opened: Path, tmp_path: Path) -> str:
    return str(shutil.copy(opened, tmp_path / "budget.ledger"))


def told(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:  # noqa: ANN401
    """The one JSON object that a command prints."""
    assert run(["ledger", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_day_in_the_life_of_a_budget(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    granted = told(["spend", file, "gaussian(sigma=50)", "--label", "mean age"], capsys)
    assert granted["granted"]
    assert granted["charged"]["charge"] == {"squared_mu": "1/2500"}
    refused = told(["spend", file, "gaussian(sigma=1)*5"], capsys, code=1)
    assert not refused["granted"]
    assert "must fit what is left" in refused["reason"]
    both = told(["spend", file, "gaussian(sigma=50)*2 + laplace(scale=90)"], capsys)
    assert both["charged"]["mechanism"] == "2 × Gaussian(sigma=50) + 1 × Laplace(scale=90)"
    status = told(["status", file], capsys)
    (main,) = status["datasets"]
    assert (main["dataset"], main["requests"], main["theorem"]) == ("main", 2, "gaussian-filter")
    assert main["budget"] == {"version": 1, "kind": "ApproxDP", "epsilon": 3.0, "delta": 1e-06}
    history = told(["history", file], capsys)["entries"]
    assert [entry["label"] for entry in history] == ["", "mean age", ""]
    assert status["head"] == history[-1]["hash"]


def test_the_list_of_verbs_is_whole_at_40_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["ledger", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.split("Commands:")[1]
    assert max(map(len, shown.splitlines())) <= 40


def test_words_for_people(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ledger", "spend", file, "gaussian(sigma=50)"]) == 0
    assert "granted: entry 2, gaussian(sigma=50) for main" in capsys.readouterr().out
    assert run(["ledger", "spend", file, "gaussian(sigma=1)"]) == 1
    assert capsys.readouterr().out.startswith("refused: mechanism=Gaussian(sigma=1)")
    assert run(["ledger", "status", file, "--dataset", "main"]) == 0
    shown = capsys.readouterr().out
    assert "of ε = 3, δ = 1e-06 (add-remove) spent" in shown
    assert "a budget that would have sufficed" in shown
    assert run(["ledger", "history", file]) == 0
    assert "budget" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("label", "shown"),
    [("[/x]", "[/x]"), ("[red]a[/red]", "[red]a[/red]"), ("a\x1b[2Jb", r"a\x1b[2Jb"), ("é∑", "é∑")],
)
def test_labels_are_shown_as_they_are(
    file: str,
    label: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["ledger", "open", file, *BUDGET, "--dataset", "[/b]\\"]) == 0
    assert "[/b]\\: 0% of ε" in capsys.readouterr().out
    spend = ["ledger", "spend", file, "gaussian(sigma=50)", "--dataset", "main", "--label", label]
    assert run(spend) == 0
    assert run(["ledger", "history", file]) == 0
    assert shown in capsys.readouterr().out


def test_a_dry_run_charges_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["spend", file, "gaussian(sigma=50)", "--dry-run"], capsys)["granted"]
    assert run(["ledger", "spend", file, "gaussian(sigma=1)", "--dry-run"]) == 1
    assert "does not fit" in capsys.readouterr().out
    assert told(["status", file], capsys)["datasets"][0]["requests"] == 0


@pytest.mark.parametrize(
    ("options", "by"),
    [
        (["--rho", "0.5"], "zcdp-filter"),
        (["--mu", "1"], "gaussian-filter"),
        (["--epsilon", "1", "--order", "8"], "renyi-filter"),
        (
            ["--epsilon", "1", "--delta", "1e-6", "--by", "renyi", "--orders", "8,16"],
            "renyi-filter",
        ),
        (["--epsilon", "1", "--delta", "1e-6", "--plan", "gaussian(sigma=50)*20"], "plan-filter"),
    ],
)
def test_every_kind_of_budget(
    tmp_path: Path, options: list[str], by: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "b.ledger")
    found = told(["open", path, "--relation", "add-remove", *options], capsys)
    assert found["datasets"][0]["theorem"] == by
    assert told(["spend", path, "gaussian(sigma=50)"], capsys)["granted"]


def test_exports(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = r"_$\bad$ <b>"  # no formula, and not hidden from the legend
    run(["ledger", "open", file, "--mu", "1", "--relation", "add-remove", "--dataset", odd])
    run(["ledger", "spend", file, "gaussian(sigma=50)", "--dataset", "main", "--label", "=1+1"])
    for name in ("page.html", "all.json", "all.csv"):
        capsys.readouterr()
        assert run(["ledger", "export", file, str(tmp_path / name)]) == 0
        assert "written" in capsys.readouterr().out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.split("<svg")[0]
    assert "gaussian-filter" in page
    frames = json.loads(page.split('class="frames">')[1].split("</script>")[0])
    assert [(curve["label"], curve["steps"]) for curve in frames[0]["curves"]] == [
        ("main", True),
        (odd, True),
    ]
    assert '<table class="cards">' in page  # a row is a card where the page is narrow
    whole = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert [entry["seq"] for entry in whole["entries"]] == [1, 2, 3]
    assert whole["head"] == whole["entries"][-1]["hash"]
    table = (tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 4
    assert "'=1+1" in table[3]
    assert told(["export", file, str(tmp_path / "all.csv")], capsys)["entries"] == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["spend", "FILE", "rdp(order=8, epsilon=0.1)"], "Gaussian guarantee"),
        (["spend", "FILE", "gaussian(sigma=-1)"], "sigma=-1"),
        (["spend", "FILE", "noise"], "expression='noise'"),
        (["spend", "FILE", "gaussian(sigma=50)", "--dataset", "other"], "dataset='other'"),
        (["open", "FILE", *BUDGET], "must be new"),
        (["open", "NEW", "--relation", "add-remove"], "epsilon=None"),
        (["open", "NEW", "--epsilon", "1", "--relation", "sideways"], "relation='sideways'"),
        (["open", "NEW", *BUDGET, "--by", "magic"], "by='magic'"),
        (
            ["open", "NEW", "--epsilon", "1", "--order", "inf", "--relation", "add-remove"],
            "must have a finite order",
        ),
        (["spend", "FILE", "gaussian(sigma=50)", "--label", "\udcff"], "that UTF-8 can hold"),
        (["open", "NEW", *BUDGET, "--orders", "one"], "must be a real number"),
        (["status", "NEW"], "there is none"),
        (["history", "FILE", "--dataset", "other"], "dataset='other'"),
        (["export", "FILE", "page.txt"], "must end in"),
    ],
)
def test_misuse_is_one_sentence(
    file: str,
    tmp_path: Path,
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(["ledger", "spend", file, "gaussian(sigma=50)"])
    before = Path(file).read_bytes()
    capsys.readouterr()
    places = {"FILE": file, "NEW": str(tmp_path / "new.ledger")}
    assert run(["ledger", *(places.get(each, each) for each in arguments)]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not shown.out
    assert Path(file).read_bytes() == before
    assert not (tmp_path / "new.ledger").exists()


def test_a_damaged_file_is_named(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for label in ("mean age", "mean wage", "count"):
        run(["ledger", "spend", file, "gaussian(sigma=50)", "--label", label])
    damaged = Path(file).read_bytes().replace(b"mean age", b"mean wag")
    Path(file).write_bytes(damaged)
    capsys.readouterr()
    spend = ["spend", file, "gaussian(sigma=50)"]
    for arguments in (["status", file], spend, [*spend, "--dry-run"]):
        assert run(["ledger", *arguments]) == 2
        assert "entry=2 must be as it was written" in capsys.readouterr().err
    assert Path(file).read_bytes() == damaged


def test_a_kept_hash_must_still_be_there(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever computes all hashes anew is found out by it."""
    older = Path(file).read_bytes()
    run(["ledger", "spend", file, "gaussian(sigma=50)"])
    capsys.readouterr()
    kept = told(["status", file], capsys)["head"]
    run(["ledger", "spend", file, "gaussian(sigma=50)"])
    capsys.readouterr()
    assert told(["status", file, "--since", kept], capsys)["head"] != kept
    Path(file).write_bytes(older)
    for label in ("other", "entries"):
        run(["ledger", "spend", file, "gaussian(sigma=60)", "--label", label])
    capsys.readouterr()
    for since, why in ((kept, "must be the hash of an entry"), ("12ab", "64 hexadecimal digits")):
        assert run(["ledger", "status", file, "--since", since]) == 2
        shown = capsys.readouterr()
        assert why in shown.err
        assert shown.out == ""
    with pytest.raises(LedgerDamaged, match="must be the hash of an entry"):
        Ledger(file).verify(since=kept)


def test_a_clock_behind_the_last_entry_is_refused(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spend = ["ledger", "spend", file, "gaussian(sigma=50)"]
    today = ledger_module.now()
    monkeypatch.setattr(ledger_module, "now", lambda: today + dt.timedelta(days=400))
    assert run(spend) == 0
    monkeypatch.setattr(ledger_module, "now", lambda: today)
    before = Path(file).read_bytes()
    capsys.readouterr()
    assert run(spend) == 2
    shown = capsys.readouterr()
    assert "must not be behind the last entry" in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert Path(file).read_bytes() == before
    assert run([*spend, "--ignore-clock"]) == 0


def test_a_budget_that_nobody_used_has_no_picture(tmp_path: Path) -> None:
    file, page = tmp_path / "b.ledger", tmp_path / "page.html"
    assert run(["ledger", "open", str(file), "--epsilon", "3", "--relation", "add-remove"]) == 0
    assert run(["ledger", "status", str(file), "--report", str(page)]) == 0
    assert "Over time" not in page.read_text("utf-8")
    assert run(["ledger", "spend", str(file), "laplace(2)"]) == 0
    assert run(["ledger", "status", str(file), "--report", str(page)]) == 0
    assert "Over time" in page.read_text("utf-8")
    assert "days since" not in page.read_text("utf-8")  # it is a moment old
