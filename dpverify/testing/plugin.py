"""The pytest plugin: defaults for privacy tests, and a summary of what they found.

It imports only the standard library and pytest; the library itself is loaded by the tests that
use it. What a test found travels as `user_properties`: to JUnit files, and with pytest-xdist from
the workers to the summary.
"""

import math
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpverify.testing.context import (
    FEWEST,
    LEVEL,
    LEVELS,
    SAMPLES,
    PrivacyFinding,
    PytestRun,
    running,
)

_PREFIX = "privacy_"
_MARKER = (
    "privacy(level=…, samples=…): the probability that a correct mechanism fails the test, and the "
    "most draws on each side"
)
_ALARM = (
    "false_alarm(p): fails on correct code with probability at most p, all privacy tests that it "
    "runs included"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("privacy", "privacy tests (dpverify)")
    group.addoption(
        "--privacy-level",
        type=float,
        default=None,
        help=f"probability that a correct mechanism fails a privacy test (default {LEVEL:g})",
    )
    group.addoption(
        "--privacy-samples",
        type=int,
        default=None,
        help=f"most draws on each side in a privacy test (default {SAMPLES:,})",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.addinivalue_line("markers", _ALARM)
    _check("--privacy-level", config.getoption("--privacy-level"), low=LEVELS[0], high=LEVELS[1])
    _check("--privacy-samples", config.getoption("--privacy-samples"), low=FEWEST, high=math.inf)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse `privacy` markers with unknown arguments before anything runs."""
    for item in items:
        _marked(item)
        _limits(config, item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    run = _limits(item.config, item)
    run.name = item.name
    with running(run):
        try:
            return (yield)
        finally:
            item.user_properties += [
                entry for record in run.findings for entry in _properties(record)
            ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("false_alarm"):
        item.user_properties.append((f"{_PREFIX}false_alarm", float(mark.args[0])))


@pytest.fixture
def privacy_ledger(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens ledgers for one test, `privacy_ledger(budget=…, relation=…)`, each in a new file.

    Code that is guarded by a ledger is tested without touching the real one. When the test ends,
    every file is checked: all hashes and sums, and that no budget was overspent.
    """
    opened: list[Any] = []

    def open_ledger(**options: Any) -> Any:  # noqa: ANN401  # dpverify.Ledger, loaded here
        from dpverify.ledger import Ledger  # noqa: PLC0415  # the library is loaded by tests

        opened.append(Ledger.open(tmp_path / f"{len(opened)}.ledger", **options))
        return opened[-1]

    yield open_ledger
    for ledger in opened:
        ledger.verify()


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401  # untyped in pytest
    alarms: list[float] = []
    rows: list[tuple[str, dict[str, Any]]] = []
    for report in _called(terminalreporter):
        marked = [float(value) for name, value in _told(report) if name == "false_alarm"]
        alarms += marked  # a marker speaks for the whole test, its privacy tests included
        rows += [] if marked else [(report.nodeid, row) for row in _rows(report)]
    if not rows and not alarms:
        return
    terminalreporter.section("privacy")
    for nodeid, row in rows:
        terminalreporter.write_line(_sentence(nodeid, row))
    total = math.fsum([*(float(row["level"]) for _, row in rows), *alarms])
    parts = [_number(len(rows), "privacy test")] if rows else []
    parts += [_number(len(alarms), "other statistical test")] if alarms else []
    terminalreporter.write_line(
        f"{' and '.join(parts)}: on correct code the probability of any failure is at most "
        f"{total:.3g}"
    )


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _sentence(nodeid: str, record: dict[str, Any]) -> str:
    if record["rung"] == "certify":
        verdict = "proved" if record["proved"] else "REFUTED"
        return f"{nodeid}: {record['claim']} {verdict} by certify: {record['said']}"
    verdict = "REFUTED" if record["refuted"] else "not refuted"
    ladder = f"; by {record['rung']}, certify: {record['said']}" if record["rung"] else ""
    note = f"; {record['note']}" if record["note"] else ""
    return (
        f"{nodeid}: {record['claim']} {verdict}; "
        f"ε ≥ {float(record['epsilon_lower']):.3f} shown at δ = {float(record['delta']):g}; "
        f"{_number(int(record['pairs']), 'pair')}, {int(record['samples']):,} draws a side, "
        f"level {float(record['level']):g}{ladder}{note}"
    )


def _properties(record: PrivacyFinding) -> Iterator[tuple[str, Any]]:
    """One property per field, with plain values that JUnit and xdist can carry."""
    for name in PrivacyFinding.__slots__:
        if name != "name":
            yield f"{_PREFIX}{name}", getattr(record, name)


def _called(reporter: Any) -> Iterator[Any]:  # noqa: ANN401
    """The reports of all workers on the tests that ran, each test once."""
    for reports in reporter.stats.values():
        yield from (report for report in reports if getattr(report, "when", None) == "call")


def _told(report: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """The names and values of all fields that privacy tests reported."""
    for name, value in report.user_properties:
        if str(name).startswith(_PREFIX):
            yield str(name).removeprefix(_PREFIX), value


def _rows(report: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """The findings of a test, each from consecutive fields.

    A refutation in a test that did not fail was asked for, as by `pytest.raises`: its level is not
    a chance that the test fails.
    """
    fields = [name for name in PrivacyFinding.__slots__ if name != "name"]
    row: dict[str, Any] = {}
    for name, value in _told(report):
        if name in fields:
            row[name] = value
            if name == fields[-1]:
                if report.outcome == "failed" or not row["refuted"]:
                    yield row
                row = {}


def _limits(config: pytest.Config, item: pytest.Item) -> PytestRun:
    """The level and number of draws of a test, from its marker or else the options."""
    marked = _marked(item)
    return PytestRun(
        level=marked.get("level", config.getoption("--privacy-level")),
        samples=marked.get("samples", config.getoption("--privacy-samples")),
    )


def _marked(item: pytest.Item) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in item.iter_markers("privacy"):  # the closest first
        unknown = set(mark.kwargs) - {"level", "samples"}
        if mark.args or unknown:
            raise pytest.UsageError(
                f"{item.nodeid}: the marker must be privacy(level=…, samples=…), "
                f"not {mark.args or sorted(unknown)}"
            )
        _check(f"{item.nodeid}: level", mark.kwargs.get("level"), low=LEVELS[0], high=LEVELS[1])
        _check(f"{item.nodeid}: samples", mark.kwargs.get("samples"), low=FEWEST, high=math.inf)
        found = dict(mark.kwargs) | found
    return found


def _check(name: str, value: object, *, low: float, high: float) -> None:
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:  # type: ignore[operator]  # a number
        allowed = f"at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise pytest.UsageError(f"{name}={value!r} must be a number {allowed}")
