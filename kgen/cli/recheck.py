"""`kgen recheck`: kept evidence of a proof, followed again by code that shares nothing with the search for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from kgen.cli.bundle import MANIFEST, SUBMISSION, read_manifest
from kgen.cli.options import Json
from kgen.cli.report import Report, reporting
from kgen.cli.table import table


def recheck(
    evidence: Annotated[
        Path,
        typer.Argument(
            metavar="PROOF", help="What `kgen prove -o` wrote.", exists=True, dir_okay=False
        ),
    ],
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="The file that it should belong to.  [default: submission.py beside it]",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Follows the certificates of a proof again, through sympy's expansion. Needs neither Triton nor the spec."""
    from kgen.prove.rechecking import follow, read_evidence

    with reporting("recheck", as_json) as report:
        document = read_evidence(evidence)
        path = file or evidence.with_name(SUBMISSION)
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        beside = path.with_name(MANIFEST).is_file() and text is not None
        manifest = read_manifest(path.parent) if beside else None
        found = follow(document, str(evidence), text, manifest)
        _tell(report, document, found.confirmed, str(path) if text is not None else "")
        report.diagnose(found.findings)


def _tell(report: Report, document: Mapping[str, Any], confirmed: int, path: str) -> None:
    """What the evidence belongs to, and what holds of it."""
    bound = {key: document[key] for key in ("core_sha256", "templates", "kgen", "triton")}
    report.values |= {"spec": document["spec"], **bound, "file": path or None}
    report.values |= {"certificates": confirmed, "promises": document["promises"]}
    spec = document["spec"]
    report.say(f"{spec['name']}: core {document['core_sha256'][:16]}, spec {spec['sha256'][:16]},")
    report.say(
        f"  templates {document['templates'][:16]}, kgen {document['kgen']}, Triton {document['triton']}"
    )
    report.say(f"  {'compared with ' + path if path else 'no file to compare it with is here'}")
    obligations = document["obligations"]
    statuses = Counter("waived" if "waived" in one else one["status"] for one in obligations)
    resting = sum(1 for one in obligations if one["certificates"])
    report.values["obligations"] = {**statuses, "with certificates": resting}
    for line in table(("statements", "number"), sorted(statuses.items())):
        report.say(line)
    report.say(
        f"{confirmed} certificates confirmed; {resting} statements name the ones they rest on, the others were"
        " read off the text"
    )
    for one in obligations:
        if "waived" in one:
            where = one["kernel"] or one["launcher"]
            report.say(
                f"waived   {where}: {one['subject']}: {one['says']} ({one['status']}) because {one['waived']}"
            )
