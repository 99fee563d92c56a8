"""One place where things are made known: by what they have, under a name of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

import dpverify as dpv
from dpverify.accounting.rules.rule import Rule
from dpverify.cli import run
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.mechanisms.registered import MECHANISMS
from dpverify.pairs import FinitePair
from dpverify.registry import GROUP, load_plugins, name_of
from dpverify.theorems import BASIC_COMPOSITION


@dataclass(frozen=True)
class ThreeDoors:
    """Says the right door of three, or either wrong one, with odds e^ε : 1."""

    ratio: float

    def pair(self, relation: dpv.Relation) -> FinitePair:
        del relation
        odds = Fraction(self.ratio)
        total = odds + 2
        left, right = [odds / total, 1 / total, 1 / total], [1 / total, odds / total, 1 / total]
        return FinitePair(left=left, right=right)


@pytest.fixture
def doors() -> Iterator[type]:
    yield dpv.register(ThreeDoors)
    MECHANISMS.remove("three_doors")


@pytest.mark.usefixtures("doors")
def test_a_registered_mechanism_has_a_name_on_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert parse("three_doors(ratio=3)*2") == [(ThreeDoors(ratio=3), 2)]
    words = ["compose", "three_doors(ratio=3)*20", "--delta", "1e-4", "--relation", "add-remove"]
    assert run(words) == 0
    assert "ThreeDoors(ratio=3)" in capsys.readouterr().out


def test_names() -> None:
    assert name_of(ThreeDoors) == "three_doors"
    assert "gaussian" in MECHANISMS
    with pytest.raises(InvalidParameter, match="mechanism='gauss' must be one of: gaussian, "):
        MECHANISMS["gauss"]


def test_what_is_no_kind_of_thing_is_refused() -> None:
    with pytest.raises(NotSupported, match="must have the members of one kind"):
        dpv.register(3)
    with pytest.raises(InvalidParameter, match="kind='flavor' must be one of: "):
        dpv.register(ThreeDoors, kind="flavor")


def test_a_half_written_rule_is_refused_by_name() -> None:
    class Half(Rule):
        name, theorem = "half", BASIC_COMPOSITION

        def supports(self, parts: object) -> bool:
            return bool(parts)

    with pytest.raises(InvalidParameter, match="rule=Half must define delta, epsilon"):
        Half()  # type: ignore[abstract]


def test_plugins_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
import dpverify as dpv
from dpverify.theorems import LAPLACE

@dpv.register
class Hush:
    claim = dpv.Claim(dpv.PureDP(0.5), None, LAPLACE)
"""
    (tmp_path / "a_plugin.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    load_plugins(["a_plugin"])
    assert "hush" in MECHANISMS
    words = ["compose", "hush()*2", "--delta", "1e-4", "--relation", "add-remove"]
    assert run(["--plugin", "a_plugin", *words]) == 0
    MECHANISMS.remove("hush")
    assert run(["--plugin", "no_plugin", *words]) == 2
    with pytest.raises(InvalidParameter, match="plugin='no_plugin' must be a module"):
        load_plugins(["no_plugin"])


def test_installed_plugins_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b_plugin.py").write_text("loaded = True\n")
    info = tmp_path / "b_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: b-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nb = b_plugin:loaded\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_plugins()
    import b_plugin  # type: ignore[import-not-found]  # noqa: PLC0415  # made above

    assert b_plugin.loaded
