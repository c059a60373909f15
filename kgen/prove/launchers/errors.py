"""What a launcher may not contain, if it is to be proved."""

from __future__ import annotations


class LauncherError(ValueError):
    """Host code that the prover does not follow; `line` is the line of the file, 0 where there is none."""

    def __init__(self, message: str, line: int = 0):
        super().__init__(message)
        self.message, self.line = message, line
