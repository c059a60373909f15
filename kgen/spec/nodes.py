"""A YAML document as a tree that remembers where each key and value was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Union

Key = tuple[str | int, ...]
"""The way to a value: keys of mappings and indices of lists, from the document's root."""


@dataclass(frozen=True)
class Mark:
    """Where a key or value stands: lines and columns count from 1.

    `length` characters are its own on that line. `text_column` is the column of the first character
    of a scalar's text where text and file agree character by character (one line, no escapes), else
    None.
    """

    file: str
    line: int
    column: int
    length: int = 1
    text_column: int | None = None


@dataclass(frozen=True)
class Scalar:
    """A number, text, truth value or null."""

    value: str | int | float | bool | None
    mark: Mark

    size = 1


@dataclass(frozen=True)
class Entry:
    """One key of a mapping with its value."""

    key_mark: Mark
    node: Node


@dataclass(frozen=True)
class Mapping:
    """Keys to entries, in the order of the file. `size` counts its nodes, aliases expanded."""

    entries: dict[str, Entry]
    mark: Mark
    size: int = field(default=1, compare=False)


@dataclass(frozen=True)
class Sequence:
    """A list. `size` counts the nodes in it, aliases expanded."""

    items: tuple[Node, ...]
    mark: Mark
    size: int = field(default=1, compare=False)


Node = Union[Scalar, Mapping, Sequence]


def plain(node: Node) -> object:
    """The document without positions: dicts, tuples and scalars."""
    match node:
        case Mapping():
            return {key: plain(entry.node) for key, entry in node.entries.items()}
        case Sequence():
            return tuple(map(plain, node.items))
    return node.value


def path(node: Node, key: Key) -> Iterator[tuple[Mark | None, Node]]:
    """The nodes from the root down to `key`, as far as there are any, each with its key's mark.

    An item of a list is found by its index, or by the value of its `name`.
    """
    yield None, node
    for part in key:
        step = child(node, part)
        if step is None:
            return
        node = step.node
        yield step.key_mark, node


def child(node: Node, part: str | int) -> Entry | None:
    """The entry `part` of a mapping or the item `part` of a list; None where there is none."""
    if isinstance(node, Mapping):
        return node.entries.get(part) if isinstance(part, str) else None
    if isinstance(node, Sequence):
        index = item_index(node, part)
        if index is not None:
            return Entry(node.items[index].mark, node.items[index])
    return None


def item_index(node: Sequence, part: str | int) -> int | None:
    """The index of the item that `part` means: an index (number or digits) or an item's `name`."""
    if isinstance(part, str) and part.isascii() and part.isdigit() and len(part) < 10:
        part = int(part)
    if isinstance(part, int):
        return part if 0 <= part < len(node.items) else None
    for index, name in enumerate(item_names(node)):
        if name == part:
            return index
    return None


def item_names(node: Sequence) -> list[object]:
    """The `name` of each item, None for an item without one."""
    names = []
    for item in node.items:
        entry = item.entries.get("name") if isinstance(item, Mapping) else None
        named = entry is not None and isinstance(entry.node, Scalar)
        names.append(entry.node.value if named else None)
    return names
