"""The ledger's file: what it tells, whom it serves at once, and what it survives."""

# ruff: noqa: ANN401  # requests of any kind

import copy
import datetime as dt
import hashlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import dpverify as dpv
from dpverify.errors import LedgerDamaged
from dpverify.ledger import ledger as ledger_module
from solvers import PrivateLogisticRegression, PrivateMedian, PrivateSelection
from tests.ledger.children import in_a_child, sentence_of
from tests.ledger.spenders import fight

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
BUDGET = dpv.ApproxDP(epsilon=3.0, delta=1e-6)
NOISE = dpv.Gaussian(sigma=50.0)


@pytest.fixture
def ledger(tmp_path: Path) -> dpv.Ledger:
    return dpv.Ledger.open(tmp_path / "b.ledger", budget=BUDGET, relation=ADD_REMOVE)


def test_what_is_spent_is_told(ledger: dpv.Ledger) -> None:
    with ledger.spend(NOISE, label="mean age", user="ada") as receipt:
        assert receipt.entry.charge == {"squared_mu": "1/2500"}
    ledger.spend(dpv.Gaussian(sigma=5.0), times=3)
    opened, first, second = ledger.history()
    assert (opened.kind, opened.share) == ("open", 0.0)
    assert (first.user, first.label, first.mechanism) == ("ada", "mean age", "Gaussian(sigma=50.0)")
    assert (second.times, second.charge) == (3, {"squared_mu": "3/25"})
    status = ledger.status()
    assert status.requests == 2
    assert status.spent["squared_mu"] == Fraction(301, 2500)
    assert status.share == second.share == ledger.filter().share
    assert status.least_sigma == ledger.filter().remaining(dpv.Gaussian)
    assert ledger.verify() == second.hash


def test_the_same_file_opened_again_goes_on(ledger: dpv.Ledger) -> None:
    before = [ledger.request(dpv.Gaussian(sigma=3.0)) for _ in range(3)]
    again = dpv.Ledger(ledger.path)
    after = [again.request(dpv.Gaussian(sigma=3.0)) for _ in range(3)]
    guard = dpv.Filter(BUDGET, ADD_REMOVE)
    assert before + after == [guard.request(dpv.Gaussian(sigma=3.0)) for _ in range(6)]
    assert again.filter().spent == guard.spent


def test_datasets_have_budgets_of_their_own(ledger: dpv.Ledger) -> None:
    dpv.Ledger.open(
        ledger.path, budget=dpv.PureDP(epsilon=1.0), relation=REPLACE_ONE, dataset="health"
    )
    assert ledger.datasets == ("main", "health")
    ledger.spend(dpv.Laplace(scale=2.0), dataset="health")
    assert [status.share for status in ledger.statuses()] == [0.0, 0.5]
    assert [entry.dataset for entry in ledger.history("health")] == ["health", "health"]
    with pytest.raises(dpv.InvalidParameter, match="main, health"):
        ledger.spend(dpv.Laplace(scale=2.0))
    with pytest.raises(dpv.InvalidParameter, match="'main' must be new"):
        dpv.Ledger.open(ledger.path, budget=BUDGET, relation=ADD_REMOVE)


def test_a_refusal_raises_and_charges_nothing(ledger: dpv.Ledger) -> None:
    ran = []
    with (
        pytest.raises(dpv.BudgetExceeded, match="must fit what is left"),
        ledger.spend(dpv.Gaussian(sigma=1.0)),
    ):
        ran.append(1)
    assert not ran
    assert len(ledger.history()) == 1
    assert not ledger.request(dpv.Gaussian(sigma=1.0))
    assert not ledger.fits(dpv.Gaussian(sigma=1.0))
    assert ledger.request(dpv.Gaussian(sigma=2.0))


def test_a_release_that_fails_is_charged(ledger: dpv.Ledger) -> None:
    with pytest.raises(ZeroDivisionError), ledger.spend(NOISE):
        _ = 1 / 0
    assert ledger.status().requests == 1


