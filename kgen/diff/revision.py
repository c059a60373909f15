"""Files of a git revision, taken from the repository's objects: no checkout, no filters, no change to the index."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr.nearest import nearest

_REGULAR = ("100644", "100755")
"""Modes of plain files; links and submodules are left out."""
_NOT_READ = {"120000": "a link", "160000": "a submodule"}


@dataclass(frozen=True)
class Revision:
    """A commit: `name` as it was written, `root` the repository's top folder, `prefix` the way there from it."""

    name: str
    commit: str
    root: Path
    prefix: str

    @cached_property
    def blobs(self) -> Mapping[str, str]:
        """The object of each plain file, by its path from the repository's top."""
        return {path: sha for path, (mode, sha) in self._listed.items() if mode in _REGULAR}

    @cached_property
    def _listed(self) -> Mapping[str, tuple[str, str]]:
        """Mode and object of everything, by its path."""
        listed = _git(["ls-tree", "-r", "-z", "--full-tree", self.commit], self.root).decode(
            errors="surrogateescape"
        )
        rows = (row.partition("\t") for row in listed.split("\0") if row)
        facts = ((path, about.split()) for about, _, path in rows)
        return {path: (mode, sha) for path, (mode, _, sha) in facts}

    def inside(self, path: str) -> str:
        """A path as git reads it behind `REV:`: from the top, or from here where it begins with a dot."""
        if path.startswith(("./", "../")) or path in (".", ".."):
            path = f"{self.prefix}{path}"
        parts: list[str] = []
        for part in PurePosixPath(path).parts:
            if part == ".." and parts:
                parts.pop()
            else:
                parts.append(part)
        return "/".join(parts)

    def kind(self, path: str) -> Literal["file", "folder"]:
        """What the revision has at `path`, counted from the top. Raises KgenError (KG182) where there is nothing."""
        if path in self.blobs:
            return "file"
        if any(one.startswith(f"{path}/" if path else "") for one in self.blobs):
            return "folder"
        for one in (path, *map(str, PurePosixPath(path).parents)):
            what = _NOT_READ.get(self._listed.get(one, ("", ""))[0])
            if what:
                raise KgenError([self._not_read(one, what)])
        near = nearest(path, self._names())
        hint = (
            f"did you mean {near}?"
            if near
            else f"`git ls-tree -r --name-only {self.name}` lists all"
        )
        message = f"the revision {self.name} has no such path"
        raise KgenError([Diagnostic("KG182", message, Place(f"{self.name}:{path}"), hint)])

    def _not_read(self, path: str, what: str) -> Diagnostic:
        message = (
            f"{path} is {what} in the revision {self.name}, and only files of its own are read"
        )
        hint = "name what the link points to" if what == "a link" else f"run kgen inside {path}"
        return Diagnostic("KG182", message, Place(f"{self.name}:{path}"), hint)

    def _names(self) -> list[str]:
        """What can be compared: specs, generated files and their folders."""
        files = [one for one in self.blobs if one.endswith((".yaml", ".yml", "/submission.py"))]
        return [*files, *{str(folder) for one in files for folder in PurePosixPath(one).parents}]

    def write(self, wanted: Callable[[str], bool], into: Path) -> None:
        """Writes the files whose paths are wanted below the folder `into`, under the same paths."""
        paths = [path for path in self.blobs if wanted(path)]
        asked = "".join(f"{self.blobs[path]}\n" for path in paths).encode()
        answer = memoryview(_git(["cat-file", "--batch"], self.root, asked))
        at = 0
        for path in paths:
            end = bytes(answer[at : at + 200]).index(b"\n") + at
            size = int(bytes(answer[at:end]).split()[2])
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(answer[end + 1 : end + 1 + size])
            at = end + 1 + size + 1


def revision(name: str) -> Revision:
    """The commit that `name` means in the repository around the working directory. Raises KgenError (KG181)."""
    here = Path.cwd()
    top = _git(["rev-parse", "--show-toplevel", "--show-prefix"], here).decode().split("\n")
    try:
        commit = _git(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], here
        )
    except KgenError:
        message = "the repository has no such revision"
        hint = "give a commit, branch or tag that `git log` knows, such as HEAD"
        if _git(["rev-parse", "--is-shallow-repository"], here).strip() == b"true":
            hint += "; this clone is a shallow one, and `git fetch --unshallow` gets the rest"
        raise KgenError([Diagnostic("KG181", message, Place(name), hint)]) from None
    return Revision(name, commit.decode().strip(), Path(top[0]), top[1])


def _git(arguments: list[str], folder: Path, given: bytes | None = None) -> bytes:
    """What git prints. Raises KgenError (KG181), with git's own reason, where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True)
    except FileNotFoundError:
        raise KgenError([_no_answer("there is no `git` on the PATH")]) from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise KgenError([_no_answer(told or "it gave no reason")])
    return done.stdout


def _no_answer(reason: str) -> Diagnostic:
    message = f"git cannot be asked for a revision: {reason}"
    return Diagnostic("KG181", message, Place("(git)"), "run kgen inside the repository")
