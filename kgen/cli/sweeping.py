"""What `kgen sweep` and `kgen tune` share: where their store is, and which measurements of it are meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.sweep.conclude import Where
    from kgen.sweep.store import Store

StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        dir_okay=False,
        help="Where trials are kept, an SQLite file; `sweep.sqlite` in kgen's cache if left out.",
    ),
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="TEXT",
        help="Part of the name of the device and versions that are meant, where a store has several.",
    ),
]


def store_path(given: Path | None) -> Path:
    """The store's file."""
    return given or cache_dir() / "sweep.sqlite"


def where(store: Store, spec: str, text: str) -> Where:
    """The one device with its versions that a spec was swept on. Raises `KgenError` (KG986) for none, and for several."""
    from kgen.sweep.conclude import places

    every = places(store, spec)
    found = [one for one in every if text in str(one)]
    if len(found) == 1:
        return found[0]
    if not every:
        message, hint = (
            f"nothing of {spec} was measured",
            f"run `kgen sweep` on a machine with a GPU",
        )
    else:
        message = f"{len(found)} of the places in it match {text!r}"
        hint = "choose one with --on: " + "; ".join(map(str, every))
    raise KgenError([Diagnostic("KG986", message, Place(str(store.path)), hint)])
