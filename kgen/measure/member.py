"""A candidate's resident process, seen from the coordinator: one that crashes or hangs costs itself only."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kgen.worker import Worker, WorkerError, WorkerFailure, WorkerTimeout, module_worker

SETTING_UP = ("open", "load")
"""Verbs that a fresh process is asked again."""

LOOK_SECONDS = 0.25
OPEN_SECONDS = 180.0
HOST_SHARE = 0.8
"""Of the machine's memory, what one process may hold at most: else the kernel ends one, and maybe not that one."""

MOST_TOLD = 600


class NoRun(Exception):
    """Nothing could be measured at all."""


class NoGpu(NoRun):
    """There is no GPU to measure on."""


@dataclass(frozen=True)
class Limits:
    """What a process may take: seconds for a call, bytes of host memory, a share of the device's memory."""

    seconds: float
    host_bytes: int
    memory_share: float


class Lost(Exception):
    """The member has no answer.

    `what` is as in the record's failures, `flag` what is held against it, if anything, `kind` the exception's class.
    """

    def __init__(self, what: str, flag: str, message: str, kind: str = ""):
        super().__init__(message)
        self.what = what
        self.flag = flag
        self.message = message
        self.kind = kind


class Member:
    """A candidate with its process. After a crash or a timeout it is `lost` and takes no more calls.

    `environment` is laid over this process's, such as which GPU is seen.
    """

    def __init__(
        self,
        role: str,
        name: str,
        file: str,
        limits: Limits,
        environment: Mapping[str, str | None] | None = None,
    ):
        self.role = role
        self.name = name
        self.file = file
        self.lost = ""
        self._limits = limits
        self._host_bytes = min(limits.host_bytes, int(HOST_SHARE * machine_bytes()))
        self._environment = environment
        self._excess = ""
        self._setting_up: list[tuple[str, dict[str, Any]]] = []
        self._start()

    def ask(self, verb: str, payload: dict[str, Any]) -> dict[str, Any]:
        """The answer to one verb. Raises `Lost`."""
        if self.lost:
            raise Lost("error", "", self.lost)
        if verb in SETTING_UP:
            self._setting_up.append((verb, payload))
        return self._call(verb, payload)

    def renew(self) -> None:
        """The same candidate in a fresh process. Raises `Lost`."""
        self.close()
        self._start()
        for verb, payload in self._setting_up:
            self._call(verb, payload)

    def _start(self) -> None:
        self._worker = module_worker("kgen.measure", "serve", env=self._environment)
        threading.Thread(target=self._watch, args=(self._worker,), daemon=True).start()

    def _call(self, verb: str, payload: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._worker.call(verb, payload, self._patience(verb))
        except WorkerError as error:
            lost = _raised(error)
            if lost.what == "crash":
                self._retire(lost)
            raise lost from error
        except WorkerFailure as failure:
            lost = self._gone(failure)
            self._retire(lost)
            raise lost from failure

    def close(self) -> None:
        """Ends the process."""
        self._worker.close()

    def _patience(self, verb: str) -> float:
        """Seconds for a verb; to open, torch and Triton have to be imported, which is not the file's doing."""
        return max(OPEN_SECONDS, self._limits.seconds) if verb == "open" else self._limits.seconds

    def _retire(self, lost: Lost) -> None:
        self.lost = f"not measured: {lost.message.splitlines()[0]}"
        self.close()

    def _gone(self, failure: WorkerFailure) -> Lost:
        if isinstance(failure, WorkerTimeout):
            message = f"no answer within {failure.seconds:g} s"
            return Lost("timeout", "timeout", message)
        message = self._excess or failure.message
        tail = failure.stderr[-MOST_TOLD:].strip()
        return Lost("crash", "crash", f"{message}\n{tail}".strip())

    def _watch(self, worker: Worker) -> None:
        """Ends a process that holds more host memory than it may: a limit on address space is of no use with CUDA."""
        while worker.alive:
            with contextlib.suppress(OSError):
                held = resident_bytes(worker)
                if held > self._host_bytes:
                    self._excess = (
                        f"it held {held / 2**30:.1f} GiB of host memory; the limit is "
                        f"{self._host_bytes / 2**30:.1f} GiB"
                    )
                    worker.close()
            time.sleep(LOOK_SECONDS)


def machine_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def resident_bytes(worker: Worker) -> int:
    """Memory of a process; 0 once it has ended."""
    with open(f"/proc/{worker.pid}/status") as status:
        lines = [line for line in status if line.startswith("VmRSS")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def _raised(error: WorkerError) -> Lost:
    """What a file or a problem raised. After a fault on the device nothing more can run in the process."""
    if "OutOfMemory" in error.kind or "out of memory" in error.message:
        return Lost("out_of_memory", "", error.message[:MOST_TOLD], error.kind)
    if "CUDA error" in error.message:
        return Lost("crash", "crash", error.message[:MOST_TOLD], error.kind)
    return Lost("error", "", error.message[:MOST_TOLD], error.kind)
