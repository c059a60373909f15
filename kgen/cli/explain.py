"""`kgen explain`: the page of a diagnostic's code, or the origin of a rendered line."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgen.cli.locate import locate
from kgen.cli.options import Json
from kgen.cli.report import Report, reporting

CODE = re.compile(r"KG\d+", re.IGNORECASE)
LINE = re.compile(r"(?P<file>.+):(?P<line>\d+)")


def explain(
    subject: Annotated[
        str | None,
        typer.Argument(metavar="CODE|FILE:LINE", help="A code such as KG204, or a rendered line."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Prints the page of every code, as Markdown.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Explains a diagnostic's code or a rendered line.

    For a line, says which template line, kernel and regimes it belongs to, and which spec keys it depends on.
    """
    if (subject is None) != everything:
        raise typer.BadParameter("give a code or FILE:LINE, or --all", param_hint="CODE|FILE:LINE")
    with reporting("explain", as_json) as report:
        if everything:
            _all_pages(report)
        elif CODE.fullmatch(subject):
            _page(report, subject)
        else:
            origin = locate(*_file_and_line(subject))
            report.values["origin"] = origin.as_json()
            report.say(str(origin))


def _all_pages(report: Report) -> None:
    from kgen.cli.pages import as_markdown
    from kgen.diagnostics.pages import all_codes, page

    report.values["pages"] = [asdict(page(code)) for code in all_codes()]
    report.say(as_markdown())


def _page(report: Report, code: str) -> None:
    from kgen.cli.pages import as_text
    from kgen.diagnostics.pages import all_codes, page

    try:
        found = page(code)
    except KeyError:
        near = [known for known in all_codes() if known[:3] == code[:3].upper()] or all_codes()
        message = f"there is no code {code.upper()}; there are {', '.join(near)}"
        raise typer.BadParameter(message, param_hint="CODE|FILE:LINE") from None
    report.values["page"] = asdict(found)
    report.say(as_text(found))


def _file_and_line(subject: str) -> tuple[Path, int]:
    """The file and line that `subject` names. Raises a usage error for anything else."""
    match = LINE.fullmatch(subject)
    if match is None:
        raise typer.BadParameter(
            f"'{subject}' is neither a code such as KG204 nor FILE:LINE",
            param_hint="CODE|FILE:LINE",
        )
    path = Path(match["file"])
    if not path.is_file():
        raise typer.BadParameter(f"file '{path}' does not exist.", param_hint="CODE|FILE:LINE")
    return path, int(match["line"])
