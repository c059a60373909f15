"""Builds the record of a run from what the members answer."""

from __future__ import annotations

import hashlib
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kgen
from kgen.evidence.record import KIND, SCHEMA, Record, read_record
from kgen.evidence.sources import core_of
from kgen.measure.candidate import source_of
from kgen.measure.member import Lost, Member
from kgen.measure.request import Request
from kgen.measure.task import Task

NO_CLOCK = {"sm_mhz": None, "memory_mhz": None}


class Gathered:
    """What has been measured until now; a record of it can be made at any time."""

    def __init__(self, request: Request, task: Task):
        self._request = request
        self._task = task
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
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
        text = source_of(member.file).read_text()
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self._sources[sha256] = text
        self._candidates.append(
            {
                "role": member.role,
                "name": member.name,
                "file": member.file,
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
        self._failures.append({**about, "what": lost.what, "message": lost.message})
        if lost.flag:
            self._flags.setdefault((member.name, shape, lost.flag), lost.message)

    def record(self, incomplete: str) -> Record:
        """All of it. Raises `ReadingError` if it does not fit together, which would be a mistake of ours."""
        request, manifest = self._request, self._task.manifest
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
                    "shapes": request.shapes,
                    "device": request.device,
                },
            },
            "environment": environment,
            "source": {
                "spec": manifest.get("spec"),
                "templates": manifest.get("templates"),
                "git": _revision(source_of(request.candidate).parent),
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


def _module(module: str) -> str:
    """A file is named without its folder, which is another on each machine."""
    return Path(module).name if module.endswith(".py") else module


def _revision(folder: Path) -> str | None:
    """The git revision that is checked out there."""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
