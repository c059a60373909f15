"""Judges as data: what a file's entry is called, what it may import, and which text it may not hold."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Profile:
    """One judge. `forbidden` are substrings, case aside; `imports` the only modules that the file may import."""

    judge: str
    entry: str
    template: str
    imports: tuple[str, ...]
    forbidden: tuple[str, ...]


def names() -> list[str]:
    """The judges that kgen knows, sorted."""
    return sorted(file.stem for file in Path(__file__).parent.glob("*.yaml"))


@functools.cache
def profile(name: str) -> Profile:
    """The judge called `name`. Raises LookupError, naming those there are."""
    file = Path(__file__).parent / f"{name}.yaml"
    if name not in names():
        raise LookupError(f"there is no judge {name}; known are {', '.join(names())}")
    import yaml

    entry = yaml.safe_load(file.read_text())
    return Profile(
        **{**entry, "imports": tuple(entry["imports"]), "forbidden": tuple(entry["forbidden"])}
    )
