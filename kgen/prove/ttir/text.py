"""Pieces of MLIR text: splitting outside brackets, types, and locations."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from kgen.prove.ttir.model import TtirError, Type

_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_LOCATION = re.compile(r" ?\bloc\(")
_DEFINITION = re.compile(r"^(#loc\d*) = (loc\(.*\))$", re.M)


def split(text: str, separator: str) -> list[str]:
    """`text` at each `separator` that stands in no bracket, without blanks around the parts."""
    if separator not in text:
        return [text.strip()]
    parts, start = [], 0
    for at, token, depth in _tokens(text, separator):
        if token == separator and depth == 0:
            parts.append(text[start:at].strip())
            start = at + len(separator)
    return [*parts, text[start:].strip()]


def bracketed(text: str, at: int) -> int:
    """The position behind the bracket that closes the one at position `at`."""
    for position, token, depth in _tokens(text, "", at):
        if depth == 0 and token in _CLOSING:
            return position + 1
    raise TtirError(f"a bracket is not closed: {text[at:at + 60]}")


def _tokens(text: str, separator: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """Brackets and separators outside quotes: position, token, and how many brackets are open behind it."""
    depth = 0
    for found in _pattern(separator).finditer(text, start):
        token = found.group()
        if token in _OPENING:
            depth += 1
        elif token in _CLOSING:
            depth -= 1
        yield found.start(), token, depth


@functools.cache
def _pattern(separator: str) -> re.Pattern:
    """The separator comes first, then what has brackets in it without being any: text and arrows."""
    own = f"{re.escape(separator)}|" if separator else ""
    return re.compile(own + r'"[^"]*"|->|[(){}<>]|\[|\]')


@functools.lru_cache(4096)
def types(text: str) -> tuple[Type, ...]:
    """A list of types, in parentheses or not, separated by commas or, for products, by `*`."""
    text = text.strip()
    if text.startswith("(") and bracketed(text, 0) == len(text):
        text = text[1:-1].strip()
    found = [part for piece in split(text, ", ") for part in split(piece, " * ")]
    return tuple(_type(part) for part in found if part)


def _type(text: str) -> Type:
    shape: tuple[int, ...] = ()
    block = re.fullmatch(r"tensor<((?:\d+x)+)(.*)>", text)
    if block:
        shape = tuple(int(size) for size in block.group(1).split("x") if size)
        text = split(block.group(2), ", ")[0]  # an encoding may follow
    pointer = re.fullmatch(r"!tt\.ptr<(.*)>", text)
    if pointer:
        return Type(shape, split(pointer.group(1), ", ")[0], True)
    return Type(shape, text)


class Locations:
    """Where operations come from: MLIR's locations, reduced to lines of one file."""

    def __init__(self, text: str, file: str):
        self._definitions: Mapping[str, str] = dict(_DEFINITION.findall(text))
        self._file = file
        self._lines: dict[str, int] = {}

    def strip(self, line: str) -> tuple[str, str]:
        """The line without its locations, and the last of these, which is the operation's own."""
        last = ""
        while found := _LOCATION.search(line):
            end = bracketed(line, found.end() - 1)
            last = line[found.start() : end].strip()
            line = line[: found.start()] + line[end:]
        return line, last

    def line(self, location: str) -> int:
        """The line of the file, 0 where the location names none.

        Of a call, the place inside the callee comes first, if that is in the file too.
        """
        if location not in self._lines:
            self._lines[location] = 0  # a location that holds itself
            self._lines[location] = self._found(location)
        return self._lines[location]

    def _found(self, location: str) -> int:
        inner = location.removeprefix("loc(").removesuffix(")")
        place = re.fullmatch(r'"((?:[^"\\]|\\.)*)":(\d+):\d+(?: to .*)?', inner)
        if place:
            return int(place.group(2)) if place.group(1) == self._file else 0
        for name in re.findall(r"#loc\d*", inner):
            line = self.line(self._definitions.get(name, ""))
            if line:
                return line
        return 0
