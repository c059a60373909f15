"""`kgen compile`: every kernel of a bundle through Triton's compiler, with no GPU, and what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgen.cli.bundle import Bundle, bundle
from kgen.cli.options import BundleOrSpec, Json, Set, Templates
from kgen.cli.report import Report, reporting
from kgen.cli.table import Cell, table
from kgen.diagnostics import Place
from kgen.paths import cache_dir

if TYPE_CHECKING:
    from kgen.compile import Job, Resources

HEADER = (
    "kernel",
    "target",
    "signatures",
    "registers",
    "spill bytes",
    "shared bytes",
    "seconds",
    "",
)


def compile(
    path: BundleOrSpec,
    target: Annotated[
        list[str],
        typer.Option(
            "--target",
            metavar="TARGET",
            help="Compiles for this target, not for those of the spec; `all` for every known one.",
        ),
    ] = [],
    workers: Annotated[int, typer.Option(help="Compiler processes at a time.", min=1)] = 2,
    timeout: Annotated[float, typer.Option(help="Seconds for one kernel.", min=1)] = 120,
    overrides: Set = [],
    templates: Templates = None,
    as_json: Json = False,
) -> None:
    """Compiles every kernel, with no GPU needed.

    Prints registers, spills and shared memory. A finding outside the spec's targets is information and changes no
    exit code.
    """
    targets = known_targets(target)
    with reporting("compile", as_json) as report:
        compile_bundle(report, bundle(path, overrides, templates), targets, workers, timeout)


def known_targets(names: Iterable[str]) -> list[str]:
    """The targets of those names. Raises a usage error for one that kgen does not know."""
    if not names:
        return []
    from kgen.devices import UnknownName, target, targets

    if "all" in names:
        return list(targets())
    try:
        return [target(name).name for name in dict.fromkeys(names)]
    except UnknownName as error:
        raise typer.BadParameter(str(error), param_hint="--target") from None


def compile_bundle(
    report: Report, built: Bundle, targets: list[str], workers: int = 2, timeout: float = 120
) -> None:
    """Compiles a bundle for `targets`, or for its own, and reports what is compiled when the work ends or is cut."""
    from kgen.compile import Limits, compile_all, manifest_jobs
    from kgen.compile import report as findings

    own = built.manifest["targets"]
    jobs = manifest_jobs(built.manifest, built.submission, targets or own)
    done: list[tuple[Job, Resources]] = []

    def on_done(job: Job, resources: Resources) -> None:
        done.append((job, resources))
        report.progress(f"{len(done)} of {len(jobs)} signatures, {job.function} for {job.target}")

    try:
        compile_all(
            jobs,
            workers=workers,
            timeout=timeout,
            cache_dir=cache_dir(),
            on_done=on_done,
        )
    finally:
        done.sort(key=lambda pair: jobs.index(pair[0]))
        report.values["kernels"] = [{**j.as_json(), **r.as_json()} for j, r in done]
        for line in table(HEADER, _rows(done)):
            report.say(line)
        report.say(_summary(done, len(jobs)))
    limits = Limits.from_mapping(
        {k: v for k, v in built.manifest["limits"].items() if v is not None}
    )
    report.diagnose(findings(done, limits, own, lambda job: _place(built, job)))


def _rows(done: list[tuple[Job, Resources]]) -> Iterable[list[Cell]]:
    """One row for each kernel and target: the most that any of its signatures takes."""
    groups: dict[tuple[str, str], list[Resources]] = {}
    for job, resources in done:
        groups.setdefault((job.function, job.target), []).append(resources)
    for (function, target), found in groups.items():
        most = [_most(found, field) for field in ("registers", "spill_bytes", "shared_bytes")]
        bad = sorted({one.status for one in found} - {"compiled"})
        note = ", ".join(bad) or ("from the cache" if all(one.cached for one in found) else "")
        yield [function, target, len(found), *most, sum(one.seconds for one in found), note]


def _most(found: list[Resources], field: str) -> int | None:
    """The largest value, or None where one of them is not known."""
    values = [getattr(one, field) for one in found]
    return None if None in values else max(values)


def _summary(done: list[tuple[Job, Resources]], wanted: int) -> str:
    """How many signatures have which status, and the versions that made them so."""
    counts = Counter(sorted(one.status for _, one in done))
    if wanted > len(done):
        counts["not tried"] = wanted - len(done)
    versions = {f"{name} {version}" for _, one in done for name, version in one.versions.items()}
    told = ", ".join(f"{number} {status}" for status, number in counts.items())
    return "; ".join(filter(None, [f"{wanted} signatures: {told}", ", ".join(sorted(versions))]))


def _place(built: Bundle, job: Job) -> Place:
    """Where the kernel's regime stands in the spec, or the kernel in the bundle where there is no spec."""
    if built.spec is None:
        line, _ = built.manifest["functions"][job.function]
        return Place(str(built.submission), line, 1)
    regimes = [regime.name for regime in built.spec.document.regimes]
    name = built.manifest["kernels"][job.function]["regimes"][0]
    return built.spec.place("regimes", regimes.index(name), "launch")
