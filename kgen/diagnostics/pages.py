"""The page that explains each code: what happened, why it matters, what to do instead.

Pages are written in `pages/*.yaml`, one file for each area, under the code as key.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

FOLDER = Path(__file__).with_name("pages")


@dataclass(frozen=True)
class Page:
    """What `kgen explain <code>` shows."""

    code: str
    title: str
    what: str
    why: str
    instead: str


def page(code: str) -> Page:
    """The page of a code such as `KG204` or `kg204`. Raises KeyError for one without."""
    return _pages()[code.upper()]


def all_codes() -> tuple[str, ...]:
    """Every code that has a page, sorted."""
    return tuple(_pages())


@functools.cache
def _pages() -> Mapping[str, Page]:
    """All pages by code. Raises ValueError where two files explain the same code."""
    import yaml

    pages: dict[str, Page] = {}
    for file in sorted(FOLDER.glob("*.yaml")):
        for code, entry in yaml.safe_load(file.read_text(encoding="utf-8")).items():
            if code in pages:
                raise ValueError(f"{code} is explained twice, the second time in {file.name}")
            pages[code] = Page(code, **entry)
    return MappingProxyType(dict(sorted(pages.items())))
