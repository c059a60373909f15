"""The Jinja environment that all templates are rendered in.

Sandboxed, because template folders come from users too; undefined names and printed `None` are errors, because what
disappears from a kernel without a word is found last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgen.render.linemap import LineMap


class RecordingLoader(BaseLoader):
    """Finds templates in several folders, first one first, and remembers what it has handed out."""

    def __init__(self, roots: Sequence[Path]):
        self._inner = FileSystemLoader([str(root) for root in roots])
        self.sources: dict[str, str] = {}

    def get_source(self, environment, template):
        source, _, uptodate = self._inner.get_source(environment, template)
        self.sources[template] = source
        # named relative to its folder, so that a source map is the same on every machine
        return source, template, uptodate


def environment(roots: Sequence[Path]) -> ImmutableSandboxedEnvironment:
    """A fresh environment over the template folders `roots`."""
    return ImmutableSandboxedEnvironment(
        loader=RecordingLoader(roots),
        undefined=StrictUndefined,
        finalize=_refuse_none,
        extensions=[LineMap],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def line_map(env: ImmutableSandboxedEnvironment) -> LineMap:
    """The extension that splits rendered text into lines and their origins."""
    return env.extensions[LineMap.identifier]


def _refuse_none(value: Any) -> Any:
    if value is None:
        raise ValueError("None would be printed; test for it in the template")
    return value
