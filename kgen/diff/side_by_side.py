"""Hunks in two columns, for a wide terminal."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator

from kgen.diff.model import Hunk
from kgen.diff.show import title

WIDE = 150
"""Columns from which two texts fit beside each other."""


def side_by_side(hunks: Iterable[Hunk], width: int, coloured: bool) -> Iterator[str]:
    """Lines of A on the left and of B on the right; what is too long for a column goes on in the next line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    for hunk in hunks:
        table = Table(box=None, padding=(0, 1), show_header=False, width=width)
        table.add_column(ratio=1, overflow="fold")
        table.add_column(ratio=1, overflow="fold")
        for old, new in itertools.zip_longest(hunk.removed, hunk.added):
            table.add_row(_cell(Text, "- ", old, "red"), _cell(Text, "+ ", new, "green"))
        console = Console(
            file=io.StringIO(),
            width=width,
            force_terminal=coloured,
            color_system="standard" if coloured else None,
        )
        console.print(table)
        yield f"  @ {title(hunk)}"
        yield from (line.rstrip() for line in console.file.getvalue().splitlines())


def _cell(text: type, mark: str, line: str | None, colour: str):
    return text("" if line is None else f"{mark}{line}", style=colour)
