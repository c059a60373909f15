"""Turns what a submission raised into a failure with its line, kernel and code."""

from __future__ import annotations

import traceback
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
    if isinstance(cause, Unsupported) or _beyond_interpreter(cause):
        text = f"Triton's interpreter can't run this line: {cause}; test the file on a GPU"
        return Status.ERROR, Failure("KG712", text, line, trace=shown(error))
    text = f"the file raised {type(cause).__name__}: {cause}"
    return Status.FAILED, Failure("KG711", text, line, trace=shown(error))


def _beyond_interpreter(cause: BaseException) -> bool:
    """What Triton raises where it can only compile: nothing there, or a function left unpatched."""
    frames = traceback.extract_tb(cause.__traceback__)
    if not frames or "triton" not in Path(frames[-1].filename).parts:
        return False
    unpatched = isinstance(cause, ValueError) and "`_semantic` argument" in str(cause)
    return isinstance(cause, NotImplementedError) or unpatched
