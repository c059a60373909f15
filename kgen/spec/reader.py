"""YAML text to nodes with positions.

PyYAML's C parser gives the events; composing them here keeps every position, bounds nesting and the
growth of aliases before anything is built, and leaves no way for a tag to construct an object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import yaml

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.spec.nodes import Entry, Mapping, Mark, Node, Scalar, Sequence, plain
from kgen.spec.problem import describe
from kgen.spec.scalars import resolve
from kgen.spec.syntax import explain
from kgen.spec.text import printable, source_line, split_lines

MAX_BYTES = 1 << 20
MAX_NODES = 20_000
MAX_DEPTH = 40

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, name: str) -> Node:
    """The one document in `text`, null for an empty one; `name` is the file's name in messages.

    Raises KgenError with everything that makes the text no plain YAML document: see the pages KG102
    to KG112.
    """
    lines = split_lines(text)
    _refuse_unreadable(text, name)
    composer = _Composer(name, lines)
    try:
        node = composer.document(iter(yaml.parse(text, Loader=_Loader)))
    except yaml.YAMLError as error:
        line, column, message, hint = explain(error, text)
        composer.report("KG104", message, composer.inside(Mark(name, line, column)), hint)
    if composer.problems:
        raise KgenError(sorted(composer.problems, key=_position))
    return node


def _position(problem: Diagnostic) -> tuple[int, int]:
    return problem.place.line, problem.place.column


def _refuse_unreadable(text: str, name: str) -> None:
    """Raise KgenError for text that is too long, or that UTF-8 cannot write."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        message = f"the text is not Unicode: a lone surrogate U+{ord(text[error.start]):04X}"
        raise KgenError([Diagnostic("KG103", message, Place(name, line, 1))]) from None
    if size > MAX_BYTES:
        raise KgenError([too_large(name, size)])


def too_large(name: str, size: int) -> Diagnostic:
    """The diagnostic for a file of `size` bytes."""
    return Diagnostic(
        "KG102",
        f"the file has {size} bytes; a spec may have {MAX_BYTES}",
        Place(name),
        "a spec is one kernel configuration; split it, and share parts with `extends`",
    )


class _Fatal(Exception):
    """Reading cannot go on; the problem is already reported."""


class _Composer:
    """Events to nodes. Collects problems and goes on where what follows still makes sense."""

    def __init__(self, name: str, lines: tuple[str, ...]):
        self.name = name
        self.lines = lines
        self.last = max((n for n, line in enumerate(lines, 1) if line.strip()), default=1)
        self.problems: list[Diagnostic] = []
        self.anchors: dict[str, Node | None] = {}

    def report(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        source = self.lines[mark.line - 1] if 0 < mark.line <= len(self.lines) else ""
        place = Place(self.name, mark.line, mark.column, mark.length)
        self.problems.append(Diagnostic(code, message, place, hint, source_line(source)))

    def inside(self, mark: Mark) -> Mark:
        """`mark`, moved to the end of the last line with text where it stands behind that."""
        if mark.line <= self.last:
            return mark
        return Mark(self.name, self.last, len(self.lines[self.last - 1]) + 1)

    def document(self, events: Iterator[yaml.Event]) -> Node | None:
        """The root node; None where a problem was reported that leaves none."""
        start = self._next_of(events, (yaml.DocumentStartEvent, yaml.StreamEndEvent))
        if isinstance(start, yaml.StreamEndEvent):
            return Scalar(None, self._mark(start))
        try:
            node = self.node(next(events), events, 0)
        except _Fatal:
            return None
        after = self._next_of(events, (yaml.DocumentStartEvent, yaml.StreamEndEvent))
        if isinstance(after, yaml.DocumentStartEvent):
            self.report(
                "KG106",
                "a second YAML document begins here; a spec file holds one",
                self._mark(after),
                "move it to a file of its own",
            )
        return node

    def _next_of(self, events: Iterable[yaml.Event], types: tuple[type, ...]) -> yaml.Event:
        return next(event for event in events if isinstance(event, types))

    def node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Node:
        mark = self._mark(event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, mark)
        if depth > MAX_DEPTH:
            self.report("KG112", f"values are nested more than {MAX_DEPTH} deep", mark)
            raise _Fatal
        if event.tag is not None:
            self._refuse_tag(event, mark)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            node: Node = self._scalar(event, mark)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(events, mark, depth)
        else:
            node = self._mapping(events, mark, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent, mark: Mark) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            inside = event.anchor in self.anchors
            why = "stands inside the very value it names" if inside else "names no value above it"
            self.report(
                "KG111",
                f"the alias `*{printable(event.anchor, 60)}` {why}",
                mark,
                "write the value itself",
            )
            raise _Fatal
        return node

    def _refuse_tag(self, event: yaml.Event, mark: Mark) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        self.report(
            "KG110",
            f"the tag `{printable(tag, 60)}`: a spec is data and has no tags",
            mark,
            "remove the tag and write the value alone",
        )

    def _scalar(self, event: yaml.ScalarEvent, mark: Mark) -> Scalar:
        if event.style:
            return Scalar(event.value, mark)
        try:
            return Scalar(resolve(event.value), mark)
        except OverflowError as error:
            self.report("KG205", f"{error}; no value of a spec is beyond 2**62", mark)
            return Scalar(0, mark)

    def _sequence(self, events: Iterator[yaml.Event], mark: Mark, depth: int) -> Sequence:
        items: list[Node] = []
        size = 1
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(self.node(event, events, depth + 1))
            size = self._grown(size, items[-1], mark)
        return Sequence(tuple(items), mark, size)

    def _mapping(self, events: Iterator[yaml.Event], mark: Mark, depth: int) -> Mapping:
        entries: dict[str, Entry] = {}
        size = 1
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key_mark = self._mark(event)
            key = self.node(event, events, depth + 1)
            node = self.node(next(events), events, depth + 1)
            size = self._grown(size, node, mark)
            text = self._key(key, key_mark)
            if text is None:
                continue
            if text in entries:
                first = entries[text].key_mark.line
                self.report(
                    "KG108",
                    f"the key `{printable(text, 60)}` is there twice; the first is in line {first}",
                    key_mark,
                    "keep one of them",
                )
            else:
                entries[text] = Entry(key_mark, node)
        return Mapping(entries, mark, size)

    def _key(self, key: Node, mark: Mark) -> str | None:
        """The text of a key; None, with a problem reported, for any other key."""
        if isinstance(key, Scalar) and isinstance(key.value, str):
            return key.value
        message = f"expected a name as key, found {describe(plain(key))}"
        self.report("KG109", message, mark, "write a name, or put the key in quotes")
        return None

    def _grown(self, size: int, node: Node, mark: Mark) -> int:
        size += node.size
        if size > MAX_NODES:
            self.report(
                "KG111",
                f"the document has more than {MAX_NODES} values, aliases expanded",
                mark,
                "write shared parts in a file of their own, and use `extends`",
            )
            raise _Fatal
        return size

    def _mark(self, event: yaml.Event) -> Mark:
        start, end = event.start_mark, event.end_mark
        line, column = start.line + 1, start.column + 1
        one_line = start.line == end.line and start.column < end.column
        if not isinstance(event, yaml.ScalarEvent) or not one_line:
            return self.inside(Mark(self.name, line, column))
        written = self.lines[start.line][start.column : end.column]
        quote = 1 if event.style in ("'", '"') else 0
        exact = written[quote : len(written) - quote] == event.value
        return Mark(self.name, line, column, len(written), column + quote if exact else None)
