"""Where the values of a YAML text stand, as ruamel.yaml reads it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kgen.sweep.needs import needed

if TYPE_CHECKING:
    from ruamel.yaml.nodes import MappingNode, Node

Path = tuple[str | int, ...]


class EditError(ValueError):
    """The text cannot be changed so; it says why."""


def data(text: str) -> Any:
    """What a text reads as. Raises `EditError` for what is no YAML."""
    yaml = needed("ruamel.yaml")
    return _read(text, yaml.YAML(typ="safe", pure=True).load)


def composed(text: str) -> Node:
    """The nodes of a text with their marks. Raises `EditError` for what is no YAML."""
    yaml = needed("ruamel.yaml")
    return _read(text, yaml.YAML(pure=True).compose)


def _read(text: str, reading: Callable[[str], Any]) -> Any:
    yaml = needed("ruamel.yaml")
    try:
        with warnings.catch_warnings():
            # a copied regime has its anchors twice, which YAML allows
            warnings.simplefilter("ignore")
            # ruamel takes no tab before a comment, though YAML does; a blank in its place moves no mark
            return reading(text.replace("\t", " "))
    except yaml.YAMLError as error:
        raise EditError(f"ruamel.yaml cannot read it: {' '.join(str(error).split())}") from None


def node_at(node: Node, path: Path) -> Node:
    """The node at a path. Raises `EditError`."""
    for number, part in enumerate(path):
        items = node.value if isinstance(node.value, list) else []
        if isinstance(part, int):
            found = items[part] if part < len(items) else None
        else:
            found = next((value for key, value in items if key.value == part), None)
        if found is None:
            raise EditError(f"there is no {shown(path[: number + 1])}")
        node = found
    return node


def pair_at(root: Node, path: Path) -> tuple[MappingNode, int | None]:
    """The mapping that a path's last key is of, and where in it the key stands. Raises `EditError`."""
    from ruamel.yaml.nodes import MappingNode

    mapping = node_at(root, path[:-1])
    if not isinstance(mapping, MappingNode):
        raise EditError(f"{shown(path[:-1])} is no mapping and has no {path[-1]}")
    names = [key.value for key, _ in mapping.value]
    return mapping, names.index(path[-1]) if path[-1] in names else None


def value_end(text: str, node: Node) -> int:
    """Where a value's own text ends: the mark of a block is behind the line breaks and comments that follow it."""
    if isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        return value_end(text, last[1] if isinstance(last, tuple) else last)
    start, stop = node.start_mark.index, node.end_mark.index
    return start + len(text[start:stop].rstrip())


def shown(path: Sequence[str | int]) -> str:
    """A path as a person writes it."""
    return ".".join(map(str, path)) or "the document"
