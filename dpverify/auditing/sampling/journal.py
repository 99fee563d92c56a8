"""Draws kept on disk, so that an interrupted audit can resume.

An audit is a function of its inputs, its seed and its draws; so a file that holds the draws holds
the audit. The first line names the audit in JSON. After it come records: eight bytes of length,
four of CRC-32, and the draws of one part as a NumPy archive. Where an audit draws from several
pairs, as a search does, each has a chapter of its own, and every record names its chapter. A record
is only ever appended, and one that is not whole is cut off when the file is opened again; so
whenever the process is killed, or the disk is full, the file holds all parts that were finished
before.
"""

import io
import json
import os
import struct
import zipfile
import zlib
from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.sampling.drawing import Side, Target
from dpverify.auditing.sampling.outputs import Outputs
from dpverify.errors import InvalidParameter, shown
from dpverify.fingerprint import digest

_FORMAT = "dpverify checkpoint 3"
_HEAD = struct.Struct("<QI")
_LONGEST_HEADER = 1 << 20


class Journal:
    """A checkpoint file with the parts drawn so far; a context manager closes it.

    Draws are read and kept by chapter. Where the file can no longer be written the audit goes on
    without it, and `failure` says why.
    """

    def __init__(self, path: str | Path, audit: dict[str, str]) -> None:
        """Open the checkpoint of `audit` or create one; raise if it belongs to another audit."""
        self._path = _path("checkpoint", path)
        self._end = 0  # of the last whole record
        self._chapters: dict[str, Chapter] = {}
        self.failure: str | None = None
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):
            raise InvalidParameter(
                f"checkpoint={str(self._path)!r} must be a checkpoint or a new file, not a device "
                "or a pipe"
            )
        try:
            if not self._path.exists() or self._path.stat().st_size == 0:
                _write_atomically(self._path, _first_line(audit))
            self._file = self._path.open("r+b", buffering=0)  # so that nothing is left to flush
        except OSError as error:
            raise InvalidParameter(
                f"checkpoint={str(self._path)!r} must be a file that can be written: "
                f"{error.strerror}"
            ) from error
        try:
            self._read(audit)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._fail(error)
        self._file.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the verdict on problems with the file."""
        if self.failure is None:
            return ()
        return (f"the checkpoint could not be written to its end: {self.failure}",)

    def chapter(self, name: str = "") -> "Chapter":
        """The draws from one pair with one seed."""
        return self._chapters.setdefault(name, Chapter(self, name))

    def write(self, payload: bytes) -> bool:
        """Append a record; if the disk is full, remove the partial record and write no more."""
        if self.failure is not None:
            return False
        try:
            self._file.seek(self._end)  # over a record that an interrupt has left unfinished
            left = memoryview(_framed(payload))
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._fail(error)
            return False
        self._end = self._file.tell()
        return True

    def _fail(self, error: OSError) -> None:
        self.failure = f"{type(error).__name__}: {error}"
        with suppress(OSError):  # what is not whole is cut off when the file is read, too
            self._file.truncate(self._end)

    def _read(self, audit: dict[str, str]) -> None:
        """Read all records; the first incomplete one, and all after it, are cut off."""
        with self._path.open("rb") as file:
            header = _header(file)
            if header is None:
                raise InvalidParameter(
                    f"checkpoint={str(self._path)!r} must be a checkpoint or a new file"
                )
            other = _differing(header, audit)
            if other:
                raise InvalidParameter(
                    f"checkpoint={str(self._path)!r} must belong to this audit: it was made with "
                    f"another {', '.join(other)}"
                )
            self._end = file.tell()
            for _, found in _records(file):
                self.chapter(found.chapter).know(found)
                self._end = file.tell()
        self._file.truncate(self._end)


class StoredDraws(NamedTuple):
    """Draws of one side from index `start` on, made one by one or in one block."""

    chapter: str
    side: Side
    start: int
    singly: bool
    outputs: Outputs

    @property
    def place(self) -> tuple[str, int, Side, bool]:
        return self.chapter, self.start, self.side, self.singly


class Chapter:
    """The draws from one pair with one seed, in the file of their audit."""

    def __init__(self, journal: Journal, name: str) -> None:
        self.journal = journal
        self.name = name
        self._parts: dict[tuple[Side, int, bool], Outputs] = {}
        self._starts: dict[tuple[Side, bool], list[int]] = defaultdict(list)  # in order

    def chapter(self, name: str) -> "Chapter":
        """The chapter for other draws from the same pair."""
        return self.journal.chapter(f"{self.name} {name}")

    def part(self, side: Side, start: int, *, singly: bool) -> Outputs | None:
        """The stored part that begins at `start` and was drawn in this manner, if there is one."""
        return self._parts.get((side, start, singly))

    def since(self, side: Side, start: int, *, singly: bool) -> Outputs | None:
        """The stored draws from `start` to the end of the part that contains it, if any."""
        starts = self._starts[side, singly]
        before = bisect(starts, start) - 1
        if before < 0:
            return None
        first = starts[before]
        part = self._parts[side, first, singly]
        return part.between(start - first, part.size) if start < first + part.size else None

    def keep(self, side: Side, start: int, outputs: Outputs, *, singly: bool) -> None:
        """Write a part to disk, if the disk still takes it."""
        part = StoredDraws(self.name, side, start, singly, outputs)
        if self.journal.write(_packed(part)):
            self.know(part)

    def know(self, part: StoredDraws) -> None:
        """Remember a part that is on disk."""
        key = (part.side, part.start, part.singly)
        if key not in self._parts:
            insort(self._starts[part.side, part.singly], part.start)
        self._parts[key] = part.outputs


def merge_checkpoints(checkpoints: Sequence[str | Path], into: str | Path) -> int:
    """Merge the draws of several checkpoints of one audit into a new one; return their number.

    They count both sides. What is damaged in a file is left out, and drawn again by the audit that
    is given the new file. Draws that several files hold are the same, and kept once. `draw_share`
    has an example of the whole.

    >>> merge_checkpoints([], "draws")
    Traceback (most recent call last):
        ...
    dpverify.errors.InvalidParameter: checkpoints=[] must be a list that names a file at least
    """
    if isinstance(checkpoints, str) or not isinstance(checkpoints, Sequence) or not checkpoints:
        raise InvalidParameter(
            f"checkpoints={shown(checkpoints)} must be a list that names a file at least"
        )
    paths, target = [_path("checkpoints", path) for path in checkpoints], _path("into", into)
    if target.exists():
        raise InvalidParameter(f"into={str(into)!r} must be a new file: there is one already")
    first: dict[str, str] | None = None
    longest: dict[tuple[str, int, Side, bool], int] = {}
    records: dict[tuple[str, int, Side, bool], bytes] = {}
    for path in paths:
        try:
            with path.open("rb") as file:
                header = _header(file)
                if header is None:
                    raise InvalidParameter(f"checkpoints: {str(path)!r} must be a checkpoint")
                first = first or header
                other = _differing(header, first)
                if other:
                    raise InvalidParameter(
                        f"checkpoints must belong to one audit: {str(path)!r} was made with "
                        f"another {', '.join(other)} than {str(paths[0])!r}"
                    )
                for payload, part in _records(file):
                    if part.outputs.size > longest.get(part.place, 0):
                        longest[part.place] = part.outputs.size
                        records[part.place] = payload
        except OSError as error:
            raise InvalidParameter(
                f"checkpoints: {str(path)!r} must be a file that can be read: {error.strerror}"
            ) from error
    order = sorted(records, key=lambda place: (place[0], place[3], place[1], place[2].value))
    whole = [_first_line(first or {}), *(_framed(records[key]) for key in order)]
    try:
        _write_atomically(target, b"".join(whole))
    except OSError as error:
        raise InvalidParameter(
            f"into={str(into)!r} must be a file that can be written: {error.strerror}"
        ) from error
    return sum(longest.values())


def _path(name: str, value: object) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise InvalidParameter(f"{name}={shown(value)} must be the path of a file")
    return Path(value)


def _first_line(audit: dict[str, str]) -> bytes:
    return json.dumps({"format": _FORMAT, **audit}, ensure_ascii=False).encode() + b"\n"


def _header(file: BinaryIO) -> dict[str, str] | None:
    """The description of the audit that a checkpoint belongs to; None if it is no checkpoint."""
    try:
        header = json.loads(file.readline(_LONGEST_HEADER))
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or header.pop("format", None) != _FORMAT:
        return None
    return header


def _differing(header: dict[str, str], audit: dict[str, str]) -> list[str]:
    return [name for name in audit if header.get(name) != audit[name]]


def _records(file: BinaryIO) -> Iterator[tuple[bytes, StoredDraws]]:
    """The parts in a file, up to the first incomplete one."""
    while (payload := _next_record(file)) is not None:
        part = _unpacked(payload)
        if part is None:
            return
        yield payload, part


def _framed(payload: bytes) -> bytes:
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def _next_record(file: BinaryIO) -> bytes | None:
    """The next record; None if the rest of the file holds no complete one."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length, check = _HEAD.unpack(head)
    if not 0 < length <= os.fstat(file.fileno()).st_size - file.tell():
        return None
    payload = file.read(length)
    return payload if len(payload) == length and zlib.crc32(payload) == check else None


