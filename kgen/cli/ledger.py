"""`kgen ledger`: what the receipts of measuring runs say together, and whether they are what they were."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgen.cli.options import Json
from kgen.cli.report import Report, reporting
from kgen.cli.table import table
from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.evidence.defaults import FLOOR

if TYPE_CHECKING:
    from kgen.evidence.gates import Requirements
    from kgen.evidence.intervals import Ratio
    from kgen.evidence.ledger import Attempt, Entry
    from kgen.evidence.receipts import Receipt

RECEIPTS = Path("benchmarks/receipts")
MOST_TOLD = 72
"""Characters of a decision with its reason in the log."""
MOST_MISFITS = 12

ledger = typer.Typer(
    help="Receipts of measuring runs: verifies, compares, lists and imports them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Receipts = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[PATH]...",
        help=f"Receipts, or folders of them; {RECEIPTS} if left out.",
        exists=True,
    ),
]
Root = Annotated[
    Path,
    typer.Option(
        "--root", metavar="DIR", help="Where the files that receipts name lie.", exists=True
    ),
]


@ledger.command()
def verify(paths: Receipts = None, root: Root = Path("."), as_json: Json = False) -> None:
    """Checks offline that receipts are unchanged, follow from their samples, and belong to the files on disk."""
    from kgen.evidence.verify import unchanged
    from kgen.evidence.verify import verify as run

    with reporting("ledger verify", as_json) as report:
        found = _entries(paths)
        report.diagnose(run(found, root))
        report.say(_counted(found))
        report.say(
            "measured files on disk that compute what they did then: {} of {}".format(
                *unchanged(found, root)
            )
        )
        report.values["receipts"] = [str(entry.path) for entry in found]


@ledger.command()
def best(paths: Receipts = None, root: Root = Path("."), as_json: Json = False) -> None:
    """The fastest file for each shape and device: nothing flagged, unchecked, void, incomplete or stale."""
    from kgen.evidence.ledger import best as fastest
    from kgen.evidence.plain import plain

    header = ("problem", "shape", "device", "file", "time", "to its baseline", "receipt")
    with reporting("ledger best", as_json) as report:
        found = _readable(report, paths)
        rows = fastest(found, root)
        report.values["best"] = plain(rows)
        if not rows:
            report.say(_none_counts(found, root))
            return
        cells = (
            [
                *(one.problem, one.shape, one.device),
                f"{one.candidate} ({', '.join((one.role, *one.marks))})",
                *(f"{one.seconds * 1e6:8.2f} us", _ratio(one.to_baseline), _short(one.path)),
            ]
            for one in rows
        )
        for line in table(header, cells):
            report.say(line)


@ledger.command()
def log(paths: Receipts = None, root: Root = Path("."), as_json: Json = False) -> None:
    """Every attempt in the order of time, failed and void ones too."""
    from kgen.evidence.ledger import log as attempts
    from kgen.evidence.plain import plain

    header = (
        *("started", "receipt", "problem", "device", "file", "to baseline", "to incumbent"),
        "decision",
    )
    with reporting("ledger log", as_json) as report:
        rows = attempts(_readable(report, paths), root)
        report.values["attempts"] = plain(rows)
        cells = (
            [
                *(one.started, _short(one.path), one.problem, one.device, one.candidate or "-"),
                *(_ratio(one.to_baseline), _ratio(one.to_incumbent)),
                _cut(_decision(one)),
            ]
            for one in rows
        )
        for line in table(header, cells):
            report.say(line)


@ledger.command("import")
def import_(
    answer: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWER", help="JSON of a remote judge.", exists=True, dir_okay=False
        ),
    ],
    mapping: Annotated[
        Path,
        typer.Option("--map", help="Where in it each thing stands.", exists=True, dir_okay=False),
    ],
    file: Annotated[
        Path,
        typer.Option("--file", help="The file that was judged.", exists=True, dir_okay=False),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Where receipts lie.")
    ] = RECEIPTS,
    min_gain: Annotated[
        float | None,
        typer.Option(help="Share that the mean must gain; the spec's if left out.", min=0, max=1),
    ] = None,
    max_regression: Annotated[
        float | None,
        typer.Option(help="Share that no shape may lose; the spec's if left out.", min=0, max=1),
    ] = None,
    floor: Annotated[
        float, typer.Option(help="Least half width of an interval, as a share.", min=0, max=0.5)
    ] = FLOOR,
    as_json: Json = False,
) -> None:
    """Takes a remote judge's answer into the ledger; gates apply as to a run of one's own.

    The spec's gates are in the manifest beside the judged file. Exit code 0 only if every gate passed, or if a mere check shows that the file is right.
    """
    from kgen.evidence.receipts import receipt, write
    from kgen.evidence.report import report as lines

    with reporting("ledger import", as_json) as report:
        required = _required(file, min_gain, max_regression)
        found = receipt(_imported(answer, mapping, file, floor), required)
        try:
            path = write(out / _folder(found.record.problem), found)
        except OSError as error:
            message = f"the receipt cannot be written: {error.strerror}"
            hint = "give another folder with -o"
            raise KgenError([Diagnostic("KG195", message, Place(str(out)), hint)]) from None
        for line in lines(found):
            report.say(line)
        report.say(f"receipt: {path}")
        report.values["receipt"] = str(path)
        report.values["decision"] = found.decision and found.decision.decision
        if not _good(found):
            report.fail()


def _good(found: Receipt) -> bool:
    """Whether every gate passed; a mere check decides nothing, and is good if it shows that the file is right."""
    if found.record.mode == "check":
        return not found.analysis.held and not found.analysis.unchecked
    return found.decision is not None and found.decision.decision == "promoted"


def _required(file: Path, min_gain: float | None, max_regression: float | None) -> Requirements:
    """What the gates require: as given, else as the manifest of the file's bundle has it, if it is in one.

    Raises `KgenError` (KG958) for a manifest that has no shares there.
    """
    from kgen.evidence.gates import requirements
    from kgen.measure.task import find_task
    from kgen.runner.bundle import BundleError

    try:
        manifest = find_task(str(file)).manifest
    except BundleError:
        manifest = {}
    found = requirements(manifest, min_gain, max_regression)
    if found.senseless:
        raise KgenError([Diagnostic("KG958", found.senseless, Place(str(file)))])
    return found


def _imported(answer: Path, mapping: Path, file: Path, floor: float) -> Any:
    """The import of an answer. Raises `KgenError` with everything that does not fit (KG957, KG958)."""
    import yaml

    from kgen import __version__
    from kgen.evidence.imports import read_import
    from kgen.evidence.mapping import mapped, read_mapping
    from kgen.evidence.plain import ReadingError, digest, parse, plain
    from kgen.evidence.sources import core_of

    read = ((answer, "KG958"), (mapping, "KG957"), (file, "KG958"))
    texts = {path: _text(path, code) for path, code in read}
    try:
        where = read_mapping(yaml.safe_load(texts[mapping]))
    except yaml.YAMLError as error:
        told = " ".join(str(error).split())
        raise KgenError(
            [Diagnostic("KG957", f"it is no YAML: {told}", Place(str(mapping)))]
        ) from None
    except ReadingError as error:
        raise KgenError(_misfits("KG957", error, mapping)) from None
    try:
        fields = mapped(where, parse(texts[answer]))
        fields["started"] = fields["started"] or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        whole = {
            "kind": "import",
            "schema": 1,
            "kgen": __version__,
            "floor": floor,
            "file": file.as_posix(),
            "bytes_sha256": digest(texts[file]),
            "core_sha256": core_of(texts[file]),
            "sources": {digest(texts[file]): texts[file]},
            "result_sha256": digest(texts[answer]),
            "mapping_sha256": digest(texts[mapping]),
            **fields,
        }
        return read_import(plain(whole))
    except ReadingError as error:
        raise KgenError(_misfits("KG958", error, answer)) from None


def _misfits(code: str, error: Any, path: Path) -> list[Diagnostic]:
    """What does not fit; an answer may have thousands of rows, and a wrong pointer misses in each of them."""
    told = [str(misfit) for misfit in error.misfits]
    if len(told) > MOST_MISFITS:
        told[MOST_MISFITS:] = [f"{len(told) - MOST_MISFITS} more places do not fit"]
    return [Diagnostic(code, one, Place(str(path))) for one in told]


def _text(path: Path, code: str) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        message = f"it is no text in UTF-8 ({error.reason} at byte {error.start})"
        raise KgenError([Diagnostic(code, message, Place(str(path)))]) from None


def _readable(report: Report, paths: list[Path] | None) -> list[Entry]:
    """The receipts at these paths; what is none is told."""
    from kgen.evidence.verify import unreadable

    found = _entries(paths)
    report.diagnose(one for entry in found for one in unreadable(entry))
    return found


def _entries(paths: list[Path] | None) -> list[Entry]:
    """The receipts at these paths. Wrong use where there is no folder to look into."""
    from kgen.evidence.ledger import entries

    if not paths and not RECEIPTS.is_dir():
        message = f"there is no {RECEIPTS} here; name a folder of receipts"
        raise typer.BadParameter(message, param_hint="PATH")
    return entries(paths or [RECEIPTS])


def _counted(found: list[Entry]) -> str:
    tests = sum(entry.test is not None for entry in found)
    return (
        f"receipts of measuring: {len(found) - tests}, of tests: {tests} (named by their bundle and "
        "not by content: git alone shows an edit of those)"
    )


def _decision(one: Attempt) -> str:
    """What was decided, and why; nothing was where only times were measured."""
    decided = f"{one.decision}{', stale' if one.stale else ''}"
    return f"{decided}: {one.reason}" if one.reason else decided


def _cut(text: str) -> str:
    """As much of a reason as fits beside the rest; `--json` and the receipt have all of it."""
    return text if len(text) <= MOST_TOLD else f"{text[: MOST_TOLD - 1]}…"


def _none_counts(found: list[Entry], root: Path) -> str:
    """Why no row counts: how many receipts are stale, and how many have none for other reasons."""
    from kgen.evidence.sources import is_stale

    measured = [one.receipt for one in found if one.receipt is not None]
    stale = sum(is_stale(one, root) for one in measured)
    others = len(measured) - stale
    return (
        f"no row counts: of {len(measured)} receipts of measuring {stale} are stale, and {others} are void, incomplete, "
        "or have only rows that are flagged, failed or unchecked"
    )


def _folder(problem: str) -> str:
    """A folder's name for a problem's."""
    return (
        "".join(one if one.isalnum() or one in "._-" else "_" for one in problem).lstrip(".") or "_"
    )


def _ratio(found: Ratio | None) -> str:
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.point:.3f}x"
    return f"{found.point:.3f}x [{found.low:.3f}, {found.high:.3f}]"


def _short(path: str) -> str:
    return Path(path).stem[:12]
