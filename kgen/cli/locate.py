"""Which template, kernel, regimes and spec keys a line of a rendered file came from, by the manifest beside it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgen.cli.bundle import read_manifest
from kgen.cli.spec_keys import SpecKey, regimes_of, spec_keys
from kgen.diagnostics import Diagnostic, KgenError, Place

NEEDED = ("bytes_sha256", "source_map", "templates_index", "functions", "kernels", "regimes")
"""The keys of a manifest by which a line is found."""


@dataclass(frozen=True)
class Origin:
    """Where one generated line comes from. `template` is empty for a line that kgen itself assembled.

    `keys` are the spec keys behind the names in it; None where the manifest of an older kgen does not tell.
    """

    file: str
    line: int
    text: str
    function: str
    regimes: tuple[str, ...]
    template: str
    template_line: int
    keys: tuple[SpecKey, ...] | None

    def __str__(self) -> str:
        rows = [f"{self.file}:{self.line}: {self.text.strip()}"]
        if self.function:
            regimes = f", run by {' and '.join(self.regimes)}" if self.regimes else ""
            rows.append(f"  in {self.function}{regimes}")
        if self.template:
            rows.append(f"  from {self.template}:{self.template_line}")
        else:
            rows.append("  assembled by kgen, from no template line")
        if self.keys is None:
            rows.append("  spec keys: not known, for an older kgen wrote the manifest")
        rows += [f"  depends on {_told(one)}" for one in self.keys or ()]
        return "\n".join(rows)

    def as_json(self) -> dict[str, Any]:
        """The origin as plain data, for `--json`."""
        return asdict(self)


def _told(one: SpecKey) -> str:
    value = one.value if isinstance(one.value, str) else json.dumps(one.value)
    return f"{one.key} = {value} ({one.place or 'the default, not written in the spec'})"


def locate(path: Path, line: int) -> Origin:
    """The origin of `line` (counted from 1) of the rendered file at `path`.

    Raises `KgenError`: KG191 when no manifest lies beside the file, KG193 when that is none of kgen's, KG194 when the
    file was edited since it was rendered, KG192 when it has no such line.
    """
    manifest_path = path.parent / "manifest.json"
    if not manifest_path.is_file():
        raise KgenError([_no_manifest(path, manifest_path)])
    manifest = read_manifest(path.parent, NEEDED)
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != manifest["bytes_sha256"]:
        raise KgenError([_edited(path)])
    text = content.decode("utf-8")
    lines = text.splitlines()
    if not 1 <= line <= len(lines):
        raise KgenError([_no_line(path, line, len(lines))])
    function = _enclosing(manifest, line)
    template, template_line = _template(manifest, line)
    regimes = regimes_of(manifest, function)
    return Origin(
        str(path),
        line,
        lines[line - 1],
        function,
        regimes,
        template,
        template_line,
        spec_keys(manifest, text, line, function),
    )


def _template(manifest: dict[str, Any], line: int) -> tuple[str, int]:
    mapped = manifest["source_map"][line - 1]
    if mapped is None:
        return "", 0
    index, template_line = mapped
    return manifest["templates_index"][index], template_line


def _enclosing(manifest: dict[str, Any], line: int) -> str:
    """The top-level function that contains `line`, decorators included; empty when there is none."""
    spans = manifest["functions"].items()
    return next((name for name, (first, last) in spans if first <= line <= last), "")


def _no_manifest(path: Path, manifest: Path) -> Diagnostic:
    return Diagnostic(
        "KG191",
        "no manifest.json lies beside it, so nothing says where its lines come from",
        Place(str(path)),
        hint=f"give a file that `kgen render` wrote; it writes {manifest.name} too",
    )


def _edited(path: Path) -> Diagnostic:
    return Diagnostic(
        "KG194",
        "the file was edited after it was rendered, so its lines are not where the manifest has them",
        Place(str(path)),
        hint="render the spec again, or ask about a line of the file as it was rendered",
    )


def _no_line(path: Path, line: int, count: int) -> Diagnostic:
    return Diagnostic(
        "KG192",
        f"there is no line {line}: the file has {count}",
        Place(str(path)),
        hint=f"give a line from 1 to {count}",
    )
