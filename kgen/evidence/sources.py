"""The files that a receipt is about, as they are on disk now."""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kgen.evidence.receipts import Receipt
from kgen.evidence.record import Candidate, Record
from kgen.render.hashes import core_sha256


@dataclass(frozen=True)
class Named:
    """A file that a receipt names, with its hashes then; `role` and `names` are those of candidates."""

    role: str
    names: tuple[str, ...]
    file: str
    bytes_sha256: str
    core_sha256: str
    text: str | None


@dataclass(frozen=True)
class Now:
    """What became of a named file: `same` bytes, a changed `comment`, a changed `core`, or it is `gone`.

    `line`, counted from 1, and `offset`, in bytes from 0, are those of the first difference, None where the receipt does
    not carry the text.
    """

    named: Named
    state: Literal["same", "comment", "core", "gone"]
    line: int | None = None
    offset: int | None = None


def named(receipt: Receipt) -> Iterator[Named]:
    """The files of a receipt, each once, the judged one first."""
    record = receipt.record
    if not isinstance(record, Record):
        text = record.sources[record.bytes_sha256]
        yield Named(
            "candidate", ("candidate",), record.file, record.bytes_sha256, record.core_sha256, text
        )
        return
    files: dict[tuple[str, str], list[Candidate]] = {}
    for one in sorted(record.candidates, key=lambda one: one.role != subject(receipt)):
        files.setdefault((one.file, one.bytes_sha256), []).append(one)
    for (file, sha), users in files.items():
        names = tuple(one.name for one in users)
        text = record.sources.get(sha)
        yield Named(users[0].role, names, file, sha, users[0].core_sha256, text)


def subject(receipt: Receipt) -> Literal["candidate", "baseline"]:
    """The role of the file that a receipt is about: the judged one, or the baseline where only times were measured."""
    judged = receipt.analysis.aggregate_of("candidate")
    return "candidate" if judged else "baseline"


def now(one: Named, root: Path) -> Now:
    """The state of a named file, relative to `root`."""
    try:
        content = file_bytes(root / one.file)
    except OSError:
        return Now(one, "gone")
    text = content.decode(errors="surrogateescape")
    if hashlib.sha256(content).hexdigest() == one.bytes_sha256:
        return Now(one, "same")
    where = first_difference(one.text.encode(), content) if one.text is not None else (None, None)
    return Now(one, "comment" if core_of(text) == one.core_sha256 else "core", *where)


def stale(receipt: Receipt, root: Path) -> frozenset[str]:
    """The candidates whose file now computes something else than what was measured, by name."""
    changed = (one for one in named(receipt) if now(one, root).state == "core")
    return frozenset(name for one in changed for name in one.names)


def is_stale(receipt: Receipt, root: Path) -> bool:
    """Whether the file that a receipt is about now computes something else than what was measured."""
    about = receipt.analysis.aggregate_of(subject(receipt))
    return about is not None and about.candidate in stale(receipt, root)


def file_bytes(path: Path) -> bytes:
    """What a file holds; a device or a pipe might never end, and is none. Raises OSError."""
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise OSError(errno.EINVAL, "it is a device or a pipe", str(path))
    return path.read_bytes()


def core_of(text: str) -> str:
    """The core hash of a text; empty for one that is no Python."""
    try:
        return core_sha256(text)
    except (SyntaxError, ValueError):
        return ""


def first_difference(before: bytes, after: bytes) -> tuple[int, int]:
    """Line and offset of the first byte in which two contents differ."""
    shorter = min(len(before), len(after))
    offset = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    return before[:offset].count(b"\n") + 1, offset