@pytest.mark.parametrize(
    "options",
    [
        {"by": "renyi", "orders": [4.0, 16.0], "leak_share": 0.25},
        {"by": "basic"},
        {"plan": dpv.Accountant(relation=ADD_REMOVE).compose(NOISE, times=100)},
    ],
)
def test_every_way_of_charging_lives_in_a_file(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "b.ledger"
    held = dpv.Ledger.open(path, budget=BUDGET, relation=ADD_REMOVE, **options)
    guard = dpv.Filter(BUDGET, ADD_REMOVE, **options)
    for sigma in (50.0, 70.0, 5.0):
        noise = dpv.Gaussian(sigma=sigma)
        assert held.request(noise) == guard.request(noise)
    assert dpv.Ledger(path).filter().spent == guard.spent
    held.verify()


@pytest.mark.parametrize("kind", [Fraction, np.float32, np.array])
def test_options_of_any_type_of_number_are_kept(tmp_path: Path, kind: Any) -> None:
    options = {"by": "renyi", "orders": [kind(8), kind(4)], "leak_share": kind(0.5)}
    held = dpv.Ledger.open(tmp_path / "b.ledger", budget=BUDGET, relation=ADD_REMOVE, **options)
    guard = dpv.Filter(BUDGET, ADD_REMOVE, by="renyi", orders=[4, 8], leak_share=0.5)
    assert held.filter().scheme == guard.scheme


# Many at once, and killed


def test_two_spenders_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    found = fight(tmp_path, spenders=2, seconds=1.5, kills=4, requests=60)
    assert found.nothing_is_lost
    assert found.share <= 1.0
    assert len(found.entries) <= 60


@pytest.mark.slow
def test_eight_spenders_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    found = fight(tmp_path, spenders=8, seconds=20.0, kills=40, requests=150)
    assert found.nothing_is_lost
    assert len(found.entries) <= 150


# Damage


def test_a_corrupted_byte_is_detected_or_holds_nothing(ledger: dpv.Ledger, tmp_path: Path) -> None:
    for number in range(5):
        ledger.spend(NOISE, label=f"request {number}")
    whole = ledger.path.read_bytes()
    told = ledger.history()
    copy = tmp_path / "torn.ledger"
    detected = 0
    for place in range(0, len(whole), 61):
        torn = bytearray(whole)
        torn[place] ^= 0x41
        copy.write_bytes(torn)
        try:
            assert dpv.Ledger(copy).history() == told
        except dpv.DPVerifyError:
            detected += 1
    assert detected > 40
    place = whole.index(b"request 3")
    copy.write_bytes(whole[:place] + b"R" + whole[place + 1 :])
    with pytest.raises(LedgerDamaged, match="entry=5 must be as it was written"):
        dpv.Ledger(copy).verify()


def edited(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("DROP TRIGGER no_update; DROP TRIGGER no_delete")
    connection.executescript(";".join(statements))
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE entries SET body = replace(body, '50.0', '51.0') WHERE seq = 2", "entry=2"),
        ("DELETE FROM entries WHERE seq = 2", "entry=2"),
        ("DELETE FROM entries WHERE seq = 3", "entry="),
        ("UPDATE entries SET hash = '0' WHERE seq = 3", "entry=3"),
        ("INSERT INTO entries VALUES (4, 'main', '{}', 'x')", "entry="),
        ("UPDATE head SET seq = 2", "entry="),
        ("DELETE FROM head", "head"),
        ("UPDATE entries SET body = CAST(body AS BLOB) WHERE seq = 2", "entry=2"),
        ("PRAGMA user_version = 2", "version=2"),
        ("PRAGMA application_id = 7", "must be a ledger of dpverify"),
        ("DROP TABLE head", "no such table"),
    ],
)
def test_edits_by_hand_are_named(ledger: dpv.Ledger, statement: str, told: str) -> None:
    ledger.spend(NOISE)
    ledger.spend(NOISE)
    edited(ledger.path, statement)
    with pytest.raises(dpv.DPVerifyError, match=told):
        dpv.Ledger(ledger.path).verify()


