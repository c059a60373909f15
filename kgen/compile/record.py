"""kgen's own record of what the compiler made, by content: a hit needs no Triton at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from kgen.compile.core import Core, Spot
from kgen.compile.job import Job
from kgen.compile.resources import Resources
from kgen.compile.storage import read_json, write_json

_FORMAT = 2
"""Part of every key; raised when what is stored, or its meaning, changes."""


def record_key(job: Job, core: Core, toolchain: Mapping[str, str]) -> str:
    """A sha256 of everything that decides what the compiler makes of a job."""
    facts = {
        **job.as_json(),
        "source": core.text,
        "divisible_by_16": sorted(job.divisible_by_16),
        "toolchain": dict(toolchain),
        "format": _FORMAT,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Records:
    """Resources by key in a folder, safe for several writers."""

    def __init__(self, folder: Path):
        self._folder = folder

    def find(self, key: str, core: Core) -> Resources | None:
        """The recorded resources, marked `cached`, with the line as it is in `core` now.

        None if there are none, or if the record is damaged.
        """
        data = read_json(self._path(key))
        try:
            found = Resources.from_json(data["resources"])
            line = core.line(Spot(**data["spot"])) if data["spot"] else None
        except (TypeError, KeyError):
            return None
        return replace(found, line=line, cached=True)

    def keep(self, key: str, resources: Resources, core: Core) -> None:
        """Records what the same compiler would find again."""
        spot = None if resources.line is None else core.spot(resources.line)
        data = {"resources": resources.as_json(), "spot": asdict(spot) if spot else None}
        write_json(self._path(key), data)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
