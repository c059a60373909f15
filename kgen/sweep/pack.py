"""A sweep in a folder, for a machine with a GPU where only torch and Triton are installed.

The folder holds a request, each candidate's file with its manifest, and a store, into which that machine writes each
trial as it ends and from which they are taken back. It needs the standard library alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.sweep.field import Entrant, Field
from kgen.sweep.race import Rules
from kgen.sweep.state import Plan
from kgen.sweep.store import Store
from kgen.sweep.trial import File, Timing

REQUEST, CANDIDATES, STORE = "request.json", "candidates", "store.sqlite"
FORMAT = 1


@dataclass(frozen=True)
class Packed:
    """What is asked of the other machine. `plan.seconds` are for all fields together."""

    fields: tuple[Field, ...]
    timing: Timing
    plan: Plan


def pack(folder: Path, packed: Packed, store: Store) -> None:
    """Writes the request, the files, and what `store` knows already.

    Raises `KgenError` (KG983) for a folder in use, and for one that cannot be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise _unusable(folder, "it is not empty", "give a new folder, or remove this one")
        (folder / CANDIDATES).mkdir(parents=True)
        _write(folder, packed, store)
    except OSError as error:
        hint = "give a new folder where there is room for one"
        raise _unusable(folder, f"{error.strerror}", hint) from None


def _write(folder: Path, packed: Packed, store: Store) -> None:
    taken = Store(folder / STORE)
    taken.take(store.path)
    taken.close()
    request = {
        "format": FORMAT,
        "timing": asdict(packed.timing),
        "plan": asdict(packed.plan),
        "fields": [_plain(folder, field) for field in packed.fields],
    }
    (folder / REQUEST).write_text(json.dumps(request, indent=1), encoding="utf-8")


def unpacked(folder: Path) -> Packed:
    """The request in a folder. Raises `KgenError` (KG983) where there is none that this kgen reads."""
    try:
        request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
        if request["format"] != FORMAT:
            raise ValueError(f"its format is {request['format']}; this kgen reads {FORMAT}")
        plan = {**request["plan"], "rules": Rules(**request["plan"]["rules"])}
        found = tuple(_field(folder, one) for one in request["fields"])
        return Packed(found, Timing(**request["timing"]), Plan(**plan))
    except (OSError, ValueError, LookupError, TypeError) as error:
        hint = "name a folder that `kgen sweep --pack` wrote"
        raise _unusable(folder, f"its {REQUEST} cannot be read ({error})", hint) from None


def take_back(folder: Path, store: Store) -> int:
    """Adds what was measured there to `store`; gives how many trials are new. Raises `KgenError`."""
    unpacked(folder)
    return store.take(folder / STORE)


def _plain(folder: Path, field: Field) -> dict[str, Any]:
    numbers = {one: number for number, one in enumerate(field.entrants)}
    return {
        "spec": field.spec,
        "regime": field.regime,
        "shapes": field.shapes,
        "present": numbers[field.present],
        "entrants": [
            {**_but_file(one), "folder": _written(folder, f"{field.regime}-{number:04}", one.file)}
            for one, number in numbers.items()
        ],
    }


def _but_file(entrant: Entrant) -> dict[str, Any]:
    return {
        one.name: getattr(entrant, one.name) for one in fields(Entrant) if one.name != "file"
    } | {"name": entrant.file.name}


def _written(folder: Path, name: str, file: File) -> str:
    own = folder / CANDIDATES / name
    own.mkdir()
    (own / "submission.py").write_text(file.text, encoding="utf-8")
    (own / "manifest.json").write_text(json.dumps(dict(file.manifest)), encoding="utf-8")
    return own.relative_to(folder).as_posix()


def _field(folder: Path, plain: Mapping[str, Any]) -> Field:
    entrants = tuple(_entrants(folder, plain["entrants"]))
    return Field(
        spec=plain["spec"],
        regime=plain["regime"],
        present=entrants[plain["present"]],
        entrants=entrants,
        shapes=plain["shapes"],
    )


def _entrants(folder: Path, plain: Iterable[Mapping[str, Any]]) -> Iterable[Entrant]:
    for one in plain:
        own = folder / one["folder"]
        text = (own / "submission.py").read_text(encoding="utf-8")
        manifest = json.loads((own / "manifest.json").read_text(encoding="utf-8"))
        yield Entrant(
            settings=tuple(map(tuple, one["settings"])),
            file=File(one["name"], text, manifest),
            core=one["core"],
            signature=one["signature"],
            estimates=one["estimates"],
            refused=one["refused"],
        )


def _unusable(folder: Path, why: str, hint: str) -> KgenError:
    return KgenError(
        [Diagnostic("KG983", f"the folder cannot be used: {why}", Place(str(folder)), hint)]
    )
