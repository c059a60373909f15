"""Receipts: a run with what was concluded from it, in an immutable file whose name is the hash of its bytes.

What can be computed from the run is stored all the same, so that a receipt can be read without computing; `recomputed` is
how anybody checks it. A hash shows that a file is not the one it was named for. Who writes a new file under a new name can
write anything: against that stands the history of the repository that holds the receipts.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from kgen.evidence.analysis import Analysis
from kgen.evidence.gates import Decision, Gate, Requirements, decide, judged
from kgen.evidence.imports import Imported, analyse_import, read_import
from kgen.evidence.measured import analyse
from kgen.evidence.plain import Misfit, ReadingError, canonical, digest, parse, plain, read
from kgen.evidence.record import Record, read_record

KIND, SCHEMA = "receipt", 1
TEMPORARY = ".writing-"
"""The beginning of the name of a file that is no receipt yet. One that a killed writer left is not read: it is no `.json`."""


@dataclass(frozen=True)
class Receipt:
    """`record` is a measuring run or what a remote judge returned. Without a file to judge there are no gates."""

    record: Record | Imported
    analysis: Analysis
    requirements: Requirements
    gates: tuple[Gate, ...]
    decision: Decision | None

    def text(self) -> str:
        """The canonical JSON that is its file's whole content."""
        return canonical({"kind": KIND, "schema": SCHEMA, **plain(self)})

    @property
    def name(self) -> str:
        """The SHA-256 of its bytes; its file is called that, with `.json`."""
        return digest(self.text())


@dataclass(frozen=True)
class _Rest:
    """The parts of a receipt whose types do not depend on the kind of its record."""

    kind: Literal["receipt"]
    schema: int
    analysis: Analysis
    requirements: Requirements
    gates: tuple[Gate, ...]
    decision: Decision | None


def receipt(record: Record | Imported, requirements: Requirements = Requirements()) -> Receipt:
    """The receipt of a run, with everything that follows from it. Needs numpy and scipy for a measured one."""
    found = analyse(record) if isinstance(record, Record) else analyse_import(record)
    gates, decision = (), None
    if found.aggregate_of("candidate"):
        gates = judged(found, requirements)
        decision = decide(gates)
    return Receipt(record, found, requirements, gates, decision)


def parse_receipt(text: str) -> Receipt:
    """A receipt from its file's content. Raises `ReadingError` with every misfit."""
    data = parse(text)
    if not isinstance(data, dict):
        raise ReadingError([Misfit("", "no object", "a receipt")])
    rest = {key: value for key, value in data.items() if key != "record"}
    misfits: list[Misfit] = []
    record = parts = None
    try:
        parts = read(_Rest, rest)
    except ReadingError as error:
        misfits += error.misfits
    try:
        record = _read_run(data.get("record"))
    except ReadingError as error:
        misfits += error.misfits
    if parts is not None and parts.schema != SCHEMA:
        misfits.append(Misfit("schema", f"the number {parts.schema}", str(SCHEMA)))
    for name, value in plain(parts.requirements).items() if parts else ():
        if not 0 <= value <= 1:
            misfits.append(Misfit(f"requirements.{name}", f"the number {value}", "a share"))
    if misfits or record is None or parts is None:
        raise ReadingError(misfits)
    found = Receipt(record, parts.analysis, parts.requirements, parts.gates, parts.decision)
    if found.text() != text:
        raise ReadingError([Misfit("", "JSON in another form", "its canonical form")])
    return found


def _read_run(data: Any) -> Record | Imported:
    kind = data.get("kind") if isinstance(data, dict) else None
    return read_import(data, "record") if kind == "import" else read_record(data, "record")


def write(folder: Path, found: Receipt) -> Path:
    """Puts a receipt into `folder`; it is there whole under its name, or not at all, whoever writes or dies meanwhile.

    An existing file is never replaced: with the same name it has the same content. Raises OSError.
    """
    text = found.text()
    path = folder / f"{digest(text)}.json"
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        _sync(folder)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _sync(folder: Path) -> None:
    """Makes the folder's names survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def differences(stored: Receipt) -> Iterator[Misfit]:
    """Where a receipt's conclusions are not those that follow from its run."""
    fresh = receipt(stored.record, stored.requirements)
    found = list(_conclusions_differ(stored, fresh))
    if found and fresh.gates and not list(_conclusions_differ(stored, _without_fallback(fresh))):
        return
    yield from found


def _conclusions_differ(stored: Receipt, fresh: Receipt) -> Iterator[Misfit]:
    ours, theirs = plain(fresh), plain(stored)
    for key in ("analysis", "gates", "decision"):
        yield from _different(theirs[key], ours[key], key)


def _without_fallback(fresh: Receipt) -> Receipt:
    """The same gates in the words that they had when they did not say yet which shapes the fallback serves."""
    rows = tuple(replace(row, marks=()) for row in fresh.analysis.rows)
    gates = judged(replace(fresh.analysis, rows=rows), fresh.requirements)
    return replace(fresh, gates=gates, decision=decide(gates))


CLOSE = 1e-6
"""Relative; the same samples give the same numbers but for the last digits of another machine's logarithm."""


def _different(stored: Any, fresh: Any, key: str) -> Iterator[Misfit]:
    if isinstance(stored, dict) and isinstance(fresh, dict) and stored.keys() == fresh.keys():
        for name in fresh:
            yield from _different(stored[name], fresh[name], f"{key}.{name}")
    elif isinstance(stored, list) and isinstance(fresh, list) and len(stored) == len(fresh):
        for index, (one, two) in enumerate(zip(stored, fresh)):
            yield from _different(one, two, f"{key}[{index}]")
    elif not _close(stored, fresh):
        yield Misfit(key, _short(stored), _short(fresh))


def _close(one: Any, two: Any) -> bool:
    numbers = isinstance(one, float) and isinstance(two, float)
    return abs(one - two) <= CLOSE * abs(two) if numbers else one == two


def _short(value: Any) -> str:
    text = canonical(value).strip()
    return text if len(text) <= 60 else f"{text[:57]}..."
