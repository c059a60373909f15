"""From an exception to the line of the emitted file where it began."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path


def line_of(error: BaseException, source: Path) -> int:
    """The innermost line of `source` that `error`, or what caused it, passed through; 0 if none."""
    line = 0
    for one in _chain(error):
        line = _line_in_code(one, source) or _line_in_traceback(one, source) or line
    return line


def last_cause(error: BaseException) -> BaseException:
    """The exception at the start of the chain that `raise ... from` made."""
    *_, last = _chain(error)
    return last


def shown(error: BaseException) -> str:
    """The whole traceback as text."""
    return "".join(traceback.format_exception(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _line_in_traceback(error: BaseException, source: Path) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == source]
    return lines[-1] if lines else 0


def _line_in_code(error: BaseException, source: Path) -> int:
    """Triton's CompilationError holds the function's text and counts lines from its `def`."""
    node, code = getattr(error, "node", None), getattr(error, "src", None)
    if node is None or not isinstance(code, str):
        return 0
    before, found, _ = source.read_text().partition(code)
    return before.count("\n") + node.lineno if found else 0
