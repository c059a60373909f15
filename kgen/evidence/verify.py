"""Whether receipts, and the files that they are about, are what they were; without a GPU and without a network."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.evidence.ledger import Entry
from kgen.evidence.receipts import Receipt, differences
from kgen.evidence.sources import Now, core_of, first_difference, named, now, subject


def verify(found: Sequence[Entry], root: Path) -> Iterator[Diagnostic]:
    """Everything that does not belong together. A file that only changed its comments, or is gone, is information, and
    so is a change of one that the receipt's file was compared with.

    A stale receipt is a finding as long as no other is about the file as it is now.
    """
    current = _current(found, root)
    for entry in found:
        yield from _verified(entry, root, current)


def _verified(entry: Entry, root: Path, current: frozenset[str]) -> Iterator[Diagnostic]:
    if entry.test is not None:
        yield from _test(entry, root)
        return
    if entry.text is not None:
        yield from _name(entry)
    if entry.unreadable is not None:
        yield from unreadable(entry)
        return
    yield from _conclusions(entry)
    yield from _texts(entry, entry.receipt)
    for one in named(entry.receipt):
        yield from _source(entry, now(one, root), current, subject(entry.receipt))


def unchanged(found: Iterable[Entry], root: Path) -> tuple[int, int]:
    """How many of the files that receipts are about, or compare with, compute what was measured, and of how many."""
    states = [
        now(one, root).state for entry in found if entry.receipt for one in named(entry.receipt)
    ]
    return sum(state in ("same", "comment") for state in states), len(states)


def unreadable(entry: Entry) -> Iterator[Diagnostic]:
    """Why a file is no receipt; nothing if it is one."""
    for misfit in entry.unreadable.misfits if entry.unreadable else ():
        yield _diagnostic("KG950", entry, f"it is no receipt: {misfit}")


def _name(entry: Entry) -> Iterator[Diagnostic]:
    """Whether the file is named by its bytes."""
    hashed = hashlib.sha256(_bytes(entry.text)).hexdigest()
    if entry.path.stem == hashed:
        return
    message = f"its bytes have the hash {hashed}, and it is named {entry.path.stem}"
    committed = _committed(entry.path)
    if committed is None:
        hint = f"if it was only renamed, call it {hashed}.json; if it was edited, restore it"
    elif committed == _bytes(entry.text):
        hint = f"git has the same bytes under this name; call it {hashed}.json"
    else:
        line, offset = first_difference(committed, _bytes(entry.text))
        message += f"; byte {offset} (line {line}) is the first that is not as committed"
        hint = f"git checkout {entry.path}"
    yield _diagnostic("KG951", entry, message, hint)


def _committed(path: Path) -> bytes | None:
    """The content of a file at git's HEAD; None where there is none."""
    command = ["git", "-C", str(path.parent), "show", f"HEAD:./{path.name}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _conclusions(entry: Entry) -> Iterator[Diagnostic]:
    """Whether the analysis, the gates and the decision follow from the record."""
    try:
        found = list(differences(entry.receipt))
    except ImportError as error:
        message = f"its conclusions were not computed again: {error}"
        yield _diagnostic("KG959", entry, message, "install kgen with its extra `run`")
        return
    for misfit in found:
        message = f"{misfit.key} holds {misfit.found}, and from its record follows {misfit.wanted}"
        yield _diagnostic("KG952", entry, message)


def _texts(entry: Entry, receipt: Receipt) -> Iterator[Diagnostic]:
    """Whether the texts that it carries have the core hashes that it tells."""
    for one in named(receipt):
        if one.text is not None and core_of(one.text) != one.core_sha256:
            message = f"the text of {one.file} that it carries has another core than it says"
            yield _diagnostic("KG956", entry, message)


def _source(entry: Entry, found: Now, current: frozenset[str], about: str) -> Iterator[Diagnostic]:
    """What became of a file that it is about."""
    one = found.named
    at = "" if found.offset is None else f", first at byte {found.offset} (line {found.line})"
    if found.state == "gone":
        yield _diagnostic("KG955", entry, f"{one.file} is not there now", info=True)
    elif found.state == "comment":
        message = f"{one.file} has changed{at}, and computes the same"
        yield _diagnostic("KG954", entry, message, info=True)
    elif found.state == "core" and one.role == about:
        message = f"stale: {one.file} has changed{at}, and computes something else"
        yield _diagnostic("KG953", entry, message, "measure the file again", one.file in current)
    elif found.state == "core":
        message = (
            f"{one.file}, the {one.role} here, has changed since{at}: "
            "its times, and ratios to it, are of the file as it was"
        )
        yield _diagnostic("KG960", entry, message, info=True)


def _current(found: Iterable[Entry], root: Path) -> frozenset[str]:
    """The files that some receipt is about as they are now."""
    return frozenset(
        one.file
        for entry in found
        if entry.receipt
        for one in named(entry.receipt)
        if one.role == subject(entry.receipt) and now(one, root).state in ("same", "comment")
    )


def _test(entry: Entry, root: Path) -> Iterator[Diagnostic]:
    """A receipt of `kgen test` on a GPU: named by its bundle, so that an edit of it shows in git alone."""
    try:
        bundle, core = entry.test["bundle"], entry.test["core_sha256"]
        statuses = [case["status"] for case in entry.test["cases"]]
        counts = dict(entry.test["summary"]["counts"])
        file = root / bundle / "submission.py"
    except (KeyError, TypeError, ValueError) as error:
        yield _diagnostic("KG950", entry, f"it is no receipt of a test: {error!r}")
        return
    if counts != {status: statuses.count(status) for status in counts}:
        yield _diagnostic("KG952", entry, f"it counts {counts}, and its cases say otherwise")
    if not file.is_file():
        yield _diagnostic("KG955", entry, f"{bundle}/submission.py is not there now", info=True)
    elif core_of(file.read_text(encoding="utf-8", errors="surrogateescape")) != core:
        message = f"stale: {bundle}/submission.py computes something else than was tested"
        yield _diagnostic("KG953", entry, message, "run benchmarks/gpu_tests.py on a GPU")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _diagnostic(
    code: str, entry: Entry, message: str, hint: str = "", info: bool = False
) -> Diagnostic:
    severity = Severity.INFO if info else Severity.FINDING
    return Diagnostic(code, message, Place(str(entry.path)), hint, severity=severity)
