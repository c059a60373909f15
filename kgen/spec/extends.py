"""Resolving `extends: other.yaml` into one document."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.spec.files import read_file
from kgen.spec.merge import merged, without
from kgen.spec.nodes import Mapping, Mark, Node, Scalar
from kgen.spec.reader import read
from kgen.spec.text import source_line, split_lines

MAX_DEPTH = 8


class Resolver:
    """Reads documents and those they extend; `texts` holds every text read, by the file's name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def resolve(self, text: str, path: Path, seen: tuple[str, ...] = ()) -> Mapping:
        """The document in `text`, of the file `path`, on top of those it extends.

        Raises KgenError for YAML that cannot be read, for a cycle and for more than MAX_DEPTH files
        in a row.
        """
        name = str(path)
        self.texts[name] = text
        document = self._mapping(read(text, name), name)
        entry = document.entries.get("extends")
        if entry is None:
            return document
        base = self._base_path(entry.node, path)
        seen = (*seen, os.path.realpath(path))
        if os.path.realpath(base) in seen:
            raise self._error("KG115", "this file extends itself" + _through(seen), entry.node.mark)
        if len(seen) > MAX_DEPTH:
            raise self._error(
                "KG116", f"more than {MAX_DEPTH} files extend one another", entry.node.mark
            )
        return merged(
            self.resolve(self._read(base, entry.node), base, seen), without(document, "extends")
        )

    def _mapping(self, node: Node, name: str) -> Mapping:
        if isinstance(node, Mapping):
            return node
        if isinstance(node, Scalar) and node.value is None:
            hint = "begin with `kgen: 1`; `kgen explain KG105` shows a small spec"
            raise KgenError([Diagnostic("KG105", "the file is empty", Place(name), hint)])
        raise self._error(
            "KG107",
            "a spec is a mapping of keys to values, and this file holds "
            + ("a list" if not isinstance(node, Scalar) else "a single value"),
            node.mark,
            "begin with `kgen: 1`",
        )

    def _base_path(self, node: Node, path: Path) -> Path:
        value = node.value if isinstance(node, Scalar) else None
        if not isinstance(value, str) or not value.isprintable():
            raise self._error(
                "KG114", "`extends` names one file", node.mark, "write `extends: other.yaml`"
            )
        if PurePosixPath(value).is_absolute() or Path(value).suffix not in (".yaml", ".yml"):
            raise self._error(
                "KG114",
                f"`extends: {value[:80]}` is no relative path of a YAML file",
                node.mark,
                "write the path from this file's folder to a file that ends in `.yaml`",
            )
        return path.parent / value

    def _read(self, base: Path, node: Node) -> str:
        try:
            return read_file(base)
        except KgenError as error:
            reason = error.diagnostics[0].message
            raise self._error(
                "KG114",
                f"`{base}`, which this spec extends: {reason}",
                node.mark,
                "the path counts from this file's folder",
            ) from None

    def _error(self, code: str, message: str, mark: Mark, hint: str = "") -> KgenError:
        source = split_lines(self.texts[mark.file])[mark.line - 1]
        place = Place(mark.file, mark.line, mark.column, mark.length)
        return KgenError([Diagnostic(code, message, place, hint, source_line(source))])


def _through(seen: tuple[str, ...]) -> str:
    names = [os.path.basename(path) for path in seen]
    return f", by way of {', '.join(names[1:])}" if len(names) > 1 else ""
