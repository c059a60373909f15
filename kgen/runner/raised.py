"""Turns what a submission raised into a failure with its line, kernel and code."""

from __future__ import annotations

from pathlib import Path

from kgen.runner.faults import KernelFault, Unsupported
from kgen.runner.results import Failure, Status
from kgen.runner.trace import last_cause, line_of, shown


def failure_of(error: Exception, source: Path) -> tuple[Status, Failure]:
    """What `error`, raised while `source` ran, says: that the file is wrong, or that it can't be
    run here.
    """
    cause = last_cause(error)
    line = line_of(error, source)
    if isinstance(cause, KernelFault):
        where = cause.where
        return Status.FAILED, Failure(
            cause.code,
            cause.message,
            line,
            cause.tensor,
            cause.element,
            where.kernel,
            where.program,
        )
    if isinstance(cause, (Unsupported, NotImplementedError)):
        text = f"Triton's interpreter can't run {cause}; test this file on a GPU"
        return Status.ERROR, Failure("KG712", text, line, trace=shown(error))
    text = f"the file raised {type(cause).__name__}: {cause}"
    return Status.FAILED, Failure("KG711", text, line, trace=shown(error))
