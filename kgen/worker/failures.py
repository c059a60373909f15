"""The three ways in which a call to a worker fails."""

from __future__ import annotations

import signal


class WorkerFailure(Exception):
    """A call that gave no result; `stderr` holds the last lines that the child printed."""

    def __init__(self, message: str, stderr: str = ""):
        self.message = message
        self.stderr = stderr
        super().__init__(f"{message}\n{stderr}".rstrip())


class WorkerDied(WorkerFailure):
    """The child ended before it answered.

    `status` is as in `subprocess`: negative for a signal, None if unknown.
    """

    def __init__(self, status: int | None, stderr: str = "", message: str = ""):
        self.status = status
        super().__init__(message or f"the worker {ending(status)} before it answered", stderr)


class WorkerTimeout(WorkerFailure):
    """The child did not answer within `seconds`; it and all that it started have been killed."""

    def __init__(self, seconds: float, stderr: str = ""):
        self.seconds = seconds
        super().__init__(f"the worker gave no result within {seconds:g} s and was killed", stderr)


class WorkerError(WorkerFailure):
    """The child's handler raised, and the child lives on.

    `kind` is the exception's class name, `traceback` the child's.
    """

    def __init__(self, kind: str, message: str, traceback: str):
        self.kind = kind
        self.traceback = traceback
        super().__init__(f"{kind}: {message}" if message else kind, traceback)


def ending(status: int | None) -> str:
    """How a process ended, for a sentence: `ended with exit status 3`, `was killed by SIGABRT`."""
    if status is None:
        return "ended"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
