"""The file of a ledger: entries are only appended, each with a hash of the one before.

SQLite keeps it: a spender holds the write lock from before it reads what is left until what it
spends is on disk, so that two never spend the same budget. A process that is killed, or a disk
that is full, leaves the file as it was before its entry. The rollback journal (not the write-ahead
log) is used: then a ledger is one file, and can be read where nothing can be written.

A table of the last entry, of all and of each dataset, shows what is missing without reading it all.
The hashes show edits, by hand or by a failing disk: not those of someone who computes them anew.
Whoever notes the last hash elsewhere (`status` shows it) can tell that, too.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpverify.errors import InvalidParameter, LedgerDamaged

VERSION = 1
_APPLICATION = 0x6470764C  # "dpvL"
_START = hashlib.sha256(b"dpverify ledger").hexdigest()
_PATIENCE = 60.0  # seconds to wait for another spender
_HEAD = "SELECT seq, hash FROM head"
_ENDS = "SELECT dataset, seq, hash FROM ends"
_ROWS = "SELECT seq, dataset, body, hash FROM entries"
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY, dataset TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE INDEX by_dataset ON entries (dataset, seq);
CREATE TABLE head (seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE ends (dataset TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'entries are only ever added'); END;
"""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One entry as it is stored."""

    seq: int
    dataset: str
    body: str
    hash: str

    @classmethod
    def of(cls, found: tuple[Any, ...]) -> "StoredEntry":
        """The entry in a database row; raise if a column has the wrong type."""
        if tuple(map(type, found)) != (int, str, str, str):
            raise LedgerDamaged(f"entry={found[0]!r} must be as it was written: its columns differ")
        return cls(*found)

    @property
    def told(self) -> dict[str, Any]:
        """The content of the entry."""
        try:
            found: dict[str, Any] = json.loads(self.body)
        except ValueError:
            raise LedgerDamaged(f"entry={self.seq} must be as it was written: no JSON") from None
        return found


def _linked(before: str, seq: int, dataset: str, body: str) -> str:
    """The hash of an entry, from the hash of the entry before."""
    return hashlib.sha256(json.dumps([before, seq, dataset, body]).encode()).hexdigest()


def _check_ends(found: list[tuple[str, int, str]], noted: list[tuple[Any, ...]]) -> None:
    """Raise unless each dataset's last entry is the one noted when it was appended."""
    for name, seq, _ in [*(set(noted) - set(found)), *(set(found) - set(noted))]:
        raise LedgerDamaged(
            f"entry={seq} must be the last one of dataset={name!r}: entries are missing, or added"
        )


