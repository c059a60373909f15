"""Where a sweep keeps what it measured: one SQLite file, to which several sweeps may add at once.

A trial is added when it has ended, in a transaction of its own, and is never changed. So whatever ends a sweep, and
however suddenly, only the trials under way are lost. It needs the standard library alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from kgen.evidence.plain import canonical, plain, read
from kgen.sweep.database import Database
from kgen.sweep.records import Entry, Key, Measured, Result, Trial, together
from kgen.sweep.trial import File

_MERGED = ("trials", "anchors", "entries", "workloads")


class Store:
    """An open store; made where there is none, unless it is only to be read.

    Raises `KgenError` (KG981) for a file that is no store, and in every method where it cannot be read or written.
    """

    def __init__(self, path: Path, create: bool = True):
        self.path = path
        self._db = Database(path, create)

    def close(self) -> None:
        """Closes the file; everything is on disk already."""
        self._db.close()

    def add(self, trial: Trial) -> str:
        """Keeps a trial, and gives its id. It is on disk when this returns."""
        key = trial.key
        row = (trial.id, key.core, key.signature, key.shape, key.device, key.versions)
        self._put("trials", [(*row, canonical(plain(trial)))])
        return trial.id

    def results(self, device: str | None = None, versions: str | None = None) -> dict[Key, Result]:
        """What was found by key, of one device and its versions or of all."""
        if device is None:
            return self._found("")
        return self._found(" WHERE device = ? AND versions = ?", device, versions)

    def result(self, key: Key) -> Result | None:
        """What was found of one key; None where nothing was."""
        columns = " AND ".join(f"{field.name} = ?" for field in fields(Key))
        return self._found(f" WHERE {columns}", *astuple(key)).get(key)

    def _found(self, where: str, *values: str) -> dict[Key, Result]:
        found: dict[Key, list[Trial]] = {}
        for (content,) in self._db.rows(
            f"SELECT content FROM trials{where} ORDER BY rowid", values
        ):
            trial = self._trial(content)
            found.setdefault(trial.key, []).append(trial)
        anchors = self._anchors()
        folded = (together(trials, anchors.get(_place(key))) for key, trials in found.items())
        return {one.key: one for one in folded if one is not None}

    def _trial(self, content: str) -> Trial:
        try:
            return read(Trial, json.loads(content))
        except ValueError as error:
            raise self._db.unusable(f"a trial in it cannot be read ({error})") from None

    def anchor(self, key: Key, offered: File) -> tuple[str, File]:
        """The core and file that candidates are compared with at a place: the first that was ever offered there.

        `key` is that of `offered`. Ratios to one anchor can be compared whenever they were measured.
        """
        self._put("anchors", [(*_place(key), key.core, canonical(plain(offered)))])
        ((core, file),) = self._db.rows(
            "SELECT core, file FROM anchors WHERE shape = ? AND device = ? AND versions = ?",
            _place(key),
        )
        return core, File(**json.loads(file))

    def describe(self, entries: Iterable[Entry], workloads: Iterable[Measured]) -> None:
        """Keeps which settings and workloads keys are about, for `kgen tune` and a replay."""
        self._put(
            "entries",
            [
                (e.spec, e.regime, *map(_text, (e.settings, e.core, e.signature, e.estimates)))
                for e in entries
            ],
            "REPLACE",
        )
        self._put("workloads", [(w.spec, w.name, w.shape, w.regime) for w in workloads])

    def entries(self, spec: str | None = None) -> list[Entry]:
        """The entries of a spec, or all, in the order in which they came."""
        return [
            Entry(
                spec=row[0],
                regime=row[1],
                settings=tuple(map(tuple, json.loads(row[2]))),
                core=row[3],
                signature=row[4],
                estimates=json.loads(row[5]),
            )
            for row in self._of("entries", spec)
        ]

    def workloads(self, spec: str | None = None) -> list[Measured]:
        """The workloads of a spec, or all."""
        return [Measured(*row) for row in self._of("workloads", spec)]

    def begin(self, spec: str) -> int:
        """Notes that a sweep runs; gives its number."""
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        row = "INSERT INTO runs (spec, started, state) VALUES (?, ?, 'incomplete')"
        with self._db.writing() as db:
            return db.execute(row, (spec, started)).lastrowid

    def end(self, run: int) -> None:
        """Notes that a sweep came to its end; one that did not stays `incomplete`."""
        with self._db.writing() as db:
            db.execute("UPDATE runs SET state = 'complete' WHERE id = ?", (run,))

    def runs(self) -> list[tuple[str, str, str]]:
        """(spec, started, state) of each sweep."""
        return self._db.rows("SELECT spec, started, state FROM runs ORDER BY id")

    def take(self, other: Path) -> int:
        """Adds all of another store; gives how many trials are new. Raises `KgenError` (KG981)."""
        Store(other, create=False).close()
        if other.resolve() == self.path.resolve():
            return 0
        before = self._count()
        with self._db.beside(other), self._db.writing() as db:
            for table in _MERGED:
                db.execute(
                    f"INSERT OR IGNORE INTO {table} SELECT * FROM other.{table} ORDER BY rowid"
                )
        return self._count() - before

    def _count(self) -> int:
        return self._db.rows("SELECT COUNT(*) FROM trials")[0][0]

    def _put(self, table: str, rows: Sequence[Sequence[Any]], known: str = "IGNORE") -> None:
        """Rows in one transaction; one that is there already stays as it is, unless it is to `REPLACE` it."""
        if not rows:
            return
        marks = ", ".join("?" * len(rows[0]))
        with self._db.writing() as db:
            db.executemany(f"INSERT OR {known} INTO {table} VALUES ({marks})", rows)

    def _of(self, table: str, spec: str | None) -> list[Sequence[str]]:
        where, values = ("", ()) if spec is None else (" WHERE spec = ?", (spec,))
        return self._db.rows(f"SELECT * FROM {table}{where} ORDER BY rowid", values)

    def _anchors(self) -> dict[tuple[str, str, str], str]:
        rows = self._db.rows("SELECT shape, device, versions, core FROM anchors")
        return {tuple(place): core for *place, core in rows}


def _text(value: object) -> str:
    return value if isinstance(value, str) else canonical(plain(value)).strip()


def _place(key: Key) -> tuple[str, str, str]:
    return key.shape, key.device, key.versions
