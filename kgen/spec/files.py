"""Reading a spec file from disk: every way in which that fails is a diagnostic."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.spec.reader import MAX_BYTES, too_large

_REASONS = {
    FileNotFoundError: "there is no such file",
    IsADirectoryError: "it is a directory",
    PermissionError: "it may not be read by you",
    ValueError: "no file can have this name",
}


def read_file(path: Path, name: str | None = None) -> str:
    """The text of a UTF-8 file, called `name` in messages. Raises KgenError (KG101 to KG103)."""
    name = name or str(path)
    data = _read_bytes(path, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}"
        hint = "a spec is YAML text; save it as UTF-8"
        raise KgenError([Diagnostic("KG103", message, Place(name), hint)]) from None


def _read_bytes(path: Path, name: str) -> bytes:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is a device or a pipe")
        if status.st_size > MAX_BYTES:
            raise KgenError([too_large(name, status.st_size)])
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = next((text for kind, text in _REASONS.items() if isinstance(error, kind)), None)
        reason = reason or getattr(error, "strerror", None) or str(error)
        message = f"the file cannot be read: {reason}"
        raise KgenError([Diagnostic("KG101", message, Place(name))]) from None