class Transaction:
    """The entries as one reader or writer sees them, without what others do meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._run = connection.execute

    @property
    def head(self) -> tuple[int, str]:
        """The number and hash of the last entry."""
        found = self._run(_HEAD).fetchall()
        if [tuple(map(type, row)) for row in found] != [(int, str)]:
            raise LedgerDamaged("head of the ledger must be one row as it was written")
        seq, last = found[0]
        return seq, last

    def datasets(self) -> list[str]:
        """The dataset names in the order in which they were opened."""
        return [str(name) for name, *_ in self._run(f"{_ENDS} ORDER BY rowid")]

    def ends(self, dataset: str) -> list[StoredEntry]:
        """The first two entries of a dataset and its last, each checked against its hash."""
        first = self._run(f"{_ROWS} WHERE dataset = ? ORDER BY seq LIMIT 2", (dataset,)).fetchall()
        last = self._run(f"{_ROWS} WHERE dataset = ? ORDER BY seq DESC LIMIT 1", (dataset,))
        rows = [StoredEntry.of(row) for row in dict.fromkeys([*first, *last.fetchall()])]
        for row in rows:
            self._check(row)
        noted = self._run(f"{_ENDS} WHERE dataset = ?", (dataset,)).fetchall()
        _check_ends([(dataset, row.seq, row.hash) for row in rows[-1:]], noted)
        return rows

    def last(self) -> StoredEntry | None:
        """The last of all entries, checked."""
        seq, found = self.head
        rows = [StoredEntry.of(row) for row in self._run(f"{_ROWS} ORDER BY seq DESC LIMIT 1")]
        if not rows and seq == 0:
            return None
        if not rows or (rows[0].seq, rows[0].hash) != (seq, found):
            raise LedgerDamaged(f"entry={seq} must be the last one: entries are missing, or added")
        self._check(rows[0])
        return rows[0]

    def _check(self, row: StoredEntry) -> None:
        query = "SELECT hash FROM entries WHERE seq = ?"
        before = self._run(query, (row.seq - 1,)).fetchone() if row.seq > 1 else (_START,)
        if before is None:
            raise LedgerDamaged(f"entry={row.seq - 1} must be there: it is missing")
        if _linked(str(before[0]), row.seq, row.dataset, row.body) != row.hash:
            raise LedgerDamaged(f"entry={row.seq} must be as it was written: its hash differs")

    def check_seen(self, seq: int, seen: str) -> None:
        """Raise unless an entry that was seen before is still there."""
        found = self._run("SELECT hash FROM entries WHERE seq = ?", (seq,)).fetchone()
        if found != (seen,):
            raise LedgerDamaged(
                f"entry={seq} must be the one that was there before: the file was replaced"
            )

    def rows(self) -> Iterator[StoredEntry]:
        """Every entry in order, each checked against the one before; then the head."""
        ends: dict[str, tuple[str, int, str]] = {}
        for row in self.rows_after(0, _START):
            ends[row.dataset] = row.dataset, row.seq, row.hash
            yield row
        _check_ends(list(ends.values()), self._run(f"{_ENDS} ORDER BY rowid").fetchall())

    def rows_after(self, seq: int, before: str) -> Iterator[StoredEntry]:
        """The entries after a checked one, each checked likewise; then the head."""
        for found in self._run(f"{_ROWS} WHERE seq > ? ORDER BY seq", (seq,)):
            row, seq = StoredEntry.of(found), seq + 1
            if row.seq != seq:
                raise LedgerDamaged(f"entry={seq} must be there: it is missing")
            if _linked(before, seq, row.dataset, row.body) != row.hash:
                raise LedgerDamaged(f"entry={seq} must be as it was written: its hash differs")
            before = row.hash
            yield row
        if self.head != (seq, before):
            raise LedgerDamaged(f"entry={seq} must be the last one: entries are missing, or added")

    def append(self, dataset: str, told: dict[str, Any]) -> StoredEntry:
        """Add an entry after the last one."""
        seq, before = self.head
        body = json.dumps(told, ensure_ascii=False, allow_nan=False, sort_keys=True)
        row = StoredEntry(seq + 1, dataset, body, _linked(before, seq + 1, dataset, body))
        self._run("INSERT INTO entries VALUES (?, ?, ?, ?)", (row.seq, dataset, body, row.hash))
        self._run("UPDATE head SET seq = ?, hash = ?", (row.seq, row.hash))
        self._run(
            "INSERT INTO ends VALUES (?, ?, ?) ON CONFLICT (dataset) DO UPDATE "
            "SET seq = excluded.seq, hash = excluded.hash",
            (dataset, row.seq, row.hash),
        )
        return row

    def check_pages(self) -> None:
        """Raise if SQLite finds a damaged page in the file."""
        found = [str(text) for (text,) in self._run("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise LedgerDamaged(f"file must be whole: {' '.join(found[0].split())}")


@dataclass(frozen=True, slots=True)
class Store:
    """Where the entries are: the file that the path meant when it was given."""

    path: Path
    place: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", self.path.absolute())

    @classmethod
    def at(cls, path: object) -> "Store":
        """The store at a path; raise for a path that cannot be a file."""
        if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
            raise InvalidParameter(f"file={path!r} must be a path, such as 'budget.ledger'")
        found, name = Path(path), f"file={str(path)!r}"
        try:
            is_folder = stat.S_ISDIR(found.stat().st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_folder = False
        except OSError as error:
            raise InvalidParameter(f"{name} must be usable as a ledger: {error.strerror}") from None
        except ValueError as error:  # no path at all
            raise InvalidParameter(f"{name} must be usable as a ledger: {error}") from None
        if is_folder:
            raise InvalidParameter(f"{name} must be a ledger, and is a folder")
        return cls(found)

    def create(self) -> None:
        """Create the file, unless it is already a ledger."""
        if self.place.exists() and self.place.stat().st_size:
            return
        if not self.place.parent.is_dir():
            raise InvalidParameter(f"file={str(self.path)!r} must lie in a folder that exists")
        with self._told(), self._connected("rwc") as connection:
            connection.execute("BEGIN IMMEDIATE")
            with self._settled(connection):
                known = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
                if not known:  # another process may have been quicker
                    for statement in _statements():
                        connection.execute(statement)
                    connection.execute("INSERT INTO head VALUES (0, ?)", (_START,))

    @contextlib.contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Read all entries in their current state.

        Nothing is added. But what a killed writer left half done is undone first, where the file
        may be written.
        """
        places = (self.place, self.place.resolve().parent)
        mode = "rw" if all(os.access(place, os.W_OK) for place in places) else "ro"
        with self._told(), self._connected(mode) as connection:
            self._check_kind(connection)
            connection.execute("BEGIN")
            with self._settled(connection):
                yield Transaction(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Hold the write lock; at the end all appended entries are on disk, or none."""
        with self._told(), self._connected("rw") as connection:
            self._check_kind(connection)
            connection.execute("BEGIN IMMEDIATE")
            with self._settled(connection):
                yield Transaction(connection)

    @contextlib.contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        if mode != "rwc" and not self.place.exists():
            raise InvalidParameter(f"file={str(self.path)!r} must be a ledger: there is none")
        if self.place.exists() and (names := self.place.stat().st_nlink) > 1:
            # What a killed writer left to be undone lies beside the name that it used.
            raise InvalidParameter(
                f"file={str(self.path)!r} must have one name, and has {names} (hard links)"
            )
        where = f"{self.place.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(where, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        finally:
            connection.close()

    @contextlib.contextmanager
    def _settled(self, connection: sqlite3.Connection) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _check_kind(self, connection: sqlite3.Connection) -> None:
        (kind,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if kind != _APPLICATION:
            raise LedgerDamaged(f"file={str(self.path)!r} must be a ledger of dpverify")
        if version != VERSION:
            raise LedgerDamaged(
                f"version={version} of file={str(self.path)!r} must be {VERSION}, which this "
                "dpverify reads"
            )
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        if journal != "delete":
            raise LedgerDamaged(
                f"journal_mode={journal} of file={str(self.path)!r} must be delete, as it was made"
            )

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """The error of SQLite in one sentence."""
        name = f"file={str(self.path)!r}"
        try:
            yield
        except sqlite3.OperationalError as error:
            why = str(error)
            if "locked" in why or "busy" in why:
                why = f"another process has held its lock for {_PATIENCE:.0f} seconds"
            raise InvalidParameter(f"{name} must be usable as a ledger: {why}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise LedgerDamaged(f"{name} must be a ledger as it was written: {error}") from None


def _statements() -> Iterator[str]:
    """The statements of the schema one by one, as a script would end the transaction."""
    statement = ""
    for line in _SCHEMA.strip().splitlines():
        statement += f"{line}\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
