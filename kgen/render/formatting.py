"""Black, pinned exactly, and which line of the raw text each formatted line came from."""

from __future__ import annotations

import ast
import bisect
import hashlib
from pathlib import Path

LINE_LENGTH = 100


def formatted(text: str, cache: Path | None = None) -> str:
    """`text` as black writes it. With `cache`, a text that was formatted before is read from there.

    Raises ValueError, with black's reason, for what is no Python.
    """
    if cache is None:
        return _black(text)
    import importlib.metadata

    version = importlib.metadata.version("black")
    key = hashlib.sha256(f"{version}\0{LINE_LENGTH}\0{text}".encode()).hexdigest()
    stored = cache / "black" / f"{key}.txt"
    known = _stored(stored)
    if known is not None:
        return known
    found = _black(text)
    from kgen.render.write import write_atomically

    write_atomically(stored, f"{_digest(found)}\n{found}")
    return found


def _stored(path: Path) -> str | None:
    """A text that was stored behind its own hash, or None where there is none that fits it."""
    try:
        digest, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if digest == _digest(text) else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _black(text: str) -> str:
    import black

    try:
        return black.format_str(text, mode=black.Mode(line_length=LINE_LENGTH))
    except black.InvalidInput as error:
        raise ValueError(str(error)) from None


def line_origins(before: str, after: str) -> list[int]:
    """For each line of `after`, the line of `before` (from 1) that it came from.

    Both have the same syntax tree, so nodes pair up; a line on which none begins belongs to the node above it.
    """
    pairs = sorted(
        {
            (new.lineno, old.lineno)
            for new, old in zip(ast.walk(ast.parse(after)), ast.walk(ast.parse(before)))
            if hasattr(new, "lineno")
        }
    )
    starts = [new for new, _ in pairs]
    comments = {
        line.strip(): number
        for number, line in enumerate(before.splitlines(), 1)
        if line.strip().startswith("#")
    }
    found = []
    for number, line in enumerate(after.splitlines(), 1):
        at = bisect.bisect_right(starts, number) - 1
        near = pairs[bisect.bisect_left(starts, starts[at])][1] if at >= 0 else 1
        found.append(comments.get(line.strip(), near))
    return found
