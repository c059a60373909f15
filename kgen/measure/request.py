"""What a measuring run is asked to do."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgen.measure.candidate import source_of
from kgen.measure.device import GPU


class RequestError(ValueError):
    """Something is asked for that cannot be measured."""


@dataclass(frozen=True)
class Request:
    """Files and settings of a run.

    Without `against` the candidate is its own baseline: then only its times are measured, twice. `budget` is in
    seconds for all shapes together, `timeout` for one step of one candidate; `shapes` keeps those whose name contains
    the text.
    """

    candidate: str
    against: str = ""
    incumbent: str = ""
    peers: Sequence[str] = ()
    problem: str = ""
    seed: int = field(default_factory=lambda: secrets.randbits(31))
    precision: float = 0.015
    floor: float = 0.015
    rounds: int = 60
    replays: int = 5
    budget: float = 600.0
    timeout: float = 300.0
    host_gib: float = 64.0
    shapes: str = ""
    device: str = GPU

    def check(self) -> None:
        """Raises `RequestError` for files that are not there and for numbers that make no sense."""
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise RequestError(
                    f"--{name.replace('_', '-')} is {value:g}; it takes {least:g} to {most:g}"
                )
        for file in (self.candidate, self.against, self.incumbent, *self.peers):
            if file:
                _readable(file)

    def files(self) -> list[tuple[str, str, str]]:
        """(role, name, file) of all that take part; names are unique."""
        baseline = self.against or self.candidate
        wanted = [("baseline", baseline), ("again", baseline)]
        if self.against:
            wanted.insert(0, ("candidate", self.candidate))
        wanted += [("incumbent", self.incumbent)] if self.incumbent else []
        wanted += [("peer", peer) for peer in self.peers]
        found: list[tuple[str, str, str]] = []
        for role, file in wanted:
            name = "the baseline again" if role == "again" else _name(file)
            taken = {other for _, other, _ in found}
            number = 2
            unique = name
            while unique in taken:
                unique, number = f"{name} {number}", number + 1
            found.append((role, unique, file))
        return found


RANGES = {
    "seed": (0, 2**31 - 1),
    "precision": (1e-4, 1.0 - 1e-9),
    "floor": (0.0, 0.5),
    "rounds": (5, 100_000),
    "replays": (1, 1000),
    "budget": (1e-3, 7 * 86_400.0),
    "timeout": (1.0, 86_400.0),
    "host_gib": (0.5, 2.0**20),
}


def _readable(file: str) -> None:
    """Raises `RequestError` if a file is no Python text, or a folder holds no submission."""
    source = source_of(file)
    try:
        source.read_bytes().decode()
    except OSError as error:
        raise RequestError(
            f"{source} cannot be read ({error.strerror}); name a bundle's folder or a Python file"
        ) from None
    except UnicodeDecodeError as error:
        raise RequestError(
            f"{source} is no text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from None


def _name(file: str) -> str:
    """A bundle is called as its folder, any other file as itself."""
    source = source_of(file)
    return source.parent.name if source.name == "submission.py" else Path(file).stem
