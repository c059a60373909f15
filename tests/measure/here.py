"""Members that live in the test's own process."""

from __future__ import annotations

from kgen.measure.member import Lost
from kgen.measure.session import Session


class Here:
    """A member without a process of its own."""

    def __init__(self, role: str, name: str, file: str, limits: object):
        self.role, self.name, self.file, self.lost = role, name, file, ""
        self._session = Session()

    def ask(self, verb: str, payload: dict) -> dict:
        if self.lost:
            raise Lost("error", "", self.lost)
        try:
            return getattr(self._session, verb)(payload, print)
        except Exception as error:
            raise Lost("error", "", f"{type(error).__name__}: {error}") from error

    def renew(self) -> None:
        """Nothing is left of a capture that failed."""

    def close(self) -> None:
        """Nothing to end."""