def test_a_spender_checks_what_it_builds_on(ledger: dpv.Ledger) -> None:
    ledger.spend(NOISE)
    edited(ledger.path, "UPDATE entries SET body = replace(body, '/2500', '/9500') WHERE seq = 2")
    with pytest.raises(LedgerDamaged, match="entry=2"):
        ledger.spend(NOISE)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '50.0', '51.0') WHERE seq = 4",
        "UPDATE entries SET hash = '0' WHERE seq = 4",
        "DELETE FROM entries WHERE seq = 4",
    ],
)
def test_nothing_is_added_to_a_file_with_an_edit_in_its_middle(
    ledger: dpv.Ledger, statement: str
) -> None:
    other = dpv.Ledger(ledger.path)
    other.spend(NOISE)  # and has checked all up to entry 2
    for _ in range(5):
        ledger.spend(NOISE)
    edited(ledger.path, statement)
    before = ledger.path.read_bytes()
    more: dict[str, Any] = {"budget": BUDGET, "relation": ADD_REMOVE, "dataset": "more"}
    for work in (
        lambda: dpv.Ledger(ledger.path).spend(NOISE),
        lambda: dpv.Ledger(ledger.path).fits(NOISE),
        lambda: dpv.Ledger.open(ledger.path, **more),
        lambda: other.spend(NOISE),
    ):
        assert sentence_of(work).startswith("entry=4 must be")
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entries WHERE seq = 5",  # the last of "other"
        "DELETE FROM entries WHERE seq IN (3, 5)",  # all that it spent
        "DELETE FROM entries WHERE dataset = 'other'",
        "UPDATE entries SET dataset = 'main' WHERE seq = 5",
        "DELETE FROM ends WHERE dataset = 'other'",
        "UPDATE ends SET seq = 3 WHERE dataset = 'other'",
        "DELETE FROM entries WHERE seq = 3",  # the one that says how it is charged
    ],
)
def test_nothing_is_granted_twice_for_an_entry_that_is_missing(
    ledger: dpv.Ledger, statement: str
) -> None:
    """Entries 1, 4, 6, 7 are of "main", and 2, 3, 5 of "other", which has room for no more."""
    options: dict[str, Any] = {"budget": BUDGET, "relation": ADD_REMOVE, "dataset": "other"}
    dpv.Ledger.open(ledger.path, **options)
    noise = dpv.Gaussian(sigma=2.5)
    for name in ("other", "main", "other", "main", "main"):
        ledger.spend(noise if name == "other" else NOISE, dataset=name)
    assert not ledger.request(noise, dataset="other")
    edited(ledger.path, statement)
    again = dpv.Ledger(ledger.path)
    for work in (
        lambda: again.spend(noise, dataset="other"),
        lambda: dpv.Ledger.open(ledger.path, **options),
        again.verify,
    ):
        assert sentence_of(work).startswith(("entry=", "entries must be", "dataset="))


def test_entries_cannot_be_changed_by_accident(ledger: dpv.Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever added"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("content", [b"not a ledger at all", b"SQLite format 3\0" + b"\7" * 200])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.ledger"
    path.write_bytes(content)
    with pytest.raises(dpv.DPVerifyError, match=r"other\.ledger"):
        dpv.Ledger(path)
    with pytest.raises(dpv.DPVerifyError, match=r"other\.ledger"):
        dpv.Ledger.open(path, budget=BUDGET, relation=ADD_REMOVE)
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(dpv.InvalidParameter, match="there is none"):
        dpv.Ledger(tmp_path / "b.ledger")
    with pytest.raises(dpv.InvalidParameter, match="folder that exists"):
        dpv.Ledger.open(tmp_path / "no" / "b.ledger", budget=BUDGET, relation=ADD_REMOVE)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (None, "must be a path"),
        (b"b.ledger", "must be a path"),
        ("a" * 300, "File name too long"),
        ("a\0b", "null"),
        ("/", "is a folder"),
    ],
)
def test_paths_that_no_ledger_can_have(path: Any, why: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=f"^file=.*{why}"):
        dpv.Ledger(path)
    with pytest.raises(dpv.InvalidParameter, match=f"^file=.*{why}"):
        dpv.Ledger.open(path, budget=BUDGET, relation=ADD_REMOVE)


