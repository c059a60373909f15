"""The Jinja environment that all templates are rendered in.

Sandboxed, because template folders come from users too; undefined names and printed `None` are errors, because what
disappears from a kernel without a word is found last.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from jinja2 import BaseLoader, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgen.plan.templates import Templates
from kgen.render.linemap import LineMap


class FolderLoader(BaseLoader):
    """Finds templates in several folders, first one first.

    A template is named relative to its folder, so that a source map is the same on every machine.
    """

    def __init__(self, roots: Sequence[Path]):
        self._inner = FileSystemLoader([str(root) for root in roots])

    def get_source(self, environment, template):
        source, _, uptodate = self._inner.get_source(environment, template)
        return source, template, uptodate


def environment(roots: Sequence[Path]) -> ImmutableSandboxedEnvironment:
    """A fresh environment over the template folders `roots`."""
    return ImmutableSandboxedEnvironment(
        loader=FolderLoader(roots),
        undefined=StrictUndefined,
        finalize=_refuse_none,
        extensions=[LineMap],
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@dataclass(frozen=True)
class Workshop:
    """An environment, and the kernel texts that were rendered in it, so that many variants render each text once."""

    environment: ImmutableSandboxedEnvironment
    texts: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def line_map(self) -> LineMap:
        """The extension that splits rendered text into lines and their origins."""
        return self.environment.extensions[LineMap.identifier]

    def sources(self, *names: str) -> dict[str, str]:
        """The text of templates and of all that they import or include, as they are now, by name."""
        found: dict[str, str] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name], _, _ = self.environment.loader.get_source(self.environment, name)
                waiting += _IMPORTED.findall(found[name])
        return dict(sorted(found.items()))


_IMPORTED = re.compile(r"{%-?\s*(?:import|from|include|extends)\s+[\"']([^\"']+)")
_WORKSHOPS: WeakKeyDictionary[Templates, Workshop] = WeakKeyDictionary()


def workshop(templates: Templates) -> Workshop:
    """The workshop of a set of template folders; it lives as long as they are used."""
    if templates not in _WORKSHOPS:
        _WORKSHOPS[templates] = Workshop(environment(templates.roots))
    return _WORKSHOPS[templates]


def _refuse_none(value: Any) -> Any:
    if value is None:
        raise ValueError("None would be printed; test for it in the template")
    return value
