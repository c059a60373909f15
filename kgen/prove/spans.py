"""Changes of spans of a text that leave every other line where it is."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replacements of byte spans (start, end, text), in order and apart; `line` is the first's."""

    line: int
    parts: tuple[tuple[int, int, str], ...]


class Text:
    """A source text addressed by nodes of its syntax tree, whose columns count bytes."""

    def __init__(self, source: str):
        self._bytes = source.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The bytes that a node covers."""
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """The text of a node, in parentheses where it is an operation."""
        start, end = self.span(node)
        text = self._bytes[start:end].decode()
        return f"({text})" if isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp)) else text

    def replaced(self, node: ast.AST, text: str) -> Edit:
        """The node's text replaced."""
        return self._edit((*self.span(node), text))

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Edit:
        """The only `old` between two nodes replaced."""
        start = self._bytes.index(old.encode(), self.span(left)[1], self.span(right)[0])
        return self._edit((start, start + len(old), new))

    def swapped(self, first: ast.AST, second: ast.AST) -> Edit:
        """Two nodes with each other's text."""
        a, b = self.span(first), self.span(second)
        return self._edit(
            (*a, self._bytes[slice(*b)].decode()), (*b, self._bytes[slice(*a)].decode())
        )

    def without_arguments(self, call: ast.Call, keywords: Sequence[ast.keyword]) -> Edit:
        """A call without these keyword arguments; line breaks that they held stay."""
        parts = []
        for keyword in keywords:
            start, end = self.span(keyword)
            start = self._bytes.rindex(b",", 0, start)
            parts.append((start, end, "\n" * self._bytes[start:end].count(b"\n")))
        return self._edit(*parts)

    def with_argument(self, call: ast.Call, name: str, value: str) -> Edit:
        """A call with this keyword argument, replaced or appended."""
        for keyword in call.keywords:
            if keyword.arg == name:
                return self.replaced(keyword.value, value)
        last = [*call.args, *(keyword.value for keyword in call.keywords)][-1]
        end = self.span(last)[1]
        return self._edit((end, end, f", {name}={value}"))

    def changed(self, edit: Edit) -> str:
        """The whole text after an edit."""
        return _apply(self._bytes, edit.parts).decode()

    def shown(self, edit: Edit) -> tuple[str, str]:
        """The lines that an edit touches, before and after, each squeezed into one."""
        first, last = edit.parts[0][0], edit.parts[-1][1]
        start = self._bytes.rfind(b"\n", 0, first) + 1
        stop = self._bytes.find(b"\n", last)
        stop = len(self._bytes) if stop < 0 else stop
        moved = tuple((begin - start, end - start, text) for begin, end, text in edit.parts)
        before = self._bytes[start:stop]
        after = _apply(before, moved)
        return " ".join(before.decode().split()), " ".join(after.decode().split())

    def _edit(self, *parts: tuple[int, int, str]) -> Edit:
        line = self._bytes.count(b"\n", 0, parts[0][0]) + 1
        return Edit(line, tuple(parts))


def _apply(text: bytes, parts: tuple[tuple[int, int, str], ...]) -> bytes:
    for start, end, new in reversed(parts):
        text = text[:start] + new.encode() + text[end:]
    return text
