"""Text of files and of their authors, made fit for messages."""

from __future__ import annotations

import re

MAX_LINE = 500
MAX_MESSAGE = 400

_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of `text` as YAML counts them."""
    return tuple(_LINE_BREAK.split(text))


def source_line(line: str) -> str:
    """A line of a file as a message may show it, empty for one that is too long.

    Nothing in it moves a terminal's cursor or changes a column.
    """
    if len(line) > MAX_LINE:
        return ""
    return "".join(char if char.isprintable() else " " for char in line)


def printable(text: str, limit: int = MAX_MESSAGE) -> str:
    """`text` on one line, what cannot be printed written as an escape, cut to `limit` characters."""
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 3] + "..."
