"""YAML and JSON are read as plain values, and what could do harm is refused in one sentence."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.disclosing.text import LARGEST, file_text, parsed, written
from dpverify.errors import InvalidParameter

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=20)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc12", max_size=3), inner)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),  # YAML 1.1 takes it for a text
        ("1.0e-06", 1e-6),
        ("no", "no"),
        ("2026-01-02", "2026-01-02"),
        ("12:30", "12:30"),
        ("0x10", "0x10"),
        ("~", None),
        ("true", True),
        ("'1'", "1"),
        (".inf", math.inf),
        ("<<", "<<"),
    ],
)
def test_scalars_by_the_core_schema(text: str, value: object) -> None:
    assert parsed(f"a: {text}") == {"a": value}


@settings(max_examples=50)
@given(TREES)
def test_what_is_written_is_read_again(tree: object) -> None:
    held = {"held": tree}
    assert parsed(written(held)) == held
    assert parsed(written(held, "json")) == held


BOMB = "a: &a [x, x]\n" + "\n".join(
    f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcd", "bcde", strict=True)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB, "alias=*a at line 2 must be written out"),
        ("a: &a\n  b: *a", "alias=*a at line 2"),
        ("a: !!python/object/apply:os.system ['true']", "tag='tag:yaml.org,2002:python"),
        ("a: !!binary aGk=", "tag='tag:yaml.org,2002:binary'"),
        ("a: 1\na: 2", "key='a' at line 2 must be there once"),
        ('{"a": 1, "a": 2}', "key='a' must be there once"),
        ("a: 1\n---\nb: 2", "must be one document"),
        ("[" * 100_000, "levels deep"),
        ('{"a":' * 100_000, "levels deep"),
        ('{"a":' * 900 + "1" + "}" * 900, "levels deep"),
        ("a: [" + "1, " * 120_000 + "1]", "100,000 values"),
        ("? [a, b]\n: 1", "key at line 1 must be a text"),
        ("a: [1", "must be YAML or JSON"),
        ('{"a": "\\ud800"}', "must be text that UTF-8 can hold"),
        ('{"\\ud800": 1}', "must be text that UTF-8 can hold"),
        ("a: \x00", "must be YAML or JSON"),
        ("", "must not be empty"),
        ("# nothing", "must not be empty"),
        ("x" * (LARGEST + 1), "must have at most"),
    ],
    ids=lambda value: value[:20],
)
def test_what_does_harm_is_refused(text: str, told: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        parsed(text)
    assert told in str(refused.value)


def test_a_hundred_megabytes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as opened:
        opened.truncate(100_000_000)
    with pytest.raises(InvalidParameter, match="it has 100,000,000 bytes"):
        file_text(path)


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="file="):
        file_text(tmp_path / name)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(InvalidParameter, match="must be text in UTF-8"):
        file_text(path)