def test_wrong_types_are_told_in_a_sentence(ledger: dpv.Ledger) -> None:
    wrong: Any = 8
    with pytest.raises(dpv.InvalidParameter, match="dataset='8' must have a budget"):
        ledger.history(wrong)
    for work in (
        lambda: dpv.Filter(BUDGET, ADD_REMOVE, by="renyi", orders=wrong),
        lambda: dpv.Odometer(ADD_REMOVE, orders=wrong),
    ):
        with pytest.raises(dpv.InvalidParameter, match="orders=8 must be a list of numbers"):
            work()


def test_what_does_nothing_costs_nothing(ledger: dpv.Ledger) -> None:
    nothing = dpv.Accountant(relation=ADD_REMOVE)
    guard = dpv.Filter(BUDGET, ADD_REMOVE)
    assert guard.request(nothing)
    assert guard.scheme is None
    with pytest.raises(dpv.InvalidParameter, match="must not be the first request"):
        ledger.spend(nothing)
    assert len(ledger.history()) == 1
    ledger.spend(NOISE)
    assert ledger.spend(nothing).entry.charge == {}
    assert ledger.history()[-1].mechanism == "nothing"
    assert ledger.fits(nothing)
    ledger.spend(NOISE)
    assert ledger.status().spent["squared_mu"] == Fraction(2, 2500)


def test_an_older_copy_grants_nothing_again(ledger: dpv.Ledger) -> None:
    older = ledger.path.read_bytes()
    ledger.spend(dpv.Gaussian(sigma=2.0))
    newer = ledger.path.read_bytes()
    ledger.path.write_bytes(older)
    for ask in (lambda: ledger.spend(NOISE), ledger.status, lambda: ledger.fits(NOISE)):
        with pytest.raises(LedgerDamaged, match="entry=2 must be the one that was there before"):
            ask()
    ledger.path.write_bytes(newer)
    assert ledger.spend(NOISE).entry.seq == 3


def test_a_path_means_what_it_meant_when_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        held.append(dpv.Ledger.open("b.ledger", budget=dpv.PureDP(1.0), relation=ADD_REMOVE))
    assert held[0].request(dpv.PureDP(1.0))
    assert [each.status().share for each in held] == [1.0, 0.0]


def test_a_second_name_for_the_file_is_refused(ledger: dpv.Ledger, tmp_path: Path) -> None:
    """What a killed writer left lies beside the name that it used; a symbolic link has no own."""
    (tmp_path / "soft").symlink_to(ledger.path)
    dpv.Ledger(tmp_path / "soft").spend(NOISE)
    os.link(ledger.path, tmp_path / "hard")
    for path in (ledger.path, tmp_path / "hard"):
        with pytest.raises(dpv.InvalidParameter, match=r"must have one name, and has 2"):
            dpv.Ledger(path)
    (tmp_path / "hard").unlink()
    assert ledger.status().requests == 1


