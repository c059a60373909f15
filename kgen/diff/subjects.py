"""What an argument of `kgen diff` names, read or rendered: specs, generated files, folders, and these of a revision."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.diff.model import Side, Subject
from kgen.diff.revision import Revision, revision
from kgen.paths import cache_dir, templates_dir
from kgen.plan.templates import Templates

SUBMISSION, MANIFEST = "submission.py", "manifest.json"
SPECS = (".yaml", ".yml")
NEEDED = (
    *("spec", "family", "entry", "targets", "devices", "problem", "regimes", "kernels"),
    *("signatures", "templates_index", "source_map"),
)
"""The keys of a manifest that a comparison reads."""


@dataclass
class Reader:
    """Reads subjects; `scratch` is a folder where files of revisions are laid out, `templates` the user's own."""

    scratch: Path
    templates: Path | None = None
    _revisions: dict[str, Revision] = field(default_factory=dict)

    def read(self, text: str, overrides: Sequence[str] = ()) -> Subject:
        """The subject that `text` names: a path, or `REV:PATH`. Raises `KgenError` with all that is wrong with it."""
        path = Path(text)
        if path.exists():
            return self._found(path, text, overrides, Templates(self._own()))
        name, colon, inside = text.partition(":")
        if not colon or not name:
            raise KgenError([_nothing(text)])
        at = self.revision(name)
        inside = at.inside(inside)
        kind = at.kind(inside)
        folder = self._laid_out(at, inside, _needed(inside, kind))
        if kind == "folder":
            # also where it has no file that is needed
            (folder / inside).mkdir(parents=True, exist_ok=True)
        try:
            return self._found(folder / inside, text, overrides, Templates(self._of(at)))
        except KgenError as error:
            raise KgenError(_renamed(error, f"{folder}/", f"{name}:")) from None

    def revision(self, name: str) -> Revision:
        """The revision of that name. Raises `KgenError` (KG181)."""
        if name not in self._revisions:
            self._revisions[name] = revision(name)
        return self._revisions[name]

    def _own(self) -> list[Path]:
        return [self.templates] if self.templates else []

    def _laid_out(self, at: Revision, inside: str, wanted: Callable[[str], bool]) -> Path:
        """A folder with the wanted files of a revision, those that are needed for `inside`, at their paths."""
        folder = self.scratch / f"{at.commit}-{hashlib.sha256(inside.encode()).hexdigest()[:12]}"
        if not folder.exists():
            at.write(wanted, folder)
        return folder

    def _of(self, at: Revision) -> list[Path]:
        """Template folders as they were: each that lies in the repository and is in the revision."""
        found = []
        for folder in (*self._own(), templates_dir()):
            try:
                inside = folder.resolve().relative_to(at.root.resolve()).as_posix()
            except ValueError:
                inside = ""
            if inside and any(map(_below(inside), at.blobs)):
                found.append(self._laid_out(at, inside, _below(inside)) / inside)
            elif folder == self.templates:
                found.append(folder)
        return found

    def _found(
        self, path: Path, label: str, overrides: Sequence[str], templates: Templates
    ) -> Subject:
        if path.is_dir():
            return _folder(path, label)
        if path.suffix in SPECS:
            return Subject(label, False, {"": rendered(path, label, overrides, templates)})
        return Subject(label, False, {"": generated(path, label)})


def _below(folder: str) -> Callable[[str], bool]:
    """Whether a path of a revision lies below a folder, which is empty for the top."""
    return lambda path: path.startswith(f"{folder}/" if folder else "")


def _needed(inside: str, kind: str) -> Callable[[str], bool]:
    """The paths that a subject needs: of a spec every one that it may extend, of generated files their manifests."""
    if inside.endswith(SPECS):
        return lambda path: path.endswith(SPECS)
    if kind == "folder":
        below = _below(inside)
        return lambda path: below(path) and path.rpartition("/")[2] in (SUBMISSION, MANIFEST)
    beside = inside.rpartition("/")[0]
    return lambda path: path in (inside, f"{beside}/{MANIFEST}".lstrip("/"))


