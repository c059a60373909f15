"""Builds the record of a run from what the members answer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kgen
from kgen.evidence.record import KIND, SCHEMA, Record, read_record
from kgen.evidence.sources import core_of
from kgen.measure.candidate import SUBMISSION, source_of
from kgen.measure.member import Lost, Member
from kgen.measure.request import Request
from kgen.measure.task import MANIFEST, Task

NO_CLOCK = {"sm_mhz": None, "memory_mhz": None}


class Gathered:
    """What has been measured until now; a record of it can be made at any time."""

    def __init__(self, request: Request, task: Task):
        self._request = request
        self._task = task
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # before any of them is loaded: a file can write itself anew
        self._texts = {
            file: source_of(file).read_bytes().decode() for _, _, file in request.files()
        }
        self._candidates: list[dict[str, Any]] = []
        self._sources: dict[str, str] = {}
        self._clocks = {"before": NO_CLOCK, "after": NO_CLOCK}
        self.environment: dict[str, Any] = {}
        self.limits: dict[str, Any] = dict.fromkeys(
            ("empty_launch_s", "read_bytes_per_s", "matmul_flops_per_s")
        )
        self.shapes: list[dict[str, Any]] = []
        self.timed = "graph"
        self._turns: list[dict[str, Any]] = []
        self._checks: list[dict[str, Any]] = []
        self._flags: dict[tuple[str, str, str], str] = {}
        self._failures: list[dict[str, Any]] = []

    def candidate(self, member: Member, told: Mapping[str, Any]) -> None:
        """A file that takes part, and what it says of itself."""
        text = self._texts[member.file]
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self._sources[sha256] = text
        self._candidates.append(
            {
                "role": member.role,
                "name": member.name,
                "file": _named(source_of(member.file)),
                "bytes_sha256": sha256,
                "core_sha256": core_of(text),
                "terms": told.get("terms", ""),
                "tolerance": told.get("tolerance"),
                "unavailable": told.get("unavailable", ""),
            }
        )

    def clock(self, when: str, rates: Mapping[str, int | None]) -> None:
        """Clock rates before or after the turns."""
        self._clocks[when] = dict(rates)

    def turn(self, member: Member, shape: str, number: int, seconds: list[float]) -> None:
        """A member's samples of one round."""
        turn = {"candidate": member.name, "shape": shape, "round": number, "seconds": seconds}
        self._turns.append(turn)

    def found(self, member: Member, shape: str, when: str, answer: Mapping[str, Any]) -> None:
        """Checks and flags."""
        about = {"candidate": member.name, "shape": shape, "when": when}
        self._checks += [{**about, **check} for check in answer["checks"]]
        for flag, message in answer["flags"].items():
            self._flags.setdefault((member.name, shape, flag), message)

    def lost(self, member: Member, shape: str, lost: Lost) -> None:
        """Why a member gave no answer."""
        about = {"candidate": member.name, "shape": shape}
        message = lost.message.replace(f"{Path.cwd()}{os.sep}", "")
        self._failures.append({**about, "what": lost.what, "message": message})
        if lost.flag:
            self._flags.setdefault((member.name, shape, lost.flag), message)

    def record(self, incomplete: str) -> Record:
        """All of it. Raises `ReadingError` if it does not fit together, which would be a mistake of ours."""
        request = self._request
        manifest = _manifest(source_of(request.candidate))
        environment = {**self.environment, "clocks": self._clocks}
        plain = {
            "kind": KIND,
            "schema": SCHEMA,
            "kgen": kgen.__version__,
            "started": self._started,
            "seed": request.seed,
            "settings": {
                "floor": request.floor,
                "precision": request.precision,
                "rounds": request.rounds,
                "replays": request.replays,
                "timed": self.timed,
                "options": {
                    "budget": request.budget,
                    "timeout": request.timeout,
                    "host_gib": request.host_gib,
                    "problem": _named(Path(request.problem).resolve()) if request.problem else "",
                    "shapes": request.shapes,
                    "device": request.device,
                },
            },
            "environment": environment,
            "source": {
                "spec": manifest.get("spec"),
                "templates": manifest.get("templates"),
                "git": _revision(source_of(request.candidate)),
            },
            "problem": {
                "name": self._task.name,
                "module": _module(self._task.form.problem_module),
                "sha256": self._task.sha256(),
            },
            "candidates": self._candidates,
            "sources": self._sources,
            "limits": self.limits,
            "shapes": self.shapes,
            "turns": self._turns,
            "checks": self._checks,
            "flags": [
                {"candidate": name, "shape": shape, "flag": flag, "message": message}
                for (name, shape, flag), message in self._flags.items()
            ],
            "failures": self._failures,
            "incomplete": incomplete,
        }
        return read_record(plain)


def _manifest(file: Path) -> Mapping[str, Any]:
    """The manifest of a bundle's file, which says what it was rendered from; empty for any other file."""
    path = file.with_name(MANIFEST)
    return json.loads(path.read_text()) if file.name == SUBMISSION and path.is_file() else {}


def _module(module: str) -> str:
    """A file is named without its folder, which is another on each machine."""
    return Path(module).name if module.endswith(".py") else module


def _named(file: Path) -> str:
    """A file below the folder that the run was started in is named from there, so that it is found elsewhere too."""
    return os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)


def _revision(file: Path) -> str | None:
    """The git revision that is checked out there and has this very file."""
    committed = _git(file.parent, "show", f"HEAD:./{file.name}")
    if committed is None or committed != file.read_bytes():
        return None
    head = _git(file.parent, "rev-parse", "HEAD")
    return head.decode().strip() if head else None


def _git(folder: Path, *command: str) -> bytes | None:
    """What git answers; None where it answers nothing."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
