"""`--set key.path=value`: changing a document without copying it."""

from __future__ import annotations

from dataclasses import replace

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import suggestion
from kgen.spec.merge import put
from kgen.spec.nodes import Entry, Mapping, Mark, Node, Sequence, item_index, item_names
from kgen.spec.reader import MAX_DEPTH, read
from kgen.spec.text import printable, source_line


def override_name(number: int) -> str:
    """How messages name the `number`th override, from 1."""
    return f"<--set {number}>"


def override(root: Mapping, text: str, number: int) -> Mapping:
    """`root` with `text`, such as `regimes.decode.tile.BLOCK_N=64`, applied.

    The value is YAML. An item of a list is chosen by its `name` or index; a key that a mapping
    lacks is added, for the schema to judge. Raises KgenError (KG117, KG118).
    """
    name = override_name(number)
    path, equals, _ = text.partition("=")
    parts = path.split(".")
    if not equals or not all(parts) or len(parts) > MAX_DEPTH or not text.isprintable():
        raise _error("KG117", "this is not of the form `key.path=value`", name, text, 0, len(text))
    if not text[len(path) + 1 :].strip():
        raise _error("KG117", "there is no value behind `=`", name, text, len(text), len(text) + 1)
    # Blanks in place of the path keep the value's columns those of the whole text.
    try:
        value = read(" " * (len(path) + 1) + text[len(path) + 1 :], name)
    except KgenError as error:
        found = (replace(problem, source=source_line(text)) for problem in error.diagnostics)
        raise KgenError(found) from None
    return _Override(name, text, path, value).apply(root, 0)


class _Override:
    """One override on its way down the document."""

    def __init__(self, name: str, text: str, path: str, value: Node):
        self.name = name
        self.text = text
        self.path = path
        self.value = value

    def apply(self, node: Node, start: int) -> Node:
        """`node` with the value at the path that begins at character `start`."""
        if start > len(self.path):
            return self.value
        if isinstance(node, Mapping):
            return self._in_mapping(node, start)
        if isinstance(node, Sequence):
            return self._in_sequence(node, start)
        end = self._end(start)
        parent = self.path[: start - 1]
        raise self._unknown(
            f"`{parent}` is a value and has no `{self.path[start:end]}`", start, end
        )

    def _in_mapping(self, node: Mapping, start: int) -> Mapping:
        end = self._end(start)
        for known in sorted(node.entries, key=len, reverse=True):
            # Keys of `sweep` hold dots themselves.
            if f"{self.path}.".startswith(f"{known}.", start):
                end = start + len(known)
                break
        key, mark = self.path[start:end], Mark(self.name, 1, start + 1, end - start)
        entry = node.entries.get(key) or Entry(mark, Mapping({}, mark))
        return put(node, key, Entry(mark, self.apply(entry.node, end + 1)))

    def _in_sequence(self, node: Sequence, start: int) -> Sequence:
        end = self._end(start)
        part = self.path[start:end]
        index = item_index(node, part)
        if index is None:
            names = [name for name in item_names(node) if isinstance(name, str)]
            hint = suggestion(part, names, "items") or f"it has {len(node.items)} items"
            raise self._unknown(
                f"`{self.path[: start - 1]}` has no item `{part}`", start, end, hint
            )
        items = list(node.items)
        items[index] = self.apply(items[index], end + 1)
        return replace(node, items=tuple(items))

    def _end(self, start: int) -> int:
        """The end of the part of the path that begins at `start`."""
        end = self.path.find(".", start)
        return len(self.path) if end < 0 else end

    def _unknown(self, message: str, start: int, end: int, hint: str = "") -> KgenError:
        return _error("KG118", message, self.name, self.text, start, end, hint)


def _error(
    code: str, message: str, name: str, text: str, start: int, end: int, hint: str = ""
) -> KgenError:
    place = Place(name, 1, start + 1, max(1, end - start))
    hint = hint or "write for example `--set regimes.decode.tile.BLOCK_N=64`"
    return KgenError(
        [Diagnostic(code, printable(message), place, printable(hint), source_line(text))]
    )
