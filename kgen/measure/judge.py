"""From a request to a receipt and its report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgen.evidence.gates import Requirements, requirements
from kgen.evidence.plain import ReadingError
from kgen.evidence.record import Record
from kgen.measure.coordinator import INTERRUPTED as INTERRUPTED_RUN
from kgen.measure.coordinator import Progress, Start, measure
from kgen.measure.member import Member, NoGpu, NoRun
from kgen.measure.request import Request, RequestError
from kgen.measure.task import find_task
from kgen.runner.bundle import BundleError
from kgen.runner.problem import ProblemError

if TYPE_CHECKING:
    from kgen.evidence.receipts import Receipt

GOOD, FINDINGS, NOTHING, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Outcome:
    """What a run gave: lines for a person, the exit code, where the receipt lies.

    `problem` says in one line why there is no report; then there may still be a record.
    """

    code: int
    lines: Sequence[str] = ()
    receipt: Path | None = None
    record: Record | None = None
    problem: str = ""
    no_gpu: bool = False


def judged(
    request: Request,
    out: Path | None,
    progress: Progress,
    gates: tuple[float | None, float | None] = (None, None),
    start: Start = Member,
) -> Outcome:
    """Measures, writes the receipt into `out` and reports.

    `gates` are the least gain and the most that a shape may lose; None leaves them to the problem's spec.
    Exit code 0 if nothing speaks against the file, 1 if a gate failed or the run is void, 2 if nothing could be
    measured or concluded, 130 if it was interrupted.
    """
    try:
        request.check()
        _writable(out)
        requirements = required(request, *gates)
        record = measure(request, progress, start)
    except (RequestError, NoRun, BundleError, ProblemError) as error:
        return Outcome(NOTHING, problem=str(error), no_gpu=isinstance(error, NoGpu))
    except ReadingError as error:
        return Outcome(NOTHING, problem=f"the record does not fit together: {error}")
    finally:
        progress("")
    return concluded(record, out, requirements)


def _writable(out: Path | None) -> None:
    """Raises `RequestError` before anything is measured if no receipt could be kept."""
    if out is None:
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = (
            f"no receipt can be written to {out} ({error.strerror}); give another folder with --out"
        )
        raise RequestError(told) from None


def required(
    request: Request, min_gain: float | None, max_regression: float | None
) -> Requirements:
    """What the gates require: as given, else as the spec of the problem has it. Raises `BundleError`, and
    `RequestError` for what is no share.
    """
    manifest = find_task(request.candidate, request.problem).manifest
    found = requirements(manifest, min_gain, max_regression)
    if found.senseless:
        raise RequestError(found.senseless)
    return found


def concluded(record: Record, out: Path | None, requirements: Requirements) -> Outcome:
    """The receipt of a record. Where scipy is missing the record is kept, and no conclusion is drawn."""
    try:
        from kgen.evidence.receipts import receipt, write
        from kgen.evidence.report import report

        found = receipt(record, requirements)
    except ImportError as error:
        path, told = _saved(lambda folder: _keep(record, folder), out or Path("."))
        problem = f"{error.name} is missing here, so nothing is concluded; {told or f'the record is in {path}'}"
        return Outcome(NOTHING, tuple(raw(record)), path, record, problem)
    lines = [*report(found)]
    if out is None:
        return Outcome(_code(record, found), tuple(lines), None, record)
    path, told = _saved(lambda folder: write(folder, found), out)
    if told:
        return Outcome(NOTHING, tuple(lines), path, record, told)
    return Outcome(_code(record, found), (*lines, f"receipt {path}"), path, record)


def _saved(save: Callable[[Path], Path], out: Path) -> tuple[Path | None, str]:
    """Where a run was saved, and what there is to say of it: a disk that is full at its end must not cost the run."""
    try:
        return save(out), ""
    except OSError as error:
        told = f"what was measured cannot be written to {out} ({error.strerror})"
    try:
        path = save(Path(tempfile.mkdtemp(prefix="kgen-run-")))
    except OSError:
        return None, f"{told}, nor anywhere else: what stands here is all there is"
    return path, f"{told}; it is in {path}"


def _code(record: Record, found: Receipt) -> int:
    if record.incomplete == INTERRUPTED_RUN:
        return INTERRUPTED
    if found.decision is None:
        told = record.flags or record.failures or record.incomplete or found.analysis.void
        return FINDINGS if told else GOOD
    return GOOD if found.decision.decision == "promoted" else FINDINGS


def _keep(record: Record, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"record-{record.started.replace(':', '')}-{record.seed}.json"
    path.write_text(record.text())
    return path


def raw(record: Record) -> list[str]:
    """Medians without intervals: all that can be said without scipy."""
    from statistics import median

    lines = []
    for shape in record.shapes:
        for one in record.candidates:
            turns = [turn for turn in record.turns if turn.shape == shape.name]
            taken = [median(turn.seconds) for turn in turns if turn.candidate == one.name]
            told = f"{median(taken) * 1e6:10.2f} us" if taken else "not measured"
            lines.append(f"{shape.name:40} {one.role:10} {one.name:30} {told}")
    lines += [f"{one.candidate}: {one.flag}: {one.message}" for one in record.flags]
    lines += [f"{one.candidate}: {one.what}: {one.message}" for one in record.failures]
    lines += [f"incomplete: {record.incomplete}"] if record.incomplete else []
    return lines
