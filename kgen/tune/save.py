"""A tuned text takes the place of the spec that was read, and of nothing that somebody wrote meanwhile."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.render.write import write_atomically


def save(path: Path, before: str, after: str) -> None:
    """Writes `after` to the file whose text was `before`, with its byte order mark and permissions, through a link.

    Raises `KgenError`: KG985 where the file says something else by now, KG195 where it cannot be written.
    """
    target = path.resolve()
    try:
        found = target.read_bytes()
        mark = "\ufeff" if found.startswith(codecs.BOM_UTF8) else ""
        if found != f"{mark}{before}".encode():
            raise _changed(path)
        mode = stat.S_IMODE(target.stat().st_mode)
        write_atomically(target, f"{mark}{after}")
        target.chmod(mode)
    except OSError as error:
        message = f"the file cannot be written: {error.strerror}"
        hint = "make it writable, or take the change from --dry-run"
        raise KgenError([Diagnostic("KG195", message, Place(str(path)), hint)]) from None


def _changed(path: Path) -> KgenError:
    message = "the tuned spec is not written: somebody changed the file since it was read"
    return KgenError([Diagnostic("KG985", message, Place(str(path)), "tune it again")])
