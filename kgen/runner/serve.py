"""The runner as a `kgen.worker`: a parent opens a bundle, then asks for one unit at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgen.runner.session import REFUSALS, Session
from kgen.worker import serve

Emit = Callable[[dict], None]


class Server:
    """The verbs `open` and `run`; one bundle a process, since a process is bound to one mode."""

    def __init__(self) -> None:
        self._session: Session | None = None

    def open(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `bundle`, `mode`, `seed`, `filter`; gives the units and what will run them, or
        `refused`.
        """
        try:
            session = Session(payload["bundle"], payload["mode"], payload["seed"])
        except tuple(REFUSALS) as error:
            return {"refused": {"code": REFUSALS[type(error)], "message": str(error)}}
        self._session = session
        units = session.units(payload["filter"])
        return {"units": units, "summary": session.summary().as_json()}

    def run(self, payload: dict[str, Any], emit: Emit) -> dict[str, Any]:
        """Takes `unit`; gives its result."""
        return self._session.run(payload["unit"]).as_json()


def serve_session() -> None:
    """Answers until stdin closes."""
    server = Server()
    serve({"open": server.open, "run": server.run})
