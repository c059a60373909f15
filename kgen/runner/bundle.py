"""A bundle as the runner reads it: `submission.py` and the `manifest.json` beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class BundleError(Exception):
    """The bundle can't be read."""


@dataclass(frozen=True)
class Regime:
    """A regime of the dispatcher.

    `launches` has one entry for each of its launchers: the kernels of one call, in order (none for
    a path that launches nothing of this file). `capturable` says whether a CUDA graph can hold it.
    """

    name: str
    launches: tuple[tuple[str, ...], ...]
    capturable: bool


@dataclass(frozen=True)
class Bundle:
    """What the runner needs to know of a bundle.

    `sha256` is that of the file as it is; `edited` says that it is not the one that was rendered.
    `arguments` and `returns` are names in the order of the entry function; a name in both is
    updated in place. `problem` is the family's own data, passed on unread. `sha256` is that of the
    emitted file as it is now; it is `edited` where the manifest has another.
    """

    directory: Path
    sha256: str
    edited: bool
    entry: str
    arguments: tuple[str, ...]
    returns: tuple[str, ...]
    regimes: Mapping[str, Regime]
    problem_module: str
    problem: Mapping[str, Any]

    @property
    def source(self) -> Path:
        """The emitted file."""
        return self.directory / "submission.py"

    @property
    def read_only(self) -> tuple[str, ...]:
        """The arguments that a call must leave as they are."""
        return tuple(name for name in self.arguments if name not in self.returns)


def read_bundle(directory: str | Path) -> Bundle:
    """Reads a bundle; raises `BundleError` if a file or a key is missing."""
    directory = Path(directory).resolve()
    try:
        manifest = json.loads((directory / "manifest.json").read_text())
        sha256 = hashlib.sha256((directory / "submission.py").read_bytes()).hexdigest()
        return _bundle(directory, manifest, sha256)
    except OSError as error:
        raise BundleError(f"{error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise BundleError(f"{directory / 'manifest.json'} is not JSON: {error}") from error
    except KeyError as error:
        raise BundleError(f"{directory / 'manifest.json'} has no key {error}") from error
    except (TypeError, AttributeError) as error:
        raise BundleError(f"{directory / 'manifest.json'} is no manifest: {error}") from error


def _bundle(directory: Path, manifest: Mapping[str, Any], sha256: str) -> Bundle:
    regimes = [
        Regime(
            entry["name"],
            tuple(tuple(kernels) for kernels in entry["launches"]),
            entry.get("capturable", True),
        )
        for entry in manifest["regimes"]
    ]
    return Bundle(
        directory=directory,
        sha256=sha256,
        edited=sha256 != manifest["bytes_sha256"],
        entry=manifest["entry"],
        arguments=tuple(manifest["arguments"]),
        returns=tuple(manifest["returns"]),
        regimes={regime.name: regime for regime in regimes},
        problem_module=manifest.get(
            "problem_module", f"kgen.families.{manifest['family']}.problem"
        ),
        problem=manifest["problem"],
    )
