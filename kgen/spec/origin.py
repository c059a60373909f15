"""Where the values of a resolved document were written, and diagnostics that point there."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.expr import Span
from kgen.spec.nodes import Mark, Node, path
from kgen.spec.text import printable, source_line, split_lines


@dataclass(frozen=True)
class Origin:
    """A document's nodes, and the texts of files and overrides they came from, its own first."""

    root: Node
    texts: Mapping[str, str]

    @functools.cached_property
    def lines(self) -> Mapping[str, tuple[str, ...]]:
        """The lines of each text."""
        return {name: split_lines(text) for name, text in self.texts.items()}

    def place(self, *key: str | int, span: Span | None = None, on_key: bool = False) -> Place:
        """The place of the value at `key`, or of its nearest ancestor that the document has.

        `on_key` gives the place of the key in front of the value; `span` a part of the value's
        text, where text and file agree, else the value.
        """
        steps = list(path(self.root, key))
        key_mark, node = steps[-1]
        found = len(steps) == len(key) + 1
        mark = key_mark if key_mark and (on_key or not found) else node.mark
        if found and span is not None and not on_key and mark.text_column is not None:
            return _within(mark, span)
        return Place(mark.file, mark.line, mark.column, mark.length)

    def diagnostic(
        self,
        code: str,
        message: str,
        *key: str | int,
        hint: str = "",
        span: Span | None = None,
        on_key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Diagnostic:
        """A diagnostic at `place(*key, span, on_key)`, with the line it stands in."""
        place = self.place(*key, span=span, on_key=on_key)
        lines = self.lines[place.file]
        source = lines[place.line - 1] if place.line <= len(lines) else ""
        return Diagnostic(
            code, printable(message), place, printable(hint), source_line(source), severity
        )

    def order(self, diagnostic: Diagnostic) -> tuple:
        """A sort key: by file in the order they were read, then by position."""
        place = diagnostic.place
        return self._ranks[place.file], place.line, place.column, diagnostic.code

    @functools.cached_property
    def _ranks(self) -> Mapping[str, int]:
        return {name: rank for rank, name in enumerate(self.texts)}


def _within(mark: Mark, span: Span) -> Place:
    return Place(mark.file, mark.line, mark.text_column + span.start, max(1, span.end - span.start))
