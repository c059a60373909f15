"""Plain tables: columns as wide as their widest cell, numbers to the right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Cell = str | int | float | None


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """The lines of a table. None prints as `-`, a float with two decimals, an integer with thousands separated."""
    body = [list(row) for row in rows]
    right = [
        any(isinstance(row[i], (int, float)) for row in body)
        and all(row[i] is None or isinstance(row[i], (int, float)) for row in body)
        for i in range(len(header))
    ]
    texts = [list(header), *([shown(_text(cell)) for cell in row] for row in body)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    for row in texts:
        cells = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def shown(text: str) -> str:
    """A text of somebody else's as a terminal may have it: what is not printed is written as an escape, but line ends."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
