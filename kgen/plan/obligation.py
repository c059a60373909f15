"""What was to be proved, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgen.algebra import Certificate, Status


@dataclass(frozen=True)
class Obligation:
    """One thing that was to be proved.

    `evidence` says how it was, or where it fails, or what is left open; `line` is a line of the emitted file, if
    any; `certificates` are the proofs that a proved one rests on.
    """

    regime: str
    subject: str
    says: str
    status: Status
    evidence: str
    line: int = 0
    certificates: tuple[Certificate, ...] = field(default=(), compare=False)

    def as_json(self) -> dict[str, str]:
        """The obligation as plain data, for the manifest."""
        return {
            "regime": self.regime,
            "subject": self.subject,
            "says": self.says,
            "status": str(self.status),
            "evidence": self.evidence,
        }