def subject(mechanism: Target, datasets: Mapping[str, object], **rest: object) -> dict[str, str]:
    """What identifies an audit, as texts that differ between different audits."""
    named = {"mechanism": f"{_name(mechanism)} {digest('mechanism', mechanism)}"}
    named |= {name: digest("dataset", data) for name, data in datasets.items()}
    return named | {name: repr(value) for name, value in rest.items()}


def _name(mechanism: Target) -> str:
    kind = mechanism if hasattr(mechanism, "__qualname__") else type(mechanism)
    return f"{kind.__module__}.{kind.__qualname__}"


def _packed(part: StoredDraws) -> bytes:
    outputs = part.outputs
    names: dict[str, Any] = {
        "chapter": part.chapter,
        "side": part.side.name,
        "start": part.start,
        "singly": part.singly,
        "size": outputs.size,
        "columns": list(outputs.columns),
        "texts": list(outputs.texts),
        "marks": list(outputs.marks),
        "unread": list(outputs.unread),
    }
    columns = [outputs.column(name) for name in outputs.columns]
    arrays: list[NDArray[Any]] = [np.array(columns).reshape(len(columns), outputs.size)]
    arrays += [outputs.text(name) for name in (*outputs.texts, *outputs.marks)]
    buffer = io.BytesIO()
    np.savez(buffer, np.array(json.dumps(names)), *arrays, allow_pickle=False)
    return buffer.getvalue()


def _unpacked(payload: bytes) -> StoredDraws | None:
    """The part stored in a record; None if the record holds none."""
    try:
        with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
            names = json.loads(str(archive["arr_0"]))
            arrays = [archive[f"arr_{i + 1}"] for i in range(len(archive.files) - 1)]
        columns = dict(zip(names["columns"], arrays[0], strict=True))
        cut = 1 + len(names["texts"])
        texts = dict(zip(names["texts"], arrays[1:cut], strict=True))
        marks = dict(zip(names["marks"], arrays[cut:], strict=True))
        outputs = Outputs(names["size"], columns, texts, marks, names["unread"])
        if any(len(part) != outputs.size for part in (*columns.values(), *arrays[1:])):
            return None
        side, start, singly = Side[names["side"]], int(names["start"]), bool(names["singly"])
        return StoredDraws(str(names["chapter"]), side, start, singly, outputs)
    except (KeyError, IndexError, TypeError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def _write_atomically(path: Path, data: bytes) -> None:
    """Write all of the data or nothing, so that no reader sees a partial file."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
