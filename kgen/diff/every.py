"""What every spec renders now, beside what a revision has for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kgen.diagnostics import KgenError
from kgen.diff.model import Side
from kgen.diff.subjects import SPECS, Reader

FOLDER, GENERATED = Path("specs"), Path("generated")


@dataclass
class Every:
    """Sides by `FOLDER/NAME`, as in `generated/`; `failed` holds why a spec gave none."""

    now: dict[str, Side] = field(default_factory=dict)
    then: dict[str, Side] = field(default_factory=dict)
    failed: list[KgenError] = field(default_factory=list)

    def pairs(self) -> Iterator[tuple[str, Side | None, Side | None]]:
        """Each file with what the revision has, and what is rendered now."""
        for key in sorted({*self.now, *self.then}):
            yield key, self.then.get(key), self.now.get(key)


def every(reader: Reader, revision: str) -> Every:
    """Both sides of every spec below `specs/`; a revision without a spec's generated file renders its own spec.

    Raises `KgenError` (KG181) for a revision that there is not.
    """
    found = Every()
    at = reader.revision(revision)
    generated = at.inside(f"./{GENERATED}")
    if any(path.startswith(f"{generated}/") for path in at.blobs):
        found.then |= reader.read(f"{revision}:{generated}").sides
    made = {_spec_of(key, side) for key, side in found.then.items()} - {""}
    folder = at.inside(f"./{FOLDER}")
    earlier = sorted(
        path.removeprefix(f"{folder}/")
        for path in at.blobs
        if path.startswith(f"{folder}/") and path.endswith(SPECS)
    )
    for name in earlier:
        if name not in made:
            _add(found.then, found.failed, reader, f"{revision}:{folder}/{name}", name)
    # links are left out as they are on the revision's side
    specs = (one for one in FOLDER.rglob("*") if one.suffix in SPECS and not one.is_symlink())
    for path in sorted(specs):
        name = path.relative_to(FOLDER).as_posix()
        if not _add(found.now, found.failed, reader, str(path), name):
            # no file now: what it was before is not compared either
            found.then = {k: v for k, v in found.then.items() if _spec_of(k, v) != name}
    return found


def _spec_of(key: str, side: Side) -> str:
    """The path below `specs/` of the spec that a generated file is from; empty where no manifest says it."""
    if side.manifest is None:
        return ""
    return (Path(key).parent / side.manifest["spec"]["file"]).as_posix()


def _add(
    sides: dict[str, Side], failed: list[KgenError], reader: Reader, subject: str, name: str
) -> bool:
    """Renders a spec; whether that gave a file."""
    try:
        (side,) = reader.read(subject).sides.values()
    except KgenError as error:
        failed.append(error)
        return False
    sides[(Path(name).parent / side.manifest["spec"]["name"]).as_posix()] = side
    return True