def test_another_journal_is_refused(ledger: dpv.Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with pytest.raises(LedgerDamaged, match="journal_mode=wal"):
        ledger.spend(NOISE)


def test_names_that_look_alike_are_one(ledger: dpv.Ledger) -> None:
    options: dict[str, Any] = {"budget": dpv.PureDP(1.0), "relation": ADD_REMOVE}
    dpv.Ledger.open(ledger.path, **options, dataset="caf\u00e9")
    for name, told in (("cafe\u0301", "must be new"), ("main ", "without spaces around it")):
        with pytest.raises(dpv.InvalidParameter, match=told):
            dpv.Ledger.open(ledger.path, **options, dataset=name)
    assert ledger.spend(dpv.PureDP(1.0), dataset="cafe\u0301").entry.dataset == "caf\u00e9"
    assert len(ledger.history("cafe\u0301")) == 2


def test_a_filter_that_shows_a_budget_does_not_charge_it(ledger: dpv.Ledger) -> None:
    assert ledger.filter().fits(NOISE)
    with pytest.raises(dpv.InvalidParameter, match="request must be made of the ledger"):
        ledger.filter().request(NOISE)


class Asking:
    """A mechanism that spends while it is asked what it costs, and has no name for UTF-8."""

    def __init__(self, held: dpv.Ledger) -> None:
        self.held = held

    def pair(self, relation: dpv.Relation) -> Any:
        self.held.spend(NOISE)
        return NOISE.pair(relation)

    def __repr__(self) -> str:
        return "\udcff"


def test_a_mechanism_may_ask_the_ledger_while_it_is_charged(
    ledger: dpv.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "\udcff\x1b[2J")
    ledger.spend(Asking(ledger))
    last = ledger.history()[-1]
    assert (last.seq, last.mechanism, last.user) == (3, "\\udcff", "\\udcff\\x1b[2J")


# Surroundings


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter; those of pytest are private."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_can_be_read_and_not_spent_from(open_folder: Path) -> None:
    held = dpv.Ledger.open(open_folder / "b.ledger", budget=BUDGET, relation=ADD_REMOVE)
    held.spend(NOISE)
    before = held.path.read_bytes()
    held.path.chmod(0o444)
    open_folder.chmod(0o555)

    def work() -> str:
        if os.geteuid() == 0:
            os.setuid(65534)
        status = dpv.Ledger(held.path).status()
        return f"{status.requests}: {sentence_of(lambda: held.spend(NOISE))}"

    told = in_a_child(work)
    assert told.startswith("1: file=")
    assert "readonly" in told
    assert held.path.read_bytes() == before


def test_a_full_disk_leaves_the_ledger_as_it_was(ledger: dpv.Ledger) -> None:
    ledger.spend(NOISE)
    before = ledger.path.read_bytes()

    def work() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before), len(before)))
        return sentence_of(lambda: ledger.spend(NOISE, label="x" * 100_000))

    told = in_a_child(work)
    assert told.startswith("file=")
    assert "full" in told or "I/O" in told
    assert ledger.status().requests == 1
    assert ledger.path.read_bytes() == before
    ledger.spend(NOISE)


