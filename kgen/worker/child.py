"""The child's end: read requests, run handlers, answer."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import BinaryIO

from kgen.worker.marked import MARK, end_marked

Emit = Callable[[dict], None]
Handler = Callable[[dict, Emit], dict]


def serve(handlers: Mapping[str, Handler]) -> None:
    """Answers requests until stdin closes; a handler gets the payload and `emit`, for progress.

    From here on file descriptor 1 is stderr and 0 is empty: what a library or a compiler's
    subprocess prints can't corrupt the answers, and nothing but this loop can swallow a request. An
    exception in a handler is answered as an `error` event and the loop goes on. If the parent dies,
    this process and all that it started die too.
    """
    requests, answers = _private_streams()
    lock = threading.Lock()

    def send(event: dict) -> None:
        line = json.dumps(event).encode() + b"\n"
        with lock:
            answers.write(line)
            answers.flush()

    waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    while (line := waiting.get()) is not None:
        send(_answer(handlers, json.loads(line), send))


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Takes stdin and stdout away from everybody else, subprocesses too."""
    sys.stdout.flush()
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _read(requests: BinaryIO, waiting: queue.SimpleQueue[bytes | None]) -> None:
    """Passes requests on; after the last, ends what still runs when the parent is gone.

    Stdin also closes when a living parent has no more to ask, so its end alone is no reason to stop
    what runs.
    """
    parent, mark = os.getppid(), os.environ.get(MARK, "")
    for line in requests:
        waiting.put(line)
    waiting.put(None)
    while os.getppid() == parent:
        time.sleep(0.2)
    if mark:
        end_marked(mark)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _answer(handlers: Mapping[str, Handler], request: dict, send: Emit) -> dict:
    """The final event for one request."""
    number, verb = request["id"], request["verb"]

    def emit(progress: dict) -> None:
        send({"id": number, "event": "progress", "progress": progress})

    try:
        if verb not in handlers:
            known = ", ".join(sorted(handlers))
            raise LookupError(f"this worker has no verb {verb!r}; it knows {known}")
        result = handlers[verb](request["payload"], emit)
        json.dumps(result)
    except Exception as error:
        return {
            "id": number,
            "event": "error",
            "kind": type(error).__name__,
            "message": str(error),
            "traceback": traceback.format_exc(),
        }
    return {"id": number, "event": "result", "result": result}
