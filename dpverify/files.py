"""Files that are written whole or not at all."""

import contextlib
import os
import shutil
from pathlib import Path


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text so that a kill or a full disk leaves the file as it was before.

    It is written beside the file, and then takes its place. What is no file, such as /dev/stdout
    or a pipe, and a file in a folder that nobody may write to, is written in place.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "page.html")
    >>> write_whole(path, "old"); write_whole(path, "new")
    >>> path.read_text(), [each.name for each in path.parent.iterdir()]
    ('new', ['page.html'])
    """
    given, target = Path(path), Path(os.path.realpath(path))  # a link stays one
    if given.is_file():
        with given.open("ab"):  # refuse what may not be written to
            pass
    if given.exists() and not (given.is_file() and os.access(target.parent, os.W_OK)):
        given.write_text(text, encoding="utf-8")
        return
    beside = target.with_name(f".dpverify-{os.getpid()}-{target.name[:99]}")
    try:
        beside.write_text(text, encoding="utf-8")
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:  # said of the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
