"""A receipt as the text that a person reads: rows first, then what follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.cli.table import shown, table
from kgen.evidence.analysis import Aggregate, Analysis, Row
from kgen.evidence.imports import Imported
from kgen.evidence.intervals import Ratio
from kgen.evidence.receipts import Receipt
from kgen.evidence.record import FLAGS, Candidate, Failure, Record, Source

ROWS = ("shape", "file", "time", "to baseline", "to incumbent", "of read", "of matmul", "verdict")
AGGREGATES = ("geometric mean of these shapes", "to baseline", "to incumbent", "verdict")
GATES = ("gate", "required", "found", "status", "why")

OWN_WORD = (
    "WARNING: that manifest also says the shapes, what is tolerated, the gates that the command line does not, and which "
    "shapes the fallback serves; for a file that is not yours, name a bundle of your own with --problem"
)
MOST_TOLD = 240
"""Letters of a failure that is not of the judged file."""


def report(receipt: Receipt) -> Iterator[str]:
    """The lines of a report. Ratios above 1 are faster; times are of one call."""
    yield from map(shown, _lines(receipt))


def _lines(receipt: Receipt) -> Iterator[str]:
    record, analysis = receipt.record, receipt.analysis
    yield from _told_by(record)
    yield ""
    yield from table(ROWS, _rows(analysis))
    yield ""
    yield from table(AGGREGATES, (_aggregate(analysis, one) for one in analysis.aggregates))
    yield ""
    yield from _limits(record)
    yield _against_itself(record, analysis)
    yield from _held(record, analysis)
    if receipt.gates:
        yield ""
        yield from table(GATES, _gates(receipt))
    if receipt.decision:
        yield f"{receipt.decision.decision}: {receipt.decision.reason}"


def _told_by(record: Record | Imported) -> Iterator[str]:
    """What was measured, and where."""
    if isinstance(record, Imported):
        quota = "" if record.quota_left is None else f"; {record.quota_left} more answers left"
        yield f"{record.problem}, {record.mode} by {record.evaluator} in job {record.job}{quota}"
        yield f"{record.device}; {record.started}"
        yield f"candidate: {record.file}, bytes {record.bytes_sha256[:12]}, core {record.core_sha256[:12]}"
        return
    where, clocks = record.environment, record.environment.clocks
    yield f"{record.problem.name}, measured {record.started} with seed {record.seed}"
    yield from _problem(record)
    yield (
        f"{where.device}, {where.sms} SMs, {where.l2_bytes / 1e6:.0f} MB L2, "
        f"{_mhz(clocks.before.sm_mhz)} SM and {_mhz(clocks.before.memory_mhz)} memory clock before, "
        f"{_mhz(clocks.after.sm_mhz)} and {_mhz(clocks.after.memory_mhz)} after"
    )
    versions = ("driver", "cuda", "torch", "triton", "ptxas", "python")
    known = (f"{name} {getattr(where, name) or 'unknown'}" for name in versions)
    yield ", ".join(known)
    yield _source(record.source)
    for one in record.candidates:
        yield f"{one.name}: {one.file}, bytes {one.bytes_sha256[:12]}, core {one.core_sha256[:12]}"


def _problem(record: Record) -> Iterator[str]:
    """Who chose what is computed; receipts of before this was recorded say nothing."""
    asked, name = record.settings.options.get("problem"), record.problem.name
    if asked:
        yield f"problem {name} ({record.problem.module}), chosen with --problem {asked}"
    elif asked is not None:
        judged = record.of_role("candidate")
        chosen = "the judged file's" if judged else "the baseline's"
        yield f"problem {name} ({record.problem.module}), chosen by {chosen} own manifest"
        if judged:
            yield OWN_WORD


def _source(source: Source) -> str:
    """What the judged file was made from."""
    spec = source.spec
    made = f"spec {spec.name} {spec.sha256[:12]}" if spec else "no spec"
    templates = f"templates {source.templates[:12]}" if source.templates else "no templates"
    return f"{made}, {templates}, git {source.git or 'none'}"


def _rows(analysis: Analysis) -> Iterator[list[str]]:
    for row in analysis.rows:
        yield [
            row.shape,
            _file(row),
            _time(row.seconds),
            _ratio(row.to_baseline),
            _ratio(row.to_incumbent),
            _share(row.read_share),
            _share(row.matmul_share),
            _words(row, (*row.marks, *row.flags)),
        ]


def _aggregate(analysis: Analysis, one: Aggregate) -> list[str]:
    told = [f"without {', '.join(one.missing)}" if one.missing else ""]
    told.append(analysis.by_fallback(one.candidate))
    ratios = (_ratio(one.to_baseline), _ratio(one.to_incumbent))
    return [_file(one), *ratios, _words(one, told)]


def _file(one: Row | Aggregate) -> str:
    return one.candidate if one.candidate == one.role else f"{one.candidate} ({one.role})"


def _words(one: Row | Aggregate, more: Sequence[str]) -> str:
    alike = f"not distinguishable from {' and '.join(one.alike)}" if one.alike else ""
    return ", ".join(dict.fromkeys(word for word in (one.word, *more, alike) if word))


def _limits(record: Record | Imported) -> Iterator[str]:
    """What the device reached in the same run, and what ratios and intervals are."""
    if isinstance(record, Imported):
        yield (
            "ratios of the judge's medians; intervals combine those that it tells, whatever their level, as if errors were "
            f"independent, never narrower than {record.floor:.1%} either way"
        )
        return
    limits = record.limits
    told = (
        ("an empty launch takes", _time(limits.empty_launch_s).strip()),
        ("a streaming read reaches", _rate(limits.read_bytes_per_s, "TB/s")),
        ("a matrix product reaches", _rate(limits.matmul_flops_per_s, "Tflop/s")),
    )
    yield "; ".join(f"{what} {value}" for what, value in told)
    sample = {"graph": "replays of CUDA graphs", "eager": "eager calls"}[record.settings.timed]
    yield (
        f"medians of {sample}, paired by round; 95 % intervals of ratios, "
        f"never narrower than {record.settings.floor:.1%} either way"
    )


def _against_itself(record: Record | Imported, analysis: Analysis) -> str:
    """The A/A line."""
    again = analysis.aggregate_of("again")
    told = "was not run" if again is None else _ratio(again.to_baseline).strip()
    line = f"A/A, the baseline against itself: {told}"
    if isinstance(record, Imported):
        line = "A/A, the baseline against itself: not told by the judge"
    if analysis.void:
        return f"{line}\nVOID, nothing is concluded: {analysis.void}"
    return line


def _held(record: Record | Imported, analysis: Analysis) -> Iterator[str]:
    """What else a reader has to know of each file."""
    if isinstance(record, Imported):
        yield from (f"flag: {flag}" for flag in record.flags)
        yield from (f"case {one.name}: {one.status}" for one in record.cases if not one.passed)
        return
    if record.incomplete:
        yield f"INCOMPLETE, no file is promoted: {record.incomplete}"
    for one in record.candidates:
        if one.unavailable:
            yield f"{one.name} did not run: {one.unavailable}"
        if one.terms:
            yield f"{one.name} is not on equal terms: {one.terms}"
        if one.tolerance is not None:
            yield f"{one.name} declares a relative error of {one.tolerance:g}"
    for flag in record.flags:
        at = flag.shape or "every shape"
        yield f"{flag.candidate} at {at}: {FLAGS[flag.flag]}: {flag.flag}: {flag.message}"
    for failure in record.failures:
        at = failure.shape or "every shape"
        yield f"{failure.candidate} at {at}: {failure.what}: {_told(record, failure)}"
    for one in record.candidates:
        yield from _failed(record, one)
        yield from _not_run(record, one)


def _told(record: Record, failure: Failure) -> str:
    """All of a failure of the judged file; of the others its first line, and the receipt has the rest."""
    judged = record.of_role("candidate")
    if judged is not None and failure.candidate == judged.name:
        return failure.message
    first = failure.message.partition("\n")[0]
    return first if len(first) <= MOST_TOLD else f"{first[:MOST_TOLD]}..."


def _failed(record: Record, one: Candidate) -> Iterator[str]:
    """The failed checks of a file, a line for each shape; a file that declares its own error is only counted."""
    for shape in record.shapes:
        checks = [x for x in record.checks if (x.candidate, x.shape) == (one.name, shape.name)]
        checks = [check for check in checks if check.status != "not run"]
        failed = [check for check in checks if check.status != "passed"]
        if not failed:
            continue
        at = f"{one.name} at {shape.name}"
        if one.tolerance is not None and one.role not in ("candidate", "incumbent"):
            worst = max((check.worst for check in failed if check.worst is not None), default=None)
            by = "by no finite factor" if worst is None else f"by up to {worst:.1f} times"
            yield (
                f"{at}: misses the problem's tolerance in {len(failed)} of {len(checks)} checks, {by}"
            )
            continue
        first = failed[0]
        more = f" ({len(failed)} of {len(checks)} checks failed)" if len(failed) > 1 else ""
        for found in first.failures[:1]:
            yield f"{at}, {first.when} timing: {found.code}: {found.message}{more}"


def _not_run(record: Record, one: Candidate) -> Iterator[str]:
    """The probes of a file that could not be run, each reason once."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for check in record.checks:
        if check.candidate == one.name and check.status == "not run":
            for found in check.failures:
                reasons.setdefault((found.code, found.message), {})[check.shape] = None
    for (code, message), shapes in reasons.items():
        at = "every shape" if len(shapes) == len(record.shapes) else ", ".join(shapes)
        yield f"{one.name} at {at}: not run: {code}: {message}"


def _gates(receipt: Receipt) -> Iterator[list[str]]:
    for gate in receipt.gates:
        counted = gate.name in ("flags", "correct", "measured")
        numbers = (
            "-" if one is None else f"{one:.0f}" if counted else f"{one:.4f}x"
            for one in (gate.required, gate.found)
        )
        yield [gate.name, *numbers, gate.status, gate.reason]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 1e-3:
        return f"{seconds * 1e6:8.2f} us"
    return f"{seconds * 1e3:8.2f} ms"


def _ratio(found: Ratio | None) -> str:
    if found is None:
        return "-"
    if found.low is None:
        return f"{found.point:.3f}x, no interval"
    return f"{found.point:.3f}x [{found.low:.3f}, {found.high:.3f}]"


def _share(found: float | None) -> str:
    return "-" if found is None else f"{found:4.0%}"


def _rate(found: float | None, unit: str) -> str:
    return "(not measured)" if found is None else f"{found / 1e12:.2f} {unit}"


def _mhz(found: int | None) -> str:
    return "unknown" if found is None else f"{found} MHz"
