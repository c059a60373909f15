"""One diagnostic, and the exception that carries them."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Severity(enum.Enum):
    """An `error` stops the work; a `finding` fails `kgen check`; `info` never changes an exit code."""

    ERROR = "error"
    FINDING = "finding"
    INFO = "info"


@dataclass(frozen=True)
class Place:
    """A position in a file, counted from 1; `length` characters are underlined. `line` 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0
    length: int = 1

    @property
    def is_axis(self) -> bool:
        """Whether it is within an `--axis` of the command itself."""
        return self.file.startswith("<--axis ")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Diagnostic:
    """A numbered message.

    `message` says what is wrong and why; `hint` says what to write instead; `source` is the text of the line at
    `place`, so that a diagnostic prints without reading the file again.
    """

    code: str
    message: str
    place: Place
    hint: str = ""
    source: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.code}: {self.message}"]
        if self.source and self.place.line:
            number = str(self.place.line)
            caret = " " * (self.place.column - 1) + "^" * max(1, self.place.length)
            lines += [f"  {number} | {self.source}", f"  {' ' * len(number)} | {caret}"]
        if self.hint:
            lines.append(f"  help: {self.hint}")
        return "\n".join(lines)

    def as_json(self) -> dict:
        """The diagnostic as plain data, for `--json`."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "hint": self.hint,
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
        }


class KgenError(Exception):
    """Raised with every problem that was found, never with the first alone."""

    def __init__(self, diagnostics: Iterable[Diagnostic]):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)))
