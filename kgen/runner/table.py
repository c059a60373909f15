"""The short table at the end of a run."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.runner.results import CaseResult, Status, Summary


def table(results: Sequence[CaseResult], summary: Summary) -> str:
    """One line a case, each failure below its case, the summary last."""
    width = max((len(result.name) for result in results), default=0)
    lines = []
    for result in results:
        lines.append(f"{result.status.value:8}{result.name:{width}}  {_detail(result)}".rstrip())
        for failure in result.failures:
            at = f"submission.py:{failure.line}: " if failure.line else ""
            lines.append(f"        {failure.code}: {at}{failure.message}")
    if summary.edited:
        lines.append(
            "submission.py was edited after it was rendered: this is about the edited file"
        )
    counts = ", ".join(f"{number} {status}" for status, number in summary.counts.items() if number)
    versions = ", ".join(f"{name} {version}" for name, version in summary.versions.items())
    lines.append(
        f"{counts or 'no case ran'} in {summary.seconds:.1f} s; seed {summary.seed}; "
        f"{summary.device}; {versions}"
    )
    if summary.edited:
        lines.append(
            "note: submission.py was edited after it was rendered; the edited file was tested"
        )
    return "\n".join(lines)


def _detail(result: CaseResult) -> str:
    if result.status is Status.PASSED:
        return (
            f"{result.regime}, error {result.worst:.2f} of what is allowed, {result.seconds:.2f} s"
        )
    return f"{result.regime} {result.note}"
