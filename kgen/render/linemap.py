"""A Jinja extension that knows which template line each rendered line came from, through macros and imports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jinja2 import Environment
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

# private-use characters: they stand in no template, and are taken out before anything else reads the text
_MARK = re.compile("\ue000(\\d+):(\\d+)\ue001")


def unmarked(text: str) -> str:
    """Rendered text, such as a macro's result, as it will be read."""
    return _MARK.sub("", text)


@dataclass(frozen=True)
class Origin:
    """A line of a template, counted from 1."""

    template: str
    line: int


class LineMap(Extension):
    """Puts a mark before each line of template text; `split` takes the marks out again."""

    def __init__(self, environment: Environment):
        super().__init__(environment)
        self.templates: list[str] = []

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        name = stream.filename or stream.name or "<text>"
        if name not in self.templates:
            self.templates.append(name)
        number = self.templates.index(name)
        for token in stream:
            if token.type == "data":
                lines = token.value.split("\n")
                marked = [
                    f"\ue000{number}:{token.lineno + i}\ue001{line}" if line else line
                    for i, line in enumerate(lines)
                ]
                yield Token(token.lineno, "data", "\n".join(marked))
            else:
                yield token

    def split(self, text: str) -> tuple[str, list[Origin | None]]:
        """The text without marks, and where each of its lines began."""
        lines, origins = [], []
        for line in text.split("\n"):
            first = _MARK.search(line)
            origins.append(Origin(self.templates[int(first[1])], int(first[2])) if first else None)
            lines.append(unmarked(line))
        return "\n".join(lines), origins
