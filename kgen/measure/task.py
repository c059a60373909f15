"""What is computed: the problem of a bundle's manifest, or a Python file with `cases`, `inputs` and `expected`."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgen.runner.bundle import Bundle, BundleError, read_bundle

if TYPE_CHECKING:
    from kgen.runner.case import Case
    from kgen.runner.problem import Asker

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Task:
    """A problem. `form` says what it is asked with; `fallbacks` names the regimes that the fallback serves.

    `manifest` is empty for a problem that is a Python file.
    """

    name: str
    form: Bundle
    fallbacks: frozenset[str]
    manifest: Mapping[str, Any]

    def asker(self) -> Asker:
        """The problem's module, loaded. Raises `ProblemError`."""
        from kgen.runner.problem import Asker

        return Asker(self.form)

    def shapes(self, asker: Asker, mode: str) -> list[Case]:
        """The workloads; the cases of a problem that names none."""
        return asker.workloads() or asker.cases(mode)

    def sha256(self) -> str:
        """The hash of the problem module's text, of a package all of it, and, of a manifest, what it is asked with."""
        digest = hashlib.sha256()
        for file in _texts(self.form.problem_module):
            digest.update(file.read_bytes())
        digest.update(json.dumps(dict(self.form.problem), sort_keys=True).encode())
        return digest.hexdigest()


def _texts(module: str) -> list[Path]:
    """The file of a problem module, or those of a package of that name."""
    if module.endswith(".py"):
        return [Path(module)]
    found = importlib.util.find_spec(module)
    if found.submodule_search_locations is None:
        return [Path(found.origin)]
    return sorted(Path(found.origin).parent.rglob("*.py"))


def find_task(candidate: str, problem: str = "") -> Task:
    """The problem that `problem` names, or else the candidate's own. Raises `BundleError`."""
    path = Path(problem or candidate).resolve()
    if path.is_dir() or path.name == MANIFEST or path.with_name(MANIFEST).is_file():
        directory = path if path.is_dir() else path.parent
        form = read_bundle(directory)
        manifest = json.loads((directory / MANIFEST).read_text())
        served = {one["name"] for one in manifest["regimes"] if one.get("fallback")}
        name = manifest.get("spec", {}).get("name") or directory.name
        return Task(name, form, frozenset(served), manifest)
    if not problem:
        raise BundleError(
            f"{path} has no {MANIFEST} beside it, so nothing says what it computes; "
            "name a bundle or a problem file with --problem"
        )
    text = path.read_bytes() if path.is_file() else None
    if text is None or path.suffix != ".py":
        raise BundleError(f"{path} is no bundle, manifest or Python file with a problem")
    form = Bundle(
        directory=path.parent,
        sha256=hashlib.sha256(text).hexdigest(),
        edited=False,
        entry="run",
        arguments=(),
        returns=(),
        regimes={},
        problem_module=str(path),
        problem={},
    )
    return Task(path.stem, form, frozenset(), {})