def test_a_clock_that_goes_backwards_is_told(
    ledger: dpv.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be that the last one was ahead, which must not stop everybody for ever."""
    today = ledger_module.now()
    ahead = today + dt.timedelta(days=36500)
    monkeypatch.setattr(ledger_module, "now", lambda: ahead)
    wrong = ledger.spend(NOISE).entry.time
    monkeypatch.setattr(ledger_module, "now", lambda: today)
    before = ledger.path.read_bytes()
    with pytest.raises(dpv.InvalidParameter, match=r"clock=.* must not be behind the last"):
        ledger.spend(NOISE)
    more: dict[str, Any] = {"budget": BUDGET, "relation": ADD_REMOVE, "dataset": "more"}
    with pytest.raises(dpv.InvalidParameter, match=r"clock=.* must not be behind the last"):
        dpv.Ledger.open(ledger.path, **more)
    assert ledger.path.read_bytes() == before
    assert ledger.spend(NOISE, ignore_clock=True).entry.time == wrong
    monkeypatch.setattr(ledger_module, "now", lambda: ahead - dt.timedelta(seconds=2))
    assert ledger.spend(NOISE).entry.time == wrong  # of a machine whose clock differs a little
    monkeypatch.setattr(ledger_module, "now", lambda: today)
    dpv.Ledger.open(ledger.path, **more, ignore_clock=True)
    assert [entry.seq for entry in ledger.history()] == [1, 2, 3, 4, 5]


def test_times_that_decrease_in_the_file_are_named(
    ledger: dpv.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes entries by other means than `spend`, hashes and all."""
    monkeypatch.setattr(ledger_module, "_time", lambda _, **__: "2020-01-01T00:00:00+00:00")
    ledger.spend(NOISE)
    with pytest.raises(LedgerDamaged, match="entry=2 must not be before"):
        ledger.verify()


@pytest.mark.parametrize(
    ("mechanism", "options", "told"),
    [
        (dpv.RenyiDP(order=4.0, epsilon=0.1), {}, "Gaussian guarantee"),
        (
            dpv.Claim(
                dpv.PureDP(0.1), REPLACE_ONE, dpv.Theorem(name="x", statement="x", source="x")
            ),
            {},
            "relation='add-remove'",
        ),
        (3.0, {}, "mechanism=3.0"),
        (NOISE, {"times": 0}, "times=0"),
        (NOISE, {"dataset": "other"}, "dataset='other'"),
        (NOISE, {"user": ""}, "user=''"),
        (NOISE, {"label": "\udcff"}, "label='.udcff' must be text"),
    ],
)
def test_bad_requests_leave_the_ledger_as_it_was(
    ledger: dpv.Ledger, mechanism: Any, options: dict[str, Any], told: str
) -> None:
    ledger.spend(NOISE)
    before = ledger.path.read_bytes()
    with pytest.raises(dpv.DPVerifyError, match=told):
        ledger.spend(mechanism, **options)
    assert ledger.path.read_bytes() == before


# Guards and other libraries


def test_a_guarded_mechanism_charges_every_draw(ledger: dpv.Ledger) -> None:
    noise = ledger.guard(dpv.Gaussian(sigma=5.0))
    rng = np.random.default_rng(0)
    assert noise.sample(0.0, size=4, rng=rng).shape == (4,)
    assert noise.sigma == 5.0
    assert ledger.status().spent["squared_mu"] == Fraction(4, 25)
    with pytest.raises(dpv.BudgetExceeded):
        noise.sample(0.0, size=1000, rng=rng)


def test_a_guarded_function_charges_every_call(ledger: dpv.Ledger) -> None:
    @ledger.guard(charge=NOISE, label="mean")
    def mean(data: list[float]) -> float:
        """The mean."""
        return sum(data)

    assert mean([1.0, 2.0]) == 3.0
    assert mean.__doc__ == "The mean."
    assert [entry.label for entry in ledger.history()] == ["", "mean"]
    with pytest.raises(dpv.InvalidParameter, match="charge=None"):
        ledger.guard(lambda data: data)
    with pytest.raises(dpv.InvalidParameter, match="options="):
        ledger.guard(mean, price=3)  # type: ignore[call-overload]
    with pytest.raises(dpv.InvalidParameter, match="must be a function"):
        ledger.guard(3)


class Model:
    """An estimator as scikit-learn has them."""

    budget = dpv.PureDP(epsilon=1.0)
    relation = ADD_REMOVE
    fits = 0

    def fit(self, rows: list[float]) -> "Model":
        self.fits += len(rows)
        return self


@pytest.mark.parametrize("of_class", [False, True])
def test_a_guarded_estimator_charges_its_budget_before_the_fit(
    tmp_path: Path, *, of_class: bool
) -> None:
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=2.5), relation=ADD_REMOVE
    )
    model: Any = held.guard(Model)() if of_class else held.guard(Model())
    assert model.fit([1.0]) is model
    model.fit([1.0])
    with pytest.raises(dpv.BudgetExceeded):
        model.fit([1.0])
    assert model.fits == 2
    assert held.status().spent["epsilon"] == 2


class Transformer(Model):
    """An estimator that learns in more ways than one."""

    fit_intercept = True

    def fit_transform(self, rows: list[float]) -> list[float]:
        return [float(self.fit(rows).fits)] * len(rows)

    def partial_fit(self, rows: list[float]) -> "Transformer":
        self.fits += len(rows)
        return self

    def set_params(self) -> "Transformer":
        return self


