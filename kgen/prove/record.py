"""Verdicts of a file as plain data, kept from one run to the next.

A record binds to what a proof depends on: the file's core (its syntax tree without comments), the spec and the templates
that the facts come from, kgen's own code and Triton's version. A changed comment makes no record stale: lines are then
those of the same statements where they are now.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgen.compile.storage import read_json, write_json
from kgen.render.hashes import core, core_sha256, sha256

Record = Mapping[str, Any]
_LINES = re.compile(r"\b(lines? )(\d+(?:, \d+)*)")


def record_key(text: str, *inputs: str) -> str:
    """The key of a file's record; `inputs` are what else the verdicts depend on."""
    state = hashlib.sha256()
    for part in (core_sha256(text), *inputs):
        state.update(f"{len(part)}:{part}".encode())
    return state.hexdigest()


def find(folder: Path, key: str, text: str) -> Record | None:
    """The verdicts that were kept under `key`, with the lines of `text`; None if there are none."""
    kept = read_json(folder / f"{key}.json")
    if not isinstance(kept, dict):
        return None
    if kept["bytes"] == sha256(text):
        return kept["verdicts"]
    return _moved(kept["verdicts"], dict(zip(kept["lines"], _lines_of(text))))


def keep(folder: Path, key: str, text: str, verdicts: Record) -> None:
    """Keeps the verdicts of `text`."""
    document = {"bytes": sha256(text), "lines": _lines_of(text), "verdicts": dict(verdicts)}
    write_json(folder / f"{key}.json", document)


def _lines_of(text: str) -> list[int]:
    """The line of every node of the core, in an order that comments do not change."""
    return [node.lineno for node in ast.walk(core(text)) if hasattr(node, "lineno")]


def _moved(value: Any, lines: Mapping[int, int]) -> Any:
    """The same verdicts, every line number replaced, in texts too."""
    if isinstance(value, dict):
        return {
            key: lines.get(one, one) if key == "line" else _moved(one, lines)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_moved(one, lines) for one in value]
    if isinstance(value, str):
        return _LINES.sub(lambda found: found.group(1) + _renumbered(found.group(2), lines), value)
    return value


def _renumbered(text: str, lines: Mapping[int, int]) -> str:
    return ", ".join(str(lines.get(int(number), int(number))) for number in text.split(", "))
