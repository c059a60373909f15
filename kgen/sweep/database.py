"""The SQLite file under a store: opened only where it is one, and every failure of it told as such.

It needs the standard library alone.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kgen.diagnostics import Diagnostic, KgenError, Place

SCHEMA = 1
BUSY_SECONDS = 60.0
"""How long one process waits for another one that writes."""

_TABLES = """
CREATE TABLE IF NOT EXISTS trials (
    id TEXT PRIMARY KEY, core TEXT, signature TEXT, shape TEXT, device TEXT, versions TEXT, content TEXT);
CREATE INDEX IF NOT EXISTS trials_by_place ON trials (device, versions);
CREATE INDEX IF NOT EXISTS trials_by_key ON trials (core, signature, shape, device, versions);
CREATE TABLE IF NOT EXISTS anchors (
    shape TEXT, device TEXT, versions TEXT, core TEXT, file TEXT, PRIMARY KEY (shape, device, versions));
CREATE TABLE IF NOT EXISTS entries (
    spec TEXT, regime TEXT, settings TEXT, core TEXT, signature TEXT, estimates TEXT,
    PRIMARY KEY (spec, regime, settings, core, signature));
CREATE TABLE IF NOT EXISTS workloads (
    spec TEXT, name TEXT, shape TEXT, regime TEXT, PRIMARY KEY (spec, name, shape, regime));
CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, spec TEXT, started TEXT, state TEXT);
"""
TABLES = ("trials", "anchors", "entries", "workloads", "runs")


class Database:
    """The file at `path`. With `create` it is made where there is none, else only read.

    Raises `KgenError` (KG981) for a file that is no store, here and whenever it cannot be read or written.
    """

    def __init__(self, path: Path, create: bool):
        self.path = path
        if not create and not path.is_file():
            raise self.unusable("there is no such file")
        with self._told():
            self._db = self._opened(create)
        try:
            with self._told():
                found = self._known()
                if create:
                    self._prepare()
                elif not found:
                    raise self.unusable("it has no trials; `kgen sweep` did not make it")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file; everything is on disk already."""
        self._db.close()

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """What a query finds."""
        with self._told():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: on disk when it ends, and undone by whatever ends it before, such as Ctrl-C or a full disk."""
        with self._told():
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    # a full disk has undone it already, and says so once more
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")

    @contextmanager
    def beside(self, other: Path) -> Iterator[None]:
        """The file `other` can be read as `other.TABLE` meanwhile."""
        with self._told():
            self._db.execute("ATTACH DATABASE ? AS other", (str(other),))
        try:
            yield
        finally:
            with self._told():
                self._db.execute("DETACH DATABASE other")

    def unusable(self, why: str) -> KgenError:
        """The diagnostic that says why the file is of no use."""
        hint = "name the SQLite file of an earlier `kgen sweep`, or another path for a new one"
        message = f"the store cannot be used: {why}"
        return KgenError([Diagnostic("KG981", message, Place(str(self.path)), hint)])

    def _opened(self, create: bool) -> sqlite3.Connection:
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        file = self.path.resolve()
        log = file.with_name(f"{file.name}-wal")
        # where nobody writes it is read as it lies there: else a reader leaves files beside it, and has to be allowed to
        mode = "mode=ro" if log.exists() else "immutable=1"
        uri = f"file:{quote(str(file))}?{mode}"
        return sqlite3.connect(uri, timeout=BUSY_SECONDS, isolation_level=None, uri=True)

    def _known(self) -> bool:
        """Whether the file is a store already. Raises `KgenError` for another format, and for what is another's."""
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, SCHEMA):
            raise self.unusable(f"it has the format {found}; this kgen reads {SCHEMA}")
        tables = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = {name for (name,) in tables if not name.startswith("sqlite_")}
        foreign = sorted(names - set(TABLES))
        if foreign:
            raise self.unusable(f"it is the database of something else, with a table {foreign[0]}")
        return names == set(TABLES)

    def _prepare(self) -> None:
        _patiently(lambda: self._db.execute("PRAGMA journal_mode = WAL"))
        # an ended trial outlives a power cut too
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(_TABLES + f"PRAGMA user_version = {SCHEMA};")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self.unusable(str(error)) from None


def _patiently(switch: Callable[[], object]) -> None:
    """Switches to a log that readers and one writer share. SQLite does not wait for others there by itself."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            switch()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
