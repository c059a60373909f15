"""What stops a regime from being planned; `kgen.plan.build` puts the place in the spec to it."""

from __future__ import annotations


class PlanProblem(Exception):
    """A numbered problem without a place."""

    def __init__(self, code: str, message: str, hint: str = ""):
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
