"""JSON files that two processes may write at once and that a crash can't leave half-written."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

Json = dict | list | str | int | float | bool | None


def write_json(path: Path, value: Json) -> None:
    """Writes the value and its checksum; a reader sees the whole old file or the whole new one."""
    body = json.dumps(value, sort_keys=True)
    document = json.dumps({"sha256": _checksum(body), "body": value}, sort_keys=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(document)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_json(path: Path) -> Json:
    """The value that was written; None if there is no such file or it isn't what was written."""
    try:
        document = json.loads(path.read_bytes())
        if document["sha256"] == _checksum(json.dumps(document["body"], sort_keys=True)):
            return document["body"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
