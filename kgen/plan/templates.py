"""Template folders: `<family>/<variant>/variant.yaml` with `kernel.py.j2` beside it, kgen's own and a user's."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.paths import templates_dir
from kgen.spec.files import read_file
from kgen.spec.nodes import plain
from kgen.spec.reader import read

if TYPE_CHECKING:
    from kgen.plan.model import Template
    from kgen.spec.origin import Origin

DECLARATION, KERNELS = "variant.yaml", "kernel.py.j2"


class Templates:
    """Folders searched in order: a user's first, kgen's own last. Raises KgenError (KG501) for one that is missing."""

    def __init__(self, directories: Sequence[str | Path] = ()):
        self.roots = (*map(Path, directories), templates_dir())
        for root in self.roots:
            if not root.is_dir():
                raise KgenError(
                    [Diagnostic("KG501", "there is no such template folder", Place(str(root)))]
                )
        self._loaded: dict[tuple[str, str], Template] = {}

    def names(self, family: str) -> list[str]:
        """The variants of a family, sorted."""
        return sorted(
            {
                found.parent.name
                for root in self.roots
                for found in root.glob(f"{family}/*/{DECLARATION}")
            }
        )

    def find(self, family: str, variant: str) -> Template:
        """The variant's declaration. Raises LookupError where there is no such folder, KgenError for a bad one."""
        key = (family, variant)
        if key not in self._loaded:
            for root in self.roots:
                folder = root / family / variant
                if (folder / DECLARATION).is_file():
                    self._loaded[key] = _load(folder, family, variant)
                    break
            else:
                raise LookupError(
                    f"there is no variant {variant} of {family}: no {family}/{variant}/{DECLARATION}"
                )
        return self._loaded[key]

    def declaration(self, name: str) -> Origin:
        """Where everything was written in the `variant.yaml` of a template such as `attention/split_k`."""
        from kgen.spec.origin import Origin

        path = f"{name}/{DECLARATION}"
        folder = next(root for root in self.roots if (root / path).is_file())
        text = read_file(folder / path, path)
        return Origin(read(text, path), {path: text})

    def sha256(self) -> str:
        """A hash of every file in every folder, for caches."""
        state = hashlib.sha256()
        for root in self.roots:
            for file in sorted(found for found in root.rglob("*") if found.is_file()):
                state.update(f"{file.relative_to(root)}\0".encode())
                state.update(file.read_bytes())
        return state.hexdigest()


def _load(folder: Path, family: str, variant: str) -> Template:
    # here, because a warm render needs the folders' hash and no declaration
    from pydantic import ValidationError

    from kgen.plan.model import Template
    from kgen.plan.variant import Variant
    from kgen.spec.origin import Origin
    from kgen.spec.translate import translate

    name = f"{family}/{variant}/{DECLARATION}"
    text = read_file(folder / DECLARATION, name)
    node = read(text, name)
    try:
        declared = Variant.model_validate(plain(node))
    except ValidationError as error:
        raise KgenError(translate(error, Variant, Origin(node, {name: text}))) from None
    problems = [
        Diagnostic(
            "KG503", f"the folder {family}/{variant} declares itself as {field} {own}", Place(name)
        )
        for field, own, expected in (
            ("family", declared.family, family),
            ("variant", declared.variant, variant),
        )
        if own != expected
    ]
    if not (folder / KERNELS).is_file():
        problems.append(
            Diagnostic(
                "KG504",
                f"the folder {family}/{variant} has no {KERNELS}",
                Place(name),
                "write its kernels there",
            )
        )
    if problems:
        raise KgenError(problems)
    return Template(declared, str(folder), f"{family}/{variant}/{KERNELS}")
