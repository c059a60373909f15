"""Committed files against what kgen generates today."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from kgen.diagnostics import Diagnostic, Place, Severity


def stale(files: Mapping[Path, str], command: str) -> list[Diagnostic]:
    """A KG190 finding for each file that is missing or has other text; `command` writes them anew."""
    found = []
    for path, text in files.items():
        reason, line = _difference(path, text)
        if reason:
            place = Place(str(path), line, 1) if line else Place(str(path))
            hint = f"run `{command}`, read the difference, and commit it"
            found.append(Diagnostic("KG190", reason, place, hint, severity=Severity.FINDING))
    return found


def _difference(path: Path, text: str) -> tuple[str, int]:
    """What is wrong with the file, and its first differing line; nothing when it is current."""
    if not path.is_file():
        return "the generated file is missing", 0
    committed = path.read_text(encoding="utf-8")
    if committed == text:
        return "", 0
    old, new = committed.splitlines(), text.splitlines()
    changes = [
        code for code in difflib.SequenceMatcher(a=old, b=new).get_opcodes() if code[0] != "equal"
    ]
    changed = sum(max(last - first, end - start) for _, first, last, start, end in changes)
    first = next((op[1] + 1 for op in changes), len(old))
    return f"the file is not what kgen generates today: {changed} lines differ from here on", first
