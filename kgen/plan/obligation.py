"""What was to be proved, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.algebra import Status


@dataclass(frozen=True)
class Obligation:
    """One thing that was to be proved.

    `evidence` says how it was, or where it fails, or what is left open; `line` is a line of the emitted file, if any.
    """

    regime: str
    subject: str
    says: str
    status: Status
    evidence: str
    line: int = 0

    def as_json(self) -> dict[str, str]:
        """The obligation as plain data, for the manifest."""
        return {
            "regime": self.regime,
            "subject": self.subject,
            "says": self.says,
            "status": str(self.status),
            "evidence": self.evidence,
        }
