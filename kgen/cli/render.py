"""`kgen render`: specs to bundles, each a folder with `submission.py` and `manifest.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli import bundle
from kgen.cli.current import stale
from kgen.cli.options import Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.diagnostics import KgenError

if TYPE_CHECKING:
    from kgen.plan.templates import Templates as Search

SPECS, GENERATED, OUT = Path("specs"), Path("generated"), Path("out")


def render(
    specs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SPEC...", help="Kernel specs.", exists=True, dir_okay=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Writes DIR/NAME/submission.py and manifest.json.  [default: out]",
            file_okay=False,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Renders every spec under specs/ into the same place under generated/."
        ),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Writes nothing; fails where a file is not current.")
    ] = False,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Renders specs. Plan checks come first: nothing is written for a spec that has a finding."""
    if bool(specs) == everything:
        raise typer.BadParameter("give specs, or --all", param_hint="SPEC...")
    if everything and overrides:
        raise typer.BadParameter(
            "--set changes one spec, and --all renders every one", param_hint="--set"
        )
    with reporting("render", as_json) as report:
        report.values["bundles"] = []
        found = bundle.search(templates)
        for spec, parent in _every(output) if everything else ((s, output or OUT) for s in specs):
            _render(report, spec, parent, overrides, found, check)


def _every(output: Path | None) -> Iterator[tuple[Path, Path]]:
    """Each spec of the working directory, with the folder that its bundle lies in."""
    specs = sorted(SPECS.rglob("*.yaml"))
    if not specs:
        raise typer.BadParameter(f"there is no spec under {SPECS}/ here", param_hint="--all")
    for spec in specs:
        yield spec, (output or GENERATED) / spec.parent.relative_to(SPECS)


def _render(
    report: Report, spec: Path, parent: Path, overrides: list[str], templates: Search, check: bool
) -> None:
    """One spec; its problems are reported, and the next spec goes on."""
    try:
        loaded, made = bundle.made(spec, overrides, templates)
    except KgenError as error:
        report.diagnose(error.diagnostics)
        return
    report.diagnose(made.findings)
    if made.wrong:
        return
    directory = parent / loaded.document.name
    files = bundle.files(made, directory)
    changed = _stale(report, files, spec, parent) if check else bundle.write(files)
    for path in () if check else changed:
        report.say(f"wrote {path}")
    if not changed:
        report.say(f"{directory} is current")
    report.values["bundles"].append(
        {"spec": str(spec), "directory": str(directory), "changed": [str(path) for path in changed]}
    )


def _stale(report: Report, files: Mapping[Path, str], spec: Path, parent: Path) -> list[Path]:
    """The files that are not current, each reported."""
    findings = stale(files, f"kgen render {spec} -o {parent}")
    report.diagnose(findings)
    return [Path(finding.place.file) for finding in findings]
