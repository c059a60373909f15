"""A spec or a folder on the command line, as the bundle that the verb works on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.make import Made
    from kgen.plan.templates import Templates
    from kgen.spec import Spec

SUBMISSION, MANIFEST = "submission.py", "manifest.json"


@dataclass(frozen=True)
class Bundle:
    """A folder with a rendered file and its manifest; `spec` is there when it was rendered from one just now."""

    directory: Path
    manifest: Mapping[str, Any]
    spec: Spec | None = None

    @property
    def submission(self) -> Path:
        """The rendered file."""
        return self.directory / SUBMISSION


def search(templates: Path | None) -> Templates:
    """kgen's own templates, after those of a user's folder."""
    from kgen.plan.templates import Templates

    return Templates([templates] if templates else [])


def made(path: Path, overrides: Sequence[str], templates: Templates) -> tuple[Spec, Made]:
    """The spec at `path` and its checked file. Raises `KgenError` with every problem that leaves no file."""
    from kgen.make import make
    from kgen.spec import load

    spec = load(path, overrides)
    return spec, make(spec, templates, cache_dir())


def files(made: Made, directory: Path) -> dict[Path, str]:
    """The files of a bundle in `directory` with their text."""
    return {directory / SUBMISSION: made.text, directory / MANIFEST: manifest_text(made.manifest)}


def write(wanted: Mapping[Path, str]) -> list[Path]:
    """Writes what differs from the disk, each file whole or not at all; returns what changed."""
    from kgen.render.write import changed, write_atomically

    differing = changed(wanted)
    for path in differing:
        try:
            write_atomically(path, wanted[path])
        except OSError as error:
            message = f"the file cannot be written: {error.strerror}"
            hint = "give another folder with -o"
            raise KgenError([Diagnostic("KG195", message, Place(str(path)), hint)]) from None
    return differing


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as JSON that diffs well: one line a key, and one an item of a list of objects."""
    rows = [f"  {json.dumps(key)}: {_value(value)}" for key, value in manifest.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
    return json.dumps(value)


def bundle(path: Path, overrides: Sequence[str], templates: Path | None) -> Bundle:
    """The bundle in a folder, or that of a spec, rendered into kgen's cache.

    Raises `KgenError` with the spec's problems and its plan's findings, or KG193 for a folder that is no bundle.
    """
    if path.is_dir():
        return Bundle(path, read_manifest(path))
    spec, found = made(path, overrides, search(templates))
    if found.wrong:
        raise KgenError(found.findings)
    return keep(spec, found)


def keep(spec: Spec, made: Made) -> Bundle:
    """The bundle of a spec, written into kgen's cache."""
    directory = (
        cache_dir() / "bundles" / f"{spec.document.name}-{made.manifest['bytes_sha256'][:12]}"
    )
    write(files(made, directory))
    return Bundle(directory, made.manifest, spec)


def read_manifest(directory: Path, needed: Iterable[str] = ()) -> Mapping[str, Any]:
    """The manifest in a folder, with the keys that are needed.

    Raises `KgenError` (KG193) where there is none that can be read, or another program's.
    """
    path = directory / MANIFEST
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _no_bundle(directory, f"cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise _no_bundle(directory, "is none of kgen's")
    missing = [key for key in needed if key not in found]
    if missing:
        raise _no_bundle(
            directory, f"is none of kgen's, or of another kgen: it has no {missing[0]}"
        )
    return found


def _no_bundle(directory: Path, why: str) -> KgenError:
    message = f"the folder is no bundle: its {MANIFEST} {why}"
    hint = "give a spec, or a folder that `kgen render` wrote"
    return KgenError([Diagnostic("KG193", message, Place(str(directory)), hint)])
