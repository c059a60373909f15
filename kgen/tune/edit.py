"""Changes to a YAML text that leave every other byte as it is.

ruamel.yaml says where each value stands; the text itself is cut and joined there, so that comments, order and layout
are not anybody's to reproduce.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgen.sweep.model import Scalar
from kgen.sweep.model import text as plain
from kgen.sweep.needs import needed

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node

Path = tuple[str | int, ...]


class EditError(ValueError):
    """The text cannot be changed so; it says why."""


@dataclass(frozen=True)
class Put:
    """The value at a path becomes `value`; a key that its mapping lacks is added at the end, and so is the mapping."""

    path: Path
    value: Scalar


@dataclass(frozen=True)
class Drop:
    """The key at a path goes with its value."""

    path: Path


@dataclass(frozen=True)
class Note:
    """A comment in a line of its own above the item at a path; one above it that begins with `mark` goes."""

    path: Path
    mark: str
    text: str


@dataclass(frozen=True)
class Copy:
    """The item of a list at a path stands there twice; what follows it moves on by one."""

    path: Path


Change = Put | Drop | Note | Copy


def edited(text: str, changes: Iterable[Change]) -> str:
    """The text with the changes made, one after the other.

    Raises `EditError` for a path that is not in the text, and where what comes out does not read as the old data with
    these changes: then nothing of it should be written.
    """
    expected = _unshared(data(text))
    for change in changes:
        text = _changed(text, change)
        if not isinstance(change, Note):
            _apply(expected, change)
    if data(text) != expected:
        raise EditError("the changed text does not read as the old one with the changes made")
    return text


def data(text: str) -> Any:
    """What a text reads as. Raises `EditError` for what is no YAML."""
    yaml = needed("ruamel.yaml")
    try:
        return yaml.YAML(typ="safe", pure=True).load(text)
    except yaml.YAMLError as error:
        raise EditError(f"the text is no YAML: {' '.join(str(error).split())}") from None


def _changed(text: str, change: Change) -> str:
    root = _composed(text)
    if isinstance(change, Note):
        return _noted(text, _at(root, change.path), change)
    if isinstance(change, Copy):
        return _copied(text, _at(root, change.path[:-1]), _at(root, change.path))
    if isinstance(change, Drop):
        mapping, index = _pair(root, change.path)
        if index is None:
            raise EditError(f"there is no {_shown(change.path)}")
        return _dropped(text, mapping, index)
    return _put(text, root, change)


def _put(text: str, root: Node, change: Put) -> str:
    *outer, key = change.path
    pair = f"{key}: {_written(change.value)}"
    if len(outer) > 1 and isinstance(outer[-1], str):
        mapping, index = _pair(root, tuple(outer))
        if index is None:
            return _added(text, mapping, f"{outer[-1]}: {{{pair}}}")
    mapping, index = _pair(root, change.path)
    if index is None:
        return _added(text, mapping, pair)
    old = mapping.value[index][1]
    return _spliced(text, old.start_mark.index, old.end_mark.index, _written(change.value))


def _pair(root: Node, path: Path) -> tuple[MappingNode, int | None]:
    """The mapping that a path's last key is of, and where in it the key stands. Raises `EditError`."""
    from ruamel.yaml.nodes import MappingNode

    mapping = _at(root, path[:-1])
    if not isinstance(mapping, MappingNode):
        raise EditError(f"{_shown(path[:-1])} is no mapping and has no {path[-1]}")
    names = [key.value for key, _ in mapping.value]
    return mapping, names.index(path[-1]) if path[-1] in names else None


def _composed(text: str) -> Node:
    yaml = needed("ruamel.yaml")
    try:
        return yaml.YAML(pure=True).compose(text)
    except yaml.YAMLError as error:
        raise EditError(f"the text is no YAML: {' '.join(str(error).split())}") from None


def _at(node: Node, path: Path) -> Node:
    """The node at a path. Raises `EditError`."""
    for number, part in enumerate(path):
        items = node.value if isinstance(node.value, list) else []
        if isinstance(part, int):
            found = items[part] if part < len(items) else None
        else:
            found = next((value for key, value in items if key.value == part), None)
        if found is None:
            raise EditError(f"there is no {_shown(path[: number + 1])}")
        node = found
    return node


def _added(text: str, mapping: MappingNode, pair: str) -> str:
    """A pair behind the last of a mapping: in the same braces, or in a line of its own."""
    if not mapping.value:
        return _spliced(text, mapping.start_mark.index, mapping.end_mark.index, f"{{{pair}}}")
    end = _end(mapping.value[-1][1])
    if mapping.flow_style:
        return _spliced(text, end, end, f", {pair}")
    end = _line_end(text, end)
    indent = " " * mapping.value[0][0].start_mark.column
    return _spliced(text, end, end, f"\n{indent}{pair}")


def _dropped(text: str, mapping: MappingNode, index: int) -> str:
    pairs = mapping.value
    start, end = pairs[index][0].start_mark.index, _end(pairs[index][1])
    if not mapping.flow_style:
        return _spliced(
            text, _line_start(text, start), min(_line_end(text, end) + 1, len(text)), ""
        )
    if index + 1 < len(pairs):
        end = pairs[index + 1][0].start_mark.index
    elif index:
        start = _end(pairs[index - 1][1])
    return _spliced(text, start, end, "")


def _copied(text: str, items: Node, node: Node) -> str:
    start = _line_start(text, node.start_mark.index)
    if items.flow_style or text[start : node.start_mark.index].strip() != "-":
        raise EditError("the item to copy does not begin a line of its own")
    item = text[start : _end(node)]
    return _spliced(text, start, start, f"{item}\n")


def _noted(text: str, node: Node, note: Note) -> str:
    start = _line_start(text, node.start_mark.index)
    line = text[start : _line_end(text, start)]
    indent = line[: len(line) - len(line.lstrip())]
    before = _line_start(text, max(0, start - 1))
    if start and text[before:start].strip().startswith(f"# {note.mark}"):
        return _spliced(text, before, start, f"{indent}# {note.mark}{note.text}\n")
    return _spliced(text, start, start, f"{indent}# {note.mark}{note.text}\n")


def _end(node: Node) -> int:
    """Where a value's own text ends: a block collection's mark is behind the comments that follow it."""
    if isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return node.end_mark.index


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _unshared(value: Any) -> Any:
    """The data with a copy for each alias: a change at one place is meant for that place."""
    if isinstance(value, dict):
        return {key: _unshared(one) for key, one in value.items()}
    return [_unshared(one) for one in value] if isinstance(value, list) else value


def _apply(expected: Any, change: Put | Drop | Copy) -> None:
    """The same change to the data."""
    for part in change.path[:-1]:
        if isinstance(expected, dict):
            expected.setdefault(part, {})
        expected = expected[part]
    if isinstance(change, Put):
        expected[change.path[-1]] = change.value
    elif isinstance(change, Copy):
        expected.insert(change.path[-1], _unshared(expected[change.path[-1]]))
    else:
        del expected[change.path[-1]]


def _written(value: Scalar) -> str:
    """A value as it stands in either layout; a text that YAML would read otherwise in quotes."""
    text = plain(value)
    if isinstance(value, str) and (data(f"[{text}]") != [value] or "#" in text):
        return "'" + text.replace("'", "''") + "'"
    return text


def _shown(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path)) or "the document"
