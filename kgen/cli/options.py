"""Arguments and options that several verbs share, so that they are spelled and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Spec = Annotated[
    Path,
    typer.Argument(metavar="SPEC", help="A kernel spec.", exists=True, dir_okay=False),
]
BundleOrSpec = Annotated[
    Path,
    typer.Argument(
        metavar="SPEC|BUNDLE",
        help="A kernel spec, or a folder that `kgen render` wrote.",
        exists=True,
    ),
]
Set = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Replaces one value of the spec, as if it were written there.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Prints one JSON object on stdout.")]
Templates = Annotated[
    Path | None,
    typer.Option(
        "--templates",
        metavar="DIR",
        help="Looks here for variants before kgen's own.",
        exists=True,
        file_okay=False,
    ),
]