@pytest.mark.parametrize("of_class", [False, True])
def test_every_way_to_fit_is_charged_once(tmp_path: Path, *, of_class: bool) -> None:
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=3.0), relation=ADD_REMOVE
    )
    model: Any = held.guard(Transformer)() if of_class else held.guard(Transformer())
    assert model.fit_intercept is True
    assert model.fit_transform([1.0]) == [1.0]
    assert model.partial_fit([1.0]) is model
    assert model.set_params().fit([1.0]) is model
    assert held.status().spent["epsilon"] == 3
    for learn in (copy.copy(model).fit, model.fit_transform, model.partial_fit):
        with pytest.raises(dpv.BudgetExceeded):
            learn([1.0])
    assert model.fits == 3


@pytest.mark.parametrize("of_class", [False, True])
def test_clones_of_a_guarded_estimator_are_guarded(tmp_path: Path, *, of_class: bool) -> None:
    """As cross-validation and searches make them."""
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=2.0), relation=ADD_REMOVE
    )

    class Learner(BaseEstimator, Model):  # type: ignore[misc]  # scikit-learn has no types
        pass

    model: Any = held.guard(Learner)() if of_class else held.guard(Learner())
    for double in (clone, copy.deepcopy):
        double(model).fit([1.0])
    with pytest.raises(dpv.BudgetExceeded):
        clone(clone(model)).fit([1.0])
    assert held.status().requests == 2


@pytest.mark.parametrize("of_class", [False, True])
def test_a_fit_inside_a_fit_is_charged(tmp_path: Path, *, of_class: bool) -> None:
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=1.0), relation=ADD_REMOVE
    )

    class Calling(Model):
        def fit(self, rows: list[Any]) -> "Calling":
            for call in rows:
                call(self)
            return self

    model: Any = held.guard(Calling)() if of_class else held.guard(Calling())
    with pytest.raises(dpv.BudgetExceeded):
        model.fit([lambda model: model.fit([])])


class Again(Model):
    """An estimator that fits by methods of other names, and without an instance."""

    def refit(self, rows: list[float]) -> "Again":
        self.fit(rows)
        return self

    @classmethod
    def fit_new(cls, rows: list[float]) -> int:
        return len(rows)

    @staticmethod
    def fit_nothing(rows: list[float]) -> int:
        return len(rows)


@pytest.mark.parametrize("of_class", [False, True])
def test_methods_that_fit_by_another_are_charged_once(tmp_path: Path, *, of_class: bool) -> None:
    options: dict[str, Any] = {"budget": dpv.PureDP(epsilon=3.0), "relation": ADD_REMOVE}
    held = dpv.Ledger.open(tmp_path / "b.ledger", **options)
    other = dpv.Ledger.open(tmp_path / "c.ledger", **options)
    plain = Again()
    model: Any = held.guard(Again)() if of_class else held.guard(plain)
    assert isinstance(model, Again)
    twice = other.guard(model)
    assert twice.refit([1.0]).fits == 1
    assert model.fit_new([1.0]) == model.fit_nothing([1.0]) == 1
    assert (held.status().requests, other.status().requests) == (3, 1)
    for learn in (model.refit, model.fit_new, model.fit_nothing, twice.refit):
        with pytest.raises(dpv.BudgetExceeded):
            learn([1.0])
    plain.refit([1.0])  # the instance itself is as it was


def test_what_a_guard_could_not_see_is_refused(ledger: dpv.Ledger) -> None:
    patched: Any = Model()
    patched.fit = len

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            return getattr(Model(), name)

    for thing in (patched, Proxy()):
        with pytest.raises(dpv.InvalidParameter, match=r"fit of .* must be a method of its class"):
            ledger.guard(thing)


class Drawer:
    """A mechanism that calls the number of draws by another name."""

    def sample(self, data: float, n: int = 1) -> list[float]:
        return [data] * n


def test_draws_that_cannot_be_counted_are_refused(ledger: dpv.Ledger) -> None:
    for thing in (Drawer(), Drawer):
        with pytest.raises(dpv.InvalidParameter, match="must have a parameter size"):
            ledger.guard(charge=NOISE)(thing)
    for times in (0.25, 0, -1):
        with pytest.raises(dpv.InvalidParameter, match="times="):
            ledger.guard(charge=NOISE, times=times)(dpv.Gaussian(sigma=5.0))


