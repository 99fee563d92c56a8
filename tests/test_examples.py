"""The examples run as they stand, and tell the story that they promise."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
STORIES = {
    "averages": ("first version: REFUTED", "mended: not refuted", "Gaussian noise of 0.0605"),
    "lecture_notes": ("REFUTED at level 0.01", "not refuted by the same audit"),
    "diagnosis": ("without privacy: 98.6% right", "publishing all four costs", "not refuted"),
    "pipeline": ("first version: leaking", "second version: refuted", "third version: shown"),
}


def test_every_example_has_a_story() -> None:
    """The demo's are told in tests/cli/test_cli.py, together with `dpverify demo`."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*STORIES, "demo"}


@pytest.mark.parametrize("name", STORIES)
def test_an_example_tells_its_story(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    code: object = 0
    try:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    except SystemExit as finished:
        code = finished.code
    assert not code
    shown = capsys.readouterr().out
    for words in STORIES[name]:
        assert words in shown
