"""What left the process group of the worker that started it, found by a mark in the environment that it inherited."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from pathlib import Path

MARK = "KGEN_WORKER"
"""The variable that holds the mark."""

LOOKS = 50
"""How often at most: what is being killed may start another meanwhile."""


def new_mark() -> str:
    """A mark that no other worker has."""
    return secrets.token_hex(16)


def end_marked(mark: str) -> None:
    """Kills every other process with this mark. Without /proc, as outside Linux, there is nothing to look into.

    One that was started with an environment of its own is not found.
    """
    wanted = f"{MARK}={mark}".encode()
    for _ in range(LOOKS):
        processes = [int(one.name) for one in Path("/proc").glob("[0-9]*")]
        if not [pid for pid in processes if pid != os.getpid() and _ended(pid, wanted)]:
            return
        time.sleep(0.01)


def _ended(pid: int, wanted: bytes) -> bool:
    """Whether a process had the mark and was killed; its handle is taken first, so that no stranger with its id is."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
        finally:
            os.close(handle)
    return False