def test_a_fit_of_a_private_model_is_charged_as_it_claims(tmp_path: Path) -> None:
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=1.5), relation=ADD_REMOVE
    )
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 2))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    model = held.guard(
        PrivateLogisticRegression(
            budget=dpv.PureDP(epsilon=1.0), relation=ADD_REMOVE, norm_bound=1.0, random_state=0
        )
    )
    model.fit(rows, (rows[:, 0] > 0).astype(int))
    assert model.claim_.guarantee == dpv.PureDP(epsilon=1.0)
    assert held.status().spent["epsilon"] == 1
    with pytest.raises(dpv.BudgetExceeded):
        model.fit(rows, (rows[:, 0] > 0).astype(int))


def test_a_selection_is_charged_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """Its choice costs, too: guards of the models that it fits would not charge that."""
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=2.0), relation=ADD_REMOVE
    )
    ages = np.linspace(20.0, 90.0, 40)
    median = PrivateMedian(budget=dpv.PureDP(epsilon=1.5), relation=ADD_REMOVE, low=0.0, high=100.0)
    asked = [{"quantile": 0.5}, {"quantile": 0.9}]
    inside = PrivateSelection(held.guard(median), candidates=asked, random_state=0)
    with pytest.raises(dpv.InvalidParameter, match="must not be guarded"):
        inside.fit(ages.reshape(-1, 1), ages)
    with pytest.raises(dpv.InvalidParameter, match="budget=None"):
        held.guard(inside).fit(ages.reshape(-1, 1), ages)
    assert held.status().requests == 0
    whole = held.guard(PrivateSelection(median, candidates=asked, random_state=0))
    whole.fit(ages.reshape(-1, 1), ages)
    assert whole.claim_.guarantee == dpv.PureDP(epsilon=1.5)
    assert held.status().spent["epsilon"] == Fraction(3, 2)
    assert held.status().requests == 1


def test_events_of_dp_accounting_are_charged(ledger: dpv.Ledger) -> None:
    events = pytest.importorskip("dp_accounting")
    ledger.spend(events.SelfComposedDpEvent(events.GaussianDpEvent(50.0), 3))
    assert ledger.spend(events.NoOpDpEvent()).entry.charge == {}
    assert ledger.status().spent["squared_mu"] == Fraction(3, 2500)


def test_measurements_of_opendp_are_charged(tmp_path: Path) -> None:
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(bounds=(0, 1))), opendp.symmetric_distance()
    noise = opendp.t.make_sum(*space) >> opendp.m.then_laplace(scale=4.0)
    held = dpv.Ledger.open(
        tmp_path / "b.ledger", budget=dpv.PureDP(epsilon=1.0), relation=ADD_REMOVE
    )
    assert held.request(noise)
    assert held.status().share == pytest.approx(0.25, rel=1e-9)
    scalar = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    with pytest.raises(dpv.InvalidParameter, match="from_opendp"):
        held.spend(opendp.m.make_laplace(*scalar, scale=4.0))
    assert held.request(dpv.from_opendp(opendp.m.make_laplace(*scalar, scale=4.0), d_in=1.0))


def test_the_fixture_opens_ledgers_for_a_test(privacy_ledger: Callable[..., dpv.Ledger]) -> None:
    one = privacy_ledger(budget=BUDGET, relation=ADD_REMOVE)
    two = privacy_ledger(budget=BUDGET, relation=ADD_REMOVE)
    assert one.path != two.path
    assert one.request(NOISE)


def test_exported_entries_can_be_checked_by_others(ledger: dpv.Ledger) -> None:
    ledger.spend(NOISE, label="ünïcode ∑")
    before = hashlib.sha256(b"dpverify ledger").hexdigest()
    for entry in ledger_module.entries_of(ledger):
        text = json.dumps([before, entry["seq"], entry["dataset"], entry["body"]])
        before = hashlib.sha256(text.encode()).hexdigest()
        assert before == entry["hash"]
    assert before == ledger.verify()
