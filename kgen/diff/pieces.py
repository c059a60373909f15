"""A generated file cut into units (functions, header, constants) and these into pieces that no layout changes.

A piece is a comment, or what stands between two commas of a statement: a formatter that wraps a call otherwise leaves
the pieces as they are. Each remembers its lines, so that differences can be shown as the file has them.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Word = tuple[Literal["name", "literal", "other"], str]
Kind = Literal["header", "module", "kernel", "launcher", "entry", "helper"]

HASHES = re.compile(r"# (spec|templates) [0-9a-f]{64}")
"""Lines of the header that name what a file was made from; they say nothing of what it is."""
_COMMENT_WORD = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\S")
_LITERALS = ("True", "False", "None")
_SKIPPED = (tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Piece:
    """`words` in order, on lines `first` to `last`; `depth` is that of a statement that begins here, else -1."""

    words: tuple[Word, ...]
    first: int
    last: int
    depth: int
    comment: bool

    @cached_property
    def text(self) -> str:
        """The words, the same for every layout."""
        return f"{self.depth}:" + " ".join(word for _, word in self.words)

    @cached_property
    def shape(self) -> str:
        """The text without what names and literals say."""
        shown = {"name": "N", "literal": "0"}
        return f"{self.depth}:" + " ".join(shown.get(kind, word) for kind, word in self.words)


@dataclass(frozen=True)
class Unit:
    """A function, the header, or the statements of the module. `role` is a kernel's, empty where none is known."""

    kind: Kind
    name: str
    role: str
    regimes: tuple[str, ...]
    first: int
    last: int
    pieces: tuple[Piece, ...]

    @property
    def what(self) -> str:
        """Such as `kernel of role split`."""
        return f"{self.kind} of role {self.role}" if self.role else self.kind


def split_lines(text: str) -> list[str]:
    """The lines of a file as Python counts them: other separators, such as a form feed, stand within a line."""
    return text.removesuffix("\n").split("\n")


def units(text: str, manifest: Mapping[str, Any] | None) -> list[Unit]:
    """The units of a file in its order. Roles are the manifest's; kinds too, or else those of decorators and names."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    spans = {node.name: (_start(node), node.end_lineno) for node in functions}
    told = {node.name: _told(node, manifest) for node in functions}
    cut: dict[str, list[Piece]] = {"#": [], "": [], **{name: [] for name in spans}}
    hashes = {at for at, line in enumerate(split_lines(text), 1) if HASHES.fullmatch(line)}
    code_began = False
    for piece in pieces(text):
        code_began = code_began or not piece.comment
        if piece.first in hashes:
            continue
        within = (name for name, (first, last) in spans.items() if first <= piece.first <= last)
        cut[next(within, "" if code_began else "#")].append(piece)
    found = [Unit("header", "header", "", (), 1, 1, tuple(cut["#"]))]
    found.append(Unit("module", "module", "", (), 1, 1, tuple(cut[""])))
    for name, (first, last) in spans.items():
        found.append(Unit(told[name][0], name, *told[name][1:], first, last, tuple(cut[name])))
    return found


def _start(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _told(
    node: ast.FunctionDef, manifest: Mapping[str, Any] | None
) -> tuple[Kind, str, tuple[str, ...]]:
    """Kind, role and regimes of a function."""
    known = manifest["kernels"].get(node.name) if manifest else None
    if known:
        return "kernel", known["role"], tuple(known["regimes"])
    if any("jit" in ast.unparse(one) for one in node.decorator_list):
        return "kernel", "", ()
    if manifest and node.name == manifest["entry"]:
        return "entry", "", ()
    return ("launcher" if node.name.startswith("launch_") else "helper"), "", ()


def pieces(text: str) -> list[Piece]:
    """The pieces of a file that parses, in order."""
    cutter = _Cutter()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        cutter.take(token)
    return cutter.found


class _Cutter:
    """Cuts tokens into pieces at commas within brackets and at the ends of statements."""

    def __init__(self) -> None:
        self.found: list[Piece] = []
        self._words: list[Word] = []
        self._lines = (0, 0)
        self._indent = 0
        self._at_start = True
        self._commas: list[int] = []

    def take(self, token: tokenize.TokenInfo) -> None:
        """The next token of the file."""
        if token.type == tokenize.COMMENT:
            self.found.append(_comment(token))
        elif token.type == tokenize.NEWLINE:
            self._cut()
            self._at_start = True
        elif token.type in (tokenize.INDENT, tokenize.DEDENT):
            self._indent += 1 if token.type == tokenize.INDENT else -1
        elif token.type not in _SKIPPED:
            self._keep(token)

    def _keep(self, token: tokenize.TokenInfo) -> None:
        if token.type == tokenize.OP and token.string in ")]}":
            if self._commas and self._commas.pop() > 1:
                self._drop_trailing_comma()
        first = self._lines[0] if self._words else token.start[0]
        self._words.append(_word(token))
        self._lines = (first, token.end[0])
        if token.type == tokenize.OP and token.string in "([{":
            self._commas.append(0)
        elif token.string == "," and self._commas:
            self._commas[-1] += 1
            self._cut()

    def _cut(self) -> None:
        if self._words:
            depth = self._indent if self._at_start else -1
            self.found.append(Piece(tuple(self._words), *self._lines, depth, False))
            self._at_start = False
        self._words = []

    def _drop_trailing_comma(self) -> None:
        """Takes back the last piece without the comma that a formatter puts before a bracket on its own line."""
        at = next((i for i in range(len(self.found) - 1, -1, -1) if not self.found[i].comment), -1)
        if self._words or at < 0 or self.found[at].words[-1] != ("other", ","):
            return
        last = self.found.pop(at)
        self._words = list(last.words[:-1])
        self._lines = (last.first, last.last)
        self._at_start = last.depth >= 0


def _word(token: tokenize.TokenInfo) -> Word:
    if token.type in (tokenize.NUMBER, tokenize.STRING) or token.string in _LITERALS:
        return "literal", token.string
    plain = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
    return ("name" if plain else "other"), token.string


def _comment(token: tokenize.TokenInfo) -> Piece:
    """A comment; where it stands alone its column is its depth, as Python knows the block only after it."""
    alone = not token.line[: token.start[1]].strip()
    depth = token.start[1] if alone else -1
    return Piece(tuple(_comment_words(token.string)), token.start[0], token.start[0], depth, True)


def _comment_words(text: str) -> Iterator[Word]:
    for word in _COMMENT_WORD.findall(text):
        yield ("literal" if word[0].isdigit() else "other"), word


def names(found: Iterable[Piece]) -> set[str]:
    """The names in pieces that stand for something of the file: no attributes."""
    return {
        word
        for piece in found
        for at, (kind, word) in enumerate(piece.words)
        if kind == "name" and not is_attribute(piece, at)
    }


def is_attribute(piece: Piece, at: int) -> bool:
    """Whether a word stands behind a dot."""
    return at > 0 and piece.words[at - 1][1] == "."


def bound(text: str) -> set[str]:
    """The names that a file itself gives: parameters, assigned names, functions, keywords of calls."""
    tree = ast.walk(ast.parse(text))
    return {name for node in tree for name in _binds(node)}


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, (ast.arg, ast.keyword)) and node.arg:
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
