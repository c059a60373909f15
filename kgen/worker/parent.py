"""The parent's end: start a worker, call it, and kill it with everything it started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from kgen.worker.marked import MARK, end_marked, new_mark
from kgen.worker.failures import WorkerDied, WorkerError, WorkerTimeout

STDERR_LINES = 60
"""How many of the child's last lines a failure quotes."""

_TICK = 0.2
"""Seconds between looks at whether a silent child lives: a forked grandchild keeps stdout open."""

OnEvent = Callable[[dict], None]


class Worker:
    """A child process that runs `kgen.worker.serve`, started at once in a process group of its own.

    `argv` is the command, `env` its whole environment (None: this process's). Not thread-safe: one
    call at a time.
    """

    def __init__(self, argv: Iterable[str], env: Mapping[str, str] | None = None):
        self._mark = new_mark()
        self._process = subprocess.Popen(
            list(argv),
            env={**(os.environ if env is None else env), MARK: self._mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._calls = 0
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._readers = [
            threading.Thread(target=self._read_answers, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_stderr, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the child can take a call."""
        return self._process.returncode is None and not self._has_exited()

    @property
    def pid(self) -> int:
        """The child's process id, which is also its process group's."""
        return self._process.pid

    def call(
        self,
        verb: str,
        payload: dict,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
    ) -> dict:
        """The handler's result. `on_event` gets what the handler emits, in order, in this thread.

        Raises `WorkerError` when the handler raised (the worker can be called again),
        `WorkerTimeout` after `timeout` seconds without a result, `WorkerDied` when the child ended
        or answered with something that is no answer.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        self._calls += 1
        self._send({"id": self._calls, "verb": verb, "payload": payload})
        while True:
            event = self._next_event(timeout, deadline)
            if event["event"] == "progress":
                if on_event is not None:
                    on_event(event["progress"])
            elif event["event"] == "result":
                return event["result"]
            else:
                raise WorkerError(event["kind"], event["message"], event["traceback"])

    def close(self) -> None:
        """Kills the child and all that it started. May be called from another thread, and twice."""
        if self._process.returncode is None:
            # Before the child is reaped its id can't be reused, so this can't reach a stranger's
            # group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            end_marked(self._mark)
        for reader in self._readers:
            reader.join(timeout=1)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _send(self, request: dict) -> None:
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._died() from None

    def _next_event(self, timeout: float | None, deadline: float | None) -> dict:
        while deadline is None or time.monotonic() < deadline:
            wait = _TICK if deadline is None else min(_TICK, max(0.0, deadline - time.monotonic()))
            exited = self._has_exited()
            try:
                line = self._answers.get(timeout=wait)
            except queue.Empty:
                if exited:
                    raise self._died() from None
                continue
            if line is None:
                raise self._died()
            return self._event(line)
        self.close()
        raise WorkerTimeout(timeout, self._tail())

    def _event(self, line: bytes) -> dict:
        try:
            event = json.loads(line)
            if event["id"] == self._calls and event["event"] in ("progress", "result", "error"):
                return event
        except (ValueError, KeyError, TypeError):
            pass
        self.close()
        shown = line[:200].decode(errors="replace").rstrip()
        raise WorkerDied(
            None, self._tail(), f"the worker broke the protocol with the line {shown!r}"
        )

    def _has_exited(self) -> bool:
        """Whether the child has ended, without reaping it."""
        if self._process.returncode is not None:
            return True
        try:
            flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
            return os.waitid(os.P_PID, self._process.pid, flags) is not None
        except ChildProcessError:
            return True

    def _died(self) -> WorkerDied:
        # Stdout closes a moment before the exit status is there; killing in between would hide the
        # true status.
        patience = time.monotonic() + 2
        while not self._has_exited() and time.monotonic() < patience:
            time.sleep(0.005)
        self.close()
        return WorkerDied(self._process.returncode, self._tail())

    def _tail(self) -> str:
        return "\n".join(self._stderr)

    def _read_answers(self, stream: BinaryIO) -> None:
        with stream:
            for line in stream:
                self._answers.put(line)
        self._answers.put(None)

    def _read_stderr(self, stream: BinaryIO) -> None:
        with stream:
            for line in stream:
                self._stderr.append(line.decode(errors="replace").rstrip("\n"))


def module_worker(
    module: str,
    *arguments: str,
    python: str = sys.executable,
    env: Mapping[str, str | None] | None = None,
) -> Worker:
    """A worker that runs `python -m module arguments`, with this very kgen importable there.

    `env` is laid over this process's environment; None as a value takes a variable out. The working
    directory is kept off the child's import path, so that a file named `torch.py` beside a
    submission isn't taken for the library.
    """
    home = str(Path(__file__).resolve().parents[2])
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    for name, value in (env or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return Worker([python, "-P", "-m", module, *arguments], environment)
