"""What the comment at the top of an emitted file says of its making; `kgen.render.assemble` writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

_MADE = re.compile(r"# written by kgen \S+ from (.+)")


@dataclass(frozen=True)
class Header:
    """The spec's name and its file."""

    name: str
    file: str


def header_of(text: str) -> Header | None:
    """What the header says; None for a file that has none."""
    lines = list(takewhile(lambda line: line.startswith("#"), text.splitlines()))
    made = next(filter(None, map(_MADE.fullmatch, lines)), None)
    return made and Header(lines[0].removeprefix("#").strip(), made[1])
