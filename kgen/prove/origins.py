"""The template lines of a file that may have been changed by hand since it was rendered."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any


def template_lines(manifest: Mapping[str, Any], rendered: str, text: str) -> dict[int, str]:
    """For each line of `text` that stands in `rendered`, or in the place of one: `TEMPLATE:LINE` of what wrote it."""
    origins = manifest["source_map"]
    return {
        line: f"{manifest['templates_index'][origins[old - 1][0]]}:{origins[old - 1][1]}"
        for line, old in _rendered_lines(rendered, text)
        if old <= len(origins) and origins[old - 1]
    }


def _rendered_lines(rendered: str, text: str) -> list[tuple[int, int]]:
    """The lines of `text`, each with that of `rendered`; a changed line stands for the one that it replaces."""
    old, new = rendered.splitlines(), text.splitlines()
    if old == new:
        return [(line, line) for line in range(1, len(new) + 1)]
    found: list[tuple[int, int]] = []
    for _, first, last, start, end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        for line in range(start, end):
            if last > first:
                found.append((line + 1, min(first + line - start, last - 1) + 1))
    return found
