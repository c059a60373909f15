"""`kgen schema`: the JSON schema of the spec language, generated from the models that read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kgen.cli.bundle import write
from kgen.cli.current import stale
from kgen.cli.options import Json
from kgen.cli.report import reporting


def schema(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Writes there, not to stdout."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Fails when kgen's committed schema is not current.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Prints the JSON schema of specs, for editors."""
    from kgen.paths import schema_path
    from kgen.spec.schema import schema_text

    with reporting("schema", as_json) as report:
        text = schema_text()
        report.values["schema"] = json.loads(text)
        if check:
            path = output or schema_path()
            findings = stale({path: text}, f"kgen schema -o {path.name}")
            report.diagnose(findings)
            if not findings:
                report.say(f"{path} is current")
        elif output:
            changed = write({output: text})
            report.say(f"wrote {output}" if changed else f"{output} is current")
        else:
            report.say(text.rstrip())
