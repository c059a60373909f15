"""Changes to a YAML text that leave every other byte as it is.

ruamel.yaml says where each value stands; the text itself is cut and joined there, so that comments, order and layout
are not anybody's to reproduce.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgen.sweep.model import Scalar
from kgen.sweep.model import text as plain
from kgen.tune.nodes import EditError, Path, composed, data, node_at, pair_at, shown, value_end

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node


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
    """A comment in a line of its own above the item at a path; those above it that `old`, a regular expression, matches
    in whole go.
    """

    path: Path
    text: str
    old: str


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


def _changed(text: str, change: Change) -> str:
    root = composed(text)
    if isinstance(change, Note):
        return _noted(text, node_at(root, change.path), change)
    if isinstance(change, Copy):
        return _copied(text, node_at(root, change.path[:-1]), node_at(root, change.path))
    if isinstance(change, Drop):
        mapping, index = pair_at(root, change.path)
        if index is None:
            raise EditError(f"there is no {shown(change.path)}")
        return _dropped(text, mapping, index)
    return _put(text, root, change)


def _put(text: str, root: Node, change: Put) -> str:
    *outer, key = change.path
    pair = f"{key}: {_written(change.value)}"
    if len(outer) > 1 and isinstance(outer[-1], str):
        mapping, index = pair_at(root, tuple(outer))
        if index is None:
            return _added(text, mapping, f"{outer[-1]}: {{{pair}}}")
    mapping, index = pair_at(root, change.path)
    if index is None:
        return _added(text, mapping, pair)
    if _is_written(text, change):
        return text
    old = mapping.value[index][1]
    return _spliced(text, old.start_mark.index, value_end(text, old), _written(change.value))


def _is_written(text: str, change: Put) -> bool:
    """Whether the value stands there already, in whatever quotes or folds."""
    found = data(text)
    for part in change.path:
        found = found[part]
    return type(found) is type(change.value) and found == change.value


def _added(text: str, mapping: MappingNode, pair: str) -> str:
    """A pair behind the last of a mapping: in the same braces, or in a line of its own."""
    if not mapping.value:
        return _spliced(text, mapping.start_mark.index, mapping.end_mark.index, f"{{{pair}}}")
    end = value_end(text, mapping.value[-1][1])
    if mapping.flow_style:
        return _spliced(text, end, end, f", {pair}")
    end = _line_end(text, end)
    indent = " " * mapping.value[0][0].start_mark.column
    return _spliced(text, end, end, f"{_break(text)}{indent}{pair}")


def _dropped(text: str, mapping: MappingNode, index: int) -> str:
    pairs = mapping.value
    start, end = pairs[index][0].start_mark.index, value_end(text, pairs[index][1])
    if not mapping.flow_style:
        following = min(_line_end(text, end) + len(_break(text)), len(text))
        return _spliced(text, _line_start(text, start), following, "")
    if index + 1 < len(pairs):
        end = pairs[index + 1][0].start_mark.index
    elif index:
        start = value_end(text, pairs[index - 1][1])
    return _spliced(text, start, end, "")


def _copied(text: str, items: Node, node: Node) -> str:
    start = _line_start(text, node.start_mark.index)
    if items.flow_style or text[start : node.start_mark.index].strip() != "-":
        raise EditError("the item to copy does not begin a line of its own")
    item = text[start : value_end(text, node)]
    return _spliced(text, start, start, f"{item}{_break(text)}")


def _noted(text: str, node: Node, note: Note) -> str:
    """The comments right above the item are looked through for old ones."""
    start = _line_start(text, node.start_mark.index)
    line = text[start : _line_end(text, start)]
    indent = line[: len(line) - len(line.lstrip())]
    first, kept = start, []
    while first and text[(before := _line_start(text, first - 1)) : first].lstrip()[:1] == "#":
        if not re.fullmatch(rf"#\s*(?:{note.old})", text[before:first].strip()):
            kept.insert(0, text[before:first])
        first = before
    return _spliced(text, first, start, "".join([*kept, f"{indent}# {note.text}", _break(text)]))


def _break(text: str) -> str:
    """How the lines of the text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    found = len(text) if found < 0 else found
    return found - 1 if found > at and text[found - 1] == "\r" else found


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
