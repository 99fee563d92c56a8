"""Files are written whole or not at all, and stay what they were otherwise."""

import os
import stat
from pathlib import Path

import pytest

from dpverify.files import write_whole

UNWRITABLE = "half of it \ud800"  # no encoding has this character


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, UNWRITABLE)
    assert path.read_text() == "old"
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "new.html", UNWRITABLE)
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    fresh = tmp_path / "fresh.html"
    write_whole(fresh, "")
    kept = os.umask(0)
    os.umask(kept)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o666 & ~kept


def test_devices_are_written_to(tmp_path: Path) -> None:
    write_whole("/dev/null", "text")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "none" / "page.html"
    with pytest.raises(FileNotFoundError) as refused:
        write_whole(path, "text")
    assert refused.value.filename == str(path)


def test_long_names_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 250 + ".html")
    write_whole(path, "text")
    assert path.read_text() == "text"