def rendered(path: Path, label: str, overrides: Sequence[str], templates: Templates) -> Side:
    """A spec's file. Raises `KgenError` with its problems, and with the findings that make the file wrong."""
    from kgen.make import make
    from kgen.spec import load
    from kgen.spec.nodes import plain

    spec = load(path, overrides)
    made = make(spec, templates, cache_dir())
    if made.wrong:
        raise KgenError(made.findings)
    if overrides:
        label = " ".join([label, *(f"--set {one}" for one in overrides)])
    return Side(label, "spec", made.text, made.manifest, plain(spec.origin.root))


def generated(path: Path, label: str) -> Side:
    """A Python file, with the manifest beside it where that is its own. Raises `KgenError` (KG183)."""
    text = _python(path)
    manifest, note = _manifest(path, text)
    return Side(label, "file", re.sub("\r\n?", "\n", text), manifest, None, note)


def _python(path: Path) -> str:
    """The text of a Python file. Raises `KgenError` (KG183) for what is none."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        ast.parse(text)
    except SyntaxError as error:
        lines = text.splitlines()
        line = min(error.lineno or 1, max(len(lines), 1))
        source = lines[line - 1] if lines else ""
        place = Place(str(path), line, max(1, min(error.offset or 1, len(source) + 1)))
        raise KgenError([_no_python(place, f"{error.msg}", source)]) from None
    except UnicodeDecodeError as error:
        reason = f"it is no UTF-8 text (byte 0x{error.object[error.start]:02x} at {error.start})"
        raise KgenError([_no_python(Place(str(path)), reason, "")]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise KgenError([_no_python(Place(str(path)), str(error), "")]) from None
    return text


def _no_python(place: Place, reason: str, source: str) -> Diagnostic:
    message = f"this is neither a spec nor a Python file that can be read: {reason}"
    hint = "give a spec that ends in .yaml, or a file that `kgen render` wrote"
    return Diagnostic("KG183", message, place, hint, source)


def _manifest(path: Path, text: str) -> tuple[Mapping[str, Any] | None, str]:
    """The manifest beside a file, or why there is none of this file."""
    beside = path.parent / MANIFEST
    if not beside.is_file():
        return None, "no manifest.json lies beside it"
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
        own = found["bytes_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        missing = [key for key in NEEDED if key not in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return None, f"its manifest.json cannot be read ({error})"
    if missing:
        return None, f"its manifest.json, of another kgen, has no {missing[0]}"
    return (found, "") if own else (None, "it was edited after it was rendered")


def _folder(path: Path, label: str) -> Subject:
    """A bundle's folder, or every bundle below a folder. Raises `KgenError` (KG184) where there is none."""
    if (path / SUBMISSION).is_file():
        return Subject(label, False, {"": generated(path / SUBMISSION, label)})
    sides = {
        file.parent.relative_to(path).as_posix(): generated(
            file, f"{label.rstrip('/')}/{file.relative_to(path).parent.as_posix()}"
        )
        for file in sorted(path.rglob(SUBMISSION))
    }
    if not sides:
        message = f"no {SUBMISSION} lies in this folder, at any depth"
        hint = "give a folder that `kgen render` wrote"
        raise KgenError([Diagnostic("KG184", message, Place(str(path)), hint)])
    return Subject(label, True, sides)


def _nothing(text: str) -> Diagnostic:
    message = "there is no such file or folder, and it names no revision either"
    hint = "give a spec, a generated file, a folder, or REV:PATH such as HEAD:generated"
    return Diagnostic("KG180", message, Place(text), hint)


def _renamed(error: KgenError, folder: str, label: str) -> Iterator[Diagnostic]:
    """The diagnostics with files of a revision under the names that git has for them."""
    for one in error.diagnostics:
        file = one.place.file.replace(folder, label)
        yield replace(
            one, place=replace(one.place, file=file), message=one.message.replace(folder, label)
        )
